/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Queries about adapters: the list, the description of an open one, paths to a peer.
 *
 * The description is made from the profile, attribute by attribute, and never from the name of a provider.
 */
#include <stdlib.h>
#include <string.h>

#include "ual.h"
#include "ual_addr.h"
#include "ual_cm.h"
#include "ual_evd.h"
#include "ual_iobl.h"
#include "ual_status.h"

#define ALIGNMENT_HINT 64 /* a cache line */
#define LIST_FIRST     256
#define LIST_MAX       (1u << 20)

static it_transport_type_t
transport_of(uint32_t transport)
{
	return transport == RI_TRANSPORT_IB ? IT_IB_TRANSPORT : IT_IWARP_TCP_TRANSPORT;
}

static size_t
min_size(uint64_t a, uint64_t b)
{
	return (size_t)(a < b ? a : b);
}

/* The kAL's list of adapters, with room for that many, for the caller to free; NULL: it failed. */
static struct kal_adapter_list_rep *
adapter_list_of(struct kal_client *client, uint32_t max)
{
	struct kal_adapter_list_req req = {.max = max};
	size_t room = sizeof(struct kal_adapter_list_rep) + max * sizeof(struct kal_adapter);
	struct kal_adapter_list_rep *rep = (struct kal_adapter_list_rep *)calloc(1, room);
	struct kal_msg msg = {
		.call = KAL_ADAPTER_LIST,
		.fd = -1,
		.req = &req,
		.req_len = sizeof(req),
		.rep = rep,
		.rep_len = room,
	};

	if (rep != NULL && kal_call(client, &msg) == RI_SUCCESS)
		return rep;
	free(rep);
	return NULL;
}

void
ual_ia_list(it_interface_t *list, size_t room, size_t *filled, size_t *total)
{
	struct kal_client_params params = {.host = NULL};
	struct kal_adapter_list_rep *rep;
	const struct kal_adapter *adapter;
	struct kal_client *client;

	*filled = 0;
	*total = 0;
	if (kal_client_open(&params, &client) != RI_SUCCESS)
		return;
	/* Adapters may come while the list is made; then it is made again with more room. */
	rep = adapter_list_of(client, LIST_FIRST);
	while (rep != NULL && rep->filled < rep->total && rep->total <= LIST_MAX) {
		uint32_t all = rep->total;

		free(rep);
		rep = adapter_list_of(client, all);
	}
	if (rep != NULL) {
		adapter = (const struct kal_adapter *)(rep + 1);
		*total = rep->total;
		*filled = min_size(room, rep->filled);
		for (size_t i = 0; i < *filled; i++) {
			memset(&list[i], 0, sizeof(list[i]));
			list[i].major_version = 2;
			list[i].minor_version = 1;
			list[i].transport_type = transport_of(adapter[i].transport);
			memcpy(list[i].name, adapter[i].name,
			       strnlen(adapter[i].name, sizeof(adapter[i].name) - 1));
		}
	}
	free(rep);
	kal_client_close(client);
}

static enum ri_status
port_query(struct ual_ia *ia, uint32_t port, struct ri_port_attr *attr)
{
	struct kal_port_query_req req = {.rnic = ia->session.rnic, .port = port};

	return session_call(&ia->session, KAL_PORT_QUERY, &req, sizeof(req), attr, sizeof(*attr));
}

static it_status_t
spigot_fill(struct ual_ia *ia, uint32_t port, it_spigot_info_t *out)
{
	struct ri_port_attr attr;
	enum ri_status status = port_query(ia, port, &attr);
	uint32_t addrs;

	if (status != RI_SUCCESS)
		return ual_status(UAL_CALL_OTHER, status);
	addrs = attr.num_addrs < RI_PORT_ADDR_MAX ? attr.num_addrs : RI_PORT_ADDR_MAX;
	out->spigot_id = port;
	out->max_rc_send_len = min_size(attr.max_message, ia->session.attr.max_message_size);
	out->max_rc_rdma_len = out->max_rc_send_len;
	out->max_ud_send_len = ia->session.attr.ud ? ia->session.attr.max_ud_message : 0;
	out->spigot_online = attr.online ? IT_TRUE : IT_FALSE;
	out->active_side_conn_qual = ual_qual_types(&ia->session.attr);
	out->passive_side_conn_qual = ual_qual_types(&ia->session.attr);
	if (addrs == 0)
		return IT_SUCCESS;
	out->net_addr = (it_net_addr_t *)calloc(addrs, sizeof(*out->net_addr));
	if (out->net_addr == NULL)
		return IT_ERR_RESOURCES;
	out->num_net_addr = addrs;
	for (uint32_t i = 0; i < addrs; i++)
		ual_addr_to_net(&attr.addrs[i], &out->net_addr[i]);
	return IT_SUCCESS;
}

