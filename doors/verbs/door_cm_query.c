/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The commands QUERY_ROUTE and QUERY, with the three options of QUERY. librdmacm finds the device
 * of an id by the GUID and the index in the replies.
 */
#include <errno.h>
#include <infiniband/ib.h>
#include <infiniband/sa.h>
#include <stddef.h>
#include <string.h>

#include <glib.h>

#include "door_cm_internal.h"

#define PKEY_DEFAULT 0xffff
#define PATH_EXACTLY 2  /* selectors of a path record */
#define PATH_RATE    18 /* 200 Gb/s: of a path that has no speed of its own */
#define PATH_LIFE    18 /* 4.096 us << 18, what the kernel assumes on Ethernet */
#define HOP_LIMIT    64

/* What all answers are made of. */
struct view {
	struct sockaddr_storage source, dest;
	const struct door_device *device; /* NULL: the id has none */
	bool path;                        /* it has a path record: InfiniBand, with a route */
	bool ib_link;
	uint16_t port_space;
	uint8_t port;
	union ibv_gid sgid, dgid;
};

static void
view_take(struct door_cm_id *id, struct view *view)
{
	memset(view, 0, sizeof(*view));
	door_cm_lock();
	view->source = id->source;
	view->dest = id->dest;
	view->port_space = id->port_space;
	/* One that listens everywhere has no device. */
	if (id->adapter != NULL) {
		view->device = id->adapter->device;
		view->port = (uint8_t)(id->spigot + 1);
		view->sgid = id->sgid;
		view->dgid = id->dgid;
		view->path = !door_cm_is_iwarp(id->adapter) && id->peer.family != RI_ADDR_NONE &&
			     id->state >= DOOR_CM_ROUTE_RESOLVED;
		view->ib_link = door_cm_has_lids(id->adapter);
	}
	door_cm_unlock();
}

static void
answer(uint64_t response, const void *whole, size_t size, size_t room)
{
	memcpy((void *)(uintptr_t)response, whole, MIN(size, room));
}

int
door_cm_query_route(struct door_cm_id *id, uint64_t response, size_t room)
{
	struct rdma_ucm_query_route_resp resp = {.node_guid = 0};
	struct ib_user_path_rec *path = &resp.ib_route[0];
	struct view view;

	view_take(id, &view);
	memcpy(&resp.src_addr, &view.source, sizeof(resp.src_addr));
	memcpy(&resp.dst_addr, &view.dest, sizeof(resp.dst_addr));
	if (view.device != NULL) {
		resp.node_guid = view.device->guid;
		resp.ibdev_index = (uint32_t)view.device->index;
		resp.port_num = view.port;
		memcpy(path->sgid, &view.sgid, sizeof(path->sgid));
		memcpy(path->dgid, &view.dgid, sizeof(path->dgid));
		path->pkey = GUINT16_TO_BE(PKEY_DEFAULT);
	}
	if (view.path) {
		resp.num_paths = 1;
		path->slid = path->dlid = GUINT16_TO_BE(view.ib_link ? view.port : 0);
		path->reversible = 1;
		path->numb_path = 1;
		path->hop_limit = HOP_LIMIT;
		path->mtu_selector = PATH_EXACTLY;
		path->mtu = IBV_MTU_4096;
		path->rate_selector = PATH_EXACTLY;
		path->rate = PATH_RATE;
		path->packet_life_time_selector = PATH_EXACTLY;
		path->packet_life_time = PATH_LIFE;
	}
	answer(response, &resp, sizeof(resp), room);
	return 0;
}

/* What the answers about addresses and about GIDs have in common. */
static void
fill_device(struct rdma_ucm_query_addr_resp *resp, const struct view *view)
{
	if (view->device == NULL)
		return;
	resp->node_guid = view->device->guid;
	resp->ibdev_index = (uint32_t)view->device->index;
	resp->port_num = view->port;
	resp->pkey = GUINT16_TO_BE(PKEY_DEFAULT);
}

