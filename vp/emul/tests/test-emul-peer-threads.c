/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Queue pairs are created and destroyed while threads send to them: connections by attributes,
 * reliable and unreliable, and members of a multicast group.
 */
#include <string.h>

#include "vem_pairs.h"

#define LIVES 40

struct shared {
	struct pair p;
	atomic_bool stop;
	atomic_uint sent;
	uint32_t way, way_to_one; /* to the group, to any number */
	atomic_uint one;          /* the number of a member, while it is there and after it */
};

static struct ri_sge
some(struct shared *s)
{
	return chunk_sge(&s->p.ma, 0, 64);
}

/* Sends and Writes from a, whatever becomes of them. */
static void *
send_all_the_time(void *arg)
{
	struct shared *s = arg;
	struct ri_sge sge = some(s), to = chunk_sge(&s->p.mb, 1024, 64);

	while (!atomic_load(&s->stop)) {
		struct ri_wr wr = {.sgl = &sge,
				   .num_sge = 1,
				   .opcode = RI_OP_SEND,
				   .flags = RI_WR_SIGNALED | RI_WR_IMMEDIATE};
		struct ri_wc wc[8];

		if (atomic_load(&s->sent) % 2 != 0) {
			wr.opcode = RI_OP_RDMA_WRITE;
			wr.u.remote.addr = to.addr;
			wr.u.remote.stag = to.stag;
		}
		if (emul()->fast->post_sq(s->p.a->uqp, &wr) == RI_SUCCESS)
			atomic_fetch_add(&s->sent, 1);
		(void)emul()->fast->poll_cq(s->p.a->uscq, wc, 8);
	}
	return NULL;
}

/* Post receives to an end, and drop what they bring. */
static void
receive_some(struct end *end, const struct chunk *m)
{
	struct ri_sge sge = chunk_sge(m, 0, 1024);
	const struct ri_recv_wr wr = {.wr_id = 1, .sgl = &sge, .num_sge = 1};
	struct ri_wc wc[8];

	for (guint i = 0; i < 8; i++) {
		(void)emul()->fast->post_rq(end->uqp, &wr);
		(void)emul()->fast->poll_cq(end->urcq, wc, 8);
	}
}

/* To ERROR and to IDLE, when everything is flushed. */
static void
take_down(struct end *end)
{
	gint64 until = node_deadline();
	struct ri_wc wc[8];
	enum ri_status status;

	g_assert_cmpint(end_modify(end, RI_QPS_ERROR), ==, RI_SUCCESS);
	do {
		(void)emul()->fast->poll_cq(end->urcq, wc, 8);
		(void)emul()->fast->poll_cq(end->uscq, wc, 8);
		status = end_modify(end, RI_QPS_IDLE);
	} while (status == RI_ERR_STILL_FLUSHING && g_get_monotonic_time() < until);
	g_assert_cmpint(status, ==, RI_SUCCESS);
}

static void
open_threaded(struct shared *s, enum ri_qp_type type)
{
	memset(s, 0, sizeof(*s));
	s->p.vth = vth_new(true);
	s->p.na = node_new(s->p.vth, true, "emul:ib");
	s->p.nb = node_new(s->p.vth, true, "emul:ib");
	s->p.a = end_of_type(s->p.na, type);
	s->p.b = end_of_type(s->p.nb, type);
	s->p.ma = chunk_new(s->p.na, 4096, ALL_RW);
	s->p.mb = chunk_new(s->p.nb, 4096, ALL_RW);
}

static void
close_threaded(struct shared *s)
{
	end_free(&s->p.a);
	end_free(&s->p.b);
	node_run(s->p.na);
	node_forget(s->p.na);
	node_forget(s->p.nb);
	chunk_free(&s->p.ma);
	chunk_free(&s->p.mb);
	node_close(&s->p.na);
	node_close(&s->p.nb);
	vth_free(&s->p.vth);
}

