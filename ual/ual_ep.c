/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Life of an endpoint: create, query, reset, free [IT 3], [IT 4.6], [IT 15.4].
 *
 * An endpoint is a queue pair of the kAL (qp_id), its user half (qp), to which requests are posted, and a word of
 * state. It has references to its PZ and its EVDs. Two locks: `control` serialises calls that make kAL calls; `lock`
 * protects what dispatch changes, too, and is never owned across a kAL call. Connections are in ual_cm.c, attributes
 * in ual_ep_attr.c, posts in ual_dto.c; what differs for datagrams is in ual_ud.c.
 */

#include "ual_ep.h"

#include <string.h>

#include "ri_owned.h"
#include "ual.h"
#include "ual_log.h"
#include "ual_request.h"
#include "ual_rmr.h"
#include "ual_status.h"

enum ri_status
ual_ep_qp_modify(struct ual_ep *ep, const struct ri_qp_attr *attr, uint32_t mask)
{
	struct kal_qp_modify_req req = {.id = ep->qp_id, .mask = mask, .attr = *attr};

	return session_call(&ep->object.ia->session, KAL_QP_MODIFY, &req, sizeof(req), NULL, 0);
}

void
ual_ep_end(struct ual_ep *ep)
{
	ual_request_forget(ep->arrival);
	if (ep->request != NULL)
		ual_evd_unref(ep->request);
	if (ep->recv != NULL)
		ual_evd_unref(ep->recv);
	if (ep->connect != NULL)
		ual_evd_unref(ep->connect);
	if (ep->srq != NULL)
		ual_object_unref(&ep->srq->object);
	ual_object_unref(&ep->pz->object);
	pthread_mutex_destroy(&ep->post_lock);
	pthread_mutex_destroy(&ep->control);
	pthread_mutex_destroy(&ep->lock);
	ual_object_delete(&ep->object);
}

/* Destroy the queue pair; afterwards nothing touches the buffers of its requests. */
static enum ri_status
qp_end(struct ual_ep *ep)
{
	if (ep->qp != NULL)
		ep->object.ia->session.user->qp_close(ep->qp);
	ep->qp = NULL;
	return session_call_id(&ep->object.ia->session, KAL_QP_DESTROY, ep->qp_id);
}

static void
ep_destroy(struct ual_object *object)
{
	struct ual_ep *ep = (struct ual_ep *)object;
	struct ual_rmr_renewal *renewal;

	/*
	 * BUSY: an unlink through this queue pair has not run; then its windows are created anew. After any
	 * other failure, closing the client destroys the queue pair.
	 */
	if (qp_end(ep) == RI_ERR_BUSY && ual_rmr_renewal_make(ep, &renewal) == IT_SUCCESS) {
		ual_rmr_renewal_end(renewal, true);
		(void)!qp_end(ep);
	}
	session_settle(&object->ia->session);
	ual_ep_end(ep);
}

/* An EVD that may feed a new endpoint must not have overflowed. */
static bool
evd_overflowed(struct ual_evd *evd)
{
	bool answer;

	pthread_mutex_lock(&evd->lock);
	answer = evd->overflowed;
	pthread_mutex_unlock(&evd->lock);
	return answer;
}

it_status_t
ual_ep_use_evds(struct ual_ep *ep, const struct ual_ep_wanted *wanted)
{
	const struct ual_ia *ia = ep->object.ia;

	ep->request = ual_evd_use(wanted->request, IT_DTO_EVENT_STREAM, ia);
	if (ep->request == NULL)
		return IT_ERR_INVALID_REQ_EVD;
	ep->recv = ual_evd_use(wanted->recv, IT_DTO_EVENT_STREAM, ia);
	if (ep->recv == NULL)
		return IT_ERR_INVALID_RECV_EVD;
	if (!ep->ud)
		ep->connect = ual_evd_use(wanted->connect, IT_CM_MSG_EVENT_STREAM, ia);
	if (!ep->ud && ep->connect == NULL)
		return IT_ERR_INVALID_CONN_EVD;
	if (evd_overflowed(ep->request))
		return IT_ERR_INVALID_REQ_EVD_STATE;
	return evd_overflowed(ep->recv) ? IT_ERR_INVALID_RECV_EVD_STATE : IT_SUCCESS;
}

/* Take a reference to the S-RQ, if the endpoint shall have one; ual_ep_end releases it. */
static it_status_t
srq_use(struct ual_ep *ep, const struct ual_ep_wanted *wanted)
{
	const struct ual_ia *ia = ep->object.ia;

	if ((wanted->flags & IT_EP_SRQ) == 0)
		return IT_SUCCESS;
	if (!ia->session.attr.srq)
		return IT_ERR_SRQ_NOT_SUPPORTED;
	ep->srq = (struct ual_srq *)ual_object_use(wanted->attr->srv.rc.srq, UAL_SRQ, ia);
	if (ep->srq == NULL)
		return IT_ERR_INVALID_SRQ;
	ep->attr.srv.rc = wanted->attr->srv.rc;
	return IT_SUCCESS;
}

