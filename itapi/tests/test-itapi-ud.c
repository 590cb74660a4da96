/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Datagrams: how they arrive, how they are lost, and what happens to an endpoint that fails. */
#include <string.h>

#include "it_dgram.h"

/* The parts of the adapter's description agree. */
static void
test_told(struct pair *pair)
{
	const it_ia_info_t *info = pair->active.info;
	bool offered = dgram_offered(&pair->active);

	g_assert_cmpint(info->supported_service_types & IT_RC_SERVICE, !=, 0);
	for (size_t i = 0; i < info->num_spigots; i++)
		g_assert_cmpint(info->spigot_info[i].max_ud_send_len > 0, ==, offered);
	if (info->transport_type == IT_IWARP_TCP_TRANSPORT)
		g_assert_false(offered);
}

/* A datagram arrives whole, behind room for its routing header. */
static void
test_arrives(struct pair *pair)
{
	it_event_t event;

	struct dgram a RI_AT_END(dgram_close) = dgram_open(pair, &pair->active);
	struct dgram b RI_AT_END(dgram_close) = dgram_open(pair, &pair->passive);
	dgram_fill(&a, 1000);
	dgram_offer(&b, 4096, HEADER + 1000, 1);
	dgram_send(&a, &b.info, 1000, 2);
	event = end_done(b.end->recv, IT_DTO_UD_RECV_CMPL_EVENT, 1, IT_DTO_SUCCESS);
	g_assert_true(event.all_dto_cmpl.ep == b.ep);
	g_assert_true(event.all_dto_cmpl.evd == b.end->recv);
	g_assert_cmpuint(event.all_dto_cmpl.transferred_length, ==, HEADER + 1000);
	g_assert_null(event.all_dto_cmpl.unlinked_mr_handle);
	g_assert_cmpint(event.all_dto_cmpl.flags, ==, IT_UD_IB_GRH_PRESENT);
	g_assert_cmpuint(event.all_dto_cmpl.ud_ep_id, ==, a.info.ud_ep_id);
	g_assert_cmpuint(event.all_dto_cmpl.src_path.spigot_id, ==, 0);
	g_assert_cmpmem(b.end->buffer + 4096 + HEADER, 1000, a.end->buffer, 1000);
	/* RoCE over IPv4 has an IP header in the last 20 octets instead. */
	g_assert_true(b.end->buffer[4096] >> 4 == 6 || b.end->buffer[4096 + 20] >> 4 == 4);
	event = end_done(a.end->request, IT_DTO_SEND_CMPL_EVENT, 2, IT_DTO_SUCCESS);
	g_assert_true(event.dto_cmpl.ep == a.ep);
	g_assert_cmpuint(event.dto_cmpl.transferred_length, ==, 1000);
}

/* The event is enough to answer: the sender's number, and the path back. */
static void
test_answered(struct pair *pair)
{
	it_addr_handle_t back;
	it_event_t event;

	struct dgram a RI_AT_END(dgram_close) = dgram_open(pair, &pair->active);
	struct dgram b RI_AT_END(dgram_close) = dgram_open(pair, &pair->passive);
	dgram_offer(&a, 8192, HEADER + 4, 1);
	dgram_offer(&b, 8192, HEADER + 4, 2);
	dgram_send(&a, &b.info, 4, 3);
	event = end_done(b.end->recv, IT_DTO_UD_RECV_CMPL_EVENT, 2, IT_DTO_SUCCESS);
	pair_ok(it_address_handle_create(b.end->pz, &event.all_dto_cmpl.src_path, 0, &back));
	pair_ok(it_address_handle_free(b.way));
	b.way = back;
	memset(b.end->buffer, 0x5a, 4);
	dgram_send(&b, &(it_remote_ep_info_t){event.all_dto_cmpl.ud_ep_id, KEY}, 4, 4);
	event = end_done(a.end->recv, IT_DTO_UD_RECV_CMPL_EVENT, 1, IT_DTO_SUCCESS);
	g_assert_cmpuint(event.all_dto_cmpl.ud_ep_id, ==, b.info.ud_ep_id);
	g_assert_cmpmem(a.end->buffer + 8192 + HEADER, 4, "\x5a\x5a\x5a\x5a", 4);
}

