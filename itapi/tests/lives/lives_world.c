/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Where objects live: two adapters in one process, each with a listener, two protection zones and all dispatchers. */
#include <stdlib.h>
#include <string.h>

#include "lives.h"

uint64_t
patience(void)
{
	return (uint64_t)pair_patience();
}

guint32
draw(struct world *world, guint32 n)
{
	return (guint32)g_rand_int_range(world->rand, 0, (gint32)n);
}

bool
draw_bool(struct world *world)
{
	return draw(world, 2) == 1;
}

void
world_seed(struct world *world, guint32 seed)
{
	g_rand_set_seed(world->rand, seed);
}

/* Everything of a side has a name. */
static void
side_name(struct side *side, struct trace *trace, const char *const names[9])
{
	const void *handles[] = {side->end.ia,   side->end.pz,     side->end.request,
				 side->end.recv, side->end.cm_msg, side->end.cm_req,
				 side->end.lmr,  side->zone,       side->aff};

	for (size_t i = 0; i < G_N_ELEMENTS(handles); i++)
		trace_name(trace, handles[i], names[i]);
}

static bool
side_open(struct side *side)
{
	memset(side, 0, sizeof(*side));
	if (!end_open(&side->end))
		return false;
	pair_ok(it_pz_create(side->end.ia, &side->zone));
	side->aff = pair_sevd(side->end.ia, IT_ASYNC_AFF_EVENT_STREAM, 1);
	return true;
}

static void
side_dial(struct side *side, const struct side *to)
{
	side->dial.active = side->end;
	side->dial.passive = to->end;
	pair_listen(&side->dial);
}

static void
side_close(struct side *side)
{
	pair_ok(it_pz_free(side->zone));
	pair_ok(it_evd_free(side->aff));
	end_close(&side->end);
}

bool
world_open(struct world *world, guint32 seed, const char *what)
{
	static const char *const near[] = {"ia",  "pz",  "request", "recv", "connect",
					   "req", "lmr", "zone",    "aff"};
	static const char *const far[] = {"far ia",   "far pz",      "far request",
					  "far recv", "far connect", "far req",
					  "far lmr",  "far zone",    "far aff"};

	memset(world, 0, sizeof(*world));
	world->what = what;
	world->seed = seed;
	if (!side_open(&world->near))
		return false;
	g_assert_true(side_open(&world->far));
	side_dial(&world->near, &world->far);
	side_dial(&world->far, &world->near);
	world->trace = trace_new();
	world->rand = g_rand_new_with_seed(seed);
	side_name(&world->near, world->trace, near);
	side_name(&world->far, world->trace, far);
	trace_bases(world->trace, world->near.end.buffer, world->far.end.buffer);
	return true;
}

void
world_close(struct world *world)
{
	g_rand_free(world->rand);
	trace_free(world->trace);
	pair_ok(it_listen_free(world->near.dial.listen));
	pair_ok(it_listen_free(world->far.dial.listen));
	side_close(&world->near);
	side_close(&world->far);
}

void
world_fail(const struct world *world, const char *wanted, const char *given)
{
	const char *text = trace_text(world->trace);
	size_t length = strlen(text);

	g_test_message("...\n%s", text + (length > 1000 ? length - 1000 : 0));
	g_test_message("%s, ITAPI_TEST_SEED=%u", world->what, world->seed);
	g_assert_cmpstr(wanted, ==, given);
}

void
world_ok(const struct world *world, it_status_t status)
{
	if (status != IT_SUCCESS)
		world_fail(world, "IT_SUCCESS", it_status_name(status));
}

static void
event_await(struct world *world, it_evd_handle_t evd, it_event_t *event)
{
	it_status_t status;

	memset(event, 0, sizeof(*event));
	status = it_evd_wait(evd, patience(), event, NULL);
	if (status != IT_SUCCESS) {
		trace_line(world->trace, "an event on %s: %s", trace_handle(world->trace, evd),
			   it_status_name(status));
		world_fail(world, "each event that is due", "has come");
	}
}

it_event_type_t
world_next(struct world *world, it_evd_handle_t evd, it_event_t *event)
{
	event_await(world, evd, event);
	trace_event(world->trace, event);
	return event->event_number;
}

void
world_take_two(struct world *world, it_evd_handle_t evd)
{
	it_event_t events[2];

	event_await(world, evd, &events[0]);
	event_await(world, evd, &events[1]);
	const bool swapped = events[0].event_number > events[1].event_number;
	trace_event(world->trace, &events[swapped]);
	trace_event(world->trace, &events[!swapped]);
}

it_event_type_t
world_take(struct world *world, it_evd_handle_t evd)
{
	it_event_t event;

	return world_next(world, evd, &event);
}

static void
side_drain(struct world *world, const struct side *side, bool say)
{
	const it_evd_handle_t evds[] = {side->end.request, side->end.recv, side->end.cm_msg,
					side->end.cm_req, side->aff};
	it_event_t event;

	for (size_t i = 0; i < G_N_ELEMENTS(evds); i++) {
		while (it_evd_dequeue(evds[i], &event) == IT_SUCCESS) {
			if (say)
				trace_event(world->trace, &event);
		}
	}
}

void
world_drain(struct world *world)
{
	side_drain(world, &world->near, true);
	side_drain(world, &world->far, true);
}

void
world_forget(struct world *world)
{
	side_drain(world, &world->near, false);
	side_drain(world, &world->far, false);
}

it_ep_attributes_t
world_helper(const struct side *side)
{
	it_ep_attributes_t attr = side->end.attr;

	attr.max_request_dtos = ALWAYS;
	attr.max_recv_dtos = ALWAYS;
	return attr;
}

it_ep_handle_t
world_ep(const struct side *side, const it_ep_attributes_t *attr, const char *name,
	 struct trace *trace)
{
	it_ep_handle_t ep = NULL;

	pair_ok(it_ep_rc_create(side->end.pz, side->end.request, side->end.recv, side->end.cm_msg,
				IT_EP_NO_FLAG, attr, &ep));
	trace_name(trace, ep, name);
	return ep;
}

it_lmr_triplet_t
segment(const struct side *side, size_t offset, size_t length)
{
	return end_segment(&side->end, offset, length);
}

it_ep_state_rc_t
ep_state(it_ep_handle_t ep)
{
	it_ep_param_t params;

	memset(&params, 0, sizeof(params));
	pair_ok(it_ep_query(ep, IT_EP_PARAM_STATE, &params));
	return params.ep_state.rc;
}

void
world_reset(struct world *world, it_ep_handle_t ep)
{
	it_status_t status;

	/* The transport may not have finished with the connection, and InfiniBand has a time-wait. */
	PAIR_UNTIL((status = it_ep_reset(ep)) != IT_ERR_CANNOT_RESET &&
		   status != IT_ERR_EP_TIMEWAIT);
	world_ok(world, trace_call(world->trace, "it_ep_reset", status));
}
