/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Objects that are used again with other parameters: a completion queue armed in another way,
 * watermarks that have fired, windows that move from one queue pair to another, messages that wait
 * for a receive, flushes of requests with and without completions.
 */

#include <string.h>

#include "verbs_line.h"

/* --- arming in the place of an arming --------------------------------------------------------------- */

struct arming {
	enum ri_arm how;
	uint32_t count;
};

static const struct arming armings[] = {{RI_ARM_NONE, 1},
					{RI_ARM_NEXT, 1},
					{RI_ARM_SOLICITED, 1},
					{RI_ARM_COUNT, 3},
					{RI_ARM_COUNT, 2}};

static bool
can_arm(const struct cert *cert, const struct arming *arming)
{
	const struct ri_rnic_attr *attr = cert_attr(cert);

	return (arming->how != RI_ARM_SOLICITED || attr->solicited_works) &&
	       (arming->how != RI_ARM_COUNT || attr->cq_arm_count);
}

/* Messages after which an arming has reported: the fourth one is solicited. */
static unsigned
due_after(const struct arming *arming)
{
	switch (arming->how) {
	case RI_ARM_NONE:
		return UINT_MAX;
	case RI_ARM_NEXT:
		return 1;
	case RI_ARM_COUNT:
		return arming->count;
	case RI_ARM_SOLICITED:
	case RI_ARM_UNREPORTED:
	default:
		return 4;
	}
}

static void
arm_twice(struct pair *pair, const struct arming *first, const struct arming *second)
{
	const struct ri_fast_ops *fast = pair->far->p->fast;
	unsigned before = cert_cq_events(pair->far, pair->b->rcq_ctx), due = due_after(second);
	struct cert *cert = pair->cert;

	cert_note(cert, "armed as %d for %u, then as %d for %u", (int)first->how, first->count,
		  (int)second->how, second->count);
	CERT_FAST(cert, RI_SUCCESS, fast->arm_cq(pair->b->urcq, first->how, first->count));
	CERT_FAST(cert, RI_SUCCESS, fast->arm_cq(pair->b->urcq, second->how, second->count));
	for (unsigned i = 1; i <= 4; i++) {
		gint64 until = 0;

		cert_post_recv(pair->b, i, &pair->sink, 1);
		cert_post_send(pair->a, i, &pair->source, 1, i == 4 ? RI_WR_SOLICITED : 0u);
		cert_wc_is(pair->a, false, i, RI_WC_SUCCESS);
		while (fast->cq_depth(pair->b->urcq) < i)
			CERT_TRUE(cert, cert_patience(cert, &until));
		if (i < due)
			CERT_UINT(cert, cert_cq_events(pair->far, pair->b->rcq_ctx), ==, before);
		while (i == due && cert_cq_events(pair->far, pair->b->rcq_ctx) == before)
			CERT_TRUE(cert, cert_patience(cert, &until));
	}
	for (unsigned i = 1; i <= 4; i++)
		cert_wc_is(pair->b, true, i, RI_WC_SUCCESS);
	CERT_FAST(cert, RI_SUCCESS, fast->arm_cq(pair->b->urcq, RI_ARM_NONE, 1));
	CERT_UINT(cert, cert_cq_events(pair->far, pair->b->rcq_ctx), ==,
		  before + (due <= 4 ? 1 : 0));
}

static void
armed_twice(struct cert *cert)
{
	struct pair pair;

	pair_connected(&pair, cert);
	for (size_t i = 0; i < G_N_ELEMENTS(armings); i++) {
		for (size_t j = 0; j < G_N_ELEMENTS(armings); j++) {
			if (can_arm(cert, &armings[i]) && can_arm(cert, &armings[j]))
				arm_twice(&pair, &armings[i], &armings[j]);
		}
	}
}

/* --- shared queues -------------------------------------------------------------------------------- */

