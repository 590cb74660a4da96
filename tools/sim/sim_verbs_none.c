/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Replaces sim_verbs.c where the door for programs of libibverbs is not built. */
#include "sim/sim.h"

bool
sim_verbs_prepare(const struct sim_scenario *scenario, GError **error)
{
	(void)scenario;
	(void)error;
	return true; /* such a program fails where it is loaded: no library of the process has its functions */
}

void
sim_verbs_thread(const struct sim_node *node, bool begins)
{
	(void)node;
	(void)begins;
}

void
sim_verbs_end(struct sim_node *node)
{
	(void)node;
}
