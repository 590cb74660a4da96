/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * it-certify judges a provider and writes a report. It does not load the provider itself: each piece of work is done by
 * a program that it starts, so that a crash of the provider ends a case and not the run.
 *
 *   certify_cases     the program with the cases that call the provider's tables
 *   certify_programs  the test programs of IT-API and of the model; certify_table lists them
 *   certify_child     a process under a time limit
 *   certify_report    the result
 *   certify_model     the result as a tree of JSON; certify_text, _html and _curve make the other forms from it
 *   certify_machine   where it was made
 *   certify_compare   two reports
 */

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../cert_case.h"
#include "certify_model.h"
#include "certify_programs.h"
#include "certify_run.h"
#include "tool_options.h"
#include "tool_signal.h"

#define PROGRAM "it-certify"

#define PROGRESS_US (10 * G_USEC_PER_SEC)

struct options {
	char *provider;
	char *adapter;
	char *programs;
	char **levels;
	char **globs;
	gint64 seed;
	int repeat;
	int limit;
	double patience;
	double duration;
	gboolean list;
	gboolean rows;
	gboolean quick;
	gboolean silent;
	char *json;
	char *junit;
	char *tap;
	char *html;
};

static gboolean usage_error(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);

static gboolean
usage_error(GError **error, const char *format, ...)
{
	g_autofree char *text = NULL;
	va_list args;

	va_start(args, format);
	text = g_strdup_vprintf(format, args);
	va_end(args);
	g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED, "%s", text);
	return FALSE;
}

/* --- the choice of cases --------------------------------------------------------------------- */

bool
certify_wanted(const struct certify_run *run, const char *id, enum certify_level level,
	       unsigned flags)
{
	bool fits = run->globs == NULL;
	const char *why = NULL;

	for (char **glob = run->globs; glob != NULL && *glob != NULL; glob++)
		fits = fits || g_pattern_match_simple(*glob, id);
	if (run->levels != NULL &&
	    !g_strv_contains((const char *const *)run->levels, certify_level_name(level)))
		why = "--level chooses others";
	else if (!fits)
		why = "--case chooses others";
	else if (run->quick && run->globs == NULL && (flags & CERT_SLOW) != 0)
		why = "--quick leaves out what takes long";
	if (why != NULL)
		certify_left_add(run->report, level, why, 1);
	return why == NULL;
}

/* --- progress and outcomes ------------------------------------------------------------------- */

/* Without a terminal: a line from time to time. */
static void
progress_line(struct certify_run *run, const struct certify_case *one)
{
	gint64 now = g_get_monotonic_time();

	if (one == NULL || now < run->told_us)
		return;
	run->told_us = now + PROGRESS_US;
	fprintf(stderr, PROGRAM ": %u of %u, %s\n", run->done + 1, run->report->cases->len,
		one->id);
}

void
certify_progress(struct certify_run *run, const struct certify_case *one)
{
	if (!isatty(STDERR_FILENO)) {
		progress_line(run, one);
		return;
	}
	if (one != NULL)
		fprintf(stderr, "\r\033[K%u/%u %s", run->done + 1, run->report->cases->len,
			one->id);
	else
		fprintf(stderr, "\r\033[K");
	fflush(stderr);
}

static void
case_over(struct certify_run *run, struct certify_case *one)
{
	run->done++;
	one->runs++;
	if (one->failed == 0)
		one->seed = run->seed;
}

void
certify_case_end(struct certify_run *run, struct certify_case *one, enum certify_outcome outcome,
		 const char *reason)
{
	case_over(run, one);
	if (one->failed > 0)
		return;
	one->outcome = outcome;
	g_free(one->reason);
	one->reason = reason != NULL ? g_utf8_make_valid(reason, -1) : NULL;
}

void
certify_case_end_failed(struct certify_run *run, struct certify_case *one,
			const char *const told[4], const char *output)
{
	case_over(run, one);
	one->failed++;
	if (one->failed > 1)
		return;
	certify_case_fail(one, told[0], told[1], told[2], told[3]);
	one->output = certify_text_clean(output);
	certify_progress(run, NULL);
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "FAILED %s: expected %s, seen %s\n", one->id, one->expected,
			one->seen);
}

