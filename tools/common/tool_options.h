/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Options that every tool knows, and numbers with units. */
#ifndef TOOL_OPTIONS_H
#define TOOL_OPTIONS_H

#include <glib.h>
#include <json-glib/json-glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tool_options {
	char *adapter;       /* -a */
	uint16_t port;       /* -p */
	unsigned seconds;    /* --timeout, of every wait for the peer */
	gboolean json;       /* --json */
	gboolean self;       /* --self: both sides in this process */
	gboolean persistent; /* -P: serve one client after the other */
	/* as typed */
	gint port_typed;
	gint seconds_typed;
};

/* With the given default port; the options belong to the context's main group. */
void tool_options_add(struct tool_options *options, GOptionContext *context, uint16_t port);
bool tool_options_parse(struct tool_options *options, GOptionContext *context, int *argc,
			char ***argv, GError **error);
void tool_options_free(struct tool_options *options);

/* A whole number between two bounds, with k, m or g behind it for powers of 1024. */
bool tool_number(const char *text, uint64_t low, uint64_t high, uint64_t *number, GError **error);

/* Writes the builder's object to stdout, and frees the builder. */
void tool_json_print(JsonBuilder *builder);

/* {"tool": ..., "ok": false, "error": ...} */
void tool_json_failure(const char *tool, const GError *error);

/* Tells where a server listens; a line for programs that wait for it. */
void tool_announce(const char *adapter, uint16_t port);

#endif /* TOOL_OPTIONS_H */
