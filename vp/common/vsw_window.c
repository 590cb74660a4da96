/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Memory windows, and what requests do to keys: bind and invalidate (RDMAC verbs 7.10; [RI 5.4], [RI 5.6]).
 *
 * A window is an entry of the same table as a region; a bind sets its key, range and rights. A narrow window
 * belongs to the queue pair that bound it and must be invalid before it is bound again. A wide window belongs
 * to the protection domain, may be bound again while it is valid, and is unbound by a bind of no bytes. A
 * region with windows can be neither invalidated nor re-registered nor deregistered, so an access through a
 * window needs no use of the region.
 *
 * Locks: one entry's at a time. A bind first increments the region's count of windows, which pins the region,
 * and then changes the window. The window's lock is owned until the uses of the window have ended; another
 * request for the same window waits for that, as it must.
 */
#include "vsw_mem_table.h"

#include <string.h>

enum ri_status
vsw_mw_alloc(struct vsw_mem_table *table, const void *pd, enum ri_mw_type type,
	     struct vsw_mem_entry **out, uint32_t *stag)
{
	if (type != RI_MW_NARROW && type != RI_MW_WIDE)
		return RI_ERR_UNSUPPORTED;

	enum vsw_mem_kind kind = type == RI_MW_NARROW ? VSW_MEM_NARROW : VSW_MEM_WIDE;
	struct vsw_mem_entry *mw = vsw_mem_entry_take(table, kind, true, pd);

	if (mw == NULL)
		return RI_ERR_RESOURCES;
	if (kind == VSW_MEM_NARROW)
		atomic_fetch_add(&table->narrow, 1);
	mw->posted = (uint8_t)mw->stag;
	*stag = mw->stag;
	*out = mw;
	return RI_SUCCESS;
}

static bool
is_window(const struct vsw_mem_entry *entry)
{
	return entry->kind == VSW_MEM_NARROW || entry->kind == VSW_MEM_WIDE;
}

/* Make the window invalid. Called with its lock. */
static void
window_unbind(struct vsw_mem_entry *mw)
{
	assert(vsw_lock_is_owned(&mw->lock));
	if (mw->region == NULL)
		return; /* it is not live either */
	vsw_mem_revoke(mw);
	atomic_fetch_sub(&mw->region->bound, 1);
	mw->region = NULL;
}

void
vsw_mw_free(struct vsw_mem_entry *mw)
{
	vsw_lock(&mw->lock);
	bool narrow = mw->kind == VSW_MEM_NARROW;
	window_unbind(mw);
	/* From here on no request binds it, which would pin a region for good. */
	mw->kind = VSW_MEM_FREE;
	vsw_unlock(&mw->lock);
	if (narrow)
		atomic_fetch_sub(&mw->table->narrow, 1);
	vsw_mem_entry_give(mw);
}

void
vsw_mw_query(struct vsw_mem_entry *mw, struct ri_mr_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	vsw_lock(&mw->lock);
	attr->stag = mw->stag;
	attr->valid = atomic_load(&mw->live) != 0;
	if (attr->valid) {
		attr->access = mw->access;
		attr->addr = mw->addr;
		attr->length = mw->length;
		attr->zero_based = mw->zero_based;
	}
	vsw_unlock(&mw->lock);
}

/* --- bind -------------------------------------------------------------------------------- */

/* May this window be bound to this region? Called with the region's lock. */
static enum vsw_mem_result
region_check(const struct vsw_mem_entry *mr, const struct vsw_mem_who *who,
	     const struct ri_wr_bind *bind)
{
	uint32_t writes = RI_ACCESS_REMOTE_WRITE | RI_ACCESS_REMOTE_ATOMIC;

	if (mr->kind != VSW_MEM_REGION || atomic_load(&mr->live) != bind->mr_stag)
		return VSW_MEM_STAG;
	if (mr->pd != who->pd)
		return VSW_MEM_PD;
	if ((mr->access & RI_ACCESS_BIND) == 0 || mr->zero_based)
		return VSW_MEM_ACCESS;
	if ((bind->access & RI_ACCESS_REMOTE_READ) != 0 && (mr->access & RI_ACCESS_LOCAL_READ) == 0)
		return VSW_MEM_ACCESS;
	if ((bind->access & writes) != 0 && (mr->access & RI_ACCESS_LOCAL_WRITE) == 0)
		return VSW_MEM_ACCESS;
	if (bind->addr + bind->length - 1 < bind->addr)
		return VSW_MEM_WRAP;
	if (bind->addr < mr->addr || bind->addr - mr->addr > mr->length ||
	    bind->length > mr->length - (bind->addr - mr->addr))
		return VSW_MEM_BOUNDS;
	return VSW_MEM_OK;
}

/* May this window be bound by this queue pair now? Called with the window's lock. */
static enum vsw_mem_result
window_check(const struct vsw_mem_entry *mw, const struct vsw_mem_who *who,
	     const struct ri_wr_bind *bind)
{
	if (!is_window(mw) || mw->dead || mw->stag >> 8 != bind->mw_stag >> 8)
		return VSW_MEM_STAG;
	if (mw->pd != who->pd)
		return VSW_MEM_PD;
	if (mw->kind == VSW_MEM_NARROW && mw->region != NULL)
		return VSW_MEM_BOUND;
	if (mw->kind == VSW_MEM_NARROW && bind->length == 0)
		return VSW_MEM_BOUNDS;
	if (bind->length != 0 && (bind->access & ~(uint32_t)VSW_MEM_REMOTE) != 0)
		return VSW_MEM_ACCESS;
	return VSW_MEM_OK;
}

