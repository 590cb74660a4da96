/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The initiator against raw peers that answer right, wrong, late or not at all. */

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kal_attempt.h"

/* A good connection: what went out, what came in, and an orderly end by the peer. */
static void
test_establish(void)
{
	struct kal_mpa_frame reply;
	struct kal_cm_event event;
	struct ri_stream stream;
	uint8_t octet = 0;
	struct attempt a RI_AT_END(attempt_finish) = attempt_prepare_asking();

	attempt_meet(&a);
	g_assert_cmpint(fixture_state(&a.f, a.qp), ==, RI_QPS_CONNECTING);
	g_assert_cmpuint(a.request.revision, ==, 2);
	g_assert_true(a.request.crc && a.request.words && a.request.peer_to_peer);
	g_assert_false(a.request.markers);
	g_assert_cmpuint(a.request.rtr, ==, RI_RTR_WRITE | RI_RTR_READ);
	g_assert_cmpuint(a.request.ird, ==, 4);
	g_assert_cmpuint(a.request.ord, ==, 3);
	g_assert_cmpmem(a.request.private_data, a.request.private_len, "hello", 5);

	reply = attempt_good_reply(&a);
	raw_send_frame(a.peer, &reply);
	event = fixture_cm(&a.f, KAL_CM_ESTABLISHED, CTX);
	g_assert_cmpuint(event.own_ird, ==, 4);
	g_assert_cmpuint(event.own_ord, ==, 2); /* lowered to what the peer serves */
	g_assert_true(event.ird_ord_valid);
	g_assert_cmpuint(event.ird, ==, 2);
	g_assert_cmpuint(event.ord, ==, 4);
	g_assert_true(event.pdata_present);
	g_assert_cmpmem(event.pdata, event.pdata_len, "abc", 3);
	stream = fake_last_stream();
	g_assert_true(stream.initiator && stream.crc && stream.peer_local);
	g_assert_cmpuint(stream.rtr_send, ==, RI_RTR_WRITE);
	g_assert_cmpuint(stream.rtr_expect, ==, 0);
	g_assert_false(stream.await_fpdu);
	g_assert_cmpuint(stream.ird, ==, 4);
	g_assert_cmpuint(stream.ord, ==, 2);
	g_assert_cmpint(raw_recv(a.peer, &octet, 1), ==, 1);
	g_assert_cmpint(octet, ==, 'R');
	g_assert_cmpint(fixture_state(&a.f, a.qp), ==, RI_QPS_RTS);

	shutdown(a.peer, SHUT_WR);
	fixture_cm(&a.f, KAL_CM_DISCONNECTED, CTX);
	g_assert_true(fixture_silent(&a.f));
}

/*
 * A peer that was asked for peer-to-peer mode, and whose Reply is late or invalid, must see no
 * reset, even if it has sent more octets than are read [WIRE 14.2].
 */
static void
gives_up_without_reset(bool late)
{
	static const char bad[2000] = "MPA ID Rep Frame\x50\x03";
	struct attempt a RI_AT_END(attempt_finish) = attempt_prepare_frozen(true);

	attempt_meet(&a);
	if (late)
		attempt_time_passes(&a);
	else
		raw_send(a.peer, bad, sizeof(bad));
	attempt_expect_failed(&a, late ? KAL_REASON_TIMEOUT : KAL_REASON_BAD_PARAMS);
	g_assert_cmpint(raw_recv(a.peer, a.buf, 1), ==, 0);
}

static void
test_gives_up_without_reset(void)
{
	gives_up_without_reset(true);
	gives_up_without_reset(false);
}

/* Octets behind the Reply reach the provider: part of them early, the rest in the socket. */
static void
test_early_octets(void)
{
	struct kal_mpa_frame reply;
	uint8_t buf[2 * KAL_MPA_FRAME_MAX];
	unsigned before = fake_received();
	size_t len;
	struct attempt a RI_AT_END(attempt_finish) = attempt_prepare();

	attempt_meet(&a);
	reply = attempt_good_reply(&a);
	len = kal_mpa_write(&reply, buf, sizeof(buf));
	memset(buf + len, 0x77, sizeof(buf) - len);
	raw_send(a.peer, buf, sizeof(buf));
	fixture_cm(&a.f, KAL_CM_ESTABLISHED, CTX);
	for (int i = 0; i < 60000 &&
			fake_last_stream().early_len + fake_received() - before < sizeof(buf) - len;
	     i++)
		g_usleep(1000);
	g_assert_cmpuint(fake_last_stream().early_len + fake_received() - before, ==,
			 sizeof(buf) - len);
	for (uint32_t i = 0; i < fake_last_stream().early_len; i++)
		g_assert_cmpint(fake_last_early()[i], ==, 0x77);
}

