/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Shared receive queues over streams: a stream that ends with a receive, or while it waits for one,
 * and a queue that fails. The order of waiters, watermarks and many streams are tested by
 * test-vsw-srq, and by test-itapi-srq-limits over this provider.
 */
#include "viw_node.h"

#include <sys/socket.h>
#include <unistd.h>

#include "rdmap_check.h"
#include "viw_qp.h"

struct fixture {
	struct node *na, *nb; /* shared by the ends of nb */
	struct end *a[2], *b[2];
	struct chunk ma, mb;
};

static void
set_up(struct fixture *f, gconstpointer unused)
{
	(void)unused;
	f->na = node_new();
	f->nb = node_new();
	f->ma = chunk_new(f->na, 1 << 17, ALL_RW);
	f->mb = chunk_new(f->nb, 1 << 17, ALL_RW);
	chunk_fill(&f->ma, 1);
	node_share(f->nb, 16);
}

static void
connect_ends(struct fixture *f, unsigned i)
{
	f->a[i] = end_new(f->na, NULL);
	f->b[i] = end_new(f->nb, NULL);
	ends_connect(f->a[i], f->b[i], true);
}

static void
tear_down(struct fixture *f, gconstpointer unused)
{
	(void)unused;
	for (unsigned i = 0; i < 2; i++) {
		if (f->a[i] != NULL)
			end_free(&f->a[i]);
		if (f->b[i] != NULL)
			end_free(&f->b[i]);
	}
	node_unshare(f->nb);
	chunk_free(&f->ma);
	chunk_free(&f->mb);
	node_free(&f->na);
	node_free(&f->nb);
}

static bool
is_catastrophe(const struct ri_async_event *event, const void *node)
{
	return event->event == RI_EVENT_SRQ_CATASTROPHIC && event->object == RI_OBJECT_SRQ &&
	       event->ctx == (uintptr_t)node;
}

/* The message has arrived and waits for a receive. */
static void
until_waiting(struct end *end, struct end *other)
{
	struct vsw_srq_member *member = &((struct viw_qp *)end->qp)->rx.member;
	gint64 until = node_deadline();
	bool waits = false;

	while (!waits) {
		g_assert_cmpint(g_get_monotonic_time(), <, until);
		ends_run(other, end, 1);
		vsw_lock(&member->srq->lock);
		waits = member->waits;
		vsw_unlock(&member->srq->lock);
	}
}

/*
 * Have the octets arrived? They are read while the provider may write them; that race belongs to direct placement, so
 * ThreadSanitizer does not watch it.
 */
__attribute__((no_sanitize("thread"), noinline)) static bool
has_come(const uint8_t *at, const uint8_t *expected, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++) {
		if (*(const volatile uint8_t *)&at[i] != expected[i])
			return false;
	}
	return true;
}

/*
 * A stream ends in the middle of a message: the receive that it took is flushed to its queue pair, the others stay
 * for other members.
 */
static void
test_flush_of_taken(struct fixture *f, gconstpointer unused)
{
	struct ddp_segment seg = rdmap_untagged(RDMAP_SEND, 1, 0, false);
	uint8_t fpdu[256];
	int fd[2];
	struct ri_wc wc;

	(void)unused;
	connect_ends(f, 1);
	f->b[0] = end_new(f->nb, NULL);
	tcp_pair(fd);
	struct ri_stream s = end_stream(fd[0], false);
	g_assert_cmpint(end_attach(f->b[0], &s), ==, RI_SUCCESS);
	end_wait_event(f->b[0], RI_EVENT_QP_STREAM_UP, NULL);
	node_post(f->nb, 7, &f->mb, 0, 500);
	node_post(f->nb, 8, &f->mb, 500, 500);
	seg.payload = f->ma.at;
	seg.payload_len = 100;
	uint32_t len = rdmap_fpdu_put(fpdu, &seg, true);
	g_assert_cmpint(send(fd[1], fpdu, len, 0), ==, len);
	for (unsigned i = 0; i < 10000 && !has_come(f->mb.at, f->ma.at, 100); i++)
		ends_run(f->b[0], f->b[1], 5);
	g_assert_true(has_come(f->mb.at, f->ma.at, 100));
	g_assert_false(end_poll(f->b[0], true, &wc));
	close(fd[1]);
	wc = end_wait(f->b[0], true, NULL);
	g_assert_cmpuint(wc.status, ==, RI_WC_FLUSHED);
	g_assert_cmpuint(wc.wr_id, ==, 7);
	g_assert_false(end_poll(f->b[0], true, &wc));
	g_assert_cmpint(end_send(f->a[1], 1, &f->ma, 0, 50), ==, RI_SUCCESS);
	(void)end_wait_ok(f->b[1], true, 8, f->a[1]);
}

