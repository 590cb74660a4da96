/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Test programs that print TAP. Each test of a program of itapi/tests is a case of the level api;
 * each row of random programs that conformance/judge/differential runs is a case of the level
 * model. They are installed beside it-certify-cases and run on the adapter that is certified; no
 * code of them is copied here.
 *
 * A test of GLib that fails ends its program, so the program is started again for the tests behind it.
 */

#include <stdlib.h>
#include <string.h>

#include "../cert_case.h"
#include "certify_child.h"
#include "certify_programs.h"
#include "certify_run.h"

/* Cases of the level model, by the kind of their programs. */
static const struct model {
	const char *name; /* in the ids */
	const char *options[3];
	const char *title;
	const char *rule;
	const char *
		claims; /* of which one is claimed at least, with spaces between; "": it applies to every adapter */
	unsigned rows;
	unsigned rows_quick;
} models[] = {
	{"programs",
	 {"--wide"},
	 "Random programs show what the model of the specification expects",
	 "[IT 7] [IT 8] [IT 12]",
	 "",
	 10,
	 2},
	{"privileged",
	 {"--privileged"},
	 "Random programs with privileged operations show what the model expects",
	 "[IT 8.9]",
	 "privileged_ops",
	 2,
	 1},
	{"watermarks",
	 {"--watermarks"},
	 "Random programs with watermarks show what the model expects, and no other event",
	 "[IT 12.7] [IT 12.8] [IT 12.9] [IT 14.1]",
	 "srq_limit rq_soft_limit rq_hard_limit",
	 2,
	 1},
	{"threads",
	 {"--wide", "--threads=4"},
	 "Random programs of several threads each show what the model expects of one",
	 "[IT 1.11]",
	 "",
	 2,
	 1},
	{"faults",
	 {"--faults"},
	 "Random programs show what the model expects of spigots and adapters that fail",
	 "[IT 1.6] [IT 14.6] [IT 14.7]",
	 "",
	 2,
	 1},
};

const char certify_model_settles[] = "in_order_completion";

/* A run of a program: its tests in their order. */
struct tests {
	struct certify_run *run;
	const struct certify_program *program; /* of the list */
	GPtrArray *cases;
	guint next;
	gint64 began_us;
};

static void command_add(GPtrArray *argv, const char *format, ...) G_GNUC_PRINTF(2, 3);

static void
command_add(GPtrArray *argv, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	g_ptr_array_add(argv, g_strdup_vprintf(format, args));
	va_end(args);
}

/* The path of a test, as GLib names it. */
static char *
path_of(const struct certify_run *run, const struct certify_case *one)
{
	const char *rest = strchr(one->id, '.') + 1;
	g_autofree char *path = g_strdup(rest);

	return g_strdup_printf("/itapi/%s/%s", run->adapter, g_strdelimit(path, ".", '/'));
}

/* --- the list -------------------------------------------------------------------------------- */

static void
list_line(struct certify_child *child, const char *line)
{
	struct tests *tests = child->self;
	struct certify_run *run = tests->run;
	g_autofree char *prefix = g_strdup_printf("/itapi/%s/", run->adapter);
	g_autofree char *id = NULL;
	struct certify_case *one;
	const char *title;

	if (!g_str_has_prefix(line, prefix))
		return;
	id = g_strdup_printf("api.%s", line + strlen(prefix));
	g_strdelimit(id, "/", '.');
	if (!certify_wanted(run, id, CERTIFY_API, tests->program->slow ? CERT_SLOW : 0))
		return;
	one = certify_case_add(run->report, id, CERTIFY_API);
	title = certify_text_of(certify_titles, line + strlen(prefix));
	one->title = g_strdup(title != NULL ? title : tests->program->title);
	one->rule = g_strdup(tests->program->rule);
	one->settles = g_strdup(certify_text_of(certify_settling, line + strlen(prefix)));
	one->seconds = tests->program->seconds;
	one->program = tests->program->name;
}

static char *
program_path(const struct certify_run *run, const struct certify_program *program)
{
	g_autofree char *name = g_strdup_printf("test-itapi-%s", program->name);

	return g_build_filename(run->programs, name, NULL);
}

