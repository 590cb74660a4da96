/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Queue pairs of the engine: their states, the packets that reach them, and what both halves use. */
#include "vro_qp.h"

#include <stdlib.h>
#include <string.h>

#include "vro_address.h"
#include "vro_why.h"

/* --- packets out -------------------------------------------------------------------------- */

uint8_t *
vro_room(struct vro_qp *qp)
{
	uint8_t *at = qp->engine->link->room(qp->engine->link);

	if (at == NULL)
		qp->stuck = true;
	return at;
}

void
vro_send(struct vro_qp *qp, uint8_t *at, const struct roce_flow *flow, struct roce_packet *p)
{
	uint32_t head = roce_packet_write(at, p);
	uint32_t pad = roce_pad(p->payload_length);

	memset(at + head + p->payload_length, 0, pad);
	qp->engine->counts[VRO_PACKETS_OUT]++;
	ri_count(&qp->count->frames_sent, 1);
	qp->engine->link->send(qp->engine->link, flow, head + p->payload_length + pad);
}

enum vsw_mem_result
vro_segments_copy(struct vro_qp *qp, struct vsw_wqe *wqe, uint32_t at, uint8_t *octets,
		  uint32_t len, bool into)
{
	if ((wqe->flags & RI_WR_INLINE) != 0 && !into) {
		memcpy(octets, (uint8_t *)vsw_wqe_octets(wqe) + at, len);
		return VSW_MEM_OK;
	}
	for (uint32_t i = 0; i < wqe->num_sge && len > 0; i++) {
		const struct ri_sge *sge = &wqe->sge[i];
		uint32_t n = sge->length > at ? sge->length - at : 0;
		struct vsw_mem_access wanted = {.addr = sge->addr + at,
						.stag = sge->stag,
						.access = into ? RI_ACCESS_LOCAL_WRITE
							       : RI_ACCESS_LOCAL_READ};
		struct vsw_mem_use use;

		at -= sge->length - n;
		if (n == 0)
			continue;
		at = 0;
		n = n < len ? n : len;
		wanted.length = n;

		enum vsw_mem_result result = vsw_mem_begin(qp->in.mem, &qp->in.who, &wanted, &use);

		if (result != VSW_MEM_OK)
			return result;

		enum ri_status status = vsw_mem_copy(&use, 0, octets, n, into);

		vsw_mem_end(&use);
		if (status != RI_SUCCESS)
			return VSW_MEM_LOST;
		octets += n;
		len -= n;
	}
	return len == 0 ? VSW_MEM_OK : VSW_MEM_BOUNDS;
}

bool
vro_segments_allow(struct vro_qp *qp, struct vsw_wqe *wqe, uint32_t access)
{
	for (uint32_t i = 0; i < wqe->num_sge; i++) {
		const struct vsw_mem_access wanted = {.addr = wqe->sge[i].addr,
						      .stag = wqe->sge[i].stag,
						      .length = wqe->sge[i].length,
						      .access = access};
		struct vsw_mem_use use;

		if (wanted.length == 0)
			continue;
		if (vsw_mem_begin(qp->in.mem, &qp->in.who, &wanted, &use) != VSW_MEM_OK)
			return false;
		vsw_mem_end(&use);
	}
	return true;
}

