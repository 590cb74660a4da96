/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Calls that are refused for their arguments, made between the steps of a life. Each names why it must be refused; none may change
 * anything, so the life is that of an object beside which they were not made.
 */
#include <string.h>

#include "lives.h"

#define HUGE_NUMBER 0x7fffffffu

/* The call must give this status. */
static void
must(struct world *world, const char *what, it_status_t given, it_status_t expected)
{
	if (given == expected)
		return;
	g_test_message("%s, while disturbed", what);
	world_fail(world, it_status_name(expected), it_status_name(given));
}

static void
disturb_ep(struct world *world, it_ep_handle_t ep)
{
	it_lmr_triplet_t foreign = segment(&world->far, 0, 8), own = segment(&world->near, 0, 8);
	const it_ep_param_mask_t all[] = {IT_EP_PARAM_MAX_REQ_DTO, IT_EP_PARAM_MAX_RECV_DTO,
					  IT_EP_PARAM_MAX_IRD, IT_EP_PARAM_MAX_ORD};
	struct side *near = &world->near;
	const bool sizes = near->end.info->ep_work_queues_resizable;
	const it_status_t statuses[] = {sizes ? IT_ERR_RESOURCE_REQ_DTO : IT_ERR_OP_NOT_SUPPORTED,
					sizes ? IT_ERR_RESOURCE_RECV_DTO : IT_ERR_OP_NOT_SUPPORTED,
					IT_ERR_RESOURCE_IRD, IT_ERR_RESOURCE_ORD};
	it_rmr_context_t context = 0;
	it_ep_attributes_t attr;
	it_ep_param_t p;
	bool up;

	memset(&p, 0, sizeof(p));
	pair_ok(it_ep_query(ep, IT_EP_PARAM_ALL, &p));
	up = p.ep_state.rc == IT_EP_STATE_CONNECTED;
	attr = p.attr;
	attr.max_request_dtos = attr.max_recv_dtos = HUGE_NUMBER;
	attr.srv.rc.rdma_read_ird = attr.srv.rc.rdma_read_ord = HUGE_NUMBER;
	for (size_t i = 0; up && i < G_N_ELEMENTS(all); i++)
		must(world, "it_ep_modify", it_ep_modify(ep, all[i], &attr), statuses[i]);
	/* The first part alone would be possible. */
	attr.max_request_dtos = p.attr.max_request_dtos + 1;
	if (up)
		must(world, "it_ep_modify of two",
		     it_ep_modify(
			     ep,
			     (it_ep_param_mask_t)(IT_EP_PARAM_MAX_REQ_DTO | IT_EP_PARAM_MAX_IRD),
			     &attr),
		     sizes ? IT_ERR_RESOURCE_IRD : IT_ERR_OP_NOT_SUPPORTED);
	must(world, "it_ep_modify of the state", it_ep_modify(ep, IT_EP_PARAM_STATE, &attr),
	     IT_ERR_INVALID_MASK);
	must(world, "it_ep_accept", it_ep_accept(ep, (it_cn_est_identifier_t)1 << 60, NULL, 0),
	     IT_ERR_INVALID_CN_EST_ID);
	must(world, "it_pz_free", it_pz_free(p.pz), IT_ERR_PZ_BUSY);
	must(world, "it_evd_free", it_evd_free(p.connect_sevd), IT_ERR_EVD_BUSY);
	if (!up)
		return;
	must(world, "it_ep_connect",
	     it_ep_connect(ep, &near->dial.path, NULL, &near->dial.qual, IT_CONNECT_FLAG_TWO_WAY,
			   NULL, 0),
	     IT_ERR_INVALID_EP_STATE);
	must(world, "it_ep_reset", it_ep_reset(ep), IT_ERR_INVALID_EP_STATE);
	must(world, "it_ep_disconnect", it_ep_disconnect(ep, near->end.buffer, 1000),
	     IT_ERR_INVALID_PDATA_LENGTH);
	must(world, "it_post_send", it_post_send(ep, &foreign, 1, 1, SIGNALED), IT_ERR_INVALID_LMR);
	must(world, "it_post_send with flags", it_post_send(ep, &own, 1, 1, IT_UNLINK_FENCE_FLAG),
	     IT_ERR_INVALID_DTO_FLAGS);
	must(world, "it_post_rdma_write",
	     it_post_rdma_write(ep, &foreign, 1, 1, SIGNALED, 0, world->far.end.context),
	     IT_ERR_INVALID_LMR);
	must(world, "it_post_send of nothing", it_post_send(ep, NULL, 1, 1, SIGNALED),
	     IT_ERR_FAULT);
	(void)context;
}

