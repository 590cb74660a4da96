/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Measures how long acknowledgements take. A last packet that is not acknowledged is repeated soon,
 * because no later packet would show its loss. But it must not be repeated before its
 * acknowledgement can have arrived, because the peer would execute it again, including the whole
 * part of a Read. So one packet at a time is timed, from when it is sent until it is acknowledged.
 *
 * An acknowledgement that arrives after a repetition may belong to either packet, so it is not
 * used. If all packets were repeated too early, none could be timed; so the time-out, which grows
 * with each repetition, keeps its value until a packet was timed that was sent once.
 */
#ifndef VRO_TRIP_H
#define VRO_TRIP_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/roce_packet.h"

struct vro_trip {
	uint64_t began; /* when the packet that is timed left; 0: none is */
	uint32_t end; /* behind its number, or behind the last one of the answer that it asks for */
	bool doubtful; /* something was repeated since the last packet that was timed to its end */
	uint64_t mean; /* ns; 0: not known */
	uint64_t spread; /* ns: how much trips differ from it, in the mean */
};

/* A packet that asks for an answer up to `end` leaves. */
static inline void
vro_trip_begin(struct vro_trip *trip, uint32_t end, uint64_t now)
{
	trip->began = now;
	trip->end = end;
}

/* A packet leaves once more. */
static inline void
vro_trip_repeated(struct vro_trip *trip)
{
	trip->began = 0;
	trip->doubtful = true;
}

/* All numbers before `una` are answered. */
static inline void
vro_trip_answered(struct vro_trip *trip, uint32_t una, uint64_t now)
{
	if (trip->began == 0 || roce_diff(una, trip->end) < 0)
		return;

	uint64_t took = now - trip->began;
	uint64_t off = took > trip->mean ? took - trip->mean : trip->mean - took;

	if (trip->mean == 0) {
		trip->mean = took;
		trip->spread = took / 2;
	} else {
		trip->spread = trip->spread - trip->spread / 4 + off / 4;
		trip->mean = trip->mean - trip->mean / 8 + took / 8;
	}
	trip->began = 0;
	trip->doubtful = false;
}

/* ns after which an answer is late, at least `least`. */
static inline uint64_t
vro_trip_late(const struct vro_trip *trip, uint64_t least)
{
	uint64_t late = 2 * trip->mean + 4 * trip->spread;

	return late > least ? late : least;
}

#endif /* VRO_TRIP_H */
