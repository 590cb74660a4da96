/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Bugs of drivers and firmware in work queues and completions, which show only with certain flags, values, lists or places in a ring.
 * Records of queue pairs are those of defect_history.h.
 */
#include <stdlib.h>
#include <string.h>

#include "defect_history.h"

/* --- slots of long requests ---------------------------------------------------------------------- */

#define SHORT_LIST 2u /* segments that one slot has */

static uint32_t
slots_used(const struct history_qp *record)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < record->count; i++)
		used += (uint32_t)history_at(record, i)->label;
	return used;
}

static enum ri_status
long_post(struct ri_uqp *qp, const struct ri_wr *wr)
{
	uint32_t slots = wrap_of(qp)->half->qp.max_sq_wr;
	struct history_wr note = {.wr_id = wr->wr_id,
				  .label = wr->num_sge > SHORT_LIST ? 2 : 1,
				  .flags = wr->flags,
				  .opcode = wr->opcode};
	enum ri_status status = RI_ERR_QUEUE_FULL;
	struct history_qp *record;

	history_lock();
	record = history_find(wrap_of(qp)->rnic, wrap_of(qp)->half->ctx);
	if (record == NULL || record->count < slots / 2 || slots_used(record) + note.label <= slots)
		status = wrap_plain_fast_ops.post_sq(qp, wr);
	if (status == RI_SUCCESS && record != NULL)
		history_push(record, &note);
	history_unlock();
	return status;
}

/* --- lists at the edge of a packet ---------------------------------------------------------------- */

#define PACKET 1024u

/* The address is not loaded anew for a segment that begins with a packet. */
static bool
edge_gather(struct wrap_obj *uqp, struct defect_wr *wr)
{
	uint32_t sum = 0;

	(void)uqp;
	if (wr->wr.opcode != RI_OP_SEND && wr->wr.opcode != RI_OP_RDMA_WRITE)
		return true;
	for (unsigned i = 1; i < wr->wr.num_sge; i++) {
		struct ri_sge *sge = &wr->sgl[i];

		sum += sge[-1].length;
		if (sum == 0 || sum % PACKET != 0 || sge->length > sge[-1].length)
			continue;
		sge->addr = sge[-1].addr;
		sge->stag = sge[-1].stag;
	}
	return true;
}

/* --- values that a device keeps for itself ----------------------------------------------------------- */

static enum defect_act
zero_untold(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	if (wc->imm == 0)
		wc->flags &= (uint8_t)~RI_WC_IMMEDIATE;
	return DEFECT_PASS;
}

static enum defect_act
ones_lost(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	return wc->wr_id == UINT64_MAX && wc->status == RI_WC_SUCCESS ? DEFECT_LOSE : DEFECT_PASS;
}

/* --- arming ---------------------------------------------------------------------------------------------- */

/* wrap_obj::count of the user half of a completion queue. */
enum arm_word {
	ARM_HOW,
	ARM_FLUSH /* a queue pair was moved to ERROR since */
};

static enum ri_status
flush_arm(struct ri_ucq *cq, enum ri_arm how, uint32_t count)
{
	struct wrap_obj *ucq = wrap_of(cq);

	atomic_store(&ucq->count[ARM_FLUSH], 0);
	atomic_store(&ucq->count[ARM_HOW], how);
	return wrap_plain_fast_ops.arm_cq(cq, how, count);
}

static enum ri_status
flush_modify(struct ri_qp *qp, const struct ri_qp_attr *attr, uint32_t mask)
{
	for (unsigned i = 0; i < 2; i++) {
		struct wrap_obj *cq = wrap_of(qp)->cqs[i];

		if (cq != NULL && cq->half != NULL && (mask & RI_QP_ATTR_STATE) != 0 &&
		    attr->state == RI_QPS_ERROR)
			atomic_store(&cq->half->count[ARM_FLUSH], 1);
	}
	return wrap_plain_qp_ops.modify(qp, attr, mask);
}

