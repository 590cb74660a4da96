/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Adapters and event dispatchers on a scripted kAL: events that come too late, and which threads are woken.
 */

#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kal_script.h"
#include "ual.h"
#include "ual_evd.h"

#define WAIT (120 * 1000000ull) /* us: longer than any step takes */

static struct ual_ia *
ia_open(void)
{
	it_ia_handle_t handle = NULL;

	g_assert_cmpint(ual_ia_create("script", 2, 1, &handle), ==, IT_SUCCESS);
	return ual_ia_of(handle); /* in a call, as the caller of ual_ia_free is */
}

static struct ual_evd *
evd_make(struct ual_ia *ia, it_event_type_t stream, unsigned flags, size_t size, size_t threshold)
{
	const struct ual_evd_wanted wanted = {
		.stream = stream,
		.flags = (it_evd_flags_t)flags,
		.queue_size = size,
		.threshold = threshold,
	};
	const it_evd_param_t exactly = {.sevd_queue_size = size};
	it_evd_handle_t handle = NULL;
	struct ual_evd *evd;

	g_assert_cmpint(ual_evd_create(ia, &wanted, &handle, NULL), ==, IT_SUCCESS);
	evd = (struct ual_evd *)ual_object_get(handle, UAL_EVD);
	/* It is larger than requested. */
	if (stream != IT_DTO_EVENT_STREAM && !ual_evd_is_aggregate(evd))
		g_assert_cmpint(ual_evd_modify(evd, IT_EVD_PARAM_QUEUE_SIZE, &exactly), ==,
				IT_SUCCESS);
	return evd;
}

static bool
overflowed(struct ual_evd *evd)
{
	it_evd_param_t params;

	ual_evd_query(evd, IT_EVD_PARAM_OVERFLOWED, &params);
	return params.evd_overflowed == IT_TRUE;
}

static void
expect_affiliated(struct ual_evd *evd, it_event_type_t number, void *cause)
{
	it_event_t event;

	if (number == 0) {
		g_assert_cmpint(ual_evd_dequeue(evd, &event), ==, IT_ERR_QUEUE_EMPTY);
		return;
	}
	g_assert_cmpint(ual_evd_dequeue(evd, &event), ==, IT_SUCCESS);
	g_assert_cmphex(event.event_number, ==, number);
	g_assert_true((void *)event.aff_async.cause.sevd == cause);
}

/*
 * Events for destroyed objects, or of unknown kinds, are dropped: neither the streams of asynchronous events hear of them, nor the
 * object that has the place of the destroyed one. Its own events reach it.
 */
static void
test_late_events(void)
{
	struct kal_event event = {.kind = KAL_EVENT_CQ};
	struct ual_evd *evd, *next, *aff;
	uint64_t gone;
	struct ual_ia *ia;

	script_reset();
	ia = ia_open();
	aff = evd_make(ia, IT_ASYNC_AFF_EVENT_STREAM, 0, 8, 0);
	evd = evd_make(ia, IT_DTO_EVENT_STREAM, 0, 4, 1);
	gone = event.ctx = ual_object_ctx(&evd->object);
	g_assert_cmpint(ual_evd_free(evd), ==, IT_SUCCESS);
	next = evd_make(ia, IT_DTO_EVENT_STREAM, IT_EVD_OVERFLOW_NOTIFY, 4, 1);
	g_assert_cmphex(ual_object_ctx(&next->object), !=, gone);
	script_event(&event);
	script_async(RI_EVENT_CQ_OVERFLOW, RI_OBJECT_CQ, event.ctx);
	script_async(RI_EVENT_CQ_OVERFLOW, RI_OBJECT_CQ, 0);
	script_async(RI_EVENT_QP_CATASTROPHIC, RI_OBJECT_QP, event.ctx);
	script_async(RI_EVENT_PORT_CHANGE, RI_OBJECT_PORT, 0);
	event = (struct kal_event){.kind = KAL_EVENT_CM, .ctx = 77, .u.cm.kind = KAL_CM_BROKEN};
	script_event(&event);
	event.kind = 99;
	script_event(&event);
	expect_affiliated(aff, (it_event_type_t)0, NULL);
	g_assert_false(overflowed(next));
	script_async(RI_EVENT_CQ_OVERFLOW, RI_OBJECT_CQ, ual_object_ctx(&next->object));
	g_assert_true(overflowed(next));
	expect_affiliated(aff, IT_ASYNC_AFF_SEVD_FULL_ERROR, ual_object_handle(&next->object));
	g_assert_cmpint(ual_ia_free(ia), ==, IT_SUCCESS);
	script_check_empty();
}

