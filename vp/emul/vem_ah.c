/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Address handles. Each adapter has a table, from which senders copy a target under a lock that is owned for
 * that copy only. A target is a route header, complete but for the length.
 *
 * The number of a handle is its slot and a count that is incremented for each handle, so the number of a
 * destroyed handle is not used again for a long time. Datagrams posted before a handle is destroyed are still
 * sent: the handle stays in the table until vem_ah_sweep finds that no queue pair for datagrams of its
 * process has anything left to send.
 */
#include <stdlib.h>
#include <string.h>

#include "vem_ud.h"

#define MAX_AH          65536u
#define FIRST_ROOM      64u
#define GRH_VERSION     6u
#define GRH_NEXT_HEADER 0x1b
#define GRH_HOP_LIMIT   64

/* --- targets ------------------------------------------------------------------------------ */

bool
vem_gid_of(uint8_t gid[16], const struct ri_addr *addr)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	if (addr->family == RI_ADDR_IPV4) {
		memcpy(gid, mapped, sizeof(mapped));
		memcpy(gid + 12, addr->octets, 4);
	} else {
		memcpy(gid, addr->octets, 16);
	}
	return addr->family == RI_ADDR_IPV4 || addr->family == RI_ADDR_IPV6 ||
	       addr->family == RI_ADDR_GID;
}

/* A group is everywhere, and a datagram to it comes from the address given, or from the first of that kind. */
static bool
group_source(const struct ri_rnic *rnic, const struct ri_addr *group, struct ri_addr *source)
{
	struct ri_addr own[RI_PORT_ADDR_MAX];
	uint32_t count = vem_addrs(rnic->fabric, own);
	uint8_t gid[16];

	if (!vem_gid_of(gid, group) || !vem_gid_is_group(gid))
		return false;
	if (source->family != RI_ADDR_NONE)
		return (source->family == RI_ADDR_IPV4) == (group->family == RI_ADDR_IPV4) &&
		       vem_addr_is_local(rnic->fabric, source);
	for (uint32_t i = 0; i < count && source->family == RI_ADDR_NONE; i++)
		if (own[i].family == group->family)
			*source = own[i];
	return source->family != RI_ADDR_NONE;
}

enum ri_status
vem_target_make(const struct ri_rnic *rnic, const struct ri_ah_init *init,
		struct vem_target *target)
{
	struct ri_addr source = init->source;
	uint32_t first = GRH_VERSION << 28 | (uint32_t)init->traffic_class << 20 |
			 (init->flow_label & 0xfffff);
	uint8_t *grh = target->grh;

	if (init->port != 0)
		return RI_ERR_INVALID_ARG;
	if (!vem_addr_source(rnic->fabric, &init->dest, &source) &&
	    !group_source(rnic, &init->dest, &source))
		return RI_ERR_NO_ROUTE;
	memset(grh, 0, VEM_GRH);
	for (uint32_t i = 0; i < 4; i++)
		grh[i] = (uint8_t)(first >> 8 * (3 - i));
	grh[6] = GRH_NEXT_HEADER;
	grh[7] = init->hop_limit != 0 ? init->hop_limit : GRH_HOP_LIMIT;
	(void)vem_gid_of(grh + 8, &source);
	(void)vem_gid_of(grh + 24, &init->dest);
	return RI_SUCCESS;
}

/* --- the table ---------------------------------------------------------------------------- */

/* With the lock. */
static struct ri_ah *
ah_find(struct vem_ah_table *table, uint32_t id)
{
	uint32_t slot = id % MAX_AH;
	struct ri_ah *ah = slot < table->room ? table->slots[slot] : NULL;

	return ah != NULL && ah->id == id ? ah : NULL;
}

bool
vem_ah_find(struct ri_rnic *rnic, uint32_t id, const struct vsw_pd *pd, struct vem_target *target)
{
	vsw_lock(&rnic->ahs.lock);
	const struct ri_ah *ah = ah_find(&rnic->ahs, id);
	bool found = ah != NULL && ah->pd == pd;
	if (found)
		*target = ah->target;
	vsw_unlock(&rnic->ahs.lock);
	return found;
}

/* Put a handle into a free slot. False: there is none. With the lock. */
static bool
ah_place(struct vem_ah_table *table, struct ri_ah *ah)
{
	for (uint32_t i = 0; i < table->room; i++) {
		uint32_t slot = (table->last + 1 + i) % table->room;
		if (table->slots[slot] != NULL)
			continue;
		table->last = slot;
		table->slots[slot] = ah;
		ah->id = ++table->count % (UINT32_MAX / MAX_AH) * MAX_AH + slot;
		return true;
	}
	return false;
}

