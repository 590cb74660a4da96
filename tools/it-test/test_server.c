/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include <string.h>

#include "test_session.h"
#include "tool_error.h"
#include "tool_serve.h"

#define LANE_US 100000 /* time that each connection adds to the timeout */

/* Does the client's plan fit into the resources that one client may use? */
static bool
plan_fits(const struct test_plan *plan, uint64_t limit, GError **error)
{
	uint64_t octets = test_session_octets(plan);

	return octets <= limit || tool_fail(error, TOOL_ERROR_PEER,
					    "the plan takes %" G_GUINT64_FORMAT
					    " octets, the server gives a client %" G_GUINT64_FORMAT
					    " (its option --memory)",
					    octets, limit);
}

/* Receive the plan and check whether it can be run. *over: the client closed the session instead. */
static bool
receive_plan(struct test_session *session, uint64_t memory, bool *over, GError **error)
{
	uint8_t octets[TOOL_MAIL_SIZE];
	size_t len = sizeof(octets);
	GError *trouble = NULL;

	if (!tool_mail_receive(&session->mail, octets, &len, &trouble)) {
		*over = session->control.end == IT_CM_MSG_CONN_DISCONNECT_EVENT;
		g_propagate_error(error, trouble);
		return false;
	}
	if (test_plan_read(&session->plan, octets, len, &trouble) &&
	    plan_fits(&session->plan, memory, &trouble)) {
		session->lanes = g_new0(struct test_lane, test_plan_lanes(&session->plan));
		return test_session_tell(session, NULL, error);
	}
	memset(&session->plan, 0, sizeof(session->plan));
	if (test_session_tell(session, trouble, NULL))
		tool_link_linger(&session->control);
	g_propagate_error(error, trouble);
	return false;
}

/* The time until which a client must have made all its connections; 0: no limit. */
static gint64
lanes_until(const struct test_session *session)
{
	gint64 lanes = (gint64)test_plan_lanes(&session->plan);

	if (session->seconds == 0)
		return 0;
	return g_get_monotonic_time() + session->seconds * (gint64)G_USEC_PER_SEC + lanes * LANE_US;
}

static bool
accept_lanes(struct test_session *session, struct tool_client *client, GError **error)
{
	gint64 until = lanes_until(session);

	for (uint64_t i = 0; i < test_plan_lanes(&session->plan); i++) {
		it_conn_request_event_t request;
		struct tool_hello hello;

		if (!tool_client_next(client, &session->control, until, &request, &hello, error))
			return false;
		if (hello.index != i + 1) {
			tool_link_refuse(&request, TOOL_TEST, TOOL_BUSY);
			return tool_fail(error, TOOL_ERROR_PEER,
					 "the client made its connections in the wrong order");
		}
		if (!test_session_lane(session, i, error) ||
		    !tool_link_accept(&session->lanes[i].link, &request, &hello, error))
			return false;
	}
	return true;
}

/* The client sends its result first. */
static bool
exchange_results(struct test_session *session, const GError *mine, GError **error)
{
	if (!test_session_hear(session, error) && !session->control.connected)
		return false;
	return test_session_tell(session, mine, error);
}

static bool
server_run(struct test_session *session, struct tool_client *client, GError **error)
{
	GError *mine = NULL;
	GError *theirs = NULL;
	bool good = accept_lanes(session, client, &mine) && test_session_run(session, &mine);

	exchange_results(session, mine, &theirs);
	good = good && theirs == NULL;
	if (mine != NULL)
		g_propagate_error(error, g_steal_pointer(&mine));
	else if (theirs != NULL)
		g_propagate_error(error, g_steal_pointer(&theirs));
	g_clear_error(&theirs);
	if (!good)
		tool_link_linger(&session->control);
	return good;
}

/* Serve runs until the client ends the session; at least one. */
static bool
serve_runs(struct test_session *session, struct tool_client *client, uint64_t memory,
	   GError **error)
{
	for (uint64_t count = 0;; count++) {
		GError *trouble = NULL;
		bool over = false;

		if (receive_plan(session, memory, &over, &trouble) &&
		    server_run(session, client, &trouble)) {
			test_session_clear(session);
			continue;
		}
		if (!over || count == 0) {
			g_propagate_error(error, trouble);
			return false;
		}
		g_clear_error(&trouble);
		return true;
	}
}

static bool
serve_one(void *arg, struct tool_client *client, GError **error)
{
	const struct test_job *job = arg;
	struct test_session session = {
		.adapter = client->adapter,
		.seconds = job->options.seconds,
		.server = true,
		.hello = client->hello,
	};
	bool good;

	good = test_session_control(&session, &client->watch, error) &&
	       tool_link_accept(&session.control, &client->request, &session.hello, error) &&
	       serve_runs(&session, client, job->options.memory, error);
	test_session_close(&session);
	return good;
}

bool
test_server(void *arg, struct tool_ready *ready, GError **error)
{
	const struct test_job *job = arg;
	struct tool_service service = {.program = "it-test",
				       .tool = TOOL_TEST,
				       .options = &job->options,
				       .one = serve_one,
				       .arg = arg};

	return tool_serve(&service, ready, error);
}
