/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A listener and its requests. Its life answers requests in all ways, after refused answers and
 * hand-offs, with its dispatcher full, and beside a listener of another adapter. For the next life,
 * a new listener is created at the same port.
 */
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lives_link.h"

#define MANY 1100 /* more than the backlog of a listener */

struct listen_param {
	size_t room; /* of its dispatcher */
	bool suppressed;
};

struct listen_object {
	it_listen_handle_t listen;
	it_evd_handle_t evd;
	it_conn_qual_t qual;
	struct end third; /* another adapter of the near side, with a listener of its own */
	struct pair other;
};

static void
listen_draw(struct world *world, void *param)
{
	struct listen_param *p = param;

	p->room = 1 + draw(world, 4);
	p->suppressed = world->near.end.info->ird_ord_suppressible &&
			world->seed % 2 == 1; /* for life, of one that stays */
}

static void
listen_create(struct world *world, struct listen_object *object, const struct listen_param *p,
	      unsigned flags)
{
	world_ok(world, it_evd_create(world->near.end.ia, IT_CM_REQ_EVENT_STREAM, 0, p->room, 1,
				      NULL, &object->evd, NULL));
	pair_resize(object->evd, p->room);
	trace_name(world->trace, object->evd, "requests");
	world_ok(world,
		 it_listen_create(
			 world->near.end.ia, world->far.dial.spigot, object->evd,
			 (it_listen_flags_t)(flags |
					     (p->suppressed ? IT_LISTEN_SUPPRESS_IRD_ORD : 0u)),
			 &object->qual, &object->listen));
	trace_name(world->trace, object->listen, "listen");
}

static void *
listen_make(struct world *world, const void *param)
{
	struct listen_object *object = g_new0(struct listen_object, 1);

	object->qual.type = world->far.dial.qual.type;
	listen_create(world, object, param, IT_LISTEN_NO_FLAG);
	g_assert_true(end_open(&object->third));
	object->other = (struct pair){.active = world->far.end, .passive = object->third};
	pair_listen(&object->other);
	return object;
}

/* A helper of the far side connects; NULL if that is refused at once. */
static it_ep_handle_t
dial(struct world *world, const it_conn_qual_t *qual)
{
	it_ep_attributes_t attr = world_helper(&world->far);
	it_ep_handle_t ep = world_ep(&world->far, &attr, "caller", world->trace);
	unsigned char data[32];
	size_t length = draw(world, sizeof(data));

	for (size_t i = 0; i < length; i++)
		data[i] = (unsigned char)draw(world, 256);
	trace_call(world->trace, "it_ep_connect",
		   it_ep_connect(ep, &world->far.dial.path, NULL, qual, IT_CONNECT_FLAG_TWO_WAY,
				 data, length));
	return ep;
}

static void
hang_up(struct world *world, it_ep_handle_t ep)
{
	trace_name(world->trace, ep, NULL);
	trace_call(world->trace, "it_ep_free", it_ep_free(ep));
}

static it_cn_est_identifier_t
request(struct world *world, it_evd_handle_t evd)
{
	it_event_t event;

	(void)world_next(world, evd, &event);
	return event.conn_req.cn_est_id;
}

static void
turn_down(struct world *world, it_cn_est_identifier_t id)
{
	static const unsigned char data[] = "no";

	trace_call(world->trace, "it_reject", it_reject(id, data, draw(world, sizeof(data) + 1)));
	world_take(world, world->far.end.cm_msg);
}

/* Accept with a new endpoint, and disconnect. */
static void
take_call(struct world *world, it_cn_est_identifier_t id)
{
	it_ep_attributes_t attr = world_helper(&world->near);
	it_ep_handle_t ep = world_ep(&world->near, &attr, "callee", world->trace);

	trace_call(world->trace, "it_ep_accept", it_ep_accept(ep, id, NULL, 0));
	world_take(world, world->far.end.cm_msg);
	world_take(world, world->near.end.cm_msg);
	trace_ep(world->trace, ep);
	trace_call(world->trace, "it_ep_disconnect", it_ep_disconnect(ep, NULL, 0));
	world_take(world, world->near.end.cm_msg);
	world_take(world, world->far.end.cm_msg);
	hang_up(world, ep);
}

static void
answer(struct world *world, it_cn_est_identifier_t id)
{
	if (draw_bool(world))
		take_call(world, id);
	else
		turn_down(world, id);
}

static void
step_answer(struct world *world, struct listen_object *object)
{
	it_ep_handle_t caller = dial(world, &object->qual);

	answer(world, request(world, object->evd));
	hang_up(world, caller);
}

