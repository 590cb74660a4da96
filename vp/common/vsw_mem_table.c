/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The table of keys: slots, and the indices under which they are found.
 *
 * Entries are in chunks that are allocated when needed and stay until the table is destroyed, so a stale or guessed
 * key can always be looked up safely. Each use of a slot and each re-registration draws a new index (vsw_draw.h). It
 * cannot be predicted, it is not drawn again within the next 2^23 draws, and it tells nothing about the slot (RFC
 * 5042: STags that are hard to guess). A registration draws once, and again for each drawn place that is occupied.
 * At most a quarter of the places are occupied, so a key is not repeated within some six million registrations.
 *
 * The low bits of an index name the place where its entry is found. There are four times as many places as
 * entries, and two indices of one place are never in use at the same time.
 *
 * The key octet of an STag comes from the host's random source, unless the access layer owns it.
 */
#include "vsw_mem_table.h"

#include <stdlib.h>
#include <string.h>

#include "vsw_guard.h"
#include "vsw_relax.h"

#define PLACES_PER_ENTRY 4

/* --- keys -------------------------------------------------------------------------------- */

uint8_t
vsw_mem_octet(const struct vsw_mem_table *table)
{
	uint8_t octet = 0;

	table->host->random(table->host->self, &octet, sizeof(octet));
	return octet;
}

/* Make the entry impossible to find. Called with its lock. */
static void
place_leave(struct vsw_mem_entry *entry)
{
	struct vsw_mem_table *table = entry->table;
	struct vsw_mem_entry *self = entry;
	uint32_t index = entry->stag >> 8;

	assert(vsw_lock_is_owned(&entry->lock));
	/* Before its first use the entry has index 0; that place has another entry, or none. */
	(void)atomic_compare_exchange_strong(&table->places[index & table->places_mask], &self,
					     NULL);
}

void
vsw_mem_renew(struct vsw_mem_entry *entry, uint8_t octet)
{
	struct vsw_mem_table *table = entry->table;
	struct vsw_mem_entry *none;
	uint32_t index;

	assert(vsw_lock_is_owned(&entry->lock));
	place_leave(entry);
	do {
		index = vsw_draw_next(&table->draw);
		none = NULL;
	} while (index == 0 || /* STag 0 names all memory for a privileged queue pair */
		 !atomic_compare_exchange_strong(&table->places[index & table->places_mask], &none,
						 entry));
	entry->stag = index << 8 | octet;
}

/* --- table ------------------------------------------------------------------------------- */

enum ri_status
vsw_mem_table_create(const struct ri_host *host, uint32_t max_entries, enum ri_key_owner keys,
		     struct vsw_mem_table **out)
{
	if (max_entries == 0 || max_entries > VSW_MEM_SLOTS)
		return RI_ERR_LIMIT;

	struct vsw_mem_table *table = calloc(1, sizeof(*table));
	uint32_t places = 1;

	if (table == NULL)
		return RI_ERR_RESOURCES;
	vsw_marks_setup();
	while (places < max_entries * PLACES_PER_ENTRY)
		places *= 2;
	table->places = calloc(
		places, sizeof(*table->places)); /* pages that are not used yet cost nothing */
	if (table->places == NULL) {
		free(table);
		return RI_ERR_RESOURCES;
	}
	table->places_mask = places - 1;
	table->host = host;
	table->max_entries = max_entries;
	table->keys = keys;
	vsw_draw_init(&table->draw, host);
	vsw_guard_open();
	*out = table;
	return RI_SUCCESS;
}

void
vsw_mem_table_destroy(struct vsw_mem_table *table)
{
	vsw_guard_close();
	for (uint32_t i = 0; i < VSW_MEM_CHUNKS; i++)
		free(atomic_load(&table->chunks[i]));
	free(table->places);
	free(table);
}

/* --- slots ------------------------------------------------------------------------------- */

struct vsw_mem_entry *
vsw_mem_slot(struct vsw_mem_table *table, uint32_t slot)
{
	/* Acquire pairs with the exchange in chunk_ensure: the chunk is seen with its members set. */
	struct vsw_mem_entry *chunk = atomic_load_explicit(
		&table->chunks[slot >> VSW_MEM_CHUNK_BITS], memory_order_acquire);

	return chunk != NULL ? &chunk[slot & (VSW_MEM_CHUNK - 1)] : NULL;
}

