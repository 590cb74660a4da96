/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The kernel's routing decision for a peer, as a TCP connection would get it. Nothing is sent to the peer. Any thread; no
 * call blocks for another process.
 */
#ifndef KAL_ROUTE_H
#define KAL_ROUTE_H

#include <stdbool.h>
#include <stdint.h>

#include "rnicpi_attr.h"

#define KAL_ROUTE_NAME_MAX 32 /* of ri_port_attr::if_name */
#define KAL_ROUTE_HOPS     32 /* next hops of one route that are kept */

/* What a route is asked for. */
struct kal_route_query {
	struct ri_addr peer;
	struct ri_addr from; /* the socket is bound to this source; none: the kernel chooses */
	uint32_t interface;  /* the socket is bound to this interface; 0: to none */
};

struct kal_route {
	bool local;            /* the peer is this host, and no interface sends anything */
	struct ri_addr source; /* the kernel's choice; none if the query names one */
	unsigned prefix;       /* bits of the route's destination: the higher, the more specific */
	/*
	 * The interfaces through which the peer is reached; more than one if the route has several next
	 * hops. If the peer's address belongs to this host: the interface that has it.
	 */
	uint32_t interfaces[KAL_ROUTE_HOPS];
	unsigned count;
};

/* A socket for queries; -1, and errno is set: the kernel cannot be asked. To be closed by close(). */
int kal_route_open(void);

/* 0; or errno, for example ENETUNREACH: there is no route. */
int kal_route_ask(int fd, const struct kal_route_query *query, struct kal_route *route);

/* Does the route lead through the interface, or end at its address? */
bool kal_route_has(const struct kal_route *route, uint32_t interface);

/*
 * Does this address of the host belong to a spigot with these attributes? The spigot need not list
 * the address: an interface can own whole networks, and a spigot lists a bounded number of
 * addresses.
 */
bool kal_route_owns(const struct ri_port_attr *port, const struct ri_addr *addr);

/* The name of the interface to which the kernel gives an address of this host. False: to none, or it does not say. */
bool kal_route_owner(const struct ri_addr *addr, char name[KAL_ROUTE_NAME_MAX]);

/* Does the kernel give whole networks of addresses to the interface, as 127/8 to the loopback interface? 0, or errno. */
int kal_route_networks(int fd, enum ri_addr_family family, uint32_t interface, bool *has);

#endif /* KAL_ROUTE_H */
