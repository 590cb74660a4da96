/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Work queues and the user half over them. */
#include "queue_bench.h"

/* --- posting ----------------------------------------------------------------------------- */

static void
test_post_carries_everything(void)
{
	struct bench b RI_AT_END(tear_down);
	struct ri_sge sgl[] = {{.addr = 1000, .length = 10, .stag = 7},
			       {.addr = 2000, .length = 20, .stag = 8}};
	struct ri_wr wr = {.wr_id = 42,
			   .sgl = sgl,
			   .num_sge = 2,
			   .opcode = RI_OP_RDMA_WRITE,
			   .flags = RI_WR_SIGNALED | RI_WR_READ_FENCE,
			   .u.remote = {.addr = 0x123456789, .stag = 0xabcdef}};
	struct ri_recv_wr rwr = {.wr_id = 43, .sgl = sgl, .num_sge = 2, .flags = RI_WR_NOTIFY};
	struct vsw_wqe *wqe = wqe_room();
	uint32_t index = 0;

	set_up(&b, 4, 8);
	g_assert_cmpuint(vsw_wq_pending(&b.sq), ==, 0);
	g_assert_false(vsw_wq_take(&b.sq, wqe, &index));
	g_assert_cmpint(vsw_post_sq(b.uqp, &wr), ==, RI_SUCCESS);
	g_assert_cmpuint(vsw_wq_pending(&b.sq), ==, 1);
	g_assert_true(vsw_wq_take(&b.sq, wqe, &index));
	g_assert_cmpuint(index, ==, 1);
	g_assert_cmpuint(wqe->wr_id, ==, 42);
	g_assert_cmpuint(wqe->opcode, ==, RI_OP_RDMA_WRITE);
	g_assert_cmpuint(wqe->flags, ==, wr.flags);
	g_assert_cmpuint(wqe->length, ==, 30);
	g_assert_cmpuint(wqe->num_sge, ==, 2);
	g_assert_cmpmem(wqe->sge, sizeof(sgl), sgl, sizeof(sgl));
	g_assert_cmpuint(wqe->u.remote.addr, ==, 0x123456789);
	g_assert_cmpuint(wqe->u.remote.stag, ==, 0xabcdef);
	g_assert_cmpint(vsw_post_rq(b.uqp, &rwr), ==, RI_SUCCESS);
	g_assert_true(vsw_rq_take(&b.rq, wqe, &index));
	g_assert_cmpuint(wqe->wr_id, ==, 43);
	g_assert_cmpuint(wqe->opcode, ==, RI_OP_RECV);
	g_assert_cmpuint(wqe->flags, ==, RI_WR_NOTIFY);
	g_assert_cmpuint(wqe->length, ==, 30);
	g_assert_cmpuint(b.sq_rings, ==, 1);
	g_assert_cmpuint(b.rq_rings, ==, 1);
}

static void
test_post_limits(void)
{
	struct bench b RI_AT_END(tear_down);
	struct ri_sge sgl[5] = {{.addr = 1, .length = UINT32_MAX, .stag = 2},
				{.addr = 1, .length = 1, .stag = 2}};
	struct ri_wr wr = {.sgl = sgl};
	struct ri_recv_wr rwr = {.sgl = sgl};
	static const struct {
		uint8_t opcode;
		uint16_t limit;
	} classes[] = {{RI_OP_SEND, 4},      {RI_OP_RDMA_WRITE, 3}, {RI_OP_RDMA_READ, 1},
		       {RI_OP_FETCH_ADD, 1}, {RI_OP_BIND_MW, 0},    {RI_OP_LOCAL_INV, 0}};
	struct vsw_wqe *wqe = wqe_room();
	uint32_t index = 0;

	set_up(&b, 64, 8);
	for (guint i = 0; i < G_N_ELEMENTS(classes); i++) {
		wr.opcode = classes[i].opcode;
		wr.num_sge = classes[i].limit;
		g_assert_cmpint(vsw_post_sq(b.uqp, &wr), ==, RI_SUCCESS);
		wr.num_sge++;
		g_assert_cmpint(vsw_post_sq(b.uqp, &wr), ==, RI_ERR_LIMIT);
	}
	rwr.num_sge = 2;
	g_assert_cmpint(vsw_post_rq(b.uqp, &rwr), ==, RI_SUCCESS);
	rwr.num_sge = 3;
	g_assert_cmpint(vsw_post_rq(b.uqp, &rwr), ==, RI_ERR_LIMIT);
	wr.num_sge = 0;
	wr.opcode = RI_OP_FAST_REG;
	g_assert_cmpint(vsw_post_sq(b.uqp, &wr), ==, RI_ERR_UNSUPPORTED);
	wr.opcode = RI_OP_RECV;
	g_assert_cmpint(vsw_post_sq(b.uqp, &wr), ==, RI_ERR_UNSUPPORTED);
	wr.opcode = 200;
	g_assert_cmpint(vsw_post_sq(b.uqp, &wr), ==, RI_ERR_UNSUPPORTED);
	g_assert_true(vsw_wq_take(&b.sq, wqe, &index));
	g_assert_cmpuint(wqe->length, ==, UINT32_MAX); /* the sum does not wrap around */
}

