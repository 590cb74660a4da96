/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Reads on a wire: the octets of a Read come in pieces, and requests posted after it without a
 * fence may be executed before it. Such a request completes in its turn: its response is kept until
 * then.
 */
#include <stdlib.h>

#include "ri_log.h"
#include "vem_path.h"
#include "vem_peer.h"
#include "vem_tap.h"
#include "vem_wire_state.h"

/* Does the Read that is taken come in pieces? */
bool
vem_wire_read_is_cut(const struct vem_wire *wire)
{
	return wire->qp->tx_wqe->opcode == RI_OP_RDMA_READ && wire->qp->tx_wqe->length > 1 &&
	       vem_wire_is_free(wire->qp, VEM_FREE_TORN);
}

/* Both sides of the Read that is taken; the caller ends *sink and *source. False: it is refused, or fails. */
static bool
read_begin(struct vem_qp *qp, struct vem_qp *peer, struct vsw_spans *sink, struct vsw_spans *source)
{
	const struct vsw_wqe *wqe = qp->tx_wqe;
	const struct vsw_message message = {
		.length = wqe->length, .flags = wqe->flags, .remote = &wqe->u.remote};
	const bool iwarp = qp->rnic->fabric->personality == VEM_IWARP;
	bool good;

	if (atomic_load(&qp->ord) == 0 ||
	    (iwarp && (atomic_load(&qp->in.access) & RI_ACCESS_REMOTE_WRITE) == 0) ||
	    vsw_respond_read(&peer->in, &message, 0, wqe->length, source) != NULL)
		return false;
	good = vsw_spans_begin(qp->rnic->mem, &qp->in.who, wqe, wqe->length,
			       iwarp ? RI_ACCESS_REMOTE_WRITE : RI_ACCESS_LOCAL_WRITE,
			       sink) == VSW_MEM_OK;
	if (!good)
		vsw_spans_end(source);
	return good;
}

/* The next part of it. */
static bool
read_part(struct vem_wire *wire, struct vem_qp *peer)
{
	struct vem_qp *qp = wire->qp;
	const struct part *part = &wire->part[wire->next];
	struct vsw_spans sink, source, to, from;
	bool good;

	if (!read_begin(qp, peer, &sink, &source))
		return false;
	vem_wire_narrow(&sink, part, &to);
	vem_wire_narrow(&source, part, &from);
	good = vsw_spans_copy(&to, 0, &from);
	vsw_spans_end(&sink);
	vsw_spans_end(&source);
	ri_log(qp->rnic->host, RI_LOG_DEBUG,
	       &(struct ri_log_about){.layer = "emul", .qpn = vem_qp_number(qp)},
	       "octets %u to %u of a Read of %u are taken", part->at, part->at + part->len,
	       qp->tx_wqe->length);
	return good;
}

/* A part of the Read that is taken, or its end. False: it does not succeed; `deliver` finds out why, and reports it. */
bool
vem_wire_read(struct vem_wire *wire, struct vem_qp *peer, bool *done)
{
	struct vem_qp *qp = wire->qp;
	struct vsw_wqe *wqe = qp->tx_wqe;

	if (!read_part(wire, peer))
		return false;
	*done = false;
	if (++wire->next < wire->parts) {
		vem_wire_wait(wire, STAGE_UNDER_WAY);
		return true;
	}
	wire->stage = STAGE_IDLE;
	vem_path_tell(qp->rnic, wire->number, false, wqe->length, wqe->length);
	vem_tap_begin(qp, peer);
	*done = true;
	if ((wqe->flags & RI_WR_INVALIDATE) != 0 &&
	    vsw_mem_invalidate(qp->rnic->mem, &qp->in.who, wqe->sge[0].stag, false) != VSW_MEM_OK)
		*done = vem_fail_here(qp, RI_WC_LOCAL_MM);
	else
		vem_sq_complete(qp, RI_WC_SUCCESS);
	vem_tap_done(qp, *done);
	return true;
}

