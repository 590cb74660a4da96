/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Calls of the two libraries that wait for a peer, each on a thread of its own that makes this one
 * call and ends: the host table has no service for blocking work [RI 11.3.1], and on the service
 * thread such a call would delay all other events of the process.
 *
 * - rdma_connect of an iWARP device: Linux's siw makes the TCP connection inside it (vib_cm.c).
 * - ibv_create_ah over Ethernet: the kernel, or the device's library, looks for the link address of the neighbour inside it
 *   (vib_ah_call.c).
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "vib.h"

struct call {
	void (*run)(void *arg);
	void *arg;
};

static void *
call_run(void *arg)
{
	struct call call = *(struct call *)arg;

	free(arg);
	call.run(call.arg); /* then the argument may be gone */
	return NULL;
}

/* It must not run signal handlers of the application: it starts with all signals blocked. */
int
vib_call_start(void (*run)(void *arg), void *arg)
{
	struct call *call = (struct call *)malloc(sizeof(*call));
	pthread_attr_t attr;
	sigset_t all, old;
	pthread_t thread;
	int error = call != NULL ? pthread_attr_init(&attr) : ENOMEM;

	if (error == 0) {
		*call = (struct call){.run = run, .arg = arg};
		(void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &old);
		error = pthread_create(&thread, &attr, call_run, call);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
		(void)pthread_attr_destroy(&attr);
	}
	if (error != 0)
		free(call);
	return error;
}
