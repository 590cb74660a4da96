/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Results for programs: one JSON object on stdout. */
#ifndef TOOL_JSON_H
#define TOOL_JSON_H

#include <json-glib/json-glib.h>
#include <stdbool.h>
#include <stdint.h>

/* An object that begins with {"tool": ... */
JsonBuilder *tool_json_begin(const char *tool);

/* One member each. A text that is no UTF-8 gets replacement characters. */
void tool_json_text(JsonBuilder *json, const char *name, const char *value);
void tool_json_count(JsonBuilder *json, const char *name, uint64_t value);
void tool_json_number(JsonBuilder *json, const char *name, double value);
void tool_json_boolean(JsonBuilder *json, const char *name, bool value);

/* An element of an array. */
void tool_json_element(JsonBuilder *json, const char *value);

/*
 * Ends the object, writes it to stdout and frees the builder. Characters that are not printable are
 * written as JSON's escapes, those beyond ASCII too, so the output is safe on a terminal.
 */
void tool_json_print(JsonBuilder *json);

/* {"tool": ..., "ok": false, "error": ...} */
void tool_json_failure(const char *tool, const GError *error);

#endif /* TOOL_JSON_H */
