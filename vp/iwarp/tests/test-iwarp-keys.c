/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The effects of requests on keys, over streams: relative windows, windows of a queue pair that is reset, invalidations that are
 * fenced, and those that are refused, with the Terminate of [WIRE 5.9].
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

/* --- by its owner -------------------------------------------------------------------------- */

static void
invalidate(struct end *end, uint32_t stag, uint32_t flags)
{
	post(end, &(struct ri_wr){.wr_id = 6,
				  .opcode = RI_OP_LOCAL_INV,
				  .flags = RI_WR_SIGNALED | flags,
				  .inv_stag = stag});
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
		{"/iwarp/keys/relative", test_relative},
		{"/iwarp/keys/window-after-reset", test_window_after_reset},
		{"/iwarp/keys/fence", test_fence},
	};

	g_test_init(&argc, &argv, NULL);
	for (gsize i = 0; i < G_N_ELEMENTS(tests); i++)
		g_test_add(tests[i].path, struct ends, NULL, set_up, tests[i].run, tear_down);
	add_each("local-fails", 3, test_local_fails);
	add_each("remote-fails", REMOTE_FAULTS, test_remote_fails);
	return g_test_run();
}
