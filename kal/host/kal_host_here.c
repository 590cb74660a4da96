/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The host table of the calling thread: the one that the thread was given (kal_host_use.h), else
 * the production table. Code that has no client, and so no host table of a client, asks here. So no
 * clock, thread or descriptor of the real machine is used on behalf of a thread that has another
 * host table.
 */

#include <stddef.h>
#include <time.h>

#include "kal_host.h"
#include "kal_host_use.h"

static _Thread_local const struct ri_host *own;

void
itapi_host_use(const struct ri_host *host)
{
	own = host;
}

const struct ri_host *
kal_host_own(void)
{
	return own;
}

bool
kal_host_is_own(const struct ri_host *host)
{
	return host == own;
}

uint64_t
kal_host_time(void)
{
	struct timespec now;

	if (own != NULL)
		return own->now(own->self);
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
