/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Runs a case from its start to its end, and checks the neighbour: a good connection that is made
 * once and must still work after every case.
 */

#include "wire_run.h"

#include <arpa/inet.h>
#include <string.h>
#include <unistd.h>

#define KEPT_EP     "keep-ep"
#define KEPT_REGION "keep-region"
#define KEPT_SEED   5u
#define LISTEN_MAX  512

gint64
wire_run_deadline(const struct wire_run *run)
{
	return g_get_monotonic_time() +
	       (run->within_us > 0 ? run->within_us : run->session->patience_us);
}

/* Remember a number; the table takes the name. */
static void
number_set(GHashTable *names, char *name, guint64 value)
{
	guint64 *copy = g_new(guint64, 1);

	*copy = value;
	g_hash_table_replace(names, name, copy);
}

static void
name_set(GHashTable *names, const char *prefix, const char *field, guint64 value)
{
	number_set(names, g_strdup_printf("%s.%s", prefix, field), value);
}

void
wire_run_name(struct wire_run *run, const char *prefix, const char *field, guint64 value)
{
	name_set(run->names, prefix, field, value);
}

gboolean
wire_run_number(struct wire_run *run, char *const *words, const char *key, guint64 otherwise,
		guint64 *value, GError **error)
{
	const char *text = wire_word_value(words, key);

	*value = otherwise;
	return text == NULL || wire_number(text, run->names, value, error);
}

gboolean
wire_run_fits(struct wire_run *run, const char *wanted, guint64 value, gboolean *fits,
	      GError **error)
{
	g_auto(GStrv) choices = g_strsplit(wanted, "|", -1);

	*fits = FALSE;
	for (char **choice = choices; *choice != NULL; choice++) {
		g_auto(GStrv) ends = g_strsplit(*choice, "..", 2);
		guint64 from;
		guint64 to;

		if (!wire_number(ends[0], run->names, &from, error) ||
		    !wire_number(ends[1] != NULL ? ends[1] : ends[0], run->names, &to, error))
			return FALSE;
		*fits = *fits || (value >= from && value <= to);
	}
	return TRUE;
}

static socklen_t
address_len(const struct sockaddr_storage *address)
{
	return address->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					      : sizeof(struct sockaddr_in);
}

static gboolean
conn_use(struct wire_run *run, struct wire_conn *conn)
{
	if (conn == NULL)
		return FALSE;
	g_ptr_array_add(run->conns, conn);
	run->conn = conn;
	return TRUE;
}

gboolean
wire_run_connect(struct wire_run *run, GError **error)
{
	const struct sockaddr_storage *address = wire_peer_address(run->session->peer);

	return conn_use(run,
			wire_conn_connect((const struct sockaddr *)address, address_len(address),
					  (guint)wire_case_number(run->one, "mss", 0), error));
}

/* A peer that connected once more than its case expected waits in the queue. */
static void
late_drop(const struct wire_session *session)
{
	struct wire_conn *late;

	while ((late = wire_conn_accept(session->listener, 0, NULL)) != NULL)
		wire_conn_free(late);
}

gboolean
wire_run_listen(struct wire_run *run, GError **error)
{
	struct wire_session *session = run->session;
	const struct sockaddr_storage *local = wire_peer_local(session->peer);
	const void *address =
		local->ss_family == AF_INET6
			? (const void *)&((const struct sockaddr_in6 *)(const void *)local)
				  ->sin6_addr
			: (const void *)&((const struct sockaddr_in *)(const void *)local)
				  ->sin_addr;
	char host[INET6_ADDRSTRLEN];
	g_auto(GStrv) answer = NULL;
	g_autofree char *hex = wire_private_hex(wire_case_number(run->one, "asks-private", 0));

	late_drop(session); /* it may have come behind the end of its case */
	/* What the listener has counts for connections that begin now. */
	wire_conn_segments(session->listener, (guint)wire_case_number(run->one, "mss", 0));
	inet_ntop(local->ss_family, address, host, sizeof(host));
	answer = wire_peer_ask(session->peer, error,
			       "connect e host=%s port=%u timeout=%s private=%s", host,
			       session->port, wire_case_text(run->one, "timeout", "0"), hex);
	return answer != NULL &&
	       conn_use(run, wire_conn_accept(session->listener, session->patience_us, error));
}

