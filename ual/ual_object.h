/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Handles and the objects behind them.
 *
 * A handle is the address of a slot plus a generation in its low bits. Slots have a stride that is a
 * power of two, lie in aligned chunks that are never unmapped, and are reused as late as possible. A
 * handle given by an application is never dereferenced as it is: the chunk is looked up in a table,
 * the slot's tag must name the same type and generation. So null, freed, foreign and garbage values
 * are answered, not followed.
 *
 * The object lives in its slot and begins with struct ual_object. What is larger hangs off it.
 *
 * A call may use an object for as long as it is inside: either in a section (ual_section.h), or counted
 * in ual_object::visitors from ual_object_enter to ual_object_leave. ual_object_retract waits until
 * nobody is inside, so what an object holds is given back only when no call can touch it any more.
 */
#ifndef UAL_OBJECT_H
#define UAL_OBJECT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "it_api.h"

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
#define UAL_SLOT_SIZE 1024

struct ual_ia;

/* Head of every object. */
struct ual_object {
	atomic_uint tag; /* hidden | type << 16 | generation; who may change it: ual_object.c */
	atomic_uint visitors; /* calls inside; the slot's own, it lives on when the object ends */
	atomic_uint refs;     /* children and uses that keep the object from being freed (BUSY) */
	struct ual_ia *ia;    /* the adapter it belongs to; an IA points to itself */
	struct ual_object *next; /* list of the IA's objects, under the IA's lock */
	struct ual_object *prev;
	/*
	 * Ends the object when its IA is freed: sets free what it holds below, then calls
	 * ual_object_delete. Set right after ual_object_new. Called with no lock held, once, the
	 * handle retracted; children come before parents (ual_ia.c has the order).
	 */
	void (*destroy)(struct ual_object *object);
	_Atomic uint64_t context; /* consumer's own: it_context_t.index */
	atomic_bool has_context;
};

/*
 * Make an object: a zeroed slot of the type, linked into the IA's list (ia NULL for an IA itself).
 * It is not reachable by a handle until published. NULL: no memory.
 */
void *ual_object_new(enum ual_type type, struct ual_ia *ia);
/*
 * From now on the handle works. Returns it. Objects below may be made with ual_object_ctx before
 * that; but news for them finds the object only once it is published, so publish first if any can
 * come, and retract on failure: the handle is not known to anybody yet.
 */
void *ual_object_publish(struct ual_object *object);
/* From now on the handle is invalid; the memory stays. False: another thread was faster. */
bool ual_object_hide(struct ual_object *object);
/*
 * The same, and then wait until no call but the caller's own is inside. Not with a lock held that such
 * a call could want, and not from a section or from dispatch.
 */
bool ual_object_retract(struct ual_object *object);
/* Calls that are inside, besides sections. */
unsigned ual_object_visitors(struct ual_object *object);
/* Unlink and give the slot back (after retract, or if never published). */
void ual_object_delete(struct ual_object *object);

/* The object behind a handle, entered, or NULL. For control calls and waits. */
void *ual_object_enter(const void *handle, enum ual_type type);
/* Enter an object that cannot end right now. */
void ual_object_visit(struct ual_object *object);
/* Undo either. The object may end at once. */
void ual_object_leave(struct ual_object *object);

/* The cleanup of UAL_VISIT: place holds a pointer to an object that was entered, or NULL. */
static inline void
ual_object_leave_place(void *place)
{
	struct ual_object *object;

	memcpy(&object, place, sizeof(object));
	if (object != NULL)
		ual_object_leave(object);
}

/* UAL_VISIT struct ual_ep *ep = (an object entered, or NULL): left at the end of the block. */
#define UAL_VISIT __attribute__((cleanup(ual_object_leave_place)))

/* The object behind a handle, or NULL; inside a section or dispatch. Fast path: no lock, no call out. */
void *ual_object_get(const void *handle, enum ual_type type);
/* Of whatever type; *type set. NULL if it is no handle. */
struct ual_object *ual_object_any(const void *handle, enum ual_type *type);
/* What an object is, also while it is hidden. */
enum ual_type ual_object_type(const struct ual_object *object);
/* The handle of an object (also inside events). */
void *ual_object_handle(const struct ual_object *object);
/* The same as a 64-bit context for layers below, and back: NULL if it is gone. */
uint64_t ual_object_ctx(const struct ual_object *object);
void *ual_object_from_ctx(uint64_t ctx, enum ual_type type);

/* Keep an object from being freed: its free call answers BUSY. False: it is being freed already. */
bool ual_object_hold(struct ual_object *object);
/* Undo one hold. */
void ual_object_drop(struct ual_object *object);
/* The object behind a handle, held; NULL if it is none, is being freed, or is of another IA. */
void *ual_object_use(const void *handle, enum ual_type type, const struct ual_ia *ia);
/* Begin to free: false while anybody holds the object. Afterwards nobody can hold it any more. */
bool ual_object_freeze(struct ual_object *object);
/* Somebody has begun to free it. */
bool ual_object_frozen(struct ual_object *object);
/* Take ual_object_freeze back: the object lives on. */
void ual_object_thaw(struct ual_object *object);

#endif /* UAL_OBJECT_H */
