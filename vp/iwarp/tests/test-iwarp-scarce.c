/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Resources that run out: staging buffers, and the kernel's memory for the epoll set. The linker
 * redirects the provider's calls to the functions here (--wrap). Time is virtual, and the test is
 * the service thread.
 */
#include "viw_peer.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "viw_qp.h"

uint8_t *__wrap_viw_pool_get(struct viw_pool *pool);
uint8_t *__real_viw_pool_get(struct viw_pool *pool);
int __wrap_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event);
int __real_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event);

static void (*when_none)(
	void);             /* called once, when a caller is about to learn that the pool is empty */
static bool epoll_is_full; /* nothing can be added to an epoll set */

uint8_t *
__wrap_viw_pool_get(struct viw_pool *pool)
{
	void (*then)(void) = when_none;
	uint8_t *buf = __real_viw_pool_get(pool);

	if (buf != NULL || then == NULL)
		return buf;
	when_none = NULL;
	then();
	return NULL;
}

int
__wrap_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
	if (epoll_is_full && op == EPOLL_CTL_ADD) {
		errno = ENOMEM;
		return -1;
	}
	return __real_epoll_ctl(epfd, op, fd, event);
}

/* --- staging buffers -------------------------------------------------------------------------- */

static struct {
	struct peer *f;
	uint8_t *bufs[VIW_BUF_COUNT];
	unsigned count;
} hoard;

static void
hoard_return_one(void)
{
	viw_engine_give(&peer_qp(hoard.f)->rnic->engine, hoard.bufs[--hoard.count]);
	vth_run(hoard.f->node->vth);
}

/*
 * A sender finds no buffer. Before it records that it needs one, a buffer is returned, and the
 * service thread finds no sender that needs it. So the sender must look for a buffer once more.
 */
static void
test_buffer_returned(void)
{
	uint8_t buf[PEER_FRAME_MAX];
	uint8_t *one;
	struct peer f RI_AT_END(peer_close) = peer_open_by_hand(NULL);

	struct viw_engine *engine = &peer_qp(&f)->rnic->engine;
	/* What the queue pair keeps while streams are few. */
	viw_engine_give(engine, peer_qp(&f)->tx.buf);
	viw_engine_give(engine, peer_qp(&f)->rx.spare);
	peer_qp(&f)->tx.buf = NULL;
	peer_qp(&f)->rx.spare = NULL;
	hoard.f = &f;
	while ((one = viw_pool_get(&engine->pool)) != NULL)
		hoard.bufs[hoard.count++] = one;
	g_assert_cmpuint(hoard.count, ==, VIW_BUF_COUNT);
	when_none = hoard_return_one;
	g_assert_cmpint(end_send(f.end, 7, &f.mem, 0, 8), ==, RI_SUCCESS);
	g_assert_null(when_none);
	vth_run(f.node->vth);
	struct ddp_segment seg = peer_read_frame(&f, buf);
	g_assert_cmpint(rdmap_opcode_of(seg.rdmap_control), ==, RDMAP_SEND);
	(void)end_wait_ok(f.end, false, 7, NULL);
	while (hoard.count > 0)
		viw_engine_give(engine, hoard.bufs[--hoard.count]);
}

/*
 * The pool is low, and a round ends because it has sent enough, not because the socket is full. The
 * frames that the round built last have no markers yet. They must not be set aside into memory
 * without room for markers.
 */
static void
test_markers_aside(void)
{
	enum {
		ROOM = 4 << 20,
		SIZE = 64 << 20 /* dozens of rounds */
	};
	struct ri_stream how = end_stream(-1, false);
	struct mpa_unmark unmark = {.crc = true};
	g_autofree uint8_t *octets = g_malloc(ROOM);
	uint64_t plain = 0;
	struct ri_wc wc;
	struct peer f RI_AT_END(peer_close) = peer_prepare(node_new_by_hand(), NULL);

	how.markers_tx = true;
	peer_attach(&f, &how, 0);
	struct viw_tx *tx = &peer_qp(&f)->tx;
	struct viw_pool *pool = &peer_qp(&f)->rnic->engine.pool;
	struct chunk big RI_AT_END(chunk_free) = chunk_new(f.node, SIZE, ALL_RW);
	for (hoard.count = 0; !viw_pool_is_low(pool); hoard.count++)
		hoard.bufs[hoard.count] = viw_pool_get(pool);
	g_assert_cmpint(end_write(f.end, 1, &big, &big, SIZE), ==, RI_SUCCESS);
	while (!end_poll(f.end, false, &wc)) {
		ssize_t n;

		while ((n = recv(f.fd, octets, ROOM, MSG_DONTWAIT)) > 0)
			plain += mpa_unmark(&unmark, octets, (uint32_t)n);
		g_assert_false(unmark.wrong);
	}
	g_assert_cmpint(wc.status, ==, RI_WC_SUCCESS);
	for (bool fin; plain < tx->queued;) {
		size_t n = peer_listen(&f, octets, 1, &fin);

		plain += mpa_unmark(&unmark, octets, (uint32_t)n);
	}
	g_assert_cmpuint(plain, ==, tx->queued);
	g_assert_false(unmark.wrong);
	while (hoard.count > 0)
		viw_engine_give(&peer_qp(&f)->rnic->engine, hoard.bufs[--hoard.count]);
}

/* --- the epoll set ---------------------------------------------------------------------------- */

/*
 * The polling ends, and a socket that was read only by polls cannot be added to the epoll set
 * again. Its stream must end, because no thread would read what the peer sends.
 */
static void
test_not_watched_again(void)
{
	struct ddp_segment seg = rdmap_untagged(RDMAP_SEND, 1, 0, true);
	uint8_t fpdu[64];
	struct peer f RI_AT_END(peer_close) = peer_open_by_hand(NULL);

	uint32_t size = rdmap_fpdu_put(fpdu, &seg, true);
	g_assert_cmpint(send(f.fd, fpdu, size, MSG_NOSIGNAL), ==, size);
	atomic_store(&peer_qp(&f)->engine.polled, 64); /* as many messages were found by polls */
	(void)end_wait_ok(f.end, true, 0, NULL);
	g_assert_true(peer_qp(&f)->engine.unwatched);
	epoll_is_full = true;
	vth_advance(f.node->vth, UINT64_C(10000000));
	epoll_is_full = false;
	g_assert_cmpuint(node_count(f.end, RI_EVENT_QP_LLP_LOST), ==, 1);
	g_assert_cmpuint(node_ends(f.end), ==, 1);
}

/* A new stream cannot be added: it ends with an event, too. */
static void
test_not_watched(void)
{
	struct ri_stream how;
	int fd[2];
	struct peer f RI_AT_END(peer_close) = peer_prepare(node_new_by_hand(), NULL);

	tcp_pair(fd);
	how = end_stream(fd[0], false);
	f.fd = fd[1];
	epoll_is_full = true;
	g_assert_cmpint(end_attach(f.end, &how), ==, RI_SUCCESS);
	vth_run(f.node->vth);
	epoll_is_full = false;
	g_assert_cmpuint(node_count(f.end, RI_EVENT_QP_LLP_LOST), ==, 1);
	peer_expect_over(&f);
	g_assert_cmpuint(node_count(f.end, RI_EVENT_QP_STREAM_UP), ==, 0);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/iwarp/scarce/buffer-returned", test_buffer_returned);
	g_test_add_func("/iwarp/scarce/markers-aside", test_markers_aside);
	g_test_add_func("/iwarp/scarce/not-watched-again", test_not_watched_again);
	g_test_add_func("/iwarp/scarce/not-watched", test_not_watched);
	return g_test_run();
}
