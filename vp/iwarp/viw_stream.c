/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * How a stream begins, and what the service thread does for it.
 *
 * attach_stream takes over a connected socket that has been through the MPA start-up. The rest, which is the
 * RTR message, STREAM_UP and the first read, happens on the service thread, since a control verb makes no
 * upcall. In RDMA mode the socket has SO_LINGER {1, 0}: if this process dies, the peer sees a reset and not
 * an orderly close.
 *
 * Standards: RFC 5044 7.1, RFC 6581; [WIRE 2.5]; [RI 4.1].
 */
#include "viw_complete.h"
#include "viw_qp.h"
#include "viw_receive.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "viw_fork.h"
#include "vsw_relax.h"

void
viw_serve_soon(struct viw_qp *qp)
{
	const struct ri_host *host = qp->rnic->host;

	host->task_run(host->self, &qp->task);
}

void
viw_event_raise(struct viw_qp *qp, uint32_t event, uint32_t detail)
{
	const struct ri_upcalls *up = qp->rnic->upcalls;
	struct ri_async_event e = {
		.event = event, .object = RI_OBJECT_QP, .ctx = qp->init.ctx, .detail = detail};

	up->async_event(up->self, &e);
}

void
viw_stream_up(struct viw_qp *qp)
{
	viw_event_raise(qp, RI_EVENT_QP_STREAM_UP, 0);
	atomic_store(&qp->stream.up, true);
}

/* --- both roles at once -------------------------------------------------------------------- */

bool
viw_roles_take(struct viw_qp *qp)
{
	if (!vsw_role_take(&qp->rx.role))
		return false;
	if (vsw_role_take(&qp->tx.role)) {
		vsw_role_begin(&qp->rx.role);
		vsw_role_begin(&qp->tx.role);
		return true;
	}
	viw_rx_leave(qp);
	return false;
}

void
viw_roles_leave(struct viw_qp *qp)
{
	viw_tx_leave(qp);
	viw_rx_leave(qp);
}

/* --- begin --------------------------------------------------------------------------------- */

static void
tx_reset(struct viw_qp *qp, const struct ri_stream *stream)
{
	struct viw_tx *tx = &qp->tx;

	atomic_store(&tx->blocked, false);
	atomic_store(&tx->broken, false);
	atomic_store(&tx->shut, false);
	atomic_store(&tx->send_at_once, true);
	atomic_store(&tx->await_frame, stream->await_fpdu);
	tx->queued = 0;
	tx->given = 0;
	tx->send_msn = 1;
	tx->read_msn = 1;
	tx->atomic_msn = 1;
	tx->job = VIW_JOB_NONE;
	tx->response_last = false;
	tx->drained = false;
	tx->failed = false;
	tx->behind = false;
	tx->terminate_queued = false;
	tx->sent_immediate = false;
}

static void
rx_reset(struct viw_qp *qp, const struct ri_stream *stream)
{
	struct viw_rx *rx = &qp->rx;

	atomic_store(&rx->waiting, false);
	atomic_store(&rx->expired, false);
	atomic_store(&rx->eof, false);
	atomic_store(&rx->hung_up, false);
	rx->phase = VIW_RX_HEAD;
	rx->head_len = 0;
	viw_rx_target_close(&rx->target);
	rx->want_tx = false;
	rx->waited = false;
	rx->large = false;
	atomic_store(&rx->samples, stream->early_len > 0);
	rx->fault = RDMAP_FAULT_NONE;
	rx->receive_status = RI_WC_SUCCESS;
	rx->unmark = (struct mpa_unmark){.crc = stream->crc};
	rdmap_inbound_init(&rx->in);
	rx->in.rfc7306 = true;
	rx->in.reads_enabled =
		(qp->init.access & (RI_ACCESS_REMOTE_READ | RI_ACCESS_REMOTE_ATOMIC)) != 0;
}