static void
disturb_evd(struct world *world, it_evd_handle_t evd)
{
	it_event_type_t async = IT_ASYNC_AFF_EVENT_STREAM;
	it_evd_handle_t second = NULL;
	it_evd_param_t p, q;

	memset(&p, 0, sizeof(p));
	pair_ok(it_evd_query(evd, IT_EVD_PARAM_ALL, &p));
	q = p;
	q.sevd_queue_size = 0;
	must(world, "it_evd_modify to 0", it_evd_modify(evd, IT_EVD_PARAM_QUEUE_SIZE, &q),
	     IT_ERR_INVALID_QUEUE_SIZE);
	q.sevd_queue_size = p.sevd_queue_size + 8;
	q.sevd_threshold = q.sevd_queue_size + 1;
	must(world, "it_evd_modify of two",
	     it_evd_modify(evd,
			   (it_evd_param_mask_t)(IT_EVD_PARAM_QUEUE_SIZE | IT_EVD_PARAM_THRESHOLD),
			   &q),
	     IT_ERR_INVALID_THRESHOLD);
	q.evd_overflowed = IT_TRUE;
	must(world, "it_evd_modify to overflowed", it_evd_modify(evd, IT_EVD_PARAM_OVERFLOWED, &q),
	     IT_ERR_INVALID_EVD_STATE);
	q.evd_flag = (it_evd_flags_t)(p.evd_flag ^ IT_EVD_DEQUEUE_NOTIFICATIONS);
	must(world, "it_evd_modify of flags", it_evd_modify(evd, IT_EVD_PARAM_FLAG, &q),
	     IT_ERR_INVALID_FLAGS);
	q.aevd = evd;
	if (p.aevd == NULL)
		must(world, "it_evd_modify to itself",
		     it_evd_modify(evd, IT_EVD_PARAM_AEVD_HANDLE, &q), IT_ERR_INVALID_AEVD);
	must(world, "it_evd_create", it_evd_create(p.ia, async, 0, 8, 1, NULL, &second, NULL),
	     IT_ERR_ASYNC_AFF_EVD_EXISTS);
	must(world, "it_evd_create of 0",
	     it_evd_create(p.ia, IT_SOFTWARE_EVENT_STREAM, 0, 0, 0, NULL, &second, NULL),
	     IT_ERR_INVALID_QUEUE_SIZE);
	must(world, "it_evd_create in no aggregate",
	     it_evd_create(p.ia, IT_SOFTWARE_EVENT_STREAM, 0, 8, 1, evd, &second, NULL),
	     IT_ERR_INVALID_AEVD);
	if (p.aevd != NULL) {
		must(world, "it_evd_wait", it_evd_wait(evd, 0, &(it_event_t){0}, NULL),
		     IT_ERR_INVALID_EVD_STATE);
		must(world, "it_evd_callback_attach",
		     it_evd_callback_attach(evd, (it_evd_callback_rtn_t)(void (*)(void))trace_free,
					    NULL),
		     IT_ERR_INVALID_EVD_STATE);
		must(world, "it_evd_free", it_evd_free(p.aevd), IT_ERR_EVD_BUSY);
	}
	if (p.evd_callback) {
		must(world, "it_evd_callback_attach",
		     it_evd_callback_attach(evd, (it_evd_callback_rtn_t)(void (*)(void))trace_free,
					    NULL),
		     IT_ERR_CALLBACK_EXISTS);
		must(world, "it_evd_wait", it_evd_wait(evd, 0, &(it_event_t){0}, NULL),
		     IT_ERR_CALLBACK_EXISTS);
	}
}

