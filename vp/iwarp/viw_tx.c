/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The sending role of a queue pair [fast].
 *
 * A round sends the octets that the socket did not take last time, completes requests that are done, builds
 * the frames that may be sent and sends them with one system call, until nothing is left or the socket is
 * full. When the stream ends, the same round finishes the current frame, sends the Terminate if there is one,
 * and the FIN. Any thread may call viw_tx_run at any time: a poster, a poll, the receiving role, the service
 * thread. If another thread owns the role, it sets the role's retry flag and returns.
 *
 * A request is sent at once if the queue is idle, that is, if nothing else is outstanding or, while streams are few, a poll
 * has found its queue empty since the last request left. Later requests are held back, so that they leave in one system
 * call: until a poll or a wait, until they are VIW_HELD_REQUESTS or VIW_HELD_OCTETS, or until no thread polls
 * any more (vsw_leader_hold). Binds and invalidations send nothing; they run at once and do not count
 * as the first request.
 *
 * Standards: RFC 5040 5 and 6, RFC 5041 5, RFC 5044 6; [WIRE 7]; doc/architecture.md "Progress".
 */
#include "viw_complete.h"
#include "viw_qp.h"
#include "viw_tx_build.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "viw_socket.h"

#define VIW_HELD_REQUESTS 256u
#define VIW_HELD_OCTETS   (64u * 1024)
#define VIW_TX_ROUND      (1024u * 1024) /* octets of one round */
#define VIW_UNATTENDED \
	8u /* after this many posts that found no thread polling, the poster makes progress */

/* --- octets -------------------------------------------------------------------------------- */

static void
buffer_release(struct viw_qp *qp)
{
	struct viw_tx *tx = &qp->tx;
	uint8_t *buf = tx->buf;

	tx->buf = NULL;
	tx->at = 0;
	tx->len = 0;
	viw_engine_give(&qp->rnic->engine, buf);
}

bool
viw_tx_buffer(struct viw_qp *qp)
{
	struct viw_tx *tx = &qp->tx;
	struct viw_pool *pool = &qp->rnic->engine.pool;

	assert(vsw_role_is_taken(&qp->tx.role));
	if (tx->buf != NULL && !viw_pool_owns(pool, tx->buf))
		buffer_release(qp);
	if (tx->buf == NULL)
		tx->buf = viw_pool_get(pool);
	tx->at = 0;
	tx->len = 0;
	return tx->buf != NULL;
}

/* The socket takes no more, or this round has sent enough: have another thread continue. */
static void
tx_retry_later(struct viw_qp *qp)
{
	if (!atomic_exchange(&qp->tx.blocked, true))
		viw_engine_blocked(qp);
}

void
viw_tx_push_failed(struct viw_qp *qp, int error)
{
	struct viw_tx *tx = &qp->tx;

	assert(vsw_role_is_taken(&qp->tx.role));
	if (error == EAGAIN || error == EWOULDBLOCK || error == ENOBUFS || error == ENOMEM) {
		tx_retry_later(qp);
		return;
	}
	/* A Terminate of the peer may be unread yet: the receiving role decides how the stream ends. */
	atomic_store(&tx->error, error);
	atomic_store(&tx->broken, true);
	buffer_release(qp);
	viw_serve_soon(qp);
}

/* Does the epoll set report when the socket takes octets? Relaxed: a request that comes later is reported, too. */
static inline bool
epollout_is_wanted(const struct viw_qp *qp)
{
	return (atomic_load_explicit(&qp->engine.watch, memory_order_relaxed) & EPOLLOUT) != 0;
}

bool
viw_tx_push(struct viw_qp *qp)
{
	struct viw_tx *tx = &qp->tx;

	assert(vsw_role_is_taken(&qp->tx.role));
	while (tx->at < tx->len) {
		ssize_t n;

		if (tx->segment.special) {
			n = viw_segments_send(qp);
		} else {
			n = viw_send(qp->stream.fd, tx->buf + tx->at, tx->len - tx->at,
				     MSG_DONTWAIT | MSG_NOSIGNAL);
			if (n > 0) {
				tx->at += (uint32_t)n;
				tx->given += (uint64_t)n;
			}
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			viw_tx_push_failed(qp, errno);
			return false;
		}
	}
	if (atomic_load_explicit(&tx->blocked, memory_order_relaxed))
		atomic_store(&tx->blocked, false);
	if (epollout_is_wanted(qp))
		viw_engine_want(qp, 0, EPOLLOUT);
	return true;
}

/* --- a round ------------------------------------------------------------------------------- */

