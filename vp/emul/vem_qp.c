/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Queue pairs: the control verbs that create, modify, query and destroy them. States are in vem_qp_move.c and
 * vem_qp_steps.c, data in vem_engine.c and vem_execute.c.
 *
 * Destruction first stops all that can reach the queue pair: attempts to connect, task and timers, the peer,
 * the owners of the roles. Then it frees the queues. It may wait for a copy that is under way, but never for
 * an action of the peer's application.
 */
#include <stdlib.h>
#include <string.h>

#include "vem_peer.h"
#include "vem_remote.h"
#include "vem_tap.h"
#include "vem_ud.h"
#include "vem_wire.h"
#include "vsw_relax.h"

/* --- creation ----------------------------------------------------------------------------- */

static enum ri_status
qp_init_check(const struct vsw_pd *pd, const struct ri_qp_init *init,
	      const struct vsw_srq_object *srq)
{
	struct ri_rnic_attr attr = {.size = sizeof(attr)};

	vem_profile(vem_context_of(pd)->rnic->fabric, &attr);
	switch (init->type) {
	case RI_QP_RC:
		break;
	case RI_QP_UC:
		if (!attr.uc)
			return RI_ERR_UNSUPPORTED;
		break;
	case RI_QP_UD:
		if (!attr.ud || srq != NULL)
			return RI_ERR_UNSUPPORTED;
		break;
	case RI_QP_NUMBER:
		if (!attr.cm_number || srq != NULL)
			return RI_ERR_UNSUPPORTED;
		break;
	default:
		return RI_ERR_UNSUPPORTED;
	}
	if (srq != NULL && init->soft_limit != 0 && !attr.rq_soft_limit)
		return RI_ERR_UNSUPPORTED;
	if (init->type == RI_QP_NUMBER && init->qkey > 0xffffff)
		return RI_ERR_INVALID_ARG;
	if (init->type == RI_QP_UD && init->port != 0)
		return RI_ERR_INVALID_ARG;
	if ((init->qkey & VEM_KEY_CONTROLLED) != 0 && !pd->context->owner.privileged)
		return RI_ERR_PERMISSION;
	if (init->privileged && !pd->context->owner.privileged)
		return RI_ERR_PERMISSION;
	if (init->max_sq_wr > attr.max_sq_wr || (srq == NULL && init->max_rq_wr > attr.max_rq_wr) ||
	    init->max_send_sge > attr.max_send_sge || init->max_recv_sge > attr.max_recv_sge ||
	    init->max_write_sge > attr.max_write_sge || init->max_read_sge > attr.max_read_sge ||
	    init->ird > attr.max_ird || init->ord > attr.max_ord ||
	    init->max_inline > attr.max_inline)
		return RI_ERR_LIMIT;
	return RI_SUCCESS;
}

static struct vsw_wqe *
wqe_room(uint32_t sges, uint32_t octets)
{
	return calloc(1, sizeof(struct vsw_wqe) + vsw_wqe_tail(sges, octets));
}

static void
queues_free(struct vem_qp *qp)
{
	vsw_wq_destroy(&qp->sq);
	vsw_wq_destroy(&qp->in.rq);
	free(qp->tx_wqe);
	free(qp->in.wqe);
	vem_wire_free(qp);
	vem_tap_free(qp);
	free(qp);
}

/* A number has queues that are always full, so it is flushed, and ends, as others do. */
static enum ri_status
no_queues_create(struct vem_qp *qp)
{
	uint32_t none = 0;
	enum ri_status status = vsw_wq_create(&qp->sq, &none, 0, 0);

	if (status == RI_SUCCESS)
		status = vsw_rq_create(&qp->in.rq, &none, 0);
	qp->tx_wqe = wqe_room(0, 0);
	qp->in.wqe = wqe_room(0, 0);
	if (status == RI_SUCCESS && (qp->tx_wqe == NULL || qp->in.wqe == NULL))
		status = RI_ERR_RESOURCES;
	return status;
}

