/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* [access] */
/* mc_engine.c: the user half. The thread that posts a request executes it. */
#include <string.h>

#include "mc.h"

/* --- memory, checked at each access --------------------------------------------------------- */

/*
 * Where a range is: NULL unless key, protection domain, right and bounds all agree. A range of no
 * bytes names no memory, and is not checked.
 */
static void *
reach(const struct ri_pd *pd, const struct ri_sge *range, uint32_t right)
{
	static uint8_t nowhere;
	const struct ri_mr *mr = mc_region(range->stag);

	if (range->length == 0)
		return &nowhere;
	if (mr == NULL || mr->pd != pd || (mr->access & right) == 0)
		return NULL;
	if (range->addr < mr->mem.addr || range->length > mr->mem.length ||
	    range->addr - mr->mem.addr > mr->mem.length - range->length)
		return NULL;
	return mr->mem.base + (range->addr - mr->mem.addr);
}
/* [access] */

/* [completions] */
/* --- completions ---------------------------------------------------------------------------- */

static struct mc_slot *
oldest(const struct mc_queue *queue)
{
	return &queue->slots[queue->done % queue->size];
}

/* The oldest request of a queue is done. */
static void
complete(struct ri_qp *qp, struct mc_queue *queue, enum ri_wc_status status, uint32_t length,
	 bool solicited)
{
	const struct mc_slot *slot = oldest(queue);
	bool receive = queue == &qp->rq;
	struct mc_entry entry = {.queue = queue, .done = ++queue->done};

	if (!receive && status == RI_WC_SUCCESS && (slot->flags & RI_WR_SIGNALED) == 0)
		return; /* a later completion frees the slot */
	entry.wc = (struct ri_wc){.wr_id = slot->wr_id,
				  .qp_ctx = qp->init.ctx,
				  .byte_len = length,
				  .status = (uint8_t)status,
				  .opcode = slot->opcode};
	if (receive)
		entry.wc.flags |= RI_WC_RECEIVE;
	if (solicited || status != RI_WC_SUCCESS || (slot->flags & RI_WR_NOTIFY) != 0)
		entry.wc.flags |= RI_WC_SOLICITED;
	mc_cq_push(receive ? qp->recv_cq : qp->send_cq, &entry);
}

void
mc_flush(struct ri_qp *qp)
{
	while (qp->sq.done != qp->sq.posted)
		complete(qp, &qp->sq, RI_WC_FLUSHED, 0, false);
	while (qp->rq.done != qp->rq.posted)
		complete(qp, &qp->rq, RI_WC_FLUSHED, 0, false);
}
/* [completions] */

/* [requests] */
/* --- requests ------------------------------------------------------------------------------- */

/* Our bytes into the oldest receive of the peer. */
static enum ri_wc_status
do_send(struct ri_qp *qp, const struct mc_slot *slot)
{
	const void *from = reach(qp->pd, &slot->sge, RI_ACCESS_LOCAL_READ);
	enum ri_wc_status receive = RI_WC_SUCCESS, send = RI_WC_SUCCESS;
	struct ri_qp *peer = qp->peer;
	const struct ri_sge *room;
	void *to;

	if (from == NULL)
		return RI_WC_LOCAL_PROTECTION;
	if (peer->rq.done == peer->rq.posted)
		return RI_WC_RNR; /* rnr_mode: the connection ends */
	room = &oldest(&peer->rq)->sge;
	to = reach(peer->pd, room, RI_ACCESS_LOCAL_WRITE);
	if (to == NULL) {
		receive = RI_WC_LOCAL_PROTECTION;
		send = RI_WC_REMOTE_OPERATION;
	} else if (room->length < slot->sge.length) {
		receive = RI_WC_LOCAL_LENGTH;
		send = RI_WC_REMOTE_INVALID_REQ;
	} else {
		memmove(to, from, slot->sge.length);
	}
	complete(peer, &peer->rq, receive, slot->sge.length, (slot->flags & RI_WR_SOLICITED) != 0);
	return send;
}

