/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Queue pairs: the control verbs, and connections by attributes [RI 11.6.4]. A verb waits for the role
 * of the station (vro_station.h), and changes the queue pair while it holds the role. The station's
 * task then sends or flushes what the change requires.
 */
#include "vro_verbs.h"

#include <stdlib.h>
#include <string.h>

#include "vro_tap.h"

#define NUMBER_MAX 0xffffffu

static struct vro_verbs_qp *
qp_of(struct ri_qp *qp)
{
	return (struct vro_verbs_qp *)qp;
}

/* --- bells and timers ---------------------------------------------------------------------- */

void
vro_bell_sq(void *engine_qp)
{
	struct vro_verbs_qp *qp = engine_qp;

	vro_kick(qp);
	vro_station_posted(qp->rnic->station);
}

/* The head was stored sequentially consistent, and the state is written before the queue is flushed. */
void
vro_bell_rq(void *engine_qp)
{
	struct vro_verbs_qp *qp = engine_qp;

	if (atomic_load(&qp->qp.state) != VRO_ERROR)
		return;
	vro_kick(qp);
	vro_station_run(qp->rnic->station);
}

void
vro_bell_bind(void *engine_qp, struct ri_wr_bind *bind, uint32_t *stag)
{
	const struct vro_verbs_qp *qp = engine_qp;

	vsw_mw_key(qp->rnic->mem, bind, stag);
}

/* A packet may come to a queue pair as soon as it has a number, so the engine may be at its counters already. */
uint32_t
vro_bell_count(void *engine_qp, struct ri_qp_counters *counters)
{
	struct vro_verbs_qp *qp = engine_qp;

	vro_station_enter(qp->rnic->station);
	qp->qp.count = counters;
	vro_station_leave(qp->rnic->station);
	return RI_COUNTED_FRAMES | RI_COUNTED_CRC | RI_COUNTED_RETRIES;
}

static void
timer_fire(void *arg)
{
	struct vro_verbs_qp *qp = arg;

	atomic_store(&qp->expired, true);
	vro_kick(qp);
	vro_station_run(qp->rnic->station);
}

/* --- what the engine asks -------------------------------------------------------------------- */

static void
engine_failed(struct vro_qp *engine_qp, uint32_t event)
{
	struct vro_verbs_qp *qp = (struct vro_verbs_qp *)(void *)engine_qp;
	const struct ri_upcalls *up = qp->rnic->upcalls;
	const struct ri_async_event end = {
		.event = event != RI_EVENT_NONE ? event : RI_EVENT_QP_CATASTROPHIC,
		.object = RI_OBJECT_QP,
		.ctx = qp->init.ctx};

	vro_tie_break(qp);
	/* The end of a connection by address is an event of its own. */
	if (!qp->tie.rising)
		vro_tap_end(qp, RI_CM_BROKEN);
	if (event != RI_EVENT_NONE || qp->tie.end == RI_CM_NONE)
		up->async_event(up->self, &end);
	vro_tie_flushed(qp);
}

static bool
engine_address(struct vro_qp *engine_qp, uint32_t ah, struct roce_flow *flow)
{
	struct vro_verbs_qp *qp = (struct vro_verbs_qp *)(void *)engine_qp;

	return vro_ah_find(qp->rnic, ah, qp->pd, flow);
}

static void
engine_limits(struct vro_qp *engine_qp)
{
	if (vsw_srq_hard_due(&engine_qp->in.member))
		vro_qp_fail(engine_qp, RI_EVENT_QP_RQ_HARD_LIMIT,
			    "more receives are taken than the hard watermark allows");
}

static void
engine_arrived(struct vro_qp *engine_qp)
{
	vro_tie_arrived((struct vro_verbs_qp *)(void *)engine_qp);
}

/* A connection by address, and one for datagrams, tells its end. */
static void
engine_flushed(struct vro_qp *engine_qp)
{
	struct vro_verbs_qp *qp = (struct vro_verbs_qp *)(void *)engine_qp;

	if (qp->tie.end != RI_CM_NONE && !qp->tie.rising)
		vro_tap_end(qp, qp->tie.end);
	vro_tie_flushed(qp);
	if (!qp->end_due)
		return;
	qp->end_due = false;
	engine_failed(engine_qp, RI_EVENT_NONE);
}

