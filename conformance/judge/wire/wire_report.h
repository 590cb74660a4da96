/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef WIRE_REPORT_H
#define WIRE_REPORT_H

/**
 * @file wire_report.h @brief The results of the cases: TAP while they run, JSON and HTML at the
 * end; and the known deviations.
 */

#include <glib.h>

#include "wire_script.h"

/** @brief What became of a case. */
enum wire_outcome {
	WIRE_PASSED,
	WIRE_FAILED,
	WIRE_SKIPPED,   /**< the peer is not able to do what it needs */
	WIRE_DEVIATION, /**< failed, and that was known */
	WIRE_MENDED,    /**< passed, though a failure was expected */
	WIRE_OUTCOME_COUNT
};

/** @brief One case with its outcome. */
struct wire_result {
	const struct wire_case *one;
	enum wire_outcome outcome;
	char *text;    /**< why, or NULL */
	char *capture; /**< file of the capture, or NULL */
	gint64 us;     /**< how long it took */
};

/** @brief The report of a run. */
struct wire_report {
	char *const *peer;     /**< what the helper said of itself */
	GArray *results;       /**< struct wire_result */
	GPtrArray *deviations; /**< char **: pattern, reason */
	guint counts[WIRE_OUTCOME_COUNT];
	gboolean lost;   /**< a capture could not be written */
	gint64 began_us; /**< since 1970 */
};

/** @brief Begin a report, and print the plan of @p count cases. */
void wire_report_begin(struct wire_report *report, char *const *peer, guint count);

/** @brief Read the list of known deviations: a pattern of case ids and a reason in each line. */
gboolean wire_report_deviations(struct wire_report *report, const char *path, GError **error);

/** @brief The reason if @p id is a known deviation, or NULL. */
const char *wire_report_reason(const struct wire_report *report, const char *id);

/** @brief Add a result, of which the report takes the texts, and print it. */
void wire_report_add(struct wire_report *report, const struct wire_result *result);

/** @brief Print the sum. */
void wire_report_end(const struct wire_report *report);

/** @brief Write a file of a report, whole or not at all (tool_output_file()). */
gboolean wire_report_save(const char *path, const void *octets, gsize len, GError **error);

/** @brief Write the report as JSON. */
gboolean wire_report_json(const struct wire_report *report, const char *path, GError **error);

/** @brief Write the report as one page of HTML, which needs no other file. */
gboolean wire_report_html(const struct wire_report *report, const char *path, GError **error);

/** @brief Free what the report owns. */
void wire_report_free(struct wire_report *report);

#endif
