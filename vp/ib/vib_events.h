/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The device's own descriptors of events; vib_events.c. */
#ifndef VIB_EVENTS_H
#define VIB_EVENTS_H

#include "vib.h"

/* Make the completion channel, and have the host watch it and the asynchronous events. */
enum ri_status vib_events_start(struct ri_rnic *rnic) RI_MUST_CHECK;
/* Handle the asynchronous events that the device has raised so far; on the service thread. */
void vib_events_catch_up(struct ri_rnic *rnic);
/* No object is left. After the return no handler runs. */
void vib_events_stop(struct ri_rnic *rnic);

#endif /* VIB_EVENTS_H */