static const struct vro_qp_ops engine_ops = {.failed = engine_failed,
					     .flushed = engine_flushed,
					     .address = engine_address,
					     .arrived = engine_arrived,
					     .limits = engine_limits};

/* --- creation --------------------------------------------------------------------------------- */

static enum ri_status
init_check(const struct vsw_pd *pd, const struct ri_qp_init *init, const struct vsw_srq_object *srq)
{
	struct ri_rnic_attr attr = {.size = sizeof(attr)};

	vro_profile(vro_context_of(pd)->rnic, &attr);
	if (init->type > RI_QP_NUMBER || init->privileged ||
	    (srq != NULL &&
	     (init->soft_limit != 0 || init->type == RI_QP_UD || init->type == RI_QP_NUMBER)))
		return RI_ERR_UNSUPPORTED;
	if (init->type == RI_QP_NUMBER && init->qkey > NUMBER_MAX)
		return RI_ERR_INVALID_ARG;
	if (init->type == RI_QP_UD && init->port != 0)
		return RI_ERR_INVALID_ARG;
	if ((init->qkey & VRO_KEY_CONTROLLED) != 0 && !pd->context->owner.privileged)
		return RI_ERR_PERMISSION;
	if (init->max_sq_wr > attr.max_sq_wr || (srq == NULL && init->max_rq_wr > attr.max_rq_wr) ||
	    init->max_send_sge > attr.max_send_sge || init->max_recv_sge > attr.max_recv_sge ||
	    init->max_write_sge > attr.max_write_sge || init->max_read_sge > attr.max_read_sge ||
	    init->ird > attr.max_ird || init->ord > attr.max_ord ||
	    init->max_inline > attr.max_inline)
		return RI_ERR_LIMIT;
	return RI_SUCCESS;
}

/* A number has queues without a slot: it is flushed and ends as others do, and no packet finds it [RI 10.54]. */
static enum ri_status
queues_create(struct vro_verbs_qp *qp, struct ri_qp_init *init)
{
	uint32_t sges =
		vsw_larger(init->max_send_sge, vsw_larger(init->max_write_sge, init->max_read_sge));
	enum ri_status status =
		vsw_wq_create(&qp->qp.tx.sq, &init->max_sq_wr, sges, init->max_inline);

	if (qp->srq != NULL)
		init->max_rq_wr = 0;
	if (status == RI_SUCCESS)
		status = vsw_rq_create(&qp->qp.in.rq, &init->max_rq_wr,
				       qp->srq != NULL ? 0 : init->max_recv_sge);
	qp->qp.in.wqe = calloc(1, sizeof(struct vsw_wqe) + vsw_wqe_tail(VRO_MAX_SGE, 0));
	if (status == RI_SUCCESS)
		status = qp->qp.in.wqe != NULL ? vro_qp_create(&qp->qp) : RI_ERR_RESOURCES;
	return status;
}

static void
queues_free(struct vro_verbs_qp *qp)
{
	vsw_wq_destroy(&qp->qp.tx.sq);
	vsw_wq_destroy(&qp->qp.in.rq);
	free(qp->qp.in.wqe);
	free(qp);
}

static void
qp_fill(struct vro_verbs_qp *qp, const struct ri_qp_init *init)
{
	struct vro_qp *e = &qp->qp;

	e->engine = &qp->rnic->station->engine;
	e->ops = &engine_ops;
	e->transport = init->type == RI_QP_UD   ? ROCE_UD
		       : init->type == RI_QP_UC ? ROCE_UC
						: ROCE_RC;
	e->privileged = qp->pd->context->owner.privileged;
	e->qkey = init->qkey;
	e->path.mtu = vro_station_mtu(qp->rnic->station);
	e->path.ord = init->ord;
	e->in.mem = qp->rnic->mem;
	e->in.ctx = init->ctx;
	e->in.cq = qp->recv_cq != NULL ? &qp->recv_cq->cq : NULL;
	e->tx.cq = qp->send_cq != NULL ? &qp->send_cq->cq : NULL;
	e->timer = (struct ri_timer){.fire = timer_fire, .arg = qp};
	atomic_store(&e->in.access, init->access);
	atomic_store(&e->in.ird, init->ird);
	atomic_store(&e->state, VRO_INIT);
}

