/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "it_shared.h"

#include <string.h>

#define A_MOMENT (50 * 1000) /* us */

void
shared_open(struct shared *shared, struct pair *pair)
{
	struct end *end = &pair->passive;

	shared->pair = pair;
	shared->failure = IT_DTO_SUCCESS;
	g_assert_cmpint(
		it_srq_create(end->pz, pair_at_most("max_recv_sge", 2), SHARED_SIZE, &shared->srq),
		==, IT_SUCCESS);
	g_assert_cmpint(it_evd_create(end->ia, IT_ASYNC_AFF_EVENT_STREAM, 0, 64, 1, NULL,
				      &shared->cm_evd, NULL),
			==, IT_SUCCESS);
}

void
shared_close(struct shared *shared)
{
	g_assert_cmpint(it_srq_free(shared->srq), ==, IT_SUCCESS);
	g_assert_cmpint(it_evd_free(shared->cm_evd), ==, IT_SUCCESS);
}

struct shared_link
shared_connect(struct shared *shared, size_t soft, size_t hard)
{
	struct end *active = &shared->pair->active;
	struct end *passive = &shared->pair->passive;
	it_ep_attributes_t attr = passive->attr;
	struct shared_link link;
	it_event_t event;

	attr.srv.rc.srq = shared->srq;
	attr.srv.rc.soft_hi_watermark = soft;
	attr.srv.rc.hard_hi_watermark = hard;
	g_assert_cmpint(it_ep_rc_create(active->pz, active->request, active->recv, active->cm_msg,
					IT_EP_NO_FLAG, &active->attr, &link.active),
			==, IT_SUCCESS);
	g_assert_cmpint(it_ep_rc_create(passive->pz, passive->request, passive->recv,
					passive->cm_msg, IT_EP_SRQ, &attr, &link.passive),
			==, IT_SUCCESS);
	g_assert_cmpint(it_ep_connect(link.active, &shared->pair->path, NULL, &shared->pair->qual,
				      IT_CONNECT_FLAG_TWO_WAY, NULL, 0),
			==, IT_SUCCESS);
	event = end_expect(passive->cm_req, IT_CM_REQ_CONN_REQUEST_EVENT);
	g_assert_cmpint(it_ep_accept(link.passive, event.conn_req.cn_est_id, NULL, 0), ==,
			IT_SUCCESS);
	end_expect(active->cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	end_expect(passive->cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	return link;
}

void
shared_disconnect(struct shared *shared, struct shared_link *link)
{
	struct pair *pair = shared->pair;
	it_ep_param_t params;

	g_assert_cmpint(it_ep_query(link->active, IT_EP_PARAM_STATE, &params), ==, IT_SUCCESS);
	if (params.ep_state.rc == IT_EP_STATE_CONNECTED) {
		g_assert_cmpint(it_ep_disconnect(link->active, NULL, 0), ==, IT_SUCCESS);
		end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
		end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
	}
	g_assert_cmpint(it_ep_free(link->active), ==, IT_SUCCESS);
	g_assert_cmpint(it_ep_free(link->passive), ==, IT_SUCCESS);
}

void
shared_post(struct shared *shared, it_dto_cookie_t cookie)
{
	it_lmr_triplet_t segment = end_segment(&shared->pair->passive, cookie * 64, 64);

	g_assert_cmpint(it_post_recv((it_handle_t)shared->srq, &segment, 1, cookie, 0), ==,
			IT_SUCCESS);
}

void
shared_send(struct shared *shared, const struct shared_link *link, uint64_t value)
{
	struct end *end = &shared->pair->active;
	it_lmr_triplet_t segment = end_segment(end, value * 8, 8);

	memcpy(end->buffer + value * 8, &value, sizeof(value));
	g_assert_cmpint(it_post_send(link->active, &segment, 1, value, IT_COMPLETION_FLAG), ==,
			IT_SUCCESS);
	shared_drain(shared);
}

void
shared_drain(struct shared *shared)
{
	it_event_t event;

	while (it_evd_dequeue(shared->pair->active.request, &event) == IT_SUCCESS) {
		if (event.dto_cmpl.dto_status != IT_DTO_SUCCESS)
			shared->failure = event.dto_cmpl.dto_status;
	}
}

uint64_t
shared_receive(struct shared *shared, it_ep_handle_t ep)
{
	struct end *end = &shared->pair->passive;
	it_event_t event = end_expect(end->recv, IT_DTO_RC_RECV_CMPL_EVENT);
	uint64_t value;

	g_assert_cmpint(event.dto_cmpl.dto_status, ==, IT_DTO_SUCCESS);
	g_assert_true(event.dto_cmpl.ep == ep);
	g_assert_cmpuint(event.dto_cmpl.transferred_length, ==, sizeof(value));
	memcpy(&value, end->buffer + event.dto_cmpl.cookie * 64, sizeof(value));
	return value;
}

void
shared_expect(struct shared *shared, it_event_type_t number, void *cause)
{
	it_event_t event = end_expect(shared->cm_evd, number);

	g_assert_true((void *)event.aff_async.cause.ep == cause);
}

void
shared_expect_none(struct shared *shared)
{
	it_event_t event;

	g_assert_cmpint(it_evd_wait(shared->cm_evd, A_MOMENT, &event, NULL), ==,
			IT_ERR_TIMEOUT_EXPIRED);
}

it_status_t
shared_modify(struct shared *shared, unsigned int mask, size_t size, size_t low)
{
	const it_srq_param_t params = {.max_recv_dtos = size, .low_watermark = low};

	return it_srq_modify(shared->srq, (it_srq_param_mask_t)mask, &params);
}

it_srq_param_t
shared_query(struct shared *shared)
{
	it_srq_param_t params;

	g_assert_cmpint(it_srq_query(shared->srq, IT_SRQ_PARAM_ALL, &params), ==, IT_SUCCESS);
	return params;
}
