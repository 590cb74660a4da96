/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Shared receive queues: which queue pair gets which receive, which ones wait, and the three watermarks
 * (RDMAC verbs 6.3; [RI 6]).
 *
 * Receives are taken in the order in which they were posted, each by the queue pair whose message arrives
 * first. A queue pair that finds none goes to the end of a line. While members wait in the line, only the
 * first of them may take a receive; so all members get receives in turn and none starves. A thread that
 * posts, takes or leaves sees under the lock whether the first member can proceed, and wakes it. One thread
 * at a time wakes members (`waking` is a role). Another thread that finds the role taken sets its retry flag,
 * so the depth of calls stays bounded however long the line is.
 *
 * No wake-up is lost: a poster stores its entry and then takes the lock; a member reads the entries and
 * enters the line under the lock. One of them sees the other.
 *
 * A receive is in progress from the moment it is taken until its completion has been polled. Each queue pair
 * counts the receives it took; those polled are counted in the pages of its own receive queue, which has no
 * slots. An application that writes a wrong count there harms only its own queue pair.
 *
 * The event of the low watermark is raised on the service thread; the other two by the provider, which knows
 * the queue pair. A member is never freed while a thread is waking it: `woken` is counted under the lock, and
 * vsw_srq_part waits for it.
 */
#include "vsw_srq.h"

#include <string.h>

#include "vsw_relax.h"

/* --- the line of members that wait; with the lock ---------------------------------------- */

static void
line_enter(struct vsw_srq *srq, struct vsw_srq_member *member)
{
	assert(vsw_lock_is_owned(&srq->lock));
	if (member->waits)
		return;
	member->waits = true;
	member->next = NULL;
	member->prev = srq->last;
	if (srq->last != NULL)
		srq->last->next = member;
	else
		srq->first = member;
	srq->last = member;
}

static void
line_leave(struct vsw_srq *srq, struct vsw_srq_member *member)
{
	assert(vsw_lock_is_owned(&srq->lock));
	if (!member->waits)
		return;
	member->waits = false;
	if (member->prev != NULL)
		member->prev->next = member->next;
	else
		srq->first = member->next;
	if (member->next != NULL)
		member->next->prev = member->prev;
	else
		srq->last = member->prev;
}

/* Is there a receive for the first of the line, or does it fail? */
static bool
first_can_proceed(struct vsw_srq *srq)
{
	return srq->first != NULL && (srq->failed || vsw_wq_available(&srq->wq) != 0);
}

/* Are fewer receives left than the limit? Then its event is due, and the limit is off. */
static bool
limit_reached(struct vsw_srq *srq)
{
	if (srq->limit == 0 || vsw_wq_available(&srq->wq) >= srq->limit)
		return false;
	srq->limit = 0;
	srq->limit_due = true;
	return true;
}

/* --- events ------------------------------------------------------------------------------ */

static void
srq_event_raise(const struct vsw_srq *srq, enum ri_event event)
{
	const struct ri_upcalls *up = srq->params.upcalls;
	struct ri_async_event e = {.event = event, .object = RI_OBJECT_SRQ, .ctx = srq->ctx};

	up->async_event(up->self, &e);
}

/* On the service thread. */
static void
srq_events_raise_due(void *arg)
{
	struct vsw_srq *srq = arg;

	vsw_lock(&srq->lock);
	bool limit = srq->limit_due;
	bool failed = srq->failed_due;
	srq->limit_due = false;
	srq->failed_due = false;
	vsw_unlock(&srq->lock);
	if (limit)
		srq_event_raise(srq, RI_EVENT_SRQ_LIMIT);
	if (failed)
		srq_event_raise(srq, RI_EVENT_SRQ_CATASTROPHIC);
}

static void
srq_events_raise_soon(struct vsw_srq *srq)
{
	const struct ri_host *host = srq->params.host;

	host->task_run(host->self, &srq->task);
}

/* --- control path ------------------------------------------------------------------------ */

