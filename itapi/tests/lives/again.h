/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Wrappers that repeat calls. In a program that links them, each call of IT-API is first made with
 * its first allocation failing, then with its second, and so on until it is not refused any more.
 * Or, if the adapter is told so, each of the provider's verbs fails the first time, and the call is
 * repeated. A refused call must change nothing, so the program behaves as without the wrappers. For
 * a call that is refused for another reason, the wrappers check the same: a query of each object
 * must return the same before and after it.
 */
#ifndef AGAIN_H
#define AGAIN_H

#include <stdbool.h>

/* The library's own function of that name. */
void (*again_find(const char *name))(void);
/* Query all objects that live, before the call. */
void again_look(const char *name);
/* The call gave this status. The test fails unless the query of each object still returns what it did before. */
void again_compare(const char *name, int status);
/* An object of that kind ("ep") has been created; this one was freed, and what is of an adapter with it. */
void again_made(const char *kind, void *handle);
void again_gone(void *handle);
/* Before the call is made for the `number`th time, from 1. */
void again_begin(const char *name, unsigned long number);
/* After it. True: it was refused; it is to be made again. */
bool again_end(const char *name, unsigned long number, int status);
/*
 * From now on calls fail in this way, or not; initially they do not. Adapters faulty:NAME that are
 * opened from now on have the faults of ITAPI_TEST_FAULTY, or have none. NULL in programs that do
 * not link the wrappers.
 */
void again_switch(bool on) __attribute__((weak));
/* No object is queried until the next call of this. */
void again_rest(bool rest) __attribute__((weak));
/* How many calls were refused. */
unsigned long again_refused(void) __attribute__((weak));
/* The blocks of the heap that are allocated now. */
long again_live(void) __attribute__((weak));

#endif /* AGAIN_H */
