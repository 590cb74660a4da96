/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Keys that cannot be predicted and are not repeated soon: the sequence of numbers, and the table that uses it. */
#include "mem_bench.h"
#include "vsw_draw.h"

#define ROUNDS 20000      /* registrations of one slot */
#define SAMPLE (1u << 19) /* draws at each end of an epoch */

/* From the test vectors that the authors of SipHash published: the key 00..0f, the bytes 00..07. */
static void
test_siphash(void)
{
	const uint64_t secret[2] = {0x0706050403020100u, 0x0f0e0d0c0b0a0908u};

	g_assert_cmphex(vsw_siphash(secret, 0x0706050403020100u), ==, 0x93f5f5799a932462u);
}

static bool
seen_before(uint8_t *seen, uint32_t number)
{
	bool before = (seen[number / 8] & 1u << number % 8) != 0;

	seen[number / 8] |= (uint8_t)(1u << number % 8);
	return before;
}

/*
 * No number is drawn twice in an epoch, and the first draws of the next epoch repeat none of the
 * last ones. Both ends of an epoch are tested. Independent random numbers would collide more than
 * 60,000 times.
 */
static void
test_epochs(void)
{
	struct vsw_draw draw = {.secret = {1, 2}};
	g_autofree uint8_t *seen = g_new0(uint8_t, (1u << 24) / 8);
	uint32_t first = vsw_draw_next(&draw);

	seen_before(seen, first);
	for (uint32_t i = 1; i < VSW_DRAW_EPOCH; i++) {
		if (i == SAMPLE) {
			i = VSW_DRAW_EPOCH - SAMPLE;
			atomic_store(&draw.count, i);
		}
		uint32_t number = vsw_draw_next(&draw);
		if (number >= 1u << 24 || seen_before(seen, number))
			g_error("draw %u is %x", i, number);
	}
	for (uint32_t i = 0; i < 10000; i++)
		g_assert_false(seen_before(seen, vsw_draw_next(&draw)));
	/* The second next epoch has the numbers of the first one in another order. */
	atomic_store(&draw.count, 2 * (uint64_t)VSW_DRAW_EPOCH);
	g_assert_cmpuint(vsw_draw_next(&draw) >> 23, ==, first >> 23);
	atomic_store(&draw.count, 2 * (uint64_t)VSW_DRAW_EPOCH);
	g_assert_cmpuint(vsw_draw_next(&draw), !=, first);
}

static int
by_value(gconstpointer a, gconstpointer b)
{
	return (*(const uint32_t *)a > *(const uint32_t *)b) -
	       (*(const uint32_t *)a < *(const uint32_t *)b);
}

/* A number does not predict the next one: the steps between them differ, for every secret. */
static void
test_not_sequential(void)
{
	enum {
		STEPS = 4096
	};
	g_autofree uint32_t *steps = g_new(uint32_t, STEPS);

	for (uint64_t s = 0; s < 8; s++) {
		struct vsw_draw draw = {.secret = {s, ~s}};
		struct vsw_draw other = {.secret = {s ^ 1, ~s}};
		uint32_t before = vsw_draw_next(&draw);
		uint32_t same = 0;
		uint32_t repeated = 0;

		for (uint32_t i = 0; i < STEPS; i++) {
			uint32_t number = vsw_draw_next(&draw);
			steps[i] = (number - before) & 0xffffff;
			same += number == vsw_draw_next(&other);
			before = number;
		}
		qsort(steps, STEPS, sizeof(*steps), by_value);
		for (uint32_t i = 1; i < STEPS; i++)
			repeated += steps[i] == steps[i - 1];
		/* Chance alone makes one or two pairs among 4096 numbers of 23 bits. */
		g_assert_cmpuint(repeated, <, 16);
		g_assert_cmpuint(same, <, 16);
	}
}

/* --- the table --------------------------------------------------------------------------- */

struct keys_seen {
	GHashTable *stags;
	guint octets[256];
	guint sequential; /* indices that differ by one from the index before */
	uint32_t before;
};

static void
note_key(struct keys_seen *seen, uint32_t stag)
{
	if (!g_hash_table_add(seen->stags, GUINT_TO_POINTER(stag >> 8)))
		g_error("index %x was given before", stag >> 8);
	seen->octets[stag & 0xff]++;
	seen->sequential += (stag >> 8) - (seen->before >> 8) + 1 <= 2;
	seen->before = stag;
}

