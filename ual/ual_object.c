/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Arenas and handles.
 *
 * Memory comes in chunks of 256 slots, aligned to their size and never unmapped, so the address of a slot can be read
 * at any later time. A hash table that only grows has the addresses of chunks; readers use it without a lock. The
 * tag of a slot decides whether a handle is valid: it has the type and the generation, and a bit that hides an object
 * while it is created or destroyed.
 *
 *   free  --new-->  hidden  --publish-->  reachable  --retract-->  hidden  --delete-->  free
 *
 * delete increments the generation, so every earlier handle of the slot stays invalid. Generations run from
 * 1 to 1023: an address without a generation, the most likely garbage, is never a handle. Free slots wait in a queue,
 * and the oldest is reused only when enough others are behind it. A stale handle becomes valid again only after
 * 1023 uses of its slot.
 *
 * Threads: all functions may run at once on different objects. The arena has one lock, for new and delete. refs is a
 * count with a bit on top that forbids more references: a free call sets the bit while the count is 0, a call that
 * takes a reference increments the count while the bit is clear. So one of the two fails.
 *
 * A call that enters an object increments the slot's count of visitors and checks the tag again; a call that retracts
 * the object hides the tag and then checks the count. So one of the two sees the other. The count belongs to the slot,
 * not to the object: a late caller with a stale handle may increment it at any time, until its second check.
 *
 * After a fork the child owns nothing: its table of chunks is emptied, so every handle that it inherited is
 * invalid [IT 1.13].
 */
#include "ual_object.h"

#include <string.h>
#include <sys/mman.h>

#include "ri_owned.h"
#include "session_section.h"
#include "ual.h"
#include "ual_ia.h"

#define CHUNK_SLOTS    (UAL_CHUNK_SIZE / UAL_SLOT_SIZE)
#define TABLE_FULL     (UAL_CHUNK_TABLE / 4 * 3)
#define QUARANTINE     512u /* free slots that wait before the oldest is reused */
#define GENERATION_MAX UAL_GENERATION_MAX
#define TAG_HIDDEN     0x80000000u
#define REFS_FROZEN    0x80000000u

_Static_assert((UAL_SLOT_SIZE & (UAL_SLOT_SIZE - 1)) == 0, "the stride is a power of two");

_Atomic uintptr_t ual_object_chunks[UAL_CHUNK_TABLE];

/* Under arena_lock. */
static pthread_mutex_t arena_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	unsigned chunks;          /* entries of ual_object_chunks */
	uintptr_t fresh;          /* next slot that was never used */
	unsigned fresh_count;     /* slots from there on */
	struct ual_object *first; /* freed slots, oldest first, linked by next */
	struct ual_object *last;
	unsigned freed;
} arena;

bool
ual_object_chunk_known(uintptr_t chunk)
{
	unsigned i = ual_object_chunk_hash(chunk);
	uintptr_t entry;

	/* Acquire: a thread that sees the entry may read the chunk. Entries are never removed. */
	while ((entry = atomic_load_explicit(&ual_object_chunks[i], memory_order_acquire)) != 0) {
		if (entry == chunk)
			return true;
		i = (i + 1) % UAL_CHUNK_TABLE;
	}
	return false;
}

static void
chunk_enter(uintptr_t chunk)
{
	unsigned i = ual_object_chunk_hash(chunk);

	while (atomic_load(&ual_object_chunks[i]) != 0)
		i = (i + 1) % UAL_CHUNK_TABLE;
	atomic_store(&ual_object_chunks[i], chunk);
	arena.chunks++;
}

/* Map a chunk at an address that is a multiple of its size. */
static bool
chunk_map(void)
{
	RI_ASSERT_OWNED(&arena_lock);
	uintptr_t start, chunk;
	void *map;

	if (arena.chunks == TABLE_FULL)
		return false;
	map = mmap(NULL, 2 * UAL_CHUNK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		   -1, 0);
	if (map == MAP_FAILED)
		return false;
	start = (uintptr_t)map;
	chunk = (start + UAL_CHUNK_SIZE - 1) / UAL_CHUNK_SIZE * UAL_CHUNK_SIZE;
	if (chunk > start)
		munmap(map, chunk - start);
	if (chunk < start + UAL_CHUNK_SIZE)
		munmap((void *)(chunk + UAL_CHUNK_SIZE), start + UAL_CHUNK_SIZE - chunk);
	chunk_enter(chunk);
	arena.fresh = chunk;
	arena.fresh_count = CHUNK_SLOTS;
	return true;
}

