/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Makes each allocation in turn fail, once or permanently, in a whole application life (want.h). One further life runs
 * while the process has as many mappings as the kernel allows (vm.max_map_count). test-itapi-scarce ADAPTER STRIDE
 * [FIRST [LAST]]
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "scarce.h"
#include "want.h"

#define LAST     2000
#define MAPPINGS 100000 /* made in a moment */

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

static struct {
	char *at;
	size_t size;
	bool full;
} crowd; /* of mappings */

static unsigned long
most_mappings(void)
{
	FILE *file = fopen("/proc/sys/vm/max_map_count", "re");
	unsigned long most = 0;

	if (file == NULL)
		return 0;
	if (fscanf(file, "%lu", &most) != 1)
		most = 0;
	(void)fclose(file);
	return most;
}

static void
fill_mappings(const struct want *want)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	crowd.size = want->n * page;
	crowd.at = mmap(NULL, crowd.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			-1, 0);
	for (size_t i = 0; crowd.at != MAP_FAILED && i < want->n && !crowd.full; i += 2)
		crowd.full = mprotect(crowd.at + i * page, page, PROT_READ) != 0 && errno == ENOMEM;
}

static unsigned long
end_mappings(void)
{
	(void)munmap(crowd.at, crowd.size);
	return crowd.full;
}

static void
print_mappings(const struct want *want)
{
	printf("more than %lu mappings", want->n);
}

static void
report_mappings(int number, const char *adapter)
{
	const struct want want = {.adapter = adapter,
				  .n = most_mappings(),
				  .warm = true,
				  .arm = fill_mappings,
				  .disarm = end_mappings,
				  .print = print_mappings};
	bool few = want.n > 0 && want.n <= MAPPINGS;

	printf("%s %d /itapi/%s/scarce/mappings%s\n",
	       !few || want_run(&want) == WANT_FINE ? "ok" : "not ok", number, adapter,
	       few ? "" : " # SKIP the kernel allows too many mappings");
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
	printf("1..5\n");
	sweep(1, &plan, false, true);
	sweep(2, &plan, true, true);
	sweep(3, &plan, false, false);
	sweep(4, &plan, true, false);
	report_mappings(5, plan.adapter);
	return 0;
}