/* An endpoint sends a datagram to itself. */
static void
test_to_itself(struct pair *pair)
{
	struct dgram a RI_AT_END(dgram_close) = dgram_open(pair, &pair->active);
	dgram_fill(&a, 100);
	dgram_offer(&a, 4096, HEADER + 100, 1);
	dgram_send(&a, &a.info, 100, 2);
	end_done(a.end->request, IT_DTO_SEND_CMPL_EVENT, 2, IT_DTO_SUCCESS);
	end_done(a.end->recv, IT_DTO_UD_RECV_CMPL_EVENT, 1, IT_DTO_SUCCESS);
	g_assert_cmpmem(a.end->buffer + 4096 + HEADER, 100, a.end->buffer, 100);
}

/* From length 0 to the spigot's maximum, gathered and scattered. */
static void
test_sizes(struct pair *pair)
{
	size_t most = pair->active.info->spigot_info[0].max_ud_send_len;
	it_dg_remote_ep_addr_t target;
	it_event_t event;

	struct dgram a RI_AT_END(dgram_close) = dgram_open(pair, &pair->active);
	struct dgram b RI_AT_END(dgram_close) = dgram_open(pair, &pair->passive);
	target = dgram_target(a.way, &b.info);
	dgram_fill(&a, most);
	const it_lmr_triplet_t from[] = {
		end_segment(a.end, 0, 100),
		end_segment(a.end, 100, 0),
		end_segment(a.end, 100, most - 100),
	};
	const it_lmr_triplet_t into[] = {
		end_segment(b.end, 0, HEADER - 1),
		end_segment(b.end, 1000, 11),
		end_segment(b.end, 2000, most),
	};
	pair_ok(it_post_recvfrom(b.ep, into, 3, 1, 0));
	pair_ok(it_post_sendto(a.ep, from, 3, 2, SIGNALED, &target));
	event = end_done(b.end->recv, IT_DTO_UD_RECV_CMPL_EVENT, 1, IT_DTO_SUCCESS);
	g_assert_cmpuint(event.dto_cmpl.transferred_length, ==, HEADER + most);
	g_assert_cmpmem(b.end->buffer + 1001, 10, a.end->buffer, 10);
	g_assert_cmpmem(b.end->buffer + 2000, most - 10, a.end->buffer + 10, most - 10);
	dgram_offer(&b, 0, HEADER, 3);
	pair_ok(it_post_sendto(a.ep, NULL, 0, 4, SIGNALED, &target));
	event = end_done(b.end->recv, IT_DTO_UD_RECV_CMPL_EVENT, 3, IT_DTO_SUCCESS);
	g_assert_cmpuint(event.dto_cmpl.transferred_length, ==, HEADER);
}

/* What was sent is lost; the next datagram arrives in the receive of b, which has cookie 9. */
static void
arrives_after(const struct dgram *a, const struct dgram *b)
{
	end_expect_none(b->end->recv);
	g_assert_cmpint(dgram_state(a->ep), ==, IT_EP_STATE_UD_OPERATIONAL);
	g_assert_cmpint(dgram_state(b->ep), ==, IT_EP_STATE_UD_OPERATIONAL);
	dgram_send(a, &b->info, 10, 5);
	end_done(b->end->recv, IT_DTO_UD_RECV_CMPL_EVENT, 9, IT_DTO_SUCCESS);
	end_done(a->end->request, IT_DTO_SEND_CMPL_EVENT, 5, IT_DTO_SUCCESS);
}

/* A datagram that nothing receives is lost, and nothing else is disturbed [IT 5.4]. */
static void
test_lost(struct pair *pair)
{
	it_remote_ep_info_t to;

	struct dgram a RI_AT_END(dgram_close) = dgram_open(pair, &pair->active);
	struct dgram b RI_AT_END(dgram_close) = dgram_open(pair, &pair->passive);
	dgram_send(&a, &b.info, 10, 1); /* no receive posted */
	end_done(a.end->request, IT_DTO_SEND_CMPL_EVENT, 1, IT_DTO_SUCCESS);
	dgram_offer(&a, 8192, HEADER + 10, 8);
	dgram_send(&a, &a.info, 10, 7); /* when it has come, the one before has, too */
	end_done(a.end->request, IT_DTO_SEND_CMPL_EVENT, 7, IT_DTO_SUCCESS);
	end_done(a.end->recv, IT_DTO_UD_RECV_CMPL_EVENT, 8, IT_DTO_SUCCESS);
	dgram_offer(&b, 4096, HEADER + 10, 9);
	to = b.info;
	to.ud_ep_key++;
	dgram_send(&a, &to, 10, 2); /* another key */
	end_done(a.end->request, IT_DTO_SEND_CMPL_EVENT, 2, IT_DTO_SUCCESS);
	to = (it_remote_ep_info_t){.ud_ep_id = 0xfffffe, .ud_ep_key = KEY};
	dgram_send(&a, &to, 10, 3); /* no such endpoint */
	end_done(a.end->request, IT_DTO_SEND_CMPL_EVENT, 3, IT_DTO_SUCCESS);
	arrives_after(&a, &b);
}

