/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The verbs of SRQs, and the watermarks of the queue pairs that take receives from one; most of the work is done by
 * vsw_srq.c.
 *
 * A Send that finds no receive stays in the sender's queue. With an SRQ the receiver waits in the SRQ's line,
 * and a thread that posts to the SRQ runs the send queue of the peer of the first receiver there.
 */
#include <stdlib.h>
#include <string.h>

#include "vem.h"

#define MAX_SRQ    65536
#define MAX_SRQ_WR (1u << 16)

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

/* A member may take a receive: the message that waits for one is in its peer's send queue. */
static void
srq_member_wake(struct vsw_srq_member *member)
{
	vem_peer_sq_run(vsw_of(member, struct vem_qp, in.member));
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
	vsw_list_add(&pd->context->srqs, &srq->item);
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
	vsw_list_remove(&srq->item);
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
