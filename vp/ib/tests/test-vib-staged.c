/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Completions that are staged before they are polled, because they are counted or their queue is armed: their slots stay in
 * use until the poll [IT 7.4], and what asks how far a queue is completed does not wait for the poll.
 */
#include "vib_cq.h"
#include "vib_data.h"
#include "vib_post.h"
#include "vib_ring.h"

#define ROOM 4 /* requests, or receives */

/* What causes that completions are staged. */
enum cause {
	CAUSE_NONE = 0,
	CAUSE_COUNT,
	CAUSE_ARM,
	CAUSE_QUERY,
	CAUSES
};

static void
stage(struct device *d, struct ri_qp *qp, enum cause cause)
{
	struct ri_qp_attr attr;

	if (cause == CAUSE_COUNT)
		(void)vib_cq_depth(&d->cq->user);
	else if (cause == CAUSE_ARM)
		g_assert_cmpint(vib_arm_cq(&d->cq->user, RI_ARM_NEXT, 0), ==, RI_ERR_NOT_EMPTY);
	else if (cause == CAUSE_QUERY)
		g_assert_cmpint(vib_qp_ops.query(qp, &attr), ==, RI_SUCCESS);
}

/* Each poll of a request's completion makes room for one more, whatever was staged. */
static void
test_requests(void)
{
	for (enum cause cause = CAUSE_NONE; cause < CAUSES; cause++) {
		struct device *d = device_new();
		struct ri_qp *qp = device_qp_of(d, false, ROOM);
		struct data_region region;
		uint64_t id = 0, polled = 0;

		data_region_new(d, &region, 100);
		for (unsigned round = 0; round < 5; round++) {
			while (id - polled < ROOM)
				g_assert_cmpint(data_post(qp, &region, id++, RI_WR_SIGNALED), ==,
						RI_SUCCESS);
			for (unsigned i = 0; i < ROOM - round % 2; i++)
				device_complete(d, IBV_WC_SUCCESS);
			stage(d, qp, cause);
			g_assert_cmpint(data_post(qp, &region, id, RI_WR_SIGNALED), ==,
					RI_ERR_QUEUE_FULL);
			data_poll(d, polled++, RI_WC_SUCCESS);
			g_assert_cmpint(data_post(qp, &region, id++, RI_WR_SIGNALED), ==,
					RI_SUCCESS);
			g_assert_cmpint(data_post(qp, &region, id, RI_WR_SIGNALED), ==,
					RI_ERR_QUEUE_FULL);
			while (d->done < d->sends)
				device_complete(d, IBV_WC_SUCCESS);
			while (polled < id)
				data_poll(d, polled++, RI_WC_SUCCESS);
			data_poll_none(d);
		}
		data_qp_end(qp);
		data_region_free(&region);
		device_free(d);
	}
}

/* A request without a completion of its own is held like the one with a completion behind it. */
static void
test_unsignalled(void)
{
	struct device *d = device_new();
	struct ri_qp *qp = device_qp_of(d, false, ROOM);
	struct data_region region;

	data_region_new(d, &region, 100);
	g_assert_cmpint(data_post(qp, &region, 1, 0), ==, RI_SUCCESS);
	g_assert_cmpint(data_post(qp, &region, 2, RI_WR_SIGNALED), ==, RI_SUCCESS);
	g_assert_cmpint(data_post(qp, &region, 3, 0), ==, RI_SUCCESS);
	g_assert_cmpint(data_post(qp, &region, 4, RI_WR_SIGNALED), ==, RI_SUCCESS);
	while (d->done < d->sends)
		device_complete(d, IBV_WC_SUCCESS);
	g_assert_cmpuint(vib_cq_depth(&d->cq->user), ==, 2);
	g_assert_cmpint(data_post(qp, &region, 5, 0), ==, RI_ERR_QUEUE_FULL);
	data_poll(d, 2, RI_WC_SUCCESS);
	g_assert_cmpint(data_post(qp, &region, 5, RI_WR_SIGNALED), ==, RI_SUCCESS);
	g_assert_cmpint(data_post(qp, &region, 6, RI_WR_SIGNALED), ==, RI_SUCCESS);
	g_assert_cmpint(data_post(qp, &region, 7, 0), ==, RI_ERR_QUEUE_FULL);
	data_poll(d, 4, RI_WC_SUCCESS);
	device_complete(d, IBV_WC_SUCCESS);
	device_complete(d, IBV_WC_SUCCESS);
	data_poll(d, 5, RI_WC_SUCCESS);
	data_poll(d, 6, RI_WC_SUCCESS);
	data_qp_end(qp);
	data_region_free(&region);
	device_free(d);
}

