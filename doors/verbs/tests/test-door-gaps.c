/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* What the other tests of verbs come by without looking, among it borders that a provider checks again. */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "door_qp.h"
#include "verbs_bench.h"

#define FAR 32768
#define GRH 40

/* --- states ------------------------------------------------------------------------------------------------ */

static int
move_with(struct ibv_qp *qp, const struct ibv_qp_attr *attr, enum ibv_qp_state to, int more)
{
	struct ibv_qp_attr next = *attr;

	next.qp_state = to;
	return ibv_modify_qp(qp, &next, bench_mask(qp->qp_type, to) | more);
}

static void
write_to(struct bench *bench, struct ibv_qp *qp, enum ibv_wc_status status)
{
	struct ibv_sge sge = bench_sge(bench, 0, 64);
	struct ibv_send_wr wr = bench_wr(3, IBV_WR_RDMA_WRITE, &sge);

	wr.wr.rdma.remote_addr = (uintptr_t)bench->memory + FAR;
	wr.wr.rdma.rkey = bench->mr->rkey;
	bench_send(qp, &wr);
	(void)bench_expect(bench->cq, 3, status);
}

/* A move that is refused leaves the rights as they were, which providers get before they see the other values. */
static void
test_values_first(void)
{
	struct ibv_qp_attr good, bad;
	struct bench bench RI_AT_END(bench_close);

	bench_open(&bench);
	struct ibv_qp *a RI_AT_END(bench_qp_end) = bench_qp(&bench, IBV_QPT_RC);
	struct ibv_qp *b RI_AT_END(bench_qp_end) = bench_qp(&bench, IBV_QPT_RC);
	bench_raise(a, b, IBV_QPS_RTS);
	bench_raise(b, a, IBV_QPS_INIT);
	good = bench_attr(b, a);
#define REFUSES(to, change)                                                                 \
	do {                                                                                \
		bad = good;                                                                 \
		bad.qp_access_flags = 0;                                                    \
		change;                                                                     \
		g_assert_cmpint(move_with(b, &bad, (to), IBV_QP_ACCESS_FLAGS), ==, EINVAL); \
	} while (0)
	REFUSES(IBV_QPS_RTR, bad.path_mtu = (enum ibv_mtu)0);
	REFUSES(IBV_QPS_RTR, bad.path_mtu = (enum ibv_mtu)6);
	REFUSES(IBV_QPS_RTR, bad.max_dest_rd_atomic = 129);
	REFUSES(IBV_QPS_RTR, bad.min_rnr_timer = 32);
	OK(move_with(b, &good, IBV_QPS_RTR, 0));
	REFUSES(IBV_QPS_RTS, bad.timeout = 32);
	REFUSES(IBV_QPS_RTS, bad.retry_cnt = 8);
	REFUSES(IBV_QPS_RTS, bad.rnr_retry = 8);
	REFUSES(IBV_QPS_RTS, bad.max_rd_atomic = 129);
#undef REFUSES
	OK(move_with(b, &good, IBV_QPS_RTS, 0));
	bad.min_rnr_timer = 32;
	g_assert_cmpint(ibv_modify_qp(b, &bad, IBV_QP_MIN_RNR_TIMER), ==, EINVAL);
	write_to(&bench, a, IBV_WC_SUCCESS);
}

/* Numbers have 24 bits. */
static void
test_numbers(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr, told;
	struct ibv_qp *a;
	struct bench bench RI_AT_END(bench_close);

	bench_open(&bench);
	a = bench_qp(&bench, IBV_QPT_RC);
	struct ibv_qp *b RI_AT_END(bench_qp_end) = bench_qp(&bench, IBV_QPT_RC);
	bench_raise(b, a, IBV_QPS_RTS);
	bench_raise(a, b, IBV_QPS_INIT);
	attr = bench_attr(a, b);
	attr.dest_qp_num |= 0xab000000;
	attr.rq_psn |= 0xcd000000;
	attr.sq_psn |= 0xef000000;
	attr.path_mtu = IBV_MTU_256;
	OK(move_with(a, &attr, IBV_QPS_RTR, 0));
	OK(move_with(a, &attr, IBV_QPS_RTS, 0));
	OK(ibv_query_qp(a, &told, 0, &init));
	g_assert_cmpuint(told.dest_qp_num, ==, b->qp_num);
	g_assert_cmpuint(told.rq_psn, ==, attr.rq_psn & 0xffffff);
	g_assert_cmpuint(told.sq_psn, ==, attr.sq_psn & 0xffffff);
	write_to(&bench, a, IBV_WC_SUCCESS);
	OK(ibv_destroy_qp(a));
	/* High packet numbers, in full. */
	a = bench_qp(&bench, IBV_QPT_RC);
	bench_raise(a, b, IBV_QPS_INIT);
	attr = bench_attr(a, b);
	attr.rq_psn = attr.sq_psn = 0xfedcba;
	OK(move_with(a, &attr, IBV_QPS_RTR, 0));
	OK(move_with(a, &attr, IBV_QPS_RTS, 0));
	OK(ibv_query_qp(a, &told, 0, &init));
	g_assert_cmpuint(told.rq_psn, ==, 0xfedcba);
	g_assert_cmpuint(told.sq_psn, ==, 0xfedcba);
	OK(ibv_destroy_qp(a));
}

