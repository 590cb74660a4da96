/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Completions and notifications over it_api.h on real connections: which events notify ([IT 6.2], R-10, R-11), what a
 * wait returns, and what sleeping threads see.
 */

#include <pthread.h>
#include <string.h>

#include "it_pair.h"

#define SLOTS  64
#define SILENT IT_COMPLETION_FLAG
#define LOUD   ((unsigned)IT_COMPLETION_FLAG | IT_NOTIFY_FLAG)

/* DTO SEVDs with that threshold; the passive end's SEVD of receives may have a descriptor. */
static void
connect_with(struct pair *pair, size_t threshold, int *fd)
{
	struct end *ends[] = {&pair->active, &pair->passive};

	for (size_t i = 0; i < G_N_ELEMENTS(ends); i++) {
		ends[i]->attr.max_request_dtos = SLOTS;
		ends[i]->attr.max_recv_dtos = SLOTS;
		end_new_evds(ends[i], threshold, i == 1 ? fd : NULL);
	}
	pair_establish(pair);
}

static void
until_depth(it_evd_handle_t evd, size_t depth)
{
	it_event_t event;
	size_t more;

	/* Nothing here notifies, so the wait returns no event; it makes progress and counts events. */
	do
		g_assert_cmpint(it_evd_wait(evd, 0, &event, &more), ==, IT_ERR_TIMEOUT_EXPIRED);
	while (more < depth);
}

static void
expect_cookie(it_evd_handle_t evd, it_dto_cookie_t cookie)
{
	it_event_t event;
	it_status_t status;

	do
		status = it_evd_dequeue(evd, &event);
	while (status == IT_ERR_QUEUE_EMPTY);
	g_assert_cmpint(status, ==, IT_SUCCESS);
	g_assert_cmphex(event.dto_cmpl.cookie, ==, cookie);
	g_assert_cmpint(event.dto_cmpl.dto_status, ==, IT_DTO_SUCCESS);
	g_assert_true(event.dto_cmpl.evd == evd);
}

static void
wait_cookie(it_evd_handle_t evd, uint64_t timeout, it_dto_cookie_t cookie)
{
	it_event_t event;

	pair_ok(it_evd_wait(evd, timeout, &event, NULL));
	g_assert_cmphex(event.dto_cmpl.cookie, ==, cookie);
}

static void
no_wait(it_evd_handle_t evd)
{
	it_event_t event;

	g_assert_cmpint(it_evd_wait(evd, 2000, &event, NULL), ==, IT_ERR_TIMEOUT_EXPIRED);
}

/*
 * A notification event is dequeued directly; the notification must nevertheless cover the event behind it. False:
 * that event came when the queue was already empty, and so is not covered.
 */
static bool
covers_next(struct pair *pair)
{
	it_evd_handle_t evd = pair->active.request;
	it_status_t status;
	it_event_t event;
	size_t more = 0;

	pair_ok(pair_write(pair, 64, 6, SILENT));
	until_depth(evd, 1);
	pair_ok(pair_write(pair, 64, 7, LOUD));
	pair_ok(pair_write(pair, 64, 8, SILENT));
	expect_cookie(evd, 6);
	expect_cookie(evd, 7);
	do
		status = it_evd_wait(evd, 0, &event, &more);
	while (status == IT_ERR_TIMEOUT_EXPIRED && more == 0);
	if (status == IT_ERR_TIMEOUT_EXPIRED) {
		expect_cookie(evd, 8);
	} else {
		g_assert_cmpint(status, ==, IT_SUCCESS);
		g_assert_cmphex(event.dto_cmpl.cookie, ==, 8);
	}
	g_assert_cmpint(it_evd_dequeue(evd, &event), ==, IT_ERR_QUEUE_EMPTY);
	return status == IT_SUCCESS;
}

