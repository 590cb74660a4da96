/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Datagrams: what each call refuses, and with which status; attributes; adapters without datagrams. */
#include <string.h>

#include "it_dgram.h"
#include "it_privileged.h"

#define CONTROLLED 0x80000000u /* keys for privileged processes */

/* On an adapter without datagrams each call that creates something says so, after it checked the handles. */
static void
test_not_offered(struct pair *pair)
{
	const it_ep_attributes_t attr = dgram_attr();
	struct end *a = &pair->active;
	it_addr_handle_t way = (it_addr_handle_t)a;
	it_ep_handle_t ep = (it_ep_handle_t)a;

	if (dgram_offered(a)) {
		pair_inapplicable("ud is claimed");
		return;
	}
	g_assert_cmpint(it_ep_ud_create(NULL, a->request, a->recv, &attr, 0, &ep), ==,
			IT_ERR_INVALID_PZ);
	g_assert_cmpint(it_ep_ud_create(a->pz, a->request, a->recv, &attr, 0, &ep), ==,
			IT_ERR_OP_NOT_SUPPORTED);
	g_assert_null(ep);
	g_assert_cmpint(it_address_handle_create(NULL, &pair->path, 0, &way), ==,
			IT_ERR_INVALID_PZ);
	g_assert_cmpint(it_address_handle_create(a->pz, &pair->path, 0, &way), ==,
			IT_ERR_OP_NOT_SUPPORTED);
	g_assert_null(way);
}

static it_status_t
create(const struct end *end, const it_ep_attributes_t *attr)
{
	it_ep_handle_t ep = NULL;
	it_status_t status = it_ep_ud_create(end->pz, end->request, end->recv, attr, 0, &ep);

	g_assert_cmpint(ep != NULL, ==, status == IT_SUCCESS);
	if (ep != NULL)
		pair_ok(it_ep_free(ep));
	return status;
}

/* A datagram endpoint is created only with handles of its own adapter. */
static void
test_create_handles(struct pair *pair)
{
	const it_ep_attributes_t attr = dgram_attr();
	struct end *a = &pair->active, *b = &pair->passive;
	it_ep_handle_t ep = NULL;

	g_assert_cmpint(it_ep_ud_create(NULL, a->request, a->recv, &attr, 0, &ep), ==,
			IT_ERR_INVALID_PZ);
	g_assert_cmpint(it_ep_ud_create(a->pz, NULL, a->recv, &attr, 0, &ep), ==,
			IT_ERR_INVALID_REQ_EVD);
	g_assert_cmpint(it_ep_ud_create(a->pz, b->request, a->recv, &attr, 0, &ep), ==,
			IT_ERR_INVALID_REQ_EVD);
	g_assert_cmpint(it_ep_ud_create(a->pz, a->cm_msg, a->recv, &attr, 0, &ep), ==,
			IT_ERR_INVALID_REQ_EVD);
	g_assert_cmpint(it_ep_ud_create(a->pz, a->request, NULL, &attr, 0, &ep), ==,
			IT_ERR_INVALID_RECV_EVD);
	g_assert_cmpint(it_ep_ud_create(a->pz, a->request, a->cm_req, &attr, 0, &ep), ==,
			IT_ERR_INVALID_RECV_EVD);
	g_assert_cmpint(
		it_ep_ud_create(a->pz, a->request, a->recv, &attr, a->info->num_spigots, &ep), ==,
		IT_ERR_INVALID_SPIGOT);
	g_assert_cmpint(it_ep_ud_create(a->pz, a->request, a->recv, NULL, 0, &ep), ==,
			IT_ERR_FAULT);
	g_assert_cmpint(it_ep_ud_create(a->pz, a->request, a->recv, &attr, 0, NULL), ==,
			IT_ERR_FAULT);
	g_assert_null(ep);
	/* No object uses the EVDs. */
	pair_ok(it_ep_free(a->ep));
	a->ep = NULL;
	pair_ok(it_evd_free(a->recv));
	a->recv = pair_sevd(a->ia, IT_DTO_EVENT_STREAM, 1);
}

