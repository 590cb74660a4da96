/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * [fast path] Posts: a request or receive becomes one of the device, with a slot for its completion. A Send, Write or
 * Read of a connected queue pair, with one segment that is not copied, takes the short path (vib_post_sq): it is filled
 * into a request that was prepared with the queue pair. With several segments, or copied, it takes the usual path
 * (post_usual). All others take post_odd.
 *
 * The segments of both interfaces have the same layout, so the device reads the caller's array. No lock, no allocation:
 * the access layer makes one post at a time on an object (ri_rnic_attr::thread_safe_queues is not claimed).
 *
 * From a disconnect, and after the end of a connection, posts do not reach the device (VIB_GATE_FLUSH): the thread that
 * posts completes them as flushed, unless earlier ones are still with the device; then the drain does (vib_qp_end.c).
 */
#include "vib_post.h"

#include <errno.h>
#include <string.h>

#include "vib_ah.h"
#include "vib_bind.h"
#include "vib_chain.h"
#include "vib_cq.h"
#include "vib_ring.h"

/* Members at the same place of two structs, one of which the device gets or is filled from. */
#define SAME(a_, x_, b_, y_) \
	_Static_assert(offsetof(struct a_, x_) == offsetof(struct b_, y_), "same layout")
#define RDMA_OFFSET(x_) (offsetof(struct ibv_send_wr, x_) - offsetof(struct ibv_send_wr, wr.rdma))
#define REMOTE_BYTES    sizeof(((struct ibv_send_wr *)0)->wr.rdma)

_Static_assert(sizeof(struct ri_sge) == sizeof(struct ibv_sge), "same layout");
SAME(ri_sge, addr, ibv_sge, addr);
SAME(ri_sge, length, ibv_sge, length);
SAME(ri_sge, stag, ibv_sge, lkey);
_Static_assert(offsetof(struct ri_wr_remote, addr) == RDMA_OFFSET(wr.rdma.remote_addr), "same");
_Static_assert(offsetof(struct ri_wr_remote, stag) == RDMA_OFFSET(wr.rdma.rkey), "same");
_Static_assert(REMOTE_BYTES <= sizeof(struct ri_wr_remote), "no more is copied than there is");

/* What a request of the device has besides its segments. */
enum shape {
	SHAPE_NONE = 0, /* not posted here */
	SHAPE_SEND,
	SHAPE_RDMA,
	SHAPE_ATOMIC,
	SHAPE_BIND,
	SHAPE_INVALIDATE,
	SHAPE_UD
};

/*
 * The opcode of the device, and the shape. What sends a payload can have it inline, and takes immediate data if the device
 * claims this RI_IMMEDIATE_* bit; its opcode is another one then.
 */
static const struct {
	uint8_t opcode;
	uint8_t shape;
	uint8_t immediate; /* 0: no payload is sent */
	uint8_t immediate_opcode;
} kinds[RI_OP_COUNT] = {
	[RI_OP_SEND] = {IBV_WR_SEND, SHAPE_SEND, RI_IMMEDIATE_SEND, IBV_WR_SEND_WITH_IMM},
	[RI_OP_RDMA_WRITE] = {IBV_WR_RDMA_WRITE, SHAPE_RDMA, RI_IMMEDIATE_WRITE,
			      IBV_WR_RDMA_WRITE_WITH_IMM},
	[RI_OP_RDMA_READ] = {IBV_WR_RDMA_READ, SHAPE_RDMA, 0, 0},
	[RI_OP_FETCH_ADD] = {IBV_WR_ATOMIC_FETCH_AND_ADD, SHAPE_ATOMIC, 0, 0},
	[RI_OP_CMP_SWAP] = {IBV_WR_ATOMIC_CMP_AND_SWP, SHAPE_ATOMIC, 0, 0},
	[RI_OP_BIND_MW] = {IBV_WR_BIND_MW, SHAPE_BIND, 0, 0},
	[RI_OP_LOCAL_INV] = {IBV_WR_LOCAL_INV, SHAPE_INVALIDATE, 0, 0},
	[RI_OP_SEND_UD] = {IBV_WR_SEND, SHAPE_UD, RI_IMMEDIATE_UD, IBV_WR_SEND_WITH_IMM},
};

