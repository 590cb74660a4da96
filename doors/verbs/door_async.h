/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Asynchronous events of a context: ibv_get_async_event and what is behind it. */
#ifndef DOOR_ASYNC_H
#define DOOR_ASYNC_H

#include "door_context.h"

/*
 * From dispatch, under door_slots::lock: an asynchronous event of an object or of the adapter; each
 * open context of the adapter gets those of the adapter and its port.
 */
void door_async_raised(struct door_adapter *adapter, const struct ri_async_event *event);
/* A context closes: its events that nobody has taken are dropped. */
void door_async_drop(struct door_context *context);

#endif /* DOOR_ASYNC_H */
