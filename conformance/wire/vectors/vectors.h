/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef VECTORS_H
#define VECTORS_H

/**
 * @file vectors.h
 * @brief Loads the test vectors; for tests only. Any error in the files ends the program.
 */

#include <glib.h>
#include <json-glib/json-glib.h>

/** @brief One entry of vectors.json, negative.json, crc32c.json, roce.json or roce-negative.json. */
struct vector {
	const char *connection;  /**< its connection, or conversation; NULL in other files */
	const char *name;        /**< unique within its connection */
	const char *kind;        /**< mpa_req, mpa_rep, fpdu, stream; NULL outside vectors.json */
	gboolean from_initiator; /**< vectors.json: sent by the initiator; roce*.json: by A */
	gboolean crc;            /**< CRC in use on its connection */
	gboolean markers;        /**< its direction carries markers */
	guint8 *octets;          /**< the frame */
	gsize len;               /**< octets in the frame */
	JsonObject *object;      /**< the whole entry */
	JsonObject *fields;      /**< its `fields`, or NULL */
	const char *expect;      /**< of the negative ones: the reaction; else NULL */
};

/** @brief All entries of one file, in its order. */
struct vectors {
	GArray *list;       /**< of struct vector */
	JsonParser *parser; /**< owns what the entries point to */
};

/**
 * @brief Load a file of this folder.
 * @param[in] file  "vectors.json", "negative.json", "crc32c.json", "roce.json" or "roce-negative.json"
 */
struct vectors *vectors_load(const char *file);

/** @brief Free what vectors_load() gave. */
void vectors_free(struct vectors **v);

/** @brief Number of entries. */
guint vectors_count(const struct vectors *v);

/** @brief Entry @p i, counted from 0. */
const struct vector *vectors_at(const struct vectors *v, guint i);

/** @brief The entry called @p name, in @p connection unless that is NULL. Ends the program if there is none. */
const struct vector *vectors_find(const struct vectors *v, const char *connection,
				  const char *name);

/** @brief A number in `fields`: a JSON number, or a string like 0x1f. Ends the program if it is missing. */
guint64 vector_number(const struct vector *v, const char *field);

/** @brief Octets written in hexadecimal in `fields`, "" if missing; free with g_free(). */
guint8 *vector_octets(const struct vector *v, const char *field, gsize *len);

/** @brief Whether `fields` has @p field. */
gboolean vector_has(const struct vector *v, const char *field);

/** @brief The Terminate code that `expect` of a negative vector names, as layer, type, code; -1 if none. */
int vector_expected_code(const struct vector *v);

/** @brief Whether `expect` of a negative vector says that the frame is to be accepted. */
gboolean vector_expects_accept(const struct vector *v);

/** @brief Octets whose end lies against a page that cannot be touched. */
struct guarded {
	guint8 *at; /**< the octets */
	gsize len;  /**< how many */
	void *map;  /**< for guarded_free() */
	gsize size; /**< for guarded_free() */
};

/** @brief A copy of @p len octets at @p from (NULL: zeros); reading or writing octet @p len is a SIGSEGV. */
struct guarded guarded_copy(const void *from, gsize len);

/** @brief Give it back. */
void guarded_free(struct guarded *g);

#endif
