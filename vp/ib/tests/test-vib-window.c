/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Windows and Sends that invalidate, over a device that the test plays (vib_device.h). */
#include <errno.h>
#include <string.h>

#include "vib_chain.h"
#include "vib_cq.h"
#include "vib_data.h"
#include "vib_post.h"
#include "vib_profile.h"

/* --- windows --------------------------------------------------------------------------------------- */

static enum ri_status
post_bind(struct vib_qp *qp, uint32_t window, const struct data_region *region, uint64_t id)
{
	const struct ri_wr wr = {.wr_id = id,
				 .opcode = RI_OP_BIND_MW,
				 .flags = RI_WR_SIGNALED,
				 .u.bind = {.mw_stag = window,
					    .mr_stag = region->stag,
					    .addr = (uintptr_t)data_memory + 16,
					    .length = 32,
					    .access = RI_ACCESS_REMOTE_WRITE}};

	return vib_post_sq(&qp->user, &wr);
}

static void
test_window(void)
{
	struct device *d RI_AT_END(device_free) = device_new();
	struct vib_qp *qp RI_AT_END(data_qp_end) = device_qp(d, false);
	struct ri_wr invalidate = {.wr_id = 2, .opcode = RI_OP_LOCAL_INV, .flags = RI_WR_SIGNALED};
	struct ri_mr_attr attr;
	struct data_region region RI_AT_END(data_region_free);
	struct ri_mw *mw;
	uint32_t stag;

	data_region_new(d, &region, 0);
	g_assert_cmpint(vib_mem_ops.mw_alloc(d->pd, RI_MW_WIDE, &mw, &stag), ==,
			RI_ERR_UNSUPPORTED);
	g_assert_cmpint(vib_mem_ops.mw_alloc(d->pd, RI_MW_NARROW, &mw, &stag), ==, RI_SUCCESS);
	g_assert_cmpint(post_bind(qp, stag + 5, &region, 1), ==, RI_SUCCESS);
	g_assert_cmpuint(d->sent[0].mw_rkey, ==, stag); /* the old one at the post, */
	g_assert_cmpuint(mw->mw->rkey, ==, stag + 5);   /* the new one behind it */
	g_assert_true(d->sent[0].wr.bind_mw.bind_info.mr == region.mr->mr);
	g_assert_cmpuint(d->sent[0].wr.bind_mw.bind_info.mw_access_flags, ==,
			 IBV_ACCESS_REMOTE_WRITE);
	device_complete(d, IBV_WC_SUCCESS);
	data_poll(d, 1, RI_WC_SUCCESS);
	g_assert_cmpint(vib_mem_ops.mw_query(mw, &attr), ==, RI_SUCCESS);
	g_assert_true(attr.valid);
	g_assert_cmpuint(attr.stag, ==, stag + 5);
	g_assert_cmpuint(attr.access, ==, RI_ACCESS_REMOTE_WRITE);
	g_assert_cmpint(vib_mem_ops.mr_dereg(region.mr), ==, RI_ERR_BUSY);
	g_assert_cmpint(vib_qp_ops.destroy((struct ri_qp *)qp), ==, RI_ERR_BUSY);
	invalidate.inv_stag = stag + 5;
	g_assert_cmpint(vib_post_sq(&qp->user, &invalidate), ==, RI_SUCCESS);
	g_assert_cmpuint(d->sent[1].wr.invalidate_rkey, ==, stag + 5);
	device_complete(d, IBV_WC_SUCCESS);
	data_poll(d, 2, RI_WC_SUCCESS);
	g_assert_cmpint(vib_mem_ops.mw_query(mw, &attr), ==, RI_SUCCESS);
	g_assert_false(attr.valid);
	g_assert_cmpint(vib_mem_ops.mw_free(mw), ==, RI_SUCCESS);
}

/* Post an invalidation; how many requests the device has then. */
static unsigned
post_invalidate(struct device *d, struct vib_qp *qp, uint32_t stag, uint64_t id)
{
	const struct ri_wr wr = {
		.wr_id = id, .opcode = RI_OP_LOCAL_INV, .flags = RI_WR_SIGNALED, .inv_stag = stag};

	g_assert_cmpint(vib_post_sq(&qp->user, &wr), ==, RI_SUCCESS);
	return d->sends;
}

