/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Many threads at once: several post to one queue, peers are destroyed, memory is deregistered. */
#include <stdatomic.h>
#include <string.h>

#include "vem_node.h"

static const struct ri_fast_ops *
fast(void)
{
	return vem_provider_entry()->fast;
}

/* --- many posters on one queue ------------------------------------------------------------ */

struct crowd {
	struct end *end;
	struct ri_sge there;
	atomic_uint done;
};

static void *
crowd_post(void *arg)
{
	struct crowd *crowd = arg;
	struct ri_wr wr = {.opcode = RI_OP_RDMA_WRITE,
			   .flags = RI_WR_SIGNALED,
			   .u.remote = {.addr = crowd->there.addr, .stag = crowd->there.stag}};
	struct ri_wc wc[4];

	for (guint i = 0; i < 2000;) {
		i += fast()->post_sq(crowd->end->uqp, &wr) == RI_SUCCESS;
		uint32_t got = fast()->poll_cq(crowd->end->uscq, wc, 4);
		for (uint32_t k = 0; k < got; k++)
			g_assert_cmpuint(wc[k].status, ==, RI_WC_SUCCESS);
		atomic_fetch_add(&crowd->done, got);
	}
	return NULL;
}

static void
test_crowd(gconstpointer adapter)
{
	struct vth *vth RI_AT_END(vth_free) = vth_new(true);
	struct node *node RI_AT_END(node_free) = node_new(vth, true, adapter);
	struct crowd crowd = {.end = end_new(node, NULL)};
	struct end *other = end_new(node, NULL);
	pthread_t thread[3];
	struct ri_wc wc;

	ends_connect(crowd.end, other);
	for (guint i = 0; i < G_N_ELEMENTS(thread); i++)
		g_assert_cmpint(pthread_create(&thread[i], NULL, crowd_post, &crowd), ==, 0);
	for (guint i = 0; i < G_N_ELEMENTS(thread); i++)
		pthread_join(thread[i], NULL);
	while (fast()->poll_cq(crowd.end->uscq, &wc, 1) == 1)
		atomic_fetch_add(&crowd.done, 1);
	g_assert_cmpuint(atomic_load(&crowd.done), ==, 6000);
	end_free(&other);
	node_lost(node, crowd.end);
	end_free(&crowd.end);
}

/* --- peers that go ------------------------------------------------------------------------ */

struct sender {
	struct end *end;
	struct chunk chunk;
	struct ri_sge there;
	atomic_bool stop;
};

static void *
send_for_ever(void *arg)
{
	struct sender *s = arg;
	struct ri_sge sge = chunk_sge(&s->chunk, 0, 512);
	struct ri_wc wc[8];

	for (guint i = 0; !atomic_load(&s->stop); i++) {
		struct ri_wr wr = {.sgl = &sge,
				   .num_sge = 1,
				   .flags = RI_WR_SIGNALED,
				   .opcode = i % 2 ? RI_OP_SEND : RI_OP_RDMA_WRITE,
				   .u.remote = {.addr = s->there.addr, .stag = s->there.stag}};
		if (fast()->post_sq(s->end->uqp, &wr) != RI_SUCCESS)
			sched_yield();
		fast()->poll_cq(s->end->uscq, wc, 8);
	}
	return NULL;
}

/* While a thread sends to it, the peer is destroyed, ends in an error, or its memory is deregistered. */
static void
test_peer_goes(gconstpointer adapter)
{
	struct vth *vth RI_AT_END(vth_free) = vth_new(true);
	struct node *na = node_new_patient(vth, adapter, "200");
	struct node *nb = node_new_patient(vth, adapter, "200");

	for (guint round = 0; round < 60; round++) {
		struct sender s = {.end = end_new(na, NULL), .chunk = chunk_new(na, 512, ALL_RW)};
		struct end *b = end_new(nb, NULL);
		struct chunk sink = chunk_new(nb, 512, ALL_RW);
		enum ri_status status;
		pthread_t thread;
		ends_connect(s.end, b);
		s.there = chunk_sge(&sink, 0, 512);
		g_assert_cmpint(pthread_create(&thread, NULL, send_for_ever, &s), ==, 0);
		for (guint i = 0; i < 12; i++) {
			post_recv(b, i, &s.there);
			if (i % 3 == 0)
				sched_yield();
		}
		switch (round % 4) {
		case 0:
			end_free(&b);
			b = NULL;
			break;
		case 1:
			g_assert_cmpint(end_modify(b, RI_QPS_ERROR), ==, RI_SUCCESS);
			break;
		case 2:
			/* On a busy machine the sender may have given up by now. */
			status = nb->p->cm->disconnect(b->qp, NULL, 0);
			g_assert_true(status == RI_SUCCESS || status == RI_ERR_INVALID_STATE);
			break;
		default:
			chunk_free(&sink); /* the next Write or Send finds no peer */
			sink.at = NULL;
			break;
		}
		gint64 end = g_get_monotonic_time() + 120 * G_USEC_PER_SEC;
		while (end_state(s.end) != RI_QPS_ERROR && g_get_monotonic_time() < end)
			g_usleep(100);
		g_assert_cmpint(end_state(s.end), ==, RI_QPS_ERROR);
		atomic_store(&s.stop, true);
		pthread_join(thread, NULL);
		end_free(&s.end);
		if (b != NULL)
			end_free(&b);
		chunk_free(&s.chunk);
		if (sink.at != NULL)
			chunk_free(&sink);
		for (guint n = 0; n < 2; n++) {
			struct node *node = n ? nb : na;
			node_forget(node);
		}
	}
	node_free(&na);
	node_free(&nb);
	g_assert_cmpuint(vth_attached(vth), ==, 0);
}

int
main(int argc, char **argv)
{
	static const char *const adapters[] = {"emul:ib", "emul:iwarp"};

	g_test_init(&argc, &argv, NULL);
	for (guint a = 0; a < G_N_ELEMENTS(adapters); a++) {
		g_autofree char *crowd = g_strdup_printf("/emul/%s/threads/crowd", adapters[a] + 5);
		g_autofree char *goes =
			g_strdup_printf("/emul/%s/threads/peer-goes", adapters[a] + 5);
		g_test_add_data_func(crowd, adapters[a], test_crowd);
		g_test_add_data_func(goes, adapters[a], test_peer_goes);
	}
	return g_test_run();
}
