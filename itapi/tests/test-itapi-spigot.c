/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Spigots of vp/iwarp are network interfaces. Here they go up and down, and get and lose addresses, in a network
 * namespace of the test's own: it0 and it1 are the two ends of a veth pair. Where no such namespace can be made, the
 * tests are skipped.
 */

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "it_net.h"
#include "it_pair.h"
#include "it_spigot.h"
#include "it_stream.h"

#define PATIENCE 60 /* seconds */

static bool network;

static void
cable_make(void)
{
	net_ip("link add it0 type veth peer name it1");
	net_ip("addr add 10.99.0.1/24 dev it0");
	net_ip("link set it1 up");
	net_ip("link set it0 up");
	net_await("it0");
}

static void
cable_remove(void)
{
	(void)net_try_ip("link del it0");
}

static it_evd_handle_t
unaffiliated(const struct end *end)
{
	it_evd_handle_t evd = NULL;

	g_assert_cmpint(
		it_evd_create(end->ia, IT_ASYNC_UNAFF_EVENT_STREAM, 0, 64, 1, NULL, &evd, NULL), ==,
		IT_SUCCESS);
	return evd;
}

static void
expect_spigot(const struct end *end, it_evd_handle_t evd, it_event_type_t number, size_t spigot)
{
	it_event_t event = end_expect(evd, number);

	g_assert_true(event.unaff_async.ia == end->ia);
	g_assert_cmpuint(event.unaff_async.spigot_id, ==, spigot);
}

/* One message over an established connection. */
static void
exchange(struct pair *pair, uint64_t value)
{
	it_lmr_triplet_t out = end_segment(&pair->active, 0, sizeof(value));
	it_lmr_triplet_t in = end_segment(&pair->passive, 0, sizeof(value));
	it_event_t event;

	memcpy(pair->active.buffer, &value, sizeof(value));
	g_assert_cmpint(
		it_post_recv((it_handle_t)pair->passive.ep, &in, 1, value, IT_COMPLETION_FLAG), ==,
		IT_SUCCESS);
	g_assert_cmpint(it_post_send(pair->active.ep, &out, 1, value, IT_COMPLETION_FLAG), ==,
			IT_SUCCESS);
	event = end_expect(pair->passive.recv, IT_DTO_RC_RECV_CMPL_EVENT);
	g_assert_cmpint(event.dto_cmpl.dto_status, ==, IT_DTO_SUCCESS);
	g_assert_cmpmem(pair->passive.buffer, sizeof(value), &value, sizeof(value));
	end_expect(pair->active.request, IT_DTO_SEND_CMPL_EVENT);
}

/* The interface goes down and up: events, the query, and a connection that is not disturbed. */
static void
test_switch(struct pair *pair)
{
	it_evd_handle_t here = unaffiliated(&pair->active), there = unaffiliated(&pair->passive);

	g_assert_true(pair->active.info->spigot_online_support);
	g_assert_true(pair->active.info->spigot_offline_support);
	g_assert_true(end_is_online(&pair->active, 0));
	pair_establish(pair);
	exchange(pair, 1);
	net_ip("link set it0 down");
	expect_spigot(&pair->active, here, IT_ASYNC_UNAFF_SPIGOT_OFFLINE, 0);
	expect_spigot(&pair->passive, there, IT_ASYNC_UNAFF_SPIGOT_OFFLINE, 0);
	g_assert_false(end_is_online(&pair->active, 0));
	exchange(pair, 2); /* both ends are on this machine */
	end_expect_none(pair->active.cm_msg);
	net_ip("link set it0 up");
	expect_spigot(&pair->active, here, IT_ASYNC_UNAFF_SPIGOT_ONLINE, 0);
	expect_spigot(&pair->passive, there, IT_ASYNC_UNAFF_SPIGOT_ONLINE, 0);
	g_assert_true(end_is_online(&pair->passive, 0));
	exchange(pair, 3);
	pair_disconnect(pair);
	g_assert_cmpint(it_evd_free(here), ==, IT_SUCCESS);
	g_assert_cmpint(it_evd_free(there), ==, IT_SUCCESS);
}

