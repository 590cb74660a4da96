/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A TCP connection of the application becomes a connection of a queue pair [IT 11].
 *
 * The descriptor is duplicated; the application's own descriptor stays open, but must not be used any more. Both
 * share the flags of the socket, so the call sets nothing on it before it can succeed.
 *
 * The initiator starts as after a connect whose TCP connection is established (kal_cm_dial.c). The responder first
 * sends the application's last message of streaming mode, then waits for the peer's MPA Request and answers it.
 * Without MPA frames the provider gets the stream as soon as the message is sent, or in the call itself if there is
 * no message. Octets that wait in the socket belong to what the peer sends next.
 *
 * What cannot be done in the call is done on the service thread. A failure resets the TCP connection, also for the
 * application's descriptor, since the peer cannot return to streaming mode.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kal_cm_internal.h"
#include "kal_cm_log.h"
#include "kal_route.h"
#include "kal_setup.h"
#include "kal_sock.h"
#include "ri_errno.h"
#include "ri_owned.h"

/* --- checks -------------------------------------------------------------------------------- */

static bool
option_is(int fd, int option, int value)
{
	int found = -1;
	socklen_t len = sizeof(found);

	return getsockopt(fd, SOL_SOCKET, option, &found, &len) == 0 && found == value;
}

/* The address, with an IPv4-mapped IPv6 address as its IPv4 address. */
static struct ri_addr
plain_address(const struct ri_addr *addr)
{
	struct sockaddr_storage sa;
	struct ri_addr bare;
	uint16_t port;

	(void)kal_sock_addr(&sa, addr, 0);
	kal_sock_addr_back(&sa, &bare, &port);
	return bare;
}

/* Is it a connected TCP socket over IP? Fills in both addresses. */
static bool
is_stream(int fd, struct kal_pending *pending)
{
	struct sockaddr_storage sa;
	socklen_t len = sizeof(sa);
	uint16_t port = 0;

	if (!option_is(fd, SO_TYPE, SOCK_STREAM) || !option_is(fd, SO_PROTOCOL, IPPROTO_TCP) ||
	    !option_is(fd, SO_ACCEPTCONN, 0))
		return false;
	if (getpeername(fd, (struct sockaddr *)&sa, &len) != 0)
		return false;
	kal_sock_addr_back(&sa, &pending->peer, &port);
	pending->peer = plain_address(&pending->peer);
	pending->service.kind = RI_SERVICE_PORT;
	pending->service.port = port;
	len = sizeof(sa);
	if (getsockname(fd, (struct sockaddr *)&sa, &len) != 0)
		return false;
	kal_sock_addr_back(&sa, &pending->local, &port);
	pending->local = plain_address(&pending->local);
	pending->service.local_port = port;
	return pending->peer.family != RI_ADDR_NONE;
}

/* Find the spigot of this adapter that has the socket's own address [IT 11.1]. RI_ERR_INVALID_ARG: none. */
static enum ri_status
find_spigot(const struct kal_cm *cm, struct kal_pending *pending)
{
	enum ri_status status = RI_ERR_INVALID_ARG;

	for (uint32_t i = 0; i < cm->attr->num_ports && status == RI_ERR_INVALID_ARG; i++) {
		struct ri_port_attr port = {.size = sizeof(port)};

		status = ri_call_query_port(cm->caller, cm->rnic, i, &port);
		pending->port = i;
		/* A spigot without an interface and an address has any address. */
		if (status == RI_SUCCESS && !(port.num_addrs == 0 && port.if_name[0] == '\0') &&
		    !kal_route_owns(&port, &pending->local))
			status = RI_ERR_INVALID_ARG;
	}
	return status;
}

/* --- the call ------------------------------------------------------------------------------ */

