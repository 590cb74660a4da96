/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * From work requests and inbound Reads to frames in the sending buffer.
 *
 * Messages are never interleaved: responses and requests alternate at the boundaries of messages, but not between a
 * Write and its immediate data. A message is cut into segments of at most viw_tx::ulpdu octets. Each becomes one frame,
 * copied and checksummed in one pass, so the CRC is that of the copy whatever the application stores meanwhile. Each
 * frame begins an access of its own, which ends with the copy; so after a key is revoked nothing is read through it,
 * and the request that needed it fails.
 *
 * A request is copied from its ring once, and the copy is checked. A request that may not start yet (fence,
 * ORD) stays in viw_tx::wqe. It delays all requests behind it, but not the responses.
 *
 * The owner of tx.role. Standards: RFC 5040 5.2 and 5.3, RFC 5041 5, RFC 5044 4, RFC 7306 6; [WIRE 4.3], [WIRE 5.7], [WIRE 5.10].
 */
#include "viw_tx_build.h"
#include "viw_atomic.h"
#include "viw_complete.h"
#include "viw_copy.h"
#include "viw_qp.h"
#include "viw_tx_direct.h"
#include "viw_why.h"

#include <string.h>

#define VIW_TX_LEAN (16u * 1024) /* octets built at once while the pool is low; see viw_pool.h */

uint32_t
viw_frame_size(bool tagged, uint32_t payload)
{
	return mpa_fpdu_size(ddp_header_size(tagged) + payload);
}

/* The request in tx.wqe cannot be executed: it completes with `status`, and the stream ends; `result` if it was a key's. */
static void
request_fail(struct viw_qp *qp, enum ri_wc_status status, enum vsw_mem_result result)
{
	viw_why_request(qp, status, result);
	qp->tx.job = VIW_JOB_NONE;
	qp->tx.failed = true;
	viw_sq_started(qp, 0, status);
	viw_fault(qp, RDMAP_FAULT_LOCAL, NULL, 0);
}

/* The last frame of the request is built. */
static void
request_started(struct viw_qp *qp, uint32_t read_seq)
{
	qp->tx.job = VIW_JOB_NONE;
	qp->tx.response_last = false;
	viw_sq_started(qp, read_seq, RI_WC_SUCCESS);
}

/* The sink of a Read must be open to the peer while the Read is outstanding (RDMAC verbs 8.1.3). */
static enum ri_wc_status
read_check(struct viw_qp *qp, const struct vsw_wqe *wqe)
{
	struct vsw_mem_use use;

	if (qp->reads.ord == 0 || wqe->num_sge > 1)
		return RI_WC_LOCAL_QP;
	if (qp->tx.total == 0)
		return RI_WC_SUCCESS;
	if ((qp->init.access & RI_ACCESS_REMOTE_WRITE) == 0)
		return RI_WC_LOCAL_PROTECTION;
	if (vsw_mem_begin(qp->rnic->mem, &qp->who,
			  &(struct vsw_mem_access){.stag = wqe->sge[0].stag,
						   .access = RI_ACCESS_REMOTE_WRITE,
						   .addr = wqe->sge[0].addr,
						   .length = qp->tx.total},
			  &use) != VSW_MEM_OK)
		return RI_WC_LOCAL_PROTECTION;
	vsw_mem_end(&use);
	return RI_WC_SUCCESS;
}

/* The octets of a request that has not one segment. Apart, because most requests have one, and the loop is unrolled. */
static __attribute__((noinline)) uint64_t
segments_total(const struct vsw_wqe *wqe)
{
	uint64_t total = 0;

	if ((wqe->flags & RI_WR_INLINE) != 0)
		return wqe->length; /* the copy's; vsw_wq_take has cut it */
	for (uint32_t i = 0; i < wqe->num_sge; i++)
		total += wqe->sge[i].length;
	return total;
}

