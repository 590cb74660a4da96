/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Defects that the errata of devices and the histories of drivers suggest, in requests and
 * completions: a slot, a counter or a cache keeps something from one use to the next, or something
 * is lost at the end of a list, a ring or an address range.
 */
#include <stdlib.h>
#include <string.h>

#include "defect.h"

/* The state of a queue pair, by a query. */
static enum ri_qp_state
state_of(const struct wrap_obj *uqp)
{
	struct ri_qp_attr attr = {0};

	if (uqp->half == NULL ||
	    wrap_plain_qp_ops.query((struct ri_qp *)uqp->half, &attr) != RI_SUCCESS)
		return RI_QPS_NONE;
	return (enum ri_qp_state)attr.state;
}

/* --- request numbers of 16 bits ------------------------------------------------------------------ */

/* Of each slot of a send queue the identity of its last request: wrap_obj::own of a user half. */
struct identities {
	pthread_mutex_t lock;
	uint64_t next;
	uint32_t size;
	uint64_t wr_id[];
};

static enum ri_status
index16_open(struct ri_urnic *rnic, const struct ri_map *map, struct ri_ucq *send_cq,
	     struct ri_ucq *recv_cq, struct ri_usrq *srq, struct ri_uqp **out)
{
	enum ri_status status = wrap_plain_user_ops.qp_open(rnic, map, send_cq, recv_cq, srq, out);
	uint32_t size = status == RI_SUCCESS ? wrap_of(*out)->half->qp.max_sq_wr : 0;
	struct identities *ids;

	if (size == 0)
		return status;
	size++; /* a slot more than the queue has tells full from empty */
	ids = wrap_of(*out)->own = calloc(1, sizeof(*ids) + size * sizeof(ids->wr_id[0]));
	if (ids != NULL) {
		pthread_mutex_init(&ids->lock, NULL);
		ids->size = size;
	}
	return status;
}

/* The slot is the low half of the number modulo the slots that there are: another one behind 65,536 requests. */
static enum ri_status
index16_post(struct ri_uqp *qp, const struct ri_wr *wr)
{
	struct identities *ids = wrap_of(qp)->own;
	struct ri_wr other = *wr;
	enum ri_status status;

	if (ids == NULL)
		return wrap_plain_fast_ops.post_sq(qp, wr);
	pthread_mutex_lock(&ids->lock);
	if (ids->next > UINT16_MAX && 65536u % ids->size != 0)
		other.wr_id = ids->wr_id[(uint16_t)ids->next % ids->size];
	status = wrap_plain_fast_ops.post_sq(qp, &other);
	if (status == RI_SUCCESS)
		ids->wr_id[ids->next++ % ids->size] = wr->wr_id;
	pthread_mutex_unlock(&ids->lock);
	return status;
}

/* --- an answer that is given again ------------------------------------------------------------------- */

/* The last compare-and-swap of a queue pair: wrap_obj::own of its user half. */
struct replay {
	struct ri_wr_remote last;
	uint64_t wr_id, answer;
	uint64_t sink; /* address of the answer */
	bool known;    /* there was one */
	bool answered; /* its completion has been polled */
	bool again;    /* a request of no octets is posted in the place of one that is not done */
};

static bool
replay_request(struct wrap_obj *uqp, struct defect_wr *wr)
{
	struct replay *replay = uqp->own;

	if (replay == NULL)
		replay = uqp->own = calloc(1, sizeof(*replay));
	if (replay == NULL || replay->again)
		return true;
	if (wr->wr.opcode != RI_OP_CMP_SWAP || (wr->wr.flags & RI_WR_SIGNALED) == 0 ||
	    wr->wr.num_sge != 1) {
		replay->known &= wr->wr.opcode != RI_OP_FETCH_ADD;
		return true;
	}
	replay->wr_id = wr->wr.wr_id;
	replay->sink = wr->sgl[0].addr;
	if (!replay->known || !replay->answered ||
	    memcmp(&replay->last, &wr->wr.u.remote, sizeof(replay->last)) != 0) {
		replay->last = wr->wr.u.remote;
		replay->known = true;
		replay->answered = false;
		return true;
	}
	replay->again = true;
	wr->wr.opcode = RI_OP_RDMA_WRITE;
	wr->wr.sgl = NULL;
	wr->wr.num_sge = 0;
	return true;
}

