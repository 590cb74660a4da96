/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The tester's side of the fault door of vp/emul (vp/emul/vem_script.c): a local socket to which each adapter connects
 * when it is opened, and on which it receives commands. Users are the tests of itapi/tests (it_fault.h) and the
 * programs of conformance/judge/differential. One thread calls; a fault of the machine ends the program.
 */
#ifndef IT_DOOR_H
#define IT_DOOR_H

#define DOOR_NAME   64  /* bytes of an adapter's name */
#define DOOR_ANSWER 256 /* bytes of an answer */

/* Open the door. Call it once in a program, before the first adapter is opened. */
void door_begin(void);
/* The connection of the oldest adapter that has connected and was not accepted yet, and its name; -1: there is none. */
int door_accept(char name[DOOR_NAME]);
/* Send a command to an adapter and wait for its answer. It has been carried out when this returns. */
void door_command(int adapter, const char *command, char answer[DOOR_ANSWER]);

#endif /* IT_DOOR_H */
