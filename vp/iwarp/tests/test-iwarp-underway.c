/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Requests of both sides are outstanding while the queues of the queue pair grow, or while buffers
 * or memory that they need are missing. The peer is a plain socket, time is virtual, and the test
 * is the service thread.
 */
#include "viw_peer.h"

#include <string.h>

#include "viw_qp.h"

#define READS 4u /* IRD and ORD of the stream */

enum {
	PIECE = 8,       /* octets of a Read */
	LARGE = 16 << 20 /* octets; more than the buffers of TCP take */
};

/* The socket takes no more now; the service thread has tried. */
static bool
is_blocked(struct viw_qp *qp)
{
	return atomic_load(&qp->tx.blocked);
}

static bool
has_all_reads(struct viw_qp *qp)
{
	return atomic_load(&qp->reads.irrq_put) - atomic_load(&qp->reads.irrq_got) == READS;
}

/* Request from the peer octets [PIECE * i, PIECE * (i + 1)) of the memory, as its Read number `i`, counted from 0. */
static void
play_read(struct peer *f, unsigned i)
{
	struct rdmap_read_request m = {.sink_stag = 9,
				       .sink_to = PIECE * i,
				       .size = PIECE,
				       .source_stag = f->mem.stag,
				       .source_to = chunk_sge(&f->mem, PIECE * i, PIECE).addr};
	uint8_t fpdu[64];

	peer_play(f, fpdu, rdmap_read_request_fpdu(fpdu, i + 1, &m, true));
}

/* Requests of this end and answers to the peer take turns. */
static void
test_turns(void)
{
	uint8_t buf[PEER_FRAME_MAX];
	struct peer f RI_AT_END(peer_close) = peer_open_by_hand(NULL);

	struct viw_qp *qp = peer_qp(&f);
	g_assert_true(vsw_role_take(&qp->tx.role));
	for (unsigned i = 0; i < READS; i++) {
		play_read(&f, i);
		g_assert_cmpint(end_write(f.end, i, &f.mem, &f.mem, PIECE), ==, RI_SUCCESS);
	}
	peer_drive(&f, has_all_reads);
	atomic_store(&qp->tx.role.taken, 0);
	viw_tx_run(qp);
	bool first = rdmap_opcode_of(peer_read_frame(&f, buf).rdmap_control) == RDMAP_WRITE;
	for (unsigned i = 1; i < 2 * READS; i++) {
		bool write = rdmap_opcode_of(peer_read_frame(&f, buf).rdmap_control) == RDMAP_WRITE;

		g_assert_cmpint(write, ==, first ^ (i % 2 != 0));
	}
}

/* --- queues that grow ------------------------------------------------------------------------- */

/* IRD, ORD and the queues become larger than they were made for. */
static void
grow(struct peer *f)
{
	const struct ri_qp_ops *ops = f->node->p->qp;
	struct ri_qp_attr attr = end_attr(f->end);
	struct ri_map map;

	attr.ird = attr.ord = 4 * READS;
	g_assert_cmpint(ops->modify(f->end->qp, &attr, RI_QP_ATTR_IRD | RI_QP_ATTR_ORD), ==,
			RI_SUCCESS);
	attr = end_attr(f->end);
	attr.max_sq_wr *= 4;
	g_assert_cmpint(ops->resize(f->end->qp, &attr, &map), ==, RI_SUCCESS);
	g_assert_cmpint(f->node->p->user->qp_remap(f->end->uqp, &attr, &map), ==, RI_SUCCESS);
}

/* Post Read `id`, into its own octets of the memory. */
static void
read_post(struct peer *f, unsigned id)
{
	struct ri_sge local = chunk_sge(&f->mem, 1024 + PIECE * id, PIECE);
	struct ri_sge remote = {.stag = 7, .addr = PIECE * id, .length = PIECE};

	post_rdma(f->end, RI_OP_RDMA_READ, id, &local, &remote);
}

