/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Threads that sleep for an IA. One of them may lead: it sleeps on the descriptor of the provider's
 * engine and runs the engine when something arrives; the others sleep on words of their own.
 */
#ifndef UAL_SLEEP_H
#define UAL_SLEEP_H

#include "ual_ia.h"

/* One sleeping thread. Belongs to the thread between enter and leave; kept for reuse until the IA ends. */
struct ual_sleeper {
	struct ri_parker parker;
	atomic_bool woken;
	bool may_lead;
	bool led;                 /* in this sleep */
	struct ual_sleeper *next; /* ual_beds::asleep or ::unused */
	struct ual_sleeper *prev;
	struct ual_sleeper *evd_next; /* queue of an EVD's waiters, under ual_evd::lock */
	struct ual_sleeper *evd_prev;
};

/* Make and unmake the place where an IA's sleepers are kept. */
void ual_beds_init(struct ual_beds *beds);
void ual_beds_fini(struct ual_ia *ia);

/* Become a sleeper of this IA; NULL: no memory, or the IA is being freed. */
struct ual_sleeper *ual_sleep_enter(struct ual_ia *ia, bool may_lead);
/* Stop being one. */
void ual_sleep_leave(struct ual_ia *ia, struct ual_sleeper *sleeper);
/*
 * Sleep until woken by ual_sleep_wake (which is consumed) or until the deadline. Leads the engine if
 * it may and nobody else does. RI_SUCCESS, RI_ERR_TIMEOUT, RI_ERR_INTERRUPTED; RI_ERR_FATAL: the IA
 * failed or is being freed. With no event lock held.
 */
enum ri_status ual_sleep(struct ual_ia *ia, struct ual_sleeper *sleeper,
			 uint64_t deadline) RI_MUST_CHECK;
/* Wake it. A sleeper may have left meanwhile: then this is a false alarm for the next to use it. */
void ual_sleep_wake(struct ual_ia *ia, struct ual_sleeper *sleeper);
/* Wake all, because ual_ia::dead or ual_ia::closing was set. */
void ual_sleep_wake_all(struct ual_ia *ia);

#endif /* UAL_SLEEP_H */
