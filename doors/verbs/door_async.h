/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Asynchronous events of a context: ibv_get_async_event and what is behind it. */
#ifndef DOOR_ASYNC_H
#define DOOR_ASYNC_H

#include "door_context.h"

struct door_cq;
struct door_qp;
struct door_srq;

/*
 * One kind of event of one object. It is part of the object's memory, so raising it needs no
 * allocation. If it is raised again before the program takes it, it stays a single event and moves
 * to the end of the list.
 */
struct door_async {
	struct door_event event; /* first */
	enum ibv_event_type type;
	void *element;   /* the program's object; NULL: the adapter or a port */
	int port;        /* of a port: its number, from 1 */
	unsigned *taken; /* counts events that were taken of the object; under door_events::lock */
};

/* The list of a new context. false: errno is set. */
bool door_async_init(struct door_context *context);
/* The context ends; events that the program has not taken are dropped. */
void door_async_fini(struct door_context *context);

/*
 * From dispatch, under door_slots::lock: an asynchronous event of an object or of the adapter; each
 * open context of the adapter gets those of the adapter and its port.
 */
void door_async_raised(struct door_adapter *adapter, const struct ri_async_event *event);
/* Under door_slots::lock: this happened. */
void door_async_raise(struct door_context *context, struct door_async *async);
/* Where an object counts its events: those taken from the list, and those that the program has acknowledged. */
struct door_acks {
	const unsigned *taken;
	pthread_mutex_t *mutex; /* of `completed` */
	pthread_cond_t *cond;   /* `completed` has changed */
	const uint32_t *completed;
};

/*
 * The object is being destroyed, and no dispatch finds it any more. Drop its events that the
 * program has not taken, and wait until the program has acknowledged those that it took.
 */
void door_async_end(struct door_context *context, struct door_async *asyncs, size_t num,
		    const struct door_acks *acks);

#endif /* DOOR_ASYNC_H */
