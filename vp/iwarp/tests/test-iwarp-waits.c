/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A Send that finds no receive waits; a receive that is posted at that moment ends the wait. Three threads: one
 * sends, one posts a receive for each message at about the time when the message arrives, and the service thread
 * reads the stream. The posting thread only reads the depth of its completion queue, which makes no progress, so a
 * message that was forgotten stays undelivered.
 */
#include <glib.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "viw_node.h"

#define MESSAGES 5000
#define BATCH    48 /* completions left in the queue before it is polled */
#define STEPS    64 /* moments of the post within a trip */

struct stage {
	struct node *na;
	struct node *nb;
	struct end *a;
	struct end *b;
	struct chunk ma;
	atomic_uint turn; /* messages that the sender may send */
};

static void *
sender(void *arg)
{
	struct stage *stage = arg;
	const struct ri_fast_ops *fast = stage->na->p->fast;
	struct ri_sge sge = chunk_sge(&stage->ma, 0, 4);
	struct ri_wr wr = {
		.opcode = RI_OP_SEND, .sgl = &sge, .num_sge = 1, .flags = RI_WR_SIGNALED};

	for (guint sent = 0, done = 0; done < MESSAGES;) {
		struct ri_wc wc[16];
		uint32_t got = fast->poll_cq(stage->a->uscq, wc, G_N_ELEMENTS(wc));

		for (uint32_t i = 0; i < got; i++)
			g_assert_cmpint(wc[i].status, ==, RI_WC_SUCCESS);
		done += got;
		if (sent < atomic_load(&stage->turn) &&
		    fast->post_sq(stage->a->uqp, &wr) == RI_SUCCESS)
			sent++;
		else
			sched_yield();
	}
	return NULL;
}

/* Wait until that number of completions is in the queue, without making progress. */
static void
watch_depth(struct end *end, uint32_t depth)
{
	gint64 until = node_deadline();

	for (guint spins = 1; end->node->p->fast->cq_depth(end->urcq) < depth; spins++) {
		if (spins % 2000 != 0)
			continue;
		if (g_get_monotonic_time() > until)
			g_error("a message waits, and so does a receive");
		sched_yield();
	}
}

static void
drain(struct end *end, guint count)
{
	struct ri_wc wc;

	while (count > 0) {
		if (!end_poll(end, true, &wc))
			continue;
		g_assert_cmpint(wc.status, ==, RI_WC_SUCCESS);
		count--;
	}
}

static void
test_receive_ends_wait(void)
{
	struct stage stage = {.na = node_new(), .nb = node_new()};
	pthread_t thread;
	guint left = 0;
	gint64 trip = 0; /* of the latest message for which a receive was posted, microseconds */

	stage.a = end_new(stage.na, NULL);
	stage.b = end_new(stage.nb, NULL);
	stage.ma = chunk_new(stage.na, 64, ALL_RW);
	struct chunk mb = chunk_new(stage.nb, 64, ALL_RW);
	struct ri_sge into = chunk_sge(&mb, 0, 4);
	ends_connect(stage.a, stage.b, false);
	g_assert_cmpint(pthread_create(&thread, NULL, sender, &stage), ==, 0);
	for (guint i = 0; i < MESSAGES; i++) {
		gint64 begun = g_get_monotonic_time();

		atomic_store(&stage.turn, i + 1);
		/* From the beginning of the trip to a little after its end. */
		while (g_get_monotonic_time() - begun < trip * (i % STEPS) / (STEPS / 2))
			;
		post_recv(stage.b, i, &into);
		watch_depth(stage.b, ++left);
		if (i % STEPS == 0)
			trip = MIN(g_get_monotonic_time() - begun, 100);
		if (left < BATCH)
			continue;
		drain(stage.b, left);
		left = 0;
	}
	drain(stage.b, left);
	pthread_join(thread, NULL);
	end_free(&stage.a);
	end_free(&stage.b);
	chunk_free(&stage.ma);
	chunk_free(&mb);
	node_free(&stage.na);
	node_free(&stage.nb);
}

int
main(int argc, char **argv)
{
	/* A wait that no receive ends takes longer than this test. */
	g_assert_true(g_setenv("ITAPI_IWARP_RNR_MS", "600000", TRUE));
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/iwarp/waits/receive-ends-wait", test_receive_ends_wait);
	return g_test_run();
}
