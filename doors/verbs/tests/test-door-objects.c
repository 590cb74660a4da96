/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Objects: what they are created with, which of them stay as long as others need them, and what is refused. */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "verbs_bench.h"

/* --- devices --------------------------------------------------------------------------------------------- */

static void
test_devices(void)
{
	struct ibv_device **list, **again;
	struct ibv_context *one, *two;
	struct ibv_device_attr attr;
	struct ibv_device_attr_ex attr_ex;
	struct ibv_port_attr port;
	union ibv_gid gid;
	__be16 pkey;
	int num;

	list = ibv_get_device_list(&num);
	g_assert_cmpint(num, ==, 1);
	g_assert_null(list[1]);
	again = ibv_get_device_list(NULL);
	g_assert_true(again[0] == list[0]);
	ibv_free_device_list(again);
	g_assert_cmpstr(ibv_get_device_name(list[0]), ==, "it_emul_ib");
	g_assert_cmpuint(ibv_get_device_guid(list[0]), !=, 0);
	one = ibv_open_device(list[0]);
	two = ibv_open_device(list[0]);
	g_assert_true(one != NULL && two != NULL && one != two);
	ibv_free_device_list(list);
	OK(ibv_query_device(one, &attr));
	g_assert_cmpint(attr.max_qp_wr, ==, 32768);
	g_assert_cmpint(attr.max_qp_rd_atom, ==, 128);
	g_assert_cmpint(attr.atomic_cap, ==, IBV_ATOMIC_HCA);
	OK(ibv_query_device_ex(one, NULL, &attr_ex));
	g_assert_cmpmem(&attr_ex.orig_attr, sizeof(attr), &attr, sizeof(attr));
	g_assert_cmpuint(attr_ex.max_dm_size, ==, 0);
	g_assert_cmpuint(attr_ex.odp_caps.general_caps, ==, 0);
	OK(ibv_query_port(one, 1, &port));
	g_assert_cmpint(port.state, ==, IBV_PORT_ACTIVE);
	g_assert_cmpint(ibv_query_port(one, 0, &port), ==, EINVAL);
	g_assert_cmpint(ibv_query_port(one, 2, &port), ==, EINVAL);
	OK(ibv_query_gid(one, 1, 0, &gid));
	g_assert_cmpint(ibv_query_gid(one, 1, port.gid_tbl_len, &gid), ==, -1);
	OK(ibv_query_pkey(one, 1, 0, &pkey));
	g_assert_cmpuint(pkey, ==, 0xffff);
	g_assert_cmpint(ibv_get_pkey_index(one, 1, pkey), ==, 0);
	OK(ibv_close_device(one));
	OK(ibv_query_device(two, &attr));
	OK(ibv_close_device(two));
}

/* The clock of completions runs in nanoseconds. */
static void
test_clock(void)
{
	struct ibv_values_ex before = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK}, after = before;
	struct bench bench RI_AT_END(bench_close);
	int64_t passed;

	bench_open(&bench);
	OK(ibv_query_rt_values_ex(bench.context, &before));
	g_assert_cmpuint(before.comp_mask, ==, IBV_VALUES_MASK_RAW_CLOCK);
	g_usleep(3000);
	OK(ibv_query_rt_values_ex(bench.context, &after));
	passed = (after.raw_clock.tv_sec - before.raw_clock.tv_sec) * 1000000000LL +
		 after.raw_clock.tv_nsec - before.raw_clock.tv_nsec;
	g_assert_cmpint(passed, >=, 3000000);
	g_assert_cmpint(passed, <, 60000000000);
	after.comp_mask = 2;
	g_assert_cmpint(ibv_query_rt_values_ex(bench.context, &after), ==, EINVAL);
}

/* --- regions ---------------------------------------------------------------------------------------------- */

