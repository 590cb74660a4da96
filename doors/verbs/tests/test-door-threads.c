/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Threads that post and poll while others create and destroy; and a forked child, which begins anew. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child_of_fork.h"
#include "open_descriptors.h"
#include "verbs_bench.h"

#define LIVES         200
#define MESSAGES      2000
#define FAR           32768
#define CHILD_SECONDS 60
#define CANCELS       200

struct scene {
	struct bench bench;
	struct ibv_qp *a, *b;
	atomic_uint sent, received, flushed;
	atomic_bool stop;
};

/* --- threads ----------------------------------------------------------------------------------------------- */

/* Everything in the completion queue, of whatever queue pair. */
static void *
poll_all_the_time(void *arg)
{
	struct scene *s = (struct scene *)arg;
	struct ibv_wc wc[8];

	while (!atomic_load(&s->stop)) {
		int got = ibv_poll_cq(s->bench.cq, 8, wc);

		g_assert_cmpint(got, >=, 0);
		for (int i = 0; i < got; i++) {
			if (wc[i].wr_id == 77) { /* of a queue pair that comes and goes */
				g_assert_cmpint(wc[i].status, ==, IBV_WC_WR_FLUSH_ERR);
				atomic_fetch_add(&s->flushed, 1);
				continue;
			}
			g_assert_cmpint(wc[i].status, ==, IBV_WC_SUCCESS);
			if (wc[i].opcode == IBV_WC_RECV) {
				g_assert_cmpuint(wc[i].qp_num, ==, s->b->qp_num);
				bench_recv(s->b, 2, NULL);
				atomic_fetch_add(&s->received, 1);
			} else {
				g_assert_cmpuint(wc[i].qp_num, ==, s->a->qp_num);
			}
		}
	}
	return NULL;
}

static void *
send_all_the_time(void *arg)
{
	struct scene *s = (struct scene *)arg;
	struct ibv_send_wr wr = bench_wr(1, IBV_WR_SEND, NULL), *bad;

	while (atomic_load(&s->sent) < MESSAGES || !atomic_load(&s->stop)) {
		int error = ibv_post_send(s->a, &wr, &bad);

		g_assert_true(error == 0 || error == ENOMEM);
		if (error == 0)
			atomic_fetch_add(&s->sent, 1);
		if (atomic_load(&s->stop))
			break;
	}
	return NULL;
}

/* Other queue pairs of the same completion queue, with receives that are flushed, and that are lost. */
static void *
come_and_go(void *arg)
{
	struct scene *s = (struct scene *)arg;

	for (unsigned life = 0; life < LIVES; life++) {
		struct ibv_qp *qp = bench_qp(&s->bench, IBV_QPT_RC);
		struct ibv_mr *mr = ibv_reg_mr(s->bench.pd, s->bench.memory, 4096, BENCH_ALL);

		g_assert_nonnull(mr);
		bench_raise(qp, qp, IBV_QPS_INIT);
		for (unsigned i = 0; i < 4; i++)
			bench_recv(qp, 77, NULL);
		if (life % 2 == 0)
			OK(bench_move(qp, IBV_QPS_ERR));
		if (life % 4 == 0)
			OK(bench_move(qp, IBV_QPS_RESET));
		OK(ibv_destroy_qp(qp));
		OK(ibv_dereg_mr(mr));
	}
	return NULL;
}

static void
test_come_and_go(void)
{
	pthread_t pollers[2], senders[2], others[2];
	struct scene s;

	memset(&s, 0, sizeof(s));
	bench_open(&s.bench);
	s.a = bench_qp(&s.bench, IBV_QPT_RC);
	s.b = bench_qp(&s.bench, IBV_QPT_RC);
	bench_connect(s.a, s.b);
	for (unsigned i = 0; i < BENCH_DEPTH; i++)
		bench_recv(s.b, 2, NULL);
	for (unsigned i = 0; i < 2; i++) {
		OK(pthread_create(&pollers[i], NULL, poll_all_the_time, &s));
		OK(pthread_create(&senders[i], NULL, send_all_the_time, &s));
		OK(pthread_create(&others[i], NULL, come_and_go, &s));
	}
	for (unsigned i = 0; i < 2; i++)
		OK(pthread_join(others[i], NULL));
	UNTIL(atomic_load(&s.sent) >= MESSAGES);
	UNTIL(atomic_load(&s.received) + BENCH_DEPTH >= MESSAGES);
	atomic_store(&s.stop, true);
	for (unsigned i = 0; i < 2; i++) {
		OK(pthread_join(pollers[i], NULL));
		OK(pthread_join(senders[i], NULL));
	}
	OK(ibv_destroy_qp(s.a));
	OK(ibv_destroy_qp(s.b));
	bench_close(&s.bench);
}

