/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The initiator of a connection over host TCP: connect, Request out, Reply in (RFC 5044 section 7, RFC 6581; [WIRE 2]).
 * The struct kal_setup, and what both sides share, are in kal_cm_stream.c.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "kal_cm_internal.h"
#include "kal_cm_log.h"
#include "kal_setup.h"
#include "kal_sock.h"
#include "kal_sock_source.h"
#include "ri_errno.h"
#include "ri_log.h"
#include "ri_owned.h"

#define MILLISECOND G_GUINT64_CONSTANT(1000000) /* in ns */
#define PAUSE       (20 * MILLISECOND)          /* before a refused attempt begins again */

/*
 * Bind to the address and TCP port that the consumer chose. A port that lingering connections of this host occupy
 * (RI_ERR_TIME_WAIT) will be free again; one with a listener (RI_ERR_IN_USE) will not.
 */
static enum ri_status
bind_local(int fd, const struct kal_cm_req *req, int family)
{
	struct sockaddr_storage sa;
	struct ri_addr any = {.family = family == AF_INET ? RI_ADDR_IPV4 : RI_ADDR_IPV6};
	const struct ri_addr *local = req->local.family != RI_ADDR_NONE ? &req->local : &any;
	socklen_t len = kal_sock_addr(&sa, local, req->service.local_port);
	enum ri_status status = RI_ERR_TIME_WAIT;
	struct kal_fd probe = {0};
	int one = 1;

	if (req->local.family == RI_ADDR_NONE && req->service.local_port == 0)
		return RI_SUCCESS;
	if (sa.ss_family != family)
		return RI_ERR_NO_ROUTE;
	if (req->reuse_addr)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	/* With no port given, connect() chooses one: it may use a port again for another peer, which bind() may not. */
	if (req->service.local_port == 0)
		setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&sa, len) == 0)
		return RI_SUCCESS;
	if (errno == EACCES)
		return RI_ERR_PERMISSION;
	/* Without a port that the consumer chose, all are taken. */
	if (ri_errno_is_short(errno) || (errno == EADDRINUSE && req->service.local_port == 0))
		return RI_ERR_RESOURCES;
	if (errno != EADDRINUSE)
		return RI_ERR_NO_ROUTE;
	if (kal_sock_new(&probe, family) != 0)
		return RI_ERR_RESOURCES;
	setsockopt(kal_fd_get(&probe), SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (req->reuse_addr || bind(kal_fd_get(&probe), (struct sockaddr *)&sa, len) != 0)
		status = RI_ERR_IN_USE;
	kal_fd_close(&probe);
	return status;
}

/* This host lacks a port or a descriptor for a connection: the log says so once, until one is there again. */
static void
note_shortage(struct kal_setup *setup, int error)
{
	struct kal_cm *cm = setup->cm;
	const struct ri_host *host = cm->host;
	bool known = atomic_exchange(&cm->dial_short, error) == error;
	char peer[RI_LOG_ADDRESS];
	const struct ri_log_about about = {.layer = "kal", .adapter = cm->attr->name, .peer = peer};

	if (error == 0 || known)
		return;
	ri_log_addr(&setup->req.peer, setup->req.service.port, peer, sizeof(peer));
	ri_log(host, RI_LOG_WARNING, &about, "cannot connect: %s%s",
	       error == EADDRNOTAVAIL ? "no local TCP port is left; ports are those of "
					"net.ipv4.ip_local_port_range, and one that was in use may "
					"stay taken for a minute"
				      : ri_errno_text(error),
	       error == EMFILE ? " (see RLIMIT_NOFILE)" : "");
}

/* A socket for the connection, of this process or of a daemon that has rules for it. Returns 0 or an errno. */
static int
socket_new(struct kal_setup *setup, const struct sockaddr_storage *peer, socklen_t len,
	   bool *connecting)
{
	const struct kal_cm_req *req = &setup->req;
	struct ri_addr any = {.family = peer->ss_family == AF_INET ? RI_ADDR_IPV4 : RI_ADDR_IPV6};
	bool bound = req->local.family != RI_ADDR_NONE || req->service.local_port != 0;
	struct sockaddr_storage local = {.ss_family = AF_UNSPEC};
	const struct kal_dial dial = {
		.peer = peer, .len = len, .local = bound ? &local : NULL, .connecting = connecting};

	(void)kal_sock_addr(&local, req->local.family != RI_ADDR_NONE ? &req->local : &any,
			    req->service.local_port);
	return kal_sock_source()->dial(&setup->fd, &dial);
}

