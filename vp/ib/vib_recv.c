/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * [fast path] Posts of receives, to a queue pair's own queue and to an SRQ. The rules are those of vib_post.c.
 */
#include "vib_cq.h"
#include "vib_post.h"
#include "vib_qp_end.h"
#include "vib_ring.h"

/* It never ran. The caller owns the lock of the CQ. */
static void
slot_flushed(struct vib_slot *slot)
{
	slot->odd = VIB_SLOT_FAULT;
	slot->status = RI_WC_FLUSHED;
	slot->u.window = 0; /* it has changed none */
}

void
vib_post_flush_here(struct ri_uqp *qp, const struct vib_ring *ring, bool send)
{
	struct ri_ucq *cq = send ? qp->send_cq : qp->recv_cq;
	uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
	struct vib_slot *slot = &ring->slots[(tail - 1) & ring->mask];

	vsw_lock(&cq->lock);
	/* The end has flushed it if nothing is open. */
	if (vib_ring_open(ring) != 0) {
		slot_flushed(slot);
		vib_cq_stage_all(cq, NULL);
	}
	if (vib_ring_open(ring) == 1)
		(void)vib_cq_flush_one(qp, send);
	vib_cq_unlock(cq);
	vib_cq_tell((struct ri_cq *)cq);
}

enum ri_status
vib_post_undo(struct ri_uqp *qp, bool send, int returned)
{
	struct ri_ucq *cq = send ? qp->send_cq : qp->recv_cq;
	struct vib_ring *ring = send ? &qp->sq : &qp->rq;
	const int error = vib_post_errno(returned);
	bool ended;

	if (vib_qp_lost(qp, error)) {
		/*
		 * The drain completes the receive that was just posted, even if nothing was posted before it,
		 * because the device may have queued the receive that it refused, and may flush it at the end [RI
		 * 12.3.3].
		 */
		uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);

		vsw_lock(&cq->lock);
		if (vib_ring_open(ring) != 0)
			slot_flushed(&ring->slots[(tail - 1) & ring->mask]);
		vsw_unlock(&cq->lock);
		return RI_SUCCESS;
	}
	/* Under the lock nobody flushes it. */
	vsw_lock(&cq->lock);
	ended = vib_ring_open(ring) == 0 || (atomic_load(&qp->gate) & VIB_GATE_FLUSH) != 0;
	if (!ended)
		atomic_fetch_sub(&ring->tail, 1);
	vsw_unlock(&cq->lock);
	if (!ended)
		return vib_post_refused(error);
	vib_post_flush_here(qp, ring, send);
	return RI_SUCCESS;
}

/* What a receive has in its slot. */
static inline void
receive_fill(struct vib_slot *slot, const struct ri_recv_wr *wr, uint8_t opcode, uint32_t odd)
{
	slot->done.wr_id = wr->wr_id;
	slot->done.opcode = opcode;
	/* The device does not report which messages were solicited, so each may have been. */
	slot->done.flags = RI_WC_RECEIVE | RI_WC_SOLICITED;
	slot->odd = odd;
}

static inline void
recv_fill(struct ibv_recv_wr *out, const struct vib_slot *slot, const struct ri_recv_wr *wr)
{
	out->wr_id = (uintptr_t)slot;
	out->next = NULL;
	out->sg_list = (struct ibv_sge *)(uintptr_t)wr->sgl;
	out->num_sge = wr->num_sge;
}

/* A receive without segments, for a device that refuses those: its only one has no octets. */
static inline void
recv_empty(struct ibv_recv_wr *out)
{
	static struct ibv_sge nothing;

	out->sg_list = &nothing;
	out->num_sge = 1;
}

/*
 * The address to which the route header of a datagram will be written, for the poll that reads it;
 * 0 unless all of it lies in memory of this process, which a dmabuf is not.
 */
static __attribute__((noinline)) uint64_t
header_place(const struct ri_uqp *qp, const struct ri_recv_wr *wr)
{
	const struct ri_sge *first = wr->sgl;
	struct vib_key *key;
	uint64_t offset, memory;
	bool fits;

	if (wr->num_sge == 0 || first->length < VIB_GRH)
		return 0;
	key = vib_key_get(qp->keys, VIB_KEY_REGION, first->stag);
	if (key == NULL)
		key = vib_key_get(qp->keys, VIB_KEY_ELSEWHERE, first->stag);
	if (key == NULL)
		return 0;
	memory = key->memory;
	offset = first->addr - key->addr;
	fits = key->pd == qp->pd && key->length >= VIB_GRH && offset <= key->length - VIB_GRH;
	vib_key_put(key);
	return fits && memory != 0 ? memory + offset : 0;
}

static inline __attribute__((always_inline)) enum ri_status
receive_post(struct ri_uqp *qp, const struct ri_recv_wr *wr)
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
	receive_fill(slot, wr, qp->ud ? RI_OP_RECV_UD : RI_OP_RECV, qp->ud ? VIB_SLOT_OPCODE : 0);
	slot->place = tail + 1;
	if (__builtin_expect(qp->ud, 0))
		qp->headers[tail & qp->rq.mask] = header_place(qp, wr);
	atomic_store_explicit(&qp->rq.tail, tail + 1, memory_order_release);
	if (__builtin_expect(
		    (atomic_load_explicit(&qp->gate, memory_order_relaxed) & VIB_GATE_FLUSH) != 0,
		    0)) {
		vib_post_flush_here(qp, &qp->rq, false);
		return RI_SUCCESS;
	}
	recv_fill(&out, slot, wr);
	if (__builtin_expect(wr->num_sge == 0, 0) && qp->empty_harms)
		recv_empty(&out);
	error = ibv_post_recv(qp->qp, &out, &bad);
	if (__builtin_expect(error == 0, 1))
		return RI_SUCCESS;
	return vib_post_undo(qp, false, error);
}

enum ri_status
vib_post_rq(struct ri_uqp *qp, const struct ri_recv_wr *wr)
{
	enum ri_status status = receive_post(qp, wr);

	if (__builtin_expect(status == RI_SUCCESS, 1))
		ri_count(&qp->count->posts[qp->ud ? RI_OP_RECV_UD : RI_OP_RECV], 1);
	return status;
}

enum ri_status
vib_post_srq(struct ri_usrq *srq, const struct ri_recv_wr *wr)
{
	struct ibv_recv_wr out, *bad;
	struct vib_slot *slot;
	uint32_t posts;
	int error;

	if (wr->num_sge > srq->max_sge)
		return RI_ERR_LIMIT;
	slot = vib_slot_take(srq);
	if (slot == NULL)
		return RI_ERR_QUEUE_FULL;
	receive_fill(slot, wr, RI_OP_RECV, VIB_SLOT_SHARED);
	recv_fill(&out, slot, wr);
	if (__builtin_expect(wr->num_sge == 0, 0) && srq->empty_harms)
		recv_empty(&out);
	/* Before the device has it: its completion may be polled before this call returns. */
	posts = atomic_load_explicit(&srq->posts, memory_order_relaxed);
	atomic_store_explicit(&srq->posts, posts + 1, memory_order_relaxed);
	error = ibv_post_srq_recv(srq->srq, &out, &bad);
	if (error == 0) {
		ri_count(&srq->count->posts[RI_OP_RECV], 1);
		return RI_SUCCESS;
	}
	atomic_store_explicit(&srq->posts, posts, memory_order_relaxed);
	slot->u.next = srq->mine;
	srq->mine = slot->place;
	return vib_post_refused(vib_post_errno(error));
}
