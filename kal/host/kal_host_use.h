/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The host table of a thread. A simulator (tools/sim) gives each of its threads a table with virtual time, a seeded random
 * source and one thread at a time, and programs run on it unmodified. The library exports this one function for it; it is
 * no part of IT-API, and applications do not call it.
 */
#ifndef KAL_HOST_USE_H
#define KAL_HOST_USE_H

#include "rnicpi_host.h"

/*
 * Adapters that the calling thread opens from now on, and everything that is opened under them, use this table; so do a
 * trace and a log of that thread. NULL: the table of production again. The table is complete (ri_host::size), and outlives
 * what was opened with it. What is open already keeps its table.
 */
__attribute__((visibility("default"))) void itapi_host_use(const struct ri_host *host);

#endif /* KAL_HOST_USE_H */
