/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Address handles [RI 10.34]: a destination becomes an ibv_ah with the route of a port. Control path.
 *
 * The source is an entry of the port's table of GIDs. On RoCE the table has each IP address of the port's interface as
 * a GID, once per version of the protocol; version 2, over UDP, is preferred.
 *
 * A device may look an ibv_ah up when it sends, not when the datagram is posted. So a path that is replaced, or whose object
 * is destroyed, is kept until no queue pair for datagrams of the process has a request that is not completed.
 */
#include "vib_ah.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ri_relax.h"
#include "vib_objects.h"
#include "vib_ring.h"

#define HOP_LIMIT 64

/* --- routes -------------------------------------------------------------------------------------- */

void
vib_gid_of(union ibv_gid *gid, const struct ri_addr *addr)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	if (addr->family == RI_ADDR_IPV4) {
		memcpy(gid->raw, mapped, sizeof(mapped));
		memcpy(gid->raw + sizeof(mapped), addr->octets, 4);
	} else {
		memcpy(gid->raw, addr->octets, sizeof(gid->raw));
	}
}

/* Can it be the source towards the destination: is it this very GID, or, with NULL, of the same kind? */
static bool
source_suits(const struct ibv_gid_entry *entry, const union ibv_gid *source,
	     const union ibv_gid *dest)
{
	static const uint8_t link_local[2] = {0xfe, 0x80};
	bool local;

	if (source != NULL)
		return memcmp(entry->gid.raw, source->raw, sizeof(source->raw)) == 0;
	if (entry->gid_type == IBV_GID_TYPE_IB)
		return true;
	/* A group of IPv6 is reached from any address of that. */
	if (dest->raw[0] == 0xff)
		return memcmp(entry->gid.raw, (const uint8_t[10]){0}, 10) != 0;
	/* A mapped IPv4 address begins with ten octets of 0, a link-local one with fe80. */
	local = memcmp(entry->gid.raw, link_local, sizeof(link_local)) == 0;
	return local == (memcmp(dest->raw, link_local, sizeof(link_local)) == 0) &&
	       (memcmp(entry->gid.raw, (const uint8_t[10]){0}, 10) == 0) ==
		       (memcmp(dest->raw, (const uint8_t[10]){0}, 10) == 0);
}

/* Where datagrams to a destination leave from. */
struct source {
	uint8_t index; /* in the table of the port */
	union ibv_gid gid;
	bool ethernet; /* the way to a neighbour is to be found */
};

/* False: no source suits. RoCE v2 is taken before the others. */
static bool
source_find(const struct ri_rnic *rnic, const struct ri_ah_init *init, const union ibv_gid *dest,
	    struct source *out)
{
	struct ibv_port_attr port;
	union ibv_gid wanted;
	bool found = false;

	if (ibv_query_port(rnic->verbs, (uint8_t)(init->port + 1), &port) != 0)
		return false;
	vib_gid_of(&wanted, &init->source);
	for (int i = 0; i < port.gid_tbl_len && i <= UINT8_MAX; i++) {
		struct ibv_gid_entry entry;

		if (ibv_query_gid_ex(rnic->verbs, init->port + 1, (uint32_t)i, &entry, 0) != 0 ||
		    !source_suits(&entry, init->source.family != RI_ADDR_NONE ? &wanted : NULL,
				  dest))
			continue;
		if (!found || entry.gid_type == IBV_GID_TYPE_ROCE_V2)
			*out = (struct source){.index = (uint8_t)i,
					       .gid = entry.gid,
					       .ethernet =
						       port.link_layer == IBV_LINK_LAYER_ETHERNET};
		found = true;
		if (entry.gid_type == IBV_GID_TYPE_ROCE_V2)
			break;
	}
	return found;
}

/*
 * Create the device's address handle in a path. If that would wait for a peer, the path gets a
 * placeholder whose destination is this port itself, and *@p call creates the right handle later.
 */
static enum ri_status
device_create(struct ri_pd *pd, const struct ibv_ah_attr *attr, const struct source *source,
	      struct vib_path *path, struct vib_ah_call **call)
{
	const struct ri_rnic *rnic = pd->context->rnic;
	bool to_itself = memcmp(attr->grh.dgid.raw, source->gid.raw, sizeof(source->gid.raw)) == 0;
	struct ibv_ah_attr own = *attr;
	enum ri_status status = RI_SUCCESS;

	*call = NULL;
	path->ah = NULL;
	if (source->ethernet && !to_itself)
		status = vib_ah_call(pd, attr, &path->ah, call);
	if (status != RI_SUCCESS || path->ah != NULL)
		return status;
	path->nowhere = *call != NULL;
	if (path->nowhere)
		own.grh.dgid = source->gid;
	errno = 0;
	path->ah = ibv_create_ah(pd->pd, &own);
	if (path->ah != NULL)
		return RI_SUCCESS;
	status = vib_ah_failure(rnic, errno);
	vib_ah_call_drop(*call);
	return status;
}

/* The way to a destination as libibverbs has it. */
static enum ri_status
way_fill(const struct ri_rnic *rnic, const struct ri_ah_init *init, struct ibv_ah_attr *attr,
	 struct source *source)
{
	*attr = (struct ibv_ah_attr){
		.grh = {.flow_label = init->flow_label & 0xfffff,
			.hop_limit = init->hop_limit != 0 ? init->hop_limit : HOP_LIMIT,
			.traffic_class = init->traffic_class},
		.dlid = init->dlid,
		.sl = init->sl,
		.src_path_bits = init->path_bits,
		.is_global = 1,
		.port_num = (uint8_t)(init->port + 1),
	};
	if (init->port >= rnic->attr.num_ports)
		return RI_ERR_INVALID_ARG;
	vib_gid_of(&attr->grh.dgid, &init->dest);
	if (init->dest.family == RI_ADDR_NONE || !source_find(rnic, init, &attr->grh.dgid, source))
		return RI_ERR_NO_ROUTE;
	attr->grh.sgid_index = source->index;
	return RI_SUCCESS;
}

