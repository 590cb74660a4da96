/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Shared receive queues of both personalities: verbs, ends, failure, many queue pairs and threads. */
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
party_open(struct party *p, const char *adapter, guint members, const struct ri_qp_init *init)
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
		p->b[i] = end_new(p->nb, init);
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

static void
test_verbs(gconstpointer adapter)
{
	struct party p RI_AT_END(party_close);
	struct ri_srq_attr attr = {.max_wr = 1u << 20, .max_sge = 1};
	struct ri_srq *srq = NULL;
	struct ri_map map;
	struct ri_qp_attr qp = {.soft_limit = 1, .hard_limit = 1};
	struct end *plain;

	party_open(&p, adapter, 1, NULL);
	const struct ri_srq_ops *ops = p.nb->p->srq;
	g_assert_cmpint(ops->create(p.nb->pd, &attr, &srq, &map), ==, RI_ERR_LIMIT);
	attr = (struct ri_srq_attr){.max_wr = 4, .max_sge = 100};
	g_assert_cmpint(ops->create(p.nb->pd, &attr, &srq, &map), ==, RI_ERR_LIMIT);
	attr = (struct ri_srq_attr){.max_wr = 0, .max_sge = 1};
	g_assert_cmpint(ops->create(p.nb->pd, &attr, &srq, &map), ==, RI_ERR_INVALID_ARG);
	attr = (struct ri_srq_attr){.max_wr = 4, .max_sge = 1, .limit = 5};
	g_assert_cmpint(ops->create(p.nb->pd, &attr, &srq, &map), ==, RI_ERR_INVALID_ARG);
	/* A limit that is given at creation is armed, and due at once. */
	attr = (struct ri_srq_attr){.ctx = 7, .max_wr = 4, .max_sge = 1, .limit = 1};
	g_assert_cmpint(ops->create(p.nb->pd, &attr, &srq, &map), ==, RI_SUCCESS);
	node_run(p.nb);
	node_async(p.nb, RI_EVENT_SRQ_LIMIT, GUINT_TO_POINTER(7));
	g_assert_cmpint(p.nb->p->pd->destroy(p.nb->pd), ==, RI_ERR_BUSY);
	g_assert_cmpint(ops->destroy(srq), ==, RI_SUCCESS);
	g_assert_cmpint(ops->destroy(p.nb->srq), ==, RI_ERR_BUSY);
	attr = (struct ri_srq_attr){.limit = RI_SRQ_LIMIT_KEEP, .max_wr = 1u << 20};
	g_assert_cmpint(ops->modify(p.nb->srq, &attr, true, &map), ==, RI_ERR_LIMIT);
	party_post(&p, 1);
	g_assert_cmpint(ops->query(p.nb->srq, &attr), ==, RI_SUCCESS);
	g_assert_cmpuint(attr.available, ==, 1);
	g_assert_cmpuint(attr.max_wr, ==, 8);
	/* Receives of its own, and limits without an SRQ. */
	struct ri_recv_wr wr = {0};
	g_assert_cmpint(fast()->post_rq(p.b[0]->uqp, &wr), ==, RI_ERR_INVALID_STATE);
	plain = end_new(p.na, NULL);
	g_assert_cmpint(p.na->p->qp->modify(plain->qp, &qp, RI_QP_ATTR_SOFT), ==,
			RI_ERR_INVALID_ARG);
	g_assert_cmpuint(end_attr(plain).hard_limit, ==, UINT32_MAX);
	end_free(&plain);
	/* InfiniBand has no soft one: then all is refused. */
	bool soft = p.nb->attr.rq_soft_limit;
	g_assert_cmpint(p.nb->p->qp->modify(p.b[0]->qp, &qp, RI_QP_ATTR_SOFT | RI_QP_ATTR_HARD), ==,
			soft ? RI_SUCCESS : RI_ERR_UNSUPPORTED);
	g_assert_cmpuint(end_attr(p.b[0]).hard_limit, ==, soft ? 1 : UINT32_MAX);
	g_assert_cmpuint(end_attr(p.b[0]).soft_limit, ==, soft ? 1 : 0);
	struct ri_qp_init init = p.b[0]->init;
	struct ri_qp *more = NULL;
	init.soft_limit = 1;
	g_assert_cmpint(p.nb->p->qp->create(p.nb->pd, &init, p.b[0]->rcq, p.b[0]->rcq, p.nb->srq,
					    &more, &map),
			==, soft ? RI_SUCCESS : RI_ERR_UNSUPPORTED);
	if (soft)
		g_assert_cmpint(p.nb->p->qp->destroy(more), ==, RI_SUCCESS);
}

