/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The numbers and addresses with which a queue pair of the application reaches the peer of a connection [RI 10.54]. The kernel
 * has them in its attributes for the moves to RTR and RTS, as soon as a request or a reply has arrived.
 */
#include <string.h>

#include "vib_cm.h"
#include "vib_profile.h"

/* On Ethernet a GID is an address of IP; an IPv4 address is mapped. */
static struct ri_addr
addr_of_gid(const struct ri_rnic *rnic, uint32_t port, const union ibv_gid *gid,
	    enum ibv_gid_type type)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	struct ri_addr addr = {.family = type == IBV_GID_TYPE_IB ? RI_ADDR_GID : RI_ADDR_IPV6};

	if (type != IBV_GID_TYPE_IB && memcmp(gid->raw, mapped, sizeof(mapped)) == 0) {
		addr.family = RI_ADDR_IPV4;
		memcpy(addr.octets, gid->raw + sizeof(mapped), 4);
		return addr;
	}
	memcpy(addr.octets, gid->raw, sizeof(addr.octets));
	if (addr.family == RI_ADDR_IPV6 && gid->raw[0] == 0xfe && (gid->raw[1] & 0xc0) == 0x80)
		addr.scope_id = vib_port_interface(rnic, port);
	return addr;
}

/* False: the entry of the source is not there any more. */
static bool
way_fill(const struct ri_rnic *rnic, const struct ibv_ah_attr *attr, struct ri_ah_init *way)
{
	struct ibv_gid_entry source;

	*way = (struct ri_ah_init){.port = attr->port_num != 0 ? attr->port_num - 1u : 0,
				   .dlid = attr->dlid,
				   .sl = attr->sl,
				   .path_bits = attr->src_path_bits,
				   .hop_limit = attr->grh.hop_limit,
				   .traffic_class = attr->grh.traffic_class,
				   .flow_label = attr->grh.flow_label};
	if (ibv_query_gid_ex(rnic->verbs, way->port + 1, attr->grh.sgid_index, &source, 0) != 0)
		return false;
	way->dest =
		addr_of_gid(rnic, way->port, &attr->grh.dgid, (enum ibv_gid_type)source.gid_type);
	way->source = addr_of_gid(rnic, way->port, &source.gid, (enum ibv_gid_type)source.gid_type);
	return true;
}

void
vib_conn_reach(const struct vib_conn *conn, struct ri_peer *reach)
{
	const struct ri_rnic *rnic = conn->cm->rnic;
	struct ibv_qp_attr receives = {.qp_state = IBV_QPS_RTR}, sends = {.qp_state = IBV_QPS_RTS};
	int mask = 0;

	memset(reach, 0, sizeof(*reach));
	if (!rnic->attr.cm_number || rdma_init_qp_attr(conn->id, &receives, &mask) != 0 ||
	    rdma_init_qp_attr(conn->id, &sends, &mask) != 0)
		return;
	if (!way_fill(rnic, &receives.ah_attr, &reach->path)) {
		memset(reach, 0, sizeof(*reach));
		return;
	}
	reach->qpn = receives.dest_qp_num;
	reach->rq_psn = receives.rq_psn;
	reach->path_mtu = 128u << receives.path_mtu;
	reach->ird = receives.max_dest_rd_atomic;
	reach->min_rnr_timer = receives.min_rnr_timer;
	reach->sq_psn = sends.sq_psn;
	reach->ord = sends.max_rd_atomic;
	reach->timeout = sends.timeout;
	reach->retry_count = sends.retry_cnt;
	reach->rnr_retry = sends.rnr_retry;
}
