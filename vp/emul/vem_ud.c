/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Datagrams, InfiniBand personality.
 *
 * Queue pairs for datagrams have no connection: they run from their creation on, and a sender finds the
 * receiver by its number in a table of the fabric. The sender has a use of the receiver (`inside`) for one
 * delivery. A queue pair that is destroyed leaves the table first and then waits for the uses.
 *
 * A datagram that cannot be delivered is dropped, and its sender is not told. Reasons are: no such queue pair,
 * one that does not run, a port that is down, another key, no receive, a receive that is too small. Such a
 * receive stays for the next datagram (`rx_have`). If another thread delivers to the same receiver at this
 * instant, the datagram is not dropped: the sender's task tries again. Only a queue pair's own requests and
 * own receives can fail. They complete with their status, end the queue pair, and raise the event that names
 * the failure, since there is no end of a connection to raise.
 *
 * The data of every receive follows the route header of InfiniBand, 40 bytes, as if each datagram had come
 * through a router: the fabric has no local identifiers.
 */
#include "vem_ud.h"

#include <string.h>

#include "vem_fault.h"
#include "vem_path.h"

#define PACKET_OVERHEAD \
	24u /* of BTH, DETH and checksum, which the length in the route header includes */

/* --- receivers ---------------------------------------------------------------------------- */

static struct vem_item *
ud_row_of(struct vem_fabric *fabric, uint32_t qpn)
{
	return &fabric->ud_rows[qpn % VEM_UD_ROWS];
}

void
vem_ud_enter(struct vem_qp *qp)
{
	struct vem_fabric *fabric = qp->rnic->fabric;

	vsw_lock(&fabric->ud_lock);
	vem_list_add(ud_row_of(fabric, qp->in.who.qpn), &qp->ud_item);
	vsw_unlock(&fabric->ud_lock);
}

void
vem_ud_leave(struct vem_qp *qp)
{
	struct vem_fabric *fabric = qp->rnic->fabric;

	vem_mcast_leave(qp);
	vsw_lock(&fabric->ud_lock);
	vem_list_remove(&qp->ud_item);
	vsw_unlock(&fabric->ud_lock);
}

/* Begin a use of the queue pair with this number; NULL: there is none. Ends with receiver_put. */
static struct vem_qp *
receiver_get(struct vem_fabric *fabric, uint32_t qpn)
{
	struct vem_item *row = ud_row_of(fabric, qpn);
	struct vem_qp *found = NULL;

	vsw_lock(&fabric->ud_lock);
	for (struct vem_item *i = row->next; i != row && found == NULL; i = i->next) {
		struct vem_qp *qp = vem_of(i, struct vem_qp, ud_item);
		if (qp->in.who.qpn == qpn)
			found = qp;
	}
	if (found != NULL)
		atomic_fetch_add(&found->inside, 1);
	vsw_unlock(&fabric->ud_lock);
	return found;
}

static void
receiver_put(struct vem_qp *qp)
{
	atomic_fetch_sub(&qp->inside, 1);
}

void
vem_ud_begin(struct vem_qp *qp)
{
	(void)vem_qp_move(qp, VEM_MOVE_CONNECT, NULL);
	(void)vem_qp_move(qp, VEM_MOVE_UP, NULL);
	atomic_store(&qp->open, true);
}

/* --- failures ----------------------------------------------------------------------------- */

/* A request or receive of the queue pair has failed: end it. */
static void
ud_qp_fail(struct vem_qp *qp, enum ri_wc_status status)
{
	bool protection = status == RI_WC_LOCAL_PROTECTION;
	struct vem_cause cause = {.kind = RI_CM_BROKEN,
				  .async = protection ? RI_EVENT_QP_ACCESS
						      : RI_EVENT_QP_CATASTROPHIC};

	vem_qp_move(qp, VEM_MOVE_FAULT, &cause);
}

/* --- delivery ----------------------------------------------------------------------------- */

