/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Cancellation of threads. A control call defers it: the call runs to its end, and the thread ends
 * at its next cancellation point. A post and a poll need no deferral, because they make no call
 * that is a cancellation point (ri_calls.h). A wait can be cancelled only while it sleeps in
 * ri_host::park; then session_sleep() undoes what the wait has begun.
 */
#ifndef SESSION_CANCEL_H
#define SESSION_CANCEL_H

#include <pthread.h>

/* Returns the state before. */
static inline int
session_cancel_defer(void)
{
	int before = PTHREAD_CANCEL_ENABLE;

	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	return before;
}

static inline void
session_cancel_restore(const int *before)
{
	(void)pthread_setcancelstate(*before, NULL);
}

/* Defer cancellation until the end of the block. */
#define SESSION_DEFER                                                                         \
	__attribute__((cleanup(session_cancel_restore), unused)) const int session_deferred = \
		session_cancel_defer()

#endif /* SESSION_CANCEL_H */