static void
disturb_srq(struct world *world, it_srq_handle_t srq)
{
	it_lmr_triplet_t foreign = segment(&world->far, 0, 8), own[8];
	it_srq_param_t p;

	memset(&p, 0, sizeof(p));
	pair_ok(it_srq_query(srq, IT_SRQ_PARAM_ALL, &p));
	for (size_t i = 0; i < G_N_ELEMENTS(own); i++)
		own[i] = segment(&world->near, 8 * i, 8);
	must(world, "it_post_recv", it_post_recv((it_handle_t)srq, &foreign, 1, 1, 0),
	     IT_ERR_INVALID_LMR);
	must(world, "it_post_recv of many",
	     it_post_recv((it_handle_t)srq, own, p.max_recv_segs + 1, 1, 0),
	     IT_ERR_INVALID_NUM_SEGMENTS);
	p.max_recv_dtos += 2;
	p.low_watermark = p.max_recv_dtos + 1;
	must(world, "it_srq_modify of two",
	     it_srq_modify(
		     srq,
		     (it_srq_param_mask_t)(IT_SRQ_PARAM_MAX_RECV_DTO | IT_SRQ_PARAM_LOW_WATERMARK),
		     &p),
	     IT_ERR_SRQ_LOW_WATERMARK);
	p.max_recv_dtos = 0;
	must(world, "it_srq_modify to 0", it_srq_modify(srq, IT_SRQ_PARAM_MAX_RECV_DTO, &p),
	     IT_ERR_INVALID_SRQ_SIZE);
	p.max_recv_dtos = HUGE_NUMBER;
	must(world, "it_srq_modify to many", it_srq_modify(srq, IT_SRQ_PARAM_MAX_RECV_DTO, &p),
	     IT_ERR_RESOURCE_RECV_DTO);
}

/* Of the adapter of the object, with objects of the other one. */
static void
disturb_adapter(struct world *world)
{
	struct side *near = &world->near, *far = &world->far;
	it_lmr_handle_t lmr = NULL;
	it_ep_handle_t ep = NULL;
	it_srq_handle_t srq = NULL;
	it_pz_handle_t none = (it_pz_handle_t)(void *)near->end.lmr;

	must(world, "it_ep_rc_create with a foreign SEVD",
	     it_ep_rc_create(near->end.pz, far->end.request, near->end.recv, near->end.cm_msg,
			     IT_EP_NO_FLAG, &near->end.attr, &ep),
	     IT_ERR_INVALID_REQ_EVD);
	must(world, "it_ep_rc_create with foreign receives",
	     it_ep_rc_create(near->end.pz, near->end.request, far->end.recv, near->end.cm_msg,
			     IT_EP_NO_FLAG, &near->end.attr, &ep),
	     IT_ERR_INVALID_RECV_EVD);
	must(world, "it_ep_rc_create with a foreign connect SEVD",
	     it_ep_rc_create(near->end.pz, near->end.request, near->end.recv, far->end.cm_msg,
			     IT_EP_NO_FLAG, &near->end.attr, &ep),
	     IT_ERR_INVALID_CONN_EVD);
	must(world, "it_lmr_create21 without rights",
	     it_lmr_create21(near->end.pz, near->end.buffer, NULL, 64, IT_ADDR_MODE_ABSOLUTE,
			     IT_PRIV_REMOTE, IT_LMR_FLAG_NONE, 0, &lmr, NULL),
	     IT_ERR_INVALID_PRIVS);
	must(world, "it_lmr_create21 without memory",
	     it_lmr_create21(near->end.pz, (void *)(uintptr_t)4096, NULL, 64, IT_ADDR_MODE_ABSOLUTE,
			     IT_PRIV_LOCAL, IT_LMR_FLAG_NONE, 0, &lmr, NULL),
	     IT_ERR_ADDRESS);
	must(world, "it_lmr_create21 of too much",
	     it_lmr_create21(near->end.pz, near->end.buffer, NULL, 64 << 20, IT_ADDR_MODE_ABSOLUTE,
			     IT_PRIV_LOCAL, IT_LMR_FLAG_NONE, 0, &lmr, NULL),
	     IT_ERR_RESOURCES);
	must(world, "it_lmr_create21 in no zone",
	     it_lmr_create21(none, near->end.buffer, NULL, 64, IT_ADDR_MODE_ABSOLUTE, IT_PRIV_LOCAL,
			     IT_LMR_FLAG_NONE, 0, &lmr, NULL),
	     IT_ERR_INVALID_PZ);
	if (near->end.info->srq_support)
		must(world, "it_srq_create of 0", it_srq_create(near->end.pz, 1, 0, &srq),
		     IT_ERR_INVALID_SRQ_SIZE);
	must(world, "it_reject", it_reject((it_cn_est_identifier_t)1 << 60, NULL, 0),
	     IT_ERR_INVALID_CN_EST_ID);
}

void
world_disturb(struct world *world, const struct at_hand *at_hand)
{
	if (!world->disturbed)
		return;
	disturb_adapter(world);
	if (at_hand->ep != NULL)
		disturb_ep(world, at_hand->ep);
	if (at_hand->evd != NULL)
		disturb_evd(world, at_hand->evd);
	if (at_hand->srq != NULL)
		disturb_srq(world, at_hand->srq);
}