/* One that is too long for the receive is lost, and the receive is there for the next. */
static void
test_too_long(struct pair *pair)
{
	struct dgram a RI_AT_END(dgram_close) = dgram_open(pair, &pair->active);
	struct dgram b RI_AT_END(dgram_close) = dgram_open(pair, &pair->passive);
	dgram_offer(&b, 4096, HEADER + 10, 9);
	dgram_send(&a, &b.info, 11, 4);
	end_done(a.end->request, IT_DTO_SEND_CMPL_EVENT, 4, IT_DTO_SUCCESS);
	arrives_after(&a, &b);
}

/* Sent before its address handle, or its endpoint, is freed. */
static void
test_frees(struct pair *pair)
{
	struct dgram a;

	a = dgram_open(pair, &pair->active);
	struct dgram b RI_AT_END(dgram_close) = dgram_open(pair, &pair->passive);
	for (it_dto_cookie_t i = 0; i < RECV_SLOTS; i++)
		dgram_offer(&b, 4096, HEADER + 10, i);
	for (it_dto_cookie_t i = 0; i < RECV_SLOTS; i++)
		dgram_send(&a, &b.info, 10, i);
	g_assert_cmpint(it_pz_free(a.end->pz), ==, IT_ERR_PZ_BUSY);
	dgram_close(&a);
	g_assert_cmpint(it_address_handle_free(a.way), ==, IT_ERR_INVALID_AH);
	g_assert_cmpint(it_ep_free(a.ep), ==, IT_ERR_INVALID_EP);
	for (it_dto_cookie_t i = 0; i < RECV_SLOTS; i++)
		end_done(b.end->recv, IT_DTO_UD_RECV_CMPL_EVENT, i, IT_DTO_SUCCESS);
	for (it_dto_cookie_t i = 0; i < RECV_SLOTS; i++)
		end_done(a.end->request, IT_DTO_SEND_CMPL_EVENT, i, IT_DTO_SUCCESS);
}

/* Suppressed completions, slots, and the solicited flag. */
static void
test_flags(struct pair *pair)
{
	it_evd_handle_t quiet = NULL;
	it_dg_remote_ep_addr_t target;
	it_lmr_triplet_t segment;
	it_ep_attributes_t attr = dgram_attr();
	it_ep_param_t params;
	struct dgram a, b;
	it_event_t event;

	a = dgram_open(pair, &pair->active);
	b = dgram_open(pair, &pair->passive);
	pair_ok(it_ep_free(b.ep));
	quiet = pair_sevd(b.end->ia, IT_DTO_EVENT_STREAM, 0);
	pair_ok(it_ep_ud_create(b.end->pz, b.end->request, quiet, &attr, 0, &b.ep));
	pair_ok(it_ep_query(b.ep, IT_EP_PARAM_EP_ID | IT_EP_PARAM_EP_KEY, &params));
	b.info = params.attr.srv.ud.ep_info;
	target = dgram_target(a.way, &b.info);
	segment = end_segment(a.end, 0, 8);
	dgram_offer(&b, 4096, HEADER + 8, 1);
	dgram_offer(&b, 4096, HEADER + 8, 2);
	pair_ok(it_post_sendto(a.ep, &segment, 1, 1, 0, &target));
	end_expect_none(a.end->request);
	g_assert_cmpint(it_evd_wait(quiet, 0, &event, NULL), ==, IT_ERR_TIMEOUT_EXPIRED);
	pair_ok(it_post_sendto(a.ep, &segment, 1, 2, SIGNALED | IT_SOLICITED_WAIT_FLAG, &target));
	end_done(a.end->request, IT_DTO_SEND_CMPL_EVENT, 2, IT_DTO_SUCCESS);
	pair_ok(it_evd_wait(quiet, WAIT_US, &event, NULL));
	g_assert_cmpuint(event.dto_cmpl.cookie, ==, 1);
	pair_ok(it_evd_wait(quiet, WAIT_US, &event, NULL));
	g_assert_cmpuint(event.dto_cmpl.cookie, ==, 2);
	dgram_close(&a);
	dgram_close(&b);
	pair_ok(it_evd_free(quiet));
}

