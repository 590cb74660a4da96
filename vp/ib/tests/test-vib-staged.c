/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Completions that are staged before they are polled, because they are counted or their queue is armed: their slots
 * stay in use until the poll [IT 7.4], and functions that check how far a queue is completed do not wait for the poll.
 */
#include "vib_cq.h"
#include "vib_data.h"
#include "vib_post.h"
#include "vib_qp_end.h"
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
stage(struct device *d, struct vib_qp *qp, enum cause cause)
{
	struct ri_qp_attr attr;

	if (cause == CAUSE_COUNT)
		(void)vib_cq_depth(&d->cq->user);
	else if (cause == CAUSE_ARM)
		g_assert_cmpint(vib_arm_cq(&d->cq->user, RI_ARM_NEXT, 0), ==, RI_ERR_NOT_EMPTY);
	else if (cause == CAUSE_QUERY)
		g_assert_cmpint(vib_qp_ops.query((struct ri_qp *)qp, &attr), ==, RI_SUCCESS);
}

/* Each poll of a request's completion makes room for one more, whatever was staged. */
static void
test_requests(void)
{
	for (enum cause cause = CAUSE_NONE; cause < CAUSES; cause++) {
		struct device *d RI_AT_END(device_free) = device_new();
		struct data_region region RI_AT_END(data_region_free);
		struct vib_qp *qp RI_AT_END(data_qp_end) = device_qp_of(d, false, ROOM);
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
	}
}

/* A request without a completion of its own is held like the one with a completion behind it. */
static void
test_unsignalled(void)
{
	struct device *d RI_AT_END(device_free) = device_new();
	struct data_region region RI_AT_END(data_region_free);
	struct vib_qp *qp RI_AT_END(data_qp_end) = device_qp_of(d, false, ROOM);

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
}

/* What nobody polls is free with the completion before it: on a device that completes out of order it has one at the device. */
static void
test_quiet_behind(void)
{
	struct device *d RI_AT_END(device_free) = device_new();
	struct data_region region RI_AT_END(data_region_free);

	d->cq->user.reorders = true;
	d->cq->user.direct = 0;
	struct vib_qp *qp RI_AT_END(data_qp_end) = device_qp_of(d, false, ROOM);
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
}

static enum ri_status
receive_post(struct vib_qp *qp, uint64_t id)
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
		struct device *d RI_AT_END(device_free) = device_new();
		struct vib_qp *qp RI_AT_END(data_qp_end) = device_qp_of(d, false, ROOM);
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
	}
}

/* A queue is quiescent when all is completed, polled or not. */
static void
test_quiescent(void)
{
	struct device *d RI_AT_END(device_free) = device_new();
	struct data_region region RI_AT_END(data_region_free);
	struct vib_qp *qp RI_AT_END(data_qp_end) = device_qp_of(d, false, ROOM);
	struct ri_qp_attr attr;

	data_region_new(d, &region, 100);
	for (uint64_t id = 1; id <= 3; id++)
		g_assert_cmpint(data_post(qp, &region, id, RI_WR_SIGNALED), ==, RI_SUCCESS);
	device_complete(d, IBV_WC_SUCCESS);
	device_complete(d, IBV_WC_SUCCESS);
	g_assert_cmpint(vib_qp_ops.query((struct ri_qp *)qp, &attr), ==, RI_SUCCESS);
	g_assert_false(attr.quiescent);
	device_complete(d, IBV_WC_SUCCESS);
	g_assert_cmpint(vib_qp_ops.query((struct ri_qp *)qp, &attr), ==, RI_SUCCESS);
	g_assert_true(attr.quiescent);
	data_poll(d, 1, RI_WC_SUCCESS);
	g_assert_cmpint(vib_qp_ops.query((struct ri_qp *)qp, &attr), ==, RI_SUCCESS);
	g_assert_true(attr.quiescent);
	data_poll(d, 2, RI_WC_SUCCESS);
	data_poll(d, 3, RI_WC_SUCCESS);
}

/*
 * Staged completions outlive their queue pair, and polling them must not touch its slots, which are
 * freed. Completions that the device makes while the queue pair is being destroyed are dropped.
 */
static void
test_destroyed(void)
{
	struct device *d RI_AT_END(device_free) = device_new();
	struct vib_qp *qp = device_qp_of(d, false, ROOM), *other = device_qp_of(d, false, ROOM);
	struct data_region region RI_AT_END(data_region_free);

	data_region_new(d, &region, 100);
	g_assert_cmpint(data_post(qp, &region, 1, RI_WR_SIGNALED), ==, RI_SUCCESS);
	g_assert_cmpint(data_post(other, &region, 2, RI_WR_SIGNALED), ==, RI_SUCCESS);
	g_assert_cmpint(data_post(qp, &region, 3, RI_WR_SIGNALED), ==, RI_SUCCESS);
	while (d->done < d->sends)
		device_complete(d, IBV_WC_SUCCESS);
	g_assert_cmpuint(vib_cq_depth(&d->cq->user), ==, 3);
	data_qp_end(&qp);
	data_poll(d, 1, RI_WC_SUCCESS);
	g_assert_cmpuint(vib_ring_open(&other->user.sq), ==, 0);
	data_poll(d, 2, RI_WC_SUCCESS);
	data_poll(d, 3, RI_WC_SUCCESS);
	for (uint64_t id = 4; id < 4 + ROOM; id++)
		g_assert_cmpint(data_post(other, &region, id, RI_WR_SIGNALED), ==, RI_SUCCESS);
	g_assert_cmpint(data_post(other, &region, 9, RI_WR_SIGNALED), ==, RI_ERR_QUEUE_FULL);
	data_qp_end(&other);
}

