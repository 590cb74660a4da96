/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Calls on queue pairs. Each queue pair has a kal_conn for its whole life (kal_cm.h). */
#include <stdlib.h>

#include "kal_check.h"
#include "kal_objects.h"

/* Find the parents, all of one RNIC; the SRQ is NULL if the request has none. A number has no queues. */
static bool
find_parents(struct kal_client *client, const struct kal_qp_create_req *in, struct kal_qp *qp)
{
	qp->pd = kal_object_get(client, in->pd, RI_OBJECT_PD);
	if (in->init.type == RI_QP_NUMBER)
		return qp->pd != NULL && in->send_cq == 0 && in->recv_cq == 0 && in->srq == 0;
	qp->send_cq = kal_object_get(client, in->send_cq, RI_OBJECT_CQ);
	qp->recv_cq = kal_object_get(client, in->recv_cq, RI_OBJECT_CQ);
	qp->srq = in->srq != 0 ? kal_object_get(client, in->srq, RI_OBJECT_SRQ) : NULL;
	if (qp->pd == NULL || qp->send_cq == NULL || qp->recv_cq == NULL)
		return false;
	if (in->srq != 0 && (qp->srq == NULL || qp->srq->pd->rnic != qp->pd->rnic))
		return false;
	return qp->send_cq->rnic == qp->pd->rnic && qp->recv_cq->rnic == qp->pd->rnic;
}

/* Create the queue pair with its connection; a failure leaves nothing behind. */
static enum ri_status
make_qp(struct kal_client *client, struct kal_qp *qp, struct kal_qp_create_rep *out)
{
	struct kal_rnic *rnic = qp->pd->rnic;
	const struct ri_qp_parents parents = {
		.pd = qp->pd->pd,
		.send_cq = qp->send_cq != NULL ? qp->send_cq->cq : NULL,
		.recv_cq = qp->recv_cq != NULL ? qp->recv_cq->cq : NULL,
		.srq = qp->srq != NULL ? qp->srq->srq : NULL};
	struct ri_qp_attr attr;
	enum ri_status status;

	status = ri_call_qp_make(&rnic->caller, &parents, &out->init, &qp->qp, &out->map);
	if (status != RI_SUCCESS)
		return status;
	status = ri_call_qp_query(&rnic->caller, qp->qp, &attr);
	if (status == RI_SUCCESS)
		status = kal_conn_create(rnic->cm, qp->qp, out->init.ctx, &out->init, &qp->conn);
	if (status == RI_SUCCESS) {
		out->qpn = attr.qpn;
		kal_conn_name(qp->conn, attr.qpn);
		status = kal_object_enter(client, RI_OBJECT_QP, &qp->object);
	}
	if (status != RI_SUCCESS) {
		if (qp->conn != NULL)
			kal_conn_retire(qp->conn);
		(void)!ri_call_qp_destroy(&rnic->caller, qp->qp);
		if (qp->conn != NULL)
			kal_conn_free(qp->conn);
	}
	return status;
}

/* What the profile does not claim is refused here, so no provider sees it. */
static enum ri_status
may_create(const struct kal_client *client, const struct ri_rnic_attr *attr,
	   const struct ri_qp_init *init)
{
	bool number = init->type == RI_QP_NUMBER;

	if (kal_bool_is_invalid(&init->privileged) || init->type > RI_QP_NUMBER ||
	    kal_access_is_invalid(init->access) || (number && init->qkey > KAL_NUMBER_MAX))
		return RI_ERR_INVALID_ARG;
	if (init->privileged && !client->privileged)
		return RI_ERR_PERMISSION;
	if ((init->type == RI_QP_UD && !attr->ud) || (init->type == RI_QP_UC && !attr->uc) ||
	    (number && !attr->cm_number) || (init->max_inline > 0 && !attr->inline_data))
		return RI_ERR_UNSUPPORTED;
	return init->max_inline > attr->max_inline ? RI_ERR_LIMIT : RI_SUCCESS;
}

