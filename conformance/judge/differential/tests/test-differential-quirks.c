/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* What a caller says that a device does otherwise. */
#include <string.h>

#include "df_compare.h"
#include "df_generate.h"
#include "df_model.h"
#include "df_quirks.h"
#include "df_run.h"

#define PATIENCE  60 /* s */
#define MODELLED  60
#define PERFORMED 5
#define HARMLESS  (MODEL_BIT(IT_DTO_SUCCESS) | MODEL_BIT(IT_DTO_ERR_FLUSHED))

static const char *const adapters[] = {"emul:ib", "emul:iwarp", "iwarp"};

/* What a model expects of many programs. */
struct totals {
	unsigned done;             /* requests and receives that succeed */
	unsigned fails;            /* that may end with an error of their own */
	unsigned regions, windows; /* Sends that unlink one, and are made */
	unsigned empty_reads;      /* that may succeed */
};

static void
add_up(struct totals *totals, const struct df_program *program, const struct df_profile *profile)
{
	struct df_expected *expected = df_model_run(program, profile);

	for (unsigned i = 0; i < expected->wrs->len; i++) {
		unsigned statuses = DF_WR(expected, i)->statuses;

		totals->done += statuses == MODEL_BIT(IT_DTO_SUCCESS);
		totals->fails += (statuses & ~HARMLESS) != 0;
		totals->empty_reads += DF_WR(expected, i)->event == IT_DTO_RDMA_READ_CMPL_EVENT &&
				       DF_WR(expected, i)->length == 0 &&
				       (statuses & MODEL_BIT(IT_DTO_SUCCESS)) != 0;
	}
	for (unsigned i = 0; i < expected->takes->len; i++)
		totals->fails += (DF_TAKE(expected, i)->wr.statuses & ~HARMLESS) != 0;
	for (unsigned i = 0; i < program->steps->len; i++) {
		const struct df_step *step = df_program_step(program, i);

		if (step->kind != DF_SEND_UNLINK || DF_STEP(expected, i)->skip)
			continue;
		totals->regions += g_ascii_tolower(step->key.kind) == 'l';
		totals->windows += g_ascii_tolower(step->key.kind) == 'r';
	}
	df_expected_free(expected);
}

static struct totals
totals_of(const struct df_profile *profile, unsigned draw)
{
	struct totals totals = {0};

	for (uint32_t seed = 1; seed <= MODELLED; seed++) {
		struct df_program *program = df_generate(seed, draw);

		add_up(&totals, program, profile);
		df_program_free(program);
	}
	return totals;
}

static void
must_agree(const char *adapter, const struct df_profile *profile, unsigned draw)
{
	for (uint32_t seed = 1; seed <= PERFORMED; seed++) {
		struct df_program *program = df_generate(seed, draw);
		struct df_expected *expected = df_model_run(program, profile);
		struct df_record *record = df_run_program(adapter, program, expected, PATIENCE);

		g_assert_cmpstr(df_compare(expected, record), ==, NULL);
		df_record_free(record);
		df_expected_free(expected);
		df_program_free(program);
	}
}

/* Without requests that fail, most others are still made. */
static void
test_errors(void)
{
	for (size_t i = 0; i < 2 * G_N_ELEMENTS(adapters); i++) {
		unsigned draw = i % 2 == 0 ? 0 : DF_DRAW_WIDE;
		struct df_profile profile;
		struct totals all, rest;

		if (!df_profile_ask(adapters[i / 2], &profile))
			continue; /* not built */
		all = totals_of(&profile, draw);
		df_quirks_add(&profile, "no-errors");
		rest = totals_of(&profile, draw);
		g_assert_cmpuint(all.fails, >, 0);
		g_assert_cmpuint(rest.fails, ==, 0);
		g_assert_cmpuint(rest.done, >, all.done / 2);
		must_agree(adapters[i / 2], &profile, draw);
	}
}

/* Windows are still unlinked where the adapter can. */
static void
test_regions(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(adapters); i++) {
		struct df_profile profile;
		struct totals all, rest;

		if (!df_profile_ask(adapters[i], &profile) || !profile.send_unlink)
			continue;
		all = totals_of(&profile, 0);
		df_quirks_add(&profile, "no-region-unlink");
		rest = totals_of(&profile, 0);
		g_assert_cmpuint(all.regions, >, 0);
		g_assert_cmpuint(rest.regions, ==, 0);
		g_assert_cmpuint(rest.windows > 0, ==, all.windows > 0);
		must_agree(adapters[i], &profile, 0);
	}
}

/* No Read without octets is left, neither of a program nor of the runner. */
static void
test_empty_reads(void)
{
	for (size_t i = 0; i < 2 * G_N_ELEMENTS(adapters); i++) {
		unsigned draw = i % 2 == 0 ? 0 : DF_DRAW_WIDE;
		struct df_profile profile;
		struct totals all, rest;

		if (!df_profile_ask(adapters[i / 2], &profile))
			continue;
		all = totals_of(&profile, draw);
		df_quirks_add(&profile, "no-empty-read");
		rest = totals_of(&profile, draw);
		g_assert_cmpuint(all.empty_reads, >, 0);
		g_assert_cmpuint(rest.empty_reads, ==, 0);
		g_assert_cmpuint(rest.done, >, all.done / 2);
		must_agree(adapters[i / 2], &profile, draw);
	}
}

