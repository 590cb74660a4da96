/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Connections that end with work in progress, again and again, in a different way each time: a side
 * moves to ERROR, or a request or a receive fails. Before the end there are requests with and
 * without completions. The case keeps a list of the posts that may still complete. Completions must
 * come in the order of the list and name nothing else; after the first failure everything must be
 * flushed; each queue must be empty at the end; and no other octet may change.
 */

#include <string.h>

#include "verbs_reset.h"

#define LIVES 36u
#define MOST  12u /* requests or receives of a list */
#define PIECE 64u
#define REACH (PIECE * 16u)
#define WRONG 0x5au /* what is added to a key */
#define REAR  5u    /* requests behind the one that fails */

/* Why a life ends. */
enum fall {
	FALL_NEAR_MOVES,
	FALL_FAR_MOVES,
	FALL_SOURCE, /* of a Send: a key of no region */
	FALL_BOUNDS, /* a Write beyond the region */
	FALL_KEY,    /* a Write, or a Read, with a key of no region */
	FALL_LENGTH, /* a message that is longer than its receive */
	FALL_SINK,   /* a receive with a key of no region */
	FALL_COUNT
};

static const char *const fall_names[FALL_COUNT] = {
	"the near side moves to ERROR",     "the far side moves to ERROR",
	"the source of a Send has no key",  "a Write goes beyond the region",
	"a request has a wrong remote key", "a message is longer than its receive",
	"a receive has a wrong key"};

/* What was posted to one queue and is not known to be completed, in order. */
struct list {
	struct {
		uint64_t id;
		uint8_t opcode;
		bool signaled;
	} posted[2 * MOST];
	unsigned count;
	bool failed; /* something of it has failed or was flushed */
};

struct falls {
	struct pair pair;
	struct cert *cert;
	uint64_t next; /* identity */
	struct list requests, near_receives, far_receives;
	struct ri_mw *windows[REAR]; /* of this life */
	unsigned bound;
	uint8_t near_is[VERBS_MEMORY], far_is[VERBS_MEMORY];
};

static void
note_posted(struct list *list, uint64_t id, enum ri_opcode opcode, bool signaled)
{
	list->posted[list->count].id = id;
	list->posted[list->count].opcode = (uint8_t)opcode;
	list->posted[list->count].signaled = signaled;
	list->count++;
}

/* --- posts ------------------------------------------------------------------------------------- */

static void
request(struct falls *falls, struct ri_wr *wr, bool signaled)
{
	wr->wr_id = falls->next++;
	wr->flags |= signaled ? RI_WR_SIGNALED : 0u;
	cert_post(falls->pair.a, wr);
	note_posted(&falls->requests, wr->wr_id, (enum ri_opcode)wr->opcode, signaled);
}

static void
receive(struct falls *falls, struct cert_end *end, const struct ri_sge *sge)
{
	struct list *list = end == falls->pair.a ? &falls->near_receives : &falls->far_receives;

	note_posted(list, falls->next, RI_OP_RECV, true);
	cert_post_recv(end, falls->next++, sge, 1);
}

static bool
chance(struct falls *falls)
{
	return cert_random_below(falls->cert, 2) == 0;
}

/* A place in the first octets of a region. */
static struct ri_sge
place(struct falls *falls, const struct cert_region *region, size_t length)
{
	return cert_sge(region, PIECE * cert_random_below(falls->cert, REACH / PIECE), length);
}

/* A message that arrives; its receive is the oldest one. */
static void
message(struct falls *falls, bool signaled)
{
	struct ri_sge source = place(falls, falls->pair.from, PIECE / 2);
	struct ri_sge sink = place(falls, falls->pair.into, PIECE);
	struct ri_wr wr = {.opcode = RI_OP_SEND, .sgl = &source, .num_sge = 1};
	uint64_t id = falls->next++;

	cert_post_recv(falls->pair.b, id, &sink, 1);
	request(falls, &wr, signaled);
	memcpy(falls->far_is + (sink.addr - (uintptr_t)falls->pair.into->at),
	       falls->near_is + (source.addr - (uintptr_t)falls->pair.from->at), PIECE / 2);
	cert_wc_is(falls->pair.b, true, id, RI_WC_SUCCESS);
}

