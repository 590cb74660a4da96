/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * [fast path] Completions: from the device's queue into ri_wc.
 *
 * A completion of the device has the address of a slot. The slot names the queue pair and has what the device does not
 * tell: the opcode of a request that failed, the number of its octets, and the request's id. Then the slot is free: a
 * queue completes in order, so with it all slots before it.
 *
 * Usually a poll converts directly into the caller's array. When completions must be counted or kept, they are staged:
 * converted into the staging ring, from which polls take first. Then nothing in them depends on a queue pair any more,
 * so a queue pair can be destroyed while its completions wait to be polled. An ordinary stage fills half of the ring; the
 * other half is for the destruction of queue pairs and for receives and requests that are flushed here.
 *
 * Devices that complete out of order (ri_ucq::reorders) have every request signalled: a completion marks its slot, and
 * completions are made from the oldest slot on as far as slots are marked. So they come in order on every device.
 */
#include <string.h>

#include "vib_chain.h"
#include "vib_cq.h"
#include "vib_ring.h"

#define BATCH 16 /* completions that are taken from the device at once */

/* --- conversion ------------------------------------------------------------------------------ */

/* The queue pair with an SRQ that has this number; NULL: it is destroyed. */
static struct ri_uqp *
member_find(const struct ri_ucq *cq, uint32_t qpn)
{
	struct ri_uqp *qp = cq->members[qpn % VIB_CQ_ROWS];

	while (qp != NULL && qp->qpn != qpn)
		qp = qp->next_member;
	return qp;
}

/*
 * The sender of a datagram, from the route header before the data. RoCE over IPv4 has an IP header in its place, in the
 * last 20 of the 40 bytes.
 */
static void
sender_fill(struct ri_wc *out, const struct ibv_wc *in, const struct vib_slot *slot,
	    const struct ri_uqp *qp)
{
	const uint8_t *header = (const uint8_t *)(uintptr_t)qp->headers[slot->index];

	out->src_qpn = in->src_qp;
	memset(out->src_addr, 0, sizeof(out->src_addr));
	if ((in->wc_flags & IBV_WC_GRH) == 0)
		return;
	out->flags |= RI_WC_GRH;
	if (header != NULL && header[0] >> 4 == 6) {
		memcpy(out->src_addr, header + 8, 16);
	} else if (header != NULL && header[20] >> 4 == 4) {
		memset(out->src_addr + 10, 0xff, 2);
		memcpy(out->src_addr + 12, header + 20 + 12, 4);
	}
}

/* What only some opcodes have. */
static __attribute__((noinline)) void
odd_fill(struct ri_wc *out, const struct ibv_wc *in, const struct vib_slot *slot,
	 const struct ri_uqp *qp)
{
	bool success = in->status == IBV_WC_SUCCESS;

	if (slot->opcode == RI_OP_BIND_MW || slot->opcode == RI_OP_LOCAL_INV)
		vib_mw_completed(qp->keys, slot->u.window, slot->opcode == RI_OP_BIND_MW, success);
	else if (slot->opcode == RI_OP_RECV_UD && success)
		sender_fill(out, in, slot, qp);
	if (success && (in->wc_flags & qp->invalidated) != 0) {
		out->flags |= RI_WC_INVALIDATED;
		out->inv_stag = in->invalidated_rkey;
		vib_mw_completed(qp->keys, in->invalidated_rkey, false, true);
	}
}

/* Opcodes with something of their own, as bits. */
#define ODD_OPCODES (1u << RI_OP_BIND_MW | 1u << RI_OP_LOCAL_INV | 1u << RI_OP_RECV_UD)

/*
 * A request or receive that failed: the device has moved its queue pair to its error state, and not every driver says so by
 * an event of its own. So it is the end of the connection.
 */
static __attribute__((noinline, cold)) void
failure_fill(struct ri_wc *out, const struct ibv_wc *in, const struct vib_slot *slot,
	     const struct ri_uqp *qp)
{
	out->status = (uint8_t)vib_status_of_wc(in->status);
	out->flags = (uint8_t)(RI_WC_SOLICITED | (slot->flags & RI_WC_RECEIVE));
	out->detail = in->vendor_err;
	out->byte_len = 0;
	/* Once in the life of a connection, so the host may be told under the lock. */
	if (in->status != IBV_WC_WR_FLUSH_ERR)
		vib_chain_fault((struct ri_uqp *)(uintptr_t)qp);
}

