/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "kald_lease.h"

/* The state plus one, so that an empty cell (0) means "not allowed". */
#define TO(state) (KALD_LEASE_##state + 1)

/* clang-format off */
static const int8_t moves[KALD_LEASE_STATES][KALD_LEASE_EVENTS] = {
	[KALD_LEASE_NONE] = {
		[KALD_LEASE_LEND]   = TO(HELD),
		[KALD_LEASE_RETURN] = TO(NONE), /* of nothing: an answer that crossed the return of all */
		[KALD_LEASE_EMPTY]  = TO(NONE),
		[KALD_LEASE_END]    = TO(NONE),
	},
	[KALD_LEASE_HELD] = {
		[KALD_LEASE_LEND]   = TO(HELD),
		[KALD_LEASE_RETURN] = TO(HELD),
		[KALD_LEASE_EMPTY]  = TO(NONE),
		[KALD_LEASE_RECALL] = TO(RECALLED),
		[KALD_LEASE_END]    = TO(NONE),
	},
	[KALD_LEASE_RECALLED] = {
		[KALD_LEASE_LEND]   = TO(RECALLED), /* the request crossed the recall */
		[KALD_LEASE_RETURN] = TO(HELD),
		[KALD_LEASE_EMPTY]  = TO(NONE),
		[KALD_LEASE_EXPIRE] = TO(LATE),
		[KALD_LEASE_END]    = TO(NONE),
	},
	[KALD_LEASE_LATE] = {
		[KALD_LEASE_LEND]   = TO(LATE),
		[KALD_LEASE_RETURN] = TO(HELD),
		[KALD_LEASE_EMPTY]  = TO(NONE),
		[KALD_LEASE_END]    = TO(NONE),
	},
};
/* clang-format on */

int
kald_lease_next(enum kald_lease_state state, enum kald_lease_event event)
{
	return moves[state][event] - 1;
}
