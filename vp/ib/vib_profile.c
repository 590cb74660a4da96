/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The semantic profile of a device [RI 10]: from the attributes that it reports, from its
 * transport, and from a table of deviations of drivers. An attribute that is not set here is not
 * claimed.
 */
#include "vib_profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vib_dmabuf.h"
#include "vib_mw.h"
#include "vib_probe.h"

/* Linux's siw: [WIRE 11.34], [WIRE 11.35], [RI 12.3.8], [RI 12.3.14], [RI 12.3.16], [RI 12.3.17]. */
static const struct vib_quirk quirks[] = {
	{.vendor_id = 0x626d74,
	 .driver = "siw",
	 .out_of_order = true,
	 .no_reuse = true,
	 .down_breaks = true,
	 .no_invalidate = true,
	 .no_iova = true,
	 .empty_harms = true,
	 .own_depths = true,
	 .raises_sigpipe = true,
	 .no_read_fence = true},
	/*
	 * The library of Linux's rxe passes the kernel's bit for an invalidation to programs, which expect
	 * another bit. It also treats a failed completion as not solicited. For the rest see [RI 12.2].
	 */
	{.vendor_id = 0xffffff,
	 .driver = "rxe",
	 .kernel_flags = true,
	 .silent_failures = true,
	 .void_harms = true,
	 .srq_of_domain = true,
	 .endless_retries = true,
	 .vague_statuses = true},
};

static const struct vib_quirk no_quirk = {.driver = ""};

static const struct vib_quirk *
quirk_of(uint32_t vendor_id)
{
	for (size_t i = 0; i < sizeof(quirks) / sizeof(quirks[0]); i++) {
		if (quirks[i].vendor_id == vendor_id)
			return &quirks[i];
	}
	return &no_quirk;
}

/* A limit that the device reports; some report a negative number for "many". */
static uint32_t
limit_of(int value, uint32_t most)
{
	return value < 0 || (uint32_t)value > most ? most : (uint32_t)value;
}

static void
limits_fill(struct ri_rnic_attr *attr, const struct ibv_device_attr *dev, bool iwarp)
{
	uint32_t sges = limit_of(dev->max_sge, VIB_SGES_MOST);

	attr->vendor_id = dev->vendor_id;
	attr->vendor_part = dev->vendor_part_id;
	attr->hw_version = dev->hw_ver;
	attr->num_ports = dev->phys_port_cnt > 0 ? dev->phys_port_cnt : 1;
	attr->max_pd = limit_of(dev->max_pd, INT32_MAX);
	attr->max_qp = limit_of(dev->max_qp, INT32_MAX);
	attr->max_cq = limit_of(dev->max_cq, INT32_MAX);
	attr->max_cqe = limit_of(dev->max_cqe, 1u << 22);
	attr->max_mr = limit_of(dev->max_mr, INT32_MAX);
	/* Not every driver fills this in. */
	attr->max_mr_length = dev->max_mr_size != 0 && dev->max_mr_size < INT64_MAX
				      ? dev->max_mr_size
				      : INT64_MAX;
	attr->max_sq_wr = limit_of(dev->max_qp_wr, 1u << 20);
	attr->max_rq_wr = attr->max_sq_wr;
	attr->max_send_sge = sges;
	attr->max_recv_sge = sges;
	attr->max_write_sge = sges;
	attr->max_read_sge = iwarp ? limit_of(dev->max_sge_rd, sges) : sges;
	if (attr->max_read_sge == 0)
		attr->max_read_sge = 1;
	/* The connection manager has 8 bits for each. */
	attr->max_ird = limit_of(dev->max_qp_rd_atom, UINT8_MAX);
	attr->max_ord = limit_of(dev->max_qp_init_rd_atom, UINT8_MAX);
	attr->max_rnic_ird = limit_of(dev->max_res_rd_atom, INT32_MAX);
}

static void
common_fill(struct ri_rnic *rnic, const struct ibv_device_attr *dev)
{
	struct ri_rnic_attr *attr = &rnic->attr;

	attr->num_completion_handlers =
		rnic->verbs->num_comp_vectors > 0 ? (uint32_t)rnic->verbs->num_comp_vectors : 1;
	attr->atomics = dev->atomic_cap != IBV_ATOMIC_NONE;
	attr->mr_key_owner = RI_KEY_PROVIDER;
	attr->srq = dev->max_srq > 0 && dev->max_srq_wr > 0;
	if (attr->srq) {
		rnic->max_srq_sge = limit_of(dev->max_srq_sge, UINT16_MAX);
		attr->max_srq = limit_of(dev->max_srq, INT32_MAX);
		attr->max_srq_wr = limit_of(dev->max_srq_wr, 1u << 20);
		attr->srq_limit = true;
		attr->srq_resizable = (dev->device_cap_flags & IBV_DEVICE_SRQ_RESIZE) != 0;
	}
	attr->in_order_placement = false;
	attr->in_order_completion = true; /* vib_order.c, where the device does otherwise */
	attr->cq_notify_flag = true;      /* these two by vib_cq.c */
	attr->cq_arm_count = true;
	vib_probe(rnic);
	attr->dmabuf = vib_dmabuf_works(rnic->verbs);
	attr->iova = !rnic->quirk->no_iova;
	attr->refuses = RI_REFUSES_UNCONNECTED_REQUESTS;
	attr->port_events = true;
	attr->qp_reusable = true; /* vib_qp_device_renew, where the device does otherwise */
}