enum ri_wc_status
vro_request_local(struct vro_qp *qp, const struct vsw_wqe *wqe, enum vsw_mem_result *result)
{
	struct vsw_mem_table *mem = qp->in.mem;
	bool relative = (wqe->flags & RI_WR_BIND_RELATIVE) != 0;

	*result = VSW_MEM_OK;
	switch (wqe->opcode) {
	case RI_OP_BIND_MW:
		if ((atomic_load(&qp->in.access) & RI_ACCESS_BIND) == 0)
			return RI_WC_MW_BIND;
		*result = vsw_mw_bind(mem, &qp->in.who, &wqe->u.bind, relative);
		return *result == VSW_MEM_OK ? RI_WC_SUCCESS : RI_WC_MW_BIND;
	case RI_OP_LOCAL_INV:
		*result = vsw_mem_invalidate(mem, &qp->in.who, wqe->inv_stag, false);
		return *result == VSW_MEM_OK ? RI_WC_SUCCESS : RI_WC_MW_BIND;
	case RI_OP_INV_MR:
		*result = vsw_mem_invalidate(mem, &qp->in.who, wqe->inv_stag, false);
		return *result == VSW_MEM_OK ? RI_WC_SUCCESS : RI_WC_LOCAL_MM;
	case RI_OP_FAST_REG: {
		const struct vsw_mem_fast fast = {
			.stag = wqe->u.reg.stag,
			.access = wqe->u.reg.access,
			.addr = wqe->u.reg.addr,
			.length = wqe->u.reg.length,
			.relative = relative,
			.fbo = wqe->u.reg.fbo,
			.count = wqe->num_sge,
			.list = wqe->sge,
		};

		if (!qp->privileged)
			return RI_WC_LOCAL_QP;
		*result = vsw_mr_fast(mem, &qp->in.who, &fast);
		return *result == VSW_MEM_OK ? RI_WC_SUCCESS : RI_WC_LOCAL_MM;
	}
	default:
		return RI_WC_LOCAL_QP;
	}
}

/* --- states ------------------------------------------------------------------------------- */

static struct vro_qp *
qp_of(struct vsw_responder *in)
{
	return (struct vro_qp *)(void *)in; /* its first member */
}

static void
receive_overflow(struct vsw_responder *in)
{
	vro_qp_fail(qp_of(in), RI_EVENT_QP_CQ_RQ_ERROR, "a completion queue is full");
}

static void
receive_limits(struct vsw_responder *in)
{
	qp_of(in)->ops->limits(qp_of(in));
}

/* The receive is completed first, and then the queue pair fails. */
static void
receiver_failed(struct vsw_responder *in)
{
	struct vro_responding *rx = &qp_of(in)->rx;

	rx->fatal = true;
	rx->event = RI_EVENT_QP_ACCESS;
	rx->why = NULL;
	vro_why_receive(qp_of(in));
}

static void
responder_say(struct vsw_responder *in, const char *text)
{
	vro_say(qp_of(in), "%s", text);
}

static const struct vsw_responder_ops responder_ops = {
	.overflow = receive_overflow,
	.limits = receive_limits,
	.failed = receiver_failed,
	.say = responder_say,
};

static void
timer_fire(void *arg)
{
	vro_qp_expired(arg);
}

enum ri_status
vro_qp_create(struct vro_qp *qp)
{
	struct vro_requester *tx = &qp->tx;
	uint32_t ring = vsw_ring_size(vsw_larger(tx->sq.size, 1));

	tx->stride = (uint32_t)((sizeof(struct vro_request) + sizeof(struct vsw_wqe) +
				 vsw_wqe_tail(vsw_larger(tx->sq.max_sge, VSW_SPANS_MAX),
					      tx->sq.max_inline) +
				 7) &
				~(size_t)7);
	tx->requests = calloc(ring, tx->stride);
	if (tx->requests == NULL)
		return RI_ERR_RESOURCES;
	tx->mask = ring - 1;
	for (uint32_t i = 0; i < ring; i++) {
		struct vro_request *r = (void *)(tx->requests + (size_t)i * tx->stride);

		r->wqe = (void *)(r + 1);
	}
	tx->armed = RI_NEVER;
	qp->count = &qp->unread;
	qp->in.ops = &responder_ops;
	qp->in.unreliable = qp->transport == ROCE_UC;
	(void)vsw_role_take(
		&qp->in.role); /* never released: one thread at a time is in the engine */
	qp->path.pkey = ROCE_PKEY;
	if (qp->path.mtu == 0)
		qp->path.mtu = 1024;
	if (qp->timer.fire == NULL) {
		qp->timer.fire = timer_fire;
		qp->timer.arg = qp;
	}
	return RI_SUCCESS;
}

/* Take it out of a list. */
static void
list_remove(struct vro_qp **list, const struct vro_qp *qp)
{
	for (; *list != NULL; list = &(*list)->next)
		if (*list == qp) {
			*list = qp->next;
			return;
		}
}

