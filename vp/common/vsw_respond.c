/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The responder where it does not do what a message asks, and for messages in pieces. */
#include "vsw_respond.h"

#include <stdio.h>

#include "vsw_guard.h"
#include "vsw_why.h"

/* --- refusals ----------------------------------------------------------------------------- */

/* The three results that a guessed key can have share one code: see enum vsw_mem_result. */
static const struct vsw_refusal read_refused[] = {
	[VSW_MEM_STAG] = {RI_EVENT_QP_IRRQ_STAG, 0x0100, RI_WC_REMOTE_ACCESS, NULL},
	[VSW_MEM_PD] = {RI_EVENT_QP_IRRQ_PD, 0x0100, RI_WC_REMOTE_ACCESS, NULL},
	[VSW_MEM_CLOSED] = {RI_EVENT_QP_IRRQ_ACCESS, 0x0100, RI_WC_REMOTE_ACCESS, NULL},
	[VSW_MEM_ACCESS] = {RI_EVENT_QP_IRRQ_ACCESS, 0x0102, RI_WC_REMOTE_ACCESS, NULL},
	[VSW_MEM_WRAP] = {RI_EVENT_QP_IRRQ_WRAP, 0x0104, RI_WC_REMOTE_ACCESS, NULL},
	[VSW_MEM_BOUNDS] = {RI_EVENT_QP_IRRQ_BOUNDS, 0x0101, RI_WC_REMOTE_ACCESS, NULL},
};
static const struct vsw_refusal write_refused[] = {
	[VSW_MEM_STAG] = {RI_EVENT_QP_STAG, 0x1100, RI_WC_REMOTE_ACCESS, NULL},
	[VSW_MEM_PD] = {RI_EVENT_QP_PD, 0x1100, RI_WC_REMOTE_ACCESS, NULL},
	[VSW_MEM_CLOSED] = {RI_EVENT_QP_ACCESS, 0x1100, RI_WC_REMOTE_ACCESS, NULL},
	[VSW_MEM_ACCESS] = {RI_EVENT_QP_ACCESS, 0x1102, RI_WC_REMOTE_ACCESS, NULL},
	[VSW_MEM_WRAP] = {RI_EVENT_QP_WRAP, 0x1103, RI_WC_REMOTE_ACCESS, NULL},
	[VSW_MEM_BOUNDS] = {RI_EVENT_QP_BOUNDS, 0x1101, RI_WC_REMOTE_ACCESS, NULL},
};
static const struct vsw_refusal read_disabled = {RI_EVENT_QP_READ_DISABLED, 0x1201,
						 RI_WC_REMOTE_ACCESS, NULL};
static const struct vsw_refusal write_disabled = {RI_EVENT_QP_WRITE_DISABLED, 0x1201,
						  RI_WC_REMOTE_ACCESS, NULL};
static const struct vsw_refusal owner_gone = {RI_EVENT_QP_CATASTROPHIC, 0x0207,
					      RI_WC_REMOTE_OPERATION,
					      "the process that owns the memory has ended"};
static const struct vsw_refusal receive_short = {RI_EVENT_NONE, 0x1205, RI_WC_REMOTE_INVALID_REQ,
						 "a Send of the peer is longer than its receive"};
static const struct vsw_refusal sink_refused = {RI_EVENT_NONE, 0x0000, RI_WC_REMOTE_OPERATION,
						vsw_why_sink};
static const struct vsw_refusal too_many_receives = {
	RI_EVENT_QP_RQ_HARD_LIMIT, 0x0207, RI_WC_REMOTE_OPERATION,
	"more receives are taken than the hard watermark allows"};
static const struct vsw_refusal srq_failed = {RI_EVENT_QP_SRQ_ERROR, 0x0207, RI_WC_REMOTE_OPERATION,
					      "the shared receive queue has failed"};
static const struct vsw_refusal not_invalidated = {
	RI_EVENT_NONE, 0x0109, RI_WC_REMOTE_INVALID_REQ,
	"a Send of the peer may not invalidate the key that it names"};
static const struct vsw_refusal word_lost = {
	RI_EVENT_QP_CATASTROPHIC, 0x0207, RI_WC_REMOTE_OPERATION,
	"the word of an atomic operation of the peer lies in a page that is lost"};
static const struct vsw_refusal misaligned = {
	RI_EVENT_QP_OPCODE, 0x0207, RI_WC_REMOTE_INVALID_REQ,
	"an atomic operation of the peer names an address that is not a multiple of 8"};

const char vsw_why_sink[] = "the receive cannot be written";
const struct vsw_refusal vsw_no_receive = {
	RI_EVENT_QP_RQ_MSN_RANGE, 0x1202, RI_WC_RNR,
	"a Send of the peer found no receive in time: post receives before the peer sends"};