/* Devices are opened and closed by several threads at once. */
static void *
open_and_close(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < LIVES / 4; i++) {
		struct bench bench RI_AT_END(bench_close);

		bench_open(&bench);
	}
	return NULL;
}

static void
test_open_and_close(void)
{
	pthread_t threads[3];

	for (unsigned i = 0; i < 3; i++)
		OK(pthread_create(&threads[i], NULL, open_and_close, NULL));
	for (unsigned i = 0; i < 3; i++)
		OK(pthread_join(threads[i], NULL));
}

/* A message from one new queue pair to another. */
static void
use(void)
{
	struct ibv_send_wr wr;
	struct ibv_sge from, to;
	struct bench bench RI_AT_END(bench_close);

	bench_open(&bench);
	struct ibv_qp *a RI_AT_END(bench_qp_end) = bench_qp(&bench, IBV_QPT_RC);
	struct ibv_qp *b RI_AT_END(bench_qp_end) = bench_qp(&bench, IBV_QPT_RC);
	bench_connect(a, b);
	bench_fill(&bench, 0, 100, 8);
	from = bench_sge(&bench, 0, 100);
	to = bench_sge(&bench, FAR, 100);
	bench_recv(b, 1, &to);
	wr = bench_wr(1, IBV_WR_SEND, &from);
	bench_send(a, &wr);
	(void)bench_expect(bench.cq, 1, IBV_WC_SUCCESS);
	(void)bench_expect(bench.cq, 1, IBV_WC_SUCCESS);
	g_assert_cmpmem(bench.memory + FAR, 100, bench.memory, 100);
}

/* --- cancellation --------------------------------------------------------------------------------------------- */

/* A context from the list of devices to its close; cancelled anywhere, and where it owns nothing at the latest. */
static void *
open_until_cancelled(void *arg)
{
	(void)arg;
	while (true) {
		struct ibv_device **list = ibv_get_device_list(NULL);
		struct ibv_context *context = ibv_open_device(list[0]);
		struct ibv_comp_channel *channel = ibv_create_comp_channel(context);
		struct ibv_port_attr port;

		OK(ibv_query_port(context, 1, &port));
		OK(ibv_destroy_comp_channel(channel));
		OK(ibv_close_device(context));
		ibv_free_device_list(list);
		pthread_testcancel();
	}
	return NULL;
}

/* The thread ends where it owns nothing: no descriptor is left, and no lock. */
static void
test_cancel(void)
{
	unsigned before;

	use();
	before = open_descriptors();
	for (unsigned i = 0; i < CANCELS; i++) {
		pthread_t thread;
		void *end;

		OK(pthread_create(&thread, NULL, open_until_cancelled, NULL));
		g_usleep(g_test_rand_int_range(0, 2000));
		OK(pthread_cancel(thread));
		OK(pthread_join(thread, &end));
		g_assert_true(end == PTHREAD_CANCELED);
	}
	use();
	g_assert_cmpuint(open_descriptors(), ==, before);
}

/* --- forks ---------------------------------------------------------------------------------------------------- */

