/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Every time-out at its extremes. A long one must last as long as it says, so that a late event is
 * still awaited. A short one must end soon, and must take nothing. No case depends on speed: a long
 * time-out is at least some minutes, a short one at most a millisecond.
 */
#include <string.h>

#include "lives.h"

#define LATER (5 * 1000) /* us, until what is awaited comes */

/* us */
static const uint64_t longs[] = {
	(uint64_t)INT32_MAX - 1,
	(uint64_t)INT32_MAX + 1,
	(uint64_t)UINT32_MAX,
	(uint64_t)UINT32_MAX + 1,
	(uint64_t)INT64_MAX / 1000 - 1,
	(uint64_t)INT64_MAX / 1000 + 1,
	UINT64_MAX / 1000 - 1,
	UINT64_MAX / 1000,
	UINT64_MAX / 1000 + 1,
	(uint64_t)INT64_MAX - 1,
	(uint64_t)INT64_MAX,
	(uint64_t)INT64_MAX + 1,
	UINT64_MAX - 1000 * 1000,
	UINT64_MAX - 1,
	IT_TIMEOUT_INFINITE,
};
static const uint64_t shorts[] = {0, 1, 2, 999, 1000};

static gpointer
post_later(gpointer data)
{
	g_usleep(LATER);
	pair_ok(it_evd_post_se(data, &longs));
	return NULL;
}

typedef it_status_t (*waiting)(it_evd_handle_t evd, uint64_t timeout);

static it_status_t
wait_plain(it_evd_handle_t evd, uint64_t timeout)
{
	return it_evd_wait(evd, timeout, &(it_event_t){0}, NULL);
}

/* In milliseconds; it succeeds without an event when they are over. */
static it_status_t
wait_many(it_evd_handle_t evd, uint64_t timeout)
{
	it_event_t events[2];
	size_t count = 0;
	it_status_t status = itx_aevd_wait(evd, timeout, G_N_ELEMENTS(events), events, &count);

	return status == IT_SUCCESS && count == 0 ? IT_ERR_TIMEOUT_EXPIRED : status;
}

static void
expect(const char *what, uint64_t timeout, it_status_t given, it_status_t expected)
{
	if (given == expected)
		return;
	g_test_message("%s with a time-out of %" G_GUINT64_FORMAT " us", what, (guint64)timeout);
	g_assert_cmpstr(it_status_name(given), ==, it_status_name(expected));
}

/* `evd` is notified by software events of `source`. */
static void
wait_on(const char *what, waiting call, it_evd_handle_t evd, it_evd_handle_t source)
{
	for (size_t i = 0; i < G_N_ELEMENTS(longs); i++) {
		GThread *thread = g_thread_new("poster", post_later, source);

		expect(what, longs[i], call(evd, longs[i]), IT_SUCCESS);
		g_thread_join(thread);
		pair_ok(it_evd_post_se(source, NULL));
		expect(what, longs[i], call(evd, longs[i]), IT_SUCCESS);
	}
	for (size_t i = 0; i < G_N_ELEMENTS(shorts); i++) {
		expect(what, shorts[i], call(evd, shorts[i]), IT_ERR_TIMEOUT_EXPIRED);
		pair_ok(it_evd_post_se(source, NULL));
		expect(what, shorts[i], call(evd, shorts[i]), IT_SUCCESS);
	}
}

static void
test_waits(void)
{
	it_ia_handle_t ia = pair_ia();
	it_evd_handle_t aevd = NULL, member = NULL;
	it_evd_handle_t evd = pair_sevd(ia, IT_SOFTWARE_EVENT_STREAM, 1);

	pair_ok(it_evd_create(ia, IT_AEVD_NOTIFICATION_EVENT_STREAM, 0, 0, 0, NULL, &aevd, NULL));
	pair_ok(it_evd_create(ia, IT_SOFTWARE_EVENT_STREAM, 0, 8, 1, aevd, &member, NULL));
	wait_on("it_evd_wait", wait_plain, evd, evd);
	wait_on("it_evd_wait of an aggregate", wait_plain, aevd, member);
	wait_on("itx_aevd_wait", wait_many, aevd, member);
	pair_ok(it_ia_free(ia));
}

/* --- connections: a path's time-out, 0 being its default --- */

/* An attempt whose request is answered late, or never. */
static it_event_type_t
attempt(struct world *world, uint64_t timeout, bool answered)
{
	struct side *near = &world->near, *far = &world->far;
	it_ep_attributes_t attr = world_helper(near);
	it_ep_handle_t ep = world_ep(near, &attr, "ep", world->trace);
	it_path_t path = near->dial.path;
	it_event_t event, late;

	path.timeout = timeout;
	memset(&event, 0, sizeof(event));
	pair_ok(it_ep_connect(ep, &path, NULL, &near->dial.qual, IT_CONNECT_FLAG_TWO_WAY, NULL, 0));
	if (answered) {
		pair_ok(it_evd_wait(far->end.cm_req, patience(), &late, NULL));
		expect("an attempt", timeout, it_evd_wait(near->end.cm_msg, LATER, &event, NULL),
		       IT_ERR_TIMEOUT_EXPIRED);
		pair_ok(it_reject(late.conn_req.cn_est_id, NULL, 0));
	}
	pair_ok(it_evd_wait(near->end.cm_msg, patience(), &event, NULL));
	pair_ok(it_ep_free(ep));
	world_forget(world);
	if (!answered)
		g_assert_cmpstr(it_reject_name(event.conn.reject_reason_code), ==,
				it_reject_name(IT_CN_REJ_TIMEOUT));
	return event.event_number;
}

