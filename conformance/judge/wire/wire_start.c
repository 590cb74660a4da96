/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The MPA start-up: frames of any form, and the ordinary start-up that precedes the steps of most
 * cases.
 *
 * Standards: RFC 5044 section 7.1, RFC 6581.
 */

#include <arpa/inet.h>
#include <string.h>

#include "wire_run.h"

#define HEADER       20u
#define KEY_SIZE     16u
#define PRIVATE_SEED 77u
#define FLAG_M       0x80u
#define FLAG_C       0x40u
#define FLAG_R       0x20u
#define FLAG_S       0x10u
#define WORD_HIGH    0x8000u
#define WORD_LOW     0x4000u
#define WORD_DEPTH   0x3fffu

static const char *const keys[2] = {"MPA ID Req Frame", "MPA ID Rep Frame"};

/* A frame as it came. */
struct start_frame {
	guint flags;
	guint revision;
	guint length;
	gboolean words;
	guint first;  /* A, B and IRD */
	guint second; /* C, D and ORD */
	const guint8 *private_data;
	gsize private_len;
};

char *
wire_private_hex(guint64 len)
{
	GString *hex = g_string_new(NULL);

	for (guint64 i = 0; i < len; i++)
		g_string_append_printf(hex, "%02x", wire_pattern(PRIVATE_SEED, i) | 1);
	return g_string_free(hex, FALSE);
}

static gboolean
is_reply(char *const *words)
{
	return strcmp(words[1], "mpa-reply") == 0;
}

/* A field of a frame to send: the step's word, else what the case sets, else the usual. */
static gboolean
frame_field(struct wire_run *run, char *const *words, const char *key, guint64 usual, guint *value,
	    GError **error)
{
	guint64 number = wire_case_number(run->one, key, usual);

	if (!wire_run_number(run, words, key, number, &number, error))
		return FALSE;
	*value = (guint)number;
	return TRUE;
}

/* The key of the frame, or what the step wants in its place. */
static gboolean
key_put(GByteArray *out, char *const *words, GError **error)
{
	const char *key = wire_word_value(words, "key");
	g_autoptr(GByteArray) octets = NULL;

	if (key == NULL || strcmp(key, "other") == 0) {
		gboolean reply = is_reply(words) != (key != NULL);

		g_byte_array_append(out, (const guint8 *)keys[reply ? 1 : 0], KEY_SIZE);
		return TRUE;
	}
	octets = wire_octets(key, error);
	if (octets == NULL)
		return FALSE;
	g_byte_array_append(out, octets->data, octets->len);
	return TRUE;
}

/* The two words of revision 2. */
static gboolean
words_put(struct wire_run *run, GByteArray *out, char *const *words, GError **error)
{
	const char *rtr = wire_case_text(run->one, "rtr", "none");
	gboolean p2p = strcmp(rtr, "none") != 0;
	guint value[6];
	static const char *const names[6] = {"a", "b", "jird", "c2", "d", "jord"};
	const guint usual[6] = {p2p,
				strcmp(rtr, "send") == 0,
				16,
				strcmp(rtr, "write") == 0,
				strcmp(rtr, "read") == 0,
				16};

	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		if (!frame_field(run, words, names[i], usual[i], &value[i], error))
			return FALSE;
	}
	wire_put16(out, (guint16)((value[0] ? WORD_HIGH : 0) | (value[1] ? WORD_LOW : 0) |
				  (value[2] & WORD_DEPTH)));
	wire_put16(out, (guint16)((value[3] ? WORD_HIGH : 0) | (value[4] ? WORD_LOW : 0) |
				  (value[5] & WORD_DEPTH)));
	return TRUE;
}

/* Private data, and octets behind the frame. */
static gboolean
private_put(struct wire_run *run, GByteArray *out, char *const *words, GError **error)
{
	const char *extra = wire_word_value(words, "extra");
	g_autoptr(GByteArray) octets = NULL;
	guint len;

	if (!frame_field(run, words, "private", 0, &len, error))
		return FALSE;
	for (guint i = 0; i < len; i++) {
		guint8 octet = wire_pattern(PRIVATE_SEED, i) | 1;

		g_byte_array_append(out, &octet, 1);
	}
	if (extra == NULL)
		return TRUE;
	octets = wire_octets(extra, error);
	if (octets == NULL)
		return FALSE;
	g_byte_array_append(out, octets->data, octets->len);
	return TRUE;
}

