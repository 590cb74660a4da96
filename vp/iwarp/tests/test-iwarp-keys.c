/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The effects of requests on keys, over streams: windows are bound and the peer may use them, keys are invalidated by
 * their owner and by the peer, and a refused access gets the Terminate of [WIRE 5.9].
 */

#include "viw_node.h"

#define LEN 4096u

/* A queue pair with just these rights. */
static struct ri_qp_init
init_with(uint32_t access)
{
	return (struct ri_qp_init){.max_sq_wr = 8,
				   .max_rq_wr = 8,
				   .max_send_sge = 1,
				   .max_recv_sge = 1,
				   .max_write_sge = 1,
				   .max_read_sge = 1,
				   .ird = 4,
				   .ord = 4,
				   .access = access,
				   .hard_limit = UINT32_MAX};
}

/* a uses windows on b's region; its own region has all rights. */
static void
open_with(struct ends *f, const struct ri_qp_init *init, uint32_t access)
{
	ends_open(f);
	ends_fill(f, NULL, init, LEN, access);
	chunk_fill(&f->ma, 1);
	g_assert_cmpint(f->nb->p->mem->mw_alloc(f->nb->pd, RI_MW_NARROW, &f->mw, &f->mw_stag), ==,
			RI_SUCCESS);
	ends_connect(f->a, f->b, true);
}

static void
set_up(struct ends *f, gconstpointer unused)
{
	(void)unused;
	open_with(f, NULL, LOCAL_RW | RI_ACCESS_BIND);
}

static void
tear_down(struct ends *f, gconstpointer unused)
{
	(void)unused;
	ends_close(f);
}

static void
post(struct end *end, const struct ri_wr *wr)
{
	g_assert_cmpint(end->node->p->fast->post_sq(end->uqp, wr), ==, RI_SUCCESS);
}

/* A bind of all octets of b's region from `at` on. */
static struct ri_wr
bind_of(struct ends *f, uint64_t at, uint64_t length)
{
	return (struct ri_wr){
		.wr_id = 1,
		.opcode = RI_OP_BIND_MW,
		.flags = RI_WR_SIGNALED,
		.u.bind = {.mw_stag = (f->mw_stag & ~0xffu) | ((f->mw_stag + 1) & 0xff),
			   .mr_stag = f->mb.stag,
			   .addr = (uintptr_t)f->mb.at + at,
			   .length = length,
			   .access = RI_ACCESS_REMOTE_WRITE | RI_ACCESS_REMOTE_READ}};
}

static void
bind(struct ends *f, uint64_t at, uint64_t length)
{
	struct ri_wr wr = bind_of(f, at, length);

	post(f->b, &wr);
	(void)end_wait_ok(f->b, false, 1, f->a);
	f->mw_stag = wr.u.bind.mw_stag;
}

/* a writes `len` octets to that address of that key. */
static void
write_to(struct ends *f, uint32_t stag, uint64_t addr, uint32_t len)
{
	struct ri_sge local = chunk_sge(&f->ma, 0, len), there = {.addr = addr, .stag = stag};

	post_rdma(f->a, RI_OP_RDMA_WRITE, 2, &local, &there);
}

/* Everything that a has sent so far is placed. */
static void
settle(struct ends *f)
{
	post_recv(f->b, 3, NULL);
	post_send(f->a, 4, NULL, 0);
	(void)end_wait_ok(f->b, true, 3, f->a);
}

static bool
is_terminate(const struct ri_async_event *event, const void *code)
{
	return event->event == RI_EVENT_QP_TERMINATE_RECEIVED &&
	       event->detail == *(const uint32_t *)code;
}

/* b refused a request of a: the event of b, and the code that a received. */
static void
expect_refused(struct ends *f, enum ri_event event, uint32_t code)
{
	end_wait_event(f->b, event, f->a);
	end_wait_event(f->a, RI_EVENT_QP_TERMINATE_RECEIVED, f->b);
	g_assert_cmpuint(node_count_if(f->na, is_terminate, &code), ==, 1);
}

/* --- windows ------------------------------------------------------------------------------- */

