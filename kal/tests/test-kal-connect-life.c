/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The initiator's life: giving up and destroying at each stage, again and again, calls that are wrong. */

#include <poll.h>
#include <semaphore.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kal_attempt.h"
#include "kal_host.h"

/* With `asking` the peer is asked for peer-to-peer mode, and hears a ready-to-receive message at the end. */
static void
prepare(struct attempt *a, bool asking)
{
	if (asking)
		*a = attempt_prepare_asking();
	else
		*a = attempt_prepare();
}

/* Nobody accepts yet. The handshake of TCP may end later than the call that begins it, even on loopback. */
static void
go(struct attempt *a)
{
	struct pollfd wait = {.fd = a->listener, .events = POLLIN};

	attempt_go(a);
	g_assert_cmpint(poll(&wait, 1, -1), ==, 1);
}

/* The consumer gives up at each stage; the peer sees the end, the consumer one DISCONNECTED. */
static void
disconnect_at(int stage, bool asking)
{
	struct attempt a RI_AT_END(attempt_finish);
	struct kal_mpa_frame reply;
	struct kal_cm_req req = {0};

	prepare(&a, asking);
	if (stage == 0)
		go(&a);
	else
		attempt_meet(&a);
	if (stage == 2) {
		reply = attempt_good_reply(&a);
		raw_send_frame(a.peer, &reply);
		fixture_cm(&a.f, KAL_CM_ESTABLISHED, CTX);
		g_assert_cmpint(asking ? raw_recv(a.peer, a.buf, 1) : 1, ==, 1);
	}
	req.qp = a.qp;
	g_assert_cmpint(fixture_call(&a.f, KAL_DISCONNECT, &req, sizeof(req), NULL, 0), ==,
			RI_SUCCESS);
	if (a.peer < 0)
		a.peer = raw_accept(a.listener);
	while (raw_recv(a.peer, a.buf, 1) > 0)
		;
	shutdown(a.peer, SHUT_WR);
	fixture_cm(&a.f, KAL_CM_DISCONNECTED, CTX);
	g_assert_cmpint(fixture_call(&a.f, KAL_DISCONNECT, &req, sizeof(req), NULL, 0), ==,
			RI_SUCCESS);
	g_assert_true(fixture_silent(&a.f));
}

static void
test_disconnect(void)
{
	for (int stage = 0; stage < 3; stage++) {
		disconnect_at(stage, false);
		disconnect_at(stage, true);
	}
}

/* Destroying the queue pair at each stage: the peer sees the end, the consumer nothing. */
static void
destroy_at(int stage, bool asking)
{
	struct attempt a RI_AT_END(attempt_finish);
	struct kal_mpa_frame reply;

	prepare(&a, asking);
	if (stage == 0)
		go(&a);
	else
		attempt_meet(&a);
	if (stage >= 2) {
		reply = attempt_good_reply(&a);
		raw_send_frame(a.peer, &reply);
	}
	if (stage == 3) {
		fixture_cm(&a.f, KAL_CM_ESTABLISHED, CTX);
		g_assert_cmpint(asking ? raw_recv(a.peer, a.buf, 1) : 1, ==, 1);
	}
	g_assert_cmpint(fixture_id(&a.f, KAL_QP_DESTROY, a.qp), ==, RI_SUCCESS);
	if (a.peer < 0)
		a.peer = raw_accept(a.listener);
	while (raw_recv(a.peer, a.buf, 1) > 0)
		;
	g_assert_true(fixture_silent(&a.f));
}

static void
test_destroy(void)
{
	for (int stage = 0; stage < 4; stage++) {
		destroy_at(stage, false);
		destroy_at(stage, true);
	}
}

/* One queue pair, connected again and again; only the first attempt needs no reset. */
static void
test_again(void)
{
	struct kal_qp_modify_req reset = {.mask = RI_QP_ATTR_STATE};
	struct attempt a RI_AT_END(attempt_finish) = attempt_prepare();

	reset.id = a.qp;
	reset.attr.state = RI_QPS_IDLE;
	for (int i = 0; i < 5; i++) {
		struct kal_mpa_frame reply;

		attempt_meet(&a);
		g_assert_cmpint(fixture_call(&a.f, KAL_CONNECT, &a.req, sizeof(a.req), NULL, 0), ==,
				RI_ERR_INVALID_STATE);
		reply = attempt_good_reply(&a);
		raw_send_frame(a.peer, &reply);
		fixture_cm(&a.f, KAL_CM_ESTABLISHED, CTX);
		g_assert_cmpint(fixture_call(&a.f, KAL_QP_MODIFY, &reset, sizeof(reset), NULL, 0),
				==, RI_ERR_STILL_FLUSHING);
		close(a.peer);
		a.peer = -1;
		/* Not before the end was heard. */
		while (fixture_state(&a.f, a.qp) != RI_QPS_ERROR)
			g_usleep(1000);
		g_assert_cmpint(fixture_call(&a.f, KAL_QP_MODIFY, &reset, sizeof(reset), NULL, 0),
				==, RI_ERR_STILL_FLUSHING);
		while (fixture_event(&a.f).kind != KAL_EVENT_CM)
			;
		g_assert_cmpint(fixture_call(&a.f, KAL_CONNECT, &a.req, sizeof(a.req), NULL, 0), ==,
				RI_ERR_INVALID_STATE);
		g_assert_cmpint(fixture_call(&a.f, KAL_QP_MODIFY, &reset, sizeof(reset), NULL, 0),
				==, RI_SUCCESS);
	}
}

