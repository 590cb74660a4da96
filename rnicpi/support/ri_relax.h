/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef RI_RELAX_H
#define RI_RELAX_H

/**
 * @file ri_relax.h
 * @brief One round of a loop that waits until another thread has done a few instructions.
 *
 * A waiter spins, then yields, then sleeps. It must sleep at last: sched_yield() never runs a thread of lower priority. A
 * thread under SCHED_FIFO would keep the processor that the thread needs for which it waits, until the kernel throttles
 * the real-time threads. doc/decisions/0012 has the measurement.
 *
 * Every loop of this kind calls ri_relax(), so that the sleep is in one place.
 */

#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define RI_RELAX_SPINS  100u        /**< rounds that only pause the processor */
#define RI_RELAX_YIELDS 200u        /**< rounds before the first sleep */
#define RI_RELAX_NAP_NS (50 * 1000) /**< one sleep, in nanoseconds */

/**
 * @brief Sleep for RI_RELAX_NAP_NS. Not nanosleep(), which is a cancellation point: the caller may own a lock. Keeps errno.
 */
static inline void
ri_relax_nap(void)
{
	const struct {
		__syscall_slong_t sec, nsec;
	} nap = {0, RI_RELAX_NAP_NS};
	int error = errno;

	if (syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &nap, NULL) != 0)
		sched_yield(); /* interrupted, or forbidden by a filter of system calls */
	errno = error;
}

/** @brief Wait a little. @p round counts the caller's rounds from 0. */
static inline void
ri_relax(unsigned round)
{
	if (round >= RI_RELAX_YIELDS) {
		ri_relax_nap();
	} else if (round >= RI_RELAX_SPINS) {
		sched_yield();
	} else {
#if defined(__x86_64__) || defined(__i386__)
		__builtin_ia32_pause();
#else
		__asm__ volatile("");
#endif
	}
}

#endif
