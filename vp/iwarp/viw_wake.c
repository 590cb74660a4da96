/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Wakes a peer that sleeps.
 *
 * siw as responder may miss the frames that come right behind its Reply: it sleeps until more octets arrive
 * [WIRE 14.1]. And a responder of plain MPA waits for the initiator's first frame, also if its application is
 * the one that speaks first [WIRE 14.9]. So an initiator sends an RDMA Write of no octets: at once if nothing
 * else is queued, and again when ri_stream::wake_ms have passed, and then 4, 16, 64 and 256 times as long
 * after one another, until something has come from the peer.
 *
 * If the peer agreed on a ready-to-receive message it may not send first, so anything received
 * proves that it has read what was sent. Otherwise siw's application may have sent while its
 * receiver sleeps [WIRE 11.9]; so the first Write of the timer is sent whatever was received.
 *
 * If siw has missed the ready-to-receive message, the stream must not end before siw reads it, since that would
 * crash its kernel [WIRE 14.2]. So an initiator in peer-to-peer mode that has received nothing wakes the peer
 * before it ends the stream, and waits wake_ms before the Terminate or the FIN [WIRE 7.9].
 *
 * STag and TO of such a Write are not checked (RFC 5041 5.1; RFC 5040 5.1). It has no completion and takes no
 * slot of the send queue.
 *
 * Threads: the service thread, which owns both roles; the end is held by the owner of the sending role. This costs
 * nothing on the fast path: viw_rx::samples shows whether something has come.
 */
#include "viw_qp.h"

#define WAKES      5u                /* times that the timer fires */
#define WAKE_SHIFT 2u                /* each interval is 4 times the one before */
#define MS         UINT64_C(1000000) /* ns */
/*
 * The time until the next try if another thread owns a role. That thread is sending, perhaps for
 * minutes, and each try would take the processor from it.
 */
#define BUSY_MS 50u

void
viw_wake_write(struct viw_qp *qp)
{
	struct viw_tx *tx = &qp->tx;
	struct ddp_segment write = rdmap_tagged(RDMAP_WRITE, RDMAP_RTR_STAG, 0, true);

	assert(vsw_role_is_taken(&qp->tx.role));
	/* Where octets wait for the socket, or a message is cut into segments, more of them will go out anyway. */
	if (tx->job != VIW_JOB_NONE || tx->at < tx->len || !viw_tx_buffer(qp))
		return;
	tx->len = rdmap_fpdu_put(tx->buf, &write, qp->stream.crc);
	viw_qp_built(qp, tx->len, 1);
	(void)viw_tx_push(qp);
}

static void
timer_set(struct viw_qp *qp)
{
	const struct ri_host *host = qp->rnic->host;
	uint64_t wait = (qp->stream.wake_ms * MS) << (WAKE_SHIFT * qp->stream.wakes);

	host->timer_start(host->self, &qp->stream.wake_timer, host->now(host->self) + wait);
}

void
viw_wake_start(struct viw_qp *qp)
{
	qp->stream.wakes = 0;
	if (qp->stream.wake_ms != 0 && viw_qp_state(qp) == RI_QPS_RTS)
		timer_set(qp);
}

bool
viw_wake_holds_end(struct viw_qp *qp)
{
	struct viw_stream *stream = &qp->stream;
	const struct ri_host *host = qp->rnic->host;

	assert(vsw_role_is_taken(&qp->tx.role));
	if (!stream->initiator || !stream->peer_to_peer || stream->wake_ms == 0 ||
	    stream->end == VIW_END_DUE || atomic_load(&qp->rx.samples) != 0 ||
	    atomic_load(&qp->rx.eof) || atomic_load(&qp->tx.broken))
		return false;
	if (stream->end == VIW_END_FREE) {
		stream->end = VIW_END_HELD;
		viw_wake_write(qp);
		host->timer_start(host->self, &stream->wake_timer,
				  host->now(host->self) + stream->wake_ms * MS);
	}
	return true;
}

void
viw_wake_fire(void *arg)
{
	struct viw_qp *qp = arg;
	const struct ri_host *host = qp->rnic->host;

	if (atomic_load(&qp->rnic->engine.forked))
		return;
	if (!viw_roles_take(qp)) {
		host->timer_start(host->self, &qp->stream.wake_timer,
				  host->now(host->self) + BUSY_MS * MS);
		return;
	}
	if (qp->stream.end == VIW_END_HELD)
		qp->stream.end = VIW_END_DUE;
	/* May the peer be asleep? */
	if (viw_qp_state(qp) == RI_QPS_RTS && !atomic_load(&qp->tx.broken) &&
	    (atomic_load(&qp->rx.samples) == 0 ||
	     (qp->stream.wakes == 0 && !qp->stream.peer_to_peer))) {
		viw_wake_write(qp);
		if (++qp->stream.wakes < WAKES)
			timer_set(qp);
	}
	/*
	 * Taking the roles has cleared their retry flags, which another thread may have set: do the rounds. The
	 * round of the sending role also returns the buffer.
	 */
	atomic_store(&qp->tx.role.retry, 1);
	atomic_store(&qp->rx.role.retry, 1);
	viw_roles_leave(qp);
}
