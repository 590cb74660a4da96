/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "door_ah.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <glib.h>

#include "door_export.h"
#include "door_qp.h"
#include "session_cancel.h"

#define MULTICAST_OCTET 0xff /* the first one of a multicast GID */
#define IPV4_SIZE       20

/* --- paths ---------------------------------------------------------------------------------------------- */

/* The port with that local identifier, from 1; 0: none has it. */
static uint32_t
port_of_lid(const struct door_adapter *adapter, uint16_t lid)
{
	for (uint32_t port = 1; lid != 0 && port <= adapter->session.attr.num_ports; port++)
		if (door_port_lid(adapter, port) == lid)
			return port;
	return 0;
}

/* A path without a GID: RoCE has no LIDs. */
static int
refuse_lid(const struct door_adapter *adapter, uint32_t port)
{
	static atomic_flag once = ATOMIC_FLAG_INIT;

	if (door_port_lid(adapter, port) == 0)
		door_refuse(&once,
			    "%s has no LIDs, so a path needs GIDs (ibv_ah_attr::is_global); many "
			    "programs have an option for that, such as -g 0 of ibv_rc_pingpong",
			    adapter->device->device.name);
	return EINVAL;
}

static int
refuse_source(const struct door_adapter *adapter, uint32_t index)
{
	static atomic_flag once = ATOMIC_FLAG_INIT;

	door_refuse(
		&once,
		"%s has no GID %u in this process: `ibv_devinfo -v` shows those that it has; an "
		"address that another process uses is not among them",
		adapter->device->device.name, index);
	return EINVAL;
}

int
door_ah_path(struct door_adapter *adapter, const struct ibv_ah_attr *attr, struct ri_ah_init *path)
{
	const struct ibv_global_route *route = &attr->grh;

	if (attr->port_num < 1 || attr->port_num > adapter->session.attr.num_ports)
		return EINVAL;
	*path = (struct ri_ah_init){.port = attr->port_num - 1u,
				    .dlid = attr->dlid,
				    .sl = attr->sl & 15,
				    .path_bits = attr->src_path_bits & 127};
	if (!attr->is_global)
		return door_port_addr(adapter, port_of_lid(adapter, attr->dlid), 0, &path->dest)
			       ? 0
			       : refuse_lid(adapter, attr->port_num);
	path->dest = door_addr(adapter, &route->dgid);
	path->hop_limit = route->hop_limit;
	path->traffic_class = route->traffic_class;
	path->flow_label = route->flow_label & 0xfffff;
	return door_port_addr(adapter, attr->port_num, route->sgid_index, &path->source)
		       ? 0
		       : refuse_source(adapter, route->sgid_index);
}

/* --- handles ---------------------------------------------------------------------------------------------- */

EXPORT struct ibv_ah *
ibv_create_ah(struct ibv_pd *ibv, struct ibv_ah_attr *attr)
{
	struct door_pd *pd = door_pd_of(ibv);
	struct door_adapter *adapter = pd->context->adapter;
	struct door_ah *ah = (struct door_ah *)calloc(1, sizeof(*ah));
	struct kal_ah_req req = {.id = pd->id};
	struct kal_ah_rep rep;
	int error;
	SESSION_DEFER;

	if (ah == NULL)
		return NULL;
	error = door_ah_path(adapter, attr, &req.init);
	if (error == 0)
		error = door_call(adapter, KAL_AH_CREATE, &req, sizeof(req), &rep, sizeof(rep));
	if (error != 0) {
		free(ah);
		errno = error;
		return NULL;
	}
	ah->pd = pd;
	ah->id = ah->ibv.handle = rep.id;
	ah->ah = rep.ah;
	ah->ibv.context = ibv->context;
	ah->ibv.pd = ibv;
	door_pd_hold(pd);
	return &ah->ibv;
}

