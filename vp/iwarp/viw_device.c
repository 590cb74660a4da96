/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Adapters: "iwarp" has a spigot for each network interface; "iwarp:<interface>" has that one. The
 * profile_* functions set what the adapters claim. Control path.
 */
#include "viw_rnic.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ri_log.h"
#include "viw_qp.h"
#include "viw_receive.h"
#include "viw_setting.h"
#include "vsw_setting.h"

#define WHOLE  "iwarp"
#define SINGLE "iwarp:"

static void
device_describe(struct ri_device_desc *desc, const char *interface, uint32_t ports)
{
	memset(desc, 0, sizeof(*desc));
	desc->transport = RI_TRANSPORT_IWARP;
	desc->num_ports = ports;
	if (interface == NULL) {
		snprintf(desc->name, sizeof(desc->name), WHOLE);
		snprintf(desc->description, sizeof(desc->description),
			 "iWARP over TCP of this machine, all interfaces");
	} else {
		snprintf(desc->name, sizeof(desc->name), SINGLE "%.31s", interface);
		snprintf(desc->description, sizeof(desc->description), "iWARP over TCP of %.31s",
			 interface);
	}
}

enum ri_status
viw_probe(const struct ri_host *host, struct ri_device_desc *descs, uint32_t *count)
{
	struct viw_interfaces up;
	uint32_t room = *count;
	enum ri_status status = viw_interfaces_up(&up);

	(void)host;
	if (status != RI_SUCCESS)
		return status;
	*count = up.count + 1;
	if (room > 0)
		device_describe(&descs[0], NULL, up.count);
	for (uint32_t i = 0; i < up.count && i + 1 < room; i++)
		device_describe(&descs[i + 1], up.list[i].name, 1);
	viw_interfaces_free(&up);
	return RI_SUCCESS;
}

/* The interfaces that this name covers become spigots. RI_ERR_NO_DEVICE: it covers no interface. */
static enum ri_status
ports_choose(struct viw_rnic *rnic, const char *name, const struct ri_host *host)
{
	struct viw_interfaces up;
	bool whole = strcmp(name, WHOLE) == 0;
	enum ri_status status = RI_ERR_NO_DEVICE;

	if (!whole && strncmp(name, SINGLE, strlen(SINGLE)) != 0)
		return RI_ERR_NO_DEVICE;
	status = viw_interfaces_up(&up);
	if (status != RI_SUCCESS)
		return status;
	if (up.count == 0) {
		const struct ri_log_about about = {.layer = "iwarp", .adapter = name};

		ri_log(host, RI_LOG_WARNING, &about,
		       "no network interface is up and has an address, not even the loopback; "
		       "'ip address' lists them, 'ip link set NAME up' switches one on");
	}
	rnic->ports = calloc(up.count + 1, sizeof(*rnic->ports));
	for (uint32_t i = 0; rnic->ports != NULL && i < up.count; i++) {
		struct viw_port *port = &rnic->ports[rnic->num_ports];

		if (!whole && strcmp(up.list[i].name, name + strlen(SINGLE)) != 0)
			continue;
		port->index = up.list[i].index;
		memcpy(port->if_name, up.list[i].name, sizeof(port->if_name));
		memcpy(port->last_name, up.list[i].name, sizeof(port->last_name));
		rnic->num_ports++;
	}
	viw_interfaces_free(&up);
	if (rnic->ports == NULL)
		return RI_ERR_RESOURCES;
	return rnic->num_ports > 0 ? RI_SUCCESS : RI_ERR_NO_DEVICE;
}

/* It was never started, or is stopped. */
static void
rnic_free(struct viw_rnic *rnic)
{
	free(rnic->ports);
	free(rnic);
}

static const struct vsw_object_rules rules = {.max_pds = VIW_MAX_OBJECTS,
					      .max_cqs = VIW_MAX_OBJECTS,
					      .max_srqs = VIW_MAX_OBJECTS,
					      .max_cqe = VIW_MAX_CQE,
					      .max_wr = VIW_MAX_WR,
					      .max_sge = VIW_MAX_SGE,
					      .wake = viw_srq_wake};

/* vsw_doorbell::count. A wait for a receive is counted by the end that waits, since TCP repeats by itself. */
static uint32_t
count_frames(void *engine_qp, struct ri_qp_counters *counters)
{
	((struct viw_qp *)engine_qp)->count = counters;
	return RI_COUNTED_FRAMES | RI_COUNTED_CRC | RI_COUNTED_RETRIES;
}

