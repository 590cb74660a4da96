/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Finds out abilities of the stack under test, on the wire and before the first case; cases name them in `needs`.
 *
 *   crc, no-crc                        whether it wants a CRC that the judge does not ask for
 *   markers, no-markers                whether it takes a Request that wants markers
 *   revision-2, revision-1             what its own Requests are
 *   peer-to-peer, no-peer-to-peer      whether they ask for that mode
 *   asks-markers, plain                whether it wants markers in what the judge sends
 */

#include <string.h>

#include "wire_run.h"

#define PROBE    "probe"
#define SLICE_MS 50
#define SLICES   400

/* The number of a field that was received, or 0. */
static guint64
field_number(const struct wire_run *run, const char *name)
{
	const guint64 *value = g_hash_table_lookup(run->names, name);

	return value != NULL ? *value : 0;
}

static void
able_add(struct wire_session *session, gboolean is, const char *word, const char *other)
{
	g_hash_table_add(session->able, g_strdup(is ? word : other));
}

/* Send a Request; accept it unless the stack refuses by itself. `refused`: it did. */
static gboolean
request_try(struct wire_run *run, char *const *request, gboolean *refused, GError **error)
{
	static char *const reply[] = {"<", "mpa-reply", NULL};
	struct wire_peer *peer = run->session->peer;
	g_auto(GStrv) ep = wire_peer_ask(peer, error, "ep " PROBE);
	g_auto(GStrv) accepted = NULL;

	if (ep == NULL || !wire_run_connect(run, error) || !wire_start_send(run, request, error))
		return FALSE;
	for (guint i = 0; i < SLICES && accepted == NULL && run->conn->in->len == 0 &&
			  run->conn->end == WIRE_END_NONE;
	     i++) {
		accepted = wire_peer_ask(peer, NULL, "accept " PROBE " within=%u", SLICE_MS);
		if (accepted == NULL)
			(void)wire_conn_wait(run->conn, g_get_monotonic_time() + SLICE_MS * 1000);
	}
	*refused = accepted == NULL;
	if (*refused && run->conn->in->len == 0 && run->conn->end != WIRE_END_NONE)
		return TRUE;
	return wire_start_expect(run, reply, error);
}

/* Forget the connections and the endpoint of a probe. */
static gboolean
probe_end(struct wire_run *run, gboolean good, GError **error)
{
	g_auto(GStrv) answer = NULL;

	g_ptr_array_set_size(run->conns, 0);
	run->conn = NULL;
	answer = wire_peer_ask(run->session->peer, good ? error : NULL, "reset");
	return good && answer != NULL;
}

static gboolean
probe_crc(struct wire_run *run, GError **error)
{
	static char *const request[] = {">", "mpa-request", "c=0", NULL};
	gboolean refused = FALSE;
	gboolean good = request_try(run, request, &refused, error);

	able_add(run->session, field_number(run, "reply.c") != 0, "crc", "no-crc");
	return probe_end(run, good, error);
}

static gboolean
probe_markers(struct wire_run *run, GError **error)
{
	static char *const request[] = {">", "mpa-request", "m=1", NULL};
	gboolean refused = FALSE;
	gboolean good = request_try(run, request, &refused, error);

	able_add(run->session, !refused, "markers", "no-markers");
	return probe_end(run, good, error);
}

static gboolean
probe_request(struct wire_run *run, GError **error)
{
	static char *const request[] = {"<", "mpa-request", NULL};
	static char *const reply[] = {">", "mpa-reply", "r=1", NULL};
	static char *const end[] = {"<", "end", NULL};
	struct wire_session *session = run->session;
	g_auto(GStrv) ep = wire_peer_ask(session->peer, error, "ep e");
	gboolean good = ep != NULL && wire_run_listen(run, error) &&
			wire_start_expect(run, request, error) &&
			wire_start_send(run, reply, error);

	/* Closed at once, the socket might send a reset, which the peer could take for no answer at all. */
	if (good) {
		wire_conn_shutdown(run->conn);
		good = wire_expect_step(run, end, error);
	}
	able_add(session, field_number(run, "request.rev") == 2, "revision-2", "revision-1");
	able_add(session, field_number(run, "request.a") != 0, "peer-to-peer", "no-peer-to-peer");
	able_add(session, field_number(run, "request.m") != 0, "asks-markers", "plain");
	return probe_end(run, good, error);
}

static void
conn_free(gpointer data)
{
	wire_conn_free(data);
}

gboolean
wire_session_probe(struct wire_session *session, const struct wire_case *one, GError **error)
{
	g_autoptr(GPtrArray) conns = g_ptr_array_new_with_free_func(conn_free);
	g_autoptr(GHashTable) names =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	struct wire_run run = {.session = session, .one = one, .conns = conns, .names = names};

	if (probe_crc(&run, error) && probe_markers(&run, error) && probe_request(&run, error))
		return TRUE;
	g_prefix_error(error, "while the peer's abilities are looked at: ");
	return FALSE;
}