/* A datagram endpoint is created up to the limits of the adapter. */
static void
test_create_limits(struct pair *pair)
{
	struct end *a = &pair->active;
	it_ep_attributes_t attr = dgram_attr();

	attr.max_dto_payload_size = a->info->spigot_info[0].max_ud_send_len;
	pair_ok(create(a, &attr));
	attr.max_dto_payload_size++;
	g_assert_cmpint(create(a, &attr), ==, IT_ERR_PAYLOAD_SIZE);
	attr = dgram_attr();
	attr.max_request_dtos = SIZE_MAX;
	g_assert_cmpint(create(a, &attr), ==, IT_ERR_RESOURCE_REQ_DTO);
	attr = dgram_attr();
	attr.max_recv_dtos = SIZE_MAX;
	g_assert_cmpint(create(a, &attr), ==, IT_ERR_RESOURCE_RECV_DTO);
	attr = dgram_attr();
	attr.max_send_segments = 1000;
	g_assert_cmpint(create(a, &attr), ==, IT_ERR_RESOURCE_SSEG);
	attr = dgram_attr();
	attr.max_recv_segments = 1000;
	g_assert_cmpint(create(a, &attr), ==, IT_ERR_RESOURCE_RSEG);
}

/* A DTO SEVD with room for one event that overflowed. */
static it_evd_handle_t
overflowed(struct pair *pair)
{
	it_ep_attributes_t attr = dgram_attr();
	struct dgram a RI_AT_END(dgram_close) = dgram_open(pair, &pair->active);
	it_evd_handle_t small = NULL;
	it_evd_param_t params = {0};
	it_ep_param_t id;

	attr.max_recv_dtos = 64;
	pair_ok(it_evd_create(a.end->ia, IT_DTO_EVENT_STREAM, IT_EVD_OVERFLOW_DEFAULT, 1, 1, NULL,
			      &small, NULL));
	pair_resize(small, 1);
	pair_ok(it_ep_free(a.ep));
	pair_ok(it_ep_ud_create(a.end->pz, a.end->request, small, &attr, 0, &a.ep));
	for (guint i = 0; i < 64; i++)
		dgram_offer(&a, 4096, HEADER + 8, i);
	pair_ok(it_ep_query(a.ep, IT_EP_PARAM_EP_ID, &id));
	a.info.ud_ep_id = id.attr.srv.ud.ep_info.ud_ep_id;
	for (guint i = 0; i < 64 && !params.evd_overflowed; i++) {
		dgram_send(&a, &a.info, 8, i);
		end_expect(a.end->request, IT_DTO_SEND_CMPL_EVENT);
		pair_ok(it_evd_query(small, IT_EVD_PARAM_OVERFLOWED, &params));
	}
	while (!params.evd_overflowed)
		pair_ok(it_evd_query(small, IT_EVD_PARAM_OVERFLOWED, &params));
	return small;
}

/* A datagram endpoint is not created on a SEVD that overflowed. */
static void
test_create_overflowed(struct pair *pair)
{
	const it_ep_attributes_t attr = dgram_attr();
	struct end *a = &pair->active;
	it_ep_handle_t ep = NULL;
	it_evd_handle_t small;

	small = overflowed(pair);
	g_assert_cmpint(it_ep_ud_create(a->pz, small, a->recv, &attr, 0, &ep), ==,
			IT_ERR_INVALID_REQ_EVD_STATE);
	g_assert_cmpint(it_ep_ud_create(a->pz, a->request, small, &attr, 0, &ep), ==,
			IT_ERR_INVALID_RECV_EVD_STATE);
	pair_ok(it_evd_free(small));
}

/* An unprivileged consumer has no privileged operations, no controlled keys, and no memory by I/O address. */
static void
test_unprivileged(void)
{
	it_ep_attributes_t attr = dgram_attr();
	it_dg_remote_ep_addr_t target;
	struct pair pair;
	struct dgram a;

	if (!capability_set(false))
		g_assert_not_reached();
	g_assert_true(pair_open(&pair));
	if (!dgram_offered(&pair.active)) {
		pair_inapplicable("ud is not claimed");
	} else {
		attr.priv_ops_enable = IT_TRUE;
		g_assert_cmpint(create(&pair.active, &attr), ==, IT_ERR_PRIV_OPS_UNAVAILABLE);
		attr = dgram_attr();
		attr.srv.ud.ep_info.ud_ep_key = CONTROLLED | 1;
		g_assert_cmpint(create(&pair.active, &attr), ==, IT_ERR_INVALID_EP_KEY);
		a = dgram_open(&pair, &pair.active);
		g_assert_cmpint(it_ep_modify(a.ep, IT_EP_PARAM_EP_KEY, &attr), ==,
				IT_ERR_INVALID_EP_KEY);
		target = dgram_target(a.way, &attr.srv.ud.ep_info);
		g_assert_cmpint(it_post_sendto(a.ep, NULL, 0, 1, 0, &target), ==,
				IT_ERR_INVALID_EP_KEY);
		dgram_close(&a);
	}
	pair_close(&pair);
	capability_set(true);
}