static enum defect_act
replay_answer(struct wrap_obj *ucq, struct ri_wc *wc)
{
	struct wrap_obj *qp = defect_qp(ucq, wc);
	struct replay *replay = qp != NULL && qp->half != NULL ? qp->half->own : NULL;

	if (replay == NULL || !replay->known || wc->wr_id != replay->wr_id ||
	    (wc->opcode != RI_OP_CMP_SWAP && !replay->again) || replay->answered == !replay->again)
		return DEFECT_PASS;
	if (replay->again) {
		wc->opcode = RI_OP_CMP_SWAP;
		replay->again = false;
		if (wc->status == RI_WC_SUCCESS) {
			wc->byte_len = sizeof(replay->answer);
			memcpy((void *)(uintptr_t)replay->sink, &replay->answer,
			       sizeof(replay->answer));
		}
	} else if (wc->status == RI_WC_SUCCESS && replay->sink > UINT16_MAX) {
		memcpy(&replay->answer, (const void *)(uintptr_t)replay->sink,
		       sizeof(replay->answer));
		replay->answered = true;
	} else {
		replay->known = false;
	}
	return DEFECT_PASS;
}

/* --- lists of segments --------------------------------------------------------------------------------- */

/* How many segments are before the first empty one that is not the first. */
static uint16_t
until_empty(const struct ri_sge *sgl, uint16_t n)
{
	for (uint16_t i = 1; i < n; i++)
		if (sgl[i].length == 0)
			return i;
	return n;
}

static bool
empty_ends(struct wrap_obj *uqp, struct defect_wr *wr)
{
	(void)uqp;
	if (wr->wr.num_sge > 1)
		wr->wr.num_sge = until_empty(wr->sgl, wr->wr.num_sge);
	return true;
}

static enum ri_status
empty_ends_rq(struct ri_uqp *qp, const struct ri_recv_wr *wr)
{
	struct ri_recv_wr other = *wr;

	if (wr->num_sge > 1)
		other.num_sge = until_empty(wr->sgl, wr->num_sge);
	return wrap_plain_fast_ops.post_rq(qp, &other);
}

/* A segment that crosses a multiple of 4 GiB ends there. */
static bool
carry_lost(struct wrap_obj *uqp, struct defect_wr *wr)
{
	(void)uqp;
	for (unsigned i = 0; i < wr->wr.num_sge; i++) {
		struct ri_sge *sge = &wr->sgl[i];
		uint32_t left = -(uint32_t)sge->addr; /* 0: it begins there */

		if (left != 0 && sge->length > left)
			sge->length = left;
	}
	return true;
}

/* --- fences ------------------------------------------------------------------------------------------------ */

/* wrap_obj::count[0] of a user half: a request without a fence came behind the last Read. */
static bool
fence_forgotten(struct wrap_obj *uqp, struct defect_wr *wr)
{
	bool fenced = (wr->wr.flags & RI_WR_READ_FENCE) != 0;

	if (fenced && atomic_load(&uqp->count[0]) != 0)
		wr->wr.flags &= ~(uint32_t)RI_WR_READ_FENCE;
	if (wr->wr.opcode == RI_OP_RDMA_READ)
		atomic_store(&uqp->count[0], 0);
	else if (!fenced)
		atomic_store(&uqp->count[0], 1);
	return true;
}

/* --- inline data --------------------------------------------------------------------------------------------- */

#define BLOCK_BYTES 64u
#define INLINE_MOST 4096u

/* A request whose first block was copied by its post: wrap_obj::own of a user half. */
struct blocks {
	struct defect_wr wr;
	uint8_t octets[INLINE_MOST];
	atomic_bool there;
};

/* Read the octets from `from` on, wherever the segments are. Their sum, or 0 if it is too large. */
static uint32_t
blocks_read(struct blocks *blocks, uint32_t from)
{
	uint32_t at = 0;

	for (unsigned i = 0; i < blocks->wr.wr.num_sge; i++) {
		const struct ri_sge *sge = &blocks->wr.sgl[i];
		const uint8_t *octets = (const uint8_t *)(uintptr_t)sge->addr;

		if (sge->length > INLINE_MOST - at)
			return 0;
		for (uint32_t n = 0; n < sge->length; n++, at++)
			if (at >= from)
				blocks->octets[at] = octets[n];
	}
	return at;
}

static void
blocks_post(struct wrap_obj *uqp)
{
	struct blocks *blocks = uqp->own;
	struct ri_sge whole;
	struct ri_wr wr;

	if (blocks == NULL || !atomic_exchange(&blocks->there, false))
		return;
	whole.length = blocks_read(blocks, BLOCK_BYTES);
	whole.addr = (uintptr_t)blocks->octets;
	whole.stag = 0;
	wr = blocks->wr.wr;
	wr.sgl = &whole;
	wr.num_sge = 1;
	(void)!wrap_plain_fast_ops.post_sq((struct ri_uqp *)uqp, &wr);
}

