/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A shared receive queue, between two connections. Its life posts receives, takes, exhausts and
 * resizes the queue, and checks its watermark. For the next life its size and low watermark are
 * changed while it is empty.
 */
#include <string.h>

#include "lives_access.h"

#define LINKS 2u
#define SIZE  14u /* at most */

struct srq_param {
	size_t size, low;
	size_t hard, soft; /* of the endpoints of this life */
};

struct srq_object {
	struct world *world;
	it_srq_handle_t srq;
	struct bond links[LINKS];
	unsigned available; /* receives that no message has taken */
	size_t armed;       /* the low watermark, until its event */
	size_t hard, soft;  /* of the first endpoint */
	it_dto_cookie_t cookies;
};

static void
srq_draw(struct world *world, void *param)
{
	struct srq_param *p = param;
	const it_ia_info_t *info = world->near.end.info;

	p->size = 2 + draw(world, SIZE - 2);
	p->low = draw(world, (guint32)p->size);
	p->hard = info->hard_hi_watermark_support && draw_bool(world)
			  ? 1 + draw(world, (guint32)p->size)
			  : IT_HARD_HI_WATERMARK_DISABLE;
	p->soft = info->soft_hi_watermark_support && draw_bool(world)
			  ? 1 + draw(world, (guint32)MIN(p->size, p->hard))
			  : 0;
}

/* Fewer are left than the low watermark says, so its event comes, once. */
static bool
low_is_due(struct srq_object *object)
{
	bool due = object->armed != 0 && object->available < object->armed;

	if (due)
		object->armed = 0;
	return due;
}

static void
low_event(struct srq_object *object)
{
	if (low_is_due(object))
		world_take(object->world, object->world->near.aff);
}

static void
modify(struct srq_object *object, unsigned mask, size_t size, size_t low)
{
	const it_srq_param_t params = {.max_recv_dtos = size, .low_watermark = low};
	it_status_t status = it_srq_modify(object->srq, (it_srq_param_mask_t)mask, &params);

	trace_line(object->world->trace, "it_srq_modify %#x, %zu %zu: %s", mask, size, low,
		   it_status_name(status));
	if (status == IT_SUCCESS && (mask & IT_SRQ_PARAM_LOW_WATERMARK) != 0) {
		object->armed = low;
		low_event(object);
	}
}

static void *
srq_make(struct world *world, const void *param)
{
	struct srq_object *object = g_new0(struct srq_object, 1);
	const struct srq_param *p = param;

	object->world = world;
	world_ok(world, it_srq_create(world->near.end.pz, 2, p->size, &object->srq));
	trace_name(world->trace, object->srq, "srq");
	/* A new one may be larger than it was asked to be. */
	modify(object, IT_SRQ_PARAM_MAX_RECV_DTO, p->size, 0);
	return object;
}

static void
link_to(struct srq_object *object, unsigned which, const struct srq_param *p)
{
	static const char *const names[LINKS] = {"first ep", "second ep"};
	struct world *world = object->world;
	it_ep_attributes_t attr = world_helper(&world->near);

	it_srq_param_t now;

	memset(&now, 0, sizeof(now));
	pair_ok(it_srq_query(object->srq, IT_SRQ_PARAM_MAX_RECV_DTO, &now));
	object->hard =
		p->hard == IT_HARD_HI_WATERMARK_DISABLE ? p->hard : MIN(p->hard, now.max_recv_dtos);
	object->soft = MIN(p->soft, MIN(now.max_recv_dtos, object->hard));
	attr.srv.rc.srq = object->srq;
	attr.srv.rc.hard_hi_watermark = object->hard;
	attr.srv.rc.soft_hi_watermark = object->soft;
	bond_open(&object->links[which], world, world->near.end.pz, &attr);
	trace_name(world->trace, object->links[which].near, names[which]);
	trace_ep(world->trace, object->links[which].near);
}

static bool
post(struct srq_object *object)
{
	struct world *world = object->world;
	it_dto_cookie_t cookie = ++object->cookies;
	it_lmr_triplet_t to = segment(&world->near, END_BUFFER / 2 + 64 * (cookie % 64), 64);
	it_status_t status = it_post_recv((it_handle_t)object->srq, &to, 1, cookie, 0);

	if (status == IT_SUCCESS)
		object->available++;
	else
		trace_call(world->trace, "it_post_recv", status);
	return status == IT_SUCCESS;
}

