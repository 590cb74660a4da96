/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * [fast path] Completions: from the device's queue into ri_wc.
 *
 * A completion of the device has the address of a slot. The slot names the queue pair and has the values that the
 * device does not report: the opcode of a failed request, the number of its octets, and the request's id. When the
 * completion is polled, the slot is free, and with it all slots before it, since a queue completes in order.
 *
 * Usually a poll converts directly into the caller's array. When completions must be counted or kept, they are staged:
 * converted into the staging ring, from which polls take first. A staged completion holds its slot until it is polled,
 * and nothing else in it depends on a queue pair, so a queue pair can be destroyed while its completions wait to be polled.
 * An ordinary stage fills half of the ring; the other half is for the destruction of queue pairs and for receives and
 * requests that are flushed here. A consumer for which all of that is too little has an overflow of its CQ [RI 10.37].
 *
 * A request that is done without the device (vib_cq_void) keeps its slot until it is polled, like any other.
 *
 * Devices that complete out of order (ri_ucq::reorders) have every request signalled: a completion marks its slot, and
 * completions are made from the oldest slot on as far as slots are marked. So they come in order on every device.
 */
#include <string.h>

#include "vib_chain.h"
#include "vib_cq.h"
#include "vib_ring.h"

/* A slot has the beginning of a completion. */
#define SAME(x_) _Static_assert(offsetof(struct ri_wc, x_) == offsetof(struct vib_done, x_), "same")

SAME(wr_id);
SAME(qp_ctx);
SAME(byte_len);
SAME(inv_stag);
SAME(status);
SAME(opcode);
SAME(flags);
SAME(detail);
_Static_assert(offsetof(struct ri_wc, src_qpn) == sizeof(struct vib_done), "nothing is left out");
_Static_assert(RI_WC_SUCCESS == 0, "vib_done::status is never written");

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
	const uint8_t *header = (const uint8_t *)(uintptr_t)qp->headers[vib_slot_index(slot)];

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

/* Has the message invalidated an STag? Of a request the flags mean nothing. */
static inline bool
has_invalidated(const struct ibv_wc *in, const struct vib_slot *slot, const struct ri_uqp *qp)
{
	return (slot->done.flags & RI_WC_RECEIVE) != 0 && (in->wc_flags & qp->invalidated) != 0;
}

/* What only some opcodes have. */
static __attribute__((noinline)) void
odd_fill(struct ri_wc *out, const struct ibv_wc *in, const struct vib_slot *slot,
	 const struct ri_uqp *qp)
{
	uint8_t opcode = slot->done.opcode;
	bool success = in->status == IBV_WC_SUCCESS;

	if (!success && (slot->odd & VIB_SLOT_BOUND) != 0)
		vib_mw_lost(qp->keys, slot->u.window, slot->key);
	if (opcode == RI_OP_BIND_MW || opcode == RI_OP_LOCAL_INV)
		vib_mw_completed(qp->keys, slot->u.window, opcode == RI_OP_BIND_MW, success);
	else if (opcode == RI_OP_RECV_UD && success)
		sender_fill(out, in, slot, qp);
	if (success && has_invalidated(in, slot, qp)) {
		out->flags |= RI_WC_INVALIDATED;
		out->inv_stag = in->invalidated_rkey;
		vib_mw_completed(qp->keys, in->invalidated_rkey, false, true);
	}
}

/* Opcodes with something of their own, as bits. */
#define ODD_OPCODES (1u << RI_OP_BIND_MW | 1u << RI_OP_LOCAL_INV | 1u << RI_OP_RECV_UD)

/* Have vib_cq_unlock end a queue pair, unless that has begun. */
static void
fault_note(struct ri_ucq *cq, struct ri_uqp *qp, const struct vib_fault *fault)
{
	if (!vib_chain_close(qp) && !vib_chain_close_early(qp))
		return;
	qp->fault = *fault;
	atomic_fetch_add(&qp->inside, 1);
	qp->next_fault = cq->faults;
	cq->faults = qp;
	cq->alarm = true;
}

/*
 * A request or receive has failed. The device has moved its queue pair to the error state, and not
 * every driver raises an event for that. So this ends the connection; vib_cq_unlock lets the
 * service thread do that.
 */
