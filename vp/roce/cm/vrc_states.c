/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The table of states (rows) and steps (columns): InfiniBand Architecture 1.2, volume 1, 12.9 (connections) and 12.11
 * (SIDR). An empty cell means that a message or a time is ignored, or that a call is answered with
 * RI_ERR_INVALID_STATE.
 *
 *     active:   REQ_SENT, REP_RCVD, ESTABLISHED, DREQ_SENT or a DREQ, TIMEWAIT
 *     passive:  REQ_RCVD, REP_SENT, ESTABLISHED, the same
 *     query:    SIDR_SENT and SIDR_RCVD
 */
#include "vrc_states.h"

struct vrc_state_rule {
	enum vrc_state next;
	enum vrc_action action;
};

/* clang-format off */
static const struct vrc_state_rule vrc_rules[VRC_STATE_COUNT][VRC_STEP_COUNT] = {
	[VRC_STATE_NEW] = {
		[VRC_STEP_REQ]             = { VRC_STATE_REQ_RCVD,    VRC_DO_ASK },
		[VRC_STEP_SIDR_REQ]        = { VRC_STATE_SIDR_RCVD,   VRC_DO_ASK },
		[VRC_STEP_CALL_CONNECT]    = { VRC_STATE_REQ_SENT,    VRC_DO_SEND },
		[VRC_STEP_CALL_RESOLVE]    = { VRC_STATE_SIDR_SENT,   VRC_DO_SEND },
	},
	[VRC_STATE_REQ_SENT] = {
		[VRC_STEP_MRA]             = { VRC_STATE_REQ_HELD,    VRC_DO_HOLD },
		[VRC_STEP_REJ]             = { VRC_STATE_OVER,        VRC_DO_REJECTED },
		[VRC_STEP_REP]             = { VRC_STATE_REP_RCVD,    VRC_DO_REPLY },
		[VRC_STEP_AGAIN]           = { VRC_STATE_REQ_SENT,    VRC_DO_REPEAT },
		[VRC_STEP_SILENCE]         = { VRC_STATE_TIMEWAIT,    VRC_DO_TIME_OUT },
		[VRC_STEP_DEADLINE]        = { VRC_STATE_TIMEWAIT,    VRC_DO_TIME_OUT },
		[VRC_STEP_CALL_DISCONNECT] = { VRC_STATE_TIMEWAIT,    VRC_DO_DROP },
		[VRC_STEP_CALL_ABANDON]    = { VRC_STATE_TIMEWAIT,    VRC_DO_DROP },
	},
	[VRC_STATE_REQ_HELD] = {
		[VRC_STEP_MRA]             = { VRC_STATE_REQ_HELD,    VRC_DO_HOLD },
		[VRC_STEP_REJ]             = { VRC_STATE_OVER,        VRC_DO_REJECTED },
		[VRC_STEP_REP]             = { VRC_STATE_REP_RCVD,    VRC_DO_REPLY },
		[VRC_STEP_AGAIN]           = { VRC_STATE_REQ_SENT,    VRC_DO_REPEAT },
		[VRC_STEP_SILENCE]         = { VRC_STATE_TIMEWAIT,    VRC_DO_TIME_OUT },
		[VRC_STEP_DEADLINE]        = { VRC_STATE_TIMEWAIT,    VRC_DO_TIME_OUT },
		[VRC_STEP_CALL_DISCONNECT] = { VRC_STATE_TIMEWAIT,    VRC_DO_DROP },
		[VRC_STEP_CALL_ABANDON]    = { VRC_STATE_TIMEWAIT,    VRC_DO_DROP },
	},
	[VRC_STATE_REP_RCVD] = {
		[VRC_STEP_REJ]             = { VRC_STATE_OVER,        VRC_DO_REJECTED },
		[VRC_STEP_REP]             = { VRC_STATE_REP_RCVD,    VRC_DO_SEND_MRA },
		[VRC_STEP_DREQ]            = { VRC_STATE_TIMEWAIT,    VRC_DO_DREP_FAIL },
		[VRC_STEP_DEADLINE]        = { VRC_STATE_TIMEWAIT,    VRC_DO_TIME_OUT },
		[VRC_STEP_CALL_CONFIRM]    = { VRC_STATE_ESTABLISHED, VRC_DO_CONFIRM },
		[VRC_STEP_CALL_REFUSE]     = { VRC_STATE_TIMEWAIT,    VRC_DO_SEND_ONCE },
		[VRC_STEP_CALL_DISCONNECT] = { VRC_STATE_TIMEWAIT,    VRC_DO_DROP },
		[VRC_STEP_CALL_ABANDON]    = { VRC_STATE_TIMEWAIT,    VRC_DO_DROP },
	},
	[VRC_STATE_REQ_RCVD] = {
		[VRC_STEP_REQ]             = { VRC_STATE_REQ_RCVD,    VRC_DO_SEND_MRA },
		[VRC_STEP_REJ]             = { VRC_STATE_OVER,        VRC_DO_GONE },
		[VRC_STEP_SILENCE]         = { VRC_STATE_OVER,        VRC_DO_GONE },
		[VRC_STEP_CALL_ACCEPT]     = { VRC_STATE_REP_SENT,    VRC_DO_SEND },
		[VRC_STEP_CALL_REJECT]     = { VRC_STATE_ANSWERED,    VRC_DO_SEND_ONCE },
	},
	[VRC_STATE_REP_SENT] = {
		[VRC_STEP_REQ]             = { VRC_STATE_REP_SENT,    VRC_DO_REPEAT },
		[VRC_STEP_MRA]             = { VRC_STATE_REP_HELD,    VRC_DO_HOLD },
		[VRC_STEP_REJ]             = { VRC_STATE_TIMEWAIT,    VRC_DO_REJECTED },
		[VRC_STEP_RTU]             = { VRC_STATE_ESTABLISHED, VRC_DO_UP },
		[VRC_STEP_DATA]            = { VRC_STATE_ESTABLISHED, VRC_DO_UP },
		[VRC_STEP_DREQ]            = { VRC_STATE_TIMEWAIT,    VRC_DO_UP_AND_DOWN },
		[VRC_STEP_AGAIN]           = { VRC_STATE_REP_SENT,    VRC_DO_REPEAT },
		[VRC_STEP_SILENCE]         = { VRC_STATE_TIMEWAIT,    VRC_DO_TIME_OUT },
		[VRC_STEP_DEADLINE]        = { VRC_STATE_TIMEWAIT,    VRC_DO_TIME_OUT },
		[VRC_STEP_CALL_DISCONNECT] = { VRC_STATE_TIMEWAIT,    VRC_DO_DROP },
		[VRC_STEP_CALL_ABANDON]    = { VRC_STATE_TIMEWAIT,    VRC_DO_DROP },
	},
	[VRC_STATE_REP_HELD] = {
		[VRC_STEP_REQ]             = { VRC_STATE_REP_HELD,    VRC_DO_REPEAT },
		[VRC_STEP_MRA]             = { VRC_STATE_REP_HELD,    VRC_DO_HOLD },
		[VRC_STEP_REJ]             = { VRC_STATE_TIMEWAIT,    VRC_DO_REJECTED },
		[VRC_STEP_RTU]             = { VRC_STATE_ESTABLISHED, VRC_DO_UP },
		[VRC_STEP_DATA]            = { VRC_STATE_ESTABLISHED, VRC_DO_UP },
		[VRC_STEP_DREQ]            = { VRC_STATE_TIMEWAIT,    VRC_DO_UP_AND_DOWN },
		[VRC_STEP_AGAIN]           = { VRC_STATE_REP_SENT,    VRC_DO_REPEAT },
		[VRC_STEP_SILENCE]         = { VRC_STATE_TIMEWAIT,    VRC_DO_TIME_OUT },
		[VRC_STEP_DEADLINE]        = { VRC_STATE_TIMEWAIT,    VRC_DO_TIME_OUT },
		[VRC_STEP_CALL_DISCONNECT] = { VRC_STATE_TIMEWAIT,    VRC_DO_DROP },
		[VRC_STEP_CALL_ABANDON]    = { VRC_STATE_TIMEWAIT,    VRC_DO_DROP },
	},
	[VRC_STATE_ESTABLISHED] = {
		[VRC_STEP_REJ]             = { VRC_STATE_TIMEWAIT,    VRC_DO_BROKEN },
		[VRC_STEP_REP]             = { VRC_STATE_ESTABLISHED, VRC_DO_RTU_AGAIN },
		[VRC_STEP_DREQ]            = { VRC_STATE_TIMEWAIT,    VRC_DO_DREP },
		[VRC_STEP_STALE]           = { VRC_STATE_DREQ_SENT,   VRC_DO_STALE },
		[VRC_STEP_CALL_DISCONNECT] = { VRC_STATE_DREQ_SENT,   VRC_DO_LEAVE },
		[VRC_STEP_CALL_ABANDON]    = { VRC_STATE_DREQ_SENT,   VRC_DO_LEAVE },
	},
	[VRC_STATE_DREQ_SENT] = {
		[VRC_STEP_REJ]             = { VRC_STATE_TIMEWAIT,    VRC_DO_LEFT },
		[VRC_STEP_DREQ]            = { VRC_STATE_TIMEWAIT,    VRC_DO_DREP },
		[VRC_STEP_DREP]            = { VRC_STATE_TIMEWAIT,    VRC_DO_LEFT },
		[VRC_STEP_AGAIN]           = { VRC_STATE_DREQ_SENT,   VRC_DO_REPEAT },
		[VRC_STEP_SILENCE]         = { VRC_STATE_TIMEWAIT,    VRC_DO_LEFT },
		[VRC_STEP_CALL_ABANDON]    = { VRC_STATE_DREQ_SENT,   VRC_DO_NOTHING },
	},
	[VRC_STATE_TIMEWAIT] = {
		[VRC_STEP_REQ]             = { VRC_STATE_TIMEWAIT,    VRC_DO_REJ_STALE },
		[VRC_STEP_REP]             = { VRC_STATE_TIMEWAIT,    VRC_DO_REPEAT },
		[VRC_STEP_RTU]             = { VRC_STATE_TIMEWAIT,    VRC_DO_REPEAT },
		[VRC_STEP_DREQ]            = { VRC_STATE_TIMEWAIT,    VRC_DO_DREP_AGAIN },
		[VRC_STEP_SILENCE]         = { VRC_STATE_OVER,        VRC_DO_FORGET },
		[VRC_STEP_CALL_ABANDON]    = { VRC_STATE_TIMEWAIT,    VRC_DO_NOTHING },
	},
	[VRC_STATE_ANSWERED] = {
		[VRC_STEP_REQ]             = { VRC_STATE_ANSWERED,    VRC_DO_REPEAT },
		[VRC_STEP_SIDR_REQ]        = { VRC_STATE_ANSWERED,    VRC_DO_REPEAT },
		[VRC_STEP_SILENCE]         = { VRC_STATE_OVER,        VRC_DO_NOTHING },
		[VRC_STEP_CALL_ABANDON]    = { VRC_STATE_ANSWERED,    VRC_DO_NOTHING },
	},
	[VRC_STATE_SIDR_SENT] = {
		[VRC_STEP_SIDR_REP]        = { VRC_STATE_OVER,        VRC_DO_SERVICE },
		[VRC_STEP_AGAIN]           = { VRC_STATE_SIDR_SENT,   VRC_DO_REPEAT },
		[VRC_STEP_SILENCE]         = { VRC_STATE_OVER,        VRC_DO_NO_SERVICE },
		[VRC_STEP_DEADLINE]        = { VRC_STATE_OVER,        VRC_DO_NO_SERVICE },
		[VRC_STEP_CALL_ABANDON]    = { VRC_STATE_OVER,        VRC_DO_NOTHING },
	},
	[VRC_STATE_SIDR_RCVD] = {
		[VRC_STEP_SIDR_REQ]        = { VRC_STATE_SIDR_RCVD,   VRC_DO_WAIT_ON },
		[VRC_STEP_SILENCE]         = { VRC_STATE_OVER,        VRC_DO_GONE },
		[VRC_STEP_CALL_ANSWER]     = { VRC_STATE_ANSWERED,    VRC_DO_SEND_ONCE },
	},
	[VRC_STATE_OVER] = {
		[VRC_STEP_CALL_ABANDON]    = { VRC_STATE_OVER,        VRC_DO_NOTHING },
	},
};
/* clang-format on */

enum vrc_state
vrc_state_next(enum vrc_state state, enum vrc_step step, enum vrc_action *action)
{
	const struct vrc_state_rule *rule = &vrc_rules[state][step];

	*action = rule->action;
	return rule->next;
}
