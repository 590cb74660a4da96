/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Completions and notification over it_api.h, on real connections: which events notify (itapi-semantics
 * 6.2, R-10, R-11), what a wait hands out, and what sleepers see.
 */

#include <poll.h>
#include <pthread.h>
#include <string.h>

#include "it_duo.h"

#define SILENT IT_COMPLETION_FLAG
#define LOUD   ((unsigned)IT_COMPLETION_FLAG | IT_NOTIFY_FLAG)

static void
until_depth(it_evd_handle_t evd, size_t depth)
{
	it_event_t event;
	size_t more;

	/* Nothing here notifies, so the wait takes nothing; it makes progress and counts. */
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

	duo_ok(it_evd_wait(evd, timeout, &event, NULL));
	g_assert_cmphex(event.dto_cmpl.cookie, ==, cookie);
}

static void
no_wait(it_evd_handle_t evd)
{
	it_event_t event;

	g_assert_cmpint(it_evd_wait(evd, 2000, &event, NULL), ==, IT_ERR_TIMEOUT_EXPIRED);
}

/* Threshold 0: only marked completions notify; then all that is queued is handed out. */
static void
test_flags(gconstpointer adapter)
{
	it_evd_handle_t evd;
	struct duo duo;

	duo_make(&duo, (const char *)adapter, 0);
	duo_connect(&duo);
	evd = duo.active.request;
	duo_ok(duo_write(&duo, 64, 1, SILENT));
	duo_ok(duo_write(&duo, 64, 2, SILENT));
	until_depth(evd, 2);
	no_wait(evd);
	duo_ok(duo_write(&duo, 64, 3, LOUD));
	duo_ok(duo_write(&duo, 64, 4, SILENT));
	wait_cookie(evd, DUO_WAIT, 1);
	wait_cookie(evd, DUO_WAIT, 2);
	wait_cookie(evd, DUO_WAIT, 3);
	expect_cookie(evd, 4); /* empty: it re-arms */
	duo_ok(duo_write(&duo, 64, 5, SILENT));
	until_depth(evd, 1);
	no_wait(evd);
	expect_cookie(evd, 5);
	/* The marked one is dequeued by hand: what is behind it was notified all the same. */
	duo_ok(duo_write(&duo, 64, 6, SILENT));
	until_depth(evd, 1);
	duo_ok(duo_write(&duo, 64, 7, LOUD));
	duo_ok(duo_write(&duo, 64, 8, SILENT));
	expect_cookie(evd, 6);
	expect_cookie(evd, 7);
	while (it_evd_wait(evd, 0, &(it_event_t){0}, NULL) == IT_ERR_TIMEOUT_EXPIRED)
		; /* until the last has come */
	g_assert_cmpint(it_evd_dequeue(evd, &(it_event_t){0}), ==, IT_ERR_QUEUE_EMPTY);
	duo_free(&duo);
}

/* Threshold 0 at the receiver: the sender's solicited flag decides. */
static void
test_solicited(gconstpointer adapter)
{
	it_evd_handle_t evd;
	struct duo duo;

	duo_make(&duo, (const char *)adapter, 0);
	duo_connect(&duo);
	evd = duo.passive.recv;
	for (it_dto_cookie_t i = 0; i < 3; i++)
		duo_ok(duo_recv(&duo.passive, 64, i));
	duo_ok(duo_send(&duo.active, 8, 0, SILENT));
	until_depth(evd, 1);
	duo_ok(duo_send(&duo.active, 8, 1, (unsigned)IT_COMPLETION_FLAG | IT_SOLICITED_WAIT_FLAG));
	wait_cookie(evd, DUO_WAIT, 0);
	wait_cookie(evd, DUO_WAIT, 1);
	no_wait(evd);
	duo_free(&duo);
}

/* Threshold 4: the length of the queue decides, flags do not matter. */
static void
test_threshold(gconstpointer adapter)
{
	it_evd_handle_t evd;
	struct duo duo;

	duo_make(&duo, (const char *)adapter, 4);
	duo_connect(&duo);
	evd = duo.active.request;
	for (it_dto_cookie_t i = 0; i < 3; i++)
		duo_ok(duo_write(&duo, 64, i, LOUD));
	until_depth(evd, 3);
	no_wait(evd);
	duo_ok(duo_write(&duo, 64, 3, SILENT));
	wait_cookie(evd, DUO_WAIT, 0);
	no_wait(evd); /* three are left: below the threshold */
	for (it_dto_cookie_t i = 1; i < 4; i++)
		expect_cookie(evd, i);
	duo_free(&duo);
}

static bool
readable(int fd, int timeout)
{
	struct pollfd pfd = {.fd = fd, .events = POLLIN};

	return poll(&pfd, 1, timeout) == 1;
}

/* The descriptor of a DTO SEVD: nobody is inside the library while the message arrives. */
static void
test_fd(gconstpointer adapter)
{
	struct duo duo;
	it_event_t event;
	int fd = -1;

	duo_make_fd(&duo, (const char *)adapter, 2, &fd);
	duo_connect(&duo);
	for (it_dto_cookie_t i = 0; i < 60; i++)
		duo_ok(duo_recv(&duo.passive, 64, i));
	for (it_dto_cookie_t i = 0; i < 60; i += 2) {
		g_assert_false(readable(fd, 0));
		duo_ok(duo_send(&duo.active, 8, i, SILENT));
		if (i == 0)
			g_assert_false(readable(fd, 50)); /* one is below the threshold */
		duo_ok(duo_send(&duo.active, 8, i + 1, SILENT));
		g_assert_true(readable(fd, 10000));
		g_assert_true(readable(fd, 0));
		expect_cookie(duo.passive.recv, i);
		g_assert_false(readable(fd, 0)); /* below: re-armed */
		expect_cookie(duo.passive.recv, i + 1);
		g_assert_cmpint(it_evd_dequeue(duo.passive.recv, &event), ==, IT_ERR_QUEUE_EMPTY);
		expect_cookie(duo.active.request, i);
		expect_cookie(duo.active.request, i + 1);
	}
	duo_free(&duo);
}