static enum ri_status
qp_create(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	const struct kal_qp_create_req *in = req;
	struct kal_qp_create_rep *out = rep;
	g_autofree struct kal_qp *qp = calloc(1, sizeof(*qp));
	enum ri_status status;

	(void)msg;
	if (qp == NULL)
		return RI_ERR_RESOURCES;
	if (!find_parents(client, in, qp))
		return RI_ERR_INVALID_HANDLE;
	status = may_create(client, &qp->pd->rnic->attr, &in->init);
	if (status != RI_SUCCESS)
		return status;
	out->init = in->init;
	qp->ctx = in->init.ctx;
	qp->type = (enum ri_qp_type)in->init.type;
	status = make_qp(client, qp, out);
	if (status != RI_SUCCESS)
		return status;
	qp->pd->object.children++;
	if (qp->send_cq != NULL) {
		qp->send_cq->object.children++;
		qp->recv_cq->object.children++;
	}
	if (qp->srq != NULL)
		qp->srq->object.children++;
	qp->live = kal_live_take(KAL_LIVE_QP, qp->pd->rnic->live);
	kal_live_qp(qp->live, out->qpn, out->init.type,
		    qp->send_cq != NULL ? qp->send_cq->live : NULL,
		    qp->recv_cq != NULL ? qp->recv_cq->live : NULL);
	kal_conn_show(qp->conn, qp->live);
	out->id = g_steal_pointer(&qp)->object.id;
	return RI_SUCCESS;
}

static bool
qp_attr_is_invalid(const struct ri_qp_attr *attr)
{
	return kal_bool_is_invalid(&attr->quiescent) ||
	       kal_bool_is_invalid(&attr->terminate_sent) ||
	       kal_bool_is_invalid(&attr->skip_time_wait) || kal_access_is_invalid(attr->access);
}

/*
 * Whether KAL_QP_MODIFY may change the state: only to IDLE, since other moves are made by the calls
 * of connection management. And only when the queue pair's last connection has ended and the client
 * has taken the event of its end, so that the client never takes an event of the old connection for
 * one of the next.
 */
static enum ri_status
may_modify(struct kal_client *client, struct kal_qp *qp, const struct kal_qp_modify_req *in)
{
	if ((in->mask & ~(uint32_t)KAL_QP_ATTR_ALL) != 0 || qp_attr_is_invalid(&in->attr))
		return RI_ERR_INVALID_ARG;
	if ((in->mask & RI_QP_ATTR_STATE) == 0)
		return RI_SUCCESS;
	if (in->attr.state != RI_QPS_IDLE && in->attr.state != RI_QPS_ERROR)
		return RI_ERR_INVALID_ARG;
	if (in->attr.state == RI_QPS_IDLE &&
	    (kal_conn_busy(qp->conn) || kal_events_pending_qp(client, qp->ctx)))
		return RI_ERR_STILL_FLUSHING;
	return RI_SUCCESS;
}

static enum ri_status
qp_modify(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	const struct kal_qp_modify_req *in = req;
	struct kal_qp *qp = kal_object_get(client, in->id, RI_OBJECT_QP);
	enum ri_status status;

	(void)rep;
	(void)msg;
	if (qp == NULL)
		return RI_ERR_INVALID_HANDLE;
	kal_conn_lock(qp->conn);
	status = may_modify(client, qp, in);
	if (status == RI_SUCCESS)
		status = ri_call_qp_modify(&qp->pd->rnic->caller, qp->qp, &in->attr, in->mask);
	if (status == RI_SUCCESS)
		kal_conn_modified(qp->conn, &in->attr, in->mask);
	kal_conn_unlock(qp->conn);
	return status;
}

static enum ri_status
qp_resize(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	const struct kal_qp_modify_req *in = req;
	struct kal_qp_resize_rep *out = rep;
	struct kal_qp *qp = kal_object_get(client, in->id, RI_OBJECT_QP);
	enum ri_status status;

	(void)msg;
	if (qp == NULL)
		return RI_ERR_INVALID_HANDLE;
	if (!qp->pd->rnic->attr.wq_resizable)
		return RI_ERR_UNSUPPORTED;
	if (in->mask != 0 || qp_attr_is_invalid(&in->attr))
		return RI_ERR_INVALID_ARG;
	out->attr = in->attr;
	kal_conn_lock(qp->conn);
	status = ri_call_qp_resize(&qp->pd->rnic->caller, qp->qp, &out->attr, &out->map);
	kal_conn_unlock(qp->conn);
	return status;
}

