/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * An event dispatcher, of software events or of receives. Its life queues events and takes them in
 * all ways, alone, with a callback or in one of two aggregates; each aggregate has another member,
 * too. For the next life its size, threshold, mode and aggregate are changed.
 */
#include <stdatomic.h>
#include <string.h>

#include "lives_access.h"

enum place_of {
	ALONE = 0,
	CALLED,    /* with a callback */
	NOTIFYING, /* in an aggregate of notifications */
	MERGING,   /* in one of events */
	PLACES
};

struct evd_param {
	size_t size, threshold;
	unsigned overflow; /* flags */
	bool disabled;
	enum place_of place;
	bool fd;
};

struct evd_object {
	it_evd_handle_t evd;
	int fd;
	it_evd_handle_t aggregates[2], mates[2];
	it_evd_handle_t sentinel; /* its callback comes behind the others */
	atomic_uint called, passed;
	unsigned seen; /* calls that were written */
	atomic_uint
		turn; /* the argument of its callback is this pointer of `self`, another one each time */
	struct evd_object *self[2];
	struct bond bond; /* of receives: its near endpoint uses the dispatcher */
	struct world *world;
	uintptr_t data;
};

/* Larger than a life fills, so that it has room to grow to. */
#define MOST 24u

static void
evd_draw(struct world *world, void *param)
{
	static const unsigned modes[] = {0, IT_EVD_OVERFLOW_DEFAULT, IT_EVD_OVERFLOW_NOTIFY,
					 IT_EVD_OVERFLOW_NOTIFY | IT_EVD_OVERFLOW_AUTO_RESET};
	struct evd_param *p = param;

	p->size = 1 + draw(world, MOST / 2);
	p->threshold = draw(world, (guint32)p->size + 1);
	p->overflow = modes[draw(world, G_N_ELEMENTS(modes))];
	p->disabled = draw(world, 5) == 0;
	p->place = (enum place_of)draw(world, PLACES);
	p->fd = world->seed % 3 == 0; /* for life */
	if (p->fd)
		p->place = ALONE;
}

static void
count_call(it_evd_handle_t evd, void *arg)
{
	struct evd_object *object = *(struct evd_object **)arg;

	(void)evd;
	/* With the argument of a callback that was detached, the call does not count. */
	if (arg == &object->self[atomic_load(&object->turn) % 2])
		atomic_fetch_add(&object->called, 1);
}

static it_status_t
attach(struct evd_object *object)
{
	unsigned turn = atomic_fetch_add(&object->turn, 1) + 1;

	return it_evd_callback_attach(object->evd, count_call, &object->self[turn % 2]);
}

static void
pass(it_evd_handle_t evd, void *arg)
{
	struct evd_object *object = arg;
	it_event_t event;

	while (it_evd_dequeue(evd, &event) == IT_SUCCESS)
		atomic_fetch_add(&object->passed, 1);
}

/* Callbacks that are due have run: they run one after the other. */
static void
settle(struct evd_object *object)
{
	for (unsigned i = 0; i < 2; i++) {
		unsigned before = atomic_load(&object->passed);
		gint64 end = g_get_monotonic_time() + (gint64)patience();

		world_ok(object->world, it_evd_post_se(object->sentinel, NULL));
		while (atomic_load(&object->passed) == before) {
			if (g_get_monotonic_time() > end)
				world_fail(object->world, "a callback", "no call");
			g_usleep(20);
		}
	}
}

static void
say_calls(struct evd_object *object)
{
	unsigned called;

	settle(object);
	called = atomic_load(&object->called);
	trace_line(object->world->trace, "  called %u times, descriptor %d", called - object->seen,
		   object->fd >= 0 && pair_readable(object->fd, 0));
	object->seen = called;
}

static it_evd_handle_t
aggregate_of(const struct evd_object *object, enum place_of place)
{
	return place == NOTIFYING || place == MERGING ? object->aggregates[place - NOTIFYING]
						      : NULL;
}