enum ri_status
vsw_srq_create(struct vsw_srq *srq, const struct vsw_srq_params *params, struct ri_srq_attr *attr)
{
	memset(srq, 0, sizeof(*srq));
	if (attr->max_wr == 0 || (attr->limit != RI_SRQ_LIMIT_KEEP && attr->limit > attr->max_wr))
		return RI_ERR_INVALID_ARG;

	enum ri_status status = vsw_rq_create(&srq->wq, &attr->max_wr, attr->max_sge);

	if (status != RI_SUCCESS)
		return status;
	srq->params = *params;
	srq->ctx = attr->ctx;
	srq->task = (struct ri_task){.fire = srq_events_raise_due, .arg = srq};
	srq->limit = attr->limit != RI_SRQ_LIMIT_KEEP ? attr->limit : 0;
	attr->available = 0;
	if (limit_reached(srq))
		srq_events_raise_soon(srq);
	return RI_SUCCESS;
}

enum ri_status
vsw_srq_modify(struct vsw_srq *srq, struct ri_srq_attr *attr, bool resize)
{
	enum ri_status status = RI_SUCCESS;
	bool due = false;

	vsw_lock(&srq->lock);
	uint32_t limit = attr->limit != RI_SRQ_LIMIT_KEEP ? attr->limit : srq->limit;
	if (limit > (resize ? attr->max_wr : srq->wq.size) || (resize && attr->max_wr == 0))
		status = RI_ERR_INVALID_ARG;
	else if (resize)
		status = vsw_wq_resize(&srq->wq, &attr->max_wr);
	if (status == RI_SUCCESS) {
		srq->limit = limit;
		due = limit_reached(srq);
		attr->max_wr = srq->wq.size;
	}
	vsw_unlock(&srq->lock);
	if (due)
		srq_events_raise_soon(srq);
	return status;
}

void
vsw_srq_query(struct vsw_srq *srq, struct ri_srq_attr *attr)
{
	vsw_lock(&srq->lock);
	*attr = (struct ri_srq_attr){.ctx = srq->ctx,
				     .max_wr = srq->wq.size,
				     .max_sge = srq->wq.max_sge,
				     .limit = srq->limit,
				     .available = vsw_wq_available(&srq->wq)};
	vsw_unlock(&srq->lock);
}

void
vsw_srq_destroy(struct vsw_srq *srq)
{
	const struct ri_host *host = srq->params.host;

	host->task_stop(host->self, &srq->task);
	vsw_wq_destroy(&srq->wq);
}

void
vsw_srq_fail(struct vsw_srq *srq)
{
	vsw_lock(&srq->lock);
	srq->failed_due = !srq->failed;
	srq->failed = true;
	vsw_unlock(&srq->lock);
	srq_events_raise_soon(srq);
	vsw_srq_bell(srq);
}

void
vsw_srq_join(struct vsw_srq *srq, struct vsw_srq_member *member, const struct vsw_wq *own,
	     const struct ri_qp_init *init)
{
	member->srq = srq;
	member->own = own;
	member->next = NULL;
	member->prev = NULL;
	member->waits = false;
	member->pass_on = false;
	atomic_store(&member->woken, 0);
	atomic_store(&member->taken, 0);
	atomic_store(&member->soft, init->soft_limit);
	atomic_store(&member->hard, init->hard_limit);
	atomic_fetch_add(&srq->users, 1);
}

void
vsw_srq_part(struct vsw_srq_member *member)
{
	struct vsw_srq *srq = member->srq;

	if (srq == NULL)
		return;
	vsw_srq_leave(member);
	vsw_srq_pass_on(member);
	for (unsigned round = 0; atomic_load(&member->woken) != 0; round++)
		vsw_relax(srq->params.host, round);
	member->srq = NULL;
	atomic_fetch_sub(&srq->users, 1);
}

void
vsw_srq_limits(struct vsw_srq_member *member, const struct ri_qp_attr *attr, uint32_t mask)
{
	if ((mask & RI_QP_ATTR_HARD) != 0)
		atomic_store(&member->hard, attr->hard_limit);
	if ((mask & RI_QP_ATTR_SOFT) != 0)
		atomic_store(&member->soft, attr->soft_limit);
}

/* --- waking ------------------------------------------------------------------------------ */