static enum ri_status
queues_create(struct vem_qp *qp, struct ri_qp_init *init)
{
	uint32_t sges =
		vsw_larger(init->max_send_sge, vsw_larger(init->max_write_sge, init->max_read_sge));
	if (init->privileged)
		sges = VEM_MAX_PBL;
	enum ri_status status = vsw_wq_create(&qp->sq, &init->max_sq_wr, sges, init->max_inline);

	if (qp->srq != NULL)
		init->max_rq_wr = 0;
	if (status == RI_SUCCESS)
		status = vsw_rq_create(&qp->in.rq, &init->max_rq_wr,
				       qp->srq != NULL ? 0 : init->max_recv_sge);
	qp->tx_wqe =
		wqe_room(vsw_larger(sges, VEM_MAX_SGE), init->max_inline); /* limits may grow */
	qp->in.wqe = wqe_room(VEM_MAX_SGE, 0);
	if (status == RI_SUCCESS && (qp->tx_wqe == NULL || qp->in.wqe == NULL))
		status = RI_ERR_RESOURCES;
	return status;
}

/* 0 and 1 are special on InfiniBand, and the last one is that of multicast groups. Called with the fabric's lock. */
static bool
number_is_free(struct vem_fabric *fabric, uint32_t qpn)
{
	const struct vsw_item *row = &fabric->numbered[qpn % VEM_UD_ROWS];

	for (struct vsw_item *i = row->next; i != row; i = i->next)
		if (vsw_of(i, struct vem_qp, number_item)->in.who.qpn == qpn)
			return false;
	return qpn >= 2 && qpn != VEM_QPN_GROUP;
}

/* Between processes each has a block of the numbers. */
static uint32_t
number_next(const struct vem_fabric *fabric)
{
	uint32_t next = fabric->last_qpn + 1;

	if (fabric->shm != NULL)
		return fabric->shm->block << VEM_BLOCK_BITS | (next & (VEM_BLOCK_QPS - 1));
	return next & 0xffffff;
}

static void
qp_fill(struct vem_qp *qp, struct vsw_pd *pd, const struct ri_qp_init *init)
{
	struct vem_fabric *fabric = qp->rnic->fabric;

	qp->count = &qp->unread;
	qp->pd = pd;
	qp->in.ctx = init->ctx;
	qp->init = *init;
	atomic_store(&qp->state, RI_QPS_IDLE);
	atomic_store(&qp->in.access, init->access);
	atomic_store(&qp->in.ird, init->ird);
	atomic_store(&qp->ord, init->ord);
	atomic_store(&qp->qkey, init->qkey);
	qp->ud = init->type == RI_QP_UD;
	vsw_list_begin(&qp->groups);
	pthread_mutex_lock(&fabric->lock);
	do
		fabric->last_qpn = number_next(fabric);
	while (!number_is_free(fabric, fabric->last_qpn));
	qp->in.who = (struct vsw_mem_who){
		.pd = pd, .qpn = fabric->last_qpn, .privileged = init->privileged};
	vsw_list_add(&fabric->numbered[qp->in.who.qpn % VEM_UD_ROWS], &qp->number_item);
	pthread_mutex_unlock(&fabric->lock);
	qp->in.receiver = qp->in.who;
	qp->in.ops = &vem_responder_ops;
	qp->in.mem = qp->rnic->mem;
	qp->in.cq = qp->recv_cq != NULL ? &qp->recv_cq->cq : NULL;
	qp->in.unreliable = init->type == RI_QP_UC;
	if (qp->srq != NULL)
		qp->in.receiver = (struct vsw_mem_who){.pd = qp->srq->pd, .qpn = qp->in.who.qpn};
	qp->task = (struct ri_task){.fire = vem_qp_task, .arg = qp};
	qp->rnr_timer = (struct ri_timer){.fire = vem_rnr_fire, .arg = qp};
	qp->cm_timer = (struct ri_timer){.fire = vem_cm_timeout, .arg = qp};
	qp->lost_timer = (struct ri_timer){.fire = vem_peer_lost_fire, .arg = qp};
	qp->wait_timer = (struct ri_timer){.fire = vem_cm_waited, .arg = qp};
}

