/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Callbacks of event dispatchers [IT 6.3], [IT 6.6]. */

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "it_soft.h"

#define MILLI 1000

struct listener {
	it_evd_handle_t evd;
	atomic_uint calls;
	atomic_uint taken;
	atomic_bool inside;
	atomic_bool overlapped;
	bool drains;
	bool detaches;
};

static void
called(it_evd_handle_t evd, void *arg)
{
	struct listener *listener = arg;
	it_event_t event;

	if (atomic_exchange(&listener->inside, true))
		atomic_store(&listener->overlapped, true);
	g_assert_true(evd == listener->evd);
	if (listener->detaches)
		g_assert_cmpint(it_evd_callback_detach(evd), ==, IT_SUCCESS);
	while (listener->drains && it_evd_dequeue(evd, &event) == IT_SUCCESS)
		atomic_fetch_add(&listener->taken, 1);
	atomic_store(&listener->inside, false);
	atomic_fetch_add(&listener->calls, 1);
}

static void
until(atomic_uint *counter, unsigned value)
{
	PAIR_UNTIL(atomic_load(counter) >= value);
}

/* A callback is attached and detached, and is called for each notification in between. */
static void
test_callback(struct pair *pair)
{
	struct end *a = &pair->active;
	struct listener listener = {.evd = soft_member(a, NULL, 1), .drains = true};
	it_evd_handle_t aevd = soft_aggregate(a, 0), with_fd = NULL,
			inside = soft_member(a, aevd, 1);
	it_event_t event;
	int fd;

	g_assert_cmpint(it_evd_callback_attach(NULL, called, NULL), ==, IT_ERR_INVALID_EVD);
	g_assert_cmpint(it_evd_callback_attach(listener.evd, NULL, NULL), ==, IT_ERR_FAULT);
	g_assert_cmpint(it_evd_callback_attach(inside, called, NULL), ==, IT_ERR_INVALID_EVD_STATE);
	g_assert_cmpint(it_evd_create(a->ia, IT_SOFTWARE_EVENT_STREAM, IT_EVD_CREATE_FD, 4, 1, NULL,
				      &with_fd, &fd),
			==, IT_SUCCESS);
	g_assert_cmpint(it_evd_callback_attach(with_fd, called, NULL), ==,
			IT_ERR_INVALID_EVD_STATE);
	soft_post(listener.evd, 1); /* the notification criterion is met already */
	g_assert_cmpint(it_evd_callback_attach(listener.evd, called, &listener), ==, IT_SUCCESS);
	until(&listener.taken, 1);
	g_assert_cmpint(it_evd_callback_attach(listener.evd, called, &listener), ==,
			IT_ERR_CALLBACK_EXISTS);
	g_assert_cmpint(it_evd_wait(listener.evd, 0, &event, NULL), ==, IT_ERR_CALLBACK_EXISTS);
	g_assert_cmpint(
		soft_modify(listener.evd, IT_EVD_PARAM_AEVD_HANDLE, (it_evd_param_t){.aevd = aevd}),
		==, IT_ERR_CALLBACK_EXISTS);
	for (unsigned i = 2; i < 500; i++) {
		while (it_evd_post_se(listener.evd, NULL) != IT_SUCCESS)
			sched_yield();
	}
	until(&listener.taken, 499);
	g_assert_cmpint(it_evd_callback_detach(listener.evd), ==, IT_SUCCESS);
	g_assert_false(atomic_load(&listener.overlapped));
	unsigned calls = atomic_load(&listener.calls);
	soft_post(listener.evd, 1);
	usleep(20 * MILLI);
	g_assert_cmpuint(atomic_load(&listener.calls), ==, calls);
	soft_expect(listener.evd, listener.evd, 1);
	soft_free(with_fd);
	soft_free(inside);
	soft_free(aevd);
	soft_free(listener.evd);
}

/* One call for one notification: events that the callback does not take wait for the next. */
static void
test_callback_once(struct pair *pair)
{
	struct end *a = &pair->active;
	struct listener listener = {.evd = soft_member(a, NULL, 1)};
	it_event_t event;

	g_assert_cmpint(it_evd_callback_attach(listener.evd, called, &listener), ==, IT_SUCCESS);
	soft_post(listener.evd, 1);
	until(&listener.calls, 1);
	soft_post(listener.evd, 2);
	usleep(20 * MILLI);
	g_assert_cmpuint(atomic_load(&listener.calls), ==, 1);
	while (it_evd_dequeue(listener.evd, &event) == IT_SUCCESS)
		continue;
	soft_post(listener.evd, 3);
	until(&listener.calls, 2);
	soft_free(listener.evd); /* with the callback attached */
}