/* Check the copy of a request. */
static enum ri_wc_status
request_check(struct viw_qp *qp)
{
	const struct vsw_wqe *wqe = qp->tx.wqe;
	uint64_t total = wqe->num_sge == 1 ? wqe->sge[0].length : segments_total(wqe);

	if (total > VIW_MAX_MESSAGE)
		return RI_WC_LOCAL_LENGTH;
	qp->tx.total = (uint32_t)total;
	if (wqe->opcode == RI_OP_SEND || wqe->opcode == RI_OP_RDMA_WRITE)
		return RI_WC_SUCCESS;
	switch (wqe->opcode) {
	case RI_OP_BIND_MW:
	case RI_OP_LOCAL_INV:
		return RI_WC_SUCCESS;
	case RI_OP_RDMA_READ:
		return read_check(qp, wqe);
	case RI_OP_FETCH_ADD:
	case RI_OP_CMP_SWAP:
		return viw_atomic_check(qp, wqe);
	default:
		return RI_WC_LOCAL_QP;
	}
}

/*
 * May the request not be sent any more? When an orderly end begins, requests posted before it are
 * sent as far as the socket accepts them at once. Others are flushed, even if the stream still
 * sends. So are requests after a failed one; a failure in CLOSING does not change the state.
 */
static bool
request_late(struct viw_qp *qp)
{
	if (qp->tx.failed || qp->tx.drained)
		return true;
	return viw_qp_state(qp) == RI_QPS_CLOSING && (int32_t)(qp->tx.index - qp->end.last) > 0;
}

/* Is there a request that may start now? Takes and checks one if none is in tx.wqe. */
static bool
request_ready(struct viw_qp *qp)
{
	struct viw_tx *tx = &qp->tx;

	if (atomic_load_explicit(&tx->await_frame, memory_order_relaxed) ||
	    tx->sent_head - tx->sent_tail > tx->sent_mask)
		return false;
	if (!tx->have_request) {
		if (!vsw_wq_take(&tx->sq, qp->tx.wqe, &tx->index))
			return false;
		tx->have_request = true;
		tx->done = 0;
		tx->sge = 0;
		tx->sge_done = 0;
	}
	if (request_late(qp))
		return false;
	if (!tx->checked) {
		enum ri_wc_status status = request_check(qp);

		if (status != RI_WC_SUCCESS) {
			request_fail(qp, status, VSW_MEM_OK);
			return false;
		}
		tx->checked = true;
	}
	/* Do the fences and ORD let the request start? */
	const struct vsw_wqe *wqe = qp->tx.wqe;

	if ((wqe->flags & RI_WR_READ_FENCE) && !viw_reads_done(&qp->reads))
		return false;
	if ((wqe->flags & RI_WR_LOCAL_FENCE) && tx->sent_tail != tx->sent_head)
		return false;
	switch (wqe->opcode) {
	case RI_OP_RDMA_READ:
	case RI_OP_FETCH_ADD:
	case RI_OP_CMP_SWAP:
		return viw_read_room(&qp->reads);
	default:
		return true;
	}
}

/* --- payload ------------------------------------------------------------------------------- */

/* Octets left in the segment where the request continues; empty segments are skipped. */
static uint32_t
piece_left(struct viw_qp *qp)
{
	struct viw_tx *tx = &qp->tx;
	const struct vsw_wqe *wqe = qp->tx.wqe;

	while (tx->sge < wqe->num_sge && tx->sge_done == wqe->sge[tx->sge].length) {
		tx->sge++;
		tx->sge_done = 0;
	}
	return tx->sge < wqe->num_sge ? wqe->sge[tx->sge].length - tx->sge_done : 0;
}

static bool
piece_open(struct viw_qp *qp, uint32_t len, struct vsw_mem_use *use)
{
	const struct ri_sge *sge = &qp->tx.wqe->sge[qp->tx.sge];

	return vsw_mem_begin(qp->rnic->mem, &qp->who,
			     &(struct vsw_mem_access){.stag = sge->stag,
						      .access = RI_ACCESS_LOCAL_READ,
						      .addr = sge->addr + qp->tx.sge_done,
						      .length = len},
			     use) == VSW_MEM_OK;
}

/* --- requests ------------------------------------------------------------------------------ */

/* The opcode on the wire of a Send with these flags. */
static enum rdmap_opcode
send_opcode(uint32_t flags)
{
	bool invalidate = (flags & RI_WR_INVALIDATE) != 0;

	if (flags & RI_WR_SOLICITED)
		return invalidate ? RDMAP_SEND_SE_INVALIDATE : RDMAP_SEND_SE;
	return invalidate ? RDMAP_SEND_INVALIDATE : RDMAP_SEND;
}