/* In each life both ends have new numbers; in every third b is destroyed. */
static void
test_connected(gconstpointer type)
{
	struct shared s;
	GThread *thread;

	open_threaded(&s, (enum ri_qp_type)GPOINTER_TO_INT(type));
	thread = g_thread_new("send", send_all_the_time, &s);
	for (guint life = 1; life <= LIVES; life++) {
		guint before = atomic_load(&s.sent);
		gint64 until = g_get_monotonic_time() + 5000;

		s.p.to_b = peer_params(s.p.b, life, 1000 + life);
		s.p.to_a = peer_params(s.p.a, 1000 + life, life);
		s.p.to_b.timeout = 18; /* a second */
		g_assert_cmpint(peer_receive(s.p.a, &s.p.to_b), ==, RI_SUCCESS);
		g_assert_cmpint(peer_send(s.p.a, &s.p.to_b), ==, RI_SUCCESS);
		g_assert_cmpint(peer_receive(s.p.b, &s.p.to_a), ==, RI_SUCCESS);
		if (life % 2 == 0)
			g_assert_cmpint(peer_send(s.p.b, &s.p.to_a), ==, RI_SUCCESS);
		while (atomic_load(&s.sent) < before + 8 && g_get_monotonic_time() < until)
			receive_some(s.p.b, &s.p.mb);
		if (life % 3 == 0) {
			end_free(&s.p.b);
			s.p.b = end_of_type(s.p.nb, (enum ri_qp_type)GPOINTER_TO_INT(type));
		}
		take_down(s.p.a);
		if (life % 3 != 0)
			take_down(s.p.b);
	}
	g_assert_cmpuint(atomic_load(&s.sent), >, LIVES);
	atomic_store(&s.stop, true);
	g_thread_join(thread);
	close_threaded(&s);
}

/* Give an end a queue pair whose queues complete into one completion queue. */
static void
share_cq(struct end *end)
{
	const struct node *node = end->node;
	struct ri_map map;

	node->p->user->qp_close(end->uqp);
	g_assert_cmpint(node->p->qp->destroy(end->qp), ==, RI_SUCCESS);
	g_assert_cmpint(
		node->p->qp->create(node->pd, &end->init, end->scq, end->scq, NULL, &end->qp, &map),
		==, RI_SUCCESS);
	g_assert_cmpint(
		node->p->user->qp_open(node->urnic, &map, end->uscq, end->uscq, NULL, &end->uqp),
		==, RI_SUCCESS);
}

/* Two completions: that of the request that failed, and that of a receive that was flushed because of it. */
static void
expect_failure_first(struct end *end)
{
	gint64 until = node_deadline();
	struct ri_wc wc[2] = {{0}};
	guint got = 0;

	while (got < 2 && g_get_monotonic_time() < until)
		got += emul()->fast->poll_cq(end->uscq, wc + got, 2 - got);
	g_assert_cmpuint(got, ==, 2);
	g_assert_cmpuint(wc[0].status, ==, RI_WC_REMOTE_ACCESS);
	g_assert_cmpuint(wc[1].status, ==, RI_WC_FLUSHED);
}

/* The thread that flushes is another one than that whose request has failed. */
static void
test_failure_first(void)
{
	struct ri_sge sge, nowhere;
	struct shared s;

	open_threaded(&s, RI_QP_RC);
	share_cq(s.p.a);
	sge = some(&s);
	nowhere = chunk_sge(&s.p.mb, 0, 64);
	nowhere.stag ^= 1u << 20;
	for (guint life = 1; life <= LIVES; life++) {
		const struct ri_recv_wr wr = {.wr_id = 1, .sgl = &sge, .num_sge = 1};

		s.p.to_b = peer_params(s.p.b, life, 1000 + life);
		s.p.to_a = peer_params(s.p.a, 1000 + life, life);
		g_assert_cmpint(emul()->fast->post_rq(s.p.a->uqp, &wr), ==, RI_SUCCESS);
		g_assert_cmpint(peer_receive(s.p.a, &s.p.to_b), ==, RI_SUCCESS);
		g_assert_cmpint(peer_receive(s.p.b, &s.p.to_a), ==, RI_SUCCESS);
		g_assert_cmpint(peer_send(s.p.a, &s.p.to_b), ==, RI_SUCCESS);
		post_rdma(s.p.a, RI_OP_RDMA_WRITE, 2, &sge, &nowhere);
		expect_failure_first(s.p.a);
		take_down(s.p.a);
		take_down(s.p.b);
	}
	close_threaded(&s);
}

