/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Accepting at a TCP port (kal_listen_socks.c): on the service thread, under the lock of the listening sockets.
 *
 * Accepted sockets become half-open requests of the listener whose spigot has their local address
 * (kal_starts.c). One that no listener wants is reset, as the kernel would have done. The number of
 * half-open requests is bounded, and a new one replaces one that has sent little, so silent peers
 * cannot keep others out. When the consumer's backlog is full, the port pauses: it accepts nothing
 * until there is room. New connections then wait in the kernel's backlog, which is as long as the
 * kernel allows; the consumer's backlog limits the delivered requests only. So a full listener also
 * stops the other listeners of its port; they belong to the same program.
 *
 * When descriptors run out, a parting (the socket of a refused peer, kal_partings.c) is closed or a start-up is
 * reset. If there is neither, the port pauses and tries again. After KAL_SHORT_MAX it closes a spare
 * descriptor. The descriptor that this frees is used to accept and reset the waiting connections one by one, so
 * that peers learn soon that they will not be served; the log says so once. The port also pauses after an error
 * of accept that may persist, since its socket stays readable.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

#include "kal_sock.h"
#include "kal_tcp_port.h"
#include "ri_errno.h"

#define ACCEPT_BATCH  16
#define KAL_SHORT_MAX (3 * KAL_NS_PER_S) /* connections wait that long for a descriptor */

/* The consumer's backlog is full, or no start-up may be replaced: do not accept more. */
static bool
is_full(const struct kal_tcp_port *port)
{
	for (struct kal_listener *one = port->members; one != NULL; one = one->next_member)
		if (atomic_load(&one->waiting) >= one->backlog || kal_starts_full(one))
			return true;
	return false;
}

static void
port_watch_for(struct kal_tcp_port *port, uint32_t events)
{
	const struct ri_host *host = port->host;

	for (struct kal_listen_sock *sock = port->socks; sock != NULL; sock = sock->next)
		if (sock->watched)
			host->watch_change(host->self, &sock->watch, events);
	if (events == 0)
		host->timer_start(host->self, &port->pause_timer,
				  host->now(host->self) + KAL_RETRY_AFTER);
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

/* No room could be made. The port pauses; what has waited for too long is accepted with the spare descriptor, and reset. */
static void
stay_short(struct kal_tcp_port *port, int sock, int error, struct kal_listen_saying *saying)
{
	const struct ri_host *host = port->host;
	uint64_t now = host->now(host->self);
	bool accepted = true;

	if (port->short_since == 0)
		port->short_since = now != 0 ? now : 1;
	if (!port->short_logged) {
		port->short_logged = true;
		saying->level = RI_LOG_WARNING;
		(void)snprintf(
			saying->text, sizeof(saying->text),
			"cannot accept connections to port %u: %s; each waits up to %u s for a "
			"descriptor and is then reset (see RLIMIT_NOFILE)",
			(unsigned)ntohs(port->port), ri_errno_text(error),
			(unsigned)(KAL_SHORT_MAX / KAL_NS_PER_S));
	}
	if (now - port->short_since < KAL_SHORT_MAX)
		return;
	/* Until no connection waits, or another thread took the descriptor. */
	for (int left = ACCEPT_BATCH; left > 0 && accepted; left--) {
		struct kal_fd fd = {0};

		kal_fd_close(&port->spare);
		accepted = kal_fd_accept(&fd, sock);
		if (accepted) {
			kal_sock_abort(kal_fd_get(&fd));
			kal_fd_close(&fd);
		}
		(void)kal_fd_eventfd(&port->spare);
	}
}

/* Accept one connection. False: no connection waits now; *pause: stop accepting for a while. */
static bool
take_one(struct kal_tcp_port *port, int sock, bool *pause, struct kal_listen_saying *saying)
{
	struct kal_listener *listener;
	struct kal_fd fd = {0};
	bool room = false;
	int error;

	*pause = is_full(port);
	if (*pause)
		return false;
	if (kal_fd_accept(&fd, sock)) {
		/* Whatever was missing is there again. */
		if (port->short_logged) {
			saying->level = RI_LOG_WARNING;
			(void)snprintf(saying->text, sizeof(saying->text),
				       "connections to port %u are accepted again",
				       (unsigned)ntohs(port->port));
		}
		port->accept_failed = false;
		port->short_since = 0;
		port->short_logged = false;
		if (port->spare.value == 0)
			(void)kal_fd_eventfd(&port->spare);
		listener = kal_listen_choose(port, kal_fd_get(&fd));
		if (listener != NULL) {
			kal_request_new(listener, &fd);
			return true;
		}
		kal_sock_abort(kal_fd_get(&fd));
		kal_fd_close(&fd);
		return true;
	}
	error = errno;
	if (error == EAGAIN || error == EWOULDBLOCK)
		return false;
	if (ri_errno_is_short(error)) {
		/* The socket stays readable: make room among what this port's listeners have, or pause. */
		for (struct kal_listener *one = port->members; one != NULL && !room;
		     one = one->next_member)
			room = kal_starts_free_descriptor(one);
		if (!room)
			stay_short(port, sock, error, saying);
		*pause = !room;
	} else if (!is_of_connection(error)) {
		/* A retry does not mend it; it is logged once. */
		*pause = true;
		if (!port->accept_failed) {
			saying->level = RI_LOG_WARNING;
			(void)snprintf(saying->text, sizeof(saying->text),
				       "cannot accept connections to port %u: %s",
				       (unsigned)ntohs(port->port), ri_errno_text(error));
		}
		port->accept_failed = true;
	}
	return !*pause;
}

void
kal_listen_sock_ready(void *arg, uint32_t events)
{
	struct kal_listen_sock *sock = arg;
	const struct kal_tcp_port *port;
	struct kal_listen_saying saying = {.text = ""};
	const struct ri_host *host = NULL;
	int left = ACCEPT_BATCH;
	bool pause = false;

	(void)events;
	kal_listen_lock();
	port = sock->owner;
	if (port != NULL)
		host = port->host;
	while (port != NULL && left-- > 0 &&
	       take_one(sock->owner, kal_fd_get(&sock->fd), &pause, &saying))
		;
	if (pause)
		port_watch_for(sock->owner, 0);
	kal_listen_unlock();
	if (host != NULL)
		kal_listen_say(host, &saying);
}

void
kal_listen_pause_ends(void *arg)
{
	struct kal_tcp_port *port = arg;

	kal_listen_lock();
	if (!port->gone)
		port_watch_for(port, is_full(port) ? 0 : RI_WATCH_IN);
	kal_listen_unlock();
}
