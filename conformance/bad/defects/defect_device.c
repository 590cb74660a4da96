/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Bugs of devices in work queues, completion queues and data; most need a history. */
#include <stdlib.h>
#include <string.h>

#include "defect_history.h"

/* The user half's queue pair. */
static struct wrap_obj *
whole_of(const struct ri_uqp *qp)
{
	return wrap_of(qp)->half;
}

static enum ri_status
query_pair(struct wrap_obj *qp, struct ri_qp_attr *attr)
{
	return wrap_plain_qp_ops.query((struct ri_qp *)qp, attr);
}

/* Memory of this process that a segment names by its virtual address, or NULL. */
static uint8_t *
virtual_of(struct wrap_rnic *rnic, const struct ri_sge *sge)
{
	const struct wrap_obj *mr = wrap_region_of(rnic, sge->stag);

	if (mr == NULL || mr->init.iova_given || mr->init.zero_based || mr->init.unlinked ||
	    mr->init.pages != NULL)
		return NULL;
	return (uint8_t *)(uintptr_t)sge->addr;
}

/* --- requests without a completion of success ---------------------------------------------------- */

static bool
quiet_in_error(struct wrap_obj *uqp, struct defect_wr *wr)
{
	struct ri_qp_attr attr = {0};

	return (wr->wr.flags & RI_WR_SIGNALED) != 0 || query_pair(uqp->half, &attr) != RI_SUCCESS ||
	       attr.state != RI_QPS_ERROR;
}

static enum defect_act
bind_flushed(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	if (wc->status == RI_WC_FLUSHED && wc->opcode == RI_OP_BIND_MW)
		wc->status = RI_WC_MW_BIND;
	return DEFECT_PASS;
}

/* --- a completion queue that is resized ------------------------------------------------------------- */

/* wrap_obj::count[0]: completions that were present. */
static enum ri_status
copied_remap(struct ri_ucq *cq, const struct ri_map *map)
{
	struct wrap_obj *ucq = wrap_of(cq);
	enum ri_status status;

	pthread_mutex_lock(&ucq->held->lock);
	status = wrap_plain_user_ops.cq_remap(cq, map);
	if (status == RI_SUCCESS)
		atomic_store(&ucq->count[0], wrap_plain_fast_ops.cq_depth(cq));
	pthread_mutex_unlock(&ucq->held->lock);
	return status;
}

static enum defect_act
copied_plain(struct wrap_obj *ucq, struct ri_wc *wc)
{
	if (ucq->count[0] == 0)
		return DEFECT_PASS;
	ucq->count[0]--;
	wc->flags &= (uint8_t)~RI_WC_SOLICITED;
	return DEFECT_PASS;
}

/* --- Reads of no octets ------------------------------------------------------------------------------- */

/* wrap_obj::count of a queue pair. */
enum credit_word {
	CREDITS_LOST,
	CREDITS_STUCK /* a request waits for one, and all behind it */
};

static enum defect_act
credit_lost(struct wrap_obj *ucq, struct ri_wc *wc)
{
	struct wrap_obj *qp = defect_qp(ucq, wc);

	if (qp != NULL && wc->status == RI_WC_SUCCESS && wc->opcode == RI_OP_RDMA_READ &&
	    wc->byte_len == 0)
		atomic_fetch_add(&qp->count[CREDITS_LOST], 1);
	return DEFECT_PASS;
}

static bool
credit_taken(struct wrap_obj *uqp, struct defect_wr *wr)
{
	struct wrap_obj *qp = uqp->half;
	struct ri_qp_attr attr = {0};

	if (wr->wr.opcode != RI_OP_RDMA_READ && wr->wr.opcode != RI_OP_FETCH_ADD &&
	    wr->wr.opcode != RI_OP_CMP_SWAP)
		return atomic_load(&qp->count[CREDITS_STUCK]) == 0;
	if (query_pair(qp, &attr) == RI_SUCCESS && attr.state == RI_QPS_RTS && attr.ord > 0 &&
	    atomic_load(&qp->count[CREDITS_LOST]) >= attr.ord)
		atomic_store(&qp->count[CREDITS_STUCK], 1);
	return atomic_load(&qp->count[CREDITS_STUCK]) == 0;
}

