/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Queues that are full: completion queues at their size and beyond, work queues at the limits of the profile. */

#include "verbs_pair.h"

#define POSTS_MAX 70000u /* a limit up to which a case fills a queue */
#define MEMBERS   2u     /* queue pairs that share the completion queue */

/* Queue pairs of the far side that share one completion queue for receives, each connected to one of the near side. */
struct crowd {
	struct cert *cert;
	struct cert_node *near, *far;
	struct cert_end *a[MEMBERS];
	struct cert_end b[MEMBERS]; /* the frame knows nothing of them */
	struct cert_region *from, *into;
	struct ri_cq *cq;
	struct ri_ucq *ucq;
	uint64_t cq_ctx;
	uint32_t entries; /* of the shared queue, as reported */
};

static void
queue_create(struct crowd *crowd, uint32_t wanted)
{
	const struct ri_provider *p = crowd->far->p;
	struct ri_map map;

	crowd->entries = wanted;
	crowd->cq_ctx = cert_ctx_new(crowd->far, RI_OBJECT_CQ);
	CERT_VERB(crowd->cert, RI_SUCCESS,
		  p->cq->create(crowd->far->context, crowd->cq_ctx, &crowd->entries, &crowd->cq,
				&map));
	CERT_VERB(crowd->cert, RI_SUCCESS, p->user->cq_open(crowd->far->urnic, &map, &crowd->ucq));
}

/* Its requests complete elsewhere: in the queue of an end that is used for nothing else. */
static void
member_create(struct crowd *crowd, struct cert_end *end, struct cert_end *other)
{
	const struct ri_provider *p = crowd->far->p;
	struct ri_map map;

	*end = (struct cert_end){.node = crowd->far, .init = cert_end_defaults(crowd->far)};
	end->init.max_rq_wr = MIN(crowd->entries + 1, crowd->far->attr.max_rq_wr);
	end->ctx = end->init.ctx = cert_ctx_new(crowd->far, RI_OBJECT_QP);
	end->rcq = crowd->cq;
	end->urcq = crowd->ucq;
	end->rcq_ctx = crowd->cq_ctx;
	end->scq = other->scq;
	end->uscq = other->uscq;
	CERT_VERB(crowd->cert, RI_SUCCESS,
		  p->qp->create(crowd->far->pd, &end->init, end->scq, end->rcq, NULL, &end->qp,
				&map));
	CERT_VERB(crowd->cert, RI_SUCCESS,
		  p->user->qp_open(crowd->far->urnic, &map, end->uscq, end->urcq, NULL, &end->uqp));
}

static void
crowd_open(struct crowd *crowd, struct cert *cert, uint32_t wanted)
{
	struct cert_end *other;

	crowd->cert = cert;
	crowd->near = cert_node_open(cert);
	crowd->far = cert_node_open(cert);
	crowd->from = cert_region_new(crowd->near, VERBS_MEMORY, CERT_ALL);
	crowd->into = cert_region_new(crowd->far, VERBS_MEMORY, CERT_ALL);
	queue_create(crowd, wanted);
	other = cert_end_new(crowd->far, NULL);
	for (unsigned i = 0; i < MEMBERS; i++) {
		crowd->a[i] = cert_end_new(crowd->near, NULL);
		member_create(crowd, &crowd->b[i], other);
		cert_connect(crowd->a[i], &crowd->b[i]);
	}
}

static void
crowd_close(struct crowd *crowd)
{
	const struct ri_provider *p = crowd->far->p;

	for (unsigned i = 0; i < MEMBERS; i++) {
		CERT_VERB_VOID(crowd->cert, p->user->qp_close(crowd->b[i].uqp));
		CERT_VERB(crowd->cert, RI_SUCCESS, p->qp->destroy(crowd->b[i].qp));
		cert_ctx_gone(crowd->far, crowd->b[i].ctx);
	}
	CERT_VERB_VOID(crowd->cert, p->user->cq_close(crowd->ucq));
	CERT_VERB(crowd->cert, RI_SUCCESS, p->cq->destroy(crowd->cq));
	cert_ctx_gone(crowd->far, crowd->cq_ctx);
}