/* A Read. Nothing is sent from where it puts what it reads, nor to where it reads: a Send behind it may be placed before. */
static void
reading(struct falls *falls, bool signaled)
{
	struct pair *pair = &falls->pair;
	struct ri_sge sink = place(falls, pair->from, PIECE),
		      source = place(falls, pair->into, PIECE);
	struct ri_wr wr = {.opcode = RI_OP_RDMA_READ,
			   .sgl = &sink,
			   .num_sge = 1,
			   .u.remote = {.addr = source.addr + 2 * REACH, .stag = source.stag}};

	sink.addr += REACH;
	request(falls, &wr, signaled);
	memcpy(falls->near_is + (sink.addr - (uintptr_t)pair->from->at),
	       falls->far_is + 2 * REACH + (source.addr - (uintptr_t)pair->into->at), PIECE);
}

/* A request of a window that nothing else has in this life; false: none is claimed. */
static bool
of_window(struct falls *falls, struct ri_wr *wr)
{
	const struct ri_rnic_attr *attr = cert_attr(falls->cert);
	const struct pair *pair = &falls->pair;
	struct ri_mw *window = NULL;
	uint32_t stag = 0;

	if (!attr->mw_narrow || falls->bound == REAR)
		return false;
	CERT_VERB(falls->cert, RI_SUCCESS,
		  pair->near->p->mem->mw_alloc(pair->near->pd, RI_MW_NARROW, &window, &stag));
	falls->windows[falls->bound++] = window;
	if (attr->mw_narrow_unbind && chance(falls)) {
		*wr = (struct ri_wr){.opcode = RI_OP_LOCAL_INV, .inv_stag = stag};
		return true;
	}
	*wr = (struct ri_wr){.opcode = RI_OP_BIND_MW,
			     .u.bind = {.mw_stag = (stag & ~0xffu) | ((stag + 1) & 0xff),
					.mr_stag = pair->from->stag,
					.addr = (uintptr_t)pair->from->at,
					.length = PIECE,
					.access = RI_ACCESS_REMOTE_READ}};
	return true;
}

static void
windows_free(struct falls *falls)
{
	while (falls->bound > 0)
		CERT_VERB(falls->cert, RI_SUCCESS,
			  falls->pair.near->p->mem->mw_free(falls->windows[--falls->bound]));
}

/* A request behind the one that fails, which must do nothing to any memory. */
static void
behind(struct falls *falls)
{
	const struct pair *pair = &falls->pair;
	const struct ri_rnic_attr *attr = cert_attr(falls->cert);
	struct ri_sge local = place(falls, pair->from, PIECE);
	struct ri_sge remote = place(falls, pair->into, PIECE);
	struct ri_wr wr = {.opcode = RI_OP_SEND,
			   .sgl = &local,
			   .num_sge = 1,
			   .u.remote = {.addr = remote.addr, .stag = remote.stag}};
	bool reads = pair->a->init.ord > 0 && pair->b->init.ird > 0;

	switch (cert_random_below(falls->cert, 6)) {
	case 0:
		(void)of_window(falls, &wr);
		break;
	case 1:
		wr.opcode = reads ? RI_OP_RDMA_READ : RI_OP_SEND;
		break;
	case 2:
		if (!reads || !attr->atomics)
			break;
		wr.opcode = chance(falls) ? RI_OP_FETCH_ADD : RI_OP_CMP_SWAP;
		local.length = 8;
		break;
	case 3:
		wr.flags |= (attr->immediate_with & RI_IMMEDIATE_SEND) != 0 ? RI_WR_IMMEDIATE : 0u;
		break;
	case 4:
		local.length = MIN(PIECE, pair->a->init.max_inline);
		wr.flags |= attr->inline_data ? RI_WR_INLINE : 0u;
		break;
	default:
		wr.opcode = RI_OP_RDMA_WRITE;
		break;
	}
	request(falls, &wr, chance(falls));
}

/* --- completions ---------------------------------------------------------------------------------- */

/* A completion of this queue: what is before it in the list has succeeded without one. */
static void
completed(struct falls *falls, struct list *list, struct ri_wc wc, const struct cert_end *end)
{
	struct cert *cert = falls->cert;
	unsigned at = 0;

	CERT_UINT(cert, wc.qp_ctx, ==, end->ctx);
	while (at < list->count && list->posted[at].id != wc.wr_id)
		at++;
	if (at == list->count)
		cert_failed(cert, CERT_WHERE, "the identity of a completion",
			    "one of those that are posted", "another one");
	for (unsigned i = 0; i < at; i++) {
		CERT_TRUE(cert, !list->posted[i].signaled);
		CERT_TRUE(cert, !list->failed);
	}
	CERT_UINT(cert, wc.opcode, ==, list->posted[at].opcode);
	if (list->failed)
		CERT_UINT(cert, wc.status, ==, RI_WC_FLUSHED);
	if (wc.status == RI_WC_SUCCESS)
		CERT_TRUE(cert, list->posted[at].signaled);
	else
		list->failed = true;
	list->count -= at + 1;
	memmove(list->posted, list->posted + at + 1, list->count * sizeof(list->posted[0]));
}