static void
test_region_rights(void)
{
	static const struct {
		unsigned access;
		int error;
	} rows[] = {
		{0, 0},
		{IBV_ACCESS_REMOTE_READ, 0},
		{IBV_ACCESS_REMOTE_WRITE, EINVAL},
		{IBV_ACCESS_REMOTE_ATOMIC, EINVAL},
		{IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, 0},
		{IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND, EOPNOTSUPP},
		{IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_HUGETLB, EOPNOTSUPP},
		{IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING, 0},
		{IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_OPTIONAL_RANGE, 0},
		{IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ZERO_BASED, 0},
		{IBV_ACCESS_LOCAL_WRITE | 1u << 10, EINVAL},
		{1u << 31, EINVAL},
	};
	struct bench bench RI_AT_END(bench_close);
	struct ibv_mr *mr;

	bench_open(&bench);
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		errno = 0;
		mr = ibv_reg_mr_iova2(bench.pd, bench.memory, 4096, (uintptr_t)bench.memory,
				      rows[i].access);
		g_assert_cmpint(errno, ==, rows[i].error);
		g_assert_cmpint(mr == NULL, ==, rows[i].error != 0);
		if (mr != NULL)
			OK(ibv_dereg_mr(mr));
	}
	NO_OBJECT(ibv_reg_mr(bench.pd, bench.memory, 0, 0), EINVAL);
	NO_OBJECT(ibv_reg_mr(bench.pd, (void *)4096, 4096, 0), EFAULT);
	NO_OBJECT(ibv_reg_mr(bench.pd, (void *)(UINTPTR_MAX - 100), 4096, 0), EFAULT);
}

/* Memory that the process itself may only read. */
static void
test_region_of_constants(void)
{
	void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct bench bench RI_AT_END(bench_close);
	struct ibv_mr *mr;

	bench_open(&bench);
	NO_OBJECT(ibv_reg_mr(bench.pd, page, 4096, IBV_ACCESS_LOCAL_WRITE), EFAULT);
	mr = ibv_reg_mr(bench.pd, page, 4096, IBV_ACCESS_REMOTE_READ);
	g_assert_nonnull(mr);
	OK(ibv_dereg_mr(mr));
	munmap(page, 4096);
}

/* A Write to that place of the bench's memory through a queue pair of its own. */
static enum ibv_wc_status
write_there(struct bench *bench, struct ibv_pd *pd, uint64_t addr, uint32_t rkey)
{
	struct ibv_qp_init_attr init = bench_init(bench, IBV_QPT_RC);
	struct ibv_qp *a RI_AT_END(bench_qp_end) = bench_qp(bench, IBV_QPT_RC);
	struct ibv_qp *b RI_AT_END(bench_qp_end) = ibv_create_qp(pd, &init);
	struct ibv_sge sge = bench_sge(bench, 0, 100);
	struct ibv_send_wr wr = bench_wr(1, IBV_WR_RDMA_WRITE, &sge);
	struct ibv_wc wc;

	bench_connect(a, b);
	wr.wr.rdma.remote_addr = addr;
	wr.wr.rdma.rkey = rkey;
	bench_send(a, &wr);
	wc = bench_poll(bench->cq);
	return wc.status;
}

static void
test_region_iova(void)
{
	const uint64_t name = UINT64_C(0x700000000000);
	struct bench bench RI_AT_END(bench_close);
	uint64_t in_page;
	struct ibv_mr *mr;

	bench_open(&bench);
	in_page = (uintptr_t)bench.memory % 4096;
	NO_OBJECT(ibv_reg_mr_iova(bench.pd, bench.memory, 8192, name + in_page + 1, BENCH_ALL),
		  EINVAL);
	mr = ibv_reg_mr_iova(bench.pd, bench.memory, 8192, name + in_page, BENCH_ALL);
	g_assert_nonnull(mr);
	g_assert_true(mr->addr == bench.memory);
	bench_fill(&bench, 0, 100, 5);
	g_assert_cmpint(write_there(&bench, bench.pd, name + in_page + 4096, mr->rkey), ==,
			IBV_WC_SUCCESS);
	g_assert_cmpmem(bench.memory + 4096, 100, bench.memory, 100);
	g_assert_cmpint(write_there(&bench, bench.pd, (uintptr_t)bench.memory + 4096, mr->rkey), ==,
			IBV_WC_REM_ACCESS_ERR);
	OK(ibv_dereg_mr(mr));
	mr = ibv_reg_mr(bench.pd, bench.memory, 8192, BENCH_ALL | IBV_ACCESS_ZERO_BASED);
	g_assert_nonnull(mr);
	memset(bench.memory + 4096, 0, 100);
	g_assert_cmpint(write_there(&bench, bench.pd, 4096, mr->rkey), ==, IBV_WC_SUCCESS);
	g_assert_cmpmem(bench.memory + 4096, 100, bench.memory, 100);
	OK(ibv_dereg_mr(mr));
}

