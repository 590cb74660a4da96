/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef PEER_LOAD_H
#define PEER_LOAD_H

/**
 * @file peer_load.h @brief The resources of the helper's process, for the question `load`. Those of
 * a stack in the kernel do not appear here.
 */

#include <glib.h>

/** @brief `load`: descriptors, KiB of memory, milliseconds of processor time. */
gboolean peer_ask_load(char *const *words, GString *answer, GError **error);

#endif
