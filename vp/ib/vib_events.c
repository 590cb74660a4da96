/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Events of the device: completions of queues that are armed, and asynchronous events. The host watches both descriptors,
 * so the handlers run on its service thread. They make their upcalls before they acknowledge the event: so the destruction
 * of the object, which waits for the acknowledgement, waits for the upcall, too.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "ri_fd.h"
#include "vib_cq.h"
#include "vib_events.h"
#include "vib_objects.h"
#include "vib_qp_end.h"
#include "vib_why.h"

#define LOOK_NS (200 * UINT64_C(1000)) /* between two looks whether all connections have ended */

/* --- the end of the device ----------------------------------------------------------------------- */

void
vib_raise(struct ri_rnic *rnic, uint32_t event, uint32_t object, uint64_t ctx)
{
	const struct ri_async_event out = {.event = event, .object = object, .ctx = ctx};

	rnic->upcalls->async_event(rnic->upcalls->self, &out);
}

/* The device has failed, and the ends of its connections come first [RI 8.5]. */
static void
on_last_end(void *arg)
{
	struct ri_rnic *rnic = arg;
	const struct ri_host *host = rnic->host;

	if (vib_qp_end_pending(rnic))
		host->timer_start(host->self, &rnic->last_end, host->now(host->self) + LOOK_NS);
	else
		vib_raise(rnic, RI_EVENT_DEVICE_CATASTROPHIC, RI_OBJECT_RNIC, 0);
}

void
vib_device_failed(struct ri_rnic *rnic)
{
	if (atomic_exchange(&rnic->failed, true))
		return;
	vib_log(rnic, RI_LOG_ERROR, "the device has failed or was removed");
	vib_cm_device_gone(rnic);
	vib_qp_end_all(rnic);
	on_last_end(rnic);
}

/*
 * A read of a descriptor has failed. The kernel can remove a device that a program has open; from
 * then on each descriptor of the device has a permanent error [RI 12.1.11]. Whatever the error is,
 * the device is useless without events, and a descriptor that stays readable would keep the service
 * thread busy; so it is not watched any more.
 */
static void
descriptor_check(struct ri_rnic *rnic, struct ri_watch *watch)
{
	/* 0: less was read than an event, and no call has failed. */
	if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || errno == 0)
		return;
	rnic->host->watch_change(rnic->host->self, watch, 0);
	vib_device_failed(rnic);
}

/* --- completions ------------------------------------------------------------------------------ */

/* A library may unmap a queue before its destruction waits for the acknowledgement, so cq_destroy waits, too. */
static void
on_completion(void *arg, uint32_t events)
{
	struct ri_rnic *rnic = arg;
	struct ibv_cq *device_cq;
	void *ctx;

	(void)events;
	for (errno = 0; ibv_get_cq_event(rnic->channel, &device_cq, &ctx) == 0; errno = 0) {
		struct ri_cq *cq = ctx;

		atomic_store(&rnic->completing, cq);
		if (!atomic_load(&cq->dying)) {
			vsw_lock(&cq->user.lock);
			cq->user.listening = false;
			cq->user.watching = false;
			vib_cq_stage(&cq->user);
			vib_cq_unlock(&cq->user);
			vib_cq_tell(cq);
			vib_cq_watch(&cq->user);
		}
		atomic_store(&rnic->completing, NULL);
		ibv_ack_cq_events(device_cq, 1);
	}
	descriptor_check(rnic, &rnic->completions);
}

/* --- asynchronous events ------------------------------------------------------------------------ */

/* What an event means for its object. */
struct meaning {
	uint32_t event; /* enum ri_event */
	uint32_t object;
	bool ends; /* a queue pair: its connection is broken */
};