/* A setup around a copy of the descriptor, with the first step of the start-up; NULL: no descriptor or no memory. */
static struct kal_setup *
setup_around(struct kal_conn *conn, const struct kal_convert_req *req, const void *message, int fd)
{
	struct kal_setup *setup = kal_setup_new(conn, req->initiator != 0);
	struct kal_cm_req depths = {.ird = conn->ird, .ord = conn->ord};

	if (setup == NULL)
		return NULL;
	if (req->msg_len > 0)
		setup->message = malloc(req->msg_len);
	if ((req->msg_len > 0 && setup->message == NULL) || !kal_fd_duplicate(&setup->fd, fd)) {
		kal_setup_free(setup);
		return NULL;
	}
	setup->tcp_up = true;
	setup->req = depths;
	kal_setup_offer(setup, &depths, true);
	setup->watch.fd = kal_fd_get(&setup->fd);
	setup->watch.events = RI_WATCH_OUT;
	if (req->msg_len > 0) {
		memcpy(setup->message, message, req->msg_len);
		setup->message_len = req->msg_len;
	}
	if (req->no_startup) {
		setup->negotiated = (struct kal_mpa_negotiated){.crc = setup->conn->cm->config->crc,
								.ird = setup->offered.ird,
								.ord = setup->offered.ord};
		setup->step = KAL_CONVERT_LEAVE;
	} else if (req->initiator) {
		kal_mpa_offer(&setup->offered, &setup->request);
		setup->out_len = kal_mpa_write(&setup->request, setup->out, sizeof(setup->out));
	} else {
		setup->step = KAL_CONVERT_MESSAGE;
	}
	return setup;
}

/*
 * From now on the socket belongs to the kAL, and this shows at the application's descriptor. Socket options of the
 * application must not delay the reading or the sending of short frames.
 */
static void
take_over(struct kal_setup *setup)
{
	int fd = kal_fd_get(&setup->fd);
	int one = 1, off = 0;

	(void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &one, sizeof(one));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_CORK, &off, sizeof(off));
	kal_sock_prepare(fd);
	kal_sock_watch_peer(fd, &setup->conn->cm->config->keep_alive);
	setup->converted = true; /* a failure resets the stream */
}

/* As kal_setup_send, for the last message of streaming mode. */
static int
message_send(struct kal_setup *setup)
{
	return kal_setup_send(setup, setup->message, setup->message_len, &setup->message_at);
}

enum ri_status
kal_stream_convert(struct kal_conn *conn, const struct kal_convert_req *req, const void *message,
		   int fd, struct kal_convert_rep *rep)
{
	const struct ri_host *host = conn->cm->host;
	struct kal_pending pending = {0};
	struct kal_setup *setup;
	enum ri_status status;
	bool connected = false;
	int done = 0;

	RI_ASSERT_OWNED(&conn->verbs);
	if (!is_stream(fd, &pending))
		return RI_ERR_INVALID_ARG;
	status = find_spigot(conn->cm, &pending);
	if (status != RI_SUCCESS)
		return status;
	setup = setup_around(conn, req, message, fd);
	if (setup == NULL)
		return RI_ERR_RESOURCES;
	status = ri_call_reserve(conn->cm->caller, conn->qp);
	if (status == RI_SUCCESS)
		status = kal_conn_move(conn, req->initiator ? KAL_CONN_CALL_CONNECT
							    : KAL_CONN_CALL_ACCEPT);
	if (status == RI_SUCCESS && req->initiator)
		status = kal_conn_move(conn, KAL_CONN_TCP_UP);
	if (status != RI_SUCCESS) {
		kal_fd_close(&setup->fd); /* before the free, which would refuse on this stream */
		kal_setup_free(setup);
		return status;
	}
	take_over(setup);
	pending.own_ird = conn->ird;
	pending.own_ord = conn->ord;
	conn->pending = pending;
	conn->setup = setup;
	/* Without MPA frames the provider gets the stream now, if the message is sent. */
	if (setup->step == KAL_CONVERT_LEAVE)
		done = message_send(setup);
	if (done > 0) {
		status = kal_stream_hand_over(conn, setup, 0, 0);
		connected = status == RI_SUCCESS;
		setup->error = connected ? 0 : status == RI_ERR_RESOURCES ? ENOMEM : ECONNRESET;
	} else if (done < 0) {
		setup->error = -done;
	}
	*rep = (struct kal_convert_rep){.connected = connected,
					.port = pending.port,
					.peer = pending.peer,
					.local = pending.local};
	if (connected)
		return RI_SUCCESS;
	/* The service thread does the rest, and reports what has failed already. */
	if (setup->error == 0 && host->watch_start(host->self, &setup->watch) != RI_SUCCESS)
		setup->error = ENOMEM;
	host->timer_start(
		host->self, &setup->timer,
		host->now(host->self) +
			(setup->error != 0 ? 0 : conn->cm->config->convert_s * KAL_NS_PER_S));
	return RI_SUCCESS;
}

