/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "kal_sums.h"

#include <glib.h>

#include "kal_cm_internal.h"
#include "kal_objects.h"
#include "kal_request.h"
#include "kal_tcp_port.h"

/* The children of at most this number of objects are counted again after each call; of more, a test would take minutes. */
#define OBJECTS_MAX 256

/* --- objects ------------------------------------------------------------------------------- */

/* How often the object names that one as a parent. */
static unsigned
names(const struct kal_object *object, const struct kal_object *parent)
{
	const struct kal_qp *qp = (const struct kal_qp *)object;

	if (object->type == RI_OBJECT_SRQ)
		return &((const struct kal_srq *)object)->pd->object == parent;
	if (object->type == RI_OBJECT_MR)
		return &((const struct kal_mr *)object)->pd->object == parent;
	if (object->type == RI_OBJECT_MW)
		return &((const struct kal_mw *)object)->pd->object == parent;
	if (object->type == RI_OBJECT_AH)
		return &((const struct kal_ah *)object)->pd->object == parent;
	if (object->type != RI_OBJECT_QP)
		return 0;
	return (&qp->pd->object == parent) +
	       (qp->send_cq != NULL && &qp->send_cq->object == parent) +
	       (qp->recv_cq != NULL && &qp->recv_cq->object == parent) +
	       (qp->srq != NULL && &qp->srq->object == parent);
}

/* The free slots are one list, from the one that was freed longest ago to the last one. */
static void
check_free_slots(const struct kal_client *client)
{
	uint32_t last = 0, count = 0;

	for (uint32_t i = client->first_free; i != 0; i = client->slots[i].next_free) {
		g_assert_cmpuint(i, <, client->slot_count);
		g_assert_null(client->slots[i].object);
		g_assert_cmpuint(count++, <, client->free_count);
		last = i;
	}
	g_assert_cmpuint(client->last_free, ==, last);
	g_assert_cmpuint(client->free_count, ==, count);
}

/* With the lock of calls, and no call apart: such a one has counted what it has not entered yet. */
static void
check_objects(const struct kal_client *client)
{
	uint64_t used[KAL_RESOURCE_COUNT] = {0};
	const struct kal_object *object, *child;

	for (uint32_t i = 0; i < client->slot_count; i++) {
		unsigned children = 0;

		object = client->slots[i].object;
		if (object == NULL)
			continue;
		for (uint32_t k = 0; k < client->slot_count; k++) {
			child = client->slots[k].object;
			if (child != NULL)
				children += names(child, object);
		}
		g_assert_cmpuint(object->children, ==, children);
		used[kal_resource_of(object->type)]++;
		if (object->type == RI_OBJECT_MR)
			used[KAL_RESOURCE_MEMORY] += ((const struct kal_mr *)object)->length;
	}
	for (int i = 0; i < KAL_RESOURCE_COUNT; i++)
		g_assert_cmpuint(client->account.used[i], ==, used[i]);
	check_free_slots(client);
}

/* --- events -------------------------------------------------------------------------------- */

static void
check_events(struct kal_client *client)
{
	const struct kal_event_node *last = NULL;
	unsigned async = 0;

	pthread_mutex_lock(&client->event_lock);
	for (const struct kal_event_node *n = client->first; n != NULL; n = n->next) {
		g_assert_true(n->queued);
		async += n->kind == KAL_EVENT_ASYNC;
		last = n;
	}
	g_assert_true(client->last == last);
	g_assert_cmpuint(client->async_queued, ==, async);
	pthread_mutex_unlock(&client->event_lock);
}

/* --- listeners ----------------------------------------------------------------------------- */

static void
check_starts(const struct kal_listener *listener)
{
	unsigned sum = 0;

	for (int stage = 0; stage < KAL_START_STAGES; stage++) {
		const struct kal_start_queue *queue = &listener->starts.queues[stage];
		const struct kal_request *last = NULL;
		unsigned count = 0;

		for (const struct kal_request *r = queue->oldest; r != NULL; r = r->next_start) {
			g_assert_true(r->prev_start == last);
			g_assert_true(r->listener == listener && !r->taken);
			g_assert_cmpint(r->stage, ==, stage);
			last = r;
			count++;
		}
		g_assert_true(queue->newest == last);
		g_assert_cmpuint(queue->count, ==, count);
		sum += count;
	}
	/* One that was taken has its reference until it is freed. */
	g_assert_cmpuint(atomic_load(&listener->refs), >, sum);
}

/* Under the lock of sockets: the service thread accepts at each of them that no other one replaces. */
static void
check_sockets(const struct kal_listener *listener)
{
	if (!listener->ready || listener->tcp_port == NULL)
		return;
	for (const struct kal_listen_sock *s = listener->tcp_port->socks; s != NULL; s = s->next) {
		g_assert_true(s->owner == listener->tcp_port);
		g_assert_true(s->watched || s->deaf);
	}
}

static void
check_listeners(struct kal_cm *cm)
{
	struct kal_link *link = NULL, *at;

	kal_listen_lock();
	pthread_mutex_lock(&cm->lock);
	while ((link = kal_table_next(&cm->listeners, link)) != NULL) {
		const struct kal_listener *listener = kal_entry(link, struct kal_listener, link);
		unsigned waiting = 0;

		for (at = NULL; (at = kal_table_next(&cm->requests, at)) != NULL;) {
			const struct kal_request *request = kal_entry(at, struct kal_request, link);

			g_assert_false(request->taken);
			g_assert_cmpuint(request->id, ==, at->key);
			waiting += request->listener_id == link->key;
			/* The client of the listener has its event, and will have that of its end. */
			if (request->listener_id == link->key)
				g_assert_cmpuint(request->ctx, ==, listener->ctx);
			g_assert_true(request->told == NULL && request->gone != NULL);
		}
		g_assert_cmpuint(atomic_load(&listener->waiting), ==, waiting);
		check_starts(listener);
		check_sockets(listener);
	}
	pthread_mutex_unlock(&cm->lock);
	kal_listen_unlock();
}

/* Those that can be found tell what happens to them. */
static void
check_conns(struct kal_cm *cm)
{
	struct kal_link *link = NULL;

	pthread_mutex_lock(&cm->lock);
	while ((link = kal_table_next(&cm->conns, link)) != NULL)
		g_assert_false(kal_entry(link, struct kal_conn, link)->retired);
	pthread_mutex_unlock(&cm->lock);
}

/* Sockets of refused peers: the list is as long as its count. */
static void
check_partings(struct kal_cm *cm)
{
	pthread_mutex_lock(&cm->lock);
	g_assert_cmpint(cm->partings.count != 0, ==, cm->partings.oldest != NULL);
	g_assert_cmpint(cm->partings.count > 1, ==, cm->partings.oldest != cm->partings.newest);
	pthread_mutex_unlock(&cm->lock);
}

void
kal_sums_check(struct kal_client *client)
{
	struct kal_rnic *rnic = NULL;

	check_events(client);
	/* A call that a test holds up inside of the provider would hold this one up, too. */
	if (pthread_mutex_trylock(&client->calls) != 0)
		return;
	if (client->apart == 0) {
		if (client->slot_count <= OBJECTS_MAX)
			check_objects(client);
		while ((rnic = kal_rnic_next(client, rnic)) != NULL) {
			check_listeners(rnic->cm);
			check_conns(rnic->cm);
			check_partings(rnic->cm);
		}
	}
	pthread_mutex_unlock(&client->calls);
}
