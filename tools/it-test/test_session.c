/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include <pthread.h>
#include <string.h>

#include "test_session.h"
#include "tool_error.h"

#define LANE_COST   UINT64_C(65536) /* octets, approximately: the queues of a connection */
#define THREAD_COST UINT64_C(65536) /* octets, approximately: the used part of a thread's stack */
#define STACK       ((size_t)512 * 1024) /* octets */
#define LOOK_NS     (100L * 1000 * 1000) /* interval of looking at the control connection */

/* The threads of a run. */
struct test_crew {
	pthread_mutex_t lock;
	pthread_cond_t fewer;
	uint64_t running;
};

bool
test_session_control(struct test_session *session, struct tool_watch *watch, GError **error)
{
	struct tool_link_spec spec = tool_mail_spec(session->seconds);

	spec.watch = watch;
	return tool_link_make(&session->control, session->adapter, &spec, error) &&
	       tool_mail_open(&session->mail, &session->control, error);
}

static size_t
lane_octets(const struct test_plan *plan)
{
	return TEST_TOKEN_AREA + (plan->mode == TEST_PERFORMANCE ? test_perf_octets(plan)
								 : test_transaction_octets(plan));
}

uint64_t
test_session_octets(const struct test_plan *plan)
{
	return test_plan_lanes(plan) * (lane_octets(plan) + LANE_COST) +
	       plan->threads * THREAD_COST;
}

bool
test_session_lane(struct test_session *session, uint64_t index, GError **error)
{
	const struct test_plan *plan = &session->plan;
	bool perf = plan->mode == TEST_PERFORMANCE;
	struct test_lane *lane = &session->lanes[index];
	struct tool_link_spec spec = perf ? test_perf_spec(plan, session->seconds)
					  : test_transaction_spec(plan, session->seconds);

	spec.watch = &lane->watch;
	lane->plan = plan;
	lane->server = session->server;
	lane->seed = session->hello.session + index * UINT64_C(0x9e3779b97f4a7c15);
	return test_lane_make(lane, session->adapter, lane_octets(plan), &spec, error) &&
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
		return test_perf_server(&lanes[0], &thread->score, &thread->error);
	return test_perf_client(&lanes[0], &thread->score, &thread->error);
}

/*
 * A thread that failed closes its lanes at once, so that the peer's thread does not wait for
 * messages that will never be sent. Lanes of threads that succeeded stay open until all threads
 * have ended.
 */
static void *
thread_main(void *arg)
{
	struct test_thread *thread = arg;
	struct test_crew *crew = thread->crew;
	bool good = run_lanes(thread);

	for (uint64_t i = 0; !good && i < thread->lanes[0].plan->endpoints; i++)
		tool_link_close(&thread->lanes[i].link);
	pthread_mutex_lock(&crew->lock);
	crew->running--;
	pthread_cond_signal(&crew->fewer);
	pthread_mutex_unlock(&crew->lock);
	return NULL;
}

/* The first failure is reported; "the peer disconnected" explains least and is replaced by another one. */
static bool
session_judge(struct test_session *session, GError **error)
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

/* Start as many threads as possible; returns their number. */
static uint64_t
start_threads(struct test_session *session, struct test_crew *crew, pthread_t *ids)
{
	pthread_attr_t attr;
	uint64_t started = 0;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	for (; started < session->plan.threads; started++) {
		struct test_thread *thread = &session->threads[started];

		thread->lanes = &session->lanes[started * session->plan.endpoints];
		thread->crew = crew;
		thread->server = session->server;
		if (pthread_create(&ids[started], &attr, thread_main, thread) != 0)
			break;
	}
	pthread_attr_destroy(&attr);
	return started;
}

/* Wait until all threads have ended, for a short time. */
static bool
all_done(struct test_crew *crew)
{
	struct timespec until;
	bool done;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += LOOK_NS;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&crew->lock);
	if (crew->running > 0)
		pthread_cond_timedwait(&crew->fewer, &crew->lock, &until);
	done = crew->running == 0;
	pthread_mutex_unlock(&crew->lock);
	return done;
}

/* The waits of all threads end. */
static void
end_lanes(struct test_session *session)
{
	for (uint64_t i = 0; i < test_plan_lanes(&session->plan); i++)
		atomic_store(&session->lanes[i].watch.give_up, true);
}

/* What has come over the lanes so far. */
static uint64_t
heard_on_lanes(struct test_session *session)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < test_plan_lanes(&session->plan); i++)
		sum += atomic_load(&session->lanes[i].watch.heard);
	return sum;
}

/*
 * Wait for the threads. They are ended if the peer's control connection ends, since the peer is
 * dead then, or if the server ends the client for another one. Meanwhile the server is informed of
 * the lanes' progress.
 */
static bool
wait_for_threads(struct test_session *session, struct test_crew *crew, GError **error)
{
	struct tool_watch *watch = session->control.spec.watch;
	uint64_t before = 0;
	bool good = true;

	while (!all_done(crew)) {
		uint64_t heard = watch != NULL ? heard_on_lanes(session) : 0;

		if (watch != NULL && heard != before)
			atomic_fetch_add(&watch->heard, 1);
		before = heard;
		if (!good)
			continue;
		if (watch != NULL && atomic_load(&watch->give_up))
			good = tool_fail(error, TOOL_ERROR_PEER, TOOL_GIVEN_UP);
		else
			good = tool_link_stands(&session->control, error);
		if (!good)
			end_lanes(session);
	}
	return good;
}

static void
crew_init(struct test_crew *crew, uint64_t running)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&crew->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&crew->fewer, &attr);
	pthread_condattr_destroy(&attr);
	crew->running = running;
}

bool
test_session_run(struct test_session *session, GError **error)
{
	uint64_t count = session->plan.threads;
	g_autofree pthread_t *ids = g_new0(pthread_t, count);
	gint64 begin = g_get_monotonic_time();
	struct test_crew crew;
	uint64_t started;
	bool good;

	session->threads = g_new0(struct test_thread, count);
	crew_init(&crew, count);
	started = start_threads(session, &crew, ids);
	if (started < count) {
		tool_fail(error, TOOL_ERROR_FAILED, "cannot start %" G_GUINT64_FORMAT " threads",
			  count);
		pthread_mutex_lock(&crew.lock);
		crew.running -= count - started;
		pthread_mutex_unlock(&crew.lock);
		end_lanes(session);
	}
	good = wait_for_threads(session, &crew, error) && started == count;
	for (uint64_t i = 0; i < started; i++)
		pthread_join(ids[i], NULL);
	pthread_cond_destroy(&crew.fewer);
	pthread_mutex_destroy(&crew.lock);
	session->wall = (double)(g_get_monotonic_time() - begin) / G_USEC_PER_SEC;
	return session_judge(session, good ? error : NULL) && good;
}

void
test_session_clear(struct test_session *session)
{
	for (uint64_t i = 0; session->lanes != NULL && i < test_plan_lanes(&session->plan); i++)
		test_lane_close(&session->lanes[i]);
	for (uint64_t i = 0; session->threads != NULL && i < session->plan.threads; i++)
		g_clear_error(&session->threads[i].error);
	g_clear_pointer(&session->lanes, g_free);
	g_clear_pointer(&session->threads, g_free);
}

void
test_session_close(struct test_session *session)
{
	test_session_clear(session);
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
