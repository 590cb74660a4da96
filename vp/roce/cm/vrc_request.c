/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Requests of peers: a REQ or a SIDR_REQ is checked in full before anything is allocated for it. A refusal here needs
 * no memory, so each request of a flood costs only one answer.
 */
#include <string.h>

#include "ri_wire.h"
#include "vrc_conn.h"
#include "vrc_ip.h"

#define TRANSPORT_RC  0
#define PKEY_DEFAULT  0x7fff /* without the bit of full membership */
#define REMEMBER_TIME 20     /* code: for a query, whose message has no times */

/* --- checks ---------------------------------------------------------------------------------- */

static void
refuse_with_gid(struct vrc_mad_rej *rej, const struct vrc_path *path)
{
	rej->reason = VRC_REJ_BAD_GID;
	rej->info_len = VRC_GID_SIZE;
	vrc_gid_of_addr(&path->local, rej->info);
}

static bool
gid_is(const uint8_t gid[VRC_GID_SIZE], const struct ri_addr *addr)
{
	uint8_t want[VRC_GID_SIZE];

	vrc_gid_of_addr(addr, want);
	return memcmp(gid, want, sizeof(want)) == 0;
}

/*
 * Check the header of an IP service. Its addresses must be those of the datagram; otherwise a peer
 * could have data sent to a third party.
 */
static bool
header_fits(const struct vrc_mad *mad, uint64_t service_id, bool datagram,
	    const struct vrc_path *path, struct vrc_ip_header *header)
{
	*header = (struct vrc_ip_header){0};
	if (!vrc_service_is_port(service_id, datagram))
		return true;
	return vrc_ip_header_read(mad->private_data, VRC_IP_HEADER_SIZE, header) &&
	       vrc_addr_same(&header->source, &path->peer) &&
	       vrc_addr_same(&header->dest, &path->local);
}

/* False: *rej says why. */
static bool
req_is_good(const struct vrc_cm *cm, const struct vrc_path *path, const struct vrc_mad *mad,
	    struct vrc_ip_header *header, struct vrc_mad_rej *rej)
{
	const struct vrc_mad_req *req = &mad->req;
	uint8_t mtu = vrc_mtu_code(cm->config.path_mtu);

	*rej = (struct vrc_mad_rej){.about = VRC_ABOUT_REQ};
	if (req->transport != TRANSPORT_RC) {
		rej->reason = VRC_REJ_BAD_TRANSPORT;
	} else if (req->mtu == 0 || req->mtu > mtu) {
		rej->reason = VRC_REJ_BAD_MTU;
		rej->info_len = 1;
		rej->info[0] = mtu;
	} else if (!gid_is(req->primary.remote_gid, &path->local) ||
		   !gid_is(req->primary.local_gid, &path->peer)) {
		refuse_with_gid(rej, path);
	} else if ((req->pkey & PKEY_DEFAULT) != PKEY_DEFAULT ||
		   !header_fits(mad, req->service_id, false, path, header)) {
		rej->reason = VRC_REJ_UNSUPPORTED;
	}
	return rej->reason == 0;
}

/* --- both kinds ------------------------------------------------------------------------------ */

static bool
has_room(const struct vrc_cm *cm, const struct vrc_listen *listen)
{
	return listen->waiting < listen->backlog && cm->counts.requests < cm->config.max_requests;
}

/* A request for a listener; NULL: no memory, or too many exchanges. */
static struct vrc_conn *
request_new(struct vrc_cm *cm, const struct vrc_path *path, const struct vrc_mad *mad,
	    struct vrc_listen *listen, const struct vrc_ip_header *header)
{
	struct vrc_conn *conn = vrc_conn_new(cm, path);

	if (conn == NULL)
		return NULL;
	conn->ctx = listen->ctx;
	conn->listen = listen;
	conn->owner = listen->owner;
	conn->service = listen->service;
	conn->service.local_port = wire_swap16(header->port);
	conn->remote_id = mad->local_id;
	conn->tid = mad->tid;
	conn->peer_time = REMEMBER_TIME;
	conn->counted = true;
	cm->counts.requests++;
	listen->waiting++;
	vrc_conn_peer_known(conn);
	return conn;
}

static void
reject(struct vrc_cm *cm, const struct vrc_path *path, const struct vrc_mad *mad,
       struct vrc_mad_rej *rej, uint16_t reason)
{
	if (reason != 0)
		*rej = (struct vrc_mad_rej){.about = VRC_ABOUT_REQ, .reason = reason};
	cm->counts.rejected++;
	vrc_send_rej(cm, path, mad, rej);
}

/* --- connections ----------------------------------------------------------------------------- */