struct waiter {
	pthread_t thread;
	struct ual_evd *evd;
	it_status_t status;
	it_event_t event;
};

static void *
waiter_run(void *arg)
{
	struct waiter *waiter = (struct waiter *)arg;
	UAL_VISIT struct ual_evd *evd = waiter->evd; /* as the standard's call does */

	ual_object_visit(&evd->object);
	waiter->status = ual_evd_wait(evd, WAIT, &waiter->event, NULL);
	return NULL;
}

/* Start the thread and return when it waits. Most likely it sleeps then, too. */
static void
waiter_start(struct waiter *waiter, struct ual_evd *evd)
{
	unsigned waiting = 0;

	memset(waiter, 0, sizeof(*waiter));
	waiter->evd = evd;
	g_assert_cmpint(pthread_create(&waiter->thread, NULL, waiter_run, waiter), ==, 0);
	while (waiting == 0) {
		pthread_mutex_lock(&evd->lock);
		waiting = evd->waiters;
		pthread_mutex_unlock(&evd->lock);
		g_usleep(200);
	}
	g_usleep(5000);
}

static struct ri_ucq *arriving;

static void
arrive(void)
{
	script_complete(arriving, 7, 0);
}

/*
 * Three sleepers on two queues. The first is the leader; completions that it finds for the others wake them and it
 * stays leader; when its own event comes, another sleeper becomes leader.
 */
static void
test_lead(void)
{
	struct ri_ucq *cq[2];
	struct ual_evd *evd[2];
	struct waiter waiter[3];
	struct ual_ia *ia;
	uint64_t one = 1;

	script_reset();
	script.on_progress = arrive;
	ia = ia_open();
	for (size_t i = 0; i < 2; i++) {
		evd[i] = evd_make(ia, IT_DTO_EVENT_STREAM, 0, 8, 1);
		cq[i] = script_cq();
	}
	waiter_start(&waiter[0], evd[0]);
	while (atomic_load(&script.leads) == 0)
		g_usleep(200);
	waiter_start(&waiter[1], evd[1]);
	g_assert_cmpint(atomic_load(&script.leads), ==, 1);
	g_assert_true(atomic_load(&script.leading));
	arriving = cq[1];
	g_assert_cmpint(write(script.engine_fd, &one, sizeof(one)), ==, sizeof(one));
	pthread_join(waiter[1].thread, NULL);
	g_assert_cmpint(waiter[1].status, ==, IT_SUCCESS);
	g_assert_cmphex(waiter[1].event.dto_cmpl.cookie, ==, 7);
	g_assert_cmpint(atomic_load(&script.leads), ==, 1); /* the first is still leader */
	waiter_start(&waiter[1], evd[1]);
	arriving = cq[0];
	g_assert_cmpint(write(script.engine_fd, &one, sizeof(one)), ==, sizeof(one));
	pthread_join(waiter[0].thread, NULL);
	g_assert_cmpint(waiter[0].status, ==, IT_SUCCESS);
	while (atomic_load(&script.leads) < 2)
		g_usleep(200); /* the next leader is being woken */
	arriving = cq[1];
	g_assert_cmpint(write(script.engine_fd, &one, sizeof(one)), ==, sizeof(one));
	pthread_join(waiter[1].thread, NULL);
	g_assert_cmpint(waiter[1].status, ==, IT_SUCCESS);
	g_assert_false(atomic_load(&script.leading));
	/* A leader whose adapter is freed returns. */
	waiter_start(&waiter[2], evd[0]);
	g_assert_cmpint(ual_ia_free(ia), ==, IT_SUCCESS);
	pthread_join(waiter[2].thread, NULL);
	g_assert_cmpint(waiter[2].status, ==, IT_ERR_ABORT);
	script_check_empty();
}

