/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Unreliable connections [RI 10.51]: what arrives, what is dropped as a whole, and that neither end fails. */
#include "vem_pairs.h"

static enum ri_status
write_told(struct pair *p, uint64_t id, uint32_t len)
{
	struct ri_sge sge = chunk_sge(&p->ma, 0, len), to = chunk_sge(&p->mb, 2048, len);
	struct ri_wr wr = {.wr_id = id,
			   .sgl = &sge,
			   .num_sge = 1,
			   .opcode = RI_OP_RDMA_WRITE,
			   .flags = RI_WR_SIGNALED | RI_WR_IMMEDIATE,
			   .imm = 0x1234};

	wr.u.remote.addr = to.addr;
	wr.u.remote.stag = to.stag;
	return emul()->fast->post_sq(p->a->uqp, &wr);
}

static void
both_go_on(struct pair *p)
{
	vth_run(p->vth);
	g_assert_cmpint(end_state(p->a), ==, RI_QPS_RTS);
	g_assert_cmpint(end_state(p->b), ==, RI_QPS_RTS);
	node_silent(p->na);
	node_silent(p->nb);
}

static void
test_data(void)
{
	struct pair p;
	struct ri_wr read = {.opcode = RI_OP_RDMA_READ};

	pair_open(&p, RI_QP_UC, false);
	g_assert_true(p.na->attr.uc);
	pair_up(&p);
	pair_talk(&p, 1, 3000);
	g_assert_cmpint(end_write(p.a, 2, &p.ma, &p.mb, 200), ==, RI_SUCCESS);
	poll_one(p.a->uscq, 2, RI_WC_SUCCESS);
	g_assert_cmpmem(p.mb.at, 200, p.ma.at, 200);
	g_assert_cmpint(end_recv(p.b, 3, &p.mb, 0, 1), ==, RI_SUCCESS);
	g_assert_cmpint(write_told(&p, 3, 64), ==, RI_SUCCESS);
	poll_one(p.a->uscq, 3, RI_WC_SUCCESS);
	struct ri_wc wc = poll_one(p.b->urcq, 3, RI_WC_SUCCESS);
	g_assert_cmpuint(wc.opcode, ==, RI_OP_RECV_WRITE);
	g_assert_cmpuint(wc.byte_len, ==, 64);
	g_assert_cmphex(wc.imm, ==, 0x1234);
	g_assert_cmpint(emul()->fast->post_sq(p.a->uqp, &read), ==, RI_ERR_UNSUPPORTED);
	both_go_on(&p);
	pair_close(&p);
}

/* Nobody there, no receive, a short receive, a Write that may not be placed: dropped; what comes after arrives. */
static void
test_drops(void)
{
	struct pair p;

	pair_open(&p, RI_QP_UC, false);
	g_assert_cmpint(peer_receive(p.a, &p.to_b), ==, RI_SUCCESS);
	g_assert_cmpint(peer_send(p.a, &p.to_b), ==, RI_SUCCESS);
	g_assert_cmpint(end_send(p.a, 1, &p.ma, 0, 8), ==, RI_SUCCESS);
	vth_run(p.vth);
	poll_one(p.a->uscq, 1, RI_WC_SUCCESS);
	g_assert_cmpint(peer_receive(p.b, &p.to_a), ==, RI_SUCCESS);
	g_assert_cmpint(peer_send(p.b, &p.to_a), ==, RI_SUCCESS);
	both_go_on(&p);
	g_assert_cmpint(end_send(p.a, 2, &p.ma, 0, 8), ==, RI_SUCCESS);
	poll_one(p.a->uscq, 2, RI_WC_SUCCESS);
	memset(p.mb.at, 0, p.mb.len);
	g_assert_cmpint(write_told(&p, 3, 64), ==, RI_SUCCESS);
	poll_one(p.a->uscq, 3, RI_WC_SUCCESS);
	g_assert_cmpuint(p.mb.at[2048], ==, 0);
	g_assert_cmpint(end_recv(p.b, 4, &p.mb, 0, 7), ==, RI_SUCCESS);
	g_assert_cmpint(end_send(p.a, 4, &p.ma, 0, 8), ==, RI_SUCCESS);
	poll_one(p.a->uscq, 4, RI_WC_SUCCESS);
	poll_none(p.b->urcq);
	g_assert_cmpuint(p.mb.at[0], ==, 0);
	p.mb.stag ^= 0xff00;
	g_assert_cmpint(end_write(p.a, 5, &p.ma, &p.mb, 8), ==, RI_SUCCESS);
	poll_one(p.a->uscq, 5, RI_WC_SUCCESS);
	g_assert_cmpint(write_told(&p, 6, 8), ==, RI_SUCCESS);
	poll_one(p.a->uscq, 6, RI_WC_SUCCESS);
	p.mb.stag ^= 0xff00;
	poll_none(p.b->urcq);
	g_assert_cmpint(end_send(p.a, 7, &p.ma, 0, 7), ==, RI_SUCCESS);
	poll_one(p.a->uscq, 7, RI_WC_SUCCESS);
	g_assert_cmpuint(poll_one(p.b->urcq, 4, RI_WC_SUCCESS).byte_len, ==, 7);
	pair_talk(&p, 8, 100);
	both_go_on(&p);
	pair_close(&p);
}

