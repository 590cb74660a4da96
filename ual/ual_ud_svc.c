/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Datagram services: queries for a service, and replies [IT 13], [IT 15.9].
 *
 * A request handle has all parts of a query, so the query can be sent any number of times, one at a time. Each gets one
 * event; without an answer it is REQ_REJECTED without private data. The query is marked as answered before its
 * event is queued, so a thread that takes the event may send the query again at once. At the other end the query
 * reaches a listener like a connection request (ual_listen.c), with an identifier of the same table.
 */

#include "ual_ud_svc.h"

#include <string.h>

#include "ual.h"
#include "ual_addr.h"
#include "ual_cm.h"
#include "ual_request.h"
#include "ual_status.h"

_Static_assert((int)IT_UD_REQ_REDIRECTED == 4, "numbers pass through to ri_service_status");

/* --- life ---------------------------------------------------------------------------------- */

static void
svc_destroy(struct ual_object *object)
{
	struct ual_ud_svc *svc = (struct ual_ud_svc *)object;
	const struct kal_resolve_end_req req = {.rnic = object->ia->session.rnic,
						.ctx = ual_object_ctx(object)};

	(void)!session_call(&object->ia->session, KAL_RESOLVE_END, &req, sizeof(req), NULL, 0);
	session_settle(&object->ia->session);
	ual_object_unref(&svc->evd->object);
	pthread_mutex_destroy(&svc->control);
	pthread_mutex_destroy(&svc->lock);
	ual_object_delete(object);
}

/* Check service and path, and fill the object. */
static it_status_t
svc_fill(struct ual_ud_svc *svc, const struct ual_ud_svc_wanted *wanted)
{
	struct ual_ia *ia = svc->object.ia;
	size_t spigot = wanted->path->spigot_id;
	struct kal_path_query_req req = {.rnic = ia->session.rnic, .port = (uint32_t)spigot};
	struct kal_path_query_rep rep;

	if (!ual_qual_active(&ia->session.attr, wanted->qual, &svc->service))
		return IT_ERR_INVALID_CONN_QUAL;
	if (spigot >= ia->session.attr.num_ports)
		return IT_ERR_INVALID_SPIGOT;
	if (!ual_addr_of_path(&ia->session.attr, wanted->path, &svc->local, &svc->peer))
		return IT_ERR_INVALID_SOURCE_PATH;
	ual_ia_scope(ia, (uint32_t)spigot, &svc->local);
	ual_ia_scope(ia, (uint32_t)spigot, &svc->peer);
	/* An address of that spigot can reach itself. */
	req.peer = svc->local;
	req.local = svc->local;
	if (svc->local.family != RI_ADDR_NONE &&
	    (session_call(&ia->session, KAL_PATH_QUERY, &req, sizeof(req), &rep, sizeof(rep)) !=
		     RI_SUCCESS ||
	     rep.count == 0))
		return IT_ERR_INVALID_SOURCE_PATH;
	svc->qual = *wanted->qual;
	svc->path = *wanted->path;
	return IT_SUCCESS;
}

it_status_t
ual_ud_svc_create(const struct ual_ud_svc_wanted *wanted, const struct ual_pdata *pdata,
		  it_ud_svc_req_handle_t *out)
{
	static atomic_uint numbers;
	struct ual_evd *evd = ual_evd_use(wanted->reply, IT_CM_MSG_EVENT_STREAM, NULL);
	struct ual_ia *ia;
	struct ual_ud_svc *svc;
	it_status_t status;

	if (evd == NULL) {
		UAL_VISIT const struct ual_evd *other = ual_evd_of(wanted->reply);

		return other == NULL || ual_evd_is_aggregate(other) ? IT_ERR_INVALID_EVD
								    : IT_ERR_INVALID_EVD_TYPE;
	}
	ia = evd->object.ia;
	svc = ia->session.attr.ud
		      ? (struct ual_ud_svc *)ual_object_new(UAL_UD_SVC, ia, &ia->objects)
		      : NULL;
	if (svc == NULL) {
		ual_object_unref(&evd->object);
		return ia->session.attr.ud ? IT_ERR_RESOURCES : IT_ERR_OP_NOT_SUPPORTED;
	}
	svc->object.destroy = svc_destroy;
	pthread_mutex_init(&svc->control, NULL);
	pthread_mutex_init(&svc->lock, NULL);
	svc->evd = evd;
	svc->number = atomic_fetch_add(&numbers, 1) + 1;
	status = svc_fill(svc, wanted);
	if (status == IT_SUCCESS)
		status = ual_cm_check_pdata(ia, pdata, ia->session.attr.ud_request_pdata);
	if (status != IT_SUCCESS) {
		svc_destroy(&svc->object);
		return status;
	}
	svc->pdata_len = pdata->length;
	if (pdata->length > 0)
		memcpy(svc->pdata, pdata->data, pdata->length);
	*out = (it_ud_svc_req_handle_t)ual_object_publish(&svc->object);
	return IT_SUCCESS;
}

it_status_t
ual_ud_svc_free(struct ual_ud_svc *svc)
{
	if (!ual_object_retract(&svc->object))
		return IT_ERR_INVALID_UD_SVC;
	/* Wait for a control call that is under way. */
	pthread_mutex_lock(&svc->control);
	pthread_mutex_unlock(&svc->control);
	svc_destroy(&svc->object);
	return IT_SUCCESS;
}

