/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * MPA start-up frames: the test vectors are built, and are read truncated at every length; invalid
 * frames are refused.
 */

#include "kal_mpa.h"
#include "vectors.h"

#include <string.h>

static struct vectors *positive;
static struct vectors *negative;

static bool
is_startup(const struct vector *v)
{
	return g_str_has_prefix(v->kind, "mpa_");
}

static enum kal_mpa_kind
kind_of(const struct vector *v)
{
	return g_str_equal(v->kind, "mpa_req") ? KAL_MPA_REQUEST : KAL_MPA_REPLY;
}

static struct kal_mpa_frame
frame_of(const struct vector *v, const guint8 *private_data, gsize private_len)
{
	struct kal_mpa_frame f = {
		.kind = kind_of(v),
		.revision = (uint8_t)vector_number(v, "rev"),
		.markers = vector_number(v, "M") != 0,
		.crc = vector_number(v, "C") != 0,
		.reject = vector_number(v, "R") != 0,
		.words = vector_number(v, "S") != 0,
		.private_len = (uint16_t)private_len,
		.private_data = private_data,
	};

	if (!f.words)
		return f;
	f.peer_to_peer = vector_number(v, "A") != 0;
	f.rtr = (uint8_t)((vector_number(v, "B") ? RI_RTR_SEND : 0) |
			  (vector_number(v, "flagC") ? RI_RTR_WRITE : 0) |
			  (vector_number(v, "flagD") ? RI_RTR_READ : 0));
	f.ird = (uint16_t)vector_number(v, "ird");
	f.ord = (uint16_t)vector_number(v, "ord");
	return f;
}

static void
test_build(void)
{
	unsigned built = 0;

	for (guint i = 0; i < vectors_count(positive); i++) {
		const struct vector *v = vectors_at(positive, i);
		gsize len;
		g_autofree guint8 *data = vector_octets(v, "private_data", &len);
		struct kal_mpa_frame f;
		struct guarded out;

		if (!is_startup(v))
			continue;
		g_test_message("%s %s", v->connection, v->name);
		f = frame_of(v, data, len);
		out = guarded_copy(NULL, v->len);
		g_assert_cmpuint(kal_mpa_write(&f, out.at, out.len), ==, v->len);
		g_assert_cmpmem(out.at, out.len, v->octets, v->len);
		for (gsize room = 0; room < v->len; room++)
			g_assert_cmpuint(kal_mpa_write(&f, out.at + v->len - room, room), ==, 0);
		guarded_free(&out);
		built++;
	}
	g_assert_cmpuint(built, ==, 40);
}

static void
test_build_refused(void)
{
	uint8_t data[KAL_MPA_PRIVATE_MAX + 1] = {0};
	uint8_t out[KAL_MPA_FRAME_MAX + 8];
	struct kal_mpa_frame f = {.revision = 1, .private_len = 512, .private_data = data};

	g_assert_cmpuint(kal_mpa_write(&f, out, sizeof(out)), ==, KAL_MPA_FRAME_MAX);
	f.private_len = 513;
	g_assert_cmpuint(kal_mpa_write(&f, out, sizeof(out)), ==, 0);
	f.private_len = 509;
	f.revision = 2;
	f.words = true;
	g_assert_cmpuint(kal_mpa_write(&f, out, sizeof(out)), ==, 0);
	f.private_len = 508;
	g_assert_cmpuint(kal_mpa_write(&f, out, sizeof(out)), ==, KAL_MPA_FRAME_MAX);
	f.revision = 0;
	g_assert_cmpuint(kal_mpa_write(&f, out, sizeof(out)), ==, 0);
	f.revision = 3;
	g_assert_cmpuint(kal_mpa_write(&f, out, sizeof(out)), ==, 0);
}

