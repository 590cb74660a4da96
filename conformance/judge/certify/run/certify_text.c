/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The report as TAP, as JUnit, and as a few lines for people. */

#include <stdio.h>
#include <string.h>

#include "certify_report.h"
#include "tool_output.h"

bool
certify_write(const char *path, const char *text, gsize length, GError **error)
{
	int number = 0;

	if (strcmp(path, "-") != 0)
		number = tool_output_file(path, text, length);
	else if (fwrite(text, 1, length, stdout) != length || tool_output_flush() != 0)
		number = tool_output_flush();
	if (number != 0)
		g_set_error(error, G_FILE_ERROR, (gint)g_file_error_from_errno(number),
			    "%s cannot be written: %s", strcmp(path, "-") != 0 ? path : "stdout",
			    g_strerror(number));
	return number == 0;
}

/* --- TAP ------------------------------------------------------------------------------------- */

/* Each line of a text behind a number sign. */
static void
tap_comment(GString *out, const char *name, const char *text)
{
	g_auto(GStrv) lines = g_strsplit(text != NULL ? text : "", "\n", -1);

	for (char **line = lines; *line != NULL; line++) {
		if (**line != '\0')
			g_string_append_printf(out, "#   %s%s\n", name, *line);
	}
}

static void
case_tap(GString *out, const struct certify_report *report, const struct certify_case *one,
	 unsigned number)
{
	bool good = one->outcome != CERTIFY_FAILED && one->outcome != CERTIFY_PENDING;
	g_autofree char *again = certify_again(report, one);

	g_string_append_printf(out, "%s %u %s", good ? "ok" : "not ok", number, one->id);
	if (one->outcome == CERTIFY_SKIPPED || one->outcome == CERTIFY_ABSENT)
		g_string_append_printf(out, " # SKIP %s: %s", certify_outcome_name(one->outcome),
				       one->reason != NULL ? one->reason : "");
	g_string_append_c(out, '\n');
	if (one->outcome != CERTIFY_FAILED)
		return;
	tap_comment(out, "", one->title);
	tap_comment(out, "rule: ", one->rule);
	tap_comment(out, "where: ", one->where);
	tap_comment(out, "what: ", one->what);
	tap_comment(out, "expected: ", one->expected);
	tap_comment(out, "seen: ", one->seen);
	tap_comment(out, "again: ", again);
	tap_comment(out, "output: ", one->output);
}

bool
certify_tap_write(const struct certify_report *report, const char *path, GError **error)
{
	GString *out = g_string_new("TAP version 13\n");
	bool good;

	g_string_append_printf(out, "1..%u\n", report->cases->len);
	for (guint i = 0; i < report->cases->len; i++)
		case_tap(out, report, g_ptr_array_index(report->cases, i), i + 1);
	good = certify_write(path, out->str, out->len, error);
	g_string_free(out, TRUE);
	return good;
}

/* --- JUnit ----------------------------------------------------------------------------------- */

/* Characters that XML cannot have are replaced. */
static char *
xml_safe(const char *text)
{
	g_autofree char *plain = g_strdup(text != NULL ? text : "");

	for (char *at = plain; *at != '\0'; at++) {
		if ((unsigned char)*at < 0x20 && *at != '\n' && *at != '\t')
			*at = '?';
	}
	return g_markup_escape_text(plain, -1);
}

static void
case_junit(GString *out, const struct certify_report *report, const struct certify_case *one)
{
	char seconds[G_ASCII_DTOSTR_BUF_SIZE];
	g_autofree char *id = xml_safe(one->id);
	g_autofree char *reason = xml_safe(one->reason);
	g_autofree char *seen = xml_safe(one->seen);
	g_autofree char *output = xml_safe(one->output);
	g_autofree char *command = certify_again(report, one);
	g_autofree char *again = xml_safe(command);
	g_autofree char *plain =
		g_strdup_printf("%s: expected %s, rule %s", one->what, one->expected, one->rule);
	g_autofree char *text = xml_safe(plain);

	g_ascii_formatd(seconds, sizeof(seconds), "%.3f", one->took);
	g_string_append_printf(out, "    <testcase classname=\"%s\" name=\"%s\" time=\"%s\">",
			       certify_level_name(one->level), id, seconds);
	if (one->outcome == CERTIFY_FAILED)
		g_string_append_printf(out,
				       "\n      <failure message=\"%s\">%s\nagain: %s</failure>\n"
				       "      <system-out>%s</system-out>\n    ",
				       seen, text, again, output);
	else if (one->outcome != CERTIFY_PASSED)
		g_string_append_printf(out, "<skipped message=\"%s\"/>", reason);
	g_string_append(out, "</testcase>\n");
}

