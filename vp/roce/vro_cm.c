/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Connections by address, and queries for datagram services: the entries of ri_cm_ops over the station's manager (vrc_service.h).
 *
 * A queue pair is tied to one exchange of the manager at a time. It can receive before its peer may send, that is
 * before its side sends the REP (passive side) or the RTU (active side). It sends only after RI_CM_ESTABLISHED was
 * raised, so no request completes before that event.
 *
 * An end is raised once, by the first of these: the manager's event (vro_cm_raise), a fault of the
 * queue pair, or a verb of its owner. All three run in the role, flush the queues, and then raise
 * the end; but not while RI_CM_ESTABLISHED is being raised, which happens outside of the role.
 *
 * Locks: the role, then the manager's; the context's lock before the manager's. Upcalls for listeners and queries have no lock.
 */
#include <stdlib.h>
#include <string.h>

#include "ri_log.h"
#include "vrc_ip.h"
#include "vro_address.h"
#include "vro_tap.h"

#define DRAWS   64u /* of a port or an id that processes of one address may have */
#define RETRIES 7u  /* of packets, and of messages that find no receive: without limit */

struct ri_listen {
	struct vsw_item item;
	struct ri_context *context;
	uint64_t ctx;
	struct vrc_listen *listen;
	struct ri_service service; /* as chosen */
};

/* A query for a datagram service. */
struct vro_query {
	struct vsw_item item; /* in its context, until its answer is raised or it is withdrawn */
	struct ri_context *context;
	uint64_t ctx;
	uint64_t number;
	bool listed;
};

static struct vrc_service *
service_of(const struct vro_verbs_qp *qp)
{
	return qp->rnic->station->service;
}

/* Where a connect or a query goes, and from where. */
static enum ri_status
path_make(const struct ri_rnic *rnic, const struct ri_cm_params *params, struct vrc_path *path)
{
	const struct ri_ah_init init = {
		.port = params->port, .dest = params->peer, .source = params->local};
	struct roce_flow flow;
	enum ri_status status = vro_flow_make(rnic, &init, &flow);

	if (status != RI_SUCCESS)
		return status;
	path->local = vro_addr_of_gid(flow.source);
	path->peer = vro_addr_of_gid(flow.destination);
	path->port = 0;
	return RI_SUCCESS;
}

/* --- what a queue pair goes through; in the role -------------------------------------------- */

enum ri_qp_state
vro_tie_state(const struct vro_verbs_qp *qp)
{
	switch (qp->tie.phase) {
	case VRO_TRYING:
	case VRO_REPLIED:
		return RI_QPS_CONNECTING;
	case VRO_TIED:
		return RI_QPS_RTS;
	case VRO_PARTING:
		return RI_QPS_CLOSING;
	default:
		return RI_QPS_NONE;
	}
}

static bool
is_idle(const struct vro_verbs_qp *qp)
{
	return qp->qp.state == VRO_INIT && qp->tie.phase == VRO_UNTIED;
}

/* From now on it is tied to that exchange. An earlier exchange, whose time-wait may go on, no longer reports its end to the queue pair. */
static void
tie_begin(struct vro_verbs_qp *qp, uint64_t number, const struct ri_cm_params *params)
{
	if (qp->tie.used) {
		vrc_abandon(vrc_service_enter(service_of(qp)), qp->tie.number);
		vrc_service_leave(service_of(qp));
	}
	qp->tie = (struct vro_tie){.number = number,
				   .phase = VRO_TRYING,
				   .used = true,
				   .ack_timeout = (uint8_t)params->ack_timeout};
	qp->qp.untold = true;
	if (!params->ird_ord)
		return;
	atomic_store(&qp->qp.in.ird, params->ird);
	qp->qp.path.ord = params->ord;
}

