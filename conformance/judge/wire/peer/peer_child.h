/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef PEER_CHILD_H
#define PEER_CHILD_H

/**
 * @file peer_child.h
 * @brief Another helper beside the same stack: a process of its own, which a case may kill. There is at most one.
 */

#include <glib.h>

/** @brief How a child is started: with this adapter, which is borrowed, and open to other hosts or not. */
void peer_child_like(char *adapter, gboolean anywhere);

/** @brief The question `child`: start one, in place of one that there is; its control port is in @p answer. */
gboolean peer_ask_child(char *const *words, GString *answer, GError **error);

/** @brief The question `kill`: end it by a signal that it cannot catch. */
gboolean peer_ask_kill(char *const *words, GString *answer, GError **error);

/** @brief End the child, if there is one. */
void peer_child_kill(void);

#endif
