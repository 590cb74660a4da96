/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "lacking_refuse.h"

static struct ri_rnic_attr left;
static struct ri_qp_ops qp;
static struct ri_mem_ops mem;
static struct ri_srq_ops srq;
static struct ri_fast_ops fast;
static struct ri_cm_ops cm;
static struct ri_peer_ops peer;

void
lacking_refuse_profile(const struct ri_rnic_attr *attr)
{
	left = *attr;
}

/* --- posts ----------------------------------------------------------------------------------- */

static bool
opcode_claimed(const struct ri_wr *wr)
{
	switch (wr->opcode) {
	case RI_OP_FETCH_ADD:
	case RI_OP_CMP_SWAP:
		return left.atomics;
	case RI_OP_BIND_MW:
		return left.mw_narrow || left.mw_wide;
	case RI_OP_LOCAL_INV:
		return left.mw_narrow_unbind || left.mw_wide_unbind;
	case RI_OP_FAST_REG:
	case RI_OP_INV_MR:
		return left.fast_register;
	default:
		return true;
	}
}

static bool
immediate_claimed(const struct ri_wr *wr)
{
	return (wr->opcode == RI_OP_SEND && (left.immediate_with & RI_IMMEDIATE_SEND) != 0) ||
	       (wr->opcode == RI_OP_RDMA_WRITE &&
		(left.immediate_with & RI_IMMEDIATE_WRITE) != 0) ||
	       (wr->opcode == RI_OP_SEND_UD && (left.immediate_with & RI_IMMEDIATE_UD) != 0);
}

static bool
flags_claimed(const struct ri_wr *wr)
{
	if ((wr->flags & RI_WR_INVALIDATE) != 0 && wr->opcode == RI_OP_SEND &&
	    !left.send_invalidate)
		return false;
	if ((wr->flags & RI_WR_INVALIDATE) != 0 && wr->opcode == RI_OP_RDMA_READ &&
	    !left.read_local_extensions)
		return false;
	if ((wr->flags & RI_WR_INLINE) != 0 && !left.inline_data)
		return false;
	return (wr->flags & RI_WR_IMMEDIATE) == 0 || immediate_claimed(wr);
}

static uint32_t
most_segments(const struct ri_wr *wr)
{
	if (wr->opcode == RI_OP_RDMA_WRITE)
		return left.max_write_sge;
	return wr->opcode == RI_OP_RDMA_READ ? left.max_read_sge : left.max_send_sge;
}

/* Where local reading is no right of its own, each region that can be written locally has it. */
static uint32_t
rights_of(uint32_t access)
{
	bool implied = !left.local_read_revocable && (access & RI_ACCESS_LOCAL_WRITE) != 0;

	return implied ? access | RI_ACCESS_LOCAL_READ : access;
}

static enum ri_status
post_sq(struct ri_uqp *uqp, const struct ri_wr *wr)
{
	struct ri_wr own;

	if (!opcode_claimed(wr) || !flags_claimed(wr))
		return RI_ERR_UNSUPPORTED;
	if (wr->num_sge > most_segments(wr))
		return RI_ERR_LIMIT;
	if (wr->opcode != RI_OP_FAST_REG)
		return fast.post_sq(uqp, wr);
	own = *wr;
	own.u.fast_reg.access = rights_of(own.u.fast_reg.access);
	return fast.post_sq(uqp, &own);
}

static enum ri_status
post_rq(struct ri_uqp *uqp, const struct ri_recv_wr *wr)
{
	return wr->num_sge > left.max_recv_sge ? RI_ERR_LIMIT : fast.post_rq(uqp, wr);
}

static enum ri_status
post_srq(struct ri_usrq *usrq, const struct ri_recv_wr *wr)
{
	return wr->num_sge > left.max_recv_sge ? RI_ERR_LIMIT : fast.post_srq(usrq, wr);
}

/* --- queue pairs ----------------------------------------------------------------------------- */

static bool
pair_claimed(const struct ri_qp_init *init)
{
	return (init->type != RI_QP_UD || left.ud) && (init->type != RI_QP_UC || left.uc) &&
	       (init->type != RI_QP_NUMBER || left.cm_number) &&
	       (!init->privileged || left.privileged_ops) &&
	       (init->max_inline == 0 || left.inline_data);
}

static bool
pair_within(const struct ri_qp_init *init)
{
	return init->max_sq_wr <= left.max_sq_wr && init->max_rq_wr <= left.max_rq_wr &&
	       init->max_send_sge <= left.max_send_sge && init->max_recv_sge <= left.max_recv_sge &&
	       init->max_write_sge <= left.max_write_sge &&
	       init->max_read_sge <= left.max_read_sge && init->ird <= left.max_ird &&
	       init->ord <= left.max_ord;
}

