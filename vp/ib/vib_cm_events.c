/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The event channel of a connection manager: what comes is handed to its owner. On the service thread. */
#include <errno.h>
#include <fcntl.h>

#include "ri_fd.h"
#include "vib_cm.h"
#include "vib_events.h"
#include "vib_version.h"

#define EVENTS_AT_ONCE 32 /* then the service thread serves others */
#define VERSION_NEWEST \
	4 /* RDMA_USER_CM_ABI_VERSION, whose header cannot be included beside rdma_cma.h */
#ifndef VIB_CM_VERSION /* a test has its own */
#define VIB_CM_VERSION "/sys/class/misc/rdma_cm/abi_version"
#endif

/* --- events of a connection ---------------------------------------------------------------- */

static enum vib_step
step_of_event(enum rdma_cm_event_type type)
{
	switch (type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		return VIB_STEP_ADDRESS;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		return VIB_STEP_ROUTE;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		return VIB_STEP_RESPONSE;
	case RDMA_CM_EVENT_ESTABLISHED:
		return VIB_STEP_ESTABLISHED;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
		return VIB_STEP_FAILED;
	case RDMA_CM_EVENT_DISCONNECTED:
		return VIB_STEP_DISCONNECTED;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return VIB_STEP_REMOVED;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
	case RDMA_CM_EVENT_MULTICAST_JOIN:
	case RDMA_CM_EVENT_MULTICAST_ERROR:
	case RDMA_CM_EVENT_ADDR_CHANGE:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
	default:
		return VIB_STEP_COUNT;
	}
}

/* True: its destruction was deferred, and this was its last event. */
static bool
conn_is_finished(struct vib_conn *conn, enum vib_step step)
{
	bool outcome = step != VIB_STEP_ADDRESS && step != VIB_STEP_ROUTE && step != VIB_STEP_COUNT;
	bool finished;

	pthread_mutex_lock(&conn->cm->lock);
	if (outcome)
		conn->under_way = false;
	finished = outcome && conn->deferred && !conn->calling;
	pthread_mutex_unlock(&conn->cm->lock);
	return finished;
}

/* True: destroy the connection when the event is acknowledged. */
static bool
conn_event(struct vib_conn *conn, const struct rdma_cm_event *event)
{
	enum vib_step step = step_of_event(event->event);
	enum vib_action action;
	struct vib_qp *qp;

	if (conn_is_finished(conn, step))
		return true;
	if (event->event == RDMA_CM_EVENT_TIMEWAIT_EXIT)
		vib_conn_time_wait_over(conn);
	else if (step != VIB_STEP_COUNT && vib_conn_step(conn, step, &action, &qp))
		vib_conn_do(conn, action, qp, event);
	return false;
}

/* --- the event channel --------------------------------------------------------------------------- */

/* True: the owner is to be freed when the event is acknowledged. */
static bool
event_handle(struct vib_cm *cm, void *owner, const struct rdma_cm_event *event)
{
	bool request = event->event == RDMA_CM_EVENT_CONNECT_REQUEST;
	enum vib_owner kind = *(const enum vib_owner *)owner;
	const struct vib_conn *conn = kind == VIB_OWNER_CONN ? owner : NULL;
	const struct vib_qp *qp = NULL; /* it stays while the connection is busy */

	pthread_mutex_lock(&cm->lock);
	if (conn != NULL)
		qp = conn->qp;
	pthread_mutex_unlock(&cm->lock);
	if (qp != NULL)
		vib_log_qp(qp, RI_LOG_DEBUG, "%s, status %d", rdma_event_str(event->event),
			   event->status);
	else
		vib_log(cm->rnic, RI_LOG_DEBUG, "%s, status %d", rdma_event_str(event->event),
			event->status);
	if (request && (kind != VIB_OWNER_EAR || event->id == NULL)) {
		vib_log(cm->rnic, RI_LOG_WARNING,
			"librdmacm reports a request that belongs to no listener");
		if (event->id != NULL)
			(void)rdma_destroy_id(event->id);
		return false;
	}
	switch (kind) {
	case VIB_OWNER_CONN:
		return conn_event(owner, event);
	case VIB_OWNER_EAR:
		if (request)
			vib_request_raise(owner, event);
		return false;
	case VIB_OWNER_QUERY:
		return vib_query_event(owner, event);
	}
	return false;
}

