/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The state machine of endpoints, [IT 4.1] (calls), [IT 4.2] (events of the transport) and [IT 5] (datagrams) as one table.
 *
 * A cell without a next state is a refusal: IT_ERR_INVALID_EP_STATE unless the cell names another
 * status. Events of the transport are never refused, since no caller could get the refusal: an event that comes
 * too late leaves the state as it is and owes no event. Three rulings shape the table:
 *
 * - one answer per attempt and one end per connection. So an attempt or connection that the
 *   application ends goes to ENDING and stays there until the transport reports the end, by whatever event;
 *   that owes a DISCONNECT. An endpoint in ENDING cannot be reset, so a late end can never be taken for the end of
 *   the next attempt.
 * - ENDING shows as NONOPERATIONAL.
 * - an orderly end is DISCONNECT whatever was queued; that is decided below us, by what is
 *   reported as DISCONNECTED and what as BROKEN.
 *
 * The state is one atomic word because the fast path reads it. It changes by compare-and-swap, so each move is one
 * cell of the table, also if several threads move the endpoint at once.
 */

#include "ual_ep_states.h"

#include "ual_trace.h"

#include <stddef.h>
#include <stdint.h>

struct move {
	uint8_t next;    /* enum ual_ep_state; NONE: refused */
	uint8_t notice;  /* enum ual_ep_notice */
	uint8_t refusal; /* it_status_t, 0 for the usual one */
};

/* clang-format off */
#define GO(state)          { UAL_EPS_##state, UAL_EPN_NONE, 0 }
#define TELL(state, about) { UAL_EPS_##state, UAL_EPN_##about, 0 }
#define REFUSE(status)     { UAL_EPS_NONE, UAL_EPN_NONE, status }

