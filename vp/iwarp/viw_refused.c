/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Finds the request that the peer's Terminate refuses.
 *
 * A Terminate may have a copy of the header of the segment that the peer refused (RFC 5040 4.8). This compares
 * it with the requests that are not done: STag and TO of a Write; MSN of a Read or atomic, and for a Read the
 * copy of its Request too. siw, when it fails to answer, writes other numbers in place of the MSN, so a Read
 * whose Request matches is taken if no other one matches. Most Writes are complete before their refusal arrives;
 * then, and if no request matches, every request is flushed.
 *
 * The peer may send a false Terminate. Its values are only compared, and never used as an index, a
 * length or an address. The worst effect is that one of the requests that fail has another status.
 *
 * A started request is found in its slot of the ring, which is released with its completion. The application may
 * have written to the slot, and after a resize the slot may hold an older request, so the entry counts only if
 * it has the identifier and opcode of the request.
 */
#include "viw_refused.h"
#include "viw_complete.h"
#include "viw_qp.h"

#include <string.h>

/* What the Terminate says. */
struct refusal {
	enum ri_wc_status status;
	struct ddp_segment seg; /* header of the refused segment */
	bool has_read;          /* `read` is the copy of a Read Request */
	struct rdmap_read_request read;
};

/* What a request of the peer's kind of error completes with; FLUSHED: the code is not about a request. */
static enum ri_wc_status
status_of(uint16_t code)
{
	switch (code >> 8) {
	case 0x01: /* RDMAP, remote protection error */
		return RI_WC_REMOTE_ACCESS;
	case 0x02: /* RDMAP, remote operation error */
		return code == 0x0205 || code == 0x0206 ? RI_WC_REMOTE_INVALID_REQ
							: RI_WC_REMOTE_OPERATION;
	case 0x11: /* DDP, tagged buffer error */
		return code == 0x1104 ? RI_WC_REMOTE_INVALID_REQ : RI_WC_REMOTE_ACCESS;
	case 0x12: /* DDP, untagged buffer error; QN: the endpoint takes no Reads */
		return code == 0x1201 ? RI_WC_REMOTE_ACCESS : RI_WC_REMOTE_INVALID_REQ;
	default:
		return RI_WC_FLUSHED;
	}
}

/* A request that is not done, in the members that a refusal is compared with. */
struct request {
	uint8_t opcode; /* enum ri_opcode */
	uint32_t length;
	uint32_t msn; /* a Read or atomic */
	uint32_t stag;
	uint64_t to;
	bool has_sink;
	uint32_t sink_stag;
	uint64_t sink_to;
};

static struct request
request_of(const struct vsw_wqe *wqe, uint32_t length, uint32_t msn)
{
	struct request q = {.opcode = wqe->opcode,
			    .length = length,
			    .msn = msn,
			    .stag = wqe->u.remote.stag,
			    .to = wqe->u.remote.addr,
			    .has_sink = wqe->num_sge == 1};

	if (q.has_sink) {
		q.sink_stag = wqe->sge[0].stag;
		q.sink_to = wqe->sge[0].addr;
	}
	return q;
}

/* A started request, from its slot in the ring; false: it is not there any more. */
static bool
request_find(const struct viw_qp *qp, const struct viw_sent *s, struct request *q)
{
	const struct vsw_wq *wq = &qp->tx.sq;
	const struct vsw_wqe *entry =
		(const void *)(wq->ring + (size_t)((s->index - 1) & wq->mask) * wq->stride);

	*q = request_of(entry, s->length, s->read_seq);
	q->opcode = s->opcode;
	return entry->wr_id == s->wr_id && entry->opcode == s->opcode;
}

/* Is the refused segment one of this Write? */
static bool
is_of_write(const struct refusal *r, const struct request *q)
{
	return q->opcode == RI_OP_RDMA_WRITE && r->seg.tagged &&
	       rdmap_opcode_of(r->seg.rdmap_control) == RDMAP_WRITE && r->seg.stag == q->stag &&
	       r->seg.to - q->to < q->length;
}

