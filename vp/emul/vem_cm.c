/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Connection management of the fabric: listeners, requests, and the messages between two queue pairs that connect.
 *
 *     iWARP, two-way:    connect -> REQUEST; accept: passive up, then REPLY: active up
 *     IB, three-way:     connect -> REQUEST; accept: REPLY; confirm: active up, then CONFIRM: passive up
 *
 * With IB and without three_way the active side confirms by itself. A request is named by a number, not by
 * its address: it may end at any moment because its peer withdraws it, and then an answer finds no request.
 * The fabric's lock protects requests and listeners. Upcalls are made without it, on the service thread:
 * those for queue pairs by the task of the queue pair, those for listeners by the task of the adapter.
 */
#include <stdlib.h>
#include <string.h>

#include "vem_cm.h"
#include "vem_fault.h"
#include "vem_peer.h"
#include "vem_remote.h"
#include "vem_wire.h"

#define PSN_MASK      0xffffffu
#define FIRST_PORT    49152u /* of those that an active end takes by itself */
#define PORTS         16384u
#define REACH_TIMEOUT 14 /* 67 ms */

/* --- upcalls ------------------------------------------------------------------------------ */

void
vem_cm_event_hello(struct ri_cm_event *event, const struct vem_hello *hello)
{
	event->ird_ord_valid = hello->ird_ord;
	event->ird = hello->ird_ord ? hello->ird : 0;
	event->ord = hello->ird_ord ? hello->ord : 0;
	event->pdata_present = hello->field || hello->pdata_len != 0;
	event->pdata_len = hello->pdata_len;
	memcpy(event->pdata, hello->pdata, hello->pdata_len);
}

void
vem_cm_tell(struct vem_qp *qp, enum ri_cm_event_kind kind, enum ri_cm_reason reason,
	    const struct vem_hello *hello)
{
	const struct ri_upcalls *up = qp->rnic->upcalls;
	struct ri_cm_event event = {.kind = kind, .reason = reason, .ctx = qp->in.ctx};

	if (kind == RI_CM_REPLY || kind == RI_CM_ESTABLISHED)
		event.reach = qp->reach;
	if (hello != NULL)
		vem_cm_event_hello(&event, hello);
	up->cm_event(up->self, &event);
}

/* Take the next request that is to be raised; *event is a copy. Called with the lock. */
static bool
request_next_offered(struct ri_rnic *rnic, struct ri_cm_event *event)
{
	if (vsw_list_empty(&rnic->offered))
		return false;

	struct vem_conn *conn = vsw_of(rnic->offered.next, struct vem_conn, event_node);
	vsw_list_remove(&conn->event_node);
	conn->told = true;
	*event = conn->event;
	return true;
}

/* Take the event of the next request whose peer gave up, and free the request. Called with the lock. */
static bool
request_next_gone(struct ri_rnic *rnic, struct ri_cm_event *event)
{
	if (vsw_list_empty(&rnic->withdrawn))
		return false;

	struct vem_conn *conn = vsw_of(rnic->withdrawn.next, struct vem_conn, event_node);
	vsw_list_remove(&conn->event_node);
	*event = (struct ri_cm_event){
		.kind = RI_CM_REQUEST_GONE, .ctx = conn->event.ctx, .request = conn->event.request};
	free(conn);
	return true;
}

void
vem_cm_rnic_task(void *arg)
{
	struct ri_rnic *rnic = arg;
	struct ri_cm_event event;

	for (;;) {
		struct vem_query *query = NULL;
		pthread_mutex_lock(&rnic->fabric->lock);
		if (rnic->fabric->shm != NULL)
			vem_remote_query_send_all(rnic->fabric);
		bool found = request_next_offered(rnic, &event) || request_next_gone(rnic, &event);
		if (!found)
			query = vem_query_next_answered(rnic);
		pthread_mutex_unlock(&rnic->fabric->lock);
		if (!found && query == NULL)
			return;
		if (query != NULL)
			event = query->event;
		vem_query_free(
			query); /* before the upcall, in which its context may be destroyed */
		rnic->upcalls->cm_event(rnic->upcalls->self, &event);
	}
}

