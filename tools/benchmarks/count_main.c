/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Counts, under callgrind, what single calls of IT-API cost in user space. Both ends of a connection are in this
 * process, and every step is made by one thread, so that the path of each call is always the same:
 *
 * post-write, post-send, post-receive  the call that posts; of a Write and a Send, up to the return of send()
 * write-in, send-in                    a poll that receives the frame and places it, from recv() on; of a Send, it
 *                                      returns the completion, too
 * post-link                            the call that links a window, which is done at its end
 * unlink-in                            as send-in, of a Send that revokes the window
 * poll-one                             a poll that returns a completion that is there
 * poll-none                            a poll that asks the socket and finds nothing
 * emul-...                             the same over vp/emul, where a post does all of the work
 *
 * A step runs in a window: callgrind begins to count with an empty cache, the call is made, and callgrind writes
 * what it counted, with the name of the step, or "void" if the call did not do what it was measured for. The window
 * "nothing" is what the counting itself costs. benchmarks/bench_count.py reads all that and takes medians.
 *
 * The steps run on a thread of their own, whose stack begins at a page: that of main() begins where the environment
 * ends. Meanwhile the service thread is kept in its sleep, and the clock nearly stands still, because windows are so slow
 * that the service thread would take over, and polls would look as if they took long.
 *
 * it-bench-count --identity prints what the counts depend on and counts nothing.
 */
#include <arpa/inet.h>
#include <gnu/libc-version.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

#include "bench_node.h"
#include "tool_output.h"

#ifdef __clang__
#define COUNT_COMPILER ""
#else
#define COUNT_COMPILER "gcc "
#endif

#define WINDOWS       9   /* of each step */
#define ATTEMPTS      200 /* until so many windows were good */
#define WARM_UP       200 /* rounds, so that no queue is in its first use */
#define OCTETS        64
#define RUN_SECONDS   120
#define POLLS_AT_MOST 100000

struct ends {
	struct bench_node from;
	struct bench_node to;
	it_event_t event;
	it_rmr_handle_t window; /* of `to` */
	it_rmr_context_t context;
	unsigned char mark; /* last octet of the last Write */
};

struct step {
	const char *name;
	void (*prepare)(struct ends *ends); /* may be NULL */
	bool (*run)(struct ends *ends);     /* true: it did what is measured */
	void (*settle)(struct ends *ends);  /* may be NULL */
};

/* --- the service thread ------------------------------------------------------------------ */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool asleep; /* it is in epoll_wait */
	bool frozen; /* and stays there */
} service = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

int watched_epoll_wait(int epfd, struct epoll_event *events, int room,
		       int timeout) __asm__("epoll_wait");
int frozen_clock_gettime(clockid_t clock, struct timespec *now) __asm__("clock_gettime");

/* As epoll_wait, the library calls this one instead of the C library's. Only the service thread calls it to sleep. */
int
watched_epoll_wait(int epfd, struct epoll_event *events, int room, int timeout)
{
	int count;

	if (timeout == 0)
		return (int)syscall(SYS_epoll_pwait, epfd, events, room, timeout, NULL, 8);
	pthread_mutex_lock(&service.lock);
	service.asleep = true;
	pthread_cond_broadcast(&service.changed);
	pthread_mutex_unlock(&service.lock);
	count = (int)syscall(SYS_epoll_pwait, epfd, events, room, timeout, NULL, 8);
	pthread_mutex_lock(&service.lock);
	while (service.frozen)
		pthread_cond_wait(&service.changed, &service.lock);
	service.asleep = false;
	pthread_mutex_unlock(&service.lock);
	return count;
}

static struct {
	atomic_bool frozen;
	struct timespec now;
} still;

/* As clock_gettime, the library calls this one, too. While time is frozen, each call is 100 ns after the one before. */
int
frozen_clock_gettime(clockid_t clock, struct timespec *now)
{
	if (!atomic_load(&still.frozen) || clock != CLOCK_MONOTONIC)
		return (int)syscall(SYS_clock_gettime, clock, now);
	still.now.tv_nsec += 100;
	if (still.now.tv_nsec >= 1000000000) {
		still.now.tv_nsec -= 1000000000;
		still.now.tv_sec++;
	}
	*now = still.now;
	return 0;
}

static void
time_freeze(bool frozen)
{
	(void)syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &still.now);
	atomic_store(&still.frozen, frozen);
}

/* Wait until it sleeps, and let it sleep on; there it owns no lock and no role. */
static void
service_freeze(bool frozen)
{
	pthread_mutex_lock(&service.lock);
	service.frozen = frozen;
	while (frozen && !service.asleep)
		pthread_cond_wait(&service.changed, &service.lock);
	pthread_cond_broadcast(&service.changed);
	pthread_mutex_unlock(&service.lock);
}