/*
 * A window that is not bound is already invalid [RI 5.2.2], and an invalidation of it would crash
 * the kernel's rxe; so it must never reach the device. It succeeds at once if no request is before
 * it, and otherwise fails in its turn.
 */
static void
test_void(void)
{
	static const struct vib_quirk rxe = {.driver = "rxe", .void_harms = true};
	const struct ri_recv_wr receive = {.wr_id = 20};
	struct device *d RI_AT_END(device_free) = device_new();
	struct ibv_wc how = {.wc_flags = IBV_WC_WITH_INV};
	struct data_region region RI_AT_END(data_region_free);
	struct vib_qp *qp, *other;
	struct ri_mw *mw;
	uint32_t stag;

	d->rnic.quirk = &rxe;
	qp = device_qp(d, false);
	data_region_new(d, &region, 1000);
	g_assert_cmpint(vib_mem_ops.mw_alloc(d->pd, RI_MW_NARROW, &mw, &stag), ==, RI_SUCCESS);
	/* Never bound. */
	g_assert_cmpuint(post_invalidate(d, qp, stag, 1), ==, 0);
	data_poll(d, 1, RI_WC_SUCCESS);
	/* Twice: the second has nothing to do, but the first may not be done yet. */
	g_assert_cmpint(post_bind(qp, stag + 1, &region, 2), ==, RI_SUCCESS);
	g_assert_cmpuint(post_invalidate(d, qp, stag + 1, 3), ==, 2);
	device_complete(d, IBV_WC_SUCCESS);
	device_complete(d, IBV_WC_SUCCESS);
	g_assert_cmpuint(post_invalidate(d, qp, stag + 1, 4), ==, 2);
	for (uint64_t i = 2; i <= 4; i++)
		data_poll(d, i, RI_WC_SUCCESS);
	/* The peer has invalidated it. */
	g_assert_cmpint(post_bind(qp, stag + 2, &region, 5), ==, RI_SUCCESS);
	device_complete(d, IBV_WC_SUCCESS);
	data_poll(d, 5, RI_WC_SUCCESS);
	g_assert_cmpint(vib_post_rq(&qp->user, &receive), ==, RI_SUCCESS);
	how.invalidated_rkey = stag + 2;
	device_receive(d, 0, &how);
	g_assert_cmpuint(post_invalidate(d, qp, stag + 2, 6), ==, 3);
	data_poll(d, 20, RI_WC_SUCCESS);
	data_poll(d, 6, RI_WC_SUCCESS);
	/* One that the device refuses may be posted again. */
	g_assert_cmpint(post_bind(qp, stag + 3, &region, 7), ==, RI_SUCCESS);
	device_complete(d, IBV_WC_SUCCESS);
	data_poll(d, 7, RI_WC_SUCCESS);
	d->refuse = d->sends + 1;
	d->error = ENOMEM;
	g_assert_cmpint(vib_post_sq(&qp->user, &(struct ri_wr){.opcode = RI_OP_LOCAL_INV,
							       .inv_stag = stag + 3}),
			==, RI_ERR_QUEUE_FULL);
	d->refuse = 0;
	g_assert_cmpuint(post_invalidate(d, qp, stag + 3, 8), ==, 5);
	/* Behind a request that is not completed. */
	g_assert_cmpuint(post_invalidate(d, qp, stag + 3, 9), ==, 5);
	device_complete(d, IBV_WC_SUCCESS);
	vth_run(d->vth);
	data_poll(d, 8, RI_WC_SUCCESS);
	data_poll(d, 9, RI_WC_MW_BIND);
	g_assert_cmpuint(d->cm_events->len, ==, 1);
	data_qp_end(&qp);
	/* Other devices judge that themselves. But no window is invalidated through another queue pair [RI 5.4.1]. */
	d->rnic.quirk = &(const struct vib_quirk){.driver = ""};
	qp = device_qp(d, false);
	other = device_qp(d, false);
	g_assert_cmpint(data_post(qp, &region, 10, RI_WR_SIGNALED), ==, RI_SUCCESS);
	g_assert_cmpuint(post_invalidate(d, qp, stag + 3, 11), ==, 7);
	device_complete(d, IBV_WC_SUCCESS);
	device_complete(d, IBV_WC_SUCCESS);
	data_poll(d, 10, RI_WC_SUCCESS);
	data_poll(d, 11, RI_WC_SUCCESS);
	g_assert_cmpint(post_bind(qp, stag + 4, &region, 12), ==, RI_SUCCESS);
	device_complete(d, IBV_WC_SUCCESS);
	data_poll(d, 12, RI_WC_SUCCESS);
	g_assert_cmpuint(post_invalidate(d, other, stag + 4, 13), ==, 8);
	vth_run(d->vth);
	data_poll(d, 13, RI_WC_MW_BIND);
	g_assert_cmpint(vib_mem_ops.mw_free(mw), ==, RI_SUCCESS);
	data_qp_end(&qp);
	data_qp_end(&other);
}

