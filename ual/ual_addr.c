/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Addresses, paths and qualifiers [IT 9.1], [IT 10]. Pure functions; all ports, service ids and
 * addresses are in network order on both sides.
 *
 * Over InfiniBand the standard's path has only GIDs. If an adapter names peers by IP address, an IPv4 address is written
 * as a GID with the IPv4-mapped address, the rule of it_convert_net_addr.
 */

#include "ual_addr.h"

#include <string.h>

static const uint8_t mapped_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

static struct ri_addr
addr_make(enum ri_addr_family family, const void *octets)
{
	struct ri_addr addr = {.family = (uint8_t)family};

	memcpy(addr.octets, octets, family == RI_ADDR_IPV4 ? 4 : 16);
	return addr;
}

static bool
all_zero(const void *octets, size_t len)
{
	static const uint8_t zero[16];

	return memcmp(octets, zero, len) == 0;
}

static struct ri_addr
addr_of_gid(const struct ri_rnic_attr *attr, const it_ib_gid_t *gid)
{
	if (attr->addr_ip && memcmp(gid, mapped_prefix, sizeof(mapped_prefix)) == 0)
		return addr_make(RI_ADDR_IPV4, &gid->s6_addr[12]);
	return addr_make(attr->addr_gid ? RI_ADDR_GID : RI_ADDR_IPV6, gid);
}

static it_ib_gid_t
gid_of_addr(const struct ri_addr *addr)
{
	it_ib_gid_t gid = {0};

	if (addr->family == RI_ADDR_IPV4) {
		memcpy(&gid, mapped_prefix, sizeof(mapped_prefix));
		memcpy(&gid.s6_addr[12], addr->octets, 4);
	} else if (addr->family != RI_ADDR_NONE) {
		memcpy(&gid, addr->octets, 16);
	}
	return gid;
}

bool
ual_addr_of_path(const struct ri_rnic_attr *attr, const it_path_t *path, struct ri_addr *local,
		 struct ri_addr *peer)
{
	const it_iwarp_net_endpoint_t *ip = &path->u.iwarp;
	enum ri_addr_family family;

	*local = (struct ri_addr){0};
	if (attr->transport == RI_TRANSPORT_IB) {
		if (!all_zero(&path->u.ib.local_port_gid, 16))
			*local = addr_of_gid(attr, &path->u.ib.local_port_gid);
		*peer = addr_of_gid(attr, &path->u.ib.remote_port_gid);
		return !all_zero(&path->u.ib.remote_port_gid, 16);
	}
	if (ip->ip_vers != IT_IP_VERS_IPV4 && ip->ip_vers != IT_IP_VERS_IPV6)
		return false;
	family = ip->ip_vers == IT_IP_VERS_IPV4 ? RI_ADDR_IPV4 : RI_ADDR_IPV6;
	if (!all_zero(&ip->laddr, family == RI_ADDR_IPV4 ? 4 : 16))
		*local = addr_make(family, &ip->laddr);
	*peer = addr_make(family, &ip->raddr);
	return true;
}

void
ual_addr_to_path(const struct ri_rnic_attr *attr, size_t spigot, const struct ri_addr *local,
		 const struct ri_addr *peer, it_path_t *path)
{
	it_iwarp_net_endpoint_t *ip = &path->u.iwarp;
	size_t len = peer->family == RI_ADDR_IPV4 ? 4 : 16;

	memset(path, 0, sizeof(*path));
	path->spigot_id = spigot;
	if (attr->transport == RI_TRANSPORT_IB) {
		path->u.ib.local_port_gid = gid_of_addr(local);
		path->u.ib.remote_port_gid = gid_of_addr(peer);
		return;
	}
	ip->ip_vers = peer->family == RI_ADDR_IPV4 ? IT_IP_VERS_IPV4 : IT_IP_VERS_IPV6;
	if (local->family == peer->family)
		memcpy(&ip->laddr, local->octets, len);
	memcpy(&ip->raddr, peer->octets, len);
}