/* Flags that take the long way. */
#define ODD_FLAGS                                                                      \
	(RI_WR_COALESCE | RI_WR_INVALIDATE | RI_WR_LOCAL_FENCE | RI_WR_BIND_RELATIVE | \
	 RI_WR_INLINE | RI_WR_IMMEDIATE)

#define SHORT_FLAGS (RI_WR_SIGNALED | RI_WR_NOTIFY | RI_WR_SOLICITED | RI_WR_READ_FENCE)
_Static_assert(SHORT_FLAGS == VIB_SHORT_FLAGS - 1, "vib_short::flags has all of them");
_Static_assert(RI_OP_SEND == 1 && RI_OP_RDMA_WRITE == 2 && RI_OP_RDMA_READ == 3, "of short posts");

/* Flags of the device, by flags of ours. */
static inline unsigned int
device_flags(uint32_t flags)
{
	return ((flags & RI_WR_SIGNALED) != 0 ? IBV_SEND_SIGNALED : 0u) |
	       ((flags & RI_WR_SOLICITED) != 0 ? IBV_SEND_SOLICITED : 0u) |
	       ((flags & RI_WR_READ_FENCE) != 0 ? IBV_SEND_FENCE : 0u);
}

/* Flags of a request's completion. */
static inline uint8_t
done_flags(uint32_t flags)
{
	return (flags & RI_WR_NOTIFY) != 0 ? RI_WC_SOLICITED : 0;
}

/* The eight bytes of a request that vib_short::form is about. */
static inline uint64_t
form_of(const struct ri_wr *wr)
{
	uint64_t form;

	memcpy(&form, (const char *)wr + offsetof(struct ri_wr, num_sge), sizeof(form));
	return form;
}
_Static_assert(offsetof(struct ri_wr, opcode) == offsetof(struct ri_wr, num_sge) + 2, "in a form");
_Static_assert(offsetof(struct ri_wr, flags) == offsetof(struct ri_wr, num_sge) + 4, "in a form");

void
vib_post_prepare(struct ri_uqp *qp)
{
	static const struct ri_wr one = {.num_sge = 1};
	static const struct ri_wr any = {.opcode = VIB_SHORT_OPCODES - 1, .flags = SHORT_FLAGS};
	struct vib_short *quick = &qp->quick;

	quick->left = 0;
	quick->form = form_of(&one);
	quick->mask = ~form_of(&any);
	/* libibverbs fills these in when it opens the device. */
	quick->post = qp->qp->context->ops.post_send;
	for (uint32_t i = 0; i < VIB_SHORT_FLAGS; i++)
		quick->flags[i] = device_flags(i);
	for (uint32_t i = 0; i < VIB_SHORT_OPCODES; i++) {
		struct vib_brief *brief = &quick->briefs[i];

		quick->by_opcode[i] = brief;
		brief->wr.num_sge = 1;
		brief->wr.opcode = (enum ibv_wr_opcode)kinds[i].opcode;
		brief->copied = qp->max_send_sge != 0 ? qp->max_inline : UINT32_MAX;
		for (uint32_t j = 0; j < VIB_SHORT_FLAGS; j++) {
			struct vib_done done = {.opcode = (uint8_t)i, .flags = done_flags(j)};

			brief->done[j] = done.kind;
		}
	}
	quick->briefs[RI_OP_NONE].copied = UINT32_MAX;
	quick->briefs[RI_OP_RDMA_READ].copied = qp->read_bound > 1 ? 0 : UINT32_MAX;
}

/* Enter a request into the queue, or take it back; the next post looks for room and chain. */
static inline void
tail_set(struct ri_uqp *qp, uint32_t tail)
{
	qp->quick.left = 0;
	atomic_store(&qp->sq.tail, tail);
}

/*
 * Free the slots of successful requests that were signalled only for the provider: no consumer
 * polls for their completions. If there are none, all slots stay in use until a poll [IT 7.4].
 */
static void
reclaim_slots(struct ri_uqp *qp)
{
	const struct vib_ring *ring = &qp->sq;
	uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
	uint32_t at;

	vsw_lock(&qp->send_cq->lock);
	at = vib_ring_done(ring);
	while (at != tail && (ring->slots[at & ring->mask].odd & VIB_SLOT_QUIET) == 0)
		at++;
	if (at != tail)
		vib_cq_stage(qp->send_cq);
	vib_cq_unlock(qp->send_cq);
}

