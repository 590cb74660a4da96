/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The tester at the fault door of vp/emul (vp/emul/vem_script.c): each adapter that is opened connects to it, and
 * fails when the tester commands it. Adapters of other providers do not connect; their tests are skipped.
 */
#ifndef IT_FAULT_H
#define IT_FAULT_H

#include <stdbool.h>

#include "it_pair.h"

/* Open the fault door. Call it once in a program, before the first adapter is opened. */
void fault_begin(void);
/* The oldest open adapter that was not returned before; -1: there is none. */
int fault_meet(void);
/* Send a command to the adapter. It has been carried out when this returns. */
void fault_say(int adapter, const char *command);
/* As fault_say; returns the adapter's answer, which the caller frees. */
char *fault_query(int adapter, const char *command);
void fault_part(int adapter);

/* Find both adapters of a pair. False: they have no fault door, and the test is skipped. */
struct faults {
	int active;
	int passive;
};

bool faults_meet(struct faults *faults);
void faults_part(const struct faults *faults);

#endif /* IT_FAULT_H */
