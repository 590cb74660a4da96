/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * How streams end. An initiator aborts by a reset; but in peer-to-peer mode, before it has received
 * anything, by a Terminate and a FIN (viw_end.c). Also how a responder aborts that never got the
 * ready-to-receive message, and where the FIN of an orderly end is sent. The peer is a plain socket.
 */

#include "rdmap_terminate.h"
#include "viw_peer.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "viw_qp.h"

static void
open_initiator(struct peer *f, uint8_t rtr)
{
	struct ri_stream how = end_stream(-1, true);

	how.rtr_send = rtr;
	*f = peer_open_by_hand(&how);
}

static void
expect_frame(struct peer *f, enum rdmap_opcode opcode)
{
	uint8_t buf[PEER_FRAME_MAX];
	struct ddp_segment seg = peer_read_frame(f, buf);

	g_assert_cmpint(rdmap_opcode_of(seg.rdmap_control), ==, opcode);
}

/* The ready-to-receive message of this type. */
static void
expect_rtr(struct peer *f, uint8_t type)
{
	if (type == RI_RTR_SEND)
		expect_frame(f, RDMAP_SEND);
	else
		expect_frame(f, type == RI_RTR_READ ? RDMAP_READ_REQUEST : RDMAP_WRITE);
}

/* What the stream of the peer ends with: 0 a FIN, or an errno. Everything before it was read. */
static int
end_of(const struct peer *f)
{
	struct pollfd set = {.fd = f->fd, .events = POLLIN};
	char octet;

	g_assert_cmpint(poll(&set, 1, 60000), ==, 1);
	ssize_t n = recv(f->fd, &octet, 1, MSG_DONTWAIT);
	g_assert_cmpint(n, <=, 0);
	return n == 0 ? 0 : errno;
}

static void
expect_parted(struct peer *f)
{
	peer_expect_terminate(f, 0x0000);
	g_assert_cmpint(end_of(f), ==, 0);
}

static void
test_abort(gconstpointer rtr)
{
	uint8_t type = (uint8_t)GPOINTER_TO_UINT(rtr);
	struct peer f RI_AT_END(peer_close);

	open_initiator(&f, type);
	expect_rtr(&f, type);
	g_assert_cmpint(end_modify(f.end, RI_QPS_ERROR), ==, RI_SUCCESS);
	expect_parted(&f);
	end_wait_event(f.end, RI_EVENT_QP_LLP_RESET, NULL);
	peer_expect_over(&f);
}

/* The queue pair is destroyed before the service thread has begun with the stream. */
static void
test_destroy_at_once(gconstpointer rtr)
{
	uint8_t type = (uint8_t)GPOINTER_TO_UINT(rtr);
	struct ri_stream how = end_stream(-1, true);
	struct peer f RI_AT_END(peer_close) = {0};
	int fd[2];

	f = peer_prepare(node_new_by_hand(), NULL);
	tcp_pair(fd);
	how.fd = fd[0];
	how.rtr_send = type;
	f.fd = fd[1];
	f.crc = true;
	g_assert_cmpint(end_attach(f.end, &how), ==, RI_SUCCESS);
	end_free(&f.end);
	expect_rtr(&f, type);
	expect_parted(&f);
	f.end = end_new(f.node, NULL);
}

/* It lingers for nothing: the FIN of an orderly end that the peer does not answer in time is all that goes out. */
static void
test_late(void)
{
	struct peer f RI_AT_END(peer_close);

	open_initiator(&f, RI_RTR_WRITE);
	expect_frame(&f, RDMAP_WRITE);
	g_assert_cmpint(end_modify(f.end, RI_QPS_CLOSING), ==, RI_SUCCESS);
	vth_advance(f.node->vth, UINT64_C(2000000000));
	end_wait_event(f.end, RI_EVENT_QP_LLP_LOST, NULL);
	g_assert_cmpint(end_of(&f), ==, 0);
	g_assert_cmpint(end_of(&f), ==, 0);
}

