/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The whole negotiation of the start-up over real TCP, against peers that the test plays: both revisions, every choice of
 * CRC, every set of ready-to-receive messages, on both sides (RFC 5044 section 7.1, RFC 6581; [WIRE 2.5], [WIRE 2.6]).
 */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kal_attempt.h"

#define LISTEN_CTX 0x2222
#define RTR_SETS   8u /* sets of Write, Read and Send */

/* What a peer puts into its frame. */
struct said {
	uint8_t revision;
	bool words, crc, peer_to_peer;
	uint8_t rtr;
};

static const char *
said_text(const struct said *said)
{
	static char text[80];

	g_snprintf(text, sizeof(text), "revision %u, words %d, C %d, A %d, RTR %u", said->revision,
		   said->words, said->crc, said->peer_to_peer, said->rtr);
	return text;
}

/* Call `each` for every frame that a peer may send. */
static void
all_frames(void (*each)(const struct said *said, void *arg), void *arg)
{
	for (unsigned crc = 0; crc < 2; crc++) {
		each(&(struct said){.revision = 1, .crc = crc}, arg);
		each(&(struct said){.revision = 2, .crc = crc}, arg);
		each(&(struct said){.revision = 2, .crc = crc, .words = true}, arg);
		for (unsigned rtr = 0; rtr < RTR_SETS; rtr++)
			each(&(struct said){.revision = 2,
					    .crc = crc,
					    .words = true,
					    .peer_to_peer = true,
					    .rtr = (uint8_t)rtr},
			     arg);
	}
}

static void
open_with(struct fixture *f, bool crc, bool peer_to_peer)
{
	g_setenv("ITAPI_MPA_CRC", crc ? "on" : "off", TRUE);
	g_setenv("ITAPI_MPA_PEER_TO_PEER", peer_to_peer ? "on" : "off", TRUE);
	*f = fixture_open();
	g_unsetenv("ITAPI_MPA_CRC");
	g_unsetenv("ITAPI_MPA_PEER_TO_PEER");
}

/* --- the responder ------------------------------------------------------------------------------ */

struct responder {
	struct fixture f;
	bool crc;
	uint16_t port;
	uint64_t ctx;
};

/* The message that a Reply names: Write before Read of those offered, and Write if neither is. */
static uint8_t
named(uint8_t offered)
{
	if ((offered & RI_RTR_WRITE) != 0 || (offered & RI_RTR_READ) == 0)
		return RI_RTR_WRITE;
	return RI_RTR_READ;
}

static void
check_reply(const struct responder *r, const struct said *said, const struct kal_mpa_frame *reply)
{
	g_assert_cmpuint(reply->revision, ==, said->revision);
	g_assert_cmpint(reply->words, ==, said->words);
	g_assert_cmpint(reply->crc, ==, said->crc || r->crc);
	g_assert_false(reply->reject || reply->markers);
	g_assert_cmpint(reply->peer_to_peer, ==, said->peer_to_peer);
	g_assert_cmpuint(reply->rtr, ==, said->peer_to_peer ? named(said->rtr) : 0);
	g_assert_cmpuint(reply->ird, ==, said->words ? 4 : 0);
	g_assert_cmpuint(reply->ord, ==, said->words ? 2 : 0);
}

static void
accept_one(const struct said *said, void *arg)
{
	struct responder *r = arg;
	struct kal_mpa_frame request = {.kind = KAL_MPA_REQUEST,
					.revision = said->revision,
					.words = said->words,
					.crc = said->crc,
					.peer_to_peer = said->peer_to_peer,
					.rtr = said->rtr,
					.ird = 2,
					.ord = 9};
	uint64_t ctx = ++r->ctx;
	struct kal_cm_req req = {.qp = fixture_qp(&r->f, ctx, 4, 3), .ird = 4, .ord = 3};
	struct kal_mpa_frame reply;
	struct kal_accept_rep rep;
	struct ri_stream stream;
	uint8_t buf[KAL_MPA_FRAME_MAX];
	int peer = raw_connect(false, r->port);

	g_test_message("%s", said_text(said));
	raw_send_frame(peer, &request);
	req.request = fixture_cm(&r->f, KAL_CM_REQUEST, LISTEN_CTX).request;
	g_assert_cmpint(fixture_call(&r->f, KAL_ACCEPT, &req, sizeof(req), &rep, sizeof(rep)), ==,
			RI_SUCCESS);
	reply = raw_frame(peer, KAL_MPA_REPLY, buf);
	check_reply(r, said, &reply);
	g_assert_cmpuint(rep.ord, ==, said->words ? 2 : 3);
	if (said->peer_to_peer)
		raw_send(peer, "R", 1); /* it does not stand before that */
	fixture_cm(&r->f, KAL_CM_ESTABLISHED, ctx);
	stream = fake_last_stream();
	g_assert_false(stream.initiator);
	g_assert_cmpint(stream.crc, ==, reply.crc);
	g_assert_cmpuint(stream.rtr_expect, ==, reply.rtr);
	/* It sends nothing before it has received something (RFC 5044 section 7.1.2). */
	g_assert_cmpint(stream.await_fpdu, ==, !said->peer_to_peer);
	g_assert_cmpuint(stream.wake_ms, ==, 0);
	close(peer);
	fixture_cm(&r->f, KAL_CM_DISCONNECTED, ctx);
}

static void
test_responder(gconstpointer crc)
{
	struct responder r = {.crc = crc != NULL};

	open_with(&r.f, r.crc, true); /* what an initiator asks for has no influence here */
	fixture_listen(&r.f, LISTEN_CTX, &r.port, 5);
	all_frames(accept_one, &r);
	fixture_close(&r.f);
}