/* A receive holds its slot until its completion is polled. False, and the case is skipped: there are too few slots. */
static bool
can_be_filled(struct crowd *crowd)
{
	if (crowd->b[0].init.max_rq_wr >= crowd->entries / MEMBERS + 2)
		return true;
	cert_skip(crowd->cert, "no receive queues can fill a queue of %u completions",
		  crowd->entries);
	crowd_close(crowd);
	return false;
}

/* A receive of one member and a message for it; its sender is told. */
static void
message(struct crowd *crowd, unsigned member, uint64_t id)
{
	struct ri_sge source = cert_sge(crowd->from, 0, 16), sink = cert_sge(crowd->into, 0, 16);

	cert_post_recv(&crowd->b[member], id, &sink, 1);
	cert_post_send(crowd->a[member], id, &source, 1, 0);
	cert_wc_is(crowd->a[member], false, id, RI_WC_SUCCESS);
}

static void
fill(struct crowd *crowd)
{
	gint64 until = 0;

	for (uint32_t i = 0; i < crowd->entries; i++)
		message(crowd, i % MEMBERS, i);
	while (crowd->far->p->fast->cq_depth(crowd->ucq) < crowd->entries)
		CERT_TRUE(crowd->cert, cert_patience(crowd->cert, &until));
}

/* The completions that are present; those of one queue pair are in their order. */
static void
take_all(struct crowd *crowd)
{
	uint64_t next[MEMBERS];

	for (unsigned i = 0; i < MEMBERS; i++)
		next[i] = i;
	for (uint32_t i = 0; i < crowd->entries; i++) {
		struct ri_wc wc;

		CERT_UINT(crowd->cert, crowd->far->p->fast->poll_cq(crowd->ucq, &wc, 1), ==, 1);
		unsigned member = (unsigned)(wc.wr_id % MEMBERS);

		CERT_UINT(crowd->cert, wc.wr_id, ==, next[member]);
		CERT_UINT(crowd->cert, wc.qp_ctx, ==, crowd->b[member].ctx);
		CERT_UINT(crowd->cert, wc.status, ==, RI_WC_SUCCESS);
		next[member] += MEMBERS;
	}
}

static void
undisturbed(struct crowd *crowd, unsigned member)
{
	struct cert_end *end = &crowd->b[member];

	CERT_UINT(crowd->cert, cert_end_attr(end).state, ==, RI_QPS_RTS);
	CERT_UINT(crowd->cert, cert_async_ends(crowd->far, end->ctx), ==, 0);
}

/* As many completions as it reports fit, again and again. */
static void
exactly_full(struct cert *cert)
{
	struct crowd crowd RI_AT_END(crowd_close);

	crowd_open(&crowd, cert, 5);
	cert_note(cert, "%u entries", crowd.entries);
	if (!can_be_filled(&crowd))
		return;
	for (unsigned round = 0; round < 3; round++) {
		fill(&crowd);
		for (unsigned i = 0; i < 100; i++)
			cert_progress(cert);
		CERT_UINT(cert, crowd.far->p->fast->cq_depth(crowd.ucq), ==, crowd.entries);
		for (unsigned i = 0; i < MEMBERS; i++)
			undisturbed(&crowd, i);
		take_all(&crowd);
	}
}

/* Waits for the end of that member for an overflow; no other has ended. */
static void
overflowed(struct crowd *crowd, unsigned member)
{
	(void)cert_async(crowd->far, RI_EVENT_QP_CQ_RQ_ERROR, crowd->b[member].ctx);
	/* By address that event may come before the end, and completions between them. */
	if ((crowd->far->attr.cm_forms & RI_CM_ADDRESS) != 0)
		cert_wait_end(&crowd->b[member]);
	cert_wait_end(crowd->a[member]);
	for (unsigned i = 0; i < MEMBERS; i++) {
		if (i != member)
			undisturbed(crowd, i);
	}
}

