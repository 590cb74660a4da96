/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#ifndef RI_NETLINK_H
#define RI_NETLINK_H

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ri_fd.h"
#include "rnicpi_attr.h"

/**
 * @file
 * Queries to the kernel's routing socket (rtnetlink(7)). They need no privilege, and the kernel answers at once, so no
 * call here blocks for another process or a peer. A caller opens a socket, makes queries one after the other, and closes
 * the socket. Each query uses 32 KiB of heap, and little stack.
 */

/** Octets for one answer; the kernel fills at most that much of a dump at once. */
#define RI_NETLINK_ROOM 32768

/** A query: the message's header, then its struct and attributes. */
struct ri_netlink_query {
	struct nlmsghdr head; /**< nlmsg_len counts what is filled so far. */
	union {
		struct rtmsg route;
		struct ifinfomsg link;
		struct ifaddrmsg addr;
		char octets[128];
	} u; /**< By head.nlmsg_type; attributes follow the struct. */
};

/** What an answer is passed to, message by message. */
typedef void ri_netlink_each(void *arg, const struct nlmsghdr *message);

/** A routing socket; -1, and errno is set. */
static inline int
ri_netlink_open(void)
{
	int fd = ri_fd_socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	int one = 1;

	/* The kernel filters a dump by the members of the query. Callers filter again: Linux before 4.20 lacks it. */
	if (fd >= 0)
		(void)setsockopt(fd, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &one, sizeof(one));
	return fd;
}

/** Begin a query of that type, whose struct has `size` octets; `dump`: for all objects. */
static inline void
ri_netlink_begin(struct ri_netlink_query *query, uint16_t type, size_t size, bool dump)
{
	memset(query, 0, sizeof(*query));
	query->head.nlmsg_len = (uint32_t)NLMSG_LENGTH(size);
	query->head.nlmsg_type = type;
	query->head.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | (dump ? NLM_F_DUMP : 0));
}

/** Add an attribute. A query has room for all that its users add. */
static inline void
ri_netlink_add(struct ri_netlink_query *query, uint16_t type, const void *value, size_t len)
{
	size_t at = NLMSG_ALIGN(query->head.nlmsg_len) - sizeof(query->head);
	struct rtattr attr = {.rta_len = (uint16_t)RTA_LENGTH(len), .rta_type = type};

	if (at + RTA_SPACE(len) > sizeof(query->u))
		return;
	memcpy(query->u.octets + at, &attr, sizeof(attr));
	memcpy(query->u.octets + at + RTA_LENGTH(0), value, len);
	query->head.nlmsg_len = (uint32_t)(sizeof(query->head) + at + RTA_SPACE(len));
}

/** What is `step` octets behind `at`, of `*len` octets that are left there; *len is 0 if nothing is. */
static inline const void *
ri_netlink_step(const void *at, size_t step, size_t *len)
{
	if (step >= *len) {
		*len = 0;
		return at;
	}
	*len -= step;
	return (const uint8_t *)at + step;
}

/** The messages in `len` octets. Returns 0 or an errno; *done: the answer is complete. */
static inline int
ri_netlink_walk(const void *octets, size_t len, ri_netlink_each *each, void *arg, bool *done)
{
	const struct nlmsghdr *message = octets;

	for (; NLMSG_OK(message, len);
	     message = ri_netlink_step(message, NLMSG_ALIGN(message->nlmsg_len), &len)) {
		if (message->nlmsg_type == NLMSG_DONE) {
			*done = true;
			return 0;
		}
		if (message->nlmsg_type == NLMSG_ERROR) {
			const struct nlmsgerr *error = NLMSG_DATA(message);

			*done = true;
			return message->nlmsg_len < NLMSG_LENGTH(sizeof(*error)) ? EPROTO
										 : -error->error;
		}
		each(arg, message);
		if ((message->nlmsg_flags & NLM_F_MULTI) == 0)
			*done = true;
	}
	return 0;
}

/** Make a query on a socket of ri_netlink_open. Returns 0 or an errno: the kernel's refusal, or ENOMEM. */
static inline int
ri_netlink_ask(int fd, struct ri_netlink_query *query, ri_netlink_each *each, void *arg)
{
	struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
	void *room = malloc(RI_NETLINK_ROOM);
	bool done = false;
	ssize_t sent;
	int error = 0;

	if (room == NULL)
		return ENOMEM;
	do
		sent = sendto(fd, query, query->head.nlmsg_len, 0, (struct sockaddr *)&kernel,
			      sizeof(kernel));
	while (sent < 0 && errno == EINTR);
	if (sent < 0)
		error = errno;
	while (error == 0 && !done) {
		socklen_t size = sizeof(kernel);
		ssize_t n = recvfrom(fd, room, RI_NETLINK_ROOM, MSG_TRUNC,
				     (struct sockaddr *)&kernel, &size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			error = errno;
		else if (n > RI_NETLINK_ROOM)
			error = EMSGSIZE;
		else if (kernel.nl_pid == 0)
			error = ri_netlink_walk(room, (size_t)n, each, arg, &done);
	}
	free(room);
	return error;
}

/** The attributes of a message whose struct has `size` octets, by type: found[0] to found[max - 1], NULL if absent. */
static inline void
ri_netlink_attrs(const struct nlmsghdr *message, size_t size, const struct rtattr **found,
		 unsigned max)
{
	const char *octets = NLMSG_DATA(message);
	const struct rtattr *attr = (const void *)(octets + NLMSG_ALIGN(size));
	size_t len =
		message->nlmsg_len < NLMSG_SPACE(size) ? 0 : message->nlmsg_len - NLMSG_SPACE(size);

	memset(found, 0, max * sizeof(*found));
	for (; RTA_OK(attr, len); attr = ri_netlink_step(attr, RTA_ALIGN(attr->rta_len), &len)) {
		if ((attr->rta_type & NLA_TYPE_MASK) < max)
			found[attr->rta_type & NLA_TYPE_MASK] = attr;
	}
}

/** The value of an attribute of 32 bits; 0: it is absent. */
static inline uint32_t
ri_netlink_u32(const struct rtattr *attr)
{
	uint32_t value = 0;

	if (attr != NULL && RTA_PAYLOAD(attr) >= sizeof(value))
		memcpy(&value, RTA_DATA(attr), sizeof(value));
	return value;
}

/** An attribute that is an address of an interface; false: it is absent, or not an address. */
static inline bool
ri_netlink_address(const struct rtattr *attr, int family, uint32_t index, struct ri_addr *addr)
{
	size_t len = family == AF_INET ? 4 : 16;

	memset(addr, 0, sizeof(*addr));
	if (attr == NULL || (family != AF_INET && family != AF_INET6) || RTA_PAYLOAD(attr) < len)
		return false;
	addr->family = (uint8_t)(family == AF_INET ? RI_ADDR_IPV4 : RI_ADDR_IPV6);
	memcpy(addr->octets, RTA_DATA(attr), len);
	/* Addresses of the link have a zone: fe80::/10. */
	if (family == AF_INET6 && addr->octets[0] == 0xfe && (addr->octets[1] & 0xc0) == 0x80)
		addr->scope_id = index;
	return true;
}

#endif /* RI_NETLINK_H */
