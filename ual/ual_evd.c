/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Event dispatchers: how they are created, queried and freed.
 *
 * A DTO dispatcher owns a completion queue of the kAL and its user half; the others own a ring. The
 * asynchronous streams have at most one dispatcher each, to which the IA points. Sources of events have a reference to
 * their dispatcher (ual_object::refs), so its free returns BUSY; asynchronous streams have none, so their dispatchers
 * can be freed at any time [IT 2.2].
 *
 * Threads: every function may run on any thread. ual_evd::control serialises modify and free;
 * ual_evd::lock protects the ring and the attributes. Posts come from dispatch as well.
 */
#include "ual_evd.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include "ri_fd.h"
#include "ual.h"
#include "ual_log.h"
#include "ual_status.h"

static it_status_t
cq_open(struct ual_evd *evd, size_t size)
{
	struct ual_ia *ia = evd->object.ia;
	struct kal_cq_create_req req = {
		.rnic = ia->session.rnic,
		.entries = (uint32_t)ual_evd_cq_generous(ia, size),
		.ctx = ual_object_ctx(&evd->object),
	};
	struct kal_cq_rep rep;
	enum ri_status status;

	if (size > UINT32_MAX)
		return IT_ERR_RESOURCE_QUEUE_SIZE;
	status = session_call(&ia->session, KAL_CQ_CREATE, &req, sizeof(req), &rep, sizeof(rep));
	if (status != RI_SUCCESS)
		return ual_status(UAL_CALL_EVD_CREATE, status);
	status = ia->session.user->cq_open(ia->session.urnic, &rep.map, &evd->cq);
	if (status != RI_SUCCESS) {
		(void)!session_call_id(&ia->session, KAL_CQ_DESTROY, rep.id);
		return ual_status(UAL_CALL_EVD_CREATE, status);
	}
	evd->cq_id = rep.id;
	session_count_cq(&ia->session, rep.id, evd->cq);
	evd->queue_size = rep.entries;
	evd->poll = ia->session.fast->poll_cq;
	evd->depth = ia->session.fast->cq_depth;
	evd->arm = ia->session.fast->arm_cq;
	return IT_SUCCESS;
}

/* Where the IA keeps the dispatcher of an asynchronous stream. */
static struct ual_evd **
async_place(struct ual_evd *evd)
{
	struct ual_ia *ia = evd->object.ia;

	return evd->stream == IT_ASYNC_AFF_EVENT_STREAM ? &ia->affiliated : &ia->unaffiliated;
}

static void
async_unassign(struct ual_evd *evd)
{
	struct ual_ia *ia = evd->object.ia;

	pthread_mutex_lock(&ia->lock);
	if (*async_place(evd) == evd)
		*async_place(evd) = NULL;
	pthread_mutex_unlock(&ia->lock);
	/* A post that is under way has a reference until it ends. */
	for (unsigned round = 0; atomic_load(&evd->object.refs) != 0; round++)
		session_relax(&ia->session, round);
}

/* Destroy the EVD. The handle is retracted, or was never published. */
static void
evd_end(struct ual_evd *evd)
{
	struct ual_ia *ia = evd->object.ia;

	if (evd->cq != NULL) {
		ia->session.user->cq_close(evd->cq);
		(void)!session_call_id(&ia->session, KAL_CQ_DESTROY, evd->cq_id);
	}
	session_settle(&ia->session);
	ual_ring_free(&evd->ring);
	if (evd->fd >= 0)
		close(evd->fd);
	pthread_mutex_destroy(&evd->lock);
	pthread_mutex_destroy(&evd->control);
	ual_object_delete(&evd->object);
}

/* ual_object::destroy: the IA is being freed, and waits have returned. */
static void
evd_destroy(struct ual_object *object)
{
	struct ual_evd *evd = (struct ual_evd *)object;

	(void)ual_aggregate_leave(evd);
	ual_aggregate_disband(evd);
	ual_callback_detach(evd);
	if (ual_evd_is_async(evd->stream))
		async_unassign(evd);
	evd_end(evd);
}

