/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Work requests. The fast path: no lock, no allocation, one look at the state of the queue pair. A request that the provider
 * would take in any state is refused here in those in which verbs refuses it.
 */
#include "door_post.h"

#include <errno.h>
#include <string.h>

#include "door_ah.h"
#include "door_status.h"

#define QKEY_OWN \
	0x80000000u /* the Q_Key of the sender's queue pair is meant (IBTA volume 1, 10.2.5) */

_Static_assert(sizeof(struct ibv_sge) == sizeof(struct ri_sge) &&
		       offsetof(struct ibv_sge, addr) == offsetof(struct ri_sge, addr) &&
		       offsetof(struct ibv_sge, length) == offsetof(struct ri_sge, length) &&
		       offsetof(struct ibv_sge, lkey) == offsetof(struct ri_sge, stag),
	       "segments go to the provider as they are");

static inline const struct ri_sge *
segments_of(const struct ibv_sge *list)
{
	return (const struct ri_sge *)(const void *)list;
}

/* --- what types of queue pairs can do --------------------------------------------------------------------- */

static const struct door_op rc_ops[DOOR_OPS] = {
	[IBV_WR_SEND] = {RI_OP_SEND, DOOR_PART_NONE, false, 0},
	[IBV_WR_SEND_WITH_IMM] = {RI_OP_SEND, DOOR_PART_NONE, false, RI_WR_IMMEDIATE},
	[IBV_WR_SEND_WITH_INV] = {RI_OP_SEND, DOOR_PART_NONE, false, RI_WR_INVALIDATE},
	[IBV_WR_RDMA_WRITE] = {RI_OP_RDMA_WRITE, DOOR_PART_REMOTE, false, 0},
	[IBV_WR_RDMA_WRITE_WITH_IMM] = {RI_OP_RDMA_WRITE, DOOR_PART_REMOTE, false, RI_WR_IMMEDIATE},
	[IBV_WR_RDMA_READ] = {RI_OP_RDMA_READ, DOOR_PART_REMOTE, false, 0},
	[IBV_WR_ATOMIC_CMP_AND_SWP] = {RI_OP_CMP_SWAP, DOOR_PART_ATOMIC, false, 0},
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = {RI_OP_FETCH_ADD, DOOR_PART_ATOMIC, false, 0},
	[IBV_WR_LOCAL_INV] = {RI_OP_LOCAL_INV, DOOR_PART_KEY, true, 0},
	[IBV_WR_BIND_MW] = {RI_OP_BIND_MW, DOOR_PART_BIND, true, 0},
};

static const struct door_op uc_ops[DOOR_OPS] = {
	[IBV_WR_SEND] = {RI_OP_SEND, DOOR_PART_NONE, false, 0},
	[IBV_WR_SEND_WITH_IMM] = {RI_OP_SEND, DOOR_PART_NONE, false, RI_WR_IMMEDIATE},
	[IBV_WR_RDMA_WRITE] = {RI_OP_RDMA_WRITE, DOOR_PART_REMOTE, false, 0},
	[IBV_WR_RDMA_WRITE_WITH_IMM] = {RI_OP_RDMA_WRITE, DOOR_PART_REMOTE, false, RI_WR_IMMEDIATE},
};

static const struct door_op ud_ops[DOOR_OPS] = {
	[IBV_WR_SEND] = {RI_OP_SEND_UD, DOOR_PART_DATAGRAM, false, 0},
	[IBV_WR_SEND_WITH_IMM] = {RI_OP_SEND_UD, DOOR_PART_DATAGRAM, false, RI_WR_IMMEDIATE},
};

const struct door_op *
door_post_ops(enum ibv_qp_type type)
{
	return type == IBV_QPT_UD ? ud_ops : type == IBV_QPT_UC ? uc_ops : rc_ops;
}

#define SEND_FLAGS (IBV_SEND_IP_CSUM * 2) /* values of ibv_send_wr::send_flags that verbs knows */

#define FLAGS_OF(flags)                                                                           \
	((flags)&IBV_SEND_IP_CSUM ? UINT32_MAX                                                    \
				  : ((flags)&IBV_SEND_FENCE ? RI_WR_READ_FENCE : 0u) |            \
					    ((flags)&IBV_SEND_SIGNALED ? RI_WR_SIGNALED : 0u) |   \
					    ((flags)&IBV_SEND_SOLICITED ? RI_WR_SOLICITED : 0u) | \
					    ((flags)&IBV_SEND_INLINE ? RI_WR_INLINE : 0u))
#define FLAGS_4(n)  FLAGS_OF(n), FLAGS_OF((n) + 1), FLAGS_OF((n) + 2), FLAGS_OF((n) + 3)
#define FLAGS_16(n) FLAGS_4(n), FLAGS_4((n) + 4), FLAGS_4((n) + 8), FLAGS_4((n) + 12)
static const uint32_t send_flags[SEND_FLAGS] = {FLAGS_16(0), FLAGS_16(16)};

uint32_t
door_post_flags(unsigned flags)
{
	return flags < SEND_FLAGS ? send_flags[flags] : UINT32_MAX;
}

