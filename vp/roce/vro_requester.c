/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The requester: sends the requests of a send queue and repeats them until they are acknowledged.
 *
 * Requests are taken from the send queue in order and kept in a ring until they are complete. Each has consecutive
 * packet numbers; a Read has those of its answer. The *position* is the number of the next packet to send, `una` the
 * first one that is not acknowledged. To go back means to move the position to `una`; then everything after it is sent
 * again, and of a Read only the part that has not arrived is requested again.
 *
 * A long Read is requested in parts of half a window each, since nothing else limits its response;
 * so the window limits the packets in transit in both directions.
 *
 * Requests that send nothing (binds, invalidations) are executed when all requests before them are complete: a request that is
 * sent again may need the key.
 */
#include <string.h>

#include "ri_wire.h"
#include "vro_why.h"

#define PROBE_MAX UINT64_C(1000000000) /* ns between two repetitions of the last packet */

/* Packets of at most SHORT octets use little of a receive buffer. They count as SHORT_COST, with what the kernel needs for each. */
#define SHORT      512u
#define SHORT_COST 1024u

static struct vro_request *
request_at(const struct vro_qp *qp, uint32_t index)
{
	return (void *)(qp->tx.requests + (size_t)(index & qp->tx.mask) * qp->tx.stride);
}

static bool
is_asking(const struct vro_request *r)
{
	return r->wqe->opcode == RI_OP_RDMA_READ || r->wqe->opcode == RI_OP_FETCH_ADD ||
	       r->wqe->opcode == RI_OP_CMP_SWAP;
}

/* The number of the next packet to send. */
static uint32_t
position(const struct vro_qp *qp)
{
	const struct vro_requester *tx = &qp->tx;

	return tx->current == tx->taken ? tx->psn
					: roce_add(request_at(qp, tx->current)->first, tx->at);
}

static uint32_t
under_way(const struct vro_qp *qp)
{
	return (position(qp) - qp->tx.una) & ROCE_24;
}

/* Octets of the budget that each packet under way counts as: all alike, as the longest one may be. */
static uint32_t
cost(const struct vro_qp *qp)
{
	const struct vro_requester *tx = &qp->tx;

	return roce_diff(tx->long_end, tx->una) > 0 || qp->path.mtu < SHORT_COST ? qp->path.mtu
										 : SHORT_COST;
}

/* Packets of a Read's answer that one Read Request asks for. */
static uint32_t
part_of(const struct vro_qp *qp)
{
	return qp->path.mtu == ROCE_MTU_MAX ? 8 : 16;
}

/* Read Requests and atomics that are sent and not answered. */
static uint32_t
asked(const struct vro_qp *qp)
{
	const struct vro_requester *tx = &qp->tx;
	uint32_t count = 0;

	for (uint32_t i = tx->oldest; i - tx->oldest <= tx->current - tx->oldest && i != tx->taken;
	     i++) {
		const struct vro_request *r = request_at(qp, i);
		uint32_t sent = i == tx->current ? tx->at : r->packets;

		if (is_asking(r) && sent > r->got)
			count += (sent + part_of(qp) - 1) / part_of(qp) - r->got / part_of(qp);
	}
	return count;
}

/* --- completions and failures ------------------------------------------------------------- */

void
vro_request_complete(struct vro_qp *qp, enum ri_wc_status status)
{
	struct vro_requester *tx = &qp->tx;
	const struct vro_request *r = request_at(qp, tx->oldest);
	const struct vsw_wqe *wqe = r->wqe;

	if (tx->current == tx->oldest) {
		tx->current++;
		tx->at = 0;
	}
	tx->oldest++;
	if (status == RI_WC_SUCCESS && (wqe->flags & RI_WR_SIGNALED) == 0)
		return;
	tx->sq.pushed = r->index;

	struct vsw_cqe cqe = {
		.wr_id = wqe->wr_id,
		.qp_ctx = qp->in.ctx,
		.byte_len = wqe->length,
		.status = (uint8_t)status,
		.opcode = wqe->opcode,
		.flags = status != RI_WC_SUCCESS || (wqe->flags & RI_WR_NOTIFY) != 0
				 ? RI_WC_SOLICITED
				 : 0,
		.wq = tx->sq.number,
		.wq_index = r->index,
	};

	if (status == RI_WC_SUCCESS && wqe->opcode == RI_OP_RDMA_READ &&
	    (wqe->flags & RI_WR_INVALIDATE) != 0) {
		cqe.flags |= RI_WC_INVALIDATED;
		cqe.inv_stag = wqe->sge[0].stag;
	}
	if (!vsw_cq_push(tx->cq, &cqe) && qp->state != VRO_ERROR)
		vro_qp_fail(qp, RI_EVENT_QP_CQ_SQ_ERROR, "a completion queue is full");
}