/*
 * The socket has taken all octets: is the round finished? It is if there is nothing from which
 * another fill could build frames, and no flag that a fill would have to correct. A post after this
 * check sets the role's retry flag.
 */
static bool
send_is_finished(struct viw_qp *qp)
{
	struct viw_tx *tx = &qp->tx;

	return viw_tx_all_built(qp) && !atomic_load_explicit(&tx->starved, memory_order_relaxed) &&
	       (tx->buf == NULL || viw_pool_owns(&qp->rnic->engine.pool, tx->buf));
}

/* Is there something to send, or something that viw_tx_push would reset? */
static bool
push_is_due(const struct viw_qp *qp)
{
	const struct viw_tx *tx = &qp->tx;

	return tx->at < tx->len || atomic_load_explicit(&tx->blocked, memory_order_relaxed) ||
	       epollout_is_wanted(qp);
}

/* Complete requests, if some are not completed. */
static void
requests_complete(struct viw_qp *qp)
{
	if (qp->tx.sent_tail != qp->tx.sent_head)
		viw_sq_complete(qp);
}

/*
 * Send what may be sent, up to VIW_TX_ROUND octets, so that other work gets its turn. The round
 * ends with an empty buffer, or with one that the socket has refused: frames that were built but
 * not yet offered to the socket have no markers, and could not be set aside.
 */
static void
send_requests(struct viw_qp *qp)
{
	enum ri_qp_state begun = viw_qp_state(qp);
	uint64_t enough = qp->tx.given + VIW_TX_ROUND;
	enum viw_tx_filled filled = VIW_TX_NOTHING;

	while (!push_is_due(qp) || viw_tx_push(qp)) {
		requests_complete(qp);
		/* A fill that has built all finds nothing to repair either. */
		if (filled == VIW_TX_ALL || send_is_finished(qp))
			return;
		if (viw_qp_state(qp) != begun)
			break;
		if (qp->tx.given >= enough) {
			tx_retry_later(qp);
			break;
		}
		filled = viw_tx_fill(qp);
		if (filled == VIW_TX_NOTHING)
			break;
	}
	requests_complete(qp);
}

/*
 * CLOSING: finish the current message as far as the socket takes it at once; after the peer's FIN, only the frames that
 * are built. TERMINATE: finish the current frame, send the Terminate. Then send the FIN.
 */
static void
send_end(struct viw_qp *qp)
{
	struct viw_tx *tx = &qp->tx;
	bool received = qp->end.event == RI_EVENT_QP_TERMINATE_RECEIVED;

	if (atomic_load(&tx->shut) || atomic_load(&tx->broken))
		return;
	if (received)
		buffer_release(qp); /* the peer reads no more, which its FIN alone does not say */
	if (viw_qp_state(qp) == RI_QPS_CLOSING && !atomic_load(&qp->rx.eof) &&
	    (!tx->drained || tx->job != VIW_JOB_NONE)) {
		send_requests(qp);
		tx->drained = true;
		if (viw_qp_state(qp) == RI_QPS_CLOSING && tx->job != VIW_JOB_NONE)
			return; /* inside a message; send_requests has a retry set up */
	}
	if (tx->at < tx->len && !viw_tx_push(qp))
		return;
	if (viw_wake_holds_end(qp))
		return;
	/* The socket has emptied the buffer. Without one for the Terminate, the timer of the end will expire. */
	if (!tx->terminate_queued && qp->end.fpdu_len != 0 && viw_tx_buffer(qp)) {
		memcpy(tx->buf, qp->end.fpdu, qp->end.fpdu_len);
		tx->len = qp->end.fpdu_len;
		viw_segments_drop(qp);
		tx->terminate_queued = true;
	}
	if (!viw_tx_push(qp))
		return;
	if (qp->end.fpdu_len > 0 && !tx->terminate_queued)
		return;
	if (shutdown(qp->stream.fd, SHUT_WR) != 0)
		viw_log_refused(qp, "shutdown", errno);
	atomic_store(&tx->shut, true);
}