static void
test_region_again(void)
{
	struct bench bench RI_AT_END(bench_close);
	struct ibv_pd *other;
	struct ibv_mr *mr;
	uint32_t key;

	bench_open(&bench);
	other = ibv_alloc_pd(bench.context);
	mr = ibv_reg_mr(bench.pd, bench.memory, 4096, IBV_ACCESS_LOCAL_WRITE);
	g_assert_nonnull(mr);
	key = mr->rkey;
	g_assert_cmpint(write_there(&bench, bench.pd, (uintptr_t)bench.memory, key), ==,
			IBV_WC_REM_ACCESS_ERR);
	OK(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, BENCH_ALL));
	g_assert_cmpuint(mr->rkey, ==, key);
	g_assert_cmpint(write_there(&bench, bench.pd, (uintptr_t)bench.memory + 512, key), ==,
			IBV_WC_SUCCESS);
	OK(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, other, NULL, 0, 0));
	g_assert_true(mr->pd == other);
	g_assert_cmpint(ibv_dealloc_pd(other), ==, EBUSY);
	g_assert_cmpint(write_there(&bench, bench.pd, (uintptr_t)bench.memory + 512, key), ==,
			IBV_WC_REM_ACCESS_ERR);
	g_assert_cmpint(write_there(&bench, other, (uintptr_t)bench.memory + 512, key), ==,
			IBV_WC_SUCCESS);
	OK(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD, bench.pd,
			bench.memory + 8192, 100, 0));
	g_assert_true(mr->addr == bench.memory + 8192 && mr->length == 100);
	g_assert_cmpint(write_there(&bench, bench.pd, (uintptr_t)bench.memory + 8192, mr->rkey), ==,
			IBV_WC_SUCCESS);
	g_assert_cmpint(write_there(&bench, bench.pd, (uintptr_t)bench.memory, mr->rkey), ==,
			IBV_WC_REM_ACCESS_ERR);
	/* What is wrong leaves it as it was. */
#define REFUSED(...) g_assert_cmpint(ibv_rereg_mr(mr, __VA_ARGS__), ==, IBV_REREG_MR_ERR_INPUT)
	REFUSED(0, NULL, NULL, 0, 0);
	REFUSED(8, NULL, NULL, 0, 0);
	REFUSED(IBV_REREG_MR_CHANGE_PD, NULL, NULL, 0, 0);
	REFUSED(IBV_REREG_MR_CHANGE_TRANSLATION, NULL, NULL, 100, 0);
	REFUSED(IBV_REREG_MR_CHANGE_TRANSLATION, NULL, (void *)4096, 100, 0);
	REFUSED(IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_REMOTE_WRITE);
	REFUSED(IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_ON_DEMAND);
	REFUSED(IBV_REREG_MR_CHANGE_PD, bench.pd, NULL, 0, BENCH_ALL);
#undef REFUSED
	g_assert_cmpint(write_there(&bench, bench.pd, (uintptr_t)bench.memory + 8192, mr->rkey), ==,
			IBV_WC_SUCCESS);
	OK(ibv_dealloc_pd(other));
	OK(ibv_dereg_mr(mr));
}

