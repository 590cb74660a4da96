/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Receives for messages, from the receiver's own queue or from an SRQ, and the verbs of SRQs; most of the
 * work is done by vsw_srq.c.
 *
 * A Send that finds no receive stays in the sender's queue. With an SRQ the receiver waits in the SRQ's line,
 * and a thread that posts to the SRQ runs the send queue of the peer of the first receiver there.
 */
#include <stdlib.h>
#include <string.h>

#include "vem.h"

#define MAX_SRQ    65536
#define MAX_SRQ_WR (1u << 16)

/* --- receives ----------------------------------------------------------------------------- */

/* Has the queue pair's own queue a receive? If not, the next post runs the peer's send queue. */
static bool
own_is_there(struct ri_qp *qp)
{
	if (vsw_wq_pending(&qp->rq) != 0)
		return true;
	/* Either this reads the new head, or the poster reads `awaited`: see vsw_wq_pending. */
	atomic_store(&qp->awaited, 1);
	return vsw_wq_pending(&qp->rq) != 0;
}

enum vsw_srq_result
vem_receive_take(struct ri_qp *qp, struct vsw_cqe *cqe)
{
	enum vsw_srq_result result = VSW_SRQ_EMPTY;

	if (qp->srq != NULL) {
		result = vsw_srq_take(&qp->member, qp->rx_wqe);
		cqe->wq = qp->srq->srq.wq.number;
		cqe->wq_index = qp->rq.number;
		cqe->shared = 1;
	} else if (own_is_there(qp) && vsw_rq_take(&qp->rq, qp->rx_wqe, &cqe->wq_index)) {
		result = VSW_SRQ_TAKEN;
		cqe->wq = qp->rq.number;
	}
	return result;
}

enum vsw_srq_result
vem_receive_take_or_keep(struct ri_qp *qp, uint32_t length, struct vsw_cqe *cqe)
{
	enum vsw_srq_result result = VSW_SRQ_TAKEN;

	if (!atomic_load(&qp->rx_have)) {
		result = vem_receive_take(qp, cqe);
		if (result != VSW_SRQ_TAKEN) {
			vsw_srq_leave(&qp->member);
			if (qp->srq != NULL)
				vsw_srq_pass_on(&qp->member);
			return result;
		}
		qp->rx_number = cqe->wq;
		qp->rx_index = cqe->wq_index;
		qp->rx_shared = cqe->shared;
	}
	atomic_store(&qp->rx_have, qp->rx_wqe->length < length);
	cqe->wq = qp->rx_number;
	cqe->wq_index = qp->rx_index;
	cqe->shared = qp->rx_shared;
	return atomic_load(&qp->rx_have) ? VSW_SRQ_EMPTY : VSW_SRQ_TAKEN;
}

void
vem_receive_limits(struct ri_qp *qp)
{
	const struct ri_upcalls *up = qp->rnic->upcalls;
	struct ri_async_event event = {
		.event = RI_EVENT_QP_RQ_LIMIT, .object = RI_OBJECT_QP, .ctx = qp->ctx};
	struct vem_cause cause = {.kind = RI_CM_BROKEN,
				  .async = RI_EVENT_QP_RQ_HARD_LIMIT,
				  .detail = 0x0207,
				  .message = VEM_MSG_TERMINATE,
				  .code = 0x0207};

	if (qp->srq == NULL)
		return;
	if (vsw_srq_soft_due(&qp->member))
		up->async_event(up->self, &event);
	if (vsw_srq_hard_due(&qp->member))
		vem_qp_move(qp, VEM_MOVE_FAULT, &cause);
}

/* A member may take a receive: the message that waits for one is in its peer's send queue. */
static void
srq_member_wake(struct vsw_srq_member *member)
{
	vem_peer_sq_run(vem_of(member, struct ri_qp, member));
}

/* --- verbs -------------------------------------------------------------------------------- */

static enum ri_status
srq_create(struct ri_pd *pd, struct ri_srq_attr *attr, struct ri_srq **out, struct ri_map *map)
{
	struct ri_rnic *rnic = pd->context->rnic;
	const struct vsw_srq_params params = {
		.host = rnic->host, .upcalls = rnic->upcalls, .pd = pd, .wake = srq_member_wake};
	enum ri_status status = RI_ERR_RESOURCES;
	struct ri_srq *srq = NULL;

	if (attr->max_wr > MAX_SRQ_WR || attr->max_sge > VEM_MAX_SGE)
		return RI_ERR_LIMIT;
	if (atomic_fetch_add(&rnic->srqs, 1) < MAX_SRQ)
		srq = calloc(1, sizeof(*srq));
	if (srq != NULL)
		status = vsw_srq_create(&srq->srq, &params, attr);
	if (status != RI_SUCCESS) {
		atomic_fetch_sub(&rnic->srqs, 1);
		free(srq);
		return status;
	}
	srq->pd = pd;
	atomic_fetch_add(&pd->users, 1);
	pthread_mutex_lock(&pd->context->lock);
	vem_list_add(&pd->context->srqs, &srq->item);
	pthread_mutex_unlock(&pd->context->lock);
	vsw_map_srq(map, &srq->srq.wq, &srq->srq);
	*out = srq;
	return RI_SUCCESS;
}

static enum ri_status
srq_modify(struct ri_srq *srq, struct ri_srq_attr *attr, bool resize, struct ri_map *map)
{
	if (resize && attr->max_wr > MAX_SRQ_WR)
		return RI_ERR_LIMIT;

	enum ri_status status = vsw_srq_modify(&srq->srq, attr, resize);

	if (status == RI_SUCCESS)
		vsw_map_srq(map, &srq->srq.wq, &srq->srq);
	return status;
}

static enum ri_status
srq_query(struct ri_srq *srq, struct ri_srq_attr *attr)
{
	vsw_srq_query(&srq->srq, attr);
	return RI_SUCCESS;
}

static enum ri_status
srq_destroy(struct ri_srq *srq)
{
	struct ri_context *context = srq->pd->context;

	if (atomic_load(&srq->srq.users) != 0)
		return RI_ERR_BUSY;
	/* From here on vem_fault.c does not find it. */
	pthread_mutex_lock(&context->lock);
	vem_list_remove(&srq->item);
	pthread_mutex_unlock(&context->lock);
	vsw_srq_destroy(&srq->srq);
	atomic_fetch_sub(&srq->pd->users, 1);
	atomic_fetch_sub(&context->rnic->srqs, 1);
	free(srq);
	return RI_SUCCESS;
}

const struct ri_srq_ops vem_srq_ops = {
	.size = sizeof(struct ri_srq_ops),
	.create = srq_create,
	.modify = srq_modify,
	.query = srq_query,
	.destroy = srq_destroy,
};
