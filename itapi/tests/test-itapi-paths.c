/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Paths, addresses and ports of the active side [IT 9.1], [IT 10], [IT 15.5]. */

#include <arpa/inet.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cm_scene.h"

#define CM_STREAM       2            /* RI_CM_STREAM */
#define TIME_WAIT_LONG  "3600000000" /* us, as text */
#define TIME_WAIT_SHORT "100000"

/* The spigot that reaches only this machine; the pair's spigot if there is none. */
static size_t
inward_spigot(const struct pair *pair)
{
	const it_ia_info_t *info = pair->active.info;

	for (size_t i = 0; i < info->num_spigots; i++)
		for (size_t j = 0; j < info->spigot_info[i].num_net_addr; j++)
			if (info->spigot_info[i].net_addr[j].addr_type == IT_IPV4 &&
			    info->spigot_info[i].net_addr[j].addr.ipv4.s_addr ==
				    htonl(INADDR_LOOPBACK))
				return i;
	return pair->spigot;
}

/* it_get_pathinfo() finds a path to each address of the adapter, and none to others. */
static void
test_pathinfo(struct pair *pair)
{
	it_ia_handle_t ia = pair->active.ia;
	const it_ia_info_t *info = pair->active.info;
	const it_net_addr_t *addr = &info->spigot_info[pair->spigot].net_addr[0];
	it_net_addr_t bad = {.addr_type = IT_VIA_HOSTADDR};
	it_net_addr_t far = {.addr_type = IT_IPV6};
	size_t room = 0, total = 0;
	it_path_t paths[16];

	g_assert_cmpint(it_get_pathinfo(NULL, 0, addr, &room, &total, paths), ==,
			IT_ERR_INVALID_IA);
	g_assert_cmpint(it_get_pathinfo(ia, info->num_spigots, addr, &room, &total, paths), ==,
			IT_ERR_INVALID_SPIGOT);
	g_assert_cmpint(it_get_pathinfo(ia, pair->spigot, &bad, &room, &total, paths), ==,
			IT_ERR_INVALID_NETADDR);
	g_assert_cmpint(it_get_pathinfo(ia, pair->spigot, NULL, &room, &total, paths), ==,
			IT_ERR_FAULT);
	g_assert_cmpint(it_get_pathinfo(ia, pair->spigot, addr, NULL, &total, paths), ==,
			IT_ERR_FAULT);
	g_assert_cmpint(it_get_pathinfo(ia, pair->spigot, addr, &room, NULL, paths), ==,
			IT_ERR_FAULT);
	/* The count before the call. */
	g_assert_cmpint(it_get_pathinfo(ia, pair->spigot, addr, &room, &total, NULL), ==,
			IT_SUCCESS);
	g_assert_cmpuint(room, ==, 0);
	g_assert_cmpuint(total, >=, 1);
	room = G_N_ELEMENTS(paths);
	g_assert_cmpint(it_get_pathinfo(ia, pair->spigot, addr, &room, &total, paths), ==,
			IT_SUCCESS);
	g_assert_cmpuint(room, ==, MIN(total, G_N_ELEMENTS(paths)));
	for (size_t i = 0; i < room; i++)
		g_assert_cmpuint(paths[i].spigot_id, ==, pair->spigot);
	room = 1;
	g_assert_cmpint(it_get_pathinfo(ia, pair->spigot, addr, &room, &total, NULL), ==,
			IT_ERR_FAULT);
	/* No route: no path and no error. The address is from a documentation prefix. */
	g_assert_cmpint(inet_pton(AF_INET6, "2001:db8:ffff::1", &far.addr.ipv6), ==, 1);
	room = G_N_ELEMENTS(paths);
	g_assert_cmpint(it_get_pathinfo(ia, inward_spigot(pair), &far, &room, &total, paths), ==,
			IT_SUCCESS);
	g_assert_cmpuint(room, ==, 0);
	g_assert_cmpuint(total, ==, 0);
}

