/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Network interfaces as adapters and spigots. The kernel is queried each time, so addresses are current.
 *
 * A spigot is an interface, which the kernel knows by an index. A name may change while the interface stays,
 * and a label of an address ("eth0:1") is no interface at all, so the index is what a spigot keeps. Only if
 * the interface was deleted, the spigot changes to a new one with its last name.
 *
 * Many applications take the first spigot. So the interface of IPv4's default route comes first, or, without
 * such a route, that of IPv6's: other machines can reach this one through it. The loopback, which no other
 * machine can reach, comes last. The other interfaces stay in the order of the kernel.
 */
#include "ri_errno.h"
#include "ri_fd.h"
#include "viw_rnic.h"

#include <errno.h>
#include <net/if.h>
#include <net/route.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ri_netlink.h"

/* --- what the kernel knows of interfaces ------------------------------------------------------- */

/* The entry of an index, or NULL. The kernel lists addresses interface by interface, so the last may do. */
static struct viw_interface *
interface_of(struct viw_interfaces *all, uint32_t index)
{
	if (all->last < all->count && all->list[all->last].index == index)
		return &all->list[all->last];
	for (uint32_t i = 0; i < all->count; i++) {
		if (all->list[i].index == index) {
			all->last = i;
			return &all->list[i];
		}
	}
	return NULL;
}

static void
link_read(void *arg, const struct nlmsghdr *message)
{
	struct viw_interfaces *all = arg;
	const struct ifinfomsg *link = NLMSG_DATA(message);
	const struct rtattr *attrs[IFLA_MTU + 1];
	const struct rtattr *name;
	struct viw_interface *entry;

	if (message->nlmsg_type != RTM_NEWLINK || message->nlmsg_len < NLMSG_LENGTH(sizeof(*link)))
		return;
	ri_netlink_attrs(message, sizeof(*link), attrs, IFLA_MTU + 1);
	name = attrs[IFLA_IFNAME];
	if (name == NULL)
		return;
	if (all->count == all->room) {
		uint32_t room = all->room == 0 ? 16 : 2 * all->room;
		struct viw_interface *list = realloc(all->list, (size_t)room * sizeof(*all->list));

		if (list == NULL) {
			all->error = ENOMEM;
			return;
		}
		all->list = list;
		all->room = room;
	}
	entry = &all->list[all->count++];
	memset(entry, 0, sizeof(*entry));
	entry->index = (uint32_t)link->ifi_index;
	entry->up = (link->ifi_flags & IFF_UP) != 0;
	entry->online = entry->up && (link->ifi_flags & IFF_RUNNING) != 0;
	entry->loopback = (link->ifi_flags & IFF_LOOPBACK) != 0;
	entry->mtu = ri_netlink_u32(attrs[IFLA_MTU]);
	snprintf(entry->name, sizeof(entry->name), "%.*s", (int)RTA_PAYLOAD(name),
		 (const char *)RTA_DATA(name));
}

static void
addr_read(void *arg, const struct nlmsghdr *message)
{
	struct viw_interfaces *all = arg;
	const struct ifaddrmsg *ifa = NLMSG_DATA(message);
	const struct rtattr *attrs[IFA_FLAGS + 1];
	struct viw_interface *entry;
	struct ri_addr addr;
	uint32_t flags;

	if (message->nlmsg_type != RTM_NEWADDR || message->nlmsg_len < NLMSG_LENGTH(sizeof(*ifa)))
		return;
	ri_netlink_attrs(message, sizeof(*ifa), attrs, IFA_FLAGS + 1);
	entry = interface_of(all, ifa->ifa_index);
	/* On a point-to-point interface IFA_ADDRESS is the peer's. */
	if (entry == NULL ||
	    !ri_netlink_address(attrs[IFA_LOCAL] != NULL ? attrs[IFA_LOCAL] : attrs[IFA_ADDRESS],
				ifa->ifa_family, ifa->ifa_index, &addr))
		return;
	flags = attrs[IFA_FLAGS] != NULL ? ri_netlink_u32(attrs[IFA_FLAGS]) : ifa->ifa_flags;
	if (flags & IFA_F_DADFAILED)
		return; /* another host has the address */
	if (entry->num_addrs < RI_PORT_ADDR_MAX)
		entry->addrs[entry->num_addrs++] = addr;
}

/* One query after the other: links, then their addresses. `name`: that interface, else that of `index`, 0: all. */
static int
interfaces_ask(int fd, uint32_t index, const char *name, struct viw_interfaces *all)
{
	struct ri_netlink_query query;
	bool one = index != 0 || name != NULL;
	int error;

	ri_netlink_begin(&query, RTM_GETLINK, sizeof(query.u.link), !one);
	query.u.link.ifi_index = name != NULL ? 0 : (int)index;
	if (name != NULL)
		ri_netlink_add(&query, IFLA_IFNAME, name, strlen(name) + 1);
	error = ri_netlink_ask(fd, &query, link_read, all);
	if (error != 0 || all->error != 0 || all->count == 0)
		return error != 0 ? error : all->error;
	ri_netlink_begin(&query, RTM_GETADDR, sizeof(query.u.addr), true);
	query.u.addr.ifa_index = one ? all->list[0].index : 0;
	return ri_netlink_ask(fd, &query, addr_read, all);
}

bool
viw_interfaces(struct viw_interfaces *all)
{
	int fd = ri_netlink_open();
	int error = fd < 0 ? errno : 0;

	memset(all, 0, sizeof(*all));
	if (error == 0)
		error = interfaces_ask(fd, 0, NULL, all);
	if (fd >= 0)
		close(fd);
	if (error != 0)
		viw_interfaces_free(all);
	return error == 0;
}

