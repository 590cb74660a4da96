/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * How a stream ends.
 *
 * Only the service thread concludes an end. It takes both roles (or tries again shortly, if one is taken),
 * closes the socket, flushes both queues, changes the state to ERROR, and raises the one end event, in this
 * order. If FINs were exchanged, the close is an ordinary one. Otherwise, unless that would harm the peer, it is an abort by
 * connect(AF_UNSPEC), which resets the connection even while a forked child has a duplicate of the
 * descriptor. Nothing waits longer than VIW_LINGER for a peer.
 *
 * Standards: RFC 5044 6, RFC 5040 6; [WIRE 7]; [RI 4.1].
 */
#include "viw_complete.h"
#include "viw_qp.h"

#include <sys/socket.h>
#include <unistd.h>

#include "ri_calls.h"
#include "viw_fork.h"

void
viw_stream_drop(struct viw_qp *qp)
{
	const struct ri_host *host = qp->rnic->host;

	assert(vsw_role_is_taken(&qp->tx.role) && vsw_role_is_taken(&qp->rx.role));
	host->timer_stop(host->self, &qp->stream.wake_timer);
	bool orderly = atomic_load(&qp->tx.shut) && atomic_load(&qp->rx.eof);
	/*
	 * siw in peer-to-peer mode must not see a reset before it has processed the ready-to-receive
	 * message, because that crashes the connection manager of its kernel [WIRE 14.2]. Any octet from
	 * siw shows that it has processed the message.
	 */
	bool harmful = qp->stream.initiator && qp->stream.peer_to_peer &&
		       atomic_load(&qp->rx.samples) == 0 && !atomic_load(&qp->tx.broken);
	if (atomic_load(&qp->stream.attached) && !orderly && harmful) {
		/*
		 * Send, in place of a reset: the ready-to-receive message if it was not sent yet, a Terminate,
		 * and a FIN. The kernel delivers them; no thread waits for that.
		 */
		const struct viw_tx *tx = &qp->tx;
		struct ddp_segment empty = rdmap_tagged(RDMAP_WRITE, RDMAP_RTR_STAG, 0, true);
		struct rdmap_read_request read = {.source_stag = RDMAP_RTR_STAG};
		uint8_t frames[64 + RDMAP_TERMINATE_FPDU_MAX];
		uint32_t len = 0;

		if (qp->stream.rtr_send == RI_RTR_SEND)
			empty = rdmap_untagged(RDMAP_SEND, 1, 0, true);
		if (qp->stream.rtr_send == RI_RTR_READ)
			len = rdmap_read_request_fpdu(frames, 1, &read, qp->stream.crc);
		else if (qp->stream.rtr_send != 0)
			len = rdmap_fpdu_put(frames, &empty, qp->stream.crc);
		len += rdmap_terminate_code_fpdu(frames + len, 0x0000, qp->stream.crc);
		/* Not inside a frame, and not where markers would have to be put in. */
		if (!atomic_load(&tx->shut) && !tx->terminate_queued && tx->at == tx->len &&
		    !tx->segment.markers)
			viw_tap_octets(
				qp, frames,
				ri_send(qp->stream.fd, frames, len, MSG_DONTWAIT | MSG_NOSIGNAL),
				false);
		(void)shutdown(qp->stream.fd, SHUT_WR);
		orderly = true;
	}
	viw_engine_give(&qp->rnic->engine, qp->tx.buf);
	viw_engine_give(&qp->rnic->engine, qp->rx.keep);
	viw_engine_give(&qp->rnic->engine, qp->rx.spare);
	qp->rx.spare = NULL;
	qp->tx.buf = NULL;
	qp->tx.at = qp->tx.len = 0;
	qp->rx.keep = NULL;
	qp->rx.keep_len = 0;
	if (!atomic_load(&qp->stream.attached))
		return;
	viw_tap_end(qp, orderly);
	if (!atomic_load(&qp->stream.starting))
		viw_engine_remove(&qp->rnic->engine, qp);
	viw_fork_remove(qp->stream.fd);
	/* Orderly, if FINs were exchanged or one was sent; otherwise with a reset. */
	struct linger linger = {0};
	struct sockaddr none = {.sa_family = AF_UNSPEC};

	if (orderly)
		(void)setsockopt(qp->stream.fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	else
		(void)ri_connect(qp->stream.fd, &none, sizeof(none));
	ri_close(qp->stream.fd);
	qp->stream.fd = -1;
	atomic_store(&qp->stream.attached, false);
	atomic_store(&qp->stream.starting, false);
}

bool
viw_stream_end_is_due(struct viw_qp *qp)
{
	bool out_over = atomic_load(&qp->tx.shut) || atomic_load(&qp->tx.broken);

	switch (viw_qp_state(qp)) {
	case RI_QPS_ERROR:
		return true;
	case RI_QPS_CLOSING:
	case RI_QPS_TERMINATE:
		return atomic_load(&qp->stream.expired) || (out_over && atomic_load(&qp->rx.eof));
	case RI_QPS_NONE:
	case RI_QPS_IDLE:
	case RI_QPS_CONNECTING:
	case RI_QPS_RTS:
	case RI_QPS_COUNT:
	default:
		return false;
	}
}

void
viw_stream_conclude(struct viw_qp *qp)
{
	const struct ri_host *host = qp->rnic->host;
	bool late = atomic_load(&qp->stream.expired) && viw_qp_state(qp) != RI_QPS_ERROR;

	host->timer_stop(host->self, &qp->timer);
	vsw_lock(&qp->lock);
	/* A peer that has sent its FIN and reads no more has closed in order, too. */
	bool heard = qp->end.orderly && atomic_load(&qp->rx.eof);
	if (late && !heard && qp->end.event == RI_EVENT_QP_LLP_CLOSE_COMPLETE)
		qp->end.event = qp->end.orderly ? RI_EVENT_QP_LLP_LOST : RI_EVENT_QP_BAD_CLOSE;
	struct viw_end end = qp->end;
	vsw_unlock(&qp->lock);

	viw_end_tap(qp, &end);
	viw_stream_drop(qp);
	viw_sq_flush(qp);
	viw_rq_flush(qp);
	vsw_lock(&qp->lock);
	(void)viw_qp_step(&qp->state, VIW_MOVE_CLOSED);
	vsw_unlock(&qp->lock);
	viw_end_log(qp, &end, late);
	viw_event_raise(qp, end.event, end.detail);
}