static void
tx_round(struct viw_qp *qp)
{
	switch (viw_qp_state(qp)) {
	case RI_QPS_RTS:
		if (!atomic_load_explicit(&qp->stream.up, memory_order_acquire) ||
		    atomic_load(&qp->tx.broken))
			return;
		send_requests(qp);
		break;
	case RI_QPS_ERROR:
		if (!atomic_load(&qp->stream.attached))
			viw_sq_flush(qp);
		break;
	case RI_QPS_NONE:
	case RI_QPS_IDLE:
	case RI_QPS_CONNECTING:
	case RI_QPS_CLOSING:
	case RI_QPS_TERMINATE:
	case RI_QPS_COUNT:
	default:
		break;
	}
	enum ri_qp_state state = viw_qp_state(qp);
	if ((state == RI_QPS_CLOSING || state == RI_QPS_TERMINATE) &&
	    atomic_load(&qp->stream.attached)) {
		send_end(qp);
		if ((atomic_load(&qp->tx.shut) || atomic_load(&qp->tx.broken)) &&
		    atomic_load(&qp->rx.eof))
			viw_serve_soon(qp);
	}
	/* Octets that the socket did not take are kept, perhaps set aside; see viw_pool.h. */
	struct viw_tx *tx = &qp->tx;
	struct viw_engine *engine = &qp->rnic->engine;

	if (tx->buf == NULL)
		return;
	uint32_t rest = tx->len - tx->at;
	if (rest > 0) {
		tx->buf = viw_engine_set_aside(engine, tx->buf, &tx->at, rest);
		tx->len = tx->at + rest;
	} else if (!viw_engine_is_small(engine)) {
		buffer_release(qp);
	}
}

void
viw_tx_leave(struct viw_qp *qp)
{
	while (vsw_role_drop(&qp->tx.role)) {
		vsw_role_begin(&qp->tx.role);
		tx_round(qp);
	}
}

void
viw_tx_run(struct viw_qp *qp)
{
	if (!vsw_role_take(&qp->tx.role))
		return;
	vsw_role_begin(&qp->tx.role);
	tx_round(qp);
	viw_tx_leave(qp);
}

void
viw_tx_try(struct viw_qp *qp)
{
	if (!vsw_role_is_taken(&qp->tx.role))
		viw_tx_run(qp);
}

/* --- doorbells ----------------------------------------------------------------------------- */

/* What to do with a request that was just posted. */
enum advice {
	SEND_NOW,  /* the queue is idle */
	HOLD_BACK, /* until more requests are posted */
	SEND_BATCH /* enough requests are held back */
};

static enum advice
send_advice_of(struct viw_qp *qp)
{
	struct viw_tx *tx = &qp->tx;
	struct vsw_wq_page *page = tx->sq.page;
	uint32_t head = atomic_load_explicit(&page->head, memory_order_acquire);
	uint32_t waiting = head - atomic_load_explicit(&page->taken, memory_order_relaxed);

	if (head - atomic_load_explicit(&page->released, memory_order_relaxed) <= 1)
		return SEND_NOW;
	/* Only a hint: another thread may be writing this slot again, or there is a larger ring. */
	const struct vsw_wqe *wqe = vsw_wq_entry(page, head - 1);
	if (waiting == 1) {
		uint8_t opcode = __atomic_load_n(&wqe->opcode, __ATOMIC_RELAXED);

		if (opcode == RI_OP_BIND_MW || opcode == RI_OP_LOCAL_INV)
			return SEND_NOW; /* it sends nothing, so the next message is still the first */
	}
	if (atomic_load_explicit(&tx->send_at_once, memory_order_relaxed)) {
		atomic_store_explicit(&tx->send_at_once, false, memory_order_relaxed);
		return SEND_NOW;
	}
	if (waiting >= VIW_HELD_REQUESTS)
		return SEND_BATCH;
	uint64_t length = __atomic_load_n(&wqe->length, __ATOMIC_RELAXED);
	return length * waiting < VIW_HELD_OCTETS ? HOLD_BACK : SEND_BATCH;
}

void
viw_doorbell_sq(void *engine_qp)
{
	struct viw_qp *qp = engine_qp;
	struct viw_engine *engine = &qp->rnic->engine;
	enum advice advice = SEND_NOW;
	bool drive = false;

	if (atomic_load_explicit(&engine->forked, memory_order_relaxed))
		return;
	if (viw_qp_state(qp) == RI_QPS_RTS)
		advice = send_advice_of(qp);
	if (advice == HOLD_BACK) {
		viw_engine_hold_back(engine, qp);
		if (vsw_leader_hold(&engine->leader))
			return;
		/* A thread that posts much and never waits must make the progress itself. */
		drive = atomic_fetch_add_explicit(&qp->tx.unattended, 1, memory_order_relaxed) %
				VIW_UNATTENDED ==
			VIW_UNATTENDED - 1;
	}
	viw_tx_run(qp);
	if (drive || advice == SEND_BATCH)
		viw_engine_drive(engine);
}

void
viw_doorbell_flush(void *engine_qp)
{
	struct viw_qp *qp = engine_qp;

	if (!atomic_load_explicit(&qp->rnic->engine.forked, memory_order_relaxed))
		viw_tx_run(qp);
}
