/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Event dispatchers over it_api.h: every status of [IT 15.3], and what [IT 6] promises. */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "it_ext.h"
#include "it_waiter.h"

#define SOFT  IT_SOFTWARE_EVENT_STREAM
#define SHORT 20000 /* microseconds: long enough to sleep, short enough to wait for */

static void *
number(uintptr_t value)
{
	return (void *)value;
}

static void
post(it_evd_handle_t evd, uintptr_t value)
{
	pair_ok(it_evd_post_se(evd, number(value)));
}

static void
expect(it_evd_handle_t evd, uintptr_t value)
{
	it_event_t event;

	pair_ok(it_evd_dequeue(evd, &event));
	g_assert_cmphex(event.event_number, ==, IT_SOFTWARE_EVENT);
	g_assert_true(event.sw.evd == evd);
	g_assert_true(event.sw.data == number(value));
}

static it_status_t
create(it_ia_handle_t ia, it_event_type_t stream, unsigned flags, size_t size, size_t threshold)
{
	it_evd_handle_t evd = (it_evd_handle_t)&ia;
	it_status_t status;
	int fd = 7;

	status = it_evd_create(ia, stream, (it_evd_flags_t)flags, size, threshold, NULL, &evd, &fd);
	if (status == IT_SUCCESS)
		pair_ok(it_evd_free(evd));
	else
		g_assert_null(evd);
	return status;
}

/* SEVDs are created with each stream, flag and threshold that the standard allows. */
static void
test_create(void)
{
	it_ia_handle_t ia = pair_ia();
	const it_event_type_t streams[] = {IT_DTO_EVENT_STREAM,         IT_CM_REQ_EVENT_STREAM,
					   IT_CM_MSG_EVENT_STREAM,      IT_ASYNC_AFF_EVENT_STREAM,
					   IT_ASYNC_UNAFF_EVENT_STREAM, SOFT};
	it_evd_handle_t evd = NULL, aff, unaff;
	it_ia_info_t *info;
	int fd = 7;

	for (size_t i = 0; i < G_N_ELEMENTS(streams); i++) {
		g_test_message("%s", it_event_name(streams[i]));
		g_assert_cmpint(create(ia, streams[i], 0, 1, 0), ==, IT_SUCCESS);
		g_assert_cmpint(create(ia, streams[i], IT_EVD_CREATE_FD, 8, 8), ==, IT_SUCCESS);
		g_assert_cmpint(create(ia, streams[i], 0, 0, 0), ==, IT_ERR_INVALID_QUEUE_SIZE);
		g_assert_cmpint(create(ia, streams[i], 0, 4, 5), ==, IT_ERR_INVALID_THRESHOLD);
		g_assert_cmpint(create(ia, streams[i], 0, (size_t)1 << 40, 0), ==,
				IT_ERR_RESOURCE_QUEUE_SIZE);
		g_assert_cmpint(create(ia, streams[i], IT_EVD_DEQUEUE_NOTIFICATIONS, 4, 0), ==,
				IT_ERR_INVALID_FLAGS);
		g_assert_cmpint(create(ia, streams[i], 0x20, 4, 0), ==, IT_ERR_INVALID_FLAGS);
		g_assert_cmpint(create(ia, streams[i], 0x0c, 4, 0), ==, IT_ERR_INVALID_FLAGS);
		g_assert_cmpint(create(ia, streams[i], 0x18, 4, 0), ==, IT_SUCCESS);
	}
	g_assert_cmpint(create(NULL, SOFT, 0, 4, 0), ==, IT_ERR_INVALID_IA);
	g_assert_cmpint(create(ia, IT_SOFTWARE_EVENT, 0, 4, 0), ==, IT_ERR_INVALID_EVD_TYPE);
	g_assert_cmpint(create(ia, (it_event_type_t)0x40000, 0, 4, 0), ==, IT_ERR_INVALID_EVD_TYPE);
	g_assert_cmpint(it_evd_create(ia, SOFT, (it_evd_flags_t)0, 4, 0, NULL, NULL, NULL), ==,
			IT_ERR_FAULT);
	g_assert_cmpint(it_evd_create(ia, SOFT, IT_EVD_CREATE_FD, 4, 0, NULL, &evd, NULL), ==,
			IT_ERR_MISMATCH_FD);
	g_assert_cmpint(
		it_evd_create(ia, SOFT, (it_evd_flags_t)0, 4, 0, (it_evd_handle_t)ia, &evd, NULL),
		==, IT_ERR_INVALID_AEVD);
	pair_ok(it_evd_create(ia, SOFT, (it_evd_flags_t)0, 4, 0, NULL, &evd, &fd));
	g_assert_cmpint(fd, ==, -1);
	pair_ok(it_evd_free(evd));
	g_assert_cmpint(it_evd_free(evd), ==, IT_ERR_INVALID_EVD);
	aff = pair_sevd(ia, IT_ASYNC_AFF_EVENT_STREAM, 0);
	unaff = pair_sevd(ia, IT_ASYNC_UNAFF_EVENT_STREAM, 0);
	g_assert_cmpint(create(ia, IT_ASYNC_AFF_EVENT_STREAM, 0, 1, 0), ==,
			IT_ERR_ASYNC_AFF_EVD_EXISTS);
	g_assert_cmpint(create(ia, IT_ASYNC_UNAFF_EVENT_STREAM, 0, 1, 0), ==,
			IT_ERR_ASYNC_UNAFF_EVD_EXISTS);
	pair_ok(it_ia_query(ia, &info));
	g_assert_true(info->affiliated_err_evd == aff && info->unaffiliated_err_evd == unaff);
	it_ia_info_free(info);
	pair_ok(it_evd_free(aff));
	pair_ok(it_ia_query(ia, &info));
	g_assert_true(info->affiliated_err_evd == NULL && info->unaffiliated_err_evd == unaff);
	it_ia_info_free(info);
	pair_ok(it_ia_free(ia));
	g_assert_cmpint(it_evd_free(unaff), ==, IT_ERR_INVALID_EVD);
}

