/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Upcalls: when they may come, on which threads, until when, and what their handlers may call. The recorder of the
 * frame judges each upcall of every case; the cases here cause those that matter, when it matters.
 */

#include <stdatomic.h>
#include <string.h>

#include "verbs_pair.h"

#define SLOW_US 100000 /* a handler that takes its time */

static void
settle(struct cert *cert)
{
	for (unsigned i = 0; i < 500; i++)
		cert_progress(cert);
}

static void
arm(struct cert_end *end, struct ri_ucq *cq)
{
	enum ri_status status = end->node->p->fast->arm_cq(cq, RI_ARM_NEXT, 1);

	CERT_TRUE(end->node->cert, status == RI_SUCCESS || status == RI_ERR_NOT_EMPTY);
}

/* Both queues of both ends are armed, and have work that an end will flush. */
static void
make_ready(struct pair *pair)
{
	struct cert_end *ends[] = {pair->a, pair->b};

	for (unsigned i = 0; i < G_N_ELEMENTS(ends); i++) {
		struct ri_sge *sge = i == 0 ? &pair->source : &pair->sink;

		for (unsigned id = 0; id < 4; id++)
			cert_post_recv(ends[i], id, sge, 1);
		arm(ends[i], ends[i]->uscq);
		arm(ends[i], ends[i]->urcq);
	}
}

static void
connect_ready(struct pair *pair, struct cert *cert)
{
	pair_connected(pair, cert);
	make_ready(pair);
}

/* --- inside verbs -------------------------------------------------------------------------- */

/* Every way to end a connection, with upcalls due on both sides. */
static void
ends_cause_upcalls(struct cert *cert)
{
	static const enum ri_qp_state ways[] = {RI_QPS_ERROR, RI_QPS_CLOSING, RI_QPS_TERMINATE};
	bool iwarp = cert_attr(cert)->transport == RI_TRANSPORT_IWARP;

	for (size_t i = 0; i < G_N_ELEMENTS(ways); i++) {
		struct pair pair;

		if (ways[i] == RI_QPS_TERMINATE && !iwarp)
			continue;
		cert_note(cert, "a move to %s", ri_qp_state_name(ways[i]));
		connect_ready(&pair, cert);
		CERT_UINT(cert, cert_end_move(pair.a, ways[i]), ==, RI_SUCCESS);
		cert_wait_end(pair.a);
		cert_wait_end(pair.b);
		gint64 until = 0;
		while (cert_cq_events(pair.near, pair.a->rcq_ctx) == 0 ||
		       cert_cq_events(pair.far, pair.b->rcq_ctx) == 0)
			CERT_TRUE(cert, cert_patience(cert, &until));
		cert_node_close(pair.near);
		cert_node_close(pair.far);
	}
}

/* Destroying what is at work makes no upcall for it, but the peer is told. */
static void
destroying_causes_upcalls(struct cert *cert)
{
	struct pair pair;

	connect_ready(&pair, cert);
	cert_end_free(pair.a);
	cert_wait_end(pair.b);
	cert_node_close(pair.near);
	cert_node_close(pair.far);
	connect_ready(&pair, cert);
	cert_note(cert, "a whole context");
	cert_node_close(pair.near);
	cert_wait_end(pair.b);
}

static void
objects_cause_none(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct ri_pd *pd = NULL;
	struct cert_region *region;

	for (unsigned i = 0; i < 20; i++) {
		CERT_VERB(cert, RI_SUCCESS, node->p->pd->create(node->context, &pd));
		region = cert_region_new_in(node, pd, 64, CERT_ALL);
		cert_end_free(cert_end_new(node, NULL));
		cert_region_free(region);
		CERT_VERB(cert, RI_SUCCESS, node->p->pd->destroy(pd));
	}
	settle(cert);
	CERT_UINT(cert, cert_async_count(node, RI_EVENT_NONE, 0), ==, 0);
}

/* --- after destroying verbs ---------------------------------------------------------------- */

/* Queues are destroyed while they are armed and messages arrive for them. */
static void
none_after_destroy(struct cert *cert)
{
	for (unsigned round = 0; round < 5; round++) {
		struct pair pair;
		struct ri_wr wr = {.opcode = RI_OP_SEND, .num_sge = 1, .flags = RI_WR_SIGNALED};

		connect_ready(&pair, cert);
		wr.sgl = &pair.source;
		for (unsigned i = 0; i <= round; i++)
			cert_post(pair.a, &wr);
		cert_end_free(pair.b);
		cert_wait_end(pair.a);
		cert_end_free(pair.a);
		settle(cert);
		cert_node_close(pair.near);
		cert_node_close(pair.far);
	}
}

