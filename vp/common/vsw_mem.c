/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The table of keys: who may touch which memory, answered in constant time without a lock.
 *
 * Entries live in chunks that are made when needed and stay until the table goes, so a key that is
 * stale, or guessed, can always be looked up safely. An index is 16 bits of slot and 8 of salt,
 * scrambled by four keyed Feistel rounds over 12-bit halves: a bijection, so indices never collide,
 * and without the secret one key tells nothing about the next (RFC 5042 section 8.1.1). The salt
 * changes at each use of a slot.
 *
 * Threads: vsw_mem_begin, _end and _copy from any thread, while others register and revoke.
 * Registration and revocation of one entry are the access layer's to order, except for what requests
 * do by themselves (bind, invalidate), which vsw_mem_entry::lock orders.
 *
 * Rights follow the RDMAC verbs 7.8 (verbs-semantics 5.3); a provider whose regions always allow
 * local reading adds that right before it registers.
 */
#include "vsw_mem_table.h"

#include <stdlib.h>
#include <string.h>

#define REST 64 /* slots given back before the oldest is used again */

#define LOCAL_RIGHTS (RI_ACCESS_LOCAL_READ | RI_ACCESS_LOCAL_WRITE)
#define ALL_RIGHTS   (VSW_MEM_REMOTE | LOCAL_RIGHTS | RI_ACCESS_BIND)

/* --- indices ----------------------------------------------------------------------------- */

static uint32_t
round_of(uint32_t half, uint32_t secret)
{
	return ((half * (secret | 1)) >> 11 ^ secret >> 20) & 0xfff;
}

static uint32_t
scramble(const struct vsw_mem_table *table, uint32_t plain)
{
	uint32_t left = plain >> 12;
	uint32_t right = plain & 0xfff;

	for (uint32_t i = 0; i < 4; i++) {
		uint32_t next = left ^ round_of(right, table->secret[i]);
		left = right;
		right = next;
	}
	return left << 12 | right;
}

static uint32_t
unscramble(const struct vsw_mem_table *table, uint32_t index)
{
	uint32_t left = index >> 12;
	uint32_t right = index & 0xfff;

	for (uint32_t i = 4; i-- > 0;) {
		uint32_t before = right ^ round_of(left, table->secret[i]);
		right = left;
		left = before;
	}
	return left << 12 | right;
}

uint32_t
vsw_mem_stag(const struct vsw_mem_entry *entry, uint8_t key)
{
	return scramble(entry->table, (uint32_t)entry->salt << 16 | entry->slot) << 8 | key;
}

struct vsw_mem_entry *
vsw_mem_slot(struct vsw_mem_table *table, uint32_t slot)
{
	struct vsw_mem_entry *chunk = atomic_load_explicit(
		&table->chunks[slot >> VSW_MEM_CHUNK_BITS], memory_order_acquire);

	return chunk != NULL ? &chunk[slot & (VSW_MEM_CHUNK - 1)] : NULL;
}

/* Of an index in vsw_mem_table::hot. */
static uint32_t
hot_place(uint32_t index)
{
	return (index ^ index >> 8) % VSW_MEM_HOT;
}

struct vsw_mem_entry *
vsw_mem_find(struct vsw_mem_table *table, uint32_t stag)
{
	uint32_t index = stag >> 8;
	uint32_t place = hot_place(index);
	struct vsw_mem_entry *entry =
		atomic_load_explicit(&table->hot[place], memory_order_acquire);

	if (entry != NULL && atomic_load_explicit(&entry->index, memory_order_relaxed) == index)
		return entry;
	entry = vsw_mem_slot(table, unscramble(table, index) & 0xffff);
	if (entry != NULL && atomic_load_explicit(&entry->index, memory_order_relaxed) == index)
		atomic_store_explicit(&table->hot[place], entry, memory_order_release);
	return entry;
}

/* --- slots ------------------------------------------------------------------------------- */

enum ri_status
vsw_mem_table_create(const struct ri_host *host, uint32_t max_entries, struct vsw_mem_table **out)
{
	if (max_entries == 0 || max_entries > VSW_MEM_SLOTS)
		return RI_ERR_LIMIT;

	struct vsw_mem_table *table = calloc(1, sizeof(*table));

	if (table == NULL)
		return RI_ERR_RESOURCES;
	table->host = host;
	table->max_entries = max_entries;
	host->random(host->self, table->secret, sizeof(table->secret));
	*out = table;
	return RI_SUCCESS;
}

