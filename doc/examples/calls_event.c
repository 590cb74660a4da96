/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Examples of reference pages: events of the application, and ways to learn of events; see calls.c. */
#include <poll.h>
#include <semaphore.h>
#include <stdio.h>

#include "calls.h"

/* [it_evd_dequeue] */
static unsigned
events_drain(it_evd_handle_t evd)
{
	it_status_t status;
	unsigned taken = 0;
	it_event_t event;

	while ((status = it_evd_dequeue(evd, &event)) == IT_SUCCESS) {
		printf("%s\n", it_event_name(event.event_number));
		taken++;
	}
	if (status != IT_ERR_QUEUE_EMPTY)
		MUST(status);
	return taken;
}
/* [it_evd_dequeue] */

/* [it_evd_post_se] */
static void
descriptor_wait(it_ia_handle_t ia)
{
	struct pollfd readable = {.events = POLLIN};
	it_evd_handle_t evd;
	static const char note[] = "a note";

	MUST(it_evd_create(ia, IT_SOFTWARE_EVENT_STREAM, IT_EVD_CREATE_FD, 4, 1, IT_NULL_HANDLE,
			   &evd, &readable.fd));
	MUST(it_evd_post_se(evd, note));
	/* The descriptor is readable while the EVD notifies; the program never reads it. */
	HOLDS(poll(&readable, 1, PATIENCE / 1000) == 1);
	HOLDS(events_drain(evd) == 1);
	MUST(it_evd_free(evd));
}
/* [it_evd_post_se] */

/* [it_evd_callback_attach] */
static void
on_events(it_evd_handle_t evd, void *arg)
{
	sem_t *called = arg;

	/* On a thread of the library: take everything, do not sleep. */
	if (events_drain(evd) > 0)
		sem_post(called);
}

static void
callback_wait(it_ia_handle_t ia)
{
	it_evd_handle_t evd;
	sem_t called;

	sem_init(&called, 0, 0);
	MUST(it_evd_create(ia, IT_SOFTWARE_EVENT_STREAM, IT_EVD_OVERFLOW_DEFAULT, 4, 1,
			   IT_NULL_HANDLE, &evd, NULL));
	MUST(it_evd_callback_attach(evd, on_events, &called));
	MUST(it_evd_post_se(evd, NULL));
	while (sem_wait(&called) != 0) /* a signal may interrupt it */
		continue;
	MUST(it_evd_callback_detach(evd)); /* no call runs any more */
	MUST(it_evd_free(evd));
	sem_destroy(&called);
}
/* [it_evd_callback_attach] */

/* [it_evd_dequeue_n] */
static void
several_take(it_ia_handle_t ia)
{
	it_event_t events[4];
	it_evd_handle_t evd;
	int taken;

	MUST(it_evd_create(ia, IT_SOFTWARE_EVENT_STREAM, IT_EVD_OVERFLOW_DEFAULT, 4, 1,
			   IT_NULL_HANDLE, &evd, NULL));
	MUST(it_evd_post_se(evd, NULL));
	MUST(it_evd_post_se(evd, NULL));
	MUST(it_evd_dequeue_n(evd, 4, events, &taken));
	HOLDS(taken == 2);
	MUST(it_evd_free(evd));
}
/* [it_evd_dequeue_n] */

void
events_show(it_ia_handle_t ia)
{
	descriptor_wait(ia);
	callback_wait(ia);
	several_take(ia);
}
