/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Immediate data [RI 10.50]: what takes a receive, what it says, and both sides when it cannot. */
#include <string.h>

#include "vem_dgram.h"

#define IMM 0x44332211u

static void
scene_open_patient(struct ends *p, const char *adapter, bool shared, const char *patience)
{
	if (patience != NULL)
		g_setenv("ITAPI_EMUL_RNR_MS", patience, TRUE);
	ends_open(p, adapter);
	g_unsetenv("ITAPI_EMUL_RNR_MS");
	if (shared)
		node_share(p->nb, 8);
	ends_fill(p, NULL, NULL, 4096, ALL_RW);
	chunk_fill(&p->ma, 3);
	memset(p->mb.at, 0, p->mb.len);
	ends_connect(p->a, p->b);
}

static void
scene_open(struct ends *p, const char *adapter, bool shared)
{
	scene_open_patient(p, adapter, shared, NULL);
}

static void
scene_close(struct ends *p)
{
	vth_run(p->vth);
	node_forget(p->na);
	ends_close(p);
}

/* From the beginning of a's memory, a Write to offset 2048 of b's. */
static enum ri_status
post_told(struct ends *s, enum ri_opcode opcode, uint64_t id, uint32_t len, uint32_t flags)
{
	struct ri_sge sge = chunk_sge(&s->ma, 0, len), to = chunk_sge(&s->mb, 2048, len);
	struct ri_wr wr = {.wr_id = id,
			   .sgl = &sge,
			   .num_sge = 1,
			   .opcode = (uint8_t)opcode,
			   .flags = RI_WR_SIGNALED | RI_WR_IMMEDIATE | flags,
			   .imm = IMM};

	wr.u.remote.addr = to.addr;
	wr.u.remote.stag = to.stag;
	return vem_provider_entry()->fast->post_sq(s->a->uqp, &wr);
}

static void
expect_told(struct ri_wc wc, enum ri_opcode opcode, uint32_t len, uint32_t flags)
{
	g_assert_cmpuint(wc.opcode, ==, opcode);
	g_assert_cmpuint(wc.byte_len, ==, len);
	g_assert_cmpuint(wc.flags, ==, RI_WC_RECEIVE | RI_WC_IMMEDIATE | flags);
	g_assert_cmphex(wc.imm, ==, IMM);
}

static void
test_claims(void)
{
	struct vth *vth RI_AT_END(vth_free) = vth_new(false);
	struct node *ib RI_AT_END(node_free) = node_new(vth, false, "emul:ib");
	struct node *iw RI_AT_END(node_free) = node_new(vth, false, "emul:iwarp");

	g_assert_cmpuint(ib->attr.immediate_size, ==, 4);
	g_assert_false(ib->attr.immediate_separate);
	g_assert_cmpuint(ib->attr.immediate_with, ==,
			 RI_IMMEDIATE_SEND | RI_IMMEDIATE_WRITE | RI_IMMEDIATE_UD);
	g_assert_cmpuint(iw->attr.immediate_size, ==, 8);
	g_assert_true(iw->attr.immediate_separate);
	g_assert_cmpuint(iw->attr.immediate_with, ==, RI_IMMEDIATE_WRITE);
}

/* A Send is received as every Send; on iWARP the post is refused, and nothing else happens. */
static void
test_send(gconstpointer adapter)
{
	struct ends s RI_AT_END(scene_close);

	scene_open(&s, adapter, false);
	g_assert_cmpint(end_recv(s.b, 1, &s.mb, 0, 100), ==, RI_SUCCESS);
	if (s.ib) {
		g_assert_cmpint(post_told(&s, RI_OP_SEND, 2, 60, RI_WR_SOLICITED), ==, RI_SUCCESS);
		g_assert_cmpuint(poll_one(s.a->uscq, 2, RI_WC_SUCCESS).flags, ==, 0);
		expect_told(poll_one(s.b->urcq, 1, RI_WC_SUCCESS), RI_OP_RECV, 60, RI_WC_SOLICITED);
		g_assert_cmpmem(s.mb.at, 60, s.ma.at, 60);
		g_assert_cmpint(end_recv(s.b, 3, &s.mb, 0, 100), ==, RI_SUCCESS);
		g_assert_cmpint(end_send(s.a, 4, &s.ma, 0, 10), ==, RI_SUCCESS);
		g_assert_cmpuint(poll_one(s.b->urcq, 3, RI_WC_SUCCESS).flags, ==, RI_WC_RECEIVE);
		poll_one(s.a->uscq, 4, RI_WC_SUCCESS);
	} else {
		g_assert_cmpint(post_told(&s, RI_OP_SEND, 2, 60, 0), ==, RI_ERR_UNSUPPORTED);
		poll_none(s.b->urcq);
		g_assert_cmpint(end_state(s.a), ==, RI_QPS_RTS);
	}
}

