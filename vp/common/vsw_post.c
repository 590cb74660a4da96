/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The fast path of the user half: post, poll, arm.
 *
 * `head` of a work queue is written under the queue's lock, so several threads may post. `head` of a
 * completion queue, and `released` of the queues that complete into it, are written under ri_ucq::lock, so
 * several threads may poll. Both locks are owned while entries are copied. The doorbell, which may run an
 * engine and make upcalls, is always rung without them. Nothing here allocates or makes a system call.
 *
 * Memory orders: the poster writes the entry and then the head (release), which the engine reads (acquire). The
 * polling thread frees a slot by `released` (release), which the poster reads (acquire). A completion becomes
 * visible by its generation (acquire). Arming is sequentially consistent on both sides; see vsw_queue.h.
 *
 * Release is enough for the head of a send queue and of an S-RQ: their doorbells begin with an exchange on a
 * role, or with a lock, and the engine passes the same role or lock before it decides that the queue is
 * empty. The doorbell of a receive queue only loads the flag "a message waits". A release store and that load
 * could change places, and then neither the poster nor the engine would see the other. So the head of a
 * receive queue is stored sequentially consistent.
 */
#include <string.h>

#include "ri_count.h"
#include "vsw_user_objects.h"

_Static_assert(offsetof(struct vsw_cqe, src_addr) == offsetof(struct ri_wc, src_addr) &&
		       offsetof(struct vsw_cqe, wq) == offsetof(struct ri_wc, imm) &&
		       offsetof(struct vsw_cqe, wq_index) == sizeof(struct ri_wc),
	       "a completion is copied as it is");

/* --- posting ----------------------------------------------------------------------------- */

/* The next slot, or NULL if the queue is full. Called with the queue's lock. */
static void *
slot_next(struct vsw_user_wq *wq)
{
	assert(vsw_lock_is_owned(&wq->lock));
	if (wq->head - wq->released >= wq->size) {
		wq->released = atomic_load_explicit(&wq->page->released, memory_order_acquire);
		if (wq->head - wq->released >= wq->size)
			return NULL;
	}
	return wq->ring + (size_t)(wq->head & wq->mask) * wq->stride;
}

/* `then_looks`: the doorbell loads the flag "a message waits"; see above. */
static void
slot_post(struct vsw_user_wq *wq, bool then_looks)
{
	if (then_looks)
		atomic_store(&wq->page->head, ++wq->head);
	else
		atomic_store_explicit(&wq->page->head, ++wq->head, memory_order_release);
}

/* A list of a program of verbs may be packed, and then it is not aligned. */
static inline __attribute__((always_inline)) struct ri_sge
segment_at(const struct ri_sge *sgl, uint32_t i)
{
	struct ri_sge sge;

	memcpy(&sge, (const char *)(const void *)sgl + i * sizeof(sge), sizeof(sge));
	return sge;
}

/* Returns their length. */
static uint32_t
segments_copy(struct ri_sge *to, const struct ri_sge *sgl, uint32_t count)
{
	uint64_t length = 0;

	/* Most lists have one segment, which is its own sum. */
	if (__builtin_expect(count == 1, 1)) {
		to[0] = segment_at(sgl, 0);
		return to[0].length;
	}
	for (uint32_t i = 0; i < count; i++) {
		to[i] = segment_at(sgl, i);
		length += to[i].length;
	}
	return length <= UINT32_MAX ? (uint32_t)length
				    : UINT32_MAX; /* engines refuse the largest */
}

/* --- inline and immediate data [RI 10.49], [RI 10.50] -------------------------------------- */

static uint32_t
immediate_of(uint8_t opcode)
{
	switch (opcode) {
	case RI_OP_SEND:
		return RI_IMMEDIATE_SEND;
	case RI_OP_RDMA_WRITE:
		return RI_IMMEDIATE_WRITE;
	case RI_OP_SEND_UD:
		return RI_IMMEDIATE_UD;
	default:
		return 0;
	}
}

