/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include <pthread.h>
#include <string.h>

#include "test_session.h"
#include "tool_error.h"

bool
test_session_control(struct test_session *session, GError **error)
{
	struct tool_link_spec spec = tool_mail_spec(session->seconds);

	return tool_link_make(&session->control, session->adapter, &spec, error) &&
	       tool_mail_open(&session->mail, &session->control, error);
}

bool
test_session_lane(struct test_session *session, uint64_t index, GError **error)
{
	const struct test_plan *plan = &session->plan;
	bool perf = plan->mode == TEST_PERFORMANCE;
	struct test_lane *lane = &session->lanes[index];
	struct tool_link_spec spec = perf ? test_perf_spec(plan, session->seconds)
					  : test_transaction_spec(plan, session->seconds);
	size_t octets = perf ? test_perf_octets(plan) : test_transaction_octets(plan);

	lane->plan = plan;
	lane->server = session->server;
	lane->seed = session->hello.session + index * UINT64_C(0x9e3779b97f4a7c15);
	return test_lane_make(lane, session->adapter, octets, &spec, error) &&
	       (perf ? test_perf_prepare(lane, error) : test_transaction_prepare(lane, error));
}

static bool
run_lanes(struct test_thread *thread)
{
	struct test_lane *lanes = thread->lanes;
	const struct test_plan *plan = lanes[0].plan;

	for (uint64_t i = 0; i < plan->endpoints; i++) {
		if (!test_lane_meet(&lanes[i], &thread->error))
			return false;
	}
	if (plan->mode == TEST_TRANSACTIONS)
		return test_transaction_run(lanes, (size_t)plan->endpoints, &thread->score,
					    &thread->error);
	if (thread->server)
		return test_perf_server(&lanes[0], &thread->error);
	return test_perf_client(&lanes[0], &thread->score, &thread->error);
}

/*
 * A thread that failed closes its lanes at once, so that the peer's thread need not wait for what
 * will never come. Lanes of threads that did well stay until all have ended.
 */
static void *
thread_main(void *arg)
{
	struct test_thread *thread = arg;

	if (run_lanes(thread))
		return NULL;
	atomic_store(thread->failed, true);
	for (uint64_t i = 0; i < thread->lanes[0].plan->endpoints; i++)
		tool_link_close(&thread->lanes[i].link);
	return NULL;
}

/* The first failure is told; that the peer went away explains least. */
static bool
judge(struct test_session *session, GError **error)
{
	GError *worst = NULL;

	for (uint64_t i = 0; i < session->plan.threads; i++) {
		GError *one = g_steal_pointer(&session->threads[i].error);
		bool peer = one != NULL && g_error_matches(one, TOOL_ERROR, TOOL_ERROR_PEER);
		bool old = worst != NULL && !g_error_matches(worst, TOOL_ERROR, TOOL_ERROR_PEER);

		if (one != NULL && (worst == NULL || (!old && !peer))) {
			g_clear_error(&worst);
			worst = one;
		} else {
			g_clear_error(&one);
		}
	}
	if (worst != NULL)
		g_propagate_error(error, worst);
	return worst == NULL;
}

bool
test_session_run(struct test_session *session, GError **error)
{
	uint64_t count = session->plan.threads;
	g_autofree pthread_t *ids = g_new0(pthread_t, count);
	gint64 begin = g_get_monotonic_time();
	atomic_bool failed = false;
	uint64_t started = 0;
	bool good;

	session->threads = g_new0(struct test_thread, count);
	for (; started < count; started++) {
		struct test_thread *thread = &session->threads[started];

		thread->lanes = &session->lanes[started * session->plan.endpoints];
		thread->failed = &failed;
		thread->server = session->server;
		if (pthread_create(&ids[started], NULL, thread_main, thread) != 0)
			break;
	}
	good = started == count || tool_fail(error, TOOL_ERROR_FAILED,
					     "cannot start %" G_GUINT64_FORMAT " threads", count);
	for (uint64_t i = 0; i < started; i++)
		pthread_join(ids[i], NULL);
	session->wall = (double)(g_get_monotonic_time() - begin) / G_USEC_PER_SEC;
	return good && judge(session, error);
}

void
test_session_close(struct test_session *session)
{
	for (uint64_t i = 0; session->lanes != NULL && i < test_plan_lanes(&session->plan); i++)
		test_lane_close(&session->lanes[i]);
	for (uint64_t i = 0; session->threads != NULL && i < session->plan.threads; i++) {
		g_free(session->threads[i].score.samples);
		g_clear_error(&session->threads[i].error);
	}
	g_clear_pointer(&session->lanes, g_free);
	g_clear_pointer(&session->threads, g_free);
	tool_link_close(&session->control);
	tool_mail_close(&session->mail);
}

bool
test_session_tell(struct test_session *session, const GError *why, GError **error)
{
	uint8_t octets[1024];
	struct tool_wire wire = tool_wire_of(octets, sizeof(octets));
	g_autofree char *text = g_strndup(why != NULL ? why->message : "", 900);

	tool_put(&wire, why == NULL, 1);
	tool_put_text(&wire, text);
	return tool_mail_send(&session->mail, octets, sizeof(octets) - wire.left, error);
}

bool
test_session_hear(struct test_session *session, GError **error)
{
	g_autofree char *text = NULL;
	size_t len = 1024;
	uint8_t octets[1024];
	struct tool_wire wire;
	bool good;

	if (!tool_mail_receive(&session->mail, octets, &len, error))
		return false;
	wire = tool_wire_of(octets, len);
	good = tool_get(&wire, 1) != 0;
	text = tool_get_text(&wire, sizeof(octets));
	if (!wire.ok)
		return tool_fail(error, TOOL_ERROR_PEER, "the peer sent a malformed message");
	return good || tool_fail(error, TOOL_ERROR_PEER, "the %s says: %s",
				 session->server ? "client" : "server", text);
}
