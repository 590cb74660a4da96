/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

#include "tool_signal.h"

static atomic_bool stop;

static void
stop_soon(int number)
{
	(void)number;
	atomic_store(&stop, true);
}

void
tool_signal_watch(void)
{
	/* No SA_RESTART: a wait is to return. The second signal ends the program at once. */
	struct sigaction action = {.sa_handler = stop_soon, .sa_flags = (int)SA_RESETHAND};
	struct sigaction ignore = {.sa_handler = SIG_IGN};

	sigemptyset(&action.sa_mask);
	sigemptyset(&ignore.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
	sigaction(SIGXFSZ, &ignore, NULL);
}

bool
tool_stopped(void)
{
	return atomic_load(&stop);
}
