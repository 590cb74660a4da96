/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Rulings that random programs seldom reach: what the model and every adapter say of them. */
#include "df_compare.h"
#include "df_model.h"
#include "df_run.h"

#define PATIENCE 60 /* s */

#define WORLD                                             \
	"lmr-create obj=0 pz=0 off=0 len=8192 privs=31\n" \
	"lmr-create obj=1 pz=1 off=0 len=8192 privs=31 how=1\n"

/* The request of the last step fails, in the model and on every adapter. */
static void
must_fail(const char *text)
{
	static const char *const adapters[] = {"emul:ib", "emul:iwarp", "iwarp"};
	char *why;

	for (size_t i = 0; i < G_N_ELEMENTS(adapters); i++) {
		struct df_program *program = df_program_read(text, &why);
		unsigned last = program->steps->len - 1;
		struct df_profile own;
		struct df_expected *expected;
		struct df_record *record;
		const struct df_wr *wr = NULL;

		if (!df_profile_ask(adapters[i], &own)) {
			df_program_free(program);
			continue; /* not built */
		}
		expected = df_model_run(program, &own);
		g_assert_false(DF_STEP(expected, last)->skip);
		for (unsigned k = 0; k < expected->wrs->len; k++) {
			if (DF_WR(expected, k)->step == (int)last)
				wr = DF_WR(expected, k);
		}
		g_assert_nonnull(wr);
		if (own.remote_status)
			g_assert_cmphex(wr->statuses & MODEL_BIT(IT_DTO_SUCCESS), ==, 0);
		g_assert_cmphex(wr->statuses & ~MODEL_BIT(IT_DTO_SUCCESS), !=, 0);
		record = df_run_program(adapters[i], program, expected, PATIENCE);
		why = df_compare(expected, record);
		g_assert_cmpstr(why, ==, NULL);
		df_record_free(record);
		df_expected_free(expected);
		df_program_free(program);
	}
}

/* the peer enables only writing, or only atomics. */
static void
test_rights(void)
{
	must_fail(WORLD "ep-create ep=0 pz=0 sq=4 rq=4 ird=4 ord=4 enable=8\n"
			"ep-create ep=1 pz=1 sq=4 rq=4 ird=4 ord=4 enable=2\n"
			"connect ep=0 peer=1\n"
			"read ep=0 flags=1 key=l1\n");
	must_fail(WORLD "ep-create ep=0 pz=0 sq=4 rq=4 ird=4 ord=4 enable=8\n"
			"ep-create ep=1 pz=1 sq=4 rq=4 ird=4 ord=4 enable=4\n"
			"connect ep=0 peer=1\n"
			"recv ep=1 flags=1 seg=1+0:64\n"
			"send-unlink ep=0 flags=1 seg=0+0:8 key=l1\n");
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/differential/rulings/r-38-r-39-rights", test_rights);
	return g_test_run();
}
