/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * [fast path] Posts: a request or receive becomes one of the device, with a slot for its completion. The usual request,
 * a Send, Write or Read of a connected queue pair, takes the short way (vib_post_sq), all others the long one (post_odd).
 *
 * The segments of both interfaces have the same layout, so the device reads the caller's array. No lock, no allocation:
 * the access layer makes one post at a time on an object (ri_rnic_attr::thread_safe_queues is not claimed).
 *
 * After the end of a connection posts do not reach the device (VIB_GATE_FLUSH): the thread that posts completes them as
 * flushed, unless earlier ones are still with the device; then the drain does (vib_qp_end.c).
 */
#include "vib_post.h"

#include <errno.h>
#include <string.h>

#include "vib_ah.h"
#include "vib_chain.h"
#include "vib_cq.h"
#include "vib_ring.h"

_Static_assert(sizeof(struct ri_sge) == sizeof(struct ibv_sge), "same layout");
_Static_assert(offsetof(struct ri_sge, addr) == offsetof(struct ibv_sge, addr), "same layout");
_Static_assert(offsetof(struct ri_sge, length) == offsetof(struct ibv_sge, length), "same layout");
_Static_assert(offsetof(struct ri_sge, stag) == offsetof(struct ibv_sge, lkey), "same layout");

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

/* The opcode of the device, and the shape. */
static const struct {
	uint8_t opcode;
	uint8_t shape;
} kinds[RI_OP_COUNT] = {
	[RI_OP_SEND] = {IBV_WR_SEND, SHAPE_SEND},
	[RI_OP_RDMA_WRITE] = {IBV_WR_RDMA_WRITE, SHAPE_RDMA},
	[RI_OP_RDMA_READ] = {IBV_WR_RDMA_READ, SHAPE_RDMA},
	[RI_OP_FETCH_ADD] = {IBV_WR_ATOMIC_FETCH_AND_ADD, SHAPE_ATOMIC},
	[RI_OP_CMP_SWAP] = {IBV_WR_ATOMIC_CMP_AND_SWP, SHAPE_ATOMIC},
	[RI_OP_BIND_MW] = {IBV_WR_BIND_MW, SHAPE_BIND},
	[RI_OP_LOCAL_INV] = {IBV_WR_LOCAL_INV, SHAPE_INVALIDATE},
	[RI_OP_SEND_UD] = {IBV_WR_SEND, SHAPE_UD},
};

/* Flags that take the long way. */
#define ODD_FLAGS (RI_WR_COALESCE | RI_WR_INVALIDATE | RI_WR_LOCAL_FENCE | RI_WR_BIND_RELATIVE)

/* Flags of the device, by the four low bits of ours. */
#define FLAGS(signaled_, solicited_, fence_) \
	((signaled_)*IBV_SEND_SIGNALED | (solicited_)*IBV_SEND_SOLICITED | (fence_)*IBV_SEND_FENCE)
static const uint8_t device_flags[16] = {
	FLAGS(0, 0, 0), FLAGS(1, 0, 0), FLAGS(0, 0, 0), FLAGS(1, 0, 0),
	FLAGS(0, 1, 0), FLAGS(1, 1, 0), FLAGS(0, 1, 0), FLAGS(1, 1, 0),
	FLAGS(0, 0, 1), FLAGS(1, 0, 1), FLAGS(0, 0, 1), FLAGS(1, 0, 1),
	FLAGS(0, 1, 1), FLAGS(1, 1, 1), FLAGS(0, 1, 1), FLAGS(1, 1, 1),
};
_Static_assert((RI_WR_SIGNALED | RI_WR_NOTIFY | RI_WR_SOLICITED | RI_WR_READ_FENCE) == 15,
	       "the table has all of them");

/* Why the device refuses a post. */
static enum ri_status
refused(int error)
{
	return error == ENOMEM ? RI_ERR_QUEUE_FULL : RI_ERR_UNSUPPORTED;
}

/* Complete what was just posted as flushed, if all before it is completed. */
static void
flush_here(struct ri_uqp *qp, const struct vib_ring *ring, bool send)
{
	struct ri_ucq *cq = send ? qp->send_cq : qp->recv_cq;

	vsw_lock(&cq->lock);
	vib_cq_stage_all(cq, NULL);
	if (vib_ring_used(ring) == 1)
		(void)vib_cq_flush_one(qp, send);
	vsw_unlock(&cq->lock);
	vib_cq_tell((struct ri_cq *)cq);
}

