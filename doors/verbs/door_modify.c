/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * ibv_modify_qp and ibv_query_qp.
 *
 * A program that connects queue pairs by itself brings RESET to INIT to RTR to RTS. Here RESET and
 * INIT are IDLE of RNIC-PI, RTR is ri_peer_ops::receive and RTS is ri_peer_ops::send. The
 * provider's queue pair for datagrams runs from its creation on; the state of verbs only decides
 * whether posts are accepted.
 *
 * If rdma_cm connects the queue pair, librdmacm asks rdma_init_qp_attr() for the attributes of each
 * move and passes them to ibv_modify_qp(). The door returns the state and the rights for INIT and
 * RTR, and no attributes for RTS. The real moves are made by the connection. Such a queue pair is
 * recognised by its first move, to INIT without a port, which only librdmacm makes.
 */
#include <errno.h>

#include <glib.h>

#include "door_ah.h"
#include "door_export.h"
#include "door_qp.h"
#include "door_states.h"
#include "session_cancel.h"

#define NUMBER_MASK   0xffffffu /* of queue pairs and packets */
#define RD_ATOMIC_MAX 128
#define CODE_MAX      31 /* of times */
#define RETRY_MAX     7
#define FLUSH_NS      UINT64_C(5000000000) /* a reset waits that long for what was posted */
#define BY_CM_MASK    (IBV_QP_STATE | IBV_QP_ACCESS_FLAGS)
/* What INIT_QP_ATTR says of the peer beside that, for ibv_query_qp(). */
#define OF_PEER_RTR                                                      \
	(IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | \
	 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define OF_PEER_RTS                                                             \
	(IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | \
	 IBV_QP_MAX_QP_RD_ATOMIC)
/* What a program may name beside the masks that it was given. */
#define MORE_RTR (BY_CM_MASK | OF_PEER_RTR | IBV_QP_PKEY_INDEX)
#define MORE_RTS (BY_CM_MASK | OF_PEER_RTS | IBV_QP_CUR_STATE | IBV_QP_MIN_RNR_TIMER)

/* --- calls of the kAL --------------------------------------------------------------------------------------- */

static int
provider_modify(struct door_qp *qp, uint32_t mask, const struct ri_qp_attr *attr)
{
	const struct kal_qp_modify_req req = {.id = qp->id, .mask = mask, .attr = *attr};

	return door_call(qp->adapter, KAL_QP_MODIFY, &req, sizeof(req), NULL, 0);
}

static int
provider_query(struct door_qp *qp, struct ri_qp_attr *attr)
{
	const struct kal_id_req req = {.id = qp->id};

	return door_call(qp->adapter, KAL_QP_QUERY, &req, sizeof(req), attr, sizeof(*attr));
}

/* Let the engine and the events of the adapter proceed. */
static void
let_proceed(struct door_qp *qp, uint32_t round)
{
	struct session *session = &qp->adapter->session;

	if (session->attr.software)
		(void)session_progress(session, 16);
	session_settle(session);
	session_relax(session, round);
}

/* Wait until everything that was posted is completed. */
static void
wait_quiet(struct door_qp *qp)
{
	const uint64_t end = session_now(&qp->adapter->session) + FLUSH_NS;
	struct ri_qp_attr attr = {.quiescent = true};

	for (uint32_t round = 0; provider_query(qp, &attr) == 0 && !attr.quiescent &&
				 session_now(&qp->adapter->session) < end;
	     round++)
		let_proceed(qp, round);
}

/* --- moves -------------------------------------------------------------------------------------------------- */

/* The last receive of a shared queue is known when nothing is under way any more; only then is the event due. */
static int
to_error(struct door_qp *qp)
{
	const struct ri_qp_attr attr = {.state = RI_QPS_ERROR};
	int error = provider_modify(qp, RI_QP_ATTR_STATE, &attr);

	if (error != 0)
		return error;
	if (qp->srq != NULL)
		wait_quiet(qp);
	session_settle(&qp->adapter->session);
	pthread_mutex_lock(&qp->adapter->slots.lock);
	door_qp_ended(qp);
	pthread_mutex_unlock(&qp->adapter->slots.lock);
	return 0;
}

/* What was posted is gone without completions, and completions that the program has not polled are, too. */
static int
to_reset(struct door_qp *qp)
{
	const struct ri_qp_attr failed = {.state = RI_QPS_ERROR};
	const struct ri_qp_attr idle = {.state = RI_QPS_IDLE, .skip_time_wait = true};
	const uint64_t end = session_now(&qp->adapter->session) + FLUSH_NS;
	int error;

	if (!qp->adapter->session.attr.qp_reusable)
		return EOPNOTSUPP;
	error = provider_modify(qp, RI_QP_ATTR_STATE, &failed);
	if (error != 0)
		return error;
	for (uint32_t round = 0; (error = provider_modify(qp, RI_QP_ATTR_STATE, &idle)) == EBUSY &&
				 session_now(&qp->adapter->session) < end;
	     round++)
		let_proceed(qp, round);
	if (error == 0)
		error = door_cq_drop(qp->send_cq, qp->ctx);
	if (error == 0 && qp->recv_cq != qp->send_cq)
		error = door_cq_drop(qp->recv_cq, qp->ctx);
	if (error != 0)
		return error;
	pthread_mutex_lock(&qp->adapter->slots.lock);
	qp->last_wqe_due = qp->srq != NULL && !qp->adapter->session.attr.last_wqe_event;
	pthread_mutex_unlock(&qp->adapter->slots.lock);
	qp->by_cm = false;
	return 0;
}

static uint32_t
octets_of(enum ibv_mtu mtu)
{
	return 128u << mtu;
}

static int
to_rtr(struct door_qp *qp, const struct ibv_qp_attr *attr)
{
	struct kal_peer_req req = {.qp = qp->id,
				   .peer = {.qpn = attr->dest_qp_num & NUMBER_MASK,
					    .rq_psn = attr->rq_psn & NUMBER_MASK,
					    .path_mtu = octets_of(attr->path_mtu)}};
	int error = door_ah_path(qp->adapter, &attr->ah_attr, &req.peer.path);

	if (error != 0)
		return error;
	if (qp->qp.qp_type == IBV_QPT_RC) {
		req.peer.ird = attr->max_dest_rd_atomic;
		req.peer.min_rnr_timer = attr->min_rnr_timer;
	}
	return door_call(qp->adapter, KAL_PEER, &req, sizeof(req), NULL, 0);
}

static int
to_rts(struct door_qp *qp, const struct ibv_qp_attr *attr)
{
	struct kal_peer_req req = {
		.qp = qp->id, .send = 1, .peer = {.sq_psn = attr->sq_psn & NUMBER_MASK}};

	if (qp->qp.qp_type == IBV_QPT_RC) {
		req.peer.ord = attr->max_rd_atomic;
		req.peer.timeout = attr->timeout;
		req.peer.retry_count = attr->retry_cnt;
		req.peer.rnr_retry = attr->rnr_retry;
	}
	return door_call(qp->adapter, KAL_PEER, &req, sizeof(req), NULL, 0);
}

/* Rights and the Q_Key take effect at once. */
static int
apply(struct door_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	const struct ri_rnic_attr *can = &qp->adapter->session.attr;
	struct ri_qp_attr next = {.access = door_access(attr->qp_access_flags) &
					    ~(uint32_t)RI_ACCESS_LOCAL_WRITE,
				  .qkey = attr->qkey};
	uint32_t bits = 0;
	int error;

	next.access |= RI_ACCESS_BIND;
	/* As the kernel's rdma_cm does on InfiniBand: who may read may do atomics. */
	if (qp->by_cm && can->atomics && (next.access & RI_ACCESS_REMOTE_READ) != 0)
		next.access |= RI_ACCESS_REMOTE_ATOMIC;
	if (!can->atomics)
		next.access &= ~(uint32_t)RI_ACCESS_REMOTE_ATOMIC;
	if ((mask & IBV_QP_ACCESS_FLAGS) != 0 && can->enables_modifiable)
		bits |= RI_QP_ATTR_ACCESS;
	if ((mask & IBV_QP_QKEY) != 0)
		bits |= RI_QP_ATTR_QKEY;
	if (bits == 0)
		return 0;
	error = provider_modify(qp, bits, &next);
	if (error == 0 && (mask & IBV_QP_QKEY) != 0)
		atomic_store(&qp->qkey, attr->qkey);
	return error;
}

/* --- checks -------------------------------------------------------------------------------------------------- */

/* Queue pairs of other devices connect only by rdma_cm. */
static int
refuse_peer(const struct door_qp *qp)
{
	static atomic_flag once = ATOMIC_FLAG_INIT;

	door_refuse(&once,
		    "%s connects queue pairs by rdma_cm only, not by ibv_modify_qp(); "
		    "many programs have an option for that, such as -R of perftest",
		    qp->adapter->device->device.name);
	return EOPNOTSUPP;
}

/* Sends cannot be held back here. For iWARP the move means that a disconnect follows. */
static int
to_sqd(const struct door_qp *qp)
{
	static atomic_flag once = ATOMIC_FLAG_INIT;

	if (qp->adapter->session.attr.transport == RI_TRANSPORT_IWARP)
		return 0;
	door_refuse(&once, "%s cannot hold sends back, so no queue pair goes to SQD",
		    qp->adapter->device->device.name);
	return EOPNOTSUPP;
}

static bool
depths_fit(const struct door_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	const struct ri_rnic_attr *can = &qp->adapter->session.attr;

	return ((mask & IBV_QP_MAX_QP_RD_ATOMIC) == 0 ||
		attr->max_rd_atomic <= MIN(can->max_ord, RD_ATOMIC_MAX)) &&
	       ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) == 0 ||
		attr->max_dest_rd_atomic <= MIN(can->max_ird, RD_ATOMIC_MAX));
}

