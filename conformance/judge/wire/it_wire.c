/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * it-wire judges an iWARP peer: it plays cases from scripts over plain TCP, with correct and deliberately wrong
 * frames, and compares the peer's answers with the RFCs. A helper beside the stack under test makes that stack do what
 * the cases need (wire_peer.h).
 *
 *   wire_script   cases from files           wire_run     one case; the good connection beside it
 *   wire_conn     TCP, and its record        wire_start   the MPA start-up
 *   wire_frame    FPDUs                      wire_send    FPDUs of any form
 *   wire_marker   MPA markers                wire_own     a helper that a case may kill
 *   wire_peer     questions to the helper    wire_expect  what must come
 *   wire_report   TAP, JSON, HTML            wire_ask     what the peer's user must see
 *   wire_capture  pcapng
 */

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include <gio/gio.h>

#include "tool_output.h"
#include "wire_capture.h"
#include "wire_report.h"
#include "wire_run.h"

#define PROGRAM "it-wire"

#define ANSWER_FACTOR \
	6 /* of the patience, for an answer of the helper, which waits itself in some questions */

struct options {
	char *peer;
	char *start;
	char *cases;
	char *vectors;
	char *after;
	char *accept;
	char **globs;
	char *role;
	char *deviations;
	char *json;
	char *html;
	char *captures;
	double patience;
	int settle_ms;
	int longer;
	gboolean markers;
	gboolean list;
	gboolean stop;
	gboolean version;
};

/* A folder that was installed with the program. */
static char *
data_folder(const char *name)
{
	g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
	g_autofree char *bin = g_path_get_dirname(self != NULL ? self : "");

	return g_build_filename(bin, WIRE_DATA_FROM_BIN, name, NULL);
}

