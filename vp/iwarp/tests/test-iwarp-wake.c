/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * An initiator wakes its peer by Writes of no octets (viw_wake.c). The peer is a plain socket, and
 * time is virtual. To show that nothing was sent, the test posts a Send, which must be the next
 * frame.
 */

#include "viw_peer.h"

#include <poll.h>
#include <sys/socket.h>

#include "viw_qp.h"

#define MS      UINT64_C(1000000)
#define WAKE_MS 50

static const unsigned intervals[] = {50, 200, 800, 3200, 12800}; /* ms */

static struct ri_stream
waking(bool initiator)
{
	struct ri_stream how = end_stream(-1, initiator);

	how.wake_ms = WAKE_MS;
	return how;
}

/* The next frame is a Write of no octets. */
static void
expect_wake(struct peer *f)
{
	uint8_t buf[PEER_FRAME_MAX];
	struct ddp_segment seg = peer_read_frame(f, buf);

	g_assert_cmpint(rdmap_opcode_of(seg.rdmap_control), ==, RDMAP_WRITE);
	g_assert_true(seg.tagged && seg.last);
	g_assert_cmpuint(seg.payload_len, ==, 0);
}

/* The next frame is the Send that is posted now, the first of the stream but `before`. */
static void
expect_silence(struct peer *f, unsigned before)
{
	uint8_t buf[PEER_FRAME_MAX];
	struct ri_wc wc;

	g_assert_cmpint(end_send(f->end, 100 + before, &f->mem, 0, 8), ==, RI_SUCCESS);
	struct ddp_segment seg = peer_read_frame(f, buf);
	g_assert_cmpint(rdmap_opcode_of(seg.rdmap_control), ==, RDMAP_SEND);
	g_assert_cmpuint(seg.msn, ==, before + 1);
	(void)end_wait_ok(f->end, false, 100 + before, NULL);
	g_assert_false(end_poll(f->end, false, &wc));
}

/* The peer sends a message of 8 octets; the queue pair has delivered it. */
static void
peer_speaks(struct peer *f, uint32_t msn)
{
	struct ddp_segment seg = rdmap_untagged(RDMAP_SEND, msn, 0, true);
	uint8_t fpdu[64];

	seg.payload = (const uint8_t *)"12345678";
	seg.payload_len = 8;
	peer_play(f, fpdu, rdmap_fpdu_put(fpdu, &seg, true));
	(void)end_wait_ok(f->end, true, msn - 1, NULL);
}

/* At once, and at growing intervals; then never again. */
static void
test_again(void)
{
	struct ri_stream how = waking(true);
	struct peer f RI_AT_END(peer_close) = peer_open_by_hand(&how);

	expect_wake(&f);
	for (unsigned i = 0; i < G_N_ELEMENTS(intervals); i++) {
		vth_advance(f.node->vth, intervals[i] * MS - 1);
		expect_silence(&f, i);
		vth_advance(f.node->vth, 1);
		expect_wake(&f);
	}
	vth_advance(f.node->vth, UINT64_C(3600000) * MS);
	expect_silence(&f, G_N_ELEMENTS(intervals));
}

/* What has come proves nothing where the responder may speak first, so there is one more; then no more. */
static void
test_answered(void)
{
	struct ri_stream how = waking(true);
	struct peer f RI_AT_END(peer_close) = peer_open_by_hand(&how);

	expect_wake(&f);
	peer_speaks(&f, 1);
	vth_advance(f.node->vth, WAKE_MS * MS);
	expect_wake(&f);
	vth_advance(f.node->vth, UINT64_C(3600000) * MS);
	expect_silence(&f, 0);
}

/* In peer-to-peer mode the responder speaks only after the ready-to-receive message has arrived. */
static void
test_peer_to_peer(void)
{
	struct ri_stream how = waking(true);

	how.rtr_send = RI_RTR_WRITE;
	struct peer f RI_AT_END(peer_close) = peer_open_by_hand(&how);
	expect_wake(&f); /* the ready-to-receive message itself, and nothing behind it */
	expect_silence(&f, 0);
	vth_advance(f.node->vth, WAKE_MS * MS);
	expect_wake(&f);
	peer_speaks(&f, 1);
	vth_advance(f.node->vth, UINT64_C(3600000) * MS);
	expect_silence(&f, 1);
}

static void
test_peer_to_peer_answered(void)
{
	struct ri_stream how = waking(true);

	how.rtr_send = RI_RTR_WRITE;
	struct peer f RI_AT_END(peer_close) = peer_open_by_hand(&how);
	expect_wake(&f);
	peer_speaks(&f, 1);
	vth_advance(f.node->vth, UINT64_C(3600000) * MS);
	expect_silence(&f, 0);
}