static void
none_after_close(struct cert *cert)
{
	struct pair pair;

	connect_ready(&pair, cert);
	cert_post_send(pair.a, 1, &pair.source, 1, 0);
	cert_node_close(pair.far);
	cert_wait_end(pair.a);
	cert_node_close(pair.near);
	g_usleep(SLOW_US);
	settle(cert);
}

/* --- slow handlers ------------------------------------------------------------------------- */

/* A handler that sleeps. */
struct slow {
	atomic_bool entered, left;
};

/* It is static, so that an upcall that comes too late does no damage. */
static void
slow_begin(struct slow *slow)
{
	atomic_store(&slow->entered, false);
	atomic_store(&slow->left, false);
}

static void
slow_hook(void *arg, uint64_t ctx)
{
	struct slow *slow = arg;

	(void)ctx;
	if (atomic_exchange(&slow->entered, true))
		return;
	g_usleep(SLOW_US);
	atomic_store(&slow->left, true);
}

/* The adapter is closed while a handler runs on the service thread: the case itself only sleeps. */
static void
close_waits(struct cert *cert)
{
	static struct slow slow;
	struct pair pair;
	gint64 until = 0;

	slow_begin(&slow);
	connect_ready(&pair, cert);
	cert_upcalls_hook(pair.near, slow_hook, &slow);
	CERT_UINT(cert, cert_end_move(pair.a, RI_QPS_ERROR), ==, RI_SUCCESS);
	while (!atomic_load(&slow.entered))
		CERT_TRUE(cert, cert_patience_asleep(cert, &until));
	cert_node_close(pair.near);
	CERT_TRUE(cert, atomic_load(&slow.left));
}

/* The handler of the establishment looks for a message that may be delivered when it has returned, and not before. */
struct early {
	struct slow slow;
	struct cert_end *end;
	atomic_uint depth;
};

static void
early_hook(void *arg, uint64_t ctx)
{
	struct early *early = arg;

	atomic_store(&early->depth, early->end->node->p->fast->cq_depth(early->end->urcq));
	slow_hook(&early->slow, ctx);
}

/* The Send is posted before the connection stands, where that is not refused. */
static void
stream_up_first(struct cert *cert)
{
	static struct early early;
	bool refuses = pair_refuses(cert);
	struct pair pair;
	gint64 until = 0;
	uint32_t depth;

	slow_begin(&early.slow);
	atomic_store(&early.depth, 0);
	pair_open(&pair, cert, NULL);
	early.end = pair.b;
	cert_post_recv(pair.b, 1, &pair.sink, 1);
	cert_upcalls_hook(pair.far, early_hook, &early);
	if (!refuses)
		cert_post_send(pair.a, 2, &pair.source, 1, 0);
	cert_connect(pair.a, pair.b);
	if (refuses)
		cert_post_send(pair.a, 2, &pair.source, 1, 0);
	while (!atomic_load(&early.slow.left)) {
		CERT_TRUE(cert, cert_patience(cert, &until));
		depth = pair.far->p->fast->cq_depth(pair.b->urcq);
		if (!atomic_load(&early.slow.left))
			CERT_UINT(cert, depth, ==, 0);
	}
	CERT_UINT(cert, atomic_load(&early.depth), ==, 0);
	cert_wc_is(pair.b, true, 1, RI_WC_SUCCESS);
	cert_wc_is(pair.a, false, 2, RI_WC_SUCCESS);
}

/* --- threads ------------------------------------------------------------------------------- */

/* No thread polls: what happened is told all the same. */
static void
told_without_polling(struct cert *cert)
{
	struct pair pair;
	gint64 until;

	pair_connected(&pair, cert);
	for (unsigned round = 0; round < 10; round++) {
		cert_post_recv(pair.b, round, &pair.sink, 1);
		CERT_FAST(cert, RI_SUCCESS,
			  pair.far->p->fast->arm_cq(pair.b->urcq, RI_ARM_NEXT, 1));
		cert_post_send(pair.a, round, &pair.source, 1, 0);
		until = 0;
		while (cert_cq_events(pair.far, pair.b->rcq_ctx) <= round)
			CERT_TRUE(cert, cert_patience_asleep(cert, &until));
		CERT_UINT(cert, cert_cq_events(pair.far, pair.b->rcq_ctx), ==, round + 1);
		CERT_UINT(cert, pair.far->p->fast->cq_depth(pair.b->urcq), ==, 1);
		cert_wc_is(pair.b, true, round, RI_WC_SUCCESS);
		cert_wc_is(pair.a, false, round, RI_WC_SUCCESS);
	}
}