/* What the child has of its parent says EIO, or does nothing. */
static void
inherited(struct bench *bench, struct ibv_qp *qp, struct ibv_cq_ex *ex, struct ibv_srq *srq)
{
	struct ibv_send_wr send = bench_wr(1, IBV_WR_SEND, NULL), *bad_send = NULL;
	struct ibv_recv_wr recv = {.wr_id = 1}, *bad_recv = NULL;
	struct ibv_qp_init_attr init = bench_init(bench, IBV_QPT_RC);
	struct ibv_poll_cq_attr poll_attr = {0};
	struct ibv_async_event event;
	struct ibv_srq_attr srq_attr;
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
	struct ibv_port_attr port;
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;

	g_assert_cmpint(ibv_post_send(qp, &send, &bad_send), ==, EIO);
	g_assert_true(bad_send == &send);
	g_assert_cmpint(ibv_post_recv(qp, &recv, &bad_recv), ==, EIO);
	g_assert_cmpint(ibv_post_srq_recv(srq, &recv, &bad_recv), ==, EIO);
	g_assert_cmpint(ibv_poll_cq(bench->cq, 1, &wc), ==, -1);
	g_assert_cmpint(ibv_req_notify_cq(bench->cq, 0), ==, EIO);
	g_assert_cmpint(ibv_start_poll(ex, &poll_attr), ==, EIO);
	ibv_wr_start(ibv_qp_to_qp_ex(qp));
	ibv_wr_send(ibv_qp_to_qp_ex(qp));
	g_assert_cmpint(ibv_wr_complete(ibv_qp_to_qp_ex(qp)), ==, EIO);
	g_assert_cmpint(ibv_modify_qp(qp, &attr, IBV_QP_STATE), ==, EIO);
	g_assert_cmpint(ibv_query_qp(qp, &attr, 0, &init), ==, EIO);
	g_assert_cmpint(ibv_query_srq(srq, &srq_attr), ==, EIO);
	g_assert_cmpint(ibv_resize_cq(bench->cq, 100), ==, EIO);
	NO_OBJECT(ibv_alloc_pd(bench->context), EIO);
	NO_OBJECT(ibv_create_comp_channel(bench->context), EIO);
	NO_OBJECT(ibv_create_cq(bench->context, 4, NULL, NULL, 0), EIO);
	NO_OBJECT(ibv_create_qp(bench->pd, &init), EIO);
	NO_OBJECT(ibv_reg_mr(bench->pd, bench->memory, 100, 0), EIO);
	g_assert_cmpint(ibv_get_cq_event(bench->channel, &cq, &context), ==, -1);
	g_assert_cmpint(errno, ==, EIO);
	g_assert_cmpint(ibv_get_async_event(bench->context, &event), ==, -1);
	g_assert_cmpint(errno, ==, EIO);
	(void)ibv_query_port(bench->context, 1, &port);
	OK(ibv_destroy_qp(qp));
	OK(ibv_destroy_cq(bench->cq));
	OK(ibv_dereg_mr(bench->mr));
	OK(ibv_destroy_comp_channel(bench->channel));
	OK(ibv_dealloc_pd(bench->pd));
	OK(ibv_close_device(bench->context));
}

/* As of a process whose threads may own any lock at the fork: a thread polls meanwhile. */
static void *
poll_meanwhile(void *arg)
{
	struct scene *s = (struct scene *)arg;
	struct ibv_wc wc;

	while (!atomic_load(&s->stop))
		(void)ibv_poll_cq(s->bench.cq, 1, &wc);
	return NULL;
}

struct heirloom {
	struct scene *scene;
	struct ibv_cq_ex *ex;
	struct ibv_srq *srq;
};

static void
child_of_scene(void *arg)
{
	const struct heirloom *of = (const struct heirloom *)arg;

	inherited(&of->scene->bench, of->scene->a, of->ex, of->srq);
	use();
}

static void
test_fork(void)
{
	struct ibv_srq_init_attr srq_init = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_cq_init_attr_ex cq_init = {.cqe = 4};
	struct ibv_qp_init_attr_ex init;
	struct ibv_cq_ex *ex;
	struct ibv_srq *srq;
	struct heirloom of;
	pthread_t thread;
	struct scene s;

	if (!CHILD_WORKS_ON) {
		g_test_skip(CHILD_NONE);
		return;
	}
	memset(&s, 0, sizeof(s));
	bench_open(&s.bench);
	memset(&init, 0, sizeof(init));
	init.send_cq = init.recv_cq = s.bench.cq;
	init.cap = bench_init(&s.bench, IBV_QPT_RC).cap;
	init.qp_type = IBV_QPT_RC;
	init.pd = s.bench.pd;
	init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	init.send_ops_flags = IBV_QP_EX_WITH_SEND;
	s.a = ibv_create_qp_ex(s.bench.context, &init);
	g_assert_nonnull(s.a);
	ex = ibv_create_cq_ex(s.bench.context, &cq_init);
	srq = ibv_create_srq(s.bench.pd, &srq_init);
	OK(pthread_create(&thread, NULL, poll_meanwhile, &s));
	of = (struct heirloom){&s, ex, srq};
	for (unsigned i = 0; i < 20 && child_does(child_of_scene, &of, CHILD_SECONDS); i++)
		continue;
	atomic_store(&s.stop, true);
	OK(pthread_join(thread, NULL));
	use(); /* the parent goes on */
	OK(ibv_destroy_srq(srq));
	OK(ibv_destroy_cq(ibv_cq_ex_to_cq(ex)));
	OK(ibv_destroy_qp(s.a));
	bench_close(&s.bench);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	bench_adapter(argc > 1 ? argv[1] : "emul:ib");
	bench_many_threads();
	g_test_add_func("/door/threads/come-and-go", test_come_and_go);
	g_test_add_func("/door/threads/open-and-close", test_open_and_close);
	g_test_add_func("/door/threads/cancel", test_cancel);
	g_test_add_func("/door/threads/fork", test_fork);
	return g_test_run();
}
