/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The state table of connections. A row is a state, a column an event; an empty cell means "not allowed". The event for the
 * client is part of the cell: an end before the connection is established is a failure, an end after the client's disconnect is
 * always DISCONNECTED ([IT 4.2], [IT 4.5]; R-01).
 */
#include "kal_cm_states.h"

/* One cell: the next state, and the event for the client (0 = none). */
struct kal_conn_rule {
	enum kal_conn_state next;
	enum kal_cm_kind report;
};

/* clang-format off */
static const struct kal_conn_rule rules[KAL_CONN_STATE_COUNT][KAL_CONN_EVENT_COUNT] = {
	[KAL_CONN_IDLE] = {
		[KAL_CONN_CALL_CONNECT]    = { KAL_CONN_CONNECTING, KAL_CM_NONE },
		[KAL_CONN_CALL_ACCEPT]     = { KAL_CONN_ACCEPTING,  KAL_CM_NONE },
		[KAL_CONN_CALL_PEER]       = { KAL_CONN_OWN,        KAL_CM_NONE },
		[KAL_CONN_RESET]           = { KAL_CONN_IDLE,       KAL_CM_NONE },
	},
	[KAL_CONN_CONNECTING] = {
		[KAL_CONN_CALL_DISCONNECT] = { KAL_CONN_ABORTING,   KAL_CM_NONE },
		[KAL_CONN_CALL_DROP]       = { KAL_CONN_ENDED,      KAL_CM_DISCONNECTED },
		[KAL_CONN_TCP_UP]          = { KAL_CONN_WAITING,    KAL_CM_NONE },
		[KAL_CONN_REPLY]           = { KAL_CONN_REPLIED,    KAL_CM_REPLY },
		[KAL_CONN_STANDS]          = { KAL_CONN_UP,         KAL_CM_ESTABLISHED },
		[KAL_CONN_REFUSED]         = { KAL_CONN_ENDED,      KAL_CM_REJECTED },
		[KAL_CONN_FAILED]          = { KAL_CONN_ENDED,      KAL_CM_FAILED },
		[KAL_CONN_UNDONE]          = { KAL_CONN_IDLE,       KAL_CM_NONE },
	},
	[KAL_CONN_WAITING] = {
		[KAL_CONN_CALL_DROP]       = { KAL_CONN_ENDED,      KAL_CM_DISCONNECTED },
		[KAL_CONN_RETRY]           = { KAL_CONN_CONNECTING, KAL_CM_NONE },
		[KAL_CONN_ATTACH]          = { KAL_CONN_STARTING,   KAL_CM_NONE },
		[KAL_CONN_REFUSED]         = { KAL_CONN_ENDED,      KAL_CM_REJECTED },
		[KAL_CONN_FAILED]          = { KAL_CONN_ENDED,      KAL_CM_FAILED },
	},
	[KAL_CONN_REPLIED] = {
		[KAL_CONN_CALL_CONFIRM]    = { KAL_CONN_STARTING,   KAL_CM_NONE },
		[KAL_CONN_CALL_DISCONNECT] = { KAL_CONN_ABORTING,   KAL_CM_NONE },
		[KAL_CONN_CALL_DROP]       = { KAL_CONN_ENDED,      KAL_CM_NONE },
		[KAL_CONN_REFUSED]         = { KAL_CONN_ENDED,      KAL_CM_REJECTED },
		[KAL_CONN_FAILED]          = { KAL_CONN_ENDED,      KAL_CM_FAILED },
	},
	[KAL_CONN_ACCEPTING] = {
		[KAL_CONN_CALL_DISCONNECT] = { KAL_CONN_ABORTING,   KAL_CM_NONE },
		[KAL_CONN_CALL_DROP]       = { KAL_CONN_ENDED,      KAL_CM_DISCONNECTED },
		[KAL_CONN_ATTACH]          = { KAL_CONN_STARTING,   KAL_CM_NONE },
		[KAL_CONN_STANDS]          = { KAL_CONN_UP,         KAL_CM_ESTABLISHED },
		[KAL_CONN_REFUSED]         = { KAL_CONN_ENDED,      KAL_CM_REJECTED },
		[KAL_CONN_FAILED]          = { KAL_CONN_ENDED,      KAL_CM_FAILED },
		[KAL_CONN_UNDONE]          = { KAL_CONN_IDLE,       KAL_CM_NONE },
	},
	[KAL_CONN_STARTING] = {
		[KAL_CONN_CALL_DISCONNECT] = { KAL_CONN_ABORTING,   KAL_CM_NONE },
		[KAL_CONN_STANDS]          = { KAL_CONN_UP,         KAL_CM_ESTABLISHED },
		[KAL_CONN_REFUSED]         = { KAL_CONN_ENDED,      KAL_CM_REJECTED },
		[KAL_CONN_FAILED]          = { KAL_CONN_ENDED,      KAL_CM_FAILED },
		[KAL_CONN_END_CLOSE]       = { KAL_CONN_ENDED,      KAL_CM_FAILED },
		[KAL_CONN_END_BROKEN]      = { KAL_CONN_ENDED,      KAL_CM_FAILED },
	},
	[KAL_CONN_UP] = {
		[KAL_CONN_CALL_DISCONNECT] = { KAL_CONN_CLOSING,    KAL_CM_NONE },
		[KAL_CONN_END_CLOSE]       = { KAL_CONN_ENDED,      KAL_CM_DISCONNECTED },
		[KAL_CONN_END_BROKEN]      = { KAL_CONN_ENDED,      KAL_CM_BROKEN },
	},
	[KAL_CONN_CLOSING] = {
		[KAL_CONN_END_CLOSE]       = { KAL_CONN_ENDED,      KAL_CM_DISCONNECTED },
		[KAL_CONN_END_BROKEN]      = { KAL_CONN_ENDED,      KAL_CM_DISCONNECTED },
	},
	[KAL_CONN_ABORTING] = {
		[KAL_CONN_STANDS]          = { KAL_CONN_ABORTING,   KAL_CM_NONE },
		[KAL_CONN_REFUSED]         = { KAL_CONN_ENDED,      KAL_CM_DISCONNECTED },
		[KAL_CONN_FAILED]          = { KAL_CONN_ENDED,      KAL_CM_DISCONNECTED },
		[KAL_CONN_END_CLOSE]       = { KAL_CONN_ENDED,      KAL_CM_DISCONNECTED },
		[KAL_CONN_END_BROKEN]      = { KAL_CONN_ENDED,      KAL_CM_DISCONNECTED },
	},
	[KAL_CONN_OWN] = {
		[KAL_CONN_UNDONE]          = { KAL_CONN_IDLE,       KAL_CM_NONE },
		[KAL_CONN_RESET]           = { KAL_CONN_IDLE,       KAL_CM_NONE },
	},
	[KAL_CONN_ENDED] = {
		[KAL_CONN_RESET]           = { KAL_CONN_IDLE,       KAL_CM_NONE },
	},
};
/* clang-format on */

