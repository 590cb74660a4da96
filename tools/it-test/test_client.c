/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include <string.h>

#include "test_session.h"
#include "tool_error.h"

static bool
send_plan(struct test_session *session, GError **error)
{
	uint8_t octets[TOOL_MAIL_SIZE];
	size_t len = test_plan_write(&session->plan, octets, sizeof(octets));

	return tool_mail_send(&session->mail, octets, len, error) &&
	       test_session_hear(session, error);
}

static bool
connect_lanes(struct test_session *session, struct tool_way *way, GError **error)
{
	uint64_t count = test_plan_lanes(&session->plan);

	session->lanes = g_new0(struct test_lane, count);
	for (uint64_t i = 0; i < count; i++) {
		struct tool_hello hello = session->hello;

		hello.index = (uint32_t)i + 1;
		if (!test_session_lane(session, i, error) ||
		    !tool_link_connect(&session->lanes[i].link, way, &hello, error))
			return false;
	}
	return true;
}

/* Run; then both sides exchange their results. The server's result may explain a failure better. */
static bool
client_run(struct test_session *session, GError **error)
{
	GError *mine = NULL;
	GError *theirs = NULL;
	bool good = test_session_run(session, &mine);

	if (!test_session_tell(session, mine, &theirs) || !test_session_hear(session, &theirs))
		good = false;
	if (mine != NULL && (theirs == NULL || !g_error_matches(mine, TOOL_ERROR, TOOL_ERROR_PEER)))
		g_propagate_error(error, g_steal_pointer(&mine));
	else if (theirs != NULL)
		g_propagate_error(error, g_steal_pointer(&theirs));
	g_clear_error(&mine);
	g_clear_error(&theirs);
	return good;
}

/* Connect the control connection, to the first address of the host at which there is a server. */
static bool
reach_server(struct test_session *session, struct tool_way *way, GError **error)
{
	do {
		if (test_session_control(session, NULL, error) &&
		    tool_link_connect(&session->control, way, &session->hello, error))
			return true;
		tool_link_close(&session->control);
		tool_mail_close(&session->mail);
	} while (tool_way_next(way, error));
	return false;
}

static bool
client_on(const struct test_job *job, struct test_session *session, uint16_t port, GError **error)
{
	struct test_report report;
	struct tool_way way;
	bool good = tool_way_find(&way, session->adapter, job->host, port, error) &&
		    reach_server(session, &way, error);

	test_report_begin(&report, job);
	for (size_t i = 0; good && i < job->size_count; i++) {
		test_session_clear(session);
		session->plan = job->plan;
		if (job->plan.mode == TEST_PERFORMANCE)
			session->plan.ops[0].size = job->sizes[i];
		good = send_plan(session, error) && connect_lanes(session, &way, error) &&
		       client_run(session, error);
		if (good)
			test_report_run(&report, session);
		good = good && tool_output_good(error);
	}
	test_report_end(&report, good);
	tool_way_clear(&way);
	return good;
}

bool
test_client(void *arg, uint16_t port, GError **error)
{
	const struct test_job *job = arg;
	struct tool_adapter adapter;
	struct test_session session = {
		.adapter = &adapter,
		.seconds = job->options.seconds,
		.hello = {.version = TOOL_VERSION, .tool = TOOL_TEST},
	};
	bool good;

	if (!tool_adapter_open(&adapter, job->options.adapter, error))
		return false;
	session.hello.session = (uint64_t)g_random_int() << 32 | g_random_int();
	good = client_on(job, &session, port, error);
	test_session_close(&session);
	tool_adapter_close(&adapter);
	return good;
}
