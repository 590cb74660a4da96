/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Listeners. A spigot's listener has one socket for each address of the spigot, all with the same
 * port, so that a listener on one interface does not answer on another. Accepted sockets become
 * half-open requests; when too many of them are half open or unanswered, or descriptors ran out, the
 * listener looks away until there is room. The kernel's own backlog, as long as it gets, then holds the
 * rest: the consumer's backlog bounds what it is shown, not how many may knock.
 */
#include <errno.h>
#include <sys/socket.h>

#include "kal_cm_internal.h"

#define ACCEPT_BATCH  16
#define PORT_ATTEMPTS 16

bool
kal_listener_full(struct kal_listener *listener)
{
	return atomic_load(&listener->half_open) >= KAL_HALF_OPEN_MAX ||
	       atomic_load(&listener->waiting) >= listener->backlog;
}

static void
look(struct kal_listener *listener, uint32_t events)
{
	const struct ri_host *host = listener->cm->p.host;

	for (uint32_t i = 0; i < listener->num_socks; i++)
		host->watch_change(host->self, &listener->socks[i], events);
	if (events == 0)
		host->timer_start(host->self, &listener->look,
				  host->now(host->self) + KAL_LOOK_AGAIN);
}

static void
look_again(void *arg)
{
	struct kal_listener *listener = arg;

	look(listener, kal_listener_full(listener) ? 0 : RI_WATCH_IN);
}

/* One connection. False: nothing more to take now; *away: and not soon either. */
static bool
take_one(struct kal_listener *listener, int sock, bool *away)
{
	struct kal_fd fd = {0};

	*away = kal_listener_full(listener);
	if (*away)
		return false;
	if (kal_fd_accept(&fd, sock, NULL, NULL)) {
		kal_request_new(listener, &fd);
		return true;
	}
	/* Out of descriptors or memory: what waits stays ready, so look away for a while. */
	*away = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
	return errno == ECONNABORTED || errno == EINTR;
}

static void
listener_ready(void *arg, uint32_t events)
{
	struct kal_listener *listener = arg;
	bool away = false;

	(void)events;
	for (uint32_t i = 0; i < listener->num_socks && !away; i++) {
		int left = ACCEPT_BATCH;

		while (left-- > 0 && take_one(listener, listener->socks[i].fd, &away))
			;
	}
	if (away)
		look(listener, 0);
}

/* One address: 0, or errno. *port: 0 chooses, and is filled in. */
static int
open_sock(struct kal_listener *listener, const struct ri_addr *addr, uint16_t *port)
{
	struct kal_fd *fd = &listener->fds[listener->num_socks];
	struct sockaddr_storage sa;
	socklen_t len = kal_sock_addr(&sa, addr, *port);
	struct ri_addr ignored;
	int one = 1;
	int error;

	if (len == 0)
		return EADDRNOTAVAIL;
	error = kal_sock_new(fd, sa.ss_family);
	if (error != 0)
		return error;
	setsockopt(kal_fd_get(fd), SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(kal_fd_get(fd), (struct sockaddr *)&sa, len) != 0 ||
	    listen(kal_fd_get(fd), SOMAXCONN) != 0) {
		error = errno;
		kal_fd_close(fd);
		return error;
	}
	len = sizeof(sa);
	if (*port == 0 && getsockname(kal_fd_get(fd), (struct sockaddr *)&sa, &len) == 0)
		kal_sock_addr_back(&sa, &ignored, port);
	listener->socks[listener->num_socks++].fd = kal_fd_get(fd);
	return 0;
}

/*
 * Bind and listen on every address of the spigot, or on any where it has none of its own.
 * RI_ERR_IN_USE may mean: try another port.
 */
static enum ri_status
open_socks(struct kal_listener *listener, const struct ri_port_attr *attr, uint16_t *port)
{
	static const struct ri_addr any[] = {{.family = RI_ADDR_IPV4}, {.family = RI_ADDR_IPV6}};
	const struct ri_addr *addrs = attr->num_addrs > 0 ? attr->addrs : any;
	uint32_t count = attr->num_addrs > 0 ? attr->num_addrs : G_N_ELEMENTS(any);

	for (uint32_t i = 0; i < count && i < RI_PORT_ADDR_MAX; i++) {
		int error = open_sock(listener, &addrs[i], port);

		/* An address may be on its way in or out, or of a family that is switched off. */
		if (error == 0 || error == EADDRNOTAVAIL || error == EAFNOSUPPORT)
			continue;
		return error == EADDRINUSE ? RI_ERR_IN_USE
		       : error == EACCES   ? RI_ERR_PERMISSION
					   : RI_ERR_RESOURCES;
	}
	return listener->num_socks > 0 ? RI_SUCCESS : RI_ERR_NO_ROUTE;
}

static void
close_socks(struct kal_listener *listener)
{
	for (uint32_t i = 0; i < listener->num_socks; i++)
		kal_fd_close(&listener->fds[i]);
	listener->num_socks = 0;
}

static enum ri_status
listen_stream(struct kal_listener *listener, struct ri_service *service)
{
	const struct kal_cm_params *p = &listener->cm->p;
	struct ri_port_attr attr = {.size = sizeof(attr)};
	enum ri_status status = ri_call_query_port(p->caller, p->rnic, listener->port, &attr);
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
	struct ri_listen_ask ask = {.port = req->port};
	enum ri_status status;

	listener->cm = cm;
	listener->ctx = req->ctx;
	listener->port = req->port;
	listener->backlog = CLAMP(req->backlog, 1, 4096);
	listener->suppress = req->suppress_ird_ord != 0;
	ask.backlog = listener->backlog;
	listener->look.fire = look_again;
	listener->look.arg = listener;
	atomic_init(&listener->refs, 1);
	*service = req->service;
	if (cm->stream)
		status = listen_stream(listener, service);
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
		cm->p.caller->provider->cm->listen_destroy(listener->provider);
	for (uint32_t i = 0; i < listener->num_socks; i++)
		host->watch_stop(host->self, &listener->socks[i]);
	host->timer_stop(host->self, &listener->look);
	close_socks(listener);
	kal_cm_lock(cm);
	g_hash_table_remove(cm->listeners, &listener->id);
	kal_cm_unlock(cm);
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
	request = kal_request_take(cm, req->request);
	if (request == NULL)
		return RI_ERR_INVALID_HANDLE;
	kal_request_hand(request, ctx, id);
	return RI_SUCCESS;
}
