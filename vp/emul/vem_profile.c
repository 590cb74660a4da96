/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The semantic profiles of the two personalities [RI 10]. Attributes that both have follow from the
 * implementation (software in one process), the others from the transport. An attribute that is not
 * set here is not claimed.
 */
#include <stdio.h>
#include <string.h>

#include "vem_link.h"

static void
profile_limits(struct ri_rnic_attr *attr)
{
	attr->num_ports = 1;
	attr->max_pd = VEM_MAX_OBJECTS;
	attr->max_qp = VEM_MAX_OBJECTS;
	attr->max_cq = VEM_MAX_OBJECTS;
	attr->max_cqe = VEM_MAX_CQE;
	attr->max_srq = VEM_MAX_OBJECTS;
	attr->max_srq_wr = VEM_MAX_WR;
	attr->max_mr = VEM_MAX_OBJECTS;
	attr->max_mw = VEM_MAX_OBJECTS;
	attr->max_mr_length = VEM_MAX_REGION;
	attr->max_sq_wr = VEM_MAX_WR;
	attr->max_rq_wr = VEM_MAX_WR;
	attr->max_send_sge = VEM_MAX_SGE;
	attr->max_recv_sge = VEM_MAX_SGE;
	attr->max_write_sge = VEM_MAX_SGE;
	attr->max_read_sge = VEM_MAX_SGE;
	attr->max_pbl = VEM_MAX_PBL;
	attr->max_ird = 256;
	attr->max_ord = 256;
	attr->max_message_size = VEM_MAX_MESSAGE;
	attr->max_inline = VSW_MAX_INLINE;
	attr->num_completion_handlers = 1;
}

static void
profile_common(struct ri_rnic_attr *attr)
{
	attr->send_invalidate = true;
	attr->mw_narrow = true;
	attr->mw_narrow_unbind = true;
	attr->mr_key_owner = RI_KEY_CONSUMER;
	attr->mw_key_owner = RI_KEY_CONSUMER;
	attr->atomics = true;
	attr->zero_based = true;
	attr->inline_data = true;
	attr->iova = true;
	attr->privileged_ops = true;
	attr->fast_register = true;
	attr->direct_stag = true;
	attr->reg_page_list = true;
	attr->reg_block_list = true;
	attr->reg_ve_list = true;
	attr->local_fence = true;
	attr->reregister = true;
	attr->dmabuf = true;
	attr->ord_increasable = true;
	attr->ird_modifiable = true;
	attr->wq_resizable = true;
	attr->cq_resizable = true;
	attr->srq = true;
	attr->srq_limit = true;
	attr->srq_resizable = true;
	attr->rq_hard_limit = true;
	attr->port_events = true;
	attr->in_order_completion = true;
	attr->in_order_placement = true;
	attr->cq_overflow_detect = true;
	attr->cq_notify_flag = true;
	attr->cq_arm_count = true;
	attr->thread_safe_queues = true;
	attr->solicited_works = true;
	attr->qp_reusable = true;
	attr->cm_forms = RI_CM_ADDRESS;
	attr->llp_startup = RI_LLP_STARTUP_NONE;
	attr->ird_ord_exchange = true;
	attr->addr_ip = true;
	attr->one_address_space = true;
	attr->software = true;
}

static void
profile_infiniband(struct ri_rnic_attr *attr)
{
	attr->transport = RI_TRANSPORT_IB;
	attr->rnr_mode = RI_RNR_RETRY;
	attr->completion_acked = true;
	attr->remote_status = true;
	attr->immediate_size = 4;
	attr->immediate_with = RI_IMMEDIATE_SEND | RI_IMMEDIATE_WRITE | RI_IMMEDIATE_UD;
	attr->mw_wide = true;
	attr->mw_wide_unbind = true;
	attr->mw_wide_stag_returned = true;
	attr->enables_modifiable = true;
	attr->three_way_handshake = true;
	attr->connect_pdata = 56;
	attr->accept_pdata = 196;
	attr->reject_pdata = 148;
	attr->addr_gid = true;
	attr->cm_forms |= RI_CM_PEER;
	attr->cm_number = true;
	attr->uc = true;
	attr->multicast = true;
	attr->ud = true;
	attr->max_ah = 65536;
	attr->max_ud_message = VEM_MAX_DATAGRAM;
	attr->ud_request_pdata = 180;
	attr->ud_reply_pdata = 136;
	attr->has_time_wait = true; /* see vem_provider.c */
}

static void
profile_iwarp(struct ri_rnic_attr *attr)
{
	attr->transport = RI_TRANSPORT_IWARP;
	attr->read_sink_needs_remote_write = true;
	attr->read_local_extensions = true;
	attr->immediate_size = 8; /* RFC 7306 6.3 */
	attr->immediate_separate = true;
	attr->immediate_with = RI_IMMEDIATE_WRITE;
	attr->max_read_sge = 1;
	attr->local_read_revocable = true;
	attr->rq_soft_limit = true; /* InfiniBand has no such event */
	attr->rnr_mode = RI_RNR_HOLD;
	attr->terminate_info = true;
	attr->ird_ord_suppressible = true;
	attr->connect_pdata = 251;
	attr->accept_pdata = 251;
	attr->reject_pdata = 251;
}

const char *
vem_adapter_name(const struct vem_fabric *fabric)
{
	static const char *const names[VEM_PERSONALITIES][2] = {
		[VEM_IB] = {"emul:ib", "shm:ib"}, [VEM_IWARP] = {"emul:iwarp", "shm:iwarp"}};

	return names[fabric->personality][fabric->between];
}

void
vem_profile(const struct vem_fabric *fabric, struct ri_rnic_attr *attr)
{
	struct ri_rnic_attr own = {.size = sizeof(own)};
	uint32_t size = attr->size < sizeof(own) ? attr->size : (uint32_t)sizeof(own);

	snprintf(own.vendor, sizeof(own.vendor), "itapi");
	profile_limits(&own);
	profile_common(&own);
	if (fabric->personality == VEM_IB)
		profile_infiniband(&own);
	else
		profile_iwarp(&own);
	if (fabric->between)
		own.max_qp = VEM_BLOCK_QPS / 2; /* numbers of one process */
	snprintf(own.name, sizeof(own.name), "%s", vem_adapter_name(fabric));
	memcpy(attr, &own, size);
	attr->size = size;
}
