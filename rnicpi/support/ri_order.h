/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef RI_ORDER_H
#define RI_ORDER_H

/**
 * @file ri_order.h
 * @brief A store before a load, where one side is frequent and the other one rare: the rare side pays.
 *
 * A frequent thread stores a mark and then loads what the mark protects. A rare thread changes what is protected and then
 * loads the mark. One of the two must see the other. So each needs its store before its load, which costs a locked
 * instruction on amd64. With membarrier(2) the rare thread orders both: the frequent one stores relaxed while the
 * flag `light` is set.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/** Of linux/membarrier.h. */
#define RI_ORDER_PRIVATE_EXPEDITED          (1 << 3)
#define RI_ORDER_REGISTER_PRIVATE_EXPEDITED (1 << 4)

/**
 * @brief Set @p light if this process may use membarrier(2).
 *
 * Once, before anybody stores a mark, since a rare thread that has found the flag clear orders nobody; and again in a
 * forked child. Never under ThreadSanitizer, which does not know that call.
 */
static inline void
ri_order_setup(atomic_bool *light)
{
#if defined(__SANITIZE_THREAD__)
	(void)light;
#else
	if (syscall(SYS_membarrier, RI_ORDER_REGISTER_PRIVATE_EXPEDITED, 0) == 0)
		atomic_store(light, true);
#endif
}

/** @brief The frequent side: is a relaxed store enough? Else the mark is stored sequentially consistent. */
static inline bool
ri_order_is_light(const atomic_bool *light)
{
	return __builtin_expect(atomic_load_explicit(light, memory_order_relaxed), 1);
}

/**
 * @brief The rare side, between its store and its load: marks that other threads stored before they loaded are visible.
 *
 * If the kernel forbids the call meanwhile, this waits a millisecond, longer than any processor keeps a store back,
 * and the flag is cleared for good.
 */
static inline void
ri_order_others(atomic_bool *light)
{
	const struct timespec long_enough = {.tv_nsec = 1000 * 1000};
	int state;

	if (!atomic_load(light) || syscall(SYS_membarrier, RI_ORDER_PRIVATE_EXPEDITED, 0) == 0)
		return;
	atomic_store(light, false);
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	(void)nanosleep(&long_enough, NULL);
	(void)pthread_setcancelstate(state, NULL);
}

#endif
