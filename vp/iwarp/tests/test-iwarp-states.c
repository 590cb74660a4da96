/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Every cell of the queue pair's state table, compared with the test's own list [RI 4.1]. */

#include <glib.h>

#include "viw_qp_states.h"

static const struct {
	enum ri_qp_state from;
	enum viw_qp_move move;
	enum ri_qp_state to;
} allowed[] = {
	{RI_QPS_IDLE, VIW_MOVE_RESERVE, RI_QPS_CONNECTING},
	{RI_QPS_IDLE, VIW_MOVE_TO_IDLE, RI_QPS_IDLE},
	{RI_QPS_IDLE, VIW_MOVE_TO_ERROR, RI_QPS_ERROR},
	{RI_QPS_CONNECTING, VIW_MOVE_ATTACH, RI_QPS_RTS},
	{RI_QPS_CONNECTING, VIW_MOVE_TO_ERROR, RI_QPS_ERROR},
	{RI_QPS_RTS, VIW_MOVE_TO_CLOSING, RI_QPS_CLOSING},
	{RI_QPS_RTS, VIW_MOVE_TO_TERMINATE, RI_QPS_TERMINATE},
	{RI_QPS_RTS, VIW_MOVE_TO_ERROR, RI_QPS_ERROR},
	{RI_QPS_RTS, VIW_MOVE_PEER_FIN, RI_QPS_CLOSING},
	{RI_QPS_RTS, VIW_MOVE_FAULT, RI_QPS_TERMINATE},
	{RI_QPS_RTS, VIW_MOVE_TERMINATE_IN, RI_QPS_TERMINATE},
	{RI_QPS_RTS, VIW_MOVE_LOST, RI_QPS_ERROR},
	{RI_QPS_CLOSING, VIW_MOVE_TO_ERROR, RI_QPS_ERROR},
	{RI_QPS_CLOSING, VIW_MOVE_CLOSED, RI_QPS_ERROR},
	{RI_QPS_TERMINATE, VIW_MOVE_TO_ERROR, RI_QPS_ERROR},
	{RI_QPS_TERMINATE, VIW_MOVE_CLOSED, RI_QPS_ERROR},
	{RI_QPS_ERROR, VIW_MOVE_TO_IDLE, RI_QPS_IDLE},
	{RI_QPS_ERROR, VIW_MOVE_TO_ERROR, RI_QPS_ERROR},
	{RI_QPS_ERROR, VIW_MOVE_CLOSED, RI_QPS_ERROR},
};

static enum ri_qp_state
expected(enum ri_qp_state from, enum viw_qp_move move)
{
	for (unsigned i = 0; i < G_N_ELEMENTS(allowed); i++) {
		if (allowed[i].from == from && allowed[i].move == move)
			return allowed[i].to;
	}
	return RI_QPS_NONE;
}

static void
test_cells(void)
{
	for (unsigned from = 0; from < RI_QPS_COUNT; from++) {
		for (unsigned move = 0; move < VIW_MOVE_COUNT; move++) {
			enum ri_qp_state to = expected(from, move);
			atomic_uint state = from;

			g_assert_cmpuint(viw_qp_next(from, move), ==, to);
			g_assert_true(viw_qp_step(&state, move) == (to != RI_QPS_NONE));
			g_assert_cmpuint(atomic_load(&state), ==, to != RI_QPS_NONE ? to : from);
		}
	}
}

static void
test_names(void)
{
	for (unsigned i = 0; i < VIW_MOVE_COUNT; i++) {
		for (unsigned k = 0; k < i; k++)
			g_assert_cmpstr(viw_qp_move_name(i), !=, viw_qp_move_name(k));
	}
	g_assert_cmpstr(viw_qp_move_name(VIW_MOVE_COUNT), ==, "none");
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/iwarp/states/cells", test_cells);
	g_test_add_func("/iwarp/states/names", test_names);
	return g_test_run();
}
