/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The queue pair's states (RDMAC verbs 6.2; [RI 4.1]).
 *
 *     IDLE -> CONNECTING -> RTS -> CLOSING | TERMINATE -> ERROR -> IDLE
 *
 * One deviation is on purpose: an orderly close ends in ERROR, not in IDLE. So requests posted after the end
 * are flushed, as IT-API requires of an endpoint that is not connected, and the way back is the same after
 * every end: from ERROR to IDLE once everything is flushed.
 *
 * In CLOSING, TERMINATE and ERROR there may still be a stream; VIW_MOVE_CLOSED says that it is closed.
 */
#include "viw_qp_states.h"

struct viw_qp_rule {
	uint8_t next; /* enum ri_qp_state; NONE: not allowed */
};

/* clang-format off */
static const struct viw_qp_rule qp_rules[RI_QPS_COUNT][VIW_MOVE_COUNT] = {
	[RI_QPS_IDLE] = {
		[VIW_MOVE_RESERVE]      = { RI_QPS_CONNECTING },
		[VIW_MOVE_TO_IDLE]      = { RI_QPS_IDLE },
		[VIW_MOVE_TO_ERROR]     = { RI_QPS_ERROR },
	},
	[RI_QPS_CONNECTING] = {
		[VIW_MOVE_ATTACH]       = { RI_QPS_RTS },
		[VIW_MOVE_TO_ERROR]     = { RI_QPS_ERROR },
	},
	[RI_QPS_RTS] = {
		[VIW_MOVE_TO_CLOSING]   = { RI_QPS_CLOSING },
		[VIW_MOVE_TO_TERMINATE] = { RI_QPS_TERMINATE },
		[VIW_MOVE_TO_ERROR]     = { RI_QPS_ERROR },
		[VIW_MOVE_PEER_FIN]     = { RI_QPS_CLOSING },
		[VIW_MOVE_FAULT]        = { RI_QPS_TERMINATE },
		[VIW_MOVE_TERMINATE_IN] = { RI_QPS_TERMINATE },
		[VIW_MOVE_LOST]         = { RI_QPS_ERROR },
	},
	[RI_QPS_CLOSING] = {
		[VIW_MOVE_TO_ERROR]     = { RI_QPS_ERROR },
		[VIW_MOVE_CLOSED]       = { RI_QPS_ERROR },
	},
	[RI_QPS_TERMINATE] = {
		[VIW_MOVE_TO_ERROR]     = { RI_QPS_ERROR },
		[VIW_MOVE_CLOSED]       = { RI_QPS_ERROR },
	},
	[RI_QPS_ERROR] = {
		[VIW_MOVE_TO_IDLE]      = { RI_QPS_IDLE },
		[VIW_MOVE_TO_ERROR]     = { RI_QPS_ERROR },
		[VIW_MOVE_CLOSED]       = { RI_QPS_ERROR },
	},
};
/* clang-format on */

static const char *const move_names[VIW_MOVE_COUNT] = {
	[VIW_MOVE_NONE] = "none",
	[VIW_MOVE_RESERVE] = "reserve",
	[VIW_MOVE_ATTACH] = "attach",
	[VIW_MOVE_TO_IDLE] = "to idle",
	[VIW_MOVE_TO_CLOSING] = "to closing",
	[VIW_MOVE_TO_TERMINATE] = "to terminate",
	[VIW_MOVE_TO_ERROR] = "to error",
	[VIW_MOVE_PEER_FIN] = "peer's FIN",
	[VIW_MOVE_FAULT] = "fault",
	[VIW_MOVE_TERMINATE_IN] = "Terminate received",
	[VIW_MOVE_LOST] = "stream lost",
	[VIW_MOVE_CLOSED] = "stream closed",
};

enum ri_qp_state
viw_qp_next(enum ri_qp_state state, enum viw_qp_move move)
{
	return (enum ri_qp_state)qp_rules[state][move].next;
}

bool
viw_qp_step(atomic_uint *state, enum viw_qp_move move)
{
	enum ri_qp_state next = viw_qp_next((enum ri_qp_state)atomic_load(state), move);

	if (next == RI_QPS_NONE)
		return false;
	atomic_store(state, next);
	return true;
}

const char *
viw_qp_move_name(enum viw_qp_move move)
{
	return (unsigned)move < VIW_MOVE_COUNT ? move_names[move] : "none";
}
