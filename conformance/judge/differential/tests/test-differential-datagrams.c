/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Datagrams: border cases that model and adapters must agree on, and records that must not pass. */
#include <string.h>

#include "df_case.h"

/* Datagram endpoint 0 on node 0 and 1 on node 1, address handle 0 from there to here. */
#define WORLD                                             \
	"lmr-create obj=0 pz=0 off=0 len=8192 privs=31\n" \
	"lmr-create obj=1 pz=1 off=0 len=8192 privs=31\n" \
	"ud-create obj=0 pz=0 sq=4 rq=4\n"                \
	"ud-create obj=1 pz=1 sq=4 rq=4\n"                \
	"ah-create obj=0 pz=0 peer=1\n"

#define RECEIVE "ud-recv obj=1 flags=1 seg=1+0:104\n"

static void
expect_arrival(struct df_case *one)
{
	struct df_seen_settle *last = DF_SEEN(one->record, one->record->settles->len - 1);
	struct df_seen_wr *seen = df_case_seen(one, false, 0);

	g_assert_cmpint(seen->length, ==, 104);
	g_assert_cmpint(seen->ep, ==, DF_EPS + 1);
	g_assert_cmpmem(last->memory[1] + 40, 64, last->memory[0] + 100, 64);
	last->memory[1][103] ^= 1;
	df_case_object(one, "octet 103 of node 1");
	last->memory[1][103] ^= 1;
	seen->length = 64;
	df_case_object(one, "wrong length, expected is 104");
	seen->length = 104;
	seen->ep = DF_EPS + 3;
	df_case_object(one, "another endpoint is named");
	seen->ep = DF_EPS + 1;
	last->ud[1] = IT_EP_STATE_UD_NONOPERATIONAL;
	df_case_object(one, "datagram endpoint 1 is in state");
}

/* The receive is as long as the datagram and the header area. */
static void
test_arrives(void)
{
	df_case_agree(WORLD RECEIVE "ud-send obj=0 peer=1 lmr=0 flags=1 seg=0+100:64\n",
		      DF_HAS(datagrams), expect_arrival);
}

/* Two requests have completed with success, and the one receive has the second datagram. */
static void
expect_second(struct df_case *one)
{
	g_assert_cmpint(df_case_seen(one, true, 0)->status, ==, IT_DTO_SUCCESS);
	g_assert_cmpint(df_case_seen(one, true, 1)->status, ==, IT_DTO_SUCCESS);
	g_assert_cmpint(df_case_seen(one, false, 0)->length, ==, 48);
	df_case_seen(one, false, 0)->length = 105;
	df_case_object(one, "wrong length, expected is 48");
}

/* [IT 5.4]: too long for the receive, with a wrong key. */
static void
test_dropped(void)
{
	static const char *const first[] = {
		"ud-send obj=0 peer=1 lmr=0 flags=1 seg=0+100:65\n",
		"ud-send obj=0 peer=1 lmr=0 how=1 flags=1 seg=0+100:64\n",
	};

	for (size_t i = 0; i < G_N_ELEMENTS(first); i++) {
		char *text = g_strdup_printf("%s%s%sud-send obj=0 peer=1 lmr=0 flags=1 seg=0+0:8\n",
					     WORLD, RECEIVE, first[i]);

		df_case_agree(text, DF_HAS(datagrams), expect_second);
		g_free(text);
	}
}

static void
expect_failure(struct df_case *one)
{
	g_assert_cmpint(df_case_seen(one, true, 0)->status, ==, IT_DTO_ERR_LOCAL_PROTECTION);
	g_assert_cmpint(df_case_seen(one, true, 1)->status, ==, IT_DTO_ERR_FLUSHED);
	g_assert_cmpint(df_case_seen(one, true, 2)->status, ==, IT_DTO_SUCCESS);
	g_assert_cmpint(df_case_seen(one, false, 0)->status, ==, IT_DTO_ERR_FLUSHED);
	df_case_seen(one, false, 0)->status = IT_DTO_SUCCESS;
	df_case_object(one, "wrong status");
}

/* A Send beyond its region ends the endpoint and flushes both queues, until a reset [IT 5.3]. */
static void
test_fails(void)
{
	df_case_agree(WORLD RECEIVE "ud-recv obj=0 seg=0+0:64\n"
				    "ud-send obj=0 peer=1 lmr=0 flags=0 seg=0+8190:3\n"
				    "ud-send obj=0 peer=1 lmr=0 flags=0 seg=0+0:8\n"
				    "ud-reset obj=0\n"
				    "ud-send obj=0 peer=1 lmr=0 flags=1 seg=0+0:8\n",
		      DF_HAS(datagrams), expect_failure);
}

static void
expect_refusals(struct df_case *one)
{
	static const it_status_t answers[] = {IT_ERR_INVALID_AH, IT_ERR_INVALID_AH,
					      IT_ERR_INVALID_AH, IT_ERR_INVALID_EP};
	unsigned first = one->record->steps->len - G_N_ELEMENTS(answers);

	for (unsigned i = 0; i < G_N_ELEMENTS(answers); i++)
		g_assert_cmpint(DF_SEEN_STEP(one->record, first + i)->answer, ==, answers[i]);
}

/* No handle, one of another zone, one that is freed; an endpoint that is not there. */
static void
test_refusals(void)
{
	df_case_agree(WORLD "ah-create obj=2 pz=2 peer=1\n"
			    "ud-send obj=0 peer=1 lmr=2 flags=1\n"
			    "ah-free obj=1\n"
			    "ud-send obj=0 peer=1 lmr=1 flags=1\n"
			    "ud-recv obj=3\n",
		      DF_HAS(datagrams), expect_refusals);
}

static void
expect_support(struct df_case *one)
{
	for (unsigned i = 2; i < one->record->steps->len; i++)
		g_assert_cmpint(DF_SEEN_STEP(one->record, i)->answer, ==,
				one->profile.datagrams ? IT_SUCCESS : IT_ERR_OP_NOT_SUPPORTED);
}

static void
test_support(void)
{
	df_case_agree(WORLD, DF_ANY, expect_support);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/differential/datagrams/arrives", test_arrives);
	g_test_add_func("/differential/datagrams/dropped", test_dropped);
	g_test_add_func("/differential/datagrams/fails", test_fails);
	g_test_add_func("/differential/datagrams/refusals", test_refusals);
	g_test_add_func("/differential/datagrams/support", test_support);
	return g_test_run();
}
