/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Calls of the owner on one exchange. Each is checked in full before anything is sent or changed. */
#include "vrc_conn.h"
#include "vrc_ip.h"
#include "vrc_reason.h"

#define DEPTH_MAX 255u
#define RETRY_MAX 7u
#define PSN_MASK  0xffffffu

/* --- checks ---------------------------------------------------------------------------------- */

static bool
pdata_fits(const void *pdata, size_t len, size_t room)
{
	return len <= room && (len == 0 || pdata != NULL);
}

static bool
service_is_known(const struct ri_service *service)
{
	return (service->kind == RI_SERVICE_PORT && service->port != 0) ||
	       (service->kind == RI_SERVICE_IB && service->id != 0);
}

/* What a request leaves to its caller. A port has the same header if it is named by its service id. */
static size_t
consumer_room(enum vrc_attribute attribute, const struct ri_service *service)
{
	bool datagram = attribute == VRC_SIDR_REQ;
	bool port = vrc_service_is_port(vrc_service_id(service, datagram), datagram);

	return vrc_private_room(attribute) - (port ? VRC_IP_HEADER_SIZE : 0);
}

static bool
path_is_whole(const struct vrc_path *path)
{
	return path->local.family != RI_ADDR_NONE && path->local.family == path->peer.family;
}

static bool
qpn_is_legal(uint32_t qpn)
{
	return qpn >= VRC_QPN_MIN && qpn <= VRC_QPN_MAX;
}

static uint64_t
deadline_of(const struct vrc_params *params)
{
	return params->deadline != 0 ? params->deadline : RI_NEVER;
}

/* What a connect and an accept have in common. */
static enum ri_status
side_check(const struct vrc_params *params, size_t room)
{
	if (!qpn_is_legal(params->qpn) || params->rnr_retry > RETRY_MAX ||
	    !pdata_fits(params->pdata, params->pdata_len, room))
		return RI_ERR_INVALID_ARG;
	return params->ird > DEPTH_MAX || params->ord > DEPTH_MAX ? RI_ERR_LIMIT : RI_SUCCESS;
}

static enum ri_status
connect_check(const struct vrc_cm *cm, const struct vrc_params *params)
{
	size_t room = consumer_room(VRC_REQ, &params->service);

	if (!service_is_known(&params->service) || !path_is_whole(&params->path) ||
	    vrc_mtu_code(params->mtu) == 0 || params->mtu > cm->config.path_mtu ||
	    params->retry_count > RETRY_MAX || params->ack_timeout > VRC_TIME_MAX)
		return RI_ERR_INVALID_ARG;
	return side_check(params, room);
}

/* --- active side ----------------------------------------------------------------------------- */

/* A new exchange of this side, to a service; NULL: no room. */
static struct vrc_conn *
active_new(struct vrc_cm *cm, const struct vrc_params *params, bool datagram)
{
	struct vrc_conn *conn = vrc_conn_new(cm, &params->path);

	if (conn == NULL)
		return NULL;
	conn->active = true;
	conn->datagram = datagram;
	conn->ctx = params->ctx;
	conn->service = params->service;
	conn->service_id = vrc_service_id(&params->service, datagram);
	conn->deadline = deadline_of(params);
	vrc_random(cm, &conn->tid, sizeof(conn->tid));
	return conn;
}

enum ri_status
vrc_connect(struct vrc_cm *cm, const struct vrc_params *params, uint64_t *number)
{
	const struct vrc_input none = {0};
	enum ri_status status = connect_check(cm, params);

	if (status != RI_SUCCESS)
		return status;
	struct vrc_conn *conn = active_new(cm, params, false);
	if (conn == NULL)
		return RI_ERR_RESOURCES;
	conn->three_way = params->three_way;
	conn->qpn = params->qpn;
	conn->srq = params->srq;
	conn->reach.path.port = params->path.port;
	conn->reach.path.source = params->path.local;
	conn->reach.path.dest = params->path.peer;
	conn->reach.path_mtu = params->mtu;
	conn->reach.min_rnr_timer = VRC_RNR_TIMER;
	conn->reach.timeout = params->ack_timeout != 0 ? params->ack_timeout : VRC_ACK_TIMEOUT;
	conn->reach.retry_count = params->retry_count;
	vrc_random(cm, &conn->reach.rq_psn, sizeof(conn->reach.rq_psn));
	conn->reach.rq_psn &= PSN_MASK;
	vrc_compose_req(conn, params);
	*number = conn->number;
	(void)vrc_step(conn, VRC_STEP_CALL_CONNECT, &none);
	return RI_SUCCESS;
}