static void
test_attach_fails(void)
{
	struct kal_mpa_frame reply;
	struct attempt a RI_AT_END(attempt_finish) = attempt_prepare();

	attempt_meet(&a);
	fake_fail_attach = RI_ERR_RESOURCES;
	reply = attempt_good_reply(&a);
	raw_send_frame(a.peer, &reply);
	attempt_expect_failed(&a, KAL_REASON_RESOURCES);
	g_assert_cmpint(raw_recv(a.peer, a.buf, 1), <=, 0);
}

static enum ri_status
connect_status(struct attempt *a)
{
	return fixture_call(&a->f, KAL_CONNECT, &a->req, sizeof(a->req), NULL, 0);
}

/* What is wrong with the call itself is answered by the call, and leaves nothing behind. */
static void
test_bad_calls(void)
{
	struct kal_cm_req good;
	int taken;
	uint16_t port;
	struct attempt a RI_AT_END(attempt_finish) = attempt_prepare();

	good = a.req;
	a.req.pdata_len = 252;
	g_assert_cmpint(connect_status(&a), ==, RI_ERR_INVALID_ARG);
	a.req.pdata_len = UINT32_MAX;
	g_assert_cmpint(connect_status(&a), ==, RI_ERR_INVALID_ARG);
	a.req = good;
	a.req.three_way = 1;
	g_assert_cmpint(connect_status(&a), ==, RI_ERR_UNSUPPORTED);
	a.req = good;
	a.req.qp = a.f.pd;
	g_assert_cmpint(connect_status(&a), ==, RI_ERR_INVALID_HANDLE);
	a.req = good;
	a.req.service.port = 0;
	g_assert_cmpint(connect_status(&a), ==, RI_ERR_INVALID_ARG);
	a.req = good;
	a.req.peer.family = RI_ADDR_GID;
	g_assert_cmpint(connect_status(&a), ==, RI_ERR_INVALID_ARG);
	a.req = good;
	a.req.local = (struct ri_addr){.family = RI_ADDR_IPV4, .octets = {192, 0, 2, 9}};
	g_assert_cmpint(connect_status(&a), ==, RI_ERR_NO_ROUTE);
	a.req = good;
	taken = raw_listen(&port);
	a.req.service.local_port = port;
	a.req.local = a.req.peer;
	g_assert_cmpint(connect_status(&a), ==, RI_ERR_IN_USE);
	close(taken);
	g_assert_cmpint(fixture_state(&a.f, a.qp), ==, RI_QPS_IDLE);
	g_assert_true(fixture_silent(&a.f));
	a.req = good;
	attempt_meet(&a);
}

/* Connect from a port of the peer's address that is free, perhaps to that port itself. Returns it. */
static uint16_t
connect_from_free_port(struct attempt *a, bool to_itself)
{
	enum ri_status status;
	uint16_t port;

	a->req.local = a->req.peer;
	do { /* it is free as long as nobody else takes it */
		port = raw_free_port();
		a->req.service.local_port = port;
		if (to_itself)
			a->req.service.port = port;
		status = connect_status(a);
	} while (status == RI_ERR_IN_USE || status == RI_ERR_TIME_WAIT);
	g_assert_cmpint(status, ==, RI_SUCCESS);
	return port;
}

/* A local port whose last connection lingers in the transport. */
static void
test_time_wait(void)
{
	struct kal_mpa_frame reply;
	struct kal_cm_req bye = {0};
	uint16_t port;
	struct attempt a RI_AT_END(attempt_finish) = attempt_prepare();

	port = connect_from_free_port(&a, false);
	attempt_answer(&a);
	reply = attempt_good_reply(&a);
	raw_send_frame(a.peer, &reply);
	fixture_cm(&a.f, KAL_CM_ESTABLISHED, CTX);
	bye.qp = a.qp;
	g_assert_cmpint(fixture_call(&a.f, KAL_DISCONNECT, &bye, sizeof(bye), NULL, 0), ==,
			RI_SUCCESS);
	while (raw_recv(a.peer, a.buf, 1) > 0)
		;
	close(a.peer); /* we closed first: our port waits */
	a.peer = -1;
	fixture_cm(&a.f, KAL_CM_DISCONNECTED, CTX);
	g_assert_cmpint(fixture_id(&a.f, KAL_QP_DESTROY, a.qp), ==, RI_SUCCESS);
	a.req.qp = fixture_qp(&a.f, CTX + 1, 4, 3);
	g_assert_cmpint(connect_status(&a), ==, RI_ERR_TIME_WAIT);
	a.req.reuse_addr = 1;
	a.req.service.port = port; /* another peer: nobody there, but the port may be used */
	g_assert_cmpint(connect_status(&a), ==, RI_SUCCESS);
}

