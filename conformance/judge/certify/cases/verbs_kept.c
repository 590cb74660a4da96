/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * State that an object must forget after a use, and state that it must keep: attributes across a
 * reset, slots of receives and of windows, counts of completions that outlive their queue pair.
 * Also checks that another check usually hides: the length of an atomic's result, the protection
 * domain of a key that a peer invalidates, the opcode of a flushed request.
 */

#include <string.h>

#include "verbs_reset.h"
#include "verbs_shared.h"
#include "verbs_window.h"

/* --- attributes across a reset ------------------------------------------------------------------- */

/* Both ends back to IDLE, with their events taken. */
static void
both_idle(struct pair *pair)
{
	cert_wait_end(pair->a);
	cert_wait_end(pair->b);
	reset_events(pair->a);
	reset_events(pair->b);
	reset_end(pair->a);
	reset_end(pair->b);
}

/* Completions of requests that the end has cut off, of any status. */
static void
drop_completions(struct cert_end *end)
{
	struct ri_wc wc;

	cert_wait_quiescent(end);
	while (end->node->p->fast->poll_cq(end->uscq, &wc, 1) > 0)
		continue;
}

/* IRD, ORD and rights as they were last set, whatever a connection negotiated; and no Terminate of a connection before. */
static void
attributes(struct cert *cert)
{
	struct pair pair;
	struct ri_qp_attr wanted, seen;
	struct ri_qp_init low;
	struct ri_sge nowhere;

	pair_open(&pair, cert, NULL);
	low = cert_end_defaults(pair.far);
	low.ird = low.ord = MIN(1, low.ird);
	pair.b = cert_end_new(pair.far, &low);
	wanted = cert_end_attr(pair.a);
	wanted.ird = MIN(3, cert_attr(cert)->max_ird);
	wanted.ord = MIN(3, cert_attr(cert)->max_ord);
	if (cert_attr(cert)->ird_modifiable)
		CERT_VERB(cert, RI_SUCCESS,
			  pair.near->p->qp->modify(pair.a->qp, &wanted,
						   RI_QP_ATTR_IRD | RI_QP_ATTR_ORD));
	wanted = cert_end_attr(pair.a);
	for (unsigned life = 0; life < 3; life++) {
		cert_note(cert, "life %u", life);
		cert_connect(pair.a, pair.b);
		if (life == 0) {
			nowhere = (struct ri_sge){.addr = 4096, .length = 8, .stag = 0x12345600};
			cert_post_rdma(pair.a, RI_OP_RDMA_WRITE, 1, &pair.source, &nowhere);
		} else {
			cert_disconnect(pair.a, pair.b);
			seen = cert_end_attr(pair.a);
			CERT_UINT(cert, seen.terminate_len, ==, 0);
			seen = cert_end_attr(pair.b);
			CERT_UINT(cert, seen.terminate_len, ==, 0);
		}
		cert_wait_end(pair.a);
		cert_wait_end(pair.b);
		if (life == 0)
			drop_completions(pair.a);
		both_idle(&pair);
		seen = cert_end_attr(pair.a);
		CERT_UINT(cert, seen.ird, ==, wanted.ird);
		CERT_UINT(cert, seen.ord, ==, wanted.ord);
		CERT_UINT(cert, seen.access, ==, wanted.access);
	}
}

/* --- slots --------------------------------------------------------------------------------------- */

/* Requests without a completion of their own leave no slot used when the queue pair begins another life. */
static void
slots_after_reset(struct cert *cert)
{
	struct pair pair;
	uint32_t slots;

	pair_open(&pair, cert, NULL);
	slots = pair.a->init.max_sq_wr;
	for (unsigned life = 0; life < 3; life++) {
		cert_note(cert, "life %u", life);
		cert_connect(pair.a, pair.b);
		for (uint32_t i = 0; i < slots; i++) {
			struct ri_wr wr = {.wr_id = i, .opcode = RI_OP_RDMA_WRITE};

			CERT_FAST(cert, RI_SUCCESS, pair.near->p->fast->post_sq(pair.a->uqp, &wr));
		}
		cert_disconnect(pair.a, pair.b);
		cert_wait_end(pair.a);
		cert_wait_end(pair.b);
		drop_completions(pair.a);
		both_idle(&pair);
	}
}

