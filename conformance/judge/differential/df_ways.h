/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The ways in which the events of a dispatcher are reported to the runner [IT 6.3]: it waits, the
 * dispatcher is a member of an aggregate of either kind, or it has a callback. The runner takes an
 * event only after it was reported in that way, so a lost notification shows as an event that does
 * not come.
 *
 * One thread calls, that of the world; callbacks run on others.
 */
#ifndef DF_WAYS_H
#define DF_WAYS_H

#include <glib.h>
#include <pthread.h>
#include <stdbool.h>

#include "df_program.h"
#include "it_api.h"

#define WAYS_EVDS 4 /* enum world_evd */

struct ways;

struct way {
	struct ways *ways;
	it_evd_handle_t evd;
	enum df_way now;
	bool told; /* by a notification of the aggregate, after which the queue was not found empty yet */
	pthread_mutex_t lock; /* for what follows, and for dequeuing */
	pthread_cond_t came;  /* something to `events` */
	GArray *events;       /* of it_event_t: taken from the dispatcher, not from here */
};

/* Of one node. */
struct ways {
	it_ia_handle_t ia;
	struct way way[WAYS_EVDS];
	it_evd_handle_t aggregate[DF_WAYS]; /* NULL: none yet, or the way has none */
};

void ways_begin(struct ways *ways, it_ia_handle_t ia, const it_evd_handle_t *evds);
/* No callback runs any more, and no dispatcher is a member. */
void ways_leave(struct ways *ways);
/* Behind that, and when the dispatchers are freed. */
it_status_t ways_end(struct ways *ways);
/* Change the way in which the dispatcher reports events; returns the status of the call of IT-API. */
it_status_t ways_go(struct ways *ways, unsigned evd, enum df_way to);
/* The next event, whether its way has reported it or not. */
bool ways_dequeue(struct ways *ways, unsigned evd, it_event_t *event);
/* Were events of the dispatcher taken, in a way before this one, that are not dequeued yet? */
bool ways_keeps(struct ways *ways, unsigned evd);
/* The next event, if the way of the dispatcher has reported it. The way of waiting reports each. */
bool ways_take(struct ways *ways, unsigned evd, it_event_t *event);
/* Wait for an event as it_evd_wait() does, in the way of the dispatcher. */
it_status_t ways_wait(struct ways *ways, unsigned evd, uint64_t timeout_us, it_event_t *event);

#endif /* DF_WAYS_H */
