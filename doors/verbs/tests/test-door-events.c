/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Completion events and asynchronous events: their descriptors, threads that wait for them, and acknowledgements. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "verbs_bench.h"

#define SLEEP_US \
	30000 /* long enough for a thread to fall asleep, or for an event that must not come */

/* A queue pair that is connected to itself through another one: every Send makes completions in the bench's queue. */
struct scene {
	struct bench bench;
	struct ibv_qp *a, *b;
	struct ibv_cq *recv_cq; /* of b, on the same channel */
};

static void
scene_open(struct scene *s)
{
	struct ibv_qp_init_attr init;

	bench_open(&s->bench);
	s->recv_cq =
		ibv_create_cq(s->bench.context, BENCH_ENTRIES, &s->recv_cq, s->bench.channel, 0);
	g_assert_nonnull(s->recv_cq);
	init = bench_init(&s->bench, IBV_QPT_RC);
	s->a = bench_qp(&s->bench, IBV_QPT_RC);
	init.recv_cq = s->recv_cq;
	s->b = ibv_create_qp(s->bench.pd, &init);
	bench_connect(s->a, s->b);
}

static void
scene_close(struct scene *s)
{
	OK(ibv_destroy_qp(s->a));
	OK(ibv_destroy_qp(s->b));
	OK(ibv_destroy_cq(s->recv_cq));
	bench_close(&s->bench);
}

/* A message whose sender asks for no completion. */
static void
message(struct scene *s, unsigned flags)
{
	struct ibv_send_wr wr = bench_wr(1, IBV_WR_SEND, NULL);

	wr.send_flags = flags;
	bench_recv(s->b, 2, NULL);
	bench_send(s->a, &wr);
}

static bool
is_readable(int fd)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

	return poll(&poll_fd, 1, 0) == 1;
}

static void
set_nonblocking(int fd, bool on)
{
	int flags = fcntl(fd, F_GETFL);

	OK(fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK));
}

static void
expect_event(struct scene *s, struct ibv_cq *expected)
{
	struct ibv_cq *cq = NULL;
	void *context = NULL;

	OK(ibv_get_cq_event(s->bench.channel, &cq, &context));
	g_assert_true(cq == expected);
	g_assert_true(context == expected->cq_context);
}

static void
expect_no_event(struct scene *s)
{
	struct ibv_cq *cq;
	void *context;

	set_nonblocking(s->bench.channel->fd, true);
	g_usleep(SLEEP_US);
	errno = 0;
	g_assert_cmpint(ibv_get_cq_event(s->bench.channel, &cq, &context), ==, -1);
	g_assert_cmpint(errno, ==, EAGAIN);
	set_nonblocking(s->bench.channel->fd, false);
}

/* --- completion events ------------------------------------------------------------------------------------ */

/*
 * An armed queue fires once. If the program arms it for solicited completions, only these count.
 * Completions that are already in the queue count, unless an event has reported them.
 */
static void
test_notify(void)
{
	struct scene s RI_AT_END(scene_close);
	GPollFD channel;

	scene_open(&s);
	channel = (GPollFD){.fd = s.bench.channel->fd, .events = G_IO_IN};
	message(&s, 0);
	(void)bench_expect(s.recv_cq, 2, IBV_WC_SUCCESS);
	expect_no_event(&s); /* it was not armed */
	OK(ibv_req_notify_cq(s.recv_cq, 0));
	g_assert_false(is_readable(s.bench.channel->fd));
	message(&s, 0);
	message(&s, 0);
	expect_event(&s, s.recv_cq);
	expect_no_event(&s);
	(void)bench_expect(s.recv_cq, 2, IBV_WC_SUCCESS);
	OK(ibv_req_notify_cq(s.recv_cq, 0)); /* one is there, which came after the event */
	expect_event(&s, s.recv_cq);
	OK(ibv_req_notify_cq(s.recv_cq, 0)); /* the same */
	expect_no_event(&s);
	message(&s, 0);
	expect_event(&s, s.recv_cq);
	OK(ibv_req_notify_cq(s.recv_cq, 0)); /* two, which events have reported */
	expect_no_event(&s);
	(void)bench_expect(s.recv_cq, 2, IBV_WC_SUCCESS);
	(void)bench_expect(s.recv_cq, 2, IBV_WC_SUCCESS);
	OK(ibv_req_notify_cq(s.recv_cq, 1)); /* the request for any is still open */
	message(&s, 0);
	g_assert_cmpint(g_poll(&channel, 1, 5000), ==, 1);
	expect_event(&s, s.recv_cq);
	(void)bench_expect(s.recv_cq, 2, IBV_WC_SUCCESS);
	OK(ibv_req_notify_cq(s.recv_cq, 1));
	message(&s, 0);
	expect_no_event(&s);
	message(&s, IBV_SEND_SOLICITED);
	g_assert_cmpint(g_poll(&channel, 1, 5000), ==, 1);
	expect_event(&s, s.recv_cq);
	ibv_ack_cq_events(s.recv_cq, 5);
}

