/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Connections of providers that connect by themselves (ri_cm_ops): the kAL passes the calls to the provider. */
#include <string.h>

#include "kal_cm_internal.h"
#include "kal_request.h"

static void
params_fill(struct ri_cm_params *params, const struct kal_cm_req *req)
{
	memset(params, 0, sizeof(*params));
	params->ird = req->ird;
	params->ord = req->ord;
	params->pdata = req->pdata;
	params->pdata_len = (uint16_t)req->pdata_len;
	params->ack_timeout = req->ack_timeout;
	params->retries = req->retries != 0;
	params->retry_count = req->retry_count;
	params->rnr_retry = req->rnr_retry;
}

uint64_t
kal_deadline(const struct ri_host *host, uint64_t timeout_us)
{
	uint64_t now = host->now(host->self);

	if (timeout_us == UINT64_MAX || timeout_us > (RI_NEVER - now) / 1000)
		return RI_NEVER;
	return now + (timeout_us != 0 ? timeout_us * 1000 : KAL_CONNECT_DEFAULT);
}

enum ri_status
kal_address_connect(struct kal_conn *conn, const struct kal_cm_req *req)
{
	const struct ri_host *host = conn->cm->host;
	struct ri_cm_params params;
	enum ri_status status;

	params_fill(&params, req);
	params.ird_ord = conn->cm->attr->ird_ord_exchange && !req->suppress_ird_ord;
	params.local = req->local;
	params.peer = req->peer;
	params.service = req->service;
	params.port = req->port;
	params.three_way = req->three_way != 0;
	params.deadline = kal_deadline(host, req->timeout_us);
	conn->pending.peer = req->peer;
	conn->pending.service = req->service;
	/* The provider's event may come on another thread before the call returns. */
	status = kal_conn_move(conn, KAL_CONN_CALL_CONNECT);
	if (status != RI_SUCCESS)
		return status;
	status = ri_call_connect(conn->cm->caller, conn->qp, &params);
	if (status != RI_SUCCESS)
		(void)!kal_conn_move(conn, KAL_CONN_UNDONE);
	return status;
}

enum ri_status
kal_address_accept(struct kal_conn *conn, const struct kal_cm_req *req, struct kal_request *request,
		   struct kal_accept_rep *rep)
{
	const struct ri_host *host = conn->cm->host;
	struct ri_cm_params params;
	enum ri_status status;

	params_fill(&params, req);
	/* Without IRD and ORD in the request, or if the listen suppresses them, the answer has none [IT 9.6]. */
	params.ird_ord = request->info.ird_ord_valid;
	if (params.ird_ord)
		params.ord = MIN(params.ord, request->info.ird);
	params.deadline = host->now(host->self) + KAL_CONNECT_DEFAULT;
	status = kal_conn_move(conn, KAL_CONN_CALL_ACCEPT);
	if (status != RI_SUCCESS)
		return status;
	status = ri_call_accept(conn->cm->caller, request->provider, conn->qp, &params);
	if (status != RI_SUCCESS) {
		(void)!kal_conn_move(conn, KAL_CONN_UNDONE);
		return status;
	}
	rep->ird = params.ird;
	rep->ord = params.ord;
	return RI_SUCCESS;
}
