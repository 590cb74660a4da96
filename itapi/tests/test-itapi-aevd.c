/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Aggregate event dispatchers of both kinds ([IT 6.3], [IT 6.5]; R-14), with software events that the test posts and
 * with completions of real connections.
 */

#include <poll.h>
#include <pthread.h>
#include <string.h>

#include "it_soft.h"

static void
expect_notification(it_evd_handle_t aevd, it_evd_handle_t sevd)
{
	it_event_t event;

	g_assert_cmpint(it_evd_wait(aevd, WAIT_US, &event, NULL), ==, IT_SUCCESS);
	g_assert_cmpint(event.event_number, ==, IT_AEVD_NOTIFICATION_EVENT);
	g_assert_true(event.aevd_notify.aevd == aevd && event.aevd_notify.sevd == sevd);
}

static void
expect_quiet(it_evd_handle_t evd)
{
	it_event_t event;

	g_assert_cmpint(it_evd_wait(evd, 0, &event, NULL), ==, IT_ERR_TIMEOUT_EXPIRED);
	g_assert_cmpint(it_evd_dequeue(evd, &event), ==, IT_ERR_QUEUE_EMPTY);
}

/* --- aggregates ---------------------------------------------------------------------------- */

/* Calls refuse an aggregate, or a member of one, where the standard does. */
static void
test_checks(struct pair *pair)
{
	struct end *a = &pair->active;
	it_evd_handle_t aevd = soft_aggregate(a, 0), evd = soft_member(a, aevd, 1), other = NULL,
			plain;
	const it_evd_param_t none = {0}, joined = {.aevd = aevd};
	const it_evd_param_t notify = {.evd_flag = IT_EVD_OVERFLOW_NOTIFY};
	it_evd_param_t params;
	it_event_t event;
	int fd = 0;

	g_assert_cmpint(it_evd_create(a->ia, IT_AEVD_NOTIFICATION_EVENT_STREAM, 0, 1, 0, aevd,
				      &other, NULL),
			==, IT_ERR_AEVD_NOT_ALLOWED);
	g_assert_cmpint(it_evd_create(a->ia, IT_AEVD_NOTIFICATION_EVENT_STREAM,
				      IT_EVD_OVERFLOW_NOTIFY, 1, 0, NULL, &other, NULL),
			==, IT_ERR_INVALID_FLAGS);
	g_assert_cmpint(it_evd_create(a->ia, IT_AEVD_NOTIFICATION_EVENT_STREAM, IT_EVD_CREATE_FD, 1,
				      0, NULL, &other, NULL),
			==, IT_ERR_MISMATCH_FD);
	g_assert_cmpint(it_evd_create(a->ia, IT_SOFTWARE_EVENT_STREAM, 0, 4, 1, evd, &other, NULL),
			==, IT_ERR_INVALID_AEVD);
	g_assert_cmpint(it_evd_create(a->ia, IT_SOFTWARE_EVENT_STREAM, IT_EVD_CREATE_FD, 4, 1, aevd,
				      &other, &fd),
			==, IT_ERR_INVALID_EVD_STATE);
	g_assert_null(other);
	g_assert_cmpint(it_evd_free(aevd), ==, IT_ERR_EVD_BUSY);
	g_assert_cmpint(it_evd_wait(evd, 0, &event, NULL), ==, IT_ERR_INVALID_EVD_STATE);
	g_assert_cmpint(it_evd_post_se(aevd, NULL), ==, IT_ERR_AEVD_NOT_ALLOWED);
	g_assert_cmpint(soft_modify(aevd, IT_EVD_PARAM_THRESHOLD, none), ==,
			IT_ERR_AEVD_NOT_ALLOWED);
	g_assert_cmpint(soft_modify(aevd, IT_EVD_PARAM_QUEUE_SIZE, none), ==,
			IT_ERR_AEVD_NOT_ALLOWED);
	g_assert_cmpint(soft_modify(aevd, IT_EVD_PARAM_AEVD_HANDLE, joined), ==,
			IT_ERR_AEVD_NOT_ALLOWED);
	g_assert_cmpint(soft_modify(aevd, IT_EVD_PARAM_FLAG, notify), ==, IT_ERR_INVALID_FLAGS);
	g_assert_cmpint(it_evd_query(evd, IT_EVD_PARAM_AEVD_HANDLE, &params), ==, IT_SUCCESS);
	g_assert_true(params.aevd == aevd);

	/* An EVD that has a descriptor cannot be a member. */
	g_assert_cmpint(it_evd_create(a->ia, IT_SOFTWARE_EVENT_STREAM, IT_EVD_CREATE_FD, 4, 1, NULL,
				      &plain, &fd),
			==, IT_SUCCESS);
	g_assert_cmpint(soft_modify(plain, IT_EVD_PARAM_AEVD_HANDLE, joined), ==,
			IT_ERR_INVALID_EVD_STATE);
	soft_free(plain);
	soft_free(evd);
	soft_free(aevd);
	g_assert_cmpint(it_evd_dequeue(aevd, &event), ==, IT_ERR_INVALID_EVD);
}

