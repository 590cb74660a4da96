/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Shared receive queues: create, query, modify, free [IT 12], [IT 15.8]. Posts to one are in ual_dto.c; ual_ep.c and
 * ual_ep_attr.c attach endpoints to it.
 *
 * An S-RQ has a reference to its PZ, and each endpoint that uses it has a reference to the S-RQ. So this file returns
 * BUSY, and the provider is never asked to destroy a queue that an endpoint uses. The watermark is in the provider,
 * which alone knows how many receives are left; it is off after its event was raised, and a query shows that.
 */

#include "ual_srq.h"

#include "ri_owned.h"
#include "ual.h"
#include "ual_dto.h"
#include "ual_status.h"

/* Release the zone and free the slot; no call can reach the S-RQ any more. */
static void
srq_end(struct ual_srq *srq)
{
	ual_object_unref(&srq->pz->object);
	pthread_mutex_destroy(&srq->control);
	pthread_mutex_destroy(&srq->post_lock);
	ual_object_delete(&srq->object);
}

static void
queue_end(struct ual_srq *srq)
{
	if (srq->queue != NULL)
		srq->object.ia->session.user->srq_close(srq->queue);
	/* If this fails, closing the client destroys the queue. */
	(void)!session_call_id(&srq->object.ia->session, KAL_SRQ_DESTROY, srq->srq_id);
}

static void
srq_destroy(struct ual_object *object)
{
	struct ual_srq *srq = (struct ual_srq *)object;

	queue_end(srq);
	session_settle(&object->ia->session);
	srq_end(srq);
}

static enum ri_status
queue_make(struct ual_srq *srq, uint32_t segments, uint32_t receives)
{
	struct ual_ia *ia = srq->object.ia;
	struct kal_srq_req req = {.id = srq->pz->pd,
				  .attr = {.ctx = ual_object_ctx(&srq->object),
					   .max_wr = receives,
					   .max_sge = segments}};
	struct kal_srq_rep rep;
	enum ri_status status;

	status = session_call(&ia->session, KAL_SRQ_CREATE, &req, sizeof(req), &rep, sizeof(rep));
	if (status != RI_SUCCESS)
		return status;
	srq->srq_id = rep.id;
	srq->max_sge =
		rep.attr.max_sge < UAL_DTO_SEGMENTS_MAX ? rep.attr.max_sge : UAL_DTO_SEGMENTS_MAX;
	atomic_store(&srq->max_recv_dtos, rep.attr.max_wr);
	status = ia->session.user->srq_open(ia->session.urnic, &rep.map, &srq->queue);
	if (status != RI_SUCCESS) {
		srq->queue = NULL;
		queue_end(srq);
		return status;
	}
	session_count_srq(&ia->session, srq->srq_id, srq->queue);
	return RI_SUCCESS;
}

it_status_t
ual_srq_create(struct ual_pz *pz, size_t segments, size_t receives, it_srq_handle_t *out)
{
	struct ual_ia *ia = pz->object.ia;
	const struct ri_rnic_attr *can = &ia->session.attr;
	struct ual_srq *srq;
	enum ri_status made;

	if (!can->srq)
		return IT_ERR_SRQ_NOT_SUPPORTED;
	if (segments > can->max_recv_sge || segments > UAL_DTO_SEGMENTS_MAX)
		return IT_ERR_RESOURCE_RSEG;
	if (receives == 0)
		return IT_ERR_INVALID_SRQ_SIZE;
	if (receives > can->max_srq_wr)
		return IT_ERR_RESOURCE_RECV_DTO;
	if (!ual_object_ref(&pz->object))
		return IT_ERR_RESOURCES; /* the zone is being freed */
	srq = (struct ual_srq *)ual_object_new(UAL_SRQ, ia, &ia->objects);
	if (srq == NULL) {
		ual_object_unref(&pz->object);
		return IT_ERR_RESOURCES;
	}
	srq->object.destroy = srq_destroy;
	srq->pz = pz;
	srq->serialise = !can->thread_safe_queues;
	srq->post = ia->session.fast->post_srq;
	pthread_mutex_init(&srq->post_lock, NULL);
	pthread_mutex_init(&srq->control, NULL);
	made = queue_make(srq, (uint32_t)segments, (uint32_t)receives);
	if (made != RI_SUCCESS) {
		srq_end(srq);
		return ual_status(UAL_CALL_SRQ_CREATE, made);
	}
	*out = (it_srq_handle_t)ual_object_publish(&srq->object);
	return IT_SUCCESS;
}

