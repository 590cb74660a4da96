/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Evaluation: when an EVD is in the notified state, and what it notifies then ([IT 6.2] to [IT 6.4], R-10, R-11, R-13, R-15).
 *
 * The notified state depends on what is queued:
 *
 *   threshold n >= 1   n events are queued                         any stream
 *   threshold 0        an event is queued                          streams other than DTO
 *   threshold 0        a notification event is queued, or was      DTO
 *                      taken since the EVD was last empty
 *
 * "Was taken" is the bit LATCHED. The rest is found by arming the queue: the provider returns RI_ERR_NOT_EMPTY if the
 * condition holds; else it will make one upcall when it does. So no event can be missed between the check and the
 * arming, and a queue without a waiter, descriptor, callback or aggregate is never armed.
 *
 * ual_evd_evaluate finds the state, sets the descriptor and wakes the waiter that waits longest. It is called after
 * each change of the state: the upcall, a post to a ring, a dequeue from a watched EVD, a waiter that comes or goes, a
 * modify. It may run on many threads and inside dispatch, and must call fast entries without owning a lock. So one
 * thread evaluates; another increments ual_evd::requests and returns, and the first evaluates once more.
 *
 * Callbacks and aggregates get notifications, not a state: one each time the EVD enters the notified state, and another
 * if the EVD was below its threshold since (ual_evd::rearmed), even if it is in the notified state again.
 *
 * After its adapter failed beyond repair, an EVD stays in the notified state, so that no thread waits for events that
 * cannot come.
 */
#include <stdint.h>

#include "ri_calls.h"
#include "ri_owned.h"
#include "ual_evd.h"

/* Events that are queued. It does not run the engine, so the caller may own a lock. */
static size_t
events_queued(struct ual_evd *evd)
{
	return evd->cq != NULL ? evd->depth(evd->cq) : evd->ring.count;
}

size_t
ual_evd_depth(struct ual_evd *evd)
{
	size_t count;

	if (evd->cq != NULL)
		return evd->depth(evd->cq);
	if (ual_evd_is_aggregate(evd))
		return ual_aggregate_depth(evd);
	pthread_mutex_lock(&evd->lock);
	count = evd->ring.count;
	pthread_mutex_unlock(&evd->lock);
	return count;
}

void
ual_evd_latch(struct ual_evd *evd)
{
	if (atomic_load(&evd->threshold) != 0)
		return;
	pthread_mutex_lock(&evd->lock);
	if (events_queued(evd) > 0)
		atomic_fetch_or(&evd->attention, UAL_EVD_LATCHED);
	pthread_mutex_unlock(&evd->lock);
}

void
ual_evd_watch(struct ual_evd *evd)
{
	RI_ASSERT_OWNED(&evd->lock);
	if (evd->line.first != NULL || evd->fd >= 0 || evd->aevd != NULL || evd->callback != NULL)
		atomic_fetch_or(&evd->attention, UAL_EVD_WATCHED);
	else
		atomic_fetch_and(&evd->attention, ~(unsigned)UAL_EVD_WATCHED);
}

void
ual_evd_taken(struct ual_evd *evd)
{
	const unsigned until_empty = UAL_EVD_LATCHED | UAL_EVD_OVERFLOWED;
	size_t threshold = atomic_load(&evd->threshold);

	if ((atomic_load(&evd->attention) & until_empty) != 0) {
		pthread_mutex_lock(&evd->lock);
		if (events_queued(evd) == 0 &&
		    (atomic_fetch_and(&evd->attention, ~until_empty) & UAL_EVD_OVERFLOWED) != 0)
			evd->overflowed = false;
		pthread_mutex_unlock(&evd->lock);
	}
	if ((atomic_load(&evd->attention) & UAL_EVD_WATCHED) == 0)
		return;
	/* Empty, or below its threshold: the next event notifies again. */
	if (!ual_evd_is_aggregate(evd) && ual_evd_depth(evd) < (threshold > 0 ? threshold : 1))
		atomic_store(&evd->rearmed, true);
	ual_evd_evaluate_fully(evd);
}

bool
ual_evd_is_notified(struct ual_evd *evd)
{
	size_t threshold = atomic_load(&evd->threshold);

	if (ual_evd_is_aggregate(evd))
		return ual_aggregate_level(evd);
	if (evd->cq == NULL)
		return ual_evd_depth(evd) >= (threshold > 0 ? threshold : 1);
	if (threshold > 0)
		return evd->arm(evd->cq, RI_ARM_COUNT, (uint32_t)threshold) == RI_ERR_NOT_EMPTY;
	if ((atomic_load(&evd->attention) & UAL_EVD_LATCHED) != 0 && evd->depth(evd->cq) > 0)
		return true;
	return evd->arm(evd->cq, RI_ARM_SOLICITED, 0) == RI_ERR_NOT_EMPTY;
}

static void
evaluate_once(struct ual_evd *evd)
{
	const struct ri_host *host = evd->object.ia->session.host;
	struct session_waiter *head = NULL;
	bool wanted, notified, level, edge, member, callback, dead;
	uint64_t one = 1;
	ssize_t done = 0;

	pthread_mutex_lock(&evd->lock);
	member = evd->aevd != NULL;
	callback = evd->callback != NULL;
	wanted = evd->enabled && !evd->dying &&
		 (evd->line.first != NULL || evd->fd >= 0 || member || callback);
	pthread_mutex_unlock(&evd->lock);
	/* A failed adapter notifies the descriptor or callback once; waiters return anyway. */
	dead = wanted && !member && atomic_load(&evd->object.ia->session.dead);
	notified = wanted && ual_evd_is_notified(evd);
	level = notified || dead;
	edge = level && ((atomic_exchange(&evd->rearmed, false) && !dead) || !evd->level);
	if (notified) {
		pthread_mutex_lock(&evd->lock);
		head = evd->line.first;
		pthread_mutex_unlock(&evd->lock);
	}
	if (head != NULL)
		session_sleep_wake(head);
	/* The counter of the descriptor is 0 or 1, so neither call can block. */
	if (level != evd->level && evd->fd >= 0)
		done = level ? ri_write(evd->fd, &one, sizeof(one))
			     : ri_read(evd->fd, &one, sizeof(one));
	(void)done;
	evd->level = level;
	if (edge && callback)
		host->task_run(host->self, &evd->task);
	if (member)
		ual_aggregate_tell(evd, level, edge);
}

/* Evaluate, or make the thread that evaluates do so once more. Returns the number of the request. */
static unsigned
evaluation_request(struct ual_evd *evd)
{
	unsigned mine = atomic_fetch_add(&evd->requests, 1) + 1, seen;

	do {
		if (atomic_exchange(&evd->evaluating, 1) != 0)
			return mine;
		seen = atomic_load(&evd->requests);
		evaluate_once(evd);
		atomic_store(&evd->evaluated, seen);
		atomic_store(&evd->evaluating, 0);
	} while (atomic_load(&evd->requests) != seen);
	return mine;
}

void
ual_evd_evaluate(struct ual_evd *evd)
{
	(void)evaluation_request(evd);
}

void
ual_evd_evaluate_fully(struct ual_evd *evd)
{
	unsigned mine = evaluation_request(evd);

	/* After a call took the last event, the descriptor must not be readable. */
	for (unsigned round = 0; evd->fd >= 0 && (int)(atomic_load(&evd->evaluated) - mine) < 0;
	     round++)
		session_relax(&evd->object.ia->session, round);
}

void
ual_evd_wake_waiters(struct ual_evd *evd)
{
	RI_ASSERT_OWNED(&evd->lock);
	session_line_wake_all(&evd->line);
}