/* Connected; b takes its receives from an SRQ. */
static void
pair_open_shared(struct pair *p)
{
	pair_open(p, RI_QP_UC, false);
	node_share(p->nb, 4);
	end_free(&p->b);
	p->b = end_of_type(p->nb, RI_QP_UC);
	p->to_b.qpn = qpn_of(p->b);
	pair_up(p);
}

/* Receives of an SRQ: one that was too short is kept by the queue pair, and is flushed with it. */
static void
test_shared(void)
{
	struct pair p;

	pair_open_shared(&p);
	g_assert_cmpint(end_send(p.a, 1, &p.ma, 0, 8), ==, RI_SUCCESS); /* none there */
	poll_one(p.a->uscq, 1, RI_WC_SUCCESS);
	node_post(p.nb, 2, &p.mb, 0, 7);
	vth_run(p.vth);
	g_assert_cmpint(end_send(p.a, 2, &p.ma, 0, 8), ==, RI_SUCCESS);
	g_assert_cmpint(end_send(p.a, 3, &p.ma, 0, 5), ==, RI_SUCCESS);
	poll_one(p.a->uscq, 2, RI_WC_SUCCESS);
	poll_one(p.a->uscq, 3, RI_WC_SUCCESS);
	g_assert_cmpuint(poll_one(p.b->urcq, 2, RI_WC_SUCCESS).byte_len, ==, 5);
	node_post(p.nb, 4, &p.mb, 0, 7);
	g_assert_cmpint(end_send(p.a, 4, &p.ma, 0, 8), ==, RI_SUCCESS);
	poll_one(p.a->uscq, 4, RI_WC_SUCCESS);
	both_go_on(&p);
	g_assert_cmpint(end_modify(p.b, RI_QPS_ERROR), ==, RI_SUCCESS);
	vth_run(p.vth);
	poll_one(p.b->urcq, 4, RI_WC_FLUSHED);
	for (uint64_t id = 10; id < 14; id++) /* each slot is free again */
		node_post(p.nb, id, &p.mb, 0, 7);
	end_free(&p.b);
	p.b = NULL;
	node_unshare(p.nb);
	pair_close(&p);
}

/* A message that found no receive does not wait for one: the next receive goes to whoever has a message then. */
static void
test_shared_by_two(void)
{
	struct end *from, *to;
	struct pair p, other;

	pair_open_shared(&p);
	other = p;
	other.a = from = end_of_type(p.na, RI_QP_UC);
	other.b = to = end_of_type(p.nb, RI_QP_UC);
	other.to_b.qpn = qpn_of(to);
	other.to_a.qpn = qpn_of(from);
	pair_up(&other);
	g_assert_cmpint(end_send(p.a, 1, &p.ma, 0, 8), ==, RI_SUCCESS); /* none there */
	poll_one(p.a->uscq, 1, RI_WC_SUCCESS);
	node_post(p.nb, 2, &p.mb, 0, 8);
	vth_run(p.vth);
	g_assert_cmpint(end_send(from, 2, &p.ma, 0, 8), ==, RI_SUCCESS);
	poll_one(from->uscq, 2, RI_WC_SUCCESS);
	g_assert_cmpuint(poll_one(to->urcq, 2, RI_WC_SUCCESS).byte_len, ==, 8);
	both_go_on(&p);
	end_free(&from);
	end_free(&to);
	end_free(&p.b);
	p.b = NULL;
	node_unshare(p.nb);
	pair_close(&p);
}

