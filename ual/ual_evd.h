/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Event dispatchers, seen from inside ual/.
 *
 * A DTO SEVD is the provider's completion queue: a dequeue polls it and converts the completion (ual_dto_event in
 * ual_dto.c), with no queue in between. All other streams are bounded rings under ual_evd::lock. For both,
 * ual_evd_notify.c decides when an EVD is in the notified state, and notifies waiters, the descriptor, the callback or
 * the aggregate; ual_evd_wait.c has the waiters.
 */
#ifndef UAL_EVD_H
#define UAL_EVD_H

#include "session_sleep.h"
#include "session_spin.h"
#include "ual_ia.h"

#define UAL_EVD_WAITERS_MAX 64 /* */

/*
 * The smallest queues that a creation makes. Some existing programs request room for one event, and
 * then get many at once. A modify makes a queue of exactly the requested size.
 */
#define UAL_EVD_RING_MIN 128
#define UAL_EVD_CQ_MIN   64

#define UAL_EVD_RING_MAX ((size_t)1 << 17) /* events of a stream other than DTO */

#define UAL_EVD_OVERFLOW_FLAGS \
	((unsigned)(IT_EVD_OVERFLOW_DEFAULT | IT_EVD_OVERFLOW_NOTIFY | IT_EVD_OVERFLOW_AUTO_RESET))

/* DEFAULT goes with no other overflow mode. */
static inline bool
ual_evd_overflow_fits(unsigned flags)
{
	return (flags & IT_EVD_OVERFLOW_DEFAULT) == 0 ||
	       (flags & UAL_EVD_OVERFLOW_FLAGS) == IT_EVD_OVERFLOW_DEFAULT;
}

/* Bits of ual_evd::attention: why a dequeue must do more than poll. Written under ual_evd::lock. */
enum ual_evd_attention {
	UAL_EVD_LATCHED =
		1u << 0, /* DTO, threshold 0: notified, until left or found empty */
	UAL_EVD_WATCHED = 1u << 1, /* there are waiters, a descriptor, a callback or an aggregate */
	UAL_EVD_OVERFLOWED = 1u << 2 /* the overflowed state ends when the EVD is empty */
};

/* Ring of events of a stream other than DTO; under ual_evd::lock. */
struct ual_ring {
	unsigned char *slots;
	size_t event_size; /* bytes of the largest event of this stream */
	size_t size;       /* slots */
	size_t head;       /* oldest */
	size_t count;
};

struct ual_evd {
	struct ual_object object;

	/* Fast path; fixed at creation. The three entries are the provider's, or a stage's. */
	uint32_t (*poll)(struct ri_ucq *cq, struct ri_wc *wc, uint32_t n);
	uint32_t (*depth)(struct ri_ucq *cq);
	enum ri_status (*arm)(struct ri_ucq *cq, enum ri_arm how, uint32_t count);
	struct ri_ucq *cq; /* NULL if the stream is not DTO */
	atomic_uint attention;
	it_event_type_t stream;
	uint32_t cq_id;

	pthread_mutex_t control; /* control lock: modify, free */

	pthread_mutex_t lock; /* event lock of what follows, up to `waiters` */
	struct ual_ring ring;
	size_t queue_size;
	it_evd_flags_t flags;
	bool enabled;
	bool overflowed;
	bool dying;               /* waiters leave with IT_ERR_ABORT */
	struct session_line line; /* waiting threads */
	unsigned detachers;       /* threads that wait for the end of a callback */
	atomic_uint waiters;      /* calls of wait that use the EVD; incremented under lock */

	atomic_size_t threshold; /* 0: notify by notification events */
	atomic_bool rearmed;     /* was below its threshold since it last notified */

	struct session_spin spin; /* what waits have learnt about polling */

	/* A member of an aggregate (ual_evd_aggregate.c). */
	struct ual_evd *aevd; /* NULL: of none; written under control, the aggregate's, and lock */
	struct ual_evd *member_next; /* under the aggregate's lock, as the rest */
	struct ual_evd *member_prev;
	struct ual_evd *pending_next;
	bool pending;

	/* An aggregate: stream IT_AEVD_NOTIFICATION_EVENT_STREAM. */
	bool merges; /* hands out its members' events; fixed at creation */
	struct ual_evd *members;
	struct ual_evd *pending_first;
	struct ual_evd *pending_last;
	size_t member_count;
	size_t pending_count;

	/* A callback (ual_evd_callback.c); under lock. */
	it_evd_callback_rtn_t callback; /* NULL: none */
	void *callback_arg;
	struct ri_task task;

	/* Evaluation (ual_evd_notify.c): its role and retry count, and the last result. */
	atomic_uint requests;
	atomic_uint evaluating;
	atomic_uint evaluated; /* requests that were served */
	bool level;            /* in the notified state, and watched */
	int fd;                /* eventfd, readable while level; or -1. Fixed at creation */
};

_Static_assert(sizeof(struct ual_evd) <= UAL_SLOT_SIZE, "an EVD fits its slot");

/*
 * For sources of events: ual_evd_post.c.
 */

/* The EVD of that stream and IA, with a reference (ual_object_unref); NULL if the handle is invalid. */
struct ual_evd *ual_evd_use(it_evd_handle_t handle, it_event_type_t stream,
			    const struct ual_ia *ia);
