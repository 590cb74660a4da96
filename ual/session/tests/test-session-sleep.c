/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Threads that sleep. One of them is the leader, which runs the engine of the provider; when it stops, another sleeping thread must become the leader. No state may be left over when a thread is woken, cancelled, or its time is over. The test simulates the provider; its engine accepts one leader and counts how often one begins.
 */

#include <glib.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "kal_script.h"
#include "session.h"
#include "session_cancel.h"
#include "session_sleep.h"
#include "session_wait.h"

#define PATIENCE 20000 /* ms until a test gives up */

static struct session session;

static void
ignore_event(void *above, const struct kal_event *event)
{
	(void)above;
	(void)event;
}

static void
begin(void)
{
	const struct session_params params = {.dispatch = ignore_event};
	struct kal_rnic_open_rep rep;

	script_reset();
	g_assert_cmpint(session_open(&session, "script", &params, &rep), ==, RI_SUCCESS);
}

static void
finish(void)
{
	session_close(&session);
	script_check_empty();
}

/* A thread that sleeps once, in a line. */
struct sleeper {
	pthread_t thread;
	bool may_lead;
	bool defers; /* its own cancellation */
	uint64_t deadline;
	_Atomic(struct session_waiter *) waiter;
	enum ri_status status;
	int state_after; /* of cancellation */
	atomic_bool returned;
	atomic_uint cancelled;
};

static struct session_line line;
static pthread_mutex_t line_lock = PTHREAD_MUTEX_INITIALIZER;

static void
leave_line(void *arg, struct session_waiter *waiter)
{
	struct sleeper *sleeper = (struct sleeper *)arg;

	g_assert_true(waiter == atomic_load(&sleeper->waiter));
	pthread_mutex_lock(&line_lock);
	session_line_leave(&line, waiter);
	pthread_mutex_unlock(&line_lock);
	atomic_fetch_add(&sleeper->cancelled, 1);
}

static void *
sleeper_run(void *arg)
{
	struct sleeper *sleeper = (struct sleeper *)arg;
	struct session_waiter *waiter;

	if (sleeper->defers)
		(void)session_cancel_defer();
	waiter = session_sleep_enter(&session, sleeper->may_lead, leave_line, sleeper);
	g_assert_nonnull(waiter);
	atomic_store(&sleeper->waiter, waiter);
	pthread_mutex_lock(&line_lock);
	session_line_join(&line, waiter);
	pthread_mutex_unlock(&line_lock);
	sleeper->status = session_sleep(waiter, sleeper->deadline);
	pthread_mutex_lock(&line_lock);
	session_line_leave(&line, waiter);
	pthread_mutex_unlock(&line_lock);
	session_sleep_leave(waiter);
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &sleeper->state_after);
	atomic_store(&sleeper->returned, true);
	return NULL;
}

#define UNTIL(condition)                                             \
	do {                                                         \
		for (unsigned ms_ = 0; !(condition); g_usleep(1000)) \
			g_assert_cmpuint(ms_++, <, PATIENCE);        \
	} while (0)

static unsigned
asleep_now(void)
{
	unsigned count = 0;

	pthread_mutex_lock(&session.waiters.lock);
	for (const struct session_waiter *s = session.waiters.asleep; s != NULL; s = s->next)
		count++;
	pthread_mutex_unlock(&session.waiters.lock);
	return count;
}

static bool
is_asleep(const struct sleeper *sleeper)
{
	const struct session_waiter *waiter = atomic_load(&sleeper->waiter);
	bool found = false;

	pthread_mutex_lock(&session.waiters.lock);
	for (const struct session_waiter *s = session.waiters.asleep; s != NULL; s = s->next)
		found = found || s == waiter;
	pthread_mutex_unlock(&session.waiters.lock);
	return found;
}

/* Returns when the thread sleeps; another one may have ended meanwhile. */
static void
sleeper_start(struct sleeper *sleeper, bool may_lead, uint64_t deadline)
{
	memset(sleeper, 0, sizeof(*sleeper));
	sleeper->may_lead = may_lead;
	sleeper->deadline = deadline;
	g_assert_cmpint(pthread_create(&sleeper->thread, NULL, sleeper_run, sleeper), ==, 0);
	UNTIL(is_asleep(sleeper) || atomic_load(&sleeper->returned));
}

static void
sleeper_wake(struct sleeper *sleeper)
{
	session_sleep_wake(atomic_load(&sleeper->waiter));
	pthread_join(sleeper->thread, NULL);
	g_assert_cmpint(sleeper->status, ==, RI_SUCCESS);
	g_assert_cmpint(sleeper->state_after, ==, PTHREAD_CANCEL_ENABLE);
	g_assert_cmpuint(atomic_load(&sleeper->cancelled), ==, 0);
}

