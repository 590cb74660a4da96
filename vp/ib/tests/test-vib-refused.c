/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Posts that the device refuses: a post is recorded before the device gets it, so an action of
 * another thread in between must neither lose it nor complete it twice. The test plays the device
 * (vib_device.h), and performs the other thread's action inside of the device's post.
 */
#include <errno.h>

#include "vib_cq.h"
#include "vib_data.h"
#include "vib_post.h"
#include "vib_qp_end.h"
#include "vib_ring.h"

static struct vib_qp *ending; /* of in_post */

/* Both queues. */
enum queue {
	QUEUE_RECEIVES = 0,
	QUEUE_REQUESTS, /* with one segment: the short post */
	QUEUE_COPIED,   /* the usual one */
	QUEUE_ODD,      /* neither */
	QUEUES
};

static enum ri_status
post(struct vib_qp *qp, enum queue queue, uint64_t id)
{
	const struct ri_sge piece = {.addr = (uintptr_t)data_memory, .length = 1000, .stag = 1};
	const struct ri_sge pieces[] = {piece, piece};
	const struct ri_recv_wr receive = {.wr_id = id};
	struct ri_wr wr = {.wr_id = id,
			   .sgl = pieces,
			   .num_sge = queue == QUEUE_COPIED ? 2 : 1,
			   .opcode = RI_OP_RDMA_WRITE,
			   .flags = RI_WR_SIGNALED};

	if (queue == QUEUE_RECEIVES)
		return vib_post_rq(&qp->user, &receive);
	if (queue == QUEUE_ODD)
		wr = (struct ri_wr){.wr_id = id,
				    .sgl = pieces,
				    .num_sge = 1,
				    .opcode = RI_OP_FETCH_ADD,
				    .flags = RI_WR_SIGNALED};
	return vib_post_sq(&qp->user, &wr);
}

static void
refuse(struct device *d, int error)
{
	d->recv_error = error;
	d->error = error;
	d->refuse = error != 0 ? d->sends + 1 : 0;
}

/* The device completes what it has, the oldest first. */
static void
complete(struct device *d, enum queue queue, unsigned *done)
{
	const struct ibv_wc success = {.status = IBV_WC_SUCCESS};

	if (queue == QUEUE_RECEIVES)
		device_receive(d, (*done)++ % DEVICE_ROOM, &success);
	else
		device_complete(d, IBV_WC_SUCCESS);
}

/* Without an end: the post fails, has no completion, and the queue goes on with all its room. */
static void
test_alone(gconstpointer data)
{
	enum queue queue = (enum queue)GPOINTER_TO_INT(data);
	struct device *d RI_AT_END(device_free) = device_new();
	struct vib_qp *qp RI_AT_END(data_qp_end) = device_qp_of(d, false, 8);
	unsigned done = 0;

	for (uint64_t round = 0; round < 20; round++) {
		refuse(d, round % 2 == 0 ? ENOMEM : EINVAL);
		g_assert_cmpint(post(qp, queue, 99), ==,
				round % 2 == 0 ? RI_ERR_QUEUE_FULL : RI_ERR_UNSUPPORTED);
		g_assert_cmpuint(vib_ring_open(&qp->user.sq), ==, 0);
		g_assert_cmpuint(vib_ring_open(&qp->user.rq), ==, 0);
		refuse(d, 0);
		for (uint64_t id = 0; id < 8; id++)
			g_assert_cmpint(post(qp, queue, id), ==, RI_SUCCESS);
		g_assert_cmpint(post(qp, queue, 8), ==, RI_ERR_QUEUE_FULL);
		for (uint64_t id = 0; id < 8; id++) {
			complete(d, queue, &done);
			data_poll(d, id, RI_WC_SUCCESS);
		}
		data_poll_none(d);
	}
}

/* The device is removed: the end flushes here what it has not completed, which may be the post that is under way. */
static void
end_now(struct device *d)
{
	const struct ri_cm_event broken = {.kind = RI_CM_BROKEN};

	d->gone = true;
	atomic_store(&d->rnic.failed, true);
	vib_qp_end(ending, &broken, RI_EVENT_NONE);
	vth_run(d->vth);
}

