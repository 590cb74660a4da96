/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Connections over host TCP for providers that take over a stream: the MPA start-up and the hand-over
 * (RFC 5044 section 7, RFC 6581; [WIRE 2]).
 *
 * Initiator (kal_cm_dial.c): socket, TCP connect, Request out, Reply in, attach. Responder (the request was read and
 * shown by kal_request.c): Reply out, attach. Everything that touches the socket runs on the service
 * thread; a call only prepares it. A kal_setup is owned by its connection under the verbs lock. The thread that takes
 * it out of the connection (kal_setup_steal) frees it without that lock, because stopping a watch waits for its
 * function, and that function takes the lock.
 *
 * Once the provider has the stream, a setup has only its timer, which limits the wait for the ready-to-receive
 * message. The setup is freed when the connection is established.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kal_cm_internal.h"
#include "kal_cm_log.h"
#include "kal_partings.h"
#include "kal_request.h"
#include "kal_setup.h"
#include "kal_sock.h"
#include "ri_errno.h"
#include "ri_owned.h"

static void socket_ready(void *arg, uint32_t events);
static void time_is_up(void *arg);

struct kal_setup *
kal_setup_new(struct kal_conn *conn, bool initiator)
{
	struct kal_setup *setup = calloc(1, sizeof(*setup));

	if (setup == NULL)
		return NULL;
	setup->conn = conn;
	setup->cm = conn->cm;
	setup->host = conn->cm->host;
	setup->initiator = initiator;
	setup->watch.fire = socket_ready;
	setup->watch.arg = setup;
	setup->timer.fire = time_is_up;
	setup->timer.arg = setup;
	return setup;
}

struct kal_setup *
kal_setup_steal(struct kal_conn *conn)
{
	struct kal_setup *setup = conn->setup;

	RI_ASSERT_OWNED(&conn->verbs);
	conn->setup = NULL;
	return setup;
}

/*
 * The start-up ends here, and its socket is not watched any more. Two peers must not see the end of the stream at once, so
 * their socket is closed later (kal_partings.c):
 *
 * - An initiator that waits for our Reply gets a refusal. If it saw only the end of the stream, it
 *   would take this host for one that knows revision 1 only, and connect again. If the revision of
 *   its Request cannot express a refusal for want of room, the stream is reset.
 * - A responder that was asked for peer-to-peer mode gets a FIN. A close with unread octets would be a reset, which can end
 *   the connection manager of Linux with siw [WIRE 14.2].
 */
static void
setup_close(struct kal_setup *setup)
{
	int fd = kal_fd_get(&setup->fd);
	struct kal_mpa_frame reply;
	uint8_t out[KAL_MPA_FRAME_MAX];
	bool part = false;
	size_t size = 0;

	kal_fd_close(&setup->held);
	if (fd < 0)
		return;
	if (setup->converted) { /* the application has the socket, too: closing our descriptor would not end the stream */
		kal_sock_abort(fd);
	} else if (!setup->initiator && setup->out_at == 0) {
		if (kal_mpa_reject_no_room(&setup->offered, &setup->request, &reply))
			size = kal_mpa_write(&reply, out, sizeof(out));
		part = size > 0;
		if (part)
			kal_sock_capture(setup->cm, fd, out,
					 send(fd, out, size, MSG_NOSIGNAL | MSG_DONTWAIT), false);
		else
			kal_sock_abort(fd);
	} else if (setup->initiator && setup->request.peer_to_peer && setup->out_at > 0) {
		part = shutdown(fd, SHUT_WR) == 0;
	}
	if (setup->in_len > 0 || setup->out_at > 0)
		kal_sock_capture_end(setup->cm, fd, part);
	if (part)
		kal_parting_begin(setup->cm, &setup->fd);
	kal_fd_close(&setup->fd);
}

void
kal_setup_free(struct kal_setup *setup)
{
	const struct ri_host *host;

	if (setup == NULL)
		return;
	host = setup->host;
	host->watch_stop(host->self, &setup->watch);
	host->timer_stop(host->self, &setup->timer);
	setup_close(setup);
	free(setup->message);
	free(setup);
}

void
kal_stream_drop(struct kal_conn *conn)
{
	struct kal_setup *setup;

	kal_conn_lock(conn);
	setup = kal_setup_steal(conn);
	kal_conn_unlock(conn);
	kal_setup_free(setup);
}

/*
 * The attempt failed before the provider had the stream. The queue pair is flushed first, then the event is queued.
 *
 * The caller owns kal_conn::verbs, which is released here. It is on the service thread, where watch and timer stop at once. The
 * connection may be freed as soon as verbs is released, and its empty setup with it: the thread that frees it stops the watch,
 * which waits until the function of the watch, the caller of this one, has returned.
 */
