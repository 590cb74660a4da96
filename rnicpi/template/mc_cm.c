/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* [structs] */
/* mc_cm.c: listeners, requests, and the events of connections. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "mc.h"

struct ri_listen {
	struct mc_object object;
	struct ri_listen *next; /* of all */
	uint64_t ctx;
	struct ri_service service;
	uint32_t backlog;
	uint32_t waiting; /* requests that are not answered yet */
};

/* A peer connects to a listener, and the access layer has not answered yet. */
struct mc_request {
	struct mc_request *next;  /* of all */
	struct ri_rnic *rnic;     /* the listener's */
	struct ri_listen *listen; /* NULL: it listens no more */
	struct ri_qp *active;     /* NULL: it gave up */
	bool told;                /* the access layer knows of it */
	struct mc_note offer, gone;
	struct ri_cm_event event;
};

static struct ri_listen *listens;
static struct mc_request *requests;

void
mc_cm_forked(void)
{
	listens = NULL;
	requests = NULL;
}
/* [structs] */

/* [upcalls] */
/* --- upcalls, on the service thread ------------------------------------------------------------ */

/* Called and returns with the lock; the upcall is made without it. */
static void
raise_event(struct ri_rnic *rnic, struct ri_cm_event event)
{
	mc_unlock();
	rnic->upcalls->cm_event(rnic->upcalls->self, &event);
	mc_lock();
}

/* The connection is established. Data moves only after the access layer has had the event. */
void
mc_tell_up(void *object)
{
	struct ri_qp *qp = object;
	struct ri_cm_event event = qp->heard;

	event.kind = RI_CM_ESTABLISHED;
	qp->heard = (struct ri_cm_event){.ctx = event.ctx};
	raise_event(qp->object.context->rnic, event);
	if (qp->state != RI_QPS_RTS)
		return;
	qp->open = true;
	mc_run(qp);
	if (qp->peer != NULL)
		mc_run(qp->peer);
}

void
mc_tell_end(void *object)
{
	struct ri_qp *qp = object;
	struct ri_cm_event event = qp->heard;

	event.kind = qp->end_kind;
	event.reason = qp->end_reason;
	raise_event(qp->object.context->rnic, event);
}

static void
tell_offer(void *object)
{
	struct mc_request *request = object;

	request->told = true;
	raise_event(request->rnic, request->event);
}
/* [upcalls] */

/* [requests] */
/* --- requests ---------------------------------------------------------------------------------- */

static void
request_free(struct mc_request *request)
{
	struct mc_request **at = &requests;

	while (*at != request)
		at = &(*at)->next;
	*at = request->next;
	if (request->listen != NULL)
		request->listen->waiting--;
	if (request->active != NULL)
		request->active->request = NULL;
	mc_note_unlink(&request->offer);
	mc_note_unlink(&request->gone);
	free(request);
}

static void
tell_gone(void *object)
{
	struct mc_request *request = object;
	struct ri_rnic *rnic = request->rnic;
	struct ri_cm_event event = {.kind = RI_CM_REQUEST_GONE,
				    .ctx = request->event.ctx,
				    .request = request->event.request};

	request_free(request);
	raise_event(rnic, event);
}

/* The side that connects gives up. */
void
mc_request_withdraw(struct mc_request *request)
{
	if (!request->told) {
		request_free(request);
		return;
	}
	request->active->request = NULL;
	request->active = NULL;
	mc_note_queue(&request->gone);
}

/* The request that the access layer names, unless it is answered or withdrawn. */
static struct mc_request *
request_find(const struct ri_request *name)
{
	for (struct mc_request *request = requests; request != NULL; request = request->next)
		if (request->event.request == name && request->told && request->active != NULL)
			return request;
	return NULL;
}

/* A refusal by the consumer, or the end of an attempt for another reason. */
static void
request_refuse(struct mc_request *request, enum ri_cm_reason reason)
{
	struct ri_qp *active = request->active;

	request_free(request);
	if (active != NULL)
		mc_end(active, reason == RI_CM_REASON_CONSUMER ? RI_CM_REJECTED : RI_CM_FAILED,
		       reason);
}

void
mc_refuse_all(struct ri_rnic *rnic)
{
	struct mc_request *next;

	mc_lock();
	for (struct mc_request *request = requests; request != NULL; request = next) {
		next = request->next;
		if (request->rnic == rnic)
			request_refuse(request, RI_CM_REASON_OTHER);
	}
	mc_unlock();
}
/* [requests] */

