/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Queue pairs: create, destroy, and find them by their numbers. */
#include "door_qp.h"

#include <errno.h>
#include <stdlib.h>

#include <glib.h>

#include "door_cm.h"
#include "door_export.h"
#include "door_post.h"
#include "door_status.h"
#include "door_wr.h"
#include "session_cancel.h"

#define RD_ATOMIC_MAX   128 /* outstanding Reads and atomics, as the device's attributes tell */
#define BUSY_ROUNDS     1000
#define QKEY_CONTROLLED 0x80000000u

/* --- the table of numbers ---------------------------------------------------------------------------- */

static struct door_qp **
row_of(struct door_adapter *adapter, uint32_t qpn)
{
	return &adapter->numbered[qpn % DOOR_QP_ROWS];
}

struct door_qp *
door_qp_numbered(struct door_adapter *adapter, uint32_t qpn)
{
	struct door_qp *qp = *row_of(adapter, qpn);

	while (qp != NULL && qp->qp.qp_num != qpn)
		qp = qp->next_numbered;
	return qp;
}

/* The number is known: completions and look-ups find it from now on. */
static void
number_enter(struct door_qp *qp)
{
	struct door_slots *slots = &qp->adapter->slots;
	struct door_qp **row = row_of(qp->adapter, qp->qp.qp_num);

	pthread_mutex_lock(&slots->lock);
	atomic_store(&door_slot_of(slots, qp->ctx)->number, qp->qp.qp_num);
	qp->next_numbered = *row;
	*row = qp;
	pthread_mutex_unlock(&slots->lock);
}

static void
number_leave(struct door_qp *qp)
{
	struct door_qp **link = row_of(qp->adapter, qp->qp.qp_num);

	pthread_mutex_lock(&qp->adapter->slots.lock);
	while (*link != qp)
		link = &(*link)->next_numbered;
	*link = qp->next_numbered;
	pthread_mutex_unlock(&qp->adapter->slots.lock);
}

/* --- create ------------------------------------------------------------------------------------------- */

/* 0, or the errno for attributes that no queue pair of ours can have. */
static int
init_check(const struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr)
{
	const uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS |
			       IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;

	if ((attr->comp_mask & ~known) != 0)
		return EOPNOTSUPP;
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0 && attr->create_flags != 0)
		return EOPNOTSUPP;
	if (attr->qp_type != IBV_QPT_RC && attr->qp_type != IBV_QPT_UC &&
	    attr->qp_type != IBV_QPT_UD)
		return EOPNOTSUPP;
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_PD) == 0 || attr->pd == NULL ||
	    attr->send_cq == NULL || attr->recv_cq == NULL)
		return EINVAL;
	if (attr->pd->context != context || attr->send_cq->context != context ||
	    attr->recv_cq->context != context ||
	    (attr->srq != NULL && attr->srq->context != context))
		return EINVAL;
	return 0;
}

uint32_t
door_qp_no_qkey(const struct door_adapter *adapter)
{
	uint32_t qkey = 0;

	adapter->session.host->random(adapter->session.host->self, &qkey, sizeof(qkey));
	return qkey & ~QKEY_CONTROLLED;
}

static uint32_t
type_of(enum ibv_qp_type type)
{
	return type == IBV_QPT_UD ? RI_QP_UD : type == IBV_QPT_UC ? RI_QP_UC : RI_QP_RC;
}

/*
 * The attributes of the provider's queue pair. Its sizes are those that the program asks for.
 * RNIC-PI fixes IRD and ORD at creation, but a program of verbs names them only when it connects;
 * so the queue pair gets the device's maximum. If access rights can change later, ibv_modify_qp
 * sets them. Otherwise the queue pair has all rights from the beginning; those of regions still
 * limit the peer.
 */
static struct ri_qp_init
init_of(const struct door_qp *qp, const struct ibv_qp_init_attr_ex *attr)
{
	const struct ri_rnic_attr *can = &qp->adapter->session.attr;
	uint32_t sge = MAX(attr->cap.max_send_sge, 1);
	struct ri_qp_init init = {.ctx = qp->ctx,
				  .type = type_of(attr->qp_type),
				  .max_sq_wr = attr->cap.max_send_wr,
				  .max_rq_wr = attr->srq == NULL ? attr->cap.max_recv_wr : 0,
				  .max_send_sge = sge,
				  .max_recv_sge = MAX(attr->cap.max_recv_sge, 1),
				  .max_write_sge = MIN(sge, can->max_write_sge),
				  .max_read_sge = MIN(sge, can->max_read_sge),
				  .access = RI_ACCESS_BIND,
				  .hard_limit = UINT32_MAX,
				  .max_inline = attr->cap.max_inline_data};

	if (attr->qp_type == IBV_QPT_RC) {
		init.ird = MIN(can->max_ird, RD_ATOMIC_MAX);
		init.ord = MIN(can->max_ord, RD_ATOMIC_MAX);
	}
	if (attr->qp_type == IBV_QPT_UD)
		init.qkey = door_qp_no_qkey(qp->adapter);
	if (!can->enables_modifiable)
		init.access |= RI_ACCESS_REMOTE_READ | RI_ACCESS_REMOTE_WRITE |
			       (can->atomics ? RI_ACCESS_REMOTE_ATOMIC : 0);
	return init;
}

