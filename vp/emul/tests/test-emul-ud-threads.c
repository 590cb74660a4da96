/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Datagrams between threads: many senders at once, and a receiver that is created and destroyed. */
#include "vem_dgram.h"

/* One adapter and its memory. */
struct scene {
	struct vth *vth;
	struct node *na;
	struct end *a;
	struct chunk ma;
};

#define SENDERS 4
#define ROUNDS  2000

struct sender {
	struct scene *scene;
	struct end *end;
	uint32_t qpn;
	struct ri_ah *ah;
	uint32_t way;
};

static gpointer
sender_run(gpointer arg)
{
	struct sender *me = arg;
	const struct ri_wr_ud to = {.ah = me->way, .qpn = me->qpn, .qkey = KEY};
	struct ri_sge sge = chunk_sge(&me->scene->ma, 0, 64);
	struct ri_wc wc;

	for (uint64_t id = 0; id < ROUNDS; id++) {
		g_assert_cmpint(send_to(me->end, id, &sge, &to), ==, RI_SUCCESS);
		while (emul()->fast->poll_cq(me->end->uscq, &wc, 1) == 0)
			g_thread_yield();
		g_assert_cmpuint(wc.status, ==, RI_WC_SUCCESS);
		g_assert_cmpuint(wc.wr_id, ==, id);
	}
	g_assert_cmpint(emul()->ah->destroy(me->ah), ==, RI_SUCCESS);
	return NULL;
}

/* Several threads send to one receiver, which always has a receive posted: nothing is lost. */
static void
test_crowd(void)
{
	struct sender senders[SENDERS];
	GThread *threads[SENDERS];
	struct scene s = {.vth = vth_new(true)};
	struct ri_qp_init init;
	struct ri_sge sge;
	struct ri_wc wc;
	uint64_t got = 0;

	s.na = node_new(s.vth, true, "emul:ib");
	s.ma = chunk_new(s.na, 8192, ALL_RW);
	init = end_defaults(s.na);
	init.type = RI_QP_UD;
	init.qkey = KEY;
	init.max_rq_wr = SENDERS * ROUNDS;
	s.a = end_new_cq(s.na, &init, SENDERS * ROUNDS);
	sge = chunk_sge(&s.ma, 4096, 200);
	for (uint64_t id = 0; id < SENDERS * ROUNDS; id++)
		post_recv(s.a, id, &sge);
	for (guint i = 0; i < SENDERS; i++) {
		senders[i] =
			(struct sender){.scene = &s, .end = ud_new(s.na, 64), .qpn = qpn_of(s.a)};
		senders[i].ah = ah_new(s.na, NULL, &senders[i].way);
		threads[i] = g_thread_new("sender", sender_run, &senders[i]);
	}
	for (guint i = 0; i < SENDERS; i++) {
		g_thread_join(threads[i]);
		end_free(&senders[i].end);
	}
	while (emul()->fast->poll_cq(s.a->urcq, &wc, 1) == 1) {
		g_assert_cmpuint(wc.status, ==, RI_WC_SUCCESS);
		g_assert_cmpuint(wc.wr_id, ==, got++);
	}
	g_assert_cmpuint(got, ==, SENDERS * ROUNDS);
	end_free(&s.a);
	chunk_free(&s.ma);
	node_free(&s.na);
	vth_free(&s.vth);
}

/* The receiver is destroyed and created while others send to its number. */
static void
test_restless_receiver(void)
{
	struct sender sender;
	struct scene s = {.vth = vth_new(true)};
	GThread *thread;

	s.na = node_new(s.vth, true, "emul:ib");
	s.ma = chunk_new(s.na, 8192, ALL_RW);
	s.a = ud_new(s.na, 64);
	sender = (struct sender){.scene = &s, .end = ud_new(s.na, 64), .qpn = qpn_of(s.a)};
	sender.ah = ah_new(s.na, NULL, &sender.way);
	thread = g_thread_new("sender", sender_run, &sender);
	for (guint i = 0; i < 200; i++) {
		enum ri_status status = RI_ERR_STILL_FLUSHING;
		struct ri_sge sge = chunk_sge(&s.ma, 4096, 200);
		struct ri_wc wc;

		post_recv(s.a, i, &sge);
		if (i % 50 == 49) {
			end_free(&s.a);
			s.a = ud_new(s.na, 64);
			continue;
		}
		g_assert_cmpint(end_modify(s.a, RI_QPS_ERROR), ==, RI_SUCCESS);
		while (status == RI_ERR_STILL_FLUSHING) {
			g_thread_yield();
			status = end_modify(s.a, RI_QPS_IDLE);
		}
		g_assert_cmpint(status, ==, RI_SUCCESS);
		node_async(s.na, RI_EVENT_QP_CATASTROPHIC, s.a);
		while (emul()->fast->poll_cq(s.a->urcq, &wc, 1) == 1)
			;
	}
	g_thread_join(thread);
	end_free(&sender.end);
	end_free(&s.a);
	chunk_free(&s.ma);
	node_free(&s.na);
	vth_free(&s.vth);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/emul/ud/crowd", test_crowd);
	g_test_add_func("/emul/ud/restless-receiver", test_restless_receiver);
	return g_test_run();
}