/* The low watermark, again and again: with the same value, and with another one. */
static void
watermark_again(struct cert *cert)
{
	static const uint32_t limits[] = {2, 2, 3, 3, 1, 2, 2};
	struct line line;
	uint32_t there = 0;

	line_open(&line, cert);
	for (size_t i = 0; i < G_N_ELEMENTS(limits); i++) {
		struct ri_srq_attr attr = {.limit = limits[i]}, seen = {0};
		struct ri_map map;

		line_supply(&line, 4 - there);
		cert_note(cert, "a limit of %u, for the time %zu", limits[i], i + 1);
		CERT_VERB(cert, RI_SUCCESS,
			  line.far->p->srq->modify(line.shared.srq, &attr, false, &map));
		CERT_VERB(cert, RI_SUCCESS, line.far->p->srq->query(line.shared.srq, &seen));
		CERT_UINT(cert, seen.limit, ==, limits[i]);
		CERT_UINT(cert, seen.available, ==, 4);
		line_consume(&line, line.a, &line.shared.end, 4 - limits[i]);
		CERT_UINT(cert, cert_async_count(line.far, RI_EVENT_SRQ_LIMIT, line.shared.ctx), ==,
			  0);
		line_consume(&line, line.a, &line.shared.end, 1);
		(void)cert_async(line.far, RI_EVENT_SRQ_LIMIT, line.shared.ctx);
		CERT_VERB(cert, RI_SUCCESS, line.far->p->srq->query(line.shared.srq, &seen));
		CERT_UINT(cert, seen.limit, ==, 0);
		there = limits[i] - 1;
	}
	CERT_UINT(cert, cert_async_count(line.far, RI_EVENT_NONE, line.shared.ctx), ==, 0);
	shared_free(&line.shared);
}

/* Does the adapter wait for a receive? */
static bool
waits(const struct cert *cert)
{
	return cert_attr(cert)->rnr_mode != RI_RNR_TERMINATE;
}

/*
 * Two queue pairs wait for a receive of a shared queue, and the one that waited first ends. A
 * receive that is posted then must go to the other.
 */
static void
line_goes_on(struct cert *cert)
{
	struct line line;

	if (!waits(cert)) {
		cert_not_claimed(cert, "rnr_mode is to end the connection");
		return;
	}
	line_open(&line, cert);
	for (unsigned way = 0; way < 2; way++) {
		struct cert_end *a = cert_end_new(line.near, NULL), member = line.shared.end;
		struct ri_sge source = cert_sge(line.from, 0, 32);
		struct ri_map map;

		member.init = cert_end_defaults(line.far);
		member.ctx = member.init.ctx = cert_ctx_new(line.far, RI_OBJECT_QP);
		CERT_VERB(cert, RI_SUCCESS,
			  line.far->p->qp->create(line.far->pd, &member.init, member.scq,
						  member.rcq, line.shared.srq, &member.qp, &map));
		CERT_VERB(cert, RI_SUCCESS,
			  line.far->p->user->qp_open(line.far->urnic, &map, member.uscq,
						     member.urcq, line.shared.usrq, &member.uqp));
		cert_connect(a, &member);
		cert_post_send(a, 1, &source, 1, 0);
		for (unsigned i = 0; i < 20; i++)
			cert_progress(cert);
		cert_post_send(line.a, 2, &source, 1, 0);
		for (unsigned i = 0; i < 20; i++)
			cert_progress(cert);
		cert_note(cert, "the first in the line is %s", way == 0 ? "ended" : "destroyed");
		if (way == 0)
			CERT_UINT(cert, cert_end_move(&member, RI_QPS_ERROR), ==, RI_SUCCESS);
		else
			cert_end_drop(&member);
		line_supply(&line, 1);
		CERT_UINT(cert, cert_wc(&line.shared.end, true).status, ==, RI_WC_SUCCESS);
		cert_wc_is(line.a, false, 2, RI_WC_SUCCESS);
		cert_wait_end(a);
		if (way == 0)
			cert_end_drop(&member);
		cert_end_free(a);
	}
	shared_free(&line.shared);
}

/* --- messages that wait ------------------------------------------------------------------------------ */

/* An adapter may say of a connected queue pair that it never rests. One that does not say so says it again. */
static void
at_rest(struct cert_end *end, bool before)
{
	if (before)
		cert_wait_quiescent(end);
}