static void
test_parse(void)
{
	for (guint i = 0; i < vectors_count(positive); i++) {
		const struct vector *v = vectors_at(positive, i);
		gsize len;
		g_autofree guint8 *data = vector_octets(v, "private_data", &len);
		struct kal_mpa_frame want;
		struct kal_mpa_frame got;
		struct guarded in;
		size_t size;

		if (!is_startup(v))
			continue;
		want = frame_of(v, data, len);
		in = guarded_copy(v->octets, v->len);
		g_assert_cmpint(kal_mpa_read(kind_of(v), in.at, in.len, &got, &size), ==,
				KAL_MPA_WHOLE);
		g_assert_cmpuint(size, ==, v->len);
		g_assert_cmpmem(got.private_data, got.private_len, data, len);
		got.private_data = data;
		want.private_len = got.private_len;
		g_assert_cmpint(got.kind, ==, want.kind);
		g_assert_cmpint(got.revision, ==, want.revision);
		g_assert_cmpint(got.markers, ==, want.markers);
		g_assert_cmpint(got.crc, ==, want.crc);
		g_assert_cmpint(got.reject, ==, want.reject);
		g_assert_cmpint(got.words, ==, want.words);
		g_assert_cmpint(got.peer_to_peer, ==, want.peer_to_peer);
		g_assert_cmpint(got.rtr, ==, want.peer_to_peer ? want.rtr : 0);
		g_assert_cmpint(got.ird, ==, want.ird);
		g_assert_cmpint(got.ord, ==, want.ord);
		guarded_free(&in);
	}
}

static void
test_every_truncation(void)
{
	for (guint i = 0; i < vectors_count(positive); i++) {
		const struct vector *v = vectors_at(positive, i);

		for (gsize len = 0; is_startup(v) && len < v->len; len++) {
			struct guarded in = guarded_copy(v->octets, len);
			struct kal_mpa_frame f;
			size_t size;

			g_assert_cmpint(kal_mpa_read(kind_of(v), in.at, len, &f, &size), ==,
					KAL_MPA_MORE);
			g_assert_cmpuint(size, ==,
					 len < KAL_MPA_HEADER_SIZE ? KAL_MPA_HEADER_SIZE : v->len);
			g_assert_cmpint(f.revision, ==, 0);
			g_assert_null(f.private_data);
			guarded_free(&in);
		}
	}
}

/* The first octet that differs is enough, and the rest of the stream is left alone. */
static void
test_first_wrong_octet(void)
{
	static const char request[] = "MPA ID Req Frame\x40\1\0\0";
	struct kal_mpa_frame f;
	size_t size;

	for (gsize at = 0; at < 16; at++) {
		char buf[20];

		memcpy(buf, request, sizeof(buf));
		buf[at] ^= 0x20;
		g_assert_cmpint(kal_mpa_read(KAL_MPA_REQUEST, buf, at, &f, &size), ==,
				KAL_MPA_MORE);
		g_assert_cmpint(kal_mpa_read(KAL_MPA_REQUEST, buf, at + 1, &f, &size), ==,
				KAL_MPA_BAD_KEY);
		g_assert_cmpuint(size, ==, 0);
	}
	g_assert_cmpint(kal_mpa_read(KAL_MPA_REPLY, request, 9, &f, &size), ==, KAL_MPA_MORE);
	g_assert_cmpint(kal_mpa_read(KAL_MPA_REPLY, request, 10, &f, &size), ==, KAL_MPA_BAD_KIND);
	g_assert_cmpint(kal_mpa_read(KAL_MPA_REPLY, "GET / HTTP/1.1", 14, &f, &size), ==,
			KAL_MPA_BAD_KEY);
	g_assert_cmpint(kal_mpa_read(KAL_MPA_REQUEST, "MPA ID Req Frame\x40\x09", 18, &f, &size),
			==, KAL_MPA_BAD_REVISION);
	g_assert_cmpint(kal_mpa_read(KAL_MPA_REQUEST, "MPA ID Req Frame\x40\0", 18, &f, &size), ==,
			KAL_MPA_BAD_REVISION);
}

static void
test_trailing(void)
{
	const struct vector *v = vectors_find(positive, "rev1-crc-basic", "mpa-req-rev1");
	g_autofree guint8 *stream = g_malloc(v->len + 7);
	struct kal_mpa_frame f;
	size_t size;

	memset(stream, 0xaa, v->len + 7);
	memcpy(stream, v->octets, v->len);
	g_assert_cmpint(kal_mpa_read(KAL_MPA_REQUEST, stream, v->len + 7, &f, &size), ==,
			KAL_MPA_WHOLE);
	g_assert_cmpuint(size, ==, v->len);
	g_assert_cmpuint(f.private_len, ==, 5);
}

