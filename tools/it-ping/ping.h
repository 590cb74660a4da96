/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * it-ping: code that its two protocols share. ping_own.c speaks the protocol of it-ping itself,
 * ping_rping.c that of rping; ping_run.c makes the rounds of either and reports them.
 */
#ifndef PING_H
#define PING_H

#include "tool_mail.h"
#include "tool_options.h"
#include "tool_serve.h"

#define PING_PROGRAM  "it-ping"
#define PING_MAX_SIZE (UINT64_C(1) << 30)

struct ping {
	struct tool_options options;
	char *host;
	uint64_t count; /* rounds; 0: without end */
	uint64_t size;
	gboolean verbose;
	gboolean rping;  /* speak rping's protocol instead of our own */
	gboolean verify; /* server of rping's protocol: the source must hold rping's text */
};

/* One end of a run. */
struct ping_end {
	struct tool_link link;
	struct tool_mail mail;
	struct tool_memory source; /* client; the server's only buffer */
	struct tool_memory sink;   /* client */
	uint64_t seed;
	uint64_t size;
};

/* The watch may be NULL. The end is to be closed even if this fails. */
bool ping_end_open(struct ping_end *end, struct tool_adapter *adapter, unsigned seconds,
		   struct tool_watch *watch, GError **error);
/* The client's two buffers. */
bool ping_end_buffers(struct ping_end *end, uint64_t size, GError **error);
void ping_end_close(struct ping_end *end);

/* A client's half of a protocol, on an end that is connected. */
struct ping_rounds {
	bool (*round)(struct ping_end *end, uint64_t number, GError **error);
	bool (*finish)(struct ping_end *end, GError **error); /* may be NULL: nothing is said */
};

/*
 * Makes the rounds that the user wants and reports those that were done, also if the user stops the
 * run or one fails.
 */
bool ping_measure(struct ping *ping, const struct ping_rounds *rounds, struct ping_end *end,
		  GError **error);

/* Whether rping's protocol has pings of that size. */
bool ping_rping_size(uint64_t size, GError **error);

/* The two sides of each protocol; the second argument of the serving functions is a client. */
bool ping_own_client(struct ping *ping, struct tool_adapter *adapter, uint16_t port,
		     GError **error);
bool ping_own_serve(void *arg, struct tool_client *client, GError **error);
bool ping_rping_client(struct ping *ping, struct tool_adapter *adapter, uint16_t port,
		       GError **error);
bool ping_rping_serve(void *arg, struct tool_client *client, GError **error);

#endif /* PING_H */
