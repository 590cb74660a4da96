/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* One 64-bit word changed as one step, for the responders of atomics. */
#ifndef VSW_ATOMIC_H
#define VSW_ATOMIC_H

#include "vsw_mem.h"

/*
 * Fetch and add operand->operand, or (swap) store operand->swap if the word equals operand->operand.
 * The use covers the word. False: the word cannot be reached as one (it is not aligned in memory, or
 * is copied through the host). *old is what it was, in this processor's order.
 */
bool vsw_atomic(const struct vsw_mem_use *word, bool swap, const struct ri_wr_remote *operand,
		uint64_t *old) RI_MUST_CHECK;

#endif /* VSW_ATOMIC_H */
