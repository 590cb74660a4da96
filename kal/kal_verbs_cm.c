/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Calls on listeners and connections. */
#include <stdlib.h>

#include "kal_check.h"
#include "kal_objects.h"

static enum ri_status
do_listen(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	const struct kal_listen_req *in = req;
	struct kal_listen_rep *out = rep;
	struct kal_rnic *rnic = kal_object_get(client, in->rnic, RI_OBJECT_RNIC);
	g_autofree struct kal_listen *listen = calloc(1, sizeof(*listen));
	enum ri_status status;

	(void)msg;
	if (rnic == NULL)
		return RI_ERR_INVALID_HANDLE;
	if (in->port >= rnic->attr.num_ports || kal_flag_is_invalid(in->suppress_ird_ord) ||
	    kal_service_is_invalid(&in->service))
		return RI_ERR_INVALID_ARG;
	if (in->suppress_ird_ord && !rnic->attr.ird_ord_suppressible)
		return RI_ERR_UNSUPPORTED;
	if (listen == NULL)
		return RI_ERR_RESOURCES;
	listen->rnic = rnic;
	status = kal_listen(rnic->cm, in, &out->service, &listen->listener);
	if (status != RI_SUCCESS)
		return status;
	if (kal_object_add(client, RI_OBJECT_LISTEN, &listen->object) == 0) {
		kal_listen_destroy(listen->listener);
		return RI_ERR_RESOURCES;
	}
	listen->live = kal_live_take(KAL_LIVE_LISTENER, rnic->live);
	kal_live_path(listen->live, 0,
		      &(struct kal_live_path){
			      .local_port = out->service.port,
			      .service = out->service.kind == RI_SERVICE_IB ? out->service.id : 0});
	out->id = g_steal_pointer(&listen)->object.id;
	return RI_SUCCESS;
}

static bool
cm_is_invalid(const struct kal_cm_req *in)
{
	return kal_flag_is_invalid(in->suppress_ird_ord) || kal_flag_is_invalid(in->three_way) ||
	       kal_flag_is_invalid(in->refuse) || kal_flag_is_invalid(in->reuse_addr) ||
	       in->reason > KAL_REASON_REFUSED || in->refused_ms > KAL_REFUSED_MS_MAX ||
	       in->ack_timeout > KAL_ACK_TIMEOUT_MAX || kal_flag_is_invalid(in->retries) ||
	       in->retry_count > KAL_RETRIES_MAX || in->rnr_retry > KAL_RETRIES_MAX ||
	       kal_addr_is_invalid(&in->local) || kal_addr_is_invalid(&in->peer) ||
	       kal_service_is_invalid(&in->service);
}

/* The connection of a queue pair; NULL: no such queue pair, or of a type that is not connected so. */
static struct kal_conn *
conn_of(struct kal_client *client, uint32_t id)
{
	struct kal_qp *qp = kal_object_get(client, id, RI_OBJECT_QP);

	return qp != NULL && (qp->type == RI_QP_RC || qp->type == RI_QP_NUMBER) ? qp->conn : NULL;
}

static enum ri_status
do_connect(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	const struct kal_cm_req *in = req;
	struct kal_conn *conn = conn_of(client, in->qp);

	(void)rep;
	(void)msg;
	if (conn == NULL)
		return RI_ERR_INVALID_HANDLE;
	return cm_is_invalid(in) ? RI_ERR_INVALID_ARG : kal_connect(conn, in);
}

static enum ri_status
do_accept(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	const struct kal_cm_req *in = req;
	struct kal_conn *conn = conn_of(client, in->qp);

	(void)msg;
	if (conn == NULL)
		return RI_ERR_INVALID_HANDLE;
	return cm_is_invalid(in) ? RI_ERR_INVALID_ARG : kal_accept(conn, in, rep);
}

/* A request does not name its adapter, but its number is unique in the process: try all adapters. */
static enum ri_status
do_reject(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	enum ri_status status = RI_ERR_INVALID_HANDLE;
	struct kal_rnic *rnic = NULL;

	(void)rep;
	(void)msg;
	if (cm_is_invalid(req))
		return RI_ERR_INVALID_ARG;
	while (status == RI_ERR_INVALID_HANDLE && (rnic = kal_rnic_next(client, rnic)) != NULL)
		status = kal_reject(rnic->cm, req);
	return status;
}

static enum ri_status
do_confirm(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	const struct kal_cm_req *in = req;
	struct kal_conn *conn = conn_of(client, in->qp);

	(void)rep;
	(void)msg;
	if (conn == NULL)
		return RI_ERR_INVALID_HANDLE;
	return cm_is_invalid(in) ? RI_ERR_INVALID_ARG : kal_confirm(conn, in);
}