/* Free slots of requests whose completions nobody polls: they succeeded, and were signalled for our own sake. */
static void
reclaim(struct ri_uqp *qp)
{
	vsw_lock(&qp->send_cq->lock);
	vib_cq_stage(qp->send_cq);
	vsw_unlock(&qp->send_cq->lock);
}

/* --- a request ----------------------------------------------------------------------------------- */

/* What the completion needs. */
static inline void
slot_fill(struct vib_slot *slot, const struct ri_wr *wr)
{
	uint32_t length = 0;

	if (__builtin_expect(wr->num_sge == 1, 1)) {
		length = wr->sgl[0].length;
	} else {
		for (unsigned i = 0; i < wr->num_sge; i++)
			length += wr->sgl[i].length;
	}
	slot->wr_id = wr->wr_id;
	slot->byte_len = length;
	slot->opcode = wr->opcode;
	slot->flags = (uint8_t)((wr->flags & RI_WR_NOTIFY) >> 1);
	_Static_assert(RI_WR_NOTIFY >> 1 == RI_WC_SOLICITED, "one place down");
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
	out->send_flags = device_flags[wr->flags & 15];
	out->wr.rdma.remote_addr = wr->u.remote.addr;
	out->wr.rdma.rkey = wr->u.remote.stag;
}

/* A bind: find window and region, and keep both for the post. False: they are not there. */
static bool
bind_fill(struct ri_uqp *qp, const struct ri_wr *wr, struct vib_wr *out)
{
	struct ibv_mw_bind_info *info = &out->wr.bind_mw.bind_info;
	struct vib_key *window = vib_key_get(qp->keys, VIB_KEY_WINDOW, wr->u.bind.mw_stag);
	struct vib_key *region = vib_key_get(qp->keys, VIB_KEY_REGION, wr->u.bind.mr_stag);

	out->uses[VIB_WR_OBJECT] = window;
	out->uses[VIB_WR_REGION] = region;
	if (window == NULL || region == NULL || window->pd != qp->pd || region->pd != qp->pd)
		return false;
	out->wr.bind_mw.mw = ((struct ri_mw *)window->object)->mw;
	out->wr.bind_mw.rkey = wr->u.bind.mw_stag;
	info->mr = (struct ibv_mr *)region->object;
	info->addr = wr->u.bind.addr;
	info->length = wr->u.bind.length;
	info->mw_access_flags = vib_access(wr->u.bind.access);
	return true;
}

/* A datagram. False: the address handle is not there. */
static bool
ud_fill(struct ri_uqp *qp, const struct ri_wr *wr, struct vib_wr *out)
{
	struct vib_key *ah = vib_key_get(qp->keys, VIB_KEY_AH, wr->u.ud.ah);

	out->uses[VIB_WR_OBJECT] = ah;
	if (ah == NULL || ah->pd != qp->pd)
		return false;
	out->wr.wr.ud.ah = vib_ah_of(ah);
	out->wr.wr.ud.remote_qpn = wr->u.ud.qpn;
	out->wr.wr.ud.remote_qkey = wr->u.ud.qkey;
	return true;
}

/* What only some opcodes have. False: the request names an object that is not there. */
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
		slot->u.window = wr->u.bind.mw_stag;
		return bind_fill(qp, wr, out);
	case SHAPE_INVALIDATE:
		slot->u.window = wr->inv_stag;
		out->wr.invalidate_rkey = wr->inv_stag;
		return true;
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
	if ((window && !qp->windows) ||
	    ((wr->flags & invalidates) != 0 && (shape != SHAPE_SEND || !qp->invalidates)))
		return RI_ERR_UNSUPPORTED;
	if (wr->num_sge > qp->max_send_sge ||
	    (wr->opcode == RI_OP_RDMA_READ && wr->num_sge > qp->max_read_sge))
		return RI_ERR_LIMIT;
	return RI_SUCCESS;
}

/* --- the long way ---------------------------------------------------------------------------------- */

/*
 * The request names a window, region or address handle that is not there. It fails when its turn comes, like one that the
 * device judges: it goes behind those that are kept and never leaves, and the queue pair ends.
 */
