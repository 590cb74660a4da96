/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * cq_depth and the arming of a CQ. Completions are polled into the staging ring (vib_poll.c) and counted there; the device's
 * CQ is armed only while the ring holds fewer completions than the consumer waits for.
 */
#include "vib_cq.h"

uint32_t
vib_cq_depth(struct ri_ucq *cq)
{
	uint32_t count;

	vsw_lock(&cq->lock);
	vib_cq_stage(cq);
	count = cq->staged_count < cq->limit ? cq->staged_count : cq->limit;
	vib_cq_unlock(cq);
	return count;
}

/* Does the condition hold for which the queue is armed? The caller owns the lock, and has staged. */
static bool
condition_holds(const struct ri_ucq *cq, uint32_t how, uint32_t count)
{
	switch ((enum ri_arm)how) {
	case RI_ARM_NEXT:
		return cq->staged_count > 0;
	case RI_ARM_SOLICITED:
		return cq->staged_solicited > 0;
	case RI_ARM_COUNT:
		return cq->staged_count >= (count < cq->limit ? count : cq->limit);
	case RI_ARM_NONE:
	case RI_ARM_UNREPORTED: /* refused: the device's own events are not told apart here */
	default:
		return false;
	}
}

/*
 * Arm the device's CQ for its next completion. The caller owned the lock when it set `listening`,
 * and has released it, because this may be a system call. Afterwards the caller stages again, to
 * find completions that came before the arming.
 */
static void
listen_device(struct ri_ucq *cq)
{
	(void)ibv_req_notify_cq(cq->cq, 0);
}

void
vib_cq_watch(struct ri_ucq *cq)
{
	bool watch;

	vsw_lock(&cq->lock);
	watch = !cq->listening && !cq->watching;
	cq->watching = cq->watching || watch;
	vib_cq_unlock(cq);
	if (watch)
		(void)ibv_req_notify_cq(cq->cq, !cq->watch_all);
}

enum ri_status
vib_arm_cq(struct ri_ucq *cq, enum ri_arm how, uint32_t count)
{
	bool holds, listen;

	if (how > RI_ARM_COUNT || (how == RI_ARM_COUNT && (count == 0 || count >= 1u << 24)))
		return RI_ERR_INVALID_ARG;
	vsw_lock(&cq->lock);
	vib_cq_stage(cq);
	holds = condition_holds(cq, how, count);
	cq->armed = holds ? RI_ARM_NONE : (uint32_t)how;
	cq->armed_count = count;
	listen = cq->armed != RI_ARM_NONE && !cq->listening;
	cq->listening = cq->listening || listen;
	if (!listen && !holds)
		ri_count(&cq->count->armings, 1);
	vib_cq_unlock(cq);
	if (!listen)
		return holds ? RI_ERR_NOT_EMPTY : RI_SUCCESS;
	listen_device(cq);
	vsw_lock(&cq->lock);
	vib_cq_stage(cq);
	/* If it is armed no more, the upcall has been made. */
	holds = condition_holds(cq, cq->armed, cq->armed_count);
	if (holds)
		cq->armed = RI_ARM_NONE;
	else
		ri_count(&cq->count->armings, 1);
	vib_cq_unlock(cq);
	return holds ? RI_ERR_NOT_EMPTY : RI_SUCCESS;
}

void
vib_cq_tell(struct ri_cq *ri_cq)
{
	struct ri_ucq *cq = &ri_cq->user;
	const struct ri_upcalls *upcalls = ri_cq->context->rnic->upcalls;
	bool due = false, listen = true;

	while (!due && listen) {
		vsw_lock(&cq->lock);
		vib_cq_stage(cq);
		due = condition_holds(cq, cq->armed, cq->armed_count);
		if (due)
			cq->armed = RI_ARM_NONE;
		listen = cq->armed != RI_ARM_NONE && !cq->listening;
		cq->listening = cq->listening || listen;
		vib_cq_unlock(cq);
		if (listen)
			listen_device(cq);
	}
	if (due)
		upcalls->cq_event(upcalls->self, ri_cq->ctx);
}