/* Is there a receive that is large enough? Takes one if none is taken. Owner of the role `in.role`. */
static bool
receive_ready(struct vem_qp *qp, uint32_t length)
{
	if (!atomic_load(&qp->in.have) && vsw_rq_take(&qp->in.rq, qp->in.wqe, &qp->in.index))
		atomic_store(&qp->in.have, true);
	return atomic_load(&qp->in.have) && qp->in.wqe->length >= VEM_GRH + length;
}

#define UD_MESSAGE_LOST UINT32_MAX /* of ud_place: a page of the sender is lost */

/* Place header and data into the receive that is taken. Returns its status, or UD_MESSAGE_LOST. */
static uint32_t
ud_place(struct vem_qp *to, const struct vem_target *target, const struct vsw_spans *message,
	 uint32_t length)
{
	uint32_t counted = ((length + 3) & ~3u) + PACKET_OVERHEAD;
	uint32_t status = RI_WC_SUCCESS;
	struct vsw_spans sink;
	uint8_t grh[VEM_GRH];

	if (vsw_spans_begin(to->rnic->mem, &to->in.receiver, to->in.wqe, VEM_GRH + length,
			    RI_ACCESS_LOCAL_WRITE, &sink) != VSW_MEM_OK)
		return RI_WC_LOCAL_PROTECTION;
	memcpy(grh, target->grh, sizeof(grh));
	grh[4] = (uint8_t)(counted >> 8);
	grh[5] = (uint8_t)counted;
	if (!vsw_spans_fill(&sink, grh, VEM_GRH) || !vsw_spans_copy(&sink, VEM_GRH, message)) {
		const void *lost = vsw_guard_take();

		if (vsw_spans_have(message, lost))
			status = UD_MESSAGE_LOST;
		else
			status = vsw_spans_have(&sink, lost) ? RI_WC_LOCAL_PROTECTION
							     : RI_WC_LOCAL_QP;
	}
	vsw_spans_end(&sink);
	return status;
}

/* The caller owns the role `in.role` of `to`. False: a page of the message is lost; the receive stays. */
static bool
ud_deliver(const struct vem_qp *qp, struct vem_qp *to, const struct vsw_spans *message)
{
	const struct vsw_wqe *wqe = qp->tx_wqe;

	if (atomic_load(&to->state) != RI_QPS_RTS || !receive_ready(to, wqe->length))
		return true;

	uint32_t status = ud_place(to, &qp->tx_target, message, wqe->length);
	if (status == UD_MESSAGE_LOST)
		return false;

	struct vsw_cqe cqe = {
		.wr_id = to->in.wqe->wr_id,
		.qp_ctx = to->in.ctx,
		.byte_len = VEM_GRH + wqe->length,
		.status = (uint8_t)status,
		.opcode = RI_OP_RECV_UD,
		.flags = RI_WC_RECEIVE | RI_WC_GRH,
		.src_qpn = qp->in.who.qpn,
		.wq = to->in.rq.number,
		.wq_index = to->in.index,
	};
	memcpy(cqe.src_addr, qp->tx_target.grh + 8, sizeof(cqe.src_addr));
	if ((wqe->flags & RI_WR_IMMEDIATE) != 0) {
		cqe.flags |= RI_WC_IMMEDIATE;
		cqe.inv_stag = wqe->inv_stag;
	}
	if (cqe.status != RI_WC_SUCCESS || (wqe->flags & RI_WR_SOLICITED) != 0 ||
	    (to->in.wqe->flags & RI_WR_NOTIFY) != 0)
		cqe.flags |= RI_WC_SOLICITED;
	atomic_store(&to->in.have, false);
	if (cqe.status != RI_WC_SUCCESS)
		ud_qp_fail(to, (enum ri_wc_status)cqe.status);
	vem_rq_complete(to, &cqe);
	return true;
}

/* The key that is sent: a controlled one only if the sender may use it, otherwise the queue pair's own. */
static uint32_t
ud_key_of(const struct vem_qp *qp)
{
	uint32_t key = qp->tx_wqe->u.ud.qkey;

	if ((key & VEM_KEY_CONTROLLED) != 0 && !qp->pd->context->owner.privileged)
		key = atomic_load(&qp->qkey);
	return key;
}