/* Such an invalidation has a slot of the queue until its completion is taken, and keeps its place among the others. */
static void
test_void_slots(void)
{
	struct device *d RI_AT_END(device_free) = device_new();
	struct vib_qp *qp = device_qp_of(d, false, 4);
	struct ri_wr invalidate = {.opcode = RI_OP_LOCAL_INV, .flags = RI_WR_SIGNALED};
	struct data_region region RI_AT_END(data_region_free);
	struct ri_mw *mw;

	data_region_new(d, &region, 100);
	g_assert_cmpint(vib_mem_ops.mw_alloc(d->pd, RI_MW_NARROW, &mw, &invalidate.inv_stag), ==,
			RI_SUCCESS);
	for (invalidate.wr_id = 1; invalidate.wr_id <= 4; invalidate.wr_id++)
		g_assert_cmpint(vib_post_sq(&qp->user, &invalidate), ==, RI_SUCCESS);
	g_assert_cmpint(vib_post_sq(&qp->user, &invalidate), ==, RI_ERR_QUEUE_FULL);
	g_assert_cmpint(data_post(qp, &region, 5, RI_WR_SIGNALED), ==, RI_ERR_QUEUE_FULL);
	data_poll(d, 1, RI_WC_SUCCESS);
	data_poll(d, 2, RI_WC_SUCCESS);
	/* Two are left; a Write behind them, and a quiet invalidation behind that, which is no more the device's business. */
	g_assert_cmpint(data_post(qp, &region, 5, RI_WR_SIGNALED), ==, RI_SUCCESS);
	device_complete(d, IBV_WC_SUCCESS);
	invalidate.flags = 0;
	g_assert_cmpint(vib_post_sq(&qp->user, &invalidate), ==, RI_SUCCESS);
	g_assert_cmpuint(d->sends, ==, 1);
	data_poll(d, 3, RI_WC_SUCCESS);
	data_poll(d, 4, RI_WC_SUCCESS);
	data_poll(d, 5, RI_WC_SUCCESS);
	data_poll_none(d);
	/* All four slots are free; then they go with the queue pair, which loses no completion. */
	invalidate.flags = RI_WR_SIGNALED;
	for (invalidate.wr_id = 11; invalidate.wr_id <= 14; invalidate.wr_id++)
		g_assert_cmpint(vib_post_sq(&qp->user, &invalidate), ==, RI_SUCCESS);
	data_qp_end(&qp);
	for (uint64_t id = 11; id <= 14; id++)
		data_poll(d, id, RI_WC_SUCCESS);
	data_poll_none(d);
	g_assert_cmpint(vib_mem_ops.mw_free(mw), ==, RI_SUCCESS);
}

/* A window that was freed: the bind fails in its turn and ends the connection [RI 5.6.4]. */
static void
test_window_gone(void)
{
	struct device *d RI_AT_END(device_free) = device_new();
	struct data_region region RI_AT_END(data_region_free);
	struct vib_qp *qp RI_AT_END(data_qp_end) = device_qp(d, false);

	data_region_new(d, &region, 100);
	g_assert_cmpint(data_post(qp, &region, 1, RI_WR_SIGNALED), ==, RI_SUCCESS);
	g_assert_cmpint(post_bind(qp, 0x777700, &region, 2), ==, RI_SUCCESS);
	g_assert_cmpuint(d->sends, ==, 1);
	device_complete(d, IBV_WC_SUCCESS);
	vth_run(d->vth);
	data_poll(d, 1, RI_WC_SUCCESS);
	data_poll(d, 2, RI_WC_MW_BIND);
	g_assert_cmpuint(d->cm_events->len, ==, 1);
}

