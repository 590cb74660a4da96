/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A listener whose requests find room, no room in its dispatcher, or no memory, in any order,
 * compared with a model: each request that does not become an event must be refused, once.
 */
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "kal_script.h"
#include "ual.h"
#include "ual_evd.h"
#include "ual_listen.h"

#define ROOM     4
#define REQUESTS 400 /* many more than wait for a refusal at once */

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

static _Thread_local bool memory_is_short;
static atomic_uint refused[REQUESTS + 1];

void *
__wrap_malloc(size_t size)
{
	return memory_is_short ? NULL : __real_malloc(size);
}

static void
note_refusal(uint32_t request)
{
	g_assert_cmpuint(request, <=, REQUESTS);
	atomic_fetch_add(&refused[request], 1);
}

/* A request comes; this thread dispatches it. */
static void
request_come(struct ual_listen *listen, uint32_t id, bool without_memory)
{
	const struct kal_event event = {
		.kind = KAL_EVENT_CM,
		.ctx = ual_object_ctx(&listen->object),
		.u.cm = {.kind = KAL_CM_REQUEST, .request = id},
	};

	memory_is_short = without_memory;
	script_event(&event);
	memory_is_short = false;
}

/* What was refused, and no more. A task does that. */
static void
expect_refused(const bool *expected)
{
	for (uint32_t id = 1; id <= REQUESTS; id++) {
		gint64 end = g_get_monotonic_time() + 60 * G_USEC_PER_SEC;

		while (expected[id] && atomic_load(&refused[id]) == 0) {
			g_assert_cmpint(g_get_monotonic_time(), <, end);
			g_usleep(50);
		}
		g_assert_cmpuint(atomic_load(&refused[id]), ==, expected[id]);
	}
}

static unsigned
events_take(struct ual_evd *evd)
{
	unsigned taken = 0;
	it_event_t event;

	while (ual_evd_dequeue(evd, &event) == IT_SUCCESS)
		taken++;
	return taken;
}

static struct ual_evd *
evd_make(struct ual_ia *ia, it_evd_handle_t *handle)
{
	const struct ual_evd_wanted wanted = {
		.stream = IT_CM_REQ_EVENT_STREAM, .queue_size = ROOM, .threshold = 1};
	const it_evd_param_t exactly = {.sevd_queue_size = ROOM};
	struct ual_evd *evd;

	g_assert_cmpint(ual_evd_create(ia, &wanted, handle, NULL), ==, IT_SUCCESS);
	evd = (struct ual_evd *)ual_object_get(*handle, UAL_EVD);
	g_assert_cmpint(ual_evd_modify(evd, IT_EVD_PARAM_QUEUE_SIZE, &exactly), ==, IT_SUCCESS);
	return evd;
}

static void
test_refusals(void)
{
	GRand *chance = g_rand_new_with_seed(27);
	it_conn_qual_t qual = {.type = IT_IANA_PORT};
	bool expected[REQUESTS + 1] = {false};
	it_ia_handle_t ia_handle = NULL;
	it_listen_handle_t listen_handle;
	it_evd_handle_t evd_handle;
	struct ual_listen *listen;
	struct ual_evd *evd;
	struct ual_ia *ia;
	unsigned queued = 0;

	script_reset();
	script.listens = true;
	script.on_reject = note_refusal;
	g_assert_cmpint(ual_ia_create("script", 2, 1, &ia_handle), ==, IT_SUCCESS);
	ia = ual_ia_of(ia_handle);
	evd = evd_make(ia, &evd_handle);
	g_assert_cmpint(
		ual_listen_create(ia, 0, evd_handle, IT_LISTEN_NO_FLAG, &qual, &listen_handle), ==,
		IT_SUCCESS);
	listen = (struct ual_listen *)ual_object_get(listen_handle, UAL_LISTEN);
	for (uint32_t id = 1; id <= REQUESTS; id++) {
		bool without_memory = g_rand_boolean(chance);

		request_come(listen, id, without_memory);
		expected[id] = without_memory || queued == ROOM;
		queued += !expected[id];
		/* Sometimes several wait for their refusal at once, but fewer than UAL_UNKEPT_MAX: beyond it one is not refused at all. */
		if (id % (UAL_UNKEPT_MAX / 2) != 0 && g_rand_int_range(chance, 0, 8) != 0)
			continue;
		expect_refused(expected);
		g_assert_cmpuint(events_take(evd), ==, queued);
		queued = 0;
	}
	expect_refused(expected);
	(void)events_take(evd);
	g_assert_cmpint(ual_listen_free(listen), ==, IT_SUCCESS);
	expect_refused(expected);
	g_assert_cmpint(ual_evd_free(evd), ==, IT_SUCCESS);
	g_assert_cmpint(ual_ia_free(ia), ==, IT_SUCCESS);
	script_check_empty();
	g_rand_free(chance);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ual/listen/refusals", test_refusals);
	return g_test_run();
}
