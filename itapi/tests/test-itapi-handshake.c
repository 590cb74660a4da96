/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* How connections are established, or not: two-way, three-way, IRD and ORD [IT 4.3], [IT 4.4], [IT 9]. */

#include <string.h>
#include <unistd.h>

#include "cm_scene.h"

/* Both ends connect, with all states and paths on the way. */
static void
test_two_way(struct pair *pair)
{
	it_conn_request_event_t request;
	it_ep_param_t params;

	g_assert_cmpint(end_state(&pair->active), ==, IT_EP_STATE_UNCONNECTED);
	g_assert_cmpint(it_ep_connect(pair->active.ep, &pair->path, NULL, &pair->qual, 0, NULL, 0),
			==, IT_SUCCESS);
	request = cm_request(pair);
	g_assert_cmpuint(request.cn_est_id, !=, 0);
	g_assert_cmpint(request.conn_qual.type, ==, pair->qual.type);
	g_assert_cmpuint(request.spigot_id, ==, pair->spigot);
	g_assert_cmpint(end_state(&pair->active), ==, IT_EP_STATE_ACTIVE1_CONNECTION_PENDING);
	g_assert_cmpint(it_ep_accept(pair->passive.ep, request.cn_est_id, NULL, 0), ==, IT_SUCCESS);
	g_assert_cmpint(it_ep_accept(pair->passive.ep, request.cn_est_id, NULL, 0), ==,
			IT_ERR_INVALID_CN_EST_ID);
	cm_established(pair);
	g_assert_cmpint(end_state(&pair->active), ==, IT_EP_STATE_CONNECTED);
	g_assert_cmpint(end_state(&pair->passive), ==, IT_EP_STATE_CONNECTED);
	g_assert_cmpint(it_ep_query(pair->active.ep, IT_EP_PARAM_ALL, &params), ==, IT_SUCCESS);
	g_assert_cmpuint(params.spigot_id, ==, pair->spigot);
	g_assert_cmpint(params.service_type, ==, IT_RC_SERVICE);
	g_assert_true(params.ia == pair->active.ia && params.pz == pair->active.pz);
	g_assert_cmpmem(&params.dst_path.remote, sizeof(params.dst_path.remote), &pair->path.remote,
			sizeof(pair->path.remote));
	pair_disconnect(pair);
	g_assert_cmpint(it_ep_disconnect(pair->active.ep, NULL, 0), ==, IT_SUCCESS);
	end_expect_none(pair->active.cm_msg);
	end_expect_none(pair->passive.cm_msg);
}

/* A connection is made in three steps, and each step can end it. */
static void
test_three_way(struct pair *pair)
{
	it_cn_est_identifier_t id;
	it_connection_event_t arrival, established;

	if (!pair->active.info->three_way_handshake_support) {
		pair_inapplicable("three_way_handshake is not claimed");
		return;
	}
	arrival = cm_arrival(pair);
	id = arrival.cn_est_id;
	g_assert_cmpint(end_state(&pair->active), ==, IT_EP_STATE_ACTIVE2_CONNECTION_PENDING);
	g_assert_cmpint(end_state(&pair->passive), ==, IT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	g_assert_cmpint(it_ep_accept(pair->active.ep, id, (const unsigned char *)"x", 1), ==,
			IT_ERR_PDATA_NOT_SUPPORTED);
	g_assert_cmpint(it_ep_accept(pair->passive.ep, id, NULL, 0), ==, IT_ERR_INVALID_CN_EST_ID);
	g_assert_cmpint(it_handoff(&pair->qual, pair->spigot, id), ==, IT_ERR_INVALID_CN_EST_ID);
	end_expect_none(pair->passive.cm_msg);
	g_assert_cmpint(it_ep_accept(pair->active.ep, id, NULL, 0), ==, IT_SUCCESS);
	g_assert_cmpint(end_state(&pair->active), ==, IT_EP_STATE_CONNECTED);
	g_assert_cmpint(it_ep_accept(pair->active.ep, id, NULL, 0), ==, IT_ERR_INVALID_CN_EST_ID);
	g_assert_cmpint(it_reject(id, NULL, 0), ==, IT_ERR_INVALID_CN_EST_ID);
	/* The depths of the peer came with its accept, and nothing comes from it after that. */
	established = end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT).conn;
	g_assert_cmpuint(established.rdma_read_ird, ==, arrival.rdma_read_ird);
	g_assert_cmpuint(established.rdma_read_ord, ==, arrival.rdma_read_ord);
	if (pair->active.info->ird_ord_ia_support)
		g_assert_cmpuint(arrival.rdma_read_ird, >, 0);
	end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	pair_disconnect(pair);
	end_reset(&pair->active);
	end_reset(&pair->passive);
	/* The active consumer rejects: the passive side gets an event, the active side made the call. */
	id = cm_arrival(pair).cn_est_id;
	g_assert_cmpint(it_reject(id, NULL, 0), ==, IT_SUCCESS);
	g_assert_cmpint(end_state(&pair->active), ==, IT_EP_STATE_NONOPERATIONAL);
	end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_PEER_REJECT_EVENT);
	g_assert_cmpint(end_state(&pair->passive), ==, IT_EP_STATE_NONOPERATIONAL);
	end_reset(&pair->active);
	end_reset(&pair->passive);
	end_expect_none(pair->active.cm_msg);
}