/* A waiter that is woken and finds that its event was taken sleeps again. */
static void
test_stolen(void)
{
	struct ual_evd *evd;
	struct waiter waiter;
	struct ual_ia *ia;
	it_event_t event;

	script_reset();
	ia = ia_open();
	evd = evd_make(ia, IT_DTO_EVENT_STREAM, 0, 64, 1);
	for (unsigned i = 0; i < 20; i++) {
		waiter_start(&waiter, evd);
		script_complete(script_cq(), 1, 0);
		/* This thread may take the event before the one that was woken; then that one needs another. */
		if (ual_evd_dequeue(evd, &event) == IT_SUCCESS)
			script_complete(script_cq(), 2, 0);
		pthread_join(waiter.thread, NULL);
		g_assert_cmpint(waiter.status, ==, IT_SUCCESS);
		g_assert_cmpint(ual_evd_dequeue(evd, &event), ==, IT_ERR_QUEUE_EMPTY);
	}
	g_assert_cmpint(ual_ia_free(ia), ==, IT_SUCCESS);
	script_check_empty();
}

static void
test_spin_variable(void)
{
	const struct {
		const char *text;
		uint64_t ns;
	} cases[] = {{"0", 0},           {"7", 7000},   {"1000000", 1000000000},
		     {"1000001", 50000}, {"-1", 50000}, {"x", 50000},
		     {"5x", 50000},      {"", 50000},   {"99999999999999999999999", 50000}};
	struct ual_ia *ia;

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_test_message("ITAPI_SPIN_US='%s'", cases[i].text);
		script_reset();
		g_setenv("ITAPI_SPIN_US", cases[i].text, TRUE);
		ia = ia_open();
		g_assert_cmpuint(ia->session.spin_ns, ==, cases[i].ns);
		g_assert_cmpint(ual_ia_free(ia), ==, IT_SUCCESS);
	}
	g_unsetenv("ITAPI_SPIN_US");
}

struct freeing {
	struct ual_evd *aevd;
	it_status_t status;
	atomic_bool done;
};

static void *
free_aggregate(void *arg)
{
	struct freeing *freeing = (struct freeing *)arg;
	UAL_VISIT struct ual_evd *aevd = freeing->aevd; /* as the standard's call does */

	ual_object_visit(&aevd->object);
	freeing->status = ual_evd_free(aevd);
	atomic_store(&freeing->done, true);
	return NULL;
}

/* A member joins while the aggregate is being freed: that returns BUSY, and does not wait until the member leaves. */
static void
test_join_freed(void)
{
	struct freeing freeing = {.done = false};
	struct ual_evd *member;
	pthread_t thread;
	struct ual_ia *ia;

	script_reset();
	ia = ia_open();
	freeing.aevd = evd_make(ia, IT_AEVD_NOTIFICATION_EVENT_STREAM, 0, 1, 0);
	member = evd_make(ia, IT_SOFTWARE_EVENT_STREAM, 0, 4, 1);
	g_assert_true(ual_evd_use(ual_object_handle(&freeing.aevd->object),
				  IT_AEVD_NOTIFICATION_EVENT_STREAM, ia) == freeing.aevd);
	g_assert_cmpint(pthread_create(&thread, NULL, free_aggregate, &freeing), ==, 0);
	g_usleep(20000); /* most likely it has seen that there is no member */
	pthread_mutex_lock(&member->control);
	ual_aggregate_join(freeing.aevd, member, false);
	pthread_mutex_unlock(&member->control);
	for (uint64_t us = 0; us < WAIT && !atomic_load(&freeing.done); us += 1000)
		g_usleep(1000);
	g_assert_true(atomic_load(&freeing.done));
	pthread_join(thread, NULL);
	g_assert_cmpint(freeing.status, ==, IT_ERR_EVD_BUSY);
	g_assert_cmpint(ual_evd_free(member), ==, IT_SUCCESS);
	g_assert_cmpint(ual_evd_free(freeing.aevd), ==, IT_SUCCESS);
	g_assert_cmpint(ual_ia_free(ia), ==, IT_SUCCESS);
	script_check_empty();
}