/* A service thread that is faster than the one that posts. */
static void
task_run_at_once(void *self, struct ri_task *task)
{
	(void)self;
	task->fire(task->arg);
	vth_run(device_of_process->vth);
}

/* The end that such a bind begins finds it, however early it comes: its completion is not lost. */
static void
test_window_gone_early(void)
{
	struct device *d RI_AT_END(device_free) = device_new();
	struct ri_host hasty = *d->rnic.host;
	struct data_region region RI_AT_END(data_region_free);

	hasty.task_run = task_run_at_once;
	d->rnic.host = &hasty;
	struct vib_qp *qp RI_AT_END(data_qp_end) = device_qp(d, false);
	data_region_new(d, &region, 100);
	g_assert_cmpint(post_bind(qp, 0x777700, &region, 1), ==, RI_SUCCESS);
	vth_run(d->vth);
	data_poll(d, 1, RI_WC_MW_BIND);
	g_assert_cmpuint(d->cm_events->len, ==, 1);
}

/* What a window may be bound over [RI 5.6.2]: a wrong bind never reaches the device, and fails in its turn. */
static void
test_window_bounds(void)
{
	const uint32_t all = RI_ACCESS_LOCAL_READ | RI_ACCESS_LOCAL_WRITE | RI_ACCESS_BIND;
	const uint64_t start = (uintptr_t)data_memory;
	static const uint64_t size = sizeof(data_memory);
	const struct {
		uint32_t region; /* its rights */
		uint32_t access;
		uint64_t addr;
		uint64_t length;
		bool sound;
	} rows[] = {
		{all, RI_ACCESS_REMOTE_WRITE, start, size, true},
		{all, RI_ACCESS_REMOTE_READ, start + size - 1, 1, true},
		{all, RI_ACCESS_REMOTE_READ, start + size, 1, false},
		{all, RI_ACCESS_REMOTE_READ, start + 1, size, false},
		{all, RI_ACCESS_REMOTE_READ, start - 1, 2, false},
		{all, RI_ACCESS_REMOTE_READ, start + 8, UINT64_MAX, false},
		{all, RI_ACCESS_REMOTE_READ, start, 0, false},
		{all, 0, start, 8, true},
		{all, RI_ACCESS_LOCAL_WRITE, start, 8, false},
		{all & ~RI_ACCESS_BIND, RI_ACCESS_REMOTE_READ, start, 8, false},
		{all & ~RI_ACCESS_LOCAL_WRITE, RI_ACCESS_REMOTE_READ, start, 8, true},
		{all & ~RI_ACCESS_LOCAL_WRITE, RI_ACCESS_REMOTE_WRITE, start, 8, false},
		{all & ~RI_ACCESS_LOCAL_WRITE, RI_ACCESS_REMOTE_ATOMIC, start, 8, false},
		{all & ~RI_ACCESS_LOCAL_READ, RI_ACCESS_REMOTE_READ, start, 8, false},
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
		const struct ri_mr_init init = {
			.addr = start, .length = size, .access = rows[i].region};
		struct device *d RI_AT_END(device_free) = device_new();
		struct vib_qp *qp RI_AT_END(data_qp_end) = device_qp(d, false);
		struct ri_wr wr = {.wr_id = i,
				   .opcode = RI_OP_BIND_MW,
				   .flags = RI_WR_SIGNALED,
				   .u.bind = {.addr = rows[i].addr,
					      .length = rows[i].length,
					      .access = rows[i].access}};
		struct ri_mr *mr;
		struct ri_mw *mw;

		g_test_message("row %u", i);
		g_assert_cmpint(vib_mem_ops.mr_reg(d->pd, &init, &mr, &wr.u.bind.mr_stag), ==,
				RI_SUCCESS);
		g_assert_cmpint(vib_mem_ops.mw_alloc(d->pd, RI_MW_NARROW, &mw, &wr.u.bind.mw_stag),
				==, RI_SUCCESS);
		g_assert_cmpint(vib_post_sq(&qp->user, &wr), ==, RI_SUCCESS);
		g_assert_cmpuint(d->sends, ==, rows[i].sound);
		if (rows[i].sound)
			device_complete(d, IBV_WC_SUCCESS);
		vth_run(d->vth);
		data_poll(d, i, rows[i].sound ? RI_WC_SUCCESS : RI_WC_MW_BIND);
		g_assert_cmpuint(d->cm_events->len, ==, rows[i].sound ? 0 : 1);
		g_assert_cmpint(vib_mem_ops.mw_free(mw), ==, RI_SUCCESS);
		g_assert_cmpint(vib_mem_ops.mr_dereg(mr), ==, RI_SUCCESS);
	}
}

