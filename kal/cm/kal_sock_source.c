/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "kal_sock_source.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stddef.h>

#include "kal_sock.h"

static int
own_listen(struct kal_fd *fd, const struct sockaddr_storage *at, socklen_t len)
{
	int error = kal_sock_new(fd, at->ss_family);
	int one = 1;

	if (error != 0)
		return error;
	setsockopt(kal_fd_get(fd), SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(kal_fd_get(fd), IPPROTO_IP, IP_FREEBIND, &one, sizeof(one));
	if (bind(kal_fd_get(fd), (const struct sockaddr *)at, len) == 0 &&
	    listen(kal_fd_get(fd), SOMAXCONN) == 0)
		return 0;
	error = errno;
	kal_fd_close(fd);
	return error;
}

static void
own_listen_over(const struct kal_fd *fd)
{
	(void)fd;
}

static int
own_dial(struct kal_fd *fd, const struct kal_dial *dial)
{
	return kal_sock_new(fd, dial->peer->ss_family);
}

const struct kal_sock_source kal_sock_own = {
	.listen = own_listen,
	.listen_over = own_listen_over,
	.dial = own_dial,
};

static _Atomic(const struct kal_sock_source *) now = &kal_sock_own;

const struct kal_sock_source *
kal_sock_source(void)
{
	return atomic_load(&now);
}

void
kal_sock_source_set(const struct kal_sock_source *source)
{
	atomic_store(&now, source != NULL ? source : &kal_sock_own);
}
