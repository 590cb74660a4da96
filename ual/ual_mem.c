/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Registered memory: LMRs, the keys that peers use for them, sharing groups [IT 8].
 *
 * An LMR is a region of the provider. Posts pass its STag to the provider; the context for peers is a 64-bit integer in
 * host order with the STag in its low half. The provider checks the rights of each access; this file checks
 * registrations.
 *
 * Regions of a sharing group must cover the same pages, which is checked, but each of them is registered by itself. There
 * is one list of groups for the process, under share_lock.
 */

#include "ual_mem.h"

#include <stdlib.h>
#include <unistd.h>

#include "session_section.h"
#include "ual.h"
#include "ual_iobl.h"
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

/* The child of a fork has none of its parent's regions. */
static void
shares_forked(void)
{
	pthread_mutex_init(&share_lock, NULL);
	shares = NULL;
}

__attribute__((constructor)) static void
shares_watch_forks(void)
{
	(void)pthread_atfork(NULL, NULL, shares_forked);
}

static uintptr_t
page_of(const void *addr)
{
	return (uintptr_t)addr & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
}

/*
 * Enter the group that the application named. Ported programs use group 0 for all regions; it has no
 * constraint.
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
	share = shares;
	while (share != NULL && (share->ia != ia || share->id != wanted->shared_id))
		share = share->next;
	if (share == NULL) {
		share = malloc(sizeof(*share));
		if (share != NULL) {
			*share = (struct ual_share){
				.next = shares,
				.ia = ia,
				.id = wanted->shared_id,
				.first_page = page_of(wanted->addr),
				.length = wanted->length,
			};
			shares = share;
		}
	}
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

/* Rights build on local ones; an adapter without atomics ignores that bit [IT 8.2]. */
bool
ual_lmr_privs_valid(it_mem_priv_t privs)
{
	unsigned int bits = (unsigned int)privs;

	if ((bits & ~(unsigned int)IT_PRIV_ALL) != 0 || (bits & IT_PRIV_LOCAL) == 0)
		return false;
	if ((bits & IT_PRIV_REMOTE_READ) != 0 && (bits & IT_PRIV_LOCAL_READ) == 0)
		return false;
	return (bits & (IT_PRIV_REMOTE_WRITE | IT_PRIV_ATOMIC)) == 0 ||
	       (bits & IT_PRIV_LOCAL_WRITE) != 0;
}

uint32_t
ual_lmr_access(const struct ual_ia *ia, it_mem_priv_t privs)
{
	uint32_t access = 0;

	access |= (privs & IT_PRIV_LOCAL_READ) != 0 ? RI_ACCESS_LOCAL_READ : 0;
	access |= (privs & IT_PRIV_LOCAL_WRITE) != 0 ? RI_ACCESS_LOCAL_WRITE : 0;
	access |= (privs & IT_PRIV_REMOTE_READ) != 0 ? RI_ACCESS_REMOTE_READ : 0;
	access |= (privs & IT_PRIV_REMOTE_WRITE) != 0 ? RI_ACCESS_REMOTE_WRITE : 0;
	if (ia->session.attr.atomics)
		access |= (privs & IT_PRIV_ATOMIC) != 0 ? RI_ACCESS_REMOTE_ATOMIC : 0;
	/* Windows need it; a link decides what a window opens. */
	if (ia->session.attr.mw_narrow || ia->session.attr.mw_wide)
		access |= RI_ACCESS_BIND;
	return access;
}

bool
ual_lmr_mode_valid(const struct ual_ia *ia, it_addr_mode_t mode)
{
	return mode == IT_ADDR_MODE_ABSOLUTE ||
	       (mode == IT_ADDR_MODE_RELATIVE && ia->session.attr.zero_based);
}

/* The checks that need no kAL call. */
it_status_t
ual_lmr_check(const struct ual_ia *ia, const struct ual_lmr_wanted *wanted)
{
	unsigned int flags = (unsigned int)wanted->flags;

	if (wanted->iobl != NULL && (!ia->privileged || !ia->session.attr.privileged_ops))
		return IT_ERR_PRIV_OPS_UNAVAILABLE;
	if (wanted->dmabuf != NULL && !ia->session.attr.dmabuf)
		return IT_ERR_OP_NOT_SUPPORTED;
	if (wanted->length > UINTPTR_MAX - (uintptr_t)wanted->addr)
		return IT_ERR_ADDRESS;
	if (wanted->length == 0)
		return IT_ERR_INVALID_LENGTH;
	if (!ual_lmr_mode_valid(ia, wanted->addr_mode))
		return IT_ERR_INVALID_ADDR_MODE;
	if (!ual_lmr_privs_valid(wanted->privs))
		return IT_ERR_INVALID_PRIVS;
	if ((flags & ~(unsigned int)LMR_FLAGS) != 0 ||
	    ((flags & IT_LMR_FLAG_SHARED) != 0 && ((flags & IT_LMR_FLAG_NON_SHAREABLE) != 0 ||
						   wanted->iobl != NULL || wanted->dmabuf != NULL)))
		return IT_ERR_INVALID_FLAGS;
	/* The address and the offset are at the same place of a page. */
	if (wanted->dmabuf != NULL && (((uintptr_t)wanted->addr ^ wanted->dmabuf->offset) &
				       ((uint64_t)sysconf(_SC_PAGESIZE) - 1)) != 0)
		return IT_ERR_INVALID_ADDRESS;
	if (wanted->length > ia->session.attr.max_mr_length)
		return IT_ERR_RESOURCE_LMR_LENGTH;
	return IT_SUCCESS;
}