/* A receive of one segment in a slot that had one of two: what is too long for it is not scattered to the second one. */
static void
receive_segments(struct cert *cert)
{
	struct pair pair;
	struct ri_sge two[2], one, source;
	uint32_t slots;

	pair_connected(&pair, cert);
	if (pair.b->init.max_recv_sge < 2) {
		cert_not_claimed(cert, "receives have one segment");
		return;
	}
	slots = pair.b->init.max_rq_wr;
	two[0] = cert_sge(pair.into, 0, 16);
	two[1] = cert_sge(pair.into, 1024, 16);
	one = cert_sge(pair.into, 0, 16);
	source = cert_sge(pair.from, 0, 32);
	for (uint32_t i = 0; i < slots; i++) {
		cert_post_recv(pair.b, i, two, 2);
		cert_post_send(pair.a, i, &source, 1, 0);
		cert_wc_is(pair.b, true, i, RI_WC_SUCCESS);
		cert_wc_is(pair.a, false, i, RI_WC_SUCCESS);
	}
	cert_fill(pair.into->at, VERBS_MEMORY, 5);
	cert_post_recv(pair.b, 100, &one, 1);
	cert_post_send(pair.a, 100, &source, 1, 0);
	cert_wc_is(pair.b, true, 100, RI_WC_LOCAL_LENGTH);
	cert_wait_end(pair.a);
	cert_wait_end(pair.b);
	/* Of its own segment the adapter may have written a part. */
	memset(pair.into->at, 0, 16);
	CERT_TRUE(cert, pair.into->at[1024] != pair.from->at[16] ||
				memcmp(pair.into->at + 1024, pair.from->at + 16, 16) != 0);
}

/* Windows that died with the connection of their queue pair or were bound at its end: new ones in their slots can be bound. */
static void
window_slots(struct cert *cert)
{
	for (unsigned life = 0; life < 3; life++) {
		struct mw_scene scene;
		struct ri_mr_attr attr;

		cert_note(cert, "life %u", life);
		mw_scene_open(&scene, cert, RI_MW_NARROW);
		mw_bind(&scene, 0, 64, MW_RIGHTS);
		CERT_UINT(cert, cert_end_move(scene.pair.b, RI_QPS_ERROR), ==, RI_SUCCESS);
		both_idle(&scene.pair);
		attr = mw_attr(&scene);
		cert_connect(scene.pair.a, scene.pair.b);
		if (!attr.valid) {
			cert_note(cert, "the key of a window that went with the connection");
			mw_write(&scene, 0, false);
		} else {
			CERT_UINT(cert, cert_end_move(scene.pair.b, RI_QPS_ERROR), ==, RI_SUCCESS);
			cert_wait_end(scene.pair.a);
			cert_wait_end(scene.pair.b);
		}
		mw_scene_end(&scene);
		drop_completions(scene.pair.a);
		both_idle(&scene.pair);
		cert_connect(scene.pair.a, scene.pair.b);
		for (unsigned i = 0; i < 2; i++) {
			CERT_VERB(cert, RI_SUCCESS,
				  scene.pair.far->p->mem->mw_alloc(scene.pair.far->pd, RI_MW_NARROW,
								   &scene.mw, &scene.index));
			scene.stag = scene.index;
			mw_bind(&scene, 0, 64, MW_RIGHTS);
			if (scene.pair.a->init.ord > 0)
				mw_write(&scene, 0, true);
			mw_scene_end(&scene);
		}
		cert_node_close(scene.pair.near);
		cert_node_close(scene.pair.far);
	}
}

/* A queue pair whose destruction is refused for its window keeps the window: it opens, and can be unbound and bound again. */
static void
window_of_busy(struct cert *cert)
{
	struct ri_wr wr = {.wr_id = 51, .opcode = RI_OP_LOCAL_INV, .flags = RI_WR_SIGNALED};
	struct mw_scene scene RI_AT_END(mw_scene_end);

	mw_scene_open(&scene, cert, RI_MW_NARROW);
	mw_bind(&scene, 0, 64, MW_RIGHTS);
	CERT_VERB(cert, RI_ERR_BUSY, scene.pair.far->p->qp->destroy(scene.pair.b->qp));
	if (scene.pair.a->init.ord > 0)
		mw_write(&scene, 0, true);
	wr.inv_stag = scene.stag;
	cert_post(scene.pair.b, &wr);
	cert_wc_is(scene.pair.b, false, 51, RI_WC_SUCCESS);
	mw_bind(&scene, 64, 64, MW_RIGHTS);
	if (scene.pair.a->init.ord > 0)
		mw_write(&scene, 64, true);
}

