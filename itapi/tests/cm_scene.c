/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "cm_scene.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const struct {
	const char *name;
	it_ep_state_rc_t state;
} places[CM_PLACES] = {
	[CM_UNCONNECTED] = {"unconnected", IT_EP_STATE_UNCONNECTED},
	[CM_ACTIVE1] = {"active-1", IT_EP_STATE_ACTIVE1_CONNECTION_PENDING},
	[CM_ACTIVE2] = {"active-2", IT_EP_STATE_ACTIVE2_CONNECTION_PENDING},
	[CM_PASSIVE] = {"passive", IT_EP_STATE_PASSIVE_CONNECTION_PENDING},
	[CM_CONNECTED] = {"connected", IT_EP_STATE_CONNECTED},
	[CM_NONOPERATIONAL] = {"non-operational", IT_EP_STATE_NONOPERATIONAL},
};

const char *
cm_place_name(enum cm_place place)
{
	return places[place].name;
}

it_ep_state_rc_t
cm_place_state(enum cm_place place)
{
	return places[place].state;
}

it_conn_request_event_t
cm_request(struct pair *pair)
{
	return end_expect(pair->passive.cm_req, IT_CM_REQ_CONN_REQUEST_EVENT).conn_req;
}

it_connection_event_t
cm_arrival(struct pair *pair)
{
	g_assert_cmpint(it_ep_connect(pair->active.ep, &pair->path, NULL, &pair->qual,
				      IT_CONNECT_FLAG_THREE_WAY, NULL, 0),
			==, IT_SUCCESS);
	g_assert_cmpint(it_ep_accept(pair->passive.ep, cm_request(pair).cn_est_id, NULL, 0), ==,
			IT_SUCCESS);
	return end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_ACCEPT_ARRIVAL_EVENT).conn;
}

void
cm_established(struct pair *pair)
{
	end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
}

void
cm_expect_refused(it_evd_handle_t evd, it_conn_reject_code_t reason)
{
	it_event_t event = end_expect(evd, IT_CM_MSG_CONN_NONPEER_REJECT_EVENT);

	if (reason == IT_CN_REJ_OTHER)
		cm_expect_other(event.conn.reject_reason_code);
	else
		g_assert_cmpint(event.conn.reject_reason_code, ==, reason);
}

void
cm_expect_other(it_conn_reject_code_t reason)
{
	if (!pair_is_roce() || (reason != IT_CN_REJ_TIMEOUT && reason != IT_CN_REJ_BAD_CONN_PARMS))
		g_assert_cmpint(reason, ==, IT_CN_REJ_OTHER);
}

void
cm_drain(it_evd_handle_t evd)
{
	it_event_t event;

	while (it_evd_dequeue(evd, &event) == IT_SUCCESS)
		continue;
}

it_ep_handle_t
cm_ep(struct end *end, it_ep_rc_creation_flags_t flags)
{
	it_ep_handle_t ep;

	g_assert_cmpint(it_ep_rc_create(end->pz, end->request, end->recv, end->cm_msg, flags,
					&end->attr, &ep),
			==, IT_SUCCESS);
	return ep;
}

it_status_t
cm_connect(struct pair *pair, it_ep_handle_t ep, const it_conn_qual_t *qual)
{
	return it_ep_connect(ep, &pair->path, NULL, qual, IT_CONNECT_FLAG_TWO_WAY, NULL, 0);
}

void
cm_fill(unsigned char *data, size_t length, unsigned int seed)
{
	for (size_t i = 0; i < length; i++)
		data[i] = (unsigned char)(i * 7 + seed);
}

void
cm_check_pdata(const unsigned char *got, size_t length, unsigned int seed)
{
	unsigned char wanted[IT_MAX_PRIV_DATA] = {0};

	cm_fill(wanted, length, seed);
	g_assert_cmpmem(got, IT_MAX_PRIV_DATA, wanted, IT_MAX_PRIV_DATA);
}