static void
qp_enlist(struct vem_qp *qp)
{
	struct ri_context *context = vem_context_of(qp->pd);

	atomic_fetch_add(&qp->pd->users, 1);
	if (qp->send_cq != NULL) {
		atomic_fetch_add(&qp->send_cq->cq.users, 1);
		atomic_fetch_add(&qp->recv_cq->cq.users, 1);
	}
	if (qp->srq != NULL)
		vsw_srq_join(&qp->srq->srq, &qp->in.member, &qp->in.rq, &qp->init);
	vsw_context_add(&context->base, &context->qps, &qp->item);
	if (!qp->ud)
		return;
	vem_ud_begin(qp);
	vem_ud_enter(qp);
}

static enum ri_status
qp_create(struct ri_pd *ri, struct ri_qp_init *init, struct ri_cq *send_cq, struct ri_cq *recv_cq,
	  struct ri_srq *ri_srq, struct ri_qp **out, struct ri_map *map)
{
	struct vsw_pd *pd = (struct vsw_pd *)ri;
	struct vsw_srq_object *srq = (struct vsw_srq_object *)ri_srq;
	struct ri_rnic *rnic = vem_context_of(pd)->rnic;
	struct ri_qp_init real = *init;
	enum ri_status status = qp_init_check(pd, init, srq);
	void *pages = NULL;

	if (status != RI_SUCCESS)
		return status;
	if (posix_memalign(&pages, VSW_CACHE_LINE, sizeof(struct vem_qp)) != 0)
		return RI_ERR_RESOURCES;

	struct vem_qp *qp = memset(pages, 0, sizeof(*qp));
	qp->srq = srq;
	bool room = atomic_fetch_add(&rnic->qps, 1) <
		    (rnic->fabric->between ? VEM_BLOCK_QPS / 2 : VEM_MAX_OBJECTS);
	bool number = init->type == RI_QP_NUMBER;
	status = !room    ? RI_ERR_RESOURCES
		 : number ? no_queues_create(qp)
			  : queues_create(qp, &real);
	qp->rnic = rnic;
	if (status == RI_SUCCESS && !number && init->type != RI_QP_UD && !vem_wire_create(qp))
		status = RI_ERR_RESOURCES;
	if (status == RI_SUCCESS && !number && !vem_tap_create(qp))
		status = RI_ERR_RESOURCES;
	if (status != RI_SUCCESS) {
		atomic_fetch_sub(&rnic->qps, 1);
		queues_free(qp);
		return status;
	}
	qp->send_cq = number ? NULL : (struct vsw_cq_object *)send_cq;
	qp->recv_cq = number ? NULL : (struct vsw_cq_object *)recv_cq;
	qp_fill(qp, pd, &real);
	qp_enlist(qp);
	if (number)
		*map = (struct ri_map){.fd = -1}; /* it has no user half */
	else
		vsw_map_qp(map, &qp->sq, &qp->in.rq, qp, &real);
	*init = real;
	*out = (struct ri_qp *)qp;
	return RI_SUCCESS;
}

/* --- modification ------------------------------------------------------------------------- */

/* Take both roles, so that no run is under way; a run lasts no longer than the requests it finds. */
static void
roles_take(struct vem_qp *qp)
{
	vsw_role_enter(&qp->tx, qp->rnic->host);
	vsw_role_enter(&qp->in.role, qp->rnic->host);
}

static void
roles_drop(struct vem_qp *qp)
{
	while (vsw_role_drop(&qp->in.role))
		vsw_role_begin(&qp->in.role);
	while (vsw_role_drop(&qp->tx))
		vsw_role_begin(&qp->tx);
}