/* --- the initiator ------------------------------------------------------------------------------ */

struct initiator {
	bool crc, peer_to_peer;
	uint16_t ord;
};

/* What the initiator sends first; 0: nothing, and the start-up ends with Terminate 2007. */
static uint8_t
sent_first(const struct initiator *i, const struct said *said)
{
	uint8_t common = said->rtr & (RI_RTR_WRITE | (i->ord > 0 ? RI_RTR_READ : 0));

	return (common & RI_RTR_WRITE) != 0 ? RI_RTR_WRITE : common;
}

static void
check_stream(const struct initiator *i, const struct said *said, const struct ri_stream *stream)
{
	g_assert_true(stream->initiator);
	g_assert_false(stream->await_fpdu);
	g_assert_cmpint(stream->crc, ==, said->crc || i->crc);
	g_assert_cmpuint(stream->rtr_expect, ==, 0);
	g_assert_cmpuint(stream->wake_ms, ==, 50);
}

static void
connect_one(const struct said *said, void *arg)
{
	const struct initiator *i = arg;
	struct attempt a RI_AT_END(attempt_finish) = {.peer = -1};
	struct kal_mpa_frame reply = {.kind = KAL_MPA_REPLY,
				      .revision = said->revision,
				      .words = said->words,
				      .crc = said->crc,
				      .peer_to_peer = said->peer_to_peer,
				      .rtr = said->rtr,
				      .ird = 2,
				      .ord = 4};
	uint8_t first = i->peer_to_peer ? sent_first(i, said) : 0;

	g_test_message("%s", said_text(said));
	open_with(&a.f, i->crc, i->peer_to_peer);
	a.qp = fixture_qp(&a.f, CTX, 4, i->ord);
	a.listener = raw_listen(&a.port);
	fixture_connect_req(&a.req, a.qp, false, a.port);
	a.req.ord = i->ord;
	attempt_meet(&a);
	g_assert_cmpint(a.request.crc, ==, i->crc);
	g_assert_cmpint(a.request.peer_to_peer, ==, i->peer_to_peer);
	g_assert_cmpuint(a.request.rtr, ==,
			 !i->peer_to_peer ? 0
			 : i->ord > 0     ? RI_RTR_WRITE | RI_RTR_READ
					  : RI_RTR_WRITE);
	raw_send_frame(a.peer, &reply);
	if (!said->words) {
		attempt_expect_failed(&a, KAL_REASON_BAD_PARAMS);
	} else if (i->peer_to_peer && first == 0) {
		attempt_expect_failed(&a, KAL_REASON_BAD_PARAMS);
		g_assert_cmphex(fake_last_stream().abort_code, ==, 0x2007);
	} else {
		struct ri_stream stream;

		fixture_cm(&a.f, KAL_CM_ESTABLISHED, CTX);
		stream = fake_last_stream();
		check_stream(i, said, &stream);
		g_assert_cmpuint(stream.rtr_send, ==, first);
		g_assert_cmphex(stream.abort_code, ==, 0);
	}
}

static void
test_initiator(gconstpointer options)
{
	unsigned bits = GPOINTER_TO_UINT(options);
	struct initiator i = {
		.crc = bits & 1, .peer_to_peer = bits & 2, .ord = (bits & 4) != 0 ? 3 : 0};

	all_frames(connect_one, &i);
}

/* --- IRD and ORD ---------------------------------------------------------------------------------- */

/* The responder wants more than we serve: Terminate 2006, in peer-to-peer mode or not. */
static void
insufficient_ird(bool peer_to_peer)
{
	struct attempt a RI_AT_END(attempt_finish) = {.peer = -1};
	struct kal_mpa_frame reply;

	open_with(&a.f, true, peer_to_peer);
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

/* The peer gets markers if it asks, and we if the administrator wants them; the provider is told of both. */
static void
test_markers(void)
{
	for (int i = 0; i < 4; i++) {
		bool theirs = (i & 1) != 0, ours = (i & 2) != 0;
		struct kal_mpa_frame request = {
			.kind = KAL_MPA_REQUEST, .revision = 1, .markers = theirs};
		struct kal_mpa_frame reply;
		struct kal_accept_rep rep;
		uint8_t buf[KAL_MPA_FRAME_MAX];
		uint16_t port = 0;

		fixture_config(ours ? "[mpa]\nmarkers = ask\n" : NULL);
		struct fixture f RI_AT_END(fixture_close) = fixture_open();
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
		fixture_cm(&f, KAL_CM_ESTABLISHED, CTX);
		g_assert_cmpint(fake_last_stream().markers_tx, ==, theirs);
		g_assert_cmpint(fake_last_stream().markers_rx, ==, ours);
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
	g_test_add_data_func("/kal/startup/responder/crc", "crc", test_responder);
	g_test_add_data_func("/kal/startup/responder/no-crc", NULL, test_responder);
	for (unsigned options = 0; options < 8; options++) {
		g_autofree char *path = g_strdup_printf(
			"/kal/startup/initiator/%s-%s-%s", options & 1 ? "crc" : "no-crc",
			options & 2 ? "peer-to-peer" : "client-server",
			options & 4 ? "ord" : "no-ord");

		g_test_add_data_func(path, GUINT_TO_POINTER(options), test_initiator);
	}
	g_test_add_func("/kal/startup/insufficient-ird", test_insufficient_ird);
	g_test_add_func("/kal/startup/suppressed", test_suppressed);
	g_test_add_func("/kal/startup/wake-up", test_wake_up);
	g_test_add_func("/kal/startup/markers", test_markers);
	g_test_add_func("/kal/startup/refusal-fragments", test_refusal_fragments);
	return g_test_run();
}
