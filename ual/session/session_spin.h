/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Whether a wait polls before it sleeps, learnt from the waits before it.
 *
 * Polling pays if the event comes while the thread polls. It cannot if the peer needs this
 * processor to make the event: then polling only keeps the peer waiting. From inside, both look the
 * same until the thread sleeps. If the event comes soon after that, the peer was probably kept
 * waiting. So the waits for one thing share a score, in a struct session_spin:
 *
 *   SESSION_SPIN_POLL   poll for session::spin_ns. An event found adds 2 points, none found subtracts
 *                       1. Without points:
 *   SESSION_SPIN_YIELD  yield the processor once, and look once. If that finds nothing, or takes
 *                       longer than polling would:
 *   SESSION_SPIN_NOT    sleep at once
 *
 * From the last two a wait polls again, to see whether it pays now, after a number of waits whose
 * events came soon. The number grows with every such trial that fails, so that two threads on one
 * processor hardly ever poll. Waits that were long say nothing about the peer, and are not counted:
 * they take the points only, so that the first soon event after a long time is enough to poll again.
 *
 * Threads: any, at once. Each value is a hint, so an update that is lost does no harm.
 */
#ifndef SESSION_SPIN_H
#define SESSION_SPIN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define SESSION_SPIN_POINTS  8    /* most points */
#define SESSION_SPIN_GAP     4    /* soon events until the first trial */
#define SESSION_SPIN_GAP_MAX 1024 /* and at most */

enum session_spin_way {
	SESSION_SPIN_POLL = 0,
	SESSION_SPIN_YIELD,
	SESSION_SPIN_NOT
};

struct session_spin {
	_Atomic uint8_t way;    /* enum session_spin_way */
	_Atomic uint8_t points; /* in SESSION_SPIN_POLL */
	_Atomic uint16_t gap;   /* soon events between the next two trials */
	_Atomic uint16_t left;  /* soon events until the next trial */
};

void session_spin_init(struct session_spin *spin);

/* What the wait that begins now does first. */
enum session_spin_way session_spin_way(const struct session_spin *spin);

/* A wait went this way and found its event so. */
void session_spin_paid(struct session_spin *spin, enum session_spin_way way);

/*
 * A wait polled or yielded (`way`), found nothing, and slept; `soon`: then the event came within
 * the time that polling would have taken.
 */
void session_spin_in_vain(struct session_spin *spin, enum session_spin_way way, bool soon);

#endif /* SESSION_SPIN_H */
