/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Start-up frames at their limits: lengths that just fit, IRD/ORD words that just do not fit,
 * depths one above the limit, and fields that a kind of frame does not have.
 */
#include "kal_mpa.h"

#include <glib.h>
#include <string.h>

static uint8_t wire[KAL_MPA_FRAME_MAX + 8];

/* A Request as octets: flags, revision, announced length of private data. */
static size_t
request_of(uint8_t flags, uint8_t revision, uint16_t pd_length)
{
	memset(wire, 0, sizeof(wire));
	memcpy(wire, "MPA ID Req Frame", 16);
	wire[16] = flags;
	wire[17] = revision;
	wire[18] = (uint8_t)(pd_length >> 8);
	wire[19] = (uint8_t)pd_length;
	return KAL_MPA_HEADER_SIZE + (size_t)pd_length;
}

static enum kal_mpa_found
found(uint8_t flags, uint8_t revision, uint16_t pd_length, struct kal_mpa_frame *frame)
{
	size_t size = request_of(flags, revision, pd_length);

	return kal_mpa_read(KAL_MPA_REQUEST, wire, MIN(size, sizeof(wire)), frame, &size);
}

static void
test_lengths(void)
{
	struct kal_mpa_frame frame;

	g_assert_cmpint(found(0x40, 1, 512, &frame), ==, KAL_MPA_WHOLE);
	g_assert_cmpuint(frame.private_len, ==, 512);
	g_assert_cmpint(found(0x40, 1, 513, &frame), ==, KAL_MPA_BAD_LENGTH);
	g_assert_cmpint(found(0x50, 2, 3, &frame), ==, KAL_MPA_BAD_WORDS);
	g_assert_cmpint(found(0x50, 2, 4, &frame), ==, KAL_MPA_WHOLE);
	g_assert_true(frame.words);
	g_assert_cmpuint(frame.private_len, ==, 0);
	g_assert_null(frame.private_data); /* no data is no address */
	g_assert_cmpint(found(0x40, 1, 0, &frame), ==, KAL_MPA_WHOLE);
	g_assert_null(frame.private_data);
	g_assert_cmpint(found(0x60, 1, 0, &frame), ==, KAL_MPA_WHOLE);
	g_assert_false(frame.reject); /* a Request has no such flag */
}

static void
test_words_need_revision_two(void)
{
	struct kal_mpa_frame frame = {.revision = 1, .words = true, .ird = 4, .ord = 4};
	struct kal_mpa_frame seen;
	size_t size = kal_mpa_write(&frame, wire, sizeof(wire));

	g_assert_cmpuint(size, ==, KAL_MPA_HEADER_SIZE);
	g_assert_cmpint(kal_mpa_read(KAL_MPA_REQUEST, wire, size, &seen, &size), ==, KAL_MPA_WHOLE);
	g_assert_false(seen.words);
	/* RTR bits are for peers that may both speak first. */
	frame = (struct kal_mpa_frame){
		.revision = 2, .words = true, .rtr = RI_RTR_WRITE | RI_RTR_READ};
	size = kal_mpa_write(&frame, wire, sizeof(wire));
	g_assert_cmpuint(size, ==, KAL_MPA_HEADER_SIZE + 4);
	for (size_t i = KAL_MPA_HEADER_SIZE; i < size; i++)
		g_assert_cmpuint(wire[i], ==, 0);
}

static struct kal_mpa_offered
offer_of(uint16_t ird, uint16_t ord, uint16_t ird_max)
{
	return (struct kal_mpa_offered){
		.revision = 2, .words = true, .ird = ird, .ord = ord, .ird_max = ird_max};
}

static void
test_one_octet_early(void)
{
	struct kal_mpa_offered responder = offer_of(1, 1, 8);
	struct kal_mpa_frame request;

	kal_mpa_offer(&responder, &request);
	g_assert_cmpint(kal_mpa_judge_request(&request, 0), ==, KAL_MPA_GO);
	g_assert_cmpint(kal_mpa_judge_request(&request, 1), ==, KAL_MPA_CLOSE_EARLY);
}

/* The responder's ORD may be as large as the device allows, and not one more. */
static void
test_ird_limit(void)
{
	struct kal_mpa_offered responder = offer_of(1, 1, 8);
	struct kal_mpa_frame request,
		reply = {.kind = KAL_MPA_REPLY, .revision = 2, .words = true, .ird = 1};
	struct kal_mpa_negotiated negotiated;

	kal_mpa_offer(&responder, &request);
	reply.ord = 8;
	g_assert_cmpint(kal_mpa_judge_reply(&responder, &request, &reply, &negotiated), ==,
			KAL_MPA_GO);
	g_assert_cmpuint(negotiated.ird, ==, 8);
	reply.ord = 9;
	g_assert_cmpint(kal_mpa_judge_reply(&responder, &request, &reply, &negotiated), ==,
			KAL_MPA_TERMINATE_IRD);
}

/* "Not negotiated here" is no number: neither depth follows it. */
static void
test_private_depths(void)
{
	struct kal_mpa_offered initiator = offer_of(1, 1, 32767),
			       responder = offer_of(5, 32767, 32767);
	struct kal_mpa_frame request, reply;
	struct kal_mpa_negotiated negotiated;

	initiator.depth_private = true;
	kal_mpa_offer(&initiator, &request);
	g_assert_cmpuint(request.ird, ==, KAL_MPA_DEPTH_PRIVATE);
	kal_mpa_accept(&responder, &request, &reply, &negotiated);
	g_assert_cmpuint(negotiated.ird, ==, 5);
	g_assert_cmpuint(negotiated.ord, ==, 32767);
}

/* A Read as the first message needs room for one, whatever was offered. */
static void
test_read_needs_room(void)
{
	struct kal_mpa_offered initiator = offer_of(0, 0, 8), responder = offer_of(0, 0, 8);
	struct kal_mpa_frame request, reply;
	struct kal_mpa_negotiated negotiated;

	initiator.rtr = responder.rtr = RI_RTR_READ;
	kal_mpa_offer(&initiator, &request);
	g_assert_cmpuint(request.ord, ==, 1);
	request.ord = 0; /* another peer might not think of it */
	kal_mpa_accept(&responder, &request, &reply, &negotiated);
	g_assert_cmpuint(negotiated.rtr, ==, RI_RTR_READ);
	g_assert_cmpuint(negotiated.ird, ==, 1);
}

static void
test_refusal_names_no_message(void)
{
	struct kal_mpa_offered initiator = offer_of(1, 1, 8);
	struct kal_mpa_frame request, reply;

	initiator.rtr = RI_RTR_WRITE;
	kal_mpa_offer(&initiator, &request);
	g_assert_true(request.peer_to_peer);
	kal_mpa_reject(&initiator, &request, &reply);
	g_assert_true(reply.reject);
	g_assert_false(reply.peer_to_peer);
	g_assert_cmpuint(reply.rtr, ==, 0);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/kal/mpa/borders/lengths", test_lengths);
	g_test_add_func("/kal/mpa/borders/words-need-revision-two", test_words_need_revision_two);
	g_test_add_func("/kal/mpa/borders/one-octet-early", test_one_octet_early);
	g_test_add_func("/kal/mpa/borders/ird-limit", test_ird_limit);
	g_test_add_func("/kal/mpa/borders/private-depths", test_private_depths);
	g_test_add_func("/kal/mpa/borders/read-needs-room", test_read_needs_room);
	g_test_add_func("/kal/mpa/borders/refusal-names-no-message", test_refusal_names_no_message);
	return g_test_run();
}
