/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Work requests of connected queue pairs: each operation with its data, lists, states, and what is refused. */
#include <stdbool.h>

#include "verbs_bench.h"

#define FAR  32768 /* where b's part of the memory begins */
#define SOME 1000
#define IMM  htobe32(0x11223344)

/* Two queue pairs in one memory: a uses the first half, b the second. */
struct pair {
	struct bench bench;
	struct ibv_qp *a, *b;
};

static void
pair_open(struct pair *p, enum ibv_qp_type type)
{
	bench_open(&p->bench);
	p->a = bench_qp(&p->bench, type);
	p->b = bench_qp(&p->bench, type);
	bench_connect(p->a, p->b);
	bench_fill(&p->bench, 0, FAR, 1);
	bench_fill(&p->bench, FAR, FAR, 2);
}

static void
pair_close(struct pair *p)
{
	OK(ibv_destroy_qp(p->a));
	OK(ibv_destroy_qp(p->b));
	bench_expect_none(p->bench.cq); /* nothing of them is left */
	bench_close(&p->bench);
}

/* Two completions, in whatever order: that of a's request and that of b's receive. */
static void
pair_poll(struct pair *p, struct ibv_wc *sent, struct ibv_wc *received)
{
	*sent = *received = (struct ibv_wc){.qp_num = 0};
	for (unsigned i = 0; i < 2; i++) {
		struct ibv_wc wc = bench_poll(p->bench.cq);

		g_assert_cmpint(wc.status, ==, IBV_WC_SUCCESS);
		*((wc.opcode & IBV_WC_RECV) != 0 ? received : sent) = wc;
	}
	g_assert_cmpuint(sent->qp_num, ==, p->a->qp_num);
	g_assert_cmpuint(received->qp_num, ==, p->b->qp_num);
	g_assert_cmpuint(sent->vendor_err, ==, 0);
}

static void
same(struct pair *p, size_t here, size_t there, size_t length)
{
	g_assert_cmpmem(p->bench.memory + here, length, p->bench.memory + there, length);
}

static struct ibv_send_wr
remote_wr(struct pair *p, enum ibv_wr_opcode opcode, struct ibv_sge *sge, size_t there)
{
	struct ibv_send_wr wr = bench_wr(7, opcode, sge);

	wr.wr.rdma.remote_addr = (uintptr_t)p->bench.memory + there;
	wr.wr.rdma.rkey = p->bench.mr->rkey;
	return wr;
}

/* --- operations ------------------------------------------------------------------------------------------- */

/* Several segments on both sides, with and without immediate data, in memory and inline. */
static void
test_send(gconstpointer type)
{
	struct ibv_wc sent, received;
	struct ibv_sge from[3], to[2];
	struct ibv_recv_wr recv, *bad;
	struct ibv_send_wr wr;
	struct pair p RI_AT_END(pair_close);

	pair_open(&p, (enum ibv_qp_type)GPOINTER_TO_INT(type));
	for (unsigned i = 0; i < 4; i++) {
		uint32_t length = i < 2 ? SOME : BENCH_INLINE;

		from[0] = bench_sge(&p.bench, 100 * i, length - 21);
		from[1] = bench_sge(&p.bench, 5000, 20);
		from[2] = bench_sge(&p.bench, 6000, 1);
		to[0] = bench_sge(&p.bench, FAR + 100, 30);
		to[1] = bench_sge(&p.bench, FAR + 130, 2000);
		recv = (struct ibv_recv_wr){.wr_id = 70 + i, .sg_list = to, .num_sge = 2};
		OK(ibv_post_recv(p.b, &recv, &bad));
		wr = bench_wr(80 + i, i % 2 ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND, from);
		wr.num_sge = 3;
		wr.imm_data = IMM;
		if (i >= 2) {
			wr.send_flags |= IBV_SEND_INLINE;
			from[0].lkey = from[1].lkey = from[2].lkey = 0; /* nobody looks */
		}
		bench_send(p.a, &wr);
		pair_poll(&p, &sent, &received);
		g_assert_cmpint(sent.opcode, ==, IBV_WC_SEND);
		g_assert_cmpint(received.opcode, ==, IBV_WC_RECV);
		g_assert_cmpuint(sent.wr_id, ==, 80 + i);
		g_assert_cmpuint(received.wr_id, ==, 70 + i);
		g_assert_cmpuint(received.byte_len, ==, length);
		g_assert_cmpuint(received.wc_flags, ==, i % 2 ? IBV_WC_WITH_IMM : 0);
		if (i % 2)
			g_assert_cmpuint(received.imm_data, ==, IMM);
		same(&p, 100 * i, FAR + 100, length - 21);
		same(&p, 5000, FAR + 100 + length - 21, 20);
		same(&p, 6000, FAR + 100 + length - 1, 1);
	}
}

