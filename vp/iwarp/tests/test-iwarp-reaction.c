/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A peer that is a plain socket: it plays frames, right and wrong, whole and in pieces, into a queue
 * pair in RTS, and reads what comes back.
 */

#include "viw_node.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rdmap_check.h"
#include "vectors.h"

struct fixture {
	struct node *node;
	struct end *end;
	struct chunk mem;
	int peer; /* the plain socket; -1: closed */
};

/* A queue pair in RTS that faces a plain socket, with three receives of 64 octets. */
static void
set_up(struct fixture *f, gconstpointer unused)
{
	int fd[2];

	(void)unused;
	f->node = node_new();
	f->end = end_new(f->node, NULL);
	f->mem = chunk_new(f->node, 1 << 17, ALL_RW);
	for (unsigned i = 0; i < 3; i++)
		g_assert_cmpint(end_recv(f->end, i, &f->mem, 64 * i, 64), ==, RI_SUCCESS);
	tcp_pair(fd);
	struct ri_stream s = end_stream(fd[0], false);
	g_assert_cmpint(end_attach(f->end, &s), ==, RI_SUCCESS);
	end_wait_event(f->end, RI_EVENT_QP_STREAM_UP, NULL);
	f->peer = fd[1];
}

static void
tear_down(struct fixture *f, gconstpointer unused)
{
	(void)unused;
	if (f->peer >= 0)
		close(f->peer);
	end_free(f->end);
	chunk_free(&f->mem);
	node_free(f->node);
}

static void
drive(struct fixture *f)
{
	(void)f->node->p->fast->progress(f->node->urnic, 64);
}

static void
play(struct fixture *f, const void *octets, size_t len)
{
	size_t at = 0;

	while (at < len) {
		ssize_t n = send(f->peer, (const uint8_t *)octets + at, len - at,
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n > 0)
			at += (size_t)n;
		else if (n < 0 && errno != EAGAIN)
			return; /* the other side had enough */
		drive(f);
	}
}

/* Read until FIN or until `want` octets are here. Returns octets; *fin: the stream has ended. */
static size_t
listen_to(struct fixture *f, uint8_t *buf, size_t want, bool *fin)
{
	gint64 until = g_get_monotonic_time() + 10 * G_TIME_SPAN_SECOND;
	size_t have = 0;

	*fin = false;
	while (have < want) {
		ssize_t n = recv(f->peer, buf + have, want - have, MSG_DONTWAIT);

		g_assert_cmpint(g_get_monotonic_time(), <, until);
		if (n > 0) {
			have += (size_t)n;
		} else if (n == 0) {
			*fin = true;
			break;
		} else {
			g_assert_cmpint(errno, ==, EAGAIN);
			drive(f);
			g_usleep(20);
		}
	}
	return have;
}

/* What comes back must be one Terminate with this code, then FIN. */
static void
expect_terminate(struct fixture *f, int code)
{
	struct mpa_rules rules = {.crc = true};
	struct mpa_fpdu fpdu;
	struct ddp_segment seg;
	struct rdmap_terminate t;
	uint8_t buf[256];
	bool fin;
	size_t len = listen_to(f, buf, sizeof(buf), &fin);

	g_assert_true(fin);
	g_assert_cmpint(mpa_fpdu_read(&rules, buf, len, &fpdu), ==, MPA_OK);
	g_assert_cmpuint(fpdu.size, ==, len);
	g_assert_cmpint(ddp_segment_read(fpdu.ulpdu, fpdu.ulpdu_len, fpdu.ulpdu_len, &seg), ==,
			DDP_OK);
	g_assert_cmpuint(rdmap_opcode_of(seg.rdmap_control), ==, RDMAP_TERMINATE);
	g_assert_cmpuint(seg.qn, ==, 2);
	g_assert_cmpuint(seg.msn, ==, 1);
	g_assert_true(rdmap_terminate_read(seg.payload, seg.payload_len, &t));
	if (code >= 0)
		g_assert_cmphex(t.code, ==, (guint)code);
}

/* The stream has ended with one event; three receives came back. */
static void
expect_over(struct fixture *f)
{
	gint64 until = g_get_monotonic_time() + 10 * G_TIME_SPAN_SECOND;

	while (node_ends(f->end) == 0) {
		drive(f);
		g_assert_cmpint(g_get_monotonic_time(), <, until);
		g_usleep(50);
	}
	g_assert_cmpuint(node_ends(f->end), ==, 1);
	g_assert_cmpint(end_state(f->end), ==, RI_QPS_ERROR);
	for (unsigned i = 0; i < 3; i++)
		g_assert_cmpuint(end_wait(f->end, true, NULL).wr_id, ==, i);
}