/* [listeners] */
/* --- listeners --------------------------------------------------------------------------------- */

static struct ri_listen *
listen_find(uint16_t port)
{
	for (struct ri_listen *listen = listens; listen != NULL; listen = listen->next)
		if (listen->service.port == port)
			return listen;
	return NULL;
}

/* One of the dynamic ports; it may be in use if all are. */
static uint16_t
port_choose(void)
{
	static uint16_t last = 49151;
	unsigned tries = 0;

	do
		last = last == UINT16_MAX ? 49152 : last + 1;
	while (listen_find(htons(last)) != NULL && ++tries < 16384);
	return htons(last);
}

static enum ri_status
cm_listen(struct ri_context *context, uint64_t ctx, uint32_t port, struct ri_service *service,
	  uint32_t backlog, struct ri_listen **out)
{
	enum ri_status status = RI_SUCCESS;
	struct ri_listen *listen;

	if (port != 0 || service->kind != RI_SERVICE_PORT)
		return RI_ERR_INVALID_ARG;
	listen = calloc(1, sizeof(*listen));
	if (listen == NULL)
		return RI_ERR_RESOURCES;
	mc_lock();
	if (service->port == 0)
		service->port = port_choose();
	if (listen_find(service->port) != NULL) {
		status = RI_ERR_IN_USE;
	} else if (!mc_enter(context, MC_LISTEN, &listen->object)) {
		status = RI_ERR_RESOURCES;
	} else {
		listen->ctx = ctx;
		listen->service = *service;
		listen->backlog = backlog > 0 ? backlog : 1;
		listen->next = listens;
		listens = listen;
	}
	mc_unlock();
	if (status != RI_SUCCESS) {
		free(listen);
		return status;
	}
	*out = listen;
	return RI_SUCCESS;
}

/* Requests that were raised stay, without their listener; the others are refused. */
static void
cm_listen_destroy(struct ri_listen *listen)
{
	struct ri_rnic *rnic = listen->object.context->rnic;
	struct ri_listen **at = &listens;
	struct mc_request *next;

	mc_lock();
	while (*at != listen)
		at = &(*at)->next;
	*at = listen->next;
	mc_leave(MC_LISTEN, &listen->object);
	for (struct mc_request *request = requests; request != NULL; request = next) {
		next = request->next;
		if (request->listen != listen)
			continue;
		request->listen = NULL;
		request->event.ctx = 0;
		if (!request->told)
			request_refuse(request, RI_CM_REASON_OTHER);
	}
	mc_unlock();
	rnic->host->task_stop(rnic->host->self, &rnic->task); /* an upcall may name it just now */
	rnic->host->task_run(rnic->host->self, &rnic->task);
	free(listen);
}
/* [listeners] */

/* [attempts] */
/* --- connect, accept, reject, disconnect ------------------------------------------------------- */

static void
hear(struct ri_cm_event *event, const void *pdata, uint16_t len)
{
	event->pdata_present = len > 0;
	event->pdata_len = len;
	if (len > 0)
		memcpy(event->pdata, pdata, len);
}

/* With the lock. False: there is no memory, or too many wait already. */
static bool
offer(struct ri_listen *listen, struct ri_qp *qp, const struct ri_cm_params *params)
{
	static uintptr_t last_name;
	struct mc_request *request =
		listen->waiting < listen->backlog ? calloc(1, sizeof(*request)) : NULL;

	if (request == NULL)
		return false;
	request->rnic = listen->object.context->rnic;
	request->listen = listen;
	request->active = qp;
	request->event = (struct ri_cm_event){.kind = RI_CM_REQUEST,
					      .ctx = listen->ctx,
					      .request = (struct ri_request *)++last_name,
					      .peer = mc_address,
					      .local = mc_address,
					      .service = listen->service};
	request->event.service.local_port = params->service.local_port;
	hear(&request->event, params->pdata, params->pdata_len);
	mc_note_init(&request->offer, request->rnic, tell_offer, request);
	mc_note_init(&request->gone, request->rnic, tell_gone, request);
	request->next = requests;
	requests = request;
	listen->waiting++;
	qp->request = request;
	mc_note_queue(&request->offer);
	return true;
}

