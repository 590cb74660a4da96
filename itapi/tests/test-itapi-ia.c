/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Adapters, protection zones, handles and helpers over it_api.h [IT 15.1], [IT 15.2]. */

#include <arpa/inet.h>
#include <pthread.h>
#include <string.h>

#include "it_ext.h"
#include "it_pair.h"

static it_status_t
open_status(const char *name, uint32_t major, uint32_t minor)
{
	it_ia_handle_t ia = (it_ia_handle_t)&major;
	it_status_t status = it_ia_create(name, major, minor, &ia);

	if (status == IT_SUCCESS)
		pair_ok(it_ia_free(ia));
	else
		g_assert_null(ia);
	return status;
}

/* An adapter is opened by its name and the versions of the interface. */
static void
test_open(void)
{
	const char *name = pair_adapter();
	it_ia_handle_t one, two;
	char huge[300];

	memset(huge, 'x', sizeof(huge) - 1);
	huge[sizeof(huge) - 1] = '\0';
	pair_ok(open_status(name, 1, 0));
	pair_ok(open_status(name, 2, 0));
	pair_ok(open_status(name, 2, 1));
	g_assert_cmpint(open_status(name, 0, 0), ==, IT_ERR_INVALID_MAJOR_VERSION);
	g_assert_cmpint(open_status(name, 3, 0), ==, IT_ERR_INVALID_MAJOR_VERSION);
	g_assert_cmpint(open_status(name, 1, 1), ==, IT_ERR_INVALID_MINOR_VERSION);
	g_assert_cmpint(open_status(name, 2, 2), ==, IT_ERR_INVALID_MINOR_VERSION);
	g_assert_cmpint(open_status("no such adapter", 2, 1), ==, IT_ERR_INVALID_NAME);
	g_assert_cmpint(open_status("", 2, 1), ==, IT_ERR_INVALID_NAME);
	g_assert_cmpint(open_status(huge, 2, 1), ==, IT_ERR_INVALID_NAME);
	g_assert_cmpint(open_status(NULL, 2, 1), ==, IT_ERR_FAULT);
	g_assert_cmpint(it_ia_create(name, 2, 1, NULL), ==, IT_ERR_FAULT);
	pair_ok(it_ia_create(name, 2, 1, &one));
	pair_ok(it_ia_create(name, 2, 1, &two));
	g_assert_true(one != two);
	pair_ok(it_ia_free(one));
	g_assert_cmpint(it_ia_free(one), ==, IT_ERR_INVALID_IA);
	g_assert_cmpint(it_ia_free(NULL), ==, IT_ERR_INVALID_IA);
	pair_ok(it_ia_free(two));
}

