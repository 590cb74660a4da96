/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Registered memory: LMRs, the keys that peers use for them, sharing groups (itapi-semantics 8).
 *
 * An LMR is a region of the provider; its STag is what posts hand down and, in the low half of a
 * 64-bit integer in host order, the context that peers are told. Who may touch what is
 * checked by the provider on each access; here stands only what a registration can get wrong.
 *
 * Sharing groups exist on paper only: regions that say they share must cover the same pages, which
 * is checked, and each of them is a registration of its own. The list of groups is one per process,
 * under one lock that nothing else nests in.
 */

#include "ual_mem.h"

#include <stdlib.h>
#include <unistd.h>

#include "ual.h"
#include "ual_status.h"

#define LMR_FLAGS                                                          \
	(IT_LMR_FLAG_NONE | IT_LMR_FLAG_SHARED | IT_LMR_FLAG_NONCOHERENT | \
	 IT_LMR_FLAG_NON_SHAREABLE)

struct ual_share {
	struct ual_share *next;
	const struct ual_ia *ia;
	uint32_t id;
	uintptr_t first_page;
	it_length_t length;
	unsigned int members;
};

static pthread_mutex_t share_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ual_share *shares;

static uintptr_t
page_of(const void *addr)
{
	return (uintptr_t)addr & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
}

static struct ual_share *
share_find(const struct ual_ia *ia, uint32_t id)
{
	struct ual_share *share = shares;

	while (share != NULL && (share->ia != ia || share->id != id))
		share = share->next;
	return share;
}

static struct ual_share *
share_new(const struct ual_ia *ia, const struct ual_lmr_wanted *wanted)
{
	struct ual_share *share = malloc(sizeof(*share));

	if (share == NULL)
		return NULL;
	*share = (struct ual_share){
		.next = shares,
		.ia = ia,
		.id = wanted->shared_id,
		.first_page = page_of(wanted->addr),
		.length = wanted->length,
	};
	shares = share;
	return share;
}

/*
 * Enter the group that the application named. Group 0 is what ported programs use for everything;
 * it never constrains anybody.
 */
static it_status_t
share_join(const struct ual_ia *ia, const struct ual_lmr_wanted *wanted, struct ual_share **out)
{
	it_status_t status = IT_SUCCESS;
	struct ual_share *share;

	*out = NULL;
	if ((wanted->flags & IT_LMR_FLAG_SHARED) == 0 || wanted->shared_id == 0)
		return IT_SUCCESS;
	pthread_mutex_lock(&share_lock);
	share = share_find(ia, wanted->shared_id);
	if (share == NULL)
		share = share_new(ia, wanted);
	if (share == NULL)
		status = IT_ERR_RESOURCES;
	else if (share->first_page != page_of(wanted->addr))
		status = IT_ERR_INVALID_ADDRESS;
	else if (share->length != wanted->length)
		status = IT_ERR_INVALID_LENGTH;
	if (status == IT_SUCCESS) {
		share->members++;
		*out = share;
	}
	pthread_mutex_unlock(&share_lock);
	return status;
}

static void
share_leave(struct ual_share *share)
{
	struct ual_share **link = &shares;

	if (share == NULL)
		return;
	pthread_mutex_lock(&share_lock);
	if (--share->members == 0) {
		while (*link != share)
			link = &(*link)->next;
		*link = share->next;
		free(share);
	}
	pthread_mutex_unlock(&share_lock);
}

/* Rights build on local ones; an adapter without atomics ignores that bit (8.2). */
static bool
privs_valid(it_mem_priv_t privs)
{
	unsigned int bits = (unsigned int)privs;

	if ((bits & ~(unsigned int)IT_PRIV_ALL) != 0 || (bits & IT_PRIV_LOCAL) == 0)
		return false;
	if ((bits & IT_PRIV_REMOTE_READ) != 0 && (bits & IT_PRIV_LOCAL_READ) == 0)
		return false;
	return (bits & (IT_PRIV_REMOTE_WRITE | IT_PRIV_ATOMIC)) == 0 ||
	       (bits & IT_PRIV_LOCAL_WRITE) != 0;
}

