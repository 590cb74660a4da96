/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Data transfers and their errors, in each personality: what the profile claims works, the rest fails. */
#include <string.h>

#include "vem_node.h"

/* Two ends, connected. */
static void
ends_up(struct ends *p, const char *adapter, const struct ri_qp_init *a, const struct ri_qp_init *b)
{
	ends_open(p, adapter);
	ends_fill(p, a, b, 8192, ALL_RW);
	ends_connect(p->a, p->b);
}

/* Both ends are broken, with one event each, and posted requests are flushed. */
static void
expect_broken(struct ends *p, enum ri_event at_a, uint32_t detail_a, enum ri_event at_b)
{
	vth_run(p->vth);
	if (at_a != RI_EVENT_NONE)
		g_assert_cmpuint(node_async(p->na, at_a, p->a).detail, ==, detail_a);
	if (at_b != RI_EVENT_NONE)
		node_fault(p->nb, at_b, p->b);
	node_cm(p->na, RI_CM_BROKEN, p->a);
	node_cm(p->nb, RI_CM_BROKEN, p->b);
	node_silent(p->na);
	node_silent(p->nb);
	g_assert_cmpint(end_state(p->a), ==, RI_QPS_ERROR);
	g_assert_cmpint(end_state(p->b), ==, RI_QPS_ERROR);
}

/* --- what works --------------------------------------------------------------------------- */

static void
test_send(gconstpointer adapter)
{
	struct ends p RI_AT_END(ends_close);

	ends_up(&p, adapter, NULL, NULL);
	chunk_fill(&p.ma, 1);
	struct ri_sge from = chunk_sge(&p.ma, 10, 1000);
	struct ri_sge to = chunk_sge(&p.mb, 20, 1001);
	post_recv(p.b, 1, &to);
	post_recv(p.b, 2, NULL);
	post_send(p.a, 3, &from, RI_WR_SOLICITED);
	post_send(p.a, 4, NULL, 0);
	struct ri_wc wc = poll_one(p.b->urcq, 1, RI_WC_SUCCESS);
	g_assert_cmpuint(wc.byte_len, ==, 1000);
	g_assert_cmpuint(wc.flags, ==, RI_WC_RECEIVE | RI_WC_SOLICITED);
	g_assert_cmpuint(wc.opcode, ==, RI_OP_RECV);
	g_assert_cmpuint(wc.qp_ctx, ==, (uint64_t)(uintptr_t)p.b);
	wc = poll_one(p.b->urcq, 2, RI_WC_SUCCESS);
	g_assert_cmpuint(wc.byte_len, ==, 0);
	g_assert_cmpuint(wc.flags, ==, RI_WC_RECEIVE);
	wc = poll_one(p.a->uscq, 3, RI_WC_SUCCESS);
	g_assert_cmpuint(wc.byte_len, ==, 1000);
	g_assert_cmpuint(wc.opcode, ==, RI_OP_SEND);
	poll_one(p.a->uscq, 4, RI_WC_SUCCESS);
	g_assert_cmpmem(p.ma.at + 10, 1000, p.mb.at + 20, 1000);
	g_assert_cmpuint(p.mb.at[1020], ==, 0);
}

/* More Sends arrive than the receiver's completion queue has places: it says so, and its connection ends. */
static void
test_receive_overflow(gconstpointer adapter)
{
	struct ends p RI_AT_END(ends_close) = {.vth = vth_new(false)};
	uint64_t id = 0;

	p.na = node_new(p.vth, false, adapter);
	p.nb = node_new(p.vth, false, adapter);
	p.a = end_new(p.na, NULL);
	p.b = end_new_cq(p.nb, NULL, 1);
	p.ma = chunk_new(p.na, 64, ALL_RW);
	p.mb = chunk_new(p.nb, 64, ALL_RW);
	ends_connect(p.a, p.b);
	for (uint64_t i = 0; i < 16; i++)
		post_recv(p.b, i, NULL);
	while (end_state(p.b) == RI_QPS_RTS) {
		g_assert_cmpuint(id, <, 16);
		post_send(p.a, id++, NULL, 0);
		vth_run(p.vth);
	}
	node_async(p.nb, RI_EVENT_QP_CQ_RQ_ERROR, p.b);
	node_cm(p.nb, RI_CM_BROKEN, p.b);
	node_forget(p.na);
}

