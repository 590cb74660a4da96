/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Compares what the model expects with what the adapter showed: statuses of calls, completions, events of
 * connections, states of endpoints, memory. Settlements are compared in order, so the first disagreement found is the
 * earliest. Where the specification permits several results, the expectation is a set. Rules across results are
 * checked here: the order in a queue, no success after a failure, at most one real error in a queue, completions
 * before the event of the end, each event once.
 */
#include "df_compare.h"

#include <string.h>

#include "it_ext.h"

static bool
is_any(const struct df_answer *answer, it_status_t status)
{
	for (int i = 0; i < answer->count; i++) {
		if (answer->any[i] == status)
			return true;
	}
	return false;
}

static char *
answer_text(const struct df_answer *answer)
{
	GString *text = g_string_new(NULL);

	for (int i = 0; i < answer->count; i++)
		g_string_append_printf(text, "%s%s", i > 0 ? " or " : "",
				       it_status_name(answer->any[i]));
	return g_string_free(text, FALSE);
}

static char *
compare_answer(const struct df_answer *expect, bool made, it_status_t got, unsigned step,
	       const char *call)
{
	char *text = NULL, *want;

	if (made != (expect->count > 0))
		return g_strdup_printf("step %u: the %s was %smade", step, call,
				       made ? "" : "not ");
	if (!made || is_any(expect, got))
		return NULL;
	want = answer_text(expect);
	text = g_strdup_printf("step %u: the %s answered %s instead of %s", step, call,
			       it_status_name(got), want);
	g_free(want);
	return text;
}

static char *
compare_step(const struct df_expected *expected, const struct df_record *record, unsigned i)
{
	const struct df_step_expect *expect = DF_STEP(expected, i);
	const struct df_seen_step *seen = DF_SEEN_STEP(record, i);
	char *text;

	if (expect->skip || !seen->made)
		return NULL;
	text = compare_answer(&expect->answer, seen->made, seen->answer, i, "call");
	if (text == NULL)
		text = compare_answer(&expect->second, seen->second_made, seen->second, i,
				      "accept");
	if (text == NULL)
		text = compare_answer(&expect->third, seen->third_made, seen->third, i,
				      "answer to the accept");
	return text;
}

/* --- completions ----------------------------------------------------------------------------- */

static const struct df_wr *
wr_of(const struct df_expected *expected, uint64_t cookie, unsigned *index)
{
	for (unsigned i = 0; i < expected->wrs->len; i++) {
		*index = i;
		if (DF_WR(expected, i)->cookie == cookie)
			return DF_WR(expected, i);
	}
	return NULL;
}

static char *
complaint(const struct df_seen_wr *seen, const char *what)
{
	return g_strdup_printf(
		"settlement %d: completion of %s%" G_GUINT64_FORMAT
		" (endpoint %d, %s, %s, length %u): %s",
		seen->settle, seen->cookie >= DF_PROBE ? "probe " : "step ",
		seen->cookie >= DF_PROBE ? seen->cookie - DF_PROBE : seen->cookie - 1, seen->ep,
		it_event_name(seen->event), it_dto_status_name(seen->status), seen->length, what);
}

static const char *
dto_status_name(unsigned bit)
{
	return it_dto_status_name((it_dto_status_t)bit);
}

/* The name of an event of a connection; `bit` is its number without IT_CM_MSG_EVENT_STREAM. */
static const char *
cm_name(unsigned bit)
{
	return it_event_name((it_event_type_t)(IT_CM_MSG_EVENT_STREAM | bit));
}

/* The names of a set's bits. */
static char *
names_of(unsigned bits, const char *(*name)(unsigned bit))
{
	GString *text = g_string_new(bits == 0 ? "none" : NULL);

	for (unsigned i = 0; i < 32; i++) {
		if ((bits & 1u << i) != 0)
			g_string_append_printf(text, "%s%s", text->len > 0 ? " or " : "", name(i));
	}
	return g_string_free(text, FALSE);
}

static char *
complaint_status(const struct df_seen_wr *seen, const struct df_wr *wr)
{
	g_autofree char *names = names_of(wr->statuses, dto_status_name);
	g_autofree char *what = g_strdup_printf("wrong status, expected is %s", names);
	char *text = complaint(seen, what);

	return text;
}

