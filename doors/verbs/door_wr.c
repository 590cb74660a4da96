/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The calls ibv_wr_*. From ibv_wr_start to ibv_wr_complete or ibv_wr_abort a thread owns the queue
 * pair's builder. The builder records requests with the offsets of their segments and inline data,
 * since its memory moves when it grows. ibv_wr_complete turns the offsets into addresses and posts
 * the requests. The first mistake is remembered, and then nothing is posted.
 */
#include "door_wr.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <glib.h>

#include "door_export.h"
#include "door_post.h"
#include "door_status.h"

/* One request that is being built. */
struct building {
	struct ri_wr wr;     /* without its segments */
	uint32_t first_sge;  /* place in door_builder::sges */
	uint64_t first_byte; /* inline: place in door_builder::bytes */
	uint32_t length;     /* inline: octets */
};

struct door_builder {
	pthread_mutex_t lock; /* owned while requests are built */
	int error;
	struct building *list;
	uint32_t num, room;
	struct ri_sge *sges;
	uint32_t num_sges, room_sges;
	uint8_t *bytes;
	size_t num_bytes, room_bytes;
};

static inline struct door_qp *
qp_of(struct ibv_qp_ex *ex)
{
	return (struct door_qp *)ex;
}

/* Room for one array to grow; false: no memory. */
static bool
grow(void **array, size_t unit, size_t wanted, size_t *room)
{
	size_t next = MAX(2 * *room, 16);
	void *fresh;

	if (wanted <= *room)
		return true;
	next = MAX(next, wanted);
	fresh = realloc(*array, next * unit);
	if (fresh == NULL)
		return false;
	*array = fresh;
	*room = next;
	return true;
}

static void
mistake(struct door_builder *builder, int error)
{
	if (builder->error == 0)
		builder->error = error;
}

/* --- requests ----------------------------------------------------------------------------------------------- */

/* A new request; NULL: there was a mistake before, or is one now. */
static struct ri_wr *
request_begin(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode)
{
	struct door_qp *qp = qp_of(ex);
	struct door_builder *builder = qp->builder;
	const struct door_op *op = &qp->ops->ops[opcode];
	unsigned flags = ex->wr_flags & ~(unsigned)IBV_SEND_INLINE;
	size_t room = builder->room;
	struct building *next;

	if (flags >= DOOR_SEND_FLAGS || op->part == DOOR_PART_REFUSED)
		mistake(builder, EINVAL);
	if (builder->num >= qp->cap.max_send_wr)
		mistake(builder, ENOMEM);
	if (builder->error == 0 &&
	    !grow((void **)&builder->list, sizeof(*builder->list), (size_t)builder->num + 1, &room))
		mistake(builder, ENOMEM);
	if (builder->error != 0)
		return NULL;
	builder->room = (uint32_t)room;
	next = &builder->list[builder->num++];
	memset(next, 0, sizeof(*next));
	next->wr.wr_id = ex->wr_id;
	next->wr.opcode = op->opcode;
	next->wr.flags = qp->ops->flags[flags] | op->flags | qp->always;
	next->first_sge = builder->num_sges;
	return &next->wr;
}

/* The request that was begun last; NULL: there was a mistake. */
static struct building *
request_last(struct door_qp *qp)
{
	struct door_builder *builder = qp->builder;

	if (builder->error == 0 && builder->num == 0)
		mistake(builder, EINVAL);
	return builder->error == 0 ? &builder->list[builder->num - 1] : NULL;
}

static void
remote_begin(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode, uint32_t rkey, uint64_t addr,
	     __be32 imm)
{
	struct ri_wr *wr = request_begin(ex, opcode);

	if (wr == NULL)
		return;
	wr->imm = imm;
	wr->u.remote.addr = addr;
	wr->u.remote.stag = rkey;
}

static void
wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr)
{
	remote_begin(ex, IBV_WR_RDMA_WRITE, rkey, addr, 0);
}