static int
name_compare(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int
is_script(const struct dirent *entry)
{
	return g_str_has_suffix(entry->d_name, ".wire");
}

/* A script, or all scripts of a folder in the order of their names. */
static gboolean
cases_load(const char *path, GPtrArray *cases, GError **error)
{
	struct dirent **entries = NULL;
	gboolean good = TRUE;
	int count;

	if (!g_file_test(path, G_FILE_TEST_IS_DIR))
		return wire_script_load(path, cases, error);
	count = scandir(path, &entries, is_script, name_compare);
	if (count <= 0)
		good = wire_fail(error, WIRE_ERROR_SCRIPT, "%s has no scripts", path);
	for (int i = 0; i < count; i++) {
		g_autofree char *file = g_build_filename(path, entries[i]->d_name, NULL);

		good = good && wire_script_load(file, cases, error);
		g_free(entries[i]);
	}
	g_free(entries);
	return good;
}

static void
list_print(const GPtrArray *cases)
{
	for (guint i = 0; i < cases->len; i++) {
		const struct wire_case *one = g_ptr_array_index(cases, i);

		printf("%-48s %s (%s)\n", one->id, one->title, one->clause);
	}
}

/* What the peer lacks for a case, or NULL. It is able to do what the helper says, and what the wire has shown. */
static const char *
lack_of(const struct wire_session *session, const struct wire_case *one)
{
	const char *able = wire_word_value(wire_peer_hello(session->peer), "able");
	g_auto(GStrv) abilities = g_strsplit(able != NULL ? able : "", ",", -1);
	g_auto(GStrv) needs = g_strsplit(one->needs != NULL ? one->needs : "", " ", -1);

	for (char **need = needs; *need != NULL; need++) {
		if (!g_strv_contains((const char *const *)abilities, *need) &&
		    !g_hash_table_contains(session->able, *need))
			return one->needs;
	}
	return NULL;
}

/* Write the capture of a failure; gives its path. */
static char *
capture_write(const struct options *options, const struct wire_case *one, const GPtrArray *conns,
	      const char *text)
{
	g_autofree char *name = g_strdelimit(g_strconcat(one->id, ".pcapng", NULL), "/", '.');
	g_autofree char *comment =
		g_strdup_printf("%s: %s (%s): %s", one->id, one->title, one->clause, text);
	g_autofree char *path = NULL;
	g_autoptr(GError) error = NULL;

	if (options->captures == NULL)
		return NULL;
	path = g_build_filename(options->captures, name, NULL);
	if (g_mkdir_with_parents(options->captures, 0777) == 0 &&
	    wire_capture_write(path, conns, comment, &error))
		return g_steal_pointer(&path);
	fprintf(stderr, PROGRAM ": %s\n", error != NULL ? error->message : path);
	return NULL;
}

static void
conn_free(gpointer data)
{
	wire_conn_free(data);
}

/* Play one case. A peer that has stopped to listen, since the case before, is told to begin again. */
static gboolean
case_play(struct wire_session *session, const struct wire_case *one, GPtrArray *conns,
	  GError **error)
{
	g_autoptr(GError) why = NULL;

	if (wire_case_run(session, one, conns, &why) && wire_session_check(session, &why))
		return TRUE;
	if (!g_error_matches(why, G_IO_ERROR, G_IO_ERROR_CONNECTION_REFUSED) ||
	    !wire_peer_listen(session->peer, NULL)) {
		g_propagate_error(error, g_steal_pointer(&why));
		return FALSE;
	}
	printf("# the peer listens no more; it is told to\n");
	g_ptr_array_set_size(conns, 0);
	return wire_case_run(session, one, conns, error) && wire_session_check(session, error);
}

/* Run one case and report it. FALSE: the session cannot go on. */
static gboolean
case_judge(const struct options *options, struct wire_session *session, struct wire_report *report,
	   const struct wire_case *one, GError **error)
{
	g_autoptr(GPtrArray) conns = g_ptr_array_new_with_free_func(conn_free);
	struct wire_result result = {.one = one};
	const char *lack = lack_of(session, one);
	const char *reason = wire_report_reason(report, one->id);
	gint64 began = g_get_monotonic_time();
	g_autoptr(GError) why = NULL;
	gboolean good;

	if (lack != NULL) {
		result.outcome = WIRE_SKIPPED;
		result.text = g_strdup_printf("the peer lacks one of: %s", lack);
		wire_report_add(report, &result);
		return TRUE;
	}
	good = case_play(session, one, conns, &why);
	result.us = g_get_monotonic_time() - began;
	if (good) {
		result.outcome = reason != NULL ? WIRE_MENDED : WIRE_PASSED;
	} else {
		result.outcome = reason != NULL ? WIRE_DEVIATION : WIRE_FAILED;
		result.text = g_strdup(why->message);
		result.capture = capture_write(options, one, conns, why->message);
		report->lost =
			report->lost || (options->captures != NULL && result.capture == NULL);
	}
	wire_report_add(report, &result);
	if (wire_peer_is_lost(session->peer))
		return wire_fail(error, WIRE_ERROR_PEER, "the helper is gone or does not answer");
	if (good || wire_session_check(session, NULL))
		return TRUE;
	/* The neighbour is gone, too: the session begins anew. */
	wire_session_close(session);
	return wire_session_open(session, error);
}

/* Remove the cases that the command line does not want: those up to --after, of another role, or of other ids. */
static void
cases_choose(const struct options *options, GPtrArray *cases)
{
	guint first = 0;

	for (guint i = 0; options->after != NULL && i < cases->len && first == 0; i++) {
		const struct wire_case *one = g_ptr_array_index(cases, i);

		first = strcmp(one->id, options->after) == 0 ? i + 1 : 0;
	}
	g_ptr_array_remove_range(cases, 0, first);
	for (guint i = cases->len; i-- > 0;) {
		const struct wire_case *one = g_ptr_array_index(cases, i);
		gboolean fits = options->globs == NULL;

		for (char **glob = options->globs; glob != NULL && *glob != NULL; glob++)
			fits = fits || g_pattern_match_simple(*glob, one->id);
		if (options->role != NULL &&
		    (strcmp(options->role, "client") == 0) != one->as_client)
			fits = FALSE;
		if (!fits)
			g_ptr_array_remove_index(cases, i);
	}
}

/* The status of the program. */
static int
run_judge(const struct options *options, GPtrArray *cases, GError **error)
{
	struct wire_session session = {.listener = -1};
	struct wire_report report = {0};
	gboolean good = options->deviations == NULL ||
			wire_report_deviations(&report, options->deviations, error);

	session.patience_us = (gint64)(options->patience * G_USEC_PER_SEC);
	session.settle_us = (gint64)options->settle_ms * 1000;
	session.vectors = options->vectors;
	session.siw_terminate = options->accept != NULL;
	session.markers = options->markers;
	session.longer = (guint)options->longer;
	if (good)
		session.peer = wire_peer_open(options->peer, options->start, error);
	if (session.peer == NULL) {
		wire_report_free(&report);
		return 1;
	}
	wire_peer_patience(session.peer, (int)(options->patience * 1000 * ANSWER_FACTOR));
	wire_report_begin(&report, wire_peer_hello(session.peer), cases->len);
	good = wire_session_open(&session, error);
	for (guint i = 0; good && i < cases->len; i++) {
		good = case_judge(options, &session, &report, g_ptr_array_index(cases, i), error);
		if (good && options->stop && report.counts[WIRE_FAILED] > 0) {
			printf("Bail out! stopped after the first failure\n");
			break;
		}
	}
	if (!good && error != NULL && *error != NULL)
		printf("Bail out! %s\n", (*error)->message);
	wire_report_end(&report);
	if ((options->json != NULL &&
	     !wire_report_json(&report, options->json, good ? error : NULL)) ||
	    (options->html != NULL &&
	     !wire_report_html(&report, options->html, good ? error : NULL)))
		good = FALSE;
	good = good && report.counts[WIRE_FAILED] == 0 && !report.lost;
	wire_session_close(&session);
	wire_peer_close(session.peer);
	wire_report_free(&report);
	return good ? 0 : 1;
}

static gboolean
options_parse(struct options *options, int *argc, char ***argv, GError **error)
{
	GOptionEntry entries[] = {
		{"peer", 'p', 0, G_OPTION_ARG_STRING, &options->peer,
		 "The control connection of a helper that runs", "HOST:PORT"},
		{"start", 's', 0, G_OPTION_ARG_STRING, &options->start,
		 "Start this helper, and let it end with the run", "COMMAND"},
		{"cases", 0, 0, G_OPTION_ARG_FILENAME, &options->cases,
		 "A script, or a folder of scripts (default: all)", "PATH"},
		{"vectors", 0, 0, G_OPTION_ARG_FILENAME, &options->vectors,
		 "The folder of negative.json (default: installed)", "FOLDER"},
		{"case", 'c', 0, G_OPTION_ARG_STRING_ARRAY, &options->globs,
		 "Only cases whose ids fit; may be given again", "GLOB"},
		{"role", 'r', 0, G_OPTION_ARG_STRING, &options->role,
		 "Only cases where it-wire is client, or server", "ROLE"},
		{"after", 0, 0, G_OPTION_ARG_STRING, &options->after,
		 "Only the cases behind this one, as --list has them", "ID"},
		{"accept", 0, 0, G_OPTION_ARG_STRING, &options->accept,
		 "siw-terminate: the bit order of Terminates of siw", "WHAT"},
		{"list", 'l', 0, G_OPTION_ARG_NONE, &options->list, "Print the cases, run none",
		 NULL},
		{"markers", 'm', 0, G_OPTION_ARG_NONE, &options->markers,
		 "Ask the peer for markers in every start-up", NULL},
		{"deviations", 'd', 0, G_OPTION_ARG_FILENAME, &options->deviations,
		 "Failures that are known, with reasons", "FILE"},
		{"json", 0, 0, G_OPTION_ARG_FILENAME, &options->json, "Write a report in JSON",
		 "FILE"},
		{"html", 0, 0, G_OPTION_ARG_FILENAME, &options->html,
		 "Write a report as a page of HTML", "FILE"},
		{"captures", 0, 0, G_OPTION_ARG_FILENAME, &options->captures,
		 "Write what passed in failed cases there, as pcapng", "FOLDER"},
		{"patience", 0, 0, G_OPTION_ARG_DOUBLE, &options->patience,
		 "How long to wait for what must come (default: 20)", "SECONDS"},
		{"settle", 0, 0, G_OPTION_ARG_INT, &options->settle_ms,
		 "Wait before the first FPDU (default: 0)", "MS"},
		{"longer", 0, 0, G_OPTION_ARG_INT, &options->longer,
		 "Longer runs of cases of endurance (default: 1)", "TIMES"},
		{"stop", 0, 0, G_OPTION_ARG_NONE, &options->stop, "Stop after the first failure",
		 NULL},
		{"version", 'V', 0, G_OPTION_ARG_NONE, &options->version, "Print the version",
		 NULL},
		{NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL},
	};
	g_autoptr(GOptionContext) context = g_option_context_new("- judges an iWARP peer");

	g_option_context_add_main_entries(context, entries, NULL);
	if (!g_option_context_parse(context, argc, argv, error))
		return FALSE;
	if (*argc > 1)
		return wire_fail(error, WIRE_ERROR_SCRIPT, "'%s' is too much", (*argv)[1]);
	if (!options->list && !options->version &&
	    (options->peer == NULL) == (options->start == NULL))
		return wire_fail(error, WIRE_ERROR_SCRIPT, "one of --peer and --start is wanted");
	if (options->accept != NULL && strcmp(options->accept, "siw-terminate") != 0)
		return wire_fail(error, WIRE_ERROR_SCRIPT, "--accept knows siw-terminate only");
	if (options->patience <= 0 || options->settle_ms < 0 || options->longer < 1 ||
	    (options->role != NULL && strcmp(options->role, "client") != 0 &&
	     strcmp(options->role, "server") != 0))
		return wire_fail(error, WIRE_ERROR_SCRIPT,
				 "--patience, --settle, --longer or --role has a wrong value");
	return TRUE;
}

static void
options_free(struct options *options)
{
	g_free(options->peer);
	g_free(options->start);
	g_free(options->cases);
	g_free(options->vectors);
	g_free(options->after);
	g_free(options->accept);
	g_strfreev(options->globs);
	g_free(options->role);
	g_free(options->deviations);
	g_free(options->json);
	g_free(options->html);
	g_free(options->captures);
}

int
main(int argc, char **argv)
{
	struct options options = {.patience = 20, .longer = 1};
	g_autoptr(GPtrArray) cases = g_ptr_array_new_with_free_func(wire_case_free);
	g_autoptr(GError) error = NULL;
	int status = 2;

	tool_output_watch();
	if (options_parse(&options, &argc, &argv, &error)) {
		if (options.cases == NULL)
			options.cases = data_folder("cases");
		if (options.vectors == NULL)
			options.vectors = data_folder("vectors");
		if (options.version) {
			printf(PROGRAM " " WIRE_VERSION "\n");
			status = 0;
		} else if (cases_load(options.cases, cases, &error)) {
			cases_choose(&options, cases);
			status = 0;
			if (options.list)
				list_print(cases);
			else if (cases->len == 0)
				status = 2;
			else
				status = run_judge(&options, cases, &error);
			if (status == 2)
				wire_fail(&error, WIRE_ERROR_SCRIPT, "no case fits");
		}
	}
	if (error != NULL)
		fprintf(stderr, PROGRAM ": %s\n", error->message);
	options_free(&options);
	return status;
}
