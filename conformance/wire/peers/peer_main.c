/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* peer: the other side of programs that others wrote, over IT-API. README.md says how it is used. */

#include <stdio.h>
#include <string.h>

#include "peer.h"
#include "tool_error.h"
#include "tool_json.h"

#define MAX_COUNT       1000000
#define MAX_CONNECTIONS 10000
#define DEFAULT_TIME    2

static const struct peer_protocol *const protocols[] = {
	&peer_simple,   &peer_xsimple, &peer_ucmatose, &peer_cmtime,   &peer_rstream,
	&peer_write_bw, &peer_read_bw, &peer_send_bw,  &peer_send_lat, &peer_qperf,
};

static void
print_result(const struct peer_side *side)
{
	const struct peer *peer = side->peer;

	printf("%s of %s: ok, %" G_GUINT64_FORMAT " connections, ",
	       side->client ? "client" : "server", peer->protocol->plays, peer->connections);
	if (peer->count > 0)
		printf("%" G_GUINT64_FORMAT " times %" G_GUINT64_FORMAT " octets, ", peer->count,
		       peer->size);
	printf("%" G_GUINT64_FORMAT " octets seen to arrive\n", side->arrived);
}

static void
report_result(const struct peer_side *side)
{
	const struct peer *peer = side->peer;
	JsonBuilder *json;

	if (!peer->options.json) {
		print_result(side);
		return;
	}
	json = tool_json_begin(PEER_PROGRAM);
	tool_json_boolean(json, "ok", true);
	tool_json_text(json, "protocol", peer->protocol->name);
	tool_json_text(json, "side", side->client ? "client" : "server");
	tool_json_count(json, "connections", peer->connections);
	tool_json_count(json, "count", peer->count);
	tool_json_count(json, "size", peer->size);
	tool_json_count(json, "arrived_octets", side->arrived);
	tool_json_print(json);
}

static bool
run_client(void *arg, uint16_t port, GError **error)
{
	const struct peer *peer = arg;
	struct peer_side side = {.peer = peer, .client = true};
	bool good;

	if (!tool_adapter_open(&side.adapter, peer->options.adapter, error))
		return false;
	good = tool_way_find(&side.way, &side.adapter, peer->host, port, error) &&
	       peer->protocol->client(&side, error);
	tool_way_clear(&side.way);
	tool_adapter_close(&side.adapter);
	if (good)
		report_result(&side);
	return good;
}

/* *port is where clients find this server. */
static bool
open_listeners(struct peer_side *side, uint16_t *port, GError **error)
{
	bool tcp = side->peer->protocol->tcp;

	if (tcp && !peer_tcp_listen(&side->tcp, port, side->peer->options.seconds, error))
		return false;
	if (!tool_listener_open(&side->listener, &side->adapter, tcp ? 0 : *port, error))
		return false;
	if (!tcp)
		*port = side->listener.port;
	return true;
}

static bool
run_server(void *arg, struct tool_ready *ready, GError **error)
{
	const struct peer *peer = arg;
	struct peer_side side = {.peer = peer, .tcp = PEER_TCP_NONE};
	uint16_t port = peer->options.self ? 0 : peer->options.port;
	bool good;

	if (!tool_adapter_open(&side.adapter, peer->options.adapter, error))
		return false;
	good = open_listeners(&side, &port, error);
	if (good) {
		tool_ready_tell(ready, peer->options.adapter, port);
		good = peer->protocol->server(&side, error);
		tool_listener_close(&side.listener);
	}
	peer_tcp_close(&side.tcp);
	tool_adapter_close(&side.adapter);
	if (good && !peer->options.self)
		report_result(&side);
	return good;
}

static bool
find_protocol(struct peer *peer, const char *name, GError **error)
{
	for (size_t i = 0; i < G_N_ELEMENTS(protocols); i++) {
		if (strcmp(protocols[i]->name, name) == 0)
			peer->protocol = protocols[i];
	}
	return peer->protocol != NULL ||
	       tool_fail(error, TOOL_ERROR_USAGE, "no protocol is called '%s'", name);
}

