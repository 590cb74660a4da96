/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "verbs_bench.h"

#include <poll.h>
#include <stdlib.h>

#include "door_sums.h"

#define PSN_BASE 0x100
#define NONE_US  20000

static struct ibv_context *opened; /* last, and not closed yet */
static bool many_threads;

void
bench_many_threads(void)
{
	many_threads = true;
}

char *
bench_account(void)
{
	if (opened == NULL || many_threads)
		return NULL;
	door_sums_check(opened);
	return door_sums_account(opened);
}

void
bench_adapter(const char *name)
{
	g_setenv("ITAPI_VERBS_DEVICES", name, TRUE);
}

void
bench_open(struct bench *bench)
{
	struct ibv_device **list;
	int num = -1;

	memset(bench, 0, sizeof(*bench));
	list = ibv_get_device_list(&num);
	g_assert_nonnull(list);
	g_assert_cmpint(num, ==, 1);
	bench->context = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	g_assert_nonnull(bench->context);
	bench->pd = ibv_alloc_pd(bench->context);
	g_assert_nonnull(bench->pd);
	bench->channel = ibv_create_comp_channel(bench->context);
	g_assert_nonnull(bench->channel);
	bench->cq = ibv_create_cq(bench->context, BENCH_ENTRIES, bench, bench->channel, 0);
	g_assert_nonnull(bench->cq);
	bench->memory = (uint8_t *)g_malloc0(BENCH_MEMORY);
	bench->mr = ibv_reg_mr(bench->pd, bench->memory, BENCH_MEMORY, BENCH_ALL);
	g_assert_nonnull(bench->mr);
	if (!many_threads)
		opened = bench->context;
}

void
bench_close(struct bench *bench)
{
	if (!many_threads) {
		door_sums_check(bench->context);
		opened = NULL;
	}
	OK(ibv_dereg_mr(bench->mr));
	OK(ibv_destroy_cq(bench->cq));
	OK(ibv_destroy_comp_channel(bench->channel));
	OK(ibv_dealloc_pd(bench->pd));
	OK(ibv_close_device(bench->context));
	g_free(bench->memory);
}

struct ibv_qp_init_attr
bench_init(const struct bench *bench, enum ibv_qp_type type)
{
	return (struct ibv_qp_init_attr){.send_cq = bench->cq,
					 .recv_cq = bench->cq,
					 .qp_type = type,
					 .cap = {.max_send_wr = BENCH_DEPTH,
						 .max_recv_wr = BENCH_DEPTH,
						 .max_send_sge = BENCH_SGE,
						 .max_recv_sge = BENCH_SGE,
						 .max_inline_data = BENCH_INLINE}};
}

struct ibv_qp *
bench_qp(struct bench *bench, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = bench_init(bench, type);
	struct ibv_qp *qp = ibv_create_qp(bench->pd, &init);

	g_assert_nonnull(qp);
	g_assert_cmpuint(init.cap.max_send_wr, >=, BENCH_DEPTH);
	g_assert_cmpuint(init.cap.max_inline_data, >=, BENCH_INLINE);
	return qp;
}

void
bench_qp_end(struct ibv_qp **qp)
{
	OK(ibv_destroy_qp(*qp));
}

struct ibv_qp_attr
bench_attr(struct ibv_qp *qp, const struct ibv_qp *peer)
{
	struct ibv_qp_attr attr = {.path_mtu = IBV_MTU_1024,
				   .port_num = 1,
				   .qkey = BENCH_QKEY,
				   .qp_access_flags = BENCH_ALL & ~IBV_ACCESS_MW_BIND,
				   .sq_psn = PSN_BASE + qp->qp_num,
				   .max_rd_atomic = 4,
				   .max_dest_rd_atomic = 4,
				   .min_rnr_timer = 12,
				   .timeout = 14,
				   .retry_cnt = 7,
				   .rnr_retry = 7,
				   .ah_attr = {.port_num = 1, .is_global = 1}};

	attr.ah_attr.grh.hop_limit = 1;
	OK(ibv_query_gid(qp->context, 1, 0, &attr.ah_attr.grh.dgid));
	if (peer != NULL) {
		attr.dest_qp_num = peer->qp_num;
		attr.rq_psn = PSN_BASE + peer->qp_num;
	}
	return attr;
}