/* --- states ---------------------------------------------------------------------------------------------- */

int
door_post_send_state(struct door_qp *qp)
{
	return atomic_load_explicit(&qp->state, memory_order_relaxed) >= IBV_QPS_RTS ? 0 : EINVAL;
}

/* --- parts of requests ------------------------------------------------------------------------------------- */

int
door_post_datagram(const struct door_qp *qp, const struct ibv_ah *ah, uint32_t qpn, uint32_t qkey,
		   struct ri_wr_ud *to)
{
	if (ah == NULL || ah->context != qp->qp.context)
		return EINVAL;
	to->ah = door_ah_of(ah)->ah;
	to->qpn = qpn;
	to->qkey = (qkey & QKEY_OWN) != 0 ? atomic_load(&qp->qkey) : qkey;
	return 0;
}

int
door_post_bind_of(const struct door_qp *qp, const struct ibv_mw *mw, uint32_t rkey,
		  const struct ibv_mw_bind_info *info, struct ri_wr_bind *bind)
{
	const unsigned known = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			       IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
			       IBV_ACCESS_ZERO_BASED;

	if (mw == NULL || mw->context != qp->qp.context ||
	    (info->mr != NULL && info->mr->context != qp->qp.context) ||
	    (info->mr == NULL && info->length != 0))
		return EINVAL;
	if ((info->mw_access_flags & ~known) != 0)
		return EINVAL;
	*bind = (struct ri_wr_bind){
		.mw_stag = rkey,
		.mr_stag = info->mr != NULL ? info->mr->lkey : 0,
		.addr = info->addr,
		.length = info->length,
		.access = door_access(info->mw_access_flags & ~(unsigned)IBV_ACCESS_LOCAL_WRITE)};
	return 0;
}

/* The rare parts. */
static __attribute__((noinline)) int
part_fill(const struct door_qp *qp, const struct ibv_send_wr *from, enum door_part part,
	  struct ri_wr *wr)
{
	struct ibv_mw *mw = from->bind_mw.mw;
	int error;

	switch (part) {
	case DOOR_PART_DATAGRAM:
		return door_post_datagram(qp, from->wr.ud.ah, from->wr.ud.remote_qpn,
					  from->wr.ud.remote_qkey, &wr->u.ud);
	case DOOR_PART_ATOMIC:
		wr->u.remote = (struct ri_wr_remote){.addr = from->wr.atomic.remote_addr,
						     .stag = from->wr.atomic.rkey,
						     .operand = from->wr.atomic.compare_add,
						     .swap = from->wr.atomic.swap};
		return 0;
	case DOOR_PART_BIND:
		if (mw == NULL || mw->type != IBV_MW_TYPE_2)
			return EINVAL;
		error = door_post_bind_of(qp, mw, from->bind_mw.rkey, &from->bind_mw.bind_info,
					  &wr->u.bind);
		if (error == 0 &&
		    (from->bind_mw.bind_info.mw_access_flags & IBV_ACCESS_ZERO_BASED) != 0)
			wr->flags |= RI_WR_BIND_RELATIVE;
		if (error == 0)
			atomic_store(&door_mw_of(mw)->bound_by, qp->qp.qp_num);
		return error;
	case DOOR_PART_NONE:
	case DOOR_PART_REMOTE:
	case DOOR_PART_KEY:
		return 0;
	case DOOR_PART_REFUSED:
	default:
		return EINVAL;
	}
}

/* --- sends ------------------------------------------------------------------------------------------------- */

/* A fence before an invalidation waits for everything before it, since what is under way may use the key. */
static inline __attribute__((always_inline)) int
request_post(struct door_qp *qp, const struct ibv_send_wr *from)
{
	struct ri_wr wr;
	const struct door_op *op;
	int error;

	if (__builtin_expect((unsigned)from->opcode >= DOOR_OPS || from->send_flags >= SEND_FLAGS,
			     0))
		return EINVAL;
	op = &qp->ops[from->opcode];
	wr.flags = send_flags[from->send_flags] | op->flags | qp->always;
	if (__builtin_expect(send_flags[from->send_flags] == UINT32_MAX ||
				     (uint32_t)from->num_sge > qp->max_send_sge,
			     0))
		return EINVAL;
	if (from->next != NULL)
		wr.flags |= RI_WR_COALESCE;
	wr.wr_id = from->wr_id;
	wr.sgl = segments_of(from->sg_list);
	wr.num_sge = op->no_data ? 0 : (uint16_t)from->num_sge;
	wr.opcode = op->opcode;
	wr.reserved = 0;
	/* The two share a place in a request of verbs. */
	wr.inv_stag = from->invalidate_rkey;
	wr.imm = from->imm_data;
	wr.u.remote.addr = from->wr.rdma.remote_addr;
	wr.u.remote.stag = from->wr.rdma.rkey;
	if (op->part != DOOR_PART_REMOTE && op->part != DOOR_PART_NONE) {
		error = part_fill(qp, from, (enum door_part)op->part, &wr);
		if (__builtin_expect(error != 0, 0))
			return error;
	}
	return door_errno(qp->fast->post_sq(qp->queue, &wr));
}

