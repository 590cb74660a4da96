/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Walks every cell of the endpoint's state table against a list of its own, written from
 * [IT 4.1], [IT 4.2], [IT 5] and the rulings, one letter per cell.
 */

#include <glib.h>

#include "ual_ep_states.h"

/* Letters of states, in the order of enum ual_ep_state: "-" is not created. */
static const char letters[] = "-U12PWCENOF";

/*
 * One row per state, one cell per enum ual_ep_event: the letter of the next state and of the notice
 * (. none, a arrival, e established, p peer reject, n non-peer reject, d disconnect, b broken);
 * "xx" is IT_ERR_INVALID_EP_STATE, "xr" IT_ERR_CANNOT_RESET, "xt" IT_ERR_INVALID_EP_TYPE.
 *
 *   create create_ud connect accept confirm refuse ask wait undo disconnect reset
 *   reply established rejected failed disconnected broken
 */
static const char *const wanted[UAL_EPS_COUNT] = {
	"U. O. xx xx xx xx xx xx xx xx xx  xx xx xx xx xx xx",
	"xx xx 1. P. xx xx 1. W. xx xx U.  U. U. U. U. U. U.",
	"xx xx xx xx xx xx xx xx U. E. xx  2a Ce Np Nn Nn Nn",
	"xx xx xx xx Ce N. xx xx xx E. xx  2. Ce Nn Nn Nn Nn",
	"xx xx xx xx xx xx xx xx U. E. xx  P. Ce Np Nn Nn Nn",
	"xx xx xx xx xx xx xx xx U. E. xx  W. Ce Nn Nn Nn Nn",
	"xx xx xx xx C. xx xx xx xx E. xx  C. C. Nb Nb Nd Nb",
	"xx xx xx xx xx xx xx xx xx E. xr  E. E. Nd Nd Nd Nd",
	"xx xx xx xx xx xx xx xx xx N. U.  N. N. N. N. N. N.",
	"xx xx xt xt xt xt xt xt xx xt O.  O. O. O. O. O. F.",
	"xx xx xt xt xt xt xt xt xx xt O.  F. F. F. F. F. F.",
};

static enum ual_ep_notice
notice_of(char letter)
{
	static const char all[] = ".aepndb";
	const char *found = strchr(all, letter);

	g_assert_nonnull(found);
	return (enum ual_ep_notice)(found - all);
}

static void
check_cell(unsigned int from, unsigned int event, const char *cell)
{
	enum ual_ep_notice notice = UAL_EPN_COUNT;
	atomic_uint state = from;
	it_status_t status = ual_ep_may(&state, (enum ual_ep_event)event);

	g_assert_cmpuint(atomic_load(&state), ==, from);
	g_assert_cmpint(ual_ep_step(&state, (enum ual_ep_event)event, &notice), ==, status);
	if (cell[0] == 'x') {
		g_assert_cmpint(status, ==,
				cell[1] == 'r'   ? IT_ERR_CANNOT_RESET
				: cell[1] == 't' ? IT_ERR_INVALID_EP_TYPE
						 : IT_ERR_INVALID_EP_STATE);
		g_assert_cmpuint(atomic_load(&state), ==, from);
		g_assert_cmpint(notice, ==, UAL_EPN_COUNT);
		return;
	}
	g_assert_cmpint(status, ==, IT_SUCCESS);
	g_assert_cmpint(letters[atomic_load(&state)], ==, cell[0]);
	g_assert_cmpint(notice, ==, notice_of(cell[1]));
}

static void
test_every_cell(void)
{
	for (unsigned int from = 0; from < UAL_EPS_COUNT; from++) {
		g_auto(GStrv) cells = g_strsplit_set(wanted[from], " ", -1);
		unsigned int event = 0;

		for (char **cell = cells; *cell != NULL; cell++) {
			if (**cell == '\0')
				continue;
			g_test_message("%s, %s", ual_ep_state_name(from), ual_ep_event_name(event));
			check_cell(from, event++, *cell);
		}
		g_assert_cmpuint(event, ==, UAL_EPE_COUNT);
	}
}