/* The oldest request fails, and the queue pair with it. `result`: of its key, if that is the cause. */
static void
request_fail_by(struct vro_qp *qp, enum ri_wc_status status, enum vsw_mem_result result)
{
	/* A queue pair for datagrams has no connection whose end would report it. */
	bool access = qp->transport == ROCE_UD && status == RI_WC_LOCAL_PROTECTION;

	vro_why_request(qp, request_at(qp, qp->tx.oldest)->wqe, status, result);
	vro_request_complete(qp, status);
	vro_qp_fail(qp, access ? RI_EVENT_QP_ACCESS : RI_EVENT_QP_WR_ERROR, NULL);
}

static void
request_fail(struct vro_qp *qp, enum ri_wc_status status)
{
	request_fail_by(qp, status, VSW_MEM_OK);
}

/* Take the next request. False: none is posted. */
static bool
request_take(struct vro_qp *qp)
{
	struct vro_requester *tx = &qp->tx;
	struct vro_request *r = request_at(qp, tx->taken);

	if (tx->taken - tx->oldest > tx->mask || !vsw_wq_take(&tx->sq, r->wqe, &r->index))
		return false;
	r->first = tx->psn;
	r->got = 0;
	r->done = false;
	r->status = RI_WC_SUCCESS;
	r->packets = 0;
	switch (r->wqe->opcode) {
	case RI_OP_SEND:
	case RI_OP_RDMA_WRITE:
	case RI_OP_RDMA_READ:
		r->packets =
			(uint32_t)(((uint64_t)r->wqe->length + qp->path.mtu - 1) / qp->path.mtu);
		r->packets = vsw_larger(r->packets, 1);
		if (r->wqe->length > VRO_MAX_MESSAGE)
			r->status = RI_WC_LOCAL_LENGTH;
		break;
	case RI_OP_FETCH_ADD:
	case RI_OP_CMP_SWAP:
		r->packets = 1;
		if (r->wqe->length != sizeof(uint64_t))
			r->status = RI_WC_LOCAL_PROTECTION;
		break;
	case RI_OP_SEND_UD:
		r->packets = 1;
		if (r->wqe->length > qp->path.mtu)
			r->status = RI_WC_LOCAL_LENGTH;
		break;
	case RI_OP_BIND_MW:
	case RI_OP_LOCAL_INV:
	case RI_OP_INV_MR:
	case RI_OP_FAST_REG:
		break;
	default:
		r->status = RI_WC_LOCAL_QP; /* the entry is corrupt */
		break;
	}
	if (r->wqe->num_sge > VSW_SPANS_MAX && r->wqe->opcode != RI_OP_FAST_REG)
		r->status = RI_WC_LOCAL_QP;
	if ((r->wqe->opcode == RI_OP_SEND_UD) != (qp->transport == ROCE_UD) && r->packets != 0)
		r->status = RI_WC_LOCAL_QP;
	if (is_asking(r) && (qp->transport != ROCE_RC || qp->path.ord == 0))
		r->status = RI_WC_LOCAL_QP;
	if (r->status != RI_WC_SUCCESS)
		r->packets = 0;
	tx->psn = roce_add(tx->psn, r->packets);
	tx->taken++;
	return true;
}

/* --- sending ------------------------------------------------------------------------------ */

static uint8_t
request_opcode(const struct vro_qp *qp, const struct vsw_wqe *wqe, bool first, bool last)
{
	bool write = wqe->opcode == RI_OP_RDMA_WRITE;
	uint8_t op = write ? ROCE_WRITE_MIDDLE : ROCE_SEND_MIDDLE;

	if (first && !last)
		op = write ? ROCE_WRITE_FIRST : ROCE_SEND_FIRST;
	else if (last)
		op = first ? (write ? ROCE_WRITE_ONLY : ROCE_SEND_ONLY)
			   : (write ? ROCE_WRITE_LAST : ROCE_SEND_LAST);
	if (last && (wqe->flags & RI_WR_IMMEDIATE) != 0)
		op++; /* behind each of the four is the one with immediate data */
	else if (last && !write && (wqe->flags & RI_WR_INVALIDATE) != 0)
		op = first ? ROCE_SEND_ONLY_INV : ROCE_SEND_LAST_INV;
	return qp->transport | op;
}

