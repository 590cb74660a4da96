/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Keys to handles, see ual_key.h: a table of lists by index, under ual_keys::lock. */

#include "ual_key.h"

#include <stdlib.h>

#include "ual_object.h"

#define INDEX_SHIFT 8 /* the low bits of an STag are its changing part */

static struct ual_key **
bucket_of(struct ual_keys *keys, uint32_t stag)
{
	/* The low bits of indices spread, whether they are consecutive or drawn at random. */
	return &keys->buckets[(stag >> INDEX_SHIFT) % UAL_KEY_BUCKETS];
}

struct ual_keys *
ual_keys_new(void)
{
	struct ual_keys *keys = (struct ual_keys *)calloc(1, sizeof(*keys));

	if (keys != NULL)
		pthread_mutex_init(&keys->lock, NULL);
	return keys;
}

void
ual_keys_free(struct ual_keys *keys)
{
	if (keys == NULL)
		return;
	pthread_mutex_destroy(&keys->lock);
	free(keys);
}

/* The caller owns the lock. */
static void
take_out(struct ual_keys *keys, struct ual_key *key)
{
	struct ual_key **at = bucket_of(keys, atomic_load(&key->stag));

	if (key->object == NULL)
		return;
	while (*at != key)
		at = &(*at)->next;
	*at = key->next;
	key->object = NULL;
}

void
ual_key_set(struct ual_keys *keys, struct ual_key *key, struct ual_object *object, uint32_t stag)
{
	struct ual_key **bucket = bucket_of(keys, stag);

	pthread_mutex_lock(&keys->lock);
	if (key->object == object &&
	    atomic_load(&key->stag) >> INDEX_SHIFT == stag >> INDEX_SHIFT) {
		ual_key_renew(key, stag);
	} else {
		take_out(keys, key);
		ual_key_renew(key, stag);
		key->object = object;
		key->next = *bucket;
		*bucket = key;
	}
	pthread_mutex_unlock(&keys->lock);
}

void
ual_key_remove(struct ual_keys *keys, struct ual_key *key)
{
	pthread_mutex_lock(&keys->lock);
	take_out(keys, key);
	pthread_mutex_unlock(&keys->lock);
}

void *
ual_key_revoked(struct ual_keys *keys, uint32_t stag)
{
	void *handle = NULL;

	pthread_mutex_lock(&keys->lock);
	for (struct ual_key *key = *bucket_of(keys, stag); key != NULL; key = key->next) {
		if (atomic_load(&key->stag) != stag)
			continue;
		atomic_store_explicit(&key->revoked, true, memory_order_release);
		handle = ual_object_handle(key->object);
	}
	pthread_mutex_unlock(&keys->lock);
	return handle;
}

/* --- key octets --------------------------------------------------------------------------- */

void
ual_octets_init(struct ual_octets *octets, const struct ri_host *host)
{
	host->random(host->self, octets->rounds, sizeof(octets->rounds));
}

static uint32_t
round_of(const struct ual_octets *octets, size_t round, uint32_t half)
{
	return (uint32_t)(octets->rounds[round] >> (4 * half)) & 0xf;
}

/* The next octet of the order: the rounds backwards, one step, the rounds forwards. */
uint32_t
ual_octets_step(const struct ual_octets *octets, uint32_t stag)
{
	uint32_t left = (stag >> 4) & 0xf;
	uint32_t right = stag & 0xf;
	uint32_t place;

	for (size_t i = UAL_OCTET_ROUNDS; i > 0; i -= 2) {
		right ^= round_of(octets, i - 1, left);
		left ^= round_of(octets, i - 2, right);
	}
	place = (left << 4 | right) + 1;
	left = (place >> 4) & 0xf;
	right = place & 0xf;
	for (size_t i = 0; i < UAL_OCTET_ROUNDS; i += 2) {
		left ^= round_of(octets, i, right);
		right ^= round_of(octets, i + 1, left);
	}
	return (stag & ~0xffu) | left << 4 | right;
}

uint8_t
ual_key_octet(const struct ri_host *host)
{
	uint8_t octet;

	host->random(host->self, &octet, sizeof(octet));
	return octet;
}
