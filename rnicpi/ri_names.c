/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Names of the values of the interface, as people read them in logs and reports, and the two questions
 * that all layers ask of an event: does it end a connection, and was that end an orderly one.
 *
 * Tables indexed by value; a value outside its enumeration has the name "?". Any thread, no state.
 */

/* Providers that are shared objects call these: libitapi exports them (libitapi.map). */
#pragma GCC visibility push(default)
#include "rnicpi_types.h"
#pragma GCC visibility pop

#define NAME(value) [value] = #value

static const char *const status_names[RI_STATUS_COUNT] = {
	NAME(RI_SUCCESS),
	NAME(RI_ERR_INVALID_ARG),
	NAME(RI_ERR_INVALID_HANDLE),
	NAME(RI_ERR_INVALID_STATE),
	NAME(RI_ERR_RESOURCES),
	NAME(RI_ERR_LIMIT),
	NAME(RI_ERR_BUSY),
	NAME(RI_ERR_UNSUPPORTED),
	NAME(RI_ERR_QUEUE_FULL),
	NAME(RI_ERR_NOT_EMPTY),
	NAME(RI_ERR_ACCESS),
	NAME(RI_ERR_ADDRESS),
	NAME(RI_ERR_PERMISSION),
	NAME(RI_ERR_IN_USE),
	NAME(RI_ERR_NO_ROUTE),
	NAME(RI_ERR_STILL_FLUSHING),
	NAME(RI_ERR_TIME_WAIT),
	NAME(RI_ERR_TIMEOUT),
	NAME(RI_ERR_INTERRUPTED),
	NAME(RI_ERR_PROTOCOL),
	NAME(RI_ERR_NO_DEVICE),
	NAME(RI_ERR_VERSION),
	NAME(RI_ERR_PROVIDER),
	NAME(RI_ERR_FATAL),
};

static const char *const wc_status_names[RI_WC_STATUS_COUNT] = {
	NAME(RI_WC_SUCCESS),
	NAME(RI_WC_FLUSHED),
	NAME(RI_WC_LOCAL_LENGTH),
	NAME(RI_WC_LOCAL_QP),
	NAME(RI_WC_LOCAL_PROTECTION),
	NAME(RI_WC_LOCAL_INVALIDATE),
	NAME(RI_WC_MW_BIND),
	NAME(RI_WC_LOCAL_MM),
	NAME(RI_WC_BAD_RESPONSE),
	NAME(RI_WC_REMOTE_ACCESS),
	NAME(RI_WC_REMOTE_INVALID_REQ),
	NAME(RI_WC_REMOTE_OPERATION),
	NAME(RI_WC_TRANSPORT),
	NAME(RI_WC_RNR),
};

static const char *const opcode_names[RI_OP_COUNT] = {
	NAME(RI_OP_NONE),      NAME(RI_OP_SEND),       NAME(RI_OP_RDMA_WRITE),
	NAME(RI_OP_RDMA_READ), NAME(RI_OP_FETCH_ADD),  NAME(RI_OP_CMP_SWAP),
	NAME(RI_OP_BIND_MW),   NAME(RI_OP_FAST_REG),   NAME(RI_OP_LOCAL_INV),
	NAME(RI_OP_INV_MR),    NAME(RI_OP_SEND_UD),    NAME(RI_OP_RECV),
	NAME(RI_OP_RECV_UD),   NAME(RI_OP_RECV_WRITE),
};

static const char *const qp_state_names[RI_QPS_COUNT] = {
	NAME(RI_QPS_NONE),    NAME(RI_QPS_IDLE),      NAME(RI_QPS_CONNECTING), NAME(RI_QPS_RTS),
	NAME(RI_QPS_CLOSING), NAME(RI_QPS_TERMINATE), NAME(RI_QPS_ERROR),
};

