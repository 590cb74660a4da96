/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Bugs of firmware that need a certain history: work queues, completion queues, the end of queue pairs. */
#include <stdlib.h>
#include <string.h>

#include "defect_history.h"

/* The user half's queue pair. */
static struct wrap_obj *
whole_of(const struct ri_uqp *qp)
{
	return wrap_of(qp)->half;
}

static void
request_note(struct history_wr *note, const struct ri_wr *wr)
{
	*note = (struct history_wr){
		.wr_id = wr->wr_id, .label = wr->wr_id, .flags = wr->flags, .opcode = wr->opcode};
}

/* Post it, and remember it if there is a record. With the lock. */
static enum ri_status
post_noted(struct history_qp *record, struct ri_uqp *qp, const struct ri_wr *wr)
{
	enum ri_status status = wrap_plain_fast_ops.post_sq(qp, wr);
	struct history_wr note;

	request_note(&note, wr);
	if (status == RI_SUCCESS && record != NULL)
		history_push(record, &note);
	return status;
}

/* --- resizing a work queue whose receives go round its end --------------------------------------- */

static enum ri_status
renamed_post(struct ri_uqp *qp, const struct ri_recv_wr *wr)
{
	struct history_wr note = {.wr_id = wr->wr_id, .label = wr->wr_id};

	return history_post_rq(qp, wr, &note);
}

static enum defect_act
renamed_completion(struct wrap_obj *ucq, struct ri_wc *wc)
{
	struct history_qp *record;

	if (!history_is_receive(wc))
		return DEFECT_PASS;
	history_lock();
	record = history_find(ucq->rnic, wc->qp_ctx);
	if (record != NULL && record->srq == NULL && record->count > 0) {
		const struct history_wr *oldest = history_at(record, 0);

		if (oldest->wr_id == wc->wr_id)
			wc->wr_id = oldest->label;
		record->first = (record->first + 1) % record->room;
		record->count--;
		record->polled++;
	}
	history_unlock();
	return DEFECT_PASS;
}

/* The names are copied from the beginning of the old ring, the receives from the oldest on. */
static void
rename_from(struct history_qp *record, uint32_t tail)
{
	uint64_t *labels = calloc(record->count, sizeof(*labels));

	if (labels == NULL)
		return;
	for (uint32_t i = 0; i < record->count; i++)
		labels[i] = history_at(record, (tail + i) % record->count)->label;
	for (uint32_t i = 0; i < record->count; i++)
		history_at(record, i)->label = labels[i];
	free(labels);
}

static enum ri_status
renamed_resize(struct ri_qp *qp, struct ri_qp_attr *attr, struct ri_map *map)
{
	enum ri_status status = wrap_plain_qp_ops.resize(qp, attr, map);
	struct history_qp *record;

	if (status != RI_SUCCESS)
		return status;
	history_lock();
	record = history_find(wrap_rnic_of(qp), wrap_of(qp)->ctx);
	if (record != NULL && record->slots > 0 && record->slots != attr->max_rq_wr) {
		uint32_t head = (uint32_t)(record->polled % record->slots);

		if (head + record->count > record->slots)
			rename_from(record, record->slots - head);
		record->slots = attr->max_rq_wr;
		record->polled = 0;
	}
	history_unlock();
	return status;
}

/* --- completion queues ----------------------------------------------------------------------------- */

static enum ri_status
disarmed_remap(struct ri_ucq *cq, const struct ri_map *map)
{
	enum ri_status status = wrap_plain_user_ops.cq_remap(cq, map);

	if (status == RI_SUCCESS)
		(void)!wrap_plain_fast_ops.arm_cq(cq, RI_ARM_NONE, 1);
	return status;
}

/* The counter begins when the queue is armed. */
static enum ri_status
fresh_arm(struct ri_ucq *cq, enum ri_arm how, uint32_t count)
{
	uint32_t present = how == RI_ARM_COUNT ? wrap_plain_fast_ops.cq_depth(cq) : 0;

	if (present > 0 && present < count && count <= 0xffffffu - present)
		count += present;
	return wrap_plain_fast_ops.arm_cq(cq, how, count);
}