/* The other end of the veth pair goes down: no carrier. Then the interface is deleted. */
static void
test_cable(struct pair *pair)
{
	it_evd_handle_t evd = unaffiliated(&pair->active);

	net_ip("link set it1 down");
	expect_spigot(&pair->active, evd, IT_ASYNC_UNAFF_SPIGOT_OFFLINE, 0);
	net_ip("link set it1 up");
	expect_spigot(&pair->active, evd, IT_ASYNC_UNAFF_SPIGOT_ONLINE, 0);
	net_ip("link del it0");
	expect_spigot(&pair->active, evd, IT_ASYNC_UNAFF_SPIGOT_OFFLINE, 0);
	g_assert_false(end_is_online(&pair->active, 0));
	g_assert_cmpint(it_evd_free(evd), ==, IT_SUCCESS);
}

/* Does the event stream report soon that the spigot went down? */
static bool
hears_offline(it_evd_handle_t evd)
{
	it_event_t event;

	while (it_evd_wait(evd, 1000000, &event, NULL) == IT_SUCCESS)
		if (event.event_number == IT_ASYNC_UNAFF_SPIGOT_OFFLINE)
			return true;
	return false;
}

/* No SEVD takes the stream's events: they are lost, and not repeated later. */
static void
test_unheard(struct pair *pair)
{
	it_evd_handle_t deaf = unaffiliated(&pair->active), evd = unaffiliated(&pair->passive);

	pair_ok(it_evd_free(deaf));
	for (int i = 0; i < 2; i++) {
		net_ip("link set it0 down");
		expect_spigot(&pair->passive, evd, IT_ASYNC_UNAFF_SPIGOT_OFFLINE, 0);
		net_ip("link set it0 up");
		expect_spigot(&pair->passive, evd, IT_ASYNC_UNAFF_SPIGOT_ONLINE, 0);
	}
	/* The next event may be the last of the earlier change, or the first of the next. */
	deaf = unaffiliated(&pair->active);
	net_ip("link set it0 down");
	expect_spigot(&pair->passive, evd, IT_ASYNC_UNAFF_SPIGOT_OFFLINE, 0);
	/* Each end compares by itself, and this one perhaps so late that it saw no change. */
	for (int tries = 0; !hears_offline(deaf); tries++) {
		g_assert_cmpint(tries, <, PATIENCE);
		net_ip("link set it0 up");
		expect_spigot(&pair->passive, evd, IT_ASYNC_UNAFF_SPIGOT_ONLINE, 0);
		net_ip("link set it0 down");
		expect_spigot(&pair->passive, evd, IT_ASYNC_UNAFF_SPIGOT_OFFLINE, 0);
	}
	end_expect_none(deaf);
	pair_ok(it_evd_free(deaf));
	pair_ok(it_evd_free(evd));
}

/* --- addresses ---------------------------------------------------------------------------- */

static it_net_addr_t
ipv4(const char *text)
{
	it_net_addr_t addr = {.addr_type = IT_IPV4};

	g_assert_cmpint(inet_pton(AF_INET, text, &addr.addr.ipv4), ==, 1);
	return addr;
}

/* Start to connect. Does the listener get a request, or does the attempt fail? */
static bool
request_comes(struct pair *pair, it_event_t *event)
{
	pair_connect(pair);
	while (it_evd_wait(pair->passive.cm_req, 1000, event, NULL) != IT_SUCCESS) {
		if (it_evd_dequeue(pair->active.cm_msg, event) != IT_SUCCESS)
			continue;
		g_assert_cmphex(event->event_number, ==, IT_CM_MSG_CONN_NONPEER_REJECT_EVENT);
		return false;
	}
	return true;
}