/* --- a request ----------------------------------------------------------------------------------- */

/* What the completion needs. */
static inline void
slot_fill(struct vib_slot *slot, const struct ri_wr *wr, uint32_t tail)
{
	uint32_t length = 0;

	if (__builtin_expect(wr->num_sge == 1, 1)) {
		length = wr->sgl[0].length;
	} else {
		for (unsigned i = 0; i < wr->num_sge; i++)
			length += wr->sgl[i].length;
	}
	slot->done.wr_id = wr->wr_id;
	slot->done.byte_len = length;
	slot->done.opcode = wr->opcode;
	slot->done.flags = done_flags(wr->flags);
	slot->place = tail + 1;
	slot->odd = 0;
}

/* What every request has. */
static inline void
request_fill(struct ibv_send_wr *out, const struct ri_wr *wr, const struct vib_slot *slot)
{
	out->wr_id = (uintptr_t)slot;
	out->next = NULL;
	out->sg_list = (struct ibv_sge *)(uintptr_t)wr->sgl;
	out->num_sge = wr->num_sge;
	out->opcode = (enum ibv_wr_opcode)kinds[wr->opcode].opcode;
	out->send_flags = device_flags(wr->flags);
	out->wr.rdma.remote_addr = wr->u.remote.addr;
	out->wr.rdma.rkey = wr->u.remote.stag;
}

/* A datagram. False: the address handle is not there. */
static bool
ud_fill(struct ri_uqp *qp, const struct ri_wr *wr, struct vib_wr *out)
{
	struct vib_key *ah = vib_key_get(qp->keys, VIB_KEY_AH, wr->u.ud.ah);

	out->uses[VIB_WR_OBJECT] = ah;
	if (ah == NULL || ah->pd != qp->pd)
		return false;
	out->wr.wr.ud.remote_qpn = wr->u.ud.qpn;
	out->wr.wr.ud.ah = vib_ah_of(ah, &out->wr.wr.ud.remote_qpn);
	out->wr.wr.ud.remote_qkey = wr->u.ud.qkey;
	return true;
}

/* What only some opcodes have. False: the request must fail, because of an object that it names. */
static bool
shape_fill(struct ri_uqp *qp, const struct ri_wr *wr, struct vib_slot *slot, struct vib_wr *out)
{
	switch ((enum shape)kinds[wr->opcode].shape) {
	case SHAPE_SEND:
		if ((wr->flags & RI_WR_INVALIDATE) != 0) {
			out->wr.opcode = IBV_WR_SEND_WITH_INV;
			out->wr.invalidate_rkey = wr->inv_stag;
		}
		return true;
	case SHAPE_ATOMIC:
		out->wr.wr.atomic.remote_addr = wr->u.remote.addr;
		out->wr.wr.atomic.rkey = wr->u.remote.stag;
		out->wr.wr.atomic.compare_add = wr->u.remote.operand;
		out->wr.wr.atomic.swap = wr->opcode == RI_OP_CMP_SWAP ? wr->u.remote.swap : 0;
		return true;
	case SHAPE_BIND:
		slot->odd |= VIB_SLOT_OPCODE;
		slot->u.window = wr->u.bind.mw_stag;
		return vib_bind_fill(qp, wr, out);
	case SHAPE_INVALIDATE:
		slot->odd |= VIB_SLOT_OPCODE;
		slot->u.window = wr->inv_stag;
		/*
		 * An invalidation. False: the window may not be invalidated through this queue pair; or it is not
		 * bound, and the device would crash.
		 */
		enum vib_invalidation what = vib_mw_invalidation(qp, wr->inv_stag);

		out->wr.invalidate_rkey = wr->inv_stag;
		return what == VIB_INVALIDATION_DUE ||
		       (what == VIB_INVALIDATION_VOID && !qp->void_harms);
	case SHAPE_UD:
		return ud_fill(qp, wr, out);
	case SHAPE_RDMA:
	case SHAPE_NONE:
	default:
		return true;
	}
}

