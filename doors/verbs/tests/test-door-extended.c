/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The extended calls: requests that are built one by one, and completions that are read part by part. */
#include <time.h>

#include "verbs_bench.h"

#define FAR 32768
#define IMM htobe32(0xabcdef01)

struct pair {
	struct bench bench;
	struct ibv_cq_ex *cq;
	struct ibv_qp *a, *b;
	struct ibv_qp_ex *ex; /* of a */
};

static struct ibv_qp *
qp_ex_new(struct bench *bench, struct ibv_cq *cq, enum ibv_qp_type type, uint64_t operations)
{
	struct ibv_qp_init_attr_ex init = {.send_cq = cq,
					   .recv_cq = cq,
					   .cap = bench_init(bench, type).cap,
					   .qp_type = type,
					   .pd = bench->pd,
					   .comp_mask = IBV_QP_INIT_ATTR_PD |
							IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					   .send_ops_flags = operations};
	struct ibv_qp *qp = ibv_create_qp_ex(bench->context, &init);

	g_assert_nonnull(qp);
	return qp;
}

static const uint64_t rc_operations =
	IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |
	IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ |
	IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |
	IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_SEND_WITH_INV;

static void
pair_open(struct pair *p, uint32_t flags)
{
	struct ibv_cq_init_attr_ex init = {
		.cqe = BENCH_ENTRIES,
		.cq_context = p,
		.wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
			    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = flags};

	bench_open(&p->bench);
	p->cq = ibv_create_cq_ex(p->bench.context, &init);
	g_assert_nonnull(p->cq);
	p->a = qp_ex_new(&p->bench, ibv_cq_ex_to_cq(p->cq), IBV_QPT_RC, rc_operations);
	p->b = qp_ex_new(&p->bench, ibv_cq_ex_to_cq(p->cq), IBV_QPT_RC, rc_operations);
	p->ex = ibv_qp_to_qp_ex(p->a);
	g_assert_nonnull(p->ex);
	bench_connect(p->a, p->b);
	bench_fill(&p->bench, 0, FAR, 11);
}

static void
pair_close(struct pair *p)
{
	OK(ibv_destroy_qp(p->a));
	OK(ibv_destroy_qp(p->b));
	OK(ibv_destroy_cq(ibv_cq_ex_to_cq(p->cq)));
	bench_close(&p->bench);
}

static void
begin(struct pair *p, uint64_t wr_id, unsigned flags)
{
	p->ex->wr_id = wr_id;
	p->ex->wr_flags = flags;
}

static uint64_t
far(const struct pair *p, size_t at)
{
	return (uintptr_t)p->bench.memory + FAR + at;
}

/* Begin to read the next completion, which comes soon. */
static void
start(struct pair *p)
{
	gint64 until = g_get_monotonic_time() + 20 * G_USEC_PER_SEC;
	struct ibv_poll_cq_attr attr = {0};
	int error;

	while ((error = ibv_start_poll(p->cq, &attr)) == ENOENT)
		g_assert_cmpint(g_get_monotonic_time(), <, until);
	OK(error);
}

/* The completions of these requests, in order, and of one receive somewhere if `receive` is not 0. */
static void
expect(struct pair *p, const enum ibv_wc_opcode *opcodes, unsigned num, uint64_t receive)
{
	for (unsigned i = 0; i < num + (receive != 0);) {
		start(p);
		g_assert_cmpint(p->cq->status, ==, IBV_WC_SUCCESS);
		if (receive != 0 && (ibv_wc_read_opcode(p->cq) & IBV_WC_RECV) != 0) {
			g_assert_cmpuint(p->cq->wr_id, ==, receive);
			g_assert_cmpuint(ibv_wc_read_qp_num(p->cq), ==, p->b->qp_num);
			receive = 0;
		} else {
			g_assert_cmpuint(p->cq->wr_id, ==, 100 + i);
			g_assert_cmpint(ibv_wc_read_opcode(p->cq), ==, opcodes[i]);
			g_assert_cmpuint(ibv_wc_read_qp_num(p->cq), ==, p->a->qp_num);
			i++;
		}
		ibv_end_poll(p->cq);
		if (receive == 0 && i == num)
			break;
	}
}

/* --- requests ---------------------------------------------------------------------------------------------- */