/* Likewise, but the device completes nothing for a while, and the timer of the end waits for that. */
static void
end_slowly(struct device *d)
{
	const struct ri_cm_event broken = {.kind = RI_CM_BROKEN};

	d->gone = true;
	vib_qp_end(ending, &broken, RI_EVENT_NONE);
}

/* An end comes while the device has the post, and then refuses it: it is flushed, once, and the queue is empty. */
static void
refused_in_end(enum queue queue, void (*end)(struct device *d), unsigned before)
{
	struct device *d RI_AT_END(device_free) = device_new();
	struct vib_qp *qp RI_AT_END(data_qp_end) = device_qp_of(d, false, 8);

	ending = qp;
	for (uint64_t id = 0; id < before; id++)
		g_assert_cmpint(post(qp, queue, id), ==, RI_SUCCESS);
	d->in_post = end;
	refuse(d, EIO);
	g_assert_cmpint(post(qp, queue, before), ==, RI_SUCCESS);
	refuse(d, 0);
	/* What is posted now is flushed likewise, and does not reach the device. */
	g_assert_cmpint(post(qp, queue, before + 1), ==, RI_SUCCESS);
	vth_advance(d->vth, UINT64_C(2000) * 1000 * 1000);
	for (uint64_t id = 0; id <= before + 1; id++)
		data_poll(d, id, RI_WC_FLUSHED);
	data_poll_none(d);
	g_assert_cmpuint(d->cm_events->len, ==, 1);
	g_assert_cmpuint(vib_ring_open(&qp->user.sq), ==, 0);
	g_assert_cmpuint(vib_ring_open(&qp->user.rq), ==, 0);
}

static void
test_ended(gconstpointer data)
{
	for (unsigned before = 0; before <= 2; before++)
		refused_in_end((enum queue)GPOINTER_TO_INT(data), end_now, before);
}

static void
test_ending(gconstpointer data)
{
	for (unsigned before = 0; before <= 2; before++)
		refused_in_end((enum queue)GPOINTER_TO_INT(data), end_slowly, before);
}

static uint32_t tail_in_end;

/* While the post is entered. */
static void
tail_note(struct device *d)
{
	(void)d;
	tail_in_end = atomic_load(&ending->user.rq.tail);
}

/* The point up to which an end waits was of a post that is taken back: it does not wait for it. */
static void
test_point(void)
{
	struct device *d RI_AT_END(device_free) = device_new();
	struct vib_qp *qp RI_AT_END(data_qp_end) = device_qp_of(d, false, 8);

	ending = qp;
	d->in_post = tail_note;
	refuse(d, ENOMEM);
	g_assert_cmpint(post(qp, QUEUE_RECEIVES, 1), ==, RI_ERR_QUEUE_FULL);
	d->gone = true;
	end_slowly(d);
	qp->drain_rq = tail_in_end;
	vth_advance(d->vth, 1000 * 1000); /* a millisecond */
	g_assert_cmpuint(d->cm_events->len, ==, 1);
	data_poll_none(d);
}

/* --- the connection has ended, and the kernel has not reported it ---------------------------------------- */

static const struct ri_cm_event orderly = {.kind = RI_CM_DISCONNECTED};

/* The only event of the connection manager. */
static void
event_is(const struct device *d, enum ri_cm_event_kind kind)
{
	g_assert_cmpuint(d->cm_events->len, ==, 1);
	g_assert_cmpint(g_array_index(d->cm_events, struct ri_cm_event, 0).kind, ==, kind);
}

/* `before` posts that the device has, one that it refuses, and one behind that, which it does not get. */
static struct vib_qp *
lost_new(struct device *d, enum queue queue, unsigned before, int error)
{
	struct vib_qp *qp = device_qp_of(d, false, 8);
	unsigned had;

	for (uint64_t id = 0; id < before; id++)
		g_assert_cmpint(post(qp, queue, id), ==, RI_SUCCESS);
	refuse(d, error);
	g_assert_cmpint(post(qp, queue, before), ==, RI_SUCCESS);
	d->queues = false;
	refuse(d, 0);
	had = d->sends + d->recvs;
	g_assert_cmpint(post(qp, queue, before + 1), ==, RI_SUCCESS);
	g_assert_cmpuint(d->sends + d->recvs, ==, had);
	data_poll_none(d);
	return qp;
}