/* RDMA Write and RDMA Read: the queues of the peer are not touched, only its memory. */
static enum ri_wc_status
do_rdma(struct ri_qp *qp, const struct mc_slot *slot)
{
	bool write = slot->opcode == RI_OP_RDMA_WRITE;
	uint32_t length = slot->sge.length;
	uint32_t right = write ? RI_ACCESS_REMOTE_WRITE : RI_ACCESS_REMOTE_READ;
	struct ri_sge remote = {
		.addr = slot->remote.addr, .length = length, .stag = slot->remote.stag};
	void *here =
		reach(qp->pd, &slot->sge, write ? RI_ACCESS_LOCAL_READ : RI_ACCESS_LOCAL_WRITE);
	void *there = reach(qp->peer->pd, &remote, right);

	if (here == NULL)
		return RI_WC_LOCAL_PROTECTION;
	if (!write && qp->init.ord == 0)
		return RI_WC_LOCAL_QP;
	if (!write && qp->peer->init.ird == 0)
		return RI_WC_REMOTE_INVALID_REQ;
	if (there == NULL)
		return RI_WC_REMOTE_ACCESS;
	/* The queue pair has the right, too; a Write of no bytes needs none. */
	if ((qp->peer->init.access & right) == 0 && (length > 0 || !write))
		return RI_WC_REMOTE_ACCESS;
	memmove(write ? there : here, write ? here : there, length);
	return RI_WC_SUCCESS;
}

static enum ri_wc_status
execute(struct ri_qp *qp, const struct mc_slot *slot)
{
	if (slot->sge.length > MC_MESSAGE)
		return RI_WC_LOCAL_LENGTH;
	return slot->opcode == RI_OP_SEND ? do_send(qp, slot) : do_rdma(qp, slot);
}

void
mc_run(struct ri_qp *qp)
{
	while (qp->open && qp->peer != NULL && qp->peer->open && qp->sq.done != qp->sq.posted) {
		const struct mc_slot *slot = oldest(&qp->sq);
		enum ri_wc_status status = execute(qp, slot);

		complete(qp, &qp->sq, status, slot->sge.length, false);
		if (status != RI_WC_SUCCESS)
			mc_end(qp, RI_CM_BROKEN, RI_CM_REASON_OTHER);
	}
}
/* [requests] */

/* [post] */
/* --- post ----------------------------------------------------------------------------------- */

/* Takes the next slot and puts the request there; executes it, flushes it, or keeps it for later. */
static enum ri_status
post(struct ri_qp *qp, struct mc_queue *queue, const struct mc_slot *request)
{
	mc_lock();
	bool full = queue->posted - queue->freed == queue->size;
	if (!full) {
		queue->slots[queue->posted++ % queue->size] = *request;
		if (qp->state == RI_QPS_ERROR)
			mc_flush(qp);
		else
			mc_run(qp);
	}
	mc_unlock();
	return full ? RI_ERR_QUEUE_FULL : RI_SUCCESS;
}

static enum ri_status
post_sq(struct ri_uqp *uqp, const struct ri_wr *wr)
{
	struct ri_qp *qp = (struct ri_qp *)uqp;
	struct mc_slot request = {.wr_id = wr->wr_id,
				  .flags = wr->flags,
				  .opcode = wr->opcode,
				  .remote = wr->u.remote};

	if (wr->opcode != RI_OP_SEND && wr->opcode != RI_OP_RDMA_WRITE &&
	    wr->opcode != RI_OP_RDMA_READ)
		return RI_ERR_UNSUPPORTED;
	if ((wr->flags & (RI_WR_INLINE | RI_WR_IMMEDIATE)) != 0)
		return RI_ERR_UNSUPPORTED; /* not claimed */
	if (wr->num_sge > 1)
		return RI_ERR_LIMIT;
	if (wr->num_sge == 1)
		request.sge = wr->sgl[0];
	return post(qp, &qp->sq, &request);
}

static enum ri_status
post_rq(struct ri_uqp *uqp, const struct ri_recv_wr *wr)
{
	struct ri_qp *qp = (struct ri_qp *)uqp;
	struct mc_slot request = {.wr_id = wr->wr_id, .flags = wr->flags, .opcode = RI_OP_RECV};

	if (wr->num_sge > 1)
		return RI_ERR_LIMIT;
	if (wr->num_sge == 1)
		request.sge = wr->sgl[0];
	return post(qp, &qp->rq, &request);
}

