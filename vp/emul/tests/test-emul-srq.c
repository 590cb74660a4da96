/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Shared receive queues of both personalities: a queue that fails, members that end, come and go. */
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "vem.h"
#include "vem_node.h"

static const struct ri_fast_ops *
fast(void)
{
	return vem_provider_entry()->fast;
}

/* One sender and `members` receivers that share an SRQ, all connected; virtual time. */
struct party {
	struct vth *vth;
	struct node *na, *nb;
	struct end *a[4], *b[4];
	guint members;
	struct chunk ma, mb;
};

static void
party_open(struct party *p, const char *adapter, guint members)
{
	memset(p, 0, sizeof(*p));
	p->vth = vth_new(false);
	p->na = node_new(p->vth, false, adapter);
	p->nb = node_new(p->vth, false, adapter);
	p->ma = chunk_new(p->na, 1024, ALL_RW);
	p->mb = chunk_new(p->nb, 1024, ALL_RW);
	p->members = members;
	node_share(p->nb, 8);
	for (guint i = 0; i < members; i++) {
		p->a[i] = end_new(p->na, NULL);
		p->b[i] = end_new(p->nb, NULL);
		ends_connect(p->a[i], p->b[i]);
	}
}

/* Ends may be destroyed already. */
static void
party_close(struct party *p)
{
	for (guint i = 0; i < p->members; i++) {
		if (p->a[i] != NULL)
			end_free(&p->a[i]);
		if (p->b[i] != NULL)
			end_free(&p->b[i]);
	}
	node_run(p->nb);
	node_forget(p->na);
	node_forget(p->nb);
	node_unshare(p->nb);
	chunk_free(&p->ma);
	chunk_free(&p->mb);
	node_free(&p->na);
	node_free(&p->nb);
	vth_free(&p->vth);
}

static void
party_post(struct party *p, uint64_t id)
{
	node_post(p->nb, id, &p->mb, id * 16, 16);
}

static void
party_send(struct party *p, guint i, uint64_t id)
{
	struct ri_sge sge = chunk_sge(&p->ma, (uint32_t)id * 16, 16);

	post_send(p->a[i], id, &sge, 0);
}

/* The SRQ fails: it raises its event, members that need a receive end, and the others are not disturbed. */
static void
test_catastrophe(gconstpointer adapter)
{
	struct party p RI_AT_END(party_close);

	party_open(&p, adapter, 3);
	party_send(&p, 0, 1); /* waits */
	node_run(p.nb);
	vsw_srq_fail(&((struct vsw_srq_object *)p.nb->srq)->srq);
	node_run(p.nb);
	node_async(p.nb, RI_EVENT_SRQ_CATASTROPHIC, p.nb);
	node_fault(p.nb, RI_EVENT_QP_SRQ_ERROR, p.b[0]);
	node_cm(p.nb, RI_CM_BROKEN, p.b[0]);
	node_cm(p.na, RI_CM_BROKEN, p.a[0]);
	g_assert_cmpint(end_state(p.b[1]), ==, RI_QPS_RTS);
	party_post(&p, 3);
	party_send(&p, 1, 2);
	node_run(p.nb);
	node_fault(p.nb, RI_EVENT_QP_SRQ_ERROR, p.b[1]);
	node_cm(p.nb, RI_CM_BROKEN, p.b[1]);
	node_cm(p.na, RI_CM_BROKEN, p.a[1]);
	g_assert_cmpint(end_state(p.b[2]), ==, RI_QPS_RTS);
}

/* The member that waits longest ends, in each possible way; the next gets the receive. */
static void
test_first_goes(gconstpointer adapter)
{
	for (guint way = 0; way < 5; way++) {
		struct party p RI_AT_END(party_close);

		party_open(&p, adapter, 2);
		party_send(&p, 0, 1);
		party_send(&p, 1, 2);
		switch (way) {
		case 0:
			end_free(&p.b[0]);
			p.b[0] = NULL;
			break;
		case 1:
			end_free(&p.a[0]);
			p.a[0] = NULL;
			break;
		case 2:
			g_assert_cmpint(end_modify(p.b[0], RI_QPS_ERROR), ==, RI_SUCCESS);
			break;
		case 3:
			g_assert_cmpint(p.nb->p->cm->disconnect(p.b[0]->qp, NULL, 0), ==,
					RI_SUCCESS);
			break;
		default:
			/* Both time-outs have passed. */
			vth_advance(p.vth, VEM_RNR_HOLD);
			break;
		}
		node_run(p.nb);
		if (way == 4) {
			g_assert_cmpint(end_state(p.b[0]), ==, RI_QPS_ERROR);
			g_assert_cmpint(end_state(p.b[1]), ==, RI_QPS_ERROR);
		} else {
			party_post(&p, 5);
			poll_one(p.b[1]->urcq, 5, RI_WC_SUCCESS);
			poll_one(p.a[1]->uscq, 2, RI_WC_SUCCESS);
			g_assert_cmpint(end_state(p.b[1]), ==, RI_QPS_RTS);
		}
	}
}