static it_status_t
wanted_check(const struct ual_evd_wanted *wanted)
{
	unsigned flags = (unsigned)wanted->flags;
	bool aggregate = wanted->stream == IT_AEVD_NOTIFICATION_EVENT_STREAM;

	if (!aggregate && wanted->stream != IT_DTO_EVENT_STREAM &&
	    wanted->stream != IT_CM_REQ_EVENT_STREAM && wanted->stream != IT_CM_MSG_EVENT_STREAM &&
	    wanted->stream != IT_SOFTWARE_EVENT_STREAM && !ual_evd_is_async(wanted->stream))
		return IT_ERR_INVALID_EVD_TYPE;
	if (aggregate &&
	    (flags & ~(unsigned)(IT_EVD_CREATE_FD | IT_EVD_DEQUEUE_NOTIFICATIONS)) != 0)
		return IT_ERR_INVALID_FLAGS;
	if (!aggregate && ((flags & ~(unsigned)(UAL_EVD_OVERFLOW_FLAGS | IT_EVD_CREATE_FD)) != 0 ||
			   !ual_evd_overflow_fits(flags)))
		return IT_ERR_INVALID_FLAGS;
	/* Size and threshold of an aggregate are ignored [IT 6.2]. */
	if (aggregate && wanted->aevd != NULL)
		return IT_ERR_AEVD_NOT_ALLOWED;
	if (!aggregate && wanted->queue_size == 0)
		return IT_ERR_INVALID_QUEUE_SIZE;
	if (!aggregate && wanted->threshold > wanted->queue_size)
		return IT_ERR_INVALID_THRESHOLD;
	if ((flags & IT_EVD_CREATE_FD) != 0 && !wanted->has_fd)
		return IT_ERR_MISMATCH_FD;
	/* A member is watched through its aggregate alone [IT 6.3]. */
	if ((flags & IT_EVD_CREATE_FD) != 0 && wanted->aevd != NULL)
		return IT_ERR_INVALID_EVD_STATE;
	return IT_SUCCESS;
}

/* An EVD with its queue and its descriptor; *out is NULL only if there was no memory for it. */
static it_status_t
evd_new(struct ual_ia *ia, const struct ual_evd_wanted *wanted, struct ual_evd **out)
{
	struct ual_evd *evd = (struct ual_evd *)ual_object_new(UAL_EVD, ia, &ia->objects);
	bool aggregate = wanted->stream == IT_AEVD_NOTIFICATION_EVENT_STREAM;
	it_status_t status = IT_SUCCESS;

	*out = evd;
	if (evd == NULL)
		return IT_ERR_RESOURCES;
	evd->object.destroy = evd_destroy;
	pthread_mutex_init(&evd->control, NULL);
	pthread_mutex_init(&evd->lock, NULL);
	evd->stream = wanted->stream;
	evd->flags = wanted->flags;
	evd->merges = (wanted->flags & IT_EVD_DEQUEUE_NOTIFICATIONS) == 0;
	evd->enabled = true;
	evd->fd = -1;
	session_spin_init(&evd->spin);
	atomic_store(&evd->threshold, aggregate ? 0 : wanted->threshold);
	ual_callback_init(evd);
	if (evd->stream == IT_DTO_EVENT_STREAM) {
		status = cq_open(evd, wanted->queue_size);
	} else if (!aggregate) { /* an aggregate has members instead of a queue */
		if (wanted->queue_size > UAL_EVD_RING_MAX)
			return IT_ERR_RESOURCE_QUEUE_SIZE;
		evd->queue_size = ual_ring_generous(evd->stream, wanted->queue_size);
		evd->ring.event_size = ual_ring_event_size(evd->stream);
		if (!ual_ring_resize(&evd->ring, evd->queue_size))
			return IT_ERR_RESOURCES;
	}
	if (status != IT_SUCCESS || (wanted->flags & IT_EVD_CREATE_FD) == 0)
		return status;
	evd->fd = ri_fd_eventfd();
	if (evd->fd < 0)
		return IT_ERR_RESOURCES;
	atomic_store(&evd->attention, UAL_EVD_WATCHED);
	return IT_SUCCESS;
}

