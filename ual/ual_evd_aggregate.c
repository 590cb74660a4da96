/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Aggregates: one dispatcher for the notifications of many ([IT 6.5], R-14).
 *
 * A member that enters the notified state is put on its aggregate's list of pending members, once; then the aggregate
 * is in the notified state. There are two kinds of aggregate. From one, a dequeue takes a notification event that names
 * the member; the event stays until it is taken, even if the member's events are taken first. From the other, which
 * merges, a dequeue takes the members' own events: all of the first pending member, then those of the next.
 *
 * The list of pending members is under the aggregate's event lock. Members are added and removed under the aggregate's
 * control lock, and a dequeue that takes events from members owns it, too; so a member stays while its events are
 * taken. Order of locks: member's control, aggregate's control, member's event lock, aggregate's event lock.
 * Evaluation of a member, which may run in dispatch, takes event locks only.
 */

#include "ri_owned.h"
#include "ual.h"
#include "ual_evd.h"

/* --- pending members; all under the aggregate's event lock ---------------------------------- */

static void
pending_add(struct ual_evd *aevd, struct ual_evd *member)
{
	RI_ASSERT_OWNED(&aevd->lock);
	if (member->pending)
		return;
	member->pending = true;
	member->pending_next = NULL;
	if (aevd->pending_last != NULL)
		aevd->pending_last->pending_next = member;
	else
		aevd->pending_first = member;
	aevd->pending_last = member;
	aevd->pending_count++;
}

static void
pending_remove(struct ual_evd *aevd, struct ual_evd *member)
{
	struct ual_evd *before = NULL;
	struct ual_evd *at = aevd->pending_first;

	RI_ASSERT_OWNED(&aevd->lock);
	if (!member->pending)
		return;
	for (; at != member; at = at->pending_next)
		before = at;
	if (before != NULL)
		before->pending_next = member->pending_next;
	else
		aevd->pending_first = member->pending_next;
	if (aevd->pending_last == member)
		aevd->pending_last = before;
	aevd->pending_count--;
	member->pending = false;
}

static struct ual_evd *
pending_first(struct ual_evd *aevd)
{
	struct ual_evd *first;

	pthread_mutex_lock(&aevd->lock);
	first = aevd->pending_first;
	pthread_mutex_unlock(&aevd->lock);
	return first;
}

/* --- coming and going ---------------------------------------------------------------------- */

void
ual_aggregate_join(struct ual_evd *aevd, struct ual_evd *member, bool pending)
{
	pthread_mutex_lock(&aevd->control);
	pthread_mutex_lock(&member->lock);
	pthread_mutex_lock(&aevd->lock);
	member->member_next = aevd->members;
	member->member_prev = NULL;
	if (aevd->members != NULL)
		aevd->members->member_prev = member;
	aevd->members = member;
	aevd->member_count++;
	if (pending)
		pending_add(aevd, member);
	pthread_mutex_unlock(&aevd->lock);
	member->aevd = aevd;
	atomic_fetch_or(&member->attention, UAL_EVD_WATCHED);
	pthread_mutex_unlock(&member->lock);
	pthread_mutex_unlock(&aevd->control);
	/* Events that the member has notify the new aggregate. */
	atomic_store(&member->rearmed, true);
	ual_evd_evaluate_fully(member);
}

bool
ual_aggregate_leave(struct ual_evd *member)
{
	struct ual_evd *aevd = member->aevd;
	bool was_pending;

	if (aevd == NULL)
		return false;
	pthread_mutex_lock(&aevd->control);
	pthread_mutex_lock(&member->lock);
	pthread_mutex_lock(&aevd->lock);
	was_pending = member->pending;
	pending_remove(aevd, member);
	if (member->member_prev != NULL)
		member->member_prev->member_next = member->member_next;
	else
		aevd->members = member->member_next;
	if (member->member_next != NULL)
		member->member_next->member_prev = member->member_prev;
	aevd->member_count--;
	pthread_mutex_unlock(&aevd->lock);
	member->aevd = NULL;
	ual_evd_watch(member);
	pthread_mutex_unlock(&member->lock);
	pthread_mutex_unlock(&aevd->control);
	ual_evd_evaluate(aevd);
	ual_object_unref(&aevd->object);
	return was_pending;
}

void
ual_aggregate_disband(struct ual_evd *aevd)
{
	while (aevd->members != NULL)
		(void)ual_aggregate_leave(aevd->members);
}