int
bench_mask(enum ibv_qp_type type, enum ibv_qp_state to)
{
	const int way = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	int mask = IBV_QP_STATE;

	if (to == IBV_QPS_INIT)
		return mask | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
		       (type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
	if (to == IBV_QPS_RTR && type != IBV_QPT_UD)
		mask |= way |
			(type == IBV_QPT_RC ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0);
	if (to == IBV_QPS_RTS)
		mask |= IBV_QP_SQ_PSN |
			(type == IBV_QPT_RC ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
						      IBV_QP_MAX_QP_RD_ATOMIC
					    : 0);
	return mask;
}

void
bench_raise(struct ibv_qp *qp, const struct ibv_qp *peer, enum ibv_qp_state to)
{
	struct ibv_qp_attr attr = bench_attr(qp, peer);

	for (int state = IBV_QPS_INIT; state <= (int)to; state++) {
		attr.qp_state = (enum ibv_qp_state)state;
		OK(ibv_modify_qp(qp, &attr, bench_mask(qp->qp_type, attr.qp_state)));
	}
}

void
bench_connect(struct ibv_qp *a, struct ibv_qp *b)
{
	bench_raise(a, b, IBV_QPS_RTS);
	bench_raise(b, a, IBV_QPS_RTS);
}

int
bench_move(struct ibv_qp *qp, enum ibv_qp_state to)
{
	struct ibv_qp_attr attr = {.qp_state = to};

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}

enum ibv_qp_state
bench_state(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	OK(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init));
	return attr.qp_state;
}

void
bench_fill(struct bench *bench, size_t at, size_t length, uint8_t seed)
{
	for (size_t i = 0; i < length; i++)
		bench->memory[at + i] = (uint8_t)(seed + i * 7 + i / 251);
}

struct ibv_sge
bench_sge(const struct bench *bench, size_t at, uint32_t length)
{
	return (struct ibv_sge){(uintptr_t)bench->memory + at, length, bench->mr->lkey};
}

void
bench_recv(struct ibv_qp *qp, uint64_t wr_id, struct ibv_sge *sge)
{
	struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = sge, .num_sge = sge != NULL};
	struct ibv_recv_wr *bad;

	OK(ibv_post_recv(qp, &wr, &bad));
}

struct ibv_send_wr
bench_wr(uint64_t wr_id, enum ibv_wr_opcode opcode, struct ibv_sge *sge)
{
	return (struct ibv_send_wr){.wr_id = wr_id,
				    .opcode = opcode,
				    .sg_list = sge,
				    .num_sge = sge != NULL,
				    .send_flags = IBV_SEND_SIGNALED};
}

void
bench_send(struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad = NULL;

	OK(ibv_post_send(qp, wr, &bad));
	g_assert_null(bad);
}

struct ibv_wc
bench_poll(struct ibv_cq *cq)
{
	gint64 until = g_get_monotonic_time() + 20 * G_USEC_PER_SEC;
	struct ibv_wc wc;
	int got;

	while ((got = ibv_poll_cq(cq, 1, &wc)) == 0)
		g_assert_cmpint(g_get_monotonic_time(), <, until);
	g_assert_cmpint(got, ==, 1);
	return wc;
}

bool
bench_event_waits(struct ibv_comp_channel *channel)
{
	struct pollfd fd = {.fd = channel->fd, .events = POLLIN};

	return poll(&fd, 1, 0) == 1;
}

struct ibv_wc
bench_expect(struct ibv_cq *cq, uint64_t wr_id, enum ibv_wc_status status)
{
	struct ibv_wc wc = bench_poll(cq);

	g_assert_cmpuint(wc.wr_id, ==, wr_id);
	g_assert_cmpint(wc.status, ==, status);
	return wc;
}

void
bench_expect_none(struct ibv_cq *cq)
{
	gint64 until = g_get_monotonic_time() + NONE_US;
	struct ibv_wc wc;

	while (g_get_monotonic_time() < until)
		g_assert_cmpint(ibv_poll_cq(cq, 1, &wc), ==, 0);
}

bool
bench_is_here(void)
{
	if (g_test_subprocess())
		return true;
	g_test_trap_subprocess(NULL, 60 * G_USEC_PER_SEC, G_TEST_SUBPROCESS_DEFAULT);
	return false;
}