enum ri_status
vib_way_fill(const struct ri_rnic *rnic, const struct ri_ah_init *init, struct ibv_ah_attr *attr)
{
	struct source source;

	return way_fill(rnic, init, attr, &source);
}

static enum ri_status
path_create(struct ri_pd *pd, const struct ri_ah_init *init, struct vib_path **out,
	    struct vib_ah_call **call)
{
	const struct ri_rnic *rnic = pd->context->rnic;
	struct ibv_ah_attr attr;
	struct source source;
	enum ri_status status = way_fill(rnic, init, &attr, &source);

	if (status != RI_SUCCESS)
		return status;
	*out = (struct vib_path *)calloc(1, sizeof(**out));
	if (*out == NULL)
		return RI_ERR_RESOURCES;
	status = device_create(pd, &attr, &source, *out, call);
	if (status != RI_SUCCESS)
		free(*out);
	return status;
}

static void
path_destroy(struct vib_path *path)
{
	(void)ibv_destroy_ah(path->ah);
	free(path);
}

/* --- those that are gone ---------------------------------------------------------------------------- */

/* Is every datagram completed that a queue pair of the process has posted? The caller owns the lock. */
static bool
all_sent(const struct ri_context *context)
{
	for (const struct vib_item *i = context->qps.next; i != &context->qps; i = i->next) {
		const struct vib_qp *qp = vib_of(i, struct vib_qp, item);

		if (qp->user.ud && vib_ring_open(&qp->user.sq) != 0)
			return false;
	}
	return true;
}

void
vib_ah_sweep(struct ri_context *context, const struct ibv_pd *pd)
{
	bool sent;

	pthread_mutex_lock(&context->lock);
	sent = all_sent(context);
	for (struct vib_item *i = context->ahs_gone.next, *next; i != &context->ahs_gone;
	     i = next) {
		struct vib_path *path = vib_of(i, struct vib_path, item);

		next = i->next;
		if (!sent && path->ah->pd != pd)
			continue;
		vib_list_remove(&path->item);
		path_destroy(path);
	}
	pthread_mutex_unlock(&context->lock);
}

/* No object has it any more. */
static void
path_leave(struct ri_context *context, struct vib_path *path)
{
	vib_enlist(context, &context->ahs_gone, &path->item);
	vib_ah_sweep(context, NULL);
}

void
vib_ah_replace(struct ri_ah *ah, struct vib_path *fresh)
{
	struct vib_path *had = atomic_exchange(&ah->path, fresh);

	/* A post that found the old one is in its queue when its use is over. */
	for (unsigned round = 0; atomic_load(&ah->key->uses) != 0; round++)
		ri_relax(round);
	path_leave(ah->pd->context, had);
}

/* --- verbs ------------------------------------------------------------------------------------------- */

static enum ri_status
ah_create(struct ri_pd *pd, const struct ri_ah_init *init, struct ri_ah **out, uint32_t *id)
{
	struct ri_rnic *rnic = pd->context->rnic;
	enum ri_status status = vib_alive(rnic);
	struct vib_key row = {.pd = pd};
	struct vib_ah_call *call = NULL;
	struct vib_path *path = NULL;
	struct ri_ah *ah;

	if (status != RI_SUCCESS)
		return status;
	vib_ah_sweep(pd->context, NULL);
	ah = (struct ri_ah *)calloc(1, sizeof(*ah));
	if (ah == NULL)
		return RI_ERR_RESOURCES;
	status = path_create(pd, init, &path, &call);
	if (status != RI_SUCCESS) {
		free(ah);
		return status;
	}
	ah->pd = pd;
	atomic_store(&ah->path, path);
	row.object = ah;
	*id = atomic_fetch_add(&rnic->last_ah, 1) + 1;
	ah->key = vib_key_add(&rnic->keys, VIB_KEY_AH, *id, &row);
	if (ah->key == NULL) {
		vib_ah_call_drop(call);
		path_destroy(path);
		free(ah);
		return RI_ERR_RESOURCES;
	}
	atomic_fetch_add(&pd->users, 1);
	vib_enlist(pd->context, &pd->context->ahs, &ah->item);
	if (call != NULL)
		vib_ah_call_tie(call, ah);
	*out = ah;
	return RI_SUCCESS;
}

static enum ri_status
ah_modify(struct ri_ah *ah, const struct ri_ah_init *init)
{
	struct vib_ah_call *call = NULL;
	struct vib_path *fresh = NULL;
	enum ri_status status = path_create(ah->pd, init, &fresh, &call);

	if (status != RI_SUCCESS)
		return status;
	vib_ah_call_untie(ah);
	vib_ah_replace(ah, fresh);
	if (call != NULL)
		vib_ah_call_tie(call, ah);
	return RI_SUCCESS;
}

static enum ri_status
ah_destroy(struct ri_ah *ah)
{
	struct ri_context *context = ah->pd->context;

	vib_ah_call_untie(ah);
	vib_key_remove(&context->rnic->keys, ah->key);
	vib_delist(context, &ah->item);
	atomic_fetch_sub(&ah->pd->users, 1);
	path_leave(context, atomic_load(&ah->path));
	free(ah);
	return RI_SUCCESS;
}

const struct ri_ah_ops vib_ah_ops = {
	.size = sizeof(struct ri_ah_ops),
	.create = ah_create,
	.modify = ah_modify,
	.destroy = ah_destroy,
};
