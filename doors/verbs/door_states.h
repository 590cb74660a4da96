/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The states of a queue pair in verbs, and which attributes each move takes. */
#ifndef DOOR_STATES_H
#define DOOR_STATES_H

#include <stdbool.h>

#include <infiniband/verbs.h>

/*
 * May a queue pair of that type make this move with these IBV_QP_* bits? The bits must include each
 * attribute that the move requires, and none that it does not accept (IBTA volume 1, 11.2.5.2).
 */
bool door_states_allow(enum ibv_qp_type type, enum ibv_qp_state from, enum ibv_qp_state to,
		       int mask);

#endif /* DOOR_STATES_H */
