/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The life of one connection as the kAL sees it, for both forms of connection management. One
 * table; kal_conn_step is the only writer of a state.
 */
#ifndef KAL_CM_STATES_H
#define KAL_CM_STATES_H

#include "kal_call.h"

enum kal_conn_state {
	KAL_CONN_NONE = 0,   /* not a state */
	KAL_CONN_IDLE,       /* nothing under way */
	KAL_CONN_CONNECTING, /* TCP, or the provider, connects */
	KAL_CONN_WAITING,    /* MPA Request sent, Reply awaited */
	KAL_CONN_REPLIED,    /* three-way: accepted by the peer, confirm awaited */
	KAL_CONN_ACCEPTING,  /* accepted by our consumer, on its way to the peer */
	KAL_CONN_STARTING,   /* the provider has the stream; not established yet */
	KAL_CONN_UP,         /* established */
	KAL_CONN_CLOSING,    /* our consumer disconnected */
	KAL_CONN_ABORTING, /* our consumer ended it before it was established; the provider still has it */
	KAL_CONN_OWN,   /* brought up by our consumer itself (KAL_PEER): its events are not ours */
	KAL_CONN_ENDED, /* ended; the queue pair is in ERROR or soon will be */
	KAL_CONN_STATE_COUNT
};

enum kal_conn_event {
	KAL_CONN_CALL_CONNECT = 0,
	KAL_CONN_CALL_ACCEPT,
	KAL_CONN_CALL_CONFIRM,
	KAL_CONN_CALL_PEER,
	KAL_CONN_CALL_DISCONNECT, /* and an end will be raised by the provider */
	KAL_CONN_CALL_DROP,       /* disconnect before the provider has the stream */
	KAL_CONN_TCP_UP,          /* the TCP connection is established, the MPA Request goes out */
	KAL_CONN_RETRY,           /* once more, with revision 1 */
	KAL_CONN_REPLY,           /* three-way: the provider's REPLY */
	KAL_CONN_ATTACH,          /* the stream goes to the provider */
	KAL_CONN_STANDS,          /* STREAM_UP, or the provider's ESTABLISHED */
	KAL_CONN_REFUSED,         /* by the peer's consumer */
	KAL_CONN_FAILED,          /* by anything else */
	KAL_CONN_END_CLOSE,       /* orderly */
	KAL_CONN_END_BROKEN,      /* any other end */
	KAL_CONN_UNDONE,          /* the provider refused the call */
	KAL_CONN_RESET,           /* the queue pair is IDLE again */
	KAL_CONN_EVENT_COUNT
};

/*
 * Make a move. RI_ERR_INVALID_STATE if the table has none; then nothing has changed. *report: the event for the
 * client.
 */
enum ri_status kal_conn_step(enum kal_conn_state *state, enum kal_conn_event conn_event,
			     enum kal_cm_kind *report) RI_MUST_CHECK;
const char *kal_conn_state_name(enum kal_conn_state state);

#endif /* KAL_CM_STATES_H */
