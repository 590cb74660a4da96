/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Queues at their limits: the least that is refused, the most that is granted. */
#include "queue_bench.h"
#include "vsw_number.h"

/* --- work queues ------------------------------------------------------------------------- */

/* Every segment arrives, also the last one of an entry whose size is no power of two. */
static void
test_last_segment(void)
{
	union {
		struct vsw_wqe wqe;
		uint8_t room[sizeof(struct vsw_wqe) + 5 * sizeof(struct ri_sge)];
	} room;
	struct vsw_wq wq RI_AT_END(vsw_wq_destroy);
	uint32_t size = 8; /* the first two are used */
	uint32_t index;

	g_assert_cmpint(vsw_wq_create(&wq, &size, 5, 0), ==, RI_SUCCESS);
	for (uint32_t i = 0; i < 2; i++) {
		struct vsw_wqe *wqe = vsw_wq_entry(wq.page, i);
		wqe->wr_id = i;
		wqe->num_sge = 5;
		for (uint32_t k = 0; k < 5; k++)
			wqe->sge[k] = (struct ri_sge){.addr = 100 * i + k, .length = k};
	}
	atomic_store(&wq.page->head, 2);
	for (uint32_t i = 0; i < 2; i++) {
		g_assert_true(vsw_wq_take(&wq, &room.wqe, &index));
		g_assert_cmpuint(room.wqe.wr_id, ==, i);
		g_assert_cmpuint(room.wqe.num_sge, ==, 5);
		for (uint32_t k = 0; k < 5; k++)
			g_assert_cmpuint(room.wqe.sge[k].addr, ==, 100 * i + k);
	}
}

/* An entry that claims more segments than the queue was created for is cut to that number. */
static void
test_lying_count(void)
{
	union {
		struct vsw_wqe wqe;
		uint8_t room[sizeof(struct vsw_wqe) + UINT8_MAX * sizeof(struct ri_sge)];
	} room;
	struct vsw_wq wq RI_AT_END(vsw_wq_destroy);
	uint32_t size = 64;
	uint32_t index;

	g_assert_cmpint(vsw_wq_create(&wq, &size, 2, 0), ==, RI_SUCCESS);
	vsw_wq_entry(wq.page, 0)->num_sge = UINT8_MAX;
	atomic_store(&wq.page->head, 1);
	g_assert_true(vsw_wq_take(&wq, &room.wqe, &index));
	g_assert_cmpuint(room.wqe.num_sge, ==, 2);
}

static void
test_segments_limit(void)
{
	struct vsw_wq wq RI_AT_END(vsw_wq_destroy);
	uint32_t size = 1;

	g_assert_cmpint(vsw_wq_create(&wq, &size, UINT8_MAX + 1, 0), ==, RI_ERR_LIMIT);
	g_assert_cmpint(vsw_wq_create(&wq, &size, UINT8_MAX, 0), ==, RI_SUCCESS);
	g_assert_cmpint(vsw_wq_reshape(&wq, &size, UINT8_MAX + 1), ==, RI_ERR_LIMIT);
	g_assert_cmpint(vsw_wq_reshape(&wq, &size, UINT8_MAX), ==, RI_SUCCESS);
}

/* From one slot to two: a head of two in the new ring is valid, three is not. */
static void
test_grow_by_one(void)
{
	struct bench b RI_AT_END(tear_down);
	struct ri_map map;
	uint32_t size = 2;

	set_up(&b, 1, 4);
	g_assert_cmpint(vsw_wq_reshape(&b.sq, &size, 4), ==, RI_SUCCESS);
	g_assert_cmpuint(size, ==, 2);
	vsw_map_qp_again(&map, &b.sq, &b.rq);
	struct ri_qp_attr attr = {.max_sq_wr = 2, .max_rq_wr = 1, .max_send_sge = 4};
	g_assert_cmpint(vsw_user_ops.qp_remap(b.uqp, &attr, &map), ==, RI_SUCCESS);
	g_assert_cmpint(post(&b, 1), ==, RI_SUCCESS);
	g_assert_cmpint(post(&b, 2), ==, RI_SUCCESS);
	g_assert_cmpuint(vsw_wq_pending(&b.sq), ==, 2);
	atomic_store(&b.sq.page->head, 3);
	g_assert_cmpuint(vsw_wq_pending(&b.sq), ==, 0);
	atomic_store(&b.sq.page->head, 2);
}