static char *
complaint_event(const struct df_seen_wr *seen, const struct df_wr *wr)
{
	g_autofree char *what =
		g_strdup_printf("wrong kind of event or dispatcher, expected is %s on that of %s",
				it_event_name(wr->event), wr->request ? "requests" : "receives");
	char *text = complaint(seen, what);

	return text;
}

static char *
complaint_length(const struct df_seen_wr *seen, const struct df_wr *wr)
{
	g_autofree char *what = g_strdup_printf("wrong length, expected is %u", wr->length);
	char *text = complaint(seen, what);

	return text;
}

/* Does it tell only later that a request without a completion has ended, as a flush? */
static bool
is_late_flush(const struct df_wr *wr, const struct df_seen_wr *seen)
{
	return wr->late_flush && wr->silent && wr->settle != DF_NEVER &&
	       seen->settle > wr->settle && seen->status == IT_DTO_ERR_FLUSHED;
}

/* One completion alone. */
static char *
compare_fields(const struct df_wr *wr, const struct df_seen_wr *seen)
{
	bool late = is_late_flush(wr, seen);
	bool good = seen->status == IT_DTO_SUCCESS;

	if (wr->settle != seen->settle && !late)
		return complaint(seen, wr->settle == DF_NEVER || wr->settle > seen->settle
					       ? "it should not be done yet"
					       : "it came too late");
	if (seen->ep != wr->ep || seen->life != wr->life)
		return complaint(seen, "another endpoint is named");
	if (seen->event != wr->event || seen->request != wr->request)
		return complaint_event(seen, wr);
	if (!late && ((unsigned)seen->status > 31 || (wr->statuses & (1u << seen->status)) == 0))
		return complaint_status(seen, wr);
	if (good && wr->silent && (wr->statuses & (1u << IT_DTO_SUCCESS)) != 0 && wr->request)
		return complaint(seen, "success was to be silent");
	if (good && seen->length != wr->length)
		return complaint_length(seen, wr);
	if (seen->unlinked != (good ? wr->unlinked : 0))
		return complaint(seen, "wrong handle unlinked");
	if (seen->late && wr->strict)
		return complaint(seen, "it came after its connection's end event");
	return NULL;
}

/* The message that a completion with the receive of an S-RQ belongs to: its endpoint's next one. */
static const struct df_take *
take_of(const struct df_expected *expected, const struct df_record *record, unsigned at)
{
	const struct df_seen_wr *seen = DF_SEEN_WR(record, at);
	unsigned index, nth = 0;

	for (unsigned i = 0; i < at; i++) {
		const struct df_seen_wr *before = DF_SEEN_WR(record, i);
		const struct df_wr *wr = wr_of(expected, before->cookie, &index);

		nth += wr != NULL && wr->srq > 0 && before->settle == seen->settle &&
		       before->ep == seen->ep && before->life == seen->life;
	}
	for (unsigned i = 0; i < expected->takes->len; i++) {
		const struct df_take *take = DF_TAKE(expected, i);

		if (take->wr.settle == seen->settle && take->wr.ep == seen->ep &&
		    take->wr.life == seen->life && nth-- == 0)
			return take;
	}
	return NULL;
}

/* Is the message in the memory of the receive that its completion names? */
static bool
message_lies(const struct df_take *take, const struct df_wr *receive,
	     const struct df_seen_settle *settle)
{
	uint32_t at = 0;

	for (int i = 0; i < DF_SEGS; i++) {
		const struct df_range *range = &receive->range[i];

		for (int k = 0; k < range->len && at < take->wr.length; k++, at++) {
			if (take->vague[at] == 0 &&
			    settle->memory[range->node][range->off + k] != take->octets[at])
				return false;
		}
	}
	return true;
}

static char *
compare_shared(const struct df_expected *expected, const struct df_record *record, unsigned at,
	       const struct df_wr *receive)
{
	const struct df_seen_wr *seen = DF_SEEN_WR(record, at);
	const struct df_take *take = take_of(expected, record, at);
	char *text;

	for (unsigned i = 0; i < at; i++) {
		if (DF_SEEN_WR(record, i)->cookie == seen->cookie)
			return complaint(seen, "it came twice");
	}
	if (take == NULL)
		return complaint(seen, "no message took this receive of an S-RQ");
	if (take->wr.srq != receive->srq)
		return complaint(seen, "a receive of another S-RQ");
	text = compare_fields(&take->wr, seen);
	if (text == NULL && seen->status == IT_DTO_SUCCESS && take->octets != NULL &&
	    !message_lies(take, receive, DF_SEEN(record, seen->settle)))
		text = complaint(seen, "the message is not in the memory of this receive");
	return text;
}

