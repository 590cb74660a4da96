/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * After the destruction of an object: its completions stay in their queue, an object in the same
 * memory inherits nothing, and late responses to a queue pair that has ended change nothing.
 */

#include <string.h>

#include "verbs_shared.h"

/* --- completions of a queue pair that is destroyed ----------------------------------------------- */

#define COUNT 5u

static void
await_depth(struct cert_end *end, bool recv, uint32_t depth)
{
	struct cert *cert = end->node->cert;
	gint64 until = 0;

	while (end->node->p->fast->cq_depth(recv ? end->urcq : end->uscq) < depth)
		CERT_TRUE(cert, cert_patience(cert, &until));
}

/* Messages whose completions nobody polls yet. */
static void
exchange(struct pair *pair, uint64_t first, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		cert_post_recv(pair->b, first + i, &pair->sink, 1);
		cert_post_send(pair->a, first + 100 + i, &pair->source, 1, 0);
	}
}

static void
expect_stayed(struct cert_end *end, bool recv, uint64_t first)
{
	for (unsigned i = 0; i < COUNT; i++) {
		struct ri_wc wc = cert_wc_is(end, recv, first + i, RI_WC_SUCCESS);

		CERT_UINT(end->node->cert, wc.opcode, ==, recv ? RI_OP_RECV : RI_OP_SEND);
		CERT_UINT(end->node->cert, wc.byte_len, ==, 64);
	}
}

/* The queue pairs go before their completions are polled. */
static void
completions_stay(struct cert *cert)
{
	struct pair pair;

	pair_connected(&pair, cert);
	exchange(&pair, 10, COUNT);
	await_depth(pair.b, true, COUNT);
	await_depth(pair.a, false, COUNT);
	cert_end_drop(pair.a);
	cert_wait_end(pair.b);
	cert_end_drop(pair.b);
	CERT_UINT(cert, pair.near->p->fast->cq_depth(pair.a->uscq), ==, COUNT);
	CERT_UINT(cert, pair.far->p->fast->cq_depth(pair.b->urcq), ==, COUNT);
	expect_stayed(pair.a, false, 110);
	expect_stayed(pair.b, true, 10);
	cert_wc_none(pair.a, false);
	cert_wc_none(pair.b, true);
}

/* --- the next queue pair at the same queues ---------------------------------------------------------- */

/* Fills the receive queue of a queue pair, which must take exactly as many receives as it reports. */
static void
fill_receives(struct cert_end *end, const struct ri_sge *sink)
{
	struct ri_recv_wr wr = {.wr_id = 1000, .sgl = sink, .num_sge = 1};

	for (uint32_t i = 0; i < end->init.max_rq_wr; i++)
		cert_post_recv(end, 2000 + i, sink, 1);
	CERT_FAST(end->node->cert, RI_ERR_QUEUE_FULL, end->node->p->fast->post_rq(end->uqp, &wr));
}

/*
 * Completions of a destroyed queue pair are polled while another one, perhaps in the same memory,
 * uses the completion queue. They must carry the context of the first, and must not free a slot of
 * the second.
 */
static void
no_slot_for_the_next(struct cert *cert)
{
	struct cert_node *near = cert_node_open(cert), *far = cert_node_open(cert);
	struct cert_region *from = cert_region_new(near, 64, CERT_ALL);
	struct cert_region *into = cert_region_new(far, 64, CERT_ALL);
	struct ri_sge source = cert_sge(from, 0, 64), sink = cert_sge(into, 0, 64);
	struct cert_end *host = cert_end_new(far, NULL), *a;
	struct cert_end first, second;

	for (unsigned round = 0; round < 4; round++) {
		uint32_t left = round + 1;

		a = cert_end_new(near, NULL);
		shared_guest(&first, host);
		cert_connect(a, &first);
		for (uint32_t i = 0; i < left; i++) {
			cert_post_recv(&first, i, &sink, 1);
			cert_post_send(a, i, &source, 1, 0);
		}
		await_depth(&first, true, left);
		cert_end_drop(&first);
		shared_guest(&second, host);
		fill_receives(&second, &sink);
		for (uint32_t i = 0; i < left; i++) {
			struct ri_recv_wr wr = {.wr_id = 1000, .sgl = &sink, .num_sge = 1};

			cert_wc_is(&first, true, i, RI_WC_SUCCESS);
			CERT_FAST(cert, RI_ERR_QUEUE_FULL, far->p->fast->post_rq(second.uqp, &wr));
		}
		cert_end_drop(&second);
		cert_wait_end(a);
		cert_end_free(a);
		CERT_UINT(cert, far->p->fast->cq_depth(host->urcq), ==, 0);
	}
}

