/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Events of spigots: a spigot goes up or down with its network interface, and has the interface's addresses.
 *
 * A routing socket, which needs no privilege, reports changes. A message is only a hint that something has
 * changed: then all interfaces are queried and compared with the last state that was reported. So a message
 * that is lost because the socket overflows does no harm, several changes at once make one event of each
 * kind, and an interface that went down and up again between two comparisons makes none. Only the name of an
 * interface is taken from a message: one that was renamed and deleted before the query has no other trace.
 *
 * Connections outlive the failure of an interface: TCP keeps them until its own timeouts.
 *
 * All of it but start and stop runs on the service thread.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ri_fd.h"
#include "ri_netlink.h"
#include "viw_fork.h"
#include "viw_rnic.h"

static void
port_event_raise(const struct viw_rnic *rnic, uint32_t port, enum ri_event event)
{
	const struct ri_async_event e = {.event = event, .object = RI_OBJECT_PORT, .ctx = port};

	rnic->upcalls->async_event(rnic->upcalls->self, &e);
}

/* The interface of a spigot. If it was deleted: one of its last name, or otherwise an entry without addresses. */
static struct viw_interface
interface_find(const struct viw_rnic *rnic, uint32_t port, const struct viw_interfaces *all)
{
	const struct viw_port *known = &rnic->ports[port];
	struct viw_interface gone = {.index = known->index};

	memcpy(gone.name, known->last_name, sizeof(gone.name));
	for (uint32_t i = 0; i < all->count; i++)
		if (all->list[i].index == known->index)
			return all->list[i];
	for (uint32_t i = 0; i < all->count; i++) {
		bool other = false; /* it is another spigot's */

		for (uint32_t k = 0; k < rnic->num_ports; k++)
			other = other || (k != port && rnic->ports[k].index == all->list[i].index);
		if (!other && strcmp(all->list[i].name, known->last_name) == 0)
			return all->list[i];
	}
	return gone;
}

/* Compare each spigot with its last known state; `tell`: raise events for what has changed. */
static void
ports_compare(struct viw_rnic *rnic, bool tell)
{
	struct viw_interfaces all;

	if (!viw_interfaces(&all))
		return; /* a query that fails for lack of descriptors says nothing about interfaces */
	for (uint32_t i = 0; i < rnic->num_ports; i++) {
		struct viw_port *port = &rnic->ports[i];
		const struct viw_interface now = interface_find(rnic, i, &all);
		bool moved =
			port->index != now.index || strcmp(port->if_name, now.name) != 0 ||
			port->num_addrs != now.num_addrs ||
			memcmp(port->addrs, now.addrs, now.num_addrs * sizeof(now.addrs[0])) != 0;
		bool was = port->online;

		pthread_mutex_lock(&rnic->lock);
		port->index = now.index;
		memcpy(port->if_name, now.name, sizeof(port->if_name));
		memcpy(port->last_name, now.name, sizeof(port->last_name));
		port->online = now.online;
		port->num_addrs = now.num_addrs;
		memcpy(port->addrs, now.addrs, sizeof(port->addrs));
		pthread_mutex_unlock(&rnic->lock);
		if (tell && moved)
			port_event_raise(rnic, i, RI_EVENT_PORT_CHANGE);
		if (tell && was != now.online)
			port_event_raise(rnic, i,
					 now.online ? RI_EVENT_PORT_ACTIVE : RI_EVENT_PORT_ERROR);
	}
	viw_interfaces_free(&all);
}

/* The newest name of a spigot's interface. The message may be cut: the name is its first attribute. */
static void
name_note(struct viw_rnic *rnic, struct nlmsghdr *message, size_t len)
{
	const struct ifinfomsg *link = NLMSG_DATA(message);
	const struct rtattr *attrs[IFLA_IFNAME + 1], *name;

	if (len < NLMSG_SPACE(sizeof(*link)) || message->nlmsg_type != RTM_NEWLINK)
		return;
	if (message->nlmsg_len > len)
		message->nlmsg_len = (uint32_t)len;
	ri_netlink_attrs(message, sizeof(*link), attrs, IFLA_IFNAME + 1);
	name = attrs[IFLA_IFNAME];
	pthread_mutex_lock(&rnic->lock);
	for (uint32_t i = 0; name != NULL && i < rnic->num_ports; i++)
		if (rnic->ports[i].index == (uint32_t)link->ifi_index)
			(void)snprintf(rnic->ports[i].last_name, sizeof(rnic->ports[i].last_name),
				       "%.*s", (int)RTA_PAYLOAD(name),
				       (const char *)RTA_DATA(name));
	pthread_mutex_unlock(&rnic->lock);
}

static void
interfaces_changed(void *arg, uint32_t events)
{
	union {
		struct nlmsghdr head;
		char octets[1024];
	} message; /* the rest of a datagram is dropped */
	struct viw_rnic *rnic = arg;
	ssize_t n = 0;

	(void)events;
	do {
		struct sockaddr_nl from = {0};
		socklen_t len = sizeof(from);

		n = recvfrom(rnic->interface_watch.fd, &message, sizeof(message), MSG_DONTWAIT,
			     (struct sockaddr *)&from, &len);
		if (n > 0 && from.nl_pid == 0) /* the kernel */
			name_note(rnic, &message.head, (size_t)n);
	} while (n > 0 || (n < 0 && (errno == EINTR || errno == ENOBUFS)));
	ports_compare(rnic, true);
}

static void
routing_socket_close(int fd)
{
	viw_fork_remove(fd);
	close(fd);
}

enum ri_status
viw_interface_watch_start(struct viw_rnic *rnic)
{
	/* A routing socket receives changes of interfaces and addresses. */
	struct sockaddr_nl who = {.nl_family = AF_NETLINK,
				  .nl_groups =
					  RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR};
	int fd = ri_fd_socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK, NETLINK_ROUTE);

	if (fd < 0)
		return RI_ERR_RESOURCES;
	if (bind(fd, (const struct sockaddr *)&who, sizeof(who)) != 0 ||
	    !viw_fork_add(fd, &rnic->engine.forked)) {
		close(fd);
		return RI_ERR_RESOURCES;
	}
	rnic->interface_watch = (struct ri_watch){
		.fire = interfaces_changed, .arg = rnic, .fd = fd, .events = RI_WATCH_IN};
	/* After the socket is open, so that no change is missed. */
	ports_compare(rnic, false);
	if (rnic->host->watch_start(rnic->host->self, &rnic->interface_watch) == RI_SUCCESS)
		return RI_SUCCESS;
	routing_socket_close(fd);
	return RI_ERR_RESOURCES;
}

void
viw_interface_watch_stop(struct viw_rnic *rnic)
{
	rnic->host->watch_stop(rnic->host->self, &rnic->interface_watch);
	routing_socket_close(rnic->interface_watch.fd);
}
