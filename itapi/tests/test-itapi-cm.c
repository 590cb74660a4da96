/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Connections on a real adapter, both ends here (itapi-semantics 4, 9, 15.5). */

#include <arpa/inet.h>
#include <string.h>

#include "it_pair.h"

static it_cn_est_identifier_t
request_id(struct pair *pair)
{
	return end_expect(pair->passive.cm_req, IT_CM_REQ_CONN_REQUEST_EVENT).conn_req.cn_est_id;
}

static void
fill(unsigned char *data, size_t length, unsigned int seed)
{
	for (size_t i = 0; i < length; i++)
		data[i] = (unsigned char)(i * 7 + seed);
}

static void
check_pdata(const unsigned char *got, size_t length, unsigned int seed)
{
	unsigned char wanted[IT_MAX_PRIV_DATA] = {0};

	fill(wanted, length, seed);
	g_assert_cmpmem(got, IT_MAX_PRIV_DATA, wanted, IT_MAX_PRIV_DATA);
}

/* There and back, with states, paths, private data at its limits. */
static void
test_two_way(struct pair *pair)
{
	size_t ask = pair->active.info->connect_private_data_len;
	size_t answer = pair->active.info->accept_private_data_len;
	unsigned char data[IT_MAX_PRIV_DATA];
	it_ep_param_t params;
	it_event_t event;

	g_assert_cmpint(end_state(&pair->active), ==, IT_EP_STATE_UNCONNECTED);
	fill(data, ask, 1);
	g_assert_cmpint(
		it_ep_connect(pair->active.ep, &pair->path, NULL, &pair->qual, 0, data, ask), ==,
		IT_SUCCESS);
	event = end_expect(pair->passive.cm_req, IT_CM_REQ_CONN_REQUEST_EVENT);
	g_assert_cmpint(event.conn_req.private_data_present, ==, IT_TRUE);
	check_pdata(event.conn_req.private_data, ask, 1);
	g_assert_cmpuint(event.conn_req.cn_est_id, !=, 0);
	g_assert_cmpint(event.conn_req.conn_qual.type, ==, pair->qual.type);
	g_assert_cmpuint(event.conn_req.spigot_id, ==, pair->spigot);
	g_assert_cmpint(end_state(&pair->active), ==, IT_EP_STATE_ACTIVE1_CONNECTION_PENDING);
	fill(data, answer, 2);
	g_assert_cmpint(it_ep_accept(pair->passive.ep, event.conn_req.cn_est_id, data, answer), ==,
			IT_SUCCESS);
	g_assert_cmpint(it_ep_accept(pair->passive.ep, event.conn_req.cn_est_id, NULL, 0), ==,
			IT_ERR_INVALID_CN_EST_ID);
	event = end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	g_assert_cmpint(event.conn.private_data_present, ==, IT_TRUE);
	check_pdata(event.conn.private_data, answer, 2);
	end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
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

/* Reset makes an endpoint as good as new, also many times. */
static void
test_again(struct pair *pair)
{
	for (int i = 0; i < 20; i++) {
		pair_establish(pair);
		pair_disconnect(pair);
		end_reset(&pair->active);
		end_reset(&pair->passive);
	}
	g_assert_cmpint(it_ep_reset(pair->active.ep), ==, IT_SUCCESS);
}

/* events tell the peer's own numbers; only ORD is lowered, until reset. */
static void
test_ird_ord(struct pair *pair)
{
	it_event_t event;

	pair->active.attr.srv.rc.rdma_read_ird = 3;
	pair->active.attr.srv.rc.rdma_read_ord = 5;
	pair->passive.attr.srv.rc.rdma_read_ird = 2;
	pair->passive.attr.srv.rc.rdma_read_ord = 7;
	end_new_ep(&pair->active);
	end_new_ep(&pair->passive);
	pair_connect(pair);
	event = end_expect(pair->passive.cm_req, IT_CM_REQ_CONN_REQUEST_EVENT);
	if (!pair->active.info->ird_ord_ia_support) {
		g_assert_cmpuint(event.conn_req.rdma_read_ird, ==, 0);
		g_assert_cmpint(it_reject(event.conn_req.cn_est_id, NULL, 0), ==, IT_SUCCESS);
		end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_PEER_REJECT_EVENT);
		return;
	}
	g_assert_cmpuint(event.conn_req.rdma_read_ird, ==, 3);
	g_assert_cmpuint(event.conn_req.rdma_read_ord, ==, 5);
	g_assert_cmpint(it_ep_accept(pair->passive.ep, event.conn_req.cn_est_id, NULL, 0), ==,
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

static void
test_reject(struct pair *pair)
{
	size_t room = pair->active.info->reject_private_data_len;
	unsigned char data[IT_MAX_PRIV_DATA + 1] = {0};
	it_cn_est_identifier_t id;
	it_event_t event;

	fill(data, room, 3);
	pair_connect(pair);
	id = request_id(pair);
	g_assert_cmpint(it_reject(id, NULL, 1), ==, IT_ERR_FAULT);
	g_assert_cmpint(it_reject(id, data, room + 1), ==, IT_ERR_INVALID_PDATA_LENGTH);
	g_assert_cmpint(it_reject(id, data, room), ==, IT_SUCCESS);
	g_assert_cmpint(it_reject(id, data, room), ==, IT_ERR_INVALID_CN_EST_ID);
	event = end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_PEER_REJECT_EVENT);
	check_pdata(event.conn.private_data, room, 3);
	g_assert_cmpint(end_state(&pair->active), ==, IT_EP_STATE_NONOPERATIONAL);
	end_expect_none(pair->passive.cm_msg);
	end_reset(&pair->active);
	pair_establish(pair);
	pair_disconnect(pair);
}

/* Nobody listens there. */
static void
test_dead_port(struct pair *pair)
{
	it_event_t event;

	g_assert_cmpint(it_listen_free(pair->listen), ==, IT_SUCCESS);
	g_assert_cmpint(it_listen_free(pair->listen), ==, IT_ERR_INVALID_LISTEN);
	pair->listen = NULL;
	pair_connect(pair);
	event = end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_NONPEER_REJECT_EVENT);
	g_assert_cmpint(event.conn.reject_reason_code, ==, IT_CN_REJ_OTHER);
	g_assert_cmpint(end_state(&pair->active), ==, IT_EP_STATE_NONOPERATIONAL);
	end_reset(&pair->active);
}

