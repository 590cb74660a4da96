/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Devices and contexts: listing devices, opening and closing them, and queries of a device and its ports.
 */
#include "door_context.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include <glib.h>

#include "door_async.h"
#include "door_export.h"
#include "door_qp.h"
#include "session_cancel.h"

#define RD_ATOMIC_MAX \
	128 /* outstanding Reads that are told; a message of rdma_cm has 8 bits, and 255 means "the default" */
#define WR_MAX \
	32768 /* requests of a queue that are told: librdmacm and rsockets size their queues by it */
#define VENDOR_ID       0x626d74 /* no adapter of a vendor whose direct calls a program may try */
#define CLOCK_KHZ       1000000  /* completion times are nanoseconds */
#define WIDTH_4X        2        /* codes of InfiniBand for a link */
#define PHYS_STATE_UP   5
#define PHYS_STATE_DOWN 3
#define PKEY_DEFAULT    0xffff
#define LID_FIRST       1

/* --- the list of devices ------------------------------------------------------------------------------- */

EXPORT struct ibv_device **
ibv_get_device_list(int *num_devices)
{
	struct door_device **offered = NULL;
	int num = door_devices_refresh(&offered);
	struct ibv_device **list = NULL;

	if (num >= 0) {
		list = (struct ibv_device **)calloc((size_t)num + 1, sizeof(*list));
		for (int i = 0; list != NULL && i < num; i++)
			list[i] = &offered[i]->device;
		g_free(offered);
	}
	if (num_devices != NULL)
		*num_devices = list != NULL ? num : 0;
	return list;
}

/* Devices stay until the process ends, so a program may use one whose list it has freed. */
EXPORT void
ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

EXPORT const char *
ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

EXPORT __be64
ibv_get_device_guid(struct ibv_device *device)
{
	return door_device_of(device)->guid;
}

EXPORT int
ibv_get_device_index(struct ibv_device *device)
{
	return door_device_of(device)->index;
}

/* --- contexts --------------------------------------------------------------------------------------------- */

EXPORT struct ibv_context *
ibv_open_device(struct ibv_device *device)
{
	struct door_context *own = (struct door_context *)calloc(1, sizeof(*own));
	struct ibv_context *context;
	int error;
	SESSION_DEFER;

	if (own == NULL)
		return NULL;
	context = &own->verbs.context;
	own->adapter = door_adapter_get(door_device_of(device));
	if (own->adapter == NULL || !door_async_init(own)) {
		error = errno;
		if (own->adapter != NULL)
			door_adapter_put(own->adapter);
		free(own);
		errno = error;
		return NULL;
	}
	atomic_store(&own->refs, 1);
	own->verbs.sz = sizeof(own->verbs);
	context->abi_compat = __VERBS_ABI_IS_EXTENDED;
	context->device = device;
	/* The device file of the kernel: a program may poll it or pass it on, and learns nothing from it. */
	context->cmd_fd = own->async.fd;
	context->async_fd = own->async.fd;
	context->num_comp_vectors = 1;
	pthread_mutex_init(&context->mutex, NULL);
	door_context_ops(own);
	pthread_mutex_lock(&own->adapter->slots.lock);
	own->next = own->adapter->contexts;
	own->adapter->contexts = own;
	pthread_mutex_unlock(&own->adapter->slots.lock);
	return context;
}

void
door_context_hold(struct door_context *context)
{
	atomic_fetch_add(&context->refs, 1);
}

void
door_context_put(struct door_context *context)
{
	if (atomic_fetch_sub(&context->refs, 1) != 1)
		return;
	door_async_fini(context);
	pthread_mutex_destroy(&context->verbs.context.mutex);
	door_adapter_put(context->adapter);
	free(context);
}

/*
 * A program may close a context that still has objects; the kernel destroys them then. Here
 * connections are ended. The objects stay until the program destroys them, since it may have
 * pointers to them.
 */
EXPORT int
ibv_close_device(struct ibv_context *context)
{
	struct door_context *own = door_context_of(context);
	struct door_context **link;
	SESSION_DEFER;

	if (own->adapter->inherited)
		return 0;
	door_qp_end_all(own);
	pthread_mutex_lock(&own->adapter->slots.lock);
	for (link = &own->adapter->contexts; *link != own; link = &(*link)->next)
		;
	*link = own->next;
	pthread_mutex_unlock(&own->adapter->slots.lock);
	door_context_put(own);
	return 0;
}

/* --- the device --------------------------------------------------------------------------------------------- */

static int
least(uint64_t value, int limit)
{
	return value < (uint64_t)limit ? (int)value : limit;
}