static void
test_window(struct ends *f, gconstpointer unused)
{
	struct ri_sge into = chunk_sge(&f->ma, 1000, 50);
	struct ri_sge from = {.addr = (uintptr_t)f->mb.at + 100};

	(void)unused;
	bind(f, 100, 50);
	write_to(f, f->mw_stag, (uintptr_t)f->mb.at + 100, 50);
	(void)end_wait_ok(f->a, false, 2, f->b);
	settle(f);
	(void)end_wait_ok(f->a, false, 4, f->b);
	g_assert_cmpmem(f->mb.at + 100, 50, f->ma.at, 50);
	from.stag = f->mw_stag;
	post_rdma(f->a, RI_OP_RDMA_READ, 5, &into, &from);
	(void)end_wait_ok(f->a, false, 5, f->b);
	g_assert_cmpmem(f->ma.at + 1000, 50, f->ma.at, 50);
	g_assert_cmpint(f->nb->p->mem->mr_dereg(f->mb.mr), ==, RI_ERR_BUSY);
	write_to(f, f->mw_stag, (uintptr_t)f->mb.at + 101, 50);
	expect_refused(f, RI_EVENT_QP_BOUNDS, 0x1101);
}

static void
test_relative(struct ends *f, gconstpointer unused)
{
	struct ri_wr wr = bind_of(f, 100, 50);

	(void)unused;
	wr.flags |= RI_WR_BIND_RELATIVE;
	post(f->b, &wr);
	(void)end_wait_ok(f->b, false, 1, f->a);
	write_to(f, wr.u.bind.mw_stag, 10, 40);
	settle(f);
	g_assert_cmpmem(f->mb.at + 110, 40, f->ma.at, 40);
	write_to(f, wr.u.bind.mw_stag, 11, 40);
	expect_refused(f, RI_EVENT_QP_BOUNDS, 0x1101);
}

/* A reset of its queue pair unbinds a narrow window. */
static void
test_window_after_reset(struct ends *f, gconstpointer unused)
{
	struct ri_mr_attr attr = {0};

	(void)unused;
	bind(f, 100, 50);
	g_assert_cmpint(end_modify(f->b, RI_QPS_ERROR), ==, RI_SUCCESS);
	end_to_idle(f->b);
	g_assert_cmpint(f->nb->p->mem->mw_query(f->mw, &attr), ==, RI_SUCCESS);
	g_assert_false(attr.valid);
}

/* A window without the right that the access needs. */
static void
test_window_access(struct ends *f, gconstpointer unused)
{
	struct ri_wr wr = bind_of(f, 0, LEN);

	(void)unused;
	wr.u.bind.access = RI_ACCESS_REMOTE_READ;
	post(f->b, &wr);
	(void)end_wait_ok(f->b, false, 1, f->a);
	write_to(f, wr.u.bind.mw_stag, (uintptr_t)f->mb.at, 8);
	expect_refused(f, RI_EVENT_QP_ACCESS, 0x1102);
}

/* A window of another queue pair cannot be used here. */
static void
test_window_of_another(struct ends *f, gconstpointer unused)
{
	struct end *a = end_new(f->na, NULL), *b = end_new(f->nb, NULL);
	struct ri_sge local = chunk_sge(&f->ma, 0, 8), there = {.addr = (uintptr_t)f->mb.at};

	(void)unused;
	ends_connect(a, b, true);
	bind(f, 0, LEN);
	there.stag = f->mw_stag;
	post_rdma(a, RI_OP_RDMA_WRITE, 2, &local, &there);
	end_wait_event(b, RI_EVENT_QP_PD, a);
	end_wait_event(a, RI_EVENT_QP_TERMINATE_RECEIVED, b);
	g_assert_cmpuint(node_count_if(f->na, is_terminate, &(uint32_t){0x1100}), ==, 1);
	end_free(&a);
	end_free(&b);
	g_assert_cmpint(end_state(f->b), ==, RI_QPS_RTS);
}

enum bind_fault {
	BIND_TOO_LONG,
	BIND_BEFORE,
	BIND_EMPTY,
	BIND_WRONG_RIGHT,
	BIND_OLD_REGION,
	BIND_NO_WINDOW,
	BIND_TWICE,
	BIND_REGION_CLOSED,
	BIND_REGION_READS,
	BIND_QP_CLOSED,
	BIND_FAULTS
};

