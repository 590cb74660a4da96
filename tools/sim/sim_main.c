/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * it-sim: runs the programs of a scenario in one process with virtual time, once for each seed. The
 * seed chooses which thread runs when, so the same seed always gives the same run.
 */
#include <errno.h>
#include <locale.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kal_host_use.h"
#include "sim/sim.h"
#include "sim/sim_real.h"
#include "sim/sim_sweep.h"
#include "tool_error.h"
#include "tool_json.h"
#include "tool_options.h"
#include "tool_output.h"

#define PROGRAM    "it-sim"
#define JOBS_MAX   256
#define SEEDS_MAX  UINT64_C(10000000)
#define PATIENCE   30 /* s of a processor */
#define STEPS_MAX  UINT64_C(2000000)
#define SEEDS_LAST 100 /* without an option: from 1 to this */

struct options {
	struct sim_sweep_options sweep;
	char *seed, *seeds, *junit, *pcap;
	gint jobs, patience;
	gboolean twice, trace, output, json, shrink;
};

/* One number, all of the text. */
static bool
read_seed(const char *text, uint64_t *seed)
{
	return g_ascii_string_to_unsigned(text, 10, 0, G_MAXUINT64 - 1, seed, NULL);
}

static bool
read_seeds(struct options *options, GError **error)
{
	struct sim_sweep_options *sweep = &options->sweep;
	g_auto(GStrv) ends = NULL;

	sweep->first = 1;
	sweep->last = SEEDS_LAST;
	if (options->seed != NULL && options->seeds != NULL)
		return tool_fail(error, TOOL_ERROR_USAGE, "--seed or --seeds, not both");
	if (options->seed != NULL) {
		if (!read_seed(options->seed, &sweep->first))
			return tool_fail(error, TOOL_ERROR_USAGE,
					 "--seed: '%s' is not a number below 18446744073709551615",
					 options->seed);
		sweep->last = sweep->first;
		return true;
	}
	if (options->seeds == NULL)
		return true;
	ends = g_strsplit(options->seeds, "..", 2);
	if (g_strv_length(ends) != 2 || !read_seed(ends[0], &sweep->first) ||
	    !read_seed(ends[1], &sweep->last) || sweep->first > sweep->last ||
	    sweep->last - sweep->first >= SEEDS_MAX)
		return tool_fail(error, TOOL_ERROR_USAGE,
				 "--seeds: '%s' is not like 1..10000, of at most %" G_GUINT64_FORMAT
				 " seeds",
				 options->seeds, SEEDS_MAX);
	return true;
}

static bool
check_options(struct options *options, int argc, char **argv, GError **error)
{
	if (argc != 2)
		return tool_fail(error, TOOL_ERROR_USAGE,
				 argc < 2 ? "which scenario? None is given" : "'%s' is too much",
				 argc < 2 ? "" : argv[2]);
	if (options->jobs < 1 || options->jobs > JOBS_MAX)
		return tool_fail(error, TOOL_ERROR_USAGE, "--jobs: between 1 and %d", JOBS_MAX);
	if (options->patience < 1 || options->patience > 86400)
		return tool_fail(error, TOOL_ERROR_USAGE,
				 "--patience: between 1 and 86400 seconds");
	options->sweep.path = argv[1];
	options->sweep.jobs = (unsigned)options->jobs;
	options->sweep.patience = (unsigned)options->patience;
	options->sweep.steps_max = STEPS_MAX;
	options->sweep.twice = options->twice;
	options->sweep.trace = options->trace;
	if (!read_seeds(options, error))
		return false;
	options->sweep.output = options->output || (options->seed != NULL && !options->json);
	if (options->trace && options->seed == NULL)
		return tool_fail(error, TOOL_ERROR_USAGE, "--trace is for one --seed");
	if (options->pcap != NULL && options->seed == NULL)
		return tool_fail(error, TOOL_ERROR_USAGE, "--pcap is for one --seed");
	if (options->pcap != NULL && mkdir(options->pcap, 0700) != 0 && errno != EEXIST)
		return tool_fail(error, TOOL_ERROR_USAGE, "--pcap: %s: %s", options->pcap,
				 g_strerror(errno));
	if (options->pcap != NULL) /* nodes may change their folder */
		options->sweep.pcap = g_canonicalize_filename(options->pcap, NULL);
	if (options->shrink && (options->seed == NULL || options->trace || options->twice ||
				options->json || options->junit != NULL))
		return tool_fail(
			error, TOOL_ERROR_USAGE,
			"--shrink is for one --seed, without --trace, --twice, --json and --junit");
	if (options->json && (options->trace || options->output))
		return tool_fail(error, TOOL_ERROR_USAGE, "--json is not for --trace and --output");
	return true;
}

/* "-j2", as of make and ninja: GLib wants a space there. The words are as long-lived as the others. */
static void
jobs_apart(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strncmp(argv[i], "-j", 2) == 0 && g_ascii_isdigit(argv[i][2]))
			argv[i] = g_strconcat("--jobs=", argv[i] + 2, NULL);
}

