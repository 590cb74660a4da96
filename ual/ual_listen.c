/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Listeners, and the requests that come in on them [IT 9.4].
 *
 * A request of the kAL becomes an entry of the table of requests, and an event with its identifier. The size of the EVD
 * is the backlog: a request that finds the EVD full must be refused [IT 6.7]. That needs a kAL call, which dispatch may
 * not make, so the entry is put into a list for the listener's task. A request for which there is no memory is refused
 * in the same way. No request is lost when a listener is freed: first the kAL stops listening, then all queued events
 * are dispatched, then the object is deleted.
 */

#include <string.h>

#include "ual.h"
#include "ual_addr.h"
#include "ual_evd.h"
#include "ual_listen.h"
#include "ual_status.h"

/* Unanswered requests that the kAL keeps; the EVD limits those that the application sees. */
#define BACKLOG 1024u

static void
refuse_one(struct ual_ia *ia, uint32_t kal_id, bool service)
{
	const struct kal_cm_req connection = {
		.request = kal_id,
		.reason = KAL_REASON_RESOURCES,
	};
	const struct kal_resolve_answer_req answer = {
		.request = kal_id,
		.status = IT_UD_SVC_REQ_REJECTED,
	};

	/* It may have ended meanwhile, which is no error. */
	if (service)
		(void)!session_call(&ia->session, KAL_RESOLVE_ANSWER, &answer, sizeof(answer), NULL,
				    0);
	else
		(void)!session_call(&ia->session, KAL_REJECT, &connection, sizeof(connection), NULL,
				    0);
}

/* Refuse the requests that found no room. */
static void
refuse_all(void *arg)
{
	struct ual_listen *listen = arg;
	struct ual_unkept unkept[UAL_UNKEPT_MAX];
	struct ual_request *request, *next;
	unsigned count;

	pthread_mutex_lock(&listen->lock);
	request = listen->refused;
	listen->refused = NULL;
	count = listen->unkept_count;
	memcpy(unkept, listen->unkept, count * sizeof(unkept[0]));
	listen->unkept_count = 0;
	pthread_mutex_unlock(&listen->lock);
	for (unsigned i = 0; i < count; i++)
		refuse_one(listen->object.ia, unkept[i].kal_id, unkept[i].service);
	for (; request != NULL; request = next) {
		next = request->after;
		ual_object_visit(&listen->object.ia->object);
		refuse_one(listen->object.ia, request->kal_id, request->service);
		ual_request_used(request);
	}
}

/* No call can reach it any more. */
static void
listen_end(struct ual_listen *listen)
{
	const struct ri_host *host = listen->object.ia->session.host;

	host->task_stop(host->self, &listen->refuse);
	refuse_all(listen);
	ual_object_unref(&listen->evd->object);
	pthread_mutex_destroy(&listen->lock);
	ual_object_delete(&listen->object);
}

static void
listen_destroy(struct ual_object *object)
{
	struct ual_listen *listen = (struct ual_listen *)object;

	/* If this fails, closing the client destroys the listener. */
	(void)!session_call_id(&object->ia->session, KAL_LISTEN_DESTROY, listen->kal_id);
	session_settle(&object->ia->session);
	listen_end(listen);
}

/* Make the kAL listen. The object is published first, since requests may come before the call returns. */
static it_status_t
listen_start(struct ual_listen *listen, const struct ri_service *service, it_listen_flags_t flags,
	     it_conn_qual_type_t type)
{
	struct ual_ia *ia = listen->object.ia;
	struct kal_listen_req req = {
		.rnic = ia->session.rnic,
		.port = listen->spigot,
		.backlog = BACKLOG,
		.suppress_ird_ord = (flags & IT_LISTEN_SUPPRESS_IRD_ORD) != 0,
		.ctx = ual_object_ctx(&listen->object),
		.service = *service,
	};
	struct kal_listen_rep rep;
	it_conn_qual_t real;
	enum ri_status status;

	/* A request has its own service; the kind of its qualifier is the one that the application chose. */
	listen->qual.type = type;
	status = session_call(&ia->session, KAL_LISTEN, &req, sizeof(req), &rep, sizeof(rep));
	if (status != RI_SUCCESS)
		return ual_status(UAL_CALL_LISTEN, status);
	listen->kal_id = rep.id;
	/* The kind is not written again: a request that came meanwhile may read it. */
	ual_qual_of_service(type, &rep.service, &real);
	listen->qual.conn_qual = real.conn_qual;
	return IT_SUCCESS;
}

