/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Connection management: the calls of the client. If the provider connects by itself, the call goes to the provider;
 * if it takes streams over, kal_cm_dial.c, kal_request.c and kal_cm_stream.c set the stream up.
 *
 * A call makes its move under the verbs lock of the connection before it calls the provider, so that upcalls find the
 * new state. Things whose release waits for another thread are freed after the lock was released.
 */
#include <string.h>

#include "kal_cm_internal.h"
#include "kal_request.h"
#include "kal_setup.h"
#include "ri_owned.h"

/* The outcome of the attempt and the end; and, as the adapter and the client want it, the reply and the end of time-wait. */
static unsigned
events_of_life(const struct kal_cm *cm, bool three_way)
{
	return 2 + (three_way ? 1 : 0) + (cm->attr->has_time_wait ? 1 : 0);
}

/* Under verbs: begin an attempt. *stale: the setup of an earlier one, for the caller to free. */
static enum ri_status
attempt_begin(struct kal_conn *conn, struct kal_setup **stale, bool three_way)
{
	RI_ASSERT_OWNED(&conn->verbs);
	if (kal_conn_state(conn) != KAL_CONN_IDLE)
		return RI_ERR_INVALID_STATE;
	if (!kal_conn_reserve(conn, events_of_life(conn->cm, three_way)))
		return RI_ERR_RESOURCES;
	*stale = kal_setup_steal(conn);
	memset(&conn->pending, 0, sizeof(conn->pending));
	kal_cm_lock(conn->cm);
	conn->three_way = three_way;
	kal_cm_unlock(conn->cm);
	return RI_SUCCESS;
}

enum ri_status
kal_connect(struct kal_conn *conn, const struct kal_cm_req *req)
{
	struct kal_cm *cm = conn->cm;
	struct kal_setup *stale = NULL;
	enum ri_status status;

	if (req->pdata_len > cm->attr->connect_pdata || req->pdata_len > RI_PDATA_MAX)
		return RI_ERR_INVALID_ARG;
	if (req->three_way && !cm->attr->three_way_handshake)
		return RI_ERR_UNSUPPORTED;
	if (req->suppress_ird_ord && !cm->attr->ird_ord_suppressible)
		return RI_ERR_UNSUPPORTED;
	if (req->refused_ms != 0 && !cm->stream)
		return RI_ERR_UNSUPPORTED;
	kal_conn_lock(conn);
	status = attempt_begin(conn, &stale, req->three_way != 0);
	if (status == RI_SUCCESS)
		status =
			cm->stream ? kal_stream_connect(conn, req) : kal_address_connect(conn, req);
	kal_conn_unlock(conn);
	kal_setup_free(stale);
	return status;
}

enum ri_status
kal_accept(struct kal_conn *conn, const struct kal_cm_req *req, struct kal_accept_rep *rep)
{
	struct kal_cm *cm = conn->cm;
	struct kal_setup *stale = NULL;
	struct kal_request *request;
	enum ri_status status;

	if (req->pdata_len > cm->attr->accept_pdata || req->pdata_len > RI_PDATA_MAX)
		return RI_ERR_INVALID_ARG;
	request = kal_request_take(cm, req->request, false);
	if (request == NULL)
		return RI_ERR_INVALID_HANDLE;
	kal_conn_lock(conn);
	status = attempt_begin(conn, &stale, false);
	if (status != RI_SUCCESS) {
		kal_conn_unlock(conn);
		kal_request_put_back(request);
		return status;
	}
	conn->pending.peer = request->info.peer;
	conn->pending.local = request->info.local;
	conn->pending.service = request->info.service;
	conn->pending.port = request->info.port;
	conn->pending.ird = request->info.ird;
	conn->pending.ord = request->info.ord;
	conn->pending.ird_ord_valid = request->info.ird_ord_valid;
	status = request->provider == NULL ? kal_stream_accept(conn, req, request, rep)
					   : kal_address_accept(conn, req, request, rep);
	kal_conn_unlock(conn);
	kal_setup_free(stale);
	if (status == RI_SUCCESS)
		kal_request_free(request);
	else if (request->provider != NULL && status == RI_ERR_INVALID_HANDLE)
		kal_request_dead(request);
	else
		kal_request_put_back(request);
	return status;
}

enum ri_status
kal_reject(struct kal_cm *cm, const struct kal_cm_req *req)
{
	struct kal_request *request;

	if (req->pdata_len > cm->attr->reject_pdata || req->pdata_len > RI_PDATA_MAX ||
	    req->reason > KAL_REASON_REFUSED)
		return RI_ERR_INVALID_ARG;
	request = kal_request_take(cm, req->request, false);
	if (request == NULL)
		return RI_ERR_INVALID_HANDLE;
	kal_request_refuse(request, (enum kal_cm_reason)req->reason, req->pdata,
			   (uint16_t)req->pdata_len);
	return RI_SUCCESS;
}

