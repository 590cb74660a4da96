/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Markers: FPDUs of each small size at each position between two markers, compared with an encoder
 * that works octet by octet; streams that are divided at each octet; markers that point to a wrong
 * place; and the published examples.
 */

#include "mpa_frame.h"
#include "mpa_marker.h"
#include "vectors.h"

#include <string.h>

#define SMALL 1100u /* longest ULPDU that is tried at each place */

/* A plain FPDU with a ULPDU of `len` octets that differ from each other. */
static uint32_t
frame_make(uint8_t *fpdu, uint32_t len, bool crc)
{
	for (uint32_t i = 0; i < len; i++)
		fpdu[MPA_LENGTH_SIZE + i] = (uint8_t)(i * 7 + len);
	return mpa_fpdu_seal(fpdu, len, crc);
}

/* The stream octet by octet, as RFC 5044 4.3 describes it. */
struct octets {
	GByteArray *out;
	uint64_t position; /* of the next octet */
	guint begin;       /* index of what the CRC covers */
	uint64_t length_at;
	bool begun;
};

static void
octet_put(struct octets *o, uint8_t octet)
{
	if (o->position % 512 == 0) {
		uint64_t distance = o->begun ? o->position - o->length_at : 0;
		uint8_t marker[4] = {0, 0, (uint8_t)(distance >> 8), (uint8_t)distance};

		g_byte_array_append(o->out, marker, sizeof(marker));
		o->position += sizeof(marker);
	}
	if (!o->begun)
		o->length_at = o->position;
	o->begun = true;
	g_byte_array_append(o->out, &octet, 1);
	o->position++;
}

/* Append a frame. */
static void
octets_frame(struct octets *o, const uint8_t *fpdu, uint32_t size, bool crc)
{
	uint8_t sum[MPA_CRC_SIZE];

	o->begin = o->out->len;
	o->begun = false;
	for (uint32_t i = 0; i < size - MPA_CRC_SIZE; i++)
		octet_put(o, fpdu[i]);
	if (o->position % 512 == 0) { /* between PAD and CRC */
		octet_put(o, 0);
		g_byte_array_set_size(o->out, o->out->len - 1);
		o->position--;
	}
	mpa_crc_store(sum, crc ? mpa_crc(o->out->data + o->begin, o->out->len - o->begin, 0) : 0);
	for (uint32_t i = 0; i < MPA_CRC_SIZE; i++)
		octet_put(o, sum[i]);
}

/* An octet-wise encoder at a place behind `plain` octets of frames. */
static struct octets
octets_at(uint64_t plain)
{
	return (struct octets){.out = g_byte_array_new(), .position = mpa_marker_position(plain)};
}

/* The filter at the same place, between two frames. */
static struct mpa_unmark
unmark_at(uint64_t plain, bool crc)
{
	return (struct mpa_unmark){.crc = crc,
				   .into = (uint32_t)(mpa_marker_position(plain) % 512)};
}

static void
test_places(void)
{
	uint8_t fpdu[SMALL + MPA_FPDU_OVERHEAD];
	uint8_t got[SMALL + 64];

	for (uint32_t len = 0; len <= SMALL; len++) {
		bool crc = len % 5 != 0;
		uint32_t size = frame_make(fpdu, len, crc);

		for (uint64_t plain = 0; plain < 508; plain += len < 64 || len > 480 ? 4 : 36) {
			struct octets o = octets_at(plain);
			struct mpa_unmark u = unmark_at(plain, crc);

			octets_frame(&o, fpdu, size, crc);
			g_assert_cmpuint(mpa_marker_insert(got, fpdu, size, plain, crc), ==,
					 o.out->len);
			g_assert_cmpmem(got, o.out->len, o.out->data, o.out->len);
			g_assert_cmpuint(mpa_marker_frame(got, mpa_marker_position(plain)), ==,
					 o.out->len);
			g_assert_cmpuint(mpa_marker_position(plain + size), ==, o.position);
			g_assert_cmpuint(mpa_marker_plain(o.position), ==, plain + size);
			g_assert_cmpuint(mpa_unmark(&u, got, o.out->len), ==, size);
			g_assert_false(u.wrong);
			g_assert_cmpmem(got, size, fpdu, size);
			g_byte_array_free(o.out, TRUE);
		}
	}
}

