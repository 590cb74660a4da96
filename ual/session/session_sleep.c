/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * How a waiter sleeps: leader and followers.
 *
 * A message that arrives should cost one wake. So one waiter, the leader, sleeps on the engine's
 * own descriptor, runs the engine when it wakes, and finds its event there. The others are
 * followers: they sleep on their parkers and are woken by the upcalls that the leader's progress
 * call makes. A leader that stops wakes the follower that has slept longest, which becomes leader.
 * So the engine has a thread as long as any waiter sleeps.
 *
 * A waiter enters session_waiters::asleep before it tries to become leader (leader_enter), and a
 * leader calls leader_leave before it searches that list. So either the new waiter becomes leader,
 * or the old leader finds it in the list. A waiter that is woken only to become leader runs the
 * loop in sleep_rounds once more.
 *
 * The memory of waiters is not freed while the session is open: a thread that decided to wake a
 * waiter may be late, and then wakes the next thread that uses the same struct. That thread finds
 * nothing to do and sleeps again.
 *
 * A thread may be cancelled while it is parked, and only then: sleep_cancelled does what the end of
 * sleep_rounds, the caller, and session_sleep_leave would have done.
 *
 * Threads: all functions but init and fini may run on several threads at once.
 * session_waiters::lock is an event lock; engine, park and wake are called without it (except in
 * session_sleep_wake_all, which is rare and does not sleep).
 */
#include "session_sleep.h"

#include <stdlib.h>

#include "session_cancel.h"

#define PROGRESS_BUDGET 64 /* messages per round of the engine */

void
session_waiters_init(struct session_waiters *waiters)
{
	pthread_mutex_init(&waiters->lock, NULL);
}

void
session_waiters_fini(struct session *session)
{
	struct session_waiter *waiter = session->waiters.unused, *next;

	for (; waiter != NULL; waiter = next) {
		next = waiter->next;
		session->host->parker_close(session->host->self, &waiter->parker);
		free(waiter);
	}
	pthread_mutex_destroy(&session->waiters.lock);
}

static struct session_waiter *
waiter_new(struct session *session)
{
	struct session_waiter *waiter = (struct session_waiter *)calloc(1, sizeof(*waiter));

	/* Fixed from here on, since a late thread that wakes the waiter reads it at any time. */
	if (waiter != NULL)
		waiter->session = session;
	return waiter;
}

/* A waiter that no thread uses, NULL: no memory, or the session is being closed. */
static struct session_waiter *
waiter_take(struct session *session)
{
	struct session_waiters *waiters = &session->waiters;
	struct session_waiter *waiter = NULL;

	pthread_mutex_lock(&waiters->lock);
	if (!atomic_load(&session->closing)) {
		waiter = waiters->unused;
		if (waiter != NULL)
			waiters->unused = waiter->next;
		else
			waiter = waiter_new(session);
	}
	if (waiter != NULL)
		waiters->inside++;
	pthread_mutex_unlock(&waiters->lock);
	return waiter;
}

/* The session may be closed at once. */
static void
waiter_give(struct session_waiter *waiter)
{
	struct session_waiters *waiters = &waiter->session->waiters;

	pthread_mutex_lock(&waiters->lock);
	waiter->next = waiters->unused;
	waiters->unused = waiter;
	waiters->inside--;
	pthread_mutex_unlock(&waiters->lock);
}

struct session_waiter *
session_sleep_enter(struct session *session, bool may_lead,
		    void (*cancelled)(void *arg, struct session_waiter *waiter), void *arg)
{
	int cancel_state = session_cancel_defer();
	struct session_waiter *waiter = waiter_take(session);

	if (waiter == NULL) {
		session_cancel_restore(&cancel_state);
		return NULL;
	}
	atomic_store(&waiter->woken, false);
	waiter->may_lead = may_lead && session->attr.software;
	waiter->cancel_state = cancel_state;
	waiter->cancelled = cancelled;
	waiter->arg = arg;
	return waiter;
}

