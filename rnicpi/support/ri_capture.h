/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#ifndef RI_CAPTURE_H
#define RI_CAPTURE_H

#include <netinet/in.h>
#include <stddef.h>
#include <string.h>

#include "rnicpi_host.h"

/**
 * @file Functions by which a provider passes packets of its wire to a capture [RI 11.3.7]. They
 * allocate nothing; any thread may call them.
 */

/** @brief Does the host want a capture? A host of before 1.7 has no such entry. */
static inline bool
ri_capture_wanted(const struct ri_host *host)
{
	return host->size >= offsetof(struct ri_host, capture) + sizeof(host->capture) &&
	       host->capture != NULL;
}

/** @brief Add something. */
static inline void
ri_capture(const struct ri_host *host, const struct ri_captured *what)
{
	if (ri_capture_wanted(host))
		host->capture(host->self, what);
}

/** @brief The IP address and port of a socket address. */
static inline void
ri_capture_end(const struct sockaddr_storage *from, struct ri_addr *addr, uint16_t *port)
{
	struct sockaddr_in in;
	struct sockaddr_in6 in6;

	memset(addr, 0, sizeof(*addr));
	if (from->ss_family == AF_INET) {
		memcpy(&in, from, sizeof(in));
		addr->family = RI_ADDR_IPV4;
		memcpy(addr->octets, &in.sin_addr, sizeof(in.sin_addr));
		*port = in.sin_port;
		return;
	}
	memcpy(&in6, from, sizeof(in6));
	addr->family = RI_ADDR_IPV6;
	memcpy(addr->octets, &in6.sin6_addr, sizeof(in6.sin6_addr));
	*port = in6.sin6_port;
}

/** @brief Both ends of a connected TCP socket. False: it is not connected. */
static inline bool
ri_capture_ends(int fd, struct ri_captured *what)
{
	struct sockaddr_storage local = {0}, remote = {0};
	socklen_t len = sizeof(local);

	if (getsockname(fd, (struct sockaddr *)(void *)&local, &len) != 0)
		return false;
	len = sizeof(remote);
	if (getpeername(fd, (struct sockaddr *)(void *)&remote, &len) != 0)
		return false;
	ri_capture_end(&local, &what->local, &what->local_port);
	ri_capture_end(&remote, &what->remote, &what->remote_port);
	return true;
}

#endif
