/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Endpoints and memory on a real adapter: attributes, limits, every status of their calls, and the
 * calls that no adapter of this release offers [IT 3], [IT 8], [IT 15.4], [IT 15.6], [IT 15.8], [IT 15.9].
 */

#include <string.h>
#include <sys/mman.h>

#include "it_pair.h"

static it_status_t
try_create(struct end *end, const it_ep_attributes_t *attr, unsigned int flags)
{
	it_ep_handle_t made = (it_ep_handle_t)end;
	it_status_t status = it_ep_rc_create(end->pz, end->request, end->recv, end->cm_msg,
					     (it_ep_rc_creation_flags_t)flags, attr, &made);

	if (status == IT_SUCCESS)
		g_assert_cmpint(it_ep_free(made), ==, IT_SUCCESS);
	else
		g_assert_null(made);
	return status;
}

/* Endpoints are created with what was asked for, or refused by the status of the argument. */
static void
test_ep_create(struct pair *pair)
{
	struct end *a = &pair->active;
	it_ep_attributes_t attr = a->attr;
	it_ep_handle_t ep;

	g_assert_cmpint(it_ep_rc_create(NULL, a->request, a->recv, a->cm_msg, 0, &attr, &ep), ==,
			IT_ERR_INVALID_PZ);
	g_assert_cmpint(it_ep_rc_create(a->pz, NULL, a->recv, a->cm_msg, 0, &attr, &ep), ==,
			IT_ERR_INVALID_REQ_EVD);
	g_assert_cmpint(it_ep_rc_create(a->pz, a->cm_msg, a->recv, a->cm_msg, 0, &attr, &ep), ==,
			IT_ERR_INVALID_REQ_EVD);
	g_assert_cmpint(
		it_ep_rc_create(a->pz, pair->passive.request, a->recv, a->cm_msg, 0, &attr, &ep),
		==, IT_ERR_INVALID_REQ_EVD);
	g_assert_cmpint(it_ep_rc_create(a->pz, a->request, NULL, a->cm_msg, 0, &attr, &ep), ==,
			IT_ERR_INVALID_RECV_EVD);
	g_assert_cmpint(it_ep_rc_create(a->pz, a->request, a->recv, NULL, 0, &attr, &ep), ==,
			IT_ERR_INVALID_CONN_EVD);
	g_assert_cmpint(it_ep_rc_create(a->pz, a->request, a->recv, a->cm_req, 0, &attr, &ep), ==,
			IT_ERR_INVALID_CONN_EVD);
	g_assert_cmpint(it_ep_rc_create(a->pz, a->request, a->recv, a->cm_msg, 0, NULL, &ep), ==,
			IT_ERR_FAULT);
	g_assert_cmpint(it_ep_rc_create(a->pz, a->request, a->recv, a->cm_msg, 0, &attr, NULL), ==,
			IT_ERR_FAULT);
	g_assert_cmpint(try_create(a, &attr, 0x80), ==, IT_ERR_INVALID_FLAGS);
	g_assert_cmpint(try_create(a, &attr, IT_EP_SRQ), ==,
			a->info->srq_support ? IT_ERR_INVALID_SRQ : IT_ERR_SRQ_NOT_SUPPORTED);
	g_assert_cmpint(try_create(a, &attr, IT_EP_REUSEADDR), ==, IT_SUCCESS);
	if (!a->info->atomic_support) {
		attr.srv.rc.atomics_enable = IT_TRUE;
		g_assert_cmpint(try_create(a, &attr, 0), ==, IT_ERR_INVALID_EP_ATTR);
	}
	/* A shared EVD for both queues, and again after it was used. */
	g_assert_cmpint(it_ep_rc_create(a->pz, a->recv, a->recv, a->cm_msg, 0, &a->attr, &ep), ==,
			IT_SUCCESS);
	g_assert_cmpint(it_evd_free(a->recv), ==, IT_ERR_EVD_BUSY);
	g_assert_cmpint(it_pz_free(a->pz), ==, IT_ERR_PZ_BUSY);
	g_assert_cmpint(it_ep_free(ep), ==, IT_SUCCESS);
	g_assert_cmpint(it_ep_free(ep), ==, IT_ERR_INVALID_EP);
	g_assert_cmpint(it_ep_free(NULL), ==, IT_ERR_INVALID_EP);
}