void
viw_interfaces_free(struct viw_interfaces *all)
{
	free(all->list);
	memset(all, 0, sizeof(*all));
}

/* One line of /proc/net/route or /proc/net/ipv6_route: is it a default route in use? */
static bool
route_read(const char *line, bool ipv6, char *name, unsigned *metric)
{
	unsigned dest = 1, prefix = 1, flags = 0;

	if (!ipv6)
		return sscanf(line, "%31s %x %*x %x %*d %*d %u %x", name, &dest, &flags, metric,
			      &prefix) == 5 &&
		       dest == 0 && prefix == 0 && (flags & (RTF_UP | RTF_REJECT)) == RTF_UP;
	return strspn(line, "0") == 32 &&
	       sscanf(line, "%*32s %x %*32s %*x %*32s %x %*x %*x %x %31s", &prefix, metric, &flags,
		      name) == 4 &&
	       prefix == 0 && (flags & (RTF_UP | RTF_REJECT)) == RTF_UP;
}

bool
viw_default_route(FILE *table, bool ipv6, char *name)
{
	char line[256], candidate[32];
	unsigned metric = 0, least = 0;
	bool found = false;

	while (fgets(line, sizeof(line), table) != NULL) {
		if (!route_read(line, ipv6, candidate, &metric) || (found && metric >= least))
			continue;
		memcpy(name, candidate, sizeof(candidate));
		least = metric;
		found = true;
	}
	return found;
}

static unsigned
rank_of(const struct viw_interface *entry, const char *first)
{
	if (entry->loopback)
		return 2;
	return strcmp(entry->name, first) == 0 ? 0 : 1;
}

void
viw_interfaces_sort(struct viw_interface *list, uint32_t count, const char *first)
{
	for (uint32_t i = 1; i < count; i++) {
		struct viw_interface entry = list[i];
		uint32_t at = i;

		for (; at > 0 && rank_of(&list[at - 1], first) > rank_of(&entry, first); at--)
			list[at] = list[at - 1];
		list[at] = entry;
	}
}

enum ri_status
viw_interfaces_up(struct viw_interfaces *all)
{
	static const char *const tables[] = {"/proc/net/route", "/proc/net/ipv6_route"};
	char first[32] = ""; /* the interface of the default route, if there is one */
	uint32_t kept = 0;
	bool found = false;

	if (!viw_interfaces(all))
		return RI_ERR_RESOURCES;
	for (uint32_t i = 0; i < all->count; i++)
		if (all->list[i].up && all->list[i].num_addrs > 0)
			all->list[kept++] = all->list[i];
	all->count = kept;
	for (unsigned i = 0; i < 2 && !found; i++) {
		FILE *table = ri_fd_open_file(tables[i]);

		if (table == NULL && ri_errno_is_short(errno)) {
			viw_interfaces_free(all);
			return RI_ERR_RESOURCES;
		}
		if (table == NULL)
			continue; /* no such family, or no right to look */
		found = viw_default_route(table, i == 1, first);
		fclose(table);
	}
	viw_interfaces_sort(all->list, all->count, first);
	return RI_SUCCESS;
}

/* --- spigots -------------------------------------------------------------------------------- */

/* Megabits per second, 0 if unknown. */
static uint32_t
interface_speed(const char *name)
{
	char path[96];
	long speed = 0;

	snprintf(path, sizeof(path), "/sys/class/net/%s/speed", name);
	FILE *file = ri_fd_open_file(path);
	if (file == NULL)
		return 0;
	char text[32] = "";
	if (fgets(text, sizeof(text), file) != NULL)
		speed = strtol(text, NULL, 10);
	fclose(file);
	return speed > 0 && speed < UINT32_MAX ? (uint32_t)speed : 0;
}

enum ri_status
viw_query_port(struct ri_rnic *ri, uint32_t port, struct ri_port_attr *attr)
{
	struct viw_rnic *rnic = (struct viw_rnic *)ri;
	uint32_t size = attr->size;
	struct ri_port_attr a = {.size = sizeof(a), .max_message = VIW_MAX_MESSAGE};
	struct viw_interfaces one = {.count = 0};
	struct viw_port known;

	if (port >= rnic->num_ports)
		return RI_ERR_INVALID_ARG;
	pthread_mutex_lock(&rnic->lock);
	known = rnic->ports[port];
	pthread_mutex_unlock(&rnic->lock);
	memcpy(a.if_name, known.if_name, sizeof(a.if_name));
	int fd = ri_netlink_open();
	int error = fd < 0 ? errno : interfaces_ask(fd, known.index, NULL, &one);
	if (error == ENODEV && one.count == 0)
		error = interfaces_ask(fd, 0, known.last_name, &one);
	if (fd >= 0)
		close(fd);
	if (error == ENODEV) { /* there is no such interface now */
		viw_interfaces_free(&one);
		error = 0;
	}
	if (error == 0 && one.count > 0) {
		const struct viw_interface *now = &one.list[0];

		memcpy(a.if_name, now->name, sizeof(a.if_name));
		a.online = now->online;
		a.mtu = now->mtu;
		a.num_addrs = now->num_addrs;
		memcpy(a.addrs, now->addrs, sizeof(a.addrs));
		a.speed_mbps = interface_speed(now->name);
	}
	viw_interfaces_free(&one);
	if (error != 0)
		return RI_ERR_RESOURCES;
	memcpy(attr, &a, size < sizeof(a) ? size : sizeof(a));
	return RI_SUCCESS;
}