/* Connect to that address of the spigot until a listener answers. */
static void
establish_at(struct pair *pair, const char *text)
{
	const gint64 end = g_get_monotonic_time() + PATIENCE * G_USEC_PER_SEC;
	it_net_addr_t addr = ipv4(text);
	size_t paths = 0, total = 0;
	it_event_t event = {.event_number = 0};

	while (paths == 0) {
		paths = 1;
		g_assert_cmpint(it_get_pathinfo(pair->active.ia, pair->spigot, &addr, &paths,
						&total, &pair->path),
				==, IT_SUCCESS);
		g_assert_cmpint(g_get_monotonic_time(), <, end);
	}
	while (!request_comes(pair, &event)) {
		g_assert_cmpint(g_get_monotonic_time(), <, end);
		end_reset(&pair->active);
	}
	g_assert_cmpint(it_ep_accept(pair->passive.ep, event.conn_req.cn_est_id, NULL, 0), ==,
			IT_SUCCESS);
	end_expect(pair->active.cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
}

/* No listener has that port at that address any more. */
static void
wait_for_free_port(const char *text, uint16_t port)
{
	const gint64 end = g_get_monotonic_time() + PATIENCE * G_USEC_PER_SEC;
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = port};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	g_assert_cmpint(fd, >=, 0);
	g_assert_cmpint(inet_pton(AF_INET, text, &at.sin_addr), ==, 1);
	while (bind(fd, (const struct sockaddr *)&at, sizeof(at)) != 0) {
		g_assert_cmpint(g_get_monotonic_time(), <, end);
		g_usleep(1000);
	}
	close(fd);
}

/* A listener accepts at every address of its spigot, also at addresses that come later, and at no other. */
static void
test_addresses(struct pair *pair)
{
	establish_at(pair, "10.99.0.1");
	pair_disconnect(pair);
	end_reset(&pair->active);
	end_reset(&pair->passive);
	net_ip("addr add 10.99.0.2/24 dev it0");
	establish_at(pair, "10.99.0.2");
	exchange(pair, 4);
	pair_disconnect(pair);
	end_reset(&pair->active);
	end_reset(&pair->passive);
	/* The address moves to another spigot: the listener stays with its own spigot. */
	net_ip("addr del 10.99.0.2/24 dev it0");
	net_ip("addr add 10.99.0.2/32 dev lo");
	wait_for_free_port("10.99.0.2", pair->qual.conn_qual.port);
	establish_at(pair, "10.99.0.1");
	pair_disconnect(pair);
	net_ip("addr del 10.99.0.2/32 dev lo");
}

/* Connect to that address with plain TCP; how many octets the listener answers to what is no Request, or -1: refused. */
static int
try_plain(const char *text, uint16_t port)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = port};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char octet;
	int n = -1;

	g_assert_cmpint(inet_pton(AF_INET, text, &at.sin_addr), ==, 1);
	if (connect(fd, (const struct sockaddr *)&at, sizeof(at)) == 0)
		n = (int)recv(fd, &octet, 1, 0);
	close(fd);
	return n;
}

static it_status_t
listen_too(struct end *end, const it_conn_qual_t *at, it_listen_handle_t *listen)
{
	it_conn_qual_t qual = *at;

	return it_listen_create(end->ia, 0, end->cm_req, IT_LISTEN_CONN_QUAL_INPUT, &qual, listen);
}

/*
 * Two adapters of one process listen on one port, one of them at all of 127/8. Each gets the connections to
 * its own addresses, even after the other has been closed.
 */
static void
test_shared_port(struct pair *pair)
{
	const uint16_t port = pair->qual.conn_qual.port;
	it_listen_handle_t listen = NULL, second = NULL;
	struct end inward RI_AT_END(end_close);

	pair_use("iwarp:lo");
	g_assert_true(end_open(&inward));
	pair_use("iwarp:it0");
	for (int i = 0; i < 2; i++) {
		pair_ok(listen_too(&inward, &pair->qual, &listen));
		g_assert_cmpint(listen_too(&inward, &pair->qual, &second), ==,
				IT_ERR_CONN_QUAL_BUSY);
		g_assert_cmpint(listen_too(&pair->passive, &pair->qual, &second), ==,
				IT_ERR_CONN_QUAL_BUSY);
		establish_at(pair, "10.99.0.1");
		end_expect_none(inward.cm_req);
		pair_disconnect(pair);
		end_reset(&pair->active);
		end_reset(&pair->passive);
		net_ip("addr add 10.99.0.8/24 dev it0");
		establish_at(pair, "10.99.0.8");
		pair_disconnect(pair);
		end_reset(&pair->active);
		end_reset(&pair->passive);
		net_ip("addr del 10.99.0.8/24 dev it0");
		pair_ok(it_listen_free(listen));
		establish_at(pair, "10.99.0.1");
		pair_disconnect(pair);
		end_reset(&pair->active);
		end_reset(&pair->passive);
		/* No listener is left there, though a socket may be. */
		g_assert_cmpint(try_plain("127.0.1.1", port), ==, -1);
	}
}

