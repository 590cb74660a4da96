/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef MPA_CRC_X86_H
#define MPA_CRC_X86_H

/**
 * @file mpa_crc_x86.h
 * @brief Shared code of the x86-64 kernels. Other files do not include it.
 */

#include "mpa_crc_kernels.h"

#include <immintrin.h>
#include <stdbool.h>
#include <string.h>

#define MPA_CRC_SSE42 __attribute__((target("sse4.2,pclmul"), MPA_CRC_GUARDED))

/**
 * @brief Prevent the compiler from loading a value a second time: from here on only the register is
 * used.
 *
 * A fused copy stores a value and adds it to the CRC. If it were loaded once for each, a store of
 * the application in between would make the CRC wrong.
 */
#define MPA_CRC_HOLD(value, constraint) __asm__("" : constraint(value))

/** @brief The kernel of processors with AVX-512 and vector carry-less multiply. */
extern const struct mpa_crc_kernel mpa_crc_avx512_kernel;

/** @brief The kernel of processors with AVX2 and vector carry-less multiply. */
extern const struct mpa_crc_kernel mpa_crc_avx2_kernel;

#define MPA_CRC_ONE_MIN 128u /**< octets from which the folding kernels fold one register */
#define MPA_CRC_ALL_MIN 256u /**< octets from which they fold four */

/** @brief A walk over one run of octets. */
struct mpa_crc_walk {
	uint8_t *dst;       /**< where the next octet is copied to */
	const uint8_t *src; /**< the next octet */
	size_t len;         /**< octets left */
};

/*
 * Folding constants for a distance of N octets: x^(8N + 63) and x^(8N - 1) mod P, reflected, as the low and
 * the high half of 128 bits; mpa_crc_avx512.c explains them.
 */
#define MPA_CRC_FOLD(constant) ((long long)((unsigned long long)(constant) << 32))
#define FOLD_16_LOW            MPA_CRC_FOLD(0x3743f7bdu)
#define FOLD_16_HIGH           MPA_CRC_FOLD(0x3171d430u)
#define FOLD_32_LOW            MPA_CRC_FOLD(0x33ccbbbcu)
#define FOLD_32_HIGH           MPA_CRC_FOLD(0xa2158b34u)
#define FOLD_48_LOW            MPA_CRC_FOLD(0xa46ef4aau)
#define FOLD_48_HIGH           MPA_CRC_FOLD(0x6051243fu)
#define FOLD_64_LOW            MPA_CRC_FOLD(0x1c19243bu)
#define FOLD_64_HIGH           MPA_CRC_FOLD(0x75bba45bu)
#define FOLD_96_LOW            MPA_CRC_FOLD(0xc92f998du)
#define FOLD_96_HIGH           MPA_CRC_FOLD(0x3365346au)
#define FOLD_128_LOW           MPA_CRC_FOLD(0x6577b245u)
#define FOLD_128_HIGH          MPA_CRC_FOLD(0x7417153fu)
#define FOLD_192_LOW           MPA_CRC_FOLD(0x7ccbbbf2u)
#define FOLD_192_HIGH          MPA_CRC_FOLD(0x31c94608u)
#define FOLD_256_LOW           MPA_CRC_FOLD(0xe9a5d8beu)
#define FOLD_256_HIGH          MPA_CRC_FOLD(0x1426a815u)

/** @brief The register after 16 octets that stand for all octets folded into them. */
MPA_CRC_SSE42 static inline uint32_t
mpa_crc_reduce(__m128i last)
{
	uint64_t wide = _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(last));

	return (uint32_t)_mm_crc32_u64(wide, (uint64_t)_mm_extract_epi64(last, 1));
}

/** @brief Load 8 octets once. */
static inline __attribute__((always_inline)) uint64_t
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
		if (copy) {
			memcpy(dst, &v, sizeof(v));
			dst += 4;
		}
		state = _mm_crc32_u32(state, v);
		src += 4;
	}
	if (len & 2) {
		uint16_t v;

		memcpy(&v, src, sizeof(v));
		MPA_CRC_HOLD(v, "+r");
		if (copy) {
			memcpy(dst, &v, sizeof(v));
			dst += 2;
		}
		state = _mm_crc32_u16(state, v);
		src += 2;
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

	/* Two words in a step: half as much counting, and the chain of crc32 instructions is as long as before. */
	for (; len >= 16; len -= 16) {
		uint64_t a = mpa_crc_load64(src);
		uint64_t b = mpa_crc_load64(src + 8);

		if (copy) {
			memcpy(dst, &a, sizeof(a));
			memcpy(dst + 8, &b, sizeof(b));
			dst += 16;
		}
		wide = _mm_crc32_u64(_mm_crc32_u64(wide, a), b);
		src += 16;
	}
	if (len >= 8) {
		uint64_t v = mpa_crc_load64(src);

		if (copy) {
			memcpy(dst, &v, sizeof(v));
			dst += 8;
		}
		wide = _mm_crc32_u64(wide, v);
		src += 8;
		len -= 8;
	}
	return len > 0 ? mpa_crc_tail(dst, src, len, (uint32_t)wide, copy) : (uint32_t)wide;
}

#endif
