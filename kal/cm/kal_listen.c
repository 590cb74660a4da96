/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Listeners: creation, destruction, and the look-up for a request that is handed off. If the kAL listens by itself,
 * kal_listen_socks.c has the sockets; else the provider listens.
 */
#include <stdlib.h>

#include "kal_cm_internal.h"
#include "kal_request.h"
#include "kal_sock.h"
#include "ri_owned.h"

enum ri_status
kal_listen(struct kal_cm *cm, const struct kal_listen_req *req, struct ri_service *service,
	   struct kal_listener **out)
{
	struct kal_listener *listener = calloc(1, sizeof(*listener));
	struct ri_listen_params params = {.port = req->port,
					  .backlog = CLAMP(req->backlog, 1, 4096)};
	enum ri_status status = RI_SUCCESS;

	if (listener == NULL)
		return RI_ERR_RESOURCES;
	listener->cm = cm;
	listener->ctx = req->ctx;
	listener->port = req->port;
	listener->backlog = params.backlog;
	listener->suppress = req->suppress_ird_ord != 0;
	kal_listener_init(listener);
	kal_request_listener_init(listener);
	atomic_init(&listener->refs, 1);
	*service = req->service;
	if (cm->stream) {
		status = kal_listener_open(listener, service);
	} else {
		listener->unheard = calloc(listener->backlog, sizeof(*listener->unheard));
		if (listener->unheard == NULL)
			status = RI_ERR_RESOURCES;
		else if (service->kind == RI_SERVICE_PORT && service->port != 0 &&
			 !kal_sock_may_serve(service->port))
			status = RI_ERR_PERMISSION;
	}
	if (status != RI_SUCCESS) {
		kal_listener_unref(listener);
		return status;
	}
	kal_cm_lock(cm);
	params.ctx = listener->link.key = ++cm->last_listener;
	kal_table_insert(&cm->listeners, &listener->link);
	kal_cm_unlock(cm);
	/* A request may arrive before the provider's call returns, so the table has the listener first. */
	if (!cm->stream)
		status = ri_call_listen(cm->caller, cm->context, &params, service,
					&listener->provider);
	listener->service = *service;
	if (cm->stream)
		status = kal_listener_watch(listener);
	if (status != RI_SUCCESS) {
		kal_listen_destroy(listener);
		return status;
	}
	*out = listener;
	return RI_SUCCESS;
}

void
kal_listen_destroy(struct kal_listener *listener)
{
	struct kal_cm *cm = listener->cm;

	atomic_store(&listener->closed, true);
	if (listener->provider != NULL)
		ri_call_listen_destroy(cm->caller, listener->provider);
	/* Once it is out of the table, no thread schedules kal_listener::follow any more. */
	kal_cm_lock(cm);
	kal_table_remove(&cm->listeners, &listener->link);
	kal_cm_unlock(cm);
	kal_listener_close(listener);
	kal_starts_end_all(listener);
	kal_request_refuse_unheard(listener);
	kal_listener_unref(listener);
}

enum ri_status
kal_handoff(struct kal_cm *cm, const struct kal_handoff_req *req)
{
	const struct kal_link *link = NULL;
	struct kal_request *request;
	uint64_t id = 0, ctx = 0;
	enum ri_status status;
	bool known;

	kal_cm_lock(cm);
	known = kal_table_find(&cm->requests, req->request) != NULL;
	while (id == 0 && (link = kal_table_next(&cm->listeners, link)) != NULL) {
		const struct kal_listener *listener =
			kal_entry(link, const struct kal_listener, link);

		if (listener->port == req->port && listener->service.kind == req->service.kind &&
		    listener->service.port == req->service.port &&
		    listener->service.id == req->service.id) {
			id = listener->link.key;
			ctx = listener->ctx;
		}
	}
	kal_cm_unlock(cm);
	if (!known)
		return RI_ERR_INVALID_HANDLE;
	if (id == 0)
		return RI_ERR_INVALID_ARG;
	request = kal_request_take(cm, req->request, false);
	if (request == NULL)
		return RI_ERR_INVALID_HANDLE;
	status = kal_request_hand(request, ctx, id);
	if (status != RI_SUCCESS)
		kal_request_put_back(request);
	return status;
}
