/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Messages without the protocol of lab_talk.h, as the small programs of rdma-core exchange them. */

#include <string.h>

#include "lab_talk.h"
#include "tool_error.h"
#include "tool_options.h"

/* The next operation of a list, with the commas taken off: its length, and whether it is a Send. */
static bool
parse(const char *operation, size_t *len, bool *sends, GError **error)
{
	const char *colon = strchr(operation, ':');
	uint64_t number;

	if (colon == NULL ||
	    (!g_str_has_prefix(operation, "send:") && !g_str_has_prefix(operation, "recv:")))
		return tool_fail(error, TOOL_ERROR_USAGE,
				 "%s is neither send:LENGTH nor recv:LENGTH", operation);
	if (!tool_number(colon + 1, 0, LAB_DATA / LAB_SLOTS, &number, error))
		return false;
	*len = number;
	*sends = operation[0] == 's';
	return true;
}

static bool
do_one(struct lab_end *end, size_t len, bool sends, GError **error)
{
	size_t came;

	if (sends)
		return end->carrier->send(end, 0, len, error) && end->carrier->done(end, error);
	return end->carrier->arrived(end, &came, error) &&
	       (came == len ||
		tool_fail(error, TOOL_ERROR_VERIFY, "%zu octets came, not %zu", came, len));
}

/* Posts the receives (ready) or runs the list. */
static bool
each(struct lab_end *end, bool ready, GError **error)
{
	g_auto(GStrv) list = g_strsplit(end->options.raw, ",", -1);

	for (size_t i = 0; list[i] != NULL && list[i][0] != '\0'; i++) {
		size_t len = 0;
		bool sends = false;

		if (!parse(list[i], &len, &sends, error))
			return false;
		if (ready ? !sends && !end->carrier->receive(end, i * len, len, error)
			  : !do_one(end, len, sends, error))
			return false;
	}
	return true;
}

bool
lab_raw_ready(struct lab_end *end, GError **error)
{
	return each(end, true, error);
}

bool
lab_raw(struct lab_end *end, GError **error)
{
	if (end->number % 2 == 1)
		g_usleep((gulong)end->options.pause * 1000);
	if (!each(end, false, error))
		return false;
	if (end->options.stop)
		end->carrier->disconnect(end);
	end->established = false;
	return end->carrier->ended(end, error);
}
