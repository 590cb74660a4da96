/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Completion queues and completion channels. */
#ifndef DOOR_CQ_H
#define DOOR_CQ_H

#include "door_adapter.h"

/* From dispatch, under door_slots::lock: an armed completion queue fired. */
void door_cq_fired(struct door_adapter *adapter, uint64_t ctx);

#endif /* DOOR_CQ_H */