static void
test_write(gconstpointer type)
{
	struct ibv_wc sent, received;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct pair p RI_AT_END(pair_close);

	pair_open(&p, (enum ibv_qp_type)GPOINTER_TO_INT(type));
	sge = bench_sge(&p.bench, 0, SOME);
	wr = remote_wr(&p, IBV_WR_RDMA_WRITE, &sge, FAR);
	bench_send(p.a, &wr);
	g_assert_cmpint(bench_expect(p.bench.cq, 7, IBV_WC_SUCCESS).opcode, ==, IBV_WC_RDMA_WRITE);
	UNTIL(memcmp(p.bench.memory, p.bench.memory + FAR, SOME) == 0);
	bench_recv(p.b, 9, NULL);
	sge = bench_sge(&p.bench, 10, BENCH_INLINE);
	wr = remote_wr(&p, IBV_WR_RDMA_WRITE_WITH_IMM, &sge, FAR + SOME);
	wr.send_flags |= IBV_SEND_INLINE;
	wr.imm_data = IMM;
	bench_send(p.a, &wr);
	pair_poll(&p, &sent, &received);
	g_assert_cmpint(sent.opcode, ==, IBV_WC_RDMA_WRITE);
	g_assert_cmpint(received.opcode, ==, IBV_WC_RECV_RDMA_WITH_IMM);
	g_assert_cmpuint(received.byte_len, ==, BENCH_INLINE);
	g_assert_cmpuint(received.wc_flags, ==, IBV_WC_WITH_IMM);
	g_assert_cmpuint(received.imm_data, ==, IMM);
	same(&p, 10, FAR + SOME, BENCH_INLINE);
}

static void
test_read_and_atomics(void)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	uint64_t *counter, *old;
	struct pair p RI_AT_END(pair_close);

	pair_open(&p, IBV_QPT_RC);
	sge = bench_sge(&p.bench, 0, SOME);
	wr = remote_wr(&p, IBV_WR_RDMA_READ, &sge, FAR);
	bench_send(p.a, &wr);
	g_assert_cmpint(bench_expect(p.bench.cq, 7, IBV_WC_SUCCESS).opcode, ==, IBV_WC_RDMA_READ);
	same(&p, 0, FAR, SOME);

	counter = (uint64_t *)(void *)(p.bench.memory + FAR);
	old = (uint64_t *)(void *)p.bench.memory;
	*counter = 1000;
	sge = bench_sge(&p.bench, 0, 8);
	wr = bench_wr(7, IBV_WR_ATOMIC_FETCH_AND_ADD, &sge);
	wr.wr.atomic.remote_addr = (uintptr_t)counter;
	wr.wr.atomic.rkey = p.bench.mr->rkey;
	wr.wr.atomic.compare_add = 17;
	bench_send(p.a, &wr);
	g_assert_cmpint(bench_expect(p.bench.cq, 7, IBV_WC_SUCCESS).opcode, ==, IBV_WC_FETCH_ADD);
	g_assert_cmpuint(*counter, ==, 1017);
	g_assert_cmpuint(*old, ==, 1000);
	wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	wr.wr.atomic.swap = 5;
	bench_send(p.a, &wr); /* compares with 17 */
	g_assert_cmpint(bench_expect(p.bench.cq, 7, IBV_WC_SUCCESS).opcode, ==, IBV_WC_COMP_SWAP);
	g_assert_cmpuint(*counter, ==, 1017);
	g_assert_cmpuint(*old, ==, 1017);
	wr.wr.atomic.compare_add = 1017;
	bench_send(p.a, &wr);
	(void)bench_expect(p.bench.cq, 7, IBV_WC_SUCCESS);
	g_assert_cmpuint(*counter, ==, 5);
	g_assert_cmpuint(*old, ==, 1017);
}

