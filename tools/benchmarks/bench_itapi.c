/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Our figures, over IT-API alone.
 *
 * it-target a Read of a peer whose application sleeps: it calls nothing until the end
 * it-woken  the same, with a pause before each Read, in which the target's thread falls asleep; a whole round trip
 * it-wakes  the same run: how often threads of the target, without that of the application, slept for a Read
 * it-lat    half a round trip (--op write, send; --block: send only), or a whole one (read)
 * it-bw     --op of `size` in a window, GB/s; ends with an answer of the peer
 * it-rate   the same as messages a second
 * it-cost   the same as seconds of processors that both processes use for 1 GiB
 * it-emul   one process, both ends: post of a Write until its completion is polled, ns
 * it-emul-bw  the same as GB/s
 * it-emul-lat  two threads of one process: half a round trip of Sends, ns; --block: both sleep for completions
 *
 * Single posts, no coalescing flag. A Write is seen by the peer in its memory while it polls (the
 * software providers place octets in order); everything else is seen by completions.
 */
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "bench_node.h"

#define SIGNAL_EVERY 16
#define PAUSE_NS     300000 /* a thread that polls for more sleeps by then */

static it_dto_flags_t
signal_at(uint64_t i, unsigned every)
{
	return i % every == every - 1 ? IT_COMPLETION_FLAG : 0;
}

static void
write_one(struct bench_node *node, size_t size, it_dto_flags_t flags)
{
	it_lmr_triplet_t piece = bench_node_piece(node, 0, size);

	bench_check(it_post_rdma_write(node->ep, &piece, 1, 1, flags, node->peer_addr,
				       node->peer_context),
		    "it_post_rdma_write");
}

static void
send_one(struct bench_node *node, size_t size, it_dto_flags_t flags)
{
	it_lmr_triplet_t piece = bench_node_piece(node, 0, size);

	bench_check(it_post_send(node->ep, &piece, 1, 2, flags), "it_post_send");
}

static void
await_receive(struct bench_node *node, bool sleep)
{
	it_event_t event;

	do
		bench_node_next(node, sleep, &event);
	while (event.event_number != IT_DTO_RC_RECV_CMPL_EVENT);
}

/* --- latency ---------------------------------------------------------------------------- */

static void
write_turn(struct bench_node *node, size_t size, uint64_t i)
{
	/* Never 0, which is what the buffer holds at first. */
	((volatile char *)node->buf)[size - 1] = (char)(i % 100 + 1);
	write_one(node, size, signal_at(i, SIGNAL_EVERY));
}

static void
await_write(struct bench_node *node, size_t size, uint64_t i)
{
	volatile char *flag = node->buf + node->half + size - 1;
	it_event_t event;

	while (*flag != (char)(i % 100 + 1))
		bench_node_poll(node, &event);
}

static void
send_turn(struct bench_node *node, const struct bench_opts *opts, uint64_t i)
{
	send_one(node, opts->size, signal_at(i, SIGNAL_EVERY));
}

static void
await_send(struct bench_node *node, const struct bench_opts *opts)
{
	await_receive(node, opts->block);
	bench_node_recv(node, opts->size);
}

static void
one_message(struct bench_node *node, const struct bench_opts *opts, bool writes, uint64_t i)
{
	if (writes)
		write_turn(node, opts->size, i);
	else
		send_turn(node, opts, i);
}

static void
await_completion(struct bench_node *node, const struct bench_opts *opts, bool writes, uint64_t i)
{
	if (writes)
		await_write(node, opts->size, i);
	else
		await_send(node, opts);
}

static double
ping_pong(struct bench_node *node, const struct bench_opts *opts, int ctl, bool active, bool writes)
{
	uint64_t warm = opts->iters / 10 + 1;
	struct bench_turns turns;
	double ns;

	bench_turns_begin(&turns, opts);
	for (unsigned i = 0; !writes && i < 4; i++)
		bench_node_recv(node, opts->size);
	bench_sync(ctl);
	for (uint64_t i = 0; i < warm + opts->iters; i++) {
		if (i >= warm)
			bench_turn(&turns);
		if (active)
			one_message(node, opts, writes, i);
		await_completion(node, opts, writes, i);
		if (!active)
			one_message(node, opts, writes, i);
	}
	ns = bench_turns_end(&turns);
	bench_sync(ctl);
	return ns / 2;
}

static void
read_one(struct bench_node *node, size_t size)
{
	it_lmr_triplet_t piece = bench_node_piece(node, node->half, size);

	bench_check(it_post_rdma_read(node->ep, &piece, 1, 3, IT_COMPLETION_FLAG, node->peer_addr,
				      node->peer_context),
		    "it_post_rdma_read");
}