/* 24 bits at random. */
static uint32_t
draw(const struct ri_rnic *rnic)
{
	uint32_t number;

	rnic->host->random(rnic->host->self, &number, sizeof(number));
	return number & NUMBER_MAX;
}

/* Give it a number that no queue pair of the station has, and begin to receive datagrams. In the role. */
static void
qp_enter(struct vro_verbs_qp *qp)
{
	struct vro_station *station = qp->rnic->station;
	struct vro_qp *e = &qp->qp;

	do
		e->qpn = station->slot << RI_SHARE_QPN_SHIFT |
			 (draw(qp->rnic) & ((1u << RI_SHARE_QPN_SHIFT) - 1));
	while (e->qpn < 16 || e->qpn == ROCE_QPN_GROUP ||
	       station->engine.find(&station->engine, e->qpn) != NULL);
	e->in.who = (struct vsw_mem_who){.pd = qp->pd, .qpn = e->qpn};
	e->in.receiver = e->in.who;
	if (qp->srq != NULL)
		e->in.receiver.pd = qp->srq->pd;
	qp->next_row = station->rows[e->qpn % VRO_ROWS];
	station->rows[e->qpn % VRO_ROWS] = qp;
	if (e->transport == ROCE_UD) {
		vro_qp_to_rtr(e, 0);
		vro_qp_to_rts(e, draw(qp->rnic));
	}
}

/* It uses them from now on (1), or not any more (-1). */
static void
cqs_count(const struct vro_verbs_qp *qp, int by)
{
	if (vro_is_number(qp))
		return;
	atomic_fetch_add(&qp->send_cq->cq.users, by);
	atomic_fetch_add(&qp->recv_cq->cq.users, by);
}

static enum ri_status
qp_create(struct ri_pd *ri_pd, struct ri_qp_init *init, struct ri_cq *send_cq,
	  struct ri_cq *recv_cq, struct ri_srq *ri_srq, struct ri_qp **out, struct ri_map *map)
{
	struct vsw_pd *pd = (struct vsw_pd *)ri_pd;
	struct vsw_srq_object *srq = (struct vsw_srq_object *)ri_srq;
	struct ri_context *context = vro_context_of(pd);
	struct ri_rnic *rnic = context->rnic;
	bool number = init->type == RI_QP_NUMBER;
	struct ri_qp_init real = *init;
	enum ri_status status = init_check(pd, init, srq);
	struct vro_verbs_qp *qp = NULL;

	/* From now on its caller can tell a peer where it is. */
	if (status == RI_SUCCESS && vro_station_claim(rnic->station) != RI_SUCCESS)
		status = RI_ERR_RESOURCES;
	if (status != RI_SUCCESS)
		return status;
	for (uint32_t i = 0; init->type == RI_QP_UD && i < rnic->station->num_udps; i++)
		vro_udp_headers(&rnic->station->udps[i]);
	if (!vsw_count_up(&rnic->qps, VRO_MAX_OBJECTS))
		return RI_ERR_RESOURCES;
	if (number)
		real.max_sq_wr = real.max_rq_wr = 0;
	if (posix_memalign((void **)&qp, VSW_CACHE_LINE, sizeof(*qp)) != 0) {
		atomic_fetch_sub(&rnic->qps, 1);
		return RI_ERR_RESOURCES;
	}
	memset(qp, 0, sizeof(*qp));
	qp->rnic = rnic;
	qp->pd = pd;
	qp->send_cq = number ? NULL : (struct vsw_cq_object *)send_cq;
	qp->recv_cq = number ? NULL : (struct vsw_cq_object *)recv_cq;
	qp->srq = srq;
	qp_fill(qp, init);
	status = queues_create(qp, &real);
	if (status != RI_SUCCESS) {
		atomic_fetch_sub(&rnic->qps, 1);
		queues_free(qp);
		return status;
	}
	qp->init = real;
	atomic_fetch_add(&pd->users, 1);
	cqs_count(qp, 1);
	if (srq != NULL)
		vsw_srq_join(&srq->srq, &qp->qp.in.member, &qp->qp.in.rq, &real);
	if (!number) {
		vro_station_enter(rnic->station);
		qp_enter(qp);
		vro_station_leave(rnic->station);
	}
	vsw_context_add(&context->base, &context->qps, &qp->item);
	if (number)
		*map = (struct ri_map){.fd = -1}; /* it has no user half */
	else
		vsw_map_qp(map, &qp->qp.tx.sq, &qp->qp.in.rq, qp, &real);
	*init = real;
	*out = (struct ri_qp *)qp;
	return RI_SUCCESS;
}

