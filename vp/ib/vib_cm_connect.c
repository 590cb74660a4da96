/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Verbs of a connection: connect, confirm, disconnect, and modify to ERROR. What follows is in vib_cm_setup.c. */
#include <errno.h>
#include <string.h>

#include "vib_chain.h"
#include "vib_cm.h"

#define NS_PER_MS       UINT64_C(1000000)
#define ADDRESS_MS_MAX  10000 /* for the resolution of an address */
#define AGAINS_MAX      7     /* attempts with another port after the first one */
#define ACK_TIMEOUT_MAX 31
#define RETRIES_MAX     7
#define DEPTH_MAX       254 /* 255 means "as the device can" to librdmacm */

enum ri_status
vib_params_check(const struct ri_rnic *rnic, const struct ri_cm_params *params, uint16_t room)
{
	if (params->pdata_len > room || (params->pdata_len != 0 && params->pdata == NULL))
		return RI_ERR_INVALID_ARG;
	if (params->ack_timeout > ACK_TIMEOUT_MAX ||
	    (params->retries &&
	     (params->retry_count > RETRIES_MAX || params->rnr_retry > RETRIES_MAX)))
		return RI_ERR_INVALID_ARG;
	if (params->ird > rnic->attr.max_ird || params->ord > rnic->attr.max_ord ||
	    params->ird > DEPTH_MAX || params->ord > DEPTH_MAX)
		return RI_ERR_LIMIT;
	return RI_SUCCESS;
}

void
vib_conn_fill(struct vib_conn *conn, const struct ri_cm_params *params)
{
	conn->ird = params->ird;
	conn->ord = params->ord;
	conn->three_way = params->three_way;
	conn->ack_timeout = (uint8_t)params->ack_timeout;
	conn->retries = params->retries;
	conn->retry_count = params->retry_count;
	conn->rnr_retry = params->rnr_retry;
	conn->deadline = params->deadline;
	conn->pdata_len = params->pdata_len;
	if (params->pdata_len != 0)
		memcpy(conn->pdata, params->pdata, params->pdata_len);
}

static enum ri_status
connect_check(struct ri_rnic *rnic, const struct ri_cm_params *params)
{
	enum ri_status status = vib_params_check(rnic, params, rnic->attr.connect_pdata);

	if (status != RI_SUCCESS)
		return status;
	if (params->three_way && !rnic->attr.three_way_handshake)
		return RI_ERR_UNSUPPORTED;
	if (params->service.kind != RI_SERVICE_PORT || params->service.port == 0 ||
	    params->port >= rnic->attr.num_ports ||
	    (params->peer.family != RI_ADDR_IPV4 && params->peer.family != RI_ADDR_IPV6))
		return RI_ERR_INVALID_ARG;
	return RI_SUCCESS;
}

enum ri_status
vib_conn_tie(struct vib_conn *conn, struct vib_qp *qp)
{
	enum ri_status status = vib_qp_heal(qp);

	if (status != RI_SUCCESS)
		return status;
	pthread_mutex_lock(&conn->cm->lock);
	pthread_mutex_lock(&qp->lock);
	status = vib_qp_begin(qp);
	if (status == RI_SUCCESS) {
		conn->qp = qp;
		qp->conn = conn;
	}
	pthread_mutex_unlock(&qp->lock);
	pthread_mutex_unlock(&conn->cm->lock);
	return status;
}

void
vib_conn_untie(struct vib_conn *conn, struct vib_qp *qp)
{
	pthread_mutex_lock(&conn->cm->lock);
	pthread_mutex_lock(&qp->lock);
	vib_qp_begin_undo(qp);
	conn->qp = NULL;
	qp->conn = NULL;
	pthread_mutex_unlock(&qp->lock);
	vib_cm_wait(conn->cm, conn);
	pthread_mutex_unlock(&conn->cm->lock);
}

/* Begin to resolve. A failure that the peer or the network causes is reported by an event. */
static void
address_resolve(struct vib_conn *conn, struct vib_qp *qp)
{
	const struct ri_host *host = conn->cm->rnic->host;
	uint64_t now = host->now(host->self);
	uint64_t ms = conn->deadline > now ? (conn->deadline - now) / NS_PER_MS + 1 : 1;
	enum vib_action action;
	int error;

	if (vib_rdma_resolve(conn->id, (struct sockaddr *)&conn->from, (struct sockaddr *)&conn->to,
			     ms < ADDRESS_MS_MAX ? (int)ms : ADDRESS_MS_MAX) == 0)
		return;
	error = errno;
	vib_log_qp(qp, RI_LOG_INFO, "an attempt to connect failed: rdma_resolve_addr: %s",
		   ri_errno_text(error));
	if (vib_conn_step(conn, VIB_STEP_FAILED, &action, &qp)) {
		const struct ri_cm_event event = {.kind = RI_CM_FAILED,
						  .reason = vib_reason_of_errno(error)};

		host->timer_start(host->self, &conn->timer, RI_NEVER);
		(void)vib_qp_end(qp, &event, RI_EVENT_NONE); /* which is said */
	}
}

