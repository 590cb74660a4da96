/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef PEER_OCTETS_H
#define PEER_OCTETS_H

/**
 * @file peer_octets.h
 * @brief Octets of the memory that the stack under test uses at the same time.
 */

#include <glib.h>

/** @brief Octet @p i of the pattern with @p seed, which both ends of a test know. */
guint8 peer_pattern(guint64 seed, gsize i);

/** @brief Fill memory with the pattern. */
void peer_octets_fill(guint8 *octets, gsize len, guint64 seed);

/** @brief Read an octet. */
guint8 peer_octet_get(const guint8 *at);

/** @brief Read a word of 8 octets in native order. */
guint64 peer_word_get(const guint8 *at);

/** @brief Write a word of 8 octets in native order. */
void peer_word_set(guint8 *at, guint64 value);

#endif
