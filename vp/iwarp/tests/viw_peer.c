/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "viw_peer.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rdmap_check.h"
#include "viw_qp.h"

struct peer
peer_prepare(struct node *node, const struct ri_qp_init *init)
{
	struct peer f = {.node = node, .end = end_new(node, init), .fd = -1};

	f.mem = chunk_new(node, 1 << 17, ALL_RW);
	for (unsigned i = 0; i < PEER_RECVS; i++)
		g_assert_cmpint(end_recv(f.end, i, &f.mem, 64 * i, 64), ==, RI_SUCCESS);
	return f;
}

void
peer_attach(struct peer *f, const struct ri_stream *like, int mss)
{
	struct ri_stream s = *like;
	int fd[2];

	tcp_pair_mss(fd, mss);
	s.fd = fd[0];
	f->fd = fd[1];
	f->crc = like->crc;
	f->unmark = NULL;
	g_assert_cmpint(end_attach(f->end, &s), ==, RI_SUCCESS);
	if (s.rtr_expect == 0)
		end_wait_event(f->end, RI_EVENT_QP_STREAM_UP, NULL);
}

struct peer
peer_open_by_hand(const struct ri_stream *like)
{
	const struct ri_stream responder = end_stream(-1, false);
	struct peer f = peer_prepare(node_new_by_hand(), NULL);

	peer_attach(&f, like != NULL ? like : &responder, 0);
	return f;
}

struct peer
peer_open_like(const struct ri_stream *like, int mss)
{
	struct peer f = peer_prepare(node_new(), NULL);

	peer_attach(&f, like, mss);
	return f;
}

struct peer
peer_open(const struct ri_qp_init *init)
{
	struct ri_stream like = end_stream(-1, false);
	struct peer f = peer_prepare(node_new(), init);

	peer_attach(&f, &like, 0);
	return f;
}

void
peer_hang_up(struct peer *f)
{
	close(f->fd);
	f->fd = -1;
}

void
peer_close(struct peer *f)
{
	if (f->fd >= 0)
		peer_hang_up(f);
	end_free(&f->end);
	chunk_free(&f->mem);
	node_free(&f->node);
}

static void
drive(struct peer *f)
{
	if (!f->node->threaded)
		node_run(f->node);
	(void)f->node->p->fast->progress(f->node->urnic, 64);
}

struct viw_qp *
peer_qp(const struct peer *f)
{
	return (struct viw_qp *)f->end->qp;
}

void
peer_drive(struct peer *f, bool (*done)(struct viw_qp *qp))
{
	gint64 until = node_deadline();

	while (!done(peer_qp(f))) {
		vth_run(f->node->vth);
		(void)f->node->p->fast->progress(f->node->urnic, 64);
		g_assert_cmpint(g_get_monotonic_time(), <, until);
	}
}

bool
peer_waits(struct viw_qp *qp)
{
	return atomic_load(&qp->rx.waiting);
}

void
peer_play(struct peer *f, const void *octets, size_t len)
{
	size_t at = 0;

	while (at < len) {
		ssize_t n = send(f->fd, (const uint8_t *)octets + at, len - at,
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n > 0)
			at += (size_t)n;
		else if (n < 0 && errno != EAGAIN)
			return; /* the other side has closed */
		drive(f);
	}
}

size_t
peer_listen(struct peer *f, uint8_t *buf, size_t want, bool *fin)
{
	gint64 until = node_deadline();
	size_t have = 0;

	*fin = false;
	while (have < want) {
		ssize_t n = recv(f->fd, buf + have, want - have, MSG_DONTWAIT);

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

struct ddp_segment
peer_read_frame(struct peer *f, uint8_t *buf)
{
	struct mpa_rules rules = {.crc = true};
	struct mpa_fpdu fpdu;
	struct ddp_segment seg;
	bool fin;
	size_t have = peer_listen(f, buf, MPA_LENGTH_SIZE, &fin);

	g_assert_false(fin);
	size_t size = mpa_fpdu_size(wire_load_be16(buf));
	have += peer_listen(f, buf + have, size - have, &fin);
	g_assert_false(fin);
	g_assert_cmpint(mpa_fpdu_read(&rules, buf, have, &fpdu), ==, MPA_OK);
	g_assert_cmpint(ddp_segment_read(fpdu.ulpdu, fpdu.ulpdu_len, fpdu.ulpdu_len, &seg), ==,
			DDP_OK);
	return seg;
}

void
peer_expect_terminate(struct peer *f, int code)
{
	struct mpa_rules rules = {.crc = f->crc};
	struct mpa_fpdu fpdu;
	struct ddp_segment seg;
	struct rdmap_terminate t;
	uint8_t buf[256];
	bool fin;
	size_t len = peer_listen(f, buf, sizeof(buf), &fin);

	g_assert_true(fin);
	if (f->unmark != NULL)
		len = mpa_unmark(f->unmark, buf, (uint32_t)len);
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

void
peer_expect_over(struct peer *f)
{
	gint64 until = node_deadline();

	while (node_ends(f->end) == 0) {
		drive(f);
		g_assert_cmpint(g_get_monotonic_time(), <, until);
		g_usleep(50);
	}
	g_assert_cmpuint(node_ends(f->end), ==, 1);
	g_assert_cmpint(end_state(f->end), ==, RI_QPS_ERROR);
	for (unsigned i = 0; i < PEER_RECVS; i++)
		g_assert_cmpuint(end_wait(f->end, true, NULL).wr_id, ==, i);
}

void
peer_play_cut(struct peer *f, const uint8_t *octets, size_t len, unsigned how)
{
	size_t at = 0;

	while (at < len) {
		size_t n = how == 0 ? len : how == 1 ? 1 : (size_t)g_random_int_range(1, 40);

		if (n > len - at)
			n = len - at;
		peer_play(f, octets + at, n);
		at += n;
		drive(f);
	}
}
