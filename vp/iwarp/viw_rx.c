/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The receiving role of a queue pair [fast].
 *
 * A round reads what the socket has into a buffer of the pool and walks over the frames in it. A small
 * frame that is there whole is checked and done in one go. Any other goes through four phases that
 * may stop at any octet: its header is collected (HEAD), judged (BEGIN), its payload is placed as it
 * comes (BODY), its CRC compared (TAIL); so a queue pair never keeps more of a frame than its header.
 * The rest of a large payload is received straight into its place. Placement may precede the CRC
 * check, delivery never; and an error in a header is reported only after the CRC was found good, so
 * the answer to a frame does not depend on how TCP cut it (iwarp-wire 5.8).
 *
 * A Send that finds no receive stops the reading: EPOLLIN goes off, what was read behind it stays in
 * the buffer, a timer runs. A post to the receive queue starts it again.
 *
 * Standards: RFC 5044 6 to 8, RFC 5041 5 to 7, RFC 5040 5 to 7. The holder of rx.role; see viw_qp.h.
 */
#include "viw_qp.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "viw_fork.h"

#define VIW_RX_CHUNK  (64u * 1024)   /* octets of one read into the buffer */
#define VIW_RX_ROUND  (1024u * 1024) /* octets of one round, so that others get their turn */
#define VIW_RX_DIRECT 8192u          /* least rest of a payload that is received in place */
#define VIW_RX_LOOK   (3u + MPA_CRC_SIZE + RDMAP_FPDU_PAYLOAD_TAGGED) /* most octets read behind it */
#define HEADER        RDMAP_FPDU_PAYLOAD_UNTAGGED
#define VIW_RX_SMALL  1024u /* longest ULPDU whose CRC is checked before anything else */

/* --- faults -------------------------------------------------------------------------------- */

/* The event of a fault, where it depends on more than the fault; 0: it does not. */
static uint32_t
fault_event(struct viw_qp *qp, enum rdmap_fault fault)
{
	bool request = !qp->rx.seg.tagged && qp->rx.seg.qn == DDP_QN_READ_REQUEST;

	if (fault == RDMAP_FAULT_MSN && request)
		return RI_EVENT_QP_IRRQ_MSN_GAP;
	if (fault == RDMAP_FAULT_HEADER_SIZE && request)
		return RI_EVENT_QP_READ_MALFORMED;
	if (fault == RDMAP_FAULT_TAGGED_ACCESS && (qp->init.access & RI_ACCESS_REMOTE_WRITE) == 0)
		return RI_EVENT_QP_WRITE_DISABLED;
	return 0;
}

/* The frame under way is wrong. If it is not the CRC that is wrong, that was found right. */
static void
frame_fault(struct viw_qp *qp, enum rdmap_fault fault)
{
	struct viw_rx *rx = &qp->rx;
	struct rdmap_offender offender = {.ulpdu = rx->head + MPA_LENGTH_SIZE,
					  .have = rx->head_len - MPA_LENGTH_SIZE,
					  .ulpdu_len = rx->frame_ulpdu};

	rx->want_tx = true;
	if (fault == RDMAP_FAULT_CRC)
		viw_fault(qp, fault, NULL, 0);
	else if (rx->head_len > 3 && rdmap_opcode_of(rx->head[3]) == RDMAP_TERMINATE)
		viw_terminate_in(qp, NULL, 0); /* a bad one ends the stream all the same */
	else
		viw_fault(qp, fault, &offender, fault_event(qp, fault));
}

/* A Send found no receive: read no further, for a while. */
static void
wait_for_receive(struct viw_qp *qp)
{
	const struct ri_host *host = qp->rnic->host;
	struct viw_rx *rx = &qp->rx;

	if (atomic_exchange(&rx->waiting, true))
		return;
	viw_engine_want(qp, 0, EPOLLIN);
	host->timer_start(host->self, &qp->timer, host->now(host->self) + qp->rnic->rnr_ns);
}

