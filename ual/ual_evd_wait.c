/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Waits for an event [IT 6.4], R-12.
 *
 * Waiters stand in a queue. Only the first may take an event, and only one; when it leaves, an evaluation wakes the
 * next. A waiter that wakes checks again: another thread may have dequeued the event. How a thread polls, sleeps and leads is the
 * session's (session_wait.h, session_sleep.h).
 *
 * A wait is a cancellation point while it sleeps in the line, where it owns nothing: wait_cancelled takes the thread out of the
 * line, as if its time were up. The rest of a wait makes no call that is a cancellation point, or defers cancellation.
 */
#include <stdint.h>

#include "ri_owned.h"
#include "session_wait.h"
#include "ual.h"
#include "ual_evd.h"

#define PROGRESS_BUDGET 16 /* messages per round of the engine */

_Static_assert(IT_TIMEOUT_INFINITE == UINT64_MAX, "as of session_wait_begin");

/* Take one event if the EVD is in the notified state. */
static bool
take_notified(struct ual_evd *evd, it_event_t *event)
{
	size_t threshold = atomic_load(&evd->threshold);

	/* In the usual case any event notifies, and taking it runs the engine. */
	if (threshold == 1 || (evd->cq == NULL && threshold == 0) || ual_evd_is_aggregate(evd))
		return ual_evd_take(evd, event);
	if (evd->cq != NULL && evd->depth(evd->cq) < (threshold > 0 ? threshold : 1)) {
		(void)session_progress(&evd->object.ia->session, PROGRESS_BUDGET);
		if (evd->depth(evd->cq) == 0)
			return false;
	}
	return ual_evd_is_notified(evd) && ual_evd_take(evd, event);
}

/* What a wait looks for. */
struct sought {
	struct ual_evd *evd;
	it_event_t *event;
};

static bool
take_sought(void *arg)
{
	const struct sought *sought = (const struct sought *)arg;

	return take_notified(sought->evd, sought->event);
}

/* Why a thread may not wait here now; IT_SUCCESS if it may. Under ual_evd::lock. */
static it_status_t
wait_refusal(const struct ual_evd *evd)
{
	RI_ASSERT_OWNED(&evd->lock);
	if (evd->dying)
		return IT_ERR_ABORT;
	if (evd->callback != NULL)
		return IT_ERR_CALLBACK_EXISTS;
	if (!evd->enabled || evd->aevd != NULL)
		return IT_ERR_INVALID_EVD_STATE;
	return IT_SUCCESS;
}

static void
line_leave(struct ual_evd *evd, struct session_waiter *waiter)
{
	bool watched;

	pthread_mutex_lock(&evd->lock);
	session_line_leave(&evd->line, waiter);
	ual_evd_watch(evd);
	watched = (atomic_load(&evd->attention) & UAL_EVD_WATCHED) != 0;
	pthread_mutex_unlock(&evd->lock);
	if (watched)
		ual_evd_evaluate(evd);
}

#ifdef __EXCEPTIONS
#error "-fexceptions: the cleanups of the entry points would undo a second time what wait_cancelled undoes"
#endif

/* The thread was cancelled in its sleep: undo what ual_evd_wait and its caller have begun. */
static void
wait_cancelled(void *arg, struct session_waiter *waiter)
{
	struct ual_evd *evd = (struct ual_evd *)arg;

	line_leave(evd, waiter);
	atomic_fetch_sub(&evd->waiters, 1);
	ual_object_leave(&evd->object);
}

/* May the event come out of the adapter's engine? */
static bool
is_driven(const struct ual_evd *evd)
{
	return evd->cq != NULL || ual_evd_is_aggregate(evd);
}