/* All that are present; what is left then has succeeded without a completion. */
static void
drain(struct falls *falls, struct list *list, struct cert_end *end, bool recv)
{
	struct ri_ucq *cq = recv ? end->urcq : end->uscq;
	struct ri_wc wc;

	while (end->node->p->fast->poll_cq(cq, &wc, 1) == 1)
		completed(falls, list, wc, end);
	for (unsigned i = 0; i < list->count; i++) {
		CERT_TRUE(falls->cert, !list->posted[i].signaled);
		CERT_TRUE(falls->cert, !list->failed);
	}
	list->count = 0;
	list->failed = false;
}

/* --- a life ---------------------------------------------------------------------------------------- */

static void
renew(struct falls *falls)
{
	for (size_t i = 0; i < VERBS_MEMORY; i++) {
		falls->near_is[i] = (uint8_t)cert_random(falls->cert);
		falls->far_is[i] = (uint8_t)cert_random(falls->cert);
	}
	memcpy(falls->pair.from->at, falls->near_is, VERBS_MEMORY);
	memcpy(falls->pair.into->at, falls->far_is, VERBS_MEMORY);
}

/* Messages and Reads, of which the last one is signalled and polled; then messages without a completion. */
static void
live(struct falls *falls)
{
	unsigned count = cert_random_below(falls->cert, MOST);
	bool reads = falls->pair.a->init.ord > 0 && falls->pair.b->init.ird > 0;

	for (unsigned i = 0; i < count; i++) {
		bool signaled = i == count - 1 || chance(falls);

		if (reads && chance(falls))
			reading(falls, signaled);
		else
			message(falls, signaled);
	}
	while (falls->requests.count > 0)
		completed(falls, &falls->requests, cert_wc(falls->pair.a, false), falls->pair.a);
	for (count = cert_random_below(falls->cert, 3); count > 0; count--)
		message(falls, false);
}

/* The request or the receive that fails; its place in the far region is outside of what the others use. */
static void
fail(struct falls *falls, enum fall fall)
{
	struct pair *pair = &falls->pair;
	struct ri_sge source = cert_sge(pair->from, 0, PIECE);
	struct ri_sge sink = cert_sge(pair->into, REACH, PIECE / 2);
	struct ri_wr wr = {.opcode = RI_OP_SEND, .sgl = &source, .num_sge = 1};

	if (fall == FALL_LENGTH || fall == FALL_SINK) {
		sink.stag += fall == FALL_SINK ? WRONG << 8 : 0;
		sink.length = fall == FALL_SINK ? PIECE : PIECE / 2;
		receive(falls, pair->b, &sink);
	}
	if (fall == FALL_SOURCE)
		source.stag += WRONG << 8;
	if (fall == FALL_BOUNDS || fall == FALL_KEY) {
		wr.opcode = RI_OP_RDMA_WRITE;
		if (fall == FALL_KEY && chance(falls) && pair->a->init.ord > 0 &&
		    pair->b->init.ird > 0)
			wr.opcode = RI_OP_RDMA_READ;
		wr.u.remote.addr =
			(uintptr_t)pair->into->at + (fall == FALL_BOUNDS ? VERBS_MEMORY - 1 : 0);
		wr.u.remote.stag = pair->into->stag + (fall == FALL_KEY ? WRONG << 8 : 0);
	}
	request(falls, &wr, chance(falls));
}

/* Receives of both sides that are left. */
static void
leave_receives(struct falls *falls)
{
	for (uint32_t i = cert_random_below(falls->cert, 4); i > 0; i--) {
		struct ri_sge sink = place(falls, falls->pair.into, PIECE);

		receive(falls, falls->pair.b, &sink);
	}
	for (uint32_t i = cert_random_below(falls->cert, 4); i > 0; i--) {
		struct ri_sge sink = place(falls, falls->pair.from, PIECE);

		receive(falls, falls->pair.a, &sink);
	}
}

