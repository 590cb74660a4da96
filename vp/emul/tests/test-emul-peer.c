/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Reliable connections by attributes [RI 11.6.4]: the order in which ends come up, what does not fit, ends that go. */
#include "vem_pairs.h"

/* The sender may be there first, the receiver may receive before it sends: the event comes once, and messages complete. */
static void
test_order(void)
{
	struct pair p;

	pair_open(&p, RI_QP_RC, false);
	g_assert_cmpint(peer_send(p.a, &p.to_b), ==, RI_ERR_INVALID_STATE);
	g_assert_cmpint(peer_receive(p.a, &p.to_b), ==, RI_SUCCESS);
	g_assert_cmpint(end_state(p.a), ==, RI_QPS_CONNECTING);
	g_assert_cmpint(peer_receive(p.a, &p.to_b), ==, RI_ERR_INVALID_STATE);
	g_assert_cmpint(end_send(p.a, 1, &p.ma, 0, 10), ==, RI_SUCCESS); /* is kept */
	g_assert_cmpint(peer_send(p.a, &p.to_b), ==, RI_SUCCESS);
	g_assert_cmpint(peer_send(p.a, &p.to_b), ==, RI_ERR_INVALID_STATE);
	vth_run(p.vth);
	poll_none(p.a->uscq);
	g_assert_cmpint(end_recv(p.b, 1, &p.mb, 0, 10), ==, RI_SUCCESS);
	g_assert_cmpint(end_recv(p.b, 2, &p.mb, 0, 10), ==, RI_SUCCESS);
	vth_advance(p.vth, MS); /* tries that nobody hears */
	g_assert_cmpint(peer_receive(p.b, &p.to_a), ==, RI_SUCCESS);
	vth_run(p.vth);
	poll_one(p.a->uscq, 1, RI_WC_SUCCESS);
	poll_one(p.b->urcq, 1, RI_WC_SUCCESS);
	g_assert_cmpint(end_state(p.b), ==, RI_QPS_CONNECTING);
	node_async(p.nb, RI_EVENT_QP_COMM_EST, p.b);
	g_assert_cmpint(end_send(p.a, 2, &p.ma, 0, 10), ==, RI_SUCCESS);
	poll_one(p.b->urcq, 2, RI_WC_SUCCESS);
	poll_one(p.a->uscq, 2, RI_WC_SUCCESS);
	node_silent(p.nb);
	/* Its requests are kept until it may send. */
	g_assert_cmpint(end_recv(p.a, 3, &p.ma, 0, 10), ==, RI_SUCCESS);
	g_assert_cmpint(end_send(p.b, 3, &p.mb, 0, 10), ==, RI_SUCCESS);
	vth_run(p.vth);
	poll_none(p.a->urcq);
	g_assert_cmpint(peer_send(p.b, &p.to_a), ==, RI_SUCCESS);
	vth_run(p.vth);
	poll_one(p.a->urcq, 3, RI_WC_SUCCESS);
	poll_one(p.b->uscq, 3, RI_WC_SUCCESS);
	vth_advance(p.vth, 100 * MS); /* the tries were ended */
	pair_close(&p);
}

enum misfit {
	ABSENT,
	NUMBER,
	STRANGER,
	PSN,
	PLACE,
	KIND,
	OFFLINE,
	MISFITS
};

