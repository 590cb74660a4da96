/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A bar while a copy runs. On a terminal it is one line, which is written again and again and is never wider than the
 * terminal; elsewhere there is a line each second, without control characters.
 */
#ifndef CP_PROGRESS_H
#define CP_PROGRESS_H

#include "cp_copy.h"

struct cp_progress {
	bool shown;
	bool terminal; /* stderr is one */
	gint64 begin;  /* us, as the following */
	gint64 last;   /* line; 0: none */
	gint64 period; /* between two lines */
};

void cp_progress_begin(struct cp_progress *progress, bool shown);
void cp_progress_step(const struct cp_copy *copy, void *progress);
void cp_progress_end(struct cp_progress *progress);

#endif /* CP_PROGRESS_H */