/* A size equal to the outstanding requests is accepted; a queue without slots is accepted as such. */
static void
test_reshape_to_what_is_used(void)
{
	struct bench b;
	struct vsw_wq none RI_AT_END(vsw_wq_destroy);
	uint32_t size = 4;
	uint32_t zero = 0;

	set_up(&b, 8, 4);
	for (uint64_t id = 0; id < 4; id++)
		g_assert_cmpint(post(&b, id), ==, RI_SUCCESS);
	g_assert_cmpint(vsw_wq_reshape(&b.sq, &size, 4), ==, RI_SUCCESS);
	g_assert_cmpuint(b.sq.size, ==, 4);
	size = 2;
	g_assert_cmpint(vsw_wq_reshape(&b.sq, &size, 4), ==, RI_ERR_BUSY);
	tear_down(&b);
	g_assert_cmpint(vsw_wq_create(&none, &zero, 1, 0), ==, RI_SUCCESS);
	size = 4;
	g_assert_cmpint(vsw_wq_reshape(&none, &size, 1), ==, RI_SUCCESS);
	g_assert_cmpuint(size, ==, 0);
	g_assert_cmpuint(none.size, ==, 0);
	g_assert_cmpuint(none.room, ==, 0);
}

/* Until the poster uses the new ring, the taker takes from the old one. */
static void
test_taker_waits_for_poster(void)
{
	struct bench b RI_AT_END(tear_down);
	uint32_t size = 16;
	uint32_t index;

	set_up(&b, 4, 4);
	for (uint64_t id = 5; id < 8; id++)
		g_assert_cmpint(post(&b, id), ==, RI_SUCCESS);
	g_assert_cmpint(vsw_wq_reshape(&b.sq, &size, 4), ==, RI_SUCCESS);
	g_assert_cmpuint(vsw_wq_available(&b.sq), ==, 3);
	g_assert_true(vsw_wq_take(&b.sq, wqe_room(), &index));
	g_assert_cmpuint(wqe_room()->wr_id, ==, 5);
}

/* The send queue has room for the longest list of any kind of request. */
static void
test_longest_list_is_of_reads(void)
{
	struct bench b RI_AT_END(tear_down);
	struct ri_qp_init limits = {
		.max_send_sge = 4, .max_write_sge = 3, .max_read_sge = 1, .max_recv_sge = 2};
	struct ri_qp_attr attr = {.max_sq_wr = 4, .max_rq_wr = 4, .max_read_sge = 7};

	set_up(&b, 4, 4);
	g_assert_cmpint(vsw_wq_reshape_both(&b.sq, &b.rq, &limits, &attr), ==, RI_SUCCESS);
	g_assert_cmpuint(limits.max_read_sge, ==, 7);
	g_assert_nonnull(b.sq.new_ring);
	g_assert_cmpuint(b.sq.new_sge, ==, 7);
}

/* A resize of both queues that fails leaves the send queue unchanged. */
static void
test_undone(void)
{
	struct bench b RI_AT_END(tear_down);
	struct ri_recv_wr receive = {.wr_id = 1};
	struct ri_qp_init limits = {.max_send_sge = 4, .max_recv_sge = 2};
	struct ri_qp_attr attr = {.max_sq_wr = 64, .max_rq_wr = 1};

	set_up(&b, 4, 16);
	for (int i = 0; i < 2; i++)
		g_assert_cmpint(vsw_post_rq(b.uqp, &receive), ==, RI_SUCCESS);
	g_assert_cmpint(vsw_wq_reshape_both(&b.sq, &b.rq, &limits, &attr), ==, RI_ERR_BUSY);
	g_assert_cmpuint(b.sq.size, ==, 4);
	g_assert_null(b.sq.new_ring);
	g_assert_cmpuint(limits.max_sq_wr, ==, 0);
}

/* Requests without completions return their slots when a later completion is polled. */
static void
test_forget(void)
{
	struct bench b RI_AT_END(tear_down);
	struct ri_wc wc;
	uint32_t index = 0;

	set_up(&b, 4, 4);
	for (uint64_t id = 0; id < 4; id++) {
		g_assert_cmpint(post(&b, id), ==, RI_SUCCESS);
		g_assert_true(vsw_wq_take(&b.sq, wqe_room(), &index));
	}
	g_assert_true(complete(&b, 1, b.sq.number, 2, 0));
	b.sq.pushed = 2;
	vsw_wq_forget(&b.sq);
	g_assert_cmpuint(atomic_load(&b.sq.page->released), ==, 0);
	g_assert_cmpint(post(&b, 9), ==, RI_ERR_QUEUE_FULL);
	g_assert_cmpuint(vsw_poll_cq(b.ucq, &wc, 1), ==, 1);
	vsw_wq_forget(&b.sq);
	g_assert_cmpuint(atomic_load(&b.sq.page->released), ==, 4);
	g_assert_cmpuint(b.sq.pushed, ==, 4);
}

/* A freed slot is used again only after many others. */
static void
test_slots_rest(void)
{
	struct vsw_wq wq;
	uint32_t size = 1;

	g_assert_cmpint(vsw_wq_create(&wq, &size, 0, 0), ==, RI_SUCCESS);
	uint32_t slot = vsw_number_slot(wq.number);
	vsw_wq_destroy(&wq);
	for (uint32_t i = 1; i < VSW_NUMBER_REUSE_AFTER; i++) {
		g_assert_cmpint(vsw_wq_create(&wq, &size, 0, 0), ==, RI_SUCCESS);
		g_assert_cmpuint(vsw_number_slot(wq.number), !=, slot);
		vsw_wq_destroy(&wq);
	}
}