/* Random sequences of events: at most one outcome for each attempt, one end for each connection. */
static void
test_one_answer_one_end(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(4711);
	atomic_uint state = UAL_EPS_NONE;
	enum ual_ep_notice notice;
	int answers = 0, ends = 0;
	bool stood = false;

	g_assert_cmpint(ual_ep_step(&state, UAL_EPE_CREATE, NULL), ==, IT_SUCCESS);
	for (int i = 0; i < 200000; i++) {
		enum ual_ep_event event = g_rand_int_range(rand, UAL_EPE_CONNECT, UAL_EPE_COUNT);

		if (ual_ep_step(&state, event, &notice) != IT_SUCCESS)
			continue;
		if (atomic_load(&state) == UAL_EPS_UNCONNECTED) {
			answers = ends = 0;
			stood = false;
		}
		if (notice == UAL_EPN_ESTABLISHED) {
			answers++;
			stood = true;
		} else if (notice == UAL_EPN_DISCONNECT || notice == UAL_EPN_BROKEN) {
			ends += stood;
			answers += !stood;
		} else if (notice == UAL_EPN_PEER_REJECT || notice == UAL_EPN_NONPEER_REJECT) {
			g_assert_false(stood);
			answers++;
		}
		g_assert_cmpint(answers, <=, 1);
		g_assert_cmpint(ends, <=, 1);
		if (atomic_load(&state) == UAL_EPS_NONOPERATIONAL && stood)
			g_assert_cmpint(ends, ==, 1);
	}
}

/* The application sees seven states: ENDING is shown as NONOPERATIONAL. */
static void
test_shown(void)
{
	g_assert_cmpint(ual_ep_state_rc(UAL_EPS_UNCONNECTED), ==, 0);
	g_assert_cmpint(ual_ep_state_rc(UAL_EPS_ACTIVE1), ==, 1);
	g_assert_cmpint(ual_ep_state_rc(UAL_EPS_ACTIVE2), ==, 2);
	g_assert_cmpint(ual_ep_state_rc(UAL_EPS_PASSIVE), ==, 3);
	g_assert_cmpint(ual_ep_state_rc(UAL_EPS_CONNECTED), ==, 4);
	g_assert_cmpint(ual_ep_state_rc(UAL_EPS_NONOPERATIONAL), ==, 5);
	g_assert_cmpint(ual_ep_state_rc(UAL_EPS_ENDING), ==, 5);
	g_assert_cmpint(ual_ep_state_rc(UAL_EPS_WAIT_RDMA), ==, 6);
	g_assert_cmpint(ual_ep_state_ud(UAL_EPS_UD_OPERATIONAL), ==, 1);
	g_assert_cmpint(ual_ep_state_ud(UAL_EPS_UD_NONOPERATIONAL), ==, 0);
	g_assert_cmpint(ual_ep_notice_number(UAL_EPN_ARRIVAL), ==, 0x2001);
	g_assert_cmpint(ual_ep_notice_number(UAL_EPN_ESTABLISHED), ==, 0x2002);
	g_assert_cmpint(ual_ep_notice_number(UAL_EPN_DISCONNECT), ==, 0x2003);
	g_assert_cmpint(ual_ep_notice_number(UAL_EPN_PEER_REJECT), ==, 0x2004);
	g_assert_cmpint(ual_ep_notice_number(UAL_EPN_NONPEER_REJECT), ==, 0x2005);
	g_assert_cmpint(ual_ep_notice_number(UAL_EPN_BROKEN), ==, 0x2006);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ual/ep-states/every-cell", test_every_cell);
	g_test_add_func("/ual/ep-states/one-answer-one-end", test_one_answer_one_end);
	g_test_add_func("/ual/ep-states/shown", test_shown);
	return g_test_run();
}
