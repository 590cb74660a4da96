/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* An interface below a device of the kernel that goes down, up, and gets and loses addresses; it_plug.h says which. */
#include <arpa/inet.h>
#include <string.h>

#include "it_plug.h"
#include "it_spigot.h"

#define OTHER_ADDRESS "10.79.0.77"
#define LONG_ADDRESS  "fd79::77"

static void
expect_spigot(const struct end *end, it_evd_handle_t evd, it_event_type_t number)
{
	it_event_t event = end_expect(evd, number);

	g_assert_true(event.unaff_async.ia == end->ia);
	g_assert_cmpuint(event.unaff_async.spigot_id, ==, 0);
}

static void
test_switch(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_evd_handle_t here = pair_sevd(a->ia, IT_ASYNC_UNAFF_EVENT_STREAM, 1);
	it_evd_handle_t there = pair_sevd(b->ia, IT_ASYNC_UNAFF_EVENT_STREAM, 1);

	g_assert_true(end_is_online(a, 0));
	for (int i = 0; i < 2; i++) {
		plug_interface_do("link set down");
		expect_spigot(a, here, IT_ASYNC_UNAFF_SPIGOT_OFFLINE);
		expect_spigot(b, there, IT_ASYNC_UNAFF_SPIGOT_OFFLINE);
		g_assert_false(end_is_online(b, 0));
		plug_interface_do("link set up");
		expect_spigot(a, here, IT_ASYNC_UNAFF_SPIGOT_ONLINE);
		expect_spigot(b, there, IT_ASYNC_UNAFF_SPIGOT_ONLINE);
		g_assert_true(end_is_online(b, 0));
	}
	pair_establish(pair);
	plug_exchange(pair, 2);
	pair_disconnect(pair);
	pair_ok(it_evd_free(here));
	pair_ok(it_evd_free(there));
	pair_close(pair);
}

/*
 * Endpoints that are not connected outlive an interface that goes down. siw breaks their queue pairs, and they get others when
 * the interface is up again; until then their receives are flushed [RI 12.3.16].
 */
static void
test_waiting(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_evd_handle_t there = pair_sevd(b->ia, IT_ASYNC_UNAFF_EVENT_STREAM, 1);
	bool breaks = strcmp(plug_link.type, "siw") == 0;

	for (uint64_t i = 0; i < 2; i++) {
		for (uint64_t k = 0; k < 3; k++)
			pair_ok(end_recv(b, 64, 10 * i + k));
		plug_interface_do("link set down");
		expect_spigot(b, there, IT_ASYNC_UNAFF_SPIGOT_OFFLINE);
		if (breaks)
			pair_ok(end_recv(b, 64, 10 * i + 3));
		for (uint64_t k = 0; breaks && k < 4; k++)
			end_done(b->recv, IT_DTO_RC_RECV_CMPL_EVENT, 10 * i + k,
				 IT_DTO_ERR_FLUSHED);
		g_assert_cmpint(end_state(b), ==, IT_EP_STATE_UNCONNECTED);
		plug_interface_do("link set up");
		expect_spigot(b, there, IT_ASYNC_UNAFF_SPIGOT_ONLINE);
		if (!breaks)
			break;
	}
	end_expect_none(b->recv);
	if (breaks)
		pair_ok(end_recv(b, 64, 0));
	pair_establish(pair);
	pair_ok(end_send(a, 8, 1, IT_COMPLETION_FLAG));
	end_done(b->recv, IT_DTO_RC_RECV_CMPL_EVENT, 0, IT_DTO_SUCCESS);
	end_done(a->request, IT_DTO_SEND_CMPL_EVENT, 1, IT_DTO_SUCCESS);
	pair_disconnect(pair);
	pair_ok(it_evd_free(there));
	pair_close(pair);
}

/* What is sent while the interface is down fails, and the connection with it; a new one works afterwards. */
static void
test_traffic(struct pair *pair)
{
	struct end *a = &pair->active, *b = &pair->passive;
	it_status_t status;
	it_event_t event;
	GPid removal;

	pair_establish(pair);
	plug_exchange(pair, 1);
	plug_interface_do("link set down");
	status = end_send(a, 64, 2, IT_COMPLETION_FLAG);
	if (status == IT_SUCCESS) {
		event = end_expect(a->request, IT_DTO_SEND_CMPL_EVENT);
		g_assert_cmpuint(event.dto_cmpl.cookie, ==, 2);
		g_test_message("dto status %d", event.dto_cmpl.dto_status);
		g_assert_cmpint(event.dto_cmpl.dto_status, !=, IT_DTO_SUCCESS);
	} else {
		g_assert_cmpint(status, ==, IT_ERR_INVALID_EP_STATE);
	}
	plug_expect_ended(a);
	plug_interface_do("link set up");
	if (strcmp(plug_link.type, "rxe") == 0) { /* its connection manager is lost [RI 12.2.18] */
		removal = plug_device_remove();
		(void)plug_await_catastrophe(a->cm_msg);
		pair_close(pair);
		plug_device_again(removal);
		plug_expect_works();
		return;
	}
	end_new_ep(a);
	end_new_ep(b);
	while (it_evd_dequeue(b->cm_msg, &event) == IT_SUCCESS)
		;
	pair_establish(pair);
	plug_exchange(pair, 3);
	pair_disconnect(pair);
	pair_close(pair);
}