/* Convert. All that is not about memory of the slot. */
static inline void
wc_fill(struct ri_wc *out, const struct ibv_wc *in, const struct vib_slot *slot,
	const struct ri_uqp *qp)
{
	out->wr_id = slot->wr_id;
	out->qp_ctx = qp->ctx;
	out->byte_len = (slot->flags & RI_WC_RECEIVE) != 0 ? in->byte_len : slot->byte_len;
	out->inv_stag = 0;
	out->status = RI_WC_SUCCESS;
	out->opcode = slot->opcode;
	out->flags = slot->flags & 0xf;
	out->reserved = 0;
	out->detail = 0;
	out->reserved2 = 0;
	if (__builtin_expect(in->status != IBV_WC_SUCCESS, 0))
		failure_fill(out, in, slot, qp);
	if (__builtin_expect((1u << slot->opcode & ODD_OPCODES) != 0 ||
				     (in->wc_flags & qp->invalidated) != 0,
			     0))
		odd_fill(out, in, slot, qp);
}

/* A receive of an SRQ. False: its queue pair is gone. */
static __attribute__((noinline)) bool
shared_take(struct ri_ucq *cq, const struct ibv_wc *in, struct vib_slot *slot, struct ri_wc *out)
{
	const struct ri_uqp *qp = member_find(cq, in->qp_num);

	if (qp != NULL)
		wc_fill(out, in, slot, qp);
	vib_slot_return(slot->of.srq, slot);
	return qp != NULL;
}

/* Convert a completion and free its slot. False: it is to be dropped. */
static inline bool
wc_take(struct ri_ucq *cq, const struct ibv_wc *in, struct ri_wc *out)
{
	struct vib_slot *slot = (struct vib_slot *)(uintptr_t)in->wr_id;
	struct ri_uqp *qp = slot->of.qp;

	if (__builtin_expect((slot->flags & VIB_SLOT_SHARED) != 0, 0))
		return shared_take(cq, in, slot, out);
	wc_fill(out, in, slot, qp);
	vib_ring_free((slot->flags & RI_WC_RECEIVE) != 0 ? &qp->rq : &qp->sq, slot);
	return true;
}

/* --- the staging ring -------------------------------------------------------------------------- */

static void
staged_push(struct ri_ucq *cq, const struct ri_wc *wc)
{
	uint32_t size = 2 * cq->limit;

	if (cq->staged_count == size) {
		cq->lost++;
		return;
	}
	cq->staged[(cq->staged_first + cq->staged_count) % size] = *wc;
	cq->staged_count++;
	cq->staged_solicited += (wc->flags & RI_WC_SOLICITED) != 0;
}

static uint32_t
staged_take(struct ri_ucq *cq, struct ri_wc *wc, uint32_t n)
{
	uint32_t taken = 0;

	for (; taken < n && cq->staged_count > 0; taken++) {
		wc[taken] = cq->staged[cq->staged_first];
		cq->staged_solicited -= (wc[taken].flags & RI_WC_SOLICITED) != 0;
		cq->staged_first = (cq->staged_first + 1) % (2 * cq->limit);
		cq->staged_count--;
	}
	return taken;
}

/* --- devices that complete out of order -------------------------------------------------------- */

/* Make completions from the oldest request on, as far as the device has completed them. */
static void
order_release(struct ri_ucq *cq, struct ri_uqp *qp, bool drop)
{
	uint32_t head = atomic_load_explicit(&qp->sq.head, memory_order_relaxed);
	uint32_t tail = atomic_load_explicit(&qp->sq.tail, memory_order_acquire);

	for (; head != tail; head++) {
		struct vib_slot *slot = &qp->sq.slots[head & qp->sq.mask];
		struct ibv_wc in = {.status = slot->status == RI_WC_SUCCESS ? IBV_WC_SUCCESS
									    : IBV_WC_GENERAL_ERR};
		struct ri_wc out;

		if ((slot->flags & VIB_SLOT_DONE) == 0)
			break;
		memset(&out, 0, sizeof(out));
		wc_fill(&out, &in, slot, qp);
		if (slot->status != RI_WC_SUCCESS) {
			out.status = slot->status;
			out.flags = RI_WC_SOLICITED;
		}
		slot->flags &= (uint8_t)~VIB_SLOT_DONE;
		if (!drop && (out.status != RI_WC_SUCCESS || (slot->flags & VIB_SLOT_QUIET) == 0))
			staged_push(cq, &out);
	}
	atomic_store_explicit(&qp->sq.head, head, memory_order_release);
}

