/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* A bar on the terminal while a copy runs. */
#ifndef CP_PROGRESS_H
#define CP_PROGRESS_H

#include "cp_copy.h"

struct cp_progress {
	bool shown; /* stderr is a terminal */
	gint64 begin;
	gint64 last;
};

void cp_progress_begin(struct cp_progress *progress, bool shown);
void cp_progress_step(const struct cp_copy *copy, void *progress);
void cp_progress_end(struct cp_progress *progress);

#endif /* CP_PROGRESS_H */