bool
ual_aggregate_is_free(struct ual_evd *aevd)
{
	bool any;

	/* A call that tries the handle has a reference for a moment; a member that joins meanwhile keeps one. */
	for (unsigned round = 0;; round++) {
		pthread_mutex_lock(&aevd->lock);
		any = aevd->member_count > 0;
		pthread_mutex_unlock(&aevd->lock);
		if (any)
			return false;
		if (ual_object_freeze(&aevd->object))
			return true;
		if (ual_object_frozen(&aevd->object))
			return false; /* another thread frees it */
		session_relax(&aevd->object.ia->session, round);
	}
}

/* --- notifications of members ---------------------------------------------------------------- */

void
ual_aggregate_tell(struct ual_evd *member, bool level, bool edge)
{
	struct ual_evd *aevd;
	bool empty;

	pthread_mutex_lock(&member->lock);
	aevd = member->aevd;
	if (aevd != NULL && !ual_object_ref(&aevd->object))
		aevd = NULL;
	if (aevd != NULL) {
		pthread_mutex_lock(&aevd->lock);
		/* If the aggregate merges, a member is pending from its notification until it is empty. */
		if (edge || (level && aevd->merges)) {
			pending_add(aevd, member);
		} else if (!level && aevd->merges) {
			/* This does not run the engine. */
			empty = (member->cq != NULL ? member->depth(member->cq)
						    : member->ring.count) == 0;
			if (empty)
				pending_remove(aevd, member);
		}
		pthread_mutex_unlock(&aevd->lock);
	}
	pthread_mutex_unlock(&member->lock);
	if (aevd == NULL)
		return;
	ual_evd_evaluate(aevd);
	ual_object_unref(&aevd->object);
}

/* --- taking -------------------------------------------------------------------------------- */

static bool
aggregate_take_once(struct ual_evd *aevd, it_event_t *event)
{
	struct ual_evd *member;
	bool taken = false;

	if (!aevd->merges) {
		pthread_mutex_lock(&aevd->lock);
		member = aevd->pending_first;
		if (member != NULL) {
			pending_remove(aevd, member);
			event->aevd_notify.event_number = IT_AEVD_NOTIFICATION_EVENT;
			event->aevd_notify.aevd = (it_evd_handle_t)ual_object_handle(&aevd->object);
			event->aevd_notify.sevd =
				(it_evd_handle_t)ual_object_handle(&member->object);
		}
		pthread_mutex_unlock(&aevd->lock);
		return member != NULL;
	}
	/* Under the control lock, so that members stay. */
	pthread_mutex_lock(&aevd->control);
	while (!taken && (member = pending_first(aevd)) != NULL) {
		taken = ual_evd_take(member, event);
		if (!taken) {
			pthread_mutex_lock(&aevd->lock);
			pending_remove(aevd, member);
			pthread_mutex_unlock(&aevd->lock);
			atomic_store(&member->rearmed, true);
		}
		/* The evaluation makes it pending again if an event came meanwhile. */
		ual_evd_taken(member);
	}
	pthread_mutex_unlock(&aevd->control);
	return taken;
}

bool
ual_aggregate_take(struct ual_evd *aevd, it_event_t *event)
{
	struct ual_ia *ia = aevd->object.ia;

	if (aggregate_take_once(aevd, event))
		return true;
	/* As a poll of an empty completion queue does. */
	if (session_progress(&ia->session, 1) == 0)
		return pending_first(aevd) != NULL && aggregate_take_once(aevd, event);
	return aggregate_take_once(aevd, event);
}

size_t
ual_aggregate_depth(struct ual_evd *aevd)
{
	size_t count = 0;

	pthread_mutex_lock(&aevd->control);
	pthread_mutex_lock(&aevd->lock);
	count = aevd->pending_count;
	pthread_mutex_unlock(&aevd->lock);
	if (aevd->merges) {
		struct ual_evd *member = pending_first(aevd);

		count = 0;
		while (member != NULL) {
			count += ual_evd_depth(member);
			pthread_mutex_lock(&aevd->lock);
			member = member->pending ? member->pending_next : NULL;
			pthread_mutex_unlock(&aevd->lock);
		}
	}
	pthread_mutex_unlock(&aevd->control);
	return count;
}

bool
ual_aggregate_level(struct ual_evd *aevd)
{
	return pending_first(aevd) != NULL;
}