/* What nobody polls is free with the completion before it: on a device that completes out of order it has one at the device. */
static void
test_quiet_behind(void)
{
	struct device *d = device_new();
	struct data_region region;
	struct ri_qp *qp;

	d->cq->user.reorders = true;
	d->cq->user.direct = 0;
	qp = device_qp_of(d, false, ROOM);
	data_region_new(d, &region, 100);
	for (uint64_t first = 1; first < 30; first += ROOM) {
		for (uint64_t id = first; id < first + ROOM; id++)
			g_assert_cmpint(
				data_post(qp, &region, id, id == first + 1 ? RI_WR_SIGNALED : 0),
				==, RI_SUCCESS);
		while (d->done < d->sends)
			device_complete(d, IBV_WC_SUCCESS);
		g_assert_cmpuint(vib_cq_depth(&d->cq->user), ==, 1);
		g_assert_cmpuint(vib_ring_open(&qp->user.sq), ==, 0);
		/* The one before it is free, those behind it are not. */
		g_assert_cmpuint(atomic_load(&qp->user.sq.tail) - atomic_load(&qp->user.sq.head),
				 ==, ROOM - 1);
		data_poll(d, first + 1, RI_WC_SUCCESS);
		g_assert_cmpuint(vib_ring_open(&qp->user.sq), ==, 0);
		g_assert_true(atomic_load(&qp->user.sq.tail) == atomic_load(&qp->user.sq.head));
	}
	data_poll_none(d);
	data_qp_end(qp);
	data_region_free(&region);
	device_free(d);
}

static enum ri_status
receive_post(struct ri_qp *qp, uint64_t id)
{
	const struct ri_recv_wr receive = {.wr_id = id};

	return vib_post_rq(&qp->user, &receive);
}

/* Receives likewise. */
static void
test_receives(void)
{
	const struct ibv_wc how = {.byte_len = 1};

	for (enum cause cause = CAUSE_NONE; cause < CAUSES; cause++) {
		struct device *d = device_new();
		struct ri_qp *qp = device_qp_of(d, false, ROOM);
		const uint64_t room = qp->init.max_rq_wr;
		uint64_t id = 0;

		while (id < room)
			g_assert_cmpint(receive_post(qp, id++), ==, RI_SUCCESS);
		for (unsigned i = 0; i < room; i++)
			device_receive(d, i, &how);
		stage(d, qp, cause);
		g_assert_cmpint(receive_post(qp, id), ==, RI_ERR_QUEUE_FULL);
		for (uint64_t i = 0; i < room; i++) {
			data_poll(d, i, RI_WC_SUCCESS);
			g_assert_cmpint(receive_post(qp, id++), ==, RI_SUCCESS);
			g_assert_cmpint(receive_post(qp, id), ==, RI_ERR_QUEUE_FULL);
		}
		data_qp_end(qp);
		device_free(d);
	}
}

/* A queue is quiescent when all is completed, polled or not. */
static void
test_quiescent(void)
{
	struct device *d = device_new();
	struct ri_qp *qp = device_qp_of(d, false, ROOM);
	struct data_region region;
	struct ri_qp_attr attr;

	data_region_new(d, &region, 100);
	for (uint64_t id = 1; id <= 3; id++)
		g_assert_cmpint(data_post(qp, &region, id, RI_WR_SIGNALED), ==, RI_SUCCESS);
	device_complete(d, IBV_WC_SUCCESS);
	device_complete(d, IBV_WC_SUCCESS);
	g_assert_cmpint(vib_qp_ops.query(qp, &attr), ==, RI_SUCCESS);
	g_assert_false(attr.quiescent);
	device_complete(d, IBV_WC_SUCCESS);
	g_assert_cmpint(vib_qp_ops.query(qp, &attr), ==, RI_SUCCESS);
	g_assert_true(attr.quiescent);
	data_poll(d, 1, RI_WC_SUCCESS);
	g_assert_cmpint(vib_qp_ops.query(qp, &attr), ==, RI_SUCCESS);
	g_assert_true(attr.quiescent);
	data_poll(d, 2, RI_WC_SUCCESS);
	data_poll(d, 3, RI_WC_SUCCESS);
	data_qp_end(qp);
	data_region_free(&region);
	device_free(d);
}

