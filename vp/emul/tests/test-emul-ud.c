/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Datagrams of the InfiniBand personality: what a receiver sees, which errors end a queue pair, address handles. */

#include "vem.h"
#include "vem_dgram.h"
#include "vsw_user_objects.h"

/* Two adapters on one fabric, each with a datagram queue pair, in virtual time. */
struct scene {
	struct vth *vth;
	struct node *na, *nb;
	struct end *a, *b;
	struct chunk ma, mb;
	struct ri_ah *ah; /* of na */
	uint32_t way;
};

static void
scene_open(struct scene *s)
{
	s->vth = vth_new(false);
	s->na = node_new(s->vth, false, "emul:ib");
	s->nb = node_new(s->vth, false, "emul:ib");
	s->a = ud_new(s->na, 64);
	s->b = ud_new(s->nb, 64);
	s->ma = chunk_new(s->na, 8192, ALL_RW);
	s->mb = chunk_new(s->nb, 8192, ALL_RW);
	chunk_fill(&s->ma, 3);
	s->ah = ah_new(s->na, NULL, &s->way);
}

static void
scene_close(struct scene *s)
{
	g_assert_cmpint(emul()->ah->destroy(s->ah), ==, RI_SUCCESS);
	chunk_free(&s->ma);
	chunk_free(&s->mb);
	end_free(&s->a);
	end_free(&s->b);
	node_free(&s->na);
	node_free(&s->nb);
	vth_free(&s->vth);
}

/* From a to `qpn`; completes with that status. */
static void
send_len(struct scene *s, uint64_t id, uint32_t len, uint32_t qpn, enum ri_wc_status status)
{
	const struct ri_wr_ud ud = {.ah = s->way, .qpn = qpn, .qkey = KEY};
	struct ri_sge sge = chunk_sge(&s->ma, 0, len);

	g_assert_cmpint(send_to(s->a, id, &sge, &ud), ==, RI_SUCCESS);
	g_assert_cmpuint(poll_one(s->a->uscq, id, status).opcode, ==, RI_OP_SEND_UD);
}

static void
offer(struct scene *s, uint64_t id, uint32_t at, uint32_t len)
{
	struct ri_sge sge = chunk_sge(&s->mb, at, len);

	post_recv(s->b, id, &sge);
}

static void
test_arrives(void)
{
	static const uint8_t source[16] = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1};
	struct scene s RI_AT_END(scene_close);
	struct ri_wc wc;

	scene_open(&s);
	g_assert_cmpint(end_state(s.a), ==, RI_QPS_RTS);
	g_assert_cmpuint(end_attr(s.a).qkey, ==, KEY);
	offer(&s, 1, 0, VEM_GRH + 100);
	offer(&s, 2, 1024, VEM_GRH + VEM_MAX_DATAGRAM);
	offer(&s, 3, 512, VEM_GRH);
	send_len(&s, 10, 100, qpn_of(s.b), RI_WC_SUCCESS);
	wc = poll_one(s.b->urcq, 1, RI_WC_SUCCESS);
	g_assert_cmpuint(wc.opcode, ==, RI_OP_RECV_UD);
	g_assert_cmpuint(wc.byte_len, ==, VEM_GRH + 100);
	g_assert_cmpuint(wc.flags, ==, RI_WC_RECEIVE | RI_WC_GRH);
	g_assert_cmpuint(wc.src_qpn, ==, qpn_of(s.a));
	g_assert_cmpmem(wc.src_addr, 16, source, 16);
	g_assert_cmpmem(s.mb.at + VEM_GRH, 100, s.ma.at, 100);
	g_assert_cmphex(s.mb.at[0], ==, 0x60);
	g_assert_cmpuint((unsigned)s.mb.at[4] << 8 | s.mb.at[5], ==, 100 + 24);
	g_assert_cmphex(s.mb.at[6], ==, 0x1b);
	g_assert_cmpuint(s.mb.at[7], >, 0);
	g_assert_cmpmem(s.mb.at + 8, 16, source, 16);
	g_assert_cmpmem(s.mb.at + 24, 16, source, 16);
	send_len(&s, 11, VEM_MAX_DATAGRAM, qpn_of(s.b), RI_WC_SUCCESS);
	poll_one(s.b->urcq, 2, RI_WC_SUCCESS);
	g_assert_cmpmem(s.mb.at + 1024 + VEM_GRH, VEM_MAX_DATAGRAM, s.ma.at, VEM_MAX_DATAGRAM);
	send_len(&s, 12, 0, qpn_of(s.b), RI_WC_SUCCESS);
	g_assert_cmpuint(poll_one(s.b->urcq, 3, RI_WC_SUCCESS).byte_len, ==, VEM_GRH);
}

