/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Atomics, both directions (RFC 7306 5 and 8.1; [WIRE 5.6]).
 *
 * A request shares queue number, MSNs and the limit of outstanding requests with Reads. The responder
 * executes it when its turn among the responses comes, so answers leave in the order of the requests. A
 * request that passes the check on arrival is checked again then, since rights may be revoked. Words change
 * by the processor's atomic instructions, whatever masks the peer sends; requests of this side use no masks.
 *
 * The requester numbers Reads and atomics together; the answer repeats the number. Values are big-endian on
 * the wire and in this processor's byte order in memory.
 */
#include "viw_atomic.h"
#include "viw_qp.h"
#include "viw_tx_build.h"
#include "viw_why.h"

#include "vsw_atomic.h"
#include "vsw_guard.h"

#define WORD ((uint32_t)sizeof(uint64_t))

/* --- requester ----------------------------------------------------------------------------- */

static enum vsw_mem_result
result_begin(struct viw_qp *qp, uint32_t stag, uint64_t addr, struct vsw_mem_use *use)
{
	return vsw_mem_begin(qp->rnic->mem, &qp->who,
			     &(struct vsw_mem_access){.stag = stag,
						      .access = RI_ACCESS_LOCAL_WRITE,
						      .addr = addr,
						      .length = WORD},
			     use);
}

enum ri_wc_status
viw_atomic_check(struct viw_qp *qp, const struct vsw_wqe *wqe)
{
	struct vsw_mem_use use;

	if (qp->reads.ord == 0 || wqe->num_sge != 1 || wqe->sge[0].length != WORD)
		return RI_WC_LOCAL_QP;
	if (result_begin(qp, wqe->sge[0].stag, wqe->sge[0].addr, &use) != VSW_MEM_OK)
		return RI_WC_LOCAL_PROTECTION;
	vsw_mem_end(&use);
	return RI_WC_SUCCESS;
}

bool
viw_atomic_build(struct viw_qp *qp, uint32_t *number)
{
	struct viw_tx *tx = &qp->tx;
	const struct vsw_wqe *wqe = qp->tx.wqe;
	bool swap = wqe->opcode == RI_OP_CMP_SWAP;
	const struct rdmap_atomic_request m = {
		.operation = swap ? RDMAP_ATOMIC_COMPARE_SWAP : RDMAP_ATOMIC_FETCH_ADD,
		.request_id = viw_read_next(&qp->reads),
		.stag = wqe->u.remote.stag,
		.to = wqe->u.remote.addr,
		.data = swap ? wqe->u.remote.swap : wqe->u.remote.operand,
		.mask = swap ? UINT64_MAX : 0,
		.compare = swap ? wqe->u.remote.operand : 0,
		.compare_mask = UINT64_MAX, /* an addition ignores it */
	};
	const struct viw_outbound_read read = {
		.atomic = true, .stag = wqe->sge[0].stag, .to = wqe->sge[0].addr, .length = WORD};

	if (tx->len + viw_frame_size(false, RDMAP_ATOMIC_REQUEST_SIZE) > VIW_BUF_SIZE)
		return false;
	*number = viw_read_note(&qp->reads, &read);
	uint8_t *fpdu = tx->buf + tx->len;
	struct ddp_segment seg = rdmap_untagged(RDMAP_ATOMIC_REQUEST, tx->read_msn++, 0, true);

	seg.payload_len = RDMAP_ATOMIC_REQUEST_SIZE;
	rdmap_atomic_request_write(fpdu + rdmap_fpdu_begin(fpdu, &seg), &m);
	uint32_t size =
		mpa_fpdu_cover(fpdu, DDP_UNTAGGED_SIZE + RDMAP_ATOMIC_REQUEST_SIZE, qp->stream.crc);
	tx->len += size;
	viw_qp_built(qp, size, 1);
	return true;
}

enum rdmap_fault
viw_atomic_response_check(struct viw_qp *qp)
{
	struct rdmap_atomic_response m;
	uint32_t number = 0;
	const struct viw_outbound_read *r = viw_read_oldest(&qp->reads, &number);

	if (!rdmap_atomic_response_read(qp->rx.seg.payload, qp->rx.control_len, &m))
		return RDMAP_FAULT_HEADER_SIZE;
	if (r == NULL || !r->atomic || m.request_id != number)
		return RDMAP_FAULT_RESPONSE_UNEXPECTED;
	return RDMAP_FAULT_NONE;
}

