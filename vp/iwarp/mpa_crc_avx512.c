/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * CRC32C on x86-64 with vector carry-less multiplication of 512 bits.
 *
 * Folding: 16 octets A that are D bits in front of 16 octets B can be added to B if they are multiplied by
 * x^D modulo the polynomial P. In reflected order the low half of A is the more significant one, and a product
 * of two reflected 64-bit values comes out multiplied by x. So the low half is multiplied by x^(D + 63) and
 * the high half by x^(D - 1), both mod P and reflected into the upper half of 64 bits. Four registers of 64
 * octets are folded over 256 octets each. At the end they are folded into one, its last 16 octets are reduced
 * by two crc32 instructions, and the octets that are left go through mpa_crc_short().
 *
 * For a run shorter than MPA_CRC_ONE_MIN the chain of crc32 instructions is faster. The copying variants store
 * the same register that they fold, so each octet is loaded once.
 */

#include "mpa_crc_kernels.h"

#if defined(__x86_64__)

#include "mpa_crc_x86.h"

#define AVX512 __attribute__((target("avx512f,avx512vl,vpclmulqdq,pclmul,sse4.2"), MPA_CRC_GUARDED))

/* The same constants in each 128 bits. */
AVX512 static inline __m512i
constants(long long low, long long high)
{
	return _mm512_set_epi64(high, low, high, low, high, low, high, low);
}

/* Take the next 64 octets: load once, and store if @copy. */
AVX512 static inline __attribute__((always_inline)) __m512i
take(struct mpa_crc_walk *w, bool copy)
{
	__m512i v = _mm512_loadu_si512(w->src);

	MPA_CRC_HOLD(v, "+v");
	if (copy) {
		_mm512_storeu_si512(w->dst, v);
		w->dst += 64;
	}
	w->src += 64;
	w->len -= 64;
	return v;
}

AVX512 static inline __m512i
fold(__m512i a, __m512i k, __m512i next)
{
	__m512i low = _mm512_clmulepi64_epi128(a, k, 0x00);
	__m512i high = _mm512_clmulepi64_epi128(a, k, 0x11);

	return _mm512_ternarylogic_epi64(low, high, next, 0x96); /* exclusive or of all three */
}

/* The four 16-octet parts of @a into its last one. */
AVX512 static inline __m128i
join(__m512i a)
{
	const __m512i k = _mm512_set_epi64(0, 0, FOLD_16_HIGH, FOLD_16_LOW, FOLD_32_HIGH,
					   FOLD_32_LOW, FOLD_48_HIGH, FOLD_48_LOW);
	__m512i all = fold(a, k, _mm512_maskz_mov_epi64(0xc0, a));
	__m256i half =
		_mm256_xor_si256(_mm512_castsi512_si256(all), _mm512_extracti64x4_epi64(all, 1));

	return _mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
}

/* Four registers at a time, for 256 octets and more. @state enters the first four octets. */
AVX512 static inline __attribute__((always_inline)) __m512i
fold_four(struct mpa_crc_walk *w, uint32_t state, bool copy)
{
	const __m512i k256 = constants(FOLD_256_LOW, FOLD_256_HIGH);
	__m512i a = _mm512_xor_si512(take(w, copy),
				     _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)state)));
	__m512i b = take(w, copy);
	__m512i c = take(w, copy);
	__m512i d = take(w, copy);

	while (w->len >= 256) {
		a = fold(a, k256, take(w, copy));
		b = fold(b, k256, take(w, copy));
		c = fold(c, k256, take(w, copy));
		d = fold(d, k256, take(w, copy));
	}
	d = fold(a, constants(FOLD_192_LOW, FOLD_192_HIGH), d);
	b = fold(b, constants(FOLD_128_LOW, FOLD_128_HIGH), d);
	return fold(c, constants(FOLD_64_LOW, FOLD_64_HIGH), b);
}

AVX512 static inline __attribute__((always_inline)) uint32_t
avx512_cover(void *dst, const void *src, size_t len, uint32_t crc, bool copy)
{
	const __m512i k64 = constants(FOLD_64_LOW, FOLD_64_HIGH);
	struct mpa_crc_walk w = {dst, src, len};
	uint32_t state = ~crc;
	__m512i a;

	if (len < MPA_CRC_ONE_MIN)
		return ~mpa_crc_short(dst, src, len, state, copy);
	if (len >= MPA_CRC_ALL_MIN)
		a = fold_four(&w, state, copy);
	else
		a = _mm512_xor_si512(take(&w, copy),
				     _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)state)));
	while (w.len >= 64)
		a = fold(a, k64, take(&w, copy));
	state = mpa_crc_reduce(join(a));
	return ~mpa_crc_short(w.dst, w.src, w.len, state, copy);
}

AVX512 static uint32_t
avx512_crc(const void *src, size_t len, uint32_t crc)
{
	return avx512_cover(NULL, src, len, crc, false);
}

AVX512 static uint32_t
avx512_copy(void *dst, const void *src, size_t len, uint32_t crc)
{
	return avx512_cover(dst, src, len, crc, true);
}

const struct mpa_crc_kernel mpa_crc_avx512_kernel = {"avx512", avx512_crc, avx512_copy};

#else
typedef int mpa_crc_avx512_is_for_x86_64;
#endif
