/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Numbers of 24 bits that cannot be predicted and are not repeated soon: the indices of STags.
 *
 * A draw is a permuted counter. 2^23 draws are an epoch. Within an epoch the permutation is a bijection of
 * 23 bits, keyed by a secret of the host's random source and by the number of the epoch; the highest bit is
 * the parity of the epoch. So a number is not drawn again within the next 2^23 draws, and the order of one
 * epoch tells nothing about that of another.
 *
 * The bijection is an alternating Feistel network of eight rounds over 11 and 12 bits. Its round function is
 * SipHash-2-4 (Aumasson and Bernstein, 2012), a pseudorandom function for everyone who does not know the
 * secret. A draw costs about 0.2 us and belongs to the control path.
 *
 * Threads: any.
 */
#ifndef VSW_DRAW_H
#define VSW_DRAW_H

#include <stdatomic.h>
#include <stdint.h>

#include "rnicpi_host.h"

#define VSW_DRAW_EPOCH (1u << 23) /* draws within which no number comes twice */

struct vsw_draw {
	uint64_t secret[2];
	atomic_ullong count; /* draws so far */
};

/* Begin with a secret of the host's random source. */
void vsw_draw_init(struct vsw_draw *draw, const struct ri_host *host);
/* The next number, below 2^24. */
uint32_t vsw_draw_next(struct vsw_draw *draw);

/* SipHash-2-4 of eight bytes, the lowest first; the tests compare it with its authors' vectors. */
uint64_t vsw_siphash(const uint64_t secret[2], uint64_t message);

#endif /* VSW_DRAW_H */
