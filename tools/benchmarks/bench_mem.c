/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Calibrators inside one machine's memory.
 *
 * memcpy       copies of `size` octets, source and target hot: GB/s
 * memcpy-cold  the same through a working set far larger than the caches
 * memcpy-far   a source that the other processor has just written
 * cache-line   hand-off of one line between the two processors: ns one way
 * eventfd      write on one processor wakes a reader on the other: ns one way
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "bench.h"

#define COLD_SET ((size_t)512 << 20)

struct far {
	_Alignas(64) atomic_uint turn;
	const struct bench_opts *opts;
	char *buf;
	int efd[2];
};

static double
copy_hot(const struct bench_opts *opts, int ctl, bool active)
{
	char *src = bench_buffer(opts->size);
	char *dst = bench_buffer(opts->size);
	uint64_t start;
	double seconds;

	(void)ctl;
	(void)active;
	memcpy(dst, src, opts->size);
	start = bench_now();
	for (uint64_t i = 0; i < opts->iters; i++) {
		memcpy(dst, src, opts->size);
		__asm__ volatile("" : : "r"(dst) : "memory");
	}
	seconds = (double)(bench_now() - start) / 1e9;
	free(src);
	free(dst);
	return (double)opts->iters * (double)opts->size / seconds / 1e9;
}

static double
copy_cold(const struct bench_opts *opts, int ctl, bool active)
{
	size_t room = COLD_SET / opts->size * opts->size;
	char *src = bench_buffer(COLD_SET);
	char *dst = bench_buffer(COLD_SET);
	size_t at = 0;
	uint64_t start = bench_now();
	double seconds;

	(void)ctl;
	(void)active;
	for (uint64_t i = 0; i < opts->iters; i++) {
		memcpy(dst + at, src + at, opts->size);
		__asm__ volatile("" : : "r"(dst) : "memory");
		at = at + opts->size >= room ? 0 : at + opts->size;
	}
	seconds = (double)(bench_now() - start) / 1e9;
	free(src);
	free(dst);
	return (double)opts->iters * (double)opts->size / seconds / 1e9;
}

static void *
far_writer(void *arg)
{
	struct far *far = arg;

	bench_pin(far->opts->core_b);
	for (uint64_t i = 0; i < far->opts->iters; i++) {
		while (atomic_load(&far->turn) != 1)
			;
		memset(far->buf, (int)i, far->opts->size);
		atomic_store(&far->turn, 0);
	}
	return NULL;
}

static double
copy_far(const struct bench_opts *opts, int ctl, bool active)
{
	struct far far = {.opts = opts, .buf = bench_buffer(opts->size)};
	char *dst = bench_buffer(opts->size);
	uint64_t ns = 0;
	pthread_t thread;

	(void)ctl;
	(void)active;
	if (pthread_create(&thread, NULL, far_writer, &far) != 0)
		bench_die("no thread");
	for (uint64_t i = 0; i < opts->iters; i++) {
		uint64_t start;

		atomic_store(&far.turn, 1);
		while (atomic_load(&far.turn) != 0)
			;
		start = bench_now();
		memcpy(dst, far.buf, opts->size);
		__asm__ volatile("" : : "r"(dst) : "memory");
		ns += bench_now() - start;
	}
	pthread_join(thread, NULL);
	free(far.buf);
	free(dst);
	return (double)opts->iters * (double)opts->size / (double)ns;
}

static void *
line_peer(void *arg)
{
	struct far *far = arg;

	bench_pin(far->opts->core_b);
	for (uint64_t i = 0; i <= far->opts->iters; i++) {
		while (atomic_load(&far->turn) != 1)
			;
		atomic_store(&far->turn, 0);
	}
	return NULL;
}

static double
cache_line(const struct bench_opts *opts, int ctl, bool active)
{
	struct far far = {.opts = opts};
	pthread_t thread;
	uint64_t start;

	(void)ctl;
	(void)active;
	if (pthread_create(&thread, NULL, line_peer, &far) != 0)
		bench_die("no thread");
	/* The first answer comes when the thread has got to its processor, which takes a while on a busy machine. */
	atomic_store(&far.turn, 1);
	while (atomic_load(&far.turn) != 0)
		(void)sched_yield();
	start = bench_now();
	for (uint64_t i = 0; i < opts->iters; i++) {
		atomic_store(&far.turn, 1);
		while (atomic_load(&far.turn) != 0)
			;
	}
	start = bench_now() - start;
	pthread_join(thread, NULL);
	return (double)start / (double)opts->iters / 2;
}

static void *
wake_peer(void *arg)
{
	struct far *far = arg;
	uint64_t n;

	bench_pin(far->opts->core_b);
	for (uint64_t i = 0; i < far->opts->iters; i++) {
		n = 1;
		if (read(far->efd[0], &n, sizeof(n)) != sizeof(n) ||
		    write(far->efd[1], &n, sizeof(n)) != sizeof(n))
			bench_die("eventfd");
	}
	return NULL;
}

static double
measure_wake(const struct bench_opts *opts, int ctl, bool active)
{
	struct far far = {.opts = opts, .efd = {eventfd(0, EFD_CLOEXEC), eventfd(0, EFD_CLOEXEC)}};
	pthread_t thread;
	uint64_t start;
	uint64_t n;

	(void)ctl;
	(void)active;
	if (far.efd[0] < 0 || far.efd[1] < 0 || pthread_create(&thread, NULL, wake_peer, &far) != 0)
		bench_die("no thread or descriptor");
	start = bench_now();
	for (uint64_t i = 0; i < opts->iters; i++) {
		n = 1;
		if (write(far.efd[0], &n, sizeof(n)) != sizeof(n) ||
		    read(far.efd[1], &n, sizeof(n)) != sizeof(n))
			bench_die("eventfd");
	}
	start = bench_now() - start;
	pthread_join(thread, NULL);
	close(far.efd[0]);
	close(far.efd[1]);
	return (double)start / (double)opts->iters / 2;
}

const struct bench_case bench_mem_cases[] = {
	{"memcpy", "GB/s", false, copy_hot},     {"memcpy-cold", "GB/s", false, copy_cold},
	{"memcpy-far", "GB/s", false, copy_far}, {"cache-line", "ns", false, cache_line},
	{"eventfd", "ns", false, measure_wake},  {NULL, NULL, false, NULL},
};
