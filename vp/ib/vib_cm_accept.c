/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Verbs that answer a request for a connection. */
#include <errno.h>
#include <string.h>

#include "vib_cm.h"

/* Only calls of this process can fail here. That the peer has gone on is not a failure. */
void
vib_request_refuse(struct vib_conn *conn, enum ri_cm_reason reason, const void *pdata, uint16_t len)
{
	int failed;

	/*
	 * A program can give one reason in a REJ besides "consumer": "option not supported", which the peer reports as
	 * RI_CM_FAILED.
	 */
	if (reason != RI_CM_REASON_CONSUMER && !conn->cm->rnic->iwarp && !conn->service)
		failed = rdma_reject_ece(conn->id, NULL, 0);
	else
		failed = rdma_reject(conn->id, len != 0 ? pdata : NULL, (uint8_t)len);
	if (failed != 0)
		vib_log(conn->cm->rnic, RI_LOG_DEBUG, "rdma_reject: %s", ri_errno_text(errno));
}

enum ri_status
vib_reject(struct ri_request *request, enum ri_cm_reason reason, const void *pdata, uint16_t len)
{
	struct vib_conn *conn = vib_request_take(request, false);

	if (conn == NULL)
		return RI_ERR_INVALID_HANDLE;
	if (len > conn->cm->rnic->attr.reject_pdata) {
		vib_request_put_back(conn);
		return RI_ERR_INVALID_ARG;
	}
	vib_request_done(conn);
	vib_request_refuse(conn, reason, pdata, len);
	vib_conn_free(conn);
	return RI_SUCCESS;
}

/* Send the reply. A failure from here on is reported by an event. */
static void
reply_send(struct vib_conn *conn, struct vib_qp *qp)
{
	struct rdma_conn_param param = vib_conn_param(conn, qp);
	struct ri_cm_event event = {.kind = RI_CM_FAILED};
	enum vib_action action;
	int error;

	(void)vib_conn_step(conn, VIB_STEP_CALL_ACCEPT, &action, &qp);
	vib_conn_time(conn);
	error = vib_conn_qp_ready(conn, qp);
	if (error == 0 && rdma_accept(conn->id, &param) != 0)
		error = errno;
	if (error == 0) {
		/*
		 * The deadline timer starts only when the call has returned, because at the deadline the id that
		 * the call uses is destroyed. If the attempt has ended meanwhile, the timer has another purpose.
		 */
		const struct ri_host *host = conn->cm->rnic->host;

		pthread_mutex_lock(&conn->cm->lock);
		if (conn->deadline != RI_NEVER && conn->phase == VIB_PHASE_ACCEPT)
			host->timer_start(host->self, &conn->timer, conn->deadline);
		pthread_mutex_unlock(&conn->cm->lock);
		return;
	}
	vib_log_qp(qp, RI_LOG_INFO, "a request cannot be accepted: %s", ri_errno_text(error));
	pthread_mutex_lock(&conn->cm->lock);
	conn->under_way = false;
	pthread_mutex_unlock(&conn->cm->lock);
	if (!vib_conn_step(conn, VIB_STEP_FAILED, &action, &qp))
		return;
	event.reason = vib_reason_of_errno(error);
	(void)vib_qp_end(qp, &event, RI_EVENT_NONE); /* which is said */
}

enum ri_status
vib_accept(struct ri_request *request, struct ri_qp *ri, const struct ri_cm_params *params)
{
	struct vib_qp *qp = (struct vib_qp *)ri;
	struct ri_rnic *rnic = qp->pd->context->rnic;
	enum ri_status status = vib_params_check(rnic, params, rnic->attr.accept_pdata);
	struct vib_conn *conn;

	if (status != RI_SUCCESS)
		return status;
	if (atomic_load(&rnic->failed))
		return RI_ERR_FATAL;
	conn = vib_request_take(request, false);
	if (conn == NULL)
		return RI_ERR_INVALID_HANDLE;
	status = conn->cm == rnic->cm ? vib_conn_tie(conn, qp) : RI_ERR_INVALID_HANDLE;
	if (status != RI_SUCCESS) {
		vib_request_put_back(conn);
		return status;
	}
	vib_conn_fill(conn, params);
	struct ri_addr addr;

	vib_addr_of_sockaddr(&addr, rdma_get_peer_addr(conn->id));
	pthread_mutex_lock(&qp->lock);
	vib_peer_name(qp, &addr, rdma_get_dst_port(conn->id));
	pthread_mutex_unlock(&qp->lock);
	vib_request_done(conn);
	/* The kernel refuses this for a request whose peer has given up. */
	if (vib_conn_qp_init(conn, qp) != 0) {
		vib_conn_untie(conn, qp);
		vib_conn_free(conn);
		return RI_ERR_INVALID_HANDLE;
	}
	pthread_mutex_lock(&conn->cm->lock);
	conn->under_way = rnic->iwarp;
	pthread_mutex_unlock(&conn->cm->lock);
	reply_send(conn, qp);
	return RI_SUCCESS;
}
