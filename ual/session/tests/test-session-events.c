/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Events are dispatched in order, once, by one thread at a time, and none is left behind: neither
 * by a kick that finds another thread dispatching, nor after session_settle. The kAL is played by
 * the test. Where two threads must meet, the test stops one of them at that place.
 */

#include <glib.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>

#include "kal_script.h"
#include "session.h"
#include "session_sleep.h"

#define THREADS 4
#define EACH    2000

int __real_pthread_mutex_trylock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_trylock(pthread_mutex_t *mutex);

/* The layer above: it counts what is dispatched. */
static struct {
	struct session session;
	atomic_uint dispatched;
	atomic_bool busy; /* a thread is in dispatch */
	uint64_t last;    /* ctx of the event before */
	bool dead_at_event;
} layer;

/* The other thread: it takes an event, and stops until it may go on. */
static struct {
	pthread_t thread;
	atomic_bool wanted; /* at the next trylock */
	bool started;
	sem_t taken, go_on;
} other;

static _Thread_local bool is_other;

static void
layer_dispatch(void *above, const struct kal_event *event)
{
	g_assert_true(above == &layer);
	g_assert_false(atomic_exchange(&layer.busy, true));
	if (event->kind == KAL_EVENT_ASYNC)
		layer.dead_at_event = atomic_load(&layer.session.dead);
	g_assert_cmpuint(event->ctx, >, layer.last);
	layer.last = event->ctx;
	atomic_fetch_add(&layer.dispatched, 1);
	atomic_store(&layer.busy, false);
}

static void
begin(void)
{
	const struct session_params params = {.dispatch = layer_dispatch, .above = &layer};
	struct kal_rnic_open_rep rep;

	script_reset();
	memset(&layer, 0, sizeof(layer));
	memset(&other, 0, sizeof(other));
	g_assert_cmpint(sem_init(&other.taken, 0, 0), ==, 0);
	g_assert_cmpint(sem_init(&other.go_on, 0, 0), ==, 0);
	g_assert_cmpint(session_open(&layer.session, "script", &params, &rep), ==, RI_SUCCESS);
	g_assert_cmpstr(layer.session.attr.name, ==, "script");
}

static void
finish(void)
{
	if (other.started) {
		sem_post(&other.go_on);
		pthread_join(other.thread, NULL);
	}
	session_close(&layer.session);
	script_check_empty();
	sem_destroy(&other.taken);
	sem_destroy(&other.go_on);
}

static void
queue_event(uint64_t ctx)
{
	const struct kal_event event = {.kind = KAL_EVENT_CQ, .ctx = ctx};

	script_queue(&event);
}

static void *
kick_run(void *arg)
{
	(void)arg;
	is_other = true;
	session_kick(&layer.session);
	return NULL;
}

/* When this returns, the other thread is inside its dispatch, with the oldest event. */
static void
start_other(void)
{
	other.started = true;
	g_assert_cmpint(pthread_create(&other.thread, NULL, kick_run, NULL), ==, 0);
	while (sem_wait(&other.taken) != 0)
		;
}

static void
stop_other(void)
{
	if (!is_other)
		return;
	sem_post(&other.taken);
	while (sem_wait(&other.go_on) != 0)
		;
}

int
__wrap_pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	if (atomic_exchange(&other.wanted, false))
		start_other();
	return __real_pthread_mutex_trylock(mutex);
}

/*
 * An event is queued, and another thread would be about to dispatch it as soon as this one tried
 * the lock. When session_settle returns, the event was dispatched, whichever thread has done so.
 */
static void
test_settle(void)
{
	begin();
	script.on_event = stop_other;
	queue_event(1);
	atomic_store(&other.wanted, true);
	session_settle(&layer.session);
	atomic_store(&other.wanted, false);
	g_assert_cmpuint(atomic_load(&layer.dispatched), ==, 1);
	finish();
}

/*
 * An event comes when this thread has found no more and still owns the lock, so the kick does not
 * dispatch it.
 */
static void
event_comes_late(void)
{
	pthread_t thread;

	script.on_empty = NULL;
	queue_event(2);
	g_assert_cmpint(pthread_create(&thread, NULL, kick_run, NULL), ==, 0);
	pthread_join(thread, NULL);
	g_assert_cmpuint(atomic_load(&layer.dispatched), ==, 1);
}

static void
test_late(void)
{
	for (unsigned way = 0; way < 2; way++) {
		begin();
		queue_event(1);
		script.on_empty = event_comes_late;
		if (way == 0)
			session_kick(&layer.session);
		else
			session_settle(&layer.session);
		g_assert_cmpuint(atomic_load(&layer.dispatched), ==, 2);
		finish();
	}
}

