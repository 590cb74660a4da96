/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The states of an endpoint [IT 4] and [IT 5]: one table, one function that writes.
 *
 * The application sees the seven states of it_ep_state_rc_t. ENDING is the part of NONOPERATIONAL in which the
 * application has ended the connection and the event of the end is still to come. The last two states are those of
 * endpoints for datagrams. An endpoint never changes between the two kinds.
 */
#ifndef UAL_EP_STATES_H
#define UAL_EP_STATES_H

#include <stdatomic.h>
#include <stdbool.h>

#include "it_api.h"

/* In this order: from CONNECTED to NONOPERATIONAL requests of connected endpoints may be posted. */
enum ual_ep_state {
	UAL_EPS_NONE = 0, /* not created yet */
	UAL_EPS_UNCONNECTED,
	UAL_EPS_ACTIVE1,
	UAL_EPS_ACTIVE2,
	UAL_EPS_PASSIVE,
	UAL_EPS_WAIT_RDMA, /* PASSIVE_WAIT_RDMA_TRANS_REQ */
	UAL_EPS_CONNECTED,
	UAL_EPS_ENDING,
	UAL_EPS_NONOPERATIONAL,
	UAL_EPS_UD_OPERATIONAL,
	UAL_EPS_UD_NONOPERATIONAL,
	UAL_EPS_COUNT
};

/* What moves an endpoint: first the calls of the application, then the events of the transport. */
enum ual_ep_event {
	UAL_EPE_CREATE = 0,
	UAL_EPE_CREATE_UD,
	UAL_EPE_CONNECT,
	UAL_EPE_ACCEPT,       /* passive: answers a request */
	UAL_EPE_CONFIRM,      /* active, three-way: accepts the arrival */
	UAL_EPE_REFUSE,       /* active, three-way: rejects the arrival */
	UAL_EPE_CONVERT_ASK,  /* socket conversion, we send the MPA Request */
	UAL_EPE_CONVERT_WAIT, /* socket conversion, the peer sends it */
	UAL_EPE_UNDO,         /* the layer below refused the call that moved us */
	UAL_EPE_DISCONNECT,
	UAL_EPE_RESET,
	UAL_EPE_REPLY, /* three-way: the peer accepted */
	UAL_EPE_ESTABLISHED,
	UAL_EPE_REJECTED, /* the peer's consumer said no */
	UAL_EPE_FAILED,   /* anything else before it stood */
	UAL_EPE_DISCONNECTED,
	UAL_EPE_BROKEN, /* of datagrams: it failed inside */
	UAL_EPE_COUNT
};

/* Which event of the connect SEVD a move owes to the application. */
enum ual_ep_notice {
	UAL_EPN_NONE = 0,
	UAL_EPN_ARRIVAL,
	UAL_EPN_ESTABLISHED,
	UAL_EPN_PEER_REJECT,
	UAL_EPN_NONPEER_REJECT,
	UAL_EPN_DISCONNECT,
	UAL_EPN_BROKEN,
	UAL_EPN_COUNT
};

/*
 * Make the move; *notice: the event that it owes (may be NULL). Returns IT_SUCCESS, IT_ERR_INVALID_EP_STATE or
 * IT_ERR_CANNOT_RESET; if not IT_SUCCESS, nothing has changed. Any thread.
 */
it_status_t ual_ep_step(atomic_uint *state, enum ual_ep_event event, enum ual_ep_notice *notice);

/* What ual_ep_step would return now. */
it_status_t ual_ep_may(const atomic_uint *state, enum ual_ep_event event);

/* The state that the application sees. */
it_ep_state_rc_t ual_ep_state_rc(enum ual_ep_state state);

/* The state of an endpoint for datagrams; the numbers are the standard's. */
it_ep_state_ud_t ual_ep_state_ud(enum ual_ep_state state);

/* The event number of IT-API for it. */
it_event_type_t ual_ep_notice_number(enum ual_ep_notice notice);

/* Name of a state, for logs and drawings; never NULL. */
const char *ual_ep_state_name(enum ual_ep_state state);
/* Name of an event that moves an endpoint; never NULL. */
const char *ual_ep_event_name(enum ual_ep_event event);

#endif /* UAL_EP_STATES_H */
