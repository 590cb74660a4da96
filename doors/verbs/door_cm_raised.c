/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Events of connections from the kAL, in dispatch: they move the states of ids, and make the events that programs get. */
#include <errno.h>
#include <string.h>

#include <glib.h>

#include "door_cm_internal.h"

/* Octets of private data that a message of InfiniBand has, less what the addresses take in requests. Programs get all of them. */
#define IB_REQUEST_DATA    56
#define IB_REPLY_DATA      196
#define IB_REJECT_DATA     148
#define IB_UD_REQUEST_DATA 180
#define IB_UD_REPLY_DATA   136

/* Reasons of a rejection that InfiniBand reports as the status. */
#define IB_REJ_NO_RESOURCES 3
#define IB_REJ_NO_SERVICE   8
#define IB_REJ_STALE        10
#define IB_REJ_CONSUMER     28

#define READS_MAX 128 /* as ibv_query_device tells */
#define RETRY_NS  (20 * G_GUINT64_CONSTANT(1000000))

/* --- parameters of events -------------------------------------------------------------------------------- */

static uint8_t
octet(uint64_t value)
{
	return (uint8_t)MIN(value, UINT8_MAX);
}

/* Private data as the transport shows it: iWARP's as it came, InfiniBand's as long as the message has room for it. */
static uint8_t
fill_data(const struct door_adapter *adapter, const struct kal_cm_event *event, size_t whole,
	  uint8_t *data)
{
	size_t num = MIN(event->pdata_len, UINT8_MAX);

	if (!door_cm_is_iwarp(adapter))
		num = MIN(num, whole);
	memcpy(data, event->pdata, num);
	return (uint8_t)(door_cm_is_iwarp(adapter) ? num : whole);
}

/* The depths that the other side offered; if it offered none, the limits of this side. */
static void
fill_depths(const struct door_adapter *adapter, const struct kal_cm_event *event,
	    struct rdma_ucm_conn_param *param)
{
	const struct ri_rnic_attr *attr = &adapter->session.attr;

	param->responder_resources =
		octet(event->ird_ord_valid ? event->ord : MIN(attr->max_ird, READS_MAX));
	param->initiator_depth =
		octet(event->ird_ord_valid ? event->ird : MIN(attr->max_ord, READS_MAX));
}

static void
fill_reach(const struct kal_cm_event *event, struct rdma_ucm_conn_param *param)
{
	param->qp_num = event->reach.qpn;
	param->retry_count = event->reach.retry_count;
	param->rnr_retry_count = event->reach.rnr_retry;
}

void
door_cm_request_params(const struct door_cm_id *id, const struct kal_cm_event *event,
		       struct rdma_ucm_event_resp *answer)
{
	struct rdma_ucm_conn_param *conn = &answer->param.conn;
	struct rdma_ucm_ud_param *ud = &answer->param.ud;

	if (door_cm_is_ud(id)) {
		ud->private_data_len =
			fill_data(id->adapter, event, IB_UD_REQUEST_DATA, ud->private_data);
		return;
	}
	conn->private_data_len = fill_data(id->adapter, event, IB_REQUEST_DATA, conn->private_data);
	fill_depths(id->adapter, event, conn);
	fill_reach(event, conn);
}

/* --- failures ------------------------------------------------------------------------------------------------ */

/* An event for a program, with its status. */
struct outcome {
	enum rdma_cm_event_type type;
	int status;
};

static const struct outcome iwarp_outcomes[] = {
	[KAL_REASON_OTHER] = {RDMA_CM_EVENT_REJECTED, -ECONNREFUSED},
	[KAL_REASON_TIMEOUT] = {RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT},
	[KAL_REASON_BAD_PATH] = {RDMA_CM_EVENT_CONNECT_ERROR, -EHOSTUNREACH},
	[KAL_REASON_STALE] = {RDMA_CM_EVENT_CONNECT_ERROR, -ECONNRESET},
	[KAL_REASON_BAD_ORD] = {RDMA_CM_EVENT_CONNECT_ERROR, -EINVAL},
	[KAL_REASON_RESOURCES] = {RDMA_CM_EVENT_CONNECT_ERROR, -ENOMEM},
	[KAL_REASON_BAD_PARAMS] = {RDMA_CM_EVENT_CONNECT_ERROR, -EPROTO},
	[KAL_REASON_CONSUMER] = {RDMA_CM_EVENT_REJECTED, -ECONNREFUSED},
	[KAL_REASON_REFUSED] = {RDMA_CM_EVENT_REJECTED, -ECONNREFUSED},
};