static void
test_through_the_host(gconstpointer adapter)
{
	struct ends p RI_AT_END(ends_close);

	ends_up(&p, adapter, NULL, NULL);
	chunk_free(&p.mb);
	vth_copy_only(p.vth, true);
	p.mb = chunk_new(p.nb, 16384, ALL_RW);
	chunk_fill(&p.ma, 3);
	struct ri_sge local = chunk_sge(&p.ma, 0, 8192);
	struct ri_sge there = chunk_sge(&p.mb, 100, 0);
	post_rdma(p.a, RI_OP_RDMA_WRITE, 1, &local, &there);
	poll_one(p.a->uscq, 1, RI_WC_SUCCESS);
	g_assert_cmpmem(p.ma.at, 8192, p.mb.at + 100, 8192);
	g_assert_cmpuint(vth_copied(p.vth), ==, 8192);
}

static void
test_suppressed(gconstpointer adapter)
{
	struct ends p RI_AT_END(ends_close);
	struct ri_wr wr = {.opcode = RI_OP_RDMA_WRITE};

	ends_up(&p, adapter, NULL, NULL);
	for (guint round = 0; round < 5; round++) {
		for (guint i = 0; i < 15; i++)
			g_assert_cmpint(p.na->p->fast->post_sq(p.a->uqp, &wr), ==, RI_SUCCESS);
		poll_none(p.a->uscq);
		wr.flags = RI_WR_SIGNALED | RI_WR_NOTIFY | RI_WR_READ_FENCE;
		g_assert_cmpint(p.na->p->fast->post_sq(p.a->uqp, &wr), ==, RI_SUCCESS);
		g_assert_cmpint(p.na->p->fast->post_sq(p.a->uqp, &wr), ==, RI_ERR_QUEUE_FULL);
		g_assert_cmpuint(poll_one(p.a->uscq, 0, RI_WC_SUCCESS).flags, ==, RI_WC_SOLICITED);
		wr.flags = 0;
	}
}

/* --- waiting for a receive ---------------------------------------------------------------- */

static void
test_receive_comes_late(gconstpointer adapter)
{
	struct ends p RI_AT_END(ends_close);
	struct ri_sge local;

	ends_up(&p, adapter, NULL, NULL);
	local = chunk_sge(&p.ma, 0, 100);
	post_send(p.a, 1, &local, 0);
	post_send(p.a, 2, &local, 0);
	poll_none(p.a->uscq);
	vth_advance(p.vth, 900000000);
	poll_none(p.a->uscq);
	struct ri_sge to = chunk_sge(&p.mb, 0, 100);
	post_recv(p.b, 3, &to);
	poll_one(p.a->uscq, 1, RI_WC_SUCCESS);
	poll_none(p.a->uscq);
	/* The second message has its own time-out. */
	vth_advance(p.vth, 900000000);
	poll_none(p.a->uscq);
	post_recv(p.b, 4, &to);
	poll_one(p.a->uscq, 2, RI_WC_SUCCESS);
	vth_advance(p.vth, 2000000000);
	node_silent(p.na);
}

/* A connection that ends while a Send waits leaves no time to the next one; and the log says of that one, too, why it may end. */
static void
test_receive_waited_before(gconstpointer adapter)
{
	static const char waits[] = "a Send of the peer waits, since no receive is posted";
	struct ends p RI_AT_END(ends_close);
	struct ri_sge local, to;

	ends_up(&p, adapter, NULL, NULL);
	local = chunk_sge(&p.ma, 0, 100);
	to = chunk_sge(&p.mb, 0, 100);
	post_send(p.a, 1, &local, 0);
	poll_none(p.a->uscq);
	g_assert_cmpuint(vth_logged(p.vth, waits), ==, 1);
	vth_advance(p.vth, 500000000);
	g_assert_cmpint(end_modify(p.a, RI_QPS_ERROR), ==, RI_SUCCESS);
	vth_run(p.vth);
	poll_one(p.a->uscq, 1, RI_WC_FLUSHED);
	node_forget(p.na);
	node_forget(p.nb);
	g_assert_cmpint(end_modify(p.a, RI_QPS_IDLE), ==, RI_SUCCESS);
	g_assert_cmpint(end_modify(p.b, RI_QPS_IDLE), ==, RI_SUCCESS);
	ends_connect(p.a, p.b);
	post_send(p.a, 2, &local, 0);
	vth_advance(p.vth, 900000000);
	node_silent(p.na);
	g_assert_cmpuint(vth_logged(p.vth, waits), ==, 2);
	post_recv(p.b, 3, &to);
	poll_one(p.a->uscq, 2, RI_WC_SUCCESS);
}

