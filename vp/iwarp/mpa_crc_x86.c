/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * CRC32C on x86-64: the kernel with the crc32 instruction, and the choice among the kernels.
 *
 * The instruction takes 8 octets at a time and has a latency of three cycles, so one chain reaches a third of
 * the processor's throughput. Longer runs are therefore cut into three lanes of equal length that are covered
 * at the same time, and the three results are joined: to append N octets to what a register covers is to
 * multiply the register by x^(8N), which takes one carry-less multiplication and one crc32 to reduce.
 *
 * The constant: a 32-bit register R in reflected order, times a 32-bit constant K in reflected order, is
 * R*K*x in the 63-bit product as crc32 reads it, and crc32 of 64 bits multiplies by x^32 more. So K is
 * x^(8N - 33) modulo the polynomial.
 *
 * The copying variants store the same register that they cover, so each octet is loaded once.
 */

#include "mpa_crc_kernels.h"

#if defined(__x86_64__)

#include "mpa_crc_x86.h"

/* x^(8N - 33) mod P, reflected, for the N of the name. */
#define SHIFT_64   0x9e4addf8u
#define SHIFT_128  0x0d3b6092u
#define SHIFT_256  0xb9e02b86u
#define SHIFT_512  0xdd7e3b0cu
#define SHIFT_1024 0x170076fau
#define SHIFT_2048 0xa51b6135u

/* A walk over one run of octets, and the register. */
struct lanes_walk {
	uint8_t *dst;
	const uint8_t *src;
	size_t len;
	uint32_t state;
};

MPA_CRC_SSE42 static inline uint32_t
shift(uint32_t state, uint32_t constant)
{
	__m128i product = _mm_clmulepi64_si128(_mm_cvtsi32_si128((int)state),
					       _mm_cvtsi32_si128((int)constant), 0);

	return (uint32_t)_mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(product));
}

/* Cover blocks of three lanes of @lane octets while they last. @once and @twice shift by one and two lanes. */
MPA_CRC_SSE42 static inline __attribute__((always_inline)) void
three_lanes(struct lanes_walk *w, size_t lane, uint32_t once, uint32_t twice, bool copy)
{
	while (w->len >= 3 * lane) {
		uint64_t a = w->state;
		uint64_t b = 0;
		uint64_t c = 0;

		for (size_t at = 0; at < lane; at += 8) {
			uint64_t va = mpa_crc_load64(w->src + at);
			uint64_t vb = mpa_crc_load64(w->src + at + lane);
			uint64_t vc = mpa_crc_load64(w->src + at + 2 * lane);

			if (copy) {
				memcpy(w->dst + at, &va, 8);
				memcpy(w->dst + at + lane, &vb, 8);
				memcpy(w->dst + at + 2 * lane, &vc, 8);
			}
			a = _mm_crc32_u64(a, va);
			b = _mm_crc32_u64(b, vb);
			c = _mm_crc32_u64(c, vc);
		}
		w->state = shift((uint32_t)a, twice) ^ shift((uint32_t)b, once) ^ (uint32_t)c;
		w->src += 3 * lane;
		if (copy)
			w->dst += 3 * lane;
		w->len -= 3 * lane;
	}
}

MPA_CRC_SSE42 static inline __attribute__((always_inline)) uint32_t
sse42_cover(void *dst, const void *src, size_t len, uint32_t crc, bool copy)
{
	struct lanes_walk w = {dst, src, len, ~crc};

	if (len >= (size_t)3 * 64) {
		three_lanes(&w, 1024, SHIFT_1024, SHIFT_2048, copy);
		three_lanes(&w, 256, SHIFT_256, SHIFT_512, copy);
		three_lanes(&w, 64, SHIFT_64, SHIFT_128, copy);
	}
	return ~mpa_crc_short(w.dst, w.src, w.len, w.state, copy);
}

MPA_CRC_SSE42 static uint32_t
sse42_crc(const void *src, size_t len, uint32_t crc)
{
	return sse42_cover(NULL, src, len, crc, false);
}

MPA_CRC_SSE42 static uint32_t
sse42_copy(void *dst, const void *src, size_t len, uint32_t crc)
{
	return sse42_cover(dst, src, len, crc, true);
}

static const struct mpa_crc_kernel sse42_kernel = {"sse4.2", sse42_crc, sse42_copy};

const struct mpa_crc_kernel *
mpa_crc_x86_kernel_at(unsigned index)
{
	const struct mpa_crc_kernel *able[3];
	unsigned count = 0;

	__builtin_cpu_init();
	if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("pclmul"))
		return NULL;
	if (__builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx512f") &&
	    __builtin_cpu_supports("avx512vl"))
		able[count++] = &mpa_crc_avx512_kernel;
	if (__builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx2"))
		able[count++] = &mpa_crc_avx2_kernel;
	able[count++] = &sse42_kernel;
	return index < count ? able[index] : NULL;
}

#else

const struct mpa_crc_kernel *
mpa_crc_x86_kernel_at(unsigned index)
{
	(void)index;
	return NULL;
}

#endif