/*
 * A Write takes a receive, whose segments are not touched, however wrong they are; the data is there before the
 * completion. An empty one needs no key.
 */
static void
test_write(gconstpointer adapter)
{
	struct ends s RI_AT_END(scene_close);
	struct ri_sge bad;

	scene_open(&s, adapter, false);
	bad = chunk_sge(&s.mb, 0, 1);
	bad.stag ^= 0xff00;
	post_recv(s.b, 1, &bad);
	post_recv(s.b, 2, NULL);
	g_assert_cmpint(post_told(&s, RI_OP_RDMA_WRITE, 3, 500, RI_WR_SOLICITED), ==, RI_SUCCESS);
	poll_one(s.a->uscq, 3, RI_WC_SUCCESS);
	expect_told(poll_one(s.b->urcq, 1, RI_WC_SUCCESS), RI_OP_RECV_WRITE, 500, RI_WC_SOLICITED);
	g_assert_cmpmem(s.mb.at + 2048, 500, s.ma.at, 500);
	g_assert_cmpuint(s.mb.at[0], ==, 0);
	s.mb.stag ^= 0xff00;
	g_assert_cmpint(post_told(&s, RI_OP_RDMA_WRITE, 4, 0, 0), ==, RI_SUCCESS);
	s.mb.stag ^= 0xff00;
	poll_one(s.a->uscq, 4, RI_WC_SUCCESS);
	expect_told(poll_one(s.b->urcq, 2, RI_WC_SUCCESS), RI_OP_RECV_WRITE, 0, 0);
	g_assert_cmpint(end_write(s.a, 5, &s.ma, &s.mb, 9), ==, RI_SUCCESS);
	poll_one(s.a->uscq, 5, RI_WC_SUCCESS);
	poll_none(s.b->urcq);
}

/* Without a receive it waits, places nothing, and keeps its turn before what was posted behind it. */
static void
test_waits(gconstpointer adapter)
{
	struct ends s;

	for (guint shared = 0; shared < 2; shared++) {
		scene_open(&s, adapter, shared != 0);
		g_assert_cmpint(post_told(&s, RI_OP_RDMA_WRITE, 1, 64, 0), ==, RI_SUCCESS);
		g_assert_cmpint(end_write(s.a, 2, &s.ma, &s.mb, 8), ==, RI_SUCCESS);
		poll_none(s.a->uscq);
		g_assert_cmpuint(s.mb.at[2048], ==, 0);
		if (shared != 0)
			node_post(s.nb, 7, &s.mb, 0, 1);
		else
			post_recv(s.b, 7, NULL);
		vth_run(s.vth);
		expect_told(poll_one(s.b->urcq, 7, RI_WC_SUCCESS), RI_OP_RECV_WRITE, 64, 0);
		g_assert_cmpmem(s.mb.at + 2048, 64, s.ma.at, 64);
		poll_one(s.a->uscq, 1, RI_WC_SUCCESS);
		poll_one(s.a->uscq, 2, RI_WC_SUCCESS);
		scene_close(&s);
	}
}

/* No receive in time: as with a Send. */
static void
test_no_receive(gconstpointer adapter)
{
	struct ends s RI_AT_END(scene_close);

	scene_open_patient(&s, adapter, false, "20");
	g_assert_cmpint(post_told(&s, RI_OP_RDMA_WRITE, 1, 64, 0), ==, RI_SUCCESS);
	vth_advance(s.vth, 30 * 1000000);
	poll_one(s.a->uscq, 1, s.ib ? RI_WC_RNR : RI_WC_SUCCESS);
	g_assert_cmpint(end_state(s.a), ==, RI_QPS_ERROR);
	g_assert_cmpint(end_state(s.b), ==, RI_QPS_ERROR);
	g_assert_cmpuint(s.mb.at[2048], ==, 0);
}