/* It receives from its peer. False: this adapter cannot reach the peer's address. */
static bool
tie_receive(struct vro_verbs_qp *qp, const struct ri_peer *reach)
{
	struct vro_path *path = &qp->qp.path;

	if (vro_flow_make(qp->rnic, &reach->path, &path->flow) != RI_SUCCESS)
		return false;
	path->qpn = reach->qpn;
	vro_peer_enter(qp);
	path->flow.slot = vro_slot(reach->qpn);
	path->mtu = reach->path_mtu;
	path->rnr_timer = reach->min_rnr_timer;
	path->timeout = qp->tie.ack_timeout != 0 ? qp->tie.ack_timeout : reach->timeout;
	path->retries = reach->retry_count;
	path->rnr_retries = reach->rnr_retry;
	if (path->ord > reach->ord)
		path->ord = reach->ord;
	vro_qp_to_rtr(&qp->qp, reach->rq_psn);
	return true;
}

/* The manager forgets the queue pair, after a word to the peer. */
static void
tie_abandon(struct vro_verbs_qp *qp)
{
	vrc_abandon(vrc_service_enter(service_of(qp)), qp->tie.number);
	vrc_service_leave(service_of(qp));
	qp->tie.number = 0;
	qp->tie.phase = VRO_UNTIED;
}

void
vro_tie_break(struct vro_verbs_qp *qp)
{
	static const uint8_t ends[] = {[VRO_UNTIED] = RI_CM_NONE,
				       [VRO_TRYING] = RI_CM_FAILED,
				       [VRO_REPLIED] = RI_CM_FAILED,
				       [VRO_TIED] = RI_CM_BROKEN,
				       [VRO_PARTING] = RI_CM_DISCONNECTED};

	if (qp->tie.phase == VRO_UNTIED)
		return;
	qp->tie.end = ends[qp->tie.phase];
	tie_abandon(qp);
}

void
vro_tie_flushed(struct vro_verbs_qp *qp)
{
	const struct ri_upcalls *up = qp->rnic->upcalls;
	const struct ri_cm_event event = {
		.kind = qp->tie.end, .reason = qp->tie.reason, .ctx = qp->init.ctx};

	if (qp->tie.end == RI_CM_NONE || qp->tie.rising)
		return;
	qp->tie.end = RI_CM_NONE;
	up->cm_event(up->self, &event);
}

enum ri_status
vro_tie_part(struct vro_verbs_qp *qp, const void *pdata, uint16_t len)
{
	enum ri_status status;

	if (qp->tie.phase == VRO_UNTIED || qp->tie.phase == VRO_PARTING)
		return len > VRC_PDATA_DISCONNECT ? RI_ERR_INVALID_ARG : RI_ERR_INVALID_STATE;
	status = vrc_disconnect(vrc_service_enter(service_of(qp)), qp->tie.number, pdata, len);
	vrc_service_leave(service_of(qp));
	if (status != RI_SUCCESS) /* the exchange is over, and its event is on its way */
		return status == RI_ERR_INVALID_HANDLE ? RI_ERR_INVALID_STATE : status;
	qp->tie.phase = VRO_PARTING;
	vro_qp_to_error(&qp->qp);
	vro_kick(qp);
	return RI_SUCCESS;
}

void
vro_tie_arrived(struct vro_verbs_qp *qp)
{
	vrc_data_arrived(vrc_service_enter(service_of(qp)), qp->tie.number);
	vrc_service_leave(service_of(qp));
}

void
vro_tie_leave(struct vro_verbs_qp *qp)
{
	struct vro_station *station = qp->rnic->station;

	if (!qp->tie.used)
		return;
	vro_station_enter(station);
	tie_abandon(qp);
	vro_station_leave(station);
	vrc_service_settle(station->service);
}

/* --- events of the manager ------------------------------------------------------------------- */

static void
raise_for(const struct ri_rnic *rnic, const struct vrc_event *event, uint64_t ctx)
{
	struct ri_cm_event cm = event->cm;

	cm.ctx = ctx;
	rnic->upcalls->cm_event(rnic->upcalls->self, &cm);
}

/* The answer to a query, unless that was withdrawn. */
static void
query_answered(struct vro_query *query, const struct vrc_event *event)
{
	struct ri_context *context = query->context;
	bool listed;

	pthread_mutex_lock(&context->base.lock);
	listed = query->listed;
	query->listed = false;
	if (listed) {
		query->item.prev->next = query->item.next;
		query->item.next->prev = query->item.prev;
	}
	pthread_mutex_unlock(&context->base.lock);
	if (!listed)
		return;
	raise_for(context->rnic, event, query->ctx);
	free(query);
}

