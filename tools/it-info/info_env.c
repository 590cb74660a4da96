/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "info_env.h"

#include <stdio.h>
#include <string.h>

#include "it_ext.h"
#include "tool_error.h"
#include "tool_json.h"
#include "tool_print.h"

#define WIDTH 76 /* of a line, without its indent */

/* All settings; *count of them. g_free() the array. NULL: the error is set. */
static itx_setting_t *
list_settings(size_t *count, GError **error)
{
	size_t room = 0;
	size_t total = 0;
	itx_setting_t *list;

	if (!tool_check(itx_settings_list(NULL, &room, &total), "itx_settings_list", error))
		return NULL;
	list = g_new0(itx_setting_t, total + 1);
	*count = total;
	if (tool_check(itx_settings_list(list, count, &total), "itx_settings_list", error))
		return list;
	g_free(list);
	return NULL;
}

/* A text of several words, broken into lines that are indented. */
static void
print_wrapped(const char *text)
{
	g_autofree char *safe = tool_escape(text);
	g_auto(GStrv) words = g_strsplit(safe, " ", -1);
	size_t column = 0;

	for (char **word = words; *word != NULL; word++) {
		size_t length = strlen(*word);

		if (column > 0 && column + 1 + length > WIDTH) {
			printf("\n");
			column = 0;
		}
		printf("%s%s", column == 0 ? "    " : " ", *word);
		column += length + (column > 0 ? 1 : 0);
	}
	printf("\n");
}

static void
print_setting(const itx_setting_t *setting)
{
	g_autofree char *name = tool_escape(setting->name);
	g_autofree char *value = tool_escape(setting->value);
	g_autofree char *origin = tool_escape(setting->origin);

	if (value[0] != '\0' || setting->owner[0] == '\0')
		printf("%s = %s  [%s]\n", name, value, origin);
	else
		printf("%s is not set\n", name);
	if (setting->owner[0] != '\0') {
		g_autofree char *told = g_strdup_printf(
			"%s. Allowed: %s. Default: %s.%s", setting->meaning, setting->range,
			setting->preset[0] != '\0' ? setting->preset : "none",
			setting->set_uid ? " Read by set-uid programs too." : "");

		print_wrapped(told);
	}
	if (setting->trouble[0] != '\0') {
		g_autofree char *trouble = g_strdup_printf("Trouble: %s", setting->trouble);

		print_wrapped(trouble);
	}
}

static void
print_all(const itx_setting_t *list, size_t count)
{
	const char *owner = NULL;

	printf("Programs with more rights than their caller (set-uid, capabilities of their\n"
	       "file) ignore every variable that is not marked, and so the file as well.\n");
	for (size_t i = 0; i < count; i++) {
		if (owner == NULL || strcmp(owner, list[i].owner) != 0) {
			owner = list[i].owner;
			printf("\n-- %s --\n", owner[0] != '\0' ? owner : "read by nobody");
		}
		print_setting(&list[i]);
	}
}

static void
json_all(const char *program, const itx_setting_t *list, size_t count, bool good)
{
	JsonBuilder *json = tool_json_begin(program);

	json_builder_set_member_name(json, "settings");
	json_builder_begin_array(json);
	for (size_t i = 0; i < count; i++) {
		json_builder_begin_object(json);
		tool_json_text(json, "name", list[i].name);
		tool_json_text(json, "owner", list[i].owner);
		tool_json_text(json, "meaning", list[i].meaning);
		tool_json_text(json, "range", list[i].range);
		tool_json_text(json, "default", list[i].preset);
		tool_json_text(json, "value", list[i].value);
		tool_json_text(json, "origin", list[i].origin);
		tool_json_text(json, "trouble", list[i].trouble);
		tool_json_boolean(json, "set_uid", list[i].set_uid);
		json_builder_end_object(json);
	}
	json_builder_end_array(json);
	tool_json_boolean(json, "ok", good);
	tool_json_print(json);
}

bool
info_env(const char *program, bool as_json, GError **error)
{
	size_t count = 0;
	g_autofree itx_setting_t *list = list_settings(&count, error);
	bool good = true;

	if (list == NULL)
		return false;
	for (size_t i = 0; i < count; i++)
		good = good && list[i].trouble[0] == '\0';
	if (as_json)
		json_all(program, list, count, good);
	else
		print_all(list, count);
	return good;
}