/* Take its Request off the wire. */
static struct rdmap_read_request
request_take(struct peer *f, unsigned id)
{
	struct rdmap_read_request m;
	uint8_t buf[PEER_FRAME_MAX];
	struct ddp_segment seg = peer_read_frame(f, buf);

	g_assert_cmpint(rdmap_opcode_of(seg.rdmap_control), ==, RDMAP_READ_REQUEST);
	g_assert_true(rdmap_read_request_read(seg.payload, seg.payload_len, &m));
	g_assert_cmpuint(m.source_to, ==, PIECE * id);
	return m;
}

static struct rdmap_read_request
read_request(struct peer *f, unsigned id)
{
	read_post(f, id);
	return request_take(f, id);
}

/* The octets that the peer answers Read `id` with. */
static void
answer_of(uint8_t *octets, unsigned id)
{
	for (unsigned i = 0; i < PIECE; i++)
		octets[i] = (uint8_t)(16 * id + i + 1);
}

static void
answer(struct peer *f, const struct rdmap_read_request *m, unsigned id)
{
	struct ddp_segment seg = rdmap_tagged(RDMAP_READ_RESPONSE, m->sink_stag, m->sink_to, true);
	uint8_t octets[PIECE], fpdu[64];

	answer_of(octets, id);
	seg.payload = octets;
	seg.payload_len = PIECE;
	peer_play(f, fpdu, rdmap_fpdu_put(fpdu, &seg, true));
}

/* Reads of this end that wait for their answers; the rings have wrapped around before. */
static void
test_reads_of_ours(void)
{
	struct rdmap_read_request m[3 + READS];
	uint8_t octets[PIECE];
	struct peer f RI_AT_END(peer_close) = peer_open_by_hand(NULL);

	for (unsigned id = 0; id < G_N_ELEMENTS(m); id++) {
		m[id] = read_request(&f, id);
		if (id >= 3)
			continue;
		answer(&f, &m[id], id);
		(void)end_wait_ok(f.end, false, id, NULL);
	}
	grow(&f);
	for (unsigned id = 3; id < G_N_ELEMENTS(m); id++) {
		answer(&f, &m[id], id);
		(void)end_wait_ok(f.end, false, id, NULL);
	}
	for (unsigned id = 0; id < G_N_ELEMENTS(m); id++) {
		answer_of(octets, id);
		g_assert_cmpmem(f.mem.at + 1024 + PIECE * id, PIECE, octets, PIECE);
	}
}

/* A Read that finds no place leaves when ORD grows. */
static void
test_read_gets_place(void)
{
	struct rdmap_read_request m[READS + 1];
	struct ri_wc wc;
	struct peer f RI_AT_END(peer_close) = peer_open_by_hand(NULL);

	for (unsigned id = 0; id < READS; id++)
		m[id] = read_request(&f, id);
	read_post(&f, READS);
	g_assert_false(end_poll(f.end, false, &wc));
	grow(&f);
	m[READS] = request_take(&f, READS);
	for (unsigned id = 0; id < G_N_ELEMENTS(m); id++) {
		answer(&f, &m[id], id);
		(void)end_wait_ok(f.end, false, id, NULL);
	}
}

/* A Send with a local fence leaves when the Read before it is complete, and not before. */
static void
test_local_fence(void)
{
	struct ri_wr wr = {
		.wr_id = 1, .opcode = RI_OP_SEND, .flags = RI_WR_SIGNALED | RI_WR_LOCAL_FENCE};
	uint8_t buf[PEER_FRAME_MAX];
	struct ri_wc wc;
	struct peer f RI_AT_END(peer_close) = peer_open_by_hand(NULL);

	struct rdmap_read_request m = read_request(&f, 0);
	g_assert_cmpint(f.node->p->fast->post_sq(f.end->uqp, &wr), ==, RI_SUCCESS);
	g_assert_false(end_poll(f.end, false, &wc));
	g_assert_cmpuint(peer_qp(&f)->tx.send_msn, ==, 1);
	answer(&f, &m, 0);
	(void)end_wait_ok(f.end, false, 0, NULL);
	struct ddp_segment seg = peer_read_frame(&f, buf);
	g_assert_cmpint(rdmap_opcode_of(seg.rdmap_control), ==, RDMAP_SEND);
	(void)end_wait_ok(f.end, false, 1, NULL);
}

