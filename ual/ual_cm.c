/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Connections: the calls connect, accept, reject, hand-off and disconnect [IT 4], [IT 9]. Their events are in
 * ual_ep_event.c.
 *
 * A call first moves the endpoint, then calls the kAL, since the kAL's event may be dispatched before the call returns;
 * if the kAL refuses, the move is undone. Calls on one endpoint are serialised by its control lock, which dispatch never
 * takes.
 */

#include <string.h>

#include "ri_owned.h"
#include "ual.h"
#include "ual_addr.h"
#include "ual_cm.h"
#include "ual_request.h"
#include "ual_status.h"

bool
ual_cm_has_pdata(const struct ri_rnic_attr *attr)
{
	return (attr->connect_pdata | attr->accept_pdata | attr->reject_pdata |
		attr->confirm_pdata | attr->disconnect_pdata) != 0;
}

it_status_t
ual_cm_check_pdata(const struct ual_ia *ia, const struct ual_pdata *pdata, size_t limit)
{
	const struct ri_rnic_attr *attr = &ia->session.attr;

	if (pdata->length == 0)
		return IT_SUCCESS;
	if (!ual_cm_has_pdata(attr) && (attr->ud_request_pdata | attr->ud_reply_pdata) == 0)
		return IT_ERR_PDATA_NOT_SUPPORTED;
	return pdata->length > limit || pdata->length > RI_PDATA_MAX ? IT_ERR_INVALID_PDATA_LENGTH
								     : IT_SUCCESS;
}

static void
put_pdata(struct kal_cm_req *req, const struct ual_pdata *pdata)
{
	req->pdata_len = (uint32_t)pdata->length;
	if (pdata->length > 0)
		memcpy(req->pdata, pdata->data, pdata->length);
}

static enum ri_status
cm_call(struct ual_ia *ia, uint32_t call, const struct kal_cm_req *req)
{
	return session_call(&ia->session, call, req, sizeof(*req), NULL, 0);
}

/* Set the path that the endpoint has until its reset. */
static void
set_path(struct ual_ep *ep, const it_path_t *path, uint16_t peer_port)
{
	pthread_mutex_lock(&ep->lock);
	ep->path = *path;
	ep->peer_port = peer_port;
	pthread_mutex_unlock(&ep->lock);
}

/* The kAL refused the call that moved the endpoint. */
void
ual_cm_undo(struct ual_ep *ep)
{
	pthread_mutex_lock(&ep->lock);
	(void)ual_ep_step(&ep->state, UAL_EPE_UNDO, NULL);
	ual_request_forget(ep->arrival);
	ep->arrival = 0;
	memset(&ep->path, 0, sizeof(ep->path));
	ep->path_comes = false;
	pthread_mutex_unlock(&ep->lock);
}

/* Under the control lock. A connect in three ways takes the memory for the peer's accept now, so the accept cannot fail for want of it. */
static it_status_t
connect_controlled(struct ual_ep *ep, const it_path_t *path, struct kal_cm_req *req)
{
	const struct ual_request what = {
		.ia = ep->object.ia,
		.ep = ual_object_ctx(&ep->object),
		.awaited = true,
	};
	const struct ual_request *arrival = NULL;
	it_status_t status = ual_ep_step(&ep->state, UAL_EPE_CONNECT, NULL);

	RI_ASSERT_OWNED(&ep->control);
	if (status != IT_SUCCESS)
		return status;
	set_path(ep, path, req->service.port);
	if (req->three_way) {
		arrival = ual_request_add(&what);
		if (arrival == NULL)
			status = IT_ERR_RESOURCES;
	}
	pthread_mutex_lock(&ep->lock);
	req->ird = ep->attr.srv.rc.rdma_read_ird;
	req->ord = ep->attr.srv.rc.rdma_read_ord;
	if (arrival != NULL)
		ep->arrival = arrival->id;
	pthread_mutex_unlock(&ep->lock);
	if (status == IT_SUCCESS)
		status = ual_status(UAL_CALL_CONNECT, cm_call(ep->object.ia, KAL_CONNECT, req));
	if (status != IT_SUCCESS)
		ual_cm_undo(ep);
	return status;
}