static void
hang_up_now(void *arg)
{
	struct peer *f = arg;
	struct pollfd set = {.fd = ((struct viw_qp *)f->end->qp)->stream.fd, .events = POLLRDHUP};

	peer_hang_up(f);
	g_assert_cmpint(poll(&set, 1, 60000), ==, 1);
}

/* The peer's FIN is there when the time is over, and nobody has read it yet, as on a busy machine: it was in time. */
static void
test_in_time(void)
{
	struct peer f;
	struct ri_timer timer = {.fire = hang_up_now, .arg = &f};

	open_initiator(&f, 0);
	const struct ri_host *host = vth_host(f.node->vth);
	/* At the same time as the timer of the end, and before it. */
	host->timer_start(host->self, &timer, host->now(host->self) + VIW_LINGER);
	g_assert_cmpint(end_modify(f.end, RI_QPS_CLOSING), ==, RI_SUCCESS);
	vth_advance(f.node->vth, VIW_LINGER);
	g_assert_cmpuint(node_count(f.end, RI_EVENT_QP_LLP_CLOSE_COMPLETE), ==, 1);
	g_assert_false(vth_logged(f.node->vth, "did not end it"));
	peer_expect_over(&f);
	peer_close(&f);
}

/* The application closes and then aborts: the log says that this end closed, the first cause. */
static void
test_close_then_abort(void)
{
	struct peer f RI_AT_END(peer_close);

	open_initiator(&f, 0);
	g_assert_cmpint(end_modify(f.end, RI_QPS_CLOSING), ==, RI_SUCCESS);
	g_assert_cmpint(end_modify(f.end, RI_QPS_ERROR), ==, RI_SUCCESS);
	peer_expect_over(&f);
	g_assert_true(vth_logged(f.node->vth, "closed by this end"));
	g_assert_false(vth_logged(f.node->vth, "aborted by this end"));
}

/* Without peer-to-peer mode, and when something has come, it is a reset. */
static void
test_reset(gconstpointer rtr)
{
	struct ddp_segment seg = rdmap_untagged(RDMAP_SEND, 1, 0, true);
	uint8_t fpdu[64];
	struct peer f RI_AT_END(peer_close);

	open_initiator(&f, (uint8_t)GPOINTER_TO_UINT(rtr));
	if (GPOINTER_TO_UINT(rtr) != 0) {
		expect_frame(&f, RDMAP_WRITE);
		peer_play(&f, fpdu, rdmap_fpdu_put(fpdu, &seg, true));
		(void)end_wait_ok(f.end, true, 0, NULL);
	}
	g_assert_cmpint(end_modify(f.end, RI_QPS_ERROR), ==, RI_SUCCESS);
	end_wait_event(f.end, RI_EVENT_QP_LLP_RESET, NULL);
	g_assert_cmpint(end_of(&f), ==, ECONNRESET);
}

/* A responder never heard the ready-to-receive message: a reset, one event, and the receives come back. */
static void
test_rtr_in_vain(void)
{
	struct ri_stream how = end_stream(-1, false);

	how.rtr_expect = RI_RTR_WRITE;
	struct peer f RI_AT_END(peer_close) = peer_open_by_hand(&how);
	/* The time limit is not the provider's. */
	vth_advance(f.node->vth, UINT64_C(3600000000000));
	g_assert_cmpint(end_state(f.end), ==, RI_QPS_RTS);
	g_assert_cmpint(end_modify(f.end, RI_QPS_ERROR), ==, RI_SUCCESS);
	end_wait_event(f.end, RI_EVENT_QP_LLP_RESET, NULL);
	g_assert_cmpint(end_of(&f), ==, ECONNRESET);
	peer_expect_over(&f);
	g_assert_cmpuint(node_count(f.end, RI_EVENT_QP_STREAM_UP), ==, 0);
}