/* Answers that are refused leave the request as it is. */
static void
step_refused(struct world *world, struct listen_object *object)
{
	unsigned char data[2 * IT_MAX_PRIV_DATA] = {0};
	it_ep_handle_t caller = dial(world, &object->qual), wrong;
	it_ep_attributes_t attr = world_helper(&world->near);
	it_conn_qual_t nowhere = object->qual;
	it_cn_est_identifier_t id = request(world, object->evd);

	nowhere.conn_qual.serviceid ^= it_hton64(draw(world, 1000) + 1);
	if (nowhere.type == IT_IANA_PORT)
		nowhere.conn_qual.port = g_htons(1); /* the host gives ports from 1,024 on */
	wrong = world_ep(&world->near, &attr, "callee", world->trace);
	trace_call(world->trace, "too much data", it_ep_accept(wrong, id, data, sizeof(data)));
	trace_call(world->trace, "the caller's endpoint", it_ep_accept(caller, id, NULL, 0));
	trace_call(world->trace, "no endpoint", it_ep_accept(NULL, id, NULL, 0));
	trace_call(world->trace, "too much data", it_reject(id, data, sizeof(data)));
	trace_call(world->trace, "nowhere", it_handoff(&nowhere, world->far.dial.spigot, id));
	trace_call(world->trace, "no such spigot", it_handoff(&object->qual, 1000, id));
	trace_call(world->trace, "another adapter's listener",
		   it_handoff(&object->other.qual, object->other.spigot, id));
	trace_ep(world->trace, wrong);
	hang_up(world, wrong);
	answer(world, id);
	trace_call(world->trace, "used", it_reject(id, NULL, 0));
	hang_up(world, caller);
}

/* To the side's other listener and back. */
static void
step_handoff(struct world *world, struct listen_object *object)
{
	it_ep_handle_t caller = dial(world, &object->qual);
	it_cn_est_identifier_t id = request(world, object->evd), before = id;

	trace_call(world->trace, "it_handoff",
		   it_handoff(&world->far.dial.qual, world->far.dial.spigot, id));
	id = request(world, world->near.end.cm_req);
	trace_call(world->trace, "moved", it_reject(before, NULL, 0));
	if (draw_bool(world)) {
		trace_call(world->trace, "it_handoff back",
			   it_handoff(&object->qual, world->far.dial.spigot, id));
		id = request(world, object->evd);
	}
	answer(world, id);
	hang_up(world, caller);
}

/* More requests than there is room for, one of them passed to the full dispatcher. */
static void
step_full(struct world *world, struct listen_object *object)
{
	it_ep_handle_t callers[8];
	unsigned count = 0;
	it_evd_param_t p;

	memset(&p, 0, sizeof(p));
	pair_ok(it_evd_query(object->evd, IT_EVD_PARAM_QUEUE_SIZE, &p));
	trace_line(world->trace, "room for %zu", p.sevd_queue_size);
	/* By hand-offs, so that each request is queued when the call returns. */
	for (; count <= p.sevd_queue_size; count++) {
		it_cn_est_identifier_t id;

		callers[count] = dial(world, &world->far.dial.qual);
		id = request(world, world->near.end.cm_req);
		trace_call(world->trace, "it_handoff",
			   it_handoff(&object->qual, world->far.dial.spigot, id));
	}
	world_take(world, world->far.end.cm_msg);
	trace_evd(world->trace, object->evd);
	for (unsigned i = 0; i + 1 < count; i++)
		turn_down(world, request(world, object->evd));
	for (unsigned i = 0; i < count; i++)
		hang_up(world, callers[i]);
}

/* The caller gives up, while its request waits here; so does that of the other adapter. */
static void
step_gone(struct world *world, struct listen_object *object)
{
	it_ep_handle_t stays = dial(world, &object->qual), goes;
	it_cn_est_identifier_t id = request(world, object->evd);
	it_event_t event;
	it_status_t status;

	goes = dial(world, &object->other.qual);
	world_ok(world, it_evd_wait(object->third.cm_req, patience(), &event, NULL));
	hang_up(world, goes);
	/* The other adapter learns that its request has died, sooner or later. */
	PAIR_UNTIL((status = it_handoff(&object->qual, 1000, event.conn_req.cn_est_id)) ==
		   IT_ERR_INVALID_CN_EST_ID);
	trace_call(world->trace, "gone", status);
	answer(world, id);
	hang_up(world, stays);
	goes = dial(world, &object->qual);
	id = request(world, object->evd);
	hang_up(world, goes);
	PAIR_UNTIL((status = it_handoff(&object->qual, 1000, id)) == IT_ERR_INVALID_CN_EST_ID);
	trace_call(world->trace, "gone", status);
}

