/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * RDMA Read, both directions.
 *
 * Inbound (IRRQ): rx checks a Read Request and queues it. tx answers the oldest one, frame by frame, and
 * frees its place when the last octet is built. The source is checked on arrival, so that a bad request is
 * answered without delay, and again for every frame, since rights may be revoked.
 *
 * Outbound (ORRQ): tx records each Read that leaves; rx matches responses with the oldest. A Read is complete
 * when rx has counted past its number; then tx pushes the completion, in order.
 *
 * The sink of a Read is one segment, since a Read Request names one (RFC 5040 4.4). If one posted Read became
 * several Requests, it would take several places of the peer's IRD, while the application counts one; and a
 * Read that fails half-way would have changed memory in a way that its one completion cannot describe.
 *
 * Each ring has one writer, one reader and two indices. Standards: RFC 5040 sections 4.4, 5.2 and 5.3; RFC
 * 5041 section 5; [WIRE 5.3] and [WIRE 6].
 */
#include "viw_atomic.h"
#include "viw_copy.h"
#include "viw_qp.h"
#include "viw_tx_build.h"
#include "viw_tx_direct.h"
#include "viw_why.h"

#include <stdlib.h>
#include <string.h>

enum ri_status
viw_reads_alloc(struct viw_reads *reads, uint32_t ird, uint32_t ord)
{
	uint32_t irrq_room = vsw_ring_size(ird);
	uint32_t orrq_room = vsw_ring_size(ord);
	struct viw_inbound_read *irrq = calloc(irrq_room, sizeof(*irrq));
	struct viw_outbound_read *orrq = calloc(orrq_room, sizeof(*orrq));

	if (irrq == NULL || orrq == NULL) {
		free(irrq);
		free(orrq);
		return RI_ERR_RESOURCES;
	}
	viw_reads_free(reads);
	reads->irrq = irrq;
	reads->irrq_room = irrq_room;
	reads->orrq = orrq;
	reads->orrq_room = orrq_room;
	viw_reads_reset(reads);
	return RI_SUCCESS;
}

/* The caller owns both roles, so the rings are not in use; outstanding requests keep their indices. */
enum ri_status
viw_reads_grow(struct viw_reads *reads, uint32_t ird, uint32_t ord)
{
	uint32_t irrq_room = vsw_ring_size(ird > reads->irrq_room ? ird : reads->irrq_room);
	uint32_t orrq_room = vsw_ring_size(ord > reads->orrq_room ? ord : reads->orrq_room);
	uint32_t irrq_put = atomic_load(&reads->irrq_put);
	uint32_t orrq_put = atomic_load(&reads->orrq_put);

	if (irrq_room == reads->irrq_room && orrq_room == reads->orrq_room)
		return RI_SUCCESS;
	struct viw_inbound_read *irrq = calloc(irrq_room, sizeof(*irrq));
	struct viw_outbound_read *orrq = calloc(orrq_room, sizeof(*orrq));
	if (irrq == NULL || orrq == NULL) {
		free(irrq);
		free(orrq);
		return RI_ERR_RESOURCES;
	}
	for (uint32_t i = atomic_load(&reads->irrq_got); i != irrq_put; i++)
		irrq[i & (irrq_room - 1)] = reads->irrq[i & (reads->irrq_room - 1)];
	for (uint32_t i = atomic_load(&reads->orrq_got); i != orrq_put; i++)
		orrq[i & (orrq_room - 1)] = reads->orrq[i & (reads->orrq_room - 1)];
	viw_reads_free(reads);
	reads->irrq = irrq;
	reads->irrq_room = irrq_room;
	reads->orrq = orrq;
	reads->orrq_room = orrq_room;
	return RI_SUCCESS;
}

void
viw_reads_reset(struct viw_reads *reads)
{
	atomic_store(&reads->irrq_put, 0);
	atomic_store(&reads->irrq_got, 0);
	atomic_store(&reads->orrq_put, 0);
	atomic_store(&reads->orrq_got, 0);
	reads->answered = 0;
}

void
viw_reads_free(struct viw_reads *reads)
{
	free(reads->irrq);
	free(reads->orrq);
	reads->irrq = NULL;
	reads->orrq = NULL;
}

uint32_t
viw_read_places(struct viw_reads *reads)
{
	uint32_t taken = atomic_load(&reads->irrq_put) - atomic_load(&reads->irrq_got);

	return taken < reads->ird ? reads->ird - taken : 0;
}