/* --- counts ---------------------------------------------------------------------------------------- */

/* Several solicited completions are taken by one poll: none is left to be told of. */
static void
solicited_polled(struct cert *cert)
{
	struct pair pair;
	struct ri_wc wc[4];
	gint64 until = 0;

	pair_connected(&pair, cert);
	for (unsigned i = 0; i < 3; i++)
		cert_post_recv(pair.b, i, &pair.sink, 1);
	for (unsigned i = 0; i < 3; i++) {
		cert_post_send(pair.a, i, &pair.source, 1, RI_WR_SOLICITED);
		cert_wc_is(pair.a, false, i, RI_WC_SUCCESS);
	}
	while (pair.far->p->fast->cq_depth(pair.b->urcq) < 3)
		CERT_TRUE(cert, cert_patience(cert, &until));
	CERT_UINT(cert, pair.far->p->fast->poll_cq(pair.b->urcq, wc, 4), ==, 3);
	CERT_FAST(cert, RI_SUCCESS, pair.far->p->fast->arm_cq(pair.b->urcq, RI_ARM_SOLICITED, 0));
}

/* The completions of a destroyed queue pair, polled then: nothing solicited is left, and no slot of its shared queue. */
static void
polled_after_destroy(struct cert *cert)
{
	const struct ri_provider *p;
	struct shared shared;
	struct ri_qp_init init;
	struct pair pair;
	struct ri_wc wc;
	uint32_t slots;
	gint64 until = 0;

	pair_open(&pair, cert, NULL);
	p = pair.far->p;
	init = cert_end_defaults(pair.far);
	shared_new(&shared, pair.far, &init, MIN(8, cert_attr(cert)->max_srq_wr));
	slots = shared.attr.max_wr;
	cert_connect(pair.a, &shared.end);
	for (uint32_t i = 0; i < slots; i++)
		shared_post(&shared, &shared.end,
			    &(struct ri_recv_wr){.wr_id = i, .sgl = &pair.sink, .num_sge = 1});
	for (uint32_t i = 0; i < slots; i++) {
		cert_post_send(pair.a, i, &pair.source, 1, 0);
		cert_wc_is(pair.a, false, i, RI_WC_SUCCESS);
	}
	while (p->fast->cq_depth(shared.end.urcq) < slots)
		CERT_TRUE(cert, cert_patience(cert, &until));
	cert_end_drop(&shared.end);
	while (p->fast->poll_cq(shared.end.urcq, &wc, 1) > 0)
		continue;
	for (uint32_t i = 0; i < slots; i++)
		CERT_FAST(cert, RI_SUCCESS,
			  p->fast->post_srq(shared.usrq, &(struct ri_recv_wr){.wr_id = i}));
	CERT_VERB_VOID(cert, p->user->cq_close(shared.end.uscq));
	CERT_VERB_VOID(cert, p->user->cq_close(shared.end.urcq));
	CERT_VERB(cert, RI_SUCCESS, p->cq->destroy(shared.end.scq));
	CERT_VERB(cert, RI_SUCCESS, p->cq->destroy(shared.end.rcq));
	cert_ctx_gone(pair.far, shared.end.scq_ctx);
	cert_ctx_gone(pair.far, shared.end.rcq_ctx);
	CERT_VERB_VOID(cert, p->user->srq_close(shared.usrq));
	CERT_VERB(cert, RI_SUCCESS, p->srq->destroy(shared.srq));
	cert_ctx_gone(pair.far, shared.ctx);
}

