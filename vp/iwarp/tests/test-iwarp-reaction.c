/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A plain socket as the peer: it sends valid frames and random octets, whole and in pieces, to a queue pair in RTS, and
 * reads the answers. it-wire tests invalid frames.
 */

#include "viw_peer.h"

#include <string.h>
#include <sys/socket.h>

#include "rdmap_check.h"
#include "vectors.h"

/* A message of each kind: a Write, a Send in two segments, a Read Request. */
static GByteArray *
good_stream(struct peer *f)
{
	GByteArray *all = g_byte_array_new();
	uint8_t text[48], frame[128];
	uint64_t to = (uintptr_t)f->mem.at + 4096;
	struct rdmap_read_request rr = {.sink_stag = 0x1234,
					.sink_to = 0x5678,
					.size = 24,
					.source_stag = f->mem.stag,
					.source_to = to};

	for (unsigned i = 0; i < sizeof(text); i++)
		text[i] = (uint8_t)('0' + i);
	struct ddp_segment w = rdmap_tagged(RDMAP_WRITE, f->mem.stag, to, true);
	w.payload = text;
	w.payload_len = 24;
	g_byte_array_append(all, frame, rdmap_fpdu_put(frame, &w, true));
	struct ddp_segment s = rdmap_untagged(RDMAP_SEND, 1, 0, false);
	s.payload = text;
	s.payload_len = 31;
	g_byte_array_append(all, frame, rdmap_fpdu_put(frame, &s, true));
	s = rdmap_untagged(RDMAP_SEND, 1, 31, true);
	s.payload = text + 31;
	s.payload_len = 17;
	g_byte_array_append(all, frame, rdmap_fpdu_put(frame, &s, true));
	g_byte_array_append(all, frame, rdmap_read_request_fpdu(frame, 1, &rr, true));
	return all;
}

static void
test_cuts(gconstpointer which)
{
	for (unsigned round = 0; round < 30; round++) {
		uint8_t buf[44];
		bool fin;
		struct peer f RI_AT_END(peer_close) = peer_open(NULL);

		g_autoptr(GByteArray) all = good_stream(&f);
		peer_play_cut(&f, all->data, all->len, GPOINTER_TO_UINT(which));
		struct ri_wc wc = end_wait_ok(f.end, true, 0, NULL);
		g_assert_cmpuint(wc.byte_len, ==, 48);
		g_assert_cmpmem(f.mem.at, 24, f.mem.at + 4096, 24);
		g_assert_cmpuint(f.mem.at[47], ==, '0' + 47);
		g_assert_cmpuint(peer_listen(&f, buf, sizeof(buf), &fin), ==, sizeof(buf));
		g_assert_cmpmem(buf + 16, 24, f.mem.at, 24);
	}
}