static uint32_t
lesser(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static enum ri_status
qp_create(struct ri_pd *pd, struct ri_qp_init *init, struct ri_cq *send_cq, struct ri_cq *recv_cq,
	  struct ri_srq *shared, struct ri_qp **out, struct ri_map *map)
{
	enum ri_status status;

	if (!pair_claimed(init))
		return RI_ERR_UNSUPPORTED;
	if (!pair_within(init))
		return RI_ERR_LIMIT;
	status = qp.create(pd, init, send_cq, recv_cq, shared, out, map);
	if (status != RI_SUCCESS)
		return status;
	init->max_send_sge = lesser(init->max_send_sge, left.max_send_sge);
	init->max_recv_sge = lesser(init->max_recv_sge, left.max_recv_sge);
	init->max_write_sge = lesser(init->max_write_sge, left.max_write_sge);
	return RI_SUCCESS;
}

static enum ri_status
qp_query(struct ri_qp *pair, struct ri_qp_attr *attr)
{
	enum ri_status status = qp.query(pair, attr);

	if (status != RI_SUCCESS)
		return status;
	attr->max_send_sge = lesser(attr->max_send_sge, left.max_send_sge);
	attr->max_recv_sge = lesser(attr->max_recv_sge, left.max_recv_sge);
	attr->max_write_sge = lesser(attr->max_write_sge, left.max_write_sge);
	if (!left.terminate_info) {
		attr->terminate_len = 0;
		attr->terminate_sent = false;
	}
	return RI_SUCCESS;
}

/* Idle from an error: the queue pair is used again. */
static bool
used_again(struct ri_qp *pair, const struct ri_qp_attr *attr, uint32_t mask)
{
	struct ri_qp_attr now = {0};

	return (mask & RI_QP_ATTR_STATE) != 0 && attr->state == RI_QPS_IDLE &&
	       qp.query(pair, &now) == RI_SUCCESS && now.state == RI_QPS_ERROR;
}

static bool
raises_ord(struct ri_qp *pair, const struct ri_qp_attr *attr, uint32_t mask)
{
	struct ri_qp_attr now = {0};

	return (mask & RI_QP_ATTR_ORD) != 0 && qp.query(pair, &now) == RI_SUCCESS &&
	       attr->ord > now.ord;
}

static enum ri_status
qp_modify(struct ri_qp *pair, const struct ri_qp_attr *attr, uint32_t mask)
{
	struct ri_qp_attr own = *attr;

	if (((mask & RI_QP_ATTR_IRD) != 0 && attr->ird > left.max_ird) ||
	    ((mask & RI_QP_ATTR_ORD) != 0 && attr->ord > left.max_ord))
		return RI_ERR_LIMIT;
	if ((!left.qp_reusable && used_again(pair, attr, mask)) ||
	    ((mask & RI_QP_ATTR_ACCESS) != 0 && !left.enables_modifiable) ||
	    ((mask & RI_QP_ATTR_IRD) != 0 && !left.ird_modifiable) ||
	    (!left.ord_increasable && raises_ord(pair, attr, mask)))
		return RI_ERR_UNSUPPORTED;
	own.skip_time_wait = own.skip_time_wait || !left.has_time_wait;
	return qp.modify(pair, &own, mask);
}

/* --- memory, shared receive queues ----------------------------------------------------------- */

static bool
region_claimed(const struct ri_mr_init *init)
{
	return (!init->zero_based || left.zero_based) && (!init->iova_given || left.iova) &&
	       (!init->unlinked || left.fast_register) &&
	       (init->pages == NULL || left.reg_page_list || left.reg_block_list ||
		left.reg_ve_list);
}

static struct ri_mr_init
region_init(const struct ri_mr_init *init)
{
	struct ri_mr_init own = *init;

	own.access = rights_of(own.access);
	return own;
}

static enum ri_status
mr_reg(struct ri_pd *pd, const struct ri_mr_init *init, struct ri_mr **out, uint32_t *stag)
{
	const struct ri_mr_init own = region_init(init);

	return region_claimed(init) ? mem.mr_reg(pd, &own, out, stag) : RI_ERR_UNSUPPORTED;
}

static enum ri_status
mr_rereg(struct ri_mr *mr, struct ri_pd *pd, const struct ri_mr_init *init, uint32_t *stag)
{
	const struct ri_mr_init own = region_init(init);

	return region_claimed(init) ? mem.mr_rereg(mr, pd, &own, stag) : RI_ERR_UNSUPPORTED;
}

static enum ri_status
mw_alloc(struct ri_pd *pd, enum ri_mw_type type, struct ri_mw **out, uint32_t *stag)
{
	if (type == RI_MW_NARROW ? !left.mw_narrow : !left.mw_wide)
		return RI_ERR_UNSUPPORTED;
	return mem.mw_alloc(pd, type, out, stag);
}

static enum ri_status
srq_create(struct ri_pd *pd, struct ri_srq_attr *attr, struct ri_srq **out, struct ri_map *map)
{
	enum ri_status status;

	if (!left.srq || (attr->limit != 0 && !left.srq_limit))
		return RI_ERR_UNSUPPORTED;
	if (attr->max_sge > left.max_recv_sge)
		return RI_ERR_LIMIT;
	status = srq.create(pd, attr, out, map);
	if (status == RI_SUCCESS)
		attr->max_sge = lesser(attr->max_sge, left.max_recv_sge);
	return status;
}

static enum ri_status
srq_modify(struct ri_srq *shared, struct ri_srq_attr *attr, bool resize, struct ri_map *map)
{
	if ((resize && !left.srq_resizable) ||
	    (attr->limit != 0 && attr->limit != RI_SRQ_LIMIT_KEEP && !left.srq_limit))
		return RI_ERR_UNSUPPORTED;
	return srq.modify(shared, attr, resize, map);
}

/* --- private data ---------------------------------------------------------------------------- */

static enum ri_status
params_check(const struct ri_cm_params *params, uint16_t pdata)
{
	if (params->pdata_len > pdata)
		return RI_ERR_INVALID_ARG;
	return params->ird > left.max_ird || params->ord > left.max_ord ? RI_ERR_LIMIT : RI_SUCCESS;
}

static enum ri_status
cm_connect(struct ri_qp *pair, const struct ri_cm_params *params)
{
	enum ri_status status = params_check(params, left.connect_pdata);

	if (params->three_way && !left.three_way_handshake)
		status = RI_ERR_UNSUPPORTED;
	return status == RI_SUCCESS ? cm.connect(pair, params) : status;
}

static enum ri_status
cm_accept(struct ri_request *request, struct ri_qp *pair, const struct ri_cm_params *params)
{
	enum ri_status status = params_check(params, left.accept_pdata);

	return status == RI_SUCCESS ? cm.accept(request, pair, params) : status;
}

static enum ri_status
cm_reject(struct ri_request *request, enum ri_cm_reason reason, const void *pdata, uint16_t len)
{
	return len > left.reject_pdata ? RI_ERR_INVALID_ARG
				       : cm.reject(request, reason, pdata, len);
}

static enum ri_status
cm_confirm(struct ri_qp *pair, bool accept, const void *pdata, uint16_t len)
{
	if (len > (accept ? left.confirm_pdata : left.reject_pdata))
		return RI_ERR_INVALID_ARG;
	return cm.confirm(pair, accept, pdata, len);
}

static void
private_data_install(struct wrap_tables *tables)
{
	if (cm.connect != NULL)
		tables->cm.connect = cm_connect;
	if (cm.accept != NULL)
		tables->cm.accept = cm_accept;
	if (cm.reject != NULL)
		tables->cm.reject = cm_reject;
	if (cm.confirm != NULL)
		tables->cm.confirm = cm_confirm;
}

/* --- connections by attributes --------------------------------------------------------------- */

static enum ri_status
peer_receive(struct ri_qp *pair, const struct ri_peer *with)
{
	return with->ird > left.max_ird ? RI_ERR_LIMIT : peer.receive(pair, with);
}

static enum ri_status
peer_send(struct ri_qp *pair, const struct ri_peer *with)
{
	return with->ord > left.max_ord ? RI_ERR_LIMIT : peer.send(pair, with);
}

/* --- datagrams ------------------------------------------------------------------------------- */

static enum ri_status
resolve(struct ri_context *context, uint64_t ctx, const struct ri_cm_params *params)
{
	return left.ud ? cm.resolve(context, ctx, params) : RI_ERR_UNSUPPORTED;
}

static enum ri_status
mcast_attach(struct ri_qp *pair, const struct ri_addr *group)
{
	return left.multicast ? qp.mcast_attach(pair, group) : RI_ERR_UNSUPPORTED;
}

static enum ri_status
mcast_detach(struct ri_qp *pair, const struct ri_addr *group)
{
	return left.multicast ? qp.mcast_detach(pair, group) : RI_ERR_UNSUPPORTED;
}

void
lacking_refuse_install(struct wrap_tables *tables)
{
	qp = tables->qp;
	mem = tables->mem;
	srq = tables->srq;
	fast = tables->fast;
	cm = tables->cm;
	peer = tables->peer;
	tables->qp.create = qp_create;
	tables->qp.query = qp_query;
	tables->qp.modify = qp_modify;
	tables->mem.mr_reg = mr_reg;
	if (mem.mr_rereg != NULL)
		tables->mem.mr_rereg = mr_rereg;
	tables->fast.post_sq = post_sq;
	tables->fast.post_rq = post_rq;
	private_data_install(tables);
	if (peer.receive != NULL)
		tables->peer.receive = peer_receive;
	if (peer.send != NULL)
		tables->peer.send = peer_send;
	if (cm.resolve != NULL)
		tables->cm.resolve = resolve;
	if (qp.mcast_attach != NULL)
		tables->qp.mcast_attach = mcast_attach;
	if (qp.mcast_detach != NULL)
		tables->qp.mcast_detach = mcast_detach;
	if (mem.mw_alloc != NULL)
		tables->mem.mw_alloc = mw_alloc;
	if (srq.create != NULL)
		tables->srq.create = srq_create;
	if (srq.modify != NULL)
		tables->srq.modify = srq_modify;
	if (fast.post_srq != NULL)
		tables->fast.post_srq = post_srq;
}
