/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * it-replay: checks recordings of the adapter record:NAME, replays the recordings of both ends of
 * connections on any adapter, records that replay in turn, and compares two recordings.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replay_file.h"
#include "tool_error.h"
#include "tool_options.h"

#define PROGRAM "it-replay"
#define SECONDS 10

struct options {
	char *adapter;
	char *output;
	char *diff;
	int seconds;
	char **recordings;
};

static bool
check_options(const struct options *options, GError **error)
{
	if (options->recordings == NULL || *options->recordings == NULL)
		return tool_fail(error, TOOL_ERROR_USAGE, "there is no recording");
	if ((options->adapter == NULL) != (options->output == NULL))
		return tool_fail(error, TOOL_ERROR_USAGE, "--adapter and --output need each other");
	if (options->adapter != NULL && options->diff != NULL)
		return tool_fail(error, TOOL_ERROR_USAGE, "--diff is not for --adapter");
	if (options->seconds < 1 || options->seconds > 3600)
		return tool_fail(error, TOOL_ERROR_USAGE, "--timeout is 1 to 3600 seconds");
	if (options->output != NULL && access(options->output, F_OK) == 0)
		return tool_fail(error, TOOL_ERROR_USAGE, "%s exists", options->output);
	return true;
}

static bool
parse_options(struct options *options, int *argc, char ***argv, GError **error)
{
	GOptionEntry entries[] = {
		{"adapter", 'a', 0, G_OPTION_ARG_STRING, &options->adapter,
		 "Run the recordings on this adapter", "NAME"},
		{"output", 'o', 0, G_OPTION_ARG_FILENAME, &options->output,
		 "Write the recording of that run to a new file", "FILE"},
		{"diff", 'd', 0, G_OPTION_ARG_FILENAME, &options->diff,
		 "Compare the recordings with that of another run", "FILE"},
		{"timeout", 't', 0, G_OPTION_ARG_INT, &options->seconds,
		 "Seconds to wait for what the recordings say (default: 10)", "SECONDS"},
		{G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->recordings, NULL,
		 NULL},
		{NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL},
	};
	g_autoptr(GOptionContext) context = g_option_context_new("RECORDING...");

	g_option_context_set_summary(
		context,
		"Checks the recordings of one run, those of both ends of its connections together; "
		"runs them\nelsewhere; compares two runs. ITAPI_RECORD=FILE with an adapter "
		"record:NAME makes a recording.");
	g_option_context_add_main_entries(context, entries, NULL);
	return tool_parse(context, argc, argv, error) && check_options(options, error);
}

/* Where the provider is that records: by the way from the folder of this program, installed or built. */
static bool
find_recorder(GError **error)
{
	g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
	g_autofree char *bin = g_path_get_dirname(self != NULL ? self : "");
	g_autofree char *path = g_build_filename(bin, REPLAY_RECORDER_FROM_BIN, NULL);
	g_auto(GStrv) environment = g_get_environ();
	const char *old = g_environ_getenv(environment, "ITAPI_PROVIDER_PATH");
	g_autofree char *both =
		old != NULL && *old != '\0' ? g_strconcat(path, ":", old, NULL) : g_strdup(path);

	if (access(path, F_OK) != 0)
		return tool_fail(error, TOOL_ERROR_FAILED,
				 "the provider that records is not installed, in %s from " PROGRAM,
				 REPLAY_RECORDER_FROM_BIN);
	g_setenv("ITAPI_PROVIDER_PATH", both, TRUE);
	return true;
}

static bool
run_recorded(const struct options *options, struct replay_set *set, GError **error)
{
	g_autofree char *adapter = g_strconcat("record:", options->adapter, NULL);

	if (strstr(options->output, "%p") != NULL)
		return tool_fail(error, TOOL_ERROR_USAGE, "the name of --output has a %%p");
	if (!find_recorder(error))
		return false;
	g_setenv("ITAPI_RECORD", options->output, TRUE);
	if (!replay_run(set, adapter, (unsigned)options->seconds, error))
		return false;
	printf("%" G_GUINT64_FORMAT " operations of %u queue pairs were run on %s\n",
	       set->operations, set->qps->len, options->adapter);
	return true;
}

static bool
run(const struct options *options, bool *good, GError **error)
{
	struct replay_set set = {0}, other = {0};
	char *diff[2] = {options->diff, NULL};
	bool done = replay_set_read(&set, options->recordings, error);

	*good = true;
	if (done && options->adapter != NULL)
		done = run_recorded(options, &set, error);
	else if (done && options->diff != NULL)
		done = replay_set_read(&other, diff, error) &&
		       replay_compare(&set, &other, good, error);
	else if (done)
		printf("%" G_GUINT64_FORMAT " operations of %u queue pairs\n", set.operations,
		       set.qps->len);
	replay_set_free(&set);
	replay_set_free(&other);
	return done;
}

int
main(int argc, char **argv)
{
	struct options options = {.seconds = SECONDS};
	GError *error = NULL;
	bool good = false;
	int status;

	tool_begin();
	if (parse_options(&options, &argc, &argv, &error) && run(&options, &good, &error))
		status = good ? EXIT_SUCCESS : EXIT_FAILURE;
	else
		status = tool_die(PROGRAM, error);
	g_free(options.adapter);
	g_free(options.output);
	g_free(options.diff);
	g_strfreev(options.recordings);
	return status;
}