void
session_sleep_leave(struct session_waiter *waiter)
{
	int cancel_state = waiter->cancel_state;

	waiter_give(waiter);
	session_cancel_restore(&cancel_state);
}

static void
asleep_enter(struct session_waiters *waiters, struct session_waiter *waiter)
{
	pthread_mutex_lock(&waiters->lock);
	waiter->prev = NULL;
	waiter->next = waiters->asleep;
	if (waiters->asleep != NULL)
		waiters->asleep->prev = waiter;
	waiters->asleep = waiter;
	pthread_mutex_unlock(&waiters->lock);
}

static void
asleep_leave(struct session_waiters *waiters, struct session_waiter *waiter)
{
	pthread_mutex_lock(&waiters->lock);
	if (waiter->prev != NULL)
		waiter->prev->next = waiter->next;
	else
		waiters->asleep = waiter->next;
	if (waiter->next != NULL)
		waiter->next->prev = waiter->prev;
	pthread_mutex_unlock(&waiters->lock);
}

/* Wake the follower that may lead and has slept longest, so that it becomes leader. */
static void
wake_next_leader(struct session *session)
{
	struct session_waiter *next = NULL;

	pthread_mutex_lock(&session->waiters.lock);
	for (struct session_waiter *s = session->waiters.asleep; s != NULL; s = s->next)
		if (s->may_lead && !atomic_load(&s->woken))
			next = s;
	pthread_mutex_unlock(&session->waiters.lock);
	if (next != NULL)
		session->host->wake(session->host->self, &next->parker);
}

/* True if the waiter must not sleep (again): it was woken, or no event will come any more. */
static bool
must_wake(const struct session_waiter *waiter)
{
	return atomic_load(&waiter->woken) || atomic_load(&waiter->session->closing) ||
	       atomic_load(&waiter->session->dead);
}

/* Sleep once. The thread owns no lock and no role of the engine here, and may be cancelled. */
static enum ri_status
park(struct session_waiter *waiter, const int *fd, uint64_t deadline)
{
	const struct ri_host *host = waiter->session->host;
	enum ri_status status;

	session_cancel_restore(&waiter->cancel_state);
	status = host->park(host->self, &waiter->parker, fd, fd != NULL ? 1 : 0, deadline);
	(void)session_cancel_defer();
	return status;
}

/*
 * Sleep on the engine's descriptor and run the engine, until the waiter must wake. A descriptor that is readable all the time, since
 * peers send without pause or the program has closed it, does not keep the thread here beyond its deadline.
 */
static enum ri_status
run_as_leader(struct session_waiter *waiter, int fd, uint64_t deadline)
{
	const struct ri_host *host = waiter->session->host;
	enum ri_status status = RI_SUCCESS;

	while (!must_wake(waiter) && status == RI_SUCCESS) {
		status = park(waiter, fd >= 0 ? &fd : NULL, deadline);
		(void)session_progress(waiter->session, PROGRESS_BUDGET);
		if (status == RI_SUCCESS && deadline != RI_NEVER &&
		    host->now(host->self) >= deadline)
			status = RI_ERR_TIMEOUT;
	}
	return status;
}

/* One round: as leader if no other thread leads, else as follower. */
static enum ri_status
sleep_once(struct session_waiter *waiter, uint64_t deadline)
{
	struct session *session = waiter->session;
	enum ri_status status;
	int fd = -1;

	if (!waiter->may_lead || !session->fast->leader_enter(session->urnic, &fd))
		return park(waiter, NULL, deadline);
	waiter->was_leader = true;
	waiter->leads = true;
	status = run_as_leader(waiter, fd, deadline);
	waiter->leads = false;
	session->fast->leader_leave(session->urnic);
	return status;
}

