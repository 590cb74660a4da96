/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Every cell of the state table of queue pairs, against a list of its own [RI 4.3]. */
#include <glib.h>

#include "vib_states.h"

static const struct {
	enum ri_qp_state from;
	enum vib_move move;
	enum ri_qp_state to;
} moves[] = {
	{RI_QPS_IDLE, VIB_MOVE_BEGIN, RI_QPS_CONNECTING},
	{RI_QPS_IDLE, VIB_MOVE_ERROR, RI_QPS_ERROR},
	{RI_QPS_CONNECTING, VIB_MOVE_UNDO, RI_QPS_IDLE},
	{RI_QPS_CONNECTING, VIB_MOVE_ESTABLISHED, RI_QPS_RTS},
	{RI_QPS_CONNECTING, VIB_MOVE_END, RI_QPS_ERROR},
	{RI_QPS_RTS, VIB_MOVE_CLOSING, RI_QPS_CLOSING},
	{RI_QPS_RTS, VIB_MOVE_END, RI_QPS_ERROR},
	{RI_QPS_CLOSING, VIB_MOVE_END, RI_QPS_ERROR},
	{RI_QPS_ERROR, VIB_MOVE_RESET, RI_QPS_IDLE},
};

static enum ri_qp_state
expected(enum ri_qp_state from, enum vib_move move)
{
	for (size_t i = 0; i < G_N_ELEMENTS(moves); i++) {
		if (moves[i].from == from && moves[i].move == move)
			return moves[i].to;
	}
	return RI_QPS_NONE;
}

static void
test_table(void)
{
	for (int from = 0; from < RI_QPS_COUNT; from++) {
		for (int move = 0; move < VIB_MOVE_COUNT; move++)
			g_assert_cmpint(
				vib_states_next((enum ri_qp_state)from, (enum vib_move)move), ==,
				expected((enum ri_qp_state)from, (enum vib_move)move));
	}
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ib/states/table", test_table);
	return g_test_run();
}
