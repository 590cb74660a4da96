/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * MPA start-up frames (kal_mpa.h). Either the input is the offer of this end and the octets of a
 * peer, as initiator and as responder; or it is the offers of two ends, which then negotiate with
 * each other.
 */
#include "fuzz.h"
#include "kal_mpa.h"

#define TEXT_ROOM 256u

/* Room for a text for people, which is cut where there is less than it needs. */
static size_t
room_of(size_t part)
{
	return 1 + part % (TEXT_ROOM - 1);
}

enum side {
	SIDE_RESPONDER = 0,
	SIDE_INITIATOR,
	SIDE_BOTH
};

static struct kal_mpa_offered
offer_take(struct fuzz_input *in)
{
	struct kal_mpa_offered offered = {0};
	uint8_t flags = fuzz_u8(in);

	offered.revision = flags & 1 ? 2 : 1;
	offered.crc = (flags & 2) != 0;
	offered.words = (flags & 4) != 0;
	offered.depth_private = (flags & 8) != 0;
	offered.depth_echo = (flags & 0x80) != 0;
	offered.rtr = flags >> 4 & 7;
	offered.ird = (uint16_t)fuzz_number(in, 2);
	offered.ord = (uint16_t)fuzz_number(in, 2);
	offered.ird_max = (uint16_t)fuzz_number(in, 2);
	if (offered.ird_max == 0)
		offered.ird_max = 1;
	return offered;
}

/* Read the frame, also from a part of the octets; the findings must agree. */
static enum kal_mpa_found
frame_read(enum kal_mpa_kind kind, const uint8_t *octets, size_t len, size_t part,
	   struct kal_mpa_frame *frame)
{
	struct kal_mpa_frame early;
	size_t size = 0;
	size_t early_size = 0;
	enum kal_mpa_found found = kal_mpa_read(kind, octets, len, frame, &size);
	uint8_t *cut = fuzz_copy(octets, part);
	enum kal_mpa_found first = kal_mpa_read(kind, cut, part, &early, &early_size);
	char text[TEXT_ROOM];

	kal_mpa_found_text(kind, found, octets, len, text, room_of(part));
	FUZZ_REQUIRE(strnlen(text, room_of(part)) < room_of(part));
	if (found == KAL_MPA_MORE)
		FUZZ_REQUIRE(size > len && size <= KAL_MPA_FRAME_MAX);
	if (found == KAL_MPA_WHOLE) {
		FUZZ_REQUIRE(size <= len && size >= KAL_MPA_HEADER_SIZE);
		FUZZ_REQUIRE(frame->kind == kind);
		FUZZ_REQUIRE(frame->private_len <= KAL_MPA_PRIVATE_MAX);
		if (frame->private_len > 0)
			FUZZ_REQUIRE(frame->private_data >= octets &&
				     frame->private_data + frame->private_len == octets + size);
		FUZZ_REQUIRE(first == (part >= size ? KAL_MPA_WHOLE : KAL_MPA_MORE));
	} else {
		/* More octets may show that it is no key at all, and not that of the other kind. */
		FUZZ_REQUIRE(first != KAL_MPA_WHOLE);
		FUZZ_REQUIRE(first == KAL_MPA_MORE || found != KAL_MPA_MORE);
	}
	free(cut);
	return found;
}

/* A frame that is sent must be the one that the peer reads. */
static void
frame_check(const struct kal_mpa_frame *frame)
{
	uint8_t octets[KAL_MPA_FRAME_MAX];
	uint8_t again[KAL_MPA_FRAME_MAX];
	struct kal_mpa_frame read;
	size_t size = 0;
	size_t len = kal_mpa_write(frame, octets, sizeof(octets));

	FUZZ_REQUIRE(len >= KAL_MPA_HEADER_SIZE);
	FUZZ_REQUIRE(kal_mpa_read(frame->kind, octets, len, &read, &size) == KAL_MPA_WHOLE);
	FUZZ_REQUIRE(size == len);
	FUZZ_REQUIRE(read.private_len == frame->private_len);
	FUZZ_REQUIRE(kal_mpa_write(&read, again, sizeof(again)) == len);
	FUZZ_REQUIRE(memcmp(octets, again, len) == 0);
	FUZZ_REQUIRE(kal_mpa_write(frame, octets, len - 1) == 0);
}

/* How many of the octets that are left come first. */
static size_t
part_take(struct fuzz_input *in)
{
	size_t number = fuzz_number(in, 2);

	return number % (in->left + 1);
}

