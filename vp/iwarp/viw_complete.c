/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Completions of both queues.
 *
 * A request of the send queue is recorded in `sent` when the last of its frames is built. It completes when all
 * requests before it have completed and the socket has taken its last octet; a Read, when its answer has arrived. So
 * completions come in posting order, also that of a Send that left behind a slow Read (RDMAC verbs 8.2; [WIRE 5.7]).
 * A success without RI_WR_SIGNALED makes no completion: its slot is released with the next completion that is polled.
 *
 * When the stream has ended, the service thread owns both roles and flushes: requests that are done complete,
 * the request that caused the end keeps its error, a request that the peer refused gets the status of the
 * refusal (viw_refused.c), all others get RI_WC_FLUSHED, in posting order.
 */
#include "viw_complete.h"
#include "viw_qp.h"
#include "viw_receive.h"
#include "viw_refused.h"
#include "viw_why.h"

#include "vsw_relax.h"

#include <string.h>

#define SENDS_FIRST_MAX \
	UINT64_C(20000000) /* ns; a thread that has no processor for so long is not waited for */

/* The members that every completion has. */
static struct vsw_cqe
cqe_of(struct viw_qp *qp, uint64_t wr_id, enum ri_wc_status status)
{
	struct vsw_cqe cqe;

	memset(&cqe, 0, sizeof(cqe));
	cqe.wr_id = wr_id;
	cqe.qp_ctx = qp->init.ctx;
	cqe.status = (uint8_t)status;
	if (status != RI_WC_SUCCESS)
		cqe.flags = RI_WC_SOLICITED;
	return cqe;
}

/* Is it done when its answer is there, and not when it is sent? */
static bool
is_answered(uint8_t opcode)
{
	return opcode == RI_OP_RDMA_READ || opcode == RI_OP_FETCH_ADD || opcode == RI_OP_CMP_SWAP;
}

void
viw_sq_started(struct viw_qp *qp, uint32_t read_seq, enum ri_wc_status status)
{
	struct viw_tx *tx = &qp->tx;
	const struct vsw_wqe *wqe = qp->tx.wqe;
	struct viw_sent *s = &tx->sent[tx->sent_head & tx->sent_mask];

	assert(vsw_role_is_taken(&qp->tx.role));
	s->wr_id = wqe->wr_id;
	s->end = tx->queued;
	s->index = tx->index;
	s->length = tx->total;
	s->opcode = wqe->opcode;
	s->flags = (uint8_t)(wqe->flags & (RI_WR_SIGNALED | RI_WR_NOTIFY));
	if (is_answered(wqe->opcode)) {
		s->read_seq = read_seq;
		s->sink = 0;
	}
	if (wqe->opcode == RI_OP_RDMA_READ && wqe->num_sge > 0) {
		s->flags |= (uint8_t)(wqe->flags & RI_WR_INVALIDATE);
		s->sink = wqe->sge[0].stag;
	}
	s->status = (uint8_t)status;
	tx->sent_head++;
	tx->have_request = false;
	tx->checked = false;
}

bool
viw_sent_is_done(const struct viw_qp *qp, const struct viw_sent *s)
{
	if (is_answered(s->opcode))
		return viw_read_done(&qp->reads, s->read_seq);
	return qp->tx.given >= s->end;
}

void
viw_sq_complete(struct viw_qp *qp)
{
	struct viw_tx *tx = &qp->tx;

	assert(vsw_role_is_taken(&qp->tx.role));
	while (tx->sent_tail != tx->sent_head) {
		struct viw_sent *s = &tx->sent[tx->sent_tail & tx->sent_mask];

		/* A Send may be done before an earlier Read fails because its sink cannot be revoked. */
		if (s->status == RI_WC_SUCCESS && tx->behind)
			s->status = RI_WC_FLUSHED;
		if (s->status == RI_WC_SUCCESS && !viw_sent_is_done(qp, s))
			return;
		/* A Read that is done revokes its sink if the request says so. */
		bool revoked =
			s->status != RI_WC_SUCCESS || (s->flags & RI_WR_INVALIDATE) == 0 ||
			vsw_mem_invalidate(qp->rnic->mem, &qp->who, s->sink, false) == VSW_MEM_OK;
		if (!revoked) {
			viw_say(qp,
				"a request of this end fails, RDMA Read that invalidates its sink: "
				"the key %08x cannot be invalidated: it is not valid, or windows "
				"are "
				"linked to its region",
				(unsigned)s->sink);
			s->status = RI_WC_LOCAL_MM;
		}
		if (s->status != RI_WC_SUCCESS) {
			tx->failed = tx->behind = true;
			viw_tap_failed(qp, s->wr_id, s->status);
		}
		tx->sent_tail++;
		if (s->status == RI_WC_SUCCESS && (s->flags & RI_WR_SIGNALED) == 0)
			continue;
		struct vsw_cqe cqe = cqe_of(qp, s->wr_id, (enum ri_wc_status)s->status);
		cqe.opcode = s->opcode;
		cqe.byte_len = s->length;
		cqe.wq = tx->sq.number;
		cqe.wq_index = s->index;
		tx->sq.pushed = s->index;
		if (s->flags & RI_WR_NOTIFY)
			cqe.flags |= RI_WC_SOLICITED;
		if ((s->flags & RI_WR_INVALIDATE) && s->status == RI_WC_SUCCESS) {
			cqe.flags |= RI_WC_INVALIDATED;
			cqe.inv_stag = s->sink;
		}
		if (!vsw_cq_push(&qp->send_cq->cq, &cqe))
			viw_fault(qp, RDMAP_FAULT_STREAM_CATASTROPHIC, NULL,
				  RI_EVENT_QP_CQ_SQ_ERROR);
		else if (!revoked)
			viw_fault(qp, RDMAP_FAULT_LOCAL, NULL, 0);
	}
}