static unsigned
cap_flags(const struct ri_rnic_attr *attr)
{
	unsigned flags = IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_CURR_QP_STATE_MOD;

	if (attr->send_invalidate && attr->mw_narrow_unbind)
		flags |= IBV_DEVICE_MEM_MGT_EXTENSIONS;
	if (attr->mw_wide)
		flags |= IBV_DEVICE_MEM_WINDOW;
	if (attr->mw_narrow)
		flags |= IBV_DEVICE_MEM_WINDOW_TYPE_2B;
	if (attr->srq_resizable)
		flags |= IBV_DEVICE_SRQ_RESIZE;
	if (attr->rnr_mode == RI_RNR_RETRY)
		flags |= IBV_DEVICE_RC_RNR_NAK_GEN;
	if (attr->port_events)
		flags |= IBV_DEVICE_PORT_ACTIVE_EVENT;
	return flags;
}

static void
fill_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	const struct ri_rnic_attr *rnic = &door_session_of(context)->attr;
	const struct door_device *device = door_device_of(context->device);

	memset(attr, 0, sizeof(*attr));
	(void)g_snprintf(attr->fw_ver, sizeof(attr->fw_ver), "%u.%u", rnic->fw_version >> 16,
			 rnic->fw_version & 0xffff);
	attr->node_guid = attr->sys_image_guid = device->guid;
	attr->max_mr_size = rnic->max_mr_length;
	attr->page_size_cap = 0xfffff000;
	attr->vendor_id = VENDOR_ID;
	attr->vendor_part_id = rnic->vendor_part;
	attr->hw_ver = rnic->hw_version;
	attr->max_qp = least(rnic->max_qp, INT32_MAX);
	attr->max_qp_wr = least(MIN(rnic->max_sq_wr, rnic->max_rq_wr), WR_MAX);
	attr->device_cap_flags = cap_flags(rnic);
	attr->max_sge = least(MIN(MIN(rnic->max_send_sge, rnic->max_recv_sge), rnic->max_write_sge),
			      INT32_MAX);
	attr->max_sge_rd = least(rnic->max_read_sge, INT32_MAX);
	attr->max_cq = least(rnic->max_cq, INT32_MAX);
	attr->max_cqe = least(rnic->max_cqe, INT32_MAX);
	attr->max_mr = least(rnic->max_mr, INT32_MAX);
	attr->max_pd = least(rnic->max_pd, INT32_MAX);
	attr->max_qp_rd_atom = least(rnic->max_ird, RD_ATOMIC_MAX);
	attr->max_qp_init_rd_atom = least(rnic->max_ord, RD_ATOMIC_MAX);
	attr->max_res_rd_atom = least((uint64_t)attr->max_qp_rd_atom * rnic->max_qp, INT32_MAX);
	attr->atomic_cap = rnic->atomics ? IBV_ATOMIC_HCA : IBV_ATOMIC_NONE;
	attr->max_mw = least(rnic->max_mw, INT32_MAX);
	attr->max_ah = least(rnic->max_ah, INT32_MAX);
	if (rnic->multicast) {
		attr->max_mcast_grp = least(rnic->max_qp, INT32_MAX);
		attr->max_mcast_qp_attach = least(rnic->max_qp, INT32_MAX);
		attr->max_total_mcast_qp_attach = least(rnic->max_qp, INT32_MAX);
	}
	if (rnic->srq) {
		attr->max_srq = least(rnic->max_srq, INT32_MAX);
		attr->max_srq_wr = least(rnic->max_srq_wr, WR_MAX);
		attr->max_srq_sge = least(rnic->max_recv_sge, INT32_MAX);
	}
	attr->max_pkeys = 1;
	attr->phys_port_cnt = (uint8_t)least(rnic->num_ports, UINT8_MAX);
}

EXPORT int
ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	fill_device(context, attr);
	return 0;
}

int
door_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
		     struct ibv_device_attr_ex *attr, size_t len)
{
	struct ibv_device_attr_ex whole;

	if ((input != NULL && input->comp_mask != 0) || len < sizeof(whole.orig_attr))
		return EINVAL;
	memset(&whole, 0, sizeof(whole));
	fill_device(context, &whole.orig_attr);
	whole.completion_timestamp_mask = UINT64_MAX;
	whole.hca_core_clock = CLOCK_KHZ;
	whole.device_cap_flags_ex = whole.orig_attr.device_cap_flags;
	whole.phys_port_cnt_ex = door_session_of(context)->attr.num_ports;
	memset(attr, 0, len);
	memcpy(attr, &whole, MIN(len, sizeof(whole)));
	return 0;
}

/* --- ports --------------------------------------------------------------------------------------------------- */