/* Memory that another driver exports. The provider takes a memory file that cannot shrink in its place. */
static void
test_region_of_dmabuf(void)
{
	struct bench bench RI_AT_END(bench_close);
	int fd RI_AT_END(ri_at_end_close) = memfd_create("dmabuf", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct ibv_mr *mr;
	uint8_t *there;

	OK(ftruncate(fd, 3 * 4096));
	OK(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK));
	bench_open(&bench);
	NO_OBJECT(ibv_reg_dmabuf_mr(bench.pd, 4096, 4096, 0x40000000, -1, BENCH_ALL), EINVAL);
	NO_OBJECT(ibv_reg_dmabuf_mr(bench.pd, 4096, 4096, 0x40000000, fd, IBV_ACCESS_REMOTE_WRITE),
		  EINVAL);
	mr = ibv_reg_dmabuf_mr(bench.pd, 4096, 4096, 0x40000000, fd, BENCH_ALL);
	g_assert_nonnull(mr);
	there = (uint8_t *)mmap(NULL, 3 * 4096, PROT_READ, MAP_SHARED, fd, 0);
	bench_fill(&bench, 0, 100, 77);
	g_assert_cmpint(write_there(&bench, bench.pd, 0x40000010, mr->rkey), ==, IBV_WC_SUCCESS);
	g_assert_cmpmem(there + 4096 + 16, 100, bench.memory, 100);
	munmap(there, 3 * 4096);
	g_assert_cmpint(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0), ==,
			IBV_REREG_MR_ERR_INPUT);
	OK(ibv_dereg_mr(mr));
}

/* --- domains ----------------------------------------------------------------------------------------------- */

static void *
never_alloc(struct ibv_pd *pd, void *pd_context, size_t size, size_t alignment, uint64_t type)
{
	(void)pd;
	(void)pd_context;
	(void)size;
	(void)alignment;
	(void)type;
	g_assert_not_reached();
}

static void
never_free(struct ibv_pd *pd, void *pd_context, void *memory, uint64_t type)
{
	(void)pd;
	(void)pd_context;
	(void)memory;
	(void)type;
	g_assert_not_reached();
}

static void
test_domains(void)
{
	struct ibv_parent_domain_init_attr attr = {0};
	struct ibv_td_init_attr td_attr = {0};
	struct ibv_qp_init_attr init;
	struct ibv_pd *parent;
	struct ibv_td *td;
	struct bench bench RI_AT_END(bench_close);
	struct ibv_qp *qp;

	bench_open(&bench);
	td_attr.comp_mask = 1;
	NO_OBJECT(ibv_alloc_td(bench.context, &td_attr), EOPNOTSUPP);
	td_attr.comp_mask = 0;
	td = ibv_alloc_td(bench.context, &td_attr);
	g_assert_nonnull(td);
	NO_OBJECT(ibv_alloc_parent_domain(bench.context, &attr), EINVAL);
	attr.pd = bench.pd;
	attr.comp_mask = 4;
	NO_OBJECT(ibv_alloc_parent_domain(bench.context, &attr), EOPNOTSUPP);
	attr.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
	attr.alloc = never_alloc;
	NO_OBJECT(ibv_alloc_parent_domain(bench.context, &attr), EINVAL);
	attr.free = never_free;
	attr.td = td;
	parent = ibv_alloc_parent_domain(bench.context, &attr);
	g_assert_nonnull(parent);
	g_assert_cmpint(ibv_dealloc_td(td), ==, EBUSY);
	init = bench_init(&bench, IBV_QPT_RC);
	qp = ibv_create_qp(parent, &init);
	g_assert_nonnull(qp);
	g_assert_true(qp->pd == parent);
	g_assert_cmpint(ibv_dealloc_pd(parent), ==, EBUSY);
	OK(ibv_destroy_qp(qp));
	OK(ibv_dealloc_pd(parent));
	OK(ibv_dealloc_td(td));
}

/* --- who stays --------------------------------------------------------------------------------------------- */