/*
 * If a bind fails, it and the binds that are flushed after it must not change the window's STag:
 * the next bind, through another queue pair, must name the STag that a device such as rxe compares.
 */
static void
test_lost(void)
{
	struct device *d RI_AT_END(device_free) = device_new();
	struct vib_qp *qp = device_qp(d, false);
	struct data_region region RI_AT_END(data_region_free);
	struct ri_mw *mw;
	uint32_t stag;

	data_region_new(d, &region, 100);
	g_assert_cmpint(vib_mem_ops.mw_alloc(d->pd, RI_MW_NARROW, &mw, &stag), ==, RI_SUCCESS);
	g_assert_cmpint(post_bind(qp, stag + 1, &region, 1), ==, RI_SUCCESS);
	g_assert_cmpuint(post_invalidate(d, qp, stag + 1, 2), ==, 2);
	device_complete(d, IBV_WC_SUCCESS);
	device_complete(d, IBV_WC_SUCCESS);
	data_poll(d, 1, RI_WC_SUCCESS);
	data_poll(d, 2, RI_WC_SUCCESS);
	g_assert_cmpint(post_bind(qp, stag + 2, &region, 3), ==, RI_SUCCESS);
	g_assert_cmpint(post_bind(qp, stag + 3, &region, 4), ==, RI_SUCCESS);
	g_assert_cmpuint(mw->mw->rkey, ==, stag + 3);
	device_complete(d, IBV_WC_MW_BIND_ERR);
	data_poll(d, 3, RI_WC_MW_BIND);
	data_poll(d, 4, RI_WC_FLUSHED);
	g_assert_cmpuint(mw->mw->rkey, ==, stag + 1);
	vth_run(d->vth);
	/* One that never went to the device changes nothing either. */
	g_assert_cmpint(post_bind(qp, stag + 4, &region, 5), ==, RI_SUCCESS);
	data_poll(d, 5, RI_WC_FLUSHED);
	g_assert_cmpuint(mw->mw->rkey, ==, stag + 1);
	data_qp_end(&qp);
	qp = device_qp(d, false);
	g_assert_cmpint(post_bind(qp, stag + 5, &region, 6), ==, RI_SUCCESS);
	g_assert_cmpuint(d->sent[d->sends - 1].mw_rkey, ==, stag + 1);
	device_complete(d, IBV_WC_SUCCESS);
	data_poll(d, 6, RI_WC_SUCCESS);
	g_assert_cmpuint(mw->mw->rkey, ==, stag + 5);
	g_assert_cmpint(vib_mem_ops.mw_free(mw), ==, RI_SUCCESS);
	data_qp_end(&qp);
}

static struct {
	struct vib_qp *qp;
	const struct data_region *region;
	uint32_t window;
} bind_in_post;

/* Another thread binds and ends the queue pair while a chain is being posted. */
static void
on_post(struct device *d)
{
	(void)d;
	g_assert_cmpint(post_bind(bind_in_post.qp, bind_in_post.window, bind_in_post.region, 3), ==,
			RI_SUCCESS);
	g_assert_true(vib_chain_close(&bind_in_post.qp->user));
}

