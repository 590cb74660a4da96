/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A crowd: many connections of a case that send nothing, a part of a Request, or a whole Request
 * that is not answered. Some of them may be closed. When the peer's user answers late, each
 * connection that is still open must be accepted or refused.
 */

#include <poll.h>
#include <string.h>

#include "wire_run.h"

#define SLICE_MS 20 /* between two looks at the connections and at the endpoint */

/* What became of the connections that have stayed, for one `serve`. */
struct service {
	GPtrArray *waiting; /* struct wire_conn: without a Reply */
	guint served;
	guint refused;
};

gboolean
wire_crowd_make(struct wire_run *run, char *const *words, GError **error)
{
	struct wire_conn *kept = run->conn;
	guint64 count;
	guint64 octets;
	guint64 len;
	gboolean good = TRUE;

	if (!wire_run_number(run, words, "count", 1, &count, error) ||
	    !wire_run_number(run, words, "octets", 0, &octets, error) ||
	    !wire_run_number(run, words, "private", 0, &len, error))
		return FALSE;
	if (run->crowd == NULL && strcmp(words[0], "crowd") == 0)
		run->crowd = g_ptr_array_new();
	for (guint64 i = 0; good && i < count; i++) {
		g_autofree char *chop = g_strdup_printf("chop=%" G_GUINT64_FORMAT, octets);
		g_autofree char *data = g_strdup_printf("private=%" G_GUINT64_FORMAT, len);
		char *const part[] = {">", "mpa-request", chop, data, NULL};

		good = wire_run_connect(run, error);
		if (good && strcmp(words[0], "crowd") == 0)
			g_ptr_array_add(run->crowd, run->conn);
		good = good && (octets == 0 || wire_start_send(run, part, error));
	}
	run->conn = kept;
	return good;
}

gboolean
wire_crowd_gone(struct wire_run *run, char *const *words, GError **error)
{
	struct wire_conn *kept = run->conn;
	g_autofree char *within = g_strdup_printf(
		"within=%s",
		wire_word_value(words, "within") != NULL ? wire_word_value(words, "within") : "0");
	static char *const reply[] = {"<", "mpa-reply", NULL};
	char *const end[] = {"<", "end", within, NULL};
	gboolean good = TRUE;

	for (guint i = 0; good && i < run->conns->len; i++) {
		struct wire_conn *conn = g_ptr_array_index(run->conns, i);

		if (conn == kept || conn->fd < 0)
			continue;
		run->conn = conn;
		/*
		 * If the judge has closed this connection by a FIN, a Reply may come before the end: until the
		 * peer has seen the FIN, its user may accept the request.
		 */
		if (conn->left && conn->in->len == 0 && conn->end == WIRE_END_NONE)
			(void)wire_conn_wait(conn, wire_run_deadline(run));
		if (conn->left && conn->in->len > 0)
			good = wire_start_expect(run, reply, error);
		good = good && wire_expect_step(run, end, error);
	}
	run->conn = kept;
	return good;
}

gboolean
wire_crowd_leave(struct wire_run *run, char *const *words, GError **error)
{
	gboolean by_fin = wire_word_is_there(words, "shutdown");
	guint64 every;
	guint number = 0;

	if (run->crowd == NULL || (!by_fin && !wire_word_is_there(words, "reset")))
		return wire_fail(error, WIRE_ERROR_SCRIPT,
				 "leave wants shutdown or reset, after a crowd");
	if (!wire_run_number(run, words, "every", 1, &every, error))
		return FALSE;
	for (guint i = 0; i < run->crowd->len; number++) {
		struct wire_conn *conn = g_ptr_array_index(run->crowd, i);

		if (number % MAX(every, 1) != 0) {
			i++;
			continue;
		}
		conn->left = by_fin;
		if (by_fin)
			wire_conn_shutdown(conn);
		else
			wire_conn_reset(conn);
		g_ptr_array_remove_index(run->crowd, i);
		run->left++;
	}
	return TRUE;
}

/* --- late answers ---------------------------------------------------------------------------- */

/* Read what has come; the number of a connection with a Reply or an end, or -1. */
static int
one_spoke(const struct service *service, int patience_ms)
{
	g_autofree struct pollfd *set = g_new0(struct pollfd, service->waiting->len);

	for (guint i = 0; i < service->waiting->len; i++) {
		const struct wire_conn *conn = g_ptr_array_index(service->waiting, i);

		set[i] = (struct pollfd){.fd = conn->fd, .events = POLLIN};
	}
	if (poll(set, service->waiting->len, patience_ms) <= 0)
		return -1;
	for (guint i = 0; i < service->waiting->len; i++) {
		if (set[i].revents != 0)
			return (int)i;
	}
	return -1;
}

