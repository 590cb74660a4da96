/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Watermarks: border cases that model and adapters must agree on, and records that must not pass. */
#include "df_case.h"

/* Endpoint 1 takes the receives of S-RQ 1, with these watermarks; four of them are posted. */
#define SHARED(limits)                                                         \
	"lmr-create obj=0 pz=0 off=0 len=8192 privs=31\n"                      \
	"lmr-create obj=1 pz=1 off=0 len=8192 privs=31\n"                      \
	"srq-create obj=1 pz=1 rq=8\n"                                         \
	"ep-create ep=0 pz=0 sq=8 rq=4 ird=4 ord=4 enable=8\n"                 \
	"ep-create ep=1 pz=1 srq=2 sq=4 rq=4 ird=4 ord=4 enable=8" limits "\n" \
	"connect ep=0 peer=1\n"                                                \
	"srq-recv obj=1 seg=1+0:100\n"                                         \
	"srq-recv obj=1 seg=1+100:100\n"                                       \
	"srq-recv obj=1 seg=1+200:100\n"                                       \
	"srq-recv obj=1 seg=1+300:100\n"
#define SEND "send ep=0 flags=1 seg=0+0:50\n"

/* The settlement that has the n-th event of the kind. */
static struct df_seen_settle *
settlement_with(const struct df_case *one, it_event_type_t event, unsigned *at)
{
	for (unsigned i = 0; i < one->record->settles->len; i++) {
		struct df_seen_settle *seen = DF_SEEN(one->record, i);

		for (*at = 0; *at < seen->async->len; (*at)++) {
			if (g_array_index(seen->async, struct df_seen_async, *at).event == event)
				return seen;
		}
	}
	return NULL;
}

static unsigned
count_of(const struct df_case *one, it_event_type_t event)
{
	unsigned count = 0;

	for (unsigned i = 0; i < one->record->settles->len; i++) {
		const GArray *all = DF_SEEN(one->record, i)->async;

		for (unsigned k = 0; k < all->len; k++)
			count += g_array_index(all, struct df_seen_async, k).event == event;
	}
	return count;
}

/* It came once. Twice, or not at all, must not pass. */
static void
expect_once(struct df_case *one, it_event_type_t event)
{
	struct df_seen_async copy;
	struct df_seen_settle *seen;
	unsigned at;

	g_assert_cmpuint(count_of(one, event), ==, 1);
	seen = settlement_with(one, event, &at);
	copy = g_array_index(seen->async, struct df_seen_async, at);
	g_array_append_val(seen->async, copy);
	df_case_object(one, "which is not due");
	g_array_set_size(seen->async, seen->async->len - 1);
	g_array_remove_index(seen->async, at);
	df_case_object(one, "is missing");
}

static void
expect_low(struct df_case *one)
{
	expect_once(one, IT_ASYNC_AFF_SRQ_LOW_WATERMARK);
}

static void
expect_no_low(struct df_case *one)
{
	const struct df_seen_async none = {.event = IT_ASYNC_AFF_SRQ_LOW_WATERMARK, .place = 1};
	struct df_seen_settle *last = DF_SEEN(one->record, one->record->settles->len - 1);

	g_assert_cmpuint(count_of(one, IT_ASYNC_AFF_SRQ_LOW_WATERMARK), ==, 0);
	g_assert_cmpint(last->low[1], ==, 3);
	last->low[1] = 0;
	df_case_object(one, "has the low watermark 0 instead of 3");
	last->low[1] = 3;
	g_array_append_val(last->async, none);
	df_case_object(one, "which is not due");
}

static void
test_low(void)
{
	/* Three are not fewer than three; two are, once; the watermark may be passed when it is set. */
	df_case_agree(SHARED("") "srq-limit obj=1 a=3\n" SEND, DF_HAS(low_watermark),
		      expect_no_low);
	df_case_agree(SHARED("") "srq-limit obj=1 a=3\n" SEND SEND "settle\n" SEND,
		      DF_HAS(low_watermark), expect_low);
	df_case_agree(SHARED("") "srq-limit obj=1 a=5\nsettle\n" SEND, DF_HAS(low_watermark),
		      expect_low);
}

static void
expect_soft(struct df_case *one)
{
	expect_once(one, IT_ASYNC_AFF_EP_SOFT_HI_WATERMARK);
}

static void
expect_no_soft(struct df_case *one)
{
	g_assert_cmpuint(count_of(one, IT_ASYNC_AFF_EP_SOFT_HI_WATERMARK), ==, 0);
}

static void
test_soft(void)
{
	df_case_agree(SHARED(" soft=2") SEND SEND "settle\n" SEND, DF_HAS(soft_watermark),
		      expect_no_soft);
	df_case_agree(SHARED(" soft=2") SEND SEND SEND "settle\n" SEND, DF_HAS(soft_watermark),
		      expect_soft);
	df_case_agree(SHARED("") SEND "ep-limit ep=1 how=1 soft=1\n" SEND SEND,
		      DF_HAS(soft_watermark), expect_soft);
}