/* The SRQ fails: it raises its event, members that need a receive end, and the others are not disturbed. */
static void
test_catastrophe(gconstpointer adapter)
{
	struct party p RI_AT_END(party_close);

	party_open(&p, adapter, 3, NULL);
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

/* Two receives in progress exceed a limit of one, also if the limit is set after they began. */
static void
test_watermarks(gconstpointer adapter)
{
	const struct ri_qp_attr soft = {.soft_limit = 1}, hard = {.hard_limit = 1};
	struct party p RI_AT_END(party_close);

	party_open(&p, adapter, 2, NULL);
	for (guint i = 0; i < 4; i++)
		party_post(&p, i);
	g_assert_cmpint(p.nb->p->qp->modify(p.b[0]->qp, &soft, RI_QP_ATTR_SOFT), ==,
			p.nb->attr.rq_soft_limit ? RI_SUCCESS : RI_ERR_UNSUPPORTED);
	party_send(&p, 0, 1);
	node_run(p.nb);
	node_silent(p.nb);
	party_send(&p, 0, 2);
	node_run(p.nb);
	if (p.nb->attr.rq_soft_limit)
		node_async(p.nb, RI_EVENT_QP_RQ_LIMIT, p.b[0]);
	else
		node_silent(p.nb);
	g_assert_cmpint(end_state(p.b[0]), ==, RI_QPS_RTS);

	party_send(&p, 1, 3);
	party_send(&p, 1, 4);
	node_run(p.nb);
	node_silent(p.nb);
	g_assert_cmpint(p.nb->p->qp->modify(p.b[1]->qp, &hard, RI_QP_ATTR_HARD), ==, RI_SUCCESS);
	node_run(p.nb);
	node_async(p.nb, RI_EVENT_QP_RQ_HARD_LIMIT, p.b[1]);
	g_assert_cmpint(end_state(p.b[1]), ==, RI_QPS_ERROR);
}

/* The member that waits longest ends, in each possible way; the next gets the receive. */
static void
test_first_goes(gconstpointer adapter)
{
	for (guint way = 0; way < 5; way++) {
		struct party p RI_AT_END(party_close);

		party_open(&p, adapter, 2, NULL);
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

/* --- threads ------------------------------------------------------------------------------ */

#define SENDERS  3
#define EACH     3
#define MESSAGES 1500

struct crowd {
	struct node *na, *nb;
	struct chunk from, to;
	struct end *a[SENDERS][EACH];
	struct end *b[SENDERS][EACH];
	atomic_uint received;
};

struct crowd_thread {
	struct crowd *crowd;
	guint number;
	pthread_t thread;
};

/* Sends through each of its queue pairs in turn, as fast as possible. */
static void *
crowd_send(void *arg)
{
	struct crowd_thread *me = arg;
	struct crowd *c = me->crowd;
	struct ri_sge sge = chunk_sge(&c->from, 0, 32);
	struct ri_wr wr = {
		.sgl = &sge, .num_sge = 1, .flags = RI_WR_SIGNALED, .opcode = RI_OP_SEND};
	guint sent[EACH] = {0}, done = 0;
	struct ri_wc wc;

	while (done < EACH * MESSAGES) {
		bool idle = true;

		for (guint k = 0; k < EACH; k++) {
			struct end *end = c->a[me->number][k];
			if (sent[k] < MESSAGES && fast()->post_sq(end->uqp, &wr) == RI_SUCCESS) {
				sent[k]++;
				idle = false;
			}
			while (fast()->poll_cq(end->uscq, &wc, 1) == 1) {
				g_assert_cmpuint(wc.status, ==, RI_WC_SUCCESS);
				done++;
				idle = false;
			}
		}
		if (idle)
			sched_yield(); /* the other threads may need this processor */
	}
	return NULL;
}

/* Polls the receives of its queue pairs, and posts as many again. */
static void *
crowd_receive(void *arg)
{
	struct crowd_thread *me = arg;
	struct crowd *c = me->crowd;
	struct ri_wc wc;

	while (atomic_load(&c->received) < SENDERS * EACH * MESSAGES) {
		bool idle = true;

		for (guint k = 0; k < EACH; k++) {
			while (fast()->poll_cq(c->b[me->number][k]->urcq, &wc, 1) == 1) {
				g_assert_cmpuint(wc.status, ==, RI_WC_SUCCESS);
				node_post(c->nb, wc.wr_id, &c->to, 0, 32);
				atomic_fetch_add(&c->received, 1);
				idle = false;
			}
		}
		if (idle)
			sched_yield();
	}
	return NULL;
}

static void
test_crowd(gconstpointer adapter)
{
	struct vth *vth RI_AT_END(vth_free) = vth_new(true);
	/* The other threads may keep the thread that posts receives from the processor. */
	struct crowd c = {.na = node_new_patient(vth, adapter, "60000"),
			  .nb = node_new_patient(vth, adapter, "60000")};
	struct crowd_thread thread[2 * SENDERS];

	c.from = chunk_new(c.na, 32, ALL_RW);
	c.to = chunk_new(c.nb, 32, ALL_RW);
	node_share(c.nb, 4); /* fewer than there are queue pairs */
	for (guint i = 0; i < SENDERS * EACH; i++) {
		c.a[i / EACH][i % EACH] = end_new(c.na, NULL);
		c.b[i / EACH][i % EACH] = end_new(c.nb, NULL);
		ends_connect(c.a[i / EACH][i % EACH], c.b[i / EACH][i % EACH]);
	}
	for (guint i = 0; i < 4; i++)
		node_post(c.nb, i, &c.to, 0, 32);
	for (guint i = 0; i < 2 * SENDERS; i++) {
		thread[i] = (struct crowd_thread){.crowd = &c, .number = i / 2};
		g_assert_cmpint(pthread_create(&thread[i].thread, NULL,
					       i % 2 ? crowd_send : crowd_receive, &thread[i]),
				==, 0);
	}
	for (guint i = 0; i < 2 * SENDERS; i++)
		pthread_join(thread[i].thread, NULL);
	for (guint i = 0; i < SENDERS * EACH; i++) {
		end_free(&c.a[i / EACH][i % EACH]);
		node_lost(c.nb, c.b[i / EACH][i % EACH]);
		end_free(&c.b[i / EACH][i % EACH]);
	}
	node_unshare(c.nb);
	chunk_free(&c.from);
	chunk_free(&c.to);
	node_free(&c.na);
	node_free(&c.nb);
}

/* --- members that come and go under it ---------------------------------------------------- */

struct visitor {
	struct crowd *crowd;
	atomic_bool stop;
};

/* Posts and takes until it is told to stop. */
static void *
keep_posting(void *arg)
{
	struct visitor *v = arg;
	struct ri_sge sge = chunk_sge(&v->crowd->to, 0, 32);
	struct ri_recv_wr wr = {.sgl = &sge, .num_sge = 1};

	while (!atomic_load(&v->stop)) {
		(void)!fast()->post_srq(v->crowd->nb->usrq, &wr);
		sched_yield();
	}
	return NULL;
}

/* While one thread posts, queue pairs of the SRQ are created, wait, and are destroyed. */
static void
test_visitors(gconstpointer adapter)
{
	struct vth *vth RI_AT_END(vth_free) = vth_new(true);
	struct crowd c = {.na = node_new(vth, true, adapter), .nb = node_new(vth, true, adapter)};
	struct visitor v = {.crowd = &c};
	pthread_t thread;

	c.from = chunk_new(c.na, 32, ALL_RW);
	c.to = chunk_new(c.nb, 32, ALL_RW);
	node_share(c.nb, 2);
	g_assert_cmpint(pthread_create(&thread, NULL, keep_posting, &v), ==, 0);
	for (guint round = 0; round < 60; round++) {
		struct ri_sge sge = chunk_sge(&c.from, 0, 32);
		struct end *a[2], *b[2];
		struct ri_wc wc;
		for (guint i = 0; i < 2; i++) {
			a[i] = end_new(c.na, NULL);
			b[i] = end_new(c.nb, NULL);
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
		node_forget(c.na);
		node_forget(c.nb);
		/* Receives that were taken and never polled are lost with their queue; post others. */
		if (round % 10 == 9) {
			atomic_store(&v.stop, true);
			pthread_join(thread, NULL);
			node_unshare(c.nb);
			node_share(c.nb, 2);
			atomic_store(&v.stop, false);
			g_assert_cmpint(pthread_create(&thread, NULL, keep_posting, &v), ==, 0);
		}
	}
	atomic_store(&v.stop, true);
	pthread_join(thread, NULL);
	node_unshare(c.nb);
	chunk_free(&c.from);
	chunk_free(&c.to);
	node_free(&c.na);
	node_free(&c.nb);
}

/* More of them, one after the other, than there may be at once. */
static void
test_one_by_one(const void *adapter)
{
	struct party p RI_AT_END(party_close);
	struct ri_map map;

	party_open(&p, adapter, 1, NULL);
	const struct ri_srq_ops *ops = p.nb->p->srq;
	for (uint32_t i = 0; i <= p.nb->attr.max_srq; i++) {
		struct ri_srq_attr attr = {.max_wr = 1, .max_sge = 1};
		struct ri_srq *srq;

		g_assert_cmpint(ops->create(p.nb->pd, &attr, &srq, &map), ==, RI_SUCCESS);
		g_assert_cmpint(ops->destroy(srq), ==, RI_SUCCESS);
	}
}

int
main(int argc, char **argv)
{
	static const char *const adapters[] = {"emul:ib", "emul:iwarp"};
	static const struct {
		const char *name;
		GTestDataFunc test;
	} tests[] = {
		{"verbs", test_verbs},           {"catastrophe", test_catastrophe},
		{"watermarks", test_watermarks}, {"first-goes", test_first_goes},
		{"crowd", test_crowd},           {"visitors", test_visitors},
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
