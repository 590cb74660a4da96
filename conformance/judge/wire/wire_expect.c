/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Checks what the peer sends. Each FPDU is checked against the rules that always apply: its own
 * header, and MSN, MO and TO, which must continue the segment before it. Then the step's own words
 * are compared.
 *
 * Standards: RFC 5040 sections 4 to 7, RFC 5041 sections 4 to 7.
 */

#include <string.h>

#include "wire_run.h"

#define READ_HEADER 28u
#define ALIVE_SIZE  48u
#define ALIVE_STAG  0x7a000000u
#define COPY_LENGTH 0x80u /* M of a Terminate (RFC 5040 section 4.8) */
#define COPY_DDP    0x40u /* D */
#define COPY_READ   0x20u /* R */
#define KEPT_REGION "keep-region"
#define KEPT_SEED   5u

/* A message that has come whole. */
struct message {
	struct wire_fpdu first; /* its first segment; the payload is not there any more */
	GByteArray *payload;
};

static char *
fpdu_text(const struct wire_fpdu *fpdu)
{
	const char *name = wire_opcode_name(fpdu->opcode);

	if (fpdu->opcode == WIRE_TERMINATE && fpdu->payload_len >= 2)
		return g_strdup_printf("Terminate %02x%02x", fpdu->payload[0], fpdu->payload[1]);
	return g_strdup_printf("%s of %" G_GSIZE_FORMAT " octets", name != NULL ? name : "?",
			       fpdu->payload_len);
}

/*
 * Drop Writes of no octets from the front of the input. A stack may send them at any time, for example to wake a peer:
 * they have no effect (RFC 5041 section 5.1).
 */
static void
empty_writes_drop(struct wire_conn *conn)
{
	struct wire_fpdu fpdu;
	gsize size;
	g_autofree char *why = NULL;

	while (wire_conn_look(conn, &fpdu, &size, &why) == WIRE_TAKEN_WHOLE &&
	       fpdu.opcode == WIRE_WRITE && fpdu.last && fpdu.payload_len == 0)
		wire_conn_taken(conn, size);
}

/* Wait for a whole FPDU. Its payload is in conn->in; the caller takes `size` octets there. */
static gboolean
fpdu_wait(struct wire_run *run, struct wire_fpdu *fpdu, gsize *size, gboolean drop, GError **error)
{
	struct wire_conn *conn = run->conn;
	gint64 deadline = wire_run_deadline(run);

	for (;;) {
		g_autofree char *why = NULL;
		enum wire_taken taken;

		if (drop)
			empty_writes_drop(conn);
		taken = wire_conn_look(conn, fpdu, size, &why);

		if (taken == WIRE_TAKEN_WHOLE)
			return TRUE;
		if (taken == WIRE_TAKEN_BAD)
			return wire_fail(error, WIRE_ERROR_VERDICT, "the peer sent an FPDU with %s",
					 why);
		if (conn->end != WIRE_END_NONE)
			return wire_fail(error, WIRE_ERROR_VERDICT,
					 "expected an FPDU, got %u octets and %s", conn->in->len,
					 conn->end == WIRE_END_FIN ? "a FIN" : "a reset");
		if (!wire_conn_wait(conn, deadline))
			return wire_fail(error, WIRE_ERROR_VERDICT,
					 "expected an FPDU, got %u octets and no more in time",
					 conn->in->len);
	}
}

/* The rules between the segments of a message. */
static gboolean
segment_judge(const struct message *message, const struct wire_fpdu *fpdu, GError **error)
{
	const struct wire_fpdu *first = &message->first;
	guint have = message->payload->len;

	if (fpdu->opcode != first->opcode)
		return wire_fail(error, WIRE_ERROR_VERDICT,
				 "a message of opcode %u begins before one of opcode %u has ended "
				 "(RFC 5041 section 5.2)",
				 fpdu->opcode, first->opcode);
	if (fpdu->stag != first->stag)
		return wire_fail(error, WIRE_ERROR_VERDICT,
				 "the STag changes inside a message (RFC 5041 section 4.2)");
	if (fpdu->tagged && fpdu->to != first->to + have)
		return wire_fail(error, WIRE_ERROR_VERDICT,
				 "TO does not go on where the segment before ended");
	if (!fpdu->tagged && fpdu->mo != have)
		return wire_fail(error, WIRE_ERROR_VERDICT,
				 "MO is %u, expected %u "
				 "(RFC 5041 section 4.3)",
				 fpdu->mo, have);
	if (!fpdu->tagged && fpdu->msn != first->msn)
		return wire_fail(error, WIRE_ERROR_VERDICT,
				 "the MSN changes inside a message (RFC 5041 section 4.3)");
	return TRUE;
}

