/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Completion channels. A completion queue that fires joins the channel's list once, with a count of
 * its events. It has only one place in the list: when one of its events is taken and others are
 * left, it joins again at the end.
 *
 * A thread in ibv_get_cq_event sleeps like any waiter of a session: it runs the engine of a
 * software provider, so it often finds the event itself.
 */
#include "door_channel.h"

#include <errno.h>
#include <stdlib.h>

#include "door_export.h"
#include "session_cancel.h"
#include "session_wait.h"

#define PROGRESS_BUDGET 16 /* messages of a round of the engine before a thread sleeps */

/* --- create and destroy -------------------------------------------------------------------------------- */

EXPORT struct ibv_comp_channel *
ibv_create_comp_channel(struct ibv_context *context)
{
	struct door_channel *channel;
	SESSION_DEFER;

	if (door_adapter_of(context)->inherited) {
		errno = EIO;
		return NULL;
	}
	channel = (struct door_channel *)calloc(1, sizeof(*channel));
	if (channel == NULL)
		return NULL;
	if (!door_events_init(&channel->events)) {
		free(channel);
		return NULL;
	}
	session_spin_init(&channel->spin);
	channel->context = door_context_of(context);
	channel->channel.context = context;
	channel->channel.fd = channel->events.fd;
	door_context_hold(channel->context);
	return &channel->channel;
}

static void
count_queues(struct door_channel *channel, int more)
{
	pthread_mutex_lock(&channel->channel.context->mutex);
	channel->channel.refcnt += more;
	pthread_mutex_unlock(&channel->channel.context->mutex);
}

EXPORT int
ibv_destroy_comp_channel(struct ibv_comp_channel *ibv)
{
	struct door_channel *channel = door_channel_of(ibv);
	struct door_context *context = channel->context;
	int queues;
	SESSION_DEFER;

	if (context->adapter->inherited)
		return 0;
	pthread_mutex_lock(&ibv->context->mutex);
	queues = ibv->refcnt;
	pthread_mutex_unlock(&ibv->context->mutex);
	if (queues != 0)
		return EBUSY;
	door_events_fini(&channel->events);
	free(channel);
	door_context_put(context);
	return 0;
}

void
door_channel_join(struct door_channel *channel)
{
	count_queues(channel, 1);
}

void
door_channel_leave(struct door_channel *channel, struct door_cq *cq)
{
	unsigned due;

	pthread_mutex_lock(&channel->events.lock);
	door_events_remove(&channel->events, &cq->fired);
	due = cq->fired_taken;
	pthread_mutex_unlock(&channel->events.lock);
	pthread_mutex_lock(&cq->cq.mutex);
	while (door_events_unacknowledged(due, cq->cq.comp_events_completed))
		pthread_cond_wait(&cq->cq.cond, &cq->cq.mutex);
	pthread_mutex_unlock(&cq->cq.mutex);
	count_queues(channel, -1);
}

/* --- events -------------------------------------------------------------------------------------------- */

/* Wake the first thread in the line if there is an event for it. Called under the lock. */
static void
wake_first(const struct door_channel *channel)
{
	if (channel->events.first != NULL && channel->line.first != NULL)
		session_sleep_wake(channel->line.first);
}

void
door_channel_fire(struct door_channel *channel, struct door_cq *cq)
{
	pthread_mutex_lock(&channel->events.lock);
	cq->fired_num++;
	if (cq->fired.queued)
		door_events_repeat(&channel->events);
	else
		door_events_add(&channel->events, &cq->fired);
	wake_first(channel);
	pthread_mutex_unlock(&channel->events.lock);
}

/* Only the first of the line takes an event; waiter NULL: only if there is no line. */
static struct door_cq *
event_take(struct door_channel *channel, const struct session_waiter *waiter)
{
	struct door_event *event = NULL;
	struct door_cq *cq = NULL;

	pthread_mutex_lock(&channel->events.lock);
	if (channel->line.first == waiter)
		event = door_events_take(&channel->events);
	if (event != NULL) {
		cq = (struct door_cq *)(void *)((char *)event - offsetof(struct door_cq, fired));
		cq->fired_taken++;
		if (--cq->fired_num > 0)
			door_events_add(&channel->events, &cq->fired);
	}
	pthread_mutex_unlock(&channel->events.lock);
	return cq;
}

