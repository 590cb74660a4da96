/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Memory that runs out on request. The shared library of scarce.c stands before the C library (LD_PRELOAD, or
 * linked first) and counts what anybody in the process allocates: malloc, calloc, realloc, reallocarray,
 * posix_memalign, aligned_alloc, memalign, and anonymous mmap. What the C library allocates for its own
 * functions (strdup, opendir) counts too. Thread-safe.
 */
#ifndef SCARCE_H
#define SCARCE_H

#include <stdbool.h>

/* Allocation number `n` from now (the first is 1) fails, and with `for_good` all that follow. 0: none. */
void scarce_arm(unsigned long n, bool for_good);
/* There is enough again. How many allocations were refused since scarce_arm. */
unsigned long scarce_disarm(void);
/* Allocations since scarce_arm, refused ones too. */
unsigned long scarce_count(void);
/* Blocks of the heap that are allocated now, and not freed. */
long scarce_live(void);

#endif /* SCARCE_H */
