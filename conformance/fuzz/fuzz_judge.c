/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The codec of it-wire, which reads what any peer sends. It shares no code with that of vp/iwarp,
 * so each judges the other: both must give the same result for the same octets. The first octet of
 * the input has the options: with SEALED the harness sets length, CRC and markers of each frame by
 * the codec of vp/iwarp; otherwise the octets are used unchanged.
 */
#include "fuzz.h"

#include "mpa_marker.h"
#include "rdmap_check.h"
#include "wire_marker.h"

#define SEALED 0x01u
#define CRC    0x02u
#define MARKED 0x04u

#define FRAME_MAX  300u /* octets of a sealed FPDU, about */
#define MARKED_MAX (FRAME_MAX + 8u)

/* Both have read a whole FPDU at `at`: what is in it? */
static void
segments_compare(const struct wire_fpdu *theirs, const struct mpa_fpdu *ours)
{
	struct ddp_segment seg;

	FUZZ_REQUIRE(ddp_segment_read(ours->ulpdu, ours->ulpdu_len, ours->ulpdu_len, &seg) ==
		     DDP_OK);
	FUZZ_REQUIRE(theirs->tagged == seg.tagged && theirs->last == seg.last);
	FUZZ_REQUIRE(theirs->ddp_version == seg.version &&
		     theirs->opcode == (guint8)rdmap_opcode_of(seg.rdmap_control));
	FUZZ_REQUIRE(theirs->stag == (seg.tagged ? seg.stag : seg.rsvd_ulp));
	FUZZ_REQUIRE(theirs->payload_len == seg.payload_len);
	FUZZ_REQUIRE(seg.payload_len == 0 ||
		     memcmp(theirs->payload, seg.payload, seg.payload_len) == 0);
	if (seg.tagged)
		FUZZ_REQUIRE(theirs->to == seg.to);
	else
		FUZZ_REQUIRE(theirs->qn == seg.qn && theirs->msn == seg.msn &&
			     theirs->mo == seg.mo);
}

/* What was read can be written, and is the same but for PAD. */
static void
fpdu_again(const struct wire_fpdu *fpdu, const uint8_t *octets)
{
	g_autoptr(GByteArray) out = g_byte_array_new();
	struct wire_fpdu copy = *fpdu;

	wire_fpdu_body(out, &copy);
	FUZZ_REQUIRE(out->len == wire_fpdu_covered((gsize)fpdu->length));
	FUZZ_REQUIRE(memcmp(out->data, octets, 2 + (size_t)fpdu->length) == 0);
}

/* Octets as they come, without markers. */
static void
stream_run(const uint8_t *octets, size_t len, bool crc)
{
	const struct mpa_rules rules = {.crc = crc};
	enum wire_taken taken = WIRE_TAKEN_WHOLE;

	while (taken == WIRE_TAKEN_WHOLE) {
		struct wire_fpdu theirs;
		struct mpa_fpdu ours;
		gsize size = 0;
		g_autofree char *why = NULL;
		enum mpa_result result = mpa_fpdu_read(&rules, octets, len, &ours);

		taken = wire_fpdu_take(octets, len, crc, &theirs, &size, &why);
		FUZZ_REQUIRE((why != NULL) == (taken == WIRE_TAKEN_BAD));
		FUZZ_REQUIRE((taken == WIRE_TAKEN_MORE) == (result == MPA_MORE));
		if (result == MPA_CRC_WRONG)
			FUZZ_REQUIRE(taken == WIRE_TAKEN_BAD && strstr(why, "CRC") != NULL);
		if (taken == WIRE_TAKEN_WHOLE) {
			FUZZ_REQUIRE(result == MPA_OK && size == ours.size && size <= len);
			segments_compare(&theirs, &ours);
			fpdu_again(&theirs, octets);
			octets += size;
			len -= size;
		}
	}
}

