/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Shared receive queues: border cases that model and adapters must agree on, and records that must not pass. */
#include "df_case.h"

/* Two connections from node 0 to node 1, whose endpoints share S-RQ 1. */
#define SHARED                                                       \
	"lmr-create obj=0 pz=0 off=0 len=8192 privs=31\n"            \
	"lmr-create obj=1 pz=1 off=0 len=8192 privs=31\n"            \
	"srq-create obj=1 pz=1 rq=4\n"                               \
	"ep-create ep=0 pz=0 sq=4 rq=4 ird=4 ord=4 enable=8\n"       \
	"ep-create ep=2 pz=0 sq=4 rq=4 ird=4 ord=4 enable=8\n"       \
	"ep-create ep=1 pz=1 srq=2 sq=4 rq=4 ird=4 ord=4 enable=8\n" \
	"ep-create ep=3 pz=1 srq=2 sq=4 rq=4 ird=4 ord=4 enable=8\n" \
	"connect ep=0 peer=1\n"                                      \
	"connect ep=2 peer=3\n"

#define TWO_RECEIVES                           \
	"srq-recv obj=1 flags=1 seg=1+0:100\n" \
	"srq-recv obj=1 flags=1 seg=1+200:100\n"

static void
exchange_cookies(struct df_case *one)
{
	struct df_seen_wr *a = df_case_seen(one, false, 0), *b = df_case_seen(one, false, 1);
	uint64_t cookie = a->cookie;

	a->cookie = b->cookie;
	b->cookie = cookie;
	df_case_object(one, "the message is not in the memory of this receive");
}

/* Which receive takes which message is open; that it has the right one is not. */
static void
test_messages(void)
{
	df_case_agree(SHARED TWO_RECEIVES "send ep=0 flags=1 seg=0+0:80\n"
					  "send ep=2 flags=1 seg=0+400:80\n",
		      DF_HAS(has_srq), exchange_cookies);
	df_case_agree(SHARED TWO_RECEIVES "send ep=0 flags=1 seg=0+0:80\n"
					  "send ep=0 flags=1 seg=0+400:80\n",
		      DF_HAS(has_srq), exchange_cookies);
}

static void
lose_one(struct df_case *one)
{
	const struct df_seen_wr *seen = df_case_seen(one, false, 1);

	g_array_remove_index(one->record->wrs, (unsigned)(seen - DF_SEEN_WR(one->record, 0)));
	df_case_object(one, "with a receive of S-RQ 1 is missing");
}

static void
double_one(struct df_case *one)
{
	struct df_seen_wr copy = *df_case_seen(one, false, 0);

	g_array_append_val(one->record->wrs, copy);
	df_case_object(one, "it came twice");
}

/* A completion that no message has: of the endpoint that got none. */
static void
misname_one(struct df_case *one)
{
	df_case_seen(one, false, 0)->ep = 3;
	df_case_object(one, "no message took this receive of an S-RQ");
}

static void
take_elsewhere(struct df_case *one)
{
	DF_TAKE(one->expected, 0)->wr.srq = 4;
	df_case_object(one, "a receive of another S-RQ");
}

static void
shorten_one(struct df_case *one)
{
	df_case_seen(one, false, 0)->length--;
	df_case_object(one, "wrong length");
}

static void
test_records(void)
{
	static void (*const falsify[])(struct df_case *) = {lose_one, double_one, misname_one,
							    take_elsewhere, shorten_one};

	for (size_t i = 0; i < G_N_ELEMENTS(falsify); i++)
		df_case_agree(SHARED TWO_RECEIVES "send ep=0 flags=1 seg=0+0:80\n"
						  "send ep=0 flags=1 seg=0+400:80\n",
			      DF_HAS(has_srq), falsify[i]);
}

static void
expect_success(struct df_case *one)
{
	g_assert_cmpint(df_case_seen(one, false, 0)->status, ==, IT_DTO_SUCCESS);
}

static void
expect_protection(struct df_case *one)
{
	g_assert_cmpint(df_case_seen(one, false, 0)->status, ==, IT_DTO_ERR_LOCAL_PROTECTION);
}