/* A list of all kinds, posted at once. */
static void
test_list(void)
{
	static const enum ibv_wc_opcode opcodes[] = {IBV_WC_RDMA_WRITE, IBV_WC_RDMA_WRITE,
						     IBV_WC_SEND,       IBV_WC_FETCH_ADD,
						     IBV_WC_COMP_SWAP,  IBV_WC_RDMA_READ};
	struct ibv_data_buf pieces[2];
	struct ibv_sge sges[3], to;
	uint64_t *counter;
	struct pair p RI_AT_END(pair_close);

	pair_open(&p, 0);
	counter = (uint64_t *)(void *)(p.bench.memory + FAR + 4096);
	*counter = 40;
	for (unsigned i = 0; i < 3; i++)
		sges[i] = bench_sge(&p.bench, 1000 * i, 100 + i);
	to = bench_sge(&p.bench, FAR + 8192, 4096);
	bench_recv(p.b, 9, &to);

	ibv_wr_start(p.ex);
	begin(&p, 100, IBV_SEND_SIGNALED);
	ibv_wr_rdma_write(p.ex, p.bench.mr->rkey, far(&p, 0));
	ibv_wr_set_sge_list(p.ex, 3, sges);
	begin(&p, 101, IBV_SEND_SIGNALED);
	ibv_wr_rdma_write(p.ex, p.bench.mr->rkey, far(&p, 1000));
	ibv_wr_set_inline_data(p.ex, p.bench.memory + 50, 60);
	begin(&p, 102, IBV_SEND_SIGNALED);
	ibv_wr_send(p.ex);
	pieces[0] = (struct ibv_data_buf){p.bench.memory + 7, 20};
	pieces[1] = (struct ibv_data_buf){p.bench.memory + 200, 44};
	ibv_wr_set_inline_data_list(p.ex, 2, pieces);
	begin(&p, 103, IBV_SEND_SIGNALED);
	ibv_wr_atomic_fetch_add(p.ex, p.bench.mr->rkey, (uintptr_t)counter, 2);
	ibv_wr_set_sge(p.ex, p.bench.mr->lkey, (uintptr_t)p.bench.memory + 20000, 8);
	begin(&p, 104, IBV_SEND_SIGNALED);
	ibv_wr_atomic_cmp_swp(p.ex, p.bench.mr->rkey, (uintptr_t)counter, 42, 7);
	ibv_wr_set_sge(p.ex, p.bench.mr->lkey, (uintptr_t)p.bench.memory + 20008, 8);
	begin(&p, 105, IBV_SEND_SIGNALED);
	ibv_wr_rdma_read(p.ex, p.bench.mr->rkey, far(&p, 4096));
	ibv_wr_set_sge(p.ex, p.bench.mr->lkey, (uintptr_t)p.bench.memory + 20016, 8);
	OK(ibv_wr_complete(p.ex));
	expect(&p, opcodes, G_N_ELEMENTS(opcodes), 9);

	g_assert_cmpmem(p.bench.memory + FAR, 100, p.bench.memory, 100);
	g_assert_cmpmem(p.bench.memory + FAR + 100, 101, p.bench.memory + 1000, 101);
	g_assert_cmpmem(p.bench.memory + FAR + 201, 102, p.bench.memory + 2000, 102);
	g_assert_cmpmem(p.bench.memory + FAR + 1000, 60, p.bench.memory + 50, 60);
	g_assert_cmpmem(p.bench.memory + FAR + 8192, 20, p.bench.memory + 7, 20);
	g_assert_cmpmem(p.bench.memory + FAR + 8212, 44, p.bench.memory + 200, 44);
	g_assert_cmpuint(*(uint64_t *)(void *)(p.bench.memory + 20000), ==, 40);
	g_assert_cmpuint(*(uint64_t *)(void *)(p.bench.memory + 20008), ==, 42);
	g_assert_cmpuint(*(uint64_t *)(void *)(p.bench.memory + 20016), ==, 7);
}

