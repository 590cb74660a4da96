/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * From a cause to the end of a stream.
 *
 * Each cause that ends a stream calls one of the functions here. It makes one move of the state table and
 * records the end event and the Terminate to send. The first cause wins: for a later one the table has no
 * move. Nothing is sent or completed here. The owner of tx.role sends the Terminate and the FIN (viw_tx.c);
 * the service thread closes the stream, flushes the queues and raises the event (viw_stream.c).
 *
 * Threads: those that own one of the roles, and modify. Standards: RFC 5040 section 7, RFC 5041 section 7,
 * RFC 5044 section 8; the codes are [WIRE 5.9], the events [RI 8].
 */
#include "viw_qp.h"

#include <errno.h>
#include <string.h>

static const uint8_t fault_events[RDMAP_FAULT_COUNT] = {
	[RDMAP_FAULT_LOCAL] = RI_EVENT_QP_WR_ERROR,
	[RDMAP_FAULT_READ_STAG] = RI_EVENT_QP_IRRQ_STAG,
	[RDMAP_FAULT_READ_BOUNDS] = RI_EVENT_QP_IRRQ_BOUNDS,
	[RDMAP_FAULT_READ_ACCESS] = RI_EVENT_QP_IRRQ_ACCESS,
	[RDMAP_FAULT_READ_STREAM] = RI_EVENT_QP_IRRQ_PD,
	[RDMAP_FAULT_READ_CLOSED] = RI_EVENT_QP_IRRQ_ACCESS,
	[RDMAP_FAULT_READ_WRAP] = RI_EVENT_QP_IRRQ_WRAP,
	[RDMAP_FAULT_INVALIDATE] = RI_EVENT_QP_WR_ERROR,
	[RDMAP_FAULT_RDMAP_VERSION] = RI_EVENT_QP_RDMAP_VERSION,
	[RDMAP_FAULT_OPCODE] = RI_EVENT_QP_OPCODE,
	[RDMAP_FAULT_INTERLEAVED] = RI_EVENT_QP_OPCODE,
	[RDMAP_FAULT_RESPONSE_UNEXPECTED] = RI_EVENT_QP_OPCODE,
	[RDMAP_FAULT_NOT_LAST] = RI_EVENT_QP_NO_L_BIT,
	[RDMAP_FAULT_MESSAGE_SIZE] = RI_EVENT_QP_LLP_SEGMENT_SIZE,
	[RDMAP_FAULT_ATOMIC] = RI_EVENT_QP_OPCODE,
	[RDMAP_FAULT_PEER_CLOSED] = RI_EVENT_QP_BAD_LLP_CLOSE,
	[RDMAP_FAULT_STREAM_CATASTROPHIC] = RI_EVENT_QP_CATASTROPHIC,
	[RDMAP_FAULT_MEMORY] = RI_EVENT_QP_CATASTROPHIC,
	[RDMAP_FAULT_GLOBAL_CATASTROPHIC] = RI_EVENT_QP_CATASTROPHIC,
	[RDMAP_FAULT_HEADER_SIZE] = RI_EVENT_QP_LLP_SEGMENT_SIZE,
	[RDMAP_FAULT_TAGGED_STAG] = RI_EVENT_QP_STAG,
	[RDMAP_FAULT_TAGGED_BOUNDS] = RI_EVENT_QP_BOUNDS,
	[RDMAP_FAULT_TAGGED_ACCESS] = RI_EVENT_QP_ACCESS,
	[RDMAP_FAULT_TAGGED_STREAM] = RI_EVENT_QP_PD,
	[RDMAP_FAULT_TAGGED_CLOSED] = RI_EVENT_QP_ACCESS,
	[RDMAP_FAULT_TAGGED_WRAP] = RI_EVENT_QP_WRAP,
	[RDMAP_FAULT_DDP_VERSION_TAGGED] = RI_EVENT_QP_DDP_VERSION,
	[RDMAP_FAULT_QN] = RI_EVENT_QP_QN,
	[RDMAP_FAULT_READS_DISABLED] = RI_EVENT_QP_READ_DISABLED,
	[RDMAP_FAULT_NO_BUFFER] = RI_EVENT_QP_RQ_MSN_RANGE,
	[RDMAP_FAULT_MSN] = RI_EVENT_QP_RQ_MSN_GAP,
	[RDMAP_FAULT_IRD] = RI_EVENT_QP_IRRQ_OVERFLOW,
	[RDMAP_FAULT_MO] = RI_EVENT_QP_RQ_MO,
	[RDMAP_FAULT_TOO_LONG] = RI_EVENT_QP_WR_ERROR,
	[RDMAP_FAULT_DDP_VERSION_UNTAGGED] = RI_EVENT_QP_DDP_VERSION,
	[RDMAP_FAULT_CRC] = RI_EVENT_QP_LLP_CRC,
	[RDMAP_FAULT_MARKER] = RI_EVENT_QP_LLP_FPDU,
	[RDMAP_FAULT_STARTUP_IRD] = RI_EVENT_QP_CATASTROPHIC,
	[RDMAP_FAULT_STARTUP_RTR] = RI_EVENT_QP_CATASTROPHIC,
};

