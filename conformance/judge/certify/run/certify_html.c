/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The report as one page, which needs no other file. */

#include <string.h>

#include "certify_report.h"

static const char page_style[] =
	"body{font-family:sans-serif;margin:2em auto;max-width:70em;color:#222}"
	"table{border-collapse:collapse;margin:1em 0}"
	"td,th{border:1px solid #bbb;padding:.2em .6em;text-align:left;vertical-align:top}"
	"th{background:#eee}.good{background:#cfc}.bad{background:#fbb}.open{background:#eee}"
	"pre{background:#f4f4f4;padding:.6em;overflow:auto;white-space:pre-wrap}"
	"svg{background:#fff;border:1px solid #bbb;margin:.5em 0;max-width:100%;height:auto}h1 "
	"span{padding:0 .4em}"
	"td{overflow-wrap:anywhere}"
	"@media(max-width:50em){body{margin:1em .6em}table,tbody,tr,td{display:block}"
	"tr.heads{display:none}table{width:100%}tr{border:1px solid #bbb;margin:.4em 0}"
	"td{border:0;padding:.15em .5em}td:empty{display:none}"
	"td[data-head]::before{content:attr(data-head) ': ';color:#666}section{padding-left:.5em}}"
	"code{font-size:95%}section{border-left:4px solid #c33;padding-left:1em;margin:1.5em 0}";

static void
text_append(GString *out, const char *text)
{
	g_autofree char *safe = g_markup_escape_text(text != NULL ? text : "", -1);

	g_string_append(out, safe);
}

/* On a narrow page there is no row of heads, and each cell has its own. */
static void
html_cell(GString *out, const char *head, const char *class, const char *text)
{
	if (*head != '\0')
		g_string_append_printf(out, "<td data-head=\"%s\" class=\"%s\">", head, class);
	else
		g_string_append_printf(out, "<td class=\"%s\">", class);
	text_append(out, text);
	g_string_append(out, "</td>");
}

static void
html_heads(GString *out, const char *const *names)
{
	g_string_append(out, "<tr class=\"heads\">");
	for (; *names != NULL; names++)
		g_string_append_printf(out, "<th>%s</th>", *names);
	g_string_append(out, "</tr>\n");
}

static void
facts_append(GString *out, const struct certify_report *report)
{
	g_autoptr(GDateTime) began =
		g_date_time_new_from_unix_utc(report->began_us / G_USEC_PER_SEC);
	g_autofree char *when = g_date_time_format(began, "%F %T UTC");

	g_string_append(out, "<h2>What was certified</h2>\n<table>\n");
	for (guint i = 0; i < report->facts->len; i++) {
		const struct certify_fact *fact = g_ptr_array_index(report->facts, i);
		g_autofree char *value = certify_text_clean(fact->value);

		g_string_append(out, "<tr>");
		html_cell(out, "", "", fact->name);
		html_cell(out, "", "", value);
		g_string_append(out, "</tr>\n");
	}
	g_string_append_printf(out,
			       "<tr><td>begun</td><td>%s, %.1f seconds</td></tr>\n"
			       "<tr><td>seed</td><td>%" G_GUINT64_FORMAT "</td></tr>\n"
			       "<tr><td>scope</td><td>%s</td></tr>\n</table>\n",
			       when, report->took, report->seed, report->scope);
}

static const char *
verdict_class(const char *verdict)
{
	if (strcmp(verdict, "passed") == 0 || strcmp(verdict, "proven") == 0)
		return "good";
	return strcmp(verdict, "failed") == 0 || strcmp(verdict, "refuted") == 0 ? "bad" : "open";
}

static void
levels_append(GString *out, const struct certify_report *report)
{
	static const enum certify_outcome counted[] = {
		CERTIFY_PASSED, CERTIFY_FAILED, CERTIFY_SKIPPED, CERTIFY_ABSENT, CERTIFY_PENDING};

	g_string_append(out, "<h2>Verdict by level</h2>\n<table>\n");
	html_heads(out, (const char *[]){"level", "verdict", "passed", "failed",
					 "not testable here", "not applicable", "not run", NULL});
	for (unsigned i = 0; i < CERTIFY_LEVELS; i++) {
		enum certify_level level = (enum certify_level)i;
		const char *verdict = certify_level_verdict(report, level);

		g_string_append(out, "<tr>");
		html_cell(out, "", "", certify_level_name(level));
		html_cell(out, "verdict", verdict_class(verdict), verdict);
		for (size_t k = 0; k < G_N_ELEMENTS(counted); k++) {
			g_autofree char *count =
				g_strdup_printf("%u", certify_count(report, level, counted[k]));

			html_cell(out, certify_outcome_name(counted[k]), "", count);
		}
		g_string_append(out, "</tr>\n");
	}
	g_string_append(out, "</table>\n");
}