/* A SEVD returns events in their order, and says when it is empty or full. */
static void
test_queue(void)
{
	it_ia_handle_t ia = pair_ia();
	it_evd_handle_t evd, other = pair_sevd(ia, IT_CM_MSG_EVENT_STREAM, 0);
	it_event_t events[8];
	int taken = 99;

	pair_ok(it_evd_create(ia, SOFT, (it_evd_flags_t)0, 3, 0, NULL, &evd, NULL));
	g_assert_cmpint(it_evd_dequeue(evd, &events[0]), ==, IT_ERR_QUEUE_EMPTY);
	for (uintptr_t i = 0; i < 30; i += 3) {
		post(evd, i);
		post(evd, i + 1);
		expect(evd, i);
		post(evd, i + 2);
		expect(evd, i + 1);
		expect(evd, i + 2);
	}
	post(evd, 1);
	post(evd, 2);
	post(evd, 3);
	g_assert_cmpint(it_evd_post_se(evd, number(4)), ==, IT_ERR_EVD_QUEUE_FULL);
	pair_ok(it_evd_dequeue_n(evd, 2, events, &taken));
	g_assert_cmpint(taken, ==, 2);
	g_assert_true(events[0].sw.data == number(1) && events[1].sw.data == number(2));
	pair_ok(it_evd_dequeue_n(evd, 8, events, &taken));
	g_assert_cmpint(taken, ==, 1);
	pair_ok(it_evd_dequeue_n(evd, 8, events, &taken));
	g_assert_cmpint(taken, ==, 0);
	g_assert_cmpint(it_evd_dequeue_n(evd, 0, events, &taken), ==, IT_ERR_INVALID_LENGTH);
	g_assert_cmpint(it_evd_dequeue_n(evd, 1, NULL, &taken), ==, IT_ERR_FAULT);
	g_assert_cmpint(it_evd_dequeue_n(evd, 1, events, NULL), ==, IT_ERR_FAULT);
	g_assert_cmpint(it_evd_dequeue_n(NULL, 1, events, &taken), ==, IT_ERR_INVALID_EVD);
	g_assert_cmpint(it_evd_dequeue(evd, NULL), ==, IT_ERR_FAULT);
	g_assert_cmpint(it_evd_dequeue((it_evd_handle_t)ia, events), ==, IT_ERR_INVALID_EVD);
	g_assert_cmpint(it_evd_post_se(other, NULL), ==, IT_ERR_INVALID_SOFT_EVD);
	g_assert_cmpint(it_evd_post_se(NULL, NULL), ==, IT_ERR_INVALID_EVD);
	g_assert_cmpint(it_evd_callback_attach(evd, (it_evd_callback_rtn_t)NULL, NULL), ==,
			IT_ERR_FAULT);
	pair_ok(it_evd_callback_detach(evd));
	g_assert_cmpint(it_evd_callback_detach(NULL), ==, IT_ERR_INVALID_EVD);
	pair_ok(it_ia_free(ia));
}