/* How many events have reported that the queue has overflowed. */
static unsigned
overflows(const struct device *d)
{
	unsigned count = 0;

	for (unsigned i = 0; i < d->async_events->len; i++) {
		const struct ri_async_event *event =
			&g_array_index(d->async_events, struct ri_async_event, i);

		if (event->event != RI_EVENT_CQ_OVERFLOW)
			continue;
		g_assert_cmpint(event->object, ==, RI_OBJECT_CQ);
		g_assert_cmpuint(event->ctx, ==, 1);
		count++;
	}
	return count;
}

/* Poll everything; how many there were. */
static unsigned
poll_all(struct device *d)
{
	unsigned count = 0;
	struct ri_wc wc;

	while (vib_poll_cq(&d->cq->user, &wc, 1) == 1)
		count++;
	return count;
}

#define STAGED_MOST 128 /* twice the entries of the queue */
#define MANY        5   /* queue pairs */
/* Nanoseconds, after which what a device that has failed has not completed is flushed. */
#define DRAINED (60 * 1000 * 1000)

/* The ends of more requests than the ring has room for: one event reports the loss, each end comes, and the queues are empty. */
static void
test_overflow(void)
{
	const struct ri_cm_event broken = {.kind = RI_CM_BROKEN};
	struct device *d RI_AT_END(device_free) = device_new();
	struct vib_qp *qps[MANY];
	struct data_region region RI_AT_END(data_region_free);
	struct ri_qp_attr attr;

	data_region_new(d, &region, 100);
	for (unsigned i = 0; i < MANY; i++) {
		qps[i] = device_qp_of(d, false, 32);
		for (uint64_t id = 0; id < 32; id++)
			g_assert_cmpint(data_post(qps[i], &region, id, 0), ==, RI_SUCCESS);
	}
	d->gone = true; /* it completes nothing any more */
	atomic_store(&d->rnic.failed, true);
	for (unsigned i = 0; i < MANY; i++) {
		g_assert_cmpuint(overflows(d), ==, 0);
		vib_qp_end(qps[i], &broken, RI_EVENT_NONE);
		if (i < MANY - 1)
			vth_advance(d->vth, DRAINED);
	}
	vth_advance(d->vth, DRAINED);
	g_assert_cmpuint(overflows(d), ==, 1);
	g_assert_cmpuint(d->cm_events->len, ==, MANY);
	/* What is posted now is lost, too; no second event reports that. */
	g_assert_cmpint(data_post(qps[MANY - 1], &region, 99, 0), ==, RI_SUCCESS);
	vth_advance(d->vth, DRAINED);
	g_assert_cmpuint(overflows(d), ==, 1);
	for (unsigned i = 0; i < MANY; i++) {
		g_assert_cmpint(vib_qp_ops.query((struct ri_qp *)qps[i], &attr), ==, RI_SUCCESS);
		g_assert_true(attr.quiescent);
	}
	g_assert_cmpuint(poll_all(d), ==, STAGED_MOST);
	for (unsigned i = 0; i < MANY; i++)
		data_qp_end(&qps[i]);
}

/* As many as there is room for: nothing is lost. */
static void
test_full(void)
{
	const struct ri_cm_event broken = {.kind = RI_CM_BROKEN};
	struct device *d RI_AT_END(device_free) = device_new();
	struct vib_qp *qps[4];
	struct data_region region RI_AT_END(data_region_free);

	data_region_new(d, &region, 100);
	for (unsigned i = 0; i < 4; i++) {
		qps[i] = device_qp_of(d, false, 32);
		for (uint64_t id = 0; id < 32; id++)
			g_assert_cmpint(data_post(qps[i], &region, id, 0), ==, RI_SUCCESS);
	}
	d->gone = true;
	atomic_store(&d->rnic.failed, true);
	for (unsigned i = 0; i < 4; i++)
		vib_qp_end(qps[i], &broken, RI_EVENT_NONE);
	vth_advance(d->vth, DRAINED);
	g_assert_cmpuint(overflows(d), ==, 0);
	g_assert_cmpuint(poll_all(d), ==, STAGED_MOST);
	for (unsigned i = 0; i < 4; i++)
		data_qp_end(&qps[i]);
}