/* How a frame is cut on its way: not at all, octet by octet, or at random places. */
static void
play_cut(struct fixture *f, const uint8_t *octets, size_t len, unsigned how)
{
	size_t at = 0;

	while (at < len) {
		size_t n = how == 0 ? len : how == 1 ? 1 : (size_t)g_random_int_range(1, 40);

		if (n > len - at)
			n = len - at;
		play(f, octets + at, n);
		at += n;
		drive(f);
	}
}

static void
check_accepted(struct fixture *f, const struct vector *v)
{
	uint8_t buf[64];
	bool fin;

	if (strcmp(v->name, "read-zero-length-any-stag") == 0) {
		struct ddp_segment seg;

		g_assert_cmpuint(listen_to(f, buf, 20, &fin), ==, 20);
		g_assert_cmpint(ddp_segment_read(buf + 2, 14, 14, &seg), ==, DDP_OK);
		g_assert_cmphex(seg.rdmap_control, ==, 0x42);
		g_assert_cmphex(seg.stag, ==, 0x55);
		g_assert_cmphex(seg.to, ==, 0x66);
		g_assert_true(seg.last);
	}
	ends_run(f->end, NULL, 5);
	g_assert_cmpint(end_state(f->end), ==, RI_QPS_RTS);
	g_assert_cmpuint(node_ends(f->end), ==, 0);
}

/* The vector presumes a region with its STag: put one of ours in, and the CRC right again. */
static void
name_our_region(struct fixture *f, const struct vector *v)
{
	wire_store_be32(v->octets + 4, f->mem.stag);
	(void)mpa_fpdu_seal(v->octets, (uint32_t)v->len - 6, true);
}

static void
test_negative(gconstpointer which)
{
	struct vectors *all = vectors_load("negative.json");

	for (guint i = 0; i < vectors_count(all); i++) {
		const struct vector *v = vectors_at(all, i);
		struct fixture f;

		if (g_str_has_prefix(v->name, "mpa-"))
			continue;
		set_up(&f, NULL);
		if (strcmp(v->name, "write-to-wrap") == 0)
			name_our_region(&f, v);
		play_cut(&f, v->octets, v->len, GPOINTER_TO_UINT(which));
		if (vector_expects_accept(v)) {
			check_accepted(&f, v);
		} else {
			if (strcmp(v->name, "terminate-on-wrong-qn") != 0) /* never answered */
				expect_terminate(&f, vector_expected_code(v));
			close(f.peer);
			f.peer = -1;
			expect_over(&f);
		}
		tear_down(&f, NULL);
	}
	vectors_free(all);
}

/* A message of each kind, as a peer sends it: a Write, a Send in two segments, a Read Request. */
static GByteArray *
good_stream(struct fixture *f)
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
		struct fixture f;
		uint8_t buf[44];
		bool fin;

		set_up(&f, NULL);
		g_autoptr(GByteArray) all = good_stream(&f);
		play_cut(&f, all->data, all->len, GPOINTER_TO_UINT(which));
		struct ri_wc wc = end_wait_ok(f.end, true, 0, NULL);
		g_assert_cmpuint(wc.byte_len, ==, 48);
		g_assert_cmpmem(f.mem.at, 24, f.mem.at + 4096, 24);
		g_assert_cmpuint(f.mem.at[47], ==, '0' + 47);
		g_assert_cmpuint(listen_to(&f, buf, sizeof(buf), &fin), ==, sizeof(buf));
		g_assert_cmpmem(buf + 16, 24, f.mem.at, 24);
		tear_down(&f, NULL);
	}
}