/* Reads of the peer that wait for their answers, since the socket is full of a message. */
static void
test_reads_of_the_peer(void)
{
	uint8_t buf[PEER_FRAME_MAX];
	struct peer f RI_AT_END(peer_close) = peer_open_by_hand(NULL);
	struct chunk big RI_AT_END(chunk_free) = chunk_new(f.node, LARGE, ALL_RW);

	for (unsigned i = 0; i < READS; i++)
		answer_of(f.mem.at + PIECE * i, i);
	g_assert_cmpint(end_write(f.end, 1, &big, &big, LARGE), ==, RI_SUCCESS);
	peer_drive(&f, is_blocked);
	for (unsigned i = 0; i < READS; i++)
		play_read(&f, i);
	peer_drive(&f, has_all_reads);
	grow(&f);
	for (unsigned i = 0; i < READS;) {
		struct ddp_segment seg = peer_read_frame(&f, buf);
		uint8_t octets[PIECE];

		if (rdmap_opcode_of(seg.rdmap_control) == RDMAP_WRITE)
			continue;
		answer_of(octets, i);
		g_assert_cmpint(rdmap_opcode_of(seg.rdmap_control), ==, RDMAP_READ_RESPONSE);
		g_assert_cmpuint(seg.stag, ==, 9);
		g_assert_cmpuint(seg.to, ==, PIECE * i);
		g_assert_cmpmem(seg.payload, seg.payload_len, octets, PIECE);
		i++;
	}
	(void)end_wait_ok(f.end, false, 1, NULL);
}

/* --- what is missing -------------------------------------------------------------------------- */

/* What this Terminate is about; its payload lies in `seg`. */
static struct rdmap_terminate
terminate_of(const struct ddp_segment *seg)
{
	struct rdmap_terminate t;

	g_assert_cmpint(rdmap_opcode_of(seg->rdmap_control), ==, RDMAP_TERMINATE);
	g_assert_true(rdmap_terminate_read(seg->payload, seg->payload_len, &t));
	return t;
}

/* The source of a Read that is half answered: the Terminate repeats the Request, reduced to what is not answered. */
static void
test_source_revoked(void)
{
	uint8_t buf[PEER_FRAME_MAX], fpdu[64];
	struct rdmap_read_request rest;
	struct ddp_segment seg;
	uint32_t got = 0;
	struct peer f RI_AT_END(peer_close) = peer_open_by_hand(NULL);

	struct chunk big = chunk_new(f.node, LARGE, ALL_RW);
	const struct rdmap_read_request m = {.sink_stag = 9,
					     .sink_to = 4096,
					     .size = LARGE,
					     .source_stag = big.stag,
					     .source_to = chunk_sge(&big, 0, LARGE).addr};
	peer_play(&f, fpdu, rdmap_read_request_fpdu(fpdu, 1, &m, true));
	peer_drive(&f, is_blocked);
	chunk_free(&big);
	for (;;) {
		seg = peer_read_frame(&f, buf);
		if (rdmap_opcode_of(seg.rdmap_control) != RDMAP_READ_RESPONSE)
			break;
		g_assert_cmpuint(seg.to, ==, m.sink_to + got);
		got += seg.payload_len;
	}
	struct rdmap_terminate t = terminate_of(&seg);
	g_assert_cmphex(t.code, ==, 0x0100);
	g_assert_nonnull(t.rdmap);
	g_assert_true(rdmap_read_request_read(t.rdmap, t.rdmap_len, &rest));
	g_assert_cmpuint(got, >, 0);
	g_assert_cmpuint(rest.size, ==, LARGE - got);
	g_assert_cmpuint(rest.sink_to, ==, m.sink_to + got);
	g_assert_cmpuint(rest.source_to, ==, m.source_to + got);
}