void
ual_ep_take_granted(struct ual_ep *ep, const struct ri_qp_init *init)
{
	ep->attr.max_request_dtos = init->max_sq_wr;
	if (ep->srq == NULL)
		ep->attr.max_recv_dtos = init->max_rq_wr;
	ep->attr.max_send_segments = ual_ep_segments(init->max_send_sge);
	ep->attr.max_recv_segments = ual_ep_segments(init->max_recv_sge);
	if (ep->attr.max_dto_payload_size == 0)
		ep->attr.max_dto_payload_size =
			ual_ep_payload_limit(&ep->object.ia->session.attr, ep->ud);
	ual_ep_limits(ep);
	for (int i = 0; i < UAL_DTO_COUNT; i++)
		ep->granted_sge[i] = atomic_load(&ep->max_sge[i]);
}

enum ri_status
ual_ep_qp_make(struct ual_ep *ep, struct ri_qp_init *init, uint32_t *qpn)
{
	struct ual_ia *ia = ep->object.ia;
	struct kal_qp_create_req req = {
		.pd = ep->pz->pd,
		.send_cq = ep->request->cq_id,
		.recv_cq = ep->recv->cq_id,
		.srq = ep->srq != NULL ? ep->srq->srq_id : 0,
		.init = *init,
	};
	struct kal_qp_create_rep rep;
	enum ri_status status;

	status = session_call(&ia->session, KAL_QP_CREATE, &req, sizeof(req), &rep, sizeof(rep));
	if (status != RI_SUCCESS)
		return status;
	ep->qp_id = rep.id;
	ep->qpn = rep.qpn;
	status = ia->session.user->qp_open(ia->session.urnic, &rep.map, ep->request->cq,
					   ep->recv->cq, ep->srq != NULL ? ep->srq->queue : NULL,
					   &ep->qp);
	if (status != RI_SUCCESS) {
		ep->qp = NULL;
		(void)!qp_end(ep);
		return status;
	}
	*init = rep.init;
	*qpn = rep.qpn;
	return RI_SUCCESS;
}

/* The attributes become what was granted; payload, IRD and ORD are exact. */
static enum ri_status
qp_make(struct ual_ep *ep)
{
	it_rc_only_attributes_t *rc = &ep->attr.srv.rc;
	struct ri_qp_init init = {
		.ctx = ual_object_ctx(&ep->object),
		.type = RI_QP_RC,
		.max_sq_wr = ual_ep_slots(ep->attr.max_request_dtos),
		.max_rq_wr = ual_ep_slots(ep->attr.max_recv_dtos),
		.max_send_sge = (uint32_t)ep->attr.max_send_segments,
		.max_recv_sge = (uint32_t)ep->attr.max_recv_segments,
		.max_write_sge = (uint32_t)rc->max_rdma_write_segments,
		.max_read_sge = (uint32_t)rc->max_rdma_read_segments,
		.ird = rc->rdma_read_ird,
		.ord = rc->rdma_read_ord,
		.access = ual_ep_access(ep->object.ia, rc),
		.soft_limit = (uint32_t)rc->soft_hi_watermark,
		.hard_limit = ual_ep_hard_limit(rc),
		.privileged = ep->attr.priv_ops_enable,
	};
	uint32_t qpn;
	enum ri_status status = ual_ep_qp_make(ep, &init, &qpn);

	if (status != RI_SUCCESS)
		return status;
	rc->max_rdma_read_segments = ual_ep_segments(init.max_read_sge);
	rc->max_rdma_write_segments = ual_ep_segments(init.max_write_sge);
	ep->ord = rc->rdma_read_ord;
	ual_ep_take_granted(ep, &init);
	return RI_SUCCESS;
}

struct ual_ep *
ual_ep_new(struct ual_pz *pz, const struct ual_ep_wanted *wanted)
{
	struct ual_ia *ia = pz->object.ia;
	struct ual_ep *ep;

	if (!ual_object_ref(&pz->object))
		return NULL;
	ep = ual_object_new(UAL_EP, ia, &ia->objects);
	if (ep == NULL) {
		ual_object_unref(&pz->object);
		return NULL;
	}
	ep->object.destroy = ep_destroy;
	pthread_mutex_init(&ep->post_lock, NULL);
	pthread_mutex_init(&ep->control, NULL);
	pthread_mutex_init(&ep->lock, NULL);
	ep->pz = pz;
	ep->flags = wanted->flags;
	ep->attr = *wanted->attr;
	ep->privileged = wanted->attr->priv_ops_enable;
	ep->serialise = !ia->session.attr.thread_safe_queues;
	ep->post_sq = ia->session.fast->post_sq;
	ep->post_rq = ia->session.fast->post_rq;
	return ep;
}

