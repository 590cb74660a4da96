/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A shared receive queue at its limits: the smallest values that are refused, members that are
 * woken and take nothing, members that leave while they are woken, events that must not be raised.
 * There is no user half: the test posts by advancing the head.
 */
#include <pthread.h>

#include "vsw_srq.h"
#include "vsw_test_host.h"

#define MEMBERS 3

struct scene {
	struct vth *vth;
	struct ri_upcalls upcalls;
	struct vsw_srq srq;
	struct vsw_wq own[MEMBERS];
	struct vsw_srq_member m[MEMBERS];
	guint woken[MEMBERS];
	void (*on_wake)(struct scene *s, guint who);
	guint limits;
};

static struct scene scene; /* the queue of the running test */

static void
on_async(void *self, const struct ri_async_event *event)
{
	struct scene *s = self;

	s->limits += event->event == RI_EVENT_SRQ_LIMIT;
}

static void
wake(struct vsw_srq_member *member)
{
	guint who = (guint)(member - scene.m);

	g_assert_cmpuint(atomic_load(&member->woken), >, 0);
	g_assert_cmpuint(++scene.woken[who], <, 100);
	if (scene.on_wake != NULL)
		scene.on_wake(&scene, who);
}

static enum ri_status
create(struct scene *s, uint32_t size, uint32_t limit)
{
	struct vsw_srq_params params = {
		.host = vth_host(s->vth), .upcalls = &s->upcalls, .wake = wake};
	struct ri_srq_attr attr = {.max_wr = size, .max_sge = 1, .limit = limit};

	return vsw_srq_create(&s->srq, &params, &attr);
}

static struct scene *
scene_open(uint32_t size)
{
	struct scene *s = &scene;
	struct ri_qp_init init = {.hard_limit = UINT32_MAX};

	memset(s, 0, sizeof(*s));
	s->vth = vth_new(false);
	s->upcalls = (struct ri_upcalls){.self = s, .async_event = on_async};
	g_assert_cmpint(create(s, size, 0), ==, RI_SUCCESS);
	for (guint i = 0; i < MEMBERS; i++) {
		uint32_t none = 0;
		g_assert_cmpint(vsw_rq_create(&s->own[i], &none, 0), ==, RI_SUCCESS);
		vsw_srq_join(&s->srq, &s->m[i], &s->own[i], &init);
	}
	return s;
}

static void
scene_close(struct scene **closed)
{
	struct scene *s = *closed;

	for (guint i = 0; i < MEMBERS; i++) {
		vsw_srq_part(&s->m[i]);
		vsw_wq_destroy(&s->own[i]);
	}
	g_assert_cmpuint(atomic_load(&s->srq.users), ==, 0);
	vsw_srq_destroy(&s->srq);
	vth_free(&s->vth);
}

static enum vsw_srq_result
take(struct scene *s, guint who)
{
	union {
		struct vsw_wqe wqe;
		uint8_t room[sizeof(struct vsw_wqe) + sizeof(struct ri_sge)];
	} room;

	return vsw_srq_take(&s->m[who], &room.wqe);
}

static void
post_one(struct scene *s)
{
	atomic_fetch_add(&s->srq.wq.page->head, 1);
	vsw_srq_bell(&s->srq);
}

/* --- the least that is refused ------------------------------------------------------------ */

static void
test_create(void)
{
	struct scene *s RI_AT_END(scene_close) = scene_open(4);
	struct vsw_srq other = s->srq;

	g_assert_cmpint(create(s, 0, 0), ==, RI_ERR_INVALID_ARG);
	g_assert_cmpint(create(s, 4, 5), ==, RI_ERR_INVALID_ARG);
	g_assert_cmpint(create(s, 4, 4), ==, RI_SUCCESS);
	vsw_srq_destroy(&s->srq);
	s->srq = other;
}

/* An event that is due is not raised after the queue was destroyed. */
static void
test_destroyed_with_events_due(void)
{
	struct scene *s = scene_open(4);
	struct ri_srq_attr attr = {.limit = 2};

	g_assert_cmpint(vsw_srq_modify(&s->srq, &attr, false), ==, RI_SUCCESS);
	for (guint i = 0; i < MEMBERS; i++) {
		vsw_srq_part(&s->m[i]);
		vsw_wq_destroy(&s->own[i]);
	}
	vsw_srq_destroy(&s->srq);
	vth_run(s->vth);
	g_assert_cmpuint(s->limits, ==, 0);
	vth_free(&s->vth);
}

