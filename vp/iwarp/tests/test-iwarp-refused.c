/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The peer, a plain socket, refuses requests by valid and invalid Terminates: the request that a
 * Terminate names must complete as refused, and all others must be flushed (viw_refused.c).
 */

#include "rdmap_terminate.h"
#include "viw_complete.h"
#include "viw_peer.h"
#include "viw_qp.h"
#include "viw_tx.h"

#include <string.h>

#define READS 3
#define ULPDU (DDP_UNTAGGED_SIZE + RDMAP_ATOMIC_REQUEST_SIZE)

/* What the peer has read of a request: its ULPDU. */
struct heard {
	uint8_t octets[ULPDU];
	uint32_t len;
};

static void
hear(struct peer *f, struct heard *heard)
{
	uint8_t buf[PEER_FRAME_MAX];

	(void)peer_read_frame(f, buf);
	heard->len = wire_load_be16(buf);
	g_assert_cmpuint(heard->len, <=, sizeof(heard->octets));
	memcpy(heard->octets, buf + MPA_LENGTH_SIZE, heard->len);
}

static void
open_connected(struct peer *f)
{
	struct ri_stream how = end_stream(-1, true);

	*f = peer_open_by_hand(&how);
}

/* READS Reads of 64 octets each are outstanding, with identifiers from 0; `same`: with one sink and one source. */
static void
open_reading(struct peer *f, bool same, struct heard *heard)
{
	open_connected(f);
	for (unsigned i = 0; i < READS; i++) {
		size_t at = same ? 0 : 1024 * i;
		struct ri_sge sink = chunk_sge(&f->mem, 8192 + at, 64);
		struct ri_sge source = chunk_sge(&f->mem, at, 64);

		post_rdma(f->end, RI_OP_RDMA_READ, i, &sink, &source);
		hear(f, &heard[i]);
	}
}

/* The peer sends a frame with this payload as Terminate, and closes. The connection has ended. */
static void
terminate(struct peer *f, const uint8_t *payload, uint32_t len)
{
	struct ddp_segment seg = rdmap_untagged(RDMAP_TERMINATE, 1, 0, true);
	uint8_t fpdu[128];

	seg.payload = payload;
	seg.payload_len = len;
	peer_play(f, fpdu, rdmap_fpdu_put(fpdu, &seg, true));
	peer_hang_up(f);
	end_wait_event(f->end, RI_EVENT_QP_TERMINATE_RECEIVED, NULL);
	g_assert_cmpuint(node_ends(f->end), ==, 1);
}

/* The payload of a Terminate for a request that was heard. */
static uint32_t
complain(uint8_t *payload, enum rdmap_fault fault, const struct heard *heard)
{
	struct rdmap_offender offender = {
		.ulpdu = heard->octets, .have = heard->len, .ulpdu_len = heard->len};

	return rdmap_terminate_write(payload, fault, &offender);
}

/* `count` completions from identifier `first` on: all flushed but that of `refused`. */
static void
expect_statuses(struct peer *f, unsigned first, unsigned count, int refused,
		enum ri_wc_status status)
{
	struct ri_wc wc;

	for (unsigned i = first; i < first + count; i++) {
		wc = end_wait(f->end, false, NULL);
		g_assert_cmpuint(wc.wr_id, ==, i);
		g_assert_cmpuint(wc.status, ==, (int)i == refused ? status : RI_WC_FLUSHED);
	}
	g_assert_false(end_poll(f->end, false, &wc));
}

