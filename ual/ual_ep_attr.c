/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Attributes of endpoints: which values are allowed, which may be changed, and when [IT 3].
 *
 * A change is checked in full and then made by one kAL call, so it is made as a whole or not at all. The greatest values are
 * a table, with the status of a value beyond each.
 */

#include "ual_ep.h"

#include "ri_owned.h"
#include "ual.h"
#include "ual_status.h"

#define LIMIT(a, b) ((a) < (b) ? (uint64_t)(a) : (uint64_t)(b))

#define NUM_LIMITS_UD 5 /* attributes of datagram endpoints with a greatest value */

uint32_t
ual_ep_slots(size_t count)
{
	return count > 0 ? (uint32_t)count : 1;
}

size_t
ual_ep_segments(uint32_t granted)
{
	return granted < UAL_DTO_SEGMENTS_MAX ? granted : UAL_DTO_SEGMENTS_MAX;
}

uint64_t
ual_ep_payload_limit(const struct ri_rnic_attr *attr, bool ud)
{
	return ud ? attr->max_ud_message : LIMIT(attr->max_message_size, UINT32_MAX);
}

static uint64_t
sge_limit(uint32_t provider)
{
	return LIMIT(provider, UAL_DTO_SEGMENTS_MAX);
}

static it_status_t
check_limits(const struct ri_rnic_attr *can, bool ud, const it_ep_attributes_t *attr,
	     unsigned int mask)
{
	const it_rc_only_attributes_t *rc = &attr->srv.rc;
	const struct {
		unsigned int bit; /* of it_ep_param_mask_t */
		it_status_t beyond;
		uint64_t value;
		uint64_t greatest;
	} limits[] = {
		{IT_EP_PARAM_MAX_PAYLOAD, IT_ERR_PAYLOAD_SIZE, attr->max_dto_payload_size,
		 ual_ep_payload_limit(can, ud)},
		{IT_EP_PARAM_MAX_REQ_DTO, IT_ERR_RESOURCE_REQ_DTO, attr->max_request_dtos,
		 can->max_sq_wr},
		{IT_EP_PARAM_MAX_RECV_DTO, IT_ERR_RESOURCE_RECV_DTO, attr->max_recv_dtos,
		 can->max_rq_wr},
		{IT_EP_PARAM_MAX_SEND_SEG, IT_ERR_RESOURCE_SSEG, attr->max_send_segments,
		 sge_limit(can->max_send_sge)},
		{IT_EP_PARAM_MAX_RECV_SEG, IT_ERR_RESOURCE_RSEG, attr->max_recv_segments,
		 sge_limit(can->max_recv_sge)},
		/* Only connected endpoints have those that follow. */
		{IT_EP_PARAM_MAX_RDMA_READ_SEG, IT_ERR_RESOURCE_RRSEG, rc->max_rdma_read_segments,
		 sge_limit(can->max_read_sge)},
		{IT_EP_PARAM_MAX_RDMA_WRITE_SEG, IT_ERR_RESOURCE_RWSEG, rc->max_rdma_write_segments,
		 sge_limit(can->max_write_sge)},
		{IT_EP_PARAM_MAX_IRD, IT_ERR_RESOURCE_IRD, rc->rdma_read_ird, can->max_ird},
		{IT_EP_PARAM_MAX_ORD, IT_ERR_RESOURCE_ORD, rc->rdma_read_ord, can->max_ord},
	};

	for (size_t i = 0; i < (ud ? NUM_LIMITS_UD : sizeof(limits) / sizeof(limits[0])); i++) {
		if ((mask & limits[i].bit) != 0 && limits[i].value > limits[i].greatest)
			return limits[i].beyond;
	}
	return IT_SUCCESS;
}

