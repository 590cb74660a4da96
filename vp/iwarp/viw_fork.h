/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Descriptors that a forked child must close, and the flag that stops the engine there.
 */
#ifndef VIW_FORK_H
#define VIW_FORK_H

#include <stdatomic.h>
#include <stdbool.h>

/* True in a child that was forked after an adapter was opened: the engine must not be used there. */
extern atomic_bool viw_fork_child;

/* Have the child close this descriptor. False: no memory. */
bool viw_fork_add(int fd);
/* No longer; call it just before the descriptor is closed or given away. */
void viw_fork_remove(int fd);

#endif /* VIW_FORK_H */