/*
 * The number of pieces that a link may give to a region after an unlink, both by a privileged process: as many as it has
 * now, or its pages if it has no list.
 */
static size_t
room_of(const struct ual_lmr *lmr, const struct ual_pages *pages)
{
	const struct ual_ia *ia = lmr->object.ia;
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	size_t most = ual_iobl_most(&ia->session.attr);
	size_t room = pages != NULL ? pages->count : lmr->length / size + 2;

	if ((lmr->flags & IT_LMR_FLAG_NON_SHAREABLE) == 0 || !ia->privileged ||
	    !ia->session.attr.fast_register)
		return 0;
	return room < most ? room : most;
}

/* pages: its list, or NULL. */
static enum ri_status
lmr_register(struct ual_lmr *lmr, const struct ual_pages *pages)
{
	struct ual_ia *ia = lmr->object.ia;
	struct kal_mr_req req = {
		.id = lmr->pz->pd,
		.addr = (uintptr_t)lmr->addr,
		.length = lmr->length,
		.access = ual_lmr_access(ia, lmr->privs),
		.zero_based = atomic_load(&lmr->addr_mode) == IT_ADDR_MODE_RELATIVE,
		.key = ual_key_octet(ia->session.host),
		.shareable = (lmr->flags & IT_LMR_FLAG_NON_SHAREABLE) == 0,
		.max_pages = (uint32_t)room_of(lmr, pages),
	};
	struct kal_mr_rep rep;
	enum ri_status status;

	if (pages != NULL)
		status = ual_iobl_register(ia, &req, pages, &rep);
	else
		status = session_call(&ia->session, KAL_MR_REG, &req, sizeof(req), &rep,
				      sizeof(rep));
	if (status == RI_SUCCESS) {
		lmr->mr_id = rep.id;
		lmr->iobl_room = req.max_pages;
		if (lmr->iobl_room > 0)
			ual_octets_init(&lmr->octets, ia->session.host);
		ual_key_set(ia->keys, &lmr->key, &lmr->object, rep.stag);
	}
	return status;
}

static enum ri_status
dmabuf_register(struct ual_lmr *lmr, const struct ual_dmabuf *dmabuf)
{
	struct ual_ia *ia = lmr->object.ia;
	const struct kal_dmabuf_req req = {
		.pd = lmr->pz->pd,
		.access = ual_lmr_access(ia, lmr->privs),
		.addr = (uintptr_t)lmr->addr,
		.length = lmr->length,
		.offset = dmabuf->offset,
		.key = ual_key_octet(ia->session.host),
		.shareable = (lmr->flags & IT_LMR_FLAG_NON_SHAREABLE) == 0,
	};
	struct kal_mr_rep rep = {0};
	struct kal_msg msg = {.call = KAL_MR_REG_DMABUF,
			      .fd = dmabuf->fd,
			      .req = &req,
			      .req_len = sizeof(req),
			      .rep = &rep,
			      .rep_len = sizeof(rep)};
	enum ri_status status = kal_call(ia->session.client, &msg);

	if (status != RI_SUCCESS)
		return status;
	lmr->dmabuf = true;
	lmr->mr_id = rep.id;
	ual_key_set(ia->keys, &lmr->key, &lmr->object, rep.stag);
	return RI_SUCCESS;
}

/* Destroy it; no call can reach it any more. */
static void
lmr_end(struct ual_lmr *lmr)
{
	ual_key_remove(lmr->object.ia->keys, &lmr->key);
	share_leave(lmr->share);
	ual_object_unref(&lmr->pz->object);
	pthread_mutex_destroy(&lmr->modify);
	pthread_mutex_destroy(&lmr->lock);
	ual_object_delete(&lmr->object);
}

