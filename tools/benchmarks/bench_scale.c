/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Many connections between two processes, `iters` of them.
 *
 * it-scale      Reads a second, all connections together: each active one has one Read of `size` under way. With
 *               `--window N`, one connection in N is active.
 * it-fair       the same run; Reads of the slowest active connection over those of the fastest
 * it-idle       nothing is active: processor time of the service thread, us in a second
 * it-connects   connections made a second, one after the other, both ends
 *
 * The passive side answers by polling; of it-idle, it sleeps.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#include "bench_node.h"

#define SCALE_DTOS    16
#define WARM_NS       (100u * 1000 * 1000ull)
#define RUN_NS        (500u * 1000 * 1000ull)
#define SETTLE_NS     (4000u * 1000 * 1000ull) /* until timers of the start have fired, too */
#define IDLE_NS       (1000u * 1000 * 1000ull)
#define POLLS_OF_TURN 256 /* between two looks at the clock or at the control socket */

struct crowd {
	struct bench_node node;
	size_t count;
	it_ep_handle_t *eps;
	uint64_t *done; /* Reads of each endpoint */
};

static void
crowd_make(struct crowd *crowd, const struct bench_opts *opts)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
	crowd->count = opts->iters;
	crowd->eps = calloc(crowd->count, sizeof(crowd->eps[0]));
	crowd->done = calloc(crowd->count, sizeof(crowd->done[0]));
	if (crowd->eps == NULL || crowd->done == NULL)
		bench_die("no memory");
	bench_node_open(&crowd->node, opts->adapter, opts->size);
}

/* Connect all endpoints, and send the other side the address of this one's memory. */
static void
crowd_connect(struct crowd *crowd, int ctl, bool active)
{
	struct bench_node *node = &crowd->node;
	uint16_t port = 0;

	if (!active) {
		bench_node_listen(node);
		port = node->port;
		bench_tell(ctl, &port, sizeof(port));
	} else {
		bench_hear(ctl, &port, sizeof(port));
	}
	for (size_t i = 0; i < crowd->count; i++) {
		bench_node_new_ep(node, SCALE_DTOS);
		crowd->eps[i] = node->ep;
		if (active)
			bench_node_connect(node, port);
		else
			bench_node_accept(node);
		bench_node_established(node);
	}
	bench_node_swap_keys(node, ctl);
}

static void
crowd_free(struct crowd *crowd)
{
	bench_node_close(&crowd->node);
	free(crowd->eps);
	free(crowd->done);
}

static void
read_next(struct crowd *crowd, size_t i, size_t size)
{
	it_lmr_triplet_t piece = bench_node_piece(&crowd->node, 0, size);

	bench_check(it_post_rdma_read(crowd->eps[i], &piece, 1, i, IT_COMPLETION_FLAG,
				      crowd->node.peer_addr, crowd->node.peer_context),
		    "it_post_rdma_read");
}

/* Take completions until the clock says `until`; each is followed by the next Read. Returns their number. */
static uint64_t
reads_run(struct crowd *crowd, size_t size, uint64_t until)
{
	uint64_t reads = 0;
	it_event_t event;

	while (bench_now() < until) {
		for (unsigned i = 0; i < POLLS_OF_TURN; i++) {
			if (!bench_node_poll(&crowd->node, &event))
				continue;
			size_t at = (size_t)event.dto_cmpl.cookie;
			crowd->done[at]++;
			reads++;
			read_next(crowd, at, size);
		}
	}
	return reads;
}

/* Passive: poll until the other side says that it is done. */
static void
answer_writes(struct crowd *crowd, int ctl)
{
	it_event_t event;
	char done;

	do {
		for (unsigned i = 0; i < POLLS_OF_TURN; i++)
			(void)bench_node_poll(&crowd->node, &event);
	} while (recv(ctl, &done, 1, MSG_DONTWAIT) != 1);
}

