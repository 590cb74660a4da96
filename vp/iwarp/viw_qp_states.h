/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * States of a queue pair: one table, one function that writes the state (viw_qp_states.c).
 */
#ifndef VIW_QP_STATES_H
#define VIW_QP_STATES_H

#include <stdatomic.h>

#include "rnicpi_types.h"

enum viw_qp_move {
	VIW_MOVE_NONE = 0,
	VIW_MOVE_RESERVE,      /* the kAL begins to set up a stream */
	VIW_MOVE_ATTACH,       /* the stream was attached */
	VIW_MOVE_TO_IDLE,      /* modify */
	VIW_MOVE_TO_CLOSING,   /* modify: orderly end */
	VIW_MOVE_TO_TERMINATE, /* modify: Terminate 0000 */
	VIW_MOVE_TO_ERROR,     /* modify: abort */
	VIW_MOVE_PEER_FIN,     /* FIN between two messages */
	VIW_MOVE_FAULT,        /* an error was found at this end, which sends a Terminate */
	VIW_MOVE_TERMINATE_IN, /* the peer's Terminate arrived */
	VIW_MOVE_LOST,         /* TCP reset or lost */
	VIW_MOVE_CLOSED,       /* the stream is closed and everything flushed */
	VIW_MOVE_COUNT
};

/* The state that `move` leads to from `state`, or RI_QPS_NONE if there is no such move. */
enum ri_qp_state viw_qp_next(enum ri_qp_state state, enum viw_qp_move move);
/* Make a move. False: the table has none, nothing changed. Serialised by the caller's lock. */
bool viw_qp_step(atomic_uint *state, enum viw_qp_move move);
/* For people and for the drawing of the table. */
const char *viw_qp_move_name(enum viw_qp_move move);

#endif /* VIW_QP_STATES_H */