/* The peer has accepted: receive, and finish the set-up if that is not the caller's. */
static bool
reply_arrived(struct vro_verbs_qp *qp, const struct vrc_event *event)
{
	struct vrc_cm *cm;

	if (qp->tie.phase != VRO_TRYING || !tie_receive(qp, &event->cm.reach))
		return false;
	if (qp->tie.three_way) {
		qp->tie.phase = VRO_REPLIED;
		return true;
	}
	qp->tie.pdata_len = event->cm.pdata_len;
	memcpy(qp->tie.pdata, event->cm.pdata, event->cm.pdata_len);
	cm = vrc_service_enter(service_of(qp));
	(void)vrc_confirm(cm, event->number, true, NULL, 0); /* else its end is on its way */
	vrc_service_leave(service_of(qp));
	return false;
}

/* RI_CM_ESTABLISHED was raised: requests are sent, if it has not ended meanwhile. */
static void
tie_send(struct vro_verbs_qp *qp, const struct vrc_event *event)
{
	struct vro_station *station = qp->rnic->station;

	vro_station_enter(station);
	qp->tie.rising = false;
	if (qp->tie.end != RI_CM_NONE)
		vro_kick(qp);
	if (qp->tie.number == event->number && qp->tie.phase == VRO_TIED) {
		vro_responder_told(&qp->qp);
		if (qp->qp.state == VRO_RTR) {
			vro_qp_to_rts(&qp->qp, event->cm.reach.sq_psn);
			vro_kick(qp);
		}
	}
	vro_station_leave(station);
}

/* What an event means for its queue pair. In the role. True: it is raised. */
static bool
qp_step(struct vro_verbs_qp *qp, const struct vrc_event *event)
{
	switch (event->cm.kind) {
	case RI_CM_REPLY:
		return reply_arrived(qp, event);
	case RI_CM_ESTABLISHED:
		if (qp->tie.phase != VRO_TRYING && qp->tie.phase != VRO_REPLIED)
			return false;
		qp->tie.phase = VRO_TIED;
		qp->tie.rising = true;
		qp->qp.awaited = false;
		vro_tap_established(qp->rnic->station);
		return true;
	case RI_CM_REJECTED:
	case RI_CM_FAILED:
	case RI_CM_DISCONNECTED:
	case RI_CM_BROKEN:
		qp->tie.phase = VRO_UNTIED;
		qp->tie.telling = true;
		vro_tap_end(qp, event->cm.kind);
		vro_qp_to_error(&qp->qp);
		vro_qp_kick(&qp->qp);
		return true;
	default:
		return false; /* of a time-wait, which is the manager's alone */
	}
}

/* Without a third message of the caller, with what the second one carried. */
static void
established_raise(const struct vro_verbs_qp *qp, const struct vrc_event *event)
{
	struct vrc_event whole = *event;

	whole.cm.pdata_present = true;
	whole.cm.pdata_len = qp->tie.pdata_len;
	memcpy(whole.cm.pdata, qp->tie.pdata, qp->tie.pdata_len);
	raise_for(qp->rnic, &whole, qp->init.ctx);
}

/* Its reason is RI_CM_REASON_BAD_PATH, as of a peer without a route: say which it is. */
static void
path_mtu_say(const struct vro_station *station, const struct vrc_event *event)
{
	const struct ri_log_about about = {.layer = "roce", .adapter = station->name};

	if (event->cm.kind == RI_CM_FAILED && event->status == VRC_REJ_BAD_MTU)
		ri_log(station->engine.host, RI_LOG_WARNING, &about,
		       "the peer refuses a path MTU of %u octets, and this interface has an MTU of "
		       "%u: the "
		       "interfaces of both sides need the same",
		       vro_station_mtu(station), station->port.mtu);
}

