/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Adapters that lack abilities which the adapters of this release have: the description says so, and every call that
 * depends on a missing ability returns its listed status. vp/emul/tests/vem_bare.c has the adapters.
 */
#include <string.h>

#include "it_ext.h"
#include "it_pair.h"

static void
test_told(struct pair *pair)
{
	const it_ia_info_t *info = pair->active.info;
	uint64_t support = 0;

	g_assert_false(info->srq_support);
	g_assert_false(info->srq_resizable);
	g_assert_false(info->soft_hi_watermark_support);
	g_assert_false(info->hard_hi_watermark_support);
	g_assert_false(info->lmr_link_support);
	g_assert_false(info->direct_lmr_handle_support);
	g_assert_false(info->atomic_support);
	g_assert_false(info->post_send_unlink_remote_support);
	g_assert_false(info->rdma_read_local_extensions);
	g_assert_false(info->addr_mode_relative_support);
	g_assert_false(info->three_way_handshake_support);
	g_assert_false(info->private_data_support);
	pair_ok(itx_ia_query_support(pair->active.ia, &support));
	g_assert_cmphex(support, ==, ITX_SUPPORT_REMOTE_STATUS | ITX_SUPPORT_EP_REUSE);
	g_assert_cmpint(info->rmr_types_supported, ==, 0);
	g_assert_cmpint(info->supported_service_types, ==, IT_RC_SERVICE);
}

/* The basic abilities work all the same. */
static void
test_works(struct pair *pair)
{
	it_lmr_triplet_t from = end_segment(&pair->active, 0, 64);
	it_lmr_triplet_t to = end_segment(&pair->passive, 0, 64);

	pair_establish(pair);
	memset(pair->active.buffer, 7, 64);
	g_assert_cmpint(it_post_recv((it_handle_t)pair->passive.ep, &to, 1, 1, 0), ==, IT_SUCCESS);
	g_assert_cmpint(it_post_send(pair->active.ep, &from, 1, 2, IT_COMPLETION_FLAG), ==,
			IT_SUCCESS);
	end_expect(pair->passive.recv, IT_DTO_RC_RECV_CMPL_EVENT);
	end_expect(pair->active.request, IT_DTO_SEND_CMPL_EVENT);
	g_assert_cmpmem(pair->passive.buffer, 64, pair->active.buffer, 64);
	pair_disconnect(pair);
}

static void
test_srq(struct pair *pair)
{
	struct end *end = &pair->active;
	it_srq_handle_t srq;
	it_ep_handle_t ep;

	g_assert_cmpint(it_srq_create(end->pz, 1, 1, &srq), ==, IT_ERR_SRQ_NOT_SUPPORTED);
	g_assert_cmpint(it_ep_rc_create(end->pz, end->request, end->recv, end->cm_msg, IT_EP_SRQ,
					&end->attr, &ep),
			==, IT_ERR_SRQ_NOT_SUPPORTED);
}

static it_status_t
modify(it_srq_handle_t srq, it_srq_param_mask_t mask)
{
	const it_srq_param_t params = {.max_recv_dtos = 8, .low_watermark = 1};

	return it_srq_modify(srq, mask, &params);
}

/* Shared receive queues of fixed size, without watermarks. */
static void
test_stiff_srq(struct pair *pair)
{
	it_ep_attributes_t attr;
	it_srq_handle_t srq;
	it_ep_handle_t ep;
	struct end end RI_AT_END(end_close);

	(void)pair;
	pair_use("bare:srq");
	g_assert_true(end_open(&end));
	pair_use("bare");
	g_assert_true(end.info->srq_support);
	g_assert_cmpint(it_srq_create(end.pz, 1, 4, &srq), ==, IT_SUCCESS);
	g_assert_cmpint(modify(srq, IT_SRQ_PARAM_MAX_RECV_DTO), ==, IT_ERR_OP_NOT_SUPPORTED);
	g_assert_cmpint(modify(srq, IT_SRQ_PARAM_LOW_WATERMARK), ==, IT_ERR_SRQ_LOW_WATERMARK);
	attr = end.attr;
	attr.srv.rc.srq = srq;
	attr.srv.rc.hard_hi_watermark = 2;
	g_assert_cmpint(
		it_ep_rc_create(end.pz, end.request, end.recv, end.cm_msg, IT_EP_SRQ, &attr, &ep),
		==, IT_ERR_HARD_HI_WATERMARK);
	attr.srv.rc.hard_hi_watermark = IT_HARD_HI_WATERMARK_DISABLE;
	attr.srv.rc.soft_hi_watermark = 2;
	g_assert_cmpint(
		it_ep_rc_create(end.pz, end.request, end.recv, end.cm_msg, IT_EP_SRQ, &attr, &ep),
		==, IT_ERR_SOFT_HI_WATERMARK);
	attr.srv.rc.soft_hi_watermark = 0;
	g_assert_cmpint(
		it_ep_rc_create(end.pz, end.request, end.recv, end.cm_msg, IT_EP_SRQ, &attr, &ep),
		==, IT_SUCCESS);
	g_assert_cmpint(it_ep_free(ep), ==, IT_SUCCESS);
	g_assert_cmpint(it_srq_free(srq), ==, IT_SUCCESS);
}

