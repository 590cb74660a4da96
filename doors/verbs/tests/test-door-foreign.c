/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* What unmodified programs rely on: odd but legal calls, whose outcome the man pages of libibverbs promise. */
#include "verbs_bench.h"

#define FAR 32768

static void
expect_async(struct bench *bench, enum ibv_event_type type, const void *element)
{
	struct ibv_async_event event;

	UNTIL(g_poll(&(GPollFD){.fd = bench->context->async_fd, .events = G_IO_IN}, 1, 0) == 1);
	OK(ibv_get_async_event(bench->context, &event));
	g_assert_cmpint(event.event_type, ==, type);
	g_assert_true(event.element.cq == element);
	ibv_ack_async_event(&event);
}

static void
write_to(struct bench *bench, struct ibv_qp *qp, uint64_t wr_id)
{
	struct ibv_sge sge = bench_sge(bench, 0, 8);
	struct ibv_send_wr wr = bench_wr(wr_id, IBV_WR_RDMA_WRITE, &sge);

	wr.wr.rdma.remote_addr = (uintptr_t)bench->memory + FAR;
	wr.wr.rdma.rkey = bench->mr->rkey;
	bench_send(qp, &wr);
}

/* A CQ that overflows has its event before the queue pair that ends with it. Receives: it is the CQ of the receives. */
static void
overflow(bool receives)
{
	struct ibv_qp_init_attr init;
	struct ibv_cq *small;
	struct ibv_qp *a, *b;
	struct bench bench RI_AT_END(bench_close);

	bench_open(&bench);
	small = ibv_create_cq(bench.context, 1, NULL, NULL, 0);
	g_assert_nonnull(small);
	g_assert_cmpint(small->cqe, <, BENCH_DEPTH);
	init = bench_init(&bench, IBV_QPT_RC);
	if (receives)
		init.recv_cq = small;
	else
		init.send_cq = small;
	a = ibv_create_qp(bench.pd, &init);
	b = bench_qp(&bench, IBV_QPT_RC);
	g_assert_nonnull(a);
	bench_connect(a, b);
	for (int i = 0; i <= small->cqe; i++) {
		struct ibv_sge sge = bench_sge(&bench, 64, 8);
		struct ibv_send_wr wr = bench_wr(1, IBV_WR_SEND, &sge);

		if (!receives) {
			write_to(&bench, a, 1);
			continue;
		}
		bench_recv(a, 2, &sge);
		wr.send_flags = 0;
		bench_send(b, &wr);
	}
	expect_async(&bench, IBV_EVENT_CQ_ERR, small);
	expect_async(&bench, IBV_EVENT_QP_FATAL, a);
	OK(ibv_destroy_qp(a));
	OK(ibv_destroy_qp(b));
	OK(ibv_destroy_cq(small));
}

static void
test_overflow_send(void)
{
	overflow(false);
}

static void
test_overflow_receive(void)
{
	overflow(true);
}

/* A move that fails modifies no attribute, even if the kAL finds the mistake, after the rights are set. */
static void
test_failed_move(void)
{
	const int mask = bench_mask(IBV_QPT_RC, IBV_QPS_RTR) | IBV_QP_ACCESS_FLAGS;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr, told;
	struct bench bench RI_AT_END(bench_close);

	bench_open(&bench);
	struct ibv_qp *a RI_AT_END(bench_qp_end) = bench_qp(&bench, IBV_QPT_RC);
	struct ibv_qp *b RI_AT_END(bench_qp_end) = bench_qp(&bench, IBV_QPT_RC);
	bench_raise(a, b, IBV_QPS_RTS);
	bench_raise(b, a, IBV_QPS_INIT);
	attr = bench_attr(b, a);
	attr.qp_state = IBV_QPS_RTR;
	attr.qp_access_flags = 0;
	attr.ah_attr.grh.sgid_index = 200;
	g_assert_cmpint(ibv_modify_qp(b, &attr, mask), ==, EINVAL);
	OK(ibv_query_qp(b, &told, IBV_QP_ACCESS_FLAGS, &init));
	g_assert_cmpuint(told.qp_access_flags & IBV_ACCESS_REMOTE_WRITE, !=, 0);
	attr.ah_attr.grh.sgid_index = 0;
	OK(ibv_modify_qp(b, &attr, bench_mask(IBV_QPT_RC, IBV_QPS_RTR)));
	write_to(&bench, a, 3);
	(void)bench_expect(bench.cq, 3, IBV_WC_SUCCESS);
}

/* A new shared queue has no limit, and the query of a queue pair returns its shared queue. */
static void
test_shared_queue(void)
{
	struct ibv_srq_init_attr shared = {.attr = {.max_wr = 4, .max_sge = 1, .srq_limit = 2}};
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_srq *srq;
	struct ibv_qp *qp;
	struct bench bench RI_AT_END(bench_close);

	bench_open(&bench);
	srq = ibv_create_srq(bench.pd, &shared);
	g_assert_nonnull(srq);
	g_assert_cmpuint(shared.attr.srq_limit, ==, 0);
	init = bench_init(&bench, IBV_QPT_RC);
	init.srq = srq;
	qp = ibv_create_qp(bench.pd, &init);
	g_assert_nonnull(qp);
	init.srq = NULL;
	OK(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init));
	g_assert_true(init.srq == srq);
	OK(ibv_destroy_qp(qp));
	OK(ibv_destroy_srq(srq));
}

int
main(int argc, char **argv)
{
	bench_adapter("emul:ib");
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/door/foreign/overflow-send", test_overflow_send);
	g_test_add_func("/door/foreign/overflow-receive", test_overflow_receive);
	g_test_add_func("/door/foreign/failed-move", test_failed_move);
	g_test_add_func("/door/foreign/shared-queue", test_shared_queue);
	return g_test_run();
}
