/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The key octets of an object that is linked repeatedly: none may be repeated, and none may be
 * predictable. Also the table of keys, whose objects change their key octets.
 */
#include <glib.h>
#include <string.h>

#include "ual_key.h"

static uint64_t seed;

static void
fake_random(void *self, void *buf, size_t len)
{
	uint8_t *octets = buf;

	(void)self;
	for (size_t i = 0; i < len; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		octets[i] = (uint8_t)(seed >> 56);
	}
}

static const struct ri_host host = {.size = sizeof(struct ri_host), .random = fake_random};

/* From any first octet all 256 come before one is repeated, and the index does not change. */
static void
test_cycle(void)
{
	for (seed = 0; seed < 200;) {
		uint64_t next_seed = seed + 1;
		struct ual_octets octets;
		bool seen[256] = {false};
		uint32_t stag = 0xabcdef00u | (uint32_t)seed;

		ual_octets_init(&octets, &host);
		for (guint i = 0; i < 256; i++) {
			g_assert_false(seen[stag & 0xff]);
			seen[stag & 0xff] = true;
			stag = ual_octets_step(&octets, stag);
			g_assert_cmphex(stag >> 8, ==, 0xabcdef);
		}
		seed = next_seed;
	}
}

/* The step after an octet differs between objects: no step is more frequent than chance makes it. */
static void
test_not_predictable(void)
{
	enum {
		OBJECTS = 256 * 64
	};
	guint steps[256] = {0};

	seed = 1;
	for (guint i = 0; i < OBJECTS; i++) {
		struct ual_octets octets;

		ual_octets_init(&octets, &host);
		steps[(ual_octets_step(&octets, 0x77) - 0x77) & 0xff]++;
	}
	g_assert_cmpuint(steps[0], ==, 0);
	for (guint i = 1; i < 256; i++)
		g_assert_cmpuint(steps[i], <, 64 * 3);
}

#define KEYS  8
#define STEPS 4000

/* Few indices, of which some share a list. */
static uint32_t
some_stag(GRand *chance)
{
	uint32_t index = (uint32_t)g_rand_int_range(chance, 1, 4) +
			 UAL_KEY_BUCKETS * (uint32_t)g_rand_int_range(chance, 0, 2);

	return index << 8 | (uint32_t)g_rand_int_range(chance, 0, 256);
}

/* Each key that has an object is in the list of its index, once, and no other one is in any list. */
static void
check_table(const struct ual_keys *keys, const struct ual_key *all,
	    struct ual_object *const *objects)
{
	unsigned found[KEYS] = {0}, steps = 0;

	for (uint32_t bucket = 0; bucket < UAL_KEY_BUCKETS; bucket++)
		for (const struct ual_key *key = keys->buckets[bucket]; key != NULL;
		     key = key->next) {
			g_assert_cmpuint(steps++, <, KEYS);
			g_assert_cmpuint((atomic_load(&key->stag) >> 8) % UAL_KEY_BUCKETS, ==,
					 bucket);
			found[key - all]++;
		}
	for (unsigned i = 0; i < KEYS; i++) {
		g_assert_cmpuint(found[i], ==, objects[i] != NULL);
		g_assert_true(all[i].object == objects[i]);
	}
}

/* Objects get keys, others of the same index and of another one, and none, in any order. */
static void
test_table(void)
{
	GRand *chance = g_rand_new_with_seed(27);
	struct ual_keys *keys = ual_keys_new();
	struct ual_key all[KEYS];
	struct ual_object *objects[KEYS] = {NULL};

	memset(all, 0, sizeof(all));
	for (unsigned i = 0; i < STEPS; i++) {
		unsigned which = (unsigned)g_rand_int_range(chance, 0, KEYS);
		/* Nobody looks into an object. */
		struct ual_object *object = (struct ual_object *)(void *)&objects[which];
		uint32_t stag = some_stag(chance);

		if (g_rand_int_range(chance, 0, 4) == 0) {
			ual_key_remove(keys, &all[which]);
			objects[which] = NULL;
		} else {
			atomic_store(&all[which].revoked, true);
			ual_key_set(keys, &all[which], object, stag);
			objects[which] = object;
			g_assert_cmphex(atomic_load(&all[which].stag), ==, stag);
			g_assert_false(atomic_load(&all[which].revoked));
		}
		check_table(keys, all, objects);
	}
	for (unsigned i = 0; i < KEYS; i++)
		ual_key_remove(keys, &all[i]);
	ual_keys_free(keys);
	g_rand_free(chance);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ual/key/cycle", test_cycle);
	g_test_add_func("/ual/key/not-predictable", test_not_predictable);
	g_test_add_func("/ual/key/table", test_table);
	return g_test_run();
}
