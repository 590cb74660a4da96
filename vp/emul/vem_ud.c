/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Datagrams, InfiniBand personality.
 *
 * Queue pairs for datagrams have no connection: they run from their creation on, and a sender finds the
 * receiver by its number in a table of the fabric. The sender has a use of the receiver (`inside`) for one
 * delivery. A queue pair that is destroyed leaves the table first and then waits for the uses.
 *
 * A datagram that cannot be delivered is dropped, and its sender is not notified. Reasons are: no such queue pair, one
 * that does not run, a port that is down, another key, no receive, a receive that is too small. Such a receive stays
 * for the next datagram (`rx_have`). If another thread delivers to the same receiver at this instant, the datagram is
 * not dropped: the sender's task tries again. Only a queue pair's own requests and own receives can fail. They complete
 * with their status, end the queue pair, and raise the event that names the failure, since there is no end of a
 * connection to raise.
 *
 * The data of every receive follows the route header of InfiniBand, 40 bytes, as if each datagram had come
 * through a router: the fabric has no local identifiers.
 *
 * Between processes the block of a number says which process has the receiver. A datagram to another process goes
 * through a link (shm/vem_remote_ud.c), and vem_ud_arrived delivers datagrams from there.
 */
#include "vem_ud.h"

#include <string.h>

#include "vem_fault.h"
#include "vem_path.h"
#include "vem_remote.h"
#include "vem_tap.h"

#define PACKET_OVERHEAD \
	24u /* of BTH, DETH and checksum, which the length in the route header includes */

/* --- receivers ---------------------------------------------------------------------------- */

static struct vsw_item *
ud_row_of(struct vem_fabric *fabric, uint32_t qpn)
{
	return &fabric->ud_rows[qpn % VEM_UD_ROWS];
}

void
vem_ud_enter(struct vem_qp *qp)
{
	struct vem_fabric *fabric = qp->rnic->fabric;

	vsw_lock(&fabric->ud_lock);
	vsw_list_add(ud_row_of(fabric, qp->in.who.qpn), &qp->ud_item);
	vsw_unlock(&fabric->ud_lock);
}

void
vem_ud_leave(struct vem_qp *qp)
{
	struct vem_fabric *fabric = qp->rnic->fabric;

	vem_mcast_leave(qp);
	vsw_lock(&fabric->ud_lock);
	vsw_list_remove(&qp->ud_item);
	vsw_unlock(&fabric->ud_lock);
}