/* Receives are dropped from their own completion queue, too. */
static void
test_reset_two_queues(void)
{
	struct ibv_qp_init_attr init;
	struct bench bench RI_AT_END(bench_close);
	struct ibv_cq *recv_cq;
	struct ibv_qp *qp;

	bench_open(&bench);
	recv_cq = ibv_create_cq(bench.context, 16, NULL, NULL, 0);
	init = bench_init(&bench, IBV_QPT_RC);
	init.recv_cq = recv_cq;
	qp = ibv_create_qp(bench.pd, &init);
	bench_raise(qp, qp, IBV_QPS_INIT);
	bench_recv(qp, 1, NULL);
	bench_recv(qp, 2, NULL);
	OK(bench_move(qp, IBV_QPS_ERR));
	(void)bench_expect(recv_cq, 1, IBV_WC_WR_FLUSH_ERR);
	OK(bench_move(qp, IBV_QPS_RESET));
	bench_expect_none(recv_cq);
	OK(ibv_destroy_qp(qp));
	OK(ibv_destroy_cq(recv_cq));
}

/* --- queue pairs --------------------------------------------------------------------------------------------- */

/* Members that the mask does not name count for nothing, and sizes of 0 are sizes. */
static void
test_absent_members(void)
{
	struct ibv_qp_init_attr_ex ex;
	struct bench bench RI_AT_END(bench_close);
	struct ibv_qp *qp;

	bench_open(&bench);
	memset(&ex, 0xff, sizeof(ex));
	memset(&ex.cap, 0, sizeof(ex.cap));
	ex.send_cq = ex.recv_cq = bench.cq;
	ex.srq = NULL;
	ex.qp_type = IBV_QPT_RC;
	ex.sq_sig_all = 0;
	ex.pd = bench.pd;
	ex.cap.max_send_wr = ex.cap.max_recv_wr = 1;
	ex.comp_mask = IBV_QP_INIT_ATTR_PD;
	qp = door_qp_create_ex(bench.context, &ex);
	g_assert_nonnull(qp);
	OK(ibv_destroy_qp(qp));
	ex.pd = ibv_alloc_pd(bench.context);
	qp = door_qp_create_ex(bench.context, &ex);
	g_assert_nonnull(qp);
	g_assert_cmpint(ibv_dealloc_pd(ex.pd), ==, EBUSY);
	OK(ibv_destroy_qp(qp));
	OK(ibv_dealloc_pd(ex.pd));
}

/* What is left of a bench whose context is closed. */
static void
bench_rest(struct bench *bench)
{
	OK(ibv_dereg_mr(bench->mr));
	OK(ibv_destroy_cq(bench->cq));
	OK(ibv_destroy_comp_channel(bench->channel));
	OK(ibv_dealloc_pd(bench->pd));
	g_free(bench->memory);
}

/* The queue pairs of a context that is closed end, and no others. */
static void
test_close_ends(void)
{
	struct ibv_qp *a;
	struct bench one;
	struct bench two RI_AT_END(bench_close);

	bench_open(&one);
	bench_open(&two);
	a = bench_qp(&one, IBV_QPT_RC);
	struct ibv_qp *b RI_AT_END(bench_qp_end) = bench_qp(&two, IBV_QPT_RC);
	struct ibv_qp *other RI_AT_END(bench_qp_end) = bench_qp(&two, IBV_QPT_RC);
	bench_connect(a, b);
	bench_raise(other, other, IBV_QPS_RTS);
	bench_recv(b, 9, NULL);
	OK(ibv_close_device(one.context));
	UNTIL(bench_state(a) == IBV_QPS_ERR);
	g_assert_cmpint(bench_state(other), ==, IBV_QPS_RTS);
	g_assert_cmpint(bench_state(b), ==, IBV_QPS_RTS);
	OK(ibv_destroy_qp(a));
	bench_rest(&one);
}

/* More queue pairs than one look at a row of the table takes, all with numbers of that row. */
static void
test_close_row(void)
{
	enum {
		MANY = 70
	};
	struct ibv_qp *kept[MANY] = {NULL};
	unsigned count = 0;
	struct bench one;

	bench_open(&one);
	while (count < MANY) {
		struct ibv_qp *qp = bench_qp(&one, IBV_QPT_RC);

		if (count != 0 && (qp->qp_num - kept[0]->qp_num) % DOOR_QP_ROWS != 0)
			OK(ibv_destroy_qp(qp));
		else
			kept[count++] = qp;
	}
	for (unsigned i = 0; i < MANY; i++)
		bench_raise(kept[i], kept[i], IBV_QPS_RTS);
	OK(ibv_close_device(one.context));
	for (unsigned i = 0; i < MANY; i++) {
		UNTIL(bench_state(kept[i]) == IBV_QPS_ERR);
		OK(ibv_destroy_qp(kept[i]));
	}
	bench_rest(&one);
}

static void
test_foreign_srq(void)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_srq_init_attr_ex ex = {.attr = {.max_wr = 4, .max_sge = 1},
					  .comp_mask =
						  IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE,
					  .srq_type = IBV_SRQT_BASIC};
	struct ibv_qp_init_attr_ex whole;
	struct ibv_qp_init_attr qp_init;
	struct bench one RI_AT_END(bench_close), two RI_AT_END(bench_close);
	struct ibv_srq *srq;

	bench_open(&one);
	bench_open(&two);
	srq = ibv_create_srq(two.pd, &init);
	g_assert_nonnull(srq);
	qp_init = bench_init(&one, IBV_QPT_RC);
	qp_init.srq = srq;
	NO_OBJECT(ibv_create_qp(one.pd, &qp_init), EINVAL);
	OK(ibv_destroy_srq(srq));
	ex.pd = two.pd;
	NO_OBJECT(door_srq_create_ex(one.context, &ex), EINVAL);
	srq = door_srq_create_ex(two.context, &ex);
	g_assert_nonnull(srq);
	OK(ibv_destroy_srq(srq));
	/* Nor does a domain of another context do. */
	whole = (struct ibv_qp_init_attr_ex){.send_cq = two.cq,
					     .recv_cq = two.cq,
					     .qp_type = IBV_QPT_RC,
					     .pd = one.pd,
					     .comp_mask = IBV_QP_INIT_ATTR_PD};
	NO_OBJECT(door_qp_create_ex(two.context, &whole), EINVAL);
}

