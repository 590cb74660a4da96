/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The slots of work queues. The slots of a queue pair are used in turn: the thread that posts takes the slot at `tail`,
 * and the poll of a completion frees all slots up to that of the completion [IT 7.4]. While completions are staged,
 * `done` says how far the queue is completed, and `head` how far it is polled. An SRQ completes in any order. Its free
 * slots are in two lists: one that only the thread that posts uses, and one to which polls return slots and which the
 * poster takes as a whole.
 */
#ifndef VIB_RING_H
#define VIB_RING_H

#include "vib.h"

/* The slot for the next request; NULL: no slot is free. */
static inline struct vib_slot *
vib_ring_next(const struct vib_ring *ring, uint32_t tail)
{
	uint32_t head = atomic_load_explicit(&ring->head, memory_order_acquire);

	return tail - head < ring->room ? &ring->slots[tail & ring->mask] : NULL;
}

/* The place of the oldest that is not completed. Without the CQ's lock it may be one of a moment ago. */
static inline uint32_t
vib_ring_done(const struct vib_ring *ring)
{
	if (atomic_load_explicit(&ring->staged, memory_order_acquire) != 0)
		return atomic_load_explicit(&ring->done, memory_order_acquire);
	return atomic_load_explicit(&ring->head, memory_order_acquire);
}

/* Requests and receives that are posted and not completed. */
static inline uint32_t
vib_ring_open(const struct vib_ring *ring)
{
	uint32_t done = vib_ring_done(ring);

	return atomic_load_explicit(&ring->tail, memory_order_acquire) - done;
}

/* Free a slot, and those before it, of a ring of which nothing is staged. The caller owns the CQ's lock, here and below. */
static inline void
vib_ring_free(struct vib_ring *ring, const struct vib_slot *slot)
{
	atomic_store_explicit(&ring->head, slot->place, memory_order_release);
}

/* A request is completed that nobody polls: its slot is free when those before it are. */
static inline void
vib_ring_pass(struct vib_ring *ring, const struct vib_slot *slot)
{
	if (atomic_load_explicit(&ring->staged, memory_order_relaxed) == 0)
		vib_ring_free(ring, slot);
	else
		atomic_store_explicit(&ring->done, slot->place, memory_order_release);
}

/* A completion is staged. */
static inline void
vib_ring_stage(struct vib_ring *ring, const struct vib_slot *slot)
{
	atomic_store_explicit(&ring->done, slot->place, memory_order_release);
	atomic_fetch_add_explicit(&ring->staged, 1, memory_order_release);
}

/* The oldest that is staged is polled. With the last one everything is free that is completed. */
static inline void
vib_ring_unstage(struct vib_ring *ring, const struct vib_slot *slot)
{
	bool last = atomic_load_explicit(&ring->staged, memory_order_relaxed) == 1;

	if (last)
		atomic_store_explicit(&ring->head, atomic_load(&ring->done), memory_order_release);
	else
		vib_ring_free(ring, slot);
	atomic_fetch_sub_explicit(&ring->staged, 1, memory_order_release);
}

/* The index of a slot in its array. */
static inline uint32_t
vib_slot_index(const struct vib_slot *slot)
{
	return slot->ring != NULL ? (slot->place - 1) & slot->ring->mask : slot->place - 1;
}

/* Give a slot of an SRQ back; any thread. */
static inline void
vib_slot_return(struct ri_usrq *srq, struct vib_slot *slot)
{
	uint32_t first = atomic_load(&srq->returned);

	do
		slot->u.next = first;
	while (!atomic_compare_exchange_weak(&srq->returned, &first, slot->place));
}

/* Receives of an SRQ that are posted and not completed; no thread posts or polls meanwhile, or it is about right. */
static inline uint32_t
vib_srq_used(const struct ri_usrq *srq)
{
	uint32_t dones = atomic_load(&srq->dones);
	int32_t used = (int32_t)(atomic_load(&srq->posts) - dones);

	return used > 0 ? (uint32_t)used : 0;
}

/* Take a free slot of an SRQ; the thread that posts. NULL: none is free. */
static inline struct vib_slot *
vib_slot_take(struct ri_usrq *srq)
{
	struct vib_slot *slot;

	if (srq->mine == 0)
		srq->mine = atomic_exchange(&srq->returned, 0);
	if (srq->mine == 0)
		return NULL;
	slot = &srq->slots[srq->mine - 1];
	srq->mine = slot->u.next;
	return slot;
}

/* vib_qp.c: slots for `room` requests, all free. False: no memory. */
bool vib_ring_create(struct vib_ring *ring, uint32_t room);
void vib_ring_destroy(struct vib_ring *ring);

#endif /* VIB_RING_H */