/* Largest frames: FPDUPTR reaches the last marker; a frame behind which it does not is refused. */
static void
test_large(void)
{
	g_autofree uint8_t *fpdu = g_malloc(MPA_FPDU_MAX);
	g_autofree uint8_t *got = g_malloc(MPA_FPDU_MAX + 1024);

	for (uint64_t plain = 0; plain < 508; plain += 4) {
		for (int whole = 0; whole < 2; whole++) {
			uint32_t len = whole ? MPA_ULPDU_MAX : MPA_MARKED_ULPDU_MAX;
			uint32_t size = frame_make(fpdu, len, true);
			struct mpa_unmark u = unmark_at(plain, true);
			uint32_t n = mpa_marker_insert(got, fpdu, size, plain, true);
			uint32_t plain_len = mpa_unmark(&u, got, n);

			g_assert_cmpint(u.wrong, ==, whole);
			if (!whole)
				g_assert_cmpmem(got, plain_len, fpdu, size);
		}
	}
}

/* In a stream of several frames: the copy may lie before the original in one buffer. */
static GByteArray *
stream_make(GByteArray *plain, bool crc)
{
	static const uint32_t lens[] = {14, 18, 500, 42, 23, 1, 1023, 474, 30, 466};
	GByteArray *out = g_byte_array_new();
	struct octets o = {.out = out};
	uint8_t fpdu[SMALL + MPA_FPDU_OVERHEAD];

	for (gsize i = 0; i < G_N_ELEMENTS(lens); i++) {
		uint32_t size = frame_make(fpdu, lens[i], crc);

		octets_frame(&o, fpdu, size, crc);
		g_byte_array_append(plain, fpdu, size);
	}
	return out;
}

static void
test_in_place(void)
{
	g_autoptr(GByteArray) plain = g_byte_array_new();
	g_autoptr(GByteArray) marked = stream_make(plain, true);
	g_autofree uint8_t *buf = g_malloc(marked->len);
	uint8_t *from = buf + marked->len - plain->len;
	uint64_t done = 0;
	uint32_t len = 0;

	memcpy(from, plain->data, plain->len);
	while (done < plain->len) {
		uint32_t size = mpa_fpdu_size(wire_load_be16(from));

		len += mpa_marker_insert(buf + len, from, size, done, true);
		done += size;
		from += size;
	}
	g_assert_cmpmem(buf, len, marked->data, marked->len);
}

/* The stream in two pieces, cut at each octet, and octet by octet. */
static void
test_cuts(void)
{
	for (int crc = 0; crc < 2; crc++) {
		g_autoptr(GByteArray) plain = g_byte_array_new();
		g_autoptr(GByteArray) marked = stream_make(plain, crc);
		g_autofree uint8_t *got = g_malloc(marked->len);

		for (guint cut = 0; cut <= marked->len; cut++) {
			struct mpa_unmark u = {.crc = crc};
			uint32_t n;

			memcpy(got, marked->data, marked->len);
			n = mpa_unmark(&u, got, cut);
			memmove(got + n, got + cut, marked->len - cut);
			n += mpa_unmark(&u, got + n, marked->len - cut);
			g_assert_cmpmem(got, n, plain->data, plain->len);
		}
		struct mpa_unmark u = {.crc = crc};
		uint32_t n = 0;
		for (guint i = 0; i < marked->len; i++) {
			got[n] = marked->data[i];
			n += mpa_unmark(&u, got + n, 1);
		}
		g_assert_cmpmem(got, n, plain->data, plain->len);
	}
}

