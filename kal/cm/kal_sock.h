/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* TCP sockets and their addresses. */
#ifndef KAL_SOCK_H
#define KAL_SOCK_H

#include <sys/socket.h>

#include "kal_call.h"
#include "kal_config.h"
#include "kal_fds.h"

struct kal_cm;

/* A sockaddr for an address and a port in network order. Returns its length, 0 if no IP address. */
socklen_t kal_sock_addr(struct sockaddr_storage *out, const struct ri_addr *addr, uint16_t port);
void kal_sock_addr_back(const struct sockaddr_storage *in, struct ri_addr *addr, uint16_t *port);
/* A non-blocking TCP socket of that family. Returns 0 or an errno. */
int kal_sock_new(struct kal_fd *fd, int family);
/*
 * Is the connection one of the socket with itself? TCP makes one (RFC 9293, 3.5, simultaneous open) if no socket listens
 * at the peer's port and the kernel chose, or the consumer gave, the same port of the same address as the local one.
 */
bool kal_sock_is_own_peer(int fd);
/* Send small frames without delay. */
void kal_sock_prepare(int fd);
/*
 * The TCP connection is up: have the kernel notice if the peer vanishes, and report that as ETIMEDOUT. Values that
 * the application has set on a socket of its own are kept.
 */
void kal_sock_watch_peer(int fd, const struct kal_keep_alive *keep_alive);
/* For RDMA mode: when its process dies, the peer gets a reset (architecture.md, Connections). */
void kal_sock_rdma_mode(int fd);
/* Reset the connection, also if there are duplicates of the descriptor. The caller still closes it. */
void kal_sock_abort(int fd);
/* Octets of a start-up for the capture of this connection. Nothing, if nobody captures. */
void kal_sock_capture(const struct kal_cm *cm, int fd, const void *octets, ssize_t len,
		      bool received);
/* The start-up ends without a stream: with a FIN or a reset. */
void kal_sock_capture_end(const struct kal_cm *cm, int fd, bool fin);
/* Of this machine? False: errno says why, which may be that something ran out. */
bool kal_sock_is_local(const struct ri_addr *addr);
/* An address as people write it. */
void kal_sock_addr_text(const struct ri_addr *addr, char *text, size_t room);
/* May this process bind that TCP port (network order)? Ports that the host reserves are reserved here, too. */
bool kal_sock_may_serve(uint16_t port);
enum kal_cm_reason kal_sock_reason(int error);

#endif /* KAL_SOCK_H */
