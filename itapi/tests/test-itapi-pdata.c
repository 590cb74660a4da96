/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Private data of every message, at every limit [IT 9.3]. */

#include <string.h>

#include "cm_scene.h"

/*
 * Does a message of this adapter have room for private data even if the program gives none? No claim says so; of the
 * adapters of this release, those of InfiniBand have it.
 */
static it_boolean_t
empty_is_present(const struct pair *pair)
{
	return pair->active.info->transport_type == IT_IB_TRANSPORT;
}

static void
check(const struct pair *pair, it_boolean_t present, const unsigned char *got, size_t length)
{
	if (length > 0 || !pair_certified())
		g_assert_cmpint(present, ==, length > 0 ? IT_TRUE : empty_is_present(pair));
	cm_check_pdata(got, length, 5);
}

/* Lengths around a limit. */
#define LENGTHS(limit)                                                              \
	{                                                                           \
		0, MIN(1, limit), (limit) / 2, (limit) > 0 ? (limit)-1 : 0, (limit) \
	}

/* What is said of private data above a limit: of any, if no message of the adapter carries some. */
static it_status_t
too_long(const struct pair *pair)
{
	const it_ia_info_t *info = pair->active.info;
	bool some = info->private_data_support || info->ud_req_private_data_len > 0 ||
		    info->ud_rep_private_data_len > 0;

	return some ? IT_ERR_INVALID_PDATA_LENGTH : IT_ERR_PDATA_NOT_SUPPORTED;
}

/* Private data of a request arrives whole, up to its limit. */
static void
test_connect(struct pair *pair)
{
	const size_t lengths[] = LENGTHS(pair->active.info->connect_private_data_len);
	unsigned char data[IT_MAX_PRIV_DATA + 1];
	size_t limit = pair->active.info->connect_private_data_len;

	g_assert_cmpuint(limit, <=, IT_MAX_PRIV_DATA);
	cm_fill(data, sizeof(data), 5);
	g_assert_cmpint(
		it_ep_connect(pair->active.ep, &pair->path, NULL, &pair->qual, 0, data, limit + 1),
		==, too_long(pair));
	g_assert_cmpint(it_ep_connect(pair->active.ep, &pair->path, NULL, &pair->qual, 0, data,
				      (size_t)UINT32_MAX + 2),
			==, too_long(pair));
	for (gsize i = 0; i < G_N_ELEMENTS(lengths); i++) {
		it_conn_request_event_t request;

		g_assert_cmpint(it_ep_connect(pair->active.ep, &pair->path, NULL, &pair->qual, 0,
					      data, lengths[i]),
				==, IT_SUCCESS);
		request = cm_request(pair);
		check(pair, request.private_data_present, request.private_data, lengths[i]);
		g_assert_cmpint(it_reject(request.cn_est_id, NULL, 0), ==, IT_SUCCESS);
		end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_PEER_REJECT_EVENT);
		end_reset(&pair->active);
	}
}

/* Private data of an acceptance arrives whole, up to its limit. */
static void
test_accept(struct pair *pair)
{
	const size_t lengths[] = LENGTHS(pair->active.info->accept_private_data_len);
	size_t limit = pair->active.info->accept_private_data_len;
	unsigned char data[IT_MAX_PRIV_DATA + 1];
	it_event_t event;

	cm_fill(data, sizeof(data), 5);
	for (gsize i = 0; i < G_N_ELEMENTS(lengths); i++) {
		it_cn_est_identifier_t id;

		pair_connect(pair);
		id = cm_request(pair).cn_est_id;
		g_assert_cmpint(it_ep_accept(pair->passive.ep, id, data, limit + 1), ==,
				too_long(pair));
		g_assert_cmpint(it_ep_accept(pair->passive.ep, id, data, lengths[i]), ==,
				IT_SUCCESS);
		event = end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
		check(pair, event.conn.private_data_present, event.conn.private_data, lengths[i]);
		event = end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
		g_assert_cmpint(event.conn.private_data_present, ==, IT_FALSE);
		pair_disconnect(pair);
		end_reset(&pair->active);
		end_reset(&pair->passive);
	}
}