static void
test_receive_never_comes(gconstpointer adapter)
{
	struct ends p RI_AT_END(ends_close);

	ends_up(&p, adapter, NULL, NULL);
	struct ri_sge local = chunk_sge(&p.ma, 0, 100);
	post_send(p.a, 1, &local, 0);
	post_send(p.a, 2, &local, 0);
	vth_advance(p.vth, 999000000);
	node_silent(p.na);
	vth_advance(p.vth, 2000000);
	if (p.ib) {
		poll_one(p.a->uscq, 1, RI_WC_RNR);
		poll_one(p.a->uscq, 2, RI_WC_FLUSHED);
		expect_broken(&p, RI_EVENT_NONE, 0, RI_EVENT_QP_RQ_MSN_RANGE);
	} else {
		expect_broken(&p, RI_EVENT_QP_TERMINATE_RECEIVED, 0x1202, RI_EVENT_QP_RQ_MSN_RANGE);
		poll_one(p.a->uscq, 1, RI_WC_SUCCESS);
		poll_one(p.a->uscq, 2, RI_WC_FLUSHED);
	}
}

/* --- faults at the peer ------------------------------------------------------------------- */

struct remote_case {
	const char *what;
	uint32_t access;    /* of the peer's region */
	uint32_t qp_access; /* of the peer's queue pair */
	bool other_pd;
	bool wrong_key;
	int64_t offset;
	enum ri_event write_event;
	uint32_t write_code;
	enum ri_event read_event;
	uint32_t read_code;
};

#define QP_RW (RI_ACCESS_REMOTE_READ | RI_ACCESS_REMOTE_WRITE)

static const struct remote_case remote_cases[] = {
	{"key", ALL_RW, QP_RW, false, true, 0, RI_EVENT_QP_STAG, 0x1100, RI_EVENT_QP_IRRQ_STAG,
	 0x0100},
	{"bounds", ALL_RW, QP_RW, false, false, 8000, RI_EVENT_QP_BOUNDS, 0x1101,
	 RI_EVENT_QP_IRRQ_BOUNDS, 0x0101},
	{"rights", LOCAL_RW | RI_ACCESS_REMOTE_ATOMIC, QP_RW, false, false, 0, RI_EVENT_QP_ACCESS,
	 0x1102, RI_EVENT_QP_IRRQ_ACCESS, 0x0102},
	{"closed", LOCAL_RW, QP_RW, false, false, 0, RI_EVENT_QP_ACCESS, 0x1100,
	 RI_EVENT_QP_IRRQ_ACCESS, 0x0100},
	{"domain", ALL_RW, QP_RW, true, false, 0, RI_EVENT_QP_PD, 0x1100, RI_EVENT_QP_IRRQ_PD,
	 0x0100},
	{"wrap", ALL_RW, QP_RW, false, false, -1, RI_EVENT_QP_WRAP, 0x1103, RI_EVENT_QP_IRRQ_WRAP,
	 0x0104},
	{"disabled", ALL_RW, 0, false, false, 0, RI_EVENT_QP_WRITE_DISABLED, 0x1201,
	 RI_EVENT_QP_READ_DISABLED, 0x1201},
};