void
vsw_mem_table_destroy(struct vsw_mem_table *table)
{
	for (uint32_t i = 0; i < VSW_MEM_CHUNKS; i++)
		free(atomic_load(&table->chunks[i]));
	free(table);
}

static struct vsw_mem_entry *
chunk_make(struct vsw_mem_table *table, uint32_t first)
{
	void *chunk = NULL;
	size_t bytes = VSW_MEM_CHUNK * sizeof(struct vsw_mem_entry);

	if (posix_memalign(&chunk, VSW_MEM_LINE, bytes) != 0)
		return NULL;
	memset(chunk, 0, bytes);

	struct vsw_mem_entry *entry = chunk;
	for (uint32_t i = 0; i < VSW_MEM_CHUNK; i++) {
		entry[i].table = table;
		entry[i].slot = first + i;
		table->host->random(table->host->self, &entry[i].salt, 1);
	}
	return entry;
}

/* A slot that was never used; called without the lock, since it may allocate. NULL: none left. */
static struct vsw_mem_entry *
slot_fresh(struct vsw_mem_table *table)
{
	uint32_t slot = atomic_load(&table->high);

	do {
		if (slot >= table->max_entries)
			return NULL;
	} while (!atomic_compare_exchange_weak(&table->high, &slot, slot + 1));

	uint32_t place = slot >> VSW_MEM_CHUNK_BITS;
	if (atomic_load(&table->chunks[place]) == NULL) {
		struct vsw_mem_entry *none = NULL;
		struct vsw_mem_entry *chunk = chunk_make(table, place << VSW_MEM_CHUNK_BITS);
		if (chunk != NULL &&
		    !atomic_compare_exchange_strong(&table->chunks[place], &none, chunk))
			free(chunk);
	}
	return vsw_mem_slot(table, slot); /* NULL without memory: the slot is lost, no more */
}

/* The slot that was given back longest ago, if enough others were given back since. */
static struct vsw_mem_entry *
slot_used(struct vsw_mem_table *table, uint32_t rest)
{
	vsw_lock(&table->lock);
	struct vsw_mem_entry *entry = table->num_free > rest ? table->free : NULL;
	if (entry != NULL) {
		table->free = entry->next_free;
		table->num_free--;
	}
	vsw_unlock(&table->lock);
	return entry;
}

/* Another index, never 0. Called with the entry's lock. */
static void
index_renew(struct vsw_mem_entry *entry)
{
	do
		entry->salt++;
	while (vsw_mem_stag(entry, 0) == 0);
	atomic_store(&entry->index, vsw_mem_stag(entry, 0) >> 8);
}

struct vsw_mem_entry *
vsw_mem_entry_take(struct vsw_mem_table *table, enum vsw_mem_kind kind, const void *pd)
{
	struct vsw_mem_entry *entry = slot_used(table, REST);

	if (entry == NULL)
		entry = slot_fresh(table);
	if (entry == NULL)
		entry = slot_used(table, 0);
	if (entry == NULL)
		return NULL;

	vsw_lock(&entry->lock);
	while (atomic_load(&entry->uses) != 0)
		sched_yield(); /* somebody looks up an old key and is about to leave */
	index_renew(entry);
	entry->kind = (uint8_t)kind;
	entry->pd = pd;
	entry->stag = vsw_mem_stag(entry, 0);
	entry->access = 0;
	entry->region = NULL;
	entry->zero_based = false;
	entry->shareable = false;
	entry->dead = false;
	entry->attached = false;
	entry->addr = 0;
	entry->length = 0;
	entry->ptr = NULL;
	atomic_store(&entry->bound, 0);
	vsw_unlock(&entry->lock);
	return entry;
}

void
vsw_mem_entry_give(struct vsw_mem_entry *entry)
{
	struct vsw_mem_table *table = entry->table;

	vsw_lock(&entry->lock);
	entry->kind = VSW_MEM_FREE;
	vsw_unlock(&entry->lock);

	vsw_lock(&table->lock);
	entry->next_free = NULL;
	if (table->num_free++ == 0)
		table->free = entry;
	else
		table->youngest->next_free = entry;
	table->youngest = entry;
	vsw_unlock(&table->lock);
}