/* The description of an adapter is complete, and agrees with itself. */
static void
test_query(void)
{
	it_ia_info_t *info = NULL;
	it_ia_handle_t ia;
	bool ib;

	pair_ok(it_ia_create(pair_adapter(), 2, 0, &ia));
	g_assert_cmpint(it_ia_query(NULL, &info), ==, IT_ERR_INVALID_IA);
	g_assert_cmpint(it_ia_query(ia, NULL), ==, IT_ERR_FAULT);
	pair_ok(it_ia_query(ia, &info));
	/* The whole name; the adapter may have been opened under a part of it. */
	g_assert_true(g_str_has_prefix(info->ia_name, pair_adapter()));
	pair_ok(open_status(info->ia_name, 2, 1));
	g_assert_cmpuint(info->api_major_version, ==, 2);
	g_assert_cmpuint(info->api_minor_version, ==, 0);
	ib = info->transport_type == IT_IB_TRANSPORT;
	g_assert_true(ib || info->transport_type == IT_IWARP_TCP_TRANSPORT);
	g_assert_cmphex(info->supported_service_types & IT_RC_SERVICE, ==, IT_RC_SERVICE);
	g_assert_cmpuint(info->num_spigots, >, 0);
	for (size_t i = 0; i < info->num_spigots; i++) {
		g_assert_cmpuint(info->spigot_info[i].spigot_id, ==, i);
		g_assert_cmpuint(info->spigot_info[i].max_rc_send_len, >, 0);
		g_assert_cmphex(info->spigot_info[i].active_side_conn_qual, !=, 0);
		g_assert_true(info->spigot_info[i].num_net_addr == 0 ||
			      info->spigot_info[i].net_addr != NULL);
	}
	g_assert_cmpuint(info->connect_private_data_len, ==,
			 MIN(pair_claim("connect_pdata"), IT_MAX_PRIV_DATA));
	g_assert_true((info->private_data_support == IT_TRUE) ==
		      ((pair_claim("connect_pdata") | pair_claim("accept_pdata") |
			pair_claim("reject_pdata") | pair_claim("confirm_pdata") |
			pair_claim("disconnect_pdata")) != 0));
	g_assert_false(info->max_message_size_support);
	g_assert_cmpint(info->rdma_read_requires_remote_write, ==,
			pair_claim("read_sink_needs_remote_write"));
	g_assert_true(info->affiliated_err_evd == NULL && info->unaffiliated_err_evd == NULL);
	pair_ok(it_ia_free(ia));
	it_ia_info_free(info); /* valid after the adapter was freed */
	it_ia_info_free(NULL);
}

/* Each name is listed once, among them the one that the test was called with, and an adapter can be opened by it. */
static void
test_list(void)
{
	it_interface_t list[64], first;
	size_t count = G_N_ELEMENTS(list), total = 0, none = 0, one = 1, again = 0, ours = 0;

	it_interface_list(list, &count, &total);
	g_assert_cmpuint(count, >, 0);
	g_assert_cmpuint(total, >=, count);
	it_interface_list(NULL, &none, &again);
	g_assert_true(none == 0 && again == total);
	it_interface_list(&first, &one, NULL);
	g_assert_cmpuint(one, ==, 1);
	g_assert_cmpstr(first.name, ==, list[0].name);
	it_interface_list(NULL, NULL, NULL);
	for (size_t i = 0; i < count; i++) {
		g_assert_cmpuint(list[i].major_version, ==, 2);
		g_assert_true(memchr(list[i].name, 0, sizeof(list[i].name)) != NULL);
		ours += g_str_equal(list[i].name, pair_adapter());
		for (size_t j = 0; j < i; j++)
			g_assert_cmpstr(list[i].name, !=, list[j].name);
	}
	for (size_t i = 0; i < count; i++) {
		it_ia_handle_t ia = NULL;
		it_status_t status = it_ia_create(list[i].name, 2, 1, &ia);

		/* A device of the host may be without an address. */
		if (status != IT_SUCCESS && !g_str_equal(list[i].name, pair_adapter()))
			continue;
		pair_ok(status);
		pair_ok(it_ia_free(ia));
	}
	if (total <= G_N_ELEMENTS(list))
		g_assert_cmpuint(ours, ==, 1);
}