static gboolean
frame_put(struct wire_run *run, GByteArray *out, char *const *words, GError **error)
{
	guint flags;
	guint m;
	guint c;
	guint r;
	guint s;
	guint revision;
	guint length;
	guint8 octets[4];
	guint start = out->len;
	guint with_words;

	if (!key_put(out, words, error) || !frame_field(run, words, "rev", 2, &revision, error) ||
	    !frame_field(run, words, "m", run->session->markers, &m, error) ||
	    !frame_field(run, words, "c", 1, &c, error) ||
	    !frame_field(run, words, "r", 0, &r, error) ||
	    !frame_field(run, words, "s", revision >= 2, &s, error) ||
	    !frame_field(run, words, "words", s, &with_words, error))
		return FALSE;
	flags = (m ? FLAG_M : 0) | (c ? FLAG_C : 0) | (r ? FLAG_R : 0) | (s ? FLAG_S : 0);
	if (!frame_field(run, words, "flags", flags, &flags, error))
		return FALSE;
	octets[0] = (guint8)flags;
	octets[1] = (guint8)revision;
	octets[2] = octets[3] = 0;
	g_byte_array_append(out, octets, sizeof(octets));
	if ((with_words && !words_put(run, out, words, error)) ||
	    !private_put(run, out, words, error))
		return FALSE;
	length = out->len - start - HEADER;
	if (wire_word_value(words, "extra") != NULL)
		length -= (guint)strlen(wire_word_value(words, "extra")) / 2;
	if (!frame_field(run, words, "length", length, &length, error))
		return FALSE;
	out->data[start + 18] = (guint8)(length >> 8);
	out->data[start + 19] = (guint8)length;
	run->conn->crc = run->conn->crc || (flags & FLAG_C) != 0;
	run->conn->marks_in = (flags & FLAG_M) != 0;
	return TRUE;
}

gboolean
wire_start_send(struct wire_run *run, char *const *words, GError **error)
{
	g_autoptr(GByteArray) out = g_byte_array_new();
	guint64 chop;
	guint64 cut;
	guint64 piece;

	if (!frame_put(run, out, words, error) ||
	    !wire_run_number(run, words, "chop", out->len, &chop, error) ||
	    !wire_run_number(run, words, "cut", 0, &cut, error) ||
	    !wire_run_number(run, words, "pieces", 0, &piece, error))
		return FALSE;
	if (chop < out->len)
		g_byte_array_set_size(out, (guint)chop);
	/* A peer may close before the last octet; what it did is judged by what comes next. */
	(void)wire_conn_send_cut(run->conn, out->data, out->len, cut, piece);
	return TRUE;
}

/* Wait until `len` octets are there. */
static gboolean
octets_wait(struct wire_run *run, gsize len, const char *what, GError **error)
{
	gint64 deadline = wire_run_deadline(run);

	while (run->conn->in->len < len) {
		gboolean came = wire_conn_wait(run->conn, deadline);

		if (!came || (run->conn->end != WIRE_END_NONE && run->conn->in->len < len))
			return wire_fail(error, WIRE_ERROR_VERDICT,
					 "expected an %s, got %u octets and %s", what,
					 run->conn->in->len, came ? "the end" : "no more in time");
	}
	return TRUE;
}

static gboolean
frame_take(struct wire_run *run, gboolean reply, struct start_frame *frame, GError **error)
{
	const char *what = reply ? "MPA Reply" : "MPA Request";
	const guint8 *at;

	memset(frame, 0, sizeof(*frame));
	if (!octets_wait(run, HEADER, what, error))
		return FALSE;
	at = run->conn->in->data;
	if (memcmp(at, keys[reply ? 1 : 0], KEY_SIZE) != 0)
		return wire_fail(error, WIRE_ERROR_VERDICT,
				 "the key of the %s is wrong (RFC 5044 section 7.1.1)", what);
	frame->flags = at[16];
	frame->revision = at[17];
	frame->length = wire_get16(at + 18);
	if (frame->length > 512)
		return wire_fail(error, WIRE_ERROR_VERDICT,
				 "PD_Length is %u (RFC 5044 section 7.1.1: at most 512)",
				 frame->length);
	if (!octets_wait(run, HEADER + frame->length, what, error))
		return FALSE;
	at = run->conn->in->data + HEADER;
	frame->words = frame->revision >= 2 && (frame->flags & FLAG_S) != 0 && frame->length >= 4;
	if (frame->words) {
		frame->first = wire_get16(at);
		frame->second = wire_get16(at + 2);
	}
	frame->private_data = at + (frame->words ? 4 : 0);
	frame->private_len = frame->length - (frame->words ? 4 : 0);
	return TRUE;
}

