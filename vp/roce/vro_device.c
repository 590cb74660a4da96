/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Adapters, one for each network interface; what they claim; processes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vro_setting.h"
#include "vro_verbs.h"

/* --- adapters ----------------------------------------------------------------------------- */

static enum ri_status
device_probe(const struct ri_host *host, struct ri_device_desc *descs, uint32_t *count)
{
	struct vro_ports all;
	enum ri_status status = vro_ports_read(&all);

	(void)host;
	if (status != RI_SUCCESS)
		return status;
	for (uint32_t i = 0; i < all.count && i < *count; i++) {
		memset(&descs[i], 0, sizeof(descs[i]));
		snprintf(descs[i].name, sizeof(descs[i].name), "roce:%s", all.list[i].name);
		snprintf(descs[i].description, sizeof(descs[i].description),
			 "RoCEv2 over UDP of %s, in software", all.list[i].name);
		descs[i].transport = RI_TRANSPORT_IB;
		descs[i].num_ports = 1;
	}
	*count = all.count;
	vro_ports_free(&all);
	return RI_SUCCESS;
}

/* A message that finds no receive is refused, and its sender tries again; so no queue pair waits in the line. */
static void
member_wake(struct vsw_srq_member *member)
{
	(void)member;
}

/* Memory can always be sent. */
static const struct vsw_object_rules rules = {.max_pds = VRO_MAX_OBJECTS,
					      .max_cqs = VRO_MAX_OBJECTS,
					      .max_srqs = VRO_MAX_OBJECTS,
					      .max_cqe = VRO_MAX_CQE,
					      .max_wr = VRO_MAX_WR,
					      .max_sge = VRO_MAX_SGE,
					      .access = RI_ACCESS_LOCAL_READ,
					      .mw_wide = true,
					      .wake = member_wake};

static enum ri_status
device_open(const struct ri_open *open, struct ri_rnic **out)
{
	struct ri_rnic_attr attr = {.size = sizeof(attr)};
	struct ri_rnic *rnic = calloc(1, sizeof(*rnic));
	enum ri_status status = RI_ERR_RESOURCES;

	if (rnic == NULL)
		return status;
	rnic->host = open->host;
	rnic->upcalls = open->upcalls;
	rnic->cq_upcall = (struct vsw_cq_upcall){.cq_event = open->upcalls->cq_event,
						 .self = open->upcalls->self};
	status = vsw_mem_table_create(open->host, VRO_MAX_OBJECTS, RI_KEY_PROVIDER, &rnic->mem);
	if (status != RI_SUCCESS) {
		free(rnic);
		return status;
	}
	status = vro_station_get(open->host, open->name, &rnic->station);
	if (status != RI_SUCCESS) {
		vsw_mem_table_destroy(rnic->mem);
		free(rnic);
		return status;
	}
	rnic->objects = (struct vsw_objects){.rules = &rules,
					     .host = rnic->host,
					     .upcalls = rnic->upcalls,
					     .cq_upcall = &rnic->cq_upcall,
					     .mem = rnic->mem};
	vro_profile(rnic, &attr);
	rnic->bell = (struct vsw_doorbell){.engine = rnic->station,
					   .sq = vro_bell_sq,
					   .rq = vro_bell_rq,
					   .poll = vro_station_poll,
					   .progress = vro_station_progress,
					   .leader_enter = vro_station_leader_enter,
					   .leader_leave = vro_station_leader_leave,
					   .spin_futile = vro_station_spin_futile,
					   .bind = vro_bell_bind,
					   .count = vro_bell_count,
					   .max_inline = attr.max_inline,
					   .immediate_with = attr.immediate_with};
	*out = rnic;
	return RI_SUCCESS;
}

static void
device_close(struct ri_rnic *rnic)
{
	vro_cm_close(rnic);
	vro_station_put(rnic->station);
	vsw_mem_table_destroy(rnic->mem);
	vro_ahs_free(rnic);
	free(rnic);
}

