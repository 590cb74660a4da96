/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A tester at the fault door of vp/emul (vp/emul/vem_script.c): adapters that are opened connect to it,
 * and break when it says so. Adapters of other providers do not come; their tests skip.
 */
#ifndef IT_FAULT_H
#define IT_FAULT_H

#include <stdbool.h>

#include "it_pair.h"

/* Stand at the door; before the first adapter is opened, once per program. */
void fault_begin(void);
/* The adapter that was opened first of those that are open and were not met yet; -1: there is none. */
int fault_meet(void);
/* Tell it, and have it done when this returns. */
void fault_say(int adapter, const char *command);
/* The same, and what it answered; the caller frees. */
char *fault_query(int adapter, const char *command);
void fault_part(int adapter);

/* Both ends of a pair. False: they have no door, and the test is skipped. */
struct faults {
	int active;
	int passive;
};

bool faults_meet(struct faults *faults);
void faults_part(const struct faults *faults);

#endif /* IT_FAULT_H */