static struct door_qp *
qp_new(struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr)
{
	struct door_qp *qp = (struct door_qp *)calloc(1, sizeof(*qp));

	if (qp == NULL)
		return NULL;
	qp->context = door_context_of(context);
	qp->adapter = qp->context->adapter;
	qp->pd = door_pd_of(attr->pd);
	qp->send_cq = door_cq_of(attr->send_cq);
	qp->recv_cq = door_cq_of(attr->recv_cq);
	qp->srq = attr->srq != NULL ? door_srq_of(attr->srq) : NULL;
	qp->fast = qp->adapter->session.fast;
	qp->post_sq = qp->fast->post_sq;
	qp->post_rq = qp->fast->post_rq;
	qp->ops = door_post_ops(attr->qp_type);
	qp->sig_all = attr->sq_sig_all != 0;
	qp->always = qp->sig_all ? RI_WR_SIGNALED : 0;
	qp->last_wqe_due = qp->srq != NULL && !qp->adapter->session.attr.last_wqe_event;
	qp->qp.context = context;
	qp->qp.qp_context = attr->qp_context;
	qp->qp.pd = attr->pd;
	qp->qp.send_cq = attr->send_cq;
	qp->qp.recv_cq = attr->recv_cq;
	qp->qp.srq = attr->srq;
	qp->qp.qp_type = attr->qp_type;
	qp->qp.state = IBV_QPS_RESET;
	atomic_init(&qp->state, door_qp_first_state(qp->adapter));
	pthread_mutex_init(&qp->qp.mutex, NULL);
	pthread_cond_init(&qp->qp.cond, NULL);
	pthread_mutex_init(&qp->control, NULL);
	pthread_mutex_init(&qp->post_lock, NULL);
	door_qp_events_init(qp);
	return qp;
}

static void
qp_free(struct door_qp *qp)
{
	door_wr_fini(qp);
	pthread_mutex_destroy(&qp->qp.mutex);
	pthread_cond_destroy(&qp->qp.cond);
	pthread_mutex_destroy(&qp->control);
	pthread_mutex_destroy(&qp->post_lock);
	free(qp);
}

/* The kAL's queue pair and its user half. 0 or an errno, and nothing is left. */
static int
queue_open(struct door_qp *qp, const struct ibv_qp_init_attr_ex *attr)
{
	struct session *session = &qp->adapter->session;
	const struct kal_qp_create_req req = {.pd = qp->pd->id,
					      .send_cq = qp->send_cq->id,
					      .recv_cq = qp->recv_cq->id,
					      .srq = qp->srq != NULL ? qp->srq->id : 0,
					      .init = init_of(qp, attr)};
	struct kal_qp_create_rep rep;
	int error = door_call(qp->adapter, KAL_QP_CREATE, &req, sizeof(req), &rep, sizeof(rep));

	if (error != 0)
		return error;
	error = door_errno(session->user->qp_open(
		session->urnic, &rep.map, qp->send_cq->queue, qp->recv_cq->queue,
		qp->srq != NULL ? qp->srq->queue : NULL, &qp->queue));
	if (error != 0) {
		(void)door_call_id(qp->adapter, KAL_QP_DESTROY, rep.id);
		return error;
	}
	qp->id = qp->qp.handle = rep.id;
	session_count_qp(session, rep.id, qp->queue);
	qp->qp.qp_num = rep.qpn;
	qp->max_send_sge = rep.init.max_send_sge;
	qp->max_recv_sge = rep.init.max_recv_sge;
	atomic_store(&qp->qkey, rep.init.qkey);
	qp->cap = (struct ibv_qp_cap){.max_send_wr = rep.init.max_sq_wr,
				      .max_recv_wr = rep.init.max_rq_wr,
				      .max_send_sge = rep.init.max_send_sge,
				      .max_recv_sge = rep.init.max_recv_sge,
				      .max_inline_data = rep.init.max_inline};
	return 0;
}

static void
count_parents(struct door_qp *qp, unsigned more)
{
	atomic_fetch_add(&qp->send_cq->users, more);
	atomic_fetch_add(&qp->recv_cq->users, more);
	atomic_fetch_add(&qp->pd->users, more);
	if (qp->srq != NULL)
		atomic_fetch_add(&qp->srq->users, more);
}