const struct vsw_refusal vsw_octets_lost = {RI_EVENT_NONE, 0x0000, RI_WC_LOCAL_PROTECTION,
					    "a page of the message is lost at its sender"};
const struct vsw_refusal vsw_too_many_reads = {
	RI_EVENT_QP_IRRQ_OVERFLOW, 0x1203, RI_WC_REMOTE_INVALID_REQ,
	"the peer sends Reads or atomics, and this endpoint takes none (rdma_read_ird is 0)"};

/* --- one-sided ---------------------------------------------------------------------------- */

__attribute__((cold)) const struct vsw_refusal *
vsw_respond_refuse(uint32_t access, enum vsw_mem_result result)
{
	if (result == VSW_MEM_OK)
		return access == RI_ACCESS_REMOTE_WRITE ? &write_disabled : &read_disabled;
	return access == RI_ACCESS_REMOTE_WRITE ? &write_refused[result] : &read_refused[result];
}

__attribute__((cold)) const struct vsw_refusal *
vsw_respond_lost(const struct vsw_spans *octets)
{
	return vsw_spans_have(octets, vsw_guard_take()) ? &vsw_octets_lost : &owner_gone;
}

/* The order of the checks is that of a Read. */
const struct vsw_refusal *
vsw_respond_word(const struct vsw_responder *in, const struct vsw_message *message,
		 struct vsw_mem_use *word)
{
	const struct vsw_mem_access wanted = {.addr = message->remote->addr,
					      .length = sizeof(uint64_t),
					      .stag = message->remote->stag,
					      .access = RI_ACCESS_REMOTE_ATOMIC};
	enum vsw_mem_result result = VSW_MEM_STAG; /* of the key 0 */

	if (atomic_load(&in->ird) == 0)
		return &vsw_too_many_reads;
	if ((atomic_load_explicit(&in->access, memory_order_relaxed) & RI_ACCESS_REMOTE_ATOMIC) ==
	    0)
		return &read_disabled;
	if (wanted.stag != 0 && wanted.addr % sizeof(uint64_t) != 0)
		return &misaligned;
	if (wanted.stag != 0)
		result = vsw_mem_begin(in->mem, &in->who, &wanted, word);
	return result == VSW_MEM_OK ? NULL : &read_refused[result];
}

const struct vsw_refusal *
vsw_respond_atomic(const struct vsw_message *message, bool swap, const struct vsw_mem_use *word,
		   uint64_t *old)
{
	enum vsw_atomic_result result = vsw_atomic(word, swap, message->remote, old);

	if (result == VSW_ATOMIC_DONE)
		return NULL;
	return result == VSW_ATOMIC_LOST ? &word_lost : &misaligned;
}

/* --- two-sided ---------------------------------------------------------------------------- */

__attribute__((cold)) const struct vsw_refusal *
vsw_respond_not_taken(enum vsw_srq_result why)
{
	if (why == VSW_SRQ_HARD_LIMIT)
		return &too_many_receives;
	return why == VSW_SRQ_FAILED ? &srq_failed : &vsw_no_receive;
}

__attribute__((cold)) const struct vsw_refusal *
vsw_respond_place_refused(bool is_short, struct vsw_cqe *cqe)
{
	cqe->status = is_short ? RI_WC_LOCAL_LENGTH : RI_WC_LOCAL_PROTECTION;
	return is_short ? &receive_short : &sink_refused;
}

/* The copy has failed: a page is lost at one side or the other, or a process has ended. Ends the access to the sink. */
__attribute__((cold)) const struct vsw_refusal *
vsw_respond_place_failed(const struct vsw_piece *piece, struct vsw_spans *sink, struct vsw_cqe *cqe)
{
	const void *lost = vsw_guard_take();
	bool mine = vsw_spans_have(sink, lost);

	vsw_spans_end(sink);
	if (vsw_spans_have(piece->octets, lost)) {
		cqe->status = RI_WC_FLUSHED;
		return &vsw_octets_lost;
	}
	cqe->status = mine ? RI_WC_LOCAL_PROTECTION : RI_WC_LOCAL_QP;
	return mine ? &sink_refused : &owner_gone;
}

