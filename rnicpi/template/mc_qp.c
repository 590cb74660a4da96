/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* [creation] */
/* mc_qp.c: queue pairs: creation, states, the end. */
#include <stdlib.h>

#include "mc.h"

/* Its attempt took too long. On the service thread. */
static void
too_late(void *arg)
{
	struct ri_qp *qp = arg;

	mc_lock();
	if (qp->state == RI_QPS_CONNECTING && qp->peer == NULL)
		mc_end(qp, RI_CM_FAILED, RI_CM_REASON_TIMEOUT);
	mc_unlock();
}

static bool
queue_make(struct mc_queue *queue, uint32_t *size)
{
	if (*size == 0)
		*size = 1;
	queue->size = *size;
	queue->slots = calloc(*size, sizeof(*queue->slots));
	return queue->slots != NULL;
}

static void
qp_free(struct ri_qp *qp)
{
	free(qp->sq.slots);
	free(qp->rq.slots);
	free(qp);
}

static enum ri_status
init_check(const struct ri_qp_init *init, const struct ri_srq *srq)
{
	if (init->type != RI_QP_RC || srq != NULL || init->privileged)
		return RI_ERR_UNSUPPORTED;
	if (init->max_sq_wr > MC_REQUESTS || init->max_rq_wr > MC_REQUESTS ||
	    init->max_send_sge > 1 || init->max_recv_sge > 1 || init->max_write_sge > 1 ||
	    init->max_read_sge > 1 || init->ird > MC_DEPTH || init->ord > MC_DEPTH)
		return RI_ERR_LIMIT;
	return RI_SUCCESS;
}

static enum ri_status
qp_create(struct ri_pd *pd, struct ri_qp_init *init, struct ri_cq *send_cq, struct ri_cq *recv_cq,
	  struct ri_srq *srq, struct ri_qp **out, struct ri_map *map)
{
	static uint32_t last_number; /* with the lock */
	struct ri_context *context = pd->object.context;
	enum ri_status status = init_check(init, srq);
	struct ri_qp *qp;

	if (status != RI_SUCCESS)
		return status;
	qp = calloc(1, sizeof(*qp));
	if (qp == NULL)
		return RI_ERR_RESOURCES;
	qp->pd = pd;
	qp->send_cq = send_cq;
	qp->recv_cq = recv_cq;
	qp->state = RI_QPS_IDLE;
	qp->timer = (struct ri_timer){.fire = too_late, .arg = qp};
	mc_note_init(&qp->up, context->rnic, mc_tell_up, qp);
	mc_note_init(&qp->end, context->rnic, mc_tell_end, qp);
	if (!queue_make(&qp->sq, &init->max_sq_wr) || !queue_make(&qp->rq, &init->max_rq_wr)) {
		qp_free(qp);
		return RI_ERR_RESOURCES;
	}
	qp->init = *init;
	qp->heard.ctx = init->ctx;

	mc_lock();
	bool room = mc_enter(context, MC_QP, &qp->object);
	if (room) {
		qp->number = ++last_number & 0xffffff;
		pd->object.users++;
		send_cq->object.users++;
		recv_cq->object.users++;
	}
	mc_unlock();
	if (!room) {
		qp_free(qp);
		return RI_ERR_RESOURCES;
	}
	map->words[0] = (uintptr_t)qp;
	*out = qp;
	return RI_SUCCESS;
}
/* [creation] */

/* [states] */
/* --- states ------------------------------------------------------------------------------- */

void
mc_end(struct ri_qp *qp, enum ri_cm_event_kind kind, enum ri_cm_reason reason)
{
	bool alive = qp->state == RI_QPS_CONNECTING || qp->state == RI_QPS_RTS;
	struct ri_qp *peer = qp->peer;

	if (qp->request != NULL)
		mc_request_withdraw(qp->request);
	qp->state = RI_QPS_ERROR;
	qp->open = false;
	qp->peer = NULL;
	mc_flush(qp); /* all completions, then the event */
	if (alive) {
		qp->end_kind = kind;
		qp->end_reason = reason;
		mc_note_queue(&qp->end);
	}
	if (peer != NULL) {
		peer->peer = NULL;
		mc_end(peer, kind, reason);
	}
}