/* "NAME  the programs that it plays", a line each; g_free() it. */
static char *
list_of_protocols(void)
{
	GString *text = g_string_new("Without HOST it is the server. Protocols:\n");

	for (size_t i = 0; i < G_N_ELEMENTS(protocols); i++)
		g_string_append_printf(text, "  %-10s the other side of %s, port %u\n",
				       protocols[i]->name, protocols[i]->plays, protocols[i]->port);
	return g_string_free(text, FALSE);
}

/* The texts of the options, which are numbers or missing. */
struct typed {
	char *count;
	char *size;
	char *connections;
	char *time;
	char *pause;
};

static bool
read_numbers(struct peer *peer, const struct typed *typed, GError **error)
{
	peer->count = peer->protocol->count;
	peer->size = peer->protocol->size;
	peer->connections = MAX(peer->protocol->connections, 1);
	peer->time = DEFAULT_TIME;
	if (peer->options.port_typed == NULL)
		peer->options.port = peer->protocol->port;
	return (typed->count == NULL ||
		tool_number(typed->count, 0, MAX_COUNT, &peer->count, error)) &&
	       (typed->size == NULL ||
		tool_number(typed->size, 0, PEER_MAX_SIZE, &peer->size, error)) &&
	       (typed->connections == NULL ||
		tool_number(typed->connections, 1, MAX_CONNECTIONS, &peer->connections, error)) &&
	       (typed->time == NULL ||
		tool_number(typed->time, 1, PEER_MAX_TIME, &peer->time, error)) &&
	       (typed->pause == NULL || tool_duration(typed->pause, &peer->pause_us, error));
}

static bool
read_words(struct peer *peer, int argc, char **argv, GError **error)
{
	if (argc < 2)
		return tool_fail(error, TOOL_ERROR_USAGE, "which protocol?");
	if (argc > (peer->options.self ? 2 : 3))
		return tool_fail(error, TOOL_ERROR_USAGE, "'%s' is too much", argv[argc - 1]);
	peer->host = argc == 3 ? argv[2] : NULL;
	return find_protocol(peer, argv[1], error);
}

static bool
parse_options(struct peer *peer, int *argc, char ***argv, GError **error)
{
	struct typed typed = {0};
	GOptionEntry entries[] = {
		{"count", 'C', 0, G_OPTION_ARG_STRING, &typed.count,
		 "Messages or operations (default: that of the program)", "N"},
		{"size", 'S', 0, G_OPTION_ARG_STRING, &typed.size,
		 "Bytes of each (default: that of the program)", "N"},
		{"connections", 'c', 0, G_OPTION_ARG_STRING, &typed.connections,
		 "Connections of ucmatose and cmtime (default: 1), tests of qperf (4)", "N"},
		{"time", 0, 0, G_OPTION_ARG_STRING, &typed.time,
		 "Seconds of a test of qperf (default: 2)", "N"},
		{"pause", 0, 0, G_OPTION_ARG_STRING, &typed.pause,
		 "Wait so long before the first message (default: not at all)", "TIME"},
		{"hasty", 0, 0, G_OPTION_ARG_NONE, &peer->hasty,
		 "As a server of rstream, do not wait for the client's end", NULL},
		{NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL},
	};
	g_autoptr(GOptionContext) context =
		g_option_context_new("PROTOCOL [HOST] - the other side of others' programs");
	g_autofree char *list = list_of_protocols();
	bool good;

	g_option_context_set_summary(context, list);
	tool_options_add(&peer->options, context, peer_simple.port);
	g_option_context_add_main_entries(context, entries, NULL);
	good = tool_options_parse(&peer->options, context, argc, argv, error) &&
	       read_words(peer, *argc, *argv, error) && read_numbers(peer, &typed, error);
	g_free(typed.count);
	g_free(typed.size);
	g_free(typed.connections);
	g_free(typed.time);
	g_free(typed.pause);
	return good;
}

int
main(int argc, char **argv)
{
	struct peer peer = {0};
	struct tool_sides sides = {.arg = &peer, .server = run_server, .client = run_client};
	GError *error = NULL;
	bool good;

	tool_begin();
	good = parse_options(&peer, &argc, &argv, &error);
	if (good && peer.options.self)
		good = tool_self_run(&sides, &error);
	else if (good && peer.host != NULL)
		good = run_client(&peer, peer.options.port, &error);
	else if (good)
		good = run_server(&peer, NULL, &error);
	return tool_end(PEER_PROGRAM, &peer.options, good, error);
}
