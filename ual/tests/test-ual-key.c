/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The key octets of an object that is linked repeatedly: none is repeated, and none can be predicted. */
#include <glib.h>

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

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ual/key/cycle", test_cycle);
	g_test_add_func("/ual/key/not-predictable", test_not_predictable);
	return g_test_run();
}