static void
test_slots(void)
{
	struct bench b RI_AT_END(tear_down);
	struct ri_wc wc[8];
	struct vsw_wqe *wqe = wqe_room();
	uint32_t index = 0;

	set_up(&b, 3, 8); /* grows to 4 */
	g_assert_cmpuint(b.sq.size, ==, 4);
	for (guint round = 0; round < 100; round++) {
		for (guint i = 0; i < 4; i++)
			g_assert_cmpint(post(&b, i), ==, RI_SUCCESS);
		g_assert_cmpint(post(&b, 4), ==, RI_ERR_QUEUE_FULL);
		for (guint i = 0; i < 4; i++) {
			g_assert_true(vsw_wq_take(&b.sq, wqe, &index));
			g_assert_cmpuint(wqe->wr_id, ==, i);
		}
		/*
		 * A slot becomes free when its completion, or a later one, is polled, and not already when its
		 * request is taken or completed.
		 */
		g_assert_cmpint(post(&b, 4), ==, RI_ERR_QUEUE_FULL);
		g_assert_true(complete(&b, 2, b.sq.number, index - 1, 0));
		g_assert_cmpint(post(&b, 4), ==, RI_ERR_QUEUE_FULL);
		g_assert_cmpuint(vsw_poll_cq(b.ucq, wc, 8), ==, 1);
		for (guint i = 0; i < 3; i++)
			g_assert_cmpint(post(&b, i), ==, RI_SUCCESS);
		g_assert_cmpint(post(&b, 4), ==, RI_ERR_QUEUE_FULL);
		while (vsw_wq_take(&b.sq, wqe, &index))
			continue;
		g_assert_true(complete(&b, 9, b.sq.number, index, 0));
		g_assert_cmpuint(vsw_poll_cq(b.ucq, wc, 8), ==, 1);
	}
}

static void
test_no_receive_queue(void)
{
	struct bench b RI_AT_END(tear_down);
	struct ri_recv_wr rwr = {.wr_id = 1};
	struct ri_qp_init limits = {.max_send_sge = 1};
	struct ri_uqp *uqp = NULL;
	struct vsw_wq sq RI_AT_END(vsw_wq_destroy);
	uint32_t none = 0;
	struct ri_map map;
	struct ri_wr wr = {.opcode = RI_OP_SEND};

	set_up(&b, 4, 8);
	g_assert_cmpint(vsw_wq_create(&sq, &none, 1, 0), ==, RI_SUCCESS);
	g_assert_cmpuint(none, ==, 0);
	vsw_map_qp(&map, &sq, NULL, &b, &limits);
	g_assert_cmpint(vsw_user_ops.qp_open(b.rnic, &map, b.ucq, b.ucq, NULL, &uqp), ==,
			RI_SUCCESS);
	g_assert_cmpint(vsw_post_rq(uqp, &rwr), ==, RI_ERR_INVALID_STATE);
	g_assert_cmpint(vsw_post_sq(uqp, &wr), ==, RI_ERR_QUEUE_FULL);
	vsw_user_ops.qp_close(uqp);
}