static struct evd_object *
object_make(struct world *world)
{
	static const char *const names[] = {"notifying", "merging", "first mate", "second mate"};
	struct evd_object *object = g_new0(struct evd_object, 1);
	it_ia_handle_t ia = world->near.end.ia;

	object->world = world;
	object->fd = -1;
	object->self[0] = object->self[1] = object;
	for (unsigned i = 0; i < 2; i++) {
		world_ok(world, it_evd_create(ia, IT_AEVD_NOTIFICATION_EVENT_STREAM,
					      i == 0 ? IT_EVD_DEQUEUE_NOTIFICATIONS : 0, 0, 0, NULL,
					      &object->aggregates[i], NULL));
		world_ok(world, it_evd_create(ia, IT_SOFTWARE_EVENT_STREAM, 0, MOST, 1,
					      object->aggregates[i], &object->mates[i], NULL));
		trace_name(world->trace, object->aggregates[i], names[i]);
		trace_name(world->trace, object->mates[i], names[2 + i]);
	}
	object->sentinel = pair_sevd(ia, IT_SOFTWARE_EVENT_STREAM, 1);
	world_ok(world, it_evd_callback_attach(object->sentinel, pass, object));
	return object;
}

static void
evd_create(struct evd_object *object, it_event_type_t stream, const struct evd_param *p)
{
	struct world *world = object->world;
	it_evd_param_t off = {.evd_enabled = IT_FALSE};

	world_ok(world,
		 it_evd_create(world->near.end.ia, stream,
			       (it_evd_flags_t)(p->overflow | (p->fd ? IT_EVD_CREATE_FD : 0u)),
			       p->size, p->threshold, aggregate_of(object, p->place), &object->evd,
			       p->fd ? &object->fd : NULL));
	trace_name(world->trace, object->evd, "evd");
	/* A new one may be larger than it was asked to be. */
	if (end_has(&world->near.end, NEEDS_EVD_RESIZE))
		pair_resize(object->evd, p->size);
	if (p->place == CALLED)
		world_ok(world, attach(object));
	if (p->disabled)
		world_ok(world, it_evd_modify(object->evd, IT_EVD_PARAM_ENABLED, &off));
}

static void *
soft_make(struct world *world, const void *param)
{
	struct evd_object *object = object_make(world);

	evd_create(object, IT_SOFTWARE_EVENT_STREAM, param);
	return object;
}

/* A new connection whose near end receives into the dispatcher. */
static void
bond_renew(struct evd_object *object)
{
	struct world *world = object->world;
	it_ep_attributes_t attr = world_helper(&world->near);
	it_ep_handle_t near = NULL;

	world_ok(world, it_ep_rc_create(world->near.end.pz, world->near.end.request, object->evd,
					world->near.end.cm_msg, IT_EP_NO_FLAG, &attr, &near));
	trace_name(world->trace, near, "ep");
	bond_join(&object->bond, world, near);
}

static void *
dto_make(struct world *world, const void *param)
{
	struct evd_object *object = object_make(world);

	evd_create(object, IT_DTO_EVENT_STREAM, param);
	bond_renew(object);
	return object;
}

static void
evd_end(struct world *world, void *arg)
{
	struct evd_object *object = arg;
	it_evd_param_t out = {.aevd = NULL};

	if (object->bond.near != NULL)
		bond_close(&object->bond);
	world_ok(world, it_evd_free(object->evd));
	trace_name(world->trace, object->evd, NULL);
	world_ok(world, it_evd_callback_detach(object->sentinel));
	world_ok(world, it_evd_free(object->sentinel));
	for (unsigned i = 0; i < 2; i++) {
		world_ok(world, it_evd_modify(object->mates[i], IT_EVD_PARAM_AEVD_HANDLE, &out));
		world_ok(world, it_evd_free(object->mates[i]));
		world_ok(world, it_evd_free(object->aggregates[i]));
	}
	g_free(object);
}

/* --- events -------------------------------------------------------------------------------- */

/* The near side has queued the messages of the peer when a Read behind them is answered. */
static void
receives_came(struct evd_object *object, unsigned sends)
{
	struct world *world = object->world;
	it_event_t event;

	world_ok(world, it_post_rdma_read(object->bond.far, NULL, 0, 1, SIGNALED,
					  it_make_rdma_addr_absolute(world->near.end.buffer),
					  world->near.end.context));
	for (unsigned i = 0; i <= sends; i++)
		world_ok(world, it_evd_wait(world->far.end.request, patience(), &event, NULL));
}