/* What the adapter is able to do. */
static void
abilities_fill(const struct ri_rnic_attr *attr, it_ia_info_t *info)
{
	unsigned int types =
		(attr->mw_narrow ? IT_RMR_TYPE_NARROW : 0) | (attr->mw_wide ? IT_RMR_TYPE_WIDE : 0);

	info->socket_conversion_support = attr->socket_conversion;
	info->three_way_handshake_support = attr->three_way_handshake;
	info->private_data_support = ual_cm_has_pdata(attr);
	info->max_message_size_support = IT_FALSE;
	info->ird_ord_ia_support = attr->ird_ord_exchange;
	info->ird_ord_suppressible = attr->ird_ord_suppressible;
	info->connect_private_data_len = min_size(attr->connect_pdata, IT_MAX_PRIV_DATA);
	info->accept_private_data_len = min_size(attr->accept_pdata, IT_MAX_PRIV_DATA);
	info->reject_private_data_len = min_size(attr->reject_pdata, IT_MAX_PRIV_DATA);
	info->disconnect_private_data_len = min_size(attr->disconnect_pdata, IT_MAX_PRIV_DATA);
	info->ud_req_private_data_len = min_size(attr->ud_request_pdata, IT_MAX_PRIV_DATA);
	info->ud_rep_private_data_len = min_size(attr->ud_reply_pdata, IT_MAX_PRIV_DATA);
	info->spigot_online_support = attr->port_events;
	info->spigot_offline_support = attr->port_events;
	info->extended_iwarp_qp_states = attr->extended_qp_states;
	info->supported_service_types =
		(it_transport_service_type_t)(IT_RC_SERVICE | (attr->ud ? IT_UD_SERVICE : 0));
	info->ep_work_queues_resizable = attr->wq_resizable;
	info->rdma_read_ord_increasable = attr->ord_increasable;
	info->rdma_read_ird_modifiable = attr->ird_modifiable;
	info->addr_mode_relative_support = attr->zero_based;
	info->rdma_read_requires_remote_write = attr->read_sink_needs_remote_write;
	info->ep_rdma_enables_modifiable = attr->enables_modifiable;
	info->dto_evd_overflow_detection = attr->cq_overflow_detect;
	info->srq_support = attr->srq;
	info->srq_resizable = attr->srq_resizable;
	info->soft_hi_watermark_support = attr->rq_soft_limit;
	info->hard_hi_watermark_support = attr->rq_hard_limit;
	info->rmr_types_supported = (it_rmr_type_t)types;
	info->narrow_rmr_unlink_support = attr->mw_narrow_unbind;
	info->wide_rmr_unlink_support = attr->mw_wide_unbind;
	info->unlink_fence_support = attr->local_fence;
	info->post_send_unlink_remote_support = attr->send_invalidate;
	info->rdma_read_local_extensions = attr->read_local_extensions;
	info->atomic_support = attr->atomics;
	info->lmr_link_support = attr->fast_register;
	info->direct_lmr_handle_support = attr->direct_stag;
	info->iobl_types_supported = ual_iobl_types(attr);
}

