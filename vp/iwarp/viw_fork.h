/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Descriptors that a forked child must close, and the flags that stop the parent's engines there.
 */
#ifndef VIW_FORK_H
#define VIW_FORK_H

#include <stdatomic.h>
#include <stdbool.h>

/*
 * Have a forked child close this descriptor and set *forked, a flag of the engine that owns the descriptor, which must
 * exist until viw_fork_remove. False: no memory.
 */
bool viw_fork_add(int fd, atomic_bool *forked);
/* Stop that; call it just before the descriptor is closed or passed to another owner. */
void viw_fork_remove(int fd);

#endif /* VIW_FORK_H */