/* What does not fit is noticed by the sender alone, after its tries: (retry_count + 1) times the timeout. */
static void
test_misfits(void)
{
	static const struct ri_addr other = {.family = RI_ADDR_IPV4, .octets = {127, 0, 0, 9}};

	for (int how = ABSENT; how < MISFITS; how++) {
		const uint64_t patience = (UINT64_C(4096) << 8) * 4;
		struct pair p;

		pair_open(&p, RI_QP_RC, false);
		if (how == KIND) {
			end_free(&p.b);
			p.b = end_of_type(p.nb, RI_QP_UC);
			p.to_b.qpn = qpn_of(p.b);
		}
		if (how == NUMBER)
			p.to_b.qpn ^= 0x800000;
		if (how == STRANGER)
			p.to_a.qpn ^= 0x800000;
		if (how == PSN)
			p.to_a.rq_psn++;
		if (how == PLACE)
			p.to_a.path.dest = other;
		g_assert_cmpint(peer_receive(p.a, &p.to_b), ==, RI_SUCCESS);
		g_assert_cmpint(peer_send(p.a, &p.to_b), ==, RI_SUCCESS);
		if (how != ABSENT)
			g_assert_cmpint(peer_receive(p.b, &p.to_a), ==, RI_SUCCESS);
		if (how == OFFLINE)
			atomic_store(&p.nb->rnic->faults.offline, true);
		g_assert_cmpint(end_recv(p.a, 9, &p.ma, 0, 1), ==, RI_SUCCESS);
		g_assert_cmpint(end_write(p.a, 1, &p.ma, &p.mb, 8), ==, RI_SUCCESS);
		g_assert_cmpint(end_write(p.a, 2, &p.ma, &p.mb, 8), ==, RI_SUCCESS);
		vth_advance(p.vth, patience - 1);
		poll_none(p.a->uscq);
		g_assert_false(end_attr(p.a).quiescent);
		vth_advance(p.vth, 1);
		poll_one(p.a->uscq, 1, RI_WC_TRANSPORT);
		poll_one(p.a->uscq, 2, RI_WC_FLUSHED);
		poll_one(p.a->urcq, 9, RI_WC_FLUSHED);
		g_assert_cmpint(end_state(p.a), ==, RI_QPS_ERROR);
		node_async(p.na, RI_EVENT_QP_WR_ERROR, p.a);
		node_silent(p.na);
		node_silent(p.nb);
		g_assert_cmpint(end_state(p.b), ==,
				how == ABSENT ? RI_QPS_IDLE : RI_QPS_CONNECTING);
		pair_close(&p);
	}
}

/* A wrong packet number in one way leaves the other way as it is. */
static void
test_one_way(void)
{
	struct pair p;

	pair_open(&p, RI_QP_RC, false);
	p.to_b.rq_psn = PSN_B + 1;
	pair_up(&p);
	pair_talk(&p, 1, 10);
	g_assert_cmpint(end_write(p.b, 2, &p.mb, &p.ma, 8), ==, RI_SUCCESS);
	vth_advance(p.vth, 10 * MS);
	poll_one(p.b->uscq, 2, RI_WC_TRANSPORT);
	node_async(p.nb, RI_EVENT_QP_WR_ERROR, p.b);
	pair_close(&p);
}

/* Each time that the peer is away has its own patience: one that returns in time, again and again, ends nothing. */
static void
test_away_again(void)
{
	const uint64_t patience = (UINT64_C(4096) << 8) * 4;
	struct pair p;

	pair_open(&p, RI_QP_RC, false);
	pair_up(&p);
	for (uint64_t round = 0; round < 4; round++) {
		atomic_store(&p.nb->rnic->faults.offline, true);
		g_assert_cmpint(end_write(p.a, 2 * round, &p.ma, &p.mb, 8), ==, RI_SUCCESS);
		vth_advance(p.vth, patience - 1);
		poll_none(p.a->uscq);
		atomic_store(&p.nb->rnic->faults.offline, false);
		g_assert_cmpint(end_write(p.a, 2 * round + 1, &p.ma, &p.mb, 8), ==, RI_SUCCESS);
		vth_run(p.vth);
		poll_one(p.a->uscq, 2 * round, RI_WC_SUCCESS);
		poll_one(p.a->uscq, 2 * round + 1, RI_WC_SUCCESS);
	}
	pair_close(&p);
}

