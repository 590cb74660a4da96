/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "sim/sim.h"

void
sim_random_seed(struct sim_random *random, uint64_t seed, const char *purpose)
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (; *purpose != '\0'; purpose++)
		hash = (hash ^ (unsigned char)*purpose) * UINT64_C(1099511628211);
	random->state = seed * UINT64_C(0x9e3779b97f4a7c15) ^ hash;
	(void)sim_random_draw(random);
}

/* The generator splitmix64: a counter, mixed. */
uint64_t
sim_random_draw(struct sim_random *random)
{
	uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

uint64_t
sim_random_below(struct sim_random *random, uint64_t bound)
{
	return sim_random_draw(random) % bound;
}
