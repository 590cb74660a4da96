/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * What the parts of the program `peer` share: the options, one side of a run, and its connections.
 * Each protocol has a row in peer_main.c and two functions, one for each side.
 */
#ifndef PEER_H
#define PEER_H

#include "peer_tcp.h"
#include "tool_link.h"
#include "tool_memory.h"
#include "tool_options.h"
#include "tool_self.h"

#define PEER_FILL     0xa5 /* of memory in which others are to write */
#define PEER_PROGRAM  "peer"
#define PEER_MAX_SIZE (UINT64_C(1) << 24) /* octets of a message */
#define PEER_MAX_TIME 3600                /* s, of a test */

/* The command line. */
struct peer {
	struct tool_options options;
	const struct peer_protocol *protocol;
	const char *host;
	uint64_t count; /* messages, operations or round trips of a connection */
	uint64_t size;  /* octets of each */
	uint64_t connections;
	uint64_t time; /* s, of a test that ends by the clock */
	uint64_t
		pause_us; /* between the establishment of a connection and our first message on it */
	bool hasty; /* a server of rstream ends the connection as soon as it has sent all its messages */
};

/* One side of a run: the client, or the server, which has a listener. */
struct peer_side {
	const struct peer *peer;
	bool client;
	struct tool_adapter adapter;
	struct tool_listener listener;
	struct peer_tcp tcp; /* server of a protocol that begins over TCP: its listener */
	struct tool_way way;
	uint64_t arrived; /* octets of places in memory that the peer was seen to have filled */
};

struct peer_protocol {
	const char *name;
	const char *plays; /* which programs */
	uint16_t port;
	bool tcp; /* the port is that of a protocol over plain TCP, which tells that of RDMA */
	uint64_t count; /* defaults of the program */
	uint64_t size;
	uint64_t connections; /* 0: one */
	bool (*client)(struct peer_side *side, GError **error);
	bool (*server)(struct peer_side *side, GError **error);
};

extern const struct peer_protocol peer_simple;
extern const struct peer_protocol peer_xsimple;
extern const struct peer_protocol peer_ucmatose;
extern const struct peer_protocol peer_cmtime;
extern const struct peer_protocol peer_rstream;
extern const struct peer_protocol peer_write_bw;
extern const struct peer_protocol peer_read_bw;
extern const struct peer_protocol peer_send_bw;
extern const struct peer_protocol peer_send_lat;
extern const struct peer_protocol peer_qperf;

/* The receives and requests of a connection. */
struct peer_shape {
	size_t requests; /* most outstanding */
	size_t receives; /* posted at any time */
	size_t slots;    /* different buffers of them; at least as many as messages are looked at */
	size_t size;     /* octets of a buffer */
};

/* A connection with buffers for messages: the slots, then one for the message that goes. */
struct peer_conn {
	struct peer_side *side;
	struct tool_link link;
	struct tool_memory memory;
	struct peer_shape shape;
	uint64_t posted; /* receives, ever */
};

/* A message that came. It stays until as many more have come as there are slots. */
struct peer_message {
	const uint8_t *octets;
	size_t len;
};

/*
 * Make a connection and post its receives, then connect it, or accept the next request. `reply` is
 * the server's private data, or NULL. Also after a failure the caller closes the connection.
 */
bool peer_conn_open(struct peer_conn *conn, struct peer_side *side, const struct peer_shape *shape,
		    GError **error);
bool peer_conn_meet(struct peer_conn *conn, const struct tool_words *reply, GError **error);
void peer_conn_close(struct peer_conn *conn);

/*
 * The client's side of the two calls above, for a server that may begin to listen a moment later:
 * if the connection is refused, the client tries again. Also after a failure the caller closes the
 * connection.
 */
bool peer_conn_persist(struct peer_conn *conn, struct peer_side *side,
		       const struct peer_shape *shape, GError **error);

/* Server: the next request; an error if none comes in time. */
bool peer_next_request(struct peer_side *side, it_conn_request_event_t *request, GError **error);

/* Waits until the peer has ended the connection; an error if it does something else, or nothing. */
bool peer_conn_ended(struct peer_conn *conn, GError **error);

/* The buffer of the next message; a Send of that number of its octets, which returns when it is complete. */
uint8_t *peer_conn_outgoing(const struct peer_conn *conn);
bool peer_conn_send(struct peer_conn *conn, size_t len, GError **error);

/* The next message, whose receive is posted again if `again`. */
bool peer_conn_receive(struct peer_conn *conn, bool again, struct peer_message *message,
		       GError **error);

/* The same, which must have that length. */
bool peer_conn_expect(struct peer_conn *conn, bool again, size_t len, struct peer_message *message,
		      GError **error);

/* Writes over what a message had, so that the next one in its place is seen to arrive. */
void peer_conn_forget(const struct peer_conn *conn, const struct peer_message *message);

/* An RDMA Write of that part of a buffer, until it is complete. */
bool peer_conn_write(struct peer_conn *conn, const it_lmr_triplet_t *part, it_rdma_addr_t address,
		     it_rmr_context_t key, GError **error);

/* Numbers in little-endian order. */
void peer_little_put(uint8_t *at, uint64_t value, size_t octets);
uint64_t peer_little_get(const uint8_t *at, size_t octets);

#endif /* PEER_H */