/* --- requests ----------------------------------------------------------------------------- */

/* The port that it connects from: the application's choice, or the next one. Called with the lock. */
uint16_t
vem_cm_local_port(struct vem_qp *qp)
{
	/* Of the process, as a kernel's: a fabric that is made anew does not begin with the ports of the last one. */
	static atomic_uint last;

	if (qp->to.service.local_port == 0)
		qp->to.service.local_port = __builtin_bswap16(
			(uint16_t)(FIRST_PORT + atomic_fetch_add(&last, 1) % PORTS));
	return qp->to.service.local_port;
}

struct ri_peer
vem_cm_reach(const struct vem_fabric *fabric, uint32_t qpn, const struct ri_addr *there,
	     const struct ri_addr *here, const struct vem_hello *hello)
{
	if (fabric->personality != VEM_IB)
		return (struct ri_peer){0};
	return (struct ri_peer){
		.path = {.dest = *there, .source = *here},
		.qpn = qpn,
		.path_mtu = VEM_MAX_DATAGRAM,
		.ird = hello->ord,
		.min_rnr_timer = VEM_CM_RNR_CODE,
		.ord = hello->ird,
		.timeout = REACH_TIMEOUT,
		.retry_count = hello->retries ? hello->retry_count : VEM_RETRIES_MAX,
		.rnr_retry = hello->retries ? hello->rnr_retry : VEM_RETRIES_MAX,
	};
}

uint64_t
vem_cm_rnr_wait(const struct ri_rnic *rnic, const struct vem_hello *hello)
{
	return hello->retries ? vem_peer_rnr_wait(hello->rnr_retry, VEM_CM_RNR_CODE)
			      : rnic->rnr_wait;
}

static struct ri_peer
reach_of(const struct vem_qp *other, const struct ri_addr *there, const struct ri_addr *here,
	 const struct vem_hello *hello)
{
	return vem_cm_reach(other->rnic->fabric, vem_qp_number(other), there, here, hello);
}

/* Called with the lock. */
static enum ri_cm_reason
conn_create(struct vem_qp *qp, struct ri_listen *listen)
{
	const struct ri_host *host = qp->rnic->host;
	struct ri_cm_event event = {
		.kind = RI_CM_REQUEST, .peer = qp->to.local, .local = qp->to.peer};

	vem_cm_event_hello(&event, &qp->said);
	struct vem_conn *conn = vem_conn_new(listen, &event);
	if (conn == NULL)
		return RI_CM_REASON_RESOURCES;
	if (qp->rnic->fabric->personality == VEM_IB) {
		host->random(host->self, conn->psn, sizeof(conn->psn));
		conn->psn[0] &= PSN_MASK;
		conn->psn[1] &= PSN_MASK;
		conn->event.reach = reach_of(qp, &qp->to.local, &qp->to.peer, &qp->said);
		conn->event.reach.rq_psn = conn->psn[0];
		conn->event.reach.sq_psn = conn->psn[1];
	}
	if (listen->service.kind == RI_SERVICE_PORT)
		conn->event.service.local_port = vem_cm_local_port(qp);
	conn->rnr_wait = vem_cm_rnr_wait(conn->rnic, &qp->said);
	conn->active = qp;
	qp->conn = conn;
	return RI_CM_REASON_OTHER;
}