void
kal_stream_give_up(struct kal_conn *conn, enum kal_conn_event conn_event, enum kal_cm_reason reason,
		   const char *why)
{
	struct kal_saying saying;
	struct kal_cm *cm = conn->cm;
	const struct ri_host *host = cm->host;
	struct kal_setup *setup = conn->setup;
	enum kal_cm_kind report;
	enum ri_status status;

	RI_ASSERT_OWNED(&conn->verbs);
	kal_say_failure(setup, why, &saying);
	host->watch_stop(host->self, &setup->watch);
	host->timer_stop(host->self, &setup->timer);
	setup_close(setup);
	kal_cm_lock(cm);
	status = kal_conn_go(conn, conn_event, &report);
	kal_cm_unlock(cm);
	if (status == RI_SUCCESS)
		kal_conn_kill(conn);
	kal_cm_lock(cm);
	if (status == RI_SUCCESS)
		kal_conn_tell_last(conn, report, reason);
	kal_cm_unlock(cm);
	kal_conn_unlock(conn);
	kal_say(host, &saying);
}

void
kal_setup_offer(struct kal_setup *setup, const struct kal_cm_req *req, bool suppress)
{
	const struct kal_cm *cm = setup->conn->cm;
	struct kal_mpa_offered *offered = &setup->offered;

	suppress |= !cm->attr->ird_ord_exchange;
	offered->revision = suppress ? 1 : 2;
	offered->crc = cm->config->crc;
	offered->markers_tx = cm->config->markers_tx;
	offered->markers_rx = cm->config->markers_rx;
	offered->words = !suppress;
	offered->ird = (uint16_t)MIN(req->ird, KAL_MPA_DEPTH_MAX);
	offered->ord = (uint16_t)MIN(req->ord, KAL_MPA_DEPTH_MAX);
	offered->ird_max = offered->ird; /* the consumer's number is never raised [IT 9.6] */
	offered->rtr = cm->attr->rtr_types;
	if (req->ord == 0)
		offered->rtr &= (uint8_t)~RI_RTR_READ; /* it needs an ORD of 1 */
	if (setup->initiator && !cm->config->peer_to_peer)
		offered->rtr = 0;
	offered->depth_private = suppress;
	offered->depth_echo = cm->config->echo_depths;
}

/* --- accepting ---------------------------------------------------------------------------- */

enum ri_status
kal_stream_accept(struct kal_conn *conn, const struct kal_cm_req *req, struct kal_request *request,
		  struct kal_accept_rep *rep)
{
	const struct ri_host *host = conn->cm->host;
	struct kal_setup *setup = kal_setup_new(conn, false);
	struct kal_mpa_frame reply;
	enum ri_status status;

	RI_ASSERT_OWNED(&conn->verbs);
	if (setup == NULL)
		return RI_ERR_RESOURCES;
	setup->request = request->frame;
	kal_setup_offer(setup, req, request->suppress);
	kal_mpa_accept(&setup->offered, &request->frame, &reply, &setup->negotiated);
	reply.private_data = req->pdata;
	reply.private_len = (uint16_t)req->pdata_len;
	setup->out_len = kal_mpa_write(&reply, setup->out, sizeof(setup->out));
	status = setup->out_len == 0 ? RI_ERR_INVALID_ARG
				     : ri_call_reserve(conn->cm->caller, conn->qp);
	if (status == RI_SUCCESS)
		status = kal_conn_move(conn, KAL_CONN_CALL_ACCEPT);
	if (status != RI_SUCCESS) {
		kal_setup_free(setup);
		return status;
	}
	kal_fd_move(&setup->fd, &request->fd);
	setup->tcp_up = true;
	setup->watch.fd = kal_fd_get(&setup->fd);
	setup->watch.events = RI_WATCH_OUT;
	conn->setup = setup;
	rep->ird = conn->pending.own_ird = setup->negotiated.ird;
	rep->ord = conn->pending.own_ord = setup->negotiated.ord;
	if (host->watch_start(host->self, &setup->watch) != RI_SUCCESS) {
		setup->error = ENOMEM;
		host->timer_start(host->self, &setup->timer, host->now(host->self));
	} else {
		host->timer_start(host->self, &setup->timer,
				  host->now(host->self) + KAL_CONNECT_DEFAULT);
	}
	return RI_SUCCESS;
}

/* --- on the service thread ------------------------------------------------------------------ */

enum ri_status
kal_stream_hand_over(struct kal_conn *conn, struct kal_setup *setup, size_t early_at,
		     uint16_t abort_code)
{
	struct kal_cm *cm = conn->cm;
	const struct ri_host *host = cm->host;
	bool rtr = setup->negotiated.rtr != 0;
	enum ri_status status;
	struct ri_stream stream = {
		.fd = kal_fd_get(&setup->fd),
		.initiator = setup->initiator,
		.crc = setup->negotiated.crc,
		.markers_tx = setup->negotiated.markers_tx,
		.markers_rx = setup->negotiated.markers_rx,
		.peer_local = kal_sock_is_local(&conn->pending.peer),
		.rtr_send = setup->initiator ? setup->negotiated.rtr : 0,
		.rtr_expect = setup->initiator ? 0 : setup->negotiated.rtr,
		.await_fpdu = !setup->initiator && !rtr,
		.abort_code = abort_code,
		.wake_ms = setup->initiator ? (uint16_t)cm->config->wake_ms : 0,
		.ird = setup->negotiated.ird,
		.ord = setup->negotiated.ord,
		.early = setup->in + early_at,
		.early_len = (uint32_t)(setup->in_len - early_at),
	};

	RI_ASSERT_OWNED(&conn->verbs);
	host->watch_stop(host->self, &setup->watch);
	kal_sock_rdma_mode(stream.fd);
	kal_cm_lock(cm);
	conn->pending.own_ird = setup->negotiated.ird;
	conn->pending.own_ord = setup->negotiated.ord;
	kal_cm_unlock(cm);
	/* The upcall STREAM_UP may come before the call returns. */
	status = kal_conn_move(conn, KAL_CONN_ATTACH);
	if (status == RI_SUCCESS)
		status = ri_call_attach_stream(cm->caller, conn->qp, &stream);
	if (status == RI_SUCCESS)
		(void)kal_fd_release(&setup->fd);
	return status;
}

