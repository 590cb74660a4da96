/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Addresses: between ri_addr and struct sockaddr, and which one a connection comes from. */
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "ri_fd.h"
#include "vib_cm.h"

bool
vib_sockaddr(struct sockaddr_storage *sa, const struct ri_addr *addr, uint16_t port)
{
	struct sockaddr_in *in = (struct sockaddr_in *)sa;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)sa;

	memset(sa, 0, sizeof(*sa));
	if (addr->family == RI_ADDR_IPV4) {
		in->sin_family = AF_INET;
		in->sin_port = port;
		memcpy(&in->sin_addr, addr->octets, 4);
		return true;
	}
	if (addr->family == RI_ADDR_IPV6) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = port;
		in6->sin6_scope_id = addr->scope_id;
		memcpy(&in6->sin6_addr, addr->octets, 16);
		return true;
	}
	return false;
}

void
vib_addr_of_sockaddr(struct ri_addr *addr, const struct sockaddr *sa)
{
	const struct sockaddr_in *in = (const void *)sa;
	const struct sockaddr_in6 *in6 = (const void *)sa;

	memset(addr, 0, sizeof(*addr));
	if (sa->sa_family == AF_INET) {
		addr->family = RI_ADDR_IPV4;
		memcpy(addr->octets, &in->sin_addr, 4);
	} else if (sa->sa_family == AF_INET6) {
		addr->family = RI_ADDR_IPV6;
		memcpy(addr->octets, &in6->sin6_addr, 16);
		if (IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr))
			addr->scope_id = in6->sin6_scope_id;
	}
}

static bool
addr_equal(const struct ri_addr *a, const struct ri_addr *b)
{
	return a->family == b->family && memcmp(a->octets, b->octets, sizeof(a->octets)) == 0;
}

bool
vib_addr_listed(const struct ri_addr *addrs, uint32_t count, const struct ri_addr *addr)
{
	for (uint32_t i = 0; i < count; i++) {
		if (addr_equal(&addrs[i], addr))
			return true;
	}
	return false;
}

/* What the system's routing chooses; a datagram socket that is connected sends nothing. */
static bool
routed_source(const struct ri_addr *peer, struct ri_addr *local)
{
	struct sockaddr_storage sa;
	socklen_t len = sizeof(sa);
	bool found;
	int fd;

	if (!vib_sockaddr(&sa, peer, htons(9)))
		return false;
	fd = ri_fd_socket(sa.ss_family, SOCK_DGRAM, 0);
	if (fd < 0)
		return false;
	found = connect(fd, (struct sockaddr *)&sa, len) == 0 &&
		getsockname(fd, (struct sockaddr *)&sa, &len) == 0;
	close(fd);
	if (found)
		vib_addr_of_sockaddr(local, (struct sockaddr *)&sa);
	return found;
}

bool
vib_source_addr(struct ri_rnic *rnic, uint32_t port, const struct ri_addr *peer,
		struct ri_addr *local)
{
	struct ri_addr addrs[RI_PORT_ADDR_MAX];
	struct ri_addr chosen;
	uint32_t count;

	(void)vib_port_addrs(rnic, port, addrs, &count);
	if (local->family != RI_ADDR_NONE)
		return vib_addr_listed(addrs, count, local);
	if (routed_source(peer, &chosen) && vib_addr_listed(addrs, count, &chosen)) {
		*local = chosen;
		return true;
	}
	for (uint32_t i = 0; i < count; i++) {
		if (addrs[i].family == peer->family) {
			*local = addrs[i];
			return true;
		}
	}
	return false;
}

bool
vib_id_is_of(const struct rdma_cm_id *id, const struct ri_rnic *rnic)
{
	return id->verbs != NULL && strcmp(ibv_get_device_name(id->verbs->device),
					   ibv_get_device_name(rnic->verbs->device)) == 0;
}

void
vib_event_pdata(struct ri_cm_event *event, const void *data, size_t len)
{
	size_t n = len < RI_PDATA_MAX ? len : RI_PDATA_MAX;

	event->pdata_present = data != NULL && n != 0;
	event->pdata_len = event->pdata_present ? (uint16_t)n : 0;
	if (event->pdata_present)
		memcpy(event->pdata, data, n);
}
