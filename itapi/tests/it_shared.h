/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Several connections between the two ends of a pair, whose passive endpoints share a receive queue.
 */
#ifndef IT_SHARED_H
#define IT_SHARED_H

#include "it_pair.h"

#define SHARED_SIZE 16 /* receives of the queue */

/* A connection. */
struct shared_link {
	it_ep_handle_t active;
	it_ep_handle_t passive;
};

/* The queue, in the passive end's zone, and where its asynchronous events go. */
struct shared {
	struct pair *pair;
	it_srq_handle_t srq;
	it_evd_handle_t cm_evd;
	it_dto_status_t failure; /* of the last Send that failed */
};

void shared_open(struct shared *shared, struct pair *pair);
/* All links are closed. */
void shared_close(struct shared *shared);
/* Connect; soft 0 and hard IT_HARD_HI_WATERMARK_DISABLE: none. */
struct shared_link shared_connect(struct shared *shared, size_t soft, size_t hard);
/* Disconnect, if it still stands, take the events of that, and free both endpoints. */
void shared_disconnect(struct shared *shared, struct shared_link *link);
/* A receive of 64 octets at `cookie` * 64 of the passive end's buffer. */
void shared_post(struct shared *shared, it_dto_cookie_t cookie);
/* Take the completions of Sends. */
void shared_drain(struct shared *shared);
/* Send 8 octets that hold `value`, and drain. */
void shared_send(struct shared *shared, const struct shared_link *link, uint64_t value);
/* The next message; it came through `ep`, in the buffer of any receive. Answers the value in it. */
uint64_t shared_receive(struct shared *shared, it_ep_handle_t ep);
/* The next affiliated event; must be this one. */
void shared_expect(struct shared *shared, it_event_type_t number, void *cause);
/* No such event has come, nor comes for a moment. */
void shared_expect_none(struct shared *shared);
/* Change what is in the mask. */
it_status_t shared_modify(struct shared *shared, unsigned int mask, size_t size, size_t low);
it_srq_param_t shared_query(struct shared *shared);

#endif /* IT_SHARED_H */