/* Carry the request out that was looked at. False: it is not done. */
static bool
carry_out(struct vem_wire *wire, struct vem_qp *peer, const struct vsw_refusal **answer)
{
	struct vem_qp *qp = wire->qp;
	struct vsw_wqe *wqe = wire->looked_at;
	const struct vsw_message message = {.length = wqe->length,
					    .flags = wqe->flags,
					    .extra = wqe->inv_stag,
					    .remote = &wqe->u.remote};
	const bool write = vem_wire_is_write(wqe);
	struct vsw_spans local;
	const struct vsw_piece all = {.octets = &local, .length = wqe->length, .last = true};
	uint64_t number;

	if ((!write && wqe->opcode != RI_OP_SEND) ||
	    (wqe->flags & (RI_WR_READ_FENCE | RI_WR_LOCAL_FENCE)) != 0 ||
	    wqe->num_sge > VEM_MAX_SGE || wqe->length > VEM_MAX_MESSAGE ||
	    vsw_spans_gather(qp->rnic->mem, &qp->in.who, wqe, &local) != VSW_MEM_OK)
		return false;
	*answer = write ? vsw_respond_write(&peer->in, &message, &all)
			: vsw_respond_send(&peer->in, &message, &all);
	vsw_spans_end(&local);
	if (*answer == &vsw_no_receive)
		return false;
	number = vem_path_count(qp->rnic);
	vem_path_tell(qp->rnic, number, write, 0, wqe->length);
	vem_path_tell(qp->rnic, number, write, wqe->length, wqe->length);
	ri_log(qp->rnic->host, RI_LOG_DEBUG,
	       &(struct ri_log_about){.layer = "emul", .qpn = vem_qp_number(qp)},
	       "a %s overtakes what was posted before it", write ? "Write" : "Send");
	return true;
}

/* Some of the requests behind the one that is taken are carried out, up to the first one that has to wait. */
void
vem_wire_overtake(struct vem_wire *wire, struct vem_qp *peer)
{
	struct vem_qp *qp = wire->qp;
	unsigned most = 1 + (unsigned)vem_wire_draw(qp, AHEAD_MAX), looked = 0;
	struct vsw_spans sink, source;
	uint32_t index;

	wire->ahead = wire->ahead_next = 0;
	/* A request behind one that fails is not executed. */
	if (!read_begin(qp, peer, &sink, &source))
		return;
	vsw_spans_end(&sink);
	vsw_spans_end(&source);
	if (wire->looked_at == NULL)
		wire->looked_at =
			calloc(1, sizeof(struct vsw_wqe) +
					  vsw_wqe_tail(vsw_larger(qp->sq.max_sge, VEM_MAX_SGE),
						       qp->init.max_inline));
	if (wire->looked_at == NULL || !vsw_role_take(&peer->in.role))
		return;
	while (wire->ahead < most && vem_qp_takes(peer) && qp->sq.new_ring == NULL &&
	       vsw_wq_take(&qp->sq, wire->looked_at, &index)) {
		looked++;
		if (!carry_out(wire, peer, &wire->answers[wire->ahead]))
			break;
		if (wire->answers[wire->ahead++] != NULL)
			break; /* it ends the connection when its turn comes */
	}
	vsw_wq_give_back(&qp->sq, looked);
	vem_rx_leave(peer);
}

/* The turn of a request that was carried out already. Returns whether it is done. */
bool
vem_wire_ahead(struct vem_wire *wire, struct vem_qp *peer)
{
	struct vem_qp *qp = wire->qp;
	const struct vsw_refusal *answer = wire->answers[wire->ahead_next++];
	bool done = true;

	vem_tap_begin(qp, peer);
	if (answer == NULL)
		vem_sq_complete(qp, RI_WC_SUCCESS);
	else if (answer == &vsw_octets_lost)
		done = vem_fail_here(qp, RI_WC_LOCAL_PROTECTION);
	else
		done = vem_fail_there(qp, peer, answer);
	vem_tap_done(qp, done);
	return done;
}
