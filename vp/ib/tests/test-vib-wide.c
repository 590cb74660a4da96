/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Wide windows, whose STag the device's library chooses, over a device that the test plays (vib_device.h). */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "vib_chain.h"
#include "vib_data.h"
#include "vib_mw.h"
#include "vib_post.h"

/* A device with one wide window and a region. */
struct scene {
	struct device *d;
	struct vib_qp *qp;
	struct ri_mw *mw;
	uint32_t first; /* the STag of the allocation */
	uint32_t last;  /* the STag that the last post returned */
	struct data_region region;
};

static void
scene_open(struct scene *s)
{
	s->d = device_new();
	s->d->rnic.attr.mw_wide = true;
	s->qp = device_qp(s->d, false);
	data_region_new(s->d, &s->region, 1000);
	g_assert_cmpint(vib_mem_ops.mw_alloc(s->d->pd, RI_MW_WIDE, &s->mw, &s->first), ==,
			RI_SUCCESS);
	g_assert_cmpint(s->mw->mw->type, ==, IBV_MW_TYPE_1);
	s->last = 0;
}

static void
scene_close(struct scene *s)
{
	g_assert_cmpint(vib_mem_ops.mw_free(s->mw), ==, RI_SUCCESS);
	data_qp_end(&s->qp);
	data_region_free(&s->region);
	device_free(&s->d);
}

/* The window is named by its first STag, whatever it has now. */
static enum ri_status
post_bind(struct scene *s, uint64_t length, uint64_t id, uint32_t flags)
{
	const struct ri_wr wr = {
		.wr_id = id,
		.opcode = RI_OP_BIND_MW,
		.flags = flags,
		.u.returning = {.bind = {.mw_stag = s->first,
					 .mr_stag = length != 0 ? s->region.stag : 0,
					 .addr = length != 0 ? (uintptr_t)data_memory : 0,
					 .length = length,
					 .access = length != 0 ? RI_ACCESS_REMOTE_WRITE : 0},
				.stag = &s->last}};

	return vib_post_sq(&s->qp->user, &wr);
}

static struct ri_mr_attr
query(const struct scene *s)
{
	struct ri_mr_attr attr;

	g_assert_cmpint(vib_mem_ops.mw_query(s->mw, &attr), ==, RI_SUCCESS);
	return attr;
}

/* The device has got a bind as its newest request. */
static const struct ibv_send_wr *
newest(const struct scene *s, uint64_t length)
{
	const struct ibv_send_wr *wr = &s->d->sent[s->d->sends - 1].wr;

	g_assert_cmpint(wr->opcode, ==, IBV_WR_BIND_MW);
	g_assert_cmpuint(wr->bind_mw.bind_info.length, ==, length);
	g_assert_cmpuint(wr->bind_mw.rkey, ==, s->last);
	return wr;
}

