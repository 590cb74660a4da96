/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Calls on adapters, protection domains, completion queues, shared receive queues, queue pairs. */
#include <string.h>

#include "kal_objects.h"

/* Enter a new object, or answer why not; the caller unmakes it then. */
static enum ri_status
enter(struct kal_client *client, enum ri_object type, struct kal_object *object)
{
	return kal_object_add(client, type, object) != 0 ? RI_SUCCESS : RI_ERR_RESOURCES;
}

/* --- unmaking ------------------------------------------------------------------------------- */

static enum ri_status
destroy_qp(struct kal_qp *qp)
{
	enum ri_status status;

	kal_conn_retire(qp->conn);
	status = ri_call_qp_destroy(&qp->pd->rnic->caller, qp->qp);
	if (status != RI_SUCCESS) {
		kal_conn_restore(qp->conn);
		return status;
	}
	kal_conn_free(qp->conn);
	kal_news_forget_ctx(qp->pd->rnic->client, RI_OBJECT_QP, qp->ctx);
	qp->pd->object.children--;
	qp->send_cq->object.children--;
	qp->recv_cq->object.children--;
	if (qp->srq != NULL)
		qp->srq->object.children--;
	return RI_SUCCESS;
}

static enum ri_status
destroy_in_pd(struct kal_pd *pd, enum ri_status status)
{
	if (status == RI_SUCCESS)
		pd->object.children--;
	return status;
}

static enum ri_status
destroy_cq(struct kal_client *client, struct kal_cq *cq)
{
	enum ri_status status = ri_call_cq_destroy(&cq->rnic->caller, cq->cq);

	if (status == RI_SUCCESS)
		kal_news_forget(client, &cq->fired);
	return status;
}

static enum ri_status
destroy_mr(struct kal_client *client, struct kal_mr *mr)
{
	enum ri_status status = ri_call_mr_dereg(&mr->pd->rnic->caller, mr->mr);

	if (status == RI_SUCCESS)
		kal_account_give(&client->account, KAL_RESOURCE_MEMORY, mr->length);
	return destroy_in_pd(mr->pd, status);
}

static enum ri_status
destroy_srq(struct kal_client *client, struct kal_srq *srq)
{
	enum ri_status status = ri_call_srq_destroy(&srq->pd->rnic->caller, srq->srq);

	if (status == RI_SUCCESS)
		kal_news_forget_ctx(client, RI_OBJECT_SRQ, srq->ctx);
	return destroy_in_pd(srq->pd, status);
}

static enum ri_status
unmake(struct kal_client *client, struct kal_object *object)
{
	struct kal_pd *pd;

	switch (object->type) {
	case RI_OBJECT_QP:
		return destroy_qp((struct kal_qp *)object);
	case RI_OBJECT_CQ:
		return destroy_cq(client, (struct kal_cq *)object);
	case RI_OBJECT_SRQ:
		return destroy_srq(client, (struct kal_srq *)object);
	case RI_OBJECT_PD:
		pd = (struct kal_pd *)object;
		return ri_call_pd_destroy(&pd->rnic->caller, pd->pd);
	case RI_OBJECT_MR:
		return destroy_mr(client, (struct kal_mr *)object);
	case RI_OBJECT_MW:
		pd = ((struct kal_mw *)object)->pd;
		return destroy_in_pd(
			pd, ri_call_mw_free(&pd->rnic->caller, ((struct kal_mw *)object)->mw));
	case RI_OBJECT_AH:
		pd = ((struct kal_ah *)object)->pd;
		return destroy_in_pd(
			pd, ri_call_ah_destroy(&pd->rnic->caller, ((struct kal_ah *)object)->ah));
	case RI_OBJECT_LISTEN:
		kal_listen_destroy(((struct kal_listen *)object)->listener);
		return RI_SUCCESS;
	case RI_OBJECT_NONE:
	case RI_OBJECT_RNIC:
	case RI_OBJECT_PORT:
	case RI_OBJECT_REQUEST:
	case RI_OBJECT_CLIENT:
	case RI_OBJECT_COUNT:
	default:
		return RI_ERR_INVALID_HANDLE;
	}
}