int
door_gid_index(struct door_adapter *adapter, uint32_t port, const union ibv_gid *gid)
{
	struct ri_addr addr;
	union ibv_gid own;

	for (uint32_t i = 0; door_port_addr(adapter, port, i, &addr); i++) {
		own = door_gid(&addr);
		if (memcmp(&own, gid, sizeof(own)) == 0)
			return (int)i;
	}
	return -1;
}

/* In RoCE v2 an IPv4 address is mapped. */
static bool
is_mapped(const union ibv_gid *gid)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(gid->raw, mapped, sizeof(mapped)) == 0;
}

/* What the header in front of a datagram says of the way that it came. */
struct came {
	union ibv_gid from, to;
	uint32_t first; /* version, traffic class, flow label, as in IPv6 */
	uint8_t hop_limit;
	bool group; /* it was sent to a group */
};

/* Is it the header of IPv4 that RoCE v2 puts into the last 20 of the 40 octets? */
static bool
is_ipv4(const struct door_adapter *adapter, const struct ibv_grh *grh)
{
	const uint8_t *octets = (const uint8_t *)grh;

	return door_is_roce(adapter) && octets[0] >> 4 != 6 &&
	       octets[sizeof(*grh) - IPV4_SIZE] == 0x45;
}

static struct came
came_by(const struct door_adapter *adapter, const struct ibv_grh *grh)
{
	const uint8_t *ip = (const uint8_t *)grh + sizeof(*grh) - IPV4_SIZE;
	struct came came = {.from = grh->sgid,
			    .to = grh->dgid,
			    .first = ntohl(grh->version_tclass_flow),
			    .hop_limit = grh->hop_limit,
			    .group = grh->dgid.raw[0] == MULTICAST_OCTET};
	struct ri_addr addr = {.family = RI_ADDR_IPV4};

	if (!is_ipv4(adapter, grh))
		return came;
	came.first = (uint32_t)ip[1] << 20;
	came.hop_limit = ip[8];
	memcpy(addr.octets, ip + 12, 4);
	came.from = door_gid(&addr);
	memcpy(addr.octets, ip + 16, 4);
	came.to = door_gid(&addr);
	came.group = ip[16] >> 4 == 0xe;
	return came;
}

/*
 * The index of the first GID of a port from which a datagram to GID `to` can be sent; in RoCE one
 * of the same family (IPv4 or IPv6). The reply to a datagram that was sent to a multicast group
 * comes from that GID. -1: the port has none.
 */
static int
family_index(struct door_adapter *adapter, uint32_t port, const union ibv_gid *to)
{
	const bool v4 = is_mapped(to);
	struct ri_addr addr;
	union ibv_gid own;

	for (uint32_t i = 0; door_port_addr(adapter, port, i, &addr); i++) {
		own = door_gid(&addr);
		if (!door_is_roce(adapter) || is_mapped(&own) == v4)
			return (int)i;
	}
	return -1;
}

EXPORT int
ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port, struct ibv_wc *wc,
		    struct ibv_grh *grh, struct ibv_ah_attr *attr)
{
	struct door_adapter *adapter = door_adapter_of(context);
	struct came came;
	int index;

	memset(attr, 0, sizeof(*attr));
	attr->dlid = wc->slid;
	attr->sl = adapter->lids ? wc->sl : 0; /* on Ethernet it is the kind of the header */
	attr->src_path_bits = wc->dlid_path_bits;
	attr->port_num = port;
	if ((wc->wc_flags & IBV_WC_GRH) == 0)
		return 0;
	came = came_by(adapter, grh);
	index = came.group ? family_index(adapter, port, &came.from)
			   : door_gid_index(adapter, port, &came.to);
	if (index < 0) {
		errno = EINVAL;
		return -1;
	}
	attr->is_global = 1;
	attr->grh.dgid = came.from;
	attr->grh.sgid_index = (uint8_t)index;
	attr->grh.flow_label = came.first & 0xfffff;
	attr->grh.traffic_class = (uint8_t)(came.first >> 20);
	attr->grh.hop_limit = came.hop_limit;
	return 0;
}

