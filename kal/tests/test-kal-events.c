/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The event queue of a client alone: order, removal, limit, descriptor. */
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "kal_objects.h"
#ifdef WITH_SCARCE
#include "scarce.h"
#endif

#define ASYNC_MAX 4096 /* the limit of events in the queue, chosen for the test */

static struct kal_client client;
static unsigned lines; /* of the log */
static long live;      /* blocks of the heap before the stream was opened */

/* Without that allocator nothing is counted. */
static long
live_now(void)
{
#ifdef WITH_SCARCE
	return scarce_live();
#else
	return 0;
#endif
}

static void
log_line(void *self, enum ri_log_level level, const char *where, const char *text)
{
	(void)self, (void)where, (void)text;
	g_assert_cmpint(level, ==, RI_LOG_WARNING);
	lines++;
}

static const struct ri_host host = {
	.size = sizeof(host), .log = log_line, .log_level = RI_LOG_WARNING};

static void
open_stream(void)
{
	live = live_now();
	memset(&client, 0, sizeof(client));
	pthread_mutex_init(&client.event_lock, NULL);
	kal_events_init(&client);
	client.host = &host;
	lines = 0;
	client.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	g_assert_cmpint(client.fd, >=, 0);
}

static void
close_stream(void)
{
	struct kal_event event;

	g_assert_false(kal_next_event(&client, &event));
	g_assert_null(client.first);
	g_assert_cmpuint(client.async_queued, ==, 0);
	close(client.fd);
	pthread_mutex_destroy(&client.event_lock);
	g_assert_cmpint(live_now(), <=, live); /* GLib frees something of its own now and then */
}

static void
tell_qp(uint64_t ctx, enum ri_event event)
{
	const struct ri_async_event async = {.event = event, .object = RI_OBJECT_QP, .ctx = ctx};

	kal_events_async(&client, ctx, &async);
}

static void
tell_request(enum kal_cm_kind kind, uint32_t request)
{
	struct kal_cm_node *node = kal_cm_node_new();

	g_assert_nonnull(node);
	node->node.ctx = 1;
	node->event = (struct kal_cm_event){.kind = kind, .request = request};
	kal_events_cm(&client, node);
}

/* The next event is one of this context. */
static struct kal_event
expect(uint64_t ctx)
{
	struct kal_event event;

	g_assert_true(kal_next_event(&client, &event));
	g_assert_cmpuint(event.ctx, ==, ctx);
	return event;
}

static void
test_order(void)
{
	open_stream();
	for (uint64_t ctx = 1; ctx <= 5; ctx++)
		tell_qp(ctx, RI_EVENT_QP_RQ_LIMIT);
	for (uint64_t ctx = 1; ctx <= 5; ctx++)
		expect(ctx);
	/* Empty, and then used again. */
	tell_qp(9, RI_EVENT_QP_RQ_LIMIT);
	g_assert_true(client.first != NULL && client.first == client.last);
	expect(9);
	close_stream();
}

/*
 * The queued events of an object that is destroyed are removed from the front, the middle and the end; others stay.
 */
static void
test_forget(void)
{
	struct kal_cq cq = {.ctx = 7,
			    .fired = {.home = KAL_NODE_OWN, .kind = KAL_EVENT_CQ, .ctx = 7}};

	open_stream();
	tell_qp(1, RI_EVENT_QP_RQ_LIMIT);
	tell_qp(2, RI_EVENT_QP_RQ_LIMIT);
	tell_qp(1, RI_EVENT_QP_RQ_LIMIT);
	tell_qp(3, RI_EVENT_QP_RQ_LIMIT);
	tell_qp(1, RI_EVENT_QP_RQ_LIMIT);
	g_assert_cmpuint(client.async_queued, ==, 5);
	kal_events_forget_ctx(&client, RI_OBJECT_QP, 1);
	g_assert_cmpuint(client.async_queued, ==, 2);
	tell_qp(4, RI_EVENT_QP_RQ_LIMIT); /* the end of the list is right */
	expect(2);
	expect(3);
	expect(4);
	/* The node of a CQ can be queued again. */
	kal_events_cq(&client, &cq);
	kal_events_cq(&client, &cq);
	kal_events_forget(&client, &cq.fired);
	g_assert_null(client.first);
	kal_events_cq(&client, &cq);
	expect(7);
	g_assert_false(cq.fired.queued);
	close_stream();
}

/* Which queue pair has connection events in the queue. */
static void
test_pending(void)
{
	struct kal_cm_node *end = kal_cm_node_new();

	open_stream();
	g_assert_nonnull(end);
	end->node.ctx = 5;
	end->event.kind = KAL_CM_DISCONNECTED;
	kal_events_cm(&client, end);
	g_assert_true(kal_events_pending_qp(&client, 5));
	g_assert_false(kal_events_pending_qp(&client, 6));
	tell_qp(6, RI_EVENT_QP_RQ_LIMIT);
	g_assert_false(kal_events_pending_qp(&client, 6));
	expect(5);
	g_assert_false(kal_events_pending_qp(&client, 5));
	expect(6);
	close_stream();
}

