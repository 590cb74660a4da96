/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Events of endpoints: what the kAL reports of their connections and failures [IT 4.2], [IT 5.2], [IT 14].
 *
 * An event of the kAL moves the endpoint under its event lock, and the event that the move owes is posted to the
 * connect EVD under the same lock, so events come in the order of moves. Dispatch calls these functions, on any thread
 * (session.h).
 *
 * R-05 needs nothing here: the layers below complete all requests before they report an end, and the dispatch that makes
 * an endpoint CONNECTED runs before its first receive completes.
 */

#include <string.h>

#include "ri_owned.h"
#include "ual.h"
#include "ual_addr.h"
#include "ual_cm.h"
#include "ual_log.h"
#include "ual_request.h"
#include "ual_status.h"

/* The event of the endpoint for an event of the kAL; COUNT: none. */
static enum ual_ep_event
ep_event_of(uint32_t kind)
{
	switch ((enum kal_cm_kind)kind) {
	case KAL_CM_REPLY:
		return UAL_EPE_REPLY;
	case KAL_CM_ESTABLISHED:
		return UAL_EPE_ESTABLISHED;
	case KAL_CM_REJECTED:
		return UAL_EPE_REJECTED;
	case KAL_CM_FAILED:
		return UAL_EPE_FAILED;
	case KAL_CM_DISCONNECTED:
		return UAL_EPE_DISCONNECTED;
	case KAL_CM_BROKEN:
		return UAL_EPE_BROKEN;
	case KAL_CM_NONE:
	case KAL_CM_REQUEST:
	case KAL_CM_REQUEST_GONE:
	case KAL_CM_SERVICE_REQUEST:
	case KAL_CM_SERVICE_REPLY:
	case KAL_CM_TIME_WAIT_OVER:
	case KAL_CM_COUNT:
		break;
	}
	return UAL_EPE_COUNT;
}

/* Set the path of a converted socket: the call or the event does so, whichever is first. Under ep->lock. */
static void
path_set(struct ual_ep *ep, const struct kal_cm_event *cm)
{
	RI_ASSERT_OWNED(&ep->lock);
	ual_addr_to_path(&ep->object.ia->session.attr, cm->port, &cm->local, &cm->peer, &ep->path);
	ep->path_comes = false;
}

void
ual_ep_deliver(struct ual_ep *ep, enum ual_ep_event what, const struct kal_cm_event *cm)
{
	enum ual_ep_notice notice = UAL_EPN_NONE;
	it_connection_event_t *out;
	it_event_t event;

	memset(&event, 0, sizeof(event));
	out = &event.conn;
	pthread_mutex_lock(&ep->lock);
	(void)ual_ep_step(&ep->state, what, &notice);
	if (notice != UAL_EPN_NONE) {
		out->event_number = ual_ep_notice_number(notice);
		if (cm == NULL) {
			/* The application has answered the arrival: nothing comes from the peer any more. */
			out->rdma_read_ird = ep->arrival_ird;
			out->rdma_read_ord = ep->arrival_ord;
		} else {
			if (ep->path_comes)
				path_set(ep, cm);
			memcpy(out->private_data, cm->pdata, sizeof(out->private_data));
			out->private_data_present = cm->pdata_present ? IT_TRUE : IT_FALSE;
			out->reject_reason_code = ual_status_of_reason(cm->reason);
		}
		/* The event has the peer's depths, the attributes the negotiated ORD. */
		if (cm != NULL && cm->ird_ord_valid) {
			out->rdma_read_ird = cm->ird;
			out->rdma_read_ord = cm->ord;
			if ((cm->kind == KAL_CM_ESTABLISHED || cm->kind == KAL_CM_REPLY) &&
			    cm->own_ord < ep->attr.srv.rc.rdma_read_ord)
				ep->attr.srv.rc.rdma_read_ord = cm->own_ord;
		}
		if (notice == UAL_EPN_ARRIVAL) {
			/* The peer accepted: its identifier is for our answer. ESTABLISHED will repeat the peer's depths. */
			ep->arrival_ird = out->rdma_read_ird;
			ep->arrival_ord = out->rdma_read_ord;
			ual_request_came(ep->arrival);
			out->cn_est_id = ep->arrival;
		} else {
			ual_request_forget(ep->arrival);
		}
		out->ep = ual_object_handle(&ep->object);
		out->dst_path = ep->path;
		/* If the EVD is full, the event is lost and accounted for; the state is right [IT 6.7]. */
		(void)ual_evd_post(ep->connect, &event);
	}
	pthread_mutex_unlock(&ep->lock);
	if (notice != UAL_EPN_NONE)
		ual_log_connection(ep, out);
}

void
ual_cm_converting(struct ual_ep *ep)
{
	pthread_mutex_lock(&ep->lock);
	ep->path_comes = true;
	pthread_mutex_unlock(&ep->lock);
}

void
ual_cm_converted(struct ual_ep *ep, const struct kal_convert_rep *rep)
{
	const struct kal_cm_event event = {
		.kind = KAL_CM_ESTABLISHED,
		.port = rep->port,
		.peer = rep->peer,
		.local = rep->local,
	};

	pthread_mutex_lock(&ep->lock);
	if (ep->path_comes)
		path_set(ep, &event);
	pthread_mutex_unlock(&ep->lock);
	if (rep->connected)
		ual_ep_deliver(ep, UAL_EPE_ESTABLISHED, &event);
}

void
ual_ep_cm(struct ual_ia *ia, const struct kal_event *ev)
{
	enum ual_ep_event what = ep_event_of(ev->u.cm.kind);
	struct ual_ep *ep = ual_object_from_ctx(ev->ctx, UAL_EP);

	if (what != UAL_EPE_COUNT && ep != NULL && ep->object.ia == ia)
		ual_ep_deliver(ep, what, &ev->u.cm);
}

void
ual_ep_async(struct ual_ia *ia, const struct ri_async_event *ev)
{
	it_event_type_t number = ual_status_of_event(ev->event, ev->detail);
	struct ual_ep *ep = ual_object_from_ctx(ev->ctx, UAL_EP);

	if (ep == NULL || ep->object.ia != ia)
		return;
	/* Datagrams have no connection whose end would report it. */
	if (ep->ud && ri_event_is_end((enum ri_event)ev->event))
		(void)ual_ep_step(&ep->state, UAL_EPE_BROKEN, NULL);
	if (number == 0)
		return;
	if (ev->event == RI_EVENT_QP_CQ_SQ_ERROR)
		ual_evd_overflow(ep->request, ual_object_handle(&ep->object));
	else if (ev->event == RI_EVENT_QP_CQ_RQ_ERROR)
		ual_evd_overflow(ep->recv, ual_object_handle(&ep->object));
	else if (ep->ud || !ri_event_is_end((enum ri_event)ev->event) || !ia->drop_broken_events)
		ual_async_affiliated(ia, number, ual_object_handle(&ep->object));
}