static void
say(struct srq_object *object, unsigned which)
{
	it_lmr_triplet_t from = segment(&object->world->far, 8 * draw(object->world, 64), 8);

	world_ok(object->world,
		 it_post_send(object->links[which].far, &from, 1, ++object->cookies, SIGNALED));
}

/* The message has taken a receive, whose completion is dequeued. */
static void
hear(struct srq_object *object)
{
	struct world *world = object->world;

	world_take(world, world->near.end.recv);
	world_take(world, world->far.end.request);
	object->available--;
	low_event(object);
}

static void
step_post(struct srq_object *object)
{
	for (unsigned i = 1 + draw(object->world, 4); i > 0; i--)
		(void)post(object);
}

static void
step_fill(struct srq_object *object)
{
	while (object->available < 4 * SIZE && post(object))
		continue;
	trace_line(object->world->trace, "%u receives", object->available);
}

static void
step_send(struct srq_object *object)
{
	for (unsigned i = 1 + draw(object->world, 4); i > 0; i--) {
		unsigned which = draw(object->world, LINKS);

		if (object->available == 0)
			return;
		say(object, which);
		hear(object);
	}
}

/* A message waits until there is a receive. */
static void
step_wait(struct srq_object *object)
{
	unsigned which = draw(object->world, LINKS);

	while (object->available > 0) {
		say(object, 0);
		hear(object);
	}
	trace_line(object->world->trace, "exhausted");
	say(object, which);
	(void)post(object);
	hear(object);
}

static void
step_low(struct srq_object *object)
{
	it_srq_param_t p;

	memset(&p, 0, sizeof(p));
	pair_ok(it_srq_query(object->srq, IT_SRQ_PARAM_ALL, &p));
	modify(object, IT_SRQ_PARAM_LOW_WATERMARK, 0,
	       draw(object->world, (guint32)p.max_recv_dtos + 2));
	trace_srq(object->world->trace, object->srq);
}

static void
step_resize(struct srq_object *object)
{
	modify(object, IT_SRQ_PARAM_MAX_RECV_DTO, 1 + draw(object->world, SIZE), 0);
	trace_srq(object->world->trace, object->srq);
}

/* Messages whose completions stay: the watermarks of the endpoint count them. */
static void
step_high(struct srq_object *object, const struct srq_param *p)
{
	struct world *world = object->world;
	unsigned count = object->available;
	bool breaks;

	if (object->hard == IT_HARD_HI_WATERMARK_DISABLE && object->soft == 0)
		return;
	count = MIN(count, object->hard == IT_HARD_HI_WATERMARK_DISABLE
				   ? (unsigned)object->soft + 1
				   : (unsigned)object->hard + 1);
	breaks = object->hard != IT_HARD_HI_WATERMARK_DISABLE && count > object->hard;
	trace_line(world->trace, "%u messages at once", count);
	for (unsigned i = 0; i < count; i++)
		say(object, 0);
	if (breaks) {
		world_take(world, world->near.end.cm_msg);
		world_take(world, world->far.end.cm_msg);
		object->available -= (unsigned)object->hard;
		object->links[0].over = true;
	} else {
		for (unsigned i = 0; i < count; i++)
			world_take(world, world->far.end.request);
		object->available -= count;
	}
	/*
	 * This is decided before the completions are dequeued: a Send may complete before its message has arrived, so
	 * the last message could find room again. Events of two objects, the endpoint and the S-RQ, have no order.
	 */
	bool high = object->soft != 0 && MIN(count, object->hard) > object->soft;
	bool low = low_is_due(object);
	if (high && low)
		world_take_two(world, world->near.aff);
	else if (high || low)
		world_take(world, world->near.aff);
	for (unsigned i = 0; i < (breaks ? (unsigned)object->hard : count); i++)
		world_take(world, world->near.end.recv);
	world_forget(world);
	bond_close(&object->links[0]);
	link_to(object, 0, p);
}