void
viw_atomic_finish(struct viw_qp *qp)
{
	struct rdmap_atomic_response m;
	uint32_t number = 0;
	const struct viw_outbound_read *r = viw_read_oldest(&qp->reads, &number);
	struct vsw_mem_use use;

	(void)rdmap_atomic_response_read(qp->rx.seg.payload, qp->rx.control_len, &m);
	if (result_begin(qp, r->stag, r->to, &use) == VSW_MEM_OK) {
		enum ri_status copied =
			vsw_mem_copy(&use, 0, &m.original, sizeof(m.original), true);

		vsw_mem_end(&use);
		if (copied == RI_SUCCESS) {
			viw_read_finish(qp);
			return;
		}
	}
	/* The key was revoked meanwhile: the request is flushed. */
	qp->rx.want_tx = true;
	viw_say(qp,
		"the result of an atomic operation cannot be written: the key %08x of its segment "
		"was invalidated meanwhile",
		(unsigned)r->stag);
	viw_fault(qp, RDMAP_FAULT_LOCAL, NULL, 0);
}

/* --- responder ----------------------------------------------------------------------------- */

/* Begin the access to the word. */
static enum rdmap_fault
word_begin(struct viw_qp *qp, const struct rdmap_atomic_request *m, struct vsw_mem_use *use)
{
	enum vsw_mem_result result = VSW_MEM_ACCESS;

	if (m->operation > RDMAP_ATOMIC_COMPARE_SWAP || m->to % WORD != 0)
		return RDMAP_FAULT_ATOMIC;
	if (qp->init.access & RI_ACCESS_REMOTE_ATOMIC)
		result = vsw_mem_begin(qp->rnic->mem, &qp->who,
				       &(struct vsw_mem_access){.stag = m->stag,
								.access = RI_ACCESS_REMOTE_ATOMIC,
								.addr = m->to,
								.length = WORD},
				       use);
	return result == VSW_MEM_OK ? RDMAP_FAULT_NONE : viw_fault_read(result);
}

enum rdmap_fault
viw_atomic_request_check(struct viw_qp *qp)
{
	struct rdmap_atomic_request m;
	struct vsw_mem_use use = {0};
	enum rdmap_fault fault;

	if (!rdmap_atomic_request_read(qp->rx.seg.payload, qp->rx.control_len, &m))
		return RDMAP_FAULT_HEADER_SIZE;
	fault = word_begin(qp, &m, &use);
	if (fault != RDMAP_FAULT_NONE)
		return fault;
	if (vsw_atomic_word(&use) == NULL)
		fault = RDMAP_FAULT_ATOMIC;
	vsw_mem_end(&use);
	return fault;
}

/* The value of the word after the operation. */
static uint64_t
word_changed(uint64_t old, const struct rdmap_atomic_request *m)
{
	if (m->operation == RDMAP_ATOMIC_FETCH_ADD)
		/* Add field by field; a set bit of the mask is the highest of its field, and its carry is dropped. */
		return ((old & ~m->mask) + (m->data & ~m->mask)) ^ ((old ^ m->data) & m->mask);
	if (m->operation == RDMAP_ATOMIC_COMPARE_SWAP &&
	    ((old ^ m->compare) & m->compare_mask) != 0)
		return old;
	return (old & ~m->mask) | (m->data & m->mask);
}

bool
viw_atomic_respond(struct viw_qp *qp, const struct rdmap_atomic_request *request,
		   enum rdmap_fault *fault)
{
	struct viw_tx *tx = &qp->tx;
	struct ddp_segment seg = rdmap_untagged(RDMAP_ATOMIC_RESPONSE, tx->atomic_msn, 0, true);
	struct rdmap_atomic_response m = {.request_id = request->request_id};
	struct vsw_mem_use use = {0};

	*fault = RDMAP_FAULT_NONE;
	if (tx->len + viw_frame_size(false, RDMAP_ATOMIC_RESPONSE_SIZE) > VIW_BUF_SIZE)
		return false;
	*fault = word_begin(qp, request, &use);
	if (*fault != RDMAP_FAULT_NONE)
		return false;
	uint64_t *word = vsw_atomic_word(&use);
	if (word == NULL) {
		vsw_mem_end(&use);
		*fault = RDMAP_FAULT_ATOMIC;
		return false;
	}
	bool there = vsw_guarded_load(word, &m.original);
	bool swapped = false;
	while (there && !swapped)
		there = vsw_guarded_swap(word, &m.original, word_changed(m.original, request),
					 &swapped);
	vsw_mem_end(&use);
	if (!there) {
		*fault = RDMAP_FAULT_MEMORY;
		return false;
	}
	tx->atomic_msn++;
	seg.payload_len = RDMAP_ATOMIC_RESPONSE_SIZE;
	rdmap_atomic_response_write(tx->buf + tx->len + rdmap_fpdu_begin(tx->buf + tx->len, &seg),
				    &m);
	uint32_t size = mpa_fpdu_cover(
		tx->buf + tx->len, DDP_UNTAGGED_SIZE + RDMAP_ATOMIC_RESPONSE_SIZE, qp->stream.crc);
	tx->len += size;
	viw_qp_built(qp, size, 1);
	return true;
}