/* Queue events; more than there is room for are refused or overflow. */
static void
produce(struct evd_object *object, unsigned count)
{
	struct world *world = object->world;

	trace_line(world->trace, "%u events", count);
	for (unsigned i = 0; i < count; i++) {
		it_dto_cookie_t cookie = ++object->data;

		if (object->bond.near == NULL) {
			it_status_t status = it_evd_post_se(object->evd, (void *)object->data);

			if (status != IT_SUCCESS)
				trace_call(world->trace, "it_evd_post_se", status);
			continue;
		}
		world_ok(world, it_post_recv((it_handle_t)object->bond.near, NULL, 0, cookie,
					     draw_bool(world) ? IT_NOTIFY_FLAG : 0));
		world_ok(world,
			 it_post_send(object->bond.far, NULL, 0, cookie,
				      (it_dto_flags_t)(SIGNALED |
						       (draw(world, 3) == 0 ? IT_SOLICITED_WAIT_FLAG
									    : 0u))));
	}
	if (object->bond.near != NULL)
		receives_came(object, count);
}

static void
step_produce(struct evd_object *object)
{
	it_evd_param_t p;
	unsigned room = 1 + draw(object->world, 6);

	/* A dispatcher of receives must not overflow here. */
	pair_ok(it_evd_query(object->evd, IT_EVD_PARAM_QUEUE_SIZE, &p));
	if (object->bond.near != NULL) {
		it_event_t event;

		while (it_evd_dequeue(object->evd, &event) == IT_SUCCESS)
			trace_event(object->world->trace, &event);
		room = MIN(room, (unsigned)p.sevd_queue_size);
	}
	produce(object, room);
}

static void
step_dequeue(struct evd_object *object)
{
	unsigned count = 1 + draw(object->world, 8);
	it_event_t event;

	for (unsigned i = 0; i < count; i++) {
		if (trace_call(object->world->trace, "it_evd_dequeue",
			       it_evd_dequeue(object->evd, &event)) == IT_SUCCESS)
			trace_event(object->world->trace, &event);
	}
}

static void
step_dequeue_n(struct evd_object *object)
{
	it_event_t events[8];
	int count = 0;

	memset(events, 0, sizeof(events));
	trace_call(
		object->world->trace, "it_evd_dequeue_n",
		it_evd_dequeue_n(object->evd, (int)(1 + draw(object->world, 8)), events, &count));
	for (int i = 0; i < count; i++)
		trace_event(object->world->trace, &events[i]);
}

static void
wait_on(struct evd_object *object, it_evd_handle_t evd, unsigned times)
{
	for (unsigned i = 0; i < times; i++) {
		size_t more = 0;
		it_event_t event;
		it_status_t status = it_evd_wait(evd, 0, &event, &more);

		trace_call(object->world->trace, "it_evd_wait", status);
		trace_line(object->world->trace, "  %zu more", more);
		if (status != IT_SUCCESS)
			break;
		trace_event(object->world->trace, &event);
	}
}

static void
step_wait(struct evd_object *object)
{
	wait_on(object, object->evd, 1 + draw(object->world, 3));
}

static void
step_aggregates(struct evd_object *object)
{
	unsigned times = 1 + draw(object->world, 6);

	wait_on(object, object->aggregates[0], times);
	wait_on(object, object->aggregates[1], times);
}

static void
step_mate(struct evd_object *object)
{
	it_evd_handle_t mate = object->mates[draw(object->world, 2)];

	trace_call(object->world->trace, "a mate",
		   it_evd_post_se(mate, (void *)(uintptr_t)++object->data));
}

static void
step_modify(struct evd_object *object)
{
	it_evd_param_t p;
	unsigned mask;

	pair_ok(it_evd_query(object->evd, IT_EVD_PARAM_ALL, &p));
	if (draw_bool(object->world)) {
		mask = IT_EVD_PARAM_ENABLED;
		p.evd_enabled = !p.evd_enabled;
	} else {
		mask = IT_EVD_PARAM_THRESHOLD;
		p.sevd_threshold = draw(object->world, (guint32)p.sevd_queue_size + 1);
	}
	trace_call(object->world->trace, "it_evd_modify",
		   it_evd_modify(object->evd, (it_evd_param_mask_t)mask, &p));
	trace_evd(object->world->trace, object->evd);
}