/* A privileged consumer may use both, but the direct LMR only on an endpoint that was created for it. */
static void
test_privileged(void)
{
	it_ep_attributes_t attr = dgram_attr();
	it_lmr_triplet_t direct = {.length = 8};
	it_dg_remote_ep_addr_t target;
	struct pair pair;
	struct dgram a;

	policy_for_all();
	g_assert_true(pair_open(&pair));
	if (!dgram_offered(&pair.active)) {
		pair_inapplicable("ud is not claimed");
	} else if (pair_needs(&pair, NEEDS_DIRECT_LMR)) {
		a = dgram_open(&pair, &pair.active);
		direct.lmr = a.end->info->direct_lmr_handle;
		direct.addr.abs = a.end->buffer;
		g_assert_nonnull(direct.lmr);
		target = dgram_target(a.way, &a.info);
		g_assert_cmpint(it_post_sendto(a.ep, &direct, 1, 1, 0, &target), ==,
				IT_ERR_PRIV_OPS_UNAVAILABLE);
		g_assert_cmpint(it_post_recvfrom(a.ep, &direct, 1, 1, 0), ==,
				IT_ERR_PRIV_OPS_UNAVAILABLE);
		pair_ok(it_ep_free(a.ep));
		attr.priv_ops_enable = IT_TRUE;
		attr.srv.ud.ep_info.ud_ep_key = CONTROLLED | 1;
		pair_ok(it_ep_ud_create(a.end->pz, a.end->request, a.end->recv, &attr, 0, &a.ep));
		it_ep_param_t params;
		pair_ok(it_ep_query(a.ep, IT_EP_PARAM_EP_ID | IT_EP_PARAM_EP_KEY, &params));
		a.info = params.attr.srv.ud.ep_info;
		g_assert_cmphex(a.info.ud_ep_key, ==, CONTROLLED | 1);
		dgram_offer(&a, 4096, HEADER + 8, 1);
		target = dgram_target(a.way, &a.info);
		pair_ok(it_post_sendto(a.ep, &direct, 1, 2, SIGNALED, &target));
		end_done(a.end->recv, IT_DTO_UD_RECV_CMPL_EVENT, 1, IT_DTO_SUCCESS);
		dgram_close(&a);
	}
	pair_close(&pair);
	policy_set(NULL);
}

/* A datagram endpoint is queried by a mask. */
static void
test_query(struct pair *pair)
{
	it_ep_param_t params, untouched;

	struct dgram a RI_AT_END(dgram_close) = dgram_open(pair, &pair->active);
	pair_ok(it_ep_query(a.ep, IT_EP_PARAM_ALL, &params));
	g_assert_true(params.ia == a.end->ia);
	g_assert_true(params.pz == a.end->pz);
	g_assert_true(params.request_sevd == a.end->request);
	g_assert_true(params.recv_sevd == a.end->recv);
	g_assert_null(params.connect_sevd);
	g_assert_cmpint(params.service_type, ==, IT_UD_SERVICE);
	g_assert_cmpint(params.ep_state.ud, ==, IT_EP_STATE_UD_OPERATIONAL);
	g_assert_cmpuint(params.spigot_id, ==, 0);
	g_assert_cmpuint(params.attr.max_dto_payload_size, ==,
			 a.end->info->spigot_info[0].max_ud_send_len);
	g_assert_cmpuint(params.attr.max_request_dtos, >=, REQUEST_SLOTS);
	g_assert_cmpuint(params.attr.max_recv_dtos, >=, RECV_SLOTS);
	g_assert_cmpuint(params.attr.max_send_segments, >=, dgram_attr().max_send_segments);
	g_assert_cmpuint(params.attr.max_recv_segments, >=, dgram_attr().max_recv_segments);
	g_assert_false(params.attr.priv_ops_enable);
	g_assert_cmpuint(params.attr.srv.ud.ep_info.ud_ep_id, ==, a.info.ud_ep_id);
	g_assert_cmpuint(params.attr.srv.ud.ep_info.ud_ep_id, !=, 0);
	g_assert_cmphex(params.attr.srv.ud.ep_info.ud_ep_key, ==, KEY);
	/* Attributes that only connected endpoints have are not written. */
	memset(&params, 0xa5, sizeof(params));
	untouched = params;
	pair_ok(it_ep_query(a.ep,
			    IT_EP_PARAM_MAX_IRD | IT_EP_PARAM_MAX_ORD | IT_EP_PARAM_SRQ |
				    IT_EP_PARAM_RDMA_RD_ENABLE,
			    &params));
	g_assert_cmpmem(&params, sizeof(params), &untouched, sizeof(untouched));
	pair_ok(it_ep_query(a.end->ep, IT_EP_PARAM_EP_ID | IT_EP_PARAM_EP_KEY, &params));
	g_assert_cmpmem(&params, sizeof(params), &untouched, sizeof(untouched));
}

