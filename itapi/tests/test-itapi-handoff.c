/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Connection requests that are handed to another listener [IT 9.5]. */

#include <string.h>

#include "cm_scene.h"

/* Another listener of the passive end, with an EVD of its own. */
struct desk {
	it_evd_handle_t evd;
	it_conn_qual_t qual;
	it_listen_handle_t listen;
};

static void
desk_open(struct desk *desk, struct pair *pair, it_conn_qual_type_t type, size_t spigot)
{
	g_assert_cmpint(it_evd_create(pair->passive.ia, IT_CM_REQ_EVENT_STREAM, 0, 1, 1, NULL,
				      &desk->evd, NULL),
			==, IT_SUCCESS);
	memset(&desk->qual, 0, sizeof(desk->qual));
	desk->qual.type = type;
	g_assert_cmpint(it_listen_create(pair->passive.ia, spigot, desk->evd, IT_LISTEN_NO_FLAG,
					 &desk->qual, &desk->listen),
			==, IT_SUCCESS);
}

static void
desk_close(struct desk *desk)
{
	if (desk->listen != NULL)
		g_assert_cmpint(it_listen_free(desk->listen), ==, IT_SUCCESS);
	g_assert_cmpint(it_evd_free(desk->evd), ==, IT_SUCCESS);
}

static it_conn_request_event_t
desk_request(struct desk *desk)
{
	return end_expect(desk->evd, IT_CM_REQ_CONN_REQUEST_EVENT).conn_req;
}

/* How much of "abc" a request can carry. */
static size_t
word_length(const struct pair *pair)
{
	return MIN(pair->active.info->connect_private_data_len, 3);
}

static it_conn_request_event_t
knock(struct pair *pair)
{
	g_assert_cmpint(it_ep_connect(pair->active.ep, &pair->path, NULL, &pair->qual, 0,
				      (const unsigned char *)"abc", word_length(pair)),
			==, IT_SUCCESS);
	return cm_request(pair);
}

/* The request has the same content under a new identifier; the old identifier is invalid. */
static void
move_to(struct pair *pair, struct desk *desk, size_t spigot)
{
	it_conn_request_event_t first = knock(pair);
	it_conn_request_event_t second;

	g_assert_cmpint(it_handoff(&desk->qual, spigot, first.cn_est_id), ==, IT_SUCCESS);
	g_assert_cmpint(it_handoff(&desk->qual, spigot, first.cn_est_id), ==,
			IT_ERR_INVALID_CN_EST_ID);
	g_assert_cmpint(it_ep_accept(pair->passive.ep, first.cn_est_id, NULL, 0), ==,
			IT_ERR_INVALID_CN_EST_ID);
	g_assert_cmpint(it_reject(first.cn_est_id, NULL, 0), ==, IT_ERR_INVALID_CN_EST_ID);
	second = desk_request(desk);
	g_assert_cmpuint(second.cn_est_id, !=, first.cn_est_id);
	g_assert_cmpuint(second.spigot_id, ==, first.spigot_id);
	/* Of the kind that the peer has asked for, whatever that of the listener is. */
	g_assert_cmpint(second.conn_qual.type == IT_IB_SERVICEID, ==,
			first.conn_qual.type == IT_IB_SERVICEID);
	if (second.conn_qual.type == first.conn_qual.type)
		g_assert_cmpmem(&second.conn_qual, sizeof(second.conn_qual), &first.conn_qual,
				sizeof(first.conn_qual));
	g_assert_cmpuint(second.rdma_read_ird, ==, first.rdma_read_ird);
	g_assert_cmpuint(second.rdma_read_ord, ==, first.rdma_read_ord);
	g_assert_cmpmem(&second.source_addr, sizeof(second.source_addr), &first.source_addr,
			sizeof(first.source_addr));
	g_assert_cmpmem(second.private_data, IT_MAX_PRIV_DATA, first.private_data,
			IT_MAX_PRIV_DATA);
	g_assert_cmpint(second.private_data_present, ==, first.private_data_present);
	if (word_length(pair) > 0)
		g_assert_cmpint(second.private_data_present, ==, IT_TRUE);
	g_assert_cmpint(it_ep_accept(pair->passive.ep, second.cn_est_id, NULL, 0), ==, IT_SUCCESS);
	cm_established(pair);
	pair_disconnect(pair);
	end_reset(&pair->active);
	end_reset(&pair->passive);
}