/* Does the next packet use the last of the budget? */
static bool
is_budget_full(const struct vro_qp *qp)
{
	return qp->engine->sent[qp->tx.peer] + cost(qp) >= VRO_BUDGET;
}

/* The budget is used, and an answer will come, which makes room. */
static bool
budget_ends(const struct vro_qp *qp)
{
	return qp->engine->sent[qp->tx.peer] >= VRO_BUDGET &&
	       roce_diff(qp->tx.asked, qp->tx.una) > 0;
}

/*
 * Must the next packet ask for an acknowledgement? Yes, if a completion waits for it. Requests
 * without a completion are acknowledged together with later ones, before they fill half of the send
 * queue; the last ones are acknowledged because of the probe. And when packets are about to fill
 * the window or the budget, one asks early enough for the acknowledgement to arrive before it is
 * full.
 */
static bool
is_answer_wanted(struct vro_qp *qp, const struct vsw_wqe *wqe, bool last)
{
	struct vro_requester *tx = &qp->tx;
	uint32_t most = VRO_BUDGET / cost(qp);

	if (qp->transport != ROCE_RC)
		return false;
	if (tx->window < most)
		most = tx->window;
	tx->unasked++;
	tx->untold += last;
	return tx->unasked >= (most + 1) / 2 || is_budget_full(qp) ||
	       (last && ((wqe->flags & RI_WR_SIGNALED) != 0 || qp->engine->probe == 0 ||
			 tx->untold >= (tx->sq.size + 1) / 2));
}

/* A packet of a Send or Write. False: the link is full, or the memory cannot be read (r->status). */
static bool
message_send(struct vro_qp *qp, struct vro_request *r)
{
	struct vro_requester *tx = &qp->tx;
	const struct vsw_wqe *wqe = r->wqe;
	uint8_t *at = vro_room(qp);

	if (at == NULL)
		return false;

	uint32_t offset = tx->at * qp->path.mtu;
	uint32_t left = wqe->length - offset;
	bool last = tx->at + 1 == r->packets;
	struct roce_packet p = {
		.opcode = request_opcode(qp, wqe, tx->at == 0, last),
		.pkey = qp->path.pkey,
		.qpn = qp->path.qpn,
		.psn = roce_add(r->first, tx->at),
		.solicited = last && (wqe->flags & RI_WR_SOLICITED) != 0,
		.va = wqe->u.remote.addr,
		.rkey = wqe->u.remote.stag,
		.length = wqe->length,
		.immediate = wqe->inv_stag,
		.invalidate = wqe->inv_stag,
		.payload_length = left < qp->path.mtu ? left : qp->path.mtu,
	};
	bool again = roce_diff(p.psn, tx->end) < 0;

	p.solicited =
		p.solicited && (wqe->opcode == RI_OP_SEND || (wqe->flags & RI_WR_IMMEDIATE) != 0);
	p.ack_request = is_answer_wanted(qp, wqe, last);
	if (vro_segments_copy(qp, r->wqe, offset, at + roce_head_size(roce_parts(p.opcode)),
			      p.payload_length, false) != VSW_MEM_OK) {
		/* A message may invalidate the key that it is sent from: then its acknowledgement is under way. */
		tx->spent = again && !tx->wanted;
		if (!tx->spent)
			r->status = RI_WC_LOCAL_PROTECTION;
		return false;
	}
	if (p.ack_request) {
		tx->unasked = tx->untold = 0;
		tx->asked = roce_add(p.psn, 1);
	}
	vro_send(qp, at, &qp->path.flow, &p);
	/* What the peer has asked for may have come now. */
	if (again && p.psn == tx->una)
		tx->wanted = false;
	tx->at++;
	return true;
}

