/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Dispatch: each event of the kAL is passed to its object.
 *
 * The session takes the events and calls ual_dispatch for each, in order, so that an endpoint is CONNECTED before its first
 * receive completes. An event whose object was destroyed is dropped [IT 14]. session.h and ual_ia.h have the rules of
 * dispatch.
 */
#include <stdio.h>

#include "ual.h"
#include "ual_evd.h"
#include "ual_listen.h"
#include "ual_trace.h"
#include "ual_ud_svc.h"

/*
 * The next EVD in the list of objects, NULL: no more. It stays while this dispatch runs (ual_ia.h,
 * rule 2).
 */
static struct ual_evd *
evd_after(struct ual_ia *ia, const struct ual_object *object)
{
	struct ual_evd *evd = NULL;

	pthread_mutex_lock(&ia->objects.lock);
	object = object != NULL ? object->next : ia->objects.first;
	for (; object != NULL && evd == NULL; object = object->next)
		evd = (struct ual_evd *)ual_object_from_ctx(ual_object_ctx(object), UAL_EVD);
	pthread_mutex_unlock(&ia->objects.lock);
	return evd;
}

/* An event of a completion queue, a queue pair or a shared receive queue, of the adapter or of a spigot. */
static void
dispatch_async(struct ual_ia *ia, const struct ri_async_event *async)
{
	struct ual_evd *evd = NULL;

	if (async->event == RI_EVENT_DEVICE_CATASTROPHIC) {
		/*
		 * The adapter failed beyond repair: calls return IT_ERR_IA_CATASTROPHE ([IT 1.6], R-36) since session::dead was
		 * set. Descriptors and callbacks are notified here; the session wakes waiters.
		 */
		while ((evd = evd_after(ia, evd != NULL ? &evd->object : NULL)) != NULL)
			ual_evd_evaluate(evd);
	} else if (async->event == RI_EVENT_PORT_ACTIVE) {
		ual_async_unaffiliated(ia, IT_ASYNC_UNAFF_SPIGOT_ONLINE, async->ctx);
	} else if (async->event == RI_EVENT_PORT_ERROR) {
		ual_async_unaffiliated(ia, IT_ASYNC_UNAFF_SPIGOT_OFFLINE, async->ctx);
	} else if (async->object == RI_OBJECT_QP) {
		ual_ep_async(ia, async);
	} else if (async->object == RI_OBJECT_SRQ) {
		ual_srq_async(ia, async);
	} else if (async->object == RI_OBJECT_CQ) {
		evd = (struct ual_evd *)ual_object_from_ctx(async->ctx, UAL_EVD);
		if (evd == NULL || evd->object.ia != ia)
			return;
		if (async->event == RI_EVENT_CQ_OVERFLOW)
			ual_evd_overflow(evd, NULL);
		else if (async->event == RI_EVENT_CQ_OP_ERROR)
			ual_async_affiliated(ia, IT_ASYNC_AFF_SEVD_OP_ERROR,
					     ual_object_handle(&evd->object));
	}
}

void
ual_dispatch(void *above, const struct kal_event *event)
{
	struct ual_ia *ia = (struct ual_ia *)above;
	struct ual_evd *evd;
	char number[16];

	if (event->kind == KAL_EVENT_CQ) {
		evd = (struct ual_evd *)ual_object_from_ctx(event->ctx, UAL_EVD);
		if (evd != NULL && evd->object.ia == ia)
			ual_evd_evaluate(evd);
	} else if (event->kind == KAL_EVENT_CM) {
		if (event->u.cm.kind == KAL_CM_REQUEST ||
		    event->u.cm.kind == KAL_CM_SERVICE_REQUEST)
			ual_listen_request(ia, event);
		else if (event->u.cm.kind == KAL_CM_SERVICE_REPLY)
			ual_ud_svc_reply(ia, event);
		else if (event->u.cm.kind == KAL_CM_REQUEST_GONE)
			ual_request_gone(ia, event->u.cm.request);
		else
			ual_ep_cm(ia, event);
	} else if (event->kind == KAL_EVENT_ASYNC) {
		dispatch_async(ia, &event->u.async);
		if (atomic_load(&ual_trace_file) >= 0) {
			(void)snprintf(number, sizeof(number), "%u",
				       (unsigned int)event->u.async.event);
			ual_trace((const void *)(uintptr_t)event->ctx, "RI_EVENT", number);
		}
	}
}
