/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The program that it-run starts: which file it is, and whether a shared object can be loaded into it. */
#ifndef RUN_PROGRAM_H
#define RUN_PROGRAM_H

#include <glib.h>
#include <stdbool.h>

/*
 * The file that the shell would run for a name, for g_free(). NULL: there is none, or nothing can
 * be preloaded into its process, and the error says why. A file that this user may execute but not
 * read is accepted without a check.
 */
char *run_program_find(const char *name, GError **error);

/*
 * Becomes the program, as execvp() does: a text without an interpreter is a script of the shell. Returns only if that fails, with
 * the error set.
 */
void run_program_start(const char *path, char **argv, char **environment, GError **error);

#endif /* RUN_PROGRAM_H */