/* Reset all but the queues. The caller owns both roles; the state is ERROR and the end events were raised. */
static void
qp_renew(struct vem_qp *qp)
{
	vem_qp_move(qp, VEM_MOVE_TO_IDLE, NULL); /* before the wait, see vem_peer_sq_run */
	for (unsigned round = 0; !qp->ud && atomic_load(&qp->inside) != 0; round++)
		vsw_relax(qp->rnic->host, round);
	vem_peer_part(qp);
	vem_pair_leave(qp);
	vem_remote_leave(qp);
	/* No peer sends a message any more. The task may still have one in hand, which must not end the next connection. */
	qp->rnic->host->task_stop(qp->rnic->host->self, &qp->task);
	vsw_wq_forget(&qp->sq);
	atomic_store(&qp->open, false);
	atomic_store(&qp->by_peer, false);
	atomic_store(&qp->lost_until, 0);
	atomic_store(&qp->tries_until, 0);
	atomic_store(&qp->rnr_until, 0);
	atomic_store(&qp->in.awaited, 0);
	atomic_store(&qp->tx_target_have, false);
	atomic_store(&qp->ud_waits, false);
	qp->tx_member = qp->tx_last = 0;
	qp->tx_around.slot = 0;
	atomic_store(&qp->tx_flushed, false);
	atomic_store(&qp->rx_flushed, false);
	vsw_lock(&qp->lock);
	qp->ended = false;
	qp->told = false;
	qp->peer_told = false;
	qp->messages = 0;
	vem_wire_reset(qp);
	qp->terminate_len = 0;
	qp->terminate_sent = false;
	vsw_unlock(&qp->lock);
	qp->passive = false;
	qp->replied = false;
	qp->waited = false;
	atomic_store(&qp->time_wait_until, 0);
	atomic_store(&qp->in.ird, qp->init.ird);
	atomic_store(&qp->ord, qp->init.ord);
	if (qp->ud)
		vem_ud_begin(qp);
}

/* Is it in its time-wait? */
static bool
in_time_wait(struct vem_qp *qp)
{
	const struct ri_host *host = qp->rnic->host;

	return host->now(host->self) < atomic_load(&qp->time_wait_until);
}

/*
 * Were the end events raised? A thread that was woken by such an event may call this before the
 * upcall has returned; so this waits a moment for the upcall.
 */
static bool
end_is_raised(struct vem_qp *qp)
{
	bool over = false, telling = true;

	for (unsigned round = 0; !over && telling && round < 1000; round++) {
		if (round > 0)
			vsw_relax(qp->rnic->host, round);
		vsw_lock(&qp->lock);
		over = !qp->ended || qp->told;
		telling = qp->telling;
		vsw_unlock(&qp->lock);
	}
	return over;
}

/* ERROR to IDLE. `anew`: as if it were another queue pair, so time-wait does not count. */
static enum ri_status
qp_reset(struct vem_qp *qp, bool anew)
{
	if (atomic_load(&qp->state) == (qp->ud ? RI_QPS_RTS : RI_QPS_IDLE))
		return RI_SUCCESS;
	if (atomic_load(&qp->state) != RI_QPS_ERROR)
		return RI_ERR_INVALID_STATE;

	if (!end_is_raised(qp) || !atomic_load(&qp->tx_flushed) || !atomic_load(&qp->rx_flushed))
		return RI_ERR_STILL_FLUSHING;
	if (!anew && in_time_wait(qp))
		return RI_ERR_TIME_WAIT;

	qp->rnic->host->timer_stop(qp->rnic->host->self, &qp->cm_timer); /* of this life */
	qp->rnic->host->timer_stop(qp->rnic->host->self, &qp->wait_timer);
	roles_take(qp);
	bool quiescent = vsw_wq_pending(&qp->sq) == 0 && vsw_wq_pending(&qp->in.rq) == 0;
	if (quiescent)
		qp_renew(qp);
	roles_drop(qp);
	/* The task flushes what is left, or sends the datagrams that were posted meanwhile, or reports limits. */
	if (qp->ud)
		atomic_store(&qp->recheck, true);
	qp->rnic->host->task_run(qp->rnic->host->self, &qp->task);
	return quiescent ? RI_SUCCESS : RI_ERR_STILL_FLUSHING;
}

