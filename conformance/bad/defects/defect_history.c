/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Records of queue pairs. */
#include "defect_history.h"

#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct history_qp *records;

void
history_lock(void)
{
	pthread_mutex_lock(&lock);
}

void
history_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

struct history_qp *
history_find(const struct wrap_rnic *rnic, uint64_t ctx)
{
	struct history_qp *qp = records;

	while (qp != NULL && (qp->rnic != rnic || qp->ctx != ctx))
		qp = qp->next;
	return qp;
}

struct history_wr *
history_at(const struct history_qp *qp, uint32_t n)
{
	return &qp->ring[(qp->first + n) % qp->room];
}

static bool
make_room(struct history_qp *qp)
{
	uint32_t room = qp->room == 0 ? 16 : 2 * qp->room;
	struct history_wr *ring = calloc(room, sizeof(*ring));

	if (ring == NULL)
		return false;
	for (uint32_t i = 0; i < qp->count; i++)
		ring[i] = *history_at(qp, i);
	free(qp->ring);
	qp->ring = ring;
	qp->room = room;
	qp->first = 0;
	return true;
}

void
history_push(struct history_qp *qp, const struct history_wr *wr)
{
	if (qp->count == qp->room && !make_room(qp))
		return;
	qp->count++;
	*history_at(qp, qp->count - 1) = *wr;
}

static void
note_accepted(struct ri_uqp *qp, enum ri_status status, const struct history_wr *note)
{
	const struct wrap_obj *uqp = wrap_of(qp);
	struct history_qp *record = history_find(uqp->rnic, uqp->half->ctx);

	if (status == RI_SUCCESS && record != NULL)
		history_push(record, note);
}

enum ri_status
history_post_sq(struct ri_uqp *qp, const struct ri_wr *wr, const struct history_wr *note)
{
	enum ri_status status;

	history_lock();
	status = wrap_plain_fast_ops.post_sq(qp, wr);
	note_accepted(qp, status, note);
	history_unlock();
	return status;
}

enum ri_status
history_post_rq(struct ri_uqp *qp, const struct ri_recv_wr *wr, const struct history_wr *note)
{
	enum ri_status status;

	history_lock();
	status = wrap_plain_fast_ops.post_rq(qp, wr);
	note_accepted(qp, status, note);
	history_unlock();
	return status;
}

bool
history_done(struct history_qp *qp, const struct ri_wc *wc, struct history_wr *out)
{
	uint32_t n = 0;

	/* A success is that of the first signalled one; before an error others may have succeeded without a completion. */
	while (n < qp->count &&
	       (history_at(qp, n)->wr_id != wc->wr_id ||
		(wc->status == RI_WC_SUCCESS && (history_at(qp, n)->flags & RI_WR_SIGNALED) == 0)))
		n++;
	if (n == qp->count)
		return false;
	*out = *history_at(qp, n);
	qp->first = (qp->first + n + 1) % qp->room;
	qp->count -= n + 1;
	return true;
}

static void
dispose(struct history_qp *qp)
{
	free(qp->ring);
	free(qp->scratch);
	free(qp);
}

/* With the lock. Forget all of an adapter that are of this S-RQ, or have this context number, or all. */
static void
drop(const struct wrap_rnic *rnic, const struct wrap_obj *srq, const uint64_t *ctx)
{
	struct history_qp **at = &records;

	while (*at != NULL) {
		struct history_qp *qp = *at;

		if (qp->rnic != rnic || (srq != NULL && qp->srq != srq) ||
		    (ctx != NULL && qp->ctx != *ctx)) {
			at = &qp->next;
			continue;
		}
		*at = qp->next;
		dispose(qp);
	}
}

void
history_drop_srq(const struct wrap_obj *srq)
{
	drop(srq->rnic, srq, NULL);
}

void
history_qp_forget(const struct wrap_obj *qp)
{
	history_lock();
	drop(qp->rnic, NULL, &qp->ctx);
	history_unlock();
}

void
history_end(struct wrap_rnic *rnic)
{
	history_lock();
	drop(rnic, NULL, NULL);
	history_unlock();
}

enum ri_status
history_qp_create(struct ri_pd *pd, struct ri_qp_init *init, struct ri_cq *send_cq,
		  struct ri_cq *recv_cq, struct ri_srq *srq, struct ri_qp **out, struct ri_map *map)
{
	enum ri_status status = wrap_plain_qp_ops.create(pd, init, send_cq, recv_cq, srq, out, map);
	struct history_qp *qp = status == RI_SUCCESS ? calloc(1, sizeof(*qp)) : NULL;

	if (qp == NULL)
		return status;
	qp->rnic = wrap_rnic_of(pd);
	qp->ctx = init->ctx;
	qp->srq = wrap_of(srq);
	qp->ord = init->ord;
	qp->slots = init->max_rq_wr;
	history_lock();
	qp->next = records;
	records = qp;
	history_unlock();
	return status;
}

enum ri_status
history_qp_modify(struct ri_qp *qp, const struct ri_qp_attr *attr, uint32_t mask)
{
	enum ri_status status = wrap_plain_qp_ops.modify(qp, attr, mask);
	struct history_qp *record;

	if (status != RI_SUCCESS)
		return status;
	history_lock();
	record = history_find(wrap_rnic_of(qp), wrap_of(qp)->ctx);
	if (record != NULL && (mask & RI_QP_ATTR_ORD) != 0)
		record->ord = attr->ord;
	if (record != NULL && (mask & RI_QP_ATTR_STATE) != 0 && attr->state == RI_QPS_IDLE)
		record->count = 0;
	history_unlock();
	return status;
}

enum ri_status
history_qp_destroy(struct ri_qp *qp)
{
	struct wrap_rnic *rnic = wrap_rnic_of(qp);
	uint64_t ctx = wrap_of(qp)->ctx;
	enum ri_status status = wrap_plain_qp_ops.destroy(qp);

	if (status != RI_SUCCESS)
		return status;
	history_lock();
	drop(rnic, NULL, &ctx);
	history_unlock();
	return status;
}

enum defect_act
history_follow(struct wrap_obj *ucq, struct ri_wc *wc)
{
	struct history_wr done;
	struct history_qp *qp;

	if (history_is_receive(wc))
		return DEFECT_PASS;
	history_lock();
	qp = history_find(ucq->rnic, wc->qp_ctx);
	if (qp != NULL)
		(void)history_done(qp, wc, &done);
	history_unlock();
	return DEFECT_PASS;
}

struct wrap_obj *
history_by_index(struct wrap_rnic *rnic, enum wrap_kind kind, uint32_t stag)
{
	struct wrap_obj *o = rnic->objects.prev;

	while (o != &rnic->objects && (o->kind != kind || o->stag >> 8 != stag >> 8))
		o = o->prev;
	return o != &rnic->objects ? o : NULL;
}
