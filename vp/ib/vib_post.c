/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * [fast path] Posts: a request or receive becomes one of the device, with a slot for its completion.
 *
 * The segments of both interfaces have the same layout, so the device reads the caller's array. No lock, no allocation:
 * the access layer makes one post at a time on an object (ri_rnic_attr::thread_safe_queues is not claimed).
 *
 * After the end of a connection posts do not reach the device (VIB_GATE_FLUSH): the thread that posts completes them as
 * flushed, unless earlier ones are still with the device; then the drain does (vib_qp_end.c).
 */
#include "vib_post.h"

#include <errno.h>

#include "vib_cq.h"
#include "vib_ring.h"

_Static_assert(sizeof(struct ri_sge) == sizeof(struct ibv_sge), "same layout");
_Static_assert(offsetof(struct ri_sge, addr) == offsetof(struct ibv_sge, addr), "same layout");
_Static_assert(offsetof(struct ri_sge, length) == offsetof(struct ibv_sge, length), "same layout");
_Static_assert(offsetof(struct ri_sge, stag) == offsetof(struct ibv_sge, lkey), "same layout");

#define NO_OPCODE 0xff

/* The opcode of the device; what is not here is refused. */
static const uint8_t opcodes[RI_OP_COUNT] = {
	[RI_OP_NONE] = NO_OPCODE,
	[RI_OP_SEND] = IBV_WR_SEND,
	[RI_OP_RDMA_WRITE] = IBV_WR_RDMA_WRITE,
	[RI_OP_RDMA_READ] = IBV_WR_RDMA_READ,
	[RI_OP_FETCH_ADD] = IBV_WR_ATOMIC_FETCH_AND_ADD,
	[RI_OP_CMP_SWAP] = IBV_WR_ATOMIC_CMP_AND_SWP,
	[RI_OP_BIND_MW] = NO_OPCODE,
	[RI_OP_FAST_REG] = NO_OPCODE,
	[RI_OP_LOCAL_INV] = NO_OPCODE,
	[RI_OP_INV_MR] = NO_OPCODE,
	[RI_OP_SEND_UD] = NO_OPCODE,
	[RI_OP_RECV] = NO_OPCODE,
	[RI_OP_RECV_UD] = NO_OPCODE,
};

/* Flags of the device, by the three low bits of the rest: signalled, solicited, fence. */
static inline unsigned int
send_flags(uint32_t flags)
{
	return ((flags & RI_WR_SIGNALED) != 0 ? (unsigned)IBV_SEND_SIGNALED : 0) |
	       ((flags & RI_WR_SOLICITED) != 0 ? (unsigned)IBV_SEND_SOLICITED : 0) |
	       ((flags & RI_WR_READ_FENCE) != 0 ? (unsigned)IBV_SEND_FENCE : 0);
}

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

/* The slot, filled in. NULL: none is free. */
static inline struct vib_slot *
request_slot(struct ri_uqp *qp, const struct ri_wr *wr, uint32_t tail)
{
	struct vib_slot *slot = vib_ring_next(&qp->sq, tail);
	uint32_t length = 0;

	if (__builtin_expect(slot == NULL, 0)) {
		if (!qp->send_cq->reorders)
			return NULL;
		reclaim(qp);
		slot = vib_ring_next(&qp->sq, tail);
		if (slot == NULL)
			return NULL;
	}
	for (unsigned i = 0; i < wr->num_sge; i++)
		length += wr->sgl[i].length;
	slot->wr_id = wr->wr_id;
	slot->byte_len = length;
	slot->opcode = wr->opcode;
	slot->flags = (wr->flags & RI_WR_NOTIFY) != 0 ? RI_WC_SOLICITED : 0;
	return slot;
}

/* What only some opcodes have. */
static inline void
remote_fill(struct ibv_send_wr *out, const struct ri_wr *wr)
{
	if (wr->opcode == RI_OP_RDMA_WRITE || wr->opcode == RI_OP_RDMA_READ) {
		out->wr.rdma.remote_addr = wr->u.remote.addr;
		out->wr.rdma.rkey = wr->u.remote.stag;
	} else if (wr->opcode != RI_OP_SEND) {
		bool swap = wr->opcode == RI_OP_CMP_SWAP;

		out->wr.atomic.remote_addr = wr->u.remote.addr;
		out->wr.atomic.rkey = wr->u.remote.stag;
		out->wr.atomic.compare_add = wr->u.remote.operand;
		out->wr.atomic.swap = swap ? wr->u.remote.swap : 0;
	}
}

enum ri_status
vib_post_sq(struct ri_uqp *qp, const struct ri_wr *wr)
{
	uint32_t tail = atomic_load_explicit(&qp->sq.tail, memory_order_relaxed);
	uint32_t gate = atomic_load_explicit(&qp->gate, memory_order_relaxed);
	struct ibv_send_wr out, *bad;
	struct vib_slot *slot;
	int error;

	if (wr->opcode >= RI_OP_COUNT || opcodes[wr->opcode] == NO_OPCODE ||
	    (wr->flags & (RI_WR_INVALIDATE | RI_WR_LOCAL_FENCE)) != 0)
		return RI_ERR_UNSUPPORTED;
	if (wr->num_sge > qp->max_send_sge ||
	    (wr->opcode == RI_OP_RDMA_READ && wr->num_sge > qp->max_read_sge))
		return RI_ERR_LIMIT;
	if (__builtin_expect(gate == VIB_GATE_KEPT, 0))
		return RI_ERR_INVALID_STATE;
	slot = request_slot(qp, wr, tail);
	if (slot == NULL)
		return RI_ERR_QUEUE_FULL;
	if (__builtin_expect(gate == VIB_GATE_FLUSH, 0)) {
		atomic_store(&qp->sq.tail, tail + 1);
		flush_here(qp, &qp->sq, true);
		return RI_SUCCESS;
	}
	out.wr_id = (uintptr_t)slot;
	out.next = NULL;
	out.sg_list = (struct ibv_sge *)(uintptr_t)wr->sgl;
	out.num_sge = wr->num_sge;
	out.opcode = (enum ibv_wr_opcode)opcodes[wr->opcode];
	out.send_flags = send_flags(wr->flags);
	if (__builtin_expect(qp->send_cq->reorders, 0)) {
		if ((wr->flags & RI_WR_SIGNALED) == 0)
			slot->flags |= VIB_SLOT_QUIET;
		out.send_flags |= IBV_SEND_SIGNALED;
	}
	remote_fill(&out, wr);
	/* Before the device has it: its completion may be polled before this call returns. */
	atomic_store_explicit(&qp->sq.tail, tail + 1, memory_order_release);
	error = ibv_post_send(qp->qp, &out, &bad);
	if (__builtin_expect(error == 0, 1))
		return RI_SUCCESS;
	atomic_store_explicit(&qp->sq.tail, tail, memory_order_release);
	return refused(error);
}

/* What a receive has in its slot. */
static inline void
receive_fill(struct vib_slot *slot, const struct ri_recv_wr *wr, uint8_t flags)
{
	slot->wr_id = wr->wr_id;
	slot->opcode = RI_OP_RECV;
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
	receive_fill(slot, wr, 0);
	slot->u.inv_stag = 0;
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
	receive_fill(slot, wr, VIB_SLOT_SHARED);
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
	(void)qp; /* nothing is kept back */
}
