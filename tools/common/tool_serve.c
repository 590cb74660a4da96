/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "tool_serve.h"
#include "tool_error.h"
#include "tool_signal.h"

static bool
serve_all(const struct tool_service *service, struct tool_listener *listener)
{
	while (!tool_stopped()) {
		g_autoptr(GError) trouble = NULL;

		if (!service->one(service->arg, listener, &trouble) && !tool_stopped())
			g_printerr("%s: %s\n", service->program, trouble->message);
	}
	return true;
}

bool
tool_serve(const struct tool_service *service, struct tool_ready *ready, GError **error)
{
	const struct tool_options *options = service->options;
	uint16_t port = options->self ? 0 : options->port;
	struct tool_listener listener;
	struct tool_adapter adapter;
	bool good;

	if (!tool_adapter_open(&adapter, options->adapter, error))
		return false;
	good = tool_listener_open(&listener, &adapter, port, error);
	if (good) {
		tool_ready_tell(ready, options->adapter, listener.port);
		good = options->persistent && !options->self
			       ? serve_all(service, &listener)
			       : service->one(service->arg, &listener, error);
		tool_listener_close(&listener);
	}
	tool_adapter_close(&adapter);
	return good;
}

unsigned
tool_serve_patience(const struct tool_options *options)
{
	return options->self ? MAX(options->seconds, 1) : 0;
}