/* A peer that does not answer in the path's time; its request then dies. */
static void
test_timeout(struct pair *pair)
{
	it_status_t status = IT_SUCCESS;
	it_cn_est_identifier_t id;
	it_event_t event;

	pair->path.timeout = 200 * 1000;
	pair_connect(pair);
	id = request_id(pair);
	event = end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_NONPEER_REJECT_EVENT);
	g_assert_cmpint(event.conn.reject_reason_code, ==, IT_CN_REJ_TIMEOUT);
	end_reset(&pair->active);
	for (int i = 0; i < 1000 && status != IT_ERR_INVALID_CN_EST_ID; i++) {
		status = it_ep_accept(pair->passive.ep, id, NULL, 0);
		if (status == IT_SUCCESS) /* it died between the check and the wire (9.4) */
			break;
		g_usleep(1000);
	}
	if (status == IT_SUCCESS)
		end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_NONPEER_REJECT_EVENT);
	else
		g_assert_cmpint(status, ==, IT_ERR_INVALID_CN_EST_ID);
}

/* whoever gives up an attempt sees one DISCONNECT. */
static void
test_abort(struct pair *pair)
{
	pair_connect(pair);
	request_id(pair);
	g_assert_cmpint(it_ep_reset(pair->active.ep), ==, IT_ERR_INVALID_EP_STATE);
	g_assert_cmpint(it_ep_disconnect(pair->active.ep, NULL, 0), ==, IT_SUCCESS);
	g_assert_cmpint(end_state(&pair->active), ==, IT_EP_STATE_NONOPERATIONAL);
	end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
	end_reset(&pair->active);
	end_expect_none(pair->active.cm_msg);
}