static const struct move moves[UAL_EPS_COUNT][UAL_EPE_COUNT] = {
	[UAL_EPS_NONE] = {
		[UAL_EPE_CREATE]       = GO(UNCONNECTED),
		[UAL_EPE_CREATE_UD]    = GO(UD_OPERATIONAL),
	},
	[UAL_EPS_UNCONNECTED] = {
		[UAL_EPE_CONNECT]      = GO(ACTIVE1),
		[UAL_EPE_ACCEPT]       = GO(PASSIVE),
		[UAL_EPE_CONVERT_ASK]  = GO(ACTIVE1),
		[UAL_EPE_CONVERT_WAIT] = GO(WAIT_RDMA),
		[UAL_EPE_RESET]        = GO(UNCONNECTED),
		[UAL_EPE_REPLY]        = GO(UNCONNECTED),
		[UAL_EPE_ESTABLISHED]  = GO(UNCONNECTED),
		[UAL_EPE_REJECTED]     = GO(UNCONNECTED),
		[UAL_EPE_FAILED]       = GO(UNCONNECTED),
		[UAL_EPE_DISCONNECTED] = GO(UNCONNECTED),
		[UAL_EPE_BROKEN]       = GO(UNCONNECTED),
	},
	[UAL_EPS_ACTIVE1] = {
		[UAL_EPE_UNDO]         = GO(UNCONNECTED),
		[UAL_EPE_DISCONNECT]   = GO(ENDING),
		[UAL_EPE_REPLY]        = TELL(ACTIVE2, ARRIVAL),
		[UAL_EPE_ESTABLISHED]  = TELL(CONNECTED, ESTABLISHED),
		[UAL_EPE_REJECTED]     = TELL(NONOPERATIONAL, PEER_REJECT),
		[UAL_EPE_FAILED]       = TELL(NONOPERATIONAL, NONPEER_REJECT),
		[UAL_EPE_DISCONNECTED] = TELL(NONOPERATIONAL, NONPEER_REJECT),
		[UAL_EPE_BROKEN]       = TELL(NONOPERATIONAL, NONPEER_REJECT),
	},
	[UAL_EPS_ACTIVE2] = {
		[UAL_EPE_CONFIRM]      = TELL(CONNECTED, ESTABLISHED),
		[UAL_EPE_REFUSE]       = GO(NONOPERATIONAL),
		[UAL_EPE_DISCONNECT]   = GO(ENDING),
		[UAL_EPE_REPLY]        = GO(ACTIVE2),
		[UAL_EPE_ESTABLISHED]  = TELL(CONNECTED, ESTABLISHED),
		[UAL_EPE_REJECTED]     = TELL(NONOPERATIONAL, NONPEER_REJECT),
		[UAL_EPE_FAILED]       = TELL(NONOPERATIONAL, NONPEER_REJECT),
		[UAL_EPE_DISCONNECTED] = TELL(NONOPERATIONAL, NONPEER_REJECT),
		[UAL_EPE_BROKEN]       = TELL(NONOPERATIONAL, NONPEER_REJECT),
	},
	[UAL_EPS_PASSIVE] = {
		[UAL_EPE_UNDO]         = GO(UNCONNECTED),
		[UAL_EPE_DISCONNECT]   = GO(ENDING),
		[UAL_EPE_REPLY]        = GO(PASSIVE),
		[UAL_EPE_ESTABLISHED]  = TELL(CONNECTED, ESTABLISHED),
		[UAL_EPE_REJECTED]     = TELL(NONOPERATIONAL, PEER_REJECT),
		[UAL_EPE_FAILED]       = TELL(NONOPERATIONAL, NONPEER_REJECT),
		[UAL_EPE_DISCONNECTED] = TELL(NONOPERATIONAL, NONPEER_REJECT),
		[UAL_EPE_BROKEN]       = TELL(NONOPERATIONAL, NONPEER_REJECT),
	},
	[UAL_EPS_WAIT_RDMA] = {
		[UAL_EPE_UNDO]         = GO(UNCONNECTED),
		[UAL_EPE_DISCONNECT]   = GO(ENDING),
		[UAL_EPE_REPLY]        = GO(WAIT_RDMA),
		[UAL_EPE_ESTABLISHED]  = TELL(CONNECTED, ESTABLISHED),
		[UAL_EPE_REJECTED]     = TELL(NONOPERATIONAL, NONPEER_REJECT),
		[UAL_EPE_FAILED]       = TELL(NONOPERATIONAL, NONPEER_REJECT),
		[UAL_EPE_DISCONNECTED] = TELL(NONOPERATIONAL, NONPEER_REJECT),
		[UAL_EPE_BROKEN]       = TELL(NONOPERATIONAL, NONPEER_REJECT),
	},
	[UAL_EPS_CONNECTED] = {
		[UAL_EPE_CONFIRM]      = GO(CONNECTED), /* ESTABLISHED came first */
		[UAL_EPE_DISCONNECT]   = GO(ENDING),
		[UAL_EPE_REPLY]        = GO(CONNECTED),
		[UAL_EPE_ESTABLISHED]  = GO(CONNECTED), /* CONFIRM came first */
		[UAL_EPE_REJECTED]     = TELL(NONOPERATIONAL, BROKEN),
		[UAL_EPE_FAILED]       = TELL(NONOPERATIONAL, BROKEN),
		[UAL_EPE_DISCONNECTED] = TELL(NONOPERATIONAL, DISCONNECT),
		[UAL_EPE_BROKEN]       = TELL(NONOPERATIONAL, BROKEN),
	},
	[UAL_EPS_ENDING] = {
		[UAL_EPE_DISCONNECT]   = GO(ENDING),
		[UAL_EPE_RESET]        = REFUSE(IT_ERR_CANNOT_RESET),
		[UAL_EPE_REPLY]        = GO(ENDING),
		[UAL_EPE_ESTABLISHED]  = GO(ENDING),
		[UAL_EPE_REJECTED]     = TELL(NONOPERATIONAL, DISCONNECT),
		[UAL_EPE_FAILED]       = TELL(NONOPERATIONAL, DISCONNECT),
		[UAL_EPE_DISCONNECTED] = TELL(NONOPERATIONAL, DISCONNECT),
		[UAL_EPE_BROKEN]       = TELL(NONOPERATIONAL, DISCONNECT),
	},
	[UAL_EPS_NONOPERATIONAL] = {
		[UAL_EPE_DISCONNECT]   = GO(NONOPERATIONAL),
		[UAL_EPE_RESET]        = GO(UNCONNECTED),
		[UAL_EPE_REPLY]        = GO(NONOPERATIONAL),
		[UAL_EPE_ESTABLISHED]  = GO(NONOPERATIONAL),
		[UAL_EPE_REJECTED]     = GO(NONOPERATIONAL),
		[UAL_EPE_FAILED]       = GO(NONOPERATIONAL),
		[UAL_EPE_DISCONNECTED] = GO(NONOPERATIONAL),
		[UAL_EPE_BROKEN]       = GO(NONOPERATIONAL),
	},
	[UAL_EPS_UD_OPERATIONAL] = {
		[UAL_EPE_CONNECT]      = REFUSE(IT_ERR_INVALID_EP_TYPE),
		[UAL_EPE_ACCEPT]       = REFUSE(IT_ERR_INVALID_EP_TYPE),
		[UAL_EPE_CONFIRM]      = REFUSE(IT_ERR_INVALID_EP_TYPE),
		[UAL_EPE_REFUSE]       = REFUSE(IT_ERR_INVALID_EP_TYPE),
		[UAL_EPE_CONVERT_ASK]  = REFUSE(IT_ERR_INVALID_EP_TYPE),
		[UAL_EPE_CONVERT_WAIT] = REFUSE(IT_ERR_INVALID_EP_TYPE),
		[UAL_EPE_DISCONNECT]   = REFUSE(IT_ERR_INVALID_EP_TYPE),
		[UAL_EPE_RESET]        = GO(UD_OPERATIONAL),
		[UAL_EPE_REPLY]        = GO(UD_OPERATIONAL),
		[UAL_EPE_ESTABLISHED]  = GO(UD_OPERATIONAL),
		[UAL_EPE_REJECTED]     = GO(UD_OPERATIONAL),
		[UAL_EPE_FAILED]       = GO(UD_OPERATIONAL),
		[UAL_EPE_DISCONNECTED] = GO(UD_OPERATIONAL),
		[UAL_EPE_BROKEN]       = GO(UD_NONOPERATIONAL),
	},
	[UAL_EPS_UD_NONOPERATIONAL] = {
		[UAL_EPE_CONNECT]      = REFUSE(IT_ERR_INVALID_EP_TYPE),
		[UAL_EPE_ACCEPT]       = REFUSE(IT_ERR_INVALID_EP_TYPE),
		[UAL_EPE_CONFIRM]      = REFUSE(IT_ERR_INVALID_EP_TYPE),
		[UAL_EPE_REFUSE]       = REFUSE(IT_ERR_INVALID_EP_TYPE),
		[UAL_EPE_CONVERT_ASK]  = REFUSE(IT_ERR_INVALID_EP_TYPE),
		[UAL_EPE_CONVERT_WAIT] = REFUSE(IT_ERR_INVALID_EP_TYPE),
		[UAL_EPE_DISCONNECT]   = REFUSE(IT_ERR_INVALID_EP_TYPE),
		[UAL_EPE_RESET]        = GO(UD_OPERATIONAL),
		[UAL_EPE_REPLY]        = GO(UD_NONOPERATIONAL),
		[UAL_EPE_ESTABLISHED]  = GO(UD_NONOPERATIONAL),
		[UAL_EPE_REJECTED]     = GO(UD_NONOPERATIONAL),
		[UAL_EPE_FAILED]       = GO(UD_NONOPERATIONAL),
		[UAL_EPE_DISCONNECTED] = GO(UD_NONOPERATIONAL),
		[UAL_EPE_BROKEN]       = GO(UD_NONOPERATIONAL),
	},
};
/* clang-format on */

