/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Completion queues: polling, overflow, stale entries, resizing, arming. */
#include "queue_bench.h"

/* --- completions ------------------------------------------------------------------------- */

static void
test_poll_copies(void)
{
	struct bench b RI_AT_END(tear_down);
	struct vsw_cqe cqe = {.wr_id = 1,
			      .qp_ctx = 2,
			      .byte_len = 3,
			      .inv_stag = 4,
			      .status = 5,
			      .opcode = 6,
			      .flags = RI_WC_RECEIVE,
			      .detail = 8,
			      .src_qpn = 9,
			      .src_addr = {10, 11}};
	struct ri_wc wc;

	set_up(&b, 4, 8);
	g_assert_cmpuint(vsw_poll_cq(b.ucq, &wc, 1), ==, 0);
	g_assert_cmpuint(b.polls, ==, 1);
	b.on_poll = &cqe;
	g_assert_cmpuint(vsw_poll_cq(b.ucq, &wc, 1), ==, 1);
	g_assert_cmpuint(b.polls, ==, 2);
	g_assert_cmpuint(wc.wr_id, ==, 1);
	g_assert_cmpuint(wc.qp_ctx, ==, 2);
	g_assert_cmpuint(wc.byte_len, ==, 3);
	g_assert_cmpuint(wc.inv_stag, ==, 4);
	g_assert_cmpuint(wc.status, ==, 5);
	g_assert_cmpuint(wc.opcode, ==, 6);
	g_assert_cmpuint(wc.flags, ==, RI_WC_RECEIVE);
	g_assert_cmpuint(wc.detail, ==, 8);
	g_assert_cmpuint(wc.src_qpn, ==, 9);
	g_assert_cmpmem(wc.src_addr, 16, cqe.src_addr, 16);
}

static void
test_overflow(void)
{
	struct bench b RI_AT_END(tear_down);
	struct ri_wc wc[8];

	set_up(&b, 4, 4);
	for (guint i = 0; i < 4; i++)
		g_assert_true(complete(&b, i, 0, 0, 0));
	g_assert_cmpuint(vsw_cq_depth(b.ucq), ==, 4);
	g_assert_false(complete(&b, 4, 0, 0, 0));
	g_assert_cmpuint(vsw_poll_cq(b.ucq, wc, 1), ==, 1);
	g_assert_true(complete(&b, 5, 0, 0, 0));
	g_assert_false(complete(&b, 6, 0, 0, 0));
	g_assert_cmpuint(vsw_poll_cq(b.ucq, wc, 8), ==, 4);
	g_assert_cmpuint(wc[3].wr_id, ==, 5);
}

static void
test_indices_wrap(void)
{
	struct bench b RI_AT_END(tear_down);
	struct ri_wc wc[4];

	set_up(&b, 4, 4);
	b.cq.tail = b.cq.head_seen = UINT32_MAX - 5;
	atomic_store(&b.cq.page->tail, b.cq.tail);
	atomic_store(&b.cq.page->head, b.cq.tail);
	/* The user half reads its first position from the page once, when it opens the queue. */
	struct ri_map map;
	vsw_map_cq(&map, &b.cq);
	vsw_user_ops.qp_close(b.uqp);
	vsw_user_ops.cq_close(b.ucq);
	g_assert_cmpint(vsw_user_ops.cq_open(b.rnic, &map, &b.ucq), ==, RI_SUCCESS);
	for (guint i = 0; i < 40; i++) {
		g_assert_cmpuint(vsw_poll_cq(b.ucq, wc, 4), ==, 0);
		g_assert_true(complete(&b, i, 0, 0, 0));
		g_assert_cmpuint(vsw_cq_depth(b.ucq), ==, 1);
		g_assert_cmpuint(vsw_poll_cq(b.ucq, wc, 4), ==, 1);
		g_assert_cmpuint(wc[0].wr_id, ==, i);
	}
	vsw_wq_destroy(&b.sq);
	vsw_wq_destroy(&b.rq);
	qp_open(&b, 4);
}

