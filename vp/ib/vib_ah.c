/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Address handles [RI 10.34]: a destination becomes an ibv_ah with the route of a port. Control path.
 *
 * The source is an entry of the port's table of GIDs. On RoCE an IP address of the port's interface is there as GID, for
 * each version of the protocol; version 2, over UDP, is taken where there is one.
 *
 * A device may look an ibv_ah up when it sends, not when the datagram is posted. So one that is replaced or destroyed is
 * kept until no queue pair for datagrams of the process has a request that is not completed.
 */
#include "vib_ah.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "vib_objects.h"
#include "vib_ring.h"

#define HOP_LIMIT 64

/* An ibv_ah that has no object any more. */
struct gone {
	struct vib_item item; /* in ri_context::ahs_gone */
	struct ibv_ah *ah;
};

/* --- routes -------------------------------------------------------------------------------------- */

/* An address as GID: an IPv4 address is mapped into IPv6, the others are GIDs already. */
static void
gid_of(union ibv_gid *gid, const struct ri_addr *addr)
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
	/* A mapped IPv4 address begins with ten octets of 0, a link-local one with fe80. */
	local = memcmp(entry->gid.raw, link_local, sizeof(link_local)) == 0;
	return local == (memcmp(dest->raw, link_local, sizeof(link_local)) == 0) &&
	       (memcmp(entry->gid.raw, (const uint8_t[10]){0}, 10) == 0) ==
		       (memcmp(dest->raw, (const uint8_t[10]){0}, 10) == 0);
}

/* The index of the source in the table of the port; -1: there is none. RoCE v2 before the others. */
static int
source_find(const struct ri_rnic *rnic, const struct ri_ah_init *init, const union ibv_gid *dest)
{
	struct ibv_port_attr port;
	union ibv_gid wanted;
	int found = -1;

	if (ibv_query_port(rnic->verbs, (uint8_t)(init->port + 1), &port) != 0)
		return -1;
	gid_of(&wanted, &init->source);
	for (int i = 0; i < port.gid_tbl_len; i++) {
		struct ibv_gid_entry entry;

		if (ibv_query_gid_ex(rnic->verbs, init->port + 1, (uint32_t)i, &entry, 0) != 0 ||
		    !source_suits(&entry, init->source.family != RI_ADDR_NONE ? &wanted : NULL,
				  dest))
			continue;
		if (entry.gid_type == IBV_GID_TYPE_ROCE_V2)
			return i;
		if (found < 0)
			found = i;
	}
	return found;
}

static enum ri_status
device_create(struct ri_pd *pd, const struct ri_ah_init *init, struct ibv_ah **out)
{
	const struct ri_rnic *rnic = pd->context->rnic;
	struct ibv_ah_attr attr = {
		.grh = {.flow_label = init->flow_label & 0xfffff,
			.hop_limit = init->hop_limit != 0 ? init->hop_limit : HOP_LIMIT,
			.traffic_class = init->traffic_class},
		.dlid = init->dlid,
		.sl = init->sl,
		.src_path_bits = init->path_bits,
		.is_global = 1,
		.port_num = (uint8_t)(init->port + 1),
	};
	int source;

	if (init->port >= rnic->attr.num_ports)
		return RI_ERR_INVALID_ARG;
	gid_of(&attr.grh.dgid, &init->dest);
	source = source_find(rnic, init, &attr.grh.dgid);
	if (init->dest.family == RI_ADDR_NONE || source < 0)
		return RI_ERR_NO_ROUTE;
	attr.grh.sgid_index = (uint8_t)source;
	errno = 0;
	*out = ibv_create_ah(pd->pd, &attr);
	if (*out != NULL)
		return RI_SUCCESS;
	/* libibverbs resolves the neighbour of a RoCE path itself, and has several ways to say that there is none. */
	return errno == ENOMEM || errno == EAGAIN || atomic_load(&rnic->failed)
		       ? vib_failure(rnic, errno)
		       : RI_ERR_NO_ROUTE;
}

