/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Hostile clients of it-test's server: they send invalid plans, make no connections, make them in
 * the wrong order or for the run of another client, and die in between.
 */

#include <string.h>

#include "hostile.h"
#include "test_session.h"
#include "tool_error.h"

static struct hostile_server server;

static const struct test_plan small = {
	.mode = TEST_TRANSACTIONS,
	.threads = 1,
	.endpoints = 2,
	.iterations = 10,
	.window = 1,
	.op_count = 1,
	.ops = {{.kind = TEST_SEND, .size = 64, .segments = 1}},
};

static void
honest_is_served(const struct hostile_server *by)
{
	hostile_honest(by, "it-test", "-p", "@", "-C", "5", "127.0.0.1", NULL);
}

/* The server's verdict: true if it agreed; the reason (g_free() it). */
static bool
verdict(struct hostile_end *end, char **why)
{
	uint8_t octets[1024];
	size_t len = sizeof(octets);
	struct tool_wire wire;
	bool good;

	g_assert_true(tool_mail_receive(&end->mail, octets, &len, NULL));
	wire = tool_wire_of(octets, len);
	good = tool_get(&wire, 1) != 0;
	*why = tool_get_text(&wire, sizeof(octets));
	g_assert_true(wire.ok);
	return good;
}

static void
send_plan(struct hostile_end *end, const struct test_plan *plan)
{
	uint8_t octets[TOOL_MAIL_SIZE];
	size_t len = test_plan_write(plan, octets, sizeof(octets));

	g_assert_cmpuint(len, >, 0);
	hostile_send(end, octets, len);
}

/* A run whose plan the server has agreed to; false if the server gave the client up before that. */
static bool
try_begin(struct hostile_end *end, const struct hostile_server *by, struct tool_hello *hello)
{
	uint8_t octets[TOOL_MAIL_SIZE];
	size_t len = test_plan_write(&small, octets, sizeof(octets));
	size_t size = sizeof(octets);

	memset(hello, 0, sizeof(*hello));
	hello->version = TOOL_VERSION;
	hello->tool = TOOL_TEST;
	hello->session = (uint64_t)g_random_int() << 32 | g_random_int();
	hostile_connect_soon(end, by, hello);
	if (tool_mail_send(&end->mail, octets, len, NULL) &&
	    tool_mail_receive(&end->mail, octets, &size, NULL)) {
		g_assert_cmpuint(octets[0], ==, 1); /* the verdict */
		return true;
	}
	hostile_close(end);
	return false;
}

static void
begin(struct hostile_end *end, const struct hostile_server *by, struct tool_hello *hello)
{
	g_assert_true(try_begin(end, by, hello));
}

static void
test_cut(void)
{
	uint8_t octets[TOOL_MAIL_SIZE];
	size_t len = test_plan_write(&small, octets, sizeof(octets));

	for (size_t shorter = 0; shorter < len; shorter++) {
		g_autofree char *why = NULL;
		struct hostile_end end RI_AT_END(hostile_close);

		hostile_enter(&end, &server, TOOL_TEST);
		hostile_send(&end, octets, shorter);
		g_assert_false(verdict(&end, &why));
	}
	honest_is_served(&server);
}

static void
refused(const struct test_plan *plan)
{
	g_autofree char *why = NULL;
	struct hostile_end end RI_AT_END(hostile_close);

	hostile_enter(&end, &server, TOOL_TEST);
	send_plan(&end, plan);
	g_assert_false(verdict(&end, &why));
	g_assert_cmpstr(why, !=, "");
}

static void
test_fields(void)
{
	struct test_plan plan;

#define REFUSED(change) \
	plan = small;   \
	change;         \
	refused(&plan)

	REFUSED(plan.mode = (enum test_mode)0);
	REFUSED(plan.mode = (enum test_mode)255);
	REFUSED(plan.threads = 0);
	REFUSED(plan.threads = G_MAXUINT64);
	REFUSED(plan.threads = TEST_LANES_MAX); /* times two endpoints */
	REFUSED(plan.endpoints = 0);
	REFUSED(plan.endpoints = (UINT64_C(1) << 63) + 1);
	REFUSED(plan.iterations = 0);
	REFUSED(plan.iterations = TEST_ITERATIONS_MAX + 1);
	REFUSED(plan.window = 0);
	REFUSED(plan.window = TEST_WINDOW_MAX + 1);
	REFUSED(plan.op_count = 0);
	REFUSED(plan.ops[0].kind = (enum test_kind)0);
	REFUSED(plan.ops[0].kind = (enum test_kind)255);
	REFUSED(plan.ops[0].size = 0);
	REFUSED(plan.ops[0].size = TEST_SIZE_MAX + 1);
	REFUSED(plan.ops[0].segments = 0);
	REFUSED(plan.ops[0].segments = TEST_SEGMENTS_MAX + 1);
	REFUSED(plan.mode = TEST_PERFORMANCE); /* of two endpoints */
#undef REFUSED
	honest_is_served(&server);
}