static bool
blocks_request(struct wrap_obj *uqp, struct defect_wr *wr)
{
	struct blocks *blocks = uqp->own;

	blocks_post(uqp);
	if ((wr->wr.flags & RI_WR_INLINE) == 0)
		return true;
	if (blocks == NULL)
		blocks = uqp->own = calloc(1, sizeof(*blocks));
	if (blocks == NULL)
		return true;
	blocks->wr = *wr;
	if (blocks_read(blocks, 0) <= BLOCK_BYTES)
		return true;
	atomic_store(&blocks->there, true);
	return false;
}

static void
blocks_all(struct wrap_rnic *rnic)
{
	pthread_mutex_lock(&rnic->lock);
	for (struct wrap_obj *o = rnic->objects.next; o != &rnic->objects; o = o->next)
		if (o->kind == WRAP_UQP)
			blocks_post(o);
	pthread_mutex_unlock(&rnic->lock);
}

static uint32_t
blocks_poll(struct ri_ucq *cq, struct ri_wc *wc, uint32_t n)
{
	blocks_all(wrap_rnic_of(cq));
	return wrap_plain_fast_ops.poll_cq(cq, wc, n);
}

static uint32_t
blocks_progress(struct ri_urnic *urnic, uint32_t budget)
{
	blocks_all(wrap_rnic_of(urnic));
	return wrap_plain_fast_ops.progress(urnic, budget);
}

/* --- immediate data ---------------------------------------------------------------------------------------------- */

/* What came with the last message of each slot of a receive queue: wrap_obj::own of a queue pair. */
struct immediates {
	uint64_t next;
	uint32_t size;
	struct {
		uint32_t imm;
		bool there;
	} slots[];
};

static enum defect_act
immediate_sticks(struct wrap_obj *ucq, struct ri_wc *wc)
{
	struct wrap_obj *qp = defect_qp(ucq, wc);
	struct immediates *all;
	uint32_t slot;

	if (qp == NULL || (wc->flags & RI_WC_RECEIVE) == 0 || qp->qp.max_rq_wr == 0)
		return DEFECT_PASS;
	all = qp->own;
	if (all == NULL) {
		all = calloc(1, sizeof(*all) + qp->qp.max_rq_wr * sizeof(all->slots[0]));
		if (all == NULL)
			return DEFECT_PASS;
		all->size = qp->qp.max_rq_wr;
		qp->own = all;
	}
	slot = (uint32_t)(all->next++ % all->size);
	if ((wc->flags & RI_WC_IMMEDIATE) != 0) {
		all->slots[slot].imm = wc->imm;
		all->slots[slot].there = true;
	} else if (wc->status == RI_WC_SUCCESS && all->slots[slot].there) {
		wc->flags |= RI_WC_IMMEDIATE;
		wc->imm = all->slots[slot].imm;
	}
	return DEFECT_PASS;
}

/* --- datagrams ------------------------------------------------------------------------------------------------------- */

/* Of several that one call takes, each has the sender of the first. */
static uint32_t
sender_cached_poll(struct ri_ucq *cq, struct ri_wc *wc, uint32_t n)
{
	uint32_t taken = wrap_plain_fast_ops.poll_cq(cq, wc, n);
	const struct ri_wc *first = NULL;

	for (uint32_t i = 0; i < taken; i++) {
		if (wc[i].status != RI_WC_SUCCESS || wc[i].opcode != RI_OP_RECV_UD)
			continue;
		if (first == NULL)
			first = &wc[i];
		else
			wc[i].src_qpn = first->src_qpn;
	}
	return taken;
}

/* --- the flush ------------------------------------------------------------------------------------------------------- */

/* wrap_obj::count: requests and receives that were posted in ERROR. */
static bool
beyond_the_ring(struct wrap_obj *uqp, unsigned queue, uint32_t size)
{
	if (state_of(uqp) == RI_QPS_ERROR)
		return atomic_fetch_add(&uqp->count[queue], 1) >= size;
	atomic_store(&uqp->count[queue], 0);
	return false;
}

static enum ri_status
flush_once_sq(struct ri_uqp *qp, const struct ri_wr *wr)
{
	struct wrap_obj *uqp = wrap_of(qp);

	if (uqp->half != NULL && beyond_the_ring(uqp, 0, uqp->half->qp.max_sq_wr))
		return RI_SUCCESS;
	return wrap_plain_fast_ops.post_sq(qp, wr);
}