static bool
is_ours(const struct ri_addr *address)
{
	return address->family == mc_address.family &&
	       memcmp(address->octets, mc_address.octets, sizeof(address->octets)) == 0;
}

static enum ri_status
cm_connect(struct ri_qp *qp, const struct ri_cm_params *params)
{
	const struct ri_host *host = qp->object.context->rnic->host;
	struct ri_listen *listen;
	bool pending;

	if (params->pdata_len > MC_PDATA || params->service.kind != RI_SERVICE_PORT)
		return RI_ERR_INVALID_ARG;
	if (params->three_way)
		return RI_ERR_UNSUPPORTED;
	if (params->ird > MC_DEPTH || params->ord > MC_DEPTH)
		return RI_ERR_LIMIT;
	if (params->local.family != RI_ADDR_NONE && !is_ours(&params->local))
		return RI_ERR_NO_ROUTE;
	mc_lock();
	if (qp->state != RI_QPS_IDLE) {
		mc_unlock();
		return RI_ERR_INVALID_STATE;
	}
	qp->state = RI_QPS_CONNECTING;
	listen = listen_find(params->service.port);
	if (!is_ours(&params->peer))
		mc_end(qp, RI_CM_FAILED, RI_CM_REASON_BAD_PATH);
	else if (listen == NULL)
		mc_end(qp, RI_CM_FAILED, RI_CM_REASON_REFUSED);
	else if (!offer(listen, qp, params))
		mc_end(qp, RI_CM_FAILED, RI_CM_REASON_RESOURCES);
	pending = qp->request != NULL;
	mc_unlock();
	if (pending && params->deadline != RI_NEVER)
		host->timer_start(host->self, &qp->timer, params->deadline);
	return RI_SUCCESS;
}

static enum ri_status
cm_accept(struct ri_request *name, struct ri_qp *qp, const struct ri_cm_params *params)
{
	enum ri_status status = RI_SUCCESS;
	struct mc_request *request;

	if (params->pdata_len > MC_PDATA)
		return RI_ERR_INVALID_ARG;
	if (params->ird > MC_DEPTH || params->ord > MC_DEPTH)
		return RI_ERR_LIMIT;
	mc_lock();
	request = request_find(name);
	if (request == NULL)
		status = RI_ERR_INVALID_HANDLE;
	else if (qp->state != RI_QPS_IDLE)
		status = RI_ERR_INVALID_STATE;
	if (status == RI_SUCCESS) {
		struct ri_qp *active = request->active;

		request_free(request);
		hear(&active->heard, params->pdata, params->pdata_len);
		active->peer = qp;
		qp->peer = active;
		active->state = qp->state = RI_QPS_RTS;
		mc_note_queue(&qp->up);
		mc_note_queue(&active->up);
	}
	mc_unlock();
	return status;
}

static enum ri_status
cm_reject(struct ri_request *name, enum ri_cm_reason reason, const void *pdata, uint16_t len)
{
	struct mc_request *request;

	if (len > MC_PDATA)
		return RI_ERR_INVALID_ARG;
	mc_lock();
	request = request_find(name);
	if (request != NULL) {
		hear(&request->active->heard, pdata, len);
		request_refuse(request, reason);
	}
	mc_unlock();
	return request != NULL ? RI_SUCCESS : RI_ERR_INVALID_HANDLE;
}

static enum ri_status
cm_disconnect(struct ri_qp *qp, const void *pdata, uint16_t len)
{
	enum ri_status status = RI_ERR_INVALID_STATE;

	(void)pdata;
	if (len > 0)
		return RI_ERR_INVALID_ARG; /* disconnect_pdata is 0 */
	mc_lock();
	if (qp->state == RI_QPS_CONNECTING || qp->state == RI_QPS_RTS) {
		mc_end(qp, RI_CM_DISCONNECTED, RI_CM_REASON_OTHER);
		status = RI_SUCCESS;
	}
	mc_unlock();
	return status;
}

const struct ri_cm_ops mc_cm_ops = {
	.size = sizeof(mc_cm_ops),
	.listen = cm_listen,
	.listen_destroy = cm_listen_destroy,
	.connect = cm_connect,
	.accept = cm_accept,
	.reject = cm_reject,
	.disconnect = cm_disconnect,
};
/* [attempts] */
