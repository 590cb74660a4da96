/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* What processes do, read by itx_live_list() and printed in one form by it-info and kalctl. */
#ifndef TOOL_LIVE_H
#define TOOL_LIVE_H

#include <glib.h>
#include <json-glib/json-glib.h>
#include <stdbool.h>

#include "it_ext.h"

/* The objects of a process, *count of them, perhaps none; g_free() the array. NULL: the error is set. */
itx_live_t *tool_live_read(int pid, size_t *count, GError **error);

/* The name of the process and of its user, as /proc has them; "" if it has gone. Room for 64 octets each. */
void tool_live_process(int pid, char command[64], char user[64]);

/*
 * Print the objects, each line indented by two blanks. `before`: the result of tool_live_read()
 * from `seconds` earlier, or NULL; with it, each counter that has grown since is followed by its
 * growth per second.
 */
void tool_live_print(const itx_live_t *list, size_t count, const itx_live_t *before,
		     size_t num_before, double seconds);
/* The same as the member "objects" of the JSON object that is open. */
void tool_live_json(JsonBuilder *json, const itx_live_t *list, size_t count);

#endif /* TOOL_LIVE_H */