uint32_t
ual_ep_access(const struct ual_ia *ia, const it_rc_only_attributes_t *rc)
{
	uint32_t access = 0;

	access |= rc->rdma_read_enable ? RI_ACCESS_REMOTE_READ : 0;
	access |= rc->rdma_write_enable ? RI_ACCESS_REMOTE_WRITE : 0;
	access |= rc->atomics_enable ? RI_ACCESS_REMOTE_ATOMIC : 0;
	access |= ia->session.attr.mw_narrow || ia->session.attr.mw_wide ? RI_ACCESS_BIND : 0;
	return access;
}

it_status_t
ual_ep_attr_check(const struct ual_ia *ia, it_ep_rc_creation_flags_t flags,
		  const it_ep_attributes_t *attr)
{
	it_status_t status;

	if (((unsigned int)flags & ~(unsigned int)(IT_EP_REUSEADDR | IT_EP_SRQ)) != 0)
		return IT_ERR_INVALID_FLAGS;
	if (attr->srv.rc.atomics_enable && !ia->session.attr.atomics)
		return IT_ERR_INVALID_EP_ATTR;
	status = check_limits(&ia->session.attr, false, attr,
			      (flags & IT_EP_SRQ) != 0 ? ~(unsigned int)IT_EP_PARAM_MAX_RECV_DTO
						       : ~0u);
	if (status != IT_SUCCESS)
		return status;
	if (attr->priv_ops_enable && !(ia->privileged && ia->session.attr.privileged_ops))
		return IT_ERR_PRIV_OPS_UNAVAILABLE;
	return IT_SUCCESS;
}

it_status_t
ual_ep_attr_check_ud(const struct ual_ia *ia, const it_ep_attributes_t *attr)
{
	it_status_t status = check_limits(&ia->session.attr, true, attr, ~0u);

	if (status != IT_SUCCESS)
		return status;
	if (!ual_ep_key_allowed(ia, attr->srv.ud.ep_info.ud_ep_key))
		return IT_ERR_INVALID_EP_KEY;
	if (attr->priv_ops_enable && !(ia->privileged && ia->session.attr.privileged_ops))
		return IT_ERR_PRIV_OPS_UNAVAILABLE;
	return IT_SUCCESS;
}

uint32_t
ual_ep_hard_limit(const it_rc_only_attributes_t *rc)
{
	return rc->hard_hi_watermark < UINT32_MAX ? (uint32_t)rc->hard_hi_watermark : UINT32_MAX;
}

it_status_t
ual_ep_watermarks_check(const struct ual_ep *ep, const it_rc_only_attributes_t *rc)
{
	const struct ri_rnic_attr *can = &ep->object.ia->session.attr;
	bool soft = rc->soft_hi_watermark != 0;
	bool hard = rc->hard_hi_watermark != IT_HARD_HI_WATERMARK_DISABLE;
	size_t size;

	if (ep->srq == NULL)
		return IT_SUCCESS;
	if (soft && !can->rq_soft_limit)
		return IT_ERR_SOFT_HI_WATERMARK;
	if (hard && (!can->rq_hard_limit || rc->hard_hi_watermark == 0))
		return IT_ERR_HARD_HI_WATERMARK;
	size = atomic_load(&ep->srq->max_recv_dtos);
	if ((soft && rc->soft_hi_watermark > size) || (hard && rc->hard_hi_watermark > size) ||
	    (soft && hard && rc->soft_hi_watermark > rc->hard_hi_watermark))
		return IT_ERR_INVALID_WATERMARK;
	return IT_SUCCESS;
}

void
ual_ep_limits(struct ual_ep *ep)
{
	const it_ep_attributes_t *attr = &ep->attr;

	atomic_store(&ep->max_payload, attr->max_dto_payload_size);
	atomic_store(&ep->max_sge[UAL_DTO_SEND], (uint32_t)attr->max_send_segments);
	atomic_store(&ep->max_sge[UAL_DTO_RECV], (uint32_t)attr->max_recv_segments);
	if (ep->ud)
		return;
	atomic_store(&ep->max_sge[UAL_DTO_FETCH_ADD], 1);
	atomic_store(&ep->max_sge[UAL_DTO_CMP_SWAP], 1);
	atomic_store(&ep->max_sge[UAL_DTO_READ], (uint32_t)attr->srv.rc.max_rdma_read_segments);
	atomic_store(&ep->max_sge[UAL_DTO_WRITE], (uint32_t)attr->srv.rc.max_rdma_write_segments);
}