static double
read_trips(struct bench_node *node, const struct bench_opts *opts, int ctl, bool active, bool alone)
{
	uint64_t warm = opts->iters / 10 + 1;
	struct bench_turns turns;
	it_event_t event;
	double ns;

	bench_node_recv(node, 1);
	bench_sync(ctl);
	if (!active) {
		if (!alone)
			await_receive(node, opts->block);
		bench_sync(ctl);
		return 0;
	}
	bench_turns_begin(&turns, opts);
	for (uint64_t i = 0; i < warm + opts->iters; i++) {
		if (i >= warm)
			bench_turn(&turns);
		read_one(node, opts->size);
		bench_node_next(node, opts->block, &event);
	}
	ns = bench_turns_end(&turns);
	if (!alone)
		send_one(node, 1, IT_COMPLETION_FLAG);
	bench_sync(ctl);
	return ns;
}

static double
measure_latency(const struct bench_opts *opts, int ctl, bool active)
{
	struct bench_node node;
	double value;

	bench_node_pair(&node, opts, ctl, active, opts->size);
	if (strcmp(opts->op, "read") == 0)
		value = read_trips(&node, opts, ctl, active, false);
	else
		value = ping_pong(&node, opts, ctl, active, strcmp(opts->op, "write") == 0);
	bench_node_close(&node);
	return value;
}

/* The same, of an application that leaves the processors to the service thread. */
static double
measure_target(const struct bench_opts *opts, int ctl, bool active)
{
	struct bench_node node;
	double value;

	bench_node_pair(&node, opts, ctl, active, opts->size);
	value = read_trips(&node, opts, ctl, active, true);
	bench_node_close(&node);
	return value;
}

/* How often the other threads of this process have waited. */
static double
others_waits(void)
{
	struct rusage all, own;

	if (getrusage(RUSAGE_SELF, &all) != 0 || getrusage(RUSAGE_THREAD, &own) != 0)
		bench_die("no usage");
	return (double)(all.ru_nvcsw - own.ru_nvcsw);
}

/* Reads of a target that sleeps before each of them. ns of one on the active side, and what the target's threads waited. */
static double
woken_reads(struct bench_node *node, const struct bench_opts *opts, int ctl, double *waits)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	it_event_t event;
	uint64_t ns = 0;
	char done = 'd';

	for (uint64_t i = 0; i < opts->iters; i++) {
		uint64_t start;

		(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
		start = bench_now();
		read_one(node, opts->size);
		bench_node_next(node, false, &event);
		ns += bench_now() - start;
	}
	bench_tell(ctl, &done, 1);
	bench_hear(ctl, waits, sizeof(*waits));
	return (double)ns / (double)opts->iters;
}

static double
measure_woken(const struct bench_opts *opts, int ctl, bool active)
{
	struct bench_node node;
	double value = 0, waits;
	char done;

	bench_node_pair(&node, opts, ctl, active, opts->size);
	bench_sync(ctl);
	if (active) {
		value = woken_reads(&node, opts, ctl, &waits);
		if (strcmp(opts->name, "it-wakes") == 0)
			value = waits / (double)opts->iters;
	} else {
		waits = others_waits();
		bench_hear(ctl, &done, 1);
		waits = others_waits() - waits;
		bench_tell(ctl, &waits, sizeof(waits));
	}
	bench_sync(ctl);
	bench_node_close(&node);
	return value;
}

/* --- bandwidth and rate ----------------------------------------------------------------- */

static void
post_one(struct bench_node *node, const struct bench_opts *opts, it_dto_flags_t flags)
{
	it_lmr_triplet_t piece;

	if (strcmp(opts->op, "write") == 0) {
		write_one(node, opts->size, flags);
	} else if (strcmp(opts->op, "send") == 0) {
		send_one(node, opts->size, flags);
	} else {
		piece = bench_node_piece(node, node->half, opts->size);
		bench_check(it_post_rdma_read(node->ep, &piece, 1, 3, flags, node->peer_addr,
					      node->peer_context),
			    "it_post_rdma_read");
	}
}

/* Post `count` messages, at most `window` of them not known to be done. */
static void
pump_messages(struct bench_node *node, const struct bench_opts *opts, uint64_t count)
{
	unsigned every = opts->window >= 4 ? opts->window / 4 : 1;
	uint64_t done = 0;
	it_event_t event;

	for (uint64_t i = 0; i < count; i++) {
		bool last = i + 1 == count;

		while (i - done >= opts->window) {
			bench_node_next(node, opts->block, &event);
			done += every;
		}
		post_one(node, opts, last ? IT_COMPLETION_FLAG : signal_at(i, every));
	}
	while (done < count) {
		bench_node_next(node, opts->block, &event);
		done += every;
	}
}

/* Passive: receive until the peer's closing message of one octet. */
static void
drain_completions(struct bench_node *node, const struct bench_opts *opts)
{
	it_event_t event;

	for (;;) {
		bench_node_next(node, opts->block, &event);
		if (event.event_number != IT_DTO_RC_RECV_CMPL_EVENT)
			continue;
		bench_node_recv(node, opts->size);
		if (event.dto_cmpl.transferred_length == 1)
			break;
	}
	send_one(node, 1, IT_COMPLETION_FLAG);
}

