/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Attempts to connect that fail. */
#include <arpa/inet.h>
#include <string.h>

#include "lives_link.h"

/* The peer's application rejects, with data. */
static void
rejected(struct link *link)
{
	static const unsigned char data[] = "not today";
	struct world *world = link->world;
	it_cn_est_identifier_t id = 0;

	if (link_request(link, true, &id))
		trace_call(world->trace, "it_reject", it_reject(id, data, sizeof(data)));
	world_take(world, world->near.end.cm_msg);
}

/* Nobody listens there: a listener that has gone. */
static void
nobody(struct link *link)
{
	struct world *world = link->world;
	struct side *near = &world->near, *far = &world->far;
	it_listen_handle_t listen = NULL;
	it_conn_qual_t qual = near->dial.qual;

	pair_ok(it_listen_create(far->end.ia, near->dial.spigot, far->end.cm_req, IT_LISTEN_NO_FLAG,
				 &qual, &listen));
	pair_ok(it_listen_free(listen));
	trace_call(world->trace, "it_ep_connect",
		   it_ep_connect(link->near, &near->dial.path, NULL, &qual, IT_CONNECT_FLAG_TWO_WAY,
				 NULL, 0));
	world_take(world, near->end.cm_msg);
}

/* The attempt is aborted before its answer; the request dies. */
static void
aborted(struct link *link)
{
	struct world *world = link->world;
	it_cn_est_identifier_t id = 0;

	if (!link_request(link, true, &id))
		return;
	trace_call(world->trace, "it_ep_disconnect", it_ep_disconnect(link->near, NULL, 0));
	world_take(world, world->near.end.cm_msg);
}

/* Accepts that are refused for their arguments; then the request is rejected. */
static void
accept_refused(struct link *link)
{
	unsigned char data[2 * IT_MAX_PRIV_DATA] = {0};
	struct world *world = link->world;
	it_cn_est_identifier_t id = 0;

	if (!link_request(link, false, &id))
		return;
	trace_call(world->trace, "it_ep_accept with too much data",
		   it_ep_accept(link->near, id, data, sizeof(data)));
	trace_call(world->trace, "it_ep_accept with a foreign endpoint",
		   it_ep_accept(link->far, id, NULL, 0));
	trace_call(world->trace, "it_ep_accept with another id",
		   it_ep_accept(link->near, id + 12345, NULL, 0));
	trace_ep(world->trace, link->near);
	trace_call(world->trace, "it_reject", it_reject(id, data, 3));
	world_take(world, world->far.end.cm_msg);
}

/* Of a three-way handshake the active side refuses the answer. */
static void
arrival_refused(struct link *link)
{
	struct world *world = link->world;
	struct side *near = &world->near, *far = &world->far;
	it_event_t event;

	if (!near->end.info->three_way_handshake_support) {
		rejected(link);
		return;
	}
	trace_call(world->trace, "it_ep_connect",
		   it_ep_connect(link->far, &far->dial.path, NULL, &far->dial.qual,
				 IT_CONNECT_FLAG_THREE_WAY, NULL, 0));
	if (world_next(world, near->end.cm_req, &event) == 0)
		return;
	trace_call(world->trace, "it_ep_accept",
		   it_ep_accept(link->near, event.conn_req.cn_est_id, NULL, 0));
	if (world_next(world, far->end.cm_msg, &event) == 0)
		return;
	trace_call(world->trace, "it_reject", it_reject(event.conn.cn_est_id, NULL, 0));
	world_take(world, near->end.cm_msg);
}

/* The peer's dispatcher of requests has no room. */
static void
backlog_full(struct link *link)
{
	struct world *world = link->world;
	struct side *near = &world->near, *far = &world->far;
	it_ep_attributes_t attr = world_helper(near);
	it_ep_handle_t first = world_ep(near, &attr, "first", world->trace);
	it_conn_qual_t qual = near->dial.qual;
	it_listen_handle_t listen = NULL;
	it_evd_handle_t evd = NULL;
	int fd = -1;

	pair_ok(it_evd_create(far->end.ia, IT_CM_REQ_EVENT_STREAM, IT_EVD_CREATE_FD, 1, 1, NULL,
			      &evd, &fd));
	pair_resize(evd, 1);
	pair_ok(it_listen_create(far->end.ia, near->dial.spigot, evd, IT_LISTEN_NO_FLAG, &qual,
				 &listen));
	pair_ok(it_ep_connect(first, &near->dial.path, NULL, &qual, IT_CONNECT_FLAG_TWO_WAY, NULL,
			      0));
	trace_line(world->trace, "a request waits: %d", pair_readable(fd, PAIR_SURELY));
	trace_call(world->trace, "it_ep_connect",
		   it_ep_connect(link->near, &near->dial.path, NULL, &qual, IT_CONNECT_FLAG_TWO_WAY,
				 NULL, 0));
	world_take(world, near->end.cm_msg);
	pair_ok(it_listen_free(listen));
	pair_ok(it_evd_free(evd));
	pair_ok(it_ep_free(first));
	trace_name(world->trace, first, NULL);
}