/*
 * Changes.
 */

#define ENABLES \
	(IT_EP_PARAM_RDMA_RD_ENABLE | IT_EP_PARAM_RDMA_WR_ENABLE | IT_EP_PARAM_ATOMICS_ENABLE)
#define SEGMENTS                                                                               \
	(IT_EP_PARAM_MAX_SEND_SEG | IT_EP_PARAM_MAX_RECV_SEG | IT_EP_PARAM_MAX_RDMA_READ_SEG | \
	 IT_EP_PARAM_MAX_RDMA_WRITE_SEG)
#define DTOS       (IT_EP_PARAM_MAX_REQ_DTO | IT_EP_PARAM_MAX_RECV_DTO)
#define READS      (IT_EP_PARAM_MAX_IRD | IT_EP_PARAM_MAX_ORD)
#define WATERMARKS (IT_EP_PARAM_SOFT_HI_WATERMARK | IT_EP_PARAM_HARD_HI_WATERMARK)
#define MODIFIABLE (ENABLES | SEGMENTS | DTOS | READS | WATERMARKS | IT_EP_PARAM_MAX_PAYLOAD)
#define RC_ONLY                                                         \
	(ENABLES | READS | WATERMARKS | IT_EP_PARAM_MAX_RDMA_READ_SEG | \
	 IT_EP_PARAM_MAX_RDMA_WRITE_SEG)

/* Does the provider grant that number of segments? If not, the queues must grow. */
static bool
segments_granted(const struct ual_ep *ep, const it_ep_attributes_t *attr, unsigned int mask)
{
	const struct {
		unsigned int bit;
		size_t value;
		uint32_t granted;
	} rows[] = {
		{IT_EP_PARAM_MAX_SEND_SEG, attr->max_send_segments, ep->granted_sge[UAL_DTO_SEND]},
		{IT_EP_PARAM_MAX_RECV_SEG, attr->max_recv_segments, ep->granted_sge[UAL_DTO_RECV]},
		{IT_EP_PARAM_MAX_RDMA_READ_SEG, attr->srv.rc.max_rdma_read_segments,
		 ep->granted_sge[UAL_DTO_READ]},
		{IT_EP_PARAM_MAX_RDMA_WRITE_SEG, attr->srv.rc.max_rdma_write_segments,
		 ep->granted_sge[UAL_DTO_WRITE]},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if ((mask & rows[i].bit) != 0 && rows[i].value > rows[i].granted)
			return false;
	}
	return true;
}

/* What the adapter must be able to do for this change. */
static it_status_t
check_ability(const struct ual_ep *ep, const it_ep_attributes_t *attr, unsigned int mask)
{
	const struct ri_rnic_attr *can = &ep->object.ia->session.attr;

	if ((mask & IT_EP_PARAM_SOFT_HI_WATERMARK) != 0 &&
	    (!can->rq_soft_limit || (ep->flags & IT_EP_SRQ) == 0))
		return IT_ERR_SOFT_HI_WATERMARK;
	if ((mask & IT_EP_PARAM_HARD_HI_WATERMARK) != 0 &&
	    (!can->rq_hard_limit || (ep->flags & IT_EP_SRQ) == 0))
		return IT_ERR_HARD_HI_WATERMARK;
	if ((mask & ENABLES) != 0 && !can->enables_modifiable)
		return IT_ERR_OP_NOT_SUPPORTED;
	if ((mask & IT_EP_PARAM_ATOMICS_ENABLE) != 0 && attr->srv.rc.atomics_enable &&
	    !can->atomics)
		return IT_ERR_INVALID_EP_ATTR;
	if ((mask & DTOS) != 0 && !can->wq_resizable)
		return IT_ERR_OP_NOT_SUPPORTED;
	if ((mask & IT_EP_PARAM_MAX_IRD) != 0 && !can->ird_modifiable)
		return IT_ERR_OP_NOT_SUPPORTED;
	if ((mask & IT_EP_PARAM_MAX_ORD) != 0 && !can->ord_increasable &&
	    attr->srv.rc.rdma_read_ord > ep->attr.srv.rc.rdma_read_ord)
		return IT_ERR_OP_NOT_SUPPORTED;
	if ((mask & IT_EP_PARAM_EP_KEY) != 0 &&
	    !ual_ep_key_allowed(ep->object.ia, attr->srv.ud.ep_info.ud_ep_key))
		return IT_ERR_INVALID_EP_KEY;
	return IT_SUCCESS;
}

