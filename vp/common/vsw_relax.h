/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Waiting for another thread, by the host's leave [RI 11.3.6]. vsw_lock and vsw_mark know no host and call ri_relax. */
#ifndef VSW_RELAX_H
#define VSW_RELAX_H

#include <stddef.h>

#include "ri_relax.h"
#include "rnicpi_host.h"

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

#endif /* VSW_RELAX_H */