it_status_t
ual_cm_connect(struct ual_ep *ep, const it_path_t *path, const it_conn_attributes_t *attr,
	       const it_conn_qual_t *qual, it_cn_est_flags_t flags, const struct ual_pdata *pdata)
{
	const unsigned int ways = IT_CONNECT_FLAG_TWO_WAY | IT_CONNECT_FLAG_THREE_WAY;
	unsigned int bits = (unsigned int)flags;
	struct ual_ia *ia = ep->object.ia;
	const struct ri_rnic_attr *can = &ia->session.attr;
	struct kal_cm_req req = {
		.qp = ep->qp_id,
		.port = (uint32_t)path->spigot_id,
		.suppress_ird_ord = (bits & IT_CONNECT_SUPPRESS_IRD_ORD) != 0,
		.three_way = (bits & IT_CONNECT_FLAG_THREE_WAY) != 0,
		.reuse_addr = (ep->flags & IT_EP_REUSEADDR) != 0,
		.timeout_us = path->timeout,
	};
	it_status_t status;

	if (ep->ud)
		return IT_ERR_INVALID_EP_TYPE;
	if (path->spigot_id >= can->num_ports)
		return IT_ERR_INVALID_SPIGOT;
	if (!ual_addr_of_path(can, path, &req.local, &req.peer))
		return IT_ERR_INVALID_SOURCE_PATH;
	ual_ia_scope(ia, req.port, &req.local);
	ual_ia_scope(ia, req.port, &req.peer);
	if (!ual_qual_active(can, qual, &req.service))
		return IT_ERR_INVALID_CONN_QUAL;
	/* Not both handshakes at once, and none that the adapter lacks. */
	if ((bits & ~(ways | IT_CONNECT_SUPPRESS_IRD_ORD)) != 0 || (bits & ways) == ways ||
	    (req.three_way && !can->three_way_handshake) ||
	    (req.suppress_ird_ord && !can->ird_ord_suppressible))
		return IT_ERR_INVALID_CN_EST_FLAGS;
	/* The state before limits [IT 1.2]. */
	status = ual_ep_may(&ep->state, UAL_EPE_CONNECT);
	if (status == IT_SUCCESS)
		status = ual_cm_check_pdata(ia, pdata, can->connect_pdata);
	if (status != IT_SUCCESS)
		return status;
	put_pdata(&req, pdata);
	if (attr != NULL && can->transport == RI_TRANSPORT_IB) {
		req.ack_timeout = attr->ib.local_ack_timeout;
		req.retries = 1;
		req.retry_count = attr->ib.retry_count;
		req.rnr_retry = attr->ib.rnr_retry_count;
	}
	pthread_mutex_lock(&ep->control);
	status = connect_controlled(ep, path, &req);
	pthread_mutex_unlock(&ep->control);
	return status;
}

it_status_t
ual_cm_same_adapter(const struct ual_ep *ep, it_cn_est_identifier_t id)
{
	struct ual_request *request;
	it_status_t status;

	if (ep->ud)
		return IT_ERR_INVALID_EP_TYPE;
	request = ual_request_take(id);
	if (request == NULL)
		return IT_ERR_INVALID_CN_EST_ID;
	/* An endpoint belongs to one adapter, that of its creation. */
	status = request->ia == ep->object.ia ? IT_SUCCESS : IT_ERR_INVALID_CN_EST_ID;
	ual_request_give_back(request);
	if (status == IT_SUCCESS && atomic_load(&ep->state) != UAL_EPS_UNCONNECTED)
		status = IT_ERR_INVALID_EP_STATE;
	return status;
}