/* The attributes after the change. */
static it_ep_attributes_t
attr_merge(const struct ual_ep *ep, const it_ep_attributes_t *attr, unsigned int mask)
{
	it_ep_attributes_t new = ep->attr;
	const it_rc_only_attributes_t *rc = &attr->srv.rc;

	if ((mask & IT_EP_PARAM_RDMA_RD_ENABLE) != 0)
		new.srv.rc.rdma_read_enable = rc->rdma_read_enable;
	if ((mask & IT_EP_PARAM_RDMA_WR_ENABLE) != 0)
		new.srv.rc.rdma_write_enable = rc->rdma_write_enable;
	if ((mask & IT_EP_PARAM_ATOMICS_ENABLE) != 0)
		new.srv.rc.atomics_enable = rc->atomics_enable;
	if ((mask & IT_EP_PARAM_MAX_RDMA_READ_SEG) != 0)
		new.srv.rc.max_rdma_read_segments = rc->max_rdma_read_segments;
	if ((mask & IT_EP_PARAM_MAX_RDMA_WRITE_SEG) != 0)
		new.srv.rc.max_rdma_write_segments = rc->max_rdma_write_segments;
	if ((mask & IT_EP_PARAM_MAX_IRD) != 0)
		new.srv.rc.rdma_read_ird = rc->rdma_read_ird;
	if ((mask & IT_EP_PARAM_MAX_ORD) != 0)
		new.srv.rc.rdma_read_ord = rc->rdma_read_ord;
	if ((mask & IT_EP_PARAM_SOFT_HI_WATERMARK) != 0)
		new.srv.rc.soft_hi_watermark = rc->soft_hi_watermark;
	if ((mask & IT_EP_PARAM_HARD_HI_WATERMARK) != 0)
		new.srv.rc.hard_hi_watermark = rc->hard_hi_watermark;
	if ((mask & IT_EP_PARAM_MAX_PAYLOAD) != 0)
		new.max_dto_payload_size =
			attr->max_dto_payload_size != 0
				? attr->max_dto_payload_size
				: ual_ep_payload_limit(&ep->object.ia->session.attr, ep->ud);
	if ((mask & IT_EP_PARAM_EP_KEY) != 0)
		new.srv.ud.ep_info.ud_ep_key = attr->srv.ud.ep_info.ud_ep_key;
	if ((mask & IT_EP_PARAM_MAX_REQ_DTO) != 0)
		new.max_request_dtos = attr->max_request_dtos;
	if ((mask & IT_EP_PARAM_MAX_RECV_DTO) != 0)
		new.max_recv_dtos = attr->max_recv_dtos;
	if ((mask & IT_EP_PARAM_MAX_SEND_SEG) != 0)
		new.max_send_segments = attr->max_send_segments;
	if ((mask & IT_EP_PARAM_MAX_RECV_SEG) != 0)
		new.max_recv_segments = attr->max_recv_segments;
	return new;
}

enum ri_status
ual_ep_qp_modify(struct ual_ep *ep, const struct ri_qp_attr *attr, uint32_t mask)
{
	struct kal_qp_modify_req req = {.id = ep->qp_id, .mask = mask, .attr = *attr};

	return session_call(&ep->object.ia->session, KAL_QP_MODIFY, &req, sizeof(req), NULL, 0);
}