/* Timeout 0: without end. */
static void
test_for_ever(void)
{
	struct pair p;

	pair_open(&p, RI_QP_RC, false);
	p.to_b.timeout = 0;
	g_assert_cmpint(peer_receive(p.a, &p.to_b), ==, RI_SUCCESS);
	g_assert_cmpint(peer_send(p.a, &p.to_b), ==, RI_SUCCESS);
	g_assert_cmpint(end_write(p.a, 1, &p.ma, &p.mb, 8), ==, RI_SUCCESS);
	vth_advance(p.vth, 1000000 * MS);
	poll_none(p.a->uscq);
	g_assert_cmpint(peer_receive(p.b, &p.to_a), ==, RI_SUCCESS);
	vth_run(p.vth);
	poll_one(p.a->uscq, 1, RI_WC_SUCCESS);
	node_async(p.nb, RI_EVENT_QP_COMM_EST, p.b);
	pair_close(&p);
}

/* No receive: the end comes after rnr_retry times the wait that the peer demands; the peer goes on. */
static void
test_rnr(void)
{
	for (guint retry = 0; retry <= 7; retry++) {
		const uint64_t wait = retry * UINT64_C(640000);
		struct pair p;

		pair_open(&p, RI_QP_RC, false);
		p.to_b.rnr_retry = (uint8_t)retry;
		pair_up(&p);
		g_assert_cmpint(end_send(p.a, 1, &p.ma, 0, 8), ==, RI_SUCCESS);
		if (retry == 7) {
			vth_advance(p.vth, 1000000 * MS);
			poll_none(p.a->uscq);
			g_assert_cmpint(end_recv(p.b, 1, &p.mb, 0, 8), ==, RI_SUCCESS);
			vth_run(p.vth);
			poll_one(p.a->uscq, 1, RI_WC_SUCCESS);
			poll_one(p.b->urcq, 1, RI_WC_SUCCESS);
			pair_talk(&p, 2, 8);
			pair_close(&p);
			continue;
		}
		if (retry > 0) {
			vth_advance(p.vth, wait - 1);
			poll_none(p.a->uscq);
			vth_advance(p.vth, 1);
		}
		vth_run(p.vth);
		poll_one(p.a->uscq, 1, RI_WC_RNR);
		node_async(p.na, RI_EVENT_QP_WR_ERROR, p.a);
		g_assert_cmpint(end_state(p.b), ==, RI_QPS_RTS);
		pair_close(&p);
	}
}

/* The peer refuses: both fail, with one event each, and no event of a connection. */
static void
test_refused(void)
{
	struct pair p;

	pair_open(&p, RI_QP_RC, false);
	pair_up(&p);
	p.mb.stag ^= 0xff00;
	g_assert_cmpint(end_write(p.a, 1, &p.ma, &p.mb, 8), ==, RI_SUCCESS);
	p.mb.stag ^= 0xff00;
	poll_one(p.a->uscq, 1, RI_WC_REMOTE_ACCESS);
	vth_run(p.vth);
	g_assert_cmpint(end_state(p.a), ==, RI_QPS_ERROR);
	g_assert_cmpint(end_state(p.b), ==, RI_QPS_ERROR);
	node_async(p.na, RI_EVENT_QP_WR_ERROR, p.a);
	node_async(p.nb, RI_EVENT_QP_ACCESS, p.b);
	pair_close(&p);
}

