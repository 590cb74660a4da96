/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Two queries for one route. The plain one gives the source address that the kernel chooses. That with RTM_F_FIB_MATCH gives
 * the entry of the table: how specific it is, all its next hops, and for an address of this host the interface that has it
 * (the plain query names the loopback interface there).
 */
#include "kal_route.h"

#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <unistd.h>

#include "ri_netlink.h"

static void
hop_add(struct kal_route *route, uint32_t interface)
{
	if (interface != 0 && route->count < KAL_ROUTE_HOPS && !kal_route_has(route, interface))
		route->interfaces[route->count++] = interface;
}

static void
hops_read(struct kal_route *route, const struct rtattr *attr)
{
	const struct rtnexthop *hop = RTA_DATA(attr);
	size_t left = RTA_PAYLOAD(attr);

	while (left >= sizeof(*hop) && hop->rtnh_len >= sizeof(*hop) && hop->rtnh_len <= left) {
		size_t step = RTNH_ALIGN(hop->rtnh_len);

		hop_add(route, (uint32_t)hop->rtnh_ifindex);
		if (step >= left)
			break;
		left -= step;
		hop = (const void *)((const char *)hop + step);
	}
}

/* What one message is read into. */
struct reading {
	struct kal_route *route;
	bool usable; /* the route is one for a connection */
};

static void
entry_read(void *arg, const struct nlmsghdr *message)
{
	struct reading *reading = arg;
	const struct rtmsg *rtm = NLMSG_DATA(message);
	const struct rtattr *attrs[RTA_MULTIPATH + 1];

	if (message->nlmsg_type != RTM_NEWROUTE || message->nlmsg_len < NLMSG_LENGTH(sizeof(*rtm)))
		return;
	ri_netlink_attrs(message, sizeof(*rtm), attrs, RTA_MULTIPATH + 1);
	reading->usable = rtm->rtm_type == RTN_UNICAST || rtm->rtm_type == RTN_LOCAL;
	reading->route->local = rtm->rtm_type == RTN_LOCAL;
	reading->route->prefix = rtm->rtm_dst_len;
	hop_add(reading->route, ri_netlink_u32(attrs[RTA_OIF]));
	if (attrs[RTA_MULTIPATH] != NULL)
		hops_read(reading->route, attrs[RTA_MULTIPATH]);
}

static void
source_read(void *arg, const struct nlmsghdr *message)
{
	struct reading *reading = arg;
	const struct rtmsg *rtm = NLMSG_DATA(message);
	const struct rtattr *attrs[RTA_PREFSRC + 1];

	if (message->nlmsg_type != RTM_NEWROUTE || message->nlmsg_len < NLMSG_LENGTH(sizeof(*rtm)))
		return;
	ri_netlink_attrs(message, sizeof(*rtm), attrs, RTA_PREFSRC + 1);
	(void)ri_netlink_address(attrs[RTA_PREFSRC], rtm->rtm_family,
				 ri_netlink_u32(attrs[RTA_OIF]), &reading->route->source);
}

static int
route_ask(int fd, const struct kal_route_query *query, unsigned flags, ri_netlink_each *each,
	  struct reading *reading)
{
	bool six = query->peer.family == RI_ADDR_IPV6;
	size_t len = six ? 16 : 4;
	uint32_t interface = query->interface != 0 ? query->interface : query->peer.scope_id;
	struct ri_netlink_query ask;

	ri_netlink_begin(&ask, RTM_GETROUTE, sizeof(ask.u.route), false);
	ask.u.route.rtm_family = (unsigned char)(six ? AF_INET6 : AF_INET);
	ask.u.route.rtm_dst_len = (unsigned char)(8 * len);
	ask.u.route.rtm_flags = flags;
	ri_netlink_add(&ask, RTA_DST, query->peer.octets, len);
	if (query->from.family == query->peer.family) {
		ask.u.route.rtm_src_len = (unsigned char)(8 * len);
		ri_netlink_add(&ask, RTA_SRC, query->from.octets, len);
	}
	if (interface != 0)
		ri_netlink_add(&ask, RTA_OIF, &interface, sizeof(interface));
	return ri_netlink_ask(fd, &ask, each, reading);
}