/* A datagram endpoint is modified by a mask. */
static void
test_modify(struct pair *pair)
{
	it_ep_attributes_t attr = dgram_attr();
	it_dg_remote_ep_addr_t target;
	it_lmr_triplet_t beyond;
	it_ep_param_t params;

	struct dgram a RI_AT_END(dgram_close) = dgram_open(pair, &pair->active);
	attr.srv.ud.ep_info.ud_ep_key = KEY + 1;
	pair_ok(it_ep_modify(a.ep, IT_EP_PARAM_EP_KEY, &attr));
	dgram_offer(&a, 4096, HEADER + 8, 1);
	dgram_send(&a, &a.info, 8, 2);
	end_done(a.end->request, IT_DTO_SEND_CMPL_EVENT, 2, IT_DTO_SUCCESS);
	end_expect_none(a.end->recv);
	a.info.ud_ep_key = KEY + 1;
	dgram_send(&a, &a.info, 8, 3);
	end_done(a.end->recv, IT_DTO_UD_RECV_CMPL_EVENT, 1, IT_DTO_SUCCESS);
	end_done(a.end->request, IT_DTO_SEND_CMPL_EVENT, 3, IT_DTO_SUCCESS);
	attr.max_request_dtos = 100;
	attr.max_recv_dtos = 200;
	attr.max_dto_payload_size = 64;
	attr.max_send_segments = pair_at_most("max_send_sge", 2);
	attr.max_recv_segments = pair_at_most("max_recv_sge", 3);
	pair_ok(it_ep_modify(a.ep,
			     IT_EP_PARAM_MAX_PAYLOAD | IT_EP_PARAM_MAX_REQ_DTO |
				     IT_EP_PARAM_MAX_RECV_DTO | IT_EP_PARAM_MAX_SEND_SEG |
				     IT_EP_PARAM_MAX_RECV_SEG,
			     &attr));
	pair_ok(it_ep_query(a.ep, IT_EP_PARAM_ALL, &params));
	g_assert_cmpuint(params.attr.max_request_dtos, >=, 100);
	g_assert_cmpuint(params.attr.max_recv_dtos, >=, 200);
	g_assert_cmpuint(params.attr.max_dto_payload_size, ==, 64);
	g_assert_cmpuint(params.attr.max_send_segments, ==, attr.max_send_segments);
	g_assert_cmpuint(params.attr.max_recv_segments, ==, attr.max_recv_segments);
	g_assert_cmphex(params.attr.srv.ud.ep_info.ud_ep_key, ==, KEY + 1);
	attr.max_dto_payload_size = a.end->info->spigot_info[0].max_ud_send_len + 1;
	g_assert_cmpint(it_ep_modify(a.ep, IT_EP_PARAM_MAX_PAYLOAD, &attr), ==,
			IT_ERR_PAYLOAD_SIZE);
	g_assert_cmpint(it_ep_modify(a.ep, IT_EP_PARAM_EP_ID, &attr), ==, IT_ERR_INVALID_MASK);
	g_assert_cmpint(it_ep_modify(a.ep, IT_EP_PARAM_MAX_ORD, &attr), ==, IT_ERR_INVALID_EP_TYPE);
	g_assert_cmpint(it_ep_modify(a.end->ep, IT_EP_PARAM_EP_KEY, &attr), ==,
			IT_ERR_INVALID_EP_TYPE);
	/* Not after it has failed. */
	target = dgram_target(a.way, &a.info);
	beyond = end_segment(a.end, END_BUFFER - 4, 8);
	pair_ok(it_post_sendto(a.ep, &beyond, 1, 1, 0, &target));
	end_done(a.end->request, IT_DTO_SEND_CMPL_EVENT, 1, IT_DTO_ERR_LOCAL_PROTECTION);
	while (dgram_state(a.ep) == IT_EP_STATE_UD_OPERATIONAL)
		g_thread_yield();
	g_assert_cmpint(it_ep_modify(a.ep, IT_EP_PARAM_EP_KEY, &attr), ==, IT_ERR_INVALID_EP_STATE);
}

