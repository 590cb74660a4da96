/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* When the service thread looks again before it sleeps; that it hears of everything while it looks. */

#include <glib.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "kal_host.h"

#define US     UINT64_C(1000)
#define LENGTH (50 * US)
#define SECOND UINT64_C(1000000000)
#define NOW    (7 * SECOND)

/* A processor is idle as long as nothing is counted anew. */
static struct kal_spin
spin_new(bool idle)
{
	return (struct kal_spin){.length = LENGTH, .idle = idle, .count_at = NOW + 100 * SECOND};
}

static void
test_soon(void)
{
	struct kal_spin spin = spin_new(true);

	g_assert_false(kal_spin_goes_on(&spin, NOW));
	kal_spin_came(&spin, NOW); /* the first one follows none */
	g_assert_false(kal_spin_goes_on(&spin, NOW));
	kal_spin_came(&spin, NOW + LENGTH);
	g_assert_true(kal_spin_goes_on(&spin, NOW + LENGTH));
	g_assert_true(kal_spin_goes_on(&spin, NOW + 2 * LENGTH - 1));
	g_assert_false(kal_spin_goes_on(&spin, NOW + 2 * LENGTH));
	g_assert_false(kal_spin_goes_on(&spin, NOW + LENGTH)); /* it sleeps since */
	/* What comes later says that looking does not pay. */
	kal_spin_came(&spin, NOW + 2 * LENGTH + 1);
	g_assert_false(kal_spin_goes_on(&spin, NOW + 2 * LENGTH + 1));
}

static void
test_busy(void)
{
	struct kal_spin spin = spin_new(false);

	kal_spin_came(&spin, NOW);
	kal_spin_came(&spin, NOW + 1);
	g_assert_false(kal_spin_goes_on(&spin, NOW + 2));
	spin = spin_new(true);
	spin.length = 0; /* ITAPI_SPIN_US=0 */
	kal_spin_came(&spin, NOW);
	kal_spin_came(&spin, NOW);
	g_assert_false(kal_spin_goes_on(&spin, NOW));
}

/* Two looks with a long time between: the thread has not run. It pauses, each time for longer. */
static void
test_taken_away(void)
{
	struct kal_spin spin = spin_new(true);
	uint64_t now = NOW, pause = KAL_SPIN_PAUSE;

	spin.length = SECOND;
	kal_spin_came(&spin, now);
	kal_spin_came(&spin, now);
	g_assert_true(kal_spin_goes_on(&spin, now += KAL_SPIN_LATE));
	for (unsigned i = 0; i < 9; i++) {
		g_assert_false(kal_spin_goes_on(&spin, now += KAL_SPIN_LATE + 1));
		g_assert_cmpuint(spin.count_at, ==, now + pause);
		g_assert_false(spin.idle);
		kal_spin_came(&spin, now);
		g_assert_false(kal_spin_goes_on(&spin, now));
		pause = MIN(pause * 2, KAL_SPIN_PAUSE_MAX);
		spin.idle = true;
		kal_spin_came(&spin, now);
		g_assert_true(kal_spin_goes_on(&spin, now));
	}
	g_assert_cmpuint(spin.pause, ==, KAL_SPIN_PAUSE_MAX);
}

/* Processors are counted when that is due, and only for messages that follow each other soon. */
static void
test_counted(void)
{
	struct kal_spin spin = {.length = LENGTH};

	kal_spin_came(&spin, NOW);
	g_assert_cmpuint(spin.count_at, ==, 0);
	kal_spin_came(&spin, NOW + 1);
	g_assert_cmpuint(spin.count_at, ==,
			 NOW + 1 + (spin.idle ? KAL_SPIN_LOOK : KAL_SPIN_LOOK_BUSY));
	g_assert_cmpint(kal_spin_goes_on(&spin, NOW + 1), ==, spin.idle);
}

static atomic_bool stop;

static gpointer
keep_busy(gpointer arg)
{
	while (!atomic_load(&stop))
		continue;
	return arg;
}