/* The attributes of a SEVD are queried by a mask. */
static void
test_query(void)
{
	it_ia_handle_t ia = pair_ia();
	it_evd_handle_t evd;
	it_evd_param_t params;
	int fd;

	pair_ok(it_evd_create(ia, SOFT, (it_evd_flags_t)(IT_EVD_CREATE_FD | IT_EVD_OVERFLOW_NOTIFY),
			      5, 2, NULL, &evd, &fd));
	memset(&params, 0xa5, sizeof(params));
	pair_ok(it_evd_query(evd, IT_EVD_PARAM_ALL, &params));
	g_assert_true(params.ia == ia && params.aevd == NULL && params.fd == fd);
	g_assert_cmphex(params.event_number, ==, SOFT);
	g_assert_cmphex(params.evd_flag, ==, IT_EVD_CREATE_FD | IT_EVD_OVERFLOW_NOTIFY);
	g_assert_cmpuint(params.sevd_queue_size, >=, 5);
	g_assert_cmpuint(params.sevd_threshold, ==, 2);
	g_assert_true(params.evd_enabled && !params.evd_bound && !params.evd_overflowed &&
		      !params.evd_callback);
	memset(&params, 0xa5, sizeof(params));
	pair_ok(it_evd_query(evd, IT_EVD_PARAM_FD, &params));
	g_assert_cmpint(params.fd, ==, fd);
	g_assert_cmphex(params.sevd_threshold, ==, 0xa5a5a5a5a5a5a5a5);
	g_assert_cmpint(it_evd_query(NULL, IT_EVD_PARAM_ALL, &params), ==, IT_ERR_INVALID_EVD);
	g_assert_cmpint(it_evd_query(evd, (it_evd_param_mask_t)0x1000, &params), ==,
			IT_ERR_INVALID_MASK);
	g_assert_cmpint(it_evd_query(evd, (it_evd_param_mask_t)3, &params), ==,
			IT_ERR_INVALID_MASK);
	g_assert_cmpint(it_evd_query(evd, IT_EVD_PARAM_ALL, NULL), ==, IT_ERR_FAULT);
	pair_ok(it_evd_free(evd));
	g_assert_cmpint(fcntl(fd, F_GETFD), ==, -1);
	pair_ok(it_ia_free(ia));
}

static it_status_t
modify(it_evd_handle_t evd, unsigned mask, it_evd_param_t params)
{
	return it_evd_modify(evd, (it_evd_param_mask_t)mask, &params);
}