/* Paths lead from each spigot to each address. */
static void
test_paths(void)
{
	it_ia_handle_t ia = pair_ia();
	it_net_addr_t via = {.addr_type = IT_VIA_HOSTADDR};
	size_t paths = 4, total = 99, none = 0;
	it_ia_info_t *info;
	it_net_addr_t own;
	it_path_t path[4];

	pair_ok(it_ia_query(ia, &info));
	own = info->spigot_info[0].net_addr[0];
	pair_ok(it_get_pathinfo(ia, 0, &own, &paths, &total, path));
	g_assert_true(paths >= 1 && total >= paths);
	g_assert_cmpuint(path[0].spigot_id, ==, 0);
	pair_ok(it_get_pathinfo(ia, 0, &own, &none, &total, NULL));
	g_assert_true(none == 0 && total >= 1);
	g_assert_cmpint(it_get_pathinfo(NULL, 0, &own, &paths, &total, path), ==,
			IT_ERR_INVALID_IA);
	g_assert_cmpint(it_get_pathinfo(ia, info->num_spigots, &own, &paths, &total, path), ==,
			IT_ERR_INVALID_SPIGOT);
	g_assert_cmpint(it_get_pathinfo(ia, 0, &via, &paths, &total, path), ==,
			IT_ERR_INVALID_NETADDR);
	g_assert_cmpint(it_get_pathinfo(ia, 0, NULL, &paths, &total, path), ==, IT_ERR_FAULT);
	g_assert_cmpint(it_get_pathinfo(ia, 0, &own, NULL, &total, path), ==, IT_ERR_FAULT);
	g_assert_cmpint(it_get_pathinfo(ia, 0, &own, &paths, NULL, path), ==, IT_ERR_FAULT);
	paths = 1;
	g_assert_cmpint(it_get_pathinfo(ia, 0, &own, &paths, &total, NULL), ==, IT_ERR_FAULT);
	it_ia_info_free(info);
	pair_ok(it_ia_free(ia));
}

/* Zones are created, queried and freed. */
static void
test_zones(void)
{
	it_ia_handle_t ia = pair_ia();
	it_rmr_context_t context;
	it_pz_param_t params;
	it_lmr_handle_t lmr;
	it_pz_handle_t pz;
	char octets[64];

	g_assert_cmpint(it_pz_create(NULL, &pz), ==, IT_ERR_INVALID_IA);
	g_assert_cmpint(it_pz_create(ia, NULL), ==, IT_ERR_FAULT);
	pair_ok(it_pz_create(ia, &pz));
	pair_ok(it_pz_query(pz, IT_PZ_PARAM_ALL, &params));
	g_assert_true(params.ia == ia);
	g_assert_cmpint(it_pz_query(pz, (it_pz_param_mask_t)4, &params), ==, IT_ERR_INVALID_MASK);
	g_assert_cmpint(it_pz_query(pz, IT_PZ_PARAM_IA, NULL), ==, IT_ERR_FAULT);
	g_assert_cmpint(it_pz_query(NULL, IT_PZ_PARAM_IA, &params), ==, IT_ERR_INVALID_PZ);
	pair_ok(it_lmr_create10(pz, octets, sizeof(octets), IT_PRIV_LOCAL, IT_LMR_FLAG_NONE, 0,
				&lmr, &context));
	g_assert_cmpint(it_pz_free(pz), ==, IT_ERR_PZ_BUSY);
	pair_ok(it_lmr_free(lmr));
	pair_ok(it_pz_free(pz));
	g_assert_cmpint(it_pz_free(pz), ==, IT_ERR_INVALID_PZ);
	g_assert_cmpint(it_pz_free((it_pz_handle_t)ia), ==, IT_ERR_INVALID_PZ);
	pair_ok(it_ia_free(ia));
}