/* Gather the segments of the next message. A Terminate is not taken if another message is wanted. */
static gboolean
message_wait(struct wire_run *run, guint wanted, gboolean drop, struct message *message,
	     GError **error)
{
	struct wire_conn *conn = run->conn;
	struct wire_fpdu fpdu;
	gsize size;

	message->payload = g_byte_array_new();
	do {
		gboolean begins = message->payload->len == 0;

		if (!fpdu_wait(run, &fpdu, &size, drop && begins, error))
			return FALSE;
		if (begins)
			message->first = fpdu;
		if (fpdu.opcode != wanted) {
			g_autofree char *text = fpdu_text(&fpdu);

			return wire_fail(error, WIRE_ERROR_VERDICT, "expected %s, got %s",
					 wire_opcode_name(wanted), text);
		}
		if (!segment_judge(message, &fpdu, error))
			return FALSE;
		g_byte_array_append(message->payload, fpdu.payload, (guint)fpdu.payload_len);
		wire_conn_taken(conn, size);
	} while (!fpdu.last);
	if (fpdu.tagged)
		return TRUE;
	if (message->first.msn != conn->rx_msn[fpdu.qn])
		return wire_fail(error, WIRE_ERROR_VERDICT,
				 "MSN is %u, expected %u (RFC 5041 section 4.3)",
				 message->first.msn, conn->rx_msn[fpdu.qn]);
	conn->rx_msn[fpdu.qn]++;
	return TRUE;
}

/* --- Terminate ------------------------------------------------------------------------------- */

/* Which headers must be with a code (RFC 5040 section 4.8). */
static guint
copies_due(guint code, const guint8 *guilty, gsize len)
{
	guint flags = COPY_LENGTH | COPY_DDP;
	gsize header = len > 0 && (guilty[0] & 0x80) != 0 ? WIRE_TAGGED_SIZE : WIRE_UNTAGGED_SIZE;

	if (code >> 12 == 2 || code >> 8 == 0 || len < header)
		return 0;
	if (code >> 8 == 1 && (guilty[1] & 0x0f) == WIRE_READ_REQUEST &&
	    len >= WIRE_UNTAGGED_SIZE + READ_HEADER)
		flags |= COPY_READ;
	return flags;
}

/* The copies must be of the segment that was wrong. */
static gboolean
copies_judge(const struct wire_conn *conn, const struct message *message, guint flags,
	     GError **error)
{
	gsize len;
	const guint8 *guilty = g_bytes_get_data(conn->guilty, &len);
	const guint8 *at = message->payload->data;
	gsize header = (guilty[0] & 0x80) != 0 ? WIRE_TAGGED_SIZE : WIRE_UNTAGGED_SIZE;
	gsize size = 4;

	if ((flags & COPY_DDP) != 0)
		size += 2 + header;
	if ((flags & COPY_READ) != 0)
		size += READ_HEADER;
	if (message->payload->len != size)
		return wire_fail(error, WIRE_ERROR_VERDICT,
				 "the Terminate has %u octets behind its DDP header, expected "
				 "%" G_GSIZE_FORMAT " (RFC 5040 section 4.8)",
				 message->payload->len, size);
	if ((flags & COPY_DDP) == 0)
		return TRUE;
	if (wire_get16(at + 4) != len)
		return wire_fail(error, WIRE_ERROR_VERDICT,
				 "the Terminate says that the segment had %u octets, it had "
				 "%" G_GSIZE_FORMAT " (RFC 5040 section 4.8)",
				 wire_get16(at + 4), len);
	if (memcmp(at + 6, guilty, size - 6) != 0)
		return wire_fail(error, WIRE_ERROR_VERDICT,
				 "the Terminate repeats other headers than those of the wrong "
				 "segment (RFC 5040 section 4.8)");
	return TRUE;
}