/* A send that fails puts the endpoint into NONOPERATIONAL; reset makes it operational (R-24: 1 is operational). */
static void
test_states(struct pair *pair)
{
	it_dg_remote_ep_addr_t target;
	it_evd_handle_t async = NULL;
	it_lmr_triplet_t beyond;
	struct dgram a, b;
	it_event_t event;

	pair_ok(it_evd_create(pair->active.ia, IT_ASYNC_AFF_EVENT_STREAM, 0, 16, 1, NULL, &async,
			      NULL));
	a = dgram_open(pair, &pair->active);
	b = dgram_open(pair, &pair->passive);
	target = dgram_target(a.way, &b.info);
	g_assert_cmpint(dgram_state(a.ep), ==, 1);
	pair_ok(it_ep_reset(a.ep));
	beyond = end_segment(a.end, END_BUFFER - 4, 8);
	for (guint round = 0; round < 3; round++) {
		dgram_offer(&a, 4096, HEADER + 8, 7);
		pair_ok(it_post_sendto(a.ep, &beyond, 1, 1, 0, &target));
		end_done(a.end->request, IT_DTO_SEND_CMPL_EVENT, 1, IT_DTO_ERR_LOCAL_PROTECTION);
		event = end_expect(async, IT_ASYNC_AFF_EP_L_ACCESS_VIOLATION);
		g_assert_true(event.aff_async.cause.ep == a.ep);
		g_assert_cmpint(dgram_state(a.ep), ==, 0);
		dgram_send(&a, &b.info, 8, 2);
		dgram_offer(&a, 4096, HEADER + 8, 8);
		end_done(a.end->request, IT_DTO_SEND_CMPL_EVENT, 2, IT_DTO_ERR_FLUSHED);
		event = end_done(a.end->recv, IT_DTO_UD_RECV_CMPL_EVENT, 7, IT_DTO_ERR_FLUSHED);
		g_assert_cmpint(event.all_dto_cmpl.flags, ==, 0);
		g_assert_cmpuint(event.all_dto_cmpl.transferred_length, ==, 0);
		end_done(a.end->recv, IT_DTO_UD_RECV_CMPL_EVENT, 8, IT_DTO_ERR_FLUSHED);
		dgram_reset(a.ep);
		g_assert_cmpint(dgram_state(a.ep), ==, 1);
		dgram_offer(&b, 4096, HEADER + 8, 3);
		dgram_send(&a, &b.info, 8, 4);
		end_done(b.end->recv, IT_DTO_UD_RECV_CMPL_EVENT, 3, IT_DTO_SUCCESS);
		end_done(a.end->request, IT_DTO_SEND_CMPL_EVENT, 4, IT_DTO_SUCCESS);
	}
	end_expect_none(async);
	dgram_close(&a);
	dgram_close(&b);
	pair_ok(it_evd_free(async));
}

/* Reset as soon as the failure is seen, repeatedly: no event of one life comes in the next. */
static void
test_hasty_reset(struct pair *pair)
{
	it_dg_remote_ep_addr_t target;
	it_lmr_triplet_t beyond;

	struct dgram a RI_AT_END(dgram_close) = dgram_open(pair, &pair->active);
	target = dgram_target(a.way, &a.info);
	beyond = end_segment(a.end, END_BUFFER - 4, 8);
	for (guint round = 0; round < 300; round++) {
		pair_ok(it_post_sendto(a.ep, &beyond, 1, 1, 0, &target));
		end_done(a.end->request, IT_DTO_SEND_CMPL_EVENT, 1, IT_DTO_ERR_LOCAL_PROTECTION);
		dgram_reset(a.ep);
		g_assert_cmpint(dgram_state(a.ep), ==, IT_EP_STATE_UD_OPERATIONAL);
		dgram_offer(&a, 4096, HEADER + 8, 2);
		dgram_send(&a, &a.info, 8, 3);
		end_done(a.end->recv, IT_DTO_UD_RECV_CMPL_EVENT, 2, IT_DTO_SUCCESS);
		end_done(a.end->request, IT_DTO_SEND_CMPL_EVENT, 3, IT_DTO_SUCCESS);
	}
}

