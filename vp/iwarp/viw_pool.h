/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Staging buffers of one engine. A queue pair borrows one while it has octets that the socket did not
 * take, or that wait for a receive; an idle queue pair holds none.
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

struct viw_pool {
	uint8_t *arena;
	_Atomic(uint8_t *) spare; /* the buffer given back last: one exchange instead of the lock */
	struct vsw_lock lock;     /* the two below */
	uint32_t free_count;
	uint16_t free[VIW_BUF_COUNT];
	atomic_uint starved; /* somebody found the pool empty */
};

bool viw_pool_init(struct viw_pool *pool);
void viw_pool_exit(struct viw_pool *pool);
/* A buffer of VIW_BUF_SIZE octets, or NULL. Fast path. */
uint8_t *viw_pool_get(struct viw_pool *pool);
/* Give one back; NULL is allowed. True: somebody had found the pool empty. */
bool viw_pool_put(struct viw_pool *pool, uint8_t *buf);

#endif /* VIW_POOL_H */