static struct vsw_mem_entry *
chunk_create(struct vsw_mem_table *table)
{
	void *chunk = NULL;
	size_t bytes = VSW_MEM_CHUNK * sizeof(struct vsw_mem_entry);

	if (posix_memalign(&chunk, VSW_MEM_LINE, bytes) != 0)
		return NULL;
	memset(chunk, 0, bytes);

	struct vsw_mem_entry *entry = chunk;
	for (uint32_t i = 0; i < VSW_MEM_CHUNK; i++)
		entry[i].table = table;
	return entry;
}

/* Allocate the chunk of this slot if it is missing. False: no memory. */
static bool
chunk_ensure(struct vsw_mem_table *table, uint32_t slot)
{
	uint32_t place = slot >> VSW_MEM_CHUNK_BITS;
	struct vsw_mem_entry *none = NULL;

	if (atomic_load(&table->chunks[place]) != NULL)
		return true;

	struct vsw_mem_entry *chunk = chunk_create(table);
	if (chunk != NULL && !atomic_compare_exchange_strong(&table->chunks[place], &none, chunk))
		free(chunk);
	return chunk != NULL;
}

/*
 * A slot that was never used; called without the lock, since it may allocate. NULL: none left, or no
 * memory, and then no slot is lost.
 */
static struct vsw_mem_entry *
slot_take_unused(struct vsw_mem_table *table)
{
	uint32_t slot = atomic_load(&table->high);

	do {
		if (slot >= table->max_entries || !chunk_ensure(table, slot))
			return NULL;
	} while (!atomic_compare_exchange_weak(&table->high, &slot, slot + 1));
	return vsw_mem_slot(table, slot);
}

/* A slot that was given back. */
static struct vsw_mem_entry *
slot_take_returned(struct vsw_mem_table *table)
{
	vsw_lock(&table->lock);
	struct vsw_mem_entry *entry = table->free;
	if (entry != NULL)
		table->free = entry->next_free;
	vsw_unlock(&table->lock);
	return entry;
}

struct vsw_mem_entry *
vsw_mem_entry_take(struct vsw_mem_table *table, enum vsw_mem_kind kind, bool counted,
		   const void *pd)
{
	/* The access layer's octet of a region comes with region_fill. */
	bool given = kind == VSW_MEM_REGION && table->keys == RI_KEY_CONSUMER;
	uint8_t octet = given ? 0 : vsw_mem_octet(table);
	struct vsw_mem_entry *entry = slot_take_returned(table);

	if (entry == NULL)
		entry = slot_take_unused(table);
	if (entry == NULL)
		entry = slot_take_returned(table); /* one may have been given back meanwhile */
	if (entry == NULL)
		return NULL;

	vsw_lock(&entry->lock);
	for (unsigned round = 0; atomic_load(&entry->uses) != 0; round++)
		vsw_relax(table->host,
			  round); /* an access looks up an old key and is about to be refused */
	atomic_store(&entry->counted, counted);
	vsw_mem_renew(entry, octet);
	entry->kind = (uint8_t)kind;
	entry->narrow = kind == VSW_MEM_NARROW;
	entry->pd = pd;
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
	place_leave(entry);
	entry->kind = VSW_MEM_FREE;
	vsw_unlock(&entry->lock);

	vsw_lock(&table->lock);
	entry->next_free = table->free;
	table->free = entry;
	vsw_unlock(&table->lock);
}

static void
uses_wait(const struct vsw_mem_entry *entry)
{
	for (unsigned round = 0; atomic_load(&entry->uses) != 0; round++)
		vsw_relax(entry->table->host, round);
}

void
vsw_mem_settle(const struct vsw_mem_entry *entry)
{
	if (!atomic_load(&entry->counted))
		vsw_marks_wait(entry);
	uses_wait(entry);
}

void
vsw_mem_revoke(struct vsw_mem_entry *entry)
{
	assert(atomic_load(&entry->counted));
	vsw_mem_close(entry);
	uses_wait(entry);
}
