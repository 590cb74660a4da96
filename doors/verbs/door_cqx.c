/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Extended completion queues: a program reads the parts that it wants of one completion at a time. From start_poll to
 * end_poll a thread owns door_cq::keep_lock, unless the program has promised to poll with one thread only.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "door_cq.h"
#include "door_memory.h"
#include "session_cancel.h"

#define NS_PER_S INT64_C(1000000000)

/* --- polling ------------------------------------------------------------------------------------------------ */

/* 0: there is a completion; ENOENT: there is none. Under keep_lock. */
static int
take_next(struct door_cq *cq)
{
	cq->current = door_cq_next(cq, &cq->current_qpn);
	if (cq->current == NULL)
		return ENOENT;
	cq->ex.wr_id = cq->current->wr_id;
	cq->ex.status = door_wc_status(cq->current);
	return 0;
}

static inline struct door_cq *
cq_of(struct ibv_cq_ex *ex)
{
	return (struct door_cq *)ex;
}

static int
start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct door_cq *cq = cq_of(ex);
	int error;

	if (attr->comp_mask != 0)
		return EINVAL;
	if (!cq->single_threaded)
		pthread_mutex_lock(&cq->keep_lock);
	error = take_next(cq);
	if (error != 0 && !cq->single_threaded)
		pthread_mutex_unlock(&cq->keep_lock);
	return error;
}

static int
next_poll(struct ibv_cq_ex *ex)
{
	return take_next(cq_of(ex));
}

static void
end_poll(struct ibv_cq_ex *ex)
{
	struct door_cq *cq = cq_of(ex);

	if (!cq->single_threaded)
		pthread_mutex_unlock(&cq->keep_lock);
}

/* --- readers ------------------------------------------------------------------------------------------------ */

static enum ibv_wc_opcode
read_opcode(struct ibv_cq_ex *ex)
{
	return door_wc_opcode(cq_of(ex)->current);
}

static uint32_t
read_vendor_err(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->current->detail;
}

static uint32_t
read_byte_len(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->current->byte_len;
}

/* Also the key that was invalidated. */
static __be32
read_imm_data(struct ibv_cq_ex *ex)
{
	const struct ri_wc *wc = cq_of(ex)->current;

	return (door_wc_flags(wc) & IBV_WC_WITH_INV) != 0 ? wc->inv_stag : wc->imm;
}

static uint32_t
read_qp_num(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->current_qpn;
}

static uint32_t
read_src_qp(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->current->src_qpn;
}

static unsigned
read_wc_flags(struct ibv_cq_ex *ex)
{
	return door_wc_flags(cq_of(ex)->current);
}

static uint32_t
read_slid(struct ibv_cq_ex *ex)
{
	(void)ex;
	return 0;
}

static uint8_t
read_sl(struct ibv_cq_ex *ex)
{
	return door_wc_sl(cq_of(ex), cq_of(ex)->current);
}

static uint8_t
read_zero(struct ibv_cq_ex *ex)
{
	(void)ex;
	return 0;
}

/* The time when the completion was taken, which is the earliest that is known of it. */
static uint64_t
read_completion_ts(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->taken_at;
}

static uint64_t
read_completion_wallclock_ns(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->taken_at + (uint64_t)cq_of(ex)->wallclock;
}

/* --- create -------------------------------------------------------------------------------------------------- */

/* How far the clock of the day is ahead of the session's. */
static int64_t
wallclock_of(const struct session *session)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec - (int64_t)session_now(session);
}

/* 0, or the errno for attributes that no queue of ours has. */
static int
attr_check(const struct ibv_context *context, const struct ibv_cq_init_attr_ex *attr)
{
	const uint64_t readable = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
				  IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;

	if ((attr->comp_mask & ~(IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD)) != 0 ||
	    (attr->wc_flags & ~readable) != 0)
		return EOPNOTSUPP;
	if ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0 &&
	    (attr->flags & ~IBV_CREATE_CQ_ATTR_SINGLE_THREADED) != 0)
		return EOPNOTSUPP;
	if ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) == 0)
		return 0;
	/* Only a parent domain says how a queue is used. */
	return attr->parent_domain != NULL && attr->parent_domain->context == context &&
			       door_pd_of(attr->parent_domain)->base !=
				       door_pd_of(attr->parent_domain)
		       ? 0
		       : EINVAL;
}

static void
readers_set(struct ibv_cq_ex *ex)
{
	ex->start_poll = start_poll;
	ex->next_poll = next_poll;
	ex->end_poll = end_poll;
	ex->read_opcode = read_opcode;
	ex->read_vendor_err = read_vendor_err;
	ex->read_byte_len = read_byte_len;
	ex->read_imm_data = read_imm_data;
	ex->read_qp_num = read_qp_num;
	ex->read_src_qp = read_src_qp;
	ex->read_wc_flags = read_wc_flags;
	ex->read_slid = read_slid;
	ex->read_sl = read_sl;
	ex->read_dlid_path_bits = read_zero;
	ex->read_completion_ts = read_completion_ts;
	ex->read_completion_wallclock_ns = read_completion_wallclock_ns;
}

struct ibv_cq_ex *
door_cqx_create(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
	int error = attr_check(context, attr);
	struct ri_wc *window;
	struct door_cq *cq;
	SESSION_DEFER;

	if (error != 0) {
		errno = error;
		return NULL;
	}
	window = (struct ri_wc *)calloc(DOOR_WINDOW, sizeof(*window));
	if (window == NULL)
		return NULL;
	cq = door_cq_create(context, attr->cqe, attr->cq_context, attr->channel, attr->comp_vector);
	if (cq == NULL) {
		free(window);
		return NULL;
	}
	cq->kept = window;
	cq->kept_room = DOOR_WINDOW;
	cq->single_threaded = (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0 &&
			      (attr->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED) != 0;
	cq->wallclock = wallclock_of(&cq->context->adapter->session);
	if ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) != 0) {
		cq->domain = door_pd_of(attr->parent_domain);
		door_pd_hold(cq->domain);
	}
	readers_set(&cq->ex);
	atomic_store(&cq->keeps, true);
	return &cq->ex;
}

int
door_cqx_inherited(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
	(void)cq;
	(void)attr;
	return EIO;
}
