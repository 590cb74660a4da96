/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The whole life of an application over it_api.h, with two ends in one process. It treats each refusal for lack of
 * resources as the end of its work and frees what it has. It allocates no memory itself.
 */
#ifndef LIFE_H
#define LIFE_H

#include <stdbool.h>

#include "it_api.h"

struct life_report {
	bool whole; /* every step succeeded */
	const char *
		wrong; /* a call returned a status that it must not return, or an event did not come; NULL: neither */
	it_status_t status;   /* the status of that call */
	const char *shortage; /* the first call that returned IT_ERR_RESOURCES */
};

/* Run it once. Waits at most one minute for each event. */
void life_run(const char *adapter, struct life_report *report);
/* The same, with a function that is called when both ends have opened their adapters and made their objects. */
void life_run_then(const char *adapter, struct life_report *report, void (*opened)(void));

#endif /* LIFE_H */