static enum ri_status
credit_modify(struct ri_qp *qp, const struct ri_qp_attr *attr, uint32_t mask)
{
	enum ri_status status = wrap_plain_qp_ops.modify(qp, attr, mask);

	if (status == RI_SUCCESS && (mask & RI_QP_ATTR_STATE) != 0 && attr->state == RI_QPS_IDLE) {
		atomic_store(&wrap_of(qp)->count[CREDITS_LOST], 0);
		atomic_store(&wrap_of(qp)->count[CREDITS_STUCK], 0);
	}
	return status;
}

/* --- where a Read goes on a page ------------------------------------------------------------------------ */

#define PAGE 4096u

static enum ri_status
edge_post(struct ri_uqp *qp, const struct ri_wr *wr)
{
	struct wrap_obj *uqp = wrap_of(qp);
	struct history_wr note = {.wr_id = wr->wr_id, .flags = wr->flags, .opcode = wr->opcode};

	for (uint32_t i = 0; wr->opcode == RI_OP_RDMA_READ && i < wr->num_sge; i++) {
		const struct ri_sge *sge = &wr->sgl[i];
		uint8_t *at = sge->length > 1 && sge->addr % PAGE == PAGE - 1
				      ? virtual_of(uqp->rnic, sge)
				      : NULL;

		if (at != NULL)
			note.sink = at;
	}
	return history_post_sq(qp, wr, &note);
}

static enum defect_act
edge_doubled(struct wrap_obj *ucq, struct ri_wc *wc)
{
	struct history_wr done = {0};
	struct history_qp *record;
	bool known;

	if (history_is_receive(wc))
		return DEFECT_PASS;
	history_lock();
	record = history_find(ucq->rnic, wc->qp_ctx);
	known = record != NULL && history_done(record, wc, &done);
	history_unlock();
	if (known && wc->status == RI_WC_SUCCESS && done.sink != NULL) {
		uint8_t *at = (uint8_t *)(uintptr_t)done.sink;

		at[1] = at[0];
	}
	return DEFECT_PASS;
}

/* --- receives, in the order of their posts ------------------------------------------------------------------ */

/* history_wr::flags has the number of segments. */
static enum ri_status
noted_post_rq(struct ri_uqp *qp, const struct ri_recv_wr *wr)
{
	struct history_wr note = {.wr_id = wr->wr_id, .label = wr->wr_id, .flags = wr->num_sge};

	return history_post_rq(qp, wr, &note);
}

/* With the lock. The oldest receive; it is forgotten. */
static bool
oldest_take(struct history_qp *record, struct history_wr *out)
{
	if (record == NULL || record->srq != NULL || record->count == 0)
		return false;
	*out = *history_at(record, 0);
	record->first = (record->first + 1) % record->room;
	record->count--;
	record->polled++;
	return true;
}

static enum defect_act
list_length(struct wrap_obj *ucq, struct ri_wc *wc)
{
	struct history_wr done = {0};

	if (!history_is_receive(wc))
		return DEFECT_PASS;
	history_lock();
	(void)oldest_take(history_find(ucq->rnic, wc->qp_ctx), &done);
	history_unlock();
	if (wc->status == RI_WC_SUCCESS && wc->opcode == RI_OP_RECV && done.flags > 1)
		wc->byte_len &= UINT16_MAX;
	return DEFECT_PASS;
}

/* Those that are behind the end of the ring come first. */
static void
labels_rotate(struct history_qp *record)
{
	uint32_t head = (uint32_t)(record->polled % record->slots);
	uint32_t tail = record->slots - head;
	uint64_t *labels;

	if (record->count <= tail)
		return;
	labels = calloc(record->count, sizeof(*labels));
	if (labels == NULL)
		return;
	for (uint32_t i = 0; i < record->count; i++)
		labels[i] = history_at(record, (tail + i) % record->count)->label;
	for (uint32_t i = 0; i < record->count; i++)
		history_at(record, i)->label = labels[i];
	free(labels);
}

/* history_qp::posted: the flush has begun. */
static enum defect_act
flushed_from_begin(struct wrap_obj *ucq, struct ri_wc *wc)
{
	struct history_wr done = {0};
	struct history_qp *record;

	if (!history_is_receive(wc))
		return DEFECT_PASS;
	history_lock();
	record = history_find(ucq->rnic, wc->qp_ctx);
	if (record != NULL && wc->status == RI_WC_FLUSHED && record->posted == 0 &&
	    record->slots > 0) {
		labels_rotate(record);
		record->posted = 1;
	}
	if (oldest_take(record, &done) && done.wr_id == wc->wr_id)
		wc->wr_id = done.label;
	if (record != NULL && record->count == 0)
		record->posted = 0;
	history_unlock();
	return DEFECT_PASS;
}