/* with the flag, each notification of a member gives one notification event, which stays until it is taken. */
static void
test_notifications(struct pair *pair)
{
	struct end *a = &pair->active;
	it_evd_handle_t aevd = soft_aggregate(a, IT_EVD_DEQUEUE_NOTIFICATIONS);
	it_evd_handle_t one = soft_member(a, aevd, 1), two = soft_member(a, aevd, 3);
	it_event_t event;
	size_t more;

	expect_quiet(aevd);
	soft_post(one, 1);
	soft_post(one, 2);
	soft_post(two, 10);
	soft_post(two, 11);
	expect_notification(aevd, one);
	expect_quiet(aevd); /* one notification; the second event is below its threshold */
	soft_post(two, 12);
	soft_post(one, 3); /* not drained yet, so no new notification */
	g_assert_cmpint(it_evd_wait(aevd, 0, &event, &more), ==, IT_SUCCESS);
	g_assert_true(event.aevd_notify.sevd == two);
	g_assert_cmpuint(more, ==, 0);
	for (uintptr_t i = 1; i <= 3; i++) {
		g_assert_cmpint(it_evd_dequeue(one, &event), ==, IT_SUCCESS);
		g_assert_cmpuint((uintptr_t)event.sw.data, ==, i);
	}
	g_assert_cmpint(it_evd_dequeue(one, &event), ==, IT_ERR_QUEUE_EMPTY);
	expect_quiet(aevd);
	soft_post(one, 4);
	expect_notification(aevd, one);
	/* When the queue is below its threshold it is armed again, whatever is left in it. */
	g_assert_cmpint(it_evd_dequeue(two, &event), ==, IT_SUCCESS);
	soft_post(two, 13);
	expect_notification(aevd, two);
	/* Sticky: the notification stays although its cause was dequeued. */
	g_assert_cmpint(it_evd_dequeue(one, &event), ==, IT_SUCCESS);
	soft_post(one, 5);
	g_assert_cmpint(it_evd_dequeue(one, &event), ==, IT_SUCCESS);
	expect_notification(aevd, one);
	soft_free(one);
	soft_free(two);
	soft_free(aevd);
}

/* A notification that was not taken moves with its member, whatever happened to the member's events [IT 6.5.6]. */
static void
test_moved_notification(struct pair *pair)
{
	struct end *a = &pair->active;
	it_evd_handle_t from = soft_aggregate(a, IT_EVD_DEQUEUE_NOTIFICATIONS);
	it_evd_handle_t to = soft_aggregate(a, IT_EVD_DEQUEUE_NOTIFICATIONS);
	it_evd_handle_t merging = soft_aggregate(a, 0), one = soft_member(a, from, 1);
	it_event_t event;

	soft_post(one, 1);
	g_assert_cmpint(it_evd_dequeue(one, &event), ==, IT_SUCCESS);
	g_assert_cmpint(soft_modify(one, IT_EVD_PARAM_AEVD_HANDLE, (it_evd_param_t){.aevd = to}),
			==, IT_SUCCESS);
	expect_quiet(from);
	g_assert_cmpint(it_evd_dequeue(to, &event), ==, IT_SUCCESS);
	g_assert_cmpint(event.event_number, ==, IT_AEVD_NOTIFICATION_EVENT);
	g_assert_true(event.aevd_notify.sevd == one);
	expect_quiet(to);
	/* What was taken does not move, and one that merges has nothing to hand out. */
	g_assert_cmpint(soft_modify(one, IT_EVD_PARAM_AEVD_HANDLE, (it_evd_param_t){.aevd = from}),
			==, IT_SUCCESS);
	expect_quiet(from);
	soft_post(one, 2);
	g_assert_cmpint(it_evd_dequeue(one, &event), ==, IT_SUCCESS);
	g_assert_cmpint(
		soft_modify(one, IT_EVD_PARAM_AEVD_HANDLE, (it_evd_param_t){.aevd = merging}), ==,
		IT_SUCCESS);
	expect_quiet(merging);
	expect_quiet(from);
	soft_free(one);
	soft_free(from);
	soft_free(to);
	soft_free(merging);
}

