/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "wire_report.h"

#include <stdio.h>
#include <string.h>

#include <json-glib/json-glib.h>

#include "tool_output.h"

static const char *const outcome_names[WIRE_OUTCOME_COUNT] = {
	[WIRE_PASSED] = "passed",
	[WIRE_FAILED] = "failed",
	[WIRE_SKIPPED] = "skipped",
	[WIRE_DEVIATION] = "known deviation",
	[WIRE_MENDED] = "passed, listed as a deviation",
};

static void
strv_free(gpointer data)
{
	g_strfreev(data);
}

void
wire_report_begin(struct wire_report *report, char *const *peer, guint count)
{
	report->peer = peer;
	report->began_us = g_get_real_time();
	report->results = g_array_new(FALSE, FALSE, sizeof(struct wire_result));
	if (report->deviations == NULL)
		report->deviations = g_ptr_array_new_with_free_func(strv_free);
	printf("TAP version 13\n1..%u\n", count);
	fflush(stdout);
}

gboolean
wire_report_deviations(struct wire_report *report, const char *path, GError **error)
{
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;

	if (!g_file_get_contents(path, &text, NULL, error))
		return FALSE;
	report->deviations = g_ptr_array_new_with_free_func(strv_free);
	lines = g_strsplit(text, "\n", -1);
	for (guint i = 0; lines[i] != NULL; i++) {
		const char *line = g_strstrip(lines[i]);
		g_auto(GStrv) parts = g_strsplit_set(line, " \t", 2);

		if (*line == '\0' || *line == '#')
			continue;
		if (parts[1] == NULL)
			return wire_fail(error, WIRE_ERROR_SCRIPT,
					 "%s:%u: a deviation wants a reason", path, i + 1);
		g_strchug(parts[1]);
		g_ptr_array_add(report->deviations, g_steal_pointer(&parts));
	}
	return TRUE;
}

const char *
wire_report_reason(const struct wire_report *report, const char *id)
{
	for (guint i = 0; i < report->deviations->len; i++) {
		char *const *deviation = g_ptr_array_index(report->deviations, i);

		if (g_pattern_match_simple(deviation[0], id))
			return deviation[1];
	}
	return NULL;
}

void
wire_report_add(struct wire_report *report, const struct wire_result *result)
{
	const char *id = result->one->id;
	guint number = report->results->len + 1;
	const char *text = result->text != NULL ? result->text : "";

	g_array_append_val(report->results, *result);
	report->counts[result->outcome]++;
	switch (result->outcome) {
	case WIRE_PASSED:
		printf("ok %u - %s\n", number, id);
		break;
	case WIRE_FAILED:
		printf("not ok %u - %s: %s\n# %s (%s)\n", number, id, text, result->one->title,
		       result->one->clause);
		if (result->capture != NULL)
			printf("# capture: %s\n", result->capture);
		break;
	case WIRE_SKIPPED:
		printf("ok %u - %s # SKIP %s\n", number, id, text);
		break;
	case WIRE_DEVIATION:
		printf("not ok %u - %s # TO"
		       "DO known deviation: %s\n# %s\n",
		       number, id, wire_report_reason(report, id), text);
		break;
	case WIRE_MENDED:
		printf("ok %u - %s\n# %s passes, but is listed as a deviation: %s\n", number, id,
		       id, wire_report_reason(report, id));
		break;
	case WIRE_OUTCOME_COUNT:
	default:
		break;
	}
	fflush(stdout);
}

void
wire_report_end(const struct wire_report *report)
{
	printf("#");
	for (guint i = 0; i < WIRE_OUTCOME_COUNT; i++)
		printf("%s %u %s", i > 0 ? "," : "", report->counts[i], outcome_names[i]);
	printf("\n");
}

gboolean
wire_report_save(const char *path, const void *octets, gsize len, GError **error)
{
	int number = tool_output_file(path, octets, len);

	if (number != 0)
		g_set_error(error, G_FILE_ERROR, (gint)g_file_error_from_errno(number),
			    "%s cannot be written: %s", path, g_strerror(number));
	return number == 0;
}

/* --- JSON ------------------------------------------------------------------------------------ */

static void
json_member(JsonBuilder *json, const char *name, const char *value)
{
	json_builder_set_member_name(json, name);
	if (value != NULL)
		json_builder_add_string_value(json, value);
	else
		json_builder_add_null_value(json);
}

static void
result_json(JsonBuilder *json, const struct wire_report *report, const struct wire_result *result)
{
	json_builder_begin_object(json);
	json_member(json, "id", result->one->id);
	json_member(json, "title", result->one->title);
	json_member(json, "clause", result->one->clause);
	json_member(json, "script", result->one->file);
	json_member(json, "outcome", outcome_names[result->outcome]);
	json_member(json, "text", result->text);
	if (result->outcome == WIRE_DEVIATION || result->outcome == WIRE_MENDED)
		json_member(json, "reason", wire_report_reason(report, result->one->id));
	json_member(json, "capture", result->capture);
	json_builder_set_member_name(json, "seconds");
	json_builder_add_double_value(json, (double)result->us / 1e6);
	json_builder_end_object(json);
}

