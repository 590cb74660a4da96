/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Regions, and the check of every access, in constant time and without a lock. vsw_mem_table.c draws and
 * finds the keys.
 *
 * Threads: any may call vsw_mem_begin, _end and _copy while others register and revoke. The access layer
 * never overlaps two registrations or revocations of one entry. Requests may bind and invalidate at any
 * time; vsw_mem_entry::lock orders those.
 *
 * Rights follow the RDMAC verbs 7.8 [RI 5.3]. A provider whose regions can always be read locally adds that
 * right before it registers.
 */
#include "vsw_copy.h"
#include "vsw_mem_table.h"

#include <string.h>

#define PAGE         4096u
#define LOCAL_RIGHTS (RI_ACCESS_LOCAL_READ | RI_ACCESS_LOCAL_WRITE)
#define ALL_RIGHTS   (VSW_MEM_REMOTE | LOCAL_RIGHTS | RI_ACCESS_BIND)

/* --- regions ----------------------------------------------------------------------------- */

/* [RI 5.3]: remote rights need the local ones, and there is at least one local right. */
static bool
rights_are_sound(uint32_t access)
{
	bool reads = (access & RI_ACCESS_LOCAL_READ) != 0;
	bool writes = (access & RI_ACCESS_LOCAL_WRITE) != 0;

	return (access & ~(uint32_t)ALL_RIGHTS) == 0 && (reads || writes) &&
	       (reads || (access & RI_ACCESS_REMOTE_READ) == 0) &&
	       (writes || (access & (RI_ACCESS_REMOTE_WRITE | RI_ACCESS_REMOTE_ATOMIC)) == 0);
}

/* What names the first byte [RI 10.53]. */
static uint64_t
name_of(const struct ri_mr_init *init)
{
	return init->iova_given ? init->iova : init->addr;
}

static enum ri_status
iova_check(const struct ri_mr_init *init)
{
	if (!init->iova_given)
		return RI_SUCCESS;
	if (init->zero_based || init->unlinked || init->pages != NULL ||
	    ((init->iova ^ init->addr) & (PAGE - 1)) != 0)
		return RI_ERR_INVALID_ARG;
	return init->iova + init->length - 1 < init->iova ? RI_ERR_ADDRESS : RI_SUCCESS;
}

static enum ri_status
init_check(const struct ri_mr_init *init)
{
	enum ri_status status = iova_check(init);

	if (status != RI_SUCCESS)
		return status;
	if (init->unlinked)
		return init->pages == NULL ? RI_SUCCESS : RI_ERR_INVALID_ARG;
	if (!rights_are_sound(init->access))
		return RI_ERR_INVALID_ARG;
	if (init->length == 0)
		return RI_ERR_INVALID_ARG;
	return init->addr + init->length - 1 < init->addr ? RI_ERR_ADDRESS : RI_SUCCESS;
}

/* Is the memory attached at the host? */
static bool
is_attached(const struct ri_mr_init *init)
{
	return !init->unlinked && init->pages == NULL;
}

/* Attach the memory of `init` as the one of the two that is not current; region_fill makes it current. */
static enum ri_status
memory_attach(struct vsw_mem_entry *mr, uint64_t owner, const struct ri_mr_init *init)
{
	const struct ri_host *host = mr->table->host;
	struct ri_mem *mem = &mr->mems[!mr->current];

	memset(mem, 0, sizeof(*mem));
	if (!is_attached(init))
		return RI_SUCCESS;
	mem->addr = init->addr;
	mem->length = init->length;
	return host->mem_attach(host->self, owner, mem, init->access);
}

static void
memory_detach(const struct vsw_mem_table *table, struct ri_mem *mem, bool attached)
{
	if (attached)
		table->host->mem_detach(table->host->self, mem);
}

