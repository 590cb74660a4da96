/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Unreliable connections [RI 10.51] whose receives come from an SRQ, and faults of an own memory. */
#include "vem_pairs.h"

static void
both_go_on(struct pair *p)
{
	vth_run(p->vth);
	g_assert_cmpint(end_state(p->a), ==, RI_QPS_RTS);
	g_assert_cmpint(end_state(p->b), ==, RI_QPS_RTS);
	node_silent(p->na);
	node_silent(p->nb);
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

/* A message that found no receive does not wait for one: the next receive goes to the next message. */
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

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/emul/uc/shared", test_shared);
	g_test_add_func("/emul/uc/shared-by-two", test_shared_by_two);
	g_test_add_func("/emul/uc/own-fault", test_own_fault);
	return g_test_run();
}
