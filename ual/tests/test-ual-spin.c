/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Whether a wait polls: what it learns from waits that found their event so, or in vain. Nothing here runs a clock. */
#include <glib.h>

#include "ual_spin.h"

/* Waits of two threads on one processor: polling never finds anything, and the event comes as soon as one sleeps. */
static unsigned
polls_of_one_processor(struct ual_spin *spin, unsigned waits, bool yield_pays)
{
	unsigned polls = 0;

	for (unsigned i = 0; i < waits; i++) {
		enum ual_spin_way way = ual_spin_way(spin);

		polls += way == UAL_SPIN_POLL;
		if (way == UAL_SPIN_YIELD && yield_pays)
			ual_spin_paid(spin, way);
		else
			ual_spin_in_vain(spin, way, true);
	}
	return polls;
}

static void
test_first(void)
{
	struct ual_spin spin;

	ual_spin_init(&spin);
	g_assert_cmpint(ual_spin_way(&spin), ==, UAL_SPIN_POLL);
}

static void
test_one_processor(void)
{
	struct ual_spin spin;

	ual_spin_init(&spin);
	g_assert_cmpuint(polls_of_one_processor(&spin, 1000, true), <=, UAL_SPIN_POINTS + 4);
	/* The trials become as rare as UAL_SPIN_GAP_MAX. */
	g_assert_cmpuint(polls_of_one_processor(&spin, 10 * UAL_SPIN_GAP_MAX, true), <=, 11);
	g_assert_cmpuint(polls_of_one_processor(&spin, 10 * UAL_SPIN_GAP_MAX, true), >=, 9);
}

/* A yield that finds nothing is not made again before the next trial. */
static void
test_yield_in_vain(void)
{
	struct ual_spin spin;
	unsigned yields = 0;

	ual_spin_init(&spin);
	for (unsigned i = 0; i < 1000; i++) {
		yields += ual_spin_way(&spin) == UAL_SPIN_YIELD;
		ual_spin_in_vain(&spin, ual_spin_way(&spin), true);
	}
	g_assert_cmpuint(yields, >=, 1);
	g_assert_cmpuint(yields, <=, 5);
	g_assert_cmpuint(polls_of_one_processor(&spin, 10 * UAL_SPIN_GAP_MAX, false), <=, 11);
}

/* Where every second poll pays, waits go on polling. */
static void
test_every_second(void)
{
	struct ual_spin spin;

	ual_spin_init(&spin);
	for (unsigned i = 0; i < 1000; i++) {
		g_assert_cmpint(ual_spin_way(&spin), ==, UAL_SPIN_POLL);
		if (i % 2 == 0)
			ual_spin_in_vain(&spin, UAL_SPIN_POLL, true);
		else
			ual_spin_paid(&spin, UAL_SPIN_POLL);
	}
}

/* Long waits stop the polling; the first event that comes soon begins it again. */
static void
test_long_waits(void)
{
	struct ual_spin spin;

	ual_spin_init(&spin);
	for (unsigned i = 0; i < 100; i++) {
		enum ual_spin_way expected = i < UAL_SPIN_POINTS ? UAL_SPIN_POLL : UAL_SPIN_NOT;

		g_assert_cmpint(ual_spin_way(&spin), ==, expected);
		ual_spin_in_vain(&spin, ual_spin_way(&spin), false);
	}
	ual_spin_in_vain(&spin, UAL_SPIN_NOT, true);
	g_assert_cmpint(ual_spin_way(&spin), ==, UAL_SPIN_POLL);
}

/* After one processor has become two, the next trial pays, and all waits poll. */
static void
test_second_processor(void)
{
	struct ual_spin spin;
	unsigned waits = 0;

	ual_spin_init(&spin);
	(void)polls_of_one_processor(&spin, 10 * UAL_SPIN_GAP_MAX, true);
	for (; ual_spin_way(&spin) != UAL_SPIN_POLL; waits++) {
		g_assert_cmpuint(waits, <=, UAL_SPIN_GAP_MAX);
		ual_spin_in_vain(&spin, ual_spin_way(&spin), true);
	}
	for (unsigned i = 0; i < UAL_SPIN_POINTS; i++) {
		g_assert_cmpint(ual_spin_way(&spin), ==, UAL_SPIN_POLL);
		ual_spin_paid(&spin, UAL_SPIN_POLL);
	}
	/* And the trials are frequent again, should it become one processor anew. */
	g_assert_cmpuint(polls_of_one_processor(&spin, UAL_SPIN_POINTS + UAL_SPIN_GAP, true), ==,
			 UAL_SPIN_POINTS);
	g_assert_cmpint(ual_spin_way(&spin), ==, UAL_SPIN_POLL);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ual/spin/first", test_first);
	g_test_add_func("/ual/spin/one-processor", test_one_processor);
	g_test_add_func("/ual/spin/yield-in-vain", test_yield_in_vain);
	g_test_add_func("/ual/spin/every-second", test_every_second);
	g_test_add_func("/ual/spin/long-waits", test_long_waits);
	g_test_add_func("/ual/spin/second-processor", test_second_processor);
	return g_test_run();
}