/* Everything that can end an attempt in its second half makes the identifier of the arrival invalid. */
static void
test_three_way_ends(struct pair *pair)
{
	it_cn_est_identifier_t id;

	if (!pair->active.info->three_way_handshake_support) {
		pair_inapplicable("three_way_handshake is not claimed");
		return;
	}
	id = cm_arrival(pair).cn_est_id;
	g_assert_cmpint(it_ep_disconnect(pair->active.ep, NULL, 0), ==, IT_SUCCESS);
	g_assert_cmpint(it_ep_accept(pair->active.ep, id, NULL, 0), ==, IT_ERR_INVALID_CN_EST_ID);
	end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
	cm_expect_refused(pair->passive.cm_msg, IT_CN_REJ_OTHER);
	end_reset(&pair->active);
	end_reset(&pair->passive);
	/* The passive side gives up. */
	id = cm_arrival(pair).cn_est_id;
	g_assert_cmpint(it_ep_disconnect(pair->passive.ep, NULL, 0), ==, IT_SUCCESS);
	end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
	cm_expect_refused(pair->active.cm_msg, IT_CN_REJ_OTHER);
	g_assert_cmpint(it_reject(id, NULL, 0), ==, IT_ERR_INVALID_CN_EST_ID);
	end_reset(&pair->active);
	end_reset(&pair->passive);
	pair_establish(pair);
}

/* A rejection reaches the side that connects, and the endpoint can try again. */
static void
test_reject(struct pair *pair)
{
	it_cn_est_identifier_t id;

	pair_connect(pair);
	id = cm_request(pair).cn_est_id;
	g_assert_cmpint(it_reject(id, NULL, 1), ==, IT_ERR_FAULT);
	g_assert_cmpint(it_reject(id, NULL, 0), ==, IT_SUCCESS);
	g_assert_cmpint(it_reject(id, NULL, 0), ==, IT_ERR_INVALID_CN_EST_ID);
	g_assert_cmpint(it_reject(0, NULL, 0), ==, IT_ERR_INVALID_CN_EST_ID);
	end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_PEER_REJECT_EVENT);
	g_assert_cmpint(end_state(&pair->active), ==, IT_EP_STATE_NONOPERATIONAL);
	end_expect_none(pair->passive.cm_msg);
	end_reset(&pair->active);
	pair_establish(pair);
	pair_disconnect(pair);
}

/* The address has no listener. */
static void
test_dead_port(struct pair *pair)
{
	g_assert_cmpint(it_listen_free(pair->listen), ==, IT_SUCCESS);
	pair->listen = NULL;
	pair_connect(pair);
	cm_expect_refused(pair->active.cm_msg, IT_CN_REJ_OTHER);
	g_assert_cmpint(end_state(&pair->active), ==, IT_EP_STATE_NONOPERATIONAL);
	end_reset(&pair->active);
}

/* The answer of `end` met no peer: it is refused, or it reached the wire first and the connection ends at once. */
static void
expect_no_peer(const struct end *end)
{
	it_event_type_t number = end_next(end->cm_msg).event_number;

	if (number != IT_CM_MSG_CONN_ESTABLISHED_EVENT) {
		g_assert_cmphex(number, ==, IT_CM_MSG_CONN_NONPEER_REJECT_EVENT);
		return;
	}
	number = end_next(end->cm_msg).event_number;
	if (number != IT_CM_MSG_CONN_DISCONNECT_EVENT)
		g_assert_cmphex(number, ==, IT_CM_MSG_CONN_BROKEN_EVENT);
}