/* Ask for a part of a Read, or for an atomic. False: too much is under way, or the link is full. */
static bool
question_send(struct vro_qp *qp, struct vro_request *r)
{
	struct vro_requester *tx = &qp->tx;
	const struct vsw_wqe *wqe = r->wqe;
	bool read = wqe->opcode == RI_OP_RDMA_READ;
	uint32_t end = read ? (tx->at / part_of(qp) + 1) * part_of(qp) : 1;

	if (end > r->packets)
		end = r->packets;
	if (asked(qp) >= qp->path.ord ||
	    (under_way(qp) != 0 && under_way(qp) + end - tx->at > tx->window))
		return false;

	/* What cannot be placed is not asked for: an atomic would be executed. */
	if (tx->at == 0 && !vro_segments_allow(qp, r->wqe, RI_ACCESS_LOCAL_WRITE)) {
		r->status = RI_WC_LOCAL_PROTECTION;
		return false;
	}

	uint8_t *at = vro_room(qp);

	if (at == NULL)
		return false;

	uint32_t offset = tx->at * qp->path.mtu;
	struct roce_packet p = {
		.opcode = ROCE_RC | (read                            ? ROCE_READ_REQUEST
				     : wqe->opcode == RI_OP_CMP_SWAP ? ROCE_CMP_SWAP
								     : ROCE_FETCH_ADD),
		.pkey = qp->path.pkey,
		.qpn = qp->path.qpn,
		.psn = roce_add(r->first, tx->at),
		.ack_request = true,
		.va = wqe->u.remote.addr + offset,
		.rkey = wqe->u.remote.stag,
		.length = (end == r->packets ? wqe->length : end * qp->path.mtu) - offset,
		.swap_add =
			wqe->opcode == RI_OP_CMP_SWAP ? wqe->u.remote.swap : wqe->u.remote.operand,
		.compare = wqe->opcode == RI_OP_CMP_SWAP ? wqe->u.remote.operand : 0,
	};

	tx->unasked = tx->untold = 0;
	tx->asked = roce_add(r->first, end);
	vro_send(qp, at, &qp->path.flow, &p);
	tx->at = end;
	return true;
}

/* Execute a request that sends nothing, or find that a request cannot be sent. False: others before it are not complete. */
static bool
local_run(struct vro_qp *qp, struct vro_request *r)
{
	struct vro_requester *tx = &qp->tx;
	enum ri_wc_status status = r->status;
	enum vsw_mem_result result = VSW_MEM_OK;

	if (tx->oldest != tx->current)
		return false;
	if (status == RI_WC_SUCCESS)
		status = vro_request_local(qp, r->wqe, &result);
	if (status != RI_WC_SUCCESS)
		request_fail_by(qp, status, result);
	else
		vro_request_complete(qp, status);
	return status == RI_WC_SUCCESS;
}

void
vro_requester_count(struct vro_qp *qp, bool none)
{
	struct vro_requester *tx = &qp->tx;
	/* Before RTS the numbers are those of an earlier life. */
	none = none || qp->state != VRO_RTS || qp->transport != ROCE_RC;

	uint32_t now = none ? 0 : under_way(qp) * cost(qp);

	if (roce_diff(tx->long_end, tx->una) < 0)
		tx->long_end = tx->una; /* before it seems to lie ahead */
	qp->engine->sent[tx->peer] += now - tx->counted;
	tx->counted = now;
}

static bool
invalidates(const struct vro_request *r)
{
	return r->wqe->opcode == RI_OP_SEND && (r->wqe->flags & RI_WR_INVALIDATE) != 0;
}

/*
 * Acknowledge what was executed, if that was not done yet. Otherwise the peer may have sent from
 * the region whose key is about to be invalidated, and would repeat that packet without the key
 * [WIRE 16.4.1]. False: the invalidation has to wait.
 */
static bool
acknowledged(struct vro_qp *qp)
{
	if (!qp->rx.unsaid)
		return true;
	qp->rx.due = true;
	vro_responder_run(qp);
	return !qp->rx.due && qp->state == VRO_RTS;
}

