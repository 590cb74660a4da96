/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A list of events with a descriptor that programs poll: of a completion channel, of the
 * asynchronous events of a context, of an event channel of rdma_cm.
 *
 * The descriptor is readable exactly while the list has events that no thread is about to take. Each
 * event that joins the list and is not about to be taken makes an edge, for users of EPOLLET. The flag
 * O_NONBLOCK is the program's: fcntl() sets it, and door_events_blocks() reads it.
 *
 * A thread that is inside a blocking get may count itself as a taker: then an event that it is going
 * to take costs no system call on the descriptor.
 *
 * Events are nodes in structs of their owners. The lock is an event lock (session.h).
 */
#ifndef DOOR_EVENTS_H
#define DOOR_EVENTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* A member of whatever is raised. */
struct door_event {
	struct door_event *next;
	struct door_event *prev;
	bool queued;
};

struct door_events {
	pthread_mutex_t lock;
	struct door_event *first; /* oldest */
	struct door_event *last;
	unsigned count;  /* events in the list */
	unsigned takers; /* threads that are about to take one each */
	bool readable;   /* the descriptor is */
	int fd;          /* an eventfd */
};

/* false: no descriptor; errno is set. */
bool door_events_init(struct door_events *events);
/* The list is empty, and nobody uses it. Closes the descriptor unless it is -1. */
void door_events_fini(struct door_events *events);

/* All under the lock. */
void door_events_add(struct door_events *events, struct door_event *event);
/* The oldest; NULL: the list is empty. */
struct door_event *door_events_take(struct door_events *events);
/* Take one out again; nothing happens if it is not in the list. */
void door_events_remove(struct door_events *events, struct door_event *event);

/* An event happened that is in the list already: one edge more. */
void door_events_repeat(struct door_events *events);
/* One taker more or less; the last one that leaves shows what it did not take. */
void door_events_taker_enter(struct door_events *events);
void door_events_taker_leave(struct door_events *events);

/* Would a get wait? false: the program has set O_NONBLOCK. */
bool door_events_blocks(const struct door_events *events);
/*
 * Sleep on the descriptor until it is readable. It is a cancellation point, as the get calls of
 * verbs are. false: errno is set, EINTR after a signal handler. The caller owns no lock.
 */
bool door_events_sleep(const struct door_events *events);
/*
 * A sleep of this thread ended because a signal handler ran. Would the system have continued a read()
 * of the device file instead? It does so after handlers that were installed with SA_RESTART.
 */
bool door_events_restarts(void);

/*
 * Must an object that ends wait until more of the events that were taken are acknowledged? The
 * counts wrap around. They are not compared for equality, because a program that acknowledges more
 * than it took (a mistake) would then wait for ever.
 */
static inline bool
door_events_unacknowledged(uint32_t taken, uint32_t acknowledged)
{
	return (int32_t)(taken - acknowledged) > 0;
}

#endif /* DOOR_EVENTS_H */