/* Begin a use of the queue pair with this number; NULL: there is none. Ends with receiver_put. */
static struct vem_qp *
receiver_get(struct vem_fabric *fabric, uint32_t qpn)
{
	struct vsw_item *row = ud_row_of(fabric, qpn);
	struct vem_qp *found = NULL;

	vsw_lock(&fabric->ud_lock);
	for (struct vsw_item *i = row->next; i != row && found == NULL; i = i->next) {
		struct vem_qp *qp = vsw_of(i, struct vem_qp, ud_item);
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
ud_place(struct vem_qp *to, const struct vem_datagram *datagram)
{
	const struct vsw_spans *message = datagram->octets;
	uint32_t length = datagram->length;
	uint32_t counted = ((length + 3) & ~3u) + PACKET_OVERHEAD;
	uint32_t status = RI_WC_SUCCESS;
	struct vsw_spans sink;
	uint8_t grh[VEM_GRH];

	if (vsw_spans_begin(to->rnic->mem, &to->in.receiver, to->in.wqe, VEM_GRH + length,
			    RI_ACCESS_LOCAL_WRITE, &sink) != VSW_MEM_OK)
		return RI_WC_LOCAL_PROTECTION;
	memcpy(grh, datagram->grh, sizeof(grh));
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
ud_deliver(const struct vem_datagram *datagram, struct vem_qp *to)
{
	if (atomic_load(&to->state) != RI_QPS_RTS || !receive_ready(to, datagram->length))
		return true;

	uint32_t status = ud_place(to, datagram);
	if (status == UD_MESSAGE_LOST)
		return false;

	struct vsw_cqe cqe = {
		.wr_id = to->in.wqe->wr_id,
		.qp_ctx = to->in.ctx,
		.byte_len = VEM_GRH + datagram->length,
		.status = (uint8_t)status,
		.opcode = RI_OP_RECV_UD,
		.flags = RI_WC_RECEIVE | RI_WC_GRH,
		.src_qpn = datagram->from,
		.wq = to->in.rq.number,
		.wq_index = to->in.index,
	};
	memcpy(cqe.src_addr, datagram->grh + 8, sizeof(cqe.src_addr));
	if ((datagram->flags & RI_WR_IMMEDIATE) != 0) {
		cqe.flags |= RI_WC_IMMEDIATE;
		cqe.inv_stag = datagram->extra;
	}
	if (cqe.status != RI_WC_SUCCESS || (datagram->flags & RI_WR_SOLICITED) != 0 ||
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
 * Deliver or drop the datagram, and end the use of the receiver. False: another thread owns the
 * role for the receives; try again. *there: whether all pages of the message could be read.
 */
static bool
ud_hand_to(struct vem_qp *qp, struct vem_qp *to, const struct vem_datagram *datagram, bool *there)
{
	bool done = true;

	if (vem_fault_offline(qp->rnic) || vem_fault_offline(to->rnic) || vem_path_loses(qp, to)) {
		receiver_put(to);
		return true;
	}
	if (atomic_load(&to->qkey) == datagram->key) {
		done = vsw_role_take(&to->in.role);
		if (done) {
			*there = ud_deliver(datagram, to);
			vem_rx_leave(to);
		}
	}
	receiver_put(to);
	return done;
}

/*
 * Deliver to each member of the group in this process, in the order in which they joined, then to
 * those of other processes. The results are those of ud_hand_to; a second call continues where the
 * first one stopped.
 */
static bool
ud_hand_around(struct vem_qp *qp, const struct vem_datagram *datagram, bool *there)
{
	struct vem_fabric *fabric = qp->rnic->fabric;
	const uint8_t *gid = datagram->grh + 24;

	if (qp->tx_wqe->u.ud.qpn != VEM_QPN_GROUP)
		return true;
	if (qp->tx_last == 0)
		qp->tx_last = vem_mcast_last(fabric);
	while (*there) {
		uint64_t after = qp->tx_member;
		struct vem_qp *to = vem_mcast_next(fabric, gid, &after, qp->tx_last);

		if (to == NULL)
			break;
		if (!ud_hand_to(qp, to, datagram, there))
			return false;
		qp->tx_member = after;
	}
	return fabric->shm == NULL || !*there || vem_remote_ud_around(qp, datagram, there);
}

static bool
ud_hand_over(struct vem_qp *qp, const struct vem_datagram *datagram, bool *there)
{
	struct vem_fabric *fabric = qp->rnic->fabric;
	uint32_t qpn = qp->tx_wqe->u.ud.qpn;
	struct vem_qp *to;

	if (__builtin_expect(vem_gid_is_group(datagram->grh + 24), 0))
		return ud_hand_around(qp, datagram, there);
	if (fabric->shm != NULL && qpn >> VEM_BLOCK_BITS != fabric->shm->block)
		return vem_remote_ud_send(qp, datagram, there);
	to = receiver_get(fabric, qpn);
	return to == NULL || ud_hand_to(qp, to, datagram, there);
}

/* --- from other processes ----------------------------------------------------------------- */

/* Returns whether the port is down; otherwise a capture may get the datagram. */
static __attribute__((cold, noinline)) bool
arrives_apart(struct vem_qp *to, const struct vem_datagram *datagram)
{
	if (vem_fault_offline(to->rnic))
		return true;
	vem_tap_arrived(to, datagram);
	return false;
}

/* Deliver or drop it, and end the use of the receiver. Nobody repeats it. */
static void
arrived_for(struct vem_qp *to, const struct vem_datagram *datagram)
{
	if (!(vem_fault_apart(to->rnic) && arrives_apart(to, datagram)) &&
	    atomic_load(&to->qkey) == datagram->key && vem_remote_receives_take(to)) {
		(void)ud_deliver(datagram, to);
		vem_rx_leave(to);
	}
	receiver_put(to);
}

void
vem_ud_arrived(struct vem_fabric *fabric, uint32_t qpn, const struct vem_datagram *datagram)
{
	const uint8_t *gid = datagram->grh + 24;
	uint64_t after = 0, last;
	struct vem_qp *to;

	if (!vem_gid_is_group(gid)) {
		to = receiver_get(fabric, qpn);
		if (to != NULL)
			arrived_for(to, datagram);
		return;
	}
	last = qpn == VEM_QPN_GROUP ? vem_mcast_last(fabric) : 0;
	while ((to = vem_mcast_next(fabric, gid, &after, last)) != NULL)
		arrived_for(to, datagram);
}

/* The next queue pair that waits for a link, with a use of it; it does not wait any more. NULL: none. */
static struct vem_qp *
waiting_get(struct vem_fabric *fabric)
{
	struct vem_qp *found = NULL;

	vsw_lock(&fabric->ud_lock);
	for (uint32_t row = 0; row < VEM_UD_ROWS && found == NULL; row++) {
		struct vsw_item *head = &fabric->ud_rows[row];

		for (struct vsw_item *i = head->next; i != head && found == NULL; i = i->next) {
			struct vem_qp *qp = vsw_of(i, struct vem_qp, ud_item);

			if (atomic_load(&qp->ud_waits) && atomic_exchange(&qp->ud_waits, false))
				found = qp;
		}
	}
	if (found != NULL)
		atomic_fetch_add(&found->inside, 1);
	vsw_unlock(&fabric->ud_lock);
	return found;
}

void
vem_ud_go_on(struct vem_fabric *fabric)
{
	struct vem_qp *qp;

	while ((qp = waiting_get(fabric)) != NULL) {
		vem_run_soon(qp);
		receiver_put(qp);
	}
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
	const struct vem_datagram datagram = {.grh = qp->tx_target.grh,
					      .octets = &message,
					      .length = wqe->length,
					      .from = qp->in.who.qpn,
					      .key = ud_key_of(qp),
					      .flags = wqe->flags,
					      .extra = wqe->inv_stag};
	bool there = true;
	bool done = ud_hand_over(qp, &datagram, &there);
	vsw_spans_end(&message);
	if (done)
		return ud_request_finish(qp, there ? RI_WC_SUCCESS : RI_WC_LOCAL_PROTECTION);
	if (atomic_load(&qp->ud_waits))
		return false; /* for a link, which has it run again */
	vem_run_soon(qp);
	return false;
}