static bool
is_fault(it_dto_status_t status)
{
	return status != IT_DTO_SUCCESS && status != IT_DTO_ERR_FLUSHED;
}

/* One completion compared with the earlier ones of its queue. */
static char *
compare_order(const struct df_expected *expected, const struct df_record *record, unsigned at)
{
	const struct df_seen_wr *seen = DF_SEEN_WR(record, at);
	unsigned index, earlier;
	const struct df_wr *wr = wr_of(expected, seen->cookie, &index);

	for (unsigned i = 0; i < at; i++) {
		const struct df_seen_wr *before = DF_SEEN_WR(record, i);
		const struct df_wr *other = wr_of(expected, before->cookie, &earlier);

		if (other->ep != wr->ep || other->life != wr->life || other->request != wr->request)
			continue;
		if (earlier == index)
			return complaint(seen, "it came twice");
		if (earlier > index)
			return complaint(seen, "it came after one that was posted later");
		if (before->settle != seen->settle)
			continue;
		if (before->status != IT_DTO_SUCCESS && seen->status == IT_DTO_SUCCESS)
			return complaint(seen, "success, though one before it failed");
		if (is_fault(before->status) && is_fault(seen->status))
			return complaint(seen, "the second real error of a queue");
	}
	return NULL;
}

static bool
is_shared(const struct df_expected *expected, const struct df_record *record, unsigned at)
{
	unsigned index;
	const struct df_wr *wr = wr_of(expected, DF_SEEN_WR(record, at)->cookie, &index);

	return wr != NULL && wr->srq > 0;
}

static char *
compare_missing(const struct df_expected *expected, const struct df_record *record, int settle,
		unsigned from, unsigned to)
{
	for (unsigned i = 0; i < expected->wrs->len; i++) {
		const struct df_wr *wr = DF_WR(expected, i);
		bool found = wr->settle != settle || wr->silent;

		for (unsigned k = from; k < to && !found; k++)
			found = DF_SEEN_WR(record, k)->cookie == wr->cookie;
		if (!found)
			return g_strdup_printf(
				"settlement %d: the completion of %s %d (endpoint %d) "
				"is missing",
				settle, wr->step < 0 ? "the probe of" : "step",
				wr->step < 0 ? wr->ep : wr->step, wr->ep);
	}
	for (unsigned i = 0; i < expected->takes->len; i++) {
		const struct df_wr *wr = &DF_TAKE(expected, i)->wr;
		int missing = wr->settle == settle;

		for (unsigned k = i + 1; k < expected->takes->len && missing > 0; k++)
			missing += DF_TAKE(expected, k)->wr.settle == settle &&
				   DF_TAKE(expected, k)->wr.ep == wr->ep;
		for (unsigned k = from; k < to && missing > 0; k++)
			missing -= DF_SEEN_WR(record, k)->ep == wr->ep &&
				   is_shared(expected, record, k);
		if (missing > 0)
			return g_strdup_printf("settlement %d: the completion of a message to "
					       "endpoint %d with a receive of S-RQ %d is missing",
					       settle, wr->ep, wr->srq - 1);
	}
	return NULL;
}

static char *
compare_wrs(const struct df_expected *expected, const struct df_record *record, int settle)
{
	unsigned from = 0, to, index;
	char *text = NULL;

	while (from < record->wrs->len && DF_SEEN_WR(record, from)->settle < settle)
		from++;
	for (to = from; to < record->wrs->len && DF_SEEN_WR(record, to)->settle == settle; to++) {
		const struct df_seen_wr *seen = DF_SEEN_WR(record, to);
		const struct df_wr *wr = wr_of(expected, seen->cookie, &index);

		if (wr == NULL)
			return complaint(seen, "nothing like it was posted");
		if (wr->srq > 0)
			text = compare_shared(expected, record, to, wr);
		else
			text = compare_fields(wr, seen);
		if (text == NULL && wr->srq == 0)
			text = compare_order(expected, record, to);
		if (text != NULL)
			return text;
	}
	return compare_missing(expected, record, settle, from, to);
}

/* --- the rest of a settlement ---------------------------------------------------------------- */