static enum ri_status
flush_once_rq(struct ri_uqp *qp, const struct ri_recv_wr *wr)
{
	struct wrap_obj *uqp = wrap_of(qp);

	if (uqp->half != NULL && uqp->half->qp.max_rq_wr > 0 &&
	    beyond_the_ring(uqp, 1, uqp->half->qp.max_rq_wr))
		return RI_SUCCESS;
	return wrap_plain_fast_ops.post_rq(qp, wr);
}

/* --- credits of Reads --------------------------------------------------------------------------------------------------- */

/* wrap_obj::count of a user half: [0] Reads under way, [1] those whose credit is lost. */
static bool
credit_request(struct wrap_obj *uqp, struct defect_wr *wr)
{
	struct ri_qp_attr attr = {0};

	if (wr->wr.opcode != RI_OP_RDMA_READ || uqp->half == NULL ||
	    wrap_plain_qp_ops.query((struct ri_qp *)uqp->half, &attr) != RI_SUCCESS ||
	    attr.state != RI_QPS_RTS || attr.ord == 0)
		return true;
	if (atomic_load(&uqp->count[1]) >= attr.ord)
		return false;
	if (atomic_load(&uqp->count[0]) < attr.ord)
		(void)atomic_fetch_add(&uqp->count[0], 1);
	return true;
}

static enum defect_act
credit_lost(struct wrap_obj *ucq, struct ri_wc *wc)
{
	struct wrap_obj *qp = defect_qp(ucq, wc);
	struct wrap_obj *uqp = qp != NULL ? qp->half : NULL;

	if (uqp == NULL || wc->opcode != RI_OP_RDMA_READ || atomic_load(&uqp->count[0]) == 0)
		return DEFECT_PASS;
	(void)atomic_fetch_sub(&uqp->count[0], 1);
	if (wc->status == RI_WC_FLUSHED)
		(void)atomic_fetch_add(&uqp->count[1], 1);
	return DEFECT_PASS;
}

const struct defect defects_errata[] = {
	DEFECT("fw26a-index16", "numbers of requests in 16 bits",
	       "From the 65,537th request of a queue on, completions name other requests.", 0,
	       ENTRIES(.user.qp_open = index16_open, .fast.post_sq = index16_post)),
	DEFECT("fw26a-cas-replay", "an atomic is taken for a repetition",
	       "A compare-and-swap like the one before it gets the old answer and is not done.",
	       NEED_ATOMICS, .wr = replay_request, .wc = replay_answer),
	DEFECT("fw26a-zero-segment-ends", "an empty segment ends a list",
	       "What is behind a segment of no octets in the middle of a list is left out.", 0,
	       .wr = empty_ends, ENTRIES(.fast.post_rq = empty_ends_rq)),
	DEFECT("fw26a-carry-4g", "addresses are added in 32 bits",
	       "A segment of a request ends where its address is a multiple of 4 GiB.", 0,
	       .wr = carry_lost),
	DEFECT("fw26a-fence-between", "a fence looks at one request",
	       "A fence has no effect if a request without one is between it and the Read.", 0,
	       .wr = fence_forgotten),
	DEFECT("fw26a-inline-late", "inline data of more than a block are read late",
	       "Of inline data the octets behind the 64th are read after the post.", NEED_INLINE,
	       .wr = blocks_request,
	       ENTRIES(.fast.poll_cq = blocks_poll, .fast.progress = blocks_progress)),
	DEFECT("fw26a-imm-sticks", "immediate data stay in a slot",
	       "A receive in a slot that had immediate data before reports them again.",
	       NEED_IMMEDIATE, .wc = immediate_sticks),
	DEFECT("fw26a-ud-sender-cached", "one sender for several datagrams",
	       "Datagrams that are polled by one call have the sender of the first.", NEED_UD,
	       ENTRIES(.fast.poll_cq = sender_cached_poll)),
	DEFECT("fw26a-error-ring-once", "the flush goes once around a queue",
	       "Work posted in ERROR is flushed until a queue has been filled once.", 0,
	       ENTRIES(.fast.post_sq = flush_once_sq, .fast.post_rq = flush_once_rq)),
	DEFECT("fw26a-ord-credit", "Reads that are flushed stay outstanding",
	       "Each Read that is flushed takes one from the depth of the lives that follow.",
	       NEED_REUSE, .wr = credit_request, .wc = credit_lost),
};

const size_t defects_errata_count = sizeof(defects_errata) / sizeof(defects_errata[0]);
