/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Each call runs on a new thread whose stack has ITAPI_TEST_STACK KiB, or the least that a thread may have if that is
 * more (128 KiB on arm64), with inaccessible memory below it [IT 1.20]. The C library also puts thread-local variables and the thread's descriptor on that stack.
 */
#include "around.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define GUARD (1024 * 1024) /* larger than any frame, so that none reaches beyond it */

struct call {
	void (*run)(void *at);
	void *at;
};

static void *
call_run(void *arg)
{
	const struct call *call = (const struct call *)arg;

	call->run(call->at);
	return NULL;
}

void
around(const char *name, bool waits, void (*run)(void *at), void *at)
{
	const char *wanted = getenv("ITAPI_TEST_STACK");
	size_t size = wanted != NULL ? strtoul(wanted, NULL, 10) * 1024 : 0;
	struct call call = {run, at};
	pthread_attr_t attr;
	pthread_t thread;

	(void)waits;
	if (size < (size_t)PTHREAD_STACK_MIN)
		size = (size_t)PTHREAD_STACK_MIN;
	if (pthread_attr_init(&attr) != 0 || pthread_attr_setstacksize(&attr, size) != 0 ||
	    pthread_attr_setguardsize(&attr, GUARD) != 0 ||
	    pthread_create(&thread, &attr, call_run, &call) != 0) {
		fprintf(stderr, "around: no thread with a stack of %zu for %s\n", size, name);
		abort();
	}
	pthread_attr_destroy(&attr);
	if (pthread_join(thread, NULL) != 0)
		abort();
}
