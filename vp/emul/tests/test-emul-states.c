/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Every cell of both state tables, from the test's own lists; pairs not listed must be refused. */
#include <glib.h>

#include "vem_states.h"

struct cell {
	enum ri_qp_state from;
	enum vem_move move;
	enum ri_qp_state to;
};

#define I RI_QPS_IDLE
#define N RI_QPS_CONNECTING
#define R RI_QPS_RTS
#define C RI_QPS_CLOSING
#define T RI_QPS_TERMINATE
#define E RI_QPS_ERROR

/* What both tables have. */
static const struct cell common[] = {
	{I, VEM_MOVE_CONNECT, N},     {I, VEM_MOVE_TO_IDLE, I},     {I, VEM_MOVE_TO_ERROR, E},
	{N, VEM_MOVE_UP, R},          {N, VEM_MOVE_FAIL, E},        {N, VEM_MOVE_TO_ERROR, E},
	{N, VEM_MOVE_PEER_CLOSED, E}, {N, VEM_MOVE_LOST, E},        {R, VEM_MOVE_TO_CLOSING, C},
	{R, VEM_MOVE_TO_ERROR, E},    {R, VEM_MOVE_PEER_CLOSED, C}, {R, VEM_MOVE_LOST, E},
	{C, VEM_MOVE_TO_ERROR, E},    {C, VEM_MOVE_CLOSED, E},      {E, VEM_MOVE_TO_IDLE, I},
	{E, VEM_MOVE_TO_ERROR, E},
};
static const struct cell ib_only[] = {{R, VEM_MOVE_FAULT, E}};
static const struct cell iw_only[] = {
	{R, VEM_MOVE_FAULT, T},    {R, VEM_MOVE_PEER_FAULT, T}, {R, VEM_MOVE_TO_TERMINATE, T},
	{T, VEM_MOVE_TO_ERROR, E}, {T, VEM_MOVE_CLOSED, E},
};

static enum ri_qp_state
find(const struct cell *cells, gsize count, unsigned from, unsigned move)
{
	for (gsize i = 0; i < count; i++) {
		if (cells[i].from == from && cells[i].move == move)
			return cells[i].to;
	}
	return RI_QPS_NONE;
}

static void
walk(enum ri_qp_state (*next)(enum ri_qp_state state, enum vem_move move), const struct cell *own,
     gsize num_own)
{
	for (unsigned from = 0; from < RI_QPS_COUNT; from++) {
		for (unsigned move = 0; move < VEM_MOVE_COUNT; move++) {
			enum ri_qp_state want = find(common, G_N_ELEMENTS(common), from, move);
			if (want == RI_QPS_NONE)
				want = find(own, num_own, from, move);
			g_assert_cmpint(next((enum ri_qp_state)from, (enum vem_move)move), ==,
					want);
		}
	}
}

static void
test_ib(void)
{
	walk(vem_ib_next, ib_only, G_N_ELEMENTS(ib_only));
}

static void
test_iwarp(void)
{
	walk(vem_iw_next, iw_only, G_N_ELEMENTS(iw_only));
}

static void
test_flushing(void)
{
	g_assert_false(vem_state_flushes(I));
	g_assert_false(vem_state_flushes(N));
	g_assert_false(vem_state_flushes(R));
	g_assert_true(vem_state_flushes(C));
	g_assert_true(vem_state_flushes(T));
	g_assert_true(vem_state_flushes(E));
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/emul/states/ib", test_ib);
	g_test_add_func("/emul/states/iwarp", test_iwarp);
	g_test_add_func("/emul/states/flushing", test_flushing);
	return g_test_run();
}