/* --- modification and query -------------------------------------------------------------------- */

/* Is all that was posted completed? In the role. */
static bool
is_quiescent(const struct vro_verbs_qp *qp)
{
	const struct vro_qp *e = &qp->qp;

	return vsw_wq_pending(&e->tx.sq) == 0 && vsw_wq_pending(&e->in.rq) == 0 &&
	       e->tx.oldest == e->tx.taken && !atomic_load(&e->in.have);
}

/* ERROR to IDLE, or to RTS for datagrams. In the role. */
static enum ri_status
qp_reset(struct vro_verbs_qp *qp)
{
	struct vro_qp *e = &qp->qp;
	bool ud = e->transport == ROCE_UD;

	if (e->state == (ud ? VRO_RTS : VRO_INIT))
		return RI_SUCCESS;
	if (e->state != VRO_ERROR)
		return RI_ERR_INVALID_STATE;
	if (!is_quiescent(qp) || qp->end_due || qp->tie.phase != VRO_UNTIED ||
	    qp->tie.end != RI_CM_NONE || qp->tie.telling)
		return RI_ERR_STILL_FLUSHING;
	vro_qp_to_reset(e);
	atomic_store(&e->in.ird, qp->init.ird);
	e->path.ord = qp->init.ord;
	atomic_store(&e->state, VRO_INIT);
	if (ud) {
		vro_qp_to_rtr(e, 0);
		vro_qp_to_rts(e, draw(qp->rnic));
	}
	return RI_SUCCESS;
}

static enum ri_status
modify_check(const struct vro_verbs_qp *qp, const struct ri_qp_attr *attr, uint32_t mask)
{
	const uint32_t known = RI_QP_ATTR_STATE | RI_QP_ATTR_ACCESS | RI_QP_ATTR_IRD |
			       RI_QP_ATTR_ORD | RI_QP_ATTR_SOFT | RI_QP_ATTR_HARD | RI_QP_ATTR_QKEY;

	if ((mask & ~known) != 0)
		return RI_ERR_INVALID_ARG;
	if ((mask & RI_QP_ATTR_QKEY) != 0 && qp->qp.transport != ROCE_UD)
		return RI_ERR_UNSUPPORTED;
	if ((mask & RI_QP_ATTR_QKEY) != 0 && (attr->qkey & VRO_KEY_CONTROLLED) != 0 &&
	    !qp->qp.privileged)
		return RI_ERR_PERMISSION;
	if ((mask & (RI_QP_ATTR_SOFT | RI_QP_ATTR_HARD)) != 0 && qp->srq == NULL)
		return RI_ERR_INVALID_ARG;
	if ((mask & RI_QP_ATTR_SOFT) != 0)
		return RI_ERR_UNSUPPORTED;
	if (((mask & RI_QP_ATTR_ORD) != 0 && attr->ord > VRO_MAX_DEPTH) ||
	    ((mask & RI_QP_ATTR_IRD) != 0 && attr->ird > VRO_MAX_DEPTH))
		return RI_ERR_LIMIT;
	return RI_SUCCESS;
}

/* In the role. */
static enum ri_status
state_change(struct vro_verbs_qp *qp, uint32_t state)
{
	if (state == RI_QPS_IDLE)
		return qp_reset(qp);
	if (state == RI_QPS_CLOSING && qp->tie.phase == VRO_TIED)
		return vro_tie_part(qp, NULL, 0);
	if (state != RI_QPS_ERROR)
		return RI_ERR_INVALID_STATE;
	vro_tie_break(qp);
	qp->end_due = qp->qp.transport == ROCE_UD && qp->qp.state != VRO_ERROR;
	vro_qp_to_error(&qp->qp);
	vro_kick(qp);
	return RI_SUCCESS;
}

