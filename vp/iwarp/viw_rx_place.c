/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Executes segments: their effect on memory, queues and completions.
 *
 * viw_rx_begin checks a header (rdmap_check.h), finds the receive of a Send, checks that the tagged range may
 * be written, and only then opens the target of this frame's payload (struct viw_rx_target). viw_rx_place
 * writes octets through that target as they arrive, in ascending order. Each piece is an access of its
 * own, so nothing is placed after a key was revoked. viw_rx_finish runs when the frame is complete and its
 * CRC right, and delivers. Control messages open no target: they are read from rx.head, or from the buffer
 * with the complete frame.
 *
 * The owner of rx.role. Standards: RFC 5041 5 to 7, RFC 5040 5 and 7; [WIRE 4.4], [WIRE 5.2] to [WIRE 5.8].
 */
#include "viw_atomic.h"
#include "viw_complete.h"
#include "viw_copy.h"
#include "viw_qp.h"
#include "viw_receive.h"
#include "viw_why.h"

#include <string.h>

/* --- octets -------------------------------------------------------------------------------- */

/* The segment of the current receive that octet `offset` goes to; *left: room in that segment from there. */
static const struct ri_sge *
receive_piece(struct viw_qp *qp, uint64_t offset, uint64_t *skip, uint32_t *left)
{
	const struct vsw_wqe *wqe = qp->rx.wqe;

	for (uint32_t i = 0; i < wqe->num_sge; i++) {
		const struct ri_sge *sge = &wqe->sge[i];

		if (offset < sge->length) {
			*skip = offset;
			*left = sge->length - (uint32_t)offset;
			return sge;
		}
		offset -= sge->length;
	}
	return NULL;
}

/* The memory of the current receive cannot be written. */
static void
receive_fault(struct viw_qp *qp)
{
	qp->rx.receive_status = RI_WC_LOCAL_PROTECTION;
	qp->rx.fault = RDMAP_FAULT_LOCAL;
}

static uint8_t *
tagged_target(struct viw_qp *qp, uint32_t len, struct vsw_mem_use *use)
{
	struct viw_rx *rx = &qp->rx;
	enum vsw_mem_result result =
		vsw_mem_begin(qp->rnic->mem, &qp->who,
			      &(struct vsw_mem_access){.stag = rx->target.stag,
						       .access = RI_ACCESS_REMOTE_WRITE,
						       .addr = rx->target.at + rx->placed,
						       .length = len},
			      use);

	if (result != VSW_MEM_OK)
		rx->fault = viw_fault_tagged(result);
	return result == VSW_MEM_OK ? use->ptr : NULL;
}

static uint8_t *
receive_target(struct viw_qp *qp, uint32_t *len, struct vsw_mem_use *use)
{
	struct viw_rx *rx = &qp->rx;
	uint64_t skip = 0;
	uint32_t left = 0;
	const struct ri_sge *sge = receive_piece(qp, rx->target.at + rx->placed, &skip, &left);

	if (sge == NULL) {
		receive_fault(qp);
		return NULL;
	}
	if (left < *len)
		*len = left;
	enum vsw_mem_result result =
		vsw_mem_begin(qp->rnic->mem, &qp->receiver,
			      &(struct vsw_mem_access){.stag = sge->stag,
						       .access = RI_ACCESS_LOCAL_WRITE,
						       .addr = sge->addr + skip,
						       .length = *len},
			      use);
	if (result != VSW_MEM_OK)
		receive_fault(qp);
	return result == VSW_MEM_OK ? use->ptr : NULL;
}

uint8_t *
viw_rx_place_target(struct viw_qp *qp, uint32_t *len, struct vsw_mem_use *use)
{
	const struct viw_rx *rx = &qp->rx;

	if (rx->target.kind == VIW_RX_NOWHERE || rx->placed >= rx->target.len)
		return NULL;
	if (*len > rx->target.len - rx->placed)
		*len = rx->target.len - rx->placed;
	return rx->target.kind == VIW_RX_TAGGED ? tagged_target(qp, *len, use)
						: receive_target(qp, len, use);
}

void
viw_rx_target_lost(struct viw_qp *qp)
{
	if (qp->rx.target.kind == VIW_RX_TAGGED)
		qp->rx.fault = viw_fault_tagged(VSW_MEM_LOST);
	else
		receive_fault(qp);
}

/* The octets do not go anywhere, but still count for the CRC. */
static __attribute__((cold, noinline)) void
place_lost(struct viw_qp *qp, struct vsw_mem_use *use)
{
	vsw_mem_end(use);
	viw_rx_target_lost(qp);
}

void
viw_rx_place(struct viw_qp *qp, const uint8_t *from, uint32_t len)
{
	struct viw_rx *rx = &qp->rx;
	bool cover = qp->stream.crc && rx->phase == VIW_RX_BODY;
	struct vsw_mem_use use;

	while (len > 0) {
		uint32_t n = len;
		uint8_t *to =
			rx->fault == RDMAP_FAULT_NONE ? viw_rx_place_target(qp, &n, &use) : NULL;

		if (to == NULL) {
			/* Octets without a place still count for the CRC. */
			rx->crc = cover ? mpa_crc(from, len, rx->crc) : 0;
			rx->placed += len;
			return;
		}
		if (cover ? !viw_crc_copy(to, from, n, &rx->crc) : !vsw_copy(to, from, n)) {
			place_lost(qp, &use);
			continue;
		}
		vsw_mem_end(&use);
		rx->placed += n;
		from += n;
		len -= n;
	}
}

