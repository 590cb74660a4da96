/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * From a key on the wire back to the handle of the LMR or RMR whose key it is.
 *
 * A completion tells which STag was invalidated; the application is told a handle
 * (it_all_dto_cmpl_event_t, itapi-semantics 7.8). Keys are found by their index, which stays while the
 * region or window does; the low eight bits step with each link and are compared as they are now.
 */
#ifndef UAL_KEY_H
#define UAL_KEY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define UAL_KEY_BUCKETS 1024

struct ual_object;

/* Part of an object that has a key; not in the table while object is NULL. */
struct ual_key {
	struct ual_key *next; /* under ual_keys::lock, as all but stag */
	struct ual_object *object;
	atomic_uint stag;    /* the present key */
	atomic_bool revoked; /* it was invalidated by a peer or a Read, and the news was taken */
};

/* Of an adapter. */
struct ual_keys {
	pthread_mutex_t lock;
	struct ual_key *buckets[UAL_KEY_BUCKETS];
};

/* NULL: no memory. */
struct ual_keys *ual_keys_new(void);
void ual_keys_free(struct ual_keys *keys); /* NULL is none */
/* Enter a key of the object, or move the one it has: to another index, if need be. */
void ual_key_set(struct ual_keys *keys, struct ual_key *key, struct ual_object *object,
		 uint32_t stag);
void ual_key_remove(struct ual_keys *keys, struct ual_key *key);
/* This key was invalidated: mark it, and tell the handle of its object; NULL: it is nobody's now. */
void *ual_key_revoked(struct ual_keys *keys, uint32_t stag);

#endif /* UAL_KEY_H */
