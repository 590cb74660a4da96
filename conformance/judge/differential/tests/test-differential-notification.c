/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Dispatchers with threshold 0 [IT 6.2.4]: which completions notify, and records that must not pass. */
#include "df_case.h"

#define WORLD                                                  \
	"lmr-create obj=0 pz=0 off=0 len=8192 privs=31\n"      \
	"lmr-create obj=1 pz=1 off=0 len=8192 privs=31\n"      \
	"ep-create ep=0 pz=0 sq=4 rq=4 ird=4 ord=4 enable=8\n" \
	"ep-create ep=1 pz=1 sq=4 rq=4 ird=4 ord=4 enable=8\n" \
	"connect ep=0 peer=1\n"                                \
	"threshold obj=0 how=0 a=0\n"                          \
	"threshold obj=1 how=1 a=0\n"

/* IT_COMPLETION_FLAG 1, IT_NOTIFY_FLAG 2, IT_SOLICITED_WAIT_FLAG 4. */
#define RECEIVE(flags) "recv ep=1 flags=" flags " seg=1+0:64\n"
#define SEND(flags)    "send ep=0 flags=" flags " seg=0+0:8\n"

static void
expect(struct df_case *one, int requests, int receives)
{
	struct df_seen_settle *last = DF_SEEN(one->record, one->record->settles->len - 1);

	g_assert_cmpint(last->notified[0][0], ==, requests);
	g_assert_cmpint(last->notified[1][1], ==, receives);
	last->notified[0][0] = !requests;
	df_case_object(one, requests ? "of requests of node 0 was not notified"
				     : "of requests of node 0 was notified");
	last->notified[0][0] = requests;
	last->notified[1][1] = !receives;
	df_case_object(one, receives ? "of receives of node 1 was not notified"
				     : "of receives of node 1 was notified");
}

static void
expect_none(struct df_case *one)
{
	expect(one, 0, 0);
}

static void
expect_request(struct df_case *one)
{
	expect(one, 1, 0);
}

static void
expect_receive(struct df_case *one)
{
	expect(one, 0, 1);
}

static void
test_flags(void)
{
	g_assert_cmpint(IT_COMPLETION_FLAG, ==, 1);
	g_assert_cmpint(IT_NOTIFY_FLAG, ==, 2);
	g_assert_cmpint(IT_SOLICITED_WAIT_FLAG, ==, 4);
	df_case_agree(WORLD RECEIVE("1") SEND("1"), DF_ANY, expect_none);
	df_case_agree(WORLD RECEIVE("1") SEND("3"), DF_ANY, expect_request);
	df_case_agree(WORLD RECEIVE("3") SEND("1"), DF_ANY, expect_receive);
	df_case_agree(WORLD RECEIVE("1") SEND("5"), DF_ANY, expect_receive);
}

/* A request without IT_COMPLETION_FLAG that succeeds has no event, so its IT_NOTIFY_FLAG does nothing. */
static void
test_suppressed(void)
{
	df_case_agree(WORLD RECEIVE("0") SEND("2"), DF_ANY, expect_none);
	df_case_agree(WORLD RECEIVE("0") SEND("4"), DF_ANY, expect_receive);
}

/* One of several is enough, also if it is not the first. */
static void
test_several(void)
{
	df_case_agree(WORLD RECEIVE("1") RECEIVE("1") SEND("1") SEND("5"), DF_ANY, expect_receive);
	df_case_agree(WORLD RECEIVE("1") RECEIVE("1") SEND("1") SEND("3"), DF_ANY, expect_request);
}

static void
expect_error(struct df_case *one)
{
	const struct df_seen_settle *last = DF_SEEN(one->record, one->record->settles->len - 1);

	g_assert_cmpint(last->notified[0][0], ==, 1);
	g_assert_cmpint(df_case_seen(one, true, 0)->status, ==, IT_DTO_ERR_FLUSHED);
}

/* A completion with an error notifies without a flag: a request that is posted after the end of its connection. */
static void
test_error(void)
{
	df_case_agree(WORLD "disconnect ep=0\n"
			    "settle\n" SEND("0"),
		      DF_ANY, expect_error);
}

/* The receives of an S-RQ: the flag of the receive, or of the message. */
static void
test_shared(void)
{
#define SHARED                                                       \
	"srq-create obj=1 pz=1 rq=4\n"                               \
	"ep-create ep=2 pz=0 sq=4 rq=4 ird=4 ord=4 enable=8\n"       \
	"ep-create ep=3 pz=1 srq=2 sq=4 rq=4 ird=4 ord=4 enable=8\n" \
	"connect ep=2 peer=3\n"
	df_case_agree(WORLD SHARED "srq-recv obj=1 flags=1 seg=1+0:64\n"
				   "send ep=2 flags=5 seg=0+0:8\n",
		      DF_HAS(has_srq), expect_receive);
	df_case_agree(WORLD SHARED "srq-recv obj=1 flags=3 seg=1+0:64\n"
				   "send ep=2 flags=1 seg=0+0:8\n",
		      DF_HAS(has_srq), expect_receive);
	df_case_agree(WORLD SHARED "srq-recv obj=1 flags=1 seg=1+0:64\n"
				   "send ep=2 flags=1 seg=0+0:8\n",
		      DF_HAS(has_srq), expect_none);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/differential/notification/flags", test_flags);
	g_test_add_func("/differential/notification/suppressed", test_suppressed);
	g_test_add_func("/differential/notification/several", test_several);
	g_test_add_func("/differential/notification/error", test_error);
	g_test_add_func("/differential/notification/shared", test_shared);
	return g_test_run();
}
