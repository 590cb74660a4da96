/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Staging buffers of one engine. A round takes one. A queue pair keeps it while it has octets that the socket
 * did not take, or that wait for a receive. The peer decides how long that lasts, so at most half of the
 * buffers may be kept this way. Once half are out, such octets are set aside: copied to memory of exactly
 * their size, and the buffer goes back (viw_pool.c). An idle queue pair has neither.
 */
#ifndef VIW_POOL_H
#define VIW_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vsw_lock.h"

#define VIW_BUF_SIZE  (528u * 1024) /* octets of one buffer: eight frames of 64 KiB, and some more */
#define VIW_BUF_COUNT 256u          /* buffers; one that was never used takes no memory */
#define VIW_BUF_LOW   (VIW_BUF_COUNT / 2) /* with fewer in the pool, octets are set aside */

struct viw_pool {
	uint8_t *arena;
	_Atomic(uint8_t *) spare; /* the buffer returned last: one exchange instead of the lock */
	struct vsw_lock lock;     /* writing the two below */
	atomic_uint free_count;
	uint16_t free[VIW_BUF_COUNT];
	atomic_uint starved;     /* a queue pair found the pool empty */
	_Atomic(uint64_t) aside; /* octets set aside; for viw_dump and tests */
};

bool viw_pool_init(struct viw_pool *pool);
void viw_pool_exit(struct viw_pool *pool);
/* A buffer of VIW_BUF_SIZE octets, or NULL. Fast path. */
uint8_t *viw_pool_get(struct viw_pool *pool);
/* Give back a buffer, or free octets that were set aside; NULL is allowed. True: the pool had been found empty. */
bool viw_pool_put(struct viw_pool *pool, uint8_t *buf);
/* Set octets aside: a copy in memory of exactly their size, for viw_pool_put; NULL: no memory. */
uint8_t *viw_pool_copy(struct viw_pool *pool, const uint8_t *from, uint32_t len);

/* Is it a buffer of the pool, and not memory for octets that were set aside? */
static inline bool
viw_pool_owns(const struct viw_pool *pool, const uint8_t *buf)
{
	return (uintptr_t)buf - (uintptr_t)pool->arena < (uintptr_t)VIW_BUF_SIZE * VIW_BUF_COUNT;
}

/* Are half of the buffers in use, so that octets must be set aside? Fast path. */
static inline bool
viw_pool_is_low(struct viw_pool *pool)
{
	return atomic_load_explicit(&pool->free_count, memory_order_relaxed) < VIW_BUF_LOW;
}

#endif /* VIW_POOL_H */