/* Plans within all limits that need more memory than a client may have: two letters must not cost gigabytes. */
static void
test_memory(void)
{
	static const struct test_op large = {
		.kind = TEST_SEND, .size = TEST_SIZE_MAX, .segments = 1};
	size_t before = hostile_server_memory(&server);
	struct test_plan plan = small;
	g_autofree char *output = NULL;

	plan.endpoints = 1;
	plan.ops[0] = large;
	refused(&plan);
	plan.mode = TEST_PERFORMANCE;
	refused(&plan);
	plan = small;
	plan.endpoints = TEST_LANES_MAX; /* small ones, but many */
	refused(&plan);
	plan.threads = TEST_LANES_MAX;
	plan.endpoints = 1;
	refused(&plan);
	g_assert_cmpuint(hostile_server_memory(&server), <, before + (64 << 20));
	g_assert_cmpint(hostile_run(&output, &server, "it-test", "-p", "@", "127.0.0.1", "client",
				    "SR", "1g", NULL),
			==, 1);
	g_assert_nonnull(strstr(output, "--memory"));
	honest_is_served(&server);
}

/* The client dies after its plan. Its place, the only one, becomes free although the server's timeout is infinite. */
static void
test_death(void)
{
	struct hostile_server patient RI_AT_END(hostile_server_end);
	struct tool_hello hello;
	struct hostile_end end;

	hostile_server_start(&patient, "it-test", HOSTILE_SERVES, "--timeout", "0", "--clients",
			     "1", NULL);
	begin(&end, &patient, &hello);
	hostile_close(&end);
	honest_is_served(&patient);
}

/* One of two connections comes, then the first connection dies: the other is closed with it. */
static void
test_half_a_run(void)
{
	struct hostile_server patient RI_AT_END(hostile_server_end);
	struct hostile_end control;
	struct hostile_end lane;
	struct tool_hello hello;

	hostile_server_start(&patient, "it-test", HOSTILE_SERVES, "--timeout", "0", "--clients",
			     "1", NULL);
	begin(&control, &patient, &hello);
	hello.index = 1;
	g_assert_true(hostile_connect(&lane, &patient, &hello));
	hostile_close(&control);
	hostile_is_left(&lane);
	hostile_close(&lane);
	honest_is_served(&patient);
}

/* All connections exist and the threads wait; then the first connection dies. */
static void
test_control_dies(void)
{
	struct hostile_server patient RI_AT_END(hostile_server_end);
	struct hostile_end control;
	struct hostile_end lanes[2];
	struct tool_hello hello;

	hostile_server_start(&patient, "it-test", HOSTILE_SERVES, "--timeout", "0", "--clients",
			     "1", NULL);
	begin(&control, &patient, &hello);
	for (size_t i = 0; i < G_N_ELEMENTS(lanes); i++) {
		hello.index = (uint32_t)i + 1;
		g_assert_true(hostile_connect(&lanes[i], &patient, &hello));
	}
	hostile_close(&control);
	for (size_t i = 0; i < G_N_ELEMENTS(lanes); i++) {
		hostile_is_left(&lanes[i]);
		hostile_close(&lanes[i]);
	}
	honest_is_served(&patient);
}

/* A silent run ends when its own time is over, however many other clients come. */
static void
test_deadline(void)
{
	gint64 until = g_get_monotonic_time() + HOSTILE_PATIENCE * (gint64)G_USEC_PER_SEC;
	struct hostile_server hasty RI_AT_END(hostile_server_end);
	struct tool_hello hello;
	struct hostile_end end;
	struct tool_hello stranger = {.version = TOOL_VERSION, .tool = TOOL_TEST, .index = 1};

	hostile_server_start(&hasty, "it-test", HOSTILE_SERVES, "--timeout", "1", NULL);
	while (!try_begin(&end, &hasty, &hello)) /* its second was over before we spoke */
		g_assert_cmpint(g_get_monotonic_time(), <, until);
	while (tool_link_stands(&end.link, NULL)) {
		g_assert_false(hostile_connect(&(struct hostile_end){0}, &hasty, &stranger));
		g_assert_cmpint(g_get_monotonic_time(), <, until);
	}
	hostile_server_said(&hasty, "did not make all its connections in time");
	hostile_close(&end);
}

