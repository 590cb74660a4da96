/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "df_ways.h"

#include <string.h>
#include <time.h>

#define AGGREGATE_QUEUE 64 /* is ignored [IT 6.2.1] */

void
ways_begin(struct ways *ways, it_ia_handle_t ia, const it_evd_handle_t *evds)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	ways->ia = ia;
	for (unsigned i = 0; i < WAYS_EVDS; i++) {
		struct way *way = &ways->way[i];

		way->ways = ways;
		way->evd = evds[i];
		way->events = g_array_new(FALSE, FALSE, sizeof(it_event_t));
		pthread_mutex_init(&way->lock, NULL);
		pthread_cond_init(&way->came, &monotonic);
	}
	pthread_condattr_destroy(&monotonic);
}

/* With the lock. */
static bool
take_kept(struct way *way, it_event_t *event)
{
	if (way->events->len == 0)
		return false;
	*event = g_array_index(way->events, it_event_t, 0);
	g_array_remove_index(way->events, 0);
	return true;
}

/* With the lock: keep all queued events here. */
static void
keep_all(struct way *way)
{
	it_event_t event;

	while (it_evd_dequeue(way->evd, &event) == IT_SUCCESS)
		g_array_append_val(way->events, event);
	way->told = false;
}

static void
called_back(it_evd_handle_t evd, void *arg)
{
	struct way *way = arg;

	(void)evd;
	pthread_mutex_lock(&way->lock);
	keep_all(way);
	pthread_cond_signal(&way->came);
	pthread_mutex_unlock(&way->lock);
}

static struct way *
way_of(struct ways *ways, it_evd_handle_t evd)
{
	for (unsigned i = 0; i < WAYS_EVDS; i++) {
		if (ways->way[i].evd == evd)
			return &ways->way[i];
	}
	g_error("an aggregate names a dispatcher that is not a member");
}

static it_status_t
join(struct way *way, it_evd_handle_t aggregate)
{
	it_evd_param_t params;

	memset(&params, 0, sizeof(params));
	params.aevd = aggregate;
	return it_evd_modify(way->evd, IT_EVD_PARAM_AEVD_HANDLE, &params);
}

static it_status_t
join_kind(struct ways *ways, struct way *way, enum df_way to)
{
	it_evd_handle_t *aggregate = &ways->aggregate[to];

	if (*aggregate == NULL) {
		it_status_t status = it_evd_create(
			ways->ia, IT_AEVD_NOTIFICATION_EVENT_STREAM,
			to == DF_WAY_NOTICES ? IT_EVD_DEQUEUE_NOTIFICATIONS : (it_evd_flags_t)0,
			AGGREGATE_QUEUE, 1, IT_NULL_HANDLE, aggregate, NULL);

		if (status != IT_SUCCESS)
			return status;
	}
	return join(way, *aggregate);
}

it_status_t
ways_go(struct ways *ways, unsigned evd, enum df_way to)
{
	struct way *way = &ways->way[evd];
	it_status_t status = IT_SUCCESS;

	/* The aggregate has reported what is queued, and nobody reports it again. */
	pthread_mutex_lock(&way->lock);
	if (way->told)
		keep_all(way);
	pthread_mutex_unlock(&way->lock);
	if (to == DF_WAY_CALLBACK)
		status = it_evd_callback_attach(way->evd, called_back, way);
	else if (to != DF_WAY_WAIT)
		status = join_kind(ways, way, to);
	else if (way->now == DF_WAY_CALLBACK)
		status = it_evd_callback_detach(way->evd);
	else if (way->now != DF_WAY_WAIT)
		status = join(way, IT_NULL_HANDLE);
	if (status == IT_SUCCESS)
		way->now = to;
	return status;
}

bool
ways_dequeue(struct ways *ways, unsigned evd, it_event_t *event)
{
	struct way *way = &ways->way[evd];
	bool found;

	pthread_mutex_lock(&way->lock);
	found = take_kept(way, event) || it_evd_dequeue(way->evd, event) == IT_SUCCESS;
	pthread_mutex_unlock(&way->lock);
	return found;
}