static gboolean
terminate_judge(struct wire_run *run, char *const *words, const struct message *message,
		GError **error)
{
	const guint8 *at = message->payload->data;
	const char *copy = wire_word_value(words, "copy");
	gsize len = 0;
	const guint8 *guilty =
		run->conn->guilty != NULL ? g_bytes_get_data(run->conn->guilty, &len) : NULL;
	g_autofree char *code = NULL;
	g_auto(GStrv) codes = g_strsplit(words[2] != NULL ? words[2] : "", "|", -1);
	gboolean of_siw;
	guint due;

	if (message->payload->len < 4)
		return wire_fail(error, WIRE_ERROR_VERDICT, "the Terminate is too short");
	/* Of siw's, the halves of the first octet are exchanged; it says other things of the copies, too. */
	of_siw = run->session->siw_terminate && (at[2] & 0xe0) == 0;
	code = of_siw ? g_strdup_printf("%x%x%02x", at[0] & 15, at[0] >> 4, at[1])
		      : g_strdup_printf("%02x%02x", at[0], at[1]);
	if (words[2] == NULL || strcmp(words[2], "any") == 0)
		return TRUE;
	if (!g_strv_contains((const char *const *)codes, code))
		return wire_fail(error, WIRE_ERROR_VERDICT, "expected Terminate %s, got %s",
				 words[2], code);
	if (of_siw || (copy != NULL && strcmp(copy, "any") == 0))
		return TRUE;
	due = copies_due((guint)at[0] << 8 | at[1], guilty, len);
	if (copy != NULL && strcmp(copy, "none") == 0)
		due = 0;
	if ((at[2] & 0xe0) != due)
		return wire_fail(error, WIRE_ERROR_VERDICT,
				 "M, D and R of the Terminate are %02x, expected %02x "
				 "(RFC 5040 section 4.8)",
				 at[2] & 0xe0, due);
	return guilty == NULL || copies_judge(run->conn, message, due, error);
}

/* --- messages -------------------------------------------------------------------------------- */

static gboolean
field_judge(struct wire_run *run, char *const *words, const char *key, guint64 value,
	    GError **error)
{
	const char *wanted = wire_word_value(words, key);
	gboolean fits = TRUE;

	if (wanted != NULL && !wire_run_fits(run, wanted, value, &fits, error))
		return FALSE;
	return fits ||
	       wire_fail(error, WIRE_ERROR_VERDICT, "%s: %s is %" G_GUINT64_FORMAT ", expected %s",
			 words[1], key, value, wanted);
}

static gboolean
data_judge(struct wire_run *run, char *const *words, const GByteArray *payload, GError **error)
{
	guint64 seed;
	guint64 from;

	if (!field_judge(run, words, "data", payload->len, error) ||
	    !wire_run_number(run, words, "seed", 0, &seed, error) ||
	    !wire_run_number(run, words, "from", 0, &from, error))
		return FALSE;
	if (wire_word_value(words, "seed") == NULL)
		return TRUE;
	for (guint i = 0; i < payload->len; i++) {
		if (payload->data[i] != wire_pattern((guint)seed, from + i))
			return wire_fail(error, WIRE_ERROR_VERDICT, "octet %u of the %s is wrong",
					 i, words[1]);
	}
	return TRUE;
}

/* The numbers behind the DDP header of a Read Request or of an atomic; they are remembered, too. */
static gboolean
control_judge(struct wire_run *run, char *const *words, const struct message *message,
	      GError **error)
{
	static const struct {
		guint opcode;
		guint at;
		guint size;
		const char *key;
	} fields[] = {
		{WIRE_READ_REQUEST, 0, 4, "sink"},
		{WIRE_READ_REQUEST, 4, 8, "sink-to"},
		{WIRE_READ_REQUEST, 12, 4, "size"},
		{WIRE_READ_REQUEST, 16, 4, "source"},
		{WIRE_READ_REQUEST, 20, 8, "source-to"},
		{WIRE_ATOMIC_REQUEST, 0, 4, "operation"},
		{WIRE_ATOMIC_REQUEST, 4, 4, "id"},
		{WIRE_ATOMIC_REQUEST, 8, 4, "target"},
		{WIRE_ATOMIC_REQUEST, 12, 8, "target-to"},
		{WIRE_ATOMIC_REQUEST, 20, 8, "value"},
		{WIRE_ATOMIC_REQUEST, 28, 8, "mask"},
		{WIRE_ATOMIC_REQUEST, 36, 8, "compare"},
		{WIRE_ATOMIC_REQUEST, 44, 8, "compare-mask"},
		{WIRE_ATOMIC_RESPONSE, 0, 4, "id"},
		{WIRE_ATOMIC_RESPONSE, 4, 8, "value"},
	};
	const GByteArray *payload = message->payload;

	for (guint i = 0; i < G_N_ELEMENTS(fields); i++) {
		guint64 value;

		if (fields[i].opcode != message->first.opcode)
			continue;
		if (payload->len < fields[i].at + fields[i].size)
			return wire_fail(error, WIRE_ERROR_VERDICT, "the %s is too short",
					 words[1]);
		value = fields[i].size == 4 ? wire_get32(payload->data + fields[i].at)
					    : wire_get64(payload->data + fields[i].at);
		wire_run_name(run, "got", fields[i].key, value);
		if (!field_judge(run, words, fields[i].key, value, error))
			return FALSE;
	}
	return TRUE;
}