/* The application ends it: no event, no message; the peer notices when it sends. Then both come back with new numbers. */
static void
test_again(void)
{
	struct pair p;

	pair_open(&p, RI_QP_RC, false);
	for (guint life = 0; life < 3; life++) {
		pair_up(&p);
		pair_talk(&p, 1, 100);
		g_assert_cmpint(emul()->cm->disconnect(p.a->qp, NULL, 0), ==, RI_ERR_INVALID_STATE);
		g_assert_cmpint(end_modify(p.a, RI_QPS_CLOSING), ==, RI_ERR_INVALID_STATE);
		g_assert_cmpint(end_modify(p.a, RI_QPS_IDLE), ==, RI_ERR_INVALID_STATE);
		g_assert_cmpint(end_modify(p.a, RI_QPS_ERROR), ==, RI_SUCCESS);
		vth_run(p.vth);
		node_silent(p.na);
		g_assert_cmpint(end_state(p.b), ==, RI_QPS_RTS);
		if (life == 1) {
			g_assert_cmpint(end_write(p.b, 2, &p.mb, &p.ma, 8), ==, RI_SUCCESS);
			vth_advance(p.vth, 10 * MS);
			poll_one(p.b->uscq, 2, RI_WC_TRANSPORT);
			node_async(p.nb, RI_EVENT_QP_WR_ERROR, p.b);
		}
		g_assert_cmpint(end_modify(p.a, RI_QPS_IDLE), ==, RI_SUCCESS);
		/* A partner of the life before does not count as one of this life, even if the packet numbers continue. */
		if (life == 2)
			break;
		p.to_b.sq_psn = p.to_a.rq_psn = 100 + life;
		p.to_a.sq_psn = p.to_b.rq_psn = 200 + life;
		g_assert_cmpint(end_modify(p.b, RI_QPS_ERROR), ==, RI_SUCCESS);
		vth_run(p.vth);
		node_silent(p.nb);
		g_assert_cmpint(end_modify(p.b, RI_QPS_IDLE), ==, RI_SUCCESS);
		g_assert_cmpuint(end_attr(p.b).qpn, ==, p.to_b.qpn);
	}
	g_assert_cmpint(peer_receive(p.a, &p.to_b), ==, RI_SUCCESS);
	g_assert_cmpint(peer_send(p.a, &p.to_b), ==, RI_SUCCESS);
	g_assert_cmpint(end_write(p.a, 3, &p.ma, &p.mb, 8), ==, RI_SUCCESS);
	vth_advance(p.vth, 10 * MS);
	poll_one(p.a->uscq, 3, RI_WC_TRANSPORT);
	node_async(p.na, RI_EVENT_QP_WR_ERROR, p.a);
	pair_close(&p);
}

/* Two name one: the first of them has it. And one that names itself talks to itself. */
static void
test_strangers(void)
{
	struct pair p;
	struct end *c;
	struct ri_peer mine;

	pair_open(&p, RI_QP_RC, true);
	c = end_of_type(p.na, RI_QP_RC);
	pair_up(&p);
	g_assert_cmpint(peer_receive(c, &p.to_b), ==, RI_SUCCESS);
	g_assert_cmpint(peer_send(c, &p.to_b), ==, RI_SUCCESS);
	g_assert_cmpint(end_write(c, 1, &p.ma, &p.mb, 8), ==, RI_SUCCESS);
	vth_advance(p.vth, 10 * MS);
	poll_one(c->uscq, 1, RI_WC_TRANSPORT);
	node_async(p.na, RI_EVENT_QP_WR_ERROR, c);
	pair_talk(&p, 2, 8);
	g_assert_cmpint(end_modify(c, RI_QPS_IDLE), ==, RI_SUCCESS);
	for (guint life = 0; life < 2; life++) {
		mine = peer_params(c, 5, 5);
		g_assert_cmpint(peer_receive(c, &mine), ==, RI_SUCCESS);
		g_assert_cmpint(peer_send(c, &mine), ==, RI_SUCCESS);
		vth_run(p.vth);
		g_assert_cmpint(end_recv(c, 3, &p.mb, 0, 8), ==, RI_SUCCESS);
		g_assert_cmpint(end_send(c, 4, &p.ma, 0, 8), ==, RI_SUCCESS);
		poll_one(c->urcq, 3, RI_WC_SUCCESS);
		poll_one(c->uscq, 4, RI_WC_SUCCESS);
		g_assert_cmpint(end_modify(c, RI_QPS_ERROR), ==, RI_SUCCESS);
		vth_run(p.vth);
		if (life == 0)
			g_assert_cmpint(end_modify(c, RI_QPS_IDLE), ==, RI_SUCCESS);
	}
	end_free(&c);
	pair_close(&p);
}