static void
level_junit(GString *out, const struct certify_report *report, enum certify_level level)
{
	unsigned passed = certify_count(report, level, CERTIFY_PASSED);
	unsigned failed = certify_count(report, level, CERTIFY_FAILED);
	unsigned others = certify_count(report, level, CERTIFY_SKIPPED) +
			  certify_count(report, level, CERTIFY_ABSENT) +
			  certify_count(report, level, CERTIFY_PENDING);

	g_string_append_printf(out,
			       "  <testsuite name=\"%s\" tests=\"%u\" failures=\"%u\" errors=\"0\" "
			       "skipped=\"%u\">\n",
			       certify_level_name(level), passed + failed + others, failed, others);
	for (guint i = 0; i < report->cases->len; i++) {
		const struct certify_case *one = g_ptr_array_index(report->cases, i);

		if (one->level == level)
			case_junit(out, report, one);
	}
	g_string_append(out, "  </testsuite>\n");
}

bool
certify_junit_write(const struct certify_report *report, const char *path, GError **error)
{
	GString *out = g_string_new("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
	bool good;

	for (unsigned level = 0; level < CERTIFY_LEVELS; level++)
		level_junit(out, report, (enum certify_level)level);
	g_string_append(out, "</testsuites>\n");
	good = certify_write(path, out->str, out->len, error);
	g_string_free(out, TRUE);
	return good;
}

/* --- for people ------------------------------------------------------------------------------ */

static void
failure_print(const struct certify_report *report, const struct certify_case *one)
{
	g_autofree char *again = certify_again_here(report, one);

	printf("\nFAILED %s: %s\n", one->id, one->title != NULL ? one->title : "");
	printf("  rule      %s\n  what      %s (%s)\n  expected  %s\n  seen      %s\n",
	       one->rule != NULL ? one->rule : "", one->what, one->where, one->expected, one->seen);
	if (one->runs > 1)
		printf("  failed    %u of %u runs\n", one->failed, one->runs);
	printf("  again     %s\n", again);
}

static void
left_print(const struct certify_report *report)
{
	for (guint i = 0; i < report->left->len; i++) {
		const struct certify_left *left = g_ptr_array_index(report->left, i);

		if (left->cases > 0)
			printf("left out: %u cases of %s: %s\n", left->cases,
			       certify_level_name(left->level), left->why);
		else
			printf("left out: %s: %s\n", certify_level_name(left->level), left->why);
	}
}

void
certify_summary_print(const struct certify_report *report)
{
	for (guint i = 0; i < report->cases->len; i++) {
		const struct certify_case *one = g_ptr_array_index(report->cases, i);

		if (one->outcome == CERTIFY_FAILED)
			failure_print(report, one);
	}
	printf("\n%-10s %-10s %6s %6s %8s %8s\n", "level", "verdict", "passed", "failed",
	       "untested", "n/a");
	for (unsigned i = 0; i < CERTIFY_LEVELS; i++) {
		enum certify_level level = (enum certify_level)i;

		printf("%-10s %-10s %6u %6u %8u %8u\n", certify_level_name(level),
		       certify_level_verdict(report, level),
		       certify_count(report, level, CERTIFY_PASSED),
		       certify_count(report, level, CERTIFY_FAILED),
		       certify_count(report, level, CERTIFY_SKIPPED) +
			       certify_count(report, level, CERTIFY_PENDING),
		       certify_count(report, level, CERTIFY_ABSENT));
	}
	for (guint i = 0; i < report->claims->len; i++) {
		const struct certify_claim *claim = g_ptr_array_index(report->claims, i);

		if (claim->truth == CERTIFY_REFUTED)
			printf("refuted: %s = %s, by %s\n", claim->name, claim->value, claim->by);
	}
	left_print(report);
	printf("\n%s: %s (%s run, seed %" G_GUINT64_FORMAT ", %.1f s)\n",
	       certify_fact(report, "adapter"),
	       certify_is_good(report)
		       ? (strcmp(report->scope, "part") == 0 ? "passed in part" : "certified")
		       : "NOT certified",
	       report->scope, report->seed, report->took);
}