static const struct vsw_doorbell doorbell = {
	.sq = viw_doorbell_sq,
	.sq_flush = viw_doorbell_flush,
	.rq = viw_doorbell_rq,
	.srq = viw_doorbell_srq,
	.poll = viw_engine_poll,
	.progress = viw_engine_progress,
	.leader_enter = viw_engine_leader_enter,
	.leader_leave = viw_engine_leader_leave,
	.spin_futile = viw_engine_spin_futile,
	.count = count_frames,
	.max_inline = VSW_MAX_INLINE,
	.immediate_with = RI_IMMEDIATE_WRITE,
};

enum ri_status
viw_open(const struct ri_open *open, struct ri_rnic **out)
{
	const char *align = vsw_setting_text(&viw_settings[VIW_SETTING_ALIGN]);
	struct viw_rnic *rnic = NULL;

	if (posix_memalign((void **)&rnic, VSW_CACHE_LINE, sizeof(*rnic)) != 0)
		return RI_ERR_RESOURCES;
	memset(rnic, 0, sizeof(*rnic));
	enum ri_status status = ports_choose(rnic, open->name, open->host);
	if (status != RI_SUCCESS) {
		rnic_free(rnic);
		return status;
	}
	memcpy(rnic->name, open->name, sizeof(rnic->name));
	rnic->host = open->host;
	rnic->upcalls = open->upcalls;
	rnic->cq_upcall.cq_event = open->upcalls->cq_event;
	rnic->cq_upcall.self = open->upcalls->self;
	rnic->rnr_ns = vsw_setting_time(&viw_settings[VIW_SETTING_RNR], 1000000);
	rnic->align = align != NULL && strcmp(align, "on") == 0    ? VIW_ALIGN_ON
		      : align != NULL && strcmp(align, "off") == 0 ? VIW_ALIGN_OFF
								   : VIW_ALIGN_AUTO;
	rnic->bell = doorbell;
	rnic->bell.engine = &rnic->engine;
	rnic->host->random(rnic->host->self, &rnic->last_qpn, sizeof(rnic->last_qpn));
	pthread_mutex_init(&rnic->lock, NULL);
	status = vsw_mem_table_create(rnic->host, VIW_MAX_MR, RI_KEY_PROVIDER, &rnic->mem);
	rnic->objects = (struct vsw_objects){.rules = &rules,
					     .host = rnic->host,
					     .upcalls = rnic->upcalls,
					     .cq_upcall = &rnic->cq_upcall,
					     .mem = rnic->mem};
	if (status == RI_SUCCESS) {
		status = viw_engine_start(&rnic->engine, rnic->host);
		if (status == RI_SUCCESS) {
			status = viw_interface_watch_start(rnic);
			if (status != RI_SUCCESS)
				viw_engine_stop(&rnic->engine);
		}
		if (status != RI_SUCCESS)
			vsw_mem_table_destroy(rnic->mem);
	}
	if (status != RI_SUCCESS) {
		pthread_mutex_destroy(&rnic->lock);
		rnic_free(rnic);
		return status;
	}
	*out = (struct ri_rnic *)rnic;
	return RI_SUCCESS;
}

void
viw_close(struct ri_rnic *ri)
{
	struct viw_rnic *rnic = (struct viw_rnic *)ri;

	viw_interface_watch_stop(rnic);
	viw_engine_stop(&rnic->engine);
	viw_qp_free_all(rnic);
	vsw_mem_table_destroy(rnic->mem);
	pthread_mutex_destroy(&rnic->lock);
	rnic_free(rnic);
}

/* --- the semantic profile ------------------------------------------------------------------ */

static void
profile_limits(struct ri_rnic_attr *a)
{
	a->max_pd = VIW_MAX_OBJECTS;
	a->max_qp = VIW_MAX_QP;
	a->max_cq = VIW_MAX_OBJECTS;
	a->max_cqe = VIW_MAX_CQE;
	a->max_srq = VIW_MAX_OBJECTS;
	a->max_srq_wr = VIW_MAX_WR;
	a->max_mr = VIW_MAX_MR;
	a->max_mw = VIW_MAX_MR;
	a->max_mr_length = UINT64_C(1) << 47;
	a->max_sq_wr = VIW_MAX_WR;
	a->max_rq_wr = VIW_MAX_WR;
	a->max_send_sge = VIW_MAX_SGE;
	a->max_recv_sge = VIW_MAX_SGE;
	a->max_write_sge = VIW_MAX_SGE;
	a->max_read_sge = VIW_MAX_READ;
	a->max_ird = VIW_MAX_DEPTH;
	a->max_ord = VIW_MAX_DEPTH;
	a->max_message_size = VIW_MAX_MESSAGE;
	a->num_completion_handlers = 1;
	a->max_inline = VSW_MAX_INLINE;
}

