/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Datagrams: routing headers, address handles, answers by what a completion tells, and multicast groups. */
#include <arpa/inet.h>

#include "verbs_bench.h"

#define FAR 32768
#define GRH 40
#define IMM htobe32(0x55667788)

static struct ibv_ah_attr
way_to(struct ibv_context *context)
{
	struct ibv_ah_attr attr = {.port_num = 1, .is_global = 1};

	OK(ibv_query_gid(context, 1, 0, &attr.grh.dgid));
	attr.grh.flow_label = 0x12345;
	attr.grh.traffic_class = 0x67;
	attr.grh.hop_limit = 9;
	return attr;
}

static struct ibv_send_wr
datagram(struct ibv_sge *sge, struct ibv_ah *ah, uint32_t qpn)
{
	struct ibv_send_wr wr = bench_wr(7, IBV_WR_SEND, sge);

	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = qpn;
	wr.wr.ud.remote_qkey = BENCH_QKEY;
	return wr;
}

static struct ibv_qp *
ud_new(struct bench *bench)
{
	struct ibv_qp *qp = bench_qp(bench, IBV_QPT_UD);

	bench_raise(qp, NULL, IBV_QPS_RTS);
	return qp;
}

/* The completions of a datagram from one queue pair to another, in whatever order. */
static struct ibv_wc
received(struct bench *bench)
{
	struct ibv_wc one = bench_poll(bench->cq), two = bench_poll(bench->cq);

	g_assert_cmpint(one.status, ==, IBV_WC_SUCCESS);
	g_assert_cmpint(two.status, ==, IBV_WC_SUCCESS);
	if ((one.opcode & IBV_WC_RECV) == 0)
		one = two;
	g_assert_cmpint(one.opcode, ==, IBV_WC_RECV);
	return one;
}

static void
test_datagram(void)
{
	struct ibv_ah_attr way, back;
	struct ibv_sge from, to;
	struct ibv_send_wr wr;
	struct ibv_grh *grh;
	struct ibv_wc wc;
	struct bench bench RI_AT_END(bench_close);
	struct ibv_ah *ah;

	bench_open(&bench);
	struct ibv_qp *a RI_AT_END(bench_qp_end) = ud_new(&bench);
	struct ibv_qp *b RI_AT_END(bench_qp_end) = ud_new(&bench);
	way = way_to(bench.context);
	ah = ibv_create_ah(bench.pd, &way);
	g_assert_nonnull(ah);
	bench_fill(&bench, 0, 1000, 3);
	from = bench_sge(&bench, 0, 1000);
	to = bench_sge(&bench, FAR, 2000);
	bench_recv(b, 1, &to);
	wr = datagram(&from, ah, b->qp_num);
	wr.opcode = IBV_WR_SEND_WITH_IMM;
	wr.imm_data = IMM;
	bench_send(a, &wr);
	wc = received(&bench);
	g_assert_cmpuint(wc.byte_len, ==, GRH + 1000);
	g_assert_cmpuint(wc.qp_num, ==, b->qp_num);
	g_assert_cmpuint(wc.src_qp, ==, a->qp_num);
	g_assert_cmpuint(wc.wc_flags, ==, IBV_WC_GRH | IBV_WC_WITH_IMM);
	g_assert_cmpuint(wc.imm_data, ==, IMM);
	g_assert_cmpmem(bench.memory + FAR + GRH, 1000, bench.memory, 1000);
	grh = (struct ibv_grh *)(void *)(bench.memory + FAR);
	g_assert_cmpuint(ntohl(grh->version_tclass_flow), ==, 0x66712345);
	g_assert_cmpuint(grh->hop_limit, ==, 9);
	g_assert_cmpmem(&grh->dgid, 16, &way.grh.dgid, 16);

	/* The way back. */
	OK(ibv_init_ah_from_wc(bench.context, 1, &wc, grh, &back));
	g_assert_cmpuint(back.is_global, ==, 1);
	g_assert_cmpuint(back.port_num, ==, 1);
	g_assert_cmpuint(back.grh.flow_label, ==, 0x12345);
	g_assert_cmpuint(back.grh.traffic_class, ==, 0x67);
	g_assert_cmpmem(&back.grh.dgid, 16, &grh->sgid, 16);
	OK(ibv_destroy_ah(ah));
	ah = ibv_create_ah_from_wc(bench.pd, &wc, grh, 1);
	g_assert_nonnull(ah);
	bench_recv(a, 2, &to);
	from = bench_sge(&bench, 5, 60);
	wr = datagram(&from, ah, wc.src_qp);
	wr.send_flags |= IBV_SEND_INLINE;
	bench_send(b, &wr);
	wc = received(&bench);
	g_assert_cmpuint(wc.byte_len, ==, GRH + 60);
	g_assert_cmpuint(wc.wc_flags, ==, IBV_WC_GRH);
	g_assert_cmpmem(bench.memory + FAR + GRH, 60, bench.memory + 5, 60);
	OK(ibv_destroy_ah(ah));
}

