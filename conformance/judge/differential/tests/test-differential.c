/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Tests that the differential tester can fail. Records of real runs are falsified, one item at a
 * time, and the comparison must object to each; a planted error must shrink to the smallest program
 * that shows it.
 */
#include <string.h>

#include "df_compare.h"
#include "df_generate.h"
#include "df_model.h"
#include "df_run.h"
#include "df_shrink.h"

#define ADAPTER  "emul:ib"
#define SEEDS    200 /* records in which each kind of falsification must find an item */
#define PATIENCE 60

static struct df_profile profile;

struct play {
	struct df_program *program;
	struct df_expected *expected;
	struct df_record *record;
};

static struct play
play(struct df_program *program)
{
	struct play play = {.program = program};

	play.expected = df_model_run(program, &profile);
	play.record = df_run_program(ADAPTER, program, play.expected, PATIENCE);
	return play;
}

static void
play_end(struct play *play)
{
	df_record_free(play->record);
	df_expected_free(play->expected);
	df_program_free(play->program);
}

static bool
objects(const struct play *play)
{
	g_autofree char *text = df_compare(play->expected, play->record);
	bool any = text != NULL;

	return any;
}

/* --- programs -------------------------------------------------------------------------------- */

static void
test_text(void)
{
	for (uint32_t seed = 1; seed <= 50; seed++) {
		bool wide = seed % 2 == 0;
		struct df_program *first = df_generate(seed, wide),
				  *again = df_generate(seed, wide);
		struct df_program *back;
		char *text = df_program_text(first), *same = df_program_text(again), *why, *round;

		g_assert_cmpstr(text, ==, same);
		back = df_program_read(text, &why);
		g_assert_nonnull(back);
		round = df_program_text(back);
		g_assert_cmpstr(text, ==, round);
		g_free(round);
		g_free(same);
		g_free(text);
		df_program_free(back);
		df_program_free(again);
		df_program_free(first);
	}
}

static void
test_no_program(void)
{
	static const char *const lines[] = {
		"sing ep=1",
		"send ep=6",
		"send ep=-1",
		"send ep=",
		"send ep",
		"send depth=1",
		"send seg=10+0:8",
		"send seg=0+0",
		"send seg=0+0:8x",
		"write key=l8 ep=0",
		"write key=q1 ep=0",
		"write ep=0",
		"rmr-create obj=5",
		"srq-create obj=0 rq=0",
		"srq-recv obj=4",
		"lmr-create obj=0 off=16000 len=8000",
		"ep-create ep=0 sq=0 rq=4",
		"send seg=0+0:1 seg=0+0:1 seg=0+0:1 seg=0+0:1 seg=0+0:1 seg=0+0:1 seg=0+0:1",
	};

	for (size_t i = 0; i < G_N_ELEMENTS(lines); i++) {
		g_autofree char *why = NULL;

		g_assert_null(df_program_read(lines[i], &why));
		g_assert_nonnull(why);
	}
}

/* --- falsifications -------------------------------------------------------------------------- */

/* Each changes one item of a record; false: there was none of its kind. */
typedef bool (*falsify)(struct df_record *record, const struct df_expected *expected);

static const struct df_wr *
meant(const struct df_expected *expected, const struct df_seen_wr *seen)
{
	for (unsigned i = 0; i < expected->wrs->len; i++) {
		if (DF_WR(expected, i)->cookie == seen->cookie)
			return DF_WR(expected, i);
	}
	return NULL;
}

/* Two items of one queue and one settlement. */
static bool
swap_completions(struct df_record *record, const struct df_expected *expected)
{
	for (unsigned i = 0; i + 1 < record->wrs->len; i++) {
		struct df_seen_wr *a = DF_SEEN_WR(record, i), *b = DF_SEEN_WR(record, i + 1);
		struct df_seen_wr keep = *a;

		if (a->ep != b->ep || a->request != b->request || a->settle != b->settle ||
		    meant(expected, a)->life != meant(expected, b)->life)
			continue;
		*a = *b;
		*b = keep;
		return true;
	}
	return false;
}

static bool
lose_completion(struct df_record *record, const struct df_expected *expected)
{
	for (unsigned i = 0; i < record->wrs->len; i++) {
		if (meant(expected, DF_SEEN_WR(record, i))->silent)
			continue;
		g_array_remove_index(record->wrs, i);
		return true;
	}
	return false;
}

