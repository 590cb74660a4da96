/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* ITAPI_STATS: what the process has done, as a line of JSON at its end. */
#ifndef KAL_LIVE_STATS_H
#define KAL_LIVE_STATS_H

#include "kal_live.h"

/* The process has a table now: it writes the line when it ends. Once for a process and its children. */
void kal_live_stats_begin(void);

/* The line, malloc()ed, with its end; NULL: no memory. */
char *kal_live_stats_text(const struct kal_live_sum *sums);
/*
 * Append the text to the file. Returns 0 or an errno; *why, which is a constant text, says more. A
 * new file has mode 0600. An existing one must be a regular file, not a symbolic link, that belongs
 * to this user and that no other user can write.
 */
int kal_live_stats_append(const char *path, const char *text, const char **why);

#endif /* KAL_LIVE_STATS_H */
