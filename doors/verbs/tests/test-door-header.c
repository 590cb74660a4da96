/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The header in front of a datagram on an Ethernet device, for each family of addresses, and how a completion tells which one it is. */
#include <arpa/inet.h>
#include <netinet/ip.h>

#include "verbs_bench.h"

#define FAR 32768
#define GRH 40

/* What a completion has as its service level. */
#define HAS_IPV6 9
#define HAS_IPV4 10

static struct ibv_wc
datagram(struct bench *bench, struct ibv_qp *qp, struct ibv_ah *ah)
{
	struct ibv_sge from = bench_sge(bench, 0, 100), to = bench_sge(bench, FAR, 2000);
	struct ibv_send_wr wr = bench_wr(7, IBV_WR_SEND, &from);
	struct ibv_wc one, two;

	bench_recv(qp, 1, &to);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = qp->qp_num;
	wr.wr.ud.remote_qkey = BENCH_QKEY;
	bench_send(qp, &wr);
	one = bench_poll(bench->cq);
	two = bench_poll(bench->cq);
	g_assert_cmpint(one.status, ==, IBV_WC_SUCCESS);
	g_assert_cmpint(two.status, ==, IBV_WC_SUCCESS);
	g_assert_cmpint(one.opcode ^ two.opcode, ==, IBV_WC_SEND ^ IBV_WC_RECV);
	return one.opcode == IBV_WC_RECV ? one : two;
}

static bool
is_ipv4(const union ibv_gid *gid)
{
	return IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)(const void *)gid);
}

static void
check_header(const uint8_t *at, const union ibv_gid *gid, const struct ibv_wc *wc)
{
	const struct ibv_grh *v6 = (const struct ibv_grh *)(const void *)at;
	const struct iphdr *v4 = (const struct iphdr *)(const void *)(at + GRH - sizeof(*v4));

	g_assert_cmpuint(wc->wc_flags, ==, IBV_WC_GRH);
	if (is_ipv4(gid)) {
		g_assert_cmpuint(wc->sl, ==, HAS_IPV4);
		g_assert_cmpuint(v4->version, ==, 4);
		g_assert_cmpmem(&v4->daddr, 4, gid->raw + 12, 4);
		g_assert_cmpmem(&v4->saddr, 4, gid->raw + 12, 4);
		return;
	}
	g_assert_cmpuint(wc->sl, ==, HAS_IPV6);
	g_assert_cmpuint(ntohl(v6->version_tclass_flow) >> 28, ==, 6);
	g_assert_cmpmem(&v6->dgid, 16, gid, 16);
	g_assert_cmpmem(&v6->sgid, 16, gid, 16);
}

/* A datagram to itself at each address of the device; the answer's handle has the service level 0, as Ethernet has none. */
static void
test_families(void)
{
	struct ibv_port_attr port;
	struct ibv_ah_attr back;
	struct bench bench RI_AT_END(bench_close);
	unsigned v4 = 0;

	bench_open(&bench);
	OK(ibv_query_port(bench.context, 1, &port));
	g_assert_cmpint(port.link_layer, ==, IBV_LINK_LAYER_ETHERNET);
	struct ibv_qp *qp RI_AT_END(bench_qp_end) = bench_qp(&bench, IBV_QPT_UD);
	bench_raise(qp, NULL, IBV_QPS_RTS);
	for (int i = 0; i < port.gid_tbl_len; i++) {
		struct ibv_ah_attr way = {
			.port_num = 1, .is_global = 1, .grh.sgid_index = (uint8_t)i};
		struct ibv_ah *ah;
		struct ibv_wc wc;

		if (ibv_query_gid(bench.context, 1, i, &way.grh.dgid) != 0 ||
		    way.grh.dgid.global.interface_id == 0)
			continue;
		ah = ibv_create_ah(bench.pd, &way);
		g_assert_nonnull(ah);
		wc = datagram(&bench, qp, ah);
		check_header(bench.memory + FAR, &way.grh.dgid, &wc);
		v4 += is_ipv4(&way.grh.dgid);
		OK(ibv_init_ah_from_wc(bench.context, 1, &wc,
				       (struct ibv_grh *)(void *)(bench.memory + FAR), &back));
		g_assert_cmpuint(back.sl, ==, 0);
		g_assert_cmpmem(&back.grh.dgid, 16, &way.grh.dgid, 16);
		OK(ibv_destroy_ah(ah));
	}
	g_assert_cmpuint(v4, >, 0); /* ::1 may be another process's */
}

/* The readers of an extended completion queue return the same. */
static void
test_reader(void)
{
	struct ibv_cq_init_attr_ex init = {.cqe = 8, .wc_flags = IBV_WC_EX_WITH_SL};
	struct ibv_ah_attr way = {.port_num = 1, .is_global = 1};
	struct ibv_poll_cq_attr all = {.comp_mask = 0};
	struct ibv_qp_init_attr qp_init;
	struct ibv_sge from, to;
	struct ibv_send_wr wr;
	struct ibv_cq_ex *cq;
	struct bench bench RI_AT_END(bench_close);
	struct ibv_ah *ah;
	struct ibv_qp *qp;

	bench_open(&bench);
	cq = ibv_create_cq_ex(bench.context, &init);
	g_assert_nonnull(cq);
	qp_init = bench_init(&bench, IBV_QPT_UD);
	qp_init.recv_cq = ibv_cq_ex_to_cq(cq);
	qp = ibv_create_qp(bench.pd, &qp_init);
	g_assert_nonnull(qp);
	bench_raise(qp, NULL, IBV_QPS_RTS);
	OK(ibv_query_gid(bench.context, 1, 0, &way.grh.dgid));
	g_assert_true(is_ipv4(&way.grh.dgid));
	ah = ibv_create_ah(bench.pd, &way);
	from = bench_sge(&bench, 0, 100);
	to = bench_sge(&bench, FAR, 2000);
	bench_recv(qp, 1, &to);
	wr = bench_wr(7, IBV_WR_SEND, &from);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = qp->qp_num;
	wr.wr.ud.remote_qkey = BENCH_QKEY;
	bench_send(qp, &wr);
	(void)bench_expect(bench.cq, 7, IBV_WC_SUCCESS);
	UNTIL(ibv_start_poll(cq, &all) == 0);
	g_assert_cmpuint(ibv_wc_read_sl(cq), ==, HAS_IPV4);
	ibv_end_poll(cq);
	OK(ibv_destroy_ah(ah));
	OK(ibv_destroy_qp(qp));
	OK(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	bench_adapter("roce:lo");
	g_test_add_func("/door/header/families", test_families);
	g_test_add_func("/door/header/reader", test_reader);
	return g_test_run();
}
