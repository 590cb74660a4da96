/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "want.h"

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "life.h"
#include "scarce.h"

#define PATIENCE \
	60 /* seconds until everything must be freed; a process counts as hung after four times as many */

#define STACKS 3

/* What a process has. */
struct held {
	long blocks;
	long descriptors;
	long mappings; /* that other processes may share */
};

static void
say(const char *what, const struct life_report *report)
{
	dprintf(STDERR_FILENO, "# %s: %s gave %#x; first refusal by %s\n", what,
		report->wrong != NULL ? report->wrong : "(no call)", (unsigned int)report->status,
		report->shortage != NULL ? report->shortage : "(none)");
}

static long
descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	long count = 0;

	if (folder == NULL)
		return -1;
	while (readdir(folder) != NULL)
		count++;
	(void)closedir(folder);
	return count;
}

static long
mappings(void)
{
	FILE *file = fopen("/proc/self/maps", "re");
	char line[512];
	long count = 0;

	if (file == NULL)
		return -1;
	while (fgets(line, sizeof(line), file) != NULL) {
		const char *rights = strchr(line, ' ');

		count += rights != NULL && strcspn(rights, "s") == 4;
	}
	(void)fclose(file);
	return count;
}

static struct held
held(void)
{
	struct held now;

	/* The text of the last failure is kept by the C library until it is asked for. */
	(void)dlerror();
	(void)dlerror();
	now.blocks = scarce_live();
	now.descriptors = descriptors();
	now.mappings = mappings();
	return now;
}

static bool
no_more(struct held now, struct held before)
{
	return now.blocks <= before.blocks && now.descriptors <= before.descriptors &&
	       now.mappings <= before.mappings;
}

/* Another thread may free the last blocks a moment later. */
static bool
all_freed(struct held before)
{
	const struct timespec tick = {.tv_nsec = 1000000};
	struct held now = held();

	for (int i = 0; i < PATIENCE * 1000 && !no_more(now, before); i++) {
		nanosleep(&tick, NULL);
		now = held();
	}
	if (no_more(now, before))
		return true;
	dprintf(STDERR_FILENO, "# not freed: %ld blocks, %ld descriptors, %ld mappings\n",
		now.blocks - before.blocks, now.descriptors - before.descriptors,
		now.mappings - before.mappings);
	return false;
}

static void *
wait_here(void *barrier)
{
	(void)pthread_barrier_wait(barrier);
	return NULL;
}

/*
 * The C library keeps the stack of an ended thread, and a block with it, for the next thread. If a
 * thread of the library ends a little later than in another run, one more stack is needed. So this
 * function makes the C library keep enough of them beforehand.
 */
static void
keep_stacks(void)
{
	pthread_t threads[STACKS];
	pthread_barrier_t barrier;
	unsigned begun = 0;

	(void)pthread_barrier_init(&barrier, NULL, STACKS);
	while (begun < STACKS && pthread_create(&threads[begun], NULL, wait_here, &barrier) == 0)
		begun++;
	if (begun < STACKS)
		_exit(WANT_UNTESTED);
	while (begun > 0)
		(void)pthread_join(threads[--begun], NULL);
	(void)pthread_barrier_destroy(&barrier);
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

/* False: a call gave what it must not give, or nothing was refused and the life was not whole all the same. */
static bool
is_right(const struct want *want, const struct life_report *report, unsigned long refused)
{
	if (report->wrong != NULL && refused > 0 && want->accepts != NULL &&
	    want->accepts(want, report->status))
		return true;
	return report->wrong == NULL && (refused > 0 || report->whole);
}

static enum outcome
run_case(const struct want *want)
{
	const struct timespec settle = {.tv_nsec = 5000000};
	struct life_report report;
	unsigned long refused;
	struct held before = {0};

	if (want->prepare != NULL && !want->prepare(want))
		return WANT_UNTESTED;
	if (want->warm) {
		if (!whole_life(want->adapter, "the life before"))
			return WANT_WRONG;
		keep_stacks();
		nanosleep(&settle, NULL);
		before = held();
	}
	want->arm(want);
	life_run(want->adapter, &report);
	if (want->warm && scarce_live() > before.blocks)
		nanosleep(
			&settle,
			NULL); /* memory is still scarce: the frees that follow must succeed without any */
	refused = want->disarm();
	if (!is_right(want, &report, refused) || (want->warm && !all_freed(before))) {
		say("the life in want", &report);
		return WANT_WRONG;
	}
	if (!whole_life(want->adapter, "the life after"))
		return WANT_WRONG;
	return refused == 0 ? WANT_NEVER : WANT_FINE;
}

enum outcome
want_run(const struct want *want)
{
	time_t begin = time(NULL);
	int status = 0;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		(void)alarm(4 * PATIENCE);
		_exit(run_case(want));
	}
	if (child < 0 || waitpid(child, &status, 0) != child) {
		perror("# fork");
		return WANT_WRONG;
	}
	if (getenv("ITAPI_TEST_SAY") != NULL) {
		printf("# %ld s: ", (long)(time(NULL) - begin));
		want->print(want);
		printf("\n");
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) != WANT_WRONG)
		return (enum outcome)WEXITSTATUS(status);
	printf("# ");
	want->print(want);
	printf(" refused%s (%s): ", want->for_good ? " for good" : "",
	       want->warm ? "warm" : "cold");
	printf(WIFSIGNALED(status) ? "killed by signal %d\n" : "status %d\n",
	       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	return WANT_WRONG;
}
