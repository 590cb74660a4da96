/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Execution of a request: find the memory, check, copy, complete at both sides, all on the thread that runs
 * the send queue.
 *
 * The personality decides the order of the checks and the effect of each failure:
 * - InfiniBand: the responder refuses, the request completes with a remote status, and both queue pairs go
 *   to ERROR [RI 10.23].
 * - iWARP: the peer sends a Terminate. A Send or Write counts as sent and succeeds; a Read is flushed. The
 *   peer raises an event that names the fault; this side raises one with the Terminate's code.
 *
 * Errors are found before anything is written. The only exception is an owner of memory that ends in the
 * middle of a copy. Datagrams are in vem_ud.c.
 */
#include <string.h>

#include "vem_fault.h"
#include "vem_peer.h"
#include "vem_spans.h"
#include "vem_ud.h"
#include "vem_why.h"

/* --- one-sided ---------------------------------------------------------------------------- */

/* The three results that a guessed key can have share one code: see enum vsw_mem_result. */
static const struct vem_fault write_faults[] = {
	[VSW_MEM_STAG] = {RI_EVENT_QP_STAG, 0x1100, RI_WC_REMOTE_ACCESS, NULL},
	[VSW_MEM_PD] = {RI_EVENT_QP_PD, 0x1100, RI_WC_REMOTE_ACCESS, NULL},
	[VSW_MEM_CLOSED] = {RI_EVENT_QP_ACCESS, 0x1100, RI_WC_REMOTE_ACCESS, NULL},
	[VSW_MEM_ACCESS] = {RI_EVENT_QP_ACCESS, 0x1102, RI_WC_REMOTE_ACCESS, NULL},
	[VSW_MEM_WRAP] = {RI_EVENT_QP_WRAP, 0x1103, RI_WC_REMOTE_ACCESS, NULL},
	[VSW_MEM_BOUNDS] = {RI_EVENT_QP_BOUNDS, 0x1101, RI_WC_REMOTE_ACCESS, NULL},
};
static const struct vem_fault write_disabled = {RI_EVENT_QP_WRITE_DISABLED, 0x1201,
						RI_WC_REMOTE_ACCESS, NULL};
static const struct vem_fault owner_gone = {RI_EVENT_QP_CATASTROPHIC, 0x0207,
					    RI_WC_REMOTE_OPERATION,
					    "the process that owns the memory has ended"};

/* Begin the access of a Write or Read at the peer. NULL: granted. */
static const struct vem_fault *
remote_begin(struct ri_qp *peer, const struct vsw_wqe *wqe, bool write, struct vem_spans *spans)
{
	uint32_t access = write ? RI_ACCESS_REMOTE_WRITE : RI_ACCESS_REMOTE_READ;
	struct vsw_mem_access wanted = {.addr = wqe->u.remote.addr,
					.length = wqe->length,
					.stag = wqe->u.remote.stag,
					.access = access};

	spans->count = 0;
	if (wqe->length == 0 && write)
		return NULL; /* nothing is checked [RI 3.2] */
	/* Relaxed: a change of the rights while requests arrive takes effect at one request or the next. */
	if ((atomic_load_explicit(&peer->access, memory_order_relaxed) & access) == 0)
		return write ? &write_disabled : &vem_read_disabled;
	if (wqe->length == 0)
		return NULL; /* an empty Read needs the queue pair's right but no key (RI_OP_RDMA_READ) */
	if (wanted.stag == 0)
		return write ? &write_faults[VSW_MEM_STAG] : &vem_read_faults[VSW_MEM_STAG];

	enum vsw_mem_result result =
		vsw_mem_begin(peer->rnic->mem, &peer->who, &wanted, &spans->use[0]);

	if (result != VSW_MEM_OK)
		return write ? &write_faults[result] : &vem_read_faults[result];
	spans->len[0] = wqe->length;
	spans->count = 1;
	return NULL;
}

/*
 * A copy between the two has failed. The side whose page is lost has a local error; if it is the peer's, or its process
 * has ended, the request fails as if the peer could not execute it. Ends the accesses. Returns whether the request is done.
 */
static __attribute__((cold, noinline)) bool
copy_failed(struct ri_qp *qp, struct ri_qp *peer, struct vem_spans *local, struct vem_spans *remote)
{
	bool mine = vem_spans_have(local, vsw_guard_take());

	vem_spans_end(remote);
	vem_spans_end(local);
	return mine ? vem_fail_here(qp, RI_WC_LOCAL_PROTECTION)
		    : vem_fail_there(qp, peer, &owner_gone);
}