static void
profile_limits(const struct ri_rnic *rnic, struct ri_rnic_attr *a)
{
	a->num_ports = 1;
	a->max_pd = a->max_qp = a->max_cq = a->max_srq = VRO_MAX_OBJECTS;
	a->max_mr = a->max_mw = VRO_MAX_OBJECTS;
	a->max_ah = VRO_MAX_AH;
	a->max_cqe = VRO_MAX_CQE;
	a->max_srq_wr = a->max_sq_wr = a->max_rq_wr = VRO_MAX_WR;
	a->max_mr_length = UINT64_C(1) << 47;
	a->max_send_sge = a->max_recv_sge = VRO_MAX_SGE;
	a->max_write_sge = a->max_read_sge = VRO_MAX_SGE;
	a->max_ird = a->max_ord = VRO_MAX_DEPTH;
	a->max_message_size = VRO_MAX_MESSAGE;
	a->max_ud_message = vro_station_mtu(rnic->station);
	a->max_inline = VSW_MAX_INLINE;
	a->num_completion_handlers = 1;
}

void
vro_profile(const struct ri_rnic *rnic, struct ri_rnic_attr *attr)
{
	struct ri_rnic_attr a = {.size = sizeof(a), .transport = RI_TRANSPORT_IB};
	uint32_t size = attr->size < sizeof(a) ? attr->size : (uint32_t)sizeof(a);

	snprintf(a.name, sizeof(a.name), "%s", rnic->station->name);
	snprintf(a.vendor, sizeof(a.vendor), "itapi");
	profile_limits(rnic, &a);
	a.immediate_size = 4;
	a.immediate_with = RI_IMMEDIATE_SEND | RI_IMMEDIATE_WRITE | RI_IMMEDIATE_UD;
	a.atomics = true;
	a.send_invalidate = true;
	a.mw_narrow = true;
	a.mw_narrow_unbind = true;
	a.mw_wide = true;
	a.mw_wide_unbind = true;
	a.mw_wide_stag_returned = true;
	a.mr_key_owner = RI_KEY_PROVIDER;
	a.mw_key_owner = RI_KEY_CONSUMER;
	a.zero_based = true;
	a.iova = true;
	a.inline_data = true;
	a.local_fence = true;
	a.reregister = true;
	a.enables_modifiable = true;
	a.ord_increasable = true;
	a.ird_modifiable = true;
	a.cq_resizable = true;
	a.srq = true;
	a.srq_limit = true;
	a.srq_resizable = true;
	a.rq_hard_limit = true;
	a.rnr_mode = RI_RNR_RETRY;
	a.completion_acked = true;
	a.in_order_completion = true;
	a.in_order_placement = true;
	a.remote_status = true;
	a.cq_overflow_detect = true;
	a.cq_notify_flag = true;
	a.cq_arm_count = true;
	a.thread_safe_queues = true;
	a.solicited_works = true;
	a.qp_reusable = true;
	a.cm_forms = RI_CM_ADDRESS | RI_CM_PEER;
	a.three_way_handshake = true;
	a.ird_ord_exchange = true;
	a.connect_pdata = VRC_PDATA_CONNECT;
	a.accept_pdata = VRC_PDATA_ACCEPT;
	a.reject_pdata = VRC_PDATA_REJECT;
	a.confirm_pdata = VRC_PDATA_CONFIRM;
	a.disconnect_pdata = VRC_PDATA_DISCONNECT;
	a.ud_request_pdata = VRC_PDATA_QUERY;
	a.ud_reply_pdata = VRC_PDATA_ANSWER;
	a.addr_ip = true;
	a.addr_gid = true;
	a.ud = true;
	a.multicast = true;
	a.uc = true;
	a.cm_number = true;
	a.software = true;
	memcpy(attr, &a, size);
	attr->size = size;
}

static enum ri_status
device_query(struct ri_rnic *rnic, struct ri_rnic_attr *attr)
{
	vro_profile(rnic, attr);
	return RI_SUCCESS;
}

static enum ri_status
device_query_port(struct ri_rnic *rnic, uint32_t port, struct ri_port_attr *attr)
{
	const struct vro_port *known = &rnic->station->port;
	struct ri_port_attr a = {.size = sizeof(a),
				 .online = known->online,
				 .mtu = known->mtu,
				 .max_message = VRO_MAX_MESSAGE};
	uint32_t size = attr->size < sizeof(a) ? attr->size : (uint32_t)sizeof(a);

	if (port != 0)
		return RI_ERR_INVALID_ARG;
	memcpy(a.if_name, known->name, sizeof(a.if_name));
	a.num_addrs = vro_station_addrs(rnic->station, a.addrs);
	memcpy(attr, &a, size);
	attr->size = size;
	return RI_SUCCESS;
}

