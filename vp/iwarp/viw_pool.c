/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A stack of large buffers in one anonymous mapping.
 *
 * The last one returned is the next one given, so that a single busy queue pair keeps using octets
 * that are still in the cache, and pages of buffers that were never needed at the same time stay
 * untouched. The pool never grows: who finds it empty marks that and is run again when a buffer
 * returns (senders), or does without (receivers, see viw_rx.c). Any thread.
 */
#include "viw_pool.h"

#include <string.h>
#include <sys/mman.h>

bool
viw_pool_init(struct viw_pool *pool)
{
	memset(pool, 0, sizeof(*pool));
	void *arena = mmap(NULL, (size_t)VIW_BUF_SIZE * VIW_BUF_COUNT, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (arena == MAP_FAILED)
		return false;
	pool->arena = arena;
	for (uint32_t i = 0; i < VIW_BUF_COUNT; i++)
		pool->free[i] = (uint16_t)(VIW_BUF_COUNT - 1 - i);
	pool->free_count = VIW_BUF_COUNT;
	return true;
}

void
viw_pool_exit(struct viw_pool *pool)
{
	if (pool->arena != NULL)
		munmap(pool->arena, (size_t)VIW_BUF_SIZE * VIW_BUF_COUNT);
	pool->arena = NULL;
}

uint8_t *
viw_pool_get(struct viw_pool *pool)
{
	uint8_t *buf = atomic_exchange(&pool->spare, NULL);

	if (buf != NULL)
		return buf;
	vsw_lock(&pool->lock);
	if (pool->free_count > 0)
		buf = pool->arena + (size_t)pool->free[--pool->free_count] * VIW_BUF_SIZE;
	vsw_unlock(&pool->lock);
	if (buf == NULL)
		atomic_store(&pool->starved, 1);
	return buf;
}

bool
viw_pool_put(struct viw_pool *pool, uint8_t *buf)
{
	uint8_t *none = NULL;

	if (buf == NULL)
		return false;
	if (!atomic_compare_exchange_strong(&pool->spare, &none, buf)) {
		vsw_lock(&pool->lock);
		pool->free[pool->free_count++] =
			(uint16_t)((size_t)(buf - pool->arena) / VIW_BUF_SIZE);
		vsw_unlock(&pool->lock);
	}
	return atomic_load(&pool->starved) != 0 && atomic_exchange(&pool->starved, 0) != 0;
}