/* --- completion queues ------------------------------------------------------------------- */

/* No entry of a new ring looks valid, not even where the index wraps around, and no size is too small for that. */
static void
test_fresh_ring_is_empty(void)
{
	struct bench b RI_AT_END(tear_down);
	struct ri_map map;
	struct ri_wc wc;
	uint32_t entries = 1;

	set_up(&b, 4, 4);
	vsw_user_ops.qp_close(b.uqp);
	vsw_user_ops.cq_close(b.ucq);
	vsw_cq_destroy(&b.cq);
	g_assert_cmpint(vsw_cq_create(&b.cq, 77, &entries, &b.upcalls), ==, RI_SUCCESS);
	g_assert_cmpuint(entries, ==, 2);
	for (uint32_t index = UINT32_MAX - 3; index != 4; index++) {
		b.cq.tail = b.cq.head_seen = index;
		atomic_store(&b.cq.page->tail, index + 1); /* so that a poll looks at the entry */
		atomic_store(&b.cq.page->head, index);
		vsw_map_cq(&map, &b.cq);
		g_assert_cmpint(vsw_user_ops.cq_open(b.rnic, &map, &b.ucq), ==, RI_SUCCESS);
		g_assert_cmpuint(vsw_poll_cq(b.ucq, &wc, 1), ==, 0);
		vsw_user_ops.cq_close(b.ucq);
		atomic_store(&b.cq.page->tail, index);
	}
	vsw_map_cq(&map, &b.cq);
	g_assert_cmpint(vsw_user_ops.cq_open(b.rnic, &map, &b.ucq), ==, RI_SUCCESS);
	vsw_wq_destroy(&b.sq);
	vsw_wq_destroy(&b.rq);
	qp_open(&b, 4);
}

/* A resize down to the number of entries succeeds, to one less it does not. */
static void
test_resize_to_what_is_there(void)
{
	struct bench b;
	uint32_t entries = 4;

	set_up(&b, 4, 8);
	for (uint64_t id = 0; id < 5; id++)
		g_assert_true(complete(&b, id, 0, 0, 0));
	g_assert_cmpint(vsw_cq_resize(&b.cq, &entries), ==, RI_ERR_BUSY);
	tear_down(&b);
	set_up(&b, 4, 8);
	for (uint64_t id = 0; id < 4; id++)
		g_assert_true(complete(&b, id, 0, 0, 0));
	g_assert_cmpint(vsw_cq_resize(&b.cq, &entries), ==, RI_SUCCESS);
	g_assert_cmpuint(entries, ==, 4);
	g_assert_false(complete(&b, 4, 0, 0, 0));
	tear_down(&b);
}

/* Only the solicited bit makes a completion solicited. */
static void
test_other_flags_do_not_solicit(void)
{
	struct bench b RI_AT_END(tear_down);

	set_up(&b, 4, 8);
	g_assert_cmpint(vsw_arm_cq(b.ucq, RI_ARM_SOLICITED, 0), ==, RI_SUCCESS);
	g_assert_true(complete(&b, 1, 0, 0, (uint8_t)(RI_WC_INVALIDATED | RI_WC_GRH)));
	g_assert_cmpuint(b.events, ==, 0);
	g_assert_cmpuint(atomic_load(&b.cq.page->sol_tail), ==, 0);
	g_assert_true(complete(&b, 2, 0, 0, RI_WC_SOLICITED));
	g_assert_cmpuint(b.events, ==, 1);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/vsw/borders/last-segment", test_last_segment);
	g_test_add_func("/vsw/borders/lying-count", test_lying_count);
	g_test_add_func("/vsw/borders/segments-limit", test_segments_limit);
	g_test_add_func("/vsw/borders/grow-by-one", test_grow_by_one);
	g_test_add_func("/vsw/borders/reshape-to-what-is-used", test_reshape_to_what_is_used);
	g_test_add_func("/vsw/borders/taker-waits-for-poster", test_taker_waits_for_poster);
	g_test_add_func("/vsw/borders/longest-list-is-of-reads", test_longest_list_is_of_reads);
	g_test_add_func("/vsw/borders/undone", test_undone);
	g_test_add_func("/vsw/borders/forget", test_forget);
	g_test_add_func("/vsw/borders/slots-rest", test_slots_rest);
	g_test_add_func("/vsw/borders/fresh-ring-is-empty", test_fresh_ring_is_empty);
	g_test_add_func("/vsw/borders/resize-to-what-is-there", test_resize_to_what_is_there);
	g_test_add_func("/vsw/borders/other-flags-do-not-solicit", test_other_flags_do_not_solicit);
	return g_test_run();
}
