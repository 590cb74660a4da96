/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Options that every tool has, numbers and times with units, and how a tool begins and ends. */
#ifndef TOOL_OPTIONS_H
#define TOOL_OPTIONS_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOOL_MEMORY_MAX (UINT64_C(1) << 40) /* octets, of --memory */

struct tool_options {
	char *adapter;       /* -a */
	uint16_t port;       /* -p */
	unsigned seconds;    /* --timeout, of every wait for the peer; 0: infinite */
	size_t clients;      /* --clients that are served at the same time */
	uint64_t memory;     /* --memory: octets of buffers that a client may request */
	gboolean json;       /* --json */
	gboolean self;       /* --self: both sides in this process */
	gboolean persistent; /* -P: serve clients until stopped */
	bool told;           /* a tool that the user stopped has printed its result */
	/* as typed */
	char *port_typed;
	char *seconds_typed;
	char *clients_typed;
	char *memory_typed;
	char *port_help;
	uint16_t port_default;
};

/* The first call of every program: output (tool_output.h), locale, log, signals. Before any thread is created. */
void tool_begin(void);

/*
 * The last call of every program with these options: prints the failure, if there is one, frees the options, and
 * returns the exit status: 0, 1 (failed), 2 (usage), 128 plus the signal (stopped).
 */
int tool_end(const char *program, struct tool_options *options, bool good, GError *error);

/* Parses a command line; --version, which every program has, prints it and ends the program. */
bool tool_parse(GOptionContext *context, int *argc, char ***argv, GError **error);

/* With the given default port; the options belong to the context's main group. */
void tool_options_add(struct tool_options *options, GOptionContext *context, uint16_t port);

/* --memory too, for servers whose buffers are as large as the client says. */
void tool_options_add_memory(struct tool_options *options, GOptionContext *context);

bool tool_options_parse(struct tool_options *options, GOptionContext *context, int *argc,
			char ***argv, GError **error);
void tool_options_free(struct tool_options *options);

/* A whole number between two bounds, with k, m or g behind it for powers of 1024. */
bool tool_number(const char *text, uint64_t low, uint64_t high, uint64_t *number, GError **error);

/*
 * A time of at least 1 ms and at most TOOL_DURATION_MAX, in microseconds: a whole number with ms, s,
 * m or h behind it; without a unit it counts seconds.
 */
#define TOOL_DURATION_MAX (UINT64_C(24) * 3600 * 1000 * 1000) /* us */
bool tool_duration(const char *text, uint64_t *us, GError **error);

/* Print where a server listens, as a line for programs that wait for it. */
void tool_announce(const char *adapter, uint16_t port);

#endif /* TOOL_OPTIONS_H */