/* Each is refused and ends the queue pair, and the region stays free of windows. */
static void
test_bind_fails(gconstpointer which)
{
	enum bind_fault fault = (enum bind_fault)GPOINTER_TO_UINT(which);
	uint32_t access = LOCAL_RW | RI_ACCESS_BIND;
	struct ri_qp_init init;
	struct ends f;
	struct ri_wr wr;

	if (fault == BIND_REGION_CLOSED)
		access = ALL_RW & ~(uint32_t)RI_ACCESS_BIND;
	if (fault == BIND_REGION_READS)
		access = RI_ACCESS_LOCAL_READ | RI_ACCESS_BIND;
	init = init_with(RI_ACCESS_REMOTE_WRITE | RI_ACCESS_REMOTE_READ);
	open_with(&f, fault == BIND_QP_CLOSED ? &init : NULL, access);
	wr = bind_of(&f, 0, 64);
	if (fault == BIND_TOO_LONG)
		wr.u.bind.length = LEN + 1;
	else if (fault == BIND_BEFORE)
		wr.u.bind.addr--;
	else if (fault == BIND_EMPTY)
		wr.u.bind.length = 0;
	else if (fault == BIND_WRONG_RIGHT)
		wr.u.bind.access |= RI_ACCESS_LOCAL_READ;
	else if (fault == BIND_OLD_REGION)
		wr.u.bind.mr_stag ^= 1;
	else if (fault == BIND_NO_WINDOW)
		wr.u.bind.mw_stag = wr.u.bind.mr_stag;
	else if (fault == BIND_TWICE)
		bind(&f, 0, 64);
	post(f.b, &wr);
	g_assert_cmpuint(end_wait(f.b, false, f.a).status, ==, RI_WC_MW_BIND);
	expect_refused(&f, RI_EVENT_QP_WR_ERROR, 0x0000);
	g_assert_cmpint(end_state(f.b), ==, RI_QPS_ERROR);
	tear_down(&f, NULL);
}

/* --- by its owner -------------------------------------------------------------------------- */

static void
invalidate(struct end *end, uint32_t stag, uint32_t flags)
{
	post(end, &(struct ri_wr){.wr_id = 6,
				  .opcode = RI_OP_LOCAL_INV,
				  .flags = RI_WR_SIGNALED | flags,
				  .inv_stag = stag});
}

/* What was written through a window stays; later Writes are refused; then the window is bound to other octets. */
static void
test_local(struct ends *f, gconstpointer unused)
{
	uint32_t before;

	(void)unused;
	bind(f, 0, 64);
	write_to(f, f->mw_stag, (uintptr_t)f->mb.at, 64);
	settle(f);
	before = f->mw_stag;
	invalidate(f->b, before, RI_WR_LOCAL_FENCE);
	(void)end_wait_ok(f->b, false, 6, f->a);
	g_assert_cmpmem(f->mb.at, 64, f->ma.at, 64);
	bind(f, 128, 64);
	g_assert_cmphex(f->mw_stag, !=, before);
	write_to(f, f->mw_stag, (uintptr_t)f->mb.at + 128, 64);
	settle(f);
	g_assert_cmpmem(f->mb.at + 128, 64, f->ma.at, 64);
	write_to(f, before, (uintptr_t)f->mb.at, 1);
	expect_refused(f, RI_EVENT_QP_STAG, 0x1100);
}

/* A fenced invalidation waits for the Read into the region, which is whole then. */
static void
test_fence(struct ends *f, gconstpointer unused)
{
	struct ri_sge from = chunk_sge(&f->ma, 0, LEN);

	(void)unused;
	for (unsigned round = 0; round < 20; round++) {
		struct chunk sink RI_AT_END(chunk_free) = chunk_new(f->nb, LEN, ALL_RW);
		struct ri_sge into = chunk_sge(&sink, 0, LEN);

		post_rdma(f->b, RI_OP_RDMA_READ, 5, &into, &from);
		invalidate(f->b, sink.stag, RI_WR_READ_FENCE);
		(void)end_wait_ok(f->b, false, 5, f->a);
		(void)end_wait_ok(f->b, false, 6, f->a);
		g_assert_cmpmem(sink.at, LEN, f->ma.at, LEN);
	}
}

/* A Read that invalidates its sink: the data is complete, and the key is invalid. */
static void
test_sink(struct ends *f, gconstpointer unused)
{
	struct chunk sink RI_AT_END(chunk_free) = chunk_new(f->nb, LEN, ALL_RW);
	struct ri_sge into = chunk_sge(&sink, 0, LEN);
	struct ri_wr wr = {.wr_id = 5,
			   .sgl = &into,
			   .num_sge = 1,
			   .opcode = RI_OP_RDMA_READ,
			   .flags = RI_WR_SIGNALED | RI_WR_INVALIDATE,
			   .u.remote = {.addr = (uintptr_t)f->ma.at, .stag = f->ma.stag}};

	(void)unused;
	post(f->b, &wr);
	struct ri_wc wc = end_wait_ok(f->b, false, 5, f->a);
	g_assert_cmpuint(wc.flags & RI_WC_INVALIDATED, !=, 0);
	g_assert_cmphex(wc.inv_stag, ==, sink.stag);
	g_assert_cmpmem(sink.at, LEN, f->ma.at, LEN);
	write_to(f, sink.stag, (uintptr_t)sink.at, 1);
	expect_refused(f, RI_EVENT_QP_STAG, 0x1100);
}