static void
wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, __be32 imm)
{
	remote_begin(ex, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, addr, imm);
}

static void
wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr)
{
	remote_begin(ex, IBV_WR_RDMA_READ, rkey, addr, 0);
}

static void
wr_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, uint64_t compare,
		  uint64_t swap)
{
	struct ri_wr *wr = request_begin(ex, IBV_WR_ATOMIC_CMP_AND_SWP);

	if (wr != NULL)
		wr->u.remote = (struct ri_wr_remote){
			.addr = addr, .stag = rkey, .operand = compare, .swap = swap};
}

static void
wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, uint64_t add)
{
	struct ri_wr *wr = request_begin(ex, IBV_WR_ATOMIC_FETCH_AND_ADD);

	if (wr != NULL)
		wr->u.remote = (struct ri_wr_remote){.addr = addr, .stag = rkey, .operand = add};
}

static void
wr_atomic_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, const void *data)
{
	(void)rkey;
	(void)addr;
	(void)data;
	mistake(qp_of(ex)->builder, EOPNOTSUPP);
}

static void
wr_send(struct ibv_qp_ex *ex)
{
	(void)request_begin(ex, IBV_WR_SEND);
}

static void
wr_send_imm(struct ibv_qp_ex *ex, __be32 imm)
{
	struct ri_wr *wr = request_begin(ex, IBV_WR_SEND_WITH_IMM);

	if (wr != NULL)
		wr->imm = imm;
}

static void
wr_send_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	struct ri_wr *wr = request_begin(ex, IBV_WR_SEND_WITH_INV);

	if (wr != NULL)
		wr->inv_stag = rkey;
}

static void
wr_send_tso(struct ibv_qp_ex *ex, void *header, uint16_t length, uint16_t mss)
{
	(void)header;
	(void)length;
	(void)mss;
	mistake(qp_of(ex)->builder, EOPNOTSUPP);
}

static void
wr_local_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	struct ri_wr *wr = request_begin(ex, IBV_WR_LOCAL_INV);

	if (wr != NULL)
		wr->inv_stag = rkey;
}

static void
wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey,
	   const struct ibv_mw_bind_info *info)
{
	struct door_qp *qp = qp_of(ex);
	struct ri_wr *wr = request_begin(ex, IBV_WR_BIND_MW);
	int error = EINVAL;

	if (wr == NULL)
		return;
	if (mw != NULL && mw->type == IBV_MW_TYPE_2)
		error = door_post_bind_of(qp, mw, rkey, info, wr);
	if (error != 0) {
		mistake(qp->builder, error);
		return;
	}
	atomic_store(&door_mw_of(mw)->bound_by, qp->qp.qp_num);
}

/* --- what requests have ---------------------------------------------------------------------------------------- */

static void
wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	struct door_qp *qp = qp_of(ex);
	struct building *last = request_last(qp);
	int error;

	if (last == NULL)
		return;
	error = last->wr.opcode == RI_OP_SEND_UD
			? door_post_datagram(qp, ah, qpn, qkey, &last->wr.u.ud)
			: EINVAL;
	if (error != 0)
		mistake(qp->builder, error);
}

static void
wr_set_xrc_srqn(struct ibv_qp_ex *ex, uint32_t srqn)
{
	(void)srqn;
	mistake(qp_of(ex)->builder, EOPNOTSUPP);
}

