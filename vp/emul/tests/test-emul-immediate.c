/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Immediate data [RI 10.50] that finds no receive, or comes from wrong memory, or with a datagram. it-certify judges the rest. */
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

/* From the beginning of a's memory, a Write to offset 2048 of b's. */
static enum ri_status
post_told(struct ends *s, uint64_t id, uint32_t len)
{
	struct ri_sge sge = chunk_sge(&s->ma, 0, len), to = chunk_sge(&s->mb, 2048, len);
	struct ri_wr wr = {.wr_id = id,
			   .sgl = &sge,
			   .num_sge = 1,
			   .opcode = RI_OP_RDMA_WRITE,
			   .flags = RI_WR_SIGNALED | RI_WR_IMMEDIATE,
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

/* Without a receive it waits, places nothing, and keeps its turn before what was posted behind it. */
static void
test_waits(gconstpointer adapter)
{
	struct ends s;

	for (guint shared = 0; shared < 2; shared++) {
		scene_open(&s, adapter, shared != 0);
		g_assert_cmpint(post_told(&s, 1, 64), ==, RI_SUCCESS);
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
		ends_drop(&s);
	}
}

/* No receive in time: as with a Send. */
static void
test_no_receive(gconstpointer adapter)
{
	struct ends s RI_AT_END(ends_drop);

	scene_open_patient(&s, adapter, false, "20");
	g_assert_cmpint(post_told(&s, 1, 64), ==, RI_SUCCESS);
	vth_advance(s.vth, 30 * 1000000);
	poll_one(s.a->uscq, 1, s.ib ? RI_WC_RNR : RI_WC_SUCCESS);
	g_assert_cmpint(end_state(s.a), ==, RI_QPS_ERROR);
	g_assert_cmpint(end_state(s.b), ==, RI_QPS_ERROR);
	g_assert_cmpuint(s.mb.at[2048], ==, 0);
}

/* The sender's own memory is wrong: the peer has no receive less until its connection ends. */
static void
test_sender_fails(gconstpointer adapter)
{
	struct ends s RI_AT_END(ends_drop);

	scene_open(&s, adapter, false);
	post_recv(s.b, 7, NULL);
	s.ma.stag ^= 0xff00;
	g_assert_cmpint(post_told(&s, 1, 64), ==, RI_SUCCESS);
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
	} tests[] = {
		{"waits", test_waits},
		{"no-receive", test_no_receive},
		{"sender-fails", test_sender_fails},
	};

	g_test_init(&argc, &argv, NULL);
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
