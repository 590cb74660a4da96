/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Several connections between the two ends of a pair, whose passive endpoints share a receive queue.
 */
#ifndef IT_SHARED_H
#define IT_SHARED_H

#include "it_pair.h"

#define SHARED_SIZE 16 /* receives of the queue */

/* One connection to the shared queue. */
struct shared_link {
	it_ep_handle_t active;
	it_ep_handle_t passive;
};

/* The queue, in the passive end's protection zone, and the SEVD of its asynchronous events. */
struct shared {
	struct pair *pair;
	it_srq_handle_t srq;
	it_evd_handle_t cm_evd;
	it_dto_status_t failure; /* the status of the last Send that failed */
};

void shared_open(struct shared *shared, struct pair *pair);
/* Close all connections. */
void shared_close(struct shared *shared);
/* Connect; soft 0 and hard IT_HARD_HI_WATERMARK_DISABLE switch the watermarks off. */
struct shared_link shared_connect(struct shared *shared, size_t soft, size_t hard);
/* Disconnect if still connected, take the events, and free both endpoints. */
void shared_disconnect(struct shared *shared, struct shared_link *link);
/* A receive of 64 octets at `cookie` * 64 of the passive end's buffer. */
void shared_post(struct shared *shared, it_dto_cookie_t cookie);
/* Take the completions of Sends that have come. */
void shared_drain(struct shared *shared);
/* Send 8 octets that hold `value`, then take the completions of Sends. */
void shared_send(struct shared *shared, const struct shared_link *link, uint64_t value);
/* Take the next message, which must have come through `ep`, into whichever receive; returns its value. */
uint64_t shared_receive(struct shared *shared, it_ep_handle_t ep);
/* Take the next affiliated event, which must be this one. */
void shared_expect(struct shared *shared, it_event_type_t number, void *cause);
/* No such event is queued, and none comes within a short time. */
void shared_expect_none(struct shared *shared);
/* Modify the attributes that the mask names. */
it_status_t shared_modify(struct shared *shared, unsigned int mask, size_t size, size_t low);
it_srq_param_t shared_query(struct shared *shared);

#endif /* IT_SHARED_H */