/* Away from its place and back, with whatever is queued; or to the other aggregate meanwhile. */
static void
step_return(struct evd_object *object)
{
	struct world *world = object->world;
	it_evd_param_t p, none = {.aevd = NULL}, other;

	pair_ok(it_evd_query(object->evd, IT_EVD_PARAM_ALL, &p));
	if (p.evd_callback) {
		trace_call(world->trace, "it_evd_callback_detach",
			   it_evd_callback_detach(object->evd));
		trace_call(world->trace, "it_evd_callback_attach", attach(object));
	}
	if (p.aevd == NULL)
		return;
	other.aevd =
		p.aevd == object->aggregates[0] ? object->aggregates[1] : object->aggregates[0];
	if (draw_bool(world))
		trace_call(world->trace, "it_evd_modify to none",
			   it_evd_modify(object->evd, IT_EVD_PARAM_AEVD_HANDLE, &none));
	if (draw_bool(world))
		step_mate(object);
	if (draw_bool(world))
		trace_call(world->trace, "it_evd_modify to the other",
			   it_evd_modify(object->evd, IT_EVD_PARAM_AEVD_HANDLE, &other));
	if (draw_bool(world))
		step_mate(object);
	trace_call(world->trace, "it_evd_modify back",
		   it_evd_modify(object->evd, IT_EVD_PARAM_AEVD_HANDLE, &p));
}

static void
evd_drain(struct evd_object *object, bool say)
{
	const it_evd_handle_t evds[] = {object->evd, object->aggregates[0], object->aggregates[1],
					object->mates[0], object->mates[1]};
	it_event_t event;

	for (unsigned i = 0; i < G_N_ELEMENTS(evds); i++) {
		while (it_evd_dequeue(evds[i], &event) == IT_SUCCESS) {
			if (say)
				trace_event(object->world->trace, &event);
		}
	}
}

/* An overflow that has come is over when the dispatcher has been drained, as soon as its flags say so [IT 6.2.4]. */
static void
reset_by_drain(struct evd_object *object, const it_evd_param_t *p)
{
	it_evd_param_t new = *p, now;

	new.evd_flag =
		(it_evd_flags_t)(((unsigned)p->evd_flag & ~(unsigned)IT_EVD_OVERFLOW_DEFAULT) |
				 IT_EVD_OVERFLOW_NOTIFY | IT_EVD_OVERFLOW_AUTO_RESET);
	if (trace_call(object->world->trace, "reset by draining",
		       it_evd_modify(object->evd, IT_EVD_PARAM_FLAG, &new)) != IT_SUCCESS)
		return;
	/* And not if they say so no longer. */
	pair_ok(it_evd_query(object->evd, IT_EVD_PARAM_OVERFLOWED, &now));
	if (now.evd_overflowed && ((unsigned)p->evd_flag & IT_EVD_OVERFLOW_AUTO_RESET) == 0) {
		world_ok(object->world, it_evd_modify(object->evd, IT_EVD_PARAM_FLAG, p));
		evd_drain(object, true);
		pair_ok(it_evd_query(object->evd, IT_EVD_PARAM_OVERFLOWED, &now));
		if (!now.evd_overflowed)
			world_fail(object->world, "the overflow", "none");
		world_ok(object->world, it_evd_modify(object->evd, IT_EVD_PARAM_FLAG, &new));
	}
	evd_drain(object, true);
	pair_ok(it_evd_query(object->evd, IT_EVD_PARAM_OVERFLOWED, &new));
	if (new.evd_overflowed)
		world_fail(object->world, "no overflow of a drained dispatcher", "an overflow");
	new.evd_flag = p->evd_flag;
	trace_call(object->world->trace, "its flags again",
		   it_evd_modify(object->evd, IT_EVD_PARAM_FLAG, &new));
}

