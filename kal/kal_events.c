/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The one stream of news of a client, oldest first.
 *
 * A fired CQ queues a node that is part of the CQ, once however often it fires before it is taken:
 * nothing is lost and nothing is allocated. Connection news are few for each connection, requests are bounded
 * by the backlogs of the listeners, and the nodes of both were reserved. Other asynchronous events are bounded
 * too; beyond that, or if there is neither memory nor a spare node, they are dropped with a line in the log.
 *
 * What names an object leaves the queue when the object is destroyed: a client never hears of what it
 * has given back.
 */
#include <errno.h>
#include <stdlib.h>
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

/* The caller holds news_lock. It was taken, or nobody will take it. */
static void
let_go(struct kal_client *client, struct kal_news *news)
{
	client->async_queued -= news->kind == KAL_EVENT_ASYNC;
	if (news->home == KAL_NEWS_SPARE) {
		news->next = client->spare;
		client->spare = news;
	} else if (news->home == KAL_NEWS_HEAP) {
		free(news);
	}
}

/* The caller holds news_lock. Take out what `is` picks; true if there was any. */
static bool
drop(struct kal_client *client, bool (*is)(const struct kal_news *news, const void *arg),
     const void *arg)
{
	struct kal_news **link = &client->first;
	bool any = false;

	client->last = NULL;
	while (*link != NULL) {
		struct kal_news *news = *link;

		if (!is(news, arg)) {
			client->last = news;
			link = &news->next;
			continue;
		}
		any = true;
		*link = news->next;
		news->queued = false;
		let_go(client, news);
	}
	return any;
}

static const struct kal_cm_event *
cm_of(const struct kal_news *news)
{
	return &((const struct kal_news_cm *)news)->event;
}

/* An asynchronous event of the object of that type and context? */
static bool
is_async_of(const struct kal_news *news, enum ri_object type, uint64_t ctx)
{
	return news->kind == KAL_EVENT_ASYNC && news->ctx == ctx &&
	       ((const struct kal_news_async *)news)->event.object == (uint32_t)type;
}

/* The arrival of that very request? */
static bool
is_request(const struct kal_news *news, const void *id)
{
	return news->kind == KAL_EVENT_CM &&
	       (cm_of(news)->kind == KAL_CM_REQUEST ||
		cm_of(news)->kind == KAL_CM_SERVICE_REQUEST) &&
	       cm_of(news)->request == *(const uint32_t *)id;
}

/* Of the connection of that queue pair? */
static bool
is_of_conn(const struct kal_news *news, const void *ctx)
{
	return news->kind == KAL_EVENT_CM && news->ctx == *(const uint64_t *)ctx &&
	       cm_of(news)->kind != KAL_CM_REQUEST && cm_of(news)->kind != KAL_CM_REQUEST_GONE;
}

static bool
is_of_qp(const struct kal_news *news, const void *ctx)
{
	return is_async_of(news, RI_OBJECT_QP, *(const uint64_t *)ctx) || is_of_conn(news, ctx);
}

static bool
is_of_srq(const struct kal_news *news, const void *ctx)
{
	return is_async_of(news, RI_OBJECT_SRQ, *(const uint64_t *)ctx);
}

static bool
is_of_cq(const struct kal_news *news, const void *ctx)
{
	return is_async_of(news, RI_OBJECT_CQ, *(const uint64_t *)ctx);
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
		pending = is_of_conn(n, &ctx);
	pthread_mutex_unlock(&client->news_lock);
	return pending;
}

struct kal_news_cm *
kal_news_cm_new(void)
{
	struct kal_news_cm *news = calloc(1, sizeof(*news));

	if (news != NULL)
		news->news.kind = KAL_EVENT_CM;
	return news;
}

void
kal_news_cm_free(struct kal_news_cm *news)
{
	free(news);
}

void
kal_news_cm(struct kal_client *client, struct kal_news_cm *news)
{
	bool unseen = false;

	pthread_mutex_lock(&client->news_lock);
	/* A request that went before the client saw it never was: peers cannot make the queue grow. */
	if (news->event.kind == KAL_CM_REQUEST_GONE)
		unseen = drop(client, is_request, &news->event.request);
	if (!unseen)
		append(client, &news->news);
	pthread_mutex_unlock(&client->news_lock);
	if (unseen)
		kal_news_cm_free(news);
}

/* The caller holds news_lock. */
static struct kal_news *
take_spare(struct kal_client *client)
{
	struct kal_news *news = client->spare;

	if (news != NULL)
		client->spare = news->next;
	return news;
}

void
kal_news_async(struct kal_client *client, uint64_t ctx, const struct ri_async_event *event)
{
	struct kal_news_async *fresh = calloc(1, sizeof(*fresh)), *news = NULL;

	pthread_mutex_lock(&client->news_lock);
	if (client->async_queued < ASYNC_MAX)
		news = fresh != NULL ? fresh : (struct kal_news_async *)take_spare(client);
	if (news != NULL) {
		news->news.kind = KAL_EVENT_ASYNC;
		news->news.ctx = ctx;
		news->event = *event;
		client->async_queued++;
		append(client, &news->news);
	}
	pthread_mutex_unlock(&client->news_lock);
	if (news != NULL)
		return;
	free(fresh);
	client->host->log(client->host->self, RI_LOG_WARNING, "kal events",
			  "an asynchronous event was dropped: nobody takes them, or no memory");
}

void
kal_news_init(struct kal_client *client)
{
	for (size_t i = 0; i < G_N_ELEMENTS(client->spares); i++) {
		struct kal_news *news = &client->spares[i].news;

		news->home = KAL_NEWS_SPARE;
		news->next = client->spare;
		client->spare = news;
	}
}

static bool
is_node(const struct kal_news *news, const void *one)
{
	return news == one;
}

void
kal_news_forget(struct kal_client *client, struct kal_news *news)
{
	pthread_mutex_lock(&client->news_lock);
	(void)drop(client, is_node, news);
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
copy_out(struct kal_event *out, const struct kal_news *in)
{
	out->kind = in->kind;
	out->reserved = 0;
	out->ctx = in->ctx;
	if (in->kind == KAL_EVENT_ASYNC)
		out->u.async = ((const struct kal_news_async *)in)->event;
	else if (in->kind == KAL_EVENT_CM)
		out->u.cm = *cm_of(in);
}

bool
kal_next_event(struct kal_client *client, struct kal_event *event)
{
	struct kal_news *news;
	bool any;
	uint64_t count;

	pthread_mutex_lock(&client->news_lock);
	news = client->first;
	any = news != NULL;
	if (any) {
		client->first = news->next;
		if (client->first == NULL)
			client->last = NULL;
		news->queued = false;
		copy_out(event, news);
		let_go(client, news);
	} else if (client->fd >= 0) {
		(void)!read(client->fd, &count, sizeof(count));
	}
	pthread_mutex_unlock(&client->news_lock);
	return any;
}

int
kal_client_fd(struct kal_client *client)
{
	return client->fd;
}
