/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "door_srq.h"

#include <errno.h>
#include <stdlib.h>

#include "door_export.h"
#include "door_status.h"
#include "session_cancel.h"

/* --- create and destroy --------------------------------------------------------------------------------- */

static void
srq_free(struct door_srq *srq)
{
	pthread_mutex_destroy(&srq->post_lock);
	pthread_mutex_destroy(&srq->srq.mutex);
	pthread_cond_destroy(&srq->srq.cond);
	free(srq);
}

static struct door_srq *
srq_new(struct ibv_pd *pd, void *srq_context)
{
	static const enum ibv_event_type types[DOOR_SRQ_EVENTS] = {
		[DOOR_SRQ_FAILED] = IBV_EVENT_SRQ_ERR,
		[DOOR_SRQ_LIMIT] = IBV_EVENT_SRQ_LIMIT_REACHED,
	};
	struct door_srq *srq = (struct door_srq *)calloc(1, sizeof(*srq));

	if (srq == NULL)
		return NULL;
	srq->pd = door_pd_of(pd);
	srq->srq.context = pd->context;
	srq->srq.srq_context = srq_context;
	srq->srq.pd = pd;
	pthread_mutex_init(&srq->srq.mutex, NULL);
	pthread_cond_init(&srq->srq.cond, NULL);
	pthread_mutex_init(&srq->post_lock, NULL);
	for (unsigned i = 0; i < DOOR_SRQ_EVENTS; i++)
		srq->asyncs[i] = (struct door_async){
			.type = types[i], .element = &srq->srq, .taken = &srq->async_taken};
	return srq;
}

/* The kAL's queue and its user half; *attr gets what was granted. 0 or an errno, and nothing is left. */
static int
queue_open(struct door_srq *srq, struct ibv_srq_attr *attr)
{
	struct door_adapter *adapter = srq->pd->context->adapter;
	struct session *session = &adapter->session;
	const struct kal_srq_req req = {
		.id = srq->pd->id,
		.attr = {.ctx = srq->ctx, .max_wr = attr->max_wr, .max_sge = attr->max_sge}};
	struct kal_srq_rep rep;
	int error = door_call(adapter, KAL_SRQ_CREATE, &req, sizeof(req), &rep, sizeof(rep));

	if (error != 0)
		return error;
	error = door_errno(session->user->srq_open(session->urnic, &rep.map, &srq->queue));
	if (error != 0) {
		(void)door_call_id(adapter, KAL_SRQ_DESTROY, rep.id);
		return error;
	}
	session_count_srq(session, rep.id, srq->queue);
	srq->id = srq->srq.handle = rep.id;
	attr->max_wr = rep.attr.max_wr;
	attr->max_sge = srq->max_sge = rep.attr.max_sge;
	attr->srq_limit = 0;
	return 0;
}

/* The limit of a new queue counts for nothing, as ibv_create_srq(3) says. */
EXPORT struct ibv_srq *
ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct door_adapter *adapter = door_adapter_of(pd->context);
	struct door_srq *srq = srq_new(pd, attr->srq_context);
	int error;
	SESSION_DEFER;

	if (srq == NULL)
		return NULL;
	srq->ctx = door_slot_enter(&adapter->slots, DOOR_SRQ, srq);
	error = srq->ctx != 0 ? queue_open(srq, &attr->attr) : ENOMEM;
	if (error != 0) {
		if (srq->ctx != 0)
			door_slot_leave(&adapter->slots, srq->ctx);
		srq_free(srq);
		errno = error;
		return NULL;
	}
	door_pd_hold(srq->pd);
	return &srq->srq;
}

struct ibv_srq *
door_srq_create_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr)
{
	const uint32_t known = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;

	if ((attr->comp_mask & ~known) != 0 ||
	    ((attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) != 0 && attr->srq_type != IBV_SRQT_BASIC)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if ((attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) == 0 || attr->pd == NULL ||
	    attr->pd->context != context) {
		errno = EINVAL;
		return NULL;
	}
	/* The plain attributes are the beginning of the extended ones. */
	return ibv_create_srq(attr->pd, (struct ibv_srq_init_attr *)(void *)attr);
}

EXPORT int
ibv_destroy_srq(struct ibv_srq *ibv)
{
	struct door_srq *srq = door_srq_of(ibv);
	struct door_context *context = srq->pd->context;
	struct door_adapter *adapter = context->adapter;
	const struct door_acks acks = {&srq->async_taken, &ibv->mutex, &ibv->cond,
				       &ibv->events_completed};
	SESSION_DEFER;

	if (adapter->inherited)
		return 0;
	if (atomic_load(&srq->users) != 0)
		return EBUSY;
	door_slot_leave(&adapter->slots, srq->ctx);
	adapter->session.user->srq_close(srq->queue);
	(void)door_call_id(adapter, KAL_SRQ_DESTROY, srq->id);
	session_settle(&adapter->session);
	door_async_end(context, srq->asyncs, DOOR_SRQ_EVENTS, &acks);
	door_pd_drop(srq->pd);
	srq_free(srq);
	return 0;
}

/* --- attributes ------------------------------------------------------------------------------------------- */

EXPORT int
ibv_modify_srq(struct ibv_srq *ibv, struct ibv_srq_attr *attr, int mask)
{
	struct door_srq *srq = door_srq_of(ibv);
	struct door_adapter *adapter = srq->pd->context->adapter;
	struct kal_srq_req req = {.id = srq->id, .attr = {.limit = RI_SRQ_LIMIT_KEEP}};
	struct kal_srq_rep rep;
	int error;
	SESSION_DEFER;

	if ((mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT)) != 0)
		return EINVAL;
	if ((mask & IBV_SRQ_LIMIT) != 0) {
		if (!adapter->session.attr.srq_limit)
			return EOPNOTSUPP;
		if (attr->srq_limit == RI_SRQ_LIMIT_KEEP)
			return EINVAL;
		req.attr.limit = attr->srq_limit;
	}
	if ((mask & IBV_SRQ_MAX_WR) != 0) {
		req.resize = 1;
		req.attr.max_wr = attr->max_wr;
	}
	error = door_call(adapter, KAL_SRQ_MODIFY, &req, sizeof(req), &rep, sizeof(rep));
	if (error == 0 && req.resize)
		error = door_errno(adapter->session.user->srq_remap(srq->queue, &rep.map));
	if (error == 0 && req.resize)
		attr->max_wr = rep.attr.max_wr;
	return error;
}

EXPORT int
ibv_query_srq(struct ibv_srq *ibv, struct ibv_srq_attr *attr)
{
	struct door_srq *srq = door_srq_of(ibv);
	const struct kal_id_req req = {.id = srq->id};
	struct kal_srq_rep rep;
	int error;
	SESSION_DEFER;

	error = door_call(srq->pd->context->adapter, KAL_SRQ_QUERY, &req, sizeof(req), &rep,
			  sizeof(rep));
	if (error != 0)
		return error;
	attr->max_wr = rep.attr.max_wr;
	attr->max_sge = srq->max_sge;
	attr->srq_limit = rep.attr.limit;
	return 0;
}

/* --- events --------------------------------------------------------------------------------------------- */

void
door_srq_raised(struct door_srq *srq, enum ri_event event)
{
	if (event == RI_EVENT_SRQ_LIMIT)
		door_async_raise(srq->pd->context, &srq->asyncs[DOOR_SRQ_LIMIT]);
	else if (event == RI_EVENT_SRQ_CATASTROPHIC)
		door_async_raise(srq->pd->context, &srq->asyncs[DOOR_SRQ_FAILED]);
}