static void
one_remote_fault(const char *adapter, const struct remote_case *c, bool write)
{
	struct ends p RI_AT_END(ends_close);
	struct ri_pd *own_pd = NULL;

	g_test_message("%s %s: %s", adapter, write ? "Write" : "Read", c->what);
	struct vth *probe = vth_new(false);
	struct node *node = node_new(probe, false, adapter);
	struct ri_qp_init init = end_defaults(node);
	node_free(&node);
	vth_free(&probe);
	init.access = c->qp_access;
	ends_up(&p, adapter, NULL, &init);
	chunk_free(&p.mb);
	if (c->other_pd) {
		own_pd = p.nb->pd;
		g_assert_cmpint(p.nb->p->pd->create(p.nb->context, &p.nb->pd), ==, RI_SUCCESS);
	}
	p.mb = chunk_new(p.nb, 8192, c->access);
	if (c->other_pd)
		p.nb->pd = own_pd;
	memset(p.mb.at, 0x55, 8192);
	memset(p.ma.at, 0xaa, 8192);
	struct ri_sge local = chunk_sge(&p.ma, 0, 1000);
	struct ri_sge there = chunk_sge(&p.mb, 0, 0);
	there.stag ^= c->wrong_key;
	there.addr = c->offset < 0 ? UINT64_MAX - 10 : there.addr + (uint64_t)c->offset;
	struct ri_sge to = chunk_sge(&p.mb, 0, 8);
	post_recv(p.b, 9, &to);
	post_rdma(p.a, write ? RI_OP_RDMA_WRITE : RI_OP_RDMA_READ, 1, &local, &there);
	post_rdma(p.a, RI_OP_RDMA_WRITE, 2, NULL, &there);
	enum ri_event event = write ? c->write_event : c->read_event;
	uint32_t code = write ? c->write_code : c->read_code;
	if (p.ib) {
		expect_broken(&p, RI_EVENT_NONE, 0, event);
		poll_one(p.a->uscq, 1, RI_WC_REMOTE_ACCESS);
		g_assert_cmpuint(end_attr(p.a).terminate_len, ==, 0);
	} else {
		expect_broken(&p, RI_EVENT_QP_TERMINATE_RECEIVED, code, event);
		poll_one(p.a->uscq, 1, write ? RI_WC_SUCCESS : RI_WC_FLUSHED);
		struct ri_qp_attr attr = end_attr(p.b);
		g_assert_true(attr.terminate_sent);
		g_assert_cmpuint(attr.terminate[0] << 8 | attr.terminate[1], ==, code);
		attr = end_attr(p.a);
		g_assert_false(attr.terminate_sent);
		g_assert_cmpuint(attr.terminate[0] << 8 | attr.terminate[1], ==, code);
	}
	poll_one(p.a->uscq, 2, RI_WC_FLUSHED);
	poll_one(p.b->urcq, 9, RI_WC_FLUSHED);
	for (guint i = 0; i < 8192; i++)
		g_assert_cmpuint(write ? p.mb.at[i] : p.ma.at[i], ==, write ? 0x55 : 0xaa);
}

static void
test_remote_faults(gconstpointer adapter)
{
	for (guint i = 0; i < G_N_ELEMENTS(remote_cases); i++) {
		one_remote_fault(adapter, &remote_cases[i], true);
		one_remote_fault(adapter, &remote_cases[i], false);
	}
}

static void
test_receive_too_short(gconstpointer adapter)
{
	struct ends p RI_AT_END(ends_close);

	ends_up(&p, adapter, NULL, NULL);
	struct ri_sge local = chunk_sge(&p.ma, 0, 100);
	struct ri_sge to = chunk_sge(&p.mb, 0, 99);
	post_recv(p.b, 1, &to);
	post_recv(p.b, 2, &to);
	post_send(p.a, 3, &local, 0);
	expect_broken(&p, p.ib ? RI_EVENT_NONE : RI_EVENT_QP_TERMINATE_RECEIVED, 0x1205,
		      RI_EVENT_NONE);
	poll_one(p.b->urcq, 1, RI_WC_LOCAL_LENGTH);
	poll_one(p.b->urcq, 2, RI_WC_FLUSHED);
	poll_one(p.a->uscq, 3, p.ib ? RI_WC_REMOTE_INVALID_REQ : RI_WC_SUCCESS);
}

/* --- faults here -------------------------------------------------------------------------- */

/* The sink of a Read: local write is enough on InfiniBand, iWARP wants remote write (row 1). */
static void
test_read_sink(gconstpointer adapter)
{
	struct ends p RI_AT_END(ends_close);

	ends_up(&p, adapter, NULL, NULL);
	g_assert_true(p.na->attr.read_sink_needs_remote_write == !p.ib);
	struct chunk sink RI_AT_END(chunk_free) = chunk_new(p.na, 100, LOCAL_RW);
	struct ri_sge local = chunk_sge(&sink, 0, 100);
	struct ri_sge there = chunk_sge(&p.mb, 0, 100);
	post_rdma(p.a, RI_OP_RDMA_READ, 1, &local, &there);
	poll_one(p.a->uscq, 1, p.ib ? RI_WC_SUCCESS : RI_WC_LOCAL_PROTECTION);
	vth_run(p.vth);
	if (!p.ib) {
		node_async(p.nb, RI_EVENT_QP_TERMINATE_RECEIVED, p.b);
		node_cm(p.na, RI_CM_BROKEN, p.a);
		node_cm(p.nb, RI_CM_BROKEN, p.b);
	}
}