/* One connection to an address of a spigot. False: there is no path. */
static bool
connect_to(struct pair *pair, size_t spigot, const it_net_addr_t *addr)
{
	it_conn_qual_t qual = {.type = pair->qual.type};
	it_conn_request_event_t request;
	it_listen_handle_t listen;
	size_t room = 1, total = 0;
	it_path_t path;

	g_assert_cmpint(it_get_pathinfo(pair->active.ia, spigot, addr, &room, &total, &path), ==,
			IT_SUCCESS);
	if (room == 0)
		return false;
	g_assert_cmpint(
		it_listen_create(pair->passive.ia, spigot, pair->passive.cm_req, 0, &qual, &listen),
		==, IT_SUCCESS);
	g_assert_cmpint(it_ep_connect(pair->active.ep, &path, NULL, &qual, 0, NULL, 0), ==,
			IT_SUCCESS);
	request = cm_request(pair);
	g_assert_cmpuint(request.spigot_id, ==, spigot);
	/* A path to an address of this machine begins at that address. */
	if (request.source_addr.addr_type == IT_IPV4)
		g_assert_cmpmem(&request.source_addr.addr.ipv4, 4, &addr->addr.ipv4, 4);
	else
		g_assert_cmpmem(&request.source_addr.addr.ipv6, 16, &addr->addr.ipv6, 16);
	g_assert_cmpint(it_ep_accept(pair->passive.ep, request.cn_est_id, NULL, 0), ==, IT_SUCCESS);
	cm_established(pair);
	pair_disconnect(pair);
	end_reset(&pair->active);
	end_reset(&pair->passive);
	g_assert_cmpint(it_listen_free(listen), ==, IT_SUCCESS);
	return true;
}

/* Every address that the adapter lists: IPv4, IPv6 with and without a scope, GIDs. */
static void
test_every_address(struct pair *pair)
{
	const it_ia_info_t *info = pair->active.info;
	unsigned int kinds = 0;

	for (size_t i = 0; i < info->num_spigots; i++) {
		for (size_t j = 0; j < info->spigot_info[i].num_net_addr; j++) {
			const it_net_addr_t *addr = &info->spigot_info[i].net_addr[j];

			if (connect_to(pair, i, addr))
				kinds |= 1u << addr->addr_type;
		}
	}
	g_assert_cmphex(kinds & 1u << IT_IPV4, !=, 0);
	g_assert_cmphex(kinds & 1u << IT_IPV6, !=, 0);
}

static it_status_t
try_connect(struct pair *pair, const it_path_t *path, const it_conn_qual_t *qual,
	    unsigned int flags)
{
	return it_ep_connect(pair->active.ep, path, NULL, qual, (it_cn_est_flags_t)flags, NULL, 0);
}

/* A connect returns the statuses of its path, qualifier and flags. */
static void
test_connect_statuses(struct pair *pair)
{
	const it_ia_info_t *info = pair->active.info;
	it_conn_qual_t bad_qual = {0};
	it_path_t bad_path = pair->path;

	g_assert_cmpint(it_ep_connect(NULL, &pair->path, NULL, &pair->qual, 0, NULL, 0), ==,
			IT_ERR_INVALID_EP);
	g_assert_cmpint(try_connect(pair, NULL, &pair->qual, 0), ==, IT_ERR_FAULT);
	g_assert_cmpint(try_connect(pair, &pair->path, NULL, 0), ==, IT_ERR_FAULT);
	g_assert_cmpint(it_ep_connect(pair->active.ep, &pair->path, NULL, &pair->qual, 0, NULL, 1),
			==, IT_ERR_FAULT);
	bad_path.spigot_id = info->num_spigots;
	g_assert_cmpint(try_connect(pair, &bad_path, &pair->qual, 0), ==, IT_ERR_INVALID_SPIGOT);
	g_assert_cmpint(try_connect(pair, &pair->path, &bad_qual, 0), ==, IT_ERR_INVALID_CONN_QUAL);
	bad_qual.type = pair->qual.type; /* port or id 0 is invalid */
	g_assert_cmpint(try_connect(pair, &pair->path, &bad_qual, 0), ==, IT_ERR_INVALID_CONN_QUAL);
	bad_qual.type = IT_VIA_DISCRIMINATOR;
	g_assert_cmpint(try_connect(pair, &pair->path, &bad_qual, 0), ==, IT_ERR_INVALID_CONN_QUAL);
	g_assert_cmpint(try_connect(pair, &pair->path, &pair->qual, 0x80), ==,
			IT_ERR_INVALID_CN_EST_FLAGS);
	g_assert_cmpint(try_connect(pair, &pair->path, &pair->qual,
				    IT_CONNECT_FLAG_TWO_WAY | IT_CONNECT_FLAG_THREE_WAY),
			==, IT_ERR_INVALID_CN_EST_FLAGS);
	if (!info->three_way_handshake_support)
		g_assert_cmpint(
			try_connect(pair, &pair->path, &pair->qual, IT_CONNECT_FLAG_THREE_WAY), ==,
			IT_ERR_INVALID_CN_EST_FLAGS);
	if (!info->ird_ord_suppressible)
		g_assert_cmpint(
			try_connect(pair, &pair->path, &pair->qual, IT_CONNECT_SUPPRESS_IRD_ORD),
			==, IT_ERR_INVALID_CN_EST_FLAGS);
	g_assert_cmpint(end_state(&pair->active), ==, IT_EP_STATE_UNCONNECTED);
	pair_establish(pair);
}