/* --- what steps are made of --------------------------------------------------------------- */

static bool
poll_end(struct ends *ends, struct bench_node *node)
{
	return it_evd_dequeue(node->dto, &ends->event) == IT_SUCCESS;
}

static void
await_event(struct ends *ends, struct bench_node *node)
{
	for (unsigned i = 0; i < POLLS_AT_MOST; i++) {
		if (bench_node_poll(node, &ends->event))
			return;
	}
	bench_die("no completion came");
}

static void
mark_next(struct ends *ends)
{
	ends->mark = (unsigned char)(ends->mark % 250 + 1);
	ends->from.buf[OCTETS - 1] = (char)ends->mark;
}

static bool
has_arrived(const struct ends *ends)
{
	const volatile char *last = ends->to.buf + ends->to.half + OCTETS - 1;

	return (unsigned char)*last == ends->mark;
}

static void
await_write(struct ends *ends)
{
	for (unsigned i = 0; i < POLLS_AT_MOST && !has_arrived(ends); i++)
		(void)poll_end(ends, &ends->to);
	if (!has_arrived(ends))
		bench_die("no Write came");
}

static void
write_now(struct ends *ends, it_dto_flags_t flags)
{
	it_lmr_triplet_t piece = bench_node_piece(&ends->from, 0, OCTETS);

	bench_check(it_post_rdma_write(ends->from.ep, &piece, 1, 1, flags, ends->from.peer_addr,
				       ends->from.peer_context),
		    "it_post_rdma_write");
}

static void
send_now(struct ends *ends)
{
	it_lmr_triplet_t piece = bench_node_piece(&ends->from, 0, OCTETS);

	bench_check(it_post_send(ends->from.ep, &piece, 1, 2, 0), "it_post_send");
}

/* --- steps -------------------------------------------------------------------------------- */

static bool
count_nothing(struct ends *ends)
{
	(void)ends;
	return true;
}

static bool
post_write(struct ends *ends)
{
	write_now(ends, 0);
	return true;
}

/* Unsignalled requests give their slots back when a signalled one completes. */
static void
settle_write(struct ends *ends)
{
	await_write(ends);
	mark_next(ends);
	write_now(ends, IT_COMPLETION_FLAG);
	await_event(ends, &ends->from);
	await_write(ends);
}

static void
write_waits(struct ends *ends)
{
	mark_next(ends);
	write_now(ends, 0);
}

static bool
write_in(struct ends *ends)
{
	return !poll_end(ends, &ends->to) && has_arrived(ends);
}

static void
receive_waits(struct ends *ends)
{
	bench_node_recv(&ends->to, OCTETS);
}

static bool
post_send(struct ends *ends)
{
	send_now(ends);
	return true;
}

static void
settle_send(struct ends *ends)
{
	await_event(ends, &ends->to);
	mark_next(ends);
	write_now(ends, IT_COMPLETION_FLAG);
	await_event(ends, &ends->from);
	await_write(ends);
}

static bool
post_receive(struct ends *ends)
{
	receive_waits(ends);
	return true;
}

static void
settle_receive(struct ends *ends)
{
	send_now(ends);
	settle_send(ends);
}

static void
send_waits(struct ends *ends)
{
	receive_waits(ends);
	send_now(ends);
}

static bool
send_in(struct ends *ends)
{
	return poll_end(ends, &ends->to);
}

/* What was sent comes in at once or by and by; a window in which it came late is void. */
static void
settle_send_in(struct ends *ends)
{
	if (ends->event.event_number != IT_DTO_RC_RECV_CMPL_EVENT)
		await_event(ends, &ends->to);
	memset(&ends->event, 0, sizeof(ends->event));
	mark_next(ends);
	write_now(ends, IT_COMPLETION_FLAG);
	await_event(ends, &ends->from);
	await_write(ends);
}

static void
completion_waits(struct ends *ends)
{
	mark_next(ends);
	write_now(ends, IT_COMPLETION_FLAG);
	await_write(ends);
	memset(&ends->event, 0, sizeof(ends->event));
}

static bool
poll_one(struct ends *ends)
{
	return poll_end(ends, &ends->from);
}

static void
settle_poll(struct ends *ends)
{
	if (ends->event.event_number == 0)
		await_event(ends, &ends->from);
}

static bool
poll_none(struct ends *ends)
{
	return !poll_end(ends, &ends->to);
}

static bool
post_link(struct ends *ends)
{
	struct bench_node *to = &ends->to;

	bench_check(it_rmr_link(ends->window, to->lmr, to->buf + to->half, OCTETS,
				IT_ADDR_MODE_ABSOLUTE, IT_PRIV_REMOTE_WRITE, to->ep, 3, 0,
				&ends->context),
		    "it_rmr_link");
	return true;
}