static char *
cm_complaint(int settle, const struct df_seen_cm *cm, unsigned expected)
{
	g_autofree char *names = names_of(expected, cm_name);
	char *text = g_strdup_printf("settlement %d: event %s of endpoint %d, expected is %s",
				     settle, it_event_name(cm->event), cm->ep, names);

	return text;
}

static char *
cm_missing(int settle, int ep, unsigned expected)
{
	g_autofree char *names = names_of(expected, cm_name);
	char *text = g_strdup_printf("settlement %d: of endpoint %d an event is missing: %s",
				     settle, ep, names);

	return text;
}

static const char *
state_name(int state)
{
	return state < 0 ? "freed" : it_ep_state_name((it_ep_state_rc_t)state);
}

static char *
compare_cm(const struct df_settle *expect, const struct df_seen_settle *seen, int settle)
{
	unsigned left[DF_EPS] = {0};

	for (unsigned i = 0; i < expect->cm->len; i++) {
		const struct df_cm *cm = &g_array_index(expect->cm, struct df_cm, i);

		left[cm->ep] = cm->events;
	}
	for (unsigned i = 0; i < seen->cm->len; i++) {
		const struct df_seen_cm *cm = &g_array_index(seen->cm, struct df_seen_cm, i);

		if (cm->ep < 0 || (left[cm->ep] & (1u << (cm->event & 0xf))) == 0)
			return cm_complaint(settle, cm, cm->ep >= 0 ? left[cm->ep] : 0);
		left[cm->ep] = 0;
	}
	for (int i = 0; i < DF_EPS; i++) {
		if (left[i] != 0)
			return cm_missing(settle, i, left[i]);
	}
	return NULL;
}

static char *
compare_eps(const struct df_settle *expect, const struct df_seen_settle *seen, int settle)
{
	for (int i = 0; i < DF_EPS; i++) {
		if (seen->ep[i].state != expect->ep[i].state)
			return g_strdup_printf(
				"settlement %d: endpoint %d is in state %s instead of %s", settle,
				i, state_name(seen->ep[i].state), state_name(expect->ep[i].state));
		if (seen->ep[i].state >= 0 && seen->ep[i].ord != expect->ep[i].ord)
			return g_strdup_printf(
				"settlement %d: endpoint %d has ORD %d instead of %d", settle, i,
				seen->ep[i].ord, expect->ep[i].ord);
	}
	for (int i = 0; i < DF_UDS; i++) {
		if (seen->ud[i] != expect->ud[i])
			return g_strdup_printf("settlement %d: datagram endpoint %d is in state %d "
					       "instead of %d",
					       settle, i, seen->ud[i], expect->ud[i]);
	}
	return NULL;
}

static char *
compare_memory(const struct df_settle *expect, const struct df_seen_settle *seen, int settle)
{
	for (int node = 0; node < DF_NODES; node++) {
		if (memcmp(seen->memory[node], expect->memory[node], DF_MEMORY) == 0)
			continue;
		for (int i = 0; i < DF_MEMORY; i++) {
			if (expect->vague[node][i] == 0 &&
			    seen->memory[node][i] != expect->memory[node][i])
				return g_strdup_printf("settlement %d: octet %d of node %d is %#x "
						       "instead of %#x",
						       settle, i, node, seen->memory[node][i],
						       expect->memory[node][i]);
		}
	}
	return NULL;
}

/* Is the completion a notification event [IT 6.2.3]? */
static bool
notifies(const struct df_expected *expected, const struct df_record *record, unsigned at)
{
	const struct df_seen_wr *seen = DF_SEEN_WR(record, at);
	unsigned index;
	const struct df_wr *wr = wr_of(expected, seen->cookie, &index);
	const struct df_wr *message = wr;

	if (wr->srq > 0)
		message = &take_of(expected, record, at)->wr;
	return seen->status != IT_DTO_SUCCESS || wr->notify || message->solicited;
}

