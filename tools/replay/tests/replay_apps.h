/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* What both programs that are recorded do of each call: go on after a success, and end otherwise. Each has defined REPLAY_APP, its name. */
#ifndef REPLAY_APPS_H
#define REPLAY_APPS_H

#include <stdio.h>
#include <stdlib.h>

#include "tool_adapter.h"
#include "tool_error.h"

#define WAIT_US (20 * G_USEC_PER_SEC)

#define MUST(call) must((call), #call)

static void
must(it_status_t status, const char *call)
{
	if (status == IT_SUCCESS)
		return;
	(void)fprintf(stderr, REPLAY_APP ": %s from %s\n", it_status_name(status), call);
	exit(1);
}

static void
must_good(bool good, GError *error)
{
	if (good)
		return;
	(void)fprintf(stderr, REPLAY_APP ": %s\n", error != NULL ? error->message : "failed");
	exit(1);
}

static it_event_t
next_event(it_evd_handle_t evd, it_event_type_t wanted)
{
	it_event_t event;

	MUST(it_evd_wait(evd, WAIT_US, &event, NULL));
	if (event.event_number != wanted) {
		(void)fprintf(stderr, REPLAY_APP ": event %#x instead of %#x\n",
			      (unsigned)event.event_number, (unsigned)wanted);
		exit(1);
	}
	return event;
}

#endif /* REPLAY_APPS_H */