/* Each object stays as long as one that needs it, whatever order a program destroys them in. */
static void
test_busy(void)
{
	struct ibv_srq_init_attr srq_init = {.attr = {.max_wr = 16, .max_sge = 1}};
	struct ibv_qp_init_attr init;
	struct ibv_ah_attr ah_attr = {.port_num = 1, .is_global = 1};
	struct ibv_comp_channel *channel;
	struct ibv_cq *send, *recv;
	struct ibv_srq *srq;
	struct bench bench RI_AT_END(bench_close);
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	struct ibv_ah *ah;
	struct ibv_qp *qp;

	bench_open(&bench);
	pd = ibv_alloc_pd(bench.context);
	channel = ibv_create_comp_channel(bench.context);
	send = ibv_create_cq(bench.context, 10, NULL, channel, 0);
	recv = ibv_create_cq(bench.context, 10, NULL, NULL, 0);
	g_assert_true(pd != NULL && channel != NULL && send != NULL && recv != NULL);
	g_assert_cmpint(ibv_destroy_comp_channel(channel), ==, EBUSY);
	mr = ibv_reg_mr(pd, bench.memory, 100, BENCH_ALL);
	g_assert_cmpint(ibv_dealloc_pd(pd), ==, EBUSY);
	OK(ibv_dereg_mr(mr));
	mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	g_assert_nonnull(mw);
	g_assert_cmpint(ibv_dealloc_pd(pd), ==, EBUSY);
	OK(ibv_dealloc_mw(mw));
	OK(ibv_query_gid(bench.context, 1, 0, &ah_attr.grh.dgid));
	ah = ibv_create_ah(pd, &ah_attr);
	g_assert_nonnull(ah);
	g_assert_cmpint(ibv_dealloc_pd(pd), ==, EBUSY);
	OK(ibv_destroy_ah(ah));
	srq = ibv_create_srq(pd, &srq_init);
	g_assert_nonnull(srq);
	g_assert_cmpint(ibv_dealloc_pd(pd), ==, EBUSY);
	init = bench_init(&bench, IBV_QPT_RC);
	init.send_cq = send;
	init.recv_cq = recv;
	init.srq = srq;
	qp = ibv_create_qp(pd, &init);
	g_assert_nonnull(qp);
	g_assert_cmpint(ibv_dealloc_pd(pd), ==, EBUSY);
	g_assert_cmpint(ibv_destroy_cq(send), ==, EBUSY);
	g_assert_cmpint(ibv_destroy_cq(recv), ==, EBUSY);
	g_assert_cmpint(ibv_destroy_srq(srq), ==, EBUSY);
	OK(ibv_destroy_qp(qp));
	OK(ibv_destroy_srq(srq));
	OK(ibv_destroy_cq(recv));
	OK(ibv_destroy_cq(send));
	OK(ibv_destroy_comp_channel(channel));
	OK(ibv_dealloc_pd(pd));
}

/* A region with a bound window stays; a queue pair through which one is bound goes, and the window is another one then. */
static void
test_busy_windows(void)
{
	struct ibv_qp *a;
	struct ibv_send_wr wr;
	struct bench bench RI_AT_END(bench_close);
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	uint32_t key;

	bench_open(&bench);
	a = bench_qp(&bench, IBV_QPT_RC);
	struct ibv_qp *b RI_AT_END(bench_qp_end) = bench_qp(&bench, IBV_QPT_RC);
	bench_connect(a, b);
	mr = ibv_reg_mr(bench.pd, bench.memory, 4096, BENCH_ALL);
	mw = ibv_alloc_mw(bench.pd, IBV_MW_TYPE_2);
	wr = bench_wr(1, IBV_WR_BIND_MW, NULL);
	key = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = key;
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = mr, .addr = (uintptr_t)bench.memory, .length = 100, .mw_access_flags = 2};
	bench_send(a, &wr);
	g_assert_cmpint(bench_expect(bench.cq, 1, IBV_WC_SUCCESS).opcode, ==, IBV_WC_BIND_MW);
	g_assert_cmpint(ibv_dereg_mr(mr), ==, EBUSY);
	OK(ibv_destroy_qp(a));
	g_assert_cmpuint(mw->rkey >> 8, !=, key >> 8);
	OK(ibv_dereg_mr(mr));
	OK(ibv_dealloc_mw(mw));
}