static enum ri_status
qp_query(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	struct kal_qp *qp =
		kal_object_get(client, ((const struct kal_id_req *)req)->id, RI_OBJECT_QP);
	enum ri_status status;

	(void)msg;
	if (qp == NULL)
		return RI_ERR_INVALID_HANDLE;
	kal_conn_lock(qp->conn);
	status = ri_call_qp_query(&qp->pd->rnic->caller, qp->qp, rep);
	kal_conn_unlock(qp->conn);
	return status;
}

static bool
peer_is_invalid(const struct ri_rnic_attr *attr, const struct kal_peer_req *in)
{
	const struct ri_peer *peer = &in->peer;
	bool mtu = peer->path_mtu >= 256 && peer->path_mtu <= 4096 &&
		   (peer->path_mtu & (peer->path_mtu - 1)) == 0;

	if (kal_flag_is_invalid(in->send) || peer->reserved[0] != 0 || peer->reserved[1] != 0 ||
	    peer->reserved[2] != 0 || peer->reserved2 != 0)
		return true;
	if (in->send)
		return peer->sq_psn > KAL_NUMBER_MAX || peer->timeout > 31 ||
		       peer->retry_count > 7 || peer->rnr_retry > 7;
	return !mtu || peer->qpn > KAL_NUMBER_MAX || peer->rq_psn > KAL_NUMBER_MAX ||
	       peer->min_rnr_timer > 31 || kal_ah_is_invalid(attr, &peer->path);
}

static enum ri_status
qp_peer(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	const struct kal_peer_req *in = req;
	struct kal_qp *qp = kal_object_get(client, in->qp, RI_OBJECT_QP);
	const struct ri_rnic_attr *attr;

	(void)rep;
	(void)msg;
	if (qp == NULL)
		return RI_ERR_INVALID_HANDLE;
	attr = &qp->pd->rnic->attr;
	if ((attr->cm_forms & RI_CM_PEER) == 0 || (qp->type != RI_QP_RC && qp->type != RI_QP_UC))
		return RI_ERR_UNSUPPORTED;
	if (peer_is_invalid(attr, in))
		return RI_ERR_INVALID_ARG;
	if (in->send ? in->peer.ord > attr->max_ord : in->peer.ird > attr->max_ird)
		return RI_ERR_LIMIT;
	return kal_peer(qp->conn, &in->peer, in->send != 0);
}

static enum ri_status
qp_mcast(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	const struct kal_mcast_req *in = req;
	struct kal_qp *qp = kal_object_get(client, in->qp, RI_OBJECT_QP);
	const struct kal_rnic *rnic;

	(void)rep;
	(void)msg;
	if (qp == NULL)
		return RI_ERR_INVALID_HANDLE;
	rnic = qp->pd->rnic;
	if (!rnic->attr.multicast || qp->type != RI_QP_UD)
		return RI_ERR_UNSUPPORTED;
	if (kal_flag_is_invalid(in->detach) || kal_addr_is_invalid(&in->group))
		return RI_ERR_INVALID_ARG;
	return in->detach ? ri_call_mcast_detach(&rnic->caller, qp->qp, &in->group)
			  : ri_call_mcast_attach(&rnic->caller, qp->qp, &in->group);
}

const struct kal_handler kal_qp_handlers[KAL_CALL_COUNT] = {
	[KAL_QP_CREATE] = {qp_create, sizeof(struct kal_qp_create_req),
			   sizeof(struct kal_qp_create_rep), false},
	[KAL_QP_MODIFY] = {qp_modify, sizeof(struct kal_qp_modify_req), 0, false},
	[KAL_QP_RESIZE] = {qp_resize, sizeof(struct kal_qp_modify_req),
			   sizeof(struct kal_qp_resize_rep), false},
	[KAL_PEER] = {qp_peer, sizeof(struct kal_peer_req), 0, false},
	[KAL_MCAST] = {qp_mcast, sizeof(struct kal_mcast_req), 0, false},
	[KAL_QP_QUERY] = {qp_query, sizeof(struct kal_id_req), sizeof(struct ri_qp_attr), false},
};