/* Change the sizes of the queues; sizes in: requested, out: granted. BUSY below: a queue has more entries than that. */
static it_status_t
qp_resize(struct ual_ep *ep, struct ri_qp_attr *sizes, unsigned int mask)
{
	struct ual_ia *ia = ep->object.ia;
	struct kal_qp_modify_req req = {.id = ep->qp_id, .attr = *sizes};
	struct kal_qp_resize_rep rep;
	enum ri_status below;

	below = session_call(&ia->session, KAL_QP_RESIZE, &req, sizeof(req), &rep, sizeof(rep));
	if (below == RI_SUCCESS)
		below = ia->session.user->qp_remap(ep->qp, &rep.attr, &rep.map);
	if (below == RI_ERR_BUSY)
		return (mask & IT_EP_PARAM_MAX_REQ_DTO) != 0 ? IT_ERR_INVALID_EP_ATTR
							     : IT_ERR_INVALID_RECV_DTO;
	if (below != RI_SUCCESS)
		return ual_status(UAL_CALL_EP_MODIFY, below);
	*sizes = rep.attr;
	ep->granted_sge[UAL_DTO_SEND] = ual_ep_segments(rep.attr.max_send_sge);
	ep->granted_sge[UAL_DTO_RECV] = ual_ep_segments(rep.attr.max_recv_sge);
	ep->granted_sge[UAL_DTO_READ] = ual_ep_segments(rep.attr.max_read_sge);
	ep->granted_sge[UAL_DTO_WRITE] = ual_ep_segments(rep.attr.max_write_sge);
	return IT_SUCCESS;
}

/* The attributes for the kAL; the two kinds of endpoint have different ones. */
static struct ri_qp_attr
qp_attr_of(const struct ual_ep *ep, const it_ep_attributes_t *new)
{
	const it_rc_only_attributes_t *rc = &new->srv.rc;
	struct ri_qp_attr qp = {
		.max_sq_wr = ual_ep_slots(new->max_request_dtos),
		.max_rq_wr = ual_ep_slots(new->max_recv_dtos),
		.max_send_sge = (uint32_t) new->max_send_segments,
		.max_recv_sge = (uint32_t) new->max_recv_segments,
	};

	if (ep->ud) {
		qp.qkey = new->srv.ud.ep_info.ud_ep_key;
		return qp;
	}
	qp.access = ual_ep_access(ep->object.ia, rc);
	qp.ird = rc->rdma_read_ird;
	qp.ord = rc->rdma_read_ord;
	qp.max_write_sge = (uint32_t)rc->max_rdma_write_segments;
	qp.max_read_sge = (uint32_t)rc->max_rdma_read_segments;
	qp.soft_limit = (uint32_t)rc->soft_hi_watermark;
	qp.hard_limit = ual_ep_hard_limit(rc);
	return qp;
}

/* Make the change in the kAL, or none. */
static it_status_t
attr_apply(struct ual_ep *ep, const it_ep_attributes_t *old, it_ep_attributes_t *new,
	   unsigned int mask)
{
	struct ri_qp_attr qp = qp_attr_of(ep, new);
	bool resized = false;
	uint32_t what = 0;

	what |= (mask & ENABLES) != 0 ? RI_QP_ATTR_ACCESS : 0;
	what |= (mask & IT_EP_PARAM_MAX_IRD) != 0 ? RI_QP_ATTR_IRD : 0;
	what |= (mask & IT_EP_PARAM_MAX_ORD) != 0 ? RI_QP_ATTR_ORD : 0;
	what |= (mask & IT_EP_PARAM_SOFT_HI_WATERMARK) != 0 ? RI_QP_ATTR_SOFT : 0;
	what |= (mask & IT_EP_PARAM_HARD_HI_WATERMARK) != 0 ? RI_QP_ATTR_HARD : 0;
	what |= (mask & IT_EP_PARAM_EP_KEY) != 0 ? RI_QP_ATTR_QKEY : 0;
	if ((mask & DTOS) != 0 || !segments_granted(ep, new, mask)) {
		it_status_t status = qp_resize(ep, &qp, mask);

		if (status != IT_SUCCESS)
			return status;
		new->max_request_dtos = qp.max_sq_wr;
		if (ep->srq == NULL)
			new->max_recv_dtos = qp.max_rq_wr;
		resized = true;
	}
	if (what == 0)
		return IT_SUCCESS;

	it_status_t status = ual_status(UAL_CALL_EP_MODIFY, ual_ep_qp_modify(ep, &qp, what));
	if (status != IT_SUCCESS && resized) {
		qp = qp_attr_of(ep, old);
		(void)qp_resize(ep, &qp, mask);
	}
	return status;
}

