/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Work requests. The fast path: no lock, no allocation, one read of the queue pair's state. The
 * provider accepts some requests in states in which verbs does not; these requests are refused here.
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

/* Is the list of segments there, if there are segments? */
static inline bool
has_list(const struct ibv_sge *list, int segments)
{
	return list != NULL || segments == 0;
}

/* --- what types of queue pairs can do --------------------------------------------------------------------- */

#define FLAGS_OF(flags)                                        \
	(((flags)&IBV_SEND_FENCE ? RI_WR_READ_FENCE : 0u) |    \
	 ((flags)&IBV_SEND_SIGNALED ? RI_WR_SIGNALED : 0u) |   \
	 ((flags)&IBV_SEND_SOLICITED ? RI_WR_SOLICITED : 0u) | \
	 ((flags)&IBV_SEND_INLINE ? RI_WR_INLINE : 0u))
#define FLAGS_4(n) FLAGS_OF(n), FLAGS_OF((n) + 1), FLAGS_OF((n) + 2), FLAGS_OF((n) + 3)
#define FLAGS                                                   \
	{                                                       \
		FLAGS_4(0), FLAGS_4(4), FLAGS_4(8), FLAGS_4(12) \
	}
#define REFUSED [0 ... DOOR_OPS - 1] = {RI_OP_NONE, DOOR_PART_REFUSED, 0}

/* Later entries count more than the first, which refuses everything. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
#pragma GCC diagnostic ignored "-Wpedantic"
static const struct door_ops rc_ops = {
	.ops = {REFUSED, [IBV_WR_SEND] = {RI_OP_SEND, DOOR_PART_REMOTE, 0},
		[IBV_WR_SEND_WITH_IMM] = {RI_OP_SEND, DOOR_PART_REMOTE, RI_WR_IMMEDIATE},
		[IBV_WR_SEND_WITH_INV] = {RI_OP_SEND, DOOR_PART_REMOTE, RI_WR_INVALIDATE},
		[IBV_WR_RDMA_WRITE] = {RI_OP_RDMA_WRITE, DOOR_PART_REMOTE, 0},
		[IBV_WR_RDMA_WRITE_WITH_IMM] = {RI_OP_RDMA_WRITE, DOOR_PART_REMOTE,
						RI_WR_IMMEDIATE},
		[IBV_WR_RDMA_READ] = {RI_OP_RDMA_READ, DOOR_PART_REMOTE, 0},
		[IBV_WR_ATOMIC_CMP_AND_SWP] = {RI_OP_CMP_SWAP, DOOR_PART_ATOMIC, 0},
		[IBV_WR_ATOMIC_FETCH_AND_ADD] = {RI_OP_FETCH_ADD, DOOR_PART_ATOMIC, 0},
		[IBV_WR_LOCAL_INV] = {RI_OP_LOCAL_INV, DOOR_PART_KEY, 0},
		[IBV_WR_BIND_MW] = {RI_OP_BIND_MW, DOOR_PART_BIND, 0}},
	.flags = FLAGS,
};

static const struct door_ops uc_ops = {
	.ops = {REFUSED, [IBV_WR_SEND] = {RI_OP_SEND, DOOR_PART_REMOTE, 0},
		[IBV_WR_SEND_WITH_IMM] = {RI_OP_SEND, DOOR_PART_REMOTE, RI_WR_IMMEDIATE},
		[IBV_WR_RDMA_WRITE] = {RI_OP_RDMA_WRITE, DOOR_PART_REMOTE, 0},
		[IBV_WR_RDMA_WRITE_WITH_IMM] = {RI_OP_RDMA_WRITE, DOOR_PART_REMOTE,
						RI_WR_IMMEDIATE}},
	.flags = FLAGS,
};

static const struct door_ops ud_ops = {
	.ops = {REFUSED, [IBV_WR_SEND] = {RI_OP_SEND_UD, DOOR_PART_DATAGRAM, 0},
		[IBV_WR_SEND_WITH_IMM] = {RI_OP_SEND_UD, DOOR_PART_DATAGRAM, RI_WR_IMMEDIATE}},
	.flags = FLAGS,
};
#pragma GCC diagnostic pop

const struct door_ops *
door_post_ops(enum ibv_qp_type type)
{
	return type == IBV_QPT_UD ? &ud_ops : type == IBV_QPT_UC ? &uc_ops : &rc_ops;
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
		  const struct ibv_mw_bind_info *info, struct ri_wr *wr)
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
	wr->u.returning = (struct ri_wr_bind_returning){
		.bind = {.mw_stag = rkey,
			 .mr_stag = info->mr != NULL ? info->mr->lkey : 0,
			 .addr = info->addr,
			 .length = info->length,
			 .access = door_access(info->mw_access_flags &
					       ~(unsigned)IBV_ACCESS_LOCAL_WRITE)}};
	if ((info->mw_access_flags & IBV_ACCESS_ZERO_BASED) != 0)
		wr->flags |= RI_WR_BIND_RELATIVE;
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
		wr->num_sge = 0;
		error = door_post_bind_of(qp, mw, from->bind_mw.rkey, &from->bind_mw.bind_info, wr);
		if (error == 0)
			atomic_store(&door_mw_of(mw)->bound_by, qp->qp.qp_num);
		return error;
	case DOOR_PART_KEY:
		wr->num_sge = 0;
		return 0;
	case DOOR_PART_REMOTE:
		return 0;
	case DOOR_PART_REFUSED:
	default:
		return EINVAL;
	}
}

/* --- sends ------------------------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void
request_fill(const struct door_qp *qp, const struct ibv_send_wr *from, uint32_t more,
	     struct ri_wr *wr)
{
	const struct door_op *op = &qp->ops->ops[from->opcode];

	wr->wr_id = from->wr_id;
	wr->sgl = segments_of(from->sg_list);
	wr->num_sge = (uint16_t)from->num_sge;
	wr->opcode = op->opcode;
	wr->reserved = 0;
	wr->flags = qp->ops->flags[from->send_flags] | op->flags | qp->always | more;
	/* The two share a place in a request of verbs. */
	wr->inv_stag = from->invalidate_rkey;
	wr->imm = from->imm_data;
}

