/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The messages that a manager sends, with the values that Linux puts into fields which mean nothing on Ethernet. */
#include <string.h>

#include "ri_wire.h"
#include "vrc_conn.h"
#include "vrc_ip.h"
#include "vrc_reason.h"

#define PKEY         0xffff
#define LID          0xffff /* beyond a router, as with a hop limit above 1 */
#define HOP_LIMIT    64
#define CM_TIME      20 /* code: 4.3 s, how long either side may take to answer */
#define MRA_TIME     24 /* code: 69 s */
#define LOCAL_PORTS  16384u
#define LOCAL_PORT_0 49152u

uint8_t
vrc_mtu_code(uint32_t octets)
{
	for (uint8_t code = 1; code <= 5; code++) {
		if (octets == 128u << code)
			return code;
	}
	return 0;
}

void
vrc_send_mad(struct vrc_cm *cm, const struct vrc_path *path, const struct vrc_mad *mad)
{
	uint8_t octets[VRC_MAD_SIZE];

	vrc_mad_write(mad, octets);
	cm->config.send(cm->config.self, path, octets);
}

void
vrc_conn_send(struct vrc_conn *conn)
{
	conn->cm->config.send(conn->cm->config.self, &conn->path, conn->last);
}

static struct vrc_mad
mad_of(const struct vrc_conn *conn, uint16_t attribute)
{
	return (struct vrc_mad){.attribute = attribute,
				.tid = conn->tid,
				.local_id = conn->local_id,
				.remote_id = conn->remote_id};
}

static void
keep(struct vrc_conn *conn, const struct vrc_mad *mad)
{
	vrc_mad_write(mad, conn->last);
	conn->last_attribute = mad->attribute;
}

static void
private_put(struct vrc_mad *mad, size_t at, const void *pdata, size_t len)
{
	if (len != 0)
		memcpy(mad->private_data + at, pdata, len);
}

/* The header and the owner's data behind it. */
static void
private_of_service(struct vrc_conn *conn, struct vrc_mad *mad, const struct vrc_params *params)
{
	size_t at = 0;

	if (vrc_service_is_port(conn->service_id, conn->datagram)) {
		struct vrc_ip_header header = {.source = conn->path.local, .dest = conn->path.peer};
		if (conn->service.local_port == 0) {
			uint16_t drawn;
			vrc_random(conn->cm, &drawn, sizeof(drawn));
			conn->service.local_port =
				wire_swap16((uint16_t)(LOCAL_PORT_0 + drawn % LOCAL_PORTS));
		}
		header.port = wire_swap16(conn->service.local_port);
		vrc_ip_header_write(&header, mad->private_data);
		at = VRC_IP_HEADER_SIZE;
	}
	private_put(mad, at, params->pdata, params->pdata_len);
}

static void
path_compose(const struct vrc_conn *conn, const struct vrc_params *params,
	     struct vrc_mad_path *path)
{
	path->local_lid = path->remote_lid = LID;
	vrc_gid_of_addr(&conn->path.local, path->local_gid);
	vrc_gid_of_addr(&conn->path.peer, path->remote_gid);
	path->flow_label = conn->reach.path.flow_label;
	path->traffic_class = params->traffic_class;
	path->hop_limit = conn->reach.path.hop_limit;
	path->ack_timeout = conn->reach.timeout;
}

void
vrc_compose_req(struct vrc_conn *conn, const struct vrc_params *params)
{
	struct vrc_mad mad = mad_of(conn, VRC_REQ);

	private_of_service(conn, &mad, params);
	conn->reach.path.traffic_class = params->traffic_class;
	conn->reach.path.hop_limit = params->hop_limit != 0 ? params->hop_limit : HOP_LIMIT;
	if (vrc_service_is_port(conn->service_id, false))
		conn->reach.path.flow_label = vrc_flow_label(wire_swap16(conn->service.local_port),
							     (uint16_t)conn->service_id);
	mad.req = (struct vrc_mad_req){
		.service_id = conn->service_id,
		.guid = conn->cm->config.guid,
		.qpn = conn->qpn,
		.responder_depth = (uint8_t)params->ird,
		.initiator_depth = (uint8_t)params->ord,
		.remote_timeout = CM_TIME,
		.psn = conn->reach.rq_psn,
		.local_timeout = CM_TIME,
		.retry_count = params->retry_count,
		.pkey = PKEY,
		.mtu = vrc_mtu_code(params->mtu),
		.rnr_retry = params->rnr_retry,
		.cm_retries = VRC_RETRIES_MAX,
		.srq = params->srq,
	};
	path_compose(conn, params, &mad.req.primary);
	keep(conn, &mad);
}

