/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The heap of timers compared with a plain array: the same earliest deadline after any sequence of steps. */

#include <glib.h>
#include <stdlib.h>

#include "kal_timers.h"

#define COUNT 500

static uint64_t
earliest(const struct ri_timer *all, const bool *in)
{
	uint64_t best = RI_NEVER;

	for (int i = 0; i < COUNT; i++) {
		if (in[i] && all[i].link.n[0] < best)
			best = all[i].link.n[0];
	}
	return best;
}

static void
test_any_order(void)
{
	static struct ri_timer all[COUNT];
	static bool in[COUNT];
	struct kal_timers timers = {NULL};

	for (int step = 0; step < 20000; step++) {
		int i = g_test_rand_int_range(0, COUNT);

		if (in[i]) {
			kal_timers_remove(&timers, &all[i]);
			in[i] = false;
		} else {
			kal_timers_insert(&timers, &all[i],
					  (uint64_t)g_test_rand_int_range(0, 1000));
			in[i] = true;
		}
		g_assert_true(kal_timer_queued(&all[i]) == in[i]);
		g_assert_cmpuint(kal_timers_next(&timers), ==, earliest(all, in));
	}
}

static void
test_drains_sorted(void)
{
	static struct ri_timer all[COUNT];
	struct kal_timers timers = {NULL};
	uint64_t last = 0;

	for (int i = 0; i < COUNT; i++)
		kal_timers_insert(&timers, &all[i], (uint64_t)g_test_rand_int());
	for (int i = 0; i < COUNT; i++) {
		uint64_t next = kal_timers_next(&timers);

		g_assert_cmpuint(next, >=, last);
		last = next;
		kal_timers_remove(&timers, timers.root);
	}
	g_assert_null(timers.root);
	g_assert_cmpuint(kal_timers_next(&timers), ==, RI_NEVER);
}

/* Ascending inserts and the removal of the root leave all others as siblings: the code must not recurse there. */
static void
test_a_million(void)
{
	enum {
		MILLION = 1000000
	};
	g_autofree struct ri_timer *all = g_new0(struct ri_timer, MILLION);
	struct kal_timers timers = {NULL};

	for (int i = 0; i < MILLION; i++)
		kal_timers_insert(&timers, &all[i], (uint64_t)i);
	for (int i = 0; i < MILLION; i++) {
		g_assert_cmpuint(kal_timers_next(&timers), ==, (uint64_t)i);
		kal_timers_remove(&timers, &all[i]);
	}
}

/* Small heaps of every shape: children and siblings of a removed timer stay. */
static void
test_few(void)
{
	struct ri_timer t[4] = {0};
	struct kal_timers timers = {NULL};

	g_assert_cmpuint(kal_timers_next(&timers), ==, RI_NEVER);
	kal_timers_remove(&timers, &t[0]); /* not queued: no effect */
	kal_timers_insert(&timers, &t[2], 20);
	kal_timers_insert(&timers, &t[3], 30);
	kal_timers_insert(&timers, &t[1], 10);
	kal_timers_remove(&timers, &t[2]); /* 30 was its child */
	g_assert_false(kal_timer_queued(&t[2]));
	kal_timers_remove(&timers, &t[1]);
	g_assert_cmpuint(kal_timers_next(&timers), ==, 30);
	kal_timers_remove(&timers, &t[3]);
	for (int gone = 2; gone <= 3; gone++) {
		for (int i = 1; i <= 3; i++)
			kal_timers_insert(&timers, &t[i], (uint64_t)i);
		kal_timers_remove(&timers, &t[gone]); /* the other was its sibling */
		kal_timers_remove(&timers, &t[1]);
		g_assert_cmpuint(kal_timers_next(&timers), ==, gone == 2 ? 3 : 2);
		kal_timers_remove(&timers, &t[5 - gone]);
		g_assert_cmpuint(kal_timers_next(&timers), ==, RI_NEVER);
	}
	kal_timers_insert(&timers, &t[1], 5);
	kal_timers_insert(&timers, &t[2], 4); /* the smallest difference counts */
	g_assert_cmpuint(kal_timers_next(&timers), ==, 4);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/kal/timers/few", test_few);
	g_test_add_func("/kal/timers/any-order", test_any_order);
	g_test_add_func("/kal/timers/drains-sorted", test_drains_sorted);
	g_test_add_func("/kal/timers/a-million", test_a_million);
	return g_test_run();
}