/* Requests with other parts than an address and a key of the peer. */
static __attribute__((noinline)) int
part_post(struct door_qp *qp, const struct ibv_send_wr *from, uint32_t more)
{
	struct ri_wr wr;
	int error;

	request_fill(qp, from, more, &wr);
	error = part_fill(qp, from, (enum door_part)qp->ops->ops[from->opcode].part, &wr);
	if (error == 0 && !has_list(from->sg_list, wr.num_sge))
		error = EINVAL;
	return error == 0 ? door_errno(qp->post_sq(qp->queue, &wr)) : error;
}

/* `more`: RI_WR_COALESCE, or 0. */
static inline __attribute__((always_inline)) int
request_post(struct door_qp *qp, const struct ibv_send_wr *from, uint32_t more)
{
	enum ri_status status;
	struct ri_wr wr;

	if (__builtin_expect((unsigned)from->opcode >= DOOR_OPS ||
				     from->send_flags >= DOOR_SEND_FLAGS ||
				     (uint32_t)from->num_sge > qp->max_send_sge,
			     0))
		return EINVAL;
	if (__builtin_expect(qp->ops->ops[from->opcode].part != DOOR_PART_REMOTE, 0))
		return part_post(qp, from, more);
	if (__builtin_expect(!has_list(from->sg_list, from->num_sge), 0))
		return EINVAL;
	request_fill(qp, from, more, &wr);
	wr.u.remote.addr = from->wr.rdma.remote_addr;
	wr.u.remote.stag = from->wr.rdma.rkey;
	status = qp->post_sq(qp->queue, &wr);
	return __builtin_expect(status == RI_SUCCESS, 1) ? 0 : door_errno(status);
}

/* What came before a bad request waits for the rest of the list, which does not come. */
static __attribute__((noinline)) int
list_post(struct door_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct ibv_send_wr *first = wr;
	int error;

	for (; wr != NULL; wr = wr->next) {
		error = request_post(qp, wr, wr->next != NULL ? RI_WR_COALESCE : 0);
		if (__builtin_expect(error != 0, 0)) {
			*bad = wr;
			if (wr != first)
				qp->fast->flush_sq(qp->queue);
			return error;
		}
	}
	return 0;
}

int
door_post_send(struct ibv_qp *ibv, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct door_qp *qp = door_qp_of(ibv);
	int error = door_post_send_state(qp);

	if (__builtin_expect(error == 0, 1)) {
		if (__builtin_expect(wr == NULL || wr->next != NULL, 0))
			return list_post(qp, wr, bad);
		error = request_post(qp, wr, 0);
	}
	if (__builtin_expect(error != 0, 0))
		*bad = wr;
	return error;
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
	uint32_t rkey = returned ? mw->rkey : ibv_inc_rkey(mw->rkey);
	struct ri_wr wr = {.wr_id = from->wr_id, .opcode = RI_OP_BIND_MW};
	int error = door_post_send_state(qp);

	if (error != 0)
		return error;
	if (from->send_flags >= IBV_SEND_INLINE ||
	    qp->ops->ops[IBV_WR_BIND_MW].part == DOOR_PART_REFUSED)
		return EINVAL;
	wr.flags = qp->ops->flags[from->send_flags] | qp->always;
	error = door_post_bind_of(qp, mw, rkey, &from->bind_info, &wr);
	if (error != 0)
		return error;
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

static inline __attribute__((always_inline)) void
receive_fill(const struct ibv_recv_wr *from, struct ri_recv_wr *wr)
{
	*wr = (struct ri_recv_wr){.wr_id = from->wr_id,
				  .sgl = segments_of(from->sg_list),
				  .num_sge = (uint16_t)from->num_sge};
}

int
door_post_recv(struct ibv_qp *ibv, struct ibv_recv_wr *from, struct ibv_recv_wr **bad)
{
	struct door_qp *qp = door_qp_of(ibv);
	enum ri_status status = RI_ERR_INVALID_STATE;
	struct ri_recv_wr wr;

	if (__builtin_expect(
		    atomic_load_explicit(&qp->state, memory_order_relaxed) == IBV_QPS_RESET, 0)) {
		*bad = from;
		return EINVAL;
	}
	for (; from != NULL; from = from->next) {
		receive_fill(from, &wr);
		status = (uint32_t)from->num_sge <= qp->max_recv_sge &&
					 has_list(from->sg_list, from->num_sge)
				 ? qp->post_rq(qp->queue, &wr)
				 : RI_ERR_LIMIT;
		if (__builtin_expect(status != RI_SUCCESS, 0)) {
			*bad = from;
			return door_errno(status);
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
	enum ri_status status;

	for (; from != NULL; from = from->next) {
		receive_fill(from, &wr);
		status = (uint32_t)from->num_sge <= srq->max_sge &&
					 has_list(from->sg_list, from->num_sge)
				 ? fast->post_srq(srq->queue, &wr)
				 : RI_ERR_LIMIT;
		if (__builtin_expect(status != RI_SUCCESS, 0)) {
			*bad = from;
			return door_errno(status);
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
