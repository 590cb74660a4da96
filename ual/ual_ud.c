/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Endpoints for datagrams: what differs from connected ones [IT 5], [IT 15.4]. They are operational from their creation
 * on. Posts are in ual_dto.c, attributes in ual_ep_attr.c, the rest of their life in ual_ep.c.
 *
 * When an endpoint fails, an asynchronous event after its completions makes it NONOPERATIONAL. A thread that has taken a
 * failed completion may reset the endpoint before that event. So a reset that finds the endpoint OPERATIONAL queries
 * the queue pair: if that has failed, the event is on the way, and the reset returns CANNOT_RESET until the event was
 * dispatched. So an event from before a reset is never taken for one from after it.
 */

#include "ri_owned.h"
#include "ual.h"
#include "ual_ep.h"
#include "ual_status.h"

static enum ri_status
qp_make(struct ual_ep *ep, size_t spigot)
{
	it_remote_ep_info_t *info = &ep->attr.srv.ud.ep_info;
	struct ri_qp_init init = {
		.ctx = ual_object_ctx(&ep->object),
		.type = RI_QP_UD,
		.port = (uint32_t)spigot,
		.max_sq_wr = ual_ep_slots(ep->attr.max_request_dtos),
		.max_rq_wr = ual_ep_slots(ep->attr.max_recv_dtos),
		.max_send_sge = (uint32_t)ep->attr.max_send_segments,
		.max_recv_sge = (uint32_t)ep->attr.max_recv_segments,
		.qkey = info->ud_ep_key,
		.hard_limit = UINT32_MAX,
		.privileged = ep->attr.priv_ops_enable,
	};
	uint32_t qpn = 0;
	enum ri_status status = ual_ep_qp_make(ep, &init, &qpn);

	if (status != RI_SUCCESS)
		return status;
	info->ud_ep_id = qpn;
	ep->path.spigot_id = spigot;
	ual_ep_take_granted(ep, &init);
	return RI_SUCCESS;
}

it_status_t
ual_ud_create(struct ual_pz *pz, const struct ual_ep_wanted *wanted, size_t spigot,
	      it_ep_handle_t *out)
{
	const struct ual_ia *ia = pz->object.ia;
	struct ual_ep *ep = ual_ep_new(pz, wanted);
	it_status_t status;

	if (ep == NULL)
		return IT_ERR_RESOURCES;
	ep->ud = true;
	status = ual_ep_use_evds(ep, wanted);
	if (status == IT_SUCCESS && !ia->session.attr.ud)
		status = IT_ERR_OP_NOT_SUPPORTED;
	if (status == IT_SUCCESS)
		status = ual_ep_attr_check_ud(ia, wanted->attr);
	if (status == IT_SUCCESS && spigot >= ia->session.attr.num_ports)
		status = IT_ERR_INVALID_SPIGOT;
	if (status == IT_SUCCESS)
		status = ual_status(UAL_CALL_EP_CREATE, qp_make(ep, spigot));
	if (status != IT_SUCCESS) {
		ual_ep_end(ep);
		return status;
	}
	(void)ual_ep_step(&ep->state, UAL_EPE_CREATE_UD, NULL);
	*out = ual_object_publish(&ep->object);
	return IT_SUCCESS;
}

/* The endpoint is OPERATIONAL: has its queue pair failed? */
static it_status_t
reset_running(struct ual_ep *ep)
{
	struct kal_id_req req = {.id = ep->qp_id};
	struct ri_qp_attr attr;
	enum ri_status status = session_call(&ep->object.ia->session, KAL_QP_QUERY, &req,
					     sizeof(req), &attr, sizeof(attr));

	if (status != RI_SUCCESS)
		return ual_status(UAL_CALL_EP_RESET, status);
	return attr.state == RI_QPS_RTS ? IT_SUCCESS : IT_ERR_CANNOT_RESET;
}

it_status_t
ual_ud_reset(struct ual_ep *ep)
{
	const struct ri_qp_attr idle = {.state = RI_QPS_IDLE};
	it_status_t status;

	RI_ASSERT_OWNED(&ep->control);
	if (atomic_load(&ep->state) == UAL_EPS_UD_OPERATIONAL)
		return reset_running(ep);
	/* The state first: a failure from here on belongs to the time after the reset. */
	(void)ual_ep_step(&ep->state, UAL_EPE_RESET, NULL);
	status = ual_status(UAL_CALL_EP_RESET, ual_ep_qp_modify(ep, &idle, RI_QP_ATTR_STATE));
	if (status != IT_SUCCESS)
		(void)ual_ep_step(&ep->state, UAL_EPE_BROKEN, NULL);
	return status;
}