int
cm_raw_connect(const struct pair *pair)
{
	const it_net_addr_t *addr = &pair->passive.info->spigot_info[pair->spigot].net_addr[0];
	struct sockaddr_in sin = {.sin_family = AF_INET};
	int fd;

	if (pair->qual.type != IT_IANA_PORT || addr->addr_type != IT_IPV4)
		return -1;
	sin.sin_port = pair->qual.conn_qual.port;
	sin.sin_addr = addr->addr.ipv4;
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	g_assert_cmpint(fd, >=, 0);
	if (connect(fd, (struct sockaddr *)&sin, sizeof(sin)) == 0)
		return fd;
	close(fd);
	return -1;
}

void
cm_raw_request(int fd, unsigned int ird, unsigned int ord)
{
	unsigned char frame[24] = "MPA ID Req Frame\x50\x02\x00\x04";

	frame[20] = (unsigned char)(0x80 | ird >> 8);
	frame[21] = (unsigned char)ird;
	frame[22] = (unsigned char)(0x80 | ord >> 8);
	frame[23] = (unsigned char)ord;
	g_assert_cmpint(send(fd, frame, sizeof(frame), MSG_NOSIGNAL), ==, sizeof(frame));
}

/*
 * Stops the passive side while it waits for the third message, or over TCP for the ready-to-receive message. Ending
 * such a wait crashes the connection manager of a kernel with siw [WIRE 14.2]; the environment sets
 * ITAPI_TEST_WAIT_HARMS if the adapter uses siw.
 */
static bool
make_passive(struct cm_scene *scene)
{
	struct pair *pair = scene->pair;

	scene->end = &pair->passive;
	scene->peer = &pair->active;
	if (pair->active.info->three_way_handshake_support) {
		scene->id = cm_arrival(pair).cn_est_id;
		return true;
	}
	if (g_getenv("ITAPI_TEST_WAIT_HARMS") != NULL)
		return false;
	scene->raw = cm_raw_connect(pair);
	if (scene->raw < 0)
		return false;
	cm_raw_request(scene->raw, 4, 4);
	g_assert_cmpint(it_ep_accept(pair->passive.ep, cm_request(pair).cn_est_id, NULL, 0), ==,
			IT_SUCCESS);
	return true;
}

static bool
make(struct cm_scene *scene)
{
	struct pair *pair = scene->pair;

	switch (scene->place) {
	case CM_ACTIVE1:
		pair_connect(pair);
		scene->id = cm_request(pair).cn_est_id;
		return true;
	case CM_ACTIVE2:
		if (!pair->active.info->three_way_handshake_support)
			return false;
		scene->id = cm_arrival(pair).cn_est_id;
		return true;
	case CM_PASSIVE:
		return make_passive(scene);
	case CM_CONNECTED:
		pair_establish(pair);
		return true;
	case CM_NONOPERATIONAL:
		pair_establish(pair);
		pair_disconnect(pair);
		return true;
	case CM_UNCONNECTED:
	case CM_PLACES:
		break;
	}
	return true;
}

bool
cm_scene_open(struct cm_scene *scene, struct pair *pair, enum cm_place place)
{
	g_test_message("%s", cm_place_name(place));
	*scene = (struct cm_scene){
		.pair = pair,
		.place = place,
		.end = &pair->active,
		.peer = &pair->passive,
		.raw = -1,
	};
	end_new_ep(&pair->active);
	end_new_ep(&pair->passive);
	if (!make(scene)) {
		cm_scene_close(scene);
		return false;
	}
	g_assert_cmpint(end_state(scene->end), ==, cm_place_state(place));
	return true;
}

static void
clear(struct end *end)
{
	if (end->ep != NULL)
		g_assert_cmpint(it_ep_free(end->ep), ==, IT_SUCCESS);
	end->ep = NULL;
	cm_drain(end->cm_msg);
	cm_drain(end->cm_req);
	cm_drain(end->request);
	cm_drain(end->recv);
}

void
cm_scene_close(struct cm_scene *scene)
{
	if (scene->raw >= 0)
		close(scene->raw);
	clear(scene->end);
	clear(scene->peer);
	/* The second side may have been told of the first side's end meanwhile. */
	clear(scene->end);
}