/* Every call for connected endpoints, on a datagram endpoint. */
static void
test_types(struct pair *pair)
{
	struct end *end = &pair->active;
	it_lmr_triplet_t segment = end_segment(end, 0, 8);
	it_rmr_triplet_t sink = {.length = 8};
	it_rmr_context_t context;
	it_rmr_handle_t rmr = NULL;
	it_dg_remote_ep_addr_t target;

	struct dgram a RI_AT_END(dgram_close) = dgram_open(pair, end);
	target = dgram_target(a.way, &a.info);
	g_assert_cmpint(it_post_send(a.ep, &segment, 1, 0, 0), ==, IT_ERR_INVALID_EP_TYPE);
	g_assert_cmpint(it_post_send_and_unlink(a.ep, &segment, 1, 0, 0, 1), ==,
			IT_ERR_INVALID_EP_TYPE);
	g_assert_cmpint(it_post_recv((it_handle_t)a.ep, &segment, 1, 0, 0), ==,
			IT_ERR_INVALID_EP_TYPE);
	g_assert_cmpint(it_post_rdma_write(a.ep, &segment, 1, 0, 0, 0, 1), ==,
			IT_ERR_INVALID_EP_TYPE);
	g_assert_cmpint(it_post_rdma_read(a.ep, &segment, 1, 0, 0, 0, 1), ==,
			IT_ERR_INVALID_EP_TYPE);
	g_assert_cmpint(it_post_rdma_read_to_rmr(a.ep, &sink, 1, 0, 0, 0, 1), ==,
			IT_ERR_INVALID_EP_TYPE);
	g_assert_cmpint(it_post_atomic(a.ep, IT_FETCH_AND_ADD, 1, 0, &segment, 0, 0, 0, 1), ==,
			IT_ERR_INVALID_EP_TYPE);
	g_assert_cmpint(it_ep_connect(a.ep, &pair->path, NULL, &pair->qual, IT_CONNECT_FLAG_TWO_WAY,
				      NULL, 0),
			==, IT_ERR_INVALID_EP_TYPE);
	g_assert_cmpint(it_ep_accept(a.ep, 1, NULL, 0), ==, IT_ERR_INVALID_EP_TYPE);
	g_assert_cmpint(it_ep_disconnect(a.ep, NULL, 0), ==, IT_ERR_INVALID_EP_TYPE);
	g_assert_cmpint(it_socket_convert(0, a.ep, IT_SC_DEFAULT, NULL, 0), ==,
			IT_ERR_INVALID_EP_TYPE);
	pair_ok(it_rmr_create20(end->pz, IT_RMR_TYPE_DEFAULT, &rmr));
	g_assert_cmpint(it_rmr_link(rmr, end->lmr, end->buffer, 8, IT_ADDR_MODE_ABSOLUTE,
				    IT_PRIV_REMOTE_READ, a.ep, 0, 0, &context),
			==, IT_ERR_INVALID_EP_TYPE);
	g_assert_cmpint(it_rmr_bind10(rmr, end->lmr, end->buffer, 8, IT_PRIV_REMOTE_READ, a.ep, 0,
				      0, &context),
			==, IT_ERR_INVALID_EP_TYPE);
	g_assert_cmpint(it_rmr_unlink(rmr, a.ep, 0, 0), ==, IT_ERR_INVALID_EP_TYPE);
	pair_ok(it_rmr_free(rmr));
	/* And the reverse. */
	g_assert_cmpint(it_post_sendto(end->ep, &segment, 1, 0, 0, &target), ==,
			IT_ERR_INVALID_EP_TYPE);
	g_assert_cmpint(it_post_recvfrom(end->ep, &segment, 1, 0, 0), ==, IT_ERR_INVALID_EP_TYPE);
}

