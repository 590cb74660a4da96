/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Shared receive queues: the line of members that wait, the watermarks, resizing, many threads. */
#include <pthread.h>
#include <sched.h>

#include "queue_bench.h"
#include "vsw_srq.h"
#include "vsw_test_host.h"

#define MEMBERS 6

/* A queue pair of the SRQ; what it took last is in `wqe`. */
struct member {
	struct vsw_srq_member member; /* first */
	struct vsw_wq sq;
	struct vsw_wq own;
	struct ri_uqp *uqp;
	bool lazy; /* does not take when it is woken */
	guint woken;
	guint64 last;
	atomic_bool called;
	struct bench *b;
};

struct shared {
	struct bench b;
	struct vth *vth;
	struct ri_upcalls upcalls;
	struct vsw_srq srq;
	struct ri_usrq *usrq;
	struct member m[MEMBERS];
	guint limits;
	guint failures;
};

static GArray *woken_order; /* numbers of members */

static void
on_async(void *self, const struct ri_async_event *event)
{
	struct shared *s = self;

	g_assert_cmpuint(event->object, ==, RI_OBJECT_SRQ);
	g_assert_cmpuint(event->ctx, ==, 99);
	s->limits += event->event == RI_EVENT_SRQ_LIMIT;
	s->failures += event->event == RI_EVENT_SRQ_CATASTROPHIC;
}

static enum vsw_srq_result
take(struct member *m)
{
	enum vsw_srq_result result = vsw_srq_take(&m->member, wqe_room());

	if (result == VSW_SRQ_TAKEN)
		m->last = wqe_room()->wr_id;
	return result;
}

static void
wake(struct vsw_srq_member *member)
{
	struct member *m = (struct member *)(void *)member;

	m->woken++;
	if (woken_order != NULL)
		g_array_append_val(woken_order, m->own.number);
	if (!m->lazy) {
		(void)take(m);
		vsw_srq_pass_on(&m->member);
	}
}

static void
member_join(struct shared *s, struct member *m)
{
	struct ri_qp_init init = {.hard_limit = UINT32_MAX, .max_send_sge = 1};
	uint32_t sq = 1;
	uint32_t rq = 0;
	struct ri_map map;

	g_assert_cmpint(vsw_wq_create(&m->sq, &sq, 1, 0), ==, RI_SUCCESS);
	g_assert_cmpint(vsw_rq_create(&m->own, &rq, 0), ==, RI_SUCCESS);
	vsw_map_qp(&map, &m->sq, &m->own, m, &init);
	g_assert_cmpint(vsw_user_ops.qp_open(s->b.rnic, &map, s->b.ucq, s->b.ucq, s->usrq, &m->uqp),
			==, RI_SUCCESS);
	vsw_srq_join(&s->srq, &m->member, &m->own, &init);
	m->b = &s->b;
}

static void
member_part(struct member *m)
{
	vsw_srq_part(&m->member);
	vsw_user_ops.qp_close(m->uqp);
	vsw_wq_destroy(&m->sq);
	vsw_wq_destroy(&m->own);
}

static void
shared_open(struct shared *s, uint32_t size, bool threaded)
{
	struct vsw_srq_params params = {.wake = wake};
	struct ri_srq_attr attr = {.ctx = 99, .max_wr = size, .max_sge = 1};
	struct ri_map map;

	memset(s, 0, sizeof(*s));
	set_up(&s->b, 4, 64);
	s->b.bell.srq = vsw_srq_bell;
	s->vth = vth_new(threaded);
	s->upcalls = (struct ri_upcalls){.self = s, .async_event = on_async};
	params.host = vth_host(s->vth);
	params.upcalls = &s->upcalls;
	g_assert_cmpint(vsw_srq_create(&s->srq, &params, &attr), ==, RI_SUCCESS);
	vsw_map_srq(&map, &s->srq.wq, &s->srq);
	/* The doorbell function was copied when the adapter was opened. */
	vsw_user_ops.qp_close(s->b.uqp);
	vsw_user_ops.cq_close(s->b.ucq);
	vsw_user_ops.rnic_close(s->b.rnic);
	vsw_wq_destroy(&s->b.sq);
	vsw_wq_destroy(&s->b.rq);
	struct ri_map rnic_map;
	vsw_map_rnic(&rnic_map, &s->b.bell);
	g_assert_cmpint(vsw_user_ops.rnic_open(NULL, &rnic_map, &s->b.rnic), ==, RI_SUCCESS);
	vsw_map_cq(&rnic_map, &s->b.cq);
	g_assert_cmpint(vsw_user_ops.cq_open(s->b.rnic, &rnic_map, &s->b.ucq), ==, RI_SUCCESS);
	qp_open(&s->b, 4);
	g_assert_cmpint(vsw_user_ops.srq_open(s->b.rnic, &map, &s->usrq), ==, RI_SUCCESS);
	for (guint i = 0; i < MEMBERS; i++)
		member_join(s, &s->m[i]);
}

