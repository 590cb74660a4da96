/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Sleep, and the lead of the engine.
 *
 * A message that arrives should cost one wake. So the thread that waits for it sleeps on the
 * engine's descriptor itself (it leads), runs the engine when it wakes, and finds its event there.
 * Only one thread can lead; the others sleep on their parkers, and are woken by the engine's upcall
 * that the leader's progress makes. Whoever stops leading hands the lead to the one who has slept
 * longest, so that the engine is never left without a thread while somebody sleeps.
 *
 * A sleeper enters ual_beds::asleep before it asks for the lead, and the leader gives the lead back
 * before it looks into that list: so either the newcomer gets the lead or the leader sees it. A wake
 * that turns out to be for the lead only makes the loop in ual_sleep go round once more.
 *
 * Sleepers are never given back to the C library while the IA lives: a thread that decided to wake
 * one may be late, and then wakes whoever uses it next, who looks, finds nothing, and sleeps on.
 *
 * Threads: everything but init and fini, at once. ual_beds::lock is an event lock; engine, park and
 * wake are called without it (wake_all excepted, which is rare and does not sleep).
 */
#include "ual_sleep.h"

#include <stdlib.h>

#define PROGRESS_BUDGET 64 /* messages per round of the engine */

void
ual_beds_init(struct ual_beds *beds)
{
	pthread_mutex_init(&beds->lock, NULL);
}

void
ual_beds_fini(struct ual_ia *ia)
{
	struct ual_sleeper *sleeper = ia->beds.unused, *next;

	for (; sleeper != NULL; sleeper = next) {
		next = sleeper->next;
		ia->host->parker_close(ia->host->self, &sleeper->parker);
		free(sleeper);
	}
	pthread_mutex_destroy(&ia->beds.lock);
}

struct ual_sleeper *
ual_sleep_enter(struct ual_ia *ia, bool may_lead)
{
	struct ual_beds *beds = &ia->beds;
	struct ual_sleeper *sleeper = NULL;

	pthread_mutex_lock(&beds->lock);
	if (!atomic_load(&ia->closing)) {
		sleeper = beds->unused;
		if (sleeper != NULL)
			beds->unused = sleeper->next;
		else
			sleeper = (struct ual_sleeper *)calloc(1, sizeof(*sleeper));
	}
	pthread_mutex_unlock(&beds->lock);
	if (sleeper == NULL)
		return NULL;
	atomic_store(&sleeper->woken, false);
	sleeper->may_lead = may_lead && ia->fast->lead_enter != NULL;
	return sleeper;
}

void
ual_sleep_leave(struct ual_ia *ia, struct ual_sleeper *sleeper)
{
	struct ual_beds *beds = &ia->beds;

	pthread_mutex_lock(&beds->lock);
	sleeper->next = beds->unused;
	beds->unused = sleeper;
	pthread_mutex_unlock(&beds->lock);
}

static void
asleep_enter(struct ual_beds *beds, struct ual_sleeper *sleeper)
{
	pthread_mutex_lock(&beds->lock);
	sleeper->prev = NULL;
	sleeper->next = beds->asleep;
	if (beds->asleep != NULL)
		beds->asleep->prev = sleeper;
	beds->asleep = sleeper;
	pthread_mutex_unlock(&beds->lock);
}

static void
asleep_leave(struct ual_beds *beds, struct ual_sleeper *sleeper)
{
	pthread_mutex_lock(&beds->lock);
	if (sleeper->prev != NULL)
		sleeper->prev->next = sleeper->next;
	else
		beds->asleep = sleeper->next;
	if (sleeper->next != NULL)
		sleeper->next->prev = sleeper->prev;
	pthread_mutex_unlock(&beds->lock);
}

/* Wake the one who may lead and has slept longest, so that it takes the lead. */
static void
hand_lead_on(struct ual_ia *ia)
{
	struct ual_sleeper *heir = NULL;

	pthread_mutex_lock(&ia->beds.lock);
	for (struct ual_sleeper *s = ia->beds.asleep; s != NULL; s = s->next)
		if (s->may_lead && !atomic_load(&s->woken))
			heir = s;
	pthread_mutex_unlock(&ia->beds.lock);
	if (heir != NULL)
		ia->host->wake(ia->host->self, &heir->parker);
}

/* True if sleeping makes no sense: woken, or nothing will ever come. */
static bool
roused(struct ual_ia *ia, struct ual_sleeper *sleeper)
{
	return atomic_load(&sleeper->woken) || atomic_load(&ia->closing) || atomic_load(&ia->dead);
}

/* Sleep on the engine's descriptor and run the engine until roused. */
static enum ri_status
lead(struct ual_ia *ia, struct ual_sleeper *sleeper, int fd, uint64_t deadline)
{
	enum ri_status status = RI_SUCCESS;

	while (!roused(ia, sleeper) && status == RI_SUCCESS) {
		status = ia->host->park(ia->host->self, &sleeper->parker, &fd, fd >= 0 ? 1 : 0,
					deadline);
		(void)ia->fast->progress(ia->urnic, PROGRESS_BUDGET);
	}
	return status;
}

/* One round: with the lead if it is free, without it if not. */
static enum ri_status
sleep_once(struct ual_ia *ia, struct ual_sleeper *sleeper, uint64_t deadline)
{
	enum ri_status status;
	int fd = -1;

	if (!sleeper->may_lead || !ia->fast->lead_enter(ia->urnic, &fd))
		return ia->host->park(ia->host->self, &sleeper->parker, NULL, 0, deadline);
	sleeper->led = true;
	status = lead(ia, sleeper, fd, deadline);
	ia->fast->lead_leave(ia->urnic);
	return status;
}

enum ri_status
ual_sleep(struct ual_ia *ia, struct ual_sleeper *sleeper, uint64_t deadline)
{
	enum ri_status status = RI_SUCCESS;
	bool woken;

	sleeper->led = false;
	asleep_enter(&ia->beds, sleeper);
	while (!roused(ia, sleeper) && status == RI_SUCCESS)
		status = sleep_once(ia, sleeper, deadline);
	asleep_leave(&ia->beds, sleeper);
	woken = atomic_exchange(&sleeper->woken, false);
	/* Not woken: perhaps it was made the heir and went away instead. */
	if (sleeper->led || (sleeper->may_lead && !woken))
		hand_lead_on(ia);
	if (woken)
		return RI_SUCCESS;
	if (atomic_load(&ia->closing) || atomic_load(&ia->dead))
		return RI_ERR_FATAL;
	return status;
}

void
ual_sleep_wake(struct ual_ia *ia, struct ual_sleeper *sleeper)
{
	atomic_store(&sleeper->woken, true);
	ia->host->wake(ia->host->self, &sleeper->parker);
}

void
ual_sleep_wake_all(struct ual_ia *ia)
{
	pthread_mutex_lock(&ia->beds.lock);
	for (struct ual_sleeper *s = ia->beds.asleep; s != NULL; s = s->next)
		ia->host->wake(ia->host->self, &s->parker);
	pthread_mutex_unlock(&ia->beds.lock);
}