/* Each is flushed once, in order, before the event, and nothing is left. */
static void
lost_check(struct device *d, struct vib_qp *qp, unsigned before, enum ri_cm_event_kind kind)
{
	for (uint64_t id = 0; id <= before + 1; id++)
		data_poll(d, id, RI_WC_FLUSHED);
	data_poll_none(d);
	event_is(d, kind);
	g_assert_cmpuint(vib_ring_open(&qp->user.sq), ==, 0);
	g_assert_cmpuint(vib_ring_open(&qp->user.rq), ==, 0);
	data_qp_end(&qp);
	d->queues = false;
	device_free(&d);
}

/* The kernel reports an orderly end soon after a post was refused: the event is DISCONNECTED. */
static void
test_lost(gconstpointer data)
{
	enum queue queue = (enum queue)GPOINTER_TO_INT(data);

	for (unsigned before = 0; before <= 2; before++) {
		struct device *d = device_new();
		struct vib_qp *qp = lost_new(d, queue, before, ENOTCONN);
		const struct ibv_wc flushed = {.status = IBV_WC_WR_FLUSH_ERR};

		vth_advance(d->vth, 100 * 1000 * 1000);
		g_assert_cmpuint(d->cm_events->len, ==, 0);
		for (unsigned i = 0; queue == QUEUE_RECEIVES && i < before; i++)
			device_receive(d, i, &flushed);
		vib_qp_end(qp, &orderly, RI_EVENT_NONE);
		vth_advance(d->vth, 1000 * 1000);
		g_assert_cmpuint(d->aborts, ==, 0);
		lost_check(d, qp, before, RI_CM_DISCONNECTED);
	}
}

/* The device has queued what it refused, and flushes it: not twice. */
static void
test_lost_queued(gconstpointer data)
{
	enum queue queue = (enum queue)GPOINTER_TO_INT(data);

	for (unsigned before = 0; before <= 2; before++) {
		struct device *d = device_new();
		struct vib_qp *qp;

		d->queues = true;
		qp = lost_new(d, queue, before, ENOTCONN);
		g_assert_cmpuint(d->sends, ==, before + 1);
		vib_qp_end(qp, &orderly, RI_EVENT_NONE);
		vth_advance(d->vth, 1000 * 1000);
		lost_check(d, qp, before, RI_CM_DISCONNECTED);
	}
}

/* No report of the end comes: after a second the event is BROKEN, and this side aborts the connection. */
static void
test_lost_untold(gconstpointer data)
{
	enum queue queue = (enum queue)GPOINTER_TO_INT(data);
	struct device *d = device_new();
	struct vib_qp *qp = lost_new(d, queue, 0, ENOTCONN);

	vth_advance(d->vth, 999 * 1000 * 1000);
	data_poll_none(d);
	g_assert_cmpuint(d->cm_events->len, ==, 0);
	vth_advance(d->vth, 2 * 1000 * 1000);
	g_assert_cmpuint(d->aborts, ==, 1);
	lost_check(d, qp, 0, RI_CM_BROKEN);
}

/* Another error says so only together with the state of the device's queue pair. */
static void
test_lost_state(void)
{
	struct device *d = device_new();
	struct vib_qp *qp = device_qp_of(d, false, 8);

	refuse(d, EIO);
	g_assert_cmpint(post(qp, QUEUE_REQUESTS, 9), ==, RI_ERR_UNSUPPORTED);
	d->in_error = true;
	refuse(d, ENOMEM);
	g_assert_cmpint(post(qp, QUEUE_REQUESTS, 9), ==, RI_ERR_QUEUE_FULL);
	refuse(d, EINVAL);
	g_assert_cmpint(post(qp, QUEUE_REQUESTS, 9), ==, RI_ERR_UNSUPPORTED);
	data_qp_end(&qp);
	refuse(d, 0);
	qp = lost_new(d, QUEUE_REQUESTS, 1, EIO);
	vib_qp_end(qp, &orderly, RI_EVENT_NONE);
	vth_advance(d->vth, 1000 * 1000);
	lost_check(d, qp, 1, RI_CM_DISCONNECTED);
}

