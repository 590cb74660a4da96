/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Two small locks of the software providers.
 *
 * vsw_lock is held for a handful of instructions, never across a system call; a waiter spins and
 * then yields. vsw_role is a right that one thread takes by trying ("I drive this queue now") and
 * may keep across system calls; nobody ever waits for it. A thread that finds it taken leaves a
 * kick behind, and the holder looks again before and after it lets go.
 */
#ifndef VSW_LOCK_H
#define VSW_LOCK_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct vsw_lock {
	atomic_uint held;
};

static inline bool
vsw_trylock(struct vsw_lock *lock)
{
	return atomic_exchange_explicit(&lock->held, 1, memory_order_acquire) == 0;
}

static inline void
vsw_lock(struct vsw_lock *lock)
{
	for (unsigned spins = 0; !vsw_trylock(lock); spins++) {
		if (spins > 100)
			sched_yield();
	}
}

static inline void
vsw_unlock(struct vsw_lock *lock)
{
	atomic_store_explicit(&lock->held, 0, memory_order_release);
}

struct vsw_role {
	atomic_uint held;
	atomic_uint kicked;
};

/* Try to become the holder. On false the present holder will run once more. */
static inline bool
vsw_role_take(struct vsw_role *role)
{
	if (atomic_exchange(&role->held, 1) == 0)
		return true;
	atomic_store(&role->kicked, 1);
	/* The holder may have left between the two; then the kick is ours to serve. */
	return atomic_exchange(&role->held, 1) == 0;
}

/* Begin a round of work: kicks up to here are answered by it. */
static inline void
vsw_role_begin(struct vsw_role *role)
{
	/*
	 * A load is much cheaper than a store here. An exchange, not a store: it reads what the thread that
	 * kicked wrote, so that what that thread did before is seen by the round that begins.
	 */
	if (atomic_load(&role->kicked) != 0)
		atomic_exchange(&role->kicked, 0);
}

/* Give it back. True: somebody kicked meanwhile and the role is ours again; do another round. */
static inline bool
vsw_role_drop(struct vsw_role *role)
{
	atomic_store(&role->held, 0);
	return atomic_load(&role->kicked) != 0 && atomic_exchange(&role->held, 1) == 0;
}

#endif /* VSW_LOCK_H */
