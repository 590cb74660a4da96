/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The one stream of news of a client, oldest first.
 *
 * A fired CQ queues a node that is part of the CQ, once however often it fires before it is taken:
 * nothing is lost and nothing is allocated. Connection news are few for each connection, and requests
 * are bounded by the backlogs of the listeners. Other asynchronous events are bounded too; beyond that
 * they are dropped with a line in the log.
 *
 * What names an object leaves the queue when the object is destroyed: a client never hears of what it
 * has given back.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "kal_objects.h"

#define ASYNC_MAX 4096

/* The caller holds news_lock. */
static void
append(struct kal_client *client, struct kal_news *news)
{
	news->queued = true;
	news->next = NULL;
	if (client->last != NULL)
		client->last->next = news;
	else
		client->first = news;
	client->last = news;
}

void
kal_news_kick(struct kal_client *client)
{
	uint64_t one = 1;

	if (client->kick != NULL)
		client->kick(client->arg);
	else if (write(client->fd, &one, sizeof(one)) < 0 && errno != EAGAIN)
		client->host->log(client->host->self, RI_LOG_ERROR, "kal events", "eventfd failed");
}

void
kal_news_cq(struct kal_client *client, struct kal_cq *cq)
{
	bool fresh;

	pthread_mutex_lock(&client->news_lock);
	fresh = !cq->fired.queued;
	if (fresh)
		append(client, &cq->fired);
	pthread_mutex_unlock(&client->news_lock);
	if (fresh)
		kal_news_kick(client);
}

/* The caller holds news_lock. Take out what `is` picks; true if there was any. */
static bool
drop(struct kal_client *client, bool (*is)(const struct kal_event *event, const void *arg),
     const void *arg)
{
	struct kal_news **link = &client->first;
	bool any = false;

	client->last = NULL;
	while (*link != NULL) {
		struct kal_news *news = *link;

		if (!is(&news->event, arg)) {
			client->last = news;
			link = &news->next;
			continue;
		}
		any = true;
		*link = news->next;
		news->queued = false;
		client->async_queued -= news->event.kind == KAL_EVENT_ASYNC;
		if (!news->own)
			g_free(news);
	}
	return any;
}

/* The arrival of the very request whose end this is? */
static bool
is_request(const struct kal_event *event, const void *gone)
{
	return event->kind == KAL_EVENT_CM &&
	       (event->u.cm.kind == KAL_CM_REQUEST || event->u.cm.kind == KAL_CM_SERVICE_REQUEST) &&
	       event->u.cm.request == ((const struct kal_event *)gone)->u.cm.request;
}

static bool
is_of_qp(const struct kal_event *event, const void *ctx)
{
	if (event->ctx != *(const uint64_t *)ctx)
		return false;
	if (event->kind == KAL_EVENT_ASYNC)
		return event->u.async.object == RI_OBJECT_QP;
	return event->kind == KAL_EVENT_CM && event->u.cm.kind != KAL_CM_REQUEST &&
	       event->u.cm.kind != KAL_CM_REQUEST_GONE;
}

static bool
is_of_srq(const struct kal_event *event, const void *ctx)
{
	return event->ctx == *(const uint64_t *)ctx && event->kind == KAL_EVENT_ASYNC &&
	       event->u.async.object == RI_OBJECT_SRQ;
}

static bool
is_of_cq(const struct kal_event *event, const void *ctx)
{
	return event->ctx == *(const uint64_t *)ctx && event->kind == KAL_EVENT_ASYNC &&
	       event->u.async.object == RI_OBJECT_CQ;
}

void
kal_news_forget_ctx(struct kal_client *client, enum ri_object type, uint64_t ctx)
{
	pthread_mutex_lock(&client->news_lock);
	(void)drop(client,
		   type == RI_OBJECT_QP   ? is_of_qp
		   : type == RI_OBJECT_CQ ? is_of_cq
					  : is_of_srq,
		   &ctx);
	pthread_mutex_unlock(&client->news_lock);
}

bool
kal_news_pending_qp(struct kal_client *client, uint64_t ctx)
{
	bool pending = false;

	pthread_mutex_lock(&client->news_lock);
	for (struct kal_news *n = client->first; n != NULL && !pending; n = n->next)
		pending = n->event.kind == KAL_EVENT_CM && is_of_qp(&n->event, &ctx);
	pthread_mutex_unlock(&client->news_lock);
	return pending;
}

void
kal_news_cm(struct kal_client *client, uint64_t ctx, const struct kal_cm_event *event)
{
	struct kal_news *news = g_new0(struct kal_news, 1);

	bool unseen = false;

	news->event.kind = KAL_EVENT_CM;
	news->event.ctx = ctx;
	news->event.u.cm = *event;
	pthread_mutex_lock(&client->news_lock);
	/* A request that went before the client saw it never was: peers cannot make the queue grow. */
	if (event->kind == KAL_CM_REQUEST_GONE)
		unseen = drop(client, is_request, &news->event);
	if (!unseen)
		append(client, news);
	pthread_mutex_unlock(&client->news_lock);
	if (unseen)
		g_free(news);
}

void
kal_news_async(struct kal_client *client, uint64_t ctx, const struct ri_async_event *event)
{
	struct kal_news *news = g_new0(struct kal_news, 1);
	bool room;

	news->event.kind = KAL_EVENT_ASYNC;
	news->event.ctx = ctx;
	news->event.u.async = *event;
	pthread_mutex_lock(&client->news_lock);
	room = client->async_queued < ASYNC_MAX;
	if (room) {
		client->async_queued++;
		append(client, news);
	}
	pthread_mutex_unlock(&client->news_lock);
	if (!room) {
		g_free(news);
		client->host->log(client->host->self, RI_LOG_WARNING, "kal events",
				  "an asynchronous event was dropped: nobody takes them");
	}
}

static bool
is_event(const struct kal_event *event, const void *one)
{
	return event == one;
}

void
kal_news_forget(struct kal_client *client, struct kal_news *news)
{
	pthread_mutex_lock(&client->news_lock);
	(void)drop(client, is_event, &news->event);
	pthread_mutex_unlock(&client->news_lock);
}

void
kal_news_drop_all(struct kal_client *client)
{
	struct kal_event event;

	while (kal_next_event(client, &event))
		;
}

/* Only what the kind has is copied: connection news are large, a fired CQ is one number. */
static void
copy_out(struct kal_event *out, const struct kal_event *in)
{
	out->kind = in->kind;
	out->reserved = 0;
	out->ctx = in->ctx;
	if (in->kind == KAL_EVENT_ASYNC)
		out->u.async = in->u.async;
	else if (in->kind == KAL_EVENT_CM)
		out->u.cm = in->u.cm;
}

bool
kal_next_event(struct kal_client *client, struct kal_event *event)
{
	struct kal_news *news;
	bool own = false;
	uint64_t count;

	pthread_mutex_lock(&client->news_lock);
	news = client->first;
	if (news != NULL) {
		client->first = news->next;
		if (client->first == NULL)
			client->last = NULL;
		news->queued = false;
		own = news->own;
		client->async_queued -= news->event.kind == KAL_EVENT_ASYNC;
		copy_out(event, &news->event);
	} else if (client->fd >= 0) {
		(void)!read(client->fd, &count, sizeof(count));
	}
	pthread_mutex_unlock(&client->news_lock);
	/* A node of a CQ may be queued again, or be gone, by now. */
	if (!own)
		g_free(news);
	return news != NULL;
}

int
kal_client_fd(struct kal_client *client)
{
	return client->fd;
}