static void
stop_waiting(struct viw_qp *qp)
{
	const struct ri_host *host = qp->rnic->host;

	atomic_store(&qp->rx.waiting, false);
	atomic_store(&qp->rx.expired, false);
	host->timer_stop(host->self, &qp->timer);
	viw_engine_want(qp, EPOLLIN, 0);
}

/* --- one frame in phases ------------------------------------------------------------------- */

/* Octets of the frame that belong to what is collected before its payload is looked at. */
static uint32_t
head_wanted(const struct viw_rx *rx)
{
	uint32_t frame = MPA_LENGTH_SIZE + wire_load_be16(rx->head);
	uint32_t wanted = RDMAP_FPDU_PAYLOAD_TAGGED;

	if (rx->head_len < 4)
		wanted = 4;
	else if (rdmap_rules[rdmap_opcode_of(rx->head[3])].single)
		wanted = VIW_HEAD_ROOM;
	else if ((rx->head[2] & DDP_CONTROL_TAGGED) == 0)
		wanted = RDMAP_FPDU_PAYLOAD_UNTAGGED;
	return frame < wanted ? frame : wanted;
}

/* Take octets of the header; true when it is complete. */
static bool
head_take(struct viw_rx *rx, const uint8_t **at, const uint8_t *end)
{
	for (;;) {
		uint32_t wanted =
			rx->head_len < MPA_LENGTH_SIZE ? MPA_LENGTH_SIZE : head_wanted(rx);
		uint32_t n = wanted - rx->head_len;

		if (n == 0)
			return true;
		if (n > (size_t)(end - *at))
			n = (uint32_t)(end - *at);
		if (n == 0)
			return false;
		memcpy(rx->head + rx->head_len, *at, n);
		rx->head_len = (uint8_t)(rx->head_len + n);
		*at += n;
	}
}

/* The header is complete: decode and judge it. False: wait. */
static bool
head_done(struct viw_qp *qp)
{
	struct viw_rx *rx = &qp->rx;
	uint32_t have = rx->head_len - MPA_LENGTH_SIZE;

	if (rx->phase == VIW_RX_HEAD) {
		rx->frame_ulpdu = wire_load_be16(rx->head);
		rx->crc = qp->crc ? mpa_crc(rx->head, rx->head_len, 0) : 0;
		rx->fault = RDMAP_FAULT_NONE;
		rx->tail_len = 0;
		rx->placed = 0;
		rx->phase = VIW_RX_BEGIN;
		if (ddp_segment_read(rx->head + MPA_LENGTH_SIZE, have, rx->frame_ulpdu, &rx->seg) !=
		    DDP_OK) {
			rx->fault = RDMAP_FAULT_HEADER_SIZE;
			rx->seg.payload_len = rx->frame_ulpdu - have;
		}
	}
	if (rx->fault == RDMAP_FAULT_NONE && viw_rx_begin(qp) == VIW_RX_WAIT) {
		wait_for_receive(qp);
		return false;
	}
	if (rx->fault != RDMAP_FAULT_HEADER_SIZE || rx->seg.payload != NULL)
		rx->placed = have - (rx->frame_ulpdu - rx->seg.payload_len);
	rx->phase = VIW_RX_BODY;
	return true;
}

/* Take octets of the payload; true when it is complete. */
static bool
body_take(struct viw_qp *qp, const uint8_t **at, const uint8_t *end)
{
	struct viw_rx *rx = &qp->rx;
	uint32_t n = rx->seg.payload_len - rx->placed;
	bool whole = n <= (size_t)(end - *at);

	if (!whole)
		n = (uint32_t)(end - *at);
	if (n > 0) {
		viw_rx_place(qp, *at, n);
		*at += n;
	}
	return whole;
}

/* Take PAD and CRC; true when the frame is complete. */
static bool
tail_take(struct viw_rx *rx, const uint8_t **at, const uint8_t *end)
{
	uint32_t n = mpa_pad(rx->frame_ulpdu) + MPA_CRC_SIZE - rx->tail_len;
	bool whole = n <= (size_t)(end - *at);

	if (!whole)
		n = (uint32_t)(end - *at);
	memcpy(rx->tail + rx->tail_len, *at, n);
	rx->tail_len = (uint8_t)(rx->tail_len + n);
	*at += n;
	return whole;
}