static void
test_bind(void)
{
	struct scene s RI_AT_END(scene_close);

	scene_open(&s);
	g_assert_cmpint(post_bind(&s, 64, 1, RI_WR_SIGNALED), ==, RI_SUCCESS);
	g_assert_cmpuint(s.last, ==, s.first + 1);
	g_assert_true(newest(&s, 64)->bind_mw.bind_info.mr == s.region.mr->mr);
	g_assert_cmpuint(newest(&s, 64)->send_flags, ==, IBV_SEND_SIGNALED);
	device_complete(s.d, IBV_WC_SUCCESS);
	data_poll(s.d, 1, RI_WC_SUCCESS);
	g_assert_true(query(&s).valid);
	g_assert_cmpuint(query(&s).stag, ==, s.last);
	g_assert_cmpuint(query(&s).length, ==, 64);
	g_assert_cmpuint(query(&s).access, ==, RI_ACCESS_REMOTE_WRITE);
	g_assert_cmpint(vib_mem_ops.mr_dereg(s.region.mr), ==, RI_ERR_BUSY);
	/* While it is bound, and without a completion. */
	g_assert_cmpint(post_bind(&s, 32, 2, 0), ==, RI_SUCCESS);
	g_assert_cmpuint(s.last, ==, s.first + 2);
	g_assert_cmpuint(newest(&s, 32)->send_flags, ==, 0);
	g_assert_cmpuint(query(&s).length, ==, 32);
	/* It does not belong to the queue pair. */
	g_assert_cmpuint(vib_mw_count(s.d->context, NULL, s.qp->user.qpn), ==, 0);
	g_assert_cmpuint(vib_mw_count(s.d->context, s.region.mr->mr, 0), ==, 1);
	/* Unbound, twice: every library gets a region for it. */
	for (uint64_t id = 3; id <= 4; id++) {
		g_assert_cmpint(post_bind(&s, 0, id, RI_WR_SIGNALED), ==, RI_SUCCESS);
		g_assert_cmpuint(s.last, ==, s.first + id);
		g_assert_true(newest(&s, 0)->bind_mw.bind_info.mr == s.d->pd->nothing);
		g_assert_false(query(&s).valid);
	}
	for (unsigned i = 0; i < 3; i++)
		device_complete(s.d, IBV_WC_SUCCESS);
	data_poll(s.d, 3, RI_WC_SUCCESS);
	data_poll(s.d, 4, RI_WC_SUCCESS);
	g_assert_cmpuint(vib_mw_count(s.d->context, NULL, 0), ==, 0);
}

/* No invalidation is right, also none of a window that is not bound; the device never gets it. */
static void
test_not_invalidated(void)
{
	for (unsigned bound = 0; bound < 2; bound++) {
		struct ri_wr wr = {.wr_id = 5, .opcode = RI_OP_LOCAL_INV, .flags = RI_WR_SIGNALED};
		struct scene s RI_AT_END(scene_close);

		scene_open(&s);
		wr.inv_stag = s.first;
		if (bound != 0) {
			g_assert_cmpint(post_bind(&s, 64, 1, RI_WR_SIGNALED), ==, RI_SUCCESS);
			device_complete(s.d, IBV_WC_SUCCESS);
			data_poll(s.d, 1, RI_WC_SUCCESS);
			wr.inv_stag = s.last;
		}
		g_assert_cmpint(vib_post_sq(&s.qp->user, &wr), ==, RI_SUCCESS);
		g_assert_cmpuint(s.d->sends, ==, bound);
		vth_run(s.d->vth);
		data_poll(s.d, 5, RI_WC_MW_BIND);
		g_assert_cmpint(query(&s).valid, ==, bound != 0);
	}
}

/* What is kept back goes first. */
static void
test_order(void)
{
	struct scene s RI_AT_END(scene_close);

	scene_open(&s);
	g_assert_cmpint(data_post(s.qp, &s.region, 1, RI_WR_COALESCE), ==, RI_SUCCESS);
	g_assert_cmpint(data_post(s.qp, &s.region, 2, RI_WR_COALESCE), ==, RI_SUCCESS);
	g_assert_cmpuint(s.d->sends, ==, 0);
	g_assert_cmpint(post_bind(&s, 64, 3, RI_WR_SIGNALED), ==, RI_SUCCESS);
	g_assert_cmpuint(s.d->sends, ==, 3);
	(void)newest(&s, 64);
	/* Also if it may itself wait: the library posts it at once. */
	g_assert_cmpint(post_bind(&s, 64, 4, RI_WR_SIGNALED | RI_WR_COALESCE), ==, RI_SUCCESS);
	g_assert_cmpuint(s.d->sends, ==, 4);
}

