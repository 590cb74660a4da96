/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * CRC32C: the choice among the implementations, and the one that works on every processor.
 *
 * The fall-back is ISA-L, which has kernels for x86-64 and arm64 and a table for other processors. It has no
 * fused copy. So isal_copy covers a copy of its own: an application may write to the source of a Send meanwhile, and to the
 * place where a message arrives.
 *
 * ISA-L's crc32_iscsi() takes and returns the register without either inversion; isal_crc does both.
 *
 * A constructor makes the choice, before main() and so before any thread; until then the fall-back is used.
 * Nothing is written afterwards. Processors differ in which instructions they are good at, so where there are several
 * kernels, each copies 4 KiB a few times, some 10 us in all. The fall-back is not tried: it needs two copies more.
 */

#include "mpa_crc.h"
#include "mpa_crc_kernels.h"

#include <isa-l/crc.h>
#include <string.h>
#include <time.h>

#define COPY_BLOCK 2048u      /* stays in the first-level cache */
#define ISAL_BLOCK (1u << 30) /* its length is an int */

#define TRIAL_OCTETS  4096u
#define TRIAL_ROUNDS  7
#define TRIAL_KERNELS 4u

static uint32_t
isal_crc(const void *src, size_t len, uint32_t crc)
{
	const uint8_t *at = src;
	uint32_t state = ~crc;

	while (len > 0) {
		size_t part = len < ISAL_BLOCK ? len : ISAL_BLOCK;

		state = crc32_iscsi((unsigned char *)at, (int)part, state);
		at += part;
		len -= part;
	}
	return ~state;
}

/* Not memcpy, which is in another section. */
static inline __attribute__((always_inline)) void
octets_copy(void *dst, const void *src, size_t len)
{
#if defined(__x86_64__)
	__asm__ volatile("rep movsb" : "+D"(dst), "+S"(src), "+c"(len) : : "memory");
#else
	memcpy(dst, src, len);
#endif
}

static __attribute__((MPA_CRC_GUARDED)) uint32_t
isal_copy(void *dst, const void *src, size_t len, uint32_t crc)
{
	uint8_t *to = dst;
	const uint8_t *from = src;
	uint8_t block[COPY_BLOCK];

	while (len > 0) {
		size_t part = len < COPY_BLOCK ? len : COPY_BLOCK;

		octets_copy(block, from, part);
		crc = isal_crc(block, part, crc);
		octets_copy(to, block, part);
		to += part;
		from += part;
		len -= part;
	}
	return crc;
}

static const struct mpa_crc_kernel isal_kernel = {"isal", isal_crc, isal_copy};

const struct mpa_crc_kernel *mpa_crc_kernel = &isal_kernel;

const struct mpa_crc_kernel *
mpa_crc_kernel_at(unsigned index)
{
	const struct mpa_crc_kernel *own = mpa_crc_x86_kernel_at(index);
	unsigned count = 0;

	if (own != NULL)
		return own;
	while (mpa_crc_x86_kernel_at(count) != NULL)
		count++;
	return index == count ? &isal_kernel : NULL;
}

unsigned
mpa_crc_fastest(const uint64_t *ns, unsigned count)
{
	unsigned best = 0;

	for (unsigned i = 1; i < count; i++)
		if (ns[i] < ns[best])
			best = i;
	return ns[best] < ns[0] - ns[0] / 10 ? best : 0;
}

static uint64_t
now_ns(void)
{
	struct timespec t = {0};

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* How long a kernel takes: the shortest of a few times, since an interrupt makes only some of them longer. */
static uint64_t
trial(const struct mpa_crc_kernel *kernel, uint8_t *to, const uint8_t *from)
{
	uint64_t best = UINT64_MAX;
	uint32_t crc = 0;

	for (unsigned i = 0; i < TRIAL_ROUNDS; i++) {
		uint64_t start = now_ns();

		crc = kernel->copy(to, from, TRIAL_OCTETS, crc);
		uint64_t ns = now_ns() - start;
		if (ns < best)
			best = ns;
	}
	return best;
}

__attribute__((constructor)) static void
choose_kernel(void)
{
	/* Static, since the thread that loads the library may have a small stack; one thread is here, once. */
	static const uint8_t from[TRIAL_OCTETS];
	static uint8_t to[TRIAL_OCTETS];
	uint64_t ns[TRIAL_KERNELS] = {0};
	unsigned count = 0;

	while (count < TRIAL_KERNELS && mpa_crc_x86_kernel_at(count) != NULL)
		count++;
	for (unsigned i = 0; count > 1 && i < count; i++)
		ns[i] = trial(mpa_crc_x86_kernel_at(i), to, from);
	mpa_crc_kernel = mpa_crc_kernel_at(count > 1 ? mpa_crc_fastest(ns, count) : 0);
}