/* Messages that come before their receives, again and again; when all is completed both sides are as after a connect. */
static void
waits_again(struct cert *cert)
{
	struct pair pair;
	bool rests[2];

	if (!waits(cert)) {
		cert_not_claimed(cert, "rnr_mode is to end the connection");
		return;
	}
	pair_connected(&pair, cert);
	for (unsigned i = 0; i < 20; i++)
		cert_progress(cert);
	rests[0] = cert_end_attr(pair.a).quiescent;
	rests[1] = cert_end_attr(pair.b).quiescent;
	for (unsigned i = 0; i < 12; i++) {
		unsigned count = i % 3 + 1;

		for (unsigned j = 0; j < count; j++)
			cert_post_send(pair.a, i * 10 + j, &pair.source, 1, 0);
		for (unsigned j = 0; j < 10; j++)
			cert_progress(cert);
		CERT_UINT(cert, pair.far->p->fast->cq_depth(pair.b->urcq), ==, 0);
		for (unsigned j = 0; j < count; j++)
			cert_post_recv(pair.b, i * 10 + j, &pair.sink, 1);
		for (unsigned j = 0; j < count; j++) {
			cert_wc_is(pair.b, true, i * 10 + j, RI_WC_SUCCESS);
			cert_wc_is(pair.a, false, i * 10 + j, RI_WC_SUCCESS);
		}
		at_rest(pair.a, rests[0]);
		at_rest(pair.b, rests[1]);
	}
}

/* A message that finds no receive ends the connection at once, and none of it arrives. */
static void
ends_at_once(struct cert *cert)
{
	struct pair pair;

	if (waits(cert)) {
		cert_not_claimed(cert, "rnr_mode is to wait for a receive");
		return;
	}
	pair_connected(&pair, cert);
	cert_fill(pair.into->at, VERBS_MEMORY, 2);
	cert_post_recv(pair.b, 1, &pair.sink, 1);
	cert_post_send(pair.a, 2, &pair.source, 1, 0);
	cert_wc_is(pair.b, true, 1, RI_WC_SUCCESS);
	cert_wc_is(pair.a, false, 2, RI_WC_SUCCESS);
	cert_fill(pair.into->at, VERBS_MEMORY, 2);
	cert_note(cert, "the second Send finds no receive");
	cert_post_send(pair.a, 3, &pair.source, 1, 0);
	cert_wait_end(pair.a);
	cert_wait_end(pair.b);
	cert_expect_fill(cert, "memory of a receive that was taken before", pair.into->at,
			 VERBS_MEMORY, 2);
}

/* --- flushes ------------------------------------------------------------------------------------------- */

/* Requests that cannot be done, some of them without a completion of their own, are all flushed, and so is what is posted then. */
static void
flush_pattern(struct cert *cert, uint32_t pattern)
{
	struct pair pair;
	struct ri_wr wr = {.opcode = RI_OP_SEND, .num_sge = 1};
	uint32_t count;

	pair_connected(&pair, cert);
	count = pair.a->init.max_sq_wr;
	wr.sgl = &pair.source;
	cert_note(cert, "the pattern %#x of requests that are signalled", pattern);
	for (uint32_t i = 0; i < count; i++) {
		wr.wr_id = i;
		wr.flags = (pattern >> (i % 32) & 1) != 0 ? RI_WR_SIGNALED : 0;
		cert_post(pair.a, &wr);
	}
	for (unsigned i = 0; i < 5; i++)
		cert_progress(cert);
	CERT_UINT(cert, cert_end_move(pair.a, RI_QPS_ERROR), ==, RI_SUCCESS);
	for (uint32_t i = 0; i < count; i++)
		cert_wc_is(pair.a, false, i, RI_WC_FLUSHED);
	cert_note(cert, "all slots are free again");
	wr.flags = 0;
	for (uint32_t i = 0; i < count; i++) {
		wr.wr_id = 100 + i;
		cert_post(pair.a, &wr);
	}
	for (uint32_t i = 0; i < count; i++)
		cert_wc_is(pair.a, false, 100 + i, RI_WC_FLUSHED);
	CERT_UINT(cert, pair.near->p->fast->cq_depth(pair.a->uscq), ==, 0);
	cert_wait_end(pair.a);
	cert_wait_end(pair.b);
	cert_node_close(pair.near);
	cert_node_close(pair.far);
}

static void
flushes(struct cert *cert)
{
	static const uint32_t patterns[] = {0, UINT32_MAX, 0x1, 0xfffffffe, 0x55555555, 0x80808080};

	if (!waits(cert) || !cert_attr(cert)->completion_acked) {
		cert_not_claimed(cert, "%s",
				 waits(cert) ? "completion_acked"
					     : "rnr_mode is to end the connection");
		return;
	}
	for (size_t i = 0; i < G_N_ELEMENTS(patterns); i++)
		flush_pattern(cert, patterns[i]);
}

/* --- windows that move ------------------------------------------------------------------------------------ */

