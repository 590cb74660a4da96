/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A Send must complete before the answer to it is completed: while a thread of the application is
 * in the call that sends, and may have to complete that Send, the service thread does not complete
 * a receive.
 */
#include "viw_peer.h"

#include <sys/socket.h>

#include "viw_complete.h"
#include "viw_qp.h"
#include "viw_tx.h"

#define WATCH 3000  /* us that the service thread has for its mistake */
#define SOON  12000 /* us of the 20 ms that it waits at most */

static uint32_t
received(struct viw_qp *qp)
{
	struct vsw_cq *cq = &qp->recv_cq->cq;

	vsw_lock(&cq->lock);
	uint32_t tail = cq->tail;
	vsw_unlock(&cq->lock);
	return tail;
}

/* Sent as it is: peer_play polls, and a thread that polls completes what it finds. */
static void
answer_play(struct peer *f, uint32_t msn)
{
	uint8_t text[8] = "answer!", frame[64];
	struct ddp_segment s = rdmap_untagged(RDMAP_SEND, msn, 0, true);

	s.payload = text;
	s.payload_len = sizeof(text);
	size_t len = rdmap_fpdu_put(frame, &s, true);
	g_assert_cmpint(send(f->fd, frame, len, MSG_NOSIGNAL), ==, len);
}

static void
sender_begins(struct viw_qp *qp)
{
	while (!vsw_role_take(&qp->tx.role))
		g_usleep(10);
	vsw_role_begin(&qp->tx.role);
}

/* This thread is the sender. It looks once, unless it had no processor for so long that the service thread may have gone on. */
static void
test_sends_first(gconstpointer how)
{
	bool asked =
		how != NULL; /* the service thread does a round that another thread has asked for */
	struct peer f;
	bool seen = false;

	for (unsigned round = 0; !seen && round < 100; round++) {
		f = peer_open(NULL);
		struct viw_qp *qp = peer_qp(&f);
		gint64 begin = g_get_monotonic_time();

		sender_begins(qp);
		if (asked)
			vsw_leader_polled(&qp->rnic->engine.leader);
		answer_play(&f, 1);
		if (asked) {
			atomic_store(&qp->rx.role.retry, 1);
			viw_serve_soon(qp);
		}
		g_usleep(WATCH);
		bool early = received(qp) != 0;
		seen = g_get_monotonic_time() - begin < SOON;
		viw_tx_leave(qp);
		g_assert_false(early && seen);
		g_assert_cmpuint(end_wait_ok(f.end, true, 0, NULL).byte_len, ==, 8);
		peer_close(&f);
	}
	if (!seen)
		g_test_skip("this thread never has a processor for long enough");
}

/* A sender that does not come back holds up nobody without a limit. */
static void
test_bounded(void)
{
	struct peer f RI_AT_END(peer_close) = peer_open(NULL);

	struct viw_qp *qp = peer_qp(&f);
	gint64 deadline = node_deadline();

	sender_begins(qp);
	answer_play(&f, 1);
	while (received(qp) == 0) {
		g_assert_cmpint(g_get_monotonic_time(), <, deadline);
		g_usleep(500);
	}
	viw_tx_leave(qp);
	g_assert_cmpuint(end_wait_ok(f.end, true, 0, NULL).byte_len, ==, 8);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/iwarp/order/sends-first", NULL, test_sends_first);
	g_test_add_data_func("/iwarp/order/sends-first-asked", "", test_sends_first);
	g_test_add_func("/iwarp/order/bounded", test_bounded);
	return g_test_run();
}