static void
shared_close(struct shared *s)
{
	for (guint i = 0; i < MEMBERS; i++)
		member_part(&s->m[i]);
	g_assert_cmpuint(atomic_load(&s->srq.users), ==, 0);
	vsw_user_ops.srq_close(s->usrq);
	vsw_srq_destroy(&s->srq);
	vth_free(&s->vth);
	tear_down(&s->b);
}

static enum ri_status
post_shared(struct shared *s, uint64_t id)
{
	struct ri_recv_wr wr = {.wr_id = id};

	return vsw_post_srq(s->usrq, &wr);
}

/* The completion of a receive that m took, polled. */
static void
finish(struct shared *s, struct member *m)
{
	struct ri_wc wc;

	g_assert_true(complete(&s->b, m->last, s->srq.wq.number, m->own.number, RI_WC_RECEIVE));
	g_assert_cmpuint(vsw_poll_cq(s->b.ucq, &wc, 1), ==, 1);
}

/* --- the row ----------------------------------------------------------------------------- */

/* The member that waits longest is served first; one post wakes one member. */
static void
test_turns(void)
{
	struct shared s RI_AT_END(shared_close);

	shared_open(&s, 8, false);
	for (guint i = 0; i < 3; i++)
		g_assert_cmpint(take(&s.m[i]), ==, VSW_SRQ_EMPTY);
	g_assert_cmpint(take(&s.m[0]), ==, VSW_SRQ_EMPTY); /* a second request changes nothing */
	for (guint i = 0; i < 3; i++) {
		g_assert_cmpint(post_shared(&s, 100 + i), ==, RI_SUCCESS);
		for (guint k = 0; k < 3; k++)
			g_assert_cmpuint(s.m[k].woken, ==, k <= i);
		g_assert_cmpuint(s.m[i].last, ==, 100 + i);
	}
	g_assert_cmpint(post_shared(&s, 200), ==, RI_SUCCESS);
	g_assert_cmpuint(s.m[0].woken + s.m[1].woken + s.m[2].woken, ==, 3);
	g_assert_cmpint(take(&s.m[5]), ==, VSW_SRQ_TAKEN); /* no member waits: at once */
	g_assert_cmpuint(s.m[5].last, ==, 200);
}

/* No member overtakes those that wait in the line; a member that leaves lets the next proceed. */
static void
test_nobody_overtakes(void)
{
	struct shared s RI_AT_END(shared_close);

	shared_open(&s, 8, false);
	s.m[0].lazy = true;
	g_assert_cmpint(take(&s.m[0]), ==, VSW_SRQ_EMPTY);
	g_assert_cmpint(post_shared(&s, 1), ==, RI_SUCCESS);
	g_assert_cmpint(post_shared(&s, 2), ==, RI_SUCCESS);
	g_assert_cmpuint(s.m[0].woken, >=, 1);
	g_assert_false(vsw_srq_ready(&s.m[1].member));
	g_assert_cmpint(take(&s.m[1]), ==, VSW_SRQ_EMPTY);
	g_assert_true(vsw_srq_ready(&s.m[0].member));
	g_assert_cmpint(take(&s.m[0]), ==, VSW_SRQ_TAKEN);
	g_assert_cmpuint(s.m[1].woken, ==, 0);
	vsw_srq_pass_on(&s.m[0].member);
	g_assert_cmpuint(s.m[1].woken, ==, 1);
	g_assert_cmpuint(s.m[1].last, ==, 2);
	/* A member that leaves without taking. */
	g_assert_cmpint(take(&s.m[0]), ==, VSW_SRQ_EMPTY);
	g_assert_cmpint(take(&s.m[2]), ==, VSW_SRQ_EMPTY);
	g_assert_cmpint(post_shared(&s, 3), ==, RI_SUCCESS);
	g_assert_cmpuint(s.m[2].woken, ==, 0);
	vsw_srq_leave(&s.m[0].member);
	vsw_srq_pass_on(&s.m[0].member);
	g_assert_cmpuint(s.m[2].woken, ==, 1);
	g_assert_cmpuint(s.m[2].last, ==, 3);
	/* A member in the middle of the line, and one at its end. */
	for (guint i = 1; i < 4; i++)
		g_assert_cmpint(take(&s.m[i]), ==, VSW_SRQ_EMPTY);
	vsw_srq_leave(&s.m[2].member);
	vsw_srq_leave(&s.m[3].member);
	vsw_srq_leave(&s.m[3].member);
	g_assert_cmpint(post_shared(&s, 4), ==, RI_SUCCESS);
	g_assert_cmpuint(s.m[1].last, ==, 4);
	g_assert_cmpint(take(&s.m[3]), ==, VSW_SRQ_EMPTY);
	g_assert_cmpint(post_shared(&s, 5), ==, RI_SUCCESS);
	g_assert_cmpuint(s.m[3].last, ==, 5);
}