static __attribute__((noinline, cold)) void
failure_fill(struct ri_ucq *cq, struct ri_wc *out, const struct ibv_wc *in, struct ri_uqp *qp)
{
	out->status = (uint8_t)(qp->vague ? vib_status_of_vague_wc(in->status, out->opcode)
					  : vib_status_of_wc(in->status));
	out->flags = (uint8_t)(RI_WC_SOLICITED | (out->flags & RI_WC_RECEIVE));
	out->detail = in->vendor_err;
	out->byte_len = 0;
	/* The failure of a queue pair without a connection manager shows only in the requests that the device flushes. */
	if (in->status != IBV_WC_WR_FLUSH_ERR || qp->bare)
		fault_note(cq, qp,
			   &(struct vib_fault){.status = out->status,
					       .opcode = out->opcode,
					       .device = in->status,
					       .vendor = in->vendor_err});
}

/* Convert one that has succeeded and has nothing of its own. */
static inline void
done_copy(struct ri_wc *out, const struct ibv_wc *in, const struct vib_slot *slot)
{
	memcpy(out, &slot->done, sizeof(slot->done));
	out->imm = 0;
	if ((slot->done.flags & RI_WC_RECEIVE) != 0)
		out->byte_len = in->byte_len;
}

/* Convert. All that is not about memory of the slot; the caller owns the lock. */
static void
wc_fill(struct ri_ucq *cq, struct ri_wc *out, const struct ibv_wc *in, const struct vib_slot *slot,
	struct ri_uqp *qp)
{
	done_copy(out, in, slot);
	out->qp_ctx = qp->ctx;
	if (__builtin_expect(in->status != IBV_WC_SUCCESS, 0))
		failure_fill(cq, out, in, qp);
	else if ((slot->done.flags & RI_WC_RECEIVE) != 0 && (in->wc_flags & IBV_WC_WITH_IMM) != 0) {
		/* Immediate data of a receive. The device names a receive that a Write has taken by its opcode. */
		out->flags |= RI_WC_IMMEDIATE;
		out->imm = in->imm_data;
		if (in->opcode == IBV_WC_RECV_RDMA_WITH_IMM)
			out->opcode = RI_OP_RECV_WRITE;
	}
	if ((1u << slot->done.opcode & ODD_OPCODES) != 0 || has_invalidated(in, slot, qp))
		odd_fill(out, in, slot, qp);
}

/* What was posted to a queue pair that is destroyed gets no completion [RI 2.2.3], though any thread may find it flushed. */
static bool
is_of_dying(const struct ibv_wc *in, const struct ri_uqp *qp)
{
	return in->status != IBV_WC_SUCCESS && atomic_load(&qp->dying);
}

/*
 * Was the request or receive completed already? This side flushes requests itself if draining the
 * queue pair takes too long, and the device may flush them later. If the slot is in use again by
 * then, its queue pair is still flushing, too.
 */
static __attribute__((noinline, cold)) bool
is_late(const struct ibv_wc *in, const struct vib_slot *slot)
{
	uint32_t done;

	if (in->status == IBV_WC_SUCCESS || (slot->odd & VIB_SLOT_SHARED) != 0)
		return false;
	done = vib_ring_done(slot->ring);
	return slot->place - 1 - done >=
	       atomic_load_explicit(&slot->ring->tail, memory_order_acquire) - done;
}

/* The long way: it has failed, its queue pair must be found, or there is more to convert. */
static __attribute__((noinline)) bool
odd_convert(struct ri_ucq *cq, const struct ibv_wc *in, struct vib_slot *slot, struct ri_wc *out)
{
	if ((slot->odd & VIB_SLOT_SHARED) != 0) {
		/* A receive of an SRQ. False: its queue pair is gone. */
		struct ri_uqp *qp = member_find(cq, in->qp_num);

		if (qp != NULL && is_of_dying(in, qp))
			qp = NULL;
		if (qp != NULL)
			wc_fill(cq, out, in, slot, qp);
		atomic_fetch_add_explicit(&slot->of.srq->dones, 1, memory_order_relaxed);
		return qp != NULL;
	}
	if (is_late(in, slot) || is_of_dying(in, slot->of.qp))
		return false;
	wc_fill(cq, out, in, slot, slot->of.qp);
	slot->odd = 0;
	return true;
}

/* Does it take the short way? */
static inline bool
is_plain(const struct ibv_wc *in, const struct vib_slot *slot)
{
	return ((uint32_t)in->status | in->wc_flags | slot->odd) == 0;
}

/* Convert a completion. False: it is to be dropped. */
static inline bool
wc_convert(struct ri_ucq *cq, const struct ibv_wc *in, struct vib_slot *slot, struct ri_wc *out)
{
	if (__builtin_expect(!is_plain(in, slot), 0))
		return odd_convert(cq, in, slot, out);
	done_copy(out, in, slot);
	return true;
}