/* What an endpoint expects of its peer's IRD, and which S-RQs it can have. */
static void
test_expectations(void)
{
	static const char *text = "srq-create obj=0 pz=2 rq=4\n"
				  "ep-create ep=0 pz=0 sq=4 rq=4 ird=4 ord=4 enable=8\n"
				  "ep-create ep=1 pz=1 sq=4 rq=4 ird=2 ord=3 enable=8\n"
				  "connect ep=0 peer=1\n"
				  "ep-create ep=2 pz=0 srq=1 sq=4 rq=4 ird=1 ord=1 enable=8\n";
	char *why;
	struct df_program *program = df_program_read(text, &why);
	struct df_profile profile = {
		.ird_ord = true, .most_ird = DF_DEPTH, .most_ord = DF_DEPTH, .has_srq = true};

	for (int i = 0; i <= DF_DEPTH; i++)
		profile.sq[i] = profile.rq[i] = profile.srq[i] = i;
	for (int i = 0; i < 2; i++) {
		struct df_expected *expected = df_model_run(program, &profile);
		const struct df_settle *last = DF_SETTLEMENT(expected, expected->settles->len - 1);

		g_assert_cmpint(last->ep[0].ord, ==, i == 0 ? 2 : 4);
		g_assert_cmpint(last->ep[1].ord, ==, 3);
		g_assert_cmpint(DF_STEP(expected, 4)->answer.any[0], ==,
				i == 0 ? IT_SUCCESS : IT_ERR_OP_NOT_SUPPORTED);
		df_expected_free(expected);
		df_quirks_add(&profile, "raises-ird,srq-of-zone");
	}
	df_program_free(program);
}

/* The slot of a request without a completion may be free when it is done, or later: a post that needs it is left out. */
static void
test_early_slots(void)
{
	static const char *text = "ep-create ep=0 pz=0 sq=2 rq=4 ird=4 ord=4 enable=8\n"
				  "ep-create ep=1 pz=1 sq=2 rq=4 ird=4 ord=4 enable=8\n"
				  "connect ep=0 peer=1\n"
				  "recv ep=1 flags=1\n"
				  "recv ep=1 flags=1\n"
				  "recv ep=1 flags=1\n"
				  "send ep=0 flags=0\n"
				  "send ep=0 flags=1\n"
				  "send ep=0 flags=1\n";
	char *why;
	struct df_program *program = df_program_read(text, &why);
	struct df_profile profile;

	for (int i = 0; i < 2 && df_profile_ask("emul:ib", &profile); i++) {
		struct df_expected *expected;

		if (i == 1)
			df_quirks_add(&profile, "early-slots");
		expected = df_model_run(program, &profile);
		g_assert_false(DF_STEP(expected, 7)->skip);
		g_assert_true(DF_STEP(expected, 8)->skip == (i == 1));
		if (i == 0)
			g_assert_cmpint(DF_STEP(expected, 8)->answer.any[0], ==,
					IT_ERR_TOO_MANY_POSTS);
		df_expected_free(expected);
	}
	df_program_free(program);
}

/* A Send without a completion is done, and is told as flushed at the end of the connection. */
static void
test_late_flush(void)
{
	static const char *text = "ep-create ep=0 pz=0 sq=4 rq=4 ird=4 ord=4 enable=8\n"
				  "ep-create ep=1 pz=1 sq=4 rq=4 ird=4 ord=4 enable=8\n"
				  "connect ep=0 peer=1\n"
				  "recv ep=1 flags=1\n"
				  "send ep=0 flags=0\n"
				  "settle\n"
				  "disconnect ep=1\n";
	char *why;
	struct df_program *program = df_program_read(text, &why);
	struct df_profile profile;

	for (int i = 0; i < 2 && df_profile_ask("emul:ib", &profile); i++) {
		struct df_seen_wr flush = {.event = IT_DTO_SEND_CMPL_EVENT,
					   .status = IT_DTO_ERR_FLUSHED,
					   .life = 1,
					   .request = true};
		struct df_expected *expected;
		struct df_record *record;

		if (i == 1)
			df_quirks_add(&profile, "late-flush");
		expected = df_model_run(program, &profile);
		record = df_run_program("emul:ib", program, expected, PATIENCE);
		g_assert_cmpstr(df_compare(expected, record), ==, NULL);
		flush.cookie = DF_WR(expected, 1)->cookie;
		flush.settle = DF_WR(expected, 1)->settle + 1;
		g_array_append_val(record->wrs, flush);
		why = df_compare(expected, record);
		g_assert_true((why == NULL) == (i == 1));
		g_assert_true(i == 1 || strstr(why, "it came too late") != NULL);
		g_free(why);
		/* But nothing else may come as late. */
		g_array_index(record->wrs, struct df_seen_wr, record->wrs->len - 1).status =
			IT_DTO_ERR_LOCAL_EP;
		why = df_compare(expected, record);
		g_assert_nonnull(strstr(why, "it came too late"));
		g_free(why);
		df_record_free(record);
		df_expected_free(expected);
	}
	df_program_free(program);
}

static void
test_words(void)
{
	g_assert_true(df_quirks_known(NULL));
	g_assert_true(df_quirks_known("all-solicited"));
	g_assert_true(df_quirks_known("all-solicited,no-errors"));
	g_assert_false(df_quirks_known("all-solicited,no-error"));
	g_assert_false(df_quirks_known("all-solicited,,no-errors"));
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/differential/quirks/errors", test_errors);
	g_test_add_func("/differential/quirks/regions", test_regions);
	g_test_add_func("/differential/quirks/empty-reads", test_empty_reads);
	g_test_add_func("/differential/quirks/expectations", test_expectations);
	g_test_add_func("/differential/quirks/early-slots", test_early_slots);
	g_test_add_func("/differential/quirks/late-flush", test_late_flush);
	g_test_add_func("/differential/quirks/words", test_words);
	return g_test_run();
}