/* --- windows ------------------------------------------------------------------------------------------------ */

static struct ibv_mw_bind_info
window_over(struct pair *p, size_t at, size_t length)
{
	return (struct ibv_mw_bind_info){.mr = p->bench.mr,
					 .addr = (uintptr_t)p->bench.memory + at,
					 .length = length,
					 .mw_access_flags =
						 IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ};
}

/* b binds; a writes through the key. */
static void
write_through(struct pair *p, uint32_t rkey, uint64_t addr, enum ibv_wc_status status)
{
	struct ibv_sge sge = bench_sge(&p->bench, 0, 64);
	struct ibv_send_wr wr = bench_wr(3, IBV_WR_RDMA_WRITE, &sge);

	wr.wr.rdma.remote_addr = addr;
	wr.wr.rdma.rkey = rkey;
	bench_send(p->a, &wr);
	(void)bench_expect(p->bench.cq, 3, status);
}

static uint32_t
bind_narrow(struct pair *p, struct ibv_mw *mw, unsigned more)
{
	struct ibv_send_wr wr = bench_wr(2, IBV_WR_BIND_MW, NULL);

	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = mw->rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info = window_over(p, FAR, 100);
	wr.bind_mw.bind_info.mw_access_flags |= more;
	bench_send(p->b, &wr);
	g_assert_cmpint(bench_expect(p->bench.cq, 2, IBV_WC_SUCCESS).opcode, ==, IBV_WC_BIND_MW);
	return wr.bind_mw.rkey;
}

static void
test_window_narrow(void)
{
	struct ibv_wc sent, received;
	struct ibv_send_wr wr;
	struct ibv_mw *mw;
	struct pair p RI_AT_END(pair_close);
	uint32_t key;

	pair_open(&p, IBV_QPT_RC);
	mw = ibv_alloc_mw(p.bench.pd, IBV_MW_TYPE_2);
	g_assert_nonnull(mw);
	key = bind_narrow(&p, mw, 0);
	write_through(&p, key, (uintptr_t)p.bench.memory + FAR, IBV_WC_SUCCESS);
	same(&p, 0, FAR, 64);
	wr = bench_wr(4, IBV_WR_LOCAL_INV, NULL);
	wr.invalidate_rkey = key;
	bench_send(p.b, &wr);
	g_assert_cmpint(bench_expect(p.bench.cq, 4, IBV_WC_SUCCESS).opcode, ==, IBV_WC_LOCAL_INV);
	key = bind_narrow(&p, mw, IBV_ACCESS_ZERO_BASED);
	write_through(&p, key, 36, IBV_WC_SUCCESS);
	same(&p, 0, FAR + 36, 64);
	/* The peer invalidates it, and says so. */
	bench_recv(p.b, 5, NULL);
	wr = bench_wr(6, IBV_WR_SEND_WITH_INV, NULL);
	wr.invalidate_rkey = key;
	bench_send(p.a, &wr);
	pair_poll(&p, &sent, &received);
	g_assert_cmpuint(sent.wc_flags, ==, 0);
	g_assert_cmpuint(received.wc_flags, ==, IBV_WC_WITH_INV);
	g_assert_cmpuint(received.invalidated_rkey, ==, key);
	write_through(&p, key, 36, IBV_WC_REM_ACCESS_ERR);
	OK(ibv_dealloc_mw(mw));
}