void
vro_qp_leave(struct vro_qp *qp)
{
	vro_requester_count(qp, true);
	qp->state = VRO_RESET;
	if (qp->listed) {
		list_remove(&qp->engine->dirty, qp);
		list_remove(&qp->engine->blocked, qp);
		list_remove(&qp->engine->held, qp);
		list_remove(&qp->engine->later, qp);
	}
	qp->listed = true; /* nothing puts it into a list again */
}

void
vro_qp_destroy(struct vro_qp *qp)
{
	const struct ri_host *host = qp->engine->host;

	host->timer_stop(host->self, &qp->timer);
	free(qp->tx.requests);
	qp->tx.requests = NULL;
}

void
vro_qp_to_rtr(struct vro_qp *qp, uint32_t psn)
{
	struct vro_responding *rx = &qp->rx;

	memset(rx, 0, sizeof(*rx));
	rx->psn = psn & ROCE_24;
	qp->state = VRO_RTR;
}

/* The place of its address in vro_engine::sent. */
static uint32_t
peer_place(const struct roce_flow *flow)
{
	uint32_t hash = 0;

	for (unsigned i = 0; i < sizeof(flow->destination); i++)
		hash = hash * 31 + flow->destination[i];
	return hash % VRO_PEERS;
}

void
vro_qp_to_rts(struct vro_qp *qp, uint32_t psn)
{
	struct vro_requester *tx = &qp->tx;

	tx->psn = tx->una = tx->end = tx->asked = tx->long_end = tx->window_end = psn & ROCE_24;
	tx->window = qp->path.mtu == ROCE_MTU_MAX ? 16 : 32;
	tx->threshold = VRO_WINDOW_MAX;
	tx->trip = (struct vro_trip){0};
	tx->peer = peer_place(&qp->path.flow);
	tx->counted = 0;
	tx->grown = tx->unasked = tx->untold = 0;
	tx->halted = tx->went_back = tx->wanted = tx->spent = false;
	tx->retries = qp->path.retries;
	tx->rnr_retries = qp->path.rnr_retries;
	tx->probe = qp->engine->probe;
	tx->absent = 0;
	vro_alive_begin(qp);
	qp->state = VRO_RTS;
}

void
vro_qp_to_error(struct vro_qp *qp)
{
	qp->state = VRO_ERROR;
}
void
vro_qp_to_reset(struct vro_qp *qp)
{
	const struct ri_host *host = qp->engine->host;

	host->timer_start(host->self, &qp->timer, RI_NEVER);
	qp->tx.armed = RI_NEVER;
	vsw_wq_forget(&qp->tx.sq);
	qp->untold = false;
	qp->state = VRO_RESET;
}

void
vro_qp_fail(struct vro_qp *qp, uint32_t event, const char *why)
{
	if (qp->state == VRO_ERROR)
		return;
	qp->state = VRO_ERROR;
	vro_requester_flush(qp);
	vro_responder_flush(qp);
	if (why != NULL)
		vro_say(qp, "%s", why);
	qp->ops->failed(qp, event);
}

/* --- running ------------------------------------------------------------------------------ */

void
vro_qp_mark(struct vro_qp *qp)
{
	if (qp->listed)
		return;
	qp->listed = true;
	qp->next = qp->engine->dirty;
	qp->engine->dirty = qp;
}

/* A message was answered in the round in which it came, or was not. */
static void
answer_count(struct vro_qp *qp, bool answered)
{
	qp->answering = vsw_answers_count(qp->answering, answered);
}

/* `ack`: an acknowledgement has left; `sent`: a message has. */
static void
answers_watch(struct vro_qp *qp, bool ack, bool sent)
{
	if (ack) {
		if (qp->acked)
			answer_count(qp, false);
		qp->acked = true;
		qp->acked_round = qp->engine->round;
	} else if (sent && qp->acked) {
		answer_count(qp, qp->acked_round == qp->engine->round);
		qp->acked = false;
	}
}