/* Set all that an access reads; the entry is not live until then. Called with its lock. */
static void
region_fill(struct vsw_mem_entry *mr, const struct ri_mr_init *init, bool attached)
{
	assert(vsw_lock_is_owned(&mr->lock));
	if (mr->table->keys == RI_KEY_CONSUMER && !init->keep_stag)
		mr->stag = (mr->stag & ~0xffu) | init->key;

	mr->current = !mr->current;
	mr->attached = attached;
	mr->access = init->access;
	mr->addr = name_of(init);
	mr->length = init->length;
	mr->base = init->zero_based ? 0 : name_of(init);
	mr->zero_based = init->zero_based;
	mr->shareable = init->shareable;
	mr->ptr = mr->mems[mr->current].base;
	if (init->pages == NULL)
		mr->num_pieces = 0;
	mr->offset = 0;
	mr->region = mr;
	atomic_store(&mr->live, init->unlinked ? 0 : mr->stag);
}

enum ri_status
vsw_mr_reg(struct vsw_mem_table *table, const void *pd, uint64_t owner,
	   const struct ri_mr_init *init, struct vsw_mem_entry **out, uint32_t *stag)
{
	enum ri_status status = init_check(init);

	if (status != RI_SUCCESS)
		return status;

	/* A fast registration is revoked by requests. */
	struct vsw_mem_entry *mr =
		vsw_mem_entry_take(table, VSW_MEM_REGION, init->max_pages > 0, pd);
	if (mr == NULL)
		return RI_ERR_RESOURCES;
	if (init->max_pages > 0)
		status = vsw_mem_pieces_alloc(mr, init->max_pages);
	if (status == RI_SUCCESS && init->pages != NULL)
		status = vsw_mem_pieces_fill(mr, init);
	if (status == RI_SUCCESS)
		status = memory_attach(mr, owner, init);
	if (status != RI_SUCCESS) {
		vsw_mem_pieces_free(mr);
		vsw_mem_entry_give(mr);
		return status;
	}
	vsw_lock(&mr->lock);
	mr->owner = owner;
	region_fill(mr, init, is_attached(init));
	*stag = mr->stag;
	vsw_unlock(&mr->lock);
	*out = mr;
	return RI_SUCCESS;
}

enum ri_status
vsw_mr_reg_mapped(struct vsw_mem_table *table, const void *pd, const struct ri_mr_init *init,
		  uint8_t *memory, struct vsw_mem_entry **out, uint32_t *stag)
{
	enum ri_status status = init_check(init);
	struct vsw_mem_entry *mr;

	assert(is_attached(init) && init->max_pages == 0);
	if (status != RI_SUCCESS)
		return status;
	mr = vsw_mem_entry_take(table, VSW_MEM_REGION, false, pd);
	if (mr == NULL)
		return RI_ERR_RESOURCES;
	mr->mems[!mr->current] =
		(struct ri_mem){.addr = init->addr, .length = init->length, .base = memory};
	vsw_lock(&mr->lock);
	region_fill(mr, init, false);
	*stag = mr->stag;
	vsw_unlock(&mr->lock);
	*out = mr;
	return RI_SUCCESS;
}

/*
 * Revoke the key of a region. On return no access is in progress, and no request can make the
 * region valid again. False: windows are bound to it, and nothing was changed.
 */
static bool
region_retire(struct vsw_mem_entry *mr)
{
	vsw_lock(&mr->lock);
	bool busy = atomic_load(&mr->bound) != 0;
	if (!busy) {
		vsw_mem_close(mr);
		mr->kind = VSW_MEM_FREE;
	}
	vsw_unlock(&mr->lock);
	if (!busy)
		vsw_mem_settle(mr);
	return !busy;
}