/* Ends that are destroyed while the other one sends, waits, or has not come up. */
static void
test_goes(void)
{
	for (guint way = 0; way < 3; way++) {
		struct pair p;

		pair_open(&p, RI_QP_RC, false);
		if (way == 0) {
			pair_up(&p);
			g_assert_cmpint(end_send(p.a, 1, &p.ma, 0, 8), ==, RI_SUCCESS); /* RNR */
		} else {
			g_assert_cmpint(peer_receive(p.b, &p.to_a), ==, RI_SUCCESS);
			g_assert_cmpint(peer_receive(p.a, &p.to_b), ==, RI_SUCCESS);
			if (way == 2)
				g_assert_cmpint(peer_send(p.a, &p.to_b), ==, RI_SUCCESS);
		}
		end_free(&p.b);
		p.b = NULL;
		if (way == 1)
			g_assert_cmpint(peer_send(p.a, &p.to_b), ==, RI_SUCCESS);
		vth_advance(p.vth, 10 * MS);
		if (way != 0) {
			g_assert_cmpint(end_state(p.a), ==, RI_QPS_RTS);
			g_assert_cmpint(end_send(p.a, 1, &p.ma, 0, 8), ==, RI_SUCCESS);
			vth_advance(p.vth, 10 * MS);
			poll_one(p.a->uscq, 1, RI_WC_TRANSPORT);
			node_async(p.na, RI_EVENT_QP_WR_ERROR, p.a);
		}
		pair_close(&p);
	}
}

static void
test_ranges(void)
{
	static const struct ri_addr far = {.family = RI_ADDR_IPV4, .octets = {203, 0, 113, 1}};
	struct pair p;
	struct ri_peer odd[16];
	guint n = 0, sends;

	pair_open(&p, RI_QP_RC, false);
	for (guint i = 0; i < G_N_ELEMENTS(odd); i++)
		odd[i] = p.to_b;
	odd[n++].qpn = 0x1000000;
	odd[n++].rq_psn = 0x1000000;
	odd[n++].path_mtu = 128;
	odd[n++].path_mtu = 8192;
	odd[n++].path_mtu = 1500;
	odd[n++].min_rnr_timer = 32;
	odd[n++].path.port = 1;
	for (guint i = 0; i < n; i++)
		g_assert_cmpint(peer_receive(p.a, &odd[i]), ==, RI_ERR_INVALID_ARG);
	odd[n].ird = p.na->attr.max_ird + 1;
	g_assert_cmpint(peer_receive(p.a, &odd[n++]), ==, RI_ERR_LIMIT);
	odd[n].path.dest = far;
	g_assert_cmpint(peer_receive(p.a, &odd[n++]), ==, RI_ERR_NO_ROUTE);
	odd[n].path.source = far;
	g_assert_cmpint(peer_receive(p.a, &odd[n++]), ==, RI_ERR_NO_ROUTE);
	g_assert_cmpint(end_state(p.a), ==, RI_QPS_IDLE);
	g_assert_cmpint(peer_receive(p.a, &p.to_b), ==, RI_SUCCESS);
	sends = n;
	odd[n++].sq_psn = 0x1000000;
	odd[n++].timeout = 32;
	odd[n++].retry_count = 8;
	odd[n++].rnr_retry = 8;
	for (guint i = sends; i < n; i++)
		g_assert_cmpint(peer_send(p.a, &odd[i]), ==, RI_ERR_INVALID_ARG);
	odd[n].ord = p.na->attr.max_ord + 1;
	g_assert_cmpint(peer_send(p.a, &odd[n]), ==, RI_ERR_LIMIT);
	g_assert_cmpint(end_state(p.a), ==, RI_QPS_CONNECTING);
	g_assert_cmpint(peer_send(p.a, &p.to_b), ==, RI_SUCCESS);
	pair_close(&p);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/emul/peer/order", test_order);
	g_test_add_func("/emul/peer/misfits", test_misfits);
	g_test_add_func("/emul/peer/one-way", test_one_way);
	g_test_add_func("/emul/peer/away-again", test_away_again);
	g_test_add_func("/emul/peer/for-ever", test_for_ever);
	g_test_add_func("/emul/peer/rnr", test_rnr);
	g_test_add_func("/emul/peer/refused", test_refused);
	g_test_add_func("/emul/peer/again", test_again);
	g_test_add_func("/emul/peer/strangers", test_strangers);
	g_test_add_func("/emul/peer/goes", test_goes);
	g_test_add_func("/emul/peer/ranges", test_ranges);
	return g_test_run();
}