static bool
program_list(struct certify_run *run, const struct certify_program *program, GError **error)
{
	struct tests tests = {.run = run, .program = program};
	g_autoptr(GPtrArray) argv = g_ptr_array_new_with_free_func(g_free);
	struct certify_child child = {.environment = run->environment,
				      .line = list_line,
				      .self = &tests,
				      .on_stdout = true,
				      .limit_us = CERTIFY_LIST_US};
	bool good;

	g_ptr_array_add(argv, program_path(run, program));
	command_add(argv, "%s", run->adapter);
	command_add(argv, "-l");
	g_ptr_array_add(argv, NULL);
	child.argv = (char *const *)argv->pdata;
	good = certify_child_run(&child, error);
	if (good && child.hung)
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "%s lists no tests",
			    child.argv[0]);
	good = good && !child.hung;
	certify_child_clear(&child);
	return good;
}

static void
model_list(struct certify_run *run, const struct model *model)
{
	unsigned rows = run->quick ? model->rows_quick : model->rows;

	if (rows < model->rows)
		certify_left_add(run->report, CERTIFY_MODEL, "--quick runs fewer random programs",
				 model->rows - rows);
	for (unsigned i = 1; i <= rows; i++) {
		g_autofree char *id = g_strdup_printf("model.%s.%04u", model->name, i);
		struct certify_case *one;

		if (!certify_wanted(run, id, CERTIFY_MODEL, 0))
			continue;
		one = certify_case_add(run->report, id, CERTIFY_MODEL);
		one->title = g_strdup(model->title);
		one->rule = g_strdup(model->rule);
		one->settles = g_strdup(certify_model_settles);
		one->seconds = 600;
	}
}

/* Whether a pattern can fit an id that begins so; up to its first wildcard it is literal. */
static bool
can_fit(char *const *globs, const char *prefix)
{
	for (; *globs != NULL; globs++) {
		size_t length = MIN(strcspn(*globs, "*?"), strlen(prefix));

		if (strncmp(*globs, prefix, length) == 0)
			return true;
	}
	return false;
}

bool
certify_programs_list(struct certify_run *run, GError **error)
{
	bool level =
		run->levels == NULL || g_strv_contains((const char *const *)run->levels, "api");
	bool wanted = level && (run->globs == NULL || can_fit(run->globs, "api."));
	bool good = true;

	for (const struct certify_program *at = certify_programs; wanted && good; at++) {
		if (at->name == NULL)
			break;
		good = program_list(run, at, error);
	}
	if (!wanted)
		certify_left_add(run->report, CERTIFY_API,
				 level ? "--case chooses others" : "--level chooses others", 0);
	for (size_t i = 0; i < G_N_ELEMENTS(models); i++)
		model_list(run, &models[i]);
	return good;
}

/* --- runs ------------------------------------------------------------------------------------ */

#define INAPPLICABLE "not applicable: " /* begins the reason of a test that the claims leave out */

/* "ok 3 /itapi/iwarp/dto/flush # SKIP reason": the outcome, and the reason or NULL. */
static bool
tap_read(const char *line, enum certify_outcome *outcome, const char **reason)
{
	const char *skip = strstr(line, "# SKIP");

	if (g_str_has_prefix(line, "not ok "))
		*outcome = CERTIFY_FAILED;
	else if (g_str_has_prefix(line, "ok "))
		*outcome = skip != NULL ? CERTIFY_SKIPPED : CERTIFY_PASSED;
	else
		return false;
	/* The line stays as it is: it is a part of the output that a report may show. */
	*reason = skip != NULL ? skip + strlen("# SKIP") : NULL;
	if (skip != NULL)
		*reason += strspn(*reason, " ");
	if (skip != NULL && g_str_has_prefix(*reason, INAPPLICABLE)) {
		*outcome = CERTIFY_ABSENT;
		*reason += strlen(INAPPLICABLE);
	}
	return true;
}

