/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Timers by deadline: a pairing heap whose links lie inside the timers, so no operation allocates memory or can fail.
 * Insertion and access to the earliest timer are O(1), removal is O(log n) amortised. The heap has no lock, and never
 * calls the function of a timer.
 */
#ifndef KAL_TIMERS_H
#define KAL_TIMERS_H

#include "rnicpi_host.h"

struct kal_timers {
	struct ri_timer *root;
};

/* Flags in ri_host_link::n[1] of timers, tasks and watches. */
#define KAL_LINK_QUEUED   1u /* in a heap, in a list, watched */
#define KAL_LINK_STOPPING 2u /* a thread waits for its function: it cannot be started again */

static inline bool
kal_timer_queued(const struct ri_timer *timer)
{
	return (timer->link.n[1] & KAL_LINK_QUEUED) != 0;
}

/* The timer must not be queued. Timers with equal deadlines expire in any order. */
void kal_timers_insert(struct kal_timers *timers, struct ri_timer *timer, uint64_t deadline);
/* No effect if it is not queued. */
void kal_timers_remove(struct kal_timers *timers, struct ri_timer *timer);
/* Deadline of the earliest, RI_NEVER if there is none. */
uint64_t kal_timers_next(const struct kal_timers *timers);

#endif /* KAL_TIMERS_H */