/* The peer of an endpoint that is freed while connected. */
static void
test_free_connected(struct pair *pair)
{
	it_event_t event;

	pair_establish(pair);
	g_assert_cmpint(it_ep_free(pair->active.ep), ==, IT_SUCCESS);
	g_assert_cmpint(it_ep_free(pair->active.ep), ==, IT_ERR_INVALID_EP);
	pair->active.ep = NULL;
	event = end_next(pair->passive.cm_msg);
	g_assert_true(event.event_number == IT_CM_MSG_CONN_BROKEN_EVENT ||
		      event.event_number == IT_CM_MSG_CONN_DISCONNECT_EVENT);
	g_assert_cmpint(end_state(&pair->passive), ==, IT_EP_STATE_NONOPERATIONAL);
	end_reset(&pair->passive);
	end_expect_none(pair->active.cm_msg);
}

/* Identifiers outlive their listen; a failed accept leaves id and endpoint as they were. */
static void
test_ids(struct pair *pair)
{
	unsigned char data[IT_MAX_PRIV_DATA + 1] = {0};
	size_t room = pair->active.info->accept_private_data_len;
	it_cn_est_identifier_t id;

	pair_connect(pair);
	id = request_id(pair);
	g_assert_cmpint(it_listen_free(pair->listen), ==, IT_SUCCESS);
	pair->listen = NULL;
	g_assert_cmpint(it_ep_accept(NULL, id, NULL, 0), ==, IT_ERR_INVALID_EP);
	g_assert_cmpint(it_ep_accept(pair->passive.ep, 0, NULL, 0), ==, IT_ERR_INVALID_CN_EST_ID);
	g_assert_cmpint(it_ep_accept(pair->passive.ep, id + 1000, NULL, 0), ==,
			IT_ERR_INVALID_CN_EST_ID);
	g_assert_cmpint(it_ep_accept(pair->active.ep, id, NULL, 0), ==, IT_ERR_INVALID_CN_EST_ID);
	g_assert_cmpint(it_ep_accept(pair->passive.ep, id, NULL, 1), ==, IT_ERR_FAULT);
	g_assert_cmpint(it_ep_accept(pair->passive.ep, id, data, room + 1), ==,
			IT_ERR_INVALID_PDATA_LENGTH);
	g_assert_cmpint(end_state(&pair->passive), ==, IT_EP_STATE_UNCONNECTED);
	g_assert_cmpint(it_handoff(&pair->qual, pair->spigot, id + 1000), ==,
			IT_ERR_INVALID_CN_EST_ID);
	g_assert_cmpint(it_handoff(&pair->qual, pair->spigot, id), ==, IT_ERR_INVALID_CONN_QUAL);
	g_assert_cmpint(it_ep_accept(pair->passive.ep, id, NULL, 0), ==, IT_SUCCESS);
	end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	pair_disconnect(pair);
}

static it_status_t
try_connect(struct pair *pair, const it_path_t *path, const it_conn_qual_t *qual,
	    unsigned int flags, size_t pdata_length)
{
	unsigned char data[IT_MAX_PRIV_DATA + 1] = {0};

	return it_ep_connect(pair->active.ep, path, NULL, qual, (it_cn_est_flags_t)flags, data,
			     pdata_length);
}

