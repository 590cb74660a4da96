/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A session: a control connection, over which the client sends a plan and both sides report how its run ended,
 * once or more often, and the lanes of each run, each thread with some of its own. While the threads run, the thread of the
 * session watches the control connection; when that ends, the threads end too.
 */
#ifndef TEST_SESSION_H
#define TEST_SESSION_H

#include <stdatomic.h>

#include "test_lane.h"
#include "tool_json.h"
#include "tool_mail.h"
#include "tool_options.h"
#include "tool_self.h"

struct test_thread {
	struct test_lane *lanes; /* plan.endpoints of them */
	struct test_crew *crew;
	bool server;
	struct test_score score;
	GError *error;
};

/* One side of a run. */
struct test_session {
	struct tool_adapter *adapter;
	unsigned seconds;
	bool server;
	struct tool_link control;
	struct tool_mail mail;
	struct tool_hello hello;
	struct test_plan plan;
	struct test_lane *lanes;
	struct test_thread *threads;
	double wall; /* s, of the threads together */
};

struct test_job {
	struct tool_options options;
	struct test_plan plan;          /* its size is that of the run */
	uint64_t sizes[TEST_SIZES_MAX]; /* performance: of one run after the other */
	size_t size_count;
	char *host;
};

/* Created, unconnected. The watch may be NULL. */
bool test_session_control(struct test_session *session, struct tool_watch *watch, GError **error);

/* Octets that one side of this plan needs: buffers, connections and threads. */
uint64_t test_session_octets(const struct test_plan *plan);
bool test_session_lane(struct test_session *session, uint64_t index, GError **error);
bool test_session_run(struct test_session *session, GError **error);
void test_session_clear(struct test_session *session); /* ready for the next run */
void test_session_close(struct test_session *session);

/* Exchange results over the control connection: success, or the reason of the failure. */
bool test_session_tell(struct test_session *session, const GError *why, GError **error);
bool test_session_hear(struct test_session *session, GError **error);

bool test_client(void *job, uint16_t port, GError **error);
bool test_server(void *job, struct tool_ready *ready, GError **error);

/*
 * Tables or JSON: call begin once, one function for each run, and end once; after a failure in between nothing needs
 * to be ended.
 */
struct test_report {
	JsonBuilder *json; /* NULL for people */
	bool sweep;
	bool begun; /* a run was reported */
};

void test_report_begin(struct test_report *report, const struct test_job *job);
void test_report_run(struct test_report *report, const struct test_session *session);
void test_report_end(struct test_report *report, bool good);

#endif /* TEST_SESSION_H */