/* Open the socket and start to connect. A failure that a peer can cause is reported later, by an event. */
static enum ri_status
socket_dial(struct kal_setup *setup)
{
	const struct kal_cm_req *req = &setup->req;
	char interface[KAL_INTERFACE_NAME_MAX];
	struct sockaddr_storage sa;
	socklen_t len = kal_sock_addr(&sa, &req->peer, req->service.port);
	enum ri_status status;
	int error, fd, one = 1;
	bool forced, connecting = false;

	if (len == 0 || req->service.kind != RI_SERVICE_PORT || req->service.port == 0)
		return RI_ERR_INVALID_ARG;
	error = socket_new(setup, &sa, len, &connecting);
	if (error == EACCES)
		return RI_ERR_PERMISSION;
	if (error != 0 && error != EAFNOSUPPORT)
		note_shortage(setup, error);
	if (error != 0)
		return error == EAFNOSUPPORT ? RI_ERR_NO_ROUTE : RI_ERR_RESOURCES;
	fd = kal_fd_get(&setup->fd);
	setup->error = 0;
	setup->watch.fd = fd;
	setup->watch.events = RI_WATCH_OUT;
	if (connecting) {
		kal_fd_close(&setup->held);
		kal_sock_prepare(fd);
		return RI_SUCCESS;
	}
	status = kal_path_is_forced(setup->cm, req, &forced, interface);
	/* Linux before 5.7 wants a privilege for that. Without it the kernel's routing has the last word. */
	if (forced)
		(void)setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, interface,
				 (socklen_t)strnlen(interface, sizeof(interface)));
	if (status == RI_SUCCESS)
		status = bind_local(fd, req, sa.ss_family);
	if (status != RI_SUCCESS) {
		kal_fd_close(&setup->fd);
		return status;
	}
	kal_fd_close(&setup->held);
	/* A socket that binds to this port while this connection lingers needs the option on both. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	kal_sock_prepare(fd);
	if (connect(fd, (struct sockaddr *)&sa, len) != 0 && errno != EINPROGRESS)
		setup->error = errno;
	note_shortage(setup, setup->error == EADDRNOTAVAIL && req->service.local_port == 0
				     ? EADDRNOTAVAIL
				     : 0);
	if (setup->error == EADDRNOTAVAIL && req->service.local_port != 0) {
		kal_fd_close(&setup->fd);
		return RI_ERR_TIME_WAIT;
	}
	return RI_SUCCESS;
}

enum ri_status
kal_stream_connect(struct kal_conn *conn, const struct kal_cm_req *req)
{
	const struct ri_host *host = conn->cm->host;
	struct kal_setup *setup = kal_setup_new(conn, true);
	uint64_t deadline = kal_deadline(host, req->timeout_us);
	enum ri_status status;

	RI_ASSERT_OWNED(&conn->verbs);
	if (setup == NULL)
		return RI_ERR_RESOURCES;
	setup->req = *req;
	setup->deadline = deadline;
	if (req->refused_ms != 0)
		setup->insists_until = host->now(host->self) + req->refused_ms * MILLISECOND;
	kal_setup_offer(setup, req, req->suppress_ird_ord != 0);
	conn->pending.peer = req->peer;
	conn->pending.service = req->service;
	status = socket_dial(setup);
	if (status == RI_SUCCESS)
		status = ri_call_reserve(conn->cm->caller, conn->qp);
	if (status == RI_SUCCESS)
		status = kal_conn_move(conn, KAL_CONN_CALL_CONNECT);
	if (status != RI_SUCCESS) {
		kal_setup_free(setup);
		return status;
	}
	conn->setup = setup;
	if (setup->error != 0 || host->watch_start(host->self, &setup->watch) != RI_SUCCESS) {
		if (setup->error == 0)
			setup->error = ENOMEM;
		deadline = host->now(host->self);
	}
	if (deadline != RI_NEVER)
		host->timer_start(host->self, &setup->timer, deadline);
	return RI_SUCCESS;
}

/* --- on the service thread ------------------------------------------------------------------ */