/* A request that ends before the client has dequeued it is removed; other requests, and dequeued ones, are not. */
static void
test_unseen_requests(void)
{
	open_stream();
	tell_request(KAL_CM_REQUEST, 11);
	tell_request(KAL_CM_REQUEST, 12);
	tell_request(KAL_CM_REQUEST_GONE, 11);
	g_assert_cmpuint(expect(1).u.cm.request, ==, 12);
	g_assert_null(client.first);
	tell_request(KAL_CM_REQUEST_GONE, 12);
	g_assert_cmpint(expect(1).u.cm.kind, ==, KAL_CM_REQUEST_GONE);
	close_stream();
}

/*
 * The client takes no events: the queue fills to its limit, the next event is dropped, and each
 * event that is taken later makes room for another.
 */
static void
test_limit(void)
{
	open_stream();
	for (uint64_t ctx = 1; ctx <= ASYNC_MAX; ctx++)
		tell_qp(ctx, RI_EVENT_QP_RQ_LIMIT);
	g_assert_cmpuint(client.async_queued, ==, ASYNC_MAX);
	for (unsigned i = 1; i <= 20; i++) {
		tell_qp(ASYNC_MAX + i, RI_EVENT_QP_RQ_LIMIT);
		g_assert_cmpuint(client.async_queued, ==, ASYNC_MAX);
		g_assert_cmpuint(client.last->ctx, ==, ASYNC_MAX);
		g_assert_cmpuint(lines, ==, i);
	}
	expect(1);
	g_assert_cmpuint(client.async_queued, ==, ASYNC_MAX - 1);
	tell_qp(ASYNC_MAX + 21, RI_EVENT_QP_RQ_LIMIT);
	g_assert_cmpuint(client.last->ctx, ==, ASYNC_MAX + 21);
	kal_events_drop_all(&client);
	close_stream();
}

/* The descriptor is readable while an event is queued, and not after the queue was found empty. */
static void
test_descriptor(void)
{
	struct kal_event event;
	uint64_t count = 0;

	open_stream();
	kal_events_kick(&client);
	kal_events_kick(&client);
	g_assert_false(kal_next_event(&client, &event));
	g_assert_cmpint(read(client.fd, &count, sizeof(count)), <, 0);
	close_stream();
}

/* There was no memory: a spare node has the event. */
static void
tell_spare(uint64_t ctx)
{
	struct kal_async_node *node = (struct kal_async_node *)client.spare;

	g_assert_nonnull(node);
	client.spare = node->node.next;
	node->node.kind = KAL_EVENT_ASYNC;
	node->node.ctx = ctx;
	node->node.next = NULL;
	node->node.queued = true;
	node->event = (struct ri_async_event){
		.event = RI_EVENT_QP_RQ_LIMIT, .object = RI_OBJECT_QP, .ctx = ctx};
	client.async_queued++;
	if (client.last != NULL)
		client.last->next = &node->node;
	else
		client.first = &node->node;
	client.last = &node->node;
}

static unsigned
spares(void)
{
	unsigned count = 0;

	for (const struct kal_event_node *node = client.spare; node != NULL; node = node->next)
		count++;
	return count;
}

/* A spare node serves again when its event was taken, and when the object of its event is gone. */
static void
test_spares(void)
{
	struct kal_event event;

	open_stream();
	for (unsigned round = 0; round < 3; round++) {
		g_assert_cmpuint(spares(), ==, KAL_SPARES);
		for (uint64_t ctx = 1; ctx <= KAL_SPARES; ctx++)
			tell_spare(ctx);
		g_assert_cmpuint(spares(), ==, 0);
		kal_events_forget_ctx(&client, RI_OBJECT_QP, KAL_SPARES);
		g_assert_cmpuint(spares(), ==, 1);
		for (uint64_t ctx = 1; ctx < KAL_SPARES; ctx++) {
			g_assert_true(kal_next_event(&client, &event));
			g_assert_cmpuint(event.ctx, ==, ctx);
		}
	}
	close_stream();
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/kal/events/order", test_order);
	g_test_add_func("/kal/events/forget", test_forget);
	g_test_add_func("/kal/events/pending", test_pending);
	g_test_add_func("/kal/events/unseen-requests", test_unseen_requests);
	g_test_add_func("/kal/events/limit", test_limit);
	g_test_add_func("/kal/events/descriptor", test_descriptor);
	g_test_add_func("/kal/events/spares", test_spares);
	return g_test_run();
}