/* A handler that counts and arms, as the access layer's do. */
struct handler {
	const struct ri_fast_ops *fast;
	struct cert_end *end;
	atomic_uint calls, empty, odd;
};

static void
handler_hook(void *arg, uint64_t ctx)
{
	struct handler *handler = arg;
	struct cert_end *end = handler->end;
	enum ri_status status;

	if (ctx != end->rcq_ctx)
		return;
	atomic_fetch_add(&handler->empty, handler->fast->cq_depth(end->urcq) == 0);
	status = handler->fast->arm_cq(end->urcq, RI_ARM_NEXT, 1);
	atomic_fetch_add(&handler->odd, status != RI_ERR_NOT_EMPTY);
	status = handler->fast->arm_cq(end->uscq, RI_ARM_NEXT, 1);
	atomic_fetch_add(&handler->odd, status != RI_SUCCESS && status != RI_ERR_NOT_EMPTY);
	atomic_fetch_add(&handler->calls, 1); /* last: now the case takes the completion away */
}

static void
handlers_arm(struct cert *cert)
{
	static struct handler handler;
	struct pair pair;

	pair_connected(&pair, cert);
	handler.fast = pair.far->p->fast;
	handler.end = pair.b;
	atomic_store(&handler.calls, 0);
	atomic_store(&handler.empty, 0);
	atomic_store(&handler.odd, 0);
	cert_upcalls_hook(pair.far, handler_hook, &handler);
	for (unsigned round = 0; round < 60; round++) {
		gint64 until = 0;

		cert_post_recv(pair.b, round, &pair.sink, 1);
		CERT_FAST(cert, RI_SUCCESS, handler.fast->arm_cq(pair.b->urcq, RI_ARM_NEXT, 1));
		cert_post_send(pair.a, round, &pair.source, 1, 0);
		/* Every second time the service thread runs the engine, if the provider has one. */
		while (atomic_load(&handler.calls) <= round) {
			CERT_TRUE(cert, round % 2 == 0 ? cert_patience(cert, &until)
						       : cert_patience_asleep(cert, &until));
		}
		cert_wc_is(pair.b, true, round, RI_WC_SUCCESS);
		cert_wc_is(pair.a, false, round, RI_WC_SUCCESS);
	}
	CERT_UINT(cert, atomic_load(&handler.calls), ==, 60);
	CERT_UINT(cert, atomic_load(&handler.empty), ==, 0);
	CERT_UINT(cert, atomic_load(&handler.odd), ==, 0);
}

static const struct cert_case cases[] = {
	{.id = "verbs.upcall.verb.0001",
	 .title = "A move that ends a connection makes no upcall before it returns",
	 .rule = "[RI 2.1.3] [RI 8.2]",
	 .run = ends_cause_upcalls},
	{.id = "verbs.upcall.verb.0002",
	 .title = "Destroying what is at work makes no upcall before it returns",
	 .rule = "[RI 2.1.3] [RI 2.1.4]",
	 .run = destroying_causes_upcalls},
	{.id = "verbs.upcall.verb.0003",
	 .title = "Objects that are created and destroyed make no upcall at all",
	 .rule = "[RI 2.1.3] [RI 8.6]",
	 .run = objects_cause_none},
	{.id = "verbs.upcall.gone.0001",
	 .title = "No upcall names a queue that was destroyed while it was armed and in use",
	 .rule = "[RI 2.1.4] [RI 8.6]",
	 .run = none_after_destroy},
	{.id = "verbs.upcall.gone.0002",
	 .title = "No upcall comes after the close of an adapter that was at work",
	 .rule = "[RI 8.6]",
	 .run = none_after_close},
	{.id = "verbs.upcall.gone.0003",
	 .title = "The close of an adapter waits for an upcall that is under way",
	 .rule = "[RI 8.6]",
	 .run = close_waits},
	{.id = "verbs.upcall.thread.0001",
	 .title = "An event is told though no thread polls, on the service thread of the host",
	 .rule = "[RI 2.1.3] [RI 7.1]",
	 .run = told_without_polling},
	{.id = "verbs.upcall.thread.0002",
	 .title = "An upcall handler can count and arm any queue",
	 .rule = "[RI 2.3.4] [RI 7.2]",
	 .run = handlers_arm},
	{.id = "verbs.upcall.order.0001",
	 .title = "Nothing is delivered before the upcall of the establishment has returned",
	 .rule = "[RI 8.3]",
	 .needs = "cm_forms:RI_CM_STREAM",
	 .run = stream_up_first},
};

CERT_SET(verbs_upcalls, cases);