static void
fork_prepare(void)
{
	pthread_mutex_lock(&arena_lock);
}

static void
fork_parent(void)
{
	pthread_mutex_unlock(&arena_lock);
}

static void
fork_child(void)
{
	for (unsigned i = 0; i < UAL_CHUNK_TABLE; i++)
		atomic_store(&ual_object_chunks[i], 0);
	memset(&arena, 0, sizeof(arena));
	pthread_mutex_unlock(&arena_lock);
}

static void
process_setup(void)
{
	pthread_atfork(fork_prepare, fork_parent, fork_child);
}

/* Take the oldest freed slot. */
static struct ual_object *
slot_reuse(void)
{
	struct ual_object *slot = arena.first;

	RI_ASSERT_OWNED(&arena_lock);
	if (slot == NULL)
		return NULL;
	arena.first = slot->next;
	if (arena.first == NULL)
		arena.last = NULL;
	arena.freed--;
	return slot;
}

static struct ual_object *
slot_take(void)
{
	struct ual_object *slot;

	RI_ASSERT_OWNED(&arena_lock);
	if (arena.freed > QUARANTINE)
		return slot_reuse();
	if (arena.fresh_count == 0 && !chunk_map())
		return slot_reuse();
	slot = (struct ual_object *)arena.fresh;
	arena.fresh += UAL_SLOT_SIZE;
	arena.fresh_count--;
	atomic_store(&slot->tag, 1);
	return slot;
}

static void
list_enter(struct ual_objects *list, struct ual_object *object)
{
	pthread_mutex_lock(&list->lock);
	object->next = list->first;
	if (object->next != NULL)
		object->next->prev = object;
	list->first = object;
	pthread_mutex_unlock(&list->lock);
}

static void
list_leave(struct ual_objects *list, struct ual_object *object)
{
	pthread_mutex_lock(&list->lock);
	if (object->prev != NULL)
		object->prev->next = object->next;
	else
		list->first = object->next;
	if (object->next != NULL)
		object->next->prev = object->prev;
	pthread_mutex_unlock(&list->lock);
}

void *
ual_object_new(enum ual_type type, struct ual_ia *ia, struct ual_objects *list)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct ual_object *object;
	unsigned generation;

	pthread_once(&once, process_setup);
	pthread_mutex_lock(&arena_lock);
	object = slot_take();
	pthread_mutex_unlock(&arena_lock);
	if (object == NULL)
		return NULL;
	generation = atomic_load(&object->tag);
	/* All but tag and visitors, which callers with a stale handle may read now. */
	memset((char *)object + offsetof(struct ual_object, refs), 0,
	       UAL_SLOT_SIZE - offsetof(struct ual_object, refs));
	atomic_store(&object->tag, TAG_HIDDEN | (unsigned)type << 16 | generation);
	object->ia = ia != NULL ? ia : (struct ual_ia *)object;
	object->list = list;
	if (list != NULL)
		list_enter(list, object);
	return object;
}

void *
ual_object_publish(struct ual_object *object)
{
	atomic_fetch_and(&object->tag, ~TAG_HIDDEN);
	return ual_object_handle(object);
}

bool
ual_object_hide(struct ual_object *object)
{
	return (atomic_fetch_or(&object->tag, TAG_HIDDEN) & TAG_HIDDEN) == 0;
}

unsigned
ual_object_visitors(struct ual_object *object)
{
	return atomic_load(&object->visitors);
}

bool
ual_object_retract(struct ual_object *object)
{
	if (!ual_object_hide(object))
		return false;
	session_section_wait(&object->ia->session);
	/* The caller is one of them, unless the handle was never returned to the application. */
	for (unsigned round = 0; ual_object_visitors(object) > 1; round++)
		session_relax(&object->ia->session, round);
	return true;
}