/* The attributes of port number 1 and up; false: there is no such port. */
static bool
port_of(struct ibv_context *context, uint32_t port, struct ri_port_attr *attr)
{
	struct door_adapter *adapter = door_adapter_of(context);

	if (port < 1 || port > adapter->session.attr.num_ports)
		return false;
	door_adapter_port(adapter, port - 1, attr);
	return true;
}

static enum ibv_mtu
mtu_code(uint32_t octets)
{
	enum ibv_mtu code = IBV_MTU_256;

	while (code < IBV_MTU_4096 && octets >= 512u << (code - IBV_MTU_256))
		code++;
	return code;
}

/* A code of InfiniBand for the speed of one of four lanes: the next at or above. */
static uint8_t
speed_code(uint32_t mbps)
{
	static const struct {
		uint32_t mbps;
		uint8_t code;
	} speeds[] = {{10000, 1}, {20000, 2}, {40000, 4}, {56000, 16}, {100000, 32}, {200000, 64}};

	for (size_t i = 0; i < G_N_ELEMENTS(speeds); i++)
		if (mbps <= speeds[i].mbps)
			return speeds[i].code;
	return 128;
}

/*
 * The address that belongs to an entry of the GID table: the table has each address of the port
 * that fits the adapter. A port that has GIDs shows only those. NULL: the entry does not exist.
 */
static const struct ri_addr *
addr_at(const struct ri_port_attr *port, uint32_t index)
{
	bool has_gids = false;

	for (uint32_t i = 0; i < port->num_addrs; i++)
		has_gids |= port->addrs[i].family == RI_ADDR_GID;
	for (uint32_t i = 0; i < port->num_addrs; i++) {
		if (has_gids && port->addrs[i].family != RI_ADDR_GID)
			continue;
		if (index-- == 0)
			return &port->addrs[i];
	}
	return NULL;
}

static bool
gid_at(const struct ri_port_attr *port, uint32_t index, union ibv_gid *gid)
{
	const struct ri_addr *addr = addr_at(port, index);

	if (addr != NULL)
		*gid = door_gid(addr);
	return addr != NULL;
}

bool
door_port_addr(struct door_adapter *adapter, uint32_t port, uint32_t index, struct ri_addr *addr)
{
	struct ri_port_attr spigot;
	const struct ri_addr *found;

	if (port < 1 || port > adapter->session.attr.num_ports)
		return false;
	door_adapter_port(adapter, port - 1, &spigot);
	found = addr_at(&spigot, index);
	if (found != NULL)
		*addr = *found;
	return found != NULL;
}

uint16_t
door_port_lid(const struct door_adapter *adapter, uint32_t port)
{
	return adapter->lids ? (uint16_t)(LID_FIRST + port - 1) : 0;
}

int
door_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr, size_t len)
{
	struct ri_port_attr spigot;
	struct ibv_port_attr whole;

	if (!port_of(context, port, &spigot))
		return EINVAL;
	memset(&whole, 0, sizeof(whole));
	whole.state = spigot.online ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
	whole.phys_state = spigot.online ? PHYS_STATE_UP : PHYS_STATE_DOWN;
	whole.max_mtu = IBV_MTU_4096;
	whole.active_mtu = mtu_code(spigot.mtu);
	whole.gid_tbl_len = RI_PORT_ADDR_MAX; /* addresses come and go */
	whole.max_msg_sz =
		(uint32_t)MIN(spigot.max_message, door_session_of(context)->attr.max_message_size);
	whole.pkey_tbl_len = 1;
	whole.max_vl_num = 1;
	whole.active_width = WIDTH_4X;
	whole.active_speed = speed_code(spigot.speed_mbps);
	whole.link_layer = IBV_LINK_LAYER_ETHERNET;
	whole.lid = whole.sm_lid = door_port_lid(door_adapter_of(context), port);
	if (whole.lid != 0) {
		whole.link_layer = IBV_LINK_LAYER_INFINIBAND;
		whole.active_mtu = IBV_MTU_4096;
	}
	memset(attr, 0, len);
	memcpy(attr, &whole, MIN(len, sizeof(whole)));
	return 0;
}

/* In units of 100 Mb/s. */
EXPORT int
ibv_query_port_speed(struct ibv_context *context, uint32_t port, uint64_t *speed)
{
	struct ri_port_attr spigot;

	if (!port_of(context, port, &spigot))
		return EINVAL;
	*speed = spigot.speed_mbps / 100;
	return 0;
}

/* What programs call that were built with the struct of 2009. */
#undef ibv_query_port
EXPORT int
ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	return door_query_port(context, port, (struct ibv_port_attr *)(void *)attr,
			       offsetof(struct ibv_port_attr, port_cap_flags2));
}

/* --- addresses --------------------------------------------------------------------------------------------------- */