/* To all members, and to one of them. */
static void *
send_to_group(void *arg)
{
	struct shared *s = arg;
	struct ri_wr_ud ud[] = {{.ah = s->way, .qpn = VEM_QPN_GROUP, .qkey = KEY},
				{.ah = s->way_to_one, .qkey = KEY}};
	struct ri_sge sge = some(s);
	struct ri_wc wc[8];

	while (!atomic_load(&s->stop)) {
		ud[1].qpn = atomic_load(&s->one);
		if (send_to(s->p.a, 1, &sge, &ud[atomic_load(&s->sent) % 2]) == RI_SUCCESS)
			atomic_fetch_add(&s->sent, 1);
		(void)emul()->fast->poll_cq(s->p.a->uscq, wc, 8);
	}
	return NULL;
}

static void
test_group(void)
{
	static const struct ri_addr group = {.family = RI_ADDR_GID,
					     .octets = {0xff, 0x12, [15] = 0x42}};
	const struct ri_ah_init init = {.dest = group};
	struct shared s;
	struct ri_ah *ah, *ah_to_one;
	GThread *thread;

	open_threaded(&s, RI_QP_RC);
	end_free(&s.p.a);
	s.p.a = ud_new(s.p.na, 16);
	ah = ah_new(s.p.na, &init, &s.way);
	ah_to_one = ah_new(s.p.na, NULL, &s.way_to_one);
	thread = g_thread_new("send", send_to_group, &s);
	for (guint life = 0; life < 5 * LIVES; life++) {
		guint before = atomic_load(&s.sent);
		gint64 until = g_get_monotonic_time() + 5000;
		struct end *member[3];

		for (guint i = 0; i < G_N_ELEMENTS(member); i++) {
			member[i] = ud_new(s.p.nb, 16);
			g_assert_cmpint(emul()->qp->mcast_attach(member[i]->qp, &group), ==,
					RI_SUCCESS);
			receive_some(member[i], &s.p.mb);
		}
		atomic_store(&s.one, qpn_of(member[2]));
		while (atomic_load(&s.sent) < before + 8 && g_get_monotonic_time() < until)
			receive_some(member[2], &s.p.mb);
		g_assert_cmpint(emul()->qp->mcast_detach(member[1]->qp, &group), ==, RI_SUCCESS);
		for (guint i = 0; i < G_N_ELEMENTS(member); i++) {
			receive_some(member[i], &s.p.mb);
			end_free(&member[i]);
		}
	}
	for (gint64 until = node_deadline();
	     atomic_load(&s.sent) == 0 && g_get_monotonic_time() < until;)
		g_usleep(100);
	g_assert_cmpuint(atomic_load(&s.sent), >, 0);
	atomic_store(&s.stop, true);
	g_thread_join(thread);
	g_assert_cmpint(emul()->ah->destroy(ah), ==, RI_SUCCESS);
	g_assert_cmpint(emul()->ah->destroy(ah_to_one), ==, RI_SUCCESS);
	close_threaded(&s);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/emul/peer-threads/reliable", GINT_TO_POINTER(RI_QP_RC),
			     test_connected);
	g_test_add_data_func("/emul/peer-threads/unreliable", GINT_TO_POINTER(RI_QP_UC),
			     test_connected);
	g_test_add_func("/emul/peer-threads/failure-first", test_failure_first);
	g_test_add_func("/emul/peer-threads/group", test_group);
	return g_test_run();
}