static void
sleeper_cancel(struct sleeper *sleeper)
{
	void *end = NULL;

	g_assert_cmpint(pthread_cancel(sleeper->thread), ==, 0);
	g_assert_cmpint(pthread_join(sleeper->thread, &end), ==, 0);
	g_assert_true(end == PTHREAD_CANCELED);
	g_assert_cmpuint(atomic_load(&sleeper->cancelled), ==, 1);
}

static bool
leads(int times)
{
	return atomic_load(&script.leading) && atomic_load(&script.leads) == times;
}

/*
 * The leader leaves, and the follower that has slept longest leads; one that may not lead never
 * does.
 */
static void
test_leader(void)
{
	struct sleeper first, second, third, other;

	begin();
	sleeper_start(&other, false, RI_NEVER);
	sleeper_start(&first, true, RI_NEVER);
	UNTIL(leads(1));
	sleeper_start(&second, true, RI_NEVER);
	sleeper_start(&third, true, RI_NEVER);
	sleeper_wake(&first);
	UNTIL(leads(2));
	sleeper_wake(&second);
	UNTIL(leads(3));
	sleeper_wake(&third);
	g_assert_false(atomic_load(&script.leading));
	sleeper_wake(&other);
	g_assert_cmpint(atomic_load(&script.leads), ==, 3);
	g_assert_null(line.first);
	finish();
}

/*
 * A follower becomes leader also when the leader's time-out ends, and when the leader is cancelled;
 * and a follower is cancelled.
 */
static void
test_leader_ends(void)
{
	struct sleeper first, second, third;

	begin();
	sleeper_start(&first, true, session_now(&session) + 100 * 1000 * 1000);
	UNTIL(leads(1));
	sleeper_start(&second, true, RI_NEVER);
	sleeper_start(&third, true, RI_NEVER);
	pthread_join(first.thread, NULL);
	g_assert_cmpint(first.status, ==, RI_ERR_TIMEOUT);
	UNTIL(leads(2));
	sleeper_cancel(&second);
	UNTIL(leads(3));
	sleeper_start(&second, true, RI_NEVER);
	sleeper_cancel(&second);
	g_assert_true(leads(3));
	sleeper_wake(&third);
	g_assert_null(line.first);
	g_assert_cmpuint(line.count, ==, 0);
	finish();
}

/* A message arrives: the leader runs the engine, which wakes another thread. */
static struct sleeper *woken_by_engine;

static void
engine_wakes(void)
{
	session_sleep_wake(atomic_load(&woken_by_engine->waiter));
}

static void
test_engine(void)
{
	struct sleeper leader, follower;
	uint64_t one = 1;

	begin();
	sleeper_start(&leader, true, RI_NEVER);
	UNTIL(leads(1));
	sleeper_start(&follower, false, RI_NEVER);
	woken_by_engine = &follower;
	script.on_progress = engine_wakes;
	g_assert_cmpint(write(script.engine_fd, &one, sizeof(one)), ==, (gssize)sizeof(one));
	pthread_join(follower.thread, NULL);
	g_assert_cmpint(follower.status, ==, RI_SUCCESS);
	g_assert_true(leads(1));
	sleeper_wake(&leader);
	finish();
}

/* Closing wakes all, and no thread falls asleep later. */
static void
test_end_waits(void)
{
	struct sleeper sleepers[4];

	begin();
	for (unsigned i = 0; i < G_N_ELEMENTS(sleepers); i++)
		sleeper_start(&sleepers[i], i % 2 == 0, RI_NEVER);
	session_end_waits(&session);
	g_assert_cmpuint(session.waiters.inside, ==, 0);
	g_assert_null(line.first);
	for (unsigned i = 0; i < G_N_ELEMENTS(sleepers); i++) {
		pthread_join(sleepers[i].thread, NULL);
		g_assert_cmpint(sleepers[i].status, ==, RI_ERR_FATAL);
	}
	g_assert_null(session_sleep_enter(&session, true, leave_line, NULL));
	finish();
}

/*
 * A wake that comes before the sleep is not lost; one that is too late wakes the next thread for
 * nothing.
 */
static void
test_wake_early_and_late(void)
{
	struct sleeper next;
	struct session_waiter *waiter;
	int state;

	begin();
	waiter = session_sleep_enter(&session, false, leave_line, NULL);
	g_assert_nonnull(waiter);
	session_sleep_wake(waiter);
	g_assert_cmpint(session_sleep(waiter, RI_NEVER), ==, RI_SUCCESS);
	g_assert_cmpint(session_sleep(waiter, session_now(&session)), ==, RI_ERR_TIMEOUT);
	session_sleep_leave(waiter);
	(void)pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
	g_assert_cmpint(state, ==, PTHREAD_CANCEL_ENABLE);
	sleeper_start(&next, false, RI_NEVER);
	g_assert_true(atomic_load(&next.waiter) == waiter);
	session.host->wake(session.host->self, &waiter->parker);
	g_usleep(20000);
	g_assert_false(atomic_load(&next.returned));
	sleeper_wake(&next);
	finish();
}

