/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A server: open the adapter, listen, print where, serve clients.
 *
 * The thread that calls tool_serve() takes every request for a connection. The first connection of a
 * run (index 0 of its greeting) makes a client with a thread of its own; further connections of that
 * run go to this thread. All others are refused at once: other programs, other versions, connections
 * of no run, and clients beyond the limit. So no client waits for another, and a client that is
 * silent, lies or dies costs only its own place.
 *
 * When all places are taken, a new client waits a moment, and the client that has made no progress
 * for the longest time loses its place, if that time exceeds a second. Progress is a message that
 * came from the client, a further connection of its run, or (it-cp) a chunk that was moved; so a
 * client that is slow but goes on keeps its place against one that has stopped, whatever it had
 * done before. If all make progress, the new client is refused as "busy".
 */
#ifndef TOOL_SERVE_H
#define TOOL_SERVE_H

#include <stdatomic.h>

#include "tool_adapter.h"
#include "tool_link.h"
#include "tool_options.h"
#include "tool_self.h"

/* A client that is being served. */
struct tool_client {
	struct tool_adapter *adapter;
	it_conn_request_event_t request; /* its first connection, to be accepted */
	struct tool_hello hello;
	struct tool_guests *guests; /* the server's list of them */
	struct tool_watch watch;    /* for the spec of its first connection */
};

struct tool_service {
	const char *program; /* for messages */
	enum tool_id tool;
	bool foreign; /* the clients are not our tools: no greeting, each connection is a client */
	const struct tool_options *options;
	/* Serves a client, from the acceptance of its first connection to the end. */
	bool (*one)(void *arg, struct tool_client *client, GError **error);
	void *arg;
};

/*
 * Without --persistent the server serves the first client and refuses others; its result is that of
 * the first client. With it the server serves up to --clients at once until the user stops it,
 * which is success, and prints what goes wrong with a client when it happens.
 */
bool tool_serve(const struct tool_service *service, struct tool_ready *ready, GError **error);

/*
 * Waits for the next connection of the client's run; a client sets up one connection at a time.
 * Ends with an error when the time (g_get_monotonic_time(); 0 is never) is over, the first
 * connection, which is the link's, has ended, or the user stops the server.
 */
bool tool_client_next(struct tool_client *client, struct tool_link *first, gint64 until,
		      it_conn_request_event_t *request, struct tool_hello *hello, GError **error);

#endif /* TOOL_SERVE_H */
