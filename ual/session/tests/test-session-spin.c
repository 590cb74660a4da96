/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Whether a wait polls: what it learns from earlier waits that found their event by polling, and
 * from those that did not. Nothing here runs a clock.
 */
#include <glib.h>

#include "session_spin.h"

/*
 * Waits of two threads on one processor: polling never finds anything, and the event comes as soon
 * as one sleeps.
 */
static unsigned
polls_of_one_processor(struct session_spin *spin, unsigned waits, bool yield_pays)
{
	unsigned polls = 0;

	for (unsigned i = 0; i < waits; i++) {
		enum session_spin_way way = session_spin_way(spin);

		polls += way == SESSION_SPIN_POLL;
		if (way == SESSION_SPIN_YIELD && yield_pays)
			session_spin_paid(spin, way);
		else
			session_spin_in_vain(spin, way, true);
	}
	return polls;
}

static void
test_first(void)
{
	struct session_spin spin;

	session_spin_init(&spin);
	g_assert_cmpint(session_spin_way(&spin), ==, SESSION_SPIN_POLL);
}

static void
test_one_processor(void)
{
	struct session_spin spin;

	session_spin_init(&spin);
	g_assert_cmpuint(polls_of_one_processor(&spin, 1000, true), <=, SESSION_SPIN_POINTS + 4);
	/* The trials become as rare as SESSION_SPIN_GAP_MAX. */
	g_assert_cmpuint(polls_of_one_processor(&spin, 10 * SESSION_SPIN_GAP_MAX, true), <=, 11);
	g_assert_cmpuint(polls_of_one_processor(&spin, 10 * SESSION_SPIN_GAP_MAX, true), >=, 9);
}

/* A yield that finds nothing is not made again before the next trial. */
static void
test_yield_in_vain(void)
{
	struct session_spin spin;
	unsigned yields = 0;

	session_spin_init(&spin);
	for (unsigned i = 0; i < 1000; i++) {
		yields += session_spin_way(&spin) == SESSION_SPIN_YIELD;
		session_spin_in_vain(&spin, session_spin_way(&spin), true);
	}
	g_assert_cmpuint(yields, >=, 1);
	g_assert_cmpuint(yields, <=, 5);
	g_assert_cmpuint(polls_of_one_processor(&spin, 10 * SESSION_SPIN_GAP_MAX, false), <=, 11);
}

/* Where every second poll pays, waits go on polling. */
static void
test_every_second(void)
{
	struct session_spin spin;

	session_spin_init(&spin);
	for (unsigned i = 0; i < 1000; i++) {
		g_assert_cmpint(session_spin_way(&spin), ==, SESSION_SPIN_POLL);
		if (i % 2 == 0)
			session_spin_in_vain(&spin, SESSION_SPIN_POLL, true);
		else
			session_spin_paid(&spin, SESSION_SPIN_POLL);
	}
}

/* Long waits stop the polling; the first event that comes soon begins it again. */
static void
test_long_waits(void)
{
	struct session_spin spin;

	session_spin_init(&spin);
	for (unsigned i = 0; i < 100; i++) {
		enum session_spin_way expected =
			i < SESSION_SPIN_POINTS ? SESSION_SPIN_POLL : SESSION_SPIN_NOT;

		g_assert_cmpint(session_spin_way(&spin), ==, expected);
		session_spin_in_vain(&spin, session_spin_way(&spin), false);
	}
	session_spin_in_vain(&spin, SESSION_SPIN_NOT, true);
	g_assert_cmpint(session_spin_way(&spin), ==, SESSION_SPIN_POLL);
}

/* After one processor has become two, the next trial pays, and all waits poll. */
static void
test_second_processor(void)
{
	struct session_spin spin;
	unsigned waits = 0;

	session_spin_init(&spin);
	(void)polls_of_one_processor(&spin, 10 * SESSION_SPIN_GAP_MAX, true);
	for (; session_spin_way(&spin) != SESSION_SPIN_POLL; waits++) {
		g_assert_cmpuint(waits, <=, SESSION_SPIN_GAP_MAX);
		session_spin_in_vain(&spin, session_spin_way(&spin), true);
	}
	for (unsigned i = 0; i < SESSION_SPIN_POINTS; i++) {
		g_assert_cmpint(session_spin_way(&spin), ==, SESSION_SPIN_POLL);
		session_spin_paid(&spin, SESSION_SPIN_POLL);
	}
	/* And the trials are frequent again, should it become one processor anew. */
	g_assert_cmpuint(
		polls_of_one_processor(&spin, SESSION_SPIN_POINTS + SESSION_SPIN_GAP, true), ==,
		SESSION_SPIN_POINTS);
	g_assert_cmpint(session_spin_way(&spin), ==, SESSION_SPIN_POLL);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/session/spin/first", test_first);
	g_test_add_func("/session/spin/one-processor", test_one_processor);
	g_test_add_func("/session/spin/yield-in-vain", test_yield_in_vain);
	g_test_add_func("/session/spin/every-second", test_every_second);
	g_test_add_func("/session/spin/long-waits", test_long_waits);
	g_test_add_func("/session/spin/second-processor", test_second_processor);
	return g_test_run();
}