/* The frame is complete. */
static void
tail_done(struct viw_qp *qp)
{
	struct viw_rx *rx = &qp->rx;
	uint32_t pad = mpa_pad(rx->frame_ulpdu);

	rx->phase = VIW_RX_HEAD;
	if (qp->crc) {
		if (pad > 0)
			rx->crc = mpa_crc(rx->tail, pad, rx->crc);
		if (rx->crc != mpa_crc_load(rx->tail + pad))
			rx->fault = RDMAP_FAULT_CRC;
	}
	if (rx->fault != RDMAP_FAULT_NONE)
		frame_fault(qp, rx->fault);
	else
		viw_rx_finish(qp);
	rx->large = rx->seg.payload_len >= VIW_RX_DIRECT;
	rx->head_len = 0;
}

/* Go on with the frame under way. False: octets are missing, or it waits for a receive. */
static bool
frame_in_phases(struct viw_qp *qp, const uint8_t **at, const uint8_t *end)
{
	struct viw_rx *rx = &qp->rx;

	if (rx->phase == VIW_RX_HEAD && !head_take(rx, at, end))
		return false;
	if (rx->phase <= VIW_RX_BEGIN && !head_done(qp))
		return false;
	if (rx->phase == VIW_RX_BODY) {
		if (!body_take(qp, at, end))
			return false;
		rx->phase = VIW_RX_TAIL;
	}
	if (!tail_take(rx, at, end))
		return false;
	tail_done(qp);
	return true;
}

/* --- many frames --------------------------------------------------------------------------- */

/* Keep what a Terminate may have to repeat of a frame. */
static void
head_copy(struct viw_rx *rx, const uint8_t *at, uint32_t ulpdu_len)
{
	uint32_t n = MPA_LENGTH_SIZE + ulpdu_len;

	rx->frame_ulpdu = ulpdu_len;
	rx->head_len = (uint8_t)(n < VIW_HEAD_ROOM ? n : VIW_HEAD_ROOM);
	memcpy(rx->head, at, rx->head_len);
}

/* A frame that is there whole and is small: check it, then do it. False: it waits for a receive. */
static bool
frame_at_once(struct viw_qp *qp, const uint8_t *at, uint32_t size, uint32_t ulpdu_len)
{
	struct viw_rx *rx = &qp->rx;
	uint32_t covered = size - MPA_CRC_SIZE;
	bool crc_ok = !qp->crc || mpa_crc(at, covered, 0) == mpa_crc_load(at + covered);

	rx->frame_ulpdu = ulpdu_len;
	rx->fault = crc_ok ? RDMAP_FAULT_NONE : RDMAP_FAULT_CRC;
	rx->placed = 0;
	if (crc_ok &&
	    ddp_segment_read(at + MPA_LENGTH_SIZE, ulpdu_len, ulpdu_len, &rx->seg) != DDP_OK)
		rx->fault = RDMAP_FAULT_HEADER_SIZE;
	if (rx->fault == RDMAP_FAULT_NONE && viw_rx_begin(qp) == VIW_RX_WAIT)
		return false;
	if (rx->fault == RDMAP_FAULT_NONE &&
	    !rdmap_rules[rdmap_opcode_of(rx->seg.rdmap_control)].single)
		viw_rx_place(qp, rx->seg.payload, rx->seg.payload_len);
	if (rx->fault == RDMAP_FAULT_NONE) {
		viw_rx_finish(qp);
		return true;
	}
	head_copy(rx, at, ulpdu_len);
	frame_fault(qp, rx->fault);
	rx->head_len = 0;
	return true;
}