void
ual_object_delete(struct ual_object *object)
{
	unsigned generation = atomic_load(&object->tag) & GENERATION_MAX;

	if (object->list != NULL)
		list_leave(object->list, object);
	/* A late ual_object_use must not take a reference on a slot that ual_object_new is about to clear. */
	atomic_store(&object->refs, REFS_FROZEN);
	atomic_store(&object->tag, generation == GENERATION_MAX ? 1 : generation + 1);
	object->next = NULL;
	pthread_mutex_lock(&arena_lock);
	if (arena.last != NULL)
		arena.last->next = object;
	else
		arena.first = object;
	arena.last = object;
	arena.freed++;
	pthread_mutex_unlock(&arena_lock);
}

/* The slot that a handle points into, and its tag now; NULL if there is none. */
static struct ual_object *
slot_of(uintptr_t handle, unsigned *tag)
{
	struct ual_object *slot = (struct ual_object *)(handle & ~(uintptr_t)GENERATION_MAX);

	if (!ual_object_chunk_known(handle & ~(UAL_CHUNK_SIZE - 1)))
		return NULL;
	*tag = atomic_load(&slot->tag);
	return slot;
}

void *
ual_object_enter(const void *handle, enum ual_type type)
{
	struct ual_object *object = (struct ual_object *)ual_object_get(handle, type);

	if (object == NULL)
		return NULL;
	atomic_fetch_add(&object->visitors, 1);
	if (ual_object_get(handle, type) == object)
		return object;
	atomic_fetch_sub(&object->visitors, 1);
	return NULL;
}

void
ual_object_visit(struct ual_object *object)
{
	atomic_fetch_add(&object->visitors, 1);
}

void
ual_object_leave(struct ual_object *object)
{
	atomic_fetch_sub(&object->visitors, 1);
}

struct ual_object *
ual_object_any(const void *handle, enum ual_type *type)
{
	uintptr_t value = (uintptr_t)handle;
	struct ual_object *slot;
	unsigned tag;

	slot = slot_of(value, &tag);
	if (slot == NULL || (tag & 0xffff) != (value & GENERATION_MAX))
		return NULL;
	/* A hidden object has a "type" beyond the last, a free slot has 0. */
	if (tag >> 16 == UAL_FREE || tag >> 16 >= UAL_TYPE_COUNT)
		return NULL;
	*type = (enum ual_type)(tag >> 16);
	return slot;
}

enum ual_type
ual_object_type(const struct ual_object *object)
{
	return (enum ual_type)((atomic_load(&object->tag) & ~TAG_HIDDEN) >> 16);
}

uint64_t
ual_object_ctx(const struct ual_object *object)
{
	return (uintptr_t)ual_object_handle(object);
}

bool
ual_object_ref(struct ual_object *object)
{
	unsigned refs = atomic_load(&object->refs);

	do {
		if ((refs & REFS_FROZEN) != 0)
			return false;
	} while (!atomic_compare_exchange_weak(&object->refs, &refs, refs + 1));
	return true;
}

void
ual_object_unref(struct ual_object *object)
{
	atomic_fetch_sub(&object->refs, 1);
}

void *
ual_object_use(const void *handle, enum ual_type type, const struct ual_ia *ia)
{
	struct ual_object *object = ual_object_get(handle, type);

	if (object == NULL || !ual_object_ref(object))
		return NULL;
	/* The slot may have been reused before the reference took effect. */
	if (ual_object_get(handle, type) == object && (ia == NULL || object->ia == ia))
		return object;
	ual_object_unref(object);
	return NULL;
}

bool
ual_object_freeze(struct ual_object *object)
{
	unsigned none = 0;

	return atomic_compare_exchange_strong(&object->refs, &none, REFS_FROZEN);
}

bool
ual_object_frozen(struct ual_object *object)
{
	return (atomic_load(&object->refs) & REFS_FROZEN) != 0;
}

void
ual_object_thaw(struct ual_object *object)
{
	atomic_fetch_and(&object->refs, ~REFS_FROZEN);
}

bool
ual_dead(const struct ual_ia *ia)
{
	return atomic_load(&ia->session.dead);
}
