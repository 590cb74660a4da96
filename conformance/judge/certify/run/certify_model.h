/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef CERTIFY_MODEL_H
#define CERTIFY_MODEL_H

/**
 * @file certify_model.h
 * @brief A report as a tree of JSON, and the forms that are made from it.
 */

#include <json-glib/json-glib.h>

#include "certify_report.h"

/** The tree of a run, which the caller frees. */
JsonNode *certify_model(const struct certify_report *report);
/** The tree in a file, which the caller frees. NULL: it is no report of this schema. */
JsonNode *certify_model_read(const char *path, GError **error);

/** @name Members
 * A member that is missing is "" or 0.
 * @{ */
const char *model_text(JsonObject *object, const char *name);
double model_number(JsonObject *object, const char *name);
gint64 model_count(JsonObject *object, const char *name);
bool model_is(JsonObject *object, const char *name, const char *text);
/** Elements of an array of objects. */
guint model_length(JsonObject *model, const char *array);
JsonObject *model_element(JsonObject *model, const char *array, guint i);
/** "certified", "passed in part" or "not certified". */
const char *model_verdict(JsonObject *model);
/** @} */

/** @name Forms
 * Each function writes a file; "-" is stdout.
 * @{ */
bool certify_write(const char *path, const char *text, gsize length, GError **error);
bool certify_json_write(JsonObject *model, const char *path, GError **error);
bool certify_junit_write(JsonObject *model, const char *path, GError **error);
bool certify_tap_write(JsonObject *model, const char *path, GError **error);
bool certify_html_write(JsonObject *model, const char *path, GError **error);
/** Appends the curves as pictures. */
void certify_curves_append(GString *out, JsonObject *model);
/** Prints the verdict and the failures for people. On this machine @p here repeats a case; in @p model the command is @p again. */
void certify_summary_print(JsonObject *model, const char *again, const char *here);
/** @} */

/** Writes the page of a report in JSON. Exit status: 0, or 2 if it is no report or cannot be written. */
int certify_page(const char *from, const char *to);
/** Compares two reports in JSON, on stdout. Exit status: 0 no regression, 1 one at least, 2 no reports. */
int certify_compare(const char *before, const char *after);

#endif /* CERTIFY_MODEL_H */