/* What the driver flushes by itself is an event for RI_ARM_NEXT only. */
static unsigned
flush_told(struct wrap_rnic *rnic, uint64_t ctx)
{
	struct wrap_obj *cq = wrap_find(rnic, WRAP_CQ, ctx);
	struct wrap_obj *ucq = cq != NULL ? cq->half : NULL;

	return ucq == NULL || atomic_load(&ucq->count[ARM_HOW]) != RI_ARM_SOLICITED ||
	       atomic_exchange(&ucq->count[ARM_FLUSH], 0) == 0;
}

static enum ri_status
count_cut_arm(struct ri_ucq *cq, enum ri_arm how, uint32_t count)
{
	if (how == RI_ARM_COUNT && count > UINT8_MAX && count < 1u << 24)
		count = (count & UINT8_MAX) != 0 ? count & UINT8_MAX : 1;
	return wrap_plain_fast_ops.arm_cq(cq, how, count);
}

/* --- polls -------------------------------------------------------------------------------------------------- */

#define BATCH 16u

/* A second turn begins one entry too late. */
static uint32_t
batch_poll(struct ri_ucq *cq, struct ri_wc *wc, uint32_t n)
{
	uint32_t told = wrap_plain_fast_ops.poll_cq(cq, wc, n);

	if (told <= BATCH)
		return told;
	memmove(&wc[BATCH], &wc[BATCH + 1], (told - BATCH - 1) * sizeof(*wc));
	return told - 1;
}

/* wrap_obj::count[0] of a user half: completions that were polled. */
static uint32_t
ring_poll(struct ri_ucq *cq, struct ri_wc *wc, uint32_t n)
{
	uint32_t told = wrap_plain_fast_ops.poll_cq(cq, wc, n);

	(void)atomic_fetch_add(&wrap_of(cq)->count[0], told);
	return told;
}

/* What is behind the end of the ring does not count. */
static uint32_t
ring_depth(struct ri_ucq *cq)
{
	struct wrap_obj *ucq = wrap_of(cq);
	uint32_t size = ucq->half->entries, depth = wrap_plain_fast_ops.cq_depth(cq);
	uint32_t left = size > 0 ? size - atomic_load(&ucq->count[0]) % size : depth;

	return depth < left ? depth : left;
}

/* --- inline data in a list --------------------------------------------------------------------------------- */

/* Each segment begins at a multiple of four octets; the copy has as many octets as the list. */
static bool
inline_aligned(struct wrap_obj *uqp, struct defect_wr *wr)
{
	uint8_t *flat = (uint8_t *)wr->pages;
	uint32_t at = 0, sum = 0;

	(void)uqp;
	if ((wr->wr.flags & RI_WR_INLINE) == 0 || wr->wr.num_sge < 2)
		return true;
	for (unsigned i = 0; i < wr->wr.num_sge; i++) {
		if (wr->sgl[i].length > sizeof(wr->pages) / 2)
			return true;
		sum += wr->sgl[i].length;
		if (sum > sizeof(wr->pages) / 2)
			return true;
	}
	for (unsigned i = 0; i < wr->wr.num_sge && at < sum; i++) {
		uint32_t length = wr->sgl[i].length < sum - at ? wr->sgl[i].length : sum - at;

		if (length > 0)
			memcpy(flat + at, (const void *)(uintptr_t)wr->sgl[i].addr, length);
		at = (at + length + 3) & ~3u;
	}
	wr->sgl[0] = (struct ri_sge){.addr = (uintptr_t)flat, .length = sum};
	wr->wr.num_sge = 1;
	return true;
}

/* --- what is flushed ------------------------------------------------------------------------------------------ */

static enum ri_status
noted_post(struct ri_uqp *qp, const struct ri_wr *wr)
{
	struct history_wr note = {.wr_id = wr->wr_id, .flags = wr->flags, .opcode = wr->opcode};

	for (unsigned i = 0; i < wr->num_sge; i++)
		note.label += wr->sgl[i].length;
	return history_post_sq(qp, wr, &note);
}

