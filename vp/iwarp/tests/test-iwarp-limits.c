/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Objects that were created at the limits of the profile work: those that it-certify does not create. */

#include "viw_node.h"

#include <string.h>

#include "viw_rnic.h"

#define PIECE 100u /* octets of a segment */

static void
ends_up(struct ends *p, const struct ri_qp_init *init)
{
	ends_open(p);
	ends_fill(p, init, init, VIW_MAX_SGE * PIECE * 2, ALL_RW);
	chunk_fill(&p->ma, 3);
}

/* Pieces of a chunk, with a gap after each. */
static void
pieces(struct ri_sge *sges, const struct chunk *chunk)
{
	for (unsigned i = 0; i < VIW_MAX_SGE; i++)
		sges[i] = chunk_sge(chunk, (size_t)2 * i * PIECE, PIECE);
}

/* The gathered octets were scattered at the peer, and the gaps did not change. */
static void
check_pieces(const struct ends *p)
{
	static const uint8_t none[PIECE];

	for (unsigned i = 0; i < VIW_MAX_SGE; i++) {
		size_t at = (size_t)2 * i * PIECE;

		g_assert_cmpmem(p->mb.at + at, PIECE, p->ma.at + at, PIECE);
		g_assert_cmpmem(p->mb.at + at + PIECE, PIECE, none, PIECE);
	}
}

/* A Send from the greatest number of segments to the greatest number of segments. */
static void
send_pieces(struct ends *p)
{
	struct ri_sge from[VIW_MAX_SGE], into[VIW_MAX_SGE];
	struct ri_recv_wr recv = {.wr_id = 1, .sgl = into, .num_sge = VIW_MAX_SGE};
	struct ri_wr wr = {.wr_id = 2,
			   .sgl = from,
			   .num_sge = VIW_MAX_SGE,
			   .opcode = RI_OP_SEND,
			   .flags = RI_WR_SIGNALED};

	pieces(from, &p->ma);
	pieces(into, &p->mb);
	memset(p->mb.at, 0, p->mb.len);
	g_assert_cmpint(p->nb->p->fast->post_srq(p->nb->usrq, &recv), ==, RI_SUCCESS);
	g_assert_cmpint(p->na->p->fast->post_sq(p->a->uqp, &wr), ==, RI_SUCCESS);
	g_assert_cmpuint(end_wait_ok(p->b, true, 1, p->a).byte_len, ==, VIW_MAX_SGE * PIECE);
	(void)end_wait_ok(p->a, false, 2, p->b);
	check_pieces(p);
}

/* Receives of an S-RQ may have more segments than those of its queue pairs. */
static void
test_segments_shared(void)
{
	struct ends p RI_AT_END(ends_close);
	struct ri_qp_init init;
	struct ri_srq_attr attr = {.max_wr = 4, .max_sge = VIW_MAX_SGE};
	struct ri_map map;

	ends_open(&p);
	init = end_defaults(p.na);
	init.max_send_sge = VIW_MAX_SGE;
	init.max_recv_sge = 1;
	g_assert_cmpint(p.nb->p->srq->create(p.nb->pd, &attr, &p.nb->srq, &map), ==, RI_SUCCESS);
	g_assert_cmpint(p.nb->p->user->srq_open(p.nb->urnic, &map, &p.nb->usrq), ==, RI_SUCCESS);
	ends_fill(&p, &init, &init, VIW_MAX_SGE * PIECE * 2, ALL_RW);
	chunk_fill(&p.ma, 4);
	ends_connect(p.a, p.b, true);
	send_pieces(&p);
}

/* As many outstanding Reads as IRD and ORD allow, and more that wait. */
static void
test_depth(void)
{
	enum {
		READS = 300
	};
	struct ends p RI_AT_END(ends_close);
	int fd[2];
	struct node *node = node_new();
	struct ri_qp_init init = end_defaults(node);

	init.ird = init.ord = node->attr.max_ird;
	init.max_sq_wr = 512;
	node_free(&node);
	ends_up(&p, &init);
	chunk_fill(&p.mb, 9);
	tcp_pair(fd);
	struct ri_stream sa = end_stream(fd[0], true), sb = end_stream(fd[1], false);
	sa.ird = sa.ord = sb.ird = sb.ord = VIW_MAX_DEPTH;
	g_assert_cmpint(end_attach(p.b, &sb), ==, RI_SUCCESS);
	g_assert_cmpint(end_attach(p.a, &sa), ==, RI_SUCCESS);
	end_wait_event(p.a, RI_EVENT_QP_STREAM_UP, p.b);
	end_wait_event(p.b, RI_EVENT_QP_STREAM_UP, p.a);
	for (unsigned i = 0; i < READS; i++) {
		struct ri_sge into = chunk_sge(&p.ma, i * 8, 8), from = chunk_sge(&p.mb, i * 8, 8);

		post_rdma(p.a, RI_OP_RDMA_READ, i, &into, &from);
	}
	for (unsigned i = 0; i < READS; i++)
		(void)end_wait_ok(p.a, false, i, p.b);
	g_assert_cmpmem(p.ma.at, READS * 8, p.mb.at, READS * 8);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/iwarp/limits/segments-shared", test_segments_shared);
	g_test_add_func("/iwarp/limits/depth", test_depth);
	return g_test_run();
}