/*
 * A thread posts while another owns the sending role, and so only sets the retry flag. If the timer
 * then takes the role as the other releases it, the timer must do that round, even if no peer has
 * to be woken.
 */
static void
test_round_of_others(void)
{
	struct ri_stream how = waking(true);
	uint8_t buf[PEER_FRAME_MAX];

	how.rtr_send = RI_RTR_WRITE;
	struct peer f RI_AT_END(peer_close) = peer_open_by_hand(&how);
	expect_wake(&f);
	peer_speaks(&f, 1);
	struct viw_qp *qp = (struct viw_qp *)f.end->qp;
	g_assert_true(vsw_role_take(&qp->tx.role));
	g_assert_cmpint(end_send(f.end, 7, &f.mem, 0, 8), ==, RI_SUCCESS);
	atomic_store(&qp->tx.role.taken, 0);
	vth_advance(f.node->vth, WAKE_MS * MS);
	struct ddp_segment seg = peer_read_frame(&f, buf);
	g_assert_cmpint(rdmap_opcode_of(seg.rdmap_control), ==, RDMAP_SEND);
	(void)end_wait_ok(f.end, false, 7, NULL);
}

/* While a thread sends, the timer does not disturb it more than 20 times a second: each try sets the role's retry flag. */
static void
test_sender_at_work(void)
{
	struct ri_stream how = waking(true);

	how.rtr_send = RI_RTR_WRITE;
	struct peer f RI_AT_END(peer_close) = peer_open_by_hand(&how);
	expect_wake(&f);
	struct viw_qp *qp = (struct viw_qp *)f.end->qp;
	g_assert_true(vsw_role_take(&qp->tx.role));
	vth_advance(f.node->vth, WAKE_MS * MS);
	for (unsigned tries = 0; tries < 3; tries++) {
		g_assert_cmpuint(atomic_exchange(&qp->tx.role.retry, 0), ==, 1);
		vth_advance(f.node->vth, 50 * MS - 1);
		g_assert_cmpuint(atomic_load(&qp->tx.role.retry), ==, 0);
		vth_advance(f.node->vth, 1);
	}
	atomic_store(&qp->tx.role.taken, 0);
	vth_advance(f.node->vth, 50 * MS);
	expect_wake(&f);
}

/* A request that was posted before the connection is the first frame. */
static void
test_posted_before(void)
{
	struct ri_stream how = waking(true);
	uint8_t buf[PEER_FRAME_MAX];
	struct peer f RI_AT_END(peer_close) = peer_prepare(node_new_by_hand(), NULL);

	g_assert_cmpint(end_send(f.end, 7, &f.mem, 0, 8), ==, RI_SUCCESS);
	peer_attach(&f, &how, 0);
	struct ddp_segment seg = peer_read_frame(&f, buf);
	g_assert_cmpint(rdmap_opcode_of(seg.rdmap_control), ==, RDMAP_SEND);
	(void)end_wait_ok(f.end, false, 7, NULL);
	expect_silence(&f, 1);
	vth_advance(f.node->vth, WAKE_MS * MS);
	expect_wake(&f);
}

/* Neither without being asked to nor as responder. */
static void
expect_never(const struct ri_stream *how)
{
	struct peer f RI_AT_END(peer_close) = peer_open_by_hand(how);

	vth_advance(f.node->vth, UINT64_C(3600000) * MS);
	expect_silence(&f, 0);
}

static void
test_off(void)
{
	struct ri_stream how = end_stream(-1, true);

	expect_never(&how);
	how = waking(false);
	expect_never(&how);
}

/* Not between the segments of a message: the peer reads nothing, so the socket is full when the time comes. */
static void
test_in_a_message(void)
{
	struct ri_stream how = waking(true);
	const uint32_t len = 32 << 20;
	const int small = 65536;
	struct peer f RI_AT_END(peer_close) = peer_open_by_hand(&how);

	expect_wake(&f);
	g_assert_cmpint(setsockopt(f.fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), ==, 0);
	struct chunk big RI_AT_END(chunk_free) = chunk_new(f.node, len, ALL_RW);
	g_assert_cmpint(end_write(f.end, 1, &big, &big, len), ==, RI_SUCCESS);
	for (unsigned i = 0; i < G_N_ELEMENTS(intervals); i++)
		vth_advance(f.node->vth, intervals[i] * MS);
	g_autofree uint8_t *buf = g_malloc(PEER_FRAME_MAX);
	for (uint32_t got = 0; got < len;) {
		struct ddp_segment seg = peer_read_frame(&f, buf);

		g_assert_cmpint(rdmap_opcode_of(seg.rdmap_control), ==, RDMAP_WRITE);
		g_assert_cmphex(seg.stag, ==, big.stag);
		g_assert_cmphex(seg.to, ==, (uintptr_t)big.at + got);
		got += seg.payload_len;
		g_assert_true(seg.last == (got == len));
	}
	(void)end_wait_ok(f.end, false, 1, NULL);
	expect_silence(&f, 0);
}