static void
not_connected(struct device *d)
{
	(void)d;
	errno = ENOTCONN;
}

/* A library may return an errno that is negative, or -1 and errno is set. */
static void
test_lost_returned(void)
{
	for (unsigned i = 0; i < 2; i++) {
		struct device *d = device_new();
		struct vib_qp *qp = device_qp_of(d, false, 8);

		refuse(d, -ENOMEM);
		g_assert_cmpint(post(qp, QUEUE_RECEIVES, 9), ==, RI_ERR_QUEUE_FULL);
		g_assert_cmpint(post(qp, QUEUE_REQUESTS, 9), ==, RI_ERR_QUEUE_FULL);
		refuse(d, -EINVAL);
		g_assert_cmpint(post(qp, QUEUE_REQUESTS, 9), ==, RI_ERR_UNSUPPORTED);
		refuse(d, 0);
		data_qp_end(&qp);
		d->in_post = not_connected;
		qp = lost_new(d, QUEUE_REQUESTS, 0, i == 0 ? -1 : -ENOTCONN);
		vib_qp_end(qp, &orderly, RI_EVENT_NONE);
		vth_advance(d->vth, 1000 * 1000);
		lost_check(d, qp, 0, RI_CM_DISCONNECTED);
	}
}

/* A request that failed before is found afterwards: the connection is broken, at once. */
static void
test_lost_failed(void)
{
	struct device *d RI_AT_END(device_free) = device_new();
	struct vib_qp *qp RI_AT_END(data_qp_end) = lost_new(d, QUEUE_REQUESTS, 1, ENOTCONN);

	device_complete(d, IBV_WC_REM_OP_ERR);
	data_poll(d, 0, RI_WC_REMOTE_OPERATION);
	vth_advance(d->vth, 1000 * 1000);
	event_is(d, RI_CM_BROKEN);
	data_poll(d, 1, RI_WC_FLUSHED);
	data_poll(d, 2, RI_WC_FLUSHED);
	data_poll_none(d);
}

/* The timer of a lost connection does not end the next life of the queue pair, and no receive of the first life is left. */
static void
test_lost_idle(void)
{
	const struct ri_qp_attr idle = {.state = RI_QPS_IDLE};
	struct device *d RI_AT_END(device_free) = device_new();
	struct vib_qp *qp RI_AT_END(data_qp_end) = lost_new(d, QUEUE_RECEIVES, 0, ENOTCONN);

	g_assert_cmpint(vib_qp_ops.modify((struct ri_qp *)qp, &idle, RI_QP_ATTR_STATE), !=,
			RI_SUCCESS);
	vib_qp_end(qp, &orderly, RI_EVENT_NONE);
	vth_advance(d->vth, 1000 * 1000);
	data_poll(d, 0, RI_WC_FLUSHED);
	data_poll(d, 1, RI_WC_FLUSHED);
	g_assert_cmpint(vib_qp_ops.modify((struct ri_qp *)qp, &idle, RI_QP_ATTR_STATE), ==,
			RI_SUCCESS);
	refuse(d, ENOTCONN);
	g_assert_cmpint(post(qp, QUEUE_RECEIVES, 5), ==, RI_ERR_UNSUPPORTED);
	vth_advance(d->vth, UINT64_C(3000) * 1000 * 1000);
	data_poll_none(d);
	event_is(d, RI_CM_DISCONNECTED);
}

static void
disconnect_now(struct device *d)
{
	(void)d;
	pthread_mutex_lock(&ending->lock);
	g_assert_true(vib_qp_closing(ending));
	pthread_mutex_unlock(&ending->lock);
}

