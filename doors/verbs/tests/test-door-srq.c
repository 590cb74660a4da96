/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Shared receive queues: their receives, sizes and limits, and the event of the last one that a queue pair took. */
#include "verbs_bench.h"

#define FAR 32768

struct scene {
	struct bench bench;
	struct ibv_srq *srq;
	struct ibv_qp *a, *b; /* b receives from the shared queue */
};

static struct ibv_qp *
qp_with_srq(struct bench *bench, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr init = bench_init(bench, IBV_QPT_RC);
	struct ibv_qp *qp;

	init.srq = srq;
	qp = ibv_create_qp(bench->pd, &init);
	g_assert_nonnull(qp);
	g_assert_cmpuint(init.cap.max_recv_wr, ==, 0);
	return qp;
}

static void
scene_open(struct scene *s)
{
	struct ibv_srq_init_attr init = {.srq_context = s,
					 .attr = {.max_wr = 20, .max_sge = 3, .srq_limit = 5}};

	bench_open(&s->bench);
	s->srq = ibv_create_srq(s->bench.pd, &init);
	g_assert_nonnull(s->srq);
	g_assert_cmpuint(init.attr.max_wr, >=, 20);
	g_assert_cmpuint(init.attr.max_sge, >=, 3);
	s->a = bench_qp(&s->bench, IBV_QPT_RC);
	s->b = qp_with_srq(&s->bench, s->srq);
	bench_connect(s->a, s->b);
	bench_fill(&s->bench, 0, 4096, 4);
}

static void
scene_close(struct scene *s)
{
	OK(ibv_destroy_qp(s->a));
	if (s->b != NULL)
		OK(ibv_destroy_qp(s->b));
	OK(ibv_destroy_srq(s->srq));
	bench_close(&s->bench);
}

static void
post(struct scene *s, uint64_t wr_id, size_t at)
{
	struct ibv_sge sge = bench_sge(&s->bench, at, 100);
	struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1}, *bad;

	OK(ibv_post_srq_recv(s->srq, &wr, &bad));
}

static struct ibv_wc
send_one(struct scene *s, size_t at)
{
	struct ibv_sge sge = bench_sge(&s->bench, at, 100);
	struct ibv_send_wr wr = bench_wr(1, IBV_WR_SEND, &sge);
	struct ibv_wc one, two;

	bench_send(s->a, &wr);
	one = bench_poll(s->bench.cq);
	two = bench_poll(s->bench.cq);
	g_assert_cmpint(one.status, ==, IBV_WC_SUCCESS);
	g_assert_cmpint(two.status, ==, IBV_WC_SUCCESS);
	return one.opcode == IBV_WC_RECV ? one : two;
}

static void
test_receive(void)
{
	struct ibv_sge sge[20];
	struct ibv_recv_wr wr[3], *bad = NULL;
	struct ibv_wc wc;
	struct scene s RI_AT_END(scene_close);

	scene_open(&s);
	for (unsigned i = 0; i < 10; i++) {
		post(&s, 10 + i, FAR + i * 100);
		wc = send_one(&s, i * 100);
		g_assert_cmpuint(wc.wr_id, ==, 10 + i);
		g_assert_cmpuint(wc.qp_num, ==, s.b->qp_num);
		g_assert_cmpuint(wc.byte_len, ==, 100);
		g_assert_cmpmem(s.bench.memory + FAR + i * 100, 100, s.bench.memory + i * 100, 100);
	}
	for (unsigned i = 0; i < G_N_ELEMENTS(sge); i++)
		sge[i] = bench_sge(&s.bench, FAR, 10);
	for (unsigned i = 0; i < 3; i++)
		wr[i] = (struct ibv_recv_wr){.wr_id = i,
					     .sg_list = sge,
					     .num_sge = 1,
					     .next = i < 2 ? &wr[i + 1] : NULL};
	wr[1].sg_list = NULL;
	g_assert_cmpint(ibv_post_srq_recv(s.srq, &wr[1], &bad), ==, EINVAL);
	g_assert_true(bad == &wr[1]);
	wr[1].sg_list = sge;
	wr[1].num_sge = G_N_ELEMENTS(sge);
	g_assert_cmpint(ibv_post_srq_recv(s.srq, wr, &bad), ==, EINVAL);
	g_assert_true(bad == &wr[1]);
	/* The queue pair has no receive queue of its own. */
	g_assert_cmpint(ibv_post_recv(s.b, wr, &bad), ==, EINVAL);
}