static void
qp_run(struct vro_qp *qp)
{
	if (qp->state == VRO_ERROR) {
		vro_requester_flush(qp);
		vro_responder_flush(qp);
		qp->ops->flushed(qp);
		return;
	}
	uint32_t end = qp->tx.end;
	bool ack = vro_responder_can_wait(qp);

	if (ack && qp->held) {
		/* Behind a message for the same peer it costs no system call, here and there. */
		vro_requester_run(qp);
		vro_responder_run(qp);
		answer_count(qp, qp->tx.end != end);
	} else {
		vro_responder_run(qp);
		vro_requester_run(qp);
		answers_watch(qp, ack, qp->tx.end != end);
	}
	qp->held = false;
}

/* The queue pairs of a list are to be run. */
static void
list_mark(struct vro_qp **list)
{
	struct vro_qp *qp = *list;

	*list = NULL;
	while (qp != NULL) {
		struct vro_qp *next = qp->next;

		qp->listed = false;
		vro_qp_mark(qp);
		qp = next;
	}
}

void
vro_engine_acks(struct vro_engine *engine)
{
	struct vro_qp *qp = engine->held;

	engine->held = NULL;
	while (qp != NULL) {
		struct vro_qp *next = qp->next;

		qp->listed = qp->held = false;
		vro_responder_run(qp);
		if (qp->rx.due)
			vro_qp_mark(qp); /* the link was full */
		qp = next;
	}
	if (engine->link->flush != NULL)
		engine->link->flush(engine->link);
}

static void
list_add(struct vro_qp **list, struct vro_qp *qp)
{
	qp->listed = true;
	qp->next = *list;
	*list = qp;
}

/* Into the list of those whose acknowledgement waits. */
static void
qp_hold(struct vro_qp *qp)
{
	qp->held = true;
	list_add(&qp->engine->held, qp);
}

void
vro_engine_flush(struct vro_engine *engine)
{
	if (engine->flushing)
		return; /* called by what it calls */
	engine->flushing = true;
	if (!engine->hold)
		list_mark(&engine->held);
	if (engine->later != NULL)
		list_mark(&engine->later);
	while (engine->dirty != NULL) {
		struct vro_qp *qp = engine->dirty;

		engine->dirty = qp->next;
		qp->listed = qp->stuck = qp->more = false;
		if (engine->hold && qp->answering >= VSW_ANSWERING && qp->state != VRO_ERROR &&
		    vro_responder_can_wait(qp)) {
			vro_requester_run(qp);
			if (!qp->listed)
				qp_hold(qp);
			continue;
		}
		qp_run(qp);
		if (qp->listed)
			continue;
		if (qp->stuck)
			list_add(&engine->blocked, qp);
		else if (qp->more)
			list_add(&engine->later, qp);
	}
	engine->flushing = false;
	if (engine->link->flush != NULL)
		engine->link->flush(engine->link);
}

void
vro_engine_ready(struct vro_engine *engine)
{
	list_mark(&engine->blocked);
	vro_engine_flush(engine);
}

void
vro_qp_kick(struct vro_qp *qp)
{
	vro_qp_mark(qp);
	vro_engine_flush(qp->engine);
}

/* --- packets in --------------------------------------------------------------------------- */

/* What is wrong with a packet for this queue pair, the CRC excepted. */
static enum roce_fault
packet_fault(const struct vro_qp *qp, const struct roce_flow *flow, const struct roce_packet *p)
{
	const struct roce_flow *path = &qp->path.flow;
	uint8_t transport = p->opcode & 0xe0;

	if (transport != qp->transport && !(transport == ROCE_CNP && qp->transport != ROCE_UD))
		return ROCE_QPN_FAULT;
	if (qp->state != VRO_RTR && qp->state != VRO_RTS)
		return ROCE_STATE_FAULT;
	if (qp->transport != ROCE_UD &&
	    (memcmp(flow->source, path->destination, sizeof(flow->source)) != 0 ||
	     memcmp(flow->destination, path->source, sizeof(flow->destination)) != 0))
		return ROCE_PEER_FAULT;
	if (!roce_pkey_fits(qp->path.pkey, p->pkey))
		return ROCE_PKEY_FAULT;
	if (qp->transport == ROCE_UD && p->qkey != qp->qkey)
		return ROCE_QKEY_FAULT;
	return ROCE_OK;
}

