/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The receiving role of a queue pair [fast].
 *
 * A round reads what the socket has into a buffer of the pool and walks over the frames in it
 * (viw_rx_frame.c). The rest of a large payload is received directly into its place. If the pool is empty,
 * only octets that have a place already are read.
 *
 * A Send that finds no receive stops the reading: EPOLLIN is switched off, the octets that were read behind
 * the Send stay in the buffer, and a timer runs. A post to the receive queue starts the reading again.
 *
 * The owner of rx.role; see viw_qp.h. Standards: RFC 5044 6 to 8, RFC 5041 5; doc/decisions/0003.
 */
#include "viw_complete.h"
#include "viw_qp.h"
#include "viw_receive.h"
#include "viw_rx_frame.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "ri_calls.h"
#include "viw_socket.h"

/* Octets of one read into the buffer; and while the pool is low, since what lies behind a Send that waits is then copied. */
#define VIW_RX_CHUNK     (256u * 1024)
#define VIW_RX_CHUNK_LOW (64u * 1024)
#define VIW_RX_ROUND \
	(1024u * 1024) /* octets of one round, so that other queue pairs get their turn */
#define VIW_RX_DISCARD (2u * 1024) /* octets of one read that are discarded */
/* Octets that input_direct reads behind those that it receives in place, at most. */
#define VIW_RX_LOOK (3u + MPA_CRC_SIZE + RDMAP_FPDU_PAYLOAD_TAGGED)
#define VIW_RX_LEAN (MPA_LENGTH_SIZE + DDP_UNTAGGED_SIZE) /* octets of one read without a buffer */
#define HEADER      RDMAP_FPDU_PAYLOAD_UNTAGGED

/* --- input --------------------------------------------------------------------------------- */

/*
 * Why the socket has ended: 0: by a FIN; otherwise the errno. The kernel reports an error only
 * once, to the role that calls first, and the other role sees an end of file; EPIPE if a FIN came
 * before the reset. -1: the sending role may be getting the report at this moment; try again.
 */