/* Send one packet. False: it has to wait. */
static bool
send_one(struct vro_qp *qp)
{
	struct vro_requester *tx = &qp->tx;

	if (tx->current == tx->taken && !request_take(qp))
		return false;

	struct vro_request *r = request_at(qp, tx->current);

	if (r->packets == 0 || r->status != RI_WC_SUCCESS)
		return local_run(qp, r);
	if (tx->at == 0 && (r->wqe->flags & RI_WR_READ_FENCE) != 0 && asked(qp) != 0)
		return false;
	if (qp->transport == ROCE_RC && under_way(qp) != 0 &&
	    (under_way(qp) >= tx->window || budget_ends(qp)))
		return false;
	if (invalidates(r) && !acknowledged(qp))
		return false;

	const struct ri_host *host = qp->engine->host;
	bool alone = under_way(qp) == 0 && !tx->spent;

	if (alone)
		tx->since = host->now(host->self);
	if (r->wqe->length > SHORT)
		tx->long_end = roce_add(r->first, r->packets);

	uint32_t psn = position(qp);
	bool sent = qp->transport == ROCE_UD ? vro_ud_send(qp, r)
		    : is_asking(r)           ? question_send(qp, r)
					     : message_send(qp, r);

	if (!sent) {
		/* A request that has failed is completed when those before it are. */
		return r->status != RI_WC_SUCCESS && local_run(qp, r);
	}

	bool again = roce_diff(psn, tx->end) < 0;

	if (again) {
		qp->engine->counts[VRO_REPEATED]++;
		ri_count(&qp->count->retries, 1);
	}
	if (qp->transport == ROCE_RC && tx->asked == roce_add(r->first, tx->at) &&
	    tx->trip.began == 0 && !(again && tx->trip.doubtful))
		vro_trip_begin(&tx->trip, tx->asked, alone ? tx->since : host->now(host->self));
	if (roce_diff(roce_add(r->first, tx->at), tx->end) > 0)
		tx->end = roce_add(r->first, tx->at);
	if (qp->transport != ROCE_RC)
		tx->una = tx->end;
	vro_requester_count(qp, false);
	if (tx->at == r->packets) {
		if (qp->transport != ROCE_RC) {
			vro_request_complete(qp, RI_WC_SUCCESS);
		} else {
			tx->current++;
			tx->at = 0;
		}
	}
	return qp->state == VRO_RTS;
}

/* --- time --------------------------------------------------------------------------------- */

/* ns without progress until all is repeated; RI_NEVER: it is not. */
static uint64_t
patience(const struct vro_qp *qp)
{
	return qp->path.timeout == 0 ? RI_NEVER : UINT64_C(4096) << (qp->path.timeout & 31);
}

/* Does it wait for no acknowledgement? */
static bool
is_quiet(const struct vro_qp *qp)
{
	return !qp->tx.halted && under_way(qp) == 0 && !qp->tx.spent;
}

/* When something is to be done, unless there is progress before. */
static uint64_t
due(const struct vro_qp *qp)
{
	const struct vro_requester *tx = &qp->tx;
	uint64_t wait = patience(qp);

	if (qp->state != VRO_RTS)
		return RI_NEVER;
	if (tx->halted)
		return tx->rnr_until;
	if (qp->transport != ROCE_RC || is_quiet(qp))
		return qp->alive.at;
	if (qp->engine->probe != 0 && tx->probe < wait)
		wait = tx->probe;
	return wait == RI_NEVER ? RI_NEVER : tx->since + wait;
}

static void
timer_set(struct vro_qp *qp)
{
	const struct ri_host *host = qp->engine->host;
	uint64_t at = due(qp);

	/* A timer that fires early is started again; so progress does not move it. */
	if (at < qp->tx.armed) {
		qp->tx.armed = at;
		host->timer_start(host->self, &qp->timer, at);
	}
}

static void
window_grow(struct vro_requester *tx, uint32_t numbers)
{
	if (tx->window < tx->threshold) {
		tx->window +=
			numbers < tx->threshold - tx->window ? numbers : tx->threshold - tx->window;
		return;
	}
	tx->grown += numbers;
	if (tx->grown >= tx->window && tx->window < VRO_WINDOW_MAX) {
		tx->window++;
		tx->grown = 0;
	}
}

/* ns after which the last packet is repeated for the first time; 0: it is not. */
static uint64_t
first_probe(const struct vro_qp *qp)
{
	uint64_t late = vro_trip_late(&qp->tx.trip, qp->engine->probe);

	if (qp->engine->probe == 0)
		return 0;
	return late < PROBE_MAX ? late : PROBE_MAX;
}

/* The peer has acknowledged `numbers` more packets. */
static void
progress(struct vro_qp *qp, uint32_t numbers)
{
	struct vro_requester *tx = &qp->tx;
	const struct ri_host *host = qp->engine->host;

	tx->since = host->now(host->self);
	vro_trip_answered(&tx->trip, tx->una, tx->since);
	if (!tx->trip.doubtful)
		tx->probe = first_probe(qp);
	tx->retries = qp->path.retries;
	tx->rnr_retries = qp->path.rnr_retries;
	tx->went_back = false;
	tx->wanted = false;
	tx->spent = false;
	tx->halted = false;
	tx->absent = 0;
	if (roce_diff(tx->window_end, tx->una) < 0)
		tx->window_end = tx->una; /* before it seems to lie ahead */
	window_grow(tx, numbers);
}

