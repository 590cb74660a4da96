/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Event dispatchers: what it_evd_modify changes [IT 6.5], [IT 6.7], [IT 15.3].
 *
 * A change is checked in full before any part of it is made. ual_evd::control serialises changes; after each change the
 * EVD is evaluated.
 */
#include "ri_owned.h"
#include "ual.h"
#include "ual_evd.h"
#include "ual_status.h"

static it_status_t
queue_resize(struct ual_evd *evd, size_t size)
{
	struct ual_ia *ia = evd->object.ia;
	struct kal_cq_resize_req req = {.id = evd->cq_id, .entries = (uint32_t)size};
	struct kal_cq_rep rep;
	it_status_t status = IT_SUCCESS;
	enum ri_status below;

	if (size < ual_evd_depth(evd))
		return IT_ERR_INVALID_QUEUE_SIZE;
	if (evd->cq != NULL) {
		if (size <= evd->queue_size && !ia->session.attr.cq_resizable)
			return IT_SUCCESS;
		if (size > UINT32_MAX || !ia->session.attr.cq_resizable)
			return IT_ERR_RESOURCE_QUEUE_SIZE;
		below = session_call(&ia->session, KAL_CQ_RESIZE, &req, sizeof(req), &rep,
				     sizeof(rep));
		if (below == RI_SUCCESS)
			below = ia->session.user->cq_remap(evd->cq, &rep.map);
		if (below != RI_SUCCESS)
			return ual_status(UAL_CALL_EVD_CREATE, below);
		size = rep.entries;
	} else if (size > UAL_EVD_RING_MAX) {
		return IT_ERR_RESOURCE_QUEUE_SIZE;
	}
	pthread_mutex_lock(&evd->lock);
	if (evd->cq == NULL && size < evd->ring.count)
		status = IT_ERR_INVALID_QUEUE_SIZE;
	else if (evd->cq == NULL && !ual_ring_resize(&evd->ring, size))
		status = IT_ERR_RESOURCES;
	else
		evd->queue_size = size;
	pthread_mutex_unlock(&evd->lock);
	return status;
}

/* May the EVD become a member of the aggregate? [IT 6.3] */
static it_status_t
membership_check(struct ual_evd *evd, it_evd_handle_t handle)
{
	struct ual_evd *aevd =
		ual_evd_use(handle, IT_AEVD_NOTIFICATION_EVENT_STREAM, evd->object.ia);
	it_status_t status = IT_SUCCESS;

	if (ual_evd_is_aggregate(evd))
		status = IT_ERR_AEVD_NOT_ALLOWED;
	else if (aevd == NULL)
		status = IT_ERR_INVALID_AEVD;
	if (aevd != NULL)
		ual_object_unref(&aevd->object);
	pthread_mutex_lock(&evd->lock);
	if (status == IT_SUCCESS && evd->callback != NULL)
		status = IT_ERR_CALLBACK_EXISTS;
	if (status == IT_SUCCESS && atomic_load(&evd->waiters) > 0)
		status = IT_ERR_EVD_WAIT;
	if (status == IT_SUCCESS && evd->fd >= 0)
		status = IT_ERR_INVALID_EVD_STATE;
	pthread_mutex_unlock(&evd->lock);
	return status;
}

