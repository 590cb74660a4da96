/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Every state with every step, against a list of the test's own. What is not listed must mean nothing. */
#include <glib.h>
#include <stdbool.h>

#include "vrc_states.h"

#define S(name_) VRC_STATE_##name_
#define T(name_) VRC_STEP_##name_
#define D(name_) VRC_DO_##name_

static const struct {
	enum vrc_state state;
	enum vrc_step step;
	enum vrc_state next;
	enum vrc_action action;
} rows[] = {
	/* clang-format off */
	{S(NEW), T(CALL_CONNECT), S(REQ_SENT), D(SEND)},
	{S(NEW), T(CALL_RESOLVE), S(SIDR_SENT), D(SEND)},
	{S(NEW), T(REQ), S(REQ_RCVD), D(ASK)},
	{S(NEW), T(SIDR_REQ), S(SIDR_RCVD), D(ASK)},
	/* The active side, until the REP. */
	{S(REQ_SENT), T(REP), S(REP_RCVD), D(REPLY)},       {S(REQ_HELD), T(REP), S(REP_RCVD), D(REPLY)},
	{S(REQ_SENT), T(REJ), S(OVER), D(REJECTED)},        {S(REQ_HELD), T(REJ), S(OVER), D(REJECTED)},
	{S(REQ_SENT), T(MRA), S(REQ_HELD), D(HOLD)},        {S(REQ_HELD), T(MRA), S(REQ_HELD), D(HOLD)},
	{S(REQ_SENT), T(AGAIN), S(REQ_SENT), D(REPEAT)},    {S(REQ_HELD), T(AGAIN), S(REQ_SENT), D(REPEAT)},
	{S(REP_RCVD), T(REP), S(REP_RCVD), D(SEND_MRA)},
	{S(REP_RCVD), T(REJ), S(OVER), D(REJECTED)},
	{S(REP_RCVD), T(DREQ), S(TIMEWAIT), D(DREP_FAIL)},
	{S(REP_RCVD), T(CALL_CONFIRM), S(ESTABLISHED), D(CONFIRM)},
	{S(REP_RCVD), T(CALL_REFUSE), S(TIMEWAIT), D(SEND_ONCE)},
	{S(REP_RCVD), T(DEADLINE), S(TIMEWAIT), D(TIME_OUT)},
	{S(REP_RCVD), T(CALL_DISCONNECT), S(TIMEWAIT), D(DROP)},
	{S(REP_RCVD), T(CALL_ABANDON), S(TIMEWAIT), D(DROP)},
	/* The passive side, until the RTU. */
	{S(REQ_RCVD), T(REQ), S(REQ_RCVD), D(SEND_MRA)},
	{S(REQ_RCVD), T(REJ), S(OVER), D(GONE)},
	{S(REQ_RCVD), T(SILENCE), S(OVER), D(GONE)},
	{S(REQ_RCVD), T(CALL_ACCEPT), S(REP_SENT), D(SEND)},
	{S(REQ_RCVD), T(CALL_REJECT), S(ANSWERED), D(SEND_ONCE)},
	{S(REP_SENT), T(REQ), S(REP_SENT), D(REPEAT)},      {S(REP_HELD), T(REQ), S(REP_HELD), D(REPEAT)},
	{S(REP_SENT), T(MRA), S(REP_HELD), D(HOLD)},        {S(REP_HELD), T(MRA), S(REP_HELD), D(HOLD)},
	{S(REP_SENT), T(RTU), S(ESTABLISHED), D(UP)},       {S(REP_HELD), T(RTU), S(ESTABLISHED), D(UP)},
	{S(REP_SENT), T(DATA), S(ESTABLISHED), D(UP)},      {S(REP_HELD), T(DATA), S(ESTABLISHED), D(UP)},
	{S(REP_SENT), T(REJ), S(TIMEWAIT), D(REJECTED)},    {S(REP_HELD), T(REJ), S(TIMEWAIT), D(REJECTED)},
	{S(REP_SENT), T(DREQ), S(TIMEWAIT), D(UP_AND_DOWN)}, {S(REP_HELD), T(DREQ), S(TIMEWAIT), D(UP_AND_DOWN)},
	{S(REP_SENT), T(AGAIN), S(REP_SENT), D(REPEAT)},    {S(REP_HELD), T(AGAIN), S(REP_SENT), D(REPEAT)},
	/* Attempts of both sides that come to nothing. */
	{S(REQ_SENT), T(SILENCE), S(TIMEWAIT), D(TIME_OUT)},     {S(REQ_HELD), T(SILENCE), S(TIMEWAIT), D(TIME_OUT)},
	{S(REP_SENT), T(SILENCE), S(TIMEWAIT), D(TIME_OUT)},     {S(REP_HELD), T(SILENCE), S(TIMEWAIT), D(TIME_OUT)},
	{S(REQ_SENT), T(DEADLINE), S(TIMEWAIT), D(TIME_OUT)},    {S(REQ_HELD), T(DEADLINE), S(TIMEWAIT), D(TIME_OUT)},
	{S(REP_SENT), T(DEADLINE), S(TIMEWAIT), D(TIME_OUT)},    {S(REP_HELD), T(DEADLINE), S(TIMEWAIT), D(TIME_OUT)},
	{S(REQ_SENT), T(CALL_DISCONNECT), S(TIMEWAIT), D(DROP)}, {S(REQ_HELD), T(CALL_DISCONNECT), S(TIMEWAIT), D(DROP)},
	{S(REP_SENT), T(CALL_DISCONNECT), S(TIMEWAIT), D(DROP)}, {S(REP_HELD), T(CALL_DISCONNECT), S(TIMEWAIT), D(DROP)},
	{S(REQ_SENT), T(CALL_ABANDON), S(TIMEWAIT), D(DROP)},    {S(REQ_HELD), T(CALL_ABANDON), S(TIMEWAIT), D(DROP)},
	{S(REP_SENT), T(CALL_ABANDON), S(TIMEWAIT), D(DROP)},    {S(REP_HELD), T(CALL_ABANDON), S(TIMEWAIT), D(DROP)},
	/* Connections and their end. */
	{S(ESTABLISHED), T(REP), S(ESTABLISHED), D(RTU_AGAIN)},
	{S(ESTABLISHED), T(REJ), S(TIMEWAIT), D(BROKEN)},
	{S(ESTABLISHED), T(DREQ), S(TIMEWAIT), D(DREP)},
	{S(ESTABLISHED), T(STALE), S(DREQ_SENT), D(STALE)},
	{S(ESTABLISHED), T(CALL_DISCONNECT), S(DREQ_SENT), D(LEAVE)},
	{S(ESTABLISHED), T(CALL_ABANDON), S(DREQ_SENT), D(LEAVE)},
	{S(DREQ_SENT), T(DREP), S(TIMEWAIT), D(LEFT)},
	{S(DREQ_SENT), T(DREQ), S(TIMEWAIT), D(DREP)},
	{S(DREQ_SENT), T(REJ), S(TIMEWAIT), D(LEFT)},
	{S(DREQ_SENT), T(AGAIN), S(DREQ_SENT), D(REPEAT)},
	{S(DREQ_SENT), T(SILENCE), S(TIMEWAIT), D(LEFT)},
	{S(DREQ_SENT), T(CALL_ABANDON), S(DREQ_SENT), D(NOTHING)},
	{S(TIMEWAIT), T(REQ), S(TIMEWAIT), D(REJ_STALE)},
	{S(TIMEWAIT), T(REP), S(TIMEWAIT), D(REPEAT)},
	{S(TIMEWAIT), T(RTU), S(TIMEWAIT), D(REPEAT)},
	{S(TIMEWAIT), T(DREQ), S(TIMEWAIT), D(DREP_AGAIN)},
	{S(TIMEWAIT), T(SILENCE), S(OVER), D(FORGET)},
	{S(TIMEWAIT), T(CALL_ABANDON), S(TIMEWAIT), D(NOTHING)},
	{S(ANSWERED), T(REQ), S(ANSWERED), D(REPEAT)},
	{S(ANSWERED), T(SIDR_REQ), S(ANSWERED), D(REPEAT)},
	{S(ANSWERED), T(SILENCE), S(OVER), D(NOTHING)},
	{S(ANSWERED), T(CALL_ABANDON), S(ANSWERED), D(NOTHING)},
	/* Queries. */
	{S(SIDR_SENT), T(SIDR_REP), S(OVER), D(SERVICE)},
	{S(SIDR_SENT), T(AGAIN), S(SIDR_SENT), D(REPEAT)},
	{S(SIDR_SENT), T(SILENCE), S(OVER), D(NO_SERVICE)},
	{S(SIDR_SENT), T(DEADLINE), S(OVER), D(NO_SERVICE)},
	{S(SIDR_SENT), T(CALL_ABANDON), S(OVER), D(NOTHING)},
	{S(SIDR_RCVD), T(SIDR_REQ), S(SIDR_RCVD), D(WAIT_ON)},
	{S(SIDR_RCVD), T(SILENCE), S(OVER), D(GONE)},
	{S(SIDR_RCVD), T(CALL_ANSWER), S(ANSWERED), D(SEND_ONCE)},
	{S(OVER), T(CALL_ABANDON), S(OVER), D(NOTHING)},
	/* clang-format on */
};