/* The datagram goes where its address handle says, and the header shows it. */
static void
test_ways(void)
{
	const struct ri_ah_init gid = {
		.dest = {.family = RI_ADDR_GID,
			 .octets = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 2, 'e', 'm', 'u', 'l', 0, 0, 1}},
		.traffic_class = 0xab,
		.flow_label = 0x12345,
		.hop_limit = 7,
	};
	const struct ri_ah_init from = {
		.dest = {.family = RI_ADDR_IPV4, .octets = {127, 0, 0, 2}},
		.source = {.family = RI_ADDR_IPV4, .octets = {127, 0, 0, 3}},
	};
	struct scene s RI_AT_END(scene_close);
	struct ri_wc wc;

	scene_open(&s);
	g_assert_cmpint(emul()->ah->modify(s.ah, &gid), ==, RI_SUCCESS);
	offer(&s, 1, 0, 100);
	offer(&s, 2, 0, 100);
	send_len(&s, 1, 4, qpn_of(s.b), RI_WC_SUCCESS);
	wc = poll_one(s.b->urcq, 1, RI_WC_SUCCESS);
	g_assert_cmpmem(wc.src_addr, 16, gid.dest.octets, 16);
	g_assert_cmpmem(s.mb.at, 4, "\x6a\xb1\x23\x45", 4);
	g_assert_cmpuint(s.mb.at[7], ==, 7);
	g_assert_cmpint(emul()->ah->modify(s.ah, &from), ==, RI_SUCCESS);
	send_len(&s, 2, 4, qpn_of(s.b), RI_WC_SUCCESS);
	wc = poll_one(s.b->urcq, 2, RI_WC_SUCCESS);
	g_assert_cmpuint(wc.src_addr[15], ==, 3);
	g_assert_cmpuint(s.mb.at[39], ==, 2);
}

static void
test_to_itself(void)
{
	struct scene s RI_AT_END(scene_close);
	struct ri_sge sge;

	scene_open(&s);
	sge = chunk_sge(&s.ma, 4096, 100);
	post_recv(s.a, 1, &sge);
	send_len(&s, 2, 60, qpn_of(s.a), RI_WC_SUCCESS);
	poll_one(s.a->urcq, 1, RI_WC_SUCCESS);
	g_assert_cmpmem(s.ma.at + 4096 + VEM_GRH, 60, s.ma.at, 60);
}

/*
 * The sender's own request is wrong: it must complete with an error, the other requests must be flushed, and a
 * reset must make the queue pair usable again.
 */
