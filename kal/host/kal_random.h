/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Random numbers of a host: the kernel's, or where a sandbox refuses getrandom(2), those of a generator that the kernel has
 * seeded. STags and keys are made of them, so there are never weak ones: a host without a seed is not created.
 */
#ifndef KAL_RANDOM_H
#define KAL_RANDOM_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kal_random {
	pthread_mutex_t lock; /* of the key */
	uint32_t key
		[8]; /* of ChaCha20; replaced with each use, so that none of what was drawn can be found again */
};

/* Seed it, by getrandom(2) or /dev/urandom. False: both are refused, and errno is of the second. */
bool kal_random_init(struct kal_random *random);
void kal_random_fini(struct kal_random *random);
/*
 * Fill the buffer. Does not fail. `alone`: in the child of a fork, where another thread may have owned the lock at the fork. The
 * child's numbers are not those that the parent draws.
 */
void kal_random_draw(struct kal_random *random, bool alone, void *buf, size_t len);
/* The block function of ChaCha20, for tests. */
void kal_random_block(const uint32_t input[16], uint32_t output[16]);

#endif /* KAL_RANDOM_H */
