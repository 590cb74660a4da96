/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The requester: execution of a request on the thread that runs the send queue.
 *
 * It checks its own memory and passes a message to the responder of the peer (vsw_respond.h), whose answer completes
 * the request. Both queue pairs are in this process, so the message is one piece, and the responder runs on the same
 * thread.
 *
 * The personality decides the order of the checks and the effect of each refusal:
 * - InfiniBand: the responder refuses, the request completes with a remote status, and both queue pairs go
 *   to ERROR [RI 10.23].
 * - iWARP: the peer sends a Terminate. A Send or Write counts as sent and succeeds; a Read is flushed. The
 *   peer raises an event that names the fault; this side raises one with the Terminate's code.
 *
 * Errors are found before anything is written. The only exception is memory that is lost in the middle of a copy. Datagrams
 * are in vem_ud.c.
 */
#include <string.h>

#include "vem_fault.h"
#include "vem_peer.h"
#include "vem_tap.h"
#include "vem_ud.h"
#include "vem_why.h"
#include "vem_wire.h"

/* The request as the responder sees it. */
static inline struct vsw_message
message_of(const struct vsw_wqe *wqe)
{
	return (struct vsw_message){.length = wqe->length,
				    .flags = wqe->flags,
				    .extra = wqe->inv_stag,
				    .remote = &wqe->u.remote};
}

/* All octets of it. */
static inline struct vsw_piece
whole_of(const struct vsw_wqe *wqe, struct vsw_spans *octets)
{
	return (struct vsw_piece){.octets = octets, .length = wqe->length, .last = true};
}

/* --- answers ------------------------------------------------------------------------------ */

/*
 * There is no receive: wait for one, as long as the peer's attributes or the settings of this adapter say. Returns
 * whether the request is done. A peer that was connected by attributes is not notified of the end, and continues.
 */
static bool
wait_for_receive(struct vem_qp *qp, struct vem_qp *peer)
{
	const struct ri_host *host = qp->rnic->host;
	uint64_t until = atomic_load(&qp->rnr_until);
	bool by_peer = atomic_load(&qp->by_peer);
	uint64_t wait = by_peer ? vem_peer_rnr_wait(qp->far.rnr_retry, peer->far.min_rnr_timer)
				: qp->rnr_wait;

	if (until == VEM_RNR_LATE || (until == 0 && wait == 0) ||
	    (until == 0 && !by_peer && vem_wire_is_impatient(qp)))
		return by_peer ? vem_fail_here(qp, RI_WC_RNR)
			       : vem_fail_there(qp, peer, &vsw_no_receive);
	if (until == 0) {
		ri_count(&qp->count->retries, 1);
		until = wait == RI_NEVER ? RI_NEVER : host->now(host->self) + wait;
		atomic_store(&qp->rnr_until, until);
		if (until != RI_NEVER)
			host->timer_start(host->self, &qp->rnr_timer, until);
		if (!by_peer)
			vem_say_waits(peer, &qp->waited, wait);
	}
	return false;
}

/* The message was not done as it asks. Returns whether the request is done. */
static __attribute__((cold, noinline)) bool
refused(struct vem_qp *qp, struct vem_qp *peer, const struct vsw_refusal *refusal)
{
	if (refusal == &vsw_no_receive && qp->init.type != RI_QP_UC)
		return wait_for_receive(qp, peer);
	if (refusal == &vsw_octets_lost)
		return vem_fail_here(qp, RI_WC_LOCAL_PROTECTION);
	return vem_fail_there(qp, peer, refusal);
}

/* The same of a message that takes a receive. */
static inline __attribute__((always_inline)) bool
taken(struct vem_qp *qp, struct vem_qp *peer, const struct vsw_refusal *refusal)
{
	if (atomic_load_explicit(&qp->rnr_until, memory_order_relaxed) != 0 &&
	    refusal != &vsw_no_receive)
		atomic_store(&qp->rnr_until, 0);
	if (refusal != NULL)
		return refused(qp, peer, refusal);
	vem_sq_complete(qp, RI_WC_SUCCESS);
	return true;
}

static void
receive_overflow(struct vsw_responder *in)
{
	vem_cq_overflow(vsw_of(in, struct vem_qp, in), RI_EVENT_QP_CQ_RQ_ERROR);
}

static void
receive_limits(struct vsw_responder *in)
{
	vem_receive_limits(vsw_of(in, struct vem_qp, in));
}

/* The memory of a receive of an unreliable connection is wrong: that is the failure of its owner. */
static void
receiver_failed(struct vsw_responder *in)
{
	static const struct vem_cause cause = {.kind = RI_CM_BROKEN, .async = RI_EVENT_QP_ACCESS};

	vem_qp_move(vsw_of(in, struct vem_qp, in), VEM_MOVE_FAULT, &cause);
}