/* Links of regions need a privileged process, but the endpoint is checked first. */
static void
test_link_types(struct pair *pair)
{
	const it_iobl_t iobl = {0};
	it_rmr_context_t context;

	struct dgram a RI_AT_END(dgram_close) = dgram_open(pair, &pair->active);
	g_assert_cmpint(it_lmr_link(a.end->lmr, a.end->buffer, &iobl, 8, IT_ADDR_MODE_ABSOLUTE,
				    IT_PRIV_LOCAL, a.ep, 0, 0, &context),
			==, IT_ERR_INVALID_EP_TYPE);
	g_assert_cmpint(it_lmr_unlink(a.end->lmr, a.ep, 0, 0), ==, IT_ERR_INVALID_EP_TYPE);
}

/* A datagram with wrong arguments is refused. */
static void
test_sendto(struct pair *pair)
{
	it_addr_handle_t foreign = NULL;
	it_dg_remote_ep_addr_t good, bad;
	it_lmr_triplet_t segment, wrong;
	it_lmr_triplet_t many[64];
	it_pz_handle_t pz = NULL;
	it_status_t status;
	guint posted = 0;

	struct dgram a RI_AT_END(dgram_close) = dgram_open(pair, &pair->active);
	good = dgram_target(a.way, &a.info);
	segment = end_segment(a.end, 0, 8);
	wrong = segment;
	wrong.lmr = pair->passive.lmr;
	g_assert_cmpint(it_post_sendto(NULL, &segment, 1, 0, 0, &good), ==, IT_ERR_INVALID_EP);
	g_assert_cmpint(it_post_sendto(a.ep, NULL, 1, 0, 0, &good), ==, IT_ERR_FAULT);
	g_assert_cmpint(it_post_sendto(a.ep, &segment, 1, 0, 0, NULL), ==, IT_ERR_FAULT);
	g_assert_cmpint(it_post_sendto(a.ep, &wrong, 1, 0, 0, &good), ==, IT_ERR_INVALID_LMR);
	g_assert_cmpint(it_post_sendto(a.ep, &segment, 1, 0, IT_UNLINK_FENCE_FLAG, &good), ==,
			IT_ERR_INVALID_DTO_FLAGS);
	for (guint i = 0; i < G_N_ELEMENTS(many); i++)
		many[i] = segment;
	g_assert_cmpint(it_post_sendto(a.ep, many, G_N_ELEMENTS(many), 0, 0, &good), ==,
			IT_ERR_INVALID_NUM_SEGMENTS);
	segment.length = a.end->info->spigot_info[0].max_ud_send_len + 1;
	g_assert_cmpint(it_post_sendto(a.ep, &segment, 1, 0, 0, &good), ==, IT_ERR_PAYLOAD_SIZE);
	segment.length = 8;
	bad = dgram_target(NULL, &a.info);
	g_assert_cmpint(it_post_sendto(a.ep, &segment, 1, 0, 0, &bad), ==, IT_ERR_INVALID_AH);
	bad = good;
	bad.type = (it_dg_type_t)7;
	g_assert_cmpint(it_post_sendto(a.ep, &segment, 1, 0, 0, &bad), ==, IT_ERR_INVALID_AH);
	pair_ok(it_pz_create(a.end->ia, &pz));
	pair_ok(it_address_handle_create(pz, &pair->path, 0, &foreign));
	bad = dgram_target(foreign, &a.info);
	g_assert_cmpint(it_post_sendto(a.ep, &segment, 1, 0, 0, &bad), ==, IT_ERR_INVALID_AH);
	pair_ok(it_address_handle_free(foreign));
	g_assert_cmpint(it_post_sendto(a.ep, &segment, 1, 0, 0, &bad), ==, IT_ERR_INVALID_AH);
	pair_ok(it_pz_free(pz));
	while ((status = it_post_sendto(a.ep, &segment, 1, 0, SIGNALED, &good)) == IT_SUCCESS)
		g_assert_cmpuint(++posted, <, 1000);
	g_assert_cmpint(status, ==, IT_ERR_TOO_MANY_POSTS);
}

