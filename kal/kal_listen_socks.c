/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The sockets of a listener: one for each address of its spigot, all with the same TCP port, so that a
 * listener on one interface does not accept connections on another. When the spigot gets or loses an address, the
 * listener opens or closes a socket. A spigot without an address when the listener is created is no interface of this
 * host; its listener accepts connections to any address, and does not change its sockets.
 *
 * Accepted sockets become half-open requests (kal_starts.c). Their number is bounded, and a new one replaces one that
 * has sent little, so silent peers cannot keep others out. When the consumer's backlog is full, the listener pauses:
 * it stops accepting until there is room. New connections then wait in the kernel's backlog, which is as long as the
 * kernel allows; the consumer's backlog limits the delivered requests only. When descriptors run out, a parting
 * (kal_partings.c) is closed or a start-up reset; if there is none, the listener pauses, too. It also pauses after an
 * error of accept that may persist, since its socket stays readable.
 *
 * The call that creates a listener opens its sockets. Once `watching` is set they belong to the service thread, until
 * the call that destroys the listener has stopped everything that runs there.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "kal_cm_internal.h"
#include "ri_errno.h"

#define ACCEPT_BATCH  16
#define PORT_ATTEMPTS 16

/* The consumer's backlog is full, or no start-up may be replaced: do not accept more. */
static bool
is_full(struct kal_listener *listener)
{
	return atomic_load(&listener->waiting) >= listener->backlog || kal_starts_full(listener);
}

static bool
is_open(const struct kal_listen_sock *sock)
{
	return kal_fd_get(&sock->fd) >= 0;
}

static void
listener_watch_for(struct kal_listener *listener, uint32_t events)
{
	const struct ri_host *host = listener->cm->p.host;

	for (uint32_t i = 0; i < RI_PORT_ADDR_MAX; i++)
		if (is_open(&listener->socks[i]))
			host->watch_change(host->self, &listener->socks[i].watch, events);
	if (events == 0)
		host->timer_start(host->self, &listener->pause_timer,
				  host->now(host->self) + KAL_RETRY_AFTER);
}

static void
pause_ends(void *arg)
{
	struct kal_listener *listener = arg;

	listener_watch_for(listener, is_full(listener) ? 0 : RI_WATCH_IN);
}

/* Of the connection, which accept has taken out of the queue: the next one may be good. */
static bool
is_of_connection(int error)
{
	switch (error) {
	case ECONNABORTED:
	case EINTR:
	case ENETDOWN:
	case EPROTO:
	case ENOPROTOOPT:
	case EHOSTDOWN:
	case ENONET:
	case EHOSTUNREACH:
	case EOPNOTSUPP:
	case ENETUNREACH:
	case ETIMEDOUT:
		return true;
	default:
		return false;
	}
}

/* An error of accept that a retry does not mend; it is logged once. */
static void
accept_failed(struct kal_listener *listener, int error)
{
	const struct ri_host *host = listener->cm->p.host;
	char line[128];
	bool told = listener->accept_failed;

	listener->accept_failed = true;
	if (told || host->log_level < RI_LOG_WARNING)
		return;
	(void)snprintf(line, sizeof(line), "cannot accept connections: %s", ri_errno_text(error));
	host->log(host->self, RI_LOG_WARNING, "kal listener", line);
}

/* Accept one connection. False: there is none now; *pause: stop accepting for a while. */
static bool
take_one(struct kal_listener *listener, int sock, bool *pause)
{
	struct kal_fd fd = {0};
	int error;

	*pause = is_full(listener);
	if (*pause)
		return false;
	if (kal_fd_accept(&fd, sock, NULL, NULL)) {
		listener->accept_failed = false;
		kal_request_new(listener, &fd);
		return true;
	}
	error = errno;
	if (error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM) {
		/* The socket stays readable: make room, or pause. */
		*pause = !kal_starts_free_descriptor(listener);
		return !*pause;
	}
	if (error == EAGAIN || error == EWOULDBLOCK)
		return false;
	*pause = !is_of_connection(error);
	if (*pause)
		accept_failed(listener, error);
	return !*pause;
}

