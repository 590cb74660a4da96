/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Where listeners and initiators get a socket for an address. A process opens its own sockets. If
 * there is a daemon that has rules for ports and peers, the daemon is asked first, and may open the
 * socket itself.
 */
#ifndef KAL_SOCK_SOURCE_H
#define KAL_SOCK_SOURCE_H

#include <stdbool.h>

#include "kal_fds.h"

/* What a dial asks for. */
struct kal_dial {
	const struct sockaddr_storage *peer;
	socklen_t len; /* of the address of the peer */
	const struct sockaddr_storage
		*local;   /* to be bound to, if the daemon opens the socket; NULL: any */
	bool *connecting; /* set to true: the daemon has bound the socket and begun to connect */
};

/* Each returns 0 and a descriptor in `fd`, or an errno; EACCES: a rule refuses, and the log names it. */
struct kal_sock_source {
	/* A socket that listens at that address. Port 0: the kernel chooses. */
	int (*listen)(struct kal_fd *fd, const struct sockaddr_storage *at, socklen_t len);
	/* The socket of a listener was closed. */
	void (*listen_over)(const struct kal_fd *fd);
	/* A socket that may be connected to that peer. */
	int (*dial)(struct kal_fd *fd, const struct kal_dial *dial);
};

/* The process opens its own. */
extern const struct kal_sock_source kal_sock_own;
/* The source that holds now. */
const struct kal_sock_source *kal_sock_source(void);
/* Change it; NULL: the process's own. The struct lives until the process ends. */
void kal_sock_source_set(const struct kal_sock_source *source);

#endif /* KAL_SOCK_SOURCE_H */
