/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "door_events.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ri_fd.h"

bool
door_events_init(struct door_events *events)
{
	events->first = events->last = NULL;
	events->count = events->takers = 0;
	events->readable = false;
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

/*
 * Make the descriptor readable; if it is readable already, this makes another edge for epoll. It
 * cannot fail: the counter is far from its limit, and the descriptor belongs to this layer. It uses
 * the system call, since write() to the descriptor of an event channel is a command (door_hooks.c).
 */
static void
show(struct door_events *events)
{
	const uint64_t one = 1;

	events->readable = true;
	(void)!syscall(SYS_write, events->fd, &one, sizeof(one));
}

/* Does not wait: what made it readable has added to the counter. */
static void
hide(struct door_events *events)
{
	uint64_t count;

	events->readable = false;
	(void)!syscall(SYS_read, events->fd, &count, sizeof(count));
}

void
door_events_add(struct door_events *events, struct door_event *event)
{
	assert(!event->queued);
	event->queued = true;
	event->next = NULL;
	event->prev = events->last;
	if (events->last != NULL)
		events->last->next = event;
	else
		events->first = event;
	events->last = event;
	events->count++;
	door_events_repeat(events);
}

void
door_events_repeat(struct door_events *events)
{
	if (events->count > events->takers)
		show(events);
}

void
door_events_remove(struct door_events *events, struct door_event *event)
{
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
	events->count--;
	if (events->count == 0 && events->readable)
		hide(events);
}

struct door_event *
door_events_take(struct door_events *events)
{
	struct door_event *event = events->first;

	if (event != NULL)
		door_events_remove(events, event);
	return event;
}

void
door_events_taker_enter(struct door_events *events)
{
	events->takers++;
}

void
door_events_taker_leave(struct door_events *events)
{
	events->takers--;
	if (events->count > events->takers && !events->readable)
		show(events);
}

bool
door_events_blocks(const struct door_events *events)
{
	int flags = fcntl(events->fd, F_GETFL);

	return flags < 0 || (flags & O_NONBLOCK) == 0;
}

/*
 * Whether a read() would go on after the signal handler that ran. Which handler that was is not
 * known. If the program has handlers with and without SA_RESTART, the answer is no, since otherwise
 * a program that waits to be interrupted would hang.
 */
bool
door_events_restarts(void)
{
	struct sigaction action;

	for (int number = 1; number < NSIG; number++)
		if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_DFL &&
		    action.sa_handler != SIG_IGN && (action.sa_flags & SA_RESTART) == 0)
			return false;
	return true;
}

bool
door_events_sleep(const struct door_events *events)
{
	struct pollfd poll_fd = {.fd = events->fd, .events = POLLIN};

	while (poll(&poll_fd, 1, -1) < 0)
		if (errno != EINTR || !door_events_restarts())
			return false;
	return true;
}
