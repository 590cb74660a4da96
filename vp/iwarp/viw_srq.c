/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Receives, of the queue pair's own queue or of an SRQ; most of the work is done by vsw_srq.c.
 *
 * A Send that finds no receive stops the reading of its own stream only (viw_rx.c). With an SRQ its queue pair
 * waits in the line, and a thread that posts runs the receiving role of the first queue pair there.
 *
 * Take, ready and leave: the owner of rx.role. Standards: RDMAC verbs 6.3; doc/decisions/0003.
 */
#include "viw_qp.h"
#include "viw_receive.h"

/* --- receives [fast] ----------------------------------------------------------------------- */

bool
viw_receive_take(struct viw_qp *qp, bool *wait)
{
	struct viw_rx *rx = &qp->rx;

	assert(vsw_role_is_taken(&qp->rx.role));
	rx->refused = 0;
	if (qp->srq != NULL) {
		switch (vsw_srq_take(&rx->member, qp->rx.wqe)) {
		case VSW_SRQ_TAKEN:
			rx->wq = qp->srq->srq.wq.number;
			rx->index = rx->rq.number;
			viw_receive_limits(qp);
			vsw_srq_pass_on(&rx->member);
			return true;
		case VSW_SRQ_EMPTY:
			*wait = true;
			return false;
		case VSW_SRQ_HARD_LIMIT:
			rx->refused = RI_EVENT_QP_RQ_HARD_LIMIT;
			return false;
		case VSW_SRQ_FAILED:
		default:
			rx->refused = RI_EVENT_QP_SRQ_ERROR;
			return false;
		}
	}
	rx->wq = rx->rq.number;
	*wait = !vsw_rq_take(&rx->rq, qp->rx.wqe, &rx->index);
	return !*wait;
}

bool
viw_receive_ready(struct viw_qp *qp)
{
	if (qp->srq != NULL)
		return vsw_srq_ready(&qp->rx.member);
	return vsw_wq_pending(&qp->rx.rq) != 0;
}

void
viw_receive_leave(struct viw_qp *qp)
{
	assert(vsw_role_is_taken(&qp->rx.role));
	if (qp->srq == NULL)
		return;
	vsw_srq_leave(&qp->rx.member);
	vsw_srq_pass_on(&qp->rx.member);
}

void
viw_receive_limits(struct viw_qp *qp)
{
	struct vsw_srq_member *member = &qp->rx.member;

	if (qp->srq == NULL)
		return;
	if (vsw_srq_soft_due(member))
		viw_event_raise(qp, RI_EVENT_QP_RQ_LIMIT, 0);
	if (vsw_srq_hard_due(member))
		viw_fault(qp, RDMAP_FAULT_STREAM_CATASTROPHIC, NULL, RI_EVENT_QP_RQ_HARD_LIMIT);
}

void
viw_srq_wake(struct vsw_srq_member *member)
{
	(void)viw_rx_run(vsw_of(member, struct viw_qp, rx.member));
}

void
viw_doorbell_srq(void *engine_srq)
{
	const struct vsw_srq_object *srq = vsw_of(engine_srq, struct vsw_srq_object, srq);
	const struct viw_context *context = (const struct viw_context *)srq->pd->context;

	if (!atomic_load_explicit(&context->rnic->engine.forked, memory_order_relaxed))
		vsw_srq_bell(engine_srq);
}
