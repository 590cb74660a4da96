/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The lease of one process on one resource, as a table of states. kald recalls a lease when another process needs what this one may
 * not use. A process that does not answer in time keeps what it has, and is not asked again before it answers.
 */
#ifndef KALD_LEASE_H
#define KALD_LEASE_H

#include <stdbool.h>
#include <stdint.h>

enum kald_lease_state {
	KALD_LEASE_NONE = 0, /* nothing is lent */
	KALD_LEASE_HELD,
	KALD_LEASE_RECALLED, /* asked to return what is not in use */
	KALD_LEASE_LATE,     /* asked, and did not answer in time */
	KALD_LEASE_STATES
};

enum kald_lease_event {
	KALD_LEASE_LEND = 0, /* something is lent */
	KALD_LEASE_RETURN,   /* the process returns a part or nothing: an answer to a recall */
	KALD_LEASE_EMPTY,    /* it returns all of it */
	KALD_LEASE_RECALL,
	KALD_LEASE_EXPIRE, /* the time for the answer is over */
	KALD_LEASE_END,    /* the process has ended */
	KALD_LEASE_EVENTS
};

/* The state after an event, or -1: the event cannot be in that state. */
int kald_lease_next(enum kald_lease_state state, enum kald_lease_event event);

#endif /* KALD_LEASE_H */