/* --- those that are gone ---------------------------------------------------------------------------- */

/* Is every datagram completed that a queue pair of the process has posted? The caller owns the lock. */
static bool
all_sent(const struct ri_context *context)
{
	for (const struct vib_item *i = context->qps.next; i != &context->qps; i = i->next) {
		const struct ri_qp *qp = vib_of(i, struct ri_qp, item);

		if (qp->user.ud && vib_ring_used(&qp->user.sq) != 0)
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
		struct gone *gone = vib_of(i, struct gone, item);

		next = i->next;
		if (!sent && gone->ah->pd != pd)
			continue;
		vib_list_remove(&gone->item);
		(void)ibv_destroy_ah(gone->ah);
		free(gone);
	}
	pthread_mutex_unlock(&context->lock);
}

/* --- verbs ------------------------------------------------------------------------------------------- */

static enum ri_status
ah_create(struct ri_pd *pd, const struct ri_ah_init *init, struct ri_ah **out, uint32_t *id)
{
	struct ri_rnic *rnic = pd->context->rnic;
	enum ri_status status = vib_alive(rnic);
	struct vib_key row = {.pd = pd};
	struct ibv_ah *device = NULL;
	struct ri_ah *ah;

	if (status != RI_SUCCESS)
		return status;
	vib_ah_sweep(pd->context, NULL);
	ah = (struct ri_ah *)calloc(1, sizeof(*ah));
	if (ah == NULL)
		return RI_ERR_RESOURCES;
	status = device_create(pd, init, &device);
	if (status != RI_SUCCESS) {
		free(ah);
		return status;
	}
	ah->pd = pd;
	atomic_store(&ah->ah, device);
	row.object = ah;
	*id = atomic_fetch_add(&rnic->last_ah, 1) + 1;
	ah->key = vib_key_add(&rnic->keys, VIB_KEY_AH, *id, &row);
	if (ah->key == NULL) {
		(void)ibv_destroy_ah(device);
		free(ah);
		return RI_ERR_RESOURCES;
	}
	atomic_fetch_add(&pd->users, 1);
	vib_enlist(pd->context, &pd->context->ahs, &ah->item);
	*out = ah;
	return RI_SUCCESS;
}

static enum ri_status
ah_modify(struct ri_ah *ah, const struct ri_ah_init *init)
{
	struct gone *gone = (struct gone *)calloc(1, sizeof(*gone));
	struct ibv_ah *fresh = NULL;
	enum ri_status status =
		gone != NULL ? device_create(ah->pd, init, &fresh) : RI_ERR_RESOURCES;

	if (status != RI_SUCCESS) {
		free(gone);
		return status;
	}
	gone->ah = atomic_exchange(&ah->ah, fresh);
	/* A post that found the old one is in its queue when its use is over. */
	while (atomic_load(&ah->key->uses) != 0)
		sched_yield();
	vib_enlist(ah->pd->context, &ah->pd->context->ahs_gone, &gone->item);
	vib_ah_sweep(ah->pd->context, NULL);
	return RI_SUCCESS;
}

static enum ri_status
ah_destroy(struct ri_ah *ah)
{
	struct ri_context *context = ah->pd->context;
	struct gone *gone = (struct gone *)calloc(1, sizeof(*gone));

	vib_key_remove(&context->rnic->keys, ah->key);
	vib_delist(context, &ah->item);
	atomic_fetch_sub(&ah->pd->users, 1);
	if (gone != NULL) {
		gone->ah = atomic_load(&ah->ah);
		vib_enlist(context, &context->ahs_gone, &gone->item);
	} else {
		(void)ibv_destroy_ah(atomic_load(&ah->ah));
	}
	free(ah);
	vib_ah_sweep(context, NULL);
	return RI_SUCCESS;
}

const struct ri_ah_ops vib_ah_ops = {
	.size = sizeof(struct ri_ah_ops),
	.create = ah_create,
	.modify = ah_modify,
	.destroy = ah_destroy,
};