static it_status_t
sleep_for_event(struct ual_evd *evd, uint64_t deadline, it_event_t *event)
{
	struct session *session = &evd->object.ia->session;
	struct session_waiter *waiter =
		session_sleep_enter(session, is_driven(evd), wait_cancelled, evd);
	bool joined, turn, taken = false;
	it_status_t status;
	enum ri_status slept;

	if (waiter == NULL)
		return atomic_load(&session->closing) ? IT_ERR_ABORT : IT_ERR_RESOURCES;
	pthread_mutex_lock(&evd->lock);
	status = wait_refusal(evd);
	if (status == IT_SUCCESS && evd->line.count == UAL_EVD_WAITERS_MAX)
		status = IT_ERR_WAITER_LIMIT;
	joined = status == IT_SUCCESS;
	if (joined) {
		session_line_join(&evd->line, waiter);
		atomic_fetch_or(&evd->attention, UAL_EVD_WATCHED);
	}
	pthread_mutex_unlock(&evd->lock);
	while (status == IT_SUCCESS && !taken) {
		ual_evd_evaluate(evd);
		slept = session_sleep(waiter, deadline);
		/* May the thread stay, and is it the first? */
		pthread_mutex_lock(&evd->lock);
		status = wait_refusal(evd);
		turn = evd->line.first == waiter;
		pthread_mutex_unlock(&evd->lock);
		if (status == IT_SUCCESS && turn)
			taken = take_notified(evd, event);
		if (status != IT_SUCCESS || taken || slept == RI_SUCCESS)
			continue;
		/* The sleep ended without an event. */
		if (slept == RI_ERR_TIMEOUT)
			status = IT_ERR_TIMEOUT_EXPIRED;
		else if (slept == RI_ERR_INTERRUPTED)
			status = IT_ERR_INTERRUPT;
		else
			status = atomic_load(&session->closing) ? IT_ERR_ABORT
								: IT_ERR_IA_CATASTROPHE;
	}
	if (joined)
		line_leave(evd, waiter);
	session_sleep_leave(waiter);
	return status;
}

it_status_t
ual_evd_wait(struct ual_evd *evd, uint64_t timeout, it_event_t *event, size_t *nmore)
{
	struct sought sought = {evd, event};
	struct session_wait wait;
	it_status_t status;
	bool alone, found;

	/* From now on the EVD cannot be freed. */
	pthread_mutex_lock(&evd->lock);
	status = wait_refusal(evd);
	alone = evd->line.first == NULL;
	if (status == IT_SUCCESS)
		atomic_fetch_add(&evd->waiters, 1);
	pthread_mutex_unlock(&evd->lock);
	if (status != IT_SUCCESS)
		return status;
	session_wait_begin(&wait, &evd->object.ia->session,
			   alone && is_driven(evd) ? &evd->spin : NULL, timeout);
	/* Without joining the queue of waiters: no other thread waits, and an event is there or comes soon. */
	found = alone &&
		(take_notified(evd, event) || session_wait_awake(&wait, take_sought, &sought));
	if (found) {
		status = IT_SUCCESS;
	} else if (atomic_load(&wait.session->dead)) {
		status = IT_ERR_IA_CATASTROPHE;
	} else if (timeout == 0) {
		status = IT_ERR_TIMEOUT_EXPIRED;
	} else {
		status = sleep_for_event(evd, wait.deadline, event);
		if (status == IT_SUCCESS)
			session_wait_slept(&wait);
	}
	if (status == IT_SUCCESS || status == IT_ERR_TIMEOUT_EXPIRED) {
		if (atomic_load(&evd->attention) != 0)
			ual_evd_taken(evd);
		if (nmore != NULL)
			*nmore = ual_evd_depth(evd);
	}
	/* Last, because it allows the EVD to be freed; the caller's visit covers its own last steps. */
	atomic_fetch_sub(&evd->waiters, 1);
	return status;
}

it_status_t
ual_evd_wait_n(struct ual_evd *evd, uint64_t timeout, size_t room, it_event_t *events,
	       size_t *count)
{
	it_status_t status = ual_evd_wait(evd, timeout, events, NULL);
	unsigned more = room - 1 < UINT32_MAX ? (unsigned)(room - 1) : UINT32_MAX;

	*count = 0;
	if (status == IT_ERR_TIMEOUT_EXPIRED)
		return IT_SUCCESS;
	if (status != IT_SUCCESS)
		return status;
	*count = 1 + (size_t)ual_evd_dequeue_n(evd, events + 1, more);
	return IT_SUCCESS;
}