gboolean
wire_report_json(const struct wire_report *report, const char *path, GError **error)
{
	g_autoptr(JsonBuilder) json = json_builder_new();
	g_autoptr(JsonGenerator) generator = json_generator_new();
	g_autoptr(JsonNode) root = NULL;
	g_autofree char *text = NULL;
	gsize len;

	json_builder_begin_object(json);
	json_member(json, "tool", "it-wire");
	json_builder_set_member_name(json, "peer");
	json_builder_begin_array(json);
	for (char *const *word = report->peer; *word != NULL; word++)
		json_builder_add_string_value(json, *word);
	json_builder_end_array(json);
	json_builder_set_member_name(json, "counts");
	json_builder_begin_object(json);
	for (guint i = 0; i < WIRE_OUTCOME_COUNT; i++) {
		json_builder_set_member_name(json, outcome_names[i]);
		json_builder_add_int_value(json, report->counts[i]);
	}
	json_builder_end_object(json);
	json_builder_set_member_name(json, "cases");
	json_builder_begin_array(json);
	for (guint i = 0; i < report->results->len; i++)
		result_json(json, report, &g_array_index(report->results, struct wire_result, i));
	json_builder_end_array(json);
	json_builder_end_object(json);
	root = json_builder_get_root(json);
	json_generator_set_root(generator, root);
	json_generator_set_pretty(generator, TRUE);
	text = json_generator_to_data(generator, &len);
	return wire_report_save(path, text, len, error);
}

/* --- HTML ------------------------------------------------------------------------------------ */

static const char page_head[] =
	"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>it-wire</title>\n"
	"<style>body{font-family:sans-serif;margin:2em}table{border-collapse:collapse}"
	"td,th{border:1px solid #bbb;padding:.2em .5em;text-align:left;vertical-align:top}"
	".failed td{background:#fbb}.skipped td{background:#eee}.known td{background:#fe9}"
	".listed td{background:#cef}</style></head><body>\n<h1>it-wire</h1>\n";

static void
html_cell(GString *out, const char *text)
{
	g_autofree char *safe = g_markup_escape_text(text != NULL ? text : "", -1);

	g_string_append_printf(out, "<td>%s</td>", safe);
}

static void
result_html(GString *out, const struct wire_report *report, const struct wire_result *result)
{
	static const char *const classes[WIRE_OUTCOME_COUNT] = {
		[WIRE_PASSED] = "passed",   [WIRE_FAILED] = "failed", [WIRE_SKIPPED] = "skipped",
		[WIRE_DEVIATION] = "known", [WIRE_MENDED] = "listed",
	};

	g_string_append_printf(out, "<tr class=\"%s\">", classes[result->outcome]);
	html_cell(out, result->one->id);
	html_cell(out, result->one->title);
	html_cell(out, result->one->clause);
	html_cell(out, outcome_names[result->outcome]);
	html_cell(out, result->text);
	html_cell(out, result->outcome == WIRE_DEVIATION || result->outcome == WIRE_MENDED
			       ? wire_report_reason(report, result->one->id)
			       : NULL);
	html_cell(out, result->capture);
	g_string_append(out, "</tr>\n");
}

gboolean
wire_report_html(const struct wire_report *report, const char *path, GError **error)
{
	g_autoptr(GString) out = g_string_new(page_head);
	g_autofree char *peer = g_strjoinv(" ", (char **)report->peer);
	g_autofree char *safe = g_markup_escape_text(peer, -1);
	g_autoptr(GDateTime) began =
		g_date_time_new_from_unix_utc(report->began_us / G_USEC_PER_SEC);
	g_autofree char *when = g_date_time_format(began, "%F %T");
	gboolean good;

	g_string_append_printf(out, "<p>Peer: %s<br>Begun: %s UTC</p>\n<ul>\n", safe, when);
	for (guint i = 0; i < WIRE_OUTCOME_COUNT; i++)
		g_string_append_printf(out, "<li>%u %s</li>\n", report->counts[i],
				       outcome_names[i]);
	g_string_append(out, "</ul>\n<table><tr><th>Case</th><th>What</th><th>Clause</th>"
			     "<th>Outcome</th><th>Why</th><th>Known reason</th><th>Capture</th>"
			     "</tr>\n");
	for (guint i = 0; i < report->results->len; i++)
		result_html(out, report, &g_array_index(report->results, struct wire_result, i));
	g_string_append(out, "</table></body></html>\n");
	good = wire_report_save(path, out->str, out->len, error);
	return good;
}

void
wire_report_free(struct wire_report *report)
{
	for (guint i = 0; report->results != NULL && i < report->results->len; i++) {
		struct wire_result *result = &g_array_index(report->results, struct wire_result, i);

		g_free(result->text);
		g_free(result->capture);
	}
	if (report->results != NULL)
		g_array_unref(report->results);
	if (report->deviations != NULL)
		g_ptr_array_unref(report->deviations);
	memset(report, 0, sizeof(*report));
}
