/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Which thread runs the queues, and when.
 *
 * The thread that posts to a send queue runs it, in the role `tx` of the queue pair. If the role is taken, it
 * sets the retry flag and returns. The queue is run again when the condition that it waits for is met: the
 * peer is open, a receive was posted, the time to wait for one is over, the role for the peer's receives is
 * free. Receives are taken in the role `in.role`, by the peer that sends, or by a thread that flushes.
 *
 * Nothing here blocks or allocates. A run of a's send queue takes the role for b's receives, and a run of b's
 * queue the role for a's; but neither waits for a role, so there is no order to keep.
 *
 * In a state that flushes, all requests complete as flushed, in posting order: first the request that was
 * taken and is not complete, then the rest.
 */
#include <string.h>

#include "vem_remote.h"
#include "vem_wire.h"

/* --- flushing ----------------------------------------------------------------------------- */

/* Owner of the role `tx`. */
static void
sq_flush(struct vem_qp *qp)
{
	struct vem_remote *remote = atomic_load(&qp->remote);

	if (remote != NULL)
		vem_remote_flush(qp, remote);
	vem_wire_flush(qp);
	do {
		if (qp->tx_have)
			vem_sq_complete(qp, RI_WC_FLUSHED);
		qp->tx_have = vsw_wq_take(&qp->sq, qp->tx_wqe, &qp->tx_index);
	} while (qp->tx_have);
	/* No request waits any more, neither for its time nor for a receive of the peer. */
	atomic_store(&qp->lost_until, 0);
	atomic_store(&qp->rnr_until, 0);
	if (!atomic_exchange(&qp->tx_flushed, true))
		qp->rnic->host->task_run(qp->rnic->host->self, &qp->task);
}

/* Owner of the role `in.role`. If a request is about to complete with the failure, its thread has the task flush, behind that. */
static void
rq_flush(struct vem_qp *qp)
{
	if (!vem_state_flushes(atomic_load(&qp->state)) || atomic_load(&qp->failing))
		return;
	if (qp->srq != NULL) {
		vsw_srq_leave(&qp->in.member);
		vsw_srq_pass_on(&qp->in.member);
	}
	do {
		struct vsw_cqe cqe = {
			.wr_id = qp->in.wqe->wr_id,
			.qp_ctx = qp->in.ctx,
			.status = RI_WC_FLUSHED,
			.opcode = qp->ud ? RI_OP_RECV_UD : RI_OP_RECV,
			.flags = RI_WC_RECEIVE | RI_WC_SOLICITED,
			.wq = qp->in.shared ? qp->in.number : qp->in.rq.number,
			.wq_index = qp->in.index,
			.shared = qp->in.shared,
		};
		if (atomic_load(&qp->in.have))
			vem_rq_complete(qp, &cqe);
		qp->in.shared = 0;
		atomic_store(&qp->in.have, vsw_rq_take(&qp->in.rq, qp->in.wqe, &qp->in.index));
	} while (atomic_load(&qp->in.have));
	if (!atomic_exchange(&qp->rx_flushed, true))
		qp->rnic->host->task_run(qp->rnic->host->self, &qp->task);
}

/* --- running ------------------------------------------------------------------------------ */

/* Owner of the role `tx`. */
static void
sq_round(struct vem_qp *qp)
{
	for (;;) {
		unsigned state = atomic_load_explicit(&qp->state, memory_order_acquire);
		if (vem_state_flushes(state)) {
			sq_flush(qp);
			return;
		}
		if (state != RI_QPS_RTS ||
		    (!atomic_load_explicit(&qp->open, memory_order_acquire) &&
		     !atomic_load(&qp->by_peer)))
			return;
		if (!qp->tx_have)
			qp->tx_have = vsw_wq_take(&qp->sq, qp->tx_wqe, &qp->tx_index);
		if (!qp->tx_have || !vem_execute(qp))
			return;
	}
}

/* The same of a queue pair whose peer is in another process. */
static void
remote_round(struct vem_qp *qp, struct vem_remote *remote, bool in_turn)
{
	unsigned state;

	remote->in_turn = in_turn;
	do {
		state = atomic_load_explicit(&qp->state, memory_order_acquire);
		if (vem_state_flushes(state)) {
			sq_flush(qp);
			return;
		}
	} while (state == RI_QPS_RTS && atomic_load_explicit(&qp->open, memory_order_acquire) &&
		 vem_remote_step(qp, remote));
}