static void
test_read(void)
{
	static const struct {
		enum rdmap_fault fault;
		enum ri_wc_status status;
	} faults[] = {
		{RDMAP_FAULT_READ_STAG, RI_WC_REMOTE_ACCESS},
		{RDMAP_FAULT_READ_BOUNDS, RI_WC_REMOTE_ACCESS},
		{RDMAP_FAULT_READ_ACCESS, RI_WC_REMOTE_ACCESS},
		{RDMAP_FAULT_READ_WRAP, RI_WC_REMOTE_ACCESS},
		{RDMAP_FAULT_READS_DISABLED, RI_WC_REMOTE_ACCESS},
		{RDMAP_FAULT_OPCODE, RI_WC_REMOTE_INVALID_REQ},
		{RDMAP_FAULT_IRD, RI_WC_REMOTE_INVALID_REQ},
		{RDMAP_FAULT_NOT_LAST, RI_WC_REMOTE_OPERATION},
		{RDMAP_FAULT_LOCAL, RI_WC_FLUSHED},              /* names no segment */
		{RDMAP_FAULT_CRC, RI_WC_FLUSHED},                /* the same */
		{RDMAP_FAULT_STREAM_CATASTROPHIC, RI_WC_FLUSHED} /* the same */
	};

	for (gsize i = 0; i < G_N_ELEMENTS(faults); i++) {
		for (int which = 0; which < READS; which++) {
			uint8_t payload[RDMAP_TERMINATE_MAX];
			struct heard heard[READS];
			struct peer f RI_AT_END(peer_close);

			open_reading(&f, false, heard);
			terminate(&f, payload, complain(payload, faults[i].fault, &heard[which]));
			expect_statuses(&f, 0, READS, which, faults[i].status);
		}
	}
}

/* The copied Request is reduced to what was not answered. */
static void
test_read_in_part(void)
{
	uint8_t payload[RDMAP_TERMINATE_MAX];
	struct heard heard[READS];
	struct peer f RI_AT_END(peer_close);

	open_reading(&f, false, heard);
	rdmap_read_request_advance(heard[1].octets + DDP_UNTAGGED_SIZE, 24);
	terminate(&f, payload, complain(payload, RDMAP_FAULT_READ_STAG, &heard[1]));
	expect_statuses(&f, 0, READS, 1, RI_WC_REMOTE_ACCESS);
}

/*
 * A Terminate in the form of siw: the control field in its bit order, and the size in place of the
 * MSN in the copied header. If it fits two Reads, neither counts as refused.
 */
static void
test_read_siw(gconstpointer same)
{
	uint8_t payload[RDMAP_TERMINATE_MAX];
	struct heard heard[READS];
	struct peer f RI_AT_END(peer_close);

	open_reading(&f, GPOINTER_TO_INT(same), heard);
	wire_store_be32(heard[1].octets + 10, 64);
	uint32_t len = complain(payload, RDMAP_FAULT_READ_STAG, &heard[1]);
	g_assert_cmphex(payload[0], ==, 0x01);
	g_assert_cmphex(payload[2], ==, 0xe0);
	payload[0] = 0x10;
	payload[2] = 0x07;
	terminate(&f, payload, len);
	expect_statuses(&f, 0, READS, GPOINTER_TO_INT(same) ? -1 : 1, RI_WC_REMOTE_ACCESS);
}

/* A Read that was answered is done, whatever the Terminate says. */
static void
test_read_answered(void)
{
	struct rdmap_read_request m;
	uint8_t payload[RDMAP_TERMINATE_MAX], data[64] = {7}, fpdu[128];
	struct heard heard[READS];
	struct peer f RI_AT_END(peer_close);

	open_reading(&f, false, heard);
	g_assert_true(rdmap_read_request_read(heard[0].octets + DDP_UNTAGGED_SIZE,
					      RDMAP_READ_REQUEST_SIZE, &m));
	struct ddp_segment seg = rdmap_tagged(RDMAP_READ_RESPONSE, m.sink_stag, m.sink_to, true);
	seg.payload = data;
	seg.payload_len = sizeof(data);
	peer_play(&f, fpdu, rdmap_fpdu_put(fpdu, &seg, true));
	terminate(&f, payload, complain(payload, RDMAP_FAULT_READ_STAG, &heard[0]));
	(void)end_wait_ok(f.end, false, 0, NULL);
	expect_statuses(&f, 1, READS - 1, -1, RI_WC_FLUSHED);
}