/* Nobody answers in time. The request may have reached the peer. */
static void
too_late(struct link *link)
{
	struct world *world = link->world;
	struct side *near = &world->near;
	it_path_t path = near->dial.path;

	path.timeout = 20 * 1000;
	trace_call(world->trace, "it_ep_connect",
		   it_ep_connect(link->near, &path, NULL, &near->dial.qual, IT_CONNECT_FLAG_TWO_WAY,
				 NULL, 0));
	world_take(world, near->end.cm_msg);
}

/* Of a three-way handshake the active side disconnects instead of an answer: the identifier is dead. */
static void
arrival_left(struct link *link)
{
	struct world *world = link->world;
	struct side *near = &world->near, *far = &world->far;
	it_event_t event;

	if (!near->end.info->three_way_handshake_support) {
		aborted(link);
		return;
	}
	trace_call(world->trace, "it_ep_connect",
		   it_ep_connect(link->near, &near->dial.path, NULL, &near->dial.qual,
				 IT_CONNECT_FLAG_THREE_WAY, NULL, 0));
	if (world_next(world, far->end.cm_req, &event) == 0)
		return;
	trace_call(world->trace, "it_ep_accept",
		   it_ep_accept(link->far, event.conn_req.cn_est_id, NULL, 0));
	if (world_next(world, near->end.cm_msg, &event) == 0)
		return;
	trace_call(world->trace, "it_ep_accept with data",
		   it_ep_accept(link->near, event.conn.cn_est_id, near->end.buffer, 1));
	trace_call(world->trace, "it_ep_disconnect", it_ep_disconnect(link->near, NULL, 0));
	if (it_ep_accept(link->near, event.conn.cn_est_id, NULL, 0) != IT_ERR_INVALID_CN_EST_ID ||
	    it_reject(event.conn.cn_est_id, NULL, 0) != IT_ERR_INVALID_CN_EST_ID)
		world_fail(world, "a dead identifier", "one that lives");
	world_take(world, near->end.cm_msg);
}

/* A three-way attempt of the near side up to the answer of the far side; returns its identifier, or 0. */
static it_cn_est_identifier_t
arrival(struct link *link)
{
	struct world *world = link->world;
	struct side *near = &world->near, *far = &world->far;
	it_event_t event;

	trace_call(world->trace, "it_ep_connect",
		   it_ep_connect(link->near, &near->dial.path, NULL, &near->dial.qual,
				 IT_CONNECT_FLAG_THREE_WAY, NULL, 0));
	if (world_next(world, far->end.cm_req, &event) == 0)
		return 0;
	trace_call(world->trace, "it_ep_accept",
		   it_ep_accept(link->far, event.conn_req.cn_est_id, NULL, 0));
	return world_next(world, near->end.cm_msg, &event) != 0 ? event.conn.cn_est_id : 0;
}

/* The peer goes before the active side has answered: the identifier is dead, in the next attempt, too. */
static void
arrival_gone(struct link *link)
{
	struct world *world = link->world;
	it_cn_est_identifier_t dead;

	if (!world->near.end.info->three_way_handshake_support) {
		aborted(link);
		return;
	}
	dead = arrival(link);
	trace_call(world->trace, "the peer disconnects", it_ep_disconnect(link->far, NULL, 0));
	world_take(world, world->near.end.cm_msg);
	world_reset(world, link->near);
	world_reset(world, link->far);
	world_forget(world);
	(void)arrival(link);
	if (it_ep_accept(link->near, dead, NULL, 0) != IT_ERR_INVALID_CN_EST_ID ||
	    it_reject(dead, NULL, 0) != IT_ERR_INVALID_CN_EST_ID)
		world_fail(world, "a dead identifier", "one that lives");
	trace_call(world->trace, "it_ep_disconnect", it_ep_disconnect(link->near, NULL, 0));
	world_take(world, world->near.end.cm_msg);
}

void
link_fail(struct world *world, it_ep_handle_t near, unsigned how)
{
	void (*const failures[LINK_FAILURES])(struct link * link) = {
		rejected,     nobody,   aborted,      accept_refused, arrival_refused,
		backlog_full, too_late, arrival_left, arrival_gone,
	};
	it_ep_attributes_t attr = world_helper(&world->far);
	struct link link = {.world = world, .near = near};

	link.far = world_ep(&world->far, &attr, "far ep", world->trace);
	failures[how](&link);
	trace_ep(world->trace, near);
	trace_name(world->trace, link.far, NULL);
	pair_ok(it_ep_free(link.far));
	world_forget(world);
}