bool
ways_keeps(struct ways *ways, unsigned evd)
{
	struct way *way = &ways->way[evd];

	pthread_mutex_lock(&way->lock);
	bool keeps = way->events->len != 0;
	pthread_mutex_unlock(&way->lock);
	return keeps;
}

static uint64_t
left_until(gint64 deadline)
{
	gint64 left = deadline - g_get_monotonic_time();

	return left > 0 ? (uint64_t)left : 0;
}

/* A notification may be older than what was dequeued. */
static it_status_t
wait_for_notice(struct ways *ways, struct way *way, gint64 deadline, it_event_t *event)
{
	for (;;) {
		it_event_t notice;
		it_status_t status;

		if (way->told && it_evd_dequeue(way->evd, event) == IT_SUCCESS)
			return IT_SUCCESS;
		way->told = false;
		status = it_evd_wait(ways->aggregate[DF_WAY_NOTICES], left_until(deadline), &notice,
				     NULL);
		if (status != IT_SUCCESS)
			return status;
		way_of(ways, notice.aevd_notify.sevd)->told = true;
	}
}

static it_status_t
wait_for_member(struct ways *ways, struct way *way, gint64 deadline, it_event_t *event)
{
	for (;;) {
		it_status_t status = it_evd_wait(ways->aggregate[DF_WAY_MERGED],
						 left_until(deadline), event, NULL);
		struct way *member;

		if (status != IT_SUCCESS)
			return status;
		member = way_of(ways, event->conn.evd);
		if (member == way)
			return IT_SUCCESS;
		g_array_append_val(member->events, *event);
	}
}

static it_status_t
wait_for_call(struct way *way, gint64 deadline, it_event_t *event)
{
	const struct timespec until = {.tv_sec = deadline / G_USEC_PER_SEC,
				       .tv_nsec = deadline % G_USEC_PER_SEC * 1000};
	bool found, over = false;

	pthread_mutex_lock(&way->lock);
	while (!(found = take_kept(way, event)) && !over)
		over = pthread_cond_timedwait(&way->came, &way->lock, &until) != 0;
	pthread_mutex_unlock(&way->lock);
	return found ? IT_SUCCESS : IT_ERR_TIMEOUT_EXPIRED;
}

it_status_t
ways_wait(struct ways *ways, unsigned evd, uint64_t timeout_us, it_event_t *event)
{
	gint64 deadline = g_get_monotonic_time() + (gint64)timeout_us;
	struct way *way = &ways->way[evd];
	bool kept;

	pthread_mutex_lock(&way->lock);
	kept = take_kept(way, event);
	pthread_mutex_unlock(&way->lock);
	if (kept)
		return IT_SUCCESS;
	switch (way->now) {
	case DF_WAY_NOTICES:
		return wait_for_notice(ways, way, deadline, event);
	case DF_WAY_MERGED:
		return wait_for_member(ways, way, deadline, event);
	case DF_WAY_CALLBACK:
		return wait_for_call(way, deadline, event);
	case DF_WAY_WAIT:
	case DF_WAYS:
	default:
		return it_evd_wait(way->evd, timeout_us, event, NULL);
	}
}

bool
ways_take(struct ways *ways, unsigned evd, it_event_t *event)
{
	return ways->way[evd].now == DF_WAY_WAIT ? ways_dequeue(ways, evd, event)
						 : ways_wait(ways, evd, 0, event) == IT_SUCCESS;
}

void
ways_leave(struct ways *ways)
{
	for (unsigned i = 0; i < WAYS_EVDS; i++)
		(void)ways_go(ways, i, DF_WAY_WAIT);
}

it_status_t
ways_end(struct ways *ways)
{
	it_status_t status = IT_SUCCESS;

	for (unsigned i = 0; i < DF_WAYS && status == IT_SUCCESS; i++) {
		if (ways->aggregate[i] != NULL)
			status = it_evd_free(ways->aggregate[i]);
	}
	for (unsigned i = 0; i < WAYS_EVDS; i++) {
		g_array_unref(ways->way[i].events);
		pthread_mutex_destroy(&ways->way[i].lock);
		pthread_cond_destroy(&ways->way[i].came);
	}
	return status;
}