static void
test_send_fails(void)
{
	struct scene s RI_AT_END(scene_close);

	scene_open(&s);
	struct ri_sge bad = chunk_sge(&s.ma, 0, 8);
	struct ri_sge sink = chunk_sge(&s.ma, 0, 100);
	const struct ri_wr_ud to = {.ah = s.way, .qpn = qpn_of(s.b), .qkey = KEY};
	const struct ri_wr_ud nowhere = {.ah = s.way + 1, .qpn = qpn_of(s.b), .qkey = KEY};

	bad.stag ^= 0xff;
	for (guint way = 0; way < 4; way++) {
		struct ri_wr plain = {.wr_id = 1, .sgl = &sink, .num_sge = 1, .opcode = RI_OP_SEND};
		enum ri_wc_status status = RI_WC_LOCAL_QP;

		post_recv(s.a, 9, &sink);
		if (way == 0) {
			status = RI_WC_LOCAL_PROTECTION;
			g_assert_cmpint(send_to(s.a, 1, &bad, &to), ==, RI_SUCCESS);
		} else if (way == 1) {
			g_assert_cmpint(send_to(s.a, 1, &sink, &nowhere), ==, RI_SUCCESS);
		} else if (way == 2) {
			g_assert_cmpint(emul()->fast->post_sq(s.a->uqp, &plain), ==,
					RI_ERR_UNSUPPORTED);
			s.a->uqp->known_op[RI_OP_SEND] = true; /* past the check */
			g_assert_cmpint(emul()->fast->post_sq(s.a->uqp, &plain), ==, RI_SUCCESS);
		} else {
			struct ri_sge sge = chunk_sge(&s.ma, 0, VEM_MAX_DATAGRAM + 1);
			status = RI_WC_LOCAL_LENGTH;
			g_assert_cmpint(send_to(s.a, 1, &sge, &to), ==, RI_SUCCESS);
		}
		poll_one(s.a->uscq, 1, status);
		g_assert_cmpint(end_state(s.a), ==, RI_QPS_ERROR);
		g_assert_cmpint(end_modify(s.a, RI_QPS_IDLE), ==, RI_ERR_STILL_FLUSHING);
		g_assert_cmpint(send_to(s.a, 2, &sink, &to), ==, RI_SUCCESS);
		node_async(s.na, way == 0 ? RI_EVENT_QP_ACCESS : RI_EVENT_QP_CATASTROPHIC, s.a);
		poll_one(s.a->uscq, 2, RI_WC_FLUSHED);
		g_assert_cmpuint(poll_one(s.a->urcq, 9, RI_WC_FLUSHED).opcode, ==, RI_OP_RECV_UD);
		g_assert_cmpint(end_modify(s.a, RI_QPS_IDLE), ==, RI_SUCCESS);
		g_assert_cmpint(end_state(s.a), ==, RI_QPS_RTS);
		node_silent(s.na);
		offer(&s, 3, 0, 100);
		send_len(&s, 4, 10, qpn_of(s.b), RI_WC_SUCCESS);
		poll_one(s.b->urcq, 3, RI_WC_SUCCESS);
	}
	node_silent(s.nb);
}

/* The receiver's memory is wrong: the sender is not disturbed. */
static void
test_receive_fails(void)
{
	struct scene s RI_AT_END(scene_close);

	scene_open(&s);
	struct ri_sge bad = chunk_sge(&s.mb, 0, 100);

	bad.stag ^= 0xff;
	offer(&s, 1, 0, 10); /* too small: taken, and flushed first */
	send_len(&s, 1, 10, qpn_of(s.b), RI_WC_SUCCESS);
	g_assert_cmpint(end_modify(s.b, RI_QPS_ERROR), ==, RI_SUCCESS);
	offer(&s, 2, 0, 10);
	node_async(s.nb, RI_EVENT_QP_CATASTROPHIC, s.b);
	poll_one(s.b->urcq, 1, RI_WC_FLUSHED);
	poll_one(s.b->urcq, 2, RI_WC_FLUSHED);
	send_len(&s, 2, 10, qpn_of(s.b), RI_WC_SUCCESS);
	g_assert_cmpint(end_modify(s.b, RI_QPS_IDLE), ==, RI_SUCCESS);
	g_assert_cmpint(end_modify(s.b, RI_QPS_IDLE), ==, RI_SUCCESS);
	node_silent(s.nb);

	post_recv(s.b, 3, &bad);
	offer(&s, 4, 0, 100);
	send_len(&s, 3, 10, qpn_of(s.b), RI_WC_SUCCESS);
	poll_one(s.b->urcq, 3, RI_WC_LOCAL_PROTECTION);
	node_async(s.nb, RI_EVENT_QP_ACCESS, s.b);
	poll_one(s.b->urcq, 4, RI_WC_FLUSHED);
	g_assert_cmpint(end_state(s.a), ==, RI_QPS_RTS);
}

