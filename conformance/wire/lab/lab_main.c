/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The command line of lab-itapi and lab-verbs, and their connections one after the other. */

#include <stdio.h>

#include "lab_talk.h"
#include "tool_output.h"

static bool
parse_options(struct lab_options *options, int *argc, char ***argv, GError **error)
{
	g_autoptr(GOptionContext) context =
		g_option_context_new("[HOST] - one side of a test of RDMA");
	const GOptionEntry entries[] = {
		{"adapter", 'a', 0, G_OPTION_ARG_STRING, &options->adapter,
		 "Over IT-API: the adapter (default: iwarp)", "NAME"},
		{"port", 'p', 0, G_OPTION_ARG_INT, &options->port, "Port of the server", "PORT"},
		{"count", 'C', 0, G_OPTION_ARG_INT, &options->count, "Connections", "N"},
		{"lead", 'l', 0, G_OPTION_ARG_STRING, &options->operations,
		 "Lead: send, write, read, wrong-write, wrong-read, far-write or long-send, "
		 "each with :LENGTH, a read also with :TIMES; commas between",
		 "LIST"},
		{"first", 0, 0, G_OPTION_ARG_NONE, &options->first, "The server sends first", NULL},
		{"stop", 0, 0, G_OPTION_ARG_NONE, &options->stop,
		 "The follower ends the connection", NULL},
		{"forever", 0, 0, G_OPTION_ARG_NONE, &options->forever, "Repeat the operations",
		 NULL},
		{"endure", 0, 0, G_OPTION_ARG_NONE, &options->endure,
		 "Serve without an end, however connections end", NULL},
		{"survive", 0, 0, G_OPTION_ARG_NONE, &options->survive,
		 "The first connection may end badly", NULL},
		{"pause", 0, 0, G_OPTION_ARG_INT, &options->pause,
		 "Before the first Send of every second connection", "MS"},
		{"private", 0, 0, G_OPTION_ARG_INT, &options->private_data, "Private data",
		 "OCTETS"},
		{"expect-private", 0, 0, G_OPTION_ARG_INT, &options->expect_private,
		 "Private data that must come", "OCTETS"},
		{"reject", 0, 0, G_OPTION_ARG_NONE, &options->reject,
		 "Reject the request; a client expects that", NULL},
		{"ird", 0, 0, G_OPTION_ARG_INT, &options->ird, "Inbound Reads", "N"},
		{"ord", 0, 0, G_OPTION_ARG_INT, &options->ord, "Outbound Reads", "N"},
		{"suppress", 0, 0, G_OPTION_ARG_NONE, &options->suppress,
		 "Over IT-API: do not exchange IRD and ORD", NULL},
		{"timeout", 0, 0, G_OPTION_ARG_INT, &options->seconds, "Patience", "SECONDS"},
		G_OPTION_ENTRY_NULL};

	g_option_context_add_main_entries(context, entries, NULL);
	if (!g_option_context_parse(context, argc, argv, error))
		return false;
	if (*argc > 2)
		return lab_fail(error, "one HOST at most");
	if (*argc == 2)
		options->host = (*argv)[1];
	if (options->private_data < 0 || options->private_data > LAB_PRIVATE_LIMIT)
		return lab_fail(error, "too much private data");
	return true;
}

static bool
one_connection(struct lab_end *end, GError **error)
{
	const struct lab_carrier *carrier = end->carrier;
	bool good = carrier->make(end, error) &&
		    (end->options.host != NULL ? carrier->connect(end, error)
					       : carrier->serve(end, error)) &&
		    (end->options.reject || lab_talk(end, error));

	carrier->drop(end);
	end->established = false;
	return good;
}

static bool
all_connections(struct lab_end *end, GError **error)
{
	if (end->options.host == NULL && !end->carrier->listen(end, error))
		return false;
	for (int i = 0; end->options.endure || i < end->options.count; i++) {
		g_autoptr(GError) why = NULL;

		end->number = i;
		if (one_connection(end, &why))
			continue;
		if (end->options.endure) {
			printf("connection %d ended: %s\n", i, why->message);
			continue;
		}
		if (i > 0 || !end->options.survive) {
			g_propagate_prefixed_error(error, g_steal_pointer(&why),
						   "connection %d: ", i);
			return false;
		}
		printf("connection 0 ended: %s\n", why->message);
		/* What else the options say is for the first one. */
		end->options.forever = FALSE;
	}
	return true;
}

int
lab_main(const struct lab_carrier *carrier, int argc, char **argv)
{
	struct lab_end end = {
		.carrier = carrier,
		.options = {.port = 7471,
			    .count = 1,
			    .expect_private = -1,
			    .ird = LAB_DEPTH_USUAL,
			    .ord = LAB_DEPTH_USUAL,
			    .seconds = 60},
	};
	GError *error = NULL;
	bool good;

	tool_output_watch();
	setvbuf(stdout, NULL, _IOLBF, 0);
	good = parse_options(&end.options, &argc, &argv, &error) && carrier->open(&end, &error) &&
	       all_connections(&end, &error);
	carrier->close(&end);
	g_free(end.options.operations);
	g_free(end.options.adapter);
	if (!good) {
		fprintf(stderr, "%s: %s\n", carrier->program, error->message);
		g_error_free(error);
		return 1;
	}
	printf("%s: %d connections, all well\n", carrier->program, end.options.count);
	return 0;
}
