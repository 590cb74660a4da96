/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "certify_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "certify_programs.h"

/* --- words ----------------------------------------------------------------------------------- */

static const char *const level_names[CERTIFY_LEVELS] = {
	[CERTIFY_BORDER] = "border",
	[CERTIFY_VERBS] = "verbs",
	[CERTIFY_API] = "api",
	[CERTIFY_MODEL] = "model",
	[CERTIFY_ENDURANCE] = "endurance",
	[CERTIFY_FIGURES] = "figures",
};

static const char *const outcome_names[CERTIFY_OUTCOMES] = {
	[CERTIFY_PENDING] = "not run",       [CERTIFY_PASSED] = "passed",
	[CERTIFY_FAILED] = "failed",         [CERTIFY_SKIPPED] = "not testable here",
	[CERTIFY_ABSENT] = "not applicable",
};

static const char *const truth_names[CERTIFY_TRUTHS] = {
	[CERTIFY_UNTESTED] = "not testable here",
	[CERTIFY_PROVEN] = "proven",
	[CERTIFY_REFUTED] = "refuted",
};

const char *
certify_level_name(enum certify_level level)
{
	return level_names[level];
}

enum certify_level
certify_level_of(const char *name)
{
	unsigned level = 0;

	while (level < CERTIFY_LEVELS && strcmp(level_names[level], name) != 0)
		level++;
	return (enum certify_level)level;
}

const char *
certify_outcome_name(enum certify_outcome outcome)
{
	return outcome_names[outcome];
}

const char *
certify_truth_name(enum certify_truth truth)
{
	return truth_names[truth];
}

/* --- parts ----------------------------------------------------------------------------------- */

static void
case_free(gpointer data)
{
	struct certify_case *one = data;

	g_free(one->id);
	g_free(one->title);
	g_free(one->rule);
	g_free(one->settles);
	g_free(one->reason);
	g_free(one->where);
	g_free(one->what);
	g_free(one->expected);
	g_free(one->seen);
	g_free(one->output);
	g_free(one);
}

static void
point_free(gpointer data)
{
	struct certify_point *point = data;

	g_free(point->curve);
	g_free(point->unit);
	g_free(point);
}

static void
left_free(gpointer data)
{
	struct certify_left *left = data;

	g_free(left->why);
	g_free(left);
}

static void
claim_free(gpointer data)
{
	struct certify_claim *claim = data;

	g_free(claim->name);
	g_free(claim->value);
	g_free(claim->by);
	g_free(claim);
}

static void
fact_free(gpointer data)
{
	struct certify_fact *fact = data;

	g_free(fact->name);
	g_free(fact->value);
	g_free(fact);
}

void
certify_report_init(struct certify_report *report)
{
	*report = (struct certify_report){
		.cases = g_ptr_array_new_with_free_func(case_free),
		.points = g_ptr_array_new_with_free_func(point_free),
		.claims = g_ptr_array_new_with_free_func(claim_free),
		.facts = g_ptr_array_new_with_free_func(fact_free),
		.left = g_ptr_array_new_with_free_func(left_free),
		.scope = "part",
		.began_us = g_get_real_time(),
	};
}

void
certify_report_clear(struct certify_report *report)
{
	g_ptr_array_unref(report->cases);
	g_ptr_array_unref(report->points);
	g_ptr_array_unref(report->claims);
	g_ptr_array_unref(report->facts);
	g_ptr_array_unref(report->left);
	g_free(report->again);
	g_free(report->here);
	memset(report, 0, sizeof(*report));
}

struct certify_case *
certify_case_add(struct certify_report *report, const char *id, enum certify_level level)
{
	struct certify_case *one = g_new0(struct certify_case, 1);

	one->id = g_strdup(id);
	one->level = level;
	g_ptr_array_add(report->cases, one);
	return one;
}

struct certify_case *
certify_case_find(const struct certify_report *report, const char *id)
{
	for (guint i = 0; i < report->cases->len; i++) {
		struct certify_case *one = g_ptr_array_index(report->cases, i);

		if (strcmp(one->id, id) == 0)
			return one;
	}
	return NULL;
}

void
certify_point_add(struct certify_report *report, const char *curve, const char *unit, double x,
		  double y)
{
	struct certify_point *point = g_new0(struct certify_point, 1);

	*point = (struct certify_point){g_strdup(curve), g_strdup(unit), x, y};
	g_ptr_array_add(report->points, point);
}

void
certify_claim_add(struct certify_report *report, const char *name, const char *value, bool informs)
{
	struct certify_claim *claim = g_new0(struct certify_claim, 1);

	claim->name = g_strdup(name);
	claim->value = g_utf8_make_valid(value, -1);
	claim->informs = informs;
	claim->meaning = certify_text_of(certify_meanings, name);
	g_ptr_array_add(report->claims, claim);
}

void
certify_fact_add(struct certify_report *report, const char *name, const char *value)
{
	struct certify_fact *fact = g_new0(struct certify_fact, 1);

	fact->name = g_strdup(name);
	fact->value = g_utf8_make_valid(value, -1);
	g_ptr_array_add(report->facts, fact);
}

const char *
certify_fact(const struct certify_report *report, const char *name)
{
	for (guint i = 0; i < report->facts->len; i++) {
		const struct certify_fact *fact = g_ptr_array_index(report->facts, i);

		if (strcmp(fact->name, name) == 0)
			return fact->value;
	}
	return "";
}

