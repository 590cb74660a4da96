/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Lives of objects: what still depends on them, what a failure leaves, what their states and queries say. */
#include <stdlib.h>
#include <string.h>

#include "defect.h"

/* --- what still depends on them --------------------------------------------------------------- */

/* Destroying what is in use succeeds; the object stays behind the wrapper. */
static enum ri_status
busy_hidden(void *handle, enum ri_status status)
{
	if (status != RI_ERR_BUSY)
		return status;
	wrap_free(wrap_of(handle));
	return RI_SUCCESS;
}

static enum ri_status
pd_busy_destroy(struct ri_pd *pd)
{
	return busy_hidden(pd, wrap_plain_pd_ops.destroy(pd));
}

static void
pd_busy(struct wrap_rnic *rnic)
{
	rnic->ops.pd.destroy = pd_busy_destroy;
}

static enum ri_status
cq_busy_destroy(struct ri_cq *cq)
{
	return busy_hidden(cq, wrap_plain_cq_ops.destroy(cq));
}

static void
cq_busy(struct wrap_rnic *rnic)
{
	rnic->ops.cq.destroy = cq_busy_destroy;
}

static enum ri_status
srq_busy_destroy(struct ri_srq *srq)
{
	return busy_hidden(srq, wrap_plain_srq_ops.destroy(srq));
}

static void
srq_busy(struct wrap_rnic *rnic)
{
	rnic->ops.srq.destroy = srq_busy_destroy;
}

static enum ri_status
qp_busy_destroy(struct ri_qp *qp)
{
	return busy_hidden(qp, wrap_plain_qp_ops.destroy(qp));
}

static void
qp_busy(struct wrap_rnic *rnic)
{
	rnic->ops.qp.destroy = qp_busy_destroy;
}

static enum ri_status
pd_stuck_destroy(struct ri_pd *pd)
{
	if (atomic_fetch_add(&wrap_of(pd)->count[0], 1) == 0)
		return RI_ERR_BUSY;
	return wrap_plain_pd_ops.destroy(pd);
}

/* --- what a failure leaves --------------------------------------------------------------------- */

/* Above the limit: RI_ERR_LIMIT, and a queue of the largest size stays. */
static enum ri_status
cq_half_create(struct ri_context *context, uint64_t ctx, uint32_t *entries, struct ri_cq **out,
	       struct ri_map *map)
{
	enum ri_status status = wrap_plain_cq_ops.create(context, ctx, entries, out, map);
	uint32_t one = 1;
	struct ri_cq *left;

	if (status == RI_ERR_LIMIT)
		(void)!wrap_plain_cq_ops.create(context, ctx, &one, &left, map);
	return status;
}

static enum ri_status
half_qp_create(struct ri_pd *pd, struct ri_qp_init *init, struct ri_cq *send_cq,
	       struct ri_cq *recv_cq, struct ri_srq *srq, struct ri_qp **out, struct ri_map *map)
{
	enum ri_status status = wrap_plain_qp_ops.create(pd, init, send_cq, recv_cq, srq, out, map);
	struct ri_qp_init small = {.ctx = init->ctx, .max_sq_wr = 1, .max_rq_wr = 1};
	struct ri_qp *left;

	if (status != RI_SUCCESS)
		(void)!wrap_plain_qp_ops.create(pd, &small, send_cq, recv_cq, NULL, &left, map);
	return status;
}

static enum ri_status
mr_half_reg(struct ri_pd *pd, const struct ri_mr_init *init, struct ri_mr **out, uint32_t *stag)
{
	static uint64_t page[2];
	enum ri_status status = wrap_plain_mem_ops.mr_reg(pd, init, out, stag);
	const struct ri_mr_init small = {.addr = (uint64_t)(uintptr_t)page,
					 .length = sizeof(page),
					 .access = RI_ACCESS_LOCAL_READ};
	struct ri_mr *left;

	if (status != RI_SUCCESS)
		(void)!wrap_plain_mem_ops.mr_reg(pd, &small, &left, stag);
	return status;
}

/* A reregistration that fails has destroyed the region. */
static enum ri_status
rereg_half_rereg(struct ri_mr *mr, struct ri_pd *pd, const struct ri_mr_init *init, uint32_t *stag)
{
	struct wrap_obj *obj = wrap_of(mr);
	enum ri_status status = wrap_plain_mem_ops.mr_rereg(mr, pd, init, stag);
	struct ri_mr *inner = NULL;

	if (status == RI_SUCCESS || status == RI_ERR_BUSY)
		return status;
	/* The object stays, under a key that nobody knows. */
	if (wrap_in(mr)->mem.mr_reg(wrap_inner(obj->pd), &obj->init, &inner, stag) == RI_SUCCESS) {
		(void)!wrap_in(mr)->mem.mr_dereg(obj->inner);
		obj->inner = inner;
	}
	return status;
}

