/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Phases of a connection in the connection manager, and what leads from one to another; vib_cm_states.c. */
#ifndef VIB_CM_STATES_H
#define VIB_CM_STATES_H

#include <stdbool.h>

enum vib_phase {
	VIB_PHASE_NONE = 0, /* not a phase: an empty cell of the table */
	VIB_PHASE_NEW,      /* made, nothing was asked of the connection manager */
	VIB_PHASE_ADDRESS,  /* active: the address is being resolved */
	VIB_PHASE_ROUTE,    /* active: the route is being resolved */
	VIB_PHASE_CONNECT,  /* active: the request is sent */
	VIB_PHASE_REPLIED,  /* active: the peer has accepted, confirm is due */
	VIB_PHASE_CONFIRM,  /* active: confirmed; the service thread will finish the set-up */
	VIB_PHASE_ASKED,    /* passive: a request that is not answered */
	VIB_PHASE_ACCEPT,   /* passive: accepted, the peer has not confirmed yet */
	VIB_PHASE_UP,       /* established */
	VIB_PHASE_LEAVE,    /* this side has asked for the end */
	VIB_PHASE_OVER,     /* ended or failed */
	VIB_PHASE_COUNT
};

enum vib_step {
	/* Events of the connection manager, on the service thread. */
	VIB_STEP_ADDRESS = 0,  /* the address is resolved */
	VIB_STEP_ROUTE,        /* the route is resolved */
	VIB_STEP_RESPONSE,     /* the peer has accepted; this side has to confirm */
	VIB_STEP_ESTABLISHED,  /* the set-up is complete */
	VIB_STEP_FAILED,       /* the attempt has failed, or the peer rejects */
	VIB_STEP_DISCONNECTED, /* the connection has ended */
	VIB_STEP_REMOVED,      /* the device is gone */
	/* Timers and tasks of the host. */
	VIB_STEP_DEADLINE, /* the time for this phase is over */
	VIB_STEP_TASK,     /* the service thread gets to it */
	VIB_STEP_ASK,      /* a listener got a request */
	VIB_STEP_AGAIN,    /* the request cannot leave from this port */
	/* Control verbs. */
	VIB_STEP_CALL_CONNECT,
	VIB_STEP_CALL_ACCEPT,
	VIB_STEP_CALL_CONFIRM,
	VIB_STEP_CALL_REFUSE,     /* confirm with `accept` false */
	VIB_STEP_CALL_DISCONNECT, /* also modify to CLOSING */
	VIB_STEP_CALL_ABORT,      /* modify to ERROR */
	VIB_STEP_COUNT
};

/* What is to be done about a step, after the phase has changed. */
enum vib_action {
	VIB_DO_NOTHING = 0,
	VIB_DO_ROUTE,   /* resolve the route */
	VIB_DO_REQUEST, /* send the request */
	VIB_DO_REPLY,   /* raise RI_CM_REPLY, or confirm at once in a two-way set-up */
	VIB_DO_FINISH, /* move the queue pair to RTS, confirm to the peer, raise RI_CM_ESTABLISHED */
	VIB_DO_ESTABLISH, /* raise RI_CM_ESTABLISHED */
	VIB_DO_FAIL,      /* the attempt has failed: raise why */
	VIB_DO_TIMEOUT,   /* the same because of time; tell the peer */
	VIB_DO_DROP,   /* this side gives the attempt up: tell the peer, raise RI_CM_DISCONNECTED */
	VIB_DO_REFUSE, /* this side refuses the reply: tell the peer, raise nothing */
	VIB_DO_LEAVE,  /* ask for the end, and wait for the answer for a bounded time */
	VIB_DO_HANG_UP, /* the peer asks for the end: answer, raise RI_CM_DISCONNECTED or RI_CM_BROKEN */
	VIB_DO_LEFT,  /* the end that this side asked for: raise RI_CM_DISCONNECTED */
	VIB_DO_ABORT, /* tell the peer; the caller ends the queue pair */
	VIB_DO_LOSE,  /* the device is gone: raise RI_CM_BROKEN or RI_CM_FAILED */
	VIB_ACTION_COUNT
};

/* What leads from `phase` by `step`: the next phase and the action; VIB_PHASE_NONE: the step means nothing there. */
enum vib_phase vib_phase_next(enum vib_phase phase, enum vib_step step, enum vib_action *action);

#endif /* VIB_CM_STATES_H */