int
door_post_send(struct ibv_qp *ibv, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct door_qp *qp = door_qp_of(ibv);
	struct ibv_send_wr *first = wr;
	int error = door_post_send_state(qp);

	for (; wr != NULL; wr = wr->next) {
		if (__builtin_expect(error == 0, 1))
			error = request_post(qp, wr);
		if (__builtin_expect(error != 0, 0)) {
			*bad = wr;
			/* What came before waits for the rest of the list, which does not come. */
			if (wr != first)
				qp->fast->flush_sq(qp->queue);
			return error;
		}
	}
	return 0;
}

int
door_post_send_locked(struct ibv_qp *ibv, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct door_qp *qp = door_qp_of(ibv);
	int error;

	pthread_mutex_lock(&qp->post_lock);
	error = door_post_send(ibv, wr, bad);
	pthread_mutex_unlock(&qp->post_lock);
	return error;
}

/* A window of type 1. Where the provider chooses the key, it is in ibv_mw::rkey after the post. */
int
door_post_bind(struct ibv_qp *ibv, struct ibv_mw *mw, struct ibv_mw_bind *from)
{
	struct door_qp *qp = door_qp_of(ibv);
	bool returned = qp->adapter->session.attr.mw_wide_stag_returned;
	uint32_t flags = door_post_flags(from->send_flags);
	uint32_t rkey = returned ? mw->rkey : ibv_inc_rkey(mw->rkey);
	struct ri_wr wr = {
		.wr_id = from->wr_id, .opcode = RI_OP_BIND_MW, .flags = flags | qp->always};
	int error = door_post_send_state(qp);

	if (error != 0)
		return error;
	if (flags == UINT32_MAX || (flags & RI_WR_INLINE) != 0 ||
	    qp->ops[IBV_WR_BIND_MW].part == DOOR_PART_REFUSED)
		return EINVAL;
	error = door_post_bind_of(qp, mw, rkey, &from->bind_info, &wr.u.bind);
	if (error != 0)
		return error;
	if ((from->bind_info.mw_access_flags & IBV_ACCESS_ZERO_BASED) != 0)
		wr.flags |= RI_WR_BIND_RELATIVE;
	if (returned)
		wr.u.returning.stag = &rkey;
	pthread_mutex_lock(&qp->post_lock);
	error = door_errno(qp->fast->post_sq(qp->queue, &wr));
	pthread_mutex_unlock(&qp->post_lock);
	if (error == 0)
		mw->rkey = rkey;
	return error;
}

/* --- receives ---------------------------------------------------------------------------------------------- */

static inline struct ri_recv_wr
receive_of(const struct ibv_recv_wr *from)
{
	return (struct ri_recv_wr){.wr_id = from->wr_id,
				   .sgl = segments_of(from->sg_list),
				   .num_sge = (uint16_t)from->num_sge};
}

int
door_post_recv(struct ibv_qp *ibv, struct ibv_recv_wr *from, struct ibv_recv_wr **bad)
{
	struct door_qp *qp = door_qp_of(ibv);
	int error = atomic_load_explicit(&qp->state, memory_order_relaxed) == IBV_QPS_RESET ? EINVAL
											    : 0;
	struct ri_recv_wr wr;

	for (; from != NULL; from = from->next) {
		if ((uint32_t)from->num_sge > qp->max_recv_sge)
			error = EINVAL;
		if (__builtin_expect(error == 0, 1)) {
			wr = receive_of(from);
			error = door_errno(qp->fast->post_rq(qp->queue, &wr));
		}
		if (__builtin_expect(error != 0, 0)) {
			*bad = from;
			return error;
		}
	}
	return 0;
}

int
door_post_srq(struct ibv_srq *ibv, struct ibv_recv_wr *from, struct ibv_recv_wr **bad)
{
	struct door_srq *srq = door_srq_of(ibv);
	const struct ri_fast_ops *fast = srq->pd->context->adapter->session.fast;
	struct ri_recv_wr wr;
	int error = 0;

	for (; from != NULL; from = from->next) {
		wr = receive_of(from);
		error = (uint32_t)from->num_sge <= srq->max_sge
				? door_errno(fast->post_srq(srq->queue, &wr))
				: EINVAL;
		if (__builtin_expect(error != 0, 0)) {
			*bad = from;
			return error;
		}
	}
	return 0;
}

int
door_post_recv_locked(struct ibv_qp *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct door_qp *qp = door_qp_of(ibv);
	int error;

	pthread_mutex_lock(&qp->post_lock);
	error = door_post_recv(ibv, wr, bad);
	pthread_mutex_unlock(&qp->post_lock);
	return error;
}

int
door_post_srq_locked(struct ibv_srq *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct door_srq *srq = door_srq_of(ibv);
	int error;

	pthread_mutex_lock(&srq->post_lock);
	error = door_post_srq(ibv, wr, bad);
	pthread_mutex_unlock(&srq->post_lock);
	return error;
}