/* The kinds of handle that every adapter has, their types and contexts. */
static void
test_handles(void)
{
	struct pair pair;
	struct end *end = &pair.passive;
	it_context_t context = {.index = UINT64_C(0x123456789abcdef0)}, back;
	it_handle_type_enum_t type;

	g_assert_true(pair_open(&pair));
	pair_establish(&pair);
	const struct {
		it_handle_t handle;
		it_handle_type_enum_t type;
	} all[] = {
		{end->ia, IT_HANDLE_TYPE_IA},      {end->pz, IT_HANDLE_TYPE_PZ},
		{end->cm_req, IT_HANDLE_TYPE_EVD}, {end->ep, IT_HANDLE_TYPE_EP},
		{end->lmr, IT_HANDLE_TYPE_LMR},    {pair.listen, IT_HANDLE_TYPE_LISTEN},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
		g_test_message("%s", it_handle_type_name(all[i].type));
		pair_ok(it_get_handle_type(all[i].handle, &type));
		g_assert_cmpint(type, ==, all[i].type);
		g_assert_cmpint(it_get_handle_type(all[i].handle, NULL), ==, IT_ERR_FAULT);
		g_assert_cmpint(it_get_consumer_context(all[i].handle, &back), ==,
				IT_ERR_NO_CONTEXT);
		context.index++;
		pair_ok(it_set_consumer_context(all[i].handle, context));
		pair_ok(it_get_consumer_context(all[i].handle, &back));
		g_assert_cmphex(back.index, ==, context.index);
		g_assert_cmpint(it_get_consumer_context(all[i].handle, NULL), ==, IT_ERR_FAULT);
	}
	pair_close(&pair);
	for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
		g_test_message("%s, freed", it_handle_type_name(all[i].type));
		g_assert_cmpint(it_get_handle_type(all[i].handle, &type), ==,
				IT_ERR_INVALID_HANDLE);
		g_assert_cmpint(it_set_consumer_context(all[i].handle, context), ==,
				IT_ERR_INVALID_HANDLE);
		g_assert_cmpint(it_get_consumer_context(all[i].handle, &back), ==,
				IT_ERR_INVALID_HANDLE);
	}
	g_assert_cmpint(it_get_handle_type(&pair, &type), ==, IT_ERR_INVALID_HANDLE);
}

/* The adapter is freed first, with all objects under it; the memory remains the application's. */
static void
end_drop(struct end *end)
{
	it_event_t event;

	pair_ok(it_ia_free(end->ia));
	g_assert_cmpint(it_ep_free(end->ep), ==, IT_ERR_INVALID_EP);
	g_assert_cmpint(it_pz_free(end->pz), ==, IT_ERR_INVALID_PZ);
	g_assert_cmpint(it_lmr_free(end->lmr), ==, IT_ERR_INVALID_LMR);
	g_assert_cmpint(it_evd_dequeue(end->request, &event), ==, IT_ERR_INVALID_EVD);
	it_ia_info_free(end->info);
	g_free(end->buffer);
}

