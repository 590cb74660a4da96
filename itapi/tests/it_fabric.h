/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Processes that use shm:ib or shm:iwarp find each other by port on a fabric of their user. A test
 * that listens, or that relies on a port without a listener, uses a fabric of its own, and so do
 * the processes that it starts.
 */
#ifndef IT_FABRIC_H
#define IT_FABRIC_H

#include <glib.h>
#include <unistd.h>

/* Before the first adapter is opened, and before threads are. A fabric that the environment names is kept. */
static inline void
fabric_of_its_own(void)
{
	char name[32];

	g_snprintf(name, sizeof(name), "own-%ld", (long)getpid());
	g_setenv("ITAPI_FABRIC", name, FALSE);
}

#endif /* IT_FABRIC_H */