it_status_t
ual_listen_create(struct ual_ia *ia, size_t spigot, it_evd_handle_t connect,
		  it_listen_flags_t flags, it_conn_qual_t *qual, it_listen_handle_t *out)
{
	struct ual_evd *evd = ual_evd_use(connect, IT_CM_REQ_EVENT_STREAM, ia);
	const struct ri_rnic_attr *can = &ia->session.attr;
	unsigned int bits = (unsigned int)flags;
	it_status_t status = IT_SUCCESS;
	struct ual_listen *listen = NULL;
	struct ri_service service;

	if (spigot >= can->num_ports)
		status = IT_ERR_INVALID_SPIGOT;
	else if (evd == NULL)
		status = IT_ERR_INVALID_CONN_EVD;
	else if ((bits & ~(unsigned int)(IT_LISTEN_CONN_QUAL_INPUT | IT_LISTEN_SUPPRESS_IRD_ORD)) !=
			 0 ||
		 ((bits & IT_LISTEN_SUPPRESS_IRD_ORD) != 0 && !can->ird_ord_suppressible))
		status = IT_ERR_INVALID_FLAGS;
	else if (!ual_qual_passive(can, qual, (flags & IT_LISTEN_CONN_QUAL_INPUT) == 0, &service))
		status = IT_ERR_INVALID_CONN_QUAL;
	if (status == IT_SUCCESS) {
		listen = ual_object_new(UAL_LISTEN, ia, &ia->objects);
		if (listen == NULL)
			status = IT_ERR_RESOURCES;
	}
	if (status != IT_SUCCESS) {
		if (evd != NULL)
			ual_object_unref(&evd->object);
		return status;
	}
	listen->object.destroy = listen_destroy;
	pthread_mutex_init(&listen->lock, NULL);
	listen->evd = evd;
	listen->spigot = (uint32_t)spigot;
	listen->refuse.fire = refuse_all;
	listen->refuse.arg = listen;
	(void)ual_object_publish(&listen->object);
	status = listen_start(listen, &service, flags, qual->type);
	if (status != IT_SUCCESS) {
		(void)ual_object_retract(&listen->object);
		session_settle(&ia->session);
		listen_end(listen);
		return status;
	}
	*qual = listen->qual;
	*out = ual_object_handle(&listen->object);
	return IT_SUCCESS;
}

it_status_t
ual_listen_free(struct ual_listen *listen)
{
	struct ual_ia *ia = listen->object.ia;

	if (!ual_object_freeze(&listen->object))
		return IT_ERR_INVALID_LISTEN;
	(void)!session_call_id(&ia->session, KAL_LISTEN_DESTROY, listen->kal_id);
	/* Requests that the kAL has queued still become events, and their identifiers stay valid. */
	session_settle(&ia->session);
	(void)ual_object_retract(&listen->object);
	session_settle(&ia->session);
	listen_end(listen);
	return IT_SUCCESS;
}

void
ual_listen_query(struct ual_listen *listen, it_listen_param_mask_t wanted,
		 it_listen_param_t *params)
{
	unsigned int mask = (wanted & IT_LISTEN_PARAM_ALL) != 0 ? ~0u : (unsigned int)wanted;

	if ((mask & IT_LISTEN_PARAM_IA_HANDLE) != 0)
		params->ia_handle = ual_object_handle(&listen->object.ia->object);
	if ((mask & IT_LISTEN_PARAM_SPIGOT_ID) != 0)
		params->spigot_id = listen->spigot;
	if ((mask & IT_LISTEN_PARAM_CONNECT_EVD) != 0)
		params->connect_evd = ual_object_handle(&listen->evd->object);
	if ((mask & IT_LISTEN_PARAM_CONN_QUAL) != 0)
		params->connect_qual = listen->qual;
}