static void
qp_raise(struct vro_verbs_qp *qp, const struct vrc_event *event)
{
	struct vro_station *station = qp->rnic->station;
	bool raised;

	vro_station_enter(station);
	raised = qp->tie.number == event->number && qp->tie.phase != VRO_UNTIED &&
		 qp_step(qp, event);
	vro_station_leave(station);
	if (!raised)
		return;
	path_mtu_say(station, event);
	if (event->cm.kind == RI_CM_ESTABLISHED && qp->tie.pdata_len != 0)
		established_raise(qp, event);
	else
		raise_for(qp->rnic, event, qp->init.ctx);
	if (event->cm.kind == RI_CM_ESTABLISHED) {
		tie_send(qp, event);
	} else if (event->cm.kind != RI_CM_REPLY) {
		vro_station_enter(station);
		qp->tie.telling = false;
		vro_station_leave(station);
	}
}

void
vro_cm_raise(void *self, const struct vrc_event *event)
{
	void *object = (void *)(uintptr_t)event->cm.ctx;
	const struct ri_listen *listen = object;

	(void)self;
	switch (event->cm.kind) {
	case RI_CM_REQUEST:
	case RI_CM_SERVICE_REQUEST:
	case RI_CM_REQUEST_GONE:
		raise_for(event->owner, event, listen != NULL ? listen->ctx : 0);
		break;
	case RI_CM_SERVICE_REPLY:
		query_answered(object, event);
		break;
	default:
		qp_raise(object, event);
		break;
	}
}

/* --- listeners ------------------------------------------------------------------------------- */

/* Listen there, or at a port or an id that is drawn. RI_ERR_IN_USE: another process that shares an address has it. */
static enum ri_status
listen_begin(struct ri_listen *listen, struct ri_service *service, uint32_t backlog)
{
	const struct ri_rnic *rnic = listen->context->rnic;
	struct vro_station *station = rnic->station;
	enum ri_status status;
	bool listens;

	pthread_mutex_lock(&station->claiming);
	status = vrc_listen(vrc_service_enter(station->service), (uint64_t)(uintptr_t)listen,
			    service, backlog, &listen->listen);
	listens = status == RI_SUCCESS;
	if (listens)
		vrc_listen_own(listen->listen, listen->context->rnic);
	vrc_service_leave(station->service);
	listen->service = *service;
	if (listens)
		status = vro_service_begin(station, listen->listen, service);
	if (listens && status != RI_SUCCESS) {
		vrc_listen_free(vrc_service_enter(station->service), listen->listen);
		vrc_service_leave(station->service);
	}
	pthread_mutex_unlock(&station->claiming);
	if (listens && status != RI_SUCCESS)
		vrc_service_settle(station->service);
	return status;
}

static enum ri_status
cm_listen(struct ri_context *context, uint64_t ctx, uint32_t port, struct ri_service *service,
	  uint32_t backlog, struct ri_listen **out)
{
	const struct ri_service said = *service;
	bool any = said.kind == RI_SERVICE_PORT ? said.port == 0 : said.id == 0;
	enum ri_status status = RI_ERR_INVALID_ARG;
	struct ri_listen *listen;
	unsigned draws = 0;

	if (port == 0)
		status = vro_station_claim(context->rnic->station);
	if (status != RI_SUCCESS)
		return status;
	listen = calloc(1, sizeof(*listen));
	if (listen == NULL)
		return RI_ERR_RESOURCES;
	listen->context = context;
	listen->ctx = ctx;
	do {
		*service = said;
		status = listen_begin(listen, service, backlog);
		/* What was drawn may be another process's: draw again. */
	} while (status == RI_ERR_IN_USE && any && ++draws < DRAWS);
	if (status != RI_SUCCESS) {
		free(listen);
		return status;
	}
	vsw_context_add(&context->base, &context->listens, &listen->item);
	*out = listen;
	return RI_SUCCESS;
}