/* Drop FPDUs of the kind that may come before, `after=OPCODE`: answers that were under way. */
static gboolean
others_skip(struct wire_run *run, char *const *words, GError **error)
{
	const char *kind = wire_word_value(words, "after");
	struct wire_fpdu fpdu;
	gsize size;

	if (kind == NULL)
		return TRUE;
	for (;;) {
		if (!fpdu_wait(run, &fpdu, &size, TRUE, error))
			return FALSE;
		if (g_strcmp0(wire_opcode_name(fpdu.opcode), kind) != 0)
			return TRUE;
		wire_conn_taken(run->conn, size);
	}
}

/*
 * `partly`: gather the segments of a message as far as they come. Before the message is complete
 * another message may begin, or the stream may end, but no FIN may come inside an FPDU. A reset
 * may, since a peer need not wait indefinitely for a slow judge.
 */
static gboolean
part_wait(struct wire_run *run, guint wanted, struct message *message, GError **error)
{
	struct wire_conn *conn = run->conn;
	struct wire_fpdu fpdu = {0};
	gsize size;

	message->payload = g_byte_array_new();
	while (!fpdu.last) {
		g_autofree char *why = NULL;
		enum wire_taken taken;

		if (message->payload->len == 0)
			empty_writes_drop(conn);
		taken = wire_conn_look(conn, &fpdu, &size, &why);
		if (taken == WIRE_TAKEN_BAD)
			return wire_fail(error, WIRE_ERROR_VERDICT, "the peer sent an FPDU with %s",
					 why);
		if (taken == WIRE_TAKEN_WHOLE && fpdu.opcode != wanted)
			return TRUE;
		if (taken == WIRE_TAKEN_WHOLE) {
			if (message->payload->len == 0)
				message->first = fpdu;
			if (!segment_judge(message, &fpdu, error))
				return FALSE;
			g_byte_array_append(message->payload, fpdu.payload,
					    (guint)fpdu.payload_len);
			wire_conn_taken(conn, size);
			continue;
		}
		fpdu.last = FALSE;
		if (conn->end == WIRE_END_RESET)
			g_byte_array_set_size(conn->in, 0);
		if (conn->end != WIRE_END_NONE)
			return conn->in->len == 0 ||
			       wire_fail(error, WIRE_ERROR_VERDICT,
					 "a FIN came behind %u octets of an FPDU, and not "
					 "between two",
					 conn->in->len);
		if (!wire_conn_wait(conn, wire_run_deadline(run)))
			return wire_fail(error, WIRE_ERROR_VERDICT,
					 "behind %u octets of the %s neither more nor the end "
					 "came in time",
					 message->payload->len, wire_opcode_name(wanted));
	}
	return TRUE;
}

static gboolean
message_step(struct wire_run *run, char *const *words, guint opcode, GError **error)
{
	struct message message = {0};
	const char *data = wire_word_value(words, "data");
	gboolean drop = opcode != WIRE_WRITE || g_strcmp0(data, "0") != 0;
	gboolean good;

	if (!others_skip(run, words, error))
		return FALSE;
	if (wire_word_is_there(words, "partly"))
		good = part_wait(run, opcode, &message, error);
	else
		good = message_wait(run, opcode, drop, &message, error);
	if (good && opcode == WIRE_TERMINATE) {
		good = terminate_judge(run, words, &message, error);
	} else if (good && (message.payload->len > 0 || !wire_word_is_there(words, "partly"))) {
		wire_run_name(run, "got", "stag", message.first.stag);
		wire_run_name(run, "got", "to", message.first.to);
		good = field_judge(run, words, "stag", message.first.stag, error) &&
		       field_judge(run, words, "to", message.first.to, error) &&
		       control_judge(run, words, &message, error) &&
		       data_judge(run, words, message.payload, error);
	}
	g_byte_array_unref(message.payload);
	return good;
}

/* Wait for what a judge looks at: octets that are not Writes of no octets, or the end. */
static gboolean
anything_wait(struct wire_run *run, GError **error)
{
	struct wire_conn *conn = run->conn;
	gint64 deadline = wire_run_deadline(run);

	empty_writes_drop(conn);
	while (conn->end == WIRE_END_NONE && conn->in->len == 0) {
		if (!wire_conn_wait(conn, deadline))
			return wire_fail(error, WIRE_ERROR_VERDICT,
					 "the peer did not close the connection in time");
		empty_writes_drop(conn);
	}
	return TRUE;
}