/* The event of a request for a connection or for a datagram service; values that the peer did not send are 0. */
static void
event_fill(const struct ual_listen *listen, it_cn_est_identifier_t id,
	   const struct kal_cm_event *cm, it_event_t *event)
{
	bool is_port = cm->service.kind == RI_SERVICE_PORT;
	it_conn_qual_type_t type = listen->qual.type;
	it_conn_qual_t qual;
	it_net_addr_t source;

	/* A request that was handed off may have a qualifier of another kind than this listener. */
	if (is_port != (type != IT_IB_SERVICEID))
		type = is_port ? IT_IANA_PORT : IT_IB_SERVICEID;
	ual_qual_of_service(type, &cm->service, &qual);
	ual_addr_to_net(&cm->peer, &source);
	memset(event, 0, sizeof(*event));
	if (cm->kind == KAL_CM_SERVICE_REQUEST) {
		it_ud_svc_request_event_t *out = &event->ud_svc_request;

		out->event_number = IT_CM_REQ_UD_SERVICE_REQUEST_EVENT;
		memcpy(out->private_data, cm->pdata, sizeof(out->private_data));
		out->private_data_present = cm->pdata_present ? IT_TRUE : IT_FALSE;
		out->ud_svc_req_id = id;
		out->conn_qual = qual;
		out->source_addr = source;
		out->spigot_id = cm->port;
	} else {
		it_conn_request_event_t *out = &event->conn_req;

		out->event_number = IT_CM_REQ_CONN_REQUEST_EVENT;
		memcpy(out->private_data, cm->pdata, sizeof(out->private_data));
		out->private_data_present = cm->pdata_present ? IT_TRUE : IT_FALSE;
		out->cn_est_id = id;
		out->conn_qual = qual;
		if (qual.type == IT_IANA_LR_PORT)
			out->conn_qual.conn_qual.lr_port.remote = cm->service.local_port;
		out->source_addr = source;
		out->spigot_id = cm->port;
		if (cm->ird_ord_valid) {
			out->rdma_read_ird = cm->ird;
			out->rdma_read_ord = cm->ord;
		}
	}
}

void
ual_listen_request(struct ual_ia *ia, const struct kal_event *ev)
{
	const struct ri_host *host = ia->session.host;
	const struct kal_cm_event *cm = &ev->u.cm;
	struct ual_listen *listen = ual_object_from_ctx(ev->ctx, UAL_LISTEN);
	const struct ual_request what = {
		.ia = ia,
		.kal_id = cm->request,
		.port = cm->port,
		.peer_port = cm->service.local_port,
		.peer = cm->peer,
		.local = cm->local,
		.service = cm->kind == KAL_CM_SERVICE_REQUEST,
	};
	struct ual_request *request;
	it_cn_est_identifier_t id;
	it_event_t event;

	if (listen == NULL || listen->object.ia != ia)
		return;
	request = ual_request_add(&what);
	if (request != NULL) {
		/* From the post on the application may answer the request. */
		id = request->id;
		event_fill(listen, id, cm, &event);
		if (ual_evd_post(listen->evd, &event))
			return;
		/* The EVD is full. Take the request: the application never got the identifier, but may guess it. */
		request = what.service ? ual_request_take_service(id) : ual_request_take(id);
		if (request == NULL)
			return;
		/* The listener is destroyed before its adapter, and waits for its task. */
		ual_object_leave(&ia->object);
	}
	/* Leave the refusal to the task. If there is no memory for the request, the refusal needs none. */
	pthread_mutex_lock(&listen->lock);
	if (request != NULL) {
		request->after = listen->refused;
		listen->refused = request;
	} else if (listen->unkept_count < UAL_UNKEPT_MAX) {
		listen->unkept[listen->unkept_count++] =
			(struct ual_unkept){.kal_id = what.kal_id, .service = what.service};
	}
	pthread_mutex_unlock(&listen->lock);
	host->task_run(host->self, &listen->refuse);
}