static enum ri_status
qp_to_state(struct vem_qp *qp, uint32_t state, bool anew)
{
	bool trying = atomic_load(&qp->state) == RI_QPS_CONNECTING;
	bool by_peer = atomic_load(&qp->by_peer); /* it ends without a word to the peer */
	struct vem_cause abort = {.kind = trying ? RI_CM_FAILED : RI_CM_BROKEN,
				  .message = VEM_MSG_LOST};
	struct vem_cause close = {.kind = RI_CM_DISCONNECTED, .message = VEM_MSG_CLOSE};
	struct vem_cause fault = {.kind = RI_CM_BROKEN, .message = VEM_MSG_TERMINATE};
	bool moved = false;

	switch (state) {
	case RI_QPS_IDLE:
		return qp_reset(qp, anew);
	case RI_QPS_ERROR:
		if (by_peer)
			abort.kind = RI_CM_NONE;
		moved = vem_qp_move(qp, VEM_MOVE_TO_ERROR, &abort);
		break;
	case RI_QPS_CLOSING:
		moved = !by_peer && vem_qp_move(qp, VEM_MOVE_TO_CLOSING, &close);
		break;
	case RI_QPS_TERMINATE:
		moved = vem_qp_move(qp, VEM_MOVE_TO_TERMINATE, &fault);
		break;
	default:
		break;
	}
	return moved ? RI_SUCCESS : RI_ERR_INVALID_STATE;
}

/* Check all attributes before any is changed. */
static enum ri_status
qp_modify_check(const struct vem_qp *qp, const struct ri_qp_attr *attr, uint32_t mask)
{
	const uint32_t known = RI_QP_ATTR_STATE | RI_QP_ATTR_ACCESS | RI_QP_ATTR_IRD |
			       RI_QP_ATTR_ORD | RI_QP_ATTR_SOFT | RI_QP_ATTR_HARD | RI_QP_ATTR_QKEY;
	struct ri_rnic_attr can = {.size = sizeof(can)};

	if ((mask & ~known) != 0)
		return RI_ERR_INVALID_ARG;
	vem_profile(qp->rnic->fabric, &can);
	if ((mask & RI_QP_ATTR_QKEY) != 0 && !qp->ud)
		return RI_ERR_UNSUPPORTED;
	if ((mask & RI_QP_ATTR_QKEY) != 0 && (attr->qkey & VEM_KEY_CONTROLLED) != 0 &&
	    !qp->pd->context->owner.privileged)
		return RI_ERR_PERMISSION;
	if ((mask & (RI_QP_ATTR_SOFT | RI_QP_ATTR_HARD)) != 0 && qp->srq == NULL)
		return RI_ERR_INVALID_ARG;
	if ((mask & RI_QP_ATTR_SOFT) != 0 && !can.rq_soft_limit)
		return RI_ERR_UNSUPPORTED;
	if ((mask & RI_QP_ATTR_ACCESS) != 0 && !can.enables_modifiable &&
	    attr->access != atomic_load(&qp->in.access))
		return RI_ERR_UNSUPPORTED;
	if ((mask & RI_QP_ATTR_ORD) != 0 && attr->ord > can.max_ord)
		return RI_ERR_LIMIT;
	if ((mask & RI_QP_ATTR_IRD) != 0 && attr->ird > can.max_ird)
		return RI_ERR_LIMIT;
	return RI_SUCCESS;
}