/* A context may be closed first. */
static void
test_context_closed_first(void)
{
	struct ibv_qp *qp;
	struct bench bench;

	bench_open(&bench);
	qp = bench_qp(&bench, IBV_QPT_RC);
	OK(ibv_close_device(bench.context));
	OK(ibv_destroy_qp(qp));
	OK(ibv_dereg_mr(bench.mr));
	OK(ibv_destroy_cq(bench.cq));
	OK(ibv_destroy_comp_channel(bench.channel));
	OK(ibv_dealloc_pd(bench.pd));
	g_free(bench.memory);
}

/* --- refusals ---------------------------------------------------------------------------------------------- */

/* Objects of two contexts do not go together. */
static void
test_two_contexts(void)
{
	struct ibv_parent_domain_init_attr parent = {0};
	struct ibv_cq_init_attr_ex cq_init = {.cqe = 4};
	struct ibv_qp_init_attr_ex ex;
	struct ibv_qp_init_attr init;
	struct bench one RI_AT_END(bench_close), two RI_AT_END(bench_close);
	struct ibv_qp *qp;

	bench_open(&one);
	bench_open(&two);
	init = bench_init(&one, IBV_QPT_RC);
	init.send_cq = two.cq;
	NO_OBJECT(ibv_create_qp(one.pd, &init), EINVAL);
	init = bench_init(&one, IBV_QPT_RC);
	init.recv_cq = two.cq;
	NO_OBJECT(ibv_create_qp(one.pd, &init), EINVAL);
	init = bench_init(&one, IBV_QPT_RC);
	NO_OBJECT(ibv_create_qp(two.pd, &init), EINVAL);
	init.recv_cq = NULL;
	NO_OBJECT(ibv_create_qp(one.pd, &init), EINVAL);
	memset(&ex, 0, sizeof(ex));
	ex.send_cq = ex.recv_cq = one.cq;
	ex.qp_type = IBV_QPT_RC;
	ex.pd = one.pd;
	ex.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
	NO_OBJECT(ibv_create_qp_ex(two.context, &ex), EINVAL);
	qp = ibv_create_qp_ex(one.context, &ex);
	g_assert_nonnull(qp);
	OK(ibv_destroy_qp(qp));
	NO_OBJECT(ibv_create_cq(one.context, 4, NULL, two.channel, 0), EINVAL);
	cq_init.channel = two.channel;
	NO_OBJECT(ibv_create_cq_ex(one.context, &cq_init), EINVAL);
	parent.pd = one.pd;
	NO_OBJECT(ibv_alloc_parent_domain(two.context, &parent), EINVAL);
	g_assert_cmpint(ibv_rereg_mr(one.mr, IBV_REREG_MR_CHANGE_PD, two.pd, NULL, 0, 0), ==,
			IBV_REREG_MR_ERR_INPUT);
}