/* --- requests ------------------------------------------------------------------------------------------------ */

struct pair {
	struct bench bench;
	struct ibv_qp *a, *b;
};

static void
pair_open(struct pair *p)
{
	bench_open(&p->bench);
	p->a = bench_qp(&p->bench, IBV_QPT_RC);
	p->b = bench_qp(&p->bench, IBV_QPT_RC);
	bench_connect(p->a, p->b);
	bench_fill(&p->bench, 0, FAR, 5);
}

static void
pair_close(struct pair *p)
{
	OK(ibv_destroy_qp(p->a));
	OK(ibv_destroy_qp(p->b));
	bench_close(&p->bench);
}

static struct ibv_send_wr
bind_wr(struct ibv_mw *mw, uint32_t key, struct ibv_mr *mr, uint64_t length)
{
	struct ibv_send_wr wr = bench_wr(2, IBV_WR_BIND_MW, NULL);

	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = key;
	wr.bind_mw.bind_info =
		(struct ibv_mw_bind_info){.mr = mr,
					  .addr = mr != NULL ? (uintptr_t)mr->addr : 0,
					  .length = length,
					  .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
	return wr;
}

static void
bind(struct bench *bench, struct ibv_qp *qp, struct ibv_mw *mw)
{
	struct ibv_send_wr wr =
		bind_wr(mw, mw->rkey = ibv_inc_rkey(mw->rkey), bench->mr, BENCH_MEMORY);

	bench_send(qp, &wr);
	(void)bench_expect(bench->cq, 2, IBV_WC_SUCCESS);
}

/* A request without data does not look at its segments. */
static void
test_no_data(void)
{
	struct ibv_sge wild = {.addr = 1, .length = 100, .lkey = 0xdead};
	struct ibv_send_wr wr;
	struct ibv_mw *mw;
	struct pair p RI_AT_END(pair_close);

	pair_open(&p);
	mw = ibv_alloc_mw(p.bench.pd, IBV_MW_TYPE_2);
	wr = bind_wr(mw, mw->rkey = ibv_inc_rkey(mw->rkey), p.bench.mr, 100);
	wr.sg_list = &wild;
	wr.num_sge = 1;
	bench_send(p.a, &wr);
	(void)bench_expect(p.bench.cq, 2, IBV_WC_SUCCESS);
	wr = bench_wr(4, IBV_WR_LOCAL_INV, &wild);
	wr.invalidate_rkey = mw->rkey;
	bench_send(p.a, &wr);
	(void)bench_expect(p.bench.cq, 4, IBV_WC_SUCCESS);
	OK(ibv_dealloc_mw(mw));
}

static void
test_bind(void)
{
	struct ibv_mw_bind wide = {.wr_id = 5, .send_flags = IBV_SEND_SIGNALED};
	struct ibv_mw *mw, *narrow;
	struct ibv_send_wr wr, *bad;
	struct pair p RI_AT_END(pair_close);
	struct bench other RI_AT_END(bench_close);
	uint32_t key;

	pair_open(&p);
	bench_open(&other);
	narrow = ibv_alloc_mw(p.bench.pd, IBV_MW_TYPE_2);
	mw = ibv_alloc_mw(p.bench.pd, IBV_MW_TYPE_1);
	key = ibv_inc_rkey(narrow->rkey);
	wr = bind_wr(narrow, key, other.mr, 100);
	g_assert_cmpint(ibv_post_send(p.a, &wr, &bad), ==, EINVAL);
	wr = bind_wr(narrow, key, NULL, 100);
	g_assert_cmpint(ibv_post_send(p.a, &wr, &bad), ==, EINVAL);
	/* Neither refusal has left a word of whose window it is. */
	g_assert_cmpuint(atomic_load(&door_mw_of(narrow)->bound_by), ==, 0);
	/* Where the queue is full, the key is the one before. */
	key = mw->rkey;
	wr = bench_wr(1, IBV_WR_RDMA_WRITE, NULL);
	wr.send_flags = 0;
	while (ibv_post_send(p.a, &wr, &bad) == 0)
		;
	wide.bind_info = bind_wr(mw, 0, p.bench.mr, 100).bind_mw.bind_info;
	g_assert_cmpint(ibv_bind_mw(p.a, mw, &wide), ==, ENOMEM);
	g_assert_cmpuint(mw->rkey, ==, key);
	OK(ibv_dealloc_mw(mw));
	OK(ibv_dealloc_mw(narrow));
}

/* Windows that a destroyed queue pair has bound become new ones; those of other queue pairs stay bound. */
static void
test_windows(void)
{
	struct ibv_parent_domain_init_attr init = {0};
	struct ibv_mw *mine, *yours, *third;
	struct ibv_qp_init_attr qp_init;
	struct ibv_pd *parent;
	struct door_pd *pd;
	struct pair p RI_AT_END(pair_close);
	uint32_t key;

	pair_open(&p);
	pd = door_pd_of(p.bench.pd);
	mine = ibv_alloc_mw(p.bench.pd, IBV_MW_TYPE_2);
	yours = ibv_alloc_mw(p.bench.pd, IBV_MW_TYPE_2);
	third = ibv_alloc_mw(p.bench.pd, IBV_MW_TYPE_2);
	bind(&p.bench, p.a, mine);
	bind(&p.bench, p.b, yours);
	key = yours->rkey;
	OK(ibv_destroy_qp(p.a));
	g_assert_cmpuint(yours->rkey, ==, key);
	g_assert_cmpuint(atomic_load(&door_mw_of(yours)->bound_by), ==, p.b->qp_num);
	g_assert_cmpuint(atomic_load(&door_mw_of(mine)->bound_by), ==, 0);
	OK(ibv_dealloc_mw(yours));
	OK(ibv_dealloc_mw(third));
	OK(ibv_dealloc_mw(mine));
	g_assert_null(pd->windows);
	/* All of it through a parent domain, whose windows are those of its base. */
	init.pd = p.bench.pd;
	parent = ibv_alloc_parent_domain(p.bench.context, &init);
	qp_init = bench_init(&p.bench, IBV_QPT_RC);
	p.a = ibv_create_qp(parent, &qp_init);
	mine = ibv_alloc_mw(parent, IBV_MW_TYPE_2);
	OK(bench_move(p.b, IBV_QPS_RESET));
	bench_connect(p.a, p.b);
	bind(&p.bench, p.a, mine);
	key = mine->rkey;
	OK(ibv_destroy_qp(p.a));
	g_assert_cmpuint(mine->rkey >> 8, !=, key >> 8);
	OK(ibv_dealloc_mw(mine));
	OK(ibv_dealloc_pd(parent));
	p.a = bench_qp(&p.bench, IBV_QPT_RC);
}

/* Memory with no rights at all can be sent. */
static void
test_read_only(void)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_mr *mr;
	struct pair p RI_AT_END(pair_close);

	pair_open(&p);
	mr = ibv_reg_mr(p.bench.pd, p.bench.memory, 4096, 0);
	sge = (struct ibv_sge){(uintptr_t)p.bench.memory, 100, mr->lkey};
	wr = bench_wr(1, IBV_WR_RDMA_WRITE, &sge);
	wr.wr.rdma.remote_addr = (uintptr_t)p.bench.memory + FAR;
	wr.wr.rdma.rkey = p.bench.mr->rkey;
	bench_send(p.a, &wr);
	(void)bench_expect(p.bench.cq, 1, IBV_WC_SUCCESS);
	g_assert_cmpmem(p.bench.memory + FAR, 100, p.bench.memory, 100);
	OK(ibv_dereg_mr(mr));
}

