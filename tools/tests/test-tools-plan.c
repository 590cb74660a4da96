/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The operation language of it-test, and plans as octets. */

#include <string.h>

#include "test_plan.h"
#include "tool_error.h"

static struct test_plan
plan_of(const char *words)
{
	g_auto(GStrv) parts = g_strsplit(words, " ", -1);
	struct test_plan plan = {.mode = TEST_TRANSACTIONS,
				 .threads = 2,
				 .endpoints = 3,
				 .iterations = 10,
				 .window = 1};
	g_autoptr(GError) error = NULL;

	g_assert_true(test_plan_words(&plan, parts, &error));
	g_assert_no_error(error);
	return plan;
}

static void
test_words(void)
{
	struct test_plan plan = plan_of("client SR server RW 64k client rr 100 4 server SR");

	g_assert_cmpuint(plan.op_count, ==, 4);
	g_assert_false(plan.ops[0].by_server);
	g_assert_cmpint(plan.ops[0].kind, ==, TEST_SEND);
	g_assert_cmpuint(plan.ops[0].size, ==, 4096);
	g_assert_cmpuint(plan.ops[0].segments, ==, 1);
	g_assert_true(plan.ops[1].by_server);
	g_assert_cmpint(plan.ops[1].kind, ==, TEST_WRITE);
	g_assert_cmpuint(plan.ops[1].size, ==, 65536);
	g_assert_cmpint(plan.ops[2].kind, ==, TEST_READ);
	g_assert_cmpuint(plan.ops[2].segments, ==, 4);
	g_assert_cmpuint(test_op_octets(&plan.ops[2]), ==, 400);
	g_assert_true(test_plan_check(&plan, NULL));
	g_assert_cmpuint(test_plan_lanes(&plan), ==, 6);
}

static void
test_bad_words(void)
{
	static const char *const bad[] = {
		"client",         "server XX",    "nobody SR",       "client SR 0",
		"client SR 4 17", "SR client",    "client SR 4 4 4", "client SR 99999999999",
		"client 5",       "client SR -1",
	};

	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_auto(GStrv) parts = g_strsplit(bad[i], " ", -1);
		g_autoptr(GError) error = NULL;
		struct test_plan plan = {0};

		g_assert_false(test_plan_words(&plan, parts, &error));
		g_assert_error(error, TOOL_ERROR, TOOL_ERROR_USAGE);
	}
}

static void
test_octets(void)
{
	struct test_plan plan = plan_of("client SR 1 server RW 2 3 client RR 65536");
	uint8_t octets[4096];
	struct test_plan read;
	size_t len = test_plan_write(&plan, octets, sizeof(octets));

	g_assert_cmpuint(len, >, 0);
	g_assert_true(test_plan_read(&read, octets, len, NULL));
	g_assert_cmpuint(read.op_count, ==, 3);
	g_assert_cmpuint(read.ops[1].segments, ==, 3);
	g_assert_true(read.ops[1].by_server);
	g_assert_cmpuint(read.iterations, ==, 10);
	for (size_t shorter = 0; shorter < len; shorter++) {
		g_autoptr(GError) error = NULL;

		g_assert_false(test_plan_read(&read, octets, shorter, &error));
		g_assert_error(error, TOOL_ERROR, TOOL_ERROR_PEER);
	}
	g_assert_cmpuint(test_plan_write(&plan, octets, len - 1), ==, 0);
}

static void
test_sizes(void)
{
	static const struct {
		const char *text;
		uint64_t sizes[5];
		size_t count;
	} good[] = {
		{"64", {64}, 1},
		{"1,64,4k", {1, 64, 4096}, 3},
		{"1-8", {1, 2, 4, 8}, 4},
		{"3-20", {3, 6, 12, 20}, 4},
		{"7-7", {7}, 1},
		{"5,1-2,1g", {5, 1, 2, TEST_SIZE_MAX}, 4},
		{"512m-1g", {TEST_SIZE_MAX / 2, TEST_SIZE_MAX}, 2},
	};
	static const char *const bad[] = {"",     ",",     "1,",    "0",   "2-1", "1-",   "-1",
					  "1--2", "1-2-3", "1025m", "1 2", "1x",  "1-2g", "a-b"};
	uint64_t sizes[TEST_SIZES_MAX];
	size_t count;
	g_autoptr(GString) most = g_string_new("1");

	for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
		g_assert_true(test_plan_sizes(good[i].text, sizes, &count, NULL));
		g_assert_cmpmem(sizes, count * sizeof(*sizes), good[i].sizes,
				good[i].count * sizeof(*sizes));
	}
	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_false(test_plan_sizes(bad[i], sizes, &count, &error));
		g_assert_error(error, TOOL_ERROR, TOOL_ERROR_USAGE);
	}
	for (size_t i = 1; i < TEST_SIZES_MAX; i++)
		g_string_append(most, ",1");
	g_assert_true(test_plan_sizes(most->str, sizes, &count, NULL));
	g_assert_cmpuint(count, ==, TEST_SIZES_MAX);
	g_string_append(most, ",1");
	g_assert_false(test_plan_sizes(most->str, sizes, &count, NULL));
}