/*
 * Expect no more data, then the end: a FIN, a reset, or either. With `behind=CODES`, a Terminate
 * with one of these codes may come before the end.
 */
static gboolean
end_step(struct wire_run *run, char *const *words, GError **error)
{
	struct wire_conn *conn = run->conn;
	const char *wanted = words[1], *codes = wire_word_value(words, "behind");
	g_autofree char *copy = g_strdup(codes);
	char *terminate[] = {"<", "terminate", copy, "copy=any", NULL};

	if (!anything_wait(run, error))
		return FALSE;
	if (codes != NULL && conn->in->len > 0 &&
	    !message_step(run, terminate, WIRE_TERMINATE, error))
		return FALSE;
	if (!anything_wait(run, error))
		return FALSE;
	if (conn->in->len > 0)
		return wire_fail(error, WIRE_ERROR_VERDICT,
				 "expected the end, got %u octets before it", conn->in->len);
	if (strcmp(wanted, "end") != 0 &&
	    (strcmp(wanted, "close") == 0) != (conn->end == WIRE_END_FIN))
		return wire_fail(error, WIRE_ERROR_VERDICT, "expected %s, got %s",
				 strcmp(wanted, "close") == 0 ? "a FIN" : "a reset",
				 conn->end == WIRE_END_FIN ? "a FIN" : "a reset");
	/* The peer may wait for the judge's FIN before it tells its user. */
	if (conn->end == WIRE_END_FIN && conn->fd >= 0)
		wire_conn_shutdown(conn);
	return TRUE;
}

/* Nothing comes for so many milliseconds. */
static gboolean
nothing_step(struct wire_run *run, char *const *words, GError **error)
{
	guint64 ms;
	gint64 deadline;

	if (!wire_number(words[2] != NULL ? words[2] : "100", run->names, &ms, error))
		return FALSE;
	deadline = g_get_monotonic_time() + (gint64)ms * 1000;
	if (run->conn->in->len == 0 && !wire_conn_wait(run->conn, deadline))
		return TRUE;
	return wire_fail(error, WIRE_ERROR_VERDICT, "expected nothing, got %u octets%s",
			 run->conn->in->len, run->conn->end != WIRE_END_NONE ? " and the end" : "");
}

gboolean
wire_expect_step(struct wire_run *run, char *const *words, GError **error)
{
	const char *what = words[1] != NULL ? words[1] : "";
	int opcode = wire_opcode_find(what);
	guint64 ms;
	gboolean good;

	if (!wire_run_number(run, words, "within", 0, &ms, error))
		return FALSE;
	run->within_us = (gint64)ms * 1000;
	if (g_str_has_prefix(what, "mpa-"))
		good = wire_start_expect(run, words, error);
	else if (opcode >= 0)
		good = message_step(run, words, (guint)opcode, error);
	else if (strcmp(what, "close") == 0 || strcmp(what, "reset") == 0 ||
		 strcmp(what, "end") == 0)
		good = end_step(run, words, error);
	else if (strcmp(what, "nothing") == 0)
		good = nothing_step(run, words, error);
	else
		good = wire_fail(error, WIRE_ERROR_SCRIPT, "'%s' cannot be expected", what);
	run->within_us = 0;
	return good;
}

gboolean
wire_expect_alive(struct wire_run *run, GError **error)
{
	guint tag = ++run->read_tag;
	const guint64 *stag = g_hash_table_lookup(run->session->names, KEPT_REGION ".stag");
	const guint64 *to = g_hash_table_lookup(run->session->names, KEPT_REGION ".to");
	g_autofree char *ask =
		g_strdup_printf("> read innocent sink=%u sink-to=%u size=%u "
				"source=%" G_GUINT64_FORMAT " source-to=%" G_GUINT64_FORMAT,
				ALIVE_STAG + tag, tag * 4096, ALIVE_SIZE, *stag, *to);
	g_autofree char *answer =
		g_strdup_printf("< response stag=%u to=%u data=%u seed=%u", ALIVE_STAG + tag,
				tag * 4096, ALIVE_SIZE, KEPT_SEED);
	g_auto(GStrv) ask_words = g_strsplit(ask, " ", -1);
	g_auto(GStrv) answer_words = g_strsplit(answer, " ", -1);

	return wire_send_step(run, ask_words, error) && wire_expect_step(run, answer_words, error);
}