/* The qualifier is taken, here and for another adapter; that changes nothing. */
static void
step_busy(struct world *world, struct listen_object *object)
{
	it_listen_handle_t second = NULL;
	it_conn_qual_t qual = object->qual;

	trace_call(world->trace, "a second listener",
		   it_listen_create(world->near.end.ia, world->far.dial.spigot, object->evd,
				    IT_LISTEN_CONN_QUAL_INPUT, &qual, &second));
	trace_call(world->trace, "that of another adapter",
		   it_listen_create(object->third.ia, world->far.dial.spigot, object->third.cm_req,
				    IT_LISTEN_CONN_QUAL_INPUT, &qual, &second));
	trace_call(world->trace, "on no spigot",
		   it_listen_create(world->near.end.ia, 1000, object->evd, IT_LISTEN_NO_FLAG, &qual,
				    &second));
	trace_call(world->trace, "with an unknown flag",
		   it_listen_create(world->near.end.ia, world->far.dial.spigot, object->evd,
				    (it_listen_flags_t)0x80, &qual, &second));
	trace_call(world->trace, "it_evd_free", it_evd_free(object->evd));
	trace_listen(world->trace, object->listen);
	step_answer(world, object);
}

/* A request that has waited while the other adapter was closed and opened again. */
static void
step_reopened(struct world *world, struct listen_object *object)
{
	it_ep_handle_t caller = dial(world, &object->qual), lost = dial(world, &object->other.qual);
	it_cn_est_identifier_t id = request(world, object->evd);

	world_ok(world, it_evd_wait(object->third.cm_req, patience(), &(it_event_t){0}, NULL));
	trace_call(world->trace, "it_ia_free", it_ia_free(object->third.ia));
	world_take(world, world->far.end.cm_msg);
	it_ia_info_free(object->third.info);
	g_free(object->third.buffer);
	answer(world, id);
	hang_up(world, caller);
	hang_up(world, lost);
	g_assert_true(end_open(&object->third));
	object->other = (struct pair){.active = world->far.end, .passive = object->third};
	pair_listen(&object->other);
}

/* The first spigot but that of the listener that has an address; the number of spigots if no other has one. */
static size_t
other_spigot(const struct world *world, it_net_addr_t **addr)
{
	const it_ia_info_t *info = world->near.end.info;
	size_t i = 0;

	while (i < info->num_spigots &&
	       (i == world->far.dial.spigot || info->spigot_info[i].num_net_addr == 0))
		i++;
	if (i < info->num_spigots)
		*addr = info->spigot_info[i].net_addr;
	return i;
}