/* A member that takes one of many receives wakes the next, however many wait. */
static void
test_chain(void)
{
	struct shared s RI_AT_END(shared_close);

	shared_open(&s, 8, false);
	s.m[0].lazy = true;
	for (guint i = 0; i < MEMBERS; i++)
		g_assert_cmpint(take(&s.m[i]), ==, VSW_SRQ_EMPTY);
	for (guint i = 0; i < MEMBERS; i++)
		g_assert_cmpint(post_shared(&s, i), ==, RI_SUCCESS);
	woken_order = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	g_assert_cmpint(take(&s.m[0]), ==, VSW_SRQ_TAKEN);
	vsw_srq_pass_on(&s.m[0].member);
	g_assert_cmpuint(woken_order->len, ==, MEMBERS - 1);
	for (guint i = 1; i < MEMBERS; i++) {
		g_assert_cmpuint(g_array_index(woken_order, uint32_t, i - 1), ==,
				 s.m[i].own.number);
		g_assert_cmpuint(s.m[i].last, ==, i);
	}
	g_array_free(woken_order, TRUE);
	woken_order = NULL;
}

/* --- watermarks -------------------------------------------------------------------------- */

static void
arm(struct shared *s, uint32_t limit, enum ri_status expected)
{
	struct ri_srq_attr attr = {.limit = limit};

	g_assert_cmpint(vsw_srq_modify(&s->srq, &attr, false), ==, expected);
}

static uint32_t
armed(struct shared *s)
{
	struct ri_srq_attr attr;

	vsw_srq_query(&s->srq, &attr);
	g_assert_cmpuint(attr.max_wr, ==, s->srq.wq.size);
	g_assert_cmpuint(attr.max_sge, ==, 1);
	return attr.limit;
}

static void
test_low(void)
{
	struct shared s RI_AT_END(shared_close);

	shared_open(&s, 8, false);
	arm(&s, 9, RI_ERR_INVALID_ARG);
	arm(&s, 0, RI_SUCCESS);
	vth_run(s.vth);
	g_assert_cmpuint(s.limits, ==, 0);
	/* Already below it: the event comes once, and not inside the verb. */
	arm(&s, 2, RI_SUCCESS);
	g_assert_cmpuint(s.limits, ==, 0);
	g_assert_cmpuint(armed(&s), ==, 0);
	vth_run(s.vth);
	g_assert_cmpuint(s.limits, ==, 1);
	for (guint i = 0; i < 4; i++)
		g_assert_cmpint(post_shared(&s, i), ==, RI_SUCCESS);
	arm(&s, 3, RI_SUCCESS);
	g_assert_cmpuint(armed(&s), ==, 3);
	g_assert_cmpint(take(&s.m[0]), ==, VSW_SRQ_TAKEN); /* 3 left: not fewer than 3 */
	vth_run(s.vth);
	g_assert_cmpuint(s.limits, ==, 1);
	g_assert_cmpint(take(&s.m[0]), ==, VSW_SRQ_TAKEN);
	vth_run(s.vth);
	g_assert_cmpuint(s.limits, ==, 2);
	g_assert_cmpint(take(&s.m[0]), ==, VSW_SRQ_TAKEN); /* disarmed */
	vth_run(s.vth);
	g_assert_cmpuint(s.limits, ==, 2);
}

