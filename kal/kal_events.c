/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The event queue of a client, oldest event first.
 *
 * A fired CQ queues a node that is part of the CQ, once however often it fires before it is taken:
 * nothing is lost and nothing is allocated. A connection has few events, requests are bounded by the backlogs
 * of the listeners, and the nodes of both were reserved. The number of other asynchronous events is limited;
 * beyond the limit, or if there is neither memory nor a spare node, an event is dropped with a line in the log.
 *
 * Events of an object leave the queue when the object is destroyed, so a client never gets an event of an
 * object that it has destroyed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kal_objects.h"
#include "ri_calls.h"
#include "ri_errno.h"
#include "ri_log.h"
#include "ri_owned.h"

#define ASYNC_MAX 4096

/* The caller owns event_lock. */
static void
node_append(struct kal_client *client, struct kal_event_node *node)
{
	RI_ASSERT_OWNED(&client->event_lock);
	node->queued = true;
	node->next = NULL;
	if (client->last != NULL)
		client->last->next = node;
	else
		client->first = node;
	client->last = node;
}

void
kal_events_kick(struct kal_client *client)
{
	uint64_t one = 1;

	if (client->kick != NULL)
		client->kick(client->arg);
	else if (ri_write(client->fd, &one, sizeof(one)) < 0 && errno != EAGAIN)
		ri_log(client->host, RI_LOG_ERROR, &(struct ri_log_about){.layer = "kal"},
		       "cannot wake the application for an event: the write to descriptor %d "
		       "failed: %s",
		       client->fd, ri_errno_text(errno));
}

void
kal_events_cq(struct kal_client *client, struct kal_cq *cq)
{
	bool fresh;

	pthread_mutex_lock(&client->event_lock);
	fresh = !cq->fired.queued;
	if (fresh)
		node_append(client, &cq->fired);
	pthread_mutex_unlock(&client->event_lock);
	if (fresh)
		kal_events_kick(client);
}

/* The caller owns event_lock. The event was taken or removed: give its node back. */
static void
node_recycle(struct kal_client *client, struct kal_event_node *node)
{
	RI_ASSERT_OWNED(&client->event_lock);
	client->async_queued -= node->kind == KAL_EVENT_ASYNC;
	if (node->home == KAL_NODE_SPARE) {
		node->next = client->spare;
		client->spare = node;
	} else if (node->home == KAL_NODE_HEAP) {
		free(node);
	}
}

/* The caller owns event_lock. Remove the nodes for which `is` is true; true if there was any. */
static bool
nodes_remove(struct kal_client *client,
	     bool (*is)(const struct kal_event_node *node, const void *arg), const void *arg)
{
	struct kal_event_node **link = &client->first;
	bool any = false;

	RI_ASSERT_OWNED(&client->event_lock);
	client->last = NULL;
	while (*link != NULL) {
		struct kal_event_node *node = *link;

		if (!is(node, arg)) {
			client->last = node;
			link = &node->next;
			continue;
		}
		any = true;
		*link = node->next;
		node->queued = false;
		node_recycle(client, node);
	}
	return any;
}

static const struct kal_cm_event *
cm_of(const struct kal_event_node *node)
{
	return &((const struct kal_cm_node *)node)->event;
}

/* An asynchronous event of the object of that type and context? */
static bool
is_async_of(const struct kal_event_node *node, enum ri_object type, uint64_t ctx)
{
	return node->kind == KAL_EVENT_ASYNC && node->ctx == ctx &&
	       ((const struct kal_async_node *)node)->event.object == (uint32_t)type;
}

/* The arrival of that very request? */
static bool
is_request(const struct kal_event_node *node, const void *id)
{
	return node->kind == KAL_EVENT_CM &&
	       (cm_of(node)->kind == KAL_CM_REQUEST ||
		cm_of(node)->kind == KAL_CM_SERVICE_REQUEST) &&
	       cm_of(node)->request == *(const uint32_t *)id;
}

/* Of the connection of that queue pair? */
static bool
is_of_conn(const struct kal_event_node *node, const void *ctx)
{
	return node->kind == KAL_EVENT_CM && node->ctx == *(const uint64_t *)ctx &&
	       cm_of(node)->kind != KAL_CM_REQUEST && cm_of(node)->kind != KAL_CM_REQUEST_GONE;
}

static bool
is_of_qp(const struct kal_event_node *node, const void *ctx)
{
	return is_async_of(node, RI_OBJECT_QP, *(const uint64_t *)ctx) || is_of_conn(node, ctx);
}

static bool
is_of_srq(const struct kal_event_node *node, const void *ctx)
{
	return is_async_of(node, RI_OBJECT_SRQ, *(const uint64_t *)ctx);
}

static bool
is_of_cq(const struct kal_event_node *node, const void *ctx)
{
	return is_async_of(node, RI_OBJECT_CQ, *(const uint64_t *)ctx);
}

void
kal_events_forget_ctx(struct kal_client *client, enum ri_object type, uint64_t ctx)
{
	pthread_mutex_lock(&client->event_lock);
	(void)nodes_remove(client,
			   type == RI_OBJECT_QP   ? is_of_qp
			   : type == RI_OBJECT_CQ ? is_of_cq
						  : is_of_srq,
			   &ctx);
	pthread_mutex_unlock(&client->event_lock);
}

