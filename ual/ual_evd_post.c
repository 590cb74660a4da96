/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Event dispatchers as a source of events sees them: find one, post to its ring, enter the overflowed state
 * [IT 6.7]; and the asynchronous events of an IA, which are posts to the dispatchers that the IA points to.
 *
 * Threads: every function may run on any thread, and in dispatch, unless it says otherwise.
 */
#include "ri_owned.h"
#include "ual.h"
#include "ual_evd.h"
#include "ual_log.h"

struct ual_evd *
ual_evd_use(it_evd_handle_t handle, it_event_type_t stream, const struct ual_ia *ia)
{
	struct ual_evd *evd = (struct ual_evd *)ual_object_use(handle, UAL_EVD, ia);

	if (evd != NULL && evd->stream != stream) {
		ual_object_unref(&evd->object);
		return NULL;
	}
	return evd;
}

/* Put an event into the ring. False: full. */
static bool
ring_post(struct ual_evd *evd, const it_event_t *event)
{
	bool put, watched;

	pthread_mutex_lock(&evd->lock);
	put = ual_ring_put(&evd->ring, event, (it_evd_handle_t)ual_object_handle(&evd->object));
	watched = (atomic_load(&evd->attention) & UAL_EVD_WATCHED) != 0;
	pthread_mutex_unlock(&evd->lock);
	if (put && watched)
		ual_evd_evaluate(evd);
	return put;
}

bool
ual_evd_post(struct ual_evd *evd, const it_event_t *event)
{
	if (ring_post(evd, event))
		return true;
	ual_evd_overflow(evd, NULL);
	return false;
}

void
ual_evd_attend_overflow(struct ual_evd *evd)
{
	RI_ASSERT_OWNED(&evd->lock);
	if (evd->overflowed && (evd->flags & IT_EVD_OVERFLOW_AUTO_RESET) != 0)
		atomic_fetch_or(&evd->attention, UAL_EVD_OVERFLOWED);
	else
		atomic_fetch_and(&evd->attention, ~(unsigned)UAL_EVD_OVERFLOWED);
}

/* Put an event into one of the IA's asynchronous dispatchers, which can be freed at any time. */
static void
async_post(struct ual_ia *ia, struct ual_evd *const *place, const it_event_t *event)
{
	struct ual_evd *evd;

	pthread_mutex_lock(&ia->lock);
	evd = *place;
	if (evd != NULL && !ual_object_ref(&evd->object))
		evd = NULL;
	pthread_mutex_unlock(&ia->lock);
	if (evd == NULL)
		return;
	(void)ual_evd_post(evd, event);
	ual_object_unref(&evd->object);
}

void
ual_async_affiliated(struct ual_ia *ia, it_event_type_t number, void *cause)
{
	it_event_t event = {.aff_async = {.event_number = number}};

	ual_log_async(ia, number, cause);
	/* The three members of the union are pointers of the same size. */
	event.aff_async.cause.ep = (it_ep_handle_t)cause;
	async_post(ia, &ia->affiliated, &event);
}

void
ual_async_unaffiliated(struct ual_ia *ia, it_event_type_t number, size_t spigot)
{
	it_event_t event = {.unaff_async = {.event_number = number, .spigot_id = spigot}};

	ual_log_async(ia, number, ual_object_handle(&ia->object));
	event.unaff_async.ia = (it_ia_handle_t)ual_object_handle(&ia->object);
	async_post(ia, &ia->unaffiliated, &event);
}

void
ual_evd_overflow(struct ual_evd *evd, void *ep)
{
	bool notify, first;

	pthread_mutex_lock(&evd->lock);
	first = !evd->overflowed;
	notify = first && (evd->flags & IT_EVD_OVERFLOW_NOTIFY) != 0 &&
		 !ual_evd_is_async(evd->stream);
	evd->overflowed = true;
	ual_evd_attend_overflow(evd);
	pthread_mutex_unlock(&evd->lock);
	if (first)
		ual_log_lost(evd->object.ia, ual_object_handle(&evd->object), evd->stream,
			     evd->queue_size);
	if (!notify)
		return;
	if (ep != NULL)
		ual_async_affiliated(evd->object.ia, IT_ASYNC_AFF_EP_SEVD_FULL_ERROR, ep);
	else
		ual_async_affiliated(evd->object.ia, IT_ASYNC_AFF_SEVD_FULL_ERROR,
				     ual_object_handle(&evd->object));
}

it_status_t
ual_evd_post_se(struct ual_evd *evd, const void *data)
{
	it_event_t event = {.sw = {.event_number = IT_SOFTWARE_EVENT}};

	if (ual_evd_is_aggregate(evd))
		return IT_ERR_AEVD_NOT_ALLOWED;
	if (evd->stream != IT_SOFTWARE_EVENT_STREAM)
		return IT_ERR_INVALID_SOFT_EVD;
	event.sw.data = (void *)(uintptr_t)data;
	return ring_post(evd, &event) ? IT_SUCCESS : IT_ERR_EVD_QUEUE_FULL;
}