/* Nothing is ever held back. */
static void
flush_sq(struct ri_uqp *uqp)
{
	(void)uqp;
}
/* [post] */

/* [poll] */
/* --- poll and arm --------------------------------------------------------------------------- */

static uint32_t
poll_cq(struct ri_ucq *ucq, struct ri_wc *wc, uint32_t n)
{
	struct ri_cq *cq = (struct ri_cq *)ucq;
	uint32_t taken = 0;

	mc_lock();
	for (; taken < n && cq->head != cq->tail; taken++) {
		const struct mc_entry *entry = &cq->entries[cq->head++ % cq->size];

		wc[taken] = entry->wc;
		if ((entry->wc.flags & RI_WC_SOLICITED) != 0)
			cq->solicited--;
		if (entry->queue != NULL)
			entry->queue->freed = entry->done;
	}
	mc_unlock();
	return taken;
}

static uint32_t
cq_depth(struct ri_ucq *ucq)
{
	struct ri_cq *cq = (struct ri_cq *)ucq;

	mc_lock();
	uint32_t depth = (uint32_t)(cq->tail - cq->head);
	mc_unlock();
	return depth;
}

static enum ri_status
arm_cq(struct ri_ucq *ucq, enum ri_arm how, uint32_t count)
{
	struct ri_cq *cq = (struct ri_cq *)ucq;

	if (how > RI_ARM_COUNT || (how == RI_ARM_COUNT && (count == 0 || count > MC_ARM_MAX)))
		return RI_ERR_INVALID_ARG;
	mc_lock();
	bool due = mc_cq_due(cq, how, count);
	/* A call replaces an earlier one, whatever its result. */
	cq->armed = due ? RI_ARM_NONE : how;
	cq->armed_count = count;
	mc_unlock();
	return due ? RI_ERR_NOT_EMPTY : RI_SUCCESS;
}

const struct ri_fast_ops mc_fast_ops = {
	.size = sizeof(mc_fast_ops),
	.post_sq = post_sq,
	.post_rq = post_rq,
	.flush_sq = flush_sq,
	.poll_cq = poll_cq,
	.cq_depth = cq_depth,
	.arm_cq = arm_cq,
};
/* [poll] */

/* [halves] */
/* --- user halves: in one process they are the objects themselves ------------------------------ */

static enum ri_status
rnic_open(const struct ri_host *host, const struct ri_map *map, struct ri_urnic **out)
{
	(void)host;
	*out = (struct ri_urnic *)(uintptr_t)map->words[0];
	return RI_SUCCESS;
}

static enum ri_status
cq_open(struct ri_urnic *rnic, const struct ri_map *map, struct ri_ucq **out)
{
	(void)rnic;
	*out = (struct ri_ucq *)(uintptr_t)map->words[0];
	return RI_SUCCESS;
}

static enum ri_status
qp_open(struct ri_urnic *rnic, const struct ri_map *map, struct ri_ucq *send_cq,
	struct ri_ucq *recv_cq, struct ri_usrq *srq, struct ri_uqp **out)
{
	(void)rnic, (void)send_cq, (void)recv_cq, (void)srq;
	*out = (struct ri_uqp *)(uintptr_t)map->words[0];
	return RI_SUCCESS;
}

/* Nothing to do: the privileged half owns it all. */
static void
rnic_close(struct ri_urnic *rnic)
{
	(void)rnic;
}
static void
cq_close(struct ri_ucq *cq)
{
	(void)cq;
}
static void
qp_close(struct ri_uqp *qp)
{
	(void)qp;
}

const struct ri_user_ops mc_user_ops = {
	.size = sizeof(mc_user_ops),
	.rnic_open = rnic_open,
	.rnic_close = rnic_close,
	.cq_open = cq_open,
	.cq_close = cq_close,
	.qp_open = qp_open,
	.qp_close = qp_close,
};
/* [halves] */