/* --- on the service thread ------------------------------------------------------------------ */

/* The socket is readable: read the Request and prepare the Reply. *failed: with the reason that is returned, and `why` in words. */
static enum kal_cm_reason
read_request(struct kal_setup *setup, bool *failed, char *why)
{
	const struct ri_host *host = setup->host;
	enum kal_mpa_verdict verdict;
	enum kal_mpa_found found;
	struct kal_mpa_frame reply;
	size_t size = 0;
	ssize_t n = recv(kal_fd_get(&setup->fd), setup->in + setup->in_len,
			 sizeof(setup->in) - setup->in_len, 0);

	*failed = false;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return KAL_REASON_OTHER;
	*failed = true;
	if (n <= 0) {
		int error = n < 0 ? errno : 0;

		g_strlcpy(why,
			  error != 0 ? ri_errno_text(error)
				     : "the peer closed before its Request was whole",
			  KAL_WHY_MAX);
		return kal_sock_reason(error);
	}
	kal_sock_capture(setup->cm, kal_fd_get(&setup->fd), setup->in + setup->in_len, n, true);
	setup->in_len += (size_t)n;
	found = kal_mpa_read(KAL_MPA_REQUEST, setup->in, setup->in_len, &setup->request, &size);
	*failed = found != KAL_MPA_MORE;
	if (found != KAL_MPA_WHOLE) {
		kal_mpa_found_text(KAL_MPA_REQUEST, found, setup->in, setup->in_len, why,
				   KAL_WHY_MAX);
		return KAL_REASON_BAD_PARAMS;
	}
	verdict = kal_mpa_judge_request(&setup->request, setup->in_len - size);
	if (verdict == KAL_MPA_REFUSE_MARKERS && setup->offered.markers_tx)
		verdict = KAL_MPA_GO;
	kal_mpa_verdict_text(verdict, &setup->offered, &setup->request, NULL, why, KAL_WHY_MAX);
	if (verdict != KAL_MPA_GO)
		return KAL_REASON_BAD_PARAMS;
	kal_mpa_accept(&setup->offered, &setup->request, &reply, &setup->negotiated);
	setup->out_len = kal_mpa_write(&reply, setup->out, sizeof(setup->out));
	/* Octets behind the Request move to the front of the buffer. */
	setup->in_len -= size;
	memmove(setup->in, setup->in + size, setup->in_len);
	setup->step = KAL_CONVERT_NONE;
	if (setup->out_len == 0)
		return KAL_REASON_BAD_PARAMS;
	*failed = false;
	host->watch_change(host->self, &setup->watch, RI_WATCH_OUT);
	return KAL_REASON_OTHER;
}

bool
kal_convert_advance(struct kal_conn *conn, struct kal_setup *setup, uint32_t events)
{
	const struct ri_host *host = setup->host;
	enum kal_cm_reason reason = KAL_REASON_OTHER;
	char why[KAL_WHY_MAX] = "";
	bool failed = false;
	int done;

	RI_ASSERT_OWNED(&conn->verbs);
	if (setup->step == KAL_CONVERT_MESSAGE || setup->step == KAL_CONVERT_LEAVE) {
		done = message_send(setup);
		if (done == 0)
			return false;
		if (done > 0 && setup->step == KAL_CONVERT_LEAVE)
			return kal_stream_attach(conn, setup, 0, 0);
		failed = done < 0;
		g_strlcpy(why, failed ? ri_errno_text(-done) : "", sizeof(why));
		reason = failed ? kal_sock_reason(-done) : KAL_REASON_OTHER;
		setup->step = KAL_CONVERT_REQUEST;
		if (!failed)
			host->watch_change(host->self, &setup->watch, RI_WATCH_IN);
	} else if (events & (RI_WATCH_IN | RI_WATCH_ERR)) {
		reason = read_request(setup, &failed, why);
	}
	if (!failed)
		return false;
	kal_stream_give_up(conn, KAL_CONN_FAILED, reason, why);
	return true;
}
