/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The copy that places data in the peer's memory.
 *
 * Applications watch the last byte of a Write although no verbs promise that this works, and software
 * providers place bytes in order. memcpy does not: it stores the end of a short block first. So the
 * stores here are volatile and ascending, 16 bytes at a time; processors with total store order (x86) keep
 * that order for an observer. On other processors memcpy copies all but the last 8 bytes, which are stored
 * one by one with release.
 */
#include "vsw_copy.h"

#include <string.h>

#if defined(__SANITIZE_THREAD__)
#define RACES_WITH_APPLICATION __attribute__((no_sanitize("thread"), noinline))
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RACES_WITH_APPLICATION __attribute__((no_sanitize("thread"), noinline))
#endif
#endif
#ifndef RACES_WITH_APPLICATION
#define RACES_WITH_APPLICATION
#endif

#if defined(__x86_64__) || defined(__i386__)

typedef uint64_t block __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint64_t word __attribute__((aligned(1), may_alias));

/*
 * Not instrumented by ThreadSanitizer: the peer's application may read this memory at any time. With RDMA
 * that is legal, and no data race of this program.
 */
RACES_WITH_APPLICATION void
vsw_copy(uint8_t *to, const uint8_t *from, size_t len)
{
	for (; len >= 64; len -= 64, to += 64, from += 64) {
		block a = *(const block *)from;
		block b = *(const block *)(from + 16);
		block c = *(const block *)(from + 32);
		block d = *(const block *)(from + 48);

		*(volatile block *)to = a;
		*(volatile block *)(to + 16) = b;
		*(volatile block *)(to + 32) = c;
		*(volatile block *)(to + 48) = d;
	}
	for (; len >= 8; len -= 8, to += 8, from += 8)
		*(volatile word *)to = *(const word *)from;
	for (; len > 0; len--, to++, from++)
		*(volatile uint8_t *)to = *from;
}

#else

RACES_WITH_APPLICATION void
vsw_copy(uint8_t *to, const uint8_t *from, size_t len)
{
	size_t tail = len < 8 ? len : 8;

	memcpy(to, from, len - tail);
	for (size_t i = len - tail; i < len; i++)
		__atomic_store_n(to + i, from[i], __ATOMIC_RELEASE);
}

#endif
