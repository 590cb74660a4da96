/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Calls that are refused and made again. In a program that links this, each call of IT-API is made with its first allocation refused, then
 * with its second, and so on until it is not refused any more. (Or each of the provider's verbs is refused the first time: that is up to the
 * adapter, and the call is made again.) A refused call changes nothing, so the program behaves as if there had been none. Nor does a call that
 * is refused for another reason: a query of each object returns the same before and after it.
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
 * Calls are refused from now on, or not; at first they are not. Adapters faulty:NAME that are opened from now on have, or have not, the
 * faults of ITAPI_TEST_FAULTY. Programs that do not link this have no such function.
 */
void again_switch(bool on) __attribute__((weak));
/* No object is queried until the next call of this. */
void again_rest(bool rest) __attribute__((weak));
/* How many calls were refused. */
unsigned long again_refused(void) __attribute__((weak));
/* The blocks of the heap that are allocated now. */
long again_live(void) __attribute__((weak));

#endif /* AGAIN_H */