/*
 * Deliver or drop the datagram, and end the use of the receiver. False: another thread owns the role for the receives; try
 * again. *there: all pages of the message were there.
 */
static bool
ud_hand_to(struct vem_qp *qp, struct vem_qp *to, const struct vsw_spans *message, bool *there)
{
	bool done = true;

	if (vem_fault_offline(qp->rnic) || vem_fault_offline(to->rnic) || vem_path_loses(qp, to)) {
		receiver_put(to);
		return true;
	}
	if (atomic_load(&to->qkey) == ud_key_of(qp)) {
		done = vsw_role_take(&to->in.role);
		if (done) {
			*there = ud_deliver(qp, to, message);
			vem_rx_leave(to);
		}
	}
	receiver_put(to);
	return done;
}

/* To each member of the group, in the order in which they came. As above; a second run goes on where the first one ended. */
static bool
ud_hand_around(struct vem_qp *qp, const struct vsw_spans *message, bool *there)
{
	struct vem_fabric *fabric = qp->rnic->fabric;
	const uint8_t *gid = qp->tx_target.grh + 24;

	if (qp->tx_wqe->u.ud.qpn != VEM_QPN_GROUP)
		return true;
	if (qp->tx_last == 0)
		qp->tx_last = vem_mcast_last(fabric);
	while (*there) {
		uint64_t after = qp->tx_member;
		struct vem_qp *to = vem_mcast_next(fabric, gid, &after, qp->tx_last);

		if (to == NULL)
			break;
		if (!ud_hand_to(qp, to, message, there))
			return false;
		qp->tx_member = after;
	}
	return true;
}

static bool
ud_hand_over(struct vem_qp *qp, const struct vsw_spans *message, bool *there)
{
	struct vem_qp *to;

	if (__builtin_expect(vem_gid_is_group(qp->tx_target.grh + 24), 0))
		return ud_hand_around(qp, message, there);
	to = receiver_get(qp->rnic->fabric, qp->tx_wqe->u.ud.qpn);
	return to == NULL || ud_hand_to(qp, to, message, there);
}

/* --- sending ------------------------------------------------------------------------------ */

static bool
ud_request_finish(struct vem_qp *qp, enum ri_wc_status status)
{
	atomic_store(&qp->tx_target_have, false);
	qp->tx_member = qp->tx_last = 0;
	/* The state first: a thread that sees the failed completion may reset the queue pair at once. */
	if (status != RI_WC_SUCCESS)
		ud_qp_fail(qp, status);
	vem_sq_complete(qp, status);
	return true;
}

bool
vem_ud_execute(struct vem_qp *qp)
{
	const struct ri_host *host = qp->rnic->host;
	const struct vsw_wqe *wqe = qp->tx_wqe;
	struct vsw_spans message;

	if (wqe->opcode != RI_OP_SEND_UD || wqe->num_sge > VEM_MAX_SGE)
		return ud_request_finish(qp, RI_WC_LOCAL_QP); /* the entry is corrupt */
	if (wqe->length > VEM_MAX_DATAGRAM)
		return ud_request_finish(qp, RI_WC_LOCAL_LENGTH);
	/* The destination is looked up once, whatever happens to the address handle afterwards. */
	if (!atomic_load(&qp->tx_target_have) &&
	    !vem_ah_find(qp->rnic, wqe->u.ud.ah, qp->pd, &qp->tx_target))
		return ud_request_finish(qp, RI_WC_LOCAL_QP);
	atomic_store(&qp->tx_target_have, true);
	if (vsw_spans_gather(qp->rnic->mem, &qp->in.who, qp->tx_wqe, &message) != VSW_MEM_OK)
		return ud_request_finish(qp, RI_WC_LOCAL_PROTECTION);
	bool there = true;
	bool done = ud_hand_over(qp, &message, &there);
	vsw_spans_end(&message);
	if (done)
		return ud_request_finish(qp, there ? RI_WC_SUCCESS : RI_WC_LOCAL_PROTECTION);
	atomic_store(&qp->recheck, true);
	host->task_run(host->self, &qp->task);
	return false;
}