static gboolean
release_step(struct wire_run *run, char *const *words, GError **error)
{
	guint64 cut;
	guint64 piece;

	if (!wire_run_number(run, words, "cut", 0, &cut, error) ||
	    !wire_run_number(run, words, "pieces", 0, &piece, error))
		return FALSE;
	(void)wire_conn_release(run->conn, cut, piece);
	return TRUE;
}

/* take N: wait until N octets are there, and leave them for the next step. */
static gboolean
take_step(struct wire_run *run, char *const *words, GError **error)
{
	struct wire_conn *conn = run->conn;
	guint64 len;

	if (words[1] == NULL || !wire_number(words[1], run->names, &len, error))
		return words[1] != NULL ||
		       wire_fail(error, WIRE_ERROR_SCRIPT, "take how many octets?");
	while (conn->in->len < len) {
		if (conn->end != WIRE_END_NONE || !wire_conn_wait(conn, wire_run_deadline(run)))
			return wire_fail(error, WIRE_ERROR_VERDICT,
					 "expected %" G_GUINT64_FORMAT " octets, got %u and %s",
					 len, conn->in->len,
					 conn->end != WIRE_END_NONE ? "the end"
								    : "no more in time");
	}
	return TRUE;
}

/* drip HEX every=MS within=MS: send that again and again, with pauses, until the peer ends the connection. */
static gboolean
drip_step(struct wire_run *run, char *const *words, GError **error)
{
	struct wire_conn *conn = run->conn;
	g_autoptr(GByteArray) octets = NULL;
	gint64 deadline;
	guint64 every;
	guint64 within;

	if (words[1] == NULL)
		return wire_fail(error, WIRE_ERROR_SCRIPT, "drip what?");
	octets = wire_octets(words[1], error);
	if (octets == NULL || !wire_run_number(run, words, "every", 100, &every, error) ||
	    !wire_run_number(run, words, "within", 60000, &within, error))
		return FALSE;
	deadline = g_get_monotonic_time() + (gint64)within * 1000;
	while (conn->end == WIRE_END_NONE && conn->in->len == 0) {
		if (g_get_monotonic_time() > deadline)
			return wire_fail(error, WIRE_ERROR_VERDICT,
					 "the peer waits for what comes slowly, and never ends");
		(void)wire_conn_send(conn, octets->data, octets->len);
		(void)wire_conn_wait(conn, g_get_monotonic_time() + (gint64)every * 1000);
	}
	return TRUE;
}

/* Steps that act on the connection as a whole. */
static gboolean
plain_step(struct wire_run *run, char *const *words, GError **error)
{
	const char *verb = words[0];
	guint64 ms;

	if (strcmp(verb, "connect") == 0)
		return wire_run_connect(run, error);
	if (strcmp(verb, "listen") == 0)
		return wire_run_listen(run, error);
	if (strcmp(verb, "again") == 0) /* the peer connects once more by itself */
		return conn_use(run, wire_conn_accept(run->session->listener,
						      run->session->patience_us, error));
	if (strcmp(verb, "start") == 0)
		return wire_start_run(run, error);
	if (strcmp(verb, "alive") == 0)
		return wire_expect_alive(run, error);
	if (strcmp(verb, "crowd") == 0 || strcmp(verb, "silent") == 0)
		return wire_crowd_make(run, words, error);
	if (strcmp(verb, "gone") == 0)
		return wire_crowd_gone(run, words, error);
	if (strcmp(verb, "leave") == 0)
		return wire_crowd_leave(run, words, error);
	if (strcmp(verb, "serve") == 0)
		return wire_crowd_serve(run, words, error);
	if (strcmp(verb, "neighbour") == 0)
		return wire_session_check(run->session, error);
	if (strcmp(verb, "drip") == 0)
		return drip_step(run, words, error);
	if (strcmp(verb, "take") == 0)
		return take_step(run, words, error);
	if (strcmp(verb, "hold") == 0)
		wire_conn_hold(run->conn);
	else if (strcmp(verb, "release") == 0)
		return release_step(run, words, error);
	else if (strcmp(verb, "shutdown") == 0)
		wire_conn_shutdown(run->conn);
	else if (strcmp(verb, "reset") == 0)
		wire_conn_reset(run->conn);
	else if (strcmp(verb, "wait") != 0 || words[1] == NULL)
		return wire_fail(error, WIRE_ERROR_SCRIPT, "'%s' is not a step", verb);
	else if (wire_number(words[1], NULL, &ms, error))
		g_usleep((gulong)ms * 1000);
	else
		return FALSE;
	return TRUE;
}