static const struct outcome ib_outcomes[] = {
	[KAL_REASON_OTHER] = {RDMA_CM_EVENT_REJECTED, IB_REJ_NO_SERVICE},
	[KAL_REASON_TIMEOUT] = {RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT},
	[KAL_REASON_BAD_PATH] = {RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT},
	[KAL_REASON_STALE] = {RDMA_CM_EVENT_REJECTED, IB_REJ_STALE},
	[KAL_REASON_BAD_ORD] = {RDMA_CM_EVENT_CONNECT_ERROR, -EINVAL},
	[KAL_REASON_RESOURCES] = {RDMA_CM_EVENT_REJECTED, IB_REJ_NO_RESOURCES},
	[KAL_REASON_BAD_PARAMS] = {RDMA_CM_EVENT_CONNECT_ERROR, -EPROTO},
	[KAL_REASON_CONSUMER] = {RDMA_CM_EVENT_REJECTED, IB_REJ_CONSUMER},
	[KAL_REASON_REFUSED] = {RDMA_CM_EVENT_REJECTED, IB_REJ_NO_SERVICE},
};

static struct outcome
outcome_of(const struct door_adapter *adapter, uint32_t reason)
{
	if (reason >= G_N_ELEMENTS(ib_outcomes))
		reason = KAL_REASON_OTHER;
	return door_cm_is_iwarp(adapter) ? iwarp_outcomes[reason] : ib_outcomes[reason];
}

/* Under door_cm_lock(). The service may be there in a moment: then the timer tries again. */
static bool
tries_again(struct door_cm_id *id)
{
	const struct ri_host *host = door_cm_host(id);
	uint64_t now = host->now(host->self);

	if (id->dying || id->state != DOOR_CM_CONNECTING || now >= id->give_up ||
	    !(id->may_retry || door_cm_is_ud(id)))
		return false;
	host->timer_start(host->self, &id->retry, now + RETRY_NS);
	return true;
}

void
door_cm_failed(struct door_cm_id *id, uint32_t reason)
{
	struct outcome outcome = outcome_of(id->adapter, reason);

	id->state = DOOR_CM_ENDED;
	(void)door_cm_raise(id, outcome.type, outcome.status);
}

/* --- connections --------------------------------------------------------------------------------------------- */

static bool
is_refusal(const struct kal_cm_event *event)
{
	return event->kind == KAL_CM_FAILED &&
	       (event->reason == KAL_REASON_REFUSED || event->reason == KAL_REASON_OTHER);
}

