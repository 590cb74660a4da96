/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* What every case uses: the clock, memory, processors, and the socket between the two sides. */
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "bench.h"

struct bench_place bench_place;

uint64_t
bench_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Seconds of processors that this process has used. */
static double
processor_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

void
bench_begin(struct bench_taken *taken)
{
	taken->processor = -processor_seconds();
	taken->seconds = -(double)bench_now() / 1e9;
}

void
bench_end(struct bench_taken *taken, int ctl, bool active)
{
	double theirs = 0;

	taken->seconds += (double)bench_now() / 1e9;
	taken->processor += processor_seconds();
	if (active)
		bench_hear(ctl, &theirs, sizeof(theirs));
	else
		bench_tell(ctl, &taken->processor, sizeof(taken->processor));
	taken->processor += theirs;
}

static int
compare_times(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

void
bench_turns_begin(struct bench_turns *turns, const struct bench_opts *opts)
{
	*turns = (struct bench_turns){.upto = opts->upto};
	if (opts->upto == 0)
		return;
	turns->at = (uint64_t *)(void *)bench_buffer((opts->iters + 1) * sizeof(*turns->at));
}

void
bench_turn(struct bench_turns *turns)
{
	if (turns->at != NULL)
		turns->at[turns->count] = bench_now();
	else if (turns->count == 0)
		turns->begun = bench_now();
	turns->count++;
}

double
bench_turns_end(struct bench_turns *turns)
{
	uint64_t end = bench_now(), at;
	double ns;

	if (turns->at == NULL)
		return (double)(end - turns->begun) / (double)turns->count;
	for (uint64_t i = 0; i < turns->count; i++)
		turns->at[i] = (i + 1 < turns->count ? turns->at[i + 1] : end) - turns->at[i];
	qsort(turns->at, turns->count, sizeof(*turns->at), compare_times);
	at = (turns->count - 1) * turns->upto / 10000;
	ns = (double)turns->at[at];
	free(turns->at);
	return ns;
}

void
bench_die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("it-bench-run: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(1);
}

char *
bench_buffer(size_t size)
{
	char *buf = aligned_alloc(4096, (size + 4095) & ~(size_t)4095);

	if (buf == NULL)
		bench_die("no memory");
	memset(buf, 1, size);
	return buf;
}

void
bench_pin(int core)
{
	cpu_set_t set;

	if (core < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET((unsigned)core, &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0)
		bench_die("cannot pin to processor %d: %s", core, strerror(errno));
}

void
bench_tell(int ctl, const void *buf, size_t len)
{
	if (send(ctl, buf, len, MSG_NOSIGNAL) != (ssize_t)len)
		bench_die("the other side is gone");
}

void
bench_hear(int ctl, void *buf, size_t len)
{
	if (recv(ctl, buf, len, MSG_WAITALL) != (ssize_t)len)
		bench_die("the other side is gone");
}

void
bench_sync(int ctl)
{
	char c = 's';

	if (ctl < 0)
		return;
	bench_tell(ctl, &c, 1);
	bench_hear(ctl, &c, 1);
}