/*
 * The defect: after the queue pair has ended, the flush begins at a request that had already been executed without a
 * completion of its own. history_qp::posted is the wr_id of that request; history_qp::polled is 1 if there is one.
 */
static enum defect_act
retired_flushed(struct wrap_obj *ucq, struct ri_wc *wc)
{
	struct history_qp *record;
	struct history_wr done;

	if (history_is_receive(wc))
		return DEFECT_PASS;
	history_lock();
	record = history_find(ucq->rnic, wc->qp_ctx);
	if (record != NULL && wc->status == RI_WC_FLUSHED && record->polled != 0) {
		record->polled = 0;
		(void)history_done(record, wc, &done);
		wc->wr_id = record->posted;
	} else if (record != NULL && record->count > 0) {
		struct history_wr first = *history_at(record, 0);

		if (history_done(record, wc, &done) && wc->status == RI_WC_SUCCESS) {
			record->polled = (first.flags & RI_WR_SIGNALED) == 0;
			record->posted = first.wr_id;
		}
	}
	history_unlock();
	return DEFECT_PASS;
}

/* --- slots of a receive queue ------------------------------------------------------------------------------------ */

#define SLOT_SGE 8u

/* What the slots of a receive queue had last: wrap_obj::own of the user half of a queue pair. */
struct slots {
	uint64_t next;
	uint32_t count;
	struct {
		uint16_t num_sge;
		struct ri_sge sgl[SLOT_SGE];
	} slot[];
};

static struct slots *
slots_of(struct wrap_obj *uqp)
{
	uint32_t count = uqp->half->qp.max_rq_wr;
	struct slots *slots = uqp->own;

	if (slots == NULL && count > 0) {
		slots = uqp->own = calloc(1, sizeof(*slots) + count * sizeof(slots->slot[0]));
		if (slots != NULL)
			slots->count = count;
	}
	return slots;
}

/* A list that is shorter than the last one of its slot does not end. */
static enum ri_status
unended_post_rq(struct ri_uqp *qp, const struct ri_recv_wr *wr)
{
	struct ri_sge sgl[SLOT_SGE];
	struct ri_recv_wr other = *wr;
	enum ri_status status;
	struct slots *slots;

	history_lock();
	slots = slots_of(wrap_of(qp));
	if (slots != NULL && wr->num_sge > 0 && wr->num_sge < SLOT_SGE) {
		uint32_t at = (uint32_t)(slots->next % slots->count);

		memcpy(sgl, slots->slot[at].sgl, sizeof(sgl));
		memcpy(sgl, wr->sgl, wr->num_sge * sizeof(sgl[0]));
		if (slots->slot[at].num_sge > wr->num_sge) {
			other.sgl = sgl;
			other.num_sge = slots->slot[at].num_sge;
		}
	}
	status = wrap_plain_fast_ops.post_rq(qp, &other);
	if (status == RI_SUCCESS && slots != NULL) {
		uint32_t at = (uint32_t)(slots->next++ % slots->count);

		slots->slot[at].num_sge = wr->num_sge <= SLOT_SGE ? wr->num_sge : 0;
		if (slots->slot[at].num_sge > 0)
			memcpy(slots->slot[at].sgl, wr->sgl, wr->num_sge * sizeof(sgl[0]));
	}
	history_unlock();
	return status;
}

/* --- order ------------------------------------------------------------------------------------------------------------ */