void
vro_requester_run(struct vro_qp *qp)
{
	uint32_t left = VRO_TURN;

	vro_requester_count(qp, false);
	while (qp->state == VRO_RTS && !qp->tx.halted && send_one(qp))
		if (--left == 0) {
			qp->more = true;
			break;
		}
	timer_set(qp);
}

/* --- going back --------------------------------------------------------------------------- */

/* Move the position to this number, which is not before `una`. */
static void
position_move(struct vro_qp *qp, uint32_t psn)
{
	struct vro_requester *tx = &qp->tx;

	/* What asked for an acknowledgement asks again; of two answers nobody knows which one comes. */
	if (roce_diff(tx->asked, tx->una) > 0)
		vro_trip_repeated(&tx->trip);
	if (roce_diff(tx->asked, psn) > 0)
		tx->asked = psn;
	for (tx->current = tx->oldest; tx->current != tx->taken; tx->current++) {
		const struct vro_request *r = request_at(qp, tx->current);

		tx->at = (psn - r->first) & ROCE_24;
		if (r->packets != 0 && tx->at < r->packets)
			return;
	}
	tx->at = 0;
}

static void
window_halve(struct vro_qp *qp, uint32_t least)
{
	struct vro_requester *tx = &qp->tx;

	if (roce_diff(tx->una, tx->window_end) < 0)
		return;
	tx->window = tx->threshold = vsw_larger(tx->window / 2, least);
	tx->window_end = tx->end;
	tx->grown = 0;
}

/* Something was lost. */
static void
go_back(struct vro_qp *qp)
{
	if (qp->tx.went_back || qp->tx.halted)
		return;
	qp->tx.went_back = true;
	window_halve(qp, VRO_WINDOW_MIN);
	position_move(qp, qp->tx.una);
}

/*
 * All packets before `end` are acknowledged. False: a response to one of them was lost; `una` is
 * then the number of the first missing part of that response.
 */
static bool
acknowledge(struct vro_qp *qp, uint32_t end)
{
	struct vro_requester *tx = &qp->tx;
	uint32_t before = tx->una;
	bool whole = true;

	while (tx->oldest != tx->taken && qp->state == VRO_RTS) {
		const struct vro_request *r = request_at(qp, tx->oldest);
		uint32_t behind = roce_add(r->first, r->packets);

		if (r->packets == 0 || roce_diff(end, tx->una) <= 0)
			break;
		if (is_asking(r)) {
			whole = false;
			break;
		}
		if (roce_diff(end, behind) < 0) {
			tx->una = end;
			break;
		}
		tx->una = behind;
		vro_request_complete(qp, RI_WC_SUCCESS);
	}
	if (tx->una == before || qp->state != VRO_RTS)
		return whole;
	progress(qp, (tx->una - before) & ROCE_24);
	if (roce_diff(tx->una, position(qp)) > 0)
		position_move(qp, tx->una);
	return whole;
}

/*
 * The acknowledgement is overdue: send the last packet again, or request a lost response again. If
 * the packet cannot be sent again, ask the peer whether it has arrived.
 */
static void
probe(struct vro_qp *qp)
{
	struct vro_requester *tx = &qp->tx;
	bool whole = tx->spent || is_asking(request_at(qp, tx->oldest));

	position_move(qp, whole ? tx->una : roce_add(position(qp), ROCE_24));
	tx->went_back = tx->una == position(qp);
	tx->unasked = tx->window;
	if (tx->spent)
		vro_alive_ask(qp);
	else
		(void)send_one(qp);
}

