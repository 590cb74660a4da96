/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * How a stream ends.
 *
 * Only the service thread concludes an end. It takes both roles (or tries again shortly, if one is taken),
 * closes the socket, flushes both queues, changes the state to ERROR, and raises the one end event, in this
 * order. If FINs were exchanged, the close is an ordinary one. Otherwise it is an abort by
 * connect(AF_UNSPEC), which resets the connection even while a forked child has a duplicate of the
 * descriptor. Nothing waits longer than VIW_LINGER for a peer.
 *
 * Standards: RFC 5044 6, RFC 5040 6; [WIRE 7]; [RI 4.1].
 */
#include "viw_complete.h"
#include "viw_qp.h"

#include <sys/socket.h>
#include <unistd.h>

#include "viw_fork.h"

/* Close the socket: `orderly`, since FINs were exchanged, or with a reset. */
static void
socket_close(int fd, bool orderly)
{
	struct linger linger = {0};
	struct sockaddr none = {.sa_family = AF_UNSPEC};

	if (orderly)
		(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	else
		(void)connect(fd, &none, sizeof(none));
	close(fd);
}

void
viw_stream_drop(struct viw_qp *qp)
{
	const struct ri_host *host = qp->rnic->host;

	assert(vsw_role_is_taken(&qp->tx.role) && vsw_role_is_taken(&qp->rx.role));
	host->timer_stop(host->self, &qp->stream.wake_timer);
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
	bool orderly = atomic_load(&qp->tx.shut) && atomic_load(&qp->rx.eof);
	if (!atomic_load(&qp->stream.starting))
		viw_engine_remove(&qp->rnic->engine, qp);
	viw_fork_remove(qp->stream.fd);
	socket_close(qp->stream.fd, orderly);
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
	if (late && qp->end.event == RI_EVENT_QP_LLP_CLOSE_COMPLETE)
		qp->end.event = qp->end.orderly ? RI_EVENT_QP_LLP_LOST : RI_EVENT_QP_BAD_CLOSE;
	struct viw_end end = qp->end;
	vsw_unlock(&qp->lock);

	viw_stream_drop(qp);
	viw_sq_flush(qp);
	viw_rq_flush(qp);
	vsw_lock(&qp->lock);
	(void)viw_qp_step(&qp->state, VIW_MOVE_CLOSED);
	vsw_unlock(&qp->lock);
	viw_end_log(qp, &end, late);
	viw_event_raise(qp, end.event, end.detail);
}