/* What the peer gets until the FIN is messages of this opcode and length, the last of them whole. */
static void
expect_whole(struct peer *f, enum rdmap_opcode opcode, uint32_t length)
{
	struct mpa_rules rules = {.crc = f->crc};
	size_t room = (size_t)length * 3;
	g_autofree uint8_t *buf = g_malloc(room);
	struct ddp_segment seg = {0};
	uint32_t total = 0;
	bool fin;
	size_t have = peer_listen(f, buf, room, &fin);

	g_assert_true(fin);
	for (size_t at = 0; at < have;) {
		struct mpa_fpdu fpdu;

		g_assert_cmpint(mpa_fpdu_read(&rules, buf + at, have - at, &fpdu), ==, MPA_OK);
		g_assert_cmpint(ddp_segment_read(fpdu.ulpdu, fpdu.ulpdu_len, fpdu.ulpdu_len, &seg),
				==, DDP_OK);
		g_assert_cmpint(rdmap_opcode_of(seg.rdmap_control), ==, opcode);
		total += (uint32_t)seg.payload_len;
		at += fpdu.size;
	}
	g_assert_true(seg.last);
	g_assert_cmpuint(total, >, 0);
	g_assert_cmpuint(total % length, ==, 0);
}

/* The message that has begun is sent to its end before the FIN, though the socket was full when the end began. */
static void
test_message_whole(gconstpointer is_response)
{
	enum {
		SIZE = 16 << 20 /* more than the buffers of TCP take */
	};
	bool response = GPOINTER_TO_UINT(is_response) != 0;
	struct ri_stream how = end_stream(-1, false);
	uint8_t fpdu[64];
	struct peer f RI_AT_END(peer_close) = peer_prepare(node_new_by_hand(), NULL);
	struct chunk mem RI_AT_END(chunk_free) = chunk_new(f.node, SIZE, ALL_RW);

	struct rdmap_read_request ask = {.sink_stag = 7,
					 .size = SIZE,
					 .source_stag = mem.stag,
					 .source_to = chunk_sge(&mem, 0, SIZE).addr};
	peer_attach(&f, &how, 0);
	if (response)
		peer_play(&f, fpdu, rdmap_read_request_fpdu(fpdu, 1, &ask, true));
	for (unsigned i = 0; !response && i < 2; i++)
		g_assert_cmpint(end_write(f.end, i, &mem, &mem, SIZE), ==, RI_SUCCESS);
	g_assert_cmpint(end_modify(f.end, RI_QPS_CLOSING), ==, RI_SUCCESS);
	expect_whole(&f, response ? RDMAP_READ_RESPONSE : RDMAP_WRITE, SIZE);
	peer_hang_up(&f);
	peer_expect_over(&f);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/iwarp/parting/abort/write", GUINT_TO_POINTER(RI_RTR_WRITE),
			     test_abort);
	g_test_add_data_func("/iwarp/parting/abort/read", GUINT_TO_POINTER(RI_RTR_READ),
			     test_abort);
	g_test_add_data_func("/iwarp/parting/abort/send", GUINT_TO_POINTER(RI_RTR_SEND),
			     test_abort);
	g_test_add_data_func("/iwarp/parting/destroy/send", GUINT_TO_POINTER(RI_RTR_SEND),
			     test_destroy_at_once);
	g_test_add_data_func("/iwarp/parting/destroy/write", GUINT_TO_POINTER(RI_RTR_WRITE),
			     test_destroy_at_once);
	g_test_add_data_func("/iwarp/parting/destroy/read", GUINT_TO_POINTER(RI_RTR_READ),
			     test_destroy_at_once);
	g_test_add_func("/iwarp/parting/late", test_late);
	g_test_add_func("/iwarp/parting/in-time", test_in_time);
	g_test_add_func("/iwarp/parting/close-then-abort", test_close_then_abort);
	g_test_add_data_func("/iwarp/parting/reset/plain", GUINT_TO_POINTER(0), test_reset);
	g_test_add_data_func("/iwarp/parting/reset/spoken-to", GUINT_TO_POINTER(RI_RTR_WRITE),
			     test_reset);
	g_test_add_func("/iwarp/parting/rtr-in-vain", test_rtr_in_vain);
	g_test_add_data_func("/iwarp/parting/message-whole/write", GUINT_TO_POINTER(0),
			     test_message_whole);
	g_test_add_data_func("/iwarp/parting/message-whole/response", GUINT_TO_POINTER(1),
			     test_message_whole);
	return g_test_run();
}
