/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * [fast path] Several requests in one call of the device.
 *
 * A request with RI_WR_COALESCE is kept in a ring of its queue pair. The thread that posts writes to the ring; the
 * owner of the ring's role takes all kept requests and posts them by one ibv_post_send. The owner is the poster itself
 * at the next request without the flag or when the ring is full, a thread that polls and finds nothing, a thread that
 * disconnects, or, if none of these comes within 500 microseconds, the service thread [IT 7.2.2]. While the ring is not
 * empty, all requests go through it, so their order is kept.
 *
 *     head       taken          tail
 *      | on the    | kept        |          `taken` moves before the call of the device, `head` after it
 *
 * An end of the queue pair closes the gate and then reads `taken`; the owner of the role moves `taken` and then reads the
 * gate. So one of the two sees the other: either the request does not reach the device, or the end waits for it.
 *
 * If the device refuses a request of a chain, its post has succeeded long ago. Then the connection ends, or it had
 * ended (vib_qp_lost), and the end flushes the requests that did not reach the device, like all others.
 */
#include "vib_chain.h"

#include <stdlib.h>
#include <string.h>

#include "ri_relax.h"
#include "vib_cq.h"
#include "vib_post.h"
#include "vib_qp_end.h"

#define LOOKS   8                      /* queue pairs whose chains one poll runs */
#define LATE_NS (500 * UINT64_C(1000)) /* the longest that a request is kept back */

/* --- the ring ---------------------------------------------------------------------------------- */

bool
vib_chain_create(struct vib_chain *chain, uint32_t sges, uint32_t octets)
{
	chain->sges = sges;
	chain->octets = octets;
	if (octets != 0) {
		chain->payload = (uint8_t *)malloc((size_t)VIB_CHAIN_ROOM * octets);
		if (chain->payload == NULL)
			return false;
	}
	chain->wrs = (struct vib_wr *)calloc(VIB_CHAIN_ROOM, sizeof(*chain->wrs));
	chain->pieces = (struct ibv_sge *)calloc((size_t)VIB_CHAIN_ROOM * (sges != 0 ? sges : 1),
						 sizeof(*chain->pieces));
	return chain->wrs != NULL && chain->pieces != NULL;
}

void
vib_chain_destroy(struct vib_chain *chain)
{
	free(chain->wrs);
	free(chain->pieces);
	free(chain->payload);
}

void
vib_chain_reset(struct vib_chain *chain)
{
	uint32_t tail = atomic_load(&chain->tail);

	atomic_store(&chain->taken, tail);
	atomic_store(&chain->head, tail);
}

uint32_t
vib_chain_kept(const struct vib_chain *chain)
{
	uint32_t taken = atomic_load(&chain->taken);

	return atomic_load(&chain->tail) - taken;
}

/* Unless it runs already: a request waits no longer than this, though the consumer does not poll [IT 7.2.2]. */
static void
late_start(struct ri_ucq *cq)
{
	const struct ri_host *host = cq->host;

	if (!atomic_load(&cq->due) && !atomic_exchange(&cq->due, true))
		host->timer_start(host->self, &cq->late, host->now(host->self) + LATE_NS);
}

/* The memory of a request with RI_WR_INLINE may change after the post: its payload becomes one piece in the chain. */
static int
payload_keep(uint8_t *room, const struct ibv_send_wr *wr, struct ibv_sge *piece)
{
	uint32_t length = 0;

	for (int i = 0; i < wr->num_sge; i++) {
		const struct ibv_sge *from = &wr->sg_list[i];

		if (from->length != 0)
			memcpy(room + length, (const void *)(uintptr_t)from->addr, from->length);
		length += from->length;
	}
	*piece = (struct ibv_sge){.addr = (uintptr_t)room, .length = length};
	return 1;
}

void
vib_chain_keep(struct ri_uqp *qp, struct vib_wr *wr)
{
	struct vib_chain *chain = &qp->chain;
	uint32_t tail = atomic_load_explicit(&chain->tail, memory_order_relaxed);
	struct ibv_sge *pieces = &chain->pieces[(size_t)(tail % VIB_CHAIN_ROOM) * chain->sges];

	if ((wr->wr.send_flags & IBV_SEND_INLINE) != 0)
		wr->wr.num_sge = payload_keep(
			&chain->payload[(size_t)(tail % VIB_CHAIN_ROOM) * chain->octets], &wr->wr,
			pieces);
	else if (wr->wr.num_sge != 0)
		memcpy(pieces, wr->wr.sg_list, (size_t)wr->wr.num_sge * sizeof(*pieces));
	wr->wr.sg_list = pieces;
	atomic_store(&chain->tail, tail + 1);
	atomic_store_explicit(&qp->send_cq->kept, true, memory_order_release);
	late_start(qp->send_cq);
}

/* --- what a device needs otherwise ---------------------------------------------------------------- */

/*
 * Remove the segments of length 0; if no other is left, keep one of them. `packed` has room for
 * VIB_SGES_MOST segments, and is used only if something changes.
 */
