/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Packets to and from kald, and where it is. Nothing here sleeps. */
#ifndef KAL_REMOTE_WIRE_H
#define KAL_REMOTE_WIRE_H

#include <sys/socket.h>

#include "kal_fds.h"
#include "kald_wire.h"

#define KAL_REMOTE_PATH 108

/* Where to look. */
struct kal_remote_place {
	const char *path; /* of the socket, '@' for one without a file; NULL: the known places */
	bool system_only; /* of the known places only that of the system */
};

/* Connect to the first path where kald listens; *found: that path, or all that were tried. Returns 0 or an errno. */
int kal_remote_connect(const struct kal_remote_place *place, struct kal_fd *fd,
		       char found[KAL_REMOTE_PATH]);
/* Returns 0 or an errno; EAGAIN: later. */
int kal_remote_send(const struct kal_fd *fd, const struct kald_message *message);
/* The same with descriptors, at most KALD_SHARE_FDS, which stay the caller's. */
int kal_remote_send_with(const struct kal_fd *fd, const struct kald_message *message,
			 const int *fds, size_t count);
/* 1: a message, with descriptors in `got` perhaps, 0: nothing has come yet, -1: the connection is over, or what came is no message. */
int kal_remote_receive(const struct kal_fd *fd, struct kald_message *message,
		       struct kal_fd got[KALD_SHARE_FDS]);
void kal_remote_close_all(struct kal_fd got[KALD_SHARE_FDS]);
/* An address of IPv4 or IPv6, as messages have it. */
void kal_remote_addr_of(const struct sockaddr_storage *sa, struct kald_addr *addr);

#endif /* KAL_REMOTE_WIRE_H */