/* A peer that knows the key of a region cannot take it away from others. */
static void
test_region_stays(void)
{
	struct ibv_send_wr wr = bench_wr(6, IBV_WR_SEND_WITH_INV, NULL);
	struct ibv_qp *ended[2];
	struct pair p RI_AT_END(pair_close);

	pair_open(&p, IBV_QPT_RC);
	bench_recv(p.b, 5, NULL);
	wr.invalidate_rkey = p.bench.mr->rkey;
	bench_send(p.a, &wr);
	for (unsigned i = 0; i < 2; i++)
		g_assert_cmpint(bench_poll(p.bench.cq).status, !=, IBV_WC_SUCCESS);
	ended[0] = p.a;
	ended[1] = p.b;
	p.a = bench_qp(&p.bench, IBV_QPT_RC);
	p.b = bench_qp(&p.bench, IBV_QPT_RC);
	bench_connect(p.a, p.b);
	write_through(&p, p.bench.mr->rkey, (uintptr_t)p.bench.memory + FAR, IBV_WC_SUCCESS);
	same(&p, 0, FAR, 64);
	for (unsigned i = 0; i < 2; i++)
		OK(ibv_destroy_qp(ended[i]));
}

static void
test_window_wide(void)
{
	struct ibv_mw_bind bind = {.wr_id = 2, .send_flags = IBV_SEND_SIGNALED};
	struct ibv_mw *mw, *narrow;
	struct pair p RI_AT_END(pair_close);
	uint32_t first;

	pair_open(&p, IBV_QPT_RC);
	mw = ibv_alloc_mw(p.bench.pd, IBV_MW_TYPE_1);
	narrow = ibv_alloc_mw(p.bench.pd, IBV_MW_TYPE_2);
	g_assert_true(mw != NULL && narrow != NULL);
	bind.bind_info = window_over(&p, FAR, 100);
	OK(ibv_bind_mw(p.b, mw, &bind));
	first = mw->rkey;
	g_assert_cmpint(bench_expect(p.bench.cq, 2, IBV_WC_SUCCESS).opcode, ==, IBV_WC_BIND_MW);
	write_through(&p, first, (uintptr_t)p.bench.memory + FAR, IBV_WC_SUCCESS);
	same(&p, 0, FAR, 64);
	bind.bind_info = window_over(&p, FAR + 4096, 100);
	OK(ibv_bind_mw(p.b, mw, &bind));
	g_assert_cmpuint(mw->rkey, !=, first);
	g_assert_cmpuint(mw->rkey >> 8, ==, first >> 8);
	(void)bench_expect(p.bench.cq, 2, IBV_WC_SUCCESS);
	write_through(&p, mw->rkey, (uintptr_t)p.bench.memory + FAR + 4096, IBV_WC_SUCCESS);
	same(&p, 0, FAR + 4096, 64);
	bind.bind_info.length = 0;
	OK(ibv_bind_mw(p.b, mw, &bind));
	(void)bench_expect(p.bench.cq, 2, IBV_WC_SUCCESS);
	/* Kinds do not mix, and flags are looked at. */
	g_assert_cmpint(ibv_bind_mw(p.b, narrow, &bind), ==, EINVAL);
	bind.bind_info = window_over(&p, FAR, 100);
	bind.bind_info.mw_access_flags |= IBV_ACCESS_MW_BIND;
	g_assert_cmpint(ibv_bind_mw(p.b, mw, &bind), ==, EINVAL);
	bind.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_READ;
	bind.send_flags |= IBV_SEND_INLINE;
	g_assert_cmpint(ibv_bind_mw(p.b, mw, &bind), ==, EINVAL);
	write_through(&p, mw->rkey, (uintptr_t)p.bench.memory + FAR + 4096, IBV_WC_REM_ACCESS_ERR);
	OK(ibv_dealloc_mw(mw));
	OK(ibv_dealloc_mw(narrow));
}

/* --- lists ---------------------------------------------------------------------------------------------------- */

