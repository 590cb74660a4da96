/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Queries for datagram services by SIDR, in the port space RDMA_PS_UDP of librdmacm [IT 13].
 *
 * A query resolves address and route, sends the request, and gets one answer: from the peer, or from its timer. The
 * thread that sets `answered` under vib_cm::lock raises the answer and frees the query: the service thread with an answer,
 * or the verb that withdraws it, without one. Until it is freed it is in vib_cm::queries, so that a verb can wait for an
 * upcall.
 *
 * The passive side is a request of a listener (vib_cm_request.c). With IP addresses Linux puts a fixed Q_Key into each
 * answer, and refuses with one status only.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vib_cm.h"

#define NS_PER_MS   UINT64_C(1000000)
#define STEP_MS_MAX 10000 /* for the resolution of address or route */

struct vib_query {
	enum vib_owner owner; /* first */
	struct vib_item item;
	struct vib_cm *cm;
	struct rdma_cm_id *id;
	struct ri_context *context;
	uint64_t ctx;
	uint32_t port;
	uint64_t deadline;
	struct ri_timer timer;
	struct ri_task begin; /* the first step, on the service thread like all others */
	bool answered;
	uint16_t pdata_len;
	uint8_t pdata[VIB_PDATA_QUERY];
	struct ri_cm_event answer;
};

/* The query with this number, or any, of a context. The caller owns cm->lock. */
static struct vib_query *
query_find(struct vib_cm *cm, const struct ri_context *context, uint64_t ctx, bool any)
{
	for (struct vib_item *i = cm->queries.next; i != &cm->queries; i = i->next) {
		struct vib_query *query = vib_of(i, struct vib_query, item);

		if (query->context == context && (any || query->ctx == ctx))
			return query;
	}
	return NULL;
}

void
vib_query_free(struct vib_query *query)
{
	struct vib_cm *cm = query->cm;

	cm->rnic->host->task_stop(cm->rnic->host->self, &query->begin);
	cm->rnic->host->timer_stop(cm->rnic->host->self, &query->timer);
	if (query->id != NULL)
		(void)rdma_destroy_id(query->id);
	pthread_mutex_lock(&cm->lock);
	vib_list_remove(&query->item);
	pthread_cond_broadcast(&cm->idle);
	pthread_mutex_unlock(&cm->lock);
	free(query);
}

/* On the service thread. True: the answer was raised, and the caller frees the query. */
static bool
query_answer(struct vib_query *query, enum ri_service_status status)
{
	struct vib_cm *cm = query->cm;
	bool first;

	pthread_mutex_lock(&cm->lock);
	first = !query->answered;
	query->answered = true;
	pthread_mutex_unlock(&cm->lock);
	if (!first)
		return false;
	query->answer.kind = RI_CM_SERVICE_REPLY;
	query->answer.service_status = status;
	cm->rnic->upcalls->cm_event(cm->rnic->upcalls->self, &query->answer);
	return true;
}

static void
query_timeout(void *arg)
{
	struct vib_query *query = arg;

	if (query_answer(query, RI_SERVICE_REJECTED))
		vib_query_free(query);
}

static int
ms_left(const struct vib_query *query)
{
	const struct ri_host *host = query->cm->rnic->host;
	uint64_t now = host->now(host->self);
	uint64_t ms = query->deadline > now ? (query->deadline - now) / NS_PER_MS + 1 : 1;

	return ms < STEP_MS_MAX ? (int)ms : STEP_MS_MAX;
}

/* On the service thread: ask for the address. Without a route to the peer the timer answers at once. */
static void
query_begin(void *arg)
{
	struct vib_query *query = arg;
	struct ri_rnic *rnic = query->cm->rnic;
	struct sockaddr_storage from, to;
	bool asked =
		vib_source_addr(rnic, query->port, &query->answer.peer, &query->answer.local) &&
		vib_sockaddr(&from, &query->answer.local, 0) &&
		vib_sockaddr(&to, &query->answer.peer, query->answer.service.port) &&
		vib_rdma_resolve(query->id, (struct sockaddr *)&from, (struct sockaddr *)&to,
				 ms_left(query)) == 0;

	rnic->host->timer_start(rnic->host->self, &query->timer, asked ? query->deadline : 0);
}

bool
vib_query_event(struct vib_query *query, const struct rdma_cm_event *event)
{
	struct rdma_conn_param request = {
		.private_data = query->pdata_len != 0 ? query->pdata : NULL,
		.private_data_len = (uint8_t)query->pdata_len,
	};

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		if (vib_id_is_of(query->id, query->cm->rnic) &&
		    rdma_resolve_route(query->id, ms_left(query)) == 0)
			return false;
		return query_answer(query, RI_SERVICE_REJECTED);
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		if (rdma_connect(query->id, &request) == 0)
			return false;
		return query_answer(query, RI_SERVICE_REJECTED);
	case RDMA_CM_EVENT_ESTABLISHED:
		query->answer.qpn = event->param.ud.qp_num;
		query->answer.qkey = event->param.ud.qkey;
		vib_event_pdata(&query->answer, event->param.ud.private_data,
				event->param.ud.private_data_len);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_REQUEST:
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
	case RDMA_CM_EVENT_MULTICAST_JOIN:
	case RDMA_CM_EVENT_MULTICAST_ERROR:
	case RDMA_CM_EVENT_ADDR_CHANGE:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
	default:
		break;
	}
	return query_answer(query, vib_service_status_of_event(event->event, event->status));
}

