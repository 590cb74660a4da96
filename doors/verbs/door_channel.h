/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Completion channels. */
#ifndef DOOR_CHANNEL_H
#define DOOR_CHANNEL_H

#include "door_cq.h"

static inline struct door_channel *
door_channel_of(struct ibv_comp_channel *channel)
{
	return (struct door_channel *)channel;
}

/* One queue more. */
void door_channel_join(struct door_channel *channel);
/*
 * The completion queue is being destroyed, and no dispatch finds it any more. Drops its events that
 * were not taken; returns when the program has acknowledged those that it took. The caller owns no
 * lock.
 */
void door_channel_leave(struct door_channel *channel, struct door_cq *cq);
/* Under door_slots::lock: one event of the queue. */
void door_channel_fire(struct door_channel *channel, struct door_cq *cq);

#endif /* DOOR_CHANNEL_H */
