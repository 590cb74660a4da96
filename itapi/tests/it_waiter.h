/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Threads that wait on event dispatchers. */
#ifndef IT_WAITER_H
#define IT_WAITER_H

#include <pthread.h>
#include <stdatomic.h>

#include "it_pair.h"

/* A thread that waits once, without a time limit. The test joins it. */
struct waiter {
	pthread_t thread;
	it_evd_handle_t evd;
	it_status_t status;
	it_event_t event;
	atomic_int tid;   /* 0: the thread has not started */
	atomic_bool done; /* its wait has returned */
};

void waiter_start(struct waiter *waiter, it_evd_handle_t evd);
/*
 * Return when a thread waits on the EVD of the waiter, and the waiter's thread sleeps. Most likely it sleeps in the
 * wait; no test may rely on that.
 */
void waiter_settle(const struct waiter *waiter);
/* Interrupt the wait by SIGUSR1, and join the thread. The test has installed a handler. */
void waiter_interrupt(const struct waiter *waiter);
/* So many of them have done. */
size_t waiters_done(const struct waiter *waiter, size_t count);

#endif /* IT_WAITER_H */