void
vem_cm_offer(struct vem_qp *qp)
{
	struct vem_fabric *fabric = qp->rnic->fabric;
	enum ri_cm_reason reason = RI_CM_REASON_OTHER;
	struct ri_addr local = qp->to.local;

	if (atomic_load(&qp->by_peer)) {
		pthread_mutex_lock(&fabric->lock);
		vem_remote_join(qp);
		pthread_mutex_unlock(&fabric->lock);
		return;
	}
	if (atomic_load(&qp->state) != RI_QPS_CONNECTING)
		return;
	if (!vem_addr_source(fabric, &qp->to.peer, &local)) {
		vem_attempt_failed(qp, RI_CM_REASON_BAD_PATH);
		return;
	}
	pthread_mutex_lock(&fabric->lock);
	qp->to.local = local;
	/* Between processes all go through links, to a listener in this process, too. */
	struct ri_listen *listen =
		fabric->shm == NULL ? vem_listen_find(fabric, &qp->to.service) : NULL;
	const struct ri_rnic *there = listen != NULL ? listen->context->rnic : NULL;
	bool held = there != NULL && vem_wire_holds_offer(qp, listen->context->rnic);
	if (vem_fault_offline(qp->rnic) || (there != NULL && vem_fault_offline(there)))
		reason = RI_CM_REASON_BAD_PATH;
	else if (held)
		reason = RI_CM_REASON_TIMEOUT;
	else if (there == NULL && fabric->shm != NULL)
		reason = vem_remote_offer(qp);
	else if (there == NULL)
		reason = RI_CM_REASON_REFUSED;
	else if (!vem_fault_dead(there))
		reason = conn_create(qp, listen);
	bool offered = held || qp->conn != NULL || atomic_load(&qp->remote) != NULL;
	pthread_mutex_unlock(&fabric->lock);
	if (!offered)
		vem_attempt_failed(qp, reason);
}

void
vem_cm_withdraw(struct vem_qp *qp)
{
	struct vem_fabric *fabric = qp->rnic->fabric;

	pthread_mutex_lock(&fabric->lock);
	vem_wire_withdraw(qp);
	if (qp->conn != NULL)
		vem_conn_withdraw(qp->conn);
	if (atomic_load(&qp->remote) != NULL)
		vem_remote_withdraw(atomic_load(&qp->remote));
	pthread_mutex_unlock(&fabric->lock);
}

/* On the service thread: the time of an attempt is over. */
void
vem_cm_timeout(void *arg)
{
	struct vem_qp *qp = arg;
	struct vem_cause cause = {
		.kind = RI_CM_FAILED, .reason = RI_CM_REASON_TIMEOUT, .message = VEM_MSG_LOST};

	vem_qp_move(qp, VEM_MOVE_FAIL, &cause);
}

void
vem_cm_waited(void *arg)
{
	vem_cm_tell(arg, RI_CM_TIME_WAIT_OVER, RI_CM_REASON_OTHER, NULL);
}

/* An adapter closes: refuse and free the requests that are not answered. */
void
vem_cm_rnic_close(struct ri_rnic *rnic)
{
	struct vem_fabric *fabric = rnic->fabric;
	struct vsw_item *next = NULL;

	pthread_mutex_lock(&fabric->lock);
	for (struct vsw_item *i = fabric->conns.next; i != &fabric->conns; i = next) {
		struct vem_conn *conn = vsw_of(i, struct vem_conn, item);
		next = i->next;
		if (conn->rnic != rnic)
			continue;
		vem_conn_fail(conn);
	}
	while (!vsw_list_empty(&rnic->withdrawn)) {
		struct vem_conn *conn = vsw_of(rnic->withdrawn.next, struct vem_conn, event_node);
		vsw_list_remove(&conn->event_node);
		free(conn);
	}
	pthread_mutex_unlock(&fabric->lock);
	rnic->host->task_stop(rnic->host->self, &rnic->task);
}

/* --- both sides --------------------------------------------------------------------------- */