/* history_qp::polled: a Read is to be reported next, in the place of an inline request: 1 and its length behind it. */
static enum defect_act
inline_overtakes(struct wrap_obj *ucq, struct ri_wc *wc)
{
	const struct history_wr *next;
	struct history_qp *record;
	struct history_wr done;
	bool known;

	if (history_is_receive(wc))
		return DEFECT_PASS;
	history_lock();
	record = history_find(ucq->rnic, wc->qp_ctx);
	known = record != NULL && history_done(record, wc, &done);
	next = known && record->count > 0 ? history_at(record, 0) : NULL;
	if (known && record->polled != 0) {
		wc->wr_id = record->posted;
		wc->opcode = RI_OP_RDMA_READ;
		wc->byte_len = (uint32_t)(record->polled >> 1);
		record->polled = 0;
	} else if (next != NULL && defect_sent(wc) && done.opcode == RI_OP_RDMA_READ &&
		   (next->flags & (RI_WR_INLINE | RI_WR_SIGNALED)) ==
			   (RI_WR_INLINE | RI_WR_SIGNALED)) {
		record->posted = wc->wr_id;
		record->polled = (uint64_t)wc->byte_len << 1 | 1;
		wc->wr_id = next->wr_id;
		wc->opcode = next->opcode;
		wc->byte_len = (uint32_t)next->label;
	}
	history_unlock();
	return DEFECT_PASS;
}

/* --- a receive queue that was empty -------------------------------------------------------------------------------------- */

/* wrap_obj::count of the user half of a queue pair. */
enum dry_word {
	DRY_POSTED,
	DRY_USED, /* a receive has been completed */
	DRY_NEXT  /* the queue was empty: the next message has waited */
};

static enum ri_status
dry_post_rq(struct ri_uqp *qp, const struct ri_recv_wr *wr)
{
	struct wrap_obj *uqp = wrap_of(qp);

	if (atomic_load(&uqp->count[DRY_POSTED]) == 0 && atomic_load(&uqp->count[DRY_USED]) != 0)
		atomic_store(&uqp->count[DRY_NEXT], 1);
	(void)atomic_fetch_add(&uqp->count[DRY_POSTED], 1);

	enum ri_status status = wrap_plain_fast_ops.post_rq(qp, wr);

	if (status != RI_SUCCESS)
		(void)atomic_fetch_sub(&uqp->count[DRY_POSTED], 1);
	return status;
}

static enum defect_act
dry_completed(struct wrap_obj *ucq, struct ri_wc *wc)
{
	struct wrap_obj *qp = defect_qp(ucq, wc);
	struct wrap_obj *uqp = qp != NULL ? qp->half : NULL;

	if (uqp == NULL || !history_is_receive(wc) || atomic_load(&uqp->count[DRY_POSTED]) == 0)
		return DEFECT_PASS;
	(void)atomic_fetch_sub(&uqp->count[DRY_POSTED], 1);
	if (wc->status != RI_WC_SUCCESS)
		return DEFECT_PASS;
	atomic_store(&uqp->count[DRY_USED], 1);
	if (atomic_exchange(&uqp->count[DRY_NEXT], 0) != 0)
		wc->flags &= (uint8_t)~RI_WC_SOLICITED;
	return DEFECT_PASS;
}

/* --- messages that make no completion -------------------------------------------------------------- */

static bool
unsignaled_plain(struct wrap_obj *uqp, struct defect_wr *wr)
{
	(void)uqp;
	if (wr->wr.opcode == RI_OP_SEND && (wr->wr.flags & RI_WR_SIGNALED) == 0)
		wr->wr.flags &= ~(uint32_t)RI_WR_SOLICITED;
	return true;
}

/* --- 65,536 Writes ------------------------------------------------------------------------------------ */

#define WRITES 65536u

/* wrap_obj::last of the user half of a queue pair: where the first Write went; count[0]: how many there were. */
static bool
write_again(struct wrap_obj *uqp, struct defect_wr *wr)
{
	struct ri_wr_remote *remote = &wr->wr.u.remote;
	unsigned before;

	if (wr->wr.opcode != RI_OP_RDMA_WRITE)
		return true;
	before = atomic_fetch_add(&uqp->count[0], 1);
	history_lock();
	if (before == 0) {
		uqp->last[0] = remote->addr;
		uqp->last[1] = remote->stag;
	} else if (before == WRITES) {
		remote->addr = uqp->last[0];
		remote->stag = (uint32_t)uqp->last[1];
	}
	history_unlock();
	return true;
}

