/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Queue pairs, RC and UC, that an application brings up itself from attributes that it has exchanged [RI 11.6.4]. Control path.
 *
 *     receive:  INIT to RTR of the device;  IDLE to CONNECTING: receives complete, requests are refused
 *     send:     RTR to RTS;                 CONNECTING to RTS
 *
 * The connection manager does not know such a queue pair: ri_uqp::bare is set from the first call until it is in IDLE
 * again. Its end is reported by one asynchronous event, as for a queue pair for datagrams.
 *
 * On RoCE the kernel finds the neighbour while it moves the queue pair, which may take a second; so no lock is owned
 * across the moves.
 */
#include "vib_peer.h"

#include <errno.h>

#include "vib_ah.h"
#include "vib_cq.h"
#include "vib_number.h"
#include "vib_objects.h"
#include "vib_profile.h"
#include "vib_qp_end.h"

/* The code of a packet's size; 0: no code exists for it. */
static enum ibv_mtu
mtu_of(uint32_t octets)
{
	for (unsigned code = IBV_MTU_256; code <= IBV_MTU_4096; code++) {
		if (octets == 128u << code)
			return (enum ibv_mtu)code;
	}
	return (enum ibv_mtu)0;
}

/* Move the device's queue pair. What the device is given is within the ranges of the interface. */
static enum ri_status
device_move(struct vib_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	const struct ri_rnic *rnic = qp->pd->context->rnic;
	int error = ibv_modify_qp(qp->user.qp, attr, mask | IBV_QP_STATE);

	if (error == 0)
		return RI_SUCCESS;
	vib_log_qp(qp, RI_LOG_INFO, "the device does not move the queue pair to %s: %s",
		   attr->qp_state == IBV_QPS_RTS ? "RTS" : "RTR", ri_errno_text(error));
	if (atomic_load(&rnic->failed))
		return RI_ERR_FATAL;
	switch (error) {
	case ENOMEM:
	case EAGAIN:
		return RI_ERR_RESOURCES;
	case ETIMEDOUT:
	case EHOSTUNREACH:
	case ENETUNREACH:
	case EADDRNOTAVAIL:
	case ENODATA:
	case ENOENT:
		return RI_ERR_NO_ROUTE;
	default:
		return vib_failure(rnic, error);
	}
}

static enum ri_status
peer_receive(struct ri_qp *ri, const struct ri_peer *peer)
{
	struct vib_qp *qp = (struct vib_qp *)ri;
	const int of_rc = qp->user.uc ? 0 : IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	const struct ri_rnic *rnic = qp->pd->context->rnic;
	struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT,
				   .port_num = (uint8_t)(peer->path.port + 1)};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR,
				   .path_mtu = mtu_of(peer->path_mtu),
				   .dest_qp_num = peer->qpn,
				   .rq_psn = peer->rq_psn,
				   .max_dest_rd_atomic = (uint8_t)peer->ird,
				   .min_rnr_timer = peer->min_rnr_timer};
	enum ri_status status;

	if (qp->user.ud || qp->number || (rnic->attr.cm_forms & RI_CM_PEER) == 0)
		return RI_ERR_UNSUPPORTED;
	if (attr.path_mtu == 0 || peer->qpn > VIB_NUMBER_MAX || peer->rq_psn > VIB_NUMBER_MAX ||
	    peer->min_rnr_timer > 31)
		return RI_ERR_INVALID_ARG;
	if (peer->ird > rnic->attr.max_ird)
		return RI_ERR_LIMIT;
	status = vib_way_fill(rnic, &peer->path, &attr.ah_attr);
	if (status == RI_SUCCESS)
		status = vib_alive(rnic);
	if (status != RI_SUCCESS)
		return status;
	pthread_mutex_lock(&qp->lock);
	status = vib_qp_begin(qp);
	if (status == RI_SUCCESS) {
		qp->user.bare = true;
		vib_peer_name(qp, &peer->path.dest, 0);
	}
	pthread_mutex_unlock(&qp->lock);
	if (status != RI_SUCCESS)
		return status;
	/* The way may lead over another port than that of INIT, which is the first one. */
	if (rnic->attr.num_ports > 1)
		status = vib_qp_device_modify(qp, &init,
					      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
						      IBV_QP_ACCESS_FLAGS);
	if (status == RI_SUCCESS)
		status = device_move(qp, &attr,
				     IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					     of_rc);
	pthread_mutex_lock(&qp->lock);
	if (status == RI_SUCCESS) {
		qp->ird = qp->user.uc ? 0 : peer->ird;
	} else if (qp->state == RI_QPS_CONNECTING) {
		vib_qp_begin_undo(qp);
		qp->user.bare = false;
	}
	pthread_mutex_unlock(&qp->lock);
	if (status == RI_SUCCESS)
		vib_cq_watch(qp->user.recv_cq); /* a receive may fail before the queue pair sends */
	return status;
}

static enum ri_status
peer_send(struct ri_qp *ri, const struct ri_peer *peer)
{
	struct vib_qp *qp = (struct vib_qp *)ri;
	const int of_rc =
		IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	const struct ri_rnic *rnic = qp->pd->context->rnic;
	const uint8_t retries_most = vib_retries_most(rnic->quirk);
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS,
				   .sq_psn = peer->sq_psn,
				   .timeout = peer->timeout,
				   .retry_cnt = peer->retry_count < retries_most ? peer->retry_count
										 : retries_most,
				   .rnr_retry = peer->rnr_retry,
				   .max_rd_atomic = (uint8_t)peer->ord};
	enum ri_status status;
	bool receives;

	if (peer->sq_psn > VIB_NUMBER_MAX || peer->timeout > 31 || peer->retry_count > 7 ||
	    peer->rnr_retry > 7)
		return RI_ERR_INVALID_ARG;
	if (peer->ord > rnic->attr.max_ord)
		return RI_ERR_LIMIT;
	pthread_mutex_lock(&qp->lock);
	receives = qp->user.bare && qp->state == RI_QPS_CONNECTING;
	pthread_mutex_unlock(&qp->lock);
	if (!receives)
		return RI_ERR_INVALID_STATE;
	status = device_move(qp, &attr, IBV_QP_SQ_PSN | (qp->user.uc ? 0 : of_rc));
	if (status != RI_SUCCESS)
		return status;
	pthread_mutex_lock(&qp->lock);
	qp->ord = qp->user.uc ? 0 : peer->ord;
	pthread_mutex_unlock(&qp->lock);
	/* An end may have come meanwhile, which is raised. */
	return vib_qp_run(qp) ? RI_SUCCESS : RI_ERR_INVALID_STATE;
}

const struct ri_peer_ops vib_peer_ops = {
	.size = sizeof(struct ri_peer_ops),
	.receive = peer_receive,
	.send = peer_send,
};