/* The list ends at the first request that is refused, and what comes before it is done. */
static void
test_list_with_a_bad_one(void)
{
	struct ibv_send_wr wr[5], *bad = NULL;
	struct ibv_sge sge[5];
	struct pair p RI_AT_END(pair_close);

	pair_open(&p, IBV_QPT_RC);
	for (unsigned i = 0; i < 5; i++) {
		sge[i] = bench_sge(&p.bench, i * 100, 100);
		wr[i] = remote_wr(&p, IBV_WR_RDMA_WRITE, &sge[i], FAR + i * 100);
		wr[i].wr_id = i;
		wr[i].next = i < 4 ? &wr[i + 1] : NULL;
	}
	wr[3].opcode = IBV_WR_TSO;
	g_assert_cmpint(ibv_post_send(p.a, wr, &bad), ==, EINVAL);
	g_assert_true(bad == &wr[3]);
	for (unsigned i = 0; i < 3; i++)
		(void)bench_expect(p.bench.cq, i, IBV_WC_SUCCESS);
	same(&p, 0, FAR, 300);
	g_assert_cmpint(memcmp(p.bench.memory + 300, p.bench.memory + FAR + 300, 200), !=, 0);
	wr[3].opcode = IBV_WR_RDMA_WRITE;
	bench_send(p.a, wr);
	for (unsigned i = 0; i < 5; i++)
		(void)bench_expect(p.bench.cq, i, IBV_WC_SUCCESS);
	same(&p, 0, FAR, 500);
}

static void
test_receives_with_a_bad_one(void)
{
	struct ibv_recv_wr wr[4], *bad = NULL;
	struct ibv_sge sge[BENCH_SGE + 13];
	struct bench bench RI_AT_END(bench_close);

	bench_open(&bench);
	struct ibv_qp *qp RI_AT_END(bench_qp_end) = bench_qp(&bench, IBV_QPT_RC);
	for (unsigned i = 0; i < G_N_ELEMENTS(sge); i++)
		sge[i] = bench_sge(&bench, i, 1);
	for (unsigned i = 0; i < 4; i++)
		wr[i] = (struct ibv_recv_wr){.wr_id = i,
					     .sg_list = sge,
					     .num_sge = 1,
					     .next = i < 3 ? &wr[i + 1] : NULL};
	g_assert_cmpint(ibv_post_recv(qp, wr, &bad), ==, EINVAL); /* in RESET */
	g_assert_true(bad == &wr[0]);
	bench_raise(qp, qp, IBV_QPS_INIT);
	wr[2].num_sge = G_N_ELEMENTS(sge);
	g_assert_cmpint(ibv_post_recv(qp, wr, &bad), ==, EINVAL);
	g_assert_true(bad == &wr[2]);
	wr[2].num_sge = -1;
	g_assert_cmpint(ibv_post_recv(qp, &wr[2], &bad), ==, EINVAL);
	wr[2].num_sge = 1;
	wr[2].sg_list = NULL;
	bad = NULL;
	g_assert_cmpint(ibv_post_recv(qp, &wr[2], &bad), ==, EINVAL);
	g_assert_true(bad == &wr[2]);
	/* Those before it are posted. */
	OK(bench_move(qp, IBV_QPS_ERR));
	(void)bench_expect(bench.cq, 0, IBV_WC_WR_FLUSH_ERR);
	(void)bench_expect(bench.cq, 1, IBV_WC_WR_FLUSH_ERR);
	bench_expect_none(bench.cq);
	/* In ERR, too, and they are flushed. */
	bench_recv(qp, 8, sge);
	(void)bench_expect(bench.cq, 8, IBV_WC_WR_FLUSH_ERR);
}

