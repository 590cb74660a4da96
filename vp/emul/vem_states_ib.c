/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * States of a queue pair, InfiniBand personality [RI 4.2] and [RI 4.3].
 *
 * IDLE stands for Reset and Init, CONNECTING for Init and RTR, CLOSING for the time between a disconnect
 * request and its answer. There is no TERMINATE: a fault leads directly to ERROR.
 */
#include "vem_states.h"

struct vem_ib_rule {
	uint8_t next; /* enum ri_qp_state; NONE: not allowed */
};

/* clang-format off */
static const struct vem_ib_rule ib_rules[RI_QPS_COUNT][VEM_MOVE_COUNT] = {
	[RI_QPS_IDLE] = {
		[VEM_MOVE_CONNECT]      = { RI_QPS_CONNECTING },
		[VEM_MOVE_TO_IDLE]      = { RI_QPS_IDLE },
		[VEM_MOVE_TO_ERROR]     = { RI_QPS_ERROR },
	},
	[RI_QPS_CONNECTING] = {
		[VEM_MOVE_UP]           = { RI_QPS_RTS },
		[VEM_MOVE_FAIL]         = { RI_QPS_ERROR },
		[VEM_MOVE_TO_ERROR]     = { RI_QPS_ERROR },
		[VEM_MOVE_PEER_CLOSED]  = { RI_QPS_ERROR },
		[VEM_MOVE_LOST]         = { RI_QPS_ERROR },
	},
	[RI_QPS_RTS] = {
		[VEM_MOVE_TO_CLOSING]   = { RI_QPS_CLOSING },
		[VEM_MOVE_TO_ERROR]     = { RI_QPS_ERROR },
		[VEM_MOVE_PEER_CLOSED]  = { RI_QPS_CLOSING },
		[VEM_MOVE_LOST]         = { RI_QPS_ERROR },
		[VEM_MOVE_FAULT]        = { RI_QPS_ERROR },
	},
	[RI_QPS_CLOSING] = {
		[VEM_MOVE_TO_ERROR]     = { RI_QPS_ERROR },
		[VEM_MOVE_CLOSED]       = { RI_QPS_ERROR },
	},
	[RI_QPS_ERROR] = {
		[VEM_MOVE_TO_IDLE]      = { RI_QPS_IDLE },
		[VEM_MOVE_TO_ERROR]     = { RI_QPS_ERROR },
	},
};
/* clang-format on */

enum ri_qp_state
vem_ib_next(enum ri_qp_state state, enum vem_move move)
{
	return (enum ri_qp_state)ib_rules[state][move].next;
}