static void
responder_say(struct vsw_responder *in, const char *text)
{
	vem_say(vsw_of(in, struct vem_qp, in), "%s", text);
}

const struct vsw_responder_ops vem_responder_ops = {
	.overflow = receive_overflow,
	.limits = receive_limits,
	.failed = receiver_failed,
	.say = responder_say,
};

/* --- one-sided ---------------------------------------------------------------------------- */

static bool
do_write(struct vem_qp *qp, struct vem_qp *peer)
{
	struct vsw_spans local;

	if (vsw_spans_gather(qp->rnic->mem, &qp->in.who, qp->tx_wqe, &local) != VSW_MEM_OK)
		return vem_fail_here(qp, RI_WC_LOCAL_PROTECTION);

	const struct vsw_message message = message_of(qp->tx_wqe);
	const struct vsw_piece piece = whole_of(qp->tx_wqe, &local);
	const struct vsw_refusal *refusal = vsw_respond_write(&peer->in, &message, &piece);

	vsw_spans_end(&local);
	if (refusal != NULL)
		return refused(qp, peer, refusal);
	vem_sq_complete(qp, RI_WC_SUCCESS);
	return true;
}

static bool
do_read(struct vem_qp *qp, struct vem_qp *peer)
{
	const struct vsw_wqe *wqe = qp->tx_wqe;
	const struct vsw_message message = message_of(wqe);
	bool iwarp = qp->rnic->fabric->personality == VEM_IWARP;
	uint32_t sink = iwarp ? RI_ACCESS_REMOTE_WRITE : RI_ACCESS_LOCAL_WRITE;
	struct vsw_spans local;
	struct vsw_spans remote;

	if (atomic_load(&qp->ord) == 0)
		return vem_fail_here(qp, RI_WC_LOCAL_QP);

	const struct vsw_refusal *refusal =
		vsw_respond_read(&peer->in, &message, 0, wqe->length, &remote);
	if (refusal != NULL)
		return vem_fail_there(qp, peer, refusal);
	/* The sink is checked when the answer arrives (RDMAC verbs 7.8). */
	bool enabled = !iwarp || wqe->length == 0 ||
		       (atomic_load(&qp->in.access) & RI_ACCESS_REMOTE_WRITE) != 0;
	if (!enabled || vsw_spans_begin(qp->rnic->mem, &qp->in.who, wqe, wqe->length, sink,
					&local) != VSW_MEM_OK) {
		vsw_spans_end(&remote);
		return vem_fail_here(qp, RI_WC_LOCAL_PROTECTION);
	}
	if (!vsw_spans_copy(&local, 0, &remote))
		refusal = vsw_respond_lost(&local);
	vsw_spans_end(&local);
	vsw_spans_end(&remote);
	if (refusal != NULL)
		return refused(qp, peer, refusal);
	if ((wqe->flags & RI_WR_INVALIDATE) != 0 &&
	    vsw_mem_invalidate(qp->rnic->mem, &qp->in.who, wqe->sge[0].stag, false) != VSW_MEM_OK)
		return vem_fail_here(qp, RI_WC_LOCAL_MM);
	vem_sq_complete(qp, RI_WC_SUCCESS);
	return true;
}

/* Begin the access to the segment for the old value of an atomic. */
static bool
result_begin(struct vem_qp *qp, struct vsw_mem_use *use)
{
	const struct ri_sge *sge = &qp->tx_wqe->sge[0];
	struct vsw_mem_access wanted = {.addr = sge->addr,
					.length = sizeof(uint64_t),
					.stag = sge->stag,
					.access = RI_ACCESS_LOCAL_WRITE};

	return qp->tx_wqe->num_sge == 1 && sge->length == sizeof(uint64_t) &&
	       vsw_mem_begin(qp->rnic->mem, &qp->in.who, &wanted, use) == VSW_MEM_OK;
}