static uint32_t
access_of(const struct ual_ia *ia, it_mem_priv_t privs)
{
	uint32_t access = 0;

	access |= (privs & IT_PRIV_LOCAL_READ) != 0 ? RI_ACCESS_LOCAL_READ : 0;
	access |= (privs & IT_PRIV_LOCAL_WRITE) != 0 ? RI_ACCESS_LOCAL_WRITE : 0;
	access |= (privs & IT_PRIV_REMOTE_READ) != 0 ? RI_ACCESS_REMOTE_READ : 0;
	access |= (privs & IT_PRIV_REMOTE_WRITE) != 0 ? RI_ACCESS_REMOTE_WRITE : 0;
	if (ia->attr.atomics)
		access |= (privs & IT_PRIV_ATOMIC) != 0 ? RI_ACCESS_REMOTE_ATOMIC : 0;
	/* Windows need it; what they open is decided when one is linked. */
	if (ia->attr.mw_narrow || ia->attr.mw_wide)
		access |= RI_ACCESS_BIND;
	return access;
}

/* What can be told without asking anybody. */
static it_status_t
check_wanted(const struct ual_ia *ia, const struct ual_lmr_wanted *wanted)
{
	unsigned int flags = (unsigned int)wanted->flags;

	if (wanted->iobl != NULL) {
		if (!ia->privileged || !ia->attr.privileged_ops)
			return IT_ERR_PRIV_OPS_UNAVAILABLE;
		return IT_ERR_OP_NOT_SUPPORTED;
	}
	if (wanted->length > UINTPTR_MAX - (uintptr_t)wanted->addr)
		return IT_ERR_ADDRESS;
	if (wanted->length == 0)
		return IT_ERR_INVALID_LENGTH;
	if (wanted->addr_mode != IT_ADDR_MODE_ABSOLUTE &&
	    (wanted->addr_mode != IT_ADDR_MODE_RELATIVE || !ia->attr.zero_based))
		return IT_ERR_INVALID_ADDR_MODE;
	if (!privs_valid(wanted->privs))
		return IT_ERR_INVALID_PRIVS;
	if ((flags & ~(unsigned int)LMR_FLAGS) != 0 ||
	    ((flags & IT_LMR_FLAG_SHARED) != 0 && (flags & IT_LMR_FLAG_NON_SHAREABLE) != 0))
		return IT_ERR_INVALID_FLAGS;
	if (wanted->length > ia->attr.max_mr_length)
		return IT_ERR_RESOURCE_LMR_LENGTH;
	return IT_SUCCESS;
}

static enum ri_status
lmr_register(struct ual_lmr *lmr)
{
	struct ual_ia *ia = lmr->object.ia;
	struct kal_mr_req req = {
		.id = lmr->pz->pd,
		.addr = (uintptr_t)lmr->addr,
		.length = lmr->length,
		.access = access_of(ia, lmr->privs),
		.zero_based = lmr->addr_mode == IT_ADDR_MODE_RELATIVE,
		.shareable = (lmr->flags & IT_LMR_FLAG_NON_SHAREABLE) == 0,
	};
	struct kal_mr_rep rep;
	enum ri_status status;

	status = ual_ia_call(ia, KAL_MR_REG, &req, sizeof(req), &rep, sizeof(rep));
	if (status == RI_SUCCESS) {
		lmr->mr_id = rep.id;
		lmr->stag = rep.stag;
	}
	return status;
}

/* Nobody can reach it any more: give back what it holds. */
static void
lmr_end(struct ual_lmr *lmr)
{
	share_leave(lmr->share);
	ual_object_drop(&lmr->pz->object);
	ual_object_delete(&lmr->object);
}

static void
lmr_destroy(struct ual_object *object)
{
	struct ual_lmr *lmr = (struct ual_lmr *)object;

	/* Whatever it answers, the end of the client takes the region back. */
	(void)!ual_ia_call_id(object->ia, KAL_MR_DEREG, lmr->mr_id);
	lmr_end(lmr);
}

/* A region with everything but its registration; the PZ is held. */
static struct ual_lmr *
lmr_new(struct ual_pz *pz, const struct ual_lmr_wanted *wanted)
{
	struct ual_lmr *lmr;

	if (!ual_object_hold(&pz->object))
		return NULL;
	lmr = ual_object_new(UAL_LMR, pz->object.ia);
	if (lmr == NULL) {
		ual_object_drop(&pz->object);
		return NULL;
	}
	lmr->object.destroy = lmr_destroy;
	lmr->pz = pz;
	lmr->addr = wanted->addr;
	lmr->length = wanted->length;
	lmr->addr_mode = wanted->addr_mode;
	lmr->privs = wanted->privs;
	lmr->flags = wanted->flags;
	lmr->shared_id = wanted->shared_id;
	return lmr;
}

