/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef MPA_CRC_H
#define MPA_CRC_H

/**
 * @file mpa_crc.h
 * @brief CRC32C (Castagnoli), alone and fused with a copy.
 *
 * Polynomial 0x82F63B78 reflected, initial value and final inversion all ones; [WIRE 3.2]. Both
 * inversions happen inside, so a value of these functions is the CRC of what was covered so far, the
 * CRC of nothing is 0, and a result is the start of the next piece:
 *
 *     crc = mpa_crc(header, 20, 0);
 *     crc = mpa_crc_copy(buffer, payload, len, crc);
 *
 * Reentrant, from any thread. The code with the widest registers that the processor has is chosen before main().
 */

#include <stddef.h>
#include <stdint.h>

#include "ri_wire.h"

/** @brief One implementation. Both functions work at every length (0 included) and alignment. */
struct mpa_crc_kernel {
	const char *name;                                           /**< for tests and benchmarks */
	uint32_t (*crc)(const void *src, size_t len, uint32_t crc); /**< see mpa_crc() */
	uint32_t (*copy)(void *dst, const void *src, size_t len,
			 uint32_t crc); /**< see mpa_crc_copy() */
};

/** @brief The implementation in use. Set before main(); read only. */
extern const struct mpa_crc_kernel *mpa_crc_kernel;

/**
 * @brief CRC32C of @p len octets at @p src that follow octets whose CRC32C is @p crc (0: none).
 * @return the CRC of all of them
 */
static inline uint32_t
mpa_crc(const void *src, size_t len, uint32_t crc)
{
	return mpa_crc_kernel->crc(src, len, crc);
}

/**
 * @brief Copy @p len octets from @p src to @p dst, which do not overlap, and give the CRC of the copy.
 *
 * Every octet of @p src is loaded once, that load is both stored and covered, and nothing is read
 * from @p dst. So the result is the CRC of the octets stored, even if another thread writes
 * meanwhile: to @p src, as an application may do in a region that its peer reads, or to @p dst, as
 * one may do that polls the place where a message arrives.
 *
 * @param[out] dst  @p len octets
 * @param[in] src   @p len octets, no alignment needed
 * @param[in] len   octets, 0 allowed
 * @param[in] crc   CRC32C of what goes before, 0 if nothing does
 * @return the CRC of what goes before followed by the octets stored to @p dst
 */
static inline uint32_t
mpa_crc_copy(void *dst, const void *src, size_t len, uint32_t crc)
{
	return mpa_crc_kernel->copy(dst, src, len, crc);
}

/** @brief Write the CRC field: least significant octet first, unlike all other fields. */
static inline void
mpa_crc_store(void *at, uint32_t crc)
{
	wire_store_be32(at, __builtin_bswap32(crc));
}

/** @brief Read the CRC field. */
static inline uint32_t
mpa_crc_load(const void *at)
{
	return __builtin_bswap32(wire_load_be32(at));
}

/**
 * @brief The implementations that this processor can run, fastest first, for tests and benchmarks.
 * @param[in] index  0, 1, ... until the answer is NULL
 */
const struct mpa_crc_kernel *mpa_crc_kernel_at(unsigned index);

#endif