static gboolean
step_run(struct wire_run *run, const struct wire_step *step, GError **error)
{
	const char *verb = step->words[0];
	gboolean good;

	if (strcmp(verb, ">") == 0)
		good = wire_send_step(run, step->words, error);
	else if (strcmp(verb, "<") == 0)
		good = wire_expect_step(run, step->words, error);
	else if (strcmp(verb, "peer") == 0)
		good = wire_peer_step(run, step->words, error);
	else
		good = plain_step(run, step->words, error);
	if (!good)
		g_prefix_error(error, "%s:%u: ", run->one->file, step->line);
	return good;
}

/* The number of the step behind the loop that begins at `from`, or 0. */
static guint
loop_end(const struct wire_run *run, guint from)
{
	for (guint i = from + 1; i < run->one->steps->len; i++) {
		const struct wire_step *step = g_ptr_array_index(run->one->steps, i);

		if (strcmp(step->words[0], "loop") == 0)
			return 0;
		if (strcmp(step->words[0], "end") == 0)
			return i + 1;
	}
	return 0;
}

/*
 * Run the steps from number `at` up to `end`. "loop COUNT" repeats the steps up to its "end" COUNT
 * times; "loop COUNT long" multiplies that by the judge's option for long runs. In a loop, the name
 * `i` counts from 0.
 */
static gboolean
range_run(struct wire_run *run, guint at, guint end, GError **error)
{
	while (at < end) {
		const struct wire_step *step = g_ptr_array_index(run->one->steps, at);
		guint behind = loop_end(run, at);
		guint64 count = 0;

		if (strcmp(step->words[0], "loop") != 0) {
			if (!step_run(run, step, error))
				return FALSE;
			at++;
			continue;
		}
		if (behind == 0)
			return wire_fail(error, WIRE_ERROR_SCRIPT, "%s:%u: the loop has no end",
					 run->one->file, step->line);
		if (step->words[1] == NULL)
			return wire_fail(error, WIRE_ERROR_SCRIPT, "%s:%u: loop how often?",
					 run->one->file, step->line);
		if (!wire_number(step->words[1], run->names, &count, error)) {
			g_prefix_error(error, "%s:%u: ", run->one->file, step->line);
			return FALSE;
		}
		if (g_strcmp0(step->words[2], "long") == 0)
			count *= MAX(run->session->longer, 1);
		for (guint64 i = 0; i < count; i++) {
			number_set(run->names, g_strdup("i"), i);
			if (!range_run(run, at + 1, behind - 1, error)) {
				g_prefix_error(error, "round %" G_GUINT64_FORMAT ": ", i);
				return FALSE;
			}
		}
		at = behind;
	}
	return TRUE;
}

static gboolean
case_run(struct wire_session *session, const struct wire_case *one, GPtrArray *conns,
	 GError **error)
{
	struct wire_run run = {.session = session, .one = one, .conns = conns};
	GHashTableIter iter;
	gpointer name;
	gpointer value;
	gboolean good;

	run.names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	g_hash_table_iter_init(&iter, session->names);
	while (g_hash_table_iter_next(&iter, &name, &value))
		g_hash_table_replace(run.names, g_strdup(name), g_memdup2(value, sizeof(guint64)));
	good = wire_start_prepare(&run, error);
	if (good && one->started && !wire_start_run(&run, error)) {
		g_prefix_error(error, "start-up: ");
		good = FALSE;
	}
	good = good && range_run(&run, 0, one->steps->len, error) &&
	       wire_run_none_early(&run, error);
	/* The sockets are closed, their records stay, and the helper drops what the case has made. */
	for (guint i = 0; i < conns->len; i++) {
		struct wire_conn *conn = g_ptr_array_index(conns, i);

		if (conn->fd >= 0)
			close(conn->fd);
		conn->fd = -1;
	}
	g_strfreev(wire_peer_ask(session->peer, NULL, "reset"));
	late_drop(session);
	g_queue_clear_full(&run.early, (GDestroyNotify)g_strfreev);
	g_hash_table_unref(run.names);
	if (run.crowd != NULL)
		g_ptr_array_unref(run.crowd);
	return good;
}