static pthread_mutex_t numbering = PTHREAD_MUTEX_INITIALIZER;
static uint64_t number;

static void *
events_run(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < EACH; i++) {
		pthread_mutex_lock(&numbering);
		/* The queue of the script is short. */
		if (number - atomic_load(&layer.dispatched) < SCRIPT_ENTRIES / 2)
			queue_event(++number);
		else
			i--;
		pthread_mutex_unlock(&numbering);
		session_kick(&layer.session);
	}
	return NULL;
}

/*
 * Many threads queue and kick. Dispatch asserts the order, and that it is on one thread at a time.
 */
static void
test_order(void)
{
	pthread_t threads[THREADS];

	begin();
	number = 0;
	for (unsigned i = 0; i < THREADS; i++)
		g_assert_cmpint(pthread_create(&threads[i], NULL, events_run, NULL), ==, 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	g_assert_cmpuint(atomic_load(&layer.dispatched), ==, THREADS * EACH);
	finish();
}

static void
undo_nothing(void *arg, struct session_waiter *waiter)
{
	(void)arg;
	(void)waiter;
}

static void *
sleep_run(void *arg)
{
	struct session_waiter *waiter =
		session_sleep_enter(&layer.session, *(const bool *)arg, undo_nothing, NULL);

	g_assert_nonnull(waiter);
	g_assert_cmpint(session_sleep(waiter, RI_NEVER), ==, RI_ERR_FATAL);
	session_sleep_leave(waiter);
	return NULL;
}

/*
 * The adapter fails: the session is dead when the layer above gets that event; afterwards waiters
 * wake.
 */
static void
test_failure(void)
{
	for (unsigned i = 0; i < 2; i++) {
		bool may_lead = i != 0;
		pthread_t thread;

		begin();
		g_assert_cmpint(pthread_create(&thread, NULL, sleep_run, &may_lead), ==, 0);
		for (bool asleep = false; !asleep; g_usleep(100)) {
			pthread_mutex_lock(&layer.session.waiters.lock);
			asleep = layer.session.waiters.asleep != NULL;
			pthread_mutex_unlock(&layer.session.waiters.lock);
		}
		script_async(RI_EVENT_DEVICE_CATASTROPHIC, RI_OBJECT_RNIC, 1);
		g_assert_true(layer.dead_at_event);
		pthread_join(thread, NULL);
		g_assert_cmpuint(atomic_load(&layer.dispatched), ==, 1);
		finish();
	}
}

/* Whatever fails while a session is opened, nothing is left. */
static void
test_open_fails(void)
{
	const struct session_params params = {.dispatch = layer_dispatch, .above = &layer};
	struct kal_rnic_open_rep rep;
	char name[sizeof(((struct kal_rnic_open_req *)NULL)->name) + 1];

	script_reset();
	script.fail_client = RI_ERR_RESOURCES;
	g_assert_cmpint(session_open(&layer.session, "script", &params, &rep), ==,
			RI_ERR_RESOURCES);
	script_check_empty();
	script_reset();
	script.fail[KAL_RNIC_OPEN] = RI_ERR_PROVIDER;
	g_assert_cmpint(session_open(&layer.session, "script", &params, &rep), ==, RI_ERR_PROVIDER);
	g_assert_cmpint(script.clients, ==, 0);
	for (int at = 1; at <= 2; at++) {
		script_reset();
		script.fail_user = RI_ERR_LIMIT;
		script.fail_user_at = at;
		g_assert_cmpint(session_open(&layer.session, "script", &params, &rep), ==,
				RI_ERR_LIMIT);
		g_assert_cmpint(script.clients, ==, 0);
		g_assert_cmpint(script.user_rnics, ==, 0);
	}
	script_reset();
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	g_assert_cmpint(session_open(&layer.session, name, &params, &rep), ==, RI_ERR_NO_DEVICE);
	name[sizeof(name) - 2] = '\0';
	g_assert_cmpint(session_open(&layer.session, name, &params, &rep), ==, RI_SUCCESS);
	session_close(&layer.session);
	script_check_empty();
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/session/events/settle", test_settle);
	g_test_add_func("/session/events/late", test_late);
	g_test_add_func("/session/events/order", test_order);
	g_test_add_func("/session/events/failure", test_failure);
	g_test_add_func("/session/events/open-fails", test_open_fails);
	return g_test_run();
}
