/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Descriptors that a forked child must not keep, and what must stop in it.
 */
#ifndef VIW_FORK_H
#define VIW_FORK_H

#include <stdatomic.h>
#include <stdbool.h>

/* True in a child that was forked after an adapter was opened: nothing may be touched any more. */
extern atomic_bool viw_fork_child;

/* Remember a descriptor. False: no memory. */
bool viw_fork_add(int fd);
/* Forget it, just before it is closed or given away. */
void viw_fork_remove(int fd);

#endif /* VIW_FORK_H */