/* Connections out of turn end the run; connections of another run do not belong to it. */
static void
test_out_of_turn(void)
{
	static const uint32_t bad[] = {2, 3, UINT32_MAX};

	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
		struct tool_hello hello;
		struct tool_hello other;
		struct hostile_end end RI_AT_END(hostile_close);
		struct hostile_end lane;
		g_autofree char *why = NULL;

		begin(&end, &server, &hello);
		other = hello;
		other.session++;
		other.index = 1;
		g_assert_false(hostile_connect(&lane, &server, &other));
		g_assert_true(tool_link_stands(&end.link, NULL));
		hello.index = bad[i];
		g_assert_false(hostile_connect(&lane, &server, &hello));
		hostile_send(&end, "\001\0\0", 3); /* "it went well", which the server waits for */
		g_assert_false(verdict(&end, &why));
		g_assert_nonnull(strstr(why, "in the wrong order"));
	}
	honest_is_served(&server);
}

/* A lane's first message is false: no token, too short, or about other memory. */
static void
test_first_token(void)
{
	static const uint8_t good[32] = {[1] = 'i', 't', '-', 't', 'e', 's', 't'};
	static const size_t lens[] = {0, 1, 7, 8, 31, 32};

	for (size_t i = 0; i < G_N_ELEMENTS(lens); i++) {
		struct hostile_end control RI_AT_END(hostile_close);
		struct hostile_end lanes[2];
		struct tool_hello hello;

		begin(&control, &server, &hello);
		for (size_t j = 0; j < G_N_ELEMENTS(lanes); j++) {
			hello.index = (uint32_t)j + 1;
			g_assert_true(hostile_connect(&lanes[j], &server, &hello));
		}
		hostile_send(&lanes[0], good, lens[i]);
		for (size_t j = 0; j < G_N_ELEMENTS(lanes); j++) {
			hostile_is_left(&lanes[j]);
			hostile_close(&lanes[j]);
		}
	}
	honest_is_served(&server);
}

/* A client that is honest, except for the data of its messages; their seed, the session, is the same in each run. */
static bool
run_with_wrong_data(enum test_kind kind, GError **error)
{
	struct tool_way way;
	struct test_plan plan = {.mode = TEST_PERFORMANCE,
				 .threads = 1,
				 .endpoints = 1,
				 .iterations = 10,
				 .window = 4,
				 .verify = true,
				 .op_count = 1,
				 .ops = {{.kind = kind, .size = 100, .segments = 1}}};
	struct tool_adapter adapter;
	struct test_session session = {
		.adapter = &adapter,
		.seconds = HOSTILE_PATIENCE,
		.hello = {.version = TOOL_VERSION, .tool = TOOL_TEST, .session = kind},
		.plan = plan,
		.lanes = g_new0(struct test_lane, 1)};
	uint8_t octets[TOOL_MAIL_SIZE];
	size_t len = test_plan_write(&plan, octets, sizeof(octets));
	GError *mine = NULL;
	bool good;

	g_assert_true(tool_adapter_open(&adapter, "iwarp", NULL));
	g_assert_true(tool_way_find(&way, &adapter, "127.0.0.1", server.port, NULL));
	g_assert_true(test_session_control(&session, NULL, NULL));
	g_assert_true(tool_link_connect(&session.control, &way, &session.hello, NULL));
	g_assert_true(tool_mail_send(&session.mail, octets, len, NULL));
	g_assert_true(test_session_hear(&session, NULL));
	g_assert_true(test_session_lane(&session, 0, NULL));
	session.hello.index = 1;
	g_assert_true(tool_link_connect(&session.lanes[0].link, &way, &session.hello, NULL));
	tool_way_clear(&way);
	session.lanes[0].seed++;
	good = test_session_run(&session, &mine);
	if (g_error_matches(mine, TOOL_ERROR, TOOL_ERROR_VERIFY))
		g_propagate_error(error, g_steal_pointer(&mine));
	else if (test_session_tell(&session, mine, error))
		test_session_hear(&session, error);
	g_clear_error(&mine);
	test_session_close(&session);
	tool_adapter_close(&adapter);
	return good;
}