/* May the request have its flags? One that can have immediate data can be inline, too. */
static enum ri_status
rare_check(const struct ri_uqp *qp, const struct ri_wr *wr)
{
	const struct vsw_doorbell *bell = &qp->rnic->bell;
	uint32_t kind = immediate_of(wr->opcode);
	uint64_t length = 0;

	if ((wr->flags & RI_WR_INVALIDATE) != 0 &&
	    ((wr->flags & RI_WR_IMMEDIATE) != 0 || (qp->rare & RI_WR_INVALIDATE) != 0))
		return RI_ERR_UNSUPPORTED;
	if ((wr->flags & RI_WR_IMMEDIATE) != 0 && (kind & bell->immediate_with) == 0)
		return RI_ERR_UNSUPPORTED;
	if ((wr->flags & RI_WR_INLINE) == 0)
		return RI_SUCCESS;
	if (kind == 0 || bell->max_inline == 0)
		return RI_ERR_UNSUPPORTED;
	for (uint32_t i = 0; i < wr->num_sge; i++)
		length += segment_at(wr->sgl, i).length;
	return length <= qp->max_inline ? RI_SUCCESS : RI_ERR_LIMIT;
}

static void
rare_write(const struct ri_uqp *qp, struct vsw_wqe *wqe, const struct ri_wr *wr)
{
	if ((wr->flags & RI_WR_IMMEDIATE) != 0)
		wqe->inv_stag = wr->imm;
	if ((wr->flags & RI_WR_INLINE) != 0) {
		/* The payload lies where the segments would be. A list that another thread changes meanwhile is cut. */
		uint8_t *to = vsw_wqe_octets(wqe);
		uint32_t length = 0;

		for (uint32_t i = 0; i < wr->num_sge; i++) {
			struct ri_sge sge = segment_at(wr->sgl, i);
			uint32_t n = sge.length;

			__asm__ volatile("" : "+r"(n)); /* read once */
			if (n > qp->max_inline - length)
				n = qp->max_inline - length;
			if (n != 0)
				memcpy(to + length, (const void *)(uintptr_t)sge.addr, n);
			length += n;
		}
		wqe->num_sge = 0;
		__atomic_store_n(&wqe->length, length, __ATOMIC_RELAXED);
	}
}

/* --- all ---------------------------------------------------------------------------------- */

/* `rare`: it has a flag of ri_uqp::rare; a constant where this is inlined. */
static inline __attribute__((always_inline)) enum ri_status
request_post(struct ri_uqp *qp, const struct ri_wr *wr, bool rare)
{
	vsw_lock(&qp->sq.lock);
	struct vsw_wqe *wqe = slot_next(&qp->sq);
	if (wqe == NULL) {
		vsw_unlock(&qp->sq.lock);
		return RI_ERR_QUEUE_FULL;
	}
	wqe->wr_id = wr->wr_id;
	/* An engine may read opcode and length of the newest entry while the slot is written again. */
	__atomic_store_n(&wqe->opcode, wr->opcode, __ATOMIC_RELAXED);
	wqe->reserved = 0;
	wqe->flags = wr->flags;
	wqe->inv_stag = wr->inv_stag;
	wqe->num_sge = (uint8_t)wr->num_sge;
	uint32_t length = segments_copy(wqe->sge, wr->sgl, wr->num_sge);
	__atomic_store_n(&wqe->length, length, __ATOMIC_RELAXED);
	struct ri_qp_counters *count = qp->count;
	ri_count(&count->octets, length);
	ri_count(&count->posts[wr->opcode], 1);
	switch (wr->opcode) {
	case RI_OP_RDMA_WRITE:
	case RI_OP_RDMA_READ:
	case RI_OP_FETCH_ADD:
	case RI_OP_CMP_SWAP:
		wqe->u.remote = wr->u.remote;
		break;
	case RI_OP_BIND_MW:
		wqe->u.bind = wr->u.bind;
		if (qp->rnic->bell.bind != NULL)
			qp->rnic->bell.bind(qp->engine_qp, &wqe->u.bind, wr->u.returning.stag);
		break;
	case RI_OP_SEND_UD:
		wqe->u.ud = wr->u.ud;
		break;
	case RI_OP_FAST_REG:
		/* The list of pages lies where other requests have their segments. */
		wqe->u.reg = (struct vsw_wqe_reg){.addr = wr->u.fast_reg.addr,
						  .length = wr->u.fast_reg.length,
						  .stag = wr->u.fast_reg.stag,
						  .access = wr->u.fast_reg.access,
						  .fbo = wr->u.fast_reg.fbo};
		for (uint32_t i = 0; i < wr->u.fast_reg.num_pages; i++)
			wqe->sge[i] = (struct ri_sge){.addr = wr->u.fast_reg.pages[i],
						      .length = wr->u.fast_reg.lengths != NULL
									? wr->u.fast_reg.lengths[i]
									: wr->u.fast_reg.page_size};
		wqe->num_sge = (uint8_t)wr->u.fast_reg.num_pages;
		break;
	default:
		break;
	}
	if (rare)
		rare_write(qp, wqe, wr);
	slot_post(&qp->sq, false);
	vsw_unlock(&qp->sq.lock);
	qp->rnic->bell.sq(qp->engine_qp);
	return RI_SUCCESS;
}