/* 0, or the errno for values that the move's attributes cannot have. */
static int
values_check(const struct door_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	const unsigned rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
				IBV_ACCESS_MW_BIND;
	uint32_t ports = qp->adapter->session.attr.num_ports;

	if ((mask & IBV_QP_ALT_PATH) != 0 ||
	    ((mask & IBV_QP_PATH_MIG_STATE) != 0 && attr->path_mig_state != IBV_MIG_MIGRATED))
		return EOPNOTSUPP;
	if (((mask & IBV_QP_PORT) != 0 && (attr->port_num < 1 || attr->port_num > ports)) ||
	    ((mask & IBV_QP_PKEY_INDEX) != 0 && attr->pkey_index != 0) ||
	    ((mask & IBV_QP_ACCESS_FLAGS) != 0 && (attr->qp_access_flags & ~rights) != 0))
		return EINVAL;
	if (((mask & IBV_QP_PATH_MTU) != 0 &&
	     (attr->path_mtu < IBV_MTU_256 || attr->path_mtu > IBV_MTU_4096)) ||
	    !depths_fit(qp, attr, mask))
		return EINVAL;
	if (((mask & IBV_QP_MIN_RNR_TIMER) != 0 && attr->min_rnr_timer > CODE_MAX) ||
	    ((mask & IBV_QP_TIMEOUT) != 0 && attr->timeout > CODE_MAX) ||
	    ((mask & IBV_QP_RETRY_CNT) != 0 && attr->retry_cnt > RETRY_MAX) ||
	    ((mask & IBV_QP_RNR_RETRY) != 0 && attr->rnr_retry > RETRY_MAX))
		return EINVAL;
	/* The state that the program believes in is the one that counts, if it is right. */
	if ((mask & IBV_QP_CUR_STATE) != 0 && attr->cur_qp_state != atomic_load(&qp->state))
		return EINVAL;
	return 0;
}

