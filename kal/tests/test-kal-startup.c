/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * What the start-up hands to a provider over real TCP, against peers that the test plays (RFC 5044 section 7.1, RFC 6581; [WIRE 2.5],
 * [WIRE 2.6]). test-kal-mpa-negotiation has what both sides agree on, it-wire what an adapter then does.
 */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kal_attempt.h"

#define LISTEN_CTX 0x2222

static void
open_with(struct fixture *f, bool peer_to_peer)
{
	g_setenv("ITAPI_MPA_PEER_TO_PEER", peer_to_peer ? "on" : "off", TRUE);
	*f = fixture_open();
	g_unsetenv("ITAPI_MPA_PEER_TO_PEER");
}

/* The responder wants more than we serve: Terminate 2006, in peer-to-peer mode or not. */
static void
insufficient_ird(bool peer_to_peer)
{
	struct attempt a RI_AT_END(attempt_finish) = {.peer = -1};
	struct kal_mpa_frame reply;

	open_with(&a.f, peer_to_peer);
	a.qp = fixture_qp(&a.f, CTX, 4, 3);
	a.listener = raw_listen(&a.port);
	fixture_connect_req(&a.req, a.qp, false, a.port);
	attempt_meet(&a);
	reply = attempt_good_reply(&a);
	reply.ord = 5;
	raw_send_frame(a.peer, &reply);
	attempt_expect_failed(&a, KAL_REASON_BAD_ORD);
	g_assert_cmphex(fake_last_stream().abort_code, ==, 0x2006);
}

static void
test_insufficient_ird(void)
{
	insufficient_ird(false);
	insufficient_ird(true);
}

/* A responder that suppresses IRD and ORD: what its Reply states, and that nothing is lowered [IT 9.6.5]. */
static void
suppressed(struct fixture *f, uint16_t ird, uint16_t ord, uint16_t reply_ird, uint16_t reply_ord)
{
	struct kal_listen_req listen = {
		.rnic = f->rnic, .backlog = 5, .suppress_ird_ord = 1, .ctx = LISTEN_CTX};
	struct kal_mpa_frame request = {
		.kind = KAL_MPA_REQUEST, .revision = 2, .words = true, .ird = ird, .ord = ord};
	struct kal_cm_req req = {.qp = fixture_qp(f, CTX, 4, 3), .ird = 4, .ord = 3};
	struct kal_listen_rep listening;
	struct kal_mpa_frame reply;
	struct kal_accept_rep rep;
	struct kal_cm_event event;
	uint8_t buf[KAL_MPA_FRAME_MAX];
	int peer;

	listen.service.kind = RI_SERVICE_PORT;
	g_assert_cmpint(
		fixture_call(f, KAL_LISTEN, &listen, sizeof(listen), &listening, sizeof(listening)),
		==, RI_SUCCESS);
	peer = raw_connect(false, listening.service.port);
	raw_send_frame(peer, &request);
	event = fixture_cm(f, KAL_CM_REQUEST, LISTEN_CTX);
	g_assert_false(event.ird_ord_valid);
	req.request = event.request;
	g_assert_cmpint(fixture_call(f, KAL_ACCEPT, &req, sizeof(req), &rep, sizeof(rep)), ==,
			RI_SUCCESS);
	reply = raw_frame(peer, KAL_MPA_REPLY, buf);
	g_assert_true(reply.words);
	g_assert_cmphex(reply.ird, ==, reply_ird);
	g_assert_cmphex(reply.ord, ==, reply_ord);
	g_assert_cmpuint(rep.ird, ==, 4);
	g_assert_cmpuint(rep.ord, ==, 3);
	fixture_cm(f, KAL_CM_ESTABLISHED, CTX);
	g_assert_cmpuint(fake_last_stream().ird, ==, 4);
	g_assert_cmpuint(fake_last_stream().ord, ==, 3);
	close(peer);
	fixture_close(f);
}

/* A client whose administrator's file has this text. */
static void
open_configured(struct fixture *f, const char *text)
{
	fixture_config(text);
	*f = fixture_open();
	fixture_config(NULL);
}

static void
wakes_after(const char *text, uint16_t ms)
{
	struct attempt a RI_AT_END(attempt_finish) = {.peer = -1};
	struct kal_mpa_frame reply;

	open_configured(&a.f, text);
	a.qp = fixture_qp(&a.f, CTX, 4, 3);
	a.listener = raw_listen(&a.port);
	fixture_connect_req(&a.req, a.qp, false, a.port);
	attempt_meet(&a);
	reply = attempt_good_reply(&a);
	raw_send_frame(a.peer, &reply);
	fixture_cm(&a.f, KAL_CM_ESTABLISHED, CTX);
	g_assert_cmpuint(fake_last_stream().wake_ms, ==, ms);
}

