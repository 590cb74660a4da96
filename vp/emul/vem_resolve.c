/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Queries for datagram services, InfiniBand's SIDR [IT 13].
 *
 * A query is named by a number of the layer above and gets one answer: from the service, from the fabric if
 * there is no listener, or from its own timer. The service sees a request like one for a connection: it is in
 * the same list, is raised in the same way, counts in the listener's backlog, and is answered by its number. A
 * query to an address that is not of this fabric, or through a port that is down, is lost, and the timer
 * answers it. The adapter's task raises the answers.
 */
#include <stdlib.h>
#include <string.h>

#include "vem_cm.h"
#include "vem_fault.h"
#include "vem_remote.h"

/* --- with the fabric's lock ---------------------------------------------------------------- */

struct vem_query *
vem_query_next_answered(struct ri_rnic *rnic)
{
	if (vsw_list_empty(&rnic->answers))
		return NULL;

	struct vem_query *query = vsw_of(rnic->answers.next, struct vem_query, event_node);
	vsw_list_remove(&query->event_node);
	vsw_list_remove(&query->item);
	return query;
}

/* The query of a context with this number, or with `any` number; NULL: none. */
static struct vem_query *
query_find(struct vem_fabric *fabric, const struct ri_context *context, uint64_t ctx, bool any)
{
	for (struct vsw_item *i = fabric->queries.next; i != &fabric->queries; i = i->next) {
		struct vem_query *query = vsw_of(i, struct vem_query, item);
		if (query->context == context && (any || query->ctx == ctx))
			return query;
	}
	return NULL;
}

/* Send the query to its listener, if there is one. */
static void
query_send(struct vem_query *query, const struct ri_cm_params *params)
{
	const struct ri_service_answer unknown = {.status = RI_SERVICE_UNKNOWN};
	const struct ri_service_answer full = {.status = RI_SERVICE_REJECTED};
	struct vem_fabric *fabric = query->rnic->fabric;
	struct ri_cm_event event = {.kind = RI_CM_SERVICE_REQUEST,
				    .peer = query->event.local,
				    .local = query->event.peer,
				    .pdata_present = params->pdata_len != 0,
				    .pdata_len = params->pdata_len};
	struct ri_listen *listen = vem_listen_find(fabric, &params->service);

	if (listen == NULL) {
		vem_query_answer(query, &unknown);
		return;
	}
	if (vem_fault_offline(listen->context->rnic))
		return;
	if (params->pdata_len != 0)
		memcpy(event.pdata, params->pdata, params->pdata_len);
	query->conn = vem_conn_new(listen, &event);
	if (query->conn == NULL) {
		vem_query_answer(query, &full);
		return;
	}
	query->conn->service = true;
	query->conn->query = query;
}

/* Between processes the adapter's task sends it. */
static void
query_leave(struct vem_query *query, const struct ri_cm_params *params)
{
	struct ri_rnic *rnic = query->rnic;

	query->number = ++rnic->fabric->last_query;
	query->event.service = params->service;
	query->said_len = params->pdata_len;
	if (params->pdata_len != 0)
		memcpy(query->said, params->pdata, params->pdata_len);
	query->leaves = true;
	rnic->host->task_run(rnic->host->self, &rnic->task);
}

/* --- the end ------------------------------------------------------------------------------- */

void
vem_query_free(struct vem_query *query)
{
	if (query == NULL)
		return;
	const struct ri_host *host = query->rnic->host;
	host->timer_stop(host->self, &query->timer);
	free(query);
}

/* On the service thread: the listener has not answered in time. */
static void
query_timeout(void *arg)
{
	const struct ri_service_answer none = {.status = RI_SERVICE_REJECTED};
	struct vem_query *query = arg;
	struct vem_fabric *fabric = query->rnic->fabric;

	pthread_mutex_lock(&fabric->lock);
	if (query->conn != NULL)
		vem_conn_withdraw(query->conn);
	vem_query_answer(query, &none);
	pthread_mutex_unlock(&fabric->lock);
}

