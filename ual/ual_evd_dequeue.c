/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Dequeues from event dispatchers of every stream.
 *
 * A DTO event dispatcher is the provider's completion queue, so a dequeue is a poll and a conversion. It takes no lock, and
 * writes only the members that the event has. It costs more in three cases: a thread waits or a descriptor is watched
 * (ual_evd::attention); an overflow ends when the queue is empty; or the event was a notification event and others are
 * queued behind it.
 *
 * ual_evd::attention is read after the poll: a thread that sets a bit later evaluates after setting it, and then finds the
 * events that this poll left.
 */
#include "ual.h"
#include "ual_evd.h"

static bool
take_completion(struct ual_evd *evd, it_event_t *event)
{
	struct ri_wc wc;

	while (evd->poll(evd->cq, &wc, 1) == 1) {
		if (!ual_dto_event(&wc, evd, event))
			continue;
		if (__builtin_expect((wc.flags & RI_WC_SOLICITED) != 0, 0))
			ual_evd_latch(evd);
		return true;
	}
	return false;
}

static bool
take_stream(struct ual_evd *evd, it_event_t *event)
{
	bool taken;

	pthread_mutex_lock(&evd->lock);
	taken = ual_ring_take(&evd->ring, event);
	pthread_mutex_unlock(&evd->lock);
	return taken;
}

bool
ual_evd_take(struct ual_evd *evd, it_event_t *event)
{
	if (__builtin_expect(evd->cq != NULL, 1))
		return take_completion(evd, event);
	return ual_evd_is_aggregate(evd) ? ual_aggregate_take(evd, event) : take_stream(evd, event);
}

it_status_t
ual_evd_dequeue(struct ual_evd *evd, it_event_t *event)
{
	bool taken = ual_evd_take(evd, event);

	if (__builtin_expect(atomic_load(&evd->attention) != 0, 0)) {
		if (!taken)
			atomic_store(&evd->rearmed, true);
		ual_evd_taken(evd);
	}
	if (taken)
		return IT_SUCCESS;
	return atomic_load(&evd->object.ia->session.dead) ? IT_ERR_IA_CATASTROPHE
							  : IT_ERR_QUEUE_EMPTY;
}

unsigned
ual_evd_dequeue_n(struct ual_evd *evd, it_event_t *events, unsigned count)
{
	unsigned taken = 0;

	while (taken < count && ual_evd_take(evd, &events[taken]))
		taken++;
	if (__builtin_expect(atomic_load(&evd->attention) != 0, 0)) {
		if (taken < count)
			atomic_store(&evd->rearmed, true);
		ual_evd_taken(evd);
	}
	return taken;
}