/* Check the whole change. */
static it_status_t
modify_check(struct ual_evd *evd, unsigned mask, const it_evd_param_t *new)
{
	const unsigned queue =
		IT_EVD_PARAM_QUEUE_SIZE | IT_EVD_PARAM_THRESHOLD | IT_EVD_PARAM_OVERFLOWED;
	size_t size = evd->queue_size;
	size_t threshold = atomic_load(&evd->threshold);

	if (ual_evd_is_aggregate(evd) && (mask & queue) != 0)
		return IT_ERR_AEVD_NOT_ALLOWED;
	if ((mask & IT_EVD_PARAM_QUEUE_SIZE) != 0) {
		size = new->sevd_queue_size;
		if (size == 0)
			return IT_ERR_INVALID_QUEUE_SIZE;
	}
	if ((mask & IT_EVD_PARAM_THRESHOLD) != 0)
		threshold = new->sevd_threshold;
	if (threshold > size)
		return IT_ERR_INVALID_THRESHOLD;
	if ((mask & IT_EVD_PARAM_AEVD_HANDLE) != 0 && new->aevd != NULL) {
		it_status_t status = membership_check(evd, new->aevd);

		if (status != IT_SUCCESS)
			return status;
	}
	if ((mask & IT_EVD_PARAM_FLAG) != 0 && (((unsigned)new->evd_flag ^ (unsigned)evd->flags) &
						~(unsigned)UAL_EVD_OVERFLOW_FLAGS) != 0)
		return IT_ERR_INVALID_FLAGS;
	if ((mask & IT_EVD_PARAM_FLAG) != 0 && !ual_evd_overflow_fits((unsigned)new->evd_flag))
		return IT_ERR_INVALID_FLAGS;
	if ((mask & IT_EVD_PARAM_FLAG) != 0 && ual_evd_is_aggregate(evd) &&
	    ((unsigned)new->evd_flag &UAL_EVD_OVERFLOW_FLAGS) != 0)
		return IT_ERR_INVALID_FLAGS; /* it has no queue */
	if ((mask & IT_EVD_PARAM_OVERFLOWED) != 0 &&
	    (new->evd_overflowed != IT_FALSE || ual_evd_depth(evd) >= size))
		return IT_ERR_INVALID_EVD_STATE;
	return IT_SUCCESS;
}

it_status_t
ual_evd_modify(struct ual_evd *evd, it_evd_param_mask_t wanted, const it_evd_param_t *new)
{
	unsigned mask = (unsigned)wanted;
	struct ual_evd *aevd = NULL;
	it_status_t status;
	bool pending;

	pthread_mutex_lock(&evd->control);
	status = modify_check(evd, mask, new);
	if (status == IT_SUCCESS && (mask & IT_EVD_PARAM_QUEUE_SIZE) != 0)
		status = queue_resize(evd, new->sevd_queue_size);
	if (status == IT_SUCCESS && (mask & IT_EVD_PARAM_AEVD_HANDLE) != 0) {
		/* Leave the aggregate and join another; a pending notification moves along. */
		if (new->aevd != NULL)
			aevd = ual_evd_use(new->aevd, IT_AEVD_NOTIFICATION_EVENT_STREAM,
					   evd->object.ia);
		if (new->aevd != NULL && aevd == NULL) {
			status = IT_ERR_INVALID_AEVD;
		} else if (aevd != NULL && aevd == evd->aevd) {
			ual_object_unref(&aevd->object);
		} else {
			pending = ual_aggregate_leave(evd);
			if (aevd != NULL)
				ual_aggregate_join(aevd, evd, pending);
		}
	}
	if (status == IT_SUCCESS) {
		pthread_mutex_lock(&evd->lock);
		if ((mask & IT_EVD_PARAM_THRESHOLD) != 0) {
			atomic_store(&evd->threshold, new->sevd_threshold);
			atomic_fetch_and(&evd->attention, ~(unsigned)UAL_EVD_LATCHED);
		}
		if ((mask & IT_EVD_PARAM_FLAG) != 0)
			evd->flags = new->evd_flag;
		if ((mask & IT_EVD_PARAM_OVERFLOWED) != 0)
			evd->overflowed = false;
		ual_evd_attend_overflow(evd);
		if ((mask & IT_EVD_PARAM_ENABLED) != 0) {
			evd->enabled = new->evd_enabled != IT_FALSE;
			if (!evd->enabled)
				ual_evd_wake_waiters(evd);
		}
		pthread_mutex_unlock(&evd->lock);
		ual_evd_evaluate_fully(evd);
	}
	pthread_mutex_unlock(&evd->control);
	return status;
}