static void
test_wake_up(void)
{
	wakes_after("", 50);
	wakes_after("[mpa]\nwake-up = 0\n", 0);
	wakes_after("[mpa]\nwake-up = 60000\n", 60000);
}

static void
test_suppressed(void)
{
	struct fixture f;

	/* With the peer's own numbers it lowers nothing, and siw takes them. */
	f = fixture_open();
	suppressed(&f, 2, 9, 9, 2);
	f = fixture_open();
	suppressed(&f, 0, 0, 0, 0);
	f = fixture_open();
	suppressed(&f, KAL_MPA_DEPTH_PRIVATE, KAL_MPA_DEPTH_PRIVATE, KAL_MPA_DEPTH_PRIVATE,
		   KAL_MPA_DEPTH_PRIVATE);
	open_configured(&f, "[mpa]\nsuppressed-depths = none\n");
	suppressed(&f, 2, 9, KAL_MPA_DEPTH_PRIVATE, KAL_MPA_DEPTH_PRIVATE);
}

/* The peer gets markers and CRCs if it asks, and we markers if the administrator wants them; the provider is told of all. */
static void
test_markers(void)
{
	for (int i = 0; i < 4; i++) {
		bool theirs = (i & 1) != 0, ours = (i & 2) != 0;
		struct kal_mpa_frame request = {
			.kind = KAL_MPA_REQUEST, .revision = 1, .markers = theirs, .crc = theirs};
		struct kal_mpa_frame reply;
		struct kal_accept_rep rep;
		uint8_t buf[KAL_MPA_FRAME_MAX];
		uint16_t port = 0;

		fixture_config(ours ? "[mpa]\nmarkers = ask\n" : NULL);
		g_setenv("ITAPI_MPA_CRC", "off", TRUE);
		struct fixture f RI_AT_END(fixture_close) = fixture_open();
		g_unsetenv("ITAPI_MPA_CRC");
		fixture_config(NULL);
		struct kal_cm_req req = {.qp = fixture_qp(&f, CTX, 4, 3), .ird = 4, .ord = 3};
		fixture_listen(&f, LISTEN_CTX, &port, 5);
		int peer = raw_connect(false, port);
		raw_send_frame(peer, &request);
		req.request = fixture_cm(&f, KAL_CM_REQUEST, LISTEN_CTX).request;
		g_assert_cmpint(fixture_call(&f, KAL_ACCEPT, &req, sizeof(req), &rep, sizeof(rep)),
				==, RI_SUCCESS);
		reply = raw_frame(peer, KAL_MPA_REPLY, buf);
		g_assert_false(reply.reject);
		g_assert_cmpint(reply.markers, ==, ours);
		g_assert_cmpint(reply.crc, ==, theirs);
		fixture_cm(&f, KAL_CM_ESTABLISHED, CTX);
		g_assert_cmpint(fake_last_stream().crc, ==, theirs);
		g_assert_cmpint(fake_last_stream().markers_tx, ==, theirs);
		g_assert_cmpint(fake_last_stream().markers_rx, ==, ours);
		g_assert_cmpuint(fake_last_stream().wake_ms, ==, 0); /* a responder never begins */
		close(peer);
		fixture_cm(&f, KAL_CM_DISCONNECTED, CTX);
	}
}

/* What is left of the words of a refusal that is too short for them is no private data. */
static void
test_refusal_fragments(void)
{
	for (char length = 0; length < 4; length++) {
		char frame[] = "MPA ID Rep Frame\x70\x02\0\0abc";
		struct kal_cm_event event;
		struct attempt a RI_AT_END(attempt_finish) = attempt_prepare();

		attempt_meet(&a);
		frame[19] = length;
		raw_send(a.peer, frame, 20 + (size_t)length);
		event = fixture_cm(&a.f, KAL_CM_REJECTED, CTX);
		g_assert_false(event.pdata_present || event.ird_ord_valid);
		g_assert_cmpuint(event.pdata_len, ==, 0);
	}
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	fake_register();
	g_test_add_func("/kal/startup/insufficient-ird", test_insufficient_ird);
	g_test_add_func("/kal/startup/suppressed", test_suppressed);
	g_test_add_func("/kal/startup/wake-up", test_wake_up);
	g_test_add_func("/kal/startup/markers", test_markers);
	g_test_add_func("/kal/startup/refusal-fragments", test_refusal_fragments);
	return g_test_run();
}
