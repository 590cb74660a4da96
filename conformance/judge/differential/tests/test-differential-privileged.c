/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Privileged operations: border cases that model and adapters must agree on, and records that must not pass. */
#include <sched.h>
#include <unistd.h>

#include "df_case.h"
#include "df_generate.h"
#include "df_list.h"

/* Endpoint 0 may do them, its peer may not; region 2 is reserved for 16 pieces. */
#define WORLD                                                         \
	"lmr-create obj=0 pz=0 off=0 len=8192 privs=31\n"             \
	"lmr-create obj=1 pz=1 off=0 len=8192 privs=31\n"             \
	"ep-create ep=0 pz=0 sq=4 rq=4 ird=4 ord=4 enable=8 priv=1\n" \
	"ep-create ep=1 pz=1 sq=4 rq=4 ird=4 ord=4 enable=8\n"        \
	"connect ep=0 peer=1\n"                                       \
	"lmr-reserve obj=2 pz=0 a=16\n"

/* The second link is flushed: its endpoint has no connection any more. */
#define FLUSHED_LINK                                                  \
	"ep-create ep=2 pz=0 sq=4 rq=4 ird=4 ord=4 enable=8 priv=1\n" \
	"connect ep=2 peer=3\n"                                       \
	"lmr-link obj=2 off=0 len=100 privs=31 list=1 ep=0 flags=1\n" \
	"lmr-link obj=2 off=0 len=200 privs=31 list=1 ep=2 flags=1\n"

static void
expect_octets(struct df_case *one)
{
	const struct df_seen_settle *last = DF_SEEN(one->record, one->record->settles->len - 1);
	uint8_t *at = last->memory[0] + DF_ARENA + 1104;

	g_assert_cmpmem(at, 1200, last->memory[1], 1200);
	at[600] ^= 1;
	df_case_object(one, "of node 0 is");
}

/* For each list of pages: a Write of the peer is placed across the pieces, and is refused after the unlink. */
static void
test_shapes(void)
{
	for (int list = DF_LONG_PAGES; list < DF_LISTS; list++) {
		g_autofree char *text =
			g_strdup_printf(WORLD "lmr-link obj=2 off=1000 len=1500 privs=31 "
					      "list=%d ep=0 flags=1\n"
					      "write ep=1 flags=1 off=104 seg=1+0:1200 key=l2\n"
					      "lmr-unlink obj=2 ep=0 flags=1\n"
					      "settle\n"
					      "write ep=1 flags=1 off=0 seg=1+0:8 key=l2\n",
					list);

		df_case_agree(text, DF_HAS(privileged), expect_octets);
	}
}

static void
expect_fault(struct df_case *one)
{
	struct df_seen_wr *seen = df_case_seen(one, true, 1);

	g_assert_cmpint(seen->status, ==, IT_DTO_ERR_LOCAL_MM_OPERATION);
	seen->status = IT_DTO_SUCCESS;
	df_case_object(one, "wrong status");
}

static void
test_linked_twice(void)
{
	df_case_agree(WORLD "lmr-link obj=2 off=0 len=100 privs=31 list=1 ep=0 flags=1\n"
			    "lmr-link obj=2 off=0 len=100 privs=31 list=1 ep=0 flags=1\n",
		      DF_HAS(privileged), expect_fault);
}

/*
 * A link that is flushed changes the handle and not the memory, and the key of the previous link
 * may stay valid. So the model does not predict the result of a Read by that key.
 */
static void
test_former_key(void)
{
	static const char *const texts[] = {
		WORLD FLUSHED_LINK "settle\nread ep=1 flags=1 off=0 seg=1+0:8 key=L2\n",
		WORLD FLUSHED_LINK "read ep=1 flags=1 off=0 seg=1+0:8 key=l2\n",
		WORLD FLUSHED_LINK "read ep=1 flags=1 off=0 seg=1+0:8 key=L1\n",
	};
	static const bool skipped[] = {true, true, false};
	struct df_profile profile;

	if (!df_profile_ask("emul:ib", &profile)) {
		g_test_skip("the adapter is not built");
		return;
	}
	for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
		char *why = NULL;
		struct df_program *program = df_program_read(texts[i], &why);
		struct df_expected *expected;

		g_assert_cmpstr(why, ==, NULL);
		expected = df_model_run(program, &profile);
		g_assert_cmpint(DF_STEP(expected, expected->steps->len - 1)->skip, ==, skipped[i]);
		df_expected_free(expected);
		df_program_free(program);
	}
}

static void
expect_last(struct df_case *one, it_status_t status)
{
	struct df_seen_step *seen = DF_SEEN_STEP(one->record, one->record->steps->len - 1);

	g_assert_cmpint(seen->answer, ==, status);
	seen->answer = IT_ERR_ABORT;
	df_case_object(one, "the call answered IT_ERR_ABORT");
}

