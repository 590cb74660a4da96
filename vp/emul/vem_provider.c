/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The emulated provider: adapters emul:ib and emul:iwarp, each on a fabric of its own in this process, and shm:ib and
 * shm:iwarp, on fabrics between processes. This file has the adapters and their processes, and the table of the provider.
 *
 * Within a process the engine has no thread and no descriptor, since the thread that posts does the work. So progress
 * does nothing, and a leader gets no descriptor to sleep on. Between processes shm/vem_shm.c has the engine.
 */
#include "vem_provider.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ri_log.h"
#include "vem_cm.h"
#include "vem_fault.h"
#include "vem_link.h"
#include "vem_peer.h"
#include "vem_setting.h"
#include "vem_tap.h"
#include "vem_ud.h"
#include "vem_wire.h"
#include "vsw_setting.h"

/* The adapters. */
static const struct vem_adapter {
	const char *name;
	const char *description;
	enum vem_personality personality;
	bool between; /* processes */
} adapters[] = {
	{"emul:ib", "emulated InfiniBand in this process", VEM_IB, false},
	{"emul:iwarp", "emulated iWARP in this process", VEM_IWARP, false},
	{"shm:ib", "InfiniBand between the processes of this user, in shared memory", VEM_IB, true},
	{"shm:iwarp", "iWARP between the processes of this user, in shared memory", VEM_IWARP,
	 true},
};

#define ADAPTERS (sizeof(adapters) / sizeof(*adapters))

static enum ri_status
device_probe(const struct ri_host *host, struct ri_device_desc *descs, uint32_t *count)
{
	uint32_t room = *count;

	(void)host;
	for (uint32_t i = 0; i < ADAPTERS && i < room; i++) {
		bool ib = adapters[i].personality == VEM_IB;

		memset(&descs[i], 0, sizeof(descs[i]));
		snprintf(descs[i].name, sizeof(descs[i].name), "%s", adapters[i].name);
		snprintf(descs[i].description, sizeof(descs[i].description), "%s",
			 adapters[i].description);
		descs[i].transport = ib ? RI_TRANSPORT_IB : RI_TRANSPORT_IWARP;
		descs[i].num_ports = 1;
	}
	*count = ADAPTERS;
	return RI_SUCCESS;
}

/* --- the engine's bells ------------------------------------------------------------------- */

static uint32_t
bell_progress(void *engine, uint32_t budget)
{
	(void)engine;
	(void)budget;
	return 0;
}

static bool
bell_leader_enter(void *engine, int *fd)
{
	(void)engine;
	*fd = -1;
	return true;
}

static void
bell_leader_leave(void *engine)
{
	(void)engine;
}

static uint32_t
bell_count(void *engine_qp, struct ri_qp_counters *counters)
{
	((struct vem_qp *)engine_qp)->count = counters;
	return RI_COUNTED_RETRIES;
}

/* Between processes a poll reads the rings, and a leader sleeps until another process wakes it. */
static void
bells_between(struct vsw_doorbell *bell)
{
	bell->sq = vem_bell_sq_any;
	bell->poll = vem_shm_bell_poll;
	bell->progress = vem_shm_bell_progress;
	bell->leader_enter = vem_shm_bell_enter;
	bell->leader_leave = vem_shm_bell_leave;
}

/* --- adapters ----------------------------------------------------------------------------- */

/*
 * Queue pairs of InfiniBand have a time-wait after a connection. No packet is ever late in this fabric, so it
 * is 0 unless the environment sets it. A message waits one second for a receive.
 */
static void
read_settings(struct ri_rnic *rnic, uint32_t personality)
{
	if (personality == VEM_IB)
		rnic->time_wait = vsw_setting_time(&vem_settings[VEM_SETTING_TIME_WAIT], 1000);
	rnic->rnr_wait = vsw_setting_time(&vem_settings[VEM_SETTING_RNR], 1000000);
	if (rnic->fabric->between) {
		/* The carrier decides how long a message takes. */
		if (vsw_setting_time(&vem_settings[VEM_SETTING_WIRE], 1000) != 0)
			vem_shm_say(rnic->fabric->shm, RI_LOG_WARNING,
				    "ITAPI_EMUL_WIRE_US is not for adapters between processes: no "
				    "message is delayed");
		return;
	}
	if (!vem_wire_begin(rnic))
		ri_log(rnic->host, RI_LOG_WARNING, &(struct ri_log_about){.layer = "emul"},
		       "ITAPI_EMUL_FREEDOMS has an unknown word, which is ignored; known are %s",
		       vem_settings[VEM_SETTING_FREEDOMS].form);
}

