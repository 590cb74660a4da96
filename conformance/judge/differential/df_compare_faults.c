/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Compares unaffiliated events (each once, in order, with the right spigot), which spigots are
 * online, and which adapters report that they have failed. No event reports the failure of an
 * adapter [IT 14.7].
 */
#include "df_compare.h"
#include "it_ext.h"

/* The n-th of a node; NULL: there are fewer. */
static const struct df_unaff *
expected_at(const struct df_settle *expect, int node, unsigned nth)
{
	for (unsigned i = 0; i < expect->unaff->len; i++) {
		const struct df_unaff *one = &g_array_index(expect->unaff, struct df_unaff, i);

		if (one->node == node && nth-- == 0)
			return one;
	}
	return NULL;
}

static const struct df_seen_unaff *
seen_at(const struct df_seen_settle *seen, int node, unsigned nth)
{
	for (unsigned i = 0; i < seen->unaff->len; i++) {
		const struct df_seen_unaff *one =
			&g_array_index(seen->unaff, struct df_seen_unaff, i);

		if (one->node == node && nth-- == 0)
			return one;
	}
	return NULL;
}

static char *
compare_unaff(const struct df_settle *expect, const struct df_seen_settle *seen, int node,
	      int settle)
{
	for (unsigned i = 0;; i++) {
		const struct df_unaff *due = expected_at(expect, node, i);
		const struct df_seen_unaff *came = seen_at(seen, node, i);

		if (due == NULL && came == NULL)
			return NULL;
		if (due == NULL)
			return g_strdup_printf("settlement %d: unaffiliated event %s of node %d, "
					       "which is not due",
					       settle, it_event_name(came->event), node);
		if (came == NULL)
			return g_strdup_printf(
				"settlement %d: unaffiliated event %s of node %d is missing",
				settle, it_event_name(due->event), node);
		if (came->event != due->event)
			return g_strdup_printf(
				"settlement %d: unaffiliated event %s of node %d instead of %s",
				settle, it_event_name(came->event), node,
				it_event_name(due->event));
		if (!came->right)
			return g_strdup_printf("settlement %d: unaffiliated event %s of node %d "
					       "names another spigot",
					       settle, it_event_name(came->event), node);
	}
}

static const char *
online_name(int online)
{
	static const char *const names[] = {"offline", "online"};

	if (online >= 0)
		return names[online];
	return online == DF_DEAD ? "failed" : "unknown";
}

char *
df_compare_faults(const struct df_settle *expect, const struct df_seen_settle *seen, int settle)
{
	char *text = NULL;

	for (int i = 0; i < DF_NODES && text == NULL; i++) {
		text = compare_unaff(expect, seen, i, settle);
		if (text == NULL && seen->dead[i] != expect->dead[i])
			text = g_strdup_printf(
				"settlement %d: the dispatchers of node %d %ssay that "
				"its adapter has failed",
				settle, i, seen->dead[i] ? "" : "do not ");
		if (text == NULL && seen->online[i] != expect->online[i])
			text = g_strdup_printf(
				"settlement %d: the spigot of node %d is %s instead of %s", settle,
				i, online_name(seen->online[i]), online_name(expect->online[i]));
	}
	return text;
}

void
df_faults_text(const struct df_seen_settle *seen, unsigned settle, GString *text)
{
	for (unsigned i = 0; i < seen->unaff->len; i++) {
		const struct df_seen_unaff *one =
			&g_array_index(seen->unaff, struct df_seen_unaff, i);

		g_string_append_printf(text, "settlement %u: unaffiliated event %s of node %d%s\n",
				       settle, it_event_name(one->event), one->node,
				       one->right ? "" : ", of another spigot");
	}
}