/* The first of the line, to be woken, unless it is `before`; NULL: no member can proceed. */
static struct vsw_srq_member *
member_wake_next(struct vsw_srq *srq, const struct vsw_srq_member *before)
{
	vsw_lock(&srq->lock);
	struct vsw_srq_member *member = first_can_proceed(srq) ? srq->first : NULL;
	if (member == before)
		member =
			NULL; /* another thread runs it, and wakes the next when it has taken a receive */
	if (member != NULL)
		atomic_fetch_add(&member->woken, 1);
	vsw_unlock(&srq->lock);
	return member;
}

void
vsw_srq_bell(void *engine_srq)
{
	struct vsw_srq *srq = engine_srq;

	if (!vsw_role_take(&srq->waking))
		return;
	do {
		struct vsw_srq_member *member = NULL;
		const struct vsw_srq_member *before = NULL;
		vsw_role_begin(&srq->waking);
		while ((member = member_wake_next(srq, before)) != NULL) {
			before = member;
			srq->params.wake(member);
			atomic_fetch_sub(&member->woken, 1);
		}
	} while (vsw_role_drop(&srq->waking));
}

void
vsw_srq_pass_on(struct vsw_srq_member *member)
{
	if (!member->pass_on)
		return;
	member->pass_on = false;
	vsw_srq_bell(member->srq);
}

/* --- taking ------------------------------------------------------------------------------ */

uint32_t
vsw_srq_in_progress(const struct vsw_srq_member *member)
{
	return atomic_load(&member->taken) - atomic_load(&member->own->page->released);
}

bool
vsw_srq_soft_due(struct vsw_srq_member *member)
{
	uint32_t soft = atomic_load(&member->soft);

	return soft != 0 && vsw_srq_in_progress(member) > soft &&
	       atomic_compare_exchange_strong(&member->soft, &soft, 0);
}

bool
vsw_srq_hard_due(const struct vsw_srq_member *member)
{
	return vsw_srq_in_progress(member) > atomic_load(&member->hard);
}

/* With the lock. */
static enum vsw_srq_result
srq_take_locked(struct vsw_srq *srq, struct vsw_srq_member *member, struct vsw_wqe *out)
{
	uint32_t index = 0;

	assert(vsw_lock_is_owned(&srq->lock));
	if (srq->failed)
		return VSW_SRQ_FAILED;
	if ((srq->first != NULL && srq->first != member) || vsw_wq_available(&srq->wq) == 0 ||
	    !vsw_rq_take(&srq->wq, out, &index)) {
		line_enter(srq, member);
		return VSW_SRQ_EMPTY;
	}
	line_leave(srq, member);
	atomic_fetch_add(&member->taken, 1);
	return VSW_SRQ_TAKEN;
}

enum vsw_srq_result
vsw_srq_take(struct vsw_srq_member *member, struct vsw_wqe *out)
{
	struct vsw_srq *srq = member->srq;

	if (vsw_srq_in_progress(member) >= atomic_load(&member->hard))
		return VSW_SRQ_HARD_LIMIT;

	vsw_lock(&srq->lock);
	enum vsw_srq_result result = srq_take_locked(srq, member, out);
	bool due = result == VSW_SRQ_TAKEN && limit_reached(srq);
	if (result == VSW_SRQ_TAKEN)
		member->pass_on = first_can_proceed(srq);
	vsw_unlock(&srq->lock);
	if (due)
		srq_events_raise_soon(srq);
	return result;
}

bool
vsw_srq_ready(struct vsw_srq_member *member)
{
	struct vsw_srq *srq = member->srq;

	vsw_lock(&srq->lock);
	bool ready = srq->failed || ((srq->first == NULL || srq->first == member) &&
				     vsw_wq_available(&srq->wq) != 0);
	vsw_unlock(&srq->lock);
	return ready;
}

void
vsw_srq_leave(struct vsw_srq_member *member)
{
	struct vsw_srq *srq = member->srq;

	if (srq == NULL)
		return;
	vsw_lock(&srq->lock);
	bool first = srq->first == member;
	line_leave(srq, member);
	if (first)
		member->pass_on = first_can_proceed(srq);
	vsw_unlock(&srq->lock);
}