enum ri_status
kal_object_destroy(struct kal_client *client, struct kal_object *object)
{
	enum ri_status status = object->children > 0 ? RI_ERR_BUSY : unmake(client, object);

	if (status == RI_SUCCESS) {
		kal_object_remove(client, object);
		g_free(object);
	}
	return status;
}

static enum ri_status
destroy_by_id(struct kal_client *client, const void *req, enum ri_object type)
{
	struct kal_object *object =
		kal_object_get(client, ((const struct kal_id_req *)req)->id, type);

	return object != NULL ? kal_object_destroy(client, object) : RI_ERR_INVALID_HANDLE;
}

static enum ri_status
pd_destroy(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	(void)rep;
	(void)msg;
	return destroy_by_id(client, req, RI_OBJECT_PD);
}

static enum ri_status
cq_destroy(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	(void)rep;
	(void)msg;
	return destroy_by_id(client, req, RI_OBJECT_CQ);
}

static enum ri_status
srq_destroy(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	(void)rep;
	(void)msg;
	return destroy_by_id(client, req, RI_OBJECT_SRQ);
}

static enum ri_status
qp_destroy(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	(void)rep;
	(void)msg;
	return destroy_by_id(client, req, RI_OBJECT_QP);
}

/* --- adapters ------------------------------------------------------------------------------- */

static enum ri_status
adapter_list(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	(void)req;
	(void)rep;
	return kal_adapters_list(client, msg);
}

static enum ri_status
rnic_open(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	const struct kal_rnic_open_req *in = req;
	struct kal_rnic_open_rep *out = rep;
	struct kal_rnic *rnic;
	enum ri_status status;

	(void)msg;
	if (memchr(in->name, '\0', sizeof(in->name)) == NULL)
		return RI_ERR_NO_DEVICE;
	status = kal_rnic_open(client, in->name, &rnic);
	if (status != RI_SUCCESS)
		return status;
	out->id = rnic->object.id;
	out->privileged = client->privileged;
	out->drop_disconnect_data = client->config->drop_disconnect_data;
	out->attr = rnic->attr;
	out->map = rnic->map;
	return RI_SUCCESS;
}

static enum ri_status
rnic_close(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	struct kal_rnic *rnic =
		kal_object_get(client, ((const struct kal_id_req *)req)->id, RI_OBJECT_RNIC);

	(void)rep;
	(void)msg;
	if (rnic == NULL)
		return RI_ERR_INVALID_HANDLE;
	kal_rnic_close(rnic);
	return RI_SUCCESS;
}

static enum ri_status
port_query(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	const struct kal_port_query_req *in = req;
	struct kal_rnic *rnic = kal_object_get(client, in->rnic, RI_OBJECT_RNIC);
	struct ri_port_attr *attr = rep;

	(void)msg;
	if (rnic == NULL)
		return RI_ERR_INVALID_HANDLE;
	attr->size = sizeof(*attr);
	return ri_call_query_port(&rnic->caller, rnic->rnic, in->port, attr);
}

static enum ri_status
path_query(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	const struct kal_path_query_req *in = req;
	struct kal_rnic *rnic = kal_object_get(client, in->rnic, RI_OBJECT_RNIC);

	(void)msg;
	return rnic != NULL ? kal_path_query(rnic, in, rep) : RI_ERR_INVALID_HANDLE;
}

/* --- protection domains and queues ---------------------------------------------------------- */