/* --- the run --------------------------------------------------------------------------------- */

/* The folder of it-certify-cases and of the test programs. A build folder has one with links (tools/dev/link-build.py). */
static char *
programs_folder(const struct options *options)
{
	g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
	g_autofree char *bin = g_path_get_dirname(self != NULL ? self : "");

	if (options->programs != NULL)
		return g_canonicalize_filename(options->programs, NULL);
	return g_build_filename(bin, CERTIFY_PROGRAMS_FROM_BIN, NULL);
}

/*
 * The folder of installed providers as the library finds it, by its own path. it-certify-cases is
 * not linked with the library, and would use the folder that was configured at the build. NULL: it
 * must use that one.
 */
static char *
installed_folder(void)
{
	void *known = dlsym(RTLD_DEFAULT, "it_interface_list");
	g_autofree char *folder = NULL;
	Dl_info info;

	if (getauxval(AT_SECURE) != 0 || known == NULL || dladdr(known, &info) == 0 ||
	    info.dli_fname == NULL || info.dli_fname[0] != '/')
		return NULL;
	folder = g_path_get_dirname(info.dli_fname);
	return g_build_filename(folder, CERTIFY_PROVIDER_SUBFOLDER, NULL);
}

/* The library loads what is in a folder, and before what is compiled in: a folder with this provider alone. */
static bool
provider_folder(struct certify_run *run, GError **error)
{
	g_autofree char *link = NULL;

	run->environment = g_get_environ();
	run->environment = g_environ_setenv(run->environment, "MALLOC_PERTURB_", "165", FALSE);
	if (run->provider == NULL)
		return true;
	run->folder = g_dir_make_tmp("it-certify-XXXXXX", error);
	if (run->folder == NULL)
		return false;
	link = g_build_filename(run->folder, "provider.so", NULL);
	if (symlink(run->provider, link) != 0)
		return usage_error(error, "%s: %s", link, g_strerror(errno));
	run->environment =
		g_environ_setenv(run->environment, "ITAPI_PROVIDER_PATH", run->folder, TRUE);
	return true;
}

static void
run_clear(struct certify_run *run)
{
	if (run->folder != NULL) {
		g_autofree char *link = g_build_filename(run->folder, "provider.so", NULL);

		(void)unlink(link);
		(void)rmdir(run->folder);
	}
	g_free(run->folder);
	g_free(run->adapter);
	g_strfreev(run->environment);
}

/* How a person repeats one of the cases. */
static char *
again_of(const struct certify_run *run, const struct options *options, bool here)
{
	GString *again = g_string_new(PROGRAM);

	if (run->provider != NULL) {
		g_autofree char *name = g_path_get_basename(run->provider);
		g_autofree char *safe = g_shell_quote(here ? run->provider : name);

		g_string_append_printf(again, " --provider %s", safe);
	}
	if (run->adapter != NULL)
		g_string_append_printf(again, " --adapter %s", run->adapter);
	if (here && options->programs != NULL) {
		g_autofree char *safe = g_shell_quote(run->programs);

		g_string_append_printf(again, " --programs %s", safe);
	}
	return g_string_free(again, FALSE);
}

static bool
levels_run(struct certify_run *run, GError **error)
{
	bool good = true;

	for (unsigned i = 0; i < CERTIFY_LEVELS && good; i++) {
		enum certify_level level = (enum certify_level)i;

		good = level == CERTIFY_API || level == CERTIFY_MODEL
			       ? certify_programs_run(run, level, error)
			       : certify_cases_run(run, level, error);
	}
	return good;
}

static bool
forms_write(JsonObject *model, const struct options *options, GError **error)
{
	return (options->json == NULL || certify_json_write(model, options->json, error)) &&
	       (options->junit == NULL || certify_junit_write(model, options->junit, error)) &&
	       (options->html == NULL || certify_html_write(model, options->html, error)) &&
	       (options->tap == NULL || certify_tap_write(model, options->tap, error));
}

/* Which of the cases there are run: what a report may say depends on it. */
static const char *
scope_of(const struct options *options)
{
	if (options->levels != NULL || options->globs != NULL)
		return "part";
	return options->quick ? "quick" : "whole";
}