/* --- what programs call ---------------------------------------------------------------------------------------- */

/* Keep the attributes that a query returns. */
static void
remember(struct ibv_qp_attr *to, const struct ibv_qp_attr *from, int mask)
{
	if ((mask & IBV_QP_ACCESS_FLAGS) != 0)
		to->qp_access_flags = from->qp_access_flags;
	if ((mask & IBV_QP_PKEY_INDEX) != 0)
		to->pkey_index = from->pkey_index;
	if ((mask & IBV_QP_PORT) != 0)
		to->port_num = from->port_num;
	if ((mask & IBV_QP_QKEY) != 0)
		to->qkey = from->qkey;
	if ((mask & IBV_QP_AV) != 0)
		to->ah_attr = from->ah_attr;
	if ((mask & IBV_QP_PATH_MTU) != 0)
		to->path_mtu = from->path_mtu;
	if ((mask & IBV_QP_DEST_QPN) != 0)
		to->dest_qp_num = from->dest_qp_num & NUMBER_MASK;
	if ((mask & IBV_QP_RQ_PSN) != 0)
		to->rq_psn = from->rq_psn & NUMBER_MASK;
	if ((mask & IBV_QP_SQ_PSN) != 0)
		to->sq_psn = from->sq_psn & NUMBER_MASK;
	if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0)
		to->max_rd_atomic = from->max_rd_atomic;
	if ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) != 0)
		to->max_dest_rd_atomic = from->max_dest_rd_atomic;
	if ((mask & IBV_QP_MIN_RNR_TIMER) != 0)
		to->min_rnr_timer = from->min_rnr_timer;
	if ((mask & IBV_QP_TIMEOUT) != 0)
		to->timeout = from->timeout;
	if ((mask & IBV_QP_RETRY_CNT) != 0)
		to->retry_cnt = from->retry_cnt;
	if ((mask & IBV_QP_RNR_RETRY) != 0)
		to->rnr_retry = from->rnr_retry;
}