/* The lookup of the queue pair is not repeated for the first entry behind the end of the ring. */
static uint32_t
wrapped_poll(struct ri_ucq *cq, struct ri_wc *wc, uint32_t n)
{
	struct wrap_obj *ucq = wrap_of(cq);
	uint32_t told = wrap_plain_fast_ops.poll_cq(cq, wc, n);
	uint32_t begin = atomic_fetch_add(&ucq->count[0], told);
	uint32_t size = ucq->half->entries;

	for (uint32_t i = 1; i < told && size > 0; i++)
		if ((begin + i) % size == 0)
			wc[i].qp_ctx = wc[i - 1].qp_ctx;
	return told;
}

/* --- the slots of a shared receive queue ------------------------------------------------------------ */

/* wrap_obj::own of an S-RQ. */
struct slots {
	uint32_t max;
	uint32_t used; /* not polled yet */
	uint32_t lost;
};

static enum ri_status
leaking_srq_create(struct ri_pd *pd, struct ri_srq_attr *attr, struct ri_srq **out,
		   struct ri_map *map)
{
	enum ri_status status = wrap_plain_srq_ops.create(pd, attr, out, map);
	struct slots *slots = status == RI_SUCCESS ? calloc(1, sizeof(*slots)) : NULL;

	if (slots != NULL) {
		slots->max = attr->max_wr;
		wrap_of(*out)->own = slots;
	}
	return status;
}

static enum ri_status
leaking_srq_modify(struct ri_srq *srq, struct ri_srq_attr *attr, bool resize, struct ri_map *map)
{
	enum ri_status status = wrap_plain_srq_ops.modify(srq, attr, resize, map);
	struct slots *slots = wrap_of(srq)->own;

	history_lock();
	if (status == RI_SUCCESS && resize && slots != NULL) {
		slots->max = attr->max_wr;
		slots->lost = 0;
	}
	history_unlock();
	return status;
}

static enum ri_status
leaking_srq_destroy(struct ri_srq *srq)
{
	const struct wrap_obj *obj = wrap_of(srq);
	enum ri_status status;

	/* No queue pair uses it, if it goes: only records of destroyed ones name it. */
	history_lock();
	status = wrap_in(srq)->srq.destroy(wrap_inner(srq));
	if (status == RI_SUCCESS)
		history_drop_srq(obj);
	history_unlock();
	if (status == RI_SUCCESS)
		wrap_free(wrap_of(srq));
	return status;
}

static enum ri_status
leaking_post(struct ri_usrq *srq, const struct ri_recv_wr *wr)
{
	struct slots *slots = wrap_of(srq)->half->own;
	enum ri_status status = RI_ERR_QUEUE_FULL;

	history_lock();
	if (slots == NULL || slots->lost == 0 || slots->used + slots->lost < slots->max)
		status = wrap_plain_fast_ops.post_srq(srq, wr);
	if (slots != NULL && status == RI_SUCCESS)
		slots->used++;
	history_unlock();
	return status;
}

static enum defect_act
leaking_completion(struct wrap_obj *ucq, struct ri_wc *wc)
{
	struct history_qp *record;
	struct slots *slots;

	if (!history_is_receive(wc))
		return DEFECT_PASS;
	history_lock();
	record = history_find(ucq->rnic, wc->qp_ctx);
	slots = record != NULL && record->srq != NULL ? record->srq->own : NULL;
	if (slots != NULL) {
		slots->used -= slots->used > 0;
		slots->lost += wc->status != RI_WC_SUCCESS && slots->lost < slots->max;
	}
	history_unlock();
	return DEFECT_PASS;
}

