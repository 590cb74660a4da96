/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Changes of what lives on: cases that model and adapters must agree on, and records that must not pass. */
#include "df_case.h"

#define WORLD                                                  \
	"lmr-create obj=0 pz=0 off=0 len=8192 privs=31\n"      \
	"lmr-create obj=1 pz=1 off=0 len=8192 privs=31\n"      \
	"ep-create ep=0 pz=0 sq=2 rq=1 ird=4 ord=4 enable=0\n" \
	"ep-create ep=1 pz=1 sq=8 rq=8 ird=2 ord=1 enable=3\n"
#define ONCE                    \
	"connect ep=0 peer=1\n" \
	"disconnect ep=0\n"     \
	"reset ep=0\n"          \
	"reset ep=1\n"

static struct df_seen_step *
step_of(const struct df_case *one, unsigned line)
{
	return DF_SEEN_STEP(one->record, line);
}

static void
expect_new_rights(struct df_case *one)
{
	it_status_t changed =
		one->profile.enables_modifiable ? IT_SUCCESS : IT_ERR_OP_NOT_SUPPORTED;

	g_assert_cmpint(step_of(one, 8)->answer, ==, changed);
	step_of(one, 8)->answer = IT_ERR_INVALID_EP;
	df_case_object(one, "answered");
	step_of(one, 8)->answer = changed;
	g_assert_cmpint(DF_SEEN(one->record, one->record->settles->len - 1)->ep[1].state, ==,
			one->profile.enables_modifiable ? IT_EP_STATE_CONNECTED
							: IT_EP_STATE_NONOPERATIONAL);
}

/* The peer may write in the second life what it might not write in the first. */
static void
test_rights(void)
{
	df_case_agree(WORLD ONCE "ep-modify ep=0 flags=4 enable=3\n"
				 "connect ep=0 peer=1\n"
				 "write ep=1 flags=1 off=64 seg=1+0:8 key=l0\n",
		      DF_ANY, expect_new_rights);
}

static void
expect_depths(struct df_case *one)
{
	struct df_seen_settle *last = DF_SEEN(one->record, one->record->settles->len - 1);
	int ord = one->profile.ird_ord && !one->profile.raises_ird ? 2 : 3;

	g_assert_cmpint(last->ep[0].ord, ==, ord);
	last->ep[0].ord = 4;
	df_case_object(one, "has ORD 4 instead of");
}

/* A lower ORD is what the next connection negotiates with, and what a reset gives back. */
static void
test_depths(void)
{
	df_case_agree(WORLD ONCE "ep-modify ep=0 flags=16 ord=3\n"
				 "connect ep=0 peer=1\n",
		      DF_ANY, expect_depths);
	df_case_agree(WORLD ONCE "ep-modify ep=0 flags=16 ord=3\n"
				 "ep-modify ep=1 flags=8 ird=4\n" ONCE "connect ep=0 peer=1\n",
		      DF_HAS(ird_modifiable), NULL);
}

static void
expect_receives(struct df_case *one)
{
	for (unsigned line = 9; line < 17; line++)
		g_assert_cmpint(step_of(one, line)->answer, ==, IT_SUCCESS);
	g_assert_cmpint(df_case_seen(one, false, 3)->status, ==, IT_DTO_SUCCESS);
	df_case_seen(one, false, 3)->cookie++;
	df_case_object(one, "");
}

/* A queue that grew keeps its order, and takes as much as a new one of that size. */
static void
test_queues(void)
{
	df_case_agree(WORLD ONCE "ep-modify ep=0 flags=3 sq=8 rq=8\n"
				 "recv ep=0 flags=1 seg=0+0:8\n"
				 "recv ep=0 flags=1 seg=0+8:8\n"
				 "recv ep=0 flags=1 seg=0+16:8\n"
				 "recv ep=0 flags=1 seg=0+24:8\n"
				 "recv ep=0 flags=1 seg=0+32:8\n"
				 "recv ep=0 flags=1 seg=0+40:8\n"
				 "recv ep=0 flags=1 seg=0+48:8\n"
				 "recv ep=0 flags=1 seg=0+56:8\n"
				 "connect ep=0 peer=1\n"
				 "send ep=1 flags=1 seg=1+0:8\n"
				 "send ep=1 flags=1 seg=1+8:8\n"
				 "send ep=1 flags=1 seg=1+16:8\n"
				 "ep-modify ep=0 flags=2 rq=5\n"
				 "send ep=1 flags=1 seg=1+24:8\n",
		      DF_HAS(wq_resizable), expect_receives);
}

