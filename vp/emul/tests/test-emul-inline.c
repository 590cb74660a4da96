/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Requests that carry their payload [RI 10.49]: memory without a key, free when the post has returned. */
#include <string.h>

#include "vem_dgram.h"

#define MOST 512u

static void
scene_open(struct ends *p, const char *adapter)
{
	struct ri_qp_init init;

	ends_open(p, adapter);
	init = end_defaults(p->na);
	init.max_inline = MOST;
	ends_fill(p, &init, NULL, 4096, ALL_RW);
}

static void
scene_close(struct ends *p)
{
	node_forget(p->na);
	ends_close(p);
}

/* `len` octets in two segments, overwritten after the post. */
static enum ri_status
post_octets(struct end *end, const struct ri_wr *what, uint64_t id, uint32_t len, uint8_t seed)
{
	uint8_t octets[MOST + 1];
	struct ri_sge sgl[2] = {{.addr = (uintptr_t)octets, .length = len / 3, .stag = 0xbad},
				{.addr = (uintptr_t)octets + len / 3, .length = len - len / 3}};
	struct ri_wr wr = *what;
	enum ri_status status;

	for (uint32_t i = 0; i < len; i++)
		octets[i] = (uint8_t)(seed + i);
	wr.wr_id = id;
	wr.sgl = sgl;
	wr.num_sge = 2;
	wr.flags |= RI_WR_SIGNALED | RI_WR_INLINE;
	status = vem_provider_entry()->fast->post_sq(end->uqp, &wr);
	memset(octets, 0xee, sizeof(octets));
	return status;
}

static void
assert_octets(const uint8_t *at, uint32_t len, uint8_t seed)
{
	for (uint32_t i = 0; i < len; i++)
		g_assert_cmphex(at[i], ==, (uint8_t)(seed + i));
}

/* Also requests that must wait: a Send without a receive, and what was posted behind it. */
static void
test_connected(gconstpointer adapter)
{
	const struct ri_wr send = {.opcode = RI_OP_SEND};
	struct ri_wr write = {.opcode = RI_OP_RDMA_WRITE};
	struct ends s RI_AT_END(scene_close);
	struct ri_sge sge;

	scene_open(&s, adapter);
	g_assert_true(s.na->attr.inline_data);
	g_assert_cmpuint(s.na->attr.max_inline, ==, MOST);
	g_assert_cmpuint(s.a->init.max_inline, ==, MOST);
	ends_connect(s.a, s.b);
	sge = chunk_sge(&s.mb, 1024, MOST);
	write.u.remote.addr = sge.addr;
	write.u.remote.stag = sge.stag;
	g_assert_cmpint(post_octets(s.a, &send, 1, MOST, 10), ==, RI_SUCCESS);
	g_assert_cmpint(post_octets(s.a, &write, 2, MOST, 20), ==, RI_SUCCESS);
	g_assert_cmpint(post_octets(s.a, &send, 3, 0, 0), ==, RI_SUCCESS);
	g_assert_cmpint(post_octets(s.a, &send, 4, MOST + 1, 0), ==, RI_ERR_LIMIT);
	poll_none(s.a->uscq);
	g_assert_cmpint(end_recv(s.b, 5, &s.mb, 0, MOST), ==, RI_SUCCESS);
	g_assert_cmpint(end_recv(s.b, 6, &s.mb, 0, MOST), ==, RI_SUCCESS);
	vth_run(s.vth);
	for (uint64_t id = 1; id <= 3; id++)
		g_assert_cmpuint(poll_one(s.a->uscq, id, RI_WC_SUCCESS).byte_len, ==,
				 id == 3 ? 0 : MOST);
	g_assert_cmpuint(poll_one(s.b->urcq, 5, RI_WC_SUCCESS).byte_len, ==, MOST);
	g_assert_cmpuint(poll_one(s.b->urcq, 6, RI_WC_SUCCESS).byte_len, ==, 0);
	assert_octets(s.mb.at, MOST, 10);
	assert_octets(s.mb.at + 1024, MOST, 20);
}