/* It has these segments and no others. */
static void
wr_set_sge_list(struct ibv_qp_ex *ex, size_t num, const struct ibv_sge *list)
{
	struct door_qp *qp = qp_of(ex);
	struct door_builder *builder = qp->builder;
	struct building *last = request_last(qp);
	size_t room = builder->room_sges;

	if (last == NULL)
		return;
	if (num > qp->max_send_sge || (list == NULL && num > 0)) {
		mistake(builder, EINVAL);
		return;
	}
	if (!grow((void **)&builder->sges, sizeof(*builder->sges), last->first_sge + num, &room)) {
		mistake(builder, ENOMEM);
		return;
	}
	builder->room_sges = (uint32_t)room;
	for (size_t i = 0; i < num; i++)
		builder->sges[last->first_sge + i] =
			(struct ri_sge){list[i].addr, list[i].length, list[i].lkey};
	builder->num_sges = last->first_sge + (uint32_t)num;
	last->wr.num_sge = (uint16_t)num;
}

static void
wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	const struct ibv_sge sge = {.addr = addr, .length = length, .lkey = lkey};

	wr_set_sge_list(ex, 1, &sge);
}

static void
wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t num, const struct ibv_data_buf *list)
{
	struct door_qp *qp = qp_of(ex);
	struct door_builder *builder = qp->builder;
	struct building *last = request_last(qp);
	size_t length = 0;

	if (list == NULL && num > 0) {
		mistake(builder, EINVAL);
		return;
	}
	for (size_t i = 0; i < num; i++) {
		length += list[i].length;
		if (length > qp->cap.max_inline_data || list[i].length > length)
			mistake(builder, EINVAL);
	}
	if (last == NULL || builder->error != 0)
		return;
	if (!grow((void **)&builder->bytes, 1, builder->num_bytes + length, &builder->room_bytes)) {
		mistake(builder, ENOMEM);
		return;
	}
	last->wr.flags |= RI_WR_INLINE;
	last->wr.num_sge = length > 0 ? 1 : 0;
	last->first_byte = builder->num_bytes;
	last->length = (uint32_t)length;
	for (size_t i = 0; i < num; i++) {
		if (list[i].length > 0)
			memcpy(builder->bytes + builder->num_bytes, list[i].addr, list[i].length);
		builder->num_bytes += list[i].length;
	}
}

static void
wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	const struct ibv_data_buf piece = {.addr = addr, .length = length};

	wr_set_inline_data_list(ex, 1, &piece);
}

/* --- lists ------------------------------------------------------------------------------------------------------ */

static void
wr_start(struct ibv_qp_ex *ex)
{
	struct door_builder *builder = qp_of(ex)->builder;

	pthread_mutex_lock(&builder->lock);
	builder->error = door_post_send_state(qp_of(ex));
	builder->num = builder->num_sges = 0;
	builder->num_bytes = 0;
}

static void
wr_abort(struct ibv_qp_ex *ex)
{
	pthread_mutex_unlock(&qp_of(ex)->builder->lock);
}

/* A queue that is full refuses the first request that it has no place for; those before it are on their way then. */
static int
list_post(struct door_qp *qp)
{
	struct door_builder *builder = qp->builder;
	enum ri_status status = RI_SUCCESS;
	struct ri_sge octets;
	uint32_t i;

	for (i = 0; i < builder->num && status == RI_SUCCESS; i++) {
		struct building *request = &builder->list[i];

		if ((request->wr.flags & RI_WR_INLINE) != 0) {
			octets = (struct ri_sge){
				.addr = (uintptr_t)(builder->bytes + request->first_byte),
				.length = request->length};
			request->wr.sgl = &octets;
		} else if (request->wr.num_sge > 0) {
			request->wr.sgl = builder->sges + request->first_sge;
		}
		if (i + 1 < builder->num)
			request->wr.flags |= RI_WR_COALESCE;
		status = qp->fast->post_sq(qp->queue, &request->wr);
	}
	if (status != RI_SUCCESS && i > 1)
		qp->fast->flush_sq(qp->queue);
	return door_errno(status);
}

static int
wr_complete(struct ibv_qp_ex *ex)
{
	struct door_qp *qp = qp_of(ex);
	int error = qp->builder->error;

	if (error == 0) {
		pthread_mutex_lock(&qp->post_lock);
		error = list_post(qp);
		pthread_mutex_unlock(&qp->post_lock);
	}
	pthread_mutex_unlock(&qp->builder->lock);
	return error;
}

