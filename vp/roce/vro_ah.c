/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Address handles, and the route to a peer. The number of a handle consists of its place in the
 * adapter's table and a count that increases with each handle. A destroyed handle stays in the
 * table until no posted datagram can name it.
 */
#include <stdlib.h>
#include <string.h>

#include "vro_address.h"
#include "vro_verbs.h"

#define HOP_LIMIT 64

static bool
gid_of(uint8_t gid[16], const struct ri_addr *addr)
{
	vro_gid_of_addr(gid, addr);
	return addr->family == RI_ADDR_IPV4 || addr->family == RI_ADDR_IPV6 ||
	       addr->family == RI_ADDR_GID;
}

static bool
is_link_local(const uint8_t gid[16])
{
	return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80;
}

/* The GID of the station's address of that place; false: it is lost. */
static bool
own_gid(const struct vro_station *station, uint32_t at, uint8_t gid[16])
{
	vro_gid_of_addr(gid, &station->port.addrs[at]);
	return !atomic_load_explicit(&station->lost[at], memory_order_relaxed);
}

static bool
is_own(const struct vro_station *station, const uint8_t gid[16])
{
	uint8_t own[16];

	for (uint32_t i = 0; i < station->port.num_addrs; i++)
		if (own_gid(station, i, own) && memcmp(own, gid, sizeof(own)) == 0)
			return true;
	return false;
}

/* The source that the kernel's routing takes, if it is one of the station's; between addresses of this host, any of them. */
static enum ri_status
source_choose(const struct vro_station *station, struct roce_flow *flow)
{
	uint8_t source[16], own[16];
	bool here = is_own(station, flow->destination);

	if (vro_gid_is_group(flow->destination)) {
		memset(source, 0, sizeof(source));
		here = true; /* any address of the interface */
	} else if (here)
		memcpy(source, flow->destination, sizeof(source));
	else if (!vro_route_find(flow->destination, station->port.index, source, &here))
		return RI_ERR_NO_ROUTE;
	for (uint32_t i = 0; i < station->port.num_addrs && here && !is_own(station, source); i++)
		if (own_gid(station, i, own) &&
		    roce_gid_is_v4(own) == roce_gid_is_v4(flow->destination) &&
		    is_link_local(own) == is_link_local(flow->destination))
			memcpy(source, own, sizeof(source));
	memcpy(flow->source, source, sizeof(flow->source));
	return is_own(station, source) ? RI_SUCCESS : RI_ERR_NO_ROUTE;
}

/* `groups`: the destination may be one. */
static enum ri_status
flow_make(const struct ri_rnic *rnic, const struct ri_ah_init *init, bool groups,
	  struct roce_flow *flow)
{
	const struct vro_station *station = rnic->station;
	bool any = init->source.family == RI_ADDR_NONE;
	uint8_t wanted[16];

	memset(flow, 0, sizeof(*flow));
	if (init->port != 0)
		return RI_ERR_INVALID_ARG;
	if (!gid_of(flow->destination, &init->dest) ||
	    (vro_gid_is_group(flow->destination) && !groups) ||
	    (!any && !gid_of(wanted, &init->source)))
		return RI_ERR_NO_ROUTE;
	flow->source_port = flow->destination_port = ROCE_UDP_PORT;
	flow->traffic_class = init->traffic_class;
	flow->hop_limit = init->hop_limit != 0 ? init->hop_limit : HOP_LIMIT;
	if (any)
		return source_choose(station, flow);
	if (roce_gid_is_v4(wanted) != roce_gid_is_v4(flow->destination) || !is_own(station, wanted))
		return RI_ERR_NO_ROUTE;
	memcpy(flow->source, wanted, sizeof(flow->source));
	return RI_SUCCESS;
}

enum ri_status
vro_flow_make(const struct ri_rnic *rnic, const struct ri_ah_init *init, struct roce_flow *flow)
{
	return flow_make(rnic, init, false, flow);
}

enum ri_status
vro_route(struct ri_rnic *rnic, const struct ri_addr *peer, struct ri_addr *local, uint32_t *port)
{
	const struct ri_ah_init init = {.dest = *peer, .source = *local};
	struct roce_flow flow;
	enum ri_status status = vro_flow_make(rnic, &init, &flow);

	if (status != RI_SUCCESS)
		return status;
	*local = vro_addr_of_gid(flow.source);
	*port = 0;
	return RI_SUCCESS;
}

