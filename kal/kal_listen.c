/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Listeners: made, ended, found again for a request that is handed off. Where the kAL listens by itself,
 * the sockets are in kal_listen_socks.c; else the provider does.
 */
#include "kal_cm_internal.h"

void
kal_listener_unref(struct kal_listener *listener)
{
	if (atomic_fetch_sub(&listener->refs, 1) == 1)
		g_free(listener);
}

enum ri_status
kal_listen(struct kal_cm *cm, const struct kal_listen_req *req, struct ri_service *service,
	   struct kal_listener **out)
{
	struct kal_listener *listener = g_new0(struct kal_listener, 1);
	struct ri_listen_ask ask = {.port = req->port};
	enum ri_status status;

	listener->cm = cm;
	listener->ctx = req->ctx;
	listener->port = req->port;
	listener->backlog = CLAMP(req->backlog, 1, 4096);
	listener->suppress = req->suppress_ird_ord != 0;
	ask.backlog = listener->backlog;
	kal_listener_init(listener);
	atomic_init(&listener->refs, 1);
	*service = req->service;
	if (cm->stream)
		status = kal_listener_open(listener, service);
	else if (service->kind == RI_SERVICE_PORT && service->port != 0 &&
		 !kal_sock_may_serve(service->port))
		status = RI_ERR_PERMISSION;
	else
		status = RI_SUCCESS;
	if (status != RI_SUCCESS) {
		kal_listener_unref(listener);
		return status;
	}
	kal_cm_lock(cm);
	ask.ctx = listener->id = ++cm->last_listener;
	g_hash_table_insert(cm->listeners, &listener->id, listener);
	kal_cm_unlock(cm);
	/* A request may come before the provider's call returns: the table knows us already. */
	if (!cm->stream)
		status = ri_call_listen(cm->p.caller, cm->p.context, &ask, service,
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
		cm->p.caller->provider->cm->listen_destroy(listener->provider);
	/* From here on nobody asks it to follow its spigot. */
	kal_cm_lock(cm);
	g_hash_table_remove(cm->listeners, &listener->id);
	kal_cm_unlock(cm);
	kal_listener_close(listener);
	kal_starts_end_all(listener);
	kal_listener_unref(listener);
}

/* The caller holds cm->lock. NULL: nobody listens there. */
static const struct kal_listener *
listener_at(struct kal_cm *cm, const struct kal_handoff_req *req)
{
	GHashTableIter iter;
	gpointer value;

	g_hash_table_iter_init(&iter, cm->listeners);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		const struct kal_listener *listener = value;

		if (listener->port == req->port && listener->service.kind == req->service.kind &&
		    listener->service.port == req->service.port &&
		    listener->service.id == req->service.id)
			return listener;
	}
	return NULL;
}

enum ri_status
kal_handoff(struct kal_cm *cm, const struct kal_handoff_req *req)
{
	const struct kal_listener *listener;
	struct kal_request *request;
	uint64_t id = 0, ctx = 0;
	bool known;

	kal_cm_lock(cm);
	known = g_hash_table_contains(cm->requests, &req->request);
	listener = listener_at(cm, req);
	if (listener != NULL) {
		id = listener->id;
		ctx = listener->ctx;
	}
	kal_cm_unlock(cm);
	if (!known)
		return RI_ERR_INVALID_HANDLE;
	if (id == 0)
		return RI_ERR_INVALID_ARG;
	request = kal_request_take(cm, req->request, false);
	if (request == NULL)
		return RI_ERR_INVALID_HANDLE;
	kal_request_hand(request, ctx, id);
	return RI_SUCCESS;
}