static guint
octets_used(const struct keys_seen *seen)
{
	guint used = 0;

	for (guint i = 0; i < 256; i++)
		used += seen->octets[i] != 0;
	return used;
}

/* One slot that is used again and again: by registrations, re-registrations, and windows. */
static void
test_one_slot(gconstpointer data)
{
	enum ri_key_owner keys = GPOINTER_TO_INT(data) != 0 ? RI_KEY_CONSUMER : RI_KEY_PROVIDER;
	struct keys_seen seen = {.stags = g_hash_table_new(NULL, NULL)};
	struct vsw_mem_entry *entry = NULL;
	uint32_t stag = 0;
	struct bench b = set_up();

	vsw_mem_table_destroy(b.table);
	g_assert_cmpint(vsw_mem_table_create(vth_host(b.vth), 1, keys, &b.table), ==, RI_SUCCESS);
	struct ri_mr_init init = whole(&b, ALL);
	for (guint i = 0; i < ROUNDS; i++) {
		g_assert_cmpint(vsw_mr_reg(b.table, &pd_a, 1, &init, &entry, &stag), ==,
				RI_SUCCESS);
		note_key(&seen, stag);
		if (i % 4 == 0) {
			g_assert_cmpint(vsw_mr_rereg(entry, &pd_a, &init, &stag), ==, RI_SUCCESS);
			note_key(&seen, stag);
		}
		g_assert_cmpint(check_access(&b, &alice, ACCESS(stag, at(&b, 0), 1, RR)), ==,
				VSW_MEM_OK);
		g_assert_cmpint(vsw_mr_dereg(entry), ==, RI_SUCCESS);
	}
	g_assert_cmpuint(seen.sequential, <, 16);
	if (keys == RI_KEY_CONSUMER)
		g_assert_cmpuint(seen.octets[init.key], ==, ROUNDS + ROUNDS / 4);
	else
		g_assert_cmpuint(octets_used(&seen), ==, 256);
	tear_down(&b);
	g_hash_table_unref(seen.stags);
}

/* A bind chooses the key octet of a window; before that it is random. */
static void
test_windows(void)
{
	struct keys_seen seen = {.stags = g_hash_table_new(NULL, NULL)};
	struct vsw_mem_entry *mw = NULL;
	uint32_t stag = 0;
	struct bench b = set_up();

	for (guint i = 0; i < ROUNDS; i++) {
		g_assert_cmpint(vsw_mw_alloc(b.table, &pd_a, RI_MW_NARROW, &mw, &stag), ==,
				RI_SUCCESS);
		note_key(&seen, stag);
		vsw_mw_free(mw);
	}
	g_assert_cmpuint(seen.sequential, <, 16);
	g_assert_cmpuint(octets_used(&seen), ==, 256);
	tear_down(&b);
	g_hash_table_unref(seen.stags);
}

/* Two tables of one host have different keys. */
static void
test_two_tables(void)
{
	struct vsw_mem_entry *entry = NULL;
	struct bench b[2];
	uint32_t stags[2];
	guint same = 0;

	b[0] = set_up();
	b[1] = set_up();
	for (guint i = 0; i < 100; i++) {
		for (guint t = 0; t < 2; t++) {
			struct ri_mr_init init = whole(&b[t], ALL);
			entry = reg(&b[t], &init, &stags[t]);
			g_assert_cmpint(vsw_mr_dereg(entry), ==, RI_SUCCESS);
		}
		same += stags[0] == stags[1];
	}
	g_assert_cmpuint(same, <, 3);
	tear_down(&b[0]);
	tear_down(&b[1]);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/vsw/draw/siphash", test_siphash);
	g_test_add_func("/vsw/draw/epochs", test_epochs);
	g_test_add_func("/vsw/draw/not-sequential", test_not_sequential);
	g_test_add_data_func("/vsw/draw/one-slot/provider", GINT_TO_POINTER(0), test_one_slot);
	g_test_add_data_func("/vsw/draw/one-slot/consumer", GINT_TO_POINTER(1), test_one_slot);
	g_test_add_func("/vsw/draw/windows", test_windows);
	g_test_add_func("/vsw/draw/two-tables", test_two_tables);
	return g_test_run();
}