/* Two queue pairs of the far side's domain, each with its peer, and a narrow window. */
struct mover {
	struct cert *cert;
	struct cert_node *near, *far;
	struct cert_end *a[2], *b[2];
	struct cert_region *from, *into;
	struct ri_mw *mw;
	uint32_t stag;
};

static void
mover_open(struct mover *mover, struct cert *cert)
{
	mover->cert = cert;
	mover->near = cert_node_open(cert);
	mover->far = cert_node_open(cert);
	mover->from = cert_region_new(mover->near, 512, CERT_ALL);
	mover->into = cert_region_new(mover->far, 512, CERT_ALL);
	for (unsigned i = 0; i < 2; i++) {
		mover->a[i] = cert_end_new(mover->near, NULL);
		mover->b[i] = cert_end_new(mover->far, NULL);
		cert_connect(mover->a[i], mover->b[i]);
	}
	CERT_VERB(cert, RI_SUCCESS,
		  mover->far->p->mem->mw_alloc(mover->far->pd, RI_MW_NARROW, &mover->mw,
					       &mover->stag));
}

/* A bind of 64 octets from the octet `at`, by one of the two. */
static void
bind_by(struct mover *mover, unsigned who, size_t at)
{
	mover->stag = (mover->stag & ~0xffu) | ((mover->stag + 1) & 0xff);
	cert_post(mover->b[who], &(struct ri_wr){.wr_id = 7,
						 .opcode = RI_OP_BIND_MW,
						 .flags = RI_WR_SIGNALED,
						 .u.bind = {.mw_stag = mover->stag,
							    .mr_stag = mover->into->stag,
							    .addr = (uintptr_t)mover->into->at + at,
							    .length = 64,
							    .access = RI_ACCESS_REMOTE_WRITE}});
	cert_wc_is(mover->b[who], false, 7, RI_WC_SUCCESS);
}

static void
unbind_by(struct mover *mover, unsigned who)
{
	cert_post(mover->b[who], &(struct ri_wr){.wr_id = 8,
						 .opcode = RI_OP_LOCAL_INV,
						 .flags = RI_WR_SIGNALED,
						 .inv_stag = mover->stag});
	cert_wc_is(mover->b[who], false, 8, RI_WC_SUCCESS);
}

static void
write_by(struct mover *mover, unsigned who, size_t at, bool granted)
{
	struct ri_sge source = cert_sge(mover->from, 0, 64);
	struct ri_sge target = {.addr = (uintptr_t)mover->into->at + at, .stag = mover->stag};
	uint32_t seed = cert_random_below(mover->cert, 1000);

	cert_fill(mover->from->at, 64, seed);
	cert_fill(mover->into->at, 512, seed + 1);
	cert_post_rdma(mover->a[who], RI_OP_RDMA_WRITE, 1, &source, &target);
	if (granted) {
		cert_wc_is(mover->a[who], false, 1, RI_WC_SUCCESS);
		cert_post_recv(mover->b[who], 2, NULL, 0);
		cert_post_send(mover->a[who], 3, NULL, 0, 0);
		cert_wc_is(mover->a[who], false, 3, RI_WC_SUCCESS);
		cert_wc_is(mover->b[who], true, 2, RI_WC_SUCCESS);
		cert_expect_fill(mover->cert, "what was written through the window",
				 mover->into->at + at, 64, seed);
		return;
	}
	cert_wait_end(mover->a[who]);
	cert_wait_end(mover->b[who]);
	cert_expect_fill(mover->cert, "memory that is not written", mover->into->at, 512, seed + 1);
}

/* A window is bound by one queue pair, then by the other one, then a new one in its place. */
static void
window_moves(struct cert *cert)
{
	struct mover mover;

	mover_open(&mover, cert);
	for (unsigned i = 0; i < 600; i++) { /* the key goes around more than once */
		unsigned who = i % 3 % 2;

		bind_by(&mover, who, i % 7 * 64);
		write_by(&mover, who, i % 7 * 64, true);
		unbind_by(&mover, who);
		if (i % 5 != 4)
			continue;
		CERT_VERB(cert, RI_SUCCESS, mover.far->p->mem->mw_free(mover.mw));
		CERT_VERB(cert, RI_SUCCESS,
			  mover.far->p->mem->mw_alloc(mover.far->pd, RI_MW_NARROW, &mover.mw,
						      &mover.stag));
	}
	cert_note(cert, "the peer of the queue pair that had it before");
	bind_by(&mover, 0, 0);
	unbind_by(&mover, 0);
	bind_by(&mover, 1, 64);
	write_by(&mover, 0, 64, false);
	cert_note(cert, "the peer of the one that has it now");
	write_by(&mover, 1, 64, true);
	unbind_by(&mover, 1);
	CERT_VERB(cert, RI_SUCCESS, mover.far->p->mem->mw_free(mover.mw));
}