/* Nobody listens at the peer's port, and the local port is the same: TCP connects the socket with itself. */
static void
test_own_peer(void)
{
	struct attempt a RI_AT_END(attempt_finish) = attempt_prepare();

	connect_from_free_port(&a, true);
	attempt_expect_failed(&a, KAL_REASON_REFUSED);
}

/* The service thread, held up by a task. */
struct pause {
	sem_t held;
	sem_t go;
};

static void
hold_up(void *arg)
{
	struct pause *pause = arg;

	sem_post(&pause->held);
	sem_wait(&pause->go);
}

/* A peer connects to the fixture, up to where our side waits for its first message. */
static int
half_established(struct attempt *a)
{
	const struct kal_mpa_frame request = {.kind = KAL_MPA_REQUEST,
					      .revision = 2,
					      .crc = true,
					      .words = true,
					      .peer_to_peer = true,
					      .rtr = RI_RTR_WRITE,
					      .ird = 2,
					      .ord = 2};
	struct kal_cm_req accept = {.qp = a->qp, .ird = 2, .ord = 2};
	struct kal_accept_rep rep;
	uint16_t port = 0;
	int peer;

	fixture_listen(&a->f, CTX + 1, &port, 5);
	peer = raw_connect(false, port);
	raw_send_frame(peer, &request);
	accept.request = fixture_cm(&a->f, KAL_CM_REQUEST, CTX + 1).request;
	g_assert_cmpint(fixture_call(&a->f, KAL_ACCEPT, &accept, sizeof(accept), &rep, sizeof(rep)),
			==, RI_SUCCESS);
	raw_frame(peer, KAL_MPA_REPLY, a->buf);
	while (fixture_state(&a->f, a->qp) != RI_QPS_RTS)
		g_usleep(1000);
	return peer;
}

/*
 * A connection is established and ends, and the next attempt begins, before the service thread runs
 * the task that frees the first attempt's setup. That task must leave the second attempt alone.
 */
static void
test_tidies_late(void)
{
	const struct ri_host *host = kal_host_default();
	struct pause pause;
	struct ri_task task = {.fire = hold_up, .arg = &pause};
	struct kal_qp_modify_req modify = {.mask = RI_QP_ATTR_STATE};
	struct kal_mpa_frame reply;
	struct attempt a RI_AT_END(attempt_finish) = attempt_prepare();
	int peer RI_AT_END(ri_at_end_close) = half_established(&a);

	sem_init(&pause.held, 0, 0);
	sem_init(&pause.go, 0, 0);
	host->task_run(host->self, &task);
	sem_wait(&pause.held);
	fake_raise(RI_EVENT_QP_STREAM_UP, RI_OBJECT_QP);
	fixture_cm(&a.f, KAL_CM_ESTABLISHED, CTX);
	modify.id = a.qp;
	modify.attr.state = RI_QPS_ERROR;
	g_assert_cmpint(fixture_call(&a.f, KAL_QP_MODIFY, &modify, sizeof(modify), NULL, 0), ==,
			RI_SUCCESS);
	fake_say_now();
	while (fixture_event(&a.f).kind != KAL_EVENT_CM)
		;
	modify.attr.state = RI_QPS_IDLE;
	g_assert_cmpint(fixture_call(&a.f, KAL_QP_MODIFY, &modify, sizeof(modify), NULL, 0), ==,
			RI_SUCCESS);
	attempt_go(&a);
	sem_post(&pause.go);
	a.peer = raw_accept(a.listener);
	a.request = raw_frame(a.peer, KAL_MPA_REQUEST, a.buf);
	reply = attempt_good_reply(&a);
	raw_send_frame(a.peer, &reply);
	fixture_cm(&a.f, KAL_CM_ESTABLISHED, CTX);
	host->task_stop(host->self, &task);
	sem_destroy(&pause.held);
	sem_destroy(&pause.go);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	fake_register();
	g_test_add_func("/kal/connect-life/disconnect", test_disconnect);
	g_test_add_func("/kal/connect-life/destroy", test_destroy);
	g_test_add_func("/kal/connect-life/again", test_again);
	g_test_add_func("/kal/connect-life/tidies-late", test_tidies_late);
	g_test_add_func("/kal/connect-life/attach-fails", test_attach_fails);
	g_test_add_func("/kal/connect-life/bad-calls", test_bad_calls);
	g_test_add_func("/kal/connect-life/time-wait", test_time_wait);
	g_test_add_func("/kal/connect-life/own-peer", test_own_peer);
	return g_test_run();
}
