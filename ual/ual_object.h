/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Handles and the objects behind them.
 *
 * A handle is the address of a slot plus a generation in its low bits. Slots have a stride that is a
 * power of two, lie in aligned chunks that are never unmapped, and are reused as late as possible. A handle from an
 * application is never dereferenced before it was checked: its chunk must be in a table, and the slot's tag must have
 * the same type and generation. So null, freed, foreign and garbage values are refused.
 *
 * The object is in its slot and begins with struct ual_object. Larger parts are allocated separately.
 *
 * A call may use an object while it is inside: either in a section (session_section.h), or counted
 * in ual_object::visitors from ual_object_enter to ual_object_leave. ual_object_retract waits until no other call is
 * inside. So the resources of an object are freed only when no call can use them any more.
 */
#ifndef UAL_OBJECT_H
#define UAL_OBJECT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "it_api.h"
#include "session_cancel.h"

/* Types of objects; the ten of it_handle_type_enum_t. 0 is a free slot. */
enum ual_type {
	UAL_FREE = 0,
	UAL_IA,
	UAL_PZ,
	UAL_EVD,
	UAL_EP,
	UAL_LMR,
	UAL_RMR,
	UAL_SRQ,
	UAL_LISTEN,
	UAL_AH,
	UAL_UD_SVC,
	UAL_TYPE_COUNT
};

/* Stride of slots: low bits of a handle that hold the generation; largest object. */
#define UAL_SLOT_SIZE      1024
#define UAL_GENERATION_MAX (UAL_SLOT_SIZE - 1u)

/* Slots lie in chunks of UAL_CHUNK_SIZE bytes, aligned to that size; a table of at most UAL_CHUNK_TABLE addresses has them. */
#define UAL_CHUNK_SIZE       ((uintptr_t)256 * UAL_SLOT_SIZE)
#define UAL_CHUNK_TABLE_BITS 12
#define UAL_CHUNK_TABLE      (1u << UAL_CHUNK_TABLE_BITS)

struct ual_ia;

/* The objects of an IA, newest first. The lock is an event lock. */
struct ual_objects {
	pthread_mutex_t lock;
	struct ual_object *first;
};

/* Head of every object. */
struct ual_object {
	atomic_uint tag;      /* hidden | type << 16 | generation; changed in ual_object.c only */
	atomic_uint visitors; /* calls inside; of the slot, also between two objects */
	atomic_uint refs;     /* references, which keep the object from being freed (BUSY) */
	struct ual_ia *ia;    /* the adapter it belongs to; an IA points to itself */
	struct ual_objects *list; /* of the IA's objects; NULL: an IA */
	struct ual_object *next;  /* under the list's lock */
	struct ual_object *prev;
	/*
	 * Destroys the object when its IA is freed: destroys its objects of the kAL, then calls ual_object_delete. Set
	 * right after ual_object_new. Called once, after the handle was retracted, by a thread that owns no
	 * lock; children come before parents (ual_ia.c has the order).
	 */
	void (*destroy)(struct ual_object *object);
	_Atomic uint64_t context; /* consumer's own: it_context_t.index */
	atomic_bool has_context;
};

/*
 * Create an object: a zeroed slot of the type, entered into the list of its IA's objects (both NULL for an IA
 * itself). No handle reaches it until it is published. NULL: no memory.
 */
void *ual_object_new(enum ual_type type, struct ual_ia *ia, struct ual_objects *list);
/*
 * Make the handle valid, and return it. Objects of the kAL may be created with ual_object_ctx before, but their events
 * find the object only once it is published. If events can come, publish first and retract on failure: the
 * application does not have the handle yet.
 */
void *ual_object_publish(struct ual_object *object);
/* Make the handle invalid; the memory stays. False: another thread did so first. */
bool ual_object_hide(struct ual_object *object);
/*
 * Calls ual_object_hide, and then waits until no call but the caller's own is inside the object
 * (head of this file). The caller owns no lock that such a call may wait for, and is neither in a
 * section (session_section.h) nor in dispatch (session.h).
 */
bool ual_object_retract(struct ual_object *object);
/* Calls that are inside, besides sections. */
unsigned ual_object_visitors(struct ual_object *object);
/* Remove the object from the IA's list and free the slot (after retract, or if never published). */
void ual_object_delete(struct ual_object *object);