/* The outcome of the initiator's TCP connect. Returns 0 or an errno. If 0, the Request is ready to be sent. */
static int
tcp_outcome(struct kal_conn *conn, struct kal_setup *setup)
{
	struct sockaddr_storage sa;
	socklen_t len = sizeof(setup->error);
	struct kal_mpa_frame *request = &setup->request;
	uint16_t port;
	int error = 0;

	if (getsockopt(kal_fd_get(&setup->fd), SOL_SOCKET, SO_ERROR, &error, &len) != 0)
		error = errno;
	if (error != 0)
		return error;
	if (kal_sock_is_own_peer(kal_fd_get(&setup->fd)))
		return ECONNREFUSED;
	kal_sock_watch_peer(kal_fd_get(&setup->fd), &conn->cm->config->keep_alive);
	len = sizeof(sa);
	if (getsockname(kal_fd_get(&setup->fd), (struct sockaddr *)&sa, &len) == 0) {
		kal_cm_lock(conn->cm);
		kal_sock_addr_back(&sa, &conn->pending.local, &port);
		conn->pending.service.local_port = port;
		kal_cm_unlock(conn->cm);
	}
	kal_mpa_offer(&setup->offered, request);
	request->private_data = setup->req.pdata;
	request->private_len = (uint16_t)setup->req.pdata_len;
	setup->out_len = kal_mpa_write(request, setup->out, sizeof(setup->out));
	setup->out_at = 0;
	setup->in_len = 0;
	setup->tcp_up = true;
	return kal_conn_move(conn, KAL_CONN_TCP_UP) == RI_SUCCESS ? 0 : EPROTO;
}

/*
 * One try of an attempt has ended, and another try will follow. Its socket is closed. If the
 * consumer chose the local port, the socket is only disconnected, and keeps the port until the next
 * try has it, so that no other program of the host can take it in the meantime.
 */
static void
leave_try(struct kal_setup *setup)
{
	const struct sockaddr nobody = {.sa_family = AF_UNSPEC};
	const struct ri_host *host = setup->host;

	host->watch_stop(host->self, &setup->watch);
	setup->tcp_up = false;
	kal_fd_close(&setup->held);
	if (setup->req.service.local_port != 0 &&
	    connect(kal_fd_get(&setup->fd), &nobody, sizeof(nobody)) == 0)
		kal_fd_move(&setup->held, &setup->fd);
	kal_fd_close(&setup->fd);
	setup->req.reuse_addr = 1; /* for the port that is held */
}

/* The peer closed without a Reply: perhaps it knows revision 1 only. True: connecting again. */
static bool
dial_again(struct kal_conn *conn, struct kal_setup *setup)
{
	const struct ri_host *host = conn->cm->host;

	if (!conn->cm->config->fall_back || !setup->initiator || setup->offered.revision != 2 ||
	    setup->in_len != 0)
		return false;
	leave_try(setup);
	setup->offered.revision = 1;
	setup->offered.words = false;
	setup->offered.rtr = 0;
	if (socket_dial(setup) != RI_SUCCESS || setup->error != 0)
		return false;
	return host->watch_start(host->self, &setup->watch) == RI_SUCCESS &&
	       kal_conn_move(conn, KAL_CONN_RETRY) == RI_SUCCESS;
}

/*
 * The attempt was refused, or ended before the Reply. Unless that failure is final, close the
 * socket and try again after a pause: the peer may listen by then. The caller owns kal_conn::verbs.
 */
bool
kal_dial_later(struct kal_conn *conn, struct kal_setup *setup, int error)
{
	const struct ri_host *host = conn->cm->host;
	uint64_t now = host->now(host->self);
	enum kal_cm_reason reason = kal_sock_reason(error);

	RI_ASSERT_OWNED(&conn->verbs);
	if ((reason != KAL_REASON_REFUSED && reason != KAL_REASON_OTHER) || setup->in_len != 0 ||
	    now >= setup->insists_until || now + PAUSE >= setup->deadline)
		return false;
	leave_try(setup);
	setup->error = setup->refused = error;
	setup->paused = true;
	host->timer_start(host->self, &setup->timer, now + PAUSE);
	return true;
}

/* The pause is over. Under verbs; false: verbs was released, and the attempt has failed. */
bool
kal_dial_resume(struct kal_conn *conn, struct kal_setup *setup)
{
	const struct ri_host *host = conn->cm->host;
	enum ri_status status;

	RI_ASSERT_OWNED(&conn->verbs);
	setup->paused = false;
	/* What a refusal said nothing about. */
	kal_setup_offer(setup, &setup->req, setup->req.suppress_ird_ord != 0);
	status = socket_dial(setup);
	if (status == RI_SUCCESS && setup->error != 0 && kal_dial_later(conn, setup, setup->error))
		return true;
	if (status == RI_SUCCESS && setup->error == 0)
		status = host->watch_start(host->self, &setup->watch);
	if (status != RI_SUCCESS || setup->error != 0) {
		int error = setup->error != 0 ? setup->error : ENOMEM;

		kal_stream_give_up(conn, KAL_CONN_FAILED, kal_sock_reason(error),
				   ri_errno_text(error));
		return false;
	}
	(void)!kal_conn_move(conn, KAL_CONN_RETRY); /* unless TCP was never up */
	host->timer_start(host->self, &setup->timer, setup->deadline);
	return true;
}