static void
segments_pack(struct ibv_send_wr *wr, struct ibv_sge *packed)
{
	int count = 0;

	for (int i = 0; i < wr->num_sge; i++)
		count += wr->sg_list[i].length != 0;
	if (count == wr->num_sge && count != 0)
		return;
	packed[0] = (struct ibv_sge){.addr = 0};
	count = 0;
	for (int i = 0; i < wr->num_sge; i++) {
		if (wr->sg_list[i].length != 0)
			packed[count++] = wr->sg_list[i];
	}
	wr->sg_list = packed;
	wr->num_sge = count != 0 ? count : 1;
}

void
vib_request_fit(const struct ri_uqp *qp, struct ibv_send_wr *wr,
		struct ibv_sge packed[VIB_SGES_MOST])
{
	bool has_payload = wr->opcode == IBV_WR_SEND || wr->opcode == IBV_WR_SEND_WITH_IMM ||
			   wr->opcode == IBV_WR_RDMA_WRITE ||
			   wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM ||
			   wr->opcode == IBV_WR_RDMA_READ;

	if (qp->empty_harms && has_payload && wr->num_sge != 1)
		segments_pack(wr, packed);
	/* The responses come in the order of the Reads anyway. */
	if (qp->no_read_fence && wr->opcode == IBV_WR_RDMA_READ)
		wr->send_flags &= ~(unsigned int)IBV_SEND_FENCE;
}

/* --- inline ------------------------------------------------------------------------------------ */

struct vib_key *
vib_inline_begin(const struct ri_uqp *qp, struct ibv_send_wr *wr)
{
	const struct ibv_sge *piece = wr->sg_list;
	struct vib_key *key;
	uint64_t offset;

	if (wr->num_sge != 1 || piece->length - 1 >= qp->max_inline ||
	    (wr->send_flags & IBV_SEND_INLINE) != 0 ||
	    (wr->opcode != IBV_WR_SEND && wr->opcode != IBV_WR_RDMA_WRITE &&
	     wr->opcode != IBV_WR_SEND_WITH_IMM && wr->opcode != IBV_WR_RDMA_WRITE_WITH_IMM &&
	     wr->opcode != IBV_WR_SEND_WITH_INV))
		return NULL;
	key = vib_key_get(qp->keys, VIB_KEY_REGION, piece->lkey);
	if (key == NULL)
		return NULL;
	offset = piece->addr - key->addr;
	if (key->pd != qp->pd || offset > key->length || piece->length > key->length - offset) {
		vib_key_put(key);
		return NULL;
	}
	wr->send_flags |= IBV_SEND_INLINE;
	return key;
}

/* --- to the device ------------------------------------------------------------------------------ */

bool
vib_chain_close(struct ri_uqp *qp)
{
	unsigned int open = VIB_GATE_OPEN, lost = VIB_GATE_LOST;

	return atomic_compare_exchange_strong(&qp->gate, &open, VIB_GATE_FLUSH) ||
	       atomic_compare_exchange_strong(&qp->gate, &lost, VIB_GATE_FLUSH);
}

bool
vib_chain_close_early(struct ri_uqp *qp)
{
	unsigned int kept = VIB_GATE_KEPT;

	return qp->bare && atomic_compare_exchange_strong(&qp->gate, &kept, VIB_GATE_FLUSH);
}

void
vib_chain_fault(struct ri_uqp *uqp)
{
	struct vib_qp *qp = (struct vib_qp *)uqp;

	if (vib_chain_close(uqp))
		uqp->host->task_run(uqp->host->self, &qp->fail);
}

void
vib_cq_alarm(struct ri_ucq *cq)
{
	const struct ri_host *host = cq->host;
	struct ri_uqp *faults = cq->faults;
	bool overflow = cq->overflow;

	cq->faults = NULL;
	cq->overflow = false;
	cq->alarm = false;
	vsw_unlock(&cq->lock);
	while (faults != NULL) {
		struct ri_uqp *qp = faults;

		faults = qp->next_fault;
		host->task_run(host->self, &((struct vib_qp *)qp)->fail);
		atomic_fetch_sub(&qp->inside, 1); /* from here on it may be destroyed */
	}
	if (overflow)
		host->task_run(host->self, &cq->full);
}

/* Link the requests from `first` to before `end`. A bind is the last: its window gets its key after the call. */
static uint32_t
batch_link(struct ri_uqp *qp, uint32_t first, uint32_t end)
{
	struct vib_wr *last = NULL;

	for (; first != end; first++) {
		struct vib_wr *wr = &qp->chain.wrs[first % VIB_CHAIN_ROOM];

		wr->wr.next = NULL;
		if (last != NULL)
			last->wr.next = &wr->wr;
		last = wr;
		if (wr->uses[VIB_WR_INLINE] == NULL)
			wr->uses[VIB_WR_INLINE] = vib_inline_begin(qp, &wr->wr);
		if (wr->wr.opcode == IBV_WR_BIND_MW) {
			vib_mw_posting(qp, wr);
			return first + 1;
		}
	}
	return end;
}