/* A place is free again when the completion of a later request was polled. */
static void
test_full(void)
{
	struct ibv_send_wr wr, *bad;
	struct ibv_recv_wr recv = {.wr_id = 1}, *bad_recv;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	unsigned posted, received = 0;
	struct pair p RI_AT_END(pair_close);

	pair_open(&p, IBV_QPT_RC);
	OK(ibv_query_qp(p.a, &attr, 0, &init));
	while (ibv_post_recv(p.b, &recv, &bad_recv) == 0)
		received++;
	g_assert_cmpuint(received, ==, init.cap.max_recv_wr);
	wr = bench_wr(0, IBV_WR_SEND, NULL);
	for (unsigned round = 0; round < 3; round++) {
		wr.send_flags = 0;
		for (posted = 0; posted + 1 < init.cap.max_send_wr; posted++) {
			wr.wr_id = posted;
			OK(ibv_post_send(p.a, &wr, &bad));
		}
		wr.send_flags = IBV_SEND_SIGNALED;
		wr.wr_id = 99;
		OK(ibv_post_send(p.a, &wr, &bad));
		g_assert_cmpint(ibv_post_send(p.a, &wr, &bad), ==, ENOMEM);
		g_assert_true(bad == &wr);
		for (unsigned i = 0; i <= init.cap.max_send_wr; i++) {
			struct ibv_wc wc = bench_poll(p.bench.cq);

			g_assert_cmpint(wc.status, ==, IBV_WC_SUCCESS);
			g_assert_cmpuint(wc.wr_id, ==, wc.opcode == IBV_WC_SEND ? 99 : 1);
			if (wc.opcode == IBV_WC_RECV)
				OK(ibv_post_recv(p.b, &recv, &bad_recv));
		}
	}
}

/* --- refusals ------------------------------------------------------------------------------------------------- */

static void
refused(struct ibv_qp *qp, struct ibv_send_wr wr)
{
	struct ibv_send_wr *bad = NULL;

	g_assert_cmpint(ibv_post_send(qp, &wr, &bad), ==, EINVAL);
	g_assert_true(bad == &wr);
}

static void
test_refused(void)
{
	struct ibv_sge sge[BENCH_SGE + 13];
	struct ibv_send_wr good, wr;
	struct bench other RI_AT_END(bench_close);
	struct ibv_mw *mw, *foreign;
	struct ibv_qp *uc;
	struct pair p RI_AT_END(pair_close);

	pair_open(&p, IBV_QPT_RC);
	bench_open(&other);
	for (unsigned i = 0; i < G_N_ELEMENTS(sge); i++)
		sge[i] = bench_sge(&p.bench, 100 * i, 100);
	good = bench_wr(1, IBV_WR_SEND, sge);
#define REFUSED(change)           \
	do {                      \
		wr = good;        \
		change;           \
		refused(p.a, wr); \
	} while (0)
	REFUSED(wr.opcode = IBV_WR_TSO);
	REFUSED(wr.opcode = IBV_WR_DRIVER1);
	REFUSED(wr.opcode = IBV_WR_ATOMIC_WRITE);
	REFUSED(wr.opcode = (enum ibv_wr_opcode)100);
	REFUSED(wr.opcode = (enum ibv_wr_opcode) - 1);
	REFUSED(wr.send_flags |= IBV_SEND_IP_CSUM);
	REFUSED(wr.send_flags |= 1u << 5);
	REFUSED(wr.send_flags |= 1u << 31);
	REFUSED(wr.num_sge = G_N_ELEMENTS(sge));
	REFUSED(wr.num_sge = -1);
	REFUSED(wr.num_sge = 65536 + 1);
	REFUSED(wr.sg_list = NULL);
	REFUSED((wr.sg_list = NULL, wr.opcode = IBV_WR_RDMA_WRITE));
	REFUSED((wr.sg_list = NULL, wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD));
	REFUSED(wr.send_flags |= IBV_SEND_INLINE); /* longer than max_inline_data */
	mw = ibv_alloc_mw(p.bench.pd, IBV_MW_TYPE_1);
	foreign = ibv_alloc_mw(other.pd, IBV_MW_TYPE_2);
	g_assert_true(mw != NULL && foreign != NULL);
	REFUSED((wr.opcode = IBV_WR_BIND_MW, wr.bind_mw.mw = NULL));
	REFUSED((wr.opcode = IBV_WR_BIND_MW, wr.bind_mw.mw = mw));
	REFUSED((wr.opcode = IBV_WR_BIND_MW, wr.bind_mw.mw = foreign));
#undef REFUSED
	/* Operations that need answers, on a queue pair without them. */
	uc = bench_qp(&p.bench, IBV_QPT_UC);
	bench_raise(uc, uc, IBV_QPS_RTS);
	wr = good;
	wr.opcode = IBV_WR_RDMA_READ;
	refused(uc, wr);
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	refused(uc, wr);
	wr.opcode = IBV_WR_SEND_WITH_INV;
	refused(uc, wr);
	wr.opcode = IBV_WR_LOCAL_INV;
	refused(uc, wr);
	OK(ibv_destroy_qp(uc));
	OK(ibv_dealloc_mw(mw));
	OK(ibv_dealloc_mw(foreign));
}

