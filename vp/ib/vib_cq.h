/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Completion queues as queue pairs and the handlers of events use them; vib_cq.c, vib_poll.c, vib_notify.c. */
#ifndef VIB_CQ_H
#define VIB_CQ_H

#include "vib.h"

/* Take every completion into the staging ring, up to half of the ring. The caller owns cq->lock. */
void vib_cq_stage(struct ri_ucq *cq);
/* Release the lock and report failures and an overflow; vib_cq_unlock calls it. */
void vib_cq_alarm(struct ri_ucq *cq);

/* Release the lock, under which completions may have been converted or staged: failures are reported without it. */
static inline void
vib_cq_unlock(struct ri_ucq *cq)
{
	if (__builtin_expect(cq->alarm, 0))
		vib_cq_alarm(cq);
	else
		vsw_unlock(&cq->lock);
}

/*
 * Take every completion into the staging ring, up to its end, so that no completion in the device's queue names a queue
 * pair any more. A completion without room is lost, and an event reports the overflow. Completions of `dying` are dropped.
 */
void vib_cq_stage_all(struct ri_ucq *cq, const struct ri_uqp *dying);
/*
 * Complete the oldest request (`send`) or receive of a queue pair as flushed, without the device. False: none is outstanding.
 * The caller owns the lock of that CQ, has staged all completions of the device, and calls vib_cq_tell later.
 */
bool vib_cq_flush_one(struct ri_uqp *qp, bool send);
/*
 * The newest request of a queue pair, which does not need the device, has succeeded, and all
 * requests before it are completed. The caller owns the lock of the send CQ, and calls vib_cq_tell
 * later if the CQ is armed.
 */
void vib_cq_void(struct ri_uqp *qp);
/* Raise the event that is due, if the queue is armed and its condition holds; else listen on. No lock is owned. */
void vib_cq_tell(struct ri_cq *cq);

/*
 * Arm the device's CQ for the next failed completion, unless it is armed for another reason, so
 * that the end of a connection is noticed even if the consumer does not poll. The handler of the
 * event calls this again.
 */
void vib_cq_watch(struct ri_ucq *cq);

uint32_t vib_poll_cq(struct ri_ucq *cq, struct ri_wc *wc, uint32_t n);
uint32_t vib_cq_depth(struct ri_ucq *cq);
enum ri_status vib_arm_cq(struct ri_ucq *cq, enum ri_arm how, uint32_t count);

#endif /* VIB_CQ_H */
