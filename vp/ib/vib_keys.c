/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The table of vib_keys.h: entering and removing rows. Control path. */
#include "vib_keys.h"

#include <stdlib.h>

#include "ri_relax.h"

void
vib_keys_init(struct vib_keys *keys)
{
	pthread_mutex_init(&keys->lock, NULL);
}

void
vib_keys_destroy(struct vib_keys *keys)
{
	for (unsigned i = 0; i < VIB_KEY_BUCKETS; i++) {
		struct vib_key *key = atomic_load(&keys->buckets[i]);

		while (key != NULL) {
			struct vib_key *next = atomic_load(&key->next);

			free(key);
			key = next;
		}
	}
	pthread_mutex_destroy(&keys->lock);
}

/* A free row of the bucket, or a new one at its head, not yet reachable. The caller owns the lock. */
static struct vib_key *
row_find(struct vib_keys *keys, unsigned int bucket, bool *fresh)
{
	struct vib_key *key = atomic_load(&keys->buckets[bucket]);

	while (key != NULL && atomic_load(&key->name) != 0)
		key = atomic_load(&key->next);
	*fresh = key == NULL;
	return key != NULL ? key : (struct vib_key *)calloc(1, sizeof(*key));
}

struct vib_key *
vib_key_add(struct vib_keys *keys, enum vib_key_kind kind, uint32_t number,
	    const struct vib_key *row)
{
	uint64_t name = vib_key_name(kind, number);
	unsigned int bucket = vib_key_bucket(name);
	struct vib_key *key;
	bool fresh;

	pthread_mutex_lock(&keys->lock);
	key = row_find(keys, bucket, &fresh);
	if (key != NULL) {
		key->pd = row->pd;
		key->object = row->object;
		key->addr = row->addr;
		key->length = row->length;
		key->memory = row->memory;
		key->access = row->access;
		atomic_store(&key->name, name);
		if (fresh) {
			atomic_store(&key->next, atomic_load(&keys->buckets[bucket]));
			atomic_store(&keys->buckets[bucket], key);
		}
	}
	pthread_mutex_unlock(&keys->lock);
	return key;
}

void
vib_key_remove(struct vib_keys *keys, struct vib_key *key)
{
	if (key == NULL)
		return;
	pthread_mutex_lock(&keys->lock);
	atomic_store(&key->name, 0);
	for (unsigned round = 0; atomic_load(&key->uses) != 0; round++)
		ri_relax(round);
	pthread_mutex_unlock(&keys->lock);
}