/* --- members that come and go under it ---------------------------------------------------- */

struct visitor {
	struct node *na, *nb;
	struct chunk from, to;
	atomic_bool stop;
};

/* Posts and takes until it is told to stop. */
static void *
keep_posting(void *arg)
{
	struct visitor *v = arg;
	struct ri_sge sge = chunk_sge(&v->to, 0, 32);
	struct ri_recv_wr wr = {.sgl = &sge, .num_sge = 1};

	while (!atomic_load(&v->stop)) {
		(void)!fast()->post_srq(v->nb->usrq, &wr);
		sched_yield();
	}
	return NULL;
}

/* While one thread posts, queue pairs of the SRQ are created, wait, and are destroyed. */
static void
test_visitors(gconstpointer adapter)
{
	struct vth *vth RI_AT_END(vth_free) = vth_new(true);
	struct visitor v = {.na = node_new(vth, true, adapter), .nb = node_new(vth, true, adapter)};
	pthread_t thread;

	v.from = chunk_new(v.na, 32, ALL_RW);
	v.to = chunk_new(v.nb, 32, ALL_RW);
	node_share(v.nb, 2);
	g_assert_cmpint(pthread_create(&thread, NULL, keep_posting, &v), ==, 0);
	for (guint round = 0; round < 60; round++) {
		struct ri_sge sge = chunk_sge(&v.from, 0, 32);
		struct end *a[2], *b[2];
		struct ri_wc wc;
		for (guint i = 0; i < 2; i++) {
			a[i] = end_new(v.na, NULL);
			b[i] = end_new(v.nb, NULL);
			ends_connect(a[i], b[i]);
		}
		for (guint i = 0; i < 12; i++)
			post_send(a[i % 2], i, &sge, 0);
		for (guint i = 0; i < round % 5; i++)
			(void)fast()->poll_cq(b[i % 2]->urcq, &wc, 1);
		end_free(round % 2 ? &b[0] : &a[0]);
		end_free(round % 2 ? &b[1] : &a[1]);
		end_free(round % 2 ? &a[0] : &b[0]);
		end_free(round % 2 ? &a[1] : &b[1]);
		node_forget(v.na);
		node_forget(v.nb);
		/* Receives that were taken and never polled are lost with their queue; post others. */
		if (round % 10 == 9) {
			atomic_store(&v.stop, true);
			pthread_join(thread, NULL);
			node_unshare(v.nb);
			node_share(v.nb, 2);
			atomic_store(&v.stop, false);
			g_assert_cmpint(pthread_create(&thread, NULL, keep_posting, &v), ==, 0);
		}
	}
	atomic_store(&v.stop, true);
	pthread_join(thread, NULL);
	node_unshare(v.nb);
	chunk_free(&v.from);
	chunk_free(&v.to);
	node_free(&v.na);
	node_free(&v.nb);
}

/* More of them, one after the other, than there may be at once; the one that is used stays. */
static void
test_one_by_one(const void *adapter)
{
	struct party p RI_AT_END(party_close);
	struct ri_map map;

	party_open(&p, adapter, 1);
	const struct ri_srq_ops *ops = p.nb->p->srq;
	for (uint32_t i = 0; i <= p.nb->attr.max_srq; i++) {
		struct ri_srq_attr attr = {.max_wr = 1, .max_sge = 1};
		struct ri_srq *srq;

		g_assert_cmpint(ops->create(p.nb->pd, &attr, &srq, &map), ==, RI_SUCCESS);
		g_assert_cmpint(ops->destroy(srq), ==, RI_SUCCESS);
	}
	g_assert_cmpint(ops->destroy(p.nb->srq), ==, RI_ERR_BUSY);
}

int
main(int argc, char **argv)
{
	static const char *const adapters[] = {"emul:ib", "emul:iwarp"};
	static const struct {
		const char *name;
		GTestDataFunc test;
	} tests[] = {
		{"catastrophe", test_catastrophe},
		{"first-goes", test_first_goes},
		{"visitors", test_visitors},
		{"one-by-one", test_one_by_one},
	};

	g_test_init(&argc, &argv, NULL);
	for (guint a = 0; a < G_N_ELEMENTS(adapters); a++) {
		for (guint t = 0; t < G_N_ELEMENTS(tests); t++) {
			g_autofree char *path =
				g_strdup_printf("/emul/%s/srq/%s", adapters[a] + 5, tests[t].name);
			g_test_add_data_func(path, adapters[a], tests[t].test);
		}
	}
	return g_test_run();
}
