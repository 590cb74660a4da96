/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Posts that the device refuses: a post is entered before the device has it, so what another thread does in between must neither
 * lose it nor complete it twice. The device is played (vib_device.h); what another thread does happens inside its post.
 */
#include <errno.h>

#include "vib_cq.h"
#include "vib_data.h"
#include "vib_post.h"
#include "vib_qp_end.h"
#include "vib_ring.h"

static struct ri_qp *ending; /* of in_post */

/* Both queues. */
enum queue {
	QUEUE_RECEIVES = 0,
	QUEUE_REQUESTS, /* with one segment: the short post */
	QUEUE_COPIED,   /* the usual one */
	QUEUE_ODD,      /* neither */
	QUEUES
};

static enum ri_status
post(struct ri_qp *qp, enum queue queue, uint64_t id)
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
	struct device *d = device_new();
	struct ri_qp *qp = device_qp_of(d, false, 8);
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
	data_qp_end(qp);
	device_free(d);
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
	struct device *d = device_new();
	struct ri_qp *qp = device_qp_of(d, false, 8);

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
	data_qp_end(qp);
	device_free(d);
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
	struct device *d = device_new();
	struct ri_qp *qp = device_qp_of(d, false, 8);

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
	data_qp_end(qp);
	device_free(d);
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
	}
	g_test_add_func("/ib/refused/point", test_point);
	return g_test_run();
}