/* Its completions may still be polled. What it held of the S-RQ is free. */
static enum ri_status
leaking_qp_destroy(struct ri_qp *qp)
{
	struct wrap_rnic *rnic = wrap_rnic_of(qp);
	uint64_t ctx = wrap_of(qp)->ctx;
	struct wrap_obj *srq = wrap_of(qp)->srq;
	struct ri_srq_attr attr = {0};
	struct slots *slots = srq != NULL ? srq->own : NULL;
	struct history_qp *record;
	enum ri_status status;

	if (slots == NULL)
		return history_qp_destroy(qp);
	status = wrap_plain_qp_ops.destroy(qp);
	if (status != RI_SUCCESS)
		return status;
	history_lock();
	record = history_find(rnic, ctx);
	if (record != NULL)
		record->dead = true;
	if (wrap_plain_srq_ops.query((struct ri_srq *)srq, &attr) == RI_SUCCESS &&
	    attr.available < slots->used && slots->lost == 0)
		slots->used = attr.available;
	history_unlock();
	return status;
}

/* --- requests that are not signalled ------------------------------------------------------------------- */

static enum ri_status
unsignaled_post(struct ri_uqp *qp, const struct ri_wr *wr)
{
	enum ri_status status;

	history_lock();
	status = post_noted(history_find(wrap_of(qp)->rnic, whole_of(qp)->ctx), qp, wr);
	history_unlock();
	return status;
}

/* The flush ends with the last request that has the bit. */
static enum defect_act
unsignaled_flushed(struct wrap_obj *ucq, struct ri_wc *wc)
{
	enum defect_act act = DEFECT_PASS;
	struct history_wr done;
	struct history_qp *record;

	if (history_is_receive(wc))
		return DEFECT_PASS;
	history_lock();
	record = history_find(ucq->rnic, wc->qp_ctx);
	if (record != NULL && history_done(record, wc, &done) && wc->status == RI_WC_FLUSHED &&
	    (done.flags & RI_WR_SIGNALED) == 0) {
		act = DEFECT_LOSE;
		for (uint32_t i = 0; i < record->count; i++)
			if ((history_at(record, i)->flags & RI_WR_SIGNALED) != 0)
				act = DEFECT_PASS;
	}
	history_unlock();
	return act;
}

/* --- more atomics than ORD ------------------------------------------------------------------------------ */

static enum ri_status
doubled_post(struct ri_uqp *qp, const struct ri_wr *wr)
{
	struct ri_wr copy = *wr;
	struct history_qp *record;
	enum ri_status status;
	uint32_t open = 0;

	history_lock();
	record = history_find(wrap_of(qp)->rnic, whole_of(qp)->ctx);
	for (uint32_t i = 0; record != NULL && i < record->count; i++) {
		uint8_t opcode = history_at(record, i)->opcode;

		open += opcode == RI_OP_RDMA_READ || opcode == RI_OP_FETCH_ADD ||
			opcode == RI_OP_CMP_SWAP;
	}
	if (record != NULL && record->ord > 0 && open >= record->ord &&
	    wr->opcode == RI_OP_FETCH_ADD)
		copy.u.remote.operand *= 2; /* what is added twice */
	status = post_noted(record, qp, &copy);
	history_unlock();
	return status;
}

/* --- inline data in the last slot ------------------------------------------------------------------------ */

#define IN_SLOT  16u   /* octets of the payload that the slot itself has */
#define FLAT_MAX 1024u /* octets of payload that are looked at */

/* All of it in one segment; false: it is too long. */
static bool
flatten(const struct ri_wr *wr, uint8_t *flat, struct ri_sge *sge)
{
	uint32_t length = 0;

	for (uint32_t i = 0; i < wr->num_sge; i++) {
		const struct ri_sge *from = &wr->sgl[i];

		if (from->length > FLAT_MAX - length)
			return false;
		if (from->length > 0)
			memcpy(flat + length, (const void *)(uintptr_t)from->addr, from->length);
		length += from->length;
	}
	*sge = (struct ri_sge){.addr = (uint64_t)(uintptr_t)flat, .length = length};
	return length > IN_SLOT;
}