/* The peer refuses it as it refuses every Write, and the request that fails still has its length. */
static void
test_refused(gconstpointer adapter)
{
	struct ri_wr write = {.opcode = RI_OP_RDMA_WRITE};
	struct ends s RI_AT_END(scene_close);

	scene_open(&s, adapter);
	bool ib = s.na->attr.transport == RI_TRANSPORT_IB;
	ends_connect(s.a, s.b);
	write.u.remote.addr = chunk_sge(&s.mb, 0, 1).addr;
	write.u.remote.stag = s.mb.stag ^ 0x100;
	g_assert_cmpint(post_octets(s.a, &write, 1, 8, 1), ==, RI_SUCCESS);
	poll_one(s.a->uscq, 1, ib ? RI_WC_REMOTE_ACCESS : RI_WC_SUCCESS);
	vth_run(s.vth);
	g_assert_cmpint(end_state(s.b), ==, RI_QPS_ERROR);
}

static void
test_datagram(void)
{
	struct vth *vth RI_AT_END(vth_free) = vth_new(false);
	struct node *node RI_AT_END(node_free) = node_new(vth, false, "emul:ib");
	struct ri_qp_init init = end_defaults(node);
	struct ri_wr wr = {.opcode = RI_OP_SEND_UD};
	struct chunk m RI_AT_END(chunk_free) = chunk_new(node, 1024, ALL_RW);
	struct ri_ah *ah;

	init.type = RI_QP_UD;
	init.qkey = KEY;
	init.max_inline = 100;
	struct end *end RI_AT_END(end_free) = end_new(node, &init);
	ah = ah_new(node, NULL, &wr.u.ud.ah);
	wr.u.ud.qpn = qpn_of(end);
	wr.u.ud.qkey = KEY;
	g_assert_cmpint(end_recv(end, 1, &m, 0, 1024), ==, RI_SUCCESS);
	g_assert_cmpint(post_octets(end, &wr, 2, 101, 3), ==, RI_ERR_LIMIT);
	g_assert_cmpint(post_octets(end, &wr, 2, 100, 3), ==, RI_SUCCESS);
	poll_one(end->uscq, 2, RI_WC_SUCCESS);
	g_assert_cmpuint(poll_one(end->urcq, 1, RI_WC_SUCCESS).byte_len, ==, VEM_GRH + 100);
	assert_octets(m.at + VEM_GRH, 100, 3);
	g_assert_cmpint(emul()->ah->destroy(ah), ==, RI_SUCCESS);
}

/* More than the adapter claims is no queue pair; none asked for is none. */
static void
test_grants(gconstpointer adapter)
{
	struct vth *vth RI_AT_END(vth_free) = vth_new(false);
	struct node *node RI_AT_END(node_free) = node_new(vth, false, adapter);
	struct end *plain RI_AT_END(end_free) = end_new(node, NULL);
	struct ri_qp_init init = end_defaults(node);
	struct ri_map map;
	struct ri_qp *qp = NULL;

	init.max_inline = node->attr.max_inline + 1;
	g_assert_cmpint(
		node->p->qp->create(node->pd, &init, plain->scq, plain->rcq, NULL, &qp, &map), ==,
		RI_ERR_LIMIT);
	g_assert_null(qp);
	g_assert_cmpuint(plain->init.max_inline, ==, 0);
	g_assert_cmpint(post_octets(plain, &(struct ri_wr){.opcode = RI_OP_SEND}, 1, 1, 0), ==,
			RI_ERR_LIMIT);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/emul/inline/connected/ib", "emul:ib", test_connected);
	g_test_add_data_func("/emul/inline/connected/iwarp", "emul:iwarp", test_connected);
	g_test_add_data_func("/emul/inline/refused/ib", "emul:ib", test_refused);
	g_test_add_data_func("/emul/inline/refused/iwarp", "emul:iwarp", test_refused);
	g_test_add_data_func("/emul/inline/grants/ib", "emul:ib", test_grants);
	g_test_add_data_func("/emul/inline/grants/iwarp", "emul:iwarp", test_grants);
	g_test_add_func("/emul/inline/datagram", test_datagram);
	return g_test_run();
}
