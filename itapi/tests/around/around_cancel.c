/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Each thread is cancelled before its first call. Between the calls its state does not allow
 * cancellation, inside of a call it does: so a call that is a cancellation point ends the thread,
 * and this library ends the process and names the call [IT 1.19]. Waits are made with cancellation
 * disabled: a wait is allowed to end the thread, and test-itapi-cancel tests that.
 */
#include "around.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Thread_local bool cancelled;

static void *
nothing(void *unused)
{
	return unused;
}

/*
 * glibc 2.36 prepares a process for setuid() and similar calls when the first thread is created,
 * but not if a thread was cancelled before: then seteuid() kills the process by signal 33. So this
 * creates a thread first.
 */
__attribute__((constructor)) static void
have_threads(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, nothing, NULL) != 0 || pthread_join(thread, NULL) != 0)
		abort();
}

static void
died(void *name)
{
	const char *call = (const char *)name;
	static const char text[] = ": a cancelled thread ended inside of this call\n";

	(void)!write(STDERR_FILENO, call, strlen(call));
	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	abort();
}

void
around(const char *name, bool waits, void (*run)(void *at), void *at)
{
	void *call = (void *)(uintptr_t)name;
	int state;

	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	if (!cancelled && pthread_cancel(pthread_self()) != 0)
		abort();
	cancelled = true;
	pthread_cleanup_push(died, call);
	if (!waits)
		(void)pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	run(at);
	if (pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state) != 0 ||
	    state != (waits ? PTHREAD_CANCEL_DISABLE : PTHREAD_CANCEL_ENABLE)) {
		fprintf(stderr, "around: %s changed the state of cancellation\n", name);
		abort();
	}
	pthread_cleanup_pop(0);
}