static bool
parse_options(struct options *options, int *argc, char ***argv, GError **error)
{
	GOptionEntry entries[] = {
		{"seeds", 0, 0, G_OPTION_ARG_STRING, &options->seeds,
		 "Seeds to run (default: 1..100)", "A..B"},
		{"seed", 0, 0, G_OPTION_ARG_STRING, &options->seed,
		 "One seed, with what the nodes write", "N"},
		{"jobs", 'j', 0, G_OPTION_ARG_INT, &options->jobs,
		 "Seeds at the same time (default: 1)", "N"},
		{"trace", 0, 0, G_OPTION_ARG_NONE, &options->trace, "Print each step of the seed",
		 NULL},
		{"pcap", 0, 0, G_OPTION_ARG_FILENAME, &options->pcap,
		 "Write what each node sends and receives to FOLDER, for Wireshark", "FOLDER"},
		{"twice", 0, 0, G_OPTION_ARG_NONE, &options->twice,
		 "Run each seed twice, and compare", NULL},
		{"shrink", 0, 0, G_OPTION_ARG_NONE, &options->shrink,
		 "Print a smaller scenario that fails for the seed, too", NULL},
		{"output", 0, 0, G_OPTION_ARG_NONE, &options->output, "Print what the nodes write",
		 NULL},
		{"patience", 0, 0, G_OPTION_ARG_INT, &options->patience,
		 "Seconds of a processor for a seed (default: 30)", "SECONDS"},
		{"json", 0, 0, G_OPTION_ARG_NONE, &options->json, "Print the result for programs",
		 NULL},
		{"junit", 0, 0, G_OPTION_ARG_FILENAME, &options->junit,
		 "Write the result as XML for CI systems, too", "FILE"},
		{NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL},
	};
	g_autoptr(GOptionContext) context = g_option_context_new("SCENARIO");

	g_option_context_set_summary(
		context,
		"Runs programs of IT-API in a simulation: several nodes in one process, with "
		"virtual time.\n"
		"A seed decides which thread runs when, so a seed that fails, fails again.");
	g_option_context_add_main_entries(context, entries, NULL);
	jobs_apart(*argc, *argv);
	return tool_parse(context, argc, argv, error) &&
	       check_options(options, *argc, *argv, error);
}

/* Addresses that programs see are equal in each run, where the system allows that. */
static void
fix_addresses(char **argv)
{
	int now = personality(0xffffffff);
	/* By its name, since under a tool such as valgrind the link itself leads to the tool. */
	g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);

	if (now < 0 || (now & ADDR_NO_RANDOMIZE) != 0)
		return;
	if (personality((unsigned long)now | ADDR_NO_RANDOMIZE) < 0 ||
	    (personality(0xffffffff) & ADDR_NO_RANDOMIZE) == 0)
		return;
	if (self != NULL)
		(void)SIM_REAL(execv)(self, argv);
}

/* A run depends on the scenario and the seed, not on the environment. */
static void
forget_settings(void)
{
	g_auto(GStrv) names = g_listenv();

	for (char **name = names; *name != NULL; name++)
		if (g_str_has_prefix(*name, "ITAPI_") && strcmp(*name, "ITAPI_PROVIDER_PATH") != 0)
			g_unsetenv(*name);
	g_setenv("ITAPI_SPIN_US", "0", TRUE);
}

/* Providers are loaded once, before the first process is made. */
static void
load_providers(void)
{
	size_t filled = 0, total = 0;

	sim_host_prepare();
	itapi_host_use(&sim_host);
	it_interface_list(NULL, &filled, &total);
	itapi_host_use(NULL);
}

/* Print the smaller scenario, which is a file for it-sim, and about it to stderr. */
static bool
shrink(struct sim_scenario *scenario, const struct options *options, bool *good, GError **error)
{
	struct sim_shrunk shrunk;

	if (!sim_shrink(scenario, &options->sweep, &shrunk, error))
		return false;
	*good = shrunk.kind == NULL;
	if (*good)
		(void)fprintf(stderr, "it-sim: seed %" G_GUINT64_FORMAT " is good\n",
			      options->sweep.first);
	else
		printf("# %u of %u statements are left after %" G_GUINT64_FORMAT
		       " runs; fails with --seed %" G_GUINT64_FORMAT ": %s\n%s",
		       shrunk.after, shrunk.before, shrunk.runs, options->sweep.first, shrunk.kind,
		       shrunk.text);
	sim_shrunk_clear(&shrunk);
	return true;
}

static bool
run(const struct options *options, bool *good, GError **error)
{
	struct sim_scenario *scenario = sim_scenario_read(options->sweep.path, error);
	struct sim_sweep sweep;
	bool done;

	if (scenario == NULL)
		return false;
	load_providers();
	if (!sim_nodes_check(scenario, error) ||
	    !sim_doors_check(scenario, options->sweep.path, error) ||
	    !sim_verbs_prepare(scenario, error)) {
		sim_scenario_free(scenario);
		return false;
	}
	if (options->shrink) {
		done = shrink(scenario, options, good, error);
		sim_scenario_free(scenario);
		return done;
	}
	done = sim_sweep_run(scenario, &options->sweep, &sweep, error);
	if (done && options->json)
		sim_report_json(&options->sweep, &sweep);
	else if (done)
		sim_report_print(&options->sweep, &sweep);
	if (done && options->junit != NULL)
		done = sim_report_junit(&options->sweep, &sweep, options->junit, error);
	*good = sweep.failures->len == 0;
	sim_sweep_clear(&sweep);
	sim_scenario_free(scenario);
	return done;
}

int
main(int argc, char **argv)
{
	struct options options = {.jobs = 1, .patience = PATIENCE};
	GError *error = NULL;
	bool good = false;

	tool_output_watch();
	fix_addresses(argv);
	setlocale(LC_ALL, "");
	forget_settings();
	if (parse_options(&options, &argc, &argv, &error) && run(&options, &good, &error))
		return good ? 0 : 1;
	return tool_die(PROGRAM, error);
}