/* A wrong FPDUPTR ends the output at once: nothing behind the marker comes out. */
static void
test_wrong_pointers(void)
{
	g_autoptr(GByteArray) plain = g_byte_array_new();
	g_autoptr(GByteArray) marked = stream_make(plain, true);
	g_autofree uint8_t *got = g_malloc(marked->len);
	guint markers = 0;

	for (guint at = 0; at + 4 <= marked->len; at += 512, markers++) {
		uint16_t right = wire_load_be16(marked->data + at + 2);

		for (uint32_t pointer = 0; pointer < 65536; pointer += 4) {
			struct mpa_unmark u = {.crc = true};
			uint32_t n;

			memcpy(got, marked->data, at + 4);
			wire_store_be16(got + at + 2, (uint16_t)pointer);
			n = mpa_unmark(&u, got, at + 4);
			g_assert_cmpint(u.wrong, ==, pointer != right);
			g_assert_cmpmem(got, n, plain->data, mpa_marker_plain(at));
			got[0] = 0;
			g_assert_cmpuint(mpa_unmark(&u, got, pointer != right), ==, 0);
		}
	}
	g_assert_cmpuint(markers, >, 4);
}

/* The reserved octets and the two lowest bits of FPDUPTR are ignored; the CRC covers them. */
static void
test_ignored_bits(void)
{
	uint8_t fpdu[600 + MPA_FPDU_OVERHEAD];
	uint8_t got[700];
	uint32_t size = frame_make(fpdu, 600, true);

	for (uint32_t bit = 0; bit < 18; bit++) {
		uint32_t n = mpa_marker_insert(got, fpdu, size, 0, true);
		struct mpa_unmark u = {.crc = true};
		struct mpa_unmark again = u;
		uint8_t *octet = got + 512 + (bit < 16 ? bit / 8 : 3);
		uint8_t copy[700];

		*octet ^= (uint8_t)(1 << (bit < 16 ? bit % 8 : bit - 16));
		memcpy(copy, got, n);
		g_assert_cmpuint(mpa_unmark(&u, copy, n), ==, size);
		g_assert_cmpmem(copy, size - MPA_CRC_SIZE, fpdu, size - MPA_CRC_SIZE);
		g_assert_cmpint(memcmp(copy, fpdu, size), !=, 0); /* the CRC was of the other bit */
		mpa_crc_store(got + n - MPA_CRC_SIZE, mpa_crc(got, n - MPA_CRC_SIZE, 0));
		g_assert_cmpuint(mpa_unmark(&again, got, n), ==, size);
		g_assert_cmpmem(got, size, fpdu, size);
	}
}

/* Each wrong bit is found: by the marker or by the CRC. */
static void
test_wrong_bits(void)
{
	struct mpa_rules rules = {.crc = true};
	uint8_t fpdu[600 + MPA_FPDU_OVERHEAD];
	uint8_t got[700];
	uint32_t size = frame_make(fpdu, 597, true);

	for (uint32_t bit = 0; bit < 8 * 612; bit++) {
		uint32_t n = mpa_marker_insert(got, fpdu, size, 0, true);
		struct mpa_unmark u = {.crc = true};
		struct mpa_fpdu found;

		g_assert_cmpuint(n, >=, 612);
		if (bit / 8 == 4 || bit / 8 == 5)
			continue; /* of the length: the frame ends elsewhere */
		got[bit / 8] ^= (uint8_t)(1 << bit % 8);
		uint32_t len = mpa_unmark(&u, got, n);
		g_assert_true(u.wrong || mpa_fpdu_read(&rules, got, len, &found) == MPA_CRC_WRONG);
	}
}

/* A frame of MULPDU fits the segment wherever it begins. */
static void
test_mulpdu(void)
{
	g_assert_cmpuint(mpa_marker_mulpdu(1460), ==, 1442);
	g_assert_cmpuint(mpa_marker_mulpdu(1448), ==, 1430);
	g_assert_cmpuint(mpa_marker_mulpdu(8948), ==, 8870);
	g_assert_cmpuint(mpa_marker_mulpdu(0), ==, MPA_MULPDU_MIN);
	g_assert_cmpuint(mpa_marker_mulpdu(UINT32_MAX / 2), ==, MPA_MARKED_ULPDU_MAX);
	for (uint32_t emss = 200; emss < 9200; emss++) {
		uint32_t size = mpa_fpdu_size(mpa_marker_mulpdu(emss));

		for (uint64_t plain = 0; plain < 508; plain += 4)
			g_assert_cmpuint(mpa_marker_position(plain + size) -
						 mpa_marker_position(plain),
					 <=, emss);
	}
}