/* How many segments the sink may have (row 2). */
static void
test_read_pieces(gconstpointer adapter)
{
	struct ends p RI_AT_END(ends_close);

	ends_up(&p, adapter, NULL, NULL);
	struct ri_sge sgl[2] = {chunk_sge(&p.ma, 0, 10), chunk_sge(&p.ma, 100, 10)};
	struct ri_wr wr = {.sgl = sgl,
			   .num_sge = 2,
			   .opcode = RI_OP_RDMA_READ,
			   .flags = RI_WR_SIGNALED,
			   .u.remote = {.addr = chunk_sge(&p.mb, 0, 0).addr, .stag = p.mb.stag}};
	chunk_fill(&p.mb, 5);
	enum ri_status status = p.na->p->fast->post_sq(p.a->uqp, &wr);
	g_assert_cmpint(status, ==, p.ib ? RI_SUCCESS : RI_ERR_LIMIT);
	if (p.ib) {
		poll_one(p.a->uscq, 0, RI_WC_SUCCESS);
		g_assert_cmpmem(p.ma.at + 100, 10, p.mb.at + 10, 10);
	}
}

static void
test_read_depths(gconstpointer adapter)
{
	struct ends p;

	/* ORD 0: refused at this end. */
	ends_up(&p, adapter, NULL, NULL);
	struct ri_qp_attr attr = {.ord = 0};
	g_assert_cmpint(p.na->p->qp->modify(p.a->qp, &attr, RI_QP_ATTR_ORD), ==, RI_SUCCESS);
	struct ri_sge there = chunk_sge(&p.mb, 0, 0);
	post_rdma(p.a, RI_OP_RDMA_READ, 1, NULL, &there);
	poll_one(p.a->uscq, 1, RI_WC_LOCAL_QP);
	vth_run(p.vth);
	if (!p.ib)
		node_async(p.nb, RI_EVENT_QP_TERMINATE_RECEIVED, p.b);
	node_cm(p.na, RI_CM_BROKEN, p.a);
	node_cm(p.nb, RI_CM_BROKEN, p.b);
	ends_close(&p);

	/* IRD 0: refused at the peer. */
	ends_up(&p, adapter, NULL, NULL);
	g_assert_cmpint(p.nb->p->qp->modify(p.b->qp, &attr, RI_QP_ATTR_IRD), ==, RI_SUCCESS);
	there = chunk_sge(&p.mb, 0, 0);
	post_rdma(p.a, RI_OP_RDMA_READ, 1, NULL, &there);
	expect_broken(&p, p.ib ? RI_EVENT_NONE : RI_EVENT_QP_TERMINATE_RECEIVED, 0x1203,
		      RI_EVENT_QP_IRRQ_OVERFLOW);
	poll_one(p.a->uscq, 1, p.ib ? RI_WC_REMOTE_INVALID_REQ : RI_WC_FLUSHED);
	ends_close(&p);
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		GTestDataFunc run;
	} tests[] = {
		{"send", test_send},
		{"receive-overflow", test_receive_overflow},
		{"through-the-host", test_through_the_host},
		{"suppressed", test_suppressed},
		{"receive-comes-late", test_receive_comes_late},
		{"receive-waited-before", test_receive_waited_before},
		{"receive-never-comes", test_receive_never_comes},
		{"remote-faults", test_remote_faults},
		{"receive-too-short", test_receive_too_short},
		{"read-sink", test_read_sink},
		{"read-pieces", test_read_pieces},
		{"read-depths", test_read_depths},
	};
	static const char *const adapters[] = {"emul:ib", "emul:iwarp"};

	g_test_init(&argc, &argv, NULL);
	for (guint a = 0; a < G_N_ELEMENTS(adapters); a++) {
		for (guint i = 0; i < G_N_ELEMENTS(tests); i++) {
			g_autofree char *path =
				g_strdup_printf("/emul/%s/%s", adapters[a] + 5, tests[i].name);
			g_test_add_data_func(path, adapters[a], tests[i].run);
		}
	}
	return g_test_run();
}
