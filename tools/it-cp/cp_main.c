/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * it-cp: copies a file to or from another process by RDMA.
 *
 * The server serves a folder, and no path of a client leads out of it (cp_file.c). The side that
 * has the file writes it by RDMA into a ring of the other side (cp_copy.c, cp_letter.h). The other
 * side verifies a checksum and only then gives the file its name.
 */

#include <unistd.h>

#include "cp_sides.h"
#include "tool_error.h"

#define PROGRAM      "it-cp"
#define DEFAULT_PORT 18516

static const char summary[] = "Copies a file to or from the folder that a server serves:\n"
			      "  it-cp --serve FOLDER\n"
			      "  it-cp FILE HOST:PATH\n"
			      "  it-cp HOST:PATH FILE\n"
			      "  it-cp --self --serve FOLDER FILE :PATH";

static bool
pick_side(struct cp_job *job, int argc, char **argv, GError **error)
{
	bool server = job->folder != NULL && !job->options.self;
	int wanted = server ? 1 : 3;

	if (job->options.self && job->folder == NULL)
		return tool_fail(error, TOOL_ERROR_USAGE, "--self needs --serve FOLDER too");
	if (argc > wanted)
		return tool_fail(error, TOOL_ERROR_USAGE, "'%s' is too much", argv[wanted]);
	if (argc < wanted)
		return tool_fail(error, TOOL_ERROR_USAGE,
				 "say what to copy and where, or --serve FOLDER");
	if (server)
		return true;
	job->source = argv[1];
	job->target = argv[2];
	return cp_job_sort(job, error);
}

static bool
parse_options(struct cp_job *job, int *argc, char ***argv, GError **error)
{
	g_autofree char *sum = NULL;
	GOptionEntry entries[] = {
		{"serve", 's', 0, G_OPTION_ARG_FILENAME, &job->folder,
		 "Serve the files of this folder", "FOLDER"},
		{"checksum", 'c', 0, G_OPTION_ARG_STRING, &sum, "xxh3 (default), crc32c or sha256",
		 "NAME"},
		{"quiet", 'q', 0, G_OPTION_ARG_NONE, &job->quiet, "Print errors only", NULL},
		{"progress", 0, 0, G_OPTION_ARG_NONE, &job->progress,
		 "Show the progress even if the output is not a terminal", NULL},
		{NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL},
	};
	g_autoptr(GOptionContext) context =
		g_option_context_new("[SOURCE TARGET] - copies a file by RDMA");

	g_option_context_set_summary(context, summary);
	tool_options_add(&job->options, context, DEFAULT_PORT);
	g_option_context_add_main_entries(context, entries, NULL);
	if (!tool_options_parse(&job->options, context, argc, argv, error) ||
	    !(cp_sum_pick(&job->kind, sum) ||
	      tool_fail(error, TOOL_ERROR_USAGE, "'%s' is not a checksum: xxh3, crc32c or sha256",
			sum)))
		return false;
	job->progress = job->progress || isatty(STDERR_FILENO);
	return pick_side(job, *argc, *argv, error);
}

int
main(int argc, char **argv)
{
	struct cp_job job = {0};
	struct tool_sides sides = {.arg = &job, .server = cp_server, .client = cp_client};
	GError *error = NULL;
	bool good;
	int status;

	tool_begin();
	good = parse_options(&job, &argc, &argv, &error);
	if (good && job.options.self)
		good = tool_self_run(&sides, &error);
	else if (good && job.folder != NULL)
		good = cp_server(&job, NULL, &error);
	else if (good)
		good = cp_client(&job, job.options.port, &error);
	status = tool_end(PROGRAM, &job.options, good, error);
	cp_job_clear(&job);
	return status;
}