/* --- begin --------------------------------------------------------------------------------- */

/* The payload of this frame may be placed. */
static void
target_open(struct viw_rx *rx, enum viw_rx_target_kind kind)
{
	const struct ddp_segment *seg = &rx->seg;

	rx->target = (struct viw_rx_target){.kind = kind,
					    .stag = seg->stag,
					    .at = kind == VIW_RX_TAGGED ? seg->to : seg->mo,
					    .len = seg->payload_len};
}

/* May the payload of a tagged segment be written? If all of it is here, placing it checks that. */
static enum rdmap_fault
tagged_check(struct viw_qp *qp, bool here)
{
	const struct ddp_segment *seg = &qp->rx.seg;
	struct vsw_mem_use use;

	if (seg->payload_len == 0)
		return RDMAP_FAULT_NONE;
	if ((qp->init.access & RI_ACCESS_REMOTE_WRITE) == 0)
		return RDMAP_FAULT_TAGGED_ACCESS;
	if (here) {
		target_open(&qp->rx, VIW_RX_TAGGED);
		return RDMAP_FAULT_NONE;
	}
	enum vsw_mem_result result =
		vsw_mem_begin(qp->rnic->mem, &qp->who,
			      &(struct vsw_mem_access){.stag = seg->stag,
						       .access = RI_ACCESS_REMOTE_WRITE,
						       .addr = seg->to,
						       .length = seg->payload_len},
			      &use);
	if (result == VSW_MEM_OK) {
		vsw_mem_end(&use);
		target_open(&qp->rx, VIW_RX_TAGGED);
	}
	return viw_fault_tagged(result);
}

/* Take the receive for a Send that begins, or for Immediate Data. */
static enum viw_rx_verdict
receive_begin(struct viw_qp *qp)
{
	struct viw_rx *rx = &qp->rx;
	const struct vsw_wqe *wqe = qp->rx.wqe;
	bool wait = false;

	if (!viw_receive_take(qp, &wait)) {
		if (wait && qp->rnic->rnr_ns != 0)
			return VIW_RX_WAIT;
		rx->fault = wait ? RDMAP_FAULT_NO_BUFFER : RDMAP_FAULT_STREAM_CATASTROPHIC;
		return VIW_RX_FAULT;
	}
	rx->have_receive = true;
	rx->inv_stag = rx->seg.rsvd_ulp;
	rx->capacity = 0;
	for (uint32_t i = 0; i < wqe->num_sge; i++)
		rx->capacity += wqe->sge[i].length;
	return VIW_RX_OK;
}

/* Check a message of one segment that takes no receive. */
static enum rdmap_fault
single_check(struct viw_qp *qp, enum rdmap_opcode opcode)
{
	if (opcode == RDMAP_READ_REQUEST) {
		/* The source of a Read Request is checked on arrival, and again when it is read. */
		struct rdmap_read_request m;
		struct vsw_mem_use use;

		if (!rdmap_read_request_read(qp->rx.seg.payload, qp->rx.control_len, &m))
			return RDMAP_FAULT_HEADER_SIZE;
		if ((qp->init.access & RI_ACCESS_REMOTE_READ) == 0)
			return RDMAP_FAULT_READS_DISABLED; /* atomics alone are enabled */
		if (m.size == 0)
			return RDMAP_FAULT_NONE;
		enum vsw_mem_result result =
			vsw_mem_begin(qp->rnic->mem, &qp->who,
				      &(struct vsw_mem_access){.stag = m.source_stag,
							       .access = RI_ACCESS_REMOTE_READ,
							       .addr = m.source_to,
							       .length = m.size},
				      &use);
		if (result == VSW_MEM_OK)
			vsw_mem_end(&use);
		return viw_fault_read(result);
	}
	if (opcode == RDMAP_ATOMIC_REQUEST)
		return viw_atomic_request_check(qp);
	if (opcode == RDMAP_ATOMIC_RESPONSE)
		return viw_atomic_response_check(qp);
	return opcode == RDMAP_TERMINATE ? RDMAP_FAULT_NONE : RDMAP_FAULT_OPCODE;
}