/* Another program has the port at the other spigot: the second listener is refused, and the first goes on. */
static void
step_occupied(struct world *world, struct listen_object *object)
{
	it_conn_qual_t qual = object->qual;
	struct sockaddr_in sa = {.sin_family = AF_INET, .sin_port = qual.conn_qual.port};
	it_listen_handle_t second = NULL;
	it_net_addr_t *addr = NULL;
	size_t spigot = other_spigot(world, &addr);
	int occupant;

	if (addr == NULL || addr->addr_type != IT_IPV4)
		return;
	sa.sin_addr = addr->addr.ipv4;
	occupant = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	g_assert_cmpint(occupant, >=, 0);
	(void)setsockopt(occupant, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
	/* Yet another program may have it already. */
	(void)(bind(occupant, (struct sockaddr *)&sa, sizeof(sa)) == 0 && listen(occupant, 1) == 0);
	if (trace_call(world->trace, "at an occupied spigot",
		       it_listen_create(world->near.end.ia, spigot, world->near.end.cm_req,
					IT_LISTEN_CONN_QUAL_INPUT, &qual, &second)) == IT_SUCCESS)
		world_ok(world, it_listen_free(second));
	step_answer(world, object);
	(void)close(occupant);
	step_answer(world, object);
}

/* Another listener at the same port of another spigot: each has its requests, and either may go first. */
static void
step_spigots(struct world *world, struct listen_object *object)
{
	it_evd_handle_t evd = world->near.end.cm_req;
	it_conn_qual_t qual = object->qual;
	it_listen_handle_t second = NULL, third = NULL;
	size_t paths = 1, total = 0, spigot;
	it_ep_handle_t caller;
	it_net_addr_t *addr = NULL;
	it_cn_est_identifier_t id;
	struct side *far = &world->far;
	it_path_t before = far->dial.path;

	spigot = other_spigot(world, &addr);
	if (addr == NULL)
		return;
	trace_call(world->trace, "at another spigot",
		   it_listen_create(world->near.end.ia, spigot, evd, IT_LISTEN_CONN_QUAL_INPUT,
				    &qual, &second));
	trace_call(world->trace, "twice",
		   it_listen_create(world->near.end.ia, spigot, evd, IT_LISTEN_CONN_QUAL_INPUT,
				    &qual, &third));
	step_answer(world, object);
	pair_ok(it_get_pathinfo(far->end.ia, spigot, addr, &paths, &total, &far->dial.path));
	caller = dial(world, &qual);
	id = request(world, evd);
	far->dial.path = before;
	trace_call(world->trace, "it_handoff", it_handoff(&object->qual, far->dial.spigot, id));
	id = request(world, object->evd);
	trace_call(world->trace, "it_handoff back", it_handoff(&qual, spigot, id));
	answer(world, request(world, evd));
	hang_up(world, caller);
	trace_call(world->trace, "it_listen_free", it_listen_free(second));
	step_answer(world, object);
}

static void
listen_live(struct world *world, void *arg, const void *param)
{
	void (*const steps[])(struct world * world, struct listen_object * object) = {
		step_answer, step_refused,  step_handoff, step_full,     step_gone,
		step_busy,   step_reopened, step_spigots, step_occupied,
	};
	unsigned count = 3 + draw(world, 5);
	struct listen_object *object = arg;

	(void)param;
	trace_listen(world->trace, object->listen);
	for (unsigned i = 0; i < count; i++) {
		unsigned which = draw(world, G_N_ELEMENTS(steps));

		trace_line(world->trace, "step %u", which);
		world_disturb(world, &(struct at_hand){.evd = NULL});
		steps[which](world, object);
	}
}

static void
listen_end(struct world *world, void *arg)
{
	struct listen_object *object = arg;

	pair_ok(it_listen_free(object->other.listen));
	end_close(&object->third);
	world_ok(world, it_listen_free(object->listen));
	world_ok(world, it_evd_free(object->evd));
	g_free(object);
}

/* A new listener at the same port. */
static void
to_comes_back(struct world *world, void *arg, const void *param)
{
	struct listen_object *object = arg;

	world_ok(world, it_listen_free(object->listen));
	world_ok(world, it_evd_free(object->evd));
	listen_create(world, object, param, IT_LISTEN_CONN_QUAL_INPUT);
}

/* The listener stays; only its dispatcher changes. */
static void
to_stays(struct world *world, void *arg, const void *param)
{
	(void)world;
	pair_resize(((struct listen_object *)arg)->evd, ((const struct listen_param *)param)->room);
}

/* Its requests outlive the listener, and are answered when the next one listens. */
static void
first_orphans(struct world *world, void *arg, const void *param)
{
	const struct listen_param *p = param;
	struct listen_object *object = arg;
	it_ep_handle_t callers[2];
	it_cn_est_identifier_t ids[2];
	it_evd_handle_t evd = object->evd;

	for (unsigned i = 0; i < 2; i++) {
		callers[i] = dial(world, &object->qual);
		ids[i] = request(world, object->evd);
	}
	world_ok(world, it_listen_free(object->listen));
	listen_create(world, object, p, IT_LISTEN_CONN_QUAL_INPUT);
	world_ok(world, it_evd_free(evd));
	take_call(world, ids[0]);
	turn_down(world, ids[1]);
	hang_up(world, callers[0]);
	hang_up(world, callers[1]);
}

/* More requests, one after the other, than a backlog holds. */
static void
first_many(struct world *world, void *arg, const void *param)
{
	struct listen_object *object = arg;
	it_ep_handle_t caller;

	(void)param;
	/* Those of streams take longer, and have the backlog of the kernel. */
	for (unsigned i = 0;
	     i < (world->near.end.info->socket_conversion_support ? MANY / 10 : MANY); i++) {
		caller = dial(world, &object->qual);
		turn_down(world, request(world, object->evd));
		hang_up(world, caller);
	}
}

static const struct again ways[] = {
	{"comes-back", 0, NULL, to_comes_back},
	{"orphans", 0, first_orphans, to_comes_back},
	{"many", 0, first_many, to_stays},
	{NULL, 0, NULL, NULL},
};

const struct kind kind_listen = {"listen",    0,           sizeof(struct listen_param),
				 listen_draw, listen_make, listen_live,
				 listen_end,  ways};
