/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The door: the shared object that it-run preloads, and the devices that a program sees behind it. */
#ifndef RUN_DOOR_H
#define RUN_DOOR_H

#include <glib.h>
#include <stdbool.h>

/* The file of the door: beside it-run, where it is installed, or in the build folder; for g_free(). NULL: the error is set. */
char *run_door_find(GError **error);

/* The folder of the provider that wraps others (faulty:NAME, defect:ID:NAME), installed or of the build folder; for g_free(). */
char *run_door_wrappers(void);

/*
 * Do those adapters exist (NULL: those that ITAPI_VERBS_DEVICES names, or the default)? Each name
 * must have a device of the door; without names there must be at least one device.
 */
bool run_door_check(const char *door, char **adapters, GError **error);

/* Print the devices that a program sees as a table, or for programs; *good is false if one of them cannot be opened. */
bool run_door_list(const char *program, const char *door, bool json, bool *good, GError **error);

#endif /* RUN_DOOR_H */