static void
test_immediate(void)
{
	struct pair p RI_AT_END(pair_close);

	pair_open(&p, 0);
	for (unsigned i = 0; i < 2; i++) {
		bench_recv(p.b, 9, NULL);
		ibv_wr_start(p.ex);
		begin(&p, 100, 0);
		if (i == 0)
			ibv_wr_send_imm(p.ex, IMM);
		else
			ibv_wr_rdma_write_imm(p.ex, p.bench.mr->rkey, far(&p, 0), IMM);
		OK(ibv_wr_complete(p.ex));
		start(&p);
		g_assert_cmpint(ibv_wc_read_opcode(p.cq), ==,
				i == 0 ? IBV_WC_RECV : IBV_WC_RECV_RDMA_WITH_IMM);
		g_assert_cmpuint(ibv_wc_read_wc_flags(p.cq), ==, IBV_WC_WITH_IMM);
		g_assert_cmpuint(ibv_wc_read_imm_data(p.cq), ==, IMM);
		g_assert_cmpuint(ibv_wc_read_byte_len(p.cq), ==, 0);
		g_assert_cmpuint(ibv_wc_read_vendor_err(p.cq), ==, 0);
		g_assert_cmpuint(ibv_wc_read_slid(p.cq), ==, 0);
		g_assert_cmpuint(ibv_wc_read_sl(p.cq), ==, 0);
		g_assert_cmpuint(ibv_wc_read_dlid_path_bits(p.cq), ==, 0);
		ibv_end_poll(p.cq);
	}
}