/* The peer has accepted, and waits for ACCEPT of the program, which librdmacm makes if the id has a queue pair. */
static void
replied(struct door_cm_id *id, const struct kal_cm_event *event)
{
	struct rdma_ucm_conn_param *param;
	struct door_cm_event *raised;

	if (id->state != DOOR_CM_CONNECTING)
		return;
	id->state = DOOR_CM_REPLIED;
	id->reach = event->reach;
	raised = door_cm_raise(id, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
	if (raised == NULL)
		return;
	param = &raised->answer.param.conn;
	param->private_data_len = fill_data(id->adapter, event, IB_REPLY_DATA, param->private_data);
	fill_depths(id->adapter, event, param);
	fill_reach(event, param);
}

static void
established(struct door_cm_id *id, const struct kal_cm_event *event)
{
	bool iwarp = door_cm_is_iwarp(id->adapter);
	struct rdma_ucm_conn_param *param;
	struct door_cm_event *raised;

	/* The active side of InfiniBand, whose ACCEPT was the end of the set-up. */
	if (id->state == DOOR_CM_REPLIED)
		id->state = DOOR_CM_UP;
	if (id->state != DOOR_CM_CONNECTING)
		return;
	id->state = DOOR_CM_UP;
	if (!id->passive && event->service.local_port != 0)
		*door_cm_port(&id->source) = event->service.local_port;
	raised = door_cm_raise(id, RDMA_CM_EVENT_ESTABLISHED, 0);
	/* The last message of InfiniBand's set-up has nothing that programs get. */
	if (raised == NULL || (id->passive && !iwarp))
		return;
	param = &raised->answer.param.conn;
	param->private_data_len = fill_data(id->adapter, event, IB_REPLY_DATA, param->private_data);
	param->responder_resources = octet(event->own_ird);
	param->initiator_depth = octet(event->own_ord);
}

static void
rejected(struct door_cm_id *id, const struct kal_cm_event *event)
{
	struct outcome outcome = outcome_of(id->adapter, KAL_REASON_CONSUMER);
	struct rdma_ucm_conn_param *param;
	struct door_cm_event *raised;

	if (id->state != DOOR_CM_CONNECTING && id->state != DOOR_CM_REPLIED)
		return;
	id->state = DOOR_CM_ENDED;
	raised = door_cm_raise(id, outcome.type, outcome.status);
	if (raised == NULL)
		return;
	param = &raised->answer.param.conn;
	param->private_data_len =
		fill_data(id->adapter, event, IB_REJECT_DATA, param->private_data);
}

static void
wait_tell(struct door_cm_id *id)
{
	/* The time-wait of iWARP is TCP's. */
	if (!id->wait_told && !door_cm_is_iwarp(id->adapter))
		(void)door_cm_raise(id, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
	id->wait_told = true;
}

void
door_cm_wait_over(struct door_cm_id *id)
{
	if (id->wait_due)
		wait_tell(id);
}

void
door_cm_over(struct door_cm_id *id)
{
	const struct ri_rnic_attr *attr = &id->adapter->session.attr;

	id->state = DOOR_CM_ENDED;
	(void)door_cm_raise(id, RDMA_CM_EVENT_DISCONNECTED, 0);
	id->wait_due = true;
	/* Only a device reports when it is over. No packet of a software adapter comes too late for the next connection. */
	if (attr->software || !attr->has_time_wait)
		wait_tell(id);
}

static void
ended(struct door_cm_id *id)
{
	if (id->state == DOOR_CM_ENDED)
		return;
	door_cm_over(id);
	door_cm_ended();
}

/* Under door_cm_lock(). */
static void
connection_event(struct door_cm_id *id, const struct kal_cm_event *event)
{
	switch ((enum kal_cm_kind)event->kind) {
	case KAL_CM_REPLY:
		replied(id, event);
		break;
	case KAL_CM_ESTABLISHED:
		established(id, event);
		break;
	case KAL_CM_REJECTED:
		rejected(id, event);
		break;
	case KAL_CM_FAILED:
		if (id->state == DOOR_CM_CONNECTING || id->state == DOOR_CM_REPLIED)
			door_cm_failed(id, event->reason);
		break;
	case KAL_CM_DISCONNECTED:
	case KAL_CM_BROKEN:
		ended(id);
		break;
	case KAL_CM_TIME_WAIT_OVER:
		wait_tell(id);
		break;
	case KAL_CM_NONE:
	case KAL_CM_REQUEST:
	case KAL_CM_REQUEST_GONE:
	case KAL_CM_SERVICE_REQUEST:
	case KAL_CM_SERVICE_REPLY:
	case KAL_CM_COUNT:
		break;
	}
}

/* The queue pair's state for the program, before the program can know of the event. qp may be NULL. */
static void
move_qp(struct door_qp *qp, const struct kal_cm_event *event)
{
	if (qp == NULL)
		return;
	if (event->kind == KAL_CM_ESTABLISHED)
		door_qp_connected(qp);
	else if (event->kind == KAL_CM_REJECTED || event->kind == KAL_CM_FAILED ||
		 event->kind == KAL_CM_DISCONNECTED || event->kind == KAL_CM_BROKEN)
		door_qp_ended(qp);
}

static void
connection_raised(struct door_adapter *adapter, uint64_t ctx, const struct kal_cm_event *event)
{
	struct door_qp *qp = (struct door_qp *)door_slot_find(&adapter->slots, DOOR_QP, ctx);
	struct door_cm_id *id;
	bool again = false;

	id = qp != NULL ? qp->cm
			: (struct door_cm_id *)door_slot_find(&adapter->slots, DOOR_QUERY, ctx);
	if (id != NULL && is_refusal(event)) {
		door_cm_lock();
		again = tries_again(id);
		door_cm_unlock();
	}
	if (again)
		return;
	move_qp(qp, event);
	if (id == NULL)
		return;
	door_cm_lock();
	connection_event(id, event);
	door_cm_unlock();
}

/* --- datagram services ------------------------------------------------------------------------------------------ */

static void
answered(struct door_cm_id *id, const struct kal_cm_event *event)
{
	struct rdma_ucm_ud_param *param;
	struct door_cm_event *raised;
	bool found = event->service_status == RI_SERVICE_FOUND;

	id->query_open = false;
	if (id->state != DOOR_CM_CONNECTING ||
	    (event->service_status == RI_SERVICE_UNKNOWN && tries_again(id)))
		return;
	id->state = found ? DOOR_CM_UP : DOOR_CM_ENDED;
	raised = found ? door_cm_raise(id, RDMA_CM_EVENT_ESTABLISHED, 0)
		       : door_cm_raise(id, RDMA_CM_EVENT_UNREACHABLE,
				       door_cm_service_status(event->service_status));
	if (raised == NULL)
		return;
	param = &raised->answer.param.ud;
	param->private_data_len =
		fill_data(id->adapter, event, IB_UD_REPLY_DATA, param->private_data);
	if (!found)
		return;
	param->qp_num = event->qpn;
	param->qkey = event->qkey;
	door_cm_ah_attr(id, &id->dgid, &param->ah_attr);
}

/* --- from dispatch ------------------------------------------------------------------------------------------------ */

void
door_cm_raised(struct door_adapter *adapter, uint64_t ctx, const struct kal_cm_event *event)
{
	struct door_cm_listen *listen;
	struct door_cm_id *id;

	switch ((enum kal_cm_kind)event->kind) {
	case KAL_CM_REQUEST:
	case KAL_CM_SERVICE_REQUEST:
		listen = (struct door_cm_listen *)door_slot_find(&adapter->slots, DOOR_LISTENER,
								 ctx);
		if (listen != NULL)
			door_cm_requested(listen, event);
		break;
	case KAL_CM_REQUEST_GONE:
		door_cm_request_gone(adapter, event->request);
		break;
	case KAL_CM_SERVICE_REPLY:
		id = (struct door_cm_id *)door_slot_find(&adapter->slots, DOOR_QUERY, ctx);
		if (id == NULL)
			break;
		door_cm_lock();
		answered(id, event);
		door_cm_unlock();
		break;
	case KAL_CM_NONE:
	case KAL_CM_COUNT:
		break;
	case KAL_CM_REPLY:
	case KAL_CM_ESTABLISHED:
	case KAL_CM_REJECTED:
	case KAL_CM_FAILED:
	case KAL_CM_DISCONNECTED:
	case KAL_CM_BROKEN:
	case KAL_CM_TIME_WAIT_OVER:
		connection_raised(adapter, ctx, event);
		break;
	}
}

void
door_cm_device_lost(struct door_adapter *adapter)
{
	struct door_cm_id *id;

	door_cm_lock();
	for (id = door_cm_id_after(0); id != NULL; id = door_cm_id_after(id->number)) {
		if (id->adapter != adapter)
			continue;
		(void)door_cm_raise(id, RDMA_CM_EVENT_DEVICE_REMOVAL, 0);
		if (id->state > DOOR_CM_LISTENING)
			id->state = DOOR_CM_ENDED;
	}
	door_cm_ended();
	door_cm_unlock();
}
