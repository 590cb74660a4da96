/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include <string.h>

#include "test_plan.h"
#include "tool_error.h"
#include "tool_options.h"
#include "tool_wire.h"

#define DEFAULT_SIZE 4096

static const struct {
	const char *name;
	const char *short_name;
} kinds[] = {
	[TEST_SEND] = {"send", "SR"},
	[TEST_WRITE] = {"write", "RW"},
	[TEST_READ] = {"read", "RR"},
};

const char *
test_kind_text(enum test_kind kind)
{
	return kinds[kind].name;
}

bool
test_plan_kind(const char *word, enum test_kind *kind, GError **error)
{
	for (unsigned i = TEST_SEND; i <= TEST_READ; i++) {
		*kind = (enum test_kind)i;
		if (g_ascii_strcasecmp(word, kinds[i].name) == 0 ||
		    g_ascii_strcasecmp(word, kinds[i].short_name) == 0)
			return true;
	}
	return tool_fail(error, TOOL_ERROR_USAGE,
			 "'%s' is not an operation: send, read or write (SR, RR or RW)", word);
}

/* An optional number at *words; advances past it. */
static bool
maybe_number(char ***words, uint64_t high, uint64_t *number, GError **error)
{
	if (**words == NULL || !g_ascii_isdigit(***words))
		return true;
	return tool_number(*(*words)++, 1, high, number, error);
}

static bool
one_op(struct test_op *op, char ***words, GError **error)
{
	const char *who = *(*words)++;

	op->by_server = g_str_equal(who, "server");
	if (!op->by_server && !g_str_equal(who, "client"))
		return tool_fail(error, TOOL_ERROR_USAGE, "'%s' is neither client nor server", who);
	if (**words == NULL)
		return tool_fail(error, TOOL_ERROR_USAGE,
				 "'%s' needs an operation: send, read or write (SR, RR or RW)",
				 who);
	if (!test_plan_kind(*(*words)++, &op->kind, error))
		return false;
	op->size = DEFAULT_SIZE;
	op->segments = 1;
	return maybe_number(words, TEST_SIZE_MAX, &op->size, error) &&
	       maybe_number(words, TEST_SEGMENTS_MAX, &op->segments, error);
}

bool
test_plan_words(struct test_plan *plan, char **words, GError **error)
{
	plan->op_count = 0;
	while (*words != NULL) {
		if (plan->op_count == TEST_OPS_MAX)
			return tool_fail(error, TOOL_ERROR_USAGE, "more than %d operations",
					 TEST_OPS_MAX);
		if (!one_op(&plan->ops[plan->op_count], &words, error))
			return false;
		plan->op_count++;
	}
	return true;
}

static bool
add_size(uint64_t sizes[TEST_SIZES_MAX], size_t *count, uint64_t size, GError **error)
{
	if (*count == TEST_SIZES_MAX)
		return tool_fail(error, TOOL_ERROR_USAGE, "more than %d sizes", TEST_SIZES_MAX);
	sizes[(*count)++] = size;
	return true;
}

/* One number, or LOW-HIGH. */
static bool
add_sizes(uint64_t sizes[TEST_SIZES_MAX], size_t *count, const char *text, GError **error)
{
	g_auto(GStrv) ends = g_strsplit(text, "-", 2);
	uint64_t low;
	uint64_t high;

	if (ends[0] == NULL)
		return tool_fail(error, TOOL_ERROR_USAGE, "'' is not a size");
	if (!tool_number(ends[0], 1, TEST_SIZE_MAX, &low, error))
		return false;
	high = low;
	if (ends[1] != NULL && !tool_number(ends[1], low, TEST_SIZE_MAX, &high, error))
		return false;
	for (uint64_t size = low; size < high; size *= 2) {
		if (!add_size(sizes, count, size, error))
			return false;
	}
	return add_size(sizes, count, high, error);
}

bool
test_plan_sizes(const char *text, uint64_t sizes[TEST_SIZES_MAX], size_t *count, GError **error)
{
	g_auto(GStrv) words = g_strsplit(text, ",", -1);

	*count = 0;
	for (size_t i = 0; words[i] != NULL; i++) {
		if (!add_sizes(sizes, count, words[i], error))
			return false;
	}
	return *count > 0 || tool_fail(error, TOOL_ERROR_USAGE, "'' is not a size");
}

uint64_t
test_plan_lanes(const struct test_plan *plan)
{
	return plan->threads * plan->endpoints;
}

uint64_t
test_op_octets(const struct test_op *op)
{
	return op->size * op->segments;
}