static bool
double_completion(struct df_record *record, const struct df_expected *expected)
{
	struct df_seen_wr copy;

	(void)expected;
	if (record->wrs->len == 0)
		return false;
	copy = *DF_SEEN_WR(record, 0);
	g_array_insert_val(record->wrs, 1, copy);
	return true;
}

static bool
wrong_status(struct df_record *record, const struct df_expected *expected)
{
	for (unsigned i = 0; i < record->wrs->len; i++) {
		struct df_seen_wr *seen = DF_SEEN_WR(record, i);

		if (seen->status != IT_DTO_SUCCESS)
			continue;
		seen->status = IT_DTO_ERR_BAD_RESPONSE;
		return true;
	}
	(void)expected;
	return false;
}

/* Of a request that must be flushed. */
static bool
success_instead(struct df_record *record, const struct df_expected *expected)
{
	for (unsigned i = 0; i < record->wrs->len; i++) {
		struct df_seen_wr *seen = DF_SEEN_WR(record, i);

		if (meant(expected, seen)->statuses != MODEL_BIT(IT_DTO_ERR_FLUSHED))
			continue;
		seen->status = IT_DTO_SUCCESS;
		return true;
	}
	return false;
}

static bool
wrong_length(struct df_record *record, const struct df_expected *expected)
{
	for (unsigned i = 0; i < record->wrs->len; i++) {
		struct df_seen_wr *seen = DF_SEEN_WR(record, i);

		if (seen->status != IT_DTO_SUCCESS)
			continue;
		seen->length++;
		return true;
	}
	(void)expected;
	return false;
}

/* Those of the first completion there is. */
static void
change_ep(struct df_seen_wr *seen)
{
	seen->ep = (seen->ep + 1) % DF_EPS;
}

static void
change_life(struct df_seen_wr *seen)
{
	seen->life++;
}

static void
change_cookie(struct df_seen_wr *seen)
{
	seen->cookie += 1000;
}

static void
change_event(struct df_seen_wr *seen)
{
	seen->event = IT_LMR_LINK_CMPL_EVENT;
}

static void
change_queue(struct df_seen_wr *seen)
{
	seen->request = !seen->request;
}

static void
change_unlinked(struct df_seen_wr *seen)
{
	seen->unlinked = 1;
}

static bool
too_early(struct df_record *record, const struct df_expected *expected)
{
	(void)expected;
	if (record->wrs->len == 0 || DF_SEEN_WR(record, 0)->settle == 0)
		return false;
	DF_SEEN_WR(record, 0)->settle = 0;
	return true;
}

/* of a request that must complete before the end of its connection. */
static bool
after_the_end(struct df_record *record, const struct df_expected *expected)
{
	for (unsigned i = 0; i < record->wrs->len; i++) {
		struct df_seen_wr *seen = DF_SEEN_WR(record, i);

		if (seen->status != IT_DTO_ERR_FLUSHED || !meant(expected, seen)->strict)
			continue;
		seen->late = true;
		return true;
	}
	return false;
}

static GArray *
some_cm(struct df_record *record)
{
	for (unsigned i = 0; i < record->settles->len; i++) {
		if (DF_SEEN(record, i)->cm->len > 0)
			return DF_SEEN(record, i)->cm;
	}
	return NULL;
}

static bool
lose_cm(struct df_record *record, const struct df_expected *expected)
{
	GArray *cm = some_cm(record);

	(void)expected;
	if (cm != NULL)
		g_array_remove_index(cm, 0);
	return cm != NULL;
}

static bool
double_cm(struct df_record *record, const struct df_expected *expected)
{
	GArray *cm = some_cm(record);
	struct df_seen_cm copy;

	(void)expected;
	if (cm == NULL)
		return false;
	copy = g_array_index(cm, struct df_seen_cm, 0);
	g_array_append_val(cm, copy);
	return true;
}

static bool
wrong_cm(struct df_record *record, const struct df_expected *expected)
{
	GArray *cm = some_cm(record);

	(void)expected;
	if (cm != NULL)
		g_array_index(cm, struct df_seen_cm, 0).event = IT_CM_MSG_CONN_NONPEER_REJECT_EVENT;
	return cm != NULL;
}