/*
 * What is staged outlives its queue pair, and its polls touch nothing of it: the slots are gone. What the device completes
 * while the queue pair goes is dropped.
 */
static void
test_destroyed(void)
{
	struct device *d = device_new();
	struct ri_qp *qp = device_qp_of(d, false, ROOM), *other = device_qp_of(d, false, ROOM);
	struct data_region region;

	data_region_new(d, &region, 100);
	g_assert_cmpint(data_post(qp, &region, 1, RI_WR_SIGNALED), ==, RI_SUCCESS);
	g_assert_cmpint(data_post(other, &region, 2, RI_WR_SIGNALED), ==, RI_SUCCESS);
	g_assert_cmpint(data_post(qp, &region, 3, RI_WR_SIGNALED), ==, RI_SUCCESS);
	while (d->done < d->sends)
		device_complete(d, IBV_WC_SUCCESS);
	g_assert_cmpuint(vib_cq_depth(&d->cq->user), ==, 3);
	data_qp_end(qp);
	data_poll(d, 1, RI_WC_SUCCESS);
	g_assert_cmpuint(vib_ring_open(&other->user.sq), ==, 0);
	data_poll(d, 2, RI_WC_SUCCESS);
	data_poll(d, 3, RI_WC_SUCCESS);
	for (uint64_t id = 4; id < 4 + ROOM; id++)
		g_assert_cmpint(data_post(other, &region, id, RI_WR_SIGNALED), ==, RI_SUCCESS);
	g_assert_cmpint(data_post(other, &region, 9, RI_WR_SIGNALED), ==, RI_ERR_QUEUE_FULL);
	data_qp_end(other);
	data_region_free(&region);
	device_free(d);
}

/* Two queue pairs of one queue, counted at random: no more outstanding than there is room for, and no less. */
static void
test_random(void)
{
	struct device *d = device_new();
	struct ri_qp *qps[] = {device_qp_of(d, false, ROOM), device_qp_of(d, false, ROOM)};
	unsigned outstanding[] = {0, 0};
	g_autoptr(GRand) rand = g_rand_new_with_seed(11);
	g_autoptr(GQueue) order = g_queue_new();
	struct data_region region;

	data_region_new(d, &region, 100);
	for (unsigned turn = 0; turn < 20000; turn++) {
		unsigned which = (unsigned)g_rand_int_range(rand, 0, 2);
		enum cause cause = (enum cause)g_rand_int_range(rand, 0, CAUSES);
		struct ri_wc wc;

		switch (g_rand_int_range(rand, 0, 4)) {
		case 0:
			g_assert_cmpint(data_post(qps[which], &region, which, RI_WR_SIGNALED), ==,
					outstanding[which] < ROOM ? RI_SUCCESS : RI_ERR_QUEUE_FULL);
			if (outstanding[which] == ROOM)
				break;
			outstanding[which]++;
			g_queue_push_tail(order, GUINT_TO_POINTER(which));
			break;
		case 1:
			if (d->done < d->sends)
				device_complete(d, IBV_WC_SUCCESS);
			break;
		case 2:
			if (cause != CAUSE_ARM)
				stage(d, qps[which], cause);
			break;
		default:
			if (vib_poll_cq(&d->cq->user, &wc, 1) == 0)
				break;
			g_assert_cmpuint(wc.wr_id, ==, GPOINTER_TO_UINT(g_queue_pop_head(order)));
			outstanding[wc.wr_id]--;
			break;
		}
	}
	data_qp_end(qps[0]);
	data_qp_end(qps[1]);
	data_region_free(&region);
	device_free(d);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ib/staged/requests", test_requests);
	g_test_add_func("/ib/staged/unsignalled", test_unsignalled);
	g_test_add_func("/ib/staged/quiet-behind", test_quiet_behind);
	g_test_add_func("/ib/staged/receives", test_receives);
	g_test_add_func("/ib/staged/quiescent", test_quiescent);
	g_test_add_func("/ib/staged/destroyed", test_destroyed);
	g_test_add_func("/ib/staged/random", test_random);
	return g_test_run();
}