/* A receive whose memory was freed ends its own endpoint and no other. */
static void
test_receive_fails(struct pair *pair)
{
	it_evd_handle_t async = NULL;
	it_lmr_triplet_t beyond;
	struct dgram a, b;

	pair_ok(it_evd_create(pair->passive.ia, IT_ASYNC_AFF_EVENT_STREAM, 0, 16, 1, NULL, &async,
			      NULL));
	a = dgram_open(pair, &pair->active);
	b = dgram_open(pair, &pair->passive);
	beyond = end_segment(b.end, END_BUFFER - HEADER, HEADER + 8);
	pair_ok(it_post_recvfrom(b.ep, &beyond, 1, 1, 0));
	dgram_send(&a, &b.info, 8, 2);
	end_done(a.end->request, IT_DTO_SEND_CMPL_EVENT, 2, IT_DTO_SUCCESS);
	end_done(b.end->recv, IT_DTO_UD_RECV_CMPL_EVENT, 1, IT_DTO_ERR_LOCAL_PROTECTION);
	end_expect(async, IT_ASYNC_AFF_EP_L_ACCESS_VIOLATION);
	g_assert_cmpint(dgram_state(b.ep), ==, IT_EP_STATE_UD_NONOPERATIONAL);
	g_assert_cmpint(dgram_state(a.ep), ==, IT_EP_STATE_UD_OPERATIONAL);
	dgram_close(&a);
	dgram_close(&b);
	pair_ok(it_evd_free(async));
}

/* The EVD of the receives is full: its endpoint ends [IT 6.7]. */
static void
test_overflow(struct pair *pair)
{
	it_ep_attributes_t attr = dgram_attr();
	it_evd_handle_t async = NULL, small = NULL;
	it_ep_param_t params;
	it_evd_param_t evd;
	struct dgram a, b;
	it_event_t event;
	guint sent = 0;

	a = dgram_open(pair, &pair->active);
	b = dgram_open(pair, &pair->passive);
	pair_ok(it_ep_free(b.ep));
	pair_ok(it_evd_create(b.end->ia, IT_ASYNC_AFF_EVENT_STREAM, 0, 16, 1, NULL, &async, NULL));
	pair_ok(it_evd_create(b.end->ia, IT_DTO_EVENT_STREAM, IT_EVD_OVERFLOW_NOTIFY, 1, 1, NULL,
			      &small, NULL));
	pair_resize(small, 1);
	attr.max_recv_dtos = 64;
	pair_ok(it_ep_ud_create(b.end->pz, b.end->request, small, &attr, 0, &b.ep));
	pair_ok(it_ep_query(b.ep, IT_EP_PARAM_EP_ID | IT_EP_PARAM_EP_KEY, &params));
	b.info = params.attr.srv.ud.ep_info;
	for (guint i = 0; i < 64; i++)
		dgram_offer(&b, 4096, HEADER + 8, i);
	while (dgram_state(b.ep) == IT_EP_STATE_UD_OPERATIONAL && sent < 64) {
		dgram_send(&a, &b.info, 8, sent++);
		end_expect(a.end->request, IT_DTO_SEND_CMPL_EVENT);
	}
	event = end_expect(async, IT_ASYNC_AFF_EP_SEVD_FULL_ERROR);
	g_assert_true(event.aff_async.cause.ep == b.ep);
	g_assert_cmpint(dgram_state(b.ep), ==, IT_EP_STATE_UD_NONOPERATIONAL);
	pair_ok(it_evd_query(small, IT_EVD_PARAM_OVERFLOWED, &evd));
	g_assert_true(evd.evd_overflowed);
	dgram_close(&a);
	dgram_close(&b);
	pair_ok(it_evd_free(small));
	pair_ok(it_evd_free(async));
}

/* An adapter is freed with all objects under it. */
static void
test_ia_free(struct pair *pair)
{
	struct end end;
	struct dgram a;

	g_assert_true(end_open(&end));
	a = dgram_open(pair, &end);
	dgram_offer(&a, 4096, HEADER + 8, 1);
	pair_ok(it_ia_free(end.ia));
	g_assert_cmpint(it_ep_free(a.ep), ==, IT_ERR_INVALID_EP);
	g_assert_cmpint(it_address_handle_free(a.way), ==, IT_ERR_INVALID_AH);
	it_ia_info_free(end.info);
	g_free(end.buffer);
}

#define THREADS 4
#define EACH    300

struct worker {
	struct pair *pair;
	const struct dgram *to;
	it_evd_handle_t request;
};

