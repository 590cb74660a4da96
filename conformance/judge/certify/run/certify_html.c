/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The report as one page, which needs no other file. */

#include "certify_model.h"

#include <stdio.h>
#include <string.h>

static const char page_style[] =
	"body{font-family:sans-serif;margin:2em auto;max-width:70em;color:#222;"
	"overflow-wrap:anywhere}"
	"table{border-collapse:collapse;margin:1em 0}"
	"td,th{border:1px solid #bbb;padding:.2em .6em;text-align:left;vertical-align:top}"
	"th{background:#eee}.good{background:#cfc}.bad{background:#fbb}.open{background:#eee}"
	"pre{background:#f4f4f4;padding:.6em;overflow:auto;white-space:pre-wrap}"
	"svg{background:#fff;border:1px solid #bbb;margin:.5em 0;max-width:100%;height:auto}h1 "
	"span{padding:0 .4em}"
	"code{font-size:95%}section{border-left:4px solid #c33;padding-left:1em;margin:1.5em 0}"
	"@media(max-width:50em){body{margin:1em .6em}table,tbody,tr,td{display:block}"
	"tr.heads{display:none}table{width:100%}tr{border:1px solid #bbb;margin:.4em 0}"
	"td{border:0;padding:.15em .5em}td:empty{display:none}"
	"td:first-child{font-weight:bold}"
	"td[data-head]::before{content:attr(data-head) ': ';color:#666}section{padding-left:.5em}}";

static void
text_append(GString *out, const char *text)
{
	g_autofree char *safe = g_markup_escape_text(text, -1);

	g_string_append(out, safe);
}

/* A cell carries the head of its column, which a narrow page shows in each cell instead of a row of heads. */
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

static const char *
verdict_class(const char *verdict)
{
	if (strcmp(verdict, "passed") == 0 || strcmp(verdict, "proven") == 0)
		return "good";
	return strcmp(verdict, "failed") == 0 || strcmp(verdict, "refuted") == 0 ? "bad" : "open";
}

/* --- tables of elements of the report ---------------------------------------------------------- */

/* A column: its head, and the member that it shows. Text that the caller frees. */
struct column {
	const char *head, *name;
	char *(*text)(JsonObject *element, const char *name);
	bool is_verdict;
};

static char *
text(JsonObject *element, const char *name)
{
	return g_strdup(model_text(element, name));
}

static char *
count(JsonObject *element, const char *name)
{
	return g_strdup_printf("%" G_GINT64_FORMAT, model_count(element, name));
}

static char *
count_or_all(JsonObject *element, const char *name)
{
	return model_count(element, name) > 0 ? count(element, name) : g_strdup("all");
}

static char *
number(JsonObject *element, const char *name)
{
	return g_strdup_printf("%.3f", model_number(element, name));
}

/* Why a case has its outcome. */
static char *
why(JsonObject *element, const char *name)
{
	if (!model_is(element, "outcome", certify_outcome_name(CERTIFY_FAILED)))
		return text(element, name);
	return g_strdup_printf("%s: %s", model_text(element, "what"), model_text(element, "seen"));
}

static void
table_append(GString *out, JsonObject *model, const char *title, const char *array,
	     const struct column *columns)
{
	g_string_append_printf(out, "<h2>%s</h2>\n<table>\n<tr class=\"heads\">", title);
	for (const struct column *at = columns; at->head != NULL; at++)
		g_string_append_printf(out, "<th>%s</th>", at->head);
	g_string_append(out, "</tr>\n");
	for (guint i = 0; i < model_length(model, array); i++) {
		JsonObject *element = model_element(model, array, i);

		g_string_append(out, "<tr>");
		for (const struct column *at = columns; at->head != NULL; at++) {
			g_autofree char *shown = at->text(element, at->name);

			html_cell(out, at == columns ? "" : at->head,
				  at->is_verdict ? verdict_class(shown) : "", shown);
		}
		g_string_append(out, "</tr>\n");
	}
	g_string_append(out, "</table>\n");
}

static const struct column level_columns[] = {
	{"level", "level", text, false},
	{"verdict", "verdict", text, true},
	{"passed", "passed", count, false},
	{"failed", "failed", count, false},
	{"not testable here", "not testable here", count, false},
	{"not applicable", "not applicable", count, false},
	{"not run", "not run", count, false},
	{NULL, NULL, NULL, false},
};
static const struct column left_columns[] = {
	{"level", "level", text, false},
	{"cases", "cases", count_or_all, false},
	{"why", "why", text, false},
	{NULL, NULL, NULL, false},
};
static const struct column claim_columns[] = {
	{"attribute", "attribute", text, false}, {"value", "value", text, false},
	{"truth", "truth", text, true},          {"by", "by", text, false},
	{"meaning", "meaning", text, false},     {NULL, NULL, NULL, false},
};
static const struct column case_columns[] = {
	{"case", "id", text, false},   {"what must hold", "title", text, false},
	{"rule", "rule", text, false}, {"outcome", "outcome", text, true},
	{"why", "reason", why, false}, {"seconds", "seconds", number, false},
	{NULL, NULL, NULL, false},
};