static bool
do_write(struct ri_qp *qp, struct ri_qp *peer)
{
	const struct vsw_wqe *wqe = qp->tx_wqe;
	struct vem_spans local;
	struct vem_spans remote;

	if (vem_spans_gather(qp->rnic->mem, &qp->who, qp->tx_wqe, &local) != VSW_MEM_OK)
		return vem_fail_here(qp, RI_WC_LOCAL_PROTECTION);

	const struct vem_fault *fault = remote_begin(peer, wqe, true, &remote);
	if (fault == NULL && !vem_spans_copy(&remote, 0, &local))
		return copy_failed(qp, peer, &local, &remote);
	vem_spans_end(&remote);
	vem_spans_end(&local);
	if (fault != NULL)
		return vem_fail_there(qp, peer, fault);
	vem_sq_complete(qp, RI_WC_SUCCESS);
	return true;
}

static bool
do_read(struct ri_qp *qp, struct ri_qp *peer)
{
	const struct vsw_wqe *wqe = qp->tx_wqe;
	bool iwarp = qp->rnic->fabric->personality == VEM_IWARP;
	uint32_t sink = iwarp ? RI_ACCESS_REMOTE_WRITE : RI_ACCESS_LOCAL_WRITE;
	struct vem_spans local;
	struct vem_spans remote;

	if (atomic_load(&qp->ord) == 0)
		return vem_fail_here(qp, RI_WC_LOCAL_QP);
	if (atomic_load(&peer->ird) == 0)
		return vem_fail_there(qp, peer, &vem_too_many_reads);

	const struct vem_fault *fault = remote_begin(peer, wqe, false, &remote);
	if (fault != NULL)
		return vem_fail_there(qp, peer, fault);
	/* The sink is checked when the answer arrives (RDMAC verbs 7.8). */
	bool enabled = !iwarp || wqe->length == 0 ||
		       (atomic_load(&qp->access) & RI_ACCESS_REMOTE_WRITE) != 0;
	if (!enabled || vem_spans_begin(qp->rnic->mem, &qp->who, wqe, wqe->length, sink, &local) !=
				VSW_MEM_OK) {
		vem_spans_end(&remote);
		return vem_fail_here(qp, RI_WC_LOCAL_PROTECTION);
	}
	if (!vem_spans_copy(&local, 0, &remote))
		return copy_failed(qp, peer, &local, &remote);
	vem_spans_end(&local);
	vem_spans_end(&remote);
	if ((wqe->flags & RI_WR_INVALIDATE) != 0 &&
	    vsw_mem_invalidate(qp->rnic->mem, &qp->who, wqe->sge[0].stag, false) != VSW_MEM_OK)
		return vem_fail_here(qp, RI_WC_LOCAL_MM);
	vem_sq_complete(qp, RI_WC_SUCCESS);
	return true;
}

/* --- Send --------------------------------------------------------------------------------- */

static const struct vem_fault no_receive = {
	RI_EVENT_QP_RQ_MSN_RANGE, 0x1202, RI_WC_RNR,
	"a Send of the peer found no receive in time: post receives before the peer sends"};
static const struct vem_fault receive_short = {RI_EVENT_NONE, 0x1205, RI_WC_REMOTE_INVALID_REQ,
					       "a Send of the peer is longer than its receive"};
static const struct vem_fault receive_bad = {RI_EVENT_NONE, 0x0000, RI_WC_REMOTE_OPERATION,
					     vem_why_receive};
static const struct vem_fault too_many_receives = {
	RI_EVENT_QP_RQ_HARD_LIMIT, 0x0207, RI_WC_REMOTE_OPERATION,
	"more receives are taken than the hard watermark allows"};
static const struct vem_fault srq_failed = {RI_EVENT_QP_SRQ_ERROR, 0x0207, RI_WC_REMOTE_OPERATION,
					    "the shared receive queue has failed"};
/* Stands for a page of the message that is lost at the sender; the receive is flushed, and the sender has a local error. */
static const struct vem_fault message_lost = {RI_EVENT_NONE, 0x0000, RI_WC_LOCAL_PROTECTION,
					      "a page of the message is lost at its sender"};
static const struct vem_fault not_invalidated = {
	RI_EVENT_NONE, 0x0109, RI_WC_REMOTE_INVALID_REQ,
	"a Send of the peer may not invalidate the key that it names"};