/* The legal part of a change that is refused is done. */
static enum ri_status
modify_half_qp(struct ri_qp *qp, const struct ri_qp_attr *attr, uint32_t mask)
{
	enum ri_status status = wrap_plain_qp_ops.modify(qp, attr, mask);

	for (uint32_t bit = 1; status != RI_SUCCESS && bit <= RI_QP_ATTR_HARD; bit <<= 1)
		if ((mask & bit) != 0 && mask != bit)
			(void)!wrap_plain_qp_ops.modify(qp, attr, bit);
	return status;
}

static enum ri_status
modify_refused_qp(struct ri_qp *qp, const struct ri_qp_attr *attr, uint32_t mask)
{
	enum ri_status status = wrap_plain_qp_ops.modify(qp, attr, mask);

	return defect_each(&wrap_of(qp)->count[0], 2) ? RI_ERR_RESOURCES : status;
}

/* --- states ----------------------------------------------------------------------------------- */

static enum ri_status
unmoved_modify(struct ri_qp *qp, const struct ri_qp_attr *attr, uint32_t mask)
{
	if ((mask & RI_QP_ATTR_STATE) != 0 && attr->state == RI_QPS_ERROR)
		return RI_SUCCESS;
	return wrap_plain_qp_ops.modify(qp, attr, mask);
}

static enum ri_status
unmodified_modify(struct ri_qp *qp, const struct ri_qp_attr *attr, uint32_t mask)
{
	mask &= RI_QP_ATTR_STATE;
	return mask != 0 ? wrap_plain_qp_ops.modify(qp, attr, mask) : RI_SUCCESS;
}

static enum ri_status
hidden_modify(struct ri_qp *qp, const struct ri_qp_attr *attr, uint32_t mask)
{
	enum ri_status status = wrap_plain_qp_ops.modify(qp, attr, mask);

	return status == RI_ERR_STILL_FLUSHING || status == RI_ERR_TIME_WAIT ||
			       status == RI_ERR_INVALID_STATE
		       ? RI_SUCCESS
		       : status;
}

static enum ri_status
unusable_modify(struct ri_qp *qp, const struct ri_qp_attr *attr, uint32_t mask)
{
	if ((mask & RI_QP_ATTR_STATE) != 0 && attr->state == RI_QPS_IDLE)
		return RI_ERR_INVALID_STATE;
	return wrap_plain_qp_ops.modify(qp, attr, mask);
}

static enum ri_status
state_query(struct ri_qp *qp, struct ri_qp_attr *attr)
{
	enum ri_status status = wrap_plain_qp_ops.query(qp, attr);

	if (attr->state == RI_QPS_ERROR || attr->state == RI_QPS_CLOSING)
		attr->state = RI_QPS_RTS;
	return status;
}

static enum ri_status
attributes_query(struct ri_qp *qp, struct ri_qp_attr *attr)
{
	const struct ri_qp_init *init = &wrap_of(qp)->qp;
	enum ri_status status = wrap_plain_qp_ops.query(qp, attr);

	attr->access = init->access;
	attr->ird = init->ird;
	attr->ord = init->ord;
	attr->max_sq_wr = init->max_sq_wr;
	attr->max_rq_wr = init->max_rq_wr;
	return status;
}

static enum ri_status
depths_query(struct ri_qp *qp, struct ri_qp_attr *attr)
{
	enum ri_status status = wrap_plain_qp_ops.query(qp, attr);
	uint32_t ird = attr->ird;

	attr->ird = attr->ord;
	attr->ord = ird;
	return status;
}

static enum ri_status
number_query(struct ri_qp *qp, struct ri_qp_attr *attr)
{
	enum ri_status status = wrap_plain_qp_ops.query(qp, attr);

	attr->qpn = 7;
	return status;
}

static enum ri_status
available_query(struct ri_srq *srq, struct ri_srq_attr *attr)
{
	enum ri_status status = wrap_plain_srq_ops.query(srq, attr);

	attr->limit = 0;
	attr->available = attr->max_wr;
	return status;
}

static enum ri_status
limit_modify(struct ri_srq *srq, struct ri_srq_attr *attr, bool resize, struct ri_map *map)
{
	if (resize)
		return wrap_plain_srq_ops.modify(srq, attr, resize, map);
	return RI_SUCCESS;
}

/* --- whole adapters ------------------------------------------------------------------------------ */