bool
ual_addr_of_net(const struct ri_rnic_attr *attr, const it_net_addr_t *net, struct ri_addr *addr)
{
	switch (net->addr_type) {
	case IT_IPV4:
		*addr = addr_make(RI_ADDR_IPV4, &net->addr.ipv4);
		return attr->addr_ip;
	case IT_IPV6:
		*addr = addr_make(RI_ADDR_IPV6, &net->addr.ipv6);
		return attr->addr_ip;
	case IT_IB_GID:
		*addr = addr_make(RI_ADDR_GID, &net->addr.gid);
		return attr->addr_gid;
	case IT_VIA_HOSTADDR:
		break;
	}
	return false;
}

void
ual_addr_to_net(const struct ri_addr *addr, it_net_addr_t *net)
{
	memset(net, 0, sizeof(*net));
	switch ((enum ri_addr_family)addr->family) {
	case RI_ADDR_IPV4:
		net->addr_type = IT_IPV4;
		memcpy(&net->addr.ipv4, addr->octets, 4);
		break;
	case RI_ADDR_IPV6:
		net->addr_type = IT_IPV6;
		memcpy(&net->addr.ipv6, addr->octets, 16);
		break;
	case RI_ADDR_GID:
		net->addr_type = IT_IB_GID;
		memcpy(&net->addr.gid, addr->octets, 16);
		break;
	case RI_ADDR_NONE:
		break;
	}
}

it_conn_qual_type_t
ual_qual_types(const struct ri_rnic_attr *attr)
{
	unsigned int types = 0;

	if (attr->addr_ip)
		types |= IT_IANA_PORT | IT_IANA_LR_PORT;
	if (attr->addr_gid)
		types |= IT_IB_SERVICEID;
	return (it_conn_qual_type_t)types;
}

static bool
type_taken(const struct ri_rnic_attr *attr, it_conn_qual_type_t type)
{
	return (type == IT_IANA_PORT || type == IT_IANA_LR_PORT || type == IT_IB_SERVICEID) &&
	       (ual_qual_types(attr) & type) != 0;
}

bool
ual_qual_active(const struct ri_rnic_attr *attr, const it_conn_qual_t *qual,
		struct ri_service *service)
{
	*service = (struct ri_service){0};
	if (!type_taken(attr, qual->type))
		return false;
	if (qual->type == IT_IB_SERVICEID) {
		service->kind = RI_SERVICE_IB;
		service->id = qual->conn_qual.serviceid;
		return service->id != 0;
	}
	service->kind = RI_SERVICE_PORT;
	if (qual->type == IT_IANA_LR_PORT) {
		service->port = qual->conn_qual.lr_port.remote;
		service->local_port = qual->conn_qual.lr_port.local;
	} else {
		service->port = qual->conn_qual.port;
	}
	return service->port != 0;
}

bool
ual_qual_passive(const struct ri_rnic_attr *attr, const it_conn_qual_t *qual, bool choose,
		 struct ri_service *service)
{
	*service = (struct ri_service){0};
	if (!type_taken(attr, qual->type))
		return false;
	service->kind = qual->type == IT_IB_SERVICEID ? RI_SERVICE_IB : RI_SERVICE_PORT;
	if (choose)
		return true;
	if (qual->type == IT_IB_SERVICEID)
		service->id = qual->conn_qual.serviceid;
	else if (qual->type == IT_IANA_LR_PORT)
		service->port = qual->conn_qual.lr_port.local;
	else
		service->port = qual->conn_qual.port;
	return service->id != 0 || service->port != 0;
}

void
ual_qual_of_service(it_conn_qual_type_t type, const struct ri_service *service,
		    it_conn_qual_t *qual)
{
	memset(qual, 0, sizeof(*qual));
	qual->type = type;
	if (type == IT_IB_SERVICEID)
		qual->conn_qual.serviceid = service->id;
	else if (type == IT_IANA_LR_PORT)
		qual->conn_qual.lr_port.local = service->port;
	else
		qual->conn_qual.port = service->port;
}