static void
test_connect_statuses(struct pair *pair)
{
	const it_ia_info_t *info = pair->active.info;
	it_conn_qual_t bad_qual = {0};
	it_path_t bad_path = pair->path;

	g_assert_cmpint(it_ep_connect(NULL, &pair->path, NULL, &pair->qual, 0, NULL, 0), ==,
			IT_ERR_INVALID_EP);
	g_assert_cmpint(try_connect(pair, NULL, &pair->qual, 0, 0), ==, IT_ERR_FAULT);
	g_assert_cmpint(try_connect(pair, &pair->path, NULL, 0, 0), ==, IT_ERR_FAULT);
	g_assert_cmpint(it_ep_connect(pair->active.ep, &pair->path, NULL, &pair->qual, 0, NULL, 1),
			==, IT_ERR_FAULT);
	bad_path.spigot_id = info->num_spigots;
	g_assert_cmpint(try_connect(pair, &bad_path, &pair->qual, 0, 0), ==, IT_ERR_INVALID_SPIGOT);
	memset(&bad_path, 0, sizeof(bad_path));
	g_assert_cmpint(try_connect(pair, &bad_path, &pair->qual, 0, 0), ==,
			IT_ERR_INVALID_SOURCE_PATH);
	if (info->transport_type == IT_IWARP_TCP_TRANSPORT &&
	    pair->path.remote.iwarp.ip_vers == IT_IP_VERS_IPV4) {
		bad_path = pair->path;
		bad_path.remote.iwarp.laddr.ipv4.s_addr = inet_addr("203.0.113.1");
		g_assert_cmpint(try_connect(pair, &bad_path, &pair->qual, 0, 0), ==,
				IT_ERR_INVALID_SOURCE_PATH);
	}
	g_assert_cmpint(try_connect(pair, &pair->path, &bad_qual, 0, 0), ==,
			IT_ERR_INVALID_CONN_QUAL);
	bad_qual.type = IT_VIA_DISCRIMINATOR;
	g_assert_cmpint(try_connect(pair, &pair->path, &bad_qual, 0, 0), ==,
			IT_ERR_INVALID_CONN_QUAL);
	g_assert_cmpint(try_connect(pair, &pair->path, &pair->qual, 0x80, 0), ==,
			IT_ERR_INVALID_CN_EST_FLAGS);
	g_assert_cmpint(try_connect(pair, &pair->path, &pair->qual, 3, 0), ==,
			IT_ERR_INVALID_CN_EST_FLAGS);
	if (!info->three_way_handshake_support)
		g_assert_cmpint(
			try_connect(pair, &pair->path, &pair->qual, IT_CONNECT_FLAG_THREE_WAY, 0),
			==, IT_ERR_INVALID_CN_EST_FLAGS);
	if (!info->ird_ord_suppressible)
		g_assert_cmpint(
			try_connect(pair, &pair->path, &pair->qual, IT_CONNECT_SUPPRESS_IRD_ORD, 0),
			==, IT_ERR_INVALID_CN_EST_FLAGS);
	g_assert_cmpint(
		try_connect(pair, &pair->path, &pair->qual, 0, info->connect_private_data_len + 1),
		==, IT_ERR_INVALID_PDATA_LENGTH);
	g_assert_cmpint(end_state(&pair->active), ==, IT_EP_STATE_UNCONNECTED);
	g_assert_cmpint(it_ep_disconnect(pair->active.ep, NULL, 0), ==, IT_ERR_INVALID_EP_STATE);
	g_assert_cmpint(it_ep_disconnect(NULL, NULL, 0), ==, IT_ERR_INVALID_EP);
	g_assert_cmpint(it_ep_reset(NULL), ==, IT_ERR_INVALID_EP);
	pair_establish(pair);
	g_assert_cmpint(try_connect(pair, &pair->path, &pair->qual, 0, 0), ==,
			IT_ERR_INVALID_EP_STATE);
	g_assert_cmpint(it_ep_disconnect(pair->active.ep, NULL, 1), ==, IT_ERR_FAULT);
	g_assert_cmpint(it_ep_disconnect(pair->active.ep, (const unsigned char *)"x",
					 info->disconnect_private_data_len + 1),
			==, IT_ERR_INVALID_PDATA_LENGTH);
	g_assert_cmpint(it_ep_reset(pair->active.ep), ==, IT_ERR_INVALID_EP_STATE);
	pair_disconnect(pair);
	end_reset(&pair->active);
}

