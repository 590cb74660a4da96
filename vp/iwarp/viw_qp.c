/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Queue pairs: create, query, modify, resize, destroy. Control path.
 *
 * The adapter keeps the memory of a queue pair and uses it for the next one, since an engine may still have
 * its address for a moment after the queue pair is destroyed (viw_qp.h). While the memory is unused, both
 * roles are taken, so such an engine finds nothing to do.
 */
#include "viw_qp.h"

#include <stdlib.h>
#include <string.h>

#include "vsw_relax.h"

/* --- memory -------------------------------------------------------------------------------- */

/* The row of the numbers that are equal to this one in their low bits. Called with the lock. */
static struct viw_qp **
number_row(struct viw_rnic *rnic, uint32_t qpn)
{
	return &rnic->numbered[qpn % VIW_QPN_ROWS];
}

/* A queue pair with both roles taken and its number set. NULL: too many, or no memory. */
static struct viw_qp *
qp_alloc(struct viw_rnic *rnic)
{
	struct viw_qp *qp = NULL;

	pthread_mutex_lock(&rnic->lock);
	bool allowed = rnic->num_qps < VIW_MAX_QP;
	if (allowed && rnic->free_qps != NULL) {
		qp = rnic->free_qps;
		rnic->free_qps = qp->next_free;
	} else if (allowed && posix_memalign((void **)&qp, VSW_CACHE_LINE, sizeof(*qp)) == 0) {
		memset(qp, 0, sizeof(*qp));
		/* Only once: an engine that still has the address of an earlier queue pair here reads it without a role. */
		qp->rnic = rnic;
		atomic_store(&qp->rx.role.taken, 1);
		atomic_store(&qp->tx.role.taken, 1);
	}
	if (qp != NULL) {
		rnic->num_qps++;
		qp->count = &qp->unread;
		/*
		 * The next number of 24 bits that no other queue pair has. 0 and 1 have a special meaning on
		 * InfiniBand, and the highest number is that of multicast; programs rely on that, so these
		 * numbers are never used here.
		 */
		struct viw_qp **row;
		uint32_t qpn;
		bool taken;

		do {
			qpn = ++rnic->last_qpn & VIW_QPN_LAST;
			row = number_row(rnic, qpn);
			taken = qpn < 2 || qpn == VIW_QPN_LAST;
			for (const struct viw_qp *other = *row; other != NULL && !taken;
			     other = other->next_numbered)
				taken = other->who.qpn == qpn;
		} while (taken); /* VIW_MAX_QP are fewer than the numbers */
		qp->who.qpn = qpn;
		qp->next_numbered = *row;
		*row = qp;
	}
	pthread_mutex_unlock(&rnic->lock);
	return qp;
}

static void
qp_free(struct viw_qp *qp)
{
	struct viw_rnic *rnic = qp->rnic;

	vsw_wq_destroy(&qp->tx.sq);
	vsw_wq_destroy(&qp->rx.rq);
	viw_reads_free(&qp->reads);
	free(qp->tx.sent);
	free(qp->tx.wqe);
	free(qp->rx.wqe);
	qp->tx.sent = NULL;
	qp->tx.wqe = NULL;
	qp->rx.wqe = NULL;
	pthread_mutex_lock(&rnic->lock);
	struct viw_qp **at = number_row(rnic, qp->who.qpn);

	while (*at != qp)
		at = &(*at)->next_numbered;
	*at = qp->next_numbered;
	qp->next_free = rnic->free_qps;
	rnic->free_qps = qp;
	rnic->num_qps--;
	pthread_mutex_unlock(&rnic->lock);
}

void
viw_qp_free_all(struct viw_rnic *rnic)
{
	while (rnic->free_qps != NULL) {
		struct viw_qp *qp = rnic->free_qps;

		rnic->free_qps = qp->next_free;
		free(qp);
	}
}

/* --- create -------------------------------------------------------------------------------- */

/* Room for the copy of a request with `sges` segments or `max_inline` octets, never less than before; the content stays. */
static bool
wqe_grow(struct vsw_wqe **wqe, uint32_t sges, uint32_t max_inline)
{
	size_t bytes = sizeof(**wqe) + vsw_wqe_tail(sges, max_inline);
	struct vsw_wqe *grown = *wqe != NULL ? realloc(*wqe, bytes) : calloc(1, bytes);

	if (grown != NULL)
		*wqe = grown;
	return grown != NULL;
}