/* This side disconnects while the device has the post, queues it and refuses it: the end that follows flushes it, once. */
static void
test_lost_closing(gconstpointer data)
{
	enum queue queue = (enum queue)GPOINTER_TO_INT(data);
	struct device *d = device_new();

	ending = device_qp_of(d, false, 8);
	d->in_post = disconnect_now;
	d->queues = true;
	refuse(d, ENOTCONN);
	g_assert_cmpint(post(ending, queue, 0), ==, RI_SUCCESS);
	refuse(d, 0);
	vth_advance(d->vth, UINT64_C(1500) * 1000 * 1000);
	data_poll_none(d);
	g_assert_cmpuint(d->cm_events->len, ==, 0);
	g_assert_cmpint(post(ending, queue, 1), ==, RI_SUCCESS);
	vib_qp_end(ending, &orderly, RI_EVENT_NONE);
	vth_advance(d->vth, 1000 * 1000);
	lost_check(d, ending, 0, RI_CM_DISCONNECTED);
}

/* Requests that are kept and go in one call; the device does not say which one it refuses, and may have queued all. */
static void
lost_chain(bool queues, unsigned refused)
{
	struct device *d = device_new();
	struct data_region region;
	struct vib_qp *qp = device_qp_of(d, false, 8);

	data_region_new(d, &region, 200);
	g_assert_cmpint(data_post(qp, &region, 0, RI_WR_SIGNALED), ==, RI_SUCCESS);
	g_assert_cmpint(data_post(qp, &region, 1, RI_WR_COALESCE), ==, RI_SUCCESS);
	g_assert_cmpint(data_post(qp, &region, 2, RI_WR_COALESCE), ==, RI_SUCCESS);
	d->queues = queues;
	d->error = ENOTCONN;
	d->refuse = 1 + refused;
	g_assert_cmpint(data_post(qp, &region, 3, 0), ==, RI_SUCCESS);
	g_assert_cmpuint(d->sends, ==, queues ? 4 : refused);
	refuse(d, 0);
	d->queues = false;
	g_assert_cmpint(data_post(qp, &region, 4, RI_WR_SIGNALED), ==, RI_SUCCESS);
	vth_advance(d->vth, 100 * 1000 * 1000);
	g_assert_cmpuint(d->cm_events->len, ==, 0);
	vib_qp_end(qp, &orderly, RI_EVENT_NONE);
	vth_advance(d->vth, 1000 * 1000);
	g_assert_cmpuint(d->aborts, ==, 0);
	data_region_free(&region);
	lost_check(d, qp, 3, RI_CM_DISCONNECTED);
}

static void
test_lost_chain(void)
{
	lost_chain(true, 1);
	for (unsigned refused = 1; refused <= 3; refused++)
		lost_chain(false, refused);
}

static void
lost_add(int queue, const char *name)
{
	const struct {
		const char *what;
		GTestDataFunc test;
	} rows[] = {{"lost", test_lost},
		    {"untold", test_lost_untold},
		    {"queued", test_lost_queued},
		    {"closing", test_lost_closing}};

	for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_autofree char *path = g_strdup_printf("/ib/refused/%s-%s", name, rows[i].what);

		/* No library rings a bell for a receive. */
		if (queue != QUEUE_RECEIVES || i < 2)
			g_test_add_data_func(path, GINT_TO_POINTER(queue), rows[i].test);
	}
}

int
main(int argc, char **argv)
{
	static const char *const names[] = {"receive", "request", "copied", "odd"};

	g_test_init(&argc, &argv, NULL);
	for (int i = 0; i < QUEUES; i++) {
		g_autofree char *alone = g_strdup_printf("/ib/refused/%s-alone", names[i]);
		g_autofree char *ended = g_strdup_printf("/ib/refused/%s-ended", names[i]);
		g_autofree char *slow = g_strdup_printf("/ib/refused/%s-ending", names[i]);

		g_test_add_data_func(alone, GINT_TO_POINTER(i), test_alone);
		g_test_add_data_func(ended, GINT_TO_POINTER(i), test_ended);
		g_test_add_data_func(slow, GINT_TO_POINTER(i), test_ending);
		lost_add(i, names[i]);
	}
	g_test_add_func("/ib/refused/point", test_point);
	g_test_add_func("/ib/refused/lost-state", test_lost_state);
	g_test_add_func("/ib/refused/lost-returned", test_lost_returned);
	g_test_add_func("/ib/refused/lost-failed", test_lost_failed);
	g_test_add_func("/ib/refused/lost-idle", test_lost_idle);
	g_test_add_func("/ib/refused/lost-chain", test_lost_chain);
	return g_test_run();
}