static void
attempt_start(struct vib_conn *conn, struct vib_qp *qp, const struct ri_cm_params *params,
	      const struct ri_addr *local)
{
	const struct ri_host *host = conn->cm->rnic->host;
	enum vib_action action;

	(void)vib_conn_step(conn, VIB_STEP_CALL_CONNECT, &action, &qp);
	(void)vib_sockaddr(&conn->from, local, params->service.local_port);
	(void)vib_sockaddr(&conn->to, &params->peer, params->service.port);
	conn->port_named = params->service.local_port != 0;
	if (conn->deadline != RI_NEVER)
		host->timer_start(host->self, &conn->timer, conn->deadline);
	address_resolve(conn, qp);
}

bool
vib_conn_again(struct vib_conn *conn, struct vib_qp *qp, int error)
{
	struct rdma_cm_id *id, *former = conn->id;
	enum vib_action action;

	if (error != EADDRINUSE || conn->port_named || conn->agains == AGAINS_MAX)
		return false;
	if (rdma_create_id(conn->cm->channel, &id, conn, RDMA_PS_TCP) != 0)
		return false;
	/* It may have been given up. */
	if (!vib_conn_step(conn, VIB_STEP_AGAIN, &action, &qp)) {
		(void)rdma_destroy_id(id);
		return false;
	}
	conn->agains++;
	pthread_mutex_lock(&conn->cm->lock);
	conn->id = id;
	pthread_mutex_unlock(&conn->cm->lock);
	if (qp != NULL)
		vib_log_qp(qp, RI_LOG_DEBUG, "rdma_connect: %s: again with another port",
			   ri_errno_text(error));
	/* The call is over and no event of it is being handled, so this does not wait. */
	(void)rdma_destroy_id(former);
	if (qp != NULL)
		address_resolve(conn, qp);
	return true;
}

enum ri_status
vib_connect(struct ri_qp *ri, const struct ri_cm_params *params)
{
	struct vib_qp *qp = (struct vib_qp *)ri;
	struct ri_rnic *rnic = qp->pd->context->rnic;
	enum ri_status status = connect_check(rnic, params);
	struct ri_addr local = params->local;
	struct vib_conn *conn;

	if (status != RI_SUCCESS)
		return status;
	if (atomic_load(&rnic->failed))
		return RI_ERR_FATAL;
	if (!vib_source_addr(rnic, params->port, &params->peer, &local))
		return RI_ERR_NO_ROUTE;
	conn = vib_conn_new(rnic->cm);
	if (conn == NULL)
		return vib_status_of_errno(errno);
	vib_conn_fill(conn, params);
	status = vib_conn_tie(conn, qp);
	if (status != RI_SUCCESS) {
		vib_conn_free(conn);
		return status;
	}
	pthread_mutex_lock(&qp->lock);
	vib_peer_name(qp, &params->peer, params->service.port);
	pthread_mutex_unlock(&qp->lock);
	attempt_start(conn, qp, params, &local);
	return RI_SUCCESS;
}

/* The caller's verb excludes others on this queue pair, so its connection stays. */
static enum ri_status
conn_call(struct vib_qp *qp, enum vib_step step)
{
	struct vib_conn *conn = qp->conn;
	enum vib_action action;

	if (conn == NULL || !vib_conn_step(conn, step, &action, &qp))
		return RI_ERR_INVALID_STATE;
	vib_conn_do(conn, action, qp, NULL);
	return RI_SUCCESS;
}

enum ri_status
vib_confirm(struct ri_qp *ri, bool accept, const void *pdata, uint16_t len)
{
	struct vib_qp *qp = (struct vib_qp *)ri;
	struct ri_rnic *rnic = qp->pd->context->rnic;
	struct vib_conn *conn = qp->conn;
	enum ri_status status;

	if (len > (accept ? rnic->attr.confirm_pdata : rnic->attr.reject_pdata))
		return RI_ERR_INVALID_ARG;
	if (conn == NULL)
		return RI_ERR_INVALID_STATE;
	status = conn_call(qp, accept ? VIB_STEP_CALL_CONFIRM : VIB_STEP_CALL_REFUSE);
	if (status != RI_SUCCESS)
		return status;
	if (accept)
		rnic->host->task_run(rnic->host->self, &conn->finish);
	else
		(void)rdma_reject(conn->id, pdata, (uint8_t)len); /* the peer may be gone */
	return RI_SUCCESS;
}

enum ri_status
vib_disconnect(struct ri_qp *ri, const void *pdata, uint16_t len)
{
	struct vib_qp *qp = (struct vib_qp *)ri;

	(void)pdata;
	if (len != 0)
		return RI_ERR_INVALID_ARG;
	vib_chain_finish(&qp->user); /* what is kept back goes out before the end [IT 7.2.2] */
	return conn_call(qp, VIB_STEP_CALL_DISCONNECT);
}

void
vib_cm_abort(struct vib_qp *qp)
{
	(void)!conn_call(qp, VIB_STEP_CALL_ABORT); /* there may be none, or it is over */
}

enum ri_status
vib_cm_close_qp(struct vib_qp *qp)
{
	return vib_disconnect((struct ri_qp *)qp, NULL, 0);
}