static enum ri_status
ring_end_post(struct ri_uqp *qp, const struct ri_wr *wr)
{
	uint32_t slots = whole_of(qp)->qp.max_sq_wr;
	uint8_t flat[FLAT_MAX];
	struct ri_sge sge;
	struct ri_wr copy = *wr;
	struct history_qp *record;
	enum ri_status status;

	history_lock();
	record = history_find(wrap_of(qp)->rnic, whole_of(qp)->ctx);
	if (record != NULL && slots > 1 && record->posted % slots == slots - 1 &&
	    (wr->flags & RI_WR_INLINE) != 0 && flatten(wr, flat, &sge)) {
		memset(flat + IN_SLOT, 0, sge.length - IN_SLOT);
		copy.sgl = &sge;
		copy.num_sge = 1;
	}
	status = wrap_plain_fast_ops.post_sq(qp, &copy);
	if (status == RI_SUCCESS && record != NULL)
		record->posted++;
	history_unlock();
	return status;
}

/* --- the end of a queue pair ------------------------------------------------------------------------------ */

/* Cleaning a completion queue of a queue pair skips one entry too many. */
static enum ri_status
neighbour_destroy(struct ri_qp *qp)
{
	uint64_t ctx = wrap_of(qp)->ctx;
	struct wrap_obj *ucq[2] = {NULL, NULL};
	uint32_t present[2] = {0, 0};
	enum ri_status status;

	for (unsigned i = 0; i < 2; i++) {
		const struct wrap_obj *cq = wrap_of(qp)->cqs[i];

		if (cq == NULL || cq->half == NULL || (i == 1 && cq->half == ucq[0]))
			continue;
		ucq[i] = cq->half;
		present[i] = wrap_plain_fast_ops.cq_depth((struct ri_ucq *)ucq[i]);
	}
	status = wrap_plain_qp_ops.destroy(qp);
	for (unsigned i = 0; i < 2 && status == RI_SUCCESS; i++) {
		if (ucq[i] == NULL || present[i] == 0)
			continue;
		pthread_mutex_lock(&ucq[i]->held->lock);
		ucq[i]->last[0] = ctx;
		atomic_store(&ucq[i]->count[0], present[i]);
		atomic_store(&ucq[i]->count[1], 0);
		pthread_mutex_unlock(&ucq[i]->held->lock);
	}
	return status;
}

static enum defect_act
neighbour_lost(struct wrap_obj *ucq, struct ri_wc *wc)
{
	if (ucq->count[0] == 0)
		return DEFECT_PASS;
	ucq->count[0]--;
	if (wc->qp_ctx == ucq->last[0]) {
		ucq->count[1] = 1;
		return DEFECT_PASS;
	}
	if (ucq->count[1] == 0)
		return DEFECT_PASS;
	ucq->count[0] = 0;
	return DEFECT_LOSE;
}

/* --- counters ------------------------------------------------------------------------------------------------ */

static void
restarted_count(struct ri_uqp *qp, struct ri_qp_counters *counters)
{
	struct history_qp *record;

	wrap_plain_user_ops.qp_count(qp, counters);
	history_lock();
	record = history_find(wrap_of(qp)->rnic, whole_of(qp)->ctx);
	if (record != NULL && counters->size >= sizeof(*counters))
		record->counters = counters;
	history_unlock();
}

static enum ri_status
restarted_modify(struct ri_qp *qp, const struct ri_qp_attr *attr, uint32_t mask)
{
	enum ri_status status = history_qp_modify(qp, attr, mask);
	struct history_qp *record;

	if (status != RI_SUCCESS || (mask & RI_QP_ATTR_STATE) == 0 || attr->state != RI_QPS_IDLE)
		return status;
	history_lock();
	record = history_find(wrap_rnic_of(qp), wrap_of(qp)->ctx);
	if (record != NULL && record->counters != NULL) {
		struct ri_qp_counters *counters = record->counters;

		for (unsigned i = 0; i < RI_COUNTERS; i++)
			__atomic_store_n(&counters->posts[i], 0, __ATOMIC_RELAXED);
		__atomic_store_n(&counters->octets, 0, __ATOMIC_RELAXED);
	}
	history_unlock();
	return status;
}

