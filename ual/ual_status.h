/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Conversion of the codes of RNIC-PI and the kAL to those of IT-API. No other file converts them.
 */
#ifndef UAL_STATUS_H
#define UAL_STATUS_H

#include "it_api.h"
#include "rnicpi_types.h"

/* The call: the same status has different codes in different calls. */
enum ual_call {
	UAL_CALL_OTHER = 0,
	UAL_CALL_IA_CREATE,
	UAL_CALL_PZ_FREE,
	UAL_CALL_EVD_CREATE, /* also a change of size */
	UAL_CALL_EVD_FREE,
	UAL_CALL_SRQ_CREATE,
	UAL_CALL_SRQ_MODIFY,
	UAL_CALL_EP_CREATE,
	UAL_CALL_EP_MODIFY,
	UAL_CALL_EP_RESET,
	UAL_CALL_EP_FREE,
	UAL_CALL_LISTEN,
	UAL_CALL_CONNECT,
	UAL_CALL_ACCEPT,
	UAL_CALL_CONFIRM, /* accept or reject of an arrival */
	UAL_CALL_REJECT,
	UAL_CALL_HANDOFF,
	UAL_CALL_CONVERT,
	UAL_CALL_DISCONNECT,
	UAL_CALL_LMR_CREATE,
	UAL_CALL_LMR_DMABUF,
	UAL_CALL_LMR_MODIFY,
	UAL_CALL_LMR_FREE,
	UAL_CALL_AH, /* create or modify */
	UAL_CALL_UD_REPLY,
	UAL_CALL_MEM_MAP,
	UAL_CALL_MEM_UNMAP,
	UAL_CALL_POST_SEND,
	UAL_CALL_POST_RECV,
	UAL_CALL_COUNT
};

/* The status of an IT-API call whose kAL call returned @status. */
it_status_t ual_status(enum ual_call call, enum ri_status status);

/* Of the two functions below, which every poll calls. */
extern const uint8_t ual_status_wc_table[RI_WC_STATUS_COUNT];
extern const uint8_t ual_status_event_table[RI_OP_COUNT];

/* The status inside a completion event. @status as in ri_wc, whatever it holds. */
static inline it_dto_status_t
ual_status_of_wc(uint32_t status)
{
	return status < RI_WC_STATUS_COUNT ? (it_dto_status_t)ual_status_wc_table[status]
					   : IT_DTO_ERR_LOCAL_EP;
}

/* The event number of a completion. @opcode as in ri_wc; IT_DTO_EVENT_STREAM if it has none. */
static inline it_event_type_t
ual_status_wc_event(uint32_t opcode)
{
	return opcode < RI_OP_COUNT ? (it_event_type_t)ual_status_event_table[opcode]
				    : IT_DTO_EVENT_STREAM;
}

/*
 * The asynchronous event for an enum ri_event; 0: none, because a completion or the end of the connection reports it, or
 * because it is dropped. @detail as in ri_async_event: the kind of Terminate that arrived.
 */
it_event_type_t ual_status_of_event(uint32_t event, uint32_t detail);

/* The reason inside a non-peer reject, of an enum kal_cm_reason. */
it_conn_reject_code_t ual_status_of_reason(uint32_t reason);

#endif /* UAL_STATUS_H */