static enum ri_status
post_failed(struct ri_uqp *qp, struct vib_slot *slot, const struct vib_wr *made, uint32_t tail)
{
	struct vib_wr *place;

	vib_chain_run(qp);
	place = vib_chain_next(&qp->chain);
	if (place == NULL)
		return RI_ERR_QUEUE_FULL;
	slot->flags |= VIB_SLOT_FAULT;
	slot->status = slot->opcode == RI_OP_BIND_MW ? RI_WC_MW_BIND : RI_WC_LOCAL_QP;
	vib_chain_fault(qp);
	*place = *made;
	memset(place->uses, 0, sizeof(place->uses));
	atomic_store(&qp->sq.tail, tail + 1);
	vib_chain_keep(qp, place);
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
	atomic_store_explicit(&qp->sq.tail, tail + 1, memory_order_release);
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
	atomic_store_explicit(&qp->sq.tail, tail, memory_order_release);
	return refused(error);
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
	atomic_store(&qp->sq.tail, tail + 1);
	vib_chain_keep(qp, place);
	if (!wait || vib_chain_next(&qp->chain) == NULL || atomic_load(&qp->gate) != VIB_GATE_OPEN)
		vib_chain_run(qp);
	return RI_SUCCESS;
}

/* Everything that is not usual: the gate is not open, something is kept or to be kept, an odd request or queue pair. */
static __attribute__((noinline)) enum ri_status
post_odd(struct ri_uqp *qp, const struct ri_wr *wr)
{
	uint32_t tail = atomic_load_explicit(&qp->sq.tail, memory_order_relaxed);
	uint32_t gate = atomic_load(&qp->gate);
	struct vib_slot *slot = vib_ring_next(&qp->sq, tail);
	enum ri_status status = request_check(qp, wr);
	struct vib_wr made;

	if (status != RI_SUCCESS)
		return status;
	if (gate == VIB_GATE_KEPT)
		return RI_ERR_INVALID_STATE;
	if (slot == NULL) {
		vib_chain_run(qp);
		if (qp->send_cq->reorders)
			reclaim(qp);
		slot = vib_ring_next(&qp->sq, tail);
	}
	if (slot == NULL)
		return RI_ERR_QUEUE_FULL;
	slot_fill(slot, wr);
	if (gate == VIB_GATE_FLUSH) {
		atomic_store(&qp->sq.tail, tail + 1);
		flush_here(qp, &qp->sq, true);
		return RI_SUCCESS;
	}
	memset(&made, 0, sizeof(made));
	request_fill(&made.wr, wr, slot);
	if (qp->send_cq->reorders) {
		if ((wr->flags & RI_WR_SIGNALED) == 0)
			slot->flags |= VIB_SLOT_QUIET;
		made.wr.send_flags |= IBV_SEND_SIGNALED;
	}
	bool there = shape_fill(qp, wr, slot, &made);
	bool wait = (wr->flags & RI_WR_COALESCE) != 0 && made.uses[VIB_WR_OBJECT] == NULL;
	if (!there)
		status = post_failed(qp, slot, &made, tail);
	else if (wait || vib_chain_busy(&qp->chain))
		status = post_kept(qp, &made, tail, wait);
	else
		return post_now(qp, &made, tail);
	if (!there || status != RI_SUCCESS)
		vib_wr_done(&made);
	return status;
}

/* The device has not taken the request. */
static __attribute__((noinline, cold)) enum ri_status
post_undo(struct ri_uqp *qp, int error)
{
	uint32_t tail = atomic_load_explicit(&qp->sq.tail, memory_order_relaxed);

	atomic_store_explicit(&qp->sq.tail, tail - 1, memory_order_release);
	return refused(error);
}

/* To the device at once, with a payload that may be copied; its slot is filled in. */
static __attribute__((noinline)) enum ri_status
post_small(struct ri_uqp *qp, const struct ri_wr *wr, const struct vib_slot *slot, uint32_t tail)
{
	struct ibv_send_wr out, *bad;
	struct vib_key *copied;
	int error;

	request_fill(&out, wr, slot);
	copied = vib_inline_begin(qp, &out);
	atomic_store_explicit(&qp->sq.tail, tail + 1, memory_order_release);
	error = ibv_post_send(qp->qp, &out, &bad);
	if (copied != NULL)
		vib_key_put(copied);
	return __builtin_expect(error == 0, 1) ? RI_SUCCESS : post_undo(qp, error);
}

