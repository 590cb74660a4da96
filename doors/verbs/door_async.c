/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "door_async.h"

#include <errno.h>
#include <stdlib.h>

#include "door_cm.h"
#include "door_cq.h"
#include "door_export.h"
#include "door_qp.h"
#include "door_srq.h"

/* --- events of the adapter and its ports ----------------------------------------------------------- */

/* Indexes of events of a port in door_context::port_events, whose first event is that of the adapter. */
enum {
	PORT_IS_ACTIVE,
	PORT_IS_DOWN,
	PORT_GIDS_CHANGED,
	PORT_EVENTS
};
static const enum ibv_event_type port_types[PORT_EVENTS] = {
	[PORT_IS_ACTIVE] = IBV_EVENT_PORT_ACTIVE,
	[PORT_IS_DOWN] = IBV_EVENT_PORT_ERR,
	[PORT_GIDS_CHANGED] = IBV_EVENT_GID_CHANGE,
};

static size_t
port_events_num(const struct door_context *context)
{
	return 1 + (size_t)context->adapter->session.attr.num_ports * PORT_EVENTS;
}

bool
door_async_init(struct door_context *context)
{
	size_t num = port_events_num(context);

	context->port_events = (struct door_async *)calloc(num, sizeof(*context->port_events));
	if (context->port_events == NULL)
		return false;
	context->port_events[0].type = IBV_EVENT_DEVICE_FATAL;
	for (size_t i = 1; i < num; i++) {
		context->port_events[i].type = port_types[(i - 1) % PORT_EVENTS];
		context->port_events[i].port = 1 + (int)((i - 1) / PORT_EVENTS);
	}
	if (door_events_init(&context->async))
		return true;
	free(context->port_events);
	return false;
}

void
door_async_fini(struct door_context *context)
{
	while (context->async.first != NULL)
		(void)door_events_take(&context->async);
	door_events_fini(&context->async);
	free(context->port_events);
}

/* An event of each open context. */
static void
raise_everywhere(struct door_adapter *adapter, size_t number)
{
	for (struct door_context *context = adapter->contexts; context != NULL;
	     context = context->next)
		door_async_raise(context, &context->port_events[number]);
}

static void
port_raised(struct door_adapter *adapter, uint64_t port, unsigned number)
{
	if (port < adapter->session.attr.num_ports)
		raise_everywhere(adapter, 1 + (size_t)port * PORT_EVENTS + number);
}

/* --- events of all kinds --------------------------------------------------------------------------------- */

void
door_async_raise(struct door_context *context, struct door_async *async)
{
	pthread_mutex_lock(&context->async.lock);
	door_events_remove(&context->async, &async->event);
	door_events_add(&context->async, &async->event);
	pthread_mutex_unlock(&context->async.lock);
}

static void
object_raised(struct door_adapter *adapter, const struct ri_async_event *event)
{
	const uint64_t ctx = event->ctx;
	struct door_cq *cq;
	struct door_qp *qp;
	struct door_srq *srq;

	if (event->object == RI_OBJECT_QP) {
		qp = (struct door_qp *)door_slot_find(&adapter->slots, DOOR_QP, ctx);
		if (qp != NULL)
			door_qp_raised(qp, (enum ri_event)event->event);
	} else if (event->object == RI_OBJECT_CQ) {
		cq = (struct door_cq *)door_slot_find(&adapter->slots, DOOR_CQ, ctx);
		if (cq != NULL)
			door_cq_failed(cq);
	} else if (event->object == RI_OBJECT_SRQ) {
		srq = (struct door_srq *)door_slot_find(&adapter->slots, DOOR_SRQ, ctx);
		if (srq != NULL)
			door_srq_raised(srq, (enum ri_event)event->event);
	}
}

void
door_async_raised(struct door_adapter *adapter, const struct ri_async_event *event)
{
	if (event->event == RI_EVENT_DEVICE_CATASTROPHIC) {
		raise_everywhere(adapter, 0);
		door_cm_device_lost(adapter);
	} else if (event->event == RI_EVENT_PORT_ACTIVE) {
		port_raised(adapter, event->ctx, PORT_IS_ACTIVE);
	} else if (event->event == RI_EVENT_PORT_ERROR) {
		port_raised(adapter, event->ctx, PORT_IS_DOWN);
	} else if (event->event == RI_EVENT_PORT_CHANGE) {
		port_raised(adapter, event->ctx, PORT_GIDS_CHANGED);
	} else {
		object_raised(adapter, event);
	}
}

void
door_async_end(struct door_context *context, struct door_async *asyncs, size_t num,
	       const struct door_acks *acks)
{
	unsigned due;

	pthread_mutex_lock(&context->async.lock);
	for (size_t i = 0; i < num; i++)
		door_events_remove(&context->async, &asyncs[i].event);
	due = *acks->taken;
	pthread_mutex_unlock(&context->async.lock);
	pthread_mutex_lock(acks->mutex);
	while (door_events_unacknowledged(due, *acks->completed))
		pthread_cond_wait(acks->cond, acks->mutex);
	pthread_mutex_unlock(acks->mutex);
}

/* --- what programs call ---------------------------------------------------------------------------------- */

static bool
event_take(struct door_context *context, struct ibv_async_event *event)
{
	struct door_async *async;

	pthread_mutex_lock(&context->async.lock);
	async = (struct door_async *)(void *)door_events_take(&context->async);
	if (async != NULL) {
		event->event_type = async->type;
		/* The members for objects are pointers of one size. */
		if (async->element != NULL)
			event->element.cq = (struct ibv_cq *)async->element;
		else
			event->element.port_num = async->port;
		if (async->taken != NULL)
			++*async->taken;
	}
	pthread_mutex_unlock(&context->async.lock);
	return async != NULL;
}

EXPORT int
ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	struct door_context *own = door_context_of(context);

	if (own->adapter->inherited) {
		errno = EIO;
		return -1;
	}
	while (!event_take(own, event)) {
		if (!door_events_blocks(&own->async)) {
			errno = EAGAIN;
			return -1;
		}
		if (!door_events_sleep(&own->async))
			return -1;
	}
	return 0;
}

static void
count_ack(pthread_mutex_t *mutex, pthread_cond_t *cond, uint32_t *completed)
{
	pthread_mutex_lock(mutex);
	++*completed;
	pthread_cond_signal(cond);
	pthread_mutex_unlock(mutex);
}

EXPORT void
ibv_ack_async_event(struct ibv_async_event *event)
{
	struct ibv_cq *cq = event->element.cq;
	struct ibv_qp *qp = event->element.qp;
	struct ibv_srq *srq = event->element.srq;

	switch ((int)event->event_type) {
	case IBV_EVENT_CQ_ERR:
		count_ack(&cq->mutex, &cq->cond, &cq->async_events_completed);
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		count_ack(&qp->mutex, &qp->cond, &qp->events_completed);
		break;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		count_ack(&srq->mutex, &srq->cond, &srq->events_completed);
		break;
	default: /* of the adapter or a port: nothing waits for it */
		break;
	}
}