static void
expect_bad_list(struct df_case *one)
{
	expect_last(one, IT_ERR_INVALID_IOBL);
}

static void
expect_closed(struct df_case *one)
{
	expect_last(one, IT_ERR_PRIV_OPS_UNAVAILABLE);
}

static void
expect_busy(struct df_case *one)
{
	expect_last(one, IT_ERR_LMR_BUSY);
}

static void
test_refusals(void)
{
	/* One piece too many; no memory reserved; no endpoint for it; a window is open. */
	df_case_agree(WORLD "lmr-link obj=2 off=0 len=2049 privs=31 list=2 ep=0 flags=1\n",
		      DF_HAS(privileged), expect_bad_list);
	df_case_agree(WORLD "lmr-reserve obj=4 pz=0 a=0\n", DF_HAS(privileged), expect_bad_list);
	df_case_agree(WORLD "lmr-reserve obj=3 pz=1 a=4\n"
			    "lmr-link obj=3 off=0 len=100 privs=31 list=1 ep=1 flags=1\n",
		      DF_HAS(privileged), expect_closed);
	df_case_agree(WORLD "rmr-create obj=0 pz=0 how=1\n"
			    "lmr-link obj=2 off=0 len=100 privs=31 list=1 ep=0 flags=1\n"
			    "rmr-link obj=0 lmr=2 off=0 len=100 privs=12 ep=0 flags=1\n"
			    "lmr-unlink obj=2 ep=0 flags=1\n",
		      DF_HAS(privileged), expect_busy);
}

static void
expect_message(struct df_case *one)
{
	const struct df_seen_settle *last = DF_SEEN(one->record, one->record->settles->len - 1);

	g_assert_cmpmem(last->memory[1] + 50, 100, last->memory[0] + 9000, 100);
	last->memory[1][60] ^= 1;
	df_case_object(one, "octet 60 of node 1");
}

/* I/O addresses reach memory that no region has. */
static void
test_direct(void)
{
	df_case_agree(WORLD "recv ep=1 seg=1+50:100\n"
			    "send ep=0 flags=1 seg=8+9000:100\n",
		      DF_HAS(privileged), expect_message);
	df_case_agree(WORLD "write ep=1 flags=1 seg=9+0:100 key=l0\n", DF_HAS(privileged),
		      expect_closed);
}

/* Where an adapter has none of it, each call says so; with the ability, the model says what happens. */
static void
test_anywhere(void)
{
	df_case_agree("lmr-reserve obj=2 pz=0 a=16\n"
		      "lmr-create obj=4 pz=0 off=0 len=100 privs=31 list=1\n"
		      "ep-create ep=0 pz=0 sq=4 rq=4 ird=4 ord=4 enable=8 priv=1\n"
		      "recv ep=0 seg=8+0:8\n",
		      DF_ANY, NULL);
}

/* Printing and parsing a program keeps the fields of privileged operations; memory outside of the arena is refused. */
static void
test_text(void)
{
	static const char *const wrong[] = {
		"lmr-link obj=2 ep=0 len=10",
		"lmr-link obj=8 ep=0 len=10 list=1",
		"lmr-link obj=1 len=9000 list=1",
		"lmr-reserve obj=0 a=65",
		"send ep=0 seg=8+16380:8",
		"send ep=0 seg=8-1:8",
		"send ep=0 seg=10+0:8",
		"lmr-create obj=0 off=8000 len=400 list=1",
		"ep-create ep=0 sq=1 rq=1 priv=2",
	};
	char *why = NULL;

	for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
		g_assert_null(df_program_read(wrong[i], &why));
		g_clear_pointer(&why, g_free);
	}
	for (uint32_t seed = 1; seed <= 50; seed++) {
		struct df_program *first = df_generate(seed, DF_DRAW_WIDE | DF_DRAW_PRIVILEGED);
		char *text = df_program_text(first), *round;
		struct df_program *back = df_program_read(text, &why);

		g_assert_cmpstr(why, ==, NULL);
		round = df_program_text(back);
		g_assert_cmpstr(text, ==, round);
		g_free(round);
		g_free(text);
		df_program_free(back);
		df_program_free(first);
	}
}

int
main(int argc, char **argv)
{
	/* CAP_NET_ADMIN, which each user has in a namespace of its own. */
	if (geteuid() != 0)
		(void)unshare(CLONE_NEWUSER);
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/differential/privileged/shapes", test_shapes);
	g_test_add_func("/differential/privileged/linked-twice", test_linked_twice);
	g_test_add_func("/differential/privileged/former-key", test_former_key);
	g_test_add_func("/differential/privileged/refusals", test_refusals);
	g_test_add_func("/differential/privileged/direct", test_direct);
	g_test_add_func("/differential/privileged/anywhere", test_anywhere);
	g_test_add_func("/differential/privileged/text", test_text);
	return g_test_run();
}