/* A datagram with another Q_Key is dropped; with bit 31 it carries that of its sender. */
static void
test_qkeys(void)
{
	struct ibv_qp_attr attr = {.qkey = BENCH_QKEY + 1};
	struct ibv_ah_attr way;
	struct ibv_sge from, to;
	struct ibv_send_wr wr;
	struct bench bench RI_AT_END(bench_close);
	struct ibv_ah *ah;

	bench_open(&bench);
	struct ibv_qp *a RI_AT_END(bench_qp_end) = ud_new(&bench);
	struct ibv_qp *b RI_AT_END(bench_qp_end) = ud_new(&bench);
	way = way_to(bench.context);
	way.is_global = 0;
	way.dlid = 1; /* that of the port */
	ah = ibv_create_ah(bench.pd, &way);
	g_assert_nonnull(ah);
	from = bench_sge(&bench, 0, 10);
	to = bench_sge(&bench, FAR, 100);
	bench_recv(b, 1, &to);
	wr = datagram(&from, ah, b->qp_num);
	wr.wr.ud.remote_qkey++;
	bench_send(a, &wr);
	g_assert_cmpint(bench_expect(bench.cq, 7, IBV_WC_SUCCESS).opcode, ==, IBV_WC_SEND);
	bench_expect_none(bench.cq);
	wr.wr.ud.remote_qkey = 0x80000000;
	bench_send(a, &wr);
	(void)received(&bench);
	OK(ibv_modify_qp(b, &attr, IBV_QP_QKEY));
	bench_recv(b, 1, &to);
	bench_send(a, &wr);
	(void)bench_expect(bench.cq, 7, IBV_WC_SUCCESS);
	bench_expect_none(bench.cq);
	wr.wr.ud.remote_qkey = BENCH_QKEY + 1;
	bench_send(a, &wr);
	(void)received(&bench);
	OK(ibv_destroy_ah(ah));
}

static void
test_refused(void)
{
	struct ibv_ah_attr good, way;
	struct ibv_send_wr wr, *bad;
	struct bench bench RI_AT_END(bench_close), other RI_AT_END(bench_close);
	struct ibv_ah *foreign;
	struct ibv_wc wc;

	bench_open(&bench);
	bench_open(&other);
	good = way_to(bench.context);
#define REFUSED(error, change)                                   \
	do {                                                     \
		way = good;                                      \
		change;                                          \
		NO_OBJECT(ibv_create_ah(bench.pd, &way), error); \
	} while (0)
	REFUSED(EINVAL, way.port_num = 0);
	REFUSED(EINVAL, way.port_num = 2);
	REFUSED(EINVAL, way.grh.sgid_index = 15);
	REFUSED(ENETUNREACH, way.grh.dgid.raw[15] ^= 0x55);
	REFUSED(EINVAL, way.is_global = 0);
	REFUSED(EINVAL, (way.is_global = 0, way.dlid = 77));
#undef REFUSED
	foreign = ibv_create_ah(other.pd, &good);
	g_assert_nonnull(foreign);
	struct ibv_qp *qp RI_AT_END(bench_qp_end) = ud_new(&bench);
	wr = datagram(NULL, NULL, qp->qp_num);
	g_assert_cmpint(ibv_post_send(qp, &wr, &bad), ==, EINVAL);
	wr = datagram(NULL, foreign, qp->qp_num);
	g_assert_cmpint(ibv_post_send(qp, &wr, &bad), ==, EINVAL);
	wr.opcode = IBV_WR_RDMA_WRITE;
	g_assert_cmpint(ibv_post_send(qp, &wr, &bad), ==, EINVAL);
	/* A header to an address that is not ours. */
	memset(&wc, 0, sizeof(wc));
	wc.wc_flags = IBV_WC_GRH;
	memset(bench.memory, 1, GRH);
	g_assert_cmpint(ibv_init_ah_from_wc(bench.context, 1, &wc,
					    (struct ibv_grh *)(void *)bench.memory, &way),
			==, -1);
	OK(ibv_destroy_ah(foreign));
}

