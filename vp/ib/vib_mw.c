/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Windows [RI 5.6]: InfiniBand's type 2, which is the narrow window here. Its owner chooses the low 8 bits of the STag
 * with each bind, as the access layer does. Type 1 would be the wide window; but there the device's library chooses the
 * STag while it posts the bind, and a post of this interface cannot return one. So no wide window is claimed.
 *
 * A device does not tell whether a window is bound. A bind that was posted counts until it fails, or until a local
 * invalidation or the Send of a peer has completed; that is what a query says, and what keeps a region or queue pair from
 * being destroyed.
 */
#include "vib_mw.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vib_objects.h"

enum ri_status
vib_mw_alloc(struct ri_pd *pd, enum ri_mw_type type, struct ri_mw **out, uint32_t *stag)
{
	struct ri_rnic *rnic = pd->context->rnic;
	enum ri_status status = vib_alive(rnic);
	struct vib_key row = {.pd = pd};
	struct ri_mw *mw;

	if (type != RI_MW_NARROW || !rnic->attr.mw_narrow)
		return RI_ERR_UNSUPPORTED;
	if (status != RI_SUCCESS)
		return status;
	mw = (struct ri_mw *)calloc(1, sizeof(*mw));
	if (mw == NULL)
		return RI_ERR_RESOURCES;
	errno = 0;
	mw->mw = ibv_alloc_mw(pd->pd, IBV_MW_TYPE_2);
	if (mw->mw == NULL) {
		status = vib_create_failure(rnic, NULL, errno);
		free(mw);
		return status;
	}
	mw->pd = pd;
	mw->stag = mw->mw->rkey;
	row.object = mw;
	mw->key = vib_key_add(&rnic->keys, VIB_KEY_WINDOW, mw->stag, &row);
	if (mw->key == NULL) {
		(void)ibv_dealloc_mw(mw->mw);
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
	free(mw);
	return RI_SUCCESS;
}

/* RI_ACCESS_REMOTE_* of the rights of a bind. */
static uint32_t
rights_of(unsigned int theirs)
{
	return ((theirs & IBV_ACCESS_REMOTE_READ) != 0 ? RI_ACCESS_REMOTE_READ : 0) |
	       ((theirs & IBV_ACCESS_REMOTE_WRITE) != 0 ? RI_ACCESS_REMOTE_WRITE : 0) |
	       ((theirs & IBV_ACCESS_REMOTE_ATOMIC) != 0 ? RI_ACCESS_REMOTE_ATOMIC : 0);
}

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
	/* Binds behind the first one that failed are flushed, and their earlier keys were never valid. */
	if (!mw->lost)
		mw->mw->rkey = (mw->mw->rkey & ~0xffu) | key;
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
	if (key->pd == qp->pd && mw->stag == stag) {
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
