/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * CRC, markers, IRD, ORD and RTR as two ends negotiate them by their start-up frames; each result
 * is checked at both ends.
 */

#include "kal_mpa.h"
#include "vectors.h"

#include <string.h>

static struct vectors *positive;

/* Parameters that offer everything. */
static struct kal_mpa_offered
offer_of(uint16_t ird, uint16_t ord)
{
	struct kal_mpa_offered w = {
		.revision = 2, .crc = true, .words = true, .ird = ird, .ord = ord, .ird_max = 128};

	return w;
}

/* What both ends offer, their frames, and what each takes them to agree on. */
struct both {
	struct kal_mpa_offered initiator, responder;
	struct kal_mpa_frame request, reply;
	struct kal_mpa_negotiated at_i, at_r;
};

static enum kal_mpa_verdict
negotiate(struct both *b)
{
	kal_mpa_offer(&b->initiator, &b->request);
	kal_mpa_accept(&b->responder, &b->request, &b->reply, &b->at_r);
	return kal_mpa_judge_reply(&b->initiator, &b->request, &b->reply, &b->at_i);
}

static void
test_crc(void)
{
	for (int i = 0; i < 4; i++) {
		struct both b = {.initiator = offer_of(1, 1), .responder = offer_of(1, 1)};

		b.initiator.crc = (i & 1) != 0;
		b.responder.crc = (i & 2) != 0;
		g_assert_cmpint(negotiate(&b), ==, KAL_MPA_GO);
		g_assert_cmpint(b.request.crc, ==, b.initiator.crc);
		g_assert_false(b.request.markers || b.reply.markers);
		g_assert_cmpint(b.at_r.crc, ==, i != 0);
		g_assert_cmpint(b.at_i.crc, ==, i != 0);
	}
}

static void
test_markers(void)
{
	struct kal_mpa_offered offered = offer_of(1, 1);
	struct kal_mpa_frame request;
	struct kal_mpa_frame reply;
	struct kal_mpa_negotiated negotiated;

	kal_mpa_offer(&offered, &request);
	request.markers = true;
	g_assert_cmpint(kal_mpa_judge_request(&request, 0), ==, KAL_MPA_REFUSE_MARKERS);
	kal_mpa_reject(&offered, &request, &reply);
	g_assert_true(reply.reject);
	g_assert_false(reply.markers);
	request.markers = false;
	kal_mpa_accept(&offered, &request, &reply, &negotiated);
	reply.markers = true;
	g_assert_cmpint(kal_mpa_judge_reply(&offered, &request, &reply, &negotiated), ==,
			KAL_MPA_CLOSE_MARKERS);
	reply.reject = true; /* comes first in the decision table */
	g_assert_cmpint(kal_mpa_judge_reply(&offered, &request, &reply, &negotiated), ==,
			KAL_MPA_CLOSE_REJECTED);
}

/* Each end decides about what it receives, and both know it. */
static void
test_markers_agreed(void)
{
	for (int i = 0; i < 4; i++) {
		struct both b = {.initiator = offer_of(1, 1), .responder = offer_of(1, 1)};

		b.initiator.markers_tx = b.responder.markers_tx = true;
		b.initiator.markers_rx = (i & 1) != 0;
		b.responder.markers_rx = (i & 2) != 0;
		g_assert_cmpint(negotiate(&b), ==, KAL_MPA_GO);
		g_assert_cmpint(b.request.markers, ==, b.initiator.markers_rx);
		g_assert_cmpint(b.reply.markers, ==, b.responder.markers_rx);
		g_assert_cmpint(b.at_i.markers_rx, ==, b.initiator.markers_rx);
		g_assert_cmpint(b.at_i.markers_tx, ==, b.responder.markers_rx);
		g_assert_cmpint(b.at_r.markers_rx, ==, b.responder.markers_rx);
		g_assert_cmpint(b.at_r.markers_tx, ==, b.initiator.markers_rx);
		kal_mpa_reject(&b.responder, &b.request, &b.reply);
		g_assert_false(b.reply.markers);
	}
}