/* The Reply of connection `number`, or its end: it waits no more. `accepted`: the peer's user has accepted it. */
static gboolean
answer_take(struct wire_run *run, struct service *service, guint number, gboolean *accepted,
	    GError **error)
{
	static char *const reply[] = {"<", "mpa-reply", NULL};
	const guint64 *refused;

	run->conn = g_ptr_array_index(service->waiting, number);
	g_ptr_array_remove_index_fast(service->waiting, number);
	(void)wire_conn_wait(run->conn, wire_run_deadline(run));
	*accepted = FALSE;
	if (run->conn->in->len == 0 && run->conn->end != WIRE_END_NONE) {
		service->refused++;
		return TRUE;
	}
	if (!wire_start_expect(run, reply, error))
		return FALSE;
	refused = g_hash_table_lookup(run->names, "reply.r");
	*accepted = *refused == 0;
	service->refused += *accepted ? 0 : 1;
	return TRUE;
}

/* Forget those that were refused meanwhile. */
static gboolean
refused_drop(struct wire_run *run, struct service *service, GError **error)
{
	gboolean accepted;
	int number;

	while (service->waiting->len > 0 && (number = one_spoke(service, 0)) >= 0) {
		if (!answer_take(run, service, (guint)number, &accepted, error))
			return FALSE;
		if (accepted)
			return wire_fail(error, WIRE_ERROR_VERDICT,
					 "a Request is accepted that the peer's user has not "
					 "accepted");
	}
	return TRUE;
}

/* Is the connection that was accepted last one whose judge has left? Its endpoint says so. */
static gboolean
accepted_in_vain(struct wire_run *run)
{
	g_auto(GStrv) answer = NULL;
	const char *event;

	if (run->left == 0)
		return FALSE;
	answer = wire_peer_ask(run->session->peer, NULL, "event e within=1");
	event = answer != NULL ? wire_word_value(answer, "event") : NULL;
	return event != NULL && strcmp(event, "established") != 0;
}

/* The peer's user has accepted a Request: find out of which connection it is, and use that. */
static gboolean
accepted_find(struct wire_run *run, struct service *service, GError **error)
{
	gint64 deadline = wire_run_deadline(run);
	gboolean accepted = FALSE;

	while (!accepted) {
		int number = one_spoke(service, SLICE_MS);

		if (number >= 0 && !answer_take(run, service, (guint)number, &accepted, error))
			return FALSE;
		if (number < 0 && accepted_in_vain(run)) {
			run->left--;
			return TRUE;
		}
		if (!accepted && g_get_monotonic_time() > deadline)
			return wire_fail(error, WIRE_ERROR_VERDICT,
					 "the peer's user accepted a Request, and no Reply came in "
					 "time");
	}
	service->served++;
	return wire_expect_alive(run, error);
}

/* Let the peer's user accept the next Request, at a new endpoint; the connection before it ends. */
static gboolean
next_serve(struct wire_run *run, struct service *service, GError **error)
{
	g_auto(GStrv) answer = NULL;
	g_autoptr(GError) why = NULL;

	if (!wire_start_endpoint(run, error))
		return FALSE;
	answer = wire_peer_ask(run->session->peer, &why, "accept e within=%u",
			       (guint)(run->session->patience_us / 1000));
	if (answer != NULL)
		return accepted_find(run, service, error);
	/* The Request of one that has left may be gone. */
	if (run->left > 0 && why->code == WIRE_ERROR_VERDICT) {
		run->left--;
		return TRUE;
	}
	g_propagate_error(error, g_steal_pointer(&why));
	return FALSE;
}

gboolean
wire_crowd_serve(struct wire_run *run, char *const *words, GError **error)
{
	struct service service = {0};
	const char *refused = wire_word_value(words, "refused");
	gboolean fits = TRUE;
	gboolean good;
	guint64 most;

	if (run->crowd == NULL)
		return wire_fail(error, WIRE_ERROR_SCRIPT, "serve wants a crowd before it");
	if (!wire_run_number(run, words, "count", G_MAXUINT, &most, error))
		return FALSE;
	service.waiting = run->crowd;
	do {
		good = refused_drop(run, &service, error);
		if (good && service.waiting->len > 0 && service.served < most)
			good = next_serve(run, &service, error);
	} while (good && service.waiting->len > 0 && service.served < most);
	if (!good || refused == NULL || !wire_run_fits(run, refused, service.refused, &fits, error))
		return good && refused == NULL;
	return fits || wire_fail(error, WIRE_ERROR_VERDICT, "%u were refused, expected %s",
				 service.refused, refused);
}