/* On InfiniBand every region can be read locally [RI 5.3.3]. */
static const struct vsw_object_rules rules[VEM_PERSONALITIES] = {
	[VEM_IB] = {.max_pds = VEM_MAX_OBJECTS,
		    .max_cqs = VEM_MAX_OBJECTS,
		    .max_srqs = VEM_MAX_OBJECTS,
		    .max_cqe = VEM_MAX_CQE,
		    .max_wr = VEM_MAX_WR,
		    .max_sge = VEM_MAX_SGE,
		    .max_pages = VEM_MAX_PBL,
		    .access = RI_ACCESS_LOCAL_READ,
		    .mw_wide = true,
		    .wake = vem_srq_wake},
	[VEM_IWARP] = {.max_pds = VEM_MAX_OBJECTS,
		       .max_cqs = VEM_MAX_OBJECTS,
		       .max_srqs = VEM_MAX_OBJECTS,
		       .max_cqe = VEM_MAX_CQE,
		       .max_wr = VEM_MAX_WR,
		       .max_sge = VEM_MAX_SGE,
		       .max_pages = VEM_MAX_PBL,
		       .wake = vem_srq_wake},
};

/* A completion queue fires. A thread that was woken for it reads no further (vem_shm.c). */
static void
cq_event(void *self, uint64_t ctx)
{
	struct ri_rnic *rnic = self;

	if (rnic->fabric->shm != NULL)
		atomic_fetch_add_explicit(&rnic->fabric->shm->fired, 1, memory_order_relaxed);
	rnic->upcalls->cq_event(rnic->upcalls->self, ctx);
}

static enum ri_status
device_open(const struct ri_open *open, struct ri_rnic **out)
{
	const struct vem_adapter *adapter = adapters;

	while (adapter < adapters + ADAPTERS && strcmp(open->name, adapter->name) != 0)
		adapter++;
	if (adapter == adapters + ADAPTERS)
		return RI_ERR_NO_DEVICE;

	struct ri_rnic_attr attr = {.size = sizeof(attr)};
	struct ri_rnic *rnic = calloc(1, sizeof(*rnic));
	if (rnic == NULL)
		return RI_ERR_RESOURCES;
	rnic->fabric = vem_fabric_get(open->host, adapter->personality, adapter->between);
	if (rnic->fabric == NULL ||
	    vsw_mem_table_create(open->host, VEM_MAX_OBJECTS, RI_KEY_CONSUMER, &rnic->mem) !=
		    RI_SUCCESS) {
		if (rnic->fabric != NULL)
			vem_fabric_put(rnic->fabric);
		free(rnic);
		return RI_ERR_RESOURCES;
	}
	vem_profile(rnic->fabric, &attr);
	rnic->host = open->host;
	read_settings(rnic, adapter->personality);
	rnic->upcalls = open->upcalls;
	rnic->cq_upcall = (struct vsw_cq_upcall){.cq_event = cq_event, .self = rnic};
	rnic->objects = (struct vsw_objects){.rules = &rules[adapter->personality],
					     .host = rnic->host,
					     .upcalls = rnic->upcalls,
					     .cq_upcall = &rnic->cq_upcall,
					     .mem = rnic->mem};
	rnic->bell = (struct vsw_doorbell){.engine = rnic,
					   .sq = vem_bell_sq,
					   .rq = vem_bell_rq,
					   .srq = vsw_srq_bell,
					   .progress = bell_progress,
					   .leader_enter = bell_leader_enter,
					   .leader_leave = bell_leader_leave,
					   .bind = vem_bell_bind,
					   .count = bell_count,
					   .max_inline = attr.max_inline,
					   .immediate_with = attr.immediate_with};
	if (adapter->between)
		bells_between(&rnic->bell);
	rnic->task = (struct ri_task){.fire = vem_cm_rnic_task, .arg = rnic};
	vsw_list_begin(&rnic->offered);
	vsw_list_begin(&rnic->withdrawn);
	vsw_list_begin(&rnic->answers);
	vem_fault_init(rnic);
	vem_tap_open(rnic);
	vem_script_start(rnic);
	*out = rnic;
	return RI_SUCCESS;
}

static void
device_close(struct ri_rnic *rnic)
{
	vem_script_stop(rnic);
	vem_fault_fini(rnic);
	vem_cm_rnic_close(rnic);
	vem_fabric_put(rnic->fabric);
	vsw_mem_table_destroy(rnic->mem);
	free(rnic->ahs.slots);
	free(rnic);
}

static enum ri_status
device_query(struct ri_rnic *rnic, struct ri_rnic_attr *attr)
{
	vem_profile(rnic->fabric, attr);
	return RI_SUCCESS;
}

