/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The memory table; private to vsw_mem.c, vsw_mem_table.c, vsw_window.c and vsw_list.c. */
#ifndef VSW_MEM_TABLE_H
#define VSW_MEM_TABLE_H

#include <stdalign.h>

#include "vsw_draw.h"
#include "vsw_mem.h"

#define VSW_MEM_LINE 64 /* bytes of a cache line */

#define VSW_MEM_SLOTS      65536 /* entries at most */
#define VSW_MEM_CHUNK_BITS 9
#define VSW_MEM_CHUNK      (1u << VSW_MEM_CHUNK_BITS)
#define VSW_MEM_CHUNKS     (VSW_MEM_SLOTS / VSW_MEM_CHUNK)
#define VSW_MEM_PIECES     4096 /* of a region at most; bounds the memory that one call can take */

enum vsw_mem_kind {
	VSW_MEM_FREE = 0, /* the slot is not in use */
	VSW_MEM_REGION,
	VSW_MEM_NARROW,
	VSW_MEM_WIDE
};

/*
 * A region or window. `live` is the STag while accesses are allowed, else 0. An access sets a mark of its thread
 * (vsw_mark.h), or increments `uses`, and then reads `live`; a revocation clears `live` and then waits until no mark names
 * the entry and `uses` is 0. Members that change only while `live` is 0, and after that wait, can therefore be read by an
 * access without a lock.
 *
 * `counted` says that accesses to this entry use the counter and no marks, so that requests can
 * revoke the key quickly. It changes only before the entry gets another index, so an access that
 * found the entry by its index sees the right value.
 */
struct vsw_mem_entry {
	alignas(VSW_MEM_LINE) atomic_uint live;
	atomic_bool counted;
	uint32_t access;              /* RI_ACCESS_* */
	uint32_t qpn;                 /* narrow window: of the QP that bound it */
	const void *pd;               /* compared, never dereferenced */
	uint64_t base;                /* address of the first byte, as an access names it */
	uint64_t length;              /* bytes */
	uint8_t *ptr;                 /* first byte here, or NULL: through the host */
	uint64_t offset;              /* of the first byte within the region's memory */
	struct vsw_mem_entry *region; /* itself, or the region under a window; NULL: unbound */

	/* Accesses do not read the following, but for these two. */
	alignas(VSW_MEM_LINE) atomic_uint uses;
	bool narrow;          /* a narrow window */
	struct vsw_lock lock; /* changes of this entry; never two at a time */
	uint8_t kind; /* enum vsw_mem_kind; VSW_MEM_FREE from the time when the key is revoked */
	bool zero_based;
	bool shareable;
	bool attached;  /* the current mem is attached at the host */
	bool dead;      /* a window whose queue pair has ended: it cannot be bound again */
	uint8_t posted; /* wide window: the key of the last bind that vsw_mw_key has seen */
	uint32_t
		stag; /* last STag given; its index names the place, so it changes under the lock */
	atomic_uint bound; /* region: windows on it */
	uint64_t addr;     /* virtual address, as registered or bound */
	uint64_t owner;
	uint8_t current; /* which of mems: a re-registration attaches the new one before it detaches the old */
	struct vsw_mem_piece *pieces; /* room for a list, or NULL; vsw_list.c */
	uint32_t pieces_room;
	uint32_t num_pieces;   /* 0: the memory is one range */
	struct ri_mem mems[2]; /* in a list of the host, so they must not move */
	struct vsw_mem_table *table;
	struct vsw_mem_entry *next_free;
};

struct vsw_mem_table {
	const struct ri_host *host;
	uint32_t max_entries;
	uint32_t places_mask;
	/* By the low bits of the index; NULL: no entry. */
	_Atomic(struct vsw_mem_entry *) *places;
	enum ri_key_owner keys; /* who chooses the key octet of a region */
	struct vsw_draw draw;   /* of the indices */
	atomic_uint high;       /* slots ever used */
	atomic_uint narrow;     /* narrow windows that exist */
	struct vsw_lock lock;   /* the list of free slots */
	struct vsw_mem_entry *free;
	_Atomic(struct vsw_mem_entry *) chunks[VSW_MEM_CHUNKS];
};

/*
 * The entry in the place of this STag, which may have another index, key or state. Fast path. Acquire pairs
 * with the exchange that puts an entry there: the entry is seen with its members set.
 */
static inline struct vsw_mem_entry *
vsw_mem_at(struct vsw_mem_table *table, uint32_t stag)
{
	return atomic_load_explicit(&table->places[(stag >> 8) & table->places_mask],
				    memory_order_acquire);
}

/* The entry of a slot, or NULL. */
struct vsw_mem_entry *vsw_mem_slot(struct vsw_mem_table *table, uint32_t slot);
/* A free entry of this kind, invalid, with a new index; `counted`: see vsw_mem_entry. NULL: none left. */
struct vsw_mem_entry *vsw_mem_entry_take(struct vsw_mem_table *table, enum vsw_mem_kind kind,
					 bool counted, const void *pd);
void vsw_mem_entry_give(struct vsw_mem_entry *entry);
/* Room for `room` pieces; they are set while the entry is not live. RI_ERR_LIMIT: over VSW_MEM_PIECES. */
enum ri_status vsw_mem_pieces_alloc(struct vsw_mem_entry *mr, uint32_t room) RI_MUST_CHECK;
void vsw_mem_pieces_free(struct vsw_mem_entry *mr);
/* Set the pieces from the list of a registration. RI_ERR_INVALID_ARG: they are not as long as the region. */
enum ri_status vsw_mem_pieces_fill(struct vsw_mem_entry *mr,
				   const struct ri_mr_init *init) RI_MUST_CHECK;
/* From here on no access begins. Called with the entry's lock. */
static inline void
vsw_mem_close(struct vsw_mem_entry *entry)
{
	assert(vsw_lock_is_owned(&entry->lock));
	atomic_store(&entry->live, 0);
}

/* After vsw_mem_close: wait for the accesses that are under way. Without a lock, since it may make a system call. */
void vsw_mem_settle(const struct vsw_mem_entry *entry);
/* Both, for an entry whose uses are counted. Called with its lock. */
void vsw_mem_revoke(struct vsw_mem_entry *entry);
/* A key octet of the host's random source. Not to be called with a lock: the host may make a system call. */
uint8_t vsw_mem_octet(const struct vsw_mem_table *table);
/* Draw another index and take this key octet; see vsw_mem_entry::stag. Called with the entry's lock. */
void vsw_mem_renew(struct vsw_mem_entry *entry, uint8_t octet);

#endif /* VSW_MEM_TABLE_H */
