/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "it_dgram.h"

bool
dgram_offered(const struct end *end)
{
	return (end->info->supported_service_types & IT_UD_SERVICE) != 0;
}

it_ep_attributes_t
dgram_attr(void)
{
	it_ep_attributes_t attr = {
		.max_request_dtos = REQUEST_SLOTS,
		.max_recv_dtos = RECV_SLOTS,
		.max_send_segments = pair_at_most("max_send_sge", PAIR_SEGMENTS),
		.max_recv_segments = pair_at_most("max_recv_sge", PAIR_SEGMENTS),
	};

	attr.srv.ud.ep_info.ud_ep_key = KEY;
	return attr;
}

it_ep_handle_t
dgram_ep(const struct end *end)
{
	it_ep_attributes_t attr = dgram_attr();
	it_ep_handle_t ep = NULL;

	pair_ok(it_ep_ud_create(end->pz, end->request, end->recv, &attr, 0, &ep));
	return ep;
}

struct dgram
dgram_open(struct pair *pair, struct end *end)
{
	struct dgram dgram = {.end = end, .ep = dgram_ep(end)};
	it_ep_param_t params;

	pair_ok(it_ep_query(dgram.ep, IT_EP_PARAM_EP_ID | IT_EP_PARAM_EP_KEY, &params));
	dgram.info = params.attr.srv.ud.ep_info;
	pair_ok(it_address_handle_create(end->pz, &pair->path, 0, &dgram.way));
	return dgram;
}

void
dgram_close(struct dgram *dgram)
{
	pair_ok(it_address_handle_free(dgram->way));
	pair_ok(it_ep_free(dgram->ep));
}

it_ep_state_ud_t
dgram_state(it_ep_handle_t ep)
{
	it_ep_param_t params;

	pair_ok(it_ep_query(ep, IT_EP_PARAM_STATE, &params));
	return params.ep_state.ud;
}

it_dg_remote_ep_addr_t
dgram_target(it_addr_handle_t way, const it_remote_ep_info_t *info)
{
	return (it_dg_remote_ep_addr_t){.type = IT_DG_TYPE_IB_UD,
					.addr = {.ud = {.addr = way, .ep_info = *info}}};
}

void
dgram_offer(const struct dgram *dgram, size_t at, size_t length, it_dto_cookie_t cookie)
{
	it_lmr_triplet_t segment = end_segment(dgram->end, at, length);

	pair_ok(it_post_recvfrom(dgram->ep, &segment, 1, cookie, 0));
}

void
dgram_send(const struct dgram *from, const it_remote_ep_info_t *to, size_t length,
	   it_dto_cookie_t cookie)
{
	it_dg_remote_ep_addr_t target = dgram_target(from->way, to);
	it_lmr_triplet_t segment = end_segment(from->end, 0, length);

	pair_ok(it_post_sendto(from->ep, &segment, 1, cookie, SIGNALED, &target));
}

void
dgram_fill(const struct dgram *dgram, size_t length)
{
	for (size_t i = 0; i < length; i++)
		dgram->end->buffer[i] = (unsigned char)(i * 7 + (i >> 8));
}

void
dgram_reset(it_ep_handle_t ep)
{
	it_status_t status = IT_ERR_CANNOT_RESET;

	while (status == IT_ERR_CANNOT_RESET) {
		status = it_ep_reset(ep);
		g_thread_yield();
	}
	g_assert_cmpint(status, ==, IT_SUCCESS);
}