/* The member that waits longest ends; the next gets the receive. */
static void
test_first_goes(struct fixture *f, gconstpointer unused)
{
	(void)unused;
	for (unsigned way = 0; way < 3; way++) {
		for (unsigned i = 0; i < 2; i++) {
			connect_ends(f, i);
			g_assert_cmpint(end_send(f->a[i], i, &f->ma, 0, 100), ==, RI_SUCCESS);
			until_waiting(f->b[i], f->a[i]);
		}
		if (way == 0) {
			end_free(&f->b[0]);
			f->b[0] = NULL;
		} else if (way == 1) {
			end_free(&f->a[0]);
			f->a[0] = NULL;
			/* Its message has arrived; its wait ends with the stream. */
			for (unsigned i = 0; i < 12000 && node_ends(f->b[0]) == 0; i++)
				ends_run(f->b[0], f->b[1], 5);
			g_assert_cmpuint(node_ends(f->b[0]), ==, 1);
		} else {
			g_assert_cmpint(end_modify(f->b[0], RI_QPS_ERROR), ==, RI_SUCCESS);
		}
		node_post(f->nb, 5, &f->mb, 0, 200);
		(void)end_wait_ok(f->b[1], true, 5, f->a[1]);
		for (unsigned i = 0; i < 2; i++) {
			if (f->a[i] != NULL)
				end_free(&f->a[i]);
			if (f->b[i] != NULL)
				end_free(&f->b[i]);
			f->a[i] = f->b[i] = NULL;
		}
	}
}

static void
test_catastrophe(struct fixture *f, gconstpointer unused)
{
	gint64 until = node_deadline();

	(void)unused;
	connect_ends(f, 0);
	connect_ends(f, 1);
	g_assert_cmpint(end_send(f->a[0], 1, &f->ma, 0, 100), ==, RI_SUCCESS);
	ends_run(f->a[0], f->b[0], 20);
	vsw_srq_fail(&((struct vsw_srq_object *)f->nb->srq)->srq);
	end_wait_event(f->b[0], RI_EVENT_QP_SRQ_ERROR, f->a[0]);
	while (node_count_if(f->nb, is_catastrophe, f->nb) == 0 && g_get_monotonic_time() < until)
		g_usleep(100); /* the service thread raises it */
	g_assert_cmpuint(node_count_if(f->nb, is_catastrophe, f->nb), ==, 1);
	g_assert_cmpint(end_state(f->b[1]), ==, RI_QPS_RTS);
	g_assert_cmpint(end_send(f->a[1], 1, &f->ma, 0, 100), ==, RI_SUCCESS);
	end_wait_event(f->b[1], RI_EVENT_QP_SRQ_ERROR, f->a[1]);
}

int
main(int argc, char **argv)
{
	g_setenv("ITAPI_IWARP_RNR_MS", "60000", TRUE); /* adapters read it when they are opened */
	g_test_init(&argc, &argv, NULL);
	g_test_add("/iwarp/srq/flush-of-taken", struct fixture, NULL, set_up, test_flush_of_taken,
		   tear_down);
	g_test_add("/iwarp/srq/first-goes", struct fixture, NULL, set_up, test_first_goes,
		   tear_down);
	g_test_add("/iwarp/srq/catastrophe", struct fixture, NULL, set_up, test_catastrophe,
		   tear_down);
	return g_test_run();
}
