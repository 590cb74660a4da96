/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The context numbers that the kAL and the provider return in events and completions. A number
 * names a slot and one owner of the slot. When the object releases the slot, the number becomes
 * invalid; a pointer in its place would dangle. The memory of slots is never freed, so a poll may
 * read a slot without a lock.
 */
#ifndef DOOR_SLOTS_H
#define DOOR_SLOTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define DOOR_SLOTS_MAX (1u << 20)

/* What a slot belongs to. */
enum door_kind {
	DOOR_NONE = 0,
	DOOR_CQ,
	DOOR_QP,
	DOOR_SRQ,
	DOOR_LISTENER, /* an id of rdma_cm, by a listener of the kAL */
	DOOR_QUERY     /* an id of rdma_cm that asks for a datagram service */
};

struct door_slot {
	atomic_uint generation; /* changes when the slot is taken and when it is given back */
	atomic_uint
		number; /* of the owner, for those who read without the lock; a QP: its qp_num */
	/* Under door_slots::lock. */
	enum door_kind kind;
	void *object;
	uint32_t next_free;
};

struct door_slots {
	pthread_mutex_t lock;    /* an event lock */
	struct door_slot *first; /* DOOR_SLOTS_MAX of them */
	uint32_t used;           /* slots that ever had an owner */
	uint32_t first_free;     /* index + 1; 0: none */
};

/* false: no memory. */
bool door_slots_init(struct door_slots *slots);
/* No object has a slot any more. */
void door_slots_fini(struct door_slots *slots);

/* Give the object a slot; 0: no memory, or too many objects. Takes the lock. */
uint64_t door_slot_enter(struct door_slots *slots, enum door_kind kind, void *object);
/* Take it back: no later look-up finds the object. Takes the lock. */
void door_slot_leave(struct door_slots *slots, uint64_t ctx);
/* The object of that kind; NULL: it gave its slot back. Under the lock. */
void *door_slot_find(struct door_slots *slots, enum door_kind kind, uint64_t ctx);

/* The slot to which a context leads, even if another object has it now. */
static inline struct door_slot *
door_slot_at(struct door_slot *first, uint64_t ctx)
{
	return &first[(uint32_t)ctx];
}

/*
 * Does the slot still belong to the object that this context names? For readers without the lock:
 * right after the answer the slot may go to the next owner.
 */
static inline bool
door_slot_is(const struct door_slot *slot, uint64_t ctx)
{
	return atomic_load_explicit(&slot->generation, memory_order_acquire) ==
	       (uint32_t)(ctx >> 32);
}

/* The slot of a context; NULL: the object gave it back. */
static inline struct door_slot *
door_slot_of(const struct door_slots *slots, uint64_t ctx)
{
	struct door_slot *slot = door_slot_at(slots->first, ctx);

	return door_slot_is(slot, ctx) ? slot : NULL;
}

#endif /* DOOR_SLOTS_H */