/* Keys that cannot be invalidated: an unknown one, a former one, that of a region under a window. */
static void
test_local_fails(gconstpointer which)
{
	struct ends f;
	uint32_t stag = 0;

	set_up(&f, NULL);
	bind(&f, 0, 64);
	if (GPOINTER_TO_UINT(which) == 1)
		stag = f.mw_stag ^ 0x80;
	else if (GPOINTER_TO_UINT(which) == 2)
		stag = f.mb.stag;
	invalidate(f.b, stag, 0);
	g_assert_cmpuint(end_wait(f.b, false, f.a).status, ==, RI_WC_MW_BIND);
	expect_refused(&f, RI_EVENT_QP_WR_ERROR, 0x0000);
	tear_down(&f, NULL);
}

/* --- by the peer --------------------------------------------------------------------------- */

static void
send_invalidate(struct ends *f, uint32_t stag, uint32_t len, uint32_t flags)
{
	struct ri_sge sge = chunk_sge(&f->ma, 0, len);

	post(f->a, &(struct ri_wr){.wr_id = 8,
				   .sgl = &sge,
				   .num_sge = 1,
				   .opcode = RI_OP_SEND,
				   .flags = RI_WR_SIGNALED | RI_WR_INVALIDATE | flags,
				   .inv_stag = stag});
}

/* The completion of the receive names the key that was invalidated. */
static void
expect_gone(struct ends *f, uint32_t stag, bool solicited)
{
	struct ri_wc wc = end_wait_ok(f->b, true, 9, f->a);

	g_assert_cmpuint(wc.flags & RI_WC_INVALIDATED, !=, 0);
	g_assert_cmphex(wc.inv_stag, ==, stag);
	g_assert_cmpint((wc.flags & RI_WC_SOLICITED) != 0, ==, solicited);
	(void)end_wait_ok(f->a, false, 8, f->b);
}

/* Windows, bound again each time, and a region; messages of one segment and of several. */
static void
test_remote(struct ends *f, gconstpointer unused)
{
	struct chunk in RI_AT_END(chunk_free) = chunk_new(f->nb, 1 << 18, LOCAL_RW);
	struct chunk out RI_AT_END(chunk_free) = chunk_new(f->na, 1 << 18, LOCAL_RW);
	struct chunk open RI_AT_END(chunk_free) = chunk_new(f->nb, LEN, ALL_RW);
	struct ri_sge into = chunk_sge(&in, 0, in.len);

	(void)unused;
	chunk_fill(&out, 5);
	for (unsigned round = 0; round < 8; round++) {
		struct ri_sge from = chunk_sge(&out, 0, round % 2 ? 100 : out.len);
		bool loud = round % 4 > 1;

		bind(f, 0, 64);
		post_recv(f->b, 9, &into);
		post(f->a, &(struct ri_wr){.wr_id = 8,
					   .sgl = &from,
					   .num_sge = 1,
					   .opcode = RI_OP_SEND,
					   .flags = RI_WR_SIGNALED | RI_WR_INVALIDATE |
						    (loud ? RI_WR_SOLICITED : 0),
					   .inv_stag = f->mw_stag});
		expect_gone(f, f->mw_stag, loud);
		g_assert_cmpmem(in.at, from.length, out.at, from.length);
	}
	post_recv(f->b, 9, &into);
	send_invalidate(f, open.stag, 0, 0);
	expect_gone(f, open.stag, false);
	write_to(f, open.stag, (uintptr_t)open.at, 1);
	expect_refused(f, RI_EVENT_QP_STAG, 0x1100);
}

enum remote_fault {
	REMOTE_ZERO,
	REMOTE_OLD_KEY,
	REMOTE_CLOSED,
	REMOTE_TWICE,
	REMOTE_UNDER_WINDOW,
	REMOTE_QP_CLOSED,
	REMOTE_FAULTS
};

/* The key that a names for each of them. */
static uint32_t
remote_key(struct ends *f, enum remote_fault fault)
{
	uint32_t stag = f->mb.stag;

	if (fault == REMOTE_ZERO)
		return 0;
	if (fault == REMOTE_OLD_KEY)
		return stag ^ 1;
	if (fault == REMOTE_UNDER_WINDOW)
		bind(f, 0, 64);
	if (fault == REMOTE_TWICE) {
		bind(f, 0, 64);
		stag = f->mw_stag;
		post_recv(f->b, 9, NULL);
		send_invalidate(f, stag, 0, 0);
		expect_gone(f, stag, false);
		stag ^= 0x100; /* another index, not in use */
	}
	return stag;
}