/* Messages of InfiniBand always have the field for private data, those of MPA only if there is some. */
static struct vem_hello
hello_of(const struct vem_fabric *fabric, const struct ri_cm_params *params)
{
	struct vem_hello hello = {.ird = params->ird,
				  .ord = params->ord,
				  .ird_ord = params->ird_ord,
				  .retries = params->retries && fabric->personality == VEM_IB,
				  .retry_count = params->retry_count,
				  .rnr_retry = params->rnr_retry,
				  .field = fabric->personality == VEM_IB,
				  .pdata_len = params->pdata_len};

	if (params->pdata_len != 0)
		memcpy(hello.pdata, params->pdata, params->pdata_len);
	return hello;
}

static enum ri_status
params_check(const struct vem_qp *qp, const struct ri_cm_params *params, bool connect)
{
	struct ri_rnic_attr attr = {.size = sizeof(attr)};

	vem_profile(qp->rnic->fabric, &attr);
	if (params->pdata_len > (connect ? attr.connect_pdata : attr.accept_pdata))
		return RI_ERR_INVALID_ARG;
	if (params->ird > attr.max_ird || params->ord > attr.max_ord)
		return RI_ERR_LIMIT;
	if (qp->init.type == RI_QP_UC)
		return RI_ERR_UNSUPPORTED;
	if (connect && params->three_way && !attr.three_way_handshake)
		return RI_ERR_UNSUPPORTED;
	if (params->retries &&
	    (params->retry_count > VEM_RETRIES_MAX || params->rnr_retry > VEM_RETRIES_MAX))
		return RI_ERR_INVALID_ARG;
	if (connect && !vem_service_is_known(qp->rnic->fabric, &params->service))
		return RI_ERR_INVALID_ARG;
	return atomic_load(&qp->state) == RI_QPS_IDLE ? RI_SUCCESS : RI_ERR_INVALID_STATE;
}

static void
depths_set(struct vem_qp *qp, const struct ri_cm_params *params)
{
	if (!params->ird_ord)
		return;
	atomic_store(&qp->in.ird, params->ird);
	atomic_store(&qp->ord, params->ord);
}

/* The attempt fails at the deadline; qp_come_up stops the timer. */
static void
attempt_timer_start(struct vem_qp *qp, uint64_t deadline)
{
	const struct ri_host *host = qp->rnic->host;

	if (deadline != RI_NEVER && deadline != 0 && atomic_load(&qp->state) == RI_QPS_CONNECTING)
		host->timer_start(host->self, &qp->cm_timer, deadline);
}

static enum ri_status
cm_connect(struct ri_qp *ri, const struct ri_cm_params *params)
{
	struct vem_qp *qp = (struct vem_qp *)ri;
	struct vem_fabric *fabric = qp->rnic->fabric;
	enum ri_status status = params_check(qp, params, true);

	if (status != RI_SUCCESS)
		return status;
	if (params->local.family != RI_ADDR_NONE && !vem_addr_is_local(fabric, &params->local))
		return RI_ERR_NO_ROUTE;
	pthread_mutex_lock(&fabric->lock);
	qp->to = *params;
	qp->to.pdata = NULL;
	qp->said = hello_of(fabric, params);
	qp->passive = false;
	qp->replied = false;
	pthread_mutex_unlock(&fabric->lock);
	depths_set(qp, params);
	if (!vem_qp_move(qp, VEM_MOVE_CONNECT, NULL))
		return RI_ERR_INVALID_STATE;
	attempt_timer_start(qp, params->deadline);
	vem_qp_message(qp, VEM_MSG_CONNECT, 0, NULL);
	return RI_SUCCESS;
}

/* Accept a request from another process. */
static enum ri_status
conn_accept_remote(struct vem_conn *conn, struct vem_qp *qp, const struct ri_cm_params *params)
{
	struct vem_remote *remote = conn->remote;
	bool ib = qp->rnic->fabric->personality == VEM_IB;
	enum ri_status status;

	qp->said = hello_of(qp->rnic->fabric, params);
	qp->reach = conn->event.reach;
	qp->rnr_wait = conn->rnr_wait;
	status = vem_remote_accept(remote, qp);
	if (status != RI_SUCCESS)
		return status;
	qp->passive = true;
	depths_set(qp, params);
	(void)vem_qp_move(qp, VEM_MOVE_CONNECT, NULL); /* from IDLE, as was checked */
	conn->remote = NULL;
	vem_conn_close(conn);
	free(conn);
	if (ib)
		vem_remote_message(remote, VEM_MSG_REPLY, 0, &qp->said);
	else
		vem_qp_message(qp, VEM_MSG_OPEN, 0, NULL);
	return RI_SUCCESS;
}

