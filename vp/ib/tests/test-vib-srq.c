/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Shared receive queues over a device that the test plays: slots, completions in any order, and growth while in use. */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "vib_cq.h"
#include "vib_device.h"
#include "vib_post.h"
#include "vib_profile.h"

/* --- setting ---------------------------------------------------------------------------------------- */

struct setting {
	struct device *d;
	struct ri_srq *srq;
	struct vib_qp *qp;
	uint64_t posted;
};

static void
setting_new(struct setting *s, uint32_t max_wr, bool resizable)
{
	struct ri_srq_attr attr = {.ctx = 5, .max_wr = max_wr, .max_sge = 1};
	struct ri_qp_init init = {.ctx = 7,
				  .type = RI_QP_RC,
				  .max_sq_wr = 4,
				  .max_send_sge = 1,
				  .max_write_sge = 1,
				  .max_read_sge = 1};

	memset(s, 0, sizeof(*s));
	s->d = device_new();
	s->d->verbs.ops.post_srq_recv = device_post_srq_recv;
	s->d->rnic.attr.srq = true;
	s->d->rnic.attr.srq_resizable = resizable;
	s->d->rnic.attr.max_srq_wr = 100;
	g_assert_cmpint(vib_srq_ops.create(s->d->pd, &attr, &s->srq, &s->d->map), ==, RI_SUCCESS);
	g_assert_cmpint(vib_qp_ops.create(s->d->pd, &init, s->d->cq, s->d->cq, s->srq,
					  (struct ri_qp **)&s->qp, &s->d->map),
			==, RI_SUCCESS);
}

static void
setting_free(struct setting *s)
{
	g_assert_cmpint(vib_srq_ops.destroy(s->srq), ==, RI_ERR_BUSY);
	g_assert_cmpint(vib_qp_ops.destroy((struct ri_qp *)s->qp), ==, RI_SUCCESS);
	g_assert_cmpint(vib_srq_ops.destroy(s->srq), ==, RI_SUCCESS);
	device_free(&s->d);
}

static enum ri_status
post(struct setting *s)
{
	const struct ri_recv_wr wr = {.wr_id = s->posted};
	enum ri_status status = vib_post_srq(&s->srq->user, &wr);

	s->posted += status == RI_SUCCESS;
	return status;
}

/* Post until it is full; how many there was room for. */
static unsigned
fill(struct setting *s)
{
	unsigned count = 0;

	while (post(s) == RI_SUCCESS)
		count++;
	g_assert_cmpint(post(s), ==, RI_ERR_QUEUE_FULL);
	return count;
}

/* Complete the receive that was posted as this one, and poll it. */
static void
receive(struct setting *s, uint64_t id)
{
	const struct ibv_wc how = {.byte_len = 33, .qp_num = s->qp->user.qpn};
	struct ri_wc wc;

	device_receive(s->d, (unsigned)(id % DEVICE_ROOM), &how);
	g_assert_cmpuint(vib_poll_cq(&s->d->cq->user, &wc, 1), ==, 1);
	g_assert_cmpuint(wc.wr_id, ==, id);
	g_assert_cmpuint(wc.qp_ctx, ==, 7);
	g_assert_cmpuint(wc.byte_len, ==, 33);
	g_assert_cmpint(wc.opcode, ==, RI_OP_RECV);
	g_assert_cmpint(wc.flags, ==, RI_WC_RECEIVE | RI_WC_SOLICITED);
}

/* --- cases ------------------------------------------------------------------------------------------- */

/* Receives complete in any order, and each completion gives one slot back. */
static void
test_slots(void)
{
	static const uint64_t order[] = {2, 0, 4, 1, 3};
	struct ri_qp_counters counters = {.size = sizeof(counters)};
	struct setting s RI_AT_END(setting_free);

	setting_new(&s, 5, false);
	for (unsigned round = 0; round < 10; round++) {
		uint64_t first = s.posted;

		if (round == 1)
			vib_user_ops.srq_count(&s.srq->user, &counters);
		g_assert_cmpuint(fill(&s), ==, 5);
		for (unsigned i = 0; i < 5; i++)
			receive(&s, first + order[i]);
	}
	/* Five in each round; not the sixth, which was refused, nor what was posted before somebody asked to count. */
	g_assert_cmpuint(counters.posts[RI_OP_RECV], ==, 45);
	g_assert_cmphex(counters.known, ==, RI_COUNTED_POSTS);
}