enum ri_status
vrc_confirm(struct vrc_cm *cm, uint64_t number, bool accept, const void *pdata, uint16_t len)
{
	const struct vrc_input in = {.pdata = pdata, .pdata_len = len};
	struct vrc_conn *conn = vrc_find_number(cm, number);

	if (!pdata_fits(pdata, len, accept ? VRC_PDATA_CONFIRM : VRC_PDATA_REJECT))
		return RI_ERR_INVALID_ARG;
	if (conn == NULL)
		return RI_ERR_INVALID_HANDLE;
	if (!vrc_step_allowed(conn, VRC_STEP_CALL_CONFIRM))
		return RI_ERR_INVALID_STATE;
	if (accept) {
		(void)vrc_step(conn, VRC_STEP_CALL_CONFIRM, &in);
		return RI_SUCCESS;
	}
	vrc_compose_rej(conn, VRC_REJ_CONSUMER, &in);
	(void)vrc_step(conn, VRC_STEP_CALL_REFUSE, &in);
	return RI_SUCCESS;
}

/* --- passive side ---------------------------------------------------------------------------- */

enum ri_status
vrc_accept(struct vrc_cm *cm, uint64_t number, const struct vrc_params *params)
{
	const struct vrc_input none = {0};
	struct vrc_conn *conn = vrc_find_number(cm, number);
	enum ri_status status = side_check(params, VRC_PDATA_ACCEPT);

	if (status != RI_SUCCESS)
		return status;
	if (conn == NULL || !vrc_step_allowed(conn, VRC_STEP_CALL_ACCEPT))
		return RI_ERR_INVALID_HANDLE;
	vrc_request_uncount(conn);
	conn->listen = NULL;
	conn->owner = NULL;
	conn->ctx = params->ctx;
	conn->qpn = params->qpn;
	conn->deadline = deadline_of(params);
	vrc_compose_rep(conn, params, conn->reach.rq_psn);
	(void)vrc_step(conn, VRC_STEP_CALL_ACCEPT, &none);
	return RI_SUCCESS;
}

enum ri_status
vrc_reject(struct vrc_cm *cm, uint64_t number, enum ri_cm_reason reason, const void *pdata,
	   uint16_t len)
{
	const struct vrc_input in = {.pdata = pdata, .pdata_len = len};
	struct vrc_conn *conn = vrc_find_number(cm, number);

	if (!pdata_fits(pdata, len, VRC_PDATA_REJECT))
		return RI_ERR_INVALID_ARG;
	if (conn == NULL || !vrc_step_allowed(conn, VRC_STEP_CALL_REJECT))
		return RI_ERR_INVALID_HANDLE;
	vrc_compose_rej(conn, vrc_rej_of_reason(reason), &in);
	conn->silent = true; /* the number is gone, though the exchange repeats its answer */
	conn->pending_count = 0;
	vrc_link_remove(&conn->ready);
	(void)vrc_step(conn, VRC_STEP_CALL_REJECT, &in);
	return RI_SUCCESS;
}

void
vrc_data_arrived(struct vrc_cm *cm, uint64_t number)
{
	const struct vrc_input none = {0};
	struct vrc_conn *conn = vrc_find_number(cm, number);

	if (conn != NULL)
		(void)vrc_step(conn, VRC_STEP_DATA, &none);
}