/* The connection of a message that waits ends: the message does not get the next receive. */
static void
step_leave(struct srq_object *object, const struct srq_param *p)
{
	while (object->available > 0) {
		say(object, 1);
		hear(object);
	}
	trace_line(object->world->trace, "a waiting message goes");
	say(object, 0);
	world_ok(object->world, it_ep_disconnect(object->links[0].near, NULL, 0));
	world_take(object->world, object->world->near.end.cm_msg);
	world_take(object->world, object->world->far.end.cm_msg);
	world_forget(object->world);
	object->links[0].over = true;
	(void)post(object);
	say(object, 1);
	hear(object);
	bond_close(&object->links[0]);
	link_to(object, 0, p);
}

static void
srq_live(struct world *world, void *arg, const void *param)
{
	void (*const steps[])(struct srq_object * object) = {
		step_post, step_post, step_fill, step_send,
		step_send, step_wait, step_low,  step_resize,
	};
	const struct srq_param *p = param;
	struct srq_object *object = arg;
	unsigned count = 6 + draw(world, 10);

	object->cookies = 0;
	trace_srq(world->trace, object->srq);
	/* So many that the watermark waits for its event. */
	step_fill(object);
	modify(object, IT_SRQ_PARAM_LOW_WATERMARK, 0, p->low);
	link_to(object, 0, p);
	link_to(object, 1, p);
	/* A resize keeps the watermark armed. */
	modify(object, IT_SRQ_PARAM_MAX_RECV_DTO, p->size + 3, 0);
	while (object->armed > 0) {
		say(object, 1);
		hear(object);
	}
	for (unsigned i = 0; i < count; i++) {
		unsigned which = draw(world, G_N_ELEMENTS(steps) + 2);

		trace_line(world->trace, "step %u", which);
		world_disturb(world, &(struct at_hand){.srq = object->srq});
		if (which < G_N_ELEMENTS(steps))
			steps[which](object);
		else if (which == G_N_ELEMENTS(steps))
			step_high(object, p);
		else
			step_leave(object, p);
	}
	trace_call(world->trace, "it_srq_free", it_srq_free(object->srq));
	for (unsigned i = 0; i < LINKS; i++) {
		while (object->available > 0) {
			say(object, 1);
			hear(object);
		}
		bond_close(&object->links[i]);
	}
	trace_srq(world->trace, object->srq);
}

static void
srq_end(struct world *world, void *arg)
{
	struct srq_object *object = arg;

	trace_name(world->trace, object->srq, NULL);
	world_ok(world, it_srq_free(object->srq));
	g_free(object);
}

static void
to_modified(struct world *world, void *arg, const void *param)
{
	const struct srq_param *p = param;
	const it_srq_param_t params = {.max_recv_dtos = p->size, .low_watermark = 0};

	world_ok(world, it_srq_modify(((struct srq_object *)arg)->srq,
				      (it_srq_param_mask_t)(IT_SRQ_PARAM_MAX_RECV_DTO |
							    IT_SRQ_PARAM_LOW_WATERMARK),
				      &params));
	((struct srq_object *)arg)->armed = 0;
}

/* Larger and smaller, while receives wait at each place of the ring. */
static void
first_resized(struct world *world, void *arg, const void *param)
{
	struct srq_object *object = arg;
	const struct srq_param *p = param;

	link_to(object, 0, p);
	link_to(object, 1, p);
	for (unsigned i = 0; i < 20; i++) {
		step_post(object);
		step_resize(object);
		step_send(object);
	}
	while (object->available > 0) {
		say(object, 1);
		hear(object);
	}
	bond_close(&object->links[0]);
	bond_close(&object->links[1]);
	(void)world;
}

static const struct again ways[] = {
	{"modified", NEEDS_SRQ_RESIZE, NULL, to_modified},
	{"resized", NEEDS_SRQ_RESIZE, first_resized, to_modified},
	{NULL, 0, NULL, NULL},
};

const struct kind kind_srq = {"srq",
			      NEEDS_SRQ | NEEDS_LOW_WATERMARK,
			      sizeof(struct srq_param),
			      srq_draw,
			      srq_make,
			      srq_live,
			      srq_end,
			      ways};