/* A request that is handed off arrives at the other listener, and can be accepted there. */
static void
test_moves(struct pair *pair)
{
	unsigned int types = pair->passive.info->spigot_info[pair->spigot].passive_side_conn_qual;
	const it_conn_qual_type_t all[] = {IT_IANA_PORT, IT_IANA_LR_PORT, IT_IB_SERVICEID};
	struct desk desk;

	for (gsize i = 0; i < G_N_ELEMENTS(all); i++) {
		if ((types & all[i]) == 0)
			continue;
		desk_open(&desk, pair, all[i], pair->spigot);
		move_to(pair, &desk, pair->spigot);
		desk_close(&desk);
	}
}

/* To a listener of another spigot. */
static void
test_spigots(struct pair *pair)
{
	const it_ia_info_t *info = pair->passive.info;
	struct desk desk;
	bool moved = false;

	for (size_t i = 0; i < info->num_spigots; i++) {
		if (i == pair->spigot || info->spigot_info[i].num_net_addr == 0)
			continue;
		desk_open(&desk, pair, pair->qual.type, i);
		move_to(pair, &desk, i);
		desk_close(&desk);
		moved = true;
	}
	if (!moved)
		pair_inapplicable("fewer than two spigots have an address");
}

/* To the same listener, and many times: a new identifier each time. */
static void
test_round(struct pair *pair)
{
	it_conn_request_event_t request = knock(pair);

	for (int i = 0; i < 20; i++) {
		it_cn_est_identifier_t before = request.cn_est_id;

		g_assert_cmpint(it_handoff(&pair->qual, pair->spigot, before), ==, IT_SUCCESS);
		request = cm_request(pair);
		g_assert_cmpuint(request.cn_est_id, !=, before);
		g_assert_cmpmem(request.private_data, word_length(pair), "abc", word_length(pair));
	}
	g_assert_cmpint(it_reject(request.cn_est_id, NULL, 0), ==, IT_SUCCESS);
	end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_PEER_REJECT_EVENT);
}

/* A hand-off returns the statuses of its arguments. */
static void
test_statuses(struct pair *pair)
{
	it_conn_request_event_t request = knock(pair);
	it_conn_qual_t qual = {0};
	struct desk desk;

	desk_open(&desk, pair, pair->qual.type, pair->spigot);
	g_assert_cmpint(it_handoff(NULL, pair->spigot, request.cn_est_id), ==, IT_ERR_FAULT);
	g_assert_cmpint(it_handoff(&desk.qual, pair->spigot, 0), ==, IT_ERR_INVALID_CN_EST_ID);
	g_assert_cmpint(it_handoff(&desk.qual, pair->spigot, request.cn_est_id + 1000), ==,
			IT_ERR_INVALID_CN_EST_ID);
	g_assert_cmpint(it_handoff(&desk.qual, pair->passive.info->num_spigots, request.cn_est_id),
			==, IT_ERR_INVALID_SPIGOT);
	g_assert_cmpint(it_handoff(&qual, pair->spigot, request.cn_est_id), ==,
			IT_ERR_INVALID_CONN_QUAL);
	qual.type = IT_VIA_DISCRIMINATOR;
	g_assert_cmpint(it_handoff(&qual, pair->spigot, request.cn_est_id), ==,
			IT_ERR_INVALID_CONN_QUAL);
	/* The listener is gone. */
	g_assert_cmpint(it_listen_free(desk.listen), ==, IT_SUCCESS);
	desk.listen = NULL;
	g_assert_cmpint(it_handoff(&desk.qual, pair->spigot, request.cn_est_id), ==,
			IT_ERR_INVALID_CONN_QUAL);
	/* the request is still valid */
	g_assert_cmpint(it_ep_accept(pair->passive.ep, request.cn_est_id, NULL, 0), ==, IT_SUCCESS);
	cm_established(pair);
	desk_close(&desk);
}

/* The target's EVD is full: the request is refused, as a new one would be [IT 6.7]. */
static void
test_full(struct pair *pair)
{
	it_evd_param_t params;
	struct desk desk;

	desk_open(&desk, pair, pair->qual.type, pair->spigot);
	pair_resize(desk.evd, 4);
	g_assert_cmpint(it_evd_query(desk.evd, IT_EVD_PARAM_QUEUE_SIZE, &params), ==, IT_SUCCESS);
	for (size_t i = 0; i <= params.sevd_queue_size; i++) {
		if (i > 0)
			end_new_ep(
				&pair->active); /* the attempt before is given up and its request becomes invalid */
		g_assert_cmpint(it_handoff(&desk.qual, pair->spigot, knock(pair).cn_est_id), ==,
				IT_SUCCESS);
	}
	cm_expect_refused(pair->active.cm_msg, pair_no_room());
	desk_close(&desk);
}

static void
add(void)
{
	pair_add("handoff/moves", test_moves);
	pair_add("handoff/spigots", test_spigots);
	pair_add("handoff/round", test_round);
	pair_add("handoff/statuses", test_statuses);
	pair_add("handoff/full", test_full);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add);
}