static void
test_memory(struct pair *pair)
{
	struct end *end = &pair->active;
	it_lmr_param_t params = {.privs = IT_PRIV_LOCAL};
	it_rmr_context_t context;
	it_iobl_t iobl = {0};
	it_lmr_handle_t lmr;
	it_rmr_handle_t rmr;
	it_io_addr_t io;
	size_t mapped;

	g_assert_cmpint(it_rmr_create10(end->pz, &rmr), ==, IT_ERR_OP_NOT_SUPPORTED);
	g_assert_cmpint(it_rmr_create20(end->pz, IT_RMR_TYPE_DEFAULT, &rmr), ==,
			IT_ERR_OP_NOT_SUPPORTED);
	g_assert_cmpint(it_rmr_create20(end->pz, IT_RMR_TYPE_WIDE, &rmr), ==,
			IT_ERR_OP_NOT_SUPPORTED);
	g_assert_cmpint(it_lmr_modify(end->lmr, IT_LMR_PARAM_MEM_PRIV, &params), ==,
			IT_ERR_OP_NOT_SUPPORTED);
	g_assert_cmpint(it_lmr_create20(end->pz, end->buffer, 8, IT_ADDR_MODE_RELATIVE,
					IT_PRIV_LOCAL, IT_LMR_FLAG_NONE, 0, &lmr, NULL),
			==, IT_ERR_INVALID_ADDR_MODE);
	g_assert_cmpint(it_lmr_create21(end->pz, end->buffer, NULL, 8, IT_ADDR_MODE_RELATIVE,
					IT_PRIV_LOCAL, IT_LMR_FLAG_NONE, 0, &lmr, NULL),
			==, IT_ERR_INVALID_ADDR_MODE);
	g_assert_cmpint(it_lmr_create21(end->pz, end->buffer, &iobl, 8, IT_ADDR_MODE_ABSOLUTE,
					IT_PRIV_LOCAL, IT_LMR_FLAG_NONE, 0, &lmr, NULL),
			==, IT_ERR_PRIV_OPS_UNAVAILABLE);
	g_assert_cmpint(it_lmr_create_unlinked(end->pz, 1, IT_LMR_FLAG_NONE, 0, &lmr), ==,
			IT_ERR_OP_NOT_SUPPORTED);
	g_assert_cmpint(it_lmr_link(end->lmr, NULL, &iobl, 1, IT_ADDR_MODE_ABSOLUTE, IT_PRIV_LOCAL,
				    end->ep, 0, 0, &context),
			==, IT_ERR_OP_NOT_SUPPORTED);
	g_assert_cmpint(it_lmr_unlink(end->lmr, end->ep, 0, 0), ==, IT_ERR_OP_NOT_SUPPORTED);
	g_assert_cmpint(it_mem_map(end->ia, end->buffer, 0, 8, &io, &mapped), ==,
			IT_ERR_OP_NOT_SUPPORTED);
}

static void
test_posts(struct pair *pair)
{
	struct end *end = &pair->active;
	it_lmr_triplet_t segment = end_segment(end, 0, 8);
	it_rmr_triplet_t sink = {.length = 8};

	pair_establish(pair);
	g_assert_cmpint(it_post_send_and_unlink(end->ep, &segment, 1, 0, 0, 1), ==,
			IT_ERR_OP_NOT_SUPPORTED);
	g_assert_cmpint(it_post_rdma_read_to_rmr(end->ep, &sink, 1, 0, 0, 0, 1), ==,
			IT_ERR_OP_NOT_SUPPORTED);
	g_assert_cmpint(it_post_atomic(end->ep, IT_FETCH_AND_ADD, 1, 0, &segment, 0, 0, 0, 1), ==,
			IT_ERR_OP_NOT_SUPPORTED);
	pair_disconnect(pair);
}

static void
test_endpoints(struct pair *pair)
{
	struct end *end = &pair->active;
	it_ep_attributes_t attr = end->attr;
	it_ep_handle_t ep;

	attr.priv_ops_enable = IT_TRUE;
	g_assert_cmpint(it_ep_rc_create(end->pz, end->request, end->recv, end->cm_msg,
					IT_EP_NO_FLAG, &attr, &ep),
			==, IT_ERR_PRIV_OPS_UNAVAILABLE);
	attr = end->attr;
	attr.srv.rc.rdma_read_enable = IT_FALSE;
	attr.srv.rc.rdma_read_ord++;
	attr.srv.rc.rdma_read_ird--;
	attr.max_request_dtos += 8;
	g_assert_cmpint(it_ep_modify(end->ep, IT_EP_PARAM_RDMA_RD_ENABLE, &attr), ==,
			IT_ERR_OP_NOT_SUPPORTED);
	g_assert_cmpint(it_ep_modify(end->ep, IT_EP_PARAM_MAX_ORD, &attr), ==,
			IT_ERR_OP_NOT_SUPPORTED);
	g_assert_cmpint(it_ep_modify(end->ep, IT_EP_PARAM_MAX_IRD, &attr), ==,
			IT_ERR_OP_NOT_SUPPORTED);
	g_assert_cmpint(it_ep_modify(end->ep, IT_EP_PARAM_MAX_REQ_DTO, &attr), ==,
			IT_ERR_OP_NOT_SUPPORTED);
	g_assert_cmpint(it_ep_ud_create(end->pz, end->request, end->recv, &attr, 0, &ep), ==,
			IT_ERR_OP_NOT_SUPPORTED);
}

