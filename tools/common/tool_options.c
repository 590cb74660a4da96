/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tool_error.h"
#include "tool_options.h"

#define DEFAULT_ADAPTER "iwarp"
#define DEFAULT_SECONDS 30
#define MAX_SECONDS     86400

void
tool_options_add(struct tool_options *options, GOptionContext *context, uint16_t port)
{
	GOptionEntry entries[] = {
		{"adapter", 'a', 0, G_OPTION_ARG_STRING, &options->adapter,
		 "Adapter, as it-info lists them (" DEFAULT_ADAPTER ")", "NAME"},
		{"port", 'p', 0, G_OPTION_ARG_INT, &options->port_typed,
		 "Port of the server; a server may say 0 for any", "PORT"},
		{"timeout", 0, 0, G_OPTION_ARG_INT, &options->seconds_typed,
		 "Patience with a silent peer (30); 0 is for ever", "SECONDS"},
		{"json", 0, 0, G_OPTION_ARG_NONE, &options->json, "Print the result for programs",
		 NULL},
		{"self", 0, 0, G_OPTION_ARG_NONE, &options->self, "Run both sides in this process",
		 NULL},
		{"persistent", 'P', 0, G_OPTION_ARG_NONE, &options->persistent,
		 "Server: go on after a client", NULL},
		{NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL},
	};

	memset(options, 0, sizeof(*options));
	options->port_typed = port;
	options->seconds_typed = DEFAULT_SECONDS;
	g_option_context_add_main_entries(context, entries, NULL);
}

bool
tool_options_parse(struct tool_options *options, GOptionContext *context, int *argc, char ***argv,
		   GError **error)
{
	if (!g_option_context_parse(context, argc, argv, error))
		return false;
	if (options->port_typed < 0 || options->port_typed > UINT16_MAX)
		return tool_fail(error, TOOL_ERROR_USAGE, "%d is not a port", options->port_typed);
	if (options->seconds_typed < 0 || options->seconds_typed > MAX_SECONDS)
		return tool_fail(error, TOOL_ERROR_USAGE, "a timeout is 0 to %d seconds",
				 MAX_SECONDS);
	if (options->adapter == NULL)
		options->adapter = g_strdup(DEFAULT_ADAPTER);
	options->port = (uint16_t)options->port_typed;
	options->seconds = (unsigned)options->seconds_typed;
	return true;
}

void
tool_options_free(struct tool_options *options)
{
	g_clear_pointer(&options->adapter, g_free);
}

static unsigned
unit_shift(const char *unit)
{
	static const char units[] = "kmg";
	const char *found = *unit == '\0' ? NULL : strchr(units, g_ascii_tolower(*unit));

	if (*unit == '\0')
		return 0;
	if (found == NULL || unit[1] != '\0')
		return 64; /* no such unit */
	return 10 * (unsigned)(found - units + 1);
}

bool
tool_number(const char *text, uint64_t low, uint64_t high, uint64_t *number, GError **error)
{
	char *end = NULL;
	uint64_t value;
	unsigned shift;

	errno = 0;
	value = g_ascii_strtoull(text, &end, 10);
	shift = unit_shift(end);
	if (!g_ascii_isdigit(*text) || end == text || errno != 0 || shift == 64 ||
	    value > UINT64_MAX >> shift)
		return tool_fail(error, TOOL_ERROR_USAGE, "'%s' is not a number", text);
	value <<= shift;
	if (value < low || value > high)
		return tool_fail(error, TOOL_ERROR_USAGE,
				 "%s is not between %" G_GUINT64_FORMAT " and %" G_GUINT64_FORMAT,
				 text, low, high);
	*number = value;
	return true;
}

void
tool_json_print(JsonBuilder *builder)
{
	g_autoptr(JsonNode) root = json_builder_get_root(builder);
	g_autofree char *text = json_to_string(root, TRUE);

	printf("%s\n", text);
	fflush(stdout);
	g_object_unref(builder);
}

void
tool_json_failure(const char *tool, const GError *error)
{
	JsonBuilder *builder = json_builder_new();

	json_builder_begin_object(builder);
	json_builder_set_member_name(builder, "tool");
	json_builder_add_string_value(builder, tool);
	json_builder_set_member_name(builder, "ok");
	json_builder_add_boolean_value(builder, FALSE);
	json_builder_set_member_name(builder, "error");
	json_builder_add_string_value(builder, error->message);
	json_builder_end_object(builder);
	tool_json_print(builder);
}

void
tool_announce(const char *adapter, uint16_t port)
{
	g_printerr("listening on port %u of %s\n", port, adapter);
}
