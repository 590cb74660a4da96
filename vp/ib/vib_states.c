/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The state table of queue pairs. Every device has it, whatever its transport: a device with a Terminate state passes
 * through it by itself, and the layers above see only the end that follows ([RI 4.2], [RI 4.3]).
 */
#include "vib_states.h"

/* clang-format off */
static const uint8_t states_next[RI_QPS_COUNT][VIB_MOVE_COUNT] = {
	[RI_QPS_IDLE] = {
		[VIB_MOVE_BEGIN]       = RI_QPS_CONNECTING,
		[VIB_MOVE_ERROR]       = RI_QPS_ERROR,
	},
	[RI_QPS_CONNECTING] = {
		[VIB_MOVE_UNDO]        = RI_QPS_IDLE,
		[VIB_MOVE_ESTABLISHED] = RI_QPS_RTS,
		[VIB_MOVE_END]         = RI_QPS_ERROR,
	},
	[RI_QPS_RTS] = {
		[VIB_MOVE_CLOSING]     = RI_QPS_CLOSING,
		[VIB_MOVE_END]         = RI_QPS_ERROR,
	},
	[RI_QPS_CLOSING] = {
		[VIB_MOVE_END]         = RI_QPS_ERROR,
	},
	[RI_QPS_ERROR] = {
		[VIB_MOVE_RESET]       = RI_QPS_IDLE,
	},
};
/* clang-format on */

enum ri_qp_state
vib_states_next(enum ri_qp_state from, enum vib_move move)
{
	return (enum ri_qp_state)states_next[from][move];
}