/* As packet_fault, for queue pair 1. Nobody manages connections at the address of a group. */
static enum roce_fault
gsi_fault(const struct roce_flow *flow, const struct roce_packet *p)
{
	if (vro_gid_is_group(flow->destination))
		return ROCE_PEER_FAULT;
	if (p->opcode != (ROCE_UD | ROCE_SEND_ONLY) || p->source_qpn != ROCE_QPN_GSI)
		return ROCE_QPN_FAULT;
	if (!roce_pkey_fits(ROCE_PKEY, p->pkey))
		return ROCE_PKEY_FAULT;
	return p->qkey == ROCE_QKEY_GSI ? ROCE_OK : ROCE_QKEY_FAULT;
}

/* A datagram for a group: each of its members that may have it gets it. */
static void
group_packet(struct vro_engine *engine, struct roce_flow *flow, bool find_ident,
	     const uint8_t *octets, size_t len, const struct roce_packet *p)
{
	enum roce_fault last = ROCE_QPN_FAULT;
	bool good = false;
	struct vro_qp *qp;

	for (uint32_t i = 0; (qp = engine->member(engine, flow->destination, i)) != NULL; i++) {
		enum roce_fault fault = packet_fault(qp, flow, p);

		if (fault == ROCE_OK && !good && !roce_icrc_check(flow, find_ident, octets, len)) {
			last = ROCE_CRC;
			ri_count(&qp->count->crc_errors, 1);
			break;
		}
		if (fault != ROCE_OK) {
			last = fault;
			continue;
		}
		good = true;
		engine->counts[VRO_PACKETS_IN]++;
		ri_count(&qp->count->frames_received, 1);
		vro_ud_packet(qp, flow, p, len);
	}
	if (!good)
		engine->faults[last]++;
}

void
vro_engine_packet(struct vro_engine *engine, struct roce_flow *flow, bool find_ident,
		  const uint8_t *octets, size_t len)
{
	struct vro_qp *qp = NULL;
	struct roce_packet p;
	enum roce_fault fault = roce_packet_read(octets, len, &p);
	bool managed = fault == ROCE_OK && p.qpn == ROCE_QPN_GSI && engine->managed != NULL;

	if (fault == ROCE_OK && p.qpn == ROCE_QPN_GROUP && engine->member != NULL) {
		group_packet(engine, flow, find_ident, octets, len, &p);
		return;
	}
	if (managed) {
		fault = gsi_fault(flow, &p);
	} else if (fault == ROCE_OK) {
		qp = engine->find(engine, p.qpn);
		fault = qp == NULL ? ROCE_QPN_FAULT : packet_fault(qp, flow, &p);
	}
	if (fault == ROCE_OK && !roce_icrc_check(flow, find_ident, octets, len)) {
		fault = ROCE_CRC;
		if (qp != NULL)
			ri_count(&qp->count->crc_errors, 1);
	}
	if (fault != ROCE_OK) {
		engine->faults[fault]++;
		return;
	}
	if (managed) {
		engine->counts[VRO_MANAGED]++;
		engine->managed(engine, flow, &p);
		return;
	}
	engine->counts[VRO_PACKETS_IN]++;
	ri_count(&qp->count->frames_received, 1);
	if (qp->awaited) {
		qp->awaited = false;
		qp->ops->arrived(qp);
	}

	uint32_t parts = roce_parts(p.opcode);

	if ((p.opcode & 0xe0) == ROCE_CNP)
		vro_requester_congested(qp);
	else if (qp->transport == ROCE_UD)
		vro_ud_packet(qp, flow, &p, len);
	else if ((parts & ROCE_IS_ANSWER) != 0)
		vro_requester_answer(qp, &p);
	else
		vro_responder_packet(qp, &p);
}