/* Create the work queues, the rings of Reads, and the list of started requests. */
static enum ri_status
qp_rings_create(struct viw_qp *qp, struct ri_qp_init *init)
{
	uint32_t sq_sge =
		vsw_larger(VIW_MAX_READ, vsw_larger(init->max_send_sge, init->max_write_sge));
	uint32_t rq_sge = qp->srq != NULL ? qp->srq->srq.wq.max_sge : init->max_recv_sge;
	enum ri_status status;

	if (!wqe_grow(&qp->tx.wqe, sq_sge, init->max_inline) || !wqe_grow(&qp->rx.wqe, rq_sge, 0))
		return RI_ERR_RESOURCES;
	status = vsw_wq_create(&qp->tx.sq, &init->max_sq_wr, sq_sge, init->max_inline);
	if (qp->srq != NULL)
		init->max_rq_wr = 0;
	if (status == RI_SUCCESS)
		status = vsw_rq_create(&qp->rx.rq, &init->max_rq_wr,
				       qp->srq != NULL ? 0 : init->max_recv_sge);
	if (status == RI_SUCCESS)
		status = viw_reads_alloc(&qp->reads, init->ird, init->ord);
	if (status != RI_SUCCESS)
		return status;
	uint32_t slots = init->max_sq_wr > 0 ? init->max_sq_wr : 1;
	qp->tx.sent = calloc(slots, sizeof(*qp->tx.sent));
	qp->tx.sent_mask = slots - 1;
	return qp->tx.sent != NULL ? RI_SUCCESS : RI_ERR_RESOURCES;
}

static enum ri_status
qp_create(struct ri_pd *ri_pd, struct ri_qp_init *init, struct ri_cq *send_cq,
	  struct ri_cq *recv_cq, struct ri_srq *srq, struct ri_qp **out, struct ri_map *map)
{
	struct vsw_pd *pd = (struct vsw_pd *)ri_pd;
	struct viw_context *context = (struct viw_context *)pd->context;
	enum ri_status status;

	if (init->type != RI_QP_RC)
		return RI_ERR_UNSUPPORTED;
	if (init->privileged)
		return pd->context->owner.privileged ? RI_ERR_UNSUPPORTED : RI_ERR_PERMISSION;
	if (init->max_sq_wr > VIW_MAX_WR || (srq == NULL && init->max_rq_wr > VIW_MAX_WR) ||
	    init->max_send_sge > VIW_MAX_SGE || init->max_recv_sge > VIW_MAX_SGE ||
	    init->max_write_sge > VIW_MAX_SGE || init->max_read_sge > VIW_MAX_READ ||
	    init->max_inline > VSW_MAX_INLINE || init->ird > VIW_MAX_DEPTH ||
	    init->ord > VIW_MAX_DEPTH)
		return RI_ERR_LIMIT;
	struct viw_qp *qp = qp_alloc(context->rnic);
	if (qp == NULL)
		return RI_ERR_RESOURCES;
	qp->srq = (struct vsw_srq_object *)srq;
	status = qp_rings_create(qp, init);
	if (status != RI_SUCCESS) {
		qp_free(qp);
		return status;
	}
	/* An earlier queue pair in this memory may have left values in all of these. */
	atomic_store(&qp->state, RI_QPS_IDLE);
	memset(&qp->end, 0, sizeof(qp->end));
	atomic_store(&qp->stream.up, false);
	atomic_store(&qp->stream.starting, false);
	atomic_store(&qp->stream.expired, false);
	atomic_store(&qp->rx.limits_new, false);
	atomic_store(&qp->tx.await_frame, false);
	atomic_store(&qp->tx.broken, false);
	atomic_store(&qp->tx.starved, false);
	atomic_store(&qp->rx.waiting, false);
	qp->tx.have_request = false;
	qp->tx.checked = false;
	qp->tx.sent_head = 0;
	qp->tx.sent_tail = 0;
	qp->rx.have_receive = false;
	qp->rx.want_tx = false;
	qp->rx.receive_status = RI_WC_SUCCESS;
	atomic_store(&qp->rx.samples, 0);
	qp->stream.fd = -1;
	qp->init = *init;
	qp->reads.ird = init->ird;
	qp->reads.ord = init->ord;
	qp->pd = pd;
	qp->context = context;
	qp->who.pd = pd;
	qp->receiver = qp->who;
	if (qp->srq != NULL)
		qp->receiver.pd = qp->srq->pd;
	qp->send_cq = (struct vsw_cq_object *)send_cq;
	qp->recv_cq = (struct vsw_cq_object *)recv_cq;
	qp->task = (struct ri_task){.fire = viw_serve, .arg = qp};
	qp->timer = (struct ri_timer){.fire = viw_timer, .arg = qp};
	qp->stream.wake_timer = (struct ri_timer){.fire = viw_wake_fire, .arg = qp};
	atomic_fetch_add(&pd->users, 1);
	atomic_fetch_add(&qp->send_cq->cq.users, 1);
	atomic_fetch_add(&qp->recv_cq->cq.users, 1);
	if (qp->srq != NULL)
		vsw_srq_join(&qp->srq->srq, &qp->rx.member, &qp->rx.rq, init);
	vsw_context_add(pd->context, &context->qps, &qp->node);
	vsw_map_qp(map, &qp->tx.sq, &qp->rx.rq, qp, init);
	/* From here on the engine may run it. */
	atomic_store(&qp->rx.role.taken, 0);
	atomic_store(&qp->tx.role.taken, 0);
	*out = (struct ri_qp *)qp;
	return RI_SUCCESS;
}

