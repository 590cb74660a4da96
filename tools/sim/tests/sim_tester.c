/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A node that tests other nodes: as often as its argument says, it cuts the path between them for a
 * random while; and it states a property of its own, which the run checks. With the argument
 * "wrong" it calls it_sim.h wrongly, which must end the run.
 */
#include "it_sim.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned cuts;

static int
is_few(void *most)
{
	return cuts <= *(unsigned *)most;
}

static void
cut_for_a_while(void)
{
	char text[64];

	snprintf(text, sizeof(text), "cut server writer for %uus",
		 1 + (unsigned)it_sim_random(3000));
	assert(it_sim_do(text) == 0);
	cuts++;
	usleep(4000);
}

int
main(int argc, char **argv)
{
	static unsigned most = 3;
	unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
	uint64_t begin;

	if (!it_sim_here()) {
		printf("there is no simulation\n");
		return 0;
	}
	begin = it_sim_now();
	assert(it_sim_always("at most three cuts", is_few, &most) == 0);
	for (unsigned i = 0; i < rounds; i++)
		cut_for_a_while();
	assert(it_sim_now() - begin >= rounds * UINT64_C(4000000));
	if (it_sim_random(4) == 0)
		IT_SIM_REACHED("one in four");
	if (argc > 2 && strcmp(argv[2], "fail") == 0)
		it_sim_fail("that is enough");
	if (argc > 2)
		printf("%d\n", it_sim_do(argv[2]));
	return 0;
}
