/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Clients that do to a real server of the tools what no client should, and the server's process.
 *
 * The server is the program itself, over iwarp on the loopback, with --persistent (HOSTILE_SERVES). A
 * test case ends with an honest client that must be served, and the last one with a server that ends
 * well: so what a hostile client did costs nobody else. Waits are for an event, with a patience of two
 * minutes.
 */
#ifndef HOSTILE_H
#define HOSTILE_H

#include "tool_mail.h"

#define HOSTILE_PATIENCE 120 /* s */

struct hostile_server {
	GPid pid;
	uint16_t port;
	char *folder; /* temporary; served by it-cp, and home of the log */
	char *log;    /* path of what the server said on stderr */
};

/* A client's end: a connection with a mailbox. */
struct hostile_end {
	struct tool_adapter adapter;
	struct tool_link link;
	struct tool_mail mail;
	char refusal[256]; /* why the last hostile_connect failed */
};

/* The arguments with which every server here begins: any port, many clients. */
#define HOSTILE_SERVES "-P", "-p", "0", "-a", "iwarp"

/* Starts a server of a tool with arguments up to NULL; "@" stands for its folder. */
void hostile_server_start(struct hostile_server *server, const char *tool,
			  ...) G_GNUC_NULL_TERMINATED;

/* Tells it to end, and expects that it does and reports success. */
void hostile_server_end(struct hostile_server *server);

/* Waits until the log holds that text. */
void hostile_server_said(const struct hostile_server *server, const char *text);

/* Most memory that it has had in use so far, in octets. */
size_t hostile_server_memory(const struct hostile_server *server);

/* Runs a program of the tools to its end; its exit status, and what it wrote (g_free() it). */
int hostile_run(char **output, const struct hostile_server *server, const char *tool,
		...) G_GNUC_NULL_TERMINATED;

/*
 * Runs an honest client, which must do well; places that the server has not cleared yet are waited
 * for. "@" stands for the port.
 */
void hostile_honest(const struct hostile_server *server, const char *tool,
		    ...) G_GNUC_NULL_TERMINATED;

/* A connection to the server that begins with this greeting; false if the server refused. */
bool hostile_connect(struct hostile_end *end, const struct hostile_server *server,
		     const struct tool_hello *hello);
void hostile_close(struct hostile_end *end);

/* As hostile_connect, repeated until the server has a place for the client; the test fails if it never has. */
void hostile_connect_soon(struct hostile_end *end, const struct hostile_server *server,
			  const struct tool_hello *hello);

/* The same for a tool, as the first connection of a run with a session of its own. */
void hostile_enter(struct hostile_end *end, const struct hostile_server *server, enum tool_id tool);

/* Sends a letter as it is. */
void hostile_send(struct hostile_end *end, const void *octets, size_t len);

/* Expects that the server says no more and ends the connection. */
void hostile_is_left(struct hostile_end *end);

#endif /* HOSTILE_H */