/* The stream ends before the time comes, and the queue pair is used again or destroyed. */
static void
test_ended(void)
{
	struct ri_stream how = waking(true);
	struct peer f RI_AT_END(peer_close) = peer_open_by_hand(&how);

	peer_hang_up(&f);
	peer_expect_over(&f);
	vth_advance(f.node->vth, WAKE_MS * MS);
	g_assert_cmpint(end_modify(f.end, RI_QPS_IDLE), ==, RI_SUCCESS);
	how.wake_ms = 0;
	peer_attach(&f, &how, 0);
	vth_advance(f.node->vth, UINT64_C(3600000) * MS);
	expect_silence(&f, 0);
	end_free(&f.end);
	f.end = end_new(f.node, NULL);
	vth_advance(f.node->vth, UINT64_C(3600000) * MS);
}

static struct ri_stream
peer_to_peer(void)
{
	struct ri_stream how = waking(true);

	how.rtr_send = RI_RTR_WRITE;
	return how;
}

/* Nothing has come from us that was not read. */
static bool
is_quiet(const struct peer *f)
{
	struct pollfd set = {.fd = f->fd, .events = POLLIN};

	return poll(&set, 1, 0) == 0;
}

/* A peer that has said nothing is woken before the end, which comes after the time. */
static void
test_end_waits(gconstpointer is_terminate)
{
	bool terminate = GPOINTER_TO_UINT(is_terminate) != 0;
	struct ri_stream how = peer_to_peer();
	char octet;
	struct peer f RI_AT_END(peer_close) = peer_open_by_hand(&how);

	expect_wake(&f);
	vth_advance(f.node->vth,
		    (WAKE_MS - 1) * MS); /* the wake that was planned does not end the wait */
	g_assert_cmpint(end_modify(f.end, terminate ? RI_QPS_TERMINATE : RI_QPS_CLOSING), ==,
			RI_SUCCESS);
	vth_advance(f.node->vth, 0);
	expect_wake(&f);
	vth_advance(f.node->vth, WAKE_MS * MS - 1);
	g_assert_true(is_quiet(&f));
	vth_advance(f.node->vth, 1);
	if (terminate)
		peer_expect_terminate(&f, 0x0000);
	g_assert_cmpint(recv(f.fd, &octet, 1, 0), ==, 0);
	peer_hang_up(&f);
	peer_expect_over(&f);
	g_assert_cmpuint(node_count(f.end, RI_EVENT_QP_LLP_CLOSE_COMPLETE), ==, 1);
}

/* The peer has spoken, or it asked for no ready-to-receive message, or nobody wakes it: no end waits. */
static void
test_end_at_once(gconstpointer which)
{
	struct ri_stream how = peer_to_peer();
	bool spoken = GPOINTER_TO_UINT(which) == 0;
	char octet;

	if (GPOINTER_TO_UINT(which) == 1)
		how.rtr_send = 0;
	if (GPOINTER_TO_UINT(which) == 2)
		how.wake_ms = 0;
	struct peer f RI_AT_END(peer_close) = peer_open_by_hand(&how);
	expect_wake(&f);
	if (spoken)
		peer_speaks(&f, 1);
	g_assert_cmpint(end_modify(f.end, RI_QPS_CLOSING), ==, RI_SUCCESS);
	vth_advance(f.node->vth, 0);
	g_assert_cmpint(recv(f.fd, &octet, 1, 0), ==, 0);
	peer_hang_up(&f);
	end_wait_event(f.end, RI_EVENT_QP_LLP_CLOSE_COMPLETE, NULL);
}

/* An end that is begun now waits, behind the ready-to-receive message and a Write that wakes the peer. */
static void
expect_held(struct peer *f)
{
	expect_wake(f);
	g_assert_cmpint(end_modify(f->end, RI_QPS_CLOSING), ==, RI_SUCCESS);
	vth_advance(f->node->vth, 0);
	expect_wake(f);
	g_assert_true(is_quiet(f));
}