static void
test_cq_refusals(void)
{
	struct ibv_cq_init_attr_ex good = {.cqe = 4}, init;
	struct bench bench RI_AT_END(bench_close);
	struct ibv_cq *cq;

	bench_open(&bench);
	NO_OBJECT(ibv_create_cq(bench.context, 0, NULL, NULL, 0), EINVAL);
	NO_OBJECT(ibv_create_cq(bench.context, -1, NULL, NULL, 0), EINVAL);
	NO_OBJECT(ibv_create_cq(bench.context, INT32_MAX, NULL, NULL, 0), EINVAL);
	NO_OBJECT(ibv_create_cq(bench.context, 4, NULL, NULL, 1), EINVAL);
	NO_OBJECT(ibv_create_cq(bench.context, 4, NULL, NULL, -1), EINVAL);
	cq = ibv_create_cq(bench.context, 4, NULL, NULL, 0);
	g_assert_cmpint(ibv_resize_cq(cq, 0), ==, EINVAL);
	g_assert_cmpint(ibv_resize_cq(cq, INT32_MAX), ==, EINVAL);
	OK(ibv_resize_cq(cq, 1000));
	g_assert_cmpint(cq->cqe, >=, 1000);
	OK(ibv_destroy_cq(cq));
#define REFUSED(error, change)                                            \
	do {                                                              \
		init = good;                                              \
		change;                                                   \
		NO_OBJECT(ibv_create_cq_ex(bench.context, &init), error); \
	} while (0)
	REFUSED(EOPNOTSUPP, init.comp_mask = 4);
	REFUSED(EOPNOTSUPP, init.wc_flags = IBV_WC_EX_WITH_CVLAN);
	REFUSED(EOPNOTSUPP, init.wc_flags = IBV_WC_EX_WITH_FLOW_TAG);
	REFUSED(EOPNOTSUPP, init.wc_flags = IBV_WC_EX_WITH_TM_INFO);
	REFUSED(EOPNOTSUPP, init.wc_flags = UINT64_C(1) << 40);
	REFUSED(EOPNOTSUPP, (init.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
			     init.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN));
	REFUSED(EINVAL, init.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD);
	REFUSED(EINVAL, (init.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD, init.parent_domain = bench.pd));
	REFUSED(EINVAL, init.cqe = 0);
	REFUSED(EINVAL, init.comp_vector = 1);
#undef REFUSED
}

static void
test_qp_refusals(void)
{
	struct ibv_qp_init_attr_ex good = {0}, init;
	struct bench bench RI_AT_END(bench_close);

	bench_open(&bench);
	good.send_cq = good.recv_cq = bench.cq;
	good.cap = bench_init(&bench, IBV_QPT_RC).cap;
	good.qp_type = IBV_QPT_RC;
	good.pd = bench.pd;
	good.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
#define REFUSED(error, change)                                            \
	do {                                                              \
		init = good;                                              \
		change;                                                   \
		NO_OBJECT(ibv_create_qp_ex(bench.context, &init), error); \
	} while (0)
	REFUSED(EOPNOTSUPP, init.comp_mask |= IBV_QP_INIT_ATTR_XRCD);
	REFUSED(EOPNOTSUPP, init.comp_mask |= IBV_QP_INIT_ATTR_MAX_TSO_HEADER);
	REFUSED(EOPNOTSUPP, init.comp_mask |= IBV_QP_INIT_ATTR_IND_TABLE);
	REFUSED(EOPNOTSUPP, init.comp_mask |= IBV_QP_INIT_ATTR_RX_HASH);
	REFUSED(EOPNOTSUPP, init.comp_mask |= 1u << 20);
	REFUSED(EOPNOTSUPP, init.create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB);
	REFUSED(EOPNOTSUPP, init.qp_type = IBV_QPT_RAW_PACKET);
	REFUSED(EOPNOTSUPP, init.qp_type = IBV_QPT_XRC_SEND);
	REFUSED(EOPNOTSUPP, init.qp_type = IBV_QPT_DRIVER);
	REFUSED(EOPNOTSUPP, (init.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
			     init.send_ops_flags = IBV_QP_EX_WITH_TSO));
	REFUSED(EOPNOTSUPP,
		(init.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		 init.send_ops_flags = IBV_QP_EX_WITH_RDMA_READ, init.qp_type = IBV_QPT_UC));
	REFUSED(EINVAL, init.comp_mask &= ~(uint32_t)IBV_QP_INIT_ATTR_PD);
	REFUSED(EINVAL, init.cap.max_send_wr = 1000000);
	REFUSED(EINVAL, init.cap.max_recv_wr = 1000000);
	REFUSED(EINVAL, init.cap.max_send_sge = 1000);
	REFUSED(EINVAL, init.cap.max_recv_sge = 1000);
	REFUSED(EINVAL, init.cap.max_inline_data = 1000000);
#undef REFUSED
}