/* End the uses of the requests from `first` to before `end`: the device has them, or never gets them. */
static void
batch_done(struct vib_chain *chain, uint32_t first, uint32_t end)
{
	for (; first != end; first++)
		vib_wr_done(&chain->wrs[first % VIB_CHAIN_ROOM]);
}

/* Post one batch. False: nothing is kept, or nothing may be posted. The caller owns the role. */
static bool
batch_post(struct ri_uqp *qp)
{
	struct vib_chain *chain = &qp->chain;
	uint32_t first = atomic_load(&chain->taken), end = atomic_load(&chain->tail);
	struct ibv_send_wr *bad = NULL;
	struct vib_wr *last;
	int error = 0;
	bool open;

	if (first == end)
		return false;
	if (atomic_load(&qp->gate) != VIB_GATE_OPEN) {
		batch_done(chain, first, end); /* the end flushes them */
		return false;
	}
	end = batch_link(qp, first, end);
	atomic_store(&chain->taken, end);
	open = atomic_load(&qp->gate) == VIB_GATE_OPEN;
	if (open)
		error = ibv_post_send(qp->qp, &chain->wrs[first % VIB_CHAIN_ROOM].wr, &bad);
	last = &chain->wrs[(end - 1) % VIB_CHAIN_ROOM];
	if (open && error == 0 && last->wr.opcode == IBV_WR_BIND_MW)
		vib_mw_posted(last);
	batch_done(chain, first, end);
	if (!open) {
		atomic_store(&chain->taken, first); /* the end flushes them */
	} else if (error != 0) {
		/* The device has refused a request: `bad`, or the first one, if the device does not say which. */
		uint32_t at = first;

		while (at != end && &qp->chain.wrs[at % VIB_CHAIN_ROOM].wr != bad)
			at++;
		atomic_store(&qp->chain.taken, at != end ? at : first);
		if (!vib_qp_lost(qp, vib_post_errno(error)))
			vib_chain_fault(qp);
	} else {
		atomic_store(&chain->head, end);
	}
	return open && error == 0;
}

void
vib_chain_run(struct ri_uqp *qp)
{
	if (!vsw_role_take(&qp->chain.role))
		return;
	do {
		vsw_role_begin(&qp->chain.role);
		while (batch_post(qp))
			;
	} while (vsw_role_drop(&qp->chain.role));
}

void
vib_chain_finish(struct ri_uqp *qp)
{
	vib_chain_run(qp);
	for (unsigned round = 0;
	     vib_chain_busy(&qp->chain) && atomic_load(&qp->gate) == VIB_GATE_OPEN; round++) {
		ri_relax(round);
		vib_chain_run(qp);
	}
}

/* --- queue pairs by their CQ --------------------------------------------------------------------- */

void
vib_chain_join(struct ri_uqp *qp)
{
	vsw_lock(&qp->send_cq->lock);
	qp->next_sender = qp->send_cq->senders;
	qp->send_cq->senders = qp;
	vsw_unlock(&qp->send_cq->lock);
}

void
vib_chain_leave(struct ri_uqp *qp)
{
	struct ri_uqp **at = &qp->send_cq->senders;

	vsw_lock(&qp->send_cq->lock);
	while (*at != NULL && *at != qp)
		at = &(*at)->next_sender;
	if (*at != NULL)
		*at = qp->next_sender;
	vsw_unlock(&qp->send_cq->lock);
	vib_chain_wait(qp);
}

void
vib_chain_wait(const struct ri_uqp *qp)
{
	for (unsigned round = 0; atomic_load(&qp->inside) != 0; round++)
		ri_relax(round);
}

void
vib_chain_release(struct ri_ucq *cq)
{
	struct ri_uqp *found[LOOKS];
	unsigned count = 0;

	/* Before the look: a request that is kept from now on sets it again. */
	atomic_store(&cq->kept, false);
	vsw_lock(&cq->lock);
	for (struct ri_uqp *qp = cq->senders; qp != NULL; qp = qp->next_sender) {
		if (vib_chain_kept(&qp->chain) == 0 || atomic_load(&qp->gate) != VIB_GATE_OPEN)
			continue;
		if (count == LOOKS) {
			atomic_store(&cq->kept, true);
			break;
		}
		atomic_fetch_add(&qp->inside, 1);
		found[count++] = qp;
	}
	vsw_unlock(&cq->lock);
	for (unsigned i = 0; i < count; i++) {
		vib_chain_run(found[i]);
		atomic_fetch_sub(&found[i]->inside, 1);
	}
}

void
vib_chain_late(void *arg)
{
	struct ri_ucq *cq = arg;

	/* Before the look: a request that is kept from now on starts the timer again. */
	atomic_store(&cq->due, false);
	vib_chain_release(cq);
	if (atomic_load(&cq->kept))
		late_start(cq);
}