static void
test_negative(void)
{
	static const struct {
		const char *name;
		enum kal_mpa_kind due;
		enum kal_mpa_found found;
	} cases[] = {
		{"mpa-req-bad-key", KAL_MPA_REQUEST, KAL_MPA_BAD_KEY},
		{"mpa-req-as-reply", KAL_MPA_REPLY, KAL_MPA_BAD_KIND},
		{"mpa-req-rev3", KAL_MPA_REQUEST, KAL_MPA_BAD_REVISION},
		{"mpa-req-pd-513", KAL_MPA_REQUEST, KAL_MPA_BAD_LENGTH},
		{"mpa-req-trailing-data", KAL_MPA_REQUEST, KAL_MPA_WHOLE},
		{"mpa-req-rev2-s-without-words", KAL_MPA_REQUEST, KAL_MPA_BAD_WORDS},
		{"mpa-req-reserved-bits", KAL_MPA_REQUEST, KAL_MPA_WHOLE},
	};
	struct kal_mpa_frame f;
	char text[200];
	size_t size;

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct vector *v = vectors_find(negative, NULL, cases[i].name);
		struct guarded in = guarded_copy(v->octets, v->len);
		enum kal_mpa_found found = kal_mpa_read(cases[i].due, in.at, in.len, &f, &size);

		kal_mpa_found_text(cases[i].due, found, in.at, in.len, text, sizeof(text));
		g_test_message("%s: %s", v->name, text);
		g_assert_cmpint(found, ==, cases[i].found);
		if (found == KAL_MPA_WHOLE)
			g_assert_cmpint(kal_mpa_judge_request(&f, in.len - size), ==,
					vector_expects_accept(v) ? KAL_MPA_GO
								 : KAL_MPA_CLOSE_EARLY);
		guarded_free(&in);
	}
}

/*
 * A Reply that rejects may lack the IRD/ORD words, since nothing is negotiated any more. Then fewer
 * than four octets of private data are a remainder of the words, not private data. Bit R in a
 * Request is ignored.
 */
static void
test_reject_frames(void)
{
	static const char reply[] = "MPA ID Rep Frame\x70\2\0\2no";
	static const char request[] = "MPA ID Req Frame\x60\1\0\0";
	struct kal_mpa_frame f;
	size_t size;

	g_assert_cmpint(kal_mpa_read(KAL_MPA_REPLY, reply, 22, &f, &size), ==, KAL_MPA_WHOLE);
	g_assert_true(f.reject);
	g_assert_false(f.words);
	g_assert_cmpuint(size, ==, 22);
	g_assert_cmpuint(f.private_len, ==, 0);
	g_assert_null(f.private_data);
	g_assert_cmpint(kal_mpa_read(KAL_MPA_REQUEST, request, 20, &f, &size), ==, KAL_MPA_WHOLE);
	g_assert_false(f.reject);
}

/* S is a reserved bit of revision 1. */
static void
test_words_of_revision_1(void)
{
	static const char request[] = "MPA ID Req Frame\x50\1\0\2ab";
	struct kal_mpa_frame f;
	size_t size;

	g_assert_cmpint(kal_mpa_read(KAL_MPA_REQUEST, request, 22, &f, &size), ==, KAL_MPA_WHOLE);
	g_assert_false(f.words);
	g_assert_cmpuint(f.private_len, ==, 2);
}

static void
test_random_octets(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(0x3a9a);

	for (int round = 0; round < 4000; round++) {
		struct guarded in = guarded_copy(NULL, (gsize)g_rand_int_range(rand, 0, 600));
		struct kal_mpa_frame f;
		size_t size;

		for (gsize i = 0; i < in.len; i++)
			in.at[i] = (guint8)g_rand_int(rand);
		if (in.len >= 20)
			memcpy(in.at, "MPA ID Req Frame", 16);
		if (in.len >= 20 && round % 2 != 0) {
			in.at[17] = (guint8)g_rand_int_range(rand, 1, 3);
			in.at[18] = (guint8)g_rand_int_range(rand, 0, 3);
		}
		if (kal_mpa_read(KAL_MPA_REQUEST, in.at, in.len, &f, &size) == KAL_MPA_WHOLE) {
			g_assert_cmpuint(size, <=, in.len);
			g_assert_true(f.private_len == 0 ||
				      f.private_data + f.private_len == in.at + size);
		}
		guarded_free(&in);
	}
}

static void
found_text(enum kal_mpa_kind kind, const char *octets, size_t len, const char *want)
{
	struct kal_mpa_frame f;
	char text[200];
	size_t size;
	enum kal_mpa_found found = kal_mpa_read(kind, octets, len, &f, &size);

	kal_mpa_found_text(kind, found, (const uint8_t *)octets, len, text, sizeof(text));
	g_assert_cmpstr(text, ==, want);
}

