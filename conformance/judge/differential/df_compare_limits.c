/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Affiliated events and low watermarks. A watermark that is passed raises its event exactly once. An event that reports
 * an error of an endpoint belongs to an end of its connection; which one comes, and when, is left to the adapter [IT
 * 14.2], [IT 14.5]. Programs cause no other failures.
 */
#include "df_compare.h"
#include "it_ext.h"

static bool
is_limit(it_event_type_t event)
{
	return event == IT_ASYNC_AFF_SRQ_LOW_WATERMARK ||
	       event == IT_ASYNC_AFF_EP_SOFT_HI_WATERMARK;
}

static bool
is_of_ep(it_event_type_t event)
{
	return event > IT_ASYNC_AFF_SEVD_ENQUEUE_FAILURE && event < IT_ASYNC_AFF_SRQ_LOW_WATERMARK;
}

/* The expected event that this one is, or none. */
static int
match(const struct df_settle *expect, const struct df_seen_async *seen, const bool *taken)
{
	for (unsigned i = 0; i < expect->async->len; i++) {
		const struct df_async *async = &g_array_index(expect->async, struct df_async, i);

		if (!taken[i] && async->event == seen->event && async->place == seen->place)
			return (int)i;
	}
	return -1;
}

static char *
compare_async(const struct df_settle *expect, const struct df_seen_settle *seen, int settle)
{
	bool taken[DF_SRQS + DF_EPS + 1] = {false};

	for (unsigned i = 0; i < seen->async->len; i++) {
		const struct df_seen_async *one =
			&g_array_index(seen->async, struct df_seen_async, i);
		int found = match(expect, one, taken);

		if (found >= 0) {
			taken[found] = true;
			continue;
		}
		/* It was queued before its object was freed, or tells of an end. */
		if (one->place < 0 || (is_of_ep(one->event) && !is_limit(one->event) &&
				       (one->place >= DF_EPS || expect->ends[one->place])))
			continue;
		return g_strdup_printf(
			"settlement %d: affiliated event %s of %s %d, which is not due", settle,
			it_event_name(one->event), is_of_ep(one->event) ? "endpoint" : "S-RQ",
			one->place);
	}
	for (unsigned i = 0; i < expect->async->len; i++) {
		const struct df_async *async = &g_array_index(expect->async, struct df_async, i);

		if (!taken[i] && !async->may)
			return g_strdup_printf(
				"settlement %d: affiliated event %s of %s %d is missing", settle,
				it_event_name(async->event),
				is_of_ep(async->event) ? "endpoint" : "S-RQ", async->place);
	}
	return NULL;
}

char *
df_compare_limits(const struct df_settle *expect, const struct df_seen_settle *seen, int settle)
{
	char *text = compare_async(expect, seen, settle);

	for (int i = 0; i < DF_SRQS && text == NULL; i++) {
		if (seen->low[i] != expect->low[i])
			text = g_strdup_printf(
				"settlement %d: S-RQ %d has the low watermark %d instead of %d",
				settle, i, seen->low[i], expect->low[i]);
	}
	return text;
}

void
df_limits_text(const struct df_seen_settle *seen, unsigned settle, GString *text)
{
	for (unsigned i = 0; i < seen->async->len; i++) {
		const struct df_seen_async *one =
			&g_array_index(seen->async, struct df_seen_async, i);

		g_string_append_printf(text, "settlement %u: affiliated event %s of %d\n", settle,
				       it_event_name(one->event), one->place);
	}
}