/* May the queue pair post this? */
static enum ri_status
request_check(const struct ri_uqp *qp, const struct ri_wr *wr)
{
	const uint32_t invalidates = RI_WR_INVALIDATE;
	unsigned int shape = wr->opcode < RI_OP_COUNT ? kinds[wr->opcode].shape : SHAPE_NONE;
	bool window = shape == SHAPE_BIND || shape == SHAPE_INVALIDATE;

	if (shape == SHAPE_NONE || (shape == SHAPE_UD) != qp->ud ||
	    (wr->flags & (RI_WR_LOCAL_FENCE | RI_WR_BIND_RELATIVE)) != 0)
		return RI_ERR_UNSUPPORTED;
	if (qp->uc && (wr->opcode == RI_OP_RDMA_READ || shape == SHAPE_ATOMIC))
		return RI_ERR_UNSUPPORTED;
	if ((window && !qp->windows) ||
	    ((wr->flags & invalidates) != 0 && (shape != SHAPE_SEND || !qp->invalidates)))
		return RI_ERR_UNSUPPORTED;
	if (wr->num_sge > qp->max_send_sge ||
	    (wr->opcode == RI_OP_RDMA_READ && wr->num_sge >= qp->read_bound))
		return RI_ERR_LIMIT;
	if ((wr->flags & (RI_WR_INLINE | RI_WR_IMMEDIATE)) != 0) {
		/* With RI_WR_INLINE, RI_WR_IMMEDIATE or both: may the request have them [RI 10.49], [RI 10.50]? */
		uint8_t immediate = kinds[wr->opcode].immediate;
		uint64_t length = 0;

		if (immediate == 0 ||
		    ((wr->flags & RI_WR_IMMEDIATE) != 0 &&
		     ((qp->immediate & immediate) == 0 || (wr->flags & RI_WR_INVALIDATE) != 0)))
			return RI_ERR_UNSUPPORTED;
		if ((wr->flags & RI_WR_INLINE) == 0)
			return RI_SUCCESS;
		for (unsigned i = 0; i < wr->num_sge; i++)
			length += wr->sgl[i].length;
		return length <= qp->inline_room ? RI_SUCCESS : RI_ERR_LIMIT;
	}
	return RI_SUCCESS;
}

/* --- the long way ---------------------------------------------------------------------------------- */

/*
 * The request names a window, region or address handle that does not exist, or an invalid bind. It
 * must fail when its turn comes, like one that the device refuses. So it is queued after the
 * requests that are kept, never reaches the device, and ends the queue pair.
 */
static enum ri_status
post_failed(struct ri_uqp *qp, struct vib_slot *slot, const struct vib_wr *made, uint32_t tail)
{
	struct vib_wr *place;
	bool ends;

	vib_chain_run(qp);
	place = vib_chain_next(&qp->chain);
	if (place == NULL)
		return RI_ERR_QUEUE_FULL;
	slot->odd |= VIB_SLOT_FAULT;
	slot->status = slot->done.opcode == RI_OP_BIND_MW || slot->done.opcode == RI_OP_LOCAL_INV
			       ? RI_WC_MW_BIND
			       : RI_WC_LOCAL_QP;
	/* Before it is kept, so that no other thread gives it to the device; the end begins behind that, and so finds it. */
	ends = vib_chain_close(qp);
	*place = *made;
	memset(place->uses, 0, sizeof(place->uses));
	tail_set(qp, tail + 1);
	vib_chain_keep(qp, place);
	if (ends)
		qp->host->task_run(qp->host->self, &((struct vib_qp *)qp)->fail);
	return RI_SUCCESS;
}

/* To the device at once. */
static enum ri_status
post_now(struct ri_uqp *qp, struct vib_wr *out, uint32_t tail)
{
	struct ibv_send_wr *bad;
	int error;

	out->uses[VIB_WR_INLINE] = vib_inline_begin(qp, &out->wr);
	if (out->wr.opcode == IBV_WR_BIND_MW)
		vib_mw_posting(qp, out);
	tail_set(qp, tail + 1);
	error = ibv_post_send(qp->qp, &out->wr, &bad);
	if (out->wr.opcode == IBV_WR_BIND_MW) {
		if (error == 0)
			vib_mw_posted(out);
		else
			vib_mw_completed(qp->keys, out->wr.bind_mw.rkey, true, false);
	}
	vib_wr_done(out);
	if (error == 0)
		return RI_SUCCESS;
	if (out->wr.opcode == IBV_WR_LOCAL_INV)
		vib_mw_completed(qp->keys, out->wr.invalidate_rkey, false, false);
	return vib_post_undo(qp, true, error);
}