/* A small queue that nobody polls, and a queue pair whose requests the device has completed. */
static struct vib_qp *
lose_some(struct device *d, struct ri_cq *small, struct data_region *region)
{
	struct vib_qp *qp;

	d->cq = small;
	qp = device_qp_of(d, false, 8);
	data_region_new(d, region, 100);
	for (uint64_t id = 0; id < 8; id++)
		g_assert_cmpint(data_post(qp, region, id, RI_WR_SIGNALED), ==, RI_SUCCESS);
	while (d->done < d->sends)
		device_complete(d, IBV_WC_SUCCESS);
	vsw_lock(&small->user.lock);
	vib_cq_stage_all(&small->user, NULL);
	vib_cq_unlock(&small->user);
	g_assert_cmpuint(small->user.lost, ==, 8 - 2);
	return qp;
}

/* A connection that stands ends when a completion of it is lost: its consumer would wait for that. */
static void
test_overflow_ends(void)
{
	struct device *d RI_AT_END(device_free) = device_new();
	struct ri_cq *kept = d->cq, *small;
	struct data_region region RI_AT_END(data_region_free);
	uint32_t entries = 1;
	struct ri_map map;
	struct vib_qp *qp;

	g_assert_cmpint(vib_cq_ops.create(d->context, 1, &entries, &small, &map), ==, RI_SUCCESS);
	qp = lose_some(d, small, &region);
	data_poll(d, 0, RI_WC_SUCCESS);
	g_assert_cmpint(data_post(qp, &region, 8, 0), ==, RI_SUCCESS);
	g_assert_cmpuint(d->sends, ==, 8); /* it is flushed, not sent */
	vth_advance(d->vth, 1000 * 1000);
	g_assert_cmpuint(overflows(d), ==, 1);
	g_assert_cmpuint(d->cm_events->len, ==, 1);
	g_assert_cmpint(g_array_index(d->cm_events, struct ri_cm_event, 0).kind, ==, RI_CM_BROKEN);
	data_poll(d, 1, RI_WC_SUCCESS);
	data_poll(d, 8, RI_WC_FLUSHED);
	data_poll_none(d);
	data_qp_end(&qp);
	g_assert_cmpint(vib_cq_ops.destroy(small), ==, RI_SUCCESS);
	d->cq = kept;
}

/* The queue is destroyed before the service thread has reported the overflow: no event of it comes afterwards. */
static void
test_overflow_destroyed(void)
{
	struct device *d RI_AT_END(device_free) = device_new();
	struct ri_map map;
	uint32_t entries = 1;
	struct ri_cq *kept = d->cq, *small;
	struct data_region region RI_AT_END(data_region_free);
	struct vib_qp *qp;

	g_assert_cmpint(vib_cq_ops.create(d->context, 2, &entries, &small, &map), ==, RI_SUCCESS);
	qp = lose_some(d, small, &region);
	data_qp_end(&qp);
	g_assert_cmpint(vib_cq_ops.destroy(small), ==, RI_SUCCESS);
	vth_run(d->vth);
	g_assert_cmpuint(d->async_events->len, ==, 0);
	d->cq = kept;
}

/* Two queue pairs of one queue, counted at random: no more outstanding than there is room for, and no less. */
static void
test_random(void)
{
	struct device *d RI_AT_END(device_free) = device_new();
	struct vib_qp *qps[] = {device_qp_of(d, false, ROOM), device_qp_of(d, false, ROOM)};
	unsigned outstanding[] = {0, 0};
	g_autoptr(GRand) rand = g_rand_new_with_seed(11);
	g_autoptr(GQueue) order = g_queue_new();
	struct data_region region RI_AT_END(data_region_free);

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
	data_qp_end(&qps[0]);
	data_qp_end(&qps[1]);
}

static void
consumer_polls(struct device *d)
{
	struct ri_wc wc[4];

	g_assert_cmpuint(d->completions, >, 0);
	vsw_lock(&d->cq->user.lock);
	vib_cq_stage(&d->cq->user); /* as the service thread does at an event of the queue */
	vib_cq_unlock(&d->cq->user);
	g_assert_cmpuint(vib_poll_cq(&d->cq->user, wc, 4), ==, 0);
}

/* What is posted gets no completion when its queue pair is destroyed, though other threads look while the device flushes it. */
static void
test_flushed_late(void)
{
	struct device *d RI_AT_END(device_free) = device_new();
	struct vib_qp *qp = device_qp(d, false);
	const struct ri_recv_wr wr = {.wr_id = 5};
	struct data_region region RI_AT_END(data_region_free);

	data_region_new(d, &region, 1000);
	d->flushes_receives = true;
	g_assert_cmpint(vib_post_rq(&qp->user, &wr), ==, RI_SUCCESS);
	g_assert_cmpint(data_post(qp, &region, 1, RI_WR_SIGNALED), ==, RI_SUCCESS);
	d->in_qp_destroy = consumer_polls;
	data_qp_end(&qp);
	data_poll_none(d);
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
	g_test_add_func("/ib/staged/overflow", test_overflow);
	g_test_add_func("/ib/staged/full", test_full);
	g_test_add_func("/ib/staged/overflow-ends", test_overflow_ends);
	g_test_add_func("/ib/staged/overflow-destroyed", test_overflow_destroyed);
	g_test_add_func("/ib/staged/random", test_random);
	g_test_add_func("/ib/staged/flushed-late", test_flushed_late);
	return g_test_run();
}
