/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The programs of librdmacm that only connect and send. Their messages are uninitialised memory, so only
 * the lengths can be judged. The protocols, as observed on the wire:
 *
 * - rdma_client, rdma_server: the client sends 16 octets, then the server does, and ends the connection.
 * - rdma_xclient, rdma_xserver, with their default, reliable connections: the server replies with four
 *   octets of private data, the number of its shared receive queue; the client sends 16 octets and ends
 *   the connection.
 * - ucmatose: the server sends all its messages on each connection, then the client does; the server ends
 *   the connections. No message says how many and how large the messages are: both sides have the same
 *   options. The client has all connections open at once.
 * - cmtime: the client opens all its connections, then ends them.
 */

#include <string.h>

#include "peer.h"
#include "tool_error.h"

#define SIMPLE_SIZE 16
#define X_PRIVATE   4

static bool
simple_client(struct peer_side *side, GError **error)
{
	struct peer_shape shape = {.requests = 1, .receives = 1, .slots = 1, .size = SIMPLE_SIZE};
	struct peer_message message;
	struct peer_conn conn;
	bool good = peer_conn_open(&conn, side, &shape, error) &&
		    peer_conn_meet(&conn, NULL, error) &&
		    peer_conn_send(&conn, SIMPLE_SIZE, error) &&
		    peer_conn_expect(&conn, false, SIMPLE_SIZE, &message, error);

	peer_conn_close(&conn);
	return good;
}

static bool
simple_server(struct peer_side *side, GError **error)
{
	struct peer_shape shape = {.requests = 1, .receives = 1, .slots = 1, .size = SIMPLE_SIZE};
	struct peer_message message;
	struct peer_conn conn;
	bool good = peer_conn_open(&conn, side, &shape, error) &&
		    peer_conn_meet(&conn, NULL, error) &&
		    peer_conn_expect(&conn, true, SIMPLE_SIZE, &message, error) &&
		    peer_conn_send(&conn, SIMPLE_SIZE, error);

	if (good)
		tool_link_linger(&conn.link);
	peer_conn_close(&conn);
	return good;
}

static bool
x_client(struct peer_side *side, GError **error)
{
	struct peer_shape shape = {.requests = 1, .receives = 1, .slots = 1, .size = SIMPLE_SIZE};
	struct peer_conn conn;
	bool good = peer_conn_open(&conn, side, &shape, error) &&
		    peer_conn_meet(&conn, NULL, error) && peer_conn_send(&conn, SIMPLE_SIZE, error);

	peer_conn_close(&conn);
	return good;
}

static bool
x_server(struct peer_side *side, GError **error)
{
	struct peer_shape shape = {.requests = 1, .receives = 2, .slots = 2, .size = SIMPLE_SIZE};
	const uint8_t number[X_PRIVATE] = {0};
	struct tool_words reply = {.octets = number, .len = sizeof(number)};
	struct peer_message message;
	struct peer_conn conn;
	bool good = peer_conn_open(&conn, side, &shape, error) &&
		    peer_conn_meet(&conn, &reply, error) &&
		    peer_conn_expect(&conn, false, SIMPLE_SIZE, &message, error) &&
		    peer_conn_ended(&conn, error);

	peer_conn_close(&conn);
	return good;
}

/* Several connections of one side. */
struct many {
	struct peer_conn *conns;
	size_t count; /* opened, well or not */
};

static bool
open_many(struct many *many, struct peer_side *side, GError **error)
{
	const struct peer *peer = side->peer;
	struct peer_shape shape = {.requests = 8,
				   .receives = (size_t)peer->count + 1,
				   .slots = 1,
				   .size = (size_t)MAX(peer->size, 1)};

	many->conns = g_new0(struct peer_conn, peer->connections);
	many->count = 0;
	while (many->count < peer->connections) {
		struct peer_conn *conn = &many->conns[many->count++];

		if (!peer_conn_open(conn, side, &shape, error) ||
		    !peer_conn_meet(conn, NULL, error))
			return false;
	}
	return true;
}

static void
close_many(struct many *many)
{
	for (size_t i = 0; i < many->count; i++)
		peer_conn_close(&many->conns[i]);
	g_free(many->conns);
}

static bool
send_all(const struct many *many, const struct peer *peer, GError **error)
{
	for (size_t i = 0; i < many->count; i++) {
		for (uint64_t sent = 0; sent < peer->count; sent++) {
			if (!peer_conn_send(&many->conns[i], (size_t)peer->size, error))
				return false;
		}
	}
	return true;
}

static bool
receive_all(const struct many *many, const struct peer *peer, GError **error)
{
	struct peer_message message;

	for (size_t i = 0; i < many->count; i++) {
		for (uint64_t got = 0; got < peer->count; got++) {
			if (!peer_conn_expect(&many->conns[i], false, (size_t)peer->size, &message,
					      error)) {
				g_prefix_error(error,
					       "connection %zu, message %" G_GUINT64_FORMAT ": ", i,
					       got);
				return false;
			}
		}
	}
	return true;
}

static bool
all_ended(const struct many *many, GError **error)
{
	for (size_t i = 0; i < many->count; i++) {
		if (!peer_conn_ended(&many->conns[i], error))
			return false;
	}
	return true;
}

static bool
ucmatose_client(struct peer_side *side, GError **error)
{
	struct many many;
	bool good = open_many(&many, side, error) && receive_all(&many, side->peer, error) &&
		    send_all(&many, side->peer, error) && all_ended(&many, error);

	close_many(&many);
	return good;
}

static bool
ucmatose_server(struct peer_side *side, GError **error)
{
	struct many many;
	bool good = open_many(&many, side, error) && send_all(&many, side->peer, error) &&
		    receive_all(&many, side->peer, error);

	close_many(&many);
	return good;
}

static bool
cmtime_client(struct peer_side *side, GError **error)
{
	struct many many;
	bool good = open_many(&many, side, error);

	close_many(&many);
	return good;
}

static bool
cmtime_server(struct peer_side *side, GError **error)
{
	struct many many;
	bool good = open_many(&many, side, error) && all_ended(&many, error);

	close_many(&many);
	return good;
}

const struct peer_protocol peer_simple = {
	.name = "simple",
	.plays = "rdma_client and rdma_server",
	.port = 7471,
	.count = 1,
	.size = SIMPLE_SIZE,
	.client = simple_client,
	.server = simple_server,
};

const struct peer_protocol peer_xsimple = {
	.name = "xsimple",
	.plays = "rdma_xclient and rdma_xserver",
	.port = 7471,
	.count = 1,
	.size = SIMPLE_SIZE,
	.client = x_client,
	.server = x_server,
};

const struct peer_protocol peer_ucmatose = {
	.name = "ucmatose",
	.plays = "ucmatose",
	.port = 7471,
	.count = 10,
	.size = 100,
	.client = ucmatose_client,
	.server = ucmatose_server,
};

const struct peer_protocol peer_cmtime = {
	.name = "cmtime",
	.plays = "cmtime",
	.port = 7471,
	.count = 0,
	.size = 0,
	.client = cmtime_client,
	.server = cmtime_server,
};