/* More receives may be taken than the new watermark allows; the station's task looks. */
static void
limits_change(struct vro_verbs_qp *qp, const struct ri_qp_attr *attr, uint32_t mask)
{
	vsw_srq_limits(&qp->qp.in.member, attr, mask);
	atomic_store(&qp->limited, true);
}

static enum ri_status
qp_modify(struct ri_qp *ri, const struct ri_qp_attr *attr, uint32_t mask)
{
	struct vro_verbs_qp *qp = qp_of(ri);
	enum ri_status status = modify_check(qp, attr, mask);

	if (status != RI_SUCCESS)
		return status;
	vro_station_enter(qp->rnic->station);
	if ((mask & RI_QP_ATTR_STATE) != 0)
		status = state_change(qp, attr->state);
	if (status == RI_SUCCESS) {
		if ((mask & RI_QP_ATTR_ACCESS) != 0)
			atomic_store(&qp->qp.in.access, attr->access);
		if ((mask & RI_QP_ATTR_ORD) != 0)
			qp->qp.path.ord = qp->init.ord = attr->ord;
		if ((mask & RI_QP_ATTR_IRD) != 0)
			atomic_store(&qp->qp.in.ird, qp->init.ird = attr->ird);
		if ((mask & RI_QP_ATTR_QKEY) != 0)
			qp->qp.qkey = attr->qkey;
		if ((mask & RI_QP_ATTR_HARD) != 0)
			limits_change(qp, attr, mask);
		vro_kick(qp);
	}
	vro_station_leave(qp->rnic->station);
	return status;
}

static enum ri_status
qp_query(struct ri_qp *ri, struct ri_qp_attr *attr)
{
	static const uint8_t states[] = {[VRO_RESET] = RI_QPS_IDLE,
					 [VRO_INIT] = RI_QPS_IDLE,
					 [VRO_RTR] = RI_QPS_CONNECTING,
					 [VRO_RTS] = RI_QPS_RTS,
					 [VRO_ERROR] = RI_QPS_ERROR};
	struct vro_verbs_qp *qp = qp_of(ri);

	memset(attr, 0, sizeof(*attr));
	vro_station_enter(qp->rnic->station);
	attr->state = vro_tie_state(qp);
	if (attr->state == RI_QPS_NONE)
		attr->state = states[qp->qp.state];
	attr->qpn = vro_wire_number(qp);
	attr->access = atomic_load(&qp->qp.in.access);
	attr->ird = atomic_load(&qp->qp.in.ird);
	attr->ord = qp->qp.path.ord;
	attr->qkey = qp->qp.qkey;
	attr->quiescent = is_quiescent(qp);
	attr->hard_limit = qp->srq != NULL ? atomic_load(&qp->qp.in.member.hard) : UINT32_MAX;
	vro_station_leave(qp->rnic->station);
	attr->max_sq_wr = qp->init.max_sq_wr;
	attr->max_rq_wr = qp->init.max_rq_wr;
	attr->max_send_sge = qp->init.max_send_sge;
	attr->max_recv_sge = qp->init.max_recv_sge;
	attr->max_write_sge = qp->init.max_write_sge;
	attr->max_read_sge = qp->init.max_read_sge;
	return RI_SUCCESS;
}

/* --- destruction -------------------------------------------------------------------------------- */

void
vro_verbs_qp_destroy(struct vro_verbs_qp *qp)
{
	struct vro_station *station = qp->rnic->station;
	struct vro_verbs_qp **at = &station->rows[qp->qp.qpn % VRO_ROWS];

	vsw_context_remove(qp->pd->context, &qp->item);
	vro_tie_leave(qp);
	vro_station_enter(station);
	while (*at != qp && *at != NULL)
		at = &(*at)->next_row;
	if (*at == qp) /* a number is in no row */
		*at = qp->next_row;
	vro_groups_leave(qp);
	vro_peer_leave(qp);
	vro_qp_leave(&qp->qp);
	vro_station_leave(station);
	vro_qp_destroy(&qp->qp); /* its timer does not kick it any more */
	vro_station_enter(station);
	vro_unkick(qp);
	vro_station_leave(station);
	vsw_srq_part(&qp->qp.in.member);
	vsw_mem_qp_windows(qp->rnic->mem, qp->qp.qpn, true);
	cqs_count(qp, -1);
	atomic_fetch_sub(&qp->pd->users, 1);
	atomic_fetch_sub(&qp->rnic->qps, 1);
	queues_free(qp);
}