static void
query_addr(const struct view *view, struct rdma_ucm_query_addr_resp *resp)
{
	resp->src_size = (uint16_t)door_cm_size(view->source.ss_family);
	resp->dst_size = (uint16_t)door_cm_size(view->dest.ss_family);
	memcpy(&resp->src_addr, &view->source, resp->src_size);
	memcpy(&resp->dst_addr, &view->dest, resp->dst_size);
	fill_device(resp, view);
}

/* An address of InfiniBand for a GID and a port. */
static void
fill_ib(void *to, const struct view *view, const union ibv_gid *gid, uint16_t port)
{
	struct sockaddr_ib *sib = (struct sockaddr_ib *)to;

	sib->sib_family = AF_IB;
	sib->sib_pkey = GUINT16_TO_BE(view->device != NULL ? PKEY_DEFAULT : 0);
	memcpy(&sib->sib_addr, gid, sizeof(sib->sib_addr));
	sib->sib_sid = GUINT64_TO_BE((uint64_t)view->port_space << 16 | GUINT16_FROM_BE(port));
}

static void
query_gid(struct view *view, struct rdma_ucm_query_addr_resp *resp)
{
	resp->src_size = resp->dst_size = sizeof(struct sockaddr_ib);
	fill_ib(&resp->src_addr, view, &view->sgid, *door_cm_port(&view->source));
	fill_ib(&resp->dst_addr, view, &view->dgid, *door_cm_port(&view->dest));
	fill_device(resp, view);
}

static int
query_path(const struct view *view, uint64_t response, size_t room)
{
	/* rdma_ucm_query_path_resp with one path, which is unpacked here. */
	struct {
		uint32_t num_paths;
		uint32_t reserved;
		struct ibv_path_data path;
	} resp = {.num_paths = view->path};
	const size_t head = sizeof(struct rdma_ucm_query_path_resp);
	struct ibv_path_record *path = &resp.path.path;

	_Static_assert(sizeof(resp) == sizeof(struct rdma_ucm_query_path_resp) +
					       sizeof(struct ib_path_rec_data),
		       "one is the unpacked form of the other");
	if (room < head)
		return ENOSPC;
	resp.path.flags = IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY | IBV_PATH_FLAG_BIDIRECTIONAL;
	path->dgid = view->dgid;
	path->sgid = view->sgid;
	path->slid = path->dlid = GUINT16_TO_BE(view->ib_link ? view->port : 0);
	path->flowlabel_hoplimit = GUINT32_TO_BE(HOP_LIMIT);
	path->reversible_numpath = 1 << 7 | 1;
	path->pkey = GUINT16_TO_BE(PKEY_DEFAULT);
	path->mtu = PATH_EXACTLY << 6 | IBV_MTU_4096;
	path->rate = PATH_EXACTLY << 6 | PATH_RATE;
	path->packetlifetime = PATH_EXACTLY << 6 | PATH_LIFE;
	answer(response, &resp, view->path && room >= sizeof(resp) ? sizeof(resp) : head, room);
	return 0;
}

int
door_cm_query(struct door_cm_id *id, uint32_t option, uint64_t response, size_t room)
{
	struct rdma_ucm_query_addr_resp resp = {.node_guid = 0};
	struct view view;

	view_take(id, &view);
	switch (option) {
	case RDMA_USER_CM_QUERY_ADDR:
		query_addr(&view, &resp);
		break;
	case RDMA_USER_CM_QUERY_GID:
		query_gid(&view, &resp);
		break;
	case RDMA_USER_CM_QUERY_PATH:
		return query_path(&view, response, room);
	default:
		return ENOSYS;
	}
	/* The first form of the answer ended before the index. */
	if (room < offsetof(struct rdma_ucm_query_addr_resp, ibdev_index))
		return ENOSPC;
	answer(response, &resp, sizeof(resp), room);
	return 0;
}
