/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * See scarce.h. The real functions are found with dlsym, which may allocate memory itself; until they are known,
 * requests are served from a small arena that is never freed.
 */
#include "scarce.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void *(*real_malloc)(size_t size);
static void *(*real_calloc)(size_t count, size_t size);
static void *(*real_realloc)(void *block, size_t size);
static int (*real_posix_memalign)(void **out, size_t align, size_t size);
static void *(*real_aligned_alloc)(size_t align, size_t size);
static void (*real_free)(void *block);
static void *(*real_mmap)(void *addr, size_t length, int prot, int flags, int fd, off_t offset);

static _Alignas(max_align_t) char arena[65536];
static atomic_size_t arena_used;
static atomic_int known; /* 0: not looked up, 1: look-up under way, 2: known */

static atomic_ulong counted, fail_at, refused;
static atomic_bool armed, for_good, one_thread;
static atomic_long live;
/* No allocation is needed to reach it. */
static _Thread_local struct {
	bool chosen; /* scarce_arm_here was called here last */
	unsigned paused;
	long live;
} here __attribute__((tls_model("initial-exec")));

static void
find(void *out, const char *name)
{
	void *symbol = dlsym(RTLD_NEXT, name);

	memcpy(out, &symbol, sizeof(symbol));
}

/* True when the real functions can be called. */
static bool
ready(void)
{
	int none = 0;

	if (atomic_load(&known) == 2)
		return true;
	if (!atomic_compare_exchange_strong(&known, &none, 1))
		return false;
	find(&real_malloc, "malloc");
	find(&real_calloc, "calloc");
	find(&real_realloc, "realloc");
	find(&real_posix_memalign, "posix_memalign");
	find(&real_aligned_alloc, "aligned_alloc");
	find(&real_free, "free");
	find(&real_mmap, "mmap");
	atomic_store(&known, 2);
	return true;
}

static bool
is_early(const void *block)
{
	return (uintptr_t)block >= (uintptr_t)arena &&
	       (uintptr_t)block < (uintptr_t)arena + sizeof(arena);
}

/* The arena is zero and each part of it is handed out once, so this memory is zeroed. */
static void *
early(size_t size)
{
	size_t rounded =
		(size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
	size_t at = atomic_fetch_add(&arena_used, rounded);

	return at + rounded <= sizeof(arena) ? arena + at : NULL;
}

/* Must this request fail? */
static bool
refuse(void)
{
	unsigned long number, at;

	if (!atomic_load(&armed))
		return false;
	if (atomic_load(&one_thread) && (!here.chosen || here.paused > 0))
		return false;
	number = atomic_fetch_add(&counted, 1) + 1;
	at = atomic_load(&fail_at);
	if (at == 0 || number < at || (number > at && !atomic_load(&for_good)))
		return false;
	atomic_fetch_add(&refused, 1);
	errno = ENOMEM;
	return true;
}

static void
count_live(long change)
{
	atomic_fetch_add(&live, change);
	if (here.paused == 0)
		here.live += change;
}

static void *
counted_block(void *block)
{
	if (block != NULL)
		count_live(1);
	return block;
}

void *
malloc(size_t size)
{
	if (!ready())
		return early(size);
	return refuse() ? NULL : counted_block(real_malloc(size));
}

void *
calloc(size_t count, size_t size)
{
	if (!ready())
		return early(count * size);
	return refuse() ? NULL : counted_block(real_calloc(count, size));
}

void *
realloc(void *block, size_t size)
{
	void *other;

	if (block == NULL)
		return malloc(size);
	if (!ready() || is_early(block)) {
		other = malloc(size);
		if (other !=
		    NULL) /* a block of the arena may be read beyond its end; the arena continues there */
			memcpy(other, block,
			       is_early(block) && size > (size_t)(arena + sizeof(arena) -
								  (char *)block)
				       ? (size_t)(arena + sizeof(arena) - (char *)block)
				       : size);
		return other;
	}
	return refuse() ? NULL : real_realloc(block, size);
}

void *
reallocarray(void *block, size_t count, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(count, size, &total)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(block, total);
}

int
posix_memalign(void **out, size_t align, size_t size)
{
	int error;

	if (!ready() || refuse())
		return ENOMEM;
	error = real_posix_memalign(out, align, size);
	if (error == 0)
		count_live(1);
	return error;
}

void *
aligned_alloc(size_t align, size_t size)
{
	return !ready() || refuse() ? NULL : counted_block(real_aligned_alloc(align, size));
}

void *
memalign(size_t align, size_t size)
{
	return aligned_alloc(align, size);
}

void
free(void *block)
{
	if (block == NULL || is_early(block) || !ready())
		return;
	count_live(-1);
	real_free(block);
}

void *
mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset)
{
	if (!ready())
		return MAP_FAILED;
	if ((flags & MAP_ANONYMOUS) != 0 && refuse())
		return MAP_FAILED;
	return real_mmap(addr, length, prot, flags, fd, offset);
}

void
scarce_arm(unsigned long n, bool good)
{
	atomic_store(&counted, 0);
	atomic_store(&refused, 0);
	atomic_store(&fail_at, n);
	atomic_store(&for_good, good);
	atomic_store(&one_thread, false);
	atomic_store(&armed, true);
}

void
scarce_arm_here(unsigned long n, bool good)
{
	atomic_store(&armed, false);
	atomic_store(&counted, 0);
	atomic_store(&refused, 0);
	atomic_store(&fail_at, n);
	atomic_store(&for_good, good);
	here.chosen = true;
	atomic_store(&one_thread, true);
	atomic_store(&armed, true);
}

void
scarce_pause(void)
{
	here.paused++;
}

void
scarce_resume(void)
{
	here.paused--;
}

unsigned long
scarce_disarm(void)
{
	atomic_store(&armed, false);
	here.chosen = false;
	return atomic_load(&refused);
}

long
scarce_live(void)
{
	return atomic_load(&live);
}

long
scarce_live_here(void)
{
	return here.live;
}