/* What the verdict does not rest on, and why. */
static void
left_append(GString *out, const struct certify_report *report)
{
	if (report->left->len == 0)
		return;
	g_string_append(out, "<h2>What was left out</h2>\n<table>\n");
	html_heads(out, (const char *[]){"level", "cases", "why", NULL});
	for (guint i = 0; i < report->left->len; i++) {
		const struct certify_left *left = g_ptr_array_index(report->left, i);
		g_autofree char *count =
			left->cases > 0 ? g_strdup_printf("%u", left->cases) : g_strdup("all");

		g_string_append(out, "<tr>");
		html_cell(out, "", "", certify_level_name(left->level));
		html_cell(out, "cases", "", count);
		html_cell(out, "why", "", left->why);
		g_string_append(out, "</tr>\n");
	}
	g_string_append(out, "</table>\n");
}

static void
failure_append(GString *out, const struct certify_report *report, const struct certify_case *one)
{
	const struct {
		const char *name, *text;
	} rows[] = {
		{"rule", one->rule},         {"what", one->what}, {"where", one->where},
		{"expected", one->expected}, {"seen", one->seen},
	};
	g_autofree char *again = certify_again(report, one);

	g_string_append(out, "<section><h3>");
	text_append(out, one->id);
	g_string_append(out, "</h3><p>");
	text_append(out, one->title);
	g_string_append(out, "</p>\n<table>\n");
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_string_append(out, "<tr>");
		html_cell(out, "", "", rows[i].name);
		html_cell(out, "", "", rows[i].text);
		g_string_append(out, "</tr>\n");
	}
	g_string_append_printf(out,
			       "<tr><td>failed</td><td>%u of %u runs</td></tr>\n</table>\n"
			       "<p>This repeats it:</p><pre>",
			       one->failed, one->runs);
	text_append(out, again);
	g_string_append(out, "</pre>\n<p>It printed last:</p><pre>");
	text_append(out, one->output);
	g_string_append(out, "</pre></section>\n");
}

static void
failures_append(GString *out, const struct certify_report *report)
{
	if (certify_count_all(report, CERTIFY_FAILED) == 0)
		return;
	g_string_append(out, "<h2>Failures</h2>\n");
	for (guint i = 0; i < report->cases->len; i++) {
		const struct certify_case *one = g_ptr_array_index(report->cases, i);

		if (one->outcome == CERTIFY_FAILED)
			failure_append(out, report, one);
	}
}

static void
claims_append(GString *out, const struct certify_report *report)
{
	g_string_append(out, "<h2>Claims of the profile</h2>\n<table>\n");
	html_heads(out, (const char *[]){"attribute", "value", "truth", "by", "meaning", NULL});
	for (guint i = 0; i < report->claims->len; i++) {
		const struct certify_claim *claim = g_ptr_array_index(report->claims, i);
		const char *truth =
			claim->informs ? "for information" : certify_truth_name(claim->truth);

		g_string_append(out, "<tr>");
		html_cell(out, "", "", claim->name);
		html_cell(out, "value", "", claim->value);
		html_cell(out, "truth", verdict_class(truth), truth);
		html_cell(out, "by", "", claim->by);
		html_cell(out, "meaning", "", claim->meaning);
		g_string_append(out, "</tr>\n");
	}
	g_string_append(out, "</table>\n");
}

static void
cases_append(GString *out, const struct certify_report *report)
{
	g_string_append(out, "<h2>All cases</h2>\n<table>\n");
	html_heads(out, (const char *[]){"case", "what must hold", "rule", "outcome", "why",
					 "seconds", NULL});
	for (guint i = 0; i < report->cases->len; i++) {
		const struct certify_case *one = g_ptr_array_index(report->cases, i);
		const char *outcome = certify_outcome_name(one->outcome);
		g_autofree char *took = g_strdup_printf("%.3f", one->took);
		g_autofree char *failure = one->outcome == CERTIFY_FAILED
						   ? g_strdup_printf("%s: %s", one->what, one->seen)
						   : NULL;
		const char *why = failure != NULL ? failure : one->reason;

		g_string_append(out, "<tr>");
		html_cell(out, "", "", one->id);
		html_cell(out, "must hold", "", one->title);
		html_cell(out, "rule", "", one->rule);
		html_cell(out, "outcome", verdict_class(outcome), outcome);
		html_cell(out, "why", "", why);
		html_cell(out, "seconds", "", took);
		g_string_append(out, "</tr>\n");
	}
	g_string_append(out, "</table>\n");
}

bool
certify_html_write(const struct certify_report *report, const char *path, GError **error)
{
	GString *out =
		g_string_new("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
			     "<meta name=\"viewport\" content=\"width=device-width\">"
			     "<title>");
	bool certified = certify_is_good(report), written;

	text_append(out, certify_fact(report, "adapter"));
	g_string_append_printf(out, " - it-certify</title>\n<style>%s</style></head><body>\n<h1>",
			       page_style);
	text_append(out, certify_fact(report, "adapter"));
	g_string_append_printf(out, " <span class=\"%s\">%s</span></h1>\n",
			       certified ? "good" : "bad",
			       !certified                           ? "not certified"
			       : strcmp(report->scope, "part") == 0 ? "passed in part"
								    : "certified");
	facts_append(out, report);
	levels_append(out, report);
	left_append(out, report);
	failures_append(out, report);
	claims_append(out, report);
	certify_curves_append(out, report);
	cases_append(out, report);
	g_string_append(out, "</body></html>\n");
	written = certify_write(path, out->str, out->len, error);
	g_string_free(out, TRUE);
	return written;
}