static void
test_every_pair(void)
{
	guint found = 0;

	for (int state = S(NONE); state < VRC_STATE_COUNT; state++) {
		for (int step = 0; step < VRC_STEP_COUNT; step++) {
			enum vrc_state want = S(NONE);
			enum vrc_action want_action = D(NOTHING);
			enum vrc_action action;

			for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
				if ((int)rows[i].state != state || (int)rows[i].step != step)
					continue;
				want = rows[i].next;
				want_action = rows[i].action;
				found++;
			}
			enum vrc_state next =
				vrc_state_next((enum vrc_state)state, (enum vrc_step)step, &action);
			if (next != want || action != want_action)
				g_error("state %d, step %d: to %d by action %d", state, step,
					(int)next, (int)action);
		}
	}
	g_assert_cmpuint(found, ==, G_N_ELEMENTS(rows));
}

/* From every state but OVER time alone leads on, or the owner or the peer has to act. */
static void
test_nothing_lasts(void)
{
	for (int state = S(NEW); state < S(OVER); state++) {
		enum vrc_action action;
		bool waits = state == S(NEW) || state == S(REP_RCVD) || state == S(ESTABLISHED);

		g_assert(waits ==
			 (vrc_state_next((enum vrc_state)state, T(SILENCE), &action) == S(NONE)));
	}
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/roce/cm/states/every-pair", test_every_pair);
	g_test_add_func("/roce/cm/states/nothing-lasts", test_nothing_lasts);
	return g_test_run();
}
