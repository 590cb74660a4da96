/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* An open adapter, and the ears of a server on it. */
#ifndef TOOL_ADAPTER_H
#define TOOL_ADAPTER_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "it_api.h"
#include "it_ext.h"

struct tool_adapter {
	char *name; /* it was opened by */
	it_ia_handle_t ia;
	it_pz_handle_t pz;
	it_ia_info_t *info;
};

/* The adapters that there are; *count of them. g_free() the array. */
it_interface_t *tool_adapter_list(size_t *count);

/* The error says why it cannot be opened: what the library logged about it, if it did. */
bool tool_adapter_open(struct tool_adapter *adapter, const char *name, GError **error);
void tool_adapter_close(struct tool_adapter *adapter); /* with everything on it */

/* One listen on every spigot, all on one port. */
struct tool_listener {
	struct tool_adapter *adapter;
	it_evd_handle_t requests;
	int fd; /* readable while there are requests */
	it_listen_handle_t *listens;
	size_t count;
	uint16_t port; /* host byte order */
	it_listen_flags_t flags;
};

/* port 0 lets the adapter choose. */
bool tool_listener_open(struct tool_listener *listener, struct tool_adapter *adapter, uint16_t port,
			GError **error);
/* The same, with those flags for each listen. */
bool tool_listener_open_as(struct tool_listener *listener, struct tool_adapter *adapter,
			   uint16_t port, it_listen_flags_t flags, GError **error);
void tool_listener_close(struct tool_listener *listener);

/* The next request, without waiting: false with no error means there is none. */
bool tool_listener_take(struct tool_listener *listener, it_conn_request_event_t *request,
			GError **error);

/* A qualifier for a port in host byte order. */
it_conn_qual_t tool_port(uint16_t port);

#endif /* TOOL_ADAPTER_H */