/* A peer that does not answer within the path's time; its request becomes invalid. */
static void
test_timeout(struct pair *pair)
{
	it_status_t status = IT_SUCCESS;
	it_cn_est_identifier_t id;
	it_event_t event;
	gint64 end;

	/* On a busy machine an attempt may end before its request is seen. */
	pair->path.timeout = 100 * 1000;
	do {
		pair->path.timeout *= 2;
		pair_connect(pair);
		cm_expect_refused(pair->active.cm_msg, IT_CN_REJ_TIMEOUT);
		end_reset(&pair->active);
	} while (it_evd_dequeue(pair->passive.cm_req, &event) != IT_SUCCESS);
	g_assert_cmphex(event.event_number, ==, IT_CM_REQ_CONN_REQUEST_EVENT);
	id = event.conn_req.cn_est_id;
	end = g_get_monotonic_time() + WAIT_US;
	while (status != IT_ERR_INVALID_CN_EST_ID && g_get_monotonic_time() < end) {
		status = it_ep_accept(pair->passive.ep, id, NULL, 0);
		if (status ==
		    IT_SUCCESS) /* it became invalid between the check and the wire [IT 9.4] */
			break;
		g_usleep(1000);
	}
	if (status == IT_SUCCESS)
		expect_no_peer(&pair->passive);
	else
		g_assert_cmpint(status, ==, IT_ERR_INVALID_CN_EST_ID);
}

/* A timeout that is infinite, and the default. */
static void
test_timeout_values(struct pair *pair)
{
	const uint64_t values[] = {0, 2 * (uint64_t)WAIT_US, IT_TIMEOUT_INFINITE - 1,
				   IT_TIMEOUT_INFINITE};

	for (gsize i = 0; i < G_N_ELEMENTS(values); i++) {
		pair->path.timeout = values[i];
		pair_establish(pair);
		pair_disconnect(pair);
		end_reset(&pair->active);
		end_reset(&pair->passive);
	}
}

/* a consumer that gives up an attempt gets one DISCONNECT; the request becomes invalid. */
static void
test_abort(struct pair *pair)
{
	const it_conn_qual_t nowhere = {0}; /* no listener there: the request stays where it is */
	it_cn_est_identifier_t id;
	it_status_t status;

	pair_connect(pair);
	id = cm_request(pair).cn_est_id;
	g_assert_cmpint(it_ep_reset(pair->active.ep), ==, IT_ERR_INVALID_EP_STATE);
	g_assert_cmpint(it_ep_disconnect(pair->active.ep, NULL, 0), ==, IT_SUCCESS);
	g_assert_cmpint(end_state(&pair->active), ==, IT_EP_STATE_NONOPERATIONAL);
	end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
	end_reset(&pair->active);
	end_expect_none(pair->active.cm_msg);
	PAIR_UNTIL((status = it_handoff(&nowhere, pair->spigot, id)) != IT_ERR_INVALID_CONN_QUAL);
	g_assert_cmpint(status, ==, IT_ERR_INVALID_CN_EST_ID);
	end_expect_none(pair->passive.cm_req);
}

#define DEPTH_MOST 7 /* of the numbers that these tests ask for */

/* The depths that these tests ask for. */
static bool
takes_depths(void)
{
	if (pair_at_most("max_ird", DEPTH_MOST) == DEPTH_MOST &&
	    pair_at_most("max_ord", DEPTH_MOST) == DEPTH_MOST)
		return true;
	pair_inapplicable("max_ird or max_ord is below %d", DEPTH_MOST);
	return false;
}

/* events report the peer's own numbers; only ORD is lowered, until reset. */
static void
test_ird_ord(struct pair *pair)
{
	it_event_t event;

	if (!pair->active.info->ird_ord_ia_support) {
		pair_inapplicable("ird_ord_exchange is not claimed");
		return;
	}
	if (!takes_depths())
		return;
	pair->active.attr.srv.rc.rdma_read_ird = 3;
	pair->active.attr.srv.rc.rdma_read_ord = 5;
	pair->passive.attr.srv.rc.rdma_read_ird = 2;
	pair->passive.attr.srv.rc.rdma_read_ord = 7;
	end_new_ep(&pair->active);
	end_new_ep(&pair->passive);
	for (int round = 0; round < 2; round++) {
		it_conn_request_event_t request;

		pair_connect(pair);
		request = cm_request(pair);
		g_assert_cmpuint(request.rdma_read_ird, ==, 3);
		g_assert_cmpuint(request.rdma_read_ord, ==, 5);
		g_assert_cmpint(it_ep_accept(pair->passive.ep, request.cn_est_id, NULL, 0), ==,
				IT_SUCCESS);
		g_assert_cmpuint(end_ord(&pair->passive), ==, 3);
		event = end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
		g_assert_cmpuint(event.conn.rdma_read_ird, ==, 2);
		g_assert_cmpuint(event.conn.rdma_read_ord, ==, 3);
		g_assert_cmpuint(end_ord(&pair->active), ==, 2);
		end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
		pair_disconnect(pair);
		end_reset(&pair->active);
		end_reset(&pair->passive);
		g_assert_cmpuint(end_ord(&pair->active), ==, 5);
		g_assert_cmpuint(end_ord(&pair->passive), ==, 7);
	}
}