/* The passive side: answer a request. */
static it_status_t
accept_request(struct ual_ep *ep, const struct ual_request *request, struct kal_cm_req *req)
{
	struct ual_ia *ia = ep->object.ia;
	it_status_t status = ual_ep_step(&ep->state, UAL_EPE_ACCEPT, NULL);
	struct kal_accept_rep rep;
	enum ri_status below;
	it_path_t path;

	if (status != IT_SUCCESS)
		return status;
	ual_addr_to_path(&ia->session.attr, request->port, &request->local, &request->peer, &path);
	set_path(ep, &path, request->peer_port);
	req->request = request->kal_id;
	pthread_mutex_lock(&ep->lock);
	req->ird = ep->attr.srv.rc.rdma_read_ird;
	req->ord = ep->attr.srv.rc.rdma_read_ord;
	pthread_mutex_unlock(&ep->lock);
	below = session_call(&ia->session, KAL_ACCEPT, req, sizeof(*req), &rep, sizeof(rep));
	if (below != RI_SUCCESS) {
		ual_cm_undo(ep);
		return ual_status(UAL_CALL_ACCEPT, below);
	}
	pthread_mutex_lock(&ep->lock);
	if (rep.ord < ep->attr.srv.rc.rdma_read_ord)
		ep->attr.srv.rc.rdma_read_ord = rep.ord;
	pthread_mutex_unlock(&ep->lock);
	return IT_SUCCESS;
}

/* The active side, three-way: accept or refuse the peer's accept. */
static it_status_t
answer_arrival(struct ual_ep *ep, struct kal_cm_req *req)
{
	enum ual_ep_event move = req->refuse ? UAL_EPE_REFUSE : UAL_EPE_CONFIRM;
	it_status_t status = ual_ep_may(&ep->state, move);

	if (status != IT_SUCCESS)
		return status;
	/* A refusal owes no event, so the move comes first, and events of the kAL that follow owe none. */
	if (req->refuse)
		status = ual_ep_step(&ep->state, move, NULL);
	if (status != IT_SUCCESS)
		return status;
	status = ual_status(UAL_CALL_CONFIRM, cm_call(ep->object.ia, KAL_CONFIRM, req));
	if (status == IT_SUCCESS && !req->refuse)
		ual_ep_deliver(ep, move, NULL);
	return req->refuse ? IT_SUCCESS : status;
}

it_status_t
ual_cm_accept(struct ual_ep *ep, it_cn_est_identifier_t id, const struct ual_pdata *pdata)
{
	struct ual_ia *ia = ep->object.ia;
	struct kal_cm_req req = {.qp = ep->qp_id};
	struct ual_request *request;
	it_status_t status = IT_SUCCESS;
	bool arrival;

	if (ep->ud)
		return IT_ERR_INVALID_EP_TYPE;
	request = ual_request_take(id);
	if (request == NULL)
		return IT_ERR_INVALID_CN_EST_ID;
	arrival = request->ep != 0;
	pthread_mutex_lock(&ep->control);
	if (request->ia != ia || (arrival && request->ep != ual_object_ctx(&ep->object)))
		status = IT_ERR_INVALID_CN_EST_ID;
	if (status == IT_SUCCESS)
		status = ual_ep_may(&ep->state, arrival ? UAL_EPE_CONFIRM : UAL_EPE_ACCEPT);
	if (status == IT_SUCCESS && arrival && pdata->length > 0)
		status = IT_ERR_PDATA_NOT_SUPPORTED;
	if (status == IT_SUCCESS)
		status = ual_cm_check_pdata(ia, pdata, ia->session.attr.accept_pdata);
	if (status == IT_SUCCESS) {
		put_pdata(&req, pdata);
		status = arrival ? answer_arrival(ep, &req) : accept_request(ep, request, &req);
	}
	pthread_mutex_unlock(&ep->control);
	if (status == IT_SUCCESS)
		ual_request_used(request);
	else
		ual_request_give_back(request);
	return status;
}

static it_status_t
reject_arrival(const struct ual_request *request, struct kal_cm_req *req)
{
	UAL_VISIT struct ual_ep *ep = ual_ep_of((it_ep_handle_t)(uintptr_t)request->ep);
	it_status_t status;

	if (ep == NULL)
		return IT_ERR_INVALID_CN_EST_ID;
	req->qp = ep->qp_id;
	req->refuse = 1;
	pthread_mutex_lock(&ep->control);
	status = answer_arrival(ep, req);
	pthread_mutex_unlock(&ep->control);
	/* The endpoint does not await an answer any more. */
	return status == IT_ERR_INVALID_EP_STATE ? IT_ERR_INVALID_CN_EST_ID : status;
}