static void
test_groups(void)
{
	static const union ibv_gid group = {.raw = {0xff, 0x12, [15] = 0x31}};
	struct ibv_ah_attr way;
	struct ibv_sge from, to;
	struct ibv_send_wr wr;
	struct ibv_qp *b;
	struct bench bench RI_AT_END(bench_close);
	struct ibv_ah *ah;

	bench_open(&bench);
	struct ibv_qp *a RI_AT_END(bench_qp_end) = ud_new(&bench);
	b = ud_new(&bench);
	struct ibv_qp *rc RI_AT_END(bench_qp_end) = bench_qp(&bench, IBV_QPT_RC);
	way = way_to(bench.context);
	g_assert_cmpint(ibv_attach_mcast(rc, &group, 0), ==, EINVAL);
	g_assert_cmpint(ibv_attach_mcast(b, &way.grh.dgid, 0), ==, EINVAL);
	g_assert_cmpint(ibv_detach_mcast(b, &group, 0), ==, EINVAL);
	way.grh.dgid = group;
	ah = ibv_create_ah(bench.pd, &way);
	g_assert_nonnull(ah);
	OK(ibv_attach_mcast(b, &group, 0xc001));
	OK(ibv_attach_mcast(b, &group, 0xc001)); /* twice is once */
	OK(ibv_attach_mcast(b, &group, 0xc002));
	bench_fill(&bench, 0, 100, 9);
	from = bench_sge(&bench, 0, 100);
	to = bench_sge(&bench, FAR, 200);
	wr = datagram(&from, ah, 0xffffff);
	for (unsigned i = 0; i < 2; i++) {
		bench_recv(b, 1, &to);
		memset(bench.memory + FAR, 0, 200);
		bench_send(a, &wr);
		g_assert_cmpuint(received(&bench).byte_len, ==, GRH + 100);
		g_assert_cmpmem(bench.memory + FAR + GRH, 100, bench.memory, 100);
		g_assert_cmpint(ibv_destroy_qp(b), ==, EBUSY);
		OK(ibv_detach_mcast(b, &group, (uint16_t)(0xc001 + i)));
	}
	bench_recv(b, 1, &to);
	bench_send(a, &wr);
	(void)bench_expect(bench.cq, 7, IBV_WC_SUCCESS);
	bench_expect_none(bench.cq);
	OK(ibv_destroy_qp(b));
	OK(ibv_destroy_ah(ah));
}

/* A queue pair for datagrams is flushed and used again. */
static void
test_again(void)
{
	struct ibv_ah_attr way;
	struct ibv_sge from, to;
	struct ibv_send_wr wr;
	struct bench bench RI_AT_END(bench_close);
	struct ibv_ah *ah;

	bench_open(&bench);
	struct ibv_qp *qp RI_AT_END(bench_qp_end) = ud_new(&bench);
	way = way_to(bench.context);
	ah = ibv_create_ah(bench.pd, &way);
	from = bench_sge(&bench, 0, 10);
	to = bench_sge(&bench, FAR, 100);
	bench_recv(qp, 1, &to);
	OK(bench_move(qp, IBV_QPS_ERR));
	(void)bench_expect(bench.cq, 1, IBV_WC_WR_FLUSH_ERR);
	wr = datagram(&from, ah, qp->qp_num);
	bench_send(qp, &wr);
	(void)bench_expect(bench.cq, 7, IBV_WC_WR_FLUSH_ERR);
	OK(bench_move(qp, IBV_QPS_RESET));
	bench_raise(qp, NULL, IBV_QPS_RTS);
	bench_recv(qp, 1, &to);
	bench_send(qp, &wr);
	g_assert_cmpuint(received(&bench).src_qp, ==, qp->qp_num);
	OK(ibv_destroy_ah(ah));
}

int
main(int argc, char **argv)
{
	bench_adapter("emul:ib");
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/door/datagrams/datagram", test_datagram);
	g_test_add_func("/door/datagrams/qkeys", test_qkeys);
	g_test_add_func("/door/datagrams/refused", test_refused);
	g_test_add_func("/door/datagrams/groups", test_groups);
	g_test_add_func("/door/datagrams/again", test_again);
	return g_test_run();
}