static struct certify_case *
test_over(struct tests *tests)
{
	struct certify_case *one = g_ptr_array_index(tests->cases, tests->next);

	one->took = (double)(g_get_monotonic_time() - tests->began_us) / G_USEC_PER_SEC;
	tests->began_us = g_get_monotonic_time();
	tests->next++;
	return one;
}

/* A random program that disagrees is described by the first comment that names its seed. */
static char *
disagreement_of(const char *output)
{
	g_auto(GStrv) lines = g_strsplit(output, "\n", -1);

	for (char **line = lines; *line != NULL; line++) {
		if (g_str_has_prefix(*line, "# ") && strstr(*line, "seed ") != NULL &&
		    strstr(*line, " on ") != NULL)
			return g_strdup(*line + 2);
	}
	return NULL;
}

/* The test that runs has failed: the reason is its assertion, or else the one given. */
static void
test_failed(struct tests *tests, const char *const told[4], const char *output)
{
	g_autofree char *disagrees = disagreement_of(output);
	struct certify_assertion found;

	if (certify_assertion_read(output, &found)) {
		const char *better[] = {found.where, found.what, "it holds",
					found.seen != NULL ? found.seen : "it does not hold"};

		certify_case_end_failed(tests->run, test_over(tests), better, output);
	} else if (disagrees != NULL) {
		const char *better[] = {told[0], "a random program against the model", "they agree",
					disagrees};

		certify_case_end_failed(tests->run, test_over(tests), better, output);
	} else {
		certify_case_end_failed(tests->run, test_over(tests), told, output);
	}
	certify_assertion_clear(&found);
}

static void
tap_line(struct certify_child *child, const char *line)
{
	struct tests *tests = child->self;
	enum certify_outcome outcome;
	const char *reason;

	if (tests->next >= tests->cases->len || !tap_read(line, &outcome, &reason))
		return;
	child->progress = true;
	if (outcome == CERTIFY_FAILED) {
		g_autofree char *output = certify_child_output(child);
		const char *told[] = {"test program", "the test", "ok", line};

		test_failed(tests, told, output);
	} else {
		certify_case_end(tests->run, test_over(tests), outcome, reason);
	}
	if (tests->next < tests->cases->len)
		certify_progress(tests->run, g_ptr_array_index(tests->cases, tests->next));
}

/* The program ended before its tests did. */
static void
program_ended(struct tests *tests, const struct certify_child *child)
{
	g_autofree char *fault = certify_child_fault(child);
	g_autofree char *output = certify_child_output(child);
	const char *told[] = {"test program", "the program of the test",
			      "it lives until the test has ended",
			      fault != NULL ? fault : "it ended with status 0"};

	if (tests->next < tests->cases->len)
		test_failed(tests, told, output);
}

static bool
tests_run(struct tests *tests, GPtrArray *argv, GError **error)
{
	const struct certify_case *first = g_ptr_array_index(tests->cases, tests->next);
	unsigned limit = MAX(first->seconds, tests->run->limit);
	struct certify_child child = {.environment = tests->run->environment,
				      .line = tap_line,
				      .self = tests,
				      .on_stdout = true,
				      .limit_us = (gint64)limit * G_USEC_PER_SEC};
	bool good;

	g_ptr_array_add(argv, NULL);
	child.argv = (char *const *)argv->pdata;
	certify_progress(tests->run, first);
	tests->began_us = g_get_monotonic_time();
	good = certify_child_run(&child, error);
	if (good)
		program_ended(tests, &child);
	certify_child_clear(&child);
	return good;
}

/* The wanted tests of a program, in its order. */
static bool
program_run(struct certify_run *run, const struct certify_program *program, GError **error)
{
	struct tests tests = {.run = run, .program = program, .cases = g_ptr_array_new()};
	bool good = true;

	for (guint i = 0; i < run->report->cases->len; i++) {
		struct certify_case *one = g_ptr_array_index(run->report->cases, i);

		if (one->program == program->name)
			g_ptr_array_add(tests.cases, one);
	}
	while (good && tests.next < tests.cases->len) {
		g_autoptr(GPtrArray) argv = g_ptr_array_new_with_free_func(g_free);

		g_ptr_array_add(argv, program_path(run, program));
		command_add(argv, "%s", run->adapter);
		for (guint i = tests.next; i < tests.cases->len; i++) {
			command_add(argv, "-p");
			g_ptr_array_add(argv, path_of(run, g_ptr_array_index(tests.cases, i)));
		}
		good = tests_run(&tests, argv, error);
	}
	g_ptr_array_unref(tests.cases);
	return good;
}

