/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* States of one exchange of CM messages, and what leads from one to another; vrc_states.c has the table. */
#ifndef VRC_STATES_H
#define VRC_STATES_H

enum vrc_state {
	VRC_STATE_NONE = 0,    /* not a state: an empty cell of the table */
	VRC_STATE_NEW,         /* created, nothing was sent or heard */
	VRC_STATE_REQ_SENT,    /* active: waits for the REP */
	VRC_STATE_REQ_HELD,    /* active: an MRA said that the REP takes longer */
	VRC_STATE_REP_RCVD,    /* active: the owner has to confirm */
	VRC_STATE_REQ_RCVD,    /* passive: the owner has to accept or to reject */
	VRC_STATE_REP_SENT,    /* passive: waits for the RTU */
	VRC_STATE_REP_HELD,    /* passive: an MRA said that the RTU takes longer */
	VRC_STATE_ESTABLISHED, /* both */
	VRC_STATE_DREQ_SENT,   /* both: waits for the DREP */
	VRC_STATE_TIMEWAIT,    /* both: ended, answers late copies */
	VRC_STATE_ANSWERED,    /* passive: rejected, or a query was answered; repeats the answer */
	VRC_STATE_SIDR_SENT,   /* the side that asks: waits for the SIDR_REP */
	VRC_STATE_SIDR_RCVD,   /* the side that is asked: the owner has to answer */
	VRC_STATE_OVER,        /* nothing is left but events that the owner did not take */
	VRC_STATE_COUNT
};

enum vrc_step {
	/* Messages of the peer; each was found by its ids, its transaction and its addresses. */
	VRC_STEP_REQ = 0, /* in any state but NEW: another copy */
	VRC_STEP_MRA,
	VRC_STEP_REJ,
	VRC_STEP_REP,
	VRC_STEP_RTU,
	VRC_STEP_DREQ,
	VRC_STEP_DREP,
	VRC_STEP_SIDR_REQ,
	VRC_STEP_SIDR_REP,
	VRC_STEP_DATA, /* the queue pair got a packet: the peer has the REP */
	VRC_STEP_STALE, /* the peer's queue pair asks for another connection: it knows nothing of this one */
	/* Time. */
	VRC_STEP_AGAIN,   /* no answer came, and copies are left */
	VRC_STEP_SILENCE, /* no answer came to the last copy; or the state has lasted long enough */
	VRC_STEP_DEADLINE, /* the owner's */
	/* Calls of the owner. */
	VRC_STEP_CALL_CONNECT,
	VRC_STEP_CALL_ACCEPT,
	VRC_STEP_CALL_REJECT,
	VRC_STEP_CALL_CONFIRM,
	VRC_STEP_CALL_REFUSE, /* instead of confirm */
	VRC_STEP_CALL_DISCONNECT,
	VRC_STEP_CALL_ABANDON, /* the owner wants no more events of it */
	VRC_STEP_CALL_RESOLVE,
	VRC_STEP_CALL_ANSWER,
	VRC_STEP_COUNT
};

/* What is done about a step, after the state has changed; vrc_actions.c. */
enum vrc_action {
	VRC_DO_NOTHING = 0,
	VRC_DO_SEND, /* send the message that the call has composed, and again until it is answered */
	VRC_DO_SEND_ONCE, /* send it, keep it for those who ask again */
	VRC_DO_REPEAT,    /* send the last message again */
	VRC_DO_ASK,       /* raise RI_CM_REQUEST or RI_CM_SERVICE_REQUEST */
	VRC_DO_WAIT_ON,   /* a copy of a query: wait anew for silence */
	VRC_DO_HOLD,      /* wait as long as the MRA says */
	VRC_DO_SEND_MRA,  /* a copy of what is being decided on: tell the peer to wait */
	VRC_DO_REPLY, /* take what the REP says; raise RI_CM_REPLY, or confirm at once in a two-way set-up */
	VRC_DO_CONFIRM,   /* send RTU, raise RI_CM_ESTABLISHED */
	VRC_DO_RTU_AGAIN, /* the peer has not got it: a REP came again */
	VRC_DO_UP,        /* raise RI_CM_ESTABLISHED */
	VRC_DO_UP_AND_DOWN, /* the RTU was lost, and the peer is through: DREP, RI_CM_ESTABLISHED, RI_CM_DISCONNECTED */
	VRC_DO_DREP,       /* answer the DREQ, raise RI_CM_DISCONNECTED */
	VRC_DO_DREP_FAIL,  /* answer it, the attempt has failed */
	VRC_DO_DREP_AGAIN, /* answer it */
	VRC_DO_LEFT,       /* raise RI_CM_DISCONNECTED */
	VRC_DO_REJECTED,   /* raise RI_CM_REJECTED or RI_CM_FAILED */
	VRC_DO_BROKEN,     /* a REJ ends a connection: raise RI_CM_BROKEN */
	VRC_DO_TIME_OUT,   /* REJ of the kind timeout, raise RI_CM_FAILED */
	VRC_DO_DROP,       /* REJ of the kind timeout; raise RI_CM_DISCONNECTED, unless abandoned */
	VRC_DO_LEAVE,      /* send DREQ, and again until it is answered */
	VRC_DO_STALE,      /* the same, and raise RI_CM_BROKEN */
	VRC_DO_GONE, /* the peer of a request gave up: raise RI_CM_REQUEST_GONE, or forget the request */
	VRC_DO_REJ_STALE,  /* a copy of a REQ whose connection has ended */
	VRC_DO_SERVICE,    /* raise RI_CM_SERVICE_REPLY with what the peer says */
	VRC_DO_NO_SERVICE, /* the same: no answer */
	VRC_DO_FORGET,     /* end of TIMEWAIT: raise RI_CM_TIME_WAIT_OVER */
	VRC_ACTION_COUNT
};

/* What leads from a state by a step: the next state and the action; VRC_STATE_NONE: the step means nothing there. */
enum vrc_state vrc_state_next(enum vrc_state state, enum vrc_step step, enum vrc_action *action);

#endif /* VRC_STATES_H */