enum ri_status
kal_conn_step(enum kal_conn_state *state, enum kal_conn_event conn_event, enum kal_cm_kind *report)
{
	const struct kal_conn_rule *rule = &rules[*state][conn_event];

	*report = KAL_CM_NONE;
	if (rule->next == KAL_CONN_NONE)
		return RI_ERR_INVALID_STATE;
	*state = rule->next;
	*report = rule->report;
	return RI_SUCCESS;
}

const char *
kal_conn_state_name(enum kal_conn_state state)
{
	static const char *const names[KAL_CONN_STATE_COUNT] = {
		[KAL_CONN_NONE] = "NONE",
		[KAL_CONN_IDLE] = "IDLE",
		[KAL_CONN_CONNECTING] = "CONNECTING",
		[KAL_CONN_WAITING] = "WAITING",
		[KAL_CONN_REPLIED] = "REPLIED",
		[KAL_CONN_ACCEPTING] = "ACCEPTING",
		[KAL_CONN_STARTING] = "STARTING",
		[KAL_CONN_UP] = "UP",
		[KAL_CONN_CLOSING] = "CLOSING",
		[KAL_CONN_ABORTING] = "ABORTING",
		[KAL_CONN_OWN] = "OWN",
		[KAL_CONN_ENDED] = "ENDED",
	};

	return (unsigned)state < KAL_CONN_STATE_COUNT ? names[state] : "?";
}