bool
vro_ah_find(struct ri_rnic *rnic, uint32_t id, const struct vsw_pd *pd, struct roce_flow *flow)
{
	const struct ri_ah *ah = rnic->ahs[id % VRO_MAX_AH];

	if (ah == NULL || ah->id != id || ah->pd != pd)
		return false;
	*flow = ah->flow;
	return true;
}

/* May a datagram be posted, and not sent, that names a handle of this adapter? In the role. */
static bool
datagrams_wait(const struct ri_rnic *rnic)
{
	for (uint32_t row = 0; row < VRO_ROWS; row++)
		for (const struct vro_verbs_qp *qp = rnic->station->rows[row]; qp != NULL;
		     qp = qp->next_row)
			if (qp->rnic == rnic && qp->qp.transport == ROCE_UD &&
			    (vsw_wq_pending(&qp->qp.tx.sq) != 0 ||
			     qp->qp.tx.oldest != qp->qp.tx.taken))
				return true;
	return false;
}

/* Free the handles that are destroyed, if no datagram names one. In the role. */
static void
sweep(struct ri_rnic *rnic)
{
	if (datagrams_wait(rnic))
		return;
	for (uint32_t i = 0; i < VRO_MAX_AH; i++)
		if (rnic->ahs[i] != NULL && rnic->ahs[i]->gone) {
			free(rnic->ahs[i]);
			rnic->ahs[i] = NULL;
		}
}

void
vro_ahs_free(struct ri_rnic *rnic)
{
	for (uint32_t i = 0; i < VRO_MAX_AH; i++)
		free(rnic->ahs[i]);
}

/* A free place, beginning behind the last one; VRO_MAX_AH: there is none. In the role. */
static uint32_t
place_find(const struct ri_rnic *rnic)
{
	for (uint32_t i = 1; i <= VRO_MAX_AH; i++) {
		uint32_t at = (rnic->last_ah + i) % VRO_MAX_AH;

		if (rnic->ahs[at] == NULL)
			return at;
	}
	return VRO_MAX_AH;
}

static enum ri_status
ah_create(struct ri_pd *ri, const struct ri_ah_init *init, struct ri_ah **out, uint32_t *id)
{
	struct vsw_pd *pd = (struct vsw_pd *)ri;
	struct ri_context *context = vro_context_of(pd);
	struct ri_rnic *rnic = context->rnic;
	struct ri_ah *ah = calloc(1, sizeof(*ah));
	enum ri_status status = RI_ERR_RESOURCES;
	uint32_t at;

	if (ah != NULL)
		status = flow_make(rnic, init, true, &ah->flow);
	if (status != RI_SUCCESS) {
		free(ah);
		return status;
	}
	ah->pd = pd;
	vro_station_enter(rnic->station);
	at = place_find(rnic);
	if (at == VRO_MAX_AH) {
		sweep(rnic);
		at = place_find(rnic);
	}
	if (at != VRO_MAX_AH) {
		ah->id = ++rnic->ah_count % (UINT32_MAX / VRO_MAX_AH) * VRO_MAX_AH + at;
		rnic->last_ah = at;
		rnic->ahs[at] = ah;
	}
	vro_station_leave(rnic->station);
	if (at == VRO_MAX_AH) {
		free(ah);
		return RI_ERR_RESOURCES;
	}
	atomic_fetch_add(&pd->users, 1);
	vsw_context_add(&context->base, &context->ahs, &ah->item);
	*id = ah->id;
	*out = ah;
	return RI_SUCCESS;
}

static enum ri_status
ah_modify(struct ri_ah *ah, const struct ri_ah_init *init)
{
	struct ri_rnic *rnic = vro_context_of(ah->pd)->rnic;
	struct roce_flow flow;
	enum ri_status status = flow_make(rnic, init, true, &flow);

	if (status != RI_SUCCESS)
		return status;
	vro_station_enter(rnic->station);
	ah->flow = flow;
	vro_station_leave(rnic->station);
	return RI_SUCCESS;
}

static enum ri_status
ah_destroy(struct ri_ah *ah)
{
	struct ri_context *context = vro_context_of(ah->pd);

	vsw_context_remove(&context->base, &ah->item);
	atomic_fetch_sub(&ah->pd->users, 1);
	vro_station_enter(context->rnic->station);
	ah->gone = true;
	sweep(context->rnic);
	vro_station_leave(context->rnic->station);
	return RI_SUCCESS;
}

const struct ri_ah_ops vro_ah_ops = {
	.size = sizeof(struct ri_ah_ops),
	.create = ah_create,
	.modify = ah_modify,
	.destroy = ah_destroy,
};