/* --- destroy ------------------------------------------------------------------------------- */

/* Take a role of the queue pair for good. */
static void
role_acquire(struct viw_qp *qp, struct vsw_role *role)
{
	for (unsigned round = 0; atomic_exchange(&role->taken, 1) != 0; round++)
		vsw_relax(qp->rnic->host, round);
}

static enum ri_status
qp_destroy(struct ri_qp *ri)
{
	struct viw_qp *qp = (struct viw_qp *)ri;
	const struct ri_host *host = qp->rnic->host;

	if (vsw_mem_qp_windows(qp->rnic->mem, qp->who.qpn, false) > 0)
		return RI_ERR_BUSY;
	/* The service thread first: it may want the roles, and other threads may start it until they are taken. */
	host->task_stop(host->self, &qp->task);
	host->timer_stop(host->self, &qp->timer);
	role_acquire(qp, &qp->rx.role);
	role_acquire(qp, &qp->tx.role);
	/* Without a state the timer's function, which may be running, queues no task. */
	atomic_store(&qp->state, RI_QPS_NONE);
	host->task_stop(host->self, &qp->task);
	host->timer_stop(host->self, &qp->timer);
	viw_stream_drop(qp);
	vsw_srq_part(&qp->rx.member);
	vsw_context_remove(&qp->context->context, &qp->node);
	atomic_fetch_sub(&qp->send_cq->cq.users, 1);
	atomic_fetch_sub(&qp->recv_cq->cq.users, 1);
	atomic_fetch_sub(&qp->pd->users, 1);
	(void)vsw_mem_qp_windows(qp->rnic->mem, qp->who.qpn, true);
	qp_free(qp);
	return RI_SUCCESS;
}

/* --- query and modify ---------------------------------------------------------------------- */

/*
 * Are all posted requests and receives complete, and does no thread own a role? After a connection
 * the socket must have been closed, too. Only a quiescent queue pair can return to IDLE.
 */
static bool
qp_is_quiescent(struct viw_qp *qp)
{
	if ((atomic_load(&qp->stream.attached) && viw_qp_state(qp) > RI_QPS_RTS) ||
	    atomic_exchange(&qp->tx.role.taken, 1) != 0)
		return false;
	bool quiescent = vsw_wq_pending(&qp->tx.sq) == 0 && !qp->tx.have_request &&
			 qp->tx.sent_head == qp->tx.sent_tail;
	atomic_store(&qp->tx.role.taken, 0);
	if (atomic_load(&qp->tx.role.retry))
		viw_serve_soon(qp);
	if (atomic_exchange(&qp->rx.role.taken, 1) != 0)
		return false;
	quiescent = quiescent && vsw_wq_pending(&qp->rx.rq) == 0 && !qp->rx.have_receive;
	atomic_store(&qp->rx.role.taken, 0);
	if (atomic_load(&qp->rx.role.retry))
		viw_serve_soon(qp);
	return quiescent;
}