static enum ri_status
pd_create(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	struct kal_rnic *rnic =
		kal_object_get(client, ((const struct kal_id_req *)req)->id, RI_OBJECT_RNIC);
	g_autofree struct kal_pd *pd = g_new0(struct kal_pd, 1);
	enum ri_status status;

	(void)msg;
	if (rnic == NULL)
		return RI_ERR_INVALID_HANDLE;
	pd->rnic = rnic;
	status = ri_call_pd_create(&rnic->caller, rnic->context, &pd->pd);
	if (status != RI_SUCCESS)
		return status;
	status = enter(client, RI_OBJECT_PD, &pd->object);
	if (status != RI_SUCCESS) {
		(void)!ri_call_pd_destroy(&rnic->caller, pd->pd);
		return status;
	}
	((struct kal_id_rep *)rep)->id = g_steal_pointer(&pd)->object.id;
	return RI_SUCCESS;
}

static enum ri_status
cq_create(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	const struct kal_cq_create_req *in = req;
	struct kal_cq_rep *out = rep;
	struct kal_rnic *rnic = kal_object_get(client, in->rnic, RI_OBJECT_RNIC);
	g_autofree struct kal_cq *cq = g_new0(struct kal_cq, 1);
	enum ri_status status;

	(void)msg;
	if (rnic == NULL)
		return RI_ERR_INVALID_HANDLE;
	if (in->entries == 0)
		return RI_ERR_INVALID_ARG;
	if (in->entries > rnic->attr.max_cqe)
		return RI_ERR_LIMIT;
	cq->rnic = rnic;
	cq->ctx = in->ctx;
	cq->fired.own = true;
	cq->fired.event.kind = KAL_EVENT_CQ;
	cq->fired.event.ctx = in->ctx;
	out->entries = in->entries;
	status = ri_call_cq_create(&rnic->caller, rnic->context, (uint64_t)(uintptr_t)cq,
				   &out->entries, &cq->cq, &out->map);
	if (status != RI_SUCCESS)
		return status;
	status = enter(client, RI_OBJECT_CQ, &cq->object);
	if (status != RI_SUCCESS) {
		(void)!ri_call_cq_destroy(&rnic->caller, cq->cq);
		return status;
	}
	out->id = g_steal_pointer(&cq)->object.id;
	return RI_SUCCESS;
}

static enum ri_status
cq_resize(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	const struct kal_cq_resize_req *in = req;
	struct kal_cq_rep *out = rep;
	struct kal_cq *cq = kal_object_get(client, in->id, RI_OBJECT_CQ);

	(void)msg;
	if (cq == NULL)
		return RI_ERR_INVALID_HANDLE;
	if (!cq->rnic->attr.cq_resizable)
		return RI_ERR_UNSUPPORTED;
	if (in->entries == 0)
		return RI_ERR_INVALID_ARG;
	if (in->entries > cq->rnic->attr.max_cqe)
		return RI_ERR_LIMIT;
	out->id = in->id;
	out->entries = in->entries;
	return ri_call_cq_resize(&cq->rnic->caller, cq->cq, &out->entries, &out->map);
}

static enum ri_status
srq_create(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	const struct kal_srq_req *in = req;
	struct kal_srq_rep *out = rep;
	struct kal_pd *pd = kal_object_get(client, in->id, RI_OBJECT_PD);
	g_autofree struct kal_srq *srq = g_new0(struct kal_srq, 1);
	const struct ri_caller *caller;
	enum ri_status status;

	(void)msg;
	if (pd == NULL)
		return RI_ERR_INVALID_HANDLE;
	if (!pd->rnic->attr.srq)
		return RI_ERR_UNSUPPORTED;
	if (in->attr.max_wr == 0)
		return RI_ERR_INVALID_ARG;
	caller = &pd->rnic->caller;
	srq->pd = pd;
	srq->ctx = in->attr.ctx;
	out->attr = in->attr;
	out->attr.ctx = (uint64_t)(uintptr_t)srq;
	status = ri_call_srq_create(caller, pd->pd, &out->attr, &srq->srq, &out->map);
	out->attr.ctx = in->attr.ctx;
	if (status != RI_SUCCESS)
		return status;
	status = enter(client, RI_OBJECT_SRQ, &srq->object);
	if (status != RI_SUCCESS) {
		(void)!ri_call_srq_destroy(caller, srq->srq);
		return status;
	}
	pd->object.children++;
	out->id = g_steal_pointer(&srq)->object.id;
	return RI_SUCCESS;
}