/* The peer closes while the end waits: so does this end, and the stream is over. */
static void
test_end_meets_end(void)
{
	struct ri_stream how = peer_to_peer();
	char octet;
	struct peer f RI_AT_END(peer_close) = peer_open_by_hand(&how);

	expect_held(&f);
	g_assert_cmpint(shutdown(f.fd, SHUT_WR), ==, 0);
	peer_expect_over(&f);
	g_assert_cmpint(recv(f.fd, &octet, 1, 0), ==, 0);
	g_assert_cmpuint(node_count(f.end, RI_EVENT_QP_LLP_CLOSE_COMPLETE), ==, 1);
}

/* The stream is aborted while its end waits, and the queue pair is used again. */
static void
test_end_aborted(void)
{
	struct ri_stream how = peer_to_peer();
	struct peer f RI_AT_END(peer_close) = peer_open_by_hand(&how);

	expect_held(&f);
	g_assert_cmpint(end_modify(f.end, RI_QPS_ERROR), ==, RI_SUCCESS);
	peer_expect_terminate(&f, 0x0000);
	peer_expect_over(&f);
	g_assert_cmpint(end_modify(f.end, RI_QPS_IDLE), ==, RI_SUCCESS);
	peer_attach(&f, &how, 0);
	expect_held(&f); /* it waits again */
}

/* Our own responder of plain MPA takes the Write as the first frame, and its application speaks first. */
static void
test_server_first(void)
{
	struct node *na RI_AT_END(node_free) = node_new();
	struct node *nb RI_AT_END(node_free) = node_new();
	struct chunk ma RI_AT_END(chunk_free) = chunk_new(na, 64, ALL_RW);
	struct chunk mb RI_AT_END(chunk_free) = chunk_new(nb, 64, ALL_RW);
	struct end *a RI_AT_END(end_free) = end_new(na, NULL);
	struct end *b RI_AT_END(end_free) = end_new(nb, NULL);
	struct ri_stream sa = waking(true), sb = end_stream(-1, false);
	struct ri_wc wc;
	int fd[2];

	tcp_pair(fd);
	sa.fd = fd[0];
	sb.fd = fd[1];
	sb.await_fpdu = true;
	g_assert_cmpint(end_recv(a, 1, &ma, 0, 64), ==, RI_SUCCESS);
	g_assert_cmpint(end_send(b, 2, &mb, 0, 64), ==, RI_SUCCESS);
	g_assert_cmpint(end_attach(b, &sb), ==, RI_SUCCESS);
	g_assert_cmpint(end_attach(a, &sa), ==, RI_SUCCESS);
	(void)end_wait_ok(a, true, 1, b);
	(void)end_wait_ok(b, false, 2, a);
	g_assert_false(end_poll(a, false, &wc));
	g_assert_false(end_poll(b, true, &wc));
	g_assert_cmpint(end_state(a), ==, RI_QPS_RTS);
	g_assert_cmpint(end_state(b), ==, RI_QPS_RTS);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/iwarp/wake/again", test_again);
	g_test_add_func("/iwarp/wake/answered", test_answered);
	g_test_add_func("/iwarp/wake/peer-to-peer", test_peer_to_peer);
	g_test_add_func("/iwarp/wake/peer-to-peer-answered", test_peer_to_peer_answered);
	g_test_add_func("/iwarp/wake/round-of-others", test_round_of_others);
	g_test_add_func("/iwarp/wake/sender-at-work", test_sender_at_work);
	g_test_add_func("/iwarp/wake/posted-before", test_posted_before);
	g_test_add_func("/iwarp/wake/off", test_off);
	g_test_add_func("/iwarp/wake/in-a-message", test_in_a_message);
	g_test_add_func("/iwarp/wake/ended", test_ended);
	g_test_add_func("/iwarp/wake/server-first", test_server_first);
	g_test_add_data_func("/iwarp/wake/end-waits/fin", GUINT_TO_POINTER(0), test_end_waits);
	g_test_add_data_func("/iwarp/wake/end-waits/terminate", GUINT_TO_POINTER(1),
			     test_end_waits);
	g_test_add_data_func("/iwarp/wake/end-at-once/spoken", GUINT_TO_POINTER(0),
			     test_end_at_once);
	g_test_add_data_func("/iwarp/wake/end-at-once/no-rtr", GUINT_TO_POINTER(1),
			     test_end_at_once);
	g_test_add_data_func("/iwarp/wake/end-at-once/no-wake", GUINT_TO_POINTER(2),
			     test_end_at_once);
	g_test_add_func("/iwarp/wake/end-meets-end", test_end_meets_end);
	g_test_add_func("/iwarp/wake/end-aborted", test_end_aborted);
	return g_test_run();
}
