/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The report as TAP, as JUnit, and as a few lines for people. */

#include "certify_model.h"

#include <stdio.h>
#include <string.h>

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
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

	for (char **line = lines; *line != NULL; line++) {
		if (**line != '\0')
			g_string_append_printf(out, "#   %s%s\n", name, *line);
	}
}

bool
certify_tap_write(JsonObject *model, const char *path, GError **error)
{
	static const struct {
		const char *label, *name;
	} lines[] = {{"", "title"},        {"rule: ", "rule"},         {"where: ", "where"},
		     {"what: ", "what"},   {"expected: ", "expected"}, {"seen: ", "seen"},
		     {"again: ", "again"}, {"output: ", "output"}};
	g_autoptr(GString) out = g_string_new("TAP version 13\n");

	g_string_append_printf(out, "1..%u\n", model_length(model, "cases"));
	for (guint i = 0; i < model_length(model, "cases"); i++) {
		JsonObject *one = model_element(model, "cases", i);
		const char *outcome = model_text(one, "outcome");
		bool failed = strcmp(outcome, certify_outcome_name(CERTIFY_FAILED)) == 0;
		bool run = strcmp(outcome, certify_outcome_name(CERTIFY_PENDING)) != 0;
		bool passed = strcmp(outcome, certify_outcome_name(CERTIFY_PASSED)) == 0;

		g_string_append_printf(out, "%s %u %s", failed || !run ? "not ok" : "ok", i + 1,
				       model_text(one, "id"));
		if (!failed && run && !passed)
			g_string_append_printf(out, " # SKIP %s: %s", outcome,
					       model_text(one, "reason"));
		g_string_append_c(out, '\n');
		for (size_t k = 0; failed && k < G_N_ELEMENTS(lines); k++)
			tap_comment(out, lines[k].label, model_text(one, lines[k].name));
	}
	return certify_write(path, out->str, out->len, error);
}

/* --- JUnit ----------------------------------------------------------------------------------- */

/* Characters that XML cannot have are replaced. */
static char *
xml_safe(const char *text)
{
	g_autofree char *plain = g_strdup(text);

	for (char *at = plain; *at != '\0'; at++) {
		if ((unsigned char)*at < 0x20 && *at != '\n' && *at != '\t')
			*at = '?';
	}
	return g_markup_escape_text(plain, -1);
}

static void
case_junit(GString *out, JsonObject *one)
{
	char seconds[G_ASCII_DTOSTR_BUF_SIZE];
	g_autofree char *id = xml_safe(model_text(one, "id"));
	g_autofree char *reason = xml_safe(model_text(one, "reason"));
	g_autofree char *seen = xml_safe(model_text(one, "seen"));
	g_autofree char *output = xml_safe(model_text(one, "output"));
	g_autofree char *again = xml_safe(model_text(one, "again"));
	g_autofree char *plain =
		g_strdup_printf("%s: expected %s, rule %s", model_text(one, "what"),
				model_text(one, "expected"), model_text(one, "rule"));
	g_autofree char *text = xml_safe(plain);

	g_ascii_formatd(seconds, sizeof(seconds), "%.3f", model_number(one, "seconds"));
	g_string_append_printf(out, "    <testcase classname=\"%s\" name=\"%s\" time=\"%s\">",
			       model_text(one, "level"), id, seconds);
	if (model_is(one, "outcome", certify_outcome_name(CERTIFY_FAILED)))
		g_string_append_printf(out,
				       "\n      <failure message=\"%s\">%s\nagain: %s</failure>\n"
				       "      <system-out>%s</system-out>\n    ",
				       seen, text, again, output);
	else if (!model_is(one, "outcome", certify_outcome_name(CERTIFY_PASSED)))
		g_string_append_printf(out, "<skipped message=\"%s\"/>", reason);
	g_string_append(out, "</testcase>\n");
}