/* The local half of a path: of an unknown kind, not of this adapter, of another kind than the peer's. */
static void
test_source_path(struct pair *pair)
{
	bool ib = pair->active.info->transport_type == IT_IB_TRANSPORT;
	it_path_t path;

	memset(&path, 0, sizeof(path));
	path.spigot_id = pair->spigot;
	g_assert_cmpint(try_connect(pair, &path, &pair->qual, 0), ==, IT_ERR_INVALID_SOURCE_PATH);
	path = pair->path;
	if (ib)
		memset(&path.u.ib.local_port_gid, 0x55, sizeof(path.u.ib.local_port_gid));
	else
		path.u.iwarp.laddr.ipv4.s_addr = inet_addr("203.0.113.1");
	g_assert_cmpint(try_connect(pair, &path, &pair->qual, 0), ==, IT_ERR_INVALID_SOURCE_PATH);
	/* A path that the application wrote: the peer's half alone is enough. */
	path = pair->path;
	if (ib)
		memset(&path.u.ib.local_port_gid, 0, sizeof(path.u.ib.local_port_gid));
	else
		memset(&path.u.iwarp.laddr, 0, sizeof(path.u.iwarp.laddr));
	pair->path = path;
	pair_establish(pair);
}

/* The six fields of fine tuning: every value is accepted, and NULL is the default. */
static void
test_conn_attributes(struct pair *pair)
{
	it_conn_attributes_t attr;

	for (int fill = 0; fill < 3; fill++) {
		memset(&attr, fill == 0 ? 0 : fill == 1 ? 0x55 : 0xff, sizeof(attr));
		g_assert_cmpint(
			it_ep_connect(pair->active.ep, &pair->path, &attr, &pair->qual, 0, NULL, 0),
			==, IT_SUCCESS);
		g_assert_cmpint(it_ep_accept(pair->passive.ep, cm_request(pair).cn_est_id, NULL, 0),
				==, IT_SUCCESS);
		cm_established(pair);
		pair_disconnect(pair);
		end_reset(&pair->active);
		end_reset(&pair->passive);
	}
}

/* The active side says that its peer does not wait for a receive. */
static void
test_conn_tries(struct pair *pair)
{
	it_conn_attributes_t attr;
	it_event_t event;

	if (pair->active.info->transport_type != IT_IB_TRANSPORT || pair_certified()) {
		g_test_skip("iWARP tells no tries, and to a provider they are advice");
		return;
	}
	memset(&attr, 0, sizeof(attr));
	attr.ib.retry_count = 7;
	pair_ok(it_ep_connect(pair->active.ep, &pair->path, &attr, &pair->qual, 0, NULL, 0));
	pair_ok(it_ep_accept(pair->passive.ep, cm_request(pair).cn_est_id, NULL, 0));
	cm_established(pair);
	pair_ok(end_send(&pair->passive, 8, 1, IT_COMPLETION_FLAG));
	event = end_next(pair->passive.request);
	g_assert_cmpint(event.dto_cmpl.dto_status, ==, IT_DTO_ERR_RECEIVER_NOT_READY);
	end_expect(pair->passive.cm_msg, IT_CM_MSG_CONN_BROKEN_EVENT);
	/* RoCE's messages say that it is over, not why. */
	end_expect(pair->active.cm_msg,
		   pair_is_roce() ? IT_CM_MSG_CONN_DISCONNECT_EVENT : IT_CM_MSG_CONN_BROKEN_EVENT);
}