static const struct meaning meanings[] = {
	[IBV_EVENT_CQ_ERR] = {RI_EVENT_CQ_OP_ERROR, RI_OBJECT_CQ, false},
	[IBV_EVENT_QP_FATAL] = {RI_EVENT_QP_CATASTROPHIC, RI_OBJECT_QP, true},
	[IBV_EVENT_QP_REQ_ERR] = {RI_EVENT_QP_OPCODE, RI_OBJECT_QP, true},
	[IBV_EVENT_QP_ACCESS_ERR] = {RI_EVENT_QP_ACCESS, RI_OBJECT_QP, true},
	[IBV_EVENT_COMM_EST] = {RI_EVENT_QP_COMM_EST, RI_OBJECT_QP, false},
	[IBV_EVENT_SQ_DRAINED] = {RI_EVENT_QP_SQ_DRAINED, RI_OBJECT_QP, false},
	[IBV_EVENT_PATH_MIG] = {RI_EVENT_QP_PATH_MIGRATED, RI_OBJECT_QP, false},
	[IBV_EVENT_PATH_MIG_ERR] = {RI_EVENT_QP_PATH_MIG_FAILED, RI_OBJECT_QP, false},
	[IBV_EVENT_DEVICE_FATAL] = {RI_EVENT_DEVICE_CATASTROPHIC, RI_OBJECT_RNIC, false},
	[IBV_EVENT_PORT_ACTIVE] = {RI_EVENT_PORT_ACTIVE, RI_OBJECT_PORT, false},
	[IBV_EVENT_PORT_ERR] = {RI_EVENT_PORT_ERROR, RI_OBJECT_PORT, false},
	[IBV_EVENT_LID_CHANGE] = {RI_EVENT_PORT_CHANGE, RI_OBJECT_PORT, false},
	[IBV_EVENT_PKEY_CHANGE] = {RI_EVENT_PORT_CHANGE, RI_OBJECT_PORT, false},
	[IBV_EVENT_SM_CHANGE] = {RI_EVENT_PORT_CHANGE, RI_OBJECT_PORT, false},
	[IBV_EVENT_SRQ_ERR] = {RI_EVENT_SRQ_CATASTROPHIC, RI_OBJECT_SRQ, false},
	[IBV_EVENT_SRQ_LIMIT_REACHED] = {RI_EVENT_SRQ_LIMIT, RI_OBJECT_SRQ, false},
	[IBV_EVENT_QP_LAST_WQE_REACHED] = {RI_EVENT_QP_LAST_WQE, RI_OBJECT_QP, false},
	[IBV_EVENT_CLIENT_REREGISTER] = {RI_EVENT_PORT_CHANGE, RI_OBJECT_PORT, false},
	[IBV_EVENT_GID_CHANGE] = {RI_EVENT_PORT_CHANGE, RI_OBJECT_PORT, false},
};

static void
qp_event(const struct meaning *meaning, struct ibv_qp *device_qp, enum ibv_event_type type)
{
	const struct ri_cm_event broken = {.kind = RI_CM_BROKEN};
	struct vib_qp *qp = device_qp->qp_context;
	bool former;

	/* A former queue pair of the device waits for the acknowledgement (vib_qp_device_renew). */
	pthread_mutex_lock(&qp->lock);
	former = qp->user.qp != device_qp;
	pthread_mutex_unlock(&qp->lock);
	if (former)
		return;
	if (type == IBV_EVENT_COMM_EST && qp->user.bare)
		vib_raise(qp->pd->context->rnic, meaning->event, RI_OBJECT_QP, qp->ctx);
	else if (type == IBV_EVENT_COMM_EST)
		vib_cm_comm_est(qp);
	else if (type == IBV_EVENT_QP_LAST_WQE_REACHED)
		vib_qp_end_last_wqe(qp);
	else if (meaning->ends) {
		if (vib_qp_end(qp, &broken, meaning->event))
			vib_why_ended(qp, "the device reports: %s", ibv_event_type_str(type));
	}
}