static void
test_windows(void)
{
	static const enum ibv_wc_opcode both[] = {IBV_WC_BIND_MW, IBV_WC_LOCAL_INV};
	struct ibv_mw_bind_info info;
	struct ibv_mw *mw;
	struct pair p RI_AT_END(pair_close);
	uint32_t key;

	pair_open(&p, 0);
	mw = ibv_alloc_mw(p.bench.pd, IBV_MW_TYPE_2);
	key = ibv_inc_rkey(mw->rkey);
	info = (struct ibv_mw_bind_info){.mr = p.bench.mr,
					 .addr = far(&p, 0),
					 .length = 100,
					 .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
	ibv_wr_start(p.ex);
	begin(&p, 100, IBV_SEND_SIGNALED);
	ibv_wr_bind_mw(p.ex, mw, key, &info);
	begin(&p, 101, IBV_SEND_SIGNALED | IBV_SEND_FENCE);
	ibv_wr_local_inv(p.ex, key);
	OK(ibv_wr_complete(p.ex));
	expect(&p, both, 2, 0);
	/* The receiver of a Send reads the key that is no longer valid. */
	key = ibv_inc_rkey(key);
	ibv_wr_start(p.ex);
	begin(&p, 100, IBV_SEND_SIGNALED);
	ibv_wr_bind_mw(p.ex, mw, key, &info);
	OK(ibv_wr_complete(p.ex));
	expect(&p, both, 1, 0);
	bench_recv(p.a, 5, NULL);
	p.ex = ibv_qp_to_qp_ex(p.b);
	ibv_wr_start(p.ex);
	begin(&p, 6, 0);
	ibv_wr_send_inv(p.ex, key);
	OK(ibv_wr_complete(p.ex));
	start(&p);
	g_assert_cmpuint(p.cq->wr_id, ==, 5);
	g_assert_cmpuint(ibv_wc_read_wc_flags(p.cq), ==, IBV_WC_WITH_INV);
	g_assert_cmpuint(ibv_wc_read_invalidated_rkey(p.cq), ==, key);
	ibv_end_poll(p.cq);
	OK(ibv_dealloc_mw(mw));
}

static void
test_datagrams(void)
{
	struct ibv_ah_attr way = {.port_num = 1, .is_global = 1};
	struct ibv_sge to;
	struct ibv_ah *ah;
	struct pair p RI_AT_END(pair_close);

	pair_open(&p, 0);
	struct ibv_qp *qp RI_AT_END(bench_qp_end) =
		qp_ex_new(&p.bench, ibv_cq_ex_to_cq(p.cq), IBV_QPT_UD,
			  IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM);
	bench_raise(qp, NULL, IBV_QPS_RTS);
	OK(ibv_query_gid(p.bench.context, 1, 0, &way.grh.dgid));
	ah = ibv_create_ah(p.bench.pd, &way);
	to = bench_sge(&p.bench, FAR, 100);
	bench_recv(qp, 3, &to);
	p.ex = ibv_qp_to_qp_ex(qp);
	ibv_wr_start(p.ex);
	begin(&p, 4, 0);
	ibv_wr_send_imm(p.ex, IMM);
	ibv_wr_set_ud_addr(p.ex, ah, qp->qp_num, BENCH_QKEY);
	ibv_wr_set_sge(p.ex, p.bench.mr->lkey, (uintptr_t)p.bench.memory, 50);
	OK(ibv_wr_complete(p.ex));
	start(&p);
	g_assert_cmpuint(p.cq->wr_id, ==, 3);
	g_assert_cmpuint(ibv_wc_read_src_qp(p.cq), ==, qp->qp_num);
	g_assert_cmpuint(ibv_wc_read_byte_len(p.cq), ==, 90);
	g_assert_cmpuint(ibv_wc_read_wc_flags(p.cq), ==, IBV_WC_GRH | IBV_WC_WITH_IMM);
	ibv_end_poll(p.cq);
	g_assert_cmpmem(p.bench.memory + FAR + 40, 50, p.bench.memory, 50);
	ibv_wr_start(p.ex);
	ibv_wr_send(p.ex);
	ibv_wr_set_ud_addr(p.ex, NULL, qp->qp_num, BENCH_QKEY);
	g_assert_cmpint(ibv_wr_complete(p.ex), ==, EINVAL);
	OK(ibv_destroy_ah(ah));
}

/* One mistake, and nothing of the list is posted; so it is when the program gives up. */
static void
test_mistakes(void)
{
	struct ibv_sge sges[BENCH_SGE + 20] = {{0, 0, 0}};
	struct pair p RI_AT_END(pair_close);

	pair_open(&p, 0);
#define MISTAKE(error, ...)                                                            \
	do {                                                                           \
		ibv_wr_start(p.ex);                                                    \
		begin(&p, 1, IBV_SEND_SIGNALED);                                       \
		ibv_wr_rdma_write(p.ex, p.bench.mr->rkey, far(&p, 0));                 \
		ibv_wr_set_sge(p.ex, p.bench.mr->lkey, (uintptr_t)p.bench.memory, 10); \
		__VA_ARGS__;                                                           \
		g_assert_cmpint(ibv_wr_complete(p.ex), ==, (error));                   \
	} while (0)
	MISTAKE(EOPNOTSUPP, ibv_wr_send_tso(p.ex, NULL, 0, 0));
	MISTAKE(EOPNOTSUPP, ibv_wr_set_xrc_srqn(p.ex, 1));
	MISTAKE(EOPNOTSUPP, ibv_wr_atomic_write(p.ex, 1, 2, NULL));
	MISTAKE(EINVAL, ibv_wr_set_ud_addr(p.ex, NULL, 1, 2));
	MISTAKE(EINVAL, ibv_wr_set_sge_list(p.ex, G_N_ELEMENTS(sges), sges));
	MISTAKE(EINVAL, ibv_wr_set_inline_data(p.ex, p.bench.memory, 10000));
	MISTAKE(EINVAL, (p.ex->wr_flags = IBV_SEND_IP_CSUM, ibv_wr_send(p.ex)));
	MISTAKE(EINVAL, ibv_wr_bind_mw(p.ex, NULL, 1, NULL));
	MISTAKE(ENOMEM, for (unsigned i = 0; i < 2000; i++) ibv_wr_send(p.ex));
#undef MISTAKE
	ibv_wr_start(p.ex);
	ibv_wr_set_sge(p.ex, 1, 2, 3);
	g_assert_cmpint(ibv_wr_complete(p.ex), ==, EINVAL);
	ibv_wr_start(p.ex);
	begin(&p, 1, IBV_SEND_SIGNALED);
	ibv_wr_rdma_write(p.ex, p.bench.mr->rkey, far(&p, 0));
	ibv_wr_abort(p.ex);
	ibv_wr_start(p.ex);
	OK(ibv_wr_complete(p.ex)); /* of nothing */
	bench_expect_none(ibv_cq_ex_to_cq(p.cq));
	OK(bench_move(p.a, IBV_QPS_RESET));
	ibv_wr_start(p.ex);
	ibv_wr_send(p.ex);
	g_assert_cmpint(ibv_wr_complete(p.ex), ==, EINVAL);
}

/* --- completions --------------------------------------------------------------------------------------------- */

static void
write_some(struct pair *p, unsigned num)
{
	ibv_wr_start(p->ex);
	for (unsigned i = 0; i < num; i++) {
		begin(p, 100 + i, IBV_SEND_SIGNALED);
		ibv_wr_rdma_write(p->ex, p->bench.mr->rkey, far(p, 0));
		ibv_wr_set_sge(p->ex, p->bench.mr->lkey, (uintptr_t)p->bench.memory, 8);
	}
	OK(ibv_wr_complete(p->ex));
}

/* One poll after the other, in one batch and in several; and with the plain call in between. */
static void
test_polls(gconstpointer flags)
{
	struct ibv_poll_cq_attr attr = {.comp_mask = 1};
	struct ibv_wc wc[4];
	struct pair p RI_AT_END(pair_close);
	unsigned next;

	pair_open(&p, GPOINTER_TO_UINT(flags));
	g_assert_cmpint(ibv_start_poll(p.cq, &attr), ==, EINVAL);
	attr.comp_mask = 0;
	g_assert_cmpint(ibv_start_poll(p.cq, &attr), ==, ENOENT);
	write_some(&p, BENCH_DEPTH);
	start(&p);
	for (next = 0; next < 5; next++) {
		g_assert_cmpuint(p.cq->wr_id, ==, 100 + next);
		OK(ibv_next_poll(p.cq));
	}
	g_assert_cmpuint(p.cq->wr_id, ==, 100 + next++);
	ibv_end_poll(p.cq);
	g_assert_cmpint(ibv_poll_cq(ibv_cq_ex_to_cq(p.cq), 4, wc), ==, 4);
	for (unsigned i = 0; i < 4; i++)
		g_assert_cmpuint(wc[i].wr_id, ==, 100 + next++);
	start(&p);
	while (next < BENCH_DEPTH) {
		g_assert_cmpuint(p.cq->wr_id, ==, 100 + next++);
		g_assert_cmpint(ibv_next_poll(p.cq), ==, next < BENCH_DEPTH ? 0 : ENOENT);
	}
	ibv_end_poll(p.cq);
	g_assert_cmpint(ibv_start_poll(p.cq, &attr), ==, ENOENT);
}

/* Timestamps of completions do not go back, and those of the wall clock agree with CLOCK_REALTIME. */
static void
test_times(void)
{
	uint64_t before, wall;
	struct timespec day;
	struct pair p RI_AT_END(pair_close);

	pair_open(&p, 0);
	write_some(&p, 1);
	start(&p);
	before = ibv_wc_read_completion_ts(p.cq);
	ibv_end_poll(p.cq);
	g_usleep(2000);
	write_some(&p, 1);
	start(&p);
	g_assert_cmpuint(ibv_wc_read_completion_ts(p.cq), >=, before + 2000000);
	wall = ibv_wc_read_completion_wallclock_ns(p.cq);
	ibv_end_poll(p.cq);
	clock_gettime(CLOCK_REALTIME, &day);
	g_assert_cmpint(ABS((int64_t)wall - day.tv_sec * 1000000000LL - day.tv_nsec), <,
			20000000000);
}

/* Completions of a queue pair that is gone are not read. */
static void
test_gone(void)
{
	struct ibv_poll_cq_attr attr = {0};
	struct pair p RI_AT_END(pair_close);

	pair_open(&p, 0);
	write_some(&p, 4);
	start(&p); /* three are in the window then */
	ibv_end_poll(p.cq);
	OK(ibv_destroy_qp(p.a));
	g_assert_cmpint(ibv_start_poll(p.cq, &attr), ==, ENOENT);
	p.a = bench_qp(&p.bench, IBV_QPT_RC);
}

int
main(int argc, char **argv)
{
	bench_adapter("emul:ib");
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/door/extended/list", test_list);
	g_test_add_func("/door/extended/immediate", test_immediate);
	g_test_add_func("/door/extended/windows", test_windows);
	g_test_add_func("/door/extended/datagrams", test_datagrams);
	g_test_add_func("/door/extended/mistakes", test_mistakes);
	g_test_add_data_func("/door/extended/polls", GUINT_TO_POINTER(0), test_polls);
	g_test_add_data_func("/door/extended/polls-of-one-thread",
			     GUINT_TO_POINTER(IBV_CREATE_CQ_ATTR_SINGLE_THREADED), test_polls);
	g_test_add_func("/door/extended/times", test_times);
	g_test_add_func("/door/extended/gone", test_gone);
	return g_test_run();
}
