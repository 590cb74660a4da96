/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Counters that one thread at a time adds to, under a lock or a role that it has anyway, and that others read at any time. No
 * locked instruction: on x86 an aligned word is stored whole, and one instruction adds to memory, which a compiler does not
 * make of relaxed atomics.
 */
#ifndef RI_COUNT_H
#define RI_COUNT_H

#include <stdint.h>

static inline void
ri_count(uint64_t *counter, uint64_t more)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
	__asm__("addq %1, %0" : "+m"(*counter) : "re"(more) : "cc");
#else
	__atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + more,
			 __ATOMIC_RELAXED);
#endif
}

static inline uint64_t
ri_count_read(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

#endif /* RI_COUNT_H */
