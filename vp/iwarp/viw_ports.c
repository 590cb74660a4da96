/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Network interfaces as adapters and spigots. The kernel is queried each time, so addresses are current;
 * which interface is which spigot is fixed when the adapter is opened. Control path.
 *
 * Many applications take the first spigot. So the interface of the default route comes first, that of IPv4
 * before that of IPv6, since there other machines can reach this one. The loopback, which no other machine can
 * reach, comes last. The other interfaces stay in the order of the kernel.
 */
#include "ri_fd.h"
#include "viw_rnic.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <net/route.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* The entry of an interface in a list, added if it is missing; NULL: no room, and *count stays at `max`. */
static struct viw_interface *
interface_of(struct viw_interface *list, uint32_t max, uint32_t *count, const char *name)
{
	for (uint32_t i = 0; i < *count && i < max; i++) {
		if (strcmp(list[i].name, name) == 0)
			return &list[i];
	}
	if (*count >= max)
		return NULL;
	struct viw_interface *entry = &list[(*count)++];
	memset(entry, 0, sizeof(*entry));
	snprintf(entry->name, sizeof(entry->name), "%s", name);
	return entry;
}

static bool
addr_of(const struct sockaddr *sa, struct ri_addr *addr)
{
	memset(addr, 0, sizeof(*addr));
	if (sa->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)sa;

		addr->family = RI_ADDR_IPV4;
		memcpy(addr->octets, &in->sin_addr, 4);
		return true;
	}
	if (sa->sa_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const void *)sa;

		addr->family = RI_ADDR_IPV6;
		addr->scope_id = in6->sin6_scope_id;
		memcpy(addr->octets, &in6->sin6_addr, 16);
		return true;
	}
	return false;
}

bool
viw_interfaces(struct viw_interface *list, uint32_t max, uint32_t *count)
{
	struct ifaddrs *all = NULL;

	*count = 0;
	if (getifaddrs(&all) != 0)
		return false;
	for (const struct ifaddrs *i = all; i != NULL; i = i->ifa_next) {
		struct ri_addr addr;

		if (i->ifa_addr == NULL || !addr_of(i->ifa_addr, &addr))
			continue;
		struct viw_interface *entry = interface_of(list, max, count, i->ifa_name);
		if (entry == NULL)
			continue;
		entry->up = (i->ifa_flags & IFF_UP) != 0;
		entry->loopback = (i->ifa_flags & IFF_LOOPBACK) != 0;
		if (entry->num_addrs < RI_PORT_ADDR_MAX)
			entry->addrs[entry->num_addrs++] = addr;
	}
	freeifaddrs(all);
	return true;
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

/* The interface of the default route; empty if there is none. False: the kernel cannot be asked. */
static bool
default_interface(char name[32])
{
	static const char *const tables[] = {"/proc/net/route", "/proc/net/ipv6_route"};
	bool found = false;

	name[0] = '\0';
	for (unsigned i = 0; i < 2 && !found; i++) {
		FILE *table = ri_fd_open_file(tables[i]);

		if (table == NULL && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
			return false;
		if (table == NULL)
			continue; /* no such family, or no right to look */
		found = viw_default_route(table, i == 1, name);
		fclose(table);
	}
	return true;
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
viw_interfaces_up(struct viw_interface *list, uint32_t max, uint32_t *count)
{
	char first[32];
	uint32_t all;

	*count = 0;
	if (!viw_interfaces(list, max, &all))
		return RI_ERR_RESOURCES;
	for (uint32_t i = 0; i < all && i < max; i++)
		if (list[i].up)
			list[(*count)++] = list[i];
	if (!default_interface(first))
		return RI_ERR_RESOURCES;
	viw_interfaces_sort(list, *count, first);
	return RI_SUCCESS;
}

bool
viw_interface_online(const char *name, uint32_t *mtu)
{
	struct ifreq ifr;
	int fd = ri_fd_socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0)
		return false;
	memset(&ifr, 0, sizeof(ifr));
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%.15s", name);
	bool there = ioctl(fd, SIOCGIFFLAGS, &ifr) == 0;
	bool online = there && (ifr.ifr_flags & IFF_UP) && (ifr.ifr_flags & IFF_RUNNING);
	if (there && ioctl(fd, SIOCGIFMTU, &ifr) == 0)
		*mtu = (uint32_t)ifr.ifr_mtu;
	close(fd);
	return online;
}

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
	const struct viw_rnic *rnic = (const struct viw_rnic *)ri;
	struct viw_interface list[VIW_PORTS_MAX];
	uint32_t size = attr->size;
	struct ri_port_attr a = {.size = sizeof(a), .max_message = VIW_MAX_MESSAGE};

	if (port >= rnic->num_ports)
		return RI_ERR_INVALID_ARG;
	const char *name = rnic->ports[port].if_name;
	memcpy(a.if_name, name, sizeof(a.if_name));
	a.online = viw_interface_online(name, &a.mtu);
	a.speed_mbps = interface_speed(name);
	uint32_t count;
	if (!viw_interfaces(list, VIW_PORTS_MAX, &count))
		return RI_ERR_RESOURCES;
	for (uint32_t i = 0; i < count && i < VIW_PORTS_MAX; i++) {
		if (strcmp(list[i].name, name) != 0)
			continue;
		a.num_addrs = list[i].num_addrs;
		memcpy(a.addrs, list[i].addrs, sizeof(a.addrs));
	}
	memcpy(attr, &a, size < sizeof(a) ? size : sizeof(a));
	return RI_SUCCESS;
}