/* The fault of an own memory ends that end alone: of the sender, of the receiver. */
static void
test_own_fault(void)
{
	struct pair p;
	struct ri_sge bad;

	pair_open(&p, RI_QP_UC, false);
	pair_up(&p);
	bad = chunk_sge(&p.mb, 0, 8);
	bad.stag ^= 0xff00;
	post_recv(p.b, 1, &bad);
	g_assert_cmpint(end_send(p.a, 1, &p.ma, 0, 8), ==, RI_SUCCESS);
	poll_one(p.a->uscq, 1, RI_WC_SUCCESS);
	poll_one(p.b->urcq, 1, RI_WC_LOCAL_PROTECTION);
	vth_run(p.vth);
	g_assert_cmpint(end_state(p.b), ==, RI_QPS_ERROR);
	g_assert_cmpint(end_state(p.a), ==, RI_QPS_RTS);
	node_async(p.nb, RI_EVENT_QP_ACCESS, p.b);
	p.ma.stag ^= 0xff00;
	g_assert_cmpint(end_send(p.a, 2, &p.ma, 0, 8), ==, RI_SUCCESS); /* to nobody */
	poll_one(p.a->uscq, 2, RI_WC_LOCAL_PROTECTION);
	vth_run(p.vth);
	node_async(p.na, RI_EVENT_QP_WR_ERROR, p.a);
	g_assert_cmpint(end_modify(p.b, RI_QPS_IDLE), ==, RI_SUCCESS);
	g_assert_cmpint(end_modify(p.a, RI_QPS_IDLE), ==, RI_SUCCESS);
	pair_up(&p);
	g_assert_cmpint(end_send(p.a, 3, &p.ma, 0, 8), ==, RI_SUCCESS);
	p.ma.stag ^= 0xff00;
	poll_one(p.a->uscq, 3, RI_WC_LOCAL_PROTECTION);
	vth_run(p.vth);
	node_async(p.na, RI_EVENT_QP_WR_ERROR, p.a);
	g_assert_cmpint(end_state(p.b), ==, RI_QPS_RTS);
	pair_close(&p);
}

/* Only adapters that claim it have such queue pairs, and they do not connect by address. */
static void
test_others(void)
{
	struct vth *vth RI_AT_END(vth_free) = vth_new(false);
	struct node *ib RI_AT_END(node_free) = node_new(vth, false, "emul:ib");
	struct node *iw RI_AT_END(node_free) = node_new(vth, false, "emul:iwarp");
	struct end *uc RI_AT_END(end_free) = end_of_type(ib, RI_QP_UC);
	struct end *rc RI_AT_END(end_free) = end_new(iw, NULL);
	struct ri_service nobody = {.kind = RI_SERVICE_PORT, .port = 0x1234};
	struct ri_cm_params params = node_params(&nobody);
	struct ri_qp_init init = end_defaults(iw);
	struct ri_qp *qp = NULL;
	struct ri_map map;

	init.type = RI_QP_UC;
	g_assert_cmpint(iw->p->qp->create(iw->pd, &init, rc->scq, rc->rcq, NULL, &qp, &map), ==,
			RI_ERR_UNSUPPORTED);
	g_assert_cmpint(ib->p->cm->connect(uc->qp, &params), ==, RI_ERR_UNSUPPORTED);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/emul/uc/data", test_data);
	g_test_add_func("/emul/uc/drops", test_drops);
	g_test_add_func("/emul/uc/shared", test_shared);
	g_test_add_func("/emul/uc/shared-by-two", test_shared_by_two);
	g_test_add_func("/emul/uc/own-fault", test_own_fault);
	g_test_add_func("/emul/uc/others", test_others);
	return g_test_run();
}