/* Every field arrives with its value, whatever it is. */
static void
test_fields(void)
{
	struct test_plan plan = {.mode = TEST_PERFORMANCE,
				 .threads = 12,
				 .endpoints = 1,
				 .iterations = TEST_ITERATIONS_MAX,
				 .poll = true,
				 .window = TEST_WINDOW_MAX,
				 .warmup = 99,
				 .both = true,
				 .verify = true,
				 .op_count = 1,
				 .ops = {{.by_server = true,
					  .kind = TEST_READ,
					  .size = 1234567,
					  .segments = TEST_SEGMENTS_MAX}}};
	uint8_t octets[256];
	uint8_t again[256];
	struct test_plan read;

	for (unsigned flags = 0; flags < 8; flags++) {
		size_t len;

		plan.poll = (flags & 1) != 0;
		plan.both = (flags & 2) != 0;
		plan.verify = (flags & 4) != 0;
		len = test_plan_write(&plan, octets, sizeof(octets));
		g_assert_true(test_plan_read(&read, octets, len, NULL));
		g_assert_cmpmem(octets, len, again, test_plan_write(&read, again, sizeof(again)));
		g_assert_cmpint(read.poll, ==, plan.poll);
		g_assert_cmpint(read.both, ==, plan.both);
		g_assert_cmpint(read.verify, ==, plan.verify);
		g_assert_cmpuint(read.iterations, ==, plan.iterations);
		g_assert_cmpuint(read.window, ==, plan.window);
		g_assert_cmpuint(read.warmup, ==, plan.warmup);
		g_assert_cmpuint(read.ops[0].segments, ==, plan.ops[0].segments);
	}
}

static void
test_bounds(void)
{
	struct test_plan good = plan_of("client SR");
	struct test_plan plan;

#define REFUSED(change) \
	plan = good;    \
	change;         \
	g_assert_false(test_plan_check(&plan, NULL))

	g_assert_true(test_plan_check(&good, NULL));
	REFUSED(plan.mode = (enum test_mode)0);
	REFUSED(plan.threads = 0);
	REFUSED(plan.threads = G_MAXUINT64);
	REFUSED(plan.endpoints = TEST_LANES_MAX);
	REFUSED(plan.iterations = 0);
	REFUSED(plan.op_count = 0);
	REFUSED(plan.op_count = TEST_OPS_MAX + 1);
	REFUSED(plan.window = TEST_WINDOW_MAX + 1);
	REFUSED(plan.ops[0].kind = (enum test_kind)4);
	REFUSED(plan.ops[0].size = TEST_SIZE_MAX + 1);
	REFUSED(plan.ops[0].size = TEST_SIZE_MAX);
	REFUSED(plan.ops[0].segments = 0);
	REFUSED(plan.mode = TEST_PERFORMANCE); /* with three endpoints a thread */
#undef REFUSED
}

/* All iterations may be warm-up, but no more. */
static void
test_warmup(void)
{
	struct test_plan plan = plan_of("client SR");

	plan.mode = TEST_PERFORMANCE;
	plan.endpoints = 1;
	plan.warmup = plan.iterations;
	g_assert_true(test_plan_check(&plan, NULL));
	plan.warmup = plan.iterations + 1;
	g_assert_false(test_plan_check(&plan, NULL));
}

static void
test_most_ops(void)
{
	struct test_plan plan = {0};
	g_autoptr(GError) error = NULL;
	char *words[2 * (TEST_OPS_MAX + 1) + 1] = {0};
	char client[] = "client";
	char send[] = "SR";

	for (size_t i = 0; i < TEST_OPS_MAX; i++) {
		words[2 * i] = client;
		words[2 * i + 1] = send;
	}
	g_assert_true(test_plan_words(&plan, words, NULL));
	g_assert_cmpuint(plan.op_count, ==, TEST_OPS_MAX);
	words[2 * TEST_OPS_MAX] = client;
	words[2 * TEST_OPS_MAX + 1] = send;
	g_assert_false(test_plan_words(&plan, words, &error));
	g_assert_error(error, TOOL_ERROR, TOOL_ERROR_USAGE);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/tools/plan/words", test_words);
	g_test_add_func("/tools/plan/bad-words", test_bad_words);
	g_test_add_func("/tools/plan/octets", test_octets);
	g_test_add_func("/tools/plan/sizes", test_sizes);
	g_test_add_func("/tools/plan/fields", test_fields);
	g_test_add_func("/tools/plan/bounds", test_bounds);
	g_test_add_func("/tools/plan/warmup", test_warmup);
	g_test_add_func("/tools/plan/most-ops", test_most_ops);
	return g_test_run();
}