/* A bind of a wide window; nothing is kept. */
static enum ri_status
post_wide(struct ri_uqp *qp, const struct ri_wr *wr, struct vib_wr *made, uint32_t tail)
{
	int error;

	tail_set(qp, tail + 1);
	error = vib_bind_wide(qp, wr, made);
	vib_wr_done(made);
	if (error == 0)
		return RI_SUCCESS;
	tail_set(qp, tail);
	return vib_post_refused(vib_post_errno(error));
}

/* Behind those that are kept, and with them if it may wait, too. What names an object waits for no other request. */
static enum ri_status
post_kept(struct ri_uqp *qp, const struct vib_wr *made, uint32_t tail, bool wait)
{
	struct vib_wr *place = vib_chain_next(&qp->chain);

	if (place == NULL) {
		vib_chain_run(qp);
		place = vib_chain_next(&qp->chain);
	}
	if (place == NULL)
		return RI_ERR_QUEUE_FULL; /* another thread posts just those */
	*place = *made;
	/* Both stores before the look at the gate: an end sees the request, or this thread sees the end. */
	tail_set(qp, tail + 1);
	vib_chain_keep(qp, place);
	if (!wait || vib_chain_next(&qp->chain) == NULL || atomic_load(&qp->gate) != VIB_GATE_OPEN)
		vib_chain_run(qp);
	return RI_SUCCESS;
}

/*
 * An invalidation of a window that is not bound has no effect [RI 5.2.2]. If all requests before it
 * are completed, it succeeds here, without the device. False: it is not such an invalidation, or
 * requests are before it.
 */
static bool
post_void(struct ri_uqp *qp, const struct ri_wr *wr, struct vib_slot *slot, uint32_t tail)
{
	struct ri_ucq *cq = qp->send_cq;
	bool done, tell;

	/* What the Send of a peer has invalidated is known when its receive is completed. */
	vsw_lock(&qp->recv_cq->lock);
	vib_cq_stage(qp->recv_cq);
	vib_cq_unlock(qp->recv_cq);
	if (vib_chain_busy(&qp->chain) ||
	    vib_mw_invalidation(qp, wr->inv_stag) != VIB_INVALIDATION_VOID)
		return false;
	vsw_lock(&cq->lock);
	if (vib_ring_open(&qp->sq) != qp->voids)
		vib_cq_stage(cq);
	done = vib_ring_open(&qp->sq) == qp->voids;
	if (done) {
		if ((wr->flags & RI_WR_SIGNALED) == 0)
			slot->odd |= VIB_SLOT_QUIET;
		tail_set(qp, tail + 1);
		vib_cq_void(qp);
	}
	tell = done && cq->armed != RI_ARM_NONE;
	vib_cq_unlock(cq);
	if (tell)
		vib_cq_tell((struct ri_cq *)cq);
	return done;
}

