/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ri_fd.h"
#include "tool_error.h"
#include "tool_json.h"
#include "tool_log.h"
#include "tool_options.h"
#include "tool_output.h"
#include "tool_print.h"
#include "tool_signal.h"

#define DEFAULT_ADAPTER "iwarp"
#define DEFAULT_SECONDS "30"
#define DEFAULT_CLIENTS "16"
#define DEFAULT_MEMORY  "64m"
#define MAX_SECONDS     86400
#define MAX_CLIENTS     1024

void
tool_begin(void)
{
	tool_output_watch();
	/* A file that is read or written must not be what stdout or stderr refer to. */
	ri_fd_standard_open();
	/* Refused providers and other lasting problems are logged at the library's default level. */
	tool_log_begin();
	/* Only the character set of the terminal; messages and numbers stay as they are. */
	setlocale(LC_CTYPE, "");
	tool_signal_watch();
	setvbuf(stdout, NULL, _IOLBF, 0);
	/* The first error sets up tables of GLib, which ThreadSanitizer takes for a race if two threads meet there. */
	g_error_free(g_error_new_literal(TOOL_ERROR, TOOL_ERROR_FAILED, ""));
}

int
tool_end(const char *program, struct tool_options *options, bool good, GError *error)
{
	bool stopped = tool_stopped() && g_error_matches(error, TOOL_ERROR, TOOL_ERROR_INTERRUPTED);
	int status = 0;

	if (stopped && options->told) {
		g_clear_error(&error);
	} else if (!good) {
		if (options->json && error != NULL)
			tool_json_failure(program, error);
		status = tool_die(program, error);
	}
	if (stopped)
		status = 128 + tool_stop_signal();
	tool_options_free(options);
	return status;
}

bool
tool_parse(GOptionContext *context, int *argc, char ***argv, GError **error)
{
	gboolean version = FALSE;
	GOptionEntry entries[] = {
		{"version", 'V', 0, G_OPTION_ARG_NONE, &version, "Print the version", NULL},
		{NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL},
	};

	g_option_context_add_main_entries(context, entries, NULL);
	if (!g_option_context_parse(context, argc, argv, error))
		return false;
	if (!version)
		return true;
	printf("%s (itapi) %s\n", g_get_prgname(), TOOL_PACKAGE_VERSION);
	exit(0);
}

void
tool_options_add(struct tool_options *options, GOptionContext *context, uint16_t port)
{
	char *port_help =
		g_strdup_printf("Port of the server; 0: any free one (default: %u)", port);
	GOptionEntry entries[] = {
		{"adapter", 'a', 0, G_OPTION_ARG_FILENAME, &options->adapter,
		 "Adapter, as it-info lists them (default: " DEFAULT_ADAPTER ")", "NAME"},
		{"port", 'p', 0, G_OPTION_ARG_STRING, &options->port_typed, port_help, "PORT"},
		{"timeout", 0, 0, G_OPTION_ARG_STRING, &options->seconds_typed,
		 "Longest silence of the peer; 0: any (default: " DEFAULT_SECONDS ")", "SECONDS"},
		{"json", 0, 0, G_OPTION_ARG_NONE, &options->json, "Print the result for programs",
		 NULL},
		{"self", 0, 0, G_OPTION_ARG_NONE, &options->self, "Run both sides in this process",
		 NULL},
		{"persistent", 'P', 0, G_OPTION_ARG_NONE, &options->persistent,
		 "Server: serve until stopped (default: one client)", NULL},
		{"clients", 0, 0, G_OPTION_ARG_STRING, &options->clients_typed,
		 "Server: clients at once, with -P (default: " DEFAULT_CLIENTS ")", "N"},
		{NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL},
	};

	g_option_context_set_description(
		context,
		"Adapters that fail on demand: an adapter lists the commands that it takes if\n"
		"ITAPI_EMUL_FAULTS (emul:*) or ITAPI_FAULTY (faulty:NAME) is 'help'.");
	memset(options, 0, sizeof(*options));
	options->port_default = port;
	options->port_help = port_help; /* the context keeps a pointer to it */
	g_option_context_add_main_entries(context, entries, NULL);
}

void
tool_options_add_memory(struct tool_options *options, GOptionContext *context)
{
	GOptionEntry entries[] = {
		{"memory", 0, 0, G_OPTION_ARG_STRING, &options->memory_typed,
		 "Server: bytes for each client (default: " DEFAULT_MEMORY ")", "N"},
		{NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL},
	};

	g_option_context_add_main_entries(context, entries, NULL);
}