/* Each text has the field and its value. */
static void
test_texts(void)
{
	found_text(KAL_MPA_REPLY, "MPA ID Rep", 10, "only 10 octets of the Reply came");
	found_text(KAL_MPA_REPLY, "HTTP/1.1\r\n", 10,
		   "what the peer sends begins with 'HTTP/1.1..', which is not an MPA frame");
	found_text(KAL_MPA_REPLY, "MPA ID Req Frame", 16,
		   "a Request came instead of a Reply: both ends initiate");
	found_text(KAL_MPA_REQUEST, "MPA ID Rep Frame", 16,
		   "a Reply came instead of a Request: both ends respond");
	found_text(KAL_MPA_REPLY, "MPA ID Rep Frame\0\3", 18,
		   "the Reply has revision 3; 1 and 2 are supported");
	found_text(KAL_MPA_REQUEST, "MPA ID Req Frame\0\1\2\1", 20,
		   "PD_Length of the Request is 513, and at most 512 is allowed");
	found_text(KAL_MPA_REQUEST, "MPA ID Req Frame\x10\2\0\3", 20,
		   "the Request has S, but its PD_Length of 3 leaves no room for IRD and ORD");
	found_text(KAL_MPA_REQUEST, "MPA ID Req Frame\0\1\0\0", 20, "the Request is whole");
}

static void
test_verdict_texts(void)
{
	static const char *const want[] = {
		[KAL_MPA_GO] = "both ends agree",
		[KAL_MPA_REFUSE_MARKERS] = "the Request has M: the peer wants markers",
		[KAL_MPA_CLOSE_EARLY] = "octets came behind the Request, before the Reply",
		[KAL_MPA_CLOSE_REJECTED] = "the Reply has R, and 3 octets of private data",
		[KAL_MPA_CLOSE_NO_ROOM] = "the peer has no room for one more request",
		[KAL_MPA_CLOSE_MARKERS] = "the Reply has M: the peer wants markers",
		[KAL_MPA_CLOSE_NO_WORDS] = "the Request states IRD 4 and ORD 5, but the Reply, of "
					   "revision 2, has neither",
		[KAL_MPA_TERMINATE_IRD] =
			"the ORD of the Reply is 9, above the own IRD of 4; Terminate 2006",
		[KAL_MPA_TERMINATE_RTR] =
			"no ready-to-receive message in common: the Request offers Write and Read "
			"with an ORD of 5, the Reply names Send with an IRD of 1; "
			"Terminate 2007",
	};
	const struct kal_mpa_offered offered = {.ird_max = 4};
	const struct kal_mpa_frame request = {
		.kind = KAL_MPA_REQUEST, .rtr = RI_RTR_WRITE | RI_RTR_READ, .ird = 4, .ord = 5};
	const struct kal_mpa_frame reply = {.kind = KAL_MPA_REPLY,
					    .revision = 2,
					    .rtr = RI_RTR_SEND,
					    .ird = 1,
					    .ord = 9,
					    .private_len = 3};
	char text[240];

	for (unsigned i = 0; i < G_N_ELEMENTS(want); i++) {
		kal_mpa_verdict_text((enum kal_mpa_verdict)i, &offered, &request, &reply, text,
				     sizeof(text));
		g_assert_cmpstr(text, ==, want[i]);
	}
}

int
main(int argc, char **argv)
{
	int result;

	g_test_init(&argc, &argv, NULL);
	positive = vectors_load("vectors.json");
	negative = vectors_load("negative.json");
	g_test_add_func("/kal/mpa/build", test_build);
	g_test_add_func("/kal/mpa/build-refused", test_build_refused);
	g_test_add_func("/kal/mpa/parse", test_parse);
	g_test_add_func("/kal/mpa/every-truncation", test_every_truncation);
	g_test_add_func("/kal/mpa/first-wrong-octet", test_first_wrong_octet);
	g_test_add_func("/kal/mpa/trailing", test_trailing);
	g_test_add_func("/kal/mpa/negative", test_negative);
	g_test_add_func("/kal/mpa/reject-frames", test_reject_frames);
	g_test_add_func("/kal/mpa/words-of-revision-1", test_words_of_revision_1);
	g_test_add_func("/kal/mpa/random-octets", test_random_octets);
	g_test_add_func("/kal/mpa/texts", test_texts);
	g_test_add_func("/kal/mpa/verdict-texts", test_verdict_texts);
	result = g_test_run();
	vectors_free(&positive);
	vectors_free(&negative);
	return result;
}