int
kal_route_open(void)
{
	return ri_netlink_open();
}

int
kal_route_ask(int fd, const struct kal_route_query *query, struct kal_route *route)
{
	struct reading reading = {.route = route};
	int error;

	memset(route, 0, sizeof(*route));
	if (query->peer.family != RI_ADDR_IPV4 && query->peer.family != RI_ADDR_IPV6)
		return EAFNOSUPPORT;
	error = route_ask(fd, query, RTM_F_FIB_MATCH, entry_read, &reading);
	if (error == 0 && query->from.family == RI_ADDR_NONE)
		error = route_ask(fd, query, 0, source_read, &reading);
	return error == 0 && !reading.usable ? ENETUNREACH : error;
}

bool
kal_route_has(const struct kal_route *route, uint32_t interface)
{
	for (unsigned i = 0; i < route->count; i++)
		if (route->interfaces[i] == interface)
			return true;
	return false;
}

bool
kal_route_owner(const struct ri_addr *addr, char name[KAL_ROUTE_NAME_MAX])
{
	const struct kal_route_query query = {.peer = *addr};
	struct kal_route route;
	int fd = kal_route_open();
	bool found;

	if (fd < 0)
		return false;
	found = kal_route_ask(fd, &query, &route) == 0 && route.local && route.count > 0 &&
		if_indextoname(route.interfaces[0], name) != NULL;
	close(fd);
	return found;
}

bool
kal_route_owns(const struct ri_port_attr *port, const struct ri_addr *addr)
{
	char owner[KAL_ROUTE_NAME_MAX], other[KAL_ROUTE_NAME_MAX];

	for (uint32_t i = 0; i < port->num_addrs; i++)
		if (port->addrs[i].family == addr->family &&
		    port->addrs[i].scope_id == addr->scope_id &&
		    memcmp(port->addrs[i].octets, addr->octets, sizeof(addr->octets)) == 0)
			return true;
	if (!kal_route_owner(addr, owner))
		return false;
	if (port->if_name[0] != '\0')
		return strcmp(owner, port->if_name) == 0;
	/* The interface has no name here, but addresses. */
	for (uint32_t i = 0; i < port->num_addrs; i++)
		if (port->addrs[i].family == addr->family &&
		    kal_route_owner(&port->addrs[i], other) && strcmp(owner, other) == 0)
			return true;
	return false;
}

/* A search in the table of local addresses. */
struct network_search {
	uint32_t interface;
	bool found;
};

static void
network_read(void *arg, const struct nlmsghdr *message)
{
	struct network_search *search = arg;
	const struct rtmsg *rtm = NLMSG_DATA(message);
	const struct rtattr *attrs[RTA_TABLE + 1];

	if (message->nlmsg_type != RTM_NEWROUTE || message->nlmsg_len < NLMSG_LENGTH(sizeof(*rtm)))
		return;
	ri_netlink_attrs(message, sizeof(*rtm), attrs, RTA_TABLE + 1);
	search->found |= rtm->rtm_type == RTN_LOCAL &&
			 rtm->rtm_dst_len < (rtm->rtm_family == AF_INET ? 32 : 128) &&
			 ri_netlink_u32(attrs[RTA_OIF]) == search->interface;
}

int
kal_route_networks(int fd, enum ri_addr_family family, uint32_t interface, bool *has)
{
	struct network_search search = {.interface = interface};
	struct ri_netlink_query ask;
	int error;

	ri_netlink_begin(&ask, RTM_GETROUTE, sizeof(ask.u.route), true);
	ask.u.route.rtm_family = family == RI_ADDR_IPV6 ? AF_INET6 : AF_INET;
	ask.u.route.rtm_table = RT_TABLE_LOCAL;
	ask.u.route.rtm_type = RTN_LOCAL;
	ri_netlink_add(&ask, RTA_OIF, &interface, sizeof(interface));
	error = ri_netlink_ask(fd, &ask, network_read, &search);
	*has = search.found;
	return error;
}
