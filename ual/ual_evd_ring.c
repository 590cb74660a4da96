/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Bounded rings for the event streams that have no completion queue below.
 *
 * An it_event_t is as large as its largest member. A ring has only as many bytes for each event as its own stream needs,
 * and a dequeue writes no more. The caller holds ual_evd::lock.
 */
#include <stdlib.h>
#include <string.h>

#include "ual_evd.h"

#define MAX(a, b) ((a) > (b) ? (a) : (b))

size_t
ual_ring_event_size(it_event_type_t stream)
{
	/* The streams are values of a larger enumeration. */
	switch ((unsigned)stream) {
	case IT_CM_REQ_EVENT_STREAM:
		return MAX(sizeof(it_conn_request_event_t), sizeof(it_ud_svc_request_event_t));
	case IT_CM_MSG_EVENT_STREAM:
		return MAX(sizeof(it_connection_event_t), sizeof(it_ud_svc_reply_event_t));
	case IT_ASYNC_AFF_EVENT_STREAM:
		return sizeof(it_affiliated_event_t);
	case IT_ASYNC_UNAFF_EVENT_STREAM:
		return sizeof(it_unaffiliated_event_t);
	case IT_SOFTWARE_EVENT_STREAM:
		return sizeof(it_software_event_t);
	default:
		return sizeof(it_event_t);
	}
}

/* Software events come from the application, whose post fails if there is no room: they get exactly `size`. */
size_t
ual_ring_generous(it_event_type_t stream, size_t size)
{
	return stream == IT_SOFTWARE_EVENT_STREAM ? size : MAX(size, (size_t)UAL_EVD_RING_MIN);
}

bool
ual_ring_resize(struct ual_ring *ring, size_t size)
{
	unsigned char *slots = (unsigned char *)calloc(size, ring->event_size);
	size_t first;

	if (slots == NULL)
		return false;
	if (ring->count > 0) {
		first = ring->size - ring->head;
		if (first > ring->count)
			first = ring->count;
		memcpy(slots, ring->slots + ring->head * ring->event_size,
		       first * ring->event_size);
		memcpy(slots + first * ring->event_size, ring->slots,
		       (ring->count - first) * ring->event_size);
	}
	free(ring->slots);
	ring->slots = slots;
	ring->size = size;
	ring->head = 0;
	return true;
}

void
ual_ring_free(struct ual_ring *ring)
{
	free(ring->slots);
	memset(ring, 0, sizeof(*ring));
}

bool
ual_ring_put(struct ual_ring *ring, const it_event_t *event, it_evd_handle_t evd)
{
	unsigned char *slot;

	if (ring->count == ring->size)
		return false;
	slot = ring->slots + (ring->head + ring->count) % ring->size * ring->event_size;
	memcpy(slot, event, ring->event_size);
	memcpy(slot + offsetof(it_any_event_t, evd), &evd, sizeof(evd));
	ring->count++;
	return true;
}

bool
ual_ring_take(struct ual_ring *ring, it_event_t *event)
{
	if (ring->count == 0)
		return false;
	memcpy(event, ring->slots + ring->head * ring->event_size, ring->event_size);
	ring->head = (ring->head + 1) % ring->size;
	ring->count--;
	return true;
}
