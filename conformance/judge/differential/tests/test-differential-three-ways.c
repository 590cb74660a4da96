/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Connections in three ways: each way to answer the accept, and records that must not pass. */
#include "df_case.h"

#define WORLD                                                  \
	"lmr-create obj=0 pz=0 off=0 len=8192 privs=31\n"      \
	"lmr-create obj=1 pz=1 off=0 len=8192 privs=31\n"      \
	"ep-create ep=0 pz=0 sq=4 rq=4 ird=4 ord=4 enable=8\n" \
	"ep-create ep=1 pz=1 sq=4 rq=4 ird=2 ord=1 enable=8\n" \
	"recv ep=0 flags=1 seg=0+0:64\n"                       \
	"recv ep=1 flags=1 seg=1+0:64\n"

static void
expect_connected(struct df_case *one)
{
	struct df_seen_step *connect = DF_SEEN_STEP(one->record, 6);
	const struct df_seen_settle *first = DF_SEEN(one->record, 1);

	g_assert_true(connect->third_made);
	g_assert_cmpint(first->ep[0].state, ==, IT_EP_STATE_CONNECTED);
	g_assert_cmpint(first->ep[1].state, ==, IT_EP_STATE_CONNECTED);
	g_assert_cmpint(first->ep[0].ord, ==, 2);
	connect->third = IT_ERR_INVALID_CN_EST_ID;
	df_case_object(one, "the answer to the accept answered");
	connect->third = IT_SUCCESS;
	connect->third_made = false;
	df_case_object(one, "the answer to the accept was not made");
}

static void
test_accepted(void)
{
	df_case_agree(WORLD "connect ep=0 peer=1 how=2\n"
			    "send ep=0 flags=1 seg=0+100:8\n"
			    "send ep=1 flags=1 seg=1+100:8\n",
		      DF_HAS(three_way), expect_connected);
}

/* The event of the endpoint in the first settlement, and none of the other one beside it. */
static void
expect_event(struct df_case *one, int ep, it_event_type_t number, unsigned events)
{
	GArray *cm = DF_SEEN(one->record, 1)->cm;
	bool found = false;

	g_assert_cmpuint(cm->len, ==, events);
	for (unsigned i = 0; i < cm->len; i++)
		found |= g_array_index(cm, struct df_seen_cm, i).ep == ep &&
			 g_array_index(cm, struct df_seen_cm, i).event == number;
	g_assert_true(found);
	g_assert_cmpint(df_case_seen(one, false, 0)->status, ==, IT_DTO_ERR_FLUSHED);
	g_assert_cmpint(df_case_seen(one, false, 1)->status, ==, IT_DTO_ERR_FLUSHED);
}

static void
expect_refused(struct df_case *one)
{
	struct df_seen_cm more = {.ep = 0, .event = IT_CM_MSG_CONN_PEER_REJECT_EVENT};

	expect_event(one, 1, IT_CM_MSG_CONN_PEER_REJECT_EVENT, 1);
	g_array_append_val(DF_SEEN(one->record, 1)->cm, more);
	df_case_object(one, "of endpoint 0, expected is none");
}

static void
test_refused(void)
{
	df_case_agree(WORLD "connect ep=0 peer=1 how=3\n"
			    "reset ep=0\n"
			    "reset ep=1\n"
			    "connect ep=1 peer=0 how=2\n",
		      DF_HAS(three_way), expect_refused);
}

static void
expect_aborted(struct df_case *one)
{
	expect_event(one, 0, IT_CM_MSG_CONN_DISCONNECT_EVENT, 2);
	expect_event(one, 1, IT_CM_MSG_CONN_NONPEER_REJECT_EVENT, 2);
	DF_SEEN(one->record, 1)->ep[1].state = IT_EP_STATE_CONNECTED;
	df_case_object(one, "endpoint 1 is in state");
}

static void
test_aborted(void)
{
	df_case_agree(WORLD "connect ep=0 peer=1 how=4\n"
			    "reset ep=0\n"
			    "reset ep=1\n"
			    "connect ep=0 peer=1 how=0\n",
		      DF_HAS(three_way), expect_aborted);
}

/* The passive side does not see which way it is: its reject ends the attempt before there is an accept. */
static void
test_not_accepted(void)
{
	df_case_agree(WORLD "ep-create ep=3 pz=1 sq=4 rq=4 ird=4 ord=4 enable=8\n"
			    "ep-create ep=2 pz=0 sq=4 rq=4 ird=4 ord=4 enable=8\n"
			    "connect ep=2 peer=3 how=2\n"
			    "connect ep=0 peer=3 how=2\n",
		      DF_ANY, NULL);
}

static void
expect_support(struct df_case *one)
{
	g_assert_cmpint(DF_SEEN_STEP(one->record, 6)->answer, ==,
			one->profile.three_way ? IT_SUCCESS : IT_ERR_INVALID_CN_EST_FLAGS);
}

static void
test_support(void)
{
	df_case_agree(WORLD "connect ep=0 peer=1 how=2\n", DF_ANY, expect_support);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/differential/three-ways/accepted", test_accepted);
	g_test_add_func("/differential/three-ways/refused", test_refused);
	g_test_add_func("/differential/three-ways/aborted", test_aborted);
	g_test_add_func("/differential/three-ways/not-accepted", test_not_accepted);
	g_test_add_func("/differential/three-ways/support", test_support);
	return g_test_run();
}