/* Is the copied Read Request this Read's, perhaps reduced to what was not answered? */
static bool
copy_fits(const struct refusal *r, const struct request *q)
{
	uint64_t done = r->read.source_to - q->to;

	if (r->read.source_stag != q->stag || done > q->length || r->read.size != q->length - done)
		return false;
	return !q->has_sink ||
	       (r->read.sink_stag == q->sink_stag && r->read.sink_to == q->sink_to + done);
}

/* How well a refusal fits a Read or atomic. */
enum fit {
	FIT_NONE = 0,
	FIT_COPY, /* the copy of the Read Request does, but not the MSN */
	FIT_MSN
};

static enum fit
answer_fit(const struct refusal *r, const struct request *q)
{
	enum rdmap_opcode wanted =
		q->opcode == RI_OP_RDMA_READ ? RDMAP_READ_REQUEST : RDMAP_ATOMIC_REQUEST;
	bool copy = q->opcode == RI_OP_RDMA_READ && r->has_read;

	if (r->seg.tagged || r->seg.qn != DDP_QN_READ_REQUEST ||
	    rdmap_opcode_of(r->seg.rdmap_control) != wanted || (copy && !copy_fits(r, q)))
		return FIT_NONE;
	if (r->seg.msn == q->msn)
		return FIT_MSN;
	return copy ? FIT_COPY : FIT_NONE;
}

static enum fit
request_fit(const struct refusal *r, const struct request *q)
{
	switch (q->opcode) {
	case RI_OP_RDMA_WRITE:
		return is_of_write(r, q) ? FIT_MSN : FIT_NONE;
	case RI_OP_RDMA_READ:
	case RI_OP_FETCH_ADD:
	case RI_OP_CMP_SWAP:
		return answer_fit(r, q);
	default:
		return FIT_NONE;
	}
}

/* The started request that the refusal is about, or NULL: none, or more than one could be. */
static struct viw_sent *
sent_find(const struct viw_qp *qp, const struct refusal *r)
{
	const struct viw_tx *tx = &qp->tx;
	struct viw_sent *found = NULL;
	unsigned count = 0;

	for (uint32_t i = tx->sent_tail; i != tx->sent_head; i++) {
		struct viw_sent *s = &tx->sent[i & tx->sent_mask];
		struct request q;

		if (s->status != RI_WC_SUCCESS || viw_sent_is_done(qp, s) ||
		    !request_find(qp, s, &q))
			continue;
		enum fit fit = request_fit(r, &q);
		if (fit == FIT_MSN)
			return s;
		if (fit == FIT_COPY) {
			found = s;
			count++;
		}
	}
	return count == 1 ? found : NULL;
}

enum ri_wc_status
viw_refused_mark(struct viw_qp *qp)
{
	struct viw_tx *tx = &qp->tx;
	struct refusal r;

	assert(vsw_role_is_taken(&qp->tx.role));
	/* Read which segment the Terminate refuses; not every one says that. */
	struct rdmap_terminate t;

	if (qp->end.event != RI_EVENT_QP_TERMINATE_RECEIVED || qp->end.terminate_sent ||
	    !rdmap_terminate_read(qp->end.terminate, qp->end.terminate_len, &t))
		return RI_WC_FLUSHED;
	memset(&r, 0, sizeof(r));
	r.status = status_of(t.code);
	if (r.status == RI_WC_FLUSHED || t.ddp == NULL ||
	    ddp_segment_read(t.ddp, t.ddp_len, t.ddp_len, &r.seg) != DDP_OK)
		return RI_WC_FLUSHED;
	r.has_read = t.rdmap != NULL && rdmap_read_request_read(t.rdmap, t.rdmap_len, &r.read);
	struct viw_sent *s = sent_find(qp, &r);
	if (s != NULL) {
		/* The last one that was started may have failed at this end while the Terminate arrived. */
		tx->sent[(tx->sent_head - 1) & tx->sent_mask].status = RI_WC_FLUSHED;
		s->status = (uint8_t)r.status;
		return RI_WC_FLUSHED;
	}
	if (!tx->have_request || (tx->job != VIW_JOB_REQUEST && tx->job != VIW_JOB_IMMEDIATE))
		return RI_WC_FLUSHED;
	struct request q = request_of(tx->wqe, tx->total, 0);
	return is_of_write(&r, &q) ? r.status : RI_WC_FLUSHED;
}
