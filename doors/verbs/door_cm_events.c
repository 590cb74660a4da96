/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Events of channels, from those who raise them to GET_EVENT. */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "door_cm_internal.h"
#include "ri_fd.h"
#include "session_cancel.h"

/* --- queued ------------------------------------------------------------------------------------------- */

static struct door_cm_event *
event_of(struct door_event *node)
{
	return (struct door_cm_event *)node;
}

struct door_cm_event *
door_cm_raise(struct door_cm_id *id, enum rdma_cm_event_type type, int status)
{
	struct door_cm_event *event;

	/* Of a request that is not accepted the program has no object yet, so it could not match the event. */
	if (id->dying || id->channel == NULL ||
	    (id->uid == 0 && type != RDMA_CM_EVENT_CONNECT_REQUEST))
		return NULL;
	event = (struct door_cm_event *)calloc(1, sizeof(*event));
	if (event == NULL)
		return NULL;
	event->id = id;
	event->answer.uid = id->uid;
	event->answer.id = id->number;
	event->answer.event = type;
	event->answer.status = (uint32_t)status;
	pthread_mutex_lock(&id->channel->events.lock);
	door_events_add(&id->channel->events, &event->node);
	pthread_mutex_unlock(&id->channel->events.lock);
	door_cm_wake(id->channel);
	return event;
}

struct door_cm_id *
door_cm_drop(struct door_cm_id *id, const struct door_cm_group *group)
{
	struct door_events *events = &id->channel->events;
	struct door_cm_id *requests = NULL;
	struct door_event *next;

	pthread_mutex_lock(&events->lock);
	for (struct door_event *node = events->first; node != NULL; node = next) {
		struct door_cm_event *event = event_of(node);

		next = node->next;
		if (event->id != id || (group != NULL && event->group != group))
			continue;
		door_events_remove(events, node);
		if (event->request != NULL) {
			event->request->next = requests;
			requests = event->request;
		}
		free(event);
	}
	pthread_mutex_unlock(&events->lock);
	return requests;
}

void
door_cm_move_events(struct door_cm_id *id, struct door_cm_channel *to)
{
	struct door_events *from = &id->channel->events;
	struct door_event *next;

	for (struct door_event *node = from->first; node != NULL; node = next) {
		next = node->next;
		if (event_of(node)->id != id)
			continue;
		pthread_mutex_lock(&from->lock);
		door_events_remove(from, node);
		pthread_mutex_unlock(&from->lock);
		pthread_mutex_lock(&to->events.lock);
		door_events_add(&to->events, node);
		pthread_mutex_unlock(&to->events.lock);
	}
	door_cm_wake(to);
}

/* --- GET_EVENT ---------------------------------------------------------------------------------------------- */

/*
 * A thread that sleeps in GET_EVENT. It reads a descriptor of its own: such a read() goes on after a signal handler with SA_RESTART,
 * as the kernel's GET_EVENT does, and it does not depend on the channel's descriptor, which the program may close meanwhile.
 *
 * It is allocated, not on the stack: if a signal handler leaves the call by longjmp(), it stays in
 * the list, and wakes still write to its descriptor.
 */
struct door_cm_sleeper {
	struct door_cm_sleeper *next; /* door_cm_channel::sleepers */
	struct door_cm_channel *channel;
	int bell;
};

void
door_cm_wake(struct door_cm_channel *channel)
{
	const uint64_t one = 1;

	for (const struct door_cm_sleeper *sleeper = channel->sleepers; sleeper != NULL;
	     sleeper = sleeper->next)
		(void)!syscall(SYS_write, sleeper->bell, &one, sizeof(one));
}

static void
sleeper_leave(void *arg)
{
	struct door_cm_sleeper *sleeper = (struct door_cm_sleeper *)arg;
	struct door_cm_sleeper **link;

	door_cm_lock();
	for (link = &sleeper->channel->sleepers; *link != sleeper; link = &(*link)->next)
		;
	*link = sleeper->next;
	door_cm_unlock();
	(void)syscall(SYS_close, sleeper->bell);
	free(sleeper);
}

static void
sleeper_cancelled(void *arg)
{
	struct door_cm_sleeper *sleeper = (struct door_cm_sleeper *)arg;
	struct door_cm_channel *channel = sleeper->channel;

	sleeper_leave(sleeper);
	door_cm_channel_put(channel);
}

/* NULL: errno is set. */
static struct door_cm_sleeper *
sleeper_new(struct door_cm_channel *channel)
{
	struct door_cm_sleeper *sleeper = (struct door_cm_sleeper *)malloc(sizeof(*sleeper));

	if (sleeper == NULL)
		return NULL;
	*sleeper = (struct door_cm_sleeper){.channel = channel, .bell = ri_fd_eventfd()};
	if (sleeper->bell < 0) {
		free(sleeper);
		return NULL;
	}
	(void)fcntl(sleeper->bell, F_SETFL, 0);
	return sleeper;
}

/*
 * Sleep until there may be an event; called with the lock, which it releases. 0, or an errno: EINTR
 * after a signal handler without SA_RESTART. The thread may be cancelled here; then the caller's
 * reference to the channel is released.
 */
static int
sleep_on(struct door_cm_channel *channel, int cancel_state)
{
	struct door_cm_sleeper *sleeper = sleeper_new(channel);
	uint64_t count;
	int error;

	if (sleeper == NULL) {
		error = errno;
		door_cm_unlock();
		return error;
	}
	sleeper->next = channel->sleepers;
	channel->sleepers = sleeper;
	door_cm_unlock();
	pthread_cleanup_push(sleeper_cancelled, sleeper);
	(void)pthread_setcancelstate(cancel_state, NULL);
	error = read(sleeper->bell, &count, sizeof(count)) < 0 ? errno : 0;
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_cleanup_pop(0);
	sleeper_leave(sleeper);
	return error;
}

/* Write the oldest event to the program, which owns it then. 0, or an errno: the event stays queued. Called under the lock. */
static int
hand_over(struct door_cm_channel *channel, struct door_cm_event *event, void *response, size_t room)
{
	struct door_cm_id *request = event->request;

	if (request != NULL) {
		if (!door_cm_id_enter(request, channel))
			return ENOMEM;
		event->id->unheard--;
		event->answer.id = request->number;
	}
	pthread_mutex_lock(&channel->events.lock);
	door_events_remove(&channel->events, &event->node);
	pthread_mutex_unlock(&channel->events.lock);
	event->id->reported++;
	if (event->group != NULL)
		event->group->reported++;
	memcpy(response, &event->answer,
	       room < sizeof(event->answer) ? room : sizeof(event->answer));
	free(event);
	return 0;
}

int
door_cm_get_event(struct door_cm_channel *channel, uint64_t response, size_t room, int cancel_state)
{
	int error = 0;

	if (room < offsetof(struct rdma_ucm_event_resp, reserved))
		return ENOSPC;
	if (response == 0)
		return EFAULT;
	door_cm_lock();
	/* A thread that sleeps here when the program closes the channel sleeps on, as in the kernel. */
	while (channel->events.first == NULL && error == 0) {
		if (!door_events_blocks(&channel->events)) {
			error = EAGAIN;
			break;
		}
		error = sleep_on(channel, cancel_state);
		door_cm_lock();
	}
	if (error == 0)
		error = hand_over(channel, event_of(channel->events.first),
				  (void *)(uintptr_t)response, room);
	door_cm_unlock();
	return error;
}