enum ri_status
vsw_mr_rereg(struct vsw_mem_entry *mr, const void *pd, const struct ri_mr_init *init,
	     uint32_t *stag)
{
	enum ri_status status = init->pages == NULL ? init_check(init) : RI_ERR_UNSUPPORTED;

	if (status == RI_SUCCESS)
		status = memory_attach(mr, mr->owner, init);
	if (status != RI_SUCCESS)
		return status;

	struct ri_mem *before = &mr->mems[mr->current];
	uint8_t octet = vsw_mem_octet(mr->table);
	bool attached = mr->attached;
	if (!region_retire(mr)) {
		memory_detach(mr->table, &mr->mems[!mr->current], is_attached(init));
		return RI_ERR_BUSY;
	}
	vsw_lock(&mr->lock);
	mr->kind = VSW_MEM_REGION;
	mr->pd = pd;
	if (!init->keep_stag)
		vsw_mem_renew(mr, octet);
	region_fill(mr, init, is_attached(init));
	*stag = mr->stag;
	vsw_unlock(&mr->lock);
	memory_detach(mr->table, before, attached);
	return RI_SUCCESS;
}

enum ri_status
vsw_mr_dereg(struct vsw_mem_entry *mr)
{
	if (!region_retire(mr))
		return RI_ERR_BUSY;
	memory_detach(mr->table, &mr->mems[mr->current], mr->attached);
	vsw_mem_pieces_free(mr);
	vsw_mem_entry_give(mr);
	return RI_SUCCESS;
}

void
vsw_mr_query(struct vsw_mem_entry *mr, struct ri_mr_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	vsw_lock(&mr->lock);
	attr->stag = mr->stag;
	attr->access = mr->access;
	attr->addr = mr->addr;
	attr->length = mr->length;
	attr->valid = atomic_load(&mr->live) != 0;
	attr->zero_based = mr->zero_based;
	attr->bound = atomic_load(&mr->bound);
	vsw_unlock(&mr->lock);
}

/* --- accesses ---------------------------------------------------------------------------- */

/* Is this the entry's key, and valid? */
static inline bool
is_live(const struct vsw_mem_entry *entry, uint32_t stag)
{
	return atomic_load(&entry->live) == stag;
}

/* Is the access within the rights and the range? The entry is live, and stays as it is during the use. */
static inline bool
is_permitted(const struct vsw_mem_entry *entry, const struct vsw_mem_who *who,
	     const struct vsw_mem_access *wanted)
{
	uint64_t into =
		wanted->addr - entry->base; /* of an address below the range: longer than it */

	return entry->pd == who->pd && (entry->access & wanted->access) == wanted->access &&
	       into <= entry->length && wanted->length <= entry->length - into;
}

/* Why not? */
static enum vsw_mem_result
refusal(const struct vsw_mem_entry *entry, const struct vsw_mem_who *who,
	const struct vsw_mem_access *wanted)
{
	if (!is_live(entry, wanted->stag))
		return VSW_MEM_STAG;
	if (entry->pd != who->pd || (entry->narrow && entry->qpn != who->qpn))
		return VSW_MEM_PD;
	if ((entry->access & wanted->access) != wanted->access)
		return (entry->access & VSW_MEM_REMOTE) == 0 &&
				       (wanted->access & VSW_MEM_REMOTE) != 0
			       ? VSW_MEM_CLOSED
			       : VSW_MEM_ACCESS;
	return wanted->addr + wanted->length - 1 < wanted->addr ? VSW_MEM_WRAP : VSW_MEM_BOUNDS;
}

/* A use that counts nothing and has no memory. */
static enum vsw_mem_result
no_access(struct vsw_mem_use *use, enum vsw_mem_result result)
{
	*use = (struct vsw_mem_use){0};
	return result;
}

static inline void
use_fill(struct vsw_mem_use *use, const struct vsw_mem_entry *entry,
	 const struct vsw_mem_access *wanted)
{
	uint64_t into = wanted->addr - entry->base;

	use->region = entry->region;
	use->offset = entry->offset + into;
	use->ptr = entry->ptr != NULL ? entry->ptr + into : NULL;
}

/* Refuse an access whose use has begun. */
static __attribute__((noinline, cold)) enum vsw_mem_result
refuse(const struct vsw_mem_entry *entry, const struct vsw_mem_who *who,
       const struct vsw_mem_access *wanted, struct vsw_mem_use *use)
{
	enum vsw_mem_result result = refusal(entry, who, wanted);

	vsw_mem_end(use);
	return no_access(use, result);
}