EXPORT struct ibv_ah *
ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh, uint8_t port)
{
	struct ibv_ah_attr attr;

	if (ibv_init_ah_from_wc(pd->context, port, wc, grh, &attr) != 0)
		return NULL;
	return ibv_create_ah(pd, &attr);
}

EXPORT int
ibv_destroy_ah(struct ibv_ah *ibv)
{
	struct door_ah *ah = (struct door_ah *)ibv;
	struct door_adapter *adapter = ah->pd->context->adapter;
	int error;
	SESSION_DEFER;

	if (adapter->inherited)
		return 0;
	error = door_call_id(adapter, KAL_AH_DESTROY, ah->id);
	if (error != 0)
		return error;
	door_pd_drop(ah->pd);
	free(ah);
	return 0;
}

/* --- multicast --------------------------------------------------------------------------------------------- */

struct door_group {
	struct door_group *next;
	union ibv_gid gid;
	uint16_t lid;
};

static struct door_group **
group_find(struct door_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	struct door_group **link = &qp->groups;

	while (*link != NULL &&
	       (memcmp(&(*link)->gid, gid, sizeof(*gid)) != 0 || (*link)->lid != lid))
		link = &(*link)->next;
	return link;
}

static int
group_call(struct door_qp *qp, const union ibv_gid *gid, bool detach)
{
	const struct kal_mcast_req req = {
		.qp = qp->id, .detach = detach, .group = door_addr(qp->adapter, gid)};

	return door_call(qp->adapter, KAL_MCAST, &req, sizeof(req), NULL, 0);
}

static bool
is_group(const struct door_adapter *adapter, const union ibv_gid *gid)
{
	if (door_is_roce(adapter) && is_mapped(gid))
		return gid->raw[12] >> 4 == 0xe;
	return gid->raw[0] == MULTICAST_OCTET;
}

static int
group_check(const struct door_qp *qp, const union ibv_gid *gid)
{
	if (!qp->adapter->session.attr.multicast)
		return EOPNOTSUPP;
	return qp->qp.qp_type == IBV_QPT_UD && is_group(qp->adapter, gid) ? 0 : EINVAL;
}

/* Twice is once, as in the kernel. */
EXPORT int
ibv_attach_mcast(struct ibv_qp *ibv, const union ibv_gid *gid, uint16_t lid)
{
	struct door_qp *qp = door_qp_of(ibv);
	struct door_group *group, **link;
	int error = group_check(qp, gid);
	SESSION_DEFER;

	if (error != 0)
		return error;
	group = (struct door_group *)malloc(sizeof(*group));
	if (group == NULL)
		return ENOMEM;
	*group = (struct door_group){.gid = *gid, .lid = lid};
	pthread_mutex_lock(&qp->control);
	link = group_find(qp, gid, lid);
	if (*link == NULL) {
		error = group_call(qp, gid, false);
		if (error == 0)
			*link = g_steal_pointer(&group);
	}
	pthread_mutex_unlock(&qp->control);
	free(group);
	return error;
}

/* Is the queue pair attached to that GID under another local identifier? */
static bool
gid_is_used(const struct door_qp *qp, const union ibv_gid *gid)
{
	for (const struct door_group *group = qp->groups; group != NULL; group = group->next)
		if (memcmp(&group->gid, gid, sizeof(*gid)) == 0)
			return true;
	return false;
}

EXPORT int
ibv_detach_mcast(struct ibv_qp *ibv, const union ibv_gid *gid, uint16_t lid)
{
	struct door_qp *qp = door_qp_of(ibv);
	struct door_group *group, **link;
	int error = group_check(qp, gid);
	SESSION_DEFER;

	if (error != 0)
		return error;
	pthread_mutex_lock(&qp->control);
	link = group_find(qp, gid, lid);
	group = *link;
	if (group != NULL) {
		*link = group->next;
		if (!gid_is_used(qp, gid))
			error = group_call(qp, gid, true);
	} else {
		error = EINVAL;
	}
	pthread_mutex_unlock(&qp->control);
	free(group);
	return error;
}