static void
async_handle(struct ri_rnic *rnic, const struct ibv_async_event *event)
{
	const struct meaning *meaning = &meanings[event->event_type];
	int number = event->element.port_num; /* the driver counts ports from 1 */

	switch ((int)meaning->object) {
	case RI_OBJECT_QP:
		qp_event(meaning, event->element.qp, event->event_type);
		break;
	case RI_OBJECT_CQ:
		vib_raise(rnic, meaning->event, RI_OBJECT_CQ,
			  ((struct ri_cq *)event->element.cq->cq_context)->ctx);
		break;
	case RI_OBJECT_SRQ:
		if (event->event_type == IBV_EVENT_SRQ_LIMIT_REACHED) {
			vib_srq_low(event->element.srq->srq_context);
			break;
		}
		vib_raise(rnic, meaning->event, RI_OBJECT_SRQ,
			  ((struct ri_srq *)event->element.srq->srq_context)->ctx);
		break;
	case RI_OBJECT_PORT:
		vib_qp_port_event(rnic, meaning->event);
		/* A RoCE device knows an address later than its interface [RI 12.2.20]. */
		vib_cm_follow(rnic);
		if (number >= 1 && (uint32_t)number <= rnic->attr.num_ports)
			vib_raise(rnic, meaning->event, RI_OBJECT_PORT, (uint64_t)number - 1);
		else
			vib_log(rnic, RI_LOG_WARNING,
				"an event names port %d of the device, which has %u", number,
				rnic->attr.num_ports);
		break;
	default:
		vib_device_failed(rnic);
		break;
	}
}

void
vib_events_catch_up(struct ri_rnic *rnic)
{
	struct ibv_async_event event;

	for (errno = 0; ibv_get_async_event(rnic->verbs, &event) == 0; errno = 0) {
		if ((size_t)event.event_type < sizeof(meanings) / sizeof(meanings[0]) &&
		    meanings[event.event_type].event != RI_EVENT_NONE)
			async_handle(rnic, &event);
		ibv_ack_async_event(&event);
	}
	descriptor_check(rnic, &rnic->asyncs);
}

static void
on_async(void *arg, uint32_t events)
{
	(void)events;
	vib_events_catch_up(arg);
}

/* --- start and stop ------------------------------------------------------------------------------ */

static enum ri_status
watch_fd(const struct ri_host *host, struct ri_watch *item, int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0)
		return RI_ERR_RESOURCES;
	item->fd = fd;
	item->events = RI_WATCH_IN;
	return host->watch_start(host->self, item);
}

enum ri_status
vib_events_start(struct ri_rnic *rnic)
{
	const struct ri_host *host = rnic->host;
	struct ri_fd_filler filler;
	enum ri_status status;

	ri_fd_fill(&filler);
	errno = 0;
	rnic->channel = ibv_create_comp_channel(rnic->verbs);
	ri_fd_free(&filler);
	if (rnic->channel == NULL)
		return vib_status_of_open(errno != 0 ? errno : ENOMEM);
	rnic->completions = (struct ri_watch){.fire = on_completion, .arg = rnic};
	rnic->asyncs = (struct ri_watch){.fire = on_async, .arg = rnic};
	rnic->last_end = (struct ri_timer){.fire = on_last_end, .arg = rnic};
	status = watch_fd(host, &rnic->completions, rnic->channel->fd);
	if (status == RI_SUCCESS) {
		status = watch_fd(host, &rnic->asyncs, rnic->verbs->async_fd);
		if (status != RI_SUCCESS)
			host->watch_stop(host->self, &rnic->completions);
	}
	if (status == RI_SUCCESS) {
		status = vib_removal_start(rnic);
		if (status != RI_SUCCESS) {
			host->watch_stop(host->self, &rnic->asyncs);
			host->watch_stop(host->self, &rnic->completions);
		}
	}
	if (status != RI_SUCCESS)
		(void)ibv_destroy_comp_channel(rnic->channel);
	return status;
}

void
vib_events_stop(struct ri_rnic *rnic)
{
	const struct ri_host *host = rnic->host;

	vib_removal_stop(rnic);
	host->watch_stop(host->self, &rnic->asyncs);
	host->watch_stop(host->self, &rnic->completions);
	host->timer_stop(host->self, &rnic->last_end);
	(void)ibv_destroy_comp_channel(rnic->channel);
}