/* Windows of type 2, and Sends that invalidate their STags; windows of type 1. */
static void
windows_fill(struct ri_rnic *rnic, const struct ibv_device_attr *dev)
{
	const unsigned int type_2 = IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B;
	struct ri_rnic_attr *attr = &rnic->attr;
	bool extensions = (dev->device_cap_flags & IBV_DEVICE_MEM_MGT_EXTENSIONS) != 0 &&
			  !rnic->quirk->no_invalidate;

	attr->mw_narrow = extensions && (dev->device_cap_flags & type_2) != 0 && dev->max_mw > 0;
	attr->send_invalidate = extensions;
	attr->mw_key_owner = RI_KEY_PROVIDER;
	attr->mw_wide = (dev->device_cap_flags & IBV_DEVICE_MEM_WINDOW) != 0 && dev->max_mw > 0 &&
			vib_mw_wide_works(rnic->verbs);
	attr->mw_wide_unbind = attr->mw_wide_stag_returned = attr->mw_wide;
	if (attr->mw_narrow || attr->mw_wide)
		attr->max_mw = limit_of(dev->max_mw, INT32_MAX);
	if (!attr->mw_narrow)
		return;
	attr->mw_narrow_unbind = true;
	attr->mw_key_owner = RI_KEY_CONSUMER;
}

/* Octets of a packet, by the number that the driver has for them. For an unknown number, what every port can send. */
static uint32_t
packet_of(const struct ri_rnic *rnic, enum ibv_mtu mtu)
{
	if (mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096)
		return 128u << mtu;
	vib_log(rnic, RI_LOG_WARNING, "the device reports %u as the MTU of its port, which is none",
		(unsigned int)mtu);
	return 128u << IBV_MTU_256;
}

/* Datagrams: what a port sends in one packet. */
static void
datagrams_fill(struct ri_rnic *rnic, const struct ibv_device_attr *dev,
	       const struct ibv_port_attr *port)
{
	struct ri_rnic_attr *attr = &rnic->attr;

	attr->ud = dev->max_ah > 0;
	if (attr->ud)
		attr->immediate_with |= RI_IMMEDIATE_UD;
	/* In the fabric of InfiniBand a group is joined by messages to its manager, which is not there yet. */
	attr->multicast =
		attr->ud && dev->max_mcast_grp > 0 && port->link_layer == IBV_LINK_LAYER_ETHERNET;
	attr->max_ah = limit_of(dev->max_ah, INT32_MAX);
	attr->max_ud_message = packet_of(rnic, port->active_mtu);
}

static void
infiniband_fill(struct ri_rnic_attr *attr)
{
	attr->transport = RI_TRANSPORT_IB;
	attr->rnr_mode = RI_RNR_RETRY;
	attr->completion_acked = true;
	attr->remote_status = true;
	attr->enables_modifiable = true;
	attr->immediate_size = 4;
	attr->immediate_with = RI_IMMEDIATE_SEND | RI_IMMEDIATE_WRITE;
}

enum ri_status
vib_profile_make(struct ri_rnic *rnic)
{
	struct ri_rnic_attr *attr = &rnic->attr;
	struct ibv_port_attr port;
	struct ibv_device_attr dev;
	int error = ibv_query_device(rnic->verbs, &dev);

	if (error == 0)
		error = ibv_query_port(rnic->verbs, 1, &port);
	if (error != 0) {
		vib_log(rnic, RI_LOG_WARNING, "cannot query the attributes of the device: %s",
			ri_errno_text(error));
		return vib_status_of_open(error);
	}
	rnic->quirk = quirk_of(dev.vendor_id);
	attr->size = sizeof(*attr);
	memcpy(attr->name, rnic->name, sizeof(attr->name));
	snprintf(attr->vendor, sizeof(attr->vendor), "vendor %06x, firmware %.32s", dev.vendor_id,
		 dev.fw_ver[0] != '\0' ? dev.fw_ver : "unknown");
	limits_fill(attr, &dev, rnic->iwarp);
	attr->max_message_size = port.max_msg_sz != 0 ? port.max_msg_sz : 1u << 31;
	common_fill(rnic, &dev);
	windows_fill(rnic, &dev);
	if (rnic->iwarp) {
		attr->transport = RI_TRANSPORT_IWARP;
		attr->read_sink_needs_remote_write = true;
		attr->rnr_mode = RI_RNR_TERMINATE;
	} else {
		infiniband_fill(attr);
	}
	if (!rnic->iwarp)
		datagrams_fill(rnic, &dev, &port);
	return RI_SUCCESS;
}