/* The attributes of a SEVD are modified by a mask. */
static void
test_modify(void)
{
	it_ia_handle_t ia = pair_ia();
	it_evd_param_t none = {.sevd_queue_size = 0}, params;
	it_evd_handle_t evd, dto = pair_sevd(ia, IT_DTO_EVENT_STREAM, 1);
	uint64_t support = 0;
	const struct {
		const char *name;
		unsigned mask;
	} fixed[] = {
		{"empty mask", 0},
		{"ALL", IT_EVD_PARAM_ALL},
		{"IA", IT_EVD_PARAM_IA},
		{"EVENT_NUMBER", IT_EVD_PARAM_EVENT_NUMBER},
		{"FD", IT_EVD_PARAM_FD},
		{"BOUND", IT_EVD_PARAM_BOUND},
		{"CALLBACK", IT_EVD_PARAM_CALLBACK},
		{"unknown bit", 0x1000},
	};

	pair_ok(it_evd_create(ia, SOFT, (it_evd_flags_t)0, 4, 0, NULL, &evd, NULL));
	for (size_t i = 0; i < G_N_ELEMENTS(fixed); i++) {
		g_test_message("%s", fixed[i].name);
		g_assert_cmpint(modify(evd, fixed[i].mask, none), ==, IT_ERR_INVALID_MASK);
	}
	g_assert_cmpint(modify(NULL, IT_EVD_PARAM_THRESHOLD, none), ==, IT_ERR_INVALID_EVD);
	g_assert_cmpint(it_evd_modify(evd, IT_EVD_PARAM_THRESHOLD, NULL), ==, IT_ERR_FAULT);
	for (uintptr_t i = 0; i < 4; i++)
		post(evd, i);
	expect(evd, 0);
	post(evd, 4); /* the ring wraps around */
	g_assert_cmpint(modify(evd, IT_EVD_PARAM_QUEUE_SIZE, none), ==, IT_ERR_INVALID_QUEUE_SIZE);
	params = (it_evd_param_t){.sevd_queue_size = 3};
	g_assert_cmpint(modify(evd, IT_EVD_PARAM_QUEUE_SIZE, params), ==,
			IT_ERR_INVALID_QUEUE_SIZE);
	params.sevd_queue_size = (size_t)1 << 40;
	g_assert_cmpint(modify(evd, IT_EVD_PARAM_QUEUE_SIZE, params), ==,
			IT_ERR_RESOURCE_QUEUE_SIZE);
	g_assert_cmpint(modify(dto, IT_EVD_PARAM_QUEUE_SIZE, params), ==,
			IT_ERR_RESOURCE_QUEUE_SIZE);
	params.sevd_queue_size = 6;
	pair_ok(modify(evd, IT_EVD_PARAM_QUEUE_SIZE, params));
	post(evd, 5);
	post(evd, 6);
	for (uintptr_t i = 1; i < 7; i++)
		expect(evd, i);
	params.sevd_queue_size = 500;
	pair_ok(itx_ia_query_support(ia, &support));
	if ((support & ITX_SUPPORT_DTO_EVD_RESIZE) != 0) {
		pair_ok(modify(dto, IT_EVD_PARAM_QUEUE_SIZE, params));
		pair_ok(it_evd_query(dto, IT_EVD_PARAM_QUEUE_SIZE, &params));
		g_assert_cmpuint(params.sevd_queue_size, >=, 500);
	} else {
		g_assert_cmpint(modify(dto, IT_EVD_PARAM_QUEUE_SIZE, params), ==,
				IT_ERR_RESOURCE_QUEUE_SIZE);
	}
	params = (it_evd_param_t){.sevd_threshold = 7};
	g_assert_cmpint(modify(evd, IT_EVD_PARAM_THRESHOLD, params), ==, IT_ERR_INVALID_THRESHOLD);
	params = (it_evd_param_t){.aevd = evd};
	g_assert_cmpint(modify(evd, IT_EVD_PARAM_AEVD_HANDLE, params), ==, IT_ERR_INVALID_AEVD);
	pair_ok(modify(evd, IT_EVD_PARAM_AEVD_HANDLE, none));
	params = (it_evd_param_t){.evd_flag = IT_EVD_CREATE_FD};
	g_assert_cmpint(modify(evd, IT_EVD_PARAM_FLAG, params), ==, IT_ERR_INVALID_FLAGS);
	params.evd_flag = (it_evd_flags_t)(IT_EVD_OVERFLOW_DEFAULT | IT_EVD_OVERFLOW_NOTIFY);
	g_assert_cmpint(modify(evd, IT_EVD_PARAM_FLAG, params), ==, IT_ERR_INVALID_FLAGS);
	params.evd_flag = IT_EVD_OVERFLOW_AUTO_RESET;
	pair_ok(modify(evd, IT_EVD_PARAM_FLAG, params));
	params = (it_evd_param_t){.evd_overflowed = IT_TRUE};
	g_assert_cmpint(modify(evd, IT_EVD_PARAM_OVERFLOWED, params), ==, IT_ERR_INVALID_EVD_STATE);
	pair_ok(modify(evd, IT_EVD_PARAM_OVERFLOWED, none));
	for (uintptr_t i = 0; i < 6; i++)
		post(evd, i);
	g_assert_cmpint(modify(evd, IT_EVD_PARAM_OVERFLOWED, none), ==, IT_ERR_INVALID_EVD_STATE);
	pair_ok(it_ia_free(ia));
}