/* One completion too many ends the queue pair that caused it; what was there stays, and the other one goes on. */
static void
one_too_many(struct cert *cert)
{
	struct crowd crowd RI_AT_END(crowd_close);
	struct ri_sge source, sink;
	struct ri_wc wc;

	crowd_open(&crowd, cert, 5);
	if (!can_be_filled(&crowd))
		return;
	source = cert_sge(crowd.from, 0, 16);
	sink = cert_sge(crowd.into, 0, 16);
	fill(&crowd);
	cert_post_recv(&crowd.b[1], 1000, &sink, 1);
	cert_post_send(crowd.a[1], 1000, &source, 1, 0);
	overflowed(&crowd, 1);
	take_all(&crowd);
	cert_note(cert, "the other queue pair");
	while (crowd.far->p->fast->poll_cq(crowd.ucq, &wc, 1) > 0)
		CERT_UINT(cert, wc.qp_ctx, ==, crowd.b[1].ctx);
	message(&crowd, 0, 7);
	wc = cert_wc(&crowd.b[0], true);
	CERT_UINT(cert, wc.wr_id, ==, 7);
	CERT_UINT(cert, wc.status, ==, RI_WC_SUCCESS);
	undisturbed(&crowd, 0);
}

/* The same on the side of requests. */
static void
one_request_too_many(struct cert *cert)
{
	struct crowd crowd RI_AT_END(crowd_close);
	struct ri_qp_init init;
	struct ri_sge source;
	struct ri_sge sink;
	struct ri_wr wr = {.opcode = RI_OP_RDMA_WRITE, .num_sge = 1, .flags = RI_WR_SIGNALED};
	uint32_t count;

	crowd_open(&crowd, cert, 5);
	count = crowd.entries + 1;
	if (count > crowd.far->attr.max_sq_wr) {
		cert_skip(cert, "no send queue can fill a queue of %u completions", crowd.entries);
		return;
	}
	source = cert_sge(crowd.from, 0, 16);
	sink = cert_sge(crowd.into, 0, 16);
	init = cert_end_defaults(crowd.far);
	init.max_sq_wr = MIN(count + 1, crowd.far->attr.max_sq_wr);
	struct cert_end *peer = cert_end_new(crowd.near, NULL);
	struct cert_end end = {.node = crowd.far, .init = init};
	struct ri_map map;
	const struct ri_provider *p = crowd.far->p;

	end.ctx = end.init.ctx = cert_ctx_new(crowd.far, RI_OBJECT_QP);
	end.scq = end.rcq = crowd.cq;
	end.uscq = end.urcq = crowd.ucq;
	CERT_VERB(cert, RI_SUCCESS,
		  p->qp->create(crowd.far->pd, &end.init, end.scq, end.rcq, NULL, &end.qp, &map));
	CERT_VERB(cert, RI_SUCCESS,
		  p->user->qp_open(crowd.far->urnic, &map, end.uscq, end.urcq, NULL, &end.uqp));
	cert_connect(&end, peer);
	wr.sgl = &sink;
	wr.u.remote.addr = source.addr;
	wr.u.remote.stag = source.stag;
	for (uint32_t i = 0; i < count; i++) {
		wr.wr_id = i;
		cert_post(&end, &wr);
	}
	(void)cert_async(crowd.far, RI_EVENT_QP_CQ_SQ_ERROR, end.ctx);
	undisturbed(&crowd, 0);
	undisturbed(&crowd, 1);
	for (uint32_t i = 0; i < crowd.entries; i++)
		cert_wc_is(&end, false, i, RI_WC_SUCCESS);
	CERT_VERB_VOID(cert, p->user->qp_close(end.uqp));
	CERT_VERB(cert, RI_SUCCESS, p->qp->destroy(end.qp));
	cert_ctx_gone(crowd.far, end.ctx);
}

/* --- work queues at the limits of the profile --------------------------------------------------- */