/* --- verbs ------------------------------------------------------------------------------------------ */

/* Withdraw the query, or wait until its answer was raised. False: no such query. */
static bool
query_end(struct ri_context *context, uint64_t ctx, bool any)
{
	struct vib_cm *cm = context->rnic->cm;
	struct vib_query *query;

	pthread_mutex_lock(&cm->lock);
	while ((query = query_find(cm, context, ctx, any)) != NULL && query->answered)
		pthread_cond_wait(&cm->idle, &cm->lock);
	if (query != NULL)
		query->answered = true;
	pthread_mutex_unlock(&cm->lock);
	if (query != NULL)
		vib_query_free(query);
	return query != NULL;
}

void
vib_query_end_all(struct ri_context *context)
{
	while (query_end(context, 0, true))
		;
}

void
vib_resolve_cancel(struct ri_context *context, uint64_t ctx)
{
	(void)query_end(context, ctx, false);
}

enum ri_status
vib_resolve(struct ri_context *context, uint64_t ctx, const struct ri_cm_params *params)
{
	const struct ri_host *host = context->rnic->host;
	const struct ri_rnic *rnic = context->rnic;
	struct vib_cm *cm = rnic->cm;
	enum ri_status status = RI_SUCCESS;
	struct vib_query *query, *other;

	if (!rnic->attr.ud)
		return RI_ERR_UNSUPPORTED;
	if (params->port >= rnic->attr.num_ports ||
	    params->pdata_len > rnic->attr.ud_request_pdata ||
	    params->pdata_len > VIB_PDATA_QUERY || params->service.kind != RI_SERVICE_PORT ||
	    params->service.port == 0)
		return RI_ERR_INVALID_ARG;
	if (atomic_load(&rnic->failed))
		return RI_ERR_FATAL;
	query = calloc(1, sizeof(*query));
	if (query == NULL)
		return RI_ERR_RESOURCES;
	query->owner = VIB_OWNER_QUERY;
	query->cm = cm;
	query->context = context;
	query->ctx = ctx;
	query->deadline = params->deadline;
	query->timer.fire = query_timeout;
	query->timer.arg = query;
	query->begin.fire = query_begin;
	query->begin.arg = query;
	query->port = params->port;
	query->pdata_len = params->pdata_len;
	if (params->pdata_len != 0)
		memcpy(query->pdata, params->pdata, params->pdata_len);
	query->answer = (struct ri_cm_event){.ctx = ctx,
					     .peer = params->peer,
					     .local = params->local,
					     .service = params->service};
	if (rdma_create_id(cm->channel, &query->id, query, RDMA_PS_UDP) != 0) {
		free(query);
		return RI_ERR_RESOURCES;
	}
	pthread_mutex_lock(&cm->lock);
	other = query_find(cm, context, ctx, false);
	if (other == NULL || other->answered)
		vib_list_add(&cm->queries, &query->item);
	else
		status = RI_ERR_BUSY;
	pthread_mutex_unlock(&cm->lock);
	if (status == RI_SUCCESS) {
		host->task_run(host->self, &query->begin);
		return RI_SUCCESS;
	}
	(void)rdma_destroy_id(query->id);
	free(query);
	return status;
}

enum ri_status
vib_resolve_answer(struct ri_request *request, const struct ri_service_answer *answer)
{
	bool found = answer->status == RI_SERVICE_FOUND;
	struct rdma_conn_param reply = {
		.private_data = answer->pdata_len != 0 ? answer->pdata : NULL,
		.private_data_len = (uint8_t)answer->pdata_len,
		.qp_num = answer->qpn,
	};
	struct vib_conn *conn = vib_request_take(request, true);
	struct ri_rnic *rnic;

	if (conn == NULL)
		return RI_ERR_INVALID_HANDLE;
	rnic = conn->cm->rnic;
	if (answer->status >= RI_SERVICE_STATUS_COUNT ||
	    answer->pdata_len > rnic->attr.ud_reply_pdata ||
	    (found && answer->qkey != RDMA_UDP_QKEY)) {
		if (found && answer->qkey != RDMA_UDP_QKEY)
			vib_log(rnic, RI_LOG_WARNING, "a service can be found with Q_Key %#x only",
				RDMA_UDP_QKEY);
		vib_request_put_back(conn);
		return RI_ERR_INVALID_ARG;
	}
	vib_request_done(conn);
	if (!found)
		vib_request_refuse(conn, RI_CM_REASON_CONSUMER, answer->pdata, answer->pdata_len);
	else if (rdma_accept(conn->id, &reply) != 0)
		vib_log(rnic, RI_LOG_DEBUG, "rdma_accept: %s", ri_errno_text(errno));
	vib_conn_free(conn);
	return RI_SUCCESS;
}