static void
test_dmabuf(void)
{
	struct bench bench RI_AT_END(bench_close);
	int fd RI_AT_END(ri_at_end_close) = memfd_create("dmabuf", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct ibv_mr *mr;

	OK(ftruncate(fd, 4096));
	OK(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK));
	bench_open(&bench);
	NO_OBJECT(ibv_reg_dmabuf_mr(bench.pd, 0, 4096, 0, fd, BENCH_ALL | IBV_ACCESS_ZERO_BASED),
		  EINVAL);
	mr = ibv_reg_dmabuf_mr(bench.pd, 0, 4096, 0x10000, fd, BENCH_ALL);
	g_assert_nonnull(mr);
	errno = 0;
	g_assert_cmpint(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0), ==,
			IBV_REREG_MR_ERR_INPUT);
	g_assert_cmpint(errno, ==, EOPNOTSUPP);
	OK(ibv_dereg_mr(mr));
}

/* Requests get under way by themselves, whether the program polls or not; also those before one that is refused. */
static void
test_under_way(void)
{
	struct ibv_send_wr wr[2], *bad;
	struct ibv_sge sge;
	struct pair p RI_AT_END(pair_close);

	pair_open(&p);
	sge = bench_sge(&p.bench, 0, 64);
	wr[0] = bench_wr(1, IBV_WR_RDMA_WRITE, &sge);
	wr[0].wr.rdma.remote_addr = (uintptr_t)p.bench.memory + FAR;
	wr[0].wr.rdma.rkey = p.bench.mr->rkey;
	bench_send(p.a, &wr[0]);
	UNTIL(memcmp(p.bench.memory + FAR, p.bench.memory, 64) == 0);
	memset(p.bench.memory + FAR, 0, 64);
	wr[1] = wr[0];
	wr[1].opcode = IBV_WR_TSO;
	wr[0].next = &wr[1];
	g_assert_cmpint(ibv_post_send(p.a, wr, &bad), ==, EINVAL);
	g_assert_true(bad == &wr[1]);
	UNTIL(memcmp(p.bench.memory + FAR, p.bench.memory, 64) == 0);
}

/* Numbers of segments whose low bits alone look right. */
static void
test_segments(void)
{
	static const int wild[] = {65536 + 1, INT32_MIN + 1, -65535, -1};
	struct ibv_recv_wr recv, *bad_recv;
	struct ibv_send_wr wr, *bad;
	struct ibv_sge sge;
	struct pair p RI_AT_END(pair_close);

	pair_open(&p);
	sge = bench_sge(&p.bench, 0, 64);
	for (size_t i = 0; i < G_N_ELEMENTS(wild); i++) {
		wr = bench_wr(1, IBV_WR_SEND, &sge);
		wr.num_sge = wild[i];
		g_assert_cmpint(ibv_post_send(p.a, &wr, &bad), ==, EINVAL);
		recv = (struct ibv_recv_wr){.sg_list = &sge, .num_sge = wild[i]};
		g_assert_cmpint(ibv_post_recv(p.a, &recv, &bad_recv), ==, EINVAL);
		g_assert_true(bad == &wr && bad_recv == &recv);
	}
}