static bool
lose_octet(struct df_record *record, const struct df_expected *expected)
{
	for (unsigned i = record->settles->len; i > 0; i--) {
		const struct df_settle *settle = DF_SETTLEMENT(expected, i - 1);
		const uint8_t *known = memchr(settle->vague[1], 0, DF_ARENA);

		if (known == NULL)
			continue;
		DF_SEEN(record, i - 1)->memory[1][known - settle->vague[1]] ^= 0x10;
		return true;
	}
	return false;
}

static bool
wrong_state(struct df_record *record, const struct df_expected *expected)
{
	(void)expected;
	DF_SEEN(record, record->settles->len - 1)->ep[0].state =
		IT_EP_STATE_PASSIVE_CONNECTION_PENDING;
	return true;
}

static bool
wrong_ord(struct df_record *record, const struct df_expected *expected)
{
	struct df_ep_expect *ep = DF_SEEN(record, record->settles->len - 1)->ep;

	(void)expected;
	for (int i = 0; i < DF_EPS; i++) {
		if (ep[i].state < 0)
			continue;
		ep[i].ord++;
		return true;
	}
	return false;
}

static bool
wrong_answer(struct df_record *record, const struct df_expected *expected)
{
	(void)expected;
	DF_SEEN_STEP(record, 0)->answer = IT_ERR_ABORT;
	return DF_SEEN_STEP(record, 0)->made;
}

static bool
wrong_accept(struct df_record *record, const struct df_expected *expected)
{
	(void)expected;
	for (unsigned i = 0; i < record->steps->len; i++) {
		if (!DF_SEEN_STEP(record, i)->second_made)
			continue;
		DF_SEEN_STEP(record, i)->second = IT_ERR_INVALID_CN_EST_ID;
		return true;
	}
	return false;
}

static bool
ends_early(struct df_record *record, const struct df_expected *expected)
{
	(void)expected;
	g_array_set_size(record->settles, record->settles->len - 1);
	while (record->wrs->len > 0 &&
	       DF_SEEN_WR(record, record->wrs->len - 1)->settle >= (int)record->settles->len)
		g_array_set_size(record->wrs, record->wrs->len - 1);
	return true;
}

static bool
gets_stuck(struct df_record *record, const struct df_expected *expected)
{
	(void)expected;
	record->stuck = true;
	return true;
}

static bool
cannot_free(struct df_record *record, const struct df_expected *expected)
{
	(void)expected;
	record->teardown = g_strdup("lmr 0 cannot be freed: IT_ERR_LMR_BUSY");
	return true;
}

static const struct {
	const char *name;
	falsify change;
	void (*first)(struct df_seen_wr *seen);
} falsifications[] = {
	{"swapped-completions", swap_completions, NULL},
	{"lost-completion", lose_completion, NULL},
	{"double-completion", double_completion, NULL},
	{"wrong-status", wrong_status, NULL},
	{"success-instead-of-flush", success_instead, NULL},
	{"wrong-length", wrong_length, NULL},
	{"wrong-endpoint", NULL, change_ep},
	{"endpoint-of-before", NULL, change_life},
	{"wrong-cookie", NULL, change_cookie},
	{"wrong-event", NULL, change_event},
	{"wrong-dispatcher", NULL, change_queue},
	{"wrong-unlinked-handle", NULL, change_unlinked},
	{"early-completion", too_early, NULL},
	{"completion-after-the-end", after_the_end, NULL},
	{"lost-connection-event", lose_cm, NULL},
	{"double-connection-event", double_cm, NULL},
	{"wrong-connection-event", wrong_cm, NULL},
	{"lost-octet", lose_octet, NULL},
	{"wrong-state", wrong_state, NULL},
	{"wrong-ord", wrong_ord, NULL},
	{"wrong-answer", wrong_answer, NULL},
	{"wrong-answer-of-accept", wrong_accept, NULL},
	{"early-end", ends_early, NULL},
	{"stuck", gets_stuck, NULL},
	{"cannot-be-freed", cannot_free, NULL},
};

/* False: the record has no such item. */
static bool
falsified(const struct play *p, size_t i)
{
	if (falsifications[i].change != NULL)
		return falsifications[i].change(p->record, p->expected);
	if (p->record->wrs->len == 0)
		return false;
	falsifications[i].first(DF_SEEN_WR(p->record, 0));
	return true;
}

static void
test_falsified(const void *data)
{
	unsigned found = 0;

	for (uint32_t seed = 1; seed <= SEEDS && found < 3; seed++) {
		struct play p = play(df_generate(seed, false));

		g_assert_false(objects(&p));
		if (falsified(&p, GPOINTER_TO_SIZE(data))) {
			g_assert_true(objects(&p));
			found++;
		}
		play_end(&p);
	}
	g_assert_cmpuint(found, >, 0);
}