/* Hand the stream to the provider. Under verbs; true if it was released (a failure). */
bool
kal_stream_attach(struct kal_conn *conn, struct kal_setup *setup, size_t early_at,
		  uint16_t abort_code)
{
	enum ri_status status = kal_stream_hand_over(conn, setup, early_at, abort_code);

	if (status == RI_SUCCESS)
		return false;
	/* The peer may have closed meanwhile, and then this is no stream any more. */
	kal_stream_give_up(conn, KAL_CONN_FAILED,
			   status == RI_ERR_RESOURCES ? KAL_REASON_RESOURCES : KAL_REASON_OTHER,
			   status == RI_ERR_RESOURCES
				   ? "memory ran out"
				   : "the stream ended before it was taken over");
	return true;
}

int
kal_setup_send(struct kal_setup *setup, const uint8_t *octets, size_t len, size_t *at)
{
	while (*at < len) {
		ssize_t n = send(kal_fd_get(&setup->fd), octets + *at, len - *at, MSG_NOSIGNAL);

		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			kal_sock_capture(setup->cm, kal_fd_get(&setup->fd), octets + *at, n, false);
			*at += (size_t)n;
		}
	}
	return 1;
}

static void
socket_ready(void *arg, uint32_t events)
{
	struct kal_setup *setup = arg;
	struct kal_conn *conn = setup->conn;
	bool released = false;
	int done;

	kal_conn_lock(conn);
	if (conn->setup != setup || kal_fd_get(&setup->fd) < 0) {
		/* A call has taken the setup meanwhile. */
	} else if (setup->step != KAL_CONVERT_NONE) {
		released = kal_convert_advance(conn, setup, events);
	} else if (setup->initiator) {
		released = kal_dial_advance(conn, setup, events);
	} else {
		/* A responder: the Reply goes out, then the provider gets the stream. */
		done = kal_setup_send(setup, setup->out, setup->out_len, &setup->out_at);
		if (done > 0)
			released = kal_stream_attach(conn, setup, 0, 0);
		else if (done < 0)
			kal_stream_give_up(conn, KAL_CONN_FAILED, kal_sock_reason(-done),
					   ri_errno_text(-done));
		released = released || done < 0;
	}
	if (!released)
		kal_conn_unlock(conn);
}

static void
time_is_up(void *arg)
{
	struct kal_setup *setup = arg;
	struct kal_conn *conn = setup->conn;
	const struct ri_host *host = setup->host;
	struct kal_saying saying = {.text = ""};
	/* A try that is under way says less than one that was refused. */
	int error = setup->error != 0 ? setup->error : setup->tcp_up ? 0 : setup->refused;
	const char *why = error != 0         ? ri_errno_text(error)
			  : !setup->tcp_up   ? "the TCP connection was not established in time"
			  : setup->initiator ? "no whole Reply came in time"
			  : setup->converted ? "no whole Request came in time"
					     : "the Reply could not be sent in time";
	enum kal_cm_reason reason = error != 0 ? kal_sock_reason(error) : KAL_REASON_TIMEOUT;

	kal_conn_lock(conn);
	if (conn->setup == setup && setup->paused) {
		if (kal_dial_resume(conn, setup))
			kal_conn_unlock(conn);
		return;
	}
	if (conn->setup == setup && kal_fd_get(&setup->fd) >= 0) {
		if (setup->error != 0 && kal_dial_later(conn, setup, setup->error))
			kal_conn_unlock(conn);
		else
			kal_stream_give_up(conn, KAL_CONN_FAILED, reason, why);
		return;
	}
	if (conn->setup == setup && kal_conn_state(conn) == KAL_CONN_STARTING) {
		kal_say_failure(setup, "the ready-to-receive message did not come in time",
				&saying);
		/* The provider has the stream and raises the end. */
		kal_cm_lock(conn->cm);
		conn->pending.reason = KAL_REASON_TIMEOUT;
		kal_cm_unlock(conn->cm);
		kal_conn_kill(conn);
	}
	kal_conn_unlock(conn);
	if (saying.text[0] != '\0')
		kal_say(host, &saying);
}
