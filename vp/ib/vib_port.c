/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Spigots: the ports of a device, their state and their addresses. Control path.
 *
 * Peers are named by the IP addresses of the network interface that belongs to a port. A query by netlink returns that
 * interface (RDMA_NLDEV_CMD_PORT_GET, as rdma(8) uses it); no right is needed. For a port of an InfiniBand fabric it returns
 * no interface, and the spigot has no address. Every call queries the kernel, so addresses are current.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <rdma/rdma_netlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ri_fd.h"
#include "ri_netlink.h"
#include "vib_profile.h"

/* --- the network interface of a port ------------------------------------------------------- */

/* A query for one port. */
struct port_query {
	struct nlmsghdr head;
	struct nlattr device_head;
	uint32_t device;
	struct nlattr port_head;
	uint32_t port;
};

/* Send the query and read the answer; its length, 0 without an answer. */
static size_t
kernel_ask(const struct port_query *query, char *reply, size_t room)
{
	int fd = ri_fd_socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA);
	ssize_t length = -1;
	struct nlmsghdr head;

	if (fd < 0)
		return 0;
	if (send(fd, query, sizeof(*query), 0) == (ssize_t)sizeof(*query))
		length = recv(fd, reply, room, 0);
	close(fd);
	if (length < (ssize_t)sizeof(head))
		return 0;
	memcpy(&head, reply, sizeof(head));
	/* The kernel does not answer by the type of the query; an error has a type below all of those. */
	return head.nlmsg_type >= NLMSG_MIN_TYPE && head.nlmsg_len <= (size_t)length
		       ? head.nlmsg_len
		       : 0;
}

uint32_t
vib_port_interface(const struct ri_rnic *rnic, uint32_t port)
{
	int device = ibv_get_device_index(rnic->verbs->device);
	struct port_query query = {
		.head = {.nlmsg_len = sizeof(query),
			 .nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_PORT_GET),
			 .nlmsg_flags = NLM_F_REQUEST},
		.device_head = {.nla_len = NLA_HDRLEN + sizeof(uint32_t),
				.nla_type = RDMA_NLDEV_ATTR_DEV_INDEX},
		.device = (uint32_t)device,
		.port_head = {.nla_len = NLA_HDRLEN + sizeof(uint32_t),
			      .nla_type = RDMA_NLDEV_ATTR_PORT_INDEX},
		.port = port + 1,
	};
	char reply[4096];

	if (device < 0)
		return 0;
	size_t length = kernel_ask(&query, reply, sizeof(reply));
	/* Find the attribute, of 32 bits, in the reply. */
	size_t at = NLMSG_HDRLEN;

	while (at + sizeof(struct nlattr) <= length) {
		struct nlattr attr;
		uint32_t value;

		memcpy(&attr, reply + at, sizeof(attr));
		if (attr.nla_len < sizeof(attr) || attr.nla_len > length - at)
			return 0;
		if ((attr.nla_type & NLA_TYPE_MASK) == RDMA_NLDEV_ATTR_NDEV_INDEX &&
		    attr.nla_len >= NLA_HDRLEN + sizeof(value)) {
			memcpy(&value, reply + at + NLA_HDRLEN, sizeof(value));
			return value;
		}
		at += NLA_ALIGN(attr.nla_len);
	}
	return 0;
}

/* --- its addresses --------------------------------------------------------------------------- */

/* What an answer of the kernel is read into. */
struct addr_list {
	uint32_t interface;
	struct ri_addr *addrs;
	uint32_t count;
};

static void
addr_read(void *arg, const struct nlmsghdr *message)
{
	struct addr_list *list = arg;
	const struct ifaddrmsg *ifa = NLMSG_DATA(message);
	const struct rtattr *attrs[IFA_LOCAL + 1];

	if (message->nlmsg_type != RTM_NEWADDR || message->nlmsg_len < NLMSG_LENGTH(sizeof(*ifa)) ||
	    ifa->ifa_index != list->interface || list->count == RI_PORT_ADDR_MAX)
		return;
	ri_netlink_attrs(message, sizeof(*ifa), attrs, IFA_LOCAL + 1);
	/* On a point-to-point interface IFA_ADDRESS is the peer's. */
	list->count +=
		ri_netlink_address(attrs[IFA_LOCAL] != NULL ? attrs[IFA_LOCAL] : attrs[IFA_ADDRESS],
				   ifa->ifa_family, ifa->ifa_index, &list->addrs[list->count]);
}