/* --- create and destroy ------------------------------------------------------------------------------------------ */

/* The operations that queue pairs of that type can have. */
static uint64_t
operations_of(const struct door_qp *qp)
{
	const struct ri_rnic_attr *can = &qp->adapter->session.attr;
	const bool rc = qp->qp.qp_type == IBV_QPT_RC;
	uint64_t known = IBV_QP_EX_WITH_SEND;

	if (qp->qp.qp_type == IBV_QPT_UD)
		return known |
		       ((can->immediate_with & RI_IMMEDIATE_UD) != 0 ? IBV_QP_EX_WITH_SEND_WITH_IMM
								     : 0);
	known |= IBV_QP_EX_WITH_RDMA_WRITE;
	if ((can->immediate_with & RI_IMMEDIATE_SEND) != 0)
		known |= IBV_QP_EX_WITH_SEND_WITH_IMM;
	if ((can->immediate_with & RI_IMMEDIATE_WRITE) != 0)
		known |= IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
	if (rc)
		known |= IBV_QP_EX_WITH_RDMA_READ;
	if (rc && can->atomics)
		known |= IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
	if (rc && can->send_invalidate)
		known |= IBV_QP_EX_WITH_SEND_WITH_INV;
	if (rc && can->mw_narrow)
		known |= IBV_QP_EX_WITH_BIND_MW;
	if (rc && can->mw_narrow_unbind)
		known |= IBV_QP_EX_WITH_LOCAL_INV;
	return known;
}

int
door_wr_init(struct door_qp *qp, uint64_t operations)
{
	struct ibv_qp_ex *ex = &qp->ex;

	if ((operations & ~operations_of(qp)) != 0)
		return EOPNOTSUPP;
	qp->builder = (struct door_builder *)calloc(1, sizeof(*qp->builder));
	if (qp->builder == NULL)
		return ENOMEM;
	pthread_mutex_init(&qp->builder->lock, NULL);
	ex->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	ex->wr_atomic_fetch_add = wr_atomic_fetch_add;
	ex->wr_atomic_write = wr_atomic_write;
	ex->wr_bind_mw = wr_bind_mw;
	ex->wr_local_inv = wr_local_inv;
	ex->wr_rdma_read = wr_rdma_read;
	ex->wr_rdma_write = wr_rdma_write;
	ex->wr_rdma_write_imm = wr_rdma_write_imm;
	ex->wr_send = wr_send;
	ex->wr_send_imm = wr_send_imm;
	ex->wr_send_inv = wr_send_inv;
	ex->wr_send_tso = wr_send_tso;
	ex->wr_set_ud_addr = wr_set_ud_addr;
	ex->wr_set_xrc_srqn = wr_set_xrc_srqn;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_start = wr_start;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;
	return 0;
}

void
door_wr_fini(struct door_qp *qp)
{
	if (qp->builder == NULL)
		return;
	pthread_mutex_destroy(&qp->builder->lock);
	free(qp->builder->list);
	free(qp->builder->sges);
	free(qp->builder->bytes);
	free(qp->builder);
}

EXPORT struct ibv_qp_ex *
ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	return door_qp_of(qp)->builder != NULL ? &door_qp_of(qp)->ex : NULL;
}

/* --- in the child of a fork --------------------------------------------------------------------------------------- */

/* A thread that the child does not have may own the lock. */
static void
inherited_start(struct ibv_qp_ex *ex)
{
	pthread_mutex_init(&qp_of(ex)->builder->lock, NULL);
	pthread_mutex_lock(&qp_of(ex)->builder->lock);
	qp_of(ex)->builder->error = EIO;
}

void
door_wr_inherited(struct door_qp *qp)
{
	if (qp->builder != NULL)
		qp->ex.wr_start = inherited_start;
}