/* The same with threshold 0, where only solicited messages count. */
static void
test_fd_solicited(gconstpointer adapter)
{
	struct duo duo;
	int fd = -1;

	duo_make_fd(&duo, (const char *)adapter, 0, &fd);
	duo_connect(&duo);
	for (it_dto_cookie_t i = 0; i < 3; i++)
		duo_ok(duo_recv(&duo.passive, 64, i));
	duo_ok(duo_send(&duo.active, 8, 0, SILENT));
	g_assert_false(readable(fd, 50));
	duo_ok(duo_send(&duo.active, 8, 1, (unsigned)SILENT | IT_SOLICITED_WAIT_FLAG));
	g_assert_true(readable(fd, 10000));
	duo_ok(duo_send(&duo.active, 8, 2, SILENT));
	expect_cookie(duo.passive.recv, 0);
	expect_cookie(duo.passive.recv, 1);
	expect_cookie(duo.passive.recv, 2);
	g_assert_false(readable(fd, 0));
	duo_free(&duo);
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
		duo_ok(it_evd_wait(sleeper->evd, DUO_WAIT, &event, NULL));
		g_assert_cmpint(event.dto_cmpl.dto_status, ==, IT_DTO_SUCCESS);
		g_assert_cmphex(event.dto_cmpl.cookie, ==, sleeper->taken);
	}
	return NULL;
}

/* Threads that sleep on three SEVDs of one adapter, one leads the engine; all get their events. */
static void
test_sleepers(gconstpointer adapter)
{
	enum {
		COUNT = 60
	};
	struct sleeper sleeper[3];
	struct duo duo;

	duo_make(&duo, (const char *)adapter, 1);
	duo_connect(&duo);
	for (it_dto_cookie_t i = 0; i < COUNT; i++) {
		duo_ok(duo_recv(&duo.passive, 64, i));
		duo_ok(duo_recv(&duo.active, 64, i));
	}
	sleeper[0] = (struct sleeper){.evd = duo.passive.recv, .count = COUNT};
	sleeper[1] = (struct sleeper){.evd = duo.active.recv, .count = COUNT};
	sleeper[2] = (struct sleeper){.evd = duo.active.request, .count = COUNT};
	for (size_t i = 0; i < G_N_ELEMENTS(sleeper); i++)
		pthread_create(&sleeper[i].thread, NULL, sleeper_run, &sleeper[i]);
	for (it_dto_cookie_t i = 0; i < COUNT; i++) {
		duo_ok(duo_send(&duo.active, 32, i, SILENT));
		duo_ok(duo_send(&duo.passive, 32, i, SILENT));
		if (i % 8 == 0)
			g_usleep(500); /* long enough that they sleep */
	}
	for (size_t i = 0; i < G_N_ELEMENTS(sleeper); i++)
		pthread_join(sleeper[i].thread, NULL);
	for (it_dto_cookie_t i = 0; i < COUNT; i++)
		expect_cookie(duo.passive.request, i);
	duo_free(&duo);
}

/* What feeds a dispatcher keeps it; the queue it was has its flushes after a disconnect. */
static void
test_bound(gconstpointer adapter)
{
	it_evd_param_t params;
	struct duo duo;
	it_event_t event;

	duo_make(&duo, (const char *)adapter, 1);
	duo_connect(&duo);
	g_assert_cmpint(it_evd_free(duo.active.request), ==, IT_ERR_EVD_BUSY);
	g_assert_cmpint(it_evd_free(duo.active.connect), ==, IT_ERR_EVD_BUSY);
	g_assert_cmpint(it_evd_free(duo.requests), ==, IT_ERR_EVD_BUSY);
	duo_ok(it_evd_query(duo.requests, IT_EVD_PARAM_BOUND, &params));
	g_assert_true(params.evd_bound);
	for (it_dto_cookie_t i = 0; i < 4; i++)
		duo_ok(duo_recv(&duo.passive, 64, i));
	duo_ok(it_ep_disconnect(duo.active.ep, NULL, 0));
	duo_expect(duo.passive.connect, IT_CM_MSG_CONN_DISCONNECT_EVENT, &event);
	/* All completions precede the end event. */
	for (it_dto_cookie_t i = 0; i < 4; i++) {
		duo_ok(it_evd_dequeue(duo.passive.recv, &event));
		g_assert_cmphex(event.dto_cmpl.cookie, ==, i);
		g_assert_cmpint(event.dto_cmpl.dto_status, ==, IT_DTO_ERR_FLUSHED);
	}
	duo_expect(duo.active.connect, IT_CM_MSG_CONN_DISCONNECT_EVENT, &event);
	duo_free(&duo);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	duo_add_tests("/itapi/notify/r-10-flags", test_flags);
	duo_add_tests("/itapi/notify/solicited", test_solicited);
	duo_add_tests("/itapi/notify/r-10-threshold", test_threshold);
	duo_add_tests("/itapi/notify/fd", test_fd);
	duo_add_tests("/itapi/notify/fd-solicited", test_fd_solicited);
	duo_add_tests("/itapi/notify/sleepers", test_sleepers);
	duo_add_tests("/itapi/notify/bound", test_bound);
	return g_test_run();
}