/* A thread that has deferred its cancellation itself is not cancelled in its sleep. */
static void
test_deferred(void)
{
	struct sleeper sleeper = {.defers = true, .deadline = RI_NEVER};
	void *end = NULL;

	begin();
	g_assert_cmpint(pthread_create(&sleeper.thread, NULL, sleeper_run, &sleeper), ==, 0);
	UNTIL(asleep_now() == 1);
	g_assert_cmpint(pthread_cancel(sleeper.thread), ==, 0);
	g_usleep(20000);
	g_assert_cmpuint(asleep_now(), ==, 1);
	session_sleep_wake(atomic_load(&sleeper.waiter));
	g_assert_cmpint(pthread_join(sleeper.thread, &end), ==, 0);
	g_assert_null(end);
	g_assert_cmpint(sleeper.state_after, ==, PTHREAD_CANCEL_DISABLE);
	finish();
}

static bool
look_never(void *arg)
{
	(*(unsigned *)arg)++;
	return false;
}

static bool
look_third(void *arg)
{
	return ++*(unsigned *)arg == 3;
}

/* What a wait does before it sleeps, and its deadline. */
static void
test_awake(void)
{
	struct session_spin spin;
	struct session_wait wait;
	unsigned looks = 0;
	uint64_t now;

	begin();
	session_spin_init(&spin);
	session_wait_begin(&wait, &session, NULL, UINT64_MAX);
	g_assert_cmpuint(wait.deadline, ==, RI_NEVER);
	g_assert_false(session_wait_awake(&wait, look_never, &looks));
	session_wait_begin(&wait, &session, &spin, 0);
	g_assert_false(session_wait_awake(&wait, look_never, &looks));
	g_assert_cmpuint(looks, ==, 0);
	session_wait_begin(&wait, &session, &spin, UINT64_MAX - 1);
	g_assert_cmpuint(wait.deadline, ==, RI_NEVER);
	now = session_now(&session);
	session_wait_begin(&wait, &session, &spin, 5);
	g_assert_cmpuint(wait.deadline, >=, now + 5000);
	g_assert_cmpuint(wait.deadline, <=, session_now(&session) + 5000);
	finish();
}

/*
 * Until polling has failed often enough, a wait polls; then it yields, then sleeps at once. An
 * event found makes it poll again.
 */
static void
test_learns(void)
{
	struct session_spin spin;
	struct session_wait wait;
	unsigned looks = 0;

	begin();
	session.spin_ns = 1000 * 1000 * 1000;
	script.spin_pays = true;
	session_spin_init(&spin);
	session_wait_begin(&wait, &session, &spin, UINT64_MAX);
	g_assert_true(session_wait_awake(&wait, look_third, &looks));
	g_assert_cmpuint(looks, ==, 3);
	session.spin_ns = 1000;
	for (unsigned i = 0; i < SESSION_SPIN_POINTS; i++) {
		session_wait_begin(&wait, &session, &spin, UINT64_MAX);
		g_assert_cmpint(wait.way, ==, SESSION_SPIN_POLL);
		g_assert_false(session_wait_awake(&wait, look_never, &looks));
		g_usleep(10); /* longer than polling */
		session_wait_slept(&wait);
	}
	session_wait_begin(&wait, &session, &spin, UINT64_MAX);
	g_assert_cmpint(wait.way, ==, SESSION_SPIN_NOT);
	looks = 0;
	g_assert_false(session_wait_awake(&wait, look_never, &looks));
	g_assert_cmpuint(looks, ==, 0);
	finish();
}

static void
engine_fill(void)
{
	const uint64_t one = 1;

	g_assert_cmpint(write(script.engine_fd, &one, sizeof(one)), ==, sizeof(one));
}

/* The engine has work in each round, as with peers that send without pause: the time of its leader is up all the same. */
static void
test_busy(void)
{
	struct sleeper leader;

	begin();
	script.on_progress = engine_fill;
	engine_fill();
	sleeper_start(&leader, true, session_now(&session) + 50 * 1000 * 1000);
	UNTIL(atomic_load(&leader.returned));
	pthread_join(leader.thread, NULL);
	g_assert_cmpint(leader.status, ==, RI_ERR_TIMEOUT);
	script.on_progress = NULL;
	finish();
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/session/sleep/leader", test_leader);
	g_test_add_func("/session/sleep/leader-ends", test_leader_ends);
	g_test_add_func("/session/sleep/engine", test_engine);
	g_test_add_func("/session/sleep/busy", test_busy);
	g_test_add_func("/session/sleep/end-waits", test_end_waits);
	g_test_add_func("/session/sleep/wake-early-and-late", test_wake_early_and_late);
	g_test_add_func("/session/sleep/deferred", test_deferred);
	g_test_add_func("/session/sleep/awake", test_awake);
	g_test_add_func("/session/sleep/learns", test_learns);
	return g_test_run();
}
