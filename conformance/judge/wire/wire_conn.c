/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "wire_conn.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include <gio/gio.h>

#include "wire_marker.h"

#define CHUNK         65536u
#define RECORDED_MAX  (32u << 20)               /* octets of records; the oldest are dropped */
#define SEGMENT_US    1000                      /* between two segments of one frame */
#define SEND_PATIENCE (20 * G_TIME_SPAN_SECOND) /* for a peer that reads nothing */

static void
record_free(gpointer data)
{
	struct wire_record *record = data;

	g_bytes_unref(record->octets);
	g_free(record);
}

static void
record_add(struct wire_conn *conn, gboolean out, const guint8 *octets, gsize len, gboolean is_fin)
{
	struct wire_record *record = g_new0(struct wire_record, 1);

	record->us = g_get_real_time();
	record->out = out;
	record->is_fin = is_fin;
	record->octets = g_bytes_new(octets, len);
	g_ptr_array_add(conn->records, record);
	conn->recorded += len;
	while (conn->recorded > RECORDED_MAX && conn->records->len > 1) {
		struct wire_record *oldest = g_ptr_array_index(conn->records, 0);

		conn->recorded -= g_bytes_get_size(oldest->octets);
		g_ptr_array_remove_index(conn->records, 0);
	}
}

static gboolean
conn_fail(GError **error, const char *what)
{
	g_set_error(error, G_IO_ERROR, (gint)g_io_error_from_errno(errno), "%s: %s", what,
		    g_strerror(errno));
	return FALSE;
}

static struct wire_conn *
conn_new(int fd, gboolean initiator)
{
	struct wire_conn *conn = g_new0(struct wire_conn, 1);
	socklen_t len = sizeof(conn->local);
	int one = 1;

	conn->fd = fd;
	conn->initiator = initiator;
	conn->in = g_byte_array_new();
	conn->plain = g_byte_array_new();
	conn->records = g_ptr_array_new_with_free_func(record_free);
	(void)getsockname(fd, (struct sockaddr *)&conn->local, &len);
	len = sizeof(conn->remote);
	(void)getpeername(fd, (struct sockaddr *)&conn->remote, &len);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	(void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	for (guint qn = 0; qn < G_N_ELEMENTS(conn->tx_msn); qn++)
		conn->tx_msn[qn] = conn->rx_msn[qn] = 1;
	return conn;
}

void
wire_conn_segments(int fd, guint mss)
{
	(void)setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &mss, sizeof(mss));
}

struct wire_conn *
wire_conn_connect(const struct sockaddr *address, socklen_t len, guint mss, GError **error)
{
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0) {
		conn_fail(error, "socket");
		return NULL;
	}
	wire_conn_segments(fd, mss);
	if (connect(fd, address, len) != 0) {
		conn_fail(error, "connect");
		close(fd);
		return NULL;
	}
	return conn_new(fd, TRUE);
}

struct wire_conn *
wire_conn_accept(int listener, gint64 patience_us, GError **error)
{
	struct pollfd set = {.fd = listener, .events = POLLIN};
	int fd;

	if (poll(&set, 1, (int)(patience_us / 1000)) == 0) {
		g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_TIMED_OUT,
				    "the peer did not connect in time");
		return NULL;
	}
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0) {
		conn_fail(error, "accept");
		return NULL;
	}
	return conn_new(fd, FALSE);
}

void
wire_conn_free(struct wire_conn *conn)
{
	if (conn == NULL)
		return;
	if (conn->fd >= 0)
		close(conn->fd);
	g_byte_array_unref(conn->in);
	g_byte_array_unref(conn->plain);
	g_ptr_array_unref(conn->records);
	if (conn->guilty != NULL)
		g_bytes_unref(conn->guilty);
	if (conn->held != NULL)
		g_byte_array_unref(conn->held);
	g_free(conn);
}

