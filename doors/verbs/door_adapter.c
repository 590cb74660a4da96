/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "door_adapter.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "door_async.h"
#include "door_cm.h"
#include "door_context.h"
#include "door_cq.h"
#include "door_status.h"
#include "ri_log.h"
#include "session_cancel.h"

/*
 * Guards the record of which threads open, use and close which device. No call of the kAL is made
 * under it, so it needs no order relative to the locks that the kAL takes at a fork.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER; /* door_device::opening has changed */

/* --- forks ------------------------------------------------------------------------------------------- */

static void
before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void
after_fork_parent(void)
{
	pthread_mutex_unlock(&lock);
}

/*
 * In the child of a fork no adapter is open. The memory of the parent's adapters stays, since
 * objects of the program point to it; their calls fail with EIO, and the child opens new ones. No
 * lock of an adapter is taken, because a thread of the parent may have owned it at the fork.
 */
static void
after_fork_child(void)
{
	pthread_mutex_unlock(&lock);
	pthread_cond_init(&opened, NULL);
	for (unsigned i = 0; i < door_devices_count(); i++) {
		struct door_device *device = door_devices_at(i);

		if (device->open != NULL)
			door_inherit(device->open);
		device->open = NULL;
		device->opening = false;
	}
}

__attribute__((constructor)) static void
watch_forks(void)
{
	(void)pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

/* --- open and close ---------------------------------------------------------------------------------- */

/* Has the adapter InfiniBand's link layer? One of Ethernet has IP addresses for GIDs, and no others. */
static bool
has_lids(struct door_adapter *adapter)
{
	const struct ri_rnic_attr *attr = &adapter->session.attr;
	struct ri_port_attr port;

	if (attr->transport != RI_TRANSPORT_IB || !attr->addr_gid)
		return false;
	door_adapter_port(adapter, 0, &port);
	for (uint32_t i = 0; i < port.num_addrs; i++)
		if (port.addrs[i].family == RI_ADDR_GID)
			return true;
	return port.num_addrs == 0 || !attr->addr_ip;
}

static struct door_adapter *
adapter_open(struct door_device *device)
{
	struct door_adapter *adapter = (struct door_adapter *)calloc(1, sizeof(*adapter));
	const struct session_params params = {.dispatch = door_dispatch, .above = adapter};
	struct kal_rnic_open_rep rep;
	enum ri_status status;

	if (adapter == NULL)
		return NULL;
	if (!door_slots_init(&adapter->slots)) {
		free(adapter);
		errno = ENOMEM;
		return NULL;
	}
	adapter->device = device;
	status = session_open(&adapter->session, device->adapter, &params, &rep);
	if (status != RI_SUCCESS) {
		door_slots_fini(&adapter->slots);
		free(adapter);
		errno = door_errno(status);
		return NULL;
	}
	adapter->drop_disconnect_data = rep.drop_disconnect_data != 0;
	adapter->lids = has_lids(adapter);
	return adapter;
}

struct door_adapter *
door_adapter_get(struct door_device *device)
{
	struct door_adapter *adapter;

	pthread_mutex_lock(&lock);
	while (device->opening)
		pthread_cond_wait(&opened, &lock);
	if (device->open == NULL) {
		device->opening = true;
		pthread_mutex_unlock(&lock);
		adapter = adapter_open(device);
		pthread_mutex_lock(&lock);
		device->open = adapter;
		device->opening = false;
		pthread_cond_broadcast(&opened);
	}
	adapter = device->open;
	if (adapter != NULL)
		adapter->users++;
	pthread_mutex_unlock(&lock);
	return adapter;
}

void
door_adapter_hold(struct door_adapter *adapter)
{
	pthread_mutex_lock(&lock);
	adapter->users++;
	pthread_mutex_unlock(&lock);
}

void
door_adapter_put(struct door_adapter *adapter)
{
	bool last;

	pthread_mutex_lock(&lock);
	/* An adapter of the time before a fork is nobody's. */
	last = --adapter->users == 0 && adapter->device->open == adapter;
	if (last)
		adapter->device->open = NULL;
	pthread_mutex_unlock(&lock);
	if (!last)
		return;
	session_close(&adapter->session);
	door_slots_fini(&adapter->slots);
	free(adapter);
}

int
door_call(struct door_adapter *adapter, uint32_t call, const void *req, size_t req_len, void *rep,
	  size_t rep_len)
{
	return adapter->inherited ? EIO
				  : door_errno(session_call(&adapter->session, call, req, req_len,
							    rep, rep_len));
}

int
door_call_id(struct door_adapter *adapter, uint32_t call, uint32_t id)
{
	return adapter->inherited ? EIO : door_errno(session_call_id(&adapter->session, call, id));
}

void
door_adapter_port(struct door_adapter *adapter, uint32_t port, struct ri_port_attr *attr)
{
	const struct kal_port_query_req req = {.rnic = adapter->session.rnic, .port = port};
	SESSION_DEFER;

	memset(attr, 0, sizeof(*attr));
	attr->size = sizeof(*attr);
	if (door_call(adapter, KAL_PORT_QUERY, &req, sizeof(req), attr, sizeof(*attr)) != 0)
		memset(attr, 0, sizeof(*attr));
}

/* --- events ---------------------------------------------------------------------------------------------- */

void
door_dispatch(void *above, const struct kal_event *event)
{
	struct door_adapter *adapter = (struct door_adapter *)above;

	pthread_mutex_lock(&adapter->slots.lock);
	switch ((enum kal_event_kind)event->kind) {
	case KAL_EVENT_CQ:
		door_cq_fired(adapter, event->ctx);
		break;
	case KAL_EVENT_ASYNC:
		door_async_raised(adapter, &event->u.async);
		break;
	case KAL_EVENT_CM:
		door_cm_raised(adapter, event->ctx, &event->u.cm);
		break;
	case KAL_EVENT_NONE:
		break;
	}
	pthread_mutex_unlock(&adapter->slots.lock);
}

/* --- what people read ------------------------------------------------------------------------------------ */

void
door_warn(struct door_adapter *adapter, const char *format, ...)
{
	const struct ri_log_about about = {
		.layer = "verbs", .adapter = adapter != NULL ? adapter->device->adapter : NULL};
	va_list args;

	va_start(args, format);
	ri_log_list(adapter != NULL ? adapter->session.host : kal_host_here(), RI_LOG_WARNING,
		    &about, format, args);
	va_end(args);
}

void
door_refuse(atomic_flag *once, const char *format, ...)
{
	char text[RI_LOG_SENTENCE];
	va_list args;
	SESSION_DEFER;

	if (atomic_flag_test_and_set(once))
		return;
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	kal_log_tell(text);
}