/* A slot whose completion is not staged. */
static inline void
slot_pass(struct vib_slot *slot)
{
	if ((slot->odd & VIB_SLOT_SHARED) != 0)
		vib_slot_return(slot->of.srq, slot);
	else
		vib_ring_pass(slot->ring, slot);
}

/* Convert a completion for the caller of poll_cq, and free its slot. False: it is to be dropped. */
static inline bool
wc_take(struct ri_ucq *cq, const struct ibv_wc *in, struct ri_wc *out)
{
	struct vib_slot *slot = (struct vib_slot *)(uintptr_t)in->wr_id;
	bool there = wc_convert(cq, in, slot, out);

	if (__builtin_expect(!there, 0) && is_late(in, slot))
		return false;
	slot_pass(slot);
	return there;
}

/* --- the staging ring -------------------------------------------------------------------------- */

/*
 * There is no room for a completion. The first one that is lost is reported as an overflow of the CQ [RI 10.37], and its queue pair
 * ends, since the consumer would wait for it. For a receive of an SRQ the queue pair is not known here.
 */
static __attribute__((noinline, cold)) void
staged_lose(struct ri_ucq *cq, struct vib_slot *slot)
{
	cq->overflow = cq->overflow || cq->lost == 0;
	cq->alarm = cq->alarm || cq->overflow;
	cq->lost++;
	if ((slot->odd & VIB_SLOT_SHARED) == 0)
		fault_note(cq, slot->of.qp,
			   &(struct vib_fault){.status = RI_WC_LOCAL_QP,
					       .opcode = slot->done.opcode,
					       .lost = true});
	slot_pass(slot);
}

static void
staged_push(struct ri_ucq *cq, const struct ri_wc *wc, struct vib_slot *slot)
{
	uint32_t size = 2 * cq->limit;

	if (__builtin_expect(cq->staged_count == size, 0)) {
		staged_lose(cq, slot);
		return;
	}
	cq->staged[(cq->staged_first + cq->staged_count) % size] =
		(struct vib_staged){.wc = *wc, .slot = slot};
	cq->staged_count++;
	cq->direct = 0;
	cq->staged_solicited += (wc->flags & RI_WC_SOLICITED) != 0;
	if ((slot->odd & VIB_SLOT_SHARED) == 0)
		vib_ring_stage(slot->ring, slot);
}

/* Is it one of the queue pair that is being destroyed? */
static bool
is_staged_of(const struct vib_staged *staged, const struct ri_uqp *qp)
{
	const struct vib_slot *slot = staged->slot;

	if (slot == NULL)
		return false;
	return (slot->odd & VIB_SLOT_SHARED) != 0 ? staged->wc.qp_ctx == qp->ctx
						  : slot->of.qp == qp;
}

/* The completion is polled. */
static void
staged_free(struct vib_slot *slot)
{
	if (slot == NULL)
		return;
	if ((slot->odd & VIB_SLOT_SHARED) != 0)
		vib_slot_return(slot->of.srq, slot);
	else
		vib_ring_unstage(slot->ring, slot);
}

/* Polls may take from the device again if nothing comes before that. */
static void
direct_again(struct ri_ucq *cq)
{
	if (cq->staged_count == 0 && cq->voids == 0 && !cq->reorders)
		cq->direct = VIB_CQ_BATCH;
}

static uint32_t
staged_take(struct ri_ucq *cq, struct ri_wc *wc, uint32_t n)
{
	uint32_t taken = 0;

	for (; taken < n && cq->staged_count > 0; taken++) {
		wc[taken] = cq->staged[cq->staged_first].wc;
		staged_free(cq->staged[cq->staged_first].slot);
		cq->staged_solicited -= (wc[taken].flags & RI_WC_SOLICITED) != 0;
		cq->staged_first = (cq->staged_first + 1) % (2 * cq->limit);
		cq->staged_count--;
	}
	direct_again(cq);
	return taken;
}

/* --- requests that are done without the device ---------------------------------------------------- */

void
vib_cq_void(struct ri_uqp *qp)
{
	qp->voids++;
	qp->send_cq->voids++;
	qp->send_cq->direct = 0;
}