/* More events than the dispatcher has room for; then it is drained and usable again. */
static void
overflow(struct evd_object *object)
{
	struct world *world = object->world;
	it_evd_param_t p;

	evd_drain(object, true);
	pair_ok(it_evd_query(object->evd, IT_EVD_PARAM_ALL, &p));
	trace_line(world->trace, "overflow");
	if (object->bond.near == NULL) {
		produce(object, (unsigned)p.sevd_queue_size + 1);
	} else if (p.sevd_queue_size < ALWAYS) {
		for (size_t i = 0; i <= p.sevd_queue_size; i++)
			world_ok(world,
				 it_post_recv((it_handle_t)object->bond.near, NULL, 0, i, 0));
		for (size_t i = 0; i <= p.sevd_queue_size; i++)
			(void)it_post_send(object->bond.far, NULL, 0, i, SIGNALED);
		world_take(world, world->near.end.cm_msg);
		(void)it_evd_wait(world->far.end.cm_msg, patience(), &(it_event_t){0}, NULL);
		object->bond.over = true;
		if ((p.evd_flag & IT_EVD_OVERFLOW_NOTIFY) != 0)
			world_take(world, world->near.aff);
		world_forget(world);
	}
	say_calls(object);
	trace_evd(world->trace, object->evd);
	if (draw_bool(world))
		reset_by_drain(object, &p);
	p.evd_overflowed = IT_FALSE;
	trace_call(world->trace, "cleared while full",
		   it_evd_modify(object->evd, IT_EVD_PARAM_OVERFLOWED, &p));
	evd_drain(object, true);
	trace_evd(world->trace, object->evd);
	trace_call(world->trace, "cleared",
		   it_evd_modify(object->evd, IT_EVD_PARAM_OVERFLOWED, &p));
	trace_evd(world->trace, object->evd);
	if (object->bond.near != NULL && object->bond.over) {
		bond_close(&object->bond);
		bond_renew(object);
	}
}

/* What the dispatcher is notified of at once: a wait without a time-out, on it or its aggregate. */
static void
must_notify(struct evd_object *object, const char *when, it_evd_handle_t evd, it_status_t expected)
{
	it_status_t status = it_evd_wait(evd, 0, &(it_event_t){0}, NULL);

	if (status == expected)
		return;
	trace_line(object->world->trace, "%s", when);
	world_fail(object->world, it_status_name(expected), it_status_name(status));
}

static void
place(struct evd_object *object, it_evd_handle_t aggregate)
{
	it_evd_param_t p = {.aevd = aggregate};

	world_ok(object->world, it_evd_modify(object->evd, IT_EVD_PARAM_AEVD_HANDLE, &p));
}

/* A solicited receive was taken, so an unsolicited one behind it notifies, until the threshold changes [IT 6.2.4]. Alone and empty. */
static void
latch(struct evd_object *object, size_t size)
{
	it_evd_param_t p = {.sevd_threshold = 0};
	struct world *world = object->world;

	if (object->bond.near == NULL || size < 2)
		return;
	world_ok(world, it_evd_modify(object->evd, IT_EVD_PARAM_THRESHOLD, &p));
	for (unsigned i = 0; i < 2; i++)
		world_ok(world, it_post_recv((it_handle_t)object->bond.near, NULL, 0, i, 0));
	world_ok(world, it_post_send(object->bond.far, NULL, 0, 0,
				     (it_dto_flags_t)(SIGNALED | IT_SOLICITED_WAIT_FLAG)));
	world_ok(world, it_post_send(object->bond.far, NULL, 0, 1, SIGNALED));
	receives_came(object, 2);
	must_notify(object, "solicited", object->evd, IT_SUCCESS);
	p.sevd_threshold = 2;
	world_ok(world, it_evd_modify(object->evd, IT_EVD_PARAM_THRESHOLD, &p));
	p.sevd_threshold = 0;
	world_ok(world, it_evd_modify(object->evd, IT_EVD_PARAM_THRESHOLD, &p));
	must_notify(object, "unsolicited", object->evd, IT_ERR_TIMEOUT_EXPIRED);
	evd_drain(object, false);
}

