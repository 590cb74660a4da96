/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Completion queues and completion channels. */
#ifndef DOOR_CQ_H
#define DOOR_CQ_H

#include "door_async.h"
#include "session_sleep.h"
#include "session_spin.h"

#define DOOR_WINDOW 16 /* completions that are taken from the provider at once */

struct door_qp;

struct door_channel {
	struct ibv_comp_channel
		channel; /* first: what programs have; refcnt is under context->mutex */
	struct door_context *context;
	struct door_events events; /* the nodes are door_cq::fired */
	/* Threads in ibv_get_cq_event that sleep; under events.lock. */
	struct session_line line;
	struct session_spin spin;
};

struct door_cq {
	/* What programs have: the plain struct is the beginning of the extended one. */
	union {
		struct ibv_cq cq;
		struct ibv_cq_ex ex;
	};
	struct ri_ucq *queue;
	uint32_t (*poll)(struct ri_ucq *cq, struct ri_wc *wc, uint32_t n); /* of the provider */
	struct door_slot *slots;                                           /* door_slots::first */
	struct door_context *context;
	struct door_channel *channel; /* or NULL */
	struct door_pd *domain;       /* the parent domain that it was created with, or NULL */
	uint32_t id;                  /* of the kAL */
	uint64_t ctx;                 /* its slot */
	atomic_uint users;            /* queue pairs; each of them counts for either queue */

	atomic_bool any_due; /* armed for any completion, and not fired since */

	/* Completion events; under channel->events.lock. */
	struct door_event fired;
	unsigned fired_num; /* events that the program has not taken */
	unsigned fired_taken;

	struct door_async failed; /* IBV_EVENT_CQ_ERR */
	unsigned async_taken;

	/*
	 * Completions that were taken from the provider and not yet passed to the program. A poll looks
	 * for them if `keeps` is set: from the reset of a queue pair until they are taken, and always on
	 * an extended queue.
	 */
	atomic_bool keeps;
	pthread_mutex_t
		keep_lock; /* a control lock; of an extended queue: owned from start_poll to end_poll */
	struct ri_wc *kept;
	uint32_t kept_at;   /* the next one */
	uint32_t kept_num;  /* end of those that are there */
	uint32_t kept_room; /* at least DOOR_WINDOW, if any */
	/* Extended queues. */
	bool single_threaded;
	const struct ri_wc *current; /* what the readers read */
	uint32_t current_qpn;
	uint64_t taken_at; /* nanoseconds of session_now: when the window was taken */
	int64_t wallclock; /* what the clock of the day is ahead */
};

static inline struct door_cq *
door_cq_of(struct ibv_cq *cq)
{
	return (struct door_cq *)cq;
}

/* A queue; comp_vector and the objects are checked here. NULL: errno is set. */
struct door_cq *door_cq_create(struct ibv_context *context, uint32_t entries, void *cq_context,
			       struct ibv_comp_channel *channel, uint32_t vector);

/* Operations of contexts. */
int door_cq_poll(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);
int door_cq_notify(struct ibv_cq *cq, int solicited_only);
struct ibv_cq_ex *door_cqx_create(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr);
int door_cqx_inherited(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr);

/*
 * The next completion, one that was kept back or one from the provider, with the number of its
 * queue pair. NULL: the queue is empty. Completions of destroyed queue pairs are skipped. The
 * caller owns keep_lock.
 */
const struct ri_wc *door_cq_next(struct door_cq *cq, uint32_t *qpn);
/* The words of verbs for parts of a completion. */
enum ibv_wc_opcode door_wc_opcode(const struct ri_wc *wc);
enum ibv_wc_status door_wc_status(const struct ri_wc *wc);
unsigned door_wc_flags(const struct ri_wc *wc);
uint8_t door_wc_sl(const struct door_cq *cq, const struct ri_wc *wc);

/*
 * Drop the completions of a queue pair, which makes no more; `qp_ctx` names its slot. Completions
 * of other queue pairs stay. ENOMEM: none was dropped. Control call.
 */
int door_cq_drop(struct door_cq *cq, uint64_t qp_ctx);

/* From dispatch, under door_slots::lock: an armed completion queue fired. */
void door_cq_fired(struct door_adapter *adapter, uint64_t ctx);
/* Under door_slots::lock: completions of the queue were lost. */
void door_cq_failed(struct door_cq *cq);

#endif /* DOOR_CQ_H */
