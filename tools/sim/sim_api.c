/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Additions to calls of IT-API. sim_calls.c, which is generated from the headers, has a function in place of each call; it calls
 * sim_enter(), the library and sim_leave(). Where a call needs more, that function also calls one of this file.
 */
#include "sim/sim_api.h"

#include <string.h>

#include "sim/sim.h"

bool
sim_api_may_open(const char *name)
{
	if (sim_me == NULL || name == NULL || g_str_has_prefix(name, "emul:") || !sim_applies())
		return true;
	/* For a name that no adapter has the library gives a longer reason. */
	if (!g_str_has_prefix(name, "iwarp") && !g_str_has_prefix(name, "ib") &&
	    !g_str_has_prefix(name, "shm:"))
		return true;
	if (g_str_has_prefix(name, "shm:"))
		(void)fprintf(stderr,
			      "it-sim: the adapter '%s' reaches other processes, and a simulation "
			      "is one; in it there are emul:ib and emul:iwarp, between all nodes\n",
			      name);
	else
		(void)fprintf(stderr,
			      "it-sim: the adapter '%s' is one of the real machine; in a "
			      "simulation there "
			      "are emul:ib and emul:iwarp\n",
			      name);
	return false;
}

void
sim_api_opened(it_status_t status, const it_ia_handle_t *ia)
{
	if (sim_me == NULL || sim_me->node == NULL || status != IT_SUCCESS)
		return;
	sim_node_adapter_opened(sim_me->node, *ia);
	sim_doors_opened(sim_me->node);
}

void
sim_api_closed(it_status_t status, it_ia_handle_t ia)
{
	if (sim_me != NULL && sim_me->node != NULL && status == IT_SUCCESS)
		sim_node_adapter_closed(sim_me->node, ia);
}

void
sim_api_polled(it_status_t status)
{
	if (sim_me == NULL || sim_me->node == NULL)
		return;
	if (status == IT_SUCCESS)
		sim_progress();
	if (sim_me->depth == 1 && status == IT_ERR_QUEUE_EMPTY)
		sim_idle(sim_me->call);
}
