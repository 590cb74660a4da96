/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * How a waiter sleeps: leader and followers.
 *
 * A message that arrives should cost one wake. So one waiter, the leader, sleeps on the engine's own descriptor,
 * runs the engine when it wakes, and finds its event there. The others are followers: they sleep on their parkers
 * and are woken by the upcalls that the leader's progress call makes. A leader that stops wakes the follower that
 * has slept longest, which becomes leader. So the engine has a thread as long as any waiter sleeps.
 *
 * A waiter enters ual_waiters::asleep before it tries to become leader (leader_enter), and a leader calls leader_leave
 * before it searches that list. So either the new waiter becomes leader, or the old leader finds it in the list. A
 * waiter that is woken only to become leader runs the loop in ual_sleep once more.
 *
 * The memory of waiters is not freed while the IA lives: a thread that decided to wake a waiter may be late, and
 * then wakes the next thread that uses the same struct. That thread finds nothing to do and sleeps again.
 *
 * A thread may be cancelled while it is parked, and only then. Its caller's cleanup handler calls ual_sleep_cancelled, which
 * does what the end of ual_sleep does.
 *
 * Threads: all functions but init and fini may run on several threads at once. ual_waiters::lock is an event lock;
 * engine, park and wake are called without it (except in ual_sleep_wake_all, which is rare and does not sleep).
 */
#include "ual_sleep.h"
#include "ual_cancel.h"

#include <stdlib.h>

#define PROGRESS_BUDGET 64 /* messages per round of the engine */

void
ual_waiters_init(struct ual_waiters *waiters)
{
	pthread_mutex_init(&waiters->lock, NULL);
}

void
ual_waiters_fini(struct ual_ia *ia)
{
	struct ual_waiter *waiter = ia->waiters.unused, *next;

	for (; waiter != NULL; waiter = next) {
		next = waiter->next;
		ia->host->parker_close(ia->host->self, &waiter->parker);
		free(waiter);
	}
	pthread_mutex_destroy(&ia->waiters.lock);
}

struct ual_waiter *
ual_sleep_enter(struct ual_ia *ia, bool may_lead, int cancel_state)
{
	struct ual_waiters *waiters = &ia->waiters;
	struct ual_waiter *waiter = NULL;

	pthread_mutex_lock(&waiters->lock);
	if (!atomic_load(&ia->closing)) {
		waiter = waiters->unused;
		if (waiter != NULL)
			waiters->unused = waiter->next;
		else
			waiter = (struct ual_waiter *)calloc(1, sizeof(*waiter));
	}
	pthread_mutex_unlock(&waiters->lock);
	if (waiter == NULL)
		return NULL;
	atomic_store(&waiter->woken, false);
	waiter->may_lead = may_lead && ia->fast->leader_enter != NULL;
	waiter->cancel_state = cancel_state;
	return waiter;
}

void
ual_sleep_leave(struct ual_ia *ia, struct ual_waiter *waiter)
{
	struct ual_waiters *waiters = &ia->waiters;

	pthread_mutex_lock(&waiters->lock);
	waiter->next = waiters->unused;
	waiters->unused = waiter;
	pthread_mutex_unlock(&waiters->lock);
}

static void
asleep_enter(struct ual_waiters *waiters, struct ual_waiter *waiter)
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
asleep_leave(struct ual_waiters *waiters, struct ual_waiter *waiter)
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
wake_next_leader(struct ual_ia *ia)
{
	struct ual_waiter *next = NULL;

	pthread_mutex_lock(&ia->waiters.lock);
	for (struct ual_waiter *s = ia->waiters.asleep; s != NULL; s = s->next)
		if (s->may_lead && !atomic_load(&s->woken))
			next = s;
	pthread_mutex_unlock(&ia->waiters.lock);
	if (next != NULL)
		ia->host->wake(ia->host->self, &next->parker);
}

/* True if the waiter must not sleep (again): it was woken, or no event will come any more. */
static bool
must_wake(struct ual_ia *ia, struct ual_waiter *waiter)
{
	return atomic_load(&waiter->woken) || atomic_load(&ia->closing) || atomic_load(&ia->dead);
}

/* Sleep once. The thread owns no lock and no role of the engine here, and may be cancelled. */
static enum ri_status
park(const struct ual_ia *ia, struct ual_waiter *waiter, const int *fd, uint64_t deadline)
{
	enum ri_status status;

	ual_cancel_restore(&waiter->cancel_state);
	status = ia->host->park(ia->host->self, &waiter->parker, fd, fd != NULL ? 1 : 0, deadline);
	(void)ual_cancel_defer();
	return status;
}

/* Sleep on the engine's descriptor and run the engine, until the waiter must wake. */
static enum ri_status
run_as_leader(struct ual_ia *ia, struct ual_waiter *waiter, int fd, uint64_t deadline)
{
	enum ri_status status = RI_SUCCESS;

	while (!must_wake(ia, waiter) && status == RI_SUCCESS) {
		status = park(ia, waiter, fd >= 0 ? &fd : NULL, deadline);
		(void)ia->fast->progress(ia->urnic, PROGRESS_BUDGET);
	}
	return status;
}

/* One round: as leader if there is none, else as follower. */
static enum ri_status
sleep_once(struct ual_ia *ia, struct ual_waiter *waiter, uint64_t deadline)
{
	enum ri_status status;
	int fd = -1;

	if (!waiter->may_lead || !ia->fast->leader_enter(ia->urnic, &fd))
		return park(ia, waiter, NULL, deadline);
	waiter->was_leader = true;
	waiter->leads = true;
	status = run_as_leader(ia, waiter, fd, deadline);
	waiter->leads = false;
	ia->fast->leader_leave(ia->urnic);
	return status;
}

enum ri_status
ual_sleep(struct ual_ia *ia, struct ual_waiter *waiter, uint64_t deadline)
{
	enum ri_status status = RI_SUCCESS;
	bool woken;

	waiter->was_leader = false;
	waiter->leads = false;
	asleep_enter(&ia->waiters, waiter);
	while (!must_wake(ia, waiter) && status == RI_SUCCESS)
		status = sleep_once(ia, waiter, deadline);
	asleep_leave(&ia->waiters, waiter);
	woken = atomic_exchange(&waiter->woken, false);
	/* Not woken: perhaps it was to become leader and its time was up first. Then another must. */
	if (waiter->was_leader || (waiter->may_lead && !woken))
		wake_next_leader(ia);
	if (woken)
		return RI_SUCCESS;
	if (atomic_load(&ia->closing) || atomic_load(&ia->dead))
		return RI_ERR_FATAL;
	return status;
}

void
ual_sleep_cancelled(struct ual_ia *ia, struct ual_waiter *waiter)
{
	if (waiter->leads)
		ia->fast->leader_leave(ia->urnic);
	asleep_leave(&ia->waiters, waiter);
	if (waiter->may_lead)
		wake_next_leader(ia);
}

void
ual_sleep_wake(struct ual_ia *ia, struct ual_waiter *waiter)
{
	atomic_store(&waiter->woken, true);
	ia->host->wake(ia->host->self, &waiter->parker);
}

void
ual_sleep_wake_all(struct ual_ia *ia)
{
	pthread_mutex_lock(&ia->waiters.lock);
	for (struct ual_waiter *s = ia->waiters.asleep; s != NULL; s = s->next)
		ia->host->wake(ia->host->self, &s->parker);
	pthread_mutex_unlock(&ia->waiters.lock);
}