enum viw_rx_verdict
viw_rx_begin(struct viw_qp *qp, bool here)
{
	struct viw_rx *rx = &qp->rx;
	enum rdmap_opcode opcode = rdmap_opcode_of(rx->seg.rdmap_control);

	assert(vsw_role_is_taken(&qp->rx.role));
	viw_rx_target_close(&rx->target);
	if (opcode == RDMAP_READ_RESPONSE || opcode == RDMAP_ATOMIC_RESPONSE)
		viw_read_await(&qp->reads, &rx->in);
	else if (opcode == RDMAP_READ_REQUEST || opcode == RDMAP_ATOMIC_REQUEST)
		rx->in.read_room = viw_read_places(&qp->reads);
	rx->fault = rdmap_check_header(&rx->in, &rx->seg);
	if (rx->fault == RDMAP_FAULT_NONE && rdmap_is_send(opcode)) {
		enum viw_rx_verdict verdict = rx->have_receive ? VIW_RX_OK : receive_begin(qp);

		if (verdict != VIW_RX_OK)
			return verdict;
		rx->fault = rdmap_check_receive(&rx->seg, true, rx->capacity);
		if (rx->fault == RDMAP_FAULT_NONE) {
			target_open(rx, VIW_RX_RECEIVE);
			return VIW_RX_OK;
		}
		rx->receive_status = RI_WC_LOCAL_LENGTH;
		return VIW_RX_FAULT;
	}
	if (rx->fault == RDMAP_FAULT_NONE && rx->seg.tagged)
		rx->fault = tagged_check(qp, here);
	else if (rx->fault == RDMAP_FAULT_NONE && rdmap_is_immediate(opcode))
		return receive_begin(qp); /* its octets go to the completion: no target is opened */
	else if (rx->fault == RDMAP_FAULT_NONE)
		rx->fault = single_check(qp, opcode);
	return rx->fault == RDMAP_FAULT_NONE ? VIW_RX_OK : VIW_RX_FAULT;
}

/* --- finish -------------------------------------------------------------------------------- */

/* The last segment of a Send: invalidate if it says so, complete. */
static void
send_deliver(struct viw_qp *qp, uint32_t length)
{
	struct viw_rx *rx = &qp->rx;
	struct rdmap_offender offender = {
		.ulpdu = rx->head, .have = 0, .ulpdu_len = rx->frame_ulpdu};
	bool may = (qp->init.access & VSW_MEM_INVALIDATES) != 0;
	enum vsw_mem_result result = VSW_MEM_OK;
	uint8_t header[DDP_UNTAGGED_SIZE];
	char why[VSW_WHY_ROOM];

	if (rdmap_is_invalidate(rdmap_opcode_of(rx->seg.rdmap_control)))
		result = may ? vsw_mem_invalidate(qp->rnic->mem, &qp->who, rx->inv_stag, true)
			     : VSW_MEM_CLOSED;
	if (result == VSW_MEM_OK) {
		viw_rq_complete(qp, RI_WC_SUCCESS, length);
		return;
	}
	vsw_why_invalidate(qp->rnic->mem, rx->inv_stag, result, why, sizeof(why));
	viw_say(qp, "a Send of the peer may not invalidate: %s",
		may ? why : "this endpoint allows its peer neither RDMA Reads nor RDMA Writes");
	offender.ulpdu = header;
	offender.have = ddp_header_put(header, &rx->seg);
	rx->receive_status = RI_WC_LOCAL_INVALIDATE;
	rx->want_tx = true;
	viw_fault(qp, RDMAP_FAULT_INVALIDATE, &offender, 0);
}

void
viw_rx_finish(struct viw_qp *qp)
{
	struct viw_rx *rx = &qp->rx;
	const struct ddp_segment *seg = &rx->seg;
	enum rdmap_opcode opcode = rdmap_opcode_of(seg->rdmap_control);
	uint32_t length = seg->mo + seg->payload_len;
	uint32_t written = rx->in.ended == RDMAP_WRITE ? rx->in.ended_len : 0;

	assert(vsw_role_is_taken(&qp->rx.role));
	/* With the first frame this end may send, and the connection is established. */
	if (atomic_load_explicit(&qp->tx.await_frame, memory_order_relaxed)) {
		atomic_store(&qp->tx.await_frame, false);
		qp->rx.want_tx = true;
	}
	if (!atomic_load_explicit(&qp->stream.up, memory_order_relaxed)) {
		viw_stream_up(qp);
		qp->rx.want_tx = true;
	}
	if (!rdmap_inbound_advance(&rx->in, seg))
		return;
	if (rdmap_is_send(opcode)) {
		send_deliver(qp, length);
	} else if (rdmap_is_immediate(opcode)) {
		/* Immediate Data: the completion says how long the Write was that came right before it [WIRE 5.10.3]. */
		uint32_t imm;

		memcpy(&imm, qp->rx.seg.payload, sizeof(imm));
		viw_rq_complete_immediate(qp, imm, written);
	} else if (opcode == RDMAP_READ_RESPONSE) {
		viw_read_finish(qp);
	} else if (opcode == RDMAP_ATOMIC_RESPONSE) {
		viw_atomic_finish(qp);
	} else if (opcode == RDMAP_READ_REQUEST || opcode == RDMAP_ATOMIC_REQUEST) {
		viw_read_queue(&qp->reads, seg->payload - DDP_UNTAGGED_SIZE);
		rx->want_tx = true;
	} else if (opcode == RDMAP_TERMINATE) {
		rx->want_tx = true;
		viw_terminate_in(qp, seg->payload, rx->control_len);
	}
}