static it_status_t
try_listen(struct pair *pair, size_t spigot, it_evd_handle_t evd, unsigned int flags,
	   it_conn_qual_t qual)
{
	it_listen_handle_t made = (it_listen_handle_t)pair;
	it_status_t status = it_listen_create(pair->passive.ia, spigot, evd,
					      (it_listen_flags_t)flags, &qual, &made);

	if (status == IT_SUCCESS)
		g_assert_cmpint(it_listen_free(made), ==, IT_SUCCESS);
	else
		g_assert_null(made);
	return status;
}

static void
test_listen_statuses(struct pair *pair)
{
	it_evd_handle_t evd = pair->passive.cm_req;
	it_listen_param_t params;
	it_conn_qual_t none = {0};
	it_listen_handle_t made;

	g_assert_cmpint(it_listen_create(NULL, 0, evd, 0, &none, &made), ==, IT_ERR_INVALID_IA);
	g_assert_cmpint(it_listen_create(pair->passive.ia, 0, evd, 0, NULL, &made), ==,
			IT_ERR_FAULT);
	g_assert_cmpint(it_listen_create(pair->passive.ia, 0, evd, 0, &none, NULL), ==,
			IT_ERR_FAULT);
	g_assert_cmpint(try_listen(pair, 999, evd, 0, pair->qual), ==, IT_ERR_INVALID_SPIGOT);
	g_assert_cmpint(try_listen(pair, pair->spigot, NULL, 0, pair->qual), ==,
			IT_ERR_INVALID_CONN_EVD);
	g_assert_cmpint(try_listen(pair, pair->spigot, pair->passive.cm_msg, 0, pair->qual), ==,
			IT_ERR_INVALID_CONN_EVD);
	g_assert_cmpint(try_listen(pair, pair->spigot, pair->active.cm_req, 0, pair->qual), ==,
			IT_ERR_INVALID_CONN_EVD);
	g_assert_cmpint(try_listen(pair, pair->spigot, evd, 0x80, pair->qual), ==,
			IT_ERR_INVALID_FLAGS);
	g_assert_cmpint(try_listen(pair, pair->spigot, evd, 0, none), ==, IT_ERR_INVALID_CONN_QUAL);
	none.type = pair->qual.type;
	g_assert_cmpint(try_listen(pair, pair->spigot, evd, IT_LISTEN_CONN_QUAL_INPUT, none), ==,
			IT_ERR_INVALID_CONN_QUAL);
	g_assert_cmpint(try_listen(pair, pair->spigot, evd, IT_LISTEN_CONN_QUAL_INPUT, pair->qual),
			==, IT_ERR_CONN_QUAL_BUSY);
	g_assert_cmpint(try_listen(pair, pair->spigot, evd, 0, none), ==, IT_SUCCESS);
	g_assert_cmpint(it_listen_query(pair->listen, IT_LISTEN_PARAM_ALL, &params), ==,
			IT_SUCCESS);
	g_assert_true(params.ia_handle == pair->passive.ia && params.connect_evd == evd);
	g_assert_cmpuint(params.spigot_id, ==, pair->spigot);
	g_assert_cmpint(params.connect_qual.type, ==, pair->qual.type);
	g_assert_cmpint(it_listen_query(pair->listen, 0x20, &params), ==, IT_ERR_INVALID_MASK);
	g_assert_cmpint(it_listen_query(pair->listen, 0x3, &params), ==, IT_ERR_INVALID_MASK);
	g_assert_cmpint(it_listen_query(NULL, IT_LISTEN_PARAM_ALL, &params), ==,
			IT_ERR_INVALID_LISTEN);
	g_assert_cmpint(it_listen_query(pair->listen, IT_LISTEN_PARAM_ALL, NULL), ==, IT_ERR_FAULT);
	g_assert_cmpint(it_listen_free(NULL), ==, IT_ERR_INVALID_LISTEN);
}