/* A request needs RTS; in ERR it is flushed. */
static void
test_states(void)
{
	struct ibv_send_wr wr;
	struct bench bench RI_AT_END(bench_close);

	bench_open(&bench);
	struct ibv_qp *qp RI_AT_END(bench_qp_end) = bench_qp(&bench, IBV_QPT_RC);
	wr = bench_wr(5, IBV_WR_SEND, NULL);
	refused(qp, wr);
	bench_raise(qp, qp, IBV_QPS_INIT);
	refused(qp, wr);
	OK(bench_move(qp, IBV_QPS_RESET));
	bench_raise(qp, qp, IBV_QPS_RTR);
	refused(qp, wr);
	OK(bench_move(qp, IBV_QPS_ERR));
	bench_send(qp, &wr);
	(void)bench_expect(bench.cq, 5, IBV_WC_WR_FLUSH_ERR);
}

/* --- failures ---------------------------------------------------------------------------------------------------- */

/* The completion of the request that failed comes first and has the reason; everything after it is flushed. */
static void
test_failures(void)
{
	static const struct {
		enum ibv_wr_opcode opcode;
		bool bad_lkey, bad_rkey;
		enum ibv_wc_status status;
	} rows[] = {
		{IBV_WR_SEND, true, false, IBV_WC_LOC_PROT_ERR},
		{IBV_WR_RDMA_WRITE, true, false, IBV_WC_LOC_PROT_ERR},
		{IBV_WR_RDMA_WRITE, false, true, IBV_WC_REM_ACCESS_ERR},
		{IBV_WR_RDMA_READ, false, true, IBV_WC_REM_ACCESS_ERR},
		{IBV_WR_ATOMIC_FETCH_AND_ADD, false, true, IBV_WC_REM_ACCESS_ERR},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		struct ibv_send_wr wr[2];
		struct ibv_sge sge;
		struct pair p RI_AT_END(pair_close);

		pair_open(&p, IBV_QPT_RC);
		sge = bench_sge(&p.bench, 0, 8);
		sge.lkey ^= rows[i].bad_lkey ? 1u << 20 : 0;
		bench_recv(p.a, 50, &sge);
		wr[0] = remote_wr(&p, rows[i].opcode, &sge, FAR);
		wr[0].wr.rdma.rkey ^= rows[i].bad_rkey ? 1u << 20 : 0;
		if (rows[i].opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
			wr[0].wr.atomic.remote_addr = (uintptr_t)p.bench.memory + FAR;
			wr[0].wr.atomic.rkey = p.bench.mr->rkey ^ 1u << 20;
		}
		wr[0].next = &wr[1];
		wr[1] = bench_wr(8, IBV_WR_RDMA_WRITE, NULL);
		bench_send(p.a, wr);
		(void)bench_expect(p.bench.cq, 7, rows[i].status);
		for (uint64_t sum = 0; sum != 58;) {
			struct ibv_wc wc = bench_poll(p.bench.cq);

			g_assert_cmpint(wc.status, ==, IBV_WC_WR_FLUSH_ERR);
			g_assert_cmpuint(wc.qp_num, ==, p.a->qp_num);
			sum += wc.wr_id;
		}
		g_assert_cmpint(bench_state(p.a), ==, IBV_QPS_ERR);
	}
}

