/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Windows [RI 5.6]. InfiniBand's type 2 is the narrow window. Its owner chooses the low 8 bits of the STag with each bind, as
 * the access layer does. Type 1 is the wide window: there the device's library chooses the STag while it posts the bind
 * (mw_wide_stag_returned).
 *
 * A device does not report whether a window is bound. A posted bind counts as valid until it fails,
 * or until a local invalidation or the Send of a peer has completed. Queries report that, and a
 * region or queue pair with such a window cannot be destroyed. A wide window that is bound again
 * stays as it was if that bind fails, so what it was under its last STags is remembered.
 */
#include "vib_mw.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vib_objects.h"

/* --- wide windows ------------------------------------------------------------------------------ */

/* Binds of a window that may be under way and fail, its state before them being known still; a power of two. */
#define PASTS 16

/* The region, octets and rights that a window had while `stag` was its key. */
struct past {
	uint32_t stag;
	bool bound;
	const struct ibv_mr *over;
	uint64_t addr;
	uint64_t length;
	uint32_t access;
};

struct vib_wide {
	struct past pasts[PASTS]; /* index: the low bits of the STag, which libraries count up */
};

/* RI_ACCESS_REMOTE_* of the rights of a bind. */
static uint32_t
rights_of(unsigned int theirs)
{
	return ((theirs & IBV_ACCESS_REMOTE_READ) != 0 ? RI_ACCESS_REMOTE_READ : 0) |
	       ((theirs & IBV_ACCESS_REMOTE_WRITE) != 0 ? RI_ACCESS_REMOTE_WRITE : 0) |
	       ((theirs & IBV_ACCESS_REMOTE_ATOMIC) != 0 ? RI_ACCESS_REMOTE_ATOMIC : 0);
}

/* The library of the function that this is a pointer to; NULL: not known. */
static const void *
library_of(const void *pointer)
{
	Dl_info info;
	void *at;

	memcpy(&at, pointer, sizeof(at));
	return dladdr(at, &info) != 0 ? info.dli_fbase : NULL;
}

/*
 * Does the driver support wide windows? A driver without support leaves bind_mw at libibverbs' own
 * function, yet some such drivers allocate windows. So this compares in which libraries two
 * functions lie, and binds no window.
 */
bool
vib_mw_wide_works(struct ibv_context *verbs)
{
	const struct ibv_context_ops *ops = &verbs->ops;
	struct ibv_pd *pd;
	struct ibv_mw *mw;

	if (ops->alloc_mw == NULL || ops->bind_mw == NULL || ops->dealloc_mw == NULL ||
	    library_of(&ops->bind_mw) != library_of(&ops->post_send))
		return false;
	pd = ibv_alloc_pd(verbs);
	if (pd == NULL)
		return false;
	mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	if (mw != NULL)
		(void)ibv_dealloc_mw(mw);
	(void)ibv_dealloc_pd(pd);
	return mw != NULL;
}

void
vib_mw_pd_end(struct ri_pd *pd)
{
	if (pd->nothing != NULL)
		(void)ibv_dereg_mr(pd->nothing);
	pd->nothing = NULL;
}

uint32_t
vib_mw_next(struct ri_mw *mw)
{
	uint32_t stag;

	vsw_lock(&mw->lock);
	stag = ibv_inc_rkey(mw->mw->rkey);
	vsw_unlock(&mw->lock);
	return stag;
}

void
vib_mw_bound(struct ri_mw *mw, uint32_t before, const struct ibv_mw_bind_info *info)
{
	mw->wide->pasts[before % PASTS] = (struct past){.stag = before,
							.bound = mw->bound,
							.over = mw->over,
							.addr = mw->addr,
							.length = mw->length,
							.access = mw->access};
	mw->stag = mw->mw->rkey;
	mw->lost = false;
	mw->bound = info->length != 0;
	mw->over = info->mr;
	mw->addr = info->addr;
	mw->length = info->length;
	mw->access = rights_of(info->mw_access_flags);
}

/* --- control verbs ------------------------------------------------------------------------------- */