/* The completion of the oldest one of some queue pair, before those of all its other requests. NULL: nobody polls it. */
static struct vib_slot *
void_next(struct ri_ucq *cq, struct ri_wc *wc)
{
	const struct ibv_wc in = {.status = IBV_WC_SUCCESS};
	struct ri_uqp *qp = cq->senders;
	struct vib_slot *slot;
	bool quiet;

	while (qp->voids == 0)
		qp = qp->next_sender;
	slot = &qp->sq.slots[vib_ring_done(&qp->sq) & qp->sq.mask];
	memset(wc, 0, sizeof(*wc));
	done_copy(wc, &in, slot);
	quiet = (slot->odd & VIB_SLOT_QUIET) != 0;
	slot->odd = 0;
	qp->voids--;
	cq->voids--;
	if (!quiet)
		return slot;
	slot_pass(slot);
	return NULL;
}

static uint32_t
voids_take(struct ri_ucq *cq, struct ri_wc *wc, uint32_t n)
{
	uint32_t taken = 0;

	while (cq->voids != 0 && taken < n) {
		struct vib_slot *slot = void_next(cq, &wc[taken]);

		if (slot == NULL)
			continue;
		slot_pass(slot);
		taken++;
	}
	direct_again(cq);
	return taken;
}

static void
voids_stage(struct ri_ucq *cq, uint32_t room)
{
	while (cq->voids != 0 && cq->staged_count < room) {
		struct ri_wc wc;
		struct vib_slot *slot = void_next(cq, &wc);

		if (slot != NULL)
			staged_push(cq, &wc, slot);
	}
	direct_again(cq);
}

/* --- devices that complete out of order -------------------------------------------------------- */

/* Make completions from the oldest request on, as far as the device has completed them. */
static void
order_release(struct ri_ucq *cq, struct ri_uqp *qp, bool drop)
{
	uint32_t tail = atomic_load_explicit(&qp->sq.tail, memory_order_acquire);

	for (uint32_t at = vib_ring_done(&qp->sq); at != tail; at++) {
		struct vib_slot *slot = &qp->sq.slots[at & qp->sq.mask];
		struct ibv_wc in = {.status = slot->status == RI_WC_SUCCESS ? IBV_WC_SUCCESS
									    : IBV_WC_GENERAL_ERR};
		struct ri_wc out;

		if ((slot->odd & VIB_SLOT_DONE) == 0)
			break;
		memset(&out, 0, sizeof(out));
		wc_fill(cq, &out, &in, slot, qp);
		if (slot->status != RI_WC_SUCCESS) {
			out.status = slot->status;
			out.flags = RI_WC_SOLICITED;
		}
		slot->odd &= ~(uint32_t)VIB_SLOT_DONE;
		if (!drop && (out.status != RI_WC_SUCCESS || (slot->odd & VIB_SLOT_QUIET) == 0))
			staged_push(cq, &out, slot);
		else
			slot_pass(slot);
	}
}

/* True: it was a request, and is dealt with. */
static bool
order_enter(struct ri_ucq *cq, const struct ibv_wc *in, const struct ri_uqp *dying)
{
	struct vib_slot *slot = (struct vib_slot *)(uintptr_t)in->wr_id;

	if (!cq->reorders || (slot->done.flags & RI_WC_RECEIVE) != 0)
		return false;
	if (is_late(in, slot))
		return true;
	slot->status = (uint8_t)vib_status_of_wc(in->status);
	slot->odd |= VIB_SLOT_DONE;
	order_release(cq, slot->of.qp,
		      (dying != NULL && slot->of.qp == dying) || is_of_dying(in, slot->of.qp));
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
	return (slot->odd & VIB_SLOT_SHARED) != 0 ? in->qp_num == qp->qpn : slot->of.qp == qp;
}

static void
stage_device(struct ri_ucq *cq, uint32_t room, const struct ri_uqp *dying)
{
	struct ibv_wc in[VIB_CQ_BATCH];
	struct ri_wc out;
	int count = VIB_CQ_BATCH;

	while (count == VIB_CQ_BATCH && cq->staged_count < room) {
		count = ibv_poll_cq(cq->cq, VIB_CQ_BATCH, in);
		if (count > 0)
			voids_stage(cq, UINT32_MAX); /* they come before what the device has done */
		for (int i = 0; i < count; i++) {
			struct vib_slot *slot = (struct vib_slot *)(uintptr_t)in[i].wr_id;
			bool drop = is_of(&in[i], dying);

			if (order_enter(cq, &in[i], dying))
				continue;
			memset(&out, 0, sizeof(out));
			if (wc_convert(cq, &in[i], slot, &out) && !drop)
				staged_push(cq, &out, slot);
			else if (!is_late(&in[i], slot))
				slot_pass(slot);
		}
	}
}

