/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The way to a server: what the user typed, and the paths to all addresses of that host. A client tries them in turn:
 *
 *     if (!tool_way_find(&way, adapter, typed, port, error))
 *             return false;
 *     do
 *             good = (a new link to way.path) or close it;
 *     while (!good && tool_way_next(&way, error));
 */
#ifndef TOOL_WAY_H
#define TOOL_WAY_H

#include "tool_adapter.h"

struct tool_way {
	char *host; /* the name or address, without brackets and port; NULL is the adapter itself */
	uint16_t port;
	it_path_t path; /* to be tried now */
	char *address;  /* its peer, if the host has several; else NULL */
	bool unreached; /* the last attempt found no program there, so another address may do better */
	GArray *others;   /* private: paths that are not tried yet, best last */
	GString *reasons; /* private: of the attempts that failed */
};

/*
 * Splits what a user may type for a server: NAME, ADDRESS, [ADDRESS], and each of the first and the last with :PORT. An
 * IPv6 address may have a zone, fe80::1%eth0. Without a port *port stays unchanged. False: the error says what is wrong.
 */
bool tool_way_split(const char *typed, char **host, uint16_t *port, GError **error);

/*
 * Finds the paths to the host; `typed` NULL is the adapter itself. `port` is used if the user typed none. tool_way_clear()
 * it in any case.
 */
bool tool_way_find(struct tool_way *way, const struct tool_adapter *adapter, const char *typed,
		   uint16_t port, GError **error);

/* An attempt failed. True: another path is there to be tried, and the error is cleared. Else the error names all attempts. */
bool tool_way_next(struct tool_way *way, GError **error);

void tool_way_clear(struct tool_way *way);

#endif /* TOOL_WAY_H */