static void
test_paths(void)
{
	struct world world RI_AT_END(world_close);

	g_assert_true(world_open(&world, 1, "paths"));
	for (size_t i = 0; i < G_N_ELEMENTS(longs); i++) {
		g_test_message("a path's time-out of %" G_GUINT64_FORMAT " us", (guint64)longs[i]);
		g_assert_cmpstr(it_event_name(attempt(&world, longs[i], true)), ==,
				it_event_name(IT_CM_MSG_CONN_PEER_REJECT_EVENT));
	}
	g_assert_cmpstr(it_event_name(attempt(&world, 0, true)), ==,
			it_event_name(IT_CM_MSG_CONN_PEER_REJECT_EVENT));
	for (size_t i = 1; i < G_N_ELEMENTS(shorts); i++)
		g_assert_cmpstr(it_event_name(attempt(&world, shorts[i], false)), ==,
				it_event_name(IT_CM_MSG_CONN_NONPEER_REJECT_EVENT));
}

/* The times and counts of InfiniBand, each at both ends of its range. */
static void
test_attributes(void)
{
	struct world world RI_AT_END(world_close);

	g_assert_true(world_open(&world, 1, "attributes"));
	for (unsigned i = 0; i < 64; i++) {
		struct side *near = &world.near, *far = &world.far;
		const it_ib_conn_attributes_t ib = {
			.remote_cm_timeout = i & 1 ? 31 : 0,
			.local_cm_timeout = i & 2 ? 31 : 0,
			.retry_count = i & 4 ? 7 : 0,
			.rnr_retry_count = i & 8 ? 7 : 0,
			.max_cm_retries = i & 16 ? 15 : 0,
			.local_ack_timeout = i & 32 ? 31 : 0,
		};
		it_conn_attributes_t conn;
		it_ep_attributes_t attr = world_helper(near);
		it_ep_handle_t ep = world_ep(near, &attr, "ep", world.trace);
		it_event_t event;

		memset(&conn, 0, sizeof(conn));
		conn.ib = ib;
		pair_ok(it_ep_connect(ep, &near->dial.path, &conn, &near->dial.qual,
				      IT_CONNECT_FLAG_TWO_WAY, NULL, 0));
		pair_ok(it_evd_wait(far->end.cm_req, patience(), &event, NULL));
		g_usleep(1000);
		pair_ok(it_reject(event.conn_req.cn_est_id, NULL, 0));
		pair_ok(it_evd_wait(near->end.cm_msg, patience(), &event, NULL));
		g_assert_cmpstr(it_event_name(event.event_number), ==,
				it_event_name(IT_CM_MSG_CONN_PEER_REJECT_EVENT));
		pair_ok(it_ep_free(ep));
	}
}

/* --- datagram services --- */

static it_ud_svc_req_status_t
resolve(struct world *world, uint64_t timeout, bool answered)
{
	static const it_remote_ep_info_t info = {.ud_ep_id = 1};
	struct side *near = &world->near, *far = &world->far;
	it_path_t path = near->dial.path;
	it_ud_svc_req_handle_t request = NULL;
	it_event_t event;

	path.timeout = timeout;
	pair_ok(it_ud_service_request_handle_create(&near->dial.qual, near->end.cm_msg, &path, NULL,
						    0, &request));
	pair_ok(it_ud_service_request(request));
	if (answered) {
		pair_ok(it_evd_wait(far->end.cm_req, patience(), &event, NULL));
		g_usleep(LATER);
		pair_ok(it_ud_service_reply(event.ud_svc_request.ud_svc_req_id,
					    IT_UD_NO_EP_AVAILABLE, info, NULL, 0));
	}
	pair_ok(it_evd_wait(near->end.cm_msg, patience(), &event, NULL));
	pair_ok(it_ud_service_request_handle_free(request));
	world_forget(world);
	return event.ud_svc_reply.status;
}

static void
test_services(void)
{
	struct world world RI_AT_END(world_close);

	g_assert_true(world_open(&world, 1, "services"));
	if ((world.near.end.info->supported_service_types & IT_UD_SERVICE) == 0)
		g_test_skip("the adapter has no datagrams");
	else {
		for (size_t i = 0; i < G_N_ELEMENTS(longs); i++)
			g_assert_cmpint(resolve(&world, longs[i], true), ==, IT_UD_NO_EP_AVAILABLE);
		for (size_t i = 1; i < G_N_ELEMENTS(shorts); i++)
			g_assert_cmpint(resolve(&world, shorts[i], false), ==,
					IT_UD_SVC_REQ_REJECTED);
	}
}

static void
add(void)
{
	pair_add_bare("timeouts/waits", test_waits);
	pair_add_bare("timeouts/paths", test_paths);
	pair_add_bare("timeouts/attributes", test_attributes);
	pair_add_bare("timeouts/services", test_services);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add);
}