/* A receive for datagrams with wrong arguments is refused. */
static void
test_recvfrom(struct pair *pair)
{
	it_lmr_triplet_t segment, wrong;
	it_lmr_triplet_t many[64];
	it_status_t status;
	guint posted = 0;

	struct dgram a RI_AT_END(dgram_close) = dgram_open(pair, &pair->active);
	segment = end_segment(a.end, 0, 8);
	wrong = segment;
	wrong.lmr = pair->passive.lmr;
	g_assert_cmpint(it_post_recvfrom(NULL, &segment, 1, 0, 0), ==, IT_ERR_INVALID_EP);
	g_assert_cmpint(it_post_recvfrom(a.ep, NULL, 1, 0, 0), ==, IT_ERR_FAULT);
	g_assert_cmpint(it_post_recvfrom(a.ep, &wrong, 1, 0, 0), ==, IT_ERR_INVALID_LMR);
	g_assert_cmpint(it_post_recvfrom(a.ep, &segment, 1, 0, IT_SOLICITED_WAIT_FLAG), ==,
			IT_ERR_INVALID_DTO_FLAGS);
	for (guint i = 0; i < G_N_ELEMENTS(many); i++)
		many[i] = segment;
	g_assert_cmpint(it_post_recvfrom(a.ep, many, G_N_ELEMENTS(many), 0, 0), ==,
			IT_ERR_INVALID_NUM_SEGMENTS);
	while ((status = it_post_recvfrom(a.ep, &segment, 1, 0, 0)) == IT_SUCCESS)
		g_assert_cmpuint(++posted, <, 1000);
	g_assert_cmpint(status, ==, IT_ERR_TOO_MANY_POSTS);
}

