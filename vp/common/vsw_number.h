/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Numbers of work queues: a slot in the low bits, its count of uses in the others; 0 is no queue. */
#ifndef VSW_NUMBER_H
#define VSW_NUMBER_H

#include <stdint.h>

#define VSW_NUMBER_SLOT_BITS   20
#define VSW_NUMBER_SLOTS       (1u << VSW_NUMBER_SLOT_BITS)
#define VSW_NUMBER_REUSE_AFTER 1024 /* slots given back before the oldest is used again */

static inline uint32_t
vsw_number_slot(uint32_t number)
{
	return number & (VSW_NUMBER_SLOTS - 1);
}

#endif /* VSW_NUMBER_H */