/* An event of the other side may have moved it meanwhile: an end counts more than what the program wants. */
static void
state_set(struct door_qp *qp, enum ibv_qp_state from, enum ibv_qp_state to)
{
	unsigned seen = from;

	if (to == IBV_QPS_RESET)
		atomic_store(&qp->state, door_qp_first_state(qp->adapter));
	else if (to == IBV_QPS_ERR)
		atomic_store(&qp->state, to);
	else
		(void)atomic_compare_exchange_strong(&qp->state, &seen, to);
	qp->qp.state = (enum ibv_qp_state)atomic_load(&qp->state);
}

/* Is it librdmacm that brings a queue pair up? Then the kAL makes the moves. */
static bool
is_by_cm(const struct door_qp *qp, enum ibv_qp_state from, enum ibv_qp_state to, int mask)
{
	if (qp->qp.qp_type == IBV_QPT_UD)
		return false;
	/* A program may have made the first move by itself, without the masks of rdma_cm. */
	if (!qp->by_cm)
		return mask == BY_CM_MASK &&
		       ((from == door_qp_first_state(qp->adapter) && to == IBV_QPS_INIT) ||
			(from == IBV_QPS_INIT && to == IBV_QPS_RTR &&
			 atomic_load(&qp->adapter->by_cm)));
	if (mask == 0)
		return true;
	/* A program may name more than it was given, such as a time-out of its own; the connection is made all the same. */
	if (from == IBV_QPS_RTR)
		return (mask & ~MORE_RTS) == 0 &&
		       (to == IBV_QPS_RTS ||
			((mask & IBV_QP_STATE) == 0 && (mask & OF_PEER_RTS) != 0));
	return (mask & BY_CM_MASK) == BY_CM_MASK && (mask & ~MORE_RTR) == 0 &&
	       from == IBV_QPS_INIT && (to == IBV_QPS_INIT || to == IBV_QPS_RTR);
}

static int
modify_by_cm(struct door_qp *qp, enum ibv_qp_state from, enum ibv_qp_state to,
	     const struct ibv_qp_attr *attr, int mask)
{
	const bool before = qp->by_cm;
	int error;

	qp->by_cm = true;
	error = values_check(qp, attr, mask);
	if (error == 0)
		error = apply(qp, attr, mask);
	if (error != 0) {
		qp->by_cm = before; /* the program may go another way now */
		return error;
	}
	if (mask == 0 || from == IBV_QPS_RTR)
		remember(&qp->attr, attr, mask | OF_PEER_RTS);
	else
		remember(&qp->attr, attr, to == IBV_QPS_RTR ? mask | OF_PEER_RTR : mask);
	/* It says nothing of the last move but that it is due. */
	state_set(qp, from, from == IBV_QPS_RTR ? IBV_QPS_RTS : to);
	return 0;
}

