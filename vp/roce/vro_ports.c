/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Network interfaces, as the kernel's routing socket lists them. */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ri_calls.h"
#include "ri_netlink.h"
#include "vro_station.h"

static void
link_read(void *arg, const struct nlmsghdr *message)
{
	struct vro_ports *all = arg;
	const struct ifinfomsg *link = NLMSG_DATA(message);
	const struct rtattr *attrs[IFLA_MTU + 1];
	struct vro_port *port;

	if (message->nlmsg_type != RTM_NEWLINK || message->nlmsg_len < NLMSG_LENGTH(sizeof(*link)))
		return;
	ri_netlink_attrs(message, sizeof(*link), attrs, IFLA_MTU + 1);
	if (attrs[IFLA_IFNAME] == NULL || (link->ifi_flags & IFF_UP) == 0)
		return;
	if (all->count == all->room) {
		uint32_t room = all->room == 0 ? 16 : 2 * all->room;
		struct vro_port *list = realloc(all->list, (size_t)room * sizeof(*list));

		if (list == NULL) {
			all->error = ENOMEM;
			return;
		}
		all->list = list;
		all->room = room;
	}
	port = memset(&all->list[all->count++], 0, sizeof(*port));
	port->index = (uint32_t)link->ifi_index;
	port->online = (link->ifi_flags & IFF_RUNNING) != 0;
	port->loopback = (link->ifi_flags & IFF_LOOPBACK) != 0;
	port->mtu = ri_netlink_u32(attrs[IFLA_MTU]);
	snprintf(port->name, sizeof(port->name), "%.*s", (int)RTA_PAYLOAD(attrs[IFLA_IFNAME]),
		 (const char *)RTA_DATA(attrs[IFLA_IFNAME]));
}

static void
addr_read(void *arg, const struct nlmsghdr *message)
{
	struct vro_ports *all = arg;
	const struct ifaddrmsg *ifa = NLMSG_DATA(message);
	const struct rtattr *attrs[IFA_FLAGS + 1];
	struct ri_addr addr;

	if (message->nlmsg_type != RTM_NEWADDR || message->nlmsg_len < NLMSG_LENGTH(sizeof(*ifa)))
		return;
	ri_netlink_attrs(message, sizeof(*ifa), attrs, IFA_FLAGS + 1);

	uint32_t flags =
		attrs[IFA_FLAGS] != NULL ? ri_netlink_u32(attrs[IFA_FLAGS]) : ifa->ifa_flags;

	/* One that is not proved to be unique yet cannot be bound. */
	if ((flags & (IFA_F_DADFAILED | IFA_F_TENTATIVE)) != 0 ||
	    !ri_netlink_address(attrs[IFA_LOCAL] != NULL ? attrs[IFA_LOCAL] : attrs[IFA_ADDRESS],
				ifa->ifa_family, ifa->ifa_index, &addr))
		return;
	for (uint32_t i = 0; i < all->count; i++) {
		struct vro_port *port = &all->list[i];

		if (port->index == ifa->ifa_index && port->num_addrs < VRO_ADDRS_MAX)
			port->addrs[port->num_addrs++] = addr;
	}
}

enum ri_status
vro_ports_read(struct vro_ports *all)
{
	struct ri_netlink_query query;
	uint32_t kept = 0;
	int fd = ri_netlink_open();
	int error = fd < 0 ? errno : 0;

	memset(all, 0, sizeof(*all));
	if (error == 0) {
		ri_netlink_begin(&query, RTM_GETLINK, sizeof(query.u.link), true);
		error = ri_netlink_ask(fd, &query, link_read, all);
	}
	if (error == 0) {
		ri_netlink_begin(&query, RTM_GETADDR, sizeof(query.u.addr), true);
		error = ri_netlink_ask(fd, &query, addr_read, all);
	}
	if (fd >= 0)
		ri_close(fd);
	if (error != 0 || all->error != 0) {
		vro_ports_free(all);
		return RI_ERR_RESOURCES;
	}
	for (uint32_t i = 0; i < all->count; i++)
		if (all->list[i].num_addrs > 0)
			all->list[kept++] = all->list[i];
	all->count = kept;
	return RI_SUCCESS;
}

void
vro_ports_free(struct vro_ports *all)
{
	free(all->list);
	memset(all, 0, sizeof(*all));
}