static char *
compare_notified(const struct df_expected *expected, const struct df_record *record, int settle)
{
	bool any[DF_NODES][2] = {{false}};

	for (unsigned i = 0; i < record->wrs->len; i++) {
		const struct df_seen_wr *seen = DF_SEEN_WR(record, i);

		if (seen->settle == settle && seen->cookie < DF_PROBE)
			any[df_node(seen->ep)][seen->request ? 0 : 1] |=
				notifies(expected, record, i);
	}
	for (int i = 0; i < 2 * DF_NODES; i++) {
		int notified = DF_SEEN(record, settle)->notified[i / 2][i % 2];

		if (!DF_SETTLEMENT(expected, settle)->watch[i / 2][i % 2])
			continue;
		if (notified >= 0 && (notified == 1) != any[i / 2][i % 2])
			return g_strdup_printf("settlement %d: the dispatcher of %s of node %d was "
					       "%snotified",
					       settle, i % 2 == 0 ? "requests" : "receives", i / 2,
					       notified == 1 ? "" : "not ");
	}
	return NULL;
}

static char *
compare_settle(const struct df_expected *expected, const struct df_record *record, unsigned i)
{
	const struct df_settle *expect = DF_SETTLEMENT(expected, i);
	const struct df_seen_settle *seen = DF_SEEN(record, i);
	char *text = compare_wrs(expected, record, (int)i);

	if (text == NULL)
		text = compare_notified(expected, record, (int)i);
	if (text == NULL)
		text = compare_cm(expect, seen, (int)i);
	if (text == NULL)
		text = compare_eps(expect, seen, (int)i);
	if (text == NULL)
		text = df_compare_limits(expect, seen, (int)i);
	if (text == NULL)
		text = df_compare_faults(expect, seen, (int)i);
	if (text == NULL)
		text = compare_memory(expect, seen, (int)i);
	return text;
}

char *
df_compare(const struct df_expected *expected, const struct df_record *record)
{
	unsigned settles = 0;
	char *text = NULL;

	for (unsigned i = 0; i < record->steps->len && text == NULL; i++) {
		if (DF_STEP(expected, i)->settle_before && settles < record->settles->len)
			text = compare_settle(expected, record, settles++);
		if (text == NULL)
			text = compare_step(expected, record, i);
		if (text == NULL && DF_STEP(expected, i)->settle_after &&
		    settles < record->settles->len)
			text = compare_settle(expected, record, settles++);
	}
	for (; settles < record->settles->len && text == NULL; settles++)
		text = compare_settle(expected, record, settles);
	if (text == NULL && record->stuck)
		text = g_strdup("something that was expected never came");
	if (text == NULL && settles < expected->settles->len)
		text = g_strdup("the record ends early");
	if (text == NULL && record->teardown != NULL)
		text = g_strdup_printf("at the end: %s", record->teardown);
	if (text == NULL && record->strange != NULL)
		text = g_strdup(record->strange);
	return text;
}

char *
df_record_text(const struct df_record *record)
{
	GString *text = g_string_new(NULL);

	for (unsigned i = 0; i < record->steps->len; i++) {
		const struct df_seen_step *seen = DF_SEEN_STEP(record, i);

		if (seen->made)
			g_string_append_printf(text, "step %u: answer %s\n", i,
					       it_status_name(seen->answer));
		if (seen->second_made)
			g_string_append_printf(text, "step %u: accept's answer %s\n", i,
					       it_status_name(seen->second));
		if (seen->third_made)
			g_string_append_printf(text, "step %u: answer %s to the answer\n", i,
					       it_status_name(seen->third));
	}
	for (unsigned i = 0; i < record->wrs->len; i++) {
		g_autofree char *line = complaint(DF_SEEN_WR(record, i), "seen");

		g_string_append_printf(text, "%s\n", line);
	}
	for (unsigned i = 0; i < record->settles->len; i++) {
		const GArray *cm = DF_SEEN(record, i)->cm;

		for (int k = 0; k < 2 * DF_NODES; k++) {
			if (DF_SEEN(record, i)->notified[k / 2][k % 2] >= 0)
				g_string_append_printf(
					text, "settlement %u: %s of node %d notified: %d\n", i,
					k % 2 == 0 ? "requests" : "receives", k / 2,
					DF_SEEN(record, i)->notified[k / 2][k % 2]);
		}
		df_limits_text(DF_SEEN(record, i), i, text);
		df_faults_text(DF_SEEN(record, i), i, text);
		for (unsigned k = 0; k < cm->len; k++)
			g_string_append_printf(
				text, "settlement %u: event %s of endpoint %d\n", i,
				it_event_name(g_array_index(cm, struct df_seen_cm, k).event),
				g_array_index(cm, struct df_seen_cm, k).ep);
	}
	return g_string_free(text, FALSE);
}