/* Queues of one channel: each event names its queue, the oldest first; the descriptor follows the list. */
static void
test_descriptor(void)
{
	struct scene s;
	int copy;

	scene_open(&s);
	copy = dup(s.bench.channel->fd);
	OK(ibv_req_notify_cq(s.recv_cq, 0));
	OK(ibv_req_notify_cq(s.bench.cq, 0));
	g_assert_false(is_readable(copy));
	message(&s, 0);
	UNTIL(is_readable(copy));
	message(&s, IBV_SEND_SIGNALED);
	g_usleep(SLEEP_US);
	expect_event(&s, s.recv_cq);
	g_assert_true(is_readable(copy));
	expect_event(&s, s.bench.cq);
	g_assert_false(is_readable(copy));
	/* Several events of one queue. */
	for (unsigned i = 0; i < 3; i++) {
		OK(ibv_req_notify_cq(s.recv_cq, 0));
		message(&s, 0);
		g_usleep(SLEEP_US);
	}
	for (unsigned i = 0; i < 3; i++) {
		g_assert_true(is_readable(copy));
		expect_event(&s, s.recv_cq);
	}
	g_assert_false(is_readable(copy));
	/* Those of a queue that is destroyed are gone. */
	OK(ibv_req_notify_cq(s.bench.cq, 0));
	message(&s, IBV_SEND_SIGNALED);
	UNTIL(is_readable(copy));
	ibv_ack_cq_events(s.recv_cq, 4);
	OK(ibv_destroy_qp(s.a));
	OK(ibv_destroy_qp(s.b));
	ibv_ack_cq_events(s.bench.cq, 1);
	OK(ibv_destroy_cq(s.bench.cq));
	g_assert_false(is_readable(copy));
	close(copy);
	OK(ibv_destroy_cq(s.recv_cq));
	s.bench.cq = ibv_create_cq(s.bench.context, 1, NULL, NULL, 0);
	bench_close(&s.bench);
}

/* Each event is an edge, also while the descriptor is readable already. */
static void
test_edges(void)
{
	struct epoll_event want = {.events = EPOLLIN | EPOLLET}, got;
	struct scene s RI_AT_END(scene_close);
	int epoll RI_AT_END(ri_at_end_close) = epoll_create1(EPOLL_CLOEXEC);

	scene_open(&s);
	OK(epoll_ctl(epoll, EPOLL_CTL_ADD, s.bench.channel->fd, &want));
	g_assert_cmpint(epoll_wait(epoll, &got, 1, 0), ==, 0);
	for (unsigned i = 0; i < 3; i++) {
		OK(ibv_req_notify_cq(s.recv_cq, 0));
		message(&s, 0);
		g_assert_cmpint(epoll_wait(epoll, &got, 1, 20000), ==, 1);
		g_assert_cmpint(epoll_wait(epoll, &got, 1, 0), ==, 0);
	}
	for (unsigned i = 0; i < 3; i++)
		expect_event(&s, s.recv_cq);
	g_assert_cmpint(epoll_wait(epoll, &got, 1, 0), ==, 0);
	ibv_ack_cq_events(s.recv_cq, 3);
}

/* --- threads that wait ------------------------------------------------------------------------------------- */

struct waiter {
	struct scene *scene;
	pthread_t thread;
	atomic_int result; /* of ibv_get_cq_event; 99: it has not returned */
	atomic_int error;
	atomic_bool begun;
};

static void *
wait_for_event(void *arg)
{
	struct waiter *waiter = (struct waiter *)arg;
	struct ibv_cq *cq;
	void *context;
	int result;

	atomic_store(&waiter->begun, true);
	result = ibv_get_cq_event(waiter->scene->bench.channel, &cq, &context);
	atomic_store(&waiter->error, errno);
	atomic_store(&waiter->result, result);
	return NULL;
}

