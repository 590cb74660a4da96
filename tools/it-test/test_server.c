/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include <string.h>

#include "test_session.h"
#include "tool_error.h"
#include "tool_serve.h"

/* Hears the plan and says whether it can be run. */
static bool
receive_plan(struct test_session *session, GError **error)
{
	uint8_t octets[TOOL_MAIL_SIZE];
	size_t len = sizeof(octets);
	GError *trouble = NULL;

	if (!tool_mail_receive(&session->mail, octets, &len, error))
		return false;
	if (test_plan_read(&session->plan, octets, len, &trouble)) {
		session->lanes = g_new0(struct test_lane, test_plan_lanes(&session->plan));
		return test_session_tell(session, NULL, error);
	}
	memset(&session->plan, 0, sizeof(session->plan));
	if (test_session_tell(session, trouble, NULL))
		tool_link_linger(&session->control);
	g_propagate_error(error, trouble);
	return false;
}

/* The next request that belongs to this run; strangers are told to come later. */
static bool
next_lane(struct test_session *session, struct tool_listener *listener, uint64_t index,
	  it_conn_request_event_t *request, struct tool_hello *hello, GError **error)
{
	for (;;) {
		g_autoptr(GError) stranger = NULL;

		if (!tool_listener_next(listener, session->seconds, request, error))
			return false;
		if (!tool_link_greeting(request, TOOL_TEST, hello, &stranger))
			continue;
		if (hello->session == session->hello.session && hello->index == index + 1)
			return true;
		tool_link_refuse(request, TOOL_TEST, TOOL_BUSY);
	}
}

static bool
accept_lanes(struct test_session *session, struct tool_listener *listener, GError **error)
{
	for (uint64_t i = 0; i < test_plan_lanes(&session->plan); i++) {
		it_conn_request_event_t request;
		struct tool_hello hello;

		if (!next_lane(session, listener, i, &request, &hello, error) ||
		    !test_session_lane(session, i, error) ||
		    !tool_link_accept(&session->lanes[i].link, &request, &hello, error))
			return false;
	}
	return true;
}

/* The client tells first how it ended; then it closes when it has heard us. */
static bool
conclude(struct test_session *session, const GError *mine, GError **error)
{
	if (!test_session_hear(session, error) && !session->control.connected)
		return false;
	if (!test_session_tell(session, mine, error))
		return false;
	tool_link_linger(&session->control);
	return true;
}

static bool
run(struct test_session *session, struct tool_listener *listener, GError **error)
{
	GError *mine = NULL;
	GError *theirs = NULL;
	bool good = accept_lanes(session, listener, &mine) && test_session_run(session, &mine);

	conclude(session, mine, &theirs);
	good = good && theirs == NULL;
	if (mine != NULL)
		g_propagate_error(error, g_steal_pointer(&mine));
	else if (theirs != NULL)
		g_propagate_error(error, g_steal_pointer(&theirs));
	g_clear_error(&theirs);
	return good;
}

static bool
serve_one(void *arg, struct tool_listener *listener, GError **error)
{
	const struct test_job *job = arg;
	unsigned patience = tool_serve_patience(&job->options);
	struct test_session session = {
		.adapter = listener->adapter,
		.seconds = job->options.seconds,
		.server = true,
	};
	it_conn_request_event_t request;
	bool good;

	if (!tool_listener_next(listener, patience, &request, error) ||
	    !tool_link_greeting(&request, TOOL_TEST, &session.hello, error))
		return false;
	if (session.hello.index != 0) { /* a lane of a run that is over */
		tool_link_refuse(&request, TOOL_TEST, TOOL_BUSY);
		return tool_fail(error, TOOL_ERROR_PEER, "a connection of no run came");
	}
	good = test_session_control(&session, error) &&
	       tool_link_accept(&session.control, &request, &session.hello, error) &&
	       receive_plan(&session, error) && run(&session, listener, error);
	test_session_close(&session);
	return good;
}

bool
test_server(void *arg, struct tool_ready *ready, GError **error)
{
	const struct test_job *job = arg;
	struct tool_service service = {
		.program = "it-test", .options = &job->options, .one = serve_one, .arg = arg};

	return tool_serve(&service, ready, error);
}
