/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "door_events.h"

#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "ri_fd.h"

bool
door_events_init(struct door_events *events)
{
	events->first = events->last = NULL;
	events->fd = ri_fd_eventfd();
	if (events->fd < 0)
		return false;
	(void)fcntl(events->fd, F_SETFL, 0);
	pthread_mutex_init(&events->lock, NULL);
	return true;
}

void
door_events_fini(struct door_events *events)
{
	assert(events->first == NULL);
	if (events->fd >= 0)
		close(events->fd);
	pthread_mutex_destroy(&events->lock);
}

void
door_events_add(struct door_events *events, struct door_event *event)
{
	const uint64_t one = 1;

	assert(!event->queued);
	event->queued = true;
	event->next = NULL;
	event->prev = events->last;
	if (events->last != NULL)
		events->last->next = event;
	else
		events->first = event;
	events->last = event;
	/* Each event is an edge. It cannot fail: the counter is far from its end, and the descriptor is ours. */
	(void)!write(events->fd, &one, sizeof(one));
}

void
door_events_remove(struct door_events *events, struct door_event *event)
{
	uint64_t count;

	if (!event->queued)
		return;
	event->queued = false;
	if (event->prev != NULL)
		event->prev->next = event->next;
	else
		events->first = event->next;
	if (event->next != NULL)
		event->next->prev = event->prev;
	else
		events->last = event->prev;
	/* Does not wait: each event that was added has added to the counter. */
	if (events->first == NULL)
		(void)!read(events->fd, &count, sizeof(count));
}

struct door_event *
door_events_take(struct door_events *events)
{
	struct door_event *event = events->first;

	if (event != NULL)
		door_events_remove(events, event);
	return event;
}

bool
door_events_blocks(const struct door_events *events)
{
	int flags = fcntl(events->fd, F_GETFL);

	return flags < 0 || (flags & O_NONBLOCK) == 0;
}

bool
door_events_sleep(const struct door_events *events)
{
	struct pollfd poll_fd = {.fd = events->fd, .events = POLLIN};

	return poll(&poll_fd, 1, -1) >= 0;
}