/* A request that is refused, or has a flag of ri_uqp::rare, or a list of pages. Not inlined: an ordinary one pays a branch for it. */
static __attribute__((noinline)) enum ri_status
rare_post(struct ri_uqp *qp, const struct ri_wr *wr)
{
	enum ri_status status;

	if (wr->opcode >= RI_OP_COUNT || !qp->known_op[wr->opcode])
		return RI_ERR_UNSUPPORTED;
	if (wr->num_sge > __atomic_load_n(&qp->max_sge[wr->opcode], __ATOMIC_RELAXED) ||
	    (wr->opcode == RI_OP_FAST_REG && wr->u.fast_reg.num_pages > qp->max_list))
		return RI_ERR_LIMIT;
	status = rare_check(qp, wr);
	return status == RI_SUCCESS ? request_post(qp, wr, true) : status;
}

enum ri_status
vsw_post_sq(struct ri_uqp *qp, const struct ri_wr *wr)
{
	if (__builtin_expect(wr->opcode >= RI_OP_COUNT ||
				     wr->num_sge >= __atomic_load_n(&qp->ordinary[wr->opcode],
								    __ATOMIC_RELAXED) ||
				     (wr->flags & qp->rare) != 0,
			     0))
		return rare_post(qp, wr);
	return request_post(qp, wr, false);
}

/* `posts`: where the receive is counted. */
static inline __attribute__((always_inline)) enum ri_status
post_receive(struct vsw_user_wq *wq, const struct ri_recv_wr *wr, bool then_looks, uint64_t *posts)
{
	vsw_lock(&wq->lock);
	struct vsw_rqe *rqe = slot_next(wq);
	if (rqe == NULL) {
		vsw_unlock(&wq->lock);
		return RI_ERR_QUEUE_FULL;
	}
	rqe->wr_id = wr->wr_id;
	rqe->opcode = RI_OP_RECV;
	rqe->num_sge = (uint8_t)wr->num_sge;
	rqe->reserved = 0;
	rqe->flags = wr->flags;
	rqe->inv_stag = 0;
	rqe->length = segments_copy(rqe->sge, wr->sgl, wr->num_sge);
	ri_count(posts, 1);
	slot_post(wq, then_looks);
	vsw_unlock(&wq->lock);
	return RI_SUCCESS;
}

enum ri_status
vsw_post_rq(struct ri_uqp *qp, const struct ri_recv_wr *wr)
{
	if (qp->rq.page == NULL)
		return RI_ERR_INVALID_STATE;
	if (wr->num_sge > __atomic_load_n(&qp->max_recv_sge, __ATOMIC_RELAXED))
		return RI_ERR_LIMIT;

	enum ri_status status = post_receive(&qp->rq, wr, true, &qp->count->posts[RI_OP_RECV]);

	if (status == RI_SUCCESS && qp->rnic->bell.rq != NULL)
		qp->rnic->bell.rq(qp->engine_qp);
	return status;
}

enum ri_status
vsw_post_srq(struct ri_usrq *srq, const struct ri_recv_wr *wr)
{
	if (wr->num_sge > srq->max_sge)
		return RI_ERR_LIMIT;

	enum ri_status status = post_receive(&srq->wq, wr, false, &srq->count->posts[RI_OP_RECV]);

	if (status == RI_SUCCESS && srq->rnic->bell.srq != NULL)
		srq->rnic->bell.srq(srq->engine_srq);
	return status;
}