static void
test_full(void)
{
	struct ibv_recv_wr wr = {.wr_id = 1}, *bad = NULL;
	struct ibv_srq_attr attr;
	unsigned posted = 0;
	struct scene s RI_AT_END(scene_close);

	scene_open(&s);
	OK(ibv_query_srq(s.srq, &attr));
	g_assert_cmpuint(attr.srq_limit, ==, 0);
	while (ibv_post_srq_recv(s.srq, &wr, &bad) == 0)
		posted++;
	g_assert_cmpuint(posted, ==, attr.max_wr);
	g_assert_true(bad == &wr);
	attr.max_wr = 2 * posted;
	OK(ibv_modify_srq(s.srq, &attr, IBV_SRQ_MAX_WR));
	g_assert_cmpuint(attr.max_wr, >=, 2 * posted);
	while (ibv_post_srq_recv(s.srq, &wr, &bad) == 0)
		posted++;
	g_assert_cmpuint(posted, ==, attr.max_wr);
	attr.max_wr = 1;
	g_assert_cmpint(ibv_modify_srq(s.srq, &attr, IBV_SRQ_MAX_WR), ==, EBUSY);
	attr.max_wr = 10000000;
	g_assert_cmpint(ibv_modify_srq(s.srq, &attr, IBV_SRQ_MAX_WR), ==, EINVAL);
	g_assert_cmpint(ibv_modify_srq(s.srq, &attr, 4), ==, EINVAL);
	attr.srq_limit = posted + 1;
	g_assert_cmpint(ibv_modify_srq(s.srq, &attr, IBV_SRQ_LIMIT), ==, EINVAL);
	attr.srq_limit = UINT32_MAX;
	g_assert_cmpint(ibv_modify_srq(s.srq, &attr, IBV_SRQ_LIMIT), ==, EINVAL);
}

static void
expect_event(struct scene *s, enum ibv_event_type type, const void *element)
{
	struct ibv_async_event event;

	OK(ibv_get_async_event(s->bench.context, &event));
	g_assert_cmpint(event.event_type, ==, type);
	g_assert_true(event.element.qp == element);
	ibv_ack_async_event(&event);
}

/* The limit raises one event, and is off then. */
/* A call reports the size that a query reports afterwards, and at least the size that was asked for. */
static void
test_told(void)
{
	static const uint32_t sizes[] = {1, 5, 17, 33, 100, 3};
	struct ibv_srq_attr attr, now;
	struct scene s RI_AT_END(scene_close);

	scene_open(&s);
	for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++) {
		attr = (struct ibv_srq_attr){.max_wr = sizes[i]};
		OK(ibv_modify_srq(s.srq, &attr, IBV_SRQ_MAX_WR));
		OK(ibv_query_srq(s.srq, &now));
		g_assert_cmpuint(attr.max_wr, ==, now.max_wr);
		g_assert_cmpuint(attr.max_wr, >=, sizes[i]);
	}
}

static void
test_limit(void)
{
	struct ibv_srq_attr attr = {.srq_limit = 3};
	struct scene s RI_AT_END(scene_close);

	scene_open(&s);
	for (unsigned i = 0; i < 5; i++)
		post(&s, i, FAR);
	OK(ibv_modify_srq(s.srq, &attr, IBV_SRQ_LIMIT));
	OK(ibv_query_srq(s.srq, &attr));
	g_assert_cmpuint(attr.srq_limit, ==, 3);
	for (unsigned i = 0; i < 3; i++)
		(void)send_one(&s, 0);
	expect_event(&s, IBV_EVENT_SRQ_LIMIT_REACHED, s.srq);
	OK(ibv_query_srq(s.srq, &attr));
	g_assert_cmpuint(attr.srq_limit, ==, 0);
}

/* The event comes when the queue pair takes no more receives, whichever side ends the connection. */
static void
test_last_receive(void)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct scene s RI_AT_END(scene_close);

	scene_open(&s);
	post(&s, 5, FAR);
	OK(bench_move(s.b, IBV_QPS_ERR));
	expect_event(&s, IBV_EVENT_QP_LAST_WQE_REACHED, s.b);
	/* The next connection has an event of its own: of a failure this time. */
	OK(bench_move(s.a, IBV_QPS_RESET));
	OK(bench_move(s.b, IBV_QPS_RESET));
	bench_connect(s.a, s.b);
	sge = bench_sge(&s.bench, 0, 10);
	wr = bench_wr(1, IBV_WR_RDMA_WRITE, &sge);
	wr.wr.rdma.remote_addr = (uintptr_t)s.bench.memory;
	wr.wr.rdma.rkey = s.bench.mr->rkey ^ 1u << 20;
	bench_send(s.a, &wr);
	(void)bench_expect(s.bench.cq, 1, IBV_WC_REM_ACCESS_ERR);
	expect_event(&s, IBV_EVENT_QP_ACCESS_ERR, s.b);
	expect_event(&s, IBV_EVENT_QP_LAST_WQE_REACHED, s.b);
	/* The receive is still there for others. */
	OK(ibv_destroy_qp(s.b));
	s.b = qp_with_srq(&s.bench, s.srq);
	OK(bench_move(s.a, IBV_QPS_RESET));
	bench_connect(s.a, s.b);
	g_assert_cmpuint(send_one(&s, 0).wr_id, ==, 5);
}

int
main(int argc, char **argv)
{
	bench_adapter("emul:ib");
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/door/srq/receive", test_receive);
	g_test_add_func("/door/srq/full", test_full);
	g_test_add_func("/door/srq/told", test_told);
	g_test_add_func("/door/srq/limit", test_limit);
	g_test_add_func("/door/srq/last-receive", test_last_receive);
	return g_test_run();
}