/* Everything that is not usual: the gate is not open, something is kept or to be kept, an odd request or queue pair. */
static __attribute__((noinline)) enum ri_status
post_odd(struct ri_uqp *qp, const struct ri_wr *wr)
{
	uint32_t tail = atomic_load_explicit(&qp->sq.tail, memory_order_relaxed);
	uint32_t gate = atomic_load(&qp->gate);
	struct vib_slot *slot = vib_ring_next(&qp->sq, tail);
	enum ri_status status = request_check(qp, wr);
	struct ibv_sge packed[VIB_SGES_MOST];
	struct vib_wr made;
	bool wide;

	if (status != RI_SUCCESS)
		return status;
	if (gate == VIB_GATE_KEPT)
		return RI_ERR_INVALID_STATE;
	if (slot == NULL) {
		vib_chain_run(qp);
		if (qp->send_cq->reorders)
			reclaim_slots(qp);
		slot = vib_ring_next(&qp->sq, tail);
	}
	if (slot == NULL)
		return RI_ERR_QUEUE_FULL;
	slot_fill(slot, wr, tail);
	wide = wr->opcode == RI_OP_BIND_MW && vib_bind_is_wide(qp, wr);
	if ((gate & VIB_GATE_FLUSH) != 0) {
		tail_set(qp, tail + 1);
		vib_post_flush_here(qp, &qp->sq, true);
		return RI_SUCCESS;
	}
	if (wr->opcode == RI_OP_LOCAL_INV && post_void(qp, wr, slot, tail))
		return RI_SUCCESS;
	memset(&made, 0, sizeof(made));
	request_fill(&made.wr, wr, slot);
	if ((wr->flags & RI_WR_INLINE) != 0)
		made.wr.send_flags |= IBV_SEND_INLINE;
	if ((wr->flags & RI_WR_IMMEDIATE) != 0) {
		made.wr.opcode = (enum ibv_wr_opcode)kinds[wr->opcode].immediate_opcode;
		made.wr.imm_data = wr->imm;
	}
	vib_request_fit(qp, &made.wr, packed);
	if (qp->send_cq->reorders) {
		if ((wr->flags & RI_WR_SIGNALED) == 0)
			slot->odd |= VIB_SLOT_QUIET;
		made.wr.send_flags |= IBV_SEND_SIGNALED;
	}
	bool there = shape_fill(qp, wr, slot, &made);
	if (there && wr->opcode == RI_OP_LOCAL_INV)
		vib_mw_invalidating(qp, wr->inv_stag);
	bool wait = (wr->flags & RI_WR_COALESCE) != 0 && made.uses[VIB_WR_OBJECT] == NULL;
	if (!there)
		status = post_failed(qp, slot, &made, tail);
	else if (wide && vib_bind_opens(qp))
		return post_wide(qp, wr, &made, tail);
	else if (wide || wait || vib_chain_busy(&qp->chain))
		status = post_kept(qp, &made, tail, wait);
	else
		return post_now(qp, &made, tail);
	if (!there || status != RI_SUCCESS)
		vib_wr_done(&made);
	return status;
}

/* A request that is posted is counted; it returns `status`. */
static enum ri_status
counted(struct ri_uqp *qp, const struct ri_wr *wr, enum ri_status status)
{
	if (status == RI_SUCCESS) {
		for (uint32_t i = 0; i < wr->num_sge; i++)
			ri_count(&qp->count->octets, wr->sgl[i].length);
		ri_count(&qp->count->posts[wr->opcode], 1);
	}
	return status;
}

/* --- the usual way and the short one ------------------------------------------------------------------ */

/* The device has not taken the request of the last slot, which was counted. */
static __attribute__((noinline, cold)) enum ri_status
post_undo(struct ri_uqp *qp, int error)
{
	const struct vib_done *done = &qp->quick.slot[-1].done;
	const uint64_t length = done->byte_len;
	const uint8_t opcode = done->opcode;
	enum ri_status status;

	qp->quick.left = 0;
	status = vib_post_undo(qp, true, error);
	if (status != RI_SUCCESS) {
		ri_count(&qp->count->octets, -length);
		ri_count(&qp->count->posts[opcode], UINT64_MAX);
	}
	return status;
}

/*
 * Post at once a request with several segments or with a payload that may be copied. vib_post_sq
 * has found that there is room and that nothing is kept, and has counted the post.
 */
