/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef PEER_LOAD_H
#define PEER_LOAD_H

/**
 * @file peer_load.h
 * @brief What the helper's process uses: `load`. A stack in the kernel uses more, which is not seen here.
 */

#include <glib.h>

/** @brief `load`: descriptors, KiB of memory, milliseconds of processor time. */
gboolean peer_ask_load(char *const *words, GString *answer, GError **error);

#endif
