/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The table of phases (rows) and steps (columns). An empty cell means that the step is ignored, or that the verb is
 * refused.
 *
 *     active:   ADDRESS, ROUTE, CONNECT, REPLIED, CONFIRM, UP       iWARP: ADDRESS, ROUTE, CONNECT, UP
 *     passive:  ASKED, ACCEPT, UP
 *
 * An iWARP attempt whose port is taken goes from CONNECT to ADDRESS again, with a new id.
 *
 * In each phase between the first step and UP, the attempt can fail, be abandoned, be aborted, or reach its deadline;
 * its phase is then OVER.
 */
#include "vib_cm_states.h"

struct vib_rule {
	enum vib_phase next;
	enum vib_action action;
};

/* clang-format off */
static const struct vib_rule rules[VIB_PHASE_COUNT][VIB_STEP_COUNT] = {
	[VIB_PHASE_NEW] = {
		[VIB_STEP_ASK]             = { VIB_PHASE_ASKED,   VIB_DO_NOTHING },
		[VIB_STEP_CALL_CONNECT]    = { VIB_PHASE_ADDRESS, VIB_DO_NOTHING },
	},
	[VIB_PHASE_ADDRESS] = {
		[VIB_STEP_ADDRESS]         = { VIB_PHASE_ROUTE,   VIB_DO_ROUTE },
		[VIB_STEP_FAILED]          = { VIB_PHASE_OVER,    VIB_DO_FAIL },
		[VIB_STEP_REMOVED]         = { VIB_PHASE_OVER,    VIB_DO_LOSE },
		[VIB_STEP_DEADLINE]        = { VIB_PHASE_OVER,    VIB_DO_TIMEOUT },
		[VIB_STEP_CALL_DISCONNECT] = { VIB_PHASE_OVER,    VIB_DO_DROP },
		[VIB_STEP_CALL_ABORT]      = { VIB_PHASE_OVER,    VIB_DO_ABORT },
	},
	[VIB_PHASE_ROUTE] = {
		[VIB_STEP_ROUTE]           = { VIB_PHASE_CONNECT, VIB_DO_REQUEST },
		[VIB_STEP_FAILED]          = { VIB_PHASE_OVER,    VIB_DO_FAIL },
		[VIB_STEP_REMOVED]         = { VIB_PHASE_OVER,    VIB_DO_LOSE },
		[VIB_STEP_DEADLINE]        = { VIB_PHASE_OVER,    VIB_DO_TIMEOUT },
		[VIB_STEP_CALL_DISCONNECT] = { VIB_PHASE_OVER,    VIB_DO_DROP },
		[VIB_STEP_CALL_ABORT]      = { VIB_PHASE_OVER,    VIB_DO_ABORT },
	},
	[VIB_PHASE_CONNECT] = {
		[VIB_STEP_RESPONSE]        = { VIB_PHASE_REPLIED, VIB_DO_REPLY },
		[VIB_STEP_ESTABLISHED]     = { VIB_PHASE_UP,      VIB_DO_ESTABLISH },
		[VIB_STEP_FAILED]          = { VIB_PHASE_OVER,    VIB_DO_FAIL },
		[VIB_STEP_DISCONNECTED]    = { VIB_PHASE_OVER,    VIB_DO_FAIL },
		[VIB_STEP_REMOVED]         = { VIB_PHASE_OVER,    VIB_DO_LOSE },
		[VIB_STEP_DEADLINE]        = { VIB_PHASE_OVER,    VIB_DO_TIMEOUT },
		[VIB_STEP_AGAIN]           = { VIB_PHASE_ADDRESS, VIB_DO_NOTHING },
		[VIB_STEP_CALL_DISCONNECT] = { VIB_PHASE_OVER,    VIB_DO_DROP },
		[VIB_STEP_CALL_ABORT]      = { VIB_PHASE_OVER,    VIB_DO_ABORT },
	},
	[VIB_PHASE_REPLIED] = {
		[VIB_STEP_FAILED]          = { VIB_PHASE_OVER,    VIB_DO_FAIL },
		[VIB_STEP_DISCONNECTED]    = { VIB_PHASE_OVER,    VIB_DO_FAIL },
		[VIB_STEP_REMOVED]         = { VIB_PHASE_OVER,    VIB_DO_LOSE },
		[VIB_STEP_DEADLINE]        = { VIB_PHASE_OVER,    VIB_DO_TIMEOUT },
		[VIB_STEP_CALL_CONFIRM]    = { VIB_PHASE_CONFIRM, VIB_DO_NOTHING },
		[VIB_STEP_CALL_REFUSE]     = { VIB_PHASE_OVER,    VIB_DO_REFUSE },
		[VIB_STEP_CALL_DISCONNECT] = { VIB_PHASE_OVER,    VIB_DO_DROP },
		[VIB_STEP_CALL_ABORT]      = { VIB_PHASE_OVER,    VIB_DO_ABORT },
	},
	[VIB_PHASE_CONFIRM] = {
		[VIB_STEP_FAILED]          = { VIB_PHASE_OVER,    VIB_DO_FAIL },
		[VIB_STEP_DISCONNECTED]    = { VIB_PHASE_OVER,    VIB_DO_FAIL },
		[VIB_STEP_REMOVED]         = { VIB_PHASE_OVER,    VIB_DO_LOSE },
		[VIB_STEP_DEADLINE]        = { VIB_PHASE_OVER,    VIB_DO_TIMEOUT },
		[VIB_STEP_TASK]            = { VIB_PHASE_UP,      VIB_DO_FINISH },
		[VIB_STEP_CALL_DISCONNECT] = { VIB_PHASE_OVER,    VIB_DO_DROP },
		[VIB_STEP_CALL_ABORT]      = { VIB_PHASE_OVER,    VIB_DO_ABORT },
	},
	[VIB_PHASE_ASKED] = {
		[VIB_STEP_CALL_ACCEPT]     = { VIB_PHASE_ACCEPT,  VIB_DO_NOTHING },
	},
	[VIB_PHASE_ACCEPT] = {
		[VIB_STEP_ESTABLISHED]     = { VIB_PHASE_UP,      VIB_DO_ESTABLISH },
		[VIB_STEP_FAILED]          = { VIB_PHASE_OVER,    VIB_DO_FAIL },
		[VIB_STEP_DISCONNECTED]    = { VIB_PHASE_OVER,    VIB_DO_FAIL },
		[VIB_STEP_REMOVED]         = { VIB_PHASE_OVER,    VIB_DO_LOSE },
		[VIB_STEP_DEADLINE]        = { VIB_PHASE_OVER,    VIB_DO_TIMEOUT },
		[VIB_STEP_CALL_DISCONNECT] = { VIB_PHASE_OVER,    VIB_DO_DROP },
		[VIB_STEP_CALL_ABORT]      = { VIB_PHASE_OVER,    VIB_DO_ABORT },
	},
	[VIB_PHASE_UP] = {
		[VIB_STEP_FAILED]          = { VIB_PHASE_OVER,    VIB_DO_HANG_UP },
		[VIB_STEP_DISCONNECTED]    = { VIB_PHASE_OVER,    VIB_DO_HANG_UP },
		[VIB_STEP_REMOVED]         = { VIB_PHASE_OVER,    VIB_DO_LOSE },
		[VIB_STEP_CALL_DISCONNECT] = { VIB_PHASE_LEAVE,   VIB_DO_LEAVE },
		[VIB_STEP_CALL_ABORT]      = { VIB_PHASE_OVER,    VIB_DO_ABORT },
	},
	[VIB_PHASE_LEAVE] = {
		[VIB_STEP_FAILED]          = { VIB_PHASE_OVER,    VIB_DO_LEFT },
		[VIB_STEP_DISCONNECTED]    = { VIB_PHASE_OVER,    VIB_DO_LEFT },
		[VIB_STEP_REMOVED]         = { VIB_PHASE_OVER,    VIB_DO_LOSE },
		[VIB_STEP_DEADLINE]        = { VIB_PHASE_OVER,    VIB_DO_LEFT },
		[VIB_STEP_CALL_ABORT]      = { VIB_PHASE_OVER,    VIB_DO_NOTHING },
	},
};
/* clang-format on */

enum vib_phase
vib_phase_next(enum vib_phase phase, enum vib_step step, enum vib_action *action)
{
	const struct vib_rule *rule = &rules[phase][step];

	*action = rule->action;
	return rule->next;
}