static void
listener_ready(void *arg, uint32_t events)
{
	struct kal_listener *listener = arg;
	bool pause = false;

	(void)events;
	if (!atomic_load(&listener->watching))
		return; /* the creating call is not finished */
	for (uint32_t i = 0; i < RI_PORT_ADDR_MAX && !pause; i++) {
		const struct kal_listen_sock *sock = &listener->socks[i];
		int left = is_open(sock) ? ACCEPT_BATCH : 0;

		while (left-- > 0 && take_one(listener, kal_fd_get(&sock->fd), &pause))
			;
	}
	if (pause)
		listener_watch_for(listener, 0);
}

/* A place for another address; NULL: none is free. */
static struct kal_listen_sock *
free_sock(struct kal_listener *listener)
{
	for (uint32_t i = 0; i < RI_PORT_ADDR_MAX; i++)
		if (!is_open(&listener->socks[i]))
			return &listener->socks[i];
	return NULL;
}

/* Listen at one address. 0, or errno. *port: 0 lets the kernel choose, and is filled in. */
static int
open_sock(struct kal_listen_sock *sock, const struct ri_addr *addr, uint16_t *port)
{
	struct sockaddr_storage sa;
	socklen_t len = kal_sock_addr(&sa, addr, *port);
	struct ri_addr ignored;
	int one = 1;
	int error;

	if (len == 0)
		return EADDRNOTAVAIL;
	error = kal_sock_new(&sock->fd, sa.ss_family);
	if (error != 0)
		return error;
	setsockopt(kal_fd_get(&sock->fd), SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(kal_fd_get(&sock->fd), (struct sockaddr *)&sa, len) != 0 ||
	    listen(kal_fd_get(&sock->fd), SOMAXCONN) != 0) {
		error = errno;
		kal_fd_close(&sock->fd);
		return error;
	}
	len = sizeof(sa);
	if (*port == 0 && getsockname(kal_fd_get(&sock->fd), (struct sockaddr *)&sa, &len) == 0)
		kal_sock_addr_back(&sa, &ignored, port);
	sock->addr = *addr;
	return 0;
}

/* The address may just come or go, or its family may be switched off: that is no failure of the listener. */
static bool
address_may_lack(int error)
{
	return error == EADDRNOTAVAIL || error == EAFNOSUPPORT;
}

/*
 * Bind and listen at every address of the spigot, or at any address if it has none.
 * RI_ERR_IN_USE: another TCP port may be free at all of them.
 */
static enum ri_status
open_socks(struct kal_listener *listener, const struct ri_port_attr *attr, uint16_t *port)
{
	static const struct ri_addr any[] = {{.family = RI_ADDR_IPV4}, {.family = RI_ADDR_IPV6}};
	const struct ri_addr *addrs = attr->num_addrs > 0 ? attr->addrs : any;
	uint32_t count = attr->num_addrs > 0 ? attr->num_addrs : G_N_ELEMENTS(any);
	uint32_t opened = 0;

	listener->anywhere = addrs == any;
	for (uint32_t i = 0; i < count && i < RI_PORT_ADDR_MAX; i++) {
		int error = open_sock(&listener->socks[i], &addrs[i], port);

		opened += error == 0;
		if (error == 0 || address_may_lack(error))
			continue;
		return error == EADDRINUSE ? RI_ERR_IN_USE
		       : error == EACCES   ? RI_ERR_PERMISSION
					   : RI_ERR_RESOURCES;
	}
	return opened > 0 ? RI_SUCCESS : RI_ERR_NO_ROUTE;
}

static void
close_socks(struct kal_listener *listener)
{
	for (uint32_t i = 0; i < RI_PORT_ADDR_MAX; i++)
		kal_fd_close(&listener->socks[i].fd);
}

enum ri_status
kal_listener_open(struct kal_listener *listener, struct ri_service *service)
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

/* On the service thread, or before it knows the listener. */
static enum ri_status
watch_sock(struct kal_listener *listener, struct kal_listen_sock *sock)
{
	const struct ri_host *host = listener->cm->p.host;

	sock->watch = (struct ri_watch){.fire = listener_ready,
					.arg = listener,
					.fd = kal_fd_get(&sock->fd),
					.events = RI_WATCH_IN};
	return host->watch_start(host->self, &sock->watch);
}

static void
unwatch_sock(struct kal_listener *listener, struct kal_listen_sock *sock)
{
	const struct ri_host *host = listener->cm->p.host;

	if (!is_open(sock))
		return;
	host->watch_stop(host->self, &sock->watch);
	kal_fd_close(&sock->fd);
}

/* --- following the spigot ----------------------------------------------------------------- */

