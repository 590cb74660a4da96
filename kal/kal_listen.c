/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Listeners. A spigot's listener has one socket for each address of the spigot, all with the same
 * port, so that a listener on one interface does not answer on another. Accepted sockets become
 * half-open requests; when too many of them are half open the listener looks away until some are
 * done (the kernel's backlog then holds the rest).
 */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kal_cm_internal.h"

#define ACCEPT_BATCH  16
#define PORT_ATTEMPTS 16
#define LOOK_AGAIN    (10 * 1000 * 1000ull) /* ns */

static void
listener_ready(void *arg, uint32_t events)
{
	struct kal_listener *listener = arg;

	(void)events;
	for (uint32_t i = 0; i < listener->num_socks; i++) {
		for (int n = 0; n < ACCEPT_BATCH; n++) {
			int fd;

			if (atomic_load(&listener->half_open) >= KAL_HALF_OPEN_MAX)
				return;
			fd = accept4(listener->socks[i].fd, NULL, NULL,
				     SOCK_NONBLOCK | SOCK_CLOEXEC);
			if (fd < 0)
				break;
			kal_request_new(listener, fd);
		}
	}
}

/* Bind and listen on every address of the spigot. RI_ERR_IN_USE may mean: try another port. */
static enum ri_status
open_socks(struct kal_listener *listener, const struct ri_port_attr *attr, uint16_t *port)
{
	enum ri_status status = RI_ERR_NO_ROUTE;
	int one = 1;

	for (uint32_t i = 0; i < attr->num_addrs && i < RI_PORT_ADDR_MAX; i++) {
		struct ri_watch *watch = &listener->socks[listener->num_socks];
		struct sockaddr_storage sa;
		socklen_t len = kal_sock_addr(&sa, &attr->addrs[i], *port);
		struct ri_addr addr;
		int fd;

		if (len == 0)
			continue;
		fd = kal_sock_new(sa.ss_family);
		if (fd < 0)
			continue;
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		if (bind(fd, (struct sockaddr *)&sa, len) != 0 ||
		    listen(fd, (int)listener->backlog) != 0) {
			int error = errno;

			close(fd);
			if (error == EADDRNOTAVAIL) /* an address that is on its way in or out */
				continue;
			return error == EADDRINUSE ? RI_ERR_IN_USE
			       : error == EACCES   ? RI_ERR_PERMISSION
						   : RI_ERR_RESOURCES;
		}
		len = sizeof(sa);
		if (*port == 0 && getsockname(fd, (struct sockaddr *)&sa, &len) == 0)
			kal_sock_addr_back(&sa, &addr, port);
		watch->fd = fd;
		listener->num_socks++;
		status = RI_SUCCESS;
	}
	return status;
}

static void
close_socks(struct kal_listener *listener)
{
	for (uint32_t i = 0; i < listener->num_socks; i++)
		close(listener->socks[i].fd);
	listener->num_socks = 0;
}

static enum ri_status
listen_stream(struct kal_listener *listener, struct ri_service *service)
{
	const struct kal_cm_params *p = &listener->cm->p;
	struct ri_port_attr attr = {.size = sizeof(attr)};
	enum ri_status status = p->provider->device->query_port(p->rnic, listener->port, &attr);
	uint16_t port = service->port;

	if (status != RI_SUCCESS)
		return status;
	if (service->kind != RI_SERVICE_PORT)
		return RI_ERR_INVALID_ARG;
	for (int i = 0; i < PORT_ATTEMPTS; i++) {
		port = service->port;
		status = open_socks(listener, &attr, &port);
		if (status == RI_SUCCESS)
			break;
		close_socks(listener);
		if (status != RI_ERR_IN_USE || service->port != 0)
			return status;
	}
	service->port = port;
	return status;
}

static enum ri_status
watch_socks(struct kal_listener *listener)
{
	const struct ri_host *host = listener->cm->p.host;
	enum ri_status status = RI_SUCCESS;

	for (uint32_t i = 0; i < listener->num_socks && status == RI_SUCCESS; i++) {
		listener->socks[i].fire = listener_ready;
		listener->socks[i].arg = listener;
		listener->socks[i].events = RI_WATCH_IN;
		status = host->watch_start(host->self, &listener->socks[i]);
	}
	return status;
}

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
	enum ri_status status;

	listener->cm = cm;
	listener->ctx = req->ctx;
	listener->port = req->port;
	listener->backlog = CLAMP(req->backlog, 1, 4096);
	listener->suppress = req->suppress_ird_ord != 0;
	atomic_init(&listener->refs, 1);
	*service = req->service;
	status = cm->stream ? listen_stream(listener, service) : RI_SUCCESS;
	if (status != RI_SUCCESS) {
		kal_listener_unref(listener);
		return status;
	}
	kal_cm_lock(cm);
	listener->id = ++cm->last_listener;
	g_hash_table_insert(cm->listeners, &listener->id, listener);
	kal_cm_unlock(cm);
	/* A request may come before the provider's call returns: the table knows us already. */
	if (!cm->stream)
		status = cm->p.provider->cm->listen(cm->p.context, listener->id, req->port, service,
						    listener->backlog, &listener->provider);
	listener->service = *service;
	if (cm->stream)
		status = watch_socks(listener);
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
	const struct ri_host *host = cm->p.host;

	atomic_store(&listener->closed, true);
	if (listener->provider != NULL)
		cm->p.provider->cm->listen_destroy(listener->provider);
	for (uint32_t i = 0; i < listener->num_socks; i++)
		host->watch_stop(host->self, &listener->socks[i]);
	close_socks(listener);
	kal_cm_lock(cm);
	g_hash_table_remove(cm->listeners, &listener->id);
	kal_cm_unlock(cm);
	kal_listener_unref(listener);
}

enum ri_status
kal_handoff(struct kal_cm *cm, const struct kal_handoff_req *req)
{
	struct kal_request *request;
	GHashTableIter iter;
	gpointer value;
	uint64_t id = 0;
	uint64_t ctx = 0;

	kal_cm_lock(cm);
	g_hash_table_iter_init(&iter, cm->listeners);
	while (id == 0 && g_hash_table_iter_next(&iter, NULL, &value)) {
		const struct kal_listener *listener = value;

		if (listener->port == req->port && listener->service.kind == req->service.kind &&
		    listener->service.port == req->service.port &&
		    listener->service.id == req->service.id) {
			id = listener->id;
			ctx = listener->ctx;
		}
	}
	kal_cm_unlock(cm);
	if (id == 0)
		return RI_ERR_IN_USE;
	request = kal_request_take(cm, req->request);
	if (request == NULL)
		return RI_ERR_INVALID_HANDLE;
	kal_request_hand(request, ctx, id);
	return RI_SUCCESS;
}