/* Connect from a port that the application chose; it is free now. */
static it_conn_qual_t
from_port(struct pair *pair, it_ep_handle_t ep)
{
	it_conn_qual_t qual = {.type = IT_IANA_LR_PORT};
	it_status_t status = IT_ERR_EP_TIMEWAIT;

	qual.conn_qual.lr_port.remote = pair->qual.conn_qual.port;
	for (unsigned int port = 21000; port < 21400 && status == IT_ERR_EP_TIMEWAIT; port++) {
		qual.conn_qual.lr_port.local = htons((uint16_t)port);
		status = cm_connect(pair, ep, &qual);
	}
	g_assert_cmpint(status, ==, IT_SUCCESS);
	return qual;
}

/* IANA local and remote port: the peer sees the local one. */
static void
test_local_port(struct pair *pair)
{
	it_conn_qual_t listen_qual = {.type = IT_IANA_LR_PORT}, qual;
	it_conn_request_event_t request;
	it_listen_handle_t listen;

	g_assert_cmpint(it_listen_create(pair->passive.ia, pair->spigot, pair->passive.cm_req, 0,
					 &listen_qual, &listen),
			==, IT_SUCCESS);
	pair->qual.conn_qual.port = listen_qual.conn_qual.lr_port.local;
	qual = from_port(pair, pair->active.ep);
	request = cm_request(pair);
	g_assert_cmpint(request.conn_qual.type, ==, IT_IANA_LR_PORT);
	g_assert_cmpuint(request.conn_qual.conn_qual.lr_port.local, ==,
			 listen_qual.conn_qual.lr_port.local);
	g_assert_cmpuint(request.conn_qual.conn_qual.lr_port.remote, ==,
			 qual.conn_qual.lr_port.local);
	g_assert_cmpint(it_ep_accept(pair->passive.ep, request.cn_est_id, NULL, 0), ==, IT_SUCCESS);
	cm_established(pair);
	g_assert_cmpint(it_listen_free(listen), ==, IT_SUCCESS);
}

/*
 * Is a connection a TCP stream that the library connects? An attempt to connect does not show it, since an unrelated
 * process may listen on the same port.
 */
static bool
streams_connect(void)
{
	bool streams = (pair_claim("cm_forms") & CM_STREAM) != 0;

	if (!streams)
		pair_inapplicable("cm_forms has no RI_CM_STREAM");
	return streams;
}

/* A local port stays in TCP's TIME-WAIT [IT 4.6]; an endpoint may be created so that it can use the port again. */
static void
test_port_time_wait(struct pair *pair)
{
	it_conn_qual_t other = {.type = IT_IANA_PORT};
	it_listen_handle_t listen;
	it_conn_qual_t qual;

	if (!streams_connect())
		return;
	qual = from_port(pair, pair->active.ep);
	g_assert_cmpint(it_ep_accept(pair->passive.ep, cm_request(pair).cn_est_id, NULL, 0), ==,
			IT_SUCCESS);
	cm_established(pair);
	/* The side that closes first has the TIME-WAIT. */
	pair_disconnect(pair);
	end_reset(&pair->active);
	end_reset(&pair->passive);
	g_assert_cmpint(cm_connect(pair, pair->active.ep, &qual), ==, IT_ERR_EP_TIMEWAIT);
	g_assert_cmpint(end_state(&pair->active), ==, IT_EP_STATE_UNCONNECTED);
	/* The same local port can be used to another port of the peer, if the endpoint was created so. */
	g_assert_cmpint(it_listen_create(pair->passive.ia, pair->spigot, pair->passive.cm_req, 0,
					 &other, &listen),
			==, IT_SUCCESS);
	qual.conn_qual.lr_port.remote = other.conn_qual.port;
	g_assert_cmpint(it_ep_free(pair->active.ep), ==, IT_SUCCESS);
	pair->active.ep = cm_ep(&pair->active, IT_EP_REUSEADDR);
	g_assert_cmpint(cm_connect(pair, pair->active.ep, &qual), ==, IT_SUCCESS);
	g_assert_cmpint(it_ep_accept(pair->passive.ep, cm_request(pair).cn_est_id, NULL, 0), ==,
			IT_SUCCESS);
	cm_established(pair);
	g_assert_cmpint(it_listen_free(listen), ==, IT_SUCCESS);
}