/* The EVD is the backlog: what finds it full is refused towards the peer (6.7). */
static void
test_backlog(struct pair *pair)
{
	it_evd_handle_t small;
	it_evd_param_t evd_params;
	it_conn_qual_t qual = {.type = pair->qual.type};
	it_listen_handle_t listen;
	it_ep_handle_t eps[64];
	size_t count;
	it_event_t event;

	g_assert_cmpint(it_evd_create(pair->passive.ia, IT_CM_REQ_EVENT_STREAM, 0, 1, 1, NULL,
				      &small, NULL),
			==, IT_SUCCESS);
	g_assert_cmpint(it_evd_query(small, IT_EVD_PARAM_QUEUE_SIZE, &evd_params), ==, IT_SUCCESS);
	count = evd_params.sevd_queue_size + 1;
	g_assert_cmpuint(count, <=, G_N_ELEMENTS(eps));
	g_assert_cmpint(it_listen_create(pair->passive.ia, pair->spigot, small, 0, &qual, &listen),
			==, IT_SUCCESS);
	for (size_t i = 0; i < count; i++) {
		g_assert_cmpint(it_ep_rc_create(pair->active.pz, pair->active.request,
						pair->active.recv, pair->active.cm_msg, 0,
						&pair->active.attr, &eps[i]),
				==, IT_SUCCESS);
		g_assert_cmpint(it_ep_connect(eps[i], &pair->path, NULL, &qual, 0, NULL, 0), ==,
				IT_SUCCESS);
	}
	event = end_next(pair->active.cm_msg);
	g_assert_cmphex(event.event_number, ==, IT_CM_MSG_CONN_NONPEER_REJECT_EVENT);
	g_assert_cmpint(event.conn.reject_reason_code, ==, IT_CN_REJ_RESOURCES);
	end_expect_none(pair->active.cm_msg);
	for (size_t i = 0; i < count; i++)
		g_assert_cmpint(it_ep_free(eps[i]), ==, IT_SUCCESS);
	g_assert_cmpint(it_listen_free(listen), ==, IT_SUCCESS);
	g_assert_cmpint(it_evd_free(small), ==, IT_SUCCESS);
}

static it_cn_est_identifier_t
three_way_arrival(struct pair *pair)
{
	it_event_t event;

	g_assert_cmpint(it_ep_connect(pair->active.ep, &pair->path, NULL, &pair->qual,
				      IT_CONNECT_FLAG_THREE_WAY, NULL, 0),
			==, IT_SUCCESS);
	g_assert_cmpint(it_ep_accept(pair->passive.ep, request_id(pair), NULL, 0), ==, IT_SUCCESS);
	event = end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_ACCEPT_ARRIVAL_EVENT);
	g_assert_cmpint(end_state(&pair->active), ==, IT_EP_STATE_ACTIVE2_CONNECTION_PENDING);
	return event.conn.cn_est_id;
}

static void
test_three_way(struct pair *pair)
{
	it_cn_est_identifier_t id;

	if (!pair->active.info->three_way_handshake_support) {
		g_test_skip("the adapter knows two-way only");
		return;
	}
	id = three_way_arrival(pair);
	g_assert_cmpint(it_ep_accept(pair->active.ep, id, (const unsigned char *)"x", 1), ==,
			IT_ERR_PDATA_NOT_SUPPORTED);
	g_assert_cmpint(it_ep_accept(pair->passive.ep, id, NULL, 0), ==, IT_ERR_INVALID_CN_EST_ID);
	g_assert_cmpint(it_ep_accept(pair->active.ep, id, NULL, 0), ==, IT_SUCCESS);
	g_assert_cmpint(end_state(&pair->active), ==, IT_EP_STATE_CONNECTED);
	g_assert_cmpint(it_ep_accept(pair->active.ep, id, NULL, 0), ==, IT_ERR_INVALID_CN_EST_ID);
	end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	pair_disconnect(pair);
	end_reset(&pair->active);
	end_reset(&pair->passive);
	id = three_way_arrival(pair);
	g_assert_cmpint(it_reject(id, NULL, 0), ==, IT_SUCCESS);
	g_assert_cmpint(end_state(&pair->active), ==, IT_EP_STATE_NONOPERATIONAL);
	end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_PEER_REJECT_EVENT);
	end_reset(&pair->active);
	end_reset(&pair->passive);
	end_expect_none(pair->active.cm_msg);
}

