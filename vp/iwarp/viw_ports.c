/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Network interfaces as adapters and spigots. Asked from the kernel each time, so that addresses are
 * those of now; which interface is which spigot is fixed when the adapter is opened. Control path.
 */
#include "viw_rnic.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* The entry of an interface in a list, made if need be; NULL: no room, *count still counts it. */
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
		if (entry->num_addrs < RI_PORT_ADDR_MAX)
			entry->addrs[entry->num_addrs++] = addr;
	}
	freeifaddrs(all);
	return true;
}

enum ri_status
viw_interfaces_up(struct viw_interface *list, uint32_t max, uint32_t *count)
{
	uint32_t all;

	*count = 0;
	if (!viw_interfaces(list, max, &all))
		return RI_ERR_RESOURCES;
	for (uint32_t i = 0; i < all && i < max; i++)
		if (list[i].up)
			list[(*count)++] = list[i];
	return RI_SUCCESS;
}

bool
viw_interface_online(const char *name, uint32_t *mtu)
{
	struct ifreq ifr;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

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

/* Megabits per second, 0 if nobody knows. */
static uint32_t
interface_speed(const char *name)
{
	char path[96];
	long speed = 0;

	snprintf(path, sizeof(path), "/sys/class/net/%s/speed", name);
	FILE *file = fopen(path, "re");
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