/* `begin`: of the header, the RDMAP control octet at least. */
static bool
request_is_atomic(const uint8_t *begin)
{
	return rdmap_opcode_of(begin[1]) == RDMAP_ATOMIC_REQUEST;
}

/* Octets of the message of a request. */
static uint32_t
message_size(const uint8_t *begin)
{
	return request_is_atomic(begin) ? RDMAP_ATOMIC_REQUEST_SIZE : RDMAP_READ_REQUEST_SIZE;
}

/* --- responder ----------------------------------------------------------------------------- */

void
viw_read_queue(struct viw_reads *reads, const uint8_t *ulpdu)
{
	uint32_t put = atomic_load_explicit(&reads->irrq_put, memory_order_relaxed);

	struct viw_inbound_read *r = &reads->irrq[put & (reads->irrq_room - 1)];

	memcpy(r->begin, ulpdu, sizeof(r->begin));
	memcpy(r->msn, ulpdu + VIW_READ_MSN_AT, sizeof(r->msn));
	memcpy(r->message, ulpdu + DDP_UNTAGGED_SIZE, message_size(ulpdu));
	atomic_store(&reads->irrq_put, put + 1);
}

/* The request cannot be executed: the Terminate repeats it, reduced to the part that is not answered. */
static void
response_fault(struct viw_qp *qp, const struct viw_inbound_read *r, enum rdmap_fault fault)
{
	uint8_t ulpdu[DDP_UNTAGGED_SIZE + RDMAP_ATOMIC_REQUEST_SIZE];

	/* The request as it arrived. */
	memset(ulpdu, 0, DDP_UNTAGGED_SIZE); /* MO, and all but the last octet of QN */
	memcpy(ulpdu, r->begin, sizeof(r->begin));
	ulpdu[VIW_READ_MSN_AT - 1] = DDP_QN_READ_REQUEST;
	memcpy(ulpdu + VIW_READ_MSN_AT, r->msn, sizeof(r->msn));
	memcpy(ulpdu + DDP_UNTAGGED_SIZE, r->message, sizeof(r->message));
	uint32_t size = DDP_UNTAGGED_SIZE + message_size(r->begin);
	struct rdmap_offender offender = {.ulpdu = ulpdu, .have = size, .ulpdu_len = size};

	if (!request_is_atomic(ulpdu))
		rdmap_read_request_advance(ulpdu + DDP_UNTAGGED_SIZE, qp->reads.answered);
	viw_fault(qp, fault, &offender, 0);
}

/* n of the `left` octets of the answer are built. */
static void
response_advance(struct viw_qp *qp, uint32_t n, uint32_t left)
{
	struct viw_tx *tx = &qp->tx;
	uint32_t got = atomic_load_explicit(&qp->reads.irrq_got, memory_order_relaxed);

	qp->reads.answered += n;
	tx->job = VIW_JOB_RESPONSE;
	if (n == left) {
		qp->reads.answered = 0;
		tx->job = VIW_JOB_NONE;
		tx->response_last = true;
		atomic_store(&qp->reads.irrq_got, got + 1);
	}
}

/* Build or send the next part of the answer to a Read. */
static bool
read_response_build(struct viw_qp *qp, const struct viw_inbound_read *r)
{
	struct viw_tx *tx = &qp->tx;
	uint32_t most = viw_tx_ulpdu(qp) - DDP_TAGGED_SIZE;
	uint32_t answered = qp->reads.answered;
	struct rdmap_read_request m;
	struct vsw_mem_use use;
	enum vsw_mem_result result;

	(void)rdmap_read_request_read(r->message, RDMAP_READ_REQUEST_SIZE, &m);
	struct viw_direct d = {.left = m.size - answered,
			       .wanted = {.stag = m.source_stag,
					  .access = RI_ACCESS_REMOTE_READ,
					  .addr = m.source_to + answered,
					  .length = m.size - answered}};
	uint32_t n = d.left < most ? d.left : most;
	d.seg = rdmap_tagged(RDMAP_READ_RESPONSE, m.sink_stag, m.sink_to + answered, n == d.left);
	if (viw_tx_is_direct(qp, &d)) {
		if (tx->len > 0)
			return false; /* what is in the buffer goes first */
		tx->direct = true;
		result = viw_tx_direct(qp, &d, &n);
	} else {
		if (tx->len + viw_frame_size(true, n) > VIW_BUF_SIZE)
			return false;
		d.wanted.length = n;
		result = vsw_mem_begin(qp->rnic->mem, &qp->who, &d.wanted, &use);
		if (result == VSW_MEM_OK) {
			d.seg.payload = use.ptr;
			d.seg.payload_len = n;
			uint32_t size = 0;
			if (!viw_fpdu_put(tx->buf + tx->len, &d.seg, qp->stream.crc, &size))
				result = VSW_MEM_LOST;
			vsw_mem_end(&use);
			tx->len += size;
			viw_qp_built(qp, size, 1);
		}
	}
	if (result != VSW_MEM_OK) {
		viw_why_answer(qp, &d.wanted);
		response_fault(qp, r, viw_fault_read(result));
		return false;
	}
	if (tx->direct && n == 0)
		return false; /* the socket is full */
	response_advance(qp, n, d.left);
	return true;
}