/* The same of a connection by attributes, whose ends say how long. The peer is not told, and goes on. */
static bool
wait_by_attributes(struct ri_qp *qp, const struct ri_qp *peer)
{
	const struct ri_host *host = qp->rnic->host;
	uint64_t until = atomic_load(&qp->rnr_until);
	uint64_t wait = vem_peer_rnr_wait(qp, peer);

	if (until == VEM_RNR_LATE || wait == 0)
		return vem_fail_here(qp, RI_WC_RNR);
	if (until == 0) {
		until = wait == RI_NEVER ? RI_NEVER : host->now(host->self) + wait;
		atomic_store(&qp->rnr_until, until);
		if (until != RI_NEVER)
			host->timer_start(host->self, &qp->rnr_timer, until);
	}
	return false;
}

/* There is no receive: wait for one, for a bounded time. Returns whether the request is done. */
static bool
wait_for_receive(struct ri_qp *qp, struct ri_qp *peer)
{
	const struct ri_host *host = qp->rnic->host;

	uint64_t until = atomic_load(&qp->rnr_until);

	if (__builtin_expect(atomic_load(&qp->by_peer), 0))
		return wait_by_attributes(qp, peer);
	if (until == VEM_RNR_LATE)
		return vem_fail_there(qp, peer, &no_receive);
	if (until == 0) {
		until = host->now(host->self) + qp->rnic->rnr_wait;
		atomic_store(&qp->rnr_until, until);
		host->timer_start(host->self, &qp->rnr_timer, until);
		/* Once for a connection: it may happen with every message. */
		if (!qp->waited)
			vem_say(peer,
				"a Send of the peer waits, since no receive is posted; without one "
				"the connection ends in %llu ms",
				(unsigned long long)(qp->rnic->rnr_wait / 1000000));
		qp->waited = true;
	}
	return false;
}

/* No receive was taken, for the reason given. Returns whether the request is done. */
static bool
no_receive_taken(struct ri_qp *qp, struct ri_qp *peer, enum vsw_srq_result why)
{
	if (qp->init.type == RI_QP_UC)
		return vem_fail_there(qp, peer, &no_receive); /* it is dropped */
	if (why == VSW_SRQ_HARD_LIMIT)
		return vem_fail_there(qp, peer, &too_many_receives);
	if (why == VSW_SRQ_FAILED)
		return vem_fail_there(qp, peer, &srq_failed);
	return wait_for_receive(qp, peer);
}

/* The copy of a message has failed. Ends the access to the sink. */
static __attribute__((cold, noinline)) const struct vem_fault *
message_failed(const struct vem_spans *message, struct vem_spans *sink, struct vsw_cqe *cqe)
{
	const void *lost = vsw_guard_take();
	bool mine = vem_spans_have(sink, lost);

	vem_spans_end(sink);
	if (vem_spans_have(message, lost)) {
		cqe->status = RI_WC_FLUSHED;
		return &message_lost;
	}
	cqe->status = mine ? RI_WC_LOCAL_PROTECTION : RI_WC_LOCAL_QP;
	return mine ? &receive_bad : &owner_gone;
}

/* Place a message into the receive just taken. Inlined, as message_deliver: a Send is one function. */
static inline __attribute__((always_inline)) const struct vem_fault *
send_place(struct ri_qp *peer, const struct vsw_wqe *wqe, const struct vem_spans *message,
	   struct vsw_cqe *cqe)
{
	struct vem_spans sink;

	if (peer->rx_wqe->length < wqe->length) {
		cqe->status = RI_WC_LOCAL_LENGTH;
		return &receive_short;
	}
	if (vem_spans_begin(peer->rnic->mem, &peer->receiver, peer->rx_wqe, wqe->length,
			    RI_ACCESS_LOCAL_WRITE, &sink) != VSW_MEM_OK) {
		cqe->status = RI_WC_LOCAL_PROTECTION;
		return &receive_bad;
	}
	if (!vem_spans_copy(&sink, 0, message))
		return message_failed(message, &sink, cqe);
	vem_spans_end(&sink);
	return NULL;
}

/* Place the data of a Write with immediate data. The receive just taken is not used. */
static const struct vem_fault *
write_place(const struct vem_spans *target, const struct vem_spans *message, struct vsw_cqe *cqe)
{
	if (vem_spans_copy(target, 0, message))
		return NULL;
	cqe->status = RI_WC_FLUSHED;
	return vem_spans_have(message, vsw_guard_take()) ? &message_lost : &owner_gone;
}

/*
 * What a message brings besides its data: immediate data, or a key to invalidate. The caller has no use of a region, which
 * could be the one of that key.
 */
