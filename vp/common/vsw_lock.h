/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Two small locks of the software providers.
 *
 * A vsw_lock is owned for a handful of instructions, never across a system call; a waiter spins and then
 * yields. A vsw_role is the right to do some work ("run this queue"). A thread takes it by trying and may
 * own it across system calls; no thread waits for it. A thread that finds the role taken sets its retry
 * flag and returns; the owner reads the flag before and after it releases the role.
 */
#ifndef VSW_LOCK_H
#define VSW_LOCK_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ri_relax.h"

struct vsw_lock {
	atomic_uint owned;
};

static inline bool
vsw_trylock(struct vsw_lock *lock)
{
	return atomic_exchange_explicit(&lock->owned, 1, memory_order_acquire) == 0;
}

/* Another thread owns the lock. Apart, because the fast path must not carry the loop along. */
static __attribute__((cold, noinline, unused)) void
vsw_lock_wait(struct vsw_lock *lock)
{
	for (unsigned round = 0; !vsw_trylock(lock); round++)
		ri_relax(round);
}

static inline void
vsw_lock(struct vsw_lock *lock)
{
	if (__builtin_expect(!vsw_trylock(lock), 0))
		vsw_lock_wait(lock);
}

static inline void
vsw_unlock(struct vsw_lock *lock)
{
	atomic_store_explicit(&lock->owned, 0, memory_order_release);
}

/* Does a thread own the lock? For assertions, which debug builds check: a caller must own it. */
static inline bool
vsw_lock_is_owned(const struct vsw_lock *lock)
{
	return atomic_load_explicit(&lock->owned, memory_order_relaxed) != 0;
}

struct vsw_role {
	atomic_uint taken;
	atomic_uint retry;  /* another thread wanted the role: do one more round */
	atomic_uint wanted; /* threads that wait for it (vsw_role_enter in vsw_relax.h) */
};

/* Try to take the role. False: its owner will do another round. */
static inline bool
vsw_role_take(struct vsw_role *role)
{
	if (atomic_exchange(&role->taken, 1) == 0)
		return true;
	atomic_store(&role->retry, 1);
	/* The owner may have given it up between the two; then the round is this thread's to do. */
	return atomic_exchange(&role->taken, 1) == 0;
}

/* Does a thread own the role? A hint, and for assertions. */
static inline bool
vsw_role_is_taken(const struct vsw_role *role)
{
	return atomic_load_explicit(&role->taken, memory_order_relaxed) != 0;
}

/* Does a thread wait for the role? Whoever polls again and again leaves it free then. */
static inline bool
vsw_role_is_wanted(const struct vsw_role *role)
{
	return __builtin_expect(atomic_load_explicit(&role->wanted, memory_order_relaxed) != 0, 0);
}

/* Begin a round of work, which serves every retry flag that was set before. */
static inline void
vsw_role_begin(struct vsw_role *role)
{
	/*
	 * A load is much cheaper than a store here. An exchange, not a store: it reads what the thread that
	 * set the flag wrote, so the round that begins sees what that thread did before.
	 */
	if (atomic_load(&role->retry) != 0)
		atomic_exchange(&role->retry, 0);
}

/* Give the role up. True: the retry flag was set, and this thread owns the role again; do another round. */
static inline bool
vsw_role_drop(struct vsw_role *role)
{
	atomic_store(&role->taken, 0);
	return atomic_load(&role->retry) != 0 && atomic_exchange(&role->taken, 1) == 0;
}

#endif /* VSW_LOCK_H */
