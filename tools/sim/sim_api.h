/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#ifndef SIM_API_H
#define SIM_API_H

#include <stdbool.h>

#include "it_api.h"
#include "it_ext.h"

/* Before it_ia_create: is the adapter one of the simulation? Else a sentence says which are. */
bool sim_api_may_open(const char *name);
/* Behind it_ia_create, it_ia_free, and polls of event dispatchers. */
void sim_api_opened(it_status_t status, const it_ia_handle_t *ia);
void sim_api_closed(it_status_t status, it_ia_handle_t ia);
void sim_api_polled(it_status_t status);

#endif /* SIM_API_H */
