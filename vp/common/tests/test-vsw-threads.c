/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Queues with several threads on each side: no entry is lost or doubled, and no wake-up is missed. */
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include "queue_bench.h"

#define ENTRIES 20000

struct stage {
	struct vsw_doorbell bell;
	struct vsw_cq_upcall upcalls;
	struct vsw_cq cq;
	struct ri_urnic *rnic;
	struct ri_ucq *ucq;
	sem_t wake;
	atomic_uint pushed;
	atomic_uint taken;
	_Atomic guint64 sum;
};

static void
wake(void *self, uint64_t ctx)
{
	struct stage *stage = self;

	(void)ctx;
	sem_post(&stage->wake);
}

static void
stage_open(struct stage *stage, uint32_t entries)
{
	struct ri_map map;

	memset(stage, 0, sizeof(*stage));
	sem_init(&stage->wake, 0, 0);
	stage->upcalls = (struct vsw_cq_upcall){.cq_event = wake, .self = stage};
	g_assert_cmpint(vsw_cq_create(&stage->cq, 1, &entries, &stage->upcalls), ==, RI_SUCCESS);
	vsw_map_rnic(&map, &stage->bell);
	g_assert_cmpint(vsw_user_ops.rnic_open(NULL, &map, &stage->rnic), ==, RI_SUCCESS);
	vsw_map_cq(&map, &stage->cq);
	g_assert_cmpint(vsw_user_ops.cq_open(stage->rnic, &map, &stage->ucq), ==, RI_SUCCESS);
}

static void
stage_close(struct stage *stage)
{
	vsw_user_ops.cq_close(stage->ucq);
	vsw_user_ops.rnic_close(stage->rnic);
	vsw_cq_destroy(&stage->cq);
	sem_destroy(&stage->wake);
}

static void *
producer(void *arg)
{
	struct stage *stage = arg;

	for (;;) {
		guint n = atomic_fetch_add(&stage->pushed, 1);
		struct vsw_cqe cqe = {.wr_id = n, .flags = n % 5 == 0 ? RI_WC_SOLICITED : 0};
		if (n >= ENTRIES)
			return NULL;
		while (!vsw_cq_push(&stage->cq, &cqe))
			sched_yield();
	}
}

static void
take(struct stage *stage, const struct ri_wc *wc, uint32_t got)
{
	for (uint32_t i = 0; i < got; i++)
		atomic_fetch_add(&stage->sum, wc[i].wr_id);
	atomic_fetch_add(&stage->taken, got);
}

static void
check_all(struct stage *stage)
{
	g_assert_cmpuint(atomic_load(&stage->taken), ==, ENTRIES);
	g_assert_cmpuint(atomic_load(&stage->sum), ==, (guint64)ENTRIES * (ENTRIES - 1) / 2);
}

/* One consumer that sleeps whenever it finds no completion. A lost wake-up would end in a time-out. */
static void
test_armed_sleep(void)
{
	struct stage stage RI_AT_END(stage_close);
	pthread_t thread[2];
	struct ri_wc wc[8];
	guint sleeps = 0;

	stage_open(&stage, 64);
	for (guint i = 0; i < G_N_ELEMENTS(thread); i++)
		g_assert_cmpint(pthread_create(&thread[i], NULL, producer, &stage), ==, 0);
	while (atomic_load(&stage.taken) < ENTRIES) {
		uint32_t got = vsw_poll_cq(stage.ucq, wc, 8);
		take(&stage, wc, got);
		if (got != 0)
			continue;
		guint left = ENTRIES - atomic_load(&stage.taken);
		bool many = sleeps % 2 != 0 && left > 3;
		if (vsw_arm_cq(stage.ucq, many ? RI_ARM_COUNT : RI_ARM_NEXT, 3) != RI_SUCCESS)
			continue;
		struct timespec patience;
		clock_gettime(CLOCK_REALTIME, &patience);
		patience.tv_sec += 120;
		if (left != 0)
			g_assert_cmpint(sem_timedwait(&stage.wake, &patience), ==, 0);
		sleeps++;
	}
	for (guint i = 0; i < G_N_ELEMENTS(thread); i++)
		pthread_join(thread[i], NULL);
	check_all(&stage);
	g_assert_cmpint(sem_trywait(&stage.wake), ==, -1); /* as many upcalls as sleeps */
}

static void *
poller(void *arg)
{
	struct stage *stage = arg;
	struct ri_wc wc[4];

	while (atomic_load(&stage->taken) < ENTRIES) {
		uint32_t got = vsw_poll_cq(stage->ucq, wc, 4);
		take(stage, wc, got);
		if (got == 0)
			sched_yield();
	}
	return NULL;
}

/* Two producers, two pollers, and a ring that changes its size all the time. */
static void
test_resize_under_load(void)
{
	struct stage stage RI_AT_END(stage_close);
	pthread_t thread[4];
	struct ri_map map;

	stage_open(&stage, 16);
	for (guint i = 0; i < G_N_ELEMENTS(thread); i++)
		g_assert_cmpint(pthread_create(&thread[i], NULL, i % 2 ? producer : poller, &stage),
				==, 0);
	for (guint i = 0; atomic_load(&stage.taken) < ENTRIES; i++) {
		uint32_t entries = 4u << i % 6;
		if (vsw_cq_resize(&stage.cq, &entries) != RI_SUCCESS)
			continue;
		vsw_map_cq(&map, &stage.cq);
		g_assert_cmpint(vsw_user_ops.cq_remap(stage.ucq, &map), ==, RI_SUCCESS);
	}
	for (guint i = 0; i < G_N_ELEMENTS(thread); i++)
		pthread_join(thread[i], NULL);
	check_all(&stage);
}

/* --- locks -------------------------------------------------------------------------------- */

/* What the callees assert about roles, and how a role that is wanted twice makes one more round. */
static void
test_lock_and_role(void)
{
	struct vsw_lock lock = {0};
	struct vsw_role role = {0};

	g_assert_false(vsw_lock_is_owned(&lock));
	vsw_lock(&lock);
	g_assert_true(vsw_lock_is_owned(&lock));
	g_assert_false(vsw_trylock(&lock));
	vsw_unlock(&lock);
	g_assert_false(vsw_lock_is_owned(&lock));

	g_assert_false(vsw_role_is_taken(&role));
	g_assert_true(vsw_role_take(&role));
	g_assert_true(vsw_role_is_taken(&role));
	g_assert_false(vsw_role_take(&role));
	g_assert_true(vsw_role_drop(&role)); /* the retry flag is set: one more round */
	g_assert_true(vsw_role_is_taken(&role));
	vsw_role_begin(&role);
	g_assert_false(vsw_role_drop(&role));
	g_assert_false(vsw_role_is_taken(&role));
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/vsw/threads/lock-and-role", test_lock_and_role);
	g_test_add_func("/vsw/threads/armed-sleep", test_armed_sleep);
	g_test_add_func("/vsw/threads/resize-under-load", test_resize_under_load);
	return g_test_run();
}