/* The same of solicited completions of the queue pair's own receives. */
static void
solicited_after_destroy(struct cert *cert)
{
	struct pair pair;
	struct ri_wc wc;
	gint64 until = 0;

	pair_connected(&pair, cert);
	for (unsigned i = 0; i < 3; i++)
		cert_post_recv(pair.b, i, &pair.sink, 1);
	for (unsigned i = 0; i < 3; i++) {
		cert_post_send(pair.a, i, &pair.source, 1, RI_WR_SOLICITED);
		cert_wc_is(pair.a, false, i, RI_WC_SUCCESS);
	}
	while (pair.far->p->fast->cq_depth(pair.b->urcq) < 3)
		CERT_TRUE(cert, cert_patience(cert, &until));
	cert_end_drop(pair.b);
	while (pair.far->p->fast->poll_cq(pair.b->urcq, &wc, 1) > 0)
		continue;
	CERT_FAST(cert, RI_SUCCESS, pair.far->p->fast->arm_cq(pair.b->urcq, RI_ARM_SOLICITED, 0));
}

/* What was posted and not completed has no completion once its queue pair is destroyed [RI 2.2.3]. */
static void
nothing_after_destroy(struct cert *cert)
{
	struct pair pair;

	pair_connected(&pair, cert);
	for (unsigned i = 0; i < 3; i++)
		cert_post_recv(pair.b, i, &pair.sink, 1);
	cert_end_drop(pair.b);
	cert_wc_none(pair.b, true);
	CERT_UINT(cert, pair.far->p->fast->cq_depth(pair.b->urcq), ==, 0);
}

/* --- hidden checks ----------------------------------------------------------------------------------- */

/* Requests behind an end complete as what they are. */
static void
flushed_opcodes(struct cert *cert)
{
	static const enum ri_opcode opcodes[] = {RI_OP_RDMA_WRITE, RI_OP_SEND, RI_OP_RDMA_READ};
	struct pair pair;

	pair_connected(&pair, cert);
	CERT_UINT(cert, cert_end_move(pair.b, RI_QPS_ERROR), ==, RI_SUCCESS);
	cert_wait_end(pair.a);
	for (unsigned i = 0; i < 6; i++) {
		enum ri_opcode opcode = opcodes[i % G_N_ELEMENTS(opcodes)];
		struct ri_sge there = cert_sge(pair.into, 0, 64);

		if (opcode == RI_OP_RDMA_READ && pair.a->init.ord == 0)
			continue;
		if (opcode == RI_OP_SEND)
			cert_post_send(pair.a, i, &pair.source, 1, 0);
		else
			cert_post_rdma(pair.a, opcode, i, &pair.source, &there);
		CERT_UINT(cert, cert_wc_is(pair.a, false, i, RI_WC_FLUSHED).opcode, ==, opcode);
	}
}

/* The result of an atomic has 8 octets: a segment of 4 or of 16 is refused, at once or by a completion, and nothing is written. */
static void
atomic_results(struct cert *cert)
{
	static const uint32_t lengths[] = {4, 7, 16};

	for (size_t i = 0; i < G_N_ELEMENTS(lengths); i++) {
		struct pair pair;
		struct cert_region *words;
		struct ri_sge result;
		struct ri_wr wr = {.wr_id = 1,
				   .opcode = RI_OP_FETCH_ADD,
				   .flags = RI_WR_SIGNALED,
				   .num_sge = 1};

		cert_note(cert, "a result of %u octets", lengths[i]);
		pair_connected(&pair, cert);
		words = cert_region_new(pair.far, 64, CERT_ALL | RI_ACCESS_REMOTE_ATOMIC);
		result = cert_sge(pair.from, 0, lengths[i]);
		wr.sgl = &result;
		wr.u.remote.addr = (uintptr_t)words->at;
		wr.u.remote.stag = words->stag;
		cert_fill(pair.from->at, VERBS_MEMORY, 3);
		if (pair.near->p->fast->post_sq(pair.a->uqp, &wr) == RI_SUCCESS)
			CERT_UINT(cert, cert_wc(pair.a, false).status, !=, RI_WC_SUCCESS);
		cert_expect_fill(cert, "memory that gets no result", pair.from->at, VERBS_MEMORY,
				 3);
		cert_node_close(pair.near);
		cert_node_close(pair.far);
	}
}