static void
waiter_start(struct waiter *waiter, struct scene *scene)
{
	waiter->scene = scene;
	atomic_init(&waiter->result, 99);
	atomic_init(&waiter->error, 0);
	atomic_init(&waiter->begun, false);
	OK(pthread_create(&waiter->thread, NULL, wait_for_event, waiter));
	UNTIL(atomic_load(&waiter->begun));
	g_usleep(SLEEP_US);
	g_assert_cmpint(atomic_load(&waiter->result), ==, 99);
}

/* Each of several threads gets one event. */
static void
test_waiters(void)
{
	struct waiter waiters[3];
	struct scene s RI_AT_END(scene_close);

	scene_open(&s);
	for (unsigned i = 0; i < 3; i++)
		waiter_start(&waiters[i], &s);
	for (unsigned i = 0; i < 3; i++) {
		unsigned done = 0;

		OK(ibv_req_notify_cq(s.recv_cq, 0));
		message(&s, 0);
		UNTIL((done = (atomic_load(&waiters[0].result) == 0) +
			      (atomic_load(&waiters[1].result) == 0) +
			      (atomic_load(&waiters[2].result) == 0)) > i);
		g_assert_cmpuint(done, ==, i + 1);
		g_assert_false(is_readable(s.bench.channel->fd));
	}
	for (unsigned i = 0; i < 3; i++)
		OK(pthread_join(waiters[i].thread, NULL));
	ibv_ack_cq_events(s.recv_cq, 3);
}

/* A thread that is cancelled leaves its event to others. */
static void
test_cancel(void)
{
	struct waiter waiter;
	struct scene s RI_AT_END(scene_close);
	void *result;

	scene_open(&s);
	OK(ibv_req_notify_cq(s.recv_cq, 0));
	for (unsigned i = 0; i < 3; i++) {
		waiter_start(&waiter, &s);
		OK(pthread_cancel(waiter.thread));
		OK(pthread_join(waiter.thread, &result));
		g_assert_true(result == PTHREAD_CANCELED);
	}
	message(&s, 0);
	UNTIL(is_readable(s.bench.channel->fd));
	expect_event(&s, s.recv_cq);
	ibv_ack_cq_events(s.recv_cq, 1);
}

static void
ignore(int number)
{
	(void)number;
}

/* A signal handler interrupts the call, unless it was installed to let calls go on. */
static void
test_interrupt(void)
{
	struct sigaction action = {.sa_handler = ignore};
	struct waiter waiter;
	struct scene s RI_AT_END(scene_close);

	scene_open(&s);
	OK(sigaction(SIGUSR1, &action, NULL));
	waiter_start(&waiter, &s);
	OK(pthread_kill(waiter.thread, SIGUSR1));
	OK(pthread_join(waiter.thread, NULL));
	g_assert_cmpint(atomic_load(&waiter.result), ==, -1);
	g_assert_cmpint(atomic_load(&waiter.error), ==, EINTR);
	action.sa_flags = SA_RESTART;
	OK(sigaction(SIGUSR1, &action, NULL));
	waiter_start(&waiter, &s);
	OK(pthread_kill(waiter.thread, SIGUSR1));
	g_usleep(SLEEP_US);
	g_assert_cmpint(atomic_load(&waiter.result), ==, 99);
	OK(ibv_req_notify_cq(s.recv_cq, 0));
	message(&s, 0);
	OK(pthread_join(waiter.thread, NULL));
	g_assert_cmpint(atomic_load(&waiter.result), ==, 0);
	ibv_ack_cq_events(s.recv_cq, 1);
}

/* --- acknowledgements ---------------------------------------------------------------------------------------- */

struct destroyer {
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	atomic_bool done;
};

static void *
destroy(void *arg)
{
	struct destroyer *destroyer = (struct destroyer *)arg;

	if (destroyer->cq != NULL)
		OK(ibv_destroy_cq(destroyer->cq));
	if (destroyer->qp != NULL)
		OK(ibv_destroy_qp(destroyer->qp));
	atomic_store(&destroyer->done, true);
	return NULL;
}

static pthread_t
destroy_begins(struct destroyer *destroyer)
{
	pthread_t thread;

	atomic_init(&destroyer->done, false);
	OK(pthread_create(&thread, NULL, destroy, destroyer));
	g_usleep(SLEEP_US);
	g_assert_false(atomic_load(&destroyer->done));
	return thread;
}

