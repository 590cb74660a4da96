/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * CRC32C: chooses among the implementations, and has the one that works on every processor.
 *
 * The fall-back is ISA-L, which has kernels for x86-64 and arm64 and a table for other processors. It cannot copy and
 * compute in one pass. So isal_copy computes the CRC of a private copy: an application may write to the source of a
 * Send meanwhile, and to the place where a message arrives.
 *
 * ISA-L's crc32_iscsi() takes and returns the register without either inversion; isal_crc does both.
 *
 * A constructor chooses by the instructions that the processor has, before main() and so before any thread. Until then the
 * fall-back is used, and nothing is written afterwards.
 */

#include "mpa_crc.h"
#include "mpa_crc_kernels.h"

#include <isa-l/crc.h>
#include <string.h>

#define COPY_BLOCK 2048u      /* stays in the first-level cache */
#define ISAL_BLOCK (1u << 30) /* its length is an int */

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

__attribute__((constructor)) static void
choose_kernel(void)
{
	mpa_crc_kernel = mpa_crc_kernel_at(0);
}