static __attribute__((noinline)) enum ri_status
post_usual(struct ri_uqp *qp, const struct ri_wr *wr)
{
	uint32_t tail = atomic_load_explicit(&qp->sq.tail, memory_order_relaxed);
	struct vib_slot *slot = qp->quick.slot;
	struct ri_qp_counters *counters;
	struct ibv_send_wr out, *bad;
	struct vib_key *copied;
	int error;

	if (__builtin_expect(
		    (uint8_t)(wr->opcode - 1) >= RI_OP_RDMA_READ || (wr->flags & ODD_FLAGS) != 0 ||
			    atomic_load_explicit(&qp->gate, memory_order_relaxed) !=
				    VIB_GATE_OPEN ||
			    wr->num_sge >= (wr->opcode == RI_OP_RDMA_READ ? qp->read_bound
									  : qp->max_send_sge + 1),
		    0)) {
		qp->quick.left = 0;
		return counted(qp, wr, post_odd(qp, wr));
	}
	qp->quick.slot = slot + 1;
	slot_fill(slot, wr, tail);
	request_fill(&out, wr, slot);
	copied = vib_inline_begin(qp, &out);
	counters = qp->count;
	ri_count(&counters->octets, slot->done.byte_len);
	ri_count(&counters->posts[wr->opcode], 1);
	/* Before the device has it: its completion may be polled before this call returns. */
	atomic_store_explicit(&qp->sq.tail, tail + 1, memory_order_release);
	error = ibv_post_send(qp->qp, &out, &bad);
	if (copied != NULL)
		vib_key_put(copied);
	return __builtin_expect(error == 0, 1) ? RI_SUCCESS : post_undo(qp, error);
}

/*
 * Short posts have used up the slots that the last check found free, or an unusual request was
 * posted. Check again for free slots, up to the end of the array. The chain is checked before the
 * gate, because a failure of a chain closes the gate before the chain is empty.
 */
static __attribute__((noinline)) enum ri_status
post_look(struct ri_uqp *qp, const struct ri_wr *wr)
{
	uint32_t tail = atomic_load_explicit(&qp->sq.tail, memory_order_relaxed);
	uint32_t free =
		qp->sq.room - (tail - atomic_load_explicit(&qp->sq.head, memory_order_acquire));
	uint32_t index = tail & qp->sq.mask;

	qp->quick.left = 0;
	if (free == 0 || vib_chain_busy(&qp->chain) || qp->odd)
		return counted(qp, wr, post_odd(qp, wr));
	qp->quick.slot = &qp->sq.slots[index];
	qp->quick.left = (int32_t)(free <= qp->sq.mask - index ? free : qp->sq.mask - index + 1);
	return vib_post_sq(qp, wr);
}

enum ri_status
vib_post_sq(struct ri_uqp *qp, const struct ri_wr *wr)
{
	struct vib_short *quick = &qp->quick;
	const struct ri_sge *piece = wr->sgl;
	struct vib_brief *brief;
	struct vib_slot *slot;
	uint32_t tail, length, opcode, flags = wr->flags;
	struct ri_qp_counters *counters;
	enum ri_status status;
	uint64_t form;

	if (__builtin_expect(--quick->left < 0, 0))
		return post_look(qp, wr);
	/* A gate that is not open makes the form another one. */
	form = form_of(wr) | atomic_load_explicit(&qp->gate, memory_order_relaxed);
	if (__builtin_expect((form & quick->mask) != quick->form, 0))
		return post_usual(qp, wr);
	opcode = wr->opcode;
	brief = quick->by_opcode[opcode];
	length = piece->length;
	if (__builtin_expect(length <= brief->copied, 0))
		return post_usual(qp, wr);
	slot = quick->slot;
	slot->done.wr_id = wr->wr_id;
	slot->done.byte_len = length;
	slot->done.kind = brief->done[flags];
	brief->wr.wr_id = (uintptr_t)slot;
	brief->wr.sg_list = (struct ibv_sge *)(uintptr_t)piece;
	brief->wr.send_flags = quick->flags[flags];
	memcpy(&brief->wr.wr.rdma, &wr->u.remote, REMOTE_BYTES);
	/* Before the device has it: its completion may be polled before this call returns. */
	tail = atomic_load_explicit(&qp->sq.tail, memory_order_relaxed) + 1;
	slot->place = tail;
	atomic_store_explicit(&qp->sq.tail, tail, memory_order_release);
	counters = qp->count;
	ri_count(&counters->octets, length);
	ri_count(&counters->posts[opcode], 1);
	status = (enum ri_status)quick->post(qp->qp, &brief->wr, &quick->bad);
	quick->slot++;
	if (__builtin_expect(status != RI_SUCCESS, 0))
		status = post_undo(qp, (int)status); /* it was an errno */
	return status;
}

void
vib_flush_sq(struct ri_uqp *qp)
{
	if (vib_chain_busy(&qp->chain))
		vib_chain_run(qp);
}