/* A notification that was not taken moves along, and one for the queued event is made wherever the dispatcher comes [IT 6.5.6], [IT 6.6.3]. */
static void
moves(struct evd_object *object)
{
	const it_evd_param_mask_t mask =
		(it_evd_param_mask_t)(IT_EVD_PARAM_THRESHOLD | IT_EVD_PARAM_ENABLED);
	it_evd_param_t old, p = {.sevd_threshold = 1, .evd_enabled = IT_TRUE};
	struct world *world = object->world;
	it_evd_handle_t third = NULL;
	it_event_t event;

	evd_drain(object, true);
	pair_ok(it_evd_query(object->evd, IT_EVD_PARAM_ALL, &old));
	if (old.fd >= 0)
		return;
	world_ok(world, it_evd_create(world->near.end.ia, IT_AEVD_NOTIFICATION_EVENT_STREAM,
				      IT_EVD_DEQUEUE_NOTIFICATIONS, 0, 0, NULL, &third, NULL));
	world_ok(world, it_evd_callback_detach(object->evd));
	place(object, NULL);
	world_ok(world, it_evd_modify(object->evd, mask, &p));
	latch(object, old.sevd_queue_size);
	world_ok(world, it_evd_modify(object->evd, mask, &p));
	produce(object, 1);
	place(object, object->aggregates[0]);
	must_notify(object, "joined with an event", object->aggregates[0], IT_SUCCESS);
	world_ok(world, it_evd_dequeue(object->evd, &event));
	must_notify(object, "taken", object->aggregates[0], IT_ERR_TIMEOUT_EXPIRED);
	produce(object, 1);
	world_ok(world, it_evd_dequeue(object->evd, &event));
	place(object, third);
	must_notify(object, "moved along", third, IT_SUCCESS);
	must_notify(object, "moved away", object->aggregates[0], IT_ERR_TIMEOUT_EXPIRED);
	place(object, object->aggregates[0]);
	world_ok(world, it_evd_post_se(object->mates[0], NULL));
	produce(object, 1);
	place(object, NULL);
	place(object, object->aggregates[0]);
	must_notify(object, "the mate", object->aggregates[0], IT_SUCCESS);
	must_notify(object, "behind the mate", object->aggregates[0], IT_SUCCESS);
	place(object, NULL);
	for (unsigned i = 0; i < 2; i++) {
		unsigned called = atomic_load(&object->called);

		world_ok(world, attach(object));
		settle(object);
		if (atomic_load(&object->called) != called + 1)
			world_fail(world, "a call for what is queued", "no call, or several");
		world_ok(world, it_evd_callback_detach(object->evd));
	}
	evd_drain(object, false);
	world_ok(world, it_evd_modify(object->evd, mask, &old));
	place(object, old.aevd);
	if (old.evd_callback)
		world_ok(world, attach(object));
	world_ok(world, it_evd_free(third));
	settle(object);
	object->seen = atomic_load(&object->called);
}

static void
evd_live(struct world *world, void *arg, const void *param)
{
	void (*const steps[])(struct evd_object * object) = {
		step_produce, step_produce,    step_dequeue, step_dequeue_n, step_wait,
		step_mate,    step_aggregates, step_modify,  step_return,    step_return,
	};
	struct evd_object *object = arg;
	unsigned count = 10 + draw(world, 20);

	(void)param;
	object->seen = atomic_load(&object->called);
	object->data = 0;
	trace_evd(world->trace, object->evd);
	trace_evd(world->trace, object->aggregates[0]);
	trace_evd(world->trace, object->aggregates[1]);
	for (unsigned i = 0; i < count; i++) {
		steps[draw(world, G_N_ELEMENTS(steps))](object);
		say_calls(object);
		world_disturb(world, &(struct at_hand){.evd = object->evd});
	}
	if (draw(world, 3) == 0)
		overflow(object);
	moves(object);
	evd_drain(object, true);
	say_calls(object);
	trace_evd(world->trace, object->evd);
}

/* --- to the next life ---------------------------------------------------------------------- */

/* Out of its aggregate, without a callback. */
static void
leave(struct evd_object *object)
{
	it_evd_param_t p;

	pair_ok(it_evd_query(object->evd, IT_EVD_PARAM_ALL, &p));
	if (p.aevd != NULL) {
		p.aevd = NULL;
		world_ok(object->world, it_evd_modify(object->evd, IT_EVD_PARAM_AEVD_HANDLE, &p));
	}
	world_ok(object->world, it_evd_callback_detach(object->evd));
}

