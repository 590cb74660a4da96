/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* What kal_listen_socks.c and kal_listen_accept.c share: a TCP port at which listeners of this process listen. */
#ifndef KAL_TCP_PORT_H
#define KAL_TCP_PORT_H

#include "kal_fds.h"
#include "kal_request.h"

/* A listening socket. */
struct kal_listen_sock {
	struct kal_listen_sock *next;
	struct kal_tcp_port *owner; /* NULL: taken out of it, and about to be closed */
	struct kal_fd fd;
	struct ri_watch watch;
	struct ri_addr addr; /* its family, and the address, or zeros: any */
	bool any;
	bool watched;
	bool deaf; /* another one has its place */
};

/* All but the name is guarded by the lock of kal_listen_socks.c. */
struct kal_tcp_port {
	struct kal_tcp_port *next;
	const struct ri_host *host;
	uint16_t port; /* network order */
	struct kal_listener *members;
	struct kal_listen_sock *socks;
	struct ri_timer pause_timer; /* ends a pause in accepting */
	bool gone;                   /* no member is left, and it is about to be freed */
	bool accept_failed;          /* and that was logged */
	/* No descriptor is left for a connection. */
	struct kal_fd spare;  /* closed to accept one, which is then reset */
	uint64_t short_since; /* 0: not short */
	bool short_logged;
};

/* A line for the log, made under the lock and written without it. */
struct kal_listen_saying {
	enum ri_log_level level;
	char text[192]; /* empty: none */
};

void kal_listen_lock(void);
void kal_listen_unlock(void);
void kal_listen_say(const struct ri_host *host, const struct kal_listen_saying *saying);

/* kal_listen_accept.c: the functions of the watch and the timer. */
void kal_listen_sock_ready(void *arg, uint32_t events);
void kal_listen_pause_ends(void *arg);

/* kal_listen_socks.c, under the lock: the listener for a stream that was accepted; NULL: none wants it. */
struct kal_listener *kal_listen_choose(const struct kal_tcp_port *port, int fd);

#endif /* KAL_TCP_PORT_H */
