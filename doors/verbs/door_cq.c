/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "door_cq.h"

void
door_cq_fired(struct door_adapter *adapter, uint64_t ctx)
{
	(void)adapter;
	(void)ctx;
}