static enum ri_status
qp_query(struct ri_qp *ri, struct ri_qp_attr *attr)
{
	struct viw_qp *qp = (struct viw_qp *)ri;

	memset(attr, 0, sizeof(*attr));
	attr->quiescent = qp_is_quiescent(qp);
	attr->state = viw_qp_state(qp);
	attr->qpn = qp->who.qpn;
	attr->access = qp->init.access;
	attr->ird = qp->reads.ird;
	attr->ord = qp->reads.ord;
	attr->max_sq_wr = qp->init.max_sq_wr;
	attr->max_rq_wr = qp->init.max_rq_wr;
	attr->max_send_sge = qp->init.max_send_sge;
	attr->max_recv_sge = qp->init.max_recv_sge;
	attr->max_write_sge = qp->init.max_write_sge;
	attr->max_read_sge = qp->init.max_read_sge;
	attr->soft_limit = qp->srq != NULL ? atomic_load(&qp->rx.member.soft) : 0;
	attr->hard_limit = qp->srq != NULL ? atomic_load(&qp->rx.member.hard) : UINT32_MAX;
	vsw_lock(&qp->lock);
	attr->terminate_sent = qp->end.terminate_sent;
	attr->terminate_len = qp->end.terminate_len;
	memcpy(attr->terminate, qp->end.terminate, qp->end.terminate_len);
	vsw_unlock(&qp->lock);
	return RI_SUCCESS;
}

/* Back to IDLE. Of the last connection only the copy of its Terminate may be left. */
static enum ri_status
qp_to_idle(struct viw_qp *qp)
{
	enum ri_qp_state state = viw_qp_state(qp);

	if (state == RI_QPS_ERROR && !qp_is_quiescent(qp))
		return RI_ERR_STILL_FLUSHING;
	vsw_lock(&qp->lock);
	bool ok = viw_qp_step(&qp->state, VIW_MOVE_TO_IDLE);
	vsw_unlock(&qp->lock);
	if (!ok)
		return RI_ERR_INVALID_STATE;
	if (state == RI_QPS_ERROR) {
		(void)vsw_mem_qp_windows(qp->rnic->mem, qp->who.qpn, true);
		qp->reads.ird = qp->init.ird;
		qp->reads.ord = qp->init.ord;
	}
	return RI_SUCCESS;
}

static enum ri_status
qp_modify_state(struct viw_qp *qp, uint32_t state)
{
	switch (state) {
	case RI_QPS_IDLE:
		return qp_to_idle(qp);
	case RI_QPS_CLOSING:
		return viw_end_by_caller(qp, VIW_MOVE_TO_CLOSING, RI_EVENT_QP_LLP_CLOSE_COMPLETE,
					 0);
	case RI_QPS_TERMINATE:
		return viw_end_by_caller(qp, VIW_MOVE_TO_TERMINATE, RI_EVENT_QP_LLP_CLOSE_COMPLETE,
					 0);
	case RI_QPS_ERROR:
		return viw_end_by_caller(qp, VIW_MOVE_TO_ERROR, RI_EVENT_QP_LLP_RESET, 0);
	default:
		return RI_ERR_INVALID_STATE;
	}
}

static void
role_release(struct viw_qp *qp, struct vsw_role *role)
{
	atomic_store(&role->taken, 0);
	if (atomic_load(&role->retry))
		viw_serve_soon(qp);
}

static enum ri_status
qp_modify(struct ri_qp *ri, const struct ri_qp_attr *attr, uint32_t mask)
{
	const uint32_t known = RI_QP_ATTR_STATE | RI_QP_ATTR_ACCESS | RI_QP_ATTR_IRD |
			       RI_QP_ATTR_ORD | RI_QP_ATTR_SOFT | RI_QP_ATTR_HARD | RI_QP_ATTR_QKEY;
	const uint32_t limits = RI_QP_ATTR_SOFT | RI_QP_ATTR_HARD;
	struct viw_qp *qp = (struct viw_qp *)ri;
	enum ri_status status = RI_SUCCESS;

	if ((mask & ~known) || ((mask & limits) && qp->srq == NULL))
		return RI_ERR_INVALID_ARG;
	if (mask & RI_QP_ATTR_QKEY)
		return RI_ERR_UNSUPPORTED;
	if (((mask & RI_QP_ATTR_IRD) && attr->ird > VIW_MAX_DEPTH) ||
	    ((mask & RI_QP_ATTR_ORD) && attr->ord > VIW_MAX_DEPTH))
		return RI_ERR_LIMIT;
	if ((mask & (RI_QP_ATTR_IRD | RI_QP_ATTR_ORD)) != 0) {
		/* Places for as many Reads as the attributes ask for: the only step of a change that can lack memory. */
		role_acquire(qp, &qp->rx.role);
		role_acquire(qp, &qp->tx.role);
		status = viw_reads_grow(&qp->reads, mask & RI_QP_ATTR_IRD ? attr->ird : 0,
					mask & RI_QP_ATTR_ORD ? attr->ord : 0);
		role_release(qp, &qp->tx.role);
		role_release(qp, &qp->rx.role);
	}
	if (status == RI_SUCCESS && (mask & RI_QP_ATTR_STATE))
		status = qp_modify_state(qp, attr->state);
	if (status != RI_SUCCESS)
		return status;
	if ((mask & (RI_QP_ATTR_ACCESS | RI_QP_ATTR_IRD | RI_QP_ATTR_ORD)) != 0) {
		/* The engine reads these in every round; with both roles taken no round runs meanwhile. */
		role_acquire(qp, &qp->rx.role);
		role_acquire(qp, &qp->tx.role);
		if (mask & RI_QP_ATTR_IRD)
			qp->reads.ird = qp->init.ird = attr->ird;
		if (mask & RI_QP_ATTR_ORD)
			qp->reads.ord = qp->init.ord = attr->ord;
		if (mask & RI_QP_ATTR_ACCESS)
			qp->init.access = attr->access;
		qp->rx.in.reads_enabled =
			(qp->init.access & (RI_ACCESS_REMOTE_READ | RI_ACCESS_REMOTE_ATOMIC)) != 0;
		atomic_store(&qp->tx.role.retry, 1); /* a Read may have waited for a place */
		role_release(qp, &qp->tx.role);
		role_release(qp, &qp->rx.role);
	}
	if (mask & limits) {
		vsw_srq_limits(&qp->rx.member, attr, mask);
		atomic_store(&qp->rx.limits_new, true);
		viw_serve_soon(qp);
	}
	return RI_SUCCESS;
}