/* True: it was a request, and is dealt with. */
static bool
order_enter(struct ri_ucq *cq, const struct ibv_wc *in, const struct ri_uqp *dying)
{
	struct vib_slot *slot = (struct vib_slot *)(uintptr_t)in->wr_id;

	if (!cq->reorders || (slot->flags & (RI_WC_RECEIVE | VIB_SLOT_SHARED)) != 0)
		return false;
	slot->status = (uint8_t)vib_status_of_wc(in->status);
	slot->flags |= VIB_SLOT_DONE;
	order_release(cq, slot->of.qp, dying != NULL && slot->of.qp == dying);
	return true;
}

/* --- staging ------------------------------------------------------------------------------------ */

/* Is it one of the queue pair that is being destroyed? */
static bool
is_of(const struct ibv_wc *in, const struct ri_uqp *qp)
{
	const struct vib_slot *slot = (const struct vib_slot *)(uintptr_t)in->wr_id;

	if (qp == NULL)
		return false;
	return (slot->flags & VIB_SLOT_SHARED) != 0 ? in->qp_num == qp->qpn : slot->of.qp == qp;
}

static void
stage(struct ri_ucq *cq, uint32_t room, const struct ri_uqp *dying)
{
	struct ibv_wc in[BATCH];
	struct ri_wc out;
	int count = BATCH;

	while (count == BATCH && cq->staged_count < room) {
		count = ibv_poll_cq(cq->cq, BATCH, in);
		for (int i = 0; i < count; i++) {
			bool drop = is_of(&in[i], dying);

			if (order_enter(cq, &in[i], dying))
				continue;
			memset(&out, 0, sizeof(out));
			if (wc_take(cq, &in[i], &out) && !drop)
				staged_push(cq, &out);
		}
	}
}

void
vib_cq_stage(struct ri_ucq *cq)
{
	stage(cq, cq->limit, NULL);
}

void
vib_cq_stage_all(struct ri_ucq *cq, const struct ri_uqp *dying)
{
	stage(cq, UINT32_MAX, dying);
}

bool
vib_cq_flush_one(struct ri_uqp *qp, bool send)
{
	struct ri_ucq *cq = send ? qp->send_cq : qp->recv_cq;
	struct vib_ring *ring = send ? &qp->sq : &qp->rq;
	uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
	struct ibv_wc in = {.status = IBV_WC_WR_FLUSH_ERR};
	struct vib_slot *slot = &ring->slots[head & ring->mask];
	struct ri_wc out;

	if (head == atomic_load_explicit(&ring->tail, memory_order_acquire) ||
	    cq->staged_count == 2 * cq->limit)
		return false;
	memset(&out, 0, sizeof(out));
	wc_fill(&out, &in, slot, qp);
	if ((slot->flags & VIB_SLOT_FAULT) != 0)
		out.status = slot->status;
	slot->flags &= (uint8_t)~VIB_SLOT_DONE;
	atomic_store_explicit(&ring->head, head + 1, memory_order_release);
	staged_push(cq, &out);
	return true;
}

/* --- the entries --------------------------------------------------------------------------------- */

/* Straight from the device. */
static inline uint32_t
poll_device(struct ri_ucq *cq, struct ri_wc *wc, uint32_t n)
{
	struct ibv_wc in[BATCH];
	int count = ibv_poll_cq(cq->cq, (int)(n < BATCH ? n : BATCH), in);
	uint32_t taken = 0;

	for (int i = 0; i < count; i++)
		taken += wc_take(cq, &in[i], &wc[taken]);
	return taken;
}

/* What is staged comes first; a device that completes out of order is polled by staging only. */
static __attribute__((noinline)) uint32_t
poll_staged(struct ri_ucq *cq, struct ri_wc *wc, uint32_t n)
{
	uint32_t taken;

	if (cq->reorders)
		vib_cq_stage(cq);
	taken = staged_take(cq, wc, n);
	if (taken < n && !cq->reorders)
		taken += poll_device(cq, wc + taken, n - taken);
	return taken;
}