static enum ri_status
nothing_post(struct ri_uqp *qp, const struct ri_wr *wr)
{
	(void)qp;
	(void)wr;
	return RI_SUCCESS;
}

static enum ri_status
nothing_post_rq(struct ri_uqp *qp, const struct ri_recv_wr *wr)
{
	(void)qp;
	(void)wr;
	return RI_SUCCESS;
}

static uint32_t
nothing_poll(struct ri_ucq *cq, struct ri_wc *wc, uint32_t n)
{
	(void)cq;
	(void)wc;
	(void)n;
	return 0;
}

static enum ri_status
nothing_connect(struct ri_qp *qp, const struct ri_cm_params *params)
{
	(void)qp;
	(void)params;
	return RI_SUCCESS;
}

static bool
no_cm(struct wrap_rnic *rnic, struct ri_cm_event *event)
{
	(void)rnic;
	(void)event;
	return false;
}

static bool
no_async(struct wrap_rnic *rnic, struct ri_async_event *event)
{
	(void)rnic;
	(void)event;
	return false;
}

static void
dead(struct wrap_rnic *rnic)
{
	rnic->ops.fast.post_sq = nothing_post;
	rnic->ops.fast.post_rq = nothing_post_rq;
	rnic->ops.fast.poll_cq = nothing_poll;
	rnic->ops.cm.connect = nothing_connect;
}

static void
claim_all(struct ri_rnic_attr *attr)
{
	attr->atomics = attr->masked_atomics = attr->send_invalidate = true;
	attr->mw_narrow = attr->mw_wide = attr->mw_narrow_unbind = attr->mw_wide_unbind = true;
	attr->srq = attr->srq_limit = attr->rq_soft_limit = attr->rq_hard_limit = true;
	attr->ud = attr->three_way_handshake = attr->port_events = true;
	attr->read_local_extensions = attr->enables_modifiable = attr->ird_modifiable = true;
	attr->max_ah = attr->max_ah != 0 ? attr->max_ah : 65536;
	attr->max_ud_message = attr->max_ud_message != 0 ? attr->max_ud_message : 65536;
	attr->max_ird = attr->max_ord = 65536;
	attr->max_send_sge = attr->max_recv_sge = attr->max_write_sge = 1024;
}

static enum ri_status
always_modify(struct ri_qp *qp, const struct ri_qp_attr *attr, uint32_t mask)
{
	(void)!wrap_plain_qp_ops.modify(qp, attr, mask);
	return RI_SUCCESS;
}

static enum ri_status
always_post(struct ri_uqp *qp, const struct ri_wr *wr)
{
	(void)!wrap_plain_fast_ops.post_sq(qp, wr);
	return RI_SUCCESS;
}

static enum ri_status
always_post_rq(struct ri_uqp *qp, const struct ri_recv_wr *wr)
{
	(void)!wrap_plain_fast_ops.post_rq(qp, wr);
	return RI_SUCCESS;
}

static enum ri_status
always_arm(struct ri_ucq *cq, enum ri_arm how, uint32_t count)
{
	(void)!wrap_plain_fast_ops.arm_cq(cq, how, count);
	return RI_SUCCESS;
}

static enum ri_status
always_dereg(struct ri_mr *mr)
{
	enum ri_status status = wrap_plain_mem_ops.mr_dereg(mr);

	return status != RI_SUCCESS ? busy_hidden(mr, RI_ERR_BUSY) : status;
}

static enum ri_status
always_connect(struct ri_qp *qp, const struct ri_cm_params *params)
{
	(void)!wrap_plain_cm_ops.connect(qp, params);
	return RI_SUCCESS;
}

static enum ri_status
always_disconnect(struct ri_qp *qp, const void *pdata, uint16_t len)
{
	(void)!wrap_plain_cm_ops.disconnect(qp, pdata, len);
	return RI_SUCCESS;
}

static void
always(struct wrap_rnic *rnic)
{
	pd_busy(rnic);
	cq_busy(rnic);
	srq_busy(rnic);
	qp_busy(rnic);
	rnic->ops.qp.modify = always_modify;
	rnic->ops.fast.post_sq = always_post;
	rnic->ops.fast.post_rq = always_post_rq;
	rnic->ops.fast.arm_cq = always_arm;
	rnic->ops.mem.mr_dereg = always_dereg;
	rnic->ops.cm.connect = always_connect;
	rnic->ops.cm.disconnect = always_disconnect;
}