bool
viw_response_build(struct viw_qp *qp)
{
	uint32_t got = atomic_load_explicit(&qp->reads.irrq_got, memory_order_relaxed);
	const struct viw_inbound_read *r = &qp->reads.irrq[got & (qp->reads.irrq_room - 1)];
	struct rdmap_atomic_request m;
	enum rdmap_fault fault;
	bool built;

	if (!request_is_atomic(r->begin))
		return read_response_build(qp, r);
	/* It was read once when it arrived, so it can be read. */
	(void)rdmap_atomic_request_read(r->message, RDMAP_ATOMIC_REQUEST_SIZE, &m);
	built = viw_atomic_respond(qp, &m, &fault);
	if (built) {
		response_advance(qp, 0, 0);
	} else if (fault != RDMAP_FAULT_NONE) {
		viw_why_answer(qp, &(struct vsw_mem_access){.stag = m.stag,
							    .addr = m.to,
							    .length = sizeof(uint64_t),
							    .access = RI_ACCESS_REMOTE_ATOMIC});
		response_fault(qp, r, fault);
	}
	return built;
}

/* --- requester ----------------------------------------------------------------------------- */

bool
viw_read_room(struct viw_reads *reads)
{
	return atomic_load_explicit(&reads->orrq_put, memory_order_relaxed) -
		       atomic_load(&reads->orrq_got) <
	       reads->ord;
}

uint32_t
viw_read_next(struct viw_reads *reads)
{
	return atomic_load_explicit(&reads->orrq_put, memory_order_relaxed) + 1;
}

uint32_t
viw_read_note(struct viw_reads *reads, const struct viw_outbound_read *read)
{
	uint32_t put = atomic_load_explicit(&reads->orrq_put, memory_order_relaxed);

	reads->orrq[put & (reads->orrq_room - 1)] = *read;
	atomic_store(&reads->orrq_put, put + 1);
	return put + 1;
}

const struct viw_outbound_read *
viw_read_oldest(struct viw_reads *reads, uint32_t *number)
{
	uint32_t got = atomic_load_explicit(&reads->orrq_got, memory_order_relaxed);

	*number = got + 1;
	return atomic_load(&reads->orrq_put) != got ? &reads->orrq[got & (reads->orrq_room - 1)]
						    : NULL;
}

bool
viw_read_done(const struct viw_reads *reads, uint32_t number)
{
	return (int32_t)(atomic_load(&reads->orrq_got) - number) >= 0;
}

bool
viw_reads_done(struct viw_reads *reads)
{
	return atomic_load(&reads->orrq_got) ==
	       atomic_load_explicit(&reads->orrq_put, memory_order_relaxed);
}

void
viw_read_await(struct viw_reads *reads, struct rdmap_inbound *in)
{
	uint32_t got = atomic_load_explicit(&reads->orrq_got, memory_order_relaxed);

	if (in->awaited != RDMAP_AWAITS_NOTHING || atomic_load(&reads->orrq_put) == got)
		return;
	const struct viw_outbound_read *r = &reads->orrq[got & (reads->orrq_room - 1)];
	in->awaited = r->atomic ? RDMAP_AWAITS_ATOMIC : RDMAP_AWAITS_READ;
	in->read_stag = r->stag;
	in->read_to = r->to;
	in->read_left = r->length;
}

void
viw_read_finish(struct viw_qp *qp)
{
	qp->rx.in.awaited = RDMAP_AWAITS_NOTHING;
	atomic_fetch_add(&qp->reads.orrq_got, 1);
	qp->rx.want_tx = true;
}