/* Enqueue an event of a stream other than DTO; fills in its member `evd`. False: the EVD is full, the event is lost,
 * and the overflow is accounted for. Dispatch may call this. */
bool ual_evd_post(struct ual_evd *evd, const it_event_t *event);
/*
 * The EVD is full, or its completion queue has overflowed [IT 6.7]: enter the overflowed state; in notify mode raise
 * IT_ASYNC_AFF_EP_SEVD_FULL_ERROR for the EP with handle ep, or, ep NULL, ..._SEVD_FULL_ERROR.
 * The caller owns no event lock of an EVD.
 */
void ual_evd_overflow(struct ual_evd *evd, void *ep);

/* Make dequeues check whether they end the overflow. Under ual_evd::lock. */
void ual_evd_attend_overflow(struct ual_evd *evd);

/* ual_dto.c: fill the members of *out that the completion has; false if it makes no event. */
bool ual_dto_event(const struct ri_wc *wc, struct ual_evd *evd, it_event_t *out);

/* Take the oldest event, of any stream; ual_evd_dequeue.c. False: none. The caller then checks `attention`. */
bool ual_evd_take(struct ual_evd *evd, it_event_t *event);

/* Set or clear UAL_EVD_WATCHED: are there waiters, a descriptor, a callback, an aggregate? Under ual_evd::lock. */
void ual_evd_watch(struct ual_evd *evd);

/* Entries for a completion queue when `size` are requested. */
static inline size_t
ual_evd_cq_generous(const struct ual_ia *ia, size_t size)
{
	size_t least = ia->session.attr.max_cqe < UAL_EVD_CQ_MIN ? ia->session.attr.max_cqe
								 : UAL_EVD_CQ_MIN;

	return size > least ? size : least;
}

static inline bool
ual_evd_is_async(it_event_type_t stream)
{
	return stream == IT_ASYNC_AFF_EVENT_STREAM || stream == IT_ASYNC_UNAFF_EVENT_STREAM;
}

static inline bool
ual_evd_is_aggregate(const struct ual_evd *evd)
{
	return evd->stream == IT_AEVD_NOTIFICATION_EVENT_STREAM;
}

/*
 * Aggregates: ual_evd_aggregate.c. The caller owns no event lock.
 */

/*
 * Make an EVD a member, which takes over the caller's reference. pending: with a notification that was not taken from
 * the aggregate before. Under the member's control lock.
 */
void ual_aggregate_join(struct ual_evd *aevd, struct ual_evd *member, bool pending);
/* Remove a member; true if a notification was pending. No effect if it is no member. */
bool ual_aggregate_leave(struct ual_evd *member);
/* All members leave: the IA is being freed. */
void ual_aggregate_disband(struct ual_evd *aevd);
/* ual_object_freeze for an aggregate: false while it has members. */
bool ual_aggregate_is_free(struct ual_evd *aevd);
/* A member was evaluated; level: it is in the notified state, edge: it entered it. Dispatch may call this. */
void ual_aggregate_tell(struct ual_evd *member, bool level, bool edge);
/* ual_evd_take, ual_evd_depth and the notified state of an aggregate. */
bool ual_aggregate_take(struct ual_evd *aevd, it_event_t *event);
size_t ual_aggregate_depth(struct ual_evd *aevd);
bool ual_aggregate_level(struct ual_evd *aevd);

/*
 * Callbacks: ual_evd_callback.c.
 */

void ual_callback_init(struct ual_evd *evd);

/*
 * Rings: ual_evd_ring.c. All under ual_evd::lock.
 */

/* Bytes of the largest event of a stream. */
size_t ual_ring_event_size(it_event_type_t stream);
/* Slots for a ring when `size` are requested. */
size_t ual_ring_generous(it_event_type_t stream, size_t size);
/* Change the size of a ring and keep its events; false: no memory, nothing changed. */
bool ual_ring_resize(struct ual_ring *ring, size_t size);
void ual_ring_free(struct ual_ring *ring);
/* Enqueue the event as one of that EVD. False: full. */
bool ual_ring_put(struct ual_ring *ring, const it_event_t *event, it_evd_handle_t evd);
/* False: empty. Writes only the members that events of this stream have. */
bool ual_ring_take(struct ual_ring *ring, it_event_t *event);

/*
 * Evaluation: ual_evd_notify.c. The caller owns no event lock.
 */

/* Is the EVD in the notified state? A completion queue that is not is armed. */
bool ual_evd_is_notified(struct ual_evd *evd);

/* Check whether the EVD is in the notified state, and notify. Dispatch may call this. */
void ual_evd_evaluate(struct ual_evd *evd);
/* Evaluate; when this returns, the descriptor shows the result. Not from dispatch. */
void ual_evd_evaluate_fully(struct ual_evd *evd);
/* Events in the EVD now. */
size_t ual_evd_depth(struct ual_evd *evd);
/* After events were taken by a dequeue that found ual_evd::attention set: re-arm, end an overflow. */
void ual_evd_taken(struct ual_evd *evd);
/* A notification event was taken: events that are left notify, too [IT 6.4]. */
void ual_evd_latch(struct ual_evd *evd);
/* Wake all waiters, to check ual_evd::dying and ::enabled. Under ual_evd::lock. */
void ual_evd_wake_waiters(struct ual_evd *evd);

#endif /* UAL_EVD_H */