/* Complete the request in tx.wqe, which was not started in full, behind the started ones. */
static void
flush_request(struct viw_qp *qp, enum ri_wc_status status)
{
	struct viw_tx *tx = &qp->tx;

	tx->total = qp->tx.wqe->length;
	viw_sq_started(qp, 0, status);
	viw_sq_complete(qp);
}

void
viw_sq_flush(struct viw_qp *qp)
{
	struct viw_tx *tx = &qp->tx;

	viw_sq_complete(qp);
	enum ri_wc_status status = viw_refused_mark(qp);
	for (uint32_t i = tx->sent_tail; i != tx->sent_head; i++) {
		struct viw_sent *s = &tx->sent[i & tx->sent_mask];

		if (s->status == RI_WC_SUCCESS)
			s->status = RI_WC_FLUSHED;
	}
	viw_sq_complete(qp);
	if (tx->have_request)
		flush_request(qp, status);
	while (vsw_wq_take(&tx->sq, qp->tx.wqe, &tx->index))
		flush_request(qp, RI_WC_FLUSHED);
	tx->job = VIW_JOB_NONE;
}

/* The completion of the receive in rx.wqe, but for what the message says. */
static inline __attribute__((always_inline)) struct vsw_cqe
receive_cqe(struct viw_qp *qp, enum ri_wc_status status, uint32_t length)
{
	struct viw_rx *rx = &qp->rx;
	const struct vsw_wqe *wqe = qp->rx.wqe;
	struct vsw_cqe cqe = cqe_of(qp, wqe->wr_id, status);

	assert(vsw_role_is_taken(&qp->rx.role));
	cqe.opcode = RI_OP_RECV;
	cqe.byte_len = length;
	cqe.wq = rx->wq;
	cqe.wq_index = rx->index;
	cqe.shared = qp->srq != NULL;
	cqe.flags |= RI_WC_RECEIVE;
	if (wqe->flags & RI_WR_NOTIFY)
		cqe.flags |= RI_WC_SOLICITED;
	return cqe;
}

static inline __attribute__((always_inline)) void
receive_push(struct viw_qp *qp, const struct vsw_cqe *cqe)
{
	qp->rx.have_receive = false;
	if (!vsw_cq_push(&qp->recv_cq->cq, cqe))
		viw_fault(qp, RDMAP_FAULT_STREAM_CATASTROPHIC, NULL, RI_EVENT_QP_CQ_RQ_ERROR);
}

/*
 * The message that has arrived may be the answer to a Send that another thread is just sending: the
 * socket has taken that Send, but it is not completed yet. No standard orders the two completions.
 * On adapters the Send completes first, since its acknowledgement arrives first, and programs with
 * one completion queue rely on it (tgtd recognises the end of an iSER login by it). So the service
 * thread waits for the sending thread, which never waits for it. A polling thread of the
 * application does not wait: either it has posted the Send itself, before the poll, or it is one of
 * several threads, which cannot rely on an order.
 */
static __attribute__((noinline)) void
sends_first(const struct viw_qp *qp)
{
	const struct ri_host *host = qp->rnic->engine.host;
	uint64_t begin = host->now(host->self);

	for (unsigned round = 0; vsw_role_is_taken(&qp->tx.role); round++) {
		if (host->now(host->self) - begin > SENDS_FIRST_MAX)
			return;
		vsw_relax(host, round);
	}
	atomic_thread_fence(memory_order_acquire);
}

void
viw_rq_complete(struct viw_qp *qp, enum ri_wc_status status, uint32_t length)
{
	struct vsw_cqe cqe = receive_cqe(qp, status, length);
	enum rdmap_opcode opcode = rdmap_opcode_of(qp->rx.seg.rdmap_control);

	if (status == RI_WC_SUCCESS && rdmap_is_solicited(opcode))
		cqe.flags |= RI_WC_SOLICITED;
	if (status == RI_WC_SUCCESS && rdmap_is_invalidate(opcode)) {
		cqe.flags |= RI_WC_INVALIDATED;
		cqe.inv_stag = qp->rx.inv_stag;
	}
	if (qp->rx.served && status == RI_WC_SUCCESS)
		sends_first(qp);
	receive_push(qp, &cqe);
}

void
viw_rq_complete_immediate(struct viw_qp *qp, uint32_t imm, uint32_t written)
{
	struct vsw_cqe cqe = receive_cqe(qp, RI_WC_SUCCESS, written);

	cqe.opcode = RI_OP_RECV_WRITE;
	cqe.flags |= RI_WC_IMMEDIATE;
	cqe.inv_stag = imm;
	if (rdmap_is_solicited(rdmap_opcode_of(qp->rx.seg.rdmap_control)))
		cqe.flags |= RI_WC_SOLICITED;
	if (qp->rx.served)
		sends_first(qp);
	receive_push(qp, &cqe);
}

void
viw_rq_flush(struct viw_qp *qp)
{
	struct viw_rx *rx = &qp->rx;

	if (rx->have_receive) {
		enum ri_wc_status status = rx->receive_status;

		rx->receive_status = RI_WC_SUCCESS;
		viw_rq_complete(qp, status != RI_WC_SUCCESS ? status : RI_WC_FLUSHED, 0);
	}
	viw_receive_leave(qp);
	rx->wq = rx->rq.number;
	while (vsw_rq_take(&rx->rq, qp->rx.wqe, &rx->index))
		viw_rq_complete(qp, RI_WC_FLUSHED, 0);
}