void
vib_cq_stage(struct ri_ucq *cq)
{
	voids_stage(cq, cq->limit);
	stage_device(cq, cq->limit, NULL);
}

void
vib_cq_stage_all(struct ri_ucq *cq, const struct ri_uqp *dying)
{
	voids_stage(cq, UINT32_MAX);
	stage_device(cq, UINT32_MAX, dying);
	if (dying != NULL) {
		/* The slots of a queue pair go, those of its SRQ are free: its completions stay without them. */
		for (uint32_t i = 0; i < cq->staged_count; i++) {
			struct vib_staged *staged =
				&cq->staged[(cq->staged_first + i) % (2 * cq->limit)];

			if (!is_staged_of(staged, dying))
				continue;
			if ((staged->slot->odd & VIB_SLOT_SHARED) != 0)
				vib_slot_return(staged->slot->of.srq, staged->slot);
			staged->slot = NULL;
		}
	}
}

bool
vib_cq_flush_one(struct ri_uqp *qp, bool send)
{
	struct ri_ucq *cq = send ? qp->send_cq : qp->recv_cq;
	struct vib_ring *ring = send ? &qp->sq : &qp->rq;
	uint32_t at = vib_ring_done(ring);
	struct ibv_wc in = {.status = IBV_WC_WR_FLUSH_ERR};
	struct vib_slot *slot = &ring->slots[at & ring->mask];
	struct ri_wc out;

	if (at == atomic_load_explicit(&ring->tail, memory_order_acquire))
		return false;
	memset(&out, 0, sizeof(out));
	wc_fill(cq, &out, &in, slot, qp);
	if ((slot->odd & VIB_SLOT_FAULT) != 0)
		out.status = slot->status;
	slot->odd = 0;
	staged_push(cq, &out, slot);
	return true;
}

/* --- the entries --------------------------------------------------------------------------------- */

/* Straight from the device. */
static inline uint32_t
poll_device(struct ri_ucq *cq, struct ri_wc *wc, uint32_t n)
{
	struct ibv_wc in[VIB_CQ_BATCH];
	int count = ibv_poll_cq(cq->cq, (int)(n < VIB_CQ_BATCH ? n : VIB_CQ_BATCH), in);
	uint32_t taken = 0;

	for (int i = 0; i < count; i++)
		taken += wc_take(cq, &in[i], &wc[taken]);
	return taken;
}

/* Count what was taken, and release the lock. An empty poll starts what is kept back [IT 7.2.2]. */
static inline uint32_t
poll_end(struct ri_ucq *cq, const struct ri_wc *wc, uint32_t taken)
{
	for (uint32_t i = 0; i < taken; i++) {
		ri_count(&cq->count->done[wc[i].status], 1);
		ri_count(&cq->count->octets, wc[i].byte_len);
	}
	vib_cq_unlock(cq);
	if (taken == 0 && atomic_load_explicit(&cq->kept, memory_order_acquire))
		vib_chain_release(cq);
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
	taken += voids_take(cq, wc + taken, n - taken);
	if (taken < n && !cq->reorders)
		taken += poll_device(cq, wc + taken, n - taken);
	return poll_end(cq, wc, taken);
}

/* Of what a direct poll has taken, not just one that takes the short way. */
static __attribute__((noinline)) uint32_t
poll_rest(struct ri_ucq *cq, struct ri_wc *wc, int count)
{
	uint32_t taken = 0;

	for (int i = 0; i < count; i++)
		taken += wc_take(cq, &cq->in[i], &wc[taken]);
	return poll_end(cq, wc, taken);
}

uint32_t
vib_poll_cq(struct ri_ucq *cq, struct ri_wc *wc, uint32_t n)
{
	const struct ibv_wc *in = cq->in;
	struct ri_cq_counters *counters;
	const struct vib_slot *slot;
	int count;

	vsw_lock(&cq->lock);
	if (__builtin_expect(n > cq->direct, 0))
		return poll_staged(cq, wc, n);
	count = cq->poll(cq->cq, (int)n, cq->in);
	if (__builtin_expect(count != 1, 0))
		return poll_rest(cq, wc, count);
	slot = (const struct vib_slot *)(uintptr_t)in->wr_id;
	if (__builtin_expect(!is_plain(in, slot), 0))
		return poll_rest(cq, wc, 1);
	done_copy(wc, in, slot);
	vib_ring_free(slot->ring, slot);
	counters = cq->count;
	ri_count(&counters->done[RI_WC_SUCCESS], 1);
	ri_count(&counters->octets, wc->byte_len);
	vsw_unlock(&cq->lock);
	return 1;
}