/* Two queue pairs fill one queue in turns, and one of them goes: all completions stay in their order. */
static void
shared_queue_stays(struct cert *cert)
{
	struct cert_node *near = cert_node_open(cert), *far = cert_node_open(cert);
	struct cert_region *from = cert_region_new(near, 64, CERT_ALL);
	struct cert_region *into = cert_region_new(far, 64, CERT_ALL);
	struct ri_sge source = cert_sge(from, 0, 64), sink = cert_sge(into, 0, 64);
	struct cert_end *host = cert_end_new(far, NULL), *a[2];
	struct cert_end guests[2];

	for (unsigned round = 0; round < 9; round++) {
		uint64_t next = 0;

		for (unsigned i = 0; i < 2; i++) {
			a[i] = cert_end_new(near, NULL);
			shared_guest(&guests[i], host);
			cert_connect(a[i], &guests[i]);
		}
		for (; next < 7; next++) {
			cert_post_recv(&guests[next % 2], next, &sink, 1);
			cert_post_send(a[next % 2], next, &source, 1, 0);
			await_depth(&guests[0], true, (uint32_t)next + 1);
		}
		cert_end_drop(&guests[round % 2]);
		CERT_UINT(cert, far->p->fast->cq_depth(host->urcq), ==, next);
		for (uint64_t i = 0; i < next; i++)
			cert_wc_is(&guests[i % 2], true, i, RI_WC_SUCCESS);
		cert_note(cert, "the queue pair that is left goes on");
		cert_post_recv(&guests[1 - round % 2], 50, &sink, 1);
		cert_post_send(a[1 - round % 2], 50, &source, 1, 0);
		cert_wc_is(&guests[1 - round % 2], true, 50, RI_WC_SUCCESS);
		cert_end_drop(&guests[1 - round % 2]);
		for (unsigned i = 0; i < 2; i++) {
			cert_wait_end(a[i]);
			cert_end_free(a[i]);
		}
		CERT_UINT(cert, far->p->fast->cq_depth(host->urcq), ==, 0);
		cert_events_forget(near);
		cert_events_forget(far);
	}
}

/* --- a new queue has nothing of an old one ------------------------------------------------------------- */

/* Armed queues with completions go; the next ones are empty and not armed. */
static void
new_completion_queue(struct cert *cert)
{
	struct cert_node *near = cert_node_open(cert), *far = cert_node_open(cert);
	struct cert_region *from = cert_region_new(near, 64, CERT_ALL);
	struct cert_region *into = cert_region_new(far, 64, CERT_ALL);
	struct pair pair = {.cert = cert, .near = near, .far = far};

	pair.source = cert_sge(from, 0, 64);
	pair.sink = cert_sge(into, 0, 64);
	for (unsigned round = 0; round < 20; round++) {
		const struct ri_fast_ops *fast = near->p->fast;
		struct ri_wc wc;

		pair.a = cert_end_new(near, NULL);
		pair.b = cert_end_new(far, NULL);
		CERT_UINT(cert, fast->cq_depth(pair.a->uscq), ==, 0);
		CERT_UINT(cert, fast->cq_depth(pair.b->urcq), ==, 0);
		CERT_UINT(cert, fast->poll_cq(pair.a->uscq, &wc, 1), ==, 0);
		CERT_UINT(cert, fast->poll_cq(pair.b->urcq, &wc, 1), ==, 0);
		cert_connect(pair.a, pair.b);
		exchange(&pair, 0, round % COUNT + 1);
		await_depth(pair.b, true, round % COUNT + 1);
		CERT_UINT(cert, cert_cq_events(far, pair.b->rcq_ctx), ==, 0);
		for (unsigned i = 0; i <= round % COUNT; i++)
			cert_wc_is(pair.b, true, i, RI_WC_SUCCESS);
		CERT_FAST(cert, RI_SUCCESS, fast->arm_cq(pair.b->urcq, RI_ARM_NEXT, 1));
		cert_end_drop(pair.a);
		cert_wait_end(pair.b);
		cert_end_free(pair.a);
		cert_end_free(pair.b); /* armed; and the requests of a were never polled */
		cert_events_forget(near);
		cert_events_forget(far);
	}
}