static void
test_shared_receives(void)
{
	struct bench b RI_AT_END(tear_down);
	struct ri_recv_wr rwr = {.wr_id = 1};
	struct ri_usrq *usrq = NULL;
	struct vsw_wq srq;
	uint32_t size = 4;
	struct ri_map map;
	struct ri_wc wc;
	uint32_t index = 0;

	set_up(&b, 4, 8);
	g_assert_cmpint(vsw_rq_create(&srq, &size, 1), ==, RI_SUCCESS);
	vsw_map_srq(&map, &srq, &b);
	g_assert_cmpint(vsw_user_ops.srq_open(b.rnic, &map, &usrq), ==, RI_SUCCESS);
	for (guint i = 0; i < 4; i++)
		g_assert_cmpint(vsw_post_srq(usrq, &rwr), ==, RI_SUCCESS);
	g_assert_cmpint(vsw_post_srq(usrq, &rwr), ==, RI_ERR_QUEUE_FULL);
	for (guint i = 0; i < 4; i++)
		g_assert_true(vsw_rq_take(&srq, wqe_room(), &index));
	/* Completions in any order: each frees one slot. */
	g_assert_true(complete(&b, 1, srq.number, 0, RI_WC_RECEIVE));
	g_assert_cmpuint(vsw_poll_cq(b.ucq, &wc, 1), ==, 1);
	g_assert_cmpint(vsw_post_srq(usrq, &rwr), ==, RI_SUCCESS);
	g_assert_cmpint(vsw_post_srq(usrq, &rwr), ==, RI_ERR_QUEUE_FULL);
	rwr.num_sge = 2;
	g_assert_cmpint(vsw_post_srq(usrq, &rwr), ==, RI_ERR_LIMIT);
	g_assert_true(complete(&b, 1, srq.number, 0, RI_WC_RECEIVE));
	vsw_user_ops.srq_close(usrq);
	vsw_wq_destroy(&srq);
	g_assert_cmpuint(vsw_poll_cq(b.ucq, &wc, 1), ==, 1);
}

/* A shared page with false indices yields no request and does no harm. */
static void
test_lying_page(void)
{
	struct bench b RI_AT_END(tear_down);
	struct vsw_wqe *wqe = wqe_room();
	uint32_t index = 0;

	set_up(&b, 4, 4);
	atomic_store(&b.sq.page->head, 1000);
	g_assert_cmpuint(vsw_wq_pending(&b.sq), ==, 0);
	g_assert_false(vsw_wq_take(&b.sq, wqe, &index));
	atomic_store(&b.sq.page->head, 1);
	vsw_wq_entry(b.sq.page, 0)->num_sge = 255;
	b.sq.page->mask = 0xffff;
	b.sq.page->stride = 1 << 20;
	g_assert_true(vsw_wq_take(&b.sq, wqe, &index));
	g_assert_cmpuint(wqe->num_sge, ==, 4);
	/* A head that is too far ahead shows no room that does not exist. */
	for (guint i = 0; i < 4; i++)
		g_assert_true(complete(&b, i, 0, 0, 0));
	atomic_store(&b.cq.page->head, 100);
	g_assert_false(complete(&b, 4, 0, 0, 0));
	atomic_store(&b.cq.page->head, 0);
}

/* --- other sizes -------------------------------------------------------------------------- */

static enum ri_status
reshape(struct bench *b, struct ri_qp_attr *attr, bool follow)
{
	struct ri_qp_init limits = {
		.max_send_sge = 4, .max_write_sge = 3, .max_read_sge = 1, .max_recv_sge = 2};
	enum ri_status status = vsw_wq_reshape_both(&b->sq, &b->rq, &limits, attr);
	struct ri_map map;

	if (status != RI_SUCCESS)
		return status;
	vsw_map_qp_again(&map, &b->sq, &b->rq);
	if (follow)
		g_assert_cmpint(vsw_user_ops.qp_remap(b->uqp, attr, &map), ==, RI_SUCCESS);
	return RI_SUCCESS;
}

static void
expect_next(struct bench *b, uint64_t id)
{
	struct vsw_wqe *wqe = wqe_room();
	uint32_t index;

	g_assert_true(vsw_wq_take(&b->sq, wqe, &index));
	g_assert_cmpuint(wqe->wr_id, ==, id);
}

