/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Dispatch: events of the kAL are handed to their objects.
 *
 * The session takes the events and calls ual_async_dispatch for each, in order, so that an endpoint
 * is CONNECTED before its first receive completes. An event whose object was destroyed is
 * dropped [IT 14]. session.h and ual_ia.h have the rules of dispatch.
 */
#include <stdio.h>

#include "ual.h"
#include "ual_evd.h"
#include "ual_log.h"
#include "ual_trace.h"

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

/*
 * The adapter failed beyond repair: calls return IT_ERR_IA_CATASTROPHE ([IT 1.6], R-36) since
 * session::dead was set. Descriptors and callbacks are notified here; the session wakes waiters.
 */
static void
adapter_failed(struct ual_ia *ia)
{
	struct ual_evd *evd = NULL;

	while ((evd = evd_after(ia, evd != NULL ? &evd->object : NULL)) != NULL)
		ual_evd_evaluate(evd);
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
	ual_evd_unref(evd);
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

static void
cq_async(struct ual_ia *ia, const struct ri_async_event *async)
{
	struct ual_evd *evd = (struct ual_evd *)ual_object_from_ctx(async->ctx, UAL_EVD);

	if (evd == NULL || evd->object.ia != ia)
		return;
	if (async->event == RI_EVENT_CQ_OVERFLOW)
		ual_evd_overflow(evd, NULL);
	else if (async->event == RI_EVENT_CQ_OP_ERROR)
		ual_async_affiliated(ia, IT_ASYNC_AFF_SEVD_OP_ERROR,
				     ual_object_handle(&evd->object));
}

static void
dispatch_async(struct ual_ia *ia, const struct ri_async_event *async)
{
	if (async->event == RI_EVENT_DEVICE_CATASTROPHIC)
		adapter_failed(ia);
	else if (async->event == RI_EVENT_PORT_ACTIVE)
		ual_async_unaffiliated(ia, IT_ASYNC_UNAFF_SPIGOT_ONLINE, async->ctx);
	else if (async->event == RI_EVENT_PORT_ERROR)
		ual_async_unaffiliated(ia, IT_ASYNC_UNAFF_SPIGOT_OFFLINE, async->ctx);
	else if (async->object == RI_OBJECT_CQ)
		cq_async(ia, async);
	else if (async->object == RI_OBJECT_QP)
		ual_ep_async(ia, async);
	else if (async->object == RI_OBJECT_SRQ)
		ual_srq_async(ia, async);
}

static void
dispatch_cq(struct ual_ia *ia, uint64_t ctx)
{
	struct ual_evd *evd = (struct ual_evd *)ual_object_from_ctx(ctx, UAL_EVD);

	if (evd != NULL && evd->object.ia == ia)
		ual_evd_evaluate(evd);
}

static void
trace_async(const struct kal_event *event)
{
	char number[16];

	(void)snprintf(number, sizeof(number), "%u", (unsigned int)event->u.async.event);
	ual_trace((const void *)(uintptr_t)event->ctx, "RI_EVENT", number);
}

void
ual_async_dispatch(void *above, const struct kal_event *event)
{
	struct ual_ia *ia = (struct ual_ia *)above;

	if (event->kind == KAL_EVENT_CQ)
		dispatch_cq(ia, event->ctx);
	else if (event->kind == KAL_EVENT_CM)
		ual_cm_event(ia, event);
	else if (event->kind == KAL_EVENT_ASYNC)
		dispatch_async(ia, &event->u.async);
	if (event->kind == KAL_EVENT_ASYNC && atomic_load(&ual_trace_file) >= 0)
		trace_async(event);
}