it_status_t
ual_lmr_create(struct ual_pz *pz, const struct ual_lmr_wanted *wanted, it_lmr_handle_t *out,
	       it_rmr_context_t *context)
{
	struct ual_ia *ia = pz->object.ia;
	it_status_t status = check_wanted(ia, wanted);
	struct ual_lmr *lmr;

	if (status != IT_SUCCESS)
		return status;
	lmr = lmr_new(pz, wanted);
	if (lmr == NULL)
		return IT_ERR_RESOURCES;
	status = share_join(ia, wanted, &lmr->share);
	if (status == IT_SUCCESS)
		status = ual_status(UAL_CALL_LMR_CREATE, lmr_register(lmr));
	if (status != IT_SUCCESS) {
		lmr_end(lmr);
		return status;
	}
	if (context != NULL)
		*context = lmr->stag;
	*out = ual_object_publish(&lmr->object);
	return IT_SUCCESS;
}

it_status_t
ual_lmr_free(struct ual_lmr *lmr)
{
	enum ri_status status;

	if (!ual_object_freeze(&lmr->object))
		return IT_ERR_LMR_BUSY;
	if (!ual_object_retract(&lmr->object))
		return IT_ERR_INVALID_LMR;
	status = ual_ia_call_id(lmr->object.ia, KAL_MR_DEREG, lmr->mr_id);
	if (status == RI_ERR_BUSY) {
		ual_object_thaw(&lmr->object);
		(void)ual_object_publish(&lmr->object);
		return IT_ERR_LMR_BUSY;
	}
	lmr_end(lmr);
	return IT_SUCCESS;
}

/* The page-rounded range that is really covered (8.4). */
static void
query_actual(const struct ual_lmr *lmr, unsigned int mask, it_lmr_param_t *params)
{
	uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t first = page_of(lmr->addr);
	uintptr_t end = ((uintptr_t)lmr->addr + lmr->length + size - 1) & ~(size - 1);

	if ((mask & IT_LMR_PARAM_ACTUAL_ADDR) != 0)
		params->actual_addr = (void *)first;
	if ((mask & IT_LMR_PARAM_ACTUAL_LENGTH) != 0)
		params->actual_length = (it_length_t)(end - first);
}

void
ual_lmr_query(struct ual_lmr *lmr, it_lmr_param_mask_t wanted, it_lmr_param_t *params)
{
	unsigned int mask = (wanted & IT_LMR_PARAM_ALL) != 0 ? ~0u : (unsigned int)wanted;

	if ((mask & IT_LMR_PARAM_IA) != 0)
		params->ia = ual_object_handle(&lmr->object.ia->object);
	if ((mask & IT_LMR_PARAM_PZ) != 0)
		params->pz = ual_object_handle(&lmr->pz->object);
	if ((mask & IT_LMR_PARAM_ADDR) != 0)
		params->addr = lmr->addr;
	if ((mask & IT_LMR_PARAM_LENGTH) != 0)
		params->length = lmr->length;
	if ((mask & IT_LMR_PARAM_MEM_PRIV) != 0)
		params->privs = lmr->privs;
	if ((mask & IT_LMR_PARAM_FLAG) != 0)
		params->flags = lmr->flags;
	if ((mask & IT_LMR_PARAM_SHARED_ID) != 0)
		params->shared_id = lmr->shared_id;
	if ((mask & IT_LMR_PARAM_RMR_CONTEXT) != 0)
		params->rmr_context = lmr->stag;
	if ((mask & IT_LMR_PARAM_ADDR_MODE) != 0)
		params->addr_mode = lmr->addr_mode;
	if ((mask & IT_LMR_PARAM_LINKED) != 0)
		params->linked = IT_TRUE;
	if ((mask & IT_LMR_PARAM_IOBL_NUM_ELTS) != 0)
		params->iobl_num_elts = 0;
	if ((mask & IT_LMR_PARAM_IOBL_TYPE) != 0)
		params->iobl_type = (it_iobl_type_t)0;
	query_actual(lmr, mask, params);
}

/* Every provider of ours is coherent with the processor: there is only the checking to do (8.7). */
it_status_t
ual_lmr_sync(const it_lmr_triplet_t *segments, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const it_lmr_triplet_t *segment = &segments[i];
		const struct ual_lmr *lmr = ual_object_get(segment->lmr, UAL_LMR);
		it_length_t offset;

		if (lmr == NULL)
			return IT_ERR_INVALID_LMR;
		offset = segment->addr.rel;
		if (lmr->addr_mode == IT_ADDR_MODE_ABSOLUTE)
			offset = (it_length_t)((uintptr_t)segment->addr.abs - (uintptr_t)lmr->addr);
		if (offset > lmr->length || segment->length > lmr->length - offset)
			return IT_ERR_RANGE;
	}
	return IT_SUCCESS;
}