static enum ri_status
device_query_port(struct ri_rnic *rnic, uint32_t port, struct ri_port_attr *attr)
{
	struct ri_port_attr own = {.size = sizeof(own), .online = !vem_fault_offline(rnic)};
	uint32_t size = attr->size < sizeof(own) ? attr->size : (uint32_t)sizeof(own);
	enum ri_status status = vem_fault_due(rnic, VEM_CALL_QUERY_PORT);

	if (status != RI_SUCCESS)
		return status;
	if (port != 0)
		return RI_ERR_INVALID_ARG;
	own.max_message = VEM_MAX_MESSAGE;
	own.num_addrs = vem_addrs(rnic->fabric, own.addrs);
	memcpy(attr, &own, size);
	attr->size = size;
	return RI_SUCCESS;
}

static enum ri_status
device_route(struct ri_rnic *rnic, const struct ri_addr *peer, struct ri_addr *local,
	     uint32_t *port)
{
	enum ri_status status = vem_fault_due(rnic, VEM_CALL_ROUTE);

	if (status != RI_SUCCESS)
		return status;
	if (vem_fault_offline(rnic) || !vem_addr_source(rnic->fabric, peer, local))
		return RI_ERR_NO_ROUTE;
	*port = 0;
	return RI_SUCCESS;
}

static size_t
device_dump(struct ri_rnic *rnic, char *text, size_t room)
{
	int len = snprintf(text, room,
			   "protection domains: %u\ncompletion queues: %u\nqueue pairs: %u\n"
			   "shared receive queues: %u\n",
			   atomic_load(&rnic->objects.pds), atomic_load(&rnic->objects.cqs),
			   atomic_load(&rnic->qps), atomic_load(&rnic->objects.srqs));

	return len > 0 ? (size_t)len : 0;
}

/* --- processes ---------------------------------------------------------------------------- */

static enum ri_status
context_create(struct ri_rnic *rnic, const struct ri_owner *owner, struct ri_context **out,
	       struct ri_map *map)
{
	if (owner->shared)
		return RI_ERR_UNSUPPORTED; /* the fabric is in one process */

	struct ri_context *context = calloc(1, sizeof(*context));
	if (context == NULL)
		return RI_ERR_RESOURCES;
	vsw_context_begin(&context->base, &rnic->objects, owner);
	context->rnic = rnic;
	vsw_list_begin(&context->qps);
	vsw_list_begin(&context->ahs);
	vsw_list_begin(&context->ahs_gone);
	vsw_list_begin(&context->listens);
	vsw_map_rnic(map, &rnic->bell);
	vem_fault_join(context);
	*out = context;
	return RI_SUCCESS;
}

/* Objects are destroyed before those that they depend on, so none can be busy. */
static void
context_destroy(struct ri_context *context)
{
	vem_fault_part(context);
	vem_query_end_all(context);
	while (!vsw_list_empty(&context->listens))
		vem_listen_destroy_item(context->listens.next);
	while (!vsw_list_empty(&context->qps))
		vem_qp_destroy(vsw_of(context->qps.next, struct vem_qp, item));
	while (!vsw_list_empty(&context->ahs))
		(void)!vem_ah_ops.destroy(vsw_of(context->ahs.next, struct ri_ah, item));
	vem_ah_sweep(context);
	vsw_context_part(&context->base);
	vsw_context_end(&context->base);
	free(context);
}

static const struct ri_device_ops device_ops = {
	.size = sizeof(struct ri_device_ops),
	.probe = device_probe,
	.open = device_open,
	.close = device_close,
	.query = device_query,
	.query_port = device_query_port,
	.context_create = context_create,
	.context_destroy = context_destroy,
	.route = device_route,
	.dump = device_dump,
};

/* vem_gate.c registers it. */
const struct ri_provider vem_plain_provider = {
	.abi_major = RI_ABI_MAJOR,
	.abi_minor = RI_ABI_MINOR,
	.size = sizeof(struct ri_provider),
	.name = "emul",
	.description = "an emulated fabric in one process, InfiniBand and iWARP",
	.device = &device_ops,
	.pd = &vsw_pd_ops,
	.cq = &vsw_cq_ops,
	.qp = &vem_qp_ops,
	.srq = &vsw_srq_ops,
	.ah = &vem_ah_ops,
	.mem = &vsw_mem_ops,
	.cm = &vem_cm_ops,
	.peer = &vem_peer_ops,
	.user = &vsw_user_ops,
	.fast = &vsw_fast_ops,
	.settings = vem_settings,
	.num_settings = VEM_SETTING_COUNT,
	.setting_size = sizeof(struct ri_setting),
};