static it_status_t
modify_controlled(struct ual_ep *ep, unsigned int mask, const it_ep_attributes_t *attr)
{
	enum ual_ep_state state = (enum ual_ep_state)atomic_load(&ep->state);
	it_status_t status;
	it_ep_attributes_t old, new;

	RI_ASSERT_OWNED(&ep->control);
	/* Some attributes can change before the connection only, some in CONNECTED, too, and some in all states. */
	if (state == UAL_EPS_UD_NONOPERATIONAL)
		return IT_ERR_INVALID_EP_STATE;
	if (state != UAL_EPS_UNCONNECTED && state != UAL_EPS_UD_OPERATIONAL &&
	    ((mask & (SEGMENTS | IT_EP_PARAM_MAX_PAYLOAD)) != 0 ||
	     (state != UAL_EPS_CONNECTED && (mask & (ENABLES | DTOS | READS)) != 0)))
		return IT_ERR_INVALID_EP_STATE;
	status = check_ability(ep, attr, mask);
	if (status == IT_SUCCESS)
		status = check_limits(&ep->object.ia->session.attr, ep->ud, attr, mask);
	if (status == IT_SUCCESS && !segments_granted(ep, attr, mask) &&
	    !ep->object.ia->session.attr.wq_resizable)
		status = IT_ERR_OP_NOT_SUPPORTED;
	if (status != IT_SUCCESS)
		return status;
	pthread_mutex_lock(&ep->lock);
	old = ep->attr;
	new = attr_merge(ep, attr, mask);
	pthread_mutex_unlock(&ep->lock);
	if ((mask & WATERMARKS) != 0)
		status = ual_ep_watermarks_check(ep, &new.srv.rc);
	if (status == IT_SUCCESS)
		status = attr_apply(ep, &old, &new, mask);
	if (status != IT_SUCCESS)
		return status;
	pthread_mutex_lock(&ep->lock);
	ep->attr = attr_merge(ep, attr, mask);
	ep->attr.max_request_dtos = new.max_request_dtos; /* as granted */
	ep->attr.max_recv_dtos = new.max_recv_dtos;
	if ((mask & IT_EP_PARAM_MAX_ORD) != 0)
		ep->ord = ep->attr.srv.rc.rdma_read_ord;
	ual_ep_limits(ep);
	pthread_mutex_unlock(&ep->lock);
	return IT_SUCCESS;
}

it_status_t
ual_ep_modify(struct ual_ep *ep, it_ep_param_mask_t wanted, const it_ep_attributes_t *attr)
{
	unsigned int mask = (unsigned int)wanted;
	unsigned int foreign = ep->ud ? RC_ONLY : IT_EP_PARAM_EP_KEY;
	it_status_t status;

	if (mask == 0 || (mask & ~(unsigned int)(MODIFIABLE | IT_EP_PARAM_EP_KEY)) != 0)
		return IT_ERR_INVALID_MASK;
	if ((mask & foreign) != 0)
		return IT_ERR_INVALID_EP_TYPE;
	if (attr == NULL)
		return IT_ERR_FAULT;
	pthread_mutex_lock(&ep->control);
	status = modify_controlled(ep, mask, attr);
	pthread_mutex_unlock(&ep->control);
	return status;
}