/* The event of the low watermark was raised; other events do not raise it again. */
static void
test_told_once(void)
{
	struct scene *s RI_AT_END(scene_close) = scene_open(4);
	struct ri_srq_attr attr = {.limit = 2};

	g_assert_cmpint(vsw_srq_modify(&s->srq, &attr, false), ==, RI_SUCCESS);
	vth_run(s->vth);
	g_assert_cmpuint(s->limits, ==, 1);
	vsw_srq_fail(&s->srq);
	vth_run(s->vth);
	g_assert_cmpuint(s->limits, ==, 1);
}

/* --- waking ------------------------------------------------------------------------------- */

/* A member that is woken and takes nothing is not woken again and again. */
static void
test_lazy(void)
{
	struct scene *s RI_AT_END(scene_close) = scene_open(4);

	g_assert_cmpint(take(s, 0), ==, VSW_SRQ_EMPTY);
	post_one(s);
	g_assert_cmpuint(s->woken[0], ==, 1);
}

static void
ring_once(struct scene *s, guint who)
{
	if (s->woken[who] == 1)
		vsw_srq_bell(&s->srq); /* another thread owns the role and would do the same */
}

/* A doorbell during another thread's wake-ups is served. */
static void
test_bell_while_waking(void)
{
	struct scene *s RI_AT_END(scene_close) = scene_open(4);

	s->on_wake = ring_once;
	g_assert_cmpint(take(s, 0), ==, VSW_SRQ_EMPTY);
	post_one(s);
	g_assert_cmpuint(s->woken[0], ==, 2);
}

/* The first in line leaves without having taken: the next is woken. */
static void
test_part_passes_on(void)
{
	struct scene *s RI_AT_END(scene_close) = scene_open(4);
	struct ri_qp_init init = {.hard_limit = UINT32_MAX};

	g_assert_cmpint(take(s, 0), ==, VSW_SRQ_EMPTY);
	g_assert_cmpint(take(s, 1), ==, VSW_SRQ_EMPTY);
	post_one(s);
	g_assert_cmpuint(s->woken[1], ==, 0);
	vsw_srq_part(&s->m[0]);
	g_assert_cmpuint(s->woken[1], ==, 1);
	g_assert_true(s->srq.first == &s->m[1]);
	g_assert_cmpint(take(s, 1), ==, VSW_SRQ_TAKEN);
	vsw_srq_join(&s->srq, &s->m[0], &s->own[0], &init);
}

static atomic_bool parted;
static pthread_t parter;

static void *
part(void *arg)
{
	vsw_srq_part(arg);
	atomic_store(&parted, true);
	return NULL;
}

/* Runs while member 0 is being woken, long enough for a thread that does not wait to finish. */
static void
part_meanwhile(struct scene *s, guint who)
{
	g_assert_cmpuint(who, ==, 0);
	g_assert_cmpint(pthread_create(&parter, NULL, part, &s->m[0]), ==, 0);
	for (guint i = 0; i < 20 && !atomic_load(&parted); i++)
		g_usleep(5000);
	g_assert_false(atomic_load(&parted));
}

/* A member that is being woken cannot leave before that has ended. */
static void
test_part_while_woken(void)
{
	struct scene *s RI_AT_END(scene_close) = scene_open(4);
	struct ri_qp_init init = {.hard_limit = UINT32_MAX};

	s->on_wake = part_meanwhile;
	g_assert_cmpint(take(s, 0), ==, VSW_SRQ_EMPTY);
	post_one(s);
	pthread_join(parter, NULL);
	g_assert_true(atomic_load(&parted));
	s->on_wake = NULL;
	vsw_srq_join(&s->srq, &s->m[0], &s->own[0], &init);
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/vsw/srq/borders/create", test_create);
	g_test_add_func("/vsw/srq/borders/destroyed-with-events-due",
			test_destroyed_with_events_due);
	g_test_add_func("/vsw/srq/borders/told-once", test_told_once);
	g_test_add_func("/vsw/srq/borders/lazy", test_lazy);
	g_test_add_func("/vsw/srq/borders/bell-while-waking", test_bell_while_waking);
	g_test_add_func("/vsw/srq/borders/part-passes-on", test_part_passes_on);
	g_test_add_func("/vsw/srq/borders/part-while-woken", test_part_while_woken);
	return g_test_run();
}