/* --- requests that are built ----------------------------------------------------------------------------------- */

static struct ibv_qp *
built_qp(struct bench *bench)
{
	struct ibv_qp_init_attr_ex init = {
		.send_cq = bench->cq,
		.recv_cq = bench->cq,
		.cap = bench_init(bench, IBV_QPT_RC).cap,
		.qp_type = IBV_QPT_RC,
		.pd = bench->pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_BIND_MW};
	struct ibv_qp *qp = ibv_create_qp_ex(bench->context, &init);

	g_assert_nonnull(qp);
	return qp;
}

static void
write_built(struct bench *bench, struct ibv_qp_ex *ex, size_t from, uint32_t length)
{
	ex->wr_id = 1;
	ex->wr_flags = 0;
	ibv_wr_rdma_write(ex, bench->mr->rkey, (uintptr_t)bench->memory + FAR + from);
	ibv_wr_set_inline_data(ex, bench->memory + from, length);
}

/* A pair whose first queue pair has a builder, which is returned. */
static struct ibv_qp_ex *
pair_open_built(struct pair *p)
{
	pair_open(p);
	OK(ibv_destroy_qp(p->a));
	p->a = built_qp(&p->bench);
	OK(bench_move(p->b, IBV_QPS_RESET));
	bench_connect(p->a, p->b);
	return ibv_qp_to_qp_ex(p->a);
}

/* A list for which the queue has no place goes out as far as there was place, and arrives. */
static void
builder_full(unsigned room)
{
	struct ibv_qp_init_attr init;
	struct ibv_send_wr wr, *bad;
	struct ibv_qp_attr attr;
	struct ibv_qp_ex *ex;
	struct pair p RI_AT_END(pair_close);

	ex = pair_open_built(&p);
	OK(ibv_query_qp(p.a, &attr, 0, &init));
	wr = bench_wr(1, IBV_WR_RDMA_WRITE, NULL);
	wr.send_flags = 0;
	for (unsigned i = 0; i + room < init.cap.max_send_wr; i++)
		OK(ibv_post_send(p.a, &wr, &bad));
	ibv_wr_start(ex);
	for (size_t i = 0; i < 4; i++)
		write_built(&p.bench, ex, 64 * i, 64);
	g_assert_cmpint(ibv_wr_complete(ex), ==, ENOMEM);
	UNTIL(memcmp(p.bench.memory + FAR, p.bench.memory, (size_t)64 * room) == 0);
}

/* Of a list that has not all its room those in front are carried out, however few they are. */
static void
test_builder_full(void)
{
	for (unsigned room = 1; room <= 3; room++)
		builder_full(room);
}

/* The builder's memory grows by what one request needs. */
static void
test_builder_grows(void)
{
	struct ibv_qp_ex *ex;
	struct pair p RI_AT_END(pair_close);

	ex = pair_open_built(&p);
	for (unsigned round = 0; round < 3; round++) {
		memset(p.bench.memory + FAR, 0, 1024);
		ibv_wr_start(ex);
		for (size_t i = 0; i < 12; i++)
			write_built(&p.bench, ex, 64 * i, 64);
		ex->wr_flags = 0;
		OK(ibv_wr_complete(ex));
		UNTIL(memcmp(p.bench.memory + FAR, p.bench.memory, 12 * 64) == 0);
		write_to(&p.bench, p.a, IBV_WC_SUCCESS); /* its completion frees the places */
	}
}

/* After a mistake none of the requests of a list is posted, and the error is that of the first mistake. */
static void
test_builder_mistakes(void)
{
	struct ibv_sge sges[BENCH_SGE + 60];
	static uint8_t octets[4096];
	struct ibv_ah_attr way = {.port_num = 1, .dlid = 1};
	struct ibv_qp_ex *ex;
	struct ibv_ah *ah;
	struct pair p RI_AT_END(pair_close);

	ex = pair_open_built(&p);
	ah = ibv_create_ah(p.bench.pd, &way);
	g_assert_nonnull(ah);
	for (size_t i = 0; i < G_N_ELEMENTS(sges); i++)
		sges[i] = bench_sge(&p.bench, i, 1);
#define MISTAKE(error, ...)                                        \
	do {                                                       \
		ibv_wr_start(ex);                                  \
		write_built(&p.bench, ex, 0, 64);                  \
		write_built(&p.bench, ex, 64, 64);                 \
		__VA_ARGS__;                                       \
		g_assert_cmpint(ibv_wr_complete(ex), ==, (error)); \
		bench_expect_none(p.bench.cq);                     \
		g_assert_cmpuint(p.bench.memory[FAR + 1], ==, 0);  \
	} while (0)
	g_assert_cmpuint(p.bench.memory[1], !=, 0);
	MISTAKE(EINVAL, ibv_wr_set_inline_data(ex, octets, sizeof(octets)));
	MISTAKE(EINVAL, ibv_wr_set_sge_list(ex, G_N_ELEMENTS(sges), sges));
	MISTAKE(EINVAL, ibv_wr_set_sge_list(ex, 1, NULL));
	MISTAKE(EINVAL, ibv_wr_set_inline_data_list(ex, 1, NULL));
	MISTAKE(EINVAL, ibv_wr_set_ud_addr(ex, ah, 1, 2));
	MISTAKE(EOPNOTSUPP, ibv_wr_set_xrc_srqn(ex, 1));
	MISTAKE(EINVAL, (ibv_wr_set_ud_addr(ex, ah, 1, 2), ibv_wr_send_tso(ex, NULL, 0, 0)));
#undef MISTAKE
	OK(ibv_destroy_ah(ah));
}

