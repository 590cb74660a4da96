/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * I/O addresses for privileged clients [IT 8.9]: KAL_MEM_MAP and KAL_MEM_UNMAP.
 *
 * An adapter in user space uses the virtual addresses of its process as I/O addresses, and any range is contiguous. So
 * these calls check that the range is mapped, count it like registered memory, and keep a list: only a range in the
 * list can be unmapped, and closing the adapter unmaps the rest.
 */
#include <stdlib.h>

#include "kal_host.h"
#include "kal_objects.h"

struct kal_map {
	GList link; /* of kal_rnic::maps; link.data is this */
	struct ri_mem mem;
};

static void
map_remove(struct kal_rnic *rnic, struct kal_map *map)
{
	const struct ri_host *host = rnic->client->host;

	g_queue_unlink(&rnic->maps, &map->link);
	host->mem_detach(host->self, &map->mem);
	kal_account_give(&rnic->client->account, KAL_RESOURCE_MEMORY, map->mem.length);
	free(map);
}

static enum ri_status
may_map(const struct kal_rnic *rnic, const struct kal_mem_map_req *req)
{
	if (!rnic->attr.privileged_ops)
		return RI_ERR_UNSUPPORTED;
	if (!rnic->client->privileged)
		return RI_ERR_PERMISSION;
	if (req->length == 0)
		return RI_ERR_INVALID_ARG;
	/* This release has one address space, that of the caller. */
	return req->aspace == 0 && req->addr + req->length - 1 >= req->addr ? RI_SUCCESS
									    : RI_ERR_ADDRESS;
}

enum ri_status
kal_mem_map(struct kal_rnic *rnic, const struct kal_mem_map_req *req, struct kal_mem_map_rep *rep)
{
	struct kal_client *client = rnic->client;
	const struct ri_host *host = client->host;
	enum ri_status status = may_map(rnic, req);
	g_autofree struct kal_map *map = calloc(1, sizeof(*map));

	if (status == RI_SUCCESS && map == NULL)
		status = RI_ERR_RESOURCES;
	if (status == RI_SUCCESS)
		status = kal_account_take(&client->account, KAL_RESOURCE_MEMORY, req->length);
	if (status != RI_SUCCESS)
		return status;
	map->link.data = map;
	map->mem.addr = req->addr;
	map->mem.length = req->length;
	kal_apart_begin(client); /* the adapter stays, since none is closed meanwhile */
	status = host->mem_attach(host->self, KAL_MEM_OWNER_SELF, &map->mem, RI_ACCESS_LOCAL_READ);
	kal_apart_end(client);
	if (status != RI_SUCCESS) {
		kal_account_give(&client->account, KAL_RESOURCE_MEMORY, req->length);
		return status;
	}
	rep->io_addr = req->addr;
	rep->length = req->length;
	g_queue_push_tail_link(&rnic->maps, &g_steal_pointer(&map)->link);
	return RI_SUCCESS;
}

enum ri_status
kal_mem_unmap(struct kal_rnic *rnic, const struct kal_mem_map_req *req)
{
	enum ri_status status = RI_ERR_ADDRESS;

	for (GList *link = rnic->maps.head; link != NULL; link = link->next) {
		struct kal_map *map = link->data;

		if (map->mem.addr != req->addr)
			continue;
		if (map->mem.length == req->length) {
			map_remove(rnic, map);
			return RI_SUCCESS;
		}
		status = RI_ERR_INVALID_ARG;
	}
	return status;
}

void
kal_mem_unmap_all(struct kal_rnic *rnic)
{
	while (rnic->maps.head != NULL)
		map_remove(rnic, rnic->maps.head->data);
}
