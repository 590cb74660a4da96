/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A connection over plain TCP, on which the two sides of qperf agree on a test, and how long `peer` waits. A side
 * that fails says why: it sends the octet "?" as urgent data and a text behind it, and closes its direction.
 */
#ifndef PEER_TCP_H
#define PEER_TCP_H

#include <glib.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* When a wait ends at the latest. */
struct peer_limit {
	unsigned seconds; /* 0: never */
	gint64 until;
};

struct peer_limit peer_limit_of(unsigned seconds);

/* Whether to wait on; if not, the error says `late`, or that the user wants to stop. */
bool peer_limit_stands(const struct peer_limit *limit, const char *late, GError **error);

/* Waits until one of the events has come, or a signal, after which revents is 0. */
bool peer_limit_poll(const struct peer_limit *limit, struct pollfd *fd, const char *late,
		     GError **error);

struct peer_tcp {
	int fd;           /* -1: none */
	unsigned seconds; /* of each wait */
};

#define PEER_TCP_NONE ((struct peer_tcp){.fd = -1})

/* Port 0 takes a free one. */
bool peer_tcp_listen(struct peer_tcp *tcp, uint16_t *port, unsigned seconds, GError **error);
bool peer_tcp_accept(const struct peer_tcp *listener, struct peer_tcp *tcp, GError **error);

/* NULL is this host. */
bool peer_tcp_connect(struct peer_tcp *tcp, const char *host, uint16_t port, unsigned seconds,
		      GError **error);
void peer_tcp_close(struct peer_tcp *tcp);

/* Send, or receive, all the octets. An error names them as `what`. */
bool peer_tcp_send(const struct peer_tcp *tcp, const void *octets, size_t len, const char *what,
		   GError **error);
bool peer_tcp_receive(const struct peer_tcp *tcp, void *octets, size_t len, const char *what,
		      GError **error);

/* Tells the peer why this side gives up, and waits a moment until it has gone. */
void peer_tcp_complain(const struct peer_tcp *tcp, const char *reason);

#endif /* PEER_TCP_H */
