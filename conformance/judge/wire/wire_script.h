/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef WIRE_SCRIPT_H
#define WIRE_SCRIPT_H

/**
 * @file wire_script.h
 * @brief Reads cases from files; CASES.md describes their language.
 */

#include <glib.h>

/** @brief One line of a case that does something. */
struct wire_step {
	char **words; /**< split at blanks */
	guint line;   /**< in the file */
};

/** @brief A region that the peer exposes for a case: `region NAME KEY=VALUE...`. */
struct wire_region {
	char *name;
	char *options; /**< the rest of the line, for the helper */
};

/** @brief One case, with all its variables replaced. */
struct wire_case {
	char *id;            /**< never changes; variables and role are its end */
	char *title;         /**< what it looks at */
	char *clause;        /**< of the RFC that asks for it */
	char *file;          /**< base name of its script */
	char *needs;         /**< what the peer must be able to, or NULL */
	gboolean as_client;  /**< the judge connects */
	gboolean own_helper; /**< the helper is a process of its own, which the case may kill */
	gboolean started;    /**< the MPA start-up comes before the steps */
	GHashTable *set;     /**< options of the start and of the peer's endpoint: name to text */
	GPtrArray *regions;  /**< struct wire_region */
	GPtrArray *steps;    /**< struct wire_step */
};

/** @brief Free a case. */
void wire_case_free(gpointer one);

/**
 * @brief Append the cases of a file to @p cases (struct wire_case).
 * @return FALSE: the file cannot be read or has a mistake; nothing was appended
 */
gboolean wire_script_load(const char *path, GPtrArray *cases, GError **error);

/** @brief A number that the case sets, or @p otherwise. Loading has checked that it is a number. */
guint64 wire_case_number(const struct wire_case *one, const char *name, guint64 otherwise);

/** @brief A text that the case sets, or @p otherwise. */
const char *wire_case_text(const struct wire_case *one, const char *name, const char *otherwise);

/** @brief The value of word KEY=VALUE among @p words, or NULL. */
const char *wire_word_value(char *const *words, const char *key);

/** @brief Whether @p word stands alone among @p words. */
gboolean wire_word_is_there(char *const *words, const char *word);

/**
 * @brief A number as scripts write it: a sum of decimal and 0x numbers and of names.
 * @param[in] names  names to guint64 *; may be NULL
 */
gboolean wire_number(const char *text, GHashTable *names, guint64 *value, GError **error);

/** @brief Octets in hexadecimal. */
GByteArray *wire_octets(const char *text, GError **error);

/** @brief The domain of errors of it-wire. */
#define WIRE_ERROR (wire_error_quark())
GQuark wire_error_quark(void);

/** @brief Codes of WIRE_ERROR. */
enum wire_error {
	WIRE_ERROR_SCRIPT, /**< a script is wrong */
	WIRE_ERROR_PEER,   /**< the helper does not work */
	WIRE_ERROR_VERDICT /**< the peer behaved wrongly */
};

/** @brief Set @p error and give FALSE. */
gboolean wire_fail(GError **error, enum wire_error code, const char *format, ...)
	G_GNUC_PRINTF(3, 4);

#endif