static bool
certify_adapter(struct certify_run *run, const struct options *options, GError **error)
{
	struct certify_report *report = run->report;
	gint64 began = g_get_monotonic_time();
	bool loaded = certify_cases_profile(run, error);
	bool good = loaded || *error == NULL;

	certify_machine_tell(run);
	report->scope = scope_of(options);
	report->again = again_of(run, options, false);
	report->here = again_of(run, options, true);
	report->seed = run->seed;
	good = good && (!loaded || certify_programs_list(run, error));
	if (good && report->cases->len == 0)
		good = usage_error(error, "no case fits");
	for (int i = 0; loaded && good && i < options->repeat; i++) {
		run->seed = report->seed + (uint64_t)i;
		good = levels_run(run, error);
	}
	certify_progress(run, NULL);
	report->took = (double)(g_get_monotonic_time() - began) / G_USEC_PER_SEC;
	certify_report_settle(report);
	if (report->cases->len > 0) {
		g_autoptr(JsonNode) root = certify_model(report);
		JsonObject *model = json_node_get_object(root);

		if (!options->silent)
			certify_summary_print(model, report->again, report->here);
		good = forms_write(model, options, good ? error : NULL) && good;
	}
	return good;
}

static void
list_print(const struct certify_report *report)
{
	for (guint i = 0; i < report->cases->len; i++) {
		const struct certify_case *one = g_ptr_array_index(report->cases, i);

		printf("%-32s %s %s\n", one->id, one->title, one->rule);
	}
}

/* 0 certified, 1 not, 2 nothing was judged, 128 plus the signal. */
static int
run_with(const struct options *options, GError **error)
{
	struct certify_report report;
	g_autofree char *programs = programs_folder(options);
	g_autofree char *cases = g_build_filename(programs, "it-certify-cases", NULL);
	g_autofree char *installed = installed_folder();
	g_autofree char *provider =
		options->provider != NULL ? g_canonicalize_filename(options->provider, NULL) : NULL;
	struct certify_run run = {
		.report = &report,
		.provider = provider,
		.adapter = g_strdup(options->adapter),
		.installed = installed,
		.cases = cases,
		.programs = programs,
		.levels = options->levels,
		.globs = options->globs,
		.quick = options->quick,
		.seed = (uint64_t)options->seed,
		.patience = options->patience,
		.duration = options->duration,
		.limit = (unsigned)options->limit,
		.count = options->quick ? 100 : 300,
	};
	int status = 2;

	certify_report_init(&report);
	if (provider_folder(&run, error) && certify_cases_list(&run, error)) {
		if (options->list) {
			if (run.adapter == NULL || certify_programs_list(&run, error)) {
				list_print(&report);
				status = 0;
			}
		} else if (certify_adapter(&run, options, error)) {
			status = certify_is_good(&report) ? 0 : 1;
		}
	}
	run_clear(&run);
	certify_report_clear(&report);
	return tool_stopped() ? 128 + tool_stop_signal() : status;
}

/* --- options --------------------------------------------------------------------------------- */

static gboolean
options_check(const struct options *options, GError **error)
{
	if (options->provider == NULL && options->adapter == NULL && !options->list &&
	    !options->rows)
		return usage_error(error, "--provider or --adapter is wanted");
	for (char **level = options->levels; level != NULL && *level != NULL; level++) {
		if (certify_level_of(*level) == CERTIFY_LEVELS)
			return usage_error(error, "there is no level \"%s\"", *level);
	}
	if (options->patience <= 0 || options->duration <= 0 || options->repeat < 1 ||
	    options->limit < 1 || options->seed < 0)
		return usage_error(
			error,
			"--patience, --duration, --repeat, --limit or --seed is out of range");
	return TRUE;
}