void
vsw_mem_revoke(struct vsw_mem_entry *entry)
{
	atomic_store(&entry->live, 0);
	for (unsigned spins = 0; atomic_load(&entry->uses) != 0; spins++) {
		if (spins > 100)
			sched_yield();
	}
}

/* --- regions ----------------------------------------------------------------------------- */

/* verbs-semantics 5.3: remote rights need the local ones, and there is at least one local right. */
static bool
rights_are_sound(uint32_t access)
{
	bool reads = (access & RI_ACCESS_LOCAL_READ) != 0;
	bool writes = (access & RI_ACCESS_LOCAL_WRITE) != 0;

	return (access & ~(uint32_t)ALL_RIGHTS) == 0 && (reads || writes) &&
	       (reads || (access & RI_ACCESS_REMOTE_READ) == 0) &&
	       (writes || (access & (RI_ACCESS_REMOTE_WRITE | RI_ACCESS_REMOTE_ATOMIC)) == 0);
}

static enum ri_status
init_check(const struct ri_mr_init *init)
{
	if (init->unlinked)
		return init->pages == NULL ? RI_SUCCESS : RI_ERR_INVALID_ARG;
	if (!rights_are_sound(init->access))
		return RI_ERR_INVALID_ARG;
	if (init->length == 0)
		return RI_ERR_INVALID_ARG;
	return init->addr + init->length - 1 < init->addr ? RI_ERR_ADDRESS : RI_SUCCESS;
}