void
vrc_compose_rep(struct vrc_conn *conn, const struct vrc_params *params, uint32_t psn)
{
	struct vrc_mad mad = mad_of(conn, VRC_REP);

	mad.rep = (struct vrc_mad_rep){
		.qpn = params->qpn,
		.psn = psn,
		.responder_depth = (uint8_t)params->ird,
		.initiator_depth = (uint8_t)params->ord,
		.ack_delay = conn->cm->config.ack_delay,
		.rnr_retry = params->rnr_retry,
		.srq = params->srq,
		.guid = conn->cm->config.guid,
	};
	private_put(&mad, 0, params->pdata, params->pdata_len);
	keep(conn, &mad);
}

void
vrc_compose_rtu(struct vrc_conn *conn, const struct vrc_input *in)
{
	struct vrc_mad mad = mad_of(conn, VRC_RTU);

	private_put(&mad, 0, in->pdata, in->pdata_len);
	keep(conn, &mad);
}

void
vrc_compose_dreq(struct vrc_conn *conn, const struct vrc_input *in)
{
	struct vrc_mad mad = mad_of(conn, VRC_DREQ);

	vrc_random(conn->cm, &conn->dreq_tid, sizeof(conn->dreq_tid));
	mad.tid = conn->dreq_tid;
	mad.dreq_qpn = conn->reach.qpn;
	private_put(&mad, 0, in->pdata, in->pdata_len);
	keep(conn, &mad);
}

void
vrc_compose_drep(struct vrc_conn *conn, uint64_t tid)
{
	struct vrc_mad mad = mad_of(conn, VRC_DREP);

	mad.tid = tid;
	keep(conn, &mad);
}

/* Which message the REJ answers, and what it says besides. */
void
vrc_compose_rej(struct vrc_conn *conn, uint16_t reason, const struct vrc_input *in)
{
	struct vrc_mad mad = mad_of(conn, VRC_REJ);

	mad.rej.reason = reason;
	mad.rej.about = conn->active ? VRC_ABOUT_REP : VRC_ABOUT_REQ;
	if (reason == VRC_REJ_TIMEOUT) {
		mad.rej.about = VRC_ABOUT_OTHER;
		mad.rej.info_len = sizeof(conn->cm->config.guid);
		wire_store_be64(mad.rej.info, conn->cm->config.guid);
		/* Behind what the length says: the request's service, by which a shared address finds its process (kald_steer.c). */
		wire_store_be64(mad.rej.info + sizeof(conn->cm->config.guid), conn->service_id);
	} else if (reason == VRC_REJ_BAD_GID) {
		mad.rej.info_len = VRC_GID_SIZE;
		vrc_gid_of_addr(&conn->path.local, mad.rej.info);
	}
	private_put(&mad, 0, in->pdata, in->pdata_len);
	keep(conn, &mad);
}

void
vrc_compose_sidr_req(struct vrc_conn *conn, const struct vrc_params *params)
{
	struct vrc_mad mad = mad_of(conn, VRC_SIDR_REQ);

	mad.sidr_req = (struct vrc_mad_sidr_req){.pkey = PKEY, .service_id = conn->service_id};
	private_of_service(conn, &mad, params);
	keep(conn, &mad);
}

void
vrc_compose_sidr_rep(struct vrc_conn *conn, const struct ri_service_answer *answer)
{
	struct vrc_mad mad = mad_of(conn, VRC_SIDR_REP);

	mad.local_id = conn->remote_id; /* the request's */
	mad.sidr_rep = (struct vrc_mad_sidr_rep){.service_id = conn->service_id};
	mad.sidr_rep.status = vrc_sidr_of_service_status(answer->status);
	if (answer->status == RI_SERVICE_FOUND) {
		mad.sidr_rep.qpn = answer->qpn;
		mad.sidr_rep.qkey = answer->qkey;
	}
	private_put(&mad, 0, answer->pdata, answer->pdata_len);
	keep(conn, &mad);
}

void
vrc_send_mra(struct vrc_conn *conn, enum vrc_about about)
{
	struct vrc_mad mad = mad_of(conn, VRC_MRA);

	mad.mra = (struct vrc_mad_mra){.about = (uint8_t)about, .timeout = MRA_TIME};
	vrc_send_mad(conn->cm, &conn->path, &mad);
}

void
vrc_send_rej(struct vrc_cm *cm, const struct vrc_path *path, const struct vrc_mad *about,
	     const struct vrc_mad_rej *rej)
{
	struct vrc_mad mad = {
		.attribute = VRC_REJ, .tid = about->tid, .remote_id = about->local_id};

	mad.rej = *rej;
	vrc_send_mad(cm, path, &mad);
}
