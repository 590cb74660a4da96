/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Atomics on words of registered memory, by the processor's own instructions. */
#include "vsw_atomic.h"

bool
vsw_atomic(const struct vsw_mem_use *word, bool swap, const struct ri_wr_remote *operand,
	   uint64_t *old)
{
	uint64_t left = 0;
	uint8_t *piece = vsw_mem_piece(word, 0, &left);
	uint64_t *target = (uint64_t *)(void *)piece;

	if (piece == NULL || left < sizeof(*target) || (uintptr_t)piece % sizeof(*target) != 0)
		return false;
	if (!swap) {
		*old = __atomic_fetch_add(target, operand->operand, __ATOMIC_SEQ_CST);
		return true;
	}
	*old = operand->operand;
	/* On failure what is there comes back, on success it was what was expected. */
	(void)__atomic_compare_exchange_n(target, old, operand->swap, false, __ATOMIC_SEQ_CST,
					  __ATOMIC_SEQ_CST);
	return true;
}