static void
test_slow_octets(void)
{
	struct kal_mpa_frame reply;
	uint8_t buf[KAL_MPA_FRAME_MAX];
	size_t len;
	struct attempt a RI_AT_END(attempt_finish) = attempt_prepare();

	attempt_meet(&a);
	reply = attempt_good_reply(&a);
	len = kal_mpa_write(&reply, buf, sizeof(buf));
	for (size_t i = 0; i < len; i++) {
		raw_send(a.peer, buf + i, 1);
		g_usleep(500);
	}
	fixture_cm(&a.f, KAL_CM_ESTABLISHED, CTX);
}

/* After it stood, the peer dies: an error of the stream, then BROKEN. */
static void
test_peer_dies(void)
{
	struct kal_mpa_frame reply;
	struct kal_event event;
	struct attempt a RI_AT_END(attempt_finish) = attempt_prepare();

	attempt_meet(&a);
	reply = attempt_good_reply(&a);
	raw_send_frame(a.peer, &reply);
	fixture_cm(&a.f, KAL_CM_ESTABLISHED, CTX);
	raw_abort(a.peer);
	a.peer = -1;
	event = fixture_event(&a.f);
	g_assert_cmpuint(event.kind, ==, KAL_EVENT_ASYNC);
	g_assert_cmpuint(event.u.async.event, ==, RI_EVENT_QP_LLP_RESET);
	g_assert_cmpuint(event.ctx, ==, CTX);
	fixture_cm(&a.f, KAL_CM_BROKEN, CTX);
	g_assert_true(fixture_silent(&a.f));
}

static void
test_rejected(void)
{
	struct kal_mpa_frame reply;
	struct kal_cm_event event;
	struct attempt a RI_AT_END(attempt_finish) = attempt_prepare();

	attempt_meet(&a);
	reply = attempt_good_reply(&a);
	reply.reject = true;
	raw_send_frame(a.peer, &reply);
	event = fixture_cm(&a.f, KAL_CM_REJECTED, CTX);
	g_assert_cmpmem(event.pdata, event.pdata_len, "abc", 3);
	g_assert_cmpint(fixture_state(&a.f, a.qp), ==, RI_QPS_ERROR);
	g_assert_true(fixture_silent(&a.f));
}

static void
test_dead_port(void)
{
	struct attempt a RI_AT_END(attempt_finish) = attempt_prepare();

	close(a.listener);
	a.listener = -1;
	attempt_go(&a);
	attempt_expect_failed(&a, KAL_REASON_REFUSED);
}

static void
test_no_route(void)
{
	struct attempt a RI_AT_END(attempt_finish) = attempt_prepare();

	/* The block for documentation behind a source that is only local. */
	a.req.peer = (struct ri_addr){.family = RI_ADDR_IPV4, .octets = {192, 0, 2, 1}};
	a.req.local = (struct ri_addr){.family = RI_ADDR_IPV4, .octets = {127, 0, 0, 1}};
	attempt_go(&a);
	attempt_expect_failed(&a, KAL_REASON_BAD_PATH);
}

static void
test_silent_port(void)
{
	struct attempt a RI_AT_END(attempt_finish) = attempt_prepare_frozen(false);

	attempt_meet(&a);
	g_assert_true(fixture_silent(&a.f));
	attempt_time_passes(&a);
	attempt_expect_failed(&a, KAL_REASON_TIMEOUT);
	g_assert_cmpint(raw_recv(a.peer, a.buf, 1), <=, 0);
}

/* Answers that are no good. */
static void
answer_with(const void *octets, size_t len, enum kal_cm_reason reason)
{
	struct attempt a RI_AT_END(attempt_finish) = attempt_prepare();

	attempt_meet(&a);
	raw_send(a.peer, octets, len);
	if (reason == KAL_REASON_OTHER)
		shutdown(a.peer, SHUT_WR); /* it ends too soon */
	attempt_expect_failed(&a, reason);
}

