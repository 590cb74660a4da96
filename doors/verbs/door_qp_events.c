/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Asynchronous events of queue pairs, and the effect of rdma_cm's connections on their states.
 *
 * Neither a disconnect nor a reset by the peer raises an event of verbs. A program that connects by
 * rdma_cm gets an event there; one that connects by itself finds errors in its completions.
 */
#include "door_qp.h"

static const enum ibv_event_type types[DOOR_QP_EVENTS] = {
	[DOOR_QP_FATAL] = IBV_EVENT_QP_FATAL,
	[DOOR_QP_REQUEST] = IBV_EVENT_QP_REQ_ERR,
	[DOOR_QP_ACCESS] = IBV_EVENT_QP_ACCESS_ERR,
	[DOOR_QP_ESTABLISHED] = IBV_EVENT_COMM_EST,
	[DOOR_QP_DRAINED] = IBV_EVENT_SQ_DRAINED,
	[DOOR_QP_MIGRATED] = IBV_EVENT_PATH_MIG,
	[DOOR_QP_MIGRATION_FAILED] = IBV_EVENT_PATH_MIG_ERR,
	[DOOR_QP_LAST_WQE] = IBV_EVENT_QP_LAST_WQE_REACHED,
};

#define SAYS(kind) ((kind) + 1)

/* What an event is called in verbs, by SAYS(); 0: nothing. */
static const uint8_t said[RI_EVENT_COUNT] = {
	[RI_EVENT_QP_TERMINATE_RECEIVED] = SAYS(DOOR_QP_REQUEST),
	[RI_EVENT_QP_LLP_LOST] = SAYS(DOOR_QP_FATAL),
	[RI_EVENT_QP_BAD_CLOSE] = SAYS(DOOR_QP_FATAL),
	[RI_EVENT_QP_BAD_LLP_CLOSE] = SAYS(DOOR_QP_FATAL),
	[RI_EVENT_QP_LLP_SEGMENT_SIZE] = SAYS(DOOR_QP_FATAL),
	[RI_EVENT_QP_LLP_CRC] = SAYS(DOOR_QP_FATAL),
	[RI_EVENT_QP_LLP_FPDU] = SAYS(DOOR_QP_FATAL),
	[RI_EVENT_QP_DDP_VERSION] = SAYS(DOOR_QP_FATAL),
	[RI_EVENT_QP_RDMAP_VERSION] = SAYS(DOOR_QP_FATAL),
	[RI_EVENT_QP_OPCODE] = SAYS(DOOR_QP_REQUEST),
	[RI_EVENT_QP_QN] = SAYS(DOOR_QP_REQUEST),
	[RI_EVENT_QP_READ_DISABLED] = SAYS(DOOR_QP_ACCESS),
	[RI_EVENT_QP_WRITE_DISABLED] = SAYS(DOOR_QP_ACCESS),
	[RI_EVENT_QP_READ_MALFORMED] = SAYS(DOOR_QP_REQUEST),
	[RI_EVENT_QP_NO_L_BIT] = SAYS(DOOR_QP_REQUEST),
	[RI_EVENT_QP_STAG] = SAYS(DOOR_QP_ACCESS),
	[RI_EVENT_QP_BOUNDS] = SAYS(DOOR_QP_ACCESS),
	[RI_EVENT_QP_ACCESS] = SAYS(DOOR_QP_ACCESS),
	[RI_EVENT_QP_PD] = SAYS(DOOR_QP_ACCESS),
	[RI_EVENT_QP_WRAP] = SAYS(DOOR_QP_ACCESS),
	[RI_EVENT_QP_RQ_MSN_RANGE] = SAYS(DOOR_QP_REQUEST),
	[RI_EVENT_QP_RQ_MSN_GAP] = SAYS(DOOR_QP_REQUEST),
	[RI_EVENT_QP_RQ_MO] = SAYS(DOOR_QP_REQUEST),
	[RI_EVENT_QP_IRRQ_OVERFLOW] = SAYS(DOOR_QP_REQUEST),
	[RI_EVENT_QP_IRRQ_MSN_GAP] = SAYS(DOOR_QP_REQUEST),
	[RI_EVENT_QP_IRRQ_MSN_RANGE] = SAYS(DOOR_QP_REQUEST),
	[RI_EVENT_QP_IRRQ_STAG] = SAYS(DOOR_QP_ACCESS),
	[RI_EVENT_QP_IRRQ_BOUNDS] = SAYS(DOOR_QP_ACCESS),
	[RI_EVENT_QP_IRRQ_ACCESS] = SAYS(DOOR_QP_ACCESS),
	[RI_EVENT_QP_IRRQ_PD] = SAYS(DOOR_QP_ACCESS),
	[RI_EVENT_QP_IRRQ_WRAP] = SAYS(DOOR_QP_ACCESS),
	[RI_EVENT_QP_CQ_SQ_ERROR] = SAYS(DOOR_QP_FATAL),
	[RI_EVENT_QP_CQ_RQ_ERROR] = SAYS(DOOR_QP_FATAL),
	[RI_EVENT_QP_SRQ_ERROR] = SAYS(DOOR_QP_FATAL),
	[RI_EVENT_QP_RQ_HARD_LIMIT] = SAYS(DOOR_QP_FATAL),
	[RI_EVENT_QP_CATASTROPHIC] = SAYS(DOOR_QP_FATAL),
	[RI_EVENT_QP_LAST_WQE] = SAYS(DOOR_QP_LAST_WQE),
	[RI_EVENT_QP_COMM_EST] = SAYS(DOOR_QP_ESTABLISHED),
	[RI_EVENT_QP_SQ_DRAINED] = SAYS(DOOR_QP_DRAINED),
	[RI_EVENT_QP_PATH_MIGRATED] = SAYS(DOOR_QP_MIGRATED),
	[RI_EVENT_QP_PATH_MIG_FAILED] = SAYS(DOOR_QP_MIGRATION_FAILED),
};

void
door_qp_events_init(struct door_qp *qp)
{
	for (unsigned i = 0; i < DOOR_QP_EVENTS; i++)
		qp->asyncs[i] = (struct door_async){
			.type = types[i], .element = &qp->qp, .taken = &qp->async_taken};
}

void
door_qp_raised(struct door_qp *qp, enum ri_event event)
{
	/* In verbs the queue that overflowed has an event of its own, which comes first. */
	if (event == RI_EVENT_QP_CQ_SQ_ERROR)
		door_cq_failed(qp->send_cq);
	else if (event == RI_EVENT_QP_CQ_RQ_ERROR)
		door_cq_failed(qp->recv_cq);
	if ((unsigned)event < RI_EVENT_COUNT && said[event] != 0)
		door_async_raise(qp->context, &qp->asyncs[said[event] - 1]);
	if (ri_event_is_end(event))
		door_qp_ended(qp);
}

void
door_qp_connected(struct door_qp *qp)
{
	atomic_store(&qp->state, IBV_QPS_RTS);
}

/*
 * A queue pair's connection has ended. A program with a shared receive queue waits for
 * IBV_EVENT_QP_LAST_WQE_REACHED before it destroys a queue pair. RNIC-PI reports the end after all
 * completions, so that event can be raised here.
 */
void
door_qp_ended(struct door_qp *qp)
{
	if (atomic_load(&qp->state) != door_qp_first_state(qp->adapter))
		atomic_store(&qp->state, IBV_QPS_ERR);
	if (!qp->last_wqe_due)
		return;
	qp->last_wqe_due = false;
	door_async_raise(qp->context, &qp->asyncs[DOOR_QP_LAST_WQE]);
}