/* A window that was bound by the builder does not hold its queue pair either. */
static void
test_builder_window(void)
{
	struct ibv_mw_bind_info info;
	struct ibv_qp_ex *ex;
	struct ibv_mw *mw;
	struct pair p RI_AT_END(pair_close);
	uint32_t key;

	ex = pair_open_built(&p);
	mw = ibv_alloc_mw(p.bench.pd, IBV_MW_TYPE_2);
	key = ibv_inc_rkey(mw->rkey);
	info = bind_wr(mw, key, p.bench.mr, 100).bind_mw.bind_info;
	ibv_wr_start(ex);
	ex->wr_id = 1;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_bind_mw(ex, mw, key, &info);
	OK(ibv_wr_complete(ex));
	(void)bench_expect(p.bench.cq, 1, IBV_WC_SUCCESS);
	OK(ibv_destroy_qp(p.a));
	g_assert_cmpuint(mw->rkey >> 8, !=, key >> 8);
	OK(ibv_dealloc_mw(mw));
	p.a = bench_qp(&p.bench, IBV_QPT_RC);
}

/* --- completions ------------------------------------------------------------------------------------------------- */

#define MANY 40

/* Is everything completed that was posted? */
static bool
is_quiet(const struct door_qp *qp)
{
	const struct kal_id_req req = {.id = qp->id};
	struct ri_qp_attr attr = {.quiescent = false};

	(void)session_progress(&qp->adapter->session, 16);
	OK(door_call(qp->adapter, KAL_QP_QUERY, &req, sizeof(req), &attr, sizeof(attr)));
	return attr.quiescent;
}

/* A queue pair with `num` flushed receives, whose completions nobody has polled. */
static struct ibv_qp *
flushed(struct bench *bench, unsigned num)
{
	struct ibv_qp_init_attr init = bench_init(bench, IBV_QPT_RC);
	struct ibv_qp *qp;

	init.cap.max_recv_wr = num;
	qp = ibv_create_qp(bench->pd, &init);
	g_assert_nonnull(qp);
	bench_raise(qp, qp, IBV_QPS_INIT);
	for (unsigned i = 0; i < num; i++)
		bench_recv(qp, i, NULL);
	OK(bench_move(qp, IBV_QPS_ERR));
	UNTIL(is_quiet(door_qp_of(qp)));
	return qp;
}

/* As many as the program has room for, though the door takes fewer from the provider at once. */
static void
test_poll_many(void)
{
	struct ibv_wc wc[MANY + 1];
	struct bench bench RI_AT_END(bench_close);

	bench_open(&bench);
	struct ibv_qp *qp RI_AT_END(bench_qp_end) = flushed(&bench, MANY);
	g_assert_cmpint(ibv_poll_cq(bench.cq, MANY - 1, wc), ==, MANY - 1);
	for (unsigned i = 0; i < MANY - 1; i++)
		g_assert_cmpuint(wc[i].wr_id, ==, i);
	g_assert_cmpint(ibv_poll_cq(bench.cq, MANY, wc), ==, 1);
	g_assert_cmpuint(wc[0].wr_id, ==, MANY - 1);
}

/* Completions of a queue pair that is gone are gone. */
static void
test_gone(void)
{
	struct bench bench RI_AT_END(bench_close);
	struct ibv_qp *qp;

	bench_open(&bench);
	qp = flushed(&bench, 4);
	(void)bench_expect(bench.cq, 0, IBV_WC_WR_FLUSH_ERR);
	OK(ibv_destroy_qp(qp));
	bench_expect_none(bench.cq);
}

/* A reset leaves completions of other queue pairs, which make an event like those that come later. */
static void
test_kept(void)
{
	struct bench bench RI_AT_END(bench_close);
	struct ibv_cq *cq;
	void *context;

	bench_open(&bench);
	struct ibv_qp *other RI_AT_END(bench_qp_end) = flushed(&bench, 3);
	struct ibv_qp *qp RI_AT_END(bench_qp_end) = bench_qp(&bench, IBV_QPT_RC);
	OK(bench_move(qp, IBV_QPS_RESET));
	OK(ibv_req_notify_cq(bench.cq, 0));
	g_assert_true(bench_event_waits(bench.channel)); /* or the next call never returns */
	OK(ibv_get_cq_event(bench.channel, &cq, &context));
	g_assert_true(cq == bench.cq && context == &bench);
	ibv_ack_cq_events(bench.cq, 1);
	for (unsigned i = 0; i < 3; i++)
		(void)bench_expect(bench.cq, i, IBV_WC_WR_FLUSH_ERR);
	bench_expect_none(bench.cq);
	/* A reset that finds none to keep is no reason for an event. */
	OK(bench_move(qp, IBV_QPS_RESET));
	OK(ibv_req_notify_cq(bench.cq, 0));
	g_assert_false(bench_event_waits(bench.channel));
}

static void
test_resize(void)
{
	struct ibv_wc wc[MANY];
	struct bench bench RI_AT_END(bench_close);

	bench_open(&bench);
	struct ibv_qp *one RI_AT_END(bench_qp_end) = flushed(&bench, MANY);
	g_assert_cmpint(ibv_resize_cq(bench.cq, MANY / 2), ==, EINVAL);
	OK(ibv_resize_cq(bench.cq, 1000));
	struct ibv_qp *two RI_AT_END(bench_qp_end) = flushed(&bench, MANY);
	for (unsigned i = 0; i < 2; i++) {
		g_assert_cmpint(ibv_poll_cq(bench.cq, MANY, wc), ==, MANY);
		for (unsigned k = 0; k < MANY; k++) {
			g_assert_cmpuint(wc[k].wr_id, ==, k);
			g_assert_cmpuint(wc[k].qp_num, ==, i == 0 ? one->qp_num : two->qp_num);
		}
	}
}