void
ual_ud_svc_query(struct ual_ud_svc *svc, it_ud_svc_req_param_mask_t wanted,
		 it_ud_svc_req_param_t *params)
{
	unsigned int mask = (wanted & IT_UD_PARAM_ALL) != 0 ? ~0u : (unsigned int)wanted;

	if ((mask & IT_UD_PARAM_IA_HANDLE) != 0)
		params->ia = (it_ia_handle_t)ual_object_handle(&svc->object.ia->object);
	if ((mask & IT_UD_PARAM_REQ_ID) != 0)
		params->request_id = svc->number;
	if ((mask & IT_UD_PARAM_REPLY_EVD) != 0)
		params->reply_evd = (it_evd_handle_t)ual_object_handle(&svc->evd->object);
	if ((mask & IT_UD_PARAM_CONN_QUAL) != 0)
		params->conn_qual = svc->qual;
	if ((mask & IT_UD_PARAM_DEST_PATH) != 0)
		params->destination_path = svc->path;
	if ((mask & IT_UD_PARAM_PRIV_DATA) != 0)
		memcpy(params->private_data, svc->pdata, sizeof(params->private_data));
	if ((mask & IT_UD_PARAM_PRIV_DATA_LENGTH) != 0)
		params->private_data_length = svc->pdata_len;
}

/* --- queries ------------------------------------------------------------------------------- */

/* Mark a query as outstanding or not. False: it was so already. */
static bool
query_mark(struct ual_ud_svc *svc, bool outstanding)
{
	bool changed;

	pthread_mutex_lock(&svc->lock);
	changed = svc->outstanding != outstanding;
	svc->outstanding = outstanding;
	pthread_mutex_unlock(&svc->lock);
	return changed;
}

it_status_t
ual_ud_svc_request(struct ual_ud_svc *svc)
{
	struct ual_ia *ia = svc->object.ia;
	struct kal_resolve_req req = {
		.rnic = ia->session.rnic,
		.port = (uint32_t)svc->path.spigot_id,
		.ctx = ual_object_ctx(&svc->object),
		.timeout_us = svc->path.timeout,
		.local = svc->local,
		.peer = svc->peer,
		.service = svc->service,
		.pdata_len = (uint32_t)svc->pdata_len,
	};
	it_status_t status = IT_ERR_INVALID_UD_SVC;
	enum ri_status sent;

	memcpy(req.pdata, svc->pdata, svc->pdata_len);
	pthread_mutex_lock(&svc->control);
	if (query_mark(svc, true)) {
		sent = session_call(&ia->session, KAL_RESOLVE, &req, sizeof(req), NULL, 0);
		if (sent != RI_SUCCESS)
			(void)query_mark(svc, false);
		status = ual_status(UAL_CALL_OTHER, sent);
	}
	pthread_mutex_unlock(&svc->control);
	return status;
}

/* --- answers ------------------------------------------------------------------------------- */

void
ual_ud_svc_reply(struct ual_ia *ia, const struct kal_event *ev)
{
	struct ual_ud_svc *svc = (struct ual_ud_svc *)ual_object_from_ctx(ev->ctx, UAL_UD_SVC);
	const struct kal_cm_event *cm = &ev->u.cm;
	it_ud_svc_reply_event_t *out;
	it_event_t event;
	it_path_t found;

	if (svc == NULL || svc->object.ia != ia || !query_mark(svc, false))
		return;
	memset(&event, 0, sizeof(event));
	out = &event.ud_svc_reply;
	out->event_number = IT_CM_MSG_UD_SERVICE_REPLY_EVENT;
	memcpy(out->private_data, cm->pdata, sizeof(out->private_data));
	out->private_data_present = cm->pdata_present ? IT_TRUE : IT_FALSE;
	out->ud_svc = ual_object_handle(&svc->object);
	out->status = (it_ud_svc_req_status_t)cm->service_status;
	out->ep_info.ud_ep_id = cm->qpn;
	out->ep_info.ud_ep_key = cm->qkey;
	/* The path of the query, with both ends. */
	ual_addr_to_path(&ia->session.attr, svc->path.spigot_id, &cm->local, &cm->peer, &found);
	out->dst_path = svc->path;
	out->dst_path.u.ib.local_port_gid = found.u.ib.local_port_gid;
	/* If the EVD is full, the event is lost and accounted for [IT 6.7]. */
	(void)ual_evd_post(svc->evd, &event);
}

it_status_t
ual_ud_reply(it_ud_svc_req_identifier_t id, const struct ual_ud_answer *answer,
	     const struct ual_pdata *pdata)
{
	struct ual_request *request = ual_request_take_service(id);
	struct kal_resolve_answer_req req = {.status = (uint32_t)answer->status,
					     .pdata_len = (uint32_t)pdata->length};
	it_status_t status;
	struct ual_ia *ia;

	if (request == NULL)
		return IT_ERR_INVALID_UD_SVC_REQ_ID;
	ia = request->ia;
	req.request = request->kal_id;
	if (ual_dead(ia))
		status = IT_ERR_IA_CATASTROPHE;
	else if ((unsigned int)answer->status > IT_UD_REQ_REDIRECTED)
		status = IT_ERR_INVALID_UD_STATUS;
	else
		status = ual_cm_check_pdata(ia, pdata, ia->session.attr.ud_reply_pdata);
	if (status == IT_SUCCESS) {
		if (answer->status == IT_UD_SVC_EP_INFO_VALID) {
			req.qpn = answer->info.ud_ep_id;
			req.qkey = answer->info.ud_ep_key;
		}
		if (pdata->length > 0)
			memcpy(req.pdata, pdata->data, pdata->length);
		status =
			ual_status(UAL_CALL_UD_REPLY, session_call(&ia->session, KAL_RESOLVE_ANSWER,
								   &req, sizeof(req), NULL, 0));
	}
	/* The peer may have withdrawn its query: then the request has ended, too. */
	if (status == IT_SUCCESS || status == IT_ERR_INVALID_UD_SVC_REQ_ID)
		ual_request_used(request);
	else
		ual_request_give_back(request);
	return status;
}
