/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* it-ping: the command line, and which side of which protocol it wants. */

#include "ping.h"
#include "tool_error.h"
#include "tool_self.h"
#include "tool_signal.h"

#define DEFAULT_PORT 7174 /* that of rping, too */
#define DEFAULT_SIZE "64"

static bool
self_client(void *arg, uint16_t port, GError **error)
{
	struct ping *ping = arg;
	struct tool_adapter adapter;
	bool good;

	if (!tool_adapter_open(&adapter, ping->options.adapter, error))
		return false;
	good = ping->rping ? ping_rping_client(ping, &adapter, port, error)
			   : ping_own_client(ping, &adapter, port, error);
	tool_adapter_close(&adapter);
	return good;
}

static bool
self_server(void *arg, struct tool_ready *ready, GError **error)
{
	const struct ping *ping = arg;
	struct tool_service service = {.program = PING_PROGRAM,
				       .tool = TOOL_PING,
				       .options = &ping->options,
				       .foreign = ping->rping,
				       .one = ping->rping ? ping_rping_serve : ping_own_serve,
				       .arg = arg};

	return tool_serve(&service, ready, error);
}

static bool
parse_options(struct ping *ping, int *argc, char ***argv, GError **error)
{
	g_autofree char *count = NULL;
	g_autofree char *size = NULL;
	GOptionEntry entries[] = {
		{"count", 'C', 0, G_OPTION_ARG_STRING, &count,
		 "Round trips; 0 is until stopped (default: 0)", "N"},
		{"size", 'S', 0, G_OPTION_ARG_STRING, &size,
		 "Bytes of a buffer (default: " DEFAULT_SIZE ")", "N"},
		{"rping", 0, 0, G_OPTION_ARG_NONE, &ping->rping,
		 "Be the other side of an rping, in its protocol", NULL},
		{"verify", 0, 0, G_OPTION_ARG_NONE, &ping->verify,
		 "Server with --rping: check the text that it reads, too", NULL},
		{"verbose", 'v', 0, G_OPTION_ARG_NONE, &ping->verbose, "Print every round trip",
		 NULL},
		{NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL},
	};
	g_autoptr(GOptionContext) context = g_option_context_new("[HOST] - verified round trips");

	g_option_context_set_summary(context, "The side without HOST is the server.");
	tool_options_add(&ping->options, context, DEFAULT_PORT);
	tool_options_add_memory(&ping->options, context);
	g_option_context_add_main_entries(context, entries, NULL);
	if (!tool_options_parse(&ping->options, context, argc, argv, error) ||
	    !tool_number(count != NULL ? count : "0", 0, UINT64_MAX, &ping->count, error) ||
	    !tool_number(size != NULL ? size : DEFAULT_SIZE, 1, PING_MAX_SIZE, &ping->size, error))
		return false;
	if (ping->rping && !ping_rping_size(ping->size, error))
		return false;
	if (ping->verify && !ping->rping)
		return tool_fail(error, TOOL_ERROR_USAGE, "--verify needs --rping");
	if (*argc > 2 || (ping->options.self && *argc > 1))
		return tool_fail(error, TOOL_ERROR_USAGE, "'%s' is too much", (*argv)[*argc - 1]);
	ping->host = *argc == 2 ? (*argv)[1] : NULL;
	return true;
}

int
main(int argc, char **argv)
{
	struct ping ping = {0};
	struct tool_sides sides = {.arg = &ping, .server = self_server, .client = self_client};
	GError *error = NULL;
	bool good;

	tool_begin();
	good = parse_options(&ping, &argc, &argv, &error);
	if (good && ping.options.self)
		good = tool_self_run(&sides, &error);
	else if (good && ping.host != NULL)
		good = self_client(&ping, ping.options.port, &error);
	else if (good)
		good = self_server(&ping, NULL, &error);
	return tool_end(PING_PROGRAM, &ping.options, good, error);
}