/* No consumer could be asked: our initiator distinguishes that from a consumer's refusal, other peers see a refusal. */
static void
test_no_room(void)
{
	struct kal_mpa_offered offered = offer_of(3, 4);
	struct kal_mpa_frame request, reply, seen;
	struct kal_mpa_negotiated negotiated;
	uint8_t wire[KAL_MPA_FRAME_MAX];
	size_t size;

	kal_mpa_offer(&offered, &request);
	g_assert_true(kal_mpa_reject_no_room(&offered, &request, &reply));
	size = kal_mpa_write(&reply, wire, sizeof(wire));
	g_assert_cmpint(kal_mpa_read(KAL_MPA_REPLY, wire, size, &seen, &size), ==, KAL_MPA_WHOLE);
	g_assert_true(seen.reject);
	g_assert_cmpint(kal_mpa_judge_reply(&offered, &request, &seen, &negotiated), ==,
			KAL_MPA_CLOSE_NO_ROOM);
	/* A consumer's word, or its numbers, make it a consumer's. */
	seen.private_data = (const uint8_t *)"x";
	seen.private_len = 1;
	g_assert_cmpint(kal_mpa_judge_reply(&offered, &request, &seen, &negotiated), ==,
			KAL_MPA_CLOSE_REJECTED);
	kal_mpa_reject(&offered, &request, &reply);
	g_assert_cmpint(kal_mpa_judge_reply(&offered, &request, &reply, &negotiated), ==,
			KAL_MPA_CLOSE_REJECTED);
	/* Revision 1 has no words for it. */
	offered.revision = 1;
	offered.words = false;
	kal_mpa_offer(&offered, &request);
	g_assert_false(kal_mpa_reject_no_room(&offered, &request, &reply));
}

