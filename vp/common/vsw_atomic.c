/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Atomics on words of registered memory, by the processor's own instructions. */
#include "vsw_atomic.h"

uint64_t *
vsw_atomic_word(const struct vsw_mem_use *use)
{
	uint64_t left = 0;
	uint8_t *piece = vsw_mem_piece(use, 0, &left);

	if (piece == NULL || left < sizeof(uint64_t) || (uintptr_t)piece % sizeof(uint64_t) != 0)
		return NULL;
	return (uint64_t *)(void *)piece;
}

bool
vsw_atomic(const struct vsw_mem_use *word, bool swap, const struct ri_wr_remote *operand,
	   uint64_t *old)
{
	uint64_t *target = vsw_atomic_word(word);

	if (target == NULL)
		return false;
	if (!swap) {
		*old = __atomic_fetch_add(target, operand->operand, __ATOMIC_SEQ_CST);
		return true;
	}
	*old = operand->operand;
	/* On failure *old becomes the value found; on success that was the value expected. */
	(void)__atomic_compare_exchange_n(target, old, operand->swap, false, __ATOMIC_SEQ_CST,
					  __ATOMIC_SEQ_CST);
	return true;
}