/* What a message brings besides its octets: immediate data, or a key to invalidate. */
const struct vsw_refusal *
vsw_respond_extra(struct vsw_responder *in, const struct vsw_message *message,
		  const struct vsw_piece *piece, struct vsw_cqe *cqe)
{
	if ((message->flags & RI_WR_IMMEDIATE) != 0) {
		cqe->flags |= RI_WC_IMMEDIATE;
		cqe->inv_stag = message->extra;
		return NULL;
	}
	bool may = (atomic_load(&in->access) & VSW_MEM_INVALIDATES) != 0;
	enum vsw_mem_result result = VSW_MEM_CLOSED;
	char why[VSW_WHY_ROOM], line[VSW_WHY_ROOM + 80];

	/* An invalidation waits for all uses, and the octets may lie in the region of that key. */
	vsw_spans_end(piece->octets);
	if (may)
		result = vsw_mem_invalidate(in->mem, &in->who, message->extra, true);
	if (result != VSW_MEM_OK) {
		vsw_why_invalidate(in->mem, message->extra, result, why, sizeof(why));
		(void)snprintf(
			line, sizeof(line), "a Send of the peer may not invalidate: %s",
			may ? why
			    : "this endpoint allows its peer neither RDMA Reads nor RDMA Writes");
		in->ops->say(in, line);
		cqe->status = RI_WC_LOCAL_INVALIDATE;
		return &not_invalidated;
	}
	cqe->flags |= RI_WC_INVALIDATED;
	cqe->inv_stag = message->extra;
	return NULL;
}

/*
 * Find the receive for `length` octets of a message that comes in pieces, or on an unreliable
 * connection: the receive that was taken and not completed, else the next one. An unreliable
 * message never waits. If a receive is too short for it, the receive is kept for the next message.
 */
static enum vsw_srq_result
receive_find(struct vsw_responder *in, uint32_t length, struct vsw_cqe *cqe)
{
	if (!atomic_load(&in->have)) {
		enum vsw_srq_result result = vsw_receive_take(in, cqe);

		if (result != VSW_SRQ_TAKEN) {
			if (!in->unreliable)
				return result;
			vsw_srq_leave(&in->member);
			if (in->member.srq != NULL)
				vsw_srq_pass_on(&in->member);
			return result;
		}
		in->number = cqe->wq;
		in->index = cqe->wq_index;
		in->shared = cqe->shared;
		atomic_store(&in->have, true);
	}
	cqe->wq = in->number;
	cqe->wq_index = in->index;
	cqe->shared = in->shared;
	cqe->wr_id = in->wqe->wr_id;
	return in->unreliable && in->wqe->length < length ? VSW_SRQ_EMPTY : VSW_SRQ_TAKEN;
}

/* Complete the receive found, unless more of its message comes or it is as good as before. */
static const struct vsw_refusal *
receive_end(struct vsw_responder *in, const struct vsw_message *message,
	    const struct vsw_piece *piece, const struct vsw_refusal *refusal, struct vsw_cqe *cqe)
{
	if (refusal == NULL && !piece->last)
		return NULL;
	if (refusal != NULL && in->unreliable) {
		if (cqe->status == RI_WC_FLUSHED)
			return refusal;
		in->ops->failed(in);
	}
	atomic_store(&in->have, false);
	return vsw_respond_complete(in, message, piece, refusal, cqe);
}

const struct vsw_refusal *
vsw_respond_parts(struct vsw_responder *in, const struct vsw_message *message,
		  const struct vsw_piece *piece)
{
	struct vsw_cqe cqe = {
		.qp_ctx = in->ctx,
		.byte_len = message->length,
		.opcode = RI_OP_RECV,
		.flags = RI_WC_RECEIVE,
	};
	/* An unreliable message that does not fit is dropped as a whole. */
	enum vsw_srq_result found = receive_find(
		in, in->unreliable ? message->length : piece->at + piece->length, &cqe);

	if (found != VSW_SRQ_TAKEN)
		return in->unreliable ? &vsw_no_receive : vsw_respond_not_taken(found);
	return receive_end(in, message, piece, vsw_respond_place(in, piece, &cqe), &cqe);
}

const struct vsw_refusal *
vsw_respond_write_immediate(struct vsw_responder *in, const struct vsw_message *message,
			    const struct vsw_piece *piece)
{
	struct vsw_cqe cqe = {
		.qp_ctx = in->ctx,
		.byte_len = message->length,
		.opcode = RI_OP_RECV_WRITE,
		.flags = RI_WC_RECEIVE,
	};
	struct vsw_spans target;
	const struct vsw_refusal *refusal = vsw_respond_begin(in, message, piece->at, piece->length,
							      RI_ACCESS_REMOTE_WRITE, &target);

	if (refusal != NULL)
		return refusal;

	enum vsw_srq_result found = receive_find(in, 0, &cqe);

	if (found != VSW_SRQ_TAKEN) {
		vsw_spans_end(&target);
		return in->unreliable ? &vsw_no_receive : vsw_respond_not_taken(found);
	}
	if (!vsw_spans_copy(&target, 0, piece->octets)) {
		cqe.status = RI_WC_FLUSHED; /* the receive was not used */
		refusal = vsw_respond_lost(piece->octets);
	}
	vsw_spans_end(&target);
	return receive_end(in, message, piece, refusal, &cqe);
}
