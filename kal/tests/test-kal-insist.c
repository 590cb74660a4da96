/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* kal_cm_req::refused_ms: an attempt that is refused is made again, for a limited time. */

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kal_attempt.h"

#define MOMENT_US (50 * G_TIME_SPAN_MILLISECOND)
#define LONG_MS   KAL_REFUSED_MS_MAX

/*
 * Nobody listens at the port any more, and it stays the test's: no program that is given any free port gets it. What was
 * accepted there is reset: the next socket has the port alone.
 */
static void
listen_no_more(struct attempt *a)
{
	struct sockaddr_in sa = {.sin_family = AF_INET, .sin_port = a->port};
	int one = 1;

	close(a->listener);
	if (a->peer >= 0)
		raw_abort(a->peer);
	a->peer = -1;
	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	a->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(a->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	g_assert_cmpint(bind(a->listener, (struct sockaddr *)&sa, sizeof(sa)), ==, 0);
}

/* Listen again at that port. */
static void
listen_again(const struct attempt *a)
{
	g_assert_cmpint(listen(a->listener, 8), ==, 0);
}

static void
establish(struct attempt *a)
{
	struct kal_mpa_frame reply = attempt_good_reply(a);

	raw_send_frame(a->peer, &reply);
	(void)fixture_cm(&a->f, KAL_CM_ESTABLISHED, CTX);
	g_assert_cmpint(fixture_state(&a->f, a->qp), ==, RI_QPS_RTS);
	attempt_finish(a);
}

/* A listener that comes while the attempt goes on. The queue pair knows nothing of the refusals. */
static void
test_listener_comes(void)
{
	struct attempt a = attempt_prepare();

	listen_no_more(&a);
	a.req.refused_ms = LONG_MS;
	attempt_go(&a);
	g_usleep(MOMENT_US);
	g_assert_true(fixture_silent(&a.f));
	g_assert_cmpint(fixture_state(&a.f, a.qp), ==, RI_QPS_CONNECTING);
	fixture_shown(0, a.port);
	listen_again(&a);
	attempt_answer(&a);
	g_assert_cmpuint(a.request.revision, ==, 2);
	g_assert_cmpmem(a.request.private_data, a.request.private_len, "hello", 5);
	establish(&a);
}

/* The port of the program's choice stays that of the attempt. */
static void
test_own_port(void)
{
	struct sockaddr_in sa = {.sin_family = AF_INET};
	socklen_t len = sizeof(sa);
	struct attempt a = attempt_prepare();

	listen_no_more(&a);
	a.req.service.local_port = raw_free_port();
	a.req.refused_ms = LONG_MS;
	attempt_go(&a);
	g_usleep(MOMENT_US);
	listen_again(&a);
	attempt_answer(&a);
	g_assert_cmpint(getpeername(a.peer, (struct sockaddr *)&sa, &len), ==, 0);
	g_assert_cmpuint(sa.sin_port, ==, a.req.service.local_port);
	establish(&a);
}

/* Another program cannot take that port while nobody tries; nor after a peer that has reset the connection. */
static void
test_own_port_is_kept(void)
{
	struct sockaddr_in sa = {.sin_family = AF_INET};
	unsigned refused = 0, tries = 0;
	struct attempt a;

	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	a = attempt_prepare();
	sa.sin_port = raw_free_port();
	a.req.service.local_port = sa.sin_port;
	a.req.refused_ms = LONG_MS;
	attempt_meet(&a);
	listen_no_more(&a);
	for (gint64 end = g_get_monotonic_time() + 2 * MOMENT_US;
	     g_get_monotonic_time() < end || tries < 10;) {
		int thief RI_AT_END(ri_at_end_close) =
			socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		tries++;
		refused += bind(thief, (struct sockaddr *)&sa, sizeof(sa)) != 0;
	}
	g_assert_cmpuint(refused, ==, tries);
	listen_again(&a);
	attempt_answer(&a);
	establish(&a);
}

/* A listener that goes away resets the connections that it has not taken: the same, as the first refusal or a later one. */
static void
test_listener_goes(void)
{
	struct attempt a = attempt_prepare();

	a.req.refused_ms = LONG_MS;
	for (int i = 0; i < 2; i++) {
		if (i == 0)
			attempt_meet(&a);
		else
			attempt_answer(&a);
		listen_no_more(&a);
		g_usleep(MOMENT_US);
		listen_again(&a);
	}
	attempt_answer(&a);
	g_assert_cmpuint(a.request.revision, ==,
			 2); /* a refusal does not say that the peer knows revision 1 only */
	establish(&a);
}

/* Nobody comes: one event, when the time is over. */
static void
test_nobody_comes(void)
{
	struct attempt a RI_AT_END(attempt_finish) = attempt_prepare();

	listen_no_more(&a);
	a.req.refused_ms = 200;
	attempt_go(&a);
	attempt_expect_failed(&a, KAL_REASON_REFUSED);
	g_assert_cmpuint(kal_host_default()->now(kal_host_default()->self) - a.begun, >=,
			 180 * G_GUINT64_CONSTANT(1000000));
}

/* The attempt's own time is over first. */
static void
test_timeout_first(void)
{
	struct attempt a RI_AT_END(attempt_finish) = attempt_prepare();

	listen_no_more(&a);
	a.req.refused_ms = LONG_MS;
	a.req.timeout_us = G_TIME_SPAN_SECOND; /* enough for one refusal, on a busy machine, too */
	attempt_go(&a);
	attempt_expect_failed(&a, KAL_REASON_REFUSED);
}

/* What the peer's application says is final. */
static void
test_rejection_is_final(void)
{
	struct kal_mpa_frame reply;
	struct attempt a RI_AT_END(attempt_finish) = attempt_prepare();

	a.req.refused_ms = LONG_MS;
	attempt_meet(&a);
	reply = attempt_good_reply(&a);
	reply.reject = true;
	raw_send_frame(a.peer, &reply);
	(void)fixture_cm(&a.f, KAL_CM_REJECTED, CTX);
}

/* The client ends the attempt in a pause: by a disconnect, by destroying the queue pair, by closing. */
static void
test_ended_meanwhile(void)
{
	for (int way = 0; way < 3; way++) {
		struct kal_cm_req end = {.qp = 0};
		struct attempt a RI_AT_END(attempt_finish) = attempt_prepare();

		listen_no_more(&a);
		a.req.refused_ms = LONG_MS;
		attempt_go(&a);
		g_usleep(MOMENT_US / 10);
		end.qp = a.qp;
		if (way == 0) {
			g_assert_cmpint(
				fixture_call(&a.f, KAL_DISCONNECT, &end, sizeof(end), NULL, 0), ==,
				RI_SUCCESS);
			(void)fixture_cm(&a.f, KAL_CM_DISCONNECTED, CTX);
		} else if (way == 1) {
			g_assert_cmpint(fixture_id(&a.f, KAL_QP_DESTROY, a.qp), ==, RI_SUCCESS);
			a.qp = 0;
		}
		g_assert_true(way == 2 || fixture_silent(&a.f));
	}
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	fake_register();
	g_test_add_func("/kal/insist/listener-comes", test_listener_comes);
	g_test_add_func("/kal/insist/own-port", test_own_port);
	g_test_add_func("/kal/insist/own-port-is-kept", test_own_port_is_kept);
	g_test_add_func("/kal/insist/listener-goes", test_listener_goes);
	g_test_add_func("/kal/insist/nobody-comes", test_nobody_comes);
	g_test_add_func("/kal/insist/timeout-first", test_timeout_first);
	g_test_add_func("/kal/insist/rejection-is-final", test_rejection_is_final);
	g_test_add_func("/kal/insist/ended-meanwhile", test_ended_meanwhile);
	return g_test_run();
}
