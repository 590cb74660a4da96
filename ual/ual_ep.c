/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Life of an endpoint: create, query, reset, free [IT 3], [IT 4.6], [IT 15.4].
 *
 * An endpoint is a queue pair of the kAL (qp_id), its user half (qp), to which requests are posted, and a word of
 * state. It has references to its PZ and its EVDs. Two locks: `control` serialises calls that make kAL calls; `lock`
 * protects what dispatch changes, too, and is never owned across a kAL call. Connections are in ual_cm.c, attributes
 * in ual_ep_attr.c, posts in ual_dto.c. An endpoint for datagrams is operational from its creation on [IT 5].
 */

#include "ual_ep.h"

#include <string.h>

#include "ri_owned.h"
#include "ual.h"
#include "ual_log.h"
#include "ual_request.h"
#include "ual_rmr.h"
#include "ual_status.h"

/* Release the parents and free the slot; no call can reach the endpoint any more. */
static void
ep_end(struct ual_ep *ep)
{
	ual_request_forget(ep->arrival);
	if (ep->request != NULL)
		ual_object_unref(&ep->request->object);
	if (ep->recv != NULL)
		ual_object_unref(&ep->recv->object);
	if (ep->connect != NULL)
		ual_object_unref(&ep->connect->object);
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
	ep_end(ep);
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

/* Take references to its EVDs, two for datagrams, else three; ep_end releases them. */
static it_status_t
evds_use(struct ual_ep *ep, const struct ual_ep_wanted *wanted)
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

/* Create the queue pair and open its user half. The attributes become what was granted; payload, IRD and ORD are exact. */
static enum ri_status
qp_make(struct ual_ep *ep)
{
	struct ual_ia *ia = ep->object.ia;
	it_ep_attributes_t *attr = &ep->attr;
	it_rc_only_attributes_t *rc = &attr->srv.rc;
	struct kal_qp_create_req req = {
		.pd = ep->pz->pd,
		.send_cq = ep->request->cq_id,
		.recv_cq = ep->recv->cq_id,
		.srq = ep->srq != NULL ? ep->srq->srq_id : 0,
		.init = {.ctx = ual_object_ctx(&ep->object),
			 .type = ep->ud ? RI_QP_UD : RI_QP_RC,
			 .max_sq_wr = ual_ep_slots(attr->max_request_dtos),
			 .max_rq_wr = ual_ep_slots(attr->max_recv_dtos),
			 .max_send_sge = (uint32_t)attr->max_send_segments,
			 .max_recv_sge = (uint32_t)attr->max_recv_segments,
			 .privileged = attr->priv_ops_enable},
	};
	struct ri_qp_init *init = &req.init;
	struct kal_qp_create_rep rep;
	enum ri_status status;

	if (ep->ud) {
		init->port = (uint32_t)ep->path.spigot_id;
		init->qkey = attr->srv.ud.ep_info.ud_ep_key;
		init->hard_limit = UINT32_MAX;
	} else {
		init->max_write_sge = (uint32_t)rc->max_rdma_write_segments;
		init->max_read_sge = (uint32_t)rc->max_rdma_read_segments;
		init->ird = rc->rdma_read_ird;
		init->ord = rc->rdma_read_ord;
		init->access = ual_ep_access(ia, rc);
		init->soft_limit = (uint32_t)rc->soft_hi_watermark;
		init->hard_limit = ual_ep_hard_limit(rc);
	}
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
	session_count_qp(&ia->session, rep.id, ep->qp);
	attr->max_request_dtos = rep.init.max_sq_wr;
	if (ep->srq == NULL)
		attr->max_recv_dtos = rep.init.max_rq_wr;
	attr->max_send_segments = ual_ep_segments(rep.init.max_send_sge);
	attr->max_recv_segments = ual_ep_segments(rep.init.max_recv_sge);
	if (attr->max_dto_payload_size == 0)
		attr->max_dto_payload_size = ual_ep_payload_limit(&ia->session.attr, ep->ud);
	if (ep->ud) {
		attr->srv.ud.ep_info.ud_ep_id = rep.qpn;
	} else {
		rc->max_rdma_read_segments = ual_ep_segments(rep.init.max_read_sge);
		rc->max_rdma_write_segments = ual_ep_segments(rep.init.max_write_sge);
		ep->ord = rc->rdma_read_ord;
	}
	ual_ep_limits(ep);
	for (int i = 0; i < UAL_DTO_COUNT; i++)
		ep->granted_sge[i] = atomic_load(&ep->max_sge[i]);
	return RI_SUCCESS;
}

/* An endpoint with a zone and nothing else; NULL: no memory, or the zone is being freed. */
static struct ual_ep *
ep_new(struct ual_pz *pz, const struct ual_ep_wanted *wanted)
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
	const struct ual_ia *ia = pz->object.ia;
	struct ual_ep *ep = ep_new(pz, wanted);
	it_status_t status;

	if (ep == NULL)
		return IT_ERR_RESOURCES;
	ep->attr.srv.rc.srq = NULL;
	ep->attr.srv.rc.soft_hi_watermark = 0;
	ep->attr.srv.rc.hard_hi_watermark = IT_HARD_HI_WATERMARK_DISABLE;
	status = evds_use(ep, wanted);
	if (status == IT_SUCCESS && (wanted->flags & IT_EP_SRQ) != 0) {
		if (ia->session.attr.srq)
			ep->srq = (struct ual_srq *)ual_object_use(wanted->attr->srv.rc.srq,
								   UAL_SRQ, ia);
		if (ep->srq != NULL)
			ep->attr.srv.rc = wanted->attr->srv.rc;
		else
			status = ia->session.attr.srq ? IT_ERR_INVALID_SRQ
						      : IT_ERR_SRQ_NOT_SUPPORTED;
	}
	if (status == IT_SUCCESS)
		status = ual_ep_attr_check(ia, wanted->flags, wanted->attr);
	if (status == IT_SUCCESS)
		status = ual_ep_watermarks_check(ep, &ep->attr.srv.rc);
	if (status == IT_SUCCESS)
		status = ual_status(UAL_CALL_EP_CREATE, qp_make(ep));
	if (status != IT_SUCCESS) {
		ep_end(ep);
		return status;
	}
	(void)ual_ep_step(&ep->state, UAL_EPE_CREATE, NULL);
	*out = ual_object_publish(&ep->object);
	return IT_SUCCESS;
}