/* --- more atomics than ORD ----------------------------------------------------------------------------------- */

static enum ri_status
burst_post(struct ri_uqp *qp, const struct ri_wr *wr)
{
	struct wrap_obj *uqp = wrap_of(qp);
	struct history_wr note = {.wr_id = wr->wr_id, .flags = wr->flags, .opcode = wr->opcode};
	struct history_qp *record;
	uint32_t ahead = 0;
	enum ri_status status;

	if ((wr->opcode == RI_OP_FETCH_ADD || wr->opcode == RI_OP_CMP_SWAP) && wr->num_sge == 1)
		note.sink = virtual_of(uqp->rnic, &wr->sgl[0]);
	history_lock();
	status = wrap_plain_fast_ops.post_sq(qp, wr);
	record = history_find(uqp->rnic, uqp->half->ctx);
	for (uint32_t i = 0; record != NULL && i < record->count; i++)
		ahead += history_at(record, i)->sink != NULL;
	if (status == RI_SUCCESS && record != NULL) {
		note.label = note.sink != NULL && record->ord > 0 && ahead >= record->ord;
		history_push(record, &note);
	}
	history_unlock();
	return status;
}

/* history_qp::posted: what the last atomic has really told. */
static enum defect_act
burst_stale(struct wrap_obj *ucq, struct ri_wc *wc)
{
	struct history_wr done = {0};
	struct history_qp *record;

	if (history_is_receive(wc))
		return DEFECT_PASS;
	history_lock();
	record = history_find(ucq->rnic, wc->qp_ctx);
	if (record != NULL && history_done(record, wc, &done) && done.sink != NULL &&
	    wc->status == RI_WC_SUCCESS) {
		uint64_t told;

		memcpy(&told, done.sink, sizeof(told));
		if (done.label != 0)
			memcpy((void *)(uintptr_t)done.sink, &record->posted, sizeof(told));
		record->posted = told;
	}
	history_unlock();
	return DEFECT_PASS;
}

/* --- a send queue that has grown ------------------------------------------------------------------------------ */

/* history_qp::posted: how many requests it takes; 0: as many as it has slots. */
static enum ri_status
grown_post(struct ri_uqp *qp, const struct ri_wr *wr)
{
	struct history_wr note = {.wr_id = wr->wr_id, .flags = wr->flags, .opcode = wr->opcode};
	enum ri_status status = RI_ERR_QUEUE_FULL;
	struct history_qp *record;

	history_lock();
	record = history_find(wrap_of(qp)->rnic, whole_of(qp)->ctx);
	if (record == NULL || record->posted == 0 || record->count < record->posted)
		status = wrap_plain_fast_ops.post_sq(qp, wr);
	if (status == RI_SUCCESS && record != NULL)
		history_push(record, &note);
	history_unlock();
	return status;
}

static enum ri_status
grown_resize(struct ri_qp *qp, struct ri_qp_attr *attr, struct ri_map *map)
{
	uint32_t before = wrap_of(qp)->qp.max_sq_wr;
	enum ri_status status = wrap_plain_qp_ops.resize(qp, attr, map);
	struct history_qp *record;

	if (status != RI_SUCCESS)
		return status;
	history_lock();
	record = history_find(wrap_rnic_of(qp), wrap_of(qp)->ctx);
	if (record != NULL)
		record->posted = record->count > 0 && attr->max_sq_wr > before ? before : 0;
	history_unlock();
	wrap_of(qp)->qp.max_sq_wr = attr->max_sq_wr;
	return status;
}

/* --- what a query says of work that is not done ---------------------------------------------------------------- */

static enum ri_status
request_post(struct ri_uqp *qp, const struct ri_wr *wr)
{
	struct history_wr note = {.wr_id = wr->wr_id, .flags = wr->flags, .opcode = wr->opcode};

	return history_post_sq(qp, wr, &note);
}

static enum ri_status
quiescent_query(struct ri_qp *qp, struct ri_qp_attr *attr)
{
	enum ri_status status = wrap_plain_qp_ops.query(qp, attr);
	const struct history_qp *record;

	if (status != RI_SUCCESS || attr->quiescent)
		return status;
	history_lock();
	record = history_find(wrap_rnic_of(qp), wrap_of(qp)->ctx);
	attr->quiescent = record != NULL && record->count == 0;
	history_unlock();
	return status;
}

/* --- small things -------------------------------------------------------------------------------------------------- */