/*
 * An interface goes down together with its carrier, and so does its peer: the events of both come in any order.
 * Returns when the event of the spigot has come.
 */
static void
await_offline(const struct end *end, it_evd_handle_t evd, size_t spigot)
{
	it_event_t event;

	do {
		event = end_expect(evd, IT_ASYNC_UNAFF_SPIGOT_OFFLINE);
		g_assert_true(event.unaff_async.ia == end->ia);
		g_assert_false(end_is_online(end, event.unaff_async.spigot_id));
	} while (event.unaff_async.spigot_id != spigot);
}

/* The event of the adapter that covers all interfaces names the spigot. */
static void
test_which(struct pair *pair)
{
	struct end all RI_AT_END(end_close);
	it_evd_handle_t evd;
	it_ia_info_t *info;
	size_t spigot = SIZE_MAX;

	(void)pair;
	pair_use("iwarp");
	g_assert_true(end_open(&all));
	pair_use("iwarp:it0");
	info = all.info;
	for (size_t i = 0; i < info->num_spigots; i++)
		for (size_t a = 0; a < info->spigot_info[i].num_net_addr; a++)
			if (info->spigot_info[i].net_addr[a].addr_type == IT_IPV4 &&
			    info->spigot_info[i].net_addr[a].addr.ipv4.s_addr ==
				    ipv4("10.99.0.1").addr.ipv4.s_addr)
				spigot = i;
	g_assert_cmpuint(spigot, <, info->num_spigots);
	g_assert_cmpuint(info->num_spigots, >, 1);
	evd = unaffiliated(&all);
	net_ip("link set it0 down");
	await_offline(&all, evd, spigot);
	for (size_t i = 0; i < info->num_spigots; i++)
		if (i != spigot && end_is_online(&all, i))
			spigot = i;
	g_assert_true(end_is_online(&all, spigot)); /* the loopback interface, for example */
	g_assert_cmpint(it_evd_free(evd), ==, IT_SUCCESS);
}

static bool
has_ipv4(const it_spigot_info_t *spigot, const char *text)
{
	for (size_t a = 0; a < spigot->num_net_addr; a++)
		if (spigot->net_addr[a].addr_type == IT_IPV4 &&
		    spigot->net_addr[a].addr.ipv4.s_addr == ipv4(text).addr.ipv4.s_addr)
			return true;
	return false;
}

/* The adapter that covers all interfaces: which spigot is first, and is the loopback interface last? */
static void
expect_first(const char *address)
{
	struct end all RI_AT_END(end_close);

	pair_use("iwarp");
	g_assert_true(end_open(&all));
	pair_use("iwarp:it0");
	g_assert_cmpuint(all.info->num_spigots, >=, 3);
	g_assert_true(has_ipv4(&all.info->spigot_info[0], address));
	g_assert_true(has_ipv4(&all.info->spigot_info[all.info->num_spigots - 1], "127.0.0.1"));
}

/* Spigot 0 is the interface of the default route. */
static void
test_order(struct pair *pair)
{
	(void)pair;
	net_ip("addr add 10.98.0.1/24 dev it1");
	net_ip("route add default dev it1 metric 20");
	expect_first("10.98.0.1");
	net_ip("route add default via 10.99.0.9 dev it0 metric 10");
	expect_first("10.99.0.1");
	net_ip("route del default dev it0 metric 10");
	expect_first("10.98.0.1");
	net_ip("route del default dev it1 metric 20");
}