/* A wait returns at the threshold, at its time-out, or when the SEVD is freed. */
static void
test_wait(void)
{
	it_ia_handle_t ia = pair_ia();
	it_evd_handle_t evd = pair_sevd(ia, SOFT, 0), three = pair_sevd(ia, SOFT, 3);
	it_evd_param_t off = {.evd_enabled = IT_FALSE}, on = {.evd_enabled = IT_TRUE};
	it_event_t event;
	size_t more = 99;

	g_assert_cmpint(it_evd_wait(NULL, 0, &event, NULL), ==, IT_ERR_INVALID_EVD);
	g_assert_cmpint(it_evd_wait(evd, 0, NULL, NULL), ==, IT_ERR_FAULT);
	g_assert_cmpint(it_evd_wait(evd, 0, &event, &more), ==, IT_ERR_TIMEOUT_EXPIRED);
	g_assert_cmpuint(more, ==, 0);
	g_assert_cmpint(it_evd_wait(evd, SHORT, &event, NULL), ==, IT_ERR_TIMEOUT_EXPIRED);
	post(evd, 1);
	post(evd, 2);
	pair_ok(it_evd_wait(evd, IT_TIMEOUT_INFINITE, &event, &more));
	g_assert_true(event.sw.data == number(1) && more == 1);
	pair_ok(it_evd_wait(evd, 0, &event, &more));
	g_assert_true(event.sw.data == number(2) && more == 0);
	post(three, 1);
	post(three, 2);
	g_assert_cmpint(it_evd_wait(three, 0, &event, &more), ==, IT_ERR_TIMEOUT_EXPIRED);
	g_assert_cmpuint(more, ==, 2);
	g_assert_cmpint(it_evd_wait(three, SHORT, &event, &more), ==, IT_ERR_TIMEOUT_EXPIRED);
	post(three, 3);
	pair_ok(it_evd_wait(three, 0, &event, &more));
	g_assert_true(event.sw.data == number(1) && more == 2);
	g_assert_cmpint(it_evd_wait(three, 0, &event, &more), ==, IT_ERR_TIMEOUT_EXPIRED);
	expect(three, 2);
	expect(three, 3);
	post(evd, 1);
	pair_ok(it_evd_modify(evd, IT_EVD_PARAM_ENABLED, &off));
	g_assert_cmpint(it_evd_wait(evd, 0, &event, NULL), ==, IT_ERR_INVALID_EVD_STATE);
	expect(evd, 1);
	pair_ok(it_evd_modify(evd, IT_EVD_PARAM_ENABLED, &on));
	g_assert_cmpint(it_evd_wait(evd, 0, &event, NULL), ==, IT_ERR_TIMEOUT_EXPIRED);
	pair_ok(it_ia_free(ia));
}

/* the descriptor of a SEVD is readable while there is a notification. */
static void
test_fd(void)
{
	it_ia_handle_t ia = pair_ia();
	it_evd_param_t off = {.evd_enabled = IT_FALSE}, on = {.evd_enabled = IT_TRUE};
	it_evd_param_t one = {.sevd_threshold = 1};
	it_evd_handle_t evd;
	it_event_t event;
	int fd = -1;

	pair_ok(it_evd_create(ia, SOFT, IT_EVD_CREATE_FD, 8, 2, NULL, &evd, &fd));
	g_assert_cmpint(fcntl(fd, F_GETFD) & FD_CLOEXEC, ==, FD_CLOEXEC);
	g_assert_false(pair_readable(fd, 0));
	post(evd, 1);
	g_assert_false(pair_readable(fd, 0));
	post(evd, 2);
	g_assert_true(pair_readable(fd, 0));
	g_assert_true(pair_readable(fd, 0)); /* level-triggered */
	post(evd, 3);
	expect(evd, 1);
	g_assert_true(pair_readable(fd, 0));
	expect(evd, 2);
	g_assert_false(pair_readable(fd, 0));
	pair_ok(it_evd_modify(evd, IT_EVD_PARAM_THRESHOLD, &one));
	g_assert_true(pair_readable(fd, 0));
	pair_ok(it_evd_modify(evd, IT_EVD_PARAM_ENABLED, &off));
	g_assert_false(pair_readable(fd, 0));
	pair_ok(it_evd_modify(evd, IT_EVD_PARAM_ENABLED, &on));
	g_assert_true(pair_readable(fd, 0));
	pair_ok(it_evd_wait(evd, 0, &event,
			    NULL)); /* a thread may wait although the EVD has a descriptor */
	g_assert_false(pair_readable(fd, 0));
	pair_ok(it_ia_free(ia));
	g_assert_cmpint(fcntl(fd, F_GETFD), ==, -1);
}