/* A Terminate that lies: one octet of the copied headers is another. At most one request is taken for refused. */
static void
test_lies(void)
{
	for (unsigned at = 0; at < RDMAP_TERMINATE_MAX; at++) {
		uint8_t payload[RDMAP_TERMINATE_MAX];
		struct heard heard[READS];
		struct peer f RI_AT_END(peer_close);

		open_reading(&f, false, heard);
		uint32_t len = complain(payload, RDMAP_FAULT_READ_STAG, &heard[1]);
		payload[at] ^= 0x55;
		terminate(&f, payload, len);
		unsigned refused = 0;
		for (unsigned i = 0; i < READS; i++) {
			struct ri_wc wc = end_wait(f.end, false, NULL);

			g_assert_cmpuint(wc.wr_id, ==, i);
			g_assert_cmpuint(wc.status, !=, RI_WC_SUCCESS);
			refused += wc.status != RI_WC_FLUSHED;
			g_assert_true(wc.status == RI_WC_FLUSHED || i == 1);
		}
		if (at >= 24) /* the copied Read Request fits none */
			g_assert_cmpuint(refused, ==, 0);
	}
}

static bool
terminated(struct viw_qp *qp)
{
	return viw_qp_state(qp) == RI_QPS_TERMINATE;
}

/* A request fails at this end while the Terminate for the one before it arrives: only the first of them has failed. */
static void
test_own_failure(void)
{
	struct ddp_segment seg = rdmap_untagged(RDMAP_TERMINATE, 1, 0, true);
	uint8_t payload[RDMAP_TERMINATE_MAX], fpdu[128];
	struct peer f RI_AT_END(peer_close);
	struct ri_sge source, sink;
	struct heard heard;
	struct viw_qp *qp;

	open_connected(&f);
	qp = peer_qp(&f);
	source = chunk_sge(&f.mem, 0, 64);
	sink = chunk_sge(&f.mem, 8192, 64);
	post_rdma(f.end, RI_OP_RDMA_READ, 0, &sink, &source);
	hear(&f, &heard);
	g_assert_true(vsw_role_take(&qp->tx.role));
	vsw_role_begin(&qp->tx.role);
	post_rdma(f.end, RI_OP_RDMA_READ, 1, &sink, &source);
	g_assert_true(vsw_wq_take(&qp->tx.sq, qp->tx.wqe, &qp->tx.index));
	seg.payload = payload;
	seg.payload_len = complain(payload, RDMAP_FAULT_READ_STAG, &heard);
	peer_play(&f, fpdu, rdmap_fpdu_put(fpdu, &seg, true));
	peer_drive(&f, terminated);
	viw_sq_started(qp, 0, RI_WC_LOCAL_PROTECTION);
	viw_tx_leave(qp);
	peer_hang_up(&f);
	end_wait_event(f.end, RI_EVENT_QP_TERMINATE_RECEIVED, NULL);
	expect_statuses(&f, 0, 2, 0, RI_WC_REMOTE_ACCESS);
}

/* The header of another request than the Reads: of none that was sent, or of one that does not fit them. */
static void
test_stranger(void)
{
	struct heard heard[READS];

	for (unsigned how = 0; how < 4; how++) {
		uint8_t payload[RDMAP_TERMINATE_MAX];
		struct peer f RI_AT_END(peer_close);
		struct heard other;

		open_reading(&f, false, heard);
		other = heard[1];
		if (how == 0) /* MSN of a Read that was not posted */
			wire_store_be32(other.octets + 10, READS + 1);
		else if (how == 1) /* an Atomic Request */
			other.octets[1] = rdmap_control(RDMAP_ATOMIC_REQUEST);
		else if (how == 2) /* queue of Sends */
			wire_store_be32(other.octets + 6, 0);
		else /* more was answered than asked for */
			rdmap_read_request_advance(other.octets + DDP_UNTAGGED_SIZE, 65);
		/* Of RDMAP_FAULT_OPCODE the Read Request is not copied, so only the DDP header can tell. */
		terminate(&f, payload,
			  complain(payload, how < 3 ? RDMAP_FAULT_OPCODE : RDMAP_FAULT_READ_STAG,
				   &other));
		expect_statuses(&f, 0, READS, -1, RI_WC_FLUSHED);
	}
}