static enum ri_status
qp_modify(struct ri_qp *ri, const struct ri_qp_attr *attr, uint32_t mask)
{
	struct vem_qp *qp = (struct vem_qp *)ri;
	enum ri_status status = qp_modify_check(qp, attr, mask);

	if (status == RI_SUCCESS && (mask & RI_QP_ATTR_STATE) != 0)
		status = qp_to_state(qp, attr->state, attr->skip_time_wait);
	if (status != RI_SUCCESS)
		return status;
	if ((mask & RI_QP_ATTR_ACCESS) != 0)
		atomic_store(&qp->in.access, attr->access);
	if ((mask & RI_QP_ATTR_ORD) != 0)
		atomic_store(&qp->ord, qp->init.ord = attr->ord);
	if ((mask & RI_QP_ATTR_IRD) != 0)
		atomic_store(&qp->in.ird, qp->init.ird = attr->ird);
	if ((mask & RI_QP_ATTR_QKEY) != 0)
		atomic_store(&qp->qkey, attr->qkey);
	if ((mask & (RI_QP_ATTR_SOFT | RI_QP_ATTR_HARD)) != 0) {
		vsw_srq_limits(&qp->in.member, attr, mask);
		atomic_store(&qp->limits_new, true);
		qp->rnic->host->task_run(qp->rnic->host->self, &qp->task);
	}
	return RI_SUCCESS;
}

/* More slots or segments; both roles are taken while the rings are exchanged. */
static enum ri_status
qp_resize(struct ri_qp *ri, struct ri_qp_attr *attr, struct ri_map *map)
{
	struct vem_qp *qp = (struct vem_qp *)ri;
	struct ri_qp_init wanted = {
		.type = qp->init.type,
		.max_sq_wr = attr->max_sq_wr,
		.max_rq_wr = attr->max_rq_wr,
		.max_send_sge = attr->max_send_sge,
		.max_recv_sge = attr->max_recv_sge,
		.max_write_sge = attr->max_write_sge,
		.max_read_sge = attr->max_read_sge,
	};
	enum ri_status status = qp_init_check(qp->pd, &wanted, qp->srq);

	if (qp->init.type == RI_QP_NUMBER)
		status = RI_ERR_UNSUPPORTED;
	if (status != RI_SUCCESS)
		return status;
	roles_take(qp);
	status = vsw_wq_reshape_both(&qp->sq, &qp->in.rq, &qp->init, attr);
	if (status == RI_SUCCESS)
		vsw_map_qp_again(map, &qp->sq, &qp->in.rq);
	roles_drop(qp);
	/* A thread that found a role taken relies on its owner. */
	vem_run_soon(qp);
	return status;
}

/* --- query -------------------------------------------------------------------------------- */

static bool
queue_is_quiescent(const struct vsw_wq *wq)
{
	return atomic_load(&wq->page->head) == atomic_load(&wq->page->taken);
}

static enum ri_status
qp_query(struct ri_qp *ri, struct ri_qp_attr *attr)
{
	struct vem_qp *qp = (struct vem_qp *)ri;
	memset(attr, 0, sizeof(*attr));
	attr->state = atomic_load(&qp->state);
	attr->qpn = vem_qp_number(qp);
	attr->access = atomic_load(&qp->in.access);
	attr->ird = atomic_load(&qp->in.ird);
	attr->ord = atomic_load(&qp->ord);
	attr->max_sq_wr = qp->init.max_sq_wr;
	attr->max_rq_wr = qp->init.max_rq_wr;
	attr->max_send_sge = qp->init.max_send_sge;
	attr->max_recv_sge = qp->init.max_recv_sge;
	attr->max_write_sge = qp->init.max_write_sge;
	attr->max_read_sge = qp->init.max_read_sge;
	attr->soft_limit = qp->srq != NULL ? atomic_load(&qp->in.member.soft) : 0;
	attr->hard_limit = qp->srq != NULL ? atomic_load(&qp->in.member.hard) : UINT32_MAX;
	attr->quiescent = queue_is_quiescent(&qp->sq) && queue_is_quiescent(&qp->in.rq) &&
			  atomic_load(&qp->tx.taken) == 0 && atomic_load(&qp->in.role.taken) == 0 &&
			  atomic_load(&qp->rnr_until) <= VEM_RNR_LATE &&
			  atomic_load(&qp->lost_until) <= VEM_RNR_LATE &&
			  !atomic_load(&qp->in.have);
	attr->qkey = atomic_load(&qp->qkey);
	vsw_lock(&qp->lock);
	attr->terminate_sent = qp->terminate_sent;
	attr->terminate_len = qp->terminate_len;
	memcpy(attr->terminate, qp->terminate, qp->terminate_len);
	vsw_unlock(&qp->lock);
	return RI_SUCCESS;
}

