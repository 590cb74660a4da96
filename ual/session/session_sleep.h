/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Waiters: threads that sleep until an event of a session arrives. One of them is the leader: it
 * sleeps on the descriptor of the provider's engine and runs the engine when something arrives. The
 * others sleep on parkers.
 *
 * A thread enters, joins a line of its layer (session_line), sleeps and looks for its event by
 * turns, leaves the line, and leaves. From enter to leave its cancellation is deferred, but while
 * it sleeps.
 */
#ifndef SESSION_SLEEP_H
#define SESSION_SLEEP_H

#include "session.h"

/*
 * One waiter. Belongs to its thread between enter and leave; kept for reuse until the session is
 * closed.
 */
struct session_waiter {
	struct session *session;
	struct ri_parker parker;
	atomic_bool woken;
	bool may_lead;
	bool was_leader;  /* for some time in this sleep */
	bool leads;       /* now */
	int cancel_state; /* the thread's own, which holds while it is parked */
	void (*cancelled)(void *arg, struct session_waiter *waiter);
	void *arg;
	struct session_waiter *next; /* session_waiters::asleep or ::unused */
	struct session_waiter *prev;
	struct session_waiter *line_next; /* session_line */
	struct session_waiter *line_prev;
};

/*
 * The waiters for one thing, longest first. The layer above guards it with an event lock. Usually
 * only the first of a line may take an event, and when it leaves it wakes the next if there is
 * more.
 */
struct session_line {
	struct session_waiter *first;
	struct session_waiter *last;
	unsigned count;
};

/* Begin and end of a session's waiters. */
void session_waiters_init(struct session_waiters *waiters);
void session_waiters_fini(struct session *session);

/*
 * Become a waiter. may_lead: the event may come out of the provider's engine, so this thread may
 * run it. NULL: no memory, or session::closing is set.
 *
 * The thread may be cancelled in its sleep, if its own cancellation state allows that. Then
 * `cancelled` runs, which undoes what the caller has begun, such as its place in a line; the
 * session undoes its own part.
 */
struct session_waiter *
session_sleep_enter(struct session *session, bool may_lead,
		    void (*cancelled)(void *arg, struct session_waiter *waiter), void *arg);
/* Stop being one. The thread has left its line. */
void session_sleep_leave(struct session_waiter *waiter);
/*
 * Sleep until woken by session_sleep_wake (which is consumed) or until the deadline, in ns of
 * session_now. The thread becomes leader if it may and no other thread leads. RI_SUCCESS,
 * RI_ERR_TIMEOUT, RI_ERR_INTERRUPTED; RI_ERR_FATAL: session::dead or session::closing is set. The
 * caller holds no event lock.
 */
enum ri_status session_sleep(struct session_waiter *waiter, uint64_t deadline) RI_MUST_CHECK;
/*
 * Wake it. The waiter may have left meanwhile: then the next thread that uses the struct wakes for
 * nothing.
 */
void session_sleep_wake(struct session_waiter *waiter);
/* Wake all waiters, because session::dead or session::closing was set. */
void session_sleep_wake_all(struct session *session);

/* All under the lock of the line. */
void session_line_join(struct session_line *line, struct session_waiter *waiter);
void session_line_leave(struct session_line *line, struct session_waiter *waiter);
/* Wake all, because what they wait for has ended. */
void session_line_wake_all(struct session_line *line);

#endif /* SESSION_SLEEP_H */
