/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * An application that polls memory stores into a message as soon as it sees its last octet, and one
 * that two peers write may store into it at any time. No frame may seem to have a wrong CRC because
 * of that [WIRE 3.2.4]. The test is the worst case: a thread that stores into the target all the
 * time while large messages arrive.
 */

#include "viw_node.h"

#include <stdatomic.h>

#define OCTETS 1000001u
#define ROUNDS 100

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define STORES_RACE __attribute__((no_sanitize("thread"), noinline))
#endif
#elif defined(__SANITIZE_THREAD__)
#define STORES_RACE __attribute__((no_sanitize("thread"), noinline))
#endif
#ifndef STORES_RACE
#define STORES_RACE
#endif

struct storing {
	struct chunk *to;
	atomic_uint sweeps;
	atomic_bool stop;
};

/* One store into each page. That they race with the receiver is what is tested. */
STORES_RACE static void
sweep(struct chunk *to, uint8_t mark)
{
	for (uint32_t i = 0; i < OCTETS; i += 4096)
		((volatile uint8_t *)to->at)[i] = mark;
}

static gpointer
store_always(gpointer arg)
{
	struct storing *storing = arg;

	while (!atomic_load(&storing->stop))
		sweep(storing->to, (uint8_t)atomic_fetch_add(&storing->sweeps, 1));
	return NULL;
}

static void
write_round(struct end *a, struct end *b, struct chunk *from, struct chunk *to, unsigned round)
{
	struct ri_wc wc;

	g_assert_cmpint(end_recv(b, round, to, 0, 0), ==, RI_SUCCESS);
	g_assert_cmpint(end_write(a, round, from, to, OCTETS), ==, RI_SUCCESS);
	g_assert_cmpint(end_send(a, 1000 + round, from, 0, 0), ==, RI_SUCCESS);
	wc = end_wait_ok(b, true, round, a);
	g_assert_cmpuint(wc.byte_len, ==, 0);
	(void)end_wait_ok(a, false, round, b);
	(void)end_wait_ok(a, false, 1000 + round, b);
}

static void
test_store_meanwhile(void)
{
	struct node *na RI_AT_END(node_free) = node_new();
	struct node *nb RI_AT_END(node_free) = node_new();
	struct chunk from RI_AT_END(chunk_free) = chunk_new(na, OCTETS, ALL_RW);
	struct chunk to RI_AT_END(chunk_free) = chunk_new(nb, OCTETS, ALL_RW);
	struct end *a RI_AT_END(end_free) = end_new(na, NULL);
	struct end *b RI_AT_END(end_free) = end_new(nb, NULL);
	struct storing storing = {.to = &to};
	GThread *thread = g_thread_new("stores", store_always, &storing);

	ends_connect(a, b, true);
	chunk_fill(&from, 1);
	for (unsigned i = 0; i < ROUNDS || atomic_load(&storing.sweeps) < ROUNDS; i++)
		write_round(a, b, &from, &to, i);
	atomic_store(&storing.stop, true);
	g_thread_join(thread);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/iwarp/polled/store-meanwhile", test_store_meanwhile);
	return g_test_run();
}
