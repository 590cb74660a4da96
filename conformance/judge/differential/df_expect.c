/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "df_expect.h"

static void
settle_clear(gpointer data)
{
	struct df_settle *settle = data;

	g_array_unref(settle->cm);
	g_array_unref(settle->probes);
	g_array_unref(settle->async);
	g_array_unref(settle->unaff);
	for (int i = 0; i < DF_NODES; i++) {
		g_free(settle->memory[i]);
		g_free(settle->vague[i]);
	}
}

static void
take_clear(gpointer data)
{
	struct df_take *take = data;

	g_free(take->octets);
	g_free(take->vague);
}

static void
seen_settle_clear(gpointer data)
{
	struct df_seen_settle *settle = data;

	g_array_unref(settle->cm);
	g_array_unref(settle->async);
	g_array_unref(settle->unaff);
	for (int i = 0; i < DF_NODES; i++)
		g_free(settle->memory[i]);
}

struct df_expected *
df_expected_new(void)
{
	struct df_expected *expected = g_new0(struct df_expected, 1);

	expected->steps = g_array_new(FALSE, TRUE, sizeof(struct df_step_expect));
	expected->wrs = g_array_new(FALSE, TRUE, sizeof(struct df_wr));
	expected->takes = g_array_new(FALSE, TRUE, sizeof(struct df_take));
	g_array_set_clear_func(expected->takes, take_clear);
	expected->settles = g_array_new(FALSE, TRUE, sizeof(struct df_settle));
	g_array_set_clear_func(expected->settles, settle_clear);
	return expected;
}

void
df_expected_free(struct df_expected *expected)
{
	g_array_unref(expected->steps);
	g_array_unref(expected->wrs);
	g_array_unref(expected->takes);
	g_array_unref(expected->settles);
	g_free(expected);
}

struct df_record *
df_record_new(void)
{
	struct df_record *record = g_new0(struct df_record, 1);

	record->steps = g_array_new(FALSE, TRUE, sizeof(struct df_seen_step));
	record->wrs = g_array_new(FALSE, TRUE, sizeof(struct df_seen_wr));
	record->settles = g_array_new(FALSE, TRUE, sizeof(struct df_seen_settle));
	g_array_set_clear_func(record->settles, seen_settle_clear);
	return record;
}

void
df_record_free(struct df_record *record)
{
	g_array_unref(record->steps);
	g_array_unref(record->wrs);
	g_array_unref(record->settles);
	g_free(record->teardown);
	g_free(record->strange);
	g_free(record);
}