/* --- sockets --------------------------------------------------------------------------------- */

static void
expect_conversion(struct end *end, const char *address, it_status_t status)
{
	int sd[2];

	stream_open_at(sd, address);
	g_assert_cmpint(stream_convert(end, sd[0], IT_SC_DEFAULT, NULL), ==, status);
	if (status == IT_SUCCESS) {
		pair_ok(it_ep_disconnect(end->ep, NULL, 0));
		end_expect(end->cm_msg, IT_CM_MSG_CONN_DISCONNECT_EVENT);
		end_reset(end);
	} else {
		stream_say(sd[0], "still mine", 10);
		stream_hear(sd[1], "still mine", 10);
	}
	close(sd[0]);
	close(sd[1]);
}

/* A socket of another interface than the adapter's cannot be converted, also not after the address moved. */
static void
test_convert(struct pair *pair)
{
	struct end *end = &pair->active;
	struct end all RI_AT_END(end_close);

	expect_conversion(end, "10.99.0.1", IT_SUCCESS);
	expect_conversion(end, "127.0.0.1", IT_ERR_INVALID_CONVERSION);
	net_ip("addr add 10.99.0.2/32 dev lo");
	expect_conversion(end, "10.99.0.2", IT_ERR_INVALID_CONVERSION);
	net_ip("addr del 10.99.0.2/32 dev lo");
	net_ip("addr add 10.99.0.2/24 dev it0");
	expect_conversion(end, "10.99.0.2", IT_SUCCESS);
	/* Addresses that the interface has, but does not list. */
	net_ip("route add local 198.51.100.0/28 dev it0");
	net_ip("route add local 198.51.100.16/28 dev lo");
	expect_conversion(end, "198.51.100.9", IT_SUCCESS);
	expect_conversion(end, "198.51.100.17", IT_ERR_INVALID_CONVERSION);
	net_ip("route del local 198.51.100.16/28 dev lo");
	for (int i = 10; i < 30; i++) {
		g_autofree char *words = g_strdup_printf("addr add 10.99.0.%d/24 dev it0", i);

		net_ip(words);
	}
	expect_conversion(end, "10.99.0.29", IT_SUCCESS);
	expect_conversion(end, "127.0.0.1", IT_ERR_INVALID_CONVERSION);
	pair_use("iwarp");
	g_assert_true(end_open(&all));
	pair_use("iwarp:it0");
	end_new_ep(&all);
	expect_conversion(&all, "127.0.0.1", IT_SUCCESS);
	expect_conversion(&all, "127.0.1.1", IT_SUCCESS);
	expect_conversion(&all, "10.99.0.1", IT_SUCCESS);
}

/* --- each with a cable of its own, or not at all -------------------------------------------- */

struct job {
	void (*test)(struct pair *pair);
};

static void
run(const void *data)
{
	const struct job *job = data;
	struct pair pair;

	if (!network) {
		g_test_skip("no network namespace can be had here");
		return;
	}
	cable_make();
	g_assert_true(pair_open(&pair));
	job->test(&pair);
	pair_close(&pair);
	cable_remove();
}

static void
add_on_cable(const char *path, void (*test)(struct pair *pair))
{
	g_autofree char *name = g_strdup_printf("/itapi/%s/spigot/%s", pair_adapter(), path);
	struct job *job = g_new(struct job, 1);

	job->test = test;
	g_test_add_data_func_full(name, job, (GTestDataFunc)(void (*)(void))run, g_free);
}

static void
add(void)
{
	add_on_cable("switch", test_switch);
	add_on_cable("cable", test_cable);
	add_on_cable("unheard", test_unheard);
	add_on_cable("addresses", test_addresses);
	add_on_cable("shared-port", test_shared_port);
	add_on_cable("which", test_which);
	add_on_cable("order", test_order);
	add_on_cable("convert", test_convert);
}

int
main(int argc, char **argv)
{
	network = net_enter();
	return pair_main(argc, argv, add);
}
