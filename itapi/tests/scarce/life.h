/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The whole life of an application over it_api.h, two ends in one process, that takes every refusal for want
 * of resources as its end and frees what it has. It allocates nothing by itself.
 */
#ifndef LIFE_H
#define LIFE_H

#include <stdbool.h>

#include "it_api.h"

struct life_report {
	bool whole;  /* everything succeeded */
	bool broken; /* a connection or transfer failed with an event that says so */
	const char *
		wrong; /* a call that gave what it may not, or an event that did not come; NULL: none */
	it_status_t status;   /* of that call */
	const char *shortage; /* the first call that gave IT_ERR_RESOURCES */
};

/* Live it once. Takes no longer than a minute for any event. */
void life_run(const char *adapter, struct life_report *report);

#endif /* LIFE_H */
