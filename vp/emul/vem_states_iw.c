/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * States of a queue pair, iWARP personality (RDMAC verbs 6.2; [RI 4.1]).
 *
 * As in vp/iwarp, an orderly close ends in ERROR and not in IDLE, so that requests posted after the end are
 * flushed and the way back is the same after every end.
 */
#include "vem_states.h"

struct vem_iw_rule {
	uint8_t next; /* enum ri_qp_state; NONE: not allowed */
};

/* clang-format off */
static const struct vem_iw_rule iw_rules[RI_QPS_COUNT][VEM_MOVE_COUNT] = {
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
		[VEM_MOVE_TO_TERMINATE] = { RI_QPS_TERMINATE },
		[VEM_MOVE_TO_ERROR]     = { RI_QPS_ERROR },
		[VEM_MOVE_PEER_CLOSED]  = { RI_QPS_CLOSING },
		[VEM_MOVE_PEER_FAULT]   = { RI_QPS_TERMINATE },
		[VEM_MOVE_LOST]         = { RI_QPS_ERROR },
		[VEM_MOVE_FAULT]        = { RI_QPS_TERMINATE },
	},
	[RI_QPS_CLOSING] = {
		[VEM_MOVE_TO_ERROR]     = { RI_QPS_ERROR },
		[VEM_MOVE_CLOSED]       = { RI_QPS_ERROR },
	},
	[RI_QPS_TERMINATE] = {
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
vem_iw_next(enum ri_qp_state state, enum vem_move move)
{
	return (enum ri_qp_state)iw_rules[state][move].next;
}