/* Check the region and count the window on it, so that the region stays as it is. */
static enum vsw_mem_result
region_pin(struct vsw_mem_entry *mr, const struct vsw_mem_who *who, const struct ri_wr_bind *bind)
{
	vsw_lock(&mr->lock);
	enum vsw_mem_result result = region_check(mr, who, bind);
	if (result == VSW_MEM_OK)
		atomic_fetch_add(&mr->bound, 1);
	vsw_unlock(&mr->lock);
	return result;
}

void
vsw_mw_key(struct vsw_mem_table *table, struct ri_wr_bind *bind, uint32_t *stag)
{
	struct vsw_mem_entry *mw = vsw_mem_at(table, bind->mw_stag);

	if (mw == NULL || stag == NULL)
		return;
	vsw_lock(&mw->lock);
	if (mw->kind == VSW_MEM_WIDE && mw->stag >> 8 == bind->mw_stag >> 8) {
		bind->mw_stag = (bind->mw_stag & ~0xffu) | ++mw->posted;
		*stag = bind->mw_stag;
	}
	vsw_unlock(&mw->lock);
}

enum vsw_mem_result
vsw_mw_bind(struct vsw_mem_table *table, const struct vsw_mem_who *who,
	    const struct ri_wr_bind *bind, bool relative)
{
	bool empty = bind->length == 0; /* unbinds a wide window */
	struct vsw_mem_entry *mw = vsw_mem_at(table, bind->mw_stag);
	struct vsw_mem_entry *mr = vsw_mem_at(table, bind->mr_stag);
	enum vsw_mem_result result = VSW_MEM_OK;

	if (mw == NULL || (mr == NULL && !empty))
		return VSW_MEM_STAG;
	if (!empty)
		result = region_pin(mr, who, bind);
	if (result != VSW_MEM_OK)
		return result;

	vsw_lock(&mw->lock);
	result = window_check(mw, who, bind);
	if (result == VSW_MEM_OK) {
		window_unbind(mw);
		mw->stag = bind->mw_stag;
		if (!empty) {
			/* All that an access reads. The window is not live yet, and the region is pinned. */
			mw->region = mr;
			mw->qpn = who->qpn;
			mw->access = bind->access;
			mw->addr = bind->addr;
			mw->length = bind->length;
			mw->base = relative ? 0 : bind->addr;
			mw->zero_based = relative;
			mw->offset = bind->addr - mr->addr;
			mw->ptr = mr->ptr != NULL ? mr->ptr + mw->offset : NULL;
			atomic_store_explicit(&mw->live, mw->stag, memory_order_release);
		}
	}
	vsw_unlock(&mw->lock);
	if (result != VSW_MEM_OK && !empty)
		atomic_fetch_sub(&mr->bound, 1);
	return result;
}

/* --- invalidate -------------------------------------------------------------------------- */

static enum vsw_mem_result
region_invalidate(struct vsw_mem_entry *mr)
{
	if (mr->shareable)
		return VSW_MEM_ACCESS;
	if (atomic_load(&mr->bound) != 0)
		return VSW_MEM_BOUND;
	vsw_mem_close(mr);
	return VSW_MEM_OK;
}

static enum vsw_mem_result
window_invalidate(struct vsw_mem_entry *mw, const struct vsw_mem_who *who)
{
	if (mw->kind == VSW_MEM_WIDE)
		return VSW_MEM_ACCESS;
	if (atomic_load(&mw->live) != 0 && mw->qpn != who->qpn)
		return VSW_MEM_PD;
	window_unbind(mw);
	return VSW_MEM_OK;
}

enum vsw_mem_result
vsw_mem_invalidate(struct vsw_mem_table *table, const struct vsw_mem_who *who, uint32_t stag,
		   bool remote)
{
	struct vsw_mem_entry *entry = stag != 0 ? vsw_mem_at(table, stag) : NULL;
	enum vsw_mem_result result = VSW_MEM_OK;

	if (entry == NULL)
		return VSW_MEM_STAG;
	vsw_lock(&entry->lock);
	uint32_t live = atomic_load(&entry->live);
	if (entry->kind == VSW_MEM_FREE ||
	    (live != 0 ? live != stag : entry->stag >> 8 != stag >> 8))
		result = VSW_MEM_STAG; /* the key of an invalid entry means nothing */
	else if (entry->pd != who->pd)
		result = VSW_MEM_PD;
	else if (remote && (entry->access & VSW_MEM_REMOTE) == 0)
		result = VSW_MEM_ACCESS;
	else if (is_window(entry))
		result = window_invalidate(entry, who);
	else
		result = region_invalidate(entry);
	bool region = !is_window(entry);
	vsw_unlock(&entry->lock);
	if (result == VSW_MEM_OK && region)
		vsw_mem_settle(entry);
	return result;
}

uint32_t
vsw_mem_qp_windows(struct vsw_mem_table *table, uint32_t qpn, bool revoke)
{
	uint32_t bound = 0;

	if (atomic_load(&table->narrow) == 0)
		return 0;
	for (uint32_t slot = 0; slot < atomic_load(&table->high); slot++) {
		struct vsw_mem_entry *mw = vsw_mem_slot(table, slot);
		if (mw == NULL)
			continue;
		vsw_lock(&mw->lock);
		if (mw->kind == VSW_MEM_NARROW && mw->region != NULL && mw->qpn == qpn) {
			mw->dead = revoke;
			bound += !revoke;
			if (revoke)
				window_unbind(mw);
		}
		vsw_unlock(&mw->lock);
	}
	return bound;
}