/* What no adapter here has. */
static void
test_absent(void)
{
	struct ibv_srq_init_attr_ex srq = {.comp_mask =
						   IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
					   .srq_type = IBV_SRQT_XRC,
					   .attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_xrcd_init_attr xrcd = {0};
	struct ibv_alloc_dm_attr dm = {.length = 4096};
	struct ibv_counters_init_attr counters = {0};
	struct ibv_wq_init_attr wq = {0};
	struct ibv_flow_attr flow = {0};
	struct ibv_ece ece = {.vendor_id = 9};
	struct bench bench RI_AT_END(bench_close);

	bench_open(&bench);
	srq.pd = bench.pd;
	struct ibv_qp *qp RI_AT_END(bench_qp_end) = bench_qp(&bench, IBV_QPT_RC);
	NO_OBJECT(ibv_create_srq_ex(bench.context, &srq), EOPNOTSUPP);
	srq.srq_type = IBV_SRQT_TM;
	NO_OBJECT(ibv_create_srq_ex(bench.context, &srq), EOPNOTSUPP);
	NO_OBJECT(ibv_open_xrcd(bench.context, &xrcd), EOPNOTSUPP);
	NO_OBJECT(ibv_alloc_dm(bench.context, &dm), EOPNOTSUPP);
	NO_OBJECT(ibv_alloc_null_mr(bench.pd), EOPNOTSUPP);
	NO_OBJECT(ibv_create_counters(bench.context, &counters), EOPNOTSUPP);
	NO_OBJECT(ibv_create_wq(bench.context, &wq), EOPNOTSUPP);
	NO_OBJECT(ibv_create_flow(qp, &flow), EOPNOTSUPP);
	NO_OBJECT(ibv_import_device(0), EOPNOTSUPP);
	NO_OBJECT(ibv_import_pd(bench.context, 1), EOPNOTSUPP);
	NO_OBJECT(ibv_import_mr(bench.pd, 1), EOPNOTSUPP);
	NO_OBJECT(ibv_import_dm(bench.context, 1), EOPNOTSUPP);
	NO_OBJECT(ibv_alloc_mw(bench.pd, (enum ibv_mw_type)3), EINVAL);
	g_assert_cmpint(ibv_query_ece(qp, &ece), ==, EOPNOTSUPP);
	g_assert_cmpuint(ece.vendor_id, ==, 0);
	g_assert_cmpint(ibv_set_ece(qp, &ece), ==, EOPNOTSUPP);
	g_assert_cmpint(ibv_query_qp_data_in_order(qp, IBV_WR_SEND, 0), ==, 0);
	g_assert_cmpint(ibv_advise_mr(bench.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, NULL, 0), ==,
			EOPNOTSUPP);
	OK(ibv_fork_init());
	g_assert_cmpint(ibv_is_fork_initialized(), ==, IBV_FORK_UNNEEDED);
	g_assert_null(ibv_qp_to_qp_ex(qp));
}

int
main(int argc, char **argv)
{
	bench_adapter("emul:ib");
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/door/objects/devices", test_devices);
	g_test_add_func("/door/objects/clock", test_clock);
	g_test_add_func("/door/objects/region-rights", test_region_rights);
	g_test_add_func("/door/objects/region-of-constants", test_region_of_constants);
	g_test_add_func("/door/objects/region-iova", test_region_iova);
	g_test_add_func("/door/objects/region-again", test_region_again);
	g_test_add_func("/door/objects/region-of-dmabuf", test_region_of_dmabuf);
	g_test_add_func("/door/objects/domains", test_domains);
	g_test_add_func("/door/objects/busy", test_busy);
	g_test_add_func("/door/objects/busy-windows", test_busy_windows);
	g_test_add_func("/door/objects/context-closed-first", test_context_closed_first);
	g_test_add_func("/door/objects/two-contexts", test_two_contexts);
	g_test_add_func("/door/objects/cq-refusals", test_cq_refusals);
	g_test_add_func("/door/objects/qp-refusals", test_qp_refusals);
	g_test_add_func("/door/objects/absent", test_absent);
	return g_test_run();
}