/* without the flag the aggregate hands out the members' own events, member after member. */
static void
test_merging(struct pair *pair)
{
	struct end *a = &pair->active;
	it_evd_handle_t aevd = soft_aggregate(a, 0);
	it_evd_handle_t one = soft_member(a, aevd, 1), two = soft_member(a, aevd, 2);
	it_event_t event;
	size_t more;

	expect_quiet(aevd);
	soft_post(two, 20);
	expect_quiet(aevd); /* below its threshold */
	soft_post(one, 1);
	soft_post(two, 21);
	soft_post(one, 2);
	g_assert_cmpint(it_evd_wait(aevd, 0, &event, &more), ==, IT_SUCCESS);
	g_assert_cmpuint((uintptr_t)event.sw.data, ==, 1);
	g_assert_true(event.sw.evd == one);
	g_assert_cmpuint(more, ==, 3);
	soft_expect(aevd, one, 2);
	soft_expect(aevd, two, 20); /* a member that has notified is drained */
	g_assert_cmpint(it_evd_dequeue(aevd, &event), ==, IT_SUCCESS);
	g_assert_cmpuint((uintptr_t)event.sw.data, ==, 21);
	expect_quiet(aevd);
	/* The application can dequeue from a member directly. */
	soft_post(one, 3);
	g_assert_cmpint(it_evd_dequeue(one, &event), ==, IT_SUCCESS);
	expect_quiet(aevd);
	soft_free(one);
	soft_free(two);
	soft_free(aevd);
}

/*
 * A member moves to another aggregate together with its notification; a disabled member notifies only when it is
 * enabled again.
 */
static void
test_moves(struct pair *pair)
{
	struct end *a = &pair->active;
	it_evd_handle_t first = soft_aggregate(a, IT_EVD_DEQUEUE_NOTIFICATIONS);
	it_evd_handle_t second = soft_aggregate(a, IT_EVD_DEQUEUE_NOTIFICATIONS);
	it_evd_handle_t evd = soft_member(a, first, 1);
	it_event_t event;

	soft_post(evd, 1);
	g_assert_cmpint(
		soft_modify(evd, IT_EVD_PARAM_AEVD_HANDLE, (it_evd_param_t){.aevd = second}), ==,
		IT_SUCCESS);
	expect_quiet(first);
	soft_free(first);
	expect_notification(second, evd);
	g_assert_cmpint(
		soft_modify(evd, IT_EVD_PARAM_ENABLED, (it_evd_param_t){.evd_enabled = IT_FALSE}),
		==, IT_SUCCESS);
	g_assert_cmpint(it_evd_dequeue(evd, &event), ==, IT_SUCCESS);
	soft_post(evd, 2);
	expect_quiet(second);
	g_assert_cmpint(
		soft_modify(evd, IT_EVD_PARAM_ENABLED, (it_evd_param_t){.evd_enabled = IT_TRUE}),
		==, IT_SUCCESS);
	expect_notification(second, evd);
	g_assert_cmpint(soft_modify(evd, IT_EVD_PARAM_AEVD_HANDLE, (it_evd_param_t){0}), ==,
			IT_SUCCESS);
	soft_expect(evd, evd, 2); /* no longer a member: a thread can wait on it */
	soft_free(second);
	soft_free(evd);
}

