/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * it-test: transactions in which every octet is verified, and performance of one operation.
 *
 * The side without a host serves. The client sends it the plan (test_plan.c) over a control
 * connection (test_session.c, test_client.c, test_server.c); then each thread runs its lanes
 * (test_lane.c) through the transactions (test_transaction.c) or one lane through the measurement
 * (test_perf.c), and each side reports to the other how it ended.
 */

#include "test_session.h"
#include "tool_error.h"

#define PROGRAM            "it-test"
#define DEFAULT_PORT       18515
#define DEFAULT_ITERATIONS "1000"
#define DEFAULT_SIZE       "64"
#define DEFAULT_WINDOW     "16"
#define WARMUP_MAX         100

static const char summary[] =
	"The side without HOST is the server; it learns everything from the client.\n"
	"Transactions (every octet verified), as many operations as you like:\n"
	"  it-test HOST client|server SR|RR|RW [SIZE [SEGMENTS]] ...\n"
	"Performance of one operation:\n"
	"  it-test --perf write|read|send [--size 1-1m] [--duration 2s] [--verify] HOST\n"
	"Both sides in one process: --self instead of HOST.";

/* The options as typed. */
struct typed {
	char *perf;
	char *iterations;
	char *threads;
	char *endpoints;
	char *size;
	char *window;
	char *duration;
	gboolean both;
	gboolean verify;
	gboolean poll;
	gboolean sleep;
};

static bool
read_number(const char *typed, const char *otherwise, uint64_t high, uint64_t *value,
	    GError **error)
{
	return tool_number(typed != NULL ? typed : otherwise, 1, high, value, error);
}

static bool
plan_numbers(struct test_plan *plan, const struct typed *typed, GError **error)
{
	if (typed->poll && typed->sleep)
		return tool_fail(error, TOOL_ERROR_USAGE, "either --poll or --sleep");
	return read_number(typed->iterations, DEFAULT_ITERATIONS, TEST_ITERATIONS_MAX,
			   &plan->iterations, error) &&
	       read_number(typed->threads, "1", TEST_LANES_MAX, &plan->threads, error) &&
	       read_number(typed->endpoints, "1", TEST_LANES_MAX, &plan->endpoints, error) &&
	       read_number(typed->window, DEFAULT_WINDOW, TEST_WINDOW_MAX, &plan->window, error);
}

static bool
plan_performance(struct test_job *job, const struct typed *typed, char **words, GError **error)
{
	const char *size = typed->size != NULL ? typed->size : DEFAULT_SIZE;
	struct test_plan *plan = &job->plan;

	if (*words != NULL)
		return tool_fail(error, TOOL_ERROR_USAGE, "'%s' is too much beside --perf", *words);
	if (typed->duration != NULL && typed->iterations != NULL)
		return tool_fail(error, TOOL_ERROR_USAGE, "either --count or --duration");
	plan->mode = TEST_PERFORMANCE;
	plan->poll = !typed->sleep;
	plan->both = typed->both;
	plan->verify = typed->verify;
	plan->warmup = MIN(plan->iterations / 10, WARMUP_MAX);
	plan->op_count = 1;
	plan->ops[0].segments = 1;
	if ((typed->duration != NULL && !tool_duration(typed->duration, &plan->duration, error)) ||
	    !test_plan_kind(typed->perf, &plan->ops[0].kind, error) ||
	    !test_plan_sizes(size, job->sizes, &job->size_count, error))
		return false;
	plan->ops[0].size = job->sizes[0];
	return true;
}

static bool
plan_transactions(struct test_plan *plan, const struct typed *typed, char **words, GError **error)
{
	static char *all[] = {"client", "SR",     "server", "SR",     "client", "RW", "server",
			      "RW",     "client", "RR",     "server", "RR",     NULL};

	plan->mode = TEST_TRANSACTIONS;
	plan->poll = typed->poll;
	if (typed->size != NULL || typed->window != NULL || typed->duration != NULL ||
	    typed->both || typed->verify)
		return tool_fail(error, TOOL_ERROR_USAGE,
				 "--size, --window, --duration, --bidirectional and --verify "
				 "belong to --perf; say: client SR SIZE");
	return test_plan_words(plan, *words != NULL ? words : all, error);
}

