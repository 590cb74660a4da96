/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#ifndef RI_SET_H
#define RI_SET_H

#include <stddef.h>
#include <stdint.h>

/**
 * @file
 * What epoll keeps for an item of the library. A program that closes the descriptors of the library behind its back
 * may get a set of its own under the same number. The values that the events of this set have are the program's:
 * integers, or its own pointers. So each owner of a set draws a random mark, and a value without it gives no item.
 */

/** Bits that are 0 in a pointer to an item; bits 56 to 59 may be a tag. */
#define RI_SET_ZEROS UINT64_C(0xf0ff000000000007)

/**
 * The value for an item.
 * @param mark the owner's
 * @param item aligned to 8 octets
 * @return for epoll_data::u64
 */
static inline uint64_t
ri_set_value(uint64_t mark, const void *item)
{
	return (uint64_t)(uintptr_t)item ^ mark;
}

/**
 * The item of a value.
 * @param mark the owner's
 * @param value of an event
 * @return NULL: the value is none of this owner's
 */
static inline void *
ri_set_item(uint64_t mark, uint64_t value)
{
	uint64_t item = value ^ mark;

	return (item & RI_SET_ZEROS) == 0 ? (void *)(uintptr_t)item : NULL;
}

#endif /* RI_SET_H */