/* An access to a window, or to a region that can be registered fast, or by a thread that has no free mark. */
static __attribute__((noinline)) enum vsw_mem_result
begin_counted(struct vsw_mem_entry *entry, const struct vsw_mem_who *who,
	      const struct vsw_mem_access *wanted, struct vsw_mem_use *use)
{
	vsw_marks_take();
	atomic_fetch_add(&entry->uses, 1);
	use->entry = entry;
	use->mark = NULL;
	if (!is_live(entry, wanted->stag) || !is_permitted(entry, who, wanted) ||
	    (entry->narrow && entry->qpn != who->qpn))
		return refuse(entry, who, wanted, use);
	use_fill(use, entry, wanted);
	return VSW_MEM_OK;
}

enum vsw_mem_result
vsw_mem_begin(struct vsw_mem_table *table, const struct vsw_mem_who *who,
	      const struct vsw_mem_access *wanted, struct vsw_mem_use *use)
{
	if (__builtin_expect(wanted->length == 0, 0))
		return no_access(use, VSW_MEM_OK);
	if (__builtin_expect(wanted->stag == 0, 0)) {
		/* STag 0 of a privileged queue pair: all memory of this process, for local use [RI 5.1]. */
		*use = (struct vsw_mem_use){0};
		if (!who->privileged)
			return VSW_MEM_STAG;
		if ((wanted->access & ~(uint32_t)LOCAL_RIGHTS) != 0)
			return VSW_MEM_ACCESS;
		use->ptr = (uint8_t *)(uintptr_t)wanted->addr;
		return VSW_MEM_OK;
	}

	struct vsw_mem_entry *entry = vsw_mem_at(table, wanted->stag);

	/* Before the use: repeated accesses with a revoked key must not delay the thread that revoked it. */
	if (__builtin_expect(entry == NULL || !is_live(entry, wanted->stag), 0))
		return no_access(use, VSW_MEM_STAG);

	vsw_mark *mark = atomic_load_explicit(&entry->counted, memory_order_relaxed)
				 ? NULL
				 : vsw_mark_set(entry);

	if (__builtin_expect(mark == NULL, 0))
		return begin_counted(entry, who, wanted, use);
	use->mark = mark;
	use->entry = NULL;
	if (__builtin_expect(!is_live(entry, wanted->stag) || !is_permitted(entry, who, wanted), 0))
		return refuse(entry, who, wanted, use);
	use_fill(use, entry, wanted);
	return VSW_MEM_OK;
}

/* Release: what was done with the memory comes before the end of the use, which vsw_mem_revoke reads. */
void
vsw_mem_end_counted(struct vsw_mem_use *use)
{
	if (use->entry != NULL)
		atomic_fetch_sub_explicit(&use->entry->uses, 1, memory_order_release);
	use->entry = NULL;
}

enum ri_status
vsw_mem_copy(const struct vsw_mem_use *use, uint64_t at, void *buf, size_t len, bool write)
{
	struct vsw_mem_entry *mr = use->region; /* NULL: all memory of a privileged queue pair */
	uint64_t left = len;

	if (len == 0)
		return RI_SUCCESS;
	if (use->ptr != NULL || mr->num_pieces > 0) {
		for (size_t done = 0; done < len; done += left) {
			uint8_t *piece = vsw_mem_piece(use, at + done, &left);
			uint8_t *own = (uint8_t *)buf + done;

			left = left < len - done ? left : len - done;
			if (!vsw_copy(write ? piece : own, write ? own : piece, left))
				return RI_ERR_ADDRESS;
		}
		return RI_SUCCESS;
	}

	const struct ri_host *host = mr->table->host;

	return host->mem_copy(host->self, &mr->mems[mr->current], use->offset + at, buf, len,
			      write);
}