/* Initialize the stream. The caller owns both roles, and the state is CONNECTING. */
static enum ri_status
stream_attach(struct viw_qp *qp, const struct ri_stream *stream)
{
	uint32_t ird = stream->ird < VIW_MAX_DEPTH ? stream->ird : VIW_MAX_DEPTH;
	uint32_t ord = stream->ord < VIW_MAX_DEPTH ? stream->ord : VIW_MAX_DEPTH;
	enum ri_status status = RI_SUCCESS;

	viw_reads_reset(&qp->reads);
	if (ird > qp->reads.irrq_room || ord > qp->reads.orrq_room)
		status = viw_reads_alloc(&qp->reads, ird, ord);
	tx_reset(qp, stream);
	rx_reset(qp, stream);
	if (status != RI_SUCCESS)
		return status;
	if (stream->early_len > 0) { /* these came with the start-up, and are read first */
		if (stream->early_len > VIW_BUF_SIZE)
			return RI_ERR_RESOURCES;
		uint8_t *keep =
			viw_pool_copy(&qp->rnic->engine.pool, stream->early, stream->early_len);
		if (keep == NULL)
			return RI_ERR_RESOURCES;
		qp->rx.keep = keep;
		qp->rx.keep_at = 0;
		qp->rx.keep_len = stream->early_len;
		if (stream->markers_rx)
			qp->rx.keep_len = mpa_unmark(&qp->rx.unmark, keep, stream->early_len);
	}
	if (!viw_fork_add(stream->fd, &qp->rnic->engine.forked)) {
		viw_stream_drop(qp);
		return RI_ERR_RESOURCES;
	}
	qp->reads.ird = ird;
	qp->reads.ord = ord;
	qp->stream.fd = stream->fd;
	qp->stream.crc = stream->crc;
	qp->stream.peer_local = stream->peer_local;
	qp->stream.markers = stream->markers_rx;
	viw_tap_begin(qp);
	qp->stream.apart = qp->stream.markers || qp->tap.on;
	qp->stream.initiator = stream->initiator;
	qp->stream.peer_to_peer = stream->rtr_send != 0 || stream->rtr_expect != 0;
	qp->stream.wake_ms = stream->initiator ? stream->wake_ms : 0;
	qp->stream.end = VIW_END_FREE;
	qp->stream.rtr_send = stream->rtr_send;
	qp->stream.rtr_expect = stream->rtr_expect;
	memset(&qp->end, 0, sizeof(qp->end));
	atomic_store(&qp->stream.up, false);
	atomic_store(&qp->stream.expired, false);
	atomic_store(&qp->engine.polled, 0);
	qp->engine.unwatched = false;
	/* RDMA mode of the socket; no option is essential. */
	static const char reno[] = "reno";
	struct linger linger = {.l_onoff = 1, .l_linger = 0};
	int one = 1;
	int flags = fcntl(qp->stream.fd, F_GETFL);

	(void)fcntl(qp->stream.fd, F_SETFL, flags | O_NONBLOCK);
	(void)setsockopt(qp->stream.fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	(void)setsockopt(qp->stream.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (qp->stream.peer_local)
		(void)setsockopt(qp->stream.fd, IPPROTO_TCP, TCP_CONGESTION, reno,
				 sizeof(reno) - 1);
	viw_segments_reset(qp, stream);
	return RI_SUCCESS;
}

static enum ri_status
llp_attach(struct ri_qp *ri, const struct ri_stream *stream)
{
	struct viw_qp *qp = (struct viw_qp *)ri;
	union viw_peer peer = {0};
	int protocol = 0;
	socklen_t len = sizeof(protocol);
	socklen_t peer_len = sizeof(peer);

	errno = 0;
	if (getsockopt(stream->fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len) != 0 ||
	    protocol != IPPROTO_TCP || getpeername(stream->fd, &peer.sa, &peer_len) != 0) {
		viw_log_refused(qp, "getsockopt or getpeername", errno);
		return RI_ERR_INVALID_ARG;
	}
	if (viw_qp_state(qp) != RI_QPS_CONNECTING)
		return RI_ERR_INVALID_STATE;
	for (unsigned round = 0; !viw_roles_take(qp); round++)
		vsw_relax(qp->rnic->host, round);
	enum ri_status status = stream_attach(qp, stream);
	if (status == RI_SUCCESS) {
		qp->stream.peer = peer;
		atomic_store(&qp->stream.starting, true);
		atomic_store(&qp->stream.attached, true);
		vsw_lock(&qp->lock);
		(void)viw_qp_step(&qp->state, VIW_MOVE_ATTACH);
		vsw_unlock(&qp->lock);
	}
	viw_roles_leave(qp);
	if (status != RI_SUCCESS)
		return status;
	if (stream->abort_code != 0)
		return viw_end_by_caller(qp, VIW_MOVE_TO_TERMINATE, RI_EVENT_QP_CATASTROPHIC,
					 stream->abort_code);
	viw_serve_soon(qp);
	return RI_SUCCESS;
}

static enum ri_status
llp_reserve(struct ri_qp *ri)
{
	struct viw_qp *qp = (struct viw_qp *)ri;

	vsw_lock(&qp->lock);
	if (viw_qp_state(qp) == RI_QPS_IDLE)
		vsw_wq_forget(&qp->tx.sq); /* the engine is idle, and nothing is posted meanwhile */
	bool ok = viw_qp_step(&qp->state, VIW_MOVE_RESERVE);
	vsw_unlock(&qp->lock);
	return ok ? RI_SUCCESS : RI_ERR_INVALID_STATE;
}

const struct ri_llp_ops viw_llp_ops = {
	.size = sizeof(struct ri_llp_ops),
	.reserve = llp_reserve,
	.attach_stream = llp_attach,
};

/* Send the ready-to-receive message (RFC 6581), which has no completion here. */
static void
rtr_send(struct viw_qp *qp)
{
	struct viw_tx *tx = &qp->tx;
	struct rdmap_read_request read = {.source_stag = RDMAP_RTR_STAG};
	struct ddp_segment send;

	if (!viw_tx_buffer(qp)) {
		viw_stream_lost(qp, ENOMEM);
		return;
	}
	if (qp->stream.rtr_send == RI_RTR_SEND) {
		send = rdmap_untagged(RDMAP_SEND, tx->send_msn++, 0, true);
		tx->len = rdmap_fpdu_put(tx->buf, &send, qp->stream.crc);
		viw_qp_built(qp, tx->len, 1);
		(void)viw_tx_push(qp);
	} else if (qp->stream.rtr_send == RI_RTR_READ) {
		(void)viw_read_note(&qp->reads, &(struct viw_outbound_read){0});
		tx->len = rdmap_read_request_fpdu(tx->buf, tx->read_msn++, &read, qp->stream.crc);
		viw_qp_built(qp, tx->len, 1);
		(void)viw_tx_push(qp);
	} else {
		viw_wake_write(qp);
	}
	qp->stream.rtr_send = 0;
}

/* --- on the service thread ------------------------------------------------------------------ */

/* A control verb owned a role, or a round is to be tried again: have viw_serve run after VIW_RETRY. */
static void
serve_retry_later(struct viw_qp *qp)
{
	const struct ri_host *host = qp->rnic->host;

	host->timer_start(host->self, &qp->timer, host->now(host->self) + VIW_RETRY);
}

/*
 * Sending has failed: read what the peer sent last, which may be a Terminate. If another thread
 * owns the receiving role, it may be about to read that, so the cause of the end is not decided
 * yet.
 */
static void
receive_after_break(struct viw_qp *qp)
{
	if (!vsw_role_take(&qp->rx.role)) {
		serve_retry_later(qp);
		return;
	}
	atomic_store(&qp->rx.role.retry, 1);
	viw_rx_leave(qp);
	if (viw_qp_state(qp) == RI_QPS_RTS)
		viw_stream_lost(qp, atomic_load(&qp->tx.error));
}

/*
 * Do the rounds of both roles. After the end of the stream: posts, the Terminate, the FIN. Before
 * that: a round that another thread requested while a control verb owned the role. The stream need
 * not be up, since its first message may wait for a receive.
 */
static void
roles_serve(struct viw_qp *qp)
{
	enum ri_qp_state state = viw_qp_state(qp);
	bool runs = state == RI_QPS_RTS && !atomic_load(&qp->stream.starting);

	if (state > RI_QPS_RTS || (runs && atomic_load(&qp->tx.role.retry) != 0))
		viw_tx_run(qp);
	if (state > RI_QPS_RTS || (runs && atomic_load(&qp->rx.role.retry) != 0))
		(void)viw_rx_serve(qp);
}

void
viw_serve(void *arg)
{
	struct viw_qp *qp = arg;

	if (atomic_load(&qp->rnic->engine.forked))
		return;
	if (atomic_load(&qp->tx.broken) && viw_qp_state(qp) == RI_QPS_RTS)
		receive_after_break(qp);
	if (atomic_exchange(&qp->rx.limits_new, false))
		viw_receive_limits(qp);
	if (atomic_load(&qp->stream.starting) ||
	    (atomic_load(&qp->stream.attached) && viw_stream_end_is_due(qp))) {
		if (!viw_roles_take(qp)) {
			serve_retry_later(qp);
			return;
		}
		if (atomic_load(&qp->stream.starting)) {
			/* A new stream starts. */
			if (viw_engine_add(&qp->rnic->engine, qp) != RI_SUCCESS)
				viw_stream_lost(qp, ENOMEM);
			if (viw_qp_state(qp) == RI_QPS_RTS && qp->stream.rtr_send != 0)
				rtr_send(qp);
			else if (viw_qp_state(qp) == RI_QPS_RTS && qp->stream.wake_ms != 0 &&
				 vsw_wq_pending(&qp->tx.sq) == 0)
				viw_wake_write(qp); /* a responder may wait for the first frame */
			if (viw_qp_state(qp) == RI_QPS_RTS && qp->stream.rtr_expect == 0)
				viw_stream_up(qp);
			viw_wake_start(qp);
			atomic_store(&qp->stream.starting, false);
			/* viw_roles_leave, below, then looks for what came meanwhile. */
			atomic_store(&qp->tx.role.retry, 1);
			atomic_store(&qp->rx.role.retry, 1);
		}
		if (atomic_load(&qp->stream.attached) && viw_stream_end_is_due(qp))
			viw_stream_conclude(qp);
		viw_roles_leave(qp);
	}
	roles_serve(qp);
}

void
viw_timer(void *arg)
{
	struct viw_qp *qp = arg;
	const struct ri_host *host = qp->rnic->host;

	/* If sending has failed, no message waits for a receive any more: viw_serve tries again. */
	if (viw_qp_state(qp) == RI_QPS_RTS && atomic_load(&qp->rx.waiting) &&
	    !atomic_load(&qp->tx.broken)) {
		atomic_store(&qp->rx.expired, true);
		(void)viw_rx_run(qp);
		return;
	}
	if (viw_qp_state(qp) > RI_QPS_RTS && atomic_load(&qp->stream.attached)) {
		uint64_t deadline = atomic_load(&qp->stream.deadline);

		if (host->now(host->self) < deadline) {
			host->timer_start(host->self, &qp->timer, deadline);
		} else {
			roles_serve(qp); /* this thread may be late, and not the peer */
			atomic_store(&qp->stream.expired, !viw_stream_end_is_due(qp));
		}
	}
	viw_serve(qp);
}
