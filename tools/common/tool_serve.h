/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The server's life: open the adapter, listen, tell it, serve one client or one after the other. */
#ifndef TOOL_SERVE_H
#define TOOL_SERVE_H

#include "tool_adapter.h"
#include "tool_options.h"
#include "tool_self.h"

struct tool_service {
	const char *program; /* for messages */
	const struct tool_options *options;
	/* Waits for a client and serves it. */
	bool (*one)(void *arg, struct tool_listener *listener, GError **error);
	void *arg;
};

/*
 * Without --persistent the result is that of the one client. With it the server ends when the user
 * wants it to, which is success, and reports what went wrong with clients as it happens.
 */
bool tool_serve(const struct tool_service *service, struct tool_ready *ready, GError **error);

/* Seconds to wait for a client: for ever, but not in --self, where it may have failed before. */
unsigned tool_serve_patience(const struct tool_options *options);

#endif /* TOOL_SERVE_H */
