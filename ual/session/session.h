/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A session: one open adapter. It has what each access layer needs and none of them should write
 * again: the client of the kAL, the user half of the provider, events dispatched in order, and
 * threads that sleep for them (session_sleep.h, session_wait.h). An access layer embeds a session
 * in the struct that it has for an open adapter.
 *
 * The layer above enters at one place, `dispatch`. The session refers to no object of that layer, and
 * one event: the adapter failed beyond repair.
 *
 * Rules for every access layer
 *
 * 1. Events of the kAL (armed completion queues, connections, errors) are dispatched on any thread,
 *    also inside a fast entry of the provider (post, poll, arm, progress), and inside a kAL call
 *    that queues an event. One thread dispatches at a time, in the order of the kAL's queue. So a
 *    layer has two kinds of lock:
 *    - *event locks* may be taken by dispatch. A thread owns one for a few instructions, never
 *      across a kAL call, a fast entry that runs the engine, or a host call that can sleep.
 *    - *control locks* serialise slow calls on one object. A thread may own one across kAL calls
 *      and fast entries. Dispatch never takes one.
 *    Order: control locks, then event locks, session_waiters::lock last (doc/threads-and-locks.md
 *    has all locks).
 * 2. Dispatch makes no kAL call: it may run inside an engine whose thread owns locks of the
 *    provider. If dispatch needs one, a ri_task makes it later on the host's service thread; the
 *    task is stopped before the session is closed. Dispatch may call two fast entries, arm and
 *    depth, which do not run the engine, and never post, poll or progress.
 * 3. What dispatch uses stays while the dispatch runs. A thread that destroys an object first makes
 *    it impossible for a later dispatch to find it, then destroys what the kAL has of it, calls
 *    session_settle and only then frees its memory.
 */
#ifndef SESSION_H
#define SESSION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kal_call.h"

struct session_waiter;

/* The threads that wait; session_sleep.c. */
struct session_waiters {
	pthread_mutex_t lock;          /* an event lock, after all others */
	struct session_waiter *asleep; /* latest first */
	struct session_waiter *unused; /* kept until the session is closed */
	unsigned inside;               /* threads between session_sleep_enter and _leave */
};

struct session {
	/* Fixed while the session is open. */
	struct kal_client *client;
	const struct ri_host *host;
	const struct ri_user_ops *user;
	const struct ri_fast_ops *fast;
	struct ri_urnic *urnic;
	uint32_t rnic;            /* kAL id */
	uint64_t spin_ns;         /* how long a wait polls before it sleeps */
	struct ri_rnic_attr attr; /* semantic profile; attr.name is the adapter's name */
	void (*dispatch)(void *above, const struct kal_event *event);
	void *above;
	struct kal_waits *waits; /* counted there, or NULL */

	atomic_bool dead;    /* the adapter failed beyond repair: calls and waits fail */
	atomic_bool closing; /* session_end_waits was called: waits end */

	/* session_events.c */
	pthread_mutex_t drain; /* owned by the thread that dispatches events */
	atomic_uint kicks;     /* number of kicks by the kAL */

	struct session_waiters waiters;
};

/* The layer above. */
struct session_params {
	/*
	 * Called for each event, by one thread at a time, under the rules above. The first call may
	 * come before session_open returns, the last one before session_close does. When it is
	 * called for RI_EVENT_DEVICE_CATASTROPHIC, session::dead is set; when it returns, all
	 * waiters are woken.
	 */
	void (*dispatch)(void *above, const struct kal_event *event);
	void *above; /* for `dispatch` */
};

/*
 * Open the adapter of that name; *rep is the kAL's answer, for the layer's own policy. On failure
 * nothing is left open: RI_ERR_NO_DEVICE, RI_ERR_RESOURCES, or what the kAL or the provider
 * returned.
 */
enum ri_status session_open(struct session *session, const char *name,
			    const struct session_params *params,
			    struct kal_rnic_open_rep *rep) RI_MUST_CHECK;
/*
 * End all waits, close the adapter, and destroy what the layer still has of the kAL. The layer has
 * closed its user halves, and no thread makes a call any more. Not from dispatch.
 */
void session_close(struct session *session);
/*
 * End all waits: sleeping threads wake, no other falls asleep. Returns when all of them have left.
 */
void session_end_waits(struct session *session);

/* One kAL call without a descriptor; rep may be NULL. The reply must have exactly rep_len bytes. */
enum ri_status session_call(struct session *session, uint32_t call, const void *req, size_t req_len,
			    void *rep, size_t rep_len) RI_MUST_CHECK;
/* A kAL call whose request is one id, without a reply: destroy and the like. */
enum ri_status session_call_id(struct session *session, uint32_t call, uint32_t id) RI_MUST_CHECK;

/* What a queue does is counted from now on, where the provider and the kAL can; after its user half was opened. */
void session_count_qp(struct session *session, uint32_t id, struct ri_uqp *qp);
void session_count_cq(struct session *session, uint32_t id, struct ri_ucq *cq);
void session_count_srq(struct session *session, uint32_t id, struct ri_usrq *srq);

/* kal_client_params::kick; arg is the session. */
void session_kick(void *session);
/*
 * When this returns, all events that the kAL queued before the call were dispatched, and no
 * dispatch uses what was hidden from dispatch before the call (rule 3). The caller owns no event
 * lock and is not in dispatch.
 */
void session_settle(struct session *session);

/* The host's clock, in nanoseconds. */
static inline uint64_t
session_now(const struct session *session)
{
	return session->host->now(session->host->self);
}

/* The thread waits for another one, which is about to do its part; `round` as of ri_host::relax. */
static inline void
session_relax(const struct session *session, uint32_t round)
{
	session->host->relax(session->host->self, round);
}

/*
 * Run the engine of the adapter, as a poll of an empty queue does; `budget` as of
 * ri_fast_ops::progress. 0: it found nothing to do.
 */
static inline uint32_t
session_progress(struct session *session, uint32_t budget)
{
	return session->fast->progress(session->urnic, budget);
}

#endif /* SESSION_H */
