/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The peer requests Reads and receives nothing, so the socket is full inside a frame. Then its FIN
 * comes. Frames that are already built must be sent completely, since the peer may read again. If
 * it does not, the end is an orderly one nevertheless [WIRE 7.1]. Time is virtual, so a slow
 * machine does not end the wait.
 */
#include "viw_peer.h"

#include <sys/socket.h>

#include "viw_qp.h"

#define SIZE  (1u << 17)
#define READS 4u /* together much more than the sockets take */
#define ALL   (READS * (SIZE + 1000u))
#define ROOM  8192
#define TAG   0x12345678u

static void
set_room(int fd, int option)
{
	int octets = ROOM;

	g_assert_cmpint(setsockopt(fd, SOL_SOCKET, option, &octets, sizeof(octets)), ==, 0);
}

/* Reads under way, whose answers have filled the sockets. */
static void
open_full(struct peer *f)
{
	struct rdmap_read_request m = {.sink_stag = TAG, .size = SIZE};
	struct ri_stream how = end_stream(-1, false);
	gint64 until = node_deadline();
	uint8_t frame[64];
	struct viw_qp *qp;

	*f = peer_open_by_hand(&how);
	qp = (struct viw_qp *)f->end->qp;
	set_room(qp->stream.fd, SO_SNDBUF);
	set_room(f->fd, SO_RCVBUF);
	chunk_fill(&f->mem, 3);
	m.source_stag = f->mem.stag;
	m.source_to = (uintptr_t)f->mem.at;
	for (uint32_t msn = 1; msn <= READS; msn++)
		peer_play(f, frame, rdmap_read_request_fpdu(frame, msn, &m, true));
	while (!atomic_load(&qp->tx.blocked)) {
		(void)f->node->p->fast->progress(f->node->urnic, 64);
		g_assert_cmpint(g_get_monotonic_time(), <, until);
	}
}

/* Whole frames of the answers come, from the first octet on. Returns the octets behind them, up to the FIN. */
static size_t
read_answer(struct peer *f, uint8_t *octets)
{
	struct mpa_rules rules = {.crc = true};
	struct mpa_fpdu fpdu;
	struct ddp_segment seg;
	size_t at = 0;
	uint64_t to = 0;
	bool fin;
	size_t have = peer_listen(f, octets, ALL, &fin);

	g_assert_true(fin);
	while (at < have && mpa_fpdu_read(&rules, octets + at, have - at, &fpdu) == MPA_OK) {
		g_assert_cmpint(ddp_segment_read(fpdu.ulpdu, fpdu.ulpdu_len, fpdu.ulpdu_len, &seg),
				==, DDP_OK);
		if (!seg.tagged)
			break;
		g_assert_cmphex(seg.stag, ==, TAG);
		g_assert_cmpuint(seg.to, ==, to);
		g_assert_cmpmem(seg.payload, seg.payload_len, f->mem.at + to, seg.payload_len);
		to = seg.last ? 0 : to + seg.payload_len;
		at += fpdu.size;
	}
	g_assert_cmpuint(at, >, 0);
	memmove(octets, octets + at, have - at);
	return have - at;
}

static void
test_whole_frames(void)
{
	g_autofree uint8_t *octets = g_malloc(ALL);
	struct peer f RI_AT_END(peer_close);

	open_full(&f);
	g_assert_cmpint(shutdown(f.fd, SHUT_WR), ==, 0);
	g_assert_cmpuint(read_answer(&f, octets), ==, 0);
	end_wait_event(f.end, RI_EVENT_QP_LLP_CLOSE_COMPLETE, NULL);
	peer_expect_over(&f);
}

/* The FIN comes inside a frame of the peer: the Terminate is behind whole frames, so the peer can read it. */
static void
test_terminate(void)
{
	static const uint8_t begin[] = {0, 20, 0x41};
	g_autofree uint8_t *octets = g_malloc(ALL);
	struct mpa_rules rules = {.crc = true};
	struct mpa_fpdu fpdu;
	struct peer f RI_AT_END(peer_close);

	open_full(&f);
	peer_play(&f, begin, sizeof(begin));
	g_assert_cmpint(shutdown(f.fd, SHUT_WR), ==, 0);
	size_t rest = read_answer(&f, octets);
	g_assert_cmpint(mpa_fpdu_read(&rules, octets, rest, &fpdu), ==, MPA_OK);
	g_assert_cmpuint(fpdu.size, ==, rest);
	end_wait_event(f.end, RI_EVENT_QP_BAD_LLP_CLOSE, NULL);
	peer_expect_over(&f);
}

/* The peer reads no more: the wait for it is bounded. */
static void
test_takes_no_more(void)
{
	gint64 until = node_deadline();
	struct peer f RI_AT_END(peer_close);

	open_full(&f);
	g_assert_cmpint(shutdown(f.fd, SHUT_WR), ==, 0);
	while (end_state(f.end) != RI_QPS_CLOSING) {
		node_run(f.node);
		(void)f.node->p->fast->progress(f.node->urnic, 64);
		g_assert_cmpint(g_get_monotonic_time(), <, until);
	}
	vth_advance(f.node->vth, VIW_LINGER - 1);
	node_run(f.node);
	g_assert_cmpuint(node_ends(f.end), ==, 0);
	vth_advance(f.node->vth, 1);
	end_wait_event(f.end, RI_EVENT_QP_LLP_CLOSE_COMPLETE, NULL);
	peer_expect_over(&f);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/iwarp/half-close/whole-frames", test_whole_frames);
	g_test_add_func("/iwarp/half-close/terminate", test_terminate);
	g_test_add_func("/iwarp/half-close/takes-no-more", test_takes_no_more);
	return g_test_run();
}