bool
vrc_reach(const struct vrc_cm *cm, uint64_t number, struct ri_peer *reach)
{
	const struct vrc_conn *conn = vrc_find_number(cm, number);

	if (conn == NULL)
		return false;
	*reach = conn->reach;
	return true;
}

/* --- both ------------------------------------------------------------------------------------ */

enum ri_status
vrc_disconnect(struct vrc_cm *cm, uint64_t number, const void *pdata, uint16_t len)
{
	const struct vrc_input in = {.pdata = pdata, .pdata_len = len};
	struct vrc_conn *conn = vrc_find_number(cm, number);

	if (!pdata_fits(pdata, len, VRC_PDATA_DISCONNECT))
		return RI_ERR_INVALID_ARG;
	if (conn == NULL)
		return RI_ERR_INVALID_HANDLE;
	if (!vrc_step_allowed(conn, VRC_STEP_CALL_DISCONNECT))
		return RI_ERR_INVALID_STATE;
	/* A REJ that ends an attempt has less room, and its reason says all. */
	if (conn->state != VRC_STATE_ESTABLISHED && len != 0)
		return RI_ERR_INVALID_ARG;
	(void)vrc_step(conn, VRC_STEP_CALL_DISCONNECT, &in);
	return RI_SUCCESS;
}

void
vrc_abandon(struct vrc_cm *cm, uint64_t number)
{
	const struct ri_service_answer none = {.status = RI_SERVICE_REJECTED};
	const struct vrc_input in = {0};
	struct vrc_conn *conn = vrc_find_number(cm, number);

	if (conn == NULL)
		return;
	if (vrc_step_allowed(conn, VRC_STEP_CALL_REJECT)) {
		(void)vrc_reject(cm, number, RI_CM_REASON_CONSUMER, NULL, 0);
		return;
	}
	if (vrc_step_allowed(conn, VRC_STEP_CALL_ANSWER)) {
		(void)vrc_answer(cm, number, &none);
		return;
	}
	conn->silent = true;
	conn->pending_count = 0;
	vrc_link_remove(&conn->ready);
	(void)vrc_step(conn, VRC_STEP_CALL_ABANDON, &in);
}

/* --- queries --------------------------------------------------------------------------------- */

enum ri_status
vrc_resolve(struct vrc_cm *cm, const struct vrc_params *params, uint64_t *number)
{
	const struct vrc_input none = {0};
	size_t room = consumer_room(VRC_SIDR_REQ, &params->service);

	if (!service_is_known(&params->service) || !path_is_whole(&params->path) ||
	    !pdata_fits(params->pdata, params->pdata_len, room))
		return RI_ERR_INVALID_ARG;
	struct vrc_conn *conn = active_new(cm, params, true);
	if (conn == NULL)
		return RI_ERR_RESOURCES;
	vrc_compose_sidr_req(conn, params);
	*number = conn->number;
	(void)vrc_step(conn, VRC_STEP_CALL_RESOLVE, &none);
	return RI_SUCCESS;
}

enum ri_status
vrc_answer(struct vrc_cm *cm, uint64_t number, const struct ri_service_answer *answer)
{
	const struct vrc_input none = {0};
	struct vrc_conn *conn = vrc_find_number(cm, number);

	if (answer->status >= RI_SERVICE_STATUS_COUNT ||
	    !pdata_fits(answer->pdata, answer->pdata_len, VRC_PDATA_ANSWER) ||
	    (answer->status == RI_SERVICE_FOUND && !qpn_is_legal(answer->qpn)))
		return RI_ERR_INVALID_ARG;
	if (conn == NULL || !vrc_step_allowed(conn, VRC_STEP_CALL_ANSWER))
		return RI_ERR_INVALID_HANDLE;
	vrc_compose_sidr_rep(conn, answer);
	conn->silent = true;
	conn->pending_count = 0;
	vrc_link_remove(&conn->ready);
	(void)vrc_step(conn, VRC_STEP_CALL_ANSWER, &none);
	return RI_SUCCESS;
}