/* A queue is destroyed when all its events are acknowledged. */
static void
test_acks(void)
{
	struct destroyer destroyer = {NULL, NULL, false};
	pthread_t thread;
	struct scene s;

	scene_open(&s);
	OK(ibv_req_notify_cq(s.recv_cq, 0));
	message(&s, 0);
	expect_event(&s, s.recv_cq);
	OK(ibv_req_notify_cq(s.recv_cq, 0));
	message(&s, 0);
	expect_event(&s, s.recv_cq);
	OK(ibv_destroy_qp(s.b));
	destroyer.cq = s.recv_cq;
	thread = destroy_begins(&destroyer);
	ibv_ack_cq_events(s.recv_cq, 1);
	g_usleep(SLEEP_US);
	g_assert_false(atomic_load(&destroyer.done));
	ibv_ack_cq_events(s.recv_cq, 1);
	OK(pthread_join(thread, NULL));
	OK(ibv_destroy_qp(s.a));
	bench_close(&s.bench);
}

/* A program that acknowledges more than it took has made a mistake; what it destroys ends all the same. */
static void
test_acks_too_many(void)
{
	struct destroyer destroyer = {NULL, NULL, false};
	struct ibv_async_event never = {.event_type = IBV_EVENT_QP_FATAL};
	pthread_t thread;
	struct scene s;

	scene_open(&s);
	never.element.qp = s.b;
	ibv_ack_async_event(&never);
	ibv_ack_cq_events(s.recv_cq, 3);
	destroyer.qp = s.b;
	OK(pthread_create(&thread, NULL, destroy, &destroyer));
	UNTIL(atomic_load(&destroyer.done));
	OK(pthread_join(thread, NULL));
	destroyer = (struct destroyer){s.recv_cq, NULL, false};
	OK(pthread_create(&thread, NULL, destroy, &destroyer));
	UNTIL(atomic_load(&destroyer.done));
	OK(pthread_join(thread, NULL));
	OK(ibv_destroy_qp(s.a));
	bench_close(&s.bench);
}

/* Make b find a fault of its peer: an asynchronous event. */
static void
make_fault(struct scene *s)
{
	struct ibv_sge sge = bench_sge(&s->bench, 0, 10);
	struct ibv_send_wr wr = bench_wr(1, IBV_WR_RDMA_WRITE, &sge);

	wr.wr.rdma.remote_addr = (uintptr_t)s->bench.memory;
	wr.wr.rdma.rkey = s->bench.mr->rkey ^ 1u << 20;
	bench_send(s->a, &wr);
}

/* Each asynchronous event makes an edge, also behind one that nobody has taken; a duplicate says the same. */
static void
test_async_edges(void)
{
	struct epoll_event want = {.events = EPOLLIN | EPOLLET}, got;
	struct ibv_async_event event;
	int epoll RI_AT_END(ri_at_end_close) = epoll_create1(EPOLL_CLOEXEC);
	int copy;
	struct ibv_qp *first;
	struct scene s RI_AT_END(scene_close);

	scene_open(&s);
	copy = dup(s.bench.context->async_fd);
	OK(epoll_ctl(epoll, EPOLL_CTL_ADD, s.bench.context->async_fd, &want));
	g_assert_cmpint(epoll_wait(epoll, &got, 1, 0), ==, 0);
	make_fault(&s);
	g_assert_cmpint(epoll_wait(epoll, &got, 1, 20000), ==, 1);
	g_assert_cmpint(epoll_wait(epoll, &got, 1, 0), ==, 0);
	g_assert_true(is_readable(copy));
	first = s.b;
	OK(bench_move(s.a, IBV_QPS_RESET));
	s.b = bench_qp(&s.bench, IBV_QPT_RC);
	bench_connect(s.a, s.b);
	make_fault(&s);
	g_assert_cmpint(epoll_wait(epoll, &got, 1, 20000), ==, 1);
	OK(ibv_get_async_event(s.bench.context, &event));
	g_assert_true(event.element.qp == first);
	ibv_ack_async_event(&event);
	g_assert_true(is_readable(copy) && is_readable(s.bench.context->async_fd));
	OK(ibv_get_async_event(s.bench.context, &event));
	g_assert_true(event.element.qp == s.b);
	ibv_ack_async_event(&event);
	g_assert_false(is_readable(copy) || is_readable(s.bench.context->async_fd));
	g_assert_cmpint(epoll_wait(epoll, &got, 1, 0), ==, 0);
	OK(ibv_destroy_qp(first));
	close(copy);
}