/* Remember the fields, and whether CRC and markers are on now. */
static void
frame_note(struct wire_run *run, gboolean reply, const struct start_frame *frame)
{
	const char *prefix = reply ? "reply" : "request";

	wire_run_name(run, prefix, "m", (frame->flags & FLAG_M) != 0);
	wire_run_name(run, prefix, "r", (frame->flags & FLAG_R) != 0);
	wire_run_name(run, prefix, "c", (frame->flags & FLAG_C) != 0);
	wire_run_name(run, prefix, "ird", frame->first & WORD_DEPTH);
	wire_run_name(run, prefix, "ord", frame->second & WORD_DEPTH);
	wire_run_name(run, prefix, "a", (frame->first & WORD_HIGH) != 0);
	wire_run_name(run, prefix, "c2", (frame->second & WORD_HIGH) != 0);
	wire_run_name(run, prefix, "d", (frame->second & WORD_LOW) != 0);
	wire_run_name(run, prefix, "rev", frame->revision);
	run->conn->crc = run->conn->crc || (frame->flags & FLAG_C) != 0;
	run->conn->marks_out = (frame->flags & FLAG_M) != 0;
}

/* One field of a received frame against the step. */
static gboolean
field_judge(struct wire_run *run, char *const *words, const char *key, guint64 value,
	    GError **error)
{
	const char *wanted = wire_word_value(words, key);
	gboolean fits;

	if (wanted == NULL)
		return TRUE;
	if (!wire_run_fits(run, wanted, value, &fits, error))
		return FALSE;
	return fits ||
	       wire_fail(error, WIRE_ERROR_VERDICT, "%s: %s is %" G_GUINT64_FORMAT ", expected %s",
			 words[1], key, value, wanted);
}

static gboolean
private_judge(struct wire_run *run, char *const *words, const struct start_frame *frame,
	      GError **error)
{
	guint64 seed;

	if (!field_judge(run, words, "private", frame->private_len, error) ||
	    !wire_run_number(run, words, "seed", PRIVATE_SEED, &seed, error))
		return FALSE;
	if (wire_word_value(words, "private") == NULL)
		return TRUE;
	for (gsize i = 0; i < frame->private_len; i++) {
		if (frame->private_data[i] != (wire_pattern((guint)seed, i) | 1))
			return wire_fail(error, WIRE_ERROR_VERDICT,
					 "octet %" G_GSIZE_FORMAT " of the private data is wrong",
					 i);
	}
	return TRUE;
}

gboolean
wire_start_expect(struct wire_run *run, char *const *words, GError **error)
{
	struct start_frame frame;
	gboolean reply = is_reply(words);
	gboolean good;

	if (!frame_take(run, reply, &frame, error))
		return FALSE;
	frame_note(run, reply, &frame);
	good = field_judge(run, words, "rev", frame.revision, error) &&
	       field_judge(run, words, "m", (frame.flags & FLAG_M) != 0, error) &&
	       field_judge(run, words, "c", (frame.flags & FLAG_C) != 0, error) &&
	       field_judge(run, words, "r", (frame.flags & FLAG_R) != 0, error) &&
	       field_judge(run, words, "s", (frame.flags & FLAG_S) != 0, error) &&
	       field_judge(run, words, "reserved", frame.flags & 0x0f, error) &&
	       field_judge(run, words, "words", frame.words, error) &&
	       field_judge(run, words, "a", (frame.first & WORD_HIGH) != 0, error) &&
	       field_judge(run, words, "b", (frame.first & WORD_LOW) != 0, error) &&
	       field_judge(run, words, "c2", (frame.second & WORD_HIGH) != 0, error) &&
	       field_judge(run, words, "d", (frame.second & WORD_LOW) != 0, error) &&
	       field_judge(run, words, "ird", frame.first & WORD_DEPTH, error) &&
	       field_judge(run, words, "ord", frame.second & WORD_DEPTH, error) &&
	       private_judge(run, words, &frame, error);
	wire_conn_taken(run->conn, HEADER + frame.length);
	run->conn->in_at = run->conn->out_at = 0;
	return good;
}

/* --- the usual start ------------------------------------------------------------------------- */

/* Ask for a region and remember where it is. */
static gboolean
region_make(struct wire_run *run, const char *name, const char *options, GError **error)
{
	g_auto(GStrv) answer =
		wire_peer_ask(run->session->peer, error, "region %s %s", name, options);
	static const char *const fields[] = {"stag", "to", "len"};

	if (answer == NULL)
		return FALSE;
	for (guint i = 0; i < G_N_ELEMENTS(fields); i++) {
		const char *value = wire_word_value(answer, fields[i]);

		if (value == NULL)
			return wire_fail(error, WIRE_ERROR_PEER, "the helper names no %s",
					 fields[i]);
		wire_run_name(run, name, fields[i], g_ascii_strtoull(value, NULL, 10));
	}
	return TRUE;
}

