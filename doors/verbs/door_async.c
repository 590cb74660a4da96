/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "door_async.h"

void
door_async_raised(struct door_adapter *adapter, const struct ri_async_event *event)
{
	(void)adapter;
	(void)event;
}

void
door_async_drop(struct door_context *context)
{
	(void)context;
}