/* Sends from an endpoint of its own, each datagram through an address handle of its own. */
static gpointer
work(gpointer arg)
{
	const struct worker *me = arg;
	struct end *end = &me->pair->active;
	it_lmr_triplet_t segment = end_segment(end, 0, 8);
	it_ep_attributes_t attr = dgram_attr();
	it_ep_handle_t ep = NULL;

	pair_ok(it_ep_ud_create(end->pz, me->request, me->request, &attr, 0, &ep));
	for (it_dto_cookie_t i = 0; i < EACH; i++) {
		it_addr_handle_t way = NULL;
		it_dg_remote_ep_addr_t target;

		pair_ok(it_address_handle_create(end->pz, &me->pair->path, 0, &way));
		target = dgram_target(way, &me->to->info);
		pair_ok(it_post_sendto(ep, &segment, 1, i, SIGNALED, &target));
		pair_ok(it_address_handle_free(way));
		end_done(me->request, IT_DTO_SEND_CMPL_EVENT, i, IT_DTO_SUCCESS);
	}
	pair_ok(it_ep_free(ep));
	return NULL;
}

/* Several threads send to one endpoint that has a receive for each datagram: none is lost, none comes twice. */
static void
test_threads(struct pair *pair)
{
	it_ep_attributes_t attr = dgram_attr();
	struct worker workers[THREADS];
	GThread *threads[THREADS];
	it_evd_handle_t recv = NULL;
	it_ep_param_t params;
	struct dgram b;

	b = dgram_open(pair, &pair->passive);
	pair_ok(it_ep_free(b.ep));
	pair_ok(it_evd_create(b.end->ia, IT_DTO_EVENT_STREAM, 0, (size_t)THREADS * EACH, 1, NULL,
			      &recv, NULL));
	attr.max_recv_dtos = (size_t)THREADS * EACH;
	pair_ok(it_ep_ud_create(b.end->pz, b.end->request, recv, &attr, 0, &b.ep));
	pair_ok(it_ep_query(b.ep, IT_EP_PARAM_EP_ID | IT_EP_PARAM_EP_KEY, &params));
	b.info = params.attr.srv.ud.ep_info;
	for (it_dto_cookie_t i = 0; i < THREADS * EACH; i++)
		dgram_offer(&b, 4096, HEADER + 8, i);
	for (guint i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){
			.pair = pair,
			.to = &b,
			.request = pair_sevd(pair->active.ia, IT_DTO_EVENT_STREAM, 1),
		};
		threads[i] = g_thread_new("sender", work, &workers[i]);
	}
	for (it_dto_cookie_t i = 0; i < THREADS * EACH; i++)
		end_done(recv, IT_DTO_UD_RECV_CMPL_EVENT, i, IT_DTO_SUCCESS);
	for (guint i = 0; i < THREADS; i++) {
		g_thread_join(threads[i]);
		pair_ok(it_evd_free(workers[i].request));
	}
	end_expect_none(recv);
	dgram_close(&b);
	pair_ok(it_evd_free(recv));
}

static void
add(void)
{
	pair_add("ud/told", test_told);
	pair_add_for(NEEDS_UD, "ud/arrives", test_arrives);
	pair_add_for(NEEDS_UD, "ud/answered", test_answered);
	pair_add_for(NEEDS_UD, "ud/to-itself", test_to_itself);
	pair_add_for(NEEDS_UD | NEEDS_SEGMENTS, "ud/sizes", test_sizes);
	pair_add_for(NEEDS_UD, "ud/lost", test_lost);
	pair_add_for(NEEDS_UD, "ud/too-long", test_too_long);
	pair_add_for(NEEDS_UD, "ud/frees", test_frees);
	pair_add_for(NEEDS_UD, "ud/flags", test_flags);
	pair_add_for(NEEDS_UD | NEEDS_REUSE, "ud/r-24-states", test_states);
	pair_add_for(NEEDS_UD | NEEDS_REUSE, "ud/hasty-reset", test_hasty_reset);
	pair_add_for(NEEDS_UD, "ud/receive-fails", test_receive_fails);
	pair_add_for(NEEDS_UD | NEEDS_OVERFLOW | NEEDS_EVD_RESIZE, "ud/overflow", test_overflow);
	pair_add_for(NEEDS_UD, "ud/ia-free", test_ia_free);
	pair_add_for(NEEDS_UD, "ud/threads", test_threads);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add);
}