static bool
make_plan(struct test_job *job, const struct typed *typed, char **words, GError **error)
{
	struct test_plan *plan = &job->plan;

	job->size_count = 1;
	if (!job->options.self && *words != NULL)
		job->host = *words++;
	if (job->host == NULL && !job->options.self) {
		if (typed->perf != NULL)
			return tool_fail(error, TOOL_ERROR_USAGE, "--perf belongs to the client");
		return true; /* the server gets the plan */
	}
	return plan_numbers(plan, typed, error) &&
	       (typed->perf != NULL ? plan_performance(job, typed, words, error)
				    : plan_transactions(plan, typed, words, error)) &&
	       test_plan_check(plan, error);
}

static void
typed_clear(struct typed *typed)
{
	g_free(typed->perf);
	g_free(typed->iterations);
	g_free(typed->threads);
	g_free(typed->endpoints);
	g_free(typed->size);
	g_free(typed->window);
	g_free(typed->duration);
}

static bool
parse_options(struct test_job *job, int *argc, char ***argv, GError **error)
{
	struct typed typed = {0};
	GOptionEntry entries[] = {
		{"perf", 'o', 0, G_OPTION_ARG_STRING, &typed.perf, "Measure write, read or send",
		 "OPERATION"},
		{"count", 'C', 0, G_OPTION_ARG_STRING, &typed.iterations,
		 "Iterations (default: " DEFAULT_ITERATIONS ")", "N"},
		{"duration", 'D', 0, G_OPTION_ARG_STRING, &typed.duration,
		 "--perf: time of each phase, such as 500ms, 10s, 2m", "TIME"},
		{"threads", 't', 0, G_OPTION_ARG_STRING, &typed.threads, "Threads (default: 1)",
		 "N"},
		{"endpoints", 'e', 0, G_OPTION_ARG_STRING, &typed.endpoints,
		 "Connections of each thread (default: 1)", "N"},
		{"size", 'S', 0, G_OPTION_ARG_STRING, &typed.size,
		 "--perf: octets; 1,64,4k or 1-1m: runs (default: " DEFAULT_SIZE ")", "N"},
		{"window", 'W', 0, G_OPTION_ARG_STRING, &typed.window,
		 "--perf: requests outstanding (default: " DEFAULT_WINDOW ")", "N"},
		{"bidirectional", 'b', 0, G_OPTION_ARG_NONE, &typed.both,
		 "--perf: both sides send at once (default: the client)", NULL},
		{"verify", 0, 0, G_OPTION_ARG_NONE, &typed.verify,
		 "--perf: check the data, which takes time", NULL},
		{"poll", 0, 0, G_OPTION_ARG_NONE, &typed.poll,
		 "Poll for completions (default of --perf)", NULL},
		{"sleep", 0, 0, G_OPTION_ARG_NONE, &typed.sleep,
		 "Sleep for completions (default of transactions)", NULL},
		{NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL},
	};
	g_autoptr(GOptionContext) context =
		g_option_context_new("[HOST [OPERATIONS]] - tests and measures RDMA");
	bool good;

	g_option_context_set_summary(context, summary);
	tool_options_add(&job->options, context, DEFAULT_PORT);
	tool_options_add_memory(&job->options, context);
	g_option_context_add_main_entries(context, entries, NULL);
	good = tool_options_parse(&job->options, context, argc, argv, error) &&
	       make_plan(job, &typed, *argv + 1, error);
	typed_clear(&typed);
	return good;
}

int
main(int argc, char **argv)
{
	struct test_job job = {0};
	struct tool_sides sides = {.arg = &job, .server = test_server, .client = test_client};
	GError *error = NULL;
	bool good;

	tool_begin();
	good = parse_options(&job, &argc, &argv, &error);
	if (good && job.options.self)
		good = tool_self_run(&sides, &error);
	else if (good && job.host != NULL)
		good = test_client(&job, job.options.port, &error);
	else if (good)
		good = test_server(&job, NULL, &error);
	return tool_end(PROGRAM, &job.options, good, error);
}