static void
test_cqx_status(void)
{
	struct ibv_cq_init_attr_ex init = {.cqe = 16, .wc_flags = IBV_WC_STANDARD_FLAGS};
	struct ibv_poll_cq_attr attr = {0};
	struct ibv_cq *plain;
	struct ibv_cq_ex *cq;
	struct bench bench RI_AT_END(bench_close);
	struct ibv_qp *qp;

	bench_open(&bench);
	cq = ibv_create_cq_ex(bench.context, &init);
	plain = bench.cq;
	bench.cq = ibv_cq_ex_to_cq(cq);
	qp = flushed(&bench, 2);
	OK(ibv_start_poll(cq, &attr));
	g_assert_cmpint(cq->status, ==, IBV_WC_WR_FLUSH_ERR);
	ibv_end_poll(cq);
	OK(ibv_destroy_qp(qp));
	/* Both ways to poll take from one queue, also after one of them has found it empty. */
	bench_expect_none(bench.cq);
	qp = flushed(&bench, 4);
	OK(ibv_start_poll(cq, &attr));
	g_assert_cmpuint(cq->wr_id, ==, 0);
	ibv_end_poll(cq);
	(void)bench_expect(bench.cq, 1, IBV_WC_WR_FLUSH_ERR);
	OK(ibv_start_poll(cq, &attr));
	g_assert_cmpuint(cq->wr_id, ==, 2);
	ibv_end_poll(cq);
	OK(ibv_destroy_qp(qp));
	OK(ibv_destroy_cq(bench.cq));
	bench.cq = plain;
}

/* --- shared receives ------------------------------------------------------------------------------------------- */

static void
test_srq(void)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 8, .max_sge = 1}};
	struct ibv_recv_wr wr = {.num_sge = 65536 + 1}, *bad = NULL;
	struct ibv_srq_attr attr = {.srq_limit = 3};
	struct ibv_qp_init_attr qp_init;
	struct ibv_async_event event;
	const struct door_events *async;
	struct ibv_sge sge;
	struct bench bench RI_AT_END(bench_close);
	struct ibv_srq *srq;
	struct ibv_qp *qp;

	bench_open(&bench);
	async = &door_context_of(bench.context)->async;
	srq = ibv_create_srq(bench.pd, &init);
	sge = bench_sge(&bench, 0, 10);
	wr.sg_list = &sge;
	g_assert_cmpint(ibv_post_srq_recv(srq, &wr, &bad), ==, EINVAL);
	g_assert_true(bad == &wr);
	wr.num_sge = 1;
	for (unsigned i = 0; i < 5; i++)
		OK(ibv_post_srq_recv(srq, &wr, &bad));
	/* The limit stays when only the size changes. */
	OK(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT));
	attr = (struct ibv_srq_attr){.max_wr = 100};
	OK(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR));
	OK(ibv_query_srq(srq, &attr));
	g_assert_cmpuint(attr.srq_limit, ==, 3);
	/* An end makes one event. */
	qp_init = bench_init(&bench, IBV_QPT_RC);
	qp_init.srq = srq;
	qp = ibv_create_qp(bench.pd, &qp_init);
	bench_raise(qp, qp, IBV_QPS_RTS);
	for (unsigned life = 0; life < 2; life++) {
		OK(bench_move(qp, IBV_QPS_ERR));
		g_assert_cmpuint(async->count, ==, 1);
		OK(ibv_get_async_event(bench.context, &event));
		g_assert_cmpint(event.event_type, ==, IBV_EVENT_QP_LAST_WQE_REACHED);
		ibv_ack_async_event(&event);
		OK(bench_move(qp, IBV_QPS_ERR));
		g_assert_cmpuint(async->count, ==, 0);
		OK(bench_move(qp, IBV_QPS_RESET));
		bench_raise(qp, qp, IBV_QPS_RTS);
	}
	OK(ibv_destroy_qp(qp));
	OK(ibv_destroy_srq(srq));
}

/* --- domains ------------------------------------------------------------------------------------------------------ */