/* an event wakes one waiter. */
static void
test_wake(void)
{
	it_ia_handle_t ia = pair_ia();
	it_evd_handle_t evd = pair_sevd(ia, SOFT, 0),
			msg = pair_sevd(ia, IT_CM_MSG_EVENT_STREAM, 0);
	it_evd_handle_t dto = pair_sevd(ia, IT_DTO_EVENT_STREAM, 1);
	it_evd_param_t off = {.evd_enabled = IT_FALSE};
	struct waiter waiter[3];

	waiter_start(&waiter[0], evd);
	waiter_settle(&waiter[0]);
	post(evd, 5);
	pthread_join(waiter[0].thread, NULL);
	g_assert_cmpint(waiter[0].status, ==, IT_SUCCESS);
	g_assert_true(waiter[0].event.sw.data == number(5));
	waiter_start(&waiter[0], evd);
	waiter_settle(&waiter[0]);
	pair_ok(it_evd_modify(evd, IT_EVD_PARAM_ENABLED, &off));
	pthread_join(waiter[0].thread, NULL);
	g_assert_cmpint(waiter[0].status, ==, IT_ERR_INVALID_EVD_STATE);
	waiter_start(&waiter[0], msg);
	waiter_start(&waiter[1], dto);
	waiter_settle(&waiter[0]);
	waiter_settle(&waiter[1]);
	waiter_start(&waiter[2], dto);
	waiter_settle(&waiter[2]);
	pair_ok(it_ia_free(ia));
	for (size_t i = 0; i < 3; i++) {
		pthread_join(waiter[i].thread, NULL);
		/* Only of the second one on `dto` is it not sure that it had begun to wait. */
		if (i < 2 || waiter[i].status != IT_ERR_INVALID_EVD)
			g_assert_cmpint(waiter[i].status, ==, IT_ERR_ABORT);
	}
}

/* A wait is refused once all places are taken; until then this thread may be in line itself for a moment. */
static void
line_await_full(it_evd_handle_t evd)
{
	it_event_t event;

	PAIR_UNTIL(it_evd_wait(evd, 1000, &event, NULL) == IT_ERR_WAITER_LIMIT);
}

/*
 * 64 threads may wait and no more; each event wakes one of them, the thread that has waited longest first. Threads
 * that begin to wait after an event has freed a place are known to be the last in the line.
 */
static void
test_line(void)
{
	enum {
		LIMIT = 64,
		LATE = 3
	};
	it_ia_handle_t ia = pair_ia();
	it_evd_handle_t evd = pair_sevd(ia, SOFT, 0);
	struct waiter *waiter = g_new0(struct waiter, LIMIT + LATE);
	bool seen[LIMIT + LATE] = {false};
	it_event_t event;

	for (size_t i = 0; i < LIMIT; i++)
		waiter_start(&waiter[i], evd);
	line_await_full(evd);
	for (size_t i = 0; i < LATE; i++) {
		post(evd, i);
		PAIR_UNTIL(waiters_done(waiter, LIMIT) == i + 1);
		waiter_start(&waiter[LIMIT + i], evd);
		line_await_full(evd);
	}
	for (uintptr_t i = LATE; i < LIMIT + LATE; i++)
		post(evd, i);
	for (size_t i = 0; i < LIMIT + LATE; i++) {
		uintptr_t got;

		pthread_join(waiter[i].thread, NULL);
		g_assert_cmpint(waiter[i].status, ==, IT_SUCCESS);
		got = (uintptr_t)waiter[i].event.sw.data;
		g_assert_cmpuint(got, <, LIMIT + LATE);
		g_assert_false(seen[got]);
		seen[got] = true;
		if (i >= LIMIT)
			g_assert_cmpuint(got, ==, i);
	}
	g_assert_cmpint(it_evd_dequeue(evd, &event), ==, IT_ERR_QUEUE_EMPTY);
	pair_ok(it_evd_free(evd));
	pair_ok(it_ia_free(ia));
	g_free(waiter);
}

static void
on_signal(int signum)
{
	(void)signum;
}