static void
test_in_progress(void)
{
	struct shared s;
	struct member *m = &s.m[0];
	struct ri_qp_attr attr = {.soft_limit = 2, .hard_limit = 4};

	shared_open(&s, 8, false);
	for (guint i = 0; i < 8; i++)
		g_assert_cmpint(post_shared(&s, i), ==, RI_SUCCESS);
	vsw_srq_limits(&m->member, &attr, RI_QP_ATTR_SOFT);
	g_assert_cmpuint(atomic_load(&m->member.hard), ==, UINT32_MAX);
	vsw_srq_limits(&m->member, &attr, RI_QP_ATTR_HARD);
	g_assert_cmpint(take(m), ==, VSW_SRQ_TAKEN);
	g_assert_cmpint(take(m), ==, VSW_SRQ_TAKEN);
	g_assert_cmpuint(vsw_srq_in_progress(&m->member), ==, 2);
	g_assert_false(vsw_srq_soft_due(&m->member));
	/* A receive whose completion was polled is not in progress, and receives of other members do not count. */
	finish(&s, m);
	g_assert_cmpint(take(&s.m[1]), ==, VSW_SRQ_TAKEN);
	g_assert_cmpint(take(m), ==, VSW_SRQ_TAKEN);
	g_assert_false(vsw_srq_soft_due(&m->member));
	g_assert_cmpint(take(m), ==, VSW_SRQ_TAKEN);
	g_assert_true(vsw_srq_soft_due(&m->member));
	g_assert_false(vsw_srq_soft_due(&m->member)); /* once */
	g_assert_cmpint(take(m), ==, VSW_SRQ_TAKEN);
	g_assert_false(vsw_srq_hard_due(&m->member));
	/* A fifth receive would exceed the limit: it is not taken. */
	g_assert_cmpint(take(m), ==, VSW_SRQ_HARD_LIMIT);
	g_assert_cmpuint(vsw_srq_in_progress(&m->member), ==, 4);
	attr.hard_limit = 3;
	vsw_srq_limits(&m->member, &attr, RI_QP_ATTR_HARD);
	g_assert_true(vsw_srq_hard_due(&m->member));
	g_assert_cmpint(take(&s.m[1]), ==, VSW_SRQ_TAKEN);
	g_assert_cmpuint(s.m[1].last, ==, 6);
	shared_close(&s);
}

/* A queue pair is destroyed before its completions are polled: the SRQ gets its slots back all the same. */
static void
test_member_gone(void)
{
	struct shared s RI_AT_END(shared_close);
	struct ri_wc wc;

	shared_open(&s, 2, false);
	g_assert_cmpint(post_shared(&s, 1), ==, RI_SUCCESS);
	g_assert_cmpint(post_shared(&s, 2), ==, RI_SUCCESS);
	g_assert_cmpint(post_shared(&s, 3), ==, RI_ERR_QUEUE_FULL);
	g_assert_cmpint(take(&s.m[0]), ==, VSW_SRQ_TAKEN);
	g_assert_true(complete(&s.b, 1, s.srq.wq.number, s.m[0].own.number, RI_WC_RECEIVE));
	member_part(&s.m[0]);
	g_assert_cmpint(post_shared(&s, 3), ==, RI_ERR_QUEUE_FULL);
	g_assert_cmpuint(vsw_poll_cq(s.b.ucq, &wc, 1), ==, 1);
	g_assert_cmpint(post_shared(&s, 3), ==, RI_SUCCESS);
	/* The number of a destroyed queue names nothing, in particular not the SRQ in its slot. */
	g_assert_true(complete(&s.b, 2, s.m[0].sq.number, s.srq.wq.number, 0));
	g_assert_cmpuint(vsw_poll_cq(s.b.ucq, &wc, 1), ==, 1);
	g_assert_cmpint(post_shared(&s, 4), ==, RI_ERR_QUEUE_FULL);
	member_join(&s, &s.m[0]);
}

static void
test_failure(void)
{
	struct shared s RI_AT_END(shared_close);

	shared_open(&s, 2, false);
	g_assert_cmpint(take(&s.m[0]), ==, VSW_SRQ_EMPTY);
	s.m[0].lazy = true;
	vsw_srq_fail(&s.srq);
	g_assert_cmpuint(s.m[0].woken, ==, 1);
	vth_run(s.vth);
	g_assert_cmpuint(s.failures, ==, 1);
	g_assert_true(vsw_srq_ready(&s.m[0].member));
	g_assert_cmpint(take(&s.m[0]), ==, VSW_SRQ_FAILED);
	g_assert_cmpint(post_shared(&s, 1), ==, RI_SUCCESS);
	g_assert_cmpint(take(&s.m[1]), ==, VSW_SRQ_FAILED);
	vsw_srq_fail(&s.srq);
	vth_run(s.vth);
	g_assert_cmpuint(s.failures, ==, 1);
}

