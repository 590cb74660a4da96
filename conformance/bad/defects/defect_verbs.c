/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Defects in features that programs of InfiniBand's verbs use and IT-API does not [RI 10.49] to [RI 10.54]: inline and
 * immediate data, unreliable connections, groups, I/O addresses, queue pairs that are brought up by attributes.
 */
#include <stdlib.h>
#include <string.h>

#include "defect.h"

#define GROUP_QPN 0xffffffu

/* --- inline data --------------------------------------------------------------------------------- */

/* The keys of the segments are looked at, as of every other request. */
static bool
inline_keys(struct wrap_obj *uqp, struct defect_wr *wr)
{
	(void)uqp;
	wr->wr.flags &= ~(uint32_t)RI_WR_INLINE;
	return true;
}

static pthread_mutex_t waiting_lock = PTHREAD_MUTEX_INITIALIZER;

/* An inline request waits for the next post, which is when its memory is read. */
static bool
inline_late(struct wrap_obj *uqp, struct defect_wr *wr)
{
	struct defect_wr *before;

	pthread_mutex_lock(&waiting_lock);
	before = uqp->own;
	uqp->own = NULL;
	if ((wr->wr.flags & RI_WR_INLINE) != 0)
		uqp->own = malloc(sizeof(*wr));
	if (uqp->own != NULL)
		memcpy(uqp->own, wr, sizeof(*wr));
	pthread_mutex_unlock(&waiting_lock);
	if (before != NULL) {
		before->wr.sgl = before->wr.num_sge > 0 ? before->sgl : NULL;
		(void)wrap_plain_fast_ops.post_sq((struct ri_uqp *)uqp, &before->wr);
		free(before);
	}
	return (wr->wr.flags & RI_WR_INLINE) == 0;
}

/* One octet more is claimed than works. */
static void
inline_more(struct ri_rnic_attr *attr)
{
	attr->max_inline++;
}

/* --- immediate data ------------------------------------------------------------------------------ */

static enum defect_act
immediate_lost(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	wc->flags &= (uint8_t)~RI_WC_IMMEDIATE;
	return DEFECT_PASS;
}

static enum defect_act
immediate_swapped(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	if ((wc->flags & RI_WC_IMMEDIATE) != 0)
		wc->imm = __builtin_bswap32(wc->imm);
	return DEFECT_PASS;
}

static enum defect_act
immediate_everywhere(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	if (defect_received(wc))
		wc->flags |= RI_WC_IMMEDIATE;
	return DEFECT_PASS;
}

/* What the Write has placed is not reported. */
static enum defect_act
write_length(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	if (wc->opcode == RI_OP_RECV_WRITE)
		wc->byte_len = 0;
	return DEFECT_PASS;
}

static enum defect_act
write_as_receive(struct wrap_obj *ucq, struct ri_wc *wc)
{
	(void)ucq;
	if (wc->opcode == RI_OP_RECV_WRITE)
		wc->opcode = RI_OP_RECV;
	return DEFECT_PASS;
}

/* --- unreliable connections ---------------------------------------------------------------------- */

/* The queue pair is a reliable one: what may not be placed ends it, and its peer. */
static enum ri_status
reliable_qp_create(struct ri_pd *pd, struct ri_qp_init *init, struct ri_cq *send_cq,
		   struct ri_cq *recv_cq, struct ri_srq *srq, struct ri_qp **out,
		   struct ri_map *map)
{
	bool uc = init->type == RI_QP_UC;
	enum ri_status status;

	if (uc)
		init->type = RI_QP_RC;
	status = wrap_plain_qp_ops.create(pd, init, send_cq, recv_cq, srq, out, map);
	if (uc)
		init->type = RI_QP_UC;
	return status;
}

/* --- groups -------------------------------------------------------------------------------------- */

/* All that are attached get the key of the first. */
static enum ri_status
any_key_attach(struct ri_qp *qp, const struct ri_addr *group)
{
	struct wrap_rnic *rnic = wrap_rnic_of(qp);
	enum ri_status status = wrap_plain_qp_ops.mcast_attach(qp, group);
	struct ri_qp_attr attr = {.qkey = wrap_of(qp)->qp.qkey};
	unsigned first = 0;

	if (status == RI_SUCCESS &&
	    !atomic_compare_exchange_strong(&rnic->count[0], &first, attr.qkey)) {
		attr.qkey = first;
		(void)wrap_plain_qp_ops.modify(qp, &attr, RI_QP_ATTR_QKEY);
	}
	return status;
}

static enum ri_status
noted_attach(struct ri_qp *qp, const struct ri_addr *group)
{
	enum ri_status status = wrap_plain_qp_ops.mcast_attach(qp, group);
	struct wrap_obj *obj = wrap_of(qp);

	if (status == RI_SUCCESS && obj->own == NULL)
		obj->own = malloc(sizeof(*group));
	if (status == RI_SUCCESS && obj->own != NULL)
		memcpy(obj->own, group, sizeof(*group));
	return status;
}

/* It is not attached while it sends. */
static bool
mcast_not_sender(struct wrap_obj *uqp, struct defect_wr *wr)
{
	struct wrap_obj *qp = uqp->half;
	struct ri_addr *group = qp->own;

	if (wr->wr.opcode != RI_OP_SEND_UD || wr->wr.u.ud.qpn != GROUP_QPN || group == NULL)
		return true;
	if (wrap_plain_qp_ops.mcast_detach((struct ri_qp *)qp, group) != RI_SUCCESS)
		return true;
	(void)wrap_plain_fast_ops.post_sq((struct ri_uqp *)uqp, &wr->wr);
	(void)wrap_plain_qp_ops.mcast_attach((struct ri_qp *)qp, group);
	return false;
}