/* A receive that is too short, and one in memory that may not be written. */
static void
test_bad_receive(void)
{
	for (unsigned row = 0; row < 2; row++) {
		struct ibv_send_wr wr;
		struct ibv_sge from, to;
		struct ibv_wc wc;
		struct pair p RI_AT_END(pair_close);

		pair_open(&p, IBV_QPT_RC);
		from = bench_sge(&p.bench, 0, 100);
		to = bench_sge(&p.bench, FAR, row == 0 ? 99 : 100);
		to.lkey ^= row == 0 ? 0 : 1u << 20;
		bench_recv(p.b, 50, &to);
		wr = bench_wr(7, IBV_WR_SEND, &from);
		bench_send(p.a, &wr);
		for (unsigned i = 0; i < 2; i++) {
			wc = bench_poll(p.bench.cq);
			if (wc.wr_id == 7)
				g_assert_cmpint(wc.status, ==,
						row == 0 ? IBV_WC_REM_INV_REQ_ERR
							 : IBV_WC_REM_OP_ERR);
			else
				g_assert_cmpint(wc.status, ==,
						row == 0 ? IBV_WC_LOC_LEN_ERR
							 : IBV_WC_LOC_PROT_ERR);
		}
	}
}

/* The rights of a queue pair can change, and count. */
static void
test_rights(void)
{
	struct ibv_qp_attr attr = {.qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct pair p RI_AT_END(pair_close);

	pair_open(&p, IBV_QPT_RC);
	OK(ibv_modify_qp(p.b, &attr, IBV_QP_ACCESS_FLAGS));
	sge = bench_sge(&p.bench, 0, 64);
	wr = remote_wr(&p, IBV_WR_RDMA_WRITE, &sge, FAR);
	bench_send(p.a, &wr);
	(void)bench_expect(p.bench.cq, 7, IBV_WC_SUCCESS);
	wr = remote_wr(&p, IBV_WR_RDMA_READ, &sge, FAR);
	bench_send(p.a, &wr);
	(void)bench_expect(p.bench.cq, 7, IBV_WC_REM_ACCESS_ERR);
}

/* Only requests that ask for it have completions, unless the queue pair has them all. */
static void
test_signals(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct pair p RI_AT_END(pair_close);

	pair_open(&p, IBV_QPT_RC);
	sge = bench_sge(&p.bench, 0, 64);
	wr = remote_wr(&p, IBV_WR_RDMA_WRITE, &sge, FAR);
	wr.send_flags = 0;
	bench_send(p.a, &wr);
	bench_expect_none(p.bench.cq);
	init = bench_init(&p.bench, IBV_QPT_RC);
	init.sq_sig_all = 1;
	struct ibv_qp *all RI_AT_END(bench_qp_end) = ibv_create_qp(p.bench.pd, &init);
	OK(bench_move(p.b, IBV_QPS_RESET));
	bench_connect(all, p.b);
	bench_send(all, &wr);
	g_assert_cmpuint(bench_expect(p.bench.cq, 7, IBV_WC_SUCCESS).qp_num, ==, all->qp_num);
}

int
main(int argc, char **argv)
{
	bench_adapter("emul:ib");
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/door/work/send", GINT_TO_POINTER(IBV_QPT_RC), test_send);
	g_test_add_data_func("/door/work/send-uc", GINT_TO_POINTER(IBV_QPT_UC), test_send);
	g_test_add_data_func("/door/work/write", GINT_TO_POINTER(IBV_QPT_RC), test_write);
	g_test_add_data_func("/door/work/write-uc", GINT_TO_POINTER(IBV_QPT_UC), test_write);
	g_test_add_func("/door/work/read-and-atomics", test_read_and_atomics);
	g_test_add_func("/door/work/window-narrow", test_window_narrow);
	g_test_add_func("/door/work/region-stays", test_region_stays);
	g_test_add_func("/door/work/window-wide", test_window_wide);
	g_test_add_func("/door/work/list-with-a-bad-one", test_list_with_a_bad_one);
	g_test_add_func("/door/work/receives-with-a-bad-one", test_receives_with_a_bad_one);
	g_test_add_func("/door/work/full", test_full);
	g_test_add_func("/door/work/refused", test_refused);
	g_test_add_func("/door/work/states", test_states);
	g_test_add_func("/door/work/failures", test_failures);
	g_test_add_func("/door/work/bad-receive", test_bad_receive);
	g_test_add_func("/door/work/rights", test_rights);
	g_test_add_func("/door/work/signals", test_signals);
	return g_test_run();
}
