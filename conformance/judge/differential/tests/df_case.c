/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "df_case.h"

#include <string.h>

#define PATIENCE 25 /* s */

static void
case_run(struct df_case *one, const struct df_program *program, void (*look)(struct df_case *))
{
	char *why;

	one->expected = df_model_run(program, &one->profile);
	for (unsigned i = 0; i < one->expected->steps->len; i++)
		g_assert_false(DF_STEP(one->expected, i)->skip);
	one->record = df_run_program(one->adapter, program, one->expected, PATIENCE);
	why = df_compare(one->expected, one->record);
	g_assert_cmpstr(why, ==, NULL);
	if (look != NULL)
		look(one);
	df_record_free(one->record);
	df_expected_free(one->expected);
}

void
df_case_agree(const char *text, size_t offset, void (*look)(struct df_case *))
{
	static const char *const adapters[] = {"emul:ib", "emul:iwarp", "iwarp"};
	unsigned performed = 0;
	char *why;

	for (size_t i = 0; i < G_N_ELEMENTS(adapters); i++) {
		struct df_program *program = df_program_read(text, &why);
		struct df_case one = {.adapter = adapters[i]};

		g_assert_cmpstr(why, ==, NULL);
		if (df_profile_ask(adapters[i], &one.profile) &&
		    (offset == DF_ANY || *((const bool *)&one.profile + offset))) {
			case_run(&one, program, look);
			performed++;
		}
		df_program_free(program);
	}
	if (performed == 0)
		g_test_skip("no adapter that is built has this ability");
}

void
df_case_object(const struct df_case *one, const char *complaint)
{
	g_autofree char *text = df_compare(one->expected, one->record);

	g_assert_nonnull(text);
	if (strstr(text, complaint) == NULL)
		g_assert_cmpstr(text, ==, complaint);
}

struct df_seen_wr *
df_case_seen(const struct df_case *one, bool request, unsigned nth)
{
	for (unsigned i = 0; i < one->record->wrs->len; i++) {
		struct df_seen_wr *seen = DF_SEEN_WR(one->record, i);

		if (seen->request == request && seen->cookie < DF_PROBE && nth-- == 0)
			return seen;
	}
	g_assert_not_reached();
}