void
vro_qp_expired(struct vro_qp *qp)
{
	struct vro_requester *tx = &qp->tx;
	const struct ri_host *host = qp->engine->host;
	uint64_t now = host->now(host->self);

	tx->armed = RI_NEVER;
	if (qp->state == VRO_RTS && tx->absent >= VRO_ABSENCES) {
		if (is_quiet(qp))
			vro_qp_fail(qp, RI_EVENT_QP_WR_ERROR,
				    "nobody listens at the address of the peer");
		else
			request_fail(qp, RI_WC_TRANSPORT);
		return;
	}
	if (qp->state == VRO_RTS && is_quiet(qp)) {
		vro_alive_look(qp, now);
	} else if (due(qp) <= now) {
		if (tx->halted) {
			tx->halted = false;
			tx->since = now;
			position_move(qp, tx->una);
		} else if (tx->since + patience(qp) <= now && patience(qp) != RI_NEVER) {
			qp->engine->counts[VRO_TIMEOUTS]++;
			if (tx->retries == 0) {
				request_fail(qp, RI_WC_TRANSPORT);
				return;
			}
			tx->retries--;
			tx->since = now;
			tx->probe = first_probe(qp);
			if (tx->window > VRO_WINDOW_MIN)
				tx->threshold = tx->window / 2;
			tx->window = VRO_WINDOW_MIN;
			tx->went_back = true;
			position_move(qp, tx->una);
			if (tx->spent)
				vro_alive_ask(qp);
		} else {
			qp->engine->counts[VRO_PROBES]++;
			tx->probe = tx->probe < PROBE_MAX / 2 ? 2 * tx->probe : PROBE_MAX;
			probe(qp);
		}
	}
	vro_qp_mark(qp);
	vro_engine_flush(qp->engine);
}

void
vro_requester_congested(struct vro_qp *qp)
{
	qp->engine->counts[VRO_CONGESTED]++;
	window_halve(qp, VRO_WINDOW_MIN);
}

bool
vro_requester_quoted(const struct vro_qp *qp, const uint8_t *head, size_t len)
{
	const struct vro_requester *tx = &qp->tx;

	if (len < ROCE_BTH || qp->state != VRO_RTS || qp->transport != ROCE_RC)
		return false;

	uint32_t qpn = wire_load_be32(head + 4) & ROCE_24;
	uint32_t psn = wire_load_be32(head + 8) & ROCE_24;

	/* The question whether the peer lives has the number before `una`. */
	return qpn == qp->path.qpn && roce_diff(psn, tx->una) >= (qp->alive.asked != 0 ? -1 : 0) &&
	       roce_diff(psn, tx->end) < 0;
}

void
vro_requester_absent(struct vro_qp *qp)
{
	struct vro_requester *tx = &qp->tx;
	const struct ri_host *host = qp->engine->host;
	uint64_t now = host->now(host->self);

	if (qp->state != VRO_RTS || qp->transport != ROCE_RC ||
	    (under_way(qp) == 0 && qp->alive.asked == 0) ||
	    (tx->absent != 0 && now - tx->absent_at < VRO_ABSENT))
		return;
	tx->absent_at = now;
	if (++tx->absent < VRO_ABSENCES)
		return;
	/* The link may say so while it takes a packet of this queue pair, so that its timer ends it. */
	tx->armed = now;
	host->timer_start(host->self, &qp->timer, now);
}

/* --- answers ------------------------------------------------------------------------------ */

static void
nak(struct vro_qp *qp, uint8_t syndrome)
{
	struct vro_requester *tx = &qp->tx;
	const struct ri_host *host = qp->engine->host;

	if ((syndrome & ROCE_SYN_KIND) == ROCE_SYN_RNR) {
		if (tx->halted)
			return;
		if (tx->rnr_retries == 0) {
			request_fail(qp, RI_WC_RNR);
			return;
		}
		if (qp->path.rnr_retries != VRO_RNR_FOR_EVER)
			tx->rnr_retries--;
		ri_count(&qp->count->retries, 1);
		tx->halted = true;
		tx->wanted = true;
		tx->went_back = false;
		tx->rnr_until = host->now(host->self) + roce_rnr_time(syndrome & ROCE_SYN_VALUE);
		position_move(qp, tx->una);
		return;
	}
	switch (syndrome) {
	case ROCE_NAK_SEQUENCE:
		tx->wanted = true;
		go_back(qp);
		break;
	case ROCE_NAK_INVALID:
		request_fail(qp, RI_WC_REMOTE_INVALID_REQ);
		break;
	case ROCE_NAK_ACCESS:
		request_fail(qp, RI_WC_REMOTE_ACCESS);
		break;
	case ROCE_NAK_OPERATION:
		request_fail(qp, RI_WC_REMOTE_OPERATION);
		break;
	default: /* reserved */
		break;
	}
}