static enum ri_status
srq_modify(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	const struct kal_srq_req *in = req;
	struct kal_srq_rep *out = rep;
	struct kal_srq *srq = kal_object_get(client, in->id, RI_OBJECT_SRQ);

	(void)msg;
	if (srq == NULL)
		return RI_ERR_INVALID_HANDLE;
	if (in->resize && !srq->pd->rnic->attr.srq_resizable)
		return RI_ERR_UNSUPPORTED;
	if (in->resize && in->attr.max_wr == 0)
		return RI_ERR_INVALID_ARG;
	out->id = in->id;
	out->attr = in->attr;
	return ri_call_srq_modify(&srq->pd->rnic->caller, srq->srq, &out->attr, in->resize != 0,
				  &out->map);
}

static enum ri_status
srq_query(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	struct kal_srq_rep *out = rep;
	struct kal_srq *srq =
		kal_object_get(client, ((const struct kal_id_req *)req)->id, RI_OBJECT_SRQ);

	(void)msg;
	if (srq == NULL)
		return RI_ERR_INVALID_HANDLE;
	out->id = srq->object.id;
	return ri_call_srq_query(&srq->pd->rnic->caller, srq->srq, &out->attr);
}

/* --- queue pairs ---------------------------------------------------------------------------- */

/* All four of the same RNIC, or NULL for an SRQ that was not named. */
static bool
find_parents(struct kal_client *client, const struct kal_qp_create_req *in, struct kal_qp *qp)
{
	qp->pd = kal_object_get(client, in->pd, RI_OBJECT_PD);
	qp->send_cq = kal_object_get(client, in->send_cq, RI_OBJECT_CQ);
	qp->recv_cq = kal_object_get(client, in->recv_cq, RI_OBJECT_CQ);
	qp->srq = in->srq != 0 ? kal_object_get(client, in->srq, RI_OBJECT_SRQ) : NULL;
	if (qp->pd == NULL || qp->send_cq == NULL || qp->recv_cq == NULL)
		return false;
	if (in->srq != 0 && (qp->srq == NULL || qp->srq->pd->rnic != qp->pd->rnic))
		return false;
	return qp->send_cq->rnic == qp->pd->rnic && qp->recv_cq->rnic == qp->pd->rnic;
}