union ibv_gid
door_gid(const struct ri_addr *addr)
{
	union ibv_gid gid = {.raw = {0}};

	if (addr->family == RI_ADDR_IPV4) {
		gid.raw[10] = gid.raw[11] = 0xff;
		memcpy(gid.raw + 12, addr->octets, 4);
	} else {
		memcpy(gid.raw, addr->octets, sizeof(gid.raw));
	}
	return gid;
}

struct ri_addr
door_addr(struct door_adapter *adapter, const union ibv_gid *gid)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	struct ri_addr addr = {.family = RI_ADDR_IPV6};

	if (adapter->session.attr.addr_gid) {
		addr.family = RI_ADDR_GID;
	} else if (memcmp(gid->raw, mapped, sizeof(mapped)) == 0) {
		addr.family = RI_ADDR_IPV4;
		memcpy(addr.octets, gid->raw + sizeof(mapped), 4);
		return addr;
	}
	memcpy(addr.octets, gid->raw, sizeof(addr.octets));
	return addr;
}

static int
gid_of(struct ibv_context *context, uint32_t port, uint32_t index, union ibv_gid *gid)
{
	struct ri_port_attr spigot;

	memset(gid, 0, sizeof(*gid));
	if (!port_of(context, port, &spigot))
		return EINVAL;
	if (gid_at(&spigot, index, gid))
		return 0;
	return index < RI_PORT_ADDR_MAX ? ENODATA : EINVAL;
}

EXPORT int
ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid)
{
	int error = index >= 0 ? gid_of(context, port, (uint32_t)index, gid) : EINVAL;

	/* An empty entry: zeros, as libibverbs tells them. */
	if (error == ENODATA)
		return 0;
	errno = error;
	return error == 0 ? 0 : -1;
}

/* What kind of GID it is, for tools of rdma-core: as of one file of sysfs. */
enum {
	GID_TYPE_IB_ROCE_V1 = 0,
	GID_TYPE_ROCE_V2 = 1
};

EXPORT int
ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned index, unsigned *type)
{
	union ibv_gid gid;
	int error = gid_of(context, port, index, &gid);

	*type = door_is_roce(door_adapter_of(context)) ? GID_TYPE_ROCE_V2 : GID_TYPE_IB_ROCE_V1;
	errno = error;
	return error == 0 ? 0 : -1;
}

static int
gid_entry(struct ibv_context *context, uint32_t port, uint32_t index, struct ibv_gid_entry *entry)
{
	struct ri_port_attr spigot;

	memset(entry, 0, sizeof(*entry));
	if (!port_of(context, port, &spigot))
		return EINVAL;
	if (!gid_at(&spigot, index, &entry->gid))
		return index < RI_PORT_ADDR_MAX ? ENODATA : EINVAL;
	entry->gid_index = index;
	entry->port_num = port;
	entry->gid_type =
		door_is_roce(door_adapter_of(context)) ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_IB;
	entry->ndev_ifindex = spigot.if_name[0] != '\0' ? if_nametoindex(spigot.if_name) : 0;
	return 0;
}

EXPORT int
_ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index,
		  struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size)
{
	struct ibv_gid_entry whole;
	int error;

	if (flags != 0)
		return EOPNOTSUPP;
	error = gid_entry(context, port, index, &whole);
	if (error == 0)
		memcpy(entry, &whole, MIN(entry_size, sizeof(whole)));
	return error;
}

EXPORT ssize_t
_ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t max_entries,
		     uint32_t flags, size_t entry_size)
{
	size_t num = 0;

	if (flags != 0)
		return -EOPNOTSUPP;
	for (uint32_t port = 1; port <= door_session_of(context)->attr.num_ports; port++) {
		struct ibv_gid_entry whole;

		for (uint32_t index = 0; gid_entry(context, port, index, &whole) == 0; index++) {
			if (num == max_entries)
				return -EINVAL;
			memcpy((char *)entries + num++ * entry_size, &whole,
			       MIN(entry_size, sizeof(whole)));
		}
	}
	return (ssize_t)num;
}

EXPORT int
ibv_query_pkey(struct ibv_context *context, uint8_t port, int index, __be16 *pkey)
{
	if (port < 1 || port > door_session_of(context)->attr.num_ports || index != 0) {
		errno = EINVAL;
		return -1;
	}
	*pkey = htons(PKEY_DEFAULT);
	return 0;
}

EXPORT int
ibv_get_pkey_index(struct ibv_context *context, uint8_t port, __be16 pkey)
{
	if (port < 1 || port > door_session_of(context)->attr.num_ports ||
	    (ntohs(pkey) & 0x7fff) != (PKEY_DEFAULT & 0x7fff)) {
		errno = EINVAL;
		return -1;
	}
	return 0;
}
