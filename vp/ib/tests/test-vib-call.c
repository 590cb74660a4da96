/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The thread of a call: not the caller's, and no signal of the application is handled on it. */
#include <glib.h>
#include <semaphore.h>
#include <signal.h>

#include "vib.h"

static struct {
	pthread_t thread;
	sigset_t blocked;
	sem_t done;
} seen;

static void
call(void *arg)
{
	g_assert_true(arg == &seen);
	seen.thread = pthread_self();
	pthread_sigmask(SIG_SETMASK, NULL, &seen.blocked);
	sem_post(&seen.done);
}

static void
test_thread(void)
{
	sigset_t own;

	sem_init(&seen.done, 0, 0);
	g_assert_cmpint(vib_call_start(call, &seen), ==, 0);
	while (sem_wait(&seen.done) != 0)
		;
	g_assert_false(pthread_equal(seen.thread, pthread_self()));
	g_assert_cmpint(sigismember(&seen.blocked, SIGUSR1), ==, 1);
	g_assert_cmpint(sigismember(&seen.blocked, SIGTERM), ==, 1);
	pthread_sigmask(SIG_SETMASK, NULL, &own);
	g_assert_cmpint(sigismember(&own, SIGUSR1), ==, 0);
	sem_destroy(&seen.done);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ib/call/thread", test_thread);
	return g_test_run();
}