it_status_t
ual_cm_reject(it_cn_est_identifier_t id, const struct ual_pdata *pdata)
{
	struct ual_request *request = ual_request_take(id);
	struct kal_cm_req req = {.reason = KAL_REASON_CONSUMER};
	it_status_t status = IT_ERR_IA_CATASTROPHE;

	if (request == NULL)
		return IT_ERR_INVALID_CN_EST_ID;
	req.request = request->kal_id;
	if (!ual_dead(request->ia))
		status = ual_cm_check_pdata(request->ia, pdata,
					    request->ia->session.attr.reject_pdata);
	if (status == IT_SUCCESS) {
		put_pdata(&req, pdata);
		status = request->ep != 0 ? reject_arrival(request, &req)
					  : ual_status(UAL_CALL_REJECT,
						       cm_call(request->ia, KAL_REJECT, &req));
	}
	if (status == IT_SUCCESS)
		ual_request_used(request);
	else
		ual_request_give_back(request);
	return status;
}

it_status_t
ual_cm_handoff(it_cn_est_identifier_t id, size_t spigot, const it_conn_qual_t *qual)
{
	struct ual_request *request = ual_request_take(id);
	struct kal_handoff_req req = {.port = (uint32_t)spigot};
	it_status_t status = IT_SUCCESS;
	struct ual_ia *ia;

	if (request == NULL)
		return IT_ERR_INVALID_CN_EST_ID;
	ia = request->ia;
	req.request = request->kal_id;
	if (ual_dead(ia))
		status = IT_ERR_IA_CATASTROPHE;
	else if (request->ep != 0)
		status = IT_ERR_INVALID_CN_EST_ID; /* the peer's accept belongs to its endpoint */
	else if (!ual_qual_passive(&ia->session.attr, qual, false, &req.service))
		status = IT_ERR_INVALID_CONN_QUAL;
	else if (spigot >= ia->session.attr.num_ports)
		status = IT_ERR_INVALID_SPIGOT;
	/* The event is dispatched, under a new identifier, before the call returns. */
	if (status == IT_SUCCESS)
		status = ual_status(UAL_CALL_HANDOFF, session_call(&ia->session, KAL_HANDOFF, &req,
								   sizeof(req), NULL, 0));
	if (status == IT_SUCCESS)
		ual_request_used(request);
	else
		ual_request_give_back(request);
	return status;
}

it_status_t
ual_cm_disconnect(struct ual_ep *ep, const struct ual_pdata *pdata)
{
	struct ual_ia *ia = ep->object.ia;
	struct kal_cm_req req = {.qp = ep->qp_id};
	it_status_t status = ual_ep_may(&ep->state, UAL_EPE_DISCONNECT);
	/* The configuration may allow to drop private data that no message can carry. */
	bool drop = ia->drop_disconnect_data && pdata->length > ia->session.attr.disconnect_pdata;
	unsigned int before;

	if (status == IT_SUCCESS && !drop)
		status = ual_cm_check_pdata(ia, pdata, ia->session.attr.disconnect_pdata);
	if (status != IT_SUCCESS)
		return status;
	if (!drop)
		put_pdata(&req, pdata);
	pthread_mutex_lock(&ep->control);
	before = atomic_load(&ep->state);
	pthread_mutex_lock(&ep->lock);
	status = ual_ep_step(&ep->state, UAL_EPE_DISCONNECT, NULL);
	ual_request_forget(ep->arrival);
	ep->arrival = 0;
	pthread_mutex_unlock(&ep->lock);
	/* If the connection has ended meanwhile, the kAL refuses, and its event, which is on the way, is the end. */
	if (status == IT_SUCCESS && before < UAL_EPS_ENDING)
		(void)!cm_call(ia, KAL_DISCONNECT, &req);
	pthread_mutex_unlock(&ep->control);
	return status;
}
