/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* A runtime folder of its own for a test whose processes meet in it. */
#ifndef VEM_RUNTIME_H
#define VEM_RUNTIME_H

#include <stdbool.h>

/* Make the folder, and name it in the environment. */
char *vem_runtime_begin(void);
/* Remove and free it. False: a socket was left in it, which the process that made it, or the next one, should have removed. */
bool vem_runtime_end(char *runtime);

#endif /* VEM_RUNTIME_H */