/* Pair the queue pair with that of the request; called with the lock. It has its depths before its peer hears of the accept. */
static enum ri_status
conn_accept(struct vem_conn *conn, struct vem_qp *qp, const struct ri_cm_params *params)
{
	struct vem_qp *active = conn->active;
	enum ri_status status;

	if (conn->remote != NULL)
		return conn_accept_remote(conn, qp, params);
	/* Data of one that has queues would find none at the other. */
	if (active->init.type != qp->init.type)
		return RI_ERR_UNSUPPORTED;
	status = vem_pair_create(active, qp);
	if (status != RI_SUCCESS)
		return status;
	qp->passive = true;
	qp->said = hello_of(qp->rnic->fabric, params);
	qp->reach = conn->event.reach;
	qp->rnr_wait = conn->rnr_wait;
	active->rnr_wait = vem_cm_rnr_wait(active->rnic, &qp->said);
	active->reach = reach_of(qp, &active->to.peer, &active->to.local, &qp->said);
	active->reach.rq_psn = qp->reach.sq_psn;
	active->reach.sq_psn = qp->reach.rq_psn;
	depths_set(qp, params);
	(void)vem_qp_move(qp, VEM_MOVE_CONNECT, NULL); /* from IDLE, as was checked */
	vem_conn_close(conn);
	free(conn);
	if (qp->rnic->fabric->personality == VEM_IB)
		vem_wire_message(qp->rnic, active, VEM_MSG_REPLY, 0, &qp->said);
	else
		vem_qp_message(qp, VEM_MSG_OPEN, 0, NULL);
	return RI_SUCCESS;
}

static enum ri_status
cm_accept(struct ri_request *request, struct ri_qp *ri, const struct ri_cm_params *params)
{
	struct vem_qp *qp = (struct vem_qp *)ri;
	struct vem_fabric *fabric = qp->rnic->fabric;
	enum ri_status status = params_check(qp, params, false);

	if (status != RI_SUCCESS)
		return status;
	pthread_mutex_lock(&fabric->lock);
	struct vem_conn *conn = vem_conn_find(fabric, request, false);
	status = conn != NULL ? conn_accept(conn, qp, params) : RI_ERR_INVALID_HANDLE;
	pthread_mutex_unlock(&fabric->lock);
	if (status != RI_SUCCESS)
		return status;
	attempt_timer_start(qp, params->deadline);
	return RI_SUCCESS;
}

/* Called with the lock; the request ends. */
static void
conn_refuse(struct vem_conn *conn, enum ri_cm_reason reason, const struct vem_hello *hello)
{
	struct vem_qp *active = conn->active;
	struct ri_rnic *from = conn->rnic;

	if (conn->remote != NULL) {
		if (reason == RI_CM_REASON_CONSUMER)
			vem_remote_message(conn->remote, VEM_MSG_REFUSED, 0, hello);
		else
			vem_remote_fail(conn->remote, reason);
	}
	vem_conn_close(conn);
	free(conn);
	if (active == NULL)
		return;
	if (reason == RI_CM_REASON_CONSUMER)
		vem_wire_message(from, active, VEM_MSG_REFUSED, 0, hello);
	else
		vem_attempt_failed(active, reason);
}