/* Private data of a rejection arrives whole, up to its limit. */
static void
test_reject(struct pair *pair)
{
	const size_t lengths[] = LENGTHS(pair->active.info->reject_private_data_len);
	size_t limit = pair->active.info->reject_private_data_len;
	unsigned char data[IT_MAX_PRIV_DATA + 1];
	it_event_t event;

	cm_fill(data, sizeof(data), 5);
	for (gsize i = 0; i < G_N_ELEMENTS(lengths); i++) {
		it_cn_est_identifier_t id;

		pair_connect(pair);
		id = cm_request(pair).cn_est_id;
		g_assert_cmpint(it_reject(id, data, limit + 1), ==, too_long(pair));
		g_assert_cmpint(it_reject(id, data, lengths[i]), ==, IT_SUCCESS);
		event = end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_PEER_REJECT_EVENT);
		check(pair, event.conn.private_data_present, event.conn.private_data, lengths[i]);
		end_reset(&pair->active);
	}
}

/* The second and the third message of three. */
static void
test_three_way(struct pair *pair)
{
	size_t accept = pair->active.info->accept_private_data_len;
	size_t limit = pair->active.info->reject_private_data_len;
	unsigned char data[IT_MAX_PRIV_DATA + 1];
	it_cn_est_identifier_t id;
	it_event_t event;

	if (!pair->active.info->three_way_handshake_support) {
		pair_inapplicable("three_way_handshake is not claimed");
		return;
	}
	cm_fill(data, sizeof(data), 5);
	for (size_t length = 0; length <= limit; length += MAX(limit / 2, 1)) {
		g_assert_cmpint(it_ep_connect(pair->active.ep, &pair->path, NULL, &pair->qual,
					      IT_CONNECT_FLAG_THREE_WAY, NULL, 0),
				==, IT_SUCCESS);
		id = cm_request(pair).cn_est_id;
		g_assert_cmpint(it_ep_accept(pair->passive.ep, id, data, accept), ==, IT_SUCCESS);
		event = end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_ACCEPT_ARRIVAL_EVENT);
		check(pair, event.conn.private_data_present, event.conn.private_data, accept);
		id = event.conn.cn_est_id;
		g_assert_cmpint(it_ep_accept(pair->active.ep, id, data, 1), ==,
				IT_ERR_PDATA_NOT_SUPPORTED);
		g_assert_cmpint(it_reject(id, data, limit + 1), ==, too_long(pair));
		g_assert_cmpint(it_reject(id, data, length), ==, IT_SUCCESS);
		event = end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_PEER_REJECT_EVENT);
		check(pair, event.conn.private_data_present, event.conn.private_data, length);
		end_reset(&pair->active);
		end_reset(&pair->passive);
	}
}

/* what no disconnect can carry is an error, unless the administrator wants it dropped. */
static void
test_disconnect(struct pair *pair)
{
	size_t limit = pair->active.info->disconnect_private_data_len;
	unsigned char data[IT_MAX_PRIV_DATA + 1] = {0};

	pair_establish(pair);
	g_assert_cmpint(it_ep_disconnect(pair->active.ep, NULL, 1), ==, IT_ERR_FAULT);
	g_assert_cmpint(it_ep_disconnect(pair->active.ep, data, limit + 1), ==, too_long(pair));
	g_assert_cmpint(end_state(&pair->active), ==, IT_EP_STATE_CONNECTED);
	g_assert_cmpint(it_ep_disconnect(pair->active.ep, data, limit), ==, IT_SUCCESS);
	end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
	end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
}

/* An adapter that was opened with the switch on. */
static void
test_lenient(struct pair *pair)
{
	unsigned char data[IT_MAX_PRIV_DATA] = {1};
	struct end kept = pair->active;
	it_event_t event;

	g_setenv("ITAPI_DISCONNECT_DATA", "drop", TRUE);
	g_assert_true(end_open(&pair->active));
	g_unsetenv("ITAPI_DISCONNECT_DATA");
	end_new_ep(&pair->active);
	pair_establish(pair);
	g_assert_cmpint(it_ep_disconnect(pair->active.ep, data, sizeof(data)), ==, IT_SUCCESS);
	end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
	event = end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
	g_assert_cmpint(event.conn.private_data_present, ==, IT_FALSE);
	end_close(&pair->active);
	pair->active = kept;
}

static void
add(void)
{
	pair_add("pdata/connect", test_connect);
	pair_add("pdata/accept", test_accept);
	pair_add("pdata/reject", test_reject);
	pair_add("pdata/three-way", test_three_way);
	pair_add("rulings/r-29-disconnect-data", test_disconnect);
	pair_add("rulings/r-29-disconnect-data-dropped", test_lenient);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add);
}