static void
profile_semantics(struct ri_rnic_attr *a)
{
	a->read_sink_needs_remote_write = true;
	a->send_invalidate = true;
	a->mw_narrow = true;
	a->mw_narrow_unbind = true;
	a->read_local_extensions = true;
	a->mr_key_owner = RI_KEY_PROVIDER;
	a->mw_key_owner = RI_KEY_CONSUMER;
	a->atomics = true;
	a->zero_based = true;
	a->iova = true;
	a->inline_data = true;
	a->immediate_size = RDMAP_IMMEDIATE_SIZE;
	a->immediate_separate = true;
	a->immediate_with = RI_IMMEDIATE_WRITE;
	a->local_read_revocable = true;
	a->local_fence = true;
	a->reregister = true;
	a->enables_modifiable = true;
	a->ord_increasable = true;
	a->ird_modifiable = true;
	a->wq_resizable = true;
	a->cq_resizable = true;
	a->srq = true;
	a->srq_limit = true;
	a->srq_resizable = true;
	a->rq_soft_limit = true;
	a->rq_hard_limit = true;
	a->rnr_mode = RI_RNR_HOLD;
	a->in_order_completion = true;
	a->in_order_placement = true;
	a->terminate_info = true;
	a->cq_overflow_detect = true;
	a->cq_notify_flag = true;
	a->cq_arm_count = true;
	a->thread_safe_queues = true;
	a->solicited_works = true;
	a->extended_qp_states = true;
	a->qp_reusable = true;
	a->software = true;
}

static void
profile_connections(struct ri_rnic_attr *a)
{
	a->cm_forms = RI_CM_STREAM;
	a->llp_startup = RI_LLP_STARTUP_MPA;
	a->initiator_first = true;
	a->rtr_types = RI_RTR_WRITE | RI_RTR_READ | RI_RTR_SEND;
	a->ird_ord_exchange = true;
	a->ird_ord_suppressible = true;
	a->connect_pdata = 251; /* siw hosts wrap beyond [WIRE 11.6] */
	a->accept_pdata = 251;
	a->reject_pdata = 251;
	a->socket_conversion = true;
	a->addr_ip = true;
	a->port_events = true;
}

enum ri_status
viw_query(struct ri_rnic *ri, struct ri_rnic_attr *attr)
{
	const struct viw_rnic *rnic = (const struct viw_rnic *)ri;
	uint32_t size = attr->size;
	struct ri_rnic_attr a = {.size = sizeof(a), .transport = RI_TRANSPORT_IWARP};

	memcpy(a.name, rnic->name, sizeof(a.name));
	snprintf(a.vendor, sizeof(a.vendor), "itapi");
	a.num_ports = rnic->num_ports;
	profile_limits(&a);
	profile_semantics(&a);
	profile_connections(&a);
	memcpy(attr, &a, size < sizeof(a) ? size : sizeof(a));
	return RI_SUCCESS;
}

/* --- processes ----------------------------------------------------------------------------- */

enum ri_status
viw_context_create(struct ri_rnic *ri, const struct ri_owner *owner, struct ri_context **out,
		   struct ri_map *map)
{
	struct viw_rnic *rnic = (struct viw_rnic *)ri;

	if (owner->shared)
		return RI_ERR_UNSUPPORTED; /* queue pages here are ordinary memory */
	struct viw_context *context = calloc(1, sizeof(*context));
	if (context == NULL)
		return RI_ERR_RESOURCES;
	vsw_context_begin(&context->context, &rnic->objects, owner);
	context->rnic = rnic;
	vsw_list_begin(&context->qps);
	vsw_map_rnic(map, &rnic->bell);
	*out = (struct ri_context *)context;
	return RI_SUCCESS;
}

void
viw_context_destroy(struct ri_context *ri)
{
	struct viw_context *context = (struct viw_context *)ri;

	vsw_context_part(&context->context);
	while (!vsw_list_empty(&context->qps) &&
	       viw_qp_ops.destroy((struct ri_qp *)context->qps.next) == RI_SUCCESS)
		continue;
	vsw_context_end(&context->context);
	free(context);
}

size_t
viw_dump(struct ri_rnic *ri, char *text, size_t room)
{
	struct viw_rnic *rnic = (struct viw_rnic *)ri;

	pthread_mutex_lock(&rnic->lock);
	struct viw_engine *engine = &rnic->engine;
	int n = snprintf(text, room,
			 "queue pairs %u\nprotection domains %u\ncompletion queues %u\n"
			 "shared receive queues %u\nstreams %u\n"
			 "staging buffers in use %u\noctets set aside %" PRIu64 "\n",
			 rnic->num_qps, atomic_load(&rnic->objects.pds),
			 atomic_load(&rnic->objects.cqs), atomic_load(&rnic->objects.srqs),
			 atomic_load(&engine->streams),
			 VIW_BUF_COUNT - atomic_load(&engine->pool.free_count),
			 atomic_load(&engine->pool.aside));
	pthread_mutex_unlock(&rnic->lock);
	return n > 0 ? (size_t)n : 0;
}