static void
test_connections(struct pair *pair)
{
	struct end *end = &pair->active;
	const unsigned char pdata[4] = {1};

	g_assert_cmpint(it_ep_connect(end->ep, &pair->path, NULL, &pair->qual,
				      IT_CONNECT_FLAG_THREE_WAY, NULL, 0),
			==, IT_ERR_INVALID_CN_EST_FLAGS);
	g_assert_cmpint(it_ep_connect(end->ep, &pair->path, NULL, &pair->qual,
				      IT_CONNECT_FLAG_TWO_WAY, pdata, sizeof(pdata)),
			==, IT_ERR_PDATA_NOT_SUPPORTED);
	pair_connect(pair);
	it_event_t event = end_expect(pair->passive.cm_req, IT_CM_REQ_CONN_REQUEST_EVENT);
	g_assert_cmpint(it_ep_disconnect(end->ep, pdata, sizeof(pdata)), ==,
			IT_ERR_PDATA_NOT_SUPPORTED);
	g_assert_cmpint(
		it_ep_accept(pair->passive.ep, event.conn_req.cn_est_id, pdata, sizeof(pdata)), ==,
		IT_ERR_PDATA_NOT_SUPPORTED);
	g_assert_cmpint(it_reject(event.conn_req.cn_est_id, pdata, sizeof(pdata)), ==,
			IT_ERR_PDATA_NOT_SUPPORTED);
	g_assert_cmpint(it_reject(event.conn_req.cn_est_id, NULL, 0), ==, IT_SUCCESS);
	end_expect(end->cm_msg, IT_CM_MSG_CONN_PEER_REJECT_EVENT);
}

/* Datagram services whose messages carry no private data. */
static void
test_mute_services(struct pair *pair)
{
	const unsigned char pdata[4] = {1};
	const it_remote_ep_info_t info = {.ud_ep_id = 5};
	it_ud_svc_req_handle_t svc = NULL;
	struct pair mute;
	it_event_t event;

	(void)pair;
	pair_use("bare:ud");
	g_assert_true(pair_open(&mute));
	pair_use("bare");
	g_assert_cmpint(mute.active.info->supported_service_types, ==,
			IT_RC_SERVICE | IT_UD_SERVICE);
	g_assert_cmpuint(mute.active.info->ud_req_private_data_len, ==, 0);
	g_assert_cmpint(it_ud_service_request_handle_create(&mute.qual, mute.active.cm_msg,
							    &mute.path, pdata, sizeof(pdata), &svc),
			==, IT_ERR_PDATA_NOT_SUPPORTED);
	pair_ok(it_ud_service_request_handle_create(&mute.qual, mute.active.cm_msg, &mute.path,
						    NULL, 0, &svc));
	pair_ok(it_ud_service_request(svc));
	event = end_expect(mute.passive.cm_req, IT_CM_REQ_UD_SERVICE_REQUEST_EVENT);
	g_assert_false(event.ud_svc_request.private_data_present);
	g_assert_cmpint(it_ud_service_reply(event.ud_svc_request.ud_svc_req_id,
					    IT_UD_SVC_EP_INFO_VALID, info, pdata, sizeof(pdata)),
			==, IT_ERR_PDATA_NOT_SUPPORTED);
	pair_ok(it_ud_service_reply(event.ud_svc_request.ud_svc_req_id, IT_UD_SVC_EP_INFO_VALID,
				    info, NULL, 0));
	event = end_expect(mute.active.cm_msg, IT_CM_MSG_UD_SERVICE_REPLY_EVENT);
	g_assert_cmpuint(event.ud_svc_reply.ep_info.ud_ep_id, ==, 5);
	pair_ok(it_ud_service_request_handle_free(svc));
	pair_close(&mute);
}

static void
add(void)
{
	pair_add("told", test_told);
	pair_add("works", test_works);
	pair_add("srq", test_srq);
	pair_add("stiff-srq", test_stiff_srq);
	pair_add("memory", test_memory);
	pair_add("posts", test_posts);
	pair_add("endpoints", test_endpoints);
	pair_add("connections", test_connections);
	pair_add("mute-services", test_mute_services);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add);
}
