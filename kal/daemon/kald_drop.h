/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#ifndef KALD_DROP_H
#define KALD_DROP_H

#include <stdbool.h>

/* A low number, for kald_drop(): to be opened before any descriptor of a client. -1: none is left. */
int kald_drop_open(void);
/*
 * Close a socket whose packets may have descriptors, without waiting for what they are. `low` is of kald_drop_open().
 * False: it cannot be done, and the socket is as before.
 */
bool kald_drop(int low, int fd);

#endif /* KALD_DROP_H */