/* Threshold 0: only marked completions notify; then a wait returns all queued events. */
static void
test_flags(struct pair *pair)
{
	it_evd_handle_t evd;

	connect_with(pair, 0, NULL);
	evd = pair->active.request;
	pair_ok(pair_write(pair, 64, 1, SILENT));
	pair_ok(pair_write(pair, 64, 2, SILENT));
	until_depth(evd, 2);
	no_wait(evd);
	pair_ok(pair_write(pair, 64, 3, LOUD));
	pair_ok(pair_write(pair, 64, 4, SILENT));
	wait_cookie(evd, WAIT_US, 1);
	wait_cookie(evd, WAIT_US, 2);
	wait_cookie(evd, WAIT_US, 3);
	expect_cookie(evd, 4); /* empty: the EVD is armed again */
	pair_ok(pair_write(pair, 64, 5, SILENT));
	until_depth(evd, 1);
	no_wait(evd);
	expect_cookie(evd, 5);
	PAIR_UNTIL(covers_next(pair));
}

/* Threshold 0 at the receiver: the sender's solicited flag decides. */
static void
test_solicited(struct pair *pair)
{
	it_evd_handle_t evd;

	connect_with(pair, 0, NULL);
	evd = pair->passive.recv;
	for (it_dto_cookie_t i = 0; i < 3; i++)
		pair_ok(end_recv(&pair->passive, 64, i));
	pair_ok(end_send(&pair->active, 8, 0, SILENT));
	until_depth(evd, 1);
	pair_ok(end_send(&pair->active, 8, 1,
			 (unsigned)IT_COMPLETION_FLAG | IT_SOLICITED_WAIT_FLAG));
	wait_cookie(evd, WAIT_US, 0);
	wait_cookie(evd, WAIT_US, 1);
	no_wait(evd);
}

/* Threshold 4: the length of the queue decides, flags do not matter. */
static void
test_threshold(struct pair *pair)
{
	it_evd_handle_t evd;

	connect_with(pair, 4, NULL);
	evd = pair->active.request;
	for (it_dto_cookie_t i = 0; i < 3; i++)
		pair_ok(pair_write(pair, 64, i, LOUD));
	until_depth(evd, 3);
	no_wait(evd);
	pair_ok(pair_write(pair, 64, 3, SILENT));
	wait_cookie(evd, WAIT_US, 0);
	no_wait(evd); /* three are left: below the threshold */
	for (it_dto_cookie_t i = 1; i < 4; i++)
		expect_cookie(evd, i);
}

/* The descriptor of a DTO SEVD: no thread is in the library when the message arrives. */
static void
test_fd(struct pair *pair)
{
	it_event_t event;
	int fd = -1;

	connect_with(pair, 2, &fd);
	for (it_dto_cookie_t i = 0; i < 60; i++)
		pair_ok(end_recv(&pair->passive, 64, i));
	for (it_dto_cookie_t i = 0; i < 60; i += 2) {
		g_assert_false(pair_readable(fd, 0));
		pair_ok(end_send(&pair->active, 8, i, SILENT));
		if (i == 0)
			g_assert_false(pair_readable(fd, 50)); /* one is below the threshold */
		pair_ok(end_send(&pair->active, 8, i + 1, SILENT));
		g_assert_true(pair_readable(fd, PAIR_SURELY));
		g_assert_true(pair_readable(fd, 0));
		expect_cookie(pair->passive.recv, i);
		g_assert_false(pair_readable(fd, 0)); /* below: armed again */
		expect_cookie(pair->passive.recv, i + 1);
		g_assert_cmpint(it_evd_dequeue(pair->passive.recv, &event), ==, IT_ERR_QUEUE_EMPTY);
		expect_cookie(pair->active.request, i);
		expect_cookie(pair->active.request, i + 1);
	}
}

/* The same with threshold 0, where only solicited messages count. */
static void
test_fd_solicited(struct pair *pair)
{
	int fd = -1;

	connect_with(pair, 0, &fd);
	for (it_dto_cookie_t i = 0; i < 3; i++)
		pair_ok(end_recv(&pair->passive, 64, i));
	pair_ok(end_send(&pair->active, 8, 0, SILENT));
	g_assert_false(pair_readable(fd, 50));
	pair_ok(end_send(&pair->active, 8, 1, (unsigned)SILENT | IT_SOLICITED_WAIT_FLAG));
	g_assert_true(pair_readable(fd, PAIR_SURELY));
	pair_ok(end_send(&pair->active, 8, 2, SILENT));
	expect_cookie(pair->passive.recv, 0);
	expect_cookie(pair->passive.recv, 1);
	expect_cookie(pair->passive.recv, 2);
	g_assert_false(pair_readable(fd, 0));
}