/* The aggregate's descriptor is readable while a notification is pending. */
static void
test_descriptor(struct pair *pair)
{
	struct end *a = &pair->active;
	it_evd_handle_t aevd = NULL, evd;
	struct pollfd poller = {.fd = -1, .events = POLLIN};

	g_assert_cmpint(it_evd_create(a->ia, IT_AEVD_NOTIFICATION_EVENT_STREAM, IT_EVD_CREATE_FD, 0,
				      0, NULL, &aevd, &poller.fd),
			==, IT_SUCCESS);
	evd = soft_member(a, aevd, 1);
	g_assert_cmpint(poll(&poller, 1, 0), ==, 0);
	soft_post(evd, 1);
	soft_post(evd, 2);
	g_assert_cmpint(poll(&poller, 1, PAIR_SURELY), ==, 1);
	soft_expect(aevd, evd, 1);
	g_assert_cmpint(poll(&poller, 1, 0), ==, 1);
	soft_expect(aevd, evd, 2);
	g_assert_cmpint(poll(&poller, 1, 0), ==, 0);
	/* A member takes its notification along when it leaves or goes away. */
	for (int i = 0; i < 2; i++) {
		const it_evd_param_t alone = {.aevd = NULL};

		soft_post(evd, 3);
		g_assert_cmpint(poll(&poller, 1, PAIR_SURELY), ==, 1);
		if (i == 0)
			g_assert_cmpint(it_evd_modify(evd, IT_EVD_PARAM_AEVD_HANDLE, &alone), ==,
					IT_SUCCESS);
		soft_free(evd);
		g_assert_cmpint(poll(&poller, 1, 0), ==, 0);
		evd = soft_member(a, aevd, 1);
	}
	soft_free(evd);
	soft_free(aevd);
}

struct poster {
	it_evd_handle_t evd;
	unsigned count;
};

static void *
post_many(void *arg)
{
	struct poster *poster = arg;

	for (unsigned i = 0; i < poster->count;) {
		if (it_evd_post_se(poster->evd, NULL) == IT_SUCCESS)
			i++;
		else
			sched_yield(); /* the descriptor's counter is full */
	}
	return NULL;
}

/* A sleeper and posters race: no event is left behind. */
static void
many(struct pair *pair, it_evd_flags_t flags)
{
	struct end *a = &pair->active;
	it_evd_handle_t aevd = soft_aggregate(a, flags);
	struct poster posters[4];
	pthread_t threads[4];
	unsigned got = 0;

	for (unsigned i = 0; i < 4; i++) {
		posters[i] = (struct poster){.evd = soft_member(a, aevd, 1), .count = 2000};
		g_assert_cmpint(pthread_create(&threads[i], NULL, post_many, &posters[i]), ==, 0);
	}
	while (got < 4 * 2000) {
		it_event_t event;

		g_assert_cmpint(it_evd_wait(aevd, WAIT_US, &event, NULL), ==, IT_SUCCESS);
		if (event.event_number == IT_SOFTWARE_EVENT) {
			got++;
			continue;
		}
		it_evd_handle_t sevd = event.aevd_notify.sevd;
		while (it_evd_dequeue(sevd, &event) == IT_SUCCESS)
			got++;
	}
	for (unsigned i = 0; i < 4; i++) {
		g_assert_cmpint(pthread_join(threads[i], NULL), ==, 0);
		soft_free(posters[i].evd);
	}
	soft_free(aevd);
}

/* Each event of members that several threads feed is taken once, with merging. */
static void
test_race_merging(struct pair *pair)
{
	many(pair, 0);
}

/* Each event of members that several threads feed is notified. */
static void
test_race_notifications(struct pair *pair)
{
	many(pair, IT_EVD_DEQUEUE_NOTIFICATIONS);
}

/* The next event that the aggregate returns. */
static it_event_t
merged(it_evd_handle_t aevd, it_event_type_t number)
{
	it_event_t event;

	g_assert_cmpint(it_evd_wait(aevd, WAIT_US, &event, NULL), ==, IT_SUCCESS);
	g_assert_cmpint(event.event_number, ==, number);
	return event;
}