static enum ri_status
state_change(struct ri_qp *qp, enum ri_qp_state to)
{
	bool attempt = qp->state == RI_QPS_CONNECTING && qp->peer == NULL;

	if (to == RI_QPS_IDLE && qp->state == RI_QPS_IDLE)
		return RI_SUCCESS;
	if (to == RI_QPS_ERROR)
		mc_end(qp, attempt ? RI_CM_FAILED : RI_CM_BROKEN, RI_CM_REASON_OTHER);
	else if (to == RI_QPS_CLOSING && qp->state == RI_QPS_RTS)
		mc_end(qp, RI_CM_DISCONNECTED, RI_CM_REASON_OTHER);
	else if (to == RI_QPS_TERMINATE && qp->state == RI_QPS_RTS)
		mc_end(qp, RI_CM_BROKEN, RI_CM_REASON_OTHER);
	else
		return RI_ERR_INVALID_STATE;
	return RI_SUCCESS;
}

#define MODIFIABLE (RI_QP_ATTR_STATE | RI_QP_ATTR_ACCESS | RI_QP_ATTR_IRD | RI_QP_ATTR_ORD)

/* All or nothing: the state, which alone can be refused now, is changed first. */
static enum ri_status
qp_modify(struct ri_qp *qp, const struct ri_qp_attr *attr, uint32_t mask)
{
	enum ri_status status = RI_SUCCESS;

	if ((mask & RI_QP_ATTR_QKEY) != 0)
		return RI_ERR_UNSUPPORTED;
	if ((mask & ~(uint32_t)MODIFIABLE) != 0)
		return RI_ERR_INVALID_ARG; /* unknown, or a limit of shared receive queues */
	if (((mask & RI_QP_ATTR_IRD) != 0 && attr->ird > MC_DEPTH) ||
	    ((mask & RI_QP_ATTR_ORD) != 0 && attr->ord > MC_DEPTH))
		return RI_ERR_LIMIT;
	mc_lock();
	if ((mask & RI_QP_ATTR_STATE) != 0)
		status = state_change(qp, (enum ri_qp_state)attr->state);
	if (status == RI_SUCCESS && (mask & RI_QP_ATTR_ACCESS) != 0)
		qp->init.access = attr->access;
	if (status == RI_SUCCESS && (mask & RI_QP_ATTR_IRD) != 0)
		qp->init.ird = attr->ird;
	if (status == RI_SUCCESS && (mask & RI_QP_ATTR_ORD) != 0)
		qp->init.ord = attr->ord;
	mc_unlock();
	return status;
}

static enum ri_status
qp_query(struct ri_qp *qp, struct ri_qp_attr *attr)
{
	mc_lock();
	*attr = (struct ri_qp_attr){
		.state = qp->state,
		.qpn = qp->number,
		.access = qp->init.access,
		.ird = qp->init.ird,
		.ord = qp->init.ord,
		.max_sq_wr = qp->init.max_sq_wr,
		.max_rq_wr = qp->init.max_rq_wr,
		.max_send_sge = qp->init.max_send_sge,
		.max_recv_sge = qp->init.max_recv_sge,
		.max_write_sge = qp->init.max_write_sge,
		.max_read_sge = qp->init.max_read_sge,
		.hard_limit = UINT32_MAX,
		.quiescent = qp->sq.done == qp->sq.posted && qp->rq.done == qp->rq.posted,
	};
	mc_unlock();
	return RI_SUCCESS;
}
/* [states] */

/* [destruction] */
/* Completions of the queue pair stay, but they free no slots any more. */
static void
orphan_entries(struct ri_cq *cq, const struct ri_qp *qp)
{
	for (uint64_t i = cq->head; i != cq->tail; i++) {
		struct mc_entry *entry = &cq->entries[i % cq->size];

		if (entry->queue == &qp->sq || entry->queue == &qp->rq)
			entry->queue = NULL;
	}
}

static enum ri_status
qp_destroy(struct ri_qp *qp)
{
	const struct ri_host *host = qp->object.context->rnic->host;

	mc_lock();
	qp->sq.posted = qp->sq.done; /* what was posted gets no completion */
	qp->rq.posted = qp->rq.done;
	mc_end(qp, RI_CM_BROKEN, RI_CM_REASON_OTHER); /* its peer hears of it */
	mc_note_unlink(&qp->up);
	mc_note_unlink(&qp->end);
	orphan_entries(qp->send_cq, qp);
	orphan_entries(qp->recv_cq, qp);
	mc_leave(MC_QP, &qp->object);
	qp->pd->object.users--;
	qp->send_cq->object.users--;
	qp->recv_cq->object.users--;
	mc_unlock();
	host->timer_stop(host->self, &qp->timer);
	mc_note_forget(&qp->up);
	mc_note_forget(&qp->end);
	qp_free(qp);
	return RI_SUCCESS;
}

const struct ri_qp_ops mc_qp_ops = {
	.size = sizeof(mc_qp_ops),
	.create = qp_create,
	.modify = qp_modify,
	.query = qp_query,
	.destroy = qp_destroy,
};
/* [destruction] */