static void
read_arrived(struct vro_qp *qp, struct vro_request *r, const struct roce_packet *p)
{
	uint32_t offset = r->got * qp->path.mtu;
	uint32_t left = r->wqe->length - offset;

	if (p->payload_length != (left < qp->path.mtu ? left : qp->path.mtu)) {
		request_fail(qp, RI_WC_BAD_RESPONSE);
		return;
	}
	if (vro_segments_copy(qp, r->wqe, offset, (uint8_t *)(uintptr_t)p->payload,
			      p->payload_length, true) != VSW_MEM_OK) {
		request_fail(qp, RI_WC_LOCAL_PROTECTION);
		return;
	}
	r->got++;
}

static void
atomic_arrived(struct vro_qp *qp, struct vro_request *r, const struct roce_packet *p)
{
	uint64_t old = p->original;

	if (vro_segments_copy(qp, r->wqe, 0, (uint8_t *)&old, sizeof(old), true) != VSW_MEM_OK) {
		request_fail(qp, RI_WC_LOCAL_PROTECTION);
		return;
	}
	r->got++;
}

/* A packet that answers the oldest Read or atomic. */
static void
answer_arrived(struct vro_qp *qp, const struct roce_packet *p)
{
	struct vro_requester *tx = &qp->tx;
	struct vro_request *r = tx->oldest != tx->taken ? request_at(qp, tx->oldest) : NULL;
	bool atomic = (p->opcode & 0x1f) == ROCE_ATOMIC_ACK;

	if (r == NULL || tx->una != p->psn || r->packets == 0)
		return;
	if (!is_asking(r) || atomic == (r->wqe->opcode == RI_OP_RDMA_READ)) {
		request_fail(qp, RI_WC_BAD_RESPONSE);
		return;
	}
	if (atomic)
		atomic_arrived(qp, r, p);
	else
		read_arrived(qp, r, p);
	if (qp->state != VRO_RTS)
		return;
	tx->una = roce_add(tx->una, 1);
	progress(qp, 1);
	if (r->got == r->packets) {
		enum vsw_mem_result result = VSW_MEM_OK;

		if (!atomic && (r->wqe->flags & RI_WR_INVALIDATE) != 0)
			result = vsw_mem_invalidate(qp->in.mem, &qp->in.who, r->wqe->sge[0].stag,
						    false);
		if (result == VSW_MEM_OK)
			vro_request_complete(qp, RI_WC_SUCCESS);
		else
			request_fail_by(qp, RI_WC_LOCAL_MM, result);
	}
	if (qp->state == VRO_RTS && roce_diff(tx->una, position(qp)) > 0)
		position_move(qp, tx->una);
}

void
vro_requester_answer(struct vro_qp *qp, const struct roce_packet *p)
{
	struct vro_requester *tx = &qp->tx;
	bool is_ack = (p->opcode & 0x1f) == ROCE_ACK;
	bool positive = is_ack && (p->syndrome & ROCE_SYN_KIND) == ROCE_SYN_ACK;

	/* Neither older than what is missing, nor beyond what was sent. */
	if (qp->state != VRO_RTS || roce_diff(p->psn, tx->una) < 0 ||
	    roce_diff(p->psn, tx->end) >= 0)
		return;
	if (is_ack && (p->syndrome & ROCE_SYN_KIND) == 0x40)
		return; /* reserved */
	vro_qp_mark(qp);
	if (!acknowledge(qp, positive ? roce_add(p->psn, 1) : p->psn)) {
		if (is_ack && !positive && (p->syndrome & ROCE_SYN_KIND) == ROCE_SYN_NAK &&
		    p->syndrome != ROCE_NAK_SEQUENCE)
			request_fail(qp,
				     RI_WC_TRANSPORT); /* a lost answer that will not be repeated */
		else
			go_back(qp);
		return;
	}
	if (qp->state != VRO_RTS || positive)
		return;
	if (is_ack)
		nak(qp, p->syndrome);
	else
		answer_arrived(qp, p);
}

/* --- ends --------------------------------------------------------------------------------- */

void
vro_requester_flush(struct vro_qp *qp)
{
	struct vro_requester *tx = &qp->tx;

	do {
		while (tx->oldest != tx->taken)
			vro_request_complete(qp, RI_WC_FLUSHED);
	} while (request_take(qp));
	tx->current = tx->taken;
	tx->at = 0;
	tx->halted = false;
	vro_requester_count(qp, true);
}