static void
responder_run(struct fuzz_input *in)
{
	struct kal_mpa_offered offered = offer_take(in);
	size_t part = part_take(in);
	struct kal_mpa_frame request;
	struct kal_mpa_frame reply;
	struct kal_mpa_negotiated negotiated;
	enum kal_mpa_verdict verdict;
	char text[TEXT_ROOM];

	if (frame_read(KAL_MPA_REQUEST, in->at, in->left, part, &request) != KAL_MPA_WHOLE)
		return;
	frame_check(&request);
	verdict = kal_mpa_judge_request(&request, part);
	kal_mpa_verdict_text(verdict, &offered, &request, NULL, text, room_of(part));
	FUZZ_REQUIRE(strnlen(text, room_of(part)) < room_of(part));
	kal_mpa_accept(&offered, &request, &reply, &negotiated);
	FUZZ_REQUIRE(negotiated.crc == (request.crc || offered.crc));
	frame_check(&reply);
	kal_mpa_reject(&offered, &request, &reply);
	FUZZ_REQUIRE(reply.reject);
	frame_check(&reply);
	(void)kal_mpa_reject_no_room(&offered, &request, &reply);
	frame_check(&reply);
}

static void
initiator_run(struct fuzz_input *in)
{
	struct kal_mpa_offered offered = offer_take(in);
	size_t part = part_take(in);
	struct kal_mpa_frame request;
	struct kal_mpa_frame reply;
	struct kal_mpa_negotiated negotiated;
	enum kal_mpa_verdict verdict;
	char text[TEXT_ROOM];

	kal_mpa_offer(&offered, &request);
	frame_check(&request);
	if (frame_read(KAL_MPA_REPLY, in->at, in->left, part, &reply) != KAL_MPA_WHOLE)
		return;
	frame_check(&reply);
	verdict = kal_mpa_judge_reply(&offered, &request, &reply, &negotiated);
	kal_mpa_verdict_text(verdict, &offered, &request, &reply, text, room_of(part));
	FUZZ_REQUIRE(strnlen(text, room_of(part)) < room_of(part));
	FUZZ_REQUIRE(verdict != KAL_MPA_GO || kal_mpa_verdict_code(verdict) == 0);
	if (verdict == KAL_MPA_GO && reply.words)
		FUZZ_REQUIRE(negotiated.ird <= offered.ird_max);
}

/* The two ends have the same CRC and RTR message, and none has more Reads outstanding than the other queues. */
static void
both_run(struct fuzz_input *in)
{
	struct kal_mpa_offered active = offer_take(in);
	struct kal_mpa_offered passive = offer_take(in);
	struct kal_mpa_frame request;
	struct kal_mpa_frame reply;
	struct kal_mpa_negotiated here;
	struct kal_mpa_negotiated there;
	uint8_t octets[KAL_MPA_FRAME_MAX];
	struct kal_mpa_frame heard;
	size_t size = 0;

	kal_mpa_offer(&active, &request);
	request.private_data = in->at;
	request.private_len =
		(uint16_t)(in->left < KAL_MPA_PRIVATE_SAFE ? in->left : KAL_MPA_PRIVATE_SAFE);
	frame_check(&request);
	size = kal_mpa_write(&request, octets, sizeof(octets));
	FUZZ_REQUIRE(kal_mpa_read(KAL_MPA_REQUEST, octets, size, &heard, &size) == KAL_MPA_WHOLE);
	FUZZ_REQUIRE(kal_mpa_judge_request(&heard, 0) == KAL_MPA_GO);
	kal_mpa_accept(&passive, &heard, &reply, &there);
	frame_check(&reply);
	if (kal_mpa_judge_reply(&active, &request, &reply, &here) != KAL_MPA_GO)
		return;
	FUZZ_REQUIRE(here.crc == there.crc);
	FUZZ_REQUIRE(here.revision == there.revision);
	FUZZ_REQUIRE(here.rtr == there.rtr);
	if (!request.words || active.depth_private || passive.depth_private)
		return;
	FUZZ_REQUIRE(here.ord <= there.ird);
	FUZZ_REQUIRE(there.ord <= here.ird);
}

int
LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len)
{
	struct fuzz_input in = {.at = octets, .left = len};

	switch (fuzz_u8(&in) % 3) {
	case SIDE_RESPONDER:
		responder_run(&in);
		break;
	case SIDE_INITIATOR:
		initiator_run(&in);
		break;
	case SIDE_BOTH:
	default:
		both_run(&in);
		break;
	}
	return 0;
}