/* A whole Reply is there. Under verbs; true: verbs was released. */
static bool
judge_reply(struct kal_conn *conn, struct kal_setup *setup, const struct kal_mpa_frame *reply,
	    size_t size)
{
	enum kal_mpa_verdict verdict =
		kal_mpa_judge_reply(&setup->offered, &setup->request, reply, &setup->negotiated);
	uint16_t code = kal_mpa_verdict_code(verdict);
	const struct ri_host *host = setup->host;
	struct kal_saying saying;
	char why[KAL_WHY_MAX];

	RI_ASSERT_OWNED(&conn->verbs);
	kal_conn_note_frame(conn, reply);
	if (verdict == KAL_MPA_GO)
		return kal_stream_attach(conn, setup, size, 0);
	kal_mpa_verdict_text(verdict, &setup->offered, &setup->request, reply, why, sizeof(why));
	if (code == 0) {
		kal_stream_give_up(conn,
				   verdict == KAL_MPA_CLOSE_REJECTED ? KAL_CONN_REFUSED
								     : KAL_CONN_FAILED,
				   verdict == KAL_MPA_CLOSE_NO_ROOM ? KAL_REASON_RESOURCES
								    : KAL_REASON_BAD_PARAMS,
				   why);
		return true;
	}
	/* The start-up ends with a Terminate, which the provider sends. */
	kal_cm_lock(conn->cm);
	conn->pending.reason =
		verdict == KAL_MPA_TERMINATE_IRD ? KAL_REASON_BAD_ORD : KAL_REASON_BAD_PARAMS;
	kal_cm_unlock(conn->cm);
	kal_say_failure(setup, why, &saying);
	if (!kal_stream_attach(conn, setup, size, code))
		kal_conn_unlock(conn);
	kal_say(host, &saying);
	return true;
}

/* The socket is readable. Under verbs; true: verbs was released. */
static bool
read_reply(struct kal_conn *conn, struct kal_setup *setup)
{
	struct kal_mpa_frame reply;
	enum kal_mpa_found found;
	char why[KAL_WHY_MAX];
	size_t size;
	ssize_t n = recv(kal_fd_get(&setup->fd), setup->in + setup->in_len,
			 sizeof(setup->in) - setup->in_len, 0);

	RI_ASSERT_OWNED(&conn->verbs);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		int error = n < 0 ? errno : 0;

		if (dial_again(conn, setup) || kal_dial_later(conn, setup, error))
			return false;
		kal_stream_give_up(conn, KAL_CONN_FAILED, kal_sock_reason(error),
				   error != 0 ? ri_errno_text(error)
					      : "the peer closed before its Reply was whole");
		return true;
	}
	kal_sock_capture(setup->cm, kal_fd_get(&setup->fd), setup->in + setup->in_len, n, true);
	setup->in_len += (size_t)n;
	found = kal_mpa_read(KAL_MPA_REPLY, setup->in, setup->in_len, &reply, &size);
	if (found == KAL_MPA_MORE)
		return false;
	if (found == KAL_MPA_WHOLE)
		return judge_reply(conn, setup, &reply, size);
	kal_mpa_found_text(KAL_MPA_REPLY, found, setup->in, setup->in_len, why, sizeof(why));
	kal_stream_give_up(conn, KAL_CONN_FAILED, KAL_REASON_BAD_PARAMS, why);
	return true;
}

bool
kal_dial_advance(struct kal_conn *conn, struct kal_setup *setup, uint32_t events)
{
	const struct ri_host *host = conn->cm->host;
	int done;

	RI_ASSERT_OWNED(&conn->verbs);
	if (!setup->tcp_up) {
		int error = tcp_outcome(conn, setup);

		if (error != 0 && kal_dial_later(conn, setup, error))
			return false;
		if (error != 0) {
			kal_stream_give_up(conn, KAL_CONN_FAILED, kal_sock_reason(error),
					   ri_errno_text(error));
			return true;
		}
	}
	if (setup->out_at < setup->out_len) {
		done = kal_setup_send(setup, setup->out, setup->out_len, &setup->out_at);
		if (done < 0 && (dial_again(conn, setup) || kal_dial_later(conn, setup, -done)))
			return false;
		if (done < 0) {
			kal_stream_give_up(conn, KAL_CONN_FAILED, kal_sock_reason(-done),
					   ri_errno_text(-done));
			return true;
		}
		if (done > 0)
			host->watch_change(host->self, &setup->watch, RI_WATCH_IN);
		return false;
	}
	if (events & (RI_WATCH_IN | RI_WATCH_ERR))
		return read_reply(conn, setup);
	return false;
}