/* The header of the frame that carries the next octets of a Send or Write. */
static inline __attribute__((always_inline)) struct ddp_segment
message_header(const struct viw_qp *qp, bool write, bool last)
{
	const struct viw_tx *tx = &qp->tx;
	const struct vsw_wqe *wqe = qp->tx.wqe;
	struct ddp_segment seg;

	if (write)
		return rdmap_tagged(RDMAP_WRITE, wqe->u.remote.stag, wqe->u.remote.addr + tx->done,
				    last);
	seg = rdmap_untagged(send_opcode(wqe->flags), tx->send_msn, tx->done, last);
	seg.rsvd_ulp = wqe->flags & RI_WR_INVALIDATE ? wqe->inv_stag : 0;
	return seg;
}

/* n more octets of the message are built; sge and sge_done have advanced. */
static inline void
message_advance(struct viw_qp *qp, uint32_t n, bool write)
{
	struct viw_tx *tx = &qp->tx;

	tx->done += n;
	tx->job = VIW_JOB_REQUEST;
	if (tx->done == tx->total) {
		tx->send_msn += write ? 0 : 1;
		if (write && __builtin_expect((qp->tx.wqe->flags & RI_WR_IMMEDIATE) != 0, 0))
			tx->job = VIW_JOB_IMMEDIATE;
		else
			request_started(qp, 0);
	}
}

/*
 * Send the next octets of the message, up to the end of their segment, without copying them, if
 * possible. *built: they were sent, or the socket is full. False: they must be copied through the
 * buffer.
 */
static __attribute__((noinline)) bool
message_direct(struct viw_qp *qp, bool write, uint32_t most, bool *built)
{
	struct viw_tx *tx = &qp->tx;
	uint32_t piece = piece_left(qp);
	const struct ri_sge *sge = &qp->tx.wqe->sge[tx->sge];
	uint32_t left = tx->total - tx->done;
	struct viw_direct d = {.seg = message_header(qp, write, left <= most),
			       .left = left,
			       .wanted = {.stag = sge->stag,
					  .addr = sge->addr + tx->sge_done,
					  .length = piece,
					  .access = RI_ACCESS_LOCAL_READ}};
	uint32_t begun = 0;

	if (!viw_tx_is_direct(qp, &d))
		return false;
	*built = false;
	if (tx->len != 0)
		return true;
	tx->direct = true;
	if (viw_tx_direct(qp, &d, &begun) != VSW_MEM_OK) {
		request_fail(qp, RI_WC_LOCAL_PROTECTION, VSW_MEM_OK);
		*built = true;
		return true;
	}
	tx->sge_done += begun;
	if (begun > 0)
		message_advance(qp, begun, write);
	*built = begun > 0;
	return true;
}

/* Frame n octets of the message that do not lie in one segment. Octets of the frame, or 0 if they are not accessible. */
static __attribute__((noinline)) uint32_t
message_gather(struct viw_qp *qp, bool write, uint32_t n, bool last)
{
	struct ddp_segment seg = message_header(qp, write, last);
	uint8_t *at = qp->tx.buf + qp->tx.len;
	struct vsw_mem_use use;

	seg.payload_len = n;
	if ((qp->tx.wqe->flags & RI_WR_INLINE) != 0) {
		/* No other thread writes to the copy of the request. */
		seg.payload = (const uint8_t *)vsw_wqe_octets(qp->tx.wqe) + qp->tx.done;
		return rdmap_fpdu_put(at, &seg, qp->stream.crc);
	}
	uint32_t header = rdmap_fpdu_begin(at, &seg);
	uint32_t crc = qp->stream.crc ? mpa_crc(at, header, 0) : 0;
	uint8_t *to = at + header;
	for (uint32_t left = n; left > 0;) {
		uint32_t piece = piece_left(qp);

		if (piece > left)
			piece = left;
		if (piece == 0 || !piece_open(qp, piece, &use))
			return 0;
		bool there = qp->stream.crc ? viw_crc_copy(to, use.ptr, piece, &crc)
					    : vsw_copy(to, use.ptr, piece);
		vsw_mem_end(&use);
		if (!there)
			return 0;
		qp->tx.sge_done += piece;
		to += piece;
		left -= piece;
	}
	return mpa_fpdu_close(at, header - MPA_LENGTH_SIZE + n, crc, qp->stream.crc);
}

