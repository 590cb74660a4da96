/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Notes which status each function of IT-API returned in which test, for the table in doc/statuses.md. The notes go
 * to files in the folder that IT_STATUS_LOG names; without that variable nothing is noted.
 */
#ifndef SPY_H
#define SPY_H

/* The library's own function of that name. */
void (*spy_find(const char *name))(void);
/* Note a status; writes one line for each new pair of function and status of a test. Any thread. */
void spy_note(const char *name, int status);

#endif /* SPY_H */
