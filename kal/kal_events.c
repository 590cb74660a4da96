/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The one stream of news of a client, oldest first.
 *
 * A fired CQ queues a node that is part of the CQ, once however often it fires before it is taken:
 * nothing is lost and nothing is allocated. Connection news are few for each connection. Other
 * asynchronous events are bounded; beyond that they are dropped with a line in the log.
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
	pthread_mutex_lock(&client->news_lock);
	if (!cq->fired.queued)
		append(client, &cq->fired);
	pthread_mutex_unlock(&client->news_lock);
	kal_news_kick(client);
}

void
kal_news_cm(struct kal_client *client, uint64_t ctx, const struct kal_cm_event *event)
{
	struct kal_news *news = g_new0(struct kal_news, 1);

	news->event.kind = KAL_EVENT_CM;
	news->event.ctx = ctx;
	news->event.u.cm = *event;
	pthread_mutex_lock(&client->news_lock);
	append(client, news);
	pthread_mutex_unlock(&client->news_lock);
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

void
kal_news_forget(struct kal_client *client, struct kal_news *news)
{
	struct kal_news *before = NULL;

	pthread_mutex_lock(&client->news_lock);
	for (struct kal_news *n = client->first; n != NULL && news->queued; n = n->next) {
		if (n == news) {
			if (before != NULL)
				before->next = n->next;
			else
				client->first = n->next;
			if (client->last == n)
				client->last = before;
			news->queued = false;
		}
		before = n;
	}
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