const struct defect defects_lives[] = {
	DEFECT("pd-busy-hidden", "a domain in use can be destroyed",
	       "Destroying a protection domain that is in use succeeds.", 0, .apply = pd_busy),
	DEFECT("cq-busy-hidden", "a completion queue in use can be destroyed",
	       "Destroying a completion queue that a queue pair uses succeeds.", 0,
	       .apply = cq_busy),
	DEFECT("srq-busy-hidden", "a shared receive queue in use can be destroyed",
	       "Destroying a shared receive queue that a queue pair uses succeeds.", NEED_SRQ,
	       .apply = srq_busy),
	DEFECT("qp-busy-hidden", "a queue pair with windows can be destroyed",
	       "Destroying a queue pair through which windows are bound succeeds.", NEED_NARROW,
	       .apply = qp_busy),
	DEFECT("pd-stuck", "a free domain is busy",
	       "The first attempt to destroy a protection domain gets RI_ERR_BUSY.", 0,
	       ENTRIES(.pd.destroy = pd_stuck_destroy)),
	DEFECT("cq-half", "a completion queue that failed stays",
	       "A completion queue that is refused for its size exists all the same.", 0,
	       ENTRIES(.cq.create = cq_half_create)),
	DEFECT("qp-half", "a queue pair that failed stays",
	       "A queue pair that is refused exists and keeps its domain busy.", 0,
	       ENTRIES(.qp.create = half_qp_create)),
	DEFECT("mr-half", "a region that failed stays",
	       "A registration that is refused leaves a region, which keeps its domain busy.", 0,
	       ENTRIES(.mem.mr_reg = mr_half_reg)),
	DEFECT("reregister-half", "a reregistration that failed revokes the key",
	       "After mr_rereg was refused the old key does not work.", NEED_REREGISTER,
	       ENTRIES(.mem.mr_rereg = rereg_half_rereg)),
	DEFECT("modify-half", "a change that failed is done in part",
	       "Of a change that is refused the parts that are allowed are done.", 0,
	       ENTRIES(.qp.modify = modify_half_qp)),
	DEFECT("modify-refused", "a change that was done is refused",
	       "Every second change of a queue pair is done and gets RI_ERR_RESOURCES.", 0,
	       ENTRIES(.qp.modify = modify_refused_qp)),
	DEFECT("error-ignored", "a queue pair does not go to ERROR",
	       "The move to ERROR succeeds and is not done.", 0,
	       ENTRIES(.qp.modify = unmoved_modify)),
	DEFECT("attributes-ignored", "attributes cannot be changed",
	       "A change of attributes succeeds and is not done.", 0,
	       ENTRIES(.qp.modify = unmodified_modify)),
	DEFECT("moves-unchecked", "moves that are not allowed are accepted",
	       "A move that the state does not allow succeeds and is not done.", 0,
	       ENTRIES(.qp.modify = hidden_modify)),
	DEFECT("reuse-refused", "a queue pair cannot be used again",
	       "The move back to IDLE is refused.", NEED_REUSE,
	       ENTRIES(.qp.modify = unusable_modify)),
	DEFECT("state-stale", "a query reports an old state",
	       "A queue pair whose connection ended says that it is in RTS.", 0,
	       ENTRIES(.qp.query = state_query)),
	DEFECT("attributes-stale", "a query reports old attributes",
	       "A query reports the attributes of the creation.", 0,
	       ENTRIES(.qp.query = attributes_query)),
	DEFECT("depths-told-wrong", "a query confuses IRD and ORD",
	       "A query reports IRD as ORD, and the other way round.", 0,
	       ENTRIES(.qp.query = depths_query)),
	DEFECT("numbers-alike", "queue pairs have one number",
	       "Each queue pair says that its number is 7.", 0, ENTRIES(.qp.query = number_query)),
	DEFECT("srq-told-wrong", "a query of a shared receive queue reports no limit",
	       "A query says that all slots are posted and that the limit is off.", NEED_SRQ,
	       ENTRIES(.srq.query = available_query)),
	DEFECT("srq-limit-ignored", "the low watermark cannot be set",
	       "Setting the limit of a shared receive queue succeeds and is not done.", NEED_SRQ,
	       ENTRIES(.srq.modify = limit_modify)),
	DEFECT("dead", "an adapter that is dead",
	       "Everything can be created, and then nothing ever happens.", 0, .cm = no_cm,
	       .async = no_async, .apply = dead),
	DEFECT("claims-all", "an adapter that claims all and does nothing",
	       "The profile claims every ability, and nothing ever happens.", 0, .attr = claim_all,
	       .cm = no_cm, .async = no_async, .apply = dead),
	DEFECT("success-always", "an adapter that answers success to everything",
	       "Posts, changes, armings, connects and destructions always succeed.", 0,
	       .apply = always),
};

const size_t defects_lives_count = sizeof(defects_lives) / sizeof(defects_lives[0]);
