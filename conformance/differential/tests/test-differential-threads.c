/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Programs at the same time on the same IAs: each shows what it shows alone, and a wrong record is that of one alone. */
#include <string.h>

#include "df_compare.h"
#include "df_generate.h"
#include "df_model.h"
#include "df_threads.h"

#define THREADS  4
#define ROUNDS   3
#define PATIENCE 60 /* s */

static const char *const adapters[] = {"emul:ib", "emul:iwarp", "iwarp"};

/* Run programs of seeds from `first` on; the caller frees the threads' members. False: no such adapter. */
static bool
run(const char *adapter, uint32_t first, bool same, struct df_thread *threads)
{
	struct df_profile profile;

	if (!df_profile_ask(adapter, &profile))
		return false;
	for (unsigned i = 0; i < THREADS; i++) {
		threads[i].program = df_generate(first + (same ? 0 : i), true);
		threads[i].expected = df_model_run(threads[i].program, &profile);
	}
	g_assert_true(df_threads_run(adapter, threads, THREADS, PATIENCE));
	return true;
}

static void
done(struct df_thread *threads)
{
	for (unsigned i = 0; i < THREADS; i++) {
		df_record_free(threads[i].record);
		df_expected_free((struct df_expected *)threads[i].expected);
		df_program_free((struct df_program *)threads[i].program);
	}
}

static void
all_agree(const struct df_thread *threads)
{
	for (unsigned i = 0; i < THREADS; i++) {
		char *why = df_compare(threads[i].expected, threads[i].record);

		g_assert_cmpstr(why, ==, NULL);
	}
}

/* Different programs, and the same one several times: the same sizes, keys' places and cookies. */
static void
test_agree(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(adapters); i++) {
		for (uint32_t round = 0; round < 2 * ROUNDS; round++) {
			struct df_thread threads[THREADS] = {{.expected = NULL}};

			if (!run(adapters[i], 1 + round * THREADS, round % 2 == 0, threads))
				break;
			all_agree(threads);
			done(threads);
		}
	}
}

/* The records of two different programs, exchanged, satisfy neither. */
static void
test_objects(void)
{
	struct df_thread threads[THREADS] = {{.expected = NULL}};
	struct df_record *record;

	if (!run(adapters[0], 1, false, threads)) {
		g_test_skip("the adapter is not built");
		return;
	}
	record = threads[1].record;
	threads[1].record = threads[2].record;
	threads[2].record = record;
	for (unsigned i = 0; i < THREADS; i++) {
		bool wrong = i == 1 || i == 2;
		char *why = threads[i].record->steps->len == threads[i].expected->steps->len
				    ? df_compare(threads[i].expected, threads[i].record)
				    : g_strdup("of another program");

		g_assert_true((why != NULL) == wrong);
		g_free(why);
	}
	done(threads);
}

static void
test_no_adapter(void)
{
	struct df_thread threads[THREADS] = {{.expected = NULL}};

	g_assert_false(df_threads_run("no such adapter", threads, THREADS, PATIENCE));
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/differential/threads/agree", test_agree);
	g_test_add_func("/differential/threads/objects", test_objects);
	g_test_add_func("/differential/threads/no-adapter", test_no_adapter);
	return g_test_run();
}