/* Address handles are created, queried, modified and freed. */
static void
test_address_handles(struct pair *pair)
{
	struct end *end = &pair->active;
	it_path_t path = pair->path, nowhere = pair->path;
	it_addr_param_t params, untouched;
	it_addr_handle_t way = NULL, none = NULL;

	/* An IPv4 address from a documentation prefix, mapped. */
	memset(&nowhere.u.ib.local_port_gid, 0, 16);
	memset(&nowhere.u.ib.local_port_gid.s6_addr[10], 0xff, 2);
	memcpy(&nowhere.u.ib.local_port_gid.s6_addr[12], "\xc0\x00\x02\x01", 4);
	g_assert_cmpint(it_address_handle_create(NULL, &path, 0, &way), ==, IT_ERR_INVALID_PZ);
	g_assert_cmpint(it_address_handle_create(end->pz, NULL, 0, &way), ==, IT_ERR_FAULT);
	g_assert_cmpint(it_address_handle_create(end->pz, &path, 0, NULL), ==, IT_ERR_FAULT);
	g_assert_cmpint(it_address_handle_create(end->pz, &path, (it_ah_flags_t)2, &way), ==,
			IT_ERR_INVALID_FLAGS);
	path.spigot_id = 9;
	g_assert_cmpint(it_address_handle_create(end->pz, &path, 0, &way), ==,
			IT_ERR_INVALID_SPIGOT);
	g_assert_cmpint(it_address_handle_create(end->pz, &nowhere, 0, &way), ==,
			IT_ERR_INVALID_SOURCE_PATH);
	memset(&path, 0, sizeof(path));
	g_assert_cmpint(it_address_handle_create(end->pz, &path, 0, &way), ==,
			IT_ERR_INVALID_SOURCE_PATH);
	g_assert_null(way);

	/* Without a local half one is looked up, unless the path is complete. */
	path = pair->path;
	memset(&path.u.ib.local_port_gid, 0, 16);
	pair_ok(it_address_handle_create(end->pz, &path, IT_AH_PATH_COMPLETE, &way));
	pair_ok(it_address_handle_query(way, IT_ADDR_PARAM_PATH, &params));
	g_assert_cmpmem(&params.path.u.ib, sizeof(path.u.ib), &path.u.ib, sizeof(path.u.ib));
	pair_ok(it_address_handle_free(way));
	pair_ok(it_address_handle_create(end->pz, &path, 0, &way));
	pair_ok(it_address_handle_query(way, IT_ADDR_PARAM_ALL, &params));
	g_assert_true(params.ia == end->ia);
	g_assert_true(params.pz == end->pz);
	g_assert_cmpmem(&params.path.u.ib.local_port_gid, 16, &pair->path.u.ib.local_port_gid, 16);
	memset(&params, 0xa5, sizeof(params));
	untouched = params;
	pair_ok(it_address_handle_query(way, 0, &params));
	g_assert_cmpmem(&params, sizeof(params), &untouched, sizeof(untouched));
	g_assert_cmpint(it_address_handle_query(NULL, IT_ADDR_PARAM_ALL, &params), ==,
			IT_ERR_INVALID_AH);
	g_assert_cmpint(it_address_handle_query(way, IT_ADDR_PARAM_ALL, NULL), ==, IT_ERR_FAULT);
	g_assert_cmpint(it_address_handle_query(way, (it_addr_param_mask_t)0x10, NULL), ==,
			IT_ERR_INVALID_MASK);

	params.path = pair->path;
	pair_ok(it_address_handle_modify(way, IT_ADDR_PARAM_PATH, &params));
	/* A change to a path without a local half finds one, too. */
	params.path = path;
	pair_ok(it_address_handle_modify(way, IT_ADDR_PARAM_PATH, &params));
	pair_ok(it_address_handle_query(way, IT_ADDR_PARAM_PATH, &params));
	g_assert_cmpmem(&params.path.u.ib.local_port_gid, 16, &pair->path.u.ib.local_port_gid, 16);
	g_assert_cmpint(it_address_handle_modify(NULL, IT_ADDR_PARAM_PATH, &params), ==,
			IT_ERR_INVALID_AH);
	g_assert_cmpint(it_address_handle_modify(way, IT_ADDR_PARAM_PATH, NULL), ==, IT_ERR_FAULT);
	g_assert_cmpint(it_address_handle_modify(way, IT_ADDR_PARAM_PZ, &params), ==,
			IT_ERR_INVALID_MASK);
	g_assert_cmpint(it_address_handle_modify(way, 0, NULL), ==, IT_ERR_INVALID_MASK);
	params.path.spigot_id = 9;
	g_assert_cmpint(it_address_handle_modify(way, IT_ADDR_PARAM_PATH, &params), ==,
			IT_ERR_INVALID_SPIGOT);
	params.path = nowhere;
	g_assert_cmpint(it_address_handle_modify(way, IT_ADDR_PARAM_PATH, &params), ==,
			IT_ERR_INVALID_SOURCE_PATH);
	pair_ok(it_address_handle_query(way, IT_ADDR_PARAM_PATH, &params));
	g_assert_cmpuint(params.path.spigot_id, ==, 0);

	it_handle_type_enum_t type;
	pair_ok(it_get_handle_type((it_handle_t)way, &type));
	g_assert_cmpint(type, ==, IT_HANDLE_TYPE_ADDR);
	pair_ok(it_address_handle_free(way));
	g_assert_cmpint(it_address_handle_free(way), ==, IT_ERR_INVALID_AH);
	g_assert_cmpint(it_address_handle_free(none), ==, IT_ERR_INVALID_AH);
}

static void
add(void)
{
	pair_add("ud/r-24-not-offered", test_not_offered);
	pair_add_for(NEEDS_UD, "ud/create-handles", test_create_handles);
	pair_add_for(NEEDS_UD, "ud/create-limits", test_create_limits);
	pair_add_for(NEEDS_UD | NEEDS_OVERFLOW | NEEDS_EVD_RESIZE, "ud/create-overflowed",
		     test_create_overflowed);
	pair_add_bare("ud/unprivileged", test_unprivileged);
	pair_add_bare("ud/privileged", test_privileged);
	pair_add_for(NEEDS_UD, "ud/query", test_query);
	pair_add_for(NEEDS_UD | NEEDS_EP_RESIZE, "ud/modify", test_modify);
	pair_add_for(NEEDS_UD | NEEDS_WINDOWS, "ud/types", test_types);
	pair_add_for(NEEDS_UD, "ud/link-types", test_link_types);
	pair_add_for(NEEDS_UD, "ud/sendto", test_sendto);
	pair_add_for(NEEDS_UD, "ud/recvfrom", test_recvfrom);
	pair_add_for(NEEDS_UD, "ud/address-handles", test_address_handles);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add);
}
