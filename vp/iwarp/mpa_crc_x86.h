/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef MPA_CRC_X86_H
#define MPA_CRC_X86_H

/**
 * @file mpa_crc_x86.h
 * @brief What the x86-64 kernels share. Not for others; only to be included on x86-64.
 */

#include "mpa_crc_kernels.h"

#include <immintrin.h>
#include <stdbool.h>
#include <string.h>

#define MPA_CRC_SSE42 __attribute__((target("sse4.2,pclmul")))

/**
 * @brief Forbid the compiler to load a value a second time: from here on it is what the register holds.
 *
 * A fused copy stores a value and covers it; were it loaded once for each, a store of the application in
 * between would break the CRC.
 */
#define MPA_CRC_HOLD(value, constraint) __asm__("" : constraint(value))

/** @brief The kernel of processors with AVX-512 and vector carry-less multiply. */
extern const struct mpa_crc_kernel mpa_crc_avx512_kernel;

/** @brief The kernel of processors with AVX2 and vector carry-less multiply. */
extern const struct mpa_crc_kernel mpa_crc_avx2_kernel;

/** @brief Load 8 octets once. */
static inline uint64_t
mpa_crc_load64(const uint8_t *at)
{
	uint64_t v;

	memcpy(&v, at, sizeof(v));
	MPA_CRC_HOLD(v, "+r");
	return v;
}

/** @brief Cover, and copy if @p copy, fewer than 8 octets. @p state is not inverted. */
MPA_CRC_SSE42 static inline uint32_t
mpa_crc_tail(uint8_t *dst, const uint8_t *src, size_t len, uint32_t state, bool copy)
{
	if (len & 4) {
		uint32_t v;

		memcpy(&v, src, sizeof(v));
		MPA_CRC_HOLD(v, "+r");
		if (copy)
			memcpy(dst, &v, sizeof(v));
		state = _mm_crc32_u32(state, v);
		src += 4;
		dst += copy ? 4 : 0;
	}
	if (len & 2) {
		uint16_t v;

		memcpy(&v, src, sizeof(v));
		MPA_CRC_HOLD(v, "+r");
		if (copy)
			memcpy(dst, &v, sizeof(v));
		state = _mm_crc32_u16(state, v);
		src += 2;
		dst += copy ? 2 : 0;
	}
	if (len & 1) {
		uint8_t v = *src;

		MPA_CRC_HOLD(v, "+q");
		if (copy)
			*dst = v;
		state = _mm_crc32_u8(state, v);
	}
	return state;
}

/** @brief Cover, and copy if @p copy, a short run of octets: one chain of crc32 instructions. */
MPA_CRC_SSE42 static inline uint32_t
mpa_crc_short(uint8_t *dst, const uint8_t *src, size_t len, uint32_t state, bool copy)
{
	uint64_t wide = state;

	for (; len >= 8; len -= 8) {
		uint64_t v = mpa_crc_load64(src);

		if (copy) {
			memcpy(dst, &v, sizeof(v));
			dst += 8;
		}
		wide = _mm_crc32_u64(wide, v);
		src += 8;
	}
	return len > 0 ? mpa_crc_tail(dst, src, len, (uint32_t)wide, copy) : (uint32_t)wide;
}

#endif
