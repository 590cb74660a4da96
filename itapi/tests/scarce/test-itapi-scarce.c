/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Lets each allocation in turn fail, once or for good, in a program that runs a whole application life (life.c). Each
 * case is a process of its own: it must end by itself, each call must succeed or return IT_ERR_RESOURCES, all objects
 * must be freed, and afterwards a second life must succeed. "Warm" cases begin after a first life; in them every
 * block that was allocated since must be freed again. "Cold" cases are the first use of the library in their process.
 * test-itapi-scarce ADAPTER STRIDE [FIRST [LAST]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "life.h"
#include "scarce.h"

#define LAST 2000
#define PATIENCE \
	60 /* seconds until everything must be freed; a process counts as hung after four times as many */

enum outcome {
	FINE = 0,
	WRONG = 1,
	NEVER_SHORT = 3 /* a life has fewer allocations than that */
};

struct plan {
	const char *adapter;
	unsigned long stride, first, last;
};

static void
say(const char *what, const struct life_report *report)
{
	dprintf(STDERR_FILENO, "# %s: %s gave %#x; first refusal by %s\n", what,
		report->wrong != NULL ? report->wrong : "(no call)", (unsigned int)report->status,
		report->shortage != NULL ? report->shortage : "(none)");
}

/* Another thread may free the last blocks a moment later. */
static bool
all_freed(long live)
{
	const struct timespec tick = {.tv_nsec = 1000000};

	for (int i = 0; i < PATIENCE * 1000 && scarce_live() > live; i++)
		nanosleep(&tick, NULL);
	if (scarce_live() <= live)
		return true;
	dprintf(STDERR_FILENO, "# %ld blocks are not freed\n", scarce_live() - live);
	return false;
}

static bool
whole_life(const char *adapter, const char *which)
{
	struct life_report report;

	life_run(adapter, &report);
	if (!report.whole)
		say(which, &report);
	return report.whole;
}

static enum outcome
run_case(const char *adapter, unsigned long n, bool for_good, bool warm)
{
	const struct timespec settle = {.tv_nsec = 5000000};
	struct life_report report;
	unsigned long refused;
	long live = 0;

	if (warm) {
		if (!whole_life(adapter, "the life before"))
			return WRONG;
		nanosleep(&settle, NULL);
		live = scarce_live();
	}
	scarce_arm(n, for_good);
	life_run(adapter, &report);
	if (warm && scarce_live() > live)
		nanosleep(
			&settle,
			NULL); /* memory is still scarce: the frees that follow must succeed without any */
	refused = scarce_disarm();
	if (report.wrong != NULL || (refused == 0 && !report.whole)) {
		say("the life in want", &report);
		return WRONG;
	}
	if (warm && !all_freed(live)) {
		say("the life in want", &report);
		return WRONG;
	}
	if (!whole_life(adapter, "the life after"))
		return WRONG;
	return refused == 0 ? NEVER_SHORT : FINE;
}

/* False: it was killed, or its result is wrong. */
static bool
fork_case(const struct plan *plan, unsigned long n, bool for_good, bool warm, bool *end)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		(void)alarm(4 * PATIENCE);
		_exit(run_case(plan->adapter, n, for_good, warm));
	}
	if (child < 0 || waitpid(child, &status, 0) != child) {
		perror("# fork");
		return false;
	}
	*end = WIFEXITED(status) && WEXITSTATUS(status) == NEVER_SHORT;
	if (*end || status == 0)
		return true;
	printf("# allocation %lu refused%s (%s): ", n, for_good ? " for good" : "",
	       warm ? "warm" : "cold");
	printf(WIFSIGNALED(status) ? "killed by signal %d\n" : "status %d\n",
	       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	return false;
}

static void
sweep(int number, const struct plan *plan, bool for_good, bool warm)
{
	unsigned cases = 0, bad = 0;
	bool end = false;

	for (unsigned long n = plan->first; n <= plan->last && !end; n += plan->stride) {
		fflush(stdout);
		bad += !fork_case(plan, n, for_good, warm, &end);
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