static size_t
device_dump(struct ri_rnic *rnic, char *text, size_t room)
{
	static const char *const names[VRO_COUNTS] = {
		[VRO_PACKETS_IN] = "packets received",
		[VRO_PACKETS_OUT] = "packets sent",
		[VRO_REPEATED] = "packets repeated",
		[VRO_TIMEOUTS] = "timeouts",
		[VRO_PROBES] = "last packets repeated",
		[VRO_ALIVE] = "questions to silent peers",
		[VRO_GAPS] = "sequence NAKs sent",
		[VRO_DUPLICATES] = "duplicates",
		[VRO_RNRS] = "RNR NAKs sent",
		[VRO_CONGESTED] = "congestion notifications",
		[VRO_DROPPED] = "datagrams dropped",
		[VRO_MANAGED] = "datagrams of connection management",
	};
	const struct vro_engine *engine = &rnic->station->engine;
	uint64_t dropped = 0;
	size_t len = 0;
	int n;

	vro_station_enter(rnic->station);
	for (int i = 0; i < VRO_COUNTS; i++) {
		n = snprintf(len < room ? text + len : NULL, len < room ? room - len : 0,
			     "%s: %llu\n", names[i], (unsigned long long)engine->counts[i]);
		len += n > 0 ? (size_t)n : 0;
	}
	for (int i = 1; i < ROCE_FAULT_COUNT; i++)
		dropped += engine->faults[i];
	vro_station_leave(rnic->station);
	n = snprintf(len < room ? text + len : NULL, len < room ? room - len : 0,
		     "packets refused: %llu\n", (unsigned long long)dropped);
	return len + (n > 0 ? (size_t)n : 0);
}

/* --- processes ---------------------------------------------------------------------------- */

static enum ri_status
context_create(struct ri_rnic *rnic, const struct ri_owner *owner, struct ri_context **out,
	       struct ri_map *map)
{
	struct ri_context *context;

	if (owner->shared)
		return RI_ERR_UNSUPPORTED; /* queue pages here are ordinary memory */
	context = calloc(1, sizeof(*context));
	if (context == NULL)
		return RI_ERR_RESOURCES;
	vsw_context_begin(&context->base, &rnic->objects, owner);
	context->rnic = rnic;
	vsw_list_begin(&context->qps);
	vsw_list_begin(&context->ahs);
	vsw_list_begin(&context->listens);
	vsw_list_begin(&context->queries);
	vsw_map_rnic(map, &rnic->bell);
	*out = context;
	return RI_SUCCESS;
}

#define OBJECT(type, list) \
	((struct type *)(void *)((char *)(list).next - offsetof(struct type, item)))

/* Objects are destroyed before those that they depend on, so none is busy. */
static void
context_destroy(struct ri_context *context)
{
	vro_cm_context_end(context);
	while (context->qps.next != &context->qps)
		vro_verbs_qp_destroy(OBJECT(vro_verbs_qp, context->qps));
	while (context->ahs.next != &context->ahs)
		(void)!vro_ah_ops.destroy(OBJECT(ri_ah, context->ahs));
	vsw_context_part(&context->base);
	vsw_context_end(&context->base);
	free(context);
}

const struct ri_device_ops vro_device_ops = {
	.size = sizeof(struct ri_device_ops),
	.probe = device_probe,
	.open = device_open,
	.close = device_close,
	.query = device_query,
	.query_port = device_query_port,
	.context_create = context_create,
	.context_destroy = context_destroy,
	.route = vro_route,
	.dump = device_dump,
};

static const struct ri_provider provider = {
	.abi_major = RI_ABI_MAJOR,
	.abi_minor = RI_ABI_MINOR,
	.size = sizeof(struct ri_provider),
	.name = "roce",
	.description = "InfiniBand semantics over UDP (RoCEv2), in software",
	.device = &vro_device_ops,
	.pd = &vsw_pd_ops,
	.cq = &vsw_cq_ops,
	.qp = &vro_qp_ops_table,
	.srq = &vsw_srq_ops,
	.ah = &vro_ah_ops,
	.mem = &vsw_mem_ops,
	.cm = &vro_cm_ops,
	.peer = &vro_peer_ops,
	.user = &vsw_user_ops,
	.fast = &vsw_fast_ops,
	.settings = vro_settings,
	.num_settings = VRO_SETTING_COUNT,
	.setting_size = sizeof(struct ri_setting),
};

const struct ri_provider *
vro_provider_entry(void)
{
	return &provider;
}