/* Cut at every octet: what is not there whole does not count. */
static void
test_cut(void)
{
	for (uint32_t len = 4; len <= RDMAP_TERMINATE_MAX; len++) {
		uint8_t payload[RDMAP_TERMINATE_MAX];
		struct heard heard[READS];
		struct peer f RI_AT_END(peer_close);

		open_reading(&f, false, heard);
		(void)complain(payload, RDMAP_FAULT_READ_STAG, &heard[2]);
		terminate(&f, payload, len);
		expect_statuses(&f, 0, READS, len >= 24 ? 2 : -1, RI_WC_REMOTE_ACCESS);
	}
}

static void
test_atomic(void)
{
	uint8_t payload[RDMAP_TERMINATE_MAX];
	struct heard heard[2];
	struct peer f RI_AT_END(peer_close);

	open_connected(&f);
	struct ri_sge word = chunk_sge(&f.mem, 0, 8), target = chunk_sge(&f.mem, 64, 8);
	post_rdma(f.end, RI_OP_FETCH_ADD, 0, &word, &target);
	hear(&f, &heard[0]);
	post_rdma(f.end, RI_OP_CMP_SWAP, 1, &word, &target);
	hear(&f, &heard[1]);
	terminate(&f, payload, complain(payload, RDMAP_FAULT_READ_ACCESS, &heard[1]));
	expect_statuses(&f, 0, 2, 1, RI_WC_REMOTE_ACCESS);
}

/* A Write that is larger than the socket takes: TO within it, behind it, and of another region. */
static void
test_write(gconstpointer which)
{
	const uint32_t len = 64 << 20;
	int how = GPOINTER_TO_INT(which);
	uint8_t payload[RDMAP_TERMINATE_MAX];
	struct heard heard = {.len = DDP_TAGGED_SIZE};
	struct peer f RI_AT_END(peer_close);

	open_connected(&f);
	struct chunk big RI_AT_END(chunk_free) = chunk_new(f.node, len, ALL_RW);
	g_assert_cmpint(end_write(f.end, 0, &big, &big, len), ==, RI_SUCCESS);
	g_assert_cmpint(end_write(f.end, 1, &big, &big, 64), ==, RI_SUCCESS);
	struct ddp_segment seg = rdmap_tagged(RDMAP_WRITE, how == 2 ? f.mem.stag : big.stag,
					      (uintptr_t)big.at + (how == 1 ? len : 65000), false);
	(void)ddp_header_put(heard.octets, &seg);
	terminate(&f, payload, complain(payload, RDMAP_FAULT_TAGGED_STAG, &heard));
	expect_statuses(&f, 0, 2, how == 0 ? 0 : -1, RI_WC_REMOTE_ACCESS);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/iwarp/refused/read", test_read);
	g_test_add_func("/iwarp/refused/read-in-part", test_read_in_part);
	g_test_add_data_func("/iwarp/refused/read-siw", GINT_TO_POINTER(0), test_read_siw);
	g_test_add_data_func("/iwarp/refused/read-siw-twice", GINT_TO_POINTER(1), test_read_siw);
	g_test_add_func("/iwarp/refused/read-answered", test_read_answered);
	g_test_add_func("/iwarp/refused/lies", test_lies);
	g_test_add_func("/iwarp/refused/own-failure", test_own_failure);
	g_test_add_func("/iwarp/refused/stranger", test_stranger);
	g_test_add_func("/iwarp/refused/cut", test_cut);
	g_test_add_func("/iwarp/refused/atomic", test_atomic);
	g_test_add_data_func("/iwarp/refused/write", GINT_TO_POINTER(0), test_write);
	g_test_add_data_func("/iwarp/refused/write-behind", GINT_TO_POINTER(1), test_write);
	g_test_add_data_func("/iwarp/refused/write-elsewhere", GINT_TO_POINTER(2), test_write);
	return g_test_run();
}