static void
lmr_destroy(struct ual_object *object)
{
	struct ual_lmr *lmr = (struct ual_lmr *)object;

	/* If this fails, closing the client destroys the region. */
	(void)!session_call_id(&object->ia->session, KAL_MR_DEREG, lmr->mr_id);
	lmr_end(lmr);
}

/* A region without its registration, with a reference to its PZ. */
static struct ual_lmr *
lmr_new(struct ual_pz *pz, const struct ual_lmr_wanted *wanted)
{
	struct ual_lmr *lmr;

	if (!ual_object_ref(&pz->object))
		return NULL;
	lmr = ual_object_new(UAL_LMR, pz->object.ia, &pz->object.ia->objects);
	if (lmr == NULL) {
		ual_object_unref(&pz->object);
		return NULL;
	}
	lmr->object.destroy = lmr_destroy;
	pthread_mutex_init(&lmr->modify, NULL);
	pthread_mutex_init(&lmr->lock, NULL);
	lmr->pz = pz;
	lmr->addr = wanted->addr;
	lmr->length = wanted->length;
	atomic_store(&lmr->addr_mode, (unsigned int)wanted->addr_mode);
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
	const struct ual_region region = {
		.addr = wanted->addr, .length = wanted->length, .addr_mode = wanted->addr_mode};
	bool listed = wanted->iobl != NULL;
	it_status_t status = ual_lmr_check(ia, wanted);
	struct ual_pages pages;
	struct ual_lmr *lmr;

	if (status == IT_SUCCESS && listed)
		status = ual_iobl_read(ia, wanted->iobl, ual_iobl_most(&ia->session.attr), &region,
				       &pages);
	if (status != IT_SUCCESS)
		return status;
	lmr = lmr_new(pz, wanted);
	if (lmr == NULL)
		return IT_ERR_RESOURCES;
	lmr->listed = listed;
	lmr->iobl_type = listed ? wanted->iobl->iobl_type : (it_iobl_type_t)0;
	status = share_join(ia, wanted, &lmr->share);
	if (status == IT_SUCCESS && wanted->dmabuf != NULL)
		status = ual_status(UAL_CALL_LMR_DMABUF, dmabuf_register(lmr, wanted->dmabuf));
	else if (status == IT_SUCCESS)
		status = ual_status(UAL_CALL_LMR_CREATE, lmr_register(lmr, listed ? &pages : NULL));
	if (status != IT_SUCCESS) {
		lmr_end(lmr);
		return status;
	}
	if (context != NULL)
		*context = ual_lmr_stag(lmr);
	*out = ual_object_publish(&lmr->object);
	return IT_SUCCESS;
}

it_status_t
ual_lmr_create_unlinked(struct ual_pz *pz, size_t pieces, it_lmr_flag_t flags, uint32_t shared_id,
			it_lmr_handle_t *out)
{
	struct ual_ia *ia = pz->object.ia;
	const struct ual_lmr_wanted wanted = {.flags = flags, .shared_id = shared_id};
	struct kal_mr_req req = {.id = pz->pd,
				 .key = ual_key_octet(ia->session.host),
				 .unlinked = 1,
				 .max_pages = (uint32_t)pieces};
	struct kal_mr_rep rep;
	enum ri_status status;
	struct ual_lmr *lmr;

	if (!ia->session.attr.fast_register)
		return IT_ERR_OP_NOT_SUPPORTED;
	if (!ia->privileged)
		return IT_ERR_PRIV_OPS_UNAVAILABLE;
	if (pieces == 0 || pieces > ual_iobl_most(&ia->session.attr))
		return IT_ERR_INVALID_IOBL;
	if (((unsigned int)flags & ~(unsigned int)LMR_FLAGS) != 0 ||
	    ((unsigned int)flags & IT_LMR_FLAG_SHARED) != 0)
		return IT_ERR_INVALID_FLAGS;
	lmr = lmr_new(pz, &wanted);
	if (lmr == NULL)
		return IT_ERR_RESOURCES;
	status = session_call(&ia->session, KAL_MR_REG, &req, sizeof(req), &rep, sizeof(rep));
	if (status != RI_SUCCESS) {
		lmr_end(lmr);
		return ual_status(UAL_CALL_LMR_CREATE, status);
	}
	lmr->mr_id = rep.id;
	lmr->listed = true;
	lmr->iobl_room = pieces;
	ual_octets_init(&lmr->octets, ia->session.host);
	ual_key_set(ia->keys, &lmr->key, &lmr->object, rep.stag);
	*out = ual_object_publish(&lmr->object);
	return IT_SUCCESS;
}

