/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Thousands of connections, with endpoints that are reset and reused and with new endpoints in turn: neither
 * descriptors nor memory may grow. The count is ITAPI_TEST_CYCLES, 2000 if unset.
 */
#include <malloc.h>
#include <stdlib.h>

#include "it_pair.h"

#define CYCLES   2000
#define SLEEPERS 8     /* EVDs of both sides, at most; far less than one for each cycle */
#define GROWTH   65536 /* octets, for a table that grows: 44 for each cycle behind the warm ones */

static unsigned
cycles(void)
{
	const char *text = g_getenv("ITAPI_TEST_CYCLES");

	return text != NULL ? (unsigned)atoi(text) : CYCLES;
}

/* Octets that all allocations have, in all arenas. */
static size_t
allocated(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

static void
exchange(struct pair *pair, unsigned char value)
{
	it_lmr_triplet_t from = end_segment(&pair->active, 0, 64);
	it_lmr_triplet_t to = end_segment(&pair->passive, 0, 64);

	pair->active.buffer[63] = value;
	g_assert_cmpint(it_post_recv((it_handle_t)pair->passive.ep, &to, 1, 1, 0), ==, IT_SUCCESS);
	g_assert_cmpint(it_post_send(pair->active.ep, &from, 1, 2, IT_COMPLETION_FLAG), ==,
			IT_SUCCESS);
	end_expect(pair->passive.recv, IT_DTO_RC_RECV_CMPL_EVENT);
	end_expect(pair->active.request, IT_DTO_SEND_CMPL_EVENT);
	g_assert_cmpint(pair->passive.buffer[63], ==, value);
}

static void
cycle(struct pair *pair, unsigned i)
{
	pair_establish(pair);
	exchange(pair, (unsigned char)i);
	pair_disconnect(pair);
	if (i % 2 == 0) {
		end_reset(&pair->active);
		end_reset(&pair->passive);
	} else {
		end_new_ep(&pair->active);
		end_new_ep(&pair->passive);
	}
}

static void
test_cycles(struct pair *pair)
{
	unsigned warm = cycles() / 4;
	unsigned descriptors = 0;
	size_t octets = 0;

	for (unsigned i = 0; i < cycles(); i++) {
		if (i >= warm && i < 2 * warm)
			descriptors = MAX(descriptors, pair_descriptors());
		if (i == warm)
			octets = allocated();
		cycle(pair, i);
	}
	/*
	 * Sockets of the last connections may still be closing; those of a link appear and disappear independently,
	 * too. An EVD gets a descriptor when its waiter first sleeps while the service thread sleeps, which may be
	 * late.
	 */
	PAIR_UNTIL(pair_descriptors() <= descriptors + SLEEPERS);
	/* What a time-wait keeps is free when that is over. Sanitizers have an allocator of their own. */
	if (g_getenv("ITAPI_TEST_NO_RSS") == NULL)
		PAIR_UNTIL(allocated() <= octets + GROWTH);
}

static void
add(void)
{
	pair_add("cycles", test_cycles);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add);
}