/* A peer cannot invalidate a region of another protection domain than that of its queue pair. */
static void
invalidated_across(struct cert *cert)
{
	struct ri_wr wr = {
		.wr_id = 1, .opcode = RI_OP_SEND, .flags = RI_WR_SIGNALED | RI_WR_INVALIDATE};
	struct ri_mr_attr attr = {0};
	struct cert_region *region;
	struct pair pair;
	struct ri_pd *pd;

	pair_connected(&pair, cert);
	CERT_VERB(cert, RI_SUCCESS, pair.far->p->pd->create(pair.far->context, &pd));
	region = cert_region_new_in(pair.far, pd, 64, CERT_ALL);
	wr.inv_stag = region->stag;
	cert_post_recv(pair.b, 2, &pair.sink, 1);
	cert_post(pair.a, &wr);
	CERT_UINT(cert, cert_wc(pair.b, true).status, !=, RI_WC_SUCCESS);
	cert_wait_end(pair.b);
	CERT_VERB(cert, RI_SUCCESS, pair.far->p->mem->mr_query(region->mr, &attr));
	CERT_TRUE(cert, attr.valid);
	cert_region_free(region);
	CERT_VERB(cert, RI_SUCCESS, pair.far->p->pd->destroy(pd));
}

/*
 * A region that a Send of the peer has invalidated is closed, and the receive reports its key. A
 * device that can invalidate only windows refuses, and the region stays open. Without windows, the
 * claim of invalidation applies to regions.
 */
static void
invalidated_region(struct cert *cert)
{
	struct ri_wr wr = {
		.wr_id = 1, .opcode = RI_OP_SEND, .flags = RI_WR_SIGNALED | RI_WR_INVALIDATE};
	struct ri_mr_attr attr = {0};
	struct cert_region *region;
	struct pair pair;
	struct ri_sge there;
	struct ri_wc wc;

	pair_connected(&pair, cert);
	region = cert_region_new(pair.far, 64, CERT_ALL);
	there = cert_sge(region, 0, 64);
	cert_fill(region->at, 64, 5);
	wr.inv_stag = region->stag;
	wr.sgl = &pair.source;
	wr.num_sge = 1;
	cert_post_recv(pair.b, 2, &pair.sink, 1);
	cert_post(pair.a, &wr);
	wc = cert_wc(pair.b, true);
	CERT_VERB(cert, RI_SUCCESS, pair.far->p->mem->mr_query(region->mr, &attr));
	CERT_UINT(cert, attr.valid, ==, wc.status != RI_WC_SUCCESS);
	if (wc.status != RI_WC_SUCCESS) {
		CERT_TRUE(cert, pair.far->attr.mw_narrow);
		cert_wait_end(pair.b);
	} else {
		CERT_UINT(cert, wc.flags & RI_WC_INVALIDATED, ==, RI_WC_INVALIDATED);
		CERT_UINT(cert, wc.inv_stag, ==, region->stag);
		cert_wc_is(pair.a, false, 1, RI_WC_SUCCESS);
		cert_post_rdma(pair.a, RI_OP_RDMA_WRITE, 3, &pair.source, &there);
		cert_wait_end(pair.b);
	}
	cert_expect_fill(cert, "memory that is not written", region->at, 64, 5);
	cert_region_free(region);
}

/* Rights that are taken away are gone. */
static void
rights_taken(struct cert *cert)
{
	struct pair pair;
	struct ri_qp_attr attr;
	struct ri_sge there;

	pair_connected(&pair, cert);
	attr = cert_end_attr(pair.b);
	attr.access &= ~(uint32_t)RI_ACCESS_REMOTE_WRITE;
	CERT_VERB(cert, RI_SUCCESS, pair.far->p->qp->modify(pair.b->qp, &attr, RI_QP_ATTR_ACCESS));
	CERT_UINT(cert, cert_end_attr(pair.b).access, ==, attr.access);
	cert_fill(pair.into->at, VERBS_MEMORY, 4);
	there = cert_sge(pair.into, 0, 64);
	cert_post_rdma(pair.a, RI_OP_RDMA_WRITE, 1, &pair.source, &there);
	cert_wait_end(pair.b);
	cert_expect_fill(cert, "memory that is not written", pair.into->at, VERBS_MEMORY, 4);
}

/* A queue of the largest size takes what it granted. */
static void
largest_queues(struct cert *cert)
{
	struct cert_node *node = cert_node_open(cert);
	struct ri_qp_init init = cert_end_defaults(node);
	struct cert_end *end;

	init.max_rq_wr = node->attr.max_rq_wr;
	init.max_recv_sge = MIN(1, init.max_recv_sge);
	end = cert_end_new(node, &init);
	for (uint32_t i = 0; i < end->init.max_rq_wr; i++)
		cert_post_recv(end, i, NULL, 0);
}

