/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Notes which status each function of IT-API gave in which test, for the table in doc/statuses.md.
 *
 * Where: in files of the folder that IT_STATUS_LOG names; without it nothing is noted.
 */
#ifndef SPY_H
#define SPY_H

/* The library's own function of that name. */
void (*spy_find(const char *name))(void);
/* From any thread; one line for each new pair of a test. */
void spy_note(const char *name, int status);

#endif /* SPY_H */