/* The data is verified: by the server what is sent and written, by the client what is read. */
static void
test_wrong_data(void)
{
	for (unsigned kind = TEST_SEND; kind <= TEST_READ; kind++) {
		g_autoptr(GError) error = NULL;

		g_assert_false(run_with_wrong_data((enum test_kind)kind, &error));
		g_assert_nonnull(error);
		g_assert_nonnull(strstr(error->message, "octet 0 of "));
	}
	honest_is_served(&server);
}

/* Silent runs beside an honest one. */
static void
test_silent(void)
{
	struct hostile_end ends[4];
	struct tool_hello hello;

	for (size_t i = 0; i < G_N_ELEMENTS(ends); i++)
		begin(&ends[i], &server, &hello);
	honest_is_served(&server);
	for (size_t i = 0; i < G_N_ELEMENTS(ends); i++)
		hostile_close(&ends[i]);
}

/*
 * Stopped clients take all three places: one stops after its plan, one with one of its two connections,
 * one with all connections, when the server's threads wait. Other clients must get the places.
 */
static void
test_stopped_and_full(void)
{
	struct hostile_server small_server RI_AT_END(hostile_server_end);
	struct hostile_end ends[3];
	struct hostile_end lanes[3];
	struct tool_hello hellos[3];

	hostile_server_start(&small_server, "it-test", HOSTILE_SERVES, "--timeout", "0",
			     "--clients", "3", NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(ends); i++)
		begin(&ends[i], &small_server, &hellos[i]);
	for (size_t i = 0; i < G_N_ELEMENTS(lanes); i++) {
		struct tool_hello hello = hellos[i > 0 ? 2 : 1];

		hello.index = i == 2 ? 2 : 1;
		g_assert_true(hostile_connect(&lanes[i], &small_server, &hello));
	}
	for (size_t i = 0; i < 5; i++)
		honest_is_served(&small_server);
	for (size_t i = 0; i < G_N_ELEMENTS(ends); i++) {
		hostile_close(&ends[i]);
		hostile_close(&lanes[i]);
	}
	hostile_server_said(&small_server, "a client that has stopped loses its place");
}

/* The only place is taken by a run that stopped with all of its connections, so that the server's threads must give it up. */
static void
test_stopped_threads(void)
{
	struct hostile_server patient RI_AT_END(hostile_server_end);
	struct hostile_end control;
	struct hostile_end lanes[2];
	struct tool_hello hello;

	hostile_server_start(&patient, "it-test", HOSTILE_SERVES, "--timeout", "0", "--clients",
			     "1", NULL);
	begin(&control, &patient, &hello);
	for (size_t i = 0; i < G_N_ELEMENTS(lanes); i++) {
		hello.index = (uint32_t)i + 1;
		g_assert_true(hostile_connect(&lanes[i], &patient, &hello));
	}
	honest_is_served(&patient);
	for (size_t i = 0; i < G_N_ELEMENTS(lanes); i++)
		hostile_close(&lanes[i]);
	hostile_close(&control);
	hostile_server_said(&patient, "a client that has stopped loses its place");
}

int
main(int argc, char **argv)
{
	int status;

	g_test_init(&argc, &argv, NULL);
	hostile_server_start(&server, "it-test", HOSTILE_SERVES, NULL);
	g_test_add_func("/tools/hostile/test/cut", test_cut);
	g_test_add_func("/tools/hostile/test/fields", test_fields);
	g_test_add_func("/tools/hostile/test/memory", test_memory);
	g_test_add_func("/tools/hostile/test/death", test_death);
	g_test_add_func("/tools/hostile/test/half-a-run", test_half_a_run);
	g_test_add_func("/tools/hostile/test/control-dies", test_control_dies);
	g_test_add_func("/tools/hostile/test/deadline", test_deadline);
	g_test_add_func("/tools/hostile/test/out-of-turn", test_out_of_turn);
	g_test_add_func("/tools/hostile/test/first-token", test_first_token);
	g_test_add_func("/tools/hostile/test/wrong-data", test_wrong_data);
	g_test_add_func("/tools/hostile/test/stopped-and-full", test_stopped_and_full);
	g_test_add_func("/tools/hostile/test/stopped-threads", test_stopped_threads);
	g_test_add_func("/tools/hostile/test/silent", test_silent);
	status = g_test_run();
	hostile_server_end(&server);
	return status;
}