/* Replies of the vectors come out of our responder, too. */
static void
test_replies_of_vectors(void)
{
	static const struct {
		const char *connection, *request, *reply;
		uint16_t ird, ord;
		bool crc, reject;
		uint8_t rtr;
		const char *private_data;
	} cases[] = {
		{"rev1-crc-basic", "mpa-req-rev1", "mpa-rep-rev1", 4, 4, true, false, 0, ""},
		{"rev2-p2p-write-rtr", "mpa-req-rev2-p2p", "mpa-rep-rev2-p2p-write", 8, 16, true,
		 false, RI_RTR_WRITE | RI_RTR_READ, ""},
		{"rev2-p2p-read-rtr", "mpa-req-rev2-read", "mpa-rep-rev2-read", 1, 1, true, false,
		 RI_RTR_WRITE | RI_RTR_READ, ""},
		{"siw-default", "mpa-req-siw", "mpa-rep-siw", 1, 1, false, false, 0, ""},
		{"crc-forced-by-responder", "mpa-req-c0", "mpa-rep-c1", 4, 4, true, false, 0, ""},
		{"marker-refused", "mpa-req-m", "mpa-rep-reject", 4, 4, true, true, 0, ""},
		{"rev2-reject", "mpa-req", "mpa-rep-reject-pd", 2, 2, true, true, 0, "no!"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct vector *in =
			vectors_find(positive, cases[i].connection, cases[i].request);
		const struct vector *out =
			vectors_find(positive, cases[i].connection, cases[i].reply);
		struct kal_mpa_offered offered = offer_of(cases[i].ird, cases[i].ord);
		uint8_t buf[KAL_MPA_FRAME_MAX];
		struct kal_mpa_frame request;
		struct kal_mpa_frame reply;
		struct kal_mpa_negotiated negotiated;
		size_t size;

		g_test_message("%s", cases[i].connection);
		offered.crc = cases[i].crc;
		offered.rtr = cases[i].rtr;
		g_assert_cmpint(kal_mpa_read(KAL_MPA_REQUEST, in->octets, in->len, &request, &size),
				==, KAL_MPA_WHOLE);
		if (cases[i].reject)
			kal_mpa_reject(&offered, &request, &reply);
		else
			kal_mpa_accept(&offered, &request, &reply, &negotiated);
		reply.private_data = (const uint8_t *)cases[i].private_data;
		reply.private_len = (uint16_t)strlen(cases[i].private_data);
		size = kal_mpa_write(&reply, buf, sizeof(buf));
		g_assert_cmpmem(buf, size, out->octets, out->len);
	}
}

/* One negotiation, and the parameters of both ends after it. */
struct depths {
	const char *name;
	uint16_t i_ird, i_ord, i_max, r_ird, r_ord, r_max; /* offered */
	uint16_t got_i_ird, got_i_ord, got_r_ird, got_r_ord;
	enum kal_mpa_verdict verdict;
};

static void
test_depths(void)
{
	static const struct depths cases[] = {
		{"the responder follows the initiator", 16, 8, 128, 1, 16, 128, 16, 8, 8, 16,
		 KAL_MPA_GO},
		{"equal offers", 4, 4, 128, 4, 4, 128, 4, 4, 4, 4, KAL_MPA_GO},
		{"the responder's device can less: the initiator lowers its ORD", 4, 64, 128, 4, 4,
		 16, 4, 16, 16, 4, KAL_MPA_GO},
		{"the initiator's IRD limits the responder's ORD", 2, 2, 128, 2, 50, 128, 2, 2, 2,
		 2, KAL_MPA_GO},
		{"an IRD of 0 limits it, too", 0, 0, 128, 0, 5, 128, 0, 0, 0, 0, KAL_MPA_GO},
		{"more than the own device can", 300, 1, 128, 1, 300, 128, 128, 1, 1, 128,
		 KAL_MPA_GO},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct depths *c = &cases[i];
		struct both b = {.initiator = offer_of(c->i_ird, c->i_ord),
				 .responder = offer_of(c->r_ird, c->r_ord)};

		g_test_message("%s", c->name);
		b.initiator.ird_max = c->i_max;
		b.responder.ird_max = c->r_max;
		g_assert_cmpint(negotiate(&b), ==, c->verdict);
		g_assert_cmpuint(b.at_i.ird, ==, c->got_i_ird);
		g_assert_cmpuint(b.at_i.ord, ==, c->got_i_ord);
		g_assert_cmpuint(b.at_r.ird, ==, c->got_r_ird);
		g_assert_cmpuint(b.at_r.ord, ==, c->got_r_ord);
		g_assert_cmpuint(b.at_i.ord, <=, b.at_r.ird);
		g_assert_cmpuint(b.at_r.ord, <=, b.at_i.ird);
	}
}

static void
test_reply_depths(void)
{
	struct kal_mpa_offered offered = offer_of(4, 4);
	struct kal_mpa_frame request;
	struct kal_mpa_frame reply;
	struct kal_mpa_negotiated negotiated;
	const struct vector *v = vectors_find(positive, NULL, "mpa-rep-ord-too-big");
	size_t size;

	kal_mpa_offer(&offered, &request);
	g_assert_cmpint(kal_mpa_read(KAL_MPA_REPLY, v->octets, v->len, &reply, &size), ==,
			KAL_MPA_WHOLE);
	g_assert_cmpint(kal_mpa_judge_reply(&offered, &request, &reply, &negotiated), ==,
			KAL_MPA_TERMINATE_IRD);
	g_assert_cmphex(kal_mpa_verdict_code(KAL_MPA_TERMINATE_IRD), ==, 0x2006);
	g_assert_true(negotiated.crc);
	offered.ird_max = 200; /* now the device can */
	g_assert_cmpint(kal_mpa_judge_reply(&offered, &request, &reply, &negotiated), ==,
			KAL_MPA_GO);
	g_assert_cmpuint(negotiated.ird, ==, 200);
	offered.ird_max = 128;
	reply.ord = 5;
	reply.ird = 2;
	g_assert_cmpint(kal_mpa_judge_reply(&offered, &request, &reply, &negotiated), ==,
			KAL_MPA_GO);
	g_assert_cmpuint(negotiated.ird, ==, 5);
	g_assert_cmpuint(negotiated.ord, ==, 2);
}

/* 0x3fff on either side leaves the configured value alone. */
static void
test_depths_private(void)
{
	struct both b = {.initiator = offer_of(7, 9), .responder = offer_of(3, 5)};

	b.initiator.depth_private = true;
	g_assert_cmpint(negotiate(&b), ==, KAL_MPA_GO);
	g_assert_cmpuint(b.request.ird, ==, KAL_MPA_DEPTH_PRIVATE);
	g_assert_cmpuint(b.request.ord, ==, KAL_MPA_DEPTH_PRIVATE);
	g_assert_cmpuint(b.at_r.ird, ==, 3);
	g_assert_cmpuint(b.at_r.ord, ==, 5);
	b.reply.ord = 1000; /* would be too much, but nothing is negotiated */
	g_assert_cmpint(kal_mpa_judge_reply(&b.initiator, &b.request, &b.reply, &b.at_i), ==,
			KAL_MPA_GO);
	g_assert_cmpuint(b.at_i.ird, ==, 7);
	g_assert_cmpuint(b.at_i.ord, ==, 9);

	b.initiator.depth_private = false;
	b.responder.depth_private = true;
	g_assert_cmpint(negotiate(&b), ==, KAL_MPA_GO);
	g_assert_cmpuint(b.reply.ird, ==, KAL_MPA_DEPTH_PRIVATE);
	g_assert_cmpuint(b.at_r.ird, ==, 3);
	g_assert_cmpuint(b.at_i.ird, ==, 7);
	g_assert_cmpuint(b.at_i.ord, ==, 9);
}

/* With its own numbers in the Reply the initiator has after the start-up what it had before. */
static void
test_depths_echo(void)
{
	static const uint16_t depths[] = {0, 1, 7, KAL_MPA_DEPTH_MAX, KAL_MPA_DEPTH_PRIVATE};

	for (gsize i = 0; i < G_N_ELEMENTS(depths) * G_N_ELEMENTS(depths); i++) {
		uint16_t ird = depths[i / G_N_ELEMENTS(depths)];
		uint16_t ord = depths[i % G_N_ELEMENTS(depths)];
		struct both b = {.initiator = offer_of(ird, ord), .responder = offer_of(3, 5)};

		g_test_message("IRD %u, ORD %u", ird, ord);
		b.initiator.ird_max = ird;
		b.responder.depth_private = b.responder.depth_echo = true;
		g_assert_cmpint(negotiate(&b), ==, KAL_MPA_GO);
		g_assert_cmpuint(b.reply.ird, ==, b.request.ord);
		g_assert_cmpuint(b.reply.ord, ==, b.request.ird);
		g_assert_cmpuint(b.at_r.ird, ==, 3);
		g_assert_cmpuint(b.at_r.ord, ==, 5);
		g_assert_cmpuint(b.at_i.ird, ==, b.initiator.ird);
		g_assert_cmpuint(b.at_i.ord, ==, b.request.ord);
	}
}

static void
test_rtr(void)
{
	static const char *const names[4] = {"none", "Write", "Read", "Write and Read"};
	/* by what the initiator can send and what the responder accepts */
	static const uint8_t chosen[4][4] = {
		{0, 0, 0, 0},
		{RI_RTR_WRITE, RI_RTR_WRITE, 0xff,
		 RI_RTR_WRITE}, /* if the responder has none, it accepts a Write */
		{0xff, 0xff, RI_RTR_READ, RI_RTR_READ},
		{RI_RTR_WRITE, RI_RTR_WRITE, RI_RTR_READ, RI_RTR_WRITE},
	};

	for (uint8_t offered = 0; offered < 4; offered++) {
		for (uint8_t taken = 0; taken < 4; taken++) {
			struct both b = {.initiator = offer_of(0, 0), .responder = offer_of(0, 0)};
			uint8_t want = chosen[offered][taken];

			g_test_message("initiator %s, responder %s", names[offered], names[taken]);
			b.initiator.rtr = offered | RI_RTR_SEND;
			b.responder.rtr = taken | RI_RTR_SEND;
			g_assert_cmpint(negotiate(&b), ==,
					want == 0xff ? KAL_MPA_TERMINATE_RTR : KAL_MPA_GO);
			g_assert_cmpint(b.request.rtr & RI_RTR_SEND, ==, 0);
			g_assert_cmpint(b.request.peer_to_peer, ==, offered != 0);
			g_assert_cmpint(b.reply.rtr & RI_RTR_SEND, ==, 0);
			if (want == 0xff)
				continue;
			g_assert_cmpint(b.at_i.rtr, ==, want);
			g_assert_cmpint(b.at_r.rtr, ==, want);
			g_assert_true(want != RI_RTR_READ || (b.at_r.ird >= 1 && b.at_i.ord >= 1));
		}
	}
	g_assert_cmphex(kal_mpa_verdict_code(KAL_MPA_TERMINATE_RTR), ==, 0x2007);
	g_assert_cmphex(kal_mpa_verdict_code(KAL_MPA_GO), ==, 0);
}

/* A Send is named only if the provider has it and nothing else was offered. */
static void
test_rtr_send(void)
{
	struct kal_mpa_offered offered = offer_of(4, 4);
	struct kal_mpa_frame request;
	struct kal_mpa_frame reply;
	struct kal_mpa_negotiated negotiated;

	offered.rtr = RI_RTR_WRITE | RI_RTR_READ | RI_RTR_SEND;
	kal_mpa_offer(&offered, &request);
	for (uint8_t others = 0; others < 4; others++) {
		uint8_t want = others == 0             ? RI_RTR_SEND
			       : others == RI_RTR_READ ? RI_RTR_READ
						       : RI_RTR_WRITE;

		request.rtr = others | RI_RTR_SEND;
		kal_mpa_accept(&offered, &request, &reply, &negotiated);
		g_assert_cmpint(reply.rtr, ==, want);
		g_assert_cmpint(negotiated.rtr, ==, want);
	}
	request.rtr = 0; /* nothing that anybody knows */
	kal_mpa_accept(&offered, &request, &reply, &negotiated);
	g_assert_cmpint(reply.rtr, ==, RI_RTR_WRITE);
}

/* A peer that offers type B only to a provider without it, and one that names a Read but has no room for it. */
static void
test_rtr_odd_peers(void)
{
	struct kal_mpa_offered offered = offer_of(4, 4);
	struct kal_mpa_frame request;
	struct kal_mpa_frame reply;
	struct kal_mpa_negotiated negotiated;

	offered.rtr = RI_RTR_WRITE | RI_RTR_READ;
	kal_mpa_offer(&offered, &request);
	request.rtr = RI_RTR_SEND;
	kal_mpa_accept(&offered, &request, &reply, &negotiated);
	g_assert_cmpint(reply.rtr, ==, RI_RTR_WRITE);
	kal_mpa_offer(&offered, &request);
	kal_mpa_accept(&offered, &request, &reply, &negotiated);
	reply.rtr = RI_RTR_READ;
	reply.ird = 0;
	g_assert_cmpint(kal_mpa_judge_reply(&offered, &request, &reply, &negotiated), ==,
			KAL_MPA_TERMINATE_RTR);
	reply.rtr = 0;
	reply.peer_to_peer = false;
	g_assert_cmpint(kal_mpa_judge_reply(&offered, &request, &reply, &negotiated), ==,
			KAL_MPA_TERMINATE_RTR);
}

static void
test_words_unanswered(void)
{
	struct kal_mpa_offered offered = offer_of(4, 6);
	struct kal_mpa_frame request;
	struct kal_mpa_frame reply = {.kind = KAL_MPA_REPLY, .revision = 1, .crc = true};
	struct kal_mpa_negotiated negotiated;

	kal_mpa_offer(&offered, &request);
	g_assert_cmpint(kal_mpa_judge_reply(&offered, &request, &reply, &negotiated), ==,
			KAL_MPA_CLOSE_NO_WORDS);
	reply.revision = 2;
	g_assert_cmpint(kal_mpa_judge_reply(&offered, &request, &reply, &negotiated), ==,
			KAL_MPA_CLOSE_NO_WORDS);
	offered.revision = 1;
	kal_mpa_offer(&offered, &request);
	g_assert_false(request.words);
	g_assert_cmpint(kal_mpa_judge_reply(&offered, &request, &reply, &negotiated), ==,
			KAL_MPA_GO);
	g_assert_cmpuint(negotiated.ird, ==, 4);
	g_assert_cmpuint(negotiated.ord, ==, 6);
	g_assert_cmpint(negotiated.rtr, ==, 0);
}

int
main(int argc, char **argv)
{
	int result;

	g_test_init(&argc, &argv, NULL);
	positive = vectors_load("vectors.json");
	g_test_add_func("/kal/mpa-negotiation/crc", test_crc);
	g_test_add_func("/kal/mpa-negotiation/markers", test_markers);
	g_test_add_func("/kal/mpa-negotiation/markers-agreed", test_markers_agreed);
	g_test_add_func("/kal/mpa-negotiation/no-room", test_no_room);
	g_test_add_func("/kal/mpa-negotiation/replies-of-vectors", test_replies_of_vectors);
	g_test_add_func("/kal/mpa-negotiation/depths", test_depths);
	g_test_add_func("/kal/mpa-negotiation/reply-depths", test_reply_depths);
	g_test_add_func("/kal/mpa-negotiation/depths-private", test_depths_private);
	g_test_add_func("/kal/mpa-negotiation/depths-echo", test_depths_echo);
	g_test_add_func("/kal/mpa-negotiation/rtr", test_rtr);
	g_test_add_func("/kal/mpa-negotiation/rtr-send", test_rtr_send);
	g_test_add_func("/kal/mpa-negotiation/rtr-odd-peers", test_rtr_odd_peers);
	g_test_add_func("/kal/mpa-negotiation/words-unanswered", test_words_unanswered);
	result = g_test_run();
	vectors_free(&positive);
	return result;
}
