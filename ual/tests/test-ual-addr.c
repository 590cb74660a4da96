/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Paths, addresses and qualifiers, converted there and back, and malformed ones [IT 9.1], [IT 10]. */

#include <arpa/inet.h>
#include <glib.h>

#include "ual_addr.h"

static const struct ri_rnic_attr iwarp = {.transport = RI_TRANSPORT_IWARP, .addr_ip = true};
static const struct ri_rnic_attr ib = {
	.transport = RI_TRANSPORT_IB,
	.addr_ip = true,
	.addr_gid = true,
};

static struct ri_addr
text_addr(enum ri_addr_family family, const char *text)
{
	struct ri_addr addr = {.family = family};
	int af = family == RI_ADDR_IPV4 ? AF_INET : AF_INET6;

	g_assert_cmpint(inet_pton(af, text, addr.octets), ==, 1);
	return addr;
}

static void
path_there_and_back(const struct ri_rnic_attr *attr, struct ri_addr local, struct ri_addr peer)
{
	struct ri_addr local_back, peer_back;
	it_path_t path;

	ual_addr_to_path(attr, 3, &local, &peer, &path);
	g_assert_cmpuint(path.spigot_id, ==, 3);
	g_assert_cmpuint(path.timeout, ==, 0);
	g_assert_true(ual_addr_of_path(attr, &path, &local_back, &peer_back));
	g_assert_cmpmem(&peer, sizeof(peer), &peer_back, sizeof(peer_back));
	g_assert_cmpmem(&local, sizeof(local), &local_back, sizeof(local_back));
}

static void
test_paths(void)
{
	struct ri_addr none = {0};
	struct ri_addr v4 = text_addr(RI_ADDR_IPV4, "192.0.2.7");
	struct ri_addr v6 = text_addr(RI_ADDR_IPV6, "2001:db8::7");
	struct ri_addr gid = text_addr(RI_ADDR_GID, "fe80::1234");
	struct ri_addr local, peer;
	it_path_t path = {0};

	path_there_and_back(&iwarp, text_addr(RI_ADDR_IPV4, "192.0.2.1"), v4);
	path_there_and_back(&iwarp, none, v4);
	path_there_and_back(&iwarp, text_addr(RI_ADDR_IPV6, "2001:db8::1"), v6);
	path_there_and_back(&iwarp, none, v6);
	path_there_and_back(&ib, text_addr(RI_ADDR_IPV4, "192.0.2.1"), v4);
	path_there_and_back(&ib, none, gid);
	path_there_and_back(&ib, text_addr(RI_ADDR_GID, "fe80::1"), gid);
	g_assert_false(ual_addr_of_path(&iwarp, &path, &local, &peer));
	g_assert_false(ual_addr_of_path(&ib, &path, &local, &peer));
}

static void
test_net_addrs(void)
{
	static const char *const texts[] = {"192.0.2.7", "2001:db8::7", "fe80::7"};

	for (int family = RI_ADDR_IPV4; family <= RI_ADDR_GID; family++) {
		struct ri_addr addr = text_addr(family, texts[family - RI_ADDR_IPV4]), back;
		it_net_addr_t net;

		g_test_message("%s", texts[family - RI_ADDR_IPV4]);
		ual_addr_to_net(&addr, &net);
		g_assert_cmpint(net.addr_type, ==, family);
		g_assert_true(ual_addr_of_net(&ib, &net, &back));
		g_assert_cmpmem(&addr, sizeof(addr), &back, sizeof(back));
		g_assert_cmpint(ual_addr_of_net(&iwarp, &net, &back), ==, family != RI_ADDR_GID);
		net.addr_type = IT_VIA_HOSTADDR;
		g_assert_false(ual_addr_of_net(&ib, &net, &back));
		net.addr_type = (it_net_addr_type_t)99;
		g_assert_false(ual_addr_of_net(&ib, &net, &back));
	}
}

static void
test_qualifiers(void)
{
	it_conn_qual_t port = {.type = IT_IANA_PORT, .conn_qual.port = htons(4711)};
	it_conn_qual_t lr = {.type = IT_IANA_LR_PORT,
			     .conn_qual.lr_port = {.local = htons(1), .remote = htons(2)}};
	it_conn_qual_t id = {.type = IT_IB_SERVICEID, .conn_qual.serviceid = 77};
	it_conn_qual_t none = {0}, both = {.type = IT_IANA_PORT | IT_IANA_LR_PORT}, back;
	it_conn_qual_t via = {.type = IT_VIA_DISCRIMINATOR};
	struct ri_service service;

	g_assert_true(ual_qual_active(&iwarp, &port, &service));
	g_assert_cmpint(service.kind, ==, RI_SERVICE_PORT);
	g_assert_cmpint(service.port, ==, htons(4711));
	g_assert_true(ual_qual_active(&iwarp, &lr, &service));
	g_assert_cmpint(service.port, ==, htons(2));
	g_assert_cmpint(service.local_port, ==, htons(1));
	g_assert_true(ual_qual_passive(&iwarp, &lr, false, &service));
	g_assert_cmpint(service.port, ==, htons(1));
	ual_qual_of_service(IT_IANA_LR_PORT, &service, &back);
	g_assert_cmpint(back.conn_qual.lr_port.local, ==, htons(1));
	g_assert_true(ual_qual_active(&ib, &id, &service));
	g_assert_cmpint(service.kind, ==, RI_SERVICE_IB);
	g_assert_true(ual_qual_passive(&ib, &id, false, &service));
	ual_qual_of_service(IT_IB_SERVICEID, &service, &back);
	g_assert_cmpuint(back.conn_qual.serviceid, ==, 77);
	g_assert_false(ual_qual_active(&iwarp, &id, &service));
	g_assert_false(ual_qual_passive(&iwarp, &id, true, &service));
	g_assert_false(ual_qual_active(&ib, &none, &service));
	g_assert_false(ual_qual_active(&ib, &both, &service));
	g_assert_false(ual_qual_active(&ib, &via, &service));
	port.conn_qual.port = 0;
	g_assert_false(ual_qual_active(&iwarp, &port, &service));
	g_assert_false(ual_qual_passive(&iwarp, &port, false, &service));
	g_assert_true(ual_qual_passive(&iwarp, &port, true, &service));
	g_assert_cmpint(ual_qual_types(&iwarp), ==, IT_IANA_PORT | IT_IANA_LR_PORT);
	g_assert_cmpint(ual_qual_types(&ib), ==, IT_IANA_PORT | IT_IANA_LR_PORT | IT_IB_SERVICEID);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ual/addr/paths", test_paths);
	g_test_add_func("/ual/addr/net-addrs", test_net_addrs);
	g_test_add_func("/ual/addr/qualifiers", test_qualifiers);
	return g_test_run();
}