/* The addresses of an interface, whatever their labels. False: the kernel cannot be asked. */
static bool
interface_addrs(uint32_t interface, struct ri_addr addrs[RI_PORT_ADDR_MAX], uint32_t *count)
{
	struct addr_list list = {.interface = interface, .addrs = addrs};
	struct ri_netlink_query query;
	int fd = ri_netlink_open();
	bool asked;

	*count = 0;
	if (fd < 0)
		return false;
	ri_netlink_begin(&query, RTM_GETADDR, sizeof(query.u.addr), true);
	query.u.addr.ifa_index = interface;
	asked = ri_netlink_ask(fd, &query, addr_read, &list) == 0;
	close(fd);
	*count = asked ? list.count : 0;
	return asked;
}

bool
vib_port_addrs(struct ri_rnic *rnic, uint32_t port, struct ri_addr addrs[RI_PORT_ADDR_MAX],
	       uint32_t *count)
{
	uint32_t index = vib_port_interface(rnic, port);

	*count = 0;
	return index != 0 && interface_addrs(index, addrs, count);
}

/* --- attributes ------------------------------------------------------------------------------- */

/* Octets of the largest frame; 0 if it is not known. */
static uint32_t
interface_mtu(const char *name)
{
	struct ifreq ifr = {.ifr_flags = 0};
	int fd = ri_fd_socket(AF_INET, SOCK_DGRAM, 0);
	bool known;

	if (fd < 0)
		return 0;
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%.15s", name);
	known = ioctl(fd, SIOCGIFMTU, &ifr) == 0;
	close(fd);
	return known ? (uint32_t)ifr.ifr_mtu : 0;
}

/* Megabits per second; 0 if they are not known. */
static uint32_t
speed_of(const struct ibv_port_attr *attr)
{
	static const struct {
		uint8_t code; /* of the active speed: one lane */
		uint32_t mbps;
	} speeds[] = {{1, 2500},   {2, 5000},   {4, 10000},  {8, 10000},
		      {16, 14000}, {32, 25000}, {64, 50000}, {128, 100000}};
	static const struct {
		uint8_t code;
		uint32_t lanes;
	} widths[] = {{1, 1}, {2, 4}, {4, 8}, {8, 12}, {16, 2}};
	uint32_t mbps = 0, lanes = 0;

	for (size_t i = 0; i < sizeof(speeds) / sizeof(speeds[0]); i++)
		mbps = speeds[i].code == attr->active_speed ? speeds[i].mbps : mbps;
	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++)
		lanes = widths[i].code == attr->active_width ? widths[i].lanes : lanes;
	return mbps * lanes;
}

enum ri_status
vib_query_port(struct ri_rnic *rnic, uint32_t port, struct ri_port_attr *attr)
{
	struct ri_port_attr own = {.size = sizeof(own)};
	uint32_t size = attr->size < sizeof(own) ? attr->size : (uint32_t)sizeof(own);
	struct ibv_port_attr theirs;
	uint32_t index;
	int error;

	if (port >= rnic->attr.num_ports)
		return RI_ERR_INVALID_ARG;
	if (atomic_load(&rnic->failed))
		return RI_ERR_FATAL;
	error = ibv_query_port(rnic->verbs, (uint8_t)(port + 1), &theirs);
	if (error != 0)
		return vib_status_of_errno(error);
	own.online = theirs.state == IBV_PORT_ACTIVE;
	own.speed_mbps = speed_of(&theirs);
	own.max_message = theirs.max_msg_sz;
	index = vib_port_interface(rnic, port);
	if (index != 0 && if_indextoname(index, own.if_name) != NULL) {
		own.mtu = interface_mtu(own.if_name);
		if (!interface_addrs(index, own.addrs, &own.num_addrs))
			return RI_ERR_RESOURCES;
	}
	memcpy(attr, &own, size);
	attr->size = size;
	return RI_SUCCESS;
}