/* One side suppresses IRD and ORD: the other gets no numbers and nothing is lowered [IT 9.6]. */
static void
suppressed_by(struct pair *pair, bool active, it_listen_handle_t *quiet)
{
	it_conn_qual_t qual = {.type = pair->qual.type};
	it_conn_request_event_t request;
	it_event_t event;

	g_assert_cmpint(it_listen_create(pair->passive.ia, pair->spigot, pair->passive.cm_req,
					 active ? IT_LISTEN_NO_FLAG : IT_LISTEN_SUPPRESS_IRD_ORD,
					 &qual, quiet),
			==, IT_SUCCESS);
	g_assert_cmpint(
		it_ep_connect(pair->active.ep, &pair->path, NULL, &qual,
			      active ? IT_CONNECT_SUPPRESS_IRD_ORD : IT_CONNECT_FLAG_TWO_WAY, NULL,
			      0),
		==, IT_SUCCESS);
	request = cm_request(pair);
	g_assert_cmpuint(request.rdma_read_ird, ==, 0);
	g_assert_cmpuint(request.rdma_read_ord, ==, 0);
	g_assert_cmpint(it_ep_accept(pair->passive.ep, request.cn_est_id, NULL, 0), ==, IT_SUCCESS);
	event = end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	/* A listen that suppresses may give the active side its own numbers back [WIRE 2.5.2]. */
	if (active || event.conn.rdma_read_ird == 0) {
		g_assert_cmpuint(event.conn.rdma_read_ird, ==, 0);
		g_assert_cmpuint(event.conn.rdma_read_ord, ==, 0);
	} else {
		g_assert_cmpuint(event.conn.rdma_read_ird, ==, 5);
		g_assert_cmpuint(event.conn.rdma_read_ord, ==, 3);
	}
	end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	g_assert_cmpuint(end_ord(&pair->active), ==, 5);
	g_assert_cmpuint(end_ord(&pair->passive), ==, 7);
	pair_disconnect(pair);
	end_reset(&pair->active);
	end_reset(&pair->passive);
	g_assert_cmpint(it_listen_free(*quiet), ==, IT_SUCCESS);
}

/* Either side can leave the exchange of IRD and ORD out. */
static void
test_suppression(struct pair *pair)
{
	it_listen_handle_t quiet;
	it_conn_qual_t qual = {.type = pair->qual.type};

	if (!takes_depths())
		return;
	pair->active.attr.srv.rc.rdma_read_ird = 3;
	pair->active.attr.srv.rc.rdma_read_ord = 5;
	pair->passive.attr.srv.rc.rdma_read_ird = 2;
	pair->passive.attr.srv.rc.rdma_read_ord = 7;
	end_new_ep(&pair->active);
	end_new_ep(&pair->passive);
	if (!pair->active.info->ird_ord_suppressible) {
		g_assert_cmpint(it_ep_connect(pair->active.ep, &pair->path, NULL, &pair->qual,
					      IT_CONNECT_SUPPRESS_IRD_ORD, NULL, 0),
				==, IT_ERR_INVALID_CN_EST_FLAGS);
		g_assert_cmpint(it_listen_create(pair->passive.ia, pair->spigot,
						 pair->passive.cm_req, IT_LISTEN_SUPPRESS_IRD_ORD,
						 &qual, &quiet),
				==, IT_ERR_INVALID_FLAGS);
		return;
	}
	suppressed_by(pair, true, &quiet);
	suppressed_by(pair, false, &quiet);
	suppressed_by(pair, true, &quiet);
}

/*
 * the passive side may post at once. If the peer did not promise a first message, the provider holds these
 * requests until the active side has sent something.
 */