static void
cm_listen_destroy(struct ri_listen *listen)
{
	struct vro_station *station = listen->context->rnic->station;

	vsw_context_remove(&listen->context->base, &listen->item);
	/* In the child of a fork a thread of the parent may own the locks, and the service is the parent's. */
	if (!atomic_load(&station->forked)) {
		pthread_mutex_lock(&station->claiming);
		vro_service_over(station, listen->listen, &listen->service);
		vrc_listen_free(vrc_service_enter(station->service), listen->listen);
		vrc_service_leave(station->service);
		pthread_mutex_unlock(&station->claiming);
		vrc_service_settle(station->service);
	}
	free(listen);
}

/* --- both sides ------------------------------------------------------------------------------ */

static enum ri_status
params_check(const struct vro_verbs_qp *qp, const struct ri_cm_params *params)
{
	if (qp->qp.transport != ROCE_RC)
		return qp->qp.transport == ROCE_UD ? RI_ERR_INVALID_STATE : RI_ERR_UNSUPPORTED;
	if (params->ack_timeout > VRO_CODE_MAX ||
	    (params->retries && (params->retry_count > RETRIES || params->rnr_retry > RETRIES)))
		return RI_ERR_INVALID_ARG;
	return params->ird > VRO_MAX_DEPTH || params->ord > VRO_MAX_DEPTH ? RI_ERR_LIMIT
									  : RI_SUCCESS;
}

/* What the manager sends of this queue pair. */
static struct vrc_params
params_of(struct vro_verbs_qp *qp, const struct ri_cm_params *given)
{
	struct vrc_params params = vrc_params_of(given);

	params.ctx = (uint64_t)(uintptr_t)qp;
	params.qpn = vro_wire_number(qp);
	params.mtu = vro_station_mtu(qp->rnic->station);
	params.ack_timeout = (uint8_t)given->ack_timeout;
	params.retry_count = given->retries ? given->retry_count : RETRIES;
	params.rnr_retry = given->retries ? given->rnr_retry : RETRIES;
	params.srq = qp->srq != NULL;
	if (!given->ird_ord) {
		params.ird = qp->init.ird;
		params.ord = qp->init.ord;
	}
	return params;
}

/* The kernel knows no way there, which is an event as every other failure of an attempt. In the role. */
static void
unreachable(struct vro_verbs_qp *qp, const struct ri_cm_params *given)
{
	tie_begin(qp, 0, given);
	qp->tie.reason = RI_CM_REASON_BAD_PATH;
	vro_tie_break(qp);
	vro_qp_to_error(&qp->qp);
	vro_kick(qp);
}

static enum ri_status
cm_connect(struct ri_qp *ri, const struct ri_cm_params *given)
{
	struct vro_verbs_qp *qp = (struct vro_verbs_qp *)ri;
	struct vro_station *station = qp->rnic->station;
	enum ri_status status = params_check(qp, given);
	struct vrc_params params;
	uint64_t number = 0;

	if (status != RI_SUCCESS)
		return status;
	vro_station_enter(station);
	params = params_of(qp, given);
	params.three_way = true; /* it receives before the RTU leaves */
	status = is_idle(qp) ? path_make(qp->rnic, given, &params.path) : RI_ERR_INVALID_STATE;
	if (status == RI_SUCCESS) {
		status = vrc_connect(vrc_service_enter(station->service), &params, &number);
		vrc_service_leave(station->service);
	}
	if (status == RI_SUCCESS) {
		tie_begin(qp, number, given);
		qp->tie.three_way = given->three_way;
	} else if (status == RI_ERR_NO_ROUTE && given->local.family == RI_ADDR_NONE) {
		unreachable(qp, given);
		status = RI_SUCCESS;
	}
	vro_station_leave(station);
	return status;
}