static void
end_told_once(struct cert_end *end)
{
	struct cert_node *node = end->node;

	if ((node->attr.cm_forms & RI_CM_ADDRESS) != 0)
		CERT_UINT(node->cert,
			  cert_cm_count(node, RI_CM_BROKEN, end->ctx) +
				  cert_cm_count(node, RI_CM_DISCONNECTED, end->ctx),
			  ==, 1);
	else
		CERT_UINT(node->cert, cert_async_ends(node, end->ctx), ==, 1);
}

static void
fall_down(struct falls *falls, enum fall fall)
{
	struct pair *pair = &falls->pair;
	struct cert *cert = falls->cert;

	if (fall == FALL_NEAR_MOVES || fall == FALL_FAR_MOVES)
		leave_receives(falls);
	if (fall == FALL_NEAR_MOVES)
		CERT_UINT(cert, cert_end_move(pair->a, RI_QPS_ERROR), ==, RI_SUCCESS);
	else if (fall == FALL_FAR_MOVES)
		CERT_UINT(cert, cert_end_move(pair->b, RI_QPS_ERROR), ==, RI_SUCCESS);
	else
		fail(falls, fall);
	if (fall != FALL_NEAR_MOVES && fall != FALL_FAR_MOVES)
		leave_receives(falls);
	for (uint32_t i = cert_random_below(cert, REAR + 1); i > 0; i--)
		behind(falls);
	cert_wait_end(pair->a);
	cert_wait_end(pair->b);
	cert_wait_quiescent(pair->a);
	cert_wait_quiescent(pair->b);
	end_told_once(pair->a);
	end_told_once(pair->b);
}

/* Without an order of placement, requests behind one that fails at the peer may have been placed. */
static void
compare(struct falls *falls, enum fall fall)
{
	struct pair *pair = &falls->pair;
	bool ordered = cert_attr(falls->cert)->in_order_placement || fall <= FALL_SOURCE;

	CERT_BYTES(falls->cert, pair->from->at, falls->near_is, VERBS_MEMORY);
	memcpy(falls->far_is + REACH, pair->into->at + REACH, PIECE / 2);
	if (ordered)
		CERT_BYTES(falls->cert, pair->into->at, falls->far_is, VERBS_MEMORY);
	cert_region_guards(pair->from);
	cert_region_guards(pair->into);
}

/* The same queue pairs, or new ones. */
static void
next_life(struct falls *falls)
{
	struct cert_end *ends[] = {falls->pair.a, falls->pair.b};

	windows_free(falls);
	for (size_t i = 0; i < G_N_ELEMENTS(ends); i++) {
		reset_events(ends[i]);
		if (cert_attr(falls->cert)->qp_reusable)
			reset_end(ends[i]);
		else
			cert_end_free(ends[i]);
	}
	if (cert_attr(falls->cert)->qp_reusable)
		return;
	falls->pair.a = cert_end_new(falls->pair.near, NULL);
	falls->pair.b = cert_end_new(falls->pair.far, NULL);
}

/* Which of the ways a life ends in: each of them follows each other one. */
static enum fall
fall_of(struct falls *falls, unsigned life)
{
	return life < FALL_COUNT ? (enum fall)life
				 : (enum fall)cert_random_below(falls->cert, FALL_COUNT);
}

static void
falls_run(struct cert *cert)
{
	g_autofree struct falls *falls = g_new0(struct falls, 1);

	falls->cert = cert;
	pair_open(&falls->pair, cert, NULL);
	for (unsigned life = 0; life < LIVES; life++) {
		enum fall fall = fall_of(falls, life);

		cert_note(cert, "life %u: %s", life, fall_names[fall]);
		cert_connect(falls->pair.a, falls->pair.b);
		renew(falls);
		live(falls);
		fall_down(falls, fall);
		drain(falls, &falls->requests, falls->pair.a, false);
		drain(falls, &falls->near_receives, falls->pair.a, true);
		drain(falls, &falls->far_receives, falls->pair.b, true);
		compare(falls, fall);
		next_life(falls);
	}
}

static const struct cert_case cases[] = {
	{.id = "verbs.fall.life.0001",
	 .title = "However a connection ends, what was posted completes in its order, and nothing "
		  "else does",
	 .rule = "[RI 3.2.1] [RI 3.2.6] [RI 3.3.3] [RI 4.1.1]",
	 .run = falls_run},
};

CERT_SET(verbs_falls, cases);
