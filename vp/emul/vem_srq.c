/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Queue pairs that take their receives from an SRQ: their watermarks, and how they wait. The SRQ is vsw_srq.c.
 *
 * A Send that finds no receive stays in the sender's queue. With an SRQ the receiver waits in the SRQ's line,
 * and a thread that posts to the SRQ runs the send queue of the peer of the first receiver there.
 */
#include "vem.h"

void
vem_receive_limits(struct vem_qp *qp)
{
	const struct ri_upcalls *up = qp->rnic->upcalls;
	struct ri_async_event event = {
		.event = RI_EVENT_QP_RQ_LIMIT, .object = RI_OBJECT_QP, .ctx = qp->in.ctx};
	struct vem_cause cause = {.kind = RI_CM_BROKEN,
				  .async = RI_EVENT_QP_RQ_HARD_LIMIT,
				  .detail = 0x0207,
				  .message = VEM_MSG_TERMINATE,
				  .code = 0x0207};

	if (qp->srq == NULL)
		return;
	if (vsw_srq_soft_due(&qp->in.member))
		up->async_event(up->self, &event);
	if (vsw_srq_hard_due(&qp->in.member))
		vem_qp_move(qp, VEM_MOVE_FAULT, &cause);
}

/* The message that waits for a receive is in the send queue of its peer. */
void
vem_srq_wake(struct vsw_srq_member *member)
{
	vem_peer_sq_run(vsw_of(member, struct vem_qp, in.member));
}