enum rdmap_fault
viw_fault_tagged(enum vsw_mem_result result)
{
	static const uint8_t faults[] = {
		[VSW_MEM_OK] = RDMAP_FAULT_NONE,
		[VSW_MEM_STAG] = RDMAP_FAULT_TAGGED_STAG,
		[VSW_MEM_PD] = RDMAP_FAULT_TAGGED_STREAM,
		[VSW_MEM_CLOSED] = RDMAP_FAULT_TAGGED_CLOSED,
		[VSW_MEM_ACCESS] = RDMAP_FAULT_TAGGED_ACCESS,
		[VSW_MEM_WRAP] = RDMAP_FAULT_TAGGED_WRAP,
		[VSW_MEM_BOUNDS] = RDMAP_FAULT_TAGGED_BOUNDS,
		[VSW_MEM_BOUND] = RDMAP_FAULT_TAGGED_ACCESS,
		[VSW_MEM_LOST] = RDMAP_FAULT_MEMORY,
	};

	return (enum rdmap_fault)faults[result];
}

enum rdmap_fault
viw_fault_read(enum vsw_mem_result result)
{
	static const uint8_t faults[] = {
		[VSW_MEM_OK] = RDMAP_FAULT_NONE,
		[VSW_MEM_STAG] = RDMAP_FAULT_READ_STAG,
		[VSW_MEM_PD] = RDMAP_FAULT_READ_STREAM,
		[VSW_MEM_CLOSED] = RDMAP_FAULT_READ_CLOSED,
		[VSW_MEM_ACCESS] = RDMAP_FAULT_READ_ACCESS,
		[VSW_MEM_WRAP] = RDMAP_FAULT_READ_WRAP,
		[VSW_MEM_BOUNDS] = RDMAP_FAULT_READ_BOUNDS,
		[VSW_MEM_BOUND] = RDMAP_FAULT_READ_ACCESS,
		[VSW_MEM_LOST] = RDMAP_FAULT_MEMORY,
	};

	return (enum rdmap_fault)faults[result];
}

/* May this move be made? False: another cause came first. True: the caller owns the lock. */
static bool
end_claim(struct viw_qp *qp, enum viw_qp_move move)
{
	vsw_lock(&qp->lock);
	if (viw_qp_next(viw_qp_state(qp), move) != RI_QPS_NONE) {
		qp->end.last = atomic_load(&qp->tx.sq.page->head);
		if (qp->end.event == 0)
			qp->end.move = (uint8_t)move;
		return true;
	}
	vsw_unlock(&qp->lock);
	return false;
}

void
viw_end_timer_start(struct viw_qp *qp)
{
	const struct ri_host *host = qp->rnic->host;

	host->timer_start(host->self, &qp->timer, atomic_load(&qp->stream.deadline));
}

/*
 * Make the move that the caller has claimed, after it has filled viw_qp::end: a thread that sees the new state may
 * read `end` without the lock. From here on a timer bounds how long the end may take.
 */