/* A completion that is counted first holds its slot until it is polled; with its queue pair the slot is given back. */
static void
test_staged(void)
{
	struct ibv_wc how = {.byte_len = 33};
	struct ri_wc wc;
	struct setting s;

	setting_new(&s, 5, false);
	how.qp_num = s.qp->user.qpn;
	g_assert_cmpuint(fill(&s), ==, 5);
	for (unsigned i = 0; i < 5; i++)
		device_receive(s.d, i, &how);
	g_assert_cmpuint(vib_cq_depth(&s.d->cq->user), ==, 5);
	g_assert_cmpint(post(&s), ==, RI_ERR_QUEUE_FULL);
	for (unsigned i = 0; i < 2; i++) {
		g_assert_cmpuint(vib_poll_cq(&s.d->cq->user, &wc, 1), ==, 1);
		g_assert_cmpuint(wc.wr_id, ==, i);
		g_assert_cmpuint(fill(&s), ==, 1);
	}
	g_assert_cmpint(vib_qp_ops.destroy((struct ri_qp *)s.qp), ==, RI_SUCCESS);
	g_assert_cmpuint(fill(&s), ==, 3);
	for (unsigned i = 2; i < 5; i++) {
		g_assert_cmpuint(vib_poll_cq(&s.d->cq->user, &wc, 1), ==, 1);
		g_assert_cmpuint(wc.wr_id, ==, i);
	}
	g_assert_cmpint(post(&s), ==, RI_ERR_QUEUE_FULL);
	g_assert_cmpint(vib_srq_ops.destroy(s.srq), ==, RI_SUCCESS);
	device_free(&s.d);
}

/* It grows with receives outstanding, which stay, and has as much more room; what fails changes nothing. */
static void
test_growth(void)
{
	struct ri_srq_attr attr = {.limit = RI_SRQ_LIMIT_KEEP, .max_wr = 12};
	struct ri_map map;
	struct setting s RI_AT_END(setting_free);

	setting_new(&s, 5, true);
	g_assert_cmpuint(fill(&s), ==, 5);
	device_of_process->srq_error = ENOMEM;
	g_assert_cmpint(vib_srq_ops.modify(s.srq, &attr, true, &map), ==, RI_ERR_RESOURCES);
	device_of_process->srq_error = 0;
	g_assert_cmpint(post(&s), ==, RI_ERR_QUEUE_FULL);
	g_assert_cmpint(vib_srq_ops.modify(s.srq, &attr, true, &map), ==, RI_SUCCESS);
	g_assert_cmpuint(attr.max_wr, ==, 12);
	g_assert_cmpuint(device_of_process->srq_attr.max_wr, ==, 12);
	g_assert_true(map.addr == (uintptr_t)&s.srq->user);
	g_assert_cmpuint(fill(&s), ==, 7);
	for (uint64_t id = 0; id < 12; id++)
		receive(&s, (id * 5) % 12);
	g_assert_cmpuint(fill(&s), ==, 12);
	/* It gets no smaller; the call returns the real size. Less than what is outstanding is refused [IT 12.11]. */
	attr.max_wr = 11;
	g_assert_cmpint(vib_srq_ops.modify(s.srq, &attr, true, &map), ==, RI_ERR_BUSY);
	for (uint64_t id = 12; id < 21; id++)
		receive(&s, id);
	attr.max_wr = 3;
	g_assert_cmpint(vib_srq_ops.modify(s.srq, &attr, true, &map), ==, RI_SUCCESS);
	g_assert_cmpuint(attr.max_wr, ==, 12);
	g_assert_cmpuint(device_of_process->srq_attr.max_wr, ==, 12);
	g_assert_cmpuint(fill(&s), ==, 9);
}

/*
 * rxe's library loses its queue if it cannot map the larger one. So if there is no address space,
 * the device is not asked to resize.
 */
static void
test_no_room(void)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	struct ri_srq_attr attr = {.limit = RI_SRQ_LIMIT_KEEP, .max_wr = 100};
	struct rlimit before, none;
	enum ri_status status;
	struct setting s;

	if (g_getenv("ITAPI_TEST_NO_RSS") != NULL) {
		g_test_skip("the address space cannot be limited here");
		return;
	}
	setting_new(&s, 5, true);
	g_assert_cmpint(getrlimit(RLIMIT_AS, &before), ==, 0);
	none = before;
	none.rlim_cur = 4096;
	g_assert_cmpint(setrlimit(RLIMIT_AS, &none), ==, 0);
	status = vib_srq_ops.modify(s.srq, &attr, true, &s.d->map);
	g_assert_cmpint(setrlimit(RLIMIT_AS, &before), ==, 0);
	g_assert_cmpint(status, ==, RI_ERR_RESOURCES);
	g_assert_cmpuint(device_of_process->srq_attr.max_wr, ==, 5);
	g_assert_cmpuint(fill(&s), ==, 5);
	setting_free(&s);
