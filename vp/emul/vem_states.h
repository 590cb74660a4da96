/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * States of an emulated queue pair: its moves, and one table for each personality. The states are those of
 * RNIC-PI (enum ri_qp_state).
 */
#ifndef VEM_STATES_H
#define VEM_STATES_H

#include "rnicpi_types.h"

/* The moves of a queue pair. */
enum vem_move {
	VEM_MOVE_CONNECT = 0,  /* it begins to connect, or accepts */
	VEM_MOVE_UP,           /* the handshake is finished */
	VEM_MOVE_FAIL,         /* the attempt has failed, or was refused */
	VEM_MOVE_TO_IDLE,      /* modify */
	VEM_MOVE_TO_CLOSING,   /* modify, or disconnect */
	VEM_MOVE_TO_TERMINATE, /* modify */
	VEM_MOVE_TO_ERROR,     /* modify */
	VEM_MOVE_PEER_CLOSED,  /* the peer ended it in an orderly way */
	VEM_MOVE_PEER_FAULT,   /* a Terminate arrived */
	VEM_MOVE_LOST,         /* the peer was destroyed or failed, without a message of its own */
	VEM_MOVE_FAULT,        /* a request of this side, or of the peer, failed at this side */
	VEM_MOVE_CLOSED,       /* everything is flushed */
	VEM_MOVE_COUNT
};

/* The cell of a table: the next state, or RI_QPS_NONE if the move is not allowed. */
enum ri_qp_state vem_ib_next(enum ri_qp_state state, enum vem_move move);
enum ri_qp_state vem_iw_next(enum ri_qp_state state, enum vem_move move);

/* In these states posted work is flushed. */
static inline bool
vem_state_flushes(unsigned state)
{
	return state == RI_QPS_CLOSING || state == RI_QPS_TERMINATE || state == RI_QPS_ERROR;
}

#endif /* VEM_STATES_H */