static const struct vem_fault *
extra_take(struct ri_qp *peer, const struct vsw_wqe *wqe, struct vsw_cqe *cqe)
{
	if (__builtin_expect((wqe->flags & (RI_WR_INVALIDATE | RI_WR_IMMEDIATE)) == 0, 1))
		return NULL;
	if ((wqe->flags & RI_WR_IMMEDIATE) != 0) {
		cqe->flags |= RI_WC_IMMEDIATE;
		cqe->inv_stag = wqe->inv_stag;
		return NULL;
	}
	bool may = (atomic_load(&peer->access) & VSW_MEM_INVALIDATES) != 0;
	enum vsw_mem_result result = VSW_MEM_CLOSED;
	char why[VSW_WHY_ROOM];

	if (may)
		result = vsw_mem_invalidate(peer->rnic->mem, &peer->who, wqe->inv_stag, true);
	if (result != VSW_MEM_OK) {
		vsw_why_invalidate(peer->rnic->mem, wqe->inv_stag, result, why, sizeof(why));
		vem_say(peer, "a Send of the peer may not invalidate: %s",
			may ? why
			    : "this endpoint allows its peer neither RDMA Reads nor RDMA Writes");
		cqe->status = RI_WC_LOCAL_INVALIDATE;
		return &not_invalidated;
	}
	cqe->flags |= RI_WC_INVALIDATED;
	cqe->inv_stag = wqe->inv_stag;
	return NULL;
}

static void
both_end(struct vem_spans *message, struct vem_spans *target)
{
	if (target != NULL)
		vem_spans_end(target);
	vem_spans_end(message);
}

/* The memory of a receive of an unreliable connection is wrong: that is the failure of its owner. */
static const struct vem_cause receiver_failed = {.kind = RI_CM_BROKEN, .async = RI_EVENT_QP_ACCESS};

/* A message could not be placed, and the receive that was taken for it is as good as before. */
static __attribute__((cold, noinline)) bool
unreliable_drop(struct ri_qp *qp, struct ri_qp *peer, const struct vem_fault *fault)
{
	atomic_store(&peer->rx_have, true);
	return fault == &message_lost ? vem_fail_here(qp, RI_WC_LOCAL_PROTECTION)
				      : vem_fail_there(qp, peer, fault);
}

/*
 * Deliver a message, or with `target` a Write with immediate data; ends the accesses. The caller owns the role `rx` of the
 * peer.
 */
static inline __attribute__((always_inline)) bool
message_deliver(struct ri_qp *qp, struct ri_qp *peer, struct vem_spans *message,
		struct vem_spans *target)
{
	const struct vsw_wqe *wqe = qp->tx_wqe;
	struct vsw_cqe cqe = {
		.qp_ctx = peer->ctx,
		.byte_len = wqe->length,
		.opcode = target != NULL ? RI_OP_RECV_WRITE : RI_OP_RECV,
		.flags = RI_WC_RECEIVE,
	};

	if (!vem_qp_takes(peer)) {
		both_end(message, target);
		return false; /* it has ended meanwhile; its message will arrive */
	}
	bool unreliable = __builtin_expect(qp->init.type == RI_QP_UC, 0);
	enum vsw_srq_result taken =
		unreliable ? vem_receive_take_or_keep(peer, target != NULL ? 0 : wqe->length, &cqe)
			   : vem_receive_take(peer, &cqe);
	if (taken != VSW_SRQ_TAKEN) {
		both_end(message, target);
		return no_receive_taken(qp, peer, taken);
	}
	if (atomic_load_explicit(&qp->rnr_until, memory_order_relaxed) != 0)
		atomic_store(&qp->rnr_until, 0);

	cqe.wr_id = peer->rx_wqe->wr_id;
	const struct vem_fault *fault = target != NULL ? write_place(target, message, &cqe)
						       : send_place(peer, wqe, message, &cqe);
	both_end(message, target);
	if (fault == NULL)
		fault = extra_take(peer, wqe, &cqe);
	else if (unreliable && cqe.status == RI_WC_FLUSHED)
		return unreliable_drop(qp, peer, fault);
	else if (unreliable)
		vem_qp_move(peer, VEM_MOVE_FAULT, &receiver_failed);
	if (fault != NULL || (wqe->flags & RI_WR_SOLICITED) != 0 ||
	    (peer->rx_wqe->flags & RI_WR_NOTIFY) != 0)
		cqe.flags |= RI_WC_SOLICITED;
	vem_rq_complete(peer, &cqe);
	if (peer->srq != NULL) {
		vem_receive_limits(peer);
		vsw_srq_pass_on(&peer->member);
	}
	if (fault != NULL)
		return fault == &message_lost ? vem_fail_here(qp, RI_WC_LOCAL_PROTECTION)
					      : vem_fail_there(qp, peer, fault);
	vem_sq_complete(qp, RI_WC_SUCCESS);
	return true;
}