static void
test_cq_overflow(void)
{
	struct scene s RI_AT_END(scene_close);
	uint32_t entries;

	scene_open(&s);
	struct end *small RI_AT_END(end_free) = ud_new(s.nb, 1);
	entries = 1;
	for (uint64_t id = 0; id < 16; id++) {
		struct ri_sge sge = chunk_sge(&s.mb, 0, 100);
		post_recv(small, id, &sge);
	}
	while (end_state(small) == RI_QPS_RTS) {
		g_assert_cmpuint(++entries, <, 16);
		send_len(&s, entries, 10, qpn_of(small), RI_WC_SUCCESS);
	}
	node_async(s.nb, RI_EVENT_QP_CQ_RQ_ERROR, small);
	node_silent(s.nb);
}

static enum ri_status
try_qp(struct node *node, const struct ri_qp_init *wanted, struct ri_srq *srq)
{
	struct ri_qp_init init = *wanted;
	struct end *parent RI_AT_END(end_free) = end_new(node, NULL);
	struct ri_qp *qp = NULL;
	struct ri_map map;
	enum ri_status status =
		emul()->qp->create(node->pd, &init, parent->scq, parent->rcq, srq, &qp, &map);

	if (status == RI_SUCCESS)
		g_assert_cmpint(emul()->qp->destroy(qp), ==, RI_SUCCESS);
	return status;
}

/* A datagram from a connected queue pair, and datagrams on an adapter without them. */
static void
test_other_kinds(void)
{
	const struct ri_wr_ud to = {0};
	struct vth *vth RI_AT_END(vth_free) = vth_new(false);
	struct node *ib RI_AT_END(node_free) = node_new(vth, false, "emul:ib");
	struct node *iwarp RI_AT_END(node_free) = node_new(vth, false, "emul:iwarp");
	struct end *a RI_AT_END(end_free) = end_new(ib, NULL);
	struct end *b RI_AT_END(end_free) = end_new(ib, NULL);
	struct ri_qp_init init = end_defaults(iwarp);

	ends_connect(a, b);
	g_assert_cmpint(send_to(a, 1, NULL, &to), ==, RI_ERR_UNSUPPORTED);
	a->uqp->known_op[RI_OP_SEND_UD] = true; /* past the check */
	g_assert_cmpint(send_to(a, 1, NULL, &to), ==, RI_SUCCESS);
	poll_one(a->uscq, 1, RI_WC_LOCAL_QP);
	node_run(ib);
	node_cm(ib, RI_CM_BROKEN, a);
	node_cm(ib, RI_CM_BROKEN, b);
	g_assert_true(ib->attr.ud);
	g_assert_false(iwarp->attr.ud);
	init.type = RI_QP_UD;
	g_assert_cmpint(try_qp(iwarp, &init, NULL), ==, RI_ERR_UNSUPPORTED);
}