static enum ri_status
sleep_rounds(struct session_waiter *waiter, uint64_t deadline)
{
	struct session *session = waiter->session;
	enum ri_status status = RI_SUCCESS;
	bool woken;

	waiter->was_leader = false;
	waiter->leads = false;
	if (session->waits != NULL)
		__atomic_fetch_add(&session->waits->waits, 1, __ATOMIC_RELAXED);
	asleep_enter(&session->waiters, waiter);
	while (!must_wake(waiter) && status == RI_SUCCESS)
		status = sleep_once(waiter, deadline);
	asleep_leave(&session->waiters, waiter);
	woken = atomic_exchange(&waiter->woken, false);
	/*
	 * Not woken: perhaps it was to become leader and its time was up first. Then another must.
	 */
	if (waiter->was_leader || (waiter->may_lead && !woken))
		wake_next_leader(session);
	if (woken && session->waits != NULL)
		__atomic_fetch_add(&session->waits->wake_ups, 1, __ATOMIC_RELAXED);
	if (woken)
		return RI_SUCCESS;
	if (atomic_load(&session->closing) || atomic_load(&session->dead))
		return RI_ERR_FATAL;
	return status;
}

/*
 * The thread was cancelled while it was parked. What the caller has begun is undone before another
 * thread gets the waiter.
 */
static void
sleep_cancelled(void *arg)
{
	struct session_waiter *waiter = (struct session_waiter *)arg;
	struct session *session = waiter->session;

	if (waiter->leads)
		session->fast->leader_leave(session->urnic);
	asleep_leave(&session->waiters, waiter);
	if (waiter->may_lead)
		wake_next_leader(session);
	waiter->cancelled(waiter->arg, waiter);
	waiter_give(waiter);
}

enum ri_status
session_sleep(struct session_waiter *waiter, uint64_t deadline)
{
	enum ri_status status;

	pthread_cleanup_push(sleep_cancelled, waiter);
	status = sleep_rounds(waiter, deadline);
	pthread_cleanup_pop(0);
	return status;
}

void
session_sleep_wake(struct session_waiter *waiter)
{
	const struct ri_host *host = waiter->session->host;

	atomic_store(&waiter->woken, true);
	host->wake(host->self, &waiter->parker);
}

void
session_sleep_wake_all(struct session *session)
{
	pthread_mutex_lock(&session->waiters.lock);
	for (struct session_waiter *s = session->waiters.asleep; s != NULL; s = s->next)
		session->host->wake(session->host->self, &s->parker);
	pthread_mutex_unlock(&session->waiters.lock);
}

static bool
anyone_inside(struct session_waiters *waiters)
{
	bool any;

	pthread_mutex_lock(&waiters->lock);
	any = waiters->inside > 0;
	pthread_mutex_unlock(&waiters->lock);
	return any;
}

void
session_end_waits(struct session *session)
{
	/* A waiter sees the flag before it sleeps, or is in the list of those that are woken. */
	atomic_store(&session->closing, true);
	session_sleep_wake_all(session);
	for (uint32_t round = 0; anyone_inside(&session->waiters); round++)
		session_relax(session, round);
}

void
session_line_join(struct session_line *line, struct session_waiter *waiter)
{
	waiter->line_next = NULL;
	waiter->line_prev = line->last;
	if (line->last != NULL)
		line->last->line_next = waiter;
	else
		line->first = waiter;
	line->last = waiter;
	line->count++;
}

void
session_line_leave(struct session_line *line, struct session_waiter *waiter)
{
	if (waiter->line_prev != NULL)
		waiter->line_prev->line_next = waiter->line_next;
	else
		line->first = waiter->line_next;
	if (waiter->line_next != NULL)
		waiter->line_next->line_prev = waiter->line_prev;
	else
		line->last = waiter->line_prev;
	line->count--;
}

void
session_line_wake_all(struct session_line *line)
{
	for (struct session_waiter *s = line->first; s != NULL; s = s->line_next)
		session_sleep_wake(s);
}