/* One attribute at a time above every limit. */
static void
test_ep_limits(struct pair *pair)
{
	struct end *a = &pair->active;
	const size_t huge = (size_t)1 << 40;
	it_ep_attributes_t attr;

	attr = a->attr;
	attr.max_dto_payload_size = huge;
	g_assert_cmpint(try_create(a, &attr, 0), ==, IT_ERR_PAYLOAD_SIZE);
	attr = a->attr;
	attr.max_request_dtos = huge;
	g_assert_cmpint(try_create(a, &attr, 0), ==, IT_ERR_RESOURCE_REQ_DTO);
	attr = a->attr;
	attr.max_recv_dtos = huge;
	g_assert_cmpint(try_create(a, &attr, 0), ==, IT_ERR_RESOURCE_RECV_DTO);
	attr = a->attr;
	attr.max_send_segments = huge;
	g_assert_cmpint(try_create(a, &attr, 0), ==, IT_ERR_RESOURCE_SSEG);
	attr = a->attr;
	attr.max_recv_segments = huge;
	g_assert_cmpint(try_create(a, &attr, 0), ==, IT_ERR_RESOURCE_RSEG);
	attr = a->attr;
	attr.srv.rc.max_rdma_read_segments = huge;
	g_assert_cmpint(try_create(a, &attr, 0), ==, IT_ERR_RESOURCE_RRSEG);
	attr = a->attr;
	attr.srv.rc.max_rdma_write_segments = huge;
	g_assert_cmpint(try_create(a, &attr, 0), ==, IT_ERR_RESOURCE_RWSEG);
	attr = a->attr;
	attr.srv.rc.rdma_read_ird = UINT32_MAX;
	g_assert_cmpint(try_create(a, &attr, 0), ==, IT_ERR_RESOURCE_IRD);
	attr = a->attr;
	attr.srv.rc.rdma_read_ord = UINT32_MAX;
	g_assert_cmpint(try_create(a, &attr, 0), ==, IT_ERR_RESOURCE_ORD);
	attr = a->attr;
	attr.priv_ops_enable = IT_TRUE;
	if (pair_claim("privileged_ops") == 0)
		g_assert_cmpint(try_create(a, &attr, 0), ==, IT_ERR_PRIV_OPS_UNAVAILABLE);
}

/* The attributes of an endpoint are queried by a mask. */
static void
test_ep_query(struct pair *pair)
{
	struct end *a = &pair->active;
	const it_rc_only_attributes_t *rc;
	it_ep_param_t params;

	g_assert_cmpint(it_ep_query(NULL, IT_EP_PARAM_ALL, &params), ==, IT_ERR_INVALID_EP);
	g_assert_cmpint(it_ep_query(a->ep, IT_EP_PARAM_ALL, NULL), ==, IT_ERR_FAULT);
	g_assert_cmpint(it_ep_query(a->ep, 0x10000000, &params), ==, IT_ERR_INVALID_MASK);
	g_assert_cmpint(it_ep_query(a->ep, IT_EP_PARAM_ALL | IT_EP_PARAM_IA, &params), ==,
			IT_ERR_INVALID_MASK);
	/* Members that were not requested do not change. */
	memset(&params, 0x5a, sizeof(params));
	g_assert_cmpint(it_ep_query(a->ep, IT_EP_PARAM_MAX_IRD, &params), ==, IT_SUCCESS);
	g_assert_cmpuint(params.attr.srv.rc.rdma_read_ird, ==, a->attr.srv.rc.rdma_read_ird);
	g_assert_cmpuint(params.attr.srv.rc.rdma_read_ord, ==, 0x5a5a5a5a);
	g_assert_cmpuint(params.spigot_id, ==, (size_t)0x5a5a5a5a5a5a5a5a);
	g_assert_cmpint(it_ep_query(a->ep, IT_EP_PARAM_ALL, &params), ==, IT_SUCCESS);
	rc = &params.attr.srv.rc;
	g_assert_true(params.request_sevd == a->request && params.recv_sevd == a->recv);
	g_assert_true(params.connect_sevd == a->cm_msg);
	g_assert_cmpuint(params.attr.max_request_dtos, >=, a->attr.max_request_dtos);
	g_assert_cmpuint(params.attr.max_recv_dtos, >=, a->attr.max_recv_dtos);
	g_assert_cmpuint(params.attr.max_send_segments, >=, a->attr.max_send_segments);
	g_assert_cmpuint(params.attr.max_recv_segments, >=, a->attr.max_recv_segments);
	g_assert_cmpuint(params.attr.max_dto_payload_size, >, 0);
	g_assert_cmpuint(rc->max_rdma_read_segments, >=, 1);
	g_assert_cmpuint(rc->max_rdma_write_segments, >=, a->attr.srv.rc.max_rdma_write_segments);
	g_assert_cmpuint(rc->rdma_read_ord, ==, a->attr.srv.rc.rdma_read_ord);
	g_assert_cmpint(rc->rdma_read_enable, ==, IT_TRUE);
	g_assert_cmpint(rc->rdma_write_enable, ==, IT_TRUE);
	g_assert_cmpint(rc->atomics_enable, ==, pair->active.info->atomic_support);
	g_assert_null(rc->srq);
	g_assert_cmpuint(rc->hard_hi_watermark, ==, IT_HARD_HI_WATERMARK_DISABLE);
	g_assert_cmpint(params.attr.priv_ops_enable, ==, IT_FALSE);
}