/* The peer refuses the Write: no receive is taken by it, and those posted are flushed. */
static void
test_refused(gconstpointer adapter)
{
	struct ends s RI_AT_END(scene_close);
	struct ri_wc wc;

	scene_open(&s, adapter, false);
	post_recv(s.b, 7, NULL);
	s.mb.stag ^= 0xff00;
	g_assert_cmpint(post_told(&s, RI_OP_RDMA_WRITE, 1, 64, 0), ==, RI_SUCCESS);
	s.mb.stag ^= 0xff00;
	poll_one(s.a->uscq, 1, s.ib ? RI_WC_REMOTE_ACCESS : RI_WC_SUCCESS);
	vth_run(s.vth);
	wc = poll_one(s.b->urcq, 7, RI_WC_FLUSHED);
	g_assert_cmpuint(wc.flags & RI_WC_IMMEDIATE, ==, 0);
	g_assert_cmpint(end_state(s.b), ==, RI_QPS_ERROR);
}

/* The sender's own memory is wrong: the peer has no receive less until its connection ends. */
static void
test_sender_fails(gconstpointer adapter)
{
	struct ends s RI_AT_END(scene_close);

	scene_open(&s, adapter, false);
	post_recv(s.b, 7, NULL);
	s.ma.stag ^= 0xff00;
	g_assert_cmpint(post_told(&s, RI_OP_RDMA_WRITE, 1, 64, 0), ==, RI_SUCCESS);
	s.ma.stag ^= 0xff00;
	poll_one(s.a->uscq, 1, RI_WC_LOCAL_PROTECTION);
	poll_none(s.b->urcq);
	vth_run(s.vth);
	poll_one(s.b->urcq, 7, RI_WC_FLUSHED);
}

static void
test_datagram(void)
{
	struct vth *vth RI_AT_END(vth_free) = vth_new(false);
	struct node *node RI_AT_END(node_free) = node_new(vth, false, "emul:ib");
	struct chunk m RI_AT_END(chunk_free) = chunk_new(node, 1024, ALL_RW);
	struct end *end RI_AT_END(end_free) = ud_new(node, 16);
	struct ri_sge sge = chunk_sge(&m, 512, 40);
	struct ri_wr wr = {.wr_id = 2,
			   .sgl = &sge,
			   .num_sge = 1,
			   .opcode = RI_OP_SEND_UD,
			   .flags = RI_WR_SIGNALED | RI_WR_IMMEDIATE,
			   .imm = IMM};
	struct ri_ah *ah = ah_new(node, NULL, &wr.u.ud.ah);

	wr.u.ud.qpn = qpn_of(end);
	wr.u.ud.qkey = KEY;
	g_assert_cmpint(end_recv(end, 1, &m, 0, 512), ==, RI_SUCCESS);
	g_assert_cmpint(emul()->fast->post_sq(end->uqp, &wr), ==, RI_SUCCESS);
	poll_one(end->uscq, 2, RI_WC_SUCCESS);
	expect_told(poll_one(end->urcq, 1, RI_WC_SUCCESS), RI_OP_RECV_UD, VEM_GRH + 40, RI_WC_GRH);
	g_assert_cmpint(emul()->ah->destroy(ah), ==, RI_SUCCESS);
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(gconstpointer);
	} tests[] = {{"send", test_send},       {"write", test_write},
		     {"waits", test_waits},     {"no-receive", test_no_receive},
		     {"refused", test_refused}, {"sender-fails", test_sender_fails}};

	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/emul/immediate/claims", test_claims);
	g_test_add_func("/emul/immediate/datagram", test_datagram);
	for (guint i = 0; i < G_N_ELEMENTS(tests); i++) {
		static const char *const adapters[] = {"emul:ib", "emul:iwarp"};

		for (guint k = 0; k < G_N_ELEMENTS(adapters); k++) {
			char *path = g_strdup_printf("/emul/immediate/%s/%s", tests[i].name,
						     adapters[k] + 5);

			g_test_add_data_func(path, adapters[k], tests[i].run);
			g_free(path);
		}
	}
	return g_test_run();
}