uint32_t
vib_poll_cq(struct ri_ucq *cq, struct ri_wc *wc, uint32_t n)
{
	uint32_t taken;

	if (__builtin_expect(!vsw_trylock(&cq->lock), 0))
		vsw_lock(&cq->lock);
	if (__builtin_expect(cq->staged_count != 0 || cq->reorders, 0))
		taken = poll_staged(cq, wc, n);
	else
		taken = poll_device(cq, wc, n);
	vsw_unlock(&cq->lock);
	/* An empty poll starts what is kept back [IT 7.2.2]. */
	if (taken == 0 &&
	    __builtin_expect(atomic_load_explicit(&cq->kept, memory_order_acquire), 0))
		vib_chain_release(cq);
	return taken;
}

uint32_t
vib_cq_depth(struct ri_ucq *cq)
{
	uint32_t count;

	vsw_lock(&cq->lock);
	vib_cq_stage(cq);
	count = cq->staged_count;
	vsw_unlock(&cq->lock);
	return count < cq->limit ? count : cq->limit;
}

/* Does the condition hold for which the queue is armed? The caller owns the lock, and has staged. */
static bool
condition_holds(const struct ri_ucq *cq, uint32_t how, uint32_t count)
{
	switch ((enum ri_arm)how) {
	case RI_ARM_NEXT:
		return cq->staged_count > 0;
	case RI_ARM_SOLICITED:
		return cq->staged_solicited > 0;
	case RI_ARM_COUNT:
		return cq->staged_count >= (count < cq->limit ? count : cq->limit);
	case RI_ARM_NONE:
	default:
		return false;
	}
}

/*
 * Have the device tell of its next completion. The caller owned the lock when it set `listening`, and owns it no more: the
 * call may be a system call. What comes in before it is found by staging again.
 */
static void
listen_device(struct ri_ucq *cq)
{
	(void)ibv_req_notify_cq(cq->cq, 0);
}

void
vib_cq_watch(struct ri_ucq *cq)
{
	bool watch;

	vsw_lock(&cq->lock);
	watch = !cq->listening && !cq->watching;
	cq->watching = cq->watching || watch;
	vsw_unlock(&cq->lock);
	if (watch)
		(void)ibv_req_notify_cq(cq->cq, !cq->watch_all);
}

enum ri_status
vib_arm_cq(struct ri_ucq *cq, enum ri_arm how, uint32_t count)
{
	bool holds, listen;

	if (how > RI_ARM_COUNT || (how == RI_ARM_COUNT && (count == 0 || count >= 1u << 24)))
		return RI_ERR_INVALID_ARG;
	vsw_lock(&cq->lock);
	vib_cq_stage(cq);
	holds = condition_holds(cq, how, count);
	cq->armed = holds ? RI_ARM_NONE : (uint32_t)how;
	cq->armed_count = count;
	listen = cq->armed != RI_ARM_NONE && !cq->listening;
	cq->listening = cq->listening || listen;
	vsw_unlock(&cq->lock);
	if (!listen)
		return holds ? RI_ERR_NOT_EMPTY : RI_SUCCESS;
	listen_device(cq);
	vsw_lock(&cq->lock);
	vib_cq_stage(cq);
	/* If it is armed no more, the upcall has been made. */
	holds = condition_holds(cq, cq->armed, cq->armed_count);
	if (holds)
		cq->armed = RI_ARM_NONE;
	vsw_unlock(&cq->lock);
	return holds ? RI_ERR_NOT_EMPTY : RI_SUCCESS;
}

void
vib_cq_tell(struct ri_cq *ri_cq)
{
	struct ri_ucq *cq = &ri_cq->user;
	const struct ri_upcalls *upcalls = ri_cq->context->rnic->upcalls;
	bool due = false, listen = true;

	while (!due && listen) {
		vsw_lock(&cq->lock);
		vib_cq_stage(cq);
		due = condition_holds(cq, cq->armed, cq->armed_count);
		if (due)
			cq->armed = RI_ARM_NONE;
		listen = cq->armed != RI_ARM_NONE && !cq->listening;
		cq->listening = cq->listening || listen;
		vsw_unlock(&cq->lock);
		if (listen)
			listen_device(cq);
	}
	if (due)
		upcalls->cq_event(upcalls->self, ri_cq->ctx);
}
