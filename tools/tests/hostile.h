/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Clients that misbehave towards a real server of the tools, and the server's process. The server is the installed
 * program, over iwarp on the loopback interface, with --persistent (HOSTILE_SERVES). Each test case ends with an
 * honest client that must be served, and the last one with an orderly end of the server: misbehaviour of one client
 * must not disturb others. Waits are for events and end after two minutes.
 */
#ifndef HOSTILE_H
#define HOSTILE_H

#include "ri_at_end.h"
#include "tool_mail.h"

#define HOSTILE_PATIENCE 120 /* s */

struct hostile_server {
	GPid pid;
	uint16_t port;
	char *folder; /* temporary; it-cp serves it, and the log lies beside it */
	char *log;    /* the file that holds the server's stderr */
};

/* A client's end: a connection with a mailbox. */
struct hostile_end {
	struct tool_adapter adapter;
	struct tool_link link;
	struct tool_mail mail;
	char refusal[256]; /* why the last hostile_connect failed */
};

/* The first arguments of every server here: any port, many clients. */
#define HOSTILE_SERVES "-P", "-p", "0", "-a", "iwarp"

/* Starts a server of a tool with arguments up to NULL; "@" stands for its folder. */
void hostile_server_start(struct hostile_server *server, const char *tool,
			  ...) G_GNUC_NULL_TERMINATED;

/* Tell the server to end; it must end with success. */
void hostile_server_end(struct hostile_server *server);

/* Waits until the log holds that text. */
void hostile_server_said(const struct hostile_server *server, const char *text);

/* The largest amount of memory that it has used so far, in octets. */
size_t hostile_server_memory(const struct hostile_server *server);

/* Runs a program of the tools to its end; its exit status, and what it wrote (g_free() it). */
int hostile_run(char **output, const struct hostile_server *server, const char *tool,
		...) G_GNUC_NULL_TERMINATED;

/*
 * Run an honest client, which must succeed; it retries while the server has no free place. "@" in
 * an argument stands for the port.
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

/* hostile_connect_soon for a tool, as the first connection of a run with a session of its own. */
void hostile_enter(struct hostile_end *end, const struct hostile_server *server, enum tool_id tool);

/* Send a letter unchanged. */
void hostile_send(struct hostile_end *end, const void *octets, size_t len);

/* The server must send nothing more and end the connection. */
void hostile_is_left(struct hostile_end *end);

#endif /* HOSTILE_H */
