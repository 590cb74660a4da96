/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* What it-run asks the door, which it loads for that. Functions of our own beside those of libibverbs. */
#ifndef DOOR_LIST_H
#define DOOR_LIST_H

#include <stdint.h>

#define ITAPI_VERBS_LIST "itapi_verbs_list" /* for dlsym() */

/* A device that a program behind the door sees. The texts are constant during the call that has it. */
struct itapi_verbs_device {
	const char *name;    /* as ibv_get_device_name() returns it */
	const char *adapter; /* for it_ia_create() */
	uint64_t guid;
};

/*
 * Call a function for each device that ITAPI_VERBS_DEVICES asks for, in the order of
 * ibv_get_device_list(). A name that no adapter has is left out. No adapter is opened. 0, or an errno.
 */
int itapi_verbs_list(void (*each)(void *arg, const struct itapi_verbs_device *device), void *arg);

typedef int itapi_verbs_list_fn(void (*each)(void *arg, const struct itapi_verbs_device *device),
				void *arg);

#define ITAPI_VERBS_SIMULATE "itapi_verbs_simulate"

struct ri_host;

/*
 * From now on the calling thread belongs to a node of a simulation, numbered from 1, and what it
 * opens uses that host table. NULL and 0: it belongs to no node any more. Each node has its own
 * devices. Node 0 with a table is for threads that look for devices before there are nodes, and for
 * threads of the simulation itself.
 */
void itapi_verbs_simulate(const struct ri_host *host, unsigned node);

typedef void itapi_verbs_simulate_fn(const struct ri_host *host, unsigned node);

#endif /* DOOR_LIST_H */