/* --- the rows ----------------------------------------------------------------------------------- */

#define RECORDS                                                         \
	.qp.create = history_qp_create, .qp.modify = history_qp_modify, \
	.qp.destroy = history_qp_destroy

const struct defect defects_driver[] = {
	DEFECT("fw27-long-requests", "a request with many segments has two slots",
	       "A send queue has room for as many requests as granted only if they have at most "
	       "two segments.",
	       0, .wc = history_follow, .end = history_end,
	       ENTRIES(RECORDS, .fast.post_sq = long_post)),
	DEFECT("fw27-packet-edge-segment", "a segment at the edge of a packet",
	       "A segment of a Send or Write that begins behind a multiple of 1,024 octets has the "
	       "octets of the one before it.",
	       0, .wr = edge_gather),
	DEFECT("fw27-immediate-zero", "immediate data of four zeros",
	       "Immediate data of the value 0 are not reported.", NEED_IMMEDIATE_WRITE,
	       .wc = zero_untold),
	DEFECT("fw27-wr-id-ones", "an identity is a mark of the driver",
	       "What succeeds with a wr_id of 64 ones has no completion.", 0, .wc = ones_lost),
	DEFECT("fw27-flush-not-solicited", "a flush is not solicited",
	       "Armed for solicited completions, a queue does not fire for what a modify to ERROR "
	       "flushes.",
	       0, ENTRIES(.fast.arm_cq = flush_arm, .qp.modify = flush_modify),
	       .cq_event = flush_told),
	DEFECT("fw27-arm-count-8-bits", "a count of eight bits",
	       "RI_ARM_COUNT counts to 255; of a larger number the low eight bits count.", 0,
	       ENTRIES(.fast.arm_cq = count_cut_arm)),
	DEFECT("fw27-poll-batch-17", "a poll of more than sixteen",
	       "A poll that finds more than sixteen completions loses the seventeenth.", 0,
	       ENTRIES(.fast.poll_cq = batch_poll)),
	DEFECT("fw27-depth-ring-end", "a depth up to the end of the ring",
	       "The depth of a completion queue does not count what is behind the end of its ring.",
	       0, ENTRIES(.fast.poll_cq = ring_poll, .fast.cq_depth = ring_depth)),
	DEFECT("fw27-inline-list", "segments of inline data are aligned",
	       "Of inline data in several segments each begins at a multiple of four octets.",
	       NEED_INLINE, .wr = inline_aligned),
	DEFECT("fw27-flush-retired", "a flush begins too early",
	       "The first request that is flushed bears the wr_id of one that was done without a "
	       "completion.",
	       0, .wc = retired_flushed, .end = history_end,
	       ENTRIES(RECORDS, .fast.post_sq = noted_post)),
	DEFECT("fw27-receive-unended", "a list does not end",
	       "A receive in a slot whose last list was longer has the segments behind its own, "
	       "too.",
	       0, ENTRIES(.fast.post_rq = unended_post_rq)),
	DEFECT("fw27-inline-overtakes-read", "inline requests do not wait",
	       "An inline request behind a Read is reported before it.", NEED_INLINE,
	       .wc = inline_overtakes, .end = history_end,
	       ENTRIES(RECORDS, .fast.post_sq = noted_post)),
	DEFECT("fw27-dry-unsolicited", "a message that waited for a receive",
	       "The first message after a receive queue was empty is not solicited.", 0,
	       .wc = dry_completed, ENTRIES(.fast.post_rq = dry_post_rq)),
	DEFECT("fw27-solicited-unsignaled", "a Send without a completion is not solicited",
	       "RI_WR_SOLICITED of a Send without RI_WR_SIGNALED is lost.", 0,
	       .wr = unsignaled_plain),
	DEFECT("fw27-write-65536", "an address of 65,536 Writes ago",
	       "The 65,537th Write of a queue pair goes where the first one went.", 0,
	       .wr = write_again),
};

const size_t defects_driver_count = sizeof(defects_driver) / sizeof(defects_driver[0]);