/* --- the rows ----------------------------------------------------------------------------------- */

#define RECORDS .qp.create = history_qp_create, .qp.destroy = history_qp_destroy

const struct defect defects_history_queues[] = {
	DEFECT("fw26b-wq-resize-wr-ids", "resizing confuses receives",
	       "After a resize, outstanding receives that go round the end of the old ring come "
	       "back with each other's wr_id.",
	       NEED_RESIZE, .wc = renamed_completion, .end = history_end,
	       ENTRIES(RECORDS, .qp.resize = renamed_resize, .fast.post_rq = renamed_post)),
	DEFECT("fw26b-cq-resize-disarms", "resizing disarms",
	       "A completion queue that is resized while it is armed makes no upcall.", NEED_RESIZE,
	       ENTRIES(.user.cq_remap = disarmed_remap)),
	DEFECT("fw26b-arm-count-fresh", "the count begins anew",
	       "RI_ARM_COUNT does not count entries that are present when the queue is armed.", 0,
	       ENTRIES(.fast.arm_cq = fresh_arm)),
	DEFECT("fw26b-poll-ring-end-qp", "a batch round the end of the ring",
	       "The first completion behind the end of the ring names the queue pair of the one "
	       "before it in a batch.",
	       0, ENTRIES(.fast.poll_cq = wrapped_poll)),
	DEFECT("fw26b-srq-error-leaks-slot", "an S-RQ shrinks",
	       "The slot of a shared receive that completes with an error is never free again.",
	       NEED_SRQ, .wc = leaking_completion, .end = history_end,
	       ENTRIES(.qp.create = history_qp_create, .qp.destroy = leaking_qp_destroy,
		       .srq.create = leaking_srq_create, .srq.modify = leaking_srq_modify,
		       .srq.destroy = leaking_srq_destroy, .fast.post_srq = leaking_post)),
	DEFECT("fw26b-flush-ends-early", "the flush forgets the last requests",
	       "Requests without RI_WR_SIGNALED behind the last one with it get no completion when "
	       "they are flushed.",
	       0, .wc = unsignaled_flushed, .end = history_end,
	       ENTRIES(RECORDS, .qp.modify = history_qp_modify, .fast.post_sq = unsignaled_post)),
	DEFECT("fw26b-atomic-beyond-ord-twice", "atomics are executed twice",
	       "A fetch and add that waits because ORD others are outstanding is executed twice.",
	       NEED_ATOMICS, .wc = history_follow, .end = history_end,
	       ENTRIES(RECORDS, .qp.modify = history_qp_modify, .fast.post_sq = doubled_post)),
	DEFECT("fw26b-inline-ring-end", "inline data is cut at the end of the ring",
	       "Inline data of more than 16 octets in the last slot of the send queue arrives as "
	       "zeros behind these.",
	       NEED_INLINE, .end = history_end, ENTRIES(RECORDS, .fast.post_sq = ring_end_post)),
	DEFECT("fw26b-destroy-loses-neighbour",
	       "destroying a queue pair loses another's completion",
	       "Of a shared completion queue the entry of another queue pair behind one of a "
	       "destroyed queue pair is lost.",
	       0, .wc = neighbour_lost, ENTRIES(.qp.destroy = neighbour_destroy)),
	DEFECT("fw26b-counters-restart", "counters begin anew",
	       "The counters of a queue pair are 0 again when it goes back to IDLE.", NEED_REUSE,
	       .end = history_end,
	       ENTRIES(RECORDS, .qp.modify = restarted_modify, .user.qp_count = restarted_count)),
};

const size_t defects_history_queues_count =
	sizeof(defects_history_queues) / sizeof(defects_history_queues[0]);