/* Exactly as many as reported, and all of them are flushed. */
static void
deepest_send_queue(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct ri_qp_init init = cert_end_defaults(node);
	struct ri_wr wr = {.opcode = RI_OP_SEND, .flags = RI_WR_SIGNALED};
	struct cert_end *end;
	uint32_t count;

	init.max_sq_wr = MIN(node->attr.max_sq_wr, node->attr.max_cqe / 2);
	if (init.max_sq_wr > POSTS_MAX) {
		cert_skip(cert, "a queue of %u is out of reach", init.max_sq_wr);
		return;
	}
	end = cert_end_new(node, &init);
	count = end->init.max_sq_wr;
	cert_note(cert, "%u slots", count);
	for (uint32_t i = 0; i < count; i++) {
		wr.wr_id = i;
		cert_post(end, &wr);
	}
	CERT_FAST(cert, RI_ERR_QUEUE_FULL, node->p->fast->post_sq(end->uqp, &wr));
	CERT_UINT(cert, cert_end_move(end, RI_QPS_ERROR), ==, RI_SUCCESS);
	for (uint32_t i = 0; i < count; i++)
		cert_wc_is(end, false, i, RI_WC_FLUSHED);
	cert_wc_none(end, false);
}

static void
deepest_receive_queue(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct ri_qp_init init = cert_end_defaults(node);
	struct ri_recv_wr wr = {.wr_id = 0};
	struct cert_end *end;
	uint32_t count;

	init.max_rq_wr = MIN(node->attr.max_rq_wr, node->attr.max_cqe / 2);
	if (init.max_rq_wr > POSTS_MAX) {
		cert_skip(cert, "a queue of %u is out of reach", init.max_rq_wr);
		return;
	}
	end = cert_end_new(node, &init);
	count = end->init.max_rq_wr;
	cert_note(cert, "%u slots", count);
	for (uint32_t i = 0; i < count; i++)
		cert_post_recv(end, i, NULL, 0);
	CERT_FAST(cert, RI_ERR_QUEUE_FULL, node->p->fast->post_rq(end->uqp, &wr));
	CERT_UINT(cert, cert_end_move(end, RI_QPS_ERROR), ==, RI_SUCCESS);
	for (uint32_t i = 0; i < count; i++)
		cert_wc_is(end, true, i, RI_WC_FLUSHED);
	cert_wc_none(end, true);
}

static const struct cert_case cases[] = {
	{.id = "verbs.full.cq.0001",
	 .title = "A completion queue holds as many completions as it reports",
	 .rule = "[RI 2.2.2] [RI 3.2.7]",
	 .run = exactly_full},
	{.id = "verbs.full.cq.0002",
	 .title = "A receive whose completion finds the queue full ends its queue pair alone",
	 .rule = "[RI 10.37] [RI 8.2]",
	 .needs = "cq_overflow_detect",
	 .settles = "cq_overflow_detect",
	 .run = one_too_many},
	{.id = "verbs.full.cq.0003",
	 .title = "A request whose completion finds the queue full ends its queue pair alone",
	 .rule = "[RI 10.37] [RI 8.2]",
	 .needs = "cq_overflow_detect",
	 .settles = "cq_overflow_detect",
	 .run = one_request_too_many},
	{.id = "verbs.full.wq.0001",
	 .title = "A send queue of max_sq_wr takes as many requests as it reports",
	 .rule = "[RI 3.2.7] [RI 2.2.2]",
	 .needs = "!refuses:RI_REFUSES_UNCONNECTED_REQUESTS",
	 .settles = "max_sq_wr",
	 .run = deepest_send_queue},
	{.id = "verbs.full.wq.0002",
	 .title = "A receive queue of max_rq_wr takes as many receives as it reports",
	 .rule = "[RI 3.2.7] [RI 2.2.2]",
	 .settles = "max_rq_wr",
	 .run = deepest_receive_queue},
};

CERT_SET(verbs_full, cases);