static void
expect_broken(struct df_case *one)
{
	const struct df_seen_settle *last = DF_SEEN(one->record, one->record->settles->len - 1);
	struct df_seen_wr *second = df_case_seen(one, false, 1);

	g_assert_cmpint(second->status, ==, IT_DTO_SUCCESS);
	g_assert_cmpint(last->ep[1].state, ==, IT_EP_STATE_NONOPERATIONAL);
	second->status = IT_DTO_ERR_FLUSHED;
	df_case_object(one, "wrong status");
}

static void
expect_standing(struct df_case *one)
{
	const struct df_seen_settle *last = DF_SEEN(one->record, one->record->settles->len - 1);

	g_assert_cmpint(last->ep[1].state, ==, IT_EP_STATE_CONNECTED);
}

/* Two may be in progress: a third message ends the connection, unless completions were taken before. */
static void
test_hard(void)
{
	df_case_agree(SHARED(" hard=2") SEND SEND SEND, DF_HAS(hard_watermark), expect_broken);
	df_case_agree(SHARED(" hard=2") SEND SEND "settle\n" SEND SEND, DF_HAS(hard_watermark),
		      expect_standing);
}

static void
test_values(void)
{
	df_case_agree(SHARED("") "srq-limit obj=1 a=4000\n"
				 "srq-limit obj=3 a=1\n"
				 "ep-limit ep=0 how=3 soft=1 hard=2\n"
				 "ep-limit ep=1 how=3 soft=3 hard=2\n"
				 "ep-limit ep=1 how=2 hard=3\n"
				 "ep-limit ep=1 how=1 soft=4\n"
				 "ep-limit ep=3 how=1 soft=4\n",
		      DF_HAS(has_srq), NULL);
}

static void
expect_error_of_end(struct df_case *one)
{
	const struct df_seen_async error = {.event = IT_ASYNC_AFF_EP_L_ACCESS_VIOLATION,
					    .place = 1};
	struct df_seen_settle *first = DF_SEEN(one->record, 0);
	struct df_seen_settle *last = DF_SEEN(one->record, one->record->settles->len - 1);
	char *text;

	g_array_append_val(last->async, error);
	text = df_compare(one->expected, one->record);
	g_assert_cmpstr(text, ==, NULL);
	g_array_append_val(first->async, error);
	df_case_object(one, "IT_ASYNC_AFF_EP_L_ACCESS_VIOLATION of endpoint 1, which is not due");
}

/* An error of an endpoint belongs to its end, not to a connection that stands. */
static void
test_errors(void)
{
	df_case_agree("ep-create ep=0 pz=0 sq=4 rq=4 ird=4 ord=4 enable=8\n"
		      "ep-create ep=1 pz=1 sq=4 rq=4 ird=4 ord=4 enable=8\n"
		      "connect ep=0 peer=1\n"
		      "disconnect ep=0\n",
		      DF_ANY, expect_error_of_end);
}

/*
 * A message that exceeds the hard watermark ends the connection. A message in the other direction
 * that is still in transit need not arrive then, so the test waits for it first.
 */
static void
test_both_ways(void)
{
	static const char text[] =
		"lmr-create obj=0 pz=0 off=0 len=8192 privs=31\n"
		"lmr-create obj=1 pz=1 off=0 len=8192 privs=31\n"
		"srq-create obj=0 pz=0 rq=8\n"
		"srq-create obj=1 pz=1 rq=8\n"
		"ep-create ep=0 pz=0 srq=1 sq=8 rq=4 ird=4 ord=4 enable=8\n"
		"ep-create ep=1 pz=1 srq=2 sq=4 rq=4 ird=4 ord=4 enable=8 hard=1\n"
		"connect ep=0 peer=1\n"
		"srq-recv obj=0 seg=0+0:100\n"
		"srq-recv obj=1 seg=1+0:100\n"
		"srq-recv obj=1 seg=1+100:100\n"
		"send ep=1 seg=1+0:50\n" SEND SEND;
	struct df_expected *expected;
	struct df_program *program;
	struct df_profile profile;
	char *why = NULL;

	if (!df_profile_ask("emul:ib", &profile)) {
		g_test_skip("the adapter is not built");
		return;
	}
	program = df_program_read(text, &why);
	g_assert_cmpstr(why, ==, NULL);
	expected = df_model_run(program, &profile);
	g_assert_false(DF_STEP(expected, expected->steps->len - 2)->settle_before);
	g_assert_false(DF_STEP(expected, expected->steps->len - 1)->skip);
	g_assert_true(DF_STEP(expected, expected->steps->len - 1)->settle_before);
	df_expected_free(expected);
	df_program_free(program);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/differential/watermarks/low", test_low);
	g_test_add_func("/differential/watermarks/soft", test_soft);
	g_test_add_func("/differential/watermarks/hard", test_hard);
	g_test_add_func("/differential/watermarks/values", test_values);
	g_test_add_func("/differential/watermarks/errors", test_errors);
	g_test_add_func("/differential/watermarks/both-ways", test_both_ways);
	return g_test_run();
}
