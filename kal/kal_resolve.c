/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Queries for datagram services [IT 13]. The provider sends them and receives the answers; this file keeps the
 * table of the client's outstanding queries, so that each gets one answer, and none after it was ended. A query
 * that arrives for one of our listeners is a request, like a request for a connection (kal_request.c).
 */
#include <stdlib.h>
#include <string.h>

#include "kal_cm_internal.h"
#include "kal_request.h"
#include "ri_owned.h"

#define QUERIES_MAX 4096 /* outstanding at once */

struct kal_service_query {
	struct kal_link link;     /* of kal_cm::queries; the key is the client's ctx */
	struct kal_cm_node *told; /* reserved for the answer */
};

static void
query_free(struct kal_service_query *query)
{
	if (query == NULL)
		return;
	kal_cm_node_free(query->told);
	free(query);
}

/* Enter a query into the table. RI_ERR_BUSY: one with this context is outstanding. */
static enum ri_status
query_enter(struct kal_cm *cm, uint64_t ctx)
{
	struct kal_service_query *query = calloc(1, sizeof(*query));
	enum ri_status status = RI_SUCCESS;

	if (query != NULL)
		query->told = kal_cm_node_new();
	if (query == NULL || query->told == NULL) {
		query_free(query);
		return RI_ERR_RESOURCES;
	}
	query->link.key = ctx;
	kal_cm_lock(cm);
	if (kal_table_find(&cm->queries, ctx) != NULL)
		status = RI_ERR_BUSY;
	else if (cm->queries.count >= QUERIES_MAX)
		status = RI_ERR_RESOURCES;
	else
		kal_table_insert(&cm->queries, &query->link);
	kal_cm_unlock(cm);
	if (status != RI_SUCCESS)
		query_free(query);
	return status;
}

/* The caller owns cm->lock. Remove the query from the table; NULL: none has this context. */
static struct kal_service_query *
query_take(struct kal_cm *cm, uint64_t ctx)
{
	struct kal_service_query *query = kal_entry_or_null(kal_table_find(&cm->queries, ctx),
							    struct kal_service_query, link);

	RI_ASSERT_OWNED(&cm->lock);
	if (query != NULL)
		kal_table_remove(&cm->queries, &query->link);
	return query;
}

/* End the query without an answer. False: none has this context. */
static bool
query_end(struct kal_cm *cm, uint64_t ctx)
{
	struct kal_service_query *query;

	kal_cm_lock(cm);
	query = query_take(cm, ctx);
	kal_cm_unlock(cm);
	query_free(query);
	return query != NULL;
}

enum ri_status
kal_resolve(struct kal_cm *cm, const struct kal_resolve_req *req)
{
	const struct ri_rnic_attr *attr = cm->attr;
	struct ri_cm_params params = {
		.local = req->local,
		.peer = req->peer,
		.service = req->service,
		.port = req->port,
		.pdata = req->pdata,
		.pdata_len = (uint16_t)req->pdata_len,
		.deadline = kal_deadline(cm->host, req->timeout_us),
	};
	enum ri_status status;

	if (!attr->ud)
		return RI_ERR_UNSUPPORTED;
	if (req->port >= attr->num_ports || req->pdata_len > attr->ud_request_pdata ||
	    req->pdata_len > RI_PDATA_MAX)
		return RI_ERR_INVALID_ARG;
	status = query_enter(cm, req->ctx);
	if (status != RI_SUCCESS)
		return status;
	/* The answer may come before the call returns. */
	status = ri_call_resolve(cm->caller, cm->context, req->ctx, &params);
	if (status != RI_SUCCESS)
		(void)query_end(cm, req->ctx);
	return status;
}

void
kal_resolve_end(struct kal_cm *cm, uint64_t ctx)
{
	if (query_end(cm, ctx))
		ri_call_resolve_cancel(cm->caller, cm->context, ctx);
}

void
kal_resolve_end_all(struct kal_cm *cm)
{
	uint64_t ctx = 0;
	bool any;

	do {
		const struct kal_link *link;

		kal_cm_lock(cm);
		link = kal_table_next(&cm->queries, NULL);
		any = link != NULL;
		if (any)
			ctx = link->key;
		kal_cm_unlock(cm);
		if (any)
			kal_resolve_end(cm, ctx);
	} while (any);
}

void
kal_resolve_from_provider(struct kal_cm *cm, const struct ri_cm_event *event)
{
	struct kal_cm_event answer = {
		.kind = KAL_CM_SERVICE_REPLY,
		.peer = event->peer,
		.local = event->local,
		.service = event->service,
		.service_status = event->service_status,
		.pdata_present = event->pdata_present,
		.pdata_len = MIN(event->pdata_len, RI_PDATA_MAX),
	};
	struct kal_service_query *query;

	if (event->service_status == RI_SERVICE_FOUND) {
		answer.qpn = event->qpn;
		answer.qkey = event->qkey;
	}
	memcpy(answer.pdata, event->pdata, answer.pdata_len);
	kal_cm_lock(cm);
	query = query_take(cm, event->ctx);
	if (query != NULL)
		kal_cm_tell(cm, g_steal_pointer(&query->told), event->ctx, &answer);
	kal_cm_unlock(cm);
	query_free(query);
}

enum ri_status
kal_resolve_answer(struct kal_cm *cm, const struct kal_resolve_answer_req *req)
{
	const struct ri_service_answer answer = {
		.status = req->status,
		.qpn = req->qpn,
		.qkey = req->qkey,
		.pdata = req->pdata,
		.pdata_len = (uint16_t)req->pdata_len,
	};
	struct kal_request *request;
	enum ri_status status;

	if (req->status >= RI_SERVICE_STATUS_COUNT || req->pdata_len > cm->attr->ud_reply_pdata ||
	    req->pdata_len > RI_PDATA_MAX)
		return RI_ERR_INVALID_ARG;
	request = kal_request_take(cm, req->request, true);
	if (request == NULL)
		return RI_ERR_INVALID_HANDLE;
	status = ri_call_resolve_answer(cm->caller, request->provider, &answer);
	/* The peer may have withdrawn its query meanwhile: then the provider's event finds no request. */
	if (status == RI_SUCCESS || status == RI_ERR_INVALID_HANDLE)
		kal_request_free(request);
	else
		kal_request_put_back(request);
	return status;
}