#else
	g_test_skip("the address space cannot be limited here");
#endif
}

static void
expect_low(struct setting *s, uint32_t limit, guint events)
{
	struct ri_srq_attr attr;

	vth_run(s->d->vth);
	g_assert_cmpint(vib_srq_ops.query(s->srq, &attr), ==, RI_SUCCESS);
	g_assert_cmpuint(attr.limit, ==, limit);
	g_assert_cmpuint(device_of_process->srq_attr.srq_limit, ==, limit);
	g_assert_cmpuint(s->d->async_events->len, ==, events);
	if (events == 0)
		return;
	g_assert_cmpuint(g_array_index(s->d->async_events, struct ri_async_event, 0).event, ==,
			 RI_EVENT_SRQ_LIMIT);
	g_assert_cmpuint(g_array_index(s->d->async_events, struct ri_async_event, 0).ctx, ==, 5);
	g_array_set_size(s->d->async_events, 0);
}

static enum ri_status
arm(struct setting *s, uint32_t limit)
{
	struct ri_srq_attr attr = {.limit = limit};

	return vib_srq_ops.modify(s->srq, &attr, false, &s->d->map);
}

/* A device looks at its limit when a message takes a receive, but the event of one that is too high comes at once. */
static void
test_limit(void)
{
	struct setting s RI_AT_END(setting_free);

	setting_new(&s, 5, false);
	g_assert_cmpint(arm(&s, 2), ==, RI_SUCCESS);
	g_assert_cmpuint(s.d->async_events->len, ==, 0); /* never inside a verb */
	expect_low(&s, 0, 1);
	g_assert_cmpuint(fill(&s), ==, 5);
	g_assert_cmpint(arm(&s, 5), ==, RI_SUCCESS);
	expect_low(&s, 5, 0);
	/* Another limit that the device refuses changes nothing. */
	device_of_process->srq_error = EINVAL;
	g_assert_cmpint(arm(&s, 4), ==, RI_ERR_INVALID_ARG);
	device_of_process->srq_error = 0;
	expect_low(&s, 5, 0);
	/* The device's own event. */
	receive(&s, 0);
	device_of_process->srq_attr.srq_limit = 0;
	vib_srq_low(s.srq);
	expect_low(&s, 0, 1);
	g_assert_cmpint(arm(&s, 4), ==, RI_SUCCESS);
	expect_low(&s, 4, 0);
	g_assert_cmpint(arm(&s, 0), ==, RI_SUCCESS);
	expect_low(&s, 0, 0);
	g_assert_cmpint(arm(&s, 5), ==, RI_SUCCESS);
	expect_low(&s, 0, 1);
	/* An event that is due when the queue is destroyed does not come. */
	g_assert_cmpint(arm(&s, 5), ==, RI_SUCCESS);
}

/* What rxe cannot do: as many segments as another queue has, and a queue pair of another domain. */
static void
test_rxe(void)
{
	static const struct vib_quirk rxe = {.driver = "rxe", .srq_of_domain = true};
	struct ri_srq_attr attr = {.max_wr = 4, .max_sge = 3};
	struct ri_qp_init init = {.ctx = 8,
				  .type = RI_QP_RC,
				  .max_sq_wr = 4,
				  .max_send_sge = 1,
				  .max_write_sge = 1,
				  .max_read_sge = 1};
	struct ri_srq *srq = NULL;
	struct vib_qp *qp = NULL;
	struct ri_pd *other;
	struct setting s RI_AT_END(setting_free);

	setting_new(&s, 5, true);
	s.d->rnic.max_srq_sge = 2;
	g_assert_cmpint(vib_srq_ops.create(s.d->pd, &attr, &srq, &s.d->map), ==, RI_ERR_LIMIT);
	attr.max_sge = 2;
	g_assert_cmpint(vib_srq_ops.create(s.d->pd, &attr, &srq, &s.d->map), ==, RI_SUCCESS);
	g_assert_cmpint(vib_srq_ops.destroy(srq), ==, RI_SUCCESS);
	g_assert_cmpint(vib_pd_ops.create(s.d->context, &other), ==, RI_SUCCESS);
	for (unsigned i = 0; i < 2; i++) {
		enum ri_status status = vib_qp_ops.create(other, &init, s.d->cq, s.d->cq, s.srq,
							  (struct ri_qp **)&qp, &s.d->map);

		g_assert_cmpint(status, ==, i == 0 ? RI_SUCCESS : RI_ERR_UNSUPPORTED);
		if (i == 0)
			g_assert_cmpint(vib_qp_ops.destroy((struct ri_qp *)qp), ==, RI_SUCCESS);
		s.d->rnic.quirk = &rxe;
	}
	g_assert_true(vth_logged(s.d->vth, "shared receive queue of another protection domain"));
	g_assert_cmpint(vib_pd_ops.destroy(other), ==, RI_SUCCESS);
}