/* No descriptors are left; the endpoint does not change. */
static void
test_resources(struct pair *pair)
{
	struct rlimit before, none;
	it_status_t status;

	if (!streams_connect())
		return;
	g_assert_cmpint(getrlimit(RLIMIT_NOFILE, &before), ==, 0);
	none = before;
	none.rlim_cur = 0;
	g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &none), ==, 0);
	status = cm_connect(pair, pair->active.ep, &pair->qual);
	g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &before), ==, 0);
	g_assert_cmpint(status, ==, IT_ERR_RESOURCES);
	g_assert_cmpint(end_state(&pair->active), ==, IT_EP_STATE_UNCONNECTED);
	pair_establish(pair);
}

/* An active end whose endpoints wait for that long after a connection. */
static void
open_with_time_wait(struct end *end, const char *us)
{
	g_setenv("ITAPI_EMUL_TIME_WAIT_US", us, TRUE);
	g_assert_true(end_open(end));
	g_unsetenv("ITAPI_EMUL_TIME_WAIT_US");
}

/* A connection that has come and gone; then the status of a reset, other than that the end is not reported yet. */
static it_status_t
reset_after_use(struct pair *pair, it_ep_rc_creation_flags_t flags)
{
	it_status_t status;

	pair->active.ep = cm_ep(&pair->active, flags);
	pair_establish(pair);
	pair_disconnect(pair);
	PAIR_UNTIL((status = it_ep_reset(pair->active.ep)) != IT_ERR_CANNOT_RESET);
	end_reset(&pair->passive);
	return status;
}

/* The endpoint can be connected again; then it is freed. */
static void
use_again(struct pair *pair)
{
	pair_establish(pair);
	g_assert_cmpint(it_ep_free(pair->active.ep), ==, IT_SUCCESS);
	end_next(pair->passive.cm_msg);
	end_reset(&pair->passive);
	pair->active.ep = NULL;
}

/*
 * Endpoints with has_time_wait wait after a connection [IT 4.6], here for as long as the test configures: until after
 * the test, so that it certainly observes the wait; or for a moment, so that it observes the end of the wait. An
 * adapter that does not read that setting chooses the length itself, so the wait may be over before it is observed.
 */
static void
test_ep_time_wait(struct pair *pair)
{
	struct end kept = pair->active;
	bool own_wait = pair_is_device() || pair_certified();
	it_status_t status;

	open_with_time_wait(&pair->active, TIME_WAIT_LONG);
	status = reset_after_use(pair, IT_EP_NO_FLAG);
	if (!own_wait || status != IT_SUCCESS)
		g_assert_cmpint(status, ==, IT_ERR_EP_TIMEWAIT);
	if (!own_wait)
		g_assert_cmpint(it_ep_reset(pair->active.ep), ==, IT_ERR_EP_TIMEWAIT);
	g_assert_cmpint(it_ep_free(pair->active.ep), ==, IT_SUCCESS);
	g_assert_cmpint(reset_after_use(pair, IT_EP_REUSEADDR), ==, IT_SUCCESS);
	use_again(pair);
	end_close(&pair->active);
	open_with_time_wait(&pair->active, TIME_WAIT_SHORT);
	(void)reset_after_use(pair, IT_EP_NO_FLAG);
	end_reset(&pair->active);
	use_again(pair);
	end_close(&pair->active);
	pair->active = kept;
}

static void
add(void)
{
	pair_add("paths/pathinfo", test_pathinfo);
	pair_add_for(NEEDS_IPV6, "paths/every-address", test_every_address);
	pair_add("paths/connect-statuses", test_connect_statuses);
	pair_add("paths/source-path", test_source_path);
	pair_add("paths/conn-attributes", test_conn_attributes);
	pair_add("paths/conn-tries", test_conn_tries);
	pair_add("paths/resources", test_resources);
	pair_add("paths/local-port", test_local_port);
	pair_add("paths/port-time-wait", test_port_time_wait);
	pair_add_for(NEEDS_REUSE | NEEDS_TIME_WAIT, "paths/ep-time-wait", test_ep_time_wait);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add);
}