/* End a query whose answer was not raised yet; false: there is none. */
static bool
query_end(struct ri_context *context, uint64_t ctx, bool any)
{
	struct vem_fabric *fabric = context->rnic->fabric;

	pthread_mutex_lock(&fabric->lock);
	struct vem_query *query = query_find(fabric, context, ctx, any);
	if (query != NULL) {
		if (query->conn != NULL)
			vem_conn_withdraw(query->conn);
		vsw_list_remove(&query->item);
		vsw_list_remove(&query->event_node);
		vem_remote_query_close(query);
		query->answered = true; /* if its timer fires now, it does nothing */
	}
	pthread_mutex_unlock(&fabric->lock);
	vem_query_free(query);
	return query != NULL;
}

/* The stop waits for an upcall with an answer; the new run raises other events. */
static void
answers_settle(struct ri_rnic *rnic)
{
	rnic->host->task_stop(rnic->host->self, &rnic->task);
	rnic->host->task_run(rnic->host->self, &rnic->task);
}

void
vem_query_end_all(struct ri_context *context)
{
	while (query_end(context, 0, true))
		;
	answers_settle(context->rnic);
}

/* --- verbs --------------------------------------------------------------------------------- */

void
vem_resolve_cancel(struct ri_context *context, uint64_t ctx)
{
	(void)query_end(context, ctx, false);
	answers_settle(context->rnic);
}

static enum ri_status
query_params_check(const struct vem_fabric *fabric, const struct ri_cm_params *params)
{
	struct ri_rnic_attr attr = {.size = sizeof(attr)};

	vem_profile(fabric, &attr);
	if (!attr.ud)
		return RI_ERR_UNSUPPORTED;
	if (params->port != 0 || params->pdata_len > attr.ud_request_pdata ||
	    !vem_service_is_known(fabric, &params->service))
		return RI_ERR_INVALID_ARG;
	return RI_SUCCESS;
}

enum ri_status
vem_resolve(struct ri_context *context, uint64_t ctx, const struct ri_cm_params *params)
{
	struct ri_rnic *rnic = context->rnic;
	struct vem_fabric *fabric = rnic->fabric;
	enum ri_status status = query_params_check(fabric, params);

	if (status != RI_SUCCESS)
		return status;
	struct vem_query *query = calloc(1, sizeof(*query));
	if (query == NULL)
		return RI_ERR_RESOURCES;
	query->rnic = rnic;
	query->context = context;
	query->ctx = ctx;
	query->event = (struct ri_cm_event){.kind = RI_CM_SERVICE_REPLY,
					    .ctx = ctx,
					    .peer = params->peer,
					    .local = params->local,
					    .service = params->service};
	query->timer = (struct ri_timer){.fire = query_timeout, .arg = query};
	bool arrives = vem_addr_source(fabric, &params->peer, &query->event.local) &&
		       !vem_fault_offline(rnic);

	pthread_mutex_lock(&fabric->lock);
	bool busy = query_find(fabric, context, ctx, false) != NULL;
	if (!busy) {
		vsw_list_add(&fabric->queries, &query->item);
		if (params->deadline != RI_NEVER)
			rnic->host->timer_start(rnic->host->self, &query->timer, params->deadline);
		if (arrives && fabric->shm != NULL)
			query_leave(query, params);
		else if (arrives)
			query_send(query, params);
	}
	pthread_mutex_unlock(&fabric->lock);
	if (busy)
		free(query);
	return busy ? RI_ERR_BUSY : RI_SUCCESS;
}

enum ri_status
vem_resolve_answer(struct ri_request *request, const struct ri_service_answer *answer)
{
	struct vem_fabric *fabric = vem_fabric_of_request((uint64_t)(uintptr_t)request);
	struct ri_rnic_attr attr = {.size = sizeof(attr)};

	if (fabric == NULL)
		return RI_ERR_INVALID_HANDLE;
	vem_profile(fabric, &attr);
	bool fits = answer->pdata_len <= attr.ud_reply_pdata &&
		    answer->status < RI_SERVICE_STATUS_COUNT;
	pthread_mutex_lock(&fabric->lock);
	struct vem_conn *conn = fits ? vem_conn_find(fabric, request, true) : NULL;
	if (conn != NULL) {
		if (conn->query != NULL)
			vem_query_answer(conn->query, answer);
		else
			vem_remote_query_answer(conn, answer);
		vem_conn_close(conn);
		free(conn);
	}
	pthread_mutex_unlock(&fabric->lock);
	vem_fabric_put(fabric);
	if (!fits)
		return RI_ERR_INVALID_ARG;
	return conn != NULL ? RI_SUCCESS : RI_ERR_INVALID_HANDLE;
}