/* a names this key: refused after the payload was placed, and the receive that it took completes with the error. */
static void
expect_kept(struct ends *f, uint32_t stag)
{
	struct ri_sge into = chunk_sge(&f->mb, 2048, 64);
	struct ri_wc wc;

	post_recv(f->b, 9, &into);
	send_invalidate(f, stag, 64, 0);
	wc = end_wait(f->b, true, f->a);
	g_assert_cmpuint(wc.status, ==, RI_WC_LOCAL_INVALIDATE);
	g_assert_cmpuint(wc.wr_id, ==, 9);
	expect_refused(f, RI_EVENT_QP_WR_ERROR, 0x0109);
	g_assert_cmpmem(f->mb.at + 2048, 64, f->ma.at, 64);
}

static void
test_remote_fails(gconstpointer which)
{
	enum remote_fault fault = (enum remote_fault)GPOINTER_TO_UINT(which);
	struct ri_qp_init init = init_with(LOCAL_RW);
	struct ends f;

	open_with(&f, fault == REMOTE_QP_CLOSED ? &init : NULL,
		  fault == REMOTE_CLOSED ? LOCAL_RW : ALL_RW);
	expect_kept(&f, remote_key(&f, fault));
	tear_down(&f, NULL);
}

/* A window that another queue pair has bound. */
static void
test_remote_other_window(void)
{
	struct ends f;
	struct end *a, *b;

	open_with(&f, NULL, ALL_RW);
	a = end_new(f.na, NULL);
	b = end_new(f.nb, NULL);
	ends_connect(a, b, true);
	struct ri_wr wr = bind_of(&f, 0, 64);
	post(b, &wr);
	(void)end_wait_ok(b, false, 1, a);
	expect_kept(&f, wr.u.bind.mw_stag);
	invalidate(b, wr.u.bind.mw_stag, 0);
	(void)end_wait_ok(b, false, 6, a);
	end_free(&a);
	end_free(&b);
	tear_down(&f, NULL);
}

static void
test_remote_other_domain(void)
{
	struct ends f;
	struct ri_pd *own, *other = NULL;
	struct chunk foreign;

	open_with(&f, NULL, ALL_RW);
	own = f.nb->pd;
	g_assert_cmpint(f.nb->p->pd->create(f.nb->context, &other), ==, RI_SUCCESS);
	f.nb->pd = other;
	foreign = chunk_new(f.nb, 64, ALL_RW);
	f.nb->pd = own;
	expect_kept(&f, foreign.stag);
	chunk_free(&foreign);
	g_assert_cmpint(f.nb->p->pd->destroy(other), ==, RI_SUCCESS);
	tear_down(&f, NULL);
}

static void
add_each(const char *name, unsigned count, GTestDataFunc run)
{
	for (unsigned i = 0; i < count; i++) {
		g_autofree char *path = g_strdup_printf("/iwarp/keys/%s/%u", name, i);

		g_test_add_data_func(path, GUINT_TO_POINTER(i), run);
	}
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *path;
		void (*run)(struct ends *f, gconstpointer unused);
	} tests[] = {
		{"/iwarp/keys/window", test_window},
		{"/iwarp/keys/relative", test_relative},
		{"/iwarp/keys/window-after-reset", test_window_after_reset},
		{"/iwarp/keys/window-access", test_window_access},
		{"/iwarp/keys/window-of-another", test_window_of_another},
		{"/iwarp/keys/local", test_local},
		{"/iwarp/keys/fence", test_fence},
		{"/iwarp/keys/sink", test_sink},
		{"/iwarp/keys/remote", test_remote},
	};

	g_test_init(&argc, &argv, NULL);
	for (gsize i = 0; i < G_N_ELEMENTS(tests); i++)
		g_test_add(tests[i].path, struct ends, NULL, set_up, tests[i].run, tear_down);
	add_each("bind-fails", BIND_FAULTS, test_bind_fails);
	add_each("local-fails", 3, test_local_fails);
	add_each("remote-fails", REMOTE_FAULTS, test_remote_fails);
	g_test_add_func("/iwarp/keys/remote-fails/other-window", test_remote_other_window);
	g_test_add_func("/iwarp/keys/remote-fails/other-domain", test_remote_other_domain);
	return g_test_run();
}
