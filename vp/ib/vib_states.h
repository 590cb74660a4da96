/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The states of a queue pair as the layers above see them [RI 4.3], and what moves it; vib_states.c has the table. */
#ifndef VIB_STATES_H
#define VIB_STATES_H

#include "rnicpi_attr.h"

enum vib_move {
	VIB_MOVE_BEGIN = 0,   /* an attempt to connect, or an accept, begins */
	VIB_MOVE_UNDO,        /* it failed before anything was sent */
	VIB_MOVE_ESTABLISHED, /* the connection is established */
	VIB_MOVE_CLOSING,     /* an orderly end was asked for */
	VIB_MOVE_END,         /* the attempt or connection is over */
	VIB_MOVE_ERROR,       /* the layers above want ERROR, without a connection */
	VIB_MOVE_RESET,       /* the layers above want IDLE again */
	VIB_MOVE_COUNT
};

/* Where a move leads; RI_QPS_NONE: there is no such move. */
enum ri_qp_state vib_states_next(enum ri_qp_state from, enum vib_move move);

#endif /* VIB_STATES_H */