static int
end_reason(struct viw_qp *qp)
{
	struct tcp_info info = {0};
	socklen_t len = sizeof(info);
	int error = 0;

	if (getsockopt(qp->stream.fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0 &&
	    info.tcpi_state != TCP_CLOSE)
		return 0;
	len = sizeof(error);
	(void)getsockopt(qp->stream.fd, SOL_SOCKET, SO_ERROR, &error, &len);
	if (error == 0) {
		bool busy = atomic_load(&qp->tx.role.taken) != 0;

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
		viw_stream_lost(qp, error);
	else if (rx->phase != VIW_RX_HEAD || rx->head_len > 0 || rx->in.in_message ||
		 mpa_unmark_begun(&rx->unmark))
		viw_fault(qp, RDMAP_FAULT_PEER_CLOSED, NULL, RI_EVENT_QP_BAD_LLP_CLOSE);
	else
		viw_peer_fin(qp);
	viw_serve_soon(qp);
}

/*
 * Receive the rest of a large payload directly into its place, and a little more. Only without CRC:
 * the application may store into the target meanwhile, for instance because it already sees the
 * last octet, so a CRC is computed only from octets that no other thread can change [WIRE 3.2.4].
 * False: the socket has no more octets now.
 */
static bool
input_direct(struct viw_qp *qp, uint32_t *done)
{
	struct viw_rx *rx = &qp->rx;
	uint32_t rest = rx->seg.payload_len - rx->placed;
	uint32_t len = rest;
	struct vsw_mem_use use;
	/* PAD, CRC field and 16 octets of the next frame: no further complete frame, so no Send in them can wait. */
	uint32_t room = mpa_pad(rx->frame_ulpdu) + MPA_CRC_SIZE + RDMAP_FPDU_PAYLOAD_TAGGED;
	uint8_t look[VIW_RX_LOOK];
	uint8_t *target = viw_rx_place_target(qp, &len, &use);

	if (target == NULL)
		return true; /* rx.fault is set: the rest is read and discarded */
	struct iovec iov[2] = {{.iov_base = target, .iov_len = len},
			       {.iov_base = look, .iov_len = room}};
	struct msghdr msg = {.msg_iov = iov, .msg_iovlen = len == rest ? 2 : 1};
	ssize_t n = viw_recvmsg(qp->stream.fd, &msg, MSG_DONTWAIT);
	int error = errno;
	uint32_t got = n <= 0 ? 0 : (size_t)n < len ? (uint32_t)n : len;

	vsw_mem_end(&use);
	rx->placed += got;
	if (n < 0 && error == EFAULT) {
		viw_rx_target_lost(qp); /* what the socket has is read and discarded */
		return true;
	}
	if (n <= 0) {
		input_over(qp, n, error);
		return false;
	}
	*done += (uint32_t)n;
	if ((size_t)n > got)
		(void)viw_rx_feed(qp, look, (uint32_t)n - got);
	return (size_t)n == (size_t)len + (len == rest ? room : 0);
}

static uint32_t
chunk_wanted(struct viw_qp *qp)
{
	return viw_pool_is_low(&qp->rnic->engine.pool) ? VIW_RX_CHUNK_LOW : VIW_RX_CHUNK;
}

/*
 * How many octets to read into the buffer. Without CRC, a large frame is likely to be followed by
 * another. Then this reads only up to the header of the next frame, so that its payload can be
 * received directly into its place.
 */
static uint32_t
room_wanted(struct viw_qp *qp)
{
	const struct viw_rx *rx = &qp->rx;
	uint32_t tail = mpa_pad(rx->frame_ulpdu) + MPA_CRC_SIZE;
	uint32_t chunk = chunk_wanted(qp);
	bool large = rx->seg.payload_len >= VIW_RX_DIRECT;

	if (qp->stream.crc)
		return chunk;
	if (rx->phase == VIW_RX_HEAD)
		return rx->large && rx->head_len < HEADER ? HEADER - rx->head_len : chunk;
	if (!large)
		return chunk;
	if (rx->phase == VIW_RX_TAIL)
		return tail - rx->tail_len + RDMAP_FPDU_PAYLOAD_TAGGED;
	uint32_t room = rx->seg.payload_len - rx->placed + tail + RDMAP_FPDU_PAYLOAD_TAGGED;
	return room < chunk ? room : chunk;
}

/* A Send waits for its receive: keep what lies behind it in the buffer, and perhaps the buffer with it. */
static void
octets_keep(struct viw_qp *qp, uint8_t **buf, uint32_t used, uint32_t len)
{
	struct viw_rx *rx = &qp->rx;

	rx->keep_at = used;
	rx->keep_len = len - used;
	rx->keep = viw_engine_set_aside(&qp->rnic->engine, *buf, &rx->keep_at, rx->keep_len);
	*buf = NULL;
}

/* Receive into a buffer and walk over it. */
static bool
input_buffered(struct viw_qp *qp, uint8_t **buf, uint32_t *done)
{
	uint32_t room = room_wanted(qp);
	ssize_t n = viw_recv(qp->stream.fd, *buf, room, MSG_DONTWAIT);

	if (n <= 0) {
		input_over(qp, n, errno);
		return false;
	}
	*done += (uint32_t)n;
	uint32_t used = viw_rx_feed(qp, *buf, (uint32_t)n);
	if (used < (uint32_t)n && viw_qp_state(qp) == RI_QPS_RTS) {
		octets_keep(qp, buf, used, (uint32_t)n);
		return false;
	}
	return (uint32_t)n == room;
}

/* Octets, at most `most`, that have a place already: of a header, of payload, of PAD and CRC. */
static uint32_t
room_lean(const struct viw_rx *rx, uint32_t most)
{
	uint32_t room = mpa_pad(rx->frame_ulpdu) + MPA_CRC_SIZE - rx->tail_len;

	if (rx->phase == VIW_RX_HEAD)
		room = (rx->head_len < MPA_LENGTH_SIZE ? MPA_LENGTH_SIZE : viw_rx_head_wanted(rx)) -
		       rx->head_len;
	else if (rx->phase == VIW_RX_BODY && rx->placed < rx->seg.payload_len)
		room = rx->seg.payload_len - rx->placed;
	return room < most ? room : most;
}

/* The pool is empty: read only octets that have a place already. */
static bool
input_lean(struct viw_qp *qp, uint32_t *done)
{
	uint8_t small[VIW_RX_LEAN];
	ssize_t n = viw_recv(qp->stream.fd, small, room_lean(&qp->rx, sizeof(small)), MSG_DONTWAIT);

	if (n <= 0) {
		input_over(qp, n, errno);
		return false;
	}
	*done += (uint32_t)n;
	(void)viw_rx_feed(qp, small, (uint32_t)n);
	return true;
}

/* A round of a stream with markers, or that is captured: read, take the markers out, walk over the rest. */
static __attribute__((cold, noinline)) uint32_t
input_apart(struct viw_qp *qp)
{
	struct viw_rx *rx = &qp->rx;
	uint8_t *buf = viw_pool_get(&qp->rnic->engine.pool);
	uint32_t done = 0;
	bool more = true;

	while (more && done < VIW_RX_ROUND && viw_qp_state(qp) == RI_QPS_RTS && !rx->unmark.wrong &&
	       !atomic_load_explicit(&rx->waiting, memory_order_relaxed)) {
		uint8_t small[VIW_RX_LEAN];
		uint8_t *into = buf != NULL ? buf : small;
		uint32_t room = buf != NULL ? chunk_wanted(qp) : room_lean(rx, sizeof(small));
		ssize_t n = viw_recv(qp->stream.fd, into, room, MSG_DONTWAIT);

		if (n <= 0) {
			input_over(qp, n, errno);
			break;
		}
		done += (uint32_t)n;
		viw_tap_octets(qp, into, n, true);
		uint32_t len = qp->stream.markers ? mpa_unmark(&rx->unmark, into, (uint32_t)n)
						  : (uint32_t)n;
		uint32_t used = viw_rx_feed(qp, into, len);
		more = (uint32_t)n == room;
		if (used < len && viw_qp_state(qp) == RI_QPS_RTS && buf != NULL) {
			octets_keep(qp, &buf, used, len);
			break;
		}
	}
	viw_engine_give(&qp->rnic->engine, buf);
	if (rx->unmark.wrong && rx->keep == NULL && viw_qp_state(qp) == RI_QPS_RTS) {
		rx->want_tx = true;
		/* All octets before the marker are dealt with. */
		viw_fault(qp, RDMAP_FAULT_MARKER, NULL, 0);
	}
	if (done > 0)
		viw_engine_sample(&qp->rnic->engine, qp);
	return done;
}

/* Continue with the octets that were kept while a Send waited for its receive. False: it still waits. */
static bool
receive_resume(struct viw_qp *qp)
{
	struct viw_rx *rx = &qp->rx;

	if (atomic_load(&rx->waiting)) {
		if (!viw_receive_ready(qp)) {
			struct pollfd set = {.fd = qp->stream.fd};

			if (atomic_load(&rx->expired))
				viw_rx_give_up(qp);
			else if (!atomic_load(&rx->hung_up))
				return false;
			/* The event that reported a hang-up may have been of the previous connection. */
			else if (ri_poll_now(&set, 1) == 1 && (set.revents & (POLLERR | POLLHUP)))
				viw_stream_lost(qp, ECONNRESET);
			else
				atomic_store(&rx->hung_up, false);
			return false;
		}
		viw_rx_stop_waiting(qp);
	}
	if (rx->phase == VIW_RX_BEGIN && !viw_rx_head_done(qp))
		return false;
	if (rx->keep == NULL)
		return true;
	uint32_t used = viw_rx_feed(qp, rx->keep + rx->keep_at, rx->keep_len);
	rx->keep_at += used;
	rx->keep_len -= used;
	if (rx->keep_len > 0)
		return false;
	viw_engine_give(&qp->rnic->engine, rx->keep);
	rx->keep = NULL;
	return true;
}

/* --- a round ------------------------------------------------------------------------------- */

static uint32_t
input_round(struct viw_qp *qp)
{
	struct viw_rx *rx = &qp->rx;
	struct viw_pool *pool = &qp->rnic->engine.pool;
	uint8_t *buf = rx->spare;
	uint32_t done = 0;
	bool more = true;

	if (qp->stream.apart)
		return input_apart(qp);
	rx->spare = NULL;
	while (more && done < VIW_RX_ROUND && viw_qp_state(qp) == RI_QPS_RTS &&
	       !atomic_load_explicit(&rx->waiting, memory_order_relaxed)) {
		bool direct = !qp->stream.crc && rx->phase == VIW_RX_BODY &&
			      rx->fault == RDMAP_FAULT_NONE && rx->target.kind != VIW_RX_NOWHERE &&
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
	if (buf != NULL && viw_engine_is_small(&qp->rnic->engine))
		rx->spare = buf;
	else
		viw_engine_give(&qp->rnic->engine, buf);
	if (done > 0)
		viw_engine_sample(&qp->rnic->engine, qp);
	return done;
}

/* The stream is ending: read and discard until the peer's FIN, at most VIW_RX_ROUND octets in a round. */
static void
input_discard(struct viw_qp *qp)
{
	/* With MSG_TRUNC nothing is copied, but valgrind looks for memory. */
	uint8_t unused[VIW_RX_DISCARD];
	ssize_t n = 1;
	size_t done = 0;

	if (atomic_exchange(&qp->rx.waiting, false))
		viw_engine_want(qp, EPOLLIN, 0);
	viw_receive_leave(qp);
	while (n > 0 && done < VIW_RX_ROUND && !atomic_load(&qp->rx.eof)) {
		n = viw_recv(qp->stream.fd, unused, sizeof(unused),
			     MSG_DONTWAIT | (qp->tap.on ? 0 : MSG_TRUNC));
		viw_tap_octets(qp, unused, n, true);
		done += n > 0 ? (size_t)n : 0;
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
	enum ri_qp_state begun = viw_qp_state(qp);
	uint32_t done = 0;

	switch (begun) {
	case RI_QPS_RTS:
		if (!atomic_load(&qp->stream.starting)) {
			/*
			 * A Send that finds no receive sets `waiting`. Then the loop checks once more for a receive that
			 * was posted just before, because the thread that posted it did not see the flag (see
			 * vsw_wq_pending).
			 */
			do {
				if (!atomic_load_explicit(&rx->waiting, memory_order_relaxed) &&
				    rx->keep == NULL)
					done += input_round(qp);
				else if (receive_resume(qp))
					done += 1 + input_round(qp);
			} while (atomic_load(&rx->waiting) && viw_qp_state(qp) == RI_QPS_RTS &&
				 viw_receive_ready(qp));
		}
		break;
	case RI_QPS_CLOSING:
	case RI_QPS_TERMINATE:
		if (atomic_load(&qp->stream.attached) && !atomic_load(&qp->stream.starting))
			input_discard(qp);
		break;
	case RI_QPS_ERROR:
		if (!atomic_load(&qp->stream.attached))
			viw_rq_flush(qp);
		break;
	case RI_QPS_NONE:
	case RI_QPS_IDLE:
	case RI_QPS_CONNECTING:
	case RI_QPS_COUNT:
	default:
		break;
	}
	if (rx->want_tx || (begun == RI_QPS_RTS && viw_qp_state(qp) != begun)) {
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
	if (vsw_role_is_taken(&qp->rx.role))
		return 0;
	return viw_rx_run(qp);
}

uint32_t
viw_rx_serve(struct viw_qp *qp)
{
	uint32_t done = 0;

	if (!vsw_leader_take(&qp->rnic->engine.leader, &qp->rx.role))
		return 0;
	do {
		vsw_role_begin(&qp->rx.role);
		qp->rx.served = true;
		done += rx_round(qp);
		qp->rx.served = false;
	} while (vsw_role_drop(&qp->rx.role));
	return done;
}

void
viw_doorbell_rq(void *engine_qp)
{
	struct viw_qp *qp = engine_qp;

	if (atomic_load_explicit(&qp->rnic->engine.forked, memory_order_relaxed))
		return;
	if (atomic_load(&qp->rx.waiting) || viw_qp_state(qp) == RI_QPS_ERROR)
		(void)viw_rx_run(qp);
}