/* The kind of a case, by the second word of its id. */
static const struct model *
model_of(const struct certify_case *one)
{
	const char *name = strchr(one->id, '.') + 1;

	for (size_t i = 1; i < G_N_ELEMENTS(models); i++) {
		if (g_str_has_prefix(name, models[i].name))
			return &models[i];
	}
	return &models[0];
}

/* Why programs of that kind do not apply to the profile, which the caller frees; NULL: they do. */
static char *
model_lack(const struct certify_report *report, const struct model *model)
{
	g_auto(GStrv) wanted = g_strsplit(model->claims, " ", -1);

	for (guint i = 0; i < report->claims->len; i++) {
		const struct certify_claim *claim = g_ptr_array_index(report->claims, i);

		if (g_strv_contains((const char *const *)wanted, claim->name) &&
		    strcmp(claim->value, "no") != 0)
			return NULL;
	}
	return *model->claims != '\0' ? g_strdup_printf("none of %s is claimed", model->claims)
				      : NULL;
}

/* One case is a row of random programs, whose seeds follow from ours. */
static bool
model_run(struct certify_run *run, struct certify_case *one, GError **error)
{
	unsigned row = (unsigned)atoi(strrchr(one->id, '.') + 1);
	unsigned seed = (unsigned)(run->seed % 1000000) * 100 + 1;
	struct tests tests = {.run = run, .cases = g_ptr_array_new()};
	g_autoptr(GPtrArray) argv = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *lack = model_lack(run->report, model_of(one));
	bool good;

	if (lack != NULL) {
		certify_case_end(run, one, CERTIFY_ABSENT, lack);
		g_ptr_array_unref(tests.cases);
		return true;
	}
	g_ptr_array_add(tests.cases, one);
	g_ptr_array_add(argv, g_build_filename(run->programs, "differential", NULL));
	for (const char *const *option = model_of(one)->options; *option != NULL; option++)
		command_add(argv, "%s", *option);
	command_add(argv, "--adapter=%s", run->adapter);
	command_add(argv, "--seed=%u", seed + (row - 1) * (unsigned)run->count);
	command_add(argv, "--count=%d", run->count);
	command_add(argv, "--patience=%d", MAX(1, (int)run->patience));
	good = tests_run(&tests, argv, error);
	g_ptr_array_unref(tests.cases);
	return good;
}

/* The tests ask for the claims by name (itapi/tests/it_claims.h), and wait as long as the cases. */
static void
claims_pass(struct certify_run *run)
{
	g_autoptr(GString) claims = g_string_new(NULL);
	g_autofree char *patience = g_strdup_printf("%.3f", run->patience);

	for (guint i = 0; i < run->report->claims->len; i++) {
		const struct certify_claim *claim = g_ptr_array_index(run->report->claims, i);

		if (!claim->informs)
			g_string_append_printf(claims, "%s=%s ", claim->name, claim->value);
	}
	run->environment =
		g_environ_setenv(run->environment, "ITAPI_TEST_CLAIMS", claims->str, TRUE);
	run->environment =
		g_environ_setenv(run->environment, "ITAPI_TEST_PATIENCE", patience, FALSE);
}

bool
certify_programs_run(struct certify_run *run, enum certify_level level, GError **error)
{
	bool good = true;

	claims_pass(run);
	for (const struct certify_program *at = certify_programs;
	     level == CERTIFY_API && good && at->name != NULL; at++)
		good = program_run(run, at, error);
	for (guint i = 0; level == CERTIFY_MODEL && good && i < run->report->cases->len; i++) {
		struct certify_case *one = g_ptr_array_index(run->report->cases, i);

		if (one->level == CERTIFY_MODEL)
			good = model_run(run, one, error);
	}
	return good;
}