static gboolean
options_parse(struct options *options, int *argc, char ***argv, GError **error)
{
	GOptionEntry entries[] = {
		{"provider", 0, 0, G_OPTION_ARG_FILENAME, &options->provider,
		 "Certify the provider in this shared object", "FILE"},
		{"adapter", 'a', 0, G_OPTION_ARG_STRING, &options->adapter,
		 "The adapter (default: the first of the provider)", "NAME"},
		{"level", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options->levels,
		 "border, verbs, api, model, endurance or figures only", "LEVEL"},
		{"case", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options->globs,
		 "Only cases whose ids fit; may be repeated", "GLOB"},
		{"list", 0, 0, G_OPTION_ARG_NONE, &options->list,
		 "Print the cases; those of api with --adapter", NULL},
		{"quick", 0, 0, G_OPTION_ARG_NONE, &options->quick,
		 "Leave out what takes long: two minutes at most", NULL},
		{"seed", 0, 0, G_OPTION_ARG_INT64, &options->seed,
		 "Of all random numbers (default: a random one)", "N"},
		{"repeat", 0, 0, G_OPTION_ARG_INT, &options->repeat,
		 "Run everything so many times, with seeds that follow", "N"},
		{"duration", 0, 0, G_OPTION_ARG_DOUBLE, &options->duration,
		 "Of each case of endurance (default: 20, quick: 1)", "SECONDS"},
		{"patience", 0, 0, G_OPTION_ARG_DOUBLE, &options->patience,
		 "How long a case waits for what must come (default: 60)", "SECONDS"},
		{"limit", 0, 0, G_OPTION_ARG_INT, &options->limit,
		 "End a case after this time (default: 120)", "SECONDS"},
		{"json", 0, 0, G_OPTION_ARG_FILENAME, &options->json,
		 "Write the report as JSON (- is stdout)", "FILE"},
		{"junit", 0, 0, G_OPTION_ARG_FILENAME, &options->junit, "Write it as JUnit",
		 "FILE"},
		{"tap", 0, 0, G_OPTION_ARG_FILENAME, &options->tap, "Write it as TAP", "FILE"},
		{"html", 0, 0, G_OPTION_ARG_FILENAME, &options->html,
		 "Write it as a page that needs no other file", "FILE"},
		{"silent", 0, 0, G_OPTION_ARG_NONE, &options->silent, "Print no summary", NULL},
		{"programs", 0, 0, G_OPTION_ARG_FILENAME, &options->programs,
		 "The folder of the test programs (default: installed)", "FOLDER"},
		{"claims", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_NONE, &options->rows,
		 "Print the test programs, and the claims that tests of them settle", NULL},
		{NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL},
	};
	g_autoptr(GOptionContext) context =
		g_option_context_new("- certifies a provider\n  " PROGRAM
				     " compare A.json B.json - tells two reports apart\n  " PROGRAM
				     " page A.json A.html - writes the page of a report");

	g_option_context_add_main_entries(context, entries, NULL);
	if (!tool_parse(context, argc, argv, error))
		return FALSE;
	if (*argc > 1)
		return usage_error(error, "'%s' is too much", (*argv)[1]);
	if (options->duration < 0)
		options->duration = options->quick ? 1 : 20;
	return options_check(options, error);
}

static void
options_free(struct options *options)
{
	g_free(options->provider);
	g_free(options->adapter);
	g_free(options->programs);
	g_strfreev(options->levels);
	g_strfreev(options->globs);
	g_free(options->json);
	g_free(options->junit);
	g_free(options->tap);
	g_free(options->html);
}

static int
rows_print(void)
{
	for (const struct certify_program *at = certify_programs; at->name != NULL; at++)
		printf("program %s\n", at->name);
	for (const struct certify_text *at = certify_settling; at->name != NULL; at++)
		printf("%s %s\n", at->name, at->text);
	printf("model %s\n", certify_model_settles);
	return 0;
}

int
main(int argc, char **argv)
{
	struct options options = {.seed = g_random_int_range(1, G_MAXINT32),
				  .repeat = 1,
				  .limit = 120,
				  .patience = 60,
				  .duration = -1};
	g_autoptr(GError) error = NULL;
	int status = 2;

	tool_begin();
	if (argc == 4 && strcmp(argv[1], "compare") == 0)
		return certify_compare(argv[2], argv[3]);
	if (argc == 4 && strcmp(argv[1], "page") == 0)
		return certify_page(argv[2], argv[3]);
	if (options_parse(&options, &argc, &argv, &error))
		status = options.rows ? rows_print() : run_with(&options, &error);
	if (error != NULL)
		fprintf(stderr, PROGRAM ": %s\n", error->message);
	options_free(&options);
	return status;
}