static enum ri_status
cm_reject(struct ri_request *request, enum ri_cm_reason reason, const void *pdata, uint16_t len)
{
	struct ri_rnic_attr attr = {.size = sizeof(attr)};
	struct vem_hello hello = {.pdata_len = len};

	if (len > RI_PDATA_MAX)
		return RI_ERR_INVALID_ARG;
	if (len != 0)
		memcpy(hello.pdata, pdata, len);
	struct vem_fabric *fabric = vem_fabric_of_request((uint64_t)(uintptr_t)request);
	if (fabric == NULL)
		return RI_ERR_INVALID_HANDLE;
	vem_profile(fabric, &attr);
	hello.field = fabric->personality == VEM_IB;
	pthread_mutex_lock(&fabric->lock);
	struct vem_conn *conn = vem_conn_find(fabric, request, false);
	bool fits = len <= attr.reject_pdata;
	if (conn != NULL && fits)
		conn_refuse(conn, reason, &hello);
	pthread_mutex_unlock(&fabric->lock);
	vem_fabric_put(fabric);
	if (!fits)
		return RI_ERR_INVALID_ARG;
	return conn != NULL ? RI_SUCCESS : RI_ERR_INVALID_HANDLE;
}

static enum ri_status
cm_confirm(struct ri_qp *ri, bool accept, const void *pdata, uint16_t len)
{
	struct vem_qp *qp = (struct vem_qp *)ri;
	struct vem_fabric *fabric = qp->rnic->fabric;
	struct vem_cause no = {.kind = RI_CM_NONE, .message = VEM_MSG_REFUSED};
	struct ri_rnic_attr attr = {.size = sizeof(attr)};

	vem_profile(fabric, &attr);
	if (len > (accept ? attr.confirm_pdata : attr.reject_pdata))
		return RI_ERR_INVALID_ARG;
	pthread_mutex_lock(&fabric->lock);
	bool replied = qp->replied && atomic_load(&qp->state) == RI_QPS_CONNECTING;
	qp->replied = false;
	if (replied && !accept) {
		qp->said.field = fabric->personality == VEM_IB;
		qp->said.pdata_len = len;
		if (len != 0)
			memcpy(qp->said.pdata, pdata, len);
	}
	pthread_mutex_unlock(&fabric->lock);
	if (!replied)
		return RI_ERR_INVALID_STATE;
	if (accept)
		vem_qp_message(qp, VEM_MSG_OPEN, 0, NULL);
	else
		vem_qp_move(qp, VEM_MOVE_FAIL, &no);
	return RI_SUCCESS;
}

static enum ri_status
cm_disconnect(struct ri_qp *ri, const void *pdata, uint16_t len)
{
	struct vem_qp *qp = (struct vem_qp *)ri;
	struct vem_cause close = {.kind = RI_CM_DISCONNECTED, .message = VEM_MSG_CLOSE};
	struct vem_cause drop = {.kind = RI_CM_DISCONNECTED, .message = VEM_MSG_LOST};

	(void)pdata;
	if (len != 0)
		return RI_ERR_INVALID_ARG;
	if (qp->ud ||
	    atomic_load(&qp->by_peer)) /* nothing that could be ended here, though it is in RTS */
		return RI_ERR_INVALID_STATE;
	/* It may be established between the first two moves. */
	if (vem_qp_move(qp, VEM_MOVE_TO_CLOSING, &close) || vem_qp_move(qp, VEM_MOVE_FAIL, &drop) ||
	    vem_qp_move(qp, VEM_MOVE_TO_CLOSING, &close))
		return RI_SUCCESS;
	return RI_ERR_INVALID_STATE;
}

const struct ri_cm_ops vem_cm_ops = {
	.size = sizeof(struct ri_cm_ops),
	.listen = vem_listen_create,
	.listen_destroy = vem_listen_destroy,
	.connect = cm_connect,
	.accept = cm_accept,
	.reject = cm_reject,
	.confirm = cm_confirm,
	.disconnect = cm_disconnect,
	.resolve = vem_resolve,
	.resolve_cancel = vem_resolve_cancel,
	.resolve_answer = vem_resolve_answer,
};
