/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The device's own descriptors of events, vib_events.c; the kernel's message about its removal, vib_removal.c. */
#ifndef VIB_EVENTS_H
#define VIB_EVENTS_H

#include "vib.h"

/* Make the completion channel, and have the host watch it and the asynchronous events. */
enum ri_status vib_events_start(struct ri_rnic *rnic) RI_MUST_CHECK;
/* The device is gone or has failed: its connections end, then the adapter. On the service thread; the first call counts. */
void vib_device_failed(struct ri_rnic *rnic);
/* Handle the asynchronous events that the device has raised so far; on the service thread. */
void vib_events_catch_up(struct ri_rnic *rnic);
/* No object is left. After the return no handler runs. */
void vib_events_stop(struct ri_rnic *rnic);

/*
 * Let the host watch the kernel's announcements of device changes, which every program may read.
 * Without them an idle adapter might not notice the removal of its device. RI_ERR_NO_DEVICE: the
 * device has already been removed.
 */
enum ri_status vib_removal_start(struct ri_rnic *rnic) RI_MUST_CHECK;
void vib_removal_stop(struct ri_rnic *rnic);
/* Has the adapter failed since its device was removed? */
bool vib_removal_done(const struct ri_rnic *rnic);

#endif /* VIB_EVENTS_H */
