/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The indices of STags: the permutation that vsw_draw.h describes. */
#include "vsw_draw.h"

#define LEFT_BITS  11
#define RIGHT_BITS 12
#define LEFT_MASK  ((1u << LEFT_BITS) - 1)
#define RIGHT_MASK ((1u << RIGHT_BITS) - 1)
#define ROUNDS     8 /* even: both halves are written equally often */

_Static_assert(VSW_DRAW_EPOCH == 1u << (LEFT_BITS + RIGHT_BITS), "the halves make an epoch");

static uint64_t
rotate_left(uint64_t value, unsigned int bits)
{
	return value << bits | value >> (64 - bits);
}

static void
sip_rounds(uint64_t v[4], unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotate_left(v[1], 13) ^ v[0];
		v[3] = rotate_left(v[3], 16) ^ v[2];
		v[0] = rotate_left(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = rotate_left(v[1], 17) ^ v[2];
		v[3] = rotate_left(v[3], 21) ^ v[0];
		v[2] = rotate_left(v[2], 32);
	}
}

uint64_t
vsw_siphash(const uint64_t secret[2], uint64_t message)
{
	const uint64_t length = (uint64_t)sizeof(message)
				<< 56; /* the last block: no bytes are left */
	uint64_t v[4] = {
		secret[0] ^ 0x736f6d6570736575u,
		secret[1] ^ 0x646f72616e646f6du,
		secret[0] ^ 0x6c7967656e657261u,
		secret[1] ^ 0x7465646279746573u,
	};

	v[3] ^= message;
	sip_rounds(v, 2);
	v[0] ^= message;
	v[3] ^= length;
	sip_rounds(v, 2);
	v[0] ^= length;
	v[2] ^= 0xff;
	sip_rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

void
vsw_draw_init(struct vsw_draw *draw, const struct ri_host *host)
{
	host->random(host->self, draw->secret, sizeof(draw->secret));
	atomic_init(&draw->count, 0);
}

uint32_t
vsw_draw_next(struct vsw_draw *draw)
{
	uint64_t count = atomic_fetch_add(&draw->count, 1);
	uint64_t epoch = count / VSW_DRAW_EPOCH;
	uint32_t left = (uint32_t)(count >> RIGHT_BITS) & LEFT_MASK;
	uint32_t right = (uint32_t)count & RIGHT_MASK;

	for (uint32_t i = 0; i < ROUNDS; i += 2) {
		uint64_t round = epoch << 16 | i << 12;
		left ^= (uint32_t)vsw_siphash(draw->secret, round | right) & LEFT_MASK;
		right ^= (uint32_t)vsw_siphash(draw->secret, round | 1u << 12 | left) & RIGHT_MASK;
	}
	return (uint32_t)(epoch & 1) << (LEFT_BITS + RIGHT_BITS) | left << RIGHT_BITS | right;
}