static void
sq_flush(struct ri_uqp *qp)
{
	if (qp->rnic->bell.sq_flush != NULL)
		qp->rnic->bell.sq_flush(qp->engine_qp);
}

/* --- polling ----------------------------------------------------------------------------- */

/* The queue of this number, or NULL. Called with the completion queue's lock. */
static inline __attribute__((always_inline)) struct vsw_known_wq *
known_find(struct ri_urnic *rnic, uint32_t number)
{
	struct vsw_known_wq *known = number != 0 ? vsw_known_find(rnic, number) : NULL;

	return known != NULL && atomic_load_explicit(&known->number, memory_order_acquire) == number
		       ? known
		       : NULL;
}

/* One more completion of the queue has been polled. */
static void
count_release(struct ri_urnic *rnic, uint32_t number)
{
	struct vsw_known_wq *known = known_find(rnic, number);

	if (known != NULL)
		atomic_fetch_add_explicit(&known->page->released, 1, memory_order_release);
}

/* Release the slot that this completion of a work queue of its own accounts for. Called with the completion queue's lock. */
static inline __attribute__((always_inline)) void
slot_release(struct ri_urnic *rnic, const struct vsw_cqe *cqe)
{
	struct vsw_known_wq *known = known_find(rnic, cqe->wq);

	if (known != NULL)
		atomic_store_explicit(&known->page->released, cqe->wq_index, memory_order_release);
}

/* What was taken from the ring since `cq->head`: publish it, and give up the lock. */
static inline __attribute__((always_inline)) void
taken_publish(struct ri_ucq *cq, uint32_t head, uint32_t solicited)
{
	if (solicited != 0) {
		cq->sol_head += solicited;
		atomic_store_explicit(&cq->page->sol_head, cq->sol_head, memory_order_release);
	}
	cq->head = head;
	atomic_store_explicit(&cq->page->head, head, memory_order_release);
	vsw_unlock(&cq->lock);
}

/*
 * Some of the entries are completions of SRQ receives. Each releases a slot of the SRQ, and one of
 * the queue pair that took it; either may have been destroyed. This is a separate function, called
 * last, so that a poll without such entries saves no registers.
 */
static __attribute__((noinline)) void
shared_publish(struct ri_ucq *cq, uint32_t head, uint32_t solicited)
{
	for (uint32_t i = cq->head; i != head; i++) {
		const struct vsw_cqe *cqe = &cq->ring[i & cq->mask];

		if (!cqe->shared)
			continue;
		count_release(cq->rnic, cqe->wq);
		count_release(cq->rnic, cqe->wq_index);
	}
	taken_publish(cq, head, solicited);
}

static uint32_t
entries_take(struct ri_ucq *cq, struct ri_wc *wc, uint32_t n)
{
	uint32_t solicited = 0;
	bool shared = false;

	vsw_lock(&cq->lock);
	uint32_t head = cq->head;
	for (const struct ri_wc *end = wc + n; wc != end; wc++) {
		const struct vsw_cqe *cqe = &cq->ring[head & cq->mask];

		if (atomic_load_explicit(&cqe->generation, memory_order_acquire) != head + 1)
			break;
		head++;
		memcpy(wc, cqe, sizeof(*wc));
		wc->imm = cqe->inv_stag; /* a message has one or the other */
		wc->reserved = 0;
		solicited += (cqe->flags & RI_WC_SOLICITED) != 0;
		ri_count(&cq->count->done[cqe->status], 1);
		ri_count(&cq->count->octets, cqe->byte_len);
		if (__builtin_expect(cqe->shared, 0))
			shared = true;
		else
			slot_release(cq->rnic, cqe);
	}
	uint32_t got = head - cq->head;
	if (got == 0)
		vsw_unlock(&cq->lock);
	else if (shared)
		shared_publish(cq, head, solicited);
	else
		taken_publish(cq, head, solicited);
	return got;
}

uint32_t
vsw_cq_depth(struct ri_ucq *cq)
{
	uint32_t head = atomic_load_explicit(&cq->page->head, memory_order_acquire);

	return atomic_load_explicit(&cq->page->tail, memory_order_acquire) - head;
}