/* [IT 12.3]: the zone of the S-RQ counts, not the endpoint's. Zones 1 and 3 are of node 1. */
static void
test_zones(void)
{
	static const char world[] = "lmr-create obj=0 pz=0 off=0 len=8192 privs=31\n"
				    "lmr-create obj=1 pz=%d off=0 len=8192 privs=31\n"
				    "srq-create obj=1 pz=3 rq=4\n"
				    "ep-create ep=0 pz=0 sq=4 rq=4 ird=4 ord=4 enable=8\n"
				    "ep-create ep=1 pz=1 srq=2 sq=4 rq=4 ird=4 ord=4 enable=8\n"
				    "connect ep=0 peer=1\n"
				    "srq-recv obj=1 seg=1+0:100\n"
				    "send ep=0 flags=1 seg=0+0:80\n";
	char *of_srq = g_strdup_printf(world, 3), *of_ep = g_strdup_printf(world, 1);

	df_case_agree(of_srq, DF_HAS(has_srq), expect_success);
	df_case_agree(of_ep, DF_HAS(has_srq), expect_protection);
	g_free(of_ep);
	g_free(of_srq);
}

static void
expect_refusals(struct df_case *one)
{
	g_assert_cmpint(DF_SEEN_STEP(one->record, 9)->answer, ==, IT_ERR_INVALID_EP);
	g_assert_cmpint(DF_SEEN_STEP(one->record, 10)->answer, ==, IT_ERR_SRQ_BUSY);
	g_assert_cmpint(DF_SEEN_STEP(one->record, 11)->answer, ==, IT_ERR_INVALID_HANDLE);
	g_assert_cmpint(DF_SEEN_STEP(one->record, 12)->answer, ==, IT_ERR_INVALID_SRQ);
	g_assert_cmpint(DF_SEEN_STEP(one->record, 13)->answer, ==, IT_ERR_INVALID_SRQ);
}

static void
test_refusals(void)
{
	df_case_agree(SHARED "recv ep=1 seg=1+0:8\n"
			     "srq-free obj=1\n"
			     "srq-recv obj=3 seg=1+0:8\n"
			     "srq-free obj=3\n"
			     "ep-create ep=4 pz=0 srq=2 sq=4 rq=4 ird=4 ord=4 enable=8\n",
		      DF_HAS(has_srq), expect_refusals);
}

/* [IT 7.6.3], [IT 12.5]: receives outlive connections, and hold their slots until their completions were taken. */
static void
test_lifetime(void)
{
	df_case_agree(SHARED TWO_RECEIVES "disconnect ep=0\n"
					  "settle\n"
					  "ep-free ep=1\n"
					  "send ep=2 flags=1 seg=0+0:80\n"
					  "send ep=2 flags=1 seg=0+0:60\n"
					  "ep-free ep=3\n"
					  "srq-free obj=1\n"
					  "settle\n",
		      DF_HAS(has_srq), expect_success);
}

static void
expect_full(struct df_case *one)
{
	unsigned last = one->record->steps->len - 1;
	int granted = one->profile.srq[1];

	for (unsigned i = 0; i <= last; i++)
		g_assert_cmpint(DF_SEEN_STEP(one->record, i)->answer, ==,
				(int)i <= granted + 1 ? IT_SUCCESS : IT_ERR_TOO_MANY_POSTS);
}

static void
test_slots(void)
{
	g_autoptr(GString) text = g_string_new("lmr-create obj=1 pz=1 off=0 len=8192 privs=31\n"
					       "srq-create obj=1 pz=1 rq=1\n");
	struct df_profile profile;

	for (int i = 0; df_profile_ask("emul:ib", &profile) && i <= profile.srq[1] && i < DF_DEPTH;
	     i++)
		g_string_append(text, "srq-recv obj=1 seg=1+0:8\n");
	df_case_agree(text->str, DF_HAS(has_srq), expect_full);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/differential/srq/messages", test_messages);
	g_test_add_func("/differential/srq/records", test_records);
	g_test_add_func("/differential/srq/zones", test_zones);
	g_test_add_func("/differential/srq/refusals", test_refusals);
	g_test_add_func("/differential/srq/lifetime", test_lifetime);
	g_test_add_func("/differential/srq/slots", test_slots);
	return g_test_run();
}