/* --- waiting ------------------------------------------------------------------------------------------- */

struct sought {
	struct door_channel *channel;
	struct door_cq *cq;
};

static bool
look(void *arg)
{
	struct sought *sought = (struct sought *)arg;
	struct session *session = &sought->channel->context->adapter->session;

	if (session->attr.software)
		(void)session_progress(session, PROGRESS_BUDGET);
	sought->cq = event_take(sought->channel, NULL);
	return sought->cq != NULL;
}

static void
taker_leave(struct door_channel *channel)
{
	pthread_mutex_lock(&channel->events.lock);
	door_events_taker_leave(&channel->events);
	pthread_mutex_unlock(&channel->events.lock);
}

static void
line_leave(struct door_channel *channel, struct session_waiter *waiter)
{
	pthread_mutex_lock(&channel->events.lock);
	session_line_leave(&channel->line, waiter);
	wake_first(channel);
	pthread_mutex_unlock(&channel->events.lock);
}

static void
sleep_cancelled(void *arg, struct session_waiter *waiter)
{
	struct door_channel *channel = (struct door_channel *)arg;

	line_leave(channel, waiter);
	taker_leave(channel);
}

/* Sleep until there is an event; NULL: errno is set. */
static struct door_cq *
sleep_for_event(struct door_channel *channel)
{
	struct session *session = &channel->context->adapter->session;
	struct session_waiter *waiter =
		session_sleep_enter(session, true, sleep_cancelled, channel);
	enum ri_status slept = RI_SUCCESS;
	struct door_cq *cq;

	if (waiter == NULL) {
		errno = ENOMEM;
		return NULL;
	}
	pthread_mutex_lock(&channel->events.lock);
	session_line_join(&channel->line, waiter);
	pthread_mutex_unlock(&channel->events.lock);
	while ((cq = event_take(channel, waiter)) == NULL && slept == RI_SUCCESS) {
		slept = session_sleep(waiter, RI_NEVER);
		if (slept == RI_ERR_INTERRUPTED && door_events_restarts())
			slept = RI_SUCCESS;
	}
	line_leave(channel, waiter);
	session_sleep_leave(waiter);
	if (cq == NULL)
		errno = slept == RI_ERR_INTERRUPTED ? EINTR : EIO;
	return cq;
}

static struct door_cq *
wait_for_event(struct door_channel *channel)
{
	struct sought sought = {.channel = channel};
	struct session_wait wait;

	session_wait_begin(&wait, &channel->context->adapter->session, &channel->spin, UINT64_MAX);
	if (look(&sought) || session_wait_awake(&wait, look, &sought))
		return sought.cq;
	sought.cq = sleep_for_event(channel);
	if (sought.cq != NULL)
		session_wait_slept(&wait);
	return sought.cq;
}

EXPORT int
ibv_get_cq_event(struct ibv_comp_channel *ibv, struct ibv_cq **cq, void **cq_context)
{
	struct door_channel *channel = door_channel_of(ibv);
	struct door_cq *found;

	if (channel->context->adapter->inherited) {
		errno = EIO;
		return -1;
	}
	found = event_take(channel, NULL);
	if (found == NULL && !door_events_blocks(&channel->events)) {
		errno = EAGAIN;
		return -1;
	}
	if (found == NULL) {
		pthread_mutex_lock(&channel->events.lock);
		door_events_taker_enter(&channel->events);
		pthread_mutex_unlock(&channel->events.lock);
		found = wait_for_event(channel);
		taker_leave(channel);
	}
	if (found == NULL)
		return -1;
	*cq = &found->cq;
	*cq_context = found->cq.cq_context;
	return 0;
}

EXPORT void
ibv_ack_cq_events(struct ibv_cq *cq, unsigned nevents)
{
	pthread_mutex_lock(&cq->mutex);
	cq->comp_events_completed += nevents;
	pthread_cond_signal(&cq->cond);
	pthread_mutex_unlock(&cq->mutex);
}
