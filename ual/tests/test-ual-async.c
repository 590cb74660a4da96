/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * An object is not destroyed while another thread dispatches an event to it. That thread stops inside its dispatch until the
 * test lets it go on.
 */

#include <glib.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "kal_script.h"
#include "ual.h"
#include "ual_evd.h"

#define LOOK_FOR 200 /* ms in which a call returns that does not wait for the other thread */

/* The other thread: it takes an event, and stops until it may go on. */
static struct {
	pthread_t thread;
	struct ual_ia *ia;
	atomic_bool started;
	sem_t taken, go_on;
} other;

static _Thread_local bool is_other;

static void *
dispatch_event(void *arg)
{
	(void)arg;
	is_other = true;
	session_kick(&other.ia->session);
	return NULL;
}

/* When this returns, the other thread is inside its dispatch, with the oldest event. */
static void
start_other(void)
{
	atomic_store(&other.started, true);
	g_assert_cmpint(pthread_create(&other.thread, NULL, dispatch_event, NULL), ==, 0);
	while (sem_wait(&other.taken) != 0)
		;
}

static void
on_event(void)
{
	if (!is_other)
		return;
	sem_post(&other.taken);
	while (sem_wait(&other.go_on) != 0)
		;
}

static void
begin(void)
{
	it_ia_handle_t handle = NULL;

	script_reset();
	script.on_event = on_event;
	atomic_store(&other.started, false);
	g_assert_cmpint(sem_init(&other.taken, 0, 0), ==, 0);
	g_assert_cmpint(sem_init(&other.go_on, 0, 0), ==, 0);
	g_assert_cmpint(ual_ia_create("script", 2, 1, &handle), ==, IT_SUCCESS);
	other.ia = ual_ia_of(handle); /* in a call, as the caller of ual_ia_free is */
}

static void
finish(void)
{
	if (atomic_load(&other.started)) {
		sem_post(&other.go_on);
		pthread_join(other.thread, NULL);
	}
	g_assert_cmpint(ual_ia_free(other.ia), ==, IT_SUCCESS);
	script_check_empty();
	sem_destroy(&other.taken);
	sem_destroy(&other.go_on);
}

static struct ual_evd *
evd_make(it_event_type_t stream)
{
	const struct ual_evd_wanted wanted = {.stream = stream, .queue_size = 4};
	it_evd_handle_t handle = NULL;

	g_assert_cmpint(ual_evd_create(other.ia, &wanted, &handle, NULL), ==, IT_SUCCESS);
	return (struct ual_evd *)ual_object_get(handle, UAL_EVD);
}

static uint64_t listen_ctx;

/* A request came in before the kAL found that it cannot listen. */
static void
request_comes(uint64_t ctx)
{
	const struct kal_event request = {
		.kind = KAL_EVENT_CM,
		.ctx = ctx,
		.u.cm = {.kind = KAL_CM_REQUEST, .request = 1},
	};

	listen_ctx = ctx;
	script_queue(&request);
	start_other();
}

static atomic_bool listen_returned;

static void *
listen_run(void *arg)
{
	struct ual_evd *evd = (struct ual_evd *)arg;
	it_conn_qual_t qual = {.type = IT_IANA_PORT};
	it_listen_handle_t listen = NULL;

	g_assert_cmpint(ual_listen_create(other.ia, 0, ual_object_handle(&evd->object),
					  IT_LISTEN_NO_FLAG, &qual, &listen),
			==, IT_ERR_RESOURCES);
	atomic_store(&listen_returned, true);
	return NULL;
}

/* A listen that fails waits until no thread dispatches an event to it. */
static void
test_listen_refused(void)
{
	struct ual_evd *evd;
	pthread_t caller;

	begin();
	script.on_listen = request_comes;
	script.fail[KAL_LISTEN] = RI_ERR_RESOURCES;
	atomic_store(&listen_returned, false);
	evd = evd_make(IT_CM_REQ_EVENT_STREAM);
	g_assert_cmpint(pthread_create(&caller, NULL, listen_run, evd), ==, 0);
	for (int i = 0; i < LOOK_FOR; i++) {
		g_assert_false(atomic_load(&listen_returned));
		g_usleep(1000);
	}
	sem_post(&other.go_on);
	pthread_join(caller, NULL);
	g_assert_null(ual_object_from_ctx(listen_ctx, UAL_LISTEN));
	pthread_join(other.thread, NULL);
	atomic_store(&other.started, false);
	finish();
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ual/async/listen-refused", test_listen_refused);
	return g_test_run();
}