static void
test_async(void)
{
	struct destroyer destroyer = {NULL, NULL, false};
	struct ibv_async_event event;
	pthread_t thread;
	struct scene s RI_AT_END(scene_close);
	int fd;

	scene_open(&s);
	fd = s.bench.context->async_fd;
	g_assert_false(is_readable(fd));
	set_nonblocking(fd, true);
	errno = 0;
	g_assert_cmpint(ibv_get_async_event(s.bench.context, &event), ==, -1);
	g_assert_cmpint(errno, ==, EAGAIN);
	set_nonblocking(fd, false);
	make_fault(&s);
	UNTIL(is_readable(fd));
	OK(ibv_get_async_event(s.bench.context, &event));
	g_assert_cmpint(event.event_type, ==, IBV_EVENT_QP_ACCESS_ERR);
	g_assert_true(event.element.qp == s.b);
	g_assert_false(is_readable(fd));
	g_assert_cmpint(bench_state(s.b), ==, IBV_QPS_ERR);
	destroyer.qp = s.b;
	thread = destroy_begins(&destroyer);
	ibv_ack_async_event(&event);
	OK(pthread_join(thread, NULL));
	/* An event that nobody takes goes with its object. */
	OK(bench_move(s.a, IBV_QPS_RESET));
	s.b = bench_qp(&s.bench, IBV_QPT_RC);
	bench_connect(s.a, s.b);
	make_fault(&s);
	UNTIL(is_readable(fd));
	OK(ibv_destroy_qp(s.b));
	g_assert_false(is_readable(fd));
	s.b = bench_qp(&s.bench, IBV_QPT_RC);
}

/* The first message may come before the program has brought its queue pair to RTS. */
static void
test_established(void)
{
	struct ibv_async_event event;
	struct ibv_send_wr wr;
	struct scene s RI_AT_END(scene_close);

	scene_open(&s);
	OK(bench_move(s.a, IBV_QPS_RESET));
	OK(bench_move(s.b, IBV_QPS_RESET));
	bench_raise(s.b, s.a, IBV_QPS_RTR);
	bench_raise(s.a, s.b, IBV_QPS_RTS);
	bench_recv(s.b, 2, NULL);
	wr = bench_wr(1, IBV_WR_SEND, NULL);
	bench_send(s.a, &wr);
	OK(ibv_get_async_event(s.bench.context, &event));
	g_assert_cmpint(event.event_type, ==, IBV_EVENT_COMM_EST);
	g_assert_true(event.element.qp == s.b);
	ibv_ack_async_event(&event);
}

/* A completion queue that has no place left. */
static void
test_overrun(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_async_event event;
	struct ibv_send_wr wr, *bad;
	struct ibv_cq *small;
	struct ibv_qp *qp;
	struct scene s RI_AT_END(scene_close);

	scene_open(&s);
	small = ibv_create_cq(s.bench.context, 1, NULL, NULL, 0);
	init = bench_init(&s.bench, IBV_QPT_RC);
	init.send_cq = small;
	init.cap.max_send_wr = 1000;
	qp = ibv_create_qp(s.bench.pd, &init);
	g_assert_nonnull(qp);
	OK(bench_move(s.b, IBV_QPS_RESET));
	bench_connect(qp, s.b);
	wr = bench_wr(1, IBV_WR_RDMA_WRITE, NULL);
	for (int i = 0; i <= small->cqe; i++)
		if (ibv_post_send(qp, &wr, &bad) != 0)
			break;
	OK(ibv_get_async_event(s.bench.context, &event));
	g_assert_cmpint(event.event_type, ==, IBV_EVENT_CQ_ERR);
	g_assert_true(event.element.cq == small);
	ibv_ack_async_event(&event);
	OK(ibv_get_async_event(s.bench.context, &event));
	g_assert_cmpint(event.event_type, ==, IBV_EVENT_QP_FATAL);
	g_assert_true(event.element.qp == qp);
	ibv_ack_async_event(&event);
	OK(ibv_destroy_qp(qp));
	OK(ibv_destroy_cq(small));
}

int
main(int argc, char **argv)
{
	bench_adapter("emul:ib");
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/door/events/notify", test_notify);
	g_test_add_func("/door/events/descriptor", test_descriptor);
	g_test_add_func("/door/events/edges", test_edges);
	g_test_add_func("/door/events/waiters", test_waiters);
	g_test_add_func("/door/events/cancel", test_cancel);
	g_test_add_func("/door/events/interrupt", test_interrupt);
	g_test_add_func("/door/events/acks", test_acks);
	g_test_add_func("/door/events/acks-too-many", test_acks_too_many);
	g_test_add_func("/door/events/async", test_async);
	g_test_add_func("/door/events/async-edges", test_async_edges);
	g_test_add_func("/door/events/established", test_established);
	g_test_add_func("/door/events/overrun", test_overrun);
	return g_test_run();
}