/* An EVD that overflowed cannot be given to a new endpoint [IT 15.4]. */
static void
test_ep_overflowed(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_lmr_triplet_t out = end_segment(a, 0, 8), in = end_segment(b, 0, 8);
	it_evd_param_t params;
	it_evd_handle_t small;
	it_ep_handle_t ep;

	g_assert_cmpint(it_evd_create(b->ia, IT_DTO_EVENT_STREAM, 0, 1, 1, NULL, &small, NULL), ==,
			IT_SUCCESS);
	g_assert_cmpint(it_evd_query(small, IT_EVD_PARAM_QUEUE_SIZE, &params), ==, IT_SUCCESS);
	g_assert_cmpint(it_ep_free(b->ep), ==, IT_SUCCESS);
	b->attr.max_recv_dtos = params.sevd_queue_size + 4;
	g_assert_cmpint(it_ep_rc_create(b->pz, b->request, small, b->cm_msg, 0, &b->attr, &b->ep),
			==, IT_SUCCESS);
	for (size_t i = 0; i < b->attr.max_recv_dtos; i++)
		g_assert_cmpint(it_post_recv((it_handle_t)b->ep, &in, 1, i, 0), ==, IT_SUCCESS);
	pair_establish(pair);
	for (size_t i = 0; i <= params.sevd_queue_size; i++) {
		g_assert_cmpint(it_post_send(a->ep, &out, 1, i, IT_COMPLETION_FLAG), ==,
				IT_SUCCESS);
		end_next(a->request);
	}
	end_expect(b->cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	g_assert_cmpint(it_evd_query(small, IT_EVD_PARAM_OVERFLOWED, &params), ==, IT_SUCCESS);
	g_assert_cmpint(params.evd_overflowed, ==, IT_TRUE);
	g_assert_cmpint(it_ep_rc_create(b->pz, small, b->recv, b->cm_msg, 0, &b->attr, &ep), ==,
			IT_ERR_INVALID_REQ_EVD_STATE);
	g_assert_cmpint(it_ep_rc_create(b->pz, b->request, small, b->cm_msg, 0, &b->attr, &ep), ==,
			IT_ERR_INVALID_RECV_EVD_STATE);
	g_assert_cmpint(it_ep_free(b->ep), ==, IT_SUCCESS);
	b->ep = NULL;
	g_assert_cmpint(it_evd_free(small), ==, IT_SUCCESS);
}

static it_status_t
modify(struct end *end, unsigned int mask, const it_ep_attributes_t *attr)
{
	return it_ep_modify(end->ep, (it_ep_param_mask_t)mask, attr);
}

/* The attributes of an endpoint are modified by a mask, where its state allows it. */
static void
test_ep_modify(struct pair *pair)
{
	struct end *a = &pair->active;
	it_ep_attributes_t attr = a->attr;
	const it_ia_info_t *can = a->info;

	g_assert_cmpint(it_ep_modify(NULL, IT_EP_PARAM_MAX_ORD, &attr), ==, IT_ERR_INVALID_EP);
	g_assert_cmpint(modify(a, IT_EP_PARAM_MAX_ORD, NULL), ==, IT_ERR_FAULT);
	g_assert_cmpint(modify(a, 0, &attr), ==, IT_ERR_INVALID_MASK);
	g_assert_cmpint(modify(a, IT_EP_PARAM_ALL, &attr), ==, IT_ERR_INVALID_MASK);
	g_assert_cmpint(modify(a, IT_EP_PARAM_PZ, &attr), ==, IT_ERR_INVALID_MASK);
	g_assert_cmpint(modify(a, IT_EP_PARAM_SRQ, &attr), ==, IT_ERR_INVALID_MASK);
	g_assert_cmpint(modify(a, IT_EP_PARAM_EP_KEY, &attr), ==, IT_ERR_INVALID_EP_TYPE);
	g_assert_cmpint(modify(a, IT_EP_PARAM_SOFT_HI_WATERMARK, &attr), ==,
			IT_ERR_SOFT_HI_WATERMARK);
	g_assert_cmpint(modify(a, IT_EP_PARAM_HARD_HI_WATERMARK, &attr), ==,
			IT_ERR_HARD_HI_WATERMARK);
	attr.max_dto_payload_size = 100;
	g_assert_cmpint(modify(a, IT_EP_PARAM_MAX_PAYLOAD, &attr), ==, IT_SUCCESS);
	attr.max_dto_payload_size = (size_t)1 << 40;
	g_assert_cmpint(modify(a, IT_EP_PARAM_MAX_PAYLOAD, &attr), ==, IT_ERR_PAYLOAD_SIZE);
	attr.max_send_segments = attr.max_recv_segments = 1;
	g_assert_cmpint(modify(a, IT_EP_PARAM_MAX_SEND_SEG | IT_EP_PARAM_MAX_RECV_SEG, &attr), ==,
			IT_SUCCESS);
	attr.srv.rc.rdma_read_ord = pair_at_most("max_ord", 3);
	g_assert_cmpint(modify(a, IT_EP_PARAM_MAX_ORD, &attr), ==, IT_SUCCESS);
	g_assert_cmpuint(end_ord(a), ==, attr.srv.rc.rdma_read_ord);
	attr.srv.rc.rdma_read_ord = UINT32_MAX;
	g_assert_cmpint(modify(a, IT_EP_PARAM_MAX_ORD, &attr), ==,
			can->rdma_read_ord_increasable ? IT_ERR_RESOURCE_ORD
						       : IT_ERR_OP_NOT_SUPPORTED);
	attr.srv.rc.rdma_read_ird = UINT32_MAX;
	g_assert_cmpint(modify(a, IT_EP_PARAM_MAX_IRD, &attr), ==,
			can->rdma_read_ird_modifiable ? IT_ERR_RESOURCE_IRD
						      : IT_ERR_OP_NOT_SUPPORTED);
	g_assert_cmpint(modify(a, IT_EP_PARAM_RDMA_WR_ENABLE, &attr), ==,
			can->ep_rdma_enables_modifiable ? IT_SUCCESS : IT_ERR_OP_NOT_SUPPORTED);
	if (!can->ep_work_queues_resizable)
		g_assert_cmpint(modify(a, IT_EP_PARAM_MAX_REQ_DTO, &attr), ==,
				IT_ERR_OP_NOT_SUPPORTED);
	pair_establish(pair);
	g_assert_cmpint(modify(a, IT_EP_PARAM_MAX_PAYLOAD, &attr), ==, IT_ERR_INVALID_EP_STATE);
	/* The peer's IRD may have lowered it. */
	attr.srv.rc.rdma_read_ord = pair_at_most("max_ird", pair_at_most("max_ord", 2));
	g_assert_cmpint(modify(a, IT_EP_PARAM_MAX_ORD, &attr), ==, IT_SUCCESS);
	g_assert_cmpuint(end_ord(a), ==, attr.srv.rc.rdma_read_ord);
	{
		it_lmr_triplet_t out[2] = {end_segment(a, 0, 101), end_segment(a, 0, 1)};

		g_assert_cmpint(it_post_send(a->ep, out, 1, 0, 0), ==, IT_ERR_PAYLOAD_SIZE);
		g_assert_cmpint(it_post_send(a->ep, out, 2, 0, 0), ==, IT_ERR_INVALID_NUM_SEGMENTS);
	}
	pair_disconnect(pair);
	g_assert_cmpint(modify(a, IT_EP_PARAM_MAX_ORD, &attr), ==, IT_ERR_INVALID_EP_STATE);
}

/* In sharing group id; keep NULL: freed at once. */
static it_status_t
try_shared(struct end *end, void *addr, it_length_t length, uint32_t id, it_lmr_handle_t *keep)
{
	it_lmr_handle_t made = (it_lmr_handle_t)end;
	it_status_t status = it_lmr_create10(end->pz, addr, length, IT_PRIV_ALL, IT_LMR_FLAG_SHARED,
					     id, &made, NULL);

	if (status != IT_SUCCESS)
		g_assert_null(made);
	else if (keep == NULL)
		g_assert_cmpint(it_lmr_free(made), ==, IT_SUCCESS);
	if (keep != NULL)
		*keep = made;
	return status;
}

static it_status_t
try_lmr(struct end *end, void *addr, it_length_t length, unsigned int privs, unsigned int flags)
{
	it_lmr_handle_t made = (it_lmr_handle_t)end;
	it_status_t status = it_lmr_create10(end->pz, addr, length, (it_mem_priv_t)privs,
					     (it_lmr_flag_t)flags, 0, &made, NULL);

	if (status != IT_SUCCESS)
		g_assert_null(made);
	else
		g_assert_cmpint(it_lmr_free(made), ==, IT_SUCCESS);
	return status;
}

/* Regions are created with each combination of rights, or refused. */
static void
test_lmr_create(struct pair *pair)
{
	struct end *a = &pair->active;
	it_rmr_context_t context = 0;
	it_lmr_handle_t lmr;
	void *hole;

	g_assert_cmpint(it_lmr_create10(NULL, a->buffer, 8, IT_PRIV_ALL, 0, 0, &lmr, NULL), ==,
			IT_ERR_INVALID_PZ);
	g_assert_cmpint(it_lmr_create10(a->pz, a->buffer, 8, IT_PRIV_ALL, 0, 0, NULL, NULL), ==,
			IT_ERR_FAULT);
	g_assert_cmpint(try_lmr(a, NULL, 8, IT_PRIV_ALL, 0), ==, IT_ERR_FAULT);
	g_assert_cmpint(try_lmr(a, a->buffer, 0, IT_PRIV_ALL, 0), ==, IT_ERR_INVALID_LENGTH);
	g_assert_cmpint(try_lmr(a, a->buffer, UINT64_MAX, IT_PRIV_ALL, 0), ==, IT_ERR_ADDRESS);
	g_assert_cmpint(try_lmr(a, a->buffer, 8, IT_PRIV_NONE, 0), ==, IT_ERR_INVALID_PRIVS);
	g_assert_cmpint(try_lmr(a, a->buffer, 8, 0x20 | IT_PRIV_LOCAL, 0), ==,
			IT_ERR_INVALID_PRIVS);
	g_assert_cmpint(try_lmr(a, a->buffer, 8, IT_PRIV_REMOTE_READ | IT_PRIV_LOCAL_WRITE, 0), ==,
			IT_ERR_INVALID_PRIVS);
	g_assert_cmpint(try_lmr(a, a->buffer, 8, IT_PRIV_REMOTE_WRITE | IT_PRIV_LOCAL_READ, 0), ==,
			IT_ERR_INVALID_PRIVS);
	g_assert_cmpint(try_lmr(a, a->buffer, 8, IT_PRIV_ATOMIC | IT_PRIV_LOCAL_READ, 0), ==,
			IT_ERR_INVALID_PRIVS);
	g_assert_cmpint(try_lmr(a, a->buffer, 8, IT_PRIV_LOCAL_READ, 0x10), ==,
			IT_ERR_INVALID_FLAGS);
	g_assert_cmpint(try_lmr(a, a->buffer, 8, IT_PRIV_LOCAL_READ,
				IT_LMR_FLAG_SHARED | IT_LMR_FLAG_NON_SHAREABLE),
			==, IT_ERR_INVALID_FLAGS);
	g_assert_cmpint(try_lmr(a, a->buffer, 8, IT_PRIV_LOCAL_WRITE, IT_LMR_FLAG_NONCOHERENT), ==,
			IT_SUCCESS);
	g_assert_cmpint(it_lmr_create20(a->pz, a->buffer, 8, (it_addr_mode_t)7, IT_PRIV_ALL, 0, 0,
					&lmr, NULL),
			==, IT_ERR_INVALID_ADDR_MODE);
	g_assert_cmpint(it_lmr_create10(a->pz, a->buffer, 8, IT_PRIV_ALL, 0, 0, &lmr, &context), ==,
			IT_SUCCESS);
	g_assert_cmpuint(context, <=, UINT32_MAX);
	g_assert_cmpuint(context, !=, a->context);
	g_assert_cmpint(it_lmr_free(lmr), ==, IT_SUCCESS);
	g_assert_cmpint(it_lmr_free(lmr), ==, IT_ERR_INVALID_LMR);
	g_assert_cmpint(it_lmr_free(NULL), ==, IT_ERR_INVALID_LMR);
	/* Not mapped, and mapped without the right. */
	hole = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	g_assert_true(hole != MAP_FAILED);
	g_assert_cmpint(try_lmr(a, hole, 4096, IT_PRIV_LOCAL_READ, 0), ==, IT_SUCCESS);
	g_assert_cmpint(try_lmr(a, hole, 4096, IT_PRIV_LOCAL, 0), ==, IT_ERR_ACCESS);
	g_assert_cmpint(munmap(hole, 8192), ==, 0); /* mmap may use any page but the first one */
	g_assert_cmpint(try_lmr(a, (void *)(uintptr_t)64, 64, IT_PRIV_LOCAL_READ, 0), ==,
			IT_ERR_ADDRESS);
}

/* members of a group must agree; group 0 always does. */
static void
test_lmr_shared(struct pair *pair)
{
	struct end *a = &pair->active;
	unsigned char *page = (unsigned char *)(((uintptr_t)a->buffer + 4095) & ~(uintptr_t)4095);
	it_lmr_handle_t first, second;

	g_assert_cmpint(try_shared(a, page, 5000, 9, &first), ==, IT_SUCCESS);
	g_assert_cmpint(try_shared(a, page, 5000, 9, &second), ==, IT_SUCCESS);
	g_assert_cmpint(try_shared(a, page, 5001, 9, NULL), ==, IT_ERR_INVALID_LENGTH);
	g_assert_cmpint(try_shared(a, page + 8192, 5000, 9, NULL), ==, IT_ERR_INVALID_ADDRESS);
	g_assert_cmpint(it_lmr_free(first), ==, IT_SUCCESS);
	g_assert_cmpint(it_lmr_free(second), ==, IT_SUCCESS);
	g_assert_cmpint(try_shared(a, page + 8192, 5001, 9, NULL), ==, IT_SUCCESS);
	g_assert_cmpint(try_shared(a, page, 100, 0, &first), ==, IT_SUCCESS);
	g_assert_cmpint(try_shared(a, page + 8192, 50, 0, NULL), ==, IT_SUCCESS);
	g_assert_cmpint(it_lmr_free(first), ==, IT_SUCCESS);
}

/* Regions are queried by a mask, and synchronized. */
static void
test_lmr_query_sync(struct pair *pair)
{
	struct end *a = &pair->active;
	it_lmr_triplet_t segment = end_segment(a, 10, 100);
	it_lmr_param_t params;

	g_assert_cmpint(it_lmr_query(NULL, IT_LMR_PARAM_ALL, &params), ==, IT_ERR_INVALID_LMR);
	g_assert_cmpint(it_lmr_query(a->lmr, IT_LMR_PARAM_ALL, NULL), ==, IT_ERR_FAULT);
	g_assert_cmpint(it_lmr_query(a->lmr, 0x8000, &params), ==, IT_ERR_INVALID_MASK);
	g_assert_cmpint(it_lmr_query(a->lmr, IT_LMR_PARAM_ALL, &params), ==, IT_SUCCESS);
	g_assert_true(params.ia == a->ia && params.pz == a->pz && params.addr == a->buffer);
	g_assert_cmpuint(params.length, ==, END_BUFFER);
	g_assert_cmpint(params.privs, ==, IT_PRIV_ALL);
	g_assert_cmpuint(params.rmr_context, ==, a->context);
	g_assert_cmpint(params.addr_mode, ==, IT_ADDR_MODE_ABSOLUTE);
	g_assert_cmpint(params.linked, ==, IT_TRUE);
	g_assert_true((unsigned char *)params.actual_addr <= a->buffer);
	g_assert_cmpuint(params.actual_length, >=, END_BUFFER);
	g_assert_cmpint(it_lmr_flush_to_mem(&segment, 1), ==, IT_SUCCESS);
	g_assert_cmpint(it_lmr_refresh_from_mem(&segment, 1), ==, IT_SUCCESS);
	g_assert_cmpint(it_lmr_flush_to_mem(&segment, 0), ==, IT_ERR_INVALID_NUM_SEGMENTS);
	g_assert_cmpint(it_lmr_refresh_from_mem(NULL, 1), ==, IT_ERR_FAULT);
	segment.length = END_BUFFER;
	g_assert_cmpint(it_lmr_flush_to_mem(&segment, 1), ==, IT_ERR_RANGE);
	segment.addr.abs = a->buffer - 1;
	segment.length = 1;
	g_assert_cmpint(it_lmr_refresh_from_mem(&segment, 1), ==, IT_ERR_RANGE);
	segment.lmr = NULL;
	g_assert_cmpint(it_lmr_flush_to_mem(&segment, 1), ==, IT_ERR_INVALID_LMR);
}

/* A mask is checked before the pointer that follows it [IT 1.2]. */
static void
test_masks_first(struct pair *pair)
{
	const unsigned odd = 0x40000000; /* a bit of no mask */
	struct end *a = &pair->active;
	it_rmr_handle_t rmr = NULL;
	it_srq_handle_t srq = NULL;

	g_assert_cmpint(it_pz_query(a->pz, (it_pz_param_mask_t)odd, NULL), ==, IT_ERR_INVALID_MASK);
	g_assert_cmpint(it_evd_query(a->recv, (it_evd_param_mask_t)odd, NULL), ==,
			IT_ERR_INVALID_MASK);
	g_assert_cmpint(it_evd_modify(a->recv, 0, NULL), ==, IT_ERR_INVALID_MASK);
	g_assert_cmpint(it_ep_query(a->ep, (it_ep_param_mask_t)odd, NULL), ==, IT_ERR_INVALID_MASK);
	g_assert_cmpint(it_ep_modify(a->ep, 0, NULL), ==, IT_ERR_INVALID_MASK);
	g_assert_cmpint(it_ep_modify(a->ep, IT_EP_PARAM_MAX_PAYLOAD, NULL), ==, IT_ERR_FAULT);
	g_assert_cmpint(it_lmr_query(a->lmr, (it_lmr_param_mask_t)odd, NULL), ==,
			IT_ERR_INVALID_MASK);
	g_assert_cmpint(it_lmr_modify(a->lmr, 0, NULL), ==, IT_ERR_INVALID_MASK);
	g_assert_cmpint(it_lmr_modify(a->lmr, IT_LMR_PARAM_ADDR, NULL), ==, IT_ERR_FAULT);
	g_assert_cmpint(it_listen_query(pair->listen, (it_listen_param_mask_t)odd, NULL), ==,
			IT_ERR_INVALID_MASK);
	if (end_has(a, NEEDS_WINDOWS)) {
		pair_ok(it_rmr_create10(a->pz, &rmr));
		g_assert_cmpint(it_rmr_query(rmr, (it_rmr_param_mask_t)odd, NULL), ==,
				IT_ERR_INVALID_MASK);
		pair_ok(it_rmr_free(rmr));
	}
	if (end_has(a, NEEDS_SRQ)) {
		pair_ok(it_srq_create(a->pz, 1, 4, &srq));
		g_assert_cmpint(it_srq_query(srq, (it_srq_param_mask_t)odd, NULL), ==,
				IT_ERR_INVALID_MASK);
		g_assert_cmpint(it_srq_modify(srq, 0, NULL), ==, IT_ERR_INVALID_MASK);
		pair_ok(it_srq_free(srq));
	}
}

static void
add(void)
{
	pair_add("objects/masks-first", test_masks_first);
	pair_add("ep/create", test_ep_create);
	pair_add("ep/r-20-limits", test_ep_limits);
	pair_add("ep/query", test_ep_query);
	pair_add_for(NEEDS_OVERFLOW, "ep/overflowed", test_ep_overflowed);
	pair_add("ep/modify", test_ep_modify);
	pair_add("lmr/create", test_lmr_create);
	pair_add("lmr/shared", test_lmr_shared);
	pair_add("lmr/query-sync", test_lmr_query_sync);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add);
}