static enum ri_status
do_disconnect(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	const struct kal_cm_req *in = req;
	struct kal_conn *conn = conn_of(client, in->qp);

	(void)rep;
	(void)msg;
	if (conn == NULL)
		return RI_ERR_INVALID_HANDLE;
	return cm_is_invalid(in) ? RI_ERR_INVALID_ARG : kal_disconnect(conn, in);
}

static enum ri_status
do_handoff(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	enum ri_status status = RI_ERR_INVALID_HANDLE;
	struct kal_rnic *rnic = NULL;

	(void)rep;
	(void)msg;
	if (kal_service_is_invalid(&((const struct kal_handoff_req *)req)->service))
		return RI_ERR_INVALID_ARG;
	while (status == RI_ERR_INVALID_HANDLE && (rnic = kal_rnic_next(client, rnic)) != NULL)
		status = kal_handoff(rnic->cm, req);
	return status;
}

static enum ri_status
do_convert(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	const struct kal_convert_req *in = req;
	struct kal_conn *conn = conn_of(client, in->qp);

	if (conn == NULL)
		return RI_ERR_INVALID_HANDLE;
	if (msg->req_len - sizeof(*in) != in->msg_len || kal_flag_is_invalid(in->initiator) ||
	    kal_flag_is_invalid(in->no_startup) || in->reserved != 0)
		return RI_ERR_INVALID_ARG;
	return kal_convert(conn, in, in + 1, msg->fd, rep);
}

static enum ri_status
do_resolve(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	const struct kal_resolve_req *in = req;
	struct kal_rnic *rnic = kal_object_get(client, in->rnic, RI_OBJECT_RNIC);

	(void)rep;
	(void)msg;
	if (rnic == NULL)
		return RI_ERR_INVALID_HANDLE;
	if (in->reserved != 0 || kal_addr_is_invalid(&in->local) ||
	    kal_addr_is_invalid(&in->peer) || kal_service_is_invalid(&in->service))
		return RI_ERR_INVALID_ARG;
	return kal_resolve(rnic->cm, in);
}

static enum ri_status
resolve_end(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	const struct kal_resolve_end_req *in = req;
	struct kal_rnic *rnic = kal_object_get(client, in->rnic, RI_OBJECT_RNIC);

	(void)rep;
	(void)msg;
	if (rnic == NULL)
		return RI_ERR_INVALID_HANDLE;
	if (in->reserved != 0)
		return RI_ERR_INVALID_ARG;
	kal_resolve_end(rnic->cm, in->ctx);
	return RI_SUCCESS;
}

/* As do_reject. */
static enum ri_status
resolve_answer(struct kal_client *client, const void *req, void *rep, struct kal_msg *msg)
{
	enum ri_status status = RI_ERR_INVALID_HANDLE;
	struct kal_rnic *rnic = NULL;

	(void)rep;
	(void)msg;
	if (((const struct kal_resolve_answer_req *)req)->reserved != 0)
		return RI_ERR_INVALID_ARG;
	while (status == RI_ERR_INVALID_HANDLE && (rnic = kal_rnic_next(client, rnic)) != NULL)
		status = kal_resolve_answer(rnic->cm, req);
	return status;
}

const struct kal_handler kal_cm_handlers[KAL_CALL_COUNT] = {
	[KAL_LISTEN] = {do_listen, sizeof(struct kal_listen_req), sizeof(struct kal_listen_rep),
			false},
	[KAL_CONNECT] = {do_connect, sizeof(struct kal_cm_req), 0, false},
	[KAL_ACCEPT] = {do_accept, sizeof(struct kal_cm_req), sizeof(struct kal_accept_rep), false},
	[KAL_REJECT] = {do_reject, sizeof(struct kal_cm_req), 0, false},
	[KAL_CONFIRM] = {do_confirm, sizeof(struct kal_cm_req), 0, false},
	[KAL_DISCONNECT] = {do_disconnect, sizeof(struct kal_cm_req), 0, false},
	[KAL_HANDOFF] = {do_handoff, sizeof(struct kal_handoff_req), 0, false},
	[KAL_RESOLVE] = {do_resolve, sizeof(struct kal_resolve_req), 0, false},
	[KAL_RESOLVE_END] = {resolve_end, sizeof(struct kal_resolve_end_req), 0, false},
	[KAL_RESOLVE_ANSWER] = {resolve_answer, sizeof(struct kal_resolve_answer_req), 0, false},
	[KAL_CONVERT] = {do_convert, sizeof(struct kal_convert_req), sizeof(struct kal_convert_rep),
			 true},
};