struct sleeper {
	pthread_t thread;
	it_evd_handle_t evd;
	unsigned count;
	unsigned taken;
};

static void *
sleeper_run(void *arg)
{
	struct sleeper *sleeper = (struct sleeper *)arg;
	it_event_t event;

	for (; sleeper->taken < sleeper->count; sleeper->taken++) {
		pair_ok(it_evd_wait(sleeper->evd, WAIT_US, &event, NULL));
		g_assert_cmpint(event.dto_cmpl.dto_status, ==, IT_DTO_SUCCESS);
		g_assert_cmphex(event.dto_cmpl.cookie, ==, sleeper->taken);
	}
	return NULL;
}

/* Threads that sleep on three SEVDs of one adapter, one of them the leader; all get their events. */
static void
test_sleepers(struct pair *pair)
{
	enum {
		COUNT = 60
	};
	struct sleeper sleeper[3];

	connect_with(pair, 1, NULL);
	for (it_dto_cookie_t i = 0; i < COUNT; i++) {
		pair_ok(end_recv(&pair->passive, 64, i));
		pair_ok(end_recv(&pair->active, 64, i));
	}
	sleeper[0] = (struct sleeper){.evd = pair->passive.recv, .count = COUNT};
	sleeper[1] = (struct sleeper){.evd = pair->active.recv, .count = COUNT};
	sleeper[2] = (struct sleeper){.evd = pair->active.request, .count = COUNT};
	for (size_t i = 0; i < G_N_ELEMENTS(sleeper); i++)
		pthread_create(&sleeper[i].thread, NULL, sleeper_run, &sleeper[i]);
	for (it_dto_cookie_t i = 0; i < COUNT; i++) {
		pair_ok(end_send(&pair->active, 32, i, SILENT));
		pair_ok(end_send(&pair->passive, 32, i, SILENT));
		if (i % 8 == 0)
			g_usleep(500); /* long enough for them to sleep */
	}
	for (size_t i = 0; i < G_N_ELEMENTS(sleeper); i++)
		pthread_join(sleeper[i].thread, NULL);
	for (it_dto_cookie_t i = 0; i < COUNT; i++)
		expect_cookie(pair->passive.request, i);
}

/* An SEVD that queues feed cannot be freed; after the disconnect it holds their flushes. */
static void
test_bound(struct pair *pair)
{
	it_evd_param_t params;
	it_event_t event;

	connect_with(pair, 1, NULL);
	g_assert_cmpint(it_evd_free(pair->active.request), ==, IT_ERR_EVD_BUSY);
	g_assert_cmpint(it_evd_free(pair->active.cm_msg), ==, IT_ERR_EVD_BUSY);
	g_assert_cmpint(it_evd_free(pair->passive.cm_req), ==, IT_ERR_EVD_BUSY);
	pair_ok(it_evd_query(pair->passive.cm_req, IT_EVD_PARAM_BOUND, &params));
	g_assert_true(params.evd_bound);
	for (it_dto_cookie_t i = 0; i < 4; i++)
		pair_ok(end_recv(&pair->passive, 64, i));
	pair_ok(it_ep_disconnect(pair->active.ep, NULL, 0));
	end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
	/* All completions come before the event of the end. */
	for (it_dto_cookie_t i = 0; i < 4; i++) {
		pair_ok(it_evd_dequeue(pair->passive.recv, &event));
		g_assert_cmphex(event.dto_cmpl.cookie, ==, i);
		g_assert_cmpint(event.dto_cmpl.dto_status, ==, IT_DTO_ERR_FLUSHED);
	}
	end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
}

static void
add(void)
{
	pair_add("notify/r-10-flags", test_flags);
	pair_add("notify/solicited", test_solicited);
	pair_add("notify/r-10-threshold", test_threshold);
	pair_add("notify/fd", test_fd);
	pair_add("notify/fd-solicited", test_fd_solicited);
	pair_add("notify/sleepers", test_sleepers);
	pair_add("notify/bound", test_bound);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add);
}