/* A stream that ends behind any of its octets: has the marker of an FPDU begun of which nothing has come? */
static void
test_begun(void)
{
	enum {
		FRAMES = 60,
		SIZE = 32
	};
	uint8_t stream[FRAMES * (SIZE + MPA_MARKER_SIZE)];
	bool begun[sizeof(stream) + 1] = {false};
	struct mpa_unmark u = {.crc = true};
	uint32_t len = 0;

	for (uint32_t i = 0; i < FRAMES; i++) {
		uint8_t fpdu[SIZE];
		bool first = len % MPA_MARKER_INTERVAL == 0;

		g_assert_cmpuint(frame_make(fpdu, SIZE - MPA_LENGTH_SIZE - MPA_CRC_SIZE, true), ==,
				 SIZE);
		for (uint32_t k = 1; first && k <= MPA_MARKER_SIZE; k++)
			begun[len + k] = true;
		len += mpa_marker_insert(stream + len, fpdu, SIZE, (uint64_t)i * SIZE, true);
	}
	g_assert_true(begun[1] && begun[MPA_MARKER_SIZE]);
	for (uint32_t at = 0; at < len; at++) {
		g_assert_cmpint(mpa_unmark_begun(&u), ==, begun[at]);
		(void)mpa_unmark(&u, stream + at, 1);
	}
	g_assert_false(u.wrong || mpa_unmark_begun(&u));
}

/* Frames of one direction of the vectors, with markers, become plain ones and again the same. */
static void
test_vectors(void)
{
	struct vectors *vectors = vectors_load("vectors.json");
	guint frames = 0;

	for (int initiator = 0; initiator < 2; initiator++) {
		struct mpa_unmark u = {.crc = true};
		uint64_t plain = 0;

		for (guint i = 0; i < vectors_count(vectors); i++) {
			const struct vector *v = vectors_at(vectors, i);
			struct mpa_rules rules = {.crc = true};
			struct mpa_fpdu fpdu;
			uint8_t got[1024];
			uint8_t again[1024];

			if (!v->markers || !g_str_equal(v->kind, "fpdu") ||
			    v->from_initiator != initiator)
				continue;
			g_assert_cmpuint(v->len, <=, sizeof(got));
			memcpy(got, v->octets, v->len);
			uint32_t len = mpa_unmark(&u, got, (uint32_t)v->len);
			g_assert_cmpint(mpa_fpdu_read(&rules, got, len, &fpdu), ==, MPA_OK);
			g_assert_cmpuint(fpdu.size, ==, len);
			g_assert_cmpuint(fpdu.ulpdu_len, ==, vector_number(v, "ulpdu_length"));
			uint32_t n = mpa_marker_insert(again, got, len, plain, true);
			g_assert_cmpmem(again, n, v->octets, v->len);
			plain += len;
			frames++;
		}
	}
	g_assert_cmpuint(frames, ==, 3);
	vectors_free(&vectors);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/iwarp/marker/places", test_places);
	g_test_add_func("/iwarp/marker/large", test_large);
	g_test_add_func("/iwarp/marker/in-place", test_in_place);
	g_test_add_func("/iwarp/marker/cuts", test_cuts);
	g_test_add_func("/iwarp/marker/wrong-pointers", test_wrong_pointers);
	g_test_add_func("/iwarp/marker/ignored-bits", test_ignored_bits);
	g_test_add_func("/iwarp/marker/wrong-bits", test_wrong_bits);
	g_test_add_func("/iwarp/marker/begun", test_begun);
	g_test_add_func("/iwarp/marker/mulpdu", test_mulpdu);
	g_test_add_func("/iwarp/marker/vectors", test_vectors);
	return g_test_run();
}