/* Frame n octets of the message that lie in one segment. Inlined: the header is never in memory but in the frame. */
static inline __attribute__((always_inline)) uint32_t
message_frame(struct viw_qp *qp, bool write, uint32_t n, bool last)
{
	struct ddp_segment seg = message_header(qp, write, last);
	struct vsw_mem_use use;

	if (!piece_open(qp, n, &use))
		return 0;
	seg.payload = use.ptr;
	seg.payload_len = n;
	uint32_t size;
	if (!viw_fpdu_put(qp->tx.buf + qp->tx.len, &seg, qp->stream.crc, &size)) {
		vsw_mem_end(&use);
		return 0;
	}
	vsw_mem_end(&use);
	qp->tx.sge_done += n;
	return size;
}

/*
 * Build the next frame of a Send or Write; false if the buffer has no room for it. Inlined, so that each of the two makes its
 * header without a test.
 */
static inline __attribute__((always_inline)) bool
build_message(struct viw_qp *qp, bool write)
{
	struct viw_tx *tx = &qp->tx;
	uint32_t most = viw_tx_ulpdu(qp) - ddp_header_size(write);
	uint32_t left = tx->total - tx->done;
	uint32_t n = left < most ? left : most;
	uint32_t size;
	bool built;

	if (!qp->stream.crc && left >= VIW_DIRECT_MIN && message_direct(qp, write, most, &built))
		return built;
	if (tx->len + mpa_fpdu_size(ddp_header_size(write) + n) > VIW_BUF_SIZE)
		return false;
	if (n > 0 && n <= piece_left(qp))
		size = message_frame(qp, write, n, n == left);
	else
		size = message_gather(qp, write, n, n == left);
	if (size == 0) {
		request_fail(qp, RI_WC_LOCAL_PROTECTION, VSW_MEM_OK);
		return true;
	}
	tx->len += size;
	viw_qp_built(qp, size, 1);
	message_advance(qp, n, write);
	return true;
}

/* Apart, so that requests that send no payload do not save the registers that the copy needs. */
static __attribute__((noinline)) bool
build_send(struct viw_qp *qp)
{
	return build_message(qp, false);
}

static __attribute__((noinline)) bool
build_write(struct viw_qp *qp)
{
	return build_message(qp, true);
}

/*
 * Build the Immediate Data message after a Write whose last frame is built. The job makes sure that
 * no other message comes between the two. False if the buffer has no room for it.
 */
static __attribute__((noinline)) bool
build_immediate(struct viw_qp *qp)
{
	struct viw_tx *tx = &qp->tx;
	const struct vsw_wqe *wqe = qp->tx.wqe;
	enum rdmap_opcode opcode =
		wqe->flags & RI_WR_SOLICITED ? RDMAP_IMMEDIATE_SE : RDMAP_IMMEDIATE;
	struct ddp_segment seg = rdmap_untagged(opcode, tx->send_msn, 0, true);
	uint8_t octets[RDMAP_IMMEDIATE_SIZE] = {0};

	if (tx->len + viw_frame_size(false, RDMAP_IMMEDIATE_SIZE) > VIW_BUF_SIZE)
		return false;
	memcpy(octets, &wqe->inv_stag, sizeof(wqe->inv_stag));
	seg.payload = octets;
	seg.payload_len = RDMAP_IMMEDIATE_SIZE;
	uint32_t size = rdmap_fpdu_put(tx->buf + tx->len, &seg, qp->stream.crc);
	tx->len += size;
	viw_qp_built(qp, size, 1);
	tx->send_msn++;
	tx->sent_immediate = true;
	request_started(qp, 0);
	return true;
}