static void
test_stale_queue_pair(void)
{
	struct bench b RI_AT_END(tear_down);
	struct ri_wc wc[8];
	uint32_t gone = 0;

	set_up(&b, 4, 8);
	for (guint i = 0; i < 4; i++)
		g_assert_cmpint(post(&b, i), ==, RI_SUCCESS);
	gone = b.sq.number;
	g_assert_true(complete(&b, 1, gone, 4, 0));
	qp_shut(&b);
	qp_open(&b, 4);
	g_assert_cmpuint(b.sq.number, !=, gone);
	for (guint i = 0; i < 4; i++)
		g_assert_cmpint(post(&b, i), ==, RI_SUCCESS);
	/* The completion of the destroyed queue can be polled, and releases nothing of the new queue. */
	g_assert_cmpuint(vsw_poll_cq(b.ucq, wc, 8), ==, 1);
	g_assert_cmpuint(wc[0].qp_ctx, ==, 5);
	g_assert_cmpint(post(&b, 5), ==, RI_ERR_QUEUE_FULL);
}

static void
test_numbers_rest(void)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);

	for (guint i = 0; i < 5000; i++) {
		struct vsw_wq wq RI_AT_END(vsw_wq_destroy);
		uint32_t size = 1;
		g_assert_cmpint(vsw_wq_create(&wq, &size, 0, 0), ==, RI_SUCCESS);
		g_assert_cmpuint(wq.number, !=, 0);
		g_assert_true(g_hash_table_add(seen, GUINT_TO_POINTER(wq.number)));
	}
}

static void
test_resize(void)
{
	struct bench b RI_AT_END(tear_down);
	struct ri_wc wc[16];
	struct ri_map map;
	uint32_t entries = 16;

	set_up(&b, 4, 4);
	for (guint i = 0; i < 3; i++)
		g_assert_true(complete(&b, i, 0, 0, 0));
	g_assert_cmpuint(vsw_poll_cq(b.ucq, wc, 1), ==, 1);
	g_assert_cmpint(vsw_cq_resize(&b.cq, &entries), ==, RI_SUCCESS);
	g_assert_cmpuint(entries, ==, 16);
	/* The user half has not yet changed to the new ring: it polls what it can see, each entry once. */
	g_assert_cmpuint(vsw_poll_cq(b.ucq, wc, 1), ==, 1);
	g_assert_cmpuint(wc[0].wr_id, ==, 1);
	for (guint i = 3; i < 16; i++)
		g_assert_true(complete(&b, i, 0, 0, 0));
	vsw_map_cq(&map, &b.cq);
	g_assert_cmpint(vsw_user_ops.cq_remap(b.ucq, &map), ==, RI_SUCCESS);
	g_assert_cmpuint(vsw_cq_depth(b.ucq), ==, 14);
	entries = 4;
	g_assert_cmpint(vsw_cq_resize(&b.cq, &entries), ==, RI_ERR_BUSY);
	g_assert_cmpuint(vsw_poll_cq(b.ucq, wc, 16), ==, 14);
	for (guint i = 0; i < 14; i++)
		g_assert_cmpuint(wc[i].wr_id, ==, i + 2);
	entries = 4;
	g_assert_cmpint(vsw_cq_resize(&b.cq, &entries), ==, RI_SUCCESS);
	vsw_map_cq(&map, &b.cq);
	g_assert_cmpint(vsw_user_ops.cq_remap(b.ucq, &map), ==, RI_SUCCESS);
	for (guint i = 0; i < 4; i++)
		g_assert_true(complete(&b, i, 0, 0, 0));
	g_assert_false(complete(&b, 4, 0, 0, 0));
	g_assert_cmpuint(vsw_poll_cq(b.ucq, wc, 16), ==, 4);
}

/* --- arming ------------------------------------------------------------------------------ */

static void
test_arm_next(void)
{
	struct bench b RI_AT_END(tear_down);
	struct ri_wc wc[4];

	set_up(&b, 4, 8);
	g_assert_true(complete(&b, 1, 0, 0, 0));
	g_assert_cmpuint(b.events, ==, 0); /* not armed */
	g_assert_cmpint(vsw_arm_cq(b.ucq, RI_ARM_NEXT, 0), ==, RI_ERR_NOT_EMPTY);
	g_assert_true(complete(&b, 2, 0, 0, 0));
	g_assert_cmpuint(b.events, ==, 0); /* refused: nothing was armed */
	g_assert_cmpuint(vsw_poll_cq(b.ucq, wc, 4), ==, 2);
	g_assert_cmpint(vsw_arm_cq(b.ucq, RI_ARM_NEXT, 0), ==, RI_SUCCESS);
	g_assert_true(complete(&b, 3, 0, 0, 0));
	g_assert_cmpuint(b.events, ==, 1);
	g_assert_cmpuint(b.last_ctx, ==, 77);
	g_assert_true(complete(&b, 4, 0, 0, 0));
	g_assert_cmpuint(b.events, ==, 1); /* one shot */
	g_assert_cmpuint(vsw_poll_cq(b.ucq, wc, 4), ==, 2);
	g_assert_cmpint(vsw_arm_cq(b.ucq, RI_ARM_NEXT, 0), ==, RI_SUCCESS);
	g_assert_cmpint(vsw_arm_cq(b.ucq, RI_ARM_NONE, 0), ==, RI_SUCCESS);
	g_assert_true(complete(&b, 5, 0, 0, 0));
	g_assert_cmpuint(b.events, ==, 1); /* disarmed */
}