/* What the queue pair of this side will need. */
static void
reach_take(struct vrc_conn *conn, const struct vrc_mad_req *req)
{
	conn->guid = req->guid;
	conn->srq = req->srq;
	conn->peer_time = req->remote_timeout;
	conn->peer_retries = req->cm_retries;
	conn->peer_ird = req->responder_depth;
	conn->peer_ord = req->initiator_depth;
	conn->reach = (struct ri_peer){
		.path = {.port = conn->path.port,
			 .dest = conn->path.peer,
			 .source = conn->path.local,
			 .hop_limit = req->primary.hop_limit,
			 .traffic_class = req->primary.traffic_class,
			 .flow_label = req->primary.flow_label},
		.qpn = req->qpn,
		.path_mtu = 128u << req->mtu,
		.ird = req->initiator_depth,
		.min_rnr_timer = VRC_RNR_TIMER,
		.sq_psn = req->psn,
		.ord = req->responder_depth,
		.timeout = vrc_ack_time(req->primary.ack_timeout),
		.retry_count = req->retry_count,
		.rnr_retry = req->rnr_retry,
	};
	vrc_random(conn->cm, &conn->reach.rq_psn, sizeof(conn->reach.rq_psn));
	conn->reach.rq_psn &= 0xffffff;
}

/* The peer has begun anew with a queue pair of an exchange that still exists here: both end. */
static bool
is_stale(struct vrc_cm *cm, const struct vrc_path *path, const struct vrc_mad *mad)
{
	const struct vrc_input none = {0};
	struct vrc_conn *old = vrc_find_qp(cm, mad->req.qpn, mad->req.guid, path);

	if (old == NULL)
		return false;
	(void)vrc_step(old, VRC_STEP_STALE, &none);
	return true;
}

static void
decide(struct vrc_cm *cm, const struct vrc_path *path, const struct vrc_mad *mad, bool may_wait)
{
	const struct vrc_input in = {.mad = mad};
	struct vrc_conn *known = vrc_find_peer(cm, mad->local_id, false, path);
	struct vrc_ip_header header = {0};
	struct vrc_mad_rej rej;

	if (known != NULL && known->tid == mad->tid) {
		(void)vrc_step(known, VRC_STEP_REQ, &in);
		return;
	}
	if (!req_is_good(cm, path, mad, &header, &rej)) {
		reject(cm, path, mad, &rej, 0);
		return;
	}
	struct vrc_listen *listen = vrc_listen_find(cm, mad->req.service_id, false);
	if (listen == NULL) {
		if (!may_wait || !vrc_held_take(cm, path, mad))
			reject(cm, path, mad, &rej, VRC_REJ_NO_SERVICE);
		return;
	}
	if (known != NULL || is_stale(cm, path, mad)) {
		reject(cm, path, mad, &rej, VRC_REJ_STALE);
		return;
	}
	struct vrc_conn *conn =
		has_room(cm, listen) ? request_new(cm, path, mad, listen, &header) : NULL;
	if (conn == NULL) {
		reject(cm, path, mad, &rej, VRC_REJ_NO_RESOURCES);
		return;
	}
	conn->service_id = mad->req.service_id;
	reach_take(conn, &mad->req);
	vrc_conn_qp_known(conn);
	(void)vrc_step(conn, VRC_STEP_REQ, &in);
}

void
vrc_request_receive(struct vrc_cm *cm, const struct vrc_path *path, const struct vrc_mad *mad)
{
	decide(cm, path, mad, true);
}

void
vrc_request_decide(struct vrc_cm *cm, const struct vrc_path *path, const struct vrc_mad *mad)
{
	decide(cm, path, mad, false);
}

/* --- queries --------------------------------------------------------------------------------- */

static void
query_refuse(struct vrc_cm *cm, const struct vrc_path *path, const struct vrc_mad *asked,
	     enum vrc_sidr_status status)
{
	struct vrc_mad mad = {
		.attribute = VRC_SIDR_REP, .tid = asked->tid, .local_id = asked->local_id};

	mad.sidr_rep = (struct vrc_mad_sidr_rep){.status = (uint8_t)status,
						 .service_id = asked->sidr_req.service_id};
	cm->counts.rejected++;
	vrc_send_mad(cm, path, &mad);
}

void
vrc_query_receive(struct vrc_cm *cm, const struct vrc_path *path, const struct vrc_mad *mad)
{
	const struct vrc_input in = {.mad = mad};
	uint64_t service_id = mad->sidr_req.service_id;
	struct vrc_conn *conn = vrc_find_peer(cm, mad->local_id, true, path);
	struct vrc_ip_header header;

	if (conn != NULL) {
		if (conn->tid == mad->tid)
			(void)vrc_step(conn, VRC_STEP_SIDR_REQ, &in);
		return;
	}
	struct vrc_listen *listen = vrc_listen_find(cm, service_id, true);
	if (listen == NULL) {
		query_refuse(cm, path, mad, VRC_SIDR_NO_SERVICE);
		return;
	}
	if (!header_fits(mad, service_id, true, path, &header) ||
	    (mad->sidr_req.pkey & PKEY_DEFAULT) != PKEY_DEFAULT) {
		query_refuse(cm, path, mad, VRC_SIDR_REJECTED);
		return;
	}
	if (has_room(cm, listen))
		conn = request_new(cm, path, mad, listen, &header);
	if (conn == NULL) {
		query_refuse(cm, path, mad, VRC_SIDR_REJECTED);
		return;
	}
	conn->datagram = true;
	conn->service_id = service_id;
	(void)vrc_step(conn, VRC_STEP_SIDR_REQ, &in);
}
