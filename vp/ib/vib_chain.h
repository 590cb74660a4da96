/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* [fast path] Requests that are kept back for one call of the device (RI_WR_COALESCE); vib_chain.c. */
#ifndef VIB_CHAIN_H
#define VIB_CHAIN_H

#include "vib.h"

#define VIB_CHAIN_ROOM 16 /* requests of one call of the device */

/* Room for a chain whose requests have up to `sges` segments and `octets` of inline data. False: no memory. */
bool vib_chain_create(struct vib_chain *chain, uint32_t sges, uint32_t octets);
void vib_chain_destroy(struct vib_chain *chain);
/* Nothing is kept, whatever was; the queue pair takes no posts. */
void vib_chain_reset(struct vib_chain *chain);

/* Is anything kept, or on its way to the device? The thread that posts. */
static inline bool
vib_chain_busy(const struct vib_chain *chain)
{
	return atomic_load_explicit(&chain->tail, memory_order_relaxed) !=
	       atomic_load_explicit(&chain->head, memory_order_acquire);
}

/* The place for the next request; NULL: none is free. The thread that posts. */
static inline struct vib_wr *
vib_chain_next(struct vib_chain *chain)
{
	uint32_t tail = atomic_load_explicit(&chain->tail, memory_order_relaxed);

	return tail - atomic_load(&chain->head) < VIB_CHAIN_ROOM
		       ? &chain->wrs[tail % VIB_CHAIN_ROOM]
		       : NULL;
}

/* The device has the request, or never will: end its uses. */
static inline void
vib_wr_done(struct vib_wr *wr)
{
	for (unsigned i = 0; i < VIB_WR_USES; i++) {
		if (wr->uses[i] != NULL)
			vib_key_put(wr->uses[i]);
		wr->uses[i] = NULL;
	}
}

/* Keep the request that is in this place, with a copy of its segments, or of its inline data. The thread that posts. */
void vib_chain_keep(struct ri_uqp *qp, struct vib_wr *wr);
/* Give what is kept to the device, unless another thread does that already. Any thread. */
void vib_chain_run(struct ri_uqp *qp);
/* Give the device all that is kept, and wait while another thread does that; unless posts end meanwhile. */
void vib_chain_finish(struct ri_uqp *qp);
/* A poll found nothing: run the chains of the queue pairs that send to this queue. No lock is owned. */
void vib_chain_release(struct ri_ucq *cq);
/* No more posts reach the device. False: that was so already. */
bool vib_chain_close(struct ri_uqp *qp);
/* Likewise, of one without a connection manager that only receives: no request has been posted yet. */
bool vib_chain_close_early(struct ri_uqp *qp);
/* And the service thread ends the queue pair: a request cannot be posted. The lock of a CQ is not owned. */
void vib_chain_fault(struct ri_uqp *qp);
/* How many requests the device does not have. */
uint32_t vib_chain_kept(const struct vib_chain *chain);

/* Enter the queue pair among those that send to its CQ; take it out and wait until no poll runs its chain. */
void vib_chain_join(struct ri_uqp *qp);
void vib_chain_leave(struct ri_uqp *qp);
/* Wait for the threads that are inside it; ri_uqp::inside. */
void vib_chain_wait(const struct ri_uqp *qp);
/* ri_ucq::late: give to the device what waits for a poll that does not come. */
void vib_chain_late(void *cq);

/*
 * Change a request to what the device can take (vib_quirk); `packed` stays in use until it is posted or kept. An atomic, a bind
 * and an invalidation stay as they are.
 */
void vib_request_fit(const struct ri_uqp *qp, struct ibv_send_wr *wr,
		     struct ibv_sge packed[VIB_SGES_MOST]);
/*
 * Let the device copy the payload of a Send or Write while it is posted, if the payload is one
 * segment, short enough, and in a region of the queue pair's domain. The library that copies checks
 * nothing, and an invalid segment must fail as it does without copying. Returns the use of the
 * region, which the caller ends after the post; NULL: not copied.
 */
struct vib_key *vib_inline_begin(const struct ri_uqp *qp, struct ibv_send_wr *wr);

#endif /* VIB_CHAIN_H */
