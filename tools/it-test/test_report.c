/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The results of a run: a table for people, or one JSON object for programs. */

#include <stdio.h>
#include <string.h>

#include "test_session.h"
#include "tool_json.h"

static const double parts[] = {0.5, 0.9, 0.99, 0.999};

struct totals {
	uint64_t operations;
	uint64_t octets;
	uint64_t verified;
	uint64_t messages;
	double seconds; /* of the slowest thread */
	struct tool_figures trips;
};

static void
add_up(const struct test_session *session, struct totals *totals)
{
	memset(totals, 0, sizeof(*totals));
	for (uint64_t i = 0; i < session->plan.threads; i++) {
		const struct test_score *score = &session->threads[i].score;

		totals->operations += score->operations;
		totals->octets += score->octets;
		totals->verified += score->verified;
		totals->messages += score->messages;
		totals->seconds = MAX(totals->seconds, score->seconds);
		tool_figures_merge(&totals->trips, &score->trips);
	}
	if (totals->seconds <= 0)
		totals->seconds = MAX(session->wall, 1e-6);
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

/* What holds for all runs, and the column heads, 80 columns wide. */
static void
print_heading(const struct test_plan *plan)
{
	printf("%s%s, %" G_GUINT64_FORMAT " thread%s, window %" G_GUINT64_FORMAT ", %s%s\n",
	       test_kind_text(plan->ops[0].kind), plan->both ? " both ways" : "", plan->threads,
	       plan->threads == 1 ? "" : "s", plan->window, plan->poll ? "polling" : "sleeping",
	       plan->verify ? ", data checked" : "");
	printf("%10s %7s %7s %7s %7s %7s %7s %9s %10s\n", "octets", "min us", "median", "90%",
	       "99%", "99.9%", "max us", "MB/s", "messages/s");
}

/* A time in seven columns. */
static void
print_time(double us)
{
	if (us < 9999.95)
		printf(" %7.1f", us);
	else if (us < 9999999)
		printf(" %7.0f", us);
	else
		printf(" %6.0fs", us / 1e6);
}

static void
print_performance(const struct test_session *session, const struct totals *totals)
{
	printf("%10" G_GUINT64_FORMAT, session->plan.ops[0].size);
	print_time((double)totals->trips.min / 1e3);
	for (size_t i = 0; i < G_N_ELEMENTS(parts); i++)
		print_time(tool_figures_percentile(&totals->trips, parts[i]));
	print_time((double)totals->trips.max / 1e3);
	printf(" %9.1f %10.0f\n", (double)totals->octets / 1e6 / totals->seconds,
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
	tool_json_boolean(json, "bidirectional", plan->both);
	tool_json_boolean(json, "verify", plan->verify);
	tool_json_count(json, "window", plan->window);
	tool_json_count(json, "samples", totals->trips.count);
	tool_figures_json(&totals->trips, json);
	if (plan->verify)
		tool_json_count(json, "verified_octets", totals->verified);
	tool_json_number(json, "megabytes_per_second",
			 (double)totals->octets / 1e6 / totals->seconds);
	tool_json_number(json, "messages_per_second", (double)totals->messages / totals->seconds);
}

static void
add_run(JsonBuilder *json, const struct test_plan *plan, const struct totals *totals)
{
	bool perf = plan->mode == TEST_PERFORMANCE;

	tool_json_text(json, "mode", perf ? "performance" : "transactions");
	tool_json_text(json, "wake", plan->poll ? "poll" : "sleep");
	tool_json_count(json, "threads", plan->threads);
	tool_json_count(json, "endpoints", plan->endpoints);
	if (plan->duration == 0)
		tool_json_count(json, "iterations", plan->iterations);
	else
		tool_json_number(json, "duration", (double)plan->duration / 1e6);
	add_operations(json, plan);
	tool_json_count(json, "done", totals->operations);
	tool_json_count(json, perf ? "octets" : "verified_octets", totals->octets);
	tool_json_number(json, "seconds", totals->seconds);
	if (perf)
		add_performance(json, plan, totals);
	else
		tool_json_number(json, "operations_per_second",
				 (double)totals->operations / totals->seconds);
}

void
test_report_begin(struct test_report *report, const struct test_job *job)
{
	report->sweep = job->size_count > 1;
	report->json = NULL;
	report->begun = false;
	if (!job->options.json)
		return;
	report->json = tool_json_begin("it-test");
	tool_json_text(report->json, "adapter", job->options.adapter);
	if (!report->sweep)
		return;
	json_builder_set_member_name(report->json, "runs");
	json_builder_begin_array(report->json);
}

void
test_report_run(struct test_report *report, const struct test_session *session)
{
	g_autofree struct totals *totals = g_new(struct totals, 1);

	add_up(session, totals);
	if (report->json != NULL) {
		if (report->sweep)
			json_builder_begin_object(report->json);
		add_run(report->json, &session->plan, totals);
		if (report->sweep)
			json_builder_end_object(report->json);
	} else if (session->plan.mode == TEST_TRANSACTIONS) {
		print_transactions(session, totals);
	} else {
		if (!report->begun)
			print_heading(&session->plan);
		print_performance(session, totals);
	}
	report->begun = true;
}

void
test_report_end(struct test_report *report, bool good)
{
	if (report->json == NULL)
		return;
	if (!good) { /* the failure is reported instead */
		g_object_unref(report->json);
		return;
	}
	if (report->sweep)
		json_builder_end_array(report->json);
	tool_json_boolean(report->json, "ok", true);
	tool_json_print(report->json);
}