static enum ri_status
cm_accept(struct ri_request *request, struct ri_qp *ri, const struct ri_cm_params *given)
{
	struct vro_verbs_qp *qp = (struct vro_verbs_qp *)ri;
	struct vro_station *station = qp->rnic->station;
	uint64_t number = (uint64_t)(uintptr_t)request;
	enum ri_status status = params_check(qp, given);
	struct vrc_params params;
	struct ri_peer reach = {0};
	struct vrc_cm *cm;

	if (status != RI_SUCCESS)
		return status;
	vro_station_enter(station); /* no packet is looked at until it receives */
	params = params_of(qp, given);
	status = is_idle(qp) ? RI_SUCCESS : RI_ERR_INVALID_STATE;
	if (status == RI_SUCCESS) {
		cm = vrc_service_enter(station->service);
		status = vrc_accept(cm, number, &params);
		if (status == RI_SUCCESS)
			(void)vrc_reach(cm, number, &reach);
		vrc_service_leave(station->service);
	}
	if (status == RI_SUCCESS) {
		tie_begin(qp, number, given);
		/* The request came to one of this adapter's addresses. */
		qp->qp.awaited = tie_receive(qp, &reach);
	}
	vro_station_leave(station);
	return status;
}

static enum ri_status
cm_reject(struct ri_request *request, enum ri_cm_reason reason, const void *pdata, uint16_t len)
{
	uint64_t number = (uint64_t)(uintptr_t)request;
	struct vrc_service *service = vro_station_of_number(number);
	enum ri_status status;

	if (service == NULL)
		return len > VRC_PDATA_REJECT ? RI_ERR_INVALID_ARG : RI_ERR_INVALID_HANDLE;
	status = vrc_reject(vrc_service_enter(service), number, reason, pdata, len);
	vrc_service_leave(service);
	vro_station_let_go();
	return status;
}

static enum ri_status
cm_confirm(struct ri_qp *ri, bool accept, const void *pdata, uint16_t len)
{
	struct vro_verbs_qp *qp = (struct vro_verbs_qp *)ri;
	struct vro_station *station = qp->rnic->station;
	enum ri_status status = RI_ERR_INVALID_STATE;

	if (len > (accept ? VRC_PDATA_CONFIRM : VRC_PDATA_REJECT))
		return RI_ERR_INVALID_ARG;
	vro_station_enter(station);
	if (qp->tie.phase == VRO_REPLIED) {
		status = vrc_confirm(vrc_service_enter(station->service), qp->tie.number, accept,
				     pdata, len);
		vrc_service_leave(station->service);
		if (status == RI_ERR_INVALID_HANDLE)
			status = RI_ERR_INVALID_STATE; /* its end is on its way */
	}
	if (status == RI_SUCCESS && accept) {
		qp->tie.phase = VRO_TRYING; /* once is enough */
	} else if (status == RI_SUCCESS) {
		tie_abandon(qp);
		vro_qp_to_error(&qp->qp);
		vro_kick(qp);
	}
	vro_station_leave(station);
	return status;
}

static enum ri_status
cm_disconnect(struct ri_qp *ri, const void *pdata, uint16_t len)
{
	struct vro_verbs_qp *qp = (struct vro_verbs_qp *)ri;
	enum ri_status status;

	vro_station_enter(qp->rnic->station);
	status = vro_tie_part(qp, pdata, len);
	vro_station_leave(qp->rnic->station);
	return status;
}

/* --- queries --------------------------------------------------------------------------------- */

/* No way there is known: the query goes nowhere, and is answered at its deadline. False: not even its sender is. */
static bool
path_nowhere(const struct ri_rnic *rnic, const struct ri_cm_params *given, struct vrc_path *path)
{
	struct ri_addr own[VRO_ADDRS_MAX];
	uint32_t count = vro_station_addrs(rnic->station, own);
	uint8_t to[16];

	vro_gid_of_addr(to, &given->peer);
	path->peer = vro_addr_of_gid(to);
	for (uint32_t i = 0; i < count; i++)
		if (own[i].family == path->peer.family) {
			path->local = own[i];
			path->port = 0;
			return given->port == 0 && given->local.family == RI_ADDR_NONE;
		}
	return false;
}

/* With the context's lock. */
static struct vro_query *
query_find(const struct ri_context *context, uint64_t ctx)
{
	for (struct vsw_item *item = context->queries.next; item != &context->queries;
	     item = item->next) {
		struct vro_query *query = (struct vro_query *)(void *)item; /* first */

		if (query->ctx == ctx)
			return query;
	}
	return NULL;
}

