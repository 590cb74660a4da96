/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Every cell of the table of connection states, compared with this test's own list of allowed
 * moves: an event that the list does not have must be refused and must change nothing.
 */
#include <glib.h>

#include "kal_cm_states.h"

struct move {
	enum kal_conn_state from;
	enum kal_conn_event by;
	enum kal_conn_state to;
	enum kal_cm_kind told;
};

#define S(name)    KAL_CONN_##name
#define TOLD(name) KAL_CM_##name

static const struct move moves[] = {
	/* the active side */
	{S(IDLE), S(CALL_CONNECT), S(CONNECTING), TOLD(NONE)},
	{S(CONNECTING), S(TCP_UP), S(WAITING), TOLD(NONE)},
	{S(WAITING), S(RETRY), S(CONNECTING), TOLD(NONE)},
	{S(WAITING), S(ATTACH), S(STARTING), TOLD(NONE)},
	{S(STARTING), S(STANDS), S(UP), TOLD(ESTABLISHED)},
	{S(CONNECTING), S(STANDS), S(UP), TOLD(ESTABLISHED)},
	{S(CONNECTING), S(REPLY), S(REPLIED), TOLD(REPLY)},
	{S(REPLIED), S(CALL_CONFIRM), S(STARTING), TOLD(NONE)},
	/* the passive side */
	{S(IDLE), S(CALL_ACCEPT), S(ACCEPTING), TOLD(NONE)},
	{S(ACCEPTING), S(ATTACH), S(STARTING), TOLD(NONE)},
	{S(ACCEPTING), S(STANDS), S(UP), TOLD(ESTABLISHED)},
	/* the attempt fails */
	{S(CONNECTING), S(REFUSED), S(ENDED), TOLD(REJECTED)},
	{S(WAITING), S(REFUSED), S(ENDED), TOLD(REJECTED)},
	{S(REPLIED), S(REFUSED), S(ENDED), TOLD(REJECTED)},
	{S(ACCEPTING), S(REFUSED), S(ENDED), TOLD(REJECTED)},
	{S(STARTING), S(REFUSED), S(ENDED), TOLD(REJECTED)},
	{S(CONNECTING), S(FAILED), S(ENDED), TOLD(FAILED)},
	{S(WAITING), S(FAILED), S(ENDED), TOLD(FAILED)},
	{S(REPLIED), S(FAILED), S(ENDED), TOLD(FAILED)},
	{S(ACCEPTING), S(FAILED), S(ENDED), TOLD(FAILED)},
	{S(STARTING), S(FAILED), S(ENDED), TOLD(FAILED)},
	{S(STARTING), S(END_CLOSE), S(ENDED), TOLD(FAILED)},
	{S(STARTING), S(END_BROKEN), S(ENDED), TOLD(FAILED)},
	{S(CONNECTING), S(UNDONE), S(IDLE), TOLD(NONE)},
	{S(ACCEPTING), S(UNDONE), S(IDLE), TOLD(NONE)},
	/* our consumer gives up */
	{S(CONNECTING), S(CALL_DROP), S(ENDED), TOLD(DISCONNECTED)},
	{S(WAITING), S(CALL_DROP), S(ENDED), TOLD(DISCONNECTED)},
	{S(ACCEPTING), S(CALL_DROP), S(ENDED), TOLD(DISCONNECTED)},
	{S(REPLIED), S(CALL_DROP), S(ENDED), TOLD(NONE)},
	{S(CONNECTING), S(CALL_DISCONNECT), S(ABORTING), TOLD(NONE)},
	{S(REPLIED), S(CALL_DISCONNECT), S(ABORTING), TOLD(NONE)},
	{S(ACCEPTING), S(CALL_DISCONNECT), S(ABORTING), TOLD(NONE)},
	{S(STARTING), S(CALL_DISCONNECT), S(ABORTING), TOLD(NONE)},
	{S(ABORTING), S(STANDS), S(ABORTING), TOLD(NONE)},
	{S(ABORTING), S(REFUSED), S(ENDED), TOLD(DISCONNECTED)},
	{S(ABORTING), S(FAILED), S(ENDED), TOLD(DISCONNECTED)},
	{S(ABORTING), S(END_CLOSE), S(ENDED), TOLD(DISCONNECTED)},
	{S(ABORTING), S(END_BROKEN), S(ENDED), TOLD(DISCONNECTED)},
	/* the end of the connection */
	{S(UP), S(CALL_DISCONNECT), S(CLOSING), TOLD(NONE)},
	{S(UP), S(END_CLOSE), S(ENDED), TOLD(DISCONNECTED)},
	{S(UP), S(END_BROKEN), S(ENDED), TOLD(BROKEN)},
	{S(CLOSING), S(END_CLOSE), S(ENDED), TOLD(DISCONNECTED)},
	{S(CLOSING), S(END_BROKEN), S(ENDED), TOLD(DISCONNECTED)},
	{S(ENDED), S(RESET), S(IDLE), TOLD(NONE)},
	{S(IDLE), S(RESET), S(IDLE), TOLD(NONE)},
	/* our consumer brings it up itself */
	{S(IDLE), S(CALL_PEER), S(OWN), TOLD(NONE)},
	{S(OWN), S(UNDONE), S(IDLE), TOLD(NONE)},
	{S(OWN), S(RESET), S(IDLE), TOLD(NONE)},
};

static const struct move *
expected(enum kal_conn_state from, enum kal_conn_event by)
{
	for (size_t i = 0; i < G_N_ELEMENTS(moves); i++) {
		if (moves[i].from == from && moves[i].by == by)
			return &moves[i];
	}
	return NULL;
}

static void
test_cells(void)
{
	for (int s = KAL_CONN_NONE; s < KAL_CONN_STATE_COUNT; s++) {
		for (int h = 0; h < KAL_CONN_EVENT_COUNT; h++) {
			enum kal_conn_state state = (enum kal_conn_state)s;
			const struct move *move = expected(state, (enum kal_conn_event)h);
			enum kal_cm_kind told = KAL_CM_COUNT;
			enum ri_status status =
				kal_conn_step(&state, (enum kal_conn_event)h, &told);

			g_test_message("%s + event %d", kal_conn_state_name((enum kal_conn_state)s),
				       h);
			g_assert_cmpint(status, ==,
					move != NULL ? RI_SUCCESS : RI_ERR_INVALID_STATE);
			g_assert_cmpint(state, ==, move != NULL ? (int)move->to : s);
			g_assert_cmpint(told, ==, move != NULL ? (int)move->told : KAL_CM_NONE);
		}
	}
}

static void
test_names(void)
{
	for (int s = KAL_CONN_NONE + 1; s < KAL_CONN_STATE_COUNT; s++)
		g_assert_cmpstr(kal_conn_state_name((enum kal_conn_state)s), !=, "?");
	g_assert_cmpstr(kal_conn_state_name(KAL_CONN_STATE_COUNT), ==, "?");
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/kal/conn/states/cells", test_cells);
	g_test_add_func("/kal/conn/states/names", test_names);
	return g_test_run();
}