/* What an upcall of any arming, or a refusal of this one, has reported does not count any more, polled or not. */
static void
test_arm_unreported(void)
{
	struct bench b RI_AT_END(tear_down);
	struct ri_wc wc[4];

	set_up(&b, 4, 8);
	g_assert_cmpint(vsw_arm_cq(b.ucq, RI_ARM_UNREPORTED, 0), ==, RI_SUCCESS);
	g_assert_true(complete(&b, 1, 0, 0, 0));
	g_assert_cmpuint(b.events, ==, 1);
	g_assert_cmpint(vsw_arm_cq(b.ucq, RI_ARM_UNREPORTED, 0), ==,
			RI_SUCCESS); /* it is still there */
	g_assert_true(complete(&b, 2, 0, 0, 0));
	g_assert_cmpuint(b.events, ==, 2);
	g_assert_true(complete(&b, 3, 0, 0, 0)); /* while it is not armed */
	g_assert_cmpint(vsw_arm_cq(b.ucq, RI_ARM_UNREPORTED, 0), ==, RI_ERR_NOT_EMPTY);
	g_assert_cmpint(vsw_arm_cq(b.ucq, RI_ARM_UNREPORTED, 0), ==, RI_SUCCESS);
	g_assert_cmpuint(vsw_poll_cq(b.ucq, wc, 4), ==, 3);
	g_assert_true(complete(&b, 4, 0, 0, 0));
	g_assert_cmpuint(b.events, ==, 3);
	/* What was not reported is gone. */
	g_assert_true(complete(&b, 5, 0, 0, 0));
	g_assert_cmpuint(vsw_poll_cq(b.ucq, wc, 4), ==, 2);
	g_assert_cmpint(vsw_arm_cq(b.ucq, RI_ARM_UNREPORTED, 0), ==, RI_SUCCESS);
	/* The other armings look at what is present, and their refusals report nothing. */
	g_assert_true(complete(&b, 6, 0, 0, 0));
	g_assert_cmpuint(b.events, ==, 4);
	g_assert_true(complete(&b, 7, 0, 0, 0));
	g_assert_cmpint(vsw_arm_cq(b.ucq, RI_ARM_NEXT, 0), ==, RI_ERR_NOT_EMPTY);
	g_assert_cmpint(vsw_arm_cq(b.ucq, RI_ARM_UNREPORTED, 0), ==, RI_ERR_NOT_EMPTY);
	g_assert_cmpint(vsw_arm_cq(b.ucq, RI_ARM_COUNT, 3), ==, RI_SUCCESS);
	g_assert_true(complete(&b, 8, 0, 0, 0));
	g_assert_cmpuint(b.events, ==, 5);
	g_assert_cmpint(vsw_arm_cq(b.ucq, RI_ARM_UNREPORTED, 0), ==, RI_SUCCESS);
}

static void
test_arm_solicited(void)
{
	struct bench b RI_AT_END(tear_down);
	struct ri_wc wc[4];

	set_up(&b, 4, 8);
	g_assert_true(complete(&b, 1, 0, 0, 0));
	g_assert_cmpint(vsw_arm_cq(b.ucq, RI_ARM_SOLICITED, 0), ==, RI_SUCCESS);
	g_assert_true(complete(&b, 2, 0, 0, 0));
	g_assert_cmpuint(b.events, ==, 0);
	g_assert_true(complete(&b, 3, 0, 0, RI_WC_SOLICITED));
	g_assert_cmpuint(b.events, ==, 1);
	g_assert_cmpint(vsw_arm_cq(b.ucq, RI_ARM_SOLICITED, 0), ==, RI_ERR_NOT_EMPTY);
	g_assert_cmpuint(vsw_poll_cq(b.ucq, wc, 2), ==, 2);
	g_assert_cmpint(vsw_arm_cq(b.ucq, RI_ARM_SOLICITED, 0), ==, RI_ERR_NOT_EMPTY);
	g_assert_cmpuint(vsw_poll_cq(b.ucq, wc, 2), ==, 1);
	g_assert_cmpint(vsw_arm_cq(b.ucq, RI_ARM_SOLICITED, 0), ==, RI_SUCCESS);
}