/* --- resizing ---------------------------------------------------------------------------- */

static enum ri_status
resize(struct shared *s, uint32_t size, bool follow)
{
	struct ri_srq_attr attr = {.limit = RI_SRQ_LIMIT_KEEP, .max_wr = size};
	enum ri_status status = vsw_srq_modify(&s->srq, &attr, true);
	struct ri_map map;

	if (status != RI_SUCCESS)
		return status;
	g_assert_cmpuint(attr.max_wr, >=, size);
	vsw_map_srq(&map, &s->srq.wq, &s->srq);
	if (follow)
		g_assert_cmpint(vsw_user_ops.srq_remap(s->usrq, &map), ==, RI_SUCCESS);
	return RI_SUCCESS;
}

static void
test_grow(void)
{
	struct shared s RI_AT_END(shared_close);
	guint next = 0;

	shared_open(&s, 4, false);
	for (guint i = 0; i < 4; i++)
		g_assert_cmpint(post_shared(&s, i), ==, RI_SUCCESS);
	g_assert_cmpint(post_shared(&s, 4), ==, RI_ERR_QUEUE_FULL);
	g_assert_cmpint(take(&s.m[0]), ==, VSW_SRQ_TAKEN);
	g_assert_cmpuint(s.m[0].last, ==, next++);
	finish(&s, &s.m[0]);
	g_assert_cmpint(resize(&s, 9, false), ==, RI_SUCCESS);
	/* Between the two steps: receives that were posted to the old ring move to the new one. */
	g_assert_cmpint(post_shared(&s, 4), ==, RI_SUCCESS);
	g_assert_cmpint(post_shared(&s, 5), ==, RI_ERR_QUEUE_FULL);
	g_assert_cmpint(take(&s.m[0]), ==, VSW_SRQ_TAKEN);
	g_assert_cmpuint(s.m[0].last, ==, next++);
	g_assert_cmpint(resize(&s, 20, false), ==,
			RI_ERR_RESOURCES); /* the user half has not changed yet */
	struct ri_map map;
	vsw_map_srq(&map, &s.srq.wq, &s.srq);
	g_assert_cmpint(vsw_user_ops.srq_remap(s.usrq, &map), ==, RI_SUCCESS);
	for (guint i = 5; i < 17; i++)
		g_assert_cmpint(post_shared(&s, i), ==, RI_SUCCESS);
	g_assert_cmpint(post_shared(&s, 17), ==, RI_ERR_QUEUE_FULL);
	g_assert_cmpint(resize(&s, 40, true), ==, RI_SUCCESS);
	g_assert_cmpint(post_shared(&s, 17), ==, RI_SUCCESS);
	while (next < 18) {
		g_assert_cmpint(take(&s.m[1]), ==, VSW_SRQ_TAKEN);
		g_assert_cmpuint(s.m[1].last, ==, next++);
	}
	g_assert_cmpint(take(&s.m[1]), ==, VSW_SRQ_EMPTY);
}

static void
test_shrink(void)
{
	struct shared s RI_AT_END(shared_close);

	shared_open(&s, 8, false);
	for (guint i = 0; i < 5; i++)
		g_assert_cmpint(post_shared(&s, i), ==, RI_SUCCESS);
	g_assert_cmpint(resize(&s, 4, true), ==, RI_ERR_BUSY);
	g_assert_cmpint(resize(&s, 0, true), ==, RI_ERR_INVALID_ARG);
	g_assert_cmpint(take(&s.m[0]), ==, VSW_SRQ_TAKEN);
	g_assert_cmpint(resize(&s, 4, true), ==, RI_ERR_BUSY); /* outstanding until polled */
	finish(&s, &s.m[0]);
	g_assert_cmpint(resize(&s, 4, true), ==, RI_SUCCESS);
	g_assert_cmpint(post_shared(&s, 5), ==, RI_ERR_QUEUE_FULL);
	for (guint i = 1; i < 5; i++) {
		g_assert_cmpint(take(&s.m[0]), ==, VSW_SRQ_TAKEN);
		g_assert_cmpuint(s.m[0].last, ==, i);
		finish(&s, &s.m[0]);
	}
	/* A watermark that is armed stays below the size. */
	for (guint i = 0; i < 4; i++)
		g_assert_cmpint(post_shared(&s, i), ==, RI_SUCCESS);
	arm(&s, 4, RI_SUCCESS);
	g_assert_cmpint(resize(&s, 2, true), ==, RI_ERR_INVALID_ARG);
	g_assert_cmpint(resize(&s, 8, true), ==, RI_SUCCESS);
	g_assert_cmpint(post_shared(&s, 9), ==, RI_SUCCESS);
}

