/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* How a run went: one table for people, one object for programs. */

#include <stdio.h>
#include <stdlib.h>

#include "test_session.h"
#include "tool_json.h"

static const struct {
	const char *name;
	const char *member;
	double part;
} percentiles[] = {
	{"min", "min_us", 0},    {"50%", "p50_us", 0.5},       {"90%", "p90_us", 0.9},
	{"99%", "p99_us", 0.99}, {"99.9%", "p99_9_us", 0.999}, {"max", "max_us", 1},
};

struct totals {
	uint64_t operations;
	uint64_t octets;
	uint64_t messages;
	double seconds; /* of the slowest thread */
	double *samples;
	size_t sample_count;
};

static int
by_size(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

static void
add_up(const struct test_session *session, struct totals *totals)
{
	size_t count = 0;

	for (uint64_t i = 0; i < session->plan.threads; i++)
		totals->sample_count += session->threads[i].score.sample_count;
	totals->samples = g_new0(double, totals->sample_count + 1);
	for (uint64_t i = 0; i < session->plan.threads; i++) {
		const struct test_score *score = &session->threads[i].score;

		totals->operations += score->operations;
		totals->octets += score->octets;
		totals->messages += score->messages;
		totals->seconds = MAX(totals->seconds, score->seconds);
		for (size_t j = 0; j < score->sample_count; j++)
			totals->samples[count++] = score->samples[j];
	}
	qsort(totals->samples, totals->sample_count, sizeof(double), by_size);
	if (totals->seconds <= 0)
		totals->seconds = MAX(session->wall, 1e-6);
}

/* The smallest sample that so many of them do not exceed. */
static double
percentile(const struct totals *totals, double part)
{
	size_t rank = (size_t)(part * (double)totals->sample_count + 0.999999);

	if (totals->sample_count == 0)
		return 0;
	return totals->samples[rank == 0 ? 0 : MIN(rank, totals->sample_count) - 1];
}

static void
print_transactions(const struct test_session *session, const struct totals *totals)
{
	const struct test_plan *plan = &session->plan;
	uint64_t times = plan->iterations * test_plan_lanes(plan);

	printf("%-8s %-9s %12s %8s %12s %18s\n", "begins", "operation", "size", "segments", "done",
	       "verified octets");
	for (uint64_t i = 0; i < plan->op_count; i++) {
		const struct test_op *op = &plan->ops[i];

		printf("%-8s %-9s %12" G_GUINT64_FORMAT " %8" G_GUINT64_FORMAT
		       " %12" G_GUINT64_FORMAT " %18" G_GUINT64_FORMAT "\n",
		       op->by_server ? "server" : "client", test_kind_text(op->kind), op->size,
		       op->segments, times, times * test_op_octets(op));
	}
	printf("%" G_GUINT64_FORMAT " operations on %" G_GUINT64_FORMAT
	       " connections, %" G_GUINT64_FORMAT " octets verified in %.2f s: %.0f operations/s\n",
	       totals->operations, test_plan_lanes(plan), totals->octets, totals->seconds,
	       (double)totals->operations / totals->seconds);
}

static void
print_performance(const struct test_session *session, const struct totals *totals)
{
	const struct test_plan *plan = &session->plan;

	printf("%-6s %10s %7s %6s %7s |", "", "size", "window", "", "threads");
	for (size_t i = 0; i < G_N_ELEMENTS(percentiles); i++)
		printf(" %8s", percentiles[i].name);
	printf(" us | %10s %12s\n", "MB/s", "messages/s");
	printf("%-6s %10" G_GUINT64_FORMAT " %7" G_GUINT64_FORMAT " %6s %7" G_GUINT64_FORMAT " |",
	       test_kind_text(plan->ops[0].kind), plan->ops[0].size, plan->window,
	       plan->poll ? "poll" : "sleep", plan->threads);
	for (size_t i = 0; i < G_N_ELEMENTS(percentiles); i++)
		printf(" %8.2f", percentile(totals, percentiles[i].part));
	printf("    | %10.1f %12.0f\n", (double)totals->octets / 1e6 / totals->seconds,
	       (double)totals->messages / totals->seconds);
}

static void
add_operations(JsonBuilder *json, const struct test_plan *plan)
{
	json_builder_set_member_name(json, "operations");
	json_builder_begin_array(json);
	for (uint64_t i = 0; i < plan->op_count; i++) {
		json_builder_begin_object(json);
		tool_json_text(json, "begins", plan->ops[i].by_server ? "server" : "client");
		tool_json_text(json, "operation", test_kind_text(plan->ops[i].kind));
		tool_json_count(json, "size", plan->ops[i].size);
		tool_json_count(json, "segments", plan->ops[i].segments);
		json_builder_end_object(json);
	}
	json_builder_end_array(json);
}

static void
add_performance(JsonBuilder *json, const struct test_plan *plan, const struct totals *totals)
{
	tool_json_count(json, "window", plan->window);
	tool_json_count(json, "samples", totals->sample_count);
	for (size_t i = 0; i < G_N_ELEMENTS(percentiles); i++)
		tool_json_number(json, percentiles[i].member,
				 percentile(totals, percentiles[i].part));
	tool_json_number(json, "megabytes_per_second",
			 (double)totals->octets / 1e6 / totals->seconds);
	tool_json_number(json, "messages_per_second", (double)totals->messages / totals->seconds);
}

static void
print_json(const struct test_job *job, const struct test_session *session,
	   const struct totals *totals)
{
	const struct test_plan *plan = &session->plan;
	bool perf = plan->mode == TEST_PERFORMANCE;
	JsonBuilder *json = tool_json_begin("it-test");

	tool_json_boolean(json, "ok", true);
	tool_json_text(json, "adapter", job->options.adapter);
	tool_json_text(json, "mode", perf ? "performance" : "transactions");
	tool_json_text(json, "wake", plan->poll ? "poll" : "sleep");
	tool_json_count(json, "threads", plan->threads);
	tool_json_count(json, "endpoints", plan->endpoints);
	tool_json_count(json, "iterations", plan->iterations);
	add_operations(json, plan);
	tool_json_count(json, "done", totals->operations);
	tool_json_count(json, perf ? "octets" : "verified_octets", totals->octets);
	tool_json_number(json, "seconds", totals->seconds);
	if (perf)
		add_performance(json, plan, totals);
	else
		tool_json_number(json, "operations_per_second",
				 (double)totals->operations / totals->seconds);
	tool_json_print(json);
}

void
test_report(const struct test_job *job, const struct test_session *session)
{
	struct totals totals = {0};

	add_up(session, &totals);
	if (job->options.json)
		print_json(job, session, &totals);
	else if (session->plan.mode == TEST_PERFORMANCE)
		print_performance(session, &totals);
	else
		print_transactions(session, &totals);
	g_free(totals.samples);
}