/* Called from the callback itself it takes effect when the callback returns. */
static void
test_callback_detaches_itself(struct pair *pair)
{
	struct end *a = &pair->active;
	struct listener listener = {
		.evd = soft_member(a, NULL, 1), .drains = true, .detaches = true};

	g_assert_cmpint(it_evd_callback_attach(listener.evd, called, &listener), ==, IT_SUCCESS);
	soft_post(listener.evd, 1);
	until(&listener.calls, 1);
	soft_post(listener.evd, 2);
	soft_expect(listener.evd, listener.evd, 2);
	g_assert_cmpuint(atomic_load(&listener.calls), ==, 1);
	soft_free(listener.evd);
}

/*
 * The other thread attaches callbacks until one is refused because this thread waits. Attaching succeeds as long as
 * this thread does not wait yet.
 */
static void *
sleep_on(void *evd)
{
	it_event_t event;
	it_status_t status;

	do
		status = it_evd_wait((it_evd_handle_t)evd, WAIT_US, &event, NULL);
	while (status == IT_ERR_CALLBACK_EXISTS);
	g_assert_cmpint(status, ==, IT_SUCCESS);
	return NULL;
}

/* While a thread waits, neither a callback nor an aggregate can be attached [IT 6.3]. */
static void
test_waiter_excludes(struct pair *pair)
{
	struct end *a = &pair->active;
	it_evd_handle_t evd = soft_member(a, NULL, 1), aevd = soft_aggregate(a, 0);
	struct listener listener = {.evd = evd};
	it_status_t status = IT_SUCCESS;
	pthread_t thread;
	gint64 end;

	g_assert_cmpint(pthread_create(&thread, NULL, sleep_on, evd), ==, 0);
	end = g_get_monotonic_time() + WAIT_US;
	while (status != IT_ERR_EVD_WAIT && g_get_monotonic_time() < end) {
		status = it_evd_callback_attach(evd, called, &listener);
		if (status == IT_SUCCESS)
			g_assert_cmpint(it_evd_callback_detach(evd), ==, IT_SUCCESS);
		usleep(MILLI);
	}
	g_assert_cmpint(status, ==, IT_ERR_EVD_WAIT);
	g_assert_cmpint(soft_modify(evd, IT_EVD_PARAM_AEVD_HANDLE, (it_evd_param_t){.aevd = aevd}),
			==, IT_ERR_EVD_WAIT);
	g_assert_cmpint(it_evd_free(evd), ==, IT_ERR_EVD_WAIT);
	soft_post(evd, 1);
	g_assert_cmpint(pthread_join(thread, NULL), ==, 0);
	soft_free(evd);
	soft_free(aevd);
}

/* A callback that answers each message with a Send. */
static void
answer(it_evd_handle_t evd, void *arg)
{
	struct pair *pair = arg;
	struct end *b = &pair->passive;
	it_lmr_triplet_t in = end_segment(b, 0, 64), out = end_segment(b, 128, 8);
	it_event_t event;

	while (it_evd_dequeue(evd, &event) == IT_SUCCESS) {
		g_assert_cmpint(it_post_recv((it_handle_t)b->ep, &in, 1, 0, 0), ==, IT_SUCCESS);
		g_assert_cmpint(it_post_send(b->ep, &out, 1, 0, 0), ==, IT_SUCCESS);
	}
}

/* A callback may accept, reject and disconnect. */
static void
test_callback_answers(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_lmr_triplet_t in = end_segment(a, 0, 64), out = end_segment(a, 128, 8),
			 first = end_segment(b, 0, 64);

	pair_establish(pair);
	g_assert_cmpint(it_post_recv((it_handle_t)b->ep, &first, 1, 0, 0), ==, IT_SUCCESS);
	g_assert_cmpint(it_evd_callback_attach(b->recv, answer, pair), ==, IT_SUCCESS);
	for (unsigned i = 0; i < 6; i++) { /* sends without completion keep their slots */
		g_assert_cmpint(it_post_recv((it_handle_t)a->ep, &in, 1, 0, 0), ==, IT_SUCCESS);
		g_assert_cmpint(it_post_send(a->ep, &out, 1, 0, 0), ==, IT_SUCCESS);
		end_expect(a->recv, IT_DTO_RC_RECV_CMPL_EVENT);
	}
	g_assert_cmpint(it_evd_callback_detach(b->recv), ==, IT_SUCCESS);
	g_assert_cmpint(it_ep_disconnect(a->ep, NULL, 0), ==, IT_SUCCESS);
	end_expect(a->cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
	end_expect(b->cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
	end_expect(b->recv, IT_DTO_RC_RECV_CMPL_EVENT); /* flushed */
	end_reset(a);
	end_reset(b);
}

static void
add_tests(void)
{
	pair_add("callback/attach-and-detach", test_callback);
	pair_add("callback/once", test_callback_once);
	pair_add("callback/detaches-itself", test_callback_detaches_itself);
	pair_add("callback/waiter-excludes", test_waiter_excludes);
	pair_add("callback/answers", test_callback_answers);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add_tests);
}