it_status_t
ual_ud_create(struct ual_pz *pz, const struct ual_ep_wanted *wanted, size_t spigot,
	      it_ep_handle_t *out)
{
	const struct ual_ia *ia = pz->object.ia;
	struct ual_ep *ep = ep_new(pz, wanted);
	it_status_t status;

	if (ep == NULL)
		return IT_ERR_RESOURCES;
	ep->ud = true;
	ep->path.spigot_id = spigot;
	status = evds_use(ep, wanted);
	if (status == IT_SUCCESS && !ia->session.attr.ud)
		status = IT_ERR_OP_NOT_SUPPORTED;
	if (status == IT_SUCCESS)
		status = ual_ep_attr_check_ud(ia, wanted->attr);
	if (status == IT_SUCCESS && spigot >= ia->session.attr.num_ports)
		status = IT_ERR_INVALID_SPIGOT;
	if (status == IT_SUCCESS)
		status = ual_status(UAL_CALL_EP_CREATE, qp_make(ep));
	if (status != IT_SUCCESS) {
		ep_end(ep);
		return status;
	}
	(void)ual_ep_step(&ep->state, UAL_EPE_CREATE_UD, NULL);
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

void
ual_ep_query(struct ual_ep *ep, it_ep_param_mask_t wanted, it_ep_param_t *params)
{
	unsigned int mask = (wanted & IT_EP_PARAM_ALL) != 0 ? ~0u : (unsigned int)wanted;
	enum ual_ep_state state = (enum ual_ep_state)atomic_load(&ep->state);
	it_ep_attributes_t *out = &params->attr;

	pthread_mutex_lock(&ep->lock);
	if ((mask & IT_EP_PARAM_IA) != 0)
		params->ia = ual_object_handle(&ep->object.ia->object);
	if ((mask & IT_EP_PARAM_SPIGOT) != 0)
		params->spigot_id = ep->path.spigot_id;
	if ((mask & IT_EP_PARAM_STATE) != 0 && ep->ud)
		params->ep_state = (it_ep_state_t){.ud = ual_ep_state_ud(state)};
	else if ((mask & IT_EP_PARAM_STATE) != 0)
		params->ep_state = (it_ep_state_t){.rc = ual_ep_state_rc(state)};
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
	if ((mask & IT_EP_PARAM_MAX_PAYLOAD) != 0)
		out->max_dto_payload_size = ep->attr.max_dto_payload_size;
	if ((mask & IT_EP_PARAM_MAX_REQ_DTO) != 0)
		out->max_request_dtos = ep->attr.max_request_dtos;
	if ((mask & IT_EP_PARAM_MAX_RECV_DTO) != 0)
		out->max_recv_dtos = ep->attr.max_recv_dtos;
	if ((mask & IT_EP_PARAM_MAX_SEND_SEG) != 0)
		out->max_send_segments = ep->attr.max_send_segments;
	if ((mask & IT_EP_PARAM_MAX_RECV_SEG) != 0)
		out->max_recv_segments = ep->attr.max_recv_segments;
	if ((mask & IT_EP_PARAM_PRIV_OPS_ENABLE) != 0)
		out->priv_ops_enable = ep->attr.priv_ops_enable;
	if (!ep->ud)
		query_rc(&ep->attr.srv.rc, mask, &out->srv.rc);
	if (ep->ud && (mask & IT_EP_PARAM_EP_ID) != 0)
		out->srv.ud.ep_info.ud_ep_id = ep->attr.srv.ud.ep_info.ud_ep_id;
	if (ep->ud && (mask & IT_EP_PARAM_EP_KEY) != 0)
		out->srv.ud.ep_info.ud_ep_key = ep->attr.srv.ud.ep_info.ud_ep_key;
	pthread_mutex_unlock(&ep->lock);
}

/* Back to UNCONNECTED, once the kAL has finished with everything. */
static it_status_t
reset_connected(struct ual_ep *ep)
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

/*
 * Datagrams. A thread that has taken a failed completion may reset the endpoint before the asynchronous event makes it
 * NONOPERATIONAL. So the queue pair of an OPERATIONAL endpoint is queried. If it has failed, its event will follow, and the
 * reset is refused until that was dispatched: an event from before a reset is never taken for one from after it.
 */
static it_status_t
reset_datagrams(struct ual_ep *ep)
{
	const struct ri_qp_attr idle = {.state = RI_QPS_IDLE};
	struct kal_id_req req = {.id = ep->qp_id};
	struct ri_qp_attr attr;
	enum ri_status below;
	it_status_t status;

	RI_ASSERT_OWNED(&ep->control);
	if (atomic_load(&ep->state) == UAL_EPS_UD_OPERATIONAL) {
		below = session_call(&ep->object.ia->session, KAL_QP_QUERY, &req, sizeof(req),
				     &attr, sizeof(attr));
		if (below != RI_SUCCESS)
			return ual_status(UAL_CALL_EP_RESET, below);
		return attr.state == RI_QPS_RTS ? IT_SUCCESS : IT_ERR_CANNOT_RESET;
	}
	/* The state first: a failure from here on belongs to the time after the reset. */
	(void)ual_ep_step(&ep->state, UAL_EPE_RESET, NULL);
	status = ual_status(UAL_CALL_EP_RESET, ual_ep_qp_modify(ep, &idle, RI_QP_ATTR_STATE));
	if (status != IT_SUCCESS)
		(void)ual_ep_step(&ep->state, UAL_EPE_BROKEN, NULL);
	return status;
}

it_status_t
ual_ep_reset(struct ual_ep *ep)
{
	it_status_t status;

	pthread_mutex_lock(&ep->control);
	status = ep->ud ? reset_datagrams(ep) : reset_connected(ep);
	pthread_mutex_unlock(&ep->control);
	return status;
}