bool
certify_junit_write(JsonObject *model, const char *path, GError **error)
{
	g_autoptr(GString) out =
		g_string_new("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");

	for (guint i = 0; i < model_length(model, "levels"); i++) {
		JsonObject *level = model_element(model, "levels", i);
		gint64 count[CERTIFY_OUTCOMES], all = 0;

		for (unsigned k = 0; k < CERTIFY_OUTCOMES; k++) {
			count[k] =
				model_count(level, certify_outcome_name((enum certify_outcome)k));
			all += count[k];
		}
		g_string_append_printf(out,
				       "  <testsuite name=\"%s\" tests=\"%" G_GINT64_FORMAT
				       "\" failures=\"%" G_GINT64_FORMAT
				       "\" errors=\"0\" skipped=\"%" G_GINT64_FORMAT "\">\n",
				       model_text(level, "level"), all, count[CERTIFY_FAILED],
				       all - count[CERTIFY_FAILED] - count[CERTIFY_PASSED]);
		for (guint k = 0; k < model_length(model, "cases"); k++) {
			JsonObject *one = model_element(model, "cases", k);

			if (model_is(one, "level", model_text(level, "level")))
				case_junit(out, one);
		}
		g_string_append(out, "  </testsuite>\n");
	}
	g_string_append(out, "</testsuites>\n");
	return certify_write(path, out->str, out->len, error);
}

/* --- for people ------------------------------------------------------------------------------ */

void
certify_summary_print(JsonObject *model, const char *again, const char *here)
{
	const char *verdict = model_verdict(model);

	for (guint i = 0; i < model_length(model, "cases"); i++) {
		JsonObject *one = model_element(model, "cases", i);

		if (!model_is(one, "outcome", certify_outcome_name(CERTIFY_FAILED)))
			continue;
		printf("\nFAILED %s: %s\n", model_text(one, "id"), model_text(one, "title"));
		printf("  rule      %s\n  what      %s (%s)\n  expected  %s\n  seen      %s\n",
		       model_text(one, "rule"), model_text(one, "what"), model_text(one, "where"),
		       model_text(one, "expected"), model_text(one, "seen"));
		if (model_count(one, "runs") > 1)
			printf("  failed    %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " runs\n",
			       model_count(one, "failures"), model_count(one, "runs"));
		printf("  again     %s%s\n", here, model_text(one, "again") + strlen(again));
	}
	printf("\n%-10s %-10s %6s %6s %8s %8s\n", "level", "verdict", "passed", "failed",
	       "untested", "n/a");
	for (guint i = 0; i < model_length(model, "levels"); i++) {
		JsonObject *level = model_element(model, "levels", i);

		printf("%-10s %-10s %6d %6d %8d %8d\n", model_text(level, "level"),
		       model_text(level, "verdict"),
		       (int)model_count(level, certify_outcome_name(CERTIFY_PASSED)),
		       (int)model_count(level, certify_outcome_name(CERTIFY_FAILED)),
		       (int)(model_count(level, certify_outcome_name(CERTIFY_SKIPPED)) +
			     model_count(level, certify_outcome_name(CERTIFY_PENDING))),
		       (int)model_count(level, certify_outcome_name(CERTIFY_ABSENT)));
	}
	for (guint i = 0; i < model_length(model, "claims"); i++) {
		JsonObject *claim = model_element(model, "claims", i);

		if (model_is(claim, "truth", certify_truth_name(CERTIFY_REFUTED)))
			printf("refuted: %s = %s, by %s\n", model_text(claim, "attribute"),
			       model_text(claim, "value"), model_text(claim, "by"));
	}
	for (guint i = 0; i < model_length(model, "left out"); i++) {
		JsonObject *left = model_element(model, "left out", i);

		if (model_count(left, "cases") > 0)
			printf("left out: %d cases of %s: %s\n", (int)model_count(left, "cases"),
			       model_text(left, "level"), model_text(left, "why"));
		else
			printf("left out: %s: %s\n", model_text(left, "level"),
			       model_text(left, "why"));
	}
	printf("\n%s: %s (%s run, seed %" G_GINT64_FORMAT ", %.1f s)\n",
	       model_text(json_object_get_object_member(model, "facts"), "adapter"),
	       strcmp(verdict, "not certified") == 0 ? "NOT certified" : verdict,
	       model_text(model, "scope"), model_count(model, "seed"),
	       model_number(model, "seconds"));
}