static bool
ah_enter(struct vem_ah_table *table, struct ri_ah *ah)
{
	vsw_lock(&table->lock);
	bool placed = ah_place(table, ah);
	uint32_t room = table->room;
	vsw_unlock(&table->lock);
	if (placed || room == MAX_AH)
		return placed;

	uint32_t wider = room == 0 ? FIRST_ROOM : 2 * room;
	struct ri_ah **fresh = calloc(wider, sizeof(struct ri_ah *));
	if (fresh == NULL)
		return false;
	vsw_lock(&table->lock);
	struct ri_ah **before = fresh;
	if (table->room < wider) {
		before = table->slots;
		if (table->room != 0)
			memcpy(fresh, before, table->room * sizeof(struct ri_ah *));
		table->slots = fresh;
		table->last = table->room != 0 ? table->room - 1 : wider - 1;
		table->room = wider;
	}
	placed = ah_place(table, ah);
	vsw_unlock(&table->lock);
	free(before);
	return placed;
}

bool
vem_ud_is_idle(struct vem_qp *qp)
{
	if (vem_state_flushes(atomic_load(&qp->state)))
		return true;
	return atomic_load(&qp->sq.page->head) == atomic_load(&qp->sq.page->taken) &&
	       atomic_load(&qp->tx.taken) == 0 && !atomic_load(&qp->tx_target_have);
}

/* Have all posted datagrams of a context been sent, so that none names a destroyed handle? With its lock. */
static bool
all_sent(struct ri_context *context)
{
	for (struct vsw_item *i = context->qps.next; i != &context->qps; i = i->next) {
		struct vem_qp *qp = vsw_of(i, struct vem_qp, item);
		if (qp->ud && !vem_ud_is_idle(qp))
			return false;
	}
	return true;
}

void
vem_ah_sweep(struct ri_context *context)
{
	struct vem_ah_table *table = &context->rnic->ahs;

	pthread_mutex_lock(&context->base.lock);
	bool idle = vsw_list_empty(&context->ahs_gone) || all_sent(context);
	while (idle && !vsw_list_empty(&context->ahs_gone)) {
		struct ri_ah *ah = vsw_of(context->ahs_gone.next, struct ri_ah, item);
		vsw_list_remove(&ah->item);
		vsw_lock(&table->lock);
		table->slots[ah->id % MAX_AH] = NULL;
		vsw_unlock(&table->lock);
		free(ah);
	}
	pthread_mutex_unlock(&context->base.lock);
}

/* --- verbs -------------------------------------------------------------------------------- */

static enum ri_status
ah_create(struct ri_pd *ri, const struct ri_ah_init *init, struct ri_ah **out, uint32_t *id)
{
	struct vsw_pd *pd = (struct vsw_pd *)ri;
	struct ri_context *context = vem_context_of(pd);
	struct ri_ah *ah = calloc(1, sizeof(*ah));
	enum ri_status status = RI_ERR_RESOURCES;

	vem_ah_sweep(context);
	if (ah != NULL)
		status = vem_target_make(context->rnic, init, &ah->target);
	if (status == RI_SUCCESS) {
		ah->pd = pd;
		status = ah_enter(&context->rnic->ahs, ah) ? RI_SUCCESS : RI_ERR_RESOURCES;
	}
	if (status != RI_SUCCESS) {
		free(ah);
		return status;
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
	struct ri_rnic *rnic = vem_context_of(ah->pd)->rnic;
	struct vem_target target;
	enum ri_status status = vem_target_make(rnic, init, &target);

	if (status != RI_SUCCESS)
		return status;
	vsw_lock(&rnic->ahs.lock);
	ah->target = target;
	vsw_unlock(&rnic->ahs.lock);
	return RI_SUCCESS;
}

static enum ri_status
ah_destroy(struct ri_ah *ah)
{
	struct vsw_pd *pd = ah->pd;
	struct ri_context *context = vem_context_of(pd);

	pthread_mutex_lock(&context->base.lock);
	vsw_list_remove(&ah->item);
	vsw_list_add(&context->ahs_gone, &ah->item);
	pthread_mutex_unlock(&context->base.lock);
	atomic_fetch_sub(&pd->users, 1);
	vem_ah_sweep(context);
	return RI_SUCCESS;
}

const struct ri_ah_ops vem_ah_ops = {
	.size = sizeof(struct ri_ah_ops),
	.create = ah_create,
	.modify = ah_modify,
	.destroy = ah_destroy,
};