/* A shared queue with receives goes; the next one has none, and takes as many as it reports. */
static void
new_shared_queue(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct cert_region *old = cert_region_new(node, 64, CERT_ALL);
	struct cert_region *into = cert_region_new(node, 64, CERT_ALL);
	struct ri_sge gone = cert_sge(old, 0, 64), sink = cert_sge(into, 0, 64);
	struct ri_qp_init init = cert_end_defaults(node);

	for (unsigned round = 0; round < 20; round++) {
		struct ri_recv_wr wr = {.wr_id = 1, .sgl = &gone, .num_sge = 1};
		struct cert_end *peer = cert_end_new(node, NULL);
		struct ri_srq_attr attr = {0};
		struct shared shared;

		shared_new(&shared, node, &init, MIN(7, node->attr.max_srq_wr));
		CERT_VERB(cert, RI_SUCCESS, node->p->srq->query(shared.srq, &attr));
		CERT_UINT(cert, attr.available, ==, 0);
		CERT_UINT(cert, attr.limit, ==, 0);
		cert_connect(peer, &shared.end);
		wr.wr_id = 5;
		wr.sgl = &sink;
		CERT_FAST(cert, RI_SUCCESS, node->p->fast->post_srq(shared.usrq, &wr));
		cert_post_send(peer, 6, &gone, 1, 0);
		cert_wc_is(&shared.end, true, 5, RI_WC_SUCCESS);
		cert_wc_is(peer, false, 6, RI_WC_SUCCESS);
		cert_note(cert, "it takes exactly as many receives as it reports");
		wr.sgl = &gone;
		for (uint32_t i = 0; i < shared.attr.max_wr; i++)
			CERT_FAST(cert, RI_SUCCESS, node->p->fast->post_srq(shared.usrq, &wr));
		CERT_FAST(cert, RI_ERR_QUEUE_FULL, node->p->fast->post_srq(shared.usrq, &wr));
		shared_free(&shared);
		cert_wait_end(peer);
		cert_end_free(peer);
		cert_events_forget(node);
	}
}

/* --- answers ------------------------------------------------------------------------------------- */

#define PIECES 8u
#define PIECE  8209u

struct answers {
	struct cert *cert;
	struct cert_node *near, *far;
	struct cert_region *old,
		*into; /* of near: sinks of the queue pair that ends, and of the next */
	struct cert_region *there, *other; /* of far */
	uint8_t seen[PIECES * PIECE];
};

static void
read_pieces(struct cert_end *end, const struct cert_region *from, const struct cert_region *into)
{
	for (unsigned i = 0; i < PIECES; i++) {
		struct ri_sge sink = cert_sge(into, (size_t)i * PIECE, PIECE);
		struct ri_sge source = cert_sge(from, (size_t)i * PIECE, PIECE);

		cert_post_rdma(end, RI_OP_RDMA_READ, i, &sink, &source);
	}
}

/* Each Read succeeds or is flushed, once and in order. */
static void
take_ends(struct cert_end *end)
{
	bool flushed = false;

	for (unsigned i = 0; i < PIECES; i++) {
		struct ri_wc wc = cert_wc(end, false);

		CERT_UINT(end->node->cert, wc.wr_id, ==, i);
		if (wc.status != RI_WC_SUCCESS)
			CERT_UINT(end->node->cert, wc.status, ==, RI_WC_FLUSHED);
		CERT_TRUE(end->node->cert, !flushed || wc.status == RI_WC_FLUSHED);
		flushed = wc.status == RI_WC_FLUSHED;
	}
}

