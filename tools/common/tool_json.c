/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include <stdio.h>

#include "tool_json.h"

JsonBuilder *
tool_json_begin(const char *tool)
{
	JsonBuilder *json = json_builder_new();

	json_builder_begin_object(json);
	tool_json_text(json, "tool", tool);
	return json;
}

void
tool_json_element(JsonBuilder *json, const char *value)
{
	g_autofree char *valid = g_utf8_make_valid(value, -1);

	json_builder_add_string_value(json, valid);
}

void
tool_json_text(JsonBuilder *json, const char *name, const char *value)
{
	json_builder_set_member_name(json, name);
	tool_json_element(json, value);
}

void
tool_json_count(JsonBuilder *json, const char *name, uint64_t value)
{
	json_builder_set_member_name(json, name);
	json_builder_add_int_value(json, (gint64)MIN(value, (uint64_t)G_MAXINT64));
}

void
tool_json_number(JsonBuilder *json, const char *name, double value)
{
	json_builder_set_member_name(json, name);
	json_builder_add_double_value(json, value);
}

void
tool_json_boolean(JsonBuilder *json, const char *name, bool value)
{
	json_builder_set_member_name(json, name);
	json_builder_add_boolean_value(json, value);
}

/* A character as JSON's escape, or two of them: a surrogate pair. */
static void
append_escaped(GString *out, gunichar c)
{
	if (c < 0x10000) {
		g_string_append_printf(out, "\\u%04x", c);
		return;
	}
	g_string_append_printf(out, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10),
			       0xdc00 + ((c - 0x10000) & 0x3ff));
}

void
tool_json_print(JsonBuilder *json)
{
	g_autoptr(JsonNode) root = NULL;
	g_autofree char *text = NULL;
	GString *out = g_string_new(NULL);

	json_builder_end_object(json);
	root = json_builder_get_root(json);
	text = json_to_string(root, TRUE);
	for (const char *at = text; *at != '\0'; at = g_utf8_next_char(at)) {
		gunichar c = g_utf8_get_char(at);

		/* Below the space the generator has escaped what is in strings already. */
		if (c < 0x7f)
			g_string_append_c(out, (gchar)c);
		else
			append_escaped(out, c);
	}
	printf("%s\n", out->str);
	fflush(stdout);
	g_string_free(out, TRUE);
	g_object_unref(json);
}

void
tool_json_failure(const char *tool, const GError *error)
{
	JsonBuilder *json = tool_json_begin(tool);

	tool_json_boolean(json, "ok", false);
	tool_json_text(json, "error", error->message);
	tool_json_print(json);
}