/* A complaint names what was seen and what was expected. */
static void
test_names(void)
{
	static const struct {
		falsify change;
		const char *seen;
		const char *expected;
	} told[] = {
		{wrong_answer, "answered IT_ERR_ABORT", "instead of IT_SUCCESS"},
		{wrong_status, "IT_DTO_ERR_BAD_RESPONSE", "expected is IT_DTO_SUCCESS"},
		{wrong_cm, "IT_CM_MSG_CONN_NONPEER_REJECT_EVENT", "expected is IT_CM_MSG_CONN_"},
		{wrong_state, "IT_EP_STATE_PASSIVE_CONNECTION_PENDING", "instead of "},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(told); i++) {
		bool found = false;

		for (uint32_t seed = 1; seed <= SEEDS && !found; seed++) {
			struct play p = play(df_generate(seed, false));
			char *text;

			found = told[i].change(p.record, p.expected);
			text = df_compare(p.expected, p.record);
			if (found) {
				g_assert_nonnull(text);
				g_assert_nonnull(strstr(text, told[i].seen));
				g_assert_nonnull(strstr(text, told[i].expected));
			}
			g_free(text);
			play_end(&p);
		}
		g_assert_true(found);
	}
}

/* --- shrinking ------------------------------------------------------------------------------- */

/* A planted error of the "adapter": the last octet of a message is lost. */
static bool
shows_fault(const struct df_program *program, void *arg)
{
	struct play p = play(df_program_copy(program));
	bool shown;

	(void)arg;
	for (unsigned i = 0; i < p.record->wrs->len; i++) {
		struct df_seen_wr *seen = DF_SEEN_WR(p.record, i);

		if (seen->event == IT_DTO_RC_RECV_CMPL_EVENT && seen->length > 0)
			seen->length--;
	}
	shown = objects(&p);
	play_end(&p);
	return shown;
}

static unsigned
count_of(const struct df_program *program, enum df_kind kind)
{
	unsigned count = 0;

	for (unsigned i = 0; i < program->steps->len; i++)
		count += df_program_step(program, i)->kind == kind;
	return count;
}

static void
check_least(const struct df_program *small)
{
	g_assert_cmpuint(count_of(small, DF_EP_CREATE), ==, 2);
	g_assert_cmpuint(count_of(small, DF_CONNECT), ==, 1);
	g_assert_cmpuint(count_of(small, DF_RECV), ==, 1);
	g_assert_cmpuint(count_of(small, DF_SEND) + count_of(small, DF_SEND_UNLINK), ==, 1);
	g_assert_cmpuint(small->steps->len, ==, 5 + count_of(small, DF_LMR_CREATE));
	/* A region at each end, or one for both if they are on one node. */
	g_assert_cmpuint(count_of(small, DF_LMR_CREATE), <=, 2);
}

static void
test_shrink(void)
{
	unsigned found = 0;

	for (uint32_t seed = 1; seed <= SEEDS && found < 3; seed++) {
		struct df_program *program = df_generate(seed, false), *small, *again;
		char *first, *second;

		if (!shows_fault(program, NULL)) {
			df_program_free(program);
			continue;
		}
		small = df_shrink(program, shows_fault, NULL);
		again = df_shrink(program, shows_fault, NULL);
		first = df_program_text(small);
		second = df_program_text(again);
		g_test_message("seed %u:\n%s", seed, first);
		g_assert_cmpstr(first, ==, second);
		check_least(small);
		found++;
		g_free(first);
		g_free(second);
		df_program_free(again);
		df_program_free(small);
		df_program_free(program);
	}
	g_assert_cmpuint(found, ==, 3);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_assert_true(df_profile_ask(ADAPTER, &profile));
	g_test_add_func("/differential/program/text", test_text);
	g_test_add_func("/differential/program/refused", test_no_program);
	for (size_t i = 0; i < G_N_ELEMENTS(falsifications); i++) {
		g_autofree char *path =
			g_strdup_printf("/differential/objects-to/%s", falsifications[i].name);

		g_test_add_data_func(path, GSIZE_TO_POINTER(i), test_falsified);
	}
	g_test_add_func("/differential/names", test_names);
	g_test_add_func("/differential/shrink", test_shrink);
	return g_test_run();
}