/* --- threads ----------------------------------------------------------------------------- */

#define POSTS 20000

static struct shared crowd;
static atomic_uint crowd_taken;
static atomic_uchar crowd_seen[POSTS];

static void
crowd_wake(struct vsw_srq_member *member)
{
	atomic_store(&((struct member *)(void *)member)->called, true);
}

static void *
crowd_take(void *arg)
{
	struct member *m = arg;
	union {
		struct vsw_wqe wqe;
		uint8_t room[sizeof(struct vsw_wqe) + sizeof(struct ri_sge)];
	} room;

	while (atomic_load(&crowd_taken) < POSTS) {
		if (vsw_srq_take(&m->member, &room.wqe) != VSW_SRQ_TAKEN) {
			while (!atomic_exchange(&m->called, false) &&
			       atomic_load(&crowd_taken) < POSTS)
				sched_yield();
			continue;
		}
		atomic_fetch_add(&crowd_seen[room.wqe.wr_id], 1);
		atomic_fetch_add(&crowd.srq.wq.page->released, 1);
		atomic_fetch_add(&m->own.page->released, 1);
		vsw_srq_pass_on(&m->member);
		atomic_fetch_add(&crowd_taken, 1);
	}
	vsw_srq_leave(&m->member);
	vsw_srq_pass_on(&m->member);
	return NULL;
}

/* Each of two threads posts every other number. */
static void *
crowd_post(void *arg)
{
	guint first = GPOINTER_TO_UINT(arg);

	for (guint i = first; i < POSTS;) {
		if (post_shared(&crowd, i) == RI_SUCCESS)
			i += 2;
		else
			sched_yield();
	}
	return NULL;
}

/* Every receive goes to exactly one of many members, and none waits without end, while the size changes. */
static void
test_crowd(void)
{
	pthread_t takers[MEMBERS];
	pthread_t posters[2];

	shared_open(&crowd, 4, true);
	crowd.srq.params.wake = crowd_wake;
	for (guint i = 0; i < MEMBERS; i++)
		g_assert_cmpint(pthread_create(&takers[i], NULL, crowd_take, &crowd.m[i]), ==, 0);
	for (guint i = 0; i < 2; i++)
		g_assert_cmpint(pthread_create(&posters[i], NULL, crowd_post, GUINT_TO_POINTER(i)),
				==, 0);
	for (uint32_t size = 8; size <= 1024 && atomic_load(&crowd_taken) < POSTS; size *= 2) {
		arm(&crowd, 2, RI_SUCCESS);
		enum ri_status status = resize(&crowd, size, true);
		while (status == RI_ERR_RESOURCES) {
			/* The engine has not changed its ring yet: it does with the next take. */
			sched_yield();
			status = resize(&crowd, size, true);
		}
		g_assert_cmpint(status, ==, RI_SUCCESS);
		g_usleep(1000);
	}
	for (guint i = 0; i < 2; i++)
		pthread_join(posters[i], NULL);
	for (guint i = 0; i < MEMBERS; i++)
		pthread_join(takers[i], NULL);
	for (guint i = 0; i < POSTS; i++)
		g_assert_cmpuint(atomic_load(&crowd_seen[i]), ==, 1);
	shared_close(&crowd);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/vsw/srq/turns", test_turns);
	g_test_add_func("/vsw/srq/nobody-overtakes", test_nobody_overtakes);
	g_test_add_func("/vsw/srq/chain", test_chain);
	g_test_add_func("/vsw/srq/low-watermark", test_low);
	g_test_add_func("/vsw/srq/in-progress", test_in_progress);
	g_test_add_func("/vsw/srq/member-gone", test_member_gone);
	g_test_add_func("/vsw/srq/failure", test_failure);
	g_test_add_func("/vsw/srq/grow", test_grow);
	g_test_add_func("/vsw/srq/shrink", test_shrink);
	g_test_add_func("/vsw/srq/crowd", test_crowd);
	return g_test_run();
}