static struct bench_taken
pump_and_drain(struct bench_node *node, const struct bench_opts *opts, int ctl, bool active)
{
	unsigned receives = active ? 4 : 512;
	struct bench_taken taken;

	for (unsigned i = 0; i < receives; i++)
		bench_node_recv(node, opts->size);
	bench_sync(ctl);
	for (unsigned phase = 0; phase < 2; phase++) {
		bench_begin(&taken); /* the first phase warms up */
		if (active) {
			pump_messages(node, opts, phase == 0 ? opts->iters / 10 + 1 : opts->iters);
			send_one(node, 1, 0);
			await_receive(node, opts->block);
		} else {
			drain_completions(node, opts);
		}
	}
	bench_end(&taken, ctl, active);
	return taken;
}

static struct bench_taken
measure_messages(const struct bench_opts *opts, int ctl, bool active)
{
	struct bench_taken taken;
	struct bench_node node;

	if (opts->size < 2)
		bench_die("sizes below 2 octets are the closing message's");
	bench_node_pair(&node, opts, ctl, active, opts->size);
	taken = pump_and_drain(&node, opts, ctl, active);
	bench_node_close(&node);
	return taken;
}

static double
measure_rate(const struct bench_opts *opts, int ctl, bool active)
{
	return (double)opts->iters / measure_messages(opts, ctl, active).seconds;
}

static double
measure_bandwidth(const struct bench_opts *opts, int ctl, bool active)
{
	return measure_rate(opts, ctl, active) * (double)opts->size / 1e9;
}

static double
measure_cost(const struct bench_opts *opts, int ctl, bool active)
{
	struct bench_taken taken = measure_messages(opts, ctl, active);

	return taken.processor / ((double)opts->iters * (double)opts->size / BENCH_GIB);
}

/* --- both ends in this process ---------------------------------------------------------- */

static double
emul_ns(const struct bench_opts *opts)
{
	struct bench_node server;
	struct bench_node client;
	it_event_t event;
	uint64_t start;

	bench_node_join(&client, &server, opts);
	for (unsigned i = 0; i < 100; i++) {
		write_one(&client, opts->size, IT_COMPLETION_FLAG);
		bench_node_next(&client, false, &event);
	}
	start = bench_now();
	for (uint64_t i = 0; i < opts->iters; i++) {
		write_one(&client, opts->size, IT_COMPLETION_FLAG);
		bench_node_next(&client, false, &event);
	}
	start = bench_now() - start;
	bench_node_close(&client);
	bench_node_close(&server);
	return (double)start / (double)opts->iters;
}

static double
emul_latency(const struct bench_opts *opts, int ctl, bool active)
{
	(void)ctl;
	(void)active;
	return emul_ns(opts);
}

static double
emul_bandwidth(const struct bench_opts *opts, int ctl, bool active)
{
	(void)ctl;
	(void)active;
	return (double)opts->size / emul_ns(opts);
}

struct echo {
	struct bench_node node;
	const struct bench_opts *opts;
	uint64_t count;
};

static void *
echo_back(void *arg)
{
	struct echo *echo = arg;

	bench_pin(echo->opts->core_b);
	for (uint64_t i = 0; i < echo->count; i++) {
		await_send(&echo->node, echo->opts);
		send_turn(&echo->node, echo->opts, i);
	}
	return NULL;
}

static double
emul_echo(const struct bench_opts *opts, int ctl, bool active)
{
	uint64_t warm = opts->iters / 10 + 1;
	struct echo echo = {.opts = opts, .count = warm + opts->iters};
	struct bench_node client;
	pthread_t thread;
	uint64_t start = 0;

	(void)ctl;
	(void)active;
	bench_node_join(&client, &echo.node, opts);
	for (unsigned i = 0; i < 4; i++) {
		bench_node_recv(&client, opts->size);
		bench_node_recv(&echo.node, opts->size);
	}
	if (pthread_create(&thread, NULL, echo_back, &echo) != 0)
		bench_die("no thread");
	for (uint64_t i = 0; i < echo.count; i++) {
		if (i == warm)
			start = bench_now();
		send_turn(&client, opts, i);
		await_send(&client, opts);
	}
	start = bench_now() - start;
	pthread_join(thread, NULL);
	bench_node_close(&client);
	bench_node_close(&echo.node);
	return (double)start / (double)opts->iters / 2;
}

const struct bench_case bench_itapi_cases[] = {
	{"it-lat", "ns", true, measure_latency},
	{"it-target", "ns", true, measure_target},
	{"it-woken", "ns", true, measure_woken},
	{"it-wakes", "", true, measure_woken},
	{"it-bw", "GB/s", true, measure_bandwidth},
	{"it-rate", "msg/s", true, measure_rate},
	{"it-cost", "s/GiB", true, measure_cost},
	{"it-emul", "ns", false, emul_latency},
	{"it-emul-bw", "GB/s", false, emul_bandwidth},
	{"it-emul-lat", "ns", false, emul_echo},
	{NULL, NULL, false, NULL},
};
