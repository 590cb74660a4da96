/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The state of a queue pair, and its messages; both may come from any thread.
 *
 * vem_qp_move is the only function that writes the state. It records the cause of an end and starts the task
 * of the queue pair, which does all that follows from the change (vem_qp_steps.c).
 */
#include "vem.h"

static enum ri_qp_state
qp_next_state(const struct vem_qp *qp, enum ri_qp_state state, enum vem_move move)
{
	return qp->rnic->fabric->personality == VEM_IB ? vem_ib_next(state, move)
						       : vem_iw_next(state, move);
}

static void
qp_task_run(struct vem_qp *qp)
{
	qp->rnic->host->task_run(qp->rnic->host->self, &qp->task);
}

/* Called with the lock. */
static void
cause_record(struct vem_qp *qp, const struct vem_cause *cause, enum vem_move move)
{
	bool ours = (cause->message & VEM_MSG_TERMINATE) != 0;
	uint32_t code = ours ? cause->code : cause->detail;

	qp->cause = *cause;
	qp->ended = true;
	if ((qp->ud || atomic_load(&qp->by_peer)) && cause->kind != RI_CM_NONE) {
		/* There is no connection whose end could be raised. */
		qp->cause.kind = RI_CM_NONE;
		if (cause->async == RI_EVENT_NONE)
			qp->cause.async = RI_EVENT_QP_CATASTROPHIC;
	}
	if (qp->rnic->fabric->personality != VEM_IWARP || (!ours && move != VEM_MOVE_PEER_FAULT))
		return;
	qp->terminate_sent = ours;
	qp->terminate_len = sizeof(qp->terminate);
	qp->terminate[0] = (uint8_t)(code >> 8);
	qp->terminate[1] = (uint8_t)code;
}

/* The move itself. True: it was made; *flushes: the task has to flush the queues now. */
static bool
qp_step(struct vem_qp *qp, enum vem_move move, const struct vem_cause *cause, bool *flushes)
{
	/* One that receives before it may send can fail, too. */
	if (move == VEM_MOVE_FAULT && atomic_load(&qp->by_peer))
		move = VEM_MOVE_LOST;
	vsw_lock(&qp->lock);
	enum ri_qp_state before = (enum ri_qp_state)atomic_load(&qp->state);
	enum ri_qp_state next = qp_next_state(qp, before, move);
	bool live = before == RI_QPS_CONNECTING || before == RI_QPS_RTS;
	if (next != RI_QPS_NONE && cause != NULL && live && !qp->ended)
		cause_record(qp, cause, move);
	if (next != RI_QPS_NONE)
		atomic_store(&qp->state, next);
	vsw_unlock(&qp->lock);
	*flushes = next != before && vem_state_flushes(next);
	return next != RI_QPS_NONE;
}

bool
vem_qp_move(struct vem_qp *qp, enum vem_move move, const struct vem_cause *cause)
{
	bool flushes, moved = qp_step(qp, move, cause, &flushes);

	if (flushes)
		qp_task_run(qp);
	return moved;
}

void
vem_qp_fail(struct vem_qp *qp, const struct vem_cause *cause, enum ri_wc_status status)
{
	bool flushes;

	atomic_store(&qp->failing, true);
	(void)qp_step(qp, VEM_MOVE_FAULT, cause, &flushes);
	vem_sq_complete(qp, status);
	atomic_store(&qp->failing, false);
	/* Also if the state was one that flushes: a thread that found it so has flushed nothing. */
	qp_task_run(qp);
}

void
vem_qp_message(struct vem_qp *qp, enum vem_msg message, uint32_t code,
	       const struct vem_hello *hello)
{
	vsw_lock(&qp->lock);
	qp->messages |= message;
	if (message == VEM_MSG_TERMINATE)
		qp->terminate_in = code;
	if (hello != NULL)
		qp->heard = *hello;
	vsw_unlock(&qp->lock);
	qp_task_run(qp);
}
