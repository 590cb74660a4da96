/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * CRC32C on x86-64 with vector carry-less multiplication of 256 bits, for processors that have it without
 * AVX-512. The method is that of mpa_crc_avx512.c, with four registers of 32 octets.
 */

#include "mpa_crc_kernels.h"

#if defined(__x86_64__)

#include "mpa_crc_x86.h"

#define AVX2 __attribute__((target("avx2,vpclmulqdq,pclmul,sse4.2"), MPA_CRC_GUARDED))

/* The same constants in each 128 bits. */
AVX2 static inline __m256i
constants(long long low, long long high)
{
	return _mm256_set_epi64x(high, low, high, low);
}

/* Take the next 32 octets: load once, and store if @copy. */
AVX2 static inline __attribute__((always_inline)) __m256i
take(struct mpa_crc_walk *w, bool copy)
{
	__m256i v = _mm256_loadu_si256((const __m256i_u *)w->src);

	MPA_CRC_HOLD(v, "+x");
	if (copy) {
		_mm256_storeu_si256((__m256i_u *)w->dst, v);
		w->dst += 32;
	}
	w->src += 32;
	w->len -= 32;
	return v;
}

AVX2 static inline __m256i
fold(__m256i a, __m256i k, __m256i next)
{
	__m256i low = _mm256_clmulepi64_epi128(a, k, 0x00);
	__m256i high = _mm256_clmulepi64_epi128(a, k, 0x11);

	return _mm256_xor_si256(_mm256_xor_si256(low, high), next);
}

/* The two 16-octet parts of @a into one. */
AVX2 static inline __m128i
join(__m256i a)
{
	const __m128i k = _mm_set_epi64x(FOLD_16_HIGH, FOLD_16_LOW);
	__m128i first = _mm256_castsi256_si128(a);
	__m128i folded = _mm_xor_si128(_mm_clmulepi64_si128(first, k, 0x00),
				       _mm_clmulepi64_si128(first, k, 0x11));

	return _mm_xor_si128(folded, _mm256_extracti128_si256(a, 1));
}

/* The first 32 octets, with @state in the first four. */
AVX2 static inline __attribute__((always_inline)) __m256i
take_first(struct mpa_crc_walk *w, uint32_t state, bool copy)
{
	__m256i v = _mm256_zextsi128_si256(_mm_cvtsi32_si128((int)state));

	return _mm256_xor_si256(take(w, copy), v);
}

/* Four registers at a time, for 128 octets and more. */
AVX2 static inline __attribute__((always_inline)) __m256i
fold_four(struct mpa_crc_walk *w, uint32_t state, bool copy)
{
	const __m256i k128 = constants(FOLD_128_LOW, FOLD_128_HIGH);
	__m256i a = take_first(w, state, copy);
	__m256i b = take(w, copy);
	__m256i c = take(w, copy);
	__m256i d = take(w, copy);

	while (w->len >= 128) {
		a = fold(a, k128, take(w, copy));
		b = fold(b, k128, take(w, copy));
		c = fold(c, k128, take(w, copy));
		d = fold(d, k128, take(w, copy));
	}
	d = fold(a, constants(FOLD_96_LOW, FOLD_96_HIGH), d);
	d = fold(b, constants(FOLD_64_LOW, FOLD_64_HIGH), d);
	return fold(c, constants(FOLD_32_LOW, FOLD_32_HIGH), d);
}

AVX2 static inline __attribute__((always_inline)) uint32_t
avx2_cover(void *dst, const void *src, size_t len, uint32_t crc, bool copy)
{
	const __m256i k32 = constants(FOLD_32_LOW, FOLD_32_HIGH);
	struct mpa_crc_walk w = {dst, src, len};
	uint32_t state = ~crc;
	__m256i a;

	if (len < MPA_CRC_ONE_MIN)
		return ~mpa_crc_short(dst, src, len, state, copy);
	a = len >= MPA_CRC_ALL_MIN ? fold_four(&w, state, copy) : take_first(&w, state, copy);
	while (w.len >= 32)
		a = fold(a, k32, take(&w, copy));
	state = mpa_crc_reduce(join(a));
	return ~mpa_crc_short(w.dst, w.src, w.len, state, copy);
}

AVX2 static uint32_t
avx2_crc(const void *src, size_t len, uint32_t crc)
{
	return avx2_cover(NULL, src, len, crc, false);
}

AVX2 static uint32_t
avx2_copy(void *dst, const void *src, size_t len, uint32_t crc)
{
	return avx2_cover(dst, src, len, crc, true);
}

const struct mpa_crc_kernel mpa_crc_avx2_kernel = {"avx2", avx2_crc, avx2_copy};

#else
typedef int mpa_crc_avx2_is_for_x86_64;
#endif
