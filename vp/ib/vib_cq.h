/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Completion queues as queue pairs and the handlers of events use them; vib_cq.c, vib_poll.c, vib_notify.c. */
#ifndef VIB_CQ_H
#define VIB_CQ_H

#include "vib.h"

/* Take every completion into the staging ring, up to half of the ring. The caller owns cq->lock. */
void vib_cq_stage(struct ri_ucq *cq);
/* Release the lock, and tell what is to be told: vib_cq_unlock calls it. */
void vib_cq_alarm(struct ri_ucq *cq);

/* Release the lock, under which completions may have been converted or staged: what has failed is told without it. */
static inline void
vib_cq_unlock(struct ri_ucq *cq)
{
	if (__builtin_expect(cq->alarm, 0))
		vib_cq_alarm(cq);
	else
		vsw_unlock(&cq->lock);
}

/*
 * The same without that limit, so that nothing in the device's queue names a queue pair any more. What finds no room is
 * lost, and the consumer is told that the queue has overflowed. Completions of `dying` are dropped (NULL: of none).
 */
void vib_cq_stage_all(struct ri_ucq *cq, const struct ri_uqp *dying);
/*
 * Complete the oldest request (`send`) or receive of a queue pair as flushed, by ourselves; without room, as above. False: there
 * is none. The caller owns the lock of that CQ, has staged all that the device had, and calls vib_cq_tell later.
 */
bool vib_cq_flush_one(struct ri_uqp *qp, bool send);
/*
 * The newest request of a queue pair has succeeded without the device, and all before it likewise. The caller owns the lock of
 * the send CQ, and calls vib_cq_tell later if the CQ is armed.
 */
void vib_cq_void(struct ri_uqp *qp);
/* Raise the event that is due, if the queue is armed and its condition holds; else listen on. No lock is owned. */
void vib_cq_tell(struct ri_cq *cq);

/*
 * Have the device tell of its next failed completion, if it tells of none otherwise: so the end of a connection is noticed
 * though the consumer does not poll. The handler of the event looks, and calls this again.
 */
void vib_cq_watch(struct ri_ucq *cq);

uint32_t vib_poll_cq(struct ri_ucq *cq, struct ri_wc *wc, uint32_t n);
uint32_t vib_cq_depth(struct ri_ucq *cq);
enum ri_status vib_arm_cq(struct ri_ucq *cq, enum ri_arm how, uint32_t count);

#endif /* VIB_CQ_H */
