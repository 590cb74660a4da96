/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A thread under SCHED_FIFO waits for a thread of normal priority on the same processor. The waiter
 * must sleep, because yielding would never let the other thread run. The test measures the waiter's
 * own processor time, which does not depend on the load of the machine.
 */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <time.h>

#include "mem_bench.h"
#include "ri_relax.h"

/* A waiter that spins is throttled by the kernel after 950 ms of each second, or never. */
#define MOST_NS 200000000u

struct pair {
	struct bench b;
	struct vsw_mem_entry *mr;
	uint32_t stag;
	struct vsw_lock lock;
	sem_t held, go;
	void (*hold)(struct pair *pair); /* returns owning what the waiter needs */
	void (*drop)(struct pair *pair);
	void (*wait)(struct pair *pair);
	struct vsw_mem_use use;
	uint64_t spent; /* ns of processor time of the waiter */
};

static uint64_t
time_of_thread(void)
{
	struct timespec t = {0};

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void *
holder(void *arg)
{
	struct pair *pair = arg;

	pair->hold(pair);
	sem_post(&pair->held);
	sem_wait(&pair->go);
	sem_post(&pair->held); /* the waiter preempts this thread here */
	pair->drop(pair);
	return NULL;
}

static void *
waiter(void *arg)
{
	struct pair *pair = arg;

	sem_wait(&pair->held);
	sem_post(&pair->go);
	sem_wait(&pair->held);
	uint64_t before = time_of_thread();
	pair->wait(pair);
	pair->spent = time_of_thread() - before;
	return NULL;
}

static bool
start(pthread_t *thread, int policy, const cpu_set_t *one, void *(*run)(void *), struct pair *pair)
{
	struct sched_param param = {.sched_priority = policy == SCHED_FIFO ? 1 : 0};
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, policy);
	pthread_attr_setschedparam(&attr, &param);
	pthread_attr_setaffinity_np(&attr, sizeof(*one), one);
	int error = pthread_create(thread, &attr, run, pair);
	pthread_attr_destroy(&attr);
	return error == 0;
}

static void
race(struct pair *pair)
{
	pthread_t normal, real;
	cpu_set_t all, one;
	int cpu = 0;

	g_assert_cmpint(sched_getaffinity(0, sizeof(all), &all), ==, 0);
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sem_init(&pair->held, 0, 0);
	sem_init(&pair->go, 0, 0);
	if (!start(&real, SCHED_FIFO, &one, waiter, pair)) {
		g_test_skip("no thread may run under SCHED_FIFO here");
		pair->hold(pair);
		pair->drop(pair);
		pair->wait(pair);
		return;
	}
	g_assert_true(start(&normal, SCHED_OTHER, &one, holder, pair));
	pthread_join(real, NULL);
	pthread_join(normal, NULL);
	g_test_message("the waiter took %" PRIu64 " us of the processor", pair->spent / 1000);
	g_assert_cmpuint(pair->spent, <, MOST_NS);
}

static void
use_begin(struct pair *pair)
{
	g_assert_cmpint(
		begin(&pair->b, &alice, ACCESS(pair->stag, at(&pair->b, 0), 8, RW), &pair->use), ==,
		VSW_MEM_OK);
}

static void
use_end(struct pair *pair)
{
	vsw_mem_end(&pair->use);
}

static void
deregister(struct pair *pair)
{
	g_assert_cmpint(vsw_mr_dereg(pair->mr), ==, RI_SUCCESS);
}

/* The access has a mark; with `counted`, the region counts it. */
static void
revoke_while_used(bool counted)
{
	struct pair pair = {.hold = use_begin, .drop = use_end, .wait = deregister};

	pair.b = set_up();
	struct ri_mr_init init = whole(&pair.b, ALL);
	init.max_pages = counted ? 1 : 0;
	pair.mr = reg(&pair.b, &init, &pair.stag);
	race(&pair);
	tear_down(&pair.b);
}

static void
test_marked(void)
{
	revoke_while_used(false);
}

static void
test_counted(void)
{
	revoke_while_used(true);
}

static void
lock_take(struct pair *pair)
{
	vsw_lock(&pair->lock);
}

static void
lock_give(struct pair *pair)
{
	vsw_unlock(&pair->lock);
}

static void
lock_both(struct pair *pair)
{
	vsw_lock(&pair->lock);
	vsw_unlock(&pair->lock);
}

static void
test_lock(void)
{
	struct pair pair = {.hold = lock_take, .drop = lock_give, .wait = lock_both};

	race(&pair);
}

/* A sleep neither changes errno nor lets the thread be cancelled, which may own a lock. */
static void *
napper(void *arg)
{
	errno = ENOTDIR;
	(void)pthread_cancel(pthread_self());
	for (unsigned round = 0; round < RI_RELAX_YIELDS + 3; round++)
		ri_relax(round);
	*(int *)arg = errno;
	return NULL;
}

static void
test_nap(void)
{
	pthread_t thread;
	int error = 0;
	void *result = PTHREAD_CANCELED;

	g_assert_cmpint(pthread_create(&thread, NULL, napper, &error), ==, 0);
	pthread_join(thread, &result);
	g_assert_null(result);
	g_assert_cmpint(error, ==, ENOTDIR);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/vsw/realtime/marked", test_marked);
	g_test_add_func("/vsw/realtime/counted", test_counted);
	g_test_add_func("/vsw/realtime/lock", test_lock);
	g_test_add_func("/vsw/realtime/nap", test_nap);
	return g_test_run();
}