static bool
same_addr(const struct ri_addr *a, const struct ri_addr *b)
{
	return a->family == b->family && a->scope_id == b->scope_id &&
	       memcmp(a->octets, b->octets, sizeof(a->octets)) == 0;
}

/* Close the sockets of addresses that the spigot has lost. */
static void
close_lost(struct kal_listener *listener, const struct ri_port_attr *attr)
{
	for (uint32_t i = 0; i < RI_PORT_ADDR_MAX; i++) {
		struct kal_listen_sock *sock = &listener->socks[i];
		bool kept = false;

		for (uint32_t a = 0; a < attr->num_addrs && !kept; a++)
			kept = same_addr(&attr->addrs[a], &sock->addr);
		if (!kept)
			unwatch_sock(listener, sock);
	}
}

static bool
listens_at(const struct kal_listener *listener, const struct ri_addr *addr)
{
	for (uint32_t i = 0; i < RI_PORT_ADDR_MAX; i++)
		if (is_open(&listener->socks[i]) && same_addr(&listener->socks[i].addr, addr))
			return true;
	return false;
}

/* Listen at a new address. One that is not available now is tried again at the next change. */
static void
open_new(struct kal_listener *listener, const struct ri_addr *addr)
{
	const struct ri_host *host = listener->cm->p.host;
	struct kal_listen_sock *sock = free_sock(listener);
	uint16_t port = listener->service.port;
	int error;

	if (sock == NULL)
		return;
	error = open_sock(sock, addr, &port);
	if (error == 0 && watch_sock(listener, sock) != RI_SUCCESS) {
		kal_fd_close(&sock->fd);
		error = ENOMEM;
	}
	if (error != 0 && !address_may_lack(error) && host->log_level >= RI_LOG_WARNING)
		host->log(host->self, RI_LOG_WARNING, "kal listener",
			  "cannot listen at a new address of the spigot");
}

/* On the service thread: the addresses of the spigot may have changed. */
static void
listener_follow(void *arg)
{
	struct kal_listener *listener = arg;
	const struct kal_cm_params *p = &listener->cm->p;
	struct ri_port_attr attr = {.size = sizeof(attr)};

	if (!atomic_load(&listener->watching) || listener->anywhere ||
	    ri_call_query_port(p->caller, p->rnic, listener->port, &attr) != RI_SUCCESS)
		return;
	close_lost(listener, &attr);
	for (uint32_t i = 0; i < attr.num_addrs && i < RI_PORT_ADDR_MAX; i++)
		if (!listens_at(listener, &attr.addrs[i]))
			open_new(listener, &attr.addrs[i]);
}

void
kal_listener_init(struct kal_listener *listener)
{
	listener->pause_timer.fire = pause_ends;
	listener->pause_timer.arg = listener;
	listener->follow.fire = listener_follow;
	listener->follow.arg = listener;
}

enum ri_status
kal_listener_watch(struct kal_listener *listener)
{
	const struct ri_host *host = listener->cm->p.host;
	enum ri_status status = RI_SUCCESS;

	for (uint32_t i = 0; i < RI_PORT_ADDR_MAX && status == RI_SUCCESS; i++)
		if (is_open(&listener->socks[i]))
			status = watch_sock(listener, &listener->socks[i]);
	atomic_store(&listener->watching, status == RI_SUCCESS);
	/* An address may have changed while the sockets were opened. */
	if (status == RI_SUCCESS)
		host->task_run(host->self, &listener->follow);
	return status;
}

void
kal_listener_close(struct kal_listener *listener)
{
	const struct ri_host *host = listener->cm->p.host;

	host->task_stop(host->self, &listener->follow);
	for (uint32_t i = 0; i < RI_PORT_ADDR_MAX; i++)
		if (is_open(&listener->socks[i]))
			host->watch_stop(host->self, &listener->socks[i].watch);
	host->timer_stop(host->self, &listener->pause_timer);
	close_socks(listener);
}

void
kal_listeners_follow(struct kal_cm *cm, uint32_t port)
{
	const struct ri_host *host = cm->p.host;
	const struct kal_link *link = NULL;

	if (!cm->stream)
		return;
	kal_cm_lock(cm);
	while ((link = kal_table_next(&cm->listeners, link)) != NULL) {
		struct kal_listener *listener = kal_entry(link, struct kal_listener, link);

		if (listener->port == port)
			host->task_run(host->self, &listener->follow);
	}
	kal_cm_unlock(cm);
}