/* Octets as they come, with markers. */
static void
marked_run(const uint8_t *octets, size_t len, uint64_t position, bool crc)
{
	g_autoptr(GByteArray) plain = g_byte_array_new();
	enum wire_taken taken = WIRE_TAKEN_WHOLE;

	while (taken == WIRE_TAKEN_WHOLE) {
		struct wire_marked in = {octets, len, position, crc, plain};
		struct wire_fpdu fpdu;
		gsize size = 0;
		g_autofree char *why = NULL;

		taken = wire_marked_take(&in, &fpdu, &size, &why);
		FUZZ_REQUIRE((why != NULL) == (taken == WIRE_TAKEN_BAD));
		if (taken == WIRE_TAKEN_WHOLE) {
			FUZZ_REQUIRE(size > 0 && size <= len);
			fpdu_again(&fpdu, plain->data);
			octets += size;
			len -= size;
			position += size;
		}
	}
}

/* A frame of vp/iwarp, in a stream with markers behind `before` octets of FPDUs. */
static void
marked_compare(const uint8_t *frame, uint32_t size, uint64_t before, bool crc)
{
	uint8_t room[MARKED_MAX];
	const struct mpa_rules rules = {.crc = crc};
	uint32_t len = mpa_marker_insert(room, frame, size, before, crc);
	uint8_t *copy = fuzz_copy(room, len);
	struct wire_marked in = {copy, len, mpa_marker_position(before), crc, g_byte_array_new()};
	struct wire_fpdu theirs;
	struct mpa_fpdu ours;
	gsize taken_size = 0;
	char *why = NULL;

	FUZZ_REQUIRE(len <= sizeof(room));
	FUZZ_REQUIRE(mpa_fpdu_read(&rules, frame, size, &ours) == MPA_OK);
	if (wire_marked_take(&in, &theirs, &taken_size, &why) == WIRE_TAKEN_WHOLE) {
		FUZZ_REQUIRE(taken_size == len);
		segments_compare(&theirs, &ours);
	} else {
		FUZZ_REQUIRE(why != NULL && strstr(why, "CRC") == NULL &&
			     strstr(why, "marker") == NULL);
	}
	g_free(why);
	in.len = len - 1;
	why = NULL;
	FUZZ_REQUIRE(wire_marked_take(&in, &theirs, &taken_size, &why) == WIRE_TAKEN_MORE);
	g_byte_array_unref(in.plain);
	free(copy);
}

/* Frames of vp/iwarp, whose ULPDUs are of the input. */
static void
sealed_run(struct fuzz_input *in, uint64_t before, bool marked, bool crc)
{
	while (in->left > 0) {
		uint8_t room[FRAME_MAX];
		size_t len;
		const uint8_t *ulpdu = fuzz_take(in, fuzz_u8(in), &len);
		uint32_t size;

		room[0] = 0;
		room[1] = (uint8_t)len;
		if (len > 0)
			memcpy(room + MPA_LENGTH_SIZE, ulpdu, len);
		size = mpa_fpdu_close(room, (uint32_t)len,
				      mpa_crc(room, MPA_LENGTH_SIZE + (uint32_t)len, 0), crc);
		if (marked) {
			marked_compare(room, size, before, crc);
		} else {
			uint8_t *copy = fuzz_copy(room, size);

			stream_run(copy, size, crc);
			free(copy);
		}
		before += size;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len)
{
	struct fuzz_input in = {.at = octets, .left = len};
	uint8_t options = fuzz_u8(&in);
	uint64_t position = fuzz_number(&in, 2);
	bool crc = (options & CRC) != 0;
	uint8_t *copy;

	if (options & SEALED) {
		sealed_run(&in, position & ~UINT64_C(3), (options & MARKED) != 0, crc);
		return 0;
	}
	copy = fuzz_copy(in.at, in.left);
	if (options & MARKED)
		marked_run(copy, in.left, position, crc);
	else
		stream_run(copy, in.left, crc);
	free(copy);
	return 0;
}
