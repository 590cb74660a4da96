/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * [fast path] The objects behind STags and ids, for posts: a request names a region, a window or an address handle by a
 * number, libibverbs by a pointer.
 *
 * A row never changes its bucket and is freed with the table, so a search takes no lock. A thread that has found a row owns
 * a *use* of the row until vib_key_put. vib_key_remove waits for the end of all uses, and only then is the object destroyed.
 * A use lasts for one call of ibv_post_send, or while a chain keeps a request (vib_chain.c).
 */
#ifndef VIB_KEYS_H
#define VIB_KEYS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define VIB_KEY_BUCKETS 1024

struct ri_pd;

enum vib_key_kind {
	VIB_KEY_REGION = 1, /* by its STag */
	VIB_KEY_WINDOW,     /* by the index of its STag: the low 8 bits change with each bind */
	VIB_KEY_AH,         /* by its id */
	VIB_KEY_ELSEWHERE /* a region by its STag, whose bytes are not at the addresses that requests name */
};

/* All but `name`, `uses` and `next` are constant while `name` is not 0. */
struct vib_key {
	atomic_uint_least64_t name; /* kind and number; 0: the row is free */
	atomic_uint uses;
	_Atomic(struct vib_key *) next; /* in the bucket; written once */
	const struct ri_pd *pd;
	void *object;
	uint64_t addr; /* of a region, as requests name it */
	uint64_t length;
	uint64_t memory; /* where this process has its first byte; 0: nowhere */
	uint32_t access; /* RI_ACCESS_* of a region */
};

struct vib_keys {
	pthread_mutex_t lock; /* of writing */
	_Atomic(struct vib_key *) buckets[VIB_KEY_BUCKETS];
};

static inline uint64_t
vib_key_name(enum vib_key_kind kind, uint32_t number)
{
	return (uint64_t)kind << 32 | (kind == VIB_KEY_WINDOW ? number >> 8 : number);
}

static inline unsigned int
vib_key_bucket(uint64_t name)
{
	uint32_t low = (uint32_t)name;

	return (low ^ low >> 8 ^ (uint32_t)(name >> 32) << 9) % VIB_KEY_BUCKETS;
}

/* Find the row of this name and begin a use of it; NULL: no row has the name. */
static inline struct vib_key *
vib_key_get(struct vib_keys *keys, enum vib_key_kind kind, uint32_t number)
{
	uint64_t name = vib_key_name(kind, number);
	struct vib_key *key =
		atomic_load_explicit(&keys->buckets[vib_key_bucket(name)], memory_order_acquire);

	for (; key != NULL; key = atomic_load_explicit(&key->next, memory_order_acquire)) {
		if (atomic_load_explicit(&key->name, memory_order_relaxed) != name)
			continue;
		atomic_fetch_add(&key->uses, 1);
		/* A removal that has not seen this use has cleared the name before. */
		if (atomic_load(&key->name) == name)
			return key;
		atomic_fetch_sub(&key->uses, 1);
	}
	return NULL;
}

/* End a use. */
static inline void
vib_key_put(struct vib_key *key)
{
	atomic_fetch_sub_explicit(&key->uses, 1, memory_order_release);
}

void vib_keys_init(struct vib_keys *keys);
/* No object is left. */
void vib_keys_destroy(struct vib_keys *keys);
/* Enter an object; `row` has what is constant. NULL: no memory. */
struct vib_key *vib_key_add(struct vib_keys *keys, enum vib_key_kind kind, uint32_t number,
			    const struct vib_key *row);
/* Take it out, and wait for the uses that there are; NULL is none. Not on the fast path. */
void vib_key_remove(struct vib_keys *keys, struct vib_key *key);

#endif /* VIB_KEYS_H */
