/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Datagrams: one packet each, to the address of its handle, and unanswered. The route header is
 * placed before the data in the receive. If there is no receive, or it is too short, the datagram
 * is dropped and the receive stays.
 */
#include <string.h>

#include "vro_qp.h"

bool
vro_ud_send(struct vro_qp *qp, struct vro_request *r)
{
	const struct vsw_wqe *wqe = r->wqe;
	bool immediate = (wqe->flags & RI_WR_IMMEDIATE) != 0;
	/* A controlled key stands for the queue pair's own, unless the sender may use it. */
	bool own = (wqe->u.ud.qkey & VRO_KEY_CONTROLLED) != 0 && !qp->privileged;
	struct roce_packet p = {
		.opcode = ROCE_UD | (immediate ? ROCE_SEND_ONLY_IMM : ROCE_SEND_ONLY),
		.pkey = qp->path.pkey,
		.qpn = wqe->u.ud.qpn & ROCE_24,
		.psn = r->first,
		.solicited = (wqe->flags & RI_WR_SOLICITED) != 0,
		.qkey = own ? qp->qkey : wqe->u.ud.qkey,
		.source_qpn = qp->qpn,
		.immediate = wqe->inv_stag,
		.payload_length = wqe->length,
	};
	struct roce_flow flow;

	if (!qp->ops->address(qp, wqe->u.ud.ah, &flow)) {
		r->status = RI_WC_LOCAL_QP;
		return false;
	}
	flow.slot = vro_slot(p.qpn);

	uint8_t *at = vro_room(qp);

	if (at == NULL)
		return false;
	if (vro_segments_copy(qp, r->wqe, 0, at + roce_head_size(roce_parts(p.opcode)), wqe->length,
			      false) != VSW_MEM_OK) {
		r->status = RI_WC_LOCAL_PROTECTION;
		return false;
	}
	vro_send(qp, at, &flow, &p);
	qp->tx.at++;
	return true;
}

/* Place header and payload into the receive that is taken. */
static enum ri_wc_status
datagram_place(struct vro_qp *qp, const uint8_t grh[ROCE_GRH], const struct roce_packet *p)
{
	struct vsw_responder *in = &qp->in;
	struct vsw_spans octets;
	struct vsw_spans sink;
	bool placed;

	vsw_spans_of(&octets, p->payload, p->payload_length);
	if (vsw_spans_begin(in->mem, &in->receiver, in->wqe, ROCE_GRH + p->payload_length,
			    RI_ACCESS_LOCAL_WRITE, &sink) != VSW_MEM_OK)
		return RI_WC_LOCAL_PROTECTION;
	placed = vsw_spans_fill(&sink, grh, ROCE_GRH) && vsw_spans_copy(&sink, ROCE_GRH, &octets);
	vsw_spans_end(&sink);
	return placed ? RI_WC_SUCCESS : RI_WC_LOCAL_PROTECTION;
}

void
vro_ud_packet(struct vro_qp *qp, const struct roce_flow *flow, const struct roce_packet *p,
	      size_t len)
{
	struct vsw_responder *in = &qp->in;
	struct vsw_cqe cqe = {
		.qp_ctx = in->ctx,
		.byte_len = ROCE_GRH + p->payload_length,
		.opcode = RI_OP_RECV_UD,
		.flags = RI_WC_RECEIVE | RI_WC_GRH,
		.src_qpn = p->source_qpn,
	};
	uint8_t grh[ROCE_GRH];

	if (!atomic_load(&in->have)) {
		enum vsw_srq_result result = vsw_receive_take(in, &cqe);

		if (result == VSW_SRQ_TAKEN) {
			in->number = cqe.wq;
			in->index = cqe.wq_index;
			in->shared = cqe.shared;
			atomic_store(&in->have, true);
		} else {
			atomic_store(&in->awaited, 0);
			vsw_srq_leave(&in->member);
		}
	}
	if (!atomic_load(&in->have) || in->wqe->length < ROCE_GRH + p->payload_length) {
		qp->engine->counts[VRO_DROPPED]++;
		return;
	}
	roce_grh_write(grh, flow, len);
	cqe.status = (uint8_t)datagram_place(qp, grh, p);
	cqe.wr_id = in->wqe->wr_id;
	cqe.wq = in->number;
	cqe.wq_index = in->index;
	cqe.shared = in->shared;
	memcpy(cqe.src_addr, flow->source, sizeof(cqe.src_addr));
	if ((roce_parts(p->opcode) & ROCE_HAS_IMM) != 0) {
		cqe.flags |= RI_WC_IMMEDIATE;
		cqe.inv_stag = p->immediate;
	}
	if (cqe.status != RI_WC_SUCCESS || p->solicited || (in->wqe->flags & RI_WR_NOTIFY) != 0)
		cqe.flags |= RI_WC_SOLICITED;
	atomic_store(&in->have, false);
	if (!vsw_cq_push(in->cq, &cqe)) {
		vro_qp_fail(qp, RI_EVENT_QP_CQ_RQ_ERROR, "a completion queue is full");
		return;
	}
	if (in->member.srq != NULL)
		in->ops->limits(in);
	if (cqe.status != RI_WC_SUCCESS)
		vro_qp_fail(qp, RI_EVENT_QP_ACCESS, "the receive of a datagram cannot be written");
}