it_status_t
ual_lmr_free(struct ual_lmr *lmr)
{
	enum ri_status status;

	if (lmr->direct)
		return IT_ERR_INVALID_LMR; /* it belongs to the adapter until that is freed */
	if (!ual_object_freeze(&lmr->object))
		return IT_ERR_LMR_BUSY;
	if (!ual_object_retract(&lmr->object))
		return IT_ERR_INVALID_LMR;
	status = session_call_id(&lmr->object.ia->session, KAL_MR_DEREG, lmr->mr_id);
	if (status == RI_ERR_BUSY) {
		ual_object_thaw(&lmr->object);
		(void)ual_object_publish(&lmr->object);
		return IT_ERR_LMR_BUSY;
	}
	lmr_end(lmr);
	return IT_SUCCESS;
}

void
ual_lmr_query(struct ual_lmr *lmr, it_lmr_param_mask_t wanted, it_lmr_param_t *params)
{
	unsigned int mask = (wanted & IT_LMR_PARAM_ALL) != 0 ? ~0u : (unsigned int)wanted;
	uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE);
	struct kal_id_req req = {.id = lmr->mr_id};
	struct ri_mr_attr attr = {.valid = true};
	uintptr_t first, end;

	/* Regions that can be neither linked nor unlinked always have memory. */
	if ((mask & IT_LMR_PARAM_LINKED) != 0 &&
	    (lmr->iobl_room > 0 || (lmr->flags & IT_LMR_FLAG_NON_SHAREABLE) != 0) &&
	    session_call(&lmr->object.ia->session, KAL_MR_QUERY, &req, sizeof(req), &attr,
			 sizeof(attr)) != RI_SUCCESS)
		attr.valid = false;
	if ((mask & IT_LMR_PARAM_LINKED) != 0)
		params->linked = attr.valid ? IT_TRUE : IT_FALSE;
	pthread_mutex_lock(&lmr->lock);
	if ((mask & IT_LMR_PARAM_IA) != 0)
		params->ia = ual_object_handle(&lmr->object.ia->object);
	if ((mask & IT_LMR_PARAM_PZ) != 0)
		params->pz = lmr->pz != NULL ? ual_object_handle(&lmr->pz->object) : NULL;
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
		params->rmr_context = ual_lmr_stag(lmr);
	if ((mask & IT_LMR_PARAM_ADDR_MODE) != 0)
		params->addr_mode = (it_addr_mode_t)atomic_load(&lmr->addr_mode);
	if ((mask & IT_LMR_PARAM_IOBL_NUM_ELTS) != 0)
		params->iobl_num_elts = lmr->iobl_room;
	if ((mask & IT_LMR_PARAM_IOBL_TYPE) != 0)
		params->iobl_type = lmr->iobl_type;
	/* The page-rounded range that the registration covers [IT 8.4]. */
	first = page_of(lmr->addr);
	end = ((uintptr_t)lmr->addr + lmr->length + size - 1) & ~(size - 1);
	if ((mask & IT_LMR_PARAM_ACTUAL_ADDR) != 0)
		params->actual_addr = (void *)first;
	if ((mask & IT_LMR_PARAM_ACTUAL_LENGTH) != 0)
		params->actual_length = (it_length_t)(end - first);
	pthread_mutex_unlock(&lmr->lock);
}

/* All providers are coherent with the processor: check the arguments, and do nothing else [IT 8.7]. */
it_status_t
ual_lmr_sync(const it_lmr_triplet_t *segments, size_t count)
{
	SESSION_SECTION;

	for (size_t i = 0; i < count; i++) {
		struct ual_lmr *lmr = (struct ual_lmr *)ual_object_get(segments[i].lmr, UAL_LMR);
		it_length_t offset = segments[i].addr.rel;
		bool fits;

		if (lmr == NULL)
			return IT_ERR_INVALID_LMR;
		if (ual_dead(lmr->object.ia))
			return IT_ERR_IA_CATASTROPHE;
		/* Is the segment inside its region? The direct LMR covers all memory. */
		pthread_mutex_lock(&lmr->lock);
		if (atomic_load(&lmr->addr_mode) == IT_ADDR_MODE_ABSOLUTE)
			offset = (it_length_t)((uintptr_t)segments[i].addr.abs -
					       (uintptr_t)lmr->addr);
		fits = lmr->direct ||
		       (offset <= lmr->length && segments[i].length <= lmr->length - offset);
		pthread_mutex_unlock(&lmr->lock);
		if (!fits)
			return IT_ERR_RANGE;
	}
	return IT_SUCCESS;
}

it_rmr_context_t
ual_lmr_context(const struct ual_lmr *lmr)
{
	return ual_lmr_stag(lmr);
}

bool
ual_lmr_is_relative(const struct ual_lmr *lmr)
{
	return atomic_load(&lmr->addr_mode) == IT_ADDR_MODE_RELATIVE;
}

bool
ual_lmr_is_direct(const struct ual_lmr *lmr)
{
	return lmr->direct;
}