/* A signal handler ends a wait with IT_ERR_INTERRUPT. */
static void
test_interrupt(void)
{
	it_ia_handle_t ia = pair_ia();
	it_evd_handle_t evd[] = {pair_sevd(ia, SOFT, 0), pair_sevd(ia, IT_DTO_EVENT_STREAM, 1)};
	struct sigaction action = {.sa_handler = on_signal}, before;
	struct waiter waiter;

	sigaction(SIGUSR1, &action, &before);
	for (size_t i = 0; i < G_N_ELEMENTS(evd); i++) {
		waiter_start(&waiter, evd[i]);
		waiter_settle(&waiter);
		waiter_interrupt(&waiter);
		g_assert_cmpint(waiter.status, ==, IT_ERR_INTERRUPT);
	}
	sigaction(SIGUSR1, &before, NULL);
	pair_ok(it_ia_free(ia));
}

/* If signal handlers are installed with SA_RESTART, an interrupted wait goes on [IT 6.4]. */
static void
test_restart(void)
{
	it_ia_handle_t ia = pair_ia();
	it_evd_handle_t soft = pair_sevd(ia, SOFT, 0), dto = pair_sevd(ia, IT_DTO_EVENT_STREAM, 1);
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, before;
	struct waiter waiter[2];

	sigaction(SIGUSR1, &action, &before);
	waiter_start(&waiter[0], soft);
	waiter_start(&waiter[1], dto);
	for (size_t i = 0; i < 10 * G_N_ELEMENTS(waiter); i++) {
		waiter_settle(&waiter[i % 2]);
		pthread_kill(waiter[i % 2].thread, SIGUSR1);
	}
	post(soft, 6);
	pthread_join(waiter[0].thread, NULL);
	g_assert_cmpint(waiter[0].status, ==, IT_SUCCESS);
	pair_ok(it_ia_free(ia));
	pthread_join(waiter[1].thread, NULL);
	g_assert_cmpint(waiter[1].status, ==, IT_ERR_ABORT);
	sigaction(SIGUSR1, &before, NULL);
}

/* Several threads post to and wait on one EVD: every event arrives once. */
struct crowd {
	it_evd_handle_t evd;
	atomic_uint seen[4000];
	atomic_uint next;
};

static void *
crowd_post(void *arg)
{
	struct crowd *crowd = (struct crowd *)arg;
	uintptr_t value;

	while ((value = atomic_fetch_add(&crowd->next, 1)) < G_N_ELEMENTS(crowd->seen))
		while (it_evd_post_se(crowd->evd, number(value)) == IT_ERR_EVD_QUEUE_FULL)
			sched_yield();
	return NULL;
}

static void *
crowd_take(void *arg)
{
	struct crowd *crowd = (struct crowd *)arg;
	it_event_t event;

	for (unsigned i = 0; i < G_N_ELEMENTS(crowd->seen) / 4; i++) {
		/* A dequeue may take an event before the threads in line get it. */
		if (i % 7 != 0 || it_evd_dequeue(crowd->evd, &event) != IT_SUCCESS)
			pair_ok(it_evd_wait(crowd->evd, WAIT_US, &event, NULL));
		atomic_fetch_add(&crowd->seen[(uintptr_t)event.sw.data], 1);
	}
	return NULL;
}

/* Many threads wait for one SEVD, and each event wakes one of them. */
static void
test_crowd(void)
{
	it_ia_handle_t ia = pair_ia();
	struct crowd *crowd = g_new0(struct crowd, 1);
	pthread_t thread[6];

	crowd->evd = pair_sevd(ia, SOFT, 1);
	for (size_t i = 0; i < 6; i++)
		pthread_create(&thread[i], NULL, i < 4 ? crowd_take : crowd_post, crowd);
	for (size_t i = 0; i < 6; i++)
		pthread_join(thread[i], NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(crowd->seen); i++)
		g_assert_cmpuint(atomic_load(&crowd->seen[i]), ==, 1);
	pair_ok(it_ia_free(ia));
	g_free(crowd);
}

static void
add(void)
{
	pair_add_bare("evd/create", test_create);
	pair_add_bare("evd/queue", test_queue);
	pair_add_bare("evd/query", test_query);
	pair_add_bare("evd/modify", test_modify);
	pair_add_bare("evd/wait", test_wait);
	pair_add_bare("evd/r-13-fd", test_fd);
	pair_add_bare("evd/r-15-wake", test_wake);
	pair_add_bare("evd/r-12-line", test_line);
	pair_add_bare("evd/interrupt", test_interrupt);
	pair_add_bare("evd/restart", test_restart);
	pair_add_bare("evd/crowd", test_crowd);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add);
}
