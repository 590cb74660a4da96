/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Both sides of a tool in one process, for adapters whose fabric is inside one process. */
#ifndef TOOL_SELF_H
#define TOOL_SELF_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * How a server announces that it listens: without --self to the user; with --self to the client that waits in the
 * same process.
 */
struct tool_ready;
void tool_ready_tell(struct tool_ready *ready, const char *adapter, uint16_t port);

struct tool_sides {
	void *arg;
	bool (*server)(void *arg, struct tool_ready *ready, GError **error);
	bool (*client)(void *arg, uint16_t port, GError **error);
};

/* The server runs on a thread of its own, the client on this one. The first failure is reported. */
bool tool_self_run(const struct tool_sides *sides, GError **error);

#endif /* TOOL_SELF_H */
