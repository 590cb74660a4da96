/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Completions of both queues, and the two ways in which a request fails: at its own side, or because the peer
 * refuses it. The caller owns the role of the queue.
 */
#include "vem_tap.h"
#include "vem_why.h"

/* --- completions -------------------------------------------------------------------------- */

void
vem_cq_overflow(struct vem_qp *qp, uint32_t event)
{
	struct vem_cause cause = {.kind = RI_CM_BROKEN,
				  .async = event,
				  .detail = 0x0207,
				  .message = VEM_MSG_TERMINATE,
				  .code = 0x0207};

	vem_qp_move(qp, VEM_MOVE_FAULT, &cause);
}

void
vem_sq_complete(struct vem_qp *qp, enum ri_wc_status status)
{
	const struct vsw_wqe *wqe = qp->tx_wqe;

	assert(vsw_role_is_taken(&qp->tx));
	qp->tx_have = false;
	if (status == RI_WC_SUCCESS && (wqe->flags & RI_WR_SIGNALED) == 0)
		return;

	qp->sq.pushed = qp->tx_index;
	bool solicited = status != RI_WC_SUCCESS || (wqe->flags & RI_WR_NOTIFY) != 0;
	struct vsw_cqe cqe = {
		.wr_id = wqe->wr_id,
		.qp_ctx = qp->in.ctx,
		.byte_len = wqe->length,
		.status = (uint8_t)status,
		.opcode = wqe->opcode,
		.flags = solicited ? RI_WC_SOLICITED : 0,
		.wq = qp->sq.number,
		.wq_index = qp->tx_index,
	};

	if (status == RI_WC_SUCCESS && wqe->opcode == RI_OP_RDMA_READ &&
	    (wqe->flags & RI_WR_INVALIDATE) != 0) {
		cqe.flags |= RI_WC_INVALIDATED;
		cqe.inv_stag = wqe->sge[0].stag;
	}
	if (!vsw_cq_push(&qp->send_cq->cq, &cqe))
		vem_cq_overflow(qp, RI_EVENT_QP_CQ_SQ_ERROR);
}

void
vem_rq_complete(struct vem_qp *qp, const struct vsw_cqe *cqe)
{
	assert(vsw_role_is_taken(&qp->in.role));
	if (!vsw_cq_push(&qp->recv_cq->cq, cqe))
		vem_cq_overflow(qp, RI_EVENT_QP_CQ_RQ_ERROR);
}

/* --- failures ----------------------------------------------------------------------------- */

bool
vem_fail_here(struct vem_qp *qp, enum ri_wc_status status)
{
	return vem_fail_key(qp, status, VSW_MEM_OK);
}

/* What this side raises besides the end of the connection, or instead of it, when its request has failed. */
static uint32_t
requester_event_of(const struct vem_qp *qp)
{
	return atomic_load(&qp->by_peer) ? RI_EVENT_QP_WR_ERROR : RI_EVENT_NONE;
}

bool
vem_fail_key(struct vem_qp *qp, enum ri_wc_status status, enum vsw_mem_result result)
{
	struct vem_cause cause = {.kind = RI_CM_BROKEN,
				  .async = requester_event_of(qp),
				  .message = VEM_MSG_TERMINATE};

	vem_tap_failed(qp, status);
	vem_why_here(qp, status, result);
	vem_qp_fail(qp, &cause, status);
	return true;
}

/* The event that a responder raises for a refused request. InfiniBand has two, and that of its own failure. */
static uint32_t
responder_event_of(const struct vem_qp *qp, uint32_t event)
{
	bool remote = event == RI_EVENT_QP_READ_DISABLED || event == RI_EVENT_QP_WRITE_DISABLED ||
		      (event >= RI_EVENT_QP_STAG && event <= RI_EVENT_QP_WRAP) ||
		      (event >= RI_EVENT_QP_IRRQ_STAG && event <= RI_EVENT_QP_IRRQ_WRAP);

	if (qp->rnic->fabric->personality != VEM_IB || event == RI_EVENT_QP_CATASTROPHIC)
		return event;
	if (remote)
		return RI_EVENT_QP_ACCESS;
	return event == RI_EVENT_QP_IRRQ_OVERFLOW ? RI_EVENT_QP_OPCODE : RI_EVENT_NONE;
}

/* What a queue pair ends with that refuses a request of its peer. */
static struct vem_cause
refusal_cause(const struct vem_qp *peer, const struct vsw_refusal *refusal)
{
	return (struct vem_cause){
		.kind = RI_CM_BROKEN,
		.async = responder_event_of(peer, refusal->event),
		.detail = refusal->code,
		/* On InfiniBand the other side knows already. */
		.message = peer->rnic->fabric->personality == VEM_IB ? 0 : VEM_MSG_TERMINATE,
		.code = refusal->code};
}

void
vem_refuse(struct vem_qp *peer, const struct vsw_refusal *refusal)
{
	const struct vem_cause there = refusal_cause(peer, refusal);

	vem_qp_move(peer, VEM_MOVE_FAULT, &there);
}

void
vem_fail_late(struct vem_qp *qp, struct vem_qp *peer, const struct vsw_refusal *refusal)
{
	vem_tap_refused(qp, refusal);
	vem_why_there(qp, peer, refusal);
	vem_refuse(peer, refusal);
}

bool
vem_fail_there(struct vem_qp *qp, struct vem_qp *peer, const struct vsw_refusal *refusal)
{
	const struct vem_cause there = refusal_cause(peer, refusal);
	struct vem_cause here = {.kind = RI_CM_BROKEN, .async = requester_event_of(qp)};

	vem_tap_refused(qp, refusal);
	if (qp->init.type == RI_QP_UC) {
		vem_sq_complete(qp, RI_WC_SUCCESS); /* the peer drops it */
		return true;
	}
	vem_why_there(qp, peer, refusal);
	if (qp->rnic->fabric->personality == VEM_IB) {
		vem_qp_fail(qp, &here, refusal->status);
		vem_qp_move(peer, VEM_MOVE_FAULT, &there);
		return true;
	}
	vem_qp_move(peer, VEM_MOVE_FAULT, &there);
	if (qp->tx_wqe->opcode != RI_OP_SEND && qp->tx_wqe->opcode != RI_OP_RDMA_WRITE)
		return false; /* flushed when the Terminate arrives */
	vem_sq_complete(qp, RI_WC_SUCCESS);
	return true;
}