gboolean
wire_start_endpoint(struct wire_run *run, GError **error)
{
	static const char *const options[] = {"ird", "ord", "receives", "size", "off"};
	g_autoptr(GString) question = g_string_new("ep e");
	g_auto(GStrv) answer = NULL;

	if (!wire_run_none_early(run, error))
		return FALSE;
	for (guint i = 0; i < G_N_ELEMENTS(options); i++) {
		const char *value = wire_case_text(run->one, options[i], NULL);

		if (value != NULL)
			g_string_append_printf(question, " %s=%s", options[i], value);
	}
	answer = wire_peer_ask(run->session->peer, error, "%s", question->str);
	return answer != NULL;
}

gboolean
wire_start_prepare(struct wire_run *run, GError **error)
{
	if (!wire_start_endpoint(run, error) ||
	    !region_make(run, "open", "size=4096 rights=rw seed=1", error))
		return FALSE;
	for (guint i = 0; i < run->one->regions->len; i++) {
		const struct wire_region *region = g_ptr_array_index(run->one->regions, i);

		if (!region_make(run, region->name, region->options, error))
			return FALSE;
	}
	return TRUE;
}

static gboolean
start_established(struct wire_run *run, GError **error)
{
	g_auto(GStrv) answer = wire_peer_ask(run->session->peer, error, "event e within=%u",
					     (guint)(run->session->patience_us / 1000));

	if (answer == NULL)
		return FALSE;
	if (g_strcmp0(wire_word_value(answer, "event"), "established") == 0)
		return TRUE;
	return wire_fail(error, WIRE_ERROR_VERDICT, "the peer's connection is %s (%s)",
			 wire_word_value(answer, "event"), wire_word_value(answer, "why"));
}

static gboolean
start_as_client(struct wire_run *run, GError **error)
{
	static char *const request[] = {">", "mpa-request", NULL};
	static char *const reply[] = {"<", "mpa-reply", "r=0", "reserved=0", NULL};
	static char *const write[] = {">", "write", "innocent", "stag=1", NULL};
	static char *const read[] = {">", "read", "innocent", "source=1", NULL};
	static char *const send[] = {">", "send", "innocent", NULL};
	static char *const empty[] = {"<", "response", "data=0", NULL};
	const char *rtr = wire_case_text(run->one, "rtr", "none");
	g_auto(GStrv) accepted = NULL;
	gboolean good = TRUE;

	if (!wire_run_connect(run, error) || !wire_start_send(run, request, error))
		return FALSE;
	accepted = wire_peer_ask(run->session->peer, error, "accept e within=%u",
				 (guint)(run->session->patience_us / 1000));
	if (accepted == NULL || !wire_start_expect(run, reply, error))
		return FALSE;
	/* The ready-to-receive message that the case sets. */
	if (run->session->settle_us > 0)
		g_usleep((gulong)run->session->settle_us);
	if (strcmp(rtr, "write") == 0)
		good = wire_send_step(run, write, error);
	else if (strcmp(rtr, "send") == 0)
		good = wire_send_step(run, send, error);
	else if (strcmp(rtr, "read") == 0)
		good = wire_send_step(run, read, error) && wire_expect_step(run, empty, error);
	return good && start_established(run, error);
}

static gboolean
start_as_server(struct wire_run *run, GError **error)
{
	static char *const request[] = {"<", "mpa-request", "reserved=0", NULL};
	char *reply[] = {">", "mpa-reply", "a=0", "c2=0", "d=0", "rev=2", NULL};
	static char *const empty[] = {"<", "write", "data=0", NULL};
	static char *const read[] = {"<", "read", "size=0", NULL};
	static char *const answer[] = {">", "response", "innocent", NULL};
	gboolean good = TRUE;
	const guint64 *a;
	const guint64 *c2;
	const guint64 *rev;

	if (!wire_run_listen(run, error) || !wire_start_expect(run, request, error))
		return FALSE;
	a = g_hash_table_lookup(run->names, "request.a");
	c2 = g_hash_table_lookup(run->names, "request.c2");
	rev = g_hash_table_lookup(run->names, "request.rev");
	if (*rev == 1)
		reply[5] = "rev=1";
	if (*a != 0) {
		reply[2] = "a=1";
		reply[*c2 != 0 ? 3 : 4] = *c2 != 0 ? "c2=1" : "d=1";
	}
	if (!wire_start_send(run, reply, error))
		return FALSE;
	if (run->session->settle_us > 0)
		g_usleep((gulong)run->session->settle_us);
	/* The ready-to-receive message that the peer offered and the reply chose. */
	if (*a != 0 && *c2 != 0)
		good = wire_expect_step(run, empty, error);
	else if (*a != 0)
		good = wire_expect_step(run, read, error) && wire_send_step(run, answer, error);
	return good && start_established(run, error);
}

gboolean
wire_start_run(struct wire_run *run, GError **error)
{
	return run->one->as_client ? start_as_client(run, error) : start_as_server(run, error);
}