static void
test_passive_speaks(struct pair *pair)
{
	it_lmr_triplet_t in = end_segment(&pair->active, 0, 8);
	it_lmr_triplet_t out = end_segment(&pair->passive, 0, 8);
	it_cn_est_flags_t flags = pair->active.info->ird_ord_suppressible
					  ? IT_CONNECT_SUPPRESS_IRD_ORD
					  : IT_CONNECT_FLAG_TWO_WAY;

	g_assert_cmpint(it_post_recv(pair->active.ep, &in, 1, 1, 0), ==, IT_SUCCESS);
	in = end_segment(&pair->passive, 64, 8);
	g_assert_cmpint(it_post_recv(pair->passive.ep, &in, 1, 2, 0), ==, IT_SUCCESS);
	g_assert_cmpint(
		it_ep_connect(pair->active.ep, &pair->path, NULL, &pair->qual, flags, NULL, 0), ==,
		IT_SUCCESS);
	g_assert_cmpint(it_ep_accept(pair->passive.ep, cm_request(pair).cn_est_id, NULL, 0), ==,
			IT_SUCCESS);
	cm_established(pair);
	g_assert_cmpint(it_post_send(pair->passive.ep, &out, 1, 3, IT_COMPLETION_FLAG), ==,
			IT_SUCCESS);
	g_assert_cmpint(it_post_send(pair->active.ep, &out, 0, 4, IT_COMPLETION_FLAG), ==,
			IT_SUCCESS);
	end_expect(pair->passive.recv, IT_DTO_RC_RECV_CMPL_EVENT);
	end_expect(pair->active.recv, IT_DTO_RC_RECV_CMPL_EVENT);
	end_expect(pair->passive.request, IT_DTO_SEND_CMPL_EVENT);
}

/* A plain TCP peer that dies before it has sent its ready-to-receive message. */
static void
test_peer_dies_at_start(struct pair *pair)
{
	int fd = cm_raw_connect(pair);

	if (fd < 0) {
		pair_inapplicable("cm_forms has no RI_CM_STREAM");
		return;
	}
	cm_raw_request(fd, 1, 1);
	g_assert_cmpint(it_ep_accept(pair->passive.ep, cm_request(pair).cn_est_id, NULL, 0), ==,
			IT_SUCCESS);
	g_assert_cmpint(end_state(&pair->passive), ==, IT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	close(fd);
	cm_expect_refused(pair->passive.cm_msg, IT_CN_REJ_OTHER);
	g_assert_cmpint(end_state(&pair->passive), ==, IT_EP_STATE_NONOPERATIONAL);
	end_reset(&pair->passive);
}

/* A failed accept changes neither the identifier nor the endpoint [IT 9.4]. */
static void
test_accept_statuses(struct pair *pair)
{
	it_cn_est_identifier_t id;

	pair_connect(pair);
	id = cm_request(pair).cn_est_id;
	g_assert_cmpint(it_ep_accept(NULL, id, NULL, 0), ==, IT_ERR_INVALID_EP);
	g_assert_cmpint(it_ep_accept(pair->passive.ep, 0, NULL, 0), ==, IT_ERR_INVALID_CN_EST_ID);
	g_assert_cmpint(it_ep_accept(pair->passive.ep, id + 1000, NULL, 0), ==,
			IT_ERR_INVALID_CN_EST_ID);
	/* An endpoint of another IA. */
	g_assert_cmpint(it_ep_accept(pair->active.ep, id, NULL, 0), ==, IT_ERR_INVALID_CN_EST_ID);
	g_assert_cmpint(it_ep_accept(pair->passive.ep, id, NULL, 1), ==, IT_ERR_FAULT);
	g_assert_cmpint(end_state(&pair->passive), ==, IT_EP_STATE_UNCONNECTED);
	g_assert_cmpint(it_ep_accept(pair->passive.ep, id, NULL, 0), ==, IT_SUCCESS);
	cm_established(pair);
	pair_disconnect(pair);
}

static void
add(void)
{
	pair_add("handshake/two-way", test_two_way);
	pair_add("handshake/three-way", test_three_way);
	pair_add("handshake/three-way-ends", test_three_way_ends);
	pair_add("handshake/reject", test_reject);
	pair_add("handshake/dead-port", test_dead_port);
	pair_add("handshake/timeout", test_timeout);
	pair_add("handshake/timeout-values", test_timeout_values);
	pair_add("handshake/abort/r-01", test_abort);
	pair_add("handshake/suppression", test_suppression);
	pair_add("handshake/peer-dies-at-start", test_peer_dies_at_start);
	pair_add("handshake/accept-statuses", test_accept_statuses);
	pair_add("rulings/r-28-passive-posts-at-once", test_passive_speaks);
	pair_add("rulings/r-30-the-peers-own-numbers", test_ird_ord);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add);
}
