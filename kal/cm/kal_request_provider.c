/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Requests from a provider that connects by itself, for connections and for datagram services: how they are
 * delivered, withdrawn and refused. A request for which there is no memory is refused on the service thread, since no
 * verb may be called inside an upcall; the array that remembers it (kal_listener::unheard) was allocated with its
 * listener.
 */
#include <string.h>

#include "kal_cm_internal.h"
#include "kal_request.h"
#include "ri_owned.h"

static void
describe(struct kal_request *request, const struct ri_cm_event *event)
{
	struct kal_cm_event *info = &request->info;

	request->provider = event->request;
	request->listener_id = event->ctx;
	request->service = event->kind == RI_CM_SERVICE_REQUEST;
	info->kind = request->service ? KAL_CM_SERVICE_REQUEST : KAL_CM_REQUEST;
	info->peer = event->peer;
	info->local = event->local;
	info->service = event->service;
	info->port = event->port;
	info->ird_ord_valid = event->ird_ord_valid;
	info->ird = event->ird;
	info->ord = event->ord;
	info->pdata_present = event->pdata_present;
	info->pdata_len = MIN(event->pdata_len, RI_PDATA_MAX);
	memcpy(info->pdata, event->pdata, info->pdata_len);
	info->reach = event->reach;
}

static void
refuse_all_unheard(void *arg)
{
	struct kal_listener *listener = arg;
	struct kal_unheard next;
	bool any;

	do {
		kal_cm_lock(listener->cm);
		any = listener->unheard_count > 0;
		if (any)
			next = listener->unheard[--listener->unheard_count];
		kal_cm_unlock(listener->cm);
		if (any)
			kal_request_refuse_at_provider(listener->cm, &next, KAL_REASON_RESOURCES,
						       NULL, 0);
	} while (any);
}

void
kal_request_listener_init(struct kal_listener *listener)
{
	listener->refuse.fire = refuse_all_unheard;
	listener->refuse.arg = listener;
}

void
kal_request_refuse_unheard(struct kal_listener *listener)
{
	const struct ri_host *host = listener->cm->host;

	host->task_stop(host->self, &listener->refuse);
	refuse_all_unheard(listener);
}

void
kal_request_from_provider(struct kal_cm *cm, const struct ri_cm_event *event)
{
	struct kal_request *request = kal_request_alloc(cm);
	struct kal_listener *listener;

	if (request != NULL)
		describe(request, event);
	kal_cm_lock(cm);
	listener = kal_listener_of(cm, event->ctx);
	if (listener != NULL && request != NULL) {
		request->ctx = listener->ctx;
		if (listener->suppress)
			request->info.ird_ord_valid = 0;
		if (request->info.ird_ord_valid == 0)
			request->info.ird = request->info.ord = 0;
		atomic_fetch_add(&listener->waiting, 1);
		kal_request_enter(request);
	} else if (listener != NULL && listener->unheard != NULL &&
		   listener->unheard_count < listener->backlog) {
		/* No memory: refuse it later, outside the upcall. Beyond the backlog the provider may raise none. */
		listener->unheard[listener->unheard_count++] = (struct kal_unheard){
			event->request, event->kind == (uint32_t)RI_CM_SERVICE_REQUEST};
		cm->host->task_run(cm->host->self, &listener->refuse);
	}
	kal_cm_unlock(cm);
	/* The listener was destroyed: its provider refuses the requests that are left. */
	if (listener == NULL && request != NULL)
		kal_request_release(request);
}

void
kal_request_gone(struct kal_cm *cm, const struct ri_cm_event *event)
{
	struct kal_request *request = NULL;
	struct kal_listener *listener;
	struct kal_link *link = NULL;

	kal_cm_lock(cm);
	while (request == NULL && (link = kal_table_next(&cm->requests, link)) != NULL) {
		struct kal_request *one = kal_entry(link, struct kal_request, link);

		if (one->provider == event->request)
			request = one;
	}
	listener = kal_listener_of(cm, event->ctx);
	if (request != NULL) {
		kal_request_leave(request);
		kal_request_tell_gone(request);
	}
	/* A call that has the request checks this when it gives the request back. */
	while (request == NULL && (link = kal_table_next(&cm->held, link)) != NULL) {
		struct kal_request *one = kal_entry(link, struct kal_request, link);

		if (one->provider == event->request)
			one->withdrawn = true;
	}
	for (uint32_t i = 0; request == NULL && listener != NULL && i < listener->unheard_count;
	     i++)
		if (listener->unheard[i].request == event->request)
			listener->unheard[i--] = listener->unheard[--listener->unheard_count];
	kal_cm_unlock(cm);
	if (request != NULL)
		kal_request_release(request);
}
