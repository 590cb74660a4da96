/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* One 64-bit word changed in one step, for the responders of atomics. */
#ifndef VSW_ATOMIC_H
#define VSW_ATOMIC_H

#include "vsw_mem.h"

/*
 * The word that the use covers. NULL: it cannot be changed in one step (it is not aligned in memory, or is
 * copied through the host).
 */
uint64_t *vsw_atomic_word(const struct vsw_mem_use *use);
/* What became of an atomic. */
enum vsw_atomic_result {
	VSW_ATOMIC_DONE = 0,
	VSW_ATOMIC_NO_WORD, /* vsw_atomic_word gives none */
	VSW_ATOMIC_LOST     /* its page is lost */
};
/*
 * Fetch and add operand->operand, or (`swap`) store operand->swap if the word equals operand->operand.
 * *old: its value before, in this processor's byte order.
 */
enum vsw_atomic_result vsw_atomic(const struct vsw_mem_use *word, bool swap,
				  const struct ri_wr_remote *operand, uint64_t *old) RI_MUST_CHECK;

#endif /* VSW_ATOMIC_H */