static double
slowest_of_fastest(const struct crowd *crowd, unsigned every)
{
	uint64_t least = UINT64_MAX;
	uint64_t most = 1;

	for (size_t i = 0; i < crowd->count; i += every) {
		least = crowd->done[i] < least ? crowd->done[i] : least;
		most = crowd->done[i] > most ? crowd->done[i] : most;
	}
	return (double)least / (double)most;
}

static double
measure_scale(const struct bench_opts *opts, int ctl, bool active)
{
	bool fair = strcmp(opts->name, "it-fair") == 0;
	struct crowd crowd = {.count = 0};
	char done = 'd';
	double value = 0;

	crowd_make(&crowd, opts);
	crowd_connect(&crowd, ctl, active);
	bench_sync(ctl);
	if (active) {
		for (size_t i = 0; i < crowd.count; i += opts->window)
			read_next(&crowd, i, opts->size);
		(void)reads_run(&crowd, opts->size, bench_now() + WARM_NS);
		memset(crowd.done, 0, crowd.count * sizeof(crowd.done[0]));
		uint64_t start = bench_now();
		uint64_t reads = reads_run(&crowd, opts->size, start + RUN_NS);
		value = fair ? slowest_of_fastest(&crowd, opts->window)
			     : (double)reads * 1e9 / (double)(bench_now() - start);
		bench_tell(ctl, &done, 1);
	} else {
		answer_writes(&crowd, ctl);
	}
	bench_sync(ctl);
	crowd_free(&crowd);
	return value;
}

/* One Read of each connection, after which each initiator has heard from its peer, and so does not have to wake it (viw_wake.c). */
static void
read_each(struct crowd *crowd, size_t size, int ctl)
{
	it_event_t event;
	char done = 'd';

	for (size_t i = 0; i < crowd->count; i++) {
		read_next(crowd, i, size);
		bench_node_next(&crowd->node, false, &event);
	}
	bench_tell(ctl, &done, 1);
}

static void
sleep_ms(uint64_t ns)
{
	const struct timespec time = {.tv_sec = (time_t)(ns / 1000000000u),
				      .tv_nsec = (long)(ns % 1000000000u)};

	(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

static uint64_t
clock_ns(clockid_t clock)
{
	struct timespec ts;

	if (clock_gettime(clock, &ts) != 0)
		bench_die("no clock of processor time");
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Processor time of all threads but this one. */
static uint64_t
others_ns(void)
{
	uint64_t all = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	uint64_t mine = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	return all > mine ? all - mine : 0;
}

static double
measure_idle(const struct bench_opts *opts, int ctl, bool active)
{
	struct crowd crowd = {.count = 0};
	uint64_t before = 0;
	uint64_t idle_us;
	uint64_t after = 0;

	crowd_make(&crowd, opts);
	crowd_connect(&crowd, ctl, active);
	bench_sync(ctl);
	if (active)
		read_each(&crowd, opts->size, ctl);
	else
		answer_writes(&crowd, ctl);
	sleep_ms(SETTLE_NS);
	before = others_ns();
	sleep_ms(IDLE_NS);
	after = others_ns();
	bench_sync(ctl);
	crowd_free(&crowd);
	/* Whole microseconds: the two clocks are read one after the other, and that takes less than one. */
	idle_us = after > before ? (after - before) / 1000 : 0;
	return (double)idle_us;
}

static double
measure_connects(const struct bench_opts *opts, int ctl, bool active)
{
	struct crowd crowd = {.count = 0};
	uint64_t start;

	crowd_make(&crowd, opts);
	bench_sync(ctl);
	start = bench_now();
	crowd_connect(&crowd, ctl, active);
	double value = (double)crowd.count * 1e9 / (double)(bench_now() - start);
	bench_sync(ctl);
	crowd_free(&crowd);
	return value;
}

const struct bench_case bench_scale_cases[] = {
	{"it-scale", "Reads/s", true, measure_scale},
	{"it-fair", "of 1", true, measure_scale},
	{"it-idle", "us/s", true, measure_idle},
	{"it-connects", "1/s", true, measure_connects},
	{NULL, NULL, false, NULL},
};