static int
move(struct door_qp *qp, enum ibv_qp_state from, enum ibv_qp_state to,
     const struct ibv_qp_attr *attr)
{
	const struct ri_rnic_attr *can = &qp->adapter->session.attr;
	bool connects = qp->qp.qp_type != IBV_QPT_UD;

	if (to == IBV_QPS_RESET)
		return to_reset(qp);
	if (to == IBV_QPS_ERR)
		return to_error(qp);
	if (to == IBV_QPS_RTR && connects)
		return (can->cm_forms & RI_CM_PEER) != 0 ? to_rtr(qp, attr) : refuse_peer(qp);
	if (to == IBV_QPS_RTS && from == IBV_QPS_RTR && connects)
		return to_rts(qp, attr);
	if (to == IBV_QPS_SQD && from == IBV_QPS_RTS)
		return to_sqd(qp);
	return 0;
}

/* librdmacm begins a disconnect of iWARP with a move to SQD, also when the other side has ended the connection already. */
static bool
is_late_disconnect(const struct door_qp *qp, enum ibv_qp_state from, enum ibv_qp_state to, int mask)
{
	return qp->by_cm && qp->adapter->session.attr.transport == RI_TRANSPORT_IWARP &&
	       from == IBV_QPS_ERR && to == IBV_QPS_SQD && mask == IBV_QP_STATE;
}

static int
modify(struct door_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	enum ibv_qp_state from = (enum ibv_qp_state)atomic_load(&qp->state);
	enum ibv_qp_state to = (mask & IBV_QP_STATE) != 0 ? attr->qp_state : from;
	int error;

	if (is_by_cm(qp, from, to, mask))
		return modify_by_cm(qp, from, to, attr, mask);
	if (is_late_disconnect(qp, from, to, mask))
		return 0;
	if (!door_states_allow(qp->qp.qp_type, from, to, mask))
		return EINVAL;
	error = values_check(qp, attr, mask);
	if (error == 0)
		error = apply(qp, attr, mask);
	if (error != 0)
		return error;
	error = move(qp, from, to, attr);
	if (error != 0) {
		/* A call that fails changes nothing. */
		(void)!apply(qp, &qp->attr, mask);
		return error;
	}
	remember(&qp->attr, attr, mask);
	state_set(qp, from, to);
	return 0;
}

EXPORT int
ibv_modify_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int mask)
{
	struct door_qp *qp = door_qp_of(ibv);
	int error;
	SESSION_DEFER;

	if (qp->adapter->inherited)
		return EIO;
	pthread_mutex_lock(&qp->control);
	error = modify(qp, attr, mask);
	pthread_mutex_unlock(&qp->control);
	return error;
}

/* Return all attributes, whatever the mask says, as drivers do. */
EXPORT int
ibv_query_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init)
{
	struct door_qp *qp = door_qp_of(ibv);
	struct ri_qp_attr now;
	int error;
	SESSION_DEFER;

	(void)mask;
	pthread_mutex_lock(&qp->control);
	error = provider_query(qp, &now);
	if (error == 0) {
		if (now.state == RI_QPS_ERROR)
			atomic_store(&qp->state, IBV_QPS_ERR);
		ibv->state = (enum ibv_qp_state)atomic_load(&qp->state);
		*attr = qp->attr;
		attr->qp_state = attr->cur_qp_state = ibv->state;
		attr->cap = qp->cap;
	}
	pthread_mutex_unlock(&qp->control);
	if (error != 0)
		return error;
	*init = (struct ibv_qp_init_attr){.qp_context = ibv->qp_context,
					  .send_cq = ibv->send_cq,
					  .recv_cq = ibv->recv_cq,
					  .srq = ibv->srq,
					  .cap = qp->cap,
					  .qp_type = ibv->qp_type,
					  .sq_sig_all = qp->sig_all};
	return 0;
}