/* Enter the object of a handle; NULL if it is invalid. For control calls and waits. */
void *ual_object_enter(const void *handle, enum ual_type type);
/* Enter an object that cannot end right now. */
void ual_object_visit(struct ual_object *object);
/* Undo either. The object may be destroyed at once. */
void ual_object_leave(struct ual_object *object);

/* The cleanup of UAL_ENTERED: place holds a pointer to an object that was entered, or NULL. */
static inline void
ual_object_leave_place(void *place)
{
	struct ual_object *object;

	memcpy(&object, place, sizeof(object));
	if (object != NULL)
		ual_object_leave(object);
}

/* UAL_ENTERED struct ual_ep *ep = (an object entered, or NULL): left at the end of the block. For waits. */
#define UAL_ENTERED __attribute__((cleanup(ual_object_leave_place)))
/* The same visit for a control call, which also defers cancellation until then. */
#define UAL_VISIT      \
	SESSION_DEFER; \
	UAL_ENTERED

/* Addresses of chunks, by hash, linear probing; 0 is an empty place. Only grows. */
extern _Atomic uintptr_t ual_object_chunks[UAL_CHUNK_TABLE];
/* Is it the address of a chunk? */
bool ual_object_chunk_known(uintptr_t chunk);

static inline unsigned
ual_object_chunk_hash(uintptr_t chunk)
{
	return (unsigned)((uint64_t)(chunk / UAL_CHUNK_SIZE) * UINT64_C(0x9e3779b97f4a7c15) >>
			  (64 - UAL_CHUNK_TABLE_BITS));
}

/*
 * The object behind a handle, or NULL; inside a section or dispatch. Fast path: no lock; no call, if the chunk is in
 * the first place of the table that its hash leads to.
 */
static inline void *
ual_object_get(const void *handle, enum ual_type type)
{
	uintptr_t value = (uintptr_t)handle;
	uintptr_t chunk = value & ~(uintptr_t)(UAL_CHUNK_SIZE - 1);
	/* Acquire: a thread that sees the entry may read the chunk. An empty place does not make 0 a chunk. */
	uintptr_t entry = atomic_load_explicit(&ual_object_chunks[ual_object_chunk_hash(chunk)],
					       memory_order_acquire);
	struct ual_object *slot = (struct ual_object *)(value & ~(uintptr_t)UAL_GENERATION_MAX);
	unsigned tag;

	if (__builtin_expect(entry != chunk || chunk == 0, 0) && !ual_object_chunk_known(chunk))
		return NULL;
	tag = atomic_load(&slot->tag);
	if (tag != ((unsigned)type << 16 | (unsigned)(value & UAL_GENERATION_MAX)))
		return NULL;
	return slot;
}

/* An object of any type; *type is set. NULL if it is no handle. */
struct ual_object *ual_object_any(const void *handle, enum ual_type *type);
/* The type of an object, also while it is hidden. */
enum ual_type ual_object_type(const struct ual_object *object);
/* The handle of an object (also inside events). */
static inline void *
ual_object_handle(const struct ual_object *object)
{
	return (void *)((uintptr_t)object | (atomic_load(&object->tag) & UAL_GENERATION_MAX));
}

/* The handle as a 64-bit context for the kAL, and back: NULL if the object was destroyed. */
uint64_t ual_object_ctx(const struct ual_object *object);
static inline void *
ual_object_from_ctx(uint64_t ctx, enum ual_type type)
{
	return ual_object_get((const void *)(uintptr_t)ctx, type);
}

/* Take a reference: the free call of the object returns BUSY. False: it is being freed already. */
bool ual_object_ref(struct ual_object *object);
/* Release one reference. */
void ual_object_unref(struct ual_object *object);
/* The object of a handle, with a reference; NULL if it is invalid, is being freed, or is of another IA. */
void *ual_object_use(const void *handle, enum ual_type type, const struct ual_ia *ia);
/* Begin to free: false while there are references. Afterwards none can be taken. */
bool ual_object_freeze(struct ual_object *object);
/* Has a thread begun to free it? */
bool ual_object_frozen(struct ual_object *object);
/* Undo ual_object_freeze. */
void ual_object_thaw(struct ual_object *object);

#endif /* UAL_OBJECT_H */