static enum ri_status
cm_resolve(struct ri_context *context, uint64_t ctx, const struct ri_cm_params *given)
{
	struct vrc_service *service = context->rnic->station->service;
	struct vrc_params params = vrc_params_of(given);
	enum ri_status status = path_make(context->rnic, given, &params.path);
	struct vro_query *query;

	if (status == RI_ERR_NO_ROUTE && path_nowhere(context->rnic, given, &params.path))
		status = RI_SUCCESS;
	if (status == RI_SUCCESS && vro_station_claim(context->rnic->station) != RI_SUCCESS)
		status = RI_ERR_RESOURCES;
	if (status != RI_SUCCESS)
		return status;
	query = calloc(1, sizeof(*query));
	if (query == NULL)
		return RI_ERR_RESOURCES;
	*query = (struct vro_query){.context = context, .ctx = ctx, .listed = true};
	params.ctx = (uint64_t)(uintptr_t)query;
	pthread_mutex_lock(&context->base.lock);
	status = query_find(context, ctx) != NULL ? RI_ERR_BUSY : RI_SUCCESS;
	if (status == RI_SUCCESS) {
		status = vrc_resolve(vrc_service_enter(service), &params, &query->number);
		vrc_service_leave(service);
	}
	if (status == RI_SUCCESS) {
		query->item.next = &context->queries;
		query->item.prev = context->queries.prev;
		query->item.prev->next = query->item.next->prev = &query->item;
	}
	pthread_mutex_unlock(&context->base.lock);
	if (status != RI_SUCCESS)
		free(query);
	return status;
}

static void
cm_resolve_cancel(struct ri_context *context, uint64_t ctx)
{
	struct vrc_service *service = context->rnic->station->service;
	struct vro_query *query;

	pthread_mutex_lock(&context->base.lock);
	query = query_find(context, ctx);
	if (query != NULL) {
		query->item.prev->next = query->item.next;
		query->item.next->prev = query->item.prev;
		query->listed = false;
	}
	pthread_mutex_unlock(&context->base.lock);
	if (query != NULL) {
		vrc_abandon(vrc_service_enter(service), query->number);
		vrc_service_leave(service);
	}
	vrc_service_settle(service); /* its answer may be raised just now */
	free(query);
}

static enum ri_status
cm_resolve_answer(struct ri_request *request, const struct ri_service_answer *answer)
{
	uint64_t number = (uint64_t)(uintptr_t)request;
	struct vrc_service *service = vro_station_of_number(number);
	enum ri_status status;

	if (service == NULL)
		return answer->pdata_len > VRC_PDATA_ANSWER ? RI_ERR_INVALID_ARG
							    : RI_ERR_INVALID_HANDLE;
	status = vrc_answer(vrc_service_enter(service), number, answer);
	vrc_service_leave(service);
	vro_station_let_go();
	return status;
}

/* --- ends of owners -------------------------------------------------------------------------- */

void
vro_cm_context_end(struct ri_context *context)
{
	while (context->listens.next != &context->listens)
		cm_listen_destroy((struct ri_listen *)(void *)context->listens.next); /* first */
	while (context->queries.next != &context->queries)
		cm_resolve_cancel(context,
				  ((struct vro_query *)(void *)context->queries.next)->ctx);
}

void
vro_cm_close(struct ri_rnic *rnic)
{
	struct vrc_service *service = rnic->station->service;

	if (atomic_load(&rnic->station->forked))
		return;
	vrc_disown(vrc_service_enter(service), rnic);
	vrc_service_leave(service);
	vrc_service_settle(service);
}

const struct ri_cm_ops vro_cm_ops = {
	.size = sizeof(struct ri_cm_ops),
	.listen = cm_listen,
	.listen_destroy = cm_listen_destroy,
	.connect = cm_connect,
	.accept = cm_accept,
	.reject = cm_reject,
	.confirm = cm_confirm,
	.disconnect = cm_disconnect,
	.resolve = cm_resolve,
	.resolve_cancel = cm_resolve_cancel,
	.resolve_answer = cm_resolve_answer,
};