static it_status_t
move_answer(const struct move *move)
{
	if (move->next != UAL_EPS_NONE)
		return IT_SUCCESS;
	return move->refusal != 0 ? (it_status_t)move->refusal : IT_ERR_INVALID_EP_STATE;
}

it_status_t
ual_ep_step(atomic_uint *state, enum ual_ep_event event, enum ual_ep_notice *notice)
{
	unsigned int now = atomic_load(state);
	const struct move *move;

	do {
		move = &moves[now][event];
		if (move->next == UAL_EPS_NONE)
			return move_answer(move);
	} while (!atomic_compare_exchange_weak(state, &now, move->next));
	ual_trace(state, ual_ep_event_name(event),
		  ual_ep_state_name((enum ual_ep_state)move->next));
	if (notice != NULL)
		*notice = (enum ual_ep_notice)move->notice;
	return IT_SUCCESS;
}

it_status_t
ual_ep_may(const atomic_uint *state, enum ual_ep_event event)
{
	return move_answer(&moves[atomic_load(state)][event]);
}

it_ep_state_rc_t
ual_ep_state_rc(enum ual_ep_state state)
{
	static const it_ep_state_rc_t shown[UAL_EPS_COUNT] = {
		[UAL_EPS_NONE] = IT_EP_STATE_UNCONNECTED,
		[UAL_EPS_UNCONNECTED] = IT_EP_STATE_UNCONNECTED,
		[UAL_EPS_ACTIVE1] = IT_EP_STATE_ACTIVE1_CONNECTION_PENDING,
		[UAL_EPS_ACTIVE2] = IT_EP_STATE_ACTIVE2_CONNECTION_PENDING,
		[UAL_EPS_PASSIVE] = IT_EP_STATE_PASSIVE_CONNECTION_PENDING,
		[UAL_EPS_WAIT_RDMA] = IT_EP_STATE_PASSIVE_WAIT_RDMA_TRANS_REQ,
		[UAL_EPS_CONNECTED] = IT_EP_STATE_CONNECTED,
		[UAL_EPS_ENDING] = IT_EP_STATE_NONOPERATIONAL,
		[UAL_EPS_NONOPERATIONAL] = IT_EP_STATE_NONOPERATIONAL,
	};

	return state < UAL_EPS_COUNT ? shown[state] : IT_EP_STATE_NONOPERATIONAL;
}