static int
qp_open(struct door_qp *qp, const struct ibv_qp_init_attr_ex *attr)
{
	struct door_slots *slots = &qp->adapter->slots;
	int error;

	qp->ctx = door_slot_enter(slots, DOOR_QP, qp);
	if (qp->ctx == 0)
		return ENOMEM;
	error = queue_open(qp, attr);
	if (error != 0)
		door_slot_leave(slots, qp->ctx);
	return error;
}

struct ibv_qp *
door_qp_create_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	struct door_qp *qp;
	int error = init_check(context, attr);
	SESSION_DEFER;

	if (error != 0) {
		errno = error;
		return NULL;
	}
	qp = qp_new(context, attr);
	if (qp == NULL)
		return NULL;
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0)
		error = door_wr_init(qp, attr->send_ops_flags);
	if (error == 0)
		error = qp_open(qp, attr);
	if (error != 0) {
		qp_free(qp);
		errno = error;
		return NULL;
	}
	number_enter(qp);
	count_parents(qp, 1);
	attr->cap = qp->cap;
	return &qp->qp;
}

EXPORT struct ibv_qp *
ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex whole = {.qp_context = attr->qp_context,
					    .send_cq = attr->send_cq,
					    .recv_cq = attr->recv_cq,
					    .srq = attr->srq,
					    .cap = attr->cap,
					    .qp_type = attr->qp_type,
					    .sq_sig_all = attr->sq_sig_all,
					    .comp_mask = IBV_QP_INIT_ATTR_PD,
					    .pd = pd};
	struct ibv_qp *qp = door_qp_create_ex(pd->context, &whole);

	if (qp != NULL)
		attr->cap = whole.cap;
	return qp;
}

/* --- destroy -------------------------------------------------------------------------------------------- */

/*
 * Destroy the provider's queue pair. Windows that it has bound are replaced first. A bind that was
 * posted may still be in progress, so this may take several rounds.
 */
static void
queue_destroy(struct door_qp *qp)
{
	int error = door_call_id(qp->adapter, KAL_QP_DESTROY, qp->id);

	for (uint32_t round = 0; error == EBUSY && round < BUSY_ROUNDS; round++) {
		door_windows_renew(qp->pd, qp->qp.qp_num);
		error = door_call_id(qp->adapter, KAL_QP_DESTROY, qp->id);
		session_relax(&qp->adapter->session, round);
	}
	if (error == EBUSY)
		door_warn(qp->adapter, "queue pair %u stays until the adapter is closed: in use",
			  (unsigned)qp->qp.qp_num);
}

static int
destroy(struct ibv_qp *ibv)
{
	struct door_qp *qp = door_qp_of(ibv);
	struct door_adapter *adapter = qp->adapter;
	const struct door_acks acks = {&qp->async_taken, &ibv->mutex, &ibv->cond,
				       &ibv->events_completed};
	SESSION_DEFER;

	if (adapter->inherited)
		return 0;
	if (qp->groups != NULL)
		return EBUSY;
	door_cm_qp_leaves(qp);
	number_leave(qp);
	door_slot_leave(&adapter->slots, qp->ctx);
	adapter->session.user->qp_close(qp->queue);
	queue_destroy(qp);
	session_settle(&adapter->session);
	door_async_end(qp->context, qp->asyncs, DOOR_QP_EVENTS, &acks);
	count_parents(qp, -1U);
	qp_free(qp);
	return 0;
}

/* qperf calls rdma_destroy_qp() for an id that has no queue pair. */
EXPORT int
ibv_destroy_qp(struct ibv_qp *ibv)
{
	return ibv != NULL ? destroy(ibv) : EINVAL;
}

/* --- all of a context --------------------------------------------------------------------------------------- */

/* The next queue pair of it in a row of the table, by its id in the kAL. False: there is none left. */
static bool
row_id(const struct door_context *context, unsigned row, uint32_t *id)
{
	struct door_adapter *adapter = context->adapter;
	struct door_qp *qp;

	pthread_mutex_lock(&adapter->slots.lock);
	qp = adapter->numbered[row];
	while (qp != NULL && (qp->context != context || qp->closed))
		qp = qp->next_numbered;
	if (qp != NULL) {
		qp->closed = true;
		*id = qp->id;
	}
	pthread_mutex_unlock(&adapter->slots.lock);
	return qp != NULL;
}

void
door_qp_end_all(struct door_context *context)
{
	struct kal_qp_modify_req req = {.mask = RI_QP_ATTR_STATE, .attr = {.state = RI_QPS_ERROR}};

	for (unsigned row = 0; row < DOOR_QP_ROWS; row++)
		while (row_id(context, row, &req.id))
			(void)door_call(context->adapter, KAL_QP_MODIFY, &req, sizeof(req), NULL,
					0);
}