static const char *const event_names[RI_EVENT_COUNT] = {
	NAME(RI_EVENT_NONE),
	NAME(RI_EVENT_QP_LLP_CLOSE_COMPLETE),
	NAME(RI_EVENT_QP_TERMINATE_RECEIVED),
	NAME(RI_EVENT_QP_LLP_RESET),
	NAME(RI_EVENT_QP_LLP_LOST),
	NAME(RI_EVENT_QP_BAD_CLOSE),
	NAME(RI_EVENT_QP_BAD_LLP_CLOSE),
	NAME(RI_EVENT_QP_LLP_SEGMENT_SIZE),
	NAME(RI_EVENT_QP_LLP_CRC),
	NAME(RI_EVENT_QP_LLP_FPDU),
	NAME(RI_EVENT_QP_DDP_VERSION),
	NAME(RI_EVENT_QP_RDMAP_VERSION),
	NAME(RI_EVENT_QP_OPCODE),
	NAME(RI_EVENT_QP_QN),
	NAME(RI_EVENT_QP_READ_DISABLED),
	NAME(RI_EVENT_QP_WRITE_DISABLED),
	NAME(RI_EVENT_QP_READ_MALFORMED),
	NAME(RI_EVENT_QP_NO_L_BIT),
	NAME(RI_EVENT_QP_STAG),
	NAME(RI_EVENT_QP_BOUNDS),
	NAME(RI_EVENT_QP_ACCESS),
	NAME(RI_EVENT_QP_PD),
	NAME(RI_EVENT_QP_WRAP),
	NAME(RI_EVENT_QP_RQ_MSN_RANGE),
	NAME(RI_EVENT_QP_RQ_MSN_GAP),
	NAME(RI_EVENT_QP_RQ_MO),
	NAME(RI_EVENT_QP_IRRQ_OVERFLOW),
	NAME(RI_EVENT_QP_IRRQ_MSN_GAP),
	NAME(RI_EVENT_QP_IRRQ_MSN_RANGE),
	NAME(RI_EVENT_QP_IRRQ_STAG),
	NAME(RI_EVENT_QP_IRRQ_BOUNDS),
	NAME(RI_EVENT_QP_IRRQ_ACCESS),
	NAME(RI_EVENT_QP_IRRQ_PD),
	NAME(RI_EVENT_QP_IRRQ_WRAP),
	NAME(RI_EVENT_QP_CQ_SQ_ERROR),
	NAME(RI_EVENT_QP_CQ_RQ_ERROR),
	NAME(RI_EVENT_QP_SRQ_ERROR),
	NAME(RI_EVENT_QP_RQ_HARD_LIMIT),
	NAME(RI_EVENT_QP_WR_ERROR),
	NAME(RI_EVENT_QP_CATASTROPHIC),
	NAME(RI_EVENT_QP_STREAM_UP),
	NAME(RI_EVENT_QP_RQ_LIMIT),
	NAME(RI_EVENT_QP_LAST_WQE),
	NAME(RI_EVENT_QP_COMM_EST),
	NAME(RI_EVENT_QP_SQ_DRAINED),
	NAME(RI_EVENT_QP_PATH_MIGRATED),
	NAME(RI_EVENT_QP_PATH_MIG_FAILED),
	NAME(RI_EVENT_CQ_OVERFLOW),
	NAME(RI_EVENT_CQ_OP_ERROR),
	NAME(RI_EVENT_SRQ_LIMIT),
	NAME(RI_EVENT_SRQ_CATASTROPHIC),
	NAME(RI_EVENT_DEVICE_CATASTROPHIC),
	NAME(RI_EVENT_PORT_ACTIVE),
	NAME(RI_EVENT_PORT_ERROR),
	NAME(RI_EVENT_PORT_CHANGE),
};

static const char *
name_of(const char *const *names, unsigned count, unsigned value)
{
	return value < count && names[value] != NULL ? names[value] : "?";
}

const char *
ri_status_name(enum ri_status status)
{
	return name_of(status_names, RI_STATUS_COUNT, (unsigned)status);
}

const char *
ri_wc_status_name(enum ri_wc_status status)
{
	return name_of(wc_status_names, RI_WC_STATUS_COUNT, (unsigned)status);
}

const char *
ri_opcode_name(enum ri_opcode opcode)
{
	return name_of(opcode_names, RI_OP_COUNT, (unsigned)opcode);
}

const char *
ri_qp_state_name(enum ri_qp_state state)
{
	return name_of(qp_state_names, RI_QPS_COUNT, (unsigned)state);
}

const char *
ri_event_name(enum ri_event event)
{
	return name_of(event_names, RI_EVENT_COUNT, (unsigned)event);
}

bool
ri_event_is_close(enum ri_event event)
{
	return event == RI_EVENT_QP_LLP_CLOSE_COMPLETE;
}

/* The enumeration lists the ends first, in one run. */
bool
ri_event_is_end(enum ri_event event)
{
	return event >= RI_EVENT_QP_LLP_CLOSE_COMPLETE && event <= RI_EVENT_QP_CATASTROPHIC;
}