/* The key of a segment of no octets is looked at. */
static bool
empty_checked(struct wrap_obj *uqp, struct defect_wr *wr)
{
	for (uint32_t i = 0;
	     wr->wr.opcode == RI_OP_RDMA_READ && wr->wr.num_sge > 1 && i < wr->wr.num_sge; i++)
		if (wr->sgl[i].length == 0 && wrap_region_of(uqp->rnic, wr->sgl[i].stag) == NULL)
			wr->sgl[i].length = 1;
	return true;
}

static enum ri_status
plain_post_srq(struct ri_usrq *srq, const struct ri_recv_wr *wr)
{
	struct ri_recv_wr copy = *wr;

	copy.flags &= ~(uint32_t)RI_WR_NOTIFY;
	return wrap_plain_fast_ops.post_srq(srq, &copy);
}

/* --- the rows ---------------------------------------------------------------------------------------------------------- */

#define RECORDS                                                         \
	.qp.create = history_qp_create, .qp.modify = history_qp_modify, \
	.qp.destroy = history_qp_destroy

const struct defect defects_device[] = {
	DEFECT("fw28-error-unsignaled-quiet", "what is posted too late is not told",
	       "A request without RI_WR_SIGNALED that is posted in ERROR gets no completion.", 0,
	       .wr = quiet_in_error),
	DEFECT("fw28-bind-flush-status", "a bind that is flushed has failed",
	       "A bind that is flushed completes with RI_WC_MW_BIND.", NEED_NARROW,
	       .wc = bind_flushed),
	DEFECT("fw28-cq-resize-unsolicited", "a resize copies no flags",
	       "Completions that are present when their queue is resized are not solicited.",
	       NEED_RESIZE, .wc = copied_plain, ENTRIES(.user.cq_remap = copied_remap)),
	DEFECT("fw28-empty-read-credit", "Reads of no octets use up ORD",
	       "Each Read of no octets takes one from ORD until the connection ends.", 0,
	       .wc = credit_lost, .wr = credit_taken, ENTRIES(.qp.modify = credit_modify)),
	DEFECT("fw28-read-page-edge", "an octet is doubled at the edge of a page",
	       "A Read into a segment that begins with the last octet of a page has this octet "
	       "twice.",
	       0, .wc = edge_doubled, .end = history_end,
	       ENTRIES(RECORDS, .fast.post_sq = edge_post)),
	DEFECT("fw28-length-16-list", "the length of a list of segments",
	       "The length of a receive of several segments is cut to its low 16 bits.", 0,
	       .wc = list_length, .end = history_end,
	       ENTRIES(RECORDS, .fast.post_rq = noted_post_rq)),
	DEFECT("fw28-flush-from-slot-0", "the flush begins with the first slot",
	       "Flushed receives that go round the end of the ring are reported from its first "
	       "slot on.",
	       NEED_ORDER, .wc = flushed_from_begin, .end = history_end,
	       ENTRIES(RECORDS, .fast.post_rq = noted_post_rq)),
	DEFECT("fw28-atomic-burst-stale", "an atomic that waited has an old result",
	       "An atomic that waits because ORD others are outstanding returns what the one "
	       "before it did.",
	       NEED_ATOMICS, .wc = burst_stale, .end = history_end,
	       ENTRIES(RECORDS, .fast.post_sq = burst_post)),
	DEFECT("fw28-sq-grown-full", "a queue that has grown is full too early",
	       "A send queue that grows while requests are outstanding takes no more than before.",
	       NEED_RESIZE, .wc = history_follow, .end = history_end,
	       ENTRIES(RECORDS, .qp.resize = grown_resize, .fast.post_sq = grown_post)),
	DEFECT("fw28-quiescent-sends", "receives do not count",
	       "A query says that a queue pair is quiescent though receives are outstanding.", 0,
	       .wc = history_follow, .end = history_end,
	       ENTRIES(RECORDS, .qp.query = quiescent_query, .fast.post_sq = request_post)),
	DEFECT("fw28-empty-sink-key", "the key of no memory is checked",
	       "A Read with a segment of no octets in its list fails if the key of that is none.",
	       0, .wr = empty_checked),
	DEFECT("fw28-srq-notify", "shared receives do not notify",
	       "RI_WR_NOTIFY of a shared receive has no effect.", NEED_SRQ,
	       ENTRIES(.fast.post_srq = plain_post_srq)),
};

const size_t defects_device_count = sizeof(defects_device) / sizeof(defects_device[0]);