enum ri_status
vib_post_sq(struct ri_uqp *qp, const struct ri_wr *wr)
{
	uint32_t tail = atomic_load_explicit(&qp->sq.tail, memory_order_relaxed);
	struct vib_slot *slot = &qp->sq.slots[tail & qp->sq.mask];
	struct ibv_send_wr out, *bad;
	int error;

	/* The chain before the gate: a failure of a chain closes the gate before the chain is empty. */
	if (__builtin_expect(tail - atomic_load_explicit(&qp->sq.head, memory_order_acquire) >=
					     qp->sq.room ||
				     vib_chain_busy(&qp->chain) || qp->odd ||
				     (uint8_t)(wr->opcode - 1) >= RI_OP_RDMA_READ ||
				     (wr->flags & ODD_FLAGS) != 0 ||
				     atomic_load_explicit(&qp->gate, memory_order_relaxed) !=
					     VIB_GATE_OPEN,
			     0))
		return post_odd(qp, wr);
	if (__builtin_expect(wr->num_sge > (wr->opcode == RI_OP_RDMA_READ ? qp->max_read_sge
									  : qp->max_send_sge),
			     0))
		return RI_ERR_LIMIT;
	slot_fill(slot, wr);
	if (slot->byte_len <= qp->max_inline)
		return post_small(qp, wr, slot, tail);
	request_fill(&out, wr, slot);
	/* Before the device has it: its completion may be polled before this call returns. */
	atomic_store_explicit(&qp->sq.tail, tail + 1, memory_order_release);
	error = ibv_post_send(qp->qp, &out, &bad);
	return __builtin_expect(error == 0, 1) ? RI_SUCCESS : post_undo(qp, error);
}

/* --- receives ---------------------------------------------------------------------------------------- */

/* What a receive has in its slot. */
static inline void
receive_fill(struct vib_slot *slot, const struct ri_recv_wr *wr, uint8_t opcode, uint8_t flags)
{
	slot->wr_id = wr->wr_id;
	slot->opcode = opcode;
	/* The device does not tell which messages were solicited, so each may have been. */
	slot->flags = (uint8_t)(RI_WC_RECEIVE | RI_WC_SOLICITED | flags);
}

static inline void
recv_fill(struct ibv_recv_wr *out, const struct vib_slot *slot, const struct ri_recv_wr *wr)
{
	out->wr_id = (uintptr_t)slot;
	out->next = NULL;
	out->sg_list = (struct ibv_sge *)(uintptr_t)wr->sgl;
	out->num_sge = wr->num_sge;
}

enum ri_status
vib_post_rq(struct ri_uqp *qp, const struct ri_recv_wr *wr)
{
	uint32_t tail = atomic_load_explicit(&qp->rq.tail, memory_order_relaxed);
	struct ibv_recv_wr out, *bad;
	struct vib_slot *slot;
	int error;

	if (qp->shared)
		return RI_ERR_INVALID_STATE;
	if (wr->num_sge > qp->max_recv_sge)
		return RI_ERR_LIMIT;
	slot = vib_ring_next(&qp->rq, tail);
	if (slot == NULL)
		return RI_ERR_QUEUE_FULL;
	receive_fill(slot, wr, qp->ud ? RI_OP_RECV_UD : RI_OP_RECV, 0);
	slot->u.inv_stag = 0;
	if (__builtin_expect(qp->ud, 0))
		qp->headers[slot->index] =
			wr->num_sge > 0 && wr->sgl[0].length >= VIB_GRH ? wr->sgl[0].addr : 0;
	atomic_store_explicit(&qp->rq.tail, tail + 1, memory_order_release);
	if (__builtin_expect(
		    atomic_load_explicit(&qp->gate, memory_order_relaxed) == VIB_GATE_FLUSH, 0)) {
		flush_here(qp, &qp->rq, false);
		return RI_SUCCESS;
	}
	recv_fill(&out, slot, wr);
	error = ibv_post_recv(qp->qp, &out, &bad);
	if (__builtin_expect(error == 0, 1))
		return RI_SUCCESS;
	atomic_store_explicit(&qp->rq.tail, tail, memory_order_release);
	return refused(error);
}

enum ri_status
vib_post_srq(struct ri_usrq *srq, const struct ri_recv_wr *wr)
{
	struct ibv_recv_wr out, *bad;
	struct vib_slot *slot;
	int error;

	if (wr->num_sge > srq->max_sge)
		return RI_ERR_LIMIT;
	slot = vib_slot_take(srq);
	if (slot == NULL)
		return RI_ERR_QUEUE_FULL;
	receive_fill(slot, wr, RI_OP_RECV, VIB_SLOT_SHARED);
	recv_fill(&out, slot, wr);
	error = ibv_post_srq_recv(srq->srq, &out, &bad);
	if (error == 0)
		return RI_SUCCESS;
	slot->u.next = srq->mine;
	srq->mine = slot->index + 1;
	return refused(error);
}

void
vib_flush_sq(struct ri_uqp *qp)
{
	if (vib_chain_busy(&qp->chain))
		vib_chain_run(qp);
}
