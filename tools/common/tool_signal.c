/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tool_signal.h"

#define STOPPED_HERE (-1)

static atomic_int stop; /* the signal, or STOPPED_HERE */
static int stop_fd = -1;

static void
stop_soon(int number)
{
	uint64_t one = 1;
	int before = errno;

	atomic_store(&stop, number);
	if (stop_fd >= 0 && write(stop_fd, &one, sizeof(one)) < 0)
		errno = before; /* it is readable already */
	errno = before;
}

void
tool_signal_watch(void)
{
	/* No SA_RESTART: a wait is to return. The second signal ends the program at once. */
	struct sigaction action = {.sa_handler = stop_soon, .sa_flags = (int)SA_RESETHAND};

	stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

void
tool_stop(void)
{
	uint64_t one = 1;
	int running = 0;

	if (atomic_compare_exchange_strong(&stop, &running, STOPPED_HERE) && stop_fd >= 0)
		(void)!write(stop_fd, &one, sizeof(one));
}

bool
tool_stopped(void)
{
	return atomic_load(&stop) != 0;
}

int
tool_stop_signal(void)
{
	int number = atomic_load(&stop);

	return number != STOPPED_HERE ? number : 0;
}

int
tool_stop_fd(void)
{
	return stop_fd;
}