it_status_t
ual_ep_create(struct ual_pz *pz, const struct ual_ep_wanted *wanted, it_ep_handle_t *out)
{
	struct ual_ep *ep = ual_ep_new(pz, wanted);
	it_status_t status;

	if (ep == NULL)
		return IT_ERR_RESOURCES;
	ep->attr.srv.rc.srq = NULL;
	ep->attr.srv.rc.soft_hi_watermark = 0;
	ep->attr.srv.rc.hard_hi_watermark = IT_HARD_HI_WATERMARK_DISABLE;
	status = ual_ep_use_evds(ep, wanted);
	if (status == IT_SUCCESS)
		status = srq_use(ep, wanted);
	if (status == IT_SUCCESS)
		status = ual_ep_attr_check(ep->object.ia, wanted->flags, wanted->attr);
	if (status == IT_SUCCESS)
		status = ual_ep_watermarks_check(ep, &ep->attr.srv.rc);
	if (status == IT_SUCCESS)
		status = ual_status(UAL_CALL_EP_CREATE, qp_make(ep));
	if (status != IT_SUCCESS) {
		ual_ep_end(ep);
		return status;
	}
	(void)ual_ep_step(&ep->state, UAL_EPE_CREATE, NULL);
	*out = ual_object_publish(&ep->object);
	return IT_SUCCESS;
}

it_status_t
ual_ep_free(struct ual_ep *ep)
{
	if (!ual_object_freeze(&ep->object))
		return IT_ERR_EP_BUSY;
	if (ual_rmr_blocks(ep)) {
		ual_object_thaw(&ep->object);
		return IT_ERR_EP_BUSY;
	}
	if (!ual_object_retract(&ep->object))
		return IT_ERR_INVALID_EP;
	/* Wait for a control call that is under way. */
	pthread_mutex_lock(&ep->control);
	pthread_mutex_unlock(&ep->control);
	ep_destroy(&ep->object);
	return IT_SUCCESS;
}

static it_ep_state_t
state_shown(const struct ual_ep *ep)
{
	enum ual_ep_state state = (enum ual_ep_state)atomic_load(&ep->state);
	it_ep_state_t shown;

	if (ep->ud)
		shown.ud = ual_ep_state_ud(state);
	else
		shown.rc = ual_ep_state_rc(state);
	return shown;
}

/* Members of it_ep_param_t itself. */
static void
query_endpoint(const struct ual_ep *ep, unsigned int mask, it_ep_param_t *params)
{
	if ((mask & IT_EP_PARAM_IA) != 0)
		params->ia = ual_object_handle(&ep->object.ia->object);
	if ((mask & IT_EP_PARAM_SPIGOT) != 0)
		params->spigot_id = ep->path.spigot_id;
	if ((mask & IT_EP_PARAM_STATE) != 0)
		params->ep_state = state_shown(ep);
	if ((mask & IT_EP_PARAM_SERV_TYPE) != 0)
		params->service_type = ep->ud ? IT_UD_SERVICE : IT_RC_SERVICE;
	if ((mask & IT_EP_PARAM_PATH) != 0)
		params->dst_path = ep->path;
	if ((mask & IT_EP_PARAM_PZ) != 0)
		params->pz = ual_object_handle(&ep->pz->object);
	if ((mask & IT_EP_PARAM_REQ_SEVD) != 0)
		params->request_sevd = ual_object_handle(&ep->request->object);
	if ((mask & IT_EP_PARAM_RECV_SEVD) != 0)
		params->recv_sevd = ual_object_handle(&ep->recv->object);
	if ((mask & IT_EP_PARAM_CONN_SEVD) != 0)
		params->connect_sevd =
			ep->connect != NULL ? ual_object_handle(&ep->connect->object) : NULL;
}

static void
query_rc(const it_rc_only_attributes_t *rc, unsigned int mask, it_rc_only_attributes_t *out)
{
	if ((mask & IT_EP_PARAM_RDMA_RD_ENABLE) != 0)
		out->rdma_read_enable = rc->rdma_read_enable;
	if ((mask & IT_EP_PARAM_RDMA_WR_ENABLE) != 0)
		out->rdma_write_enable = rc->rdma_write_enable;
	if ((mask & IT_EP_PARAM_MAX_RDMA_READ_SEG) != 0)
		out->max_rdma_read_segments = rc->max_rdma_read_segments;
	if ((mask & IT_EP_PARAM_MAX_RDMA_WRITE_SEG) != 0)
		out->max_rdma_write_segments = rc->max_rdma_write_segments;
	if ((mask & IT_EP_PARAM_MAX_IRD) != 0)
		out->rdma_read_ird = rc->rdma_read_ird;
	if ((mask & IT_EP_PARAM_MAX_ORD) != 0)
		out->rdma_read_ord = rc->rdma_read_ord;
	if ((mask & IT_EP_PARAM_SRQ) != 0)
		out->srq = rc->srq;
	if ((mask & IT_EP_PARAM_SOFT_HI_WATERMARK) != 0)
		out->soft_hi_watermark = rc->soft_hi_watermark;
	if ((mask & IT_EP_PARAM_HARD_HI_WATERMARK) != 0)
		out->hard_hi_watermark = rc->hard_hi_watermark;
	if ((mask & IT_EP_PARAM_ATOMICS_ENABLE) != 0)
		out->atomics_enable = rc->atomics_enable;
}

