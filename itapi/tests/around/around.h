/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Libraries that are preloaded before libitapi (LD_PRELOAD) and change the conditions under which
 * each call of IT-API runs, so that existing test programs test these conditions, too:
 *
 *   around_cancel.c   the calling thread has been cancelled, and ends at the first cancellation point
 *   around_stack.c    the call runs on a thread with a small stack
 */
#ifndef AROUND_H
#define AROUND_H

#include <stdbool.h>
#include <stddef.h>

/* The library's own function of that name. */
void (*around_find(const char *name))(void);
/* Make the call. `waits`: it may wait for as long as the caller says. One of the libraries has it. */
void around(const char *name, bool waits, void (*run)(void *at), void *at);

#endif /* AROUND_H */
