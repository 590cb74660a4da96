/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Shared receive queues. */
#ifndef DOOR_SRQ_H
#define DOOR_SRQ_H

#include "door_async.h"
#include "door_memory.h"

enum {
	DOOR_SRQ_FAILED,
	DOOR_SRQ_LIMIT,
	DOOR_SRQ_EVENTS
};

struct door_srq {
	struct ibv_srq srq; /* first */
	struct ri_usrq *queue;
	struct door_pd *pd;
	uint32_t id;       /* of the kAL */
	uint64_t ctx;      /* its slot */
	atomic_uint users; /* queue pairs */
	uint32_t max_sge;
	pthread_mutex_t post_lock; /* for providers whose queues take one post at a time */
	struct door_async asyncs[DOOR_SRQ_EVENTS];
	unsigned async_taken;
};

static inline struct door_srq *
door_srq_of(struct ibv_srq *srq)
{
	return (struct door_srq *)srq;
}

/* Operation of contexts: types and attributes that plain shared receive queues lack are refused. */
struct ibv_srq *door_srq_create_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr);

/* Under door_slots::lock: an asynchronous event of it. */
void door_srq_raised(struct door_srq *srq, enum ri_event event);

#endif /* DOOR_SRQ_H */