/*
 * A Read with invalidation of its sink fails if the sink cannot be invalidated when the response
 * has arrived. A Send after it has already been sent, and is flushed nevertheless.
 */
static void
test_sink_not_revoked(void)
{
	struct ddp_segment response = rdmap_tagged(RDMAP_READ_RESPONSE, 0, 0, true);
	struct ri_sge sink = {.stag = 0x1234567};
	struct ri_wr wr = {.wr_id = 0,
			   .opcode = RI_OP_RDMA_READ,
			   .flags = RI_WR_SIGNALED | RI_WR_INVALIDATE,
			   .sgl = &sink,
			   .num_sge = 1};
	uint8_t buf[PEER_FRAME_MAX], fpdu[64];
	struct peer f RI_AT_END(peer_close) = peer_open_by_hand(NULL);

	g_assert_cmpint(f.node->p->fast->post_sq(f.end->uqp, &wr), ==, RI_SUCCESS);
	(void)request_take(&f, 0);
	g_assert_cmpint(end_send(f.end, 1, &f.mem, 0, PIECE), ==, RI_SUCCESS);
	struct ddp_segment seg = peer_read_frame(&f, buf);
	g_assert_cmpint(rdmap_opcode_of(seg.rdmap_control), ==, RDMAP_SEND);
	peer_play(&f, fpdu, rdmap_fpdu_put(fpdu, &response, true));
	g_assert_cmpuint(end_wait(f.end, false, NULL).status, ==, RI_WC_LOCAL_MM);
	g_assert_cmpuint(end_wait(f.end, false, NULL).status, ==, RI_WC_FLUSHED);
}

/* A message that has arrived whole finds no receive in time: the Terminate repeats its header. */
static void
test_no_receive(void)
{
	uint8_t buf[PEER_FRAME_MAX], fpdu[64];
	struct peer f RI_AT_END(peer_close) = peer_open_by_hand(NULL);

	for (uint32_t msn = 1; msn <= PEER_RECVS + 1; msn++) {
		struct ddp_segment seg = rdmap_untagged(RDMAP_SEND, msn, 0, true);

		peer_play(&f, fpdu, rdmap_fpdu_put(fpdu, &seg, true));
	}
	peer_drive(&f, peer_waits);
	vth_advance(f.node->vth, peer_qp(&f)->rnic->rnr_ns);
	struct ddp_segment seg = peer_read_frame(&f, buf);
	struct rdmap_terminate t = terminate_of(&seg);
	g_assert_cmphex(t.code, ==, 0x1202);
	g_assert_nonnull(t.ddp);
	g_assert_cmpint(ddp_segment_read(t.ddp, t.ddp_len, t.ddp_len, &seg), ==, DDP_OK);
	g_assert_cmpint(rdmap_opcode_of(seg.rdmap_control), ==, RDMAP_SEND);
	g_assert_cmpuint(seg.msn, ==, PEER_RECVS + 1);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/iwarp/underway/grow/reads-of-ours", test_reads_of_ours);
	g_test_add_func("/iwarp/underway/grow/read-gets-place", test_read_gets_place);
	g_test_add_func("/iwarp/underway/turns", test_turns);
	g_test_add_func("/iwarp/underway/local-fence", test_local_fence);
	g_test_add_func("/iwarp/underway/grow/reads-of-the-peer", test_reads_of_the_peer);
	g_test_add_func("/iwarp/underway/source-revoked", test_source_revoked);
	g_test_add_func("/iwarp/underway/sink-not-revoked", test_sink_not_revoked);
	g_test_add_func("/iwarp/underway/no-receive", test_no_receive);
	return g_test_run();
}