/* Walk over what has arrived; returns how much is done with. */
static uint32_t
feed(struct viw_qp *qp, const uint8_t *from, uint32_t len)
{
	struct viw_rx *rx = &qp->rx;
	const uint8_t *at = from;
	const uint8_t *end = from + len;

	while (at < end && viw_qp_state(qp) == RI_QPS_RTS) {
		uint32_t ulpdu_len = end - at >= 2 ? wire_load_be16(at) : MPA_ULPDU_MAX;
		uint32_t size = mpa_fpdu_size(ulpdu_len);

		if (rx->phase != VIW_RX_HEAD || rx->head_len > 0 || ulpdu_len > VIW_RX_SMALL ||
		    size > (size_t)(end - at)) {
			if (!frame_in_phases(qp, &at, end))
				break;
			continue;
		}
		if (!frame_at_once(qp, at, size, ulpdu_len)) {
			wait_for_receive(qp);
			break;
		}
		rx->large = false;
		at += size;
	}
	return (uint32_t)(at - from);
}

/* --- input --------------------------------------------------------------------------------- */

/*
 * The socket is at its end. 0: by a FIN; else the errno. The kernel tells an error once, to the role that
 * comes first, and an end to the other: EPIPE if there was a FIN before the reset. -1: the sending role is
 * being told just now, ask again.
 */
