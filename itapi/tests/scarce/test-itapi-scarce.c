/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Lets each allocation in turn fail, once or for good, in a whole application life (want.h).
 * test-itapi-scarce ADAPTER STRIDE [FIRST [LAST]]
 */
#include <stdio.h>
#include <stdlib.h>

#include "scarce.h"
#include "want.h"

#define LAST 2000

struct plan {
	const char *adapter;
	unsigned long stride, first, last;
};

static void
arm(const struct want *want)
{
	scarce_arm(want->n, want->for_good);
}

static void
print(const struct want *want)
{
	printf("allocation %lu", want->n);
}

static void
sweep(int number, const struct plan *plan, bool for_good, bool warm)
{
	struct want want = {.adapter = plan->adapter,
			    .warm = warm,
			    .for_good = for_good,
			    .arm = arm,
			    .disarm = scarce_disarm,
			    .print = print};
	enum outcome outcome = WANT_FINE;
	unsigned cases = 0, bad = 0;

	for (want.n = plan->first; want.n <= plan->last && outcome != WANT_NEVER;
	     want.n += plan->stride) {
		outcome = want_run(&want);
		bad += outcome != WANT_FINE && outcome != WANT_NEVER;
		cases++;
	}
	/* A sweep in which no allocation failed has tested nothing. */
	printf("%s %d /itapi/%s/scarce/%s-%s # %u cases, %u bad\n",
	       bad == 0 && cases > 1 ? "ok" : "not ok", number, plan->adapter,
	       warm ? "warm" : "cold", for_good ? "for-good" : "once", cases, bad);
}

static unsigned long
number_of(int argc, char **argv, int index, unsigned long otherwise)
{
	return argc > index ? strtoul(argv[index], NULL, 10) : otherwise;
}

int
main(int argc, char **argv)
{
	const struct plan plan = {.adapter = argc > 1 ? argv[1] : "iwarp",
				  .stride = number_of(argc, argv, 2, 7),
				  .first = number_of(argc, argv, 3, 1),
				  .last = number_of(argc, argv, 4, LAST)};

	if (getenv("ITAPI_TEST_NO_SCARCE") != NULL) {
		printf("1..0 # SKIP the allocator is not that of the C library\n");
		return 0;
	}
	printf("1..4\n");
	sweep(1, &plan, false, true);
	sweep(2, &plan, true, true);
	sweep(3, &plan, false, false);
	sweep(4, &plan, true, false);
	return 0;
}