/* A number as typed, or its default. */
static bool
read_number(const char *typed, const char *otherwise, uint64_t low, uint64_t high, uint64_t *value,
	    GError **error)
{
	return tool_number(typed != NULL ? typed : otherwise, low, high, value, error);
}

bool
tool_options_parse(struct tool_options *options, GOptionContext *context, int *argc, char ***argv,
		   GError **error)
{
	uint64_t port = options->port_default;
	uint64_t seconds = 0;
	uint64_t clients = 0;

	if (!tool_parse(context, argc, argv, error))
		return false;
	if (!read_number(options->seconds_typed, DEFAULT_SECONDS, 0, MAX_SECONDS, &seconds,
			 error) ||
	    !read_number(options->clients_typed, DEFAULT_CLIENTS, 1, MAX_CLIENTS, &clients,
			 error) ||
	    !read_number(options->memory_typed, DEFAULT_MEMORY, 1, TOOL_MEMORY_MAX,
			 &options->memory, error))
		return false;
	if (options->port_typed != NULL &&
	    !tool_number(options->port_typed, 0, UINT16_MAX, &port, error))
		return false;
	if (options->adapter == NULL)
		options->adapter = g_strdup(DEFAULT_ADAPTER);
	options->port = (uint16_t)port;
	options->seconds = (unsigned)seconds;
	options->clients = (size_t)clients;
	return true;
}

void
tool_options_free(struct tool_options *options)
{
	g_clear_pointer(&options->adapter, g_free);
	g_clear_pointer(&options->port_typed, g_free);
	g_clear_pointer(&options->seconds_typed, g_free);
	g_clear_pointer(&options->clients_typed, g_free);
	g_clear_pointer(&options->memory_typed, g_free);
	g_clear_pointer(&options->port_help, g_free);
}

/* The digits at the beginning of a text; *unit points to what follows them. */
static bool
read_digits(const char *text, uint64_t *value, const char **unit)
{
	char *end = NULL;

	errno = 0;
	*value = g_ascii_strtoull(text, &end, 10);
	*unit = end;
	return g_ascii_isdigit(*text) && errno == 0;
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
tool_number(const char *text, uint64_t low, uint64_t high, uint64_t *number_out, GError **error)
{
	const char *unit;
	uint64_t value;
	unsigned shift;

	if (!read_digits(text, &value, &unit))
		return tool_fail(error, TOOL_ERROR_USAGE, "'%s' is not a number", text);
	shift = unit_shift(unit);
	if (shift == 64 || value > UINT64_MAX >> shift)
		return tool_fail(error, TOOL_ERROR_USAGE, "'%s' is not a number", text);
	value <<= shift;
	if (value < low || value > high)
		return tool_fail(error, TOOL_ERROR_USAGE,
				 "%s is not between %" G_GUINT64_FORMAT " and %" G_GUINT64_FORMAT,
				 text, low, high);
	*number_out = value;
	return true;
}

bool
tool_duration(const char *text, uint64_t *us, GError **error)
{
	static const struct {
		const char *name;
		uint64_t us;
	} units[] = {
		{"", 1000000}, {"ms", 1000}, {"s", 1000000}, {"m", 60000000}, {"h", 3600000000}};
	const char *unit;
	uint64_t value;

	if (!read_digits(text, &value, &unit))
		return tool_fail(error, TOOL_ERROR_USAGE, "'%s' is not a time", text);
	for (size_t i = 0; i < G_N_ELEMENTS(units); i++) {
		if (g_ascii_strcasecmp(unit, units[i].name) != 0)
			continue;
		if (value == 0 || value > TOOL_DURATION_MAX / units[i].us)
			return tool_fail(error, TOOL_ERROR_USAGE, "a time is 1ms to 24h, not '%s'",
					 text);
		*us = value * units[i].us;
		return true;
	}
	return tool_fail(error, TOOL_ERROR_USAGE, "'%s' has no unit of time: ms, s, m or h", text);
}

void
tool_announce(const char *adapter, uint16_t port)
{
	g_autofree char *name = tool_escape(adapter);
	g_autofree char *line = g_strdup_printf("listening on port %u of %s\n", port, name);

	tool_say(line);
}