static void
end_commit(struct viw_qp *qp, enum viw_qp_move move)
{
	const struct ri_host *host = qp->rnic->host;

	atomic_store(&qp->stream.deadline, host->now(host->self) + VIW_LINGER);
	(void)viw_qp_step(&qp->state, move);
	vsw_unlock(&qp->lock);
	if (viw_qp_state(qp) != RI_QPS_ERROR)
		viw_end_timer_start(qp);
	viw_serve_soon(qp); /* the caller need not run the sending role */
}

/* Keep a copy of a Terminate, for the query verb: the octets behind its DDP header. */
static void
terminate_keep_copy(struct viw_end *end, const uint8_t *payload, size_t len, bool sent)
{
	if (len > sizeof(end->terminate))
		len = sizeof(end->terminate);
	if (len > 0)
		memcpy(end->terminate, payload, len);
	end->terminate_len = (uint8_t)len;
	end->terminate_sent = sent;
}

/* Keep the frame of a Terminate to send, and its copy. */
static void
terminate_queue(struct viw_end *end, uint32_t size)
{
	uint32_t ulpdu_len = wire_load_be16(end->fpdu);

	end->fpdu_len = (uint8_t)size;
	terminate_keep_copy(end, end->fpdu + MPA_LENGTH_SIZE + DDP_UNTAGGED_SIZE,
			    ulpdu_len - DDP_UNTAGGED_SIZE, true);
}

void
viw_fault(struct viw_qp *qp, enum rdmap_fault fault, const struct rdmap_offender *offender,
	  uint32_t event)
{
	struct viw_end *end = &qp->end;

	if (!end_claim(qp, VIW_MOVE_FAULT))
		return;
	end->event = event != 0 ? event : fault_events[fault];
	end->detail = rdmap_fault_code(fault);
	end->fault = (uint8_t)fault;
	terminate_queue(end, rdmap_terminate_fpdu(end->fpdu, fault, offender, qp->stream.crc));
	end_commit(qp, VIW_MOVE_FAULT);
}

void
viw_terminate_in(struct viw_qp *qp, const uint8_t *payload, uint32_t len)
{
	struct rdmap_terminate t;

	if (!end_claim(qp, VIW_MOVE_TERMINATE_IN))
		return;
	memset(&t, 0, sizeof(t));
	if (len > 0)
		(void)rdmap_terminate_read(payload, len, &t); /* all zero if it is too short */
	qp->end.event = RI_EVENT_QP_TERMINATE_RECEIVED;
	qp->end.detail = t.code;
	terminate_keep_copy(&qp->end, payload, len, false);
	end_commit(qp, VIW_MOVE_TERMINATE_IN);
}

void
viw_peer_fin(struct viw_qp *qp)
{
	if (!end_claim(qp, VIW_MOVE_PEER_FIN))
		return;
	qp->end.event = RI_EVENT_QP_LLP_CLOSE_COMPLETE;
	qp->end.orderly = true;
	end_commit(qp, VIW_MOVE_PEER_FIN);
}

void
viw_stream_lost(struct viw_qp *qp, int error)
{
	bool reset = error == ECONNRESET || error == EPIPE;

	if (!end_claim(qp, VIW_MOVE_LOST))
		return;
	qp->end.event = reset ? RI_EVENT_QP_LLP_RESET : RI_EVENT_QP_LLP_LOST;
	qp->end.detail = (uint32_t)error;
	end_commit(qp, VIW_MOVE_LOST);
}

enum ri_status
viw_end_by_caller(struct viw_qp *qp, enum viw_qp_move move, uint32_t event, uint16_t code)
{
	struct viw_end *end = &qp->end;

	if (!end_claim(qp, move))
		return RI_ERR_INVALID_STATE;
	if (end->event == 0) {
		end->event = event;
		end->orderly = move == VIW_MOVE_TO_CLOSING;
	}
	if (move == VIW_MOVE_TO_TERMINATE)
		terminate_queue(end, rdmap_terminate_code_fpdu(end->fpdu, code, qp->stream.crc));
	end_commit(qp, move); /* the service thread does the rest: a control verb makes no upcall */
	return RI_SUCCESS;
}