/* A bind that is kept when the queue pair ends never goes to the device: window and region can be freed before the end. */
static void
test_window_kept(void)
{
	struct device *d RI_AT_END(device_free) = device_new();
	struct vib_qp *qp RI_AT_END(data_qp_end) = device_qp(d, false);
	struct data_region region RI_AT_END(data_region_free);
	struct ri_mw *mw;
	uint32_t stag;

	data_region_new(d, &region, 100);
	g_assert_cmpint(vib_mem_ops.mw_alloc(d->pd, RI_MW_NARROW, &mw, &stag), ==, RI_SUCCESS);
	bind_in_post.qp = qp;
	bind_in_post.region = &region;
	bind_in_post.window = stag + 1;
	d->in_post = on_post;
	g_assert_cmpint(data_post(qp, &region, 1, RI_WR_COALESCE), ==, RI_SUCCESS);
	g_assert_cmpint(data_post(qp, &region, 2, 0), ==, RI_SUCCESS);
	g_assert_cmpuint(d->sends, ==, 2);
	g_assert_cmpint(vib_mem_ops.mw_free(mw), ==, RI_SUCCESS);
}

/* A peer's Send that invalidates, and one of ours. */
static void
test_invalidate(void)
{
	const struct ibv_wc how = {.wc_flags = IBV_WC_WITH_INV, .invalidated_rkey = 0x4455};
	const struct ibv_wc kernel = {.wc_flags = IBV_WC_IP_CSUM_OK, .invalidated_rkey = 0x4455};
	struct device *d RI_AT_END(device_free) = device_new();
	struct vib_qp *qp RI_AT_END(data_qp_end) = device_qp(d, false);
	const struct ri_recv_wr receive = {.wr_id = 9};
	struct ri_wr send = {.wr_id = 1,
			     .opcode = RI_OP_SEND,
			     .flags = RI_WR_INVALIDATE | RI_WR_SIGNALED,
			     .inv_stag = 0x99};
	struct ri_wc wc;

	g_assert_cmpint(vib_post_sq(&qp->user, &send), ==, RI_SUCCESS);
	g_assert_cmpint(d->sent[0].wr.opcode, ==, IBV_WR_SEND_WITH_INV);
	g_assert_cmpuint(d->sent[0].wr.invalidate_rkey, ==, 0x99);
	send.opcode = RI_OP_RDMA_WRITE;
	g_assert_cmpint(vib_post_sq(&qp->user, &send), ==, RI_ERR_UNSUPPORTED);
	qp->user.invalidates = false;
	send.opcode = RI_OP_SEND;
	g_assert_cmpint(vib_post_sq(&qp->user, &send), ==, RI_ERR_UNSUPPORTED);
	g_assert_cmpint(vib_post_rq(&qp->user, &receive), ==, RI_SUCCESS);
	device_receive(d, 0, &how);
	g_assert_cmpuint(vib_poll_cq(&d->cq->user, &wc, 1), ==, 1);
	g_assert_cmpint(wc.flags & RI_WC_INVALIDATED, !=, 0);
	g_assert_cmpuint(wc.inv_stag, ==, 0x4455);
	/* The bit of rxe, of that device only. */
	for (unsigned rxe = 0; rxe < 2; rxe++) {
		qp->user.invalidated |= rxe != 0 ? (unsigned)IBV_WC_IP_CSUM_OK : 0;
		g_assert_cmpint(vib_post_rq(&qp->user, &receive), ==, RI_SUCCESS);
		device_receive(d, 1 + rxe, &kernel);
		g_assert_cmpuint(vib_poll_cq(&d->cq->user, &wc, 1), ==, 1);
		g_assert_cmpint((wc.flags & RI_WC_INVALIDATED) != 0, ==, rxe != 0);
	}
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ib/window/void", test_void);
	g_test_add_func("/ib/window/void-slots", test_void_slots);
	g_test_add_func("/ib/window/lost", test_lost);
	g_test_add_func("/ib/window/bind", test_window);
	g_test_add_func("/ib/window/gone", test_window_gone);
	g_test_add_func("/ib/window/gone-early", test_window_gone_early);
	g_test_add_func("/ib/window/bounds", test_window_bounds);
	g_test_add_func("/ib/window/kept", test_window_kept);
	g_test_add_func("/ib/window/invalidate", test_invalidate);
	return g_test_run();
}
