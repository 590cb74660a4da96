/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Waiters: threads that sleep until an event of an IA arrives. One of them is the leader: it sleeps on the
 * descriptor of the provider's engine and runs the engine when something arrives. The others sleep on parkers.
 */
#ifndef UAL_SLEEP_H
#define UAL_SLEEP_H

#include "ual_ia.h"

/* One waiter. Belongs to its thread between enter and leave; kept for reuse until the IA ends. */
struct ual_waiter {
	struct ri_parker parker;
	atomic_bool woken;
	bool may_lead;
	bool was_leader;         /* for some time in this sleep */
	bool leads;              /* now */
	int cancel_state;        /* the thread's own, which holds while it is parked */
	struct ual_waiter *next; /* ual_waiters::asleep or ::unused */
	struct ual_waiter *prev;
	struct ual_waiter *evd_next; /* queue of an EVD's waiters, under ual_evd::lock */
	struct ual_waiter *evd_prev;
};

/* Begin and end of an IA's waiters. */
void ual_waiters_init(struct ual_waiters *waiters);
void ual_waiters_fini(struct ual_ia *ia);

/*
 * Become a waiter of this IA, whose thread may be cancelled in its sleep if `cancel_state` says so. The thread has deferred
 * cancellation (ual_cancel.h). NULL: no memory, or the IA is being freed.
 */
struct ual_waiter *ual_sleep_enter(struct ual_ia *ia, bool may_lead, int cancel_state);
/* Stop being one. */
void ual_sleep_leave(struct ual_ia *ia, struct ual_waiter *waiter);
/*
 * Sleep until woken by ual_sleep_wake (which is consumed) or until the deadline. The thread becomes
 * leader if it may and there is none. RI_SUCCESS, RI_ERR_TIMEOUT, RI_ERR_INTERRUPTED; RI_ERR_FATAL: the IA
 * failed or is being freed. The caller holds no event lock.
 */
enum ri_status ual_sleep(struct ual_ia *ia, struct ual_waiter *waiter,
			 uint64_t deadline) RI_MUST_CHECK;
/* In a cleanup handler: the thread was cancelled inside of ual_sleep. ual_sleep_leave comes next. */
void ual_sleep_cancelled(struct ual_ia *ia, struct ual_waiter *waiter);
/* Wake it. The waiter may have left meanwhile: then the next thread that uses the struct wakes for nothing. */
void ual_sleep_wake(struct ual_ia *ia, struct ual_waiter *waiter);
/* Wake all waiters, because ual_ia::dead or ual_ia::closing was set. */
void ual_sleep_wake_all(struct ual_ia *ia);

#endif /* UAL_SLEEP_H */