static int
end_reason(struct viw_qp *qp)
{
	struct tcp_info info = {0};
	socklen_t len = sizeof(info);
	int error = 0;

	if (getsockopt(qp->fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0 &&
	    info.tcpi_state != TCP_CLOSE)
		return 0;
	len = sizeof(error);
	(void)getsockopt(qp->fd, SOL_SOCKET, SO_ERROR, &error, &len);
	if (error == 0) {
		bool busy = atomic_load(&qp->tx.role.held) != 0;

		if (atomic_load(&qp->tx.broken))
			error = atomic_load(&qp->tx.error);
		else if (busy)
			return -1;
		else
			error = ECONNRESET;
	}
	return error == EPIPE ? 0 : error;
}

/* The end of input, or an error of the socket. */
static void
input_over(struct viw_qp *qp, ssize_t n, int error)
{
	struct viw_rx *rx = &qp->rx;

	if (n < 0 && (error == EAGAIN || error == EWOULDBLOCK || error == EINTR))
		return;
	if (n == 0) {
		error = end_reason(qp);
		if (error < 0)
			return;
		n = error > 0 ? -1 : 0;
	}
	rx->want_tx = true;
	atomic_store(&rx->eof, true);
	viw_engine_want(qp, 0, EPOLLIN);
	if (n < 0)
		viw_lost(qp, error);
	else if (rx->phase != VIW_RX_HEAD || rx->head_len > 0)
		viw_fault(qp, RDMAP_FAULT_PEER_CLOSED, NULL, RI_EVENT_QP_BAD_LLP_CLOSE);
	else
		viw_peer_fin(qp);
	viw_serve_soon(qp);
}

/* Receive the rest of a large payload in place, and a little more. False: no more can be expected now. */
static bool
input_direct(struct viw_qp *qp, uint32_t *done)
{
	struct viw_rx *rx = &qp->rx;
	uint32_t rest = rx->seg.payload_len - rx->placed;
	uint32_t len = rest;
	struct vsw_mem_use use;
	/* PAD, CRC and 16 octets of the next frame: never a whole one, so nothing in them can wait. */
	uint32_t room = mpa_pad(rx->frame_ulpdu) + MPA_CRC_SIZE + RDMAP_FPDU_PAYLOAD_TAGGED;
	uint8_t look[VIW_RX_LOOK];
	uint8_t *target = viw_rx_target(qp, &len, &use);

	if (target == NULL)
		return true; /* rx.fault is set: the rest is read and thrown away */
	struct iovec iov[2] = {{.iov_base = target, .iov_len = len},
			       {.iov_base = look, .iov_len = room}};
	struct msghdr msg = {.msg_iov = iov, .msg_iovlen = len == rest ? 2 : 1};
	ssize_t n = recvmsg(qp->fd, &msg, MSG_DONTWAIT);
	int error = errno;
	uint32_t got = n <= 0 ? 0 : (size_t)n < len ? (uint32_t)n : len;

	if (qp->crc && got > 0)
		rx->crc = mpa_crc(target, got, rx->crc);
	vsw_mem_end(&use);
	rx->placed += got;
	if (n <= 0) {
		input_over(qp, n, error);
		return false;
	}
	*done += (uint32_t)n;
	if ((size_t)n > got)
		(void)feed(qp, look, (uint32_t)n - got);
	return (size_t)n == (size_t)len + (len == rest ? room : 0);
}

/* Receive into a buffer and walk over it. */
static bool
input_buffered(struct viw_qp *qp, uint8_t **buf, uint32_t *done)
{
	struct viw_rx *rx = &qp->rx;
	uint32_t room = rx->large && rx->phase == VIW_RX_HEAD && rx->head_len < HEADER
				? HEADER - rx->head_len
				: VIW_RX_CHUNK;
	ssize_t n = recv(qp->fd, *buf, room, MSG_DONTWAIT);

	if (n <= 0) {
		input_over(qp, n, errno);
		return false;
	}
	*done += (uint32_t)n;
	uint32_t used = feed(qp, *buf, (uint32_t)n);
	if (used < (uint32_t)n && viw_qp_state(qp) == RI_QPS_RTS) {
		rx->keep = *buf;
		rx->keep_at = used;
		rx->keep_len = (uint32_t)n - used;
		*buf = NULL;
		return false;
	}
	return (uint32_t)n == room;
}

/* A buffer is missing: take only octets that have a place already. */
static bool
input_lean(struct viw_qp *qp, uint32_t *done)
{
	struct viw_rx *rx = &qp->rx;
	uint8_t small[MPA_LENGTH_SIZE + DDP_UNTAGGED_SIZE];
	uint32_t room = sizeof(small);

	if (rx->phase == VIW_RX_HEAD)
		room = (rx->head_len < MPA_LENGTH_SIZE ? MPA_LENGTH_SIZE : head_wanted(rx)) -
		       rx->head_len;
	else if (rx->phase == VIW_RX_BODY && rx->placed < rx->seg.payload_len)
		room = rx->seg.payload_len - rx->placed;
	else
		room = mpa_pad(rx->frame_ulpdu) + MPA_CRC_SIZE - rx->tail_len;
	if (room > sizeof(small))
		room = sizeof(small);
	ssize_t n = recv(qp->fd, small, room, MSG_DONTWAIT);
	if (n <= 0) {
		input_over(qp, n, errno);
		return false;
	}
	*done += (uint32_t)n;
	(void)feed(qp, small, (uint32_t)n);
	return true;
}

/* No receive was posted in time. */
static void
give_up_waiting(struct viw_qp *qp)
{
	struct viw_rx *rx = &qp->rx;

	if (rx->phase == VIW_RX_HEAD && rx->keep != NULL)
		head_copy(rx, rx->keep + rx->keep_at, wire_load_be16(rx->keep + rx->keep_at));
	frame_fault(qp, RDMAP_FAULT_NO_BUFFER);
}

/* What was kept while a Send waited for its receive. False: it still waits. */
static bool
resume(struct viw_qp *qp)
{
	struct viw_rx *rx = &qp->rx;

	if (atomic_load(&rx->waiting)) {
		if (vsw_wq_pending(&rx->rq) == 0) {
			if (atomic_load(&rx->expired))
				give_up_waiting(qp);
			else if (atomic_load(&rx->hung_up))
				viw_lost(qp, ECONNRESET);
			return false;
		}
		stop_waiting(qp);
	}
	if (rx->phase == VIW_RX_BEGIN && !head_done(qp))
		return false;
	if (rx->keep == NULL)
		return true;
	uint32_t used = feed(qp, rx->keep + rx->keep_at, rx->keep_len);
	rx->keep_at += used;
	rx->keep_len -= used;
	if (rx->keep_len > 0)
		return false;
	if (viw_pool_put(&qp->rnic->engine.pool, rx->keep))
		vsw_lead_kick(&qp->rnic->engine.lead);
	rx->keep = NULL;
	return true;
}

/* --- a round ------------------------------------------------------------------------------- */

static uint32_t
input(struct viw_qp *qp)
{
	struct viw_rx *rx = &qp->rx;
	struct viw_pool *pool = &qp->rnic->engine.pool;
	uint8_t *buf = NULL;
	uint32_t done = 0;
	bool more = true;

	while (more && done < VIW_RX_ROUND && viw_qp_state(qp) == RI_QPS_RTS &&
	       !atomic_load_explicit(&rx->waiting, memory_order_relaxed)) {
		bool direct = rx->phase == VIW_RX_BODY && rx->fault == RDMAP_FAULT_NONE &&
			      rx->seg.payload_len - rx->placed >= VIW_RX_DIRECT;

		if (!direct && buf == NULL)
			buf = viw_pool_get(pool);
		if (direct)
			more = input_direct(qp, &done);
		else if (buf != NULL)
			more = input_buffered(qp, &buf, &done);
		else
			more = input_lean(qp, &done);
	}
	if (viw_pool_put(pool, buf))
		vsw_lead_kick(&qp->rnic->engine.lead);
	if (done > 0)
		viw_engine_sample(&qp->rnic->engine, qp);
	return done;
}

/* The stream is ending: read and throw away until the peer's FIN. */
static void
discard(struct viw_qp *qp)
{
	ssize_t n = 1;

	if (atomic_exchange(&qp->rx.waiting, false))
		viw_engine_want(qp, EPOLLIN, 0);
	while (n > 0 && !atomic_load(&qp->rx.eof)) {
		/* cppcheck-suppress nullPointer; MSG_TRUNC throws the octets away */
		n = recv(qp->fd, NULL, VIW_RX_ROUND, MSG_DONTWAIT | MSG_TRUNC);
		if (n == 0 ||
		    (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
			atomic_store(&qp->rx.eof, true);
			viw_engine_want(qp, 0, EPOLLIN);
			viw_serve_soon(qp);
		}
	}
}

static uint32_t
rx_round(struct viw_qp *qp)
{
	struct viw_rx *rx = &qp->rx;
	uint32_t done = 0;

	switch (viw_qp_state(qp)) {
	case RI_QPS_RTS:
		if (atomic_load(&qp->starting))
			break;
		if (!atomic_load_explicit(&rx->waiting, memory_order_relaxed) && rx->keep == NULL)
			done = input(qp);
		else if (resume(qp))
			done = 1 + input(qp);
		break;
	case RI_QPS_CLOSING:
	case RI_QPS_TERMINATE:
		if (atomic_load(&qp->attached) && !atomic_load(&qp->starting))
			discard(qp);
		break;
	case RI_QPS_ERROR:
		if (!atomic_load(&qp->attached))
			viw_rq_flush(qp);
		break;
	case RI_QPS_NONE:
	case RI_QPS_IDLE:
	case RI_QPS_CONNECTING:
	case RI_QPS_COUNT:
	default:
		break;
	}
	if (rx->want_tx) {
		rx->want_tx = false;
		viw_tx_run(qp);
	}
	return done;
}

void
viw_rx_leave(struct viw_qp *qp)
{
	while (vsw_role_drop(&qp->rx.role)) {
		vsw_role_begin(&qp->rx.role);
		(void)rx_round(qp);
	}
}

uint32_t
viw_rx_run(struct viw_qp *qp)
{
	if (!vsw_role_take(&qp->rx.role))
		return 0;
	vsw_role_begin(&qp->rx.role);
	uint32_t done = rx_round(qp);
	viw_rx_leave(qp);
	return done;
}

uint32_t
viw_rx_try(struct viw_qp *qp)
{
	if (atomic_load_explicit(&qp->rx.role.held, memory_order_relaxed) != 0)
		return 0;
	return viw_rx_run(qp);
}

void
viw_doorbell_rq(void *engine_qp)
{
	struct viw_qp *qp = engine_qp;

	if (atomic_load_explicit(&viw_fork_child, memory_order_relaxed))
		return;
	if (atomic_load(&qp->rx.waiting) || viw_qp_state(qp) == RI_QPS_ERROR)
		(void)viw_rx_run(qp);
}