it_status_t
ual_srq_free(struct ual_srq *srq)
{
	if (!ual_object_freeze(&srq->object))
		return IT_ERR_SRQ_BUSY;
	if (!ual_object_retract(&srq->object))
		return IT_ERR_INVALID_SRQ;
	/* Wait for a control call that is under way. */
	pthread_mutex_lock(&srq->control);
	pthread_mutex_unlock(&srq->control);
	srq_destroy(&srq->object);
	return IT_SUCCESS;
}

/* Under the control lock. The change is checked in full before the kAL call. */
static it_status_t
modify_controlled(struct ual_srq *srq, unsigned int mask, const it_srq_param_t *params)
{
	struct ual_ia *ia = srq->object.ia;
	const struct ri_rnic_attr *can = &ia->session.attr;
	bool resize = (mask & IT_SRQ_PARAM_MAX_RECV_DTO) != 0;
	bool limit = (mask & IT_SRQ_PARAM_LOW_WATERMARK) != 0;
	size_t size = resize ? params->max_recv_dtos : atomic_load(&srq->max_recv_dtos);
	struct kal_srq_req req = {.id = srq->srq_id, .resize = resize};
	struct kal_srq_rep rep;
	enum ri_status changed;

	RI_ASSERT_OWNED(&srq->control);
	if (resize && !can->srq_resizable)
		return IT_ERR_OP_NOT_SUPPORTED;
	if (resize && size == 0)
		return IT_ERR_INVALID_SRQ_SIZE;
	if (resize && size > can->max_srq_wr)
		return IT_ERR_RESOURCE_RECV_DTO;
	if (limit &&
	    (params->low_watermark > size || (params->low_watermark != 0 && !can->srq_limit)))
		return IT_ERR_SRQ_LOW_WATERMARK;
	req.attr.limit = limit ? (uint32_t)params->low_watermark : RI_SRQ_LIMIT_KEEP;
	req.attr.max_wr = resize ? (uint32_t)size : 0;
	changed = session_call(&ia->session, KAL_SRQ_MODIFY, &req, sizeof(req), &rep, sizeof(rep));
	if (changed == RI_SUCCESS && resize) {
		changed = ia->session.user->srq_remap(srq->queue, &rep.map);
		atomic_store(&srq->max_recv_dtos, rep.attr.max_wr);
	}
	return ual_status(UAL_CALL_SRQ_MODIFY, changed);
}

it_status_t
ual_srq_modify(struct ual_srq *srq, it_srq_param_mask_t mask, const it_srq_param_t *params)
{
	it_status_t status;

	pthread_mutex_lock(&srq->control);
	status = modify_controlled(srq, (unsigned int)mask, params);
	pthread_mutex_unlock(&srq->control);
	return status;
}

it_status_t
ual_srq_query(struct ual_srq *srq, it_srq_param_mask_t wanted, it_srq_param_t *params)
{
	unsigned int mask = (wanted & IT_SRQ_PARAM_ALL) != 0 ? ~0u : (unsigned int)wanted;
	struct kal_id_req req = {.id = srq->srq_id};
	struct kal_srq_rep rep;
	enum ri_status status;

	if ((mask & IT_SRQ_PARAM_IA) != 0)
		params->ia = (it_ia_handle_t)ual_object_handle(&srq->object.ia->object);
	if ((mask & IT_SRQ_PARAM_PZ) != 0)
		params->pz = (it_pz_handle_t)ual_object_handle(&srq->pz->object);
	if ((mask & IT_SRQ_PARAM_MAX_RECV_DTO) != 0)
		params->max_recv_dtos = atomic_load(&srq->max_recv_dtos);
	if ((mask & IT_SRQ_PARAM_MAX_RECV_SEG) != 0)
		params->max_recv_segs = srq->max_sge;
	if ((mask & IT_SRQ_PARAM_LOW_WATERMARK) == 0)
		return IT_SUCCESS;
	/* The watermark that is armed; 0: none, or its event was raised. */
	status = session_call(&srq->object.ia->session, KAL_SRQ_QUERY, &req, sizeof(req), &rep,
			      sizeof(rep));
	if (status != RI_SUCCESS)
		return ual_status(UAL_CALL_OTHER, status);
	params->low_watermark = rep.attr.limit;
	return IT_SUCCESS;
}

void
ual_srq_async(struct ual_ia *ia, const struct ri_async_event *ev)
{
	it_event_type_t number = ual_status_of_event(ev->event, ev->detail);
	struct ual_srq *srq = (struct ual_srq *)ual_object_from_ctx(ev->ctx, UAL_SRQ);

	if (number != 0 && srq != NULL && srq->object.ia == ia)
		ual_async_affiliated(ia, number, ual_object_handle(&srq->object));
}