/* FIN or RST behind every octet of a good stream: one end event, of the right kind. */
static void
test_end_at_every_octet(gconstpointer reset)
{
	const struct linger linger = {.l_onoff = 1, .l_linger = 0};
	struct fixture f;

	set_up(&f, NULL);
	GByteArray *all = good_stream(&f);
	guint total = all->len;
	g_byte_array_unref(all);
	tear_down(&f, NULL);
	for (guint len = 0; len <= total; len++) {
		set_up(&f, NULL);
		all = good_stream(&f);
		play(&f, all->data, len);
		bool boundary = len == 0 || len == 44 || len == 100 || len == 144 || len == total;
		g_byte_array_unref(all);
		if (GPOINTER_TO_INT(reset)) {
			ends_run(f.end, NULL, 1);
			setsockopt(f.peer, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
			close(f.peer);
			f.peer = -1;
			end_wait_event(f.end, RI_EVENT_QP_LLP_RESET, NULL);
		} else {
			shutdown(f.peer, SHUT_WR);
			end_wait_event(f.end,
				       boundary ? RI_EVENT_QP_LLP_CLOSE_COMPLETE
						: RI_EVENT_QP_BAD_LLP_CLOSE,
				       NULL);
		}
		expect_over(&f);
		tear_down(&f, NULL);
	}
}

/* Random octets, and good streams with one octet changed: an end or not, but never a crash or a write elsewhere. */
static void
test_garbage(void)
{
	for (unsigned round = 0; round < 150; round++) {
		struct fixture f;

		set_up(&f, NULL);
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
		play_cut(&f, all->data, all->len, 2);
		shutdown(f.peer, SHUT_WR);
		expect_over(&f);
		tear_down(&f, NULL);
	}
}

/* The peer's Terminate, also in siw's order: the event names its code, nothing is answered. */
static void
test_terminate_in(void)
{
	struct fixture f;
	struct ri_qp_attr attr;
	uint8_t frame[RDMAP_TERMINATE_FPDU_MAX], buf[64];
	bool fin;

	set_up(&f, NULL);
	play(&f, frame, rdmap_terminate_code_fpdu(frame, 0x1202, true));
	g_assert_cmpuint(listen_to(&f, buf, sizeof(buf), &fin), ==, 0);
	g_assert_true(fin);
	close(f.peer);
	f.peer = -1;
	end_wait_event(f.end, RI_EVENT_QP_TERMINATE_RECEIVED, NULL);
	expect_over(&f);
	g_assert_cmpint(f.node->p->qp->query(f.end->qp, &attr), ==, RI_SUCCESS);
	g_assert_false(attr.terminate_sent);
	g_assert_cmphex(attr.terminate[0], ==, 0x12);
	tear_down(&f, NULL);
}

/* A peer that never closes after our Terminate, or our FIN: the end comes all the same, by the timer. */
static void
test_silent_peer(gconstpointer terminate)
{
	struct fixture f;

	set_up(&f, NULL);
	g_assert_cmpint(
		end_modify(f.end, GPOINTER_TO_INT(terminate) ? RI_QPS_TERMINATE : RI_QPS_CLOSING),
		==, RI_SUCCESS);
	end_wait_event(f.end,
		       GPOINTER_TO_INT(terminate) ? RI_EVENT_QP_BAD_CLOSE : RI_EVENT_QP_LLP_LOST,
		       NULL);
	expect_over(&f);
	tear_down(&f, NULL);
}

/* RST after the peer's FIN, and data and a Terminate after ours: still an orderly end. */
static void
test_late(gconstpointer which)
{
	struct fixture f;
	uint8_t frame[RDMAP_TERMINATE_FPDU_MAX];

	set_up(&f, NULL);
	g_assert_cmpint(end_modify(f.end, RI_QPS_CLOSING), ==, RI_SUCCESS);
	ends_run(f.end, NULL, 2);
	play(&f, frame, rdmap_terminate_code_fpdu(frame, 0x0000, true));
	if (GPOINTER_TO_INT(which)) {
		const struct linger linger = {.l_onoff = 1, .l_linger = 0};

		setsockopt(f.peer, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	}
	close(f.peer);
	f.peer = -1;
	end_wait_event(f.end, RI_EVENT_QP_LLP_CLOSE_COMPLETE, NULL);
	expect_over(&f);
	tear_down(&f, NULL);
}

int
main(int argc, char **argv)
{
	static const char *const cuts[] = {"whole", "octets", "random"};

	g_test_init(&argc, &argv, NULL);
	for (unsigned i = 0; i < 3; i++) {
		g_autofree char *negative = g_strconcat("/iwarp/negative/", cuts[i], NULL);
		g_autofree char *good = g_strconcat("/iwarp/good/", cuts[i], NULL);

		g_test_add_data_func(negative, GUINT_TO_POINTER(i), test_negative);
		g_test_add_data_func(good, GUINT_TO_POINTER(i), test_cuts);
	}
	g_test_add_data_func("/iwarp/cut-off/fin", GINT_TO_POINTER(0), test_end_at_every_octet);
	g_test_add_data_func("/iwarp/cut-off/rst", GINT_TO_POINTER(1), test_end_at_every_octet);
	g_test_add_func("/iwarp/garbage", test_garbage);
	g_test_add_func("/iwarp/terminate-in", test_terminate_in);
	g_test_add_data_func("/iwarp/silent/closing", GINT_TO_POINTER(0), test_silent_peer);
	g_test_add_data_func("/iwarp/silent/terminate", GINT_TO_POINTER(1), test_silent_peer);
	g_test_add_data_func("/iwarp/late/fin", GINT_TO_POINTER(0), test_late);
	g_test_add_data_func("/iwarp/late/rst", GINT_TO_POINTER(1), test_late);
	return g_test_run();
}