/* NULL: see errno. */
static struct ri_mw *
window_make(struct ri_pd *pd, bool wide)
{
	static _Alignas(4096) char page[4096]; /* only ever named */
	struct ri_mw *mw = (struct ri_mw *)calloc(1, sizeof(*mw));
	bool able;

	if (mw == NULL)
		return NULL;
	if (wide)
		mw->wide = (struct vib_wide *)calloc(1, sizeof(*mw->wide));
	able = !wide || mw->wide != NULL;
	errno = able ? 0 : ENOMEM;
	if (able && wide) {
		pthread_mutex_lock(&pd->context->lock);
		if (pd->nothing == NULL)
			pd->nothing = ibv_reg_mr(pd->pd, page, sizeof(page),
						 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
		able = pd->nothing != NULL;
		pthread_mutex_unlock(&pd->context->lock);
	}
	if (able)
		mw->mw = ibv_alloc_mw(pd->pd, wide ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2);
	if (mw->mw != NULL)
		return mw;
	free(mw->wide);
	free(mw);
	return NULL;
}

enum ri_status
vib_mw_alloc(struct ri_pd *pd, enum ri_mw_type type, struct ri_mw **out, uint32_t *stag)
{
	struct ri_rnic *rnic = pd->context->rnic;
	enum ri_status status = vib_alive(rnic);
	struct vib_key row = {.pd = pd};
	struct ri_mw *mw;

	if (!(type == RI_MW_NARROW && rnic->attr.mw_narrow) &&
	    !(type == RI_MW_WIDE && rnic->attr.mw_wide))
		return RI_ERR_UNSUPPORTED;
	if (status != RI_SUCCESS)
		return status;
	mw = window_make(pd, type == RI_MW_WIDE);
	if (mw == NULL)
		return vib_create_failure(rnic, NULL, errno);
	mw->pd = pd;
	mw->stag = mw->mw->rkey;
	row.object = mw;
	mw->key = vib_key_add(&rnic->keys, VIB_KEY_WINDOW, mw->stag, &row);
	if (mw->key == NULL) {
		(void)ibv_dealloc_mw(mw->mw);
		free(mw->wide);
		free(mw);
		return RI_ERR_RESOURCES;
	}
	atomic_fetch_add(&pd->users, 1);
	vib_enlist(pd->context, &pd->context->mws, &mw->item);
	*stag = mw->stag;
	*out = mw;
	return RI_SUCCESS;
}

enum ri_status
vib_mw_query(struct ri_mw *mw, struct ri_mr_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	vsw_lock(&mw->lock);
	attr->stag = mw->stag;
	attr->valid = mw->bound;
	if (mw->bound) {
		attr->access = mw->access;
		attr->addr = mw->addr;
		attr->length = mw->length;
	}
	vsw_unlock(&mw->lock);
	return RI_SUCCESS;
}

enum ri_status
vib_mw_free(struct ri_mw *mw)
{
	struct ri_context *context = mw->pd->context;
	int error;

	vib_key_remove(&context->rnic->keys, mw->key);
	error = ibv_dealloc_mw(mw->mw);
	if (error != 0)
		vib_log(context->rnic, RI_LOG_WARNING, "ibv_dealloc_mw: %s", ri_errno_text(error));
	vib_delist(context, &mw->item);
	atomic_fetch_sub(&mw->pd->users, 1);
	free(mw->wide);
	free(mw);
	return RI_SUCCESS;
}

/* --- requests ----------------------------------------------------------------------------------- */

void
vib_mw_posting(const struct ri_uqp *qp, const struct vib_wr *wr)
{
	const struct ibv_mw_bind_info *info = &wr->wr.bind_mw.bind_info;
	struct ri_mw *mw = (struct ri_mw *)wr->uses[VIB_WR_OBJECT]->object;
	struct vib_slot *slot = (struct vib_slot *)(uintptr_t)wr->wr.wr_id;

	vsw_lock(&mw->lock);
	slot->odd |= VIB_SLOT_BOUND;
	slot->key = (uint8_t)mw->mw->rkey;
	mw->bound = true;
	mw->ending = false;
	mw->lost = false;
	mw->stag = wr->wr.bind_mw.rkey;
	mw->over = info->mr;
	mw->qpn = qp->qpn;
	mw->addr = info->addr;
	mw->length = info->length;
	mw->access = rights_of(info->mw_access_flags);
	vsw_unlock(&mw->lock);
}

void
vib_mw_posted(const struct vib_wr *wr)
{
	struct ri_mw *mw = (struct ri_mw *)wr->uses[VIB_WR_OBJECT]->object;

	vsw_lock(&mw->lock);
	if (!mw->lost)
		mw->mw->rkey = wr->wr.bind_mw.rkey;
	vsw_unlock(&mw->lock);
}

void
vib_mw_lost(struct vib_keys *keys, uint32_t stag, uint8_t key)
{
	struct vib_key *row = vib_key_get(keys, VIB_KEY_WINDOW, stag);
	struct ri_mw *mw;

	if (row == NULL)
		return;
	mw = (struct ri_mw *)row->object;
	vsw_lock(&mw->lock);
	/*
	 * Binds after the first one that failed are flushed, so the keys that they chose were never valid.
	 * A wide window may have been bound through several queue pairs, whose failures are reported in
	 * any order: the earliest key counts.
	 */
	if (!mw->lost || (mw->wide != NULL && (int8_t)(key - (uint8_t)mw->mw->rkey) < 0))
		mw->mw->rkey = (mw->mw->rkey & ~0xffu) | key;
	if (mw->wide != NULL) {
		/* It has this STag again. The caller owns the lock. */
		const struct past *past = &mw->wide->pasts[mw->mw->rkey % PASTS];

		mw->stag = mw->mw->rkey;
		mw->bound = past->stag == mw->mw->rkey && past->bound;
		mw->over = past->over;
		mw->addr = past->addr;
		mw->length = past->length;
		mw->access = past->access;
	}
	mw->lost = true;
	vsw_unlock(&mw->lock);
	vib_key_put(row);
}

enum vib_invalidation
vib_mw_invalidation(const struct ri_uqp *qp, uint32_t stag)
{
	struct vib_key *key = vib_key_get(qp->keys, VIB_KEY_WINDOW, stag);
	enum vib_invalidation what = VIB_INVALIDATION_BAD;
	struct ri_mw *mw;

	if (key == NULL)
		return what;
	mw = (struct ri_mw *)key->object;
	vsw_lock(&mw->lock);
	if (key->pd == qp->pd && mw->stag == stag && mw->wide == NULL) {
		if (!mw->bound || mw->ending)
			what = VIB_INVALIDATION_VOID;
		else if (mw->qpn == qp->qpn)
			what = VIB_INVALIDATION_DUE;
	}
	vsw_unlock(&mw->lock);
	vib_key_put(key);
	return what;
}

void
vib_mw_invalidating(const struct ri_uqp *qp, uint32_t stag)
{
	struct vib_key *key = vib_key_get(qp->keys, VIB_KEY_WINDOW, stag);
	struct ri_mw *mw;

	if (key == NULL)
		return;
	mw = (struct ri_mw *)key->object;
	vsw_lock(&mw->lock);
	mw->ending = mw->stag == stag;
	vsw_unlock(&mw->lock);
	vib_key_put(key);
}

void
vib_mw_completed(struct vib_keys *keys, uint32_t stag, bool bind, bool success)
{
	struct vib_key *key = vib_key_get(keys, VIB_KEY_WINDOW, stag);
	struct ri_mw *mw;

	if (key == NULL)
		return;
	mw = (struct ri_mw *)key->object;
	if (mw->wide != NULL) {
		vib_key_put(key); /* vib_mw_lost has done it */
		return;
	}
	vsw_lock(&mw->lock);
	/* A bind that failed has left the window as it was, which was not bound; an invalidation that failed, bound. */
	if (mw->stag == stag && bind != success)
		mw->bound = false;
	if (mw->stag == stag && !bind && !success)
		mw->ending = false;
	vsw_unlock(&mw->lock);
	vib_key_put(key);
}

uint32_t
vib_mw_count(struct ri_context *context, const struct ibv_mr *over, uint32_t qpn)
{
	uint32_t count = 0;

	pthread_mutex_lock(&context->lock);
	for (struct vib_item *i = context->mws.next; i != &context->mws; i = i->next) {
		struct ri_mw *mw = vib_of(i, struct ri_mw, item);

		vsw_lock(&mw->lock);
		count += mw->bound && (over == NULL || mw->over == over) &&
			 (qpn == 0 || mw->qpn == qpn);
		vsw_unlock(&mw->lock);
	}
	pthread_mutex_unlock(&context->lock);
	return count;
}