static void
expect_sizes(struct df_case *one)
{
	g_assert_cmpint(step_of(one, 4)->answer, ==, IT_SUCCESS);
	g_assert_cmpint(step_of(one, 8)->answer, ==, IT_SUCCESS);
	g_assert_cmpint(step_of(one, 9)->answer, ==, IT_ERR_INVALID_SRQ);
	step_of(one, 8)->answer = IT_ERR_INVALID_SRQ_SIZE;
	df_case_object(one, "answered");
}

static void
test_srq(void)
{
	df_case_agree(WORLD "srq-create obj=1 pz=1 rq=2\n"
			    "srq-recv obj=1 seg=1+0:100\n"
			    "srq-recv obj=1 seg=1+100:100\n"
			    "srq-recv obj=1 seg=1+200:100\n"
			    "srq-size obj=1 rq=8\n"
			    "srq-size obj=3 rq=8\n"
			    "srq-recv obj=1 seg=1+200:100\n"
			    "ep-free ep=1\n"
			    "ep-create ep=1 pz=1 srq=2 sq=8 rq=8 ird=2 ord=1 enable=3\n"
			    "connect ep=0 peer=1\n"
			    "send ep=0 flags=1 seg=0+0:8\n",
		      DF_HAS(srq_resizable), expect_sizes);
}

static void
expect_deaf(struct df_case *one)
{
	struct df_seen_settle *refused = DF_SEEN(one->record, 0);

	g_assert_cmpuint(refused->cm->len, ==, 1);
	g_assert_cmpint(g_array_index(refused->cm, struct df_seen_cm, 0).event, ==,
			IT_CM_MSG_CONN_NONPEER_REJECT_EVENT);
	g_array_index(refused->cm, struct df_seen_cm, 0).event = IT_CM_MSG_CONN_PEER_REJECT_EVENT;
	df_case_object(one, "endpoint 0");
}

/* Nobody listens; later somebody does, at the same port. */
static void
test_listen(void)
{
	df_case_agree(WORLD "listen obj=1 how=0\n"
			    "connect ep=0 peer=1\n"
			    "reset ep=0\n"
			    "listen obj=1 how=1\n"
			    "recv ep=1 flags=1 seg=1+0:8\n"
			    "connect ep=0 peer=1\n"
			    "send ep=0 flags=1 seg=0+0:8\n",
		      DF_ANY, expect_deaf);
}

/* A dispatcher that changes its size loses nothing, and wakes as before. */
static void
test_dispatchers(void)
{
	df_case_agree(WORLD "recv ep=1 flags=1 seg=1+0:8\n"
			    "threshold obj=1 how=1 a=0\n"
			    "evd-size obj=1 how=1 a=700\n"
			    "evd-size obj=0 how=0 a=300\n"
			    "evd-size obj=0 how=2 a=300\n"
			    "evd-size obj=1 how=3 a=1500\n"
			    "connect ep=0 peer=1\n"
			    "send ep=0 flags=1 seg=0+0:8\n",
		      DF_ANY, NULL);
}

static void
test_refusals(void)
{
	df_case_agree(WORLD "ep-modify ep=2 flags=1 sq=4\n"
			    "ep-modify ep=0 flags=0\n"
			    "connect ep=0 peer=1\n"
			    "ep-modify ep=0 flags=32 payload=100\n"
			    "disconnect ep=0\n"
			    "settle\n"
			    "ep-modify ep=0 flags=16 ord=1\n",
		      DF_ANY, NULL);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/differential/changes/rights", test_rights);
	g_test_add_func("/differential/changes/depths", test_depths);
	g_test_add_func("/differential/changes/queues", test_queues);
	g_test_add_func("/differential/changes/srq", test_srq);
	g_test_add_func("/differential/changes/listen", test_listen);
	g_test_add_func("/differential/changes/dispatchers", test_dispatchers);
	g_test_add_func("/differential/changes/refusals", test_refusals);
	return g_test_run();
}
