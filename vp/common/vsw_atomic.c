/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Atomics on words of registered memory, by the processor's own instructions. */
#include "vsw_atomic.h"
#include "vsw_guard.h"

uint64_t *
vsw_atomic_word(const struct vsw_mem_use *use)
{
	uint64_t left = 0;
	uint8_t *piece = vsw_mem_piece(use, 0, &left);

	if (piece == NULL || left < sizeof(uint64_t) || (uintptr_t)piece % sizeof(uint64_t) != 0)
		return NULL;
	return (uint64_t *)(void *)piece;
}

enum vsw_atomic_result
vsw_atomic(const struct vsw_mem_use *word, bool swap, const struct ri_wr_remote *operand,
	   uint64_t *old)
{
	uint64_t *target = vsw_atomic_word(word);
	bool swapped, there;

	if (target == NULL)
		return VSW_ATOMIC_NO_WORD;
	*old = operand->operand;
	if (swap)
		there = vsw_guarded_swap(target, old, operand->swap, &swapped);
	else
		there = vsw_guarded_add(target, operand->operand, old);
	return there ? VSW_ATOMIC_DONE : VSW_ATOMIC_LOST;
}