it_ep_state_ud_t
ual_ep_state_ud(enum ual_ep_state state)
{
	return state == UAL_EPS_UD_OPERATIONAL ? IT_EP_STATE_UD_OPERATIONAL
					       : IT_EP_STATE_UD_NONOPERATIONAL;
}

it_event_type_t
ual_ep_notice_number(enum ual_ep_notice notice)
{
	static const it_event_type_t numbers[UAL_EPN_COUNT] = {
		[UAL_EPN_NONE] = IT_CM_MSG_EVENT_STREAM,
		[UAL_EPN_ARRIVAL] = IT_CM_MSG_CONN_ACCEPT_ARRIVAL_EVENT,
		[UAL_EPN_ESTABLISHED] = IT_CM_MSG_CONN_ESTABLISHED_EVENT,
		[UAL_EPN_PEER_REJECT] = IT_CM_MSG_CONN_PEER_REJECT_EVENT,
		[UAL_EPN_NONPEER_REJECT] = IT_CM_MSG_CONN_NONPEER_REJECT_EVENT,
		[UAL_EPN_DISCONNECT] = IT_CM_MSG_CONN_DISCONNECT_EVENT,
		[UAL_EPN_BROKEN] = IT_CM_MSG_CONN_BROKEN_EVENT,
	};

	return notice < UAL_EPN_COUNT ? numbers[notice] : IT_CM_MSG_EVENT_STREAM;
}

const char *
ual_ep_state_name(enum ual_ep_state state)
{
	static const char *const names[UAL_EPS_COUNT] = {
		"NONE",           "UNCONNECTED",    "ACTIVE1",           "ACTIVE2",
		"PASSIVE",        "WAIT_RDMA",      "CONNECTED",         "ENDING",
		"NONOPERATIONAL", "UD_OPERATIONAL", "UD_NONOPERATIONAL",
	};

	return state < UAL_EPS_COUNT ? names[state] : "?";
}

const char *
ual_ep_event_name(enum ual_ep_event event)
{
	static const char *const names[UAL_EPE_COUNT] = {
		"CREATE",      "CREATE_UD",    "CONNECT", "ACCEPT",       "CONFIRM", "REFUSE",
		"CONVERT_ASK", "CONVERT_WAIT", "UNDO",    "DISCONNECT",   "RESET",   "REPLY",
		"ESTABLISHED", "REJECTED",     "FAILED",  "DISCONNECTED", "BROKEN",
	};

	return event < UAL_EPE_COUNT ? names[event] : "?";
}