static void
test_arm_count(void)
{
	struct bench b RI_AT_END(tear_down);
	struct ri_wc wc[4];

	set_up(&b, 4, 8);
	g_assert_cmpint(vsw_arm_cq(b.ucq, RI_ARM_COUNT, 0), ==, RI_ERR_INVALID_ARG);
	g_assert_cmpint(vsw_arm_cq(b.ucq, RI_ARM_COUNT, VSW_ARM_COUNT_MAX + 1), ==,
			RI_ERR_INVALID_ARG);
	g_assert_cmpint(vsw_arm_cq(b.ucq, (enum ri_arm)9, 1), ==, RI_ERR_INVALID_ARG);
	g_assert_true(complete(&b, 1, 0, 0, 0));
	g_assert_cmpint(vsw_arm_cq(b.ucq, RI_ARM_COUNT, 1), ==, RI_ERR_NOT_EMPTY);
	g_assert_cmpint(vsw_arm_cq(b.ucq, RI_ARM_COUNT, 3), ==, RI_SUCCESS);
	g_assert_true(complete(&b, 2, 0, 0, RI_WC_SOLICITED));
	g_assert_cmpuint(b.events, ==, 0);
	/* Polled entries do not count. */
	g_assert_cmpuint(vsw_poll_cq(b.ucq, wc, 1), ==, 1);
	g_assert_true(complete(&b, 3, 0, 0, 0));
	g_assert_cmpuint(b.events, ==, 0);
	g_assert_true(complete(&b, 4, 0, 0, 0));
	g_assert_cmpuint(b.events, ==, 1);
	/* A later call replaces an earlier one. */
	g_assert_cmpuint(vsw_poll_cq(b.ucq, wc, 4), ==, 3);
	g_assert_cmpint(vsw_arm_cq(b.ucq, RI_ARM_COUNT, 3), ==, RI_SUCCESS);
	g_assert_cmpint(vsw_arm_cq(b.ucq, RI_ARM_NEXT, 0), ==, RI_SUCCESS);
	g_assert_true(complete(&b, 5, 0, 0, 0));
	g_assert_cmpuint(b.events, ==, 2);
}

static void
test_sizes_refused(void)
{
	struct vsw_wq wq;
	struct vsw_cq cq;
	uint32_t huge = UINT32_MAX;
	uint32_t fine = 4;

	g_assert_cmpint(vsw_wq_create(&wq, &huge, 1, 0), ==, RI_ERR_LIMIT);
	g_assert_cmpint(vsw_wq_create(&wq, &fine, 1000, 0), ==, RI_ERR_LIMIT);
	g_assert_cmpint(vsw_cq_create(&cq, 0, &huge, NULL), ==, RI_ERR_LIMIT);
	g_assert_cmpint(vsw_cq_create(&cq, 0, &fine, NULL), ==, RI_SUCCESS);
	g_assert_cmpint(vsw_cq_resize(&cq, &huge), ==, RI_ERR_LIMIT);
	vsw_cq_destroy(&cq);
	vsw_cq_destroy(&cq);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/vsw/cq/poll", test_poll_copies);
	g_test_add_func("/vsw/cq/overflow", test_overflow);
	g_test_add_func("/vsw/cq/indices-wrap", test_indices_wrap);
	g_test_add_func("/vsw/cq/stale-queue-pair", test_stale_queue_pair);
	g_test_add_func("/vsw/cq/numbers-rest", test_numbers_rest);
	g_test_add_func("/vsw/cq/resize", test_resize);
	g_test_add_func("/vsw/cq/sizes-refused", test_sizes_refused);
	g_test_add_func("/vsw/arm/next", test_arm_next);
	g_test_add_func("/vsw/arm/unreported", test_arm_unreported);
	g_test_add_func("/vsw/arm/solicited", test_arm_solicited);
	g_test_add_func("/vsw/arm/count", test_arm_count);
	return g_test_run();
}