static enum ri_status
qp_destroy(struct ri_qp *ri)
{
	struct vro_verbs_qp *qp = qp_of(ri);

	if (vsw_mem_qp_windows(qp->rnic->mem, qp->qp.qpn, false) != 0)
		return RI_ERR_BUSY;
	vro_verbs_qp_destroy(qp);
	return RI_SUCCESS;
}

const struct ri_qp_ops vro_qp_ops_table = {
	.size = sizeof(struct ri_qp_ops),
	.create = qp_create,
	.modify = qp_modify,
	.query = qp_query,
	.destroy = qp_destroy,
	.mcast_attach = vro_mcast_attach,
	.mcast_detach = vro_mcast_detach,
};

/* --- connections by attributes ------------------------------------------------------------------ */

static enum ri_status
peer_receive(struct ri_qp *ri, const struct ri_peer *peer)
{
	struct vro_verbs_qp *qp = qp_of(ri);
	uint32_t mtu = peer->path_mtu;
	enum ri_status status = RI_ERR_INVALID_STATE;
	struct roce_flow flow = {0};

	if (qp->qp.transport == ROCE_UD || vro_is_number(qp))
		return RI_ERR_UNSUPPORTED;
	if (peer->qpn > NUMBER_MAX || peer->rq_psn > NUMBER_MAX || mtu < 256 ||
	    mtu > vro_station_mtu(qp->rnic->station) || (mtu & (mtu - 1)) != 0 ||
	    peer->min_rnr_timer > VRO_CODE_MAX)
		return RI_ERR_INVALID_ARG;
	if (qp->qp.transport == ROCE_RC && peer->ird > VRO_MAX_DEPTH)
		return RI_ERR_LIMIT;
	vro_station_enter(qp->rnic->station);
	if (qp->qp.state == VRO_INIT && qp->tie.phase == VRO_UNTIED)
		status = vro_flow_make(qp->rnic, &peer->path, &flow);
	if (status == RI_SUCCESS) {
		qp->qp.path.flow = flow;
		qp->qp.path.qpn = peer->qpn;
		vro_peer_enter(qp);
		qp->qp.path.flow.slot = vro_slot(peer->qpn);
		qp->qp.path.mtu = mtu;
		qp->qp.path.rnr_timer = peer->min_rnr_timer;
		if (qp->qp.transport == ROCE_RC)
			atomic_store(&qp->qp.in.ird, peer->ird);
		vro_qp_to_rtr(&qp->qp, peer->rq_psn);
	}
	vro_station_leave(qp->rnic->station);
	return status;
}

static enum ri_status
peer_send(struct ri_qp *ri, const struct ri_peer *peer)
{
	struct vro_verbs_qp *qp = qp_of(ri);
	enum ri_status status = RI_ERR_INVALID_STATE;

	if (qp->qp.transport == ROCE_UD || vro_is_number(qp))
		return RI_ERR_UNSUPPORTED;
	if (peer->sq_psn > NUMBER_MAX || peer->timeout > VRO_CODE_MAX || peer->retry_count > 7 ||
	    peer->rnr_retry > 7)
		return RI_ERR_INVALID_ARG;
	if (qp->qp.transport == ROCE_RC && peer->ord > VRO_MAX_DEPTH)
		return RI_ERR_LIMIT;
	vro_station_enter(qp->rnic->station);
	if (qp->qp.state == VRO_RTR && qp->tie.phase == VRO_UNTIED) {
		qp->qp.path.timeout = peer->timeout;
		qp->qp.path.retries = peer->retry_count;
		qp->qp.path.rnr_retries = peer->rnr_retry;
		if (qp->qp.transport == ROCE_RC)
			qp->qp.path.ord = peer->ord;
		vro_qp_to_rts(&qp->qp, peer->sq_psn);
		vro_kick(qp);
		status = RI_SUCCESS;
	}
	vro_station_leave(qp->rnic->station);
	return status;
}

const struct ri_peer_ops vro_peer_ops = {
	.size = sizeof(struct ri_peer_ops),
	.receive = peer_receive,
	.send = peer_send,
};