it_status_t
ual_ia_query(struct ual_ia *ia, it_ia_info_t **out)
{
	const struct ri_rnic_attr *attr = &ia->session.attr;
	it_ia_info_t *info = (it_ia_info_t *)calloc(1, sizeof(*info));
	it_status_t status = IT_SUCCESS;

	if (info == NULL)
		return IT_ERR_RESOURCES;
	info->ia_name = strndup(attr->name, sizeof(attr->name));
	info->spigot_info = (it_spigot_info_t *)calloc(attr->num_ports > 0 ? attr->num_ports : 1,
						       sizeof(*info->spigot_info));
	if (info->ia_name == NULL || info->spigot_info == NULL)
		status = IT_ERR_RESOURCES;
	for (uint32_t i = 0; i < attr->num_ports && status == IT_SUCCESS; i++) {
		info->num_spigots = attr->num_ports;
		status = spigot_fill(ia, i, &info->spigot_info[i]);
	}
	if (status != IT_SUCCESS) {
		ual_ia_info_free(info);
		return status;
	}
	info->api_major_version = ia->major_version;
	info->api_minor_version = ia->minor_version;
	info->sw_major_version = ITAPI_VERSION_MAJOR;
	info->sw_minor_version = ITAPI_VERSION_MINOR;
	info->dto_alignment_hint = ALIGNMENT_HINT;
	info->transport_type = transport_of(attr->transport);
	if (attr->transport == RI_TRANSPORT_IB) {
		info->vendor.ib.vendor = attr->vendor_id & 0xffffff;
		info->vendor.ib.device = (uint16_t)attr->vendor_part;
		info->vendor.ib.revision = attr->hw_version;
	} else {
		info->vendor.iwarp.valid_vid = attr->vendor[0] != '\0' ? IT_TRUE : IT_FALSE;
		memcpy(info->vendor.iwarp.vid, attr->vendor,
		       strnlen(attr->vendor, sizeof(info->vendor.iwarp.vid) - 1));
	}
	abilities_fill(attr, info);
	if (ia->direct != NULL)
		info->direct_lmr_handle = (it_lmr_handle_t)ual_object_handle(&ia->direct->object);
	pthread_mutex_lock(&ia->lock);
	if (ia->affiliated != NULL)
		info->affiliated_err_evd =
			(it_evd_handle_t)ual_object_handle(&ia->affiliated->object);
	if (ia->unaffiliated != NULL)
		info->unaffiliated_err_evd =
			(it_evd_handle_t)ual_object_handle(&ia->unaffiliated->object);
	pthread_mutex_unlock(&ia->lock);
	*out = info;
	return IT_SUCCESS;
}

struct ual_support
ual_ia_support(const struct ual_ia *ia)
{
	const struct ri_rnic_attr *attr = &ia->session.attr;

	return (struct ual_support){
		.lmr_modify = attr->reregister,
		.dto_evd_resize = attr->cq_resizable,
		.srq_low_watermark = attr->srq && attr->srq_limit,
		.local_read_check = attr->local_read_revocable,
		.remote_status = attr->remote_status,
		.dmabuf = attr->dmabuf,
		.ep_reuse = attr->qp_reusable,
	};
}

void
ual_ia_info_free(it_ia_info_t *info)
{
	if (info == NULL)
		return;
	if (info->spigot_info != NULL)
		for (size_t i = 0; i < info->num_spigots; i++)
			free(info->spigot_info[i].net_addr);
	free(info->spigot_info);
	free(info->ia_name);
	free(info);
}

void
ual_ia_scope(struct ual_ia *ia, uint32_t port, struct ri_addr *addr)
{
	struct ri_port_attr attr;

	if (addr->family != RI_ADDR_IPV6 || addr->octets[0] != 0xfe ||
	    (addr->octets[1] & 0xc0) != 0x80 || port_query(ia, port, &attr) != RI_SUCCESS)
		return;
	for (uint32_t i = 0; i < attr.num_addrs && i < RI_PORT_ADDR_MAX; i++)
		if (attr.addrs[i].scope_id != 0)
			addr->scope_id = attr.addrs[i].scope_id;
}

it_status_t
ual_ia_paths(struct ual_ia *ia, size_t spigot, const it_net_addr_t *peer, size_t room,
	     size_t *total, it_path_t *paths)
{
	struct kal_path_query_req req = {.rnic = ia->session.rnic, .port = (uint32_t)spigot};
	struct kal_path_query_rep rep;
	enum ri_status status;

	if (spigot >= ia->session.attr.num_ports)
		return IT_ERR_INVALID_SPIGOT;
	if (!ual_addr_of_net(&ia->session.attr, peer, &req.peer))
		return IT_ERR_INVALID_NETADDR;
	ual_ia_scope(ia, (uint32_t)spigot, &req.peer);
	status = session_call(&ia->session, KAL_PATH_QUERY, &req, sizeof(req), &rep, sizeof(rep));
	*total = 0;
	if (status == RI_ERR_NO_ROUTE)
		return IT_SUCCESS;
	if (status != RI_SUCCESS)
		return ual_status(UAL_CALL_OTHER, status);
	*total = rep.count < RI_PORT_ADDR_MAX ? rep.count : RI_PORT_ADDR_MAX;
	for (size_t i = 0; i < room && i < *total; i++)
		ual_addr_to_path(&ia->session.attr, spigot, &rep.local[i], &req.peer, &paths[i]);
	return IT_SUCCESS;
}
