/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A helper for one case, which the case may kill. It is a process of its own, started by the helper
 * of the session, so that it runs beside the stack under test. The neighbour, the good connection
 * beside all cases, stays with the helper of the session.
 */

#include <string.h>

#include <netdb.h>

#include "wire_run.h"

/* Where the control connection of the new helper is. */
static char *
where_of(const struct wire_session *session, const char *port, GError **error)
{
	const struct sockaddr_storage *address = wire_peer_address(session->peer);
	char host[NI_MAXHOST];
	socklen_t len = address->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
						       : sizeof(struct sockaddr_in);

	if (port != NULL && getnameinfo((const struct sockaddr *)address, len, host, sizeof(host),
					NULL, 0, NI_NUMERICHOST) == 0)
		return g_strdup_printf("[%s]:%s", host, port);
	wire_fail(error, WIRE_ERROR_PEER, "the helper names no control port of another");
	return NULL;
}

gboolean
wire_own_open(const struct wire_session *session, struct wire_session *own, GError **error)
{
	g_auto(GStrv) answer = wire_peer_ask(session->peer, error, "child");
	g_autofree char *where = NULL;

	*own = *session;
	own->parent = session->peer;
	own->peer = NULL;
	own->names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	if (answer != NULL)
		where = where_of(session, wire_word_value(answer, "control"), error);
	if (where != NULL)
		own->peer = wire_peer_open(where, NULL, error);
	return own->peer != NULL && wire_session_region(own, error);
}

gboolean
wire_own_kill(const struct wire_session *own, GError **error)
{
	g_auto(GStrv) answer = NULL;

	if (own->parent == NULL)
		return wire_fail(error, WIRE_ERROR_SCRIPT, "the case has no helper of its own");
	answer = wire_peer_ask(own->parent, error, "kill");
	return answer != NULL;
}

void
wire_own_close(struct wire_session *own)
{
	wire_peer_close(own->peer);
	g_strfreev(wire_peer_ask(own->parent, NULL, "kill"));
	g_hash_table_unref(own->names);
}