/* Room for as many started requests as the send queue has slots. The caller owns tx.role. */
static enum ri_status
sent_grow(struct viw_qp *qp, uint32_t slots)
{
	struct viw_tx *tx = &qp->tx;
	struct viw_sent *sent;
	uint32_t room = tx->sent_mask + 1;

	while (room < slots)
		room <<= 1;
	if (room == tx->sent_mask + 1)
		return RI_SUCCESS;
	sent = calloc(room, sizeof(*sent));
	if (sent == NULL)
		return RI_ERR_RESOURCES;
	for (uint32_t i = tx->sent_tail; i != tx->sent_head; i++)
		sent[i & (room - 1)] = tx->sent[i & tx->sent_mask];
	free(tx->sent);
	tx->sent = sent;
	tx->sent_mask = room - 1;
	return RI_SUCCESS;
}

/* More slots or segments; both roles are taken while the rings are exchanged. */
static enum ri_status
qp_resize(struct ri_qp *ri, struct ri_qp_attr *attr, struct ri_map *map)
{
	struct viw_qp *qp = (struct viw_qp *)ri;
	uint32_t send = vsw_larger(attr->max_send_sge, qp->init.max_send_sge);
	uint32_t write = vsw_larger(attr->max_write_sge, qp->init.max_write_sge);
	uint32_t recv = vsw_larger(attr->max_recv_sge, qp->init.max_recv_sge);
	enum ri_status status;

	if (attr->max_sq_wr > VIW_MAX_WR || (qp->srq == NULL && attr->max_rq_wr > VIW_MAX_WR) ||
	    attr->max_send_sge > VIW_MAX_SGE || attr->max_recv_sge > VIW_MAX_SGE ||
	    attr->max_write_sge > VIW_MAX_SGE || attr->max_read_sge > VIW_MAX_READ)
		return RI_ERR_LIMIT;
	role_acquire(qp, &qp->rx.role);
	role_acquire(qp, &qp->tx.role);
	status = sent_grow(qp, attr->max_sq_wr);
	/* Room for the copies of requests with that many segments. */
	if (status == RI_SUCCESS &&
	    !(wqe_grow(&qp->tx.wqe, vsw_larger(VIW_MAX_READ, vsw_larger(send, write)),
		       qp->init.max_inline) &&
	      (qp->srq != NULL || wqe_grow(&qp->rx.wqe, recv, 0))))
		status = RI_ERR_RESOURCES;
	if (status == RI_SUCCESS)
		status = vsw_wq_reshape_both(&qp->tx.sq, &qp->rx.rq, &qp->init, attr);
	if (status == RI_SUCCESS)
		vsw_map_qp_again(map, &qp->tx.sq, &qp->rx.rq);
	role_release(qp, &qp->tx.role);
	role_release(qp, &qp->rx.role);
	viw_serve_soon(qp);
	return status;
}

const struct ri_qp_ops viw_qp_ops = {
	.size = sizeof(struct ri_qp_ops),
	.create = qp_create,
	.modify = qp_modify,
	.query = qp_query,
	.destroy = qp_destroy,
	.resize = qp_resize,
};
