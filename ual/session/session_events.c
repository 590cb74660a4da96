/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Events of the kAL, taken and dispatched.
 *
 * The kAL queues an event and kicks, on any thread: the service thread, a thread inside a fast-path
 * call, or one inside a kAL call. The kick dispatches at once, since a waiter may sleep for the
 * event, and so that the layer above learns of a connection before its first receive completes. One
 * thread dispatches at a time, in the order of the kAL's queue. If another thread dispatches, a
 * kick only increments session::kicks, and that thread dispatches once more.
 */
#include "ri_owned.h"
#include "session.h"
#include "session_sleep.h"

/* The adapter failed beyond repair. The layer above is notified first, then waiters return. */
static void
failure_dispatch(struct session *session, const struct kal_event *event)
{
	atomic_store(&session->dead, true);
	session->dispatch(session->above, event);
	session_sleep_wake_all(session);
}

static bool
is_failure(const struct kal_event *event)
{
	return event->kind == KAL_EVENT_ASYNC &&
	       event->u.async.event == RI_EVENT_DEVICE_CATASTROPHIC;
}

/* The caller owns session::drain. */
static void
events_drain(struct session *session)
{
	struct kal_event event;

	RI_ASSERT_OWNED(&session->drain);
	while (kal_next_event(session->client, &event)) {
		if (is_failure(&event))
			failure_dispatch(session, &event);
		else
			session->dispatch(session->above, &event);
	}
}

void
session_kick(void *arg)
{
	struct session *session = (struct session *)arg;
	unsigned seen;

	atomic_fetch_add(&session->kicks, 1);
	do {
		/* Its owner checks the count again after it has released the lock. */
		if (pthread_mutex_trylock(&session->drain) != 0)
			return;
		seen = atomic_load(&session->kicks);
		events_drain(session);
		pthread_mutex_unlock(&session->drain);
	} while (atomic_load(&session->kicks) != seen);
}

void
session_settle(struct session *session)
{
	unsigned seen;

	/*
	 * Dispatched here, so that no other thread is still dispatching what was queued before the
	 * call.
	 */
	pthread_mutex_lock(&session->drain);
	seen = atomic_load(&session->kicks);
	events_drain(session);
	pthread_mutex_unlock(&session->drain);
	/* A kick meanwhile has left its events to this thread. */
	if (atomic_load(&session->kicks) != seen)
		session_kick(session);
}
