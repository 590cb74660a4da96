/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef RI_SLOT_H
#define RI_SLOT_H

/**
 * @file ri_slot.h
 * @brief A place for each thread in an array that other threads can look through.
 *
 * The array is fixed, so that a thread's first call needs no memory, and a thread that looks at all places needs no lock.
 * A thread keeps its place until it ends. A file that has such an array has a `struct ri_slots` for it, a variable of
 * thread storage for the thread's own place, and a function that a key of pthreads calls when a thread ends.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/** One place; a member of each element of the array. */
struct ri_slot {
	atomic_bool owned;
};

/** The array's places. */
struct ri_slots {
	struct ri_slot *first; /**< of element 0 */
	size_t step;           /**< octets from one element to the next */
	unsigned count;        /**< elements */
	void (*ended)(
		void *); /**< called with the place when its thread ends; it calls ri_slot_give() */
	atomic_uint used;     /**< elements from here on were never owned */
	pthread_mutex_t lock; /**< of key_made */
	pthread_key_t key;
	bool key_made;
};

/** @brief The initial value for an array @p array whose elements have their place in @p member. */
#define RI_SLOTS_INIT(array, member, release)                                    \
	{                                                                        \
		.first = &(array)[0].member, .step = sizeof((array)[0]),         \
		.count = sizeof(array) / sizeof((array)[0]), .ended = (release), \
		.lock = PTHREAD_MUTEX_INITIALIZER                                \
	}

static inline struct ri_slot *
ri_slot_at(const struct ri_slots *slots, unsigned i)
{
	return (struct ri_slot *)(void *)((char *)slots->first + i * slots->step);
}

/** @brief Another thread may take this place. */
static inline void
ri_slot_give(struct ri_slot *slot)
{
	atomic_store(&slot->owned, false);
}

static inline bool
ri_slots_key(struct ri_slots *slots)
{
	pthread_mutex_lock(&slots->lock);
	if (!slots->key_made)
		slots->key_made = pthread_key_create(&slots->key, slots->ended) == 0;
	bool made = slots->key_made;
	pthread_mutex_unlock(&slots->lock);
	return made;
}

/**
 * @brief A place for this thread, until it ends.
 * @return The index of its element, or -1: no element or no key of pthreads is left.
 */
static inline int
ri_slot_take(struct ri_slots *slots)
{
	if (!ri_slots_key(slots))
		return -1;
	for (unsigned i = 0; i < slots->count; i++) {
		struct ri_slot *slot = ri_slot_at(slots, i);
		unsigned used = atomic_load(&slots->used);

		if (atomic_load(&slot->owned) || atomic_exchange(&slot->owned, true))
			continue;
		while (used <= i && !atomic_compare_exchange_weak(&slots->used, &used, i + 1))
			;
		if (pthread_setspecific(slots->key, slot) == 0)
			return (int)i;
		ri_slot_give(slot);
		return -1;
	}
	return -1;
}

/** @brief In a forked child: no thread but this one, which owns @p mine or no place, exists. */
static inline void
ri_slots_forked(struct ri_slots *slots, const struct ri_slot *mine)
{
	pthread_mutex_init(&slots->lock, NULL);
	for (unsigned i = 0; i < slots->count; i++) {
		if (ri_slot_at(slots, i) != mine)
			ri_slot_give(ri_slot_at(slots, i));
	}
}

#endif
