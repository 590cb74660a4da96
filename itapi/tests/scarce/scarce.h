/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Memory that runs out on request. The shared library of scarce.c comes before the C library (LD_PRELOAD, or first in
 * the link order) and counts all allocations of the process: malloc, calloc, realloc, reallocarray, posix_memalign,
 * aligned_alloc, memalign, and anonymous mmap. What the C library allocates for its own functions (strdup, opendir)
 * counts too. Thread-safe.
 */
#ifndef SCARCE_H
#define SCARCE_H

#include <stdbool.h>

/* Let allocation number `n` from now on fail (the first is 1), and with `for_good` all later ones. 0: none. */
void scarce_arm(unsigned long n, bool for_good);
/* Let all allocations succeed again. Returns how many were refused since scarce_arm. */
unsigned long scarce_disarm(void);
/* The number of heap blocks that are allocated now. */
long scarce_live(void);
/* As scarce_arm, but only allocations of the calling thread count, and fail. */
void scarce_arm_here(unsigned long n, bool for_good);
/* Until scarce_resume, allocations of the calling thread neither count nor fail; pairs nest. */
void scarce_pause(void);
void scarce_resume(void);
/* The heap blocks that the calling thread has allocated, less those that it has freed, both outside of pauses. */
long scarce_live_here(void);

#endif /* SCARCE_H */