static void
test_domains(void)
{
	struct ibv_parent_domain_init_attr init = {0};
	struct ibv_cq_init_attr_ex cq_init = {.cqe = 4, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD};
	struct ibv_td_init_attr td_init = {0};
	struct ibv_pd *base, *parent, *grand;
	struct bench one RI_AT_END(bench_close), two RI_AT_END(bench_close);
	struct ibv_cq_ex *cq;
	struct ibv_td *td;

	bench_open(&one);
	bench_open(&two);
	base = ibv_alloc_pd(one.context);
	init.pd = base;
	init.td = td = ibv_alloc_td(two.context, &td_init);
	NO_OBJECT(ibv_alloc_parent_domain(one.context, &init), EINVAL);
	OK(ibv_dealloc_td(td));
	init.td = NULL;
	parent = ibv_alloc_parent_domain(one.context, &init);
	g_assert_nonnull(parent);
	g_assert_cmpint(ibv_dealloc_pd(base), ==, EBUSY);
	/* A parent domain of a parent domain has the same base. */
	init.pd = parent;
	grand = ibv_alloc_parent_domain(one.context, &init);
	g_assert_nonnull(grand);
	g_assert_true(door_pd_of(grand)->base == door_pd_of(base));
	OK(ibv_dealloc_pd(parent));
	g_assert_cmpint(ibv_dealloc_pd(base), ==, EBUSY);
	cq_init.parent_domain = grand;
	cq = ibv_create_cq_ex(one.context, &cq_init);
	g_assert_nonnull(cq);
	g_assert_cmpint(ibv_dealloc_pd(grand), ==, EBUSY);
	OK(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
	OK(ibv_dealloc_pd(grand));
	OK(ibv_dealloc_pd(base));
}

/* --- answers to datagrams ------------------------------------------------------------------------------------------- */

/* What was sent to a group is answered to its sender; and what came without a header by local identifiers. */
static void
test_answer_to_group(void)
{
	struct ibv_wc wc = {.wc_flags = IBV_WC_GRH, .slid = 9, .sl = 3, .dlid_path_bits = 5};
	struct ibv_ah_attr attr;
	struct ibv_grh grh;
	struct bench bench RI_AT_END(bench_close);

	bench_open(&bench);
	memset(&grh, 0, sizeof(grh));
	memset(&grh.dgid, 0xff, sizeof(grh.dgid));
	OK(ibv_query_gid(bench.context, 1, 0, &grh.sgid));
	OK(ibv_init_ah_from_wc(bench.context, 1, &wc, &grh, &attr));
	g_assert_cmpuint(attr.is_global, ==, 1);
	g_assert_cmpuint(attr.grh.sgid_index, ==, 0);
	g_assert_cmpmem(&attr.grh.dgid, 16, &grh.sgid, 16);
	wc.wc_flags = 0;
	OK(ibv_init_ah_from_wc(bench.context, 1, &wc, NULL, &attr));
	g_assert_cmpuint(attr.is_global, ==, 0);
	g_assert_cmpuint(attr.dlid, ==, 9);
	g_assert_cmpuint(attr.sl, ==, 3);
	g_assert_cmpuint(attr.src_path_bits, ==, 5);
}

/* Groups of a queue pair, attached and detached in any order. A group that is attached twice takes no other's place. */
static void
test_groups(void)
{
	static const union ibv_gid group = {.raw = {0xff, 0x12, [15] = 0x31}};
	struct bench bench RI_AT_END(bench_close);

	bench_open(&bench);
	struct ibv_qp *qp RI_AT_END(bench_qp_end) = bench_qp(&bench, IBV_QPT_UD);
	for (uint16_t lid = 1; lid <= 3; lid++)
		OK(ibv_attach_mcast(qp, &group, lid));
	OK(ibv_attach_mcast(qp, &group, 1));
	for (uint16_t lid = 3; lid >= 1; lid--) {
		OK(ibv_detach_mcast(qp, &group, lid));
		g_assert_cmpint(ibv_detach_mcast(qp, &group, lid), ==, EINVAL);
	}
}

/* Ports that there are not, also where the way needs none. */
static void
test_ah_ports(void)
{
	struct ibv_ah_attr attr = {.port_num = 1, .dlid = 1};
	struct bench bench RI_AT_END(bench_close);
	struct ibv_ah *ah;

	bench_open(&bench);
	ah = ibv_create_ah(bench.pd, &attr);
	g_assert_nonnull(ah);
	OK(ibv_destroy_ah(ah));
	attr.port_num = 0;
	NO_OBJECT(ibv_create_ah(bench.pd, &attr), EINVAL);
	attr.port_num = 2;
	NO_OBJECT(ibv_create_ah(bench.pd, &attr), EINVAL);
}

int
main(int argc, char **argv)
{
	bench_adapter("emul:ib");
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/door/gaps/values-first", test_values_first);
	g_test_add_func("/door/gaps/numbers", test_numbers);
	g_test_add_func("/door/gaps/reset-two-queues", test_reset_two_queues);
	g_test_add_func("/door/gaps/absent-members", test_absent_members);
	g_test_add_func("/door/gaps/close-ends", test_close_ends);
	g_test_add_func("/door/gaps/close-row", test_close_row);
	g_test_add_func("/door/gaps/foreign-srq", test_foreign_srq);
	g_test_add_func("/door/gaps/no-data", test_no_data);
	g_test_add_func("/door/gaps/bind", test_bind);
	g_test_add_func("/door/gaps/windows", test_windows);
	g_test_add_func("/door/gaps/read-only", test_read_only);
	g_test_add_func("/door/gaps/dmabuf", test_dmabuf);
	g_test_add_func("/door/gaps/under-way", test_under_way);
	g_test_add_func("/door/gaps/segments", test_segments);
	g_test_add_func("/door/gaps/builder-full", test_builder_full);
	g_test_add_func("/door/gaps/builder-grows", test_builder_grows);
	g_test_add_func("/door/gaps/builder-mistakes", test_builder_mistakes);
	g_test_add_func("/door/gaps/builder-window", test_builder_window);
	g_test_add_func("/door/gaps/poll-many", test_poll_many);
	g_test_add_func("/door/gaps/gone", test_gone);
	g_test_add_func("/door/gaps/kept", test_kept);
	g_test_add_func("/door/gaps/resize", test_resize);
	g_test_add_func("/door/gaps/cqx-status", test_cqx_status);
	g_test_add_func("/door/gaps/srq", test_srq);
	g_test_add_func("/door/gaps/domains", test_domains);
	g_test_add_func("/door/gaps/answer-to-group", test_answer_to_group);
	g_test_add_func("/door/gaps/groups", test_groups);
	g_test_add_func("/door/gaps/ah-ports", test_ah_ports);
	return g_test_run();
}