static bool
build_read(struct viw_qp *qp)
{
	struct viw_tx *tx = &qp->tx;
	const struct vsw_wqe *wqe = qp->tx.wqe;
	struct rdmap_read_request m = {.size = tx->total,
				       .source_stag = wqe->u.remote.stag,
				       .source_to = wqe->u.remote.addr};

	if (tx->len + viw_frame_size(false, RDMAP_READ_REQUEST_SIZE) > VIW_BUF_SIZE)
		return false;
	if (wqe->num_sge > 0) {
		m.sink_stag = wqe->sge[0].stag;
		m.sink_to = wqe->sge[0].addr;
	}
	uint32_t number = viw_read_note(&qp->reads, &(struct viw_outbound_read){.stag = m.sink_stag,
										.to = m.sink_to,
										.length = m.size});
	uint32_t size =
		rdmap_read_request_fpdu(tx->buf + tx->len, tx->read_msn++, &m, qp->stream.crc);
	tx->len += size;
	viw_qp_built(qp, size, 1);
	request_started(qp, number);
	return true;
}

/* Requests that send nothing. */
static void
request_run_local(struct viw_qp *qp)
{
	struct vsw_mem_table *mem = qp->rnic->mem;
	const struct vsw_wqe *wqe = qp->tx.wqe;
	bool bind = wqe->opcode == RI_OP_BIND_MW;
	bool relative = (wqe->flags & RI_WR_BIND_RELATIVE) != 0;
	enum vsw_mem_result result;

	if (!bind)
		result = vsw_mem_invalidate(mem, &qp->who, wqe->inv_stag, false);
	else if (qp->init.access & RI_ACCESS_BIND)
		result = vsw_mw_bind(mem, &qp->who, &wqe->u.bind, relative);
	else
		result = VSW_MEM_ACCESS;
	if (result == VSW_MEM_OK)
		request_started(qp, 0);
	else
		request_fail(qp, RI_WC_MW_BIND, result);
}

static bool
build_request(struct viw_qp *qp)
{
	uint32_t number = 0;

	switch (qp->tx.wqe->opcode) {
	case RI_OP_SEND:
		return build_send(qp);
	case RI_OP_RDMA_WRITE:
		return build_write(qp);
	case RI_OP_RDMA_READ:
		return build_read(qp);
	case RI_OP_FETCH_ADD:
	case RI_OP_CMP_SWAP:
		if (!viw_atomic_build(qp, &number))
			return false;
		request_started(qp, number);
		return true;
	default:
		request_run_local(qp);
		return true;
	}
}

/* Go on with the message, or the request of two messages, that has begun. */
static __attribute__((noinline)) bool
build_continue(struct viw_qp *qp)
{
	if (qp->tx.job == VIW_JOB_RESPONSE)
		return viw_response_build(qp);
	return qp->tx.job == VIW_JOB_IMMEDIATE ? build_immediate(qp) : build_request(qp);
}

/* One step; false if nothing can be done, or no room is left. */
static bool
build_next(struct viw_qp *qp)
{
	struct viw_tx *tx = &qp->tx;

	if (tx->job != VIW_JOB_NONE)
		return build_continue(qp);

	bool request = request_ready(qp);
	if (viw_response_pending(&qp->reads) && (!request || !tx->response_last))
		return viw_response_build(qp);
	return request && build_request(qp);
}

bool
viw_tx_all_built(struct viw_qp *qp)
{
	struct viw_tx *tx = &qp->tx;

	return vsw_wq_pending(&tx->sq) == 0 && tx->job == VIW_JOB_NONE && !tx->have_request &&
	       !viw_response_pending(&qp->reads);
}

enum viw_tx_filled
viw_tx_fill(struct viw_qp *qp)
{
	struct viw_tx *tx = &qp->tx;
	enum ri_qp_state begun = viw_qp_state(qp);
	enum viw_tx_filled filled = VIW_TX_NOTHING;

	assert(vsw_role_is_taken(&qp->tx.role));
	uint32_t enough = viw_pool_is_low(&qp->rnic->engine.pool) ? VIW_TX_LEAN : tx->segment.room;

	if (!viw_tx_buffer(qp)) {
		/* Set the flag, then look again: a thread that gives a buffer back looks at the flags afterwards. */
		atomic_store(&tx->starved, true);
		if (!viw_tx_buffer(qp))
			return filled;
	}
	if (atomic_load_explicit(&tx->starved, memory_order_relaxed))
		atomic_store(&tx->starved, false);
	tx->direct = false;
	while (!tx->direct && tx->len < enough && viw_qp_state(qp) == begun && build_next(qp)) {
		filled = VIW_TX_SOME;
		if (viw_tx_all_built(qp))
			return VIW_TX_ALL;
	}
	return filled;
}