/* The device refuses what is kept back: the bind is flushed with it, and the window is as before. */
static void
test_order_lost(void)
{
	struct scene s RI_AT_END(scene_close);

	scene_open(&s);
	g_assert_cmpint(data_post(s.qp, &s.region, 1, RI_WR_COALESCE | RI_WR_SIGNALED), ==,
			RI_SUCCESS);
	s.d->refuse = 1;
	s.d->error = EINVAL;
	g_assert_cmpint(post_bind(&s, 64, 2, RI_WR_SIGNALED), ==, RI_SUCCESS);
	g_assert_cmpuint(s.last, ==, s.first + 1);
	g_assert_cmpuint(s.d->sends, ==, 0);
	vth_run(s.d->vth);
	data_poll(s.d, 1, RI_WC_FLUSHED);
	data_poll(s.d, 2, RI_WC_FLUSHED);
	g_assert_false(query(&s).valid);
	g_assert_cmpuint(s.mw->mw->rkey, ==, s.first);
	/* Behind the end, too, a post tells an STag of the window. */
	s.last = 0;
	g_assert_cmpint(post_bind(&s, 64, 3, RI_WR_SIGNALED), ==, RI_SUCCESS);
	g_assert_cmpuint(s.last, ==, s.first + 1);
	data_poll(s.d, 3, RI_WC_FLUSHED);
}

static void
test_refused(void)
{
	struct scene s RI_AT_END(scene_close);

	scene_open(&s);
	g_assert_cmpint(post_bind(&s, 64, 1, RI_WR_SIGNALED), ==, RI_SUCCESS);
	device_complete(s.d, IBV_WC_SUCCESS);
	data_poll(s.d, 1, RI_WC_SUCCESS);
	s.d->refuse = 2;
	s.d->error = ENOMEM;
	g_assert_cmpint(post_bind(&s, 32, 2, RI_WR_SIGNALED), ==, RI_ERR_QUEUE_FULL);
	s.d->error = EOPNOTSUPP;
	g_assert_cmpint(post_bind(&s, 32, 2, RI_WR_SIGNALED), ==, RI_ERR_UNSUPPORTED);
	g_assert_cmpuint(query(&s).length, ==, 64);
	g_assert_cmpuint(query(&s).stag, ==, s.first + 1);
	s.d->refuse = 0;
	g_assert_cmpint(post_bind(&s, 32, 3, RI_WR_SIGNALED), ==, RI_SUCCESS);
	g_assert_cmpuint(s.last, ==, s.first + 2);
	device_complete(s.d, IBV_WC_SUCCESS);
	data_poll(s.d, 3, RI_WC_SUCCESS);
}

/* A bind that fails, and those behind it, leave the window as it was, bound over the same region. */
static void
test_failed(void)
{
	struct scene s RI_AT_END(scene_close);

	scene_open(&s);
	g_assert_cmpint(post_bind(&s, 64, 1, RI_WR_SIGNALED), ==, RI_SUCCESS);
	device_complete(s.d, IBV_WC_SUCCESS);
	data_poll(s.d, 1, RI_WC_SUCCESS);
	g_assert_cmpint(post_bind(&s, 32, 2, RI_WR_SIGNALED), ==, RI_SUCCESS);
	g_assert_cmpint(post_bind(&s, 0, 3, RI_WR_SIGNALED), ==, RI_SUCCESS);
	g_assert_cmpuint(s.mw->mw->rkey, ==, s.first + 3);
	device_complete(s.d, IBV_WC_MW_BIND_ERR);
	data_poll(s.d, 2, RI_WC_MW_BIND);
	data_poll(s.d, 3, RI_WC_FLUSHED);
	g_assert_cmpuint(s.mw->mw->rkey, ==, s.first + 1);
	g_assert_cmpuint(query(&s).stag, ==, s.first + 1);
	g_assert_true(query(&s).valid);
	g_assert_cmpuint(query(&s).length, ==, 64);
	g_assert_cmpint(vib_mem_ops.mr_dereg(s.region.mr), ==, RI_ERR_BUSY);
	vth_run(s.d->vth);
	data_qp_end(&s.qp);
	s.qp = device_qp(s.d, false);
	/* One that breaks a rule never goes to the device, and changes nothing either. */
	g_assert_cmpint(post_bind(&s, sizeof(data_memory) + 1, 4, RI_WR_SIGNALED), ==, RI_SUCCESS);
	g_assert_cmpuint(s.last, ==, s.first + 2);
	vth_run(s.d->vth);
	data_poll(s.d, 4, RI_WC_MW_BIND);
	g_assert_true(query(&s).valid);
	g_assert_cmpuint(s.mw->mw->rkey, ==, s.first + 1);
}