#define MEMBERS 3
#define MOVES   500

/* An aggregate has a reference for each of its members, and none else. */
static void
check_places(struct ual_evd *const *aggregates, const unsigned *idle,
	     struct ual_evd *const *members, const unsigned *places)
{
	for (unsigned k = 0; k < 2; k++) {
		unsigned refs = idle[k];

		for (unsigned i = 0; i < MEMBERS; i++)
			refs += places[i] == k;
		g_assert_cmpuint(atomic_load(&aggregates[k]->object.refs), ==, refs);
	}
	for (unsigned i = 0; i < MEMBERS; i++)
		g_assert_true(members[i]->aevd == (places[i] < 2 ? aggregates[places[i]] : NULL));
}

/* Members go to an aggregate, to the one they have, and to none, in any order, also by calls that are refused. */
static void
test_places(void)
{
	struct ual_evd *aggregates[2], *members[MEMBERS];
	unsigned idle[2], places[MEMBERS];
	GRand *chance = g_rand_new_with_seed(27);
	struct ual_ia *ia;

	script_reset();
	ia = ia_open();
	for (unsigned k = 0; k < 2; k++) {
		aggregates[k] = evd_make(ia, IT_AEVD_NOTIFICATION_EVENT_STREAM, 0, 8, 1);
		idle[k] = atomic_load(&aggregates[k]->object.refs);
	}
	for (unsigned i = 0; i < MEMBERS; i++) {
		members[i] = evd_make(ia, IT_SOFTWARE_EVENT_STREAM, 0, 4, 1);
		places[i] = 2;
	}
	for (unsigned i = 0; i < MOVES; i++) {
		unsigned which = (unsigned)g_rand_int_range(chance, 0, MEMBERS);
		unsigned place = (unsigned)g_rand_int_range(chance, 0, 4);
		unsigned mask = IT_EVD_PARAM_AEVD_HANDLE;
		it_evd_param_t to = {.sevd_threshold = 100};

		if (place < 2)
			to.aevd = ual_object_handle(&aggregates[place]->object);
		else if (place == 3)
			to.aevd = ual_object_handle(&members[which]->object); /* no aggregate */
		if (g_rand_int_range(chance, 0, 4) == 0)
			mask |= IT_EVD_PARAM_THRESHOLD; /* more than it has room for */
		if (ual_evd_modify(members[which], (it_evd_param_mask_t)mask, &to) == IT_SUCCESS)
			places[which] = place;
		else
			g_assert_true(place == 3 || mask != IT_EVD_PARAM_AEVD_HANDLE);
		check_places(aggregates, idle, members, places);
	}
	for (unsigned i = 0; i < MEMBERS; i++)
		g_assert_cmpint(ual_evd_free(members[i]), ==, IT_SUCCESS);
	for (unsigned k = 0; k < 2; k++)
		g_assert_cmpint(ual_evd_free(aggregates[k]), ==, IT_SUCCESS);
	g_assert_cmpint(ual_ia_free(ia), ==, IT_SUCCESS);
	script_check_empty();
	g_rand_free(chance);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ual/ia/spin-variable", test_spin_variable);
	g_test_add_func("/ual/evd/stolen", test_stolen);
	g_test_add_func("/ual/evd/join-freed", test_join_freed);
	g_test_add_func("/ual/evd/places", test_places);
	g_test_add_func("/ual/evd/lead", test_lead);
	g_test_add_func("/ual/async/late-events", test_late_events);
	return g_test_run();
}
