/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "again.h"

#include <dlfcn.h>
#include <glib.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "it_api.h"
#include "it_ext.h"
#include "scarce.h"

#define VERBS 20 /* more than the verbs of a call refuse */
#define TRIES 3
#define CALLS 24 /* as many system calls as most calls make */

static atomic_ulong refused;
static atomic_bool on;
static bool watched; /* system calls are refused, not memory */
static atomic_ulong turn;

void (*again_find(const char *name))(void)
{
	void *symbol = dlsym(RTLD_NEXT, name);
	void (*function)(void);

	g_assert_nonnull(symbol);
	memcpy(&function, &symbol, sizeof(function));
	return function;
}

void
again_switch(bool now)
{
	const char *faults = g_getenv("ITAPI_TEST_FAULTY");

	atomic_store(&on, now);
	if (now && faults != NULL)
		g_setenv("ITAPI_FAULTY", faults, TRUE);
	else
		g_unsetenv("ITAPI_FAULTY");
}

static bool
memory_is_scarce(void)
{
	return atomic_load(&on) && g_getenv("ITAPI_TEST_SCARCE") != NULL;
}

/* Before any other thread. */
static __attribute__((constructor)) void
calls_begin(void)
{
	watched = g_getenv("ITAPI_TEST_CALLS") != NULL && calls_watch(-1);
	if (g_getenv("ITAPI_TEST_CALLS") != NULL && !watched) {
		g_print("1..0 # SKIP this kernel tells no process its calls\n");
		exit(0);
	}
}

void
again_begin(const char *name, unsigned long number)
{
	if (memory_is_scarce())
		scarce_arm_here(number, false);
	/*
	 * A program usually continues without the object of a failed call, so its next call is a different
	 * one. The failure of a connection attempt is an event.
	 */
	else if (watched && atomic_load(&on) && number <= TRIES &&
		 strcmp(name, "it_ep_connect") != 0)
		calls_arm_here(1 + atomic_fetch_add(&turn, 1) % CALLS);
	else if (watched)
		calls_arm_here(0);
}

bool
again_end(const char *name, unsigned long number, int status)
{
	/* An adapter that refuses does so every other time, for each verb of the call. */
	bool was = atomic_load(&on) && (memory_is_scarce() ? scarce_disarm() > 0
					: watched          ? calls_disarm() > 0
							   : number < VERBS);

	if (status != IT_SUCCESS)
		again_compare(name, status);
	if (!was || status != IT_ERR_RESOURCES)
		return false;
	atomic_fetch_add(&refused, 1);
	if (g_getenv("ITAPI_TEST_SAY") != NULL)
		g_printerr("%s is refused\n", name);
	return true;
}

unsigned long
again_refused(void)
{
	return atomic_load(&refused);
}

long
again_live(void)
{
	return scarce_live();
}