/* Binds through two queue pairs fail, and that of the first is heard of last: the window has the STag before both. */
static void
test_failed_late(void)
{
	struct scene s RI_AT_END(scene_close);

	scene_open(&s);
	for (uint64_t id = 1; id <= 4; id++) {
		g_assert_cmpint(post_bind(&s, 60 + id, id, RI_WR_SIGNALED), ==, RI_SUCCESS);
		device_complete(s.d, IBV_WC_SUCCESS);
		data_poll(s.d, id, RI_WC_SUCCESS);
	}
	vib_mw_lost(&s.d->rnic.keys, s.first, (uint8_t)(s.first + 3));
	g_assert_cmpuint(query(&s).length, ==, 63);
	vib_mw_lost(&s.d->rnic.keys, s.first, (uint8_t)(s.first + 1));
	g_assert_cmpuint(query(&s).length, ==, 61);
	vib_mw_lost(&s.d->rnic.keys, s.first, (uint8_t)(s.first + 2));
	g_assert_cmpuint(query(&s).length, ==, 61);
	g_assert_cmpuint(query(&s).stag, ==, s.first + 1);
	g_assert_cmpuint(s.mw->mw->rkey, ==, s.first + 1);
	g_assert_cmpint(post_bind(&s, 32, 5, RI_WR_SIGNALED), ==, RI_SUCCESS);
	g_assert_cmpuint(s.d->sent[s.d->sends - 1].mw_rkey, ==, s.first + 1);
}

/* Drivers that cannot bind have libibverbs' own function, and some do not allocate. */
static void
test_works(void)
{
	struct device *d RI_AT_END(device_free) = device_new();
	int (*elsewhere)(const char *text) = puts;

	g_assert_true(vib_mw_wide_works(&d->verbs));
	d->create_error = EOPNOTSUPP;
	g_assert_false(vib_mw_wide_works(&d->verbs));
	d->create_error = 0;
	memcpy(&d->verbs.ops.bind_mw, &elsewhere, sizeof(elsewhere));
	g_assert_false(vib_mw_wide_works(&d->verbs));
	d->verbs.ops.bind_mw = NULL;
	g_assert_false(vib_mw_wide_works(&d->verbs));
}

/* What a domain has for unbinding is made once, and goes with it; without it there is no window. */
static void
test_domain(void)
{
	struct device *d RI_AT_END(device_free) = device_new();
	struct ri_mw *mw[2];
	uint32_t stag;

	g_assert_cmpint(vib_mem_ops.mw_alloc(d->pd, RI_MW_WIDE, &mw[0], &stag), ==,
			RI_ERR_UNSUPPORTED);
	d->rnic.attr.mw_wide = true;
	d->reg_error = ENOMEM;
	g_assert_cmpint(vib_mem_ops.mw_alloc(d->pd, RI_MW_WIDE, &mw[0], &stag), ==,
			RI_ERR_RESOURCES);
	d->reg_error = 0;
	for (unsigned i = 0; i < 2; i++)
		g_assert_cmpint(vib_mem_ops.mw_alloc(d->pd, RI_MW_WIDE, &mw[i], &stag), ==,
				RI_SUCCESS);
	g_assert_cmpint(d->regions, ==, 1);
	g_assert_cmpint(vib_pd_ops.destroy(d->pd), ==, RI_ERR_BUSY);
	for (unsigned i = 0; i < 2; i++)
		g_assert_cmpint(vib_mem_ops.mw_free(mw[i]), ==, RI_SUCCESS);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/vib/wide/bind", test_bind);
	g_test_add_func("/vib/wide/not-invalidated", test_not_invalidated);
	g_test_add_func("/vib/wide/order", test_order);
	g_test_add_func("/vib/wide/order-lost", test_order_lost);
	g_test_add_func("/vib/wide/refused", test_refused);
	g_test_add_func("/vib/wide/failed", test_failed);
	g_test_add_func("/vib/wide/failed-late", test_failed_late);
	g_test_add_func("/vib/wide/works", test_works);
	g_test_add_func("/vib/wide/domain", test_domain);
	return g_test_run();
}
