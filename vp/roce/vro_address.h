/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* GIDs as socket addresses: one of IPv4 is mapped, others are IPv6. */
#ifndef VRO_ADDRESS_H
#define VRO_ADDRESS_H

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "rnicpi_attr.h"
#include "roce_icrc.h"

union vro_address {
	struct sockaddr sa;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* The socket address of a GID; `scope`: the interface of a link-local one. Returns its size. */
static inline socklen_t
vro_address_of(union vro_address *to, const uint8_t gid[16], uint16_t port, uint32_t scope)
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
	if (IN6_IS_ADDR_LINKLOCAL(&to->v6.sin6_addr) || IN6_IS_ADDR_MC_LINKLOCAL(&to->v6.sin6_addr))
		to->v6.sin6_scope_id = scope;
	return sizeof(to->v6);
}

/* The GID of a socket address; returns its port. */
static inline uint16_t
vro_address_gid(uint8_t gid[16], const union vro_address *from)
{
	if (from->sa.sa_family == AF_INET) {
		roce_gid_of_v4(gid, &from->v4.sin_addr);
		return ntohs(from->v4.sin_port);
	}
	memcpy(gid, &from->v6.sin6_addr, 16);
	return ntohs(from->v6.sin6_port);
}

/* Is it the address of a group? */
static inline bool
vro_gid_is_group(const uint8_t gid[16])
{
	return roce_gid_is_v4(gid) ? gid[12] >> 4 == 0xe : gid[0] == 0xff;
}

/* The GID of an address of IPv4 or IPv6, or that is one. */
static inline void
vro_gid_of_addr(uint8_t gid[16], const struct ri_addr *addr)
{
	if (addr->family == RI_ADDR_IPV4)
		roce_gid_of_v4(gid, addr->octets);
	else
		memcpy(gid, addr->octets, 16);
}

/* The address, IPv4 or IPv6, whose GID that is. */
static inline struct ri_addr
vro_addr_of_gid(const uint8_t gid[16])
{
	bool v4 = roce_gid_is_v4(gid);
	struct ri_addr addr = {.family = v4 ? RI_ADDR_IPV4 : RI_ADDR_IPV6};

	memcpy(addr.octets, v4 ? gid + 12 : gid, v4 ? 4 : 16);
	return addr;
}

#endif /* VRO_ADDRESS_H */