static enum ri_status
no_detach(struct ri_qp *qp, const struct ri_addr *group)
{
	(void)qp;
	(void)group;
	return RI_SUCCESS;
}

/* --- addresses ----------------------------------------------------------------------------------- */

static enum ri_status
virtual_reg(struct ri_pd *pd, const struct ri_mr_init *init, struct ri_mr **out, uint32_t *stag)
{
	struct ri_mr_init other = *init;

	other.iova_given = false;
	return wrap_plain_mem_ops.mr_reg(pd, &other, out, stag);
}

/* --- connections --------------------------------------------------------------------------------- */

/* The second step succeeds in every state. */
static enum ri_status
any_send(struct ri_qp *qp, const struct ri_peer *peer)
{
	enum ri_status status = wrap_plain_peer_ops.send(qp, peer);

	return status == RI_ERR_INVALID_STATE ? RI_SUCCESS : status;
}

/* Packets of any number are taken for those of the peer. */
static enum ri_status
any_number(struct ri_qp *qp, const struct ri_peer *peer)
{
	struct ri_peer other = *peer;

	other.rq_psn &= 0xffffff;
	other.qpn &= 0xffffff;
	other.path_mtu = 1024;
	return wrap_plain_peer_ops.receive(qp, &other);
}

static bool
refused_other(struct wrap_rnic *rnic, struct ri_cm_event *event)
{
	(void)rnic;
	if (event->kind == RI_CM_FAILED && event->reason == RI_CM_REASON_REFUSED)
		event->reason = RI_CM_REASON_OTHER;
	return true;
}

static bool
reach_lost(struct wrap_rnic *rnic, struct ri_cm_event *event)
{
	(void)rnic;
	memset(&event->reach, 0, sizeof(event->reach));
	return true;
}

const struct defect defects_verbs[] = {
	DEFECT("inline-keys", "the STags of inline segments are looked at",
	       "An inline request is executed as if its memory were registered.", NEED_INLINE,
	       .wr = inline_keys),
	DEFECT("inline-late", "inline memory is read after the post returned",
	       "An inline request is read when the next one is posted.", NEED_INLINE,
	       .wr = inline_late),
	DEFECT("inline-more", "max_inline is above what works",
	       "The profile has one octet more than a queue pair can be granted.", NEED_INLINE,
	       .attr = inline_more),
	DEFECT("immediate-lost", "immediate data is not reported",
	       "Completions never say that immediate data came.", NEED_IMMEDIATE,
	       .wc = immediate_lost),
	DEFECT("immediate-swapped", "immediate data has the other order of octets",
	       "The four octets come in reverse.", NEED_IMMEDIATE, .wc = immediate_swapped),
	DEFECT("immediate-everywhere", "every receive says that immediate data came",
	       "Receives of messages without it have the flag, too.", NEED_IMMEDIATE,
	       .wc = immediate_everywhere),
	DEFECT("immediate-length", "the length of a Write with immediate data is not reported",
	       "The completion of its receive says 0 octets.", NEED_IMMEDIATE_WRITE,
	       .wc = write_length),
	DEFECT("immediate-opcode", "a Write with immediate data looks like a Send",
	       "The completion of its receive has the opcode of a receive.", NEED_IMMEDIATE_WRITE,
	       .wc = write_as_receive),
	DEFECT("uc-reliable", "an unreliable connection ends on a message that is lost",
	       "Its queue pairs are reliable ones.", NEED_UC,
	       ENTRIES(.qp.create = reliable_qp_create)),
	DEFECT("mcast-any-key", "a datagram to a group reaches those with another key",
	       "All queue pairs that are attached get the key of the first.", NEED_MULTICAST,
	       ENTRIES(.qp.mcast_attach = any_key_attach)),
	DEFECT("mcast-not-sender", "the sender of a datagram to its own group gets no copy",
	       "It is not attached while it sends.", NEED_MULTICAST, .wr = mcast_not_sender,
	       ENTRIES(.qp.mcast_attach = noted_attach)),
	DEFECT("mcast-stays", "a queue pair stays attached", "Detaching succeeds and does nothing.",
	       NEED_MULTICAST, ENTRIES(.qp.mcast_detach = no_detach)),
	DEFECT("iova-ignored", "an I/O address is ignored",
	       "A region is named by its virtual addresses alone.", NEED_IOVA,
	       ENTRIES(.mem.mr_reg = virtual_reg)),
	DEFECT("peer-any-state", "a queue pair may send in any state",
	       "The second step succeeds before the first, and twice.", NEED_PEER,
	       ENTRIES(.peer.send = any_send)),
	DEFECT("peer-unchecked", "attributes of a peer are cut instead of refused",
	       "Numbers lose their upper bits, and the MTU is always 1024.", NEED_PEER,
	       ENTRIES(.peer.receive = any_number)),
	DEFECT("refused-other", "a refused connection looks like any other failure",
	       "RI_CM_REASON_REFUSED becomes RI_CM_REASON_OTHER.", NEED_ADDRESS,
	       .cm = refused_other),
	DEFECT("reach-lost", "events say nothing of the queue pair of a peer",
	       "ri_cm_event::reach is empty.", NEED_NUMBER, .cm = reach_lost),
};

const size_t defects_verbs_count = sizeof(defects_verbs) / sizeof(defects_verbs[0]);