static void
query_ud(const it_ud_only_attributes_t *ud, unsigned int mask, it_ud_only_attributes_t *out)
{
	if ((mask & IT_EP_PARAM_EP_ID) != 0)
		out->ep_info.ud_ep_id = ud->ep_info.ud_ep_id;
	if ((mask & IT_EP_PARAM_EP_KEY) != 0)
		out->ep_info.ud_ep_key = ud->ep_info.ud_ep_key;
}

static void
query_attr(const it_ep_attributes_t *attr, unsigned int mask, it_ep_attributes_t *out)
{
	if ((mask & IT_EP_PARAM_MAX_PAYLOAD) != 0)
		out->max_dto_payload_size = attr->max_dto_payload_size;
	if ((mask & IT_EP_PARAM_MAX_REQ_DTO) != 0)
		out->max_request_dtos = attr->max_request_dtos;
	if ((mask & IT_EP_PARAM_MAX_RECV_DTO) != 0)
		out->max_recv_dtos = attr->max_recv_dtos;
	if ((mask & IT_EP_PARAM_MAX_SEND_SEG) != 0)
		out->max_send_segments = attr->max_send_segments;
	if ((mask & IT_EP_PARAM_MAX_RECV_SEG) != 0)
		out->max_recv_segments = attr->max_recv_segments;
	if ((mask & IT_EP_PARAM_PRIV_OPS_ENABLE) != 0)
		out->priv_ops_enable = attr->priv_ops_enable;
}

void
ual_ep_query(struct ual_ep *ep, it_ep_param_mask_t wanted, it_ep_param_t *params)
{
	unsigned int mask = (wanted & IT_EP_PARAM_ALL) != 0 ? ~0u : (unsigned int)wanted;

	pthread_mutex_lock(&ep->lock);
	query_endpoint(ep, mask, params);
	query_attr(&ep->attr, mask, &params->attr);
	if (ep->ud)
		query_ud(&ep->attr.srv.ud, mask, &params->attr.srv.ud);
	else
		query_rc(&ep->attr.srv.rc, mask, &params->attr.srv.rc);
	pthread_mutex_unlock(&ep->lock);
}

/* Back to UNCONNECTED, once the kAL has finished with everything. */
static it_status_t
reset_controlled(struct ual_ep *ep)
{
	RI_ASSERT_OWNED(&ep->control);
	/* With IT_EP_REUSEADDR time-wait is no reason to refuse [IT 4.6]. */
	const struct ri_qp_attr idle = {
		.state = RI_QPS_IDLE,
		.skip_time_wait = (ep->flags & IT_EP_REUSEADDR) != 0,
	};
	it_status_t status = ual_ep_may(&ep->state, UAL_EPE_RESET);
	struct ual_rmr_renewal *renewal;

	if (status != IT_SUCCESS || atomic_load(&ep->state) == UAL_EPS_UNCONNECTED)
		return status;
	if (!ep->object.ia->session.attr.qp_reusable) {
		ual_log_no_reset(ep);
		return IT_ERR_CANNOT_RESET;
	}
	status = ual_rmr_renewal_make(ep, &renewal);
	if (status != IT_SUCCESS)
		return status;
	status = ual_status(UAL_CALL_EP_RESET, ual_ep_qp_modify(ep, &idle, RI_QP_ATTR_STATE));
	ual_rmr_renewal_end(renewal, status == IT_SUCCESS);
	if (status != IT_SUCCESS)
		return status;
	pthread_mutex_lock(&ep->lock);
	status = ual_ep_step(&ep->state, UAL_EPE_RESET, NULL);
	ep->attr.srv.rc.rdma_read_ord = ep->ord;
	memset(&ep->path, 0, sizeof(ep->path));
	ep->path_comes = false;
	pthread_mutex_unlock(&ep->lock);
	return status;
}

it_status_t
ual_ep_reset(struct ual_ep *ep)
{
	it_status_t status;

	pthread_mutex_lock(&ep->control);
	status = ep->ud ? ual_ud_reset(ep) : reset_controlled(ep);
	pthread_mutex_unlock(&ep->control);
	return status;
}
