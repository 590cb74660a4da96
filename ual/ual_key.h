/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The handle of the LMR or RMR that has a given STag.
 *
 * A completion has the STag that was invalidated; the event for the application has a handle
 * (it_all_dto_cmpl_event_t, [IT 7.8]). Keys are found by their index, which does not change during the life of the
 * region or window; the low eight bits change with each link and must match the present key.
 */
#ifndef UAL_KEY_H
#define UAL_KEY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "rnicpi_host.h"

#define UAL_KEY_BUCKETS  1024
#define UAL_OCTET_ROUNDS 6 /* even: both halves are written equally often */

struct ual_object;

/* The key of an object; not in the table while object is NULL. */
struct ual_key {
	struct ual_key *next; /* under ual_keys::lock, as all others but stag */
	struct ual_object *object;
	atomic_uint stag; /* the present key */
	atomic_bool
		revoked; /* it was invalidated by a peer or a Read, and the completion was taken */
};

/*
 * The order in which the key octets of one object are used: a secret cycle of all 256. A peer that
 * remembers a context of an RMR, or of an LMR that is linked anew, cannot predict the next one, and none of
 * them is used again within the next 255 links. It is a Feistel network of six rounds over two halves of
 * four bits; a word holds the function of a round, drawn at random, four bits for each value of a half.
 */
struct ual_octets {
	uint64_t rounds[UAL_OCTET_ROUNDS];
};

/* Of an adapter. */
struct ual_keys {
	pthread_mutex_t lock;
	struct ual_key *buckets[UAL_KEY_BUCKETS];
};

/* NULL: no memory. */
struct ual_keys *ual_keys_new(void);
void ual_keys_free(struct ual_keys *keys); /* NULL is none */
/* Enter the key of an object, or change the one it has, also to another index. */
void ual_key_set(struct ual_keys *keys, struct ual_key *key, struct ual_object *object,
		 uint32_t stag);
/* The object has this key of the same index now. Fast path: no later load has to wait for these stores. */
static inline void
ual_key_renew(struct ual_key *key, uint32_t stag)
{
	atomic_store_explicit(&key->stag, stag, memory_order_release);
	atomic_store_explicit(&key->revoked, false, memory_order_release);
}

void ual_key_remove(struct ual_keys *keys, struct ual_key *key);
/* Draw an order from the host's random source; before the first step. */
void ual_octets_init(struct ual_octets *octets, const struct ri_host *host);
/* The STag after this one: the next key octet of the order, the same index. Fast path. */
uint32_t ual_octets_step(const struct ual_octets *octets, uint32_t stag);
/* A key octet, drawn from the host's random source. */
uint8_t ual_key_octet(const struct ri_host *host);
/* This key was invalidated: mark it, and return the handle of its object; NULL: no object has it now. */
void *ual_key_revoked(struct ual_keys *keys, uint32_t stag);

#endif /* UAL_KEY_H */