/* Completions and connection events of a real connection through one aggregate. */
static void
test_connection(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_evd_handle_t aevd = soft_aggregate(b, 0);
	const it_evd_param_t joined = {.aevd = aevd};
	it_evd_handle_t *all[] = {&b->request, &b->recv, &b->cm_msg};
	it_lmr_triplet_t out = end_segment(a, 0, 32), in = end_segment(b, 0, 64);

	pair_establish(pair);
	for (size_t i = 0; i < G_N_ELEMENTS(all); i++)
		g_assert_cmpint(soft_modify(*all[i], IT_EVD_PARAM_AEVD_HANDLE, joined), ==,
				IT_SUCCESS);
	for (uint64_t i = 0; i < 50; i++) {
		it_event_t event;

		g_assert_cmpint(it_post_recv((it_handle_t)b->ep, &in, 1, i, 0), ==, IT_SUCCESS);
		g_assert_cmpint(it_post_send(a->ep, &out, 1, i, IT_COMPLETION_FLAG), ==,
				IT_SUCCESS);
		event = merged(aevd, IT_DTO_RC_RECV_CMPL_EVENT);
		g_assert_true(event.dto_cmpl.evd == b->recv);
		g_assert_cmpuint(event.dto_cmpl.cookie, ==, i);
		end_expect(a->request, IT_DTO_SEND_CMPL_EVENT);
	}
	g_assert_cmpint(it_ep_disconnect(a->ep, NULL, 0), ==, IT_SUCCESS);
	g_assert_true(merged(aevd, IT_CM_MSG_CONN_DISCONNECT_EVENT).conn.evd == b->cm_msg);
	end_expect(a->cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
	for (size_t i = 0; i < G_N_ELEMENTS(all); i++)
		g_assert_cmpint(soft_modify(*all[i], IT_EVD_PARAM_AEVD_HANDLE, (it_evd_param_t){0}),
				==, IT_SUCCESS);
	soft_free(aevd);
	end_reset(a);
	end_reset(b);
}

/* --- itx_aevd_wait ------------------------------------------------------------------------- */

/* itx_aevd_wait() returns the events of members in the order of their arrival. */
static void
test_itx_wait(struct pair *pair)
{
	struct end *a = &pair->active;
	it_evd_handle_t aevd = soft_aggregate(a, 0), evd = soft_member(a, aevd, 1);
	it_event_t events[8];
	size_t count = 99;

	g_assert_cmpint(itx_aevd_wait(NULL, 0, 8, events, &count), ==, IT_ERR_INVALID_EVD);
	g_assert_cmpint(itx_aevd_wait(evd, 0, 8, events, &count), ==, IT_ERR_INVALID_EVD_STATE);
	g_assert_cmpint(itx_aevd_wait(aevd, 0, 0, events, &count), ==, IT_ERR_INVALID_LENGTH);
	g_assert_cmpint(itx_aevd_wait(aevd, 0, 8, NULL, &count), ==, IT_ERR_FAULT);
	g_assert_cmpint(itx_aevd_wait(aevd, 0, 8, events, NULL), ==, IT_ERR_FAULT);
	g_assert_cmpint(itx_aevd_wait(aevd, 0, 8, events, &count), ==, IT_SUCCESS);
	g_assert_cmpuint(count, ==, 0);
	g_assert_cmpint(itx_aevd_wait(aevd, 20, 8, events, &count), ==, IT_SUCCESS);
	g_assert_cmpuint(count, ==, 0);
	for (uintptr_t i = 0; i < 11; i++)
		soft_post(evd, i);
	g_assert_cmpint(itx_aevd_wait(aevd, PAIR_SURELY, 8, events, &count), ==, IT_SUCCESS);
	g_assert_cmpuint(count, ==, 8);
	g_assert_cmpuint((uintptr_t)events[7].sw.data, ==, 7);
	g_assert_cmpint(itx_aevd_wait(aevd, UINT64_MAX, 8, events, &count), ==, IT_SUCCESS);
	g_assert_cmpuint(count, ==, 3);
	soft_free(evd);
	soft_free(aevd);
}

static void
add_tests(void)
{
	pair_add("aevd/checks", test_checks);
	pair_add("aevd/r-14-notifications", test_notifications);
	pair_add("aevd/r-14-merging", test_merging);
	pair_add("aevd/moves", test_moves);
	pair_add("aevd/moved-notification", test_moved_notification);
	pair_add("aevd/descriptor", test_descriptor);
	pair_add("aevd/r-11-race-merging", test_race_merging);
	pair_add("aevd/r-11-race-notifications", test_race_notifications);
	pair_add("aevd/connection", test_connection);
	pair_add("aevd/itx-wait", test_itx_wait);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add_tests);
}