gboolean
wire_case_run(struct wire_session *session, const struct wire_case *one, GPtrArray *conns,
	      GError **error)
{
	struct wire_session own;
	gboolean good;

	if (!one->own_helper)
		return case_run(session, one, conns, error);
	good = wire_own_open(session, &own, error) && case_run(&own, one, conns, error);
	wire_own_close(&own);
	return good;
}

/* --- the session ----------------------------------------------------------------------------- */

static gboolean
listener_open(struct wire_session *session, GError **error)
{
	struct sockaddr_storage address = *wire_peer_local(session->peer);
	socklen_t len = address_len(&address);

	session->listener =
		socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (session->listener < 0 ||
	    bind(session->listener, (struct sockaddr *)&address, len) != 0 ||
	    listen(session->listener, LISTEN_MAX) != 0 ||
	    getsockname(session->listener, (struct sockaddr *)&address, &len) != 0)
		return wire_fail(error, WIRE_ERROR_PEER, "cannot listen");
	session->port = ntohs(address.ss_family == AF_INET6
				      ? ((struct sockaddr_in6 *)(void *)&address)->sin6_port
				      : ((struct sockaddr_in *)(void *)&address)->sin_port);
	return TRUE;
}

/* A run that borrows the neighbour's connection. */
static struct wire_run
neighbour_run(struct wire_session *session, const struct wire_case *one)
{
	return (struct wire_run){.session = session,
				 .one = one,
				 .conn = session->neighbour,
				 .names = session->names};
}

gboolean
wire_session_region(struct wire_session *session, GError **error)
{
	g_auto(GStrv) answer =
		wire_peer_ask(session->peer, error,
			      "region " KEPT_REGION " size=4096 rights=rw seed=%u", KEPT_SEED);
	static const char *const fields[] = {"stag", "to", "len"};

	for (guint i = 0; answer != NULL && i < G_N_ELEMENTS(fields); i++) {
		const char *value = wire_word_value(answer, fields[i]);

		name_set(session->names, KEPT_REGION, fields[i],
			 value != NULL ? g_ascii_strtoull(value, NULL, 10) : 0);
	}
	return answer != NULL;
}

/* The neighbour is a connection that the judge makes, in revision 2 with CRC. */
static gboolean
neighbour_start(struct wire_session *session, const struct wire_case *one, GError **error)
{
	static char *const request[] = {">", "mpa-request", NULL};
	static char *const reply[] = {"<", "mpa-reply", "r=0", NULL};
	struct wire_run run = neighbour_run(session, one);
	g_autoptr(GPtrArray) conns = g_ptr_array_new();
	g_auto(GStrv) ep = wire_peer_ask(session->peer, error, "ep " KEPT_EP);
	g_auto(GStrv) accepted = NULL;
	gboolean good;

	run.conns = conns;
	if (ep == NULL || !wire_run_connect(&run, error))
		return FALSE;
	session->neighbour = run.conn;
	good = wire_start_send(&run, request, error);
	if (good)
		accepted = wire_peer_ask(session->peer, error, "accept " KEPT_EP);
	good = good && accepted != NULL && wire_start_expect(&run, reply, error);
	if (session->settle_us > 0)
		g_usleep((gulong)session->settle_us);
	return good && wire_expect_alive(&run, error);
}

gboolean
wire_session_check(struct wire_session *session, GError **error)
{
	struct wire_run run = neighbour_run(session, NULL);

	/* The records of the neighbour are of no use; they would only grow. */
	g_ptr_array_set_size(session->neighbour->records, 0);
	session->neighbour->recorded = 0;
	if (wire_expect_alive(&run, error))
		return TRUE;
	g_prefix_error(error, "the good connection beside it is disturbed: ");
	return FALSE;
}

gboolean
wire_session_open(struct wire_session *session, GError **error)
{
	struct wire_case none = {.set = g_hash_table_new(g_str_hash, g_str_equal)};
	gboolean good;

	session->listener = -1;
	session->names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	session->able = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	good = listener_open(session, error) && wire_session_probe(session, &none, error) &&
	       wire_session_region(session, error) && neighbour_start(session, &none, error);
	g_hash_table_unref(none.set);
	return good;
}

void
wire_session_close(struct wire_session *session)
{
	wire_conn_free(session->neighbour);
	if (session->listener >= 0)
		close(session->listener);
	if (session->names != NULL)
		g_hash_table_unref(session->names);
	if (session->able != NULL)
		g_hash_table_unref(session->able);
	session->neighbour = NULL;
	session->listener = -1;
	session->names = session->able = NULL;
}