/* Connect a second endpoint of the passive end to its first, both under one adapter. */
static void
connect_self(struct pair *pair)
{
	struct end *end = &pair->passive;
	it_ep_handle_t first = end->ep;
	it_event_t request;

	pair_ok(it_ep_rc_create(end->pz, end->request, end->recv, end->cm_msg, IT_EP_NO_FLAG,
				&end->attr, &end->ep));
	pair_ok(it_ep_connect(end->ep, &pair->path, NULL, &pair->qual, IT_CONNECT_FLAG_TWO_WAY,
			      NULL, 0));
	request = end_expect(end->cm_req, IT_CM_REQ_CONN_REQUEST_EVENT);
	pair_ok(it_ep_accept(first, request.conn_req.cn_est_id, NULL, 0));
	end_expect(end->cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
	end_expect(end->cm_msg, IT_CM_MSG_CONN_ESTABLISHED_EVENT);
}

/*
 * An adapter is freed with an endpoint that is unconnected; connected to an endpoint of the same adapter;
 * connected to an endpoint of another adapter, which must see the connection break.
 */
static void
test_cascade(void)
{
	struct pair pair;

	for (unsigned i = 0; i < 21; i++) {
		g_assert_true(pair_open(&pair));
		if (i % 3 == 1)
			connect_self(&pair);
		if (i % 3 == 2)
			pair_establish(&pair);
		for (it_dto_cookie_t k = 0; k < RECV_SLOTS; k++)
			pair_ok(end_recv(&pair.passive, 64, k));
		end_drop(&pair.passive);
		if (i % 3 == 2)
			end_expect_broken_by_peer(&pair.active);
		end_drop(&pair.active);
	}
}

static void
convert(const char *from, it_net_addr_type_t kind, it_net_addr_type_t to, const char *expected)
{
	it_net_addr_t source = {.addr_type = kind}, out;
	char text[INET6_ADDRSTRLEN];
	it_status_t status;

	inet_pton(kind == IT_IPV4 ? AF_INET : AF_INET6, from, &source.addr);
	status = it_convert_net_addr(&source, to, &out);
	if (expected == NULL) {
		g_assert_cmpint(status, ==, IT_ERR_INVALID_CONVERSION);
		return;
	}
	g_assert_cmpint(status, ==, IT_SUCCESS);
	g_assert_cmpint(out.addr_type, ==, to);
	inet_ntop(to == IT_IPV4 ? AF_INET : AF_INET6, &out.addr, text, sizeof(text));
	g_assert_cmpstr(text, ==, expected);
}

static void
test_convert(void)
{
	it_net_addr_t via = {.addr_type = IT_VIA_HOSTADDR}, out;
	it_net_addr_t unknown = {.addr_type = (it_net_addr_type_t)9};
	it_net_addr_t ipv4 = {.addr_type = IT_IPV4};

	convert("192.0.2.1", IT_IPV4, IT_IPV4, "192.0.2.1");
	convert("192.0.2.1", IT_IPV4, IT_IPV6, "::ffff:192.0.2.1");
	convert("192.0.2.1", IT_IPV4, IT_IB_GID, "::ffff:192.0.2.1");
	convert("::ffff:192.0.2.1", IT_IPV6, IT_IPV4, "192.0.2.1");
	convert("::ffff:192.0.2.1", IT_IPV6, IT_IB_GID, "::ffff:192.0.2.1");
	convert("::ffff:192.0.2.1", IT_IB_GID, IT_IPV4, "192.0.2.1");
	convert("::ffff:192.0.2.1", IT_IB_GID, IT_IPV6, "::ffff:192.0.2.1");
	convert("2001:db8::1", IT_IPV6, IT_IPV6, "2001:db8::1");
	convert("2001:db8::1", IT_IPV6, IT_IPV4, NULL);
	convert("2001:db8::1", IT_IPV6, IT_IB_GID, NULL);
	convert("fe80::1", IT_IB_GID, IT_IPV6, NULL);
	convert("192.0.2.1", IT_IPV4, IT_VIA_HOSTADDR, NULL);
	g_assert_cmpint(it_convert_net_addr(&via, IT_IPV4, &out), ==, IT_ERR_INVALID_NETADDR);
	g_assert_cmpint(it_convert_net_addr(&unknown, IT_IPV4, &out), ==, IT_ERR_INVALID_NETADDR);
	g_assert_cmpint(it_convert_net_addr(NULL, IT_IPV4, &out), ==, IT_ERR_FAULT);
	g_assert_cmpint(it_convert_net_addr(&ipv4, IT_IPV4, NULL), ==, IT_ERR_FAULT);
	g_assert_cmpint(it_convert_net_addr(&ipv4, (it_net_addr_type_t)9, &out), ==,
			IT_ERR_INVALID_CONVERSION);
}

static void
test_helpers(void)
{
	const unsigned char octets[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	uint64_t wire = it_hton64(UINT64_C(0x0102030405060708));

	g_assert_cmpmem(&wire, 8, octets, 8);
	g_assert_cmphex(it_ntoh64(wire), ==, UINT64_C(0x0102030405060708));
	g_assert_cmphex(it_make_rdma_addr_absolute(&wire), ==, (uintptr_t)&wire);
	g_assert_cmphex(it_make_rdma_addr_relative(77), ==, 77);
}

static void
add(void)
{
	g_test_add_func("/itapi/ia/list", test_list);
	g_test_add_func("/itapi/ia/convert", test_convert);
	g_test_add_func("/itapi/ia/helpers", test_helpers);
	pair_add_bare("ia/open", test_open);
	pair_add_bare("ia/query", test_query);
	pair_add_bare("ia/paths", test_paths);
	pair_add_bare("ia/zones", test_zones);
	pair_add_bare("ia/handles", test_handles);
	pair_add_bare("ia/cascade", test_cascade);
}

int
main(int argc, char **argv)
{
	return pair_main(argc, argv, add);
}