static void
to_place(struct evd_object *object, const struct evd_param *p)
{
	it_evd_param_t new = {.aevd = aggregate_of(object, p->place)};

	if (new.aevd != NULL)
		world_ok(object->world, it_evd_modify(object->evd, IT_EVD_PARAM_AEVD_HANDLE, &new));
	if (p->place == CALLED)
		world_ok(object->world, attach(object));
	evd_drain(object, false);
	settle(object);
}

static it_evd_param_t
wanted(const struct evd_param *p)
{
	return (it_evd_param_t){
		.sevd_queue_size = p->size,
		.sevd_threshold = p->threshold,
		.evd_flag = (it_evd_flags_t)(p->overflow | (p->fd ? IT_EVD_CREATE_FD : 0u)),
		.evd_enabled = !p->disabled,
	};
}

/* Everything in one call, while nothing is queued. */
static void
to_at_once(struct world *world, void *arg, const void *param)
{
	struct evd_object *object = arg;
	it_evd_param_t p = wanted(param);

	leave(object);
	evd_drain(object, false);
	world_ok(
		world,
		it_evd_modify(object->evd,
			      (it_evd_param_mask_t)(IT_EVD_PARAM_QUEUE_SIZE |
						    IT_EVD_PARAM_THRESHOLD | IT_EVD_PARAM_FLAG |
						    IT_EVD_PARAM_ENABLED | IT_EVD_PARAM_OVERFLOWED),
			      &p));
	to_place(object, param);
}

/* One attribute after the other, while events are queued, from one place to the other. */
static void
to_singly(struct world *world, void *arg, const void *param)
{
	struct evd_object *object = arg;
	it_evd_param_t p = wanted(param), zero = {.sevd_threshold = 0};

	produce(object, 1);
	world_ok(world, it_evd_modify(object->evd, IT_EVD_PARAM_THRESHOLD, &zero));
	world_ok(world, it_evd_modify(object->evd, IT_EVD_PARAM_QUEUE_SIZE, &p));
	world_ok(world, it_evd_modify(object->evd, IT_EVD_PARAM_THRESHOLD, &p));
	world_ok(world, it_evd_modify(object->evd, IT_EVD_PARAM_FLAG, &p));
	world_ok(world, it_evd_modify(object->evd, IT_EVD_PARAM_ENABLED, &p));
	leave(object);
	to_place(object, param);
}

static void
first_overflow(struct world *world, void *arg, const void *param)
{
	evd_live(world, arg, param);
	overflow(arg);
}

/* From each place to each other one, with an event queued and without. */
static void
first_moved(struct world *world, void *arg, const void *param)
{
	struct evd_object *object = arg;

	if (((const struct evd_param *)param)->fd)
		return;
	for (unsigned i = 0; i < 2u * PLACES * PLACES; i++) {
		struct evd_param p = {.place = (enum place_of)(i / 2 % PLACES)};

		leave(object);
		to_place(object, &p);
		if (i % 2 == 1)
			produce(object, 1);
		step_mate(object);
		p.place = (enum place_of)(i / 2 / PLACES);
		leave(object);
		to_place(object, &p);
	}
	(void)world;
}

static const struct again ways[] = {
	{"at-once", NEEDS_EVD_RESIZE, NULL, to_at_once},
	{"singly", NEEDS_EVD_RESIZE, NULL, to_singly},
	{"overflowed", NEEDS_EVD_RESIZE | NEEDS_OVERFLOW, first_overflow, to_at_once},
	{"moved", NEEDS_EVD_RESIZE, first_moved, to_at_once},
	{NULL, 0, NULL, NULL},
};

const struct kind kind_evd_soft = {
	"evd-soft", 0, sizeof(struct evd_param), evd_draw, soft_make, evd_live, evd_end, ways};
const struct kind kind_evd_dto = {
	"evd-dto", 0, sizeof(struct evd_param), evd_draw, dto_make, evd_live, evd_end, ways};