/* An invalidation with the key of an earlier bind, by this side or by the peer, fails and leaves the window. */
static void
old_window_key(struct cert *cert)
{
	for (unsigned way = 0; way < (cert_attr(cert)->send_invalidate ? 2u : 1u); way++) {
		struct mover mover;
		struct ri_mr_attr attr = {0};
		uint32_t old;

		mover_open(&mover, cert);
		bind_by(&mover, 0, 0);
		unbind_by(&mover, 0);
		old = mover.stag;
		bind_by(&mover, 0, 0);
		if (way == 0) {
			cert_note(cert, "by its own queue pair");
			cert_post(mover.b[0], &(struct ri_wr){.wr_id = 9,
							      .opcode = RI_OP_LOCAL_INV,
							      .flags = RI_WR_SIGNALED,
							      .inv_stag = old});
			cert_wc_is(mover.b[0], false, 9, RI_WC_MW_BIND);
		} else {
			cert_note(cert, "by a Send of the peer");
			cert_post_recv(mover.b[0], 9, NULL, 0);
			cert_post(mover.a[0],
				  &(struct ri_wr){.wr_id = 9,
						  .opcode = RI_OP_SEND,
						  .flags = RI_WR_SIGNALED | RI_WR_INVALIDATE,
						  .inv_stag = old});
			CERT_UINT(cert, cert_wc(mover.b[0], true).status, !=, RI_WC_SUCCESS);
		}
		cert_wait_end(mover.b[0]);
		CERT_VERB(cert, RI_SUCCESS, mover.far->p->mem->mw_query(mover.mw, &attr));
		CERT_TRUE(cert, attr.valid);
		CERT_VERB(cert, RI_SUCCESS, mover.far->p->mem->mw_free(mover.mw));
		cert_node_close(mover.near);
		cert_node_close(mover.far);
	}
}

static const struct cert_case cases[] = {
	{.id = "verbs.again.arm.0001",
	 .title = "An arming takes the place of each other one",
	 .rule = "[RI 7.1] [RI 7.3]",
	 .run = armed_twice},
	{.id = "verbs.again.limit.0001",
	 .title = "A low watermark that has fired fires again when it is set again",
	 .rule = "[RI 6.4]",
	 .needs = "srq srq_limit",
	 .settles = "srq_limit",
	 .run = watermark_again},
	{.id = "verbs.again.line.0001",
	 .title = "A queue pair that ends while it waits for a shared receive lets the next one "
		  "have "
		  "it",
	 .rule = "[RI 6.2] [RI 10.19]",
	 .needs = "srq",
	 .run = line_goes_on},
	{.id = "verbs.again.wait.0001",
	 .title = "Messages that wait for a receive do so each time, and leave both sides as they "
		  "were",
	 .rule = "[RI 10.19] [RI 3.2.1]",
	 .settles = "rnr_mode",
	 .run = waits_again},
	{.id = "verbs.again.wait.0002",
	 .title = "A message that finds no receive ends the connection at once",
	 .rule = "[RI 10.19]",
	 .settles = "rnr_mode",
	 .run = ends_at_once},
	{.id = "verbs.again.flush.0001",
	 .title = "A flush completes all requests that are left, signalled or not, and frees all "
		  "slots",
	 .rule = "[RI 3.1.2] [RI 3.2.6] [RI 4.1.1]",
	 .run = flushes},
	{.id = "verbs.again.window.0001",
	 .title = "A narrow window belongs to the queue pair that has bound it last",
	 .rule = "[RI 5.6.1] [RI 5.4.1]",
	 .needs = "mw_narrow mw_narrow_unbind mw_key_owner:RI_KEY_CONSUMER",
	 .run = window_moves},
	{.id = "verbs.again.window.0002",
	 .title = "An invalidation with the key of an earlier bind fails",
	 .rule = "[RI 5.4.1]",
	 .needs = "mw_narrow mw_narrow_unbind mw_key_owner:RI_KEY_CONSUMER",
	 .run = old_window_key},
};

CERT_SET(verbs_again, cases);