/* False: there is no event, and errno says why. */
static bool
event_take(struct vib_cm *cm)
{
	struct rdma_cm_event *event;
	bool finished, removed;
	void *owner;

	errno = 0;
	if (vib_rdma_event(cm->channel, &event) != 0)
		return false;
	/* A request is an event of the listener. Without an owner librdmacm names no id, or one that is not ours. */
	const struct rdma_cm_id *id =
		event->event == RDMA_CM_EVENT_CONNECT_REQUEST ? event->listen_id : event->id;
	owner = id != NULL ? id->context : NULL;
	if (owner == NULL) {
		vib_log(cm->rnic, RI_LOG_WARNING,
			"librdmacm reports an event that belongs to no connection: %s",
			rdma_event_str(event->event));
		(void)rdma_ack_cm_event(event);
		return true;
	}
	removed = event->event == RDMA_CM_EVENT_DEVICE_REMOVAL;
	vib_cm_busy(cm, owner);
	finished = event_handle(cm, owner, event);
	(void)rdma_ack_cm_event(event);
	vib_cm_idle(cm);
	if (finished && *(const enum vib_owner *)owner == VIB_OWNER_QUERY)
		vib_query_free(owner);
	else if (finished)
		vib_conn_free_deferred(owner);
	if (removed)
		vib_device_failed(cm->rnic);
	return true;
}

/*
 * If an event cannot be read, as in a process that has changed its user [RI 12.1.10], the descriptor would stay
 * readable, so it is no longer watched. Attempts then end by their deadlines.
 */
static void
channel_check(struct vib_cm *cm, int error)
{
	const struct ri_host *host = cm->rnic->host;

	if (error == EAGAIN || error == EWOULDBLOCK || error == EINTR)
		return;
	vib_log(cm->rnic, RI_LOG_ERROR,
		"events of connections cannot be read any more (/dev/infiniband/rdma_cm): %s",
		ri_errno_text(error));
	host->watch_change(host->self, &cm->watch, 0);
}

static void
channel_ready(void *arg, uint32_t events)
{
	(void)events;
	for (unsigned i = 0; i < EVENTS_AT_ONCE; i++) {
		if (event_take(arg))
			continue;
		channel_check(arg, errno);
		return;
	}
}

/*
 * Does librdmacm refuse the version of the kernel's interface [RI 12.4.5]? It then returns the same
 * errno as for a user who may not open the device file. The log names the version.
 */
static bool
is_refused(const struct ri_rnic *rnic, int error)
{
	char line[VIB_LINE_ROOM];
	long version;

	if (error != EPERM || vib_line_read(VIB_CM_VERSION, line) != 0)
		return false;
	version = vib_version_of(line);
	if (version == VERSION_NEWEST)
		return false;
	vib_log(rnic, RI_LOG_WARNING,
		"librdmacm cannot use the connection manager of the kernel: %s \"%s\" of its "
		"interface (" VIB_CM_VERSION ")",
		version > VERSION_NEWEST ? "the library is too old for version"
					 : "it does not know version",
		line);
	return true;
}

enum ri_status
vib_channel_open(struct vib_cm *cm)
{
	struct ri_fd_filler filler;
	int flags;

	ri_fd_fill(&filler);
	cm->channel = rdma_create_event_channel();
	ri_fd_free(&filler);
	if (cm->channel == NULL) {
		int error = errno;

		if (is_refused(cm->rnic, error))
			return RI_ERR_NO_DEVICE;
		vib_log(cm->rnic, RI_LOG_WARNING, "/dev/infiniband/rdma_cm cannot be opened: %s%s",
			ri_errno_text(error),
			error == ENOENT || error == ENODEV ? " (the module rdma_ucm is not loaded)"
							   : "");
		return vib_status_of_open(error);
	}
	flags = fcntl(cm->channel->fd, F_GETFL);
	if (flags < 0 || fcntl(cm->channel->fd, F_SETFL, flags | O_NONBLOCK) != 0)
		return RI_ERR_RESOURCES;
	cm->watch.fd = cm->channel->fd;
	cm->watch.fire = channel_ready;
	cm->watch.arg = cm;
	cm->watch.events = RI_WATCH_IN;
	return cm->rnic->host->watch_start(cm->rnic->host->self, &cm->watch);
}