/* The queue pair with its connection; on failure nothing is left. */
static enum ri_status
make_qp(struct kal_client *client, struct kal_qp *qp, struct kal_qp_create_rep *out)
{
	struct kal_rnic *rnic = qp->pd->rnic;
	const struct ri_qp_parents parents = {.pd = qp->pd->pd,
					      .send_cq = qp->send_cq->cq,
					      .recv_cq = qp->recv_cq->cq,
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
		status = enter(client, RI_OBJECT_QP, &qp->object);
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

static enum ri_status
qp_create(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	const struct kal_qp_create_req *in = req;
	struct kal_qp_create_rep *out = rep;
	g_autofree struct kal_qp *qp = g_new0(struct kal_qp, 1);
	enum ri_status status;

	(void)msg;
	if (!find_parents(client, in, qp))
		return RI_ERR_INVALID_HANDLE;
	if (in->init.privileged && !client->privileged)
		return RI_ERR_PERMISSION;
	if (in->init.type == RI_QP_UD && !qp->pd->rnic->attr.ud)
		return RI_ERR_UNSUPPORTED;
	out->init = in->init;
	qp->ctx = in->init.ctx;
	qp->ud = in->init.type == RI_QP_UD;
	status = make_qp(client, qp, out);
	if (status != RI_SUCCESS)
		return status;
	qp->pd->object.children++;
	qp->send_cq->object.children++;
	qp->recv_cq->object.children++;
	if (qp->srq != NULL)
		qp->srq->object.children++;
	out->id = g_steal_pointer(&qp)->object.id;
	return RI_SUCCESS;
}

/*
 * The rest of a connection's life goes through its own calls. And a queue pair begins anew only when
 * its last connection is over and the client knows how it ended, so that news of the old one are
 * never taken for news of the next.
 */
static enum ri_status
may_modify(struct kal_client *client, struct kal_qp *qp, const struct kal_qp_modify_req *in)
{
	if ((in->mask & RI_QP_ATTR_STATE) == 0)
		return RI_SUCCESS;
	if (in->attr.state != RI_QPS_IDLE && in->attr.state != RI_QPS_ERROR)
		return RI_ERR_INVALID_ARG;
	if (in->attr.state == RI_QPS_IDLE &&
	    (kal_conn_busy(qp->conn) || kal_news_pending_qp(client, qp->ctx)))
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

const struct kal_handler kal_verbs_handlers[KAL_CALL_COUNT] = {
	[KAL_ADAPTER_LIST] = {adapter_list, sizeof(struct kal_adapter_list_req),
			      sizeof(struct kal_adapter_list_rep), false},
	[KAL_RNIC_OPEN] = {rnic_open, sizeof(struct kal_rnic_open_req),
			   sizeof(struct kal_rnic_open_rep), false},
	[KAL_RNIC_CLOSE] = {rnic_close, sizeof(struct kal_id_req), 0, false},
	[KAL_PORT_QUERY] = {port_query, sizeof(struct kal_port_query_req),
			    sizeof(struct ri_port_attr), false},
	[KAL_PATH_QUERY] = {path_query, sizeof(struct kal_path_query_req),
			    sizeof(struct kal_path_query_rep), false},
	[KAL_PD_CREATE] = {pd_create, sizeof(struct kal_id_req), sizeof(struct kal_id_rep), false},
	[KAL_PD_DESTROY] = {pd_destroy, sizeof(struct kal_id_req), 0, false},
	[KAL_CQ_CREATE] = {cq_create, sizeof(struct kal_cq_create_req), sizeof(struct kal_cq_rep),
			   false},
	[KAL_CQ_RESIZE] = {cq_resize, sizeof(struct kal_cq_resize_req), sizeof(struct kal_cq_rep),
			   false},
	[KAL_CQ_DESTROY] = {cq_destroy, sizeof(struct kal_id_req), 0, false},
	[KAL_SRQ_CREATE] = {srq_create, sizeof(struct kal_srq_req), sizeof(struct kal_srq_rep),
			    false},
	[KAL_SRQ_MODIFY] = {srq_modify, sizeof(struct kal_srq_req), sizeof(struct kal_srq_rep),
			    false},
	[KAL_SRQ_QUERY] = {srq_query, sizeof(struct kal_id_req), sizeof(struct kal_srq_rep), false},
	[KAL_SRQ_DESTROY] = {srq_destroy, sizeof(struct kal_id_req), 0, false},
	[KAL_QP_CREATE] = {qp_create, sizeof(struct kal_qp_create_req),
			   sizeof(struct kal_qp_create_rep), false},
	[KAL_QP_MODIFY] = {qp_modify, sizeof(struct kal_qp_modify_req), 0, false},
	[KAL_QP_RESIZE] = {qp_resize, sizeof(struct kal_qp_modify_req),
			   sizeof(struct kal_qp_resize_rep), false},
	[KAL_QP_QUERY] = {qp_query, sizeof(struct kal_id_req), sizeof(struct ri_qp_attr), false},
	[KAL_QP_DESTROY] = {qp_destroy, sizeof(struct kal_id_req), 0, false},
};