bool
kal_events_pending_qp(struct kal_client *client, uint64_t ctx)
{
	bool pending = false;

	pthread_mutex_lock(&client->event_lock);
	for (struct kal_event_node *n = client->first; n != NULL && !pending; n = n->next)
		pending = is_of_conn(n, &ctx);
	pthread_mutex_unlock(&client->event_lock);
	return pending;
}

struct kal_cm_node *
kal_cm_node_new(void)
{
	struct kal_cm_node *node = calloc(1, sizeof(*node));

	if (node != NULL)
		node->node.kind = KAL_EVENT_CM;
	return node;
}

struct kal_cm_node *
kal_cm_node_new_bare(void)
{
	struct kal_event_node *node = calloc(1, offsetof(struct kal_cm_node, event.pdata));

	if (node == NULL)
		return NULL;
	node->kind = KAL_EVENT_CM;
	node->bare = true;
	return (struct kal_cm_node *)node;
}

void
kal_cm_node_free(struct kal_cm_node *node)
{
	free(node);
}

void
kal_events_cm(struct kal_client *client, struct kal_cm_node *node)
{
	bool unseen = false;

	pthread_mutex_lock(&client->event_lock);
	/* A request that is gone before the client took its arrival leaves no event: peers cannot make the queue grow. */
	if (node->event.kind == KAL_CM_REQUEST_GONE)
		unseen = nodes_remove(client, is_request, &node->event.request);
	if (!unseen)
		node_append(client, &node->node);
	pthread_mutex_unlock(&client->event_lock);
	if (unseen)
		kal_cm_node_free(node);
}

void
kal_events_async(struct kal_client *client, uint64_t ctx, const struct ri_async_event *event)
{
	struct kal_async_node *fresh = calloc(1, sizeof(*fresh)), *node = fresh;
	unsigned waiting;

	pthread_mutex_lock(&client->event_lock);
	waiting = client->async_queued;
	if (waiting >= ASYNC_MAX) {
		node = NULL;
	} else if (fresh == NULL && client->spare != NULL) {
		node = (struct kal_async_node *)client->spare;
		client->spare = client->spare->next;
	}
	if (node != NULL) {
		node->node.kind = KAL_EVENT_ASYNC;
		node->node.ctx = ctx;
		node->event = *event;
		client->async_queued++;
		node_append(client, &node->node);
	}
	pthread_mutex_unlock(&client->event_lock);
	if (node != NULL)
		return;
	free(fresh);
	ri_log(client->host, RI_LOG_WARNING, &(struct ri_log_about){.layer = "kal"},
	       "dropped the asynchronous event %u: %s (%u of at most %u events are queued)",
	       (unsigned)event->event, waiting < ASYNC_MAX ? "no memory" : "the queue is full",
	       waiting, ASYNC_MAX);
}

void
kal_events_init(struct kal_client *client)
{
	for (size_t i = 0; i < G_N_ELEMENTS(client->spares); i++) {
		struct kal_event_node *node = &client->spares[i].node;

		node->home = KAL_NODE_SPARE;
		node->next = client->spare;
		client->spare = node;
	}
}

static bool
is_node(const struct kal_event_node *node, const void *one)
{
	return node == one;
}

void
kal_events_forget(struct kal_client *client, struct kal_event_node *node)
{
	pthread_mutex_lock(&client->event_lock);
	(void)nodes_remove(client, is_node, node);
	pthread_mutex_unlock(&client->event_lock);
}

void
kal_events_drop_all(struct kal_client *client)
{
	struct kal_event event;

	while (kal_next_event(client, &event))
		;
}

bool
kal_next_event(struct kal_client *client, struct kal_event *event)
{
	const size_t bare = offsetof(struct kal_cm_event, pdata);
	struct kal_event_node *node;
	bool any;
	uint64_t count;

	pthread_mutex_lock(&client->event_lock);
	node = client->first;
	any = node != NULL;
	if (any) {
		client->first = node->next;
		if (client->first == NULL)
			client->last = NULL;
		node->queued = false;
		/* Only what the kind has is copied: an event of a connection is large, a fired CQ is one number. */
		event->kind = node->kind;
		event->reserved = 0;
		event->ctx = node->ctx;
		if (node->kind == KAL_EVENT_ASYNC) {
			event->u.async = ((const struct kal_async_node *)node)->event;
		} else if (node->kind == KAL_EVENT_CM && !node->bare) {
			event->u.cm = *cm_of(node);
		} else if (node->kind == KAL_EVENT_CM) {
			/* A bare node ends before the private data. */
			memcpy(&event->u.cm,
			       (const char *)node + offsetof(struct kal_cm_node, event), bare);
			memset(event->u.cm.pdata, 0, sizeof(event->u.cm) - bare);
		}
		node_recycle(client, node);
	} else if (client->fd >= 0) {
		(void)!ri_read(client->fd, &count, sizeof(count));
	}
	pthread_mutex_unlock(&client->event_lock);
	return any;
}

int
kal_client_fd(struct kal_client *client)
{
	return client->fd;
}