static gboolean
send_all(struct wire_conn *conn, const guint8 *octets, gsize len)
{
	if (len > 0)
		record_add(conn, TRUE, octets, len, FALSE);
	while (len > 0) {
		ssize_t n = send(conn->fd, octets, len, MSG_NOSIGNAL);
		struct pollfd set = {.fd = conn->fd, .events = POLLOUT};

		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
			if (poll(&set, 1, (int)(SEND_PATIENCE / 1000)) <= 0)
				return FALSE;
			continue;
		}
		if (n < 0)
			return FALSE;
		octets += n;
		len -= (gsize)n;
	}
	return TRUE;
}

gboolean
wire_conn_send(struct wire_conn *conn, const guint8 *octets, gsize len)
{
	if (conn->held != NULL) {
		g_byte_array_append(conn->held, octets, (guint)len);
		return TRUE;
	}
	return send_all(conn, octets, len);
}

gboolean
wire_conn_send_cut(struct wire_conn *conn, const guint8 *octets, gsize len, gsize first,
		   gsize piece)
{
	gsize next = first > 0 ? first : piece;

	if (conn->held != NULL)
		return wire_conn_send(conn, octets, len);
	while (len > 0) {
		gsize n = next == 0 || next > len ? len : next;

		if (!send_all(conn, octets, n))
			return FALSE;
		octets += n;
		len -= n;
		next = piece;
		/* With TCP_NODELAY each send is a segment; the pause lets the peer read it alone. */
		if (len > 0)
			g_usleep(SEGMENT_US);
	}
	return TRUE;
}

void
wire_conn_hold(struct wire_conn *conn)
{
	if (conn->held == NULL)
		conn->held = g_byte_array_new();
}

gboolean
wire_conn_release(struct wire_conn *conn, gsize first, gsize piece)
{
	g_autoptr(GByteArray) held = g_steal_pointer(&conn->held);

	return held == NULL || wire_conn_send_cut(conn, held->data, held->len, first, piece);
}

/* Read once. */
static void
input_read(struct wire_conn *conn)
{
	g_autofree guint8 *octets = g_malloc(CHUNK);
	ssize_t n = recv(conn->fd, octets, CHUNK, MSG_DONTWAIT);

	if (n > 0) {
		g_byte_array_append(conn->in, octets, (guint)n);
		record_add(conn, FALSE, octets, (gsize)n, FALSE);
	} else if (n == 0) {
		conn->end = WIRE_END_FIN;
		record_add(conn, FALSE, NULL, 0, TRUE);
	} else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
		conn->end = WIRE_END_RESET;
		record_add(conn, FALSE, NULL, 0, FALSE);
	}
}

gboolean
wire_conn_wait(struct wire_conn *conn, gint64 deadline)
{
	guint before = conn->in->len;

	while (conn->in->len == before && conn->end == WIRE_END_NONE) {
		gint64 left = deadline - g_get_monotonic_time();
		struct pollfd set = {.fd = conn->fd, .events = POLLIN};

		if (left < 0 || conn->fd < 0)
			return FALSE;
		if (poll(&set, 1, (int)(left / 1000) + 1) > 0)
			input_read(conn);
	}
	return TRUE;
}

enum wire_taken
wire_conn_look(struct wire_conn *conn, struct wire_fpdu *fpdu, gsize *size, char **why)
{
	struct wire_marked in = {.octets = conn->in->data,
				 .len = conn->in->len,
				 .position = conn->in_at,
				 .crc = conn->crc,
				 .plain = conn->plain};

	if (conn->marks_in)
		return wire_marked_take(&in, fpdu, size, why);
	return wire_fpdu_take(conn->in->data, conn->in->len, conn->crc, fpdu, size, why);
}

void
wire_conn_taken(struct wire_conn *conn, gsize len)
{
	conn->in_at += len;
	g_byte_array_remove_range(conn->in, 0, (guint)len);
}

void
wire_conn_shutdown(struct wire_conn *conn)
{
	(void)shutdown(conn->fd, SHUT_WR);
	record_add(conn, TRUE, NULL, 0, TRUE);
}

void
wire_conn_reset(struct wire_conn *conn)
{
	struct linger linger = {.l_onoff = 1, .l_linger = 0};

	(void)setsockopt(conn->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	close(conn->fd);
	conn->fd = -1;
	record_add(conn, TRUE, NULL, 0, FALSE);
}