it_status_t
ual_evd_create(struct ual_ia *ia, const struct ual_evd_wanted *wanted, it_evd_handle_t *out,
	       int *fd)
{
	it_status_t status = wanted_check(wanted);
	struct ual_evd *aevd = NULL;
	struct ual_evd *evd;

	if (status != IT_SUCCESS)
		return status;
	if (wanted->aevd != NULL) {
		aevd = ual_evd_use(wanted->aevd, IT_AEVD_NOTIFICATION_EVENT_STREAM, ia);
		if (aevd == NULL)
			return IT_ERR_INVALID_AEVD;
	}
	status = evd_new(ia, wanted, &evd);
	if (status == IT_SUCCESS && ual_evd_is_async(evd->stream)) {
		/* Each asynchronous stream of an IA has at most one dispatcher. */
		pthread_mutex_lock(&ia->lock);
		if (*async_place(evd) == NULL)
			*async_place(evd) = evd;
		else
			status = evd->stream == IT_ASYNC_AFF_EVENT_STREAM
					 ? IT_ERR_ASYNC_AFF_EVD_EXISTS
					 : IT_ERR_ASYNC_UNAFF_EVD_EXISTS;
		pthread_mutex_unlock(&ia->lock);
	}
	if (status != IT_SUCCESS) {
		if (aevd != NULL)
			ual_object_unref(&aevd->object);
		if (evd != NULL)
			evd_end(evd);
		return status;
	}
	*out = (it_evd_handle_t)ual_object_publish(&evd->object);
	if (fd != NULL)
		*fd = evd->fd;
	if (aevd != NULL)
		ual_aggregate_join(aevd, evd, false);
	if (evd->fd >= 0)
		ual_evd_evaluate(evd);
	return IT_SUCCESS;
}

it_status_t
ual_evd_free(struct ual_evd *evd)
{
	bool async = ual_evd_is_async(evd->stream);
	it_status_t status = IT_SUCCESS;

	/* An asynchronous stream has a reference only during a post, which does not count. */
	if (ual_evd_is_aggregate(evd) ? !ual_aggregate_is_free(evd)
				      : !async && !ual_object_freeze(&evd->object))
		return IT_ERR_EVD_BUSY;
	/* A thread may wait for events, or for the end of a callback, perhaps the one that called us. Else no wait can begin. */
	pthread_mutex_lock(&evd->lock);
	if (atomic_load(&evd->waiters) > 0)
		status = IT_ERR_EVD_WAIT;
	else if (evd->detachers > 0)
		status = IT_ERR_EVD_BUSY;
	else
		evd->dying = true;
	pthread_mutex_unlock(&evd->lock);
	if (status != IT_SUCCESS) {
		if (!async)
			ual_object_thaw(&evd->object);
		return status;
	}
	if (!ual_object_retract(&evd->object))
		return IT_ERR_INVALID_EVD;
	pthread_mutex_lock(&evd->control);
	(void)ual_aggregate_leave(evd);
	pthread_mutex_unlock(&evd->control);
	ual_callback_detach(evd);
	if (async)
		async_unassign(evd);
	evd_end(evd);
	return IT_SUCCESS;
}

void
ual_evd_query(struct ual_evd *evd, it_evd_param_mask_t mask, it_evd_param_t *params)
{
	unsigned want = (unsigned)mask;

	if (want == IT_EVD_PARAM_ALL)
		want = ~0u;
	pthread_mutex_lock(&evd->lock);
	if ((want & IT_EVD_PARAM_IA) != 0)
		params->ia = (it_ia_handle_t)ual_object_handle(&evd->object.ia->object);
	if ((want & IT_EVD_PARAM_EVENT_NUMBER) != 0)
		params->event_number = evd->stream;
	if ((want & IT_EVD_PARAM_FLAG) != 0)
		params->evd_flag = evd->flags;
	if ((want & IT_EVD_PARAM_QUEUE_SIZE) != 0)
		params->sevd_queue_size = evd->queue_size;
	if ((want & IT_EVD_PARAM_THRESHOLD) != 0)
		params->sevd_threshold = atomic_load(&evd->threshold);
	if ((want & IT_EVD_PARAM_AEVD_HANDLE) != 0)
		params->aevd = evd->aevd != NULL
				       ? (it_evd_handle_t)ual_object_handle(&evd->aevd->object)
				       : (it_evd_handle_t)IT_NULL_HANDLE;
	if ((want & IT_EVD_PARAM_FD) != 0)
		params->fd = evd->fd;
	if ((want & IT_EVD_PARAM_BOUND) != 0)
		params->evd_bound =
			!ual_evd_is_async(evd->stream) && atomic_load(&evd->object.refs) != 0;
	if ((want & IT_EVD_PARAM_ENABLED) != 0)
		params->evd_enabled = evd->enabled;
	if ((want & IT_EVD_PARAM_OVERFLOWED) != 0)
		params->evd_overflowed = evd->overflowed;
	if ((want & IT_EVD_PARAM_CALLBACK) != 0)
		params->evd_callback = evd->callback != NULL ? IT_TRUE : IT_FALSE;
	pthread_mutex_unlock(&evd->lock);
}