static bool
do_send(struct ri_qp *qp, struct ri_qp *peer)
{
	struct vem_spans message;

	if (vem_spans_gather(qp->rnic->mem, &qp->who, qp->tx_wqe, &message) != VSW_MEM_OK)
		return vem_fail_here(qp, RI_WC_LOCAL_PROTECTION);
	if (!vsw_role_take(&peer->rx)) {
		vem_spans_end(&message);
		return false; /* the owner of the role runs this queue when it gives the role up */
	}
	bool done = message_deliver(qp, peer, &message, NULL);
	vem_rx_leave(peer);
	return done;
}

/*
 * A Write that takes a receive. Without one nothing is placed yet: on InfiniBand all of it is sent again, on iWARP the
 * message with the immediate data is held, and nobody can tell whether the Write before it is, too.
 */
static bool
do_write_immediate(struct ri_qp *qp, struct ri_qp *peer)
{
	struct vem_spans message;
	struct vem_spans target;

	if (vem_spans_gather(qp->rnic->mem, &qp->who, qp->tx_wqe, &message) != VSW_MEM_OK)
		return vem_fail_here(qp, RI_WC_LOCAL_PROTECTION);

	const struct vem_fault *fault = remote_begin(peer, qp->tx_wqe, true, &target);
	if (fault != NULL) {
		vem_spans_end(&message);
		return vem_fail_there(qp, peer, fault);
	}
	if (!vsw_role_take(&peer->rx)) {
		both_end(&message, &target);
		return false; /* as a Send */
	}
	bool done = message_deliver(qp, peer, &message, &target);
	vem_rx_leave(peer);
	return done;
}

/* --- all ---------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) bool
execute_with(struct ri_qp *qp, struct ri_qp *peer)
{
	if (!vem_qp_takes(peer))
		return false; /* it will run this queue when it is open, or send a message that it ends */
	if (__builtin_expect(vem_fault_offline(qp->rnic) || vem_fault_offline(peer->rnic), 0))
		return false; /* when the port comes up, all queues of its adapter are run */
	switch (qp->tx_wqe->opcode) {
	case RI_OP_SEND:
		return do_send(qp, peer);
	case RI_OP_RDMA_WRITE:
		if (__builtin_expect((qp->tx_wqe->flags & RI_WR_IMMEDIATE) != 0, 0))
			return do_write_immediate(qp, peer);
		return do_write(qp, peer);
	case RI_OP_FETCH_ADD:
	case RI_OP_CMP_SWAP:
		return vem_do_atomic(qp, peer);
	default:
		return do_read(qp, peer);
	}
}

bool
vem_execute_with(struct ri_qp *qp, struct ri_qp *peer)
{
	return execute_with(qp, peer);
}

bool
vem_execute(struct ri_qp *qp)
{
	const struct vsw_wqe *wqe = qp->tx_wqe;
	bool done = false;

	if (qp->ud)
		return vem_ud_execute(qp);
	switch (wqe->opcode) {
	case RI_OP_SEND:
	case RI_OP_RDMA_WRITE:
	case RI_OP_RDMA_READ:
	case RI_OP_FETCH_ADD:
	case RI_OP_CMP_SWAP:
		break;
	case RI_OP_BIND_MW:
		return vem_do_bind(qp);
	case RI_OP_LOCAL_INV:
	case RI_OP_INV_MR:
		return vem_do_invalidate(qp);
	case RI_OP_FAST_REG:
		return vem_do_fast_register(qp);
	default:
		return vem_fail_here(qp, RI_WC_LOCAL_QP);
	}
	if (wqe->num_sge > VEM_MAX_SGE)
		return vem_fail_here(qp, RI_WC_LOCAL_QP); /* the entry is corrupt */
	if (wqe->length > VEM_MAX_MESSAGE)
		return vem_fail_here(qp, RI_WC_LOCAL_LENGTH);

	if (__builtin_expect(atomic_load_explicit(&qp->by_peer, memory_order_relaxed), 0))
		return vem_peer_execute(qp);
	struct ri_qp *peer = vem_peer_enter(qp);
	if (peer == NULL)
		return false; /* its last message has been sent and ends this queue pair */
	done = execute_with(qp, peer);
	vem_peer_exit(qp);
	return done;
}