/* Both sides end it at once: one DISCONNECT each (4.5). */
static gpointer
disconnect_thread(gpointer ep)
{
	g_assert_cmpint(it_ep_disconnect(ep, NULL, 0), ==, IT_SUCCESS);
	return NULL;
}

static void
test_both_disconnect(struct pair *pair)
{
	for (int i = 0; i < 50; i++) {
		GThread *thread;

		pair_establish(pair);
		thread = g_thread_new("peer", disconnect_thread, pair->passive.ep);
		g_assert_cmpint(it_ep_disconnect(pair->active.ep, NULL, 0), ==, IT_SUCCESS);
		g_thread_join(thread);
		end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
		end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
		end_reset(&pair->active);
		end_reset(&pair->passive);
		end_expect_none(pair->active.cm_msg);
		end_expect_none(pair->passive.cm_msg);
	}
}

/* A local port that the application chose lingers in TCP's time-wait (4.6). */
static void
test_time_wait(struct pair *pair)
{
	it_conn_qual_t qual = {.type = IT_IANA_LR_PORT};
	it_status_t status;

	if (pair->active.info->transport_type != IT_IWARP_TCP_TRANSPORT ||
	    pair->qual.type != IT_IANA_PORT || strncmp(pair_adapter(), "iwarp", 5) != 0) {
		g_test_skip("no TCP below");
		return;
	}
	qual.conn_qual.lr_port.remote = pair->qual.conn_qual.port;
	/* Any port that is free now. */
	for (unsigned int port = 20000; port < 20100; port++) {
		qual.conn_qual.lr_port.local = htons((uint16_t)port);
		status = it_ep_connect(pair->active.ep, &pair->path, NULL, &qual, 0, NULL, 0);
		if (status != IT_ERR_EP_TIMEWAIT)
			break;
	}
	g_assert_cmpint(status, ==, IT_SUCCESS);
	g_assert_cmpint(it_ep_accept(pair->passive.ep, request_id(pair), NULL, 0), ==, IT_SUCCESS);
	end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	/* Who closes first has the time-wait. */
	pair_disconnect(pair);
	end_reset(&pair->active);
	g_assert_cmpint(it_ep_connect(pair->active.ep, &pair->path, NULL, &qual, 0, NULL, 0), ==,
			IT_ERR_EP_TIMEWAIT);
	g_assert_cmpint(end_state(&pair->active), ==, IT_EP_STATE_UNCONNECTED);
}

static void
add(void)
{
	pair_add("cm/two-way", test_two_way);
	pair_add("cm/again", test_again);
	pair_add("cm/ird-ord", test_ird_ord);
	pair_add("cm/reject", test_reject);
	pair_add("cm/dead-port", test_dead_port);
	pair_add("cm/timeout", test_timeout);
	pair_add("cm/abort", test_abort);
	pair_add("cm/free-connected", test_free_connected);
	pair_add("cm/ids", test_ids);
	pair_add("cm/connect-statuses", test_connect_statuses);
	pair_add("cm/listen-statuses", test_listen_statuses);
	pair_add("cm/backlog", test_backlog);
	pair_add("cm/three-way", test_three_way);
	pair_add("cm/both-disconnect", test_both_disconnect);
	pair_add("cm/time-wait", test_time_wait);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add);
}
