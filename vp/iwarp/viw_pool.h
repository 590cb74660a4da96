/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Staging buffers of one engine. A round borrows one; a queue pair keeps it while it has octets that the
 * socket did not take, or that wait for a receive. A peer decides how long that is, so no more than half
 * of the buffers are kept so: once half are out, those octets are set aside in memory of their
 * own, of exactly their size, and the buffer goes back (viw_pool.c). An idle queue pair holds neither.
 */
#ifndef VIW_POOL_H
#define VIW_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vsw_lock.h"

#define VIW_BUF_SIZE \
	(528u * 1024)      /* octets of one buffer: eight frames of 64 KiB and more; measured */
#define VIW_BUF_COUNT 256u /* buffers; memory is used only once a buffer was */
#define VIW_BUF_LOW   (VIW_BUF_COUNT / 2) /* with fewer in the pool, octets are set aside */

struct viw_pool {
	uint8_t *arena;
	_Atomic(uint8_t *) spare; /* the buffer given back last: one exchange instead of the lock */
	struct vsw_lock lock;     /* the two below, to write */
	atomic_uint free_count;
	uint16_t free[VIW_BUF_COUNT];
	atomic_uint starved;     /* somebody found the pool empty */
	_Atomic(uint64_t) aside; /* octets set aside; for people and tests */
};

bool viw_pool_init(struct viw_pool *pool);
void viw_pool_exit(struct viw_pool *pool);
/* A buffer of VIW_BUF_SIZE octets, or NULL. Fast path. */
uint8_t *viw_pool_get(struct viw_pool *pool);
/* Give back a buffer or what was set aside; NULL is allowed. True: somebody had found the pool empty. */
bool viw_pool_put(struct viw_pool *pool, uint8_t *buf);
/* Memory of exactly this size that holds a copy, for viw_pool_put; NULL: there is none. Allocates. */
uint8_t *viw_pool_copy(struct viw_pool *pool, const uint8_t *from, uint32_t len);

/* Is it a buffer of VIW_BUF_SIZE octets, or was it set aside? */
static inline bool
viw_pool_owns(const struct viw_pool *pool, const uint8_t *buf)
{
	return (uintptr_t)buf - (uintptr_t)pool->arena < (uintptr_t)VIW_BUF_SIZE * VIW_BUF_COUNT;
}

/* Are so many buffers out that no more of them may be kept from one round to the next? Fast path. */
static inline bool
viw_pool_is_low(struct viw_pool *pool)
{
	return atomic_load_explicit(&pool->free_count, memory_order_relaxed) < VIW_BUF_LOW;
}

#endif /* VIW_POOL_H */