/* Slots and segments are added while requests are queued; the taker follows after the poster. */
static void
test_reshape(void)
{
	struct bench b RI_AT_END(tear_down);
	struct ri_sge sgl[7] = {{.addr = 9, .length = 1, .stag = 3}};
	struct ri_wr wide = {.wr_id = 8, .sgl = sgl, .num_sge = 7, .opcode = RI_OP_SEND};
	struct ri_qp_attr attr = {.max_sq_wr = 9, .max_rq_wr = 4, .max_send_sge = 7};
	struct ri_wc wc[4];
	uint32_t index;

	set_up(&b, 4, 16);
	for (uint64_t id = 0; id < 4; id++)
		g_assert_cmpint(post(&b, id), ==, RI_SUCCESS);
	expect_next(&b, 0);
	g_assert_cmpint(vsw_post_sq(b.uqp, &wide), ==, RI_ERR_LIMIT);
	g_assert_cmpint(reshape(&b, &attr, true), ==, RI_SUCCESS);
	g_assert_cmpuint(attr.max_sq_wr, ==, 16);
	g_assert_cmpuint(attr.max_rq_wr, ==, 4);
	g_assert_cmpuint(attr.max_write_sge, ==, 3);
	for (uint64_t id = 4; id < 8; id++)
		g_assert_cmpint(post(&b, id), ==, RI_SUCCESS);
	g_assert_cmpint(vsw_post_sq(b.uqp, &wide), ==, RI_SUCCESS);
	for (uint64_t id = 1; id < 8; id++)
		expect_next(&b, id);
	g_assert_true(vsw_wq_take(&b.sq, wqe_room(), &index));
	g_assert_cmpuint(wqe_room()->num_sge, ==, 7);
	g_assert_cmpuint(wqe_room()->sge[0].addr, ==, 9);
	/* Nine are outstanding until the last of them has been polled. */
	attr = (struct ri_qp_attr){.max_sq_wr = 8, .max_rq_wr = 4};
	g_assert_cmpint(reshape(&b, &attr, true), ==, RI_ERR_BUSY);
	g_assert_true(complete(&b, 8, b.sq.number, index, 0));
	g_assert_cmpuint(vsw_poll_cq(b.ucq, wc, 4), ==, 1);
	g_assert_cmpint(reshape(&b, &attr, true), ==, RI_SUCCESS);
	for (uint64_t id = 0; id < 8; id++)
		g_assert_cmpint(post(&b, id), ==, RI_SUCCESS);
	g_assert_cmpint(post(&b, 8), ==, RI_ERR_QUEUE_FULL);
}

/* Both queues or neither: the first queue's new ring is freed when the second queue cannot be resized. */
static void
test_reshape_undone(void)
{
	struct bench b RI_AT_END(tear_down);
	struct ri_recv_wr receive = {.wr_id = 1};
	struct ri_qp_attr attr = {.max_sq_wr = 64, .max_rq_wr = 2};

	set_up(&b, 4, 16);
	for (int i = 0; i < 3; i++)
		g_assert_cmpint(vsw_post_rq(b.uqp, &receive), ==, RI_SUCCESS);
	g_assert_cmpint(reshape(&b, &attr, true), ==, RI_ERR_BUSY);
	for (uint64_t id = 0; id < 4; id++)
		g_assert_cmpint(post(&b, id), ==, RI_SUCCESS);
	g_assert_cmpint(post(&b, 4), ==, RI_ERR_QUEUE_FULL);
	/* A ring that the user half does not use yet makes the next resize fail. */
	attr = (struct ri_qp_attr){.max_sq_wr = 64, .max_rq_wr = 4};
	g_assert_cmpint(reshape(&b, &attr, false), ==, RI_SUCCESS);
	g_assert_cmpint(reshape(&b, &attr, false), ==, RI_ERR_RESOURCES);
	for (uint64_t id = 0; id < 4; id++)
		expect_next(&b, id);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/vsw/post/carries-everything", test_post_carries_everything);
	g_test_add_func("/vsw/post/limits", test_post_limits);
	g_test_add_func("/vsw/post/slots", test_slots);
	g_test_add_func("/vsw/post/no-receive-queue", test_no_receive_queue);
	g_test_add_func("/vsw/post/shared-receives", test_shared_receives);
	g_test_add_func("/vsw/post/lying-page", test_lying_page);
	g_test_add_func("/vsw/queue/reshape", test_reshape);
	g_test_add_func("/vsw/queue/reshape-undone", test_reshape_undone);
	return g_test_run();
}
