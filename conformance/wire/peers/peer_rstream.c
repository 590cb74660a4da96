/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * rstream, which speaks the protocol of rsockets in the form for iWARP, as observed on the wire. With `rstream -I
 * 1`: both sides send 16 octets, the client first; then the client sends all its messages, and then the server
 * does. Each side announces that it is done and ends the connection; the slower side finds the connection ended.
 *
 * The private data of request and reply have 40 octets, in network order: version 1 (1), flags (1), credits (2),
 * zero (4), and two buffers of the side that sends them, each with address (8), key (4) and length (4). The first
 * buffer is an array of two descriptions of buffers, in which the peer writes where more data may go; the second one
 * takes the first data. Data go by RDMA Write into that buffer, one behind the other, and then a Send of four octets
 * announces them, in the host's order of siw's machines, which is little endian: the upper three bits say what it
 * announces (0: data; 4: more credits or another buffer; 7: no more data), the others are the number of octets.
 *
 * Here neither side sends more than the first buffer and the first credits allow.
 */

#include <string.h>

#include "peer.h"
#include "tool_error.h"

#define VERSION    1
#define FLAGS      2
#define CREDITS    384
#define PRIVATE    40
#define ENTRIES    2
#define ENTRY_SIZE 16
#define BUFFER     ((size_t)512 * 1024)
#define GREETING   16
#define TELL       4
#define SHIFT      29
#define OP_DATA    0U
#define OP_SGL     4U
#define OP_CONTROL 7U
#define MOST       300  /* messages: fewer than the credits, with those that tell of credits */
#define LARGEST    2048 /* octets of a message that rsockets do not divide */

struct stream {
	struct peer_conn conn;
	struct tool_memory entries; /* the peer may tell here of other buffers */
	struct tool_memory data;    /* what comes */
	struct tool_memory out;
	uint64_t address; /* where the next data of ours go */
	uint32_t key;
	uint32_t left;
	uint64_t got;
	bool over; /* the peer has no more data */
};

static void
put_buffer(struct tool_wire *wire, const struct tool_memory *memory, uint32_t length)
{
	tool_put(wire, tool_memory_address(memory), 8);
	tool_put(wire, memory->context, 4);
	tool_put(wire, length, 4);
}

static void
write_private(const struct stream *stream, uint8_t octets[PRIVATE])
{
	struct tool_wire wire = tool_wire_of(octets, PRIVATE);

	tool_put(&wire, VERSION, 1);
	tool_put(&wire, FLAGS, 1);
	tool_put(&wire, CREDITS, 2);
	tool_put(&wire, 0, 4);
	put_buffer(&wire, &stream->entries, ENTRIES);
	put_buffer(&wire, &stream->data, (uint32_t)BUFFER);
}

static bool
read_private(struct stream *stream, const void *octets, GError **error)
{
	uint8_t copy[PRIVATE];
	struct tool_wire wire = tool_wire_of(copy, sizeof(copy));
	unsigned version;
	unsigned credits;

	memcpy(copy, octets, sizeof(copy));
	version = (unsigned)tool_get(&wire, 1);
	tool_get(&wire, 1);
	credits = (unsigned)tool_get(&wire, 2);
	tool_get(&wire, 4);
	tool_get(&wire, 8);
	tool_get(&wire, 8);
	stream->address = tool_get(&wire, 8);
	stream->key = (uint32_t)tool_get(&wire, 4);
	stream->left = (uint32_t)tool_get(&wire, 4);
	return (version == VERSION && credits > MOST) ||
	       tool_fail(error, TOOL_ERROR_PEER,
			 "the peer's version and credits are %u and %u, not %d and more than %d",
			 version, credits, VERSION, MOST);
}

static bool
exchange_setup(struct stream *stream, GError **error)
{
	struct peer_side *side = stream->conn.side;
	uint8_t octets[PRIVATE];
	struct tool_words words = {.octets = octets, .len = sizeof(octets)};
	it_conn_request_event_t request;
	it_connection_event_t event;

	write_private(stream, octets);
	if (side->client)
		return tool_link_join(&stream->conn.link, &side->way, &words, &event, error) &&
		       read_private(stream, event.private_data, error);
	return peer_next_request(side, &request, error) &&
	       read_private(stream, request.private_data, error) &&
	       tool_link_admit(&stream->conn.link, &request, &words, error);
}

static bool
open_stream(struct stream *stream, struct peer_side *side, GError **error)
{
	static const struct peer_shape shape = {
		.requests = 4, .receives = CREDITS, .slots = CREDITS, .size = TELL};
	const struct peer *peer = side->peer;

	memset(stream, 0, sizeof(*stream));
	if (peer->size > LARGEST || peer->count > MOST ||
	    peer->size * peer->count + GREETING > BUFFER)
		return tool_fail(error, TOOL_ERROR_USAGE,
				 "at most %d messages of %d octets, and %zu octets in all", MOST,
				 LARGEST, BUFFER - GREETING);
	return peer_conn_open(&stream->conn, side, &shape, error) &&
	       tool_memory_make(&stream->entries, &side->adapter, (size_t)ENTRIES * ENTRY_SIZE,
				IT_PRIV_REMOTE_WRITE, false, error) &&
	       tool_memory_make(&stream->data, &side->adapter, BUFFER, IT_PRIV_REMOTE_WRITE, false,
				error) &&
	       tool_memory_make(&stream->out, &side->adapter, LARGEST, IT_PRIV_NONE, false,
				error) &&
	       exchange_setup(stream, error);
}