static bool
check_bound(const char *name, uint64_t value, uint64_t high, GError **error)
{
	if (value >= 1 && value <= high)
		return true;
	return tool_fail(error, TOOL_ERROR_USAGE,
			 "%s must be 1 to %" G_GUINT64_FORMAT ", not %" G_GUINT64_FORMAT, name,
			 high, value);
}

static bool
check_op(const struct test_op *op, GError **error)
{
	if (op->kind != TEST_SEND && op->kind != TEST_WRITE && op->kind != TEST_READ)
		return tool_fail(error, TOOL_ERROR_USAGE, "no such operation");
	return check_bound("a size", op->size, TEST_SIZE_MAX, error) &&
	       check_bound("segments", op->segments, TEST_SEGMENTS_MAX, error);
}

bool
test_plan_check(const struct test_plan *plan, GError **error)
{
	uint64_t octets = 0;

	if (plan->mode != TEST_TRANSACTIONS && plan->mode != TEST_PERFORMANCE)
		return tool_fail(error, TOOL_ERROR_USAGE, "no such mode");
	if (!check_bound("threads", plan->threads, TEST_LANES_MAX, error) ||
	    !check_bound("endpoints", plan->endpoints, TEST_LANES_MAX, error) ||
	    !check_bound("connections", test_plan_lanes(plan), TEST_LANES_MAX, error) ||
	    !check_bound("iterations", plan->iterations, TEST_ITERATIONS_MAX, error) ||
	    !check_bound("operations", plan->op_count, TEST_OPS_MAX, error) ||
	    !check_bound("the window", plan->window, TEST_WINDOW_MAX, error))
		return false;
	for (uint64_t i = 0; i < plan->op_count; i++) {
		if (!check_op(&plan->ops[i], error))
			return false;
		octets += 2 * test_op_octets(&plan->ops[i]);
	}
	if (plan->mode == TEST_PERFORMANCE &&
	    (plan->op_count != 1 || plan->endpoints != 1 || plan->warmup > plan->iterations))
		return tool_fail(
			error, TOOL_ERROR_USAGE,
			"--perf measures one operation, with one endpoint for each thread");
	if (octets * test_plan_lanes(plan) > TEST_MEMORY_MAX)
		return tool_fail(error, TOOL_ERROR_USAGE, "the buffers would be larger than 4 GiB");
	return true;
}

size_t
test_plan_write(const struct test_plan *plan, void *octets, size_t room)
{
	struct tool_wire wire = tool_wire_of(octets, room);

	tool_put(&wire, plan->mode, 1);
	tool_put(&wire, plan->poll, 1);
	tool_put(&wire, plan->both, 1);
	tool_put(&wire, plan->verify, 1);
	tool_put(&wire, plan->threads, 8);
	tool_put(&wire, plan->endpoints, 8);
	tool_put(&wire, plan->iterations, 8);
	tool_put(&wire, plan->window, 8);
	tool_put(&wire, plan->warmup, 8);
	tool_put(&wire, plan->op_count, 8);
	for (uint64_t i = 0; i < plan->op_count; i++) {
		tool_put(&wire, plan->ops[i].by_server, 1);
		tool_put(&wire, plan->ops[i].kind, 1);
		tool_put(&wire, plan->ops[i].size, 8);
		tool_put(&wire, plan->ops[i].segments, 8);
	}
	return wire.ok ? room - wire.left : 0;
}

bool
test_plan_read(struct test_plan *plan, void *octets, size_t len, GError **error)
{
	struct tool_wire wire = tool_wire_of(octets, len);

	memset(plan, 0, sizeof(*plan));
	plan->mode = (enum test_mode)tool_get(&wire, 1);
	plan->poll = tool_get(&wire, 1) != 0;
	plan->both = tool_get(&wire, 1) != 0;
	plan->verify = tool_get(&wire, 1) != 0;
	plan->threads = tool_get(&wire, 8);
	plan->endpoints = tool_get(&wire, 8);
	plan->iterations = tool_get(&wire, 8);
	plan->window = tool_get(&wire, 8);
	plan->warmup = tool_get(&wire, 8);
	plan->op_count = tool_get(&wire, 8);
	for (uint64_t i = 0; i < MIN(plan->op_count, TEST_OPS_MAX); i++) {
		plan->ops[i].by_server = tool_get(&wire, 1) != 0;
		plan->ops[i].kind = (enum test_kind)tool_get(&wire, 1);
		plan->ops[i].size = tool_get(&wire, 8);
		plan->ops[i].segments = tool_get(&wire, 8);
	}
	if (!wire.ok)
		return tool_fail(error, TOOL_ERROR_PEER, "the client sent a malformed plan");
	return test_plan_check(plan, error);
}
