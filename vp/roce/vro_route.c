/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* What the kernel's routing says of a destination: a datagram socket that is connected to it gets a source, and sends nothing. */
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "ri_calls.h"
#include "ri_fd.h"
#include "roce_icrc.h"
#include "vro_station.h"

union address {
	struct sockaddr sa;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static socklen_t
address_of(union address *to, const uint8_t gid[16], uint16_t port, uint32_t scope)
{
	memset(to, 0, sizeof(*to));
	if (roce_gid_is_v4(gid)) {
		to->v4.sin_family = AF_INET;
		to->v4.sin_port = htons(port);
		memcpy(&to->v4.sin_addr, gid + 12, 4);
		return sizeof(to->v4);
	}
	to->v6.sin6_family = AF_INET6;
	to->v6.sin6_port = htons(port);
	memcpy(&to->v6.sin6_addr, gid, 16);
	if (IN6_IS_ADDR_LINKLOCAL(&to->v6.sin6_addr))
		to->v6.sin6_scope_id = scope;
	return sizeof(to->v6);
}

static int
socket_for(const uint8_t gid[16])
{
	return ri_fd_socket(roce_gid_is_v4(gid) ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK,
			    0);
}

/* Only an address of this host can be bound. */
static bool
is_here(const uint8_t gid[16], uint32_t scope)
{
	union address to;
	socklen_t size = address_of(&to, gid, 0, scope);
	int fd = socket_for(gid);
	bool here = fd >= 0 && bind(fd, &to.sa, size) == 0;

	if (fd >= 0)
		ri_close(fd);
	return here;
}

bool
vro_route_find(const uint8_t gid[16], uint32_t scope, uint8_t source[16], bool *here)
{
	union address to, own;
	socklen_t size = address_of(&to, gid, ROCE_UDP_PORT, scope), room = sizeof(own);
	int fd = socket_for(gid);
	bool found =
		fd >= 0 && connect(fd, &to.sa, size) == 0 && getsockname(fd, &own.sa, &room) == 0;

	if (fd >= 0)
		ri_close(fd);
	if (!found)
		return false;
	if (own.sa.sa_family == AF_INET)
		roce_gid_of_v4(source, &own.v4.sin_addr);
	else
		memcpy(source, &own.v6.sin6_addr, 16);
	*here = is_here(gid, scope);
	return true;
}
