/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* What the kernel's routing says of a destination: a datagram socket that is connected to it gets a source, and sends nothing. */
#include <sys/socket.h>

#include "ri_calls.h"
#include "ri_fd.h"
#include "vro_address.h"
#include "vro_station.h"

static int
socket_for(const uint8_t gid[16])
{
	return ri_fd_socket(roce_gid_is_v4(gid) ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK,
			    0);
}

/* Only an address of this host can be bound. */
bool
vro_route_here(const uint8_t gid[16], uint32_t scope)
{
	union vro_address to;
	socklen_t size = vro_address_of(&to, gid, 0, scope);
	int fd = socket_for(gid);
	bool here = fd >= 0 && bind(fd, &to.sa, size) == 0;

	if (fd >= 0)
		ri_close(fd);
	return here;
}

bool
vro_route_find(const uint8_t gid[16], uint32_t scope, uint8_t source[16], bool *here)
{
	union vro_address to, own = {.sa.sa_family = AF_UNSPEC};
	socklen_t size = vro_address_of(&to, gid, ROCE_UDP_PORT, scope), room = sizeof(own);
	int fd = socket_for(gid);
	bool found =
		fd >= 0 && connect(fd, &to.sa, size) == 0 && getsockname(fd, &own.sa, &room) == 0;

	if (fd >= 0)
		ri_close(fd);
	if (!found)
		return false;
	(void)vro_address_gid(source, &own);
	*here = vro_route_here(gid, scope);
	return true;
}
