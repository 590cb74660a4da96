/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include <stdio.h>
#include <string.h>

#include "sim/sim_sweep.h"
#include "tool_error.h"
#include "tool_json.h"
#include "tool_output.h"

/* The command that repeats a seed. */
static char *
command_of(const struct sim_sweep_options *options, uint64_t seed)
{
	g_autofree char *path = g_shell_quote(options->path);

	return g_strdup_printf("it-sim %s --seed %" G_GUINT64_FORMAT " --trace",
			       strpbrk(options->path, " '\"$\\*?;&|<>()[]{}!#~`\t\n") == NULL
				       ? options->path
				       : path,
			       seed);
}

void
sim_report_print(const struct sim_sweep_options *options, const struct sim_sweep *sweep)
{
	if (options->first == options->last)
		printf("seed %" G_GUINT64_FORMAT ": %s, %" G_GUINT64_FORMAT
		       " steps, %" G_GUINT64_FORMAT ".%06u ms, hash %016" G_GINT64_MODIFIER "x\n",
		       options->first, sweep->good == 1 ? "good" : "bad", sweep->steps,
		       sweep->time / 1000000, (unsigned)(sweep->time % 1000000), sweep->hash);
	else
		printf("%" G_GUINT64_FORMAT " seeds, %" G_GUINT64_FORMAT " good, %" G_GUINT64_FORMAT
		       " bad, hash %016" G_GINT64_MODIFIER "x\n",
		       sweep->seeds, sweep->good, sweep->seeds - sweep->good, sweep->hash);
	for (guint i = 0; i < sweep->failures->len; i++) {
		const struct sim_failure *failure = g_ptr_array_index(sweep->failures, i);
		g_autofree char *command = command_of(options, failure->first);

		printf("\n%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " seeds: %s\n  %s\n",
		       failure->count, sweep->seeds, failure->text, command);
	}
}

void
sim_report_json(const struct sim_sweep_options *options, const struct sim_sweep *sweep)
{
	JsonBuilder *json = tool_json_begin("it-sim");
	g_autofree char *hash = g_strdup_printf("%016" G_GINT64_MODIFIER "x", sweep->hash);

	tool_json_boolean(json, "ok", sweep->failures->len == 0);
	tool_json_text(json, "scenario", options->path);
	tool_json_count(json, "seeds", sweep->seeds);
	tool_json_count(json, "good", sweep->good);
	tool_json_text(json, "hash", hash);
	json_builder_set_member_name(json, "failures");
	json_builder_begin_array(json);
	for (guint i = 0; i < sweep->failures->len; i++) {
		const struct sim_failure *failure = g_ptr_array_index(sweep->failures, i);
		g_autofree char *command = command_of(options, failure->first);

		json_builder_begin_object(json);
		tool_json_text(json, "kind", failure->kind);
		tool_json_text(json, "text", failure->text);
		tool_json_count(json, "seed", failure->first);
		tool_json_count(json, "count", failure->count);
		tool_json_text(json, "command", command);
		json_builder_end_object(json);
	}
	json_builder_end_array(json);
	tool_json_print(json);
}

bool
sim_report_junit(const struct sim_sweep_options *options, const struct sim_sweep *sweep,
		 const char *file, GError **error)
{
	GString *xml = g_string_new("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	g_autofree char *path = g_filename_display_name(options->path);
	g_autofree char *name = g_markup_escape_text(path, -1);
	int number;

	g_string_append_printf(xml, "<testsuite name=\"it-sim %s\" tests=\"%u\" failures=\"%u\">\n",
			       name, MAX(sweep->failures->len, 1), sweep->failures->len);
	if (sweep->failures->len == 0)
		g_string_append_printf(
			xml,
			"  <testcase classname=\"it-sim\" name=\"%s: %" G_GUINT64_FORMAT
			" seeds\"/>\n",
			name, sweep->seeds);
	for (guint i = 0; i < sweep->failures->len; i++) {
		const struct sim_failure *failure = g_ptr_array_index(sweep->failures, i);
		g_autofree char *command = command_of(options, failure->first);
		g_autofree char *element = g_markup_printf_escaped(
			"  <testcase classname=\"it-sim\" name=\"%s: %s\">\n"
			"    <failure message=\"%s\">%s\nseed %" G_GUINT64_FORMAT
			", and %" G_GUINT64_FORMAT " more\n%s</failure>\n  </testcase>\n",
			path, failure->kind, failure->kind, failure->text, failure->first,
			failure->count - 1, command);

		g_string_append(xml, element);
	}
	g_string_append(xml, "</testsuite>\n");
	number = tool_output_file(file, xml->str, xml->len);
	g_string_free(xml, TRUE);
	return number == 0 ||
	       tool_fail(error, TOOL_ERROR_FAILED, "%s: %s", file, g_strerror(number));
}
