/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A stack of large buffers in one anonymous mapping. Any thread.
 *
 * The buffer returned last is given out next, so a single busy queue pair keeps using memory that is still in
 * the cache, and pages of buffers that were never needed at the same time are never touched. The pool does not
 * grow. A sender that finds it empty sets viw_tx::starved and runs again when a buffer is returned; a receiver
 * continues without a buffer (viw_rx.c).
 *
 * Octets are set aside in memory from malloc, with their length in front. They are bounded: a sender that
 * finds the pool low builds at most VIW_TX_LEAN octets and one frame (viw_tx_build.c), and a receiver keeps
 * at most one read (viw_rx.c). If there is no memory for them, the buffer is kept.
 */
#include "viw_pool.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct aside {
	size_t len;
	uint8_t octets[];
};

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
	atomic_store(&pool->free_count, VIW_BUF_COUNT);
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
	unsigned count = atomic_load_explicit(&pool->free_count, memory_order_relaxed);
	if (count > 0) {
		buf = pool->arena + (size_t)pool->free[count - 1] * VIW_BUF_SIZE;
		atomic_store_explicit(&pool->free_count, count - 1, memory_order_relaxed);
	}
	vsw_unlock(&pool->lock);
	if (buf == NULL)
		atomic_store(&pool->starved, 1);
	return buf;
}

uint8_t *
viw_pool_copy(struct viw_pool *pool, const uint8_t *from, uint32_t len)
{
	struct aside *aside = malloc(sizeof(*aside) + len);

	if (aside == NULL)
		return NULL;
	aside->len = len;
	memcpy(aside->octets, from, len);
	atomic_fetch_add(&pool->aside, len);
	/* cppcheck-suppress memleak; aside_free finds it from its octets */
	return aside->octets;
}

static void
aside_free(struct viw_pool *pool, uint8_t *octets)
{
	struct aside *aside = (void *)(octets - offsetof(struct aside, octets));

	atomic_fetch_sub(&pool->aside, aside->len);
	free(aside);
}

bool
viw_pool_put(struct viw_pool *pool, uint8_t *buf)
{
	uint8_t *none = NULL;

	if (buf == NULL)
		return false;
	if (!viw_pool_owns(pool, buf)) {
		aside_free(pool, buf);
		return false;
	}
	if (!atomic_compare_exchange_strong(&pool->spare, &none, buf)) {
		vsw_lock(&pool->lock);
		unsigned count = atomic_load_explicit(&pool->free_count, memory_order_relaxed);
		pool->free[count] = (uint16_t)((size_t)(buf - pool->arena) / VIW_BUF_SIZE);
		atomic_store_explicit(&pool->free_count, count + 1, memory_order_relaxed);
		vsw_unlock(&pool->lock);
	}
	return atomic_load(&pool->starved) != 0 && atomic_exchange(&pool->starved, 0) != 0;
}
