/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Questions for datagram services [IT 13]. The provider asks and answers; here stands which
 * questions of the client are outstanding, so that each gets one answer and none after its end. A
 * question for one of our listeners is a request as those for connections are (kal_request.c).
 */
#include <stdlib.h>
#include <string.h>

#include "kal_cm_internal.h"

#define ASKS_MAX 4096 /* outstanding at once */

struct kal_ask {
	struct kal_link link;     /* of kal_cm::asks; the key is the client's ctx */
	struct kal_cm_node *told; /* reserved for the answer */
};

static void
ask_free(struct kal_ask *ask)
{
	if (ask == NULL)
		return;
	kal_cm_node_free(ask->told);
	free(ask);
}

/* Enter a question. RI_ERR_BUSY: its answer is outstanding. */
static enum ri_status
enter(struct kal_cm *cm, uint64_t ctx)
{
	struct kal_ask *ask = calloc(1, sizeof(*ask));
	enum ri_status status = RI_SUCCESS;

	if (ask != NULL)
		ask->told = kal_cm_node_new();
	if (ask == NULL || ask->told == NULL) {
		ask_free(ask);
		return RI_ERR_RESOURCES;
	}
	ask->link.key = ctx;
	kal_cm_lock(cm);
	if (kal_table_find(&cm->asks, ctx) != NULL)
		status = RI_ERR_BUSY;
	else if (cm->asks.count >= ASKS_MAX)
		status = RI_ERR_RESOURCES;
	else
		kal_table_insert(&cm->asks, &ask->link);
	kal_cm_unlock(cm);
	if (status != RI_SUCCESS)
		ask_free(ask);
	return status;
}

/* The caller holds cm->lock. It is outstanding no more; NULL: there was none. */
static struct kal_ask *
take(struct kal_cm *cm, uint64_t ctx)
{
	struct kal_ask *ask = kal_entry(kal_table_find(&cm->asks, ctx), struct kal_ask, link);

	if (ask != NULL)
		kal_table_remove(&cm->asks, &ask->link);
	return ask;
}

/* False: there was none. */
static bool
leave(struct kal_cm *cm, uint64_t ctx)
{
	struct kal_ask *ask;

	kal_cm_lock(cm);
	ask = take(cm, ctx);
	kal_cm_unlock(cm);
	ask_free(ask);
	return ask != NULL;
}

enum ri_status
kal_resolve(struct kal_cm *cm, const struct kal_resolve_req *req)
{
	const struct ri_rnic_attr *attr = cm->p.attr;
	struct ri_cm_params params = {
		.local = req->local,
		.peer = req->peer,
		.service = req->service,
		.port = req->port,
		.pdata = req->pdata,
		.pdata_len = (uint16_t)req->pdata_len,
		.deadline = kal_deadline(cm->p.host, req->timeout_us),
	};
	enum ri_status status;

	if (!attr->ud)
		return RI_ERR_UNSUPPORTED;
	if (req->port >= attr->num_ports || req->pdata_len > attr->ud_request_pdata ||
	    req->pdata_len > RI_PDATA_MAX)
		return RI_ERR_INVALID_ARG;
	status = enter(cm, req->ctx);
	if (status != RI_SUCCESS)
		return status;
	/* The answer may come before the call returns. */
	status = ri_call_resolve(cm->p.caller, cm->p.context, req->ctx, &params);
	if (status != RI_SUCCESS)
		(void)leave(cm, req->ctx);
	return status;
}

void
kal_resolve_end(struct kal_cm *cm, uint64_t ctx)
{
	if (leave(cm, ctx))
		ri_call_resolve_cancel(cm->p.caller, cm->p.context, ctx);
}

void
kal_resolve_end_all(struct kal_cm *cm)
{
	uint64_t ctx = 0;
	bool any;

	do {
		const struct kal_link *link;

		kal_cm_lock(cm);
		link = kal_table_next(&cm->asks, NULL);
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
	struct kal_cm_event news = {
		.kind = KAL_CM_SERVICE_REPLY,
		.peer = event->peer,
		.local = event->local,
		.service = event->service,
		.service_status = event->service_status,
		.pdata_present = event->pdata_present,
		.pdata_len = MIN(event->pdata_len, RI_PDATA_MAX),
	};
	struct kal_ask *ask;

	if (event->service_status == RI_SERVICE_FOUND) {
		news.qpn = event->qpn;
		news.qkey = event->qkey;
	}
	memcpy(news.pdata, event->pdata, news.pdata_len);
	kal_cm_lock(cm);
	ask = take(cm, event->ctx);
	if (ask != NULL)
		kal_cm_tell(cm, g_steal_pointer(&ask->told), event->ctx, &news);
	kal_cm_unlock(cm);
	ask_free(ask);
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

	if (req->status >= RI_SERVICE_STATUS_COUNT || req->pdata_len > cm->p.attr->ud_reply_pdata ||
	    req->pdata_len > RI_PDATA_MAX)
		return RI_ERR_INVALID_ARG;
	request = kal_request_take(cm, req->request, true);
	if (request == NULL)
		return RI_ERR_INVALID_HANDLE;
	status = ri_call_resolve_answer(cm->p.caller, request->provider, &answer);
	/* Whoever asked may have given up meanwhile: then that news finds the request gone. */
	kal_request_free(request);
	return status;
}