static void
close_stream(struct stream *stream)
{
	peer_conn_close(&stream->conn);
	tool_memory_free(&stream->entries);
	tool_memory_free(&stream->data);
	tool_memory_free(&stream->out);
}

static bool
send_control(struct stream *stream, uint32_t op, uint32_t value, GError **error)
{
	peer_little_put(peer_conn_outgoing(&stream->conn), op << SHIFT | value, TELL);
	return peer_conn_send(&stream->conn, TELL, error);
}

static bool
put_data(struct stream *stream, size_t len, GError **error)
{
	it_lmr_triplet_t part = tool_memory_part(&stream->out, 0, len);

	if (len > stream->left)
		return tool_fail(error, TOOL_ERROR_PEER, "the peer's buffer is too small");
	if (!tool_check(it_post_rdma_write(stream->conn.link.ep, &part, 1, 0, 0, stream->address,
					   stream->key),
			"it_post_rdma_write", error))
		return false;
	stream->address += len;
	stream->left -= (uint32_t)len;
	return send_control(stream, OP_DATA, (uint32_t)len, error);
}

static bool
put_all(struct stream *stream, GError **error)
{
	const struct peer *peer = stream->conn.side->peer;

	for (uint64_t i = 0; i < peer->count; i++) {
		if (!put_data(stream, (size_t)peer->size, error))
			return false;
	}
	return true;
}

/* One message of the peer. */
static bool
receive_message(struct stream *stream, GError **error)
{
	struct peer_message message;
	uint32_t word;

	if (!peer_conn_expect(&stream->conn, true, TELL, &message, error))
		return false;
	word = (uint32_t)peer_little_get(message.octets, TELL);
	if (word >> SHIFT == OP_DATA)
		stream->got += word;
	else if (word >> SHIFT == OP_CONTROL)
		stream->over = true;
	else if (word >> SHIFT != OP_SGL)
		return tool_fail(error, TOOL_ERROR_PEER, "the peer sent the unknown word %08x",
				 word);
	return stream->got <= BUFFER ||
	       tool_fail(error, TOOL_ERROR_PEER, "the peer sent more than there is room for");
}

/* Waits for that many octets more, and no more of them. */
static bool
get_data(struct stream *stream, uint64_t octets, GError **error)
{
	uint64_t wanted = stream->got + octets;

	while (stream->got < wanted) {
		if (!receive_message(stream, error))
			return false;
		if (stream->over && stream->got < wanted)
			return tool_fail(error, TOOL_ERROR_PEER, "the peer has no more data");
	}
	stream->conn.side->arrived += octets;
	return stream->got == wanted ||
	       tool_fail(error, TOOL_ERROR_PEER, "the peer sent too much data");
}

/* The peer says that it is done, or only ends the connection. */
static bool
is_over(struct stream *stream, GError **error)
{
	GError *trouble = NULL;

	while (!stream->over) {
		if (receive_message(stream, &trouble))
			continue;
		if (stream->conn.link.end != IT_CM_MSG_CONN_DISCONNECT_EVENT) {
			g_propagate_error(error, trouble);
			return false;
		}
		g_clear_error(&trouble);
		return true;
	}
	return true;
}

/* Says that we are done; a peer that has all our messages need not hear it. */
static bool
say_over(struct stream *stream, GError **error)
{
	GError *trouble = NULL;

	if (send_control(stream, OP_CONTROL, 0, &trouble))
		return true;
	if (!is_over(stream, NULL)) {
		g_propagate_error(error, trouble);
		return false;
	}
	g_clear_error(&trouble);
	return true;
}

static bool
run_client(struct peer_side *side, GError **error)
{
	const struct peer *peer = side->peer;
	struct stream stream;
	bool good = open_stream(&stream, side, error) && put_data(&stream, GREETING, error) &&
		    get_data(&stream, GREETING, error) && put_all(&stream, error) &&
		    get_data(&stream, peer->size * peer->count, error) && say_over(&stream, error);

	close_stream(&stream);
	return good;
}

static bool
run_server(struct peer_side *side, GError **error)
{
	const struct peer *peer = side->peer;
	struct stream stream;
	bool good = open_stream(&stream, side, error) && get_data(&stream, GREETING, error) &&
		    put_data(&stream, GREETING, error) &&
		    get_data(&stream, peer->size * peer->count, error) && put_all(&stream, error) &&
		    (peer->hasty || is_over(&stream, error));

	close_stream(&stream);
	return good;
}

const struct peer_protocol peer_rstream = {
	.name = "rstream",
	.plays = "rstream -I 1",
	.port = 7471,
	.count = 100,
	.size = 64,
	.client = run_client,
	.server = run_server,
};