/* The result goes to the first segment, in this processor's byte order. */
static bool
do_atomic(struct vem_qp *qp, struct vem_qp *peer)
{
	const struct vsw_message message = message_of(qp->tx_wqe);
	struct vsw_mem_use word;
	struct vsw_mem_use result;
	uint64_t old;

	if (atomic_load(&qp->ord) == 0)
		return vem_fail_here(qp, RI_WC_LOCAL_QP);
	const struct vsw_refusal *refusal = vsw_respond_word(&peer->in, &message, &word);
	if (refusal != NULL)
		return vem_fail_there(qp, peer, refusal);
	if (!result_begin(qp, &result)) {
		vsw_mem_end(&word);
		return vem_fail_here(qp, RI_WC_LOCAL_PROTECTION);
	}
	refusal = vsw_respond_atomic(&message, qp->tx_wqe->opcode == RI_OP_CMP_SWAP, &word, &old);
	enum ri_status told = RI_SUCCESS;
	if (refusal == NULL)
		told = vsw_mem_copy(&result, 0, &old, sizeof(old), true);
	vsw_mem_end(&result);
	vsw_mem_end(&word);
	if (refusal != NULL)
		return vem_fail_there(qp, peer, refusal);
	if (told != RI_SUCCESS)
		return vem_fail_here(qp, told == RI_ERR_ADDRESS ? RI_WC_LOCAL_PROTECTION
								: RI_WC_LOCAL_QP);
	vem_sq_complete(qp, RI_WC_SUCCESS);
	return true;
}

/* --- with a receive ----------------------------------------------------------------------- */

/* A Send, or a Write with immediate data. */
static inline __attribute__((always_inline)) bool
do_deliver(struct vem_qp *qp, struct vem_qp *peer, bool write)
{
	struct vsw_spans local;

	if (vsw_spans_gather(qp->rnic->mem, &qp->in.who, qp->tx_wqe, &local) != VSW_MEM_OK)
		return vem_fail_here(qp, RI_WC_LOCAL_PROTECTION);
	if (!vsw_role_take(&peer->in.role)) {
		vsw_spans_end(&local);
		return false; /* the owner of the role runs this queue when it gives the role up */
	}

	bool done = false; /* the peer may have ended meanwhile; its message will arrive */

	if (vem_qp_takes(peer)) {
		const struct vsw_message message = message_of(qp->tx_wqe);
		const struct vsw_piece piece = whole_of(qp->tx_wqe, &local);
		const struct vsw_refusal *refusal =
			write ? vsw_respond_write_immediate(&peer->in, &message, &piece)
			      : vsw_respond_send(&peer->in, &message, &piece);

		vsw_spans_end(&local);
		done = taken(qp, peer, refusal);
	} else {
		vsw_spans_end(&local);
	}
	vem_rx_leave(peer);
	return done;
}

static bool
do_send(struct vem_qp *qp, struct vem_qp *peer)
{
	return do_deliver(qp, peer, false);
}

static bool
do_write_immediate(struct vem_qp *qp, struct vem_qp *peer)
{
	return do_deliver(qp, peer, true);
}

/* --- all ---------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) bool
deliver(struct vem_qp *qp, struct vem_qp *peer)
{
	switch (qp->tx_wqe->opcode) {
	case RI_OP_SEND:
		return do_send(qp, peer);
	case RI_OP_RDMA_WRITE:
		if (__builtin_expect((qp->tx_wqe->flags & RI_WR_IMMEDIATE) != 0, 0))
			return do_write_immediate(qp, peer);
		return do_write(qp, peer);
	case RI_OP_FETCH_ADD:
	case RI_OP_CMP_SWAP:
		return do_atomic(qp, peer);
	default:
		return do_read(qp, peer);
	}
}

/* The same, for the wire, and for a capture. */
static __attribute__((cold, noinline)) bool
deliver_apart(struct vem_qp *qp, struct vem_qp *peer)
{
	bool done;

	vem_tap_begin(qp, peer);
	done = deliver(qp, peer);
	vem_tap_done(qp, done);
	return done;
}

/* A port is down, or messages take time or are captured. */
static __attribute__((cold, noinline)) bool
execute_apart(struct vem_qp *qp, struct vem_qp *peer)
{
	if (vem_fault_offline(qp->rnic) || vem_fault_offline(peer->rnic))
		return false; /* when the port comes up, all queues of its adapter are run */
	return vem_wire_execute(qp, peer, deliver_apart);
}

static inline __attribute__((always_inline)) bool
execute_with(struct vem_qp *qp, struct vem_qp *peer)
{
	if (!vem_qp_takes(peer))
		return false; /* it will run this queue when it is open, or send a message that it ends */
	if (__builtin_expect(vem_fault_apart(qp->rnic) || vem_fault_apart(peer->rnic), 0))
		return execute_apart(qp, peer);
	return deliver(qp, peer);
}

bool
vem_execute_with(struct vem_qp *qp, struct vem_qp *peer)
{
	return execute_with(qp, peer);
}

bool
vem_execute(struct vem_qp *qp)
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
	struct vem_qp *peer = vem_peer_enter(qp);
	if (peer == NULL)
		return vem_wire_alone(
			qp); /* its last message has been sent and ends this queue pair */
	done = execute_with(qp, peer);
	vem_peer_exit(qp);
	return done;
}