static void
test_address_handles(void)
{
	const struct ri_ah_init far = {.dest = {.family = RI_ADDR_IPV4, .octets = {192, 0, 2, 1}}};
	const struct ri_ah_init port = {.port = 1,
					.dest = {.family = RI_ADDR_IPV4, .octets = {127, 0, 0, 1}}};
	const struct ri_ah_init source = {
		.dest = {.family = RI_ADDR_IPV4, .octets = {127, 0, 0, 1}},
		.source = {.family = RI_ADDR_IPV4, .octets = {192, 0, 2, 1}}};
	struct ri_ah *ahs[200], *ah = NULL;
	uint32_t ids[200], id = 0;
	struct scene s RI_AT_END(scene_close);
	struct ri_pd *pd = NULL;

	scene_open(&s);
	g_assert_cmpint(emul()->ah->create(s.na->pd, &far, &ah, &id), ==, RI_ERR_NO_ROUTE);
	g_assert_cmpint(emul()->ah->create(s.na->pd, &source, &ah, &id), ==, RI_ERR_NO_ROUTE);
	g_assert_cmpint(emul()->ah->create(s.na->pd, &port, &ah, &id), ==, RI_ERR_INVALID_ARG);
	g_assert_cmpint(emul()->ah->modify(s.ah, &far), ==, RI_ERR_NO_ROUTE);
	g_assert_cmpint(emul()->ah->modify(s.ah, &port), ==, RI_ERR_INVALID_ARG);
	for (guint i = 0; i < G_N_ELEMENTS(ahs); i++) {
		ahs[i] = ah_new(s.na, NULL, &ids[i]);
		for (guint j = 0; j < i; j++)
			g_assert_cmpuint(ids[i], !=, ids[j]);
	}
	offer(&s, 1, 0, 100);
	s.way = ids[199];
	send_len(&s, 1, 10, qpn_of(s.b), RI_WC_SUCCESS);
	poll_one(s.b->urcq, 1, RI_WC_SUCCESS);
	for (guint i = 0; i < G_N_ELEMENTS(ahs); i++)
		g_assert_cmpint(emul()->ah->destroy(ahs[i]), ==, RI_SUCCESS);
	/* The number of a destroyed handle, and one of another domain. */
	ah = ah_new(s.na, NULL, &id);
	g_assert_cmpuint(id, !=, ids[199]);
	g_assert_cmpint(emul()->ah->destroy(ah), ==, RI_SUCCESS);
	send_len(&s, 2, 10, qpn_of(s.b), RI_WC_LOCAL_QP);
	node_async(s.na, RI_EVENT_QP_CATASTROPHIC, s.a);
	g_assert_cmpint(end_modify(s.a, RI_QPS_IDLE), ==, RI_SUCCESS);
	g_assert_cmpint(emul()->pd->create(s.na->context, &pd), ==, RI_SUCCESS);
	g_assert_cmpint(
		emul()->ah->create(pd, &(struct ri_ah_init){.dest = port.dest}, &ah, &s.way), ==,
		RI_SUCCESS);
	send_len(&s, 3, 10, qpn_of(s.b), RI_WC_LOCAL_QP);
	node_async(s.na, RI_EVENT_QP_CATASTROPHIC, s.a);
	g_assert_cmpint(emul()->pd->destroy(pd), ==, RI_ERR_BUSY);
	g_assert_cmpint(emul()->ah->destroy(ah), ==, RI_SUCCESS);
	g_assert_cmpint(emul()->pd->destroy(pd), ==, RI_SUCCESS);
	/* Handles that a process did not destroy are destroyed with its context. */
	(void)ah_new(s.na, NULL, &id);
}

/* While another thread owns the receives a datagram waits; its handle may be destroyed, and it is delivered later. */
static void
test_waits(void)
{
	struct scene s RI_AT_END(scene_close);
	struct ri_sge sge;

	scene_open(&s);
	const struct ri_wr_ud ud = {.ah = s.way, .qpn = qpn_of(s.b), .qkey = KEY};
	offer(&s, 1, 0, 100);
	offer(&s, 2, 1024, 100);
	sge = chunk_sge(&s.ma, 0, 10);
	g_assert_true(vsw_role_take(&end_qp(s.b)->in.role));
	g_assert_cmpint(send_to(s.a, 3, &sge, &ud), ==, RI_SUCCESS);
	g_assert_cmpint(send_to(s.a, 4, &sge, &ud), ==, RI_SUCCESS);
	poll_none(s.a->uscq);
	g_assert_cmpint(emul()->ah->destroy(s.ah), ==, RI_SUCCESS);
	vem_rx_leave(end_qp(s.b));
	node_run(s.na);
	poll_one(s.a->uscq, 3, RI_WC_SUCCESS);
	poll_one(s.a->uscq, 4, RI_WC_SUCCESS);
	poll_one(s.b->urcq, 1, RI_WC_SUCCESS);
	poll_one(s.b->urcq, 2, RI_WC_SUCCESS);
	s.ah = ah_new(s.na, NULL, &s.way);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/emul/ud/arrives", test_arrives);
	g_test_add_func("/emul/ud/ways", test_ways);
	g_test_add_func("/emul/ud/to-itself", test_to_itself);
	g_test_add_func("/emul/ud/send-fails", test_send_fails);
	g_test_add_func("/emul/ud/receive-fails", test_receive_fails);
	g_test_add_func("/emul/ud/cq-overflow", test_cq_overflow);
	g_test_add_func("/emul/ud/other-kinds", test_other_kinds);
	g_test_add_func("/emul/ud/address-handles", test_address_handles);
	g_test_add_func("/emul/ud/waits", test_waits);
	return g_test_run();
}