static bool
has_address(const struct end *end, const char *text)
{
	it_ia_info_t *info = NULL;
	struct in_addr addr;
	bool found = false;

	g_assert_cmpint(inet_pton(AF_INET, text, &addr), ==, 1);
	pair_ok(it_ia_query(end->ia, &info));
	for (size_t i = 0; i < info->spigot_info[0].num_net_addr; i++) {
		const it_net_addr_t *at = &info->spigot_info[0].net_addr[i];

		found |= at->addr_type == IT_IPV4 && at->addr.ipv4.s_addr == addr.s_addr;
	}
	it_ia_info_free(info);
	return found;
}

/* A path to that address of the spigot. */
static it_path_t
path_to(const struct pair *pair, const char *text)
{
	bool is_long = strchr(text, ':') != NULL;
	it_net_addr_t addr = {.addr_type = is_long ? IT_IPV6 : IT_IPV4};
	size_t paths = 1, total = 0;
	it_path_t path;

	if (is_long)
		g_assert_cmpint(inet_pton(AF_INET6, text, &addr.addr.ipv6), ==, 1);
	else
		g_assert_cmpint(inet_pton(AF_INET, text, &addr.addr.ipv4), ==, 1);
	pair_ok(it_get_pathinfo(pair->active.ia, pair->spigot, &addr, &paths, &total, &path));
	g_assert_cmpuint(paths, ==, 1);
	return path;
}

/* A query tells the addresses that the interface has now, and a listener that is made then has them. */
static void
test_addresses(struct pair *pair)
{
	g_assert_true(has_address(&pair->active, plug_link.address));
	g_assert_false(has_address(&pair->active, OTHER_ADDRESS));
	plug_interface_do("addr add " OTHER_ADDRESS "/24");
	g_assert_true(has_address(&pair->active, OTHER_ADDRESS));
	pair_ok(it_listen_free(pair->listen));
	pair_listen(pair);
	pair->path = path_to(pair, OTHER_ADDRESS);
	pair_establish(pair);
	plug_exchange(pair, 4);
	pair_disconnect(pair);
	plug_interface_do("addr del " OTHER_ADDRESS "/24");
	g_assert_false(has_address(&pair->active, OTHER_ADDRESS));
	pair_close(pair);
	plug_expect_works();
}

/*
 * Connect and accept as soon as the listener has the address: the listener follows a moment after the kernel reports
 * the address, and the device must learn of it, too.
 */
static void
establish_soon(struct pair *pair)
{
	const gint64 end = g_get_monotonic_time() + WAIT_US;
	it_event_t event;

	end_new_ep(&pair->active);
	pair_connect(pair);
	while (it_evd_dequeue(pair->passive.cm_req, &event) != IT_SUCCESS) {
		g_assert_cmpint(g_get_monotonic_time(), <, end);
		g_usleep(1000);
		if (it_evd_dequeue(pair->active.cm_msg, &event) != IT_SUCCESS)
			continue;
		g_assert_cmphex(event.event_number, ==, IT_CM_MSG_CONN_NONPEER_REJECT_EVENT);
		g_usleep(20 * 1000);
		end_new_ep(&pair->active);
		pair_connect(pair);
	}
	g_assert_cmphex(event.event_number, ==, IT_CM_REQ_CONN_REQUEST_EVENT);
	end_new_ep(&pair->passive);
	pair_ok(it_ep_accept(pair->passive.ep, event.conn_req.cn_est_id, NULL, 0));
	end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
}

static void
use(struct pair *pair, uint64_t value)
{
	establish_soon(pair);
	plug_exchange(pair, value);
	pair_disconnect(pair);
}

/* A listener gets the addresses that come, loses those that go, and goes on with the others [IT 9.4.8]. */
static void
test_follow(struct pair *pair)
{
	const it_path_t first = pair->path;

	for (uint64_t i = 0; i < 2; i++) {
		plug_interface_do("addr add " OTHER_ADDRESS "/24");
		plug_interface_do("addr add " LONG_ADDRESS "/64 nodad");
		pair->path = path_to(pair, OTHER_ADDRESS);
		use(pair, 10 * i + 1);
		pair->path = path_to(pair, LONG_ADDRESS);
		use(pair, 10 * i + 2);
		plug_interface_do("addr del " OTHER_ADDRESS "/24");
		plug_interface_do("addr del " LONG_ADDRESS "/64");
		pair->path = first;
		use(pair, 10 * i + 3);
	}
	pair_close(pair);
}

static void
add(void)
{
	plug_add("switch", test_switch);
	plug_add("waiting", test_waiting);
	plug_add("traffic", test_traffic);
	plug_add("addresses", test_addresses);
	plug_add("follow", test_follow);
}

int
main(int argc, char **argv)
{
	return plug_main(argc, argv, add);
}