static void
test_arguments(void)
{
	static const struct {
		uint32_t max_wr;
		uint32_t limit;
		bool resize;
		enum ri_status status;
	} rows[] = {{0, RI_SRQ_LIMIT_KEEP, true, RI_ERR_INVALID_ARG},
		    {101, RI_SRQ_LIMIT_KEEP, true, RI_ERR_LIMIT},
		    {0, 6, false, RI_ERR_INVALID_ARG},
		    {8, 9, true, RI_ERR_INVALID_ARG},
		    {8, 5, true, RI_SUCCESS},
		    {100, 0, true, RI_SUCCESS}};
	struct ri_srq_attr attr;
	struct ri_map map;
	struct setting s RI_AT_END(setting_free);

	setting_new(&s, 5, true);
	g_assert_cmpuint(fill(&s), ==, 5);
	for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
		attr = (struct ri_srq_attr){.max_wr = rows[i].max_wr, .limit = rows[i].limit};
		g_assert_cmpint(vib_srq_ops.modify(s.srq, &attr, rows[i].resize, &map), ==,
				rows[i].status);
		g_assert_cmpuint(device_of_process->srq_attr.max_wr, ==,
				 i < 4 ? 5 : rows[i].max_wr);
		g_assert_cmpuint(device_of_process->srq_attr.srq_limit, ==, i == 4 ? 5 : 0);
	}
	s.d->rnic.attr.srq_resizable = false;
	g_assert_cmpint(vib_srq_ops.modify(s.srq, &attr, true, &map), ==, RI_ERR_UNSUPPORTED);
	s.d->rnic.attr.srq_resizable = true;
	atomic_store(&s.d->rnic.failed, true);
	g_assert_cmpint(vib_srq_ops.modify(s.srq, &attr, true, &map), ==, RI_ERR_FATAL);
	atomic_store(&s.d->rnic.failed, false);
}

/* libibverbs has no such event, so the limit is not taken: neither at creation nor later. */
static void
test_soft_limit(void)
{
	struct ri_qp_init init = {.ctx = 8,
				  .type = RI_QP_RC,
				  .max_sq_wr = 4,
				  .max_send_sge = 1,
				  .max_write_sge = 1,
				  .max_read_sge = 1,
				  .soft_limit = 1};
	struct ri_qp_attr attr = {.soft_limit = 1};
	struct vib_qp *qp = NULL;
	struct setting s RI_AT_END(setting_free);

	setting_new(&s, 5, true);
	g_assert_cmpint(vib_qp_ops.create(s.d->pd, &init, s.d->cq, s.d->cq, s.srq,
					  (struct ri_qp **)&qp, &s.d->map),
			==, RI_ERR_UNSUPPORTED);
	g_assert_null(qp);
	g_assert_cmpint(vib_qp_ops.modify((struct ri_qp *)s.qp, &attr, RI_QP_ATTR_SOFT), ==,
			RI_ERR_UNSUPPORTED);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ib/srq/slots", test_slots);
	g_test_add_func("/ib/srq/staged", test_staged);
	g_test_add_func("/ib/srq/growth", test_growth);
	g_test_add_func("/ib/srq/no-room", test_no_room);
	g_test_add_func("/ib/srq/arguments", test_arguments);
	g_test_add_func("/ib/srq/limit", test_limit);
	g_test_add_func("/ib/srq/rxe", test_rxe);
	g_test_add_func("/ib/srq/soft-limit", test_soft_limit);
	return g_test_run();
}