static inline void
sq_run(struct vem_qp *qp, bool in_turn)
{
	if (!vsw_role_take(&qp->tx))
		return;
	do {
		vsw_role_begin(&qp->tx);
		struct vem_remote *remote = atomic_load(&qp->remote);
		if (remote != NULL)
			remote_round(qp, remote, in_turn);
		else
			sq_round(qp);
	} while (vsw_role_drop(&qp->tx));
}

void
vem_sq_run(struct vem_qp *qp)
{
	sq_run(qp, false);
}

void
vem_sq_run_in_turn(struct vem_qp *qp)
{
	sq_run(qp, true);
}

/*
 * Run the peer's send queue. The caller owns no role that keeps the pair, so it increments `inside` and then
 * reads the state. A thread that leaves the pair changes the state before it waits for `inside`.
 */
void
vem_peer_sq_run(struct vem_qp *qp)
{
	if (qp->ud)
		return; /* no sender waits for it */
	atomic_fetch_add(&qp->inside, 1);
	bool takes = vem_qp_takes(qp);
	struct vem_remote *remote = takes ? atomic_load(&qp->remote) : NULL;
	struct vem_qp *peer = takes && remote == NULL ? vem_peer_get(qp) : NULL;
	if (remote != NULL)
		vem_remote_ready(remote);
	if (peer != NULL) {
		vem_sq_run(peer);
		vem_peer_put(qp);
	}
	atomic_fetch_sub(&qp->inside, 1);
}

/* A thread that set the retry flag wanted to flush, or to run the peer's send queue; do both. */
void
vem_rx_leave(struct vem_qp *qp)
{
	bool asked = false;

	while (vsw_role_drop(&qp->in.role)) {
		asked = true;
		vsw_role_begin(&qp->in.role);
		rq_flush(qp);
	}
	if (asked)
		vem_peer_sq_run(qp);
}

void
vem_rq_run(struct vem_qp *qp)
{
	if (!vsw_role_take(&qp->in.role))
		return;
	vsw_role_begin(&qp->in.role);
	rq_flush(qp);
	vem_rx_leave(qp);
}

/* --- bells -------------------------------------------------------------------------------- */

/* Carrier within a process; nothing here knows of other processes. */
void
vem_run_soon(struct vem_qp *qp)
{
	atomic_store(&qp->recheck, true);
	qp->rnic->host->task_run(qp->rnic->host->self, &qp->task);
}

void
vem_bell_sq(void *engine_qp)
{
	struct vem_qp *qp = engine_qp;

	if (!vsw_role_take(&qp->tx))
		return;
	do {
		vsw_role_begin(&qp->tx);
		sq_round(qp);
	} while (vsw_role_drop(&qp->tx));
}

void
vem_bell_sq_any(void *engine_qp)
{
	vem_sq_run(engine_qp);
}

void
vem_bell_rq(void *engine_qp)
{
	struct vem_qp *qp = engine_qp;
	/* The head was stored sequentially consistent, see vsw_post.c. Most posts find no message waiting. */
	bool awaited =
		atomic_load(&qp->in.awaited) != 0 && atomic_exchange(&qp->in.awaited, 0) != 0;
	unsigned state = atomic_load(&qp->state);

	if (vem_state_flushes(state))
		vem_rq_run(qp);
	else if (awaited)
		vem_peer_sq_run(qp);
}

/* On the service thread: the time to wait for a receive is over. */
void
vem_rnr_fire(void *arg)
{
	struct vem_qp *qp = arg;
	const struct ri_host *host = qp->rnic->host;

	uint64_t until = atomic_load(&qp->rnr_until);

	/* The receive may have been posted meanwhile, and another request may be waiting by now. */
	if (until <= VEM_RNR_LATE || host->now(host->self) < until ||
	    !atomic_compare_exchange_strong(&qp->rnr_until, &until, VEM_RNR_LATE))
		return;
	vem_sq_run(qp);
}