static void
test_count(void)
{
	unsigned running = 0, processors = 0;
	GThread *busy[3];
	cpu_set_t set, one;
	unsigned cpu = 0;

	g_assert_cmpint(sched_getaffinity(0, sizeof(set), &set), ==, 0);
	if (!kal_spin_count(&running, &processors)) {
		g_test_skip("/proc/loadavg does not say what runs");
		return;
	}
	g_assert_cmpuint(processors, ==, (unsigned)CPU_COUNT(&set));
	g_assert_cmpuint(running, >=, 1);
	for (unsigned i = 0; i < G_N_ELEMENTS(busy); i++)
		busy[i] = g_thread_new("busy", keep_busy, NULL);
	for (unsigned i = 0; i < 100 && running < 1 + G_N_ELEMENTS(busy); i++) {
		g_usleep(1000);
		g_assert_true(kal_spin_count(&running, &processors));
	}
	g_assert_cmpuint(running, >=, 1 + G_N_ELEMENTS(busy));
	atomic_store(&stop, true);
	for (unsigned i = 0; i < G_N_ELEMENTS(busy); i++)
		g_thread_join(busy[i]);
	while (!CPU_ISSET(cpu, &set))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	g_assert_cmpint(sched_setaffinity(0, sizeof(one), &one), ==, 0);
	g_assert_true(kal_spin_count(&running, &processors));
	g_assert_cmpuint(processors, ==, 1);
	g_assert_cmpint(sched_setaffinity(0, sizeof(set), &set), ==, 0);
}

/* --- the service thread --------------------------------------------------------------------- */

static atomic_uint begun, readings, tasks, timers;
static atomic_bool looks;
static struct kal_host *looking;
static int events;

static void
event_read(void *arg, uint32_t ready)
{
	uint64_t count;

	(void)arg;
	(void)ready;
	g_assert_cmpint(read(events, &count, sizeof(count)), ==, sizeof(count));
	atomic_store(&looks, looking->spin.until != 0);
	atomic_fetch_add(&readings, 1);
}

static void
add_one(void *arg)
{
	atomic_fetch_add((atomic_uint *)arg, 1);
}

static void
event_send(void)
{
	uint64_t one = 1;
	unsigned before = atomic_load(&readings);
	gint64 until = g_get_monotonic_time() + 60 * G_USEC_PER_SEC;

	g_assert_cmpint(write(events, &one, sizeof(one)), ==, sizeof(one));
	while (atomic_load(&readings) == before)
		g_assert_cmpint(g_get_monotonic_time(), <, until);
}

static void
await(atomic_uint *value, unsigned least)
{
	gint64 until = g_get_monotonic_time() + 60 * G_USEC_PER_SEC;

	while (atomic_load(value) < least)
		g_assert_cmpint(g_get_monotonic_time(), <, until);
}

/* On the service thread, which alone reads and writes this. */
static void
look_for_long(void *arg)
{
	looking->spin = (struct kal_spin){
		.length = 3600 * SECOND, .idle = true, .count_at = UINT64_MAX / 2};
	add_one(arg);
}

/* It looks for longer than the test lasts; events, tasks, timers and the end reach it at once all the same. */
static void
test_hears(void)
{
	struct kal_host *host = kal_host_create();
	struct ri_watch watch = {.fire = event_read, .events = RI_WATCH_IN};
	struct ri_task begin = {.fire = look_for_long, .arg = &begun};
	struct ri_task task = {.fire = add_one, .arg = &tasks};
	struct ri_timer timer = {.fire = add_one, .arg = &timers};

	g_assert_nonnull(host);
	looking = host;
	host->table.task_run(host, &begin);
	await(&begun, 1);
	watch.fd = events = eventfd(0, EFD_CLOEXEC);
	g_assert_cmpint(host->table.watch_start(host, &watch), ==, RI_SUCCESS);
	event_send();
	g_assert_false(atomic_load(&looks));
	event_send();
	g_assert_true(atomic_load(&looks));
	for (unsigned i = 0; i < 100; i++) {
		host->table.task_run(host, &task);
		await(&tasks, i + 1);
		host->table.timer_start(host, &timer, host->table.now(host) + 10 * US);
		await(&timers, i + 1);
		event_send();
	}
	host->table.watch_stop(host, &watch);
	close(events);
	kal_host_destroy(host);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/kal/spin/soon", test_soon);
	g_test_add_func("/kal/spin/busy", test_busy);
	g_test_add_func("/kal/spin/taken-away", test_taken_away);
	g_test_add_func("/kal/spin/counted", test_counted);
	g_test_add_func("/kal/spin/count", test_count);
	g_test_add_func("/kal/spin/hears", test_hears);
	return g_test_run();
}