/* Attach what `init` asks for as the mem that is not current; it becomes so when filled in. */
static enum ri_status
memory_attach(struct vsw_mem_entry *mr, uint64_t owner, const struct ri_mr_init *init)
{
	const struct ri_host *host = mr->table->host;
	struct ri_mem *mem = &mr->mems[!mr->current];

	memset(mem, 0, sizeof(*mem));
	if (init->unlinked || init->pages != NULL)
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

/* Everything an access looks at; the entry is not live. Called with its lock. */
static void
region_fill(struct vsw_mem_entry *mr, const struct ri_mr_init *init)
{
	mr->current = !mr->current;
	mr->attached = !init->unlinked && init->pages == NULL;
	mr->access = init->access;
	mr->addr = init->addr;
	mr->length = init->length;
	mr->base = init->zero_based ? 0 : init->addr;
	mr->zero_based = init->zero_based;
	mr->shareable = init->shareable;
	mr->ptr = mr->mems[mr->current].base;
	if (init->pages == NULL)
		mr->num_pieces = 0;
	mr->offset = 0;
	mr->region = mr;
	mr->stag = vsw_mem_stag(mr, init->key);
	atomic_store(&mr->live, init->unlinked ? 0 : mr->stag);
}

enum ri_status
vsw_mr_reg(struct vsw_mem_table *table, const void *pd, uint64_t owner,
	   const struct ri_mr_init *init, struct vsw_mem_entry **out, uint32_t *stag)
{
	enum ri_status status = init_check(init);

	if (status != RI_SUCCESS)
		return status;

	struct vsw_mem_entry *mr = vsw_mem_entry_take(table, VSW_MEM_REGION, pd);
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
	region_fill(mr, init);
	*stag = mr->stag;
	vsw_unlock(&mr->lock);
	*out = mr;
	return RI_SUCCESS;
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
	vsw_lock(&mr->lock);
	bool busy = atomic_load(&mr->bound) != 0;
	bool attached = busy ? !init->unlinked : mr->attached;
	if (busy) {
		before = &mr->mems[!mr->current];
	} else {
		vsw_mem_revoke(mr);
		mr->pd = pd;
		index_renew(mr);
		region_fill(mr, init);
		*stag = mr->stag;
	}
	vsw_unlock(&mr->lock);
	memory_detach(mr->table, before, attached);
	return busy ? RI_ERR_BUSY : RI_SUCCESS;
}

enum ri_status
vsw_mr_dereg(struct vsw_mem_entry *mr)
{
	vsw_lock(&mr->lock);
	bool busy = atomic_load(&mr->bound) != 0;
	if (!busy)
		vsw_mem_revoke(mr);
	vsw_unlock(&mr->lock);
	if (busy)
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

static enum vsw_mem_result
access_check(const struct vsw_mem_entry *entry, const struct vsw_mem_who *who,
	     const struct vsw_mem_ask *ask)
{
	if (entry->pd != who->pd || (entry->kind == VSW_MEM_NARROW && entry->qpn != who->qpn))
		return VSW_MEM_PD;
	if ((entry->access & ask->access) != ask->access)
		return VSW_MEM_ACCESS;
	if (ask->addr + ask->length - 1 < ask->addr)
		return VSW_MEM_WRAP;
	if (ask->addr < entry->base || ask->addr - entry->base > entry->length ||
	    ask->length > entry->length - (ask->addr - entry->base))
		return VSW_MEM_BOUNDS;
	return VSW_MEM_OK;
}

/* STag 0 of a privileged queue pair: all memory of this process, for local use (5.1). */
static enum vsw_mem_result
direct_access(const struct vsw_mem_who *who, const struct vsw_mem_ask *ask, struct vsw_mem_use *use)
{
	if (!who->privileged)
		return VSW_MEM_STAG;
	if ((ask->access & ~(uint32_t)LOCAL_RIGHTS) != 0)
		return VSW_MEM_ACCESS;
	use->ptr = (uint8_t *)(uintptr_t)ask->addr;
	return VSW_MEM_OK;
}

/* As vsw_mem_find, for a key that is probably good: looks at nothing that the access does not need. */
static struct vsw_mem_entry *
find_live(struct vsw_mem_table *table, uint32_t stag)
{
	struct vsw_mem_entry *entry =
		atomic_load_explicit(&table->hot[hot_place(stag >> 8)], memory_order_acquire);

	if (entry != NULL && atomic_load_explicit(&entry->live, memory_order_relaxed) == stag)
		return entry;
	return vsw_mem_find(table, stag);
}

enum vsw_mem_result
vsw_mem_begin(struct vsw_mem_table *table, const struct vsw_mem_who *who,
	      const struct vsw_mem_ask *ask, struct vsw_mem_use *use)
{
	*use = (struct vsw_mem_use){0};
	if (ask->length == 0)
		return VSW_MEM_OK;
	if (ask->stag == 0)
		return direct_access(who, ask, use);

	struct vsw_mem_entry *entry = find_live(table, ask->stag);
	if (entry == NULL)
		return VSW_MEM_STAG;

	enum vsw_mem_result result = VSW_MEM_STAG;
	atomic_fetch_add(&entry->uses, 1);
	if (atomic_load(&entry->live) == ask->stag)
		result = access_check(entry, who, ask);
	if (result != VSW_MEM_OK) {
		atomic_fetch_sub_explicit(&entry->uses, 1, memory_order_release);
		return result;
	}

	uint64_t into = ask->addr - entry->base;
	use->entry = entry;
	use->region = entry->region;
	use->offset = entry->offset + into;
	use->ptr = entry->ptr != NULL ? entry->ptr + into : NULL;
	return VSW_MEM_OK;
}

void
vsw_mem_end(struct vsw_mem_use *use)
{
	if (use->entry != NULL)
		atomic_fetch_sub_explicit(&use->entry->uses, 1, memory_order_release);
	use->entry = NULL;
}

enum ri_status
vsw_mem_copy(const struct vsw_mem_use *use, uint64_t at, void *buf, size_t len, bool write)
{
	if (use->ptr != NULL && write)
		memcpy(use->ptr + at, buf, len);
	else if (use->ptr != NULL)
		memcpy(buf, use->ptr + at, len);
	if (use->ptr != NULL || len == 0)
		return RI_SUCCESS;

	struct vsw_mem_entry *mr = use->region;
	const struct ri_host *host = mr->table->host;
	uint64_t left = 0;
	if (mr->num_pieces > 0) {
		for (size_t done = 0; done < len; done += left) {
			uint8_t *piece = vsw_mem_piece(use, at + done, &left);
			left = left < len - done ? left : len - done;
			memcpy(write ? piece : (uint8_t *)buf + done,
			       write ? (const uint8_t *)buf + done : piece, left);
		}
		return RI_SUCCESS;
	}

	return host->mem_copy(host->self, &mr->mems[mr->current], use->offset + at, buf, len,
			      write);
}