static const struct cert_case cases[] = {
	{.id = "verbs.kept.attr.0001",
	 .title =
		 "After a reset IRD, ORD and rights are as they were last set, and no Terminate is "
		 "told again",
	 .rule = "[RI 10.26] [RI 4.1.1]",
	 .needs = "qp_reusable",
	 .settles = "qp_reusable",
	 .run = attributes},
	{.id = "verbs.kept.slot.0002",
	 .title = "After a reset all slots are free, those of requests without a completion, too",
	 .rule = "[RI 10.26] [RI 3.2.7]",
	 .needs = "qp_reusable",
	 .run = slots_after_reset},
	{.id = "verbs.kept.slot.0001",
	 .title = "A receive of one segment in the slot of one of two takes no more than its own",
	 .rule = "[RI 3.2.2]",
	 .run = receive_segments},
	{.id = "verbs.kept.window.0001",
	 .title = "Windows in the slots of windows that went with a connection can be bound",
	 .rule = "[RI 5.6.1] [RI 5.7.1]",
	 .needs = "mw_narrow mw_key_owner:RI_KEY_CONSUMER qp_reusable",
	 .run = window_slots},
	{.id = "verbs.kept.window.0002",
	 .title = "A window keeps its life when the destruction of its queue pair is refused",
	 .rule = "[RI 2.2.3] [RI 5.6.1]",
	 .needs = "mw_narrow mw_narrow_unbind mw_key_owner:RI_KEY_CONSUMER",
	 .run = window_of_busy},
	{.id = "verbs.kept.solicited.0001",
	 .title = "Solicited completions that one poll takes together are all counted off",
	 .rule = "[RI 7.3]",
	 .needs = "solicited_works",
	 .run = solicited_polled},
	{.id = "verbs.kept.solicited.0002",
	 .title = "Solicited completions of a destroyed queue pair are counted off when they are "
		  "polled",
	 .rule = "[RI 7.3] [RI 2.2.3]",
	 .needs = "solicited_works",
	 .run = solicited_after_destroy},
	{.id = "verbs.kept.shared.0001",
	 .title = "Completions of a destroyed queue pair give back the slots of its shared queue",
	 .rule = "[RI 6.1] [RI 2.2.3]",
	 .needs = "srq",
	 .run = polled_after_destroy},
	{.id = "verbs.kept.destroy.0001",
	 .title = "What is posted to a queue pair has no completion once that is destroyed",
	 .rule = "[RI 2.2.3]",
	 .run = nothing_after_destroy},
	{.id = "verbs.kept.opcode.0001",
	 .title = "A flushed request completes with its own opcode",
	 .rule = "[RI 3.3.2]",
	 .run = flushed_opcodes},
	{.id = "verbs.kept.atomic.0001",
	 .title = "An atomic whose segment has not 8 octets is refused and writes nothing",
	 .rule = "[RI 10.5] [RI 3.1]",
	 .needs = "atomics max_ird max_ord",
	 .run = atomic_results},
	{.id = "verbs.kept.domain.0001",
	 .title = "A peer invalidates no region of another protection domain",
	 .rule = "[RI 5.4.1]",
	 .needs = "send_invalidate",
	 .run = invalidated_across},
	{.id = "verbs.kept.invalidate.0001",
	 .title = "A region that a Send of the peer has invalidated opens nothing any more",
	 .rule = "[RI 5.2.1] [RI 5.4.1] [RI 5.4.2]",
	 .needs = "send_invalidate",
	 .settles = "send_invalidate",
	 .run = invalidated_region},
	{.id = "verbs.kept.rights.0001",
	 .title = "A right of a queue pair that is taken away is gone",
	 .rule = "[RI 4.1.1] [RI 5.3.1]",
	 .needs = "enables_modifiable",
	 .run = rights_taken},
	{.id = "verbs.kept.largest.0001",
	 .title = "A receive queue of the largest size takes as many receives as it granted",
	 .rule = "[RI 3.2.2]",
	 .run = largest_queues},
};

CERT_SET(verbs_kept, cases);