/*
 * Reads are in progress when their queue pair ends or is destroyed. Their responses may arrive
 * later, when the next queue pair has the same number of Reads outstanding, into other memory. It
 * must get only its own data, and the old sinks must stay unchanged.
 */
static void
late_answers(struct cert *cert)
{
	struct answers *answers = g_new0(struct answers, 1);
	size_t size = sizeof(answers->seen);

	answers->cert = cert;
	answers->near = cert_node_open(cert);
	answers->far = cert_node_open(cert);
	answers->old = cert_region_new(answers->near, size, CERT_ALL);
	answers->into = cert_region_new(answers->near, size, CERT_ALL);
	answers->there = cert_region_new(answers->far, size, CERT_ALL);
	answers->other = cert_region_new(answers->far, size, CERT_ALL);
	cert_fill(answers->there->at, size, 1);
	cert_fill(answers->other->at, size, 2);
	for (unsigned round = 0; round < 24; round++) {
		struct cert_end *a = cert_end_new(answers->near, NULL);
		struct cert_end *b = cert_end_new(answers->far, NULL);

		memset(answers->old->at, 0, size);
		memset(answers->into->at, 0, size);
		cert_connect(a, b);
		read_pieces(a, answers->there, answers->old);
		for (unsigned i = 0; i < round / 6; i++)
			cert_progress(cert);
		if (round % 2 == 0) {
			CERT_UINT(cert, cert_end_move(a, RI_QPS_ERROR), ==, RI_SUCCESS);
			take_ends(a);
		} else {
			cert_end_drop(a);
		}
		memcpy(answers->seen, answers->old->at, size);
		cert_end_free(a);
		cert_wait_end(b);
		cert_end_free(b);
		a = cert_end_new(answers->near, NULL);
		b = cert_end_new(answers->far, NULL);
		cert_connect(a, b);
		read_pieces(a, answers->other, answers->into);
		for (unsigned i = 0; i < PIECES; i++)
			cert_wc_is(a, false, i, RI_WC_SUCCESS);
		cert_expect_fill(cert, "what the next queue pair has read", answers->into->at, size,
				 2);
		CERT_BYTES(cert, answers->old->at, answers->seen, size);
		CERT_UINT(cert, answers->near->p->fast->cq_depth(a->uscq), ==, 0);
		cert_end_free(a);
		cert_wait_end(b);
		cert_end_free(b);
		cert_events_forget(answers->near);
		cert_events_forget(answers->far);
	}
	g_free(answers);
}

static const struct cert_case cases[] = {
	{.id = "verbs.gone.completion.0001",
	 .title = "Completions stay in their queue when the queue pair is destroyed",
	 .rule = "[RI 2.1.4] [RI 11.2.1]",
	 .run = completions_stay},
	{.id = "verbs.gone.completion.0002",
	 .title = "Completions of a queue pair that is gone free no slot of the next one",
	 .rule = "[RI 3.2.7]",
	 .run = no_slot_for_the_next},
	{.id = "verbs.gone.completion.0003",
	 .title = "A completion queue keeps its order when one of its queue pairs is destroyed",
	 .rule = "[RI 2.1.4] [RI 3.2.1]",
	 .run = shared_queue_stays},
	{.id = "verbs.gone.queue.0001",
	 .title = "A new completion queue has no completion and no arming of an old one",
	 .rule = "[RI 7.1] [RI 2.1.4]",
	 .run = new_completion_queue},
	{.id = "verbs.gone.queue.0002",
	 .title = "A new shared receive queue has no receive of an old one",
	 .rule = "[RI 6.6] [RI 6.3]",
	 .needs = "srq",
	 .settles = "srq",
	 .run = new_shared_queue},
	{.id = "verbs.gone.answer.0001",
	 .title = "Answers to a queue pair that is gone reach neither its memory nor the next one",
	 .rule = "[RI 2.1.4] [RI 3.2.6]",
	 .needs = "max_ird max_ord",
	 .run = late_answers},
};

CERT_SET(verbs_gone, cases);