uint32_t
vsw_poll_cq(struct ri_ucq *cq, struct ri_wc *wc, uint32_t n)
{
	const struct vsw_doorbell *bell = &cq->rnic->bell;
	uint32_t got = 0;

	if (bell->poll == NULL)
		return entries_take(cq, wc, n);
	/* Most polls find nothing; two loads that say so are cheaper than the lock. */
	if (vsw_cq_depth(cq) != 0)
		got = entries_take(cq, wc, n);
	if (got != 0)
		return got;
	bell->poll(bell->engine);
	return vsw_cq_depth(cq) != 0 ? entries_take(cq, wc, n) : 0;
}

/* --- arming ------------------------------------------------------------------------------ */

/* Called with the queue's lock, so that its heads do not change. */
static bool
condition_holds(const struct ri_ucq *cq, enum ri_arm how, uint32_t count)
{
	/* The tail first: a thread that sees it also sees the count of solicited entries stored before it. */
	uint32_t present = atomic_load(&cq->page->tail) - cq->head;

	switch (how) {
	case RI_ARM_NEXT:
		return present != 0;
	case RI_ARM_SOLICITED:
		return atomic_load_explicit(&cq->page->sol_tail, memory_order_acquire) !=
		       cq->sol_head;
	case RI_ARM_COUNT:
		return present >= count;
	case RI_ARM_UNREPORTED:
		return present != 0 && atomic_load(&cq->page->reported) != cq->head + present;
	case RI_ARM_NONE:
	default:
		return false;
	}
}

enum ri_status
vsw_arm_cq(struct ri_ucq *cq, enum ri_arm how, uint32_t count)
{
	enum ri_status status = RI_SUCCESS;

	if (how < RI_ARM_NONE || (how > RI_ARM_COUNT && how != RI_ARM_UNREPORTED) ||
	    (how == RI_ARM_COUNT && (count == 0 || count > VSW_ARM_COUNT_MAX)))
		return RI_ERR_INVALID_ARG;

	vsw_lock(&cq->lock);
	uint32_t word = vsw_arm_word(how, ++cq->armings, how == RI_ARM_COUNT ? count : 0);
	atomic_store(&cq->page->arm, how != RI_ARM_NONE ? word : 0);
	/* If the condition holds already, disarm; if the engine has disarmed first, its upcall is the answer. */
	if (condition_holds(cq, how, count) && atomic_exchange(&cq->page->arm, 0) != 0)
		status = RI_ERR_NOT_EMPTY;
	if (status == RI_SUCCESS && how != RI_ARM_NONE)
		ri_count(&cq->count->armings, 1);
	if (status == RI_ERR_NOT_EMPTY && how == RI_ARM_UNREPORTED)
		atomic_store(&cq->page->reported, atomic_load(&cq->page->tail));
	vsw_unlock(&cq->lock);
	return status;
}

/* --- the engine -------------------------------------------------------------------------- */

uint32_t
vsw_progress(struct ri_urnic *rnic, uint32_t budget)
{
	return rnic->bell.progress != NULL ? rnic->bell.progress(rnic->bell.engine, budget) : 0;
}

static bool
leader_enter(struct ri_urnic *rnic, int *fd)
{
	*fd = -1;
	return rnic->bell.leader_enter == NULL || rnic->bell.leader_enter(rnic->bell.engine, fd);
}

static void
leader_leave(struct ri_urnic *rnic)
{
	if (rnic->bell.leader_leave != NULL)
		rnic->bell.leader_leave(rnic->bell.engine);
}

static bool
spin_futile(struct ri_urnic *rnic)
{
	return rnic->bell.spin_futile != NULL && rnic->bell.spin_futile(rnic->bell.engine);
}

const struct ri_fast_ops vsw_fast_ops = {
	.size = sizeof(struct ri_fast_ops),
	.post_sq = vsw_post_sq,
	.post_rq = vsw_post_rq,
	.post_srq = vsw_post_srq,
	.flush_sq = sq_flush,
	.poll_cq = vsw_poll_cq,
	.cq_depth = vsw_cq_depth,
	.arm_cq = vsw_arm_cq,
	.progress = vsw_progress,
	.leader_enter = leader_enter,
	.leader_leave = leader_leave,
	.spin_futile = spin_futile,
};