/* --- the rest of the page ---------------------------------------------------------------------- */

static void
pair_append(GString *out, const char *name, const char *value)
{
	g_string_append(out, "<tr>");
	html_cell(out, "", "", name);
	html_cell(out, "", "", value);
	g_string_append(out, "</tr>\n");
}

static void
facts_append(GString *out, JsonObject *model)
{
	JsonObject *facts = json_object_get_object_member(model, "facts");
	g_autoptr(GList) names = json_object_get_members(facts);
	g_autoptr(GDateTime) began = g_date_time_new_from_iso8601(model_text(model, "began"), NULL);
	g_autofree char *when = began != NULL ? g_date_time_format(began, "%F %T UTC") : NULL;

	g_string_append(out, "<h2>What was certified</h2>\n<table>\n");
	for (const GList *at = names; at != NULL; at = at->next)
		pair_append(out, at->data, model_text(facts, at->data));
	g_string_append_printf(out,
			       "<tr><td>begun</td><td>%s, %.1f seconds</td></tr>\n"
			       "<tr><td>seed</td><td>%" G_GINT64_FORMAT "</td></tr>\n",
			       when != NULL ? when : "", model_number(model, "seconds"),
			       model_count(model, "seed"));
	pair_append(out, "scope", model_text(model, "scope"));
	g_string_append(out, "</table>\n");
}

static void
failure_append(GString *out, JsonObject *one)
{
	static const char *const rows[] = {"rule", "what", "where", "expected", "seen"};

	g_string_append(out, "<section><h3>");
	text_append(out, model_text(one, "id"));
	g_string_append(out, "</h3><p>");
	text_append(out, model_text(one, "title"));
	g_string_append(out, "</p>\n<table>\n");
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
		pair_append(out, rows[i], model_text(one, rows[i]));
	g_string_append_printf(out,
			       "<tr><td>failed</td><td>%" G_GINT64_FORMAT " of %" G_GINT64_FORMAT
			       " runs</td></tr>\n</table>\n<p>This repeats it:</p><pre>",
			       model_count(one, "failures"), model_count(one, "runs"));
	text_append(out, model_text(one, "again"));
	g_string_append(out, "</pre>\n");
	if (*model_text(one, "output") != '\0') {
		g_string_append(out, "<p>It printed last:</p><pre>");
		text_append(out, model_text(one, "output"));
		g_string_append(out, "</pre>");
	}
	g_string_append(out, "</section>\n");
}

bool
certify_html_write(JsonObject *model, const char *path, GError **error)
{
	g_autoptr(GString) out =
		g_string_new("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
			     "<meta name=\"viewport\" content=\"width=device-width\">"
			     "<title>");
	const char *adapter = model_text(json_object_get_object_member(model, "facts"), "adapter");
	const char *verdict = model_verdict(model);
	bool failed = false;

	text_append(out, adapter);
	g_string_append_printf(out, " - it-certify</title>\n<style>%s</style></head><body>\n<h1>",
			       page_style);
	text_append(out, adapter);
	g_string_append_printf(out, " <span class=\"%s\">%s</span></h1>\n",
			       strcmp(verdict, "not certified") == 0 ? "bad"
			       : strcmp(verdict, "certified") == 0   ? "good"
								     : "open",
			       verdict);
	facts_append(out, model);
	table_append(out, model, "Verdict by level", "levels", level_columns);
	if (model_length(model, "left out") > 0)
		table_append(out, model, "What was left out", "left out", left_columns);
	for (guint i = 0; i < model_length(model, "cases"); i++) {
		JsonObject *one = model_element(model, "cases", i);

		if (!model_is(one, "outcome", certify_outcome_name(CERTIFY_FAILED)))
			continue;
		g_string_append(out, failed ? "" : "<h2>Failures</h2>\n");
		failure_append(out, one);
		failed = true;
	}
	table_append(out, model, "Claims of the profile", "claims", claim_columns);
	certify_curves_append(out, model);
	table_append(out, model, "All cases", "cases", case_columns);
	g_string_append(out, "</body></html>\n");
	return certify_write(path, out->str, out->len, error);
}

int
certify_page(const char *from, const char *to)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(JsonNode) root = certify_model_read(from, &error);

	if (root != NULL && certify_html_write(json_node_get_object(root), to, &error))
		return 0;
	fprintf(stderr, "it-certify: %s\n", error->message);
	return 2;
}
