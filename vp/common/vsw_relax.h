/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Waiting for another thread, by the host's leave [RI 11.3.6]. vsw_lock and vsw_mark know no host and call ri_relax. */
#ifndef VSW_RELAX_H
#define VSW_RELAX_H

#include <stddef.h>

#include "ri_relax.h"
#include "rnicpi_host.h"
#include "vsw_lock.h"

/* One round of a wait; `round` counts from 0. A host of before 1.7 has no such entry. */
static inline void
vsw_relax(const struct ri_host *host, unsigned round)
{
	if (host->size >= offsetof(struct ri_host, relax) + sizeof(host->relax) &&
	    host->relax != NULL)
		host->relax(host->self, round);
	else
		ri_relax(round);
}

/*
 * Wait for the role. On a machine with one processor, a polling thread has the role nearly each
 * time that this thread runs, and would take it again at once because of a retry flag. So this sets
 * no retry flag; polling threads check vsw_role_is_wanted instead.
 */
static inline void
vsw_role_enter(struct vsw_role *role, const struct ri_host *host)
{
	if (atomic_exchange(&role->taken, 1) == 0)
		return;
	atomic_fetch_add(&role->wanted, 1);
	for (unsigned round = 0; atomic_exchange(&role->taken, 1) != 0; round++)
		vsw_relax(host, round);
	atomic_fetch_sub(&role->wanted, 1);
}

#endif /* VSW_RELAX_H */
