/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * rdma_connect of an iWARP device on a thread of its own: Linux's siw makes the TCP connection inside that call, so it
 * takes as long as the peer lets it. On the service thread it would hold up every other event of the process. The thread
 * makes this one call and ends; the host table has no place for work that waits [RI 11.3.1].
 */
#include <signal.h>

#include "vib_cm.h"

static void *
call_run(void *conn)
{
	vib_conn_connect(conn); /* then it may be gone */
	return NULL;
}

/* It must not run signal handlers of the application: it starts with all signals blocked. */
int
vib_call_start(struct vib_conn *conn)
{
	pthread_attr_t attr;
	sigset_t all, old;
	pthread_t thread;
	int error = pthread_attr_init(&attr);

	if (error != 0)
		return error;
	(void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	error = pthread_create(&thread, &attr, call_run, conn);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	(void)pthread_attr_destroy(&attr);
	return error;
}