/* A signalled request gives the slots back here, too. */
static void
settle_link(struct ends *ends)
{
	bench_check(it_rmr_unlink(ends->window, ends->to.ep, 4, IT_COMPLETION_FLAG),
		    "it_rmr_unlink");
	await_event(ends, &ends->to);
}

static void
unlink_waits(struct ends *ends)
{
	it_lmr_triplet_t piece = bench_node_piece(&ends->from, 0, OCTETS);

	receive_waits(ends);
	(void)post_link(ends);
	bench_check(it_post_send_and_unlink(ends->from.ep, &piece, 1, 2, 0, ends->context),
		    "it_post_send_and_unlink");
}

static void
settle_unlink_in(struct ends *ends)
{
	settle_send_in(ends);
	(void)post_link(ends);
	settle_link(ends);
}

/* --- windows ------------------------------------------------------------------------------ */

static const struct step wire_steps[] = {
	{"nothing", NULL, count_nothing, NULL},
	{"post-write", mark_next, post_write, settle_write},
	{"write-in", write_waits, write_in, settle_write},
	{"post-send", receive_waits, post_send, settle_send},
	{"send-in", send_waits, send_in, settle_send_in},
	{"post-receive", NULL, post_receive, settle_receive},
	{"post-link", NULL, post_link, settle_link},
	{"unlink-in", unlink_waits, send_in, settle_unlink_in},
	{"poll-one", completion_waits, poll_one, settle_poll},
	{"poll-none", NULL, poll_none, NULL},
	{NULL, NULL, NULL, NULL},
};

static const struct step near_steps[] = {
	{"emul-post-write", mark_next, post_write, settle_write},
	{"emul-post-send", receive_waits, post_send, settle_send},
	{"emul-poll-one", completion_waits, poll_one, settle_poll},
	{"emul-poll-none", NULL, poll_none, NULL},
	{NULL, NULL, NULL, NULL},
};

static bool
step_once(const struct step *step, struct ends *ends, bool counted)
{
	bool good;

	if (step->prepare != NULL)
		step->prepare(ends);
	if (counted)
		CALLGRIND_START_INSTRUMENTATION;
	good = step->run(ends);
	if (counted) {
		CALLGRIND_DUMP_STATS_AT(good ? step->name : "void");
		CALLGRIND_STOP_INSTRUMENTATION;
	}
	if (step->settle != NULL)
		step->settle(ends);
	return good;
}

static void
steps_run(const struct step *steps, const char *adapter)
{
	struct bench_opts opts = {.adapter = adapter, .size = OCTETS};
	struct ends *ends = calloc(1, sizeof(*ends));

	if (ends == NULL)
		bench_die("no memory");
	bench_node_join(&ends->from, &ends->to, &opts);
	bench_check(it_rmr_create(ends->to.pz, IT_RMR_TYPE_NARROW, &ends->window), "it_rmr_create");
	service_freeze(true);
	time_freeze(true);
	for (const struct step *step = steps; step->name != NULL; step++) {
		unsigned good = 0;

		for (unsigned i = 0; i < WARM_UP; i++)
			(void)step_once(step, ends, false);
		for (unsigned i = 0; good < WINDOWS; i++) {
			if (i == ATTEMPTS)
				bench_die("%s does not do what is measured", step->name);
			good += step_once(step, ends, true);
		}
	}
	time_freeze(false);
	service_freeze(false);
	bench_check(it_rmr_free(ends->window), "it_rmr_free");
	bench_node_close(&ends->from);
	bench_node_close(&ends->to);
	free(ends);
}

static void *
steps_all(void *arg)
{
	(void)arg;
	steps_run(wire_steps, "iwarp");
	steps_run(near_steps, "emul:iwarp");
	return NULL;
}

/* What the counts depend on beside our sources. */
static void
identity_print(void)
{
	const char *vectors = "";

#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2"))
		vectors = " with AVX2";
#endif
	printf("compiler: %s%s\nlibrary: glibc %s\nprocessor: %s%s\nbuild: %s\n", COUNT_COMPILER,
	       __VERSION__, gnu_get_libc_version(), COUNT_PROCESSOR, vectors, COUNT_BUILD);
}

int
main(int argc, char **argv)
{
	pthread_t thread;

	tool_output_watch();
	if (argc == 2 && strcmp(argv[1], "--identity") == 0) {
		identity_print();
		return 0;
	}
	if (argc != 1 || !RUNNING_ON_VALGRIND)
		bench_die("this program runs below callgrind: tools/bench --instructions");
	alarm(RUN_SECONDS);
	bench_place.own.s_addr = htonl(INADDR_LOOPBACK);
	bench_place.peer = bench_place.own;
	if (pthread_create(&thread, NULL, steps_all, NULL) != 0)
		bench_die("no thread");
	pthread_join(thread, NULL);
	return 0;
}