void
certify_left_add(struct certify_report *report, enum certify_level level, const char *why,
		 unsigned cases)
{
	struct certify_left *left;

	for (guint i = 0; i < report->left->len; i++) {
		left = g_ptr_array_index(report->left, i);
		if (left->level == level && strcmp(left->why, why) == 0) {
			left->cases += cases;
			return;
		}
	}
	left = g_new0(struct certify_left, 1);
	*left = (struct certify_left){.level = level, .cases = cases, .why = g_strdup(why)};
	g_ptr_array_add(report->left, left);
}

const char *
certify_text_of(const struct certify_text *all, const char *name)
{
	while (all->name != NULL && strcmp(all->name, name) != 0)
		all++;
	return all->text;
}

/* --- paths of the machine -------------------------------------------------------------------- */

#define PATH_OCTETS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+@-/"

/* Does a path begin here, one that tells where something lies on this machine? Names of tests look alike. */
static bool
path_begins(const char *text, size_t length)
{
	g_autofree char *path = g_strndup(text, length);
	char *second = length > 1 ? strchr(path + 1, '/') : NULL;

	if (g_str_has_prefix(text, "../"))
		return true;
	if (text[0] != '/' || second == NULL)
		return false;
	*second = '\0';
	return strcmp(path, "/proc") != 0 && strcmp(path, "/sys") != 0 &&
	       strcmp(path, "/dev") != 0 && g_file_test(path, G_FILE_TEST_IS_DIR);
}

char *
certify_text_clean(const char *text)
{
	g_autofree char *valid = g_utf8_make_valid(text, -1);
	GString *clean = g_string_new(NULL);
	const char *at = valid;

	while (*at != '\0') {
		size_t length = strspn(at, PATH_OCTETS);

		if (length > 0 && path_begins(at, length)) {
			g_autofree char *path = g_strndup(at, length);

			g_string_append(clean, strrchr(path, '/') + 1);
		} else {
			length = MAX(length, 1);
			g_string_append_len(clean, at, (gssize)length);
		}
		at += length;
	}
	return g_string_free(clean, FALSE);
}

static void
text_set(char **to, const char *text)
{
	g_free(*to);
	*to = certify_text_clean(text);
}

void
certify_case_fail(struct certify_case *one, const char *where, const char *what,
		  const char *expected, const char *seen)
{
	one->outcome = CERTIFY_FAILED;
	text_set(&one->where, where);
	text_set(&one->what, what);
	text_set(&one->expected, expected);
	text_set(&one->seen, seen);
}

/* --- verdicts -------------------------------------------------------------------------------- */

static bool
names_attribute(const struct certify_case *one, const char *name)
{
	g_auto(GStrv) names = g_strsplit(one->settles != NULL ? one->settles : "", " ", -1);

	return g_strv_contains((const char *const *)names, name);
}

/*
 * Whether a failed case refutes claims. A case of the levels api and model uses a whole library, so
 * its failure does not show which claim is wrong. Neither does a case during which the process
 * crashed.
 */
static bool
refutes(const struct certify_case *one)
{
	return one->outcome == CERTIFY_FAILED && !one->aborted && one->level != CERTIFY_API &&
	       one->level != CERTIFY_MODEL;
}

static void
claim_settle(struct certify_claim *claim, const struct certify_report *report)
{
	for (guint i = 0; i < report->cases->len; i++) {
		const struct certify_case *one = g_ptr_array_index(report->cases, i);
		bool passed = one->outcome == CERTIFY_PASSED;

		if (!names_attribute(one, claim->name) || claim->truth == CERTIFY_REFUTED ||
		    (passed ? claim->truth == CERTIFY_PROVEN : !refutes(one)))
			continue;
		claim->truth = passed ? CERTIFY_PROVEN : CERTIFY_REFUTED;
		g_free(claim->by);
		claim->by = g_strdup(one->id);
	}
}

void
certify_report_settle(struct certify_report *report)
{
	for (guint i = 0; i < report->claims->len; i++) {
		struct certify_claim *claim = g_ptr_array_index(report->claims, i);

		if (!claim->informs)
			claim_settle(claim, report);
	}
}

unsigned
certify_count(const struct certify_report *report, enum certify_level level,
	      enum certify_outcome outcome)
{
	unsigned count = 0;

	for (guint i = 0; i < report->cases->len; i++) {
		const struct certify_case *one = g_ptr_array_index(report->cases, i);

		count += one->level == level && one->outcome == outcome;
	}
	return count;
}

unsigned
certify_count_all(const struct certify_report *report, enum certify_outcome outcome)
{
	unsigned count = 0;

	for (unsigned level = 0; level < CERTIFY_LEVELS; level++)
		count += certify_count(report, (enum certify_level)level, outcome);
	return count;
}

bool
certify_is_good(const struct certify_report *report)
{
	return certify_count_all(report, CERTIFY_PASSED) > 0 &&
	       certify_count_all(report, CERTIFY_FAILED) == 0 &&
	       certify_count_all(report, CERTIFY_PENDING) == 0;
}

const char *
certify_level_verdict(const struct certify_report *report, enum certify_level level)
{
	unsigned tested = certify_count(report, level, CERTIFY_SKIPPED) +
			  certify_count(report, level, CERTIFY_ABSENT);

	if (certify_count(report, level, CERTIFY_FAILED) > 0)
		return "failed";
	if (certify_count(report, level, CERTIFY_PENDING) > 0)
		return "not run";
	if (certify_count(report, level, CERTIFY_PASSED) > 0)
		return "passed";
	return tested > 0 ? "not tested" : "not run";
}

char *
certify_again(const struct certify_report *report, const struct certify_case *one)
{
	return g_strdup_printf("%s --seed %" PRIu64 " --case %s", report->again, one->seed,
			       one->id);
}