static void
test_wrong_answers(void)
{
	static const char key[] = "HTTP/1.1 400 Bad Request\r\n";
	static const char initiator[] = "MPA ID Req Frame\x40\x02\0\0";
	static const char revision[] = "MPA ID Rep Frame\x40\x03\0\0";
	static const char length[] = "MPA ID Rep Frame\x40\x01\x02\x01";
	static const char words[] = "MPA ID Rep Frame\x50\x02\0\x03"
				    "abc";
	static const char plain[] = "MPA ID Rep Frame\x40\x02\0\0";
	static const char markers[] = "MPA ID Rep Frame\xd0\x02\0\x04\x80\x01\x80\x01";
	static const char brief[] = "MPA ID Rep Fra";

	answer_with(key, sizeof(key) - 1, KAL_REASON_BAD_PARAMS);
	answer_with(initiator, sizeof(initiator) - 1, KAL_REASON_BAD_PARAMS);
	answer_with(revision, sizeof(revision) - 1, KAL_REASON_BAD_PARAMS);
	answer_with(length, sizeof(length) - 1, KAL_REASON_BAD_PARAMS);
	answer_with(words, sizeof(words) - 1, KAL_REASON_BAD_PARAMS);
	answer_with(plain, sizeof(plain) - 1, KAL_REASON_BAD_PARAMS);
	fixture_config("[mpa]\nmarkers = refuse\n");
	answer_with(markers, sizeof(markers) - 1, KAL_REASON_BAD_PARAMS);
	fixture_config(NULL);
	answer_with(brief, sizeof(brief) - 1, KAL_REASON_OTHER);
}

/* The peer knows revision 1 only: it closes, and is asked again. */
static void
fall_back(bool reset)
{
	struct kal_mpa_frame reply;
	struct kal_cm_event event;
	struct attempt a RI_AT_END(attempt_finish) = attempt_prepare();

	attempt_meet(&a);
	if (reset)
		raw_abort(a.peer);
	else
		close(a.peer);
	a.peer = raw_accept(a.listener);
	a.request = raw_frame(a.peer, KAL_MPA_REQUEST, a.buf);
	g_assert_cmpuint(a.request.revision, ==, 1);
	g_assert_false(a.request.words);
	g_assert_cmpmem(a.request.private_data, a.request.private_len, "hello", 5);
	reply = attempt_good_reply(&a);
	raw_send_frame(a.peer, &reply);
	event = fixture_cm(&a.f, KAL_CM_ESTABLISHED, CTX);
	g_assert_false(event.ird_ord_valid);
	g_assert_cmpuint(event.own_ird, ==, 4);
	g_assert_cmpuint(event.own_ord, ==, 3);
	g_assert_cmpuint(fake_last_stream().rtr_send, ==, 0);
}

static void
test_falls_back(void)
{
	fall_back(false);
	fall_back(true);
}

/* Where the administrator knows that nobody is that old, there is no second time. */
static void
test_no_fall_back(void)
{
	g_setenv("ITAPI_MPA_FALLBACK", "off", TRUE);
	struct attempt a RI_AT_END(attempt_finish) = attempt_prepare();
	g_unsetenv("ITAPI_MPA_FALLBACK");
	attempt_meet(&a);
	raw_abort(a.peer);
	a.peer = -1;
	attempt_expect_failed(&a, KAL_REASON_OTHER);
}

/* It closes on revision 1 too: no third time. */
static void
test_closes_twice(void)
{
	struct attempt a RI_AT_END(attempt_finish) = attempt_prepare();

	attempt_meet(&a);
	close(a.peer);
	a.peer = raw_accept(a.listener);
	a.request = raw_frame(a.peer, KAL_MPA_REQUEST, a.buf);
	close(a.peer);
	a.peer = -1;
	attempt_expect_failed(&a, KAL_REASON_OTHER);
}

static void
test_suppressed(void)
{
	struct kal_mpa_frame reply;
	struct attempt a RI_AT_END(attempt_finish) = attempt_prepare();

	a.req.suppress_ird_ord = 1;
	attempt_meet(&a);
	g_assert_cmpuint(a.request.revision, ==, 1);
	g_assert_false(a.request.words);
	reply = attempt_good_reply(&a);
	raw_send_frame(a.peer, &reply);
	g_assert_false(fixture_cm(&a.f, KAL_CM_ESTABLISHED, CTX).ird_ord_valid);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	fake_register();
	g_test_add_func("/kal/connect/establish", test_establish);
	g_test_add_func("/kal/connect/gives-up-without-reset", test_gives_up_without_reset);
	g_test_add_func("/kal/connect/early-octets", test_early_octets);
	g_test_add_func("/kal/connect/slow-octets", test_slow_octets);
	g_test_add_func("/kal/connect/peer-dies", test_peer_dies);
	g_test_add_func("/kal/connect/rejected", test_rejected);
	g_test_add_func("/kal/connect/dead-port", test_dead_port);
	g_test_add_func("/kal/connect/no-route", test_no_route);
	g_test_add_func("/kal/connect/silent-port", test_silent_port);
	g_test_add_func("/kal/connect/wrong-answers", test_wrong_answers);
	g_test_add_func("/kal/connect/falls-back", test_falls_back);
	g_test_add_func("/kal/connect/no-fall-back", test_no_fall_back);
	g_test_add_func("/kal/connect/closes-twice", test_closes_twice);
	g_test_add_func("/kal/connect/suppressed", test_suppressed);
	return g_test_run();
}
