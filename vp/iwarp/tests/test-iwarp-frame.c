/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Sizes of FPDUs and segments: MULPDU, PAD, every small size built in both ways, and messages of random size, cut at
 * random MULPDU and reassembled.
 */

#include "rdmap_check.h"
#include "ri_at_end.h"
#include "vectors.h"

#include <string.h>

static void
test_mulpdu(void)
{
	static const uint32_t known[][2] = {
		{1460, 1454}, {1448, 1442}, {8948, 8942}, {65483, 65474}, /* [WIRE 3.4] */
		{0, 128},     {128, 128},   {137, 130},   {70000, 65535}, {UINT32_MAX, 65535},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
		g_assert_cmpuint(mpa_mulpdu(known[i][0]), ==, known[i][1]);
	for (uint32_t emss = 140; emss < 9100; emss++)
		g_assert_cmpuint(mpa_fpdu_size(mpa_mulpdu(emss)), <=, emss);
	for (uint32_t emss = 0; emss < 140; emss++)
		g_assert_cmpuint(mpa_mulpdu(emss), >=, MPA_MULPDU_MIN);
}

static void
test_geometry(void)
{
	for (uint32_t len = 0; len <= MPA_ULPDU_MAX; len++) {
		g_assert_cmpuint(mpa_pad(len), <=, 3);
		g_assert_cmpuint((MPA_LENGTH_SIZE + len + mpa_pad(len)) % 4, ==, 0);
		g_assert_cmpuint(mpa_fpdu_size(len), ==,
				 MPA_LENGTH_SIZE + len + mpa_pad(len) + MPA_CRC_SIZE);
	}
	g_assert_cmpuint(mpa_fpdu_size(MPA_ULPDU_MAX), ==, MPA_FPDU_MAX);
}

/* One frame before a guard page, built by rdmap_fpdu_put() and in pieces; then read. */
static void
frame_check(const struct ddp_segment *seg, bool crc, const uint8_t *payload, uint32_t split)
{
	uint32_t size = mpa_fpdu_size(ddp_header_size(seg->tagged) + seg->payload_len);
	struct guarded one RI_AT_END(guarded_free) = guarded_copy(NULL, size);
	struct guarded two RI_AT_END(guarded_free) = guarded_copy(NULL, size);
	struct mpa_rules rules = {.crc = crc};
	struct mpa_fpdu fpdu;
	struct ddp_segment back;
	uint32_t covered;
	uint32_t at;

	memset(one.at, 0xff, size);
	memset(two.at, 0xff, size);
	g_assert_cmpuint(rdmap_fpdu_put(one.at, seg, crc), ==, size);
	at = rdmap_fpdu_begin(two.at, seg);
	covered = mpa_crc(two.at, at, 0);
	covered = mpa_crc_copy(two.at + at, payload, split, covered);
	covered = mpa_crc_copy(two.at + at + split, payload + split, seg->payload_len - split,
			       covered);
	g_assert_cmpuint(mpa_fpdu_close(two.at, at - 2 + seg->payload_len, covered, crc), ==, size);
	g_assert_cmpmem(one.at, size, two.at, size);

	g_assert_cmpint(mpa_fpdu_read(&rules, one.at, size, &fpdu), ==, MPA_OK);
	g_assert_cmpint(ddp_segment_read(fpdu.ulpdu, fpdu.ulpdu_len, fpdu.ulpdu_len, &back), ==,
			DDP_OK);
	g_assert_cmpmem(back.payload, back.payload_len, payload, seg->payload_len);
	g_assert_cmphex(back.stag, ==, seg->stag);
	g_assert_cmphex(back.to, ==, seg->to);
	g_assert_cmpuint(back.msn, ==, seg->msn);
	g_assert_cmpuint(back.mo, ==, seg->mo);
}

static void
test_every_small_size(void)
{
	g_autofree uint8_t *payload = g_malloc(MPA_ULPDU_MAX);

	for (uint32_t i = 0; i < MPA_ULPDU_MAX; i++)
		payload[i] = (uint8_t)(i * 7 + (i >> 8));
	for (uint32_t len = 0; len < 1300; len++) {
		struct ddp_segment tagged = rdmap_tagged(RDMAP_WRITE, 0xabcd, 1ull << 63, true);
		struct ddp_segment untagged = rdmap_untagged(RDMAP_SEND, len, len * 3, false);

		tagged.payload = payload + len % 8;
		tagged.payload_len = len;
		frame_check(&tagged, len % 5 != 0, tagged.payload, len / 3);
		untagged.payload = payload + len % 13;
		untagged.payload_len = len;
		frame_check(&untagged, len % 5 != 1, untagged.payload, len / 2);
	}
	for (uint32_t len = MPA_ULPDU_MAX - 20; len <= MPA_ULPDU_MAX - 14; len++) {
		struct ddp_segment tagged = rdmap_tagged(RDMAP_WRITE, 1, 0, true);

		tagged.payload = payload;
		tagged.payload_len = len;
		frame_check(&tagged, true, payload, len - 1);
	}
}

/* Cut a message into segments, check and place them; the result is the message. */
static void
message_check(GRand *rand, const uint8_t *message, uint32_t len, uint32_t mulpdu, bool tagged)
{
	g_autofree uint8_t *placed = g_malloc0(len + 1);
	g_autofree uint8_t *frame = g_malloc(MPA_FPDU_MAX);
	uint64_t base = ((uint64_t)g_rand_int(rand) << 32) + g_rand_int(rand) / 2;
	uint32_t room = mulpdu - ddp_header_size(tagged);
	struct mpa_rules rules = {.crc = true};
	struct rdmap_inbound in;
	bool ended = false;

	rdmap_inbound_init(&in);
	for (uint32_t at = 0; !ended; at += room) {
		uint32_t part = MIN(room, len - at);
		bool last = part == len - at;
		struct ddp_segment seg = tagged ? rdmap_tagged(RDMAP_WRITE, 0x77, base + at, last)
						: rdmap_untagged(RDMAP_SEND, 1, at, last);
		struct mpa_fpdu fpdu;
		struct ddp_segment got;
		uint32_t size;

		seg.payload = message + at;
		seg.payload_len = part;
		size = rdmap_fpdu_put(frame, &seg, true);
		g_assert_cmpuint(size, <=, mpa_fpdu_size(mulpdu));
		g_assert_cmpint(mpa_fpdu_read(&rules, frame, size, &fpdu), ==, MPA_OK);
		g_assert_cmpint(ddp_segment_read(fpdu.ulpdu, fpdu.ulpdu_len, fpdu.ulpdu_len, &got),
				==, DDP_OK);
		g_assert_cmpint(rdmap_check_header(&in, &got), ==, RDMAP_FAULT_NONE);
		memcpy(placed + (tagged ? got.to - base : got.mo), got.payload, got.payload_len);
		ended = rdmap_inbound_advance(&in, &got);
		g_assert_cmpint(ended, ==, last);
	}
	g_assert_cmpmem(placed, len, message, len);
	g_assert_cmpuint(in.next_msn[DDP_QN_SEND], ==, tagged ? 1 : 2);
}

static void
test_segmentation(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(0x5e95);
	g_autofree uint8_t *message = g_malloc(200000);

	for (uint32_t i = 0; i < 200000; i++)
		message[i] = (uint8_t)g_rand_int(rand);
	for (int round = 0; round < 120; round++) {
		uint32_t mulpdu = (uint32_t)g_rand_int_range(rand, 128, round % 2 ? 2000 : 65536);
		uint32_t len = (uint32_t)g_rand_int_range(rand, 0, round % 3 ? 5000 : 200000);

		message_check(rand, message, len, mulpdu, round % 4 < 2);
	}
	message_check(rand, message, 0, 128, true);
	message_check(rand, message, 0, 128, false);
	message_check(rand, message, 2 * (1442 - 18), 1442, false);
}

static void
test_texts(void)
{
	g_assert_cmpstr(rdmap_opcode_name((enum rdmap_opcode)0xc), ==, "reserved");
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/iwarp/frame/mulpdu", test_mulpdu);
	g_test_add_func("/iwarp/frame/geometry", test_geometry);
	g_test_add_func("/iwarp/frame/every-small-size", test_every_small_size);
	g_test_add_func("/iwarp/frame/segmentation", test_segmentation);
	g_test_add_func("/iwarp/frame/texts", test_texts);
	return g_test_run();
}