enum ri_status
kal_confirm(struct kal_conn *conn, const struct kal_cm_req *req)
{
	const struct ri_rnic_attr *attr = conn->cm->attr;
	enum ri_status status;

	if (!attr->three_way_handshake)
		return RI_ERR_UNSUPPORTED;
	if (req->pdata_len > (req->refuse ? attr->reject_pdata : attr->confirm_pdata) ||
	    req->pdata_len > RI_PDATA_MAX)
		return RI_ERR_INVALID_ARG;
	kal_conn_lock(conn);
	status = kal_conn_move(conn, req->refuse ? KAL_CONN_CALL_DROP : KAL_CONN_CALL_CONFIRM);
	if (status == RI_SUCCESS) {
		status = ri_call_confirm(conn->cm->caller, conn->qp, !req->refuse, req->pdata,
					 (uint16_t)req->pdata_len);
		/* INVALID_STATE: the connection ended meanwhile, and the provider's event is on the way. */
		if (status != RI_SUCCESS && status != RI_ERR_INVALID_STATE)
			(void)!kal_conn_move(conn, KAL_CONN_FAILED);
		if (status != RI_SUCCESS || req->refuse)
			kal_conn_kill(conn);
	}
	kal_conn_unlock(conn);
	return status == RI_ERR_INVALID_STATE ? status : RI_SUCCESS;
}

enum ri_status
kal_disconnect(struct kal_conn *conn, const struct kal_cm_req *req)
{
	struct kal_cm *cm = conn->cm;
	struct ri_qp_attr attr = {0};
	enum kal_conn_state before;
	enum kal_cm_kind report;
	enum ri_status status, ended;
	bool dropped = false;

	if (req->pdata_len > cm->attr->disconnect_pdata)
		return RI_ERR_INVALID_ARG;
	kal_conn_lock(conn);
	kal_cm_lock(cm);
	before = conn->state;
	if (cm->stream && before != KAL_CONN_STARTING && before != KAL_CONN_UP) {
		status = kal_conn_go(conn, KAL_CONN_CALL_DROP, &report);
		dropped = status == RI_SUCCESS;
	} else {
		status = kal_conn_go(conn, KAL_CONN_CALL_DISCONNECT, &report);
	}
	kal_cm_unlock(cm);
	/* The provider ends the connection, and raises the event. */
	if (status == RI_SUCCESS && !dropped) {
		attr.state = before == KAL_CONN_UP ? RI_QPS_CLOSING : RI_QPS_ERROR;
		ended = cm->stream
				? ri_call_qp_modify(cm->caller, conn->qp, &attr, RI_QP_ATTR_STATE)
				: ri_call_disconnect(cm->caller, conn->qp, req->pdata,
						     (uint16_t)req->pdata_len);
		/* Without resources it ends abruptly. After any other failure it has ended already, and its event follows. */
		if (ended == RI_ERR_RESOURCES)
			kal_conn_kill(conn);
	}
	kal_conn_unlock(conn);
	/* The provider does not have the stream yet: end the attempt here, and report the end after the flush. */
	if (dropped) {
		kal_stream_drop(conn);
		kal_conn_lock(conn);
		kal_conn_kill(conn);
		kal_conn_unlock(conn);
		kal_cm_lock(cm);
		kal_conn_tell_last(conn, KAL_CM_DISCONNECTED, KAL_REASON_OTHER);
		kal_cm_unlock(cm);
	}
	/* It has ended, or is ending: nothing to do. */
	if (before == KAL_CONN_CLOSING || before == KAL_CONN_ABORTING || before == KAL_CONN_ENDED)
		return RI_SUCCESS;
	return status;
}

enum ri_status
kal_convert(struct kal_conn *conn, const struct kal_convert_req *req, const void *msg, int fd,
	    struct kal_convert_rep *rep)
{
	struct kal_cm *cm = conn->cm;
	struct kal_setup *stale = NULL;
	enum ri_status status;

	if (!cm->stream || !cm->attr->socket_conversion)
		return RI_ERR_UNSUPPORTED;
	kal_conn_lock(conn);
	status = attempt_begin(conn, &stale, false);
	if (status == RI_SUCCESS)
		status = kal_stream_convert(conn, req, msg, fd, rep);
	kal_conn_unlock(conn);
	kal_setup_free(stale);
	return status;
}

enum ri_status
kal_peer(struct kal_conn *conn, const struct ri_peer *peer, bool send)
{
	const struct ri_caller *caller = conn->cm->caller;
	enum ri_status status;

	kal_conn_lock(conn);
	if (!send) {
		status = kal_conn_move(conn, KAL_CONN_CALL_PEER);
		if (status == RI_SUCCESS) {
			status = ri_call_peer_receive(caller, conn->qp, peer);
			if (status != RI_SUCCESS)
				(void)!kal_conn_move(conn, KAL_CONN_UNDONE);
		}
	} else if (kal_conn_state(conn) == KAL_CONN_OWN) {
		status = ri_call_peer_send(caller, conn->qp, peer);
	} else {
		status = RI_ERR_INVALID_STATE;
	}
	kal_conn_unlock(conn);
	return status;
}