/* --- destruction -------------------------------------------------------------------------- */

static void
qp_stop_callbacks(struct vem_qp *qp)
{
	const struct ri_host *host = qp->rnic->host;

	host->task_stop(host->self, &qp->task);
	host->timer_stop(host->self, &qp->rnr_timer);
	host->timer_stop(host->self, &qp->lost_timer);
	host->timer_stop(host->self, &qp->cm_timer);
	host->timer_stop(host->self, &qp->wait_timer);
	vem_wire_stop(qp);
}

void
vem_qp_destroy(struct vem_qp *qp)
{
	struct vem_cause abort = {.kind = RI_CM_NONE, .message = VEM_MSG_LOST};

	if (qp->ud)
		vem_remote_ud_linger(qp);
	/* From here on vem_fault.c does not find it. */
	vsw_context_remove(qp->pd->context, &qp->item);
	if (qp->ud)
		vem_ud_leave(qp); /* no sender finds it any more */
	roles_take(qp);           /* for good: what is posted gets no completion */
	vem_qp_move(qp, VEM_MOVE_TO_ERROR, &abort);
	qp_stop_callbacks(qp); /* it sends no connection request any more */
	vem_cm_withdraw(qp);   /* its connection request can no longer be accepted */
	vsw_lock(&qp->lock);
	qp->peer_told = true; /* from here on only this thread uses the pair */
	vsw_unlock(&qp->lock);
	qp_stop_callbacks(qp); /* a message that came first may have started the task again */
	for (unsigned round = 0; atomic_load(&qp->inside) != 0; round++)
		vsw_relax(qp->rnic->host, round); /* threads that wake it because of its SRQ */
	vem_peer_part(qp);
	if (qp->pair != NULL) {
		struct vem_qp *peer = atomic_load(&qp->by_peer) ? NULL : vem_peer_get(qp);
		if (peer != NULL) {
			vem_wire_message(qp->rnic, peer, VEM_MSG_LOST, 0, NULL);
			vem_peer_put(qp);
		}
		vem_pair_leave(qp);
	}
	if (atomic_load(&qp->remote) != NULL && !atomic_load(&qp->by_peer))
		vem_remote_message(atomic_load(&qp->remote), VEM_MSG_LOST, 0, NULL);
	vem_remote_leave(qp);
	vsw_srq_part(&qp->in.member);
	qp_stop_callbacks(qp); /* a thread that was `inside` may have started them again */
	vsw_mem_qp_windows(qp->rnic->mem, qp->in.who.qpn, true);
	pthread_mutex_lock(&qp->rnic->fabric->lock);
	vsw_list_remove(&qp->number_item); /* nothing knows the number any more */
	pthread_mutex_unlock(&qp->rnic->fabric->lock);
	if (qp->send_cq != NULL) {
		atomic_fetch_sub(&qp->send_cq->cq.users, 1);
		atomic_fetch_sub(&qp->recv_cq->cq.users, 1);
	}
	atomic_fetch_sub(&qp->pd->users, 1);
	atomic_fetch_sub(&qp->rnic->qps, 1);
	queues_free(qp);
}

static enum ri_status
qp_destroy(struct ri_qp *ri)
{
	struct vem_qp *qp = (struct vem_qp *)ri;
	if (vsw_mem_qp_windows(qp->rnic->mem, qp->in.who.qpn, false) != 0)
		return RI_ERR_BUSY;
	vem_qp_destroy(qp);
	return RI_SUCCESS;
}

const struct ri_qp_ops vem_qp_ops = {
	.size = sizeof(struct ri_qp_ops),
	.create = qp_create,
	.modify = qp_modify,
	.query = qp_query,
	.destroy = qp_destroy,
	.resize = qp_resize,
	.mcast_attach = vem_mcast_attach,
	.mcast_detach = vem_mcast_detach,
};