/* FIN or RST behind every octet of a valid stream: one event of the end, of the right kind. */
static void
test_end_at_every_octet(gconstpointer reset)
{
	const struct linger linger = {.l_onoff = 1, .l_linger = 0};
	struct peer f = peer_open(NULL);

	GByteArray *all = good_stream(&f);
	guint total = all->len;
	g_byte_array_unref(all);
	peer_close(&f);
	for (guint len = 0; len <= total; len++) {
		f = peer_open(NULL);
		all = good_stream(&f);
		peer_play(&f, all->data, len);
		/* Between two messages; not at 100, between the two segments of the Send. */
		bool boundary = len == 0 || len == 44 || len == 144 || len == total;
		g_byte_array_unref(all);
		if (GPOINTER_TO_INT(reset)) {
			ends_run(f.end, NULL, 1);
			setsockopt(f.fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
			peer_hang_up(&f);
			end_wait_event(f.end, RI_EVENT_QP_LLP_RESET, NULL);
		} else {
			shutdown(f.fd, SHUT_WR);
			end_wait_event(f.end,
				       boundary ? RI_EVENT_QP_LLP_CLOSE_COMPLETE
						: RI_EVENT_QP_BAD_LLP_CLOSE,
				       NULL);
		}
		peer_expect_over(&f);
		peer_close(&f);
	}
}

/*
 * Random octets, and valid streams with one octet changed: the connection may end, but there is no crash and no write
 * elsewhere.
 */
static void
test_garbage(void)
{
	for (unsigned round = 0; round < 150; round++) {
		struct peer f RI_AT_END(peer_close) = peer_open(NULL);

		g_autoptr(GByteArray) all = good_stream(&f);
		if (round % 2 == 0) {
			for (guint i = 0; i < all->len; i++)
				all->data[i] = (uint8_t)g_random_int();
			if (round % 4 == 0)
				all->data[0] = 0;
		} else {
			all->data[g_random_int_range(0, (gint)all->len)] ^=
				(uint8_t)(1u << g_random_int_range(0, 8));
		}
		peer_play_cut(&f, all->data, all->len, 2);
		shutdown(f.fd, SHUT_WR);
		peer_expect_over(&f);
	}
}

/* A Terminate of the peer raises its event, a query returns the code that it has, and this end sends nothing back. */
static void
test_terminate_in(void)
{
	struct ri_qp_attr attr;
	uint8_t frame[RDMAP_TERMINATE_FPDU_MAX], buf[64];
	bool fin;
	struct peer f RI_AT_END(peer_close) = peer_open(NULL);

	peer_play(&f, frame, rdmap_terminate_code_fpdu(frame, 0x1202, true));
	g_assert_cmpuint(peer_listen(&f, buf, sizeof(buf), &fin), ==, 0);
	g_assert_true(fin);
	peer_hang_up(&f);
	end_wait_event(f.end, RI_EVENT_QP_TERMINATE_RECEIVED, NULL);
	peer_expect_over(&f);
	g_assert_cmpint(f.node->p->qp->query(f.end->qp, &attr), ==, RI_SUCCESS);
	g_assert_false(attr.terminate_sent);
	g_assert_cmphex(attr.terminate[0], ==, 0x12);
}

/* A peer that does not close after the Terminate, or the FIN, of this end: the timer ends the stream. */
static void
test_silent_peer(gconstpointer terminate)
{
	struct peer f RI_AT_END(peer_close) = peer_open(NULL);

	g_assert_cmpint(
		end_modify(f.end, GPOINTER_TO_INT(terminate) ? RI_QPS_TERMINATE : RI_QPS_CLOSING),
		==, RI_SUCCESS);
	end_wait_event(f.end,
		       GPOINTER_TO_INT(terminate) ? RI_EVENT_QP_BAD_CLOSE : RI_EVENT_QP_LLP_LOST,
		       NULL);
	peer_expect_over(&f);
}

/* RST after the peer's FIN, and data and a Terminate after this end's: still an orderly end. */
static void
test_late(gconstpointer which)
{
	uint8_t frame[RDMAP_TERMINATE_FPDU_MAX];
	struct peer f RI_AT_END(peer_close) = peer_open(NULL);

	g_assert_cmpint(end_modify(f.end, RI_QPS_CLOSING), ==, RI_SUCCESS);
	ends_run(f.end, NULL, 2);
	peer_play(&f, frame, rdmap_terminate_code_fpdu(frame, 0x0000, true));
	if (GPOINTER_TO_INT(which)) {
		const struct linger linger = {.l_onoff = 1, .l_linger = 0};

		setsockopt(f.fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	}
	peer_hang_up(&f);
	end_wait_event(f.end, RI_EVENT_QP_LLP_CLOSE_COMPLETE, NULL);
	peer_expect_over(&f);
}

/* Our Sends with Invalidate are those of the vectors. */
static void
test_invalidate_vectors(gconstpointer name)
{
	struct vectors *all RI_AT_END(vectors_free) = vectors_load("vectors.json");
	const struct vector *v = vectors_find(all, "rev1-crc-basic", name);
	uint32_t flags = strstr(name, "-se-") != NULL ? RI_WR_SOLICITED : 0;
	gsize len = 0;
	g_autofree guint8 *payload = vector_octets(v, "payload", &len);
	uint8_t buf[24], frame[128];
	bool fin;
	struct peer f RI_AT_END(peer_close) = peer_open(NULL);

	for (guint64 msn = 1; msn < vector_number(v, "msn"); msn++) {
		post_send(f.end, msn, NULL, 0);
		g_assert_cmpuint(peer_listen(&f, buf, sizeof(buf), &fin), ==, sizeof(buf));
	}
	if (len > 0)
		memcpy(f.mem.at, payload, len);
	struct ri_sge sge = chunk_sge(&f.mem, 0, len);
	struct ri_wr wr = {.wr_id = 8,
			   .sgl = &sge,
			   .num_sge = 1,
			   .opcode = RI_OP_SEND,
			   .flags = RI_WR_SIGNALED | RI_WR_INVALIDATE | flags,
			   .inv_stag = (uint32_t)vector_number(v, "inval_stag")};
	g_assert_cmpint(f.node->p->fast->post_sq(f.end->uqp, &wr), ==, RI_SUCCESS);
	g_assert_cmpuint(peer_listen(&f, frame, v->len, &fin), ==, v->len);
	g_assert_cmpmem(frame, v->len, v->octets, v->len);
}

/* A message of two segments has its key in the first; the second has another. */
static void
test_first_segment(gconstpointer how)
{
	struct ddp_segment seg = rdmap_untagged(RDMAP_SEND_INVALIDATE, 1, 0, false);
	uint8_t text[20], frames[128];
	uint32_t len;
	struct peer f RI_AT_END(peer_close) = peer_open(NULL);

	memset(text, 'x', sizeof(text));
	struct chunk open RI_AT_END(chunk_free) = chunk_new(f.node, 64, ALL_RW);
	seg.rsvd_ulp = open.stag;
	seg.payload = text;
	seg.payload_len = 12;
	len = rdmap_fpdu_put(frames, &seg, true);
	seg = rdmap_untagged(RDMAP_SEND_INVALIDATE, 1, 12, true);
	seg.rsvd_ulp = 0x12345678;
	seg.payload = text + 12;
	seg.payload_len = 8;
	len += rdmap_fpdu_put(frames + len, &seg, true);
	peer_play_cut(&f, frames, len, GPOINTER_TO_UINT(how));
	struct ri_wc wc = end_wait_ok(f.end, true, 0, NULL);
	g_assert_cmpuint(wc.flags & RI_WC_INVALIDATED, !=, 0);
	g_assert_cmphex(wc.inv_stag, ==, open.stag);
}

/* The next frame is a Read Request with this MSN. */
static void
expect_read_request(struct peer *f, uint32_t msn)
{
	uint8_t buf[PEER_FRAME_MAX];
	struct ddp_segment seg = peer_read_frame(f, buf);

	g_assert_cmpint(rdmap_opcode_of(seg.rdmap_control), ==, RDMAP_READ_REQUEST);
	g_assert_cmpuint(seg.msn, ==, msn);
}

/* A Read waits because as many as ORD are outstanding; it leaves when ORD is raised, although nothing else happens. */
static void
test_ord_raised(void)
{
	struct ri_qp_attr attr = {.ord = 2};
	struct ri_stream how = end_stream(-1, true);

	how.ord = 1;
	struct peer f RI_AT_END(peer_close) = peer_open_by_hand(&how);
	g_assert_cmpint(end_read(f.end, 1, &f.mem, &f.mem, 8), ==, RI_SUCCESS);
	g_assert_cmpint(end_read(f.end, 2, &f.mem, &f.mem, 8), ==, RI_SUCCESS);
	expect_read_request(&f, 1);
	g_assert_cmpint(f.node->p->qp->modify(f.end->qp, &attr, RI_QP_ATTR_ORD), ==, RI_SUCCESS);
	expect_read_request(&f, 2);
}

int
main(int argc, char **argv)
{
	static const char *const cuts[] = {"whole", "octets", "random"};

	g_test_init(&argc, &argv, NULL);
	for (unsigned i = 0; i < 3; i++) {
		g_autofree char *first = g_strconcat("/iwarp/invalidate/first/", cuts[i], NULL);
		g_autofree char *good = g_strconcat("/iwarp/good/", cuts[i], NULL);

		g_test_add_data_func(good, GUINT_TO_POINTER(i), test_cuts);
		g_test_add_data_func(first, GUINT_TO_POINTER(i), test_first_segment);
	}
	g_test_add_data_func("/iwarp/cut-off/fin", GINT_TO_POINTER(0), test_end_at_every_octet);
	g_test_add_data_func("/iwarp/cut-off/rst", GINT_TO_POINTER(1), test_end_at_every_octet);
	g_test_add_data_func("/iwarp/invalidate/vector/plain", "send-invalidate",
			     test_invalidate_vectors);
	g_test_add_data_func("/iwarp/invalidate/vector/solicited", "send-se-invalidate",
			     test_invalidate_vectors);
	g_test_add_func("/iwarp/garbage", test_garbage);
	g_test_add_func("/iwarp/ord/raised", test_ord_raised);
	g_test_add_func("/iwarp/terminate-in", test_terminate_in);
	g_test_add_data_func("/iwarp/silent/closing", GINT_TO_POINTER(0), test_silent_peer);
	g_test_add_data_func("/iwarp/silent/terminate", GINT_TO_POINTER(1), test_silent_peer);
	g_test_add_data_func("/iwarp/late/fin", GINT_TO_POINTER(0), test_late);
	g_test_add_data_func("/iwarp/late/rst", GINT_TO_POINTER(1), test_late);
	return g_test_run();
}
